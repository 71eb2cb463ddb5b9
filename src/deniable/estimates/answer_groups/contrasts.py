"""Contrasts of a share, or of a mean, over groups of respondents: intervals, p-values, and several of them at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan, nan
from typing import Any

import numpy as np

from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answer_groups.among import Among
from deniable.estimates.answer_groups.means import Scores, between_0_and_1
from deniable.estimates.answers_as_weights import (
    Indicator,
    all_answers,
    feature_named,
    indicator,
    names_of,
    places_of,
    product_weights,
)
from deniable.estimates.designs.crafted_reports import influence_of_sums
from deniable.estimates.interface import AnyEstimate, Respondents, linear_groups, total
from deniable.estimates.ratios_of_shares import covariance_of_sums
from deniable.inference.contrasts import as_correlation, contrast_p_value, holm, recovered
from deniable.inference.intervals import checked_level
from deniable.inference.one_feature import Array
from deniable.inference.ratio_questions import CONDITIONAL
from deniable.inference.results import JointAnswer
from deniable.inference.tensors import contract, flat
from deniable.survey.schema import Feature
from deniable.tables.table import CONTRASTS, CONTRASTS_OF_MEANS, About, Column, Table
from deniable.text.fixed_phrases import answer_as_text

Contrasts = Mapping[str, Mapping[str | bool, float]]


@dataclass(frozen=True, eq=False)
class GroupResults:
    """A share, or a mean, in each of some groups of respondents, and the covariance of these, by the delta method."""

    each: Sequence[JointAnswer]
    covariance: Array
    unit: float  # what shares are multiplied by, where they stand for means
    groups: Sequence[Respondents]
    slopes: Array  # by the entries of the table, of the share of each group of respondents

    @property
    def values(self) -> Array:
        """The shares of all groups."""
        return np.array([one.value for one in self.each])

    def ends(self, level: float) -> tuple[Array, Array]:
        """The ends of all groups' intervals."""
        low, high = zip(*(one.distribution.limits(level, 0.0, 1.0) for one in self.each), strict=True)
        return np.array(low, np.float64), np.array(high, np.float64)

    def contrast(self, coefficients: Array, level: float) -> tuple[float, float, float, float, float]:
        """A contrast: its value, standard error, the ends of its interval and its p-value."""
        value, variance = float(coefficients @ self.values), float(coefficients @ self.covariance @ coefficients)
        stderr = np.sqrt(variance) if variance >= 0 else np.nan
        low = high = p = np.nan
        used = coefficients != 0
        if all(one.enough for one, own in zip(self.each, used, strict=True) if own) and variance > 0:
            correlation = as_correlation(self.covariance)
            low, high = recovered(self.values, coefficients, correlation, self.ends(level))
            p = contrast_p_value(self.values, coefficients, self.covariance, self.ends)
        return self.unit * value, self.unit * stderr, self.unit * low, self.unit * high, p

    def influence(self, coefficients: Array) -> float:
        """The most that 1 % of crafted reports can move a contrast, to first order; nan without enough reports."""
        if not all(one.enough for one, own in zip(self.each, coefficients != 0, strict=True) if own):
            return nan
        line = (coefficients @ np.where(coefficients[:, None] != 0, self.slopes, 0.0)) * self.unit
        return influence_of_sums(self.groups, line.reshape(1, *self.groups[0].truth.shape))


def contrasts(
    est: AnyEstimate | Among,
    what: Indicator,
    *,
    by: str,
    weights: Contrasts | None = None,
    scores: Scores | None = None,
    level: float = 0.95,
) -> Table:
    """Contrasts of a conditional share, or of a mean, over the groups that gave each answer; several at once (Holm).

    Parameters
    ----------
    what
        A flag's name, or a choice's answer or answers such as `("age", "65+")`; the name of a feature, with `scores`.
    by
        Another feature, whose answers make the groups.
    weights
        The contrasts: a name for each, and weights of answers that sum to zero, such as
        `{"young less old": {"18-29": 1, "65+": -1}}`. Without them all pairs of answers are compared.
    scores
        A number for each answer of `what`: then means are compared, as of `mean_of`.
    level
        The confidence level of the intervals, of each by itself.

    Returns
    -------
    Table
        A row for each contrast: contrast, estimate, stderr, low, high, p_value, and p_holm, the p-value adjusted for
        all contrasts of the table, those without an interval too. The last four are nan where there are not enough
        reports.

    Examples
    --------
    >>> wanted = {"under 45 less 45 and over": {"18-29": 0.5, "30-44": 0.5, "45-64": -0.5, "65+": -0.5}}
    >>> est.contrasts("smoker", by="age", weights=wanted).column_names
    ['contrast', 'estimate', 'stderr', 'low', 'high', 'p_value', 'p_holm']
    >>> len(est.contrasts("smoker", by="age"))
    6
    """
    here = est if isinstance(est, Among) else Among(est, {}, names_of(est.features))
    level, feature = checked_level(level), feature_named(here.est.features, by)
    asked = _contrasts(here, feature, weights)
    found = group_results(here, what, feature, scores)
    numbers = np.array([found.contrast(coefficients, level) for coefficients in asked.values()])
    numbered = dict(zip(("estimate", "stderr", "low", "high", "p_value"), numbers.T, strict=True))
    columns: dict[str, Column] = {"contrast": list(asked), **numbered, "p_holm": holm(numbered["p_value"])}
    est, kind = here.est, CONTRASTS if scores is None else CONTRASTS_OF_MEANS
    name = what if isinstance(what, str) else what[0]
    crafted = max((own for own in map(found.influence, asked.values()) if not isnan(own)), default=nan)
    about = About(
        f"{_what_in_words(what)}, contrasts by {by}",
        kind,
        est.subject,
        level,
        here.asked_of([name, by]),
        respondents=est.n,
        influence=crafted,
        among=here.who,
    )
    return Table(columns, ("contrast",), about)


