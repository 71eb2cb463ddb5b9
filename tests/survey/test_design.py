"""Designs: the worked case of eight questions, what can be asked of them, what is refused, and inverse questions."""

from itertools import combinations
from math import inf, nan, sqrt
from typing import Any

import pytest

import deniable as dn
from deniable.errors import DeniableError
from deniable.survey.half_widths import HalfWidths
from deniable.survey.planning.blocks_in_use import LOSS, best_design
from tests.support.designs import flags
from tests.support.planning import EIGHT, EIGHT_WANTED, MULTI, OPTIMA
from tests.support.situations import values

SOME = dn.Schema([dn.Flag("a"), dn.Choice("b", values(3)), dn.Flag("c"), dn.Choice("d", values(4)), dn.Flag("e")])


def half_widths(plan: dn.Plan, **options: Any) -> dict[tuple[str, ...], float]:
    """The expected half-width of each wanted table."""
    assert plan.want is not None
    return {names: plan.expect(*names, **options).half_width for names in plan.want}


def asked(plan: dn.Plan) -> list[tuple[str, ...]]:
    """What each arm asks."""
    return [arm.schema.names for arm in plan.arms]


# -- the worked case ---------------------------------------------------------------------------------------------------

MARGINS = {"smoker": 0.2, "drinks": 0.6}


def test_worked_case_for_the_mean() -> None:
    plan = dn.design(EIGHT, epsilon=2.0, want=EIGHT_WANTED, n=50_000)
    assert plan.epsilon <= 2.0
    assert plan.n == 50_000
    assert max(half_widths(plan).values()) <= 0.017
    assert plan.power("smoker", "drinks", correlation=0.1, guess=MARGINS) >= 0.967
    assert plan.needed("smoker", "drinks", correlation=0.1, guess=MARGINS) <= 26_000


def test_worked_case_for_the_worst() -> None:
    plan = dn.design(EIGHT, epsilon=2.0, want=EIGHT_WANTED, n=50_000, goal="worst")
    widths = half_widths(plan)
    assert max(widths.values()) <= 0.0157
    assert max(widths.values()) <= 1.002 * min(widths.values())  # all alike
    assert plan.power("smoker", "drinks", correlation=0.1, guess=MARGINS) >= 0.967


def test_worked_case_if_everybody_is_asked_everything() -> None:
    plan = dn.Plan(EIGHT, epsilon=2.0)
    widths = [plan.expect(*([one] if isinstance(one, str) else one), n=50_000).half_width for one in EIGHT_WANTED]
    assert 0.055 < min(widths) < 0.065
    assert 0.225 < max(widths) < 0.235
    needed = plan.needed("smoker", "drinks", correlation=0.1, guess=MARGINS)
    assert needed == pytest.approx(5.3e6, rel=0.01)


def noise(plan: dn.Plan) -> float:
    """The total variance over all wanted tables and cells for one respondent, without that of sampling."""
    widths, tables = HalfWidths(plan), plan.want or ()
    return sum(widths.cells(names) * widths.variance(names) - 1 + 1 / widths.cells(names) for names in tables)


@pytest.mark.parametrize(("questions", "order"), OPTIMA.keys())
@pytest.mark.parametrize("place", [0, 1, 2])
def test_designs_of_flags_are_within_three_per_mille_of_the_optima(questions: int, order: int, place: int) -> None:
    """With few arms, and epsilon on its grid."""
    plan = dn.design(flags(questions), epsilon=(1.0, 2.0, 4.0)[place], order=order)
    assert noise(plan) == pytest.approx(OPTIMA[questions, order][place], rel=3e-3)


@pytest.mark.parametrize(("questions", "epsilon", "arms"), [(8, 1.0, 30), (10, 2.0, 60)])
def test_arms_are_few(questions: int, epsilon: float, arms: int) -> None:
    """Where all arms are alike a balanced part of them is kept: of all good ones there are 84 and 120."""
    assert len(dn.design(flags(questions), epsilon=epsilon).arms) <= arms


