"""Plans without some of their questions, and at another epsilon."""

from typing import Any

import pytest

import deniable as dn
from deniable.survey.aim import Aim
from deniable.survey.without import want_without, with_epsilon

SCHEMA = dn.Schema(
    [
        dn.Flag("smoker"),
        dn.Choice("age", ["18-29", "30-64", "65+"]),
        dn.Flag("drinker"),
        dn.Choice("region", ["north", "south"]),
        dn.Flags("sports", ["chess", "judo"]),
    ]
)

WANT: list[Any] = [("smoker", "drinker"), "region", "sports", "age"]
WANT_LEFT = WANT[:3]


def test_an_even_split_is_split_again() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0).without("age", "sports")
    assert plan.schema.names == ("smoker", "drinker", "region")
    even = dn.Plan(plan.schema, epsilon=2.0)
    assert [block.protocol.name for block in plan.blocks] == [block.protocol.name for block in even.blocks]
    assert [block.protocol.epsilon for block in plan.blocks] == pytest.approx([2 / 3] * 3, abs=2e-3)
    assert 1.999 < plan.epsilon <= 2


def test_a_plan_read_from_json_loses_no_more_than_its_grid() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0)
    again = dn.Plan.from_json(plan.to_json()).without("age")
    assert plan.epsilon - 1e-3 < again.epsilon <= plan.epsilon


def test_a_design_is_designed_again_for_the_same() -> None:
    want = [("smoker", "age"), ("smoker", "drinker"), "region", "sports"]
    plan = dn.design(SCHEMA, epsilon=2.0, want=want, n=5_000)
    without = plan.without("region")
    schema = dn.Schema(feature for feature in SCHEMA if feature.name != "region")
    assert without == dn.design(schema, epsilon=2.0, want=[*want[:2], "sports"], n=5_000)
    assert without.n == 5_000
    assert without.asked == 2
    assert plan.without("region", goal="worst") == dn.design(
        schema, epsilon=2.0, want=[*want[:2], "sports"], goal="worst"
    )


def test_public_columns_stay_public() -> None:
    plan = dn.design(SCHEMA, epsilon=2.0, public=["region"])
    assert plan.without("age").public == ("region",)
    assert plan.without("region").public == ()


def test_what_is_left_of_a_wanted_table_counts_where_no_other_holds_it() -> None:
    want = [("a", "b"), ("a", "c"), ("c", "d"), ("c",)]
    assert want_without(want, ["c"]) == [("a", "b"), ("d",)]
    assert want_without(want, ["a"]) == [("c", "d"), ("c",), ("b",)]
    assert want_without([("a", "b", "c"), ("b", "d")], ["a", "d"]) == [("b", "c")]


def test_arms_lose_the_question_keep_their_shares_and_their_epsilon() -> None:
    arms = {("smoker", "age"): 0.5, ("age", "drinker"): 0.25, ("sports", "region"): 0.25}
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=arms)
    without = plan.without("age")
    assert without.arm_names == ("smoker", "drinker", plan.arm_names[2])
    assert without.shares == plan.shares
    assert all(1.99 < arm.epsilon <= 2 for arm in without.arms)
    assert without.blocks[-1] == plan.blocks[-1]


@pytest.mark.parametrize("epsilon", [0.003, 0.007, 0.01])
def test_what_is_left_has_all_of_the_epsilon_that_was_asked_for(epsilon: float) -> None:
    """And not what the others' grid had left of it, which is less where epsilon is small."""
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Flag("c")])
    again = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=epsilon)
    assert dn.Plan(schema, epsilon=epsilon).without("c").epsilon == again.epsilon


def test_arms_that_become_alike_are_one_and_empty_ones_go() -> None:
    arms = {("smoker", "age"): 0.25, ("age",): 0.25, ("drinker", "region", "sports"): 0.5}
    without = dn.Plan(SCHEMA, epsilon=2.0, arms=arms).without("smoker")
    assert (without.arm_names[0], without.shares) == ("age", (32_768, 32_768))
    gone = dn.Plan(SCHEMA, epsilon=2.0, arms=arms).without("smoker", "age")
    assert not gone.has_arms
    assert gone.schema.names == ("drinker", "region", "sports: chess", "sports: judo")


def test_names_and_assignment_of_arms_are_kept() -> None:
    arms = {"panel": (["smoker", "age"], 0.5), "rest": (["age", "drinker", "region", "sports"], 0.5)}
    without = dn.Plan(SCHEMA, epsilon=2.0, arms=arms, assigned=True).without("age")
    assert without.arm_names == ("panel", "rest")
    assert without.assigned


def test_given_protocols_share_what_is_left_in_proportion() -> None:
    protocols = {"a": dn.RandomizedResponse(epsilon=1.0), "b": dn.RandomizedResponse(epsilon=2.0)}
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Flag("c")])
    plan = dn.Plan(schema, {**protocols, "c": dn.RandomizedResponse(epsilon=3.0)}).without("c")
    assert [block.protocol.epsilon for block in plan.blocks] == pytest.approx([2, 4], abs=1e-2)
    kept = dn.Plan(schema, {**protocols, "c": dn.Public()}).without("c")
    assert kept == dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), protocols)


