"""Best shares against a general optimiser, the condition of an optimum, and known optima."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from deniable.survey.planning.information import Candidates, Wanted
from deniable.survey.planning.shares import GAP, LEAST_SHARE, LEVEL, Shares, best_shares, greedy_blocks, mixed
from tests.support.planning import OPTIMA, every_table, wanted

CASES: dict[str, Wanted] = {
    "three flags, every pair": every_table(3, 2),
    "mixed levels": wanted([2, 3, 4], [(0, 1), (1, 2), (2,)]),
    "one question": wanted([5], [(0,)]),
    "weights": wanted([2, 3, 4], [(0, 1), (1, 2), (2,)], [4.0, 1.0, 0.5]),
    "a triple and a single": wanted([2, 2, 3, 2], [(0, 1, 2), (3,), (0, 3)]),
}


def every_block(of: Wanted) -> tuple[tuple[int, ...], ...]:
    places = range(len(of.levels))
    return tuple(block for size in range(1, len(of.levels) + 1) for block in combinations(places, size))


def least(candidates: Candidates, *, worst: bool) -> float:
    """The least weighted mean or largest weighted variance, by a general method for smooth problems."""
    weights, count = candidates.wanted.weights, len(candidates.blocks)

    def weighted(x: np.ndarray) -> np.ndarray:
        return weights * candidates.variances(np.maximum(x[:count], 1e-9))

    start = np.full(count, 1 / count)
    whole = LinearConstraint(np.append(np.ones(count), np.zeros(int(worst))), 1, 1)
    options = {"maxiter": 2_000, "ftol": 1e-13}
    if not worst:
        found = minimize(
            lambda x: weighted(x).sum() / weights.sum(), start, bounds=[(0, 1)] * count, constraints=[whole],
            method="SLSQP", options=options,
        )  # fmt: skip
        return float(found.fun)
    level = float(weighted(start).max())  # of the largest: least t so that t is above all of them
    above = {"type": "ineq", "fun": lambda x: x[-1] - weighted(x) / level}
    found = minimize(
        lambda x: x[-1], np.append(start, 1.0), bounds=[(0, 1)] * count + [(0, None)], constraints=[whole, above],
        method="SLSQP", options=options,
    )  # fmt: skip
    return float(weighted(found.x / found.x[:count].sum()).max())


def gap(found: Shares) -> float:
    """How much a block would gain at most, as a part of the objective: zero at the optimum."""
    return float(found.gains.max() / found.objective - 1)


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("of", CASES.values(), ids=CASES.keys())
def test_shares_for_the_mean_are_as_good_as_a_general_optimisers(of: Wanted, epsilon: float) -> None:
    candidates = Candidates(of, every_block(of), epsilon)
    found = best_shares(candidates, worst=False)
    assert found.shares.sum() == pytest.approx(1)
    assert found.shares.min() >= 0
    assert -1e-9 <= gap(found) < GAP
    ours = float(of.weights @ candidates.variances(found.shares) / of.weights.sum())
    assert ours == pytest.approx(found.objective, rel=1e-9)
    assert ours == pytest.approx(least(candidates, worst=False), rel=1e-4)
    even = np.full(len(candidates.blocks), 1 / len(candidates.blocks))  # the control
    assert len(even) == 1 or of.weights @ candidates.variances(even) / of.weights.sum() > 1.01 * ours


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("of", CASES.values(), ids=CASES.keys())
def test_shares_for_the_worst_are_as_good_as_a_general_optimisers(of: Wanted, epsilon: float) -> None:
    candidates = Candidates(of, every_block(of), epsilon)
    found = best_shares(candidates, worst=True)
    largest = float((of.weights * candidates.variances(found.shares)).max())
    assert largest == pytest.approx(least(candidates, worst=True), rel=2e-3)
    assert found.objective <= largest * (1 + 1e-9)
    assert largest <= (1 + LEVEL) * found.objective
    mean = best_shares(candidates, worst=False)
    assert largest <= (1 + LEVEL) * (of.weights * candidates.variances(mean.shares)).max()


@pytest.mark.parametrize(("flags", "size", "place"), [(*key, place) for key in OPTIMA for place in range(3)])
def test_least_total_variances_are_the_known_ones(flags: int, size: int, place: int) -> None:
    of = every_table(flags, size)
    found = best_shares(Candidates(of, every_block(of), (1.0, 2.0, 4.0)[place]), worst=False)
    information = found.shares @ found.candidates.by_block
    noise = 2**size * float(of.parts.sum(axis=0) @ (1 / information - 1))
    assert noise == pytest.approx(OPTIMA[flags, size][place], rel=3e-3)
    assert gap(found) < GAP


def test_a_start_is_improved_to_the_same_end() -> None:
    of = CASES["mixed levels"]
    candidates = Candidates(of, every_block(of), 1.0)
    start = np.arange(1.0, 1 + len(candidates.blocks))
    tables = np.arange(1.0, 1 + len(of.tables)) * of.weights
    for worst, gap in ((False, 2 * GAP), (True, 2 * LEVEL)):
        one = best_shares(candidates, worst=worst)
        other = best_shares(candidates, worst=worst, start=(start / start.sum(), tables))
        assert one.objective == pytest.approx(other.objective, rel=gap)


def test_greedy_blocks_are_a_balanced_part() -> None:
    """Of all pairs of four flags, all alike, two that are taken hold each flag once."""
    of = every_table(4, 1)
    candidates = Candidates(of, tuple(combinations(range(4), 2)), 2.0)
    found = best_shares(candidates, worst=False)
    taken = [candidates.blocks[place] for place in greedy_blocks(found, 2)]
    assert sorted(place for block in taken for place in block) == [0, 1, 2, 3]


def test_a_part_for_every_pair_has_no_arms_that_would_be_nobody() -> None:
    of, every = wanted([2, 2, 2], [(0, 1), (2,)]), every_table(3, 2)
    first = best_shares(Candidates(of, ((0, 1), (2,)), 2.0), worst=False)
    blocks, shares = ((0, 1), (0, 2), (1, 2), (0, 1, 2)), np.array([0.3, 0.4, 0.3 - LEAST_SHARE / 2, LEAST_SHARE / 2])
    second = Shares(Candidates(every, blocks, 2.0), shares, every.weights / 3, 1.0)
    both = mixed(first, second, 0.1)
    assert set(both.candidates.blocks) == {(0, 1), (2,), (0, 2), (1, 2)}
    assert both.shares.sum() == pytest.approx(1)
    alone = replace(second, candidates=replace(second.candidates, blocks=((0, 1, 2),)), shares=np.ones(1))
    assert (0, 1, 2) in mixed(first, alone, 0.1).candidates.blocks
