"""A store in one SQLite file: an append-only log with one row for each group of reports that was committed together.

    groups(seq, part, plan, first, data, crc)    data: many times id (16 bytes) and report, sorted by id

A table with a row for each id would dirty a page for each of them; here a commit writes a few pages however many
reports it holds. Which ids were seen is kept in memory (`seen`) and rebuilt when the store is opened. The groups of a
part are replaced by larger ones that are sorted through the whole part when it is sealed; these have their first id in
the column `first`, by which a report is found in them.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from threading import RLock
from typing import Any

import apsw

from deniable.collect.stores.group_data import checksum, ids_in, is_damaged, report_in
from deniable.collect.stores.seen import Seen
from deniable.collect.stores.sqlite_sealing import SqliteSealing
from deniable.collect.stores.store import ID_BYTES, Entry, Outcome, Part, Store, StoredCounts, settle
from deniable.errors import CollectError, ReportError

APPLICATION = 0x646E4331  # The file's header says by this number that it is a store of reports ("dnC1").
VERSION = 2  # The version of the tables below, in the file's header; 1 had no checksums.
READ_BYTES = 1 << 21  # Groups are read about this many bytes at a time.
ANEW_BYTES = 1 << 16  # A log is written anew by so many bytes at a time; SQLite's files take less than 128 kB at once.
WAL_PAGES = 1 << 12  # The write-ahead log is copied into the file when it has this many pages.

TABLES = """
create table if not exists plans(plan integer primary key, fingerprint text unique, text text, size integer) strict;
create table if not exists parts(part integer primary key, day integer, start integer, sealed integer) strict;
create table if not exists groups(seq integer primary key, part integer, plan integer, first blob, data blob,
    crc integer) strict;