# -- what is wanted ----------------------------------------------------------------------------------------------------


def test_every_pair_is_wanted_without_a_word() -> None:
    plan = dn.design(SOME, epsilon=2.0)
    assert plan.want == tuple(combinations(SOME.names, 2))
    assert plan.n is None
    assert all(any(set(pair) <= set(arm) for arm in asked(plan)) for pair in plan.want)


@pytest.mark.parametrize("order", [1, 3, 5])
def test_tables_of_any_order_are_wanted(order: int) -> None:
    plan = dn.design(SOME, epsilon=2.0, order=order)
    assert plan.want == tuple(combinations(SOME.names, order))
    assert all(any(set(table) <= set(arm) for arm in asked(plan)) for table in plan.want)


@pytest.mark.parametrize("feature", [dn.Flag("a"), dn.Choice("a", values(2)), dn.Choice("a", values(9))])
def test_one_question_is_asked_of_everybody(feature: dn.Flag | dn.Choice) -> None:
    plan = dn.design(dn.Schema([feature]), epsilon=1.0, want=["a"], n=100)
    assert plan == dn.Plan(dn.Schema([feature]), epsilon=1.0)
    assert (plan.want, plan.n) == ((("a",),), 100)


def test_single_shares_of_flags_are_asked_one_by_one_below_epsilon_1_34() -> None:
    """And together above: asking one of 16 flags alone is best at epsilon 1."""
    assert {len(names) for names in asked(dn.design(flags(8), epsilon=1.0, order=1))} == {1}
    assert {len(names) for names in asked(dn.design(flags(8), epsilon=2.0, order=1))} == {2}


def test_tables_are_wanted_once_and_in_the_order_of_the_schema() -> None:
    plan = dn.design(SOME, epsilon=2.0, want=[("b", "a"), ["a", "b"], "c", ("c",), ("e", "d")])
    assert plan.want == (("a", "b"), ("c",), ("d", "e"))


def test_multi_select_questions_are_wanted_by_name() -> None:
    """It stands for a table with each of its flags; all of them together are wanted by naming them."""
    plan = dn.design(MULTI, epsilon=2.0, want=["drinks", ("smoker", "drinks"), ("drinks: tea", "age"), "region"])
    assert plan.want == (
        ("drinks: tea",),
        ("drinks: beer",),
        ("smoker", "drinks: tea"),
        ("smoker", "drinks: beer"),
        ("drinks: tea", "age"),
        ("region",),
    )
    joint = ("smoker", "drinks: tea", "drinks: beer")
    assert dn.design(MULTI, epsilon=2.0, want=[joint, "age", "region"]).want[0] == joint  # type: ignore[index]
    weighted = dn.design(
        MULTI, epsilon=2.0, want=[("smoker", "drinks"), "age", "region"], weights={("drinks", "smoker"): 3}
    )
    assert weighted.aim.manner.weights == ((("smoker", "drinks: tea"), 3), (("smoker", "drinks: beer"), 3))  # type: ignore[union-attr]


def test_one_question_needs_no_word_of_what_is_wanted() -> None:
    plan = dn.design(dn.Schema([dn.Choice("a", values(4))]), epsilon=1.0)
    assert plan.want == (("a",),)


def test_large_tables_are_no_matter_where_nobody_wants_them() -> None:
    """Of those that are wanted, the first that is too large is named with what can be done."""
    large = dn.Schema([dn.Choice("town", values(100)), dn.Choice("job", values(60)), dn.Flag("smoker")])
    for want in (None, [("town", "job"), "smoker"]):
        with pytest.raises(dn.PlanError, match=r"'town x job' has 6,000 combinations .* at most 4,096 .* join answers"):
            dn.design(large, epsilon=1.0, want=want)
    with pytest.raises(dn.PlanError, match="'town' with all that must be asked together with it has 6,000"):
        dn.design(large, epsilon=1.0, order=1, together=[["town", "job"]])
    assert dn.design(large, epsilon=1.0, want=[("town", "smoker"), "job"]).want
    assert dn.design(large, epsilon=1.0, public=["job"]).want


