"""The store in a file: what is special about SQLite."""

import random
import sqlite3
from pathlib import Path

import apsw
import pytest

from deniable.collect.stores import sqlite_log, sqlite_sealing
from deniable.collect.stores.sqlite_log import SqliteLog, wal_is_safe
from deniable.collect.stores.store import Outcome
from deniable.errors import CollectError, ReportError
from tests.support.collect.stores import add_plans, everything, made_up, seal


def test_a_second_process_is_refused_at_once(tmp_path: Path) -> None:
    first = SqliteLog(tmp_path / "survey.db")
    with pytest.raises(CollectError, match="another process has this store open"):
        SqliteLog(tmp_path / "survey.db")
    first.close()
    SqliteLog(tmp_path / "survey.db").close()


def test_files_that_are_no_stores_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, but some text that is long enough for a header " * 20)
    with pytest.raises(CollectError, match="no store of reports"):
        SqliteLog(tmp_path / "text.db")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("create table precious(x)")
    other.close()
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(CollectError, match="an SQLite file, but no store of reports"):
        SqliteLog(tmp_path / "other.db")
    assert (tmp_path / "other.db").read_bytes() == before
    with pytest.raises(CollectError, match="survey.db: the store failed: No such file or directory"):
        SqliteLog(tmp_path / "no folder" / "survey.db")


def test_a_store_of_a_later_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "survey.db"
    SqliteLog(path).close()
    with_version(path, 7)
    before = path.read_bytes()
    with pytest.raises(CollectError, match="is a store of version 7, and this deniable reads those up to 2; install"):
        SqliteLog(path)
    assert path.read_bytes() == before
    with_version(path, 2)
    SqliteLog(path).close()


def with_version(path: Path, version: int) -> None:
    db = sqlite3.connect(path)
    db.execute(f"pragma user_version={version}")
    db.execute("pragma journal_mode=delete")
    db.close()


def test_a_store_of_version_1_goes_on_and_new_groups_have_checksums(tmp_path: Path) -> None:
    """Its groups have none, and are taken as they are, until they are sealed."""
    rng, path = random.Random(10), tmp_path / "survey.db"
    store = SqliteLog(path)
    add_plans(store)
    early = made_up(rng, 1, 30)
    store.write(early, 1)
    store._all("alter table groups drop column crc")
    store.close()
    with_version(path, 1)
    store = SqliteLog(path)
    late = made_up(rng, 1, 20)
    assert store.write(early + late, 1) == [Outcome.SAME] * 30 + [Outcome.NEW] * 20
    assert [crc is None for (crc,) in store._all("select crc from groups order by seq")] == [True, False]
    store.open_part(2)
    seal(store, 1)
    assert [crc is None for (crc,) in store._all("select crc from groups order by seq")] == [False]
    assert len(everything(store)) == 50
    store.close()
    assert len(everything(SqliteLog(path))) == 50


def flip(store: SqliteLog, seq: int) -> None:
    """Flip one bit of one report in a group."""
    ((data,),) = store._all("select data from groups where seq = ?", (seq,))
    damaged = bytearray(data)
    damaged[-1] ^= 1
    store._all("update groups set data = ? where seq = ?", (bytes(damaged), seq))


@pytest.mark.parametrize("sealed", [False, True])
def test_a_bit_that_flips_is_found_when_it_is_read_and_when_the_store_is_opened(tmp_path: Path, sealed: bool) -> None:
    rng, path = random.Random(11), tmp_path / "survey.db"
    store = SqliteLog(path)
    add_plans(store)
    for _ in range(3):
        store.write(made_up(rng, 1, 10), 1)
    store.open_part(2)
    if sealed:
        seal(store, 1)
    flip(store, 4 if sealed else 2)
    with pytest.raises(ReportError, match=rf"survey.db: is damaged in group {4 if sealed else 2}; take the file from"):
        b"".join(store.read(1, 1))
    if not sealed:
        with pytest.raises(ReportError, match="is damaged in group 2"):
            seal(store, 1)
    store.close()
    with pytest.raises(CollectError, match=rf"survey.db: is damaged in group {4 if sealed else 2}; take the file from"):
        SqliteLog(path)


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    store = SqliteLog(tmp_path / "survey.db")
    add_plans(store)
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    assert len(list(tmp_path.iterdir())) == 2  # the file and its write-ahead log
    store.close()


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ("3.7.0", False), ("3.40.1", False), ("3.44.5", False), ("3.44.6", True), ("3.45.0", False),
        ("3.50.6", False), ("3.50.7", True), ("3.51.2", False), ("3.51.3", True), ("3.52.0", False), ("3.54.1", True),
    ],
)  # fmt: skip
def test_a_write_ahead_log_is_used_where_it_is_safe(version: str, safe: bool) -> None:
    assert wal_is_safe(tuple(map(int, version.split(".")))) is safe


