"""Budgets over time: what fresh reports add up to, what kept ones cost, and how surely an answer is known."""

from fractions import Fraction
from itertools import product
from math import ceil, e, prod

import numpy as np
import pytest

import deniable as dn
from deniable.client import log_up
from deniable.survey.budget_over_time import MOST_WAVES, _rounded_up, guessed_right, power_of_e
from deniable.survey.privacy import Promise

SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-64", "65+"])])
PLAN = dn.Plan(SCHEMA, epsilon=1.0)


# -- sums --------------------------------------------------------------------------------------------------------------


def test_plans_add_up_over_surveys_and_waves() -> None:
    arms = dn.Plan(SCHEMA, epsilon=2.0, arms=[["smoker"], ["age"]])
    found = dn.budget([PLAN, arms], waves=12)
    assert found.promise == Promise((PLAN.ratio * arms.ratio) ** 12)
    assert found.kept_promise == Promise(PLAN.ratio * arms.ratio)
    exact = log_up([PLAN.ratio, arms.ratio] * 12)
    assert exact <= found.epsilon < exact * (1 + 1e-14)
    assert log_up([PLAN.ratio, arms.ratio]) <= found.kept_epsilon < 3.0000001


def test_numbers_are_taken_as_they_are() -> None:
    found = dn.budget([0.1, 0.3, 2], waves=3)
    assert found.epsilon == pytest.approx(7.2, rel=1e-15)
    assert found.kept_epsilon == pytest.approx(2.4, rel=1e-15)
    assert [one.epsilon for one in found.spent] == [0.1, 0.3, 2.0]
    assert found.promise.ratio == pytest.approx(e**7.2)
    assert dn.budget(1.5).spent == dn.budget([1.5]).spent
    assert dn.budget(PLAN).epsilon == PLAN.epsilon


def test_powers_of_e_are_rounded_up() -> None:
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(12)):
        ratio = power_of_e(epsilon)
        assert log_up([ratio]) >= epsilon
        assert log_up([ratio * (1 - Fraction(1, 10**45))]) <= float(epsilon) * (1 + 1e-15)


def test_public_surveys_promise_nothing_and_spend_nothing_of_what_is_protected() -> None:
    plan = dn.Plan(SCHEMA, {"smoker": dn.Public(), "age": dn.Public()})
    assert dn.budget([plan, 1.0], waves=2).epsilon == 2


def test_public_columns_are_said_loudly() -> None:
    """No epsilon is about what is sent as it is, and none is said of a survey in which everything is."""
    every = str(dn.budget(dn.Plan(SCHEMA, {"smoker": dn.Public(), "age": dn.Public()})))
    assert "NOT PROTECTED, sent as they are each time, and in no epsilon: smoker, age." in " ".join(every.split())
    assert "odds" not in every
    assert "0.0000" not in every
    some = dn.Plan(SCHEMA, {"age": dn.Public()}, epsilon=1.0)
    text = " ".join(str(dn.budget([PLAN, some], waves=2)).split())
    assert f"in no epsilon: age in survey 2 ({some.fingerprint[:8]})." in text
    assert "the odds of any protected answers change" in text
    assert "NOT PROTECTED" not in str(dn.budget([PLAN, 1.0]))


def test_epsilons_that_protect_nothing() -> None:
    """They are counted up to where numbers still mean anything, in no time, and refused beyond."""
    large = dn.budget([800], waves=12)
    assert large.epsilon == 9_600
    assert large.spent[0].known == 1
    assert "e^9,600.0000 times" in " ".join(str(large).split())
    head, _ = str(large).split("\n", 1)
    assert len(set(head.split("  "))) == len(head.split("  "))  # no two columns are called the same
    with pytest.raises(dn.PlanError, match="epsilon 1e\\+09 protects nothing; a budget counts epsilons up to 1,000"):
        dn.budget([1e9])


# -- how surely an answer is known -------------------------------------------------------------------------------------


def enumerated(ratio: Fraction, reports: int) -> Fraction:
    """The probability that the likelier answer is the right one, over all sequences of reports, in fractions."""
    p = ratio / (1 + ratio)
    total = Fraction(0)
    for right in product((True, False), repeat=reports):
        chance = prod(p if one else 1 - p for one in right)
        votes = sum(right) - (reports - sum(right))
        total += chance if votes > 0 else chance / 2 if votes == 0 else 0
    return total


