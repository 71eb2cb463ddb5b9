"""Maximum likelihood: climbing that never falls, by every way to climb, and agreement with closed forms."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, takewhile
from types import SimpleNamespace

import numpy as np
import pytest

import deniable as dn
from deniable.estimates import likelihood, pattern_likelihoods
from deniable.estimates.likelihood import accelerated, climb, expectation_maximization, newton, state
from deniable.estimates.pattern_likelihoods import patterns_of
from deniable.inference.tensors import flat
from deniable.kernels import plain
from tests.support.situations import KINDS, tiny, values
from tests.support.surveys import skewed_reports


@pytest.mark.parametrize("kind", KINDS)
def test_expectation_maximization_never_falls_and_ends_where_newton_does(kind: str, form: str) -> None:
    plan, _ = tiny(kind)
    seen = patterns_of(skewed_reports(plan, 200), plan.schema.names)
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
    seen = patterns_of(skewed_reports(plan, 200), plan.schema.names)
    uniform = np.full(seen.back(np.ones_like(seen.h)).size, 1.0)
    uniform /= uniform.sum()
    lost = []

    def astray(_root: np.ndarray, once: np.ndarray, *_others: object) -> tuple[np.ndarray, np.ndarray]:
        wrong = once[::-1].copy()
        lost.append(state(seen, once**2).likelihood - state(seen, wrong**2).likelihood)
        return wrong, wrong**2

    monkeypatch.setattr(
        likelihood, "tools_for", lambda _seconds: SimpleNamespace(grow=plain.grow, bends=plain.bends, leap=astray)
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
    reports = skewed_reports(plan, 30_000)
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
    reports = skewed_reports(plan, 100)
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


def test_a_gap_that_is_no_number_ends_the_climb_and_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = tiny("flags")
    reports = skewed_reports(plan, 50)

    def broken(seen: pattern_likelihoods.Grid, t: np.ndarray) -> Iterator[likelihood.State]:
        while True:
            yield replace(state(seen, t), gradient=np.full(len(t), np.nan))

    monkeypatch.setattr(likelihood, "newton", broken)
    with pytest.warns(UserWarning, match="maximum likelihood stopped"):
        dn.maximum_likelihood(reports, ["a", "b"])


def test_what_is_public_is_known() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), {"a": dn.Public(), "b": dn.RandomizedResponse(epsilon=1.0)})
    records = {"a": [True, False, False, False] * 500, "b": [True, False] * 1000}
    reports = dn.randomize(records, plan, rng=np.random.default_rng(1))
    est = dn.maximum_likelihood(reports, ["a", "b"], about="respondents")
    assert est.cell(a=True).confidence_interval() == pytest.approx((0.25, 0.25), abs=1e-6)
    assert est.about("population").cell(a=True).stderr == pytest.approx(np.sqrt(0.25 * 0.75 / 2000), rel=1e-3)


def test_large_tables_have_the_intervals_of_the_consistent_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = tiny("flags")
    reports = skewed_reports(plan, 5000)
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
    reports = skewed_reports(plan, 60)
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
        make(skewed_reports(plan, 10))
