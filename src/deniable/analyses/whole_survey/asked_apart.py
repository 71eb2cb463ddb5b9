"""What one report of several blocks says of contrasts of features in different blocks, and what these have in common.

The estimate of such a contrast is the product of those of its blocks, h_a = product of h_aB. Blocks are randomized
independently given the truth x, and with plain centring

    E[h_aB h_bB | x] = (1 + alpha) c_a(x) c_b(x) + K c0 [a = b]          c0, alpha: the noise of a block of K cells

(of a flag, whose two answers may have different noise, with a further multiple of c(x)). So the matrix E[h h'] follows
from E[c c'], that of the true contrasts, by one block after the other. Products of two features share these features'
main effects: taken as independent of them, these would be counted twice, the more the rarer answers are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.analyses.whole_survey.contrasts import Places, Terms
from deniable.analyses.whole_survey.reference import looking_at, with_constant
from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import answer_count


@dataclass(frozen=True)
class BlockNoise:
    """E[h_a h_b | x] of the contrasts of one block: signal c_a c_b + own [a = b] + bend c, the last of a flag alone."""

    places: Places
    signal: float
    own: float
    bend: float

    @classmethod
    def of(cls, places: Places, axis: Axis) -> "BlockNoise":
        """That of a block by its axis, which is centred plainly."""
        c0, c1, alpha, beta = axis.noise
        if axis.m == 1:  # the contrast is 1 for no and -1 for yes, and its estimate 1 - 2 z
            slope = 2 * (alpha + 2 * beta)
            return cls(places, 1.0, 4 * (c0 + c1) + slope, -slope)
        return cls(places, 1 + alpha, answer_count(axis.columns) * c0, 0.0)


def with_noise(seconds: Array, terms: Terms, blocks: Sequence[BlockNoise]) -> Array:
    """The matrix E[h h'] of a constant and one report's estimates, from E[c c'] of true contrasts."""
    frequencies, found = with_constant(terms), seconds.copy()
    for block in blocks:
        met, without = looking_at(frequencies, block.places)
        own = frequencies[met][:, block.places]
        same = (own[:, None] == own[None]).all(axis=2)
        found[np.ix_(met, met)] = (
            block.signal * found[np.ix_(met, met)]
            + block.own * same * found[np.ix_(without, without)]
            + block.bend * found[np.ix_(met, without)]
        )
    return found
