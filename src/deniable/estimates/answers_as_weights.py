"""Weights of the entries of an estimate: from features, answers and arrays as users give them, checked.

A weighted sum of entries whose weights are a product over features has one vector per feature, over
(all, column 1, ..., column m); a feature that is not looked at has (1, 0, ..., 0).
"""

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import EstimateError, abbreviated, listed, meant
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along, answer_rows, margins
from deniable.reports.reading.words import NO, YES, plain
from deniable.survey.schema import Choice, Feature, Flag
from deniable.tables.table import About, Column, Table
from deniable.text.fixed_phrases import answer_as_text

Features = tuple[Feature, ...]
Indicator = str | tuple[str, Any] | list[Any]  # a flag, or a choice with its answer or answers as (name, answer)
Indicated = tuple[str, Array, Array]  # a feature, and the weights on its axis of "is" and of "is not"


def names_of(features: Features) -> tuple[str, ...]:
    """The names of features, in order."""
    return tuple(feature.name for feature in features)


def all_answers(features: Features) -> list[Array]:
    """The weights of each feature's answers, a matrix of rows for each feature."""
    return [answer_rows(len(feature.columns)) for feature in features]


def over_cells(features: Features, weights: Array) -> Array:
    """Weights of the entries of a tensor with margins as weights of the cells alone."""
    return along(weights, [margins(len(feature.columns)).T for feature in features])


def with_margins(features: Features, cells: Array) -> Array:
    """A table of cells as a tensor with all margins at index 0."""
    return along(cells, [margins(len(feature.columns)) for feature in features])


def shown_entries(features: Features, tensor: Array) -> Array:
    """The entries of a tensor that users see (`shown`)."""
    places = [feature.shown for feature in features]
    return tensor if tensor.shape == tuple(map(len, places)) else np.asarray(tensor[np.ix_(*places)])


def shown_covariance(features: Features, covariance: Array) -> Array:
    """The rows and columns of the covariance matrix of all entries that are of those that users see."""
    shape = [1 + len(feature.columns) for feature in features]
    places = shown_entries(features, np.arange(len(covariance), dtype=np.float64).reshape(shape)).reshape(-1)
    if len(places) == len(covariance):
        return covariance
    return np.asarray(covariance[np.ix_(places.astype(int), places.astype(int))])


def cell_weights(features: Features, answers: Mapping[str, Any]) -> list[Array]:
    """One vector per feature: that of the answer, or of everybody for a feature not asked about, or of any answer."""
    names = names_of(features)
    if unknown := [name for name in answers if name not in names]:
        alike = meant(unknown[0], names)
        raise EstimateError(f"no feature {abbreviated(unknown[0])} here; there are {listed(names)}{alike}")
    vectors = {}
    for feature in features:
        if feature.name in answers:
            rows, places = all_answers((feature,))[0], answer_places(feature, answers[feature.name])
            if len(places) < len(rows):  # everybody gave one of all answers, which is known without an error
                vectors[feature.name] = rows[places].sum(axis=0)
    return product_weights(features, vectors)


def answered_weights(feature: Feature) -> Array:
    """The weights on a feature's axis of all answers but the missing one."""
    kept = [answer != feature.missing for answer in feature.answers]
    return np.asarray(all_answers((feature,))[0][kept].sum(axis=0))


def answer_places(feature: Feature, answers: Any) -> list[int]:
    """The places of an answer, or of a list of different answers, among all answers to a feature."""
    places: list[int] = []
    for answer in answers if isinstance(answers, list | tuple) and len(answers) else [answers]:
        place = place_of_answer(feature, answer)
        if place in places:
            raise EstimateError(f"{feature.name!r} is asked about {answer!r} twice; name each answer once")
        places.append(place)
    return places


