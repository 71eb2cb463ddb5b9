"""Proper tables of many cells: products in closed form against the matrices, and the same table to the same gap."""

import tracemalloc
from itertools import product
from math import prod

import numpy as np
import pytest

import deniable as dn
from deniable.errors import EstimateError
from deniable.estimates import feasible
from deniable.estimates.proper_tables import on_simplex
from deniable.estimates.proper_tables.large_seen import LargeSeen, QuadraticForm, seen_of_many
from deniable.estimates.proper_tables.on_simplex import least_on_simplex, projected
from deniable.inference.one_feature import Axis
from deniable.inference.tensors import invert
from deniable.survey.protocols.base import Protocol
from tests.support.situations import values
from tests.support.surveys import some_counts

PROTOCOLS = {
    "GRR": dn.GRR(epsilon=1.5),
    "OUE": dn.UnaryEncoding.optimized(1.5),
    "SUE": dn.UnaryEncoding.symmetric(5.0),
    "subset": dn.SubsetSelection(epsilon=1.0, size=2),
    "hashing": dn.LocalHashing(epsilon=3.0),
    "public": dn.Public(),
}
PAIRS = list(product(PROTOCOLS, PROTOCOLS))


def survey(one: str, other: str, n: int = 400) -> dn.Counts:
    schema = dn.Schema([dn.Choice("a", values(4)), dn.Flag("b"), dn.Choice("c", values(3))])
    own = {"a": PROTOCOLS[one], "b": dn.RandomizedResponse(p=0.1, q=0.8), "c": PROTOCOLS[other]}
    return some_counts(dn.Plan(schema, own), n, seed=7)


def seen_both_ways(counts: dn.Counts, *, patterns: bool) -> tuple[LargeSeen, feasible.Seen]:
    """What counts say, known by products and, written apart from that, by matrices."""
    names = counts.plan.schema.names
    protocols = [counts.plan[name] for name in names]
    axes = [Axis.of(protocol, centred=False) for protocol in protocols]
    unbiased = invert(axes, counts.evidence(*names))
    shares = feasible.margin_shares(axes, unbiased)
    shown = counts.shown(*names) if patterns else None  # none is kept where one value is shown of each feature
    large = seen_of_many(counts.n, protocols, unbiased, shown, shares)
    if shown is not None:
        return large, feasible.seen_in_patterns(counts.n, shown / counts.n, protocols, shares)
    return large, feasible.seen_in_counts(counts.n, axes, unbiased)


@pytest.mark.parametrize("patterns", [False, True])
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_products_are_those_of_the_matrices(one: str, other: str, *, patterns: bool) -> None:
    large, dense = seen_both_ways(survey(one, other), patterns=patterns)
    rng = np.random.default_rng(1)
    table = rng.dirichlet(np.ones(24)).reshape(large.levels)
    x = rng.standard_normal(large.levels)
    for form, (matrix, b) in ((large.at_first(), dense.at_first()), (large.at_table(table), dense.at_table(table))):
        size = np.abs(matrix).max() * np.abs(x).max() + np.abs(b).max()
        np.testing.assert_allclose(form.product(x).reshape(-1), matrix @ x.reshape(-1), atol=1e-8 * size)
        np.testing.assert_allclose(form.gradient(x).reshape(-1), matrix @ x.reshape(-1) - b, atol=1e-8 * size)
    np.testing.assert_allclose(large.at_first().diagonal.reshape(-1), np.diagonal(dense.at_first()[0]), rtol=1e-6)


@pytest.mark.parametrize(("one", "other"), [("GRR", "public"), ("OUE", "subset"), ("hashing", "SUE"), ("SUE", "GRR")])
@pytest.mark.parametrize("patterns", [False, True])
def test_the_table_is_the_one_that_matrices_give(
    one: str, other: str, monkeypatch: pytest.MonkeyPatch, *, patterns: bool
) -> None:
    counts = survey(one, other)
    counts = counts if patterns else dn.Counts(counts.plan, counts.tables)
    dense = dn.estimate(counts, ["a", "b", "c"], method="feasible").proper
    monkeypatch.setattr(feasible, "MOST_DENSE", 1)
    large = dn.estimate(counts, ["a", "b", "c"], method="feasible").proper
    assert large is not None
    assert dense is not None
    assert isinstance(large.seen, LargeSeen)
    assert large.gap < 1e-6
    np.testing.assert_allclose(large.shares, dense.shares, atol=1e-7)
    for mine, theirs in zip(large.misfit(), dense.misfit(), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5 * np.abs(theirs).max())


