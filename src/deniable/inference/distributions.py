"""Quantiles and tails of the normal, Student's and chi-square distributions, mostly without importing scipy.

Importing `scipy.special` takes as long as a small table otherwise does in all, so the shell's commands do without it.
"""

from math import erfc, exp, lgamma, log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from deniable.inference.one_feature import Array

# From these degrees of freedom on, and up to this quantile of the normal one, Fisher's expansion of Student's quantile
# is right to 1e-11.
MANY_DEGREES, FAR = 1000, 4.0


def normal_quantile(p: float) -> float:
    """The quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(p)


def student_quantile(degrees: Array, p: Any) -> Array:
    """The quantiles of Student's t; of many degrees of freedom by Fisher's expansion in 1 / degrees.

    See Abramowitz and Stegun, 26.7.5; beside it, the terms of order 1 / degrees^5 are below 1e-11.
    """
    z = normal_quantile(float(p)) if np.ndim(p) == 0 else np.inf
    if not abs(z) <= FAR or np.min(degrees) < MANY_DEGREES:
        from scipy.special import ndtri, stdtrit

        return np.asarray(np.where(degrees < 1e8, stdtrit(np.minimum(degrees, 1e8), p), ndtri(p)))
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return np.asarray(z + sum(term * (1 / degrees) ** power for power, term in enumerate(terms, 1)))


def chi_square_tail(degrees: int, x: float) -> float:
    """The probability that chi-square exceeds x, as a finite sum."""
    if x <= 0:
        return 1.0
    odd = degrees % 2
    powers = np.arange(odd / 2, degrees / 2).tolist()  # whole numbers, or with odd degrees those between them
    terms = (exp(power * log(x / 2) - x / 2 - lgamma(power + 1)) for power in powers)
    return min(odd * erfc(sqrt(x / 2)) + sum(terms), 1.0)
