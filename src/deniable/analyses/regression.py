"""Linear regression on private answers, from estimated second moments.

With y the outcome (0 or 1) and X a constant and an indicator for every answer of each predictor but its first, the
coefficients b = (E XX')^-1 E Xy need pairs of features alone. E X (y - X'b) is linear in these moments, so its
covariance S follows from theirs, and that of b is A^-1 S A^-1 with A = E XX' (the sandwich), about the population times
n / (n - k) for k coefficients (HC1).

To first order b is a mean over reports of their influence. Where outcomes are rare or respondents few it is skewed, and
its standard error is uncertain and rises with it, as that of any mean. With gamma the skewness of b, and rho its
standardised covariance with its estimated variance, the quantiles of its studentised error are, by Cornish-Fisher (see
`inference.intervals`),

    t - rho / 2 + (gamma - 3 rho) (t^2 - 1) / 6,    t of Student's distribution with 2 / (2 / n + kappa4 / V^2) degrees

For intervals V, gamma, rho and kappa4 are evaluated with PSEUDO respondents more, spread evenly over all answers (as
Agresti and Coull do for one share), so that nobody seen with an answer does not mean that nobody has it. So no rule
that looks at the estimate need say whether there are enough reports: it would select the estimates that err.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.analyses.models.coefficients import Regression, Shape
from deniable.analyses.models.regressors import (
    Predictor,
    checked_names,
    rarest_in_words,
    reference_in_words,
    regressors,
)
from deniable.analyses.models.surveys import Surveys, surveys_of
from deniable.analyses.second_moments import Found, Moments, Product
from deniable.errors import CountError, EstimateError, abbreviated, refuse_weights
from deniable.estimates.answer_groups.left_answers import answered_in_words
from deniable.estimates.answers_as_weights import Indicator, answered_weights
from deniable.estimates.designs.arm_kinds import ArmKind, arm_kinds
from deniable.estimates.designs.crafted_reports import influence_of_kinds
from deniable.estimates.designs.groups import evidence_of
from deniable.estimates.estimate import Estimate
from deniable.inference.about_whom import Subject, checked_subject
from deniable.inference.intervals import FEWEST_DEGREES
from deniable.inference.one_feature import Array
from deniable.inference.ratios import SURELY_POSITIVE
from deniable.text.fixed_phrases import NOT_ENOUGH, how_many

# Variance and skewness behind intervals are those with so many respondents more, spread evenly over all cells.
PSEUDO = 2.0
# Where no table holds all features, skewness is not known: so many respondents must have each answer and each outcome.
RAREST = 50


def regress(
    counts: Any,
    outcome: Indicator,
    on: str | Sequence[Predictor],
    *,
    about: str = "population",
    kind: str = "linear",
    answered: bool = False,
    weights: None = None,
) -> Regression:
    """Linear regression (a linear probability model), or logistic regression, of an outcome on other features.

    Parameters
    ----------
    counts
        Counts that hold one table with all the features, or all tables of four of them (order=4): the covariance of two
        pairs is that of four features. Of a plan with arms it is enough that each pair is asked in some arm. Or
        reports, or a path to a file of either. A list is of waves: surveys of different people, whose plans may differ.
    outcome
        A flag's name, or a choice's answer such as `("age", "65+")`.
    on
        The features to regress on, by their names; the first answer of each is left out, and is what the others are
        compared with. Or single answers, such as `("age", "65+")`, and answers taken together,
        `("age", ["45-64", "65+"])`, against all others of that feature.
    about
        "population" or "respondents".
    kind
        "linear", or "logistic" for log odds, which needs one table that holds all the features.
    answered
        Only those who answered all the features (complete cases), which needs one table that holds them. Otherwise a
        missing answer is one more answer: a term of a predictor, and of the outcome like any answer that is not it.
    weights
        A weight for each respondent is refused: reports do not say whose they are. `poststratify` weights strata.

    Returns
    -------
    Regression
        The coefficients, in shares or in log odds, with their covariance by the sandwich formula. Where there are not
        enough reports, or some answers decide the outcome (separation), `why` says so.

    Examples
    --------
    >>> dn.regress(counts, "smoker", on=["age"]).terms
    ('constant', 'age: 30-44', 'age: 45-64', 'age: 65+')
    >>> dn.regress(counts, "smoker", on=["age"], kind="logistic").coefficients.round(1)
    array([-0.5, -0.4, -0.5, -0.6])
    """
    refuse_weights(weights, EstimateError)
    on = [on] if isinstance(on, str) else on
    names = checked_names(outcome, on)
    surveys = surveys_of(counts, names, "regress")
    if kind not in ("linear", "logistic"):
        raise EstimateError(f'a regression is of kind "linear" or "logistic"; found {abbreviated(kind)}')
    subject = checked_subject(about, "a regression")
    if kind == "logistic":
        from deniable.analyses.models.logistic import logistic

        found = logistic(surveys, outcome, on, subject, answered=answered)
    else:
        found = regression(_CountedMoments(surveys, subject, outcome, on), outcome, on, answered=answered)
    reference = reference_in_words(surveys.schema, on, answered=answered)
    among = answered_in_words([surveys.schema[name] for name in names]) if answered else ""
    return replace(found, asked=surveys.asked(names), reference=reference, among=among)


def regression(moments: Moments, outcome: Indicator, on: Sequence[Predictor], *, answered: bool = False) -> Regression:
    """Linear regression from second moments, wherever these come from; of complete cases, each moment is among them."""
    names, told = moments.names, outcome if isinstance(outcome, str) else f"{outcome[0]} = {outcome[1]}"
    y = moments.indicator(outcome, names)
    each = regressors(moments.schema, on, answered=answered)
    x = [{}, *(moments.indicator((one.name, one.answer), names) for one in each)]
    terms = ("constant", *(one.term for one in each))
    if answered:
        y, *x = (_both(one, _all_answered(moments, names)) for one in (y, *x))
    squares = np.array([[moments.place(_both(left, right)) for right in x] for left in x])
    with_outcome = np.array([moments.place(_both(y, each)) for each in x])
    found, n, subject = moments.found(), moments.n, moments.subject
    bread, none = found.mean[squares], np.full(len(x), np.nan)
    rarest = rarest_in_words(moments.schema, each, bread[0], answered=answered)
    if why := _unsafe(bread, squares, found.covariance, n):
        why = f"{why}. {rarest}"
        covariance = np.full((len(x), len(x)), np.nan)
        return Regression(told, terms, none, covariance, n, subject, Shape(none, none, none, none), why)
    b = np.asarray(np.linalg.solve(bread, found.mean[with_outcome]), np.float64)
    slopes = np.zeros((len(x), len(found.mean)))
    for i in range(len(x)):
        np.add.at(slopes[i], with_outcome[i], 1.0)
        np.add.at(slopes[i], squares[i], -b)
    slopes = np.linalg.inv(bread) @ slopes
    covariance = slopes @ found.covariance @ slopes.T
    if subject is Subject.POPULATION:
        covariance = covariance * (n / max(n - len(x), 1))
    share, least = float(found.mean[with_outcome[0]]), float(found.mean[np.diagonal(squares)].min())
    why = "" if found.reports else _too_rare(n, share, least, rarest)
    crafted = influence_of_kinds(found.reports, slopes, n)
    shape = shape_of(found, slopes, n, subject)
    return Regression(told, terms, b, covariance, n, subject, shape, why, influence=crafted)


def _too_rare(n: int, share: float, least: float, rarest: str) -> str:
    """Why there are too few respondents with the outcome, without it, or with an answer; nothing if there are not."""
    if n * min(least, share, 1 - share) >= RAREST:
        return ""
    told = f": the outcome has a share of {share:.3f}" if min(share, 1 - share) < least else f". {rarest}"
    return f"{NOT_ENOUGH} for this question{told}"


def shape_of(found: Found, slopes: Array, n: int, subject: Subject) -> Shape:
    """The distribution of coefficients whose influence on one report has these slopes by the moments.

    The variance of the estimated variance of a mean is V^2 (2 / n + kappa4 / V^2), with kappa4 that of the mean.
    """
    size, noise_alone = len(slopes), subject is Subject.RESPONDENTS and len(found.reports) == 1
    if not found.reports:
        return Shape(np.zeros(size), np.zeros(size), np.full(size, float(n)), np.ones(size))
    plain, whole, fourth, own = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros((3, size))
    for kind, weights in found.reports:
        rows, more = slopes @ weights, (n * kind.shares + PSEUDO / kind.cells) / (n + PSEUDO)
        plain += _of_one_report(kind, rows, kind.shares, noise_alone)[0] / kind.n
        own += _of_one_report(kind, rows, more, noise_alone) / np.array([[kind.n], [kind.n**2], [kind.n**2]])
        moments = kind.moments(rows, more)
        whole, fourth = whole + moments.variance / kind.n, fourth + moments.fourth / kind.n**3
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = np.maximum(2 / np.maximum(2 / n + fourth / whole**2, 1 / n), FEWEST_DEGREES)
        skewness, with_variance = np.nan_to_num(own[1:] / own[0] ** 1.5)
        widening = np.nan_to_num(np.sqrt(np.maximum(own[0] / plain, 1)), nan=1.0)
    return Shape(skewness, with_variance, np.nan_to_num(degrees, nan=float(n)), widening)


def report_cumulants(kind: ArmKind, rows: Array, table: Array, noise_alone: bool) -> tuple[Array, Array, Array]:
    """Variance and third cumulant of one report's influence Y, and how its estimated variance varies with the table.

    The variance is linear in the table's cells but for -E(Y)^2. The noise of randomizing alone has
    kappa3 = kappa3(Y) - 3 Cov(Var(Y | x), E(Y | x)) - kappa3(E(Y | x)).
    """
    found, mean = kind.moments(rows, table), rows @ table
    if noise_alone:
        apart, given = rows - mean[:, None], found.squares - rows**2
        return given @ table, found.third - 3 * (given * apart) @ table - apart**3 @ table, given
    return found.variance, found.third, found.squares - 2 * mean[:, None] * rows


def _of_one_report(kind: ArmKind, rows: Array, table: Array, noise_alone: bool) -> Array:
    """Variance and third cumulant of one report's influence Y, and the covariance of Y with its variance estimate."""
    variance, third, gradient = report_cumulants(kind, rows, table, noise_alone)
    covariance = kind.seconds(table) - (np.diag(table) if noise_alone else np.outer(table, table))
    return np.array([variance, third, (rows @ covariance * gradient).sum(axis=1)])


