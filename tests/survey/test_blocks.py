"""Blocks: questions randomized together. What they are called, which combinations they have, and what is refused."""

from itertools import product
from typing import Any

import pytest

import deniable as dn
from deniable.survey.blocks import Block, combined, stand_in
from tests.support.situations import values

SCHEMA = dn.Schema(
    [
        dn.Flag("smoker"),
        dn.Choice("age", ["18-29", "30-64", "65+"]),
        dn.Flags("drinks", ["tea", "beer"]),
        dn.Choice.bins("income", [0, 20_000, float("inf")]),
    ]
)


def blocks(plan: dn.Plan) -> list[Any]:
    return [block.key for block in plan.blocks]


# -- what a block is ---------------------------------------------------------------------------------------------------


def test_questions_of_together_are_one_block_and_the_others_stand_alone() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, together=[["smoker", "age"], ["income"]])
    assert blocks(plan) == [("smoker", "age"), "drinks: tea", "drinks: beer", "income"]
    assert plan.arms == (plan,)
    assert plan.shares == (65536,)
    assert not plan.has_arms


def test_names_stand_in_the_order_of_the_schema_whatever_order_they_are_given_in() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, together=[["income", "smoker"], ("drinks: beer", "age")])
    assert blocks(plan) == [("smoker", "income"), ("age", "drinks: beer"), "drinks: tea"]
    assert plan == dn.Plan(SCHEMA, epsilon=2.0, together=[["age", "drinks: beer"], ["smoker", "income"]])


def test_the_name_of_a_group_means_all_its_flags() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, together=[["drinks", "smoker"]])
    assert blocks(plan) == [("smoker", "drinks: tea", "drinks: beer"), "age", "income"]
    alone = dn.Plan(SCHEMA, epsilon=2.0, together=[["drinks"]])
    assert ("drinks: tea", "drinks: beer") in blocks(alone)


def test_a_tuple_of_names_gives_a_block_its_protocol() -> None:
    plan = dn.Plan(SCHEMA, {("age", "smoker"): dn.GRR(epsilon=2.0), "income": dn.Public(), "drinks": dn.Public()})
    (block, *_) = plan.blocks
    assert block.key == ("smoker", "age")
    assert block.levels == (2, 3)
    assert block.protocol == dn.GRR(epsilon=2.0).bind(dn.Choice("any", values(6)))
    assert plan.public == ("drinks: tea", "drinks: beer", "income")


def test_a_group_in_a_tuple_is_one_block_and_by_its_name_alone_a_protocol_for_each_flag() -> None:
    rest = {"smoker": dn.Public(), "age": dn.Public(), "income": dn.Public()}
    one = dn.Plan(SCHEMA, {("drinks",): dn.GRR(epsilon=1.0), **rest})
    each = dn.Plan(SCHEMA, {"drinks": dn.RandomizedResponse(epsilon=1.0), **rest})
    assert ("drinks: tea", "drinks: beer") in blocks(one)
    assert {"drinks: tea", "drinks: beer"} < set(blocks(each))


def test_a_block_of_one_is_the_question_itself_and_saved_as_ever() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, together=[[name] for name in SCHEMA.names[:2]] + [["income"]])
    assert plan == dn.Plan(SCHEMA, epsilon=2.0)
    assert '"version": 1' in plan.to_json()
    assert plan.units is plan


def test_the_budget_is_split_evenly_over_blocks_and_other_questions() -> None:
    plan = dn.Plan(SCHEMA, epsilon=3.0, together=[["smoker", "age"], ["drinks: tea", "income"]])
    own = {block.key: block.protocol.epsilon for block in plan.blocks}
    assert own.keys() == {("smoker", "age"), ("drinks: tea", "income"), "drinks: beer"}
    assert all(0.99 < epsilon <= 1.0 for epsilon in own.values())
    assert 2.97 < plan.epsilon <= 3.0


def test_what_given_protocols_spend_comes_off_first() -> None:
    plan = dn.Plan(SCHEMA, {("smoker", "age"): dn.GRR(epsilon=1.0), "income": dn.Public()}, epsilon=2.0)
    assert plan.epsilon <= 2.0
    assert plan["drinks: tea"].epsilon == pytest.approx(0.5, abs=1e-3)  # one question, two flags
    again = dn.Plan(
        SCHEMA,
        {("smoker", "age"): dn.GRR(epsilon=1.0), "income": dn.Public()},
        epsilon=2.0,
        together=[["age", "smoker"]],
    )
    assert again == plan


