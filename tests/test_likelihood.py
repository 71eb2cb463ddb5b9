"""Maximum likelihood: patterns against brute force, climbing that never falls, agreement with closed forms."""

import warnings
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

import deniable as dn
from deniable import likelihood, patterns, twins
from deniable.likelihood import accelerated, climb, expectation_maximization, newton, state
from deniable.patterns import patterns_of

from .situations import values
from .test_counting import supports
from .test_estimates import KINDS, tiny


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
    assert (np.diff(jumps) >= -likelihood.LOSS).all()
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

    monkeypatch.setattr(likelihood, "tools_for", lambda _seconds: SimpleNamespace(grow=twins.grow, leap=astray))
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
    assert len(est.sample(10, rng)) == 10


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


def test_what_is_zero_on_the_edge_has_no_standard_error() -> None:
    plan, _ = tiny("GRR")
    records = {"a": ["v0"] * 300, "b": ["v0", "v1"] * 150}
    est = dn.maximum_likelihood(dn.randomize(records, plan, rng=np.random.default_rng(2)), ["a", "b"])
    rows = est.table().to_pylist()
    zero = [row for row in rows if row["proportion"] == 0]
    assert zero
    assert all(np.isnan([row["stderr"], row["low"], row["high"]]).all() for row in zero)
    assert est.cell(a="v0").stderr > 0
    assert np.isnan(est.variance[tuple(1 + np.argwhere(est.mean[1:, 1:] == 0)[0])])
    contrast = np.zeros((4, 3))
    contrast[1, 0], contrast[2, 0] = 1, -1
    assert est.linear(contrast).stderr > 0  # weights of both signs do not cancel what it rests on
    assert est.project("b").cell(b="v0").stderr == pytest.approx(est.cell(b="v0").stderr)


def test_large_tables_have_a_mean_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = tiny("flags")
    reports = some_reports(plan, 500)
    small = dn.maximum_likelihood(reports, ["a", "b"])
    monkeypatch.setattr(likelihood, "MOST_NEWTON", 1)
    large = dn.maximum_likelihood(reports, ["a", "b"])
    np.testing.assert_allclose(large.mean, small.mean, atol=0.5)
    assert large.cell(a=True).value == pytest.approx(small.cell(a=True).value, abs=1e-3)
    assert not large.cell(a=True).enough
    with pytest.raises(dn.EstimateError, match="no covariance of so many cells; ask for fewer features"):
        large.covariance()
    monkeypatch.setattr(likelihood, "MOST_STEPS", 2)
    with pytest.warns(UserWarning, match="maximum likelihood stopped with its logarithm up to .* below the maximum"):
        dn.maximum_likelihood(reports, ["a", "b"])


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
        "needs the reports, .* found Counts",
    ),
    "names": (lambda r: dn.maximum_likelihood(r, None), "takes a list of features; found None"),
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
