"""Shrunk tables: strong interactions stay, chance ones go, and what is said of both is true."""

from itertools import product

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.proper_tables.shrunk_interactions import shrunk_table

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"]), dn.Flag("c")])
NAMES = ["a", "b", "c"]
INDEPENDENT = np.einsum("i,j,k->ijk", [0.7, 0.3], [0.5, 0.3, 0.2], [0.4, 0.6])
STRONG = 0.3 * INDEPENDENT
STRONG[0, 0, 0] += 0.4
STRONG[1, 2, 1] += 0.3


def counts_of(shares: np.ndarray, plan: dn.Plan, n: int, seed: int) -> dn.Counts:
    return dn.simulate.counts(dn.simulate.truth(plan.schema, shares), plan, np.random.default_rng(seed), n=n)


def cells(est: dn.Estimate) -> np.ndarray:
    return est.table()["proportion"].to_numpy().reshape(2, 3, 2)


def distance(left: np.ndarray, right: np.ndarray) -> float:
    return float(np.sqrt(((left - right) ** 2).sum()))


PLANS = {
    "alone": dn.Plan(SCHEMA, epsilon=3.0),
    "a block": dn.Plan(SCHEMA, epsilon=3.0, together=[["a", "b"]]),
    "arms": dn.Plan(SCHEMA, epsilon=3.0, arms=[["a", "b"], ["b", "c"], ["a", "b", "c"]]),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_interactions_of_chance_are_shrunk_towards_independence(plan: dn.Plan) -> None:
    errors = []
    for seed in range(10, 18):
        counts = counts_of(INDEPENDENT, plan, 3_000, seed)
        made = [cells(dn.estimate(counts, NAMES, method=method)) for method in ("feasible", "shrunk")]
        errors.append([distance(table, INDEPENDENT) ** 2 for table in made])
    feasible, shrunk = np.sqrt(np.mean(errors, axis=0))
    assert shrunk < 0.8 * feasible


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_strong_interactions_are_left_alone(plan: dn.Plan) -> None:
    counts = counts_of(STRONG, plan, 300_000, 1)
    feasible, shrunk = (dn.estimate(counts, NAMES, method=method) for method in ("feasible", "shrunk"))
    pairs, triples = shrunk.shrinkage
    assert pairs.p_value < 1e-6
    assert pairs.kept == triples.kept == 1
    np.testing.assert_allclose(cells(shrunk), cells(feasible), atol=1e-5)  # the metric is evaluated once more
    assert distance(cells(shrunk), INDEPENDENT) > 10 * distance(cells(shrunk), STRONG)


@pytest.mark.parametrize(("epsilon", "n"), [*product([0.05, 1.0, 12.0], [1, 40, 2_000])])
def test_tables_are_proper(epsilon: float, n: int) -> None:
    for shares, seed in product((INDEPENDENT, STRONG), range(2)):
        table = cells(dn.estimate(counts_of(shares, dn.Plan(SCHEMA, epsilon=epsilon), n, seed), NAMES, method="shrunk"))
        assert table.min() >= 0
        assert table.sum() == pytest.approx(1, abs=1e-9)


def test_what_says_nothing_becomes_independent() -> None:
    est = dn.estimate(counts_of(STRONG, dn.Plan(SCHEMA, epsilon=0.05), 500, 3), NAMES, method="shrunk")
    table = cells(est)
    margins = [table.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]
    np.testing.assert_allclose(table, np.einsum("i,j,k->ijk", *margins), atol=0.02)
    assert all(one.kept < 0.05 for one in est.shrinkage)


def test_the_chi_square_is_that_of_the_correlation() -> None:
    """Two flags have one interaction; its test is (estimate / standard error)^2 of the covariance, by hand."""
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    counts = counts_of(np.array([[0.35, 0.15], [0.2, 0.3]]), dn.Plan(schema, epsilon=2.0), 2_000, 5)
    (order,) = dn.estimate(counts, ["a", "b"], method="shrunk").shrinkage
    feasible, consistent = dn.estimate(counts, ["a", "b"], method="feasible"), dn.estimate(counts, ["a", "b"])
    assert feasible.fitted is not None
    a, b = feasible.fitted[1, 0] / 2_000, feasible.fitted[0, 1] / 2_000
    found = consistent.linear(np.array([[a * b, -a], [-b, 1.0]]))  # the mean of (A - a) (B - b)
    assert order.degrees == 1
    assert order.statistic == pytest.approx((found.value / found.stderr) ** 2, rel=0.02)


def test_one_order_by_the_formula() -> None:
    """With identity moments the penalty divides a correlation by 1 + its variance over the squared strength."""
    shares, n = np.full((2, 2), 0.25), 100.0
    inverse = np.diag(np.full(4, 0.25)) * 4  # a covariance of one report, four times that of no noise at all
    inverse -= 0.75 * np.full((4, 4), 0.25)
    inverse += np.full((4, 4), 1 / 16) - np.full((4, 4), inverse.sum() / 16)
    free = np.array([0.27, 0.23, 0.23, 0.27])
    form = np.linalg.inv(inverse)
    made = shrunk_table(n, shares, form, form @ free)
    (order,) = made.orders
    signs = np.array([1, -1, -1, 1])
    assert order.statistic == pytest.approx((signs @ free) ** 2 / (signs @ inverse @ signs / n))
    assert signs @ made.shares.reshape(-1) == pytest.approx(order.kept * (signs @ free))


def test_intervals_are_those_of_the_consistent_estimate() -> None:
    counts = counts_of(STRONG, PLANS["alone"], 2_000, 4)
    shrunk, consistent = dn.estimate(counts, NAMES, method="shrunk"), dn.estimate(counts, NAMES)
    assert (shrunk.mean_from, shrunk.intervals_from) == ("shrunk", "consistent")
    np.testing.assert_array_equal(shrunk.variance, consistent.variance)
    for left, right in zip(shrunk.table().to_pylist(), consistent.table().to_pylist(), strict=True):
        assert left["stderr"] == right["stderr"]
        assert left["low"] == pytest.approx(min(max(right["low"], 0), left["proportion"]))
        assert left["high"] == pytest.approx(max(min(max(right["high"], 0), 1), left["proportion"]))


def test_one_feature_is_its_feasible_table() -> None:
    counts = counts_of(STRONG, PLANS["alone"], 500, 4)
    feasible, shrunk = (dn.estimate(counts, ["b"], method=method) for method in ("feasible", "shrunk"))
    assert shrunk.shrinkage == ()
    np.testing.assert_allclose(shrunk.mean, feasible.mean)


def test_waves_of_two_plans_are_shrunk_as_one() -> None:
    waves = [counts_of(INDEPENDENT, plan, 3_000, seed) for seed, plan in enumerate((PLANS["alone"], PLANS["a block"]))]
    est = dn.estimate(waves, NAMES, method="shrunk")
    assert cells(est).sum() == pytest.approx(1)
    assert [one.degrees for one in est.shrinkage] == [5, 2]


def test_what_cannot_be_shrunk_is_refused_by_name() -> None:
    schema = dn.Schema([dn.Choice(name, [str(v) for v in range(40)]) for name in ("age", "town")])
    plan = dn.Plan(schema, dict.fromkeys(schema.names, dn.GRR(epsilon=2.0)))
    counts = counts_of(np.full((40, 40), 1 / 1600), plan, 100, 1)
    with pytest.raises(dn.EstimateError, match=r"1,000 cells; age x town has 1,600\. Ask for fewer features, or"):
        dn.estimate(counts, ["age", "town"], method="shrunk")
    est = dn.estimate(counts_of(STRONG, PLANS["alone"], 500, 1), NAMES, method="shrunk")
    with pytest.raises(dn.EstimateError, match="this one is shrunk"):
        est.posterior(draws=10, rng=np.random.default_rng(1))
    with pytest.raises(dn.EstimateError, match="only a feasible table can be fitted again"):
        est.given({"a": {True: 0.3}})


def test_projections_and_sums_keep_what_is_said_of_the_bias() -> None:
    one, other = (dn.estimate(counts_of(STRONG, PLANS["alone"], 500, s), NAMES, method="shrunk") for s in (1, 2))
    assert one.project("a", "b").shrinkage == one.shrinkage
    assert (one + other).shrinkage == one.shrinkage + other.shrinkage
    assert str(one.shrinkage[0]).startswith("interactions of 2 features: chi-square ")


def test_orders_above_one_that_is_left_alone_are_left_alone() -> None:
    """Only pairs go together here; what three features do is chance, and still not shrunk."""
    pairs = np.einsum("ij,k->ijk", [[0.5, 0.05, 0.05], [0.05, 0.2, 0.15]], [0.4, 0.6])
    est = dn.estimate(counts_of(pairs, dn.Plan(SCHEMA, epsilon=12.0), 2_000, 2), NAMES, method="shrunk")
    second, third = est.shrinkage
    assert second.p_value < 1e-3 < third.p_value
    assert third.kept == 1
