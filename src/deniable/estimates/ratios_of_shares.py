"""Ratios of shares in a table: conditional proportions, their differences and ratios, odds ratios and correlations.

They are methods of `Estimate`. Each function takes the estimate first, through the interface `AnyEstimate`. `ratio_of`
answers such a question for one table, or for many tables of the same features at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan, prod
from typing import Any

import numpy as np

from deniable.estimates.answer_groups.known_results import known_result, without_everybody
from deniable.estimates.answers_as_weights import (
    Indicated,
    Indicator,
    all_answers,
    features_given,
    places_of,
    product_weights,
    tidy,
    two_dividing,
    two_shares,
)
from deniable.estimates.designs.crafted_reports import influence_on_ratios
from deniable.estimates.errors_of_ratios import ratio_error
from deniable.estimates.interface import AnyEstimate, Respondents, linear_groups, total
from deniable.estimates.pairs.independence import wald_test_if_any
from deniable.estimates.respondent_group import judge, testable
from deniable.inference.about_whom import Subject
from deniable.inference.intervals import checked_level
from deniable.inference.one_feature import Array
from deniable.inference.ratio_questions import CONDITIONAL, CORRELATION, DIFFERENCE, ODDS_RATIO, RATIO, Question
from deniable.inference.ratios import DifferenceDistribution, RatioDistribution, without_rounding
from deniable.inference.results import JointAnswer, effective_n
from deniable.inference.tensors import along, contract, flat, weighted_sums
from deniable.inference.trust import SLACK, Bools, known_exactly
from deniable.survey.blocks import TIMES
from deniable.tables.table import CONDITIONAL as CONDITIONAL_SHARES
from deniable.tables.table import About, Table

Groups = tuple[Respondents, ...]
Weights = Sequence[Array]  # that are a product over features: one vector each, or rows of which all are combined

FEW_ENTRIES = 64  # Up to so many entries of a table, their whole covariance matrix is made faster than a few parts.
MOST_NUMBERS = 1 << 20  # Weights of all entries are made for so many numbers at a time.


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
    others = features_given(given)
    est, groups = of_features(est, "conditional", *others, what)
    first, *rest = all_answers(est.features)
    step = max(1, MOST_NUMBERS // (est.truth.size * prod(map(len, rest))))
    steps = [[first[start : start + step], *rest] for start in range(0, len(first), step)]
    parts, moved = zip(*(_shares_within(est, groups, both, level) for both in steps), strict=True)
    numbers = np.concatenate(parts, axis=1)
    title = f"{what} given {TIMES.join(others)}"
    crafted = max((one for one in moved if np.isfinite(one)), default=nan)
    about = About(title, CONDITIONAL_SHARES, est.subject, level, est.asked, respondents=est.n, influence=crafted)
    return tidy(est.features, dict(zip(("proportion", "stderr", "low", "high"), numbers, strict=True)), about)


def _shares_within(est: AnyEstimate, groups: Groups, both: Weights, level: float) -> tuple[Array, float]:
    """Conditional proportions of the last feature's answers for all combinations of rows, and their standard errors.

    After these come the ends of intervals, which are nan without one. Also the influence of crafted reports on them.
    """
    *grid, own = both
    given = [*grid, np.eye(1, own.shape[1]).repeat(len(own), axis=0)]
    found = ratio_of(CONDITIONAL, groups, [both, given], est.subject)
    value = found.distribution.value
    low, high = found.distribution.limits(level, CONDITIONAL.least, CONDITIONAL.most)
    low, high = np.minimum(low, value), np.maximum(high, value)  # of rounding
    if est.fitted is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.divide(along(est.fitted, both), along(est.fitted, given))
        low, high = np.minimum(np.maximum(low, 0.0), value), np.maximum(np.minimum(high, 1.0), value)
    low, high = (np.where(found.enough, end, np.nan) for end in (low, high))
    numbers = np.array([value, found.distribution.stderr, low, high])
    return numbers, influence_on_ratios(CONDITIONAL, groups, [both, given], found.shares, found.enough)


def difference(est: AnyEstimate, what: Indicator, *, between: Sequence[Any]) -> JointAnswer:
    """The difference of two conditional proportions: a share among those with one answer, less that with another.

    Parameters
    ----------
    what
        A flag's name, or a choice's answer such as `("age", "65+")`.
    between
        Another feature and two of its answers, or lists of answers, such as `("age", "18-29", ["45-64", "65+"])`.

    Returns
    -------
    JointAnswer
        The difference P(smoker | 18-29) - P(smoker | 65+), with its interval from those of both (Newcombe).

    Examples
    --------
    >>> round(est.difference("smoker", between=("age", "18-29", "65+")).value, 3)
    0.136
    """
    return asked(est, DIFFERENCE, two_shares(est.features, what, between))


def ratio(est: AnyEstimate, what: Indicator, *, between: Sequence[Any]) -> JointAnswer:
    """The ratio of two conditional proportions (a relative risk), with its interval by Fieller.

    Parameters
    ----------
    what
        A flag's name, or a choice's answer such as `("age", "65+")`.
    between
        Another feature and two of its answers, or lists of answers, such as `("age", "18-29", ["45-64", "65+"])`.

    Returns
    -------
    JointAnswer
        The ratio P(smoker | 18-29) / P(smoker | 65+).

    Examples
    --------
    >>> round(est.ratio("smoker", between=("age", "18-29", "65+")).value, 2)
    1.55
    """
    return asked(est, RATIO, two_shares(est.features, what, between))


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
    (a, is_a, no_a), (b, is_b, no_b) = two_dividing(est.features, first, second)
    pairs = ((is_a, is_b), (is_a, no_b), (no_a, is_b), (no_a, no_b))
    return asked(est, ODDS_RATIO, [{a: left, b: right} for left, right in pairs])


def correlation(est: AnyEstimate, first: Indicator, second: Indicator) -> JointAnswer:
    """The correlation coefficient (phi) of two indicators, with its interval by Fieller.

    About the population, the interval of two flags leaves zero out exactly if the test of independence does, where
    there are enough reports for that test. Whoever skipped a question did not give the answer that is asked for;
    `est.among(...)` has the correlation among those who answered.

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
    indicated = two_dividing(est.features, first, second)
    found = asked(est, CORRELATION, correlation_pieces(*indicated))
    pair = est.project(*(name for name, *_ in indicated))
    if est.subject is Subject.RESPONDENTS or any(len(feature.columns) > 1 for feature in pair.features):
        return found
    groups, rows = linear_groups(pair), all_answers(pair.features)
    test = wald_test_if_any(groups, rows, Subject.POPULATION)
    assert isinstance(found.distribution, RatioDistribution)
    if test is None or not testable(groups, rows):
        return found
    return replace(found, distribution=found.distribution.agreeing_with(test.statistic))


