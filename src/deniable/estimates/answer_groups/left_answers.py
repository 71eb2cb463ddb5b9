"""Answers of which some are left out: their features, the matrices to their entries, and whom they are of, in words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.answers_as_weights import all_answers, answer_places, both_weights
from deniable.inference.one_feature import Array
from deniable.survey.schema import Choice, Feature, Flag
from deniable.text.fixed_phrases import answer_as_text

Product = dict[str, Array]  # weights of the features that a share looks at


def before_among(name: str) -> Callable[..., NoReturn]:
    """A method of estimates that those among some respondents do not have, as it is about everybody."""

    def refused(self: object, *_: Any, **__: Any) -> NoReturn:  # noqa: ARG001 - a method
        raise EstimateError(f"call {name}(...) before among(...), as it is about everybody: est.{name}(...).among(...)")

    refused.__doc__ = f"Refuse `{name}`, which is called before `among`: it is about everybody."
    return refused


def not_among(name: str) -> Callable[..., NoReturn]:
    """A method of estimates that those among some respondents do not have, as their shares are ratios."""

    def refused(self: object, *_: Any, **__: Any) -> NoReturn:  # noqa: ARG001 - a method
        raise EstimateError(
            f"there is no {name}(...) among some respondents, as their shares are ratios: cell, table, difference, "
            f"mean_of and contrasts are about them, and est.{name}(...), of the estimate before among(...), about all"
        )

    refused.__doc__ = f"Refuse `{name}`, which is of everybody's numbers: shares among some are ratios."
    return refused


def within(
    features: Sequence[Feature], kept: Mapping[str, Sequence[int]], products: Sequence[Mapping[str, Array]]
) -> list[Product]:
    """The weights of shares times those of having given the answers at the places that are kept."""
    named = {feature.name: feature for feature in features}
    own = {name: counted(named[name], places) for name, places in kept.items()}
    found = [dict(one) for one in products]
    for one in found:
        for name, vector in own.items():
            one[name] = both_weights(named[name], one[name], vector) if name in one else vector
    return found


def check_left(feature: Feature, answers: Any, kept: Mapping[str, Sequence[int]]) -> None:
    """Refuse answers of a feature that are left out, by their name."""
    for place in answer_places(feature, answers):
        if place not in kept.get(feature.name, [place]):
            raise EstimateError(f"{feature.answers[place]!r} of {feature.name!r} is left out here")


def left_of(feature: Feature, kept: Sequence[int] | None) -> tuple[Feature, Array]:
    """A feature with the answers at these places alone, and the matrix from its entries to those that are left."""
    rows = all_answers((feature,))[0]
    if kept is None or len(kept) == len(rows):
        return feature, np.eye(rows.shape[1])
    if len(kept) < 2:
        raise EstimateError(
            f"all who are left answered {feature.answers[kept[0]]!r} to {feature.name!r}: it goes together with nothing"
        )
    answers, everybody = [feature.answers[place] for place in kept], counted(feature, kept)
    if isinstance(feature, Flag) and answers == [False, True]:
        return replace(feature, missing=None), np.vstack([everybody, rows[kept[1]]])
    missing = feature.missing if feature.missing in answers else None
    words = [answer_as_text(answer) for answer in answers]
    return Choice(feature.name, words, missing=missing), np.vstack([everybody, rows[list(kept)]])


def answered_of(feature: Feature) -> tuple[int, ...]:
    """The places of all answers to a feature but the missing one."""
    return tuple(place for place, answer in enumerate(feature.answers) if answer != feature.missing)


def counted(feature: Feature, kept: Sequence[int]) -> Array:
    """The weights on a feature's axis of all who gave one of the answers at these places."""
    return np.asarray(all_answers((feature,))[0][list(kept)].sum(axis=0))


def in_words(left: Iterable[tuple[Feature, Sequence[int]]]) -> str:
    """Who gave the answers at these places to each of some features; nothing if nobody is left out."""
    told, answered = [], []
    for feature, places in left:
        kept = [feature.answers[place] for place in places]
        if feature.missing is not None and tuple(places) == answered_of(feature):
            answered.append(feature.name)
            continue
        *first, last = map(answer_as_text, kept)
        told.append(f"{feature.name}: {' or '.join([', '.join(first), last] if first else [last])}")
    who = [f"who answered {' and '.join(answered)}"] * bool(answered) + [f"with {'; '.join(told)}"] * bool(told)
    return f"among those {' and '.join(who)}" if who else ""


def answered_in_words(features: Iterable[Feature]) -> str:
    """Who answered all of some features, in words; nothing if none of them may be skipped."""
    return in_words((feature, answered_of(feature)) for feature in features if feature.missing is not None)


def only_answered(est: Any) -> Any:
    """An estimate among those who answered all its questions: without missing answers."""
    for feature in est.features:
        if feature.missing is not None:
            est = est.among(feature.name, [answer for answer in feature.answers if answer != feature.missing])
    return est
