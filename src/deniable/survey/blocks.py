"""Blocks: questions that are randomized together, as one choice over all combinations of their answers.

A combination's code has the first question changing slowest, as C order has it, so that a table of the block's features
is the choice's table in another shape. A block of one question is that question.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Any

from deniable.client import MAX_VALUES
from deniable.errors import PlanError, SchemaError, abbreviated, listed
from deniable.survey.protocols.base import Protocol
from deniable.survey.schema import SEPARATOR, Choice, Feature, Schema

TIMES = " x "  # This stands between the questions of a block, and between their answers, where they are named together.

Names = tuple[str, ...]  # The names of a block's features, in the schema's order.


@dataclass(frozen=True)
class Block:
    """Features that are randomized together by one protocol, which is bound to `unit`."""

    features: tuple[Feature, ...]
    protocol: Protocol

    @cached_property
    def names(self) -> Names:
        """The features' names, in the schema's order."""
        return tuple(feature.name for feature in self.features)

    @property
    def key(self) -> str | Names:
        """What the block is called where tables are asked for: a feature's name, or the names of several."""
        return self.names[0] if len(self.features) == 1 else self.names

    @property
    def name(self) -> str:
        """What the block is called in print."""
        return TIMES.join(self.names)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """How many answers each feature has."""
        return tuple(feature.levels for feature in self.features)

    @cached_property
    def ratio(self) -> Fraction:
        """e^epsilon of the block, exactly."""
        return self.protocol.ratio

    @cached_property
    def unit(self) -> Feature:
        """The block as one feature: its only one, or a choice over all combinations of answers."""
        return combined(self.features)


def combined(features: Sequence[Feature]) -> Feature:
    """One feature for several: a choice over the product of their answers, at most 4 096 combinations."""
    if len(features) == 1:
        return features[0]
    _combinations(features)
    values = [TIMES.join(map(str, answers)) for answers in product(*(feature.answers for feature in features))]
    if len(set(values)) < len(values):  # answers that hold what stands between them
        values = [f"{place}{SEPARATOR}{value}" for place, value in enumerate(values)]
    return Choice(_unit_name(features), values)


def stand_in(features: Sequence[Feature]) -> Feature:
    """A feature of the name and the number of answers that the block has as one, which its protocol is bound to.

    It is made in no time, however many combinations there are; what they are called, a protocol does not ask.
    """
    if len(features) == 1:
        return features[0]
    made = copy(_numbered(_combinations(features)))
    object.__setattr__(made, "name", _unit_name(features))
    return made


@lru_cache(maxsize=64)
def _numbered(combinations: int) -> Choice:
    return Choice("block", map(str, range(combinations)))


def _unit_name(features: Sequence[Feature]) -> str:
    """The name of a block as one feature, without the separator that would make it a column of a group of flags."""
    return TIMES.join(feature.name for feature in features).replace(SEPARATOR, " ")


def _combinations(features: Sequence[Feature]) -> int:
    """How many combinations of answers these features have; too many are refused."""
    if (count := prod(feature.levels for feature in features)) > MAX_VALUES:
        each = TIMES.join(str(feature.levels) for feature in features)
        raise PlanError(
            f"asked together, {listed(feature.name for feature in features)} have {each} = {count:,} combinations of "
            f"answers, and a block has at most {MAX_VALUES:,}; ask fewer of them together, or merge answers"
        )
    return count


def grouped(schema: Schema, names: Any) -> Names:
    """The features that these names mean, in the schema's order: a group's name means all its flags."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise PlanError(f'a block is a list of one or more names, ["smoker", "age"]; found {abbreviated(names)}')
    found: list[str] = []
    for name in names:
        if not isinstance(name, str):
            raise PlanError(f"a block is a list of names; found {abbreviated(name)} in it")
        found += [feature.name for feature in schema.questions.get(name) or (schema[name],)]
    if len(set(found)) < len(found):
        raise PlanError(f"a block asks each question once; found {listed(names)}")
    return tuple(sorted(found, key=schema.index))


def check_asked_once(blocks: Iterable[Names]) -> None:
    """Refuse blocks of one person that ask a question twice."""
    seen: dict[str, Names] = {}
    for names in blocks:
        for name in names:
            if name in seen:
                raise PlanError(
                    f"{name!r} is asked twice, in {TIMES.join(seen[name])!r} and in {TIMES.join(names)!r}; one person "
                    "is asked a question once: put it into one block, or into different arms"
                )
            seen[name] = names


def check_told_apart(blocks: Iterable[Block]) -> None:
    """Refuse blocks of different questions whose names as one feature are the same, or one a column of another."""
    different = {block.names: block.features for block in blocks}
    if all(len(names) == 1 for names in different):
        return
    try:
        Schema(map(stand_in, different.values()))
    except SchemaError as error:
        raise PlanError(f"blocks cannot be told apart by what they are called: {error}; rename a question") from None
