"""Weighted sums of an estimate's entries, with their covariance and intervals: methods of `Estimate`.

Each function takes the estimate first, through the interface `AnyEstimate`.
"""

from collections.abc import Mapping, Sequence
from math import nan, prod
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answers_as_weights import (
    all_answers,
    cell_weights,
    checked_weights,
    factors,
    names_of,
    over_cells,
    shown_covariance,
    tidy,
)
from deniable.estimates.designs.crafted_reports import influence, influence_of_sums
from deniable.estimates.interface import AnyEstimate, dense_covariance, linear_groups, total
from deniable.estimates.respondent_group import judge, nearly_normal
from deniable.inference.cumulants import Cumulants
from deniable.inference.exact_binomial import OneColumn
from deniable.inference.intervals import checked_level, limits, limits_of_shrunk_shares
from deniable.inference.one_feature import Array
from deniable.inference.results import Answer
from deniable.inference.tensors import along, contract
from deniable.inference.trust import SLACK, known_exactly
from deniable.survey.blocks import TIMES
from deniable.tables.table import SHARES, About, Table

if TYPE_CHECKING:
    pass

OneOrMore = str | bool | Sequence[str | bool]  # an answer, or any of several
Answers = Mapping[str, OneOrMore]  # a cell: an answer to each of some features


@overload
def covariance(est: AnyEstimate) -> Array: ...
@overload
def covariance(est: AnyEstimate, left: Answers, right: Answers) -> float: ...
def covariance(est: AnyEstimate, left: Answers | None = None, right: Answers | None = None) -> Array | float:
    """The covariance matrix of all entries of `mean`, or the covariance of two cells, in respondents.

    Parameters
    ----------
    left, right
        Two cells, `{feature: answer}`; without them the whole matrix is given.

    Returns
    -------
    ndarray or float
        The matrix, (size, size) in C order of `mean`; or one number. By maximum likelihood it is that of the observed
        information, while `variance` and intervals of tables with a cell near a bound are the linear estimate's.

    Examples
    --------
    >>> est.covariance().shape
    (10, 10)
    >>> round(est.covariance({"smoker": True}, {"smoker": True, "age": "65+"}))
    1728
    """
    if (left is None) != (right is None):
        raise EstimateError("covariance takes two cells, or none for the whole matrix")
    if left is not None and right is not None:
        return covariance_of(est, cell_weights(est.features, left), cell_weights(est.features, right))
    return shown_covariance(est.features, dense_covariance(est.groups, est.subject, est.truth.size))


def covariance_of(est: AnyEstimate, left: Sequence[Array], right: Sequence[Array]) -> float:
    """The covariance of two weighted sums of entries whose weights are products, one vector per feature."""
    return float(total([group.covariance(left, right, est.subject) for group in est.groups]))


def cell(est: AnyEstimate, answers: Answers | None = None, /, **more: OneOrMore) -> Answer:
    """The proportion of respondents with some answers, with its confidence interval.

    Parameters
    ----------
    answers, **more
        An answer to each of some features, by name or as a mapping, or a list of answers of which any will do; other
        features are not looked at.

    Returns
    -------
    Answer
        The proportion as `value`, with `stderr`, `count` and `confidence_interval()`.

    Examples
    --------
    >>> print(est.cell(smoker=True, age="65+"))
    0.0604 (SE 0.0035; 95% CI 0.0536 to 0.0673; population)
    """
    if answers is not None and (not isinstance(answers, Mapping) or answers.keys() & more.keys()):
        raise EstimateError(
            f"cell takes each answer once: cell(smoker=True), or a mapping; found {abbreviated(answers)}"
        )
    weights = cell_weights(est.features, {**(answers or {}), **more})
    exact = _exact(est, weights)
    return _product_sum(est, weights, float(contract(est.truth, weights)), exact, bounded=est.fitted is not None)


