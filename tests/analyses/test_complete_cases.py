"""Regressions with missing answers: as one more answer, and of complete cases alone; on reports of several arms."""

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.models.coefficients import Regression

SCHEMA = dn.Schema(
    [
        dn.Flag("smoker", missing="no answer"),
        dn.Choice("age", ["young", "old", "no answer"], missing="no answer"),
        dn.Flag("drinks"),
    ]
)
# The population by smoker (no, yes, no answer), age (young, old, no answer) and drinks (no, yes).
TABLE = np.array(
    [
        [[0.16, 0.09], [0.20, 0.07], [0.02, 0.01]],
        [[0.10, 0.12], [0.05, 0.06], [0.01, 0.02]],
        [[0.02, 0.01], [0.02, 0.02], [0.01, 0.01]],
    ]
)
SHOWN = dn.Plan(SCHEMA, dict.fromkeys(SCHEMA.names, dn.Public()))
PEOPLE = np.random.default_rng(5).multinomial(4_000, TABLE.reshape(-1)).reshape(TABLE.shape)
OPEN = dn.simulate.counts(PEOPLE, SHOWN, np.random.default_rng(6))


def fitted(x: np.ndarray, y: np.ndarray, times: np.ndarray, kind: str) -> np.ndarray:
    """Least squares, or maximum likelihood by Newton's method, on rows that occur so many times."""
    if kind == "linear":
        return np.linalg.solve((x * times[:, None]).T @ x, x.T @ (times * y))
    b = np.zeros(x.shape[1])
    for _ in range(60):
        p = 1 / (1 + np.exp(-(x @ b)))
        b = b + np.linalg.solve((x * (times * p * (1 - p))[:, None]).T @ x, x.T @ (times * (y - p)))
    return b


def records(*, complete: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regressors, outcome and number of people of each cell, all or those who answered everything."""
    cells = [cell for cell in np.ndindex(PEOPLE.shape) if not complete or 2 not in cell[:2]]
    ages = (1,) if complete else (1, 2)
    x = np.array([[1.0, *(float(age == code) for code in ages), drinks] for _, age, drinks in cells])
    return x, np.array([float(smoker == 1) for smoker, _, _ in cells]), np.array([PEOPLE[cell] for cell in cells])


@pytest.mark.parametrize("kind", ["linear", "logistic"])
@pytest.mark.parametrize("complete", [True, False])
def test_it_is_the_plain_regression_where_nothing_is_randomized(kind: str, complete: bool) -> None:
    found = dn.regress(OPEN, "smoker", on=["age", "drinks"], kind=kind, answered=complete)
    assert found.terms == ("constant", "age: old", *([] if complete else ["age: no answer"]), "drinks")
    np.testing.assert_allclose(found.coefficients, fitted(*records(complete=complete), kind), atol=1e-8)


def test_a_missing_answer_of_a_flag_is_a_term_of_its_own() -> None:
    for kind in ("linear", "logistic"):
        found = dn.regress(OPEN, "drinks", on=["smoker"], kind=kind)
        assert found.terms == ("constant", "smoker", "smoker: no answer")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "surveys"), [("linear", 100), ("logistic", 400)])
def test_intervals_of_complete_cases_hold(kind: str, surveys: int) -> None:
    """Of all surveys, 95 % within three Monte Carlo errors; intervals of everybody, as a control, are elsewhere."""
    plan = dn.Plan(SCHEMA, epsilon=9.0, together=[list(SCHEMA.names)])
    x, y, _ = records(complete=True)
    cells = [cell for cell in np.ndindex(TABLE.shape) if 2 not in cell[:2]]
    truth = fitted(x, y, np.array([TABLE[cell] for cell in cells]), kind)
    rng = np.random.default_rng(7)
    held = {True: 0, False: 0}
    for survey in range(surveys):
        counts = dn.simulate.counts(dn.simulate.Truth(SCHEMA, TABLE), plan, rng, n=5_000)
        for answered in held if survey < 40 else [True]:
            low, high = interval(dn.regress(counts, "smoker", ["age", "drinks"], kind=kind, answered=answered))
            held[answered] += low <= truth[0] <= high
    assert abs(held[True] / surveys - 0.95) < 3 * np.sqrt(0.95 * 0.05 / surveys)
    assert held[False] / 40 < 0.8


def interval(found: Regression) -> tuple[float, float]:
    low, high = found.confidence_interval()
    return low[0], high[0]


def test_reports_of_arms_that_hold_pairs_alone_are_enough_for_a_linear_regression() -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Flag("c")])
    plan = dn.Plan(schema, epsilon=4.0, arms=[["a", "b"], ["a", "c"], ["b", "c"]])
    rng = np.random.default_rng(8)
    reports = dn.randomize({name: rng.random(6_000) < 0.4 for name in "abc"}, plan, rng=rng)
    found = dn.regress(reports, "a", on=["b", "c"])
    np.testing.assert_array_equal(found.coefficients, dn.regress(dn.count(reports), "a", on=["b", "c"]).coefficients)
    with pytest.raises(dn.EstimateError, match="needs one table"):
        dn.regress(reports, "a", on=["b", "c"], kind="logistic")
    gaps = dn.Schema([dn.Flag(name, missing="no answer") for name in "abc"])
    plan = dn.Plan(gaps, epsilon=4.0, arms=[["a", "b"], ["a", "c"], ["b", "c"]])
    reports = dn.randomize({name: rng.random(600) < 0.4 for name in "abc"}, plan, rng=rng)
    with pytest.raises(dn.DeniableError, match="no arm asks a x b x c"):
        dn.regress(reports, "a", on=["b", "c"], answered=True)


def test_what_a_plan_expects_of_a_flag_with_missing_answers() -> None:
    plan = dn.Plan(SCHEMA, epsilon=6.0)
    found = plan.expect("smoker", "age", n=5_000).association()
    assert np.isfinite(found.cramers_v.stderr)


def test_a_regression_of_complete_cases_says_so() -> None:
    found = dn.regress(OPEN, "drinks", on=["smoker", "age"], answered=True)
    assert found.table().about.among == "among those who answered smoker and age"
    assert found.table().caption.startswith("Among those who answered smoker and age. About the population; ")
    told = "about the population, among those who answered smoker and age"
    assert found.summary().startswith(f"Linear regression of drinks, {told}; 95% intervals;")
    assert repr(found).startswith(f"<Regression of drinks {told}: constant ")
    everybody = dn.regress(OPEN, "drinks", on=["smoker", "age"])
    assert "among" not in (repr(everybody) + everybody.summary() + everybody.table().caption).lower()
