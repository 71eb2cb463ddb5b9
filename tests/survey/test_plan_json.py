"""Plans as JSON: version 1 for what needs nothing new, version 2 for blocks and arms, each written in one way alone."""

import json
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest

import deniable as dn
from deniable import client
from deniable.survey import plan_json
from tests.support.random_plans import random_plan
from tests.support.situations import PLANS, values

OLD = Path(__file__).parents[1] / "data" / "0.1.0"
SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", values(3)), dn.Flag("drinker"), dn.Choice("region", values(2))])
FIRST_TWO = dn.Plan(dn.Schema(SCHEMA.features[:2]), epsilon=0.5, together=[["smoker", "age"]])
DESIGNS = {
    "a block": dn.Plan(SCHEMA, epsilon=2.0, together=[["smoker", "age"]]),
    "a block of all": dn.Plan(SCHEMA, epsilon=2.0, together=[SCHEMA.names]),
    "two blocks that cross": dn.Plan(SCHEMA, epsilon=2.0, together=[["smoker", "drinker"], ["age", "region"]]),
    "arms": dn.Plan(SCHEMA, epsilon=2.0, arms=[["smoker", "age"], ["drinker", "region"]]),
    "arms of single questions": dn.Plan(SCHEMA, epsilon=2.0, arms=[[name] for name in SCHEMA.names]),
    "arms with shares": dn.Plan(SCHEMA, epsilon=2.0, arms={("smoker", "age"): 1, ("drinker", "region"): 1e-9}),
    "arms with odd names": dn.Plan(
        SCHEMA, epsilon=2.0, arms={'größe "🎈" \\': ["smoker", "age"], "everybody": ["drinker", "region"]}
    ),
    "assigned": dn.Plan(SCHEMA, epsilon=2.0, arms=[["smoker", "age"], ["drinker", "region"]], assigned=True),
    "unequal": dn.Plan(SCHEMA, arms=[dn.Plan(SCHEMA, epsilon=3.0), FIRST_TWO], unequal=True),
    "public in every arm": dn.Plan(SCHEMA, {"region": dn.Public()}, epsilon=1.0, arms=[["smoker", "age"], ["drinker"]]),
    "the same arm twice": dn.Plan(SCHEMA, epsilon=1.0, arms=[SCHEMA.names, SCHEMA.names]),
}


def read_again(document: dict[str, Any]) -> dn.Plan:
    """What `Plan.from_json` makes of a document that the client has checked."""
    read = plan_json.parsed(document)
    plans = tuple(dn.Plan._of_blocks(read.schema, arm.blocks, None) for arm in read.arms)
    plan = object.__new__(dn.Plan)
    shares, names = tuple(arm.share for arm in read.arms), tuple(arm.name for arm in read.arms)
    plan._set_arms(read.schema, plans, shares, names, assigned=read.assigned)
    return plan


# -- what is written ---------------------------------------------------------------------------------------------------


def test_a_plan_of_0_1_0_is_its_own_only_arm_and_keeps_its_fingerprint_and_bytes() -> None:
    plan = dn.Plan.load(OLD / "plan.json")
    expected = json.loads((OLD / "expected.json").read_text())
    assert plan.arms == (plan,)
    assert (plan.shares, plan.arm_names, plan.assigned) == ((65536,), ("everybody",), False)
    assert [block.key for block in plan.blocks] == list(plan.schema.names)
    assert plan.fingerprint == expected["fingerprint"]
    assert plan.to_json().encode() == (OLD / "plan.json").read_bytes()
    assert dn.Plan(plan.schema, arms=[plan]).to_json().encode() == (OLD / "plan.json").read_bytes()


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_what_needs_nothing_new_is_written_as_version_1(plan: dn.Plan) -> None:
    assert plan_json.meaning(plan)["version"] == 1
    alone = dn.Plan(plan.schema, {(name,): plan[name] for name in plan.schema.names if name not in plan.public}
                    | {name: dn.Public() for name in plan.public})  # fmt: skip
    assert alone.to_json() == plan.to_json()


@pytest.mark.parametrize("plan", DESIGNS.values(), ids=DESIGNS.keys())
def test_blocks_and_arms_are_written_as_version_2(plan: dn.Plan) -> None:
    document = json.loads(plan.to_json())
    assert list(document)[:3] == ["version", "features", "arms"]
    assert document["version"] == 2
    assert document["features"] == [feature.to_json() for feature in plan.schema]
    assert document["fingerprint"] == plan.fingerprint == client.fingerprint(document)
    assert document["epsilon"] == plan.epsilon
    assert document.get("assigned") == (True if plan.assigned else None)
    assert [arm["name"] for arm in document["arms"]] == list(plan.arm_names)
    assert [arm["share"] for arm in document["arms"]] == list(plan.shares)
    for arm, own in zip(document["arms"], plan.arms, strict=True):
        assert list(arm) == ["name", "share", "blocks"]
        for table, block in zip(arm["blocks"], own.blocks, strict=True):
            assert list(table) == ["features", "protocol"]
            assert tuple(plan.schema.names[at] for at in table["features"]) == block.names
            assert table["protocol"] == {"name": block.protocol.name, **block.protocol.integers}


