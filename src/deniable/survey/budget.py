"""Who gets which protocol: those that are given, and for the rest an even split of what is left of epsilon."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from deniable import client
from deniable.errors import PlanError, SchemaError, abbreviated
from deniable.survey.blocks import TIMES, Block, Names, check_asked_once, grouped, stand_in
from deniable.survey.protocols.base import Protocol, bound
from deniable.survey.protocols.best import best
from deniable.survey.protocols.grid import Epsilon, positive
from deniable.survey.schema import Choice, Feature, Flag, Schema


def given_protocols(schema: Schema, protocols: Mapping[Any, Any]) -> dict[Names, Any]:
    """A user's protocols by the names of their blocks; a group's own name gives each of its flags the protocol."""
    given: dict[Names, Any] = {}
    by: dict[Names, Any] = {}
    for key, protocol in protocols.items():
        blocks = _blocks_of_key(schema, key)
        if isinstance(protocol, Protocol) and not protocol.protects and len(blocks[0]) > 1:
            raise PlanError(f"public columns are shown as they are, each by itself; found {abbreviated(key)} together")
        for names in blocks:
            if names in given:
                raise PlanError(f"{TIMES.join(names)!r} is given two protocols, by {by[names]!r} and by {key!r}")
            given[names], by[names] = protocol, key
    return given


def _blocks_of_key(schema: Schema, key: Any) -> list[Names]:
    """The blocks that a key of the protocols means: each flag of a group by its name, or one block by several names."""
    if isinstance(key, str):
        return [(feature.name,) for feature in schema.questions.get(key) or (schema[key],)]
    try:
        return [grouped(schema, key)]
    except (PlanError, SchemaError) as error:
        raise type(error)(f"the protocol of {key!r}: {error}") from None


def assigned_blocks(
    schema: Schema, given: Mapping[Names, Any], together: Sequence[Names], epsilon: Epsilon | None
) -> tuple[Block, ...]:
    """The blocks of a plan without arms, each with its protocol, in the order of their first features.

    What the given protocols spend comes off epsilon first; the rest is split evenly over the blocks of `together` and
    the other questions, a group's share over its flags.
    """
    check_asked_once(together)
    check_asked_once(dict.fromkeys([*given, *together]))
    protocols = {names: bound(protocol, stand_in(_features(schema, names))) for names, protocol in given.items()}
    taken = {name for names in (*given, *together) for name in names}
    shared = [*([names] for names in together if names not in given), *_alone(schema, taken)]
    if shared:
        protocols |= _split(schema, shared, protocols, epsilon)
    elif epsilon is not None:
        raise PlanError("every feature has its protocol already; leave epsilon out")
    blocks = [Block(_features(schema, names), protocol) for names, protocol in protocols.items()]
    return tuple(sorted(blocks, key=lambda block: schema.index(block.names[0])))


def _features(schema: Schema, names: Names) -> tuple[Feature, ...]:
    return tuple(schema[name] for name in names)


def _alone(schema: Schema, taken: set[str]) -> list[list[Names]]:
    """The features of each question that are in no block."""
    alone: list[list[Names]] = [
        [(feature.name,) for feature in features if feature.name not in taken] for features in schema.questions.values()
    ]
    return [names for names in alone if names]


def _split(
    schema: Schema, shared: Sequence[Sequence[Names]], given: Mapping[Names, Protocol], epsilon: Epsilon | None
) -> dict[Names, Protocol]:
    """The best protocols for blocks without one: equal shares of what is left, each split evenly over its blocks."""
    names = [TIMES.join(block) for blocks in shared for block in blocks]
    if epsilon is None:
        raise PlanError(
            f"no protocol for {', '.join(map(repr, names))}; name one for each, or give a total: epsilon, or --epsilon"
        )
    left = positive(epsilon) - Fraction(client.log_up(p.ratio for p in given.values()))
    if left <= 0:
        raise PlanError(f"the protocols given spend all of epsilon {epsilon}; nothing is left for {', '.join(names)}")
    chosen: dict[Names, Protocol] = {}
    for blocks in shared:
        for block in blocks:
            try:
                columns = len(stand_in(_features(schema, block)).columns)
                chosen[block] = best_for(columns, left / len(shared) / len(blocks))
            except PlanError as error:
                raise PlanError(f"{'feature' if len(block) == 1 else 'block'} {TIMES.join(block)!r}: {error}") from None
    return chosen


@lru_cache(maxsize=256)
def best_for(columns: int, epsilon: Fraction) -> Protocol:
    """The protocol of least variance, which depends on nothing of a feature but how many evidence columns it has."""
    return best(Flag("flag") if columns == 1 else Choice("choice", map(str, range(columns))), epsilon)
