"""What is to be counted: all pairs or triples of evidence columns, or one table of features.

Jobs replace each other: they say what evidence they need and how large they are, add a batch to an accumulator of their
shape, and read the counts off it. `jobs_for` picks the smallest or fastest for what is asked.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, log10, prod
from types import ModuleType
from typing import Any

import numpy as np

from deniable import twins
from deniable.counts import Array, Names, checked_names, slabs
from deniable.errors import CountError
from deniable.evidence import Evidence, plane_rows
from deniable.layout import ValueColumn, layout
from deniable.plan import Plan
from deniable.planes import physical_memory

MOST_ROWS = 1 << 20  # of a batch
CODED_CELLS = 1024  # from so many cells on, a histogram of codes beats ANDing planes
MOST_CODES = 1 << 26
WHOLE_CELLS = 1 << 17  # up to so many, the table of all features is as good as all tables of some
MOST_TABLES = 50_000


@dataclass(frozen=True)
class Moments:
    """Every pair (order 2) or triple (order 3) of evidence columns."""

    plan: Plan
    order: int

    @property
    def planes(self) -> Names:
        """The features whose planes it needs."""
        return self.plan.schema.names

    @property
    def needed(self) -> Names:
        """The features it needs to be gathered."""
        return self.planes

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its accumulator."""
        return (plane_rows(self.plan, self.planes),) * self.order

    @property
    def cells(self) -> int:
        """How many cells its result has."""
        return prod(self.shape)

    def plain_seconds(self, reports: int) -> float:
        """What so many reports would cost without compiled code: bits, and calls of numpy for each batch."""
        calls = comb(self.shape[0] + self.order - 2, self.order - 1) * -(-reports // MOST_ROWS)
        return reports * comb(self.shape[0] + self.order - 1, self.order) / 3e10 + 1e-5 * calls

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        """Count one batch."""
        (tools.pairs if self.order == 2 else tools.triples)(batch.planes, out)

    def read(self, out: Array) -> Array:
        """The counts: the kernels fill the cells whose indices do not fall, and the others repeat them."""
        full = np.empty_like(out)
        for i in range(len(out)):
            block = out[i, i:] if self.order == 2 else np.triu(out[i, i:, i:])
            if self.order == 2:
                full[i, i:] = full[i:, i] = block
            else:
                block += np.triu(block, 1).T
                full[i, i:, i:] = full[i:, i, i:] = full[i:, i:, i] = block
        return full


@dataclass(frozen=True)
class PlaneTable:
    """One table of features, by ANDing planes."""

    plan: Plan
    names: Names

    @property
    def planes(self) -> Names:
        return self.names

    @property
    def needed(self) -> Names:
        return self.planes

    @cached_property
    def lengths(self) -> list[int]:
        """The length of each axis."""
        return [1 + len(self.plan.schema[name].columns) for name in self.names]

    @cached_property
    def heads(self) -> int:
        """How many features to take on the left, so that both sides have about as many products."""
        return min(range(len(self.names) + 1), key=lambda k: prod(self.lengths[:k]) + prod(self.lengths[k:]))

    @property
    def shape(self) -> tuple[int, ...]:
        return (prod(self.lengths[: self.heads]), prod(self.lengths[self.heads :]))

    @property
    def cells(self) -> int:
        return prod(self.lengths)

    def plain_seconds(self, reports: int) -> float:
        calls = self.shape[0] * -(-reports // (64 * twins.TILE))
        return max(reports, 4096) * self.cells / 4e10 + 1e-5 * calls

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        firsts = np.array([batch.firsts[name] for name in self.names])
        tools.table(batch.planes, firsts, np.array(self.lengths) - 1, self.heads, out)

    def read(self, out: Array) -> Array:
        return out.reshape(self.lengths)


@dataclass(frozen=True)
class CodeTable:
    """One table of flags and of features that show one value: a histogram of codes, summed up afterwards."""

    plan: Plan
    names: Names

    @property
    def planes(self) -> Names:
        return ()

    @property
    def needed(self) -> Names:
        return self.names

    @cached_property
    def flags(self) -> Names:
        """Its features of one column: a bit of the code each, the first highest."""
        return tuple(name for name in self.names if len(self.plan.schema[name].columns) == 1)

    @cached_property
    def choices(self) -> Names:
        """Its features that show one of several values: the code's leading part."""
        return tuple(name for name in self.names if name not in self.flags)

    @property
    def shape(self) -> tuple[int, ...]:
        return (2 ** len(self.flags) * prod(self.plan.schema[name].levels for name in self.choices),)

    @property
    def cells(self) -> int:
        return prod(1 + len(self.plan.schema[name].columns) for name in self.names)

    def plain_seconds(self, reports: int) -> float:
        return 2e-9 * (1 + len(self.names)) * reports

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        codes = np.zeros(batch.reports if self.choices else 0, np.int32)
        for name in self.choices:
            codes *= self.plan.schema[name].levels
            codes += batch.shown[name]
        columns = [batch.shown[name][0] for name in reversed(self.flags)]
        tools.histogram(np.array([packed.ctypes.data for packed in columns], np.int64), batch.reports, codes, out)

    def read(self, out: Array) -> Array:
        levels = [self.plan.schema[name].levels for name in self.choices]
        axes = [*self.choices, *self.flags]
        tensor = out.reshape([*levels, *[2] * len(self.flags)])
        for axis, name in enumerate(axes):
            if name in self.flags:  # (false, true) -> (all, true)
                for false, true in zip(slabs(tensor, axis, 0), slabs(tensor, axis, 1), strict=True):
                    false += true
            else:
                tensor = np.concatenate([tensor.sum(axis=axis, keepdims=True), tensor], axis)
        return tensor.transpose([axes.index(name) for name in self.names])


Job = Moments | PlaneTable | CodeTable


def _table_job(plan: Plan, names: Names, shows_one: Set[str]) -> Job:
    """The faster way to count a table, given the features that show one value (or are flags)."""
    coded = CodeTable(plan, names)
    if coded.cells >= CODED_CELLS and set(names) <= shows_one and coded.shape[0] <= MOST_CODES:
        return coded
    return PlaneTable(plan, names)


def jobs_for(plan: Plan, names: Any, order: Any) -> list[Job]:
    """The jobs that count these tables, or all tables of so many features."""
    if (names is None) == (order is None):
        raise CountError("count takes names of features, or order=2 for every pair; give one of them")
    shows_one = {
        name
        for name, columns in zip(plan.schema.names, layout(plan), strict=True)
        if len(plan.schema[name].columns) == 1 or isinstance(columns[0], ValueColumn)
    }
    if order is not None:
        return _jobs_of_order(plan, order, shows_one)
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise CountError(f"count takes a list of names, or a list of such lists; found {names!r}")
    tables = [names] if all(isinstance(name, str) for name in names) else names
    jobs = []
    for table in tables:
        if isinstance(table, str):
            raise CountError(f"several tables are a list of lists of names; found {table!r} among them")
        jobs.append(_table_job(plan, tuple(sorted(checked_names(plan, table), key=plan.schema.index)), shows_one))
    return list(dict.fromkeys(jobs))


def _jobs_of_order(plan: Plan, order: Any, shows_one: Set[str]) -> list[Job]:
    """All tables of so many features: as moments, as one table of everything, or each by itself; what is smallest."""
    if isinstance(order, bool) or not isinstance(order, int | np.integer) or not 1 <= order <= len(plan.schema):
        raise CountError(
            f"order must be a whole number from 1 to the number of features, {len(plan.schema)}; found {order!r}"
        )
    tables = comb(len(plan.schema), int(order))
    cells = [1] + [0] * int(order)  # of all tables of k features, for k = 0, 1, ...: elementary symmetric sums
    for feature in plan.schema:
        for k in range(int(order), 0, -1):
            cells[k] += cells[k - 1] * (1 + len(feature.columns))
    moments = Moments(plan, int(order))
    if order in (2, 3) and (moments.cells <= 4 * cells[-1] or tables > MOST_TABLES):
        return [moments]
    everything = _table_job(plan, plan.schema.names, shows_one)
    if everything.cells <= max(WHOLE_CELLS, 4 * cells[-1]) and order > 1:
        return [everything]
    check_memory(cells[-1], cells[-1], 1, int(order))
    if tables > MOST_TABLES:
        raise CountError(
            f"order={order} is {_many(tables)} tables of {_many(cells[-1])} cells in all; "
            "ask for order=3, or for the tables you need"
        )
    return [_table_job(plan, table, shows_one) for table in combinations(plan.schema.names, int(order))]


def check_memory(cells: int, tallies: int, workers: int, order: int | None) -> None:
    """Refuse, before anything is read, what would not fit in half of this machine's memory."""
    # The workers' tallies and their sum, and the result while it is read and checked.
    needed = 8 * (tallies * (workers + 1) + 3 * cells)
    memory = physical_memory()
    if needed > memory // 2:
        instead = f"order={order - 1}, or tables of the features you need" if order else "fewer features at a time"
        raise CountError(
            f"this asks for {_many(cells)} cells, and {_many(-(-needed // 10**9))} GB to count them; "
            f"there are {memory / 1e9:,.1f} GB here, and half of it may be used. Ask for {instead}"
        )


def _many(number: int) -> str:
    """A whole number, however large."""
    return f"{number:,}" if number < 10**15 else f"about 10^{int(number.bit_length() * log10(2))}"
