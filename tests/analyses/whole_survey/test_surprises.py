"""One strong pair among many that do not go together: it is not taken for noise, and what is shrunk is in intervals."""

from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.whole_survey import surprises
from deniable.analyses.whole_survey.contrasts import Terms, feature_contrasts
from deniable.analyses.whole_survey.fit import _over_cells
from deniable.analyses.whole_survey.shrinkage import Fitted, Target
from deniable.analyses.whole_survey.surprises import beyond_shrinkage, own_variances
from deniable.analyses.whole_survey.whole_table import WholeTable, margin_of
from deniable.inference.one_feature import Array

SCHEMA = dn.Schema([dn.Flag(name) for name in "abcdef"])
PLAN = dn.design(SCHEMA, epsilon=2.0, order=2)


def one_pair(pair: Any) -> Array:
    """A truth in which the first two flags have this table, and all others are independent of everything."""
    others = [np.array([p, 1 - p]) for p in (0.7, 0.4, 0.3, 0.5)]
    return np.asarray(reduce(np.multiply.outer, [np.array(pair), *others]))


@pytest.mark.slow
def test_a_lone_pair_keeps_its_size_and_its_interval_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shrunk as far as all others, the control, its difference comes out smaller."""
    truth, held, surveys = one_pair([[0.46, 0.24], [0.14, 0.16]]), [], 12
    of = margin_of(truth, (1, 0)).reshape(-1)
    sizes: dict[float, list[float]] = {surprises.SURPRISING: [], -1.0: []}
    for seed in range(surveys):
        counts = dn.simulate.counts(dn.simulate.truth(SCHEMA, truth), PLAN, seed, n=30_000)
        for surprising, found in sizes.items():
            monkeypatch.setattr(surprises, "SURPRISING", surprising)
            model = dn.fit(counts)
            found.append(model.project("a", "b").difference("a", between=("b", True, False)).value)
            if surprising > 0:
                table = model.table("b", "a").to_pydict()
                held.append((np.array(table["low"]) <= of) & (of <= np.array(table["high"])))
    true = 0.16 / 0.4 - 0.14 / 0.6
    freer, control = map(np.mean, sizes.values())
    assert freer > 0.85 * true
    assert control < freer - 0.01
    assert np.mean(held) > 0.88
    assert np.mean(held, axis=0).min() > 0.7  # of the worst of four cells, of 12 surveys


def linear_survey(seed: int) -> tuple[Terms, Fitted, Array, Array]:
    """A fit that is linear in its estimate: its terms, the fit, and the covariance of the estimate and of the prior."""
    terms, rng = Terms((2, 3, 2), ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))), np.random.default_rng(seed)
    root = rng.normal(size=(terms.count, terms.count)) / 3
    noise = root @ root.T + np.eye(terms.count) / 4
    slope = WholeTable(terms).moments(rng.normal(size=terms.count) / 3)[1]
    precisions, weight, y = terms.precisions(4.0), np.linalg.inv(noise), rng.normal(size=terms.count)
    c = np.linalg.solve(slope @ weight @ slope + np.diag(precisions), slope @ weight @ y)  # means are slope c
    return terms, Fitted(Target(weight, y), 4.0, precisions, c, slope @ c, slope), noise, np.diag(1 / precisions)


def test_residuals_have_the_covariance_that_the_prior_gives_them() -> None:
    """By brute force, from all matrices: and a further variance of one set adds what it is said to add."""
    terms, fitted, noise, prior = linear_survey(1)
    slope, weight = fitted.covariance, fitted.target.information
    left = np.eye(terms.count) - slope @ fitted.posterior @ slope @ weight
    for one in terms.sets[3:]:
        at = terms.slices[one]
        r, spread, more_by = surprises._residual(fitted, terms, one)
        np.testing.assert_allclose(r, (left @ fitted.target.estimate)[at])
        np.testing.assert_allclose(spread, (left @ (noise + slope @ prior @ slope) @ left.T)[at, at], atol=1e-12)
        more = prior.copy()
        more[at, at] += 0.7 * np.eye(at.stop - at.start)
        np.testing.assert_allclose(
            spread + 0.7 * more_by @ more_by.T, (left @ (noise + slope @ more @ slope) @ left.T)[at, at], atol=1e-12
        )


def test_a_set_with_a_variance_of_its_own_is_judged_as_if_it_had_none() -> None:
    terms, fitted, _, _ = linear_survey(2)
    one, at, own = (1, 2), terms.slices[1, 2], {(1, 2): 0.3}
    precisions = terms.precisions(4.0, own=own)
    np.testing.assert_allclose(1 / precisions[at], 1 / fitted.precisions[at] + 0.3)
    slope, weight, y = fitted.covariance, fitted.target.information, fitted.target.estimate
    c = np.linalg.solve(slope @ weight @ slope + np.diag(precisions), slope @ weight @ y)
    freer = Fitted(fitted.target, 4.0, precisions, c, slope @ c, slope, own=own)
    plain = surprises._residual(fitted, terms, one)
    for found, expected in zip(surprises._residual(freer, terms, one), plain, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)
    assert one not in beyond_shrinkage(freer, terms)


def test_what_prior_and_noise_explain_is_rarely_surprising() -> None:
    """Of estimates drawn from both hardly any are surprising; ten times as large, nearly all of them are."""
    rng, kept, large, surveys = np.random.default_rng(3), 0, 0, 200
    terms, fitted, noise, prior = linear_survey(3)
    slope, weight = fitted.covariance, fitted.target.information
    root = np.linalg.cholesky(noise + slope @ prior @ slope)
    for _ in range(surveys):
        for times in (1, 10):
            y = times * root @ rng.normal(size=terms.count)
            c = fitted.posterior @ slope @ weight @ y
            found = own_variances(Fitted(Target(weight, y), 4.0, fitted.precisions, c, slope @ c, slope), terms)
            assert all(value > 0 for value in found.values())
            kept, large = kept + (times == 1 and bool(found)), large + (times == 10 and len(found))
    assert kept / surveys < 0.29  # a false discovery rate of 20 % and, with 200 surveys, three standard errors
    assert large / surveys > 2.5


@pytest.mark.slow
def test_pairs_that_a_junction_tree_leaves_out_are_in_its_intervals() -> None:
    """A weak pair that few surveys are sure of: without what its reports say, the control, its cells are missed.

    Whether it is in the graph is chance, and no survey is left out for it.
    """
    schema = dn.Schema([dn.Flag(f"q{k}") for k in range(21)])
    plan = dn.design(schema, epsilon=3.0, order=2)
    pair = np.array([[0.52, 0.18], [0.18, 0.12]])
    of, held, narrow = pair.T.reshape(-1), [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rows, both = rng.random((30_000, 21)) < 0.4, rng.choice(4, 30_000, p=pair.reshape(-1))
        rows[:, 0], rows[:, 1] = both >= 2, both % 2 == 1
        model = dn.fit(dn.count(dn.randomize({f"q{k}": rows[:, k] for k in range(21)}, plan, rng=rng)))
        assert model.fit_quality.form == "junction tree"
        table = model.table("q1", "q0").to_pydict()
        held.append((np.array(table["low"]) <= of) & (of <= np.array(table["high"])))
        slope = model.machine.gradient(model.coefficients, (1, 0))
        errors = np.sqrt(np.diagonal(slope @ model.spread.fitted.posterior @ slope.T))
        narrow.append(np.abs(np.array(table["proportion"]) - of) < 1.96 * errors)
    assert np.mean(held) > 0.8  # the four cells of a survey go together
    assert np.mean(narrow) < 0.5


def test_independent_answers_that_are_sharply_seen_are_fitted() -> None:
    """Pairs are then shrunk as far as is tried, and interactions of three no less."""
    flags = dn.Schema([dn.Flag(f"q{k}") for k in range(5)])
    plan = dn.design(flags, epsilon=30.0, order=3)
    for seed in range(3):
        counts = dn.simulate.counts(dn.simulate.truth(flags, dict.fromkeys(flags.names, 0.5)), plan, seed, n=100_000)
        shares = np.array(dn.fit(counts).table("q0", "q1", "q2")["proportion"])
        np.testing.assert_allclose(shares, 1 / 8, atol=0.01)


@pytest.mark.parametrize("places", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_what_contrasts_add_to_cells_follows_the_order_of_features(places: tuple[int, int, int]) -> None:
    """By brute force: the mean of each product of contrasts, over cells in the order that is asked for."""
    every = (2, 3, 4)
    levels = [every[place] for place in places]
    for one in [(0,), (1, 2), (0, 2), (0, 1, 2)]:
        found = _over_cells(levels, places, one)
        products = list(np.ndindex(*(every[place] - 1 for place in one)))
        assert found.shape == (len(products), 24)
        for row, contrast in zip(found, products, strict=True):
            for cell, x in zip(row, np.ndindex(*levels), strict=True):
                answer = dict(zip(places, x, strict=True))
                values = [feature_contrasts(every[p])[k, answer[p]] for p, k in zip(one, contrast, strict=True)]
                assert cell == pytest.approx(np.prod(values) / 24)


def test_joint_results_are_about_as_precise_as_those_straight_from_counts() -> None:
    """Of a pair that goes together and is shrunk, of one block, whose linear estimate is the only one."""
    plan = dn.Plan(SCHEMA, epsilon=3.0, arms=[["a", "b"], ["c", "d"], ["e", "f"], ["a", "c"], ["b", "d"]])
    truth = dn.simulate.truth(SCHEMA, one_pair([[0.46, 0.24], [0.14, 0.16]]))
    for seed in range(4):
        counts = dn.simulate.counts(truth, plan, seed, n=20_000)
        ends = [
            est.difference("a", between=("b", True, False)).confidence_interval()
            for est in (dn.fit(counts).project("a", "b"), dn.estimate(counts, ["a", "b"]))
        ]
        ours, straight = (high - low for low, high in ends)
        assert 0.85 < ours / straight < 1.15


def test_tables_of_features_in_any_order_have_the_same_intervals() -> None:
    truth = dn.simulate.truth(SCHEMA, one_pair([[0.46, 0.24], [0.14, 0.16]]))
    model = dn.fit(dn.simulate.counts(truth, PLAN, 1, n=15_000))
    for names in combinations("abcd", 3):
        first = {tuple(row[name] for name in names): row["low"] for row in model.table(*names).to_pylist()}
        for row in model.table(*names[::-1]).to_pylist():
            assert row["low"] == pytest.approx(first[tuple(row[name] for name in names)], abs=1e-9)