def test_nothing_left_is_refused() -> None:
    plan = dn.Plan(SCHEMA, {"region": dn.Public()}, epsilon=1.0)
    for names in (SCHEMA.names, ["smoker", "age", "drinker", "sports"]):
        with pytest.raises(dn.PlanError, match="nothing would be left that is protected"):
            plan.without(*names)
    with pytest.raises(dn.PlanError, match="takes no options of a design; found 'goal'"):
        plan.without("age", goal="worst")
    with pytest.raises(dn.SchemaError, match="'nobody'"):
        plan.without("nobody")
    for names in ((), (5,), ([],)):
        with pytest.raises(dn.PlanError, match='without takes the names of questions, "age", "region"; found'):
            plan.without(*names)  # type: ignore[arg-type]
    with pytest.raises(dn.PlanError, match="and goal, weights, most, .* of a design; found 'gaol'"):
        dn.design(SCHEMA, epsilon=1.0).without("age", gaol="worst")


def test_a_list_of_questions_is_taken_too() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0)
    assert plan.without(["age", "sports"]) == plan.without("age", "sports")  # type: ignore[arg-type]
    assert plan.without("age", "age") == plan.without("age")


# -- the manner of a design -------------------------------------------------------------------------------------------

MANNERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "goal": ({"want": WANT, "goal": "worst"}, {"want": WANT_LEFT, "goal": "worst"}),
    "most": ({"most": 2, "epsilon": 4.0}, {"most": 2, "epsilon": 4.0}),
    "weights": (
        {"weights": {("smoker", "drinker"): 9, ("age", "region"): 5}},
        {"weights": {("smoker", "drinker"): 9}},
    ),
    "apart": (
        {"want": WANT, "apart": [["smoker", "region"], ["age", "region"]], "epsilon": 4.0},
        {"want": WANT_LEFT, "apart": [["smoker", "region"]], "epsilon": 4.0},
    ),
    "together": (
        {"want": WANT, "together": [["smoker", "drinker", "age"]]},
        {"want": WANT_LEFT, "together": [["smoker", "drinker"]]},
    ),
    "spare": ({"want": WANT[:1], "spare": 0.2}, {"want": WANT[:1], "spare": 0.2}),
}


@pytest.mark.parametrize(("options", "left"), MANNERS.values(), ids=MANNERS.keys())
def test_a_design_is_designed_again_in_the_same_manner(options: dict[str, Any], left: dict[str, Any]) -> None:
    """Also after it was written to a file; by defaults it would be another plan, which the last line makes sure of."""
    epsilon = {"epsilon": 2.0}
    plan = dn.design(SCHEMA, **(epsilon | options))
    again = dn.design(dn.Schema(feature for feature in SCHEMA if feature.name != "age"), **(epsilon | left))
    assert plan.without("age") == again
    read = dn.Plan.from_json(plan.to_json())
    assert read.aim == plan.aim
    assert read.to_json() == plan.to_json()
    plain = {name: value for name, value in left.items() if name in ("want", "epsilon")}
    assert again != dn.design(again.schema, **(epsilon | plain))


def test_a_plan_that_somebody_said_is_not_designed_again() -> None:
    """Though it says what it is for, which stays with it."""
    said = dn.Plan(SCHEMA, epsilon=2.0).for_aim(Aim((("smoker", "age"), ("drinker",)), 900))
    assert said.without("age") == dn.Plan(SCHEMA, epsilon=2.0).without("age")
    assert said.without("age").want == (("drinker",), ("smoker",))
    assert said.without("age").n == 900


def test_another_epsilon_has_the_same_arms() -> None:
    plan = dn.design(SCHEMA, epsilon=2.0, public=["region"])
    twice = with_epsilon(plan, 2)
    assert twice.shares == plan.shares
    assert [block.names for block in twice.blocks] == [block.names for block in plan.blocks]
    assert 3.99 < twice.epsilon <= 4
    assert with_epsilon(plan, 1) == plan


@pytest.mark.parametrize("epsilon_1", [None, 1.0], ids=["one round", "two rounds"])
@pytest.mark.parametrize("make", [dn.Plan, dn.design], ids=["said", "designed"])
def test_kept_answers_stay_kept(make: Any, epsilon_1: float | None) -> None:
    plan = make(SCHEMA, epsilon=2.0).keep(epsilon_1)
    for changed in (plan.without("age"), with_epsilon(plan, 1.5)):
        assert changed.repeat == "keep"
        wanted = (epsilon_1 or 2.0) * (1 if len(changed.schema) < len(SCHEMA) else 1.5)
        assert 0.98 * wanted < changed.epsilon_1 <= wanted
