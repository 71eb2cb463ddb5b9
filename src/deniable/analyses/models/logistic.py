"""Logistic regression on private answers, from the estimated table of all its features.

With f(y, x) the share of respondents with outcome y and predictors x, and s(u) = 1 / (1 + exp(-u)), the coefficients b
solve the score equations of maximum likelihood

    sum_x x (f(1, x) - s(x'b) f(x)) = 0

These are linear in the table, which is estimated without bias: so b is consistent (a corrected score), and it is
maximum likelihood itself where nothing is randomized. One cell (y, x) moves b by A^-1 x (y - s(x'b)) with
A = sum_x s'(x'b) f(x) x x', and the covariance of b follows from that of the table (the sandwich), about the population
times n / (n - k) for k coefficients. Intervals are corrected for skewness as those of the linear regression are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from deniable.analyses.models.coefficients import Regression, Shape
from deniable.analyses.models.regressors import Predictor, Regressor, checked_names, rarest_in_words, regressors
from deniable.analyses.regression import shape_of
from deniable.analyses.second_moments import Found, local_estimate
from deniable.counts.counts import Counts
from deniable.errors import CountError, EstimateError
from deniable.estimates.answers_as_weights import Indicator, all_answers, indicator, over_cells
from deniable.estimates.designs.arm_kinds import ArmKind, arm_kinds
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.crafted_reports import influence_of_kinds
from deniable.estimates.estimate import Estimate, estimate
from deniable.estimates.interface import dense_covariance
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array
from deniable.inference.ratios import SURELY_POSITIVE
from deniable.inference.tensors import along, flat, sandwich
from deniable.text.fixed_phrases import NOT_ENOUGH

# Newton's method takes at most so many steps.
STEPS = 60
# A step is halved at most so often.
HALVINGS = 30
# Scores, in shares, below this are zero.
SOLVED = 1e-11
# Log odds beyond this are taken as infinite: an answer decides the outcome.
DECIDED = 12.0


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table, in C order: the outcome of each, its regressors, and their names."""

    y: Array
    x: Array
    terms: tuple[str, ...]

    def chances(self, b: Array) -> Array:
        """The probability of the outcome in each cell, by the model."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.x @ b, -700, 700))))

    def score(self, f: Array, b: Array) -> Array:
        """The score equations at b, which are zero at the solution."""
        return np.asarray(self.x.T @ (f * (self.y - self.chances(b))))

    def information(self, f: Array, b: Array) -> Array:
        """The matrix A: how the score falls with b."""
        s = self.chances(b)
        return np.asarray((self.x * (f * s * (1 - s))[:, None]).T @ self.x)


def logistic(
    counts: Counts, outcome: Indicator, on: Sequence[Predictor], subject: Subject, *, answered: bool = False
) -> Regression:
    """Logistic regression of an outcome on other features, from the table of all of them, or of complete cases."""
    names = checked_names(outcome, on)
    if len(set(names)) < len(names):
        raise EstimateError(f"a regression takes each feature once; found {names}")
    names = sorted(names, key=counts.plan.schema.index)
    try:
        est = local_estimate(estimate(counts, names).about(str(subject)))
    except CountError as error:
        raise EstimateError(f"a logistic regression needs one table that holds all its features: {error}") from None
    each = regressors(counts.plan.schema, on, answered=answered)
    cells = _cells(est, outcome, each, answered=answered)
    rows = all_answers(est.features)
    kept = cells.x[:, 0]  # the constant, which is 0 where somebody is left out
    f = kept * along(est.truth, rows).reshape(-1) / est.n
    covariance = sandwich(rows, dense_covariance(est.groups, est.subject, est.truth.size)) / est.n**2
    covariance = kept[:, None] * covariance * kept
    told = outcome if isinstance(outcome, str) else f"{outcome[0]} = {outcome[1]}"
    k, none = len(cells.terms), np.full(len(cells.terms), np.nan)
    nothing = Regression(
        told, cells.terms, none, np.full((k, k), np.nan), est.n, subject, Shape(*[none] * 4), "", "logistic"
    )
    rarest = rarest_in_words(counts.plan.schema, each, cells.x.T @ f, answered=answered)
    if unclear := _unclear(cells, f, covariance, est.n):
        return replace(nothing, why=f"{unclear}. {rarest}")
    b = _solved(cells, f)
    if b is None:
        return replace(nothing, why=f"{_separated()}. {rarest}")
    slopes = np.asarray(np.linalg.solve(cells.information(f, b), cells.x.T * (cells.y - cells.chances(b))), np.float64)
    if why := _flat(cells, f, covariance, b, slopes):
        return replace(nothing, why=f"{why}. {rarest}")
    found = Found(f, covariance, _reports(counts, est, names))
    own = slopes @ covariance @ slopes.T
    if subject is Subject.POPULATION:
        own = own * (est.n / max(est.n - k, 1))
    shape, crafted = shape_of(found, slopes, est.n, subject), influence_of_kinds(found.reports, slopes, est.n)
    return replace(nothing, coefficients=b, covariance=own, shape=shape, influence=crafted)


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


def _unclear(cells: Cells, f: Array, covariance: Array, n: int) -> str:
    """Why the score equations may well have no solution: a predictor's answer, or an outcome, may be nobody's."""
    lines = {"the outcome": cells.y, "its opposite": 1 - cells.y}
    lines |= dict(zip(cells.terms[1:], cells.x.T[1:], strict=True))
    for what, line in lines.items():
        share, variance = float(line @ f), float(line @ covariance @ line)
        if not share > SURELY_POSITIVE * np.sqrt(max(variance, 0.0)):
            return (
                f"{NOT_ENOUGH} for this question: the share of {what} is {share:.4f} +- {np.sqrt(abs(variance)):.4f} "
                f"with {n:,} reports, and must be {SURELY_POSITIVE} standard errors above zero"
            )
    return ""


def _solved(cells: Cells, f: Array) -> Array | None:
    """The solution of the score equations by Newton's method; nothing if there is none within reach."""
    share = float(cells.y @ f)
    b = np.zeros(cells.x.shape[1])
    b[0] = np.log(share / (1 - share)) if 0 < share < 1 else 0.0
    score = cells.score(f, b)
    for _ in range(STEPS):
        if np.abs(score).max() < SOLVED:
            return b
        try:
            step = np.linalg.solve(cells.information(f, b), score)
        except np.linalg.LinAlgError:
            return None
        for _ in range(HALVINGS):
            after = cells.score(f, b + step)
            if np.abs(after).sum() < np.abs(score).sum():
                break
            step = step / 2
        else:
            return None
        b, score = b + step, after
        if np.abs(cells.x @ b).max() > 2 * DECIDED:
            return None
    return None


