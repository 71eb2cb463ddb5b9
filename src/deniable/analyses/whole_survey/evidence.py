"""What a survey's reports say of the contrasts of all its features: generalized least squares over arms.

One report of an arm gives an unbiased estimate of the contrasts of its own features, with a covariance P in closed form
at any table. About means m of the contrasts the misfit of all arms is

    sum of n (y - m)' P^-1 (y - m) = m'A m - 2 b'm + constant,   A the information, b = A times the estimate

Of an arm of several blocks these are the contrasts of each block, and the interactions of two features in different
blocks (`asked_apart`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from deniable.analyses.whole_survey.asked_apart import BlockNoise, with_noise
from deniable.analyses.whole_survey.contrasts import Places, Terms, set_contrasts
from deniable.analyses.whole_survey.reference import Independent, Reference
from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.estimates.designs.arm_kinds import ArmKind, arm_kinds
from deniable.inference.one_feature import Array

# Blocks are taken with the contrasts of so many features, and of three only where a model has them.
ORDER = 2
# A table at which a covariance is evaluated gets this much of a report in all its cells, so that none is empty.
ADDED = 1.0

Margin = Callable[[Places], Array]  # the table of some features


@dataclass(frozen=True, eq=False)
class Seen:
    """What one block, or a pair of features in two blocks, says: n reports, their estimated shares of cells."""

    kind: ArmKind
    places: Places  # of its features in the survey, rising
    across: bool  # whether it is a pair of two blocks, of which only the interaction is used beside these

    @cached_property
    def shares(self) -> Array:
        """The estimated share of each cell."""
        return self.kind.shares

    def sets(self, order: int = ORDER) -> list[Places]:
        """The sets of its features of which it tells contrasts."""
        sizes = range(2, 3) if self.across else range(1, min(order, len(self.places)) + 1)
        return [one for size in sizes for one in combinations(self.places, size)]

    def contrasts(self, sets: Sequence[Places]) -> Array:
        """The contrasts of some sets of its features, as rows over its cells."""
        rows = [set_contrasts(self.kind.levels, [place in one for place in self.places]) for one in sets]
        return np.concatenate(rows) if rows else np.zeros((0, self.kind.cells))

    def covariance(self, rows: Array, table: Array) -> Array:
        """The covariance of one report's estimates of weighted sums of cells, about a population of this table."""
        n = self.kind.n
        f = (n * table.reshape(-1) + ADDED / self.kind.cells) / (n + ADDED)
        mean = rows @ f
        return np.asarray(rows @ self.kind.seconds(f) @ rows.T - np.outer(mean, mean))

    def stderr(self, table: Array) -> float:
        """The standard error of the share of a cell, as the root mean square over cells, about this table."""
        return float(np.sqrt(np.trace(self.covariance(np.eye(self.kind.cells), table)) / self.kind.cells / self.kind.n))


@dataclass(frozen=True, eq=False)
class SeenArm:
    """What the reports of one arm say: each of its blocks, and each pair of features that two blocks ask."""

    parts: tuple[Seen, ...]
    noise: tuple[BlockNoise, ...]  # of its blocks

    def weighted(self, terms: Terms, at: Reference) -> tuple[list[Places], Array, Array]:
        """The sets of its contrasts that are among some terms, their information, and this times their estimates."""
        order = max(map(len, terms.sets))
        told = {one: part for part in self.parts for one in part.sets(order) if one in terms.slices}
        if not told:
            return [], np.zeros((0, 0)), np.zeros(0)
        y = np.concatenate([part.contrasts([one]) @ part.shares for one, part in told.items()])
        P = self._covariance(Terms(terms.levels, tuple(told)), at)
        weights = np.asarray(self.parts[0].kind.n * np.linalg.inv(P), np.float64)
        return list(told), weights, np.asarray(weights @ y)

    def _covariance(self, terms: Terms, at: Reference) -> Array:
        """The covariance of one report's estimates of some contrasts."""
        if len(self.parts) == 1:
            part = self.parts[0]
            return part.covariance(part.contrasts(terms.sets), at.margin(part.places))
        n = self.parts[0].kind.n
        seconds = (n * at.seconds(terms) + ADDED * np.eye(terms.count + 1)) / (n + ADDED)
        mean = seconds[0, 1:]
        return with_noise(seconds, terms, self.noise)[1:, 1:] - np.outer(mean, mean)


