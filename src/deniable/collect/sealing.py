"""Closed parts are sealed, all parts are counted, and sealed parts are exported to Parquet.

A part is counted once, when it is sealed, from the reports in the order in which they stay; its counts are kept in the
same transaction. Results so far are the counts of sealed parts and a tally of what is not sealed yet.
"""

import hashlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread

from deniable.collect.stores.store import ID_BYTES, Store, StoredCounts
from deniable.collect.writer import Busy, today
from deniable.counts.counts import Counts
from deniable.counts.tally import Tally
from deniable.errors import CollectError, DeniableError, PlanError, ReportError
from deniable.files import Sources
from deniable.kernels import plain
from deniable.reports.fields import report_bytes
from deniable.reports.parquet import write
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan

LOOK_SECONDS = 30.0  # So often it is looked whether a day is over, and the log of transactions is emptied.
END_SECONDS = 5.0  # So long it is waited for sealing to be given up.
QUICK = 0.5  # Counts so far that took at most so many seconds are made anew for whoever asks.
KEPT = 10.0  # Others are used again for so many times the time that counting took.


def reports_in(data: bytes, plan: Plan) -> Reports:
    """The reports in data that are many times id and report."""
    size = report_bytes(plan)
    step = ID_BYTES + size
    try:
        return Reports.from_bytes((data[at + ID_BYTES : at + step] for at in range(0, len(data), step)), plan)
    except ReportError as error:  # it was looked at when it came
        raise ReportError(f"the store is damaged: {error}; take it from a backup") from None


def new_tally(plan: Plan) -> Tally:
    """An empty tally that counts without compiled code, which stops all requests for a second when it is loaded."""
    tally = Tally.of(plan)
    tally.tools = plain
    return tally


def source_of(store: Store, part: int, number: int) -> Sources:
    """What says whose a part's reports are, in its export and in all counts of it, so that none are added twice."""
    name = hashlib.sha256(f"{store.name()}/{part}/{number}".encode()).hexdigest()[:32]
    return {name: f"part {part} of a collector's store"}


def seal_part(store: Store, part: int, plans: Mapping[int, Plan], ending: Event) -> None:
    """Sort a closed part by id and count it; given up, as if it had not begun, if it is to end meanwhile.

    It rests as long as it works, so that half of the time is left to requests.
    """
    numbers = store.plans_in(part)
    if not plans.keys() >= set(numbers):
        raise PlanError(
            f"part {part} has reports of a plan that this version of deniable cannot use; seal it with one that can"
        )
    sealing = store.seal(part)
    counts = []
    for number in numbers:
        tally, start = new_tally(plans[number]), time.monotonic()
        tally.sources = source_of(store, part, number)
        for chunk in sealing.chunks(number):
            sealing.keep(number, chunk)
            tally.add(reports_in(chunk, plans[number]))
            if ending.wait(time.monotonic() - start):
                raise Busy
            start = time.monotonic()
        counts.append(StoredCounts(part, number, tally.n, _to_bytes(tally.counts())))
    sealing.done(counts)
    while sealing.tidy():
        pass


def export(store: Store, part: int, number: int, plan: Plan, path: Path) -> int:
    """Write a plan's reports of a sealed part to a Parquet file, in the order of their ids; return how many."""
    (source,) = source_of(store, part, number)
    return write(path, plan, (reports_in(chunk, plan) for chunk in store.read(part, number)), source)


def _to_bytes(counts: Counts) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "counts.npz"
        counts.save(path)
        return path.read_bytes()


def _from_bytes(data: bytes) -> Counts:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "counts.npz"
        path.write_bytes(data)
        return Counts.load(path)


class Results(Thread):
    """The thread that seals parts when a day is over, and the counts so far for whoever asks."""

    def __init__(self, store: Callable[[], Store], plans: Callable[[], Mapping[int, Plan]]) -> None:
        super().__init__(name="sealing", daemon=True)
        self.store, self.plans = store, plans
        self.turn = Lock()  # one thread seals or counts
        self.ending = Event()
        self.said: set[str] = set()  # why parts could not be sealed
        self.made: dict[int, tuple[float, Counts]] = {}  # until when counts so far may be used, and these, by plan

    def run(self) -> None:
        """Seal what is over, now and then."""
        while not self.ending.is_set():
            try:
                self.seal()
            except (Busy, CollectError):  # it is tried again
                pass
            except DeniableError as error:  # trying again may not help, and somebody must know
                if str(error) not in self.said:
                    self.said.add(str(error))
                    logging.getLogger(__name__).warning("a part could not be sealed: %s", error)
            except Exception:
                logging.getLogger(__name__).exception("a part could not be sealed")
            self.ending.wait(LOOK_SECONDS)

    def stop(self) -> None:
        """End soon; a part that is being sealed is left for the next time."""
        self.ending.set()
        if self.is_alive():
            self.join(END_SECONDS)

    def seal(self, *, everything: bool = False) -> list[int]:
        """Seal all closed parts, and the open one if its day is over or everything is asked for; return which.

        A part that cannot be sealed is told of after the others were.
        """
        with self.turn:
            store, sealed = self.store(), []
            failed: DeniableError | None = None
            parts = store.parts()
            if parts and (parts[-1].day < today() or (everything and store.plans_in(parts[-1].number))):
                store.open_part(today())
                parts = store.parts()
            for part in parts[:-1]:
                if part.sealed:
                    continue
                try:
                    seal_part(store, part.number, self.plans(), self.ending)
                except CollectError:
                    raise
                except DeniableError as error:
                    failed = failed or error
                    continue
                sealed.append(part.number)
                self.made.clear()
            store.empty_log()
            if failed is not None:
                raise failed
            return sealed

    def counts(self, number: int) -> Counts:
        """The counts of a plan's reports so far; where counting takes long, they may be some minutes old."""
        with self.turn:
            until, made = self.made.get(number, (0.0, None))
            start = time.monotonic()
            if made is None or start > until:
                made = self._count(number)
                took = time.monotonic() - start
                self.made[number] = (start + (0 if took < QUICK else (1 + KEPT) * took), made)
            return made

    def held(self) -> dict[int, int]:
        """How many reports of each plan the store holds, by the plans' numbers."""
        with self.turn:
            store, plans = self.store(), self.plans()
            found = Counter[int]()
            for stored in store.counts():
                found[stored.plan] += stored.n
            for part in store.parts():
                for number in () if part.sealed else store.plans_in(part.number):
                    step = ID_BYTES + report_bytes(plans[number]) if number in plans else 0
                    found[number] += sum(len(data) // step for data in store.read(part.number, number)) if step else 0
            return {number: n for number, n in found.items() if n and number in plans}

    def _count(self, number: int) -> Counts:
        store, tally = self.store(), new_tally(self.plans()[number])
        parts = store.parts()
        for part in parts:
            if not part.sealed:
                for data in store.read(part.number, number):
                    tally.sources = {**tally.sources, **source_of(store, part.number, number)}
                    tally.add(reports_in(data, tally.plan))
        counts = tally.counts()
        for own in self._sealed(store, {part.number for part in parts if part.sealed}, number):
            counts = counts.with_those_of(own)  # parts of one wave
        return counts

    def _sealed(self, store: Store, parts: set[int], number: int) -> Iterator[Counts]:
        for stored in store.counts():
            if stored.plan == number and stored.part in parts:
                yield _from_bytes(stored.data)