def linear(est: AnyEstimate, weights: npt.ArrayLike) -> Answer:
    """A linear combination of entries of `mean`, with its confidence interval.

    Parameters
    ----------
    weights
        A weight for each entry, shaped like `mean`.

    Returns
    -------
    Answer
        The weighted sum over N, with a `pvalue` against 0 if it is a contrast (some cells count below zero). If the
        weights are a product over features, as a cell's are, its interval is judged as a cell's is. Else it is the
        normal one, trusted if those of all cells that it uses are, and of the linear estimate behind a table of maximum
        likelihood.

    Examples
    --------
    >>> weights = np.zeros(est.mean.shape)
    >>> weights[1, 0] = 1
    >>> round(est.linear(weights).value, 4) == round(est.cell(smoker=True).value, 4)
    True
    """
    weights = checked_weights(est.features, weights)
    count, of_cells = float((weights * est.truth).sum()), over_cells(est.features, weights)
    bounded = est.fitted is not None and bool(of_cells.min() >= 0 and of_cells.max() <= 1)
    null = 0.0 if of_cells.min() < 0 < of_cells.max() else nan  # of contrasts
    if (vectors := _product(est, weights, of_cells, bounded=bounded)) is not None:
        return _product_sum(est, vectors, count, None, bounded=bounded, null=null)
    groups, line, subject = linear_groups(est), weights.reshape(-1), est.subject
    variance = float(line @ dense_covariance(groups, subject, est.truth.size) @ line)
    noise = np.sqrt(np.abs(total([group.unconditional_variances(subject) for group in groups])))
    if abs(variance) <= SLACK * float(np.abs(line) @ noise.reshape(-1)) ** 2:
        variance = 0.0
    known = variance == 0 and not any(group.zero_by_chance(subject) for group in groups)
    trusted = nearly_normal(groups, all_answers(est.features), subject)[of_cells != 0]
    enough = known or (variance > 0 and bool(trusted.all()))
    found = Cumulants.normal(sum(float((weights * group.truth).sum()) for group in groups), variance)
    sampling = sum(group.sampling_variance(weights) for group in groups)
    crafted = influence_of_sums(groups, weights[None])
    return Answer(count, est.n, found, enough, None, bounded, sampling, subject, null, crafted)


def table(est: AnyEstimate, *, level: float = 0.95, simultaneous: bool = False) -> Table:
    """All proportions of the table with their confidence intervals, as tidy rows.

    Parameters
    ----------
    level
        The confidence level of the intervals.
    simultaneous
        Whether the intervals hold all true proportions of the table at once at this level (Sidak), not one by one.

    Returns
    -------
    Table
        A row for each combination of answers: the features, proportion, stderr, low and high. `low` and `high` are nan
        where there are not enough reports.

    Examples
    --------
    >>> est.table().column_names
    ['smoker', 'age', 'proportion', 'stderr', 'low', 'high']
    """
    level = checked_level(level)
    about = about_cells(est, level, "simultaneous" if simultaneous else "")
    return tidy(est.features, cell_numbers(est, level, simultaneous=simultaneous), about)


def cell_numbers(est: AnyEstimate, level: float, *, simultaneous: bool = False) -> dict[str, Array]:
    """The numbers of a table, a column each with all cells: proportion, stderr, low and high."""
    rows, n = all_answers(est.features), est.n
    if simultaneous:
        level = level ** (1 / prod(len(matrix) for matrix in rows))  # enough for any correlations
    found, enough = judge(est.groups, rows, est.subject)
    low, high = ends_of_cells(est, rows, found, level)
    for place, exact in _exact_cells(est, rows):
        enough[place] |= exact.enough
    mean = known_exactly(along(est.truth, rows), found.variance, n)
    if est.fitted is not None:  # cut to what can be, and no shorter than to hold the table itself
        mean = np.maximum(mean, 0)  # of rounding
        low, high = np.minimum(np.clip(low, 0, n), mean), np.maximum(np.clip(high, 0, n), mean)
    numbers = {
        "proportion": mean,
        "stderr": np.sqrt(np.where(found.variance >= 0, found.variance, np.nan)),
        "low": np.where(enough, low, np.nan),
        "high": np.where(enough, high, np.nan),
    }
    return {name: column / n for name, column in numbers.items()}


