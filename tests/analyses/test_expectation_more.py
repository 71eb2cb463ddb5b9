"""Every kind of result as it is expected, against simulated surveys; the chance of an answer; the least effect seen."""

import doctest
import inspect
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.analyses.expectation import Expectation
from deniable.analyses.plan_half_widths import Costs, half_widths, tables_of
from deniable.analyses.power import Detectable
from deniable.survey.budget_over_time import Budget

SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-64", "65+"]), dn.Flag("drinker")])
CLASSES = [
    (0.6, {"smoker": 0.4, "age": [0.5, 0.3, 0.2], "drinker": 0.7}),
    (0.4, {"smoker": 0.1, "age": [0.2, 0.4, 0.4], "drinker": 0.3}),
]
TRUTH = dn.simulate.truth(SCHEMA, CLASSES)
PAIRS = dn.design(SCHEMA, epsilon=3.0, order=2, most=2)
WRONG = dn.design(SCHEMA, epsilon=2.0, order=2, most=2)  # the control: another epsilon than that of the surveys
N = 20_000
SURVEYS = 200
# Three Monte Carlo standard errors of a standard deviation, and the part by which an expectation may be wrong itself.
SLACK = 3 / np.sqrt(2 * SURVEYS) + 0.02

KINDS: dict[str, Callable[[Any], Any]] = {
    "cell": lambda est: est.cell(smoker=True, age="65+"),
    "single share": lambda est: est.cell(age="30-64"),
    "difference": lambda est: est.difference("smoker", between=("age", "65+", "18-29")),
    "ratio": lambda est: est.ratio("smoker", between=("age", "65+", "18-29")),
    "odds ratio": lambda est: est.odds_ratio("smoker", ("age", "65+")),
    "correlation": lambda est: est.correlation("smoker", ("age", "65+")),
    "association": lambda est: est.association("smoker", "age").cramers_v,
}


def surveys(plan: dn.Plan, seed: int) -> list[dn.Counts]:
    rng = np.random.default_rng(seed)
    return [dn.simulate.counts(TRUTH, plan, rng, n=N) for _ in range(SURVEYS)]


@pytest.fixture(scope="module")
def counted() -> list[dn.Counts]:
    return surveys(PAIRS, 1)


@pytest.mark.parametrize("kind", [Expectation, Detectable, Costs, Budget])
def test_examples_of_results_print_what_stands_below_them(kind: type) -> None:
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(kind) or "", {"dn": dn}, kind.__name__, None, None)
    told: list[str] = []
    failed, tried = doctest.DocTestRunner().run(example, out=told.append)
    assert tried
    assert not failed, "".join(told)


# -- kinds of results --------------------------------------------------------------------------------------------------


def test_every_kind_of_result_has_the_standard_error_it_will_have(counted: list[dn.Counts]) -> None:
    expected = PAIRS.expect("smoker", "age", n=N, guess=TRUTH)
    wrong = WRONG.expect("smoker", "age", n=N, guess=TRUTH)
    found = [dn.estimate(counts, ["smoker", "age"]).about("population") for counts in counted]
    for kind, ask in KINDS.items():
        values = [ask(est).value for est in found]
        assert ask(expected).stderr == pytest.approx(np.std(values), rel=SLACK), kind
        assert ask(wrong).stderr != pytest.approx(np.std(values), rel=SLACK), kind  # the control
        assert ask(expected).value == pytest.approx(np.mean(values), abs=4 * np.std(values) / np.sqrt(SURVEYS)), kind


def test_expectations_about_the_respondents_are_those_of_given_people() -> None:
    rng = np.random.default_rng(2)
    people = TRUTH.people(N, rng)
    plan = dn.Plan(SCHEMA, epsilon=8.0, together=[["smoker", "age"]])  # little noise beside that of sampling
    guess = dn.simulate.truth(SCHEMA, people)
    counts = [dn.simulate.counts(people, plan, rng) for _ in range(SURVEYS)]
    expected = plan.expect("smoker", "age", n=N, guess=guess)
    for kind in ("cell", "single share", "difference", "correlation"):
        ask = KINDS[kind]
        spread = np.std([ask(dn.estimate(one, ["smoker", "age"])).value for one in counts])
        assert ask(expected.about("respondents")).stderr == pytest.approx(spread, rel=SLACK), kind
        assert ask(expected).stderr > 1.3 * spread, kind  # about the population: the control


def test_conditional_shares_and_tables_are_those_of_the_estimate() -> None:
    expected = PAIRS.expect("smoker", "age", n=N, guess=TRUTH)
    shares = TRUTH.shares.sum(axis=2)
    told = {row["age"]: row for row in expected.conditional("smoker", given="age").to_pylist() if row["smoker"]}
    for place, age in enumerate(("18-29", "30-64", "65+")):
        assert told[age]["proportion"] == pytest.approx(shares[1, place] / shares[:, place].sum())
        assert told[age]["low"] < told[age]["proportion"] < told[age]["high"]
    assert [row["proportion"] for row in expected.table().to_pylist()] == pytest.approx(shares.reshape(-1))