@dataclass(frozen=True, eq=False)
class SurveyEvidence:
    """What all reports of a survey say of its features."""

    names: tuple[str, ...]
    levels: tuple[int, ...]
    n: int
    arms: tuple[SeenArm, ...]

    @cached_property
    def seen(self) -> tuple[Seen, ...]:
        """What each block of each arm says, and each pair of features that two of its blocks ask."""
        return tuple(part for arm in self.arms for part in arm.parts)

    @cached_property
    def sets(self) -> list[Places]:
        """All sets of one or two features of which reports tell anything, by size and place."""
        found = {one for part in self.seen for one in part.sets()}
        return sorted(found, key=lambda one: (len(one), one))

    @cached_property
    def asked_together(self) -> frozenset[Places]:
        """All pairs of features that some arm asks together."""
        return frozenset(one for one in self.sets if len(one) == 2)

    @cached_property
    def threes(self) -> list[Places]:
        """All sets of three features that some block holds."""
        return sorted({one for part in self.seen for one in part.sets(3) if len(one) == 3})

    def information(self, terms: Terms, at: Reference) -> tuple[Array, Array]:
        """The matrix A and the vector b of the misfit, with the covariances at a table."""
        A, b = np.zeros((terms.count, terms.count)), np.zeros(terms.count)
        for arm in self.arms:
            sets, weights, weighted = arm.weighted(terms, at)
            if sets:
                where = np.concatenate([np.arange(terms.count)[terms.slices[one]] for one in sets])
                A[np.ix_(where, where)] += weights
                b[where] += weighted
        return A, b

    @property
    def uniform(self) -> Independent:
        """The table in which all cells are equally common."""
        return Independent.uniform(self.levels)


def survey_evidence(counts: Counts) -> SurveyEvidence:
    """What counts say of every feature of their survey."""
    schema = counts.plan.schema
    names = tuple(feature.name for feature in schema)
    arms = [found for arm in counts.arms if (found := _of_arm(arm, names)).parts]
    if not arms:
        raise EstimateError("there are no reports to fit a model to, or nothing of them was counted")
    return SurveyEvidence(names, tuple(feature.levels for feature in schema), counts.n, tuple(arms))


def _of_arm(arm: Counts, names: Sequence[str]) -> SeenArm:
    """What the reports of one arm say: of each block, and of all pairs of features that two blocks ask."""
    blocks = [sorted(block.names, key=names.index) for block in arm.plan.blocks]
    own = [part for block in blocks for part in _seen(arm, block, names, several=len(blocks) > 1)]
    pairs = [
        part
        for left, right in combinations(blocks, 2)
        for first in left
        for second in right
        for part in _seen(arm, sorted((first, second), key=names.index), names, several=True, across=True)
    ]
    return SeenArm((*own, *pairs), tuple(BlockNoise.of(part.places, part.kind.axes[0]) for part in own))


def _seen(
    arm: Counts, own: Sequence[str], names: Sequence[str], *, several: bool, across: bool = False
) -> Iterator[Seen]:
    """What the reports of one arm say of some features, if they were counted together and anybody was asked.

    Of an arm of several blocks it is centred plainly, so that a block's noise is alike for all of its contrasts.
    """
    for kind in arm_kinds([arm], own, plain=several):
        if len(kind.places) == len(own):
            yield Seen(kind, tuple(names.index(name) for name in own), across)