def place_of_answer(feature: Feature, answer: Any) -> int:
    """The place of an answer among those of a feature: as the schema has it, or in other words that mean only it.

    A flag's answers are also 1 and 0, yes and no in many languages, and the two words that its data have; whole
    numbers are the choices that are spelt so.
    """
    options = list[Any](feature.answers)
    if isinstance(answer, str | bool | np.bool_) and answer in options:
        return options.index(answer)
    word = plain(str(answer)) if isinstance(answer, str | int | np.integer | np.bool_) else ""
    if word and isinstance(feature, Flag) and word in (yes_and_no := _yes_and_no(feature)):
        return options.index(yes_and_no[word])
    if isinstance(answer, int | np.integer) and not isinstance(answer, bool) and word in options:
        return options.index(word)
    told = [*map(answer_as_text, options)]
    raise EstimateError(f"{feature.name!r} has the answers {told}; found {abbreviated(answer)}")


def _yes_and_no(flag: Flag) -> dict[str, bool]:
    """What words mean to a flag: the usual ones, and before them the two that its data have."""
    own = {plain(flag.words["yes"]): True, plain(flag.words["no"]): False} if flag.words else {}
    return {**dict.fromkeys(YES, True), **dict.fromkeys(NO, False), **own}


def feature_named(features: Features, name: Any) -> Feature:
    """The feature of a name, or an error that says which there are."""
    return features[places_of(features, [name], "this takes one of")[0]]


def both_weights(feature: Feature, left: Array, right: Array) -> Array:
    """The weights on a feature's axis of the product of two functions of its answers, given as weights on it."""
    over = [over_cells((feature,), weights) for weights in (left, right)]
    return np.asarray(over[0] * over[1] @ all_answers((feature,))[0])


def product_weights(features: Features, vectors: Mapping[str, Array]) -> list[Array]:
    """One vector per feature, with everybody's for those that are not named."""
    return [vectors.get(feature.name, np.eye(1, 1 + len(feature.columns))[0]) for feature in features]


def indicator(features: Features, what: Any) -> Indicated:
    """The feature of a flag, or of a choice's answer, and the weights on its axis of "is" and of "is not"."""
    name, answer = (what, True) if isinstance(what, str) else _named_answer(what)
    names = names_of(features)
    if name in names and isinstance(what, str):
        feature = features[names.index(name)]
        if isinstance(feature, Choice):
            raise EstimateError(f"{name!r} is a choice: say which answer, such as {(name, feature.answers[0])}")
    vector = cell_weights(features, {name: answer})[names.index(name)]
    return name, vector, np.eye(1, len(vector))[0] - vector


def two_indicators(features: Features, first: Any, second: Any) -> tuple[Indicated, Indicated]:
    """The weights of two indicators, of different features."""
    one, other = indicator(features, first), indicator(features, second)
    if one[0] == other[0]:
        raise EstimateError(f"this takes two different features; found {abbreviated(one[0])} twice")
    return one, other


def two_dividing(
    features: Features, first: Any, second: Any, kept: Mapping[str, Sequence[int]] | None = None
) -> tuple[Indicated, Indicated]:
    """The weights of two indicators of different features, neither of which holds of everybody.

    `kept` are, of features of which some answers are left out, the places of those that are not.
    """
    both = two_indicators(features, first, second)
    for name, _, is_not in both:
        feature = feature_named(features, name)
        others = over_cells((feature,), is_not)[list((kept or {}).get(name, range(len(feature.answers))))]
        if not others.any():
            raise EstimateError(
                f"everybody here gave one of these answers to {name!r}, so that there is nobody to compare them with: "
                "name fewer answers"
            )
    return both


def features_given(given: Any) -> Sequence[Any]:
    """The features that are given, one or several."""
    others = [given] if isinstance(given, str) else given
    if not isinstance(others, Sequence) or not others:
        raise EstimateError(f"conditional takes one or more features that are given; found {abbreviated(given)}")
    return others


def two_shares(features: Features, what: Any, between: Any) -> list[dict[str, Array]]:
    """The shares (with both, with the answer) for each of two answers, or groups of answers, to another feature."""
    if not isinstance(between, list | tuple) or len(between) != 3:
        told = 'between is a feature and two of its answers, or lists of them: ("age", "18-29", "65+")'
        raise EstimateError(f"{told}; found {abbreviated(between)}")
    name, *answers = between
    told = f"between takes two different answers; found {abbreviated(answers[0])} and {answers[1]!r}"
    if not all(isinstance(answer, str | bool | np.bool_ | list | tuple) for answer in answers):
        raise EstimateError(told)
    pieces, seen = [], []
    for answer in answers:
        (a, is_a, _), (b, is_b, _) = two_indicators(features, what, (name, answer))
        pieces += [{a: is_a, b: is_b}, {b: is_b}]
        seen.append(set(answer_places(feature_named(features, b), answer)))
    check_apart(feature_named(features, b), seen[0], seen[1])
    return pieces