PROTOCOLS = [
    dn.GRR(epsilon=1.0),
    dn.SubsetSelection(epsilon=1.0),
    dn.UnaryEncoding.optimized(1.0),
    dn.LocalHashing(epsilon=1.0),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_any_protocol_for_choices_randomizes_a_block(protocol: Any) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Choice("b", values(3))]), {("a", "b"): protocol})
    alone = dn.Plan(dn.Schema([dn.Choice("c", values(6))]), {"c": protocol})
    assert plan.blocks[0].protocol == alone["c"]
    assert plan.ratio == alone.ratio


def test_the_best_protocol_of_a_block_is_that_of_a_choice_of_as_many_values() -> None:
    for features, m in (
        ((dn.Flag("a"), dn.Flag("b"), dn.Flag("c")), 8),
        ((dn.Flag("a"), dn.Choice("b", values(9))), 18),
    ):
        for epsilon in (0.5, 1.0, 2.5, 5.0):
            plan = dn.Plan(dn.Schema(features), epsilon=epsilon, together=[[f.name for f in features]])
            assert plan.blocks[0].protocol == dn.Plan(dn.Schema([dn.Choice("c", values(m))]), epsilon=epsilon)["c"]


# -- its unit: one feature for several ---------------------------------------------------------------------------------


def test_the_unit_has_all_combinations_with_the_first_question_slowest() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, together=[["smoker", "income", "age"]])
    unit = plan.blocks[0].unit
    assert unit.name == "smoker x age x income"
    codes = list(product(range(2), range(3), range(2)))
    for code, (a, b, c) in enumerate(codes):
        said = [str(f.answers[k]) for f, k in zip(plan.blocks[0].features, (a, b, c), strict=True)]
        assert unit.answers[code] == " x ".join(said)
        assert code == (a * 3 + b) * 2 + c
    assert unit.levels == len(codes)


def test_iterating_a_plan_gives_units_and_units_is_the_same_plan_of_them() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, together=[["smoker", "age"]])
    assert [feature for feature, _ in plan] == [block.unit for block in plan.blocks] == list(plan.units.schema)
    assert [protocol for _, protocol in plan] == list(plan.protocols) == list(plan.units.protocols)
    assert (plan.units.ratio, plan.units.epsilon) == (plan.ratio, plan.epsilon)
    assert plan.units.units is plan.units
    assert plan.units != plan
    with pytest.raises(dn.PlanError, match="units in each of plan.arms"):
        _ = dn.Plan(SCHEMA, epsilon=2.0, arms=[["smoker", "age"], ["drinks", "income"]]).units


def test_flags_of_a_group_do_not_make_their_block_a_column_of_it() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, together=[["drinks: tea", "age"]])
    assert plan.units.schema.names == ("smoker", "age x drinks tea", "drinks: beer", "income")
    assert plan.blocks[1].name == "age x drinks: tea"


def test_answers_that_hold_the_separator_stay_different() -> None:
    schema = dn.Schema([dn.Choice("a", ["1", "1 x 2"]), dn.Choice("b", ["2 x 3", "3"])])
    unit = dn.Plan(schema, epsilon=1.0, together=[["a", "b"]]).blocks[0].unit
    assert unit.answers == ("0: 1 x 2 x 3", "1: 1 x 3", "2: 1 x 2 x 2 x 3", "3: 1 x 2 x 3")
    plain = dn.Schema([dn.Choice("a", ["1 x 2", "4"]), dn.Choice("b", ["5", "3"])])
    assert dn.Plan(plain, epsilon=1.0, together=[["a", "b"]]).blocks[0].unit.answers[0] == "1 x 2 x 5"


def test_the_stand_in_is_the_unit_but_for_what_its_answers_are_called() -> None:
    for features in ([dn.Flag("a")], [dn.Choice("a: b", values(3)), dn.Flag("c")], [dn.Flag("a"), dn.Flag("b")]):
        real, quick = combined(features), stand_in(features)
        assert (real.name, real.levels, len(real.columns)) == (quick.name, quick.levels, len(quick.columns))
    assert stand_in([dn.Flag("a"), dn.Flag("b")]) != stand_in([dn.Flag("a"), dn.Flag("c")])


# -- limits and refusals -----------------------------------------------------------------------------------------------


