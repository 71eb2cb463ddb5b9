"""Confidence intervals of estimates: normal ones with a Cornish-Fisher correction, and their limits.

The studentised error (mu - t) / sqrt(V) of an estimate is nearly normal. With

    gamma = kappa3 / V^1.5,   rho = Cov(mu, V) / V^1.5

its quantiles are, to first order, z - rho / 2 + (gamma - 3 rho) (z^2 - 1) / 6. When to trust them is said in `trust`;
estimates from one evidence column have exact intervals instead (`exact_binomial`).
"""

import numpy as np

from deniable.errors import EstimateError
from deniable.inference.cumulants import Cumulants
from deniable.inference.one_feature import Array

# A standard normal number is further from zero than this one time in a thousand.
ONE_IN_A_THOUSAND = 3.29


def checked_level(level: float) -> float:
    """A confidence level as a number between 0 and 1, or an error."""
    try:
        number = float(level)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(level, str) or not 0 < number < 1 - 1e-12:
        raise EstimateError(f"a level of confidence is between 0 and 1, such as 0.95; found {level!r}")
    return number


def limits(found: Cumulants, level: float) -> tuple[Array, Array]:
    """The ends of a confidence interval in respondents, by Cornish-Fisher for a studentised estimate.

    The correction is for the estimate's skewness, and for its correlation with its own estimated variance.
    """
    from scipy.special import ndtri

    z = float(ndtri(0.5 + level / 2))
    some = np.asarray(found.variance) > 0
    stderr = np.sqrt(np.where(found.variance < 0, np.nan, found.variance))
    third, with_variance = found.third, found.covariance_with_variance
    gamma, rho = (np.where(some, of, 0) / np.where(some, stderr, 1) ** 3 for of in (third, with_variance))
    bend = np.clip(gamma - 3 * rho, -1.5 / z, 1.5 / z)  # more would let ends turn back as the level rises
    shift = -rho / 2 + bend * (z**2 - 1) / 6
    return found.mean - stderr * (shift + z), found.mean - stderr * (shift - z)