def test_features_of_many_answers_are_multiplied_without_their_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    large, _ = seen_both_ways(survey("GRR", "public"), patterns=False)
    x = np.random.default_rng(2).standard_normal(large.levels)
    before = large.at_table(np.full(large.levels, 1 / 24)).product(x)
    monkeypatch.setattr("deniable.estimates.proper_tables.large_seen.MOST_CHANNEL", 1)
    np.testing.assert_allclose(large.at_table(np.full(large.levels, 1 / 24)).product(x), before, rtol=1e-9)


def test_projecting_onto_the_simplex_obeys_its_conditions() -> None:
    rng = np.random.default_rng(3)
    for cells in (1, 2, 5, 200):
        for _ in range(20):
            y, weights = rng.standard_normal(cells), rng.uniform(0.01, 10, cells)
            x = projected(y, weights)
            assert x.min() >= 0
            assert x.sum() == pytest.approx(1, abs=1e-12)
            pull = weights * (x - y)  # the same everywhere on positive cells, and no less elsewhere
            assert np.ptp(pull[x > 0]) <= 1e-9 * np.abs(pull).max()
            assert (pull >= pull[x > 0].max() - 1e-9 * np.abs(pull).max()).all()


def random_form(cells: int, seed: int) -> tuple[QuadraticForm, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((cells, cells)) * 10 ** rng.uniform(-1.5, 1.5, cells)
    matrix, b = root.T @ root, root.T @ rng.standard_normal(cells) * 10
    return QuadraticForm(lambda x: matrix @ x, lambda x: matrix @ x - b, np.diagonal(matrix)), matrix, b


@pytest.mark.parametrize("seed", range(5))
def test_the_least_on_the_simplex_and_what_its_gap_promises(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    form, matrix, b = random_form(40, seed)

    def value(x: np.ndarray) -> float:
        return float(x @ matrix @ x / 2 - b @ x)

    start = np.full(40, 1 / 40)
    best = least_on_simplex(form, start, 1e-9)
    exact = feasible.least(matrix, b, np.ones((1, 40)), np.ones(1), start)
    assert best.gap <= 1e-9
    assert 0 <= value(best.x) - value(exact.x) + 1e-11 <= 2e-9
    monkeypatch.setattr(on_simplex, "MOST_ROUNDS", 2)
    early = least_on_simplex(form, start, 1e-9)
    assert value(early.x) - value(exact.x) <= early.gap + 1e-11


def large_survey(m: int, protocol: Protocol, n: int) -> dn.Counts:
    """Two choices, half of whose answers are alike, and the others independent, some of them frequent."""
    rng = np.random.default_rng(1)
    schema = dn.Schema([dn.Choice(name, values(m)) for name in "ab"])
    shares = 1 / np.arange(1, m + 1)
    a, b = rng.choice(m, (2, n), p=shares / shares.sum())
    b = np.where(rng.random(n) < 0.5, a, b)
    names = np.array(values(m))
    plan = dn.Plan(schema, dict.fromkeys("ab", protocol))
    return dn.count(dn.randomize({"a": names[a], "b": names[b]}, plan, rng=rng), ["a", "b"])


@pytest.mark.slow
def test_ten_thousand_cells_take_little_memory() -> None:
    counts = large_survey(100, dn.SubsetSelection(epsilon=2.0), 20_000)
    tracemalloc.start()
    est = dn.estimate(counts, ["a", "b"], method="feasible")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert est.proper is not None
    assert est.proper.gap < 1e-6
    assert est.proper.shares.min() >= 0
    assert est.proper.shares.sum() == pytest.approx(1, abs=1e-12)
    assert peak < 100e6


@pytest.mark.slow
def test_what_is_known_of_a_large_table_is_kept_and_draws_are_refused() -> None:
    counts = large_survey(33, dn.GRR(epsilon=4.0), 5_000)
    est = dn.estimate(counts, ["a", "b"], method="feasible")
    assert est.proper is not None
    assert prod(est.proper.shares.shape) > feasible.MOST_DENSE
    first = values(33)[0]
    share = round(est.cell(a=first).value, 2)
    assert est.given({"a": {first: share}}).cell(a=first).value == pytest.approx(share, abs=1e-9)
    with pytest.raises(EstimateError, match=r"up to 300 cells; this one has 1,089"):
        est.posterior()


def test_a_wide_gap_is_warned_about_and_too_many_cells_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = large_survey(33, dn.GRR(epsilon=1.0), 5_000)
    monkeypatch.setattr(on_simplex, "MOST_ROUNDS", 1)
    with pytest.warns(UserWarning, match="may be .* above the least"):
        dn.estimate(counts, ["a", "b"], method="feasible")
    monkeypatch.setattr(feasible, "MOST_LARGE", 1_000)
    with pytest.raises(EstimateError, match="may have 1,000 cells; this one has 1,089"):
        dn.estimate(counts, ["a", "b"], method="feasible")
