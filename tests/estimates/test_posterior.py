"""Draws of proper tables, against weighted draws from the prior, and against their twin under the flat prior."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.estimates import posterior
from deniable.estimates.posterior import CONCENTRATION, FEWEST, credible, shortest
from deniable.estimates.proper_tables import dirichlet_draws
from deniable.estimates.proper_tables.dirichlet_draws import dirichlet_normal
from tests.support.bouncing import truncated_normal
from tests.support.situations import tiny
from tests.support.surveys import some_counts


def feasible(kind: str, n: int) -> dn.Estimate:
    plan, _ = tiny(kind)
    return dn.estimate(some_counts(plan, n), plan.schema.names, method="feasible")


@pytest.mark.parametrize(("kind", "n"), [("GRR", 50), ("flags", 100), ("unary", 60)])
def test_draws_are_those_of_the_prior_weighted(kind: str, n: int) -> None:
    """Means and standard deviations within five standard errors; a normal cut off at zero, the control, fails."""
    est = feasible(kind, n)
    assert est.proper is not None
    H, b = est.proper.misfit()  # noqa: N806 - a matrix
    rng = np.random.default_rng(1)
    prior = rng.dirichlet(np.full(len(b), CONCENTRATION), 300_000)
    logs = -n * (np.einsum("ij,jk,ik->i", prior, H, prior, optimize=True) / 2 - prior @ b)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ prior
    spread = np.sqrt(weights @ (prior - mean) ** 2)
    draws = est.posterior(draws=6000, rng=rng).draws
    assert draws.min() >= 0
    np.testing.assert_allclose(draws.sum(axis=1), 1)
    error = spread * np.sqrt(2 / 6000 + (weights**2).sum())  # draws are nearly independent
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * error).all()
    assert (np.abs(draws.std(axis=0) - spread) < 5 * error).all()
    centre = np.linalg.solve(H, b)
    wrong = np.maximum(rng.multivariate_normal(centre, np.linalg.inv(n * H), 6000), 0)
    wrong /= wrong.sum(axis=1, keepdims=True)
    assert (np.abs(wrong.mean(axis=0) - mean) > 5 * error).any()


@pytest.mark.slow
def test_little_data_leave_the_prior() -> None:
    """One report at epsilon 0.2: walls are much closer than the normal law is wide."""
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), dict.fromkeys("ab", dn.RandomizedResponse(epsilon=0.2)))
    draws = (
        dn.estimate(some_counts(plan, 1), ["a", "b"], method="feasible")
        .posterior(draws=4000, rng=np.random.default_rng(1))
        .draws
    )
    np.testing.assert_allclose(draws.mean(axis=0), 0.25, atol=0.03)  # the same concentration everywhere
    np.testing.assert_allclose(draws.std(axis=0), np.sqrt(0.25 * 0.75 / (1 + 4 * CONCENTRATION)), rtol=0.05)


@pytest.mark.parametrize(("kind", "n"), [("GRR", 50), ("flags", 100), ("known", 100)])
def test_with_a_flat_prior_draws_are_those_of_the_bouncing_twin(kind: str, n: int) -> None:
    """Means and standard deviations within five standard errors; a concentration of 1/5, the control, fails."""
    est = feasible("GRR" if kind == "known" else kind, n)
    if kind == "known":
        est = est.given({"a": {"v0": 0.3}}, zeros=[{"a": "v1", "b": "v0"}])
    assert est.proper is not None
    (H, b), rng = est.proper.misfit(), np.random.default_rng(1)  # noqa: N806 - a matrix
    form = (n * H, n * b, *est.proper.equations())
    twin, _ = truncated_normal(*form, 6000, rng)
    error = np.maximum(twin.std(axis=0), 1e-12) * np.sqrt(4 / 6000)
    flat, other = (dirichlet_normal(*form, concentration=c, draws=6000, rng=rng)[0] for c in (1.0, 0.2))
    assert (np.abs(flat.mean(axis=0) - twin.mean(axis=0)) < 5 * error).all()
    assert (np.abs(flat.std(axis=0) - twin.std(axis=0)) < 5 * error).all()
    assert (np.abs(other.mean(axis=0) - twin.mean(axis=0)) > 5 * error).any()


def test_credible_intervals_begin_at_zero_or_have_equal_tails() -> None:
    rng = np.random.default_rng(1)
    draws = np.column_stack([rng.exponential(size=20_000), rng.gamma(4.0, size=20_000)])
    low, high = credible(draws, 0.9)
    assert (low[0], high[0]) == (0, shortest(draws, 0.9)[1][0])
    assert ((draws[:, 1] < low[1]).mean(), (draws[:, 1] > high[1]).mean()) == (pytest.approx(0.05), pytest.approx(0.05))
    assert shortest(draws, 0.9)[0][1] < low[1]  # the shortest interval begins earlier where the mode is low


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_credible_intervals_hold_their_level_of_what_few_draws_are_from(level: float) -> None:
    """8 000 columns of normal draws, away from zero, and of exponential ones; of 400 draws, quantiles between 0 and 1
    would hold half a point less.
    """
    rng = np.random.default_rng(1)
    normal, exponential = rng.normal(10, 1, (FEWEST, 8_000)), rng.exponential(size=(FEWEST, 8_000))
    low, high = credible(normal, level)
    assert (stats.norm.cdf(high, 10) - stats.norm.cdf(low, 10)).mean() == pytest.approx(level, abs=0.002)
    low, high = credible(exponential, level)
    from_zero = low == 0
    assert from_zero.mean() > 0.5
    assert stats.expon.cdf(high[from_zero]).mean() == pytest.approx(level, abs=0.005)


@pytest.mark.slow
def test_intervals_hold_in_a_sparse_table_and_those_of_the_flat_prior_do_not() -> None:
    """60 surveys of six cells, two of them empty; the flat prior is the control."""
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])])
    truth = dn.simulate.truth(schema, np.array([[0.4, 0.1, 0.2], [0.3, 0.0, 0.0]]))
    plan, rng = dn.Plan(schema, epsilon=4.0, together=[["a", "b"]]), np.random.default_rng(1)
    held = {}
    for concentration in (CONCENTRATION, 1.0):
        holds = []
        for _ in range(60):
            proper = dn.estimate(dn.simulate.counts(truth, plan, rng, n=300), ["a", "b"], method="feasible").proper
            assert proper is not None
            (H, b), n = proper.misfit(), proper.n  # noqa: N806 - a matrix
            draws, _ = dirichlet_normal(
                n * H, n * b, *proper.equations(), concentration=concentration, draws=400, rng=rng
            )
            low, high = credible(draws, 0.95)
            holds += ((low <= truth.shares.flat) & (truth.shares.flat <= high)).tolist()
        held[concentration] = np.mean(holds)
    assert held[CONCENTRATION] > 0.93 - 3 * 0.013  # a survey's cells go together: the standard error is about 0.013
    assert held[1.0] < held[CONCENTRATION]


def test_shortest_intervals_are_the_shortest_and_reach_zero() -> None:
    rng = np.random.default_rng(1)
    draws = np.column_stack([rng.exponential(size=20_000), rng.normal(size=20_000)])
    low, high = shortest(draws, 0.9)
    assert low[0] < 1e-3  # an exponential's begins at its mode
    assert high[0] == pytest.approx(-np.log(0.1), rel=0.05)
    assert (low[1], high[1]) == (pytest.approx(-1.645, abs=0.15), pytest.approx(1.645, abs=0.15))
    inside = (draws >= low) & (draws <= high)
    assert (inside.mean(axis=0) >= 0.9).all()


def test_tables_of_draws() -> None:
    est = feasible("GRR", 80)
    draws = est.posterior(draws=2000, rng=np.random.default_rng(1))
    rows = draws.table(level=0.9).to_pylist()
    assert [(row["a"], row["b"]) for row in rows] == [(row["a"], row["b"]) for row in est.table().to_pylist()]
    assert sum(row["proportion"] for row in rows) == pytest.approx(1)
    assert all(0 <= row["low"] <= row["proportion"] <= row["high"] <= 1 for row in rows)
    assert draws.convergence < 1.05
    convergence = f"split R-hat {draws.convergence:.3f}"
    assert repr(draws) == f"<Posterior of a x b, 2,000 draws, {convergence}, about the population>"
    again = est.posterior(draws=2000, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(again.draws, draws.draws)


def test_what_is_known_is_kept_in_every_draw() -> None:
    est = feasible("GRR", 500).given({"a": {"v0": 0.3}}, zeros=[{"a": "v1", "b": "v0"}])
    draws = est.posterior(draws=800, rng=np.random.default_rng(1)).draws.reshape(-1, 3, 2)
    np.testing.assert_allclose(draws[:, 0].sum(axis=1), 0.3, atol=1e-9)
    np.testing.assert_allclose(draws[:, 1, 0], 0, atol=1e-9)
    assert draws[:, 2, 0].std() > 0.01


def test_chains_that_have_not_mixed_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    est = feasible("flags", 50)
    monkeypatch.setattr(posterior, "CONVERGED", 0.5)
    with pytest.warns(
        UserWarning, match=r"the draws have not mixed: split R-hat [0-9.]+, where 0.5 is wanted; ask for more"
    ):
        est.posterior(draws=400, rng=np.random.default_rng(1))
    apart = np.random.default_rng(1).normal(size=(4, 100, 2)) + np.arange(4)[:, None, None]
    assert dirichlet_draws.split_r_hat(apart) > 1.3
    assert dirichlet_draws.split_r_hat(apart - np.arange(4)[:, None, None]) < 1.05


def test_what_is_refused() -> None:
    plan, _ = tiny("GRR")
    with pytest.raises(dn.EstimateError, match='draws need a feasible table .* method="feasible"'):
        dn.estimate(some_counts(plan, 50), ["a", "b"]).posterior()
    with pytest.raises(dn.EstimateError, match="draws need a feasible table"):
        feasible("GRR", 50).project("a").posterior()
    est = feasible("GRR", 50)
    for draws in (0, -1, 399, 2.5, True, "x", None):
        with pytest.raises(dn.EstimateError, match="draws must be a whole number, at least 400; found"):
            est.posterior(draws=draws)
    with pytest.raises(dn.EstimateError, match="rng must be a numpy Generator"):
        est.posterior(rng="1")
    with pytest.raises(dn.EstimateError, match="a level of confidence is between 0 and 1"):
        est.posterior(draws=400, rng=np.random.default_rng(1)).table(level=95)
    schema = dn.Schema([dn.Choice("a", [f"v{k}" for k in range(301)])])
    large = dn.estimate(some_counts(dn.Plan(schema, epsilon=4.0), 50), ["a"], method="feasible")
    with pytest.raises(dn.EstimateError, match="draws are of tables of up to 300 cells; this one has 301"):
        large.posterior()
    with pytest.raises(dn.EstimateError, match="leaves no room, or hardly any, to draw proper tables from"):
        est.given({"a": {"v0": 1e-7}}).posterior()
