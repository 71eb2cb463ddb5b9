"""The rule by which intervals are trusted, or "not enough reports" is said.

Four numbers say how far an estimate of variance V, estimated by v, is from being normal with a known variance:

    skewness kappa3 / V^1.5,   Cov(mu, v) / V^1.5,   sqrt(Var(v)) / V,   excess kurtosis kappa4 / V^2

An interval is trusted where these four are small if all answers are independent and equally common, not much larger
with the margins that were found, and not very much larger at the estimate itself. The first does not depend on the
answers, so it cannot take sides: a rule that looked at the cell alone would keep the errors of one side and drop those
of the other. What was conditioned, or found by maximum likelihood, is trusted where that which it was made from is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import NOTHING, Cumulants
from deniable.inference.one_feature import Array

Bools = npt.NDArray[np.bool_]

# The largest absolute skewness of an estimate, were all answers independent and equally common.
SKEWNESS = 0.13
# The largest absolute standardised covariance of an estimate with its estimated variance, at equally common answers.
COVARIANCE_WITH_VARIANCE = 0.13
# The largest coefficient of variation of the variance estimate, at equally common answers.
VARIATION_OF_VARIANCE = 0.18
# The largest absolute excess kurtosis of an estimate, at equally common answers.
KURTOSIS = 0.09
# With independent answers that have the margins found, all four limits are this many times as large.
WITH_MARGINS = 1.5
# At the estimate itself, all four limits are this many times as large.
AT_ESTIMATE = 3
# About the population each group has at least this many respondents: its variance is too small by one part in so many.
FEWEST = 50
# The standard error of a proportion, were all answers equally common, beyond which an interval would say nothing.
WIDEST = 0.5
# A variance below this part of what it was compared with is rounding: it is taken as zero.
SLACK = 1e-9


@dataclass(frozen=True)
class Judged:
    """What the trust rule knows of one group of respondents, for all combinations of rows of weights.

    `references` are the cumulants with independent answers of the same margins, and with equally common answers; only
    estimates straight from counts have them. The others are `enough` where what they were made from is trusted. `own`
    are the cumulants that are judged, if not those that were found.
    """

    n: int
    asked: Array | int  # of each combination of rows, those who were asked what it looks at
    found: Cumulants
    fixed: Bools  # where the result has no error: nothing was randomized, or it is known
    references: tuple[Cumulants, Cumulants] | None = None
    enough: Bools | bool = True
    own: Cumulants | None = None


def judged_sum(each: Sequence[Judged], rows: Sequence[Array], subject: Subject) -> tuple[Cumulants, Bools]:
    """The cumulants of a sum over groups of respondents, and whether the trust rule lets its intervals be given.

    Results that have no error get the variance zero, and are trusted.
    """
    found = sum((one.found for one in each), start=NOTHING)
    enough = (found.variance > 0) & reduce(np.logical_and, [one.enough for one in each])
    enough &= subject is Subject.RESPONDENTS or reduce(np.minimum, [one.asked for one in each]) >= FEWEST
    if products := [(one.own or one.found, *one.references) for one in each if one.references]:
        own, independent, even = (sum(parts, start=NOTHING) for parts in zip(*products, strict=True))
        n = sum(one.n for one in each)
        enough &= trusted(own, independent, even) & (even.variance <= (WIDEST * n) ** 2)
    looked_at = [matrix[:, 1:].any(axis=1) for matrix in rows]
    nothing_asked = ~reduce(np.logical_or.outer, looked_at)  # then it is how many respondents there are
    fixed = nothing_asked | reduce(np.logical_and, [one.fixed for one in each])
    return replace(found, variance=np.where(fixed, 0.0, found.variance)), np.asarray(enough | fixed)


def trusted(found: Cumulants, independent: Cumulants, even: Cumulants) -> Bools:
    """Whether intervals are to be trusted, given also the cumulants of independent and of equally common answers."""
    return within(found, AT_ESTIMATE) & within(independent, WITH_MARGINS) & within(even, 1)


def within(found: Cumulants, times: float) -> Bools:
    """Whether skewness, kurtosis and the uncertainty of the variance are all below `times` their limits."""
    variance = found.variance
    with np.errstate(divide="ignore", invalid="ignore"):
        near = (
            (np.abs(found.third) <= times * SKEWNESS * variance**1.5)
            & (np.abs(found.covariance_with_variance) <= times * COVARIANCE_WITH_VARIANCE * variance**1.5)
            & (found.variance_of_variance <= (times * VARIATION_OF_VARIANCE * variance) ** 2)
            & (np.abs(found.fourth) <= times * KURTOSIS * variance**2)
        )
    return np.asarray((variance > 0) & near)
