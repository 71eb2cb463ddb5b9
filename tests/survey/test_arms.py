"""Arms: who is asked what, with which share, under which name; and what is refused."""

import copy
import pickle
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.survey.arms import different_names, whole_shares
from tests.support.situations import PLANS, values

SCHEMA = dn.Schema(
    [
        dn.Flag("smoker"),
        dn.Choice("age", ["18-29", "30-64", "65+"]),
        dn.Choice("income", ["low", "high"]),
        dn.Choice("region", ["north", "south"]),
        dn.Flags("drinks", ["tea", "beer"]),
    ]
)
PAIR, REST = ["smoker", "age"], ["income", "region", "drinks"]
RR = dn.RandomizedResponse(epsilon=1.0)


def keys(plan: dn.Plan) -> list[list[Any]]:
    return [[block.key for block in arm.blocks] for arm in plan.arms]


def part(*names: str) -> dn.Schema:
    return dn.Schema(SCHEMA[name] for name in names)


# -- what arms are -----------------------------------------------------------------------------------------------------


def test_a_list_of_names_is_one_block_and_a_list_of_lists_several() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=[PAIR, [["income"], ["smoker", "region"]], ["drinks"]])
    assert keys(plan) == [[("smoker", "age")], [("smoker", "region"), "income"], [("drinks: tea", "drinks: beer")]]
    assert plan.shares == (21846, 21845, 21845)
    assert plan.arm_names == ("smoker x age", "smoker x region + income", "drinks: tea x drinks: beer")
    assert [arm.schema.names for arm in plan.arms] == [
        ("smoker", "age"),
        ("smoker", "income", "region"),
        ("drinks: tea", "drinks: beer"),
    ]
    assert all(isinstance(arm, dn.Plan) and not arm.has_arms for arm in plan.arms)
    assert plan.has_arms
    assert not plan.assigned


def test_every_arm_has_all_of_epsilon_split_evenly_over_its_blocks() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=[PAIR, [["income"], ["region"]], ["drinks"]])
    assert all(1.98 < arm.epsilon <= 2.0 for arm in plan.arms)
    assert all(0.99 < protocol.epsilon <= 1.0 for protocol in plan.arms[1].protocols)
    assert plan.epsilon == max(arm.epsilon for arm in plan.arms)
    assert plan.ratio == max(arm.ratio for arm in plan.arms)


def test_blocks_of_a_plan_with_arms_are_all_different_ones_once() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=[PAIR, [PAIR, ["income"]], PAIR, REST])
    assert len(plan.blocks) == len(set(plan.blocks)) == 4  # the pair with all of epsilon, and with half of it
    assert {block for arm in plan.arms for block in arm.blocks} == set(plan.blocks)
    assert [feature for feature, _ in plan] == [block.unit for block in plan.blocks]


def test_a_mapping_gives_shares() -> None:
    arms = {("smoker", "age"): 0.5, ("smoker", "income"): 0.3, ("region", "drinks"): 0.2}
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=arms)
    assert plan.shares == (32768, 19661, 13107)
    assert sum(plan.shares) == 65536


SHARES = {
    "parts of one": (0.5, 0.25, 0.25),
    "percent": (50, 25, 25),
    "any sum": (7.0, 3.5, 3.5),
    "fractions": (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
    "numpy": (np.float64(2.0), np.int64(1), np.uint8(1)),
    "numpy's small floats": (np.float32(2.0), np.float16(1), np.int8(1)),
    "beyond all floats": (2 * 10**400, 10**400, 10**400),
    "tiny": (2e-300, 1e-300, 1e-300),
}


@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES.keys())
def test_shares_are_numbers_of_any_kind_and_any_sum(shares: Any) -> None:
    specs = (("smoker", "age"), ("income",), ("region", "drinks"))
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=dict(zip(specs, shares, strict=True)))
    assert plan.shares == (32768, 16384, 16384)
    assert all(type(share) is int for share in plan.shares)


