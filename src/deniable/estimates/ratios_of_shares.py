"""Ratios of shares in a table: conditional proportions, their differences and ratios, odds ratios and correlations.

They are methods of `Estimate`. Each function takes the estimate first, through the interface `AnyEstimate`. `ratio_of`
answers such a question for one table, or for many tables of the same features at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.errors import EstimateError
from deniable.estimates.answers_as_weights import (
    Indicated,
    Indicator,
    all_answers,
    cell_weights,
    names_of,
    places_of,
    product_weights,
    tidy,
    two_indicators,
    two_shares,
)
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
    Question,
    RatioDistribution,
    without_rounding,
)
from deniable.inference.results import JointAnswer, effective_n
from deniable.inference.tensors import along, contract, flat
from deniable.inference.trust import SLACK, Bools
from deniable.survey.schema import Flag

Groups = tuple[Respondents, ...]
Vectors = Sequence[Array]  # weights that are a product over features, one vector each

FEW_ENTRIES = 64  # Up to so many entries of a table, their whole covariance matrix is made faster than a few parts.


def conditional(est: AnyEstimate, what: str, *, given: str | Sequence[str], level: float = 0.95) -> "pa.Table":
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
    pyarrow.Table
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
    rows = [*grid, own], [*grid, np.eye(1, own.shape[1])]  # with an answer, and whatever it is
    (top, first), (bottom, second) = (judge(groups, of, est.subject) for of in rows)
    x = np.stack(np.broadcast_arrays(top.mean, bottom.mean), axis=-1) / est.n
    both = np.reshape(_with_given(est, groups), top.variance.shape)
    of_top, of_both, of_bottom = np.broadcast_arrays(top.variance, both, bottom.variance)
    spread = np.moveaxis(np.array([[of_top, of_both], [of_both, of_bottom]]), (0, 1), (-2, -1)) / est.n**2
    spread = without_rounding(spread, SLACK / est.n)
    found = CONDITIONAL.distribution(x, spread)
    trusted = first & second & CONDITIONAL.divisors_positive(x, spread) & np.isfinite(found.stderr)
    low, high = (np.where(trusted, found.ppf(0.5 + side * level / 2), np.nan) for side in (-1, 1))
    shares = found.value
    low, high = np.minimum(low, shares), np.maximum(high, shares)  # of rounding
    if est.fitted is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = along(est.fitted, rows[0]) / along(est.fitted, rows[1])
        low, high = np.minimum(np.clip(low, 0, 1), shares), np.maximum(np.clip(high, 0, 1), shares)
    return tidy(est.features, {"proportion": shares, "stderr": found.stderr, "low": low, "high": high})


def _with_given(est: AnyEstimate, groups: Groups) -> list[Array]:
    """The covariance of each cell with its margin over all features but the last, in C order of the cells."""
    covariances = []
    for answers in product(*(feature.answers for feature in est.features)):
        cell = dict(zip(names_of(est.features), answers, strict=True))
        weights = cell_weights(est.features, cell)
        margin = [*weights[:-1], np.eye(1, len(weights[-1]))[0]]
        covariances.append(total([group.covariance(weights, margin, est.subject) for group in groups]))
    return covariances


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
        The difference P(smoker | 18-29) - P(smoker | 65+), with its interval by the delta method.

    Examples
    --------
    >>> round(est.difference("smoker", between=("age", "18-29", "65+")).value, 3)
    0.136
    """
    return _asked(est, DIFFERENCE, two_shares(est.features, what, between), -1, 1)


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
    return _asked(est, RATIO, two_shares(est.features, what, between), 0, inf)


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
    return _asked(est, ODDS_RATIO, [{a: left, b: right} for left, right in pairs], 0, inf)


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
    found = _asked(est, CORRELATION, correlation_pieces(*indicated), -1, 1)
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


def _asked(
    est: AnyEstimate, question: Question, products: Sequence[Mapping[str, Array]], least: float, most: float
) -> JointAnswer:
    """The result of a question about a few shares, whose weights are products over features."""
    est = est.project(*dict.fromkeys(name for one in products for name in one))
    groups, n = linear_groups(est), est.n
    pieces = [product_weights(est.features, one) for one in products]
    found = ratio_of(question, groups, pieces, est.subject)
    value, cut = float(found.distribution.value), (-inf, inf)
    if est.fitted is not None:
        fitted = np.array([contract(est.fitted, weights) for weights in pieces]) / n
        value, cut = float(question.distribution(fitted, found.covariance).value), (least, most)
    sampling = matrix(pieces, lambda w, v: total([group.sampling_covariance(w, v) for group in groups])) / n**2
    wide, ours = (float(question.variance(found.shares, of)) for of in (sampling, found.covariance))
    size = effective_n(n, wide, ours, est.subject)
    return JointAnswer(question.name, value, found.distribution, bool(found.enough), est.subject, size, *cut)


@dataclass(frozen=True, eq=False)
class Ratio:
    """A ratio of functions of a few shares: these shares, their covariance, and the ratio's confidence distribution."""

    shares: Array
    covariance: Array
    distribution: RatioDistribution
    enough: Bools


def ratio_of(question: Question, groups: Sequence[Respondents], pieces: Sequence[Vectors], subject: Subject) -> Ratio:
    """The result of a question about a few shares, whose weights are products over features.

    There are enough reports if the interval of every share is trusted, and all that is divided by is surely above zero.
    """
    n = sum(group.n for group in groups)
    shares = total([np.stack([contract(group.truth, one) for one in pieces], axis=-1) for group in groups]) / n
    covariance = without_rounding(_covariance(groups, pieces, subject) / n**2, SLACK / n)
    columns = [np.unique(vectors, axis=0, return_inverse=True) for vectors in zip(*pieces, strict=True)]
    _, judged = judge(groups, [rows for rows, _ in columns], subject)
    at: tuple[Any, ...] = (..., *(places.reshape(-1) for _, places in columns))
    trusted = judged[at].all(axis=-1)
    distribution = question.distribution(shares, covariance)
    enough = trusted & question.divisors_positive(shares, covariance) & np.isfinite(distribution.stderr)
    return Ratio(shares, covariance, distribution, np.asarray(enough))


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
