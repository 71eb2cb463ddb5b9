"""What one block of a plan tells about two answers, its first and its last, and what a whole report tells.

A report *tells* for an answer against another one if it is of the event whose chances differ most: of a flag, the
answer's bit; of a choice, the answer is marked and the other one is not. For every protocol here, ln(u / v) of this
event is the block's epsilon, where u is its chance if the answer is true and v if the other one is.

A whole report is judged by its log-likelihood ratio, the sum over its blocks. These are rounded to whole parts of the
largest sum, so that the distribution of their sum is exact.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import log

import numpy as np

from deniable.client import SCALE
from deniable.collect.audit.exact_bounds import Numbers, epsilon_at_least
from deniable.survey.blocks import Block

PARTS = 5000  # Log-likelihood ratios are rounded to whole numbers of this part of their largest sum.
USUAL_ERROR = 1e-6  # The threshold of a whole report is chosen for bounds that are wrong as seldom as this.
MOST_TRIED = 500  # At most so many thresholds are tried.
SIDES = (0, 1)  # the first answer and the last one


@dataclass(frozen=True)
class Tells:
    """The chances that a block tells for each of two answers, by exact fractions of its protocol, as floats."""

    if_true: tuple[float, float]  # for the first and for the last answer, if it is true
    if_other: tuple[float, float]  # the same if the other one is true

    @classmethod
    def of(cls, block: Block) -> "Tells":
        """The chances of a block that protects."""
        dependence = block.protocol.dependence
        p, q = dependence.p, dependence.q
        if block.protocol.columns == 1:
            return cls((float(1 - p), float(q)), (float(1 - q), float(p)))
        both = dependence.true[1]
        return cls((float(q - both),) * 2, (float(p - both),) * 2)

    def chance(self, side: int, true: int) -> float:
        """The chance of telling for one answer if this one, or the other one, is true."""
        return (self.if_true if side == true else self.if_other)[side]

    @property
    def epsilon(self) -> float:
        """The epsilon of one report of the block: of kept answers, after the fresh coin."""
        return max(map(self.weight, SIDES))

    def weight(self, side: int) -> float:
        """The log-likelihood ratio of what tells for an answer, against the other one."""
        return log(self.if_true[side] / self.if_other[side])


def both_tell(block: Block, side: int) -> float:
    """The chance that two reports of one device tell for an answer if it is true, where answers are kept.

    The kept answer is drawn once, and the fresh coin over it for each report.
    """
    protocol = block.protocol
    kept = Tells.of(replace(block, protocol=protocol.with_fresh(SCALE))).chance(side, side)
    coin, values = protocol.fresh / SCALE, max(2, protocol.columns)
    by_chance = (1 - coin) / values
    return kept * (coin + by_chance) ** 2 + (1 - kept) * by_chance**2


@dataclass(frozen=True)
class WholeReport:
    """The event that tells most, with so many draws, for one side of all blocks of a report at once."""

    blocks: tuple[Tells, ...]
    side: int
    draws: int

    @cached_property
    def weights(self) -> tuple[tuple[int, int], ...]:
        """For each block what is added if it tells for this side, and what is taken off if it tells for the other."""
        largest = sum(block.epsilon for block in self.blocks)
        sides = (self.side, 1 - self.side)
        return tuple(tuple(round(PARTS * block.weight(s) / largest) for s in sides) for block in self.blocks)  # type: ignore[misc]

    @cached_property
    def _tails(self) -> tuple[Numbers, Numbers]:
        """The chances that the sum is at least each of its values, if this side is true and if the other one is."""
        found = []
        for true in (self.side, 1 - self.side):
            law = np.ones(1)
            for block, weights in zip(self.blocks, self.weights, strict=True):
                law = _added(law, weights, [block.chance(side, true) for side in (self.side, 1 - self.side)])
            found.append(np.minimum(law[::-1].cumsum()[::-1], 1.0))
        return found[0], found[1]

    @property
    def _least(self) -> int:
        return -sum(down for _, down in self.weights)

    @cached_property
    def _at(self) -> int:
        here, there = (self.draws * tail for tail in self._tails)
        tried = np.flatnonzero(np.diff(here, append=0.0))  # the sums that can be; of very many, some
        tried = tried[:: -(-len(tried) // MOST_TRIED)]
        return int(tried[np.argmax(epsilon_at_least(here[tried], there[tried], self.draws, USUAL_ERROR))])

    @property
    def threshold(self) -> int:
        """The sum from which on a report is of the event: that of the largest bound, were counts as expected."""
        return self._least + self._at

    @property
    def chances(self) -> tuple[float, float]:
        """The chance of the event if this side is true, and if the other one is."""
        return float(self._tails[0][self._at]), float(self._tails[1][self._at])


def _added(law: Numbers, weights: tuple[int, int], chances: list[float]) -> Numbers:
    """The distribution of a sum, from its least value on, with a block more that adds or takes off something."""
    up, down = weights
    made = np.zeros(len(law) + up + down)
    for at, chance in ((up + down, chances[0]), (0, chances[1]), (down, 1 - sum(chances))):
        made[at : at + len(law)] += max(chance, 0.0) * law
    return made
