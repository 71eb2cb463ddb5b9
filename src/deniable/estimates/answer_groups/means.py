"""Means of scores: midpoints of ranges, or values of a scale, by estimated shares, with intervals; also by group.

Scores are put between 0 and 1 first, u = (score - least) / (most - least). Then the mean of u is a weighted sum of
shares, or a ratio of two, whose interval and verdict are those of a (conditional) share; it is scaled back after that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product
from shlex import quote
from typing import Any, overload

import numpy as np

from deniable.errors import EstimateError, abbreviated, listed
from deniable.estimates.answer_groups.among import Among
from deniable.estimates.answer_groups.results_table import tidy_results
from deniable.estimates.answers_as_weights import (
    all_answers,
    answer_places,
    check_apart,
    feature_named,
    names_of,
    places_of,
)
from deniable.estimates.interface import AnyEstimate
from deniable.inference.intervals import checked_level
from deniable.inference.one_feature import Array
from deniable.inference.ratio_questions import CONDITIONAL, DIFFERENCE
from deniable.inference.ratios import RatioDistribution
from deniable.inference.results import JointAnswer
from deniable.survey.blocks import TIMES
from deniable.survey.schema import Choice, Feature
from deniable.tables.table import MEANS, About, Table
from deniable.text.fixed_phrases import answer_as_text

Scores = Mapping[str | bool, float]
# GIVE_SCORES is what to do about answers that have no numbers of their own, in Python and in the shell.
GIVE_SCORES = "give a score for each answer, {answer: number} (in the shell --score ANSWER=NUMBER, once for each)"


@overload
def mean_of(
    est: AnyEstimate | Among,
    name: str,
    scores: Scores | None = None,
    *,
    by: None = None,
    between: Sequence[Any] | None = None,
) -> JointAnswer: ...
@overload
def mean_of(
    est: AnyEstimate | Among,
    name: str,
    scores: Scores | None = None,
    *,
    by: str | Sequence[str],
    between: None = None,
    level: float = 0.95,
) -> Table: ...
def mean_of(
    est: AnyEstimate | Among,
    name: str,
    scores: Scores | None = None,
    *,
    by: str | Sequence[str] | None = None,
    between: Sequence[Any] | None = None,
    level: float = 0.95,
) -> JointAnswer | Table:
    """The mean of scores of a feature's answers, with its confidence interval; by group; or between two groups.

    Parameters
    ----------
    name
        The feature.
    scores
        A number for each answer, such as the midpoint of a range or the value on a scale. Without scores, ranges of
        `Choice.bins` have their midpoints, of which only the open ones need a score, and answers such as "1" to "5"
        are numbers themselves. Answers without one, such as "no answer", are left out with `among` first.
    by
        One or more other features: the mean is given for each of their answers.
    between
        Another feature and two of its answers, or lists of answers: the difference of their means is given.
    level
        The confidence level of the table's intervals.

    Returns
    -------
    JointAnswer or Table
        The mean, or the difference of two means (Newcombe); with `by` a table of them: the features, mean, stderr, low
        and high.

    Examples
    --------
    >>> years = {"18-29": 24, "30-44": 37, "45-64": 55, "65+": 75}
    >>> round(est.mean_of("age", years).value, 1)
    47.7
    >>> est.mean_of("age", years, by="smoker").column_names
    ['smoker', 'mean', 'stderr', 'low', 'high']
    >>> est.mean_of("age", years, between=("smoker", True, False)).value < 0
    True
    """
    here = est if isinstance(est, Among) else Among(est, {}, names_of(est.features))
    start, unit, vector = between_0_and_1(here, feature_named(here.est.features, name), scores)
    if by is not None and between is not None:
        raise EstimateError("mean_of takes by or between, not both")
    if between is not None:
        return _difference(here, name, vector, between, start, unit)
    if by is None:
        return _scaled(here.of(CONDITIONAL, [{name: vector}, {}]), "mean", start, unit)
    if not isinstance(by, str | Sequence):
        raise EstimateError(
            f"by is one or more other features; answers are for among or between; found {abbreviated(by)}"
        )
    others = [by] if isinstance(by, str) else list(by)
    places_of(here.est.features, [name, *others], "mean_of takes different features of this estimate,")
    features = [feature_named(here.est.features, other) for other in others]
    level, found = checked_level(level), []
    for places in product(*(here.answers(feature) for feature in features)):
        group = {
            feature.name: all_answers((feature,))[0][place] for feature, place in zip(features, places, strict=True)
        }
        found.append(_scaled(here.of(CONDITIONAL, [{name: vector, **group}, group]), "mean", start, unit))
    labels = product(*([feature.answers[place] for place in here.answers(feature)] for feature in features))
    title, whole, asked = f"mean of {name} by {TIMES.join(others)}", here.est, here.asked_of([name, *others])
    about = About(title, MEANS, whole.subject, level, asked, respondents=whole.n, among=here.who)
    return tidy_results(tuple(features), list(labels), found, about)


def _difference(
    here: Among, name: str, vector: Array, between: Sequence[Any], start: float, unit: float
) -> JointAnswer:
    """The difference of the means of two groups."""
    if not isinstance(between, list | tuple) or len(between) != 3:
        raise EstimateError(
            f"between is a feature and two of its answers, or lists of them; found {abbreviated(between)}"
        )
    other, *groups = between
    places_of(here.est.features, [name, other], "mean_of takes different features of this estimate,")
    feature = feature_named(here.est.features, other)
    pieces: list[dict[str, Array]] = []
    places = [answer_places(feature, group) for group in groups]
    check_apart(feature, *places)
    for own in places:
        group = all_answers((feature,))[0][own].sum(axis=0)
        pieces += [{name: vector, other: group}, {other: group}]
    return _scaled(here.of(DIFFERENCE, pieces), "difference of means", start, unit)


def _scaled(found: JointAnswer, name: str, start: float, unit: float) -> JointAnswer:
    """A mean, or a difference of means, of scores between 0 and 1, in the unit of the scores."""
    assert isinstance(found.distribution, RatioDistribution)
    origin = start if name == "mean" else 0.0
    least, most = (origin + unit * end for end in (found.least, found.most))
    return replace(
        found,
        name=name,
        value=origin + unit * found.value,
        distribution=found.distribution.scaled(start, unit),
        least=least,
        most=most,
        influence=unit * found.influence,
    )


def between_0_and_1(here: Among, feature: Feature, scores: Scores | None) -> tuple[float, float, Array]:
    """The least score, the range of all scores, and the weights on the feature's axis of scores from 0 to 1."""
    known = _known(feature, scores)
    places = here.answers(feature)
    if missing := [feature.answers[place] for place in places if feature.answers[place] not in known]:
        if missing[0] in _open(feature):
            ends = [str(answer) for answer in missing if answer in _open(feature)]
            shell = " ".join(f"--score {quote(f'{answer}=NUMBER')}" for answer in ends)
            open_end = f"the range {missing[0]!r} of {feature.name!r} is open and has no middle"
            raise EstimateError(
                f"{open_end}: say what number stands for it, {{{', '.join(f'{answer!r}: NUMBER' for answer in ends)}}} "
                f"(in the shell {shell})"
            )
        rest = [answer for answer in feature.answers if answer in known]
        raise EstimateError(
            f"{missing[0]!r} of {feature.name!r} has no score; give it one (in the shell --score ANSWER=NUMBER), or "
            f"leave it out: {_without(feature, missing, rest)}"
        )
    numbers = np.array([_number(known[feature.answers[place]]) for place in places])
    start, unit = float(numbers.min()), float(np.ptp(numbers))
    if unit == 0:
        raise EstimateError(f"all scores of {feature.name!r} are {start:g}, so that their mean is known")
    return start, unit, (numbers - start) / unit @ all_answers((feature,))[0][places]


