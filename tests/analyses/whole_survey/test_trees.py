"""The model as a junction tree: the same numbers as the table of everything, and bounded work."""

from itertools import combinations
from math import prod

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.whole_survey.contrasts import Terms
from deniable.analyses.whole_survey.dependency_graph import MOST_CLIQUE_CELLS, dependency_graph, triangulated
from deniable.analyses.whole_survey.junction_tree import JunctionTree
from deniable.analyses.whole_survey.pair_tests import PairTest
from deniable.analyses.whole_survey.shrinkage import Target, fit_at
from deniable.analyses.whole_survey.whole_table import WholeTable

LEVELS = (2, 3, 2, 4, 2, 3)
PAIRS = [(0, 1), (1, 2), (2, 3), (0, 3), (4, 5)]  # a circle of four, and a pair apart


def a_tree(levels: tuple[int, ...] = LEVELS, pairs: list[tuple[int, int]] = PAIRS) -> JunctionTree:
    neighbours: list[set[int]] = [set() for _ in levels]
    for i, j in pairs:
        neighbours[i].add(j)
        neighbours[j].add(i)
    singles = tuple((place,) for place in range(len(levels)))
    return JunctionTree(Terms(levels, (*singles, *sorted(pairs))), tuple(triangulated(levels, neighbours)))


def test_a_circle_is_triangulated() -> None:
    cliques = a_tree().cliques
    assert sorted(map(len, cliques)) == [2, 3, 3]
    assert all(any(set(pair) <= set(clique) for clique in cliques) for pair in PAIRS)


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_has_the_margins_of_the_whole_table(seed: int) -> None:
    tree = a_tree()
    whole, c = WholeTable(tree.terms), np.random.default_rng(seed).normal(size=tree.terms.count)
    np.testing.assert_allclose(tree.mean(c), whole.mean(c), atol=1e-10)
    for size in (1, 2, 3, 4):
        for places in combinations(range(6), size):
            np.testing.assert_allclose(tree.margin(c, places), whole.margin(c, places), atol=1e-12)
    np.testing.assert_allclose(tree.margin(c, (5, 0, 3)), whole.margin(c, (5, 0, 3)), atol=1e-12)


def test_a_longer_tree_too() -> None:
    levels, pairs = (2,) * 9, [(k, k + 1) for k in range(8)] + [(0, 2), (3, 5), (2, 8)]
    tree = a_tree(levels, pairs)
    whole, c = WholeTable(tree.terms), np.random.default_rng(1).normal(size=tree.terms.count)
    for places in [(0, 8), (0, 4, 8), (7, 1, 5, 3)]:
        np.testing.assert_allclose(tree.margin(c, places), whole.margin(c, places), atol=1e-12)


def test_records_of_a_tree_follow_it() -> None:
    tree = a_tree()
    c, n = np.random.default_rng(1).normal(size=tree.terms.count) / 2, 100_000
    codes = tree.drawn(c, n, np.random.default_rng(2))
    for places in [(0, 2, 5), (1, 3, 4)]:
        expected = n * tree.margin(c, places).reshape(-1)
        cells = np.ravel_multi_index([codes[place] for place in places], [LEVELS[place] for place in places])
        found = np.bincount(cells, minlength=len(expected))
        assert ((found - expected) ** 2 / expected).sum() < len(expected) + 5 * np.sqrt(2 * len(expected))


def test_a_tree_is_differentiated_as_the_whole_table() -> None:
    tree = a_tree()
    whole, c = WholeTable(tree.terms), np.random.default_rng(3).normal(size=tree.terms.count) / 2
    for found, exact in zip(tree.moments(c), whole.moments(c), strict=True):
        np.testing.assert_allclose(found, exact, atol=1e-5)
    for places in [(3, 0), (5, 1, 3)]:
        np.testing.assert_allclose(tree.gradient(c, places), whole.gradient(c, places), atol=1e-5)


