"""Shrinkage of a table's interactions towards independence, by empirical Bayes, order by order.

Functions of one answer with mean 0 and mean square 1 at the feature's own shares are its contrasts; the mean of a
product of contrasts of two or more features is a generalized correlation, which is zero if answers are independent
(the expansions of Lancaster and Bahadur). Those of one order, of as many features each, are d with the covariance V,
both of the unconstrained fit. They are taken to be drawn with mean 0 and the standard deviation s, of which all values
from 0 to 1 were as likely beforehand; s is replaced by its mean given d. Then

    n (t'Ht / 2 - b't) + sum of d(t)'d(t) / (2 s^2) over orders

is least over proper tables t: the misfit of the feasible table, with a penalty. An order that chance hardly explains is
left alone, so that strong interactions are those of the feasible table; and so are the orders above it, which are not
small where answers of two features hardly go together.
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
    penalty = np.zeros_like(H)
    for features in range(2, shares.ndim + 1):
        rows = _contrasts(n, shares, features)
        alone = any(lower.kept == 1 for lower in orders)
        order, strength = _shrunk(features, rows @ free, rows @ covariance @ rows.T, alone=alone)
        orders.append(order)
        if strength < np.inf:
            penalty += rows.T @ rows / max(strength, LEAST_STRENGTH) ** 2
    uniform = np.full(len(b), 1 / len(b))
    found = least(H + penalty / n, b, np.ones((1, len(b))), np.ones(1), uniform).x
    return ShrunkTable((found / found.sum()).reshape(shares.shape), tuple(orders))


def _contrasts(n: float, shares: Array, features: int) -> Array:
    """The products of contrasts of so many features each, as rows over all cells in C order."""
    places = range(shares.ndim)
    each = []
    for place in places:
        margin = shares.sum(axis=tuple(other for other in places if other != place))
        each.append(_orthonormal(everywhere(round(n), margin)))
    alike = [np.ones((1, m)) for m in shares.shape]
    chosen = combinations(places, features)
    return np.vstack([flat([(each if k in some else alike)[k] for k in places]) for some in chosen])


def _orthonormal(shares: Array) -> Array:
    """The contrasts of one feature: rows over answers, with mean 0, mean square 1 and mean products 0 at its shares."""
    root = np.sqrt(shares)
    turned, _ = np.linalg.qr(np.column_stack([root, np.eye(len(root), len(root) - 1)]))
    return np.asarray((turned[:, 1:] / root[:, None]).T)


def _shrunk(features: int, d: Array, covariance: Array, *, alone: bool) -> tuple[ShrunkOrder, float]:
    """The test of one order's correlations d against zero, and their standard deviation; infinite if left alone."""
    from scipy.special import chdtrc

    variances, turn = np.linalg.eigh(covariance)
    variances = np.maximum(variances, ROUNDING * variances[-1])
    squares = (turn.T @ d) ** 2
    statistic = float((squares / variances).sum())
    p_value = float(chdtrc(len(d), statistic))
    if alone or p_value < UNLIKELY:
        return ShrunkOrder(features, statistic, len(d), p_value, 1.0), np.inf
    spread = variances + STRENGTHS[:, None] ** 2
    likelihoods = -0.5 * (np.log(spread) + squares / spread).sum(axis=1)
    weights = np.exp(likelihoods - likelihoods.max())
    strength = float(weights @ STRENGTHS / weights.sum())
    kept = float((strength**2 / (strength**2 + variances)).mean())
    return ShrunkOrder(features, statistic, len(d), p_value, kept), strength
