"""Regressions and associations over waves: as of one survey where plans agree, and about the population where not."""

from pathlib import Path

import numpy as np
import pytest

import deniable as dn

SCHEMA = dn.Schema([dn.Choice("age", ["young", "middle", "old"]), dn.Flag("smoker"), dn.Flag("drinks")])
NAMES = list(SCHEMA.names)
TABLE = np.array([[[0.20, 0.08], [0.05, 0.07]], [[0.12, 0.08], [0.08, 0.07]], [[0.14, 0.05], [0.03, 0.03]]])
TRUTH = dn.simulate.Truth(SCHEMA, TABLE)
BLOCK = dn.Plan(SCHEMA, epsilon=3.0, together=[NAMES])
ARMS = dn.Plan(SCHEMA, epsilon=4.0, arms=[NAMES, ["smoker", "drinks"]])
OPEN = dn.Plan(SCHEMA, dict.fromkeys(NAMES, dn.Public()))
KINDS = ["linear", "logistic"]


def wave(plan: dn.Plan, seed: int, n: int = 20_000) -> dn.Counts:
    return dn.simulate.counts(TRUTH, plan, np.random.default_rng(seed), n=n)


@pytest.mark.parametrize("kind", KINDS)
def test_waves_of_one_plan_are_one_survey(kind: str) -> None:
    first, second = wave(BLOCK, 1), wave(BLOCK, 2)
    both = dn.regress([first, second], "smoker", on=["age", "drinks"], kind=kind)
    one = dn.regress(first + second, "smoker", on=["age", "drinks"], kind=kind)
    np.testing.assert_array_equal(both.coefficients, one.coefficients)
    np.testing.assert_array_equal(both.stderr, one.stderr)
    assert dn.associations([first, second]).to_pylist() == dn.associations(first + second).to_pylist()


@pytest.mark.parametrize("kind", KINDS)
def test_a_wave_that_says_nearly_nothing_changes_nearly_nothing(kind: str, tmp_path: Path) -> None:
    first, second = wave(BLOCK, 1), wave(ARMS, 2, n=40)
    alone = dn.regress(first, "smoker", on=["age", "drinks"], kind=kind)
    first.save(tmp_path / "first.npz")
    both = dn.regress([tmp_path / "first.npz", second], "smoker", on=["age", "drinks"], kind=kind)
    assert both.n == 20_040
    assert (np.abs(both.coefficients - alone.coefficients) < 0.3 * alone.stderr).all()
    np.testing.assert_allclose(both.stderr, alone.stderr, rtol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_over_waves_of_different_plans_hold(kind: str) -> None:
    """The control has the narrower intervals of twice as many respondents."""
    large = dn.regress(
        dn.simulate.counts(np.round(TABLE * 10**8).astype(int), OPEN, np.random.default_rng(1)),
        "smoker", on=["age", "drinks"], kind=kind,
    )  # fmt: skip
    rng, times = np.random.default_rng(5), 200
    missed, narrow = np.zeros(4), np.zeros(4)
    for _ in range(times):
        waves = [dn.simulate.counts(TRUTH, plan, rng, n=10_000) for plan in (BLOCK, ARMS)]
        found = dn.regress(waves, "smoker", on=["age", "drinks"], kind=kind)
        low, high = found.confidence_interval()
        missed += (large.coefficients < low) | (large.coefficients > high)
        narrow += np.abs(found.coefficients - large.coefficients) > 1.96 / np.sqrt(2) * found.stderr
    assert (np.abs(missed / times - 0.05) < 3.3 * np.sqrt(0.05 * 0.95 / times)).all(), missed
    assert (narrow / times > 0.05 + 3.3 * np.sqrt(0.05 * 0.95 / times)).all(), narrow


def test_what_waves_cannot_be_asked_is_said() -> None:
    waves = [wave(BLOCK, 1), wave(ARMS, 2)]
    with pytest.raises(dn.EstimateError, match="pair by pair"):
        dn.associations(waves)
    with pytest.raises(dn.EstimateError, match="about the population"):
        dn.regress(waves, "smoker", on=["age"], about="respondents")
    with pytest.raises(dn.EstimateError, match="a list of waves; found 3"):
        dn.regress([waves[0], 3], "smoker", on=["age"])
