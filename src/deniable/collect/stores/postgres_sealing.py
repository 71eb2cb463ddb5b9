"""Sealing a part of a store in PostgreSQL: its rows are written anew, sorted by id, by one transaction.

PostgreSQL keeps with each row the number of the transaction that wrote it (`xmin`), and leaves it where it was written
(`ctid`). So rows as they arrived say in which order they came, and an invitation, which is spent by the transaction
that stores its report, says which report that was. Copying the table (CLUSTER, VACUUM FULL) keeps those numbers; only
rows that are inserted again get another one: here all of a part the same one, as do all spent invitations.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from deniable.collect.stores.store import Sealing, StoredCounts

if TYPE_CHECKING:
    from deniable.collect.stores.postgres import PostgresStore

LOCK = 0x646E4332  # Who seals has the advisory lock of this number; writers do not wait for it.

# Sorting reads all rows before the first one is inserted, so that no id is there twice.
REPORTS_ANEW = """
with old as (delete from deniable_reports where part = %s returning id, part, plan, report)
insert into deniable_reports(id, part, plan, report) select * from old order by id
"""
INVITATIONS_ANEW = """
with old as (delete from deniable_invitations where spent returning hash, spent)
insert into deniable_invitations(hash, spent) select * from old order by hash
"""


class PostgresSealing(Sealing):
    """A closed part of a `PostgresStore` while it is sealed, by a connection of its own, so that no writer waits.

    Its rows change in the transaction that makes it sealed; who asks for them finds them before, meanwhile and after.
    """

    def __init__(self, store: "PostgresStore", part: int) -> None:
        self.store, self.part = store, part

    def chunks(self, plan: int) -> Iterator[bytes]:
        return self.store.read(self.part, plan)

    def keep(self, plan: int, chunk: bytes) -> None:
        """All rows are written anew at once, when the part is done."""

    def done(self, counts: Sequence[StoredCounts]) -> None:
        with self.store.errors(), self.store.connected() as db, db.transaction():
            db.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
            first = db.execute("update deniable_parts set sealed = true where part = %s and not sealed", (self.part,))
            if first.rowcount:  # or another process has counted the same, and was faster
                for one in counts:
                    db.execute("insert into deniable_counts values (%s, %s, %s, %s)", one)
                db.execute(REPORTS_ANEW, (self.part,))
                db.execute(INVITATIONS_ANEW)

    def tidy(self) -> bool:
        """Free the room of the rows as they arrived, which nobody sees any more."""
        with self.store.errors(), self.store.connected() as db:
            db.execute("vacuum deniable_reports, deniable_invitations")
        return False