def test_arms_have_names_and_names_may_have_shares() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms={"panel": (PAIR, 3), "others": (REST, 1), "pilot": ([["smoker"]], 4)})
    assert plan.arm_names == ("panel", "others", "pilot")
    assert plan.shares == (24576, 8192, 32768)
    named = dn.Plan(SCHEMA, epsilon=2.0, arms={"panel": PAIR, "others": REST})
    assert named.shares == (32768, 32768)
    assert named.arm_names == ("panel", "others")
    two = dn.Plan(SCHEMA, epsilon=2.0, arms={"panel": ("smoker", "age"), "others": REST})  # a tuple of two names
    assert two == named


def test_names_and_blocks_are_part_of_what_a_plan_means() -> None:
    arms: list[Any] = [
        [PAIR, REST],
        [REST, PAIR],
        [PAIR, [["income"], ["region"], ["drinks"]]],
        {"a": PAIR, "b": REST},
        {"a": PAIR, "c": REST},
        {tuple(PAIR): 1, tuple(REST): 2},
    ]
    plans = [dn.Plan(SCHEMA, epsilon=2.0, arms=one) for one in arms]
    plans += [dn.Plan(SCHEMA, epsilon=2.0, arms=[PAIR, REST], assigned=True), dn.Plan(SCHEMA, epsilon=2.0)]
    assert len(set(plans)) == len(plans) == len({plan.fingerprint for plan in plans})
    again = dn.Plan(SCHEMA, epsilon=2, arms=(tuple(PAIR), REST), unequal=True)
    assert again == plans[0]
    assert hash(again) == hash(plans[0])
    assert plans[0] != "a plan"


def test_a_plan_is_an_arm_as_it_is_beside_names_and_others() -> None:
    one = dn.Plan(part(*PAIR), {("smoker", "age"): dn.GRR(epsilon=2.0)})
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=[one, REST])
    assert plan.arms[0] is one
    shared = dn.Plan(SCHEMA, epsilon=2.0, arms={one: 0.25, tuple(REST): 0.75})
    assert shared.arms == plan.arms
    assert shared.shares == (16384, 49152)
    named = dn.Plan(SCHEMA, epsilon=2.0, arms={"pilot": (one, 1), "rest": (REST, 1)})
    with pytest.raises(dn.PlanError, match="some arms have shares and others have none"):
        dn.Plan(SCHEMA, epsilon=2.0, arms={"pilot": (one, 1), "rest": REST})
    assert named.arm_names == ("pilot", "rest")
    whole = dn.Plan(SCHEMA, epsilon=2.0)
    assert dn.Plan(SCHEMA, arms=[whole, whole]).arms == (whole, whole)


def test_public_columns_belong_to_every_arm() -> None:
    plan = dn.Plan(SCHEMA, {"region": dn.Public(), "drinks": dn.Public()}, epsilon=2.0, arms=[PAIR, ["income"]])
    assert plan.public == ("region", "drinks: tea", "drinks: beer")
    assert keys(plan) == [[("smoker", "age"), *plan.public], ["income", *plan.public]]
    assert [arm.public for arm in plan.arms] == [plan.public, plan.public]
    assert all(1.98 < arm.epsilon <= 2.0 for arm in plan.arms)
    assert plan.arm_names == ("smoker x age", "income")
    assert plan["region"] == dn.Public().bind(SCHEMA["region"])


def test_protocols_hold_in_every_arm_that_asks_their_block() -> None:
    own = {("smoker", "age"): dn.GRR(epsilon=2.0), "drinks": RR}
    arms = [PAIR, [PAIR], ["income", "region"], [["drinks: tea"], ["drinks: beer"]]]
    plan = dn.Plan(SCHEMA, own, epsilon=2.0, arms=arms)
    assert plan.arms[0].protocols == plan.arms[1].protocols
    assert plan.arms[0].protocols[0].name == "GRR"
    assert plan.arms[3].protocols == (RR, RR)
    part_given = dn.Plan(SCHEMA, {"smoker": RR}, epsilon=2.0, arms=[[["smoker"], ["age"]], REST])
    assert part_given.arms[0]["age"].epsilon == pytest.approx(1.0, abs=0.01)  # what is left


