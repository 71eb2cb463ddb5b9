"""What a design tells of the wanted tables, at uniform truth, and how that depends on the shares of its blocks.

A contrast of a set s of questions is estimated by every block that holds s. With pi_B the share of block B and v_B the
variance of one report's contrast (`contrast_variance`), the information on it is I_s = sum_{B holds s} pi_B / v_B for
each respondent, and the mean cell variance of a table T with K cells, about the population and for one respondent, is

    K^-2 sum_{s in T, s not empty} prod_{i in s} (m_i - 1) / I_s

which is convex in the shares.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.survey.budget import best_for
from deniable.survey.protocols.base import Protocol
from deniable.survey.protocols.grid import Epsilon, positive

Array = npt.NDArray[np.float64]
Set = tuple[int, ...]  # places of questions, rising
Sparse = Any  # a matrix of scipy.sparse, which ships no types


def contrast_variance(protocol: Protocol) -> float:
    """The variance of one report's estimate of a contrast of mean square one over the cells, at uniform truth."""
    m = protocol.columns
    return 4 * protocol.total_variance + 1 if m == 1 else protocol.total_variance * m / (m - 1) + 1


@lru_cache(maxsize=4096)
def block_variance(columns: int, epsilon: Epsilon) -> float:
    """The contrast variance of a block of so many evidence columns, by the best protocol."""
    return contrast_variance(best_for(columns, positive(epsilon)))


@dataclass(frozen=True, eq=False)
class Wanted:
    """Tables that are wanted of questions with so many answers each, and how much each matters.

    `constants` are what is added to each table's weighted variance whatever the design. A table may stand here twice.
    """

    levels: tuple[int, ...]
    flags: frozenset[int]  # the questions that have one evidence column if they are asked alone
    tables: tuple[Set, ...]
    weights: Array
    constants: Array | float = 0.0

    @cached_property
    def sets(self) -> dict[Set, int]:
        """All sets of questions whose contrasts the tables are made of, with their places."""
        found = {s for table in self.tables for s in subsets(table)}
        return {s: place for place, s in enumerate(sorted(found, key=lambda s: (len(s), s)))}

    @cached_property
    def parts(self) -> Sparse:
        """How much each set adds to the mean cell variance of each table, over its information: tables by sets."""
        from scipy.sparse import csr_array

        entries = [
            (row, self.sets[s], prod(self.levels[place] - 1 for place in s) / self.cells(table) ** 2)
            for row, table in enumerate(self.tables)
            for s in subsets(table)
        ]
        rows, columns, numbers = zip(*entries, strict=True)
        return csr_array((numbers, (rows, columns)), shape=(len(self.tables), len(self.sets)))

    @cached_property
    def by_part(self) -> Sparse:
        """The same, sets by tables."""
        return self.parts.T.tocsr()

    def cells(self, block: Iterable[int]) -> int:
        """How many combinations of answers some questions have."""
        return prod(self.levels[place] for place in block)

    def held(self, block: Set) -> list[Set]:
        """The wanted sets that a block holds."""
        sizes = range(1, min(len(block), self.deepest) + 1)
        return [s for size in sizes for s in combinations(block, size) if s in self.sets]

    @cached_property
    def deepest(self) -> int:
        """How many questions the largest wanted table has."""
        return max(map(len, self.tables))

    def columns(self, block: Set) -> int:
        """How many evidence columns a block has."""
        return 1 if len(block) == 1 and block[0] in self.flags else self.cells(block)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Blocks that may be asked, with what each tells: rows of a sparse matrix 1 / v_B over the sets that it holds."""

    wanted: Wanted
    blocks: tuple[Set, ...]
    epsilon: Epsilon

    @cached_property
    def by_block(self) -> Sparse:
        """The information of one report of each block on each set: a sparse matrix, blocks by sets."""
        from scipy.sparse import csr_array

        rows, columns, numbers = [], [], []
        for row, block in enumerate(self.blocks):
            each = 1 / block_variance(self.wanted.columns(block), self.epsilon)
            held = [self.wanted.sets[s] for s in self.wanted.held(block)]
            rows += [row] * len(held)
            columns += held
            numbers += [each] * len(held)
        return csr_array((numbers, (rows, columns)), shape=(len(self.blocks), len(self.wanted.sets)))

    @cached_property
    def by_set(self) -> Sparse:
        """The same, sets by blocks."""
        return self.by_block.T.tocsr()

    def variances(self, shares: Array) -> Array:
        """The mean cell variance of each table for one respondent, about the population."""
        return np.asarray(self.wanted.parts @ (1 / (shares @ self.by_block)))


def subsets(of: Sequence[int]) -> list[Set]:
    """All subsets that are not empty."""
    return [s for size in range(1, len(of) + 1) for s in combinations(of, size)]
