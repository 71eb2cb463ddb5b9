"""Sealing a part of a store in SQLite: its groups are replaced by larger ones, sorted by id through the whole part."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from deniable.collect.stores.group_data import checksum, keys_of, rows_of
from deniable.collect.stores.store import ID_BYTES, Sealing, StoredCounts

if TYPE_CHECKING:
    from deniable.collect.stores.sqlite_log import SqliteLog

CHUNK_BYTES = 1 << 19  # A group of a sealed part has at most about this many bytes.
SAMPLED = 64  # Of what is read at once about this many ids are looked at to part the ids evenly into passes.
SORT_BYTES = 1 << 23  # A part is sorted in passes of about this many bytes each.
DEAD_GROUPS = 64  # So many groups are removed in one transaction after a part was sealed.


class SqliteSealing(Sealing):
    """A closed part of an `SqliteLog` while it is sealed."""

    def __init__(self, log: "SqliteLog", part: int) -> None:
        self.log, self.part = log, part
        self.range = log._range(part)
        with log._transaction() as db:  # what was begun and not done
            db.execute("delete from groups where part = ? and first is not null", (part,))

    def chunks(self, plan: int) -> Iterator[bytes]:
        step = ID_BYTES + self.log.sizes[plan]
        total, some = 0, [np.zeros(0, np.uint64)]
        for data in self.log._unsorted(self.part, plan):
            keys = keys_of(rows_of(data, step))
            some.append(keys[:: max(1, len(keys) // SAMPLED)])
            total += len(data)
        sample, passes = np.sort(np.concatenate(some)), -(-total // SORT_BYTES)
        bounds = [int(sample[k * len(sample) // passes]) for k in range(1, passes)]
        low = 0
        for high in [*bounds, 1 << 64] if passes else []:
            yield from self._sorted(plan, step, low, high)
            low = high

    def _sorted(self, plan: int, step: int, low: int, high: int) -> Iterator[bytes]:
        """The reports whose ids begin with numbers from low to high, the last one excluded, sorted by id."""
        found = []
        for data in self.log._unsorted(self.part, plan, check=False):
            rows = rows_of(data, step)
            keys = keys_of(rows)
            found.append(rows[(keys >= low) & (keys < high)] if high < 1 << 64 else rows[keys >= low])
        rows = np.concatenate(found)
        del found
        rows = rows[np.lexsort((keys_of(rows[:, 8:]), keys_of(rows)))]
        most = max(1, CHUNK_BYTES // step)
        for start in range(0, len(rows), most):
            yield rows[start : start + most].tobytes()

    def keep(self, plan: int, chunk: bytes) -> None:
        log = self.log
        with log.lock:
            row = (log.last + 1, self.part, plan, chunk[:ID_BYTES], chunk, checksum(chunk, plan))
            with log._transaction() as db:
                db.execute("insert into groups values(?, ?, ?, ?, ?, ?)", row)
            log.last += 1

    def done(self, counts: Sequence[StoredCounts]) -> None:
        with self.log.lock:
            with self.log._transaction() as db:
                db.execute("update parts set sealed = 1 where part = ?", (self.part,))
                db.executemany("insert into counts values(?, ?, ?, ?)", counts)
            self.log.moved = sorted([*self.log.moved, (*self.range, self.part)])

    def tidy(self) -> bool:
        low, high = self.range
        dead = "select seq from groups where seq between ? and ? and part = ? and first is null limit ?"
        with self.log._transaction() as db:
            sql = f"delete from groups where seq in ({dead}) returning 1"
            return len(list(db.execute(sql, (low, high, self.part, DEAD_GROUPS)))) == DEAD_GROUPS