def test_the_same_arm_twice_gets_a_number() -> None:
    plan = dn.Plan(SCHEMA, epsilon=1.0, arms=[PAIR, PAIR, REST, PAIR])
    assert plan.arm_names[:2] == ("smoker x age", "smoker x age (2)")
    assert plan.arm_names[3] == "smoker x age (3)"
    swapped = dn.Plan(SCHEMA, epsilon=1.0, arms={("smoker", "age"): 1, ("age", "smoker"): 1, tuple(REST): 1})
    assert swapped.arm_names[:2] == ("smoker x age", "smoker x age (2)")


@given(st.lists(st.tuples(st.sampled_from(["a", "a (2)", "b", "a (3)"]), st.booleans()), max_size=12))
@settings(deadline=None)
def test_names_differ_and_given_ones_stay(names: list[tuple[str, bool]]) -> None:
    wanted = [f"{name} {k}" if given else None for k, (name, given) in enumerate(names)]
    wanted = ["a (2)" if name and name.startswith("b") and "a (2)" not in wanted[:k] else name
              for k, name in enumerate(wanted)]  # fmt: skip
    if len({name for name in wanted if name}) < len([name for name in wanted if name]):
        return  # keys of a mapping differ
    found = different_names(wanted, [name for name, _ in names])
    assert len(set(found)) == len(found) == len(names)
    assert all(name in (one, None) for one, name in zip(found, wanted, strict=True))


def test_names_that_were_given_are_left_to_their_arms() -> None:
    assert different_names([None, "a"], ["a", "x"]) == ("a (2)", "a")
    assert different_names([None, None, None], ["a", "a", "a (2)"]) == ("a", "a (2)", "a (2) (2)")
    assert different_names([None, "a (2)", None], ["a", "x", "a"]) == ("a", "a (2)", "a (3)")


def test_a_question_in_several_arms_has_no_protocol_of_its_own() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=[PAIR, ["smoker", "income"], [["region"], ["drinks"]], ["income"]])
    with pytest.raises(
        dn.PlanError,
        match="'smoker' has .* 'smoker x age', 'smoker x income' in the arms 'smoker x age', 'smoker x income'; see",
    ):
        plan["smoker"]
    with pytest.raises(dn.PlanError, match="'income' .* in the arms 'smoker x income', 'income'; see plan.blocks"):
        plan["income"]
    with pytest.raises(dn.PlanError, match="'age' .* it is asked as 'smoker x age'; see"):
        plan["age"]
    assert plan["region"].epsilon == pytest.approx(1.0, abs=0.01)
    with pytest.raises(dn.SchemaError, match="no feature 'sex'"):
        plan["sex"]


def test_a_question_alone_in_two_arms_of_one_protocol_is_in_several_arms_still() -> None:
    plan = dn.Plan(SCHEMA, {"smoker": RR}, epsilon=1.0, arms={"a": ["smoker"], "b": [["smoker"]], "c": ["age", *REST]})
    with pytest.raises(dn.PlanError, match="it is asked as 'smoker' in the arms 'a', 'b'"):
        plan["smoker"]


def test_one_arm_is_a_plan_without_arms() -> None:
    whole = [[name] for name in SCHEMA.questions]
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=[whole])
    assert plan == dn.Plan(SCHEMA, epsilon=2.0, together=[["drinks"]])
    assert not plan.has_arms
    assert dn.Plan(SCHEMA, epsilon=2.0, arms={"panel": whole}) == plan  # there is nobody else to tell it from
    assert plan.arm_names == ("everybody",)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_a_plan_without_arms_is_its_own_only_arm(plan: dn.Plan) -> None:
    assert plan.arms == (plan,)
    assert plan.arms[0] is plan
    assert plan.shares == (65536,)
    assert plan.arm_names == ("everybody",)
    assert dn.Plan(plan.schema, arms=[plan]) == plan


def test_plans_with_arms_are_copied_and_pickled() -> None:
    plan = dn.Plan(SCHEMA, {"region": dn.Public()}, epsilon=2.0, arms=[PAIR, ["income", "drinks"]], assigned=True)
    for again in (copy.copy(plan), copy.deepcopy(plan), pickle.loads(pickle.dumps(plan))):
        assert again == plan
        assert (again.shares, again.arm_names, again.assigned) == (plan.shares, plan.arm_names, True)
    assert repr(plan) == f"<Plan of 6 features in 2 arms, epsilon {plan.epsilon:.6g}, {plan.fingerprint[:12]}>"