def test_a_design_is_better_than_asking_everybody_everything() -> None:
    design, split = dn.design(SOME, epsilon=2.0), dn.Plan(SOME, epsilon=2.0)
    for names, width in half_widths(design, n=1_000).items():
        assert 2 * width < split.expect(*names, n=1_000).half_width


def test_a_design_for_fewer_tables_knows_them_better() -> None:
    every = dn.design(SOME, epsilon=2.0)
    some = dn.design(SOME, epsilon=2.0, want=[("a", "b"), "c", "d", "e"])
    assert some.expect("a", "b", n=1_000).half_width < 0.9 * every.expect("a", "b", n=1_000).half_width


@pytest.mark.parametrize("goal", ["mean", "worst"])
def test_weights_make_a_table_better_known(goal: str) -> None:
    plain, weighted = (
        half_widths(dn.design(SOME, epsilon=2.0, goal=goal, weights=weights), n=1_000)
        for weights in ({}, {("b", "a"): 9})
    )
    assert weighted["a", "b"] < 0.8 * plain["a", "b"]
    assert weighted["c", "d"] > plain["c", "d"]
    if goal == "worst":  # nine times the variance counts as much as the others' largest
        others = max(width for names, width in weighted.items() if names != ("a", "b"))
        assert 3 * weighted["a", "b"] == pytest.approx(others, rel=5e-3)


def test_weights_of_a_multi_select_question_are_of_its_flags() -> None:
    want = ["drinks", "smoker", "age", "region"]
    plan = dn.design(MULTI, epsilon=1.0, want=want, weights={"drinks": 4})
    same = dn.design(MULTI, epsilon=1.0, want=want, weights={"drinks: tea": 4, ("drinks: beer",): 4})
    assert plan == same
    assert plan != dn.design(MULTI, epsilon=1.0, want=want)


@pytest.mark.parametrize("most", [2, 3])
def test_nobody_is_asked_more_than_most(most: int) -> None:
    plan = dn.design(flags(6), epsilon=3.0, most=most)
    assert max(len(names) for names in asked(plan)) == most
    assert max(len(names) for names in asked(dn.design(flags(6), epsilon=3.0))) > most


def test_questions_apart_are_never_asked_of_one_person() -> None:
    """Though blocks with both were the best without it."""
    want = [("a", "b"), ("c", "d"), ("e", "a")]
    together = dn.design(SOME, epsilon=4.0, want=want)
    assert any({"b", "e"} <= set(names) for names in asked(together))
    plan = dn.design(SOME, epsilon=4.0, want=want, apart=[["b", "e"], ["a", "c"]])
    assert not any({"b", "e"} <= set(names) or {"a", "c"} <= set(names) for names in asked(plan))


def test_public_columns_are_in_every_arm() -> None:
    plan = dn.design(MULTI, epsilon=1.0, public=["region"], want=[("smoker", "age", "region"), "drinks"])
    assert plan.public == ("region",)
    assert plan.has_arms
    assert all("region" in names for names in asked(plan))
    assert plan.want == (("smoker", "age", "region"), ("drinks: tea",), ("drinks: beer",))
    assert dn.design(MULTI, epsilon=1.0, public=["drinks"], order=1).public == ("drinks: tea", "drinks: beer")


@pytest.mark.parametrize("goal", ["mean", "worst"])
def test_public_columns_count_in_the_goal(goal: str) -> None:
    """Goals are those of the whole tables: shares that are a little different make them worse."""
    want = [("smoker", "region"), ("age",), "drinks"]
    plan = dn.design(MULTI, epsilon=1.0, public=["region"], want=want, goal=goal)

    def worth(one: dn.Plan) -> float:
        variances = [one.expect(*names, n=10**6).stderr ** 2 for names in plan.want or ()]
        return max(variances) if goal == "worst" else sum(variances)

    best = worth(plan)
    for place in range(len(plan.shares)):
        for times in (0.8, 1.25):
            shares = [share * (times if k == place else 1.0) for k, share in enumerate(plan.shares)]
            assert worth(_with_shares(plan, shares)) * (1 + LOSS) > best


