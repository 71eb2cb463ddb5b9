"""Conditioning estimates on known margins, empty cells or other linear equalities, at a proper table that obeys them.

With mu_g the estimate of group g, Sigma_g its covariance, and the equalities C mu = c, where C has a part C_g for each
group that an equality is about,

    mu_g + Sigma_g C_g' S^-1 (c - C mu),      S = sum_g C_g Sigma_g C_g'

is the conditional mean of the normal distribution, and the linear estimate of least variance. The covariances are those
at the proper tables that obey all that is known and are closest to what the reports say: at the estimate itself, the
variance of a cell that is known to be empty would be as noisy as the cell, and now and then negative. Weights w of the
sum over groups become the weights e_g = w - C_g' S^-1 sum_h C_h Sigma_h w of each group's own estimate, and all
cumulants follow (`any_weights`). As these weights have the least variance, its derivative by them is zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod, sqrt

import numpy as np
import numpy.typing as npt

from deniable.errors import EstimateError
from deniable.estimates.answer_groups.merged_group import MergedGroup
from deniable.estimates.designs.groups import AnyGroup
from deniable.estimates.feasible import proper_table
from deniable.estimates.interface import SeenTable, total
from deniable.estimates.proper_tables.known_equalities import Equality
from deniable.estimates.respondent_group import margin
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import NOTHING, Cumulants
from deniable.inference.one_feature import Array
from deniable.inference.trust import SLACK

Straight = AnyGroup | MergedGroup  # an estimate straight from reports, whatever answers are merged


@dataclass(frozen=True, eq=False)
class Known:
    """A linear equality: in words, its weights of each group's own entries in C order, its value in respondents."""

    what: str
    weights: tuple[Array, ...]
    value: float