def _flat(cells: Cells, f: Array, covariance: Array, b: Array, slopes: Array) -> str:
    """Why the solution cannot be trusted: the least eigenvalue of A must surely be above zero, b varying with f."""
    if np.abs(cells.x @ b).max() > DECIDED:
        return _separated()
    s = cells.chances(b)
    values, vectors = np.linalg.eigh(cells.information(f, b))
    along_least = (cells.x @ vectors[:, 0]) ** 2
    direct = s * (1 - s) * along_least
    through_b = (f * s * (1 - s) * (1 - 2 * s) * along_least) @ cells.x @ slopes
    line = direct + through_b
    variance = float(line @ covariance @ line)
    if variance >= 0 and values[0] > SURELY_POSITIVE * np.sqrt(variance):
        return ""
    return (
        f"{NOT_ENOUGH} for this question: the least eigenvalue of the information is {values[0]:.5f} +- "
        f"{np.sqrt(abs(variance)):.5f}, and must be {SURELY_POSITIVE} standard errors above zero"
    )


def _separated() -> str:
    """What is said where the score equations have no finite solution."""
    return (
        f"{NOT_ENOUGH} for this question: by these reports some answers decide the outcome (separation), so that their "
        "log odds are infinite"
    )


def _reports(counts: Counts, est: Estimate, names: Sequence[str]) -> list[tuple[ArmKind, Array]]:
    """What the cells' shares are weighted sums of: reports of each kind, for the skewness of coefficients."""
    if not counts.plan.has_arms:
        (kind,) = arm_kinds([counts], names)[:1]
        return [(kind, flat([np.eye(m) for m in kind.levels]))]
    (group,) = est.groups
    assert isinstance(group, ArmsGroup)
    return list(zip(group.seen.local.kinds, group.seen.best.weights, strict=True))
