"""Group commit: one thread stores whatever waits as one transaction, and then answers all of it.

While a transaction is synced to the disk, others wait; when it is done, all of them become the next one. So a slow disk
gives large groups instead of a long queue, and no timer is needed. What waits is bounded: beyond that, senders are told
to try again. After an error nobody is told that a report is stored; the store is opened anew, for only then is known
what it holds, and until then everybody is told to try again.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Condition, Thread

from deniable.collect.stores.store import Entry, Outcome, Store
from deniable.errors import CollectError

Answer = asyncio.Future[list[Outcome]]

MOST_WAITING = 20_000  # At most so many reports wait to be stored.
MOST_TOGETHER = 20_000  # At most so many reports are stored in one transaction, if the first request has not more.
SECONDS_PER_DAY = 86_400
REOPEN_SECONDS = 1.0  # A store that failed is tried again after so many seconds.


def today() -> int:
    """The number of this day since 1970, UTC."""
    return int(time.time() // SECONDS_PER_DAY)


class Busy(Exception):  # noqa: N818 - it is no error of anybody
    """Raised where a report cannot be stored now: too many wait, or the store has failed; try again."""


class Writer(Thread):
    """The thread that stores reports. `store` is None while the store is opened anew after an error."""

    def __init__(self, open_store: Callable[[], Store], *, most_waiting: int = MOST_WAITING) -> None:
        super().__init__(name="writer")
        self.open_store = open_store
        self.store: Store | None = open_store()
        self.most_waiting = most_waiting
        self.waiting: deque[tuple[Sequence[Entry], Answer]] = deque()
        self.size = 0  # reports that wait
        self.wake, self.stopping = Condition(), False
        self.outcomes: Counter[Outcome] = Counter()
        self.commits = self.failures = self.refused = 0
        self.reopened: Callable[[Store], None] = lambda _store: None

    def opened(self) -> Store:
        """The store, if it is open."""
        if self.store is None:
            raise Busy
        return self.store

    def check_room(self, count: int) -> None:
        """Refuse so many reports if they cannot wait here now; one request alone may always wait."""
        if (self.size and self.size + count > self.most_waiting) or self.stopping or self.store is None:
            self.refused += count
            raise Busy

    async def write(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Store entries; when this returns, they are stored for good."""
        answer: Answer = asyncio.get_running_loop().create_future()
        with self.wake:
            self.check_room(len(entries))
            self.waiting.append((entries, answer))
            self.size += len(entries)
            self.wake.notify()
        return await answer

    def run(self) -> None:
        """Store groups until `stop` was called and nothing waits."""
        while group := self._group():
            entries = [entry for own, _ in group for entry in own]
            try:
                outcomes = self.opened().write(entries, today())
            except Exception as error:  # whatever it is, nobody may wait for ever
                if not isinstance(error, CollectError | Busy):
                    logging.getLogger(__name__).exception("reports could not be stored")
                self._answer(group, None)
                self._open_again()
                continue
            self.commits += 1
            self.outcomes.update(outcomes)
            self._answer(group, outcomes)

    def _group(self) -> list[tuple[Sequence[Entry], Answer]]:
        """What waits, when something does; nothing when it is time to stop."""
        with self.wake:
            while not self.waiting and not self.stopping:
                self.wake.wait()
            group: list[tuple[Sequence[Entry], Answer]] = []
            size = 0
            while self.waiting and (not group or size + len(self.waiting[0][0]) <= MOST_TOGETHER):
                group.append(self.waiting.popleft())
                size += len(group[-1][0])
            self.size -= size
            return group

    def _answer(self, group: Sequence[tuple[Sequence[Entry], Answer]], outcomes: list[Outcome] | None) -> None:
        """Give each request its outcomes, or tell it to try again; one call into the event loop for all of them."""

        def answer() -> None:
            at = 0
            for entries, future in group:
                if future.done():  # whoever sent it has gone
                    pass
                elif outcomes is None:
                    future.set_exception(Busy())
                else:
                    future.set_result(outcomes[at : at + len(entries)])
                at += len(entries)

        with suppress(RuntimeError):  # an event loop that was closed waits for nothing
            group[0][1].get_loop().call_soon_threadsafe(answer)

    def _open_again(self) -> None:
        """Close the store and open it, as often as it takes; what waits meanwhile is told to try again."""
        self.failures += 1
        failed, self.store = self.store, None
        if failed is not None:
            with suppress(CollectError):
                failed.close()
        said = ""
        while self.store is None and not self.stopping:
            with self.wake:
                group, self.size = list(self.waiting), 0
                self.waiting.clear()
            if group:
                self._answer(group, None)
            try:
                self.store = self._opened_anew()
            except Exception as error:  # whatever it is, it is tried again: this thread is the only one that stores
                if said != str(error):
                    said, unknown = str(error), not isinstance(error, CollectError)
                    logging.getLogger(__name__).error("cannot open the store again: %s", error, exc_info=unknown)
                with self.wake:
                    self.stopping or self.wake.wait(REOPEN_SECONDS)

    def _opened_anew(self) -> Store:
        """The store, opened and looked through; closed again if that fails."""
        store = self.open_store()
        try:
            self.reopened(store)
        except BaseException:
            with suppress(CollectError):
                store.close()
            raise
        return store

    def stop(self) -> None:
        """Store what waits, close the store, and end."""
        with self.wake:
            self.stopping = True
            self.wake.notify_all()
        if self.is_alive():
            self.join()
        if self.store is not None:
            self.store.close()