def _all_answered(found: "Moments", names: Sequence[str]) -> Product:
    """The indicator of having answered all features that may be left out."""
    features = [found.schema[name] for name in names]
    return {one.name: answered_weights(one) for one in features if one.missing is not None}


def _both(left: Product, right: Product) -> Product:
    """The product of two products of indicators: zero for two answers of one feature, which exclude each other."""
    return {**left, **{name: vector * left.get(name, 1) for name, vector in right.items()}}


class _CountedMoments(Moments):
    """Second moments of a survey that was counted."""

    def __init__(self, surveys: Surveys, subject: Subject, outcome: Any, on: Any) -> None:
        super().__init__(surveys.schema, surveys.apart, surveys.n, subject, checked_names(outcome, on))
        self.surveys = surveys

    def check_asked(self, names: Sequence[str]) -> None:
        self.surveys.check_asked(names)

    def table_estimate(self, names: Sequence[str]) -> Estimate:
        try:
            return self.surveys.estimate(names)
        except CountError as error:
            raise EstimateError(
                "a regression needs one table that holds all its features, or order=4 (in the shell --order 4): "
                f"{error}"
            ) from None

    def kinds(self) -> list[ArmKind]:
        return arm_kinds(self.surveys.counts, self.names)

    def table(self, names: Sequence[str]) -> Array:
        return evidence_of(self.surveys.counts, names).best.table


def _unsafe(moments: Array, squares: npt.NDArray[np.intp], covariance: Array, n: int) -> str:
    """Why moments may well be those of no table; nothing if their least eigenvalue is surely above zero."""
    values, vectors = np.linalg.eigh(moments)
    line = np.zeros(len(covariance))
    np.add.at(line, squares, np.outer(vectors[:, 0], vectors[:, 0]))
    variance = float(line @ covariance @ line)
    if variance >= 0 and values[0] > SURELY_POSITIVE * np.sqrt(variance):
        return ""
    found = f"{values[0]:.4f} (SE {np.sqrt(variance):.4f})" if variance >= 0 else f"{values[0]:.4f}"
    return (
        f"{NOT_ENOUGH} for this question: the least eigenvalue of the moments is {found} with {how_many(n, 'report')}, "
        f"and must be {SURELY_POSITIVE} standard errors above zero"
    )
