"""A store in PostgreSQL, which several processes share: a row for each report, keyed by its id.

Writers hold a shared lock, and whoever opens a part an exclusive one, so that nothing is added to a part once it is
closed. A transaction that meets another one about the same id is done again, and then sees what the other has stored.
"""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from secrets import token_hex
from threading import Lock, RLock
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from deniable.collect.stores.postgres_sealing import PostgresSealing
from deniable.collect.stores.store import Entry, Outcome, Part, Settled, Store, StoredCounts, settle
from deniable.errors import CollectError

LOCK = 0x646E4331  # Writers share the advisory lock of this number, and whoever opens a part has it alone.
FETCHED = 1 << 14  # So many reports are read at a time.
TRIES = 20  # A transaction that meets others is tried so often.
TOTAL_SECONDS = 10.0  # All reports are counted at most this often, and at most for a tenth of the time.

# An address, with @ after user and password alone: a password with @ or / in it would be taken for a host, and shown.
ADDRESS = re.compile(r"postgres(ql)?://([^@/]*@)?[^@]*", re.DOTALL)

# A commit is on the disk when it returns, also where the database is set to be faster than that.
DURABLE = "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'"

TABLES = """
create table if not exists deniable_plans(
    plan integer generated always as identity primary key, fingerprint text unique not null, text text not null,
    size integer not null);
create table if not exists deniable_parts(
    part integer generated always as identity primary key, day integer not null, sealed boolean not null default false);
create table if not exists deniable_reports(
    id bytea primary key, part integer not null, plan integer not null, report bytea not null);
create index if not exists deniable_reports_part on deniable_reports using brin(part);
create table if not exists deniable_counts(
    part integer, plan integer, n bigint not null, data bytea not null, primary key(part, plan));
create table if not exists deniable_invitations(hash bytea primary key, spent boolean not null default false);
create table if not exists deniable_analysts(name text primary key, hash bytea not null);
create table if not exists deniable_store(name text not null);
"""


def _check(url: str) -> None:
    """Refuse an address that cannot be read, in words that show nothing of it, as it may hold a password."""
    with suppress(psycopg.Error):
        if ADDRESS.fullmatch(url):
            conninfo_to_dict(url)
            return
    raise CollectError(
        "--store: the address of the database cannot be read; write postgresql://user:password@host/name, and in user "
        "and password %40 for @, %2F for /, %3A for :, %25 for % and %20 for a blank"
    )


class _MetAnother(Exception):  # noqa: N818 - it is tried again
    """Raised to take back a transaction that met another one about the same id."""


