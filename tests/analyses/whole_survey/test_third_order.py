"""Interactions of three in the model of a whole survey: taken where they pay by Stein's risk."""

import re
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.whole_survey import third_order as room
from deniable.analyses.whole_survey.contrasts import Terms
from deniable.analyses.whole_survey.left_out import LeftOut
from deniable.analyses.whole_survey.model import Model
from deniable.analyses.whole_survey.reference import Whole
from deniable.analyses.whole_survey.shrinkage import Target, fit_at, padded
from deniable.analyses.whole_survey.third_order import risk_of_pairs
from deniable.analyses.whole_survey.whole_table import WholeTable, margin_of
from deniable.inference.one_feature import Array


def terms_up_to(order: int, levels: tuple[int, ...]) -> Terms:
    places = range(len(levels))
    return Terms(levels, tuple(one for k in range(1, order + 1) for one in combinations(places, k)))


def flags(count: int) -> dn.Schema:
    return dn.Schema([dn.Flag(f"q{k}") for k in range(count)])


def parity(count: int, size: float, pair: float = 0.0) -> Array:
    """A truth of flags: an interaction of the first three, and one of the first two."""
    x = 1 - 2 * np.indices((2,) * count)
    table = (1 + size * x[0] * x[1] * x[2]) * (1 + pair * x[0] * x[1])
    return np.asarray(table / table.sum())


def of_pairs(seed: int, count: int) -> Array:
    """A truth of flags without interactions of three."""
    terms, rng = terms_up_to(2, (2,) * count), np.random.default_rng(seed)
    c = np.where(terms.orders == 1, rng.normal(0.4, 0.3, terms.count), rng.normal(0, 0.25, terms.count))
    return WholeTable(terms).shares(c).reshape((2,) * count)


def counted(truth: Array, epsilon: float, n: int, seed: int) -> dn.Counts:
    """A survey that asks all threes together."""
    plan = asked_in_threes(truth.ndim, epsilon)
    return dn.simulate.counts(dn.simulate.truth(plan.schema, truth), plan, seed, n=n)


@cache
def asked_in_threes(count: int, epsilon: float) -> dn.Plan:
    return dn.design(flags(count), epsilon=epsilon, order=3)


def shares(model: Model, *names: str) -> Array:
    return np.array(model.table(*names).to_pydict()["proportion"])


def test_steins_risk_of_a_model_of_pairs_is_unbiased_for_contrasts_of_three_too() -> None:
    """One block sees all contrasts and another pairs alone; pairs are fitted to what both say of order 2."""
    wide, narrow = terms_up_to(3, (2, 3, 2)), terms_up_to(2, (2, 3, 2))
    wider, machine, rng = WholeTable(wide), WholeTable(narrow), np.random.default_rng(1)
    mu, few = wider.mean(rng.normal(size=wide.count) / 2), narrow.count
    root = 0.1 * np.eye(wide.count) + 0.04  # correlated noise, or pairs would not matter to contrasts of three
    own, of_pairs = np.linalg.inv(root @ root), 100 * np.eye(few)  # what each says, as information
    own_pairs = np.linalg.inv((root @ root)[:few, :few])
    every = own.copy()
    every[:few, :few] += of_pairs
    found = []
    for _ in range(200):
        seen = mu + root @ rng.standard_normal(wide.count)
        again = of_pairs @ (mu[:few] + 0.1 * rng.standard_normal(few))
        target = Target.of(every, own @ seen + padded(again, wide))
        of_order_2 = Target.of(own_pairs + of_pairs, own_pairs @ seen[:few] + again)
        pairs = fit_at(machine, of_order_2, 32.0, np.zeros(few))
        apart = wider.mean(padded(pairs.coefficients, wide)) - mu
        found.append((risk_of_pairs(wider, target, pairs), apart @ every @ apart, 2 * pairs.effective.sum()))
    estimated, risk, freedom = np.array(found).T
    error = np.std(estimated - risk) / np.sqrt(len(found))
    assert abs(np.mean(estimated - risk)) < 4 * error
    assert abs(np.mean(estimated - freedom - risk)) > 4 * error


def test_one_block_of_three_tends_to_its_own_table() -> None:
    """With order 3 the model is what the block says, as reports grow; a model of pairs stays where it is."""
    truth, apart, off = parity(3, 0.3, 0.3), [], []
    for n in (20_000, 2_000_000):
        counts = counted(truth, 1.0, n, 1)
        model, names = dn.fit(counts), ["q0", "q1", "q2"]
        assert model.fit_quality.order == 3
        direct = np.array(dn.estimate(counts, names).table().to_pydict()["proportion"])
        apart.append(np.abs(shares(model, *names) - direct).sum() / 2)
        off.append(np.abs(shares(model, *names) - truth.reshape(-1)).sum() / 2)
    assert apart[1] < apart[0] / 5
    assert apart[1] < 1e-3
    assert off[1] < 0.01
    assert np.abs(parity(3, 0.0, 0.3) - truth).sum() / 2 > 0.1  # how far the truth is from what pairs can tell


