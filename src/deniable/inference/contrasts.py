"""Contrasts: weighted sums of several results, their intervals and p-values, and Holm's adjustment of several of them.

Intervals are recovered from those of the results (MOVER, Zou and Donner): with results v_i, coefficients c_i, and s_i
the part c_i |v_i - end of the interval of v_i| on the side where c_i v_i is less, the lower end of sum c_i v_i is

    sum c_i v_i - sqrt(s' R s),    R the correlation of the results

So what makes an interval of one result lopsided makes that of the contrast so. The p-value of a contrast's being zero
is one less the level at which its interval ends there.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deniable.inference.one_feature import Array

# Ends are recovered at levels up to that of so many standard errors; beyond it p-values are normal.
FURTHEST = 6.5
# Bisection for a p-value takes this many steps.
HALVINGS = 40

Ends = Callable[[float], tuple[Array, Array]]  # the ends of the intervals of all results at a level


def recovered(values: Array, coefficients: Array, correlation: Array, ends: tuple[Array, Array]) -> tuple[float, float]:
    """The ends of the interval of a contrast, from those of the results that it is a weighted sum of."""
    value, sides = float(coefficients @ values), []
    low, high = ends
    for side in (low, high):
        other = high if side is low else low
        own = coefficients * np.abs(values - np.where(coefficients > 0, side, other))
        own = np.where(coefficients == 0, 0.0, own)
        sides.append(np.sqrt(max(float(own @ correlation @ own), 0.0)))
    return float(value - sides[0]), float(value + sides[1])


def recovered_difference(before: Sequence[Array], after: Sequence[Array]) -> tuple[Array, Array]:
    """The ends of the intervals of many differences (MOVER), each of two independent results.

    Of either result the values are given, and the lower and upper ends of its intervals.
    """
    (value, low, high), (other, other_low, other_high) = before, after
    below, above = np.hypot(other - other_low, high - value), np.hypot(other_high - other, value - low)
    return other - value - below, other - value + above


def contrast_p_value(values: Array, coefficients: Array, covariance: Array, ends: Ends) -> float:
    """The two-sided p-value of a contrast's being zero, from the same intervals."""
    from scipy.special import ndtr

    value, variance = float(coefficients @ values), float(coefficients @ covariance @ coefficients)
    if value == 0 or not variance > 0:
        return 1.0 if value == 0 and variance > 0 else float("nan")
    correlation = as_correlation(covariance)

    def leaves_zero_out(z: float) -> bool:
        low, high = recovered(values, coefficients, correlation, ends(1 - 2 * float(ndtr(-z))))
        return low > 0 or high < 0

    if leaves_zero_out(FURTHEST):
        return 2 * float(ndtr(-max(abs(value) / np.sqrt(variance), FURTHEST)))
    least, most = 0.0, FURTHEST
    for _ in range(HALVINGS):
        middle = (least + most) / 2
        least, most = (middle, most) if leaves_zero_out(middle) else (least, middle)
    return 2 * float(ndtr(-least))


def as_correlation(covariance: Array) -> Array:
    """The correlation matrix of a covariance; results that do not vary are correlated with nothing."""
    deviations = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    some = deviations > 0
    scale = np.where(some, 1 / np.where(some, deviations, 1.0), 0.0)
    return np.asarray(np.clip(covariance * np.outer(scale, scale), -1.0, 1.0))


def holm(p_values: Any) -> Array:
    """Holm's adjusted p-values: below alpha, all of them at once are wrong with probability alpha at most.

    It holds whatever the results have to do with each other. A p-value that is nan stays so, and counts as one of them.
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")  # nan comes last
    stepped = np.maximum.accumulate(np.minimum((len(p) - np.arange(len(p))) * p[order], 1.0))
    adjusted = np.empty_like(p)
    adjusted[order] = stepped
    return np.where(np.isnan(p), np.nan, adjusted)
