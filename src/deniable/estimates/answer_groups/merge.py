"""Answers merged into fewer: a linear map of an estimate, with its exact covariance."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answer_groups.merged_group import MergedGroup
from deniable.estimates.answers_as_weights import all_answers, answer_places, feature_named
from deniable.estimates.interface import AnyEstimate
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along
from deniable.survey.schema import Choice, Feature
from deniable.text.fixed_phrases import answer_as_text

E = TypeVar("E", bound=AnyEstimate)


def merge(est: E, name: str, groups: Mapping[str, Sequence[str | bool]]) -> E:
    """The estimate with some answers to a feature merged (collapsed) into fewer.

    Parameters
    ----------
    name
        The feature.
    groups
        The new answers, each with the list of answers that become it, such as
        `{"under 45": ["18-29", "30-44"], "45 and over": ["45-64", "65+"]}`. Answers that are not named stay.

    Returns
    -------
    Estimate
        The same estimate with fewer answers, and all that an estimate has. It is a linear map, so that its covariance
        is exact.

    Examples
    --------
    >>> young = est.merge("age", {"under 45": ["18-29", "30-44"], "45 and over": ["45-64", "65+"]})
    >>> young.project("age").table().column("age").to_pylist()
    ['under 45', '45 and over']
    """
    old = feature_named(est.features, name)
    new, own = _merged(old, groups)
    maps = [own if feature is old else np.eye(1 + len(feature.columns)) for feature in est.features]
    features = tuple(new if feature is old else feature for feature in est.features)
    made: Any = replace(
        est,  # type: ignore[type-var]
        features=features,
        groups=tuple(MergedGroup.of(group, maps) for group in est.groups),
        fitted=None if est.fitted is None else along(est.fitted, maps),
        proper=None,
    )
    return made  # type: ignore[no-any-return]


def _merged(old: Feature, groups: Any) -> tuple[Choice, Array]:
    """A feature with fewer answers, and the matrix from the entries of the old one to its entries."""
    names = _new_names(old, groups)
    values = list(dict.fromkeys(names))
    if len(values) < 2:
        raise EstimateError(f"all answers to {old.name!r} would become one; leave the feature out with project instead")
    rows = all_answers((old,))[0]
    sums = [rows[[place for place, name in enumerate(names) if name == value]].sum(axis=0) for value in values]
    return Choice(old.name, values), np.vstack([np.eye(1, rows.shape[1]), *sums])


def _new_names(old: Feature, groups: Any) -> list[str]:
    """What each answer to a feature becomes: its group, or itself if it is in none."""
    if not isinstance(groups, Mapping) or not groups or not all(isinstance(answer, str) for answer in groups):
        told = 'merge takes new answers with lists of old ones: {"under 45": ["18-29", "30-44"]}'
        raise EstimateError(f"{told}; found {abbreviated(groups)}")
    becomes: dict[int, str] = {}
    for answer, own in groups.items():
        for place in answer_places(old, own):
            if place in becomes:
                raise EstimateError(
                    f"{old.answers[place]!r} of {old.name!r} is in {becomes[place]!r} and in {answer!r}; put each "
                    "answer into one group"
                )
            becomes[place] = answer
    names = [becomes.get(place, answer_as_text(answer)) for place, answer in enumerate(old.answers)]
    if stays := [name for place, name in enumerate(names) if place not in becomes and name in groups]:
        raise EstimateError(f"{stays[0]!r} of {old.name!r} is not merged and stays; give the group another name")
    return names
