"""Shrunk tables: strong interactions stay, chance ones go, and what is said of both is true."""

from itertools import combinations, product

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.proper_tables import shrunk_interactions
from deniable.estimates.proper_tables.shrunk_interactions import contrasts, of_most_entropy, shrunk_table

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
    assert pairs.kept == 1
    assert triples.kept > 0.95
    np.testing.assert_allclose(cells(shrunk), cells(feasible), atol=5e-4)
    assert distance(cells(shrunk), STRONG) < 1.05 * distance(cells(feasible), STRONG)
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


def of_pairs_alone() -> np.ndarray:
    """Pairs that go together strongly, with skewed margins, and nothing of three: a product of tables of two."""
    rng = np.random.default_rng(7)
    found = np.einsum("ij,jk,ik->ijk", *(np.exp(rng.normal(0, 1.2, shape)) for shape in ((2, 3), (3, 2), (2, 2))))
    return found / found.sum()


def thirds(surveys: int) -> tuple[float, float]:
    """Of surveys of pairs alone: the mean chi-square of three, and the error over that of feasible tables."""
    truth, plan, statistics, errors = of_pairs_alone(), dn.Plan(SCHEMA, epsilon=9.0), [], []
    for seed in range(surveys):
        counts = counts_of(truth, plan, 3_000, seed)
        feasible, shrunk = (dn.estimate(counts, NAMES, method=method) for method in ("feasible", "shrunk"))
        second, third = shrunk.shrinkage
        assert second.kept == 1
        statistics.append(third.statistic)
        errors.append([distance(cells(one), truth) ** 2 for one in (feasible, shrunk)])
    before, after = np.sqrt(np.mean(errors, axis=0))
    return float(np.mean(statistics)), float(after / before)


def test_interactions_of_three_are_judged_by_what_pairs_make(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only pairs go together: three are chance, a chi-square of two degrees of freedom, and shrunk; by independence
    they would seem to be sure.
    """
    statistic, error = thirds(60)
    assert abs(statistic - 2) < 5 * 2 / np.sqrt(60)
    assert error < 1
    by_itself = shrunk_interactions.of_most_entropy
    monkeypatch.setattr(shrunk_interactions, "of_most_entropy", lambda table, _: by_itself(table, 1))
    assert thirds(20)[0] > 2 + 5 * 2 / np.sqrt(20)


def test_what_three_features_do_is_left_alone_where_it_is_sure() -> None:
    odd = np.where(np.indices((2, 3, 2)).sum(axis=0) % 2, 0.4, 1.6) * of_pairs_alone()
    est = dn.estimate(counts_of(odd / odd.sum(), dn.Plan(SCHEMA, epsilon=9.0), 20_000, 1), NAMES, method="shrunk")
    assert est.shrinkage[1].p_value < 1e-6
    assert est.shrinkage[1].kept == 1


@pytest.mark.parametrize("features", [1, 2])
def test_the_table_of_most_entropy_has_the_margins_and_nothing_more(features: int) -> None:
    found = of_most_entropy(STRONG, features)
    for kept in combinations(range(3), features):
        gone = tuple(place for place in range(3) if place not in kept)
        np.testing.assert_allclose(found.sum(axis=gone), STRONG.sum(axis=gone), atol=1e-7)
    logs = np.log(found)
    three = np.diff(np.diff(np.diff(logs, axis=0), axis=1), axis=2)
    np.testing.assert_allclose(three, 0, atol=1e-6)
    if features == 1:
        np.testing.assert_allclose(np.diff(np.diff(logs, axis=0), axis=1), 0, atol=1e-6)


@pytest.mark.parametrize("features", [2, 3])
def test_contrasts_are_told_by_no_fewer_features(features: int) -> None:
    """Mean squares 1, products 0, and 0 with the share of every cell of every table of fewer features."""
    centre = STRONG.reshape(-1)
    rows = contrasts(centre, (2, 3, 2), features)
    assert len(rows) == {2: 5, 3: 2}[features]
    np.testing.assert_allclose(rows * centre @ rows.T, np.eye(len(rows)), atol=1e-12)
    codes = np.indices((2, 3, 2)).reshape(3, -1)
    for places in combinations(range(3), features - 1):
        for answers in product(*(range((2, 3, 2)[place]) for place in places)):
            inside = np.all([codes[place] == answer for place, answer in zip(places, answers, strict=True)], axis=0)
            np.testing.assert_allclose(rows * centre @ inside, 0, atol=1e-12)
