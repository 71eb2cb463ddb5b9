"""Generalized least squares over arms: one table from what all kinds of arms say of it and of its margins.

With y_a the mean of z over the n_a reports of kind a, X_a the sums that its part of the table t is, and M_a = E[z z'],

    t = A^-1 sum_a n_a X_a' M_a^-1 y_a,     A = sum_a n_a X_a' M_a^-1 X_a,     Cov(t) = A^-1 - f f' / sum_a n_a

about the population. As all y_a and t sum to one, this is the metric of the covariances M_a - (X_a f)(X_a f)', without
their being singular. M_a is evaluated at a proper table f: at the uniform one first, then twice at the table found.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan, prod

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.estimates.feasible import definite
from deniable.estimates.quadratic import least
from deniable.inference.distributions import chi_square_tail
from deniable.inference.one_feature import Array
from deniable.inference.results import Homogeneity
from deniable.inference.tensors import answer_count, flat
from deniable.kernels import physical_memory

# How often the metric is evaluated at the table found, after the uniform one.
ROUNDS = 2
# So many respondents are spread over all cells where the metric is evaluated, which must not be singular.
SPREAD = 0.5
# A kind of arm takes part in the test of homogeneity if it has so many reports for each of its cells.
FEWEST_A_CELL = 5
# A table from several arms may have at most so many cells.
MOST_CELLS = 5_000
# Matrices up to this size are inverted by numpy alone: importing scipy's Cholesky takes longer than it would save.
SMALL = 200


@dataclass(frozen=True, eq=False)
class Metric:
    """Least squares in the metric at one table f: the form A, its right side b, and each kind's n_a M_a^-1 X_a."""

    table: Array
    A: Array
    b: Array
    scaled: tuple[Array, ...]

    @cached_property
    def inverse(self) -> Array:
        """The inverse of A."""
        return inverted(self.A)

    @cached_property
    def solution(self) -> Array:
        """The least squares estimate of the cells' shares, which may be negative."""
        return self.inverse @ self.b

    @cached_property
    def weights(self) -> tuple[Array, ...]:
        """The matrix of each kind from its own estimate to its part of the table's."""
        return tuple(self.inverse @ np.swapaxes(each, -1, -2) for each in self.scaled)


