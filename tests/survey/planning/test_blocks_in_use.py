"""Which blocks are asked: as good as all of them, found by growing too, few, allowed, and always the same."""

from itertools import combinations

import numpy as np
import pytest

from deniable.survey.planning import blocks_in_use
from deniable.survey.planning.blocks_in_use import LOSS, MOST_CELLS, TINY, Allowed, Search, Worth, best_design
from deniable.survey.planning.information import Candidates, Set, Wanted
from deniable.survey.planning.shares import GAP, Shares, best_shares
from tests.support.planning import every_table, wanted

CASES: dict[str, Wanted] = {
    "six flags, every pair": every_table(6, 2),
    "six flags, every triple": every_table(6, 3),
    "mixed levels": wanted([2, 3, 4, 5, 2], [(0, 1), (1, 2), (3,), (3, 4), (0, 2, 4)]),
    "weights": wanted([2, 3, 4, 2], [(0, 1), (1, 2), (2, 3)], [5.0, 1.0, 1.0]),
}


def some_tables(seed: int) -> Wanted:
    """Twenty pairs and all single questions of thirteen, of which a half or so matter five times as much."""
    rng = np.random.default_rng(seed)
    pairs = sorted(rng.permutation(list(combinations(range(13), 2)))[:20].tolist())
    tables = [*map(tuple, pairs), *((place,) for place in range(13))]
    return wanted(rng.integers(2, 5, 13).tolist(), tables, rng.choice([1.0, 5.0], len(tables)).tolist())


MANY: dict[str, Wanted] = {
    "twelve flags, every pair": every_table(12, 2),
    "twelve flags, every triple": every_table(12, 3),
    **{f"some tables of thirteen, {seed}": some_tables(seed) for seed in range(3)},
}


def anything(_: Set) -> bool:
    return True


def at_most(count: int) -> Allowed:
    return lambda block: len(block) <= count


def best_of_all(of: Wanted, epsilon: float, allowed: Allowed, *, worst: bool, gap: float = GAP) -> Shares:
    """The best shares of all blocks there are."""
    places = range(len(of.levels))
    blocks = [block for size in range(1, 1 + len(places)) for block in combinations(places, size)]
    kept = tuple(block for block in blocks if of.cells(block) <= MOST_CELLS and allowed(block))
    return best_shares(Candidates(of, kept, epsilon), worst=worst, gap=gap)


def largest(found: Shares, *, worst: bool) -> float:
    """What the goal makes least."""
    of = found.candidates.wanted
    weighted = of.weights * found.candidates.variances(found.shares)
    return float(weighted.max() if worst else weighted.sum())


@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("of", CASES.values(), ids=CASES.keys())
def test_few_blocks_lose_little_against_all(of: Wanted, epsilon: float, *, worst: bool) -> None:
    found = best_design(of, epsilon, worst=worst, allowed=anything)
    best = best_of_all(of, epsilon, anything, worst=worst)
    assert largest(found, worst=worst) <= (1 + LOSS + 2e-3) * largest(best, worst=worst)
    assert len(found.shares) < len(best.shares)
    assert found.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("of", MANY.values(), ids=MANY.keys())
def test_grown_blocks_are_nearly_as_good_as_all(of: Wanted, epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so many questions that not all blocks are tried: within the 1 % that a design may lose."""
    best = best_of_all(of, epsilon, anything, worst=False, gap=1e-3)
    monkeypatch.setattr(blocks_in_use, "FEW_BLOCKS", 0)
    found = best_design(of, epsilon, worst=False, allowed=anything)
    assert largest(found, worst=False) <= 1.01 * largest(best, worst=False)


@pytest.mark.parametrize("few", [0, blocks_in_use.FEW_BLOCKS])
def test_only_allowed_blocks_are_asked(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_in_use, "FEW_BLOCKS", few)
    of = every_table(6, 2)
    assert any(len(block) > 2 for block in best_design(of, 2.0, worst=False, allowed=anything).candidates.blocks)
    found = best_design(of, 2.0, worst=False, allowed=at_most(2))
    assert {len(block) for block in found.candidates.blocks} <= {1, 2}
    best = best_of_all(of, 2.0, at_most(2), worst=False)
    assert largest(found, worst=False) <= 1.01 * largest(best, worst=False)


def test_many_questions_of_which_few_are_asked() -> None:
    """Blocks that may not be asked are not enlarged: all of up to 256 cells would be half a billion."""
    found = best_design(every_table(50, 1), 1.0, worst=False, allowed=at_most(1))
    assert found.candidates.blocks == tuple((place,) for place in range(50))
    assert found.shares == pytest.approx(np.full(50, 1 / 50))


@pytest.mark.parametrize("few", [0, blocks_in_use.FEW_BLOCKS])
@pytest.mark.parametrize("levels", [[20, 20], [300, 2], [300]])
def test_wanted_tables_of_many_cells_are_asked(levels: list[int], few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_in_use, "FEW_BLOCKS", few)
    of = wanted(levels, [tuple(range(len(levels)))])
    found = best_design(of, 2.0, worst=False, allowed=anything)
    assert np.isfinite(found.objective)
    assert tuple(range(len(levels))) in found.candidates.blocks


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("of", [*CASES.values(), MANY["some tables of thirteen, 0"]])
def test_no_arm_is_for_hardly_anybody(of: Wanted, epsilon: float) -> None:
    found = best_design(of, epsilon, worst=False, allowed=anything)
    assert found.shares.min() * len(found.shares) > TINY / 2


def test_designs_are_always_the_same() -> None:
    of = every_table(14, 2)
    first, second = (best_design(of, 2.0, worst=False, allowed=anything) for _ in range(2))
    assert first.candidates.blocks == second.candidates.blocks
    assert (first.shares == second.shares).all()


def test_worth_of_blocks_is_the_sum_over_their_sets() -> None:
    of = every_table(5, 3)
    worth = np.arange(1.0, 1 + len(of.sets))
    value = Worth(of, worth)
    for block in [(0,), (1, 3), (0, 2, 4), (0, 1, 2, 3)]:
        total = sum(worth[of.sets[s]] for s in of.held(block))
        assert value.of_block(block) == pytest.approx(total)
        more = value.of_further(block)
        for question in range(5):
            larger = tuple(sorted({*block, question}))
            assert more[question] == pytest.approx(value.of_block(larger) - total)


def test_a_larger_block_is_worth_what_must_be_asked_with_it_too() -> None:
    of = every_table(4, 2)
    value = Worth(of, np.arange(1.0, 1 + len(of.sets)))
    search = Search(of, 2.0, anything, lambda block: tuple(sorted({*block, 2, 3})) if {2, 3} & {*block} else block)
    worth = value.of_block((0, 1))
    assert search._larger((0,), 1, worth, value) == ((0, 1), worth)
    assert search._larger((0,), 2, value.of_block((0, 2)), value) == ((0, 2, 3), value.of_block((0, 2, 3)))