@pytest.mark.slow
def test_without_interactions_of_three_pairs_gain_from_what_blocks_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of three are closer than with pairs alone; with unshrunk interactions of three, a control, further off."""
    apart, surveys = [], 15
    for seed in range(surveys):
        truth = of_pairs(seed, 6)
        counts = counted(truth, 1.0, 30_000, seed)
        model = dn.fit(counts)
        with monkeypatch.context() as patched:
            patched.setattr(room, "MOST_COEFFICIENTS", 0)
            pairs = dn.fit(counts)
        assert pairs.fit_quality.order == 2
        models = [(model.machine, model.coefficients), (pairs.machine, pairs.coefficients), unshrunk(pairs)]
        apart.append([distance(machine, coefficients, truth) for machine, coefficients in models])
    chosen, alone, free = np.array(apart).T
    assert np.mean(chosen - alone) < -2 * np.std(chosen - alone) / np.sqrt(surveys)
    assert np.mean(free - alone) > 3 * np.std(free - alone) / np.sqrt(surveys)


def distance(machine: Any, coefficients: Array, truth: Array) -> float:
    """The mean distance of all tables of three."""
    places = combinations(range(truth.ndim), 3)
    return float(np.mean([np.abs(machine.margin(coefficients, one) - margin_of(truth, one)).sum() for one in places]))


def unshrunk(model: Model) -> tuple[WholeTable, Array]:
    """The model of order 3 with interactions of three that are hardly shrunk, and its coefficients."""
    evidence = model.evidence
    terms = Terms(evidence.levels, (*evidence.sets, *evidence.threes))
    machine, table = WholeTable(terms), model.machine.margin(model.coefficients, tuple(range(len(terms.levels))))
    target = Target.of(*evidence.information(terms, Whole(table)))
    fitted = fit_at(machine, target, model.fit_quality.strength, np.zeros(terms.count), 2.0**-8)
    return machine, fitted.coefficients


def test_a_strong_interaction_of_three_is_taken_and_intervals_hold() -> None:
    """Of all cells of tables of three and four; a quarter as long they would not."""
    truth, held, quarters, cells = parity(6, 0.7), 0, 0, 0
    for seed in range(8):
        model = dn.fit(counted(truth, 2.0, 30_000, seed))
        assert model.fit_quality.order == 3
        assert "Order 3: Stein's risk of contrasts up to three is" in repr(model.fit_quality)
        assert "15 pairs and 20 threes" in repr(model)
        for places in [(0, 1, 2), (1, 2, 5), (3, 4, 5), (0, 1, 2, 3), (2, 3, 4, 5)]:
            table = model.table(*(f"q{place}" for place in places)).to_pydict()
            apart = np.abs(np.array(table["proportion"]) - margin_of(truth, places).reshape(-1))
            errors = np.array(table["stderr"])
            held, quarters = held + (apart < 1.96 * errors).sum(), quarters + (apart < 0.49 * errors).sum()
            cells += len(apart)
        left = model.fit_quality.left_out
        assert (0, 1, 2) in left.held
        assert not left.own
        assert (0, 1, 2) not in left.shrunk  # it has a prior variance of its own, and is hardly shrunk
        assert left.covariance((2, 0, 1, 4), (2, 2, 2, 2)).any()
    assert held / cells > 0.92
    assert quarters / cells < 0.8


def test_it_is_deterministic() -> None:
    counts = counted(parity(4, 0.7), 2.0, 20_000, 1)
    one, other = dn.fit(counts), dn.fit(counts)
    assert one.fit_quality.order == 3
    np.testing.assert_array_equal(one.coefficients, other.coefficients)


def test_order_2_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    quality = dn.fit(counted(np.full((2,) * 5, 1 / 32), 2.0, 30_000, 1)).fit_quality
    assert quality.order == 2
    assert quality.strength_of_three == np.inf
    assert re.search(r"Order 2: shrunk by Stein's risk, 0\.\d of 10 contrasts of three are left", repr(quality))
    schema = flags(4)
    plan = dn.Plan(schema, epsilon=2.0, arms=[list(pair) for pair in combinations(schema.names, 2)])
    pairs = dn.fit(dn.simulate.counts(dn.simulate.truth(schema, parity(4, 0.7, 0.5)), plan, 1, n=40_000))
    assert "Order 2: no block of three or more questions was asked" in repr(pairs.fit_quality)
    strong = counted(parity(4, 0.7), 2.0, 20_000, 1)
    monkeypatch.setattr(room, "MOST_COEFFICIENTS", 13)
    wide = dn.fit(strong).fit_quality
    assert "Order 2: order 3 would have 14 coefficients, more than 13" in repr(wide)
    assert wide.left_out.own  # and its interval holds what the model leaves out


def test_what_the_model_holds_is_not_left_out_and_what_it_shrinks_too_far_is_kept_apart() -> None:
    held = frozenset({(0, 1, 2), (0, 1, 3)})
    left = LeftOut(10.0, 5, 0.04, {(0, 2, 3): 0.06}, held, {(0, 1, 3): 0.5, (0, 1): 0.3})
    assert not left.covariance((3, 0, 1), (2, 2, 2)).any()
    np.testing.assert_allclose(np.diagonal(left.of_shrinkage((3, 0, 1), (2, 2, 2))), (0.5 + 0.3) / 64)
    np.testing.assert_allclose(np.diagonal(left.covariance((0, 1, 2, 3), (2,) * 4)), (0.06 + 2 * 0.04) / 256)
    np.testing.assert_allclose(np.diagonal(left.of_shrinkage((0, 1, 2, 3), (2,) * 4)), (0.5 + 0.3) / 256)
    assert not left.of_shrinkage((0, 2), (2, 2)).any()