@dataclass(frozen=True, eq=False)
class Together:
    """What several groups of respondents say of their tables, as of one long table of all their cells."""

    each: tuple[SeenTable, ...]
    sizes: tuple[int, ...]  # how many respondents each group has

    @property
    def n(self) -> float:
        return sum(seen.n for seen in self.each)

    @property
    def levels(self) -> tuple[int, ...]:
        return (sum(self.cells),)

    @property
    def cells(self) -> list[int]:
        """How many cells each group's table has."""
        return [prod(seen.levels) for seen in self.each]

    @property
    def parts(self) -> Array:
        """The share of all respondents that each group is."""
        return np.array(self.sizes) / sum(self.sizes)

    def split(self, shares: Array) -> list[Array]:
        """The table of each group, as shares of it."""
        ends = np.cumsum(self.cells)[:-1]
        return [own / part for own, part in zip(np.split(shares.reshape(-1), ends), self.parts, strict=True)]

    def at_first(self) -> tuple[Array, Array]:
        return self._joined([seen.at_first() for seen in self.each])

    def at_table(self, shares: Array) -> tuple[Array, Array]:
        tables = zip(self.each, self.split(shares), strict=True)
        return self._joined([seen.at_table(own.reshape(seen.levels)) for seen, own in tables])

    def _joined(self, forms: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
        """One form and vector from those of each group, weighted by its reports."""
        from scipy.linalg import block_diag

        weights = [seen.n / self.n for seen in self.each]
        each = [(w / part**2 * H, w / part * b) for w, part, (H, b) in zip(weights, self.parts, forms, strict=True)]
        return np.asarray(block_diag(*(H for H, _ in each))), np.concatenate([b for _, b in each])


@dataclass(frozen=True, eq=False)
class Conditioning:
    """Estimates of some groups straight from reports, and the equalities that they are conditioned on.

    The sum over groups is of the features at the `places` of each group's axes. The `tables` are of shares, one for
    each group: the proper tables at which all covariances are evaluated.
    """

    groups: tuple[Straight, ...]
    places: tuple[tuple[int, ...], ...]
    subject: Subject
    known: tuple[Known, ...]
    tables: tuple[Array, ...]

    def project(self, axes: Sequence[int]) -> "Conditioning":
        """The sum of fewer features, in this order."""
        return replace(self, places=tuple(tuple(own[axis] for axis in axes) for own in self.places))

    def equality(self, what: str, weights: Array, value: float) -> Known:
        """An equality about the sum, given the weights of its entries."""
        own = [np.zeros(group.truth.size) for group in self.groups]
        for each, places in zip(own, self._entries, strict=True):
            each[places] = weights.reshape(-1)
        return Known(what, tuple(own), value)

    @property
    def before(self) -> tuple[Straight, ...]:
        """The groups' estimates of the features that are looked at, before anything is known."""
        return tuple(group.project(own) for group, own in zip(self.groups, self.places, strict=True))

    @property
    def mean(self) -> Array:
        """The conditioned estimate of the sum."""
        before = total([group.truth for group in self.before])
        return before + (np.linalg.solve(self._within, self._gaps) @ self._spread).reshape(before.shape)

    @property
    def covariance(self) -> Array:
        """The covariance of the conditioned estimate of the sum."""
        pairs = zip(self._covariances, self._entries, strict=True)
        before = total([covariance[np.ix_(own, own)] for covariance, own in pairs])
        return before - self._spread.T @ np.linalg.solve(self._within, self._spread)

    def cumulants(self, weights: Array) -> Cumulants:
        """The cumulants of the conditioned estimate of the sum, for rows of weights of all its entries."""
        found = NOTHING
        for group, table, own in zip(self.groups, self.tables, self.own_weights(weights), strict=True):
            found += group.sums_at(own, table, self.subject)
        return found

    def own_weights(self, weights: Array) -> list[Array]:
        """The weights e_g of each group's own entries, for rows of weights of all entries of the sum."""
        gain = np.linalg.solve(self._within, self._spread @ weights.T).T
        found = [-gain @ C for C in self._weights]
        for e, own in zip(found, self._entries, strict=True):
            e[:, own] += weights
        return found

    def distances(self) -> list[float | None]:
        """How far each equality is from the estimate given those before it, in standard errors; None if it is not new.

        A contradiction is an error.
        """
        within, gaps = self._within.copy(), self._gaps.copy()
        found: list[float | None] = []
        n = sum(group.n for group in self.groups)
        for k, (one, most) in enumerate(zip(self.known, self._most, strict=True)):
            variance, gap = float(within[k, k]), float(gaps[k])
            if variance <= SLACK * most:
                if abs(gap) > sqrt(SLACK * most) + SLACK * n:
                    raise EstimateError(
                        f"{one.what} contradicts what was known before it, or shown without noise: {gap:+.6g} "
                        "respondents apart"
                    )
                found.append(None)
                continue
            found.append(gap / sqrt(variance))
            spread = within[:, k].copy()
            gaps -= spread * (gap / variance)
            within -= np.outer(spread, spread) / variance
        return found

    @cached_property
    def _entries(self) -> list[npt.NDArray[np.intp]]:
        """Where the entries of the sum stand among each group's own."""
        numbered = [np.arange(group.truth.size).reshape(group.truth.shape) for group in self.groups]
        return [margin(of, own).reshape(-1) for of, own in zip(numbered, self.places, strict=True)]

    @cached_property
    def _weights(self) -> list[Array]:
        """The matrix C_g of each group: the weights of each equality."""
        each = enumerate(group.truth.size for group in self.groups)
        return [np.array([one.weights[g] for one in self.known]).reshape(-1, size) for g, size in each]

    @cached_property
    def _covariances(self) -> list[Array]:
        """The covariance Sigma_g of all entries of each group, before anything is known."""
        pairs = zip(self.groups, self.tables, strict=True)
        return [group.dense_at(table, self.subject) for group, table in pairs]

    @cached_property
    def _spreads(self) -> list[Array]:
        """The matrix C_g Sigma_g of each group: a row for each equality."""
        return [C @ covariance for C, covariance in zip(self._weights, self._covariances, strict=True)]

    @property
    def _spread(self) -> Array:
        """The covariance of the equalities' sums with all entries of the sum over groups."""
        return total([spread[:, own] for spread, own in zip(self._spreads, self._entries, strict=True)])

    @cached_property
    def _within(self) -> Array:
        """The covariance S of the equalities' sums."""
        return total([spread @ C.T for spread, C in zip(self._spreads, self._weights, strict=True)])

    @cached_property
    def _gaps(self) -> Array:
        """How far each equality's sum is from its value, in respondents."""
        sums = total([C @ group.truth.reshape(-1) for C, group in zip(self._weights, self.groups, strict=True)])
        return np.array([one.value for one in self.known]) - sums

    @property
    def _most(self) -> Array:
        """The variance of each equality's sum if all errors went together: rounding is compared with it."""
        noise = [np.sqrt(np.abs(group.unconditional_variances(self.subject))).reshape(-1) for group in self.groups]
        return total([np.abs(C) @ own for C, own in zip(self._weights, noise, strict=True)]) ** 2


def closest_tables(groups: Sequence[Straight], known: Sequence[Known]) -> tuple[Array, ...]:
    """The proper tables of shares, one for each group, that are closest to the reports and obey what is known."""
    seen = Together(tuple(group.seen for group in groups), tuple(group.n for group in groups))
    ends, n = np.cumsum([0, *seen.cells]), sum(seen.sizes)
    everybody = np.zeros((len(groups), ends[-1]))
    for own, first, last in zip(everybody, ends, ends[1:], strict=False):
        own[first:last] = 1
    equalities: list[Equality] = [
        ("the number of respondents", own, float(part)) for own, part in zip(everybody[1:], seen.parts[1:], strict=True)
    ]
    for one in known:
        weights = [own @ group.of_cells for own, group in zip(one.weights, groups, strict=True)]
        equalities.append((one.what, np.concatenate(weights), one.value / n))
    return tuple(seen.split(proper_table(seen, equalities).shares))


def uniform_tables(groups: Sequence[Straight]) -> tuple[Array, ...]:
    """The tables of equally common cells, one for each group."""
    return tuple(np.full(cells, 1 / cells) for cells in (group.of_cells.shape[1] for group in groups))
