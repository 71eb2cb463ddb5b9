"""Standard errors and intervals of maximum likelihood, far from the edge of what tables can be and near it."""

import warnings

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.dense_respondent_group import near_bound
from tests.support.situations import tiny, values
from tests.support.surveys import skewed_reports


@pytest.mark.slow
def test_standard_errors_are_those_of_many_surveys() -> None:
    """About the population: the stated variance is the empirical one; half of it, the control, is not."""
    schema = dn.Schema([dn.Choice("a", values(3)), dn.Flag("b")])
    plan = dn.Plan(schema, {"a": dn.UnaryEncoding.optimized(2.0), "b": dn.RandomizedResponse(epsilon=2.0)})
    found, stated = [], []
    for seed in range(300):
        cell = (
            dn.maximum_likelihood(skewed_reports(plan, 1500, seed), ["a", "b"]).about("population").cell(a="v0", b=True)
        )
        found.append(cell.value)
        stated.append(cell.stderr**2)
    ratio = np.var(found) / np.mean(stated)
    assert abs(ratio - 1) < 5 * np.sqrt(2 / 300)
    assert abs(2 * ratio - 1) > 5 * np.sqrt(2 / 300)


def test_near_the_edge_intervals_are_those_of_the_estimate_that_knows_no_edge() -> None:
    plan, _ = tiny("GRR")
    records = {"a": ["v0"] * 3000, "b": ["v0", "v1"] * 1500}
    reports = dn.randomize(records, plan, rng=np.random.default_rng(2))
    est, free = dn.maximum_likelihood(reports, ["a", "b"]), dn.estimate(dn.count(reports, ["a", "b"]), ["a", "b"])
    zero = {"a": "v1", "b": "v1"} if est.cell(a="v1", b="v1").value == 0 else {"a": "v2", "b": "v1"}
    for near in (zero, {"a": "v0"}, {"a": "v2"}):
        ours, theirs = est.cell(near), free.cell(near)
        assert ours.stderr == theirs.stderr
        assert ours.enough == theirs.enough
        low, high = (min(max(end, 0.0), 1.0) for end in theirs.confidence_interval())
        expected = min(low, ours.value), max(high, ours.value)
        assert ours.confidence_interval() == pytest.approx(expected, abs=1e-3)  # where theirs is not the exact one
    assert est.cell(zero).value == 0
    middle = {"a": "v0", "b": "v0"}
    assert np.sqrt(est.covariance(middle, middle)) < 0.95 * est.n * free.cell(middle).stderr  # given what is zero
    assert est.cell(middle).stderr == free.cell(middle).stderr  # what is not below zero elsewhere is taken from here
    assert est.intervals_from == "consistent"
    assert est.project("b").cell(b="v0").stderr == pytest.approx(est.cell(b="v0").stderr)
    row = next(row for row in est.table().to_pylist() if {"a": row["a"], "b": row["b"]} == zero)
    assert row["stderr"] == pytest.approx(est.cell(zero).stderr)
    assert est.variance[tuple(1 + int(zero[name][1]) for name in "ab")] == pytest.approx(est.cell(zero).count_variance)
    contrast = np.zeros((4, 3))
    contrast[1, 0], contrast[2, 0] = 1, -1
    assert est.linear(contrast).stderr > 0


@pytest.mark.slow
def test_intervals_near_the_edge_hold_the_truth() -> None:
    """Of three flags that nearly all have; by the covariance given the cells that are not zero, the control, not."""
    names = ["a", "b", "c"]
    plan = dn.Plan(dn.Schema([dn.Flag(name) for name in names]), dict.fromkeys(names, dn.RandomizedResponse(epsilon=4)))
    held, held_given_zeros, surveys = 0, 0, 150
    for seed in range(surveys):
        rng = np.random.default_rng(seed)
        truth = {name: rng.random(10_000) < 0.999 for name in names}
        est = dn.maximum_likelihood(dn.randomize(truth, plan, rng=rng), names)
        for name in names:
            share, cell = truth[name].mean(), est.cell({name: True})
            low, high = cell.confidence_interval()
            held += low <= share <= high
            narrow = 1.96 * np.sqrt(max(est.covariance({name: True}, {name: True}), 0)) / est.n
            held_given_zeros += abs(cell.value - share) <= narrow
    assert 0.91 < held / (3 * surveys) < 0.99
    assert held_given_zeros / (3 * surveys) < 0.9


