"""The tally of one arm: counts in the making, of reports that were all asked the same. A `Tally` is made of these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import numpy as np

from deniable.counts.checks import check_total
from deniable.counts.counts import Counts
from deniable.counts.evidence_planes import evidence, plane_rows
from deniable.counts.layout import Array, Names
from deniable.counts.tally_kinds import MOST_ROWS, TallyKind
from deniable.errors import CountError
from deniable.kernels.bitplanes import Words
from deniable.reports.fields import fields
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Shown

BATCH_BITS = 1 << 26  # A batch takes at most so many bits of memory, as read and as evidence: 8 MiB.
BATCH_SECONDS = 5  # A batch takes numpy at most so long, and compiled code a tenth of it: a Ctrl-C may have to wait.


Alike = tuple[tuple[type[TallyKind], tuple[int, ...]], ...]  # kinds of tallies with their shapes


@dataclass(eq=False)
class ArmTally:
    """Accumulators of what is counted of the reports of a plan without arms. It changes: `add_shown` counts into it."""

    plan: Plan
    kinds: tuple[TallyKind, ...]
    n: int
    outs: list[Array]

    @classmethod
    def of(cls, plan: Plan, kinds: Sequence[TallyKind]) -> "ArmTally":
        """A tally that has counted nothing yet."""
        return cls(plan, tuple(kinds), 0, [np.zeros(kind.shape, np.int64) for kind in kinds])

    def empty(self) -> "ArmTally":
        """A tally of the same that has counted nothing yet."""
        return ArmTally.of(self.plan, self.kinds)

    @cached_property
    def alike(self) -> Alike:
        """What decides how long its batches take: the same for most arms of a plan."""
        return tuple((type(kind), kind.shape) for kind in self.kinds)

    @cached_property
    def planes(self) -> Names:
        """The units whose evidence is laid out as bit planes."""
        return tuple(dict.fromkeys(name for kind in self.kinds for name in kind.planes))

    @cached_property
    def plane_rows(self) -> int:
        """How many bit planes a batch takes."""
        return plane_rows(self.plan, self.planes)

    @cached_property
    def needed(self) -> Names:
        """The units that have to be read from the reports."""
        return tuple(dict.fromkeys(name for kind in self.kinds for name in kind.needed))

    def add_shown(self, reports: int, shown: Mapping[str, Shown], memory: Words, tools: ModuleType) -> None:
        """Count what so many reports show of the units needed; planes are made in `memory`, over what was there."""
        check_total(self.n, reports)
        found = evidence(self.plan, reports, shown, self.planes, memory[: self.plane_rows], tools)
        for kind, out in zip(self.kinds, self.outs, strict=True):
            kind.add(found, out, tools)
        self.n += reports

    def __add__(self, other: "ArmTally") -> "ArmTally":
        """The tally of both's reports, which must be of the same plan and the same tables."""
        if self.kinds != other.kinds:
            raise CountError("tallies add if they count the same tables of the same plan; found different ones")
        check_total(self.n, other.n)
        outs = [mine + theirs for mine, theirs in zip(self.outs, other.outs, strict=True)]
        return ArmTally(self.plan, self.kinds, self.n + other.n, outs)

    def counts(self) -> Counts:
        """What was counted so far."""
        found = [kind.read(out.copy()) for kind, out in zip(self.kinds, self.outs, strict=True)]
        tables = dict(one.table for one in found if one.table is not None)
        moments = next((one.moments for one in found if one.moments is not None), None)
        patterns = dict(one.patterns for one in found if one.patterns is not None)
        if patterns:
            return Counts(self.plan, tables, n=self.n, moments=moments, patterns=patterns)
        return Counts.counted(self.plan, self.n, tables, moments)

    def batch_rows(self, total: int, workers: int) -> int:
        """Reports of a batch: few enough to bound its memory and its time, and for every worker to have some."""
        most = max(1, min(MOST_ROWS, BATCH_BITS // self.bits, self.quick_rows))
        rounds = max(1, -(-total // (most * workers)))  # in which every worker takes one batch, all as long
        return 4096 * -(-total // (4096 * rounds * workers)) or 4096

    @property
    def bits(self) -> int:
        """About how many bits of memory a report takes, as read and as evidence."""
        if not self.kinds:
            return 1
        of = fields(self.plan)
        return self.plane_rows + sum(of[name].held for name in self.needed)

    @property
    def quick_rows(self) -> int:
        """How many reports numpy counts in BATCH_SECONDS."""
        seconds = sum(kind.plain_seconds(MOST_ROWS) for kind in self.kinds)
        return int(MOST_ROWS * BATCH_SECONDS / seconds) if seconds else MOST_ROWS

    def plain_seconds(self, reports: int) -> float:
        """What so many reports would cost without compiled code, hashes included."""
        of = fields(self.plan)
        evidence = sum(of[name].plain_seconds(reports) for name in self.planes)
        return evidence + sum(kind.plain_seconds(reports) for kind in self.kinds)