@pytest.mark.parametrize("want", [[("s", "r"), "a"], [("s", "r"), "s", "a"], [("s", "r"), ("a", "r"), "a"]])
@pytest.mark.parametrize("epsilon", [2.0, 4.0, 6.0])
def test_the_worst_table_with_public_columns_is_as_good_as_a_scan_finds(epsilon: float, want: list[Any]) -> None:
    """Strata of a public column add a variance of their own, and tables may differ in public columns alone."""
    schema = dn.Schema([dn.Flag("s"), dn.Choice("a", values(4)), dn.Choice("r", values(6))])
    plan = dn.design(schema, epsilon=epsilon, public=["r"], want=want, goal="worst")

    def worst(one: dn.Plan) -> float:
        return max(HalfWidths(one).variance(names) for names in plan.want or ())

    two = [
        worst(dn.Plan(schema, {"r": dn.Public()}, epsilon=epsilon, arms={("s",): share, ("a",): 50 - share}))
        for share in range(1, 50)
    ]
    assert worst(plan) <= 1.003 * min(two)
    assert max(two) > 1.5 * min(two)  # the control


def _with_shares(plan: dn.Plan, shares: list[float]) -> dn.Plan:
    """The same arms with other shares."""
    names = [tuple(name for name in arm.schema.names if name not in plan.public) for arm in plan.arms]
    protocols = {name: dn.Public() for name in plan.public}
    return dn.Plan(plan.schema, protocols, epsilon=1.0, arms=dict(zip(names, shares, strict=True)))


def test_designs_are_always_the_same() -> None:
    first, second = (dn.design(EIGHT, epsilon=2.0, want=EIGHT_WANTED, goal="worst") for _ in range(2))
    assert first.to_json() == second.to_json()


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 12.0])
def test_epsilon_is_kept(epsilon: float) -> None:
    plan = dn.design(SOME, epsilon=epsilon)
    assert 0.95 * epsilon < plan.epsilon <= epsilon


def test_tables_of_many_cells_are_asked_together() -> None:
    """Of more cells than blocks are otherwise enlarged to."""
    schema = dn.Schema([dn.Choice("a", values(20)), dn.Choice("b", values(20))])
    assert asked(dn.design(schema, epsilon=2.0)) == [("a", "b")]


# -- inverse questions -------------------------------------------------------------------------------------------------

PUBLIC: dict[str, Any] = {
    "nothing public": {"want": [("smoker", "age"), "drinks", "region"]},
    "a public column": {"want": [("smoker", "age", "region"), "drinks"], "public": ["region"]},
    "worst": {"want": [("smoker", "age"), "drinks", "region"], "goal": "worst"},
}


@pytest.mark.parametrize("options", PUBLIC.values(), ids=PUBLIC.keys())
def test_least_n_gives_the_half_width(options: Any) -> None:
    plan = dn.design(MULTI, epsilon=1.0, half_width=0.02, **options)
    assert plan.n is not None
    assert max(half_widths(plan).values()) == pytest.approx(0.02, rel=1e-3)
    assert plan.n == pytest.approx(max(plan.needed(*names, half_width=0.02) for names in plan.want or ()), rel=1e-3)
    widths = HalfWidths(plan)  # with the shares as they are, integers over 65 536
    assert max(widths(names, plan.n) for names in plan.want or ()) <= 0.02
    assert max(widths(names, plan.n - 1) for names in plan.want or ()) > 0.02
    assert max(half_widths(plan, n=plan.n // 2).values()) > 0.025  # the control


def test_strata_of_public_columns_have_a_sampling_error() -> None:
    """With a large epsilon, most of the variance of a cell is that of being in its stratum."""
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("region", values(6))])
    plan = dn.design(schema, epsilon=6.0, want=[("smoker", "region")], public=["region"], half_width=0.02)
    assert plan.expect("smoker", "region").half_width == pytest.approx(0.02, rel=1e-3)