def test_an_association_of_a_table_of_two_needs_no_names() -> None:
    expected = PAIRS.expect("smoker", "age", n=N, guess=TRUTH)
    unnamed, named = (found.cramers_v for found in (expected.association(), expected.association("smoker", "age")))
    assert (unnamed.value, unnamed.stderr) == (named.value, named.stderr)
    for of, names in ((PAIRS.expect("smoker", n=N), ()), (expected, ("smoker",))):
        with pytest.raises(dn.PlanError, match="an association is of two features"):
            of.association(*names)


def test_regressions_over_arms_have_the_standard_errors_they_will_have(counted: list[dn.Counts]) -> None:
    assert not any(len(arm.schema) == 3 for arm in PAIRS.arms)  # no arm asks all
    expected = PAIRS.expect("smoker", n=N, guess=TRUTH).regress("smoker", on=["age", "drinker"])
    found = [dn.regress(counts, "smoker", on=["age", "drinker"]) for counts in counted]
    assert expected.terms == found[0].terms
    spread = np.std([one.coefficients for one in found], axis=0)
    assert expected.stderr == pytest.approx(spread, rel=SLACK)
    wrong = WRONG.expect("smoker", n=N, guess=TRUTH).regress("smoker", on=["age", "drinker"])
    assert not (np.abs(wrong.stderr / spread - 1) < SLACK).any()
    margin = np.std([one.coefficients for one in found], axis=0) / np.sqrt(SURVEYS)
    mean = np.mean([one.coefficients for one in found], axis=0)
    assert (np.abs(mean - expected.coefficients) < 4 * margin + 2e-3).all()


def test_a_regression_on_a_table_of_all_features_is_that_of_its_counts() -> None:
    """With counts that are exactly what is expected there is no difference at all."""
    plan = dn.Plan(SCHEMA, epsilon=8.0, together=[list(SCHEMA.names)])
    expected = plan.expect("smoker", n=N, guess=TRUTH).regress(("age", "65+"), on=["smoker", "drinker"])
    shares = TRUTH.shares
    x = np.array([[1, s, d] for s in (0, 1) for _ in range(3) for d in (0, 1)], float)
    y = np.array([age == 2 for _ in (0, 1) for age in range(3) for _ in (0, 1)], float)
    w = shares.reshape(-1)
    assert expected.coefficients == pytest.approx(np.linalg.solve(x.T @ (w[:, None] * x), x.T @ (w * y)), abs=1e-6)
    assert expected.outcome == "age = 65+"


# -- the least effect seen ---------------------------------------------------------------------------------------------


def test_the_least_effect_is_seen_with_that_power_and_needs_so_many() -> None:
    guess = {"smoker": 0.2, "drinker": 0.6}
    for power in (0.5, 0.8, 0.95):
        least = PAIRS.detectable("smoker", "drinker", n=N, power=power, guess=guess)
        assert least.difference is not None
        for effect in ({"correlation": least.correlation}, {"difference": least.difference}):
            assert PAIRS.power("smoker", "drinker", n=N, guess=guess, **effect) == pytest.approx(power, abs=1e-3)
            assert PAIRS.needed("smoker", "drinker", power=power, guess=guess, **effect) == pytest.approx(N, rel=1e-3)
    first, second = (PAIRS.detectable("smoker", "drinker", n=n).correlation for n in (N, 4 * N))
    assert first / second == pytest.approx(2, rel=1e-3)


def test_a_difference_is_that_between_an_answer_of_a_choice_and_all_others() -> None:
    """A correlation times the standard deviation of what differs, over that of what it differs by: 1/3 are 65+."""
    least = PAIRS.detectable("smoker", ("age", "65+"), n=N)
    assert least.difference == pytest.approx(least.correlation * (1 / 4 / (1 / 3 * 2 / 3)) ** 0.5)
    power = PAIRS.power("smoker", ("age", "65+"), difference=least.difference, n=N)
    assert power == pytest.approx(0.8, abs=1e-3)
    assert least.second == "age = 65+"
    assert "points is seen with a chance of 80 %" in str(PAIRS.detectable(("age", "65+"), "smoker", n=N))


@pytest.mark.parametrize("power", [0, 1, True, "0.8", -1])
def test_a_power_that_is_none_is_refused(power: Any) -> None:
    with pytest.raises(dn.PlanError, match="power is a probability"):
        PAIRS.detectable("smoker", "drinker", n=N, power=power)