def _what_in_words(what: Any) -> str:
    """What is compared: a feature, or some of its answers."""
    if isinstance(what, str):
        return what
    name, answers = what
    every = answers if isinstance(answers, list | tuple) else [answers]
    return f"{name}: {' or '.join(map(answer_as_text, every))}"


def group_results(here: Among, what: Any, by: Feature, scores: Scores | None) -> GroupResults:
    """A share, or a mean of scores between 0 and 1, in the group of each answer that is not left out."""
    if scores is None:
        name, vector, _ = indicator(here.est.features, what)
        unit = 1.0
    else:
        name, (_, unit, vector) = what, between_0_and_1(here, feature_named(here.est.features, what), scores)
    places_of(here.est.features, [name, by.name], "contrasts take different features of this estimate,")
    groups = [{by.name: row} for row in all_answers((by,))[0][here.answers(by)]]
    pairs = [here.within([{name: vector, **group}, group]) for group in groups]
    each = [here.of(CONDITIONAL, [{name: vector, **group}, group]) for group in groups]
    products = [one for pair in pairs for one in pair]
    narrow = here.est.project(*dict.fromkeys(key for one in products for key in one))
    linear, n = linear_groups(narrow), narrow.n
    pieces = [product_weights(narrow.features, one) for one in products]
    shares = total([np.array([contract(group.truth, one) for one in pieces]) for group in linear]) / n
    gradient = np.zeros((len(groups), len(pieces)))
    for k, (top, bottom) in enumerate(shares.reshape(-1, 2)):
        gradient[k, 2 * k : 2 * k + 2] = 1 / bottom, -top / bottom**2
    covariance = covariance_of_sums(linear, pieces, narrow.subject) / n**2
    slopes = gradient @ np.array([flat(one) for one in pieces])
    return GroupResults(each, gradient @ covariance @ gradient.T, unit, linear, slopes)


def _contrasts(here: Among, by: Feature, weights: Any) -> dict[str, Array]:
    """The coefficients of each contrast, by its name: those that are asked for, or all pairs of answers."""
    answers = [by.answers[place] for place in here.answers(by)]
    if weights is None:
        pairs = combinations(range(len(answers)), 2)
        size = np.eye(len(answers))
        return {f"{answer_as_text(answers[i])} - {answer_as_text(answers[j])}": size[i] - size[j] for i, j in pairs}
    if not isinstance(weights, Mapping) or not all(isinstance(own, Mapping) and own for own in weights.values()):
        told = 'contrasts are {name: {answer: weight}}, such as {"young less old": {"18-29": 1, "65+": -1}}'
        raise EstimateError(f"{told}; found {abbreviated(weights)}")
    if not weights:
        raise EstimateError("contrasts takes one or more contrasts; found none")
    return {str(name): _coefficients(str(name), by.name, answers, own) for name, own in weights.items()}


def _coefficients(contrast: str, by: str, answers: Sequence[Any], own: Mapping[Any, Any]) -> Array:
    """The weights of all answers in one contrast."""
    if unknown := [answer for answer in own if answer not in answers]:
        raise EstimateError(f"{by!r} has the answers {answers} here; found {abbreviated(unknown[0])} in {contrast!r}")
    line = np.array([float(own.get(answer, 0)) for answer in answers])
    if not np.isfinite(line).all() or abs(line.sum()) > 1e-9 * np.abs(line).sum() or not line.any():
        raise EstimateError(f"the weights of a contrast sum to zero; those of {contrast!r} sum to {line.sum():g}")
    return line
