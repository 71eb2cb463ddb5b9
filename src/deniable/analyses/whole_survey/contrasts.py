"""Contrasts of a survey's answers: the terms of a log-linear model of main effects and interactions of two or three.

A feature of m answers has m - 1 contrasts, functions of its answer with mean 0 and mean square 1 if all answers are
equally common; contrasts of a set of features are products of one of each. They are real combinations of the characters
exp(2 pi i k x / m), whose products are characters again: so the second moments of all contrasts are entries of one
discrete Fourier transform. For flags both are the signs +1 and -1 (the Walsh-Hadamard transform).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from math import inf, prod
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.inference.one_feature import Array

Places = tuple[int, ...]
Complex = npt.NDArray[np.complex128]
# No set of features has a variance of its own.
NONE: Mapping[Places, float] = MappingProxyType({})


@lru_cache(maxsize=256)
def feature_contrasts(levels: int) -> Array:
    """The contrasts of one feature, (levels - 1) rows over its answers: orthogonal, each with the mean square 1."""
    return np.real(rotation(levels) @ characters(levels)[1:])


@lru_cache(maxsize=256)
def characters(levels: int) -> Complex:
    """The matrix exp(2 pi i k x / m) of k by x."""
    k = np.arange(levels)
    return np.asarray(np.exp(2j * np.pi * (np.outer(k, k) % levels) / levels))


@lru_cache(maxsize=256)
def rotation(levels: int) -> Complex:
    """The unitary matrix from the characters k = 1, ..., m - 1 to real contrasts: cosines, and sines."""
    made = np.zeros((levels - 1, levels - 1), complex)
    for k in range(1, levels):
        other = levels - k
        if k == other:
            made[k - 1, k - 1] = 1
        elif k < other:
            made[k - 1, [k - 1, other - 1]] = np.sqrt(0.5)
        else:
            made[k - 1, [other - 1, k - 1]] = -1j * np.sqrt(0.5), 1j * np.sqrt(0.5)
    return made


def kron(matrices: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The Kronecker product of matrices."""
    return reduce(lambda left, right: np.kron(left, right), matrices)


def set_contrasts(levels: Sequence[int], looked_at: Sequence[bool]) -> Array:
    """The contrasts of those features that are looked at, as rows over all cells of a table in C order."""
    each = [feature_contrasts(m) if of else np.ones((1, m)) for m, of in zip(levels, looked_at, strict=True)]
    return kron([np.ones((1, 1)), *each])


@dataclass(frozen=True)
class Terms:
    """The terms of a log-linear model: sets of one, two or three features, in order, each with all its contrasts."""

    levels: tuple[int, ...]  # how many answers each feature of the survey has
    sets: tuple[Places, ...]  # rising places of features

    @cached_property
    def sizes(self) -> list[int]:
        """How many contrasts each set has."""
        return [prod(self.levels[place] - 1 for place in one) for one in self.sets]

    @cached_property
    def count(self) -> int:
        """How many contrasts there are."""
        return sum(self.sizes)

    @cached_property
    def slices(self) -> dict[Places, slice]:
        """Where the contrasts of each set stand."""
        ends = np.cumsum([0, *self.sizes]).tolist()
        return {one: slice(*ends[at : at + 2]) for at, one in enumerate(self.sets)}

    @cached_property
    def orders(self) -> npt.NDArray[np.int64]:
        """How many features each contrast is of."""
        return np.repeat([len(one) for one in self.sets], self.sizes)

    def precisions(self, strength: float, third: float = inf, own: Mapping[Places, float] = NONE) -> Array:
        """The prior precision of each coefficient, for strengths of shrinkage of interactions of two and of three.

        The logarithm of an interaction has the variance 1 / strength in every cell of every pair. That of a main effect
        has 1, which hardly shrinks it, and as much more as the interactions with d - 1 others that it makes up for. The
        coefficients of a set of features may have a variance of their own besides, which its main effects make up for.
        """
        variance = {1: 1 + (len(self.levels) - 1) / strength, 2: 1 / strength, 3: 1 / third}
        each = [variance[len(one)] / size + own.get(one, 0.0) for one, size in zip(self.sets, self.sizes, strict=True)]
        for one, more in own.items():
            for place in one:
                each[self.sets.index((place,))] += more * self.sizes[self.sets.index(one)] / (self.levels[place] - 1)
        return np.repeat([1 / variance for variance in each], self.sizes)

    @cached_property
    def frequencies(self) -> npt.NDArray[np.int64]:
        """The characters of all contrasts, rows of k by feature, with 0 at features that are not looked at."""
        found = np.zeros((self.count, len(self.levels)), np.int64)
        for one, where in self.slices.items():
            grid = np.indices([self.levels[place] - 1 for place in one]).reshape(len(one), -1)
            found[where][:, list(one)] = grid.T + 1
        return found

    @cached_property
    def rotations(self) -> Any:
        """The unitary matrix from the characters to the real contrasts, sparse; None if they are the same."""
        if all(m == 2 for m in self.levels):
            return None
        from scipy.sparse import block_diag, csr_matrix

        blocks = [kron([rotation(self.levels[place]) for place in one]) for one in self.sets]
        found = csr_matrix(block_diag(blocks))
        found.eliminate_zeros()
        return found

    def over_cells(self, coefficients: Array, one: Places) -> Array:
        """The logarithm that the term of one set of features adds to each cell of their table."""
        levels = [self.levels[place] for place in one]
        return (coefficients[self.slices[one]] @ set_contrasts(levels, [True] * len(one))).reshape(levels)