@pytest.mark.parametrize("options", PUBLIC.values(), ids=PUBLIC.keys())
@pytest.mark.parametrize(("n", "width"), [(20_000, 0.02), (5_000_000, 0.02), (5_000, 0.015)])
def test_least_epsilon_gives_the_half_width(n: int, width: float, options: Any) -> None:
    plan = dn.design(MULTI, n=n, half_width=width, **options)
    assert plan.n == n
    assert plan.asked is not None
    assert max(half_widths(plan).values()) <= width * 1.0005
    digits = f"{float(plan.asked):.3g}"
    assert float(digits) == float(plan.asked)  # three of them
    less = dn.design(MULTI, n=n, epsilon=float(plan.asked) * 0.985, **options)
    assert max(half_widths(less).values()) > width


def test_without_a_goal_a_half_width_is_for_the_worst_table() -> None:
    """Else the number of people, or epsilon, would not be the least."""
    people = [dn.design(EIGHT, epsilon=2.0, want=EIGHT_WANTED, half_width=0.02, goal=goal).n for goal in (None, "mean")]
    assert people[0] < 0.97 * people[1]  # type: ignore[operator]
    wide = {"want": EIGHT_WANTED, "n": 50_000, "half_width": 0.02}
    assert dn.design(EIGHT, **wide) == dn.design(EIGHT, **wide, goal="worst")
    assert dn.design(EIGHT, epsilon=2.0, want=EIGHT_WANTED) == dn.design(
        EIGHT, epsilon=2.0, want=EIGHT_WANTED, goal="mean"
    )


def test_the_least_epsilon_takes_few_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []

    def counted(wanted: Any, epsilon: Any, **options: Any) -> Any:
        made.append(float(epsilon))
        return best_design(wanted, epsilon, **options)

    monkeypatch.setattr("deniable.survey.design.best_design", counted)
    for n in (3_000, 300_000, 30_000_000):
        made.clear()
        dn.design(EIGHT, want=EIGHT_WANTED, n=n, half_width=0.02)
        assert len(made) <= 8  # halving took fifteen


def test_half_widths_fall_with_the_root_of_n() -> None:
    plan = dn.design(SOME, epsilon=1.0)
    assert plan.expect("a", "b", n=4_000_000).half_width == pytest.approx(
        plan.expect("a", "b", n=1_000_000).half_width / sqrt(4), rel=1e-4
    )


