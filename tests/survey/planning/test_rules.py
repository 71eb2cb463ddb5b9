"""Rules of designs: what must be asked together, and a share that is kept for every pair."""

from itertools import combinations

import numpy as np
import pytest

import deniable as dn
from deniable.survey.planning.rules import Rules

SMALL = dn.Schema([dn.Flag(f"q{k}") for k in range(5)])
LARGE = dn.Schema([dn.Flag(f"q{k}") for k in range(12)])  # with too many blocks to try all
TRIO = ["q0", "q3", "q4"]


def together(plan: dn.Plan, names: list[str]) -> bool:
    return all(len({name in arm for name in names}) == 1 for arm in plan.arms)


@pytest.mark.parametrize("schema", [SMALL, LARGE], ids=["few blocks", "many blocks"])
@pytest.mark.parametrize("goal", ["mean", "worst"])
def test_questions_are_asked_all_or_none(schema: dn.Schema, goal: str) -> None:
    plan = dn.design(schema, epsilon=2.0, together=[TRIO], goal=goal)
    assert together(plan, TRIO)
    assert not together(dn.design(schema, epsilon=2.0, goal=goal), TRIO)  # the control
    assert all(plan.expect(*pair, n=1_000).half_width < 1 for pair in combinations(schema.names, 2))


def test_together_costs_little_where_it_is_best_anyway() -> None:
    free, bound = (dn.design(SMALL, epsilon=4.0, order=2, together=names) for names in ([], [["q0", "q1"]]))
    pairs = list(combinations(SMALL.names, 2))
    widths = [np.mean([plan.expect(*pair, n=1_000).half_width ** 2 for pair in pairs]) for plan in (free, bound)]
    assert 0.99 < widths[1] / widths[0] < 1.5


def test_groups_that_share_a_question_are_one() -> None:
    plan = dn.design(SMALL, epsilon=2.0, order=1, together=[["q0", "q1"], ["q2", "q3"], ["q1", "q2"]])
    assert sorted(len(arm.schema) for arm in plan.arms) == [1, 4]


def test_closing_a_block_and_what_may_be_asked() -> None:
    rules = Rules(3, (frozenset({0, 4}),), (frozenset({1, 2}),))
    assert rules.closed((1,)) == rules.closed((2,)) == (1, 2)
    assert rules.closed((0, 3)) == (0, 3)
    assert [rules.allowed(block) for block in ((0, 1, 2), (0, 4), (0, 1, 2, 3))] == [True, False, False]


def test_what_cannot_be_together_is_refused() -> None:
    """And the rules that are against each other are named, not a table that has nothing to do with them."""
    with pytest.raises(dn.PlanError, match=r"'q0', .* must be asked together, .*: it has 3 questions, and most=2"):
        dn.design(SMALL, epsilon=1.0, order=1, together=[TRIO], most=2)
    with pytest.raises(dn.PlanError, match=r"'q1', 'q2' must be asked together, but .*: apart has 'q1', 'q2'; leave"):
        dn.design(SMALL, epsilon=1.0, together=[["q1", "q2"]], apart=[["q1", "q2", "q4"]])
    with pytest.raises(dn.PlanError, match=r"'q0 x q2' \(with 'q1'\) is wanted, but .*: it has 3 questions"):
        dn.design(SMALL, epsilon=1.0, together=[["q0", "q1"]], most=2)
    with pytest.raises(dn.PlanError, match="together is a list of lists of names"):
        dn.design(SMALL, epsilon=1.0, together="q0")  # type: ignore[arg-type]


# -- spare -------------------------------------------------------------------------------------------------------------

WANT = [("q0", "q1"), ("q2", "q3")]


def test_a_spare_share_tells_of_every_pair() -> None:
    plan = dn.design(SMALL, epsilon=2.0, want=WANT, spare=0.1)
    assert plan.want == tuple(WANT)
    every = dn.design(SMALL, epsilon=2.0, order=2)
    for pair in combinations(SMALL.names, 2):
        least = np.sqrt(1 / 0.1) * every.expect(*pair, n=1_000_000).half_width
        assert plan.expect(*pair, n=1_000_000).half_width < 1.15 * least
    best = dn.design(dn.Schema(list(SMALL)[:4]), epsilon=2.0, want=WANT)
    for pair in WANT:
        ratio = plan.expect(*pair, n=1_000_000).half_width / best.expect(*pair, n=1_000_000).half_width
        assert 1 < ratio < 1 / np.sqrt(0.9)


def test_questions_that_nothing_wants_have_a_tenth_of_the_people_unless_it_is_said_otherwise() -> None:
    plan = dn.design(SMALL, epsilon=2.0, want=WANT)
    assert plan == dn.design(SMALL, epsilon=2.0, want=WANT, spare=0.1)
    assert "10 % of the people are asked for every pair of questions alike; no wanted table has 'q4'." in joined(plan)
    assert plan.power("q0", "q4", correlation=0.1, n=1_000_000) > 0.99
    with pytest.raises(dn.PlanError, match="no wanted table has 'q4'"):
        dn.design(SMALL, epsilon=2.0, want=WANT, spare=0)


def test_nothing_is_spared_where_every_question_is_wanted() -> None:
    plan = dn.design(SMALL, epsilon=2.0, want=[*WANT, "q4"])
    assert plan == dn.design(SMALL, epsilon=2.0, want=[*WANT, "q4"], spare=0)
    assert plan != dn.design(SMALL, epsilon=2.0, want=[*WANT, "q4"], spare=0.1)
    assert "pair of questions" not in joined(plan)


def joined(plan: dn.Plan) -> str:
    """The plan in words, in one line."""
    return " ".join(str(plan).split())


def test_half_widths_are_found_with_what_is_spared() -> None:
    plan = dn.design(SMALL, epsilon=2.0, want=WANT, spare=0.2, half_width=0.02)
    assert plan.n is not None
    assert max(plan.expect(*pair).half_width for pair in WANT) == pytest.approx(0.02, rel=1e-3)
    least = dn.design(SMALL, want=WANT, spare=0.2, half_width=0.02, n=plan.n)
    assert least.epsilon == pytest.approx(2, rel=0.02)


def test_pairs_that_stand_apart_are_not_spared() -> None:
    plan = dn.design(SMALL, epsilon=2.0, want=WANT, spare=0.1, apart=[["q0", "q4"]])
    assert not any("q0" in arm and "q4" in arm for arm in plan.arms)
    alone = dn.design(SMALL, epsilon=2.0, order=1, spare=0.1, most=1)
    assert {len(arm.schema) for arm in alone.arms} == {1}


@pytest.mark.parametrize("spare", [-0.1, 1, True, "0.05", float("nan")])
def test_a_spare_share_that_is_none_is_refused(spare: float) -> None:
    with pytest.raises(dn.PlanError, match="spare is a share of the respondents below 1"):
        dn.design(SMALL, epsilon=1.0, spare=spare)