def test_both_forms_are_fitted_alike() -> None:
    tree, rng = a_tree(), np.random.default_rng(3)
    whole = WholeTable(tree.terms)
    y = whole.mean(rng.normal(size=tree.terms.count) / 2) + 0.05 * rng.normal(size=tree.terms.count)
    target = Target(np.eye(tree.terms.count) / 0.05**2, y)
    left, right = (fit_at(machine, target, 4.0, np.zeros(tree.terms.count)) for machine in (tree, whole))
    np.testing.assert_allclose(left.mean, right.mean, atol=1e-3)
    np.testing.assert_allclose(left.risk, right.risk, atol=1e-2)


def test_the_graph_has_the_surest_pairs_and_stays_narrow() -> None:
    rng = np.random.default_rng(5)
    levels = (4,) * 20
    tests = [
        PairTest((i, j), 9 + 60 * float(rng.random()) * (j - i < 8), 9, 0.02)
        for j in range(20) for i in range(j)
    ]  # fmt: skip
    graph = dependency_graph(levels, tests)
    assert graph.pairs
    assert max(prod(levels[place] for place in clique) for clique in graph.cliques) <= MOST_CLIQUE_CELLS
    surest = min(tests, key=lambda one: one.p_value)
    assert surest.pair in graph.pairs
    assert all(any(set(pair) <= set(clique) for clique in graph.cliques) for pair in graph.pairs)
    assert all(one.p_value < 0.05 for one in tests if one.pair in graph.pairs)


def flags_alike(n: int, epsilon: float, alike: float) -> dn.Counts:
    """Counts of 24 flags that are all a little alike: more than a million cells, in four arms of six."""
    names = [f"q{k}" for k in range(24)]
    schema, rng = dn.Schema([dn.Flag(name) for name in names]), np.random.default_rng(7)
    common = rng.random((n, 1)) < 0.5
    x = np.where(rng.random((n, 24)) < alike, common, rng.random((n, 24)) < 0.5)
    plan = dn.Plan(schema, epsilon=epsilon, arms=[names[k : k + 6] for k in range(0, 24, 6)])
    return dn.count(dn.randomize({name: x[:, k] for k, name in enumerate(names)}, plan, rng=rng))


def test_a_tree_without_any_pair_is_refused_if_noise_hides_them() -> None:
    """All pairs together show that there is association, and none of them shows it; with less noise there is none."""
    with pytest.raises(dn.EstimateError, match="not enough reports: association is seen.*surely in none.*dn.estimate"):
        dn.fit(flags_alike(10_000, 1.0, 0.55))
    independent = dn.fit(flags_alike(10_000, 4.0, 0.0))
    assert independent.fit_quality.form == "junction tree"
    assert independent.fit_quality.pairs == 0


@pytest.mark.slow
def test_flags_in_a_chain_are_fitted_as_a_tree() -> None:
    names = [f"q{k}" for k in range(22)]
    schema = dn.Schema([dn.Flag(name) for name in names])
    rng = np.random.default_rng(6)
    x = rng.random((30_000, 22)) < 0.5
    for k in range(1, 22):
        x[:, k] = np.where(rng.random(30_000) < 0.8, x[:, k - 1], x[:, k])
    plan = dn.Plan(schema, epsilon=4.0, arms=[names[k : k + 3] for k in range(20)])
    counts = dn.count(dn.randomize({name: x[:, k] for k, name in enumerate(names)}, plan, rng=rng))
    model = dn.fit(counts)
    assert model.fit_quality.form == "junction tree"
    assert model.fit_quality.never_asked == 231 - 21 - 20
    rows = [row for row in model.graph().to_pylist() if row["in_model"]]
    assert {(f"q{k}", f"q{k + 1}") for k in range(21)} <= {(row["first"], row["second"]) for row in rows}
    est = model.project("q3", "q4", "q5", "q9")
    shares = np.array(est.table().to_pydict()["proportion"])
    truth = np.bincount(np.ravel_multi_index(x[:, [3, 4, 5, 9]].T.astype(int), (2,) * 4), minlength=16) / len(x)
    assert 0.5 * np.abs(shares - truth).sum() < 0.1
    assert (np.abs(shares - truth) < 4 * np.array(est.table().to_pydict()["stderr"])).all()
    assert model.sample(5, 1).num_rows == 5
