"""Ratios of shares in a table: conditional proportions, their differences and ratios, odds ratios and correlations.

They are methods of `Estimate`. Each function takes the estimate first, through the interface `AnyEstimate`. `ratio_of`
answers such a question for one table, or for many tables of the same features at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.answers_as_weights import (
    Indicated,
    Indicator,
    all_answers,
    places_of,
    product_weights,
    tidy,
    two_indicators,
    two_shares,
)
from deniable.estimates.errors_of_ratios import ratio_error
from deniable.estimates.interface import AnyEstimate, Respondents, linear_groups, total
from deniable.estimates.pairs.independence import wald_test_if_any
from deniable.estimates.respondent_group import judge
from deniable.inference.about_whom import Subject
from deniable.inference.intervals import checked_level
from deniable.inference.one_feature import Array
from deniable.inference.ratios import (
    CONDITIONAL,
    CORRELATION,
    DIFFERENCE,
    ODDS_RATIO,
    RATIO,
    DifferenceDistribution,
    Question,
    RatioDistribution,
    without_rounding,
)
from deniable.inference.results import JointAnswer, effective_n
from deniable.inference.tensors import contract, flat
from deniable.inference.trust import SLACK, Bools
from deniable.survey.blocks import TIMES
from deniable.survey.schema import Flag
from deniable.tables.table import CONDITIONAL as CONDITIONAL_SHARES
from deniable.tables.table import About, Table

Groups = tuple[Respondents, ...]
Vectors = Sequence[Array]  # weights that are a product over features, one vector each

FEW_ENTRIES = 64  # Up to so many entries of a table, their whole covariance matrix is made faster than a few parts.


def conditional(est: AnyEstimate, what: str, *, given: str | Sequence[str], level: float = 0.95) -> Table:
    """Conditional proportions P(what | given) with Fieller intervals: a feature's answers among those with each answer.

    Parameters
    ----------
    what
        The feature whose answers' shares are asked for.
    given
        One or more other features; the shares are among those with each combination of their answers.
    level
        The confidence level of the intervals.

    Returns
    -------
    Table
        A row for each combination of answers: the features given, `what`, proportion, stderr, low and high. `low` and
        `high` are nan where there are not enough reports.

    Examples
    --------
    >>> row = est.conditional("smoker", given="age").to_pylist()[1]
    >>> row["age"], row["smoker"], round(row["proportion"], 3)
    ('18-29', True, 0.382)
    """
    level = checked_level(level)
    others = [given] if isinstance(given, str) else given
    if not isinstance(others, Sequence) or not others:
        raise EstimateError(f"conditional takes one or more features that are given; found {given!r}")
    est, groups = of_features(est, "conditional", *others, what)
    *grid, own = all_answers(est.features)
    anything = np.eye(1, own.shape[1])[0]
    shape = [len(matrix) for matrix in (*grid, own)]
    numbers = np.array(
        [_share_within(est, groups, [*cell[:-1], anything], cell, level) for cell in product(*grid, own)]
    ).T.reshape(4, *shape)
    about = About(f"{what} given {TIMES.join(others)}", CONDITIONAL_SHARES, est.subject, level, est.asked)
    return tidy(est.features, dict(zip(("proportion", "stderr", "low", "high"), numbers, strict=True)), about)


def _share_within(
    est: AnyEstimate, groups: Groups, given: Vectors, both: Vectors, level: float
) -> tuple[float, float, float, float]:
    """A conditional proportion, its standard error, and the ends of its interval, which are nan without one."""
    found = ratio_of(CONDITIONAL, groups, [both, given], est.subject)
    value = float(found.distribution.value)
    low, high = map(float, found.distribution.limits(level, CONDITIONAL.least, CONDITIONAL.most))
    low, high = min(low, value), max(high, value)  # of rounding
    if est.fitted is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(np.divide(contract(est.fitted, both), contract(est.fitted, given)))
        low, high = min(max(low, 0.0), value), max(min(high, 1.0), value)
    if not found.enough:
        low = high = np.nan
    return value, float(found.distribution.stderr), low, high


def difference(est: AnyEstimate, what: Indicator, *, between: Sequence[Any]) -> JointAnswer:
    """The difference of two conditional proportions: a share among those with one answer, less that with another.

    Parameters
    ----------
    what
        A flag's name, or a choice's answer such as `("age", "65+")`.
    between
        Another feature and two of its answers, such as `("age", "18-29", "65+")`.

    Returns
    -------
    JointAnswer
        The difference P(smoker | 18-29) - P(smoker | 65+), with its interval from those of both (Newcombe).

    Examples
    --------
    >>> round(est.difference("smoker", between=("age", "18-29", "65+")).value, 3)
    0.136
    """
    return _asked(est, DIFFERENCE, two_shares(est.features, what, between))


def ratio(est: AnyEstimate, what: Indicator, *, between: Sequence[Any]) -> JointAnswer:
    """The ratio of two conditional proportions (a relative risk), with its interval by Fieller.

    Parameters
    ----------
    what
        A flag's name, or a choice's answer such as `("age", "65+")`.
    between
        Another feature and two of its answers, such as `("age", "18-29", "65+")`.

    Returns
    -------
    JointAnswer
        The ratio P(smoker | 18-29) / P(smoker | 65+).

    Examples
    --------
    >>> round(est.ratio("smoker", between=("age", "18-29", "65+")).value, 2)
    1.55
    """
    return _asked(est, RATIO, two_shares(est.features, what, between))


def odds_ratio(est: AnyEstimate, first: Indicator, second: Indicator) -> JointAnswer:
    """The odds ratio of two indicators, with its interval by Fieller.

    Parameters
    ----------
    first, second
        Flags' names, or choices' answers such as `("age", "65+")`, of two different features.

    Returns
    -------
    JointAnswer
        The odds of the first if the second is true, over those if it is not.

    Examples
    --------
    >>> round(est.odds_ratio("smoker", ("age", "65+")).value, 2)
    0.69
    """
    (a, is_a, no_a), (b, is_b, no_b) = two_indicators(est.features, first, second)
    pairs = ((is_a, is_b), (is_a, no_b), (no_a, is_b), (no_a, no_b))
    return _asked(est, ODDS_RATIO, [{a: left, b: right} for left, right in pairs])


def correlation(est: AnyEstimate, first: Indicator, second: Indicator) -> JointAnswer:
    """The correlation coefficient (phi) of two indicators, with its interval by Fieller.

    About the population, the interval of two flags leaves zero out exactly if the test of independence does.

    Parameters
    ----------
    first, second
        Flags' names, or choices' answers such as `("age", "65+")`, of two different features.

    Returns
    -------
    JointAnswer
        The correlation, from -1 to 1.

    Examples
    --------
    >>> round(est.correlation("smoker", ("age", "65+")).value, 3)
    -0.07
    """
    indicated = two_indicators(est.features, first, second)
    found = _asked(est, CORRELATION, correlation_pieces(*indicated))
    pair = est.project(*(name for name, *_ in indicated))
    if est.subject is Subject.RESPONDENTS or not all(isinstance(feature, Flag) for feature in pair.features):
        return found
    test = wald_test_if_any(linear_groups(pair), all_answers(pair.features), Subject.POPULATION)
    assert isinstance(found.distribution, RatioDistribution)
    return replace(found, distribution=found.distribution.agreeing_with(test.statistic)) if test else found


def correlation_pieces(first: Indicated, second: Indicated) -> list[dict[str, Array]]:
    """The shares that a correlation of two indicators is made of: a, not a, b, not b, and both."""
    (a, is_a, no_a), (b, is_b, no_b) = first, second
    return [{a: is_a}, {a: no_a}, {b: is_b}, {b: no_b}, {a: is_a, b: is_b}]


def of_features(est: AnyEstimate, asker: str, *names: Any) -> tuple[AnyEstimate, Groups]:
    """The estimate of the features that a question takes, and the linear estimates behind it."""
    places_of(est.features, names, f"{asker} takes different features of this estimate,")
    projected = est.project(*names)
    return projected, linear_groups(projected)


def _asked(est: AnyEstimate, question: Question, products: Sequence[Mapping[str, Array]]) -> JointAnswer:
    """The result of a question about a few shares, whose weights are products over features."""
    est = est.project(*dict.fromkeys(name for one in products for name in one))
    groups, n = linear_groups(est), est.n
    pieces = [product_weights(est.features, one) for one in products]
    found = ratio_of(question, groups, pieces, est.subject)
    value = float(found.distribution.value)
    if est.fitted is not None:
        fitted = np.array([contract(est.fitted, weights) for weights in pieces]) / n
        value = float(question.distribution(fitted, found.covariance).value)
    sampling = matrix(pieces, lambda w, v: total([group.sampling_covariance(w, v) for group in groups])) / n**2
    wide, ours = (float(question.variance(found.shares, of)) for of in (sampling, found.covariance))
    size = effective_n(n, wide, ours, est.subject)
    can_be, cut = (question.least, question.most), est.fitted is not None
    return JointAnswer(question.name, value, found.distribution, bool(found.enough), est.subject, size, *can_be, cut)


@dataclass(frozen=True, eq=False)
class Ratio:
    """A ratio of functions of a few shares: these shares, their covariance, and the ratio's confidence distribution."""

    shares: Array
    covariance: Array
    distribution: RatioDistribution
    enough: Bools