@pytest.mark.slow
def test_joint_answers_near_the_edge_hold_the_truth() -> None:
    """Nearly all who say v2 say no: by the covariance given the cells that are zero, the control, often surely all."""
    plan, _ = tiny("GRR")
    held, answered, surely = 0, 0, 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        a = rng.choice(["v0", "v1", "v2"], 4000, p=[0.6, 0.3, 0.1])
        b = np.where(rng.random(4000) < np.where(a == "v2", 0.02, 0.4), "v1", "v0")
        est = dn.maximum_likelihood(dn.randomize({"a": a, "b": b}, plan, rng=rng), ["a", "b"])
        rows = {(row["a"], row["b"]): row for row in est.conditional("b", given="a").to_pylist()}
        truth, row = np.mean(b[a == "v2"] == "v0"), rows["v2", "v0"]
        if not np.isnan(row["low"]):
            answered += 1
            held += row["low"] <= truth <= row["high"]
        top, bottom = {"a": "v2", "b": "v0"}, {"a": "v2"}
        surely += est.covariance(top, top) == pytest.approx(est.covariance(bottom, bottom), rel=1e-6)
    assert answered > 60
    assert held / answered > 0.9
    assert surely > 20


def test_joint_answers_are_those_of_the_estimate_that_knows_no_edge() -> None:
    plan, _ = tiny("GRR")
    reports = skewed_reports(plan, 3000)
    est, free = dn.maximum_likelihood(reports, ["a", "b"]), dn.estimate(dn.count(reports, ["a", "b"]), ["a", "b"])
    ours, theirs = est.association("a", "b").cramers_v, free.association("a", "b").cramers_v
    assert (ours.value, ours.stderr, ours.effective_n) == (theirs.value, theirs.stderr, theirs.effective_n)
    assert 0 < ours.effective_n < 3000
    assert est.independence("a", "b") == free.independence("a", "b")
    weights = np.zeros((4, 3))
    weights[1, 1] = weights[2, 2] = 1
    assert est.linear(weights).stderr == pytest.approx(free.linear(weights).stderr)
    one = np.zeros((4, 3))
    one[3, 0] = 1
    assert est.linear(one).confidence_interval() == pytest.approx(est.cell(a="v2").confidence_interval())


@pytest.mark.parametrize("n", [1, 5, 30])
def test_reports_that_are_all_alike_do_not_make_it_known(n: int) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(epsilon=8.0)})
    reports = dn.randomize({"a": [False] * n}, plan, rng=np.random.default_rng(1))
    est, free = dn.maximum_likelihood(reports, ["a"]), dn.estimate(dn.count(reports, ["a"]), ["a"])
    for subject in ("respondents", "population"):
        for answer in (True, False):
            ours, theirs = est.about(subject).cell(a=answer), free.about(subject).cell(a=answer)
            assert not ours.enough or theirs.enough
            low, high = ours.confidence_interval()
            assert low != high


