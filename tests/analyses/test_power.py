"""Whether there will be an interval for an effect, against whole surveys; and truths that have an effect."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.power import Pair
from tests.support.situations import values

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", values(3)), dn.Flag("c")])
GUESS = {"a": 0.1, "b": [0.2, 0.5, 0.3], "c": 0.4}
DESIGN = dn.design(SCHEMA, epsilon=3.0)
SPLIT = dn.Plan(SCHEMA, epsilon=6.0)


# -- effects -----------------------------------------------------------------------------------------------------------


def phi(table: np.ndarray, i: int, j: int) -> float:
    """The correlation of two indicators, from first principles."""
    p, q = table[i].sum(), table[:, j].sum()
    return float((table[i, j] - p * q) / np.sqrt(p * (1 - p) * q * (1 - q)))


@pytest.mark.parametrize(
    ("first", "second", "i", "j"), [("a", "c", 1, 1), ("a", ("b", "v1"), 1, 1), (("b", "v2"), "c", 2, 1)]
)
def test_truths_have_the_effect_and_the_guessed_shares(first: Any, second: Any, i: int, j: int) -> None:
    pair = Pair.of(DESIGN, first, second, GUESS)
    low, high = pair.bounds("correlation")
    for size in (low, 0.6 * low, 0.1, high):
        table = pair.truth("correlation", size).shares
        assert phi(table, i, j) == pytest.approx(size, abs=1e-9)
        assert table.min() >= 0
        for axis, margin in enumerate(pair.margins):
            assert table.sum(axis=1 - axis) == pytest.approx(margin)
    table = pair.truth("difference", 0.05).shares
    without = np.delete(table, j, axis=1)
    assert table[i, j] / table[:, j].sum() - without[i].sum() / without.sum() == pytest.approx(0.05)


def test_a_difference_between_answers_of_a_choice_has_the_error_of_two_proportions() -> None:
    """Of open answers: the two groups of a comparison of proportions are independent."""
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "middle", "old"])])
    plan = dn.Plan(schema, {"smoker": dn.Public(), "age": dn.Public()})
    shares, n = {"young": 0.2, "middle": 0.3, "old": 0.5}, 4_000
    for age, q in shares.items():
        pair = Pair.of(plan, "smoker", ("age", age), {"smoker": 0.25, "age": list(shares.values())})
        by_hand = np.sqrt(0.25 * 0.75 * (1 / (n * q) + 1 / (n * (1 - q))))
        assert pair.stderr(n, "difference") == pytest.approx(by_hand, rel=1e-3)


@pytest.mark.slow
def test_a_difference_between_answers_of_a_choice_is_seen_as_often_as_it_says() -> None:
    """The control is a survey in which there is no difference."""
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "middle", "old"])])
    plan = dn.Plan(schema, epsilon=3.0, together=[["smoker", "age"]])
    guess, n, times, rng = {"smoker": 0.25, "age": [0.2, 0.3, 0.5]}, 5_000, 400, np.random.default_rng(6)
    power = plan.power("smoker", ("age", "young"), difference=0.06, n=n, guess=guess)
    assert 0.3 < power < 0.9
    pair, seen = Pair.of(plan, "smoker", ("age", "young"), guess), []
    for size in (0.06, 1e-9):
        truth = pair.truth("difference", size)
        ests = (dn.estimate(dn.simulate.counts(truth, plan, rng, n=n), ["smoker", "age"]) for _ in range(times))
        between = ("age", "young", ["middle", "old"])
        seen.append(sum(est.difference("smoker", between=between).pvalue < 0.05 for est in ests) / times)
    assert abs(seen[0] - power) < 0.02 + 3.3 * np.sqrt(power * (1 - power) / times)
    assert seen[1] < 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / times)


def test_effects_are_bounded_by_all_tables_with_these_shares() -> None:
    """Of tables of hundredths with the margins 0.1 and 0.4, the least and the largest correlation."""
    pair = Pair.of(DESIGN, "a", "c", GUESS)
    both = [k / 100 for k in range(101) if k <= 10 and k <= 40 and 100 - 10 - 40 + k >= 0]
    tables = [np.array([[0.5 + k, 0.4 - k], [0.1 - k, k]]) for k in both]
    found = [phi(table, 1, 1) for table in tables]
    assert pair.bounds("correlation") == pytest.approx((min(found), max(found)))
    rates = [t[1, 1] / 0.4 - t[1, 0] / 0.6 for t in tables]
    assert pair.bounds("difference") == pytest.approx((min(rates), max(rates)))


def test_effects_that_are_not_possible_are_not_detectable() -> None:
    least = DESIGN.detectable("a", "c", n=1, guess=GUESS)
    assert (least.correlation, least.difference) == (None, None)
    assert str(least) == "With 1 respondent, nothing that goes between a and c is seen with a chance of 80 %."
    some = DESIGN.detectable("a", "c", n=10**5, guess=GUESS)
    assert some.correlation is not None
    assert 0 < some.correlation < 0.41  # the largest that is possible


# -- tests -------------------------------------------------------------------------------------------------------------

FLAGS = dn.Schema([dn.Flag("a"), dn.Flag("b")])
RARE = dn.Plan(FLAGS, {name: dn.RandomizedResponse(epsilon=7.0) for name in "ab"})
RARE_GUESS = {"a": 0.05, "b": 0.05}


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
@pytest.mark.parametrize(
    ("plan", "guess", "size"),
    [(RARE, RARE_GUESS, 0.3), (dn.Plan(FLAGS, epsilon=8.0, together=[["a", "b"]]), {"a": 0.08, "b": 0.15}, 0.25)],
    ids=["apart", "in a block"],
)
def test_the_number_that_is_needed_has_the_power_asked_for(
    plan: dn.Plan, guess: Any, size: float, power: float
) -> None:
    needed = plan.needed("a", "b", correlation=size, power=power, guess=guess)
    assert plan.power("a", "b", correlation=size, n=needed, guess=guess) == pytest.approx(power, abs=3e-3)
    assert plan.power("a", "b", correlation=size, n=round(0.9 * needed), guess=guess) < power - 0.01


def test_the_chance_of_a_test_is_that_at_the_guessed_margins_and_their_errors() -> None:
    """Whether there is one is asked of the estimate that finds the guess, and of simulated ones."""
    pair, surveys = Pair.of(RARE, "a", "b", RARE_GUESS), 200
    numbers = range(2_000, 3_200, 50)
    given = [not np.isnan(RARE.expect("a", "b", n=n, guess=RARE_GUESS).independence().p_value) for n in numbers]
    assert given.index(True) == next(k for k, n in enumerate(numbers) if pair.test_chance(n) >= 0.5)
    truth, rng = pair.truth("correlation", 0.3), np.random.default_rng(2)
    for n in (2_200, 2_900):
        drawn = (dn.estimate(dn.simulate.counts(truth, RARE, rng, n=n), ["a", "b"]) for _ in range(surveys))
        found = sum(not np.isnan(est.independence("a", "b").p_value) for est in drawn) / surveys
        assert abs(found - pair.test_chance(n)) < 0.03 + 3.3 * np.sqrt(0.25 / surveys)
    assert pair.test_chance(91) < 1e-6
    assert pair.test_chance(10_000) > 1 - 1e-6


def test_what_no_test_sees_has_no_power_and_is_not_detectable() -> None:
    """91 respondents were said to see it with 80 %, by a test that none of 300 simulated surveys gave."""
    assert RARE.power("a", "b", correlation=0.3, n=91, guess=RARE_GUESS) < 1e-6
    least = RARE.detectable("a", "b", n=91, guess=RARE_GUESS)
    assert (least.correlation, least.difference) == (None, None)
    needed = RARE.needed("a", "b", correlation=0.3, guess=RARE_GUESS)
    some = RARE.detectable("a", "b", n=2 * needed, guess=RARE_GUESS)
    assert some.correlation is not None
    assert RARE.power("a", "b", correlation=some.correlation, n=2 * needed, guess=RARE_GUESS) == pytest.approx(
        0.8, rel=1e-4
    )


# -- intervals ---------------------------------------------------------------------------------------------------------


def whole_truth(pair: Pair, kind: str, size: float) -> dn.simulate.Truth:
    """The truth of all three questions: the third one independent of the two."""
    table = pair.truth(kind, size).shares
    shares = np.zeros([feature.levels for feature in SCHEMA])
    at = [SCHEMA.index(name) for name in pair.names]
    (other,) = {0, 1, 2} - {*at}
    for cell in product(*map(range, shares.shape)):
        shares[cell] = table[cell[at[0]], cell[at[1]]] / SCHEMA.features[other].levels
    return dn.simulate.truth(SCHEMA, shares)


CASES: dict[str, tuple[dn.Plan, Any, Any, dict[str, float]]] = {
    "correlation of a design": (DESIGN, "a", "c", {"correlation": 0.3}),
    "difference without arms": (SPLIT, "a", "c", {"difference": 0.1}),
    "negative, of a choice": (SPLIT, "c", ("b", "v0"), {"correlation": -0.2}),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::deniable.errors.ArmSizeWarning")
@pytest.mark.parametrize(("plan", "first", "second", "effect"), CASES.values(), ids=CASES.keys())
def test_the_chance_of_an_interval_is_that_of_whole_surveys(
    plan: dn.Plan, first: Any, second: Any, effect: Any
) -> None:
    """Bounds are four Monte Carlo standard errors of both, and five points for the normal draws behind the chance.

    The number of people that is said may be a tenth too large, which adds ten points.
    """
    surveys = 120
    people = plan.interval(first, second, guess=GUESS, **effect).people
    assert people is not None
    said = plan.interval(first, second, n=round(0.75 * people), guess=GUESS, **effect)
    assert said.chance is not None
    assert said.n is not None
    pair, rng = Pair.of(plan, first, second, GUESS), np.random.default_rng(8)
    truth = whole_truth(pair, *pair.effect(effect.get("correlation"), effect.get("difference")))

    def found(n: int) -> float:
        drawn = (dn.estimate(dn.simulate.counts(truth, plan, rng, n=n), pair.names) for _ in range(surveys))
        return sum(pair.result(est.about("population"), said.kind).enough for est in drawn) / surveys

    assert abs(found(said.n) - said.chance) < 0.05 + 4 * np.sqrt(0.25 / surveys + 0.25 / 200)
    low, high = 0.05 + 4 * np.sqrt(0.16 / surveys + 0.16 / 40), 0.15 + 4 * np.sqrt(0.16 / surveys + 0.16 / 40)
    assert 0.8 - low < found(people) < 0.8 + high
    assert found(people // 3) < 0.8 - low  # the control


def test_intervals_take_more_people_than_a_test_and_it_is_said() -> None:
    needed = DESIGN.needed("a", "c", correlation=0.3, guess=GUESS)
    found = DESIGN.interval("a", "c", correlation=0.3, n=needed, guess=GUESS)
    assert found.people is not None
    assert found.chance is not None
    assert found.people > 1.3 * needed
    assert found.chance < 0.7
    assert str(found) == (
        f"An interval for it has a chance of {100 * found.chance:.0f} % with {needed:,} people, and takes about "
        f"{found.people:,} people for a chance of 80 %."
    )


def test_it_follows_the_rule_for_enough_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stricter rule takes more people; one that nothing passes, no number of them."""
    before = SPLIT.interval("a", "c", correlation=0.2).people
    monkeypatch.setattr("deniable.inference.trust.FEWEST", 20_000)
    after = SPLIT.interval("a", "c", correlation=0.2)
    assert before is not None
    assert after.people is not None
    assert before < 5_000 < 15_000 < after.people < 25_000
    assert after.chance is None
    assert str(after) == f"An interval for it takes about {after.people:,} people for a chance of 80 %."
    monkeypatch.setattr("deniable.inference.trust.FEWEST", 10**15)
    assert SPLIT.interval("a", "c", correlation=0.2).people is None