# -- unequal epsilons --------------------------------------------------------------------------------------------------


def test_arms_that_ask_for_different_epsilons_must_say_so() -> None:
    low, high = dn.Plan(part(*PAIR), epsilon=1.0), dn.Plan(part("income", "region"), epsilon=2.0)
    schema = part("smoker", "age", "income", "region")
    with pytest.raises(dn.PlanError, match="different epsilons, from 1 to 2: .* less than others.*unequal=True"):
        dn.Plan(schema, arms=[low, high])
    plan = dn.Plan(schema, arms=[low, high], unequal=True)
    assert plan.epsilon == high.epsilon
    with pytest.raises(dn.PlanError, match="from 1 to 3"):
        dn.Plan(schema, epsilon=3.0, arms=[low, ["income", "region"]])
    with pytest.raises(dn.PlanError, match="different epsilons"):  # known by its integers alone
        dn.Plan(schema, epsilon=1.0, arms=[dn.Plan.from_json(high.to_json()), PAIR])
    with pytest.raises(dn.PlanError, match="different epsilons"):  # the budget is not spent on what is given
        dn.Plan(schema, {("smoker", "age"): dn.GRR(epsilon=5.0)}, epsilon=1.0, arms=[PAIR, ["income", "region"]])


def test_what_the_grid_rounds_down_is_not_another_epsilon() -> None:
    schema = dn.Schema([dn.Choice("wide", values(3000)), dn.Flag("a")])
    plan = dn.Plan(schema, {("wide",): dn.GRR(epsilon=0.1)}, arms=[["wide"], ["a"]], epsilon=0.1, unequal=True)
    assert plan.arms[0].epsilon < 0.95 * plan.arms[1].epsilon
    asked = [dn.Plan(dn.Schema([f]), {f.name: p}) for f, p in zip(schema, (dn.GRR(epsilon=0.1), RR), strict=True)]
    assert [one.asked for one in asked] == [None, None]
    for epsilon in (0.1, 0.3, Fraction(1, 3), np.float32(0.7)):
        coarse = dn.Plan(schema, epsilon=epsilon, arms=[["wide"], ["a"]])  # both ask for the same
        assert (
            coarse.asked
            == coarse.arms[0].asked
            == Fraction(epsilon if isinstance(epsilon, Fraction) else float(epsilon))
        )
    one, other = dn.Plan(dn.Schema([schema["wide"]]), epsilon=0.1 + 0.2), dn.Plan(dn.Schema([schema["a"]]), epsilon=0.3)
    assert dn.Plan(schema, arms=[one, other])


def test_an_arm_that_asks_for_the_same_but_reached_less_needs_nothing_said() -> None:
    features = [dn.Choice("wide", values(4000)), dn.Flag("a")]
    plans = [dn.Plan(dn.Schema([feature]), epsilon=0.05) for feature in features]
    assert plans[0].asked == plans[1].asked
    assert dn.Plan(dn.Schema(features), arms=plans).epsilon <= 0.05


def test_epsilon_is_the_largest_arm_s_whatever_its_share() -> None:
    low, high = dn.Plan(part("smoker"), epsilon=0.5), dn.Plan(part("age"), epsilon=3.0)
    plan = dn.Plan(part("smoker", "age"), arms={low: 1e6, high: 1}, unequal=True)
    assert plan.shares == (65535, 1)
    assert (plan.epsilon, plan.ratio) == (high.epsilon, high.ratio)


# -- whole shares ------------------------------------------------------------------------------------------------------

PARTS = st.lists(st.fractions(min_value=Fraction(1, 10**9), max_value=10**9), min_size=1, max_size=60)