def ratio_of(question: Question, groups: Sequence[Respondents], pieces: Sequence[Vectors], subject: Subject) -> Ratio:
    """The result of a question about a few shares, whose weights are products over features.

    There are enough reports if there are for every share, and all that is divided by is surely above zero.
    """
    n = sum(group.n for group in groups)
    shares = total([np.stack([contract(group.truth, one) for one in pieces], axis=-1) for group in groups]) / n
    covariance = without_rounding(_covariance(groups, pieces, subject) / n**2, SLACK / n)
    columns = [np.unique(vectors, axis=0, return_inverse=True) for vectors in zip(*pieces, strict=True)]
    _, judged = judge(groups, [rows for rows, _ in columns], subject)
    at: tuple[Any, ...] = (..., *(places.reshape(-1) for _, places in columns))
    trusted = judged[at].all(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = ratio_error(question, groups, pieces, shares, subject)
        distribution = question.distribution(shares, covariance).with_error(error)
    if question is DIFFERENCE:
        each = (ratio_of(CONDITIONAL, groups, two, subject).distribution for two in (pieces[:2], pieces[2:]))
        distribution = DifferenceDistribution.of(distribution, *each)
    enough = trusted & question.divisors_positive(shares, covariance) & np.isfinite(distribution.stderr)
    return Ratio(shares, covariance, distribution, np.asarray(enough & (distribution.bottom > 0)))


def _covariance(groups: Sequence[Respondents], pieces: Sequence[Vectors], subject: Subject) -> Array:
    """The covariance matrix of a few weighted sums: from that of all entries, if these are few, or two by two."""
    if prod(len(vector) for vector in pieces[0]) <= FEW_ENTRIES:
        weights = np.array([flat(one) for one in pieces])
        return np.asarray(weights @ total([group.dense(subject) for group in groups]) @ weights.T)
    return matrix(pieces, lambda w, v: total([group.covariance(w, v, subject) for group in groups]))


def matrix(pieces: Sequence[Vectors], of: Callable[[Vectors, Vectors], Any]) -> Array:
    """The symmetric matrix of a function of two weighted sums, for all pairs of them."""
    rows = [[of(left, right) for right in pieces[: i + 1]] for i, left in enumerate(pieces)]
    size = range(len(pieces))
    return np.moveaxis(np.array([[rows[max(i, j)][min(i, j)] for j in size] for i in size]), (0, 1), (-2, -1))