def _without(feature: Feature, missing: Sequence[str | bool], rest: Sequence[str | bool]) -> str:
    """How answers are left out: in Python by naming the others, in the shell the missing answer alone."""
    shell = " (in the shell --answered)" if [*missing] == [feature.missing] else ""
    return f"among({feature.name!r}, [{listed(map(answer_as_text, rest))}]){shell}"


def _known(feature: Feature, scores: Scores | None) -> Scores:
    """The scores that are given, checked, or the answers' own; never numbers of two scales."""
    if scores is None:
        return _own_numbers(feature)
    if not isinstance(scores, Mapping):
        raise EstimateError(f"scores are a number for each answer, {{answer: number}}; found {abbreviated(scores)}")
    if unknown := [answer for answer in scores if answer not in feature.answers]:
        raise EstimateError(
            f"{feature.name!r} has the answers {list(feature.answers)}; found {abbreviated(unknown[0])}"
        )
    return _own_numbers(feature) | dict(scores) if scores and set(scores) <= set(_open(feature)) else scores


def _own_numbers(feature: Feature) -> dict[str | bool, float]:
    """The middles of a feature's ranges that are not open, or the numbers that its answers are."""
    if ranges := _ranges(feature):
        return {answer: (low + high) / 2 for answer, (low, high) in ranges.items() if answer not in _open(feature)}
    try:
        numbers = {answer: float(answer) for answer in feature.answers if answer != feature.missing}
    except ValueError:
        numbers = {}
    if not isinstance(feature, Choice) or not numbers or not np.isfinite(list(numbers.values())).all():
        raise EstimateError(f"{feature.name!r} has neither ranges nor numbers: {GIVE_SCORES}")
    return dict(numbers)


def _ranges(feature: Feature) -> dict[str | bool, tuple[float, float]]:
    """The ends of a feature's ranges, by its answers; nothing if it has none."""
    edges = feature.edges if isinstance(feature, Choice) else ()
    return dict(zip(feature.answers, pairwise(edges), strict=False))


def _open(feature: Feature) -> list[str | bool]:
    """The ranges of a feature that have no middle."""
    return [answer for answer, ends in _ranges(feature).items() if not np.isfinite(ends).all()]


def _number(score: Any) -> float:
    if isinstance(score, bool | str) or not np.isscalar(score) or not np.isfinite(float(score)):  # type: ignore[arg-type]
        raise EstimateError(f"a score is a finite number; found {abbreviated(score)}")
    return float(score)  # type: ignore[arg-type]
