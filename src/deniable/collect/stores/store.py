"""What every store of reports does, and how it is settled what becomes of reports that arrive together.

A store holds plans, and for each report its id, its plan and its *part*. A part is all that arrived on one day: it is
closed when the next one is opened, and sealed afterwards, which means sorted by id, so that no order of arrival stays,
and counted once. Nothing else about a report is stored: no address, no program, no time of day.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from threading import RLock
from typing import Any, ClassVar, NamedTuple

from deniable.errors import CollectError

ID_BYTES = 16  # An id is 128 random bits, drawn by whoever sends the report.


class Outcome(IntEnum):
    """What became of a report that arrived."""

    NEW = 0  # stored now
    SAME = 1  # stored already, by the same id with the same bytes
    OTHER = 2  # refused: other bytes, or another plan, are stored by this id
    UNINVITED = 3  # refused: it came without an invitation that is known and unspent


class Entry(NamedTuple):
    """A report that arrived, and was found to be well formed."""

    id: bytes
    plan: int  # the store's number of its plan
    report: bytes
    invitation: bytes | None = None  # the hash of its invitation; b"" if it lacks one; None where none is needed


class Part(NamedTuple):
    """All reports that arrived on one day, or until somebody asked for sealing."""

    number: int
    day: int  # days since 1970, UTC
    sealed: bool


class StoredCounts(NamedTuple):
    """The counts of a plan's reports in a sealed part, as bytes."""

    part: int
    plan: int
    n: int
    data: bytes


class Settled(NamedTuple):
    """What becomes of entries that arrived together: the outcome of each, and those that are to be stored."""

    outcomes: list[Outcome]
    new: list[Entry]


def settle(
    entries: Sequence[Entry], stored: Mapping[bytes, tuple[int, bytes]], unspent: Collection[bytes] = ()
) -> Settled:
    """Decide what becomes of each entry, in their order, given what is stored by their ids and what is unspent."""
    known, left = dict(stored), set(unspent)
    outcomes: list[Outcome] = []
    new: list[Entry] = []
    for entry in entries:
        earlier = known.get(entry.id)
        if earlier is not None:
            outcomes.append(Outcome.SAME if earlier == (entry.plan, entry.report) else Outcome.OTHER)
        elif entry.invitation is not None and entry.invitation not in left:
            outcomes.append(Outcome.UNINVITED)
        else:
            known[entry.id] = (entry.plan, entry.report)
            left.discard(entry.invitation or b"")
            new.append(entry)
            outcomes.append(Outcome.NEW)
    return Settled(outcomes, new)


class Store(ABC):
    """A place where reports are kept for good. What fails raises `CollectError`, and then nothing of it is stored.

    After such an error a store is closed and opened anew, for only then is known what it holds. Reading what was
    damaged raises `ReportError`, as trying again does not help. Threads may share a store.
    """

    failures: ClassVar[tuple[type[Exception], ...]]  # what the database raises
    db: Any  # the connection
    lock: RLock  # held by whoever uses the connection, through whole transactions

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn the database's errors into `CollectError`, by the words that `in_words` finds for them."""
        try:
            yield
        except self.failures as error:
            raise CollectError(self.in_words(error)) from None

    @abstractmethod
    def in_words(self, error: Exception) -> str:
        """What failed, and what to do."""

    def close(self) -> None:
        """Let go of the store."""
        with self.lock, self.errors():
            self.db.close()

    # -- reports -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def add_plan(self, fingerprint: str, text: str, size: int) -> int:
        """The number of a plan, whose reports have so many bytes; it is stored if it is new."""

    @abstractmethod
    def plans(self) -> dict[int, str]:
        """The JSON of each plan that reports are stored of."""

    @abstractmethod
    def write(self, entries: Sequence[Entry], day: int) -> list[Outcome]:
        """Store entries in one transaction; when this returns, they are stored for good."""

    @abstractmethod
    def holds(self, id: bytes) -> bool:
        """Whether a report is stored by this id."""

    @abstractmethod
    def total(self) -> int:
        """About how many reports are stored."""

    @abstractmethod
    def name(self) -> str:
        """The random name that the store got when it was made; a copy has the same."""

    @abstractmethod
    def empty_log(self) -> None:
        """Let go of the log of transactions, which says in which order they came, if this store has one of its own."""

    # -- parts ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def parts(self) -> list[Part]:
        """All parts, in order; the last one is open, and all others are closed."""

    @abstractmethod
    def open_part(self, day: int) -> None:
        """Close the open part and open a new one."""

    @abstractmethod
    def plans_in(self, part: int) -> list[int]:
        """The plans that a part has reports of."""

    @abstractmethod
    def read(self, part: int, plan: int) -> Iterator[bytes]:
        """All reports of a plan in a part, as many times id and report; those of a sealed part are sorted by id."""

    @abstractmethod
    def seal(self, part: int) -> "Sealing":
        """Begin to seal a closed part."""

    @abstractmethod
    def counts(self) -> list[StoredCounts]:
        """The counts of all sealed parts."""

    # -- who may do what -----------------------------------------------------------------------------------------------

    @abstractmethod
    def add_invitations(self, hashes: Iterable[bytes]) -> None:
        """Keep the hashes of new invitations."""

    @abstractmethod
    def invitations(self) -> tuple[int, int]:
        """How many invitations there are, and how many of them are spent."""

    @abstractmethod
    def add_analyst(self, name: str, hash: bytes) -> bool:
        """Keep the hash of an analyst's token; False if there is one of this name, which is left as it is."""

    @abstractmethod
    def drop_analyst(self, name: str) -> bool:
        """Drop the hash of an analyst's token; whether there was one of this name."""

    @abstractmethod
    def analysts(self) -> dict[str, bytes]:
        """The hashes of the analysts' tokens, by name."""


class Sealing(ABC):
    """A closed part while it is sealed: its reports are read sorted by id, kept so, and then counts are kept beside.

    Reports are written meanwhile. Until `done` nothing has changed for readers, whatever happens.
    """

    @abstractmethod
    def chunks(self, plan: int) -> Iterator[bytes]:
        """All reports of a plan in the part, sorted by id, as many times id and report."""

    @abstractmethod
    def keep(self, plan: int, chunk: bytes) -> None:
        """Keep a chunk in the order in which it was read."""

    @abstractmethod
    def done(self, counts: Sequence[StoredCounts]) -> None:
        """The part is sealed from now on, and these are its counts."""

    @abstractmethod
    def tidy(self) -> bool:
        """Remove some of what sealing has made dead; whether there is more to remove."""
