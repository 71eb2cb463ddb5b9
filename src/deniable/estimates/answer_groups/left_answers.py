"""Answers of which some are left out: their features, the matrices to their entries, and whom they are of, in words."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.answers_as_weights import all_answers
from deniable.inference.one_feature import Array
from deniable.survey.schema import Choice, Feature, Flag
from deniable.text.fixed_phrases import answer_as_text


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