create index if not exists sorted_groups on groups(part, plan, first) where first is not null;
create table if not exists counts(part integer, plan integer, n integer, data blob, primary key(part, plan)) strict;
create table if not exists invitations(hash blob primary key, spent integer) strict, without rowid;
create table if not exists analysts(name text primary key, hash blob) strict, without rowid;
create table if not exists store(name text) strict;
"""


def wal_is_safe(version: tuple[int, ...]) -> bool:
    """Whether a version of SQLite has no WAL-reset bug, by which a crash could lose what was committed."""
    mended = (3, 44, 6) <= version < (3, 45) or (3, 50, 7) <= version < (3, 51) or version >= (3, 51, 3)
    return mended and version != (3, 52, 0)


def _write_anew(path: Path, vfs: str | None) -> None:
    """Write a file's bytes over themselves, and sync them.

    After a sync that failed, a system may go on to show what it has never written, and call the next sync a success.
    Only what is written anew is known to be on the disk.
    """
    if not path.exists() or not path.stat().st_size:
        return
    file = apsw.VFSFile(vfs or "", str(path), [apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        size = file.xFileSize()
        for offset in range(0, size, ANEW_BYTES):
            file.xWrite(file.xRead(min(ANEW_BYTES, size - offset), offset), offset)
        file.xSync(apsw.SQLITE_SYNC_NORMAL)
    finally:
        file.xClose()


class SqliteLog(Store):
    """The store in a file, which one process has open at a time."""

    failures = (apsw.Error, OSError)
    db: apsw.Connection

    def __init__(self, path: str | Path, *, vfs: str | None = None, synchronous: str = "full") -> None:
        self.path, self.sizes = Path(path), dict[int, int]()
        self.lock = RLock()  # held by whoever uses the connection, through whole transactions
        self.reports, self.last = 0, 0  # how many are stored, and the number of the last group
        self.moved: list[tuple[int, int, int]] = []  # (first group, last group, part) of parts that were sealed since
        with self.errors():
            if not self.path.exists():
                self.path.touch(mode=0o600)  # for its owner alone
            self.db = apsw.Connection(str(path), vfs=vfs)
            try:
                self._prepare(synchronous, vfs)
                self._load()
            except BaseException:
                self.db.close()
                raise

    def _prepare(self, synchronous: str, vfs: str | None) -> None:
        """Take the file for this process alone, durably; what a write-ahead log holds goes into the file."""
        wal = wal_is_safe(tuple(map(int, apsw.sqlite_lib_version().split("."))))
        self._all("pragma locking_mode=exclusive")
        ((application,),) = self._all("pragma application_id")
        if application != APPLICATION and self._all("select 1 from sqlite_schema"):
            raise CollectError(f"{self.path}: is an SQLite file, but no store of reports; give another --store")
        ((version,),) = self._all("pragma user_version")
        if version > VERSION:
            raise CollectError(
                f"{self.path}: is a store of version {version}, and this deniable reads those up to {VERSION}; "
                "install a newer one"
            )
        for setting in (
            f"journal_mode={'wal' if wal else 'truncate'}", f"synchronous={synchronous}", "secure_delete=on",
            f"wal_autocheckpoint={WAL_PAGES}", "trusted_schema=off",
        ):  # fmt: skip
            self._all(f"pragma {setting}")
        with self._transaction():  # which nobody else has now
            _write_anew(Path(f"{self.path}-wal"), vfs)
        with self.db:
            self.db.execute(f"pragma application_id={APPLICATION}; {TABLES}")
            if not list(self.db.execute("select 1 from pragma_table_info('groups') where name = 'crc'")):
                self.db.execute("alter table groups add column crc integer")
            self.db.execute("insert into store select ? where not exists (select 1 from store)", (token_hex(16),))
        self.empty_log()
        self._all(f"pragma user_version={VERSION}")  # the log begins anew, on the disk, too

    def _load(self) -> None:
        """Remember what is stored, after removing what an interrupted sealing left."""
        self.sizes = dict(self._all("select plan, size from plans"))
        with self.db:
            self.db.execute(
                "delete from groups where (first is null) = (select sealed from parts where parts.part = groups.part)"
            )
        lengths = dict(self._all("select plan, coalesce(sum(length(data)), 0) from groups group by plan"))
        expected = sum(length // (ID_BYTES + self.sizes.get(plan, 0)) for plan, length in lengths.items())
        self.seen = Seen(expected + expected // 8)  # room for some more before it grows
        for seq, plan, data, crc in self.db.execute("select seq, plan, data, crc from groups order by seq"):
            if plan not in self.sizes or is_damaged(data, plan, self.sizes[plan], crc):
                raise CollectError(self._damaged(seq))
            self.seen.add(self.seen.tags(ids_in(data, self.sizes[plan])), seq)
            self.reports += len(data) // (ID_BYTES + self.sizes[plan])
            self.last = seq
        ((start,),) = self._all("select coalesce(max(start), 1) from parts")
        self.last = max(self.last, start - 1)

    def _damaged(self, seq: int) -> str:
        return f"{self.path}: is damaged in group {seq}; take the file from a backup"

    def in_words(self, error: Exception) -> str:
        if isinstance(error, apsw.BusyError):
            return f"{self.path}: another process has this store open; stop that one first"
        if isinstance(error, apsw.NotADBError):
            return f"{self.path}: is there, but is no store of reports; give another --store"
        return f"{self.path}: the store failed: {getattr(error, 'strerror', error)}"

    @contextmanager
    def _transaction(self) -> Iterator[apsw.Connection]:
        """One transaction, taken back on any error."""
        with self.lock, self.errors():
            self.db.execute("begin immediate")
            try:
                yield self.db
                self.db.execute("commit")
            except BaseException:
                with suppress(apsw.Error):
                    self.db.execute("rollback")
                raise

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.lock, self.errors():
            return list(self.db.execute(sql, values))

    # -- reports -------------------------------------------------------------------------------------------------------

    def add_plan(self, fingerprint: str, text: str, size: int) -> int:
        with self._transaction() as db:
            db.execute(
                "insert into plans(fingerprint, text, size) values(?, ?, ?) on conflict(fingerprint) do nothing",
                (fingerprint, text, size),
            )
        ((plan, size),) = self._all("select plan, size from plans where fingerprint = ?", (fingerprint,))
        self.sizes[plan] = size
        return int(plan)

    def plans(self) -> dict[int, str]:
        return dict(self._all("select plan, text from plans order by plan"))

    def write(self, entries: Sequence[Entry], day: int) -> list[Outcome]:
        with self.lock:
            outcomes, new = settle(entries, self._stored_already(entries), self._unspent(entries))
            if new:
                self._insert(new, day)
                self.reports += len(new)
            return outcomes

    def _stored_already(self, entries: Sequence[Entry]) -> dict[bytes, tuple[int, bytes]]:
        """The plan and the report of each id that is stored."""
        tags = self.seen.tags(b"".join(entry.id for entry in entries))
        found = ((entries[place].id, seq) for place, seq in self.seen.find(tags))
        return {id: stored for id, seq in found if (stored := self._stored(seq, id)) is not None}

    def _insert(self, new: Sequence[Entry], day: int) -> None:
        """Commit new reports, one group for each plan, and remember their ids once they are stored."""
        groups = {plan: [entry for entry in new if entry.plan == plan] for plan in {entry.plan for entry in new}}
        last = self.last
        with self._transaction() as db:
            part = self._open_part(day)
            for plan, own in groups.items():
                last += 1
                data = b"".join(sorted(entry.id + entry.report for entry in own))
                row = (last, part, plan, data, checksum(data, plan))
                db.execute("insert into groups values(?, ?, ?, null, ?, ?)", row)
            spent = [(entry.invitation,) for entry in new if entry.invitation is not None]
            db.executemany("update invitations set spent = 1 where hash = ?", spent)
        for seq, own in enumerate(groups.values(), self.last + 1):
            self.seen.add(self.seen.tags(b"".join(entry.id for entry in own)), seq)
        self.last = last

    def _unspent(self, entries: Sequence[Entry]) -> set[bytes]:
        hashes = {entry.invitation for entry in entries if entry.invitation}
        known = "select 1 from invitations where hash = ? and spent = 0"
        return {hash for hash in hashes if self._all(known, (hash,))}

    def _stored(self, seq: int, id: bytes) -> tuple[int, bytes] | None:
        """The plan and the report that a group holds by an id, also if the group's part was sealed since."""
        rows = self._all("select plan, data from groups where seq = ?", (seq,))
        if not rows:
            part = self.moved[bisect_right(self.moved, (seq, 1 << 62, 0)) - 1][2]
            rows = [
                row
                for plan in self.plans_in(part)
                for row in self._all(
                    "select plan, data from groups where part = ? and plan = ? and first <= ? "
                    "order by first desc limit 1",
                    (part, plan, id),
                )
            ]
        for plan, data in rows:
            report = report_in(data, id, self.sizes[plan])
            if report is not None:
                return plan, report
        return None

    def holds(self, id: bytes) -> bool:
        with self.lock:
            return any(self._stored(seq, id) for _, seq in self.seen.find(self.seen.tags(id)))

    def total(self) -> int:
        return self.reports

    def name(self) -> str:
        ((name,),) = self._all("select name from store")
        return str(name)

    def empty_log(self) -> None:
        """Copy the write-ahead log into the file, and empty it.

        It holds the last transactions as they came: so in which order, and which invitation with which report.
        """
        self._all("pragma wal_checkpoint(truncate)")

    # -- parts ---------------------------------------------------------------------------------------------------------

    def parts(self) -> list[Part]:
        rows = self._all("select part, day, sealed from parts order by part")
        return [Part(part, day, bool(sealed)) for part, day, sealed in rows]

    def open_part(self, day: int) -> None:
        with self._transaction():
            self._new_part(day)

    def _open_part(self, day: int) -> int:
        """The number of the open part; a new one is opened on a new day."""
        last = list(self.db.execute("select part, day from parts order by part desc limit 1"))
        return int(last[0][0]) if last and last[0][1] >= day else self._new_part(day)

    def _new_part(self, day: int) -> int:
        self.db.execute("insert into parts(day, start, sealed) values(?, ?, 0)", (day, self.last + 1))
        return int(self.db.last_insert_rowid())

    def plans_in(self, part: int) -> list[int]:
        counted = "select plan from counts where part = ?1"
        waiting = "select plan from groups where seq between ?2 and ?3 and part = ?1 and first is null"
        low, high = self._range(part)
        return [plan for (plan,) in self._all(f"{counted} union {waiting} order by plan", (part, low, high))]

    def _range(self, part: int) -> tuple[int, int]:
        """The numbers between which the groups of a part are that were written while it was open."""
        after = "select coalesce(min(start) - 1, ?2) from parts where part > ?1"
        ((low, high),) = self._all(f"select start, ({after}) from parts where part = ?1", (part, self.last))
        return low, high

    def read(self, part: int, plan: int) -> Iterator[bytes]:
        ((sealed,),) = self._all("select sealed from parts where part = ?", (part,))
        if not sealed:
            yield from self._unsorted(part, plan)
            return
        sql = (
            "select seq, data, crc, first from groups where part = ? and plan = ? and first > ? order by first limit 1"
        )
        first = b""
        while rows := self._all(sql, (part, plan, first)):
            yield self._checked(plan, rows)
            first = rows[0][-1]

    def _unsorted(self, part: int, plan: int, *, check: bool = True) -> Iterator[bytes]:
        """The groups of a part in the order of arrival, some at a time; they need a check once of several times."""
        low, high = self._range(part)
        rows = 32  # until is known how large they are
        sql = (
            "select seq, data, crc from groups where seq between ? and ? and part = ? and plan = ? and first is null "
            "order by seq limit ?"
        )
        while found := self._all(sql, (low, high, part, plan, rows)):
            data = self._checked(plan, found) if check else b"".join(data for _, data, _ in found)
            yield data
            low = found[-1][0] + 1
            rows = max(1, READ_BYTES * len(found) // len(data))

    def _checked(self, plan: int, rows: Sequence[tuple[Any, ...]]) -> bytes:
        """The data of rows of a plan (number of the group, data, checksum, ...), none of which is damaged."""
        for seq, data, crc, *_ in rows:
            if is_damaged(data, plan, self.sizes[plan], crc):
                raise ReportError(self._damaged(seq))
        return b"".join(row[1] for row in rows)

    def seal(self, part: int) -> SqliteSealing:
        return SqliteSealing(self, part)

    def counts(self) -> list[StoredCounts]:
        return [StoredCounts(*row) for row in self._all("select part, plan, n, data from counts order by part, plan")]

    # -- who may do what -----------------------------------------------------------------------------------------------

    def add_invitations(self, hashes: Iterable[bytes]) -> None:
        with self._transaction() as db:
            db.executemany("insert into invitations values(?, 0)", ((hash,) for hash in hashes))

    def invitations(self) -> tuple[int, int]:
        ((made, spent),) = self._all("select count(*), coalesce(sum(spent), 0) from invitations")
        return made, spent

    def add_analyst(self, name: str, hash: bytes) -> bool:
        with self._transaction() as db:
            return bool(
                list(db.execute("insert into analysts values(?, ?) on conflict do nothing returning 1", (name, hash)))
            )

    def drop_analyst(self, name: str) -> bool:
        with self._transaction() as db:
            return bool(list(db.execute("delete from analysts where name = ? returning 1", (name,))))

    def analysts(self) -> dict[str, bytes]:
        return dict(self._all("select name, hash from analysts order by name"))
