"""What is to be counted: all pairs or triples of evidence columns, or one table of features.

Kinds of tallies replace each other: each says what evidence it needs and how large it is, adds a batch to an
accumulator of its shape, and reads the counts off it. `kinds_of_tables`, `kinds_of_order` and `kinds_of_whole` pick the
smallest or fastest for what is asked. All of them are of a plan's units.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb, log10, prod
from types import ModuleType
from typing import Any

import numpy as np

from deniable.counts.evidence_planes import Evidence, plane_rows
from deniable.counts.layout import MOST_PATTERNS, Array, Names, patterns_shape, slabs
from deniable.errors import CountError
from deniable.kernels import physical_memory, plain
from deniable.kernels.bitplanes import FEW_VALUES
from deniable.reports.fields import fields
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Form

MOST_ROWS = 1 << 20  # A batch has at most so many reports.
CODED_CELLS = 1024  # From so many cells on, a histogram of codes beats ANDing planes.
MOST_CODES = 1 << 26  # A histogram of more codes than this would take too much memory.
WHOLE_CELLS = 1 << 17  # Up to so many cells, the table of all features is as good as all tables of some.
MOST_TABLES = 50_000  # More tables than this are refused.


@dataclass(frozen=True)
class Counted:
    """What a tally has counted: moments, or one table, or the patterns behind a table."""

    moments: Array | None = None
    table: tuple[Names, Array] | None = None
    patterns: tuple[Names, Array] | None = None


@dataclass(frozen=True)
class TallyKind(ABC):
    """One thing to count of the reports of a plan."""

    plan: Plan

    @property
    @abstractmethod
    def planes(self) -> Names:
        """The features whose bit planes it needs."""

    @property
    def needed(self) -> Names:
        """The features it needs to be gathered from the reports."""
        return self.planes

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of its accumulator."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells its result has."""

    @abstractmethod
    def plain_seconds(self, reports: int) -> float:
        """What so many reports would cost without compiled code."""

    @abstractmethod
    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        """Count one batch into the accumulator."""

    @abstractmethod
    def read(self, out: Array) -> Counted:
        """The counts in an accumulator, which may be written over."""


