"""Maximum likelihood: patterns against brute force, climbing that never falls, agreement with closed forms."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, takewhile
from types import SimpleNamespace

import numpy as np
import pytest

import deniable as dn
from deniable.estimates import likelihood
from deniable.estimates import likelihood_table as patterns
from deniable.estimates.likelihood import accelerated, climb, expectation_maximization, newton, state
from deniable.estimates.likelihood_table import patterns_of
from deniable.estimates.respondents import _near
from deniable.inference.tensors import flat
from deniable.kernels import plain as twins
from tests.counts.test_count import supports
from tests.estimates.test_estimate import KINDS, tiny
from tests.support.situations import values


def some_reports(plan: dn.Plan, n: int, seed: int = 1) -> dn.Reports:
    rng = np.random.default_rng(seed)
    records = {
        feature.name: [
            (feature.values[x] if isinstance(feature, dn.Choice) else bool(x))
            for x in np.minimum(rng.geometric(0.5, size=n) - 1, feature.levels - 1)
        ]
        for feature in plan.schema
    }
    return dn.randomize(records, plan, rng=rng)


def brute_force(reports: dn.Reports) -> np.ndarray:
    """The probability of every report's evidence for every cell, a row for each report, up to a factor by row."""
    plan = reports.plan
    rows = np.ones((len(reports), 1))
    for name in plan.schema.names:
        own = plan[name].likelihood(supports(plan, reports.table, name)[:, 1:])
        rows = (rows[:, :, None] * own[:, None, :]).reshape(len(reports), -1)
    return rows


