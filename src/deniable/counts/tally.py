"""A tally: counts in the making. It takes reports, adds to other tallies, pickles, and gives `Counts`.

So counting is map and sum, wherever the parts are counted: by threads here, by processes, or on other machines. A tally
need not know how many reports will come.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from deniable.counts.counts import Counts
from deniable.counts.evidence_planes import evidence, gather, plane_rows
from deniable.counts.layout import MOST, Array, Names
from deniable.counts.tally_kinds import MOST_ROWS, TallyKind, check_memory, tallies_for
from deniable.errors import CountError
from deniable.kernels import tools_for
from deniable.kernels.bitplanes import Words, new_planes
from deniable.reports.fields import fields
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Shown

BATCH_BITS = 1 << 26  # A batch takes at most so many bits of memory, as read and as evidence: 8 MiB.
BATCH_SECONDS = 5  # A batch takes numpy at most so long, and compiled code a tenth of it: a Ctrl-C may have to wait.


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
    kinds: tuple[TallyKind, ...]
    order: int | None
    n: int
    outs: list[Array]
    memory: Words | None = field(default=None, repr=False)  # planes that the next batch is written over
    tools: ModuleType | None = field(default=None, repr=False)  # kernels for all reports, if known how many will come

    @classmethod
    def of(cls, plan: Plan, names: Any = None, *, order: int | None = None, expected: int = 0) -> "Tally":
        """An empty tally of a table of these features, of several tables, or of all tables of `order` features.

        If so many reports are expected, here and in what is `empty` of it, kernels are chosen for all of them at once.
        """
        kinds = tuple(tallies_for(plan, names, order))
        _check_memory(kinds, 1, order)
        tally = cls(plan, kinds, order, 0, _zeros(kinds))
        if expected:
            tally.tools = tools_for(tally._plain_seconds(expected))
        return tally

    def empty(self) -> "Tally":
        """A tally of the same that has counted nothing yet."""
        return Tally(self.plan, self.kinds, self.order, 0, _zeros(self.kinds), tools=self.tools)

    @property
    def planes(self) -> Names:
        """The features whose evidence is laid out as bit planes."""
        return tuple(dict.fromkeys(name for kind in self.kinds for name in kind.planes))

    @property
    def needed(self) -> Names:
        """The features that have to be read from the reports."""
        return tuple(dict.fromkeys(name for kind in self.kinds for name in kind.needed))

    def add(self, reports: Reports) -> None:
        """Count reports of the same plan."""
        if not isinstance(reports, Reports):
            found = f"Reports, as Reports.load or Reports.from_bytes give them; found {type(reports).__name__}"
            raise CountError(f"a tally takes {found}")
        if reports.plan != self.plan:
            fingerprints = f"{self.plan.fingerprint}; found {reports.plan.fingerprint}"
            raise CountError(f"a tally takes reports of its own plan, {fingerprints}")
        rows = self.batch_rows(len(reports), 1)
        for start in range(0, len(reports), rows):
            part = reports.table.slice(start, rows)
            self.add_shown(len(part), gather(self.plan, part, self.needed, start))

    def add_shown(self, reports: int, shown: Mapping[str, Shown]) -> None:
        """Count what so many reports show of the features needed."""
        _check_total(self.n, reports)
        if self.memory is None or self.memory.shape[1] * 64 < reports:
            self.memory = new_planes(plane_rows(self.plan, self.planes), reports)
        tools = self.tools or tools_for(self._plain_seconds(reports))
        found = evidence(self.plan, reports, shown, self.planes, self.memory, tools)
        for kind, out in zip(self.kinds, self.outs, strict=True):
            kind.add(found, out, tools)
        self.n += reports

    def __add__(self, other: "Tally") -> "Tally":
        """The tally of both's reports, which must be of the same plan and the same tables."""
        if not isinstance(other, Tally):
            return NotImplemented
        if self.kinds != other.kinds:
            raise CountError("tallies add if they count the same tables of the same plan; found different ones")
        _check_total(self.n, other.n)
        outs = [mine + theirs for mine, theirs in zip(self.outs, other.outs, strict=True)]
        return Tally(self.plan, self.kinds, self.order, self.n + other.n, outs, tools=self.tools)

    def __radd__(self, other: Any) -> "Tally":
        return self if other == 0 else NotImplemented  # sum() starts from 0

    def __repr__(self) -> str:
        return f"<Tally of {self.n:,} report{'s' * (self.n != 1)}, by {self.plan!r}>"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"memory": None, "tools": None}

    def counts(self) -> Counts:
        """What was counted so far."""
        found = [kind.read(out.copy()) for kind, out in zip(self.kinds, self.outs, strict=True)]
        return Counts(
            self.plan,
            dict(one.table for one in found if one.table is not None),
            moments=next((one.moments for one in found if one.moments is not None), None),
            patterns=dict(one.patterns for one in found if one.patterns is not None),
        )

    def batch_rows(self, total: int, workers: int) -> int:
        """Reports of a batch: few enough to bound its memory and its time, and for every worker to have some."""
        of = fields(self.plan)
        bits = plane_rows(self.plan, self.planes) + sum(of[name].held for name in self.needed)
        quick = int(MOST_ROWS * BATCH_SECONDS / sum(kind.plain_seconds(MOST_ROWS) for kind in self.kinds))
        most = max(1, min(MOST_ROWS, BATCH_BITS // bits, quick))
        rounds = max(1, -(-total // (most * workers)))  # in which every worker takes one batch, all as long
        return 4096 * -(-total // (4096 * rounds * workers)) or 4096

    def check_memory(self, workers: int) -> None:
        """Refuse what would not fit in half of this machine's memory, were so many workers to count it."""
        _check_memory(self.kinds, workers, self.order)

    def _plain_seconds(self, reports: int) -> float:
        """What so many reports would cost without compiled code, hashes included."""
        of = fields(self.plan)
        evidence = sum(of[name].plain_seconds(reports) for name in self.planes)
        return evidence + sum(kind.plain_seconds(reports) for kind in self.kinds)


def _check_memory(kinds: Sequence[TallyKind], workers: int, order: int | None) -> None:
    check_memory(sum(kind.cells for kind in kinds), sum(prod(kind.shape) for kind in kinds), workers, order)


def _zeros(kinds: Sequence[TallyKind]) -> list[Array]:
    return [np.zeros(kind.shape, np.int64) for kind in kinds]


def _check_total(first: int, second: int) -> None:
    if second > MOST - first:
        raise CountError(f"{first} and {second} reports are more than 64-bit integers can count")