@dataclass(frozen=True, eq=False)
class Totals:
    """Cumulants of weighted sums of cells about the population, and the gradient of their variance by the cells."""

    variance: Array
    third: Array
    fourth: Array
    gradient: Array  # sums by cells

    def plus(self, variance: Array, third: Array, fourth: Array, gradient: Array) -> "Totals":
        """The same with what more reports add."""
        added = (self.variance + variance, self.third + third, self.fourth + fourth, self.gradient + gradient)
        return Totals(*added)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What all kinds of arms say of a table of features with so many evidence columns."""

    columns: tuple[int, ...]
    kinds: tuple[ArmKind, ...]

    @property
    def levels(self) -> tuple[int, ...]:
        """How many answers each feature has."""
        return tuple(map(answer_count, self.columns))

    @property
    def cells(self) -> int:
        """How many cells the table has."""
        return prod(self.levels)

    @property
    def n(self) -> float:
        """How many reports say anything of the table; whole, but for surveys that are only expected."""
        return sum(kind.n for kind in self.kinds)

    @cached_property
    def sums(self) -> tuple[Array, ...]:
        """The matrix X_a of each kind: which cells of the table each of its own cells is the sum of."""
        return tuple(sums_over(self.levels, kind.places) for kind in self.kinds)

    @property
    def local(self) -> "Evidence":
        """What arms say of the table alone: all that this is."""
        return self

    def asked(self, places: Iterable[int]) -> int:
        """How many were asked all features at these places."""
        return round(sum(kind.n for kind in self.kinds if set(places) <= set(kind.places)))

    def at(self, shares: Array) -> Metric:
        """Least squares in the metric at a proper table of shares."""
        return self.at_positive(spread(self.n, shares.reshape(-1)))

    def at_positive(self, table: Array) -> Metric:
        """Least squares in the metric at a table of shares above zero."""
        A, b, scaled = np.zeros((self.cells, self.cells)), np.zeros(self.cells), []
        for kind, X in zip(self.kinds, self.sums, strict=True):
            each = kind.over_table(kind.n * inverted(kind.seconds(X @ table)), self.levels)
            A += kind.over_table(each.T, self.levels)
            b += each.T @ kind.shares
            scaled.append(each)
        return Metric(table, symmetric(A), b, tuple(scaled))

    @cached_property
    def plain(self) -> "Evidence":
        """The same with equal weights of centring, as equally common answers have them."""
        if all(axis.weights is None for kind in self.kinds for axis in kind.axes):
            return self
        return replace(self, kinds=tuple(kind.plain for kind in self.kinds))

    @cached_property
    def uniform(self) -> Metric:
        """Least squares in the metric at the uniform table, which does not depend on the reports."""
        return self.at(np.full(self.cells, 1 / self.cells))

    @cached_property
    def best(self) -> Metric:
        """Least squares in the metric at the proper table that was found with it."""
        metric = self.uniform
        for _ in range(ROUNDS):
            metric = self.at(self.proper(metric))
        return metric

    def proper(self, metric: Metric) -> Array:
        """The proper table closest to what was said, in a metric."""
        start = np.full(self.cells, 1 / self.cells)
        if (solution := metric.solution).min() >= 0:
            return solution
        found = least(metric.A / self.n, metric.b / self.n, np.ones((1, self.cells)), np.ones(1), start)
        return np.asarray(found.x / found.x.sum())

    def at_first(self) -> tuple[Array, Array]:
        """The form A / n and the vector b / n of the misfit, in the metric at the uniform table."""
        return definite(self.uniform.A / self.n), self.uniform.b / self.n

    def at_table(self, shares: Array) -> tuple[Array, Array]:
        """The form A / n and the vector b / n of the misfit, in the metric at a table of shares."""
        metric = self.at(shares)
        return definite(metric.A / self.n), metric.b / self.n

    def covariance(self, weights: Sequence[Array], table: Array) -> Array:
        """The covariance about the population of the estimate with these weights of kinds, were this the truth."""
        total = np.zeros((self.cells, self.cells))
        for kind, X, B in zip(self.kinds, self.sums, weights, strict=True):
            f = X @ table
            total += B @ (kind.seconds(f) - np.outer(f, f)) @ B.T / kind.n
        return total

    def totals(self, W: Array, table: Array, weights: Sequence[Array]) -> Totals:
        """Cumulants of sums of cells with weights W, and gradients of their variance, were this table the truth."""
        none = np.zeros(len(W))
        total = Totals(none, none, none, np.zeros_like(W))
        for kind, X, B in zip(self.kinds, self.sums, weights, strict=True):
            b = W @ B
            found = kind.moments(b, X @ table)
            gradient = kind.over_table(found.squares - 2 * found.mean[:, None] * b, self.levels)
            total = total.plus(
                found.variance / kind.n, found.third / kind.n**2, found.fourth / kind.n**3, gradient / kind.n
            )
        return total

    def expected(self, cells: Array) -> "Evidence":
        """The same reports with means of a table with these shares, and the weights of centring that come with it."""
        kinds = tuple(kind.weighted(X @ cells) for kind, X in zip(self.kinds, self.sums, strict=True))
        return replace(self, kinds=kinds).supposed(cells, 1.0)

    def supposed(self, cells: Array, times: float) -> "Evidence":
        """So many times as many reports, whose means are those of a table with these shares of cells."""
        kinds = zip(self.kinds, self.sums, strict=True)
        return Evidence(self.columns, tuple(kind.scaled(kind.n * times, X @ cells) for kind, X in kinds))

    @cached_property
    def homogeneity(self) -> Homogeneity:
        """The chi-square test of whether all kinds of reports say the same of the table; nan if there is one kind.

        Kinds with few reports for their cells are left out, of what is fitted too: their statistic is not a chi-square.
        """
        many = [pair for pair in zip(self.kinds, self.sums, strict=True) if pair[0].n >= FEWEST_A_CELL * pair[0].cells]
        precisions = [kind.n * inverted(kind.seconds(X @ self.best.table)) for kind, X in many]
        parts, unknown = self._fitted([kind for kind, _ in many], precisions)
        apart = [kind.shares - part for (kind, _), part in zip(many, parts, strict=True)]
        statistic = sum(float(one @ precision @ one) for one, precision in zip(apart, precisions, strict=True))
        degrees = sum(kind.cells - 1 for kind, _ in many) - unknown
        return Homogeneity(statistic, degrees, chi_square_tail(degrees, statistic) if degrees else nan)

    def _fitted(self, kinds: Sequence[ArmKind], precisions: Sequence[Array]) -> tuple[list[Array], int]:
        """What least squares over some kinds alone says of each one's cells, and how many contrasts were fitted.

        The unknowns are shares of the combinations of all answers but each feature's last, of any features that some
        kind sees together: the entries of a tensor like the table, whose index 0 means that a feature is not looked at.
        """
        if not kinds:
            return [], 0
        entries = np.arange(self.cells).reshape(self.levels)
        own = [entries[_all_at(kind.places, entries.ndim)].reshape(-1) for kind in kinds]
        D = [flat([_cells_by_entry(m) for m in kind.levels]) for kind in kinds]
        A, b = np.zeros((self.cells, self.cells)), np.zeros(self.cells)
        for kind, index, each, precision in zip(kinds, own, D, precisions, strict=True):
            A[np.ix_(index, index)] += each.T @ precision @ each
            b[index] += each.T @ precision @ kind.shares
        seen, found = np.unique(np.concatenate(own)), np.zeros(self.cells)
        found[seen] = np.linalg.solve(A[np.ix_(seen, seen)], b[seen])
        return [each @ found[index] for index, each in zip(own, D, strict=True)], len(seen) - 1


def evidence(columns: Sequence[int], kinds: Sequence[ArmKind]) -> Evidence:
    """What kinds of arms say of a table, refused before anything is computed if it has too many cells."""
    made = Evidence(tuple(columns), tuple(kinds))
    needed = 8 * sum(4 * made.cells**2 + kind.cells * made.cells for kind in kinds)
    if made.cells > MOST_CELLS or needed > physical_memory() // 2:
        raise EstimateError(
            f"a table from several arms may have {MOST_CELLS:,} cells; this one has {made.cells:,}. Ask for fewer "
            "features"
        )
    return made


def sums_over(levels: Sequence[int], places: Sequence[int]) -> Array:
    """The matrix of sums that a table's margin of the features at some places is, from its cells, in C order."""
    return flat([np.eye(m) if place in places else np.ones((1, m)) for place, m in enumerate(levels)])