def test_an_unsafe_sqlite_does_without_a_write_ahead_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    monkeypatch.setattr(sqlite_log, "wal_is_safe", lambda _version: False)
    store = SqliteLog(tmp_path / "survey.db")
    add_plans(store)
    store.write(made_up(rng, count=10), 1)
    assert [mode for (mode,) in store._all("pragma journal_mode")] == ["truncate"]
    assert not (tmp_path / "survey.db-wal").exists()
    store.close()
    assert len(everything(SqliteLog(tmp_path / "survey.db"))) == 10


def test_the_settings_that_make_it_durable_are_in_force(tmp_path: Path) -> None:
    store = SqliteLog(tmp_path / "survey.db")
    found = {name: store._all(f"pragma {name}") for name in ("journal_mode", "synchronous", "locking_mode")}
    assert found == {"journal_mode": [("wal",)], "synchronous": [(2,)], "locking_mode": [("exclusive",)]}


@pytest.mark.parametrize("cut", [0, 1, 5000])
def test_a_long_log_that_a_crash_left_is_taken_up(tmp_path: Path, cut: int) -> None:
    """Longer than what can be written to a file at once; also where it was cut off in the middle of a write."""
    rng, store = random.Random(9), SqliteLog(tmp_path / "survey.db")
    add_plans(store)
    for _ in range(4):
        store.write(made_up(rng, 1, 10_000), 1)
    last = made_up(rng, 1, 500)
    store.write(last, 1)
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for file in tmp_path.glob("survey.db*"):
        (crashed / file.name).write_bytes(file.read_bytes())
    log = crashed / "survey.db-wal"
    assert log.stat().st_size > 1 << 19
    log.write_bytes(log.read_bytes()[: log.stat().st_size - cut])
    again = SqliteLog(crashed / "survey.db")
    assert again.total() == (40_000 if cut else 40_500)
    assert again.write(last, 1) == [Outcome.NEW if cut else Outcome.SAME] * 500
    assert again.total() == len(everything(again)) == 40_500
    again.close()
    store.close()


def test_a_part_is_sorted_in_as_many_passes_as_memory_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_sealing, "SORT_BYTES", 1 << 10)
    monkeypatch.setattr(sqlite_log, "READ_BYTES", 1 << 12)
    monkeypatch.setattr(sqlite_sealing, "CHUNK_BYTES", 1 << 8)
    rng, store = random.Random(2), SqliteLog(tmp_path / "survey.db")
    add_plans(store)
    for count in (1, 200, 3, 40, 1):
        store.write(made_up(rng, 1, count), 1)
        store.write(made_up(rng, 2, count), 1)
    same = made_up(rng, 1, 100)
    alike = [entry._replace(id=bytes(8) + entry.id[8:]) for entry in same]  # ids with one beginning
    store.write(alike, 1)
    before = everything(store)
    store.open_part(2)
    seal(store, 1)
    assert everything(store) == before
    ((longest, groups),) = store._all("select max(length(data)), count(*) from groups")
    assert longest <= 1 << 8
    assert groups > 20
    assert store.write(alike, 2) == [Outcome.SAME] * 100  # found where they are now
    store.close()
    again = SqliteLog(tmp_path / "survey.db")
    assert again.write(alike, 2) == [Outcome.SAME] * 100
    assert again.total() == len(before)


@pytest.mark.parametrize("steps", range(4))
def test_an_interrupted_sealing_is_forgotten_or_finished(tmp_path: Path, steps: int) -> None:
    """Cut off after the first chunks, before it is done, or before the dead groups are removed."""
    rng, store = random.Random(3), SqliteLog(tmp_path / "survey.db")
    add_plans(store)
    for _ in range(80):
        store.write(made_up(rng, 1, 2), 1)
    before = everything(store)
    store.open_part(2)
    sealing = store.seal(1)
    if steps:
        for chunk in sealing.chunks(1):
            sealing.keep(1, chunk)
    if steps > 1:
        sealing.done([])
    if steps > 2:
        assert sealing.tidy()
    store.close()
    again = SqliteLog(tmp_path / "survey.db")
    ((groups,),) = again._all("select count(*) from groups")
    assert groups == (80 if steps < 2 else 1)
    if steps < 2:
        assert everything(again) == before
        seal(again, 1)
        assert everything(again) == before


