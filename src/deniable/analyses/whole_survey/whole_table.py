"""A log-linear model as one table of every combination of answers: shares, means and covariances of contrasts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.analyses.whole_survey.contrasts import Places, Terms, characters
from deniable.inference.one_feature import Array

# Whole tables of at most so many cells are made.
MOST_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class WholeTable:
    """The table p(x) = exp(sum of coefficients times contrasts of x) / Z of all cells, given the coefficients."""

    terms: Terms

    @property
    def cells(self) -> int:
        """How many cells the table has."""
        return prod(self.terms.levels)

    @cached_property
    def _places(self) -> npt.NDArray[np.int64]:
        """Where the character of each contrast stands among all of the table's."""
        return np.asarray(np.ravel_multi_index(tuple(self.terms.frequencies.T), self.terms.levels), np.int64)

    @cached_property
    def _differences(self) -> npt.NDArray[np.int64]:
        """Where the product of each character with the conjugate of each other one stands."""
        found = np.zeros((self.terms.count, self.terms.count), np.int64)
        for k, m in zip(self.terms.frequencies.T, self.terms.levels, strict=True):
            found = found * m + (k[:, None] - k[None]) % m
        return found

    def logarithms(self, coefficients: Array) -> Array:
        """What all terms add to the logarithm of each cell, in C order; of rows of coefficients, rows."""
        U = self.terms.rotations
        spread = np.zeros((*coefficients.shape[:-1], prod(self.terms.levels)), float if U is None else complex)
        spread[..., self._places] = coefficients if U is None else (U.T @ coefficients.T).T
        return np.real(transform(spread, self.terms.levels))

    def shares(self, coefficients: Array) -> Array:
        """The share of each cell, in C order."""
        logs = self.logarithms(coefficients)
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    def moments(self, coefficients: Array) -> tuple[Array, Array]:
        """The means of all contrasts, and their covariances."""
        return self.moments_of(self.shares(coefficients))

    def moments_of(self, shares: Array) -> tuple[Array, Array]:
        """The means of all contrasts, and their covariances, in a table with these shares of cells."""
        U, F = self.terms.rotations, transform(shares, self.terms.levels)
        mean, second = F[self._places], F[self._differences]
        if U is not None:
            mean, second = U @ mean, (U @ (U @ second).conj().T).conj().T
        mean = np.real(mean)
        return mean, np.real(second) - np.outer(mean, mean)

    def mean(self, coefficients: Array) -> Array:
        """The means of all contrasts."""
        return self.means_of(self.shares(coefficients))

    def means_of(self, shares: Array) -> Array:
        """The means of all contrasts in a table with these shares of cells; of rows of shares, rows."""
        U, F = self.terms.rotations, transform(shares, self.terms.levels)[..., self._places]
        return np.real(F if U is None else (U @ F.T).T)

    def margin(self, coefficients: Array, places: Places) -> Array:
        """The table of these features, an axis for each in this order."""
        return margin_of(self.shares(coefficients).reshape(self.terms.levels), places)

    def gradient(self, coefficients: Array, places: Places) -> Array:
        """The derivatives of the cells of a margin, in C order, by coefficients: covariances of cells and contrasts."""
        levels = self.terms.levels
        kept = [m if place in places else 1 for place, m in enumerate(levels)]
        cells, F = prod(kept), self.shares(coefficients).reshape(levels)
        rest = [1 if place in places else m for place, m in enumerate(levels)]
        # one axis for the cells of the margin, in the survey's order, then the characters of all other features
        order = [*sorted(places), *(place for place in range(len(levels)) if place not in places)]
        F = transform(F.transpose(order).reshape(cells, -1), [m for m in rest if m > 1])
        of_rest = self.terms.frequencies * (np.array(kept) == 1)
        at = np.ravel_multi_index(tuple(of_rest.T), rest)
        own = np.ones((cells, self.terms.count), complex)
        for place, x in zip(sorted(places), np.indices([levels[p] for p in sorted(places)]), strict=True):
            own *= characters(levels[place])[np.ix_(x.reshape(-1), self.terms.frequencies[:, place])]
        found, U = F[:, at] * own, self.terms.rotations
        found = np.real(found if U is None else (U @ found.T).T)
        found = found - np.real(F[:, :1]) * found.sum(axis=0)
        by_feature = found.reshape(*(levels[place] for place in sorted(places)), -1)
        ranks = [sorted(places).index(place) for place in places]
        return np.asarray(by_feature.transpose(*ranks, len(places)).reshape(cells, -1))

    def drawn(self, coefficients: Array, n: int, rng: np.random.Generator) -> list[npt.NDArray[Any]]:
        """The answers of n records that are drawn from the table, an array for each feature."""
        shares = self.shares(coefficients)
        cells = np.searchsorted(np.cumsum(shares)[:-1], rng.random(n), side="right")
        return list(np.unravel_index(cells, self.terms.levels))


def margin_of(table: Array, places: Sequence[int]) -> Array:
    """The margin of a table over these of its axes, in this order."""
    summed = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in places))
    return np.asarray(summed.transpose([sorted(places).index(place) for place in places]))


def transform(values: npt.NDArray[Any], levels: Sequence[int]) -> npt.NDArray[Any]:
    """Sums of values times characters over all cells, axis by axis: a discrete Fourier transform, of rows."""
    shape, after = values.shape, 1
    for m in reversed(levels):
        values = values.reshape(-1, m, after)
        if m == 2:
            values = np.stack([values[:, 0] + values[:, 1], values[:, 0] - values[:, 1]], axis=1)
        else:
            values = characters(m) @ values
        after *= m
    return values.reshape(shape)
