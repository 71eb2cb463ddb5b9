"""Randomizing many answers at once: codes and draws in, arrays out. Bare functions that know no names.

They do what the client does, in the client's order for each record: the k-th draw of every record that needs one is
taken together. So the same draws give the same report.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.client import COEFFICIENTS, PRIME, SCALE
from deniable.kernels import tools_for
from deniable.kernels.hashing import Seeds

Draws = Callable[[int], npt.NDArray[np.uint16]]  # A source of randomness: n -> n random numbers of 16 bits.
Codes = npt.NDArray[np.signedinteger[Any]]  # Answers as integers of any width: the narrower, the faster.
Planes = npt.NDArray[np.uint8]  # A row of packed bits for each column, the first record lowest.

BLOCK = 1 << 16  # Records that are randomized at a time, so that they stay in the cache; a multiple of 8.
SET_NUMBERS = 1 << 22  # Numbers that shuffling the values of a block of sets takes at most.
SET_SECONDS = 1.5e-8  # Seconds that numpy takes for one step of the shuffle behind one set.


def bit_planes(codes: Codes, columns: range, p: int, q: int, draws: Draws) -> Planes:
    """Randomized response on the one-hot encoding of codes: a row of packed bits for each column.

    A bit is 1 if draw < q where the code is the column's, and if draw < p elsewhere.
    """
    planes = np.zeros((len(columns), (len(codes) + 7) // 8), np.uint8)
    low, high = np.uint16(p), np.uint16(q)
    for start in range(0, len(codes), BLOCK):
        block = codes[start : start + BLOCK]
        here = slice(start // 8, (start + len(block) + 7) // 8)
        for plane, column in zip(planes, columns, strict=True):
            draw = draws(len(block))
            bits = draw < high  # as if every answer were this value
            bits &= block == column
            bits |= draw < low  # p < q, so this adds nothing where it is
            plane[here] = np.packbits(bits, bitorder="little")
    return planes


def keep_or_uniform(codes: Codes, keep: int, outcomes: int, draws: Draws) -> Codes:
    """Generalized randomized response: the code if the coin is below `keep`, else a uniform one, drawn in any case."""
    coin = draws(len(codes)) < keep
    return np.where(coin, codes, _uniform(len(codes), outcomes, draws))


def fresh_bits(planes: Planes, count: int, keep: int, draws: Draws) -> Planes:
    """A fresh coin over kept bits: each is left as it is if the coin is below `keep`, else it is 0 or 1 alike."""
    kept = np.unpackbits(planes, axis=1, count=count, bitorder="little")
    shown = [keep_or_uniform(bits.astype(np.int16), keep, 2, draws) for bits in kept]
    return np.packbits(np.array(shown, bool), axis=1, bitorder="little")


def _uniform(count: int, outcomes: int, draws: Draws) -> npt.NDArray[np.int16]:
    """Uniform codes below `outcomes`, by rejection: a draw after the last whole share of 65 536 is drawn again."""
    if outcomes == 1:
        return np.zeros_like(draws(count), np.int16)
    share = np.uint16(SCALE // outcomes)
    codes = draws(count) // share
    while len(again := np.flatnonzero(codes >= outcomes)):
        codes[again] = draws(len(again)) // share
    return codes.view(np.int16)


def subsets(codes: Codes, q: int, size: int, values: int, draws: Draws) -> Planes:
    """Subset selection: random sets of `size` values, a row of packed bits for each value.

    A set holds the code if its coin is below q. Its other values are the first places of a shuffle (Fisher and Yates)
    of all values but the code; one more of them is always drawn than a set with the code has room for.
    """
    planes = np.zeros((values, (len(codes) + 7) // 8), np.uint8)
    tools = tools_for(SET_SECONDS * size * len(codes))
    records = min(BLOCK, SET_NUMBERS // values & -8)  # at least 1 024, of 4 096 values
    for start in range(0, len(codes), records):
        block = codes[start : start + records]
        coin = draws(len(block)) < np.uint16(q)
        steps = np.empty((size, len(block)), np.int16)
        for place in range(size):
            steps[place] = _uniform(len(block), values - 1 - place, draws)
        tools.shuffled_sets(block, coin, steps, planes[:, start // 8 : (start + len(block) + 7) // 8])
    return planes


def seeds(count: int, draws: Draws) -> Seeds:
    """Coefficients of one random hash per record, shape (count, 4), uniform below the prime, by rejection."""
    seed = np.empty((count, COEFFICIENTS), np.uint32)
    for column in seed.T:
        column[:] = draws(2 * count).view("<u4") & PRIME
        while len(again := np.flatnonzero(column == PRIME)):
            column[again] = draws(2 * len(again)).view("<u4") & PRIME
    return seed
