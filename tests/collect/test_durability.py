"""Power cuts, full disks and broken ones: nothing that was acknowledged is lost, and nothing is stored twice.

Where a setting does not promise that, the same test must find losses, or it could not find any.
"""

import os
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from deniable.collect.stores import sqlite_log
from deniable.collect.stores.sqlite_log import SqliteLog
from deniable.collect.stores.store import Entry, Outcome
from deniable.errors import CollectError
from tests.support.collect.faulty_disk import FailingDisk, ForgetfulDisk, Operation, RecordingDisk, after_power_cut
from tests.support.collect.stores import add_plans, everything, made_up, seal

CUTS = int(os.environ.get("DENIABLE_CUTS", "150"))  # `make durability` asks for more


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in memory, where syncing costs nothing; logs are copied into their files often."""
    monkeypatch.setattr(sqlite_log, "WAL_PAGES", 20)
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    yield folder
    shutil.rmtree(folder)


def lost(folder: Path, wanted: dict[bytes, tuple[int, bytes]]) -> bool:
    """Whether a store lacks something that was acknowledged, or is damaged."""
    try:
        store = SqliteLog(folder / "survey.db")
    except CollectError:
        return True
    try:
        found = everything(store)
        assert store._all("pragma integrity_check") == [("ok",)]
        assert all(store.holds(id) for id in list(wanted)[-5:] if id in found)
        return not wanted.items() <= found.items()
    except Exception:  # it is damaged
        return True
    finally:
        store.close()


def lost_after(done: Sequence[Operation], folder: Path, rng: random.Random) -> bool:
    """Whether something that was acknowledged is lost when the power is cut after these operations."""
    folder.mkdir()
    for name, content in after_power_cut(done, rng).items():
        (folder / name).write_bytes(content)
    wanted = {e.id: (e.plan, e.report) for one in done if one[0] == "acknowledged" for e in one[2]}
    try:
        return lost(folder, wanted)
    finally:
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("journal", "synchronous", "durable"),
    [("wal", "full", True), ("truncate", "full", True), ("wal", "normal", False), ("wal", "off", False)],
)
def test_power_cuts(
    memory: Path, monkeypatch: pytest.MonkeyPatch, journal: str, synchronous: str, durable: bool
) -> None:
    monkeypatch.setattr(sqlite_log, "wal_is_safe", lambda _version: journal == "wal")
    rng, disk = random.Random(5), RecordingDisk(f"recording {journal} {synchronous}")
    store = SqliteLog(memory / "survey.db", vfs=f"recording {journal} {synchronous}", synchronous=synchronous)
    add_plans(store)
    start = len(disk.operations)
    for round in range(40):
        entries = made_up(rng, rng.choice([1, 2]), rng.choice([1, 1, 5, 50, 200]))
        assert store.write(entries, 1) == [Outcome.NEW] * len(entries)
        disk.operations.append(("acknowledged", "", entries))
        if round % 10 == 9:
            store.open_part(1)
            seal(store, store.parts()[-2].number)
        if round % 7 == 6:
            store.empty_log()
    losses = 0
    for cut in (rng.randrange(start, len(disk.operations) + 1) for _ in range(CUTS)):
        losses += lost_after(disk.operations[:cut], memory / "cut", rng)
    store.close()
    assert losses == 0 if durable else losses > CUTS / 4


class Survey:
    """A store on a disk that may fail, and what was acknowledged; it is opened anew after each error."""

    def __init__(self, path: Path, disk: str) -> None:
        self.path, self.disk = path, disk
        self.store: SqliteLog | None = None
        self.acknowledged: dict[bytes, tuple[int, bytes]] = {}
        self.errors = 0

    def opened(self) -> SqliteLog:
        if self.store is None:
            self.store = SqliteLog(self.path, vfs=self.disk)
            add_plans(self.store)
        return self.store

    def close(self) -> None:
        store, self.store = self.store, None
        if store is not None:
            try:
                store.close()
            except CollectError:
                self.errors += 1

    def attempt(self, entries: list[Entry] | None) -> bool:
        """Store entries, or seal; whether it was done."""
        try:
            store = self.opened()
            if entries is None:
                if store.parts()[-1].number == 1:
                    store.open_part(1)
                if not store.parts()[0].sealed:
                    seal(store, 1)
                store.empty_log()
                return True
            outcomes = store.write(entries, 1)
        except CollectError:
            self.errors += 1
            self.close()
            return False
        assert set(outcomes) <= {Outcome.NEW, Outcome.SAME}
        self.acknowledged |= {entry.id: (entry.plan, entry.report) for entry in entries}
        return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("anew", "emptied"),
    [(True, False), (True, True), (False, False)],
    ids=["as it is", "the log is emptied now and then", "the log is not written anew"],
)
def test_a_sync_that_failed_is_not_believed_later(
    memory: Path, monkeypatch: pytest.MonkeyPatch, anew: bool, emptied: bool
) -> None:
    """After a failed sync a system shows what it never wrote; only what is written anew is there after a power cut."""
    monkeypatch.setattr(sqlite_log, "WAL_PAGES", 200)
    if not anew:
        monkeypatch.setattr(sqlite_log, "_write_anew", lambda *_: None)
    rng, name = random.Random(1), f"forgetful {anew} {emptied}"
    disk = ForgetfulDisk(name, rng, chance=0.0)
    survey = Survey(memory / "survey.db", name)
    survey.opened()
    start, disk.chance = len(disk.operations), 0.4
    for number in range(60):
        entries = made_up(rng, 1, rng.choice([1, 5, 50]))
        while not survey.attempt(entries):
            pass
        disk.operations.append(("acknowledged", "", entries))
        if emptied and number % 3 == 0 and survey.store is not None:
            with suppress(CollectError):  # and then the store is not opened anew, as in the collector
                survey.store.empty_log()
    disk.chance = 0.0
    losses = 0
    for cut in (rng.randrange(start, len(disk.operations) + 1) for _ in range(CUTS)):
        losses += lost_after(disk.operations[:cut], memory / "cut", rng)
    survey.close()
    assert survey.errors > 3
    assert losses == 0 if anew else losses > 0


def sweep(memory: Path, error: type[apsw.Error], lasting: bool, kind: type[Survey] = Survey) -> tuple[int, int]:
    """Let each operation of a small survey fail in turn: opening, writing, syncing, sealing, copying the log.

    How many operations there were, and how many of the failures reached the survey.
    """
    name = f"failing {error.__name__} {lasting} {kind.__name__}"
    disk, rng = FailingDisk(name), random.Random(6)
    steps: list[list[Entry] | None] = [made_up(rng, 1, n) for n in (1, 30, 300, 2)]
    steps += [None, made_up(rng, 2, 40), made_up(rng, 1, 3)]
    fails_at = reached = 0
    while True:
        fails_at += 1
        path = memory / str(fails_at)
        survey = kind(path, name)
        disk.set(fails_at, error, lasting)
        for step in steps:
            if not survey.attempt(step):
                survey.attempt(step)  # while it may be broken still
                disk.mend()
                assert survey.attempt(step)
        survey.close()
        disk.mend()
        store = SqliteLog(path)
        assert everything(store) == survey.acknowledged
        assert [counts.n for counts in store.counts()] == [333]
        assert len(survey.acknowledged) == sum(len(step or ()) for step in steps)
        store.close()
        for file in memory.glob(f"{fails_at}*"):
            file.unlink()
        if not disk.failed:
            return fails_at, reached
        reached += survey.errors > 0


@pytest.mark.slow
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "until it is mended"])
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError], ids=["EIO", "ENOSPC"])
def test_an_error_at_every_operation(memory: Path, error: type[apsw.Error], lasting: bool) -> None:
    operations, reached = sweep(memory, error, lasting)
    assert operations > 60
    assert reached > operations / 2  # others are met by SQLite itself, or when all is done


class Careless(Survey):
    """A survey that acknowledges what its store could not keep: the control."""

    def attempt(self, entries: list[Entry] | None) -> bool:
        done = super().attempt(entries)
        self.acknowledged |= {entry.id: (entry.plan, entry.report) for entry in entries or ()}
        return done or entries is not None


def test_a_survey_that_acknowledges_too_early_is_found(memory: Path) -> None:
    with pytest.raises(AssertionError):
        sweep(memory, apsw.FullError, False, Careless)
