"""A tally: counts in the making. It takes reports, adds to other tallies, pickles, and gives `Counts`.

So counting is map and sum, wherever the parts are counted: by threads here, by processes, or on other machines. A tally
need not know how many reports will come. Of a plan with arms, it is a tally of each arm.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from deniable.client import SCALE
from deniable.counts.checks import check_asked
from deniable.counts.counts import Counts
from deniable.counts.evidence_planes import gather_from
from deniable.counts.layout import Names, Repeats
from deniable.counts.repeated_reports import SeenRuns
from deniable.counts.tally_kinds import (
    TallyKind,
    check_memory,
    kinds_of_order,
    kinds_of_tables,
    kinds_of_whole,
)
from deniable.counts.tally_of_arm import Alike, ArmTally
from deniable.errors import CountError, abbreviated
from deniable.files import Sources, joined_sources, new_source
from deniable.kernels import tools_for
from deniable.kernels.bitplanes import Words, new_planes
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Shown
from deniable.text.fixed_phrases import how_many


@dataclass(eq=False, repr=False)
class Tally:
    """Accumulators of what is counted of one plan's reports. Unlike all other nouns it changes: `add` counts into it.

    Examples
    --------
    >>> from deniable.counts.tally import Tally
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=2.0)
    >>> first, second = (Tally.of(plan, ["smoker"]) for _ in range(2))
    >>> first.add(dn.randomize({"smoker": [True, False]}, plan))
    >>> second.add(dn.randomize({"smoker": [True]}, plan))
    >>> (first + second).counts().n
    3
    """

    plan: Plan
    arms: tuple[ArmTally, ...]
    order: int | None
    memory: Words | None = field(default=None, repr=False)  # planes that the next batch is written over
    tools: ModuleType | None = field(default=None, repr=False)  # kernels for all reports, if known how many will come
    sources: Sources = field(default_factory=dict)  # of what was counted; a tally that counts is a source of its own
    runs: SeenRuns = field(default_factory=SeenRuns, repr=False)  # in which reports that stand twice are found

    @classmethod
    def of(cls, plan: Plan, names: Any = None, *, order: int | None = None, expected: int = 0) -> "Tally":
        """An empty tally of a table of these features, of several tables, or of all tables of `order` features.

        Without names and order it is of each arm's whole table; of a plan without arms, of every pair. If so many
        reports are expected, here and in what is `empty` of it, kernels are chosen for all of them at once.
        """
        kinds = _kinds(plan, names, order)
        _check_memory(kinds, 1, order)
        arms = tuple(ArmTally.of(arm, own) for arm, own in zip(plan.arms, kinds, strict=True))
        tally = cls(plan, arms, order)
        if expected:
            tally.tools = tools_for(tally.plain_seconds(expected))
        return tally

    def plain_seconds(self, reports: int) -> float:
        """What so many reports would cost without compiled code: by the shares of arms, of which most are alike."""
        shares: Counter[Alike] = Counter()
        for arm, share in zip(self.arms, self.plan.shares, strict=True):
            shares[arm.alike] += share
        by_kind = {arm.alike: arm for arm in self.arms}
        return sum(by_kind[kind].plain_seconds(-(-reports * share // SCALE)) for kind, share in shares.items())

    @property
    def n(self) -> int:
        """How many reports were counted so far."""
        return sum(arm.n for arm in self.arms)

    def will_hold(self, names: Names) -> bool:
        """Whether its counts will hold the table of these features, in some arm that asks them all."""
        asking = (arm for arm in self.arms if all(name in arm.plan for name in names))
        return any(arm.empty().counts().holds(*names) for arm in asking)

    def empty(self) -> "Tally":
        """A tally of the same that has counted nothing yet."""
        return Tally(self.plan, tuple(arm.empty() for arm in self.arms), self.order, tools=self.tools)

    def add(self, reports: Reports) -> None:
        """Count reports of the same plan."""
        if not isinstance(reports, Reports):
            found = f"Reports, as Reports.load or Reports.from_bytes give them; found {type(reports).__name__}"
            raise CountError(f"a tally takes {found}")
        if reports.plan != self.plan:
            fingerprints = f"{self.plan.fingerprint}; found {reports.plan.fingerprint}"
            raise CountError(f"a tally takes reports of its own plan, {fingerprints}")
        for place, (arm, part) in enumerate(zip(self.arms, reports.arms, strict=True)):
            rows = arm.batch_rows(len(part), 1)
            for start in range(0, len(part), rows):
                self.add_shown(*gather_from(part, start, rows, arm.needed), place)

    def add_shown(self, reports: int, shown: Mapping[str, Shown], arm: int = 0) -> None:
        """Count what so many reports of an arm show of the units needed."""
        own = self.arms[arm]
        if not self.sources:
            self.sources = new_source("the same tally")
        rows = own.plane_rows
        if self.memory is None or len(self.memory) < rows or self.memory.shape[1] * 64 < reports:
            self.memory = new_planes(rows, reports)
        own.add_shown(reports, shown, self.memory, self.tools or tools_for(own.plain_seconds(reports)))
        self.runs.look(own.plan, shown, reports)

    def __add__(self, other: "Tally") -> "Tally":
        """The tally of both's reports, which must be of the same plan and the same tables."""
        if not isinstance(other, Tally):
            return NotImplemented
        if self.plan != other.plan:
            raise CountError("tallies add if they count the same tables of the same plan; found different ones")
        arms = tuple(mine + theirs for mine, theirs in zip(self.arms, other.arms, strict=True))
        both = joined_sources(self.sources, other.sources, CountError, "the two tallies")
        return Tally(self.plan, arms, self.order, tools=self.tools, sources=both, runs=self.runs + other.runs)

    def __radd__(self, other: Any) -> "Tally":
        return self if other == 0 else NotImplemented  # sum() starts from 0

    def __repr__(self) -> str:
        return f"<Tally of {how_many(self.n, 'report')}, by {self.plan!r}>"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"memory": None, "tools": None}

    def counts(self) -> Counts:
        """What was counted so far."""
        parts = [arm.counts() for arm in self.arms]
        counts = Counts(self.plan, arms=parts) if self.plan.has_arms else parts[0]
        runs = self.runs.settle()
        return counts.of_sources(self.sources).with_repeats(Repeats(runs.looked, runs.found))

    def batch_rows(self, total: int, workers: int) -> int:
        """Reports of a batch: few enough to bound its memory and its time, and for every worker to have some."""
        by_kind = {arm.alike: arm for arm in self.arms}  # most are alike
        return min(arm.batch_rows(total, workers) for arm in by_kind.values())

    def check_memory(self, workers: int) -> None:
        """Refuse what would not fit in half of this machine's memory, were so many workers to count it."""
        _check_memory([arm.kinds for arm in self.arms], workers, self.order)


