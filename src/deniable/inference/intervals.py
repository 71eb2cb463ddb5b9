"""Confidence intervals of estimates: score intervals with a Cornish-Fisher correction.

A score interval holds all numbers t that the estimate mu is not too far from, by the variance that it would have there.
If the truth is t and not mu, the variance V is larger by c (t - mu), with c = Cov(mu, V) / V; and the quantiles of the
error are, by Cornish-Fisher, z sqrt(V) + k, with k = g (z^2 - 1) / 6 and g = kappa3 / V. So the ends solve

    (t - mu + k)^2 = z^2 (V + c (t - mu)),    which is    t = mu - k + z^2 c / 2 -+ z sqrt(V - c k + z^2 c^2 / 4)

To first order they are those of a studentised estimate. Two things are added. What the variance estimate varies by
itself, not along with mu, makes z a quantile of Student's t, with Satterthwaite's degrees of freedom. And as an
estimate varies in steps of about u = sqrt(kappa4 / V), where these are large each end is up to half a step further out:
as Clopper's and Pearson's interval is beside the mid-p interval.

When to trust intervals is said in `trust`; estimates from one evidence column have exact ones (`exact_binomial`).
"""

from dataclasses import dataclass
from math import isinf
from typing import Any

import numpy as np

from deniable.errors import EstimateError, abbreviated
from deniable.inference.cumulants import Cumulants
from deniable.inference.distributions import normal_quantile, student_quantile
from deniable.inference.one_feature import Array

# The level of printed intervals, and where the search for a p-value begins.
LEVEL = 0.95
# A share's interval says little where its half-width is above the share itself, and above this: one point.
LITTLE = 0.01
# The interval of a ratio says little where its upper end is more than this many times its lower end.
TENFOLD = 10
# With this variance, in squared steps, an end is a quarter of a step further out; with none half a step.
MANY_STEPS = 5
# The least degrees of freedom of a variance estimate: with fewer, Student's distribution says nothing of an interval.
FEWEST_DEGREES = 2.5
# A shrunk share is near 0 (or 1) if it is within so many standard errors that it had before it was shrunk.
NEAR = 2.0
# A standard normal number is further from zero than this one time in a thousand.
ONE_IN_A_THOUSAND = 3.29


def checked_level(level: float) -> float:
    """A confidence level as a number between 0 and 1, or an error."""
    try:
        number = float(level)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(level, str) or not 0 < number < 1 - 1e-12:
        raise EstimateError(f"a level of confidence is between 0 and 1, such as 0.95; found {abbreviated(level)}")
    return number


def chosen_level(level: float, confidence_level: float | None) -> float:
    """The level that was asked for by either name, where SciPy's is the second."""
    if confidence_level is None:
        return checked_level(level)
    if level not in (LEVEL, confidence_level):
        raise EstimateError(
            f"level={abbreviated(level)} and confidence_level={abbreviated(confidence_level)} are two names of one "
            "level; give one of them"
        )
    return checked_level(confidence_level)


def share_says_little(value: float, low: float, high: float) -> bool:
    """Whether an interval is too long to tell much: its half-width is above the share's size, and above LITTLE."""
    return (high - low) / 2 > max(abs(value), LITTLE)


def ratio_says_little(low: float, high: float, least: float, most: float) -> bool:
    """Whether an interval is too long to tell much, of what can be between two numbers.

    It does if it is longer than half of that; where there is no most, if it is more than TENFOLD from end to end.
    """
    if isinf(most):
        return not 0 < high <= TENFOLD * low
    return high - low > (most - least) / 2


@dataclass(frozen=True, eq=False)
class Corrections:
    """What moves the ends of a score interval: the quantile z, how V grows along (c), skewness (k) and half steps."""

    z: Array
    c: Array
    k: Array
    further: Array

    @classmethod
    def of(cls, found: Cumulants, level: Any) -> "Corrections":
        """The corrections for an estimate with these cumulants; none but z where it does not vary."""
        some = np.asarray(found.variance) > 0
        variance = np.where(some, found.variance, 1.0)
        c, g = (np.where(some, of, 0.0) / variance for of in (found.covariance_with_variance, found.third))
        spare = np.where(some, found.variance_of_variance, 0.0) / variance**2 - c**2 / variance
        z = _quantiles(np.maximum(spare, 0.0), level)
        # More skewness, or as much against the variance's own, would let ends turn back as the level rises.
        against = np.where(c * g < 0, np.maximum(1 - c**2 / variance, 0.0), 1.0)
        most = 1.5 * np.sqrt(variance) / np.maximum(z, 1.0) * against
        k = np.clip(g, -most, most) * (z**2 - 1) / 6
        squared = found.squared_step
        further = np.sqrt(squared) / 2 * (MANY_STEPS * squared / (MANY_STEPS * squared + variance))
        return cls(z, c, k, further)


def limits(found: Cumulants, level: float) -> tuple[Array, Array]:
    """The ends of a confidence interval in respondents: a score interval, by Cornish-Fisher.

    The corrections are for the estimate's skewness, its covariance with its own estimated variance, how uncertain that
    variance is, and the steps in which the estimate varies.
    """
    fix = Corrections.of(found, level)
    some = np.asarray(found.variance) > 0
    away = fix.z * np.sqrt(np.maximum(found.variance - fix.c * fix.k, 0.0) + (fix.z * fix.c) ** 2 / 4) + fix.further
    middle = fix.z**2 * fix.c / 2 - fix.k
    zero = np.where(found.variance < 0, np.nan, 0.0)
    low, high = (found.mean + np.where(some, middle + side * away, zero) for side in (-1, 1))
    return low, high


def limits_of_shrunk_shares(found: Cumulants, n: int, unshrunk: Cumulants, level: float) -> tuple[Array, Array]:
    """The ends of a confidence interval, in respondents, of shares of n that a model has shrunk.

    It reaches as far to either side as the interval of the estimate before it was shrunk, or as that of the
    posterior if it is longer: shrinkage makes shares too small or too large by as much as the noise that it takes
    away. The variance V of that estimate grows with the share as that of a sample: t with (t - p)^2 = z^2 (V + |t -
    p| / n). Within NEAR of its standard errors from 0 or 1, where a share that cannot be below zero comes out too
    large, it holds that interval.
    """
    z = normal_quantile(0.5 + level / 2)
    p, before = found.mean / n, unshrunk.mean / n
    spread, error = (z * np.sqrt(np.maximum(one.variance, 0)) / n for one in (found, unshrunk))
    growth = z**2 / (2 * n)
    reach, common = growth + np.sqrt(error**2 + growth**2), p > 0.5
    below, above = np.where(common, reach, error), np.where(common, error, reach)
    low, high = p - np.maximum(below, spread), p + np.maximum(above, spread)
    near = z * np.minimum(p, 1 - p) < NEAR * error
    low = np.where(near, np.minimum(low, before - below), low)
    high = np.where(near, np.maximum(high, before + above), high)
    fixed = np.asarray(found.variance) == 0
    return np.where(fixed, found.mean, n * np.clip(low, 0, 1)), np.where(fixed, found.mean, n * np.clip(high, 0, 1))


def _quantiles(spare: Array, level: Any) -> Array:
    """Quantiles of Student's t, given the squared coefficient of variation of a variance estimate by itself."""
    upper = 0.5 + level / 2
    degrees = np.maximum(2 / np.maximum(spare, 1e-200), FEWEST_DEGREES)
    return student_quantile(degrees, upper)