def _all_at(places: Sequence[int], axes: int) -> tuple[slice | int, ...]:
    """The part of a tensor of entries that looks at the features at some places alone."""
    return tuple(slice(None) if place in places else 0 for place in range(axes))


def _cells_by_entry(m: int) -> Array:
    """The matrix from (the whole, all shares but the last) of a feature with m answers to the shares of its answers."""
    matrix = np.eye(m, k=1)
    matrix[-1] = [1, *(m - 1) * [-1]]
    return matrix


def spread(n: float, shares: Array) -> Array:
    """Shares with SPREAD respondents added, spread evenly over all cells."""
    return (n * shares + SPREAD / shares.size) / (n + SPREAD)


def inverted(matrix: Array) -> Array:
    """The inverse of a symmetric positive definite matrix, by Cholesky's factors: exactly symmetric."""
    if len(matrix) <= SMALL:
        factor = np.linalg.inv(np.linalg.cholesky(matrix))
        return symmetric(factor.T @ factor)
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, wrong = dpotrf(matrix, lower=True)
    if wrong:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    lower, _ = dpotri(factor, lower=True)  # zeros above the diagonal
    whole = np.ascontiguousarray(lower + lower.T)
    np.fill_diagonal(whole, np.diagonal(lower))
    return whole


def symmetric(matrix: Array) -> Array:
    """A matrix without what rounding made of its symmetry."""
    return (matrix + matrix.T) / 2
