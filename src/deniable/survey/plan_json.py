"""Plans as JSON: version 1 where every question stands alone in one arm, version 2 for all that is new.

    version 1    features, each with its protocol; no missing answers and no labels
    version 2    features; and arms, each with a name, a share over 65 536, and blocks: places of features, a protocol

What needs nothing new is written as version 1, which is read for ever.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deniable.client import EVERYBODY, MAX_BYTES, NEW_KEYS, SCALE
from deniable.errors import PlanError, abbreviated
from deniable.survey.blocks import Block, check_asked_once, stand_in
from deniable.survey.protocols import PROTOCOLS
from deniable.survey.protocols.base import Protocol
from deniable.survey.questions.survey_file import feature_from_json
from deniable.survey.schema import Feature, Flag, Schema

if TYPE_CHECKING:
    from deniable.survey.plan import Plan


def meaning(plan: "Plan") -> dict[str, Any]:
    """What a plan means, as JSON: all that its fingerprint is of."""
    alone = not plan.has_arms and all(len(block.features) == 1 for block in plan.blocks)
    if alone and not plan.kept and all(set(NEW_KEYS).isdisjoint(feature.to_json()) for feature in plan.schema):
        features = [block.unit.to_json() | {"protocol": _protocol(block.protocol)} for block in plan.blocks]
        return {"version": 1, "features": features}
    arms = [
        {
            "name": name,
            "share": share,
            "blocks": [
                {"features": [plan.schema.index(own) for own in block.names], "protocol": _protocol(block.protocol)}
                for block in arm.blocks
            ],
        }
        for name, share, arm in zip(plan.arm_names, plan.shares, plan.arms, strict=True)
    ]
    how: dict[str, Any] = {"assigned": True} if plan.assigned else {}
    how |= {"repeat": "keep"} if plan.kept else {}
    how |= {"fresh": plan.kept} if 0 < plan.kept < SCALE else {}
    return {"version": 2, "features": [feature.to_json() for feature in plan.schema], "arms": arms, **how}


def reading(schema: Schema) -> dict[str, Any]:
    """What stands beside a plan's meaning for those who read data with it: the words that its flags declare."""
    words = {feature.name: feature.words for feature in schema if isinstance(feature, Flag) and feature.words}
    return {"reading": words} if words else {}


def _features(document: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]) -> Schema:
    """The schema of a plan's JSON, with the words that stand beside it."""
    words = document.get("reading", {})
    names = {table["name"] for table in tables if "values" not in table}
    right = isinstance(words, Mapping) and words.keys() <= names
    if not right or not all(isinstance(own, Mapping) and own.keys() == {"yes", "no"} for own in words.values()):
        raise PlanError(f"the plan's reading must be the words for yes and no of its flags; found {abbreviated(words)}")
    return Schema(feature_from_json({**table, **words.get(table["name"], {})}) for table in tables)


def _protocol(protocol: Protocol) -> dict[str, Any]:
    return {"name": protocol.name, **protocol.integers}


def text(document: Mapping[str, Any]) -> str:
    """JSON text for people and programs: indented; of version 2, a short line for each feature and each arm."""
    if document["version"] == 1:
        made = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    else:
        made = "{\n" + ",\n".join(f' "{key}": {_lines(value)}' for key, value in document.items()) + "\n}\n"
    if (size := len(made.encode())) > MAX_BYTES:
        most = f"a plan has at most {MAX_BYTES:,} bytes as JSON, or no device would take it"
        raise PlanError(f"{most}; found {size:,}: ask less, in fewer arms, or with shorter texts")
    return made


def _lines(value: Any) -> str:
    """A value of the plan's JSON, as short as can be; a list has a line for each of its parts."""
    if isinstance(value, list):
        return "[\n  " + ",\n  ".join(map(_lines, value)) + "\n ]"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class ArmRead:
    """One arm as read from JSON: its name, its share and its blocks."""

    name: str
    share: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class PlanRead:
    """A plan as read from JSON."""

    schema: Schema
    arms: Sequence[ArmRead]
    assigned: bool


def parsed(document: Mapping[str, Any]) -> PlanRead:
    """The parts of a plan's JSON, which the client has checked; features and blocks are put into the schema's order."""
    if document["version"] == 1:
        tables = [dict(table) for table in document["features"]]
        protocols = [table.pop("protocol") for table in tables]
        schema = _features(document, tables)
        blocks = tuple(_block([feature], table) for feature, table in zip(schema, protocols, strict=True))
        return PlanRead(schema, [ArmRead(EVERYBODY, SCALE, blocks)], assigned=False)
    schema = _features(document, document["features"])
    fresh = document.get("fresh", SCALE)
    arms = [
        ArmRead(arm["name"], arm["share"], tuple(_arm_blocks(schema, arm["blocks"], fresh))) for arm in document["arms"]
    ]
    return PlanRead(schema, arms, assigned=bool(document.get("assigned", False)))


def _arm_blocks(schema: Schema, tables: Sequence[Mapping[str, Any]], fresh: int) -> Iterator[Block]:
    """The blocks of an arm, by their first features."""
    read = sorted((sorted(table["features"]), place) for place, table in enumerate(tables))
    check_asked_once(tuple(schema.names[at] for at in places) for places, _ in read)
    for places, place in read:
        block = _block([schema.features[at] for at in places], tables[place]["protocol"])
        yield block if fresh == SCALE else replace(block, protocol=block.protocol.with_fresh(fresh))


def _block(features: Sequence[Feature], protocol: Mapping[str, Any]) -> Block:
    integers = {key: number for key, number in protocol.items() if key != "name"}
    return Block(tuple(features), PROTOCOLS[protocol["name"]].from_integers(integers, stand_in(features)))
