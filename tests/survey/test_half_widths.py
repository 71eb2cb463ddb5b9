"""Half-widths in closed form are those of the expected estimate, and the rule of thumb is what a design gains."""

import time
from itertools import combinations
from math import inf

import pytest

import deniable as dn
from deniable.survey.half_widths import HalfWidths, everybody_everything, times_fewer
from tests.support.situations import values

SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", values(3)), dn.Flag("drinks"), dn.Choice("town", values(2))])
SHOWN = {"town": dn.Public()}
PLANS = {
    "apart": dn.Plan(SCHEMA, epsilon=3.0),
    "public": dn.Plan(SCHEMA, SHOWN, epsilon=3.0),
    "unequal coins": dn.Plan(SCHEMA, {"smoker": dn.RandomizedResponse(p=0.1, q=0.7)}, epsilon=3.0),
    "blocks": dn.Plan(SCHEMA, epsilon=2.0, together=[["smoker", "age"], ["drinks", "town"]]),
    "arms": dn.Plan(SCHEMA, epsilon=2.0, arms={("smoker", "age", "drinks", "town"): 0.25, ("smoker", "age"): 0.75}),
    "arms of blocks": dn.Plan(
        SCHEMA, SHOWN, epsilon=4.0, arms=[[["smoker", "age"], ["drinks"]], [["smoker"], ["age", "drinks"]]]
    ),
    "bits": dn.Plan(SCHEMA, {("smoker", "age"): dn.UnaryEncoding.optimized(1.0)}, epsilon=3.0),
    "hashes": dn.Plan(SCHEMA, {("smoker", "age"): dn.LocalHashing(epsilon=1.0)}, epsilon=3.0),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_they_are_those_of_the_expected_estimate(plan: dn.Plan) -> None:
    widths, n = HalfWidths(plan), 65_536_000
    for size in (1, 2, 3):
        for names in combinations(SCHEMA.names, size):
            assert widths(names, n) == pytest.approx(plan.expect(*names, n=n).half_width, rel=1e-6), names


def test_what_nobody_is_asked_is_not_known() -> None:
    widths = HalfWidths(dn.Plan(SCHEMA, epsilon=2.0, arms=[["smoker", "age"], ["drinks", "town"]]))
    assert widths(("smoker", "drinks"), 100) == inf
    assert widths(("smoker",), 100) < inf


def test_everybody_everything_has_the_same_epsilon_and_public_columns() -> None:
    assert everybody_everything(PLANS["arms of blocks"]) == dn.Plan(SCHEMA, SHOWN, epsilon=4.0)
    read = dn.Plan.from_json(PLANS["arms"].to_json())  # which no longer knows what was asked for
    again = everybody_everything(read)
    assert again is not None
    assert again.epsilon == pytest.approx(2.0, abs=0.01)
    flags = dn.Schema([dn.Flag(f"q{k}") for k in range(40)])
    tiny = dn.Plan(flags, epsilon=0.001, arms=[[name] for name in flags.names])  # a fortieth of it has no coin
    assert everybody_everything(tiny) is None


@pytest.mark.parametrize(
    ("questions", "answers", "epsilon"),
    [(4, 2, 4.0), (8, 2, 1.0), (8, 2, 2.0), (16, 2, 2.0), (16, 2, 4.0), (8, 4, 2.0), (2, 2, 1.0), (5, 3, 6.0)],
)
def test_the_rule_says_about_what_the_best_design_gains(questions: int, answers: int, epsilon: float) -> None:
    """Mean variances over all pairs, of the plan and of the design that the planner finds."""
    features = [dn.Flag(f"q{k}") if answers == 2 else dn.Choice(f"q{k}", values(answers)) for k in range(questions)]
    schema = dn.Schema(features)
    plan, best = dn.Plan(schema, epsilon=epsilon), dn.design(schema, epsilon=epsilon)
    pairs = list(combinations(schema.names, 2))
    gained = sum(map(HalfWidths(plan).variance, pairs)) / sum(map(HalfWidths(best).variance, pairs))
    assert times_fewer(plan) == pytest.approx(gained, rel=0.1)


def test_questions_of_different_sizes() -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", values(6)), dn.Choice("c", values(3)), dn.Flag("d"), dn.Flag("e")])
    plan, best = dn.Plan(schema, epsilon=2.0), dn.design(schema, epsilon=2.0)
    pairs = list(combinations(schema.names, 2))
    gained = sum(map(HalfWidths(plan).variance, pairs)) / sum(map(HalfWidths(best).variance, pairs))
    assert times_fewer(plan) == pytest.approx(gained, rel=0.25)


def test_where_no_rule_says_anything() -> None:
    assert times_fewer(dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)) is None
    assert times_fewer(dn.Plan(SCHEMA, dict.fromkeys(SCHEMA.names[1:], dn.Public()), epsilon=1.0)) is None
    many = dn.Schema([dn.Choice("a", values(500)), dn.Choice("b", values(500))])
    assert times_fewer(dn.Plan(many, epsilon=1.0)) is not None


def test_it_is_quick_for_many_questions() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag(f"q{k}") for k in range(50)]), epsilon=2.0)
    start = time.perf_counter()
    times_fewer(plan)
    assert time.perf_counter() - start < 0.5