def correlation_pieces(first: Indicated, second: Indicated) -> list[dict[str, Array]]:
    """The shares that a correlation of two indicators is made of: a, not a, b, not b, and both."""
    (a, is_a, no_a), (b, is_b, no_b) = first, second
    return [{a: is_a}, {a: no_a}, {b: is_b}, {b: no_b}, {a: is_a, b: is_b}]


def of_features(est: AnyEstimate, asker: str, *names: Any) -> tuple[AnyEstimate, Groups]:
    """The estimate of the features that a question takes, and the linear estimates behind it."""
    places_of(est.features, names, f"{asker} takes different features of this estimate,")
    projected = est.project(*names)
    return projected, linear_groups(projected)


def asked(est: AnyEstimate, question: Question, products: Sequence[Mapping[str, Array]]) -> JointAnswer:
    """The result of a question about a few shares, whose weights are products over features."""
    products = [without_everybody(one) for one in products]
    if known := known_result(est, question, products):
        return known
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
    rows = [[vector[None] for vector in one] for one in pieces]
    return JointAnswer(
        question.name, value, found.distribution, bool(found.enough), est.subject, size, question.least, question.most,
        bounded=est.fitted is not None, n=n, null=question.null,
        influence=influence_on_ratios(question, groups, rows, found.shares, found.enough),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Ratio:
    """A ratio of functions of a few shares: these shares, their covariance, and the ratio's confidence distribution."""

    shares: Array
    covariance: Array
    distribution: RatioDistribution
    enough: Bools


def ratio_of(question: Question, groups: Sequence[Respondents], pieces: Sequence[Weights], subject: Subject) -> Ratio:
    """The result of a question about a few shares, whose weights are products over features.

    If these are rows, as many for each share, there is a result for every combination of a row of each feature. There
    are enough reports if there are for every share, and all that is divided by is surely above zero.
    """
    n = sum(group.n for group in groups)
    shares = total([np.stack([weighted_sums(group.truth, one) for one in pieces], axis=-1) for group in groups]) / n
    covariance = without_rounding(covariance_of_sums(groups, pieces, subject) / n**2, SLACK / n)
    shares = known_exactly(shares, np.einsum("...ii->...i", covariance), 1)
    trusted = _all_trusted(groups, pieces, subject).reshape(shares.shape[:-1])
    with np.errstate(divide="ignore", invalid="ignore"):
        error = ratio_error(question, groups, pieces, shares, subject)
        distribution = question.distribution(shares, covariance).with_error(error)
    if question is DIFFERENCE:
        each = (ratio_of(CONDITIONAL, groups, two, subject).distribution for two in (pieces[:2], pieces[2:]))
        distribution = DifferenceDistribution.of(distribution, *each)
    enough = trusted & question.divisors_positive(shares, covariance) & np.isfinite(distribution.stderr)
    return Ratio(shares, covariance, distribution, np.asarray(enough & (distribution.bottom > 0)))


def _all_trusted(groups: Sequence[Respondents], pieces: Sequence[Weights], subject: Subject) -> Bools:
    """Whether intervals of all shares are trusted, for each combination of rows; each weighted sum is judged once."""
    columns = [np.unique(np.vstack(matrices), axis=0, return_inverse=True) for matrices in zip(*pieces, strict=True)]
    _, judged = judge(groups, [rows for rows, _ in columns], subject)
    each = zip(*(np.split(places.reshape(-1), len(pieces)) for _, places in columns), strict=True)
    return np.asarray(np.all([judged[(..., *np.ix_(*places))] for places in each], axis=0))


def covariance_of_sums(groups: Sequence[Respondents], pieces: Sequence[Weights], subject: Subject) -> Array:
    """The covariance matrix of a few weighted sums: from that of all entries, if these are few, or two by two."""
    if pieces[0][0].ndim == 1 and prod(map(len, pieces[0])) <= FEW_ENTRIES:
        weights = np.array([flat(one) for one in pieces])
        return np.asarray(weights @ total([group.dense(subject) for group in groups]) @ weights.T)
    return matrix(pieces, lambda w, v: total([group.covariance(w, v, subject) for group in groups]))


def matrix(pieces: Sequence[Weights], of: Callable[[Weights, Weights], Any]) -> Array:
    """The symmetric matrix of a function of two weighted sums, for all pairs of them."""
    rows = [[of(left, right) for right in pieces[: i + 1]] for i, left in enumerate(pieces)]
    size = range(len(pieces))
    return np.moveaxis(np.array([[rows[max(i, j)][min(i, j)] for j in size] for i in size]), (0, 1), (-2, -1))
