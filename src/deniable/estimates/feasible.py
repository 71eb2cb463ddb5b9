"""Proper tables by generalized least squares: nothing negative, the right sum, and margins that agree.

The mean z of products over features, of what each report says of each feature (`Side`), is fitted by a table t of
shares in the metric of its own second moments at that table,

    minimise (z - U t)' M(t)^-1 (z - U t)   over t >= 0 with sum 1 and what else is known,

where U t is what it estimates and M(t) = sum_S t_S E[z z' | S] is one report's. As both z and U t have the sum 1, this
is the metric of the covariance about the population, without its being singular. M is evaluated at independence first,
and then at the table that was found.

Tables of many cells never have the matrices M and H: products with them are closed forms (`proper_tables`). Of each
feature a report says which bits it has, one by one; or, if whole patterns were counted, how likely its pattern
is for each answer (`pattern_scores`), which is more where several bits may be set.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.estimates.interface import SeenTable
from deniable.estimates.pattern_scores import score
from deniable.estimates.proper_tables.known_equalities import Equality, equations, possible_cells, start_of
from deniable.estimates.proper_tables.large_seen import LargeSeen, everywhere, seen_of_many
from deniable.estimates.proper_tables.on_simplex import least_on_simplex
from deniable.estimates.quadratic import least
from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import along, answer_count, answer_rows, flat, invert, margins, moment_matrix
from deniable.kernels import physical_memory
from deniable.survey.protocols.base import Protocol

# Matrices are made for tables of at most so many cells, if features are asked alone; larger ones take products.
MOST_DENSE = 1_000
# Matrices are made for features of at most so many answers: second moments by answer would be cubes of these.
MOST_ANSWERS = 50
# A proper table may have at most so many cells where matrices are needed: of arms and blocks, or with something known.
MOST_CELLS = 10_000
# A proper table of features that are asked alone may have at most so many cells.
MOST_LARGE = 1 << 20
# The misfit of a large table, a chi-square, is at most so much above the least.
GAP = 1e-6
# The misfit of a large table in the metric to begin with is at most so much above the least.
FIRST_GAP = 1e-4
# A large table that does not come so close to the least misfit is warned about.
WIDE_GAP = 1e-2
# What is said of a table that is too large.
SMALLER = (
    'Ask for fewer features, for method="consistent", or for the maximum-likelihood table: '
    "dn.maximum_likelihood(reports, names)"
)
# How often the metric is evaluated at the table found: more did not bring it closer to the truth.
ROUNDS = 1
# This part of the mean diagonal is added to the quadratic form's diagonal, so that rounding does not make it singular.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Side:
    """The moments of what a report says of one feature: numbers z, of which the first may have the mean zero.

    They are scaled and turned so that E[z z'] = 1 at the feature's own shares: products of many features could not be
    told from zero otherwise, where epsilons are small.
    """

    means: Array  # E[z | answer], (entries, answers)
    seconds: Array  # E[z z' | answer], (entries, entries, answers)

    @property
    def zeros(self) -> int:
        """How many numbers have the mean zero: 1 if bits are taken one by one and need not sum to 1, else 0."""
        return len(self.means) - int(self.means.shape[1])


@dataclass(frozen=True, eq=False)
class Seen:
    """The mean over n reports of the products of what each says of the features."""

    n: int
    sides: tuple[Side, ...]
    z: Array

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(int(side.means.shape[1]) for side in self.sides)

    def at_first(self) -> tuple[Array, Array]:
        """The form H and the vector b at independent answers with these margins, where all moments are 1."""
        weights = [side.means.T for side in self.sides]
        return definite(flat([w @ w.T for w in weights])), along(self.z, weights).reshape(-1)

    def at_table(self, shares: Array) -> tuple[Array, Array]:
        """The form H and the vector b in the metric of second moments at a table of shares.

        Some entries d have the mean zero whatever the table is, and the others c the mean U t. With what is left of c
        and of its moments R once d is taken into account, H = U' R^-1 U and b = U' R^-1 c.
        """
        moments = moment_matrix(everywhere(self.n, shares), [side.seconds for side in self.sides])
        places = np.arange(self.z.size).reshape(self.z.shape)
        c = places[tuple(slice(side.zeros, None) for side in self.sides)].reshape(-1)
        d = np.setdiff1d(places, c)
        line = self.z.reshape(-1)
        left, values = moments, line
        if len(d):
            left, values = moments[np.ix_(c, c)], line[c]
            known = _solved(_root(moments[np.ix_(d, d)]), np.column_stack([moments[np.ix_(d, c)], line[d]]))
            left -= known[:, :-1].T @ known[:, :-1]
            values = values - known[:, :-1].T @ known[:, -1]
        root = _root(left)
        up = _solved(root, flat([side.means[side.zeros :] for side in self.sides]))
        return definite(up.T @ up), up.T @ _solved(root, values)


def table_from_counts(counts: Counts, names: Sequence[str]) -> "ProperTable":
    """The proper table closest to counts, and to the patterns behind them if counts hold these."""
    n, protocols = counts.asked(*names), [counts.plan[name] for name in names]
    axes = [Axis.of(protocol, centred=False) for protocol in protocols]
    unbiased, shown = invert(axes, counts.evidence(*names)), counts.shown(*names)
    shares = margin_shares(axes, unbiased)
    if prod(map(len, shares)) > MOST_DENSE or max(map(len, shares)) > MOST_ANSWERS:
        return _large_table(n, protocols, unbiased, shown, shares)
    if shown is None:
        return proper_table(seen_in_counts(n, axes, unbiased))
    return proper_table(seen_in_patterns(n, shown / n, protocols, shares))


def seen_in_counts(n: int, axes: Sequence[Axis], unbiased: Array) -> Seen:
    """What counts say: their estimate, in respondents, with the bits of each feature taken one by one."""
    levels = [answer_count(axis.columns) for axis in axes]
    _check_size(levels, [m + (not axis.adds_up) for m, axis in zip(levels, axes, strict=True)])
    bases = [_basis(axis) for axis in axes]
    seconds = [
        np.einsum("ai,ijs,bj->abs", basis, axis.seconds()[0], basis) @ margins(axis.columns)
        for axis, basis in zip(axes, bases, strict=True)
    ]
    return _turned(n, seconds, along(unbiased / n, bases), margin_shares(axes, unbiased))


def seen_in_patterns(n: int, shown: Array, protocols: Sequence[Protocol], shares: Sequence[Array]) -> Seen:
    """What whole patterns say, shown by these shares of reports, if answers have about these shares in each feature."""
    _check_size([len(own) for own in shares], [len(own) for own in shares])
    scores = [score(protocol, everywhere(n, own)) for protocol, own in zip(protocols, shares, strict=True)]
    z = along(shown, [one.estimates(protocol).T for one, protocol in zip(scores, protocols, strict=True)])
    return _turned(n, [one.seconds for one in scores], z, shares)


def margin_shares(axes: Sequence[Axis], unbiased: Array) -> list[Array]:
    """The shares of each feature's answers, clipped at zero and made to sum to one."""
    parts = []
    for k, axis in enumerate(axes):
        margin = unbiased[tuple(slice(None) if j == k else 0 for j in range(len(axes)))]
        positive = np.maximum(answer_rows(axis.columns) @ margin, 0)
        parts.append(positive / positive.sum() if positive.any() else np.full(len(positive), 1 / len(positive)))
    return parts


def _turned(n: int, seconds: Sequence[Array], z: Array, shares: Sequence[Array]) -> Seen:
    """Unbiased numbers for each answer, those whose mean is zero before them, whitened at these shares."""
    inverses = []
    for own, moments in zip(shares, seconds, strict=True):
        root = _root(moments @ everywhere(n, own))
        inverses.append(_solved(root, np.eye(len(root))))
    sides = tuple(
        Side(inverse[:, -moments.shape[2] :], np.einsum("ai,ijs,bj->abs", inverse, moments, inverse, optimize=True))
        for inverse, moments in zip(inverses, seconds, strict=True)
    )
    return Seen(n, sides, along(z, inverses))


@dataclass(frozen=True, eq=False)
class ProperTable:
    """A proper table of shares, and what it was fitted to.

    Its misfit, a chi-square in the metric it was fitted in, is at most `gap` above the least.
    """

    seen: SeenTable | LargeSeen
    equalities: tuple[Equality, ...]
    shares: Array
    gap: float

    @property
    def n(self) -> float:
        """How many respondents."""
        return self.seen.n

    def equations(self) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        """The constraints A t = a of all that is known, beginning with the sum; and the cells that need not be zero."""
        A, a = equations(self.shares.size, self.equalities)
        return A, a, possible_cells(A, a)

    def misfit(self) -> tuple[Array, Array]:
        """The quadratic form H and the vector b of the misfit n (t'Ht / 2 - b't), in the metric at this table."""
        return self._dense.at_table(self.shares)

    def given(self, equalities: Sequence[Equality]) -> "ProperTable":
        """The table fitted again with more known about it."""
        return proper_table(self._dense, (*self.equalities, *equalities))

    @property
    def _dense(self) -> SeenTable:
        """What was seen, with the misfit as a matrix."""
        return _as_dense(self.seen) if isinstance(self.seen, LargeSeen) else self.seen


def proper_table(seen: SeenTable, equalities: Sequence[Equality] = ()) -> ProperTable:
    """The proper table closest to what was seen, of those for which the equalities hold."""
    levels = seen.levels
    cells = prod(levels)
    A, a = equations(cells, equalities)
    start = start_of(A, a, equalities)
    possible = possible_cells(A, a)

    def fitted(H: Array, b: Array, shares: Array) -> tuple[Array, float]:
        found = least(H[np.ix_(possible, possible)], b[possible], A[:, possible], a, shares[possible])
        shares = np.zeros(cells)
        shares[possible] = found.x / found.x.sum()
        return shares, 2 * seen.n * found.gap

    shares, gap = fitted(*seen.at_first(), start)
    for _ in range(ROUNDS):
        shares, gap = fitted(*seen.at_table(shares.reshape(levels)), shares)
    return ProperTable(seen, tuple(equalities), shares.reshape(levels), gap)


def _large_table(
    n: int, protocols: Sequence[Protocol], unbiased: Array, shown: npt.NDArray[Any] | None, shares: Sequence[Array]
) -> ProperTable:
    """The proper table closest to what was seen of many cells, by products with the misfit's form alone."""
    if (cells := prod(map(len, shares))) > MOST_LARGE:
        raise EstimateError(f"a feasible table may have {MOST_LARGE:,} cells; this one has {cells:,}. {SMALLER}")
    seen = seen_of_many(n, protocols, unbiased, shown, shares)
    found = least_on_simplex(seen.at_first(), np.full(seen.levels, 1 / cells), FIRST_GAP / (2 * n))
    for _ in range(ROUNDS):
        found = least_on_simplex(seen.at_table(found.x), found.x, GAP / (2 * n))
    gap = 2 * n * found.gap
    if gap > WIDE_GAP:
        warnings.warn(
            f"the feasible table's misfit, a chi-square, may be {gap:.2g} above the least; {SMALLER}", stacklevel=6
        )
    return ProperTable(seen, (), found.x, gap)


def _as_dense(seen: LargeSeen) -> Seen:
    """What was seen of many cells as matrices, for as many as these can hold."""
    features, zeros = seen.features, [of.entry_count - of.answers for of in seen.features]
    _check_size(seen.levels, [of.entry_count for of in features])
    bases = [np.eye(of.entry_count) for of in features]
    for basis, first in zip(bases, zeros, strict=True):
        basis[:first, first:] = -1  # what is missing to the sum, whose mean is zero
    seconds = [
        np.einsum("ai,ijs,bj->abs", basis, of.cube, basis, optimize=True)
        for basis, of in zip(bases, features, strict=True)
    ]
    return _turned(seen.n, seconds, along(seen.z, bases), seen.shares)


def definite(matrix: Array) -> Array:
    """A matrix that rounding does not make singular, however little the reports say."""
    matrix[np.diag_indices(len(matrix))] += ROUNDING * np.trace(matrix) / len(matrix)
    return matrix


def _root(matrix: Array) -> Array:
    """The lower Cholesky factor R of a matrix R R'."""
    from scipy.linalg import cholesky  # twice as fast as numpy's

    return np.asarray(cholesky(matrix, lower=True, check_finite=False), np.float64)


def _solved(root: Array, right: Array) -> Array:
    """The solution of a triangular system."""
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(root, right, lower=True, check_finite=False))


def _basis(axis: Axis) -> Array:
    """The answers of a feature, from (1, z_1, ..., z_m); where these need not sum to 1, first what is missing to it."""
    answers = answer_rows(axis.columns)
    if axis.adds_up:
        return answers
    return np.vstack([np.eye(1, 1 + axis.columns) - answers.sum(axis=0), answers])


def _check_size(levels: Sequence[int], lengths: Sequence[int]) -> None:
    """Refuse, before anything is computed, what has too many cells, or entries that do not fit into memory."""
    cells, entries = prod(levels), prod(lengths)
    needed = 8 * (3 * entries**2 + 3 * entries * cells + 3 * cells**2)
    if cells > MOST_CELLS or needed > physical_memory() // 2:
        raise EstimateError(
            f"a feasible table may have {MOST_CELLS:,} cells and half of this machine's memory; this one has {cells:,} "
            f"and needs {needed / 1e9:,.1f} GB. {SMALLER}"
        )