@given(PARTS)
@settings(deadline=None)
def test_shares_are_whole_sum_to_all_and_leave_nobody_out(parts: list[Fraction]) -> None:
    shares = whole_shares(parts)
    assert sum(shares) == 65536
    assert min(shares) >= 1
    small: set[int] = set()  # round by round, those too small for a share of what the others leave
    while True:
        large = {at: part for at, part in enumerate(parts) if at not in small}
        exact = {at: part * (65536 - len(small)) / sum(large.values()) for at, part in large.items()}
        if all(share >= 1 for share in exact.values()):
            break
        small |= {at for at, share in exact.items() if share < 1}
    assert all(shares[at] == 1 for at in small)
    assert all(abs(shares[at] - share) < 1 for at, share in exact.items())
    assert [share for _, share in sorted(zip(parts, shares, strict=True))] == sorted(
        shares
    )  # a larger part never has a smaller share


@given(PARTS, st.fractions(min_value=Fraction(1, 1000), max_value=1000))
@settings(deadline=None)
def test_shares_depend_on_proportions_alone(parts: list[Fraction], factor: Fraction) -> None:
    assert whole_shares([part * factor for part in parts]) == whole_shares(parts)


def test_shares_of_as_many_arms_as_there_can_be() -> None:
    assert whole_shares([Fraction(1)] * 65536) == (1,) * 65536
    assert whole_shares([Fraction(10**9)] + [Fraction(1)] * 65534) == (2,) + (1,) * 65534
    many = whole_shares([Fraction(1, k) for k in (1, 2, 3)] + [Fraction(1, 10**9)] * 60_000)
    assert many[3:] == (1,) * 60_000
    assert many[:3] == whole_shares_of(5536, (6, 3, 2))
    assert whole_shares([Fraction(1)] * 3) == (21846, 21845, 21845)