def test_a_test_of_independence_is_expected_too() -> None:
    """Of independent features the statistic is, on average, its degrees of freedom."""
    found = PAIRS.expect("smoker", "age", n=N).independence()
    assert found.degrees == 2
    assert found.statistic == pytest.approx(2, rel=0.01)
    assert found.p_value == pytest.approx(np.exp(-1), rel=0.01)
    with pytest.raises(dn.PlanError, match="a test of independence is of two features; name two of smoker"):
        PAIRS.expect("smoker", n=N).independence()


def test_without_a_number_of_respondents_there_is_no_least_effect() -> None:
    with pytest.raises(dn.PlanError, match="made for no number of people; say how many"):
        PAIRS.detectable("smoker", "drinker")


# -- what questions cost -----------------------------------------------------------------------------------------------


def test_costs_are_half_widths_with_and_without_each_question() -> None:
    plan = dn.design(SCHEMA, epsilon=2.0, want=[("smoker", "age"), "drinker"], n=N)
    rows = plan.costs(tables=True).to_pylist()
    assert [(row["question"], row["table"]) for row in rows] == [
        ("smoker", "drinker"), ("age", "drinker"), ("drinker", "smoker x age")
    ]  # fmt: skip
    for row in rows:
        names = row["table"].split(" x ")
        assert row["half_width"] == plan.expect(*names).half_width
        assert row["half_width_without"] == plan.without(row["question"]).expect(*names).half_width
        assert row["people"] == pytest.approx((row["half_width"] / row["half_width_without"]) ** 2)
    assert rows[2]["people"] > 1.2


def test_costs_by_question_are_root_mean_squares() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0)
    each, summed = plan.costs(n=N, tables=True).to_pylist(), plan.costs(n=N).to_pylist()
    assert [row["question"] for row in summed] == list(SCHEMA.names)
    for row in summed:
        own = [one["half_width"] for one in each if one["question"] == row["question"]]
        assert row["half_width"] == pytest.approx(np.sqrt(np.mean(np.square(own))))
        assert row["people"] > 1.5


def test_costs_print_in_points_the_dearest_question_first() -> None:
    plan = dn.design(SCHEMA, epsilon=2.0, want=[("smoker", "age"), ("smoker", "drinker")], n=N)
    costs = plan.costs()
    head, _, *lines = str(costs).splitlines()
    assert head.split() == ["question", "half-width", "without", "it", "people"]
    rows = sorted(costs.to_pylist(), key=lambda row: -row["people"])
    for line, row in zip(lines, rows, strict=False):
        widths = [f"{100 * row[name]:.2f} points" for name in ("half_width", "half_width_without")]
        assert line.split(None, 1)[0] == row["question"]
        assert all(width in line for width in widths)
        assert line.endswith(f"{row['people']:.2f} times")
    assert costs.everywhere == ("smoker",)
    assert "so without a row: smoker." in " ".join(str(costs).split())
    assert "without a row" not in str(dn.Plan(SCHEMA, epsilon=2.0).costs(n=N))
    assert pa.table(costs).to_pylist() == costs.to_pylist()
    assert len(costs) == 2


def test_costs_are_those_of_designs_in_the_same_manner() -> None:
    """Here the goal, which makes what is left without a question another plan."""
    want = [("smoker", "age"), "drinker", ("age", "drinker")]
    worst = dn.design(SCHEMA, epsilon=2.0, want=want, goal="worst", weights={"drinker": 30}, n=N)
    rows = {row["table"]: row for row in worst.costs(tables=True).to_pylist() if row["question"] == "smoker"}
    left = dn.Schema([feature for feature in SCHEMA if feature.name != "smoker"])
    again = dn.design(left, epsilon=2.0, want=want[1:], goal="worst", weights={"drinker": 30})
    plain = dn.design(left, epsilon=2.0, want=want[1:])
    found = rows["drinker"]["half_width_without"]
    assert found == again.expect("drinker", n=N).half_width
    assert found != pytest.approx(plain.expect("drinker", n=N).half_width, rel=0.01)


def test_costs_of_questions_that_all_tables_hold_are_refused() -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    with pytest.raises(dn.PlanError, match="each is in every wanted table"):
        dn.design(schema, epsilon=1.0, n=100).costs()


def test_tables_of_a_plan_that_was_made_for_none_are_its_pairs() -> None:
    assert tables_of(dn.Plan(SCHEMA, epsilon=1.0)) == [("smoker", "age"), ("smoker", "drinker"), ("age", "drinker")]
    alone = dn.Plan(SCHEMA, epsilon=1.0, arms=[["smoker"], ["age"], ["drinker"]])
    assert tables_of(alone) == [("smoker",), ("age",), ("drinker",)]
    more = [half_widths(PAIRS, [("smoker", "age")], n, None)[0] for n in (100, 400, 1_600)]
    assert all(first / second == pytest.approx(2, rel=0.02) for first, second in pairwise(more))
