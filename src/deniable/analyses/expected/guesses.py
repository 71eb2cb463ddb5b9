"""Guesses of the truth before anybody was asked: shares of some answers, a truth, or an estimate of a pilot."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from deniable.errors import PlanError, abbreviated
from deniable.estimates.answers_as_weights import all_answers
from deniable.estimates.estimate import Estimate
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along
from deniable.simulate import Truth
from deniable.survey.schema import Feature, Flag


def guessed(features: Sequence[Feature], guess: Any) -> Array:
    """The table of these features that a guess of the truth means, in C order; the uniform one without a guess."""
    if isinstance(guess, Truth):
        return _margin(guess.schema.features, guess.shares, features)
    if isinstance(guess, Estimate):
        cells = np.maximum(cells_of(guess), 0)
        return _margin(guess.features, cells / cells.sum(), features)
    if not isinstance(guess, Mapping | None):
        raise PlanError(f"a guess is shares of answers, a simulate.truth or an estimate; found {abbreviated(guess)}")
    even = {feature.name: np.full(feature.levels, 1 / feature.levels) for feature in features}
    margins = [_shares(feature, (even | {**(guess or {})})[feature.name]) for feature in features]
    return np.asarray(reduce(np.multiply.outer, margins), np.float64).reshape(-1)


def _shares(feature: Feature, given: Any) -> Array:
    """The shares of one feature's answers."""
    found = given
    if isinstance(given, Mapping):
        if unknown := [answer for answer in given if answer not in feature.answers]:
            known = abbreviated(list(feature.answers))
            raise PlanError(f"a guess of {feature.name!r} is of its answers, {known}; found {abbreviated(unknown[0])}")
        found = [given.get(answer, 0.0) for answer in feature.answers]
    elif isinstance(feature, Flag) and isinstance(given, int | float | np.number) and not isinstance(given, bool):
        if not 0 <= given <= 1:
            raise PlanError(
                f"the guess of {feature.name!r} is its share of yes, 0 to 1, such as 0.2; found {abbreviated(given)}"
            )
        found = [1 - given, given, *[0.0] * (feature.levels - 2)]  # nobody skips it
    try:
        shares = np.asarray(found, np.float64)
    except (TypeError, ValueError):
        raise PlanError(f"the guess of {feature.name!r} is shares of its answers; found {abbreviated(given)}") from None
    if shares.shape != (feature.levels,) or not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-9:
        shown = found if isinstance(given, Mapping) else given
        raise PlanError(
            f"the guess of {feature.name!r} needs {feature.levels} shares that sum to 1; found {abbreviated(shown)}"
        )
    return shares


def _margin(of: Sequence[Feature], table: Array, features: Sequence[Feature]) -> Array:
    """A table of more features summed to these, in their order."""
    names, wanted = [feature.name for feature in of], [feature.name for feature in features]
    if missing := [name for name in wanted if name not in names]:
        raise PlanError(f"the guess says nothing of {missing[0]!r}")
    if other := [feature for feature in features if of[names.index(feature.name)].answers != feature.answers]:
        raise PlanError(f"the guess has other answers of {other[0].name!r} than the plan; make both of one schema")
    others = tuple(place for place, name in enumerate(names) if name not in wanted)
    kept = [name for name in names if name in wanted]
    return np.asarray(table.sum(axis=others).transpose([kept.index(name) for name in wanted])).reshape(-1)


def cells_of(est: Estimate) -> Array:
    """The shares of all cells of an estimate's table, an axis for each feature."""
    return along(est.truth, all_answers(est.features)) / est.n