@dataclass(frozen=True)
class Moments(TallyKind):
    """Every pair (order 2) or triple (order 3) of evidence columns."""

    order: int

    @property
    def planes(self) -> Names:
        return self.plan.schema.names

    @property
    def shape(self) -> tuple[int, ...]:
        return (plane_rows(self.plan, self.planes),) * self.order

    @property
    def cells(self) -> int:
        return prod(self.shape)

    def plain_seconds(self, reports: int) -> float:
        """Seconds by numpy: those of the bits, and those of its calls for each batch."""
        calls = comb(self.shape[0] + self.order - 2, self.order - 1) * -(-reports // MOST_ROWS)
        return reports * comb(self.shape[0] + self.order - 1, self.order) / 3e10 + 1e-5 * calls

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        (tools.pairs if self.order == 2 else tools.triples)(batch.planes, out)

    def read(self, out: Array) -> Counted:
        """The kernels fill the cells whose indices do not fall, and the others repeat them."""
        full = np.empty_like(out)
        for i in range(len(out)):
            block = out[i, i:] if self.order == 2 else np.triu(out[i, i:, i:])
            if self.order == 2:
                full[i, i:] = full[i:, i] = block
            else:
                block += np.triu(block, 1).T
                full[i, i:, i:] = full[i:, i, i:] = full[i:, i:, i] = block
        return Counted(moments=full)


@dataclass(frozen=True)
class PlaneTable(TallyKind):
    """One table of features, by ANDing planes."""

    names: Names

    @property
    def planes(self) -> Names:
        return self.names

    @cached_property
    def lengths(self) -> list[int]:
        """The length of each axis."""
        return [1 + self.plan[name].columns for name in self.names]

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
        calls = self.shape[0] * -(-reports // (64 * plain.TILE))
        return max(reports, 4096) * self.cells / 4e10 + 1e-5 * calls

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        firsts = np.array([batch.firsts[name] for name in self.names])
        tools.table(batch.planes, firsts, np.array(self.lengths) - 1, self.heads, out)

    def read(self, out: Array) -> Counted:
        return Counted(table=(self.names, out.reshape(self.lengths)))


@dataclass(frozen=True)
class PatternTable(TallyKind):
    """One table of features by what reports show of each, one value or some bits: a histogram, summed up afterwards."""

    names: Names

    @cached_property
    def planes(self) -> Names:
        """The features that show neither a value nor bits, so that their bits have to be made from what they show."""
        of = fields(self.plan)
        return tuple(name for name in self.others if not of[name].shows_bits)

    @property
    def needed(self) -> Names:
        return self.names

    @cached_property
    def choices(self) -> Names:
        """The features that show one of several values: the leading part of a pattern's code."""
        return tuple(name for name in self.names if self.plan[name].form is Form.VALUE)

    @cached_property
    def others(self) -> Names:
        """The features that show bits: the rest of a pattern's code, the first feature highest."""
        return tuple(name for name in self.names if name not in self.choices)

    @property
    def several(self) -> bool:
        """Whether its patterns say more than the table."""
        return any(self.plan[name].several for name in self.names)

    @cached_property
    def sizes(self) -> list[int]:
        """How many patterns each feature has, choices first."""
        return [self.plan[name].pattern_count for name in (*self.choices, *self.others)]

    @property
    def shape(self) -> tuple[int, ...]:
        return (prod(self.sizes),)

    @property
    def cells(self) -> int:
        return prod(1 + self.plan[name].columns for name in self.names)

    def plain_seconds(self, reports: int) -> float:
        columns = sum(self.plan[name].columns for name in self.others)
        return 2e-9 * (1 + len(self.choices) + columns) * reports

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        codes = np.zeros(batch.reports if self.choices else 0, np.int32)
        for name in self.choices:
            codes *= self.plan[name].columns
            codes += batch.shown[name]
        columns: list[Any] = []
        for name in self.others:
            first = batch.firsts.get(name)
            size = self.plan[name].columns
            columns += batch.shown[name] if first is None else list(batch.planes[first : first + size])
        addresses = np.array([packed.ctypes.data for packed in reversed(columns)], np.int64)
        tools.histogram(addresses, batch.reports, codes, out)

    def read(self, out: Array) -> Counted:
        """The patterns, if a feature shows several bits; else the table that follows from them."""
        axes = [*self.choices, *self.others]
        tensor = out.reshape(self.sizes)
        order = [axes.index(name) for name in self.names]
        if self.several:
            return Counted(patterns=(self.names, tensor.transpose(order)))
        for axis, name in enumerate(axes):
            if name in self.others:  # (false, true) -> (all, true)
                for false, true in zip(slabs(tensor, axis, 0), slabs(tensor, axis, 1), strict=True):
                    false += true
            else:
                tensor = np.concatenate([tensor.sum(axis=axis, keepdims=True), tensor], axis)
        return Counted(table=(self.names, tensor.transpose(order)))


@dataclass(frozen=True)
class ValueTable(TallyKind):
    """The table of one unit that shows one of several values: how many reports show each."""

    names: Names

    @property
    def planes(self) -> Names:
        return ()

    @property
    def needed(self) -> Names:
        return self.names

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return (1 + self.plan[self.names[0]].columns,)

    @property
    def cells(self) -> int:
        return self.shape[0]

    def plain_seconds(self, reports: int) -> float:
        return 5e-10 * min(self.cells, FEW_VALUES) * reports

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        out[0] += batch.reports
        tools.values(batch.shown[self.names[0]], out[1:])

    def read(self, out: Array) -> Counted:
        return Counted(table=(self.names, out))


def _table(plan: Plan, names: Names, *, whole: bool) -> TallyKind:
    """The faster way to count a table; or, where it matters and is wanted, that which keeps whole patterns."""
    table = PatternTable(plan, names)
    if table.several:
        return table if whole else PlaneTable(plan, names)
    if table.choices == names[:1] == names:
        return ValueTable(plan, names)
    return table if table.cells >= CODED_CELLS and table.shape[0] <= MOST_CODES else PlaneTable(plan, names)


def kinds_of_tables(plan: Plan, tables: Sequence[Names]) -> tuple[TallyKind, ...]:
    """What counts tables of these units of a plan without arms, each once; whole patterns are kept where few."""
    different = dict.fromkeys(tuple(sorted(table, key=plan.units.schema.index)) for table in tables)
    shapes = [patterns_shape(plan, table) for table in different if any(plan.units[name].several for name in table)]
    whole = sum(MOST_PATTERNS + 1 if shape is None else prod(shape) for shape in shapes) <= MOST_PATTERNS
    return tuple(_table(plan.units, table, whole=whole) for table in different)


def kinds_of_order(plan: Plan, order: int) -> tuple[TallyKind, ...]:
    """What counts all tables of so many features: as moments, as one table of everything, or each by itself.

    The smallest of these is taken. Features of one block are in its table, so that as many units are enough.
    """
    units = plan.units
    order = min(order, len(units.schema))
    tables = comb(len(units.schema), order)
    cells = [1] + [0] * order  # of all tables of k units, for k = 0, 1, ...: elementary symmetric sums
    for protocol in units.protocols:
        for k in range(order, 0, -1):
            cells[k] += cells[k - 1] * (1 + protocol.columns)
    moments = Moments(units, order)
    if order in (2, 3) and (moments.cells <= 4 * cells[-1] or tables > MOST_TABLES):
        return (moments,)
    everything = _table(units, units.schema.names, whole=False)
    if everything.cells <= max(WHOLE_CELLS, 4 * cells[-1]) and order > 1:
        return (everything,)
    check_memory(cells[-1], cells[-1], 1, order)
    if tables > MOST_TABLES:
        raise CountError(
            f"order={order} is {_many(tables)} tables of {_many(cells[-1])} cells in all; "
            "ask for order=3 (in the shell --order 3), or for the tables you need"
        )
    return tuple(_table(units, table, whole=False) for table in combinations(units.schema.names, order))


@lru_cache(maxsize=8192)
def kinds_of_whole(plan: Plan) -> tuple[TallyKind, ...]:
    """What counts the table of everything that an arm asks; every pair, if that table would be too large."""
    if prod(1 + protocol.columns for protocol in plan.protocols) <= WHOLE_CELLS:
        return kinds_of_tables(plan, [plan.units.schema.names])
    return kinds_of_order(plan, 2)


def check_memory(cells: int, tallies: int, workers: int, order: int | None) -> None:
    """Refuse, before anything is read, what would not fit in half of this machine's memory."""
    # The workers' tallies and their sum, and the result while it is read and checked.
    needed = 8 * (tallies * (workers + 1) + 3 * cells)
    memory = physical_memory()
    if needed > memory // 2:
        instead = (
            f"order={order - 1} (in the shell --order {order - 1}), or tables of the features you need"
            if order
            else "fewer features at a time"
        )
        raise CountError(
            f"this asks for {_many(cells)} cells, and {_many(-(-needed // 10**9))} GB to count them; "
            f"there are {memory / 1e9:,.1f} GB here, and half of it may be used. Ask for {instead}"
        )


def _many(number: int) -> str:
    """A whole number, however large."""
    return f"{number:,}" if number < 10**15 else f"about 10^{int(number.bit_length() * log10(2))}"
