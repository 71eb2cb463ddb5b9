"""Cramer's V and mutual information as they are expected: against exact mean squares, and against simulated surveys."""

from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.expected.association_with_noise import strengths, with_typical_noise

SCHEMA = dn.Schema([dn.Choice("a", list("wxyz")), dn.Choice("b", list("klm")), dn.Flag("c")])
PLANS = {
    "one block": dn.Plan(SCHEMA, epsilon=4.0, together=[["a", "b"]]),
    "arms": dn.Plan(SCHEMA, epsilon=2.5, arms={("a", "b"): 0.6, ("a", "b", "c"): 0.3, ("b", "c"): 0.1}),
}
ROWS, COLUMNS = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.5, 0.3, 0.2])
PATTERN = np.outer([0.2, 0.1, -0.1, -0.2], [0.1, -0.1, 0.0])  # sums to zero along rows and columns
N, SURVEYS = 20_000, 120


def table(strength: float) -> np.ndarray:
    """A table of a and b with these margins and this Cramer's V."""
    expected = np.outer(ROWS, COLUMNS)
    return np.asarray(expected + PATTERN * strength / np.sqrt((PATTERN**2 / expected).sum() / 2))


def truth(strength: float) -> Any:
    """A truth in which c goes with both, and a and b have this Cramer's V."""
    given = np.multiply.outer([0.2, 0.4, 0.5, 0.6], [0.9, 1.0, 1.2])
    cells = table(strength)
    return dn.simulate.truth(SCHEMA, np.stack([cells * (1 - given), cells * given], axis=-1))


def ends(found: Any) -> np.ndarray:
    return np.array([found.value, found.stderr, *found.confidence_interval()])


# -- the table with typical noise --------------------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [0.0, 0.05, 0.3])
def test_its_squares_are_those_that_a_survey_has_on_average(strength: float) -> None:
    rng, shares = np.random.default_rng(1), table(strength)
    noise = rng.normal(size=(12, 12))
    noise = 1e-3 * (noise - noise.mean(axis=0))  # shares of cells sum to one
    covariance = noise @ noise.T
    root = np.sqrt(np.outer(ROWS, COLUMNS))

    def deviations(cells: np.ndarray) -> np.ndarray:
        return (cells - np.outer(ROWS, COLUMNS)).reshape(-1) / root.reshape(-1)

    moved = np.zeros((12, 12))  # derivatives by each cell, of the margins' product too
    for place, one in enumerate(np.eye(12).reshape(12, 4, 3)):
        by_cell = one - np.outer(one.sum(axis=1), COLUMNS) - np.outer(ROWS, one.sum(axis=0))
        moved[:, place] = (by_cell / root).reshape(-1)
    spread = moved @ covariance @ moved.T
    y, found = deviations(shares), deviations(with_typical_noise(shares, covariance))
    assert found @ found == pytest.approx(y @ y + np.trace(spread), rel=1e-6)
    assert found @ spread @ found == pytest.approx(y @ spread @ y + np.trace(spread @ spread), rel=1e-6)
    inverse = np.linalg.pinv(spread, rcond=1e-9)
    assert found @ inverse @ found == pytest.approx(y @ inverse @ y + 6, rel=1e-4)
    typical = with_typical_noise(shares, covariance)
    assert typical.sum(axis=1) == pytest.approx(ROWS)
    assert typical.sum(axis=0) == pytest.approx(COLUMNS)


def test_without_noise_nothing_moves() -> None:
    assert with_typical_noise(table(0.2), np.zeros((12, 12))) == pytest.approx(table(0.2))


def test_strengths_of_known_tables() -> None:
    assert strengths(table(0.2))[0] == pytest.approx(0.2)
    assert strengths(np.diag([0.5, 0.5])) == pytest.approx((1.0, np.log(2)))
    assert strengths(np.outer(ROWS, COLUMNS)) == pytest.approx((0.0, 0.0), abs=1e-15)


# -- expectations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_values_are_those_of_the_guess(plan: dn.Plan) -> None:
    for strength in (0.0, 0.02, 0.2):
        found = plan.expect("a", "b", n=N, guess=truth(strength)).association()
        assert found.cramers_v.value == pytest.approx(strength, abs=1e-6)
        assert found.mutual_information.value == pytest.approx(strengths(table(strength))[1], abs=1e-9)


def test_without_a_guess_zero_is_not_known_for_sure() -> None:
    found = PLANS["one block"].expect("a", "b", n=N).association().cramers_v
    low, high = found.confidence_interval()
    assert found.value == pytest.approx(0, abs=1e-9)
    assert low == pytest.approx(0, abs=1e-9)
    assert high > 2 * found.stderr


def test_a_pair_of_a_larger_table_has_about_the_interval_of_the_pair_alone() -> None:
    plan, guess = PLANS["arms"], truth(0.2)
    larger = ends(plan.expect("c", "b", "a", n=N, guess=guess).association("a", "b").cramers_v)
    assert larger == pytest.approx(ends(plan.expect("a", "b", n=N, guess=guess).association().cramers_v), rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "subject"), [("one block", "respondents"), ("arms", "population")])
@pytest.mark.filterwarnings("ignore::deniable.errors.ArmSizeWarning")
def test_intervals_are_those_of_a_typical_survey(asked: str, subject: str) -> None:
    """Ends of intervals on average: within three Monte Carlo standard errors, and a tenth for what is not linear."""
    rng, plan = np.random.default_rng(2), PLANS[asked]
    for strength in (0.0, 0.05, 0.2):
        guess, size = truth(strength), {"n": N}
        people = guess
        if subject == "respondents":  # the same in every survey
            people, size = guess.people(N, rng), {}
            guess = dn.simulate.truth(SCHEMA, people)
        expected = plan.expect("a", "b", n=N, guess=guess).about(subject)
        counted = [dn.simulate.counts(people, plan, rng, **size) for _ in range(SURVEYS)]
        ests = [dn.estimate(counts, ["a", "b"]).about(subject) for counts in counted]
        found = np.array([ends(est.association("a", "b").cramers_v) for est in ests])
        ours, mean = ends(expected.association().cramers_v), found.mean(axis=0)
        bound = 3 * found.std(axis=0, ddof=1) / np.sqrt(SURVEYS) + 0.1 * mean
        assert (np.abs(ours - mean) < bound)[1:].all(), (strength, ours, mean)
        if strength < 0.2:  # the control: a table without noise is corrected for it all the same
            without_noise = ends(expected.estimate.association("a", "b").cramers_v)
            assert not (np.abs(without_noise - mean) < bound)[1:].all()