def test_no_order_of_arrival_stays_in_the_file(tmp_path: Path) -> None:
    """Before sealing the order of single reports can be read off the file; afterwards only that of ids."""
    rng, path = random.Random(4), tmp_path / "survey.db"
    store = SqliteLog(path)
    add_plans(store)
    arrived = [made_up(rng)[0] for _ in range(60)]
    for entry in arrived:
        store.write([entry], 1)
    store._all("pragma wal_checkpoint(truncate)")
    ids = [entry.id for entry in arrived]

    def order() -> list[bytes]:
        data = path.read_bytes()
        assert all(data.count(id) == 1 for id in ids[1:])
        return sorted(ids[1:], key=data.index)

    assert order() != sorted(ids[1:])  # the control: it stays so far
    store.open_part(2)
    seal(store, 1)
    store.empty_log()  # while the store is open, and may stay so for weeks
    ids.sort()  # the first of the sorted group stands beside it as well
    assert order() == ids[1:]
    assert log_of(path) == b""
    store.close()
    assert not list(tmp_path.glob("*-wal"))


def log_of(path: Path) -> bytes:
    return path.with_name(path.name + "-wal").read_bytes()


def test_a_log_does_not_say_for_long_which_invitation_came_with_which_report(tmp_path: Path) -> None:
    """Both are written by one transaction, and so stand together in the write-ahead log: that is the control."""
    rng, path = random.Random(9), tmp_path / "survey.db"
    store = SqliteLog(path)
    add_plans(store)
    hashes = [rng.randbytes(32) for _ in range(5)]
    store.add_invitations(hashes)
    store.empty_log()
    entries = [one._replace(invitation=hash) for one, hash in zip(made_up(rng, 1, 5), hashes, strict=True)]
    for entry in entries:
        assert store.write([entry], 1) == [Outcome.NEW]
    found = [log_of(path).find(entry.id + entry.report) for entry in entries]
    assert sorted(found) == found
    assert all(hash in log_of(path) for hash in hashes)
    store.empty_log()
    assert log_of(path) == b""
    assert set(store.write(entries, 1)) == {Outcome.SAME}
    store.close()


def test_a_log_that_a_killed_process_left_is_emptied_before_anything_is_served(tmp_path: Path) -> None:
    """Until then it holds invitations beside reports; so does a snapshot of both files, but no copy by VACUUM INTO."""
    rng, path = random.Random(10), tmp_path / "survey.db"
    store = SqliteLog(path)
    add_plans(store)
    hashes = [rng.randbytes(32) for _ in range(5)]
    store.add_invitations(hashes)
    entries = [one._replace(invitation=hash) for one, hash in zip(made_up(rng, 1, 5), hashes, strict=True)]
    for entry in entries:
        store.write([entry], 1)
    killed = tmp_path / "killed"
    killed.mkdir()
    for file in tmp_path.glob("survey.db*"):
        (killed / file.name).write_bytes(file.read_bytes())
    store.close()
    left = log_of(killed / "survey.db")
    assert all(hash in left for hash in hashes)
    assert all(entry.id in left for entry in entries)
    again = SqliteLog(killed / "survey.db")
    left = log_of(killed / "survey.db")
    assert not any(one in left for one in [*hashes, *(entry.id for entry in entries)])
    assert again.total() == 5
    again.close()
    copy = sqlite3.connect(killed / "survey.db")
    copy.execute("vacuum into ?", (str(tmp_path / "copy.db"),))
    copy.close()
    assert not (tmp_path / "copy.db-wal").exists()
    assert len(everything(SqliteLog(tmp_path / "copy.db"))) == 5


def test_an_error_inside_a_transaction_takes_it_back(tmp_path: Path) -> None:
    rng, store = random.Random(5), SqliteLog(tmp_path / "survey.db")
    add_plans(store)
    abort = "begin select raise(abort, 'x'); end"
    store.db.execute(f"create temp trigger stop before insert on groups when new.seq = 2 {abort}")
    first, second = made_up(rng, 1, 3), made_up(rng, 1, 3)
    assert store.write(first, 1) == [Outcome.NEW] * 3
    with pytest.raises(CollectError, match="the store failed"):
        store.write(second, 1)
    assert not store.holds(second[0].id)
    store.db.execute("drop trigger stop")
    assert store.write(second, 1) == [Outcome.NEW] * 3
    assert len(everything(store)) == 6
    assert isinstance(store.db, apsw.Connection)