def test_a_block_by_hand() -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", ["x", "y"])])
    plan = dn.Plan(schema, {("a", "c"): dn.GRR(epsilon=1.0), "b": dn.RandomizedResponse(p=0.25, q=0.75)})
    keep = plan.blocks[0].protocol.integers["keep"]
    assert plan_json.meaning(plan) == {
        "version": 2,
        "features": [{"name": "a"}, {"name": "b"}, {"name": "c", "values": ["x", "y"]}],
        "arms": [
            {
                "name": "everybody",
                "share": 65536,
                "blocks": [
                    {"features": [0, 2], "protocol": {"name": "GRR", "keep": keep}},
                    {"features": [1], "protocol": {"name": "randomized response", "p": 16384, "q": 49152}},
                ],
            }
        ],
    }
    assert plan.to_json().splitlines() == [
        "{",
        ' "version": 2,',
        ' "features": [',
        '  {"name":"a"},',
        '  {"name":"b"},',
        '  {"name":"c","values":["x","y"]}',
        " ],",
        ' "arms": [',
        '  {"name":"everybody","share":65536,"blocks":['
        f'{{"features":[0,2],"protocol":{{"name":"GRR","keep":{keep}}}}},'
        '{"features":[1],"protocol":{"name":"randomized response","p":16384,"q":49152}}]}',
        " ],",
        f' "epsilon": {plan.epsilon!r},',
        f' "fingerprint": "{plan.fingerprint}"',
        "}",
    ]


# -- what is read ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [*DESIGNS.values(), *PLANS.values()], ids=[*DESIGNS, *PLANS])
def test_what_was_written_is_read_again(plan: dn.Plan) -> None:
    again = read_again(json.loads(plan.to_json()))
    assert again == plan
    assert (again.blocks, again.shares, again.arm_names) == (plan.blocks, plan.shares, plan.arm_names)
    assert (again.schema, again.assigned, again.epsilon) == (plan.schema, plan.assigned, plan.epsilon)
    assert [arm.blocks for arm in again.arms] == [arm.blocks for arm in plan.arms]
    assert again.to_json() == plan.to_json()


def test_random_plans_are_read_again() -> None:
    rng = Random(5)
    for _ in range(200):
        plan = random_plan(rng, 100_000)
        again = read_again(json.loads(plan.to_json()))
        assert again == plan
        assert again.blocks == plan.blocks
        assert plan_json.parsed(plan_json.meaning(plan)) == plan_json.parsed(json.loads(plan.to_json()))


WRITTEN_OTHERWISE = {
    "features of a block in another order": lambda arms: arms[0]["blocks"][0].update(features=[1, 0]),
    "blocks of an arm in another order": lambda arms: arms[0]["blocks"].reverse(),
}


@pytest.mark.parametrize("change", WRITTEN_OTHERWISE.values(), ids=WRITTEN_OTHERWISE.keys())
def test_what_is_written_in_another_way_is_another_plan(change: Any) -> None:
    """So that `Plan.from_json`, which compares fingerprints, refuses it."""
    document = json.loads(DESIGNS["a block"].to_json())
    change(document["arms"])
    assert read_again(document) == DESIGNS["a block"]
    assert client.fingerprint(document) != DESIGNS["a block"].fingerprint


def test_version_2_where_version_1_would_do_is_another_way_of_writing() -> None:
    plan = dn.Plan(SCHEMA, epsilon=1.0)
    blocks = [{"features": [k], "protocol": {"name": p.name, **p.integers}} for k, p in enumerate(plan.protocols)]
    features = [feature.to_json() for feature in SCHEMA]
    document = {"version": 2, "features": features, "arms": [{"name": "everybody", "share": 65536, "blocks": blocks}]}
    assert read_again(document) == plan
    assert client.fingerprint(document) != plan.fingerprint


def block(*places: int, keep: int = 40_000) -> dict[str, Any]:
    return {"features": list(places), "protocol": {"name": "GRR", "keep": keep}}


def arm(name: str, share: int, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "share": share, "blocks": list(blocks)}


IMPOSSIBLE = {
    "a question twice in an arm": ([arm("a", 65536, block(0, 1, 2, 3), block(1))], "'age' is asked twice"),
    "a question in no arm": ([arm("a", 9, block(0, 1)), arm("b", 65527, block(1))], "no arm asks 'drinker', 'region'"),
    "too many": ([arm("a", 65536, block(*range(13)))], r"2 x 2 x .* = 8,192 combinations"),
}


@pytest.mark.parametrize(("arms", "message"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_what_cannot_be_is_refused_here_too(arms: Any, message: str) -> None:
    """The client refuses it before, where it is read; this room does not rely on that."""
    features = [feature.to_json() for feature in SCHEMA]
    if message.startswith("2 x"):
        features = [{"name": f"f{k}"} for k in range(13)]
    with pytest.raises(dn.PlanError, match=message):
        read_again({"version": 2, "features": features, "arms": arms})


def test_blocks_that_look_alike_are_refused_here_too() -> None:
    features = [{"name": name} for name in ("a", "b", "a x b")]
    single = {"features": [2], "protocol": {"name": "randomized response", "p": 1, "q": 9}}
    with pytest.raises(dn.PlanError, match="cannot be told apart"):
        read_again({"version": 2, "features": features, "arms": [arm("a", 1, block(0, 1)), arm("b", 65535, single)]})


def test_one_arm_cannot_be_assigned() -> None:
    document = json.loads(DESIGNS["a block"].to_json()) | {"assigned": True}
    with pytest.raises(dn.PlanError, match="nothing to assign"):
        read_again(document)


# -- many arms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["f{}", "question {:02}", "smoked in {}"])
def test_560_arms_take_at_most_100_kilobytes_and_are_read_fast(name: str) -> None:
    schema = dn.Schema([dn.Flag(name.format(1990 + k)) for k in range(16)])
    plan = dn.Plan(schema, epsilon=1.0, arms=[list(names) for names in combinations(schema.names, 3)])
    text = plan.to_json()
    assert len(text.encode()) <= 100_000
    assert read_again(json.loads(text)) == plan