def ends_of_cells(est: AnyEstimate, rows: Sequence[Array], found: Cumulants, level: float) -> tuple[Array, Array]:
    """The ends of the confidence intervals of all cells, in respondents: exact ones where a cell has one.

    They are not left out where there are not enough reports, and only those of shares that a model has shrunk are cut.
    """
    unshrunk, n = _unshrunk(est, rows), est.n
    low, high = limits(found, level) if unshrunk is None else limits_of_shrunk_shares(found, n, unshrunk, level)
    for place, exact in _exact_cells(est, rows):
        low[place], high[place] = (n / exact.n * end for end in exact.limits(level))
    return low, high


def _exact_cells(est: AnyEstimate, rows: Sequence[Array]) -> list[tuple[int, OneColumn]]:
    """The answers to the feature of a table of one that have an exact distribution, by their places."""
    vectors = enumerate(rows[0]) if len(rows) == 1 else ()
    return [(place, exact) for place, vector in vectors if (exact := _exact(est, [vector]))]


def about_cells(est: AnyEstimate, level: float, intervals: str = "") -> About:
    """What a table of all cells is about."""
    crafted = influence(est.groups, all_answers(est.features))
    title = TIMES.join(names_of(est.features))
    return About(title, SHARES, est.subject, level, est.asked, intervals, est.n, influence=crafted)


def _product(est: AnyEstimate, weights: Array, of_cells: Array, *, bounded: bool) -> Sequence[Array] | None:
    """The vectors whose product weights are; None if they are none, or a contrast of shares that a model has shrunk."""
    if not bounded and any(group.unshrunk for group in est.groups):
        return None
    return factors(_of_everybody(est, weights, of_cells))


def _of_everybody(est: AnyEstimate, weights: Array, of_cells: Array) -> Array:
    """Weights of entries as they are; those under which every cell counts the same as a weight of everybody alone."""
    if np.ptp(of_cells) > SLACK * np.abs(of_cells).max() or not all(group.adds_up for group in est.groups):
        return weights
    return np.asarray(of_cells.flat[0] * np.eye(1, weights.size).reshape(weights.shape))


def _product_sum(
    est: AnyEstimate,
    vectors: Sequence[Array],
    count: float,
    exact: OneColumn | None,
    *,
    bounded: bool,
    null: float = nan,
) -> Answer:
    """A weighted sum whose weights are a product over features, judged as a cell is."""
    every, judged = judge(est.groups, [vector[None] for vector in vectors], est.subject)
    found = every.at(0)
    count = float(known_exactly(np.asarray(count), found.variance, est.n))
    enough = bool(judged.reshape(-1)[0]) or (exact is not None and exact.enough)
    sampling = float(total([group.sampling_covariance(vectors, vectors) for group in est.groups]))
    crafted = influence(est.groups, [vector[None] for vector in vectors])
    unshrunk = _unshrunk(est, [vector[None] for vector in vectors]) if bounded else None
    before = None if unshrunk is None else unshrunk.at(0)
    return Answer(count, est.n, found, enough, exact, bounded, sampling, est.subject, null, crafted, before)


def _unshrunk(est: AnyEstimate, rows: Sequence[Array]) -> Cumulants | None:
    """All combinations of rows before a model shrank them; None where nothing was shrunk."""
    group = est.groups[0].unshrunk if len(est.groups) == 1 else None
    return None if group is None else group.cumulants(rows, est.subject)


def _exact(est: AnyEstimate, weights: Sequence[Array]) -> OneColumn | None:
    """The exact distribution of a proportion, if there is one: that of one group of respondents."""
    return est.groups[0].exact(weights, est.subject) if len(est.groups) == 1 else None