def check_apart(feature: Feature, first: Collection[int], second: Collection[int]) -> None:
    """Refuse two groups of answers that have some in common, by their names."""
    if both := [repr(feature.answers[place]) for place in sorted({*first} & {*second})]:
        raise EstimateError(f"between takes two different groups of answers; {' and '.join(both)} is in both")


def _named_answer(what: Any) -> tuple[str, Any]:
    """A feature's name and one of its answers, given as a pair."""
    if not isinstance(what, list | tuple) or len(what) != 2 or not isinstance(what[0], str):
        raise EstimateError(f"this takes a flag, or a choice's answer as (name, answer); found {abbreviated(what)}")
    return what[0], what[1]


def checked_weights(features: Features, weights: npt.ArrayLike) -> Array:
    """Weights of the entries that users see, as finite numbers, as weights of all entries."""
    shape = tuple(len(feature.shown) for feature in features)
    try:
        array = np.asarray(weights)
    except ValueError:
        raise EstimateError(f"weights must have the shape of mean, {shape}; found {abbreviated(weights)}") from None
    if array.shape != shape:
        raise EstimateError(f"weights must have the shape of mean, {shape}; found {array.shape}")
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise EstimateError("weights must be finite numbers")
    given = array.astype(np.float64)
    every = np.zeros([1 + len(feature.columns) for feature in features])
    if every.shape == shape:
        return given
    every[np.ix_(*(feature.shown for feature in features))] = given
    return every


def factors(weights: Array) -> list[Array] | None:
    """One vector per feature whose product the weights are, if they are a product."""
    largest = [int(place) for place in np.unravel_index(np.argmax(np.abs(weights)), weights.shape)]
    top = weights[tuple(largest)]
    if top == 0:
        return None
    lines = [
        weights[tuple(slice(None) if j == k else at for j, at in enumerate(largest))] / top for k in range(weights.ndim)
    ]
    lines[0] = lines[0] * top
    return lines if np.allclose(reduce(np.multiply.outer, lines), weights, rtol=1e-12, atol=0) else None


def tidy(features: Features, numbers: Mapping[str, npt.ArrayLike], about: About, what: str = "a table") -> Table:
    """A table with a row for each combination of answers: the features, then these numbers of each cell."""
    names = names_of(features)
    if taken := set(names) & set(numbers):
        raise EstimateError(f"{what} has a column called {min(taken)!r} of its own; rename that feature")
    labels = zip(*product(*(feature.answers for feature in features)), strict=True)
    columns: dict[str, Column] = {
        feature.name: in_a_column(feature, own) for feature, own in zip(features, labels, strict=True)
    }
    return Table(columns | {name: np.asarray(one).reshape(-1) for name, one in numbers.items()}, names, about, features)


def in_a_column(feature: Feature, answers: Sequence[Any]) -> Sequence[Any]:
    """Answers as a column has them: those of a flag that may be skipped as words, also where nobody has skipped it."""
    skipped = isinstance(feature, Flag) and feature.missing is not None
    return list(map(answer_as_text, answers)) if skipped else of_one_type(answers)


def of_one_type(answers: Sequence[Any]) -> Sequence[Any]:
    """Answers as a column has them: those of a flag that may be skipped, which are of two types, as words."""
    return answers if len({*map(type, answers)}) == 1 else list(map(answer_as_text, answers))


def places_of(features: Features, names: Sequence[Any], asker: str) -> list[int]:
    """The places of different features by their names, or an error that begins with what asks for them."""
    have = names_of(features)
    unknown = [name for name in names if not isinstance(name, str) or name not in have]
    if not names or unknown or len(set(names)) < len(names):
        alike = meant(unknown[0], have) if unknown else ""
        raise EstimateError(f"{asker} {listed(have)}; found [{listed(unknown[:1] or names)}]{alike}")
    return [have.index(name) for name in names]
