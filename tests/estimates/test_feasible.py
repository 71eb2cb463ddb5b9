"""Proper tables: that they are, that none fits better, and what is known is kept."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

import deniable as dn
from deniable.estimates import feasible
from deniable.estimates.quadratic import least
from deniable.inference.one_feature import Axis
from deniable.inference.tensors import along, invert, margins, moment_matrix
from tests.support.situations import KINDS, tiny, values
from tests.support.surveys import some_counts

EPSILONS = [0.05, 0.5, 2.0, 6.0]


def hopeless_and_other_plans(epsilon: float) -> list[dn.Plan]:
    one = dn.RandomizedResponse(epsilon=epsilon)
    several = [
        dn.GRR(epsilon=epsilon),
        dn.UnaryEncoding.symmetric(epsilon),
        dn.UnaryEncoding.optimized(epsilon),
        dn.LocalHashing(epsilon=epsilon),
        dn.SubsetSelection(epsilon=epsilon, size=2),
        dn.Public(),
    ]
    schema = dn.Schema([dn.Choice("a", values(4)), dn.Flag("b"), dn.Choice("c", values(3))])
    return [dn.Plan(schema, {"a": protocol, "b": one, "c": other}) for protocol, other in product(several, several)]


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 10, 300])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_feasible_tables_are_proper(epsilon: float, n: int) -> None:
    for place, plan in enumerate(hopeless_and_other_plans(epsilon)):
        for seed in range(7):
            est = dn.estimate(some_counts(plan, n, seed=100 * place + seed), ["a", "b", "c"], method="feasible")
            table = est.table()["proportion"].to_numpy()
            assert table.min() >= 0
            assert table.sum() == pytest.approx(1, abs=1e-9)
            assert est.mean[0, 0, 0] == pytest.approx(n, abs=1e-9 * n)
            np.testing.assert_allclose(est.mean[1:].sum(axis=0), est.mean[0], atol=1e-9 * n)
            assert est.proper is not None
            assert est.proper.gap < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.002, 0.02, 0.05])
def test_tables_that_reports_say_nearly_nothing_of_are_proper(epsilon: float) -> None:
    """Four questions of four answers: what the reports say of their contrasts is the eighth power of epsilon."""
    schema = dn.Schema([dn.Choice(name, values(4)) for name in "abcd"])
    symmetric, optimized = dn.UnaryEncoding.symmetric(epsilon), dn.UnaryEncoding.optimized(epsilon)
    for protocol in (symmetric, optimized, dn.LocalHashing(epsilon=epsilon), dn.GRR(epsilon=epsilon)):
        for n, seed in product((1, 10, 10_000), range(2)):
            counts = some_counts(dn.Plan(schema, dict.fromkeys("abcd", protocol)), n, seed=seed)
            for one in (counts, dn.Counts(counts.plan, counts.tables)):
                est = dn.estimate(one, schema.names, method="feasible")
                shares = est.table()["proportion"].to_numpy()
                assert shares.min() >= 0
                assert shares.sum() == pytest.approx(1, abs=1e-9)
                assert est.proper is not None
                assert est.proper.gap < 1e-6


def problem(size: int, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A quadratic whose minimum is on the edge, with equalities that can hold."""
    root = rng.normal(size=(size, size))
    H = root @ root.T + 0.01 * np.eye(size)  # noqa: N806 - a matrix
    A = np.vstack([np.ones(size), rng.random((rows, size))])  # noqa: N806 - a matrix
    inside = rng.dirichlet(np.ones(size))
    return H, 5 * rng.normal(size=size), A, A @ inside, inside


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("size", [2, 5, 12])
def test_no_other_solver_finds_less(size: int, rows: int) -> None:
    rows = min(rows, size - 2)
    for seed in range(20):
        H, b, A, a, start = problem(size, rows, np.random.default_rng(seed))  # noqa: N806 - matrices
        found = least(H, b, A, a, start)
        assert found.x.min() >= 0
        np.testing.assert_allclose(A @ found.x, a, atol=1e-9)
        gradient = H @ found.x - b - A.T @ found.multipliers
        assert gradient.min() > -1e-7  # Karush, Kuhn and Tucker: nothing gains by growing,
        assert np.abs(gradient @ found.x) < 1e-7  # and what is positive gains nothing by changing
        assert found.gap < 1e-6
        other = minimize(
            lambda x: x @ H @ x / 2 - b @ x, start, jac=lambda x: H @ x - b, method="SLSQP", bounds=[(0, None)] * size,
            constraints={"type": "eq", "fun": lambda x: A @ x - a}, options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        assert found.x @ H @ found.x / 2 - b @ found.x <= other.fun + 1e-6


def test_the_slow_way_out_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    H, b, A, a, start = problem(30, 3, np.random.default_rng(1))  # noqa: N806 - matrices
    quick = least(H, b, A, a, start)
    monkeypatch.setattr("deniable.estimates.quadratic._drop_together", lambda *_: None)
    np.testing.assert_allclose(least(H, b, A, a, start).x, quick.x, atol=1e-8)
    assert (quick.x == 0).sum() > 5


@pytest.mark.parametrize("kind", KINDS)
def test_none_fits_better_in_the_metric_at_the_table(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once more from the outside, where the metric has come to rest: moving any mass makes the fit worse."""
    monkeypatch.setattr(feasible, "ROUNDS", 8)
    plan, _ = tiny(kind)
    counts = some_counts(plan, 400)
    axes = [Axis.of(protocol, centred=False) for protocol in plan.protocols]
    tensor = invert(axes, counts.array(*plan.schema.names))
    table = feasible.proper_table(feasible.seen_in_counts(counts.n, axes, tensor))
    cells = table.shares.size
    kept = [np.arange(1 if axis.sums_to_one else 0, 1 + axis.m) for axis in axes]  # the others follow from these
    spread = along((400 * table.shares + 0.5 / cells) / 400.5, [margins(axis.m) for axis in axes])
    squares = [axis.seconds()[0][np.ix_(rows, rows)] for axis, rows in zip(axes, kept, strict=True)]
    moments = moment_matrix(spread, squares)

    def misfit(shares: np.ndarray) -> float:
        fitted = along(shares, [margins(axis.m) for axis in axes])
        gap = (tensor / 400 - fitted)[np.ix_(*kept)].reshape(-1)
        return float(gap @ np.linalg.solve(moments, gap))

    best = misfit(table.shares)
    rng = np.random.default_rng(1)
    for _ in range(200):
        other = rng.dirichlet(np.full(cells, 0.3)).reshape(table.shares.shape)
        for step in (1e-4, 1e-2, 1.0):
            assert misfit((1 - step) * table.shares + step * other) >= best - 1e-10


def test_where_the_closed_form_is_proper_it_is_the_feasible_table() -> None:
    plan, _ = tiny("GRR")
    counts = some_counts(plan, 50_000)
    consistent, proper = (dn.estimate(counts, ["a", "b"], method=method) for method in ("consistent", "feasible"))
    assert consistent.table()["proportion"].to_numpy().min() > 0
    np.testing.assert_allclose(proper.mean, consistent.mean, rtol=1e-7, atol=1e-4)


def test_what_is_known_is_kept_and_helps() -> None:
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "middle", "old"])])
    plan = dn.Plan(schema, epsilon=1.0)
    rng = np.random.default_rng(2)
    age = np.repeat(["young", "middle", "old"], [600, 700, 700])
    smoker = (rng.random(2000) < 0.4) & (age != "young")
    est = dn.estimate(
        dn.count(dn.randomize({"smoker": smoker, "age": age}, plan, rng=rng), ["smoker", "age"]),
        schema.names,
        method="feasible",
    )
    known = est.given({"age": {"young": 0.3, "old": 0.35}}, zeros=[{"smoker": True, "age": "young"}])
    assert known.method == "feasible"
    assert known.cell(age="young").value == pytest.approx(0.3, abs=1e-9)
    assert known.cell(age="middle").value == pytest.approx(0.35, abs=1e-9)
    assert known.cell(smoker=True, age="young").value == pytest.approx(0, abs=1e-9)
    assert known.table()["proportion"].to_numpy().min() >= -1e-12
    more = known.given({"smoker": {True: 0.25}})
    assert more.cell(smoker=True).value == pytest.approx(0.25, abs=1e-9)
    assert more.cell(age="young").value == pytest.approx(0.3, abs=1e-9)
    with pytest.raises(dn.EstimateError, match=r"equality 0: there is no proper table for this"):
        est.given([(np.eye(2, 4)[::-1] * [[0], [1]], 2100.0)])  # more smokers than respondents
    with pytest.raises(
        dn.EstimateError, match=r"no smoker = True, age = young: there is no proper table for this, with what"
    ):
        est.given({"age": {"young": 0.3}, "smoker": {True: 0.8}}, zeros=[{"smoker": True, "age": "young"}])
    with pytest.raises(dn.EstimateError, match="only a feasible table can be fitted again"):
        est.project("age").given({"age": {"old": 0.3}})


@pytest.mark.parametrize("kind", ["GRR", "unary", "hashing"])
def test_zeros_and_certain_shares_are_no_trouble(kind: str) -> None:
    plan, _ = tiny(kind)
    cells = 6
    for seed, n in product(range(12), (10, 1000)):
        est = dn.estimate(some_counts(plan, n, seed=seed), ["a", "b"], method="feasible")
        assert est.proper is not None
        for excluded in ([1], [1, 3], [4, 5], [0, 1, 2, 3, 4]):
            known = [(f"no {k}", np.eye(cells)[k].reshape(3, 2), 0.0) for k in excluded]
            table = est.proper.given(known)
            assert table.shares.reshape(-1)[excluded].max() == 0
            assert table.shares.sum() == pytest.approx(1)
            assert table.gap < 1e-6
        for share in (0.0, 1e-7, 0.5, 1.0):
            weights = np.zeros((3, 2))
            weights[0] = 1
            assert est.proper.given([("share", weights, share)]).shares[0].sum() == pytest.approx(share, abs=1e-12)


def test_intervals_are_the_consistent_ones_cut_to_what_can_be() -> None:
    plan, _ = tiny("GRR")
    counts = some_counts(plan, 800)
    consistent, proper = (dn.estimate(counts, ["a", "b"], method=method) for method in ("consistent", "feasible"))
    ours, theirs = (est.table().to_pylist() for est in (proper, consistent))
    for mine, other in zip(ours, theirs, strict=True):
        assert mine["stderr"] == pytest.approx(other["stderr"])
        low, high = np.clip([other["low"], other["high"]], 0, 1)
        assert [mine["low"], mine["high"]] == pytest.approx(
            [min(low, mine["proportion"]), max(high, mine["proportion"])]
        )
        cell = proper.cell(a=mine["a"], b=mine["b"])
        assert cell.value == pytest.approx(mine["proportion"])
        assert cell.confidence_interval() == pytest.approx((mine["low"], mine["high"]))
    assert min(row["low"] for row in theirs) < 0
    assert proper.about("respondents").cell(a="v0").stderr < proper.cell(a="v0").stderr
    weights = np.zeros((4, 3))
    weights[1, 1] = 1
    assert proper.linear(weights).value == pytest.approx(proper.cell(a="v0", b="v0").value)


def test_projections_and_sums_of_proper_tables_are_proper() -> None:
    plan, _ = tiny("unary")
    est, other = (dn.estimate(some_counts(plan, 50, seed=seed), ["a", "b"], method="feasible") for seed in (1, 2))
    np.testing.assert_allclose(est.project("b").mean, est.mean[0])
    both = est + other
    np.testing.assert_allclose(both.mean, est.mean + other.mean)
    assert both.n == 100
    with pytest.raises(dn.EstimateError, match="proper tables add to proper tables; found feasible and consistent"):
        est + dn.estimate(some_counts(plan, 50), ["a", "b"])


def test_it_is_more_accurate_than_what_it_was_made_from() -> None:
    """Unary encoding at epsilon 1: at most half the error of the plain estimate."""
    schema = dn.Schema([dn.Choice(name, values(4)) for name in "abc"])
    plan = dn.Plan(schema, dict.fromkeys("abc", dn.UnaryEncoding.optimized(1.0)))
    rng = np.random.default_rng(3)
    records = {name: np.array(values(4))[np.minimum(rng.geometric(0.5, 5000) - 1, 3)] for name in "abc"}
    codes = [np.searchsorted(values(4), records[name]) for name in "abc"]
    truth = np.zeros((4, 4, 4))
    np.add.at(truth, tuple(codes), 1 / 5000)
    errors = {"feasible": 0.0, "consistent": 0.0, "unbiased": 0.0}
    for _ in range(20):
        counts = dn.count(dn.randomize(records, plan, rng=rng), list("abc"))
        for method in errors:
            table = dn.estimate(counts, list("abc"), method=method).table()["proportion"].to_numpy()
            errors[method] += float(np.sum((table.reshape(4, 4, 4) - truth) ** 2))
    assert np.sqrt(errors["feasible"] / errors["unbiased"]) < 0.5
    assert errors["feasible"] < errors["consistent"] < errors["unbiased"]


def test_what_is_too_large_for_matrices_is_refused() -> None:
    schema = dn.Schema([dn.Choice("a", values(101)), dn.Choice("b", values(100))])
    est = dn.estimate(some_counts(dn.Plan(schema, epsilon=8.0), 20), ["a", "b"], method="feasible")
    with pytest.raises(
        dn.EstimateError, match="may have 10,000 cells .* this one has 10,100 .* Ask for fewer features"
    ):
        est.given({"a": {"v0": 0.01}})


@pytest.mark.filterwarnings("ignore::deniable.errors.FitWarning")  # counts far from what reports give
def test_synthetic_records_come_from_the_table() -> None:
    plan, _ = tiny("unary")
    est = dn.estimate(some_counts(plan, 300), ["a", "b"], method="feasible")
    records = est.sample(50_000, np.random.default_rng(1))
    assert records.column_names == ["a", "b"]
    for row in est.table().to_pylist():
        hits = np.mean(
            (records["a"].to_numpy() == row["a"]) & (records["b"].to_numpy(zero_copy_only=False) == row["b"])
        )
        share = row["proportion"]
        assert abs(hits - share) <= 5 * np.sqrt(max(share * (1 - share), 1e-9) / 50_000)
    assert len(dn.randomize(records, plan)) == 50_000
    for bad in (-1, 2.5, "x", None, True):
        with pytest.raises(dn.EstimateError, match="sample takes how many records to draw, a whole number; found"):
            est.sample(bad, np.random.default_rng(1))
    with pytest.raises(dn.EstimateError, match="rng must be a numpy Generator"):
        est.sample(5, "1")
    few = dn.estimate(dn.Counts(plan, {"b": [100, 10]}), ["b"])
    with pytest.raises(
        dn.EstimateError, match='only a proper table can be drawn from; this one is consistent: use "feasible"'
    ):
        few.sample(5, np.random.default_rng(1))


def test_what_nearly_contradicts_is_told_and_so_is_a_search_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    est = dn.estimate(some_counts(tiny("GRR")[0], 500), ["a", "b"], method="feasible")
    assert est.proper is not None
    first = np.zeros((3, 2))
    first[0] = 1
    assert est.proper.given([("one", first, 0.3), ("again", 2 * first, 0.6)]).shares[0].sum() == pytest.approx(0.3)
    with pytest.raises(dn.EstimateError, match="again: there is no proper table for this"):
        est.proper.given([("one", first, 0.3), ("again", first, 0.300001)])
    monkeypatch.setattr("deniable.estimates.quadratic.MOST_ROUNDS", 0)
    with pytest.raises(dn.EstimateError, match="no closest proper table was found in 0 rounds; ask for fewer features"):
        dn.estimate(some_counts(tiny("GRR")[0], 500), ["a", "b"], method="feasible")


def test_an_open_answer_that_nobody_gave_leaves_the_metric_regular() -> None:
    """Without anyone spread over all cells, the metric at the table would be singular there."""
    schema = dn.Schema([dn.Choice("a", ["x", "y", "z"]), dn.Flag("b")])
    plan = dn.Plan(schema, {"a": dn.Public(), "b": dn.RandomizedResponse(epsilon=1.0)})
    people = np.array([[300, 200], [250, 250], [0, 0]])
    counts = dn.simulate.counts(people, plan, np.random.default_rng(1))
    table = dn.estimate(counts, ["a", "b"], method="feasible").table()["proportion"].to_numpy().reshape(3, 2)
    np.testing.assert_allclose(table.sum(axis=1), [0.5, 0.5, 0], atol=1e-9)
    assert table.min() >= 0
