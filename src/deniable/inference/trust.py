"""The rule by which intervals are trusted, or "not enough reports" is said.

The interval of a share (`intervals`) is a score interval that also holds where answers are rare and where there is
hardly any noise, so what its rule asks for is known before any report is read: that the interval, were all answers
equally common, is no longer than everything that a share can be, and about a population that there are enough
respondents. A rule that looked at the estimate would keep the errors of one side and drop those of the other.

What has only a normal interval also needs to be nearly normal. Four numbers say how far an estimate of variance V,
estimated by v, is from being normal with a known variance:

    skewness kappa3 / V^1.5,   Cov(mu, v) / V^1.5,   sqrt(Var(v)) / V,   excess kurtosis kappa4 / V^2

It is nearly normal where these four are small if all answers are independent and equally common, not much larger
with the margins that were found, and not very much larger at the estimate itself. What was conditioned, or found by
maximum likelihood, is trusted where that which it was made from is nearly normal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import NOTHING, Cumulants
from deniable.inference.intervals import limits
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
# A variance below this part of what it was compared with is rounding: it is taken as zero.
SLACK = 1e-9
# A variance is taken as at least this part of the squared step that single respondents make an estimate vary in.
LEAST_STEPS = 0.25


@dataclass(frozen=True)
class Judged:
    """What the trust rule knows of one group of respondents, for all combinations of rows of weights.

    `references` are the cumulants with independent answers of the same margins, and with equally common answers; only
    estimates straight from counts have them. The others are `enough` where what they were made from is trusted. `own`
    are the cumulants that are judged, if not those that were found; and `shape` those at a proper table near the
    estimate, which are as far from normal as the estimate is and vary less than those at the estimate itself.
    """

    n: int
    asked: Array | int  # of each combination of rows, those who were asked what it looks at
    found: Cumulants
    fixed: Bools  # where the result has no error: nothing was randomized, or it is known
    references: tuple[Cumulants, Cumulants] | None = None
    enough: Bools | bool = True
    own: Cumulants | None = None
    shape: Cumulants | None = None


def judged_sum(each: Sequence[Judged], rows: Sequence[Array], subject: Subject) -> tuple[Cumulants, Bools]:
    """The cumulants of a sum over groups of respondents, and whether the trust rule lets its intervals be given.

    Results that have no error get the variance zero, and are trusted.
    """
    found = sum((one.found for one in each), start=NOTHING)
    enough = _known_beforehand(each, subject)
    if any(one.shape for one in each):
        found = shaped(found, sum((one.shape or one.found for one in each), start=NOTHING))
    fixed = _fixed(each, rows)
    enough = (enough & (found.variance > 0)) | fixed
    variance, n = np.where(fixed, 0.0, found.variance), sum(one.n for one in each)
    return replace(found, mean=known_exactly(found.mean, variance, n), variance=variance), np.asarray(enough)


def known_exactly(numbers: Array, variance: Array, n: int) -> Array:
    """Estimated numbers of n respondents without what rounding adds to those that are known: to be nobody, or all."""
    known, slack = np.abs(variance) <= SLACK * n, SLACK * n
    everybody = np.where(known & (np.abs(numbers - n) <= slack), n, numbers)
    return np.where(known & (np.abs(numbers) <= slack), 0.0, everybody)


def nearly_normal_sum(each: Sequence[Judged], rows: Sequence[Array], subject: Subject) -> Bools:
    """Whether a sum over groups of respondents is so nearly normal that normal intervals of it can be trusted."""
    found = sum((one.found for one in each), start=NOTHING)
    enough = _known_beforehand(each, subject) & (found.variance > 0)
    if products := [(one.own or one.found, *one.references) for one in each if one.references]:
        enough &= trusted(*(sum(parts, start=NOTHING) for parts in zip(*products, strict=True)))
    return np.asarray(enough | _fixed(each, rows))


def _known_beforehand(each: Sequence[Judged], subject: Subject) -> Bools:
    """Whether there are enough respondents, and an interval were short enough if answers were equally common."""
    respondents = subject is Subject.RESPONDENTS or reduce(np.minimum, [one.asked for one in each]) >= FEWEST
    enough: Bools = np.asarray(reduce(np.logical_and, [one.enough for one in each], np.asarray(respondents)))
    if references := [one.references for one in each if one.references]:
        even = sum((one[1] for one in references), start=NOTHING)
        low, high = limits(even, 0.95)
        enough = enough & (high - low <= sum(one.n for one in each))
    return np.asarray(enough)


def _fixed(each: Sequence[Judged], rows: Sequence[Array]) -> Bools:
    """Whether a result has no error in any group, or is how many respondents there are."""
    looked_at = [matrix[:, 1:].any(axis=1) for matrix in rows]
    nothing_asked = ~reduce(np.logical_or.outer, looked_at)
    return np.asarray(nothing_asked | reduce(np.logical_and, [one.fixed for one in each]))


def shaped(found: Cumulants, shape: Cumulants, slack: float = 0.0) -> Cumulants:
    """The mean and the variance that were found, with all else in proportion to that of a steadier shape.

    What the variance estimate varies by along with the estimate is in proportion to the variance itself, as with a
    binomial's; what it varies by besides, in proportion to its square, as with Satterthwaite's. Where next to nothing
    happened the variance that was found is too small, or below zero: it is at least LEAST_STEPS of the squared step. A
    shape whose variance is at most `slack` is none: it is normal.
    """
    some = shape.variance > slack
    of_shape = np.where(some, shape.variance, 1.0)
    third, fourth, with_variance, of_variance = (
        np.where(some, of, 0.0) / of_shape
        for of in (shape.third, shape.fourth, shape.covariance_with_variance, shape.variance_of_variance)
    )
    besides = np.maximum(of_variance - with_variance**2, 0.0) / of_shape
    least = LEAST_STEPS * np.where(some, shape.squared_step, -np.inf)
    variance = np.maximum(found.variance, least)
    of_variance = variance * with_variance**2 + variance**2 * besides
    return Cumulants(found.mean, variance, variance * third, variance * fourth, variance * with_variance, of_variance)


def shape_among(found: Cumulants, shape: Cumulants, whole: Cumulants, of_whole: Cumulants) -> Cumulants:
    """The shape of an estimate about the respondents, given what was found about the population and the shape of that.

    Where next to nothing happened it has no longer steps than leave the standard error as large as it is about the
    population: the respondents are known no worse.
    """
    step, most = shape.squared_step, np.maximum(whole.variance / LEAST_STEPS, of_whole.squared_step)
    longer = below_a_step(found, shape) & (step > most)
    return shape.scaled(np.sqrt(np.where(longer, most, 1.0) / np.where(longer, step, 1.0)))


def below_a_step(found: Cumulants, shape: Cumulants) -> Bools:
    """Where next to nothing happened: the variance that was found is below LEAST_STEPS of the squared step."""
    return np.asarray(found.variance < LEAST_STEPS * shape.squared_step)


def trusted(found: Cumulants, independent: Cumulants, even: Cumulants) -> Bools:
    """Whether an estimate is nearly normal, given also the cumulants of independent and of equally common answers."""
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


def least_scale(found: Cumulants, times: float) -> Array:
    """How many times as many respondents there would have to be for `within` to hold, at the same shares.

    Cumulants, and the variance of the variance estimate, are in proportion to the number of respondents.
    """
    variance = found.variance
    roots = (
        np.abs(found.third) / (times * SKEWNESS * variance**1.5),
        np.abs(found.covariance_with_variance) / (times * COVARIANCE_WITH_VARIANCE * variance**1.5),
        np.sqrt(np.maximum(found.variance_of_variance, 0)) / (times * VARIATION_OF_VARIANCE * variance),
        np.sqrt(np.abs(found.fourth) / (times * KURTOSIS)) / variance,
    )
    return np.asarray(reduce(np.maximum, roots) ** 2)