def whole_shares_of(total: int, parts: tuple[int, ...]) -> tuple[int, ...]:
    """The largest remainder method, by hand."""
    shares = [total * part // sum(parts) for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda at: -(total * parts[at] % sum(parts)))
    for at in by_remainder[: total - sum(shares)]:
        shares[at] += 1
    return tuple(shares)


# -- many arms ---------------------------------------------------------------------------------------------------------


def test_a_plan_of_560_arms_is_small_and_compared_as_a_whole() -> None:
    schema = dn.Schema([dn.Flag(f"question {k:02}") for k in range(16)])
    triples = [list(names) for names in combinations(schema.names, 3)]
    plan = dn.Plan(schema, epsilon=1.0, arms=triples)
    assert plan.fingerprint
    assert len(plan.to_json().encode()) <= 100_000
    assert set(plan.shares) == {117, 118}
    other = dn.Plan(schema, epsilon=1.0, arms=triples)
    assert plan == other
    for _ in range(1000):
        assert plan == other
        assert hash(plan) == hash(other)


def test_wide_blocks_in_many_arms_get_no_names_before_they_are_needed() -> None:
    schema = dn.Schema([dn.Flag(f"f{k}") for k in range(14)])
    wide = [list(names) for names in combinations(schema.names, 12)]  # 91 arms of 4 096 combinations
    plan = dn.Plan(schema, epsilon=8.0, arms=wide)
    assert plan.epsilon <= 8.0
    assert str(plan)
    assert not any("unit" in vars(block) for block in plan.blocks)


# -- refusals ----------------------------------------------------------------------------------------------------------


def make(arms: Any, protocols: Any = None, **options: Any) -> Any:
    return lambda: dn.Plan(SCHEMA, protocols, **({"epsilon": 1.0} | options), arms=arms)


WHOLE = dn.Plan(SCHEMA, epsilon=1.0)
OTHER_ORDER = dn.Plan(part("age", "smoker"), epsilon=1.0)
OTHER_AGE = dn.Plan(dn.Schema([dn.Choice("age", ["young", "old"])]), epsilon=1.0)
STRANGER = dn.Plan(dn.Schema([dn.Flag("sex")]), epsilon=1.0)
PUBLIC_REGION = dn.Plan(part("smoker", "age", "region"), {"region": dn.Public()}, epsilon=1.0)

REFUSED: dict[str, tuple[Any, str]] = {
    "none": (make([]), "a plan with arms has at least one; found none"),
    "none, as a mapping": (make({}), "has at least one; found none"),
    "a text": (make("smoker"), "arms are a list of what each asks, .*; found 'smoker'"),
    "bytes": (make(b"smoker"), "arms are a list of what each asks"),
    "a number": (make(3), "arms are a list of what each asks, .*; found 3"),
    "a generator": (make(arm for arm in [PAIR]), "arms are a list of what each asks, .*; found <generator"),
    "a plan": (make(WHOLE), "arms are a list of what each asks, .*; found <Plan of 6 features"),
    "too many": (make([["smoker"]] * 65537), "at most 65,536 arms, one for each share; found 65,537"),
    "texts": (make(["smoker", "age"]), "arm 1: an arm is a list of names, asked together, .*; found 'smoker'"),
    "an empty arm": (make([PAIR, []]), r"arm 2: an arm is a list of names, .*; found \[\]"),
    "an empty block": (make([PAIR, [[], ["income"]]]), r"arm 2: a block is a list of one or more names.*found \[\]"),
    "a set": (make([{"smoker"}, REST]), "arm 1: an arm is a list of names"),
    "a generator as an arm": (make([(n for n in PAIR), REST]), "arm 1: an arm is a list of names, .*found <generator"),
    "names and lists": (make([["smoker", ["age"]]]), "arm 1: an arm is a list of names, or .* found both"),
    "lists too deep": (make([[[["smoker"]]], REST]), r"arm 1: a block is a list of names; found \['smoker'\] in it"),
    "a number among names": (make([[["smoker", 3]], REST]), "arm 1: a block is a list of names; found 3 in it"),
    "numbers": (make([[1, 2], REST]), "arm 1: a block is a list of one or more names.*found 1"),
    "an unknown name": (make([PAIR, ["sex"]]), "arm 2: no feature 'sex'; there are 'smoker'"),
    "an unknown name in a named arm": (make({"panel": ["sex"]}), "arm 'panel': no feature 'sex'"),
    "a question twice in an arm": (make([[PAIR, ["age"]], REST]), "arm 1: 'age' is asked twice, in 'smoker x age'"),
    "a block twice in an arm": (make([[["age"], ["age"]], REST]), "arm 1: 'age' is asked twice, in 'age' and in 'age'"),
    "a block twice, with its protocol": (
        make([[["smoker"], ["smoker"]], ["age", *REST]], {"smoker": RR}),
        "arm 1: 'smoker' is asked twice",
    ),
    "a name twice in a block": (make([["age", "age"], REST]), "arm 1: a block asks each question once"),
    "a question in no arm": (make([PAIR, ["income"]]), "no arm asks 'region', 'drinks: tea', 'drinks: beer'; every"),
    "nothing but a share": (
        make({"smoker": 0.5, "age": 0.5}),
        r"arm 'smoker' has a share, 0.5, but asks nothing; an arm of one question is written \('smoker',\): 0.5",
    ),
    "a share of nothing": (make({tuple(PAIR): 0, tuple(REST): 1}), r"share of arm \('smoker', 'age'\) must be"),
    "a negative share": (make({"a": (PAIR, -1), "b": (REST, 1)}), "the share of arm 'a' must be .*; found -1"),
    "an endless share": (make({tuple(PAIR): float("inf"), tuple(REST): 1}), "must be a positive number; found inf"),
    "no number": (make({tuple(PAIR): float("nan"), tuple(REST): 1}), "must be a positive number; found nan"),
    "a text for a share": (make({tuple(PAIR): "half", tuple(REST): 1}), "must be a positive number; found 'half'"),
    "a truth for a share": (make({"a": (PAIR, True), "b": REST}), "must be a positive number; found True"),
    "no share": (make({tuple(PAIR): None, tuple(REST): 1}), "must be a positive number; found None"),
    "an empty name": (make({"": PAIR, "b": REST}), "an arm's name must not be empty; found ''"),
    "a control character": (make({"a\nb": PAIR, "b": REST}), "an arm's name must not hold control characters"),
    "a text for an arm": (make({"panel": "smoker"}), "arm 'panel': an arm is a list of names, .*; found 'smoker'"),
    "a text for an arm, with its share": (make({"panel": ("smoker", 1)}), "arm 'panel': an arm is a list of names"),
    "together too": (make([PAIR, REST], together=[PAIR]), "an arm says itself what it asks together, .*leave together"),
    "arms in an arm": (
        make([dn.Plan(SCHEMA, epsilon=1.0, arms=[PAIR, REST]), PAIR]),
        "arm 1: an arm is a plan without arms of its own; found <Plan of 6 features in 2 arms",
    ),
    "another order": (make([WHOLE, OTHER_ORDER]), "arm 2: it asks in another order .* 'age', 'smoker'"),
    "another question of the name": (make([WHOLE, OTHER_AGE]), "arm 2: its 'age' is not that of the schema"),
    "a question of another schema": (make({"a": WHOLE, "b": STRANGER}), "arm 'b': no feature 'sex'"),
    "a public question asked": (
        make([PAIR, ["income", "region", "drinks"]], {"region": dn.Public()}),
        "arm 2: 'region' is public, which every arm shows; leave it out of arms",
    ),
    "public in some arms": (
        make([PUBLIC_REGION, ["income", "drinks"]]),
        r"'region' is public in some arms alone, and a public column belongs to every arm; give it Public\(\)",
    ),
    "public here and asked there": (make([PUBLIC_REGION, REST]), "'region' is public in some arms alone"),
    "public, but not in a plan": (
        make([dn.Plan(part(*PAIR), epsilon=1.0), ["income", "drinks"]], {"region": dn.Public()}),
        "'region' is public in some arms alone",
    ),
    "a protocol that no arm uses": (
        make([PAIR, REST], {"smoker": RR}),
        "no arm asks 'smoker' as a block of its own, but there is a protocol for it",
    ),
    "a protocol for a block that no arm asks": (
        make([PAIR, REST], {("smoker", "income"): dn.GRR(epsilon=1)}),
        "no arm asks 'smoker x income' as a block of its own",
    ),
    "two protocols": (
        make([PAIR, REST], {("smoker", "age"): dn.GRR(epsilon=1), ("age", "smoker"): dn.GRR(epsilon=2)}),
        "'smoker x age' is given two protocols",
    ),
    "no budget": (make([PAIR, REST], epsilon=None), "arm 1: no protocol for 'smoker x age'; name one"),
    "a budget for nothing": (make([WHOLE, WHOLE]), "every arm has its protocols already; leave epsilon out"),
    "a budget for nothing, by protocols": (
        make([PAIR, dn.Plan(part("income", "region", "drinks: tea", "drinks: beer"), epsilon=1.0)],
             {("smoker", "age"): dn.GRR(epsilon=1.0)}),
        "every arm has its protocols already",
    ),
    "all of the budget spent": (
        make([[["smoker"], ["age"]], REST], {"smoker": dn.RandomizedResponse(epsilon=2)}),
        "arm 1: the protocols given spend all of epsilon 1.0; nothing is left for age",
    ),
    "a budget too small": (make([PAIR, REST], epsilon=1e-6), "arm 1: block 'smoker x age': epsilon 1e-06 is too small"),
    "a negative budget": (make([PAIR, REST], epsilon=-1), "^epsilon must be a positive number; found -1"),
    "nothing to assign": (make([[PAIR, REST]], assigned=True), "nothing to assign: the plan has one arm"),
    "unequal without arms": (lambda: dn.Plan(SCHEMA, epsilon=1.0, unequal=True), "unequal and assigned are about arms"),
    "assigned without arms": (lambda: dn.Plan(SCHEMA, epsilon=1.0, assigned=True), "assigned are about arms"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(dn.DeniableError, match=message):
        make()


def test_an_arm_may_ask_nothing_that_is_protected_if_that_is_meant() -> None:
    """People who are asked nothing: their region alone is known."""
    schema = part("smoker", "region")
    shown = {"region": dn.Public()}
    nothing, asked = dn.Plan(part("region"), shown), dn.Plan(schema, shown, epsilon=1.0)
    with pytest.raises(dn.PlanError, match="different epsilons"):
        dn.Plan(schema, arms=[nothing, asked])
    plan = dn.Plan(schema, arms=[nothing, asked], unequal=True)
    assert plan.epsilon == asked.epsilon
    assert plan.arm_names == ("region", "smoker")