class PostgresStore(Store):
    """The store in a database, by a connection of its own."""

    failures = (psycopg.Error,)
    db: psycopg.Connection[Any]

    def __init__(self, url: str) -> None:
        _check(url)
        self.url, self.lock = url, RLock()
        self.counted: int | None = None  # how many reports there were when they were counted last
        self.count_after, self.counting = 0.0, Lock()  # when to count again, and who does
        with self.errors():
            self.db = self.connected()
            with self.db.transaction():
                self.db.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
                self.db.execute(TABLES)
                made = "insert into deniable_store select %s where not exists (select from deniable_store)"
                self.db.execute(made, (token_hex(16),))

    def connected(self) -> psycopg.Connection[Any]:
        """A new connection, each of whose commits is on the disk when it returns."""
        db = psycopg.connect(self.url, autocommit=True)
        db.execute(DURABLE)
        return db

    def in_words(self, error: Exception) -> str:
        """What failed; a password is not in it, as the address could be read."""
        return f"the store in PostgreSQL failed: {' '.join(str(error).split())}"

    @contextmanager
    def _transaction(self, *, alone: bool = False) -> Iterator[psycopg.Connection[Any]]:
        """One transaction of a writer; or of whoever opens a part, with no writers beside."""
        with self.lock, self.errors(), self._live().transaction():
            self.db.execute(f"select pg_advisory_xact_lock{'' if alone else '_shared'}(%s)", (LOCK,))
            yield self.db

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.lock, self.errors():
            return self._live().execute(sql, values, binary=True).fetchall()

    def _live(self) -> psycopg.Connection[Any]:
        """The connection; a new one if it was lost, or nothing could be read until somebody writes."""
        if self.db.broken:
            self.db = self.connected()
        return self.db

    # -- reports -------------------------------------------------------------------------------------------------------

    def add_plan(self, fingerprint: str, text: str, size: int) -> int:
        with self._transaction(alone=True) as db:
            row = (fingerprint, text, size, fingerprint)
            db.execute(
                "insert into deniable_plans(fingerprint, text, size) select %s, %s, %s "
                "where not exists (select from deniable_plans where fingerprint = %s)",
                row,
            )
        ((plan,),) = self._all("select plan from deniable_plans where fingerprint = %s", (fingerprint,))
        return int(plan)

    def plans(self) -> dict[int, str]:
        return dict(self._all("select plan, text from deniable_plans order by plan"))

    def write(self, entries: Sequence[Entry], day: int) -> list[Outcome]:
        self._open_part_of(day)
        for _ in range(TRIES):
            try:
                with self._transaction() as db:
                    outcomes, new = self._settled(db, entries)
                    self._insert(db, new)
                return outcomes
            except _MetAnother:
                continue
        raise CollectError("the store in PostgreSQL is busy: other writers hold these ids")

    def _settled(self, db: psycopg.Connection[Any], entries: Sequence[Entry]) -> Settled:
        """What becomes of entries, with their invitations locked until the transaction ends."""
        hashes = sorted({entry.invitation for entry in entries if entry.invitation})
        unspent = set()
        if hashes:
            sql = "select hash from deniable_invitations where hash = any(%s) and not spent order by hash for update"
            unspent = {bytes(hash) for (hash,) in db.execute(sql, (hashes,))}
        ids = [entry.id for entry in entries]
        found = db.execute("select id, plan, report from deniable_reports where id = any(%s)", (ids,), binary=True)
        return settle(entries, {bytes(id): (plan, bytes(report)) for id, plan, report in found}, unspent)

    def _insert(self, db: psycopg.Connection[Any], new: Sequence[Entry]) -> None:
        """Store new reports in the order of their ids, by which transactions that meet wait for each other in turn."""
        if not new:
            return
        rows = sorted(new)
        done = db.execute(
            "insert into deniable_reports select id, (select max(part) from deniable_parts), plan, report "
            "from unnest(%s::bytea[], %s::int[], %s::bytea[]) as new(id, plan, report) on conflict do nothing",
            ([row.id for row in rows], [row.plan for row in rows], [row.report for row in rows]),
            binary=True,
        )
        if done.rowcount < len(rows):
            raise _MetAnother
        spent = [row.invitation for row in rows if row.invitation is not None]
        if spent:
            db.execute("update deniable_invitations set spent = true where hash = any(%s)", (spent,))

    def holds(self, id: bytes) -> bool:
        return bool(self._all("select 1 from deniable_reports where id = %s", (id,)))

    def total(self) -> int:
        """About how many reports are stored, as they were counted last; only who comes first of all waits for it."""
        if time.monotonic() >= self.count_after and self.counting.acquire(blocking=self.counted is None):
            try:
                if time.monotonic() >= self.count_after:
                    start, self.counted = time.monotonic(), self._count()
                    self.count_after = start + max(TOTAL_SECONDS, 10 * (time.monotonic() - start))
            finally:
                self.counting.release()
        assert self.counted is not None
        return self.counted

    def _count(self) -> int:
        """How many reports are stored, by a connection of its own: every row that is not sealed is looked at."""
        waiting = "select count(*) from deniable_reports join deniable_parts using (part) where not sealed"
        sql = f"select (select coalesce(sum(n), 0)::bigint from deniable_counts) + ({waiting})"
        with self.errors(), self.connected() as db:
            ((total,),) = db.execute(sql).fetchall()
            return int(total)

    def name(self) -> str:
        ((name,),) = self._all("select name from deniable_store")
        return str(name)

    def empty_log(self) -> None:
        """The log is the database's own."""

    # -- parts ---------------------------------------------------------------------------------------------------------

    def parts(self) -> list[Part]:
        return [Part(*row) for row in self._all("select part, day, sealed from deniable_parts order by part")]

    def open_part(self, day: int) -> None:
        with self._transaction(alone=True) as db:
            db.execute("insert into deniable_parts(day) values (%s)", (day,))

    def _open_part_of(self, day: int) -> None:
        """Open a part if the open one is of an earlier day."""
        latest = "select coalesce(max(day), -1) from deniable_parts"
        if self._all(latest)[0][0] < day:
            with self._transaction(alone=True) as db:
                db.execute(f"insert into deniable_parts(day) select %s where ({latest}) < %s", (day, day))

    def plans_in(self, part: int) -> list[int]:
        sql = (
            "select plan from deniable_counts where part = %s union select distinct plan from deniable_reports "
            "join deniable_parts using (part) where part = %s and not sealed order by plan"
        )
        return [plan for (plan,) in self._all(sql, (part, part))]

    def read(self, part: int, plan: int) -> Iterator[bytes]:
        sql = "select id || report from deniable_reports where part = %s and plan = %s order by id"
        with self.errors(), psycopg.connect(self.url) as db, db.cursor(name="reports", binary=True) as cursor:
            cursor.execute(sql, (part, plan))
            while rows := cursor.fetchmany(FETCHED):
                yield b"".join(row for (row,) in rows)

    def seal(self, part: int) -> PostgresSealing:
        return PostgresSealing(self, part)

    def counts(self) -> list[StoredCounts]:
        rows = self._all("select part, plan, n, data from deniable_counts order by part, plan")
        return [StoredCounts(part, plan, n, bytes(data)) for part, plan, n, data in rows]

    # -- who may do what -----------------------------------------------------------------------------------------------

    def add_invitations(self, hashes: Iterable[bytes]) -> None:
        with self._transaction() as db:
            db.execute("insert into deniable_invitations(hash) select unnest(%s::bytea[])", (list(hashes),))

    def invitations(self) -> tuple[int, int]:
        ((made, spent),) = self._all("select count(*), count(*) filter (where spent) from deniable_invitations")
        return made, spent

    def add_analyst(self, name: str, hash: bytes) -> bool:
        with self._transaction() as db:
            new = "insert into deniable_analysts values (%s, %s) on conflict do nothing"
            return db.execute(new, (name, hash)).rowcount == 1

    def drop_analyst(self, name: str) -> bool:
        with self._transaction() as db:
            return db.execute("delete from deniable_analysts where name = %s", (name,)).rowcount == 1

    def analysts(self) -> dict[str, bytes]:
        return {name: bytes(hash) for name, hash in self._all("select name, hash from deniable_analysts order by name")}
