"""Shrinkage of a table's interactions, by empirical Bayes, order by order.

What answers of k features say beyond those of fewer is looked at from the table c of maximum entropy that has the
margins of k - 1 features of the table found so far: independence for interactions of two, and for those of three what
pairs alone would make. Its contrasts are functions of k answers that have at c mean squares 1, and means of products 0
with each other and with every function of fewer answers: of independent answers, the products of contrasts of single
answers (the expansions of Lancaster and Bahadur). So their means d(t - c) tell nothing of pairs, to first order, where
pairs go together strongly. With the means d and the covariance V of the unconstrained fit, they are taken to be drawn
with mean 0 and the standard deviation s, of which all values from 0 to 1 were as likely beforehand; s is replaced by
its mean given d. Then

    n (t'Ht / 2 - b't) + sum of |d(t - c)|^2 / (2 s^2) over orders

is least over proper tables t: the misfit of the feasible table, with a penalty. An order that chance hardly explains is
left alone, so that strong interactions are those of the feasible table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.proper_tables.large_seen import everywhere
from deniable.estimates.quadratic import least
from deniable.inference.one_feature import Array
from deniable.inference.tensors import flat

# An order is left alone if chance would give its chi-square less often than this.
UNLIKELY = 1e-3
# The standard deviations of generalized correlations that are thought possible, all as likely beforehand.
STRENGTHS = np.linspace(0, 1, 201)
# A penalty is never stronger than for this standard deviation, so that rounding does not swallow what reports say.
LEAST_STRENGTH = 1e-4
# Eigenvalues of a covariance are at least this part of the largest, as rounding may make them negative.
ROUNDING = 1e-12
# A shrunk table may have at most so many cells.
MOST_CELLS = 1_000
# Proportional fitting ends after so many sweeps, or where no share changes by more than this.
MOST_SWEEPS, CLOSE = 200, 1e-9


@dataclass(frozen=True)
class ShrunkOrder:
    """What became of the interactions of so many features each.

    `statistic` is the chi-square of their test against independence, with its degrees of freedom and p-value. A shrunk
    interaction is about `kept` times what it is in truth, on average: the bias is the rest of it, towards zero.
    """

    features: int
    statistic: float
    degrees: int
    p_value: float
    kept: float

    def __str__(self) -> str:
        return (
            f"interactions of {self.features} features: chi-square {self.statistic:.1f}, {self.degrees} degrees of "
            f"freedom, p = {self.p_value:.2g}; {self.kept:.0%} kept"
        )


@dataclass(frozen=True, eq=False)
class ShrunkTable:
    """A proper table of shares whose interactions are shrunk, and how far those of each order are."""

    shares: Array
    orders: tuple[ShrunkOrder, ...]


def check_cells(names: Sequence[str], levels: Sequence[int]) -> None:
    """Refuse, before anything is computed, a table that is too large to be shrunk."""
    if (cells := prod(levels)) > MOST_CELLS:
        raise EstimateError(
            f"a shrunk table may have {MOST_CELLS:,} cells; {' x '.join(names)} has {cells:,}. "
            'Ask for fewer features, or for method="feasible"'
        )


def shrunk_table(n: float, shares: Array, H: Array, b: Array) -> ShrunkTable:
    """The shrunk table near a feasible one, given its misfit n (t'Ht / 2 - b't)."""
    at = shares.reshape(-1)
    inverse = np.linalg.inv(H)
    free, covariance = inverse @ b, (inverse - np.outer(at, at)) / n
    orders: list[ShrunkOrder] = []
    found, penalty, pull = at, np.zeros_like(H), np.zeros_like(b)
    for features in range(2, shares.ndim + 1):
        alike = of_most_entropy(found.reshape(shares.shape), features - 1)
        centre = everywhere(round(n), alike).reshape(-1)
        rows = contrasts(centre, shares.shape, features)
        order, strength = _shrunk(features, rows @ (free - centre), rows @ covariance @ rows.T)
        orders.append(order)
        if strength < np.inf:
            form = rows.T @ rows / max(strength, LEAST_STRENGTH) ** 2 / n
            penalty, pull = penalty + form, pull + form @ centre
            found = _nearest(H + penalty, b + pull)
    return ShrunkTable((found / found.sum()).reshape(shares.shape), tuple(orders))


def _nearest(H: Array, b: Array) -> Array:
    """The proper table with the least misfit t'Ht / 2 - b't."""
    uniform = np.full(len(b), 1 / len(b))
    return least(H, b, np.ones((1, len(b))), np.ones(1), uniform).x


def of_most_entropy(table: Array, features: int) -> Array:
    """The table of maximum entropy with the margins of so many features of another, by proportional fitting."""
    places = range(table.ndim)
    gone = [tuple(place for place in places if place not in kept) for kept in combinations(places, features)]
    wanted = [table.sum(axis=axes, keepdims=True) for axes in gone]
    found = np.full_like(table, 1 / table.size)
    for _ in range(MOST_SWEEPS):
        before = found
        for axes, margin in zip(gone, wanted, strict=True):
            own = found.sum(axis=axes, keepdims=True)
            found = found * np.divide(margin, own, out=np.zeros_like(own), where=own > 0)
        if np.abs(found - before).max() < CLOSE:
            break
    return found


def contrasts(centre: Array, levels: Sequence[int], features: int) -> Array:
    """Functions of so many features each that nothing of fewer explains, as rows over all cells in C order.

    At the centre they have mean squares 1, and their products with each other and with all functions of fewer
    features have the mean 0.
    """
    root = np.sqrt(centre)
    lower = [_products(levels, size) for size in range(features)]
    fewer, more = np.vstack(lower), _products(levels, features)
    turned, _ = np.linalg.qr(root[:, None] * np.vstack([fewer, more]).T)
    return np.asarray((turned[:, len(fewer) :] / root[:, None]).T)


def _products(levels: Sequence[int], features: int) -> Array:
    """Products of contrasts of so many features each, as rows over all cells in C order."""
    alike, own = [np.ones((1, m)) for m in levels], [np.eye(m)[1:] for m in levels]
    chosen = combinations(range(len(levels)), features)
    return np.vstack([flat([(own if k in some else alike)[k] for k in range(len(levels))]) for some in chosen])


def _shrunk(features: int, d: Array, covariance: Array) -> tuple[ShrunkOrder, float]:
    """The test of one order's correlations d against zero, and their standard deviation; infinite if left alone."""
    from scipy.special import chdtrc

    variances, turn = np.linalg.eigh(covariance)
    variances = np.maximum(variances, ROUNDING * variances[-1])
    squares = (turn.T @ d) ** 2
    statistic = float((squares / variances).sum())
    p_value = float(chdtrc(len(d), statistic))
    if p_value < UNLIKELY:
        return ShrunkOrder(features, statistic, len(d), p_value, 1.0), np.inf
    spread = variances + STRENGTHS[:, None] ** 2
    likelihoods = -0.5 * (np.log(spread) + squares / spread).sum(axis=1)
    weights = np.exp(likelihoods - likelihoods.max())
    strength = float(weights @ STRENGTHS / weights.sum())
    kept = float((strength**2 / (strength**2 + variances)).mean())
    return ShrunkOrder(features, statistic, len(d), p_value, kept), strength