def test_what_was_seen_stays_possible() -> None:
    """A rare pair of public answers: a step that makes it impossible is not taken, however little it costs."""
    rng = np.random.default_rng(1)
    schema = dn.Schema([dn.Choice("a", values(3)), dn.Choice("b", values(3)), dn.Flag("c")])
    plan = dn.Plan(schema, {"a": dn.Public(), "b": dn.Public(), "c": dn.RandomizedResponse(epsilon=1.0)})
    records = {name: rng.choice(values(3), 30_000, p=[0.6, 0.395, 0.005]) for name in "ab"}
    records["c"] = rng.random(30_000) < 0.3
    reports = dn.randomize(records, plan, rng=rng)
    both = np.array([[np.sum((records["a"] == a) & (records["b"] == b)) for b in values(3)] for a in values(3)])
    for start in ("feasible", "uniform"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            est = dn.maximum_likelihood(reports, ["a", "b", "c"], start=start)
        np.testing.assert_allclose(est.mean[1:, 1:, 0], both, atol=1e-3)


def test_what_is_near_the_edge() -> None:
    above = np.array([1.9, 2.1, 90.0, 98.1, 0.0, 50.0])
    one = np.ones(6)
    np.testing.assert_array_equal(near_bound(above, 100 - above, one, one), [True, False, False, True, True, False])
    middle = np.full(4, 50.0)
    before, own = np.array([0.0, -1.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.24, 0.26])
    np.testing.assert_array_equal(near_bound(middle, middle, own, before), [True, True, True, False])


def test_a_sum_with_a_feasible_table_keeps_both_halves() -> None:
    names = ["a", "b"]
    schema = dn.Schema([dn.Flag(name) for name in names])
    public = dn.Plan(schema, {"a": dn.Public(), "b": dn.RandomizedResponse(epsilon=3.0)})
    own = dn.Plan(schema, dict.fromkeys(names, dn.RandomizedResponse(epsilon=2.0)))
    rng = np.random.default_rng(1)
    halves = []
    for plan, n in ((public, 5000), (own, 20_000)):
        a = rng.random(n) < 0.3
        halves.append(dn.randomize({"a": a, "b": np.where(a, rng.random(n) < 0.7, rng.random(n) < 0.2)}, plan, rng=rng))
    first, second = (dn.count(half, names) for half in halves)
    both = dn.maximum_likelihood(halves[0], names) + dn.estimate(second, names, method="feasible")
    free = dn.estimate(first, names) + dn.estimate(second, names)
    assert both.cell(a=True).stderr == pytest.approx(free.cell(a=True).stderr, rel=0.01)
    weights = np.zeros((2, 2))
    weights[1, 0], weights[0, 1], weights[1, 1] = 1, 1, -1
    for ours, theirs in (
        (both.correlation("a", "b"), free.correlation("a", "b")),
        (both.linear(weights), free.linear(weights)),
    ):
        assert ours.value == pytest.approx(theirs.value, abs=0.01)
        assert ours.stderr == pytest.approx(theirs.stderr, rel=1e-6)


@pytest.mark.slow
def test_where_a_cell_is_all_of_its_margin_the_interval_is_not_too_short() -> None:
    """All with a say v0: the other cells with a are zero, so that the cell is a margin, which is known well."""
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", values(4))])
    plan = dn.Plan(schema, {"a": dn.RandomizedResponse(epsilon=6.0), "b": dn.GRR(epsilon=1.0)})
    held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        a = rng.random(3000) < 0.3
        b = np.where(a, "v0", rng.choice(values(4), 3000))
        est = dn.maximum_likelihood(dn.randomize({"a": a, "b": b}, plan, rng=rng), ["a", "b"])
        low, high = est.cell(a=True, b="v0").confidence_interval()
        assert high - low > 0.03
        held += low <= a.mean() <= high
    assert held > 88


def test_about_the_population_the_edge_is_as_wide_as_its_standard_error() -> None:
    """Of public answers only the sampling is uncertain: two of 3 000 are near the edge about the population."""
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), {"a": dn.Public(), "b": dn.RandomizedResponse(epsilon=3.0)})
    records = {"a": [True] * 2 + [False] * 2998, "b": [True, False, False] * 1000}
    reports = dn.randomize(records, plan, rng=np.random.default_rng(1))
    est, free = dn.maximum_likelihood(reports, ["a", "b"]), dn.estimate(dn.count(reports, ["a", "b"]), ["a", "b"])
    for group, before in ((est, free), (est.project("a"), free.project("a"))):
        ours, theirs = group.about("population").cell(a=True), before.about("population").cell(a=True)
        assert ours.found.third == pytest.approx(theirs.found.third, rel=1e-3)
        assert ours.found.third != 0
        assert group.about("population").cell(a=False).found.third != 0
    assert est.project("b").cell(b=True).found.third != 0  # as it is estimated with what is near the edge
    assert est.project("b").intervals_from == "consistent"
    far = dn.maximum_likelihood(skewed_reports(tiny("GRR")[0], 40_000), ["a", "b"])
    assert far.project("b").cell(b="v0").found.third == 0
    assert far.intervals_from == far.project("b").intervals_from == "observed information"


@pytest.mark.slow
def test_large_cells_of_sparse_tables_are_held_on_both_sides() -> None:
    """Ten of sixteen cells are empty; by the information on the cells that are not zero, the control, one-sidedly."""
    schema = dn.Schema([dn.Choice(name, values(4)) for name in "ab"])
    plan = dn.Plan(schema, dict.fromkeys("ab", dn.GRR(epsilon=2.0)))
    shares = np.zeros((4, 4))
    shares[[0, 0, 1, 2, 3, 1], [0, 1, 1, 2, 3, 0]] = [0.3, 0.2, 0.2, 0.15, 0.1, 0.05]
    truth, rng, large = dn.simulate.truth(schema, shares), np.random.default_rng(1), {"a": "v0", "b": "v0"}
    apart = []
    for _ in range(150):
        est = dn.maximum_likelihood(dn.simulate.reports(truth, plan, 1000, rng), ["a", "b"]).about("population")
        low, high = est.cell(large).confidence_interval()
        information = 1.96 * np.sqrt(est.covariance(large, large)) / est.n
        value = est.cell(large).value
        apart.append([low > 0.3, high < 0.3, value - information > 0.3, value + information < 0.3])
    above, below, one_side, other_side = np.mean(apart, axis=0)
    most = 0.025 + 3 * np.sqrt(0.025 * 0.975 / 150)
    assert max(above, below) < most
    assert max(one_side, other_side) > most
