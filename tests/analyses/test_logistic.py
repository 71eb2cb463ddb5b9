"""Logistic regression: maximum likelihood where nothing is randomized, its errors, and intervals that hold."""

from typing import Any

import numpy as np
import pytest

import deniable as dn
from tests.support.answer_groups import far_from_95, held

SCHEMA = dn.Schema([dn.Choice("age", ["young", "middle", "old"]), dn.Flag("smoker"), dn.Flag("drinks")])
NAMES = list(SCHEMA.names)
BETA = np.array([-1.0, 0.5, -0.7, 1.0])  # constant, middle, old, drinks
PREDICTORS = np.array([[0.25, 0.10], [0.20, 0.15], [0.20, 0.10]])  # by age and drinks


def design(age: int, drinks: int) -> np.ndarray:
    return np.array([1.0, age == 1, age == 2, drinks])


def truth(beta: np.ndarray = BETA) -> dn.simulate.Truth:
    """The table by age, smoker and drinks of a population in which the model is true."""
    table = np.zeros((3, 2, 2))
    for age, drinks in np.ndindex(3, 2):
        p = 1 / (1 + np.exp(-design(age, drinks) @ beta))
        table[age, :, drinks] = PREDICTORS[age, drinks] * np.array([1 - p, p])
    return dn.simulate.Truth(SCHEMA, table)


def newton(x: np.ndarray, y: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Maximum likelihood on answers themselves, and the sandwich covariance, for rows that occur so many times."""
    b = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-(x @ b)))
        hessian = (x * (times * p * (1 - p))[:, None]).T @ x
        b = b + np.linalg.solve(hessian, x.T @ (times * (y - p)))
    p = 1 / (1 + np.exp(-(x @ b)))
    meat = (x * (times * (y - p) ** 2)[:, None]).T @ x
    bread = np.linalg.inv((x * (times * p * (1 - p))[:, None]).T @ x)
    return b, bread @ meat @ bread


def rows(people: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    every = list(np.ndindex(people.shape))
    x = np.array([design(age, drinks) for age, _, drinks in every])
    return x, np.array([float(smoker) for _, smoker, _ in every]), people.reshape(-1).astype(float)


def test_it_is_maximum_likelihood_where_nothing_is_randomized() -> None:
    people = truth().people(3000, np.random.default_rng(3))
    plan = dn.Plan(SCHEMA, dict.fromkeys(NAMES, dn.Public()))
    counts = dn.simulate.counts(people, plan, np.random.default_rng(4))
    found = dn.regress(counts, "smoker", on=["age", "drinks"], kind="logistic")
    b, covariance = newton(*rows(people))
    assert found.terms == ("constant", "age: middle", "age: old", "drinks")
    np.testing.assert_allclose(found.coefficients, b, atol=1e-8)
    np.testing.assert_allclose(found.covariance, covariance * 3000 / 2996, rtol=1e-6)
    assert repr(found).startswith("<Logistic regression of smoker about the population: constant -")


PLANS = {
    "plain": dn.Plan(
        SCHEMA, {"age": dn.GRR(epsilon=3.0), "smoker": dn.RandomizedResponse(epsilon=2.0), "drinks": dn.Public()}
    ),
    "block": dn.Plan(SCHEMA, epsilon=3.0, together=[NAMES]),
    "arms": dn.Plan(SCHEMA, epsilon=3.0, arms=[NAMES, ["smoker"]]),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
@pytest.mark.parametrize("about", ["population", "respondents"])
def test_covariance_is_that_of_small_changes_of_the_table(plan: dn.Plan, about: str) -> None:
    """Every cell of the estimated table is moved a little, and the equations are solved again."""
    counts = dn.simulate.counts(truth(), plan, np.random.default_rng(5), n=60_000)
    found = dn.regress(counts, "smoker", on=["age", "drinks"], kind="logistic", about=about)
    assert found.enough
    est = dn.estimate(counts, NAMES).about(about)
    cells = [
        {"age": a, "smoker": s, "drinks": d}
        for a in SCHEMA["age"].answers
        for s in (False, True)
        for d in (False, True)
    ]
    f = np.array([est.cell(one).value for one in cells]).reshape(3, 2, 2)
    start, _ = newton(*rows(f * 1000))
    np.testing.assert_allclose(found.coefficients, start, atol=1e-6)
    step, slopes = 1e-6, []
    for place in np.ndindex(3, 2, 2):
        moved = f.copy()
        moved[place] += step
        slopes.append((newton(*rows(moved * 1000))[0] - start) / step)
    matrix = np.array([[est.covariance(one, other) for other in cells] for one in cells]) / est.n**2
    expected = np.array(slopes).T @ matrix @ np.array(slopes)
    if about == "population":
        expected *= est.n / (est.n - 4)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-3, atol=1e-9)


def test_too_few_reports_and_separation_are_said() -> None:
    plan = PLANS["plain"]
    few = dn.regress(
        dn.simulate.counts(truth(), plan, np.random.default_rng(1), n=150), "smoker", on=["age"], kind="logistic"
    )
    assert "not enough reports" in few.why
    assert all(np.isnan(few.table()["p_value"].to_numpy()))
    people = truth().people(2000, np.random.default_rng(2))
    people[2, 1] = 0  # no old smokers
    shown = dn.Plan(SCHEMA, dict.fromkeys(NAMES, dn.Public()))
    decided = dn.regress(
        dn.simulate.counts(people, shown, np.random.default_rng(1)), "smoker", on=["age"], kind="logistic"
    )
    assert "separation" in decided.why
    counts = dn.simulate.counts(people, shown, np.random.default_rng(1))
    refused: dict[str, Any] = {"linear": {"kind": "probit"}, "each feature once": {"on": ["age", "age"]}}
    for told, options in refused.items():
        with pytest.raises(dn.EstimateError, match=told):
            dn.regress(counts, "smoker", **{"on": ["age"], "kind": "logistic", **options})


@pytest.mark.slow
@pytest.mark.parametrize("plan", [PLANS["plain"], PLANS["block"]], ids=["plain", "block"])
def test_intervals_hold(plan: dn.Plan) -> None:
    """The control takes the estimated table for true answers, as a fit to it would."""
    rng, times = np.random.default_rng(7), 200
    found: list[Any] = []
    control = []
    for _ in range(times):
        counts = dn.simulate.counts(truth(), plan, rng, n=20_000)
        one = dn.regress(counts, "smoker", on=["age", "drinks"], kind="logistic")
        table = one.table()
        found.append(np.array([table["low"].to_numpy(), table["high"].to_numpy()]).T)
        est = dn.estimate(counts, NAMES)
        f = np.array(est.table()["proportion"].to_numpy()).reshape(3, 2, 2)
        b, covariance = newton(*rows(f * 20_000))
        half = 1.96 * np.sqrt(np.abs(np.diagonal(covariance)))
        control.append(np.array([b - half, b + half]).T)
    ends, naive = np.array(found), np.array(control)
    for k, beta in enumerate(BETA):
        assert abs(far_from_95(held(beta, ends[:, k]), times)) < 3.3, (k, held(beta, ends[:, k]))
    assert far_from_95(held(BETA[1], naive[:, 1]), times) < -3.3
