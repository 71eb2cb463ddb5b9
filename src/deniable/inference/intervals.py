"""Intervals of estimates, and when to trust them.

The studentised error (mu - t) / sqrt(V) of an estimate is nearly normal. With

    gamma = kappa3 / V^1.5,   rho = Cov(mu, V) / V^1.5,   tau^2 = Var(V) / V^2,   delta = kappa4 / V^2

its quantiles are, to first order, z - rho / 2 + (gamma - 3 rho) (z^2 - 1) / 6. An interval is trusted where these four
are small if all answers are independent and equally common, not much larger with the margins that were found, and not
very much larger at the estimate itself. The first does not depend on the answers, so it cannot take sides: a rule that
looked at the cell alone would keep the errors of one side and drop those of the other.

The count of one evidence column has an exact law, Bin(t, q) + Bin(N - t, p) about N respondents of whom t are counted,
Bin(N, p + (q - p) pi) about a population; its mid-p intervals need no approximation, but steps that are small.
"""

import numpy as np
import numpy.typing as npt

from deniable.errors import EstimateError
from deniable.inference.axis import Array
from deniable.inference.cumulants import Cumulants

# A standard normal number is further from zero than this one time in a thousand.
ONE_IN_A_THOUSAND = 3.29
SKEWNESS = 0.13  # most |gamma|, if all answers were independent and equally common
LEANING = 0.13  # most |rho|
WOBBLE = 0.18  # most tau
TAILS = 0.09  # most |delta|
WITH_MARGINS = 1.5  # times as much may they be with the margins found,
AT_ESTIMATE = 3  # and at the estimate itself


def checked_level(level: float) -> float:
    """A level of confidence between 0 and 1."""
    try:
        number = float(level)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(level, str) or not 0 < number < 1 - 1e-12:
        raise EstimateError(f"a level of confidence is between 0 and 1, such as 0.95; found {level!r}")
    return number


def limits(found: Cumulants, level: float) -> tuple[Array, Array]:
    """The interval in respondents: normal, corrected for skewness and for what the error does to the variance."""
    from scipy.special import ndtri

    z = float(ndtri(0.5 + level / 2))
    some = np.asarray(found.variance) > 0
    stderr = np.sqrt(np.where(found.variance < 0, np.nan, found.variance))
    gamma, rho = (np.where(some, of, 0) / np.where(some, stderr, 1) ** 3 for of in (found.third, found.slope))
    bend = np.clip(gamma - 3 * rho, -1.5 / z, 1.5 / z)  # more would let ends turn back as the level rises
    shift = -rho / 2 + bend * (z**2 - 1) / 6
    return found.mean - stderr * (shift + z), found.mean - stderr * (shift - z)


def trusted(found: Cumulants, independent: Cumulants, even: Cumulants) -> npt.NDArray[np.bool_]:
    """Whether intervals are to be trusted, given also the cumulants of independent and of equally common answers."""
    return within(found, AT_ESTIMATE) & within(independent, WITH_MARGINS) & within(even, 1)


def within(found: Cumulants, times: float) -> npt.NDArray[np.bool_]:
    """Whether estimates are as near to normal as the rule says, so many times as loosely."""
    variance = found.variance
    with np.errstate(divide="ignore", invalid="ignore"):
        near = (
            (np.abs(found.third) <= times * SKEWNESS * variance**1.5)
            & (np.abs(found.slope) <= times * LEANING * variance**1.5)
            & (found.wobble <= (times * WOBBLE * variance) ** 2)
            & (np.abs(found.fourth) <= times * TAILS * variance**2)
        )
    return np.asarray((variance > 0) & near)
