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
    """A margin of a fitted model, about the population alone, and made from all respondents' reports.

    Beside it stands the linear estimate before it was shrunk (`loose`, over all entries, with its covariance), from
    which joint results have their intervals: shrinkage draws several shares the same way. Of features that nobody was
    asked together (`apart`, pairs of axes) no interval is given: the model takes them as independent given the others,
    and no report says so.
    """

    loose: tuple[Array, Array]
    apart: tuple[tuple[int, int], ...]

    intervals_from = "posterior of the model"

    @classmethod
    def of_shares(
        cls,
        n: int,
        fitted: tuple[Array, Array],
        loose: tuple[Array, Array],
        columns: Sequence[int],
        apart: Sequence[tuple[int, int]] = (),
    ) -> "FittedGroup":
        """The group with these shares of cells and their covariance, before and after, of so many evidence columns."""
        sums = [margins(one) for one in columns]
        every = flattened(sums)
        (truth, own), before = (
            (n * along(shares, sums), n**2 * (every @ covariance @ every.T)) for shares, covariance in (fitted, loose)
        )
        return cls(n, truth, {Subject.POPULATION: own}, (), before, tuple(apart))

    @property
    def unshrunk(self) -> "FittedGroup":
        truth, own = self.loose
        return FittedGroup(self.n, truth, {Subject.POPULATION: own}, (), self.loose, self.apart)

    @property
    def linear(self) -> "tuple[FittedGroup, ...]":
        return (self.unshrunk,)

    @property
    def asked(self) -> int:
        return self.n

    def project(self, axes: Sequence[int]) -> "FittedGroup":
        truth, own = self.loose
        loose = DenseGroup(self.n, truth, {Subject.POPULATION: own}, ()).project(axes)
        kept = {axis: place for place, axis in enumerate(axes)}
        apart = tuple((kept[i], kept[j]) for i, j in self.apart if i in kept and j in kept)
        return FittedGroup(*self._projected(axes), (loose.truth, loose.dense(Subject.POPULATION)), apart)

    def unconditional_variances(self, subject: Subject) -> Array:
        return self.variances(subject)

    def judged(self, rows: Sequence[Array], subject: Subject) -> Judged:
        found = self.cumulants(rows, subject)
        looked_at = np.meshgrid(*(matrix[:, 1:].any(axis=1) for matrix in rows), indexing="ij")
        told = ~np.any([looked_at[i] & looked_at[j] for i, j in self.apart], axis=0)
        return Judged(self.n, self.asked, found, (np.abs(found.variance) <= SLACK * self.n) & told, enough=told)

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
