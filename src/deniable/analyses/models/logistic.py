"""Logistic regression on private answers, from the estimated table of all its features.

With f(y, x) the share of respondents with outcome y and predictors x, and s(u) = 1 / (1 + exp(-u)), the coefficients b
solve the score equations of maximum likelihood

    sum_x x (f(1, x) - s(x'b) f(x)) = 0

These are linear in the table, which is estimated without bias: so b is consistent (a corrected score), and it is
maximum likelihood itself where nothing is randomized. One cell (y, x) moves b by A^-1 x (y - s(x'b)) with
A = sum_x s'(x'b) f(x) x x', and the covariance of b follows from that of the table (the sandwich), about the population
times n / (n - k) for k coefficients. Intervals and p-values are those of score tests (`score_tests`), which hold for
extreme log odds, too. So all is answered that has a finite solution: a rule that looks at how sure the log odds of a
rare answer are would select the surveys in which they err towards zero.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from deniable.analyses.models.coefficients import Regression, Shape
from deniable.analyses.models.regressors import Predictor, Regressor, checked_names, rarest_in_words, regressors
from deniable.analyses.models.score_equations import DECIDED, Cells, first_guess, solved
from deniable.analyses.models.score_tests import ScoreTests
from deniable.analyses.models.surveys import Surveys
from deniable.analyses.second_moments import local_estimate
from deniable.errors import CountError, EstimateError
from deniable.estimates.answers_as_weights import Indicator, all_answers, indicator, over_cells
from deniable.estimates.designs.arm_kinds import ArmKind, arm_kinds
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.crafted_reports import influence_of_kinds
from deniable.estimates.estimate import Estimate
from deniable.estimates.interface import dense_covariance
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along, flat, sandwich
from deniable.text.fixed_phrases import NOT_ENOUGH

# What is said where the score equations have no finite solution.
NO_SOLUTION = (
    f"{NOT_ENOUGH} for this question: by these reports some answers decide the outcome (separation), so that their "
    "log odds are infinite, or are nobody's"
)


def logistic(
    surveys: Surveys, outcome: Indicator, on: Sequence[Predictor], subject: Subject, *, answered: bool = False
) -> Regression:
    """Logistic regression of an outcome on other features, from the table of all of them, or of complete cases."""
    names = checked_names(outcome, on)
    if len(set(names)) < len(names):
        raise EstimateError(f"a regression takes each feature once; found {names}")
    names = sorted(names, key=surveys.schema.index)
    try:
        est = local_estimate(surveys.estimate(names).about(str(subject)))
    except CountError as error:
        raise EstimateError(f"a logistic regression needs one table that holds all its features: {error}") from None
    each = regressors(surveys.schema, on, answered=answered)
    cells = _cells(est, outcome, each, answered=answered)
    rows = all_answers(est.features)
    kept = cells.x[:, 0]  # the constant, which is 0 where somebody is left out
    table = along(est.truth, rows) / est.n
    f = kept * table.reshape(-1)
    covariance = sandwich(rows, dense_covariance(est.groups, est.subject, est.truth.size)) / est.n**2
    covariance = kept[:, None] * covariance * kept
    told = outcome if isinstance(outcome, str) else f"{outcome[0]} = {outcome[1]}"
    k, none = len(cells.terms), np.full(len(cells.terms), np.nan)
    nothing = Regression(
        told, cells.terms, none, np.full((k, k), np.nan), est.n, subject, Shape(*[none] * 4), "", "logistic"
    )
    rarest = rarest_in_words(surveys.schema, each, cells.x.T @ f, answered=answered)
    b = solved(cells, f, first_guess(cells, f), np.ones(k, bool))
    if b is None or _undecided(cells, f, b):
        return replace(nothing, why=f"{NO_SOLUTION}. {rarest}")
    slopes = np.asarray(np.linalg.solve(cells.information(f, b), cells.x.T * (cells.y - cells.chances(b))), np.float64)
    own = slopes @ covariance @ slopes.T
    if subject is Subject.POPULATION:
        own = own * (est.n / max(est.n - k, 1))
    axis, split = _outcome_split(est, outcome, f)
    reports = _reports(surveys, est, names)
    tests = ScoreTests(cells, table, f, axis, split, b, reports, est.n, subject)
    crafted = influence_of_kinds(reports, slopes, est.n)
    return replace(nothing, coefficients=b, covariance=own, shape=tests, influence=crafted)


def _outcome_split(est: Estimate, outcome: Indicator, f: Array) -> tuple[int, Array]:
    """The outcome's axis, and how more people with it are split over its answers: +1 over it, -1 over the others.

    Only answers that are regressed have people, who are split by the answers' shares.
    """
    name, vector, _ = indicator(est.features, outcome)
    axis = est.names.index(name)
    levels = [feature.levels for feature in est.features]
    shares = f.reshape(levels).sum(axis=tuple(place for place in range(len(levels)) if place != axis))
    split = np.maximum(shares, 0)
    sign = np.where(over_cells((est.features[axis],), vector) > 0, 1.0, -1.0)
    for side in (1.0, -1.0):
        split[sign == side] /= max(split[sign == side].sum(), 1e-12)
    return axis, sign * split


def _cells(est: Estimate, outcome: Indicator, each: Sequence[Regressor], *, answered: bool) -> Cells:
    """The outcome and the regressors of each cell: a constant, and the indicators of answers.

    Of complete cases, cells with a missing answer have regressors of zero, which no equation sees.
    """
    grid = np.array(list(product(*(range(feature.levels) for feature in est.features))))

    def of_cells(what: Indicator) -> Array:
        name, vector, _ = indicator(est.features, what)
        place = est.names.index(name)
        return np.asarray(over_cells((est.features[place],), vector)[grid[:, place]])

    kept = np.ones(len(grid))
    for k, feature in enumerate(est.features):
        missing = feature.missing if answered else None
        kept *= np.array([answer != missing for answer in feature.answers])[grid[:, k]]
    columns = [kept, *(kept * of_cells((one.name, one.answer)) for one in each)]
    return Cells(of_cells(outcome), np.array(columns).T, ("constant", *(one.term for one in each)))


def _undecided(cells: Cells, f: Array, b: Array) -> bool:
    """Whether a solution is none of a maximum: log odds are as good as infinite, or some answer is nobody's."""
    return bool(np.abs(cells.x @ b).max() > DECIDED or np.linalg.eigvalsh(cells.information(f, b))[0] <= 0)


def _reports(surveys: Surveys, est: Estimate, names: Sequence[str]) -> list[tuple[ArmKind, Array]]:
    """What the cells' shares are weighted sums of: reports of each kind, for the skewness of coefficients."""
    if not surveys.apart:
        (kind,) = arm_kinds(surveys.counts, names)[:1]
        return [(kind, flat([np.eye(m) for m in kind.levels]))]
    (group,) = est.groups
    assert isinstance(group, ArmsGroup)
    return list(zip(group.seen.local.kinds, group.seen.best.weights, strict=True))
