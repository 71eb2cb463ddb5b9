"""Which blocks are worth asking: those that gain most, found by growing them question by question, and few of them.

A design is begun with the wanted tables. Blocks are then taken one after another, each grown from a set of questions of
which little is known yet while a further question gains, and the shares of all are made best; again until no block that
can be grown would gain (column generation). The blocks that are left are thinned as far as that loses little.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from deniable.survey.planning.information import Array, Candidates, Set, Wanted, block_variance
from deniable.survey.planning.shares import Shares, best_shares, greedy_blocks
from deniable.survey.protocols.grid import Epsilon
from deniable.text.progress import told

# A block may have at most so many combinations of answers, unless it is a wanted table.
MOST_CELLS = 256
# While blocks are looked for, shares are improved until no block would gain more than this part.
ROUGH = 1e-3
# Up to so many blocks that may be asked, all of them are candidates.
FEW_BLOCKS = 2_000
# Of the questions that a block may be enlarged by, so many are tried: those that add most.
FURTHER = 8
# Blocks are looked for in at most so many rounds.
ROUNDS = 6
# Arms are dropped while all tables together lose less than this part of their precision.
LOSS = 0.0015
# An arm whose share is below this part of an equal one is dropped, if that loses less than a tenth of LOSS.
TINY = 0.05

Allowed = Callable[[Set], bool]
Closed = Callable[[Set], Set]  # a block with all that must be asked together with it


def as_it_is(block: Set) -> Set:
    """A block, where nothing must be asked together."""
    return block


@dataclass(frozen=True, eq=False)
class Search:
    """Looking for blocks: what is wanted, with which epsilon, and which blocks may be asked at all."""

    wanted: Wanted
    epsilon: Epsilon
    allowed: Allowed
    closed: Closed

    def variance(self, block: Set) -> float:
        """The contrast variance of a block."""
        return block_variance(self.wanted.columns(block), self.epsilon)

    def grown(self, start: Set, value: "Worth") -> Set:
        """A block grown from some questions while a further one raises its gain."""
        block, worth = start, value.of_block(start)
        while True:
            added = value.of_further(block)
            order = [q for q in np.argsort(-added, kind="stable")[:FURTHER].tolist() if added[q] > 0]
            larger = [self._larger(block, q, worth + float(added[q]), value) for q in order]
            fits = [one for one in larger if self.wanted.cells(one[0]) <= MOST_CELLS and self.allowed(one[0])]
            best = max(fits, key=lambda one: one[1] / self.variance(one[0]), default=None)
            if best is None or best[1] / self.variance(best[0]) <= worth / self.variance(block):
                return block
            block, worth = best

    def _larger(self, block: Set, question: int, worth: float, value: "Worth") -> tuple[Set, float]:
        """A block with one more question, and all that must be asked with it; and its worth, known without these."""
        plain = tuple(sorted((*block, question)))
        closed = self.closed(plain)
        return closed, worth if closed == plain else value.of_block(closed)


class Worth:
    """What one more report on each wanted set is worth, as it changes while blocks are taken.

    Sets of one and of two questions, which are most, stand in arrays.
    """

    def __init__(self, wanted: Wanted, worth: Array) -> None:
        self.wanted, questions = wanted, len(wanted.levels)
        self.one, self.two = np.zeros(questions), np.zeros((questions, questions))
        self.larger: dict[Set, float] = {}
        self.update(wanted.sets, worth)

    def update(self, sets: Iterable[Set], worth: Iterable[float]) -> None:
        """Set what some sets are worth."""
        for s, number in zip(sets, worth, strict=True):
            if len(s) == 1:
                self.one[s[0]] = number
            elif len(s) == 2:
                self.two[s[0], s[1]] = self.two[s[1], s[0]] = number
            else:
                self.larger[s] = number

    def of_block(self, block: Set) -> float:
        """The worth of all wanted sets that a block holds."""
        places = list(block)
        found = self.one[places].sum() + self.two[np.ix_(places, places)].sum() / 2
        return float(found) + sum(
            self.larger.get(s, 0.0) for size in self._sizes(block) for s in combinations(block, size)
        )

    def of_further(self, block: Set) -> Array:
        """How much each further question would add to the worth of a block."""
        added = self.one + self.two[:, list(block)].sum(axis=1)
        if self.larger:
            for question in range(len(added)):
                for size in self._sizes((*block, question)):
                    for s in combinations(block, size - 1):
                        added[question] += self.larger.get(tuple(sorted((*s, question))), 0.0)
        added[list(block)] = 0
        return np.asarray(added)

    def _sizes(self, block: Set) -> range:
        return range(3, min(len(block), self.wanted.deepest) + 1) if self.larger else range(0)


def best_design(
    wanted: Wanted, epsilon: Epsilon, *, worst: bool, allowed: Allowed, closed: Closed = as_it_is
) -> Shares:
    """The blocks that are worth asking and their shares: few blocks that lose at most LOSS against the best found."""
    if (every := _every_block(wanted, allowed, closed)) is not None:
        found = best_shares(Candidates(wanted, every, epsilon), worst=worst, gap=ROUGH / 10)
        found = best_shares(_in_use(found), worst=worst, gap=ROUGH / 100)
        return _without_tiny(_few(found, worst=worst), worst=worst)
    search = Search(wanted, epsilon, allowed, closed)
    starts = {*wanted.tables, *((place,) for table in wanted.tables for place in table)}
    blocks = {block for block in map(closed, starts) if allowed(block)}
    found = best_shares(_candidates(search, blocks), worst=worst, gap=ROUGH)
    for _ in told(range(ROUNDS), lambda k: f"looking for blocks that are worth asking, round {k + 1}"):
        new = _round(search, found) - set(found.candidates.blocks)
        if not new:
            break
        used = {
            block for block, share in zip(found.candidates.blocks, found.shares, strict=True) if share > ROUGH / 100
        }
        before, found = found, best_shares(_candidates(search, used | new), worst=worst, gap=ROUGH)
        if found.objective > (1 - ROUGH) * before.objective:
            break
    found = best_shares(_in_use(found), worst=worst, gap=ROUGH / 10)
    return _without_tiny(_few(found, worst=worst), worst=worst)


def _every_block(wanted: Wanted, allowed: Allowed, closed: Closed) -> tuple[Set, ...] | None:
    """All blocks that may be asked, if they are few: those within MOST_CELLS, and wanted tables of any size.

    A part of a block that may be asked may be asked, so that blocks are grown from those alone.
    """
    blocks: list[Set] = []
    layer: list[Set] = [()]
    while layer and len(blocks) <= FEW_BLOCKS:
        last = len(wanted.levels)
        larger = [(*block, more) for block in layer for more in range(block[-1] + 1 if block else 0, last)]
        layer = [block for block in larger if wanted.cells(block) <= MOST_CELLS and allowed(block)]
        blocks += layer
    large = [table for table in dict.fromkeys(map(closed, wanted.tables)) if wanted.cells(table) > MOST_CELLS]
    whole = [block for block in blocks if closed(block) == block]
    return (*whole, *large) if len(blocks) <= FEW_BLOCKS else None


def _candidates(search: Search, blocks: set[Set]) -> Candidates:
    ordered = tuple(sorted(blocks, key=lambda block: (len(block), block)))
    return Candidates(search.wanted, ordered, search.epsilon)


def _in_use(found: Shares) -> Candidates:
    used = (block for block, share in zip(found.candidates.blocks, found.shares, strict=True) if share > 1e-6)
    return replace(found.candidates, blocks=tuple(used))


def _round(search: Search, found: Shares) -> set[Set]:
    """Blocks that are taken one after another, each grown from the table of which least is known with those before."""
    wanted = search.wanted
    weights = found.tables @ wanted.parts
    final = found.shares @ found.candidates.by_block
    information = 1e-2 * final
    value = Worth(wanted, weights / information**2)
    missing = wanted.parts @ (1 / information) * found.tables
    taken: set[Set] = set()
    for _ in range(2 * len(wanted.tables)):
        block = search.grown(search.closed(wanted.tables[int(np.argmax(missing))]), value)
        taken.add(block)
        sets = wanted.held(block)
        places = [wanted.sets[s] for s in sets]
        before = 1 / information[places]
        information[places] += 1 / search.variance(block) / max(8, len(wanted.tables) / 4)
        missing += found.tables * (wanted.parts[:, places] @ (1 / information[places] - before))
        value.update(sets, weights[places] / information[places] ** 2)
        if (information >= final).all():
            break
    return taken


def _few(best: Shares, *, worst: bool) -> Shares:
    """As few blocks as lose at most LOSS: those with the largest shares, or where all are alike a balanced part."""
    kept = best
    count = len(best.candidates.blocks)
    while count > 1:
        count = max(1, int(count * 0.8))
        by_share = sorted(np.argsort(-best.shares, kind="stable")[:count].tolist())
        smaller = [one for one in (by_share, greedy_blocks(best, count)) if len(one) < len(kept.candidates.blocks)]
        tries = [_with(best, places, worst=worst) for places in smaller if _covers(best, places)]
        tries = [one for one in tries if one.objective <= (1 + LOSS) * best.objective]
        if not tries:
            return kept
        kept = min(tries, key=lambda one: (len(one.candidates.blocks), one.objective))
    return kept


def _without_tiny(found: Shares, *, worst: bool) -> Shares:
    """The same without blocks that hardly anybody is asked."""
    places = np.flatnonzero(found.shares > TINY / len(found.shares)).tolist()
    if len(places) == len(found.shares) or not _covers(found, places):
        return found
    fewer = _with(found, places, worst=worst)
    return fewer if fewer.objective <= (1 + LOSS / 10) * found.objective else found


def _covers(best: Shares, places: list[int]) -> bool:
    """Whether some of the blocks still tell of every set."""
    return bool((best.candidates.by_block[places].sum(axis=0) > 0).all())


def _with(best: Shares, places: list[int], *, worst: bool) -> Shares:
    """The best shares of some of the blocks."""
    some = replace(best.candidates, blocks=tuple(best.candidates.blocks[place] for place in places))
    start = best.shares[places] / best.shares[places].sum()
    return best_shares(some, worst=worst, start=(start, best.tables), gap=ROUGH)
