"""What a survey's reports say of the contrasts of all its features: generalized least squares over blocks.

Each block of each arm gives an unbiased estimate of the contrasts of its own features, with a covariance P / n in
closed form at any table. About means m of the contrasts the misfit of all blocks is

    sum of n (y - m)' P^-1 (y - m) = m'A m - 2 b'm + constant,   A the information, b = A times the estimate

Features of one arm that are asked apart are taken two by two, and of each pair only the interaction, so that what they
share, their main effects, is not counted twice.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np

from deniable.analyses.whole_survey.contrasts import Places, Terms, set_contrasts
from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.estimates.designs.arm_kinds import ArmKind, arm_kinds
from deniable.inference.one_feature import Array

# Blocks are taken with the contrasts of so many features, and of three only where a model has them.
ORDER = 2
# A table at which a covariance is evaluated gets this much of a report in all its cells, so that none is empty.
ADDED = 1.0

Margin = Callable[[Places], Array]  # the table of some features, at which covariances are evaluated


@dataclass(frozen=True, eq=False)
class Seen:
    """What one block, or a pair of blocks, says of its features: n reports, their estimated shares of cells."""

    kind: ArmKind
    places: Places  # of its features in the survey, rising
    across: bool  # whether it is a pair of two blocks, of which only the interaction is used

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
class SurveyEvidence:
    """What all reports of a survey say of its features."""

    names: tuple[str, ...]
    levels: tuple[int, ...]
    n: int
    seen: tuple[Seen, ...]

    @cached_property
    def sets(self) -> list[Places]:
        """All sets of one or two features of which reports tell anything, by size and place."""
        found = {one for part in self.seen for one in part.sets()}
        return sorted(found, key=lambda one: (len(one), one))

    @cached_property
    def threes(self) -> list[Places]:
        """All sets of three features that some block holds."""
        return sorted({one for part in self.seen for one in part.sets(3) if len(one) == 3})

    def information(self, terms: Terms, margin: Margin) -> tuple[Array, Array]:
        """The matrix A and the vector b of the misfit, with the covariances at a table."""
        A, b = np.zeros((terms.count, terms.count)), np.zeros(terms.count)
        for part in self.seen:
            sets = [one for one in part.sets(max(map(len, terms.sets))) if one in terms.slices]
            if not sets:
                continue
            at = np.concatenate([np.arange(terms.count)[terms.slices[one]] for one in sets])
            rows = part.contrasts(sets)
            weights = part.kind.n * np.linalg.inv(part.covariance(rows, margin(part.places)))
            A[np.ix_(at, at)] += weights
            b[at] += weights @ (rows @ part.shares)
        return A, b

    def uniform(self, places: Places) -> Array:
        """The table of some features in which all cells are equally common."""
        levels = [self.levels[place] for place in places]
        return np.full(levels, 1 / prod(levels))


def survey_evidence(counts: Counts) -> SurveyEvidence:
    """What counts say of every feature of their survey."""
    schema = counts.plan.schema
    names = tuple(feature.name for feature in schema)
    seen = [part for arm in counts.arms for part in _of_arm(arm, names)]
    if not seen:
        raise EstimateError("there are no reports to fit a model to, or nothing of them was counted")
    return SurveyEvidence(names, tuple(feature.levels for feature in schema), counts.n, tuple(seen))


def _of_arm(arm: Counts, names: Sequence[str]) -> Iterator[Seen]:
    """What the reports of one arm say: of each block, and of all pairs of features that two blocks ask."""
    blocks = [sorted(block.names, key=names.index) for block in arm.plan.blocks]
    for own in blocks:
        yield from _seen(arm, own, names, across=False)
    for left, right in combinations(blocks, 2):
        for first in left:
            for second in right:
                yield from _seen(arm, sorted((first, second), key=names.index), names, across=True)


def _seen(arm: Counts, own: Sequence[str], names: Sequence[str], *, across: bool) -> Iterator[Seen]:
    """What the reports of one arm say of some features, if they were counted together and anybody was asked."""
    for kind in arm_kinds([arm], own):
        if len(kind.places) == len(own):
            yield Seen(kind, tuple(names.index(name) for name in own), across)
