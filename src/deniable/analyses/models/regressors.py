"""What a regression is on: an indicator of each answer of some features but the first, or of answers that are named."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from deniable.errors import EstimateError, abbreviated
from deniable.inference.one_feature import Array
from deniable.survey.schema import SEPARATOR, Choice, Schema

Predictor = str | tuple[str, Any]  # a feature, or one of its answers, or several that are taken together


@dataclass(frozen=True)
class Regressor:
    """An indicator of an answer to a feature, or of any of several answers, and what its coefficient is called."""

    name: str
    answer: Any
    term: str


def checked_names(outcome: Any, on: Any) -> list[str]:
    """The names of all features, the outcome's first and each of the others once."""
    if isinstance(on, str) or not isinstance(on, Sequence) or not on or not all(map(_is_predictor, on)):
        raise EstimateError(
            "regress takes a list of features to regress on, by their names, or answers as (name, answer); "
            f"found {abbreviated(on)}"
        )
    if isinstance(outcome, str):
        return [outcome, *_features(on)]
    if not isinstance(outcome, list | tuple) or len(outcome) != 2 or not isinstance(outcome[0], str):
        raise EstimateError(
            f"the outcome is a flag, or a choice's answer as (name, answer); found {abbreviated(outcome)}"
        )
    return [outcome[0], *_features(on)]


def regressors(schema: Schema, on: Sequence[Predictor], *, answered: bool = False) -> list[Regressor]:
    """The indicators of a regression: every answer of a feature but its first, or the answers that are named.

    Of complete cases, a missing answer is none.
    """
    found: list[Regressor] = []
    for predictor in on:
        if isinstance(predictor, str):
            found += [_regressor(predictor, answer) for answer in _counted(schema, predictor, answered)[1:]]
        else:
            found.append(_regressor(*predictor))
    terms = [one.term for one in found]
    for one in found:
        if terms.count(one.term) > 1:
            raise EstimateError(f"a regression takes each feature once; found {abbreviated(one.name)} again")
    return found


def reference_in_words(schema: Schema, on: Sequence[Predictor], *, answered: bool = False) -> str:
    """The first answers of choices, which have no indicator: what coefficients of the others are compared with."""
    choices = [one for one in on if isinstance(one, str) and isinstance(schema[one], Choice)]
    return "; ".join(f"{name}{SEPARATOR}{_counted(schema, name, answered)[0]}" for name in choices)


def rarest_in_words(schema: Schema, each: Sequence[Regressor], shares: Array, *, answered: bool = False) -> str:
    """Which answer is the rarest, those included that no indicator is of, and what can be done about it.

    The shares are of the constant, all who are regressed, and then of each indicator.
    """
    by_feature: dict[str, dict[str, float]] = {}
    for one, share in zip(each, shares[1:] / shares[0], strict=True):
        by_feature.setdefault(one.name, {})[one.term] = float(share)
    for name, own in by_feature.items():
        seen = [answer for one in each if one.name == name for answer in _several(one.answer)]
        left = [answer for answer in _counted(schema, name, answered) if answer not in seen]
        own[f"{name}{SEPARATOR}{' or '.join(map(str, left))}"] = 1 - sum(own.values())
    name, term = min(
        ((name, term) for name, own in by_feature.items() for term in own), key=lambda at: by_feature[at[0]][at[1]]
    )
    told = f"The rarest answer is {term}, with a share of {by_feature[name][term]:.3f}"
    feature = schema[name]
    if term == f"{name}{SEPARATOR}{feature.missing}":
        return f"{told}: leave missing answers out (answered=True; in the shell --answered), or ask more people"
    if not isinstance(feature, Choice) or len(by_feature[name]) <= 2:
        return f"{told}: regress on other features, or ask more people"
    common = _commonest(by_feature[name])
    return (
        f"{told}: regress on a commoner answer of {name} alone, on=[({name!r}, {common!r})] (in the shell "
        f"{quote(f'{name}={common}')}), on several taken together (a list of them; in the shell with commas between), "
        "on fewer features, or ask more people"
    )


def _commonest(shares: Mapping[str, float]) -> str:
    """The commonest answer of a feature, given the shares of what its coefficients are called."""
    return max(shares, key=lambda term: shares[term]).split(SEPARATOR, 1)[1]


def _counted(schema: Schema, name: str, answered: bool) -> list[Any]:
    """The answers of a feature that are regressed on: all, or all but the missing one."""
    feature = schema[name]
    return [answer for answer in feature.answers if not answered or answer != feature.missing]


def _regressor(name: str, answer: Any) -> Regressor:
    term = name if answer is True else f"{name}{SEPARATOR}{' or '.join(map(str, _several(answer)))}"
    return Regressor(name, answer, term)


def _several(answer: Any) -> Sequence[Any]:
    return answer if isinstance(answer, list | tuple) else [answer]


def _is_predictor(one: Any) -> bool:
    return isinstance(one, str) or (isinstance(one, list | tuple) and len(one) == 2 and isinstance(one[0], str))


def _features(on: Sequence[Predictor]) -> list[str]:
    return list(dict.fromkeys(one if isinstance(one, str) else one[0] for one in on))