# -- refused -----------------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no budget": ({"epsilon": None}, "takes epsilon; or, for the least one, both n and half_width"),
    "no half-width": ({"epsilon": None, "n": 1_000}, "both n and half_width"),
    "no people": ({"epsilon": None, "half_width": 0.1}, "both n and half_width"),
    "everything given": ({"n": 1_000, "half_width": 0.1}, "leave out the one that you look for"),
    "too much": (
        {"epsilon": None, "n": 10, "half_width": 0.01},
        "not even epsilon 20 gives a half-width of 0.01 with 10 people",
    ),
    "negative epsilon": ({"epsilon": -1.0}, "epsilon must be a positive number; found -1"),
    "epsilon in words": ({"epsilon": "one"}, "epsilon must be a positive number; found 'one'"),
    "another goal": ({"goal": "best"}, 'goal is "mean" or "worst"; found \'best\''),
    "order beyond": ({"order": 6}, "1 to 5; found 6"),
    "order zero": ({"order": 0}, "1 to 5; found 0"),
    "order true": ({"order": True}, "1 to 5; found True"),
    "order a fraction": ({"order": 1.5}, "1 to 5; found 1.5"),
    "want a name": ({"want": "a"}, "want is a list of tables"),
    "want nothing": ({"want": []}, "want is a list of tables"),
    "want a set": ({"want": {"a"}}, "want is a list of tables"),
    "want a number": ({"want": [5]}, "a wanted table is a name or several; found 5"),
    "want an empty table": ({"want": [()]}, r"a wanted table is a name or several; found \(\)"),
    "want numbers": ({"want": [("a", 5)]}, "a wanted table is a name or several"),
    "want twice": ({"want": [("a", "a")]}, "has each question once"),
    "want unknown": ({"want": ["x"]}, "no feature 'x'"),
    "unused questions": (
        {"want": [("a", "b"), "c"], "spare": 0},
        r"no wanted table has 'd', 'e'; add them to want,.*--spare 10%\)",
    ),
    "an unused question": ({"want": [("a", "b"), "c", "d"], "spare": 0}, "no wanted table has 'e'; add it to want"),
    "want a pair": ({"want": ("a", "b")}, r"\[\('a', 'b'\)\] for one table of all these, \['a', 'b'\] for each"),
    "want and order": ({"want": ["a"], "order": 2}, "order wants every table of so many questions; leave it out"),
    "weight beyond": ({"weights": {("a", "b"): 1e300}}, "must be between 1e-6 and 1e6; found 1e\\+300"),
    "public twice": ({"public": ["a", "a"]}, "public names each column once; found 'a' twice"),
    "n zero": ({"n": 0}, "n is how many respondents are expected, a whole number above 0; found 0"),
    "n a fraction": ({"n": 2.5}, "found 2.5"),
    "n true": ({"n": True}, "found True"),
    "half-width in percent": ({"half_width": 2}, "half_width is a share between 0 and 1, such as 0.02; found 2"),
    "half-width zero": ({"half_width": 0}, "found 0"),
    "half-width nan": ({"half_width": nan}, "found nan"),
    "half-width in words": ({"half_width": "2%"}, "found '2%'"),
    "weights a list": ({"weights": [1]}, r"weights are a mapping from tables to numbers; found \[1\]"),
    "weights of something else": ({"weights": {("a", "b", "c"): 1}}, "weights are of wanted tables"),
    "weights of a number": ({"weights": {5: 1}}, "a wanted table is a name or several; found 5"),
    "weight zero": ({"weights": {("a", "b"): 0}}, r"weight of \('a', 'b'\) must be a positive number; found 0"),
    "weight true": ({"weights": {("a", "b"): True}}, "must be a positive number; found True"),
    "weight infinite": ({"weights": {("a", "b"): inf}}, "must be a positive number; found inf"),
    "weight in words": ({"weights": {("a", "b"): "3"}}, "must be a positive number; found '3'"),
    "most zero": ({"most": 0}, "most is how many questions one person is asked, a whole number; found 0"),
    "most true": ({"most": True}, "found True"),
    "most a fraction": ({"most": 2.0}, "found 2.0"),
    "most too few": (
        {"most": 1},
        r"'a x b' is wanted, but may not be .*: it has 2 questions, and most=1 \(in the shell --most 1\) allows",
    ),
    "apart a name": ({"apart": "a"}, "apart is a list of lists of names, .*; found \"?'a'"),
    "apart a number": ({"apart": 5}, "apart is a list of lists of names"),
    "apart names": ({"apart": ["a", "b"]}, r"apart is a list of lists of names, .*; found \['a', 'b'\]"),
    "apart unknown": ({"apart": [["a", "x"]]}, "no feature 'x'"),
    "apart what is wanted": ({"apart": [["a", "b"]]}, "'a x b' is wanted, but may not be asked together"),
    "public a name": ({"public": "a"}, r'public is a list of names, \["region"\]; found \'a\''),
    "public a number": ({"public": 5}, "public is a list of names"),
    "public unknown": ({"public": ["x"]}, "no feature 'x'"),
    "all public": ({"public": list(SOME.names)}, "nothing that is wanted is protected"),
}


@pytest.mark.parametrize(("options", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        dn.design(SOME, **({"epsilon": 1.0} | options))


@pytest.mark.parametrize("schema", [None, ["a"], {"a": dn.Flag("a")}])
def test_a_design_is_of_a_schema(schema: Any) -> None:
    with pytest.raises(dn.PlanError, match="a design is made for a Schema; found"):
        dn.design(schema, epsilon=1.0)
