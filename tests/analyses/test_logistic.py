"""Logistic regression: maximum likelihood where nothing is randomized, its errors, and intervals that hold."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, ndtri

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


def test_separation_is_said() -> None:
    people = truth().people(2000, np.random.default_rng(2))
    people[2, 1] = 0  # no old smokers
    shown = dn.Plan(SCHEMA, dict.fromkeys(NAMES, dn.Public()))
    decided = dn.regress(
        dn.simulate.counts(people, shown, np.random.default_rng(1)), "smoker", on=["age"], kind="logistic"
    )
    assert "not enough reports" in decided.why
    assert "separation" in decided.why
    assert all(np.isnan(decided.table()["p_value"].to_numpy()))
    counts = dn.simulate.counts(people, shown, np.random.default_rng(1))
    refused: dict[str, Any] = {"linear": {"kind": "probit"}, "each feature once": {"on": ["age", "age"]}}
    for told, options in refused.items():
        with pytest.raises(dn.EstimateError, match=told):
            dn.regress(counts, "smoker", **{"on": ["age"], "kind": "logistic", **options})


PAIR = dn.Schema([dn.Flag("sick"), dn.Choice("group", ["a", "b"])])


def rare_group(share: float, a: float, b: float) -> tuple[dn.simulate.Truth, np.ndarray]:
    """Two groups, the second of which has this share; the outcome's probability in each, and the coefficients."""
    table = np.array([[(1 - share) * (1 - a), share * (1 - b)], [(1 - share) * a, share * b]])
    odds = np.log([a / (1 - a), b / (1 - b)])
    return dn.simulate.Truth(PAIR, table), np.array([odds[0], odds[1] - odds[0]])


def score_of_difference(people: np.ndarray, c: float) -> tuple[float, float]:
    """The standardised score of the difference of log odds of two groups being c, and its skewness, from scratch.

    Nothing is randomized: a score is a sum over people.
    """
    (a0, b0), (a1, b1) = people.astype(float)
    n = people.sum()

    def off(constant: float) -> float:
        return a1 + b1 - (a0 + a1) * expit(constant) - (b0 + b1) * expit(constant + c)

    constant = brentq(off, -40, 40, xtol=1e-14)
    sa, sb = expit(constant), expit(constant + c)
    information_a, information_b = (a0 + a1) * sa * (1 - sa), (b0 + b1) * sb * (1 - sb)
    of_constant = information_b / (information_a + information_b)
    kinds = np.array(
        [[-of_constant * -sa, (1 - of_constant) * -sb], [-of_constant * (1 - sa), (1 - of_constant) * (1 - sb)]]
    )
    table = np.array([[(a0 + a1) * (1 - sa), (b0 + b1) * (1 - sb)], [(a0 + a1) * sa, (b0 + b1) * sb]])
    p = table / n
    mean = (p * kinds).sum()
    variance, third = ((p * (kinds - mean) ** k).sum() for k in (2, 3))
    score = b1 - (b0 + b1) * sb
    return score / np.sqrt(n * variance * n / (n - 2)), third / np.sqrt(n * variance**3) * ((n - 2) / n) ** 1.5


@pytest.mark.parametrize("people", [[[60, 25], [30, 4]], [[400, 49], [300, 1]]])
def test_intervals_end_where_the_score_test_refuses(people: list[list[int]]) -> None:
    given = np.array(people)
    plan = dn.Plan(PAIR, dict.fromkeys(PAIR.names, dn.Public()))
    counts = dn.simulate.counts(given, plan, np.random.default_rng(1))
    found = dn.regress(counts, "sick", on=["group"], kind="logistic")
    low, high = found.confidence_interval(0.9)
    t = ndtri(0.95)
    for end, side in ((low[1], t), (high[1], -t)):
        score, skewness = score_of_difference(given, end)
        skewness = np.clip(skewness, -1.5 / t, 1.5 / t)
        assert score == pytest.approx(side + skewness * (t**2 - 1) / 6, abs=1e-5)
    for j, p in enumerate(found.pvalue):  # the interval that ends at zero has the p-value as its error
        ends = found.confidence_interval(1 - p)
        assert min(abs(ends.low[j]), abs(ends.high[j])) < 1e-4 * found.stderr[j] or p < 1e-12


def test_an_interval_has_no_end_where_nobody_need_have_the_outcome() -> None:
    truth, _ = rare_group(0.05, 0.3, 0.03)
    plan = dn.Plan(PAIR, epsilon=4.0, together=[["sick", "group"]])
    for seed in range(20):
        found = dn.regress(
            dn.simulate.counts(truth, plan, np.random.default_rng(seed), n=30_000),
            "sick",
            on=["group"],
            kind="logistic",
        )
        if found.enough and np.isneginf(found.confidence_interval().low[1]):
            break
    low, high = found.confidence_interval()
    assert np.isfinite([low[0], high[0], high[1]]).all()
    assert "-inf" in str(found.table())
    found.table().plot()  # the bar goes out of the picture


@pytest.mark.slow
@pytest.mark.parametrize("n", [30_000, 120_000, 240_000])
def test_intervals_hold_in_the_surveys_that_are_answered(n: int) -> None:
    """A rare group in which the outcome is rarer: nearly all surveys are answered, and among those intervals hold.

    The control is those surveys that a rule on how certain the log odds are would answer.
    """
    truth, beta = rare_group(0.05, 0.3, 0.03)
    plan = dn.Plan(PAIR, epsilon=4.0, together=[["sick", "group"]])
    rng, times = np.random.default_rng(11), 300
    found = [
        dn.regress(dn.simulate.counts(truth, plan, rng, n=n), "sick", on=["group"], kind="logistic")
        for _ in range(times)
    ]
    answered = [one for one in found if one.enough]
    assert len(answered) > 0.9 * times
    ends = np.array([np.array(one.confidence_interval()).T for one in answered])
    inside = (ends[..., 0] <= beta) & (beta <= ends[..., 1])
    assert (np.abs([far_from_95(share, len(answered)) for share in inside.mean(axis=0)]) < 3.3).all(), inside.mean(0)
    if n == 120_000:
        sure = np.array([one.stderr[1] < 0.22 for one in answered])
        assert far_from_95(inside[sure, 1].mean(), int(sure.sum())) < -3.3


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