@pytest.fixture(params=["grid", "grid, summed up", "grid, flags mixed", "grid, in parts", "tree"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "tree":
        monkeypatch.setattr(patterns, "MOST_GRID", 0)
    monkeypatch.setattr(patterns, "BLOCK", 100)
    if "summed" in request.param:
        monkeypatch.setattr(patterns, "MOST_PAIRS", 0)
    if "mixed" in request.param:
        monkeypatch.setattr(patterns, "FEW", 0)
    if "parts" in request.param:
        monkeypatch.setattr(patterns, "GROUP", 2)
    return request.param.split(",")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_are_the_reports_counted(kind: str, form: str) -> None:
    plan, _ = tiny(kind)
    reports = some_reports(plan, 150)
    seen = patterns_of(reports, plan.schema.names)
    assert type(seen).__name__.lower() == form
    assert seen.h.sum() == pytest.approx(1)
    rows = brute_force(reports)
    t = np.random.default_rng(1).dirichlet(np.ones(rows.shape[1]))
    there = state(seen, t)
    each = rows @ t
    gradient = (rows / each[:, None]).mean(axis=0)
    np.testing.assert_allclose(there.gradient, gradient, rtol=1e-10)
    curvature = (rows / each[:, None]).T @ (rows / each[:, None]) / len(rows)
    weights = np.divide(seen.h, there.f**2, out=np.zeros_like(there.f), where=seen.h > 0)
    np.testing.assert_allclose(seen.curvature(weights), curvature, rtol=1e-10)
    other = state(seen, np.full(len(t), 1 / len(t)))
    assert there.likelihood - other.likelihood == pytest.approx(np.mean(np.log(each) - np.log(rows.mean(axis=1))))


@pytest.mark.parametrize("kind", KINDS)
def test_expectation_maximization_never_falls_and_ends_where_newton_does(kind: str, form: str) -> None:
    plan, _ = tiny(kind)
    seen = patterns_of(some_reports(plan, 200), plan.schema.names)
    assert type(seen).__name__.lower() == form
    cells = seen.back(np.ones_like(seen.h)).size
    uniform = np.full(cells, 1 / cells)
    steps = list(islice(expectation_maximization(seen, uniform), 3000))
    likelihoods = np.array([step.likelihood for step in steps])
    assert (np.diff(likelihoods) >= -1e-13).all()
    top = climb(newton(seen, uniform), 1e-10)
    assert top.gap <= 1e-10
    assert top.likelihood >= likelihoods[-1] - 1e-12
    assert top.likelihood - likelihoods[0] <= steps[0].gap  # what the gap promises
    assert top.likelihood - likelihoods[50] <= steps[50].gap
    assert top.likelihood == pytest.approx(likelihoods[-1], abs=1e-6)
    assert np.abs(top.gradient[top.t > 0] - 1).max() < 1e-7  # stationary: 1 where there is something,
    assert top.gradient.max() < 1 + 1e-9  # and nowhere more
    jumps = [step.likelihood for step in islice(accelerated(seen, uniform), 40)]
    assert (np.diff(jumps) >= -1e-4).all()
    assert jumps[-1] >= likelihoods[80] - 1e-13  # two steps in each, and more
    quick = climb(accelerated(seen, uniform), 1e-7)
    assert quick.gap <= 1e-7
    assert quick.likelihood == pytest.approx(top.likelihood, abs=1e-7)


def test_jumps_that_lose_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = tiny("unary")
    seen = patterns_of(some_reports(plan, 200), plan.schema.names)
    uniform = np.full(seen.back(np.ones_like(seen.h)).size, 1.0)
    uniform /= uniform.sum()
    lost = []

    def astray(_root: np.ndarray, once: np.ndarray, *_others: object) -> tuple[np.ndarray, np.ndarray]:
        wrong = once[::-1].copy()
        lost.append(state(seen, once**2).likelihood - state(seen, wrong**2).likelihood)
        return wrong, wrong**2

    monkeypatch.setattr(
        likelihood, "tools_for", lambda _seconds: SimpleNamespace(grow=twins.grow, bends=twins.bends, leap=astray)
    )
    jumps = [step.likelihood for step in islice(accelerated(seen, uniform), 40)]
    assert max(lost) > likelihood.LOSS
    assert (np.diff(jumps) >= -likelihood.LOSS).all()
    monkeypatch.setattr(likelihood, "LOSS", np.inf)
    jumps = [step.likelihood for step in islice(accelerated(seen, uniform), 40)]
    assert min(np.diff(jumps)) < -1e-3


@pytest.mark.parametrize("start", ["feasible", "uniform"])
def test_where_the_closed_form_is_proper_grr_has_it_as_its_maximum(start: str) -> None:
    plan, _ = tiny("GRR")
    reports = some_reports(plan, 30_000)
    closed = dn.estimate(dn.count(reports, ["a", "b"]), ["a", "b"])
    assert closed.table()["proportion"].to_numpy().min() > 0
    est = dn.maximum_likelihood(reports, ["a", "b"], start=start)
    np.testing.assert_allclose(est.mean, closed.mean, rtol=1e-6, atol=0.01)
    for subject in ("population", "respondents"):
        np.testing.assert_allclose(
            est.about(subject).covariance(), closed.about(subject).covariance(), rtol=1e-4, atol=1e-3 * est.n
        )
    assert est.method == "maximum likelihood"
    assert est.cell(a="v0", b="v1").confidence_interval() == pytest.approx(
        closed.cell(a="v0", b="v1").confidence_interval(), abs=1e-3
    )


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_proper_and_likelier_than_others(kind: str) -> None:
    plan, _ = tiny(kind)
    reports = some_reports(plan, 100)
    names = plan.schema.names
    est = dn.maximum_likelihood(reports, names)
    table = est.table()["proportion"].to_numpy()
    assert table.min() >= 0
    assert table.sum() == pytest.approx(1)
    seen = patterns_of(reports, names)
    feasible = dn.estimate(dn.count(reports, names), names, method="feasible").table()["proportion"].to_numpy()
    best = state(seen, table).likelihood
    rng = np.random.default_rng(1)
    for other in (feasible, *(0.99 * table + 0.01 * rng.dirichlet(np.ones(len(table))) for _ in range(50))):
        assert state(seen, other / other.sum()).likelihood <= best + 1e-9
    assert len(est.sample(10, rng)) == len(est.sample(10)) == 10


def test_standard_errors_are_those_of_many_surveys() -> None:
    """About the population: the stated variance is the empirical one; half of it, the control, is not."""
    schema = dn.Schema([dn.Choice("a", values(3)), dn.Flag("b")])
    plan = dn.Plan(schema, {"a": dn.UnaryEncoding.optimized(2.0), "b": dn.RandomizedResponse(epsilon=2.0)})
    found, stated = [], []
    for seed in range(300):
        cell = (
            dn.maximum_likelihood(some_reports(plan, 1500, seed), ["a", "b"]).about("population").cell(a="v0", b=True)
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
    assert est.cell(middle).stderr < 0.95 * free.cell(middle).stderr  # what is zero says something of the rest
    assert est.cell(middle).stderr == pytest.approx(np.sqrt(est.covariance(middle, middle)) / est.n)
    assert est.project("b").cell(b="v0").stderr == pytest.approx(est.cell(b="v0").stderr)
    row = next(row for row in est.table().to_pylist() if {"a": row["a"], "b": row["b"]} == zero)
    assert row["stderr"] == pytest.approx(est.cell(zero).stderr)
    assert est.variance[tuple(1 + int(zero[name][1]) for name in "ab")] == pytest.approx(est.cell(zero).variance)
    contrast = np.zeros((4, 3))
    contrast[1, 0], contrast[2, 0] = 1, -1
    assert est.linear(contrast).stderr > 0


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
    reports = some_reports(plan, 3000)
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
    np.testing.assert_array_equal(_near(above, 100 - above, one, one), [True, False, False, True, True, False])
    middle = np.full(4, 50.0)
    before, own = np.array([0.0, -1.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.24, 0.26])
    np.testing.assert_array_equal(_near(middle, middle, own, before), [True, True, True, False])


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
        assert ours.found.third == theirs.found.third != 0
        assert group.about("population").cell(a=False).found.third != 0
    assert est.project("b").cell(b=True).found.third == 0  # far from it


def test_a_gap_that_is_no_number_ends_the_climb_and_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = tiny("flags")
    reports = some_reports(plan, 50)

    def broken(seen: patterns.Grid, t: np.ndarray) -> Iterator[likelihood.State]:
        while True:
            yield replace(state(seen, t), gradient=np.full(len(t), np.nan))

    monkeypatch.setattr(likelihood, "newton", broken)
    with pytest.warns(UserWarning, match="maximum likelihood stopped"):
        dn.maximum_likelihood(reports, ["a", "b"])


def test_what_is_public_is_known() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), {"a": dn.Public(), "b": dn.RandomizedResponse(epsilon=1.0)})
    records = {"a": [True, False, False, False] * 500, "b": [True, False] * 1000}
    est = dn.maximum_likelihood(dn.randomize(records, plan, rng=np.random.default_rng(1)), ["a", "b"])
    assert est.cell(a=True).confidence_interval() == pytest.approx((0.25, 0.25), abs=1e-6)
    assert est.about("population").cell(a=True).stderr == pytest.approx(np.sqrt(0.25 * 0.75 / 2000), rel=1e-3)


def test_large_tables_have_the_intervals_of_the_consistent_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = tiny("flags")
    reports = some_reports(plan, 5000)
    small = dn.maximum_likelihood(reports, ["a", "b"])
    monkeypatch.setattr(likelihood, "MOST_NEWTON", 1)
    large, free = dn.maximum_likelihood(reports, ["a", "b"]), dn.estimate(dn.count(reports, ["a", "b"]), ["a", "b"])
    np.testing.assert_allclose(large.mean, small.mean, atol=0.5)
    np.testing.assert_allclose(large.covariance(), free.covariance())
    assert large.cell(a=True).value == pytest.approx(small.cell(a=True).value, abs=1e-3)
    assert large.cell(a=True).stderr == pytest.approx(free.cell(a=True).stderr)
    assert large.cell(a=True).confidence_interval() == pytest.approx(free.cell(a=True).confidence_interval())
    assert large.project("b").cell(b=True).enough
    monkeypatch.setattr(likelihood, "MOST_STEPS", 2)
    with pytest.warns(UserWarning, match=r"up to .* below the maximum, .* a report where 1e-06 was to be reached"):
        dn.maximum_likelihood(reports, ["a", "b"])


@pytest.mark.parametrize(("flags", "epsilon"), [(10, 0.1), (11, 1.0)])
def test_many_flags_are_climbed_to_their_maximum_in_few_steps(flags: int, epsilon: float) -> None:
    """By the compiled kernels: rare answers, one public flag that nobody has, and one by unequal probabilities."""
    import deniable.kernels.compiled

    names = [f"f{k}" for k in range(flags)]
    own = {name: dn.RandomizedResponse(epsilon=epsilon) for name in names[2:]}
    plan = dn.Plan(
        dn.Schema([dn.Flag(name) for name in names]),
        {names[0]: dn.Public(), names[1]: dn.RandomizedResponse(p=0.3, q=0.5)} | own,
    )
    rng = np.random.default_rng(1)
    records = {name: rng.random(50_000) < 0.01 * (k > 0) for k, name in enumerate(names)}
    seen = patterns_of(dn.randomize(records, plan, rng=rng), names)
    assert seen.tools is deniable.kernels.compiled
    uniform = np.full(1 << flags, 2.0**-flags)
    steps = list(takewhile(lambda step: step.gap > 1e-6, islice(accelerated(seen, uniform), 600)))
    assert len(steps) < 600
    top = climb(accelerated(seen, uniform), 1e-6)
    likely = flat(seen.channels)
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = likely.T @ np.where(seen.h > 0, seen.h / (likely @ top.t), 0)
    assert gradient.max() - 1 == pytest.approx(top.gap, abs=1e-12)
    assert 0 < top.gap <= 1e-6
    assert top.t[1 << (flags - 1) :].sum() < 1e-6  # nobody has the public one


def test_more_flags_than_reports_are_no_tree() -> None:
    names = [f"f{k}" for k in range(17)]
    plan = dn.Plan(dn.Schema([dn.Flag(name) for name in names]), epsilon=17.0)
    reports = dn.randomize({name: [True, False] for name in names}, plan, rng=np.random.default_rng(1))
    assert isinstance(patterns_of(reports, names), patterns.Grid)


def test_how_far_to_jump() -> None:
    step, bend = np.array([3.0, 4.0]), np.array([-1.0, 0.5])
    length = likelihood._length(step @ step, step @ bend, bend @ bend)
    assert length == pytest.approx(1.0)  # -1/1.25 would be backwards from what was reached: two steps on it is
    step = np.array([3.0, -4.0])
    assert likelihood._length(step @ step, step @ bend, bend @ bend) == pytest.approx(5 / 1.25)
    assert likelihood._length(step @ step, -step @ bend, bend @ bend) == pytest.approx(5 / np.sqrt(1.25))  # they grow
    assert likelihood._length(1.0, 0.0, 0.0) == 1
    assert likelihood._length(1.0, -1e-9, 1e-18) == likelihood.LONGEST


def test_many_values_and_few_reports_are_no_trouble() -> None:
    schema = dn.Schema([dn.Choice("a", values(40)), dn.Choice("b", values(20))])
    plan = dn.Plan(schema, {"a": dn.UnaryEncoding.optimized(3.0), "b": dn.LocalHashing(epsilon=3.0)})
    reports = some_reports(plan, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = dn.maximum_likelihood(reports, ["a", "b"])
    assert est.mean[0, 0] == pytest.approx(60)


REFUSED = {
    "counts": (
        lambda r: dn.maximum_likelihood(dn.count(r, ["a"]), ["a"]),
        "needs the reports: .* found Counts",
    ),
    "names": (lambda r: dn.maximum_likelihood(r, None), "takes a list of features, .* found None"),
    "a start": (lambda r: dn.maximum_likelihood(r, ["a"], start="random"), "start must be .* found 'random'"),
    "a name": (lambda r: dn.maximum_likelihood(r, ["x"]), "no feature 'x'"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(make: object, message: str) -> None:
    plan, _ = tiny("GRR")
    with pytest.raises(dn.DeniableError, match=message):
        make(some_reports(plan, 10))


def test_too_many_cells_are_refused() -> None:
    plan = dn.Plan(dn.Schema([dn.Choice("a", values(2000)), dn.Choice("b", values(2000))]), epsilon=10.0)
    reports = dn.randomize({"a": ["v0"], "b": ["v1"]}, plan)
    with pytest.raises(
        dn.EstimateError, match="may have 1,048,576 cells; these features have 4,000,000. Ask for fewer"
    ):
        dn.maximum_likelihood(reports, ["a", "b"])