@pytest.mark.parametrize("reports", range(1, 10))
def test_guesses_are_those_of_all_sequences(reports: int) -> None:
    for ratio in (Fraction(3), Fraction(7, 5), PLAN["smoker"].ratio):
        assert guessed_right(ratio, reports) == pytest.approx(float(enumerated(ratio, reports)), rel=1e-14)
        assert guessed_right(ratio, reports) != pytest.approx(float(enumerated(ratio * 2, reports)), rel=1e-3)


def test_no_guess_from_a_block_is_better() -> None:
    """The best guess between two answers from a report of any protocol, over all reports it can send."""
    for epsilon in (0.5, 1.0, 2.0):
        block = dn.Plan(SCHEMA, epsilon=epsilon, together=[["smoker", "age"]]).blocks[0]
        laws = block.protocol.pattern_probabilities
        best = max(
            sum(max(a, b) for a, b in zip(laws[i], laws[j], strict=True)) / 2 for i, j in ((0, 1), (0, 5), (2, 3))
        )
        assert 0.5 < best <= guessed_right(block.ratio, 1) + 1e-12


def test_many_fresh_reports_give_an_answer_away_and_kept_ones_do_not() -> None:
    """A yes/no answer at epsilon 1."""
    for waves, known in ((7, 0.911), (31, 0.997)):
        (spent,) = dn.budget([1.0], waves=waves).spent
        assert spent.known == pytest.approx(known, abs=5e-4)
        assert spent.known_if_kept == pytest.approx(e / (1 + e))


# -- words -------------------------------------------------------------------------------------------------------------


def test_a_budget_prints_its_sums_in_words() -> None:
    text = str(dn.budget([PLAN, 0.1], waves=3))
    lines = " ".join(text.split())
    assert f"survey 1 ({PLAN.fingerprint[:8]})" in lines
    assert "survey 2 0.1000 3 0.3000 0.1000" in lines  # no digit more than was said
    said = f"{ceil(10_000 * (3 * PLAN.epsilon + 0.3)) / 10_000:.4f}"
    assert f"in 3 waves, randomized afresh each time, spends epsilon {said}: the odds" in lines
    assert "a belief of 1 in 10 gets to at most 76 in 100" in lines
    assert "epsilon is 1.1000 however many waves there are" in lines
    assert max(map(len, text.splitlines())) <= 100
    assert "protects little" not in text
    assert "practical certainty, which protects little" in " ".join(str(dn.budget([8.0], waves=12)).split())
    assert " waves, " not in str(dn.budget([1.0]))
    assert "> 99.9 %" in str(dn.budget([2.0], waves=30))


def test_long_panels_are_counted_in_no_time() -> None:
    assert dn.budget([0.01], waves=MOST_WAVES).epsilon == pytest.approx(0.01 * MOST_WAVES)


@pytest.mark.parametrize(
    ("of", "waves", "said"),
    [
        ([], 1, "found none"),
        ("1.0", 1, "a budget is of plans or epsilons"),
        (["plan"], 1, "a budget is of plans or epsilons"),
        ([SCHEMA], 1, "a budget is of plans or epsilons, .*; found <Schema of 2 questions"),
        ([True], 1, "a budget is of plans or epsilons, .*; found True"),
        ([-1], 1, "epsilon must be a positive number"),
        ([1.0], 0, "waves is how many times"),
        ([1.0], True, "waves is how many times"),
        ([1.0], 2.5, "waves is how many times"),
        ([1.0], MOST_WAVES + 1, "waves is how many times"),
    ],
)
def test_what_is_no_budget_is_refused(of: object, waves: int, said: str) -> None:
    with pytest.raises(dn.PlanError, match=said):
        dn.budget(of, waves=waves)


def test_epsilon_of_many_reports_is_never_understated() -> None:
    """As floats, half of all fractions are below what they stand for."""
    rng = np.random.default_rng(1)
    exact = [Fraction(int(top), int(bottom)) for top, bottom in rng.integers(1, 10**9, (200, 2))]
    assert all(Fraction(_rounded_up(one)) >= one for one in exact)
    assert sum(Fraction(float(one)) < one for one in exact) > 50  # the control
