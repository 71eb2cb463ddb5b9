"""Respondents whose table is a margin of a fitted model, with the covariance of what noise and model leave open."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.dense_respondent_group import DenseGroup
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import Cumulants
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along, answer_rows, margins
from deniable.inference.tensors import flat as flattened
from deniable.inference.trust import SLACK, Judged

# What is said where a fitted table is asked for a test.
ONLY_COUNTS = "tests of independence need an estimate straight from counts: dn.estimate(counts, [...])"


@dataclass(frozen=True, eq=False)
class FittedGroup(DenseGroup):
    """A margin of a fitted model. It is normal, about the population alone, and made from all respondents' reports."""

    intervals_from = "posterior of the model"
    shrunken = True

    @classmethod
    def of_shares(cls, n: int, shares: Array, covariance: Array, columns: Sequence[int]) -> "FittedGroup":
        """The group with these shares of cells, and their covariance, of features with so many evidence columns."""
        sums = [margins(one) for one in columns]
        every = flattened(sums)
        return cls(n, n * along(shares, sums), {Subject.POPULATION: n**2 * (every @ covariance @ every.T)}, ())

    @property
    def asked(self) -> int:
        return self.n

    def project(self, axes: Sequence[int]) -> "FittedGroup":
        return FittedGroup(*self._projected(axes))

    def unconditional_variances(self, subject: Subject) -> Array:
        return self.variances(subject)

    def judged(self, rows: Sequence[Array], subject: Subject) -> Judged:
        found = self.cumulants(rows, subject)
        return Judged(self.n, self.asked, found, np.abs(found.variance) <= SLACK * self.n)

    def sampling_covariance(self, left: Sequence[Array], right: Sequence[Array]) -> Array:
        w, v = (self._over_cells(flattened([vector[None] for vector in side]))[0] for side in (left, right))
        return np.asarray(self._sampling(w, v))

    def sampling_variance(self, weights: Array) -> float:
        w = self._over_cells(weights.reshape(1, -1))[0]
        return float(self._sampling(w, w))

    def at_independence(self) -> Array:
        raise EstimateError(ONLY_COUNTS)

    def if_independent(self, rows: Sequence[Array]) -> Cumulants:  # noqa: ARG002 - one contract
        raise EstimateError(ONLY_COUNTS)

    @property
    def _columns(self) -> list[int]:
        return [length - 1 for length in self.truth.shape]

    def _over_cells(self, rows: Array) -> Array:
        """Weights of entries as weights of cells."""
        return rows @ flattened([margins(columns) for columns in self._columns])

    def _sampling(self, w: Array, v: Array) -> float:
        """The covariance of two weighted sums of cells over a sample of n."""
        shares = self._shares
        return float(self.n * (shares @ (w * v) - (shares @ w) * (shares @ v)))

    @property
    def _shares(self) -> Array:
        """The share of each cell, in C order."""
        cells = along(self.truth, [answer_rows(columns) for columns in self._columns])
        return np.asarray(cells.reshape(-1) / self.n)