def test_a_block_of_4096_combinations_is_the_largest() -> None:
    flags = dn.Schema([dn.Flag(f"f{k}") for k in range(12)])
    plan = dn.Plan(flags, epsilon=3.0, together=[flags.names])
    assert plan.blocks[0].unit.levels == 4096
    mixed = dn.Schema([dn.Choice("a", values(17)), dn.Choice("b", values(241))])  # 4 097
    for make in (
        lambda: dn.Plan(mixed, epsilon=3.0, together=[["a", "b"]]),
        lambda: dn.Plan(mixed, {("a", "b"): dn.GRR(epsilon=8.0)}),
        lambda: dn.Plan(mixed, epsilon=3.0, arms=[["a", "b"]]),
    ):
        with pytest.raises(
            dn.PlanError, match=r"'a', 'b' have 17 x 241 = 4,097 combinations .* at most 4,096; ask fewer"
        ):
            make()
    with pytest.raises(dn.PlanError, match="combinations of answers"):
        combined(mixed.features)


def make(*arguments: Any, **options: Any) -> Any:
    return lambda: dn.Plan(SCHEMA, *arguments, **options)


AGE_AND = {("smoker", "age"): dn.GRR(epsilon=1.0)}
REFUSED: dict[str, tuple[Any, str]] = {
    "a text": (make(epsilon=1, together="smoker"), r"together is a list of lists of names, .*; found 'smoker'"),
    "a generator": (make(epsilon=1, together=(n for n in ())), "together is a list of lists of names"),
    "a mapping": (make(epsilon=1, together={"a": 1}), "together is a list of lists of names"),
    "texts": (
        make(epsilon=1, together=["smoker", "age"]),
        "together: a block is a list of one or more names.*'smoker'",
    ),
    "an empty block": (make(epsilon=1, together=[[]]), r"together: a block is a list of one or more names.*found \[\]"),
    "a set": (make(epsilon=1, together=[{"age"}]), r"together: a block is a list .* found {'age'}"),
    "a generator of names": (
        make(epsilon=1, together=[(n for n in ["age"])]),
        "together: a block is a list .*found <generator",
    ),
    "a list in a block": (make(epsilon=1, together=[[["age"]]]), r"a block is a list of names; found \['age'\] in it"),
    "a number in a block": (
        make(epsilon=1, together=[["age", 3]]),
        "together: a block is a list of names; found 3 in it",
    ),
    "an unknown name": (make(epsilon=1, together=[["age", "sex"]]), "together: no feature 'sex'; there are 'smoker'"),
    "a name twice": (
        make(epsilon=1, together=[["age", "age"]]),
        "together: a block asks each question once; found 'age'",
    ),
    "a flag beside its group": (
        make(epsilon=1, together=[["drinks", "drinks: tea"]]),
        "a block asks each question once; found 'drinks', 'drinks: tea'",
    ),
    "in two blocks": (
        make(epsilon=1, together=[["smoker", "age"], ["age", "income"]]),
        "'age' is asked twice, in 'smoker x age' and in 'age x income'; .* or into different arms",
    ),
    "a block twice": (make(epsilon=1, together=[["smoker", "age"], ["age", "smoker"]]), "'smoker' is asked twice"),
    "a block twice, with its protocol": (
        make(AGE_AND, epsilon=2, together=[["smoker", "age"], ["age", "smoker"]]),
        "'smoker' is asked twice",
    ),
    "alone and in a block": (
        make({"smoker": dn.RandomizedResponse(epsilon=1)}, epsilon=2, together=[["smoker", "age"]]),
        "'smoker' is asked twice, in 'smoker' and in 'smoker x age'",
    ),
    "two protocols for a block": (
        make(AGE_AND | {("age", "smoker"): dn.GRR(epsilon=2.0)}, epsilon=2),
        r"'smoker x age' is given two protocols, by \('smoker', 'age'\) and by \('age', 'smoker'\)",
    ),
    "overlapping protocols": (
        make(AGE_AND | {("age", "income"): dn.GRR(epsilon=2.0)}, epsilon=5),
        "'age' is asked twice",
    ),
    "public together": (
        make({("smoker", "age"): dn.Public()}, epsilon=1),
        r"public columns are shown as they are, each by itself; found \('smoker', 'age'\) together",
    ),
    "a public group together": (make({("drinks",): dn.Public()}, epsilon=1), r"each by itself; found \('drinks',\)"),
    "a protocol for flags": (
        make({("smoker", "age"): dn.RandomizedResponse(epsilon=1)}, epsilon=2),
        "'smoker x age' is a choice of 6 values, and randomized response is for flags",
    ),
    "a protocol for choices": (make({"smoker": dn.GRR(epsilon=1)}, epsilon=2), "'smoker' is a flag, and GRR is for ch"),
    "sets that leave none out": (
        make({("smoker", "age"): dn.SubsetSelection(epsilon=1, size=6)}, epsilon=2),
        "'smoker x age' has 6 values; a set of 6 would not leave any out",
    ),
    "not a protocol": (make({("smoker", "age"): 1.0}, epsilon=2), "'smoker x age' needs a protocol such as GRR"),
    "an unknown name in a key": (
        make({("smoker", "sex"): dn.GRR(epsilon=1)}, epsilon=2),
        r"the protocol of \('smoker', 'sex'\): no feature 'sex'",
    ),
    "an empty key": (
        make({(): dn.GRR(epsilon=1)}, epsilon=2),
        r"the protocol of \(\): a block is a list of one or more",
    ),
    "a number as a key": (
        make({3: dn.GRR(epsilon=1)}, epsilon=2),
        "the protocol of 3: a block is a list of one or more",
    ),
    "a set as a key": (make({frozenset("a"): dn.GRR(epsilon=1)}, epsilon=2), "the protocol of frozenset"),
    "no budget": (make(AGE_AND), "no protocol for 'drinks: tea', 'drinks: beer', 'income'"),
    "no budget for a block": (make(together=[["smoker", "age"]]), "no protocol for 'smoker x age', 'drinks: tea'"),
    "nothing left for a block": (
        make({"income": dn.GRR(epsilon=2)}, epsilon=1, together=[["smoker", "age"]]),
        "spend all of epsilon 1; nothing is left for smoker x age",
    ),
    "too small for a block": (
        make(epsilon=1e-5, together=[["smoker", "age", "drinks", "income"]]),
        "block 'smoker x age x drinks: tea x drinks: beer x income': epsilon 1e-05 is too small",
    ),
    "nothing left to spend on": (
        make(AGE_AND | {"drinks": dn.Public(), "income": dn.Public()}, epsilon=1),
        "every feature has its protocol already; leave epsilon out",
    ),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(dn.DeniableError, match=message):
        make()


ALIKE = {
    "two blocks": (["a x b", "c", "a", "b x c"], [["a x b", "c"], ["a", "b x c"]], "found twice: 'a x b x c'"),
    "a block and a question": (["a", "b", "a x b"], [["a", "b"]], "found twice: 'a x b'"),
    "a block and a group": (
        ["a", "b", dn.Flags("a x b", ["c"])],
        [["a", "b"]],
        "'a x b' is both a feature and a group",
    ),
    "a block and what looks like its column": (
        ["a", "b", "a x b: c"],
        [["a", "b"]],
        "mistaken for a column of 'a x b'",
    ),
    "a block of flags of a group": ([dn.Flags("a", ["b"]), "c", "a b x c"], [["a", "c"]], "found twice: 'a b x c'"),
}


@pytest.mark.parametrize(("features", "together", "message"), ALIKE.values(), ids=ALIKE.keys())
def test_blocks_that_would_be_called_alike_are_refused(features: Any, together: Any, message: str) -> None:
    schema = dn.Schema([dn.Flag(one) if isinstance(one, str) else one for one in features])
    assert dn.Plan(schema, epsilon=1.0)
    with pytest.raises(
        dn.PlanError, match=f"cannot be told apart by what they are called: .*{message}.*; rename a quest"
    ):
        dn.Plan(schema, epsilon=1.0, together=together)
    taken = {name for names in together for name in names}
    rest = [[name] for name in schema.questions if name not in taken]
    with pytest.raises(dn.PlanError, match="cannot be told apart"):  # nor in different arms
        dn.Plan(schema, epsilon=1.0, arms=[*together, *rest])


def test_a_question_inside_a_block_has_no_protocol_of_its_own() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, together=[["smoker", "age"]])
    with pytest.raises(
        dn.PlanError, match="'smoker' has no protocol of its own: it is asked as 'smoker x age'; see plan.b"
    ):
        plan["smoker"]
    assert plan["income"] == plan.blocks[-1].protocol
    with pytest.raises(dn.SchemaError, match="no feature 'sex'"):
        plan["sex"]


def test_blocks_compare_by_features_and_protocol() -> None:
    a, b = dn.Flag("a"), dn.Flag("b")
    one = dn.Plan(dn.Schema([a, b]), epsilon=1.0, together=[["a", "b"]]).blocks[0]
    assert one == Block((a, b), one.protocol)
    assert one.unit is one.unit
    assert one.ratio == one.protocol.ratio
    assert hash(one) == hash(Block((a, b), one.protocol))
    assert one != Block((b, a), one.protocol)