def _check_memory(kinds: Sequence[Sequence[TallyKind]], workers: int, order: int | None) -> None:
    every = [kind for own in kinds for kind in own]
    check_memory(sum(kind.cells for kind in every), sum(prod(kind.shape) for kind in every), workers, order)


def _kinds(plan: Plan, names: Any, order: Any) -> list[tuple[TallyKind, ...]]:
    """What is to be counted of each arm."""
    if names is not None and order is not None:
        raise CountError("count takes names of features, or order=2 for every pair; give one of them")
    if names is not None:
        tables = asked_tables(plan, names)
        return [kinds_of_tables(arm, units_asked(arm, tables)) for arm in plan.arms]
    if order is None and plan.has_arms:
        return [kinds_of_whole(arm) for arm in plan.arms]
    features = checked_order(plan, min(2, len(plan.schema)) if order is None else order)
    return [kinds_of_order(arm, features) for arm in plan.arms]


def asked_tables(plan: Plan, names: Any) -> list[Names]:
    """The tables asked for, each as the names of features."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise CountError(f"count takes a list of names, or a list of such lists; found {abbreviated(names)}")
    tables = [names] if all(isinstance(name, str) for name in names) else names
    for table in tables:
        if isinstance(table, str):
            raise CountError(f"several tables are a list of lists of names; found {abbreviated(table)} among them")
    return [check_asked(plan, table) for table in tables]


def units_asked(arm: Plan, tables: Sequence[Names]) -> list[Names]:
    """The units of an arm that ask any feature of each table."""
    found = (tuple(block.unit.name for block in arm.blocks if set(block.names) & set(table)) for table in tables)
    return [units for units in found if units]


def checked_order(plan: Plan, order: Any) -> int:
    """How many features tables have, checked."""
    if isinstance(order, bool) or not isinstance(order, int | np.integer) or not 1 <= order <= len(plan.schema):
        raise CountError(
            f"order must be a whole number from 1 to the number of features, {len(plan.schema)}; "
            f"found {abbreviated(order)}"
        )
    return int(order)
