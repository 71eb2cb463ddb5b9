"""Groups of respondents of whom each was asked one arm: an estimate by generalized least squares over arms.

The estimate is a weighted sum of what each kind of arm says, so that its cumulants about the population are sums over
kinds. About these N respondents, with S = diag f - f f' the covariance of the true answers at the same table f,

    Cov = Cov about the population - S / N

as the arms are random parts of them: the error about the respondents and that of the respondents themselves have no
covariance, and sum to the error about the population.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.designs.least_squares import Evidence
from deniable.estimates.designs.sums_of_cells import CellSums, sampling_of_cells
from deniable.estimates.designs.whole_evidence import WholeEvidence
from deniable.estimates.interface import Respondents
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import Cumulants
from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import along, flat, margins, row_counts
from deniable.inference.trust import FEWEST, SLACK, Judged, shape_among


@dataclass(frozen=True, eq=False)
class ArmsGroup:
    """Respondents of a plan with arms, or of several plans, and the least squares estimate of some of their features.

    `features` are the places of the features that are looked at among those of the table that was fitted; the others
    were projected out.
    """

    n: int
    seen: Evidence | WholeEvidence
    features: tuple[int, ...]
    waves: bool  # whether it is of several surveys, and so about the population alone

    intervals_from = "consistent"
    adds_up = True
    unshrunk = None

    @property
    def asked(self) -> int:
        """How many were asked all of these features."""
        return self.seen.asked(self.features)

    @cached_property
    def cells(self) -> Array:
        """The estimated share of each cell of the table that was fitted, in C order."""
        return self.seen.best.solution

    @property
    def table(self) -> Array:
        """The proper table of all cells at which covariances are evaluated."""
        return self.seen.best.table

    @property
    def truth(self) -> Array:
        every = along(self.cells.reshape(self.seen.levels), [margins(columns) for columns in self.seen.columns])
        return self.n * self._looked_at(every)

    @property
    def axes(self) -> tuple[Axis, ...]:
        raise EstimateError("an estimate over arms has no product form")

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return (Subject.POPULATION,) if self.waves else tuple(Subject)

    @property
    def linear(self) -> tuple[Respondents, ...]:
        return (self,)

    def project(self, axes: Sequence[int]) -> "ArmsGroup":
        return ArmsGroup(self.n, self.seen, tuple(self.features[axis] for axis in axes), self.waves)

    def supposed(self, cells: Array, times: float) -> "ArmsGroup":
        """So many times as many respondents, in the same arms, whose reports have these shares of cells as their mean.

        It is for questions about surveys that were not made.
        """
        return replace(self, n=round(self.n * times), seen=self.seen.supposed(cells, times))

    def covariance(self, left: Sequence[Array], right: Sequence[Array], subject: Subject) -> Array:
        W, V = (self.cell_weights([np.atleast_2d(weights) for weights in side]) for side in (left, right))
        return np.asarray(((W @ self._matrices[subject]) * V).sum(axis=1).reshape(row_counts(left)))

    def dense(self, subject: Subject) -> Array:
        rows = self.of_cells
        return np.asarray(rows @ self._matrices[subject] @ rows.T)

    def variances(self, subject: Subject) -> Array:
        rows = self.of_cells
        each = np.einsum("ij,jk,ik->i", rows, self._matrices[subject], rows, optimize=True)
        return np.asarray(each.reshape([1 + columns for columns in self._columns]))

    def unconditional_variances(self, subject: Subject) -> Array:  # noqa: ARG002 - one contract
        """Those about the population, which are never zero: about the respondents a public answer has no variance."""
        return self.variances(Subject.POPULATION)

    def cumulants(self, rows: Sequence[Array], subject: Subject) -> Cumulants:
        return self._found(rows, subject)[-1]

    def with_shape(self, rows: Sequence[Array], subject: Subject) -> tuple[Cumulants, Cumulants]:
        own, *among = self._found(rows, subject)
        return (among[0], among[0]) if among else (own, self._if_all_independent(rows))

    def judged(self, rows: Sequence[Array], subject: Subject) -> Judged:
        """What the trust rule needs to know: it judges the estimate about the population, as arms are samples too."""
        own, *among = self._found(rows, subject)
        found = among[0] if among else own
        independent, even = self._if_all_independent(rows), self._if_even(rows)
        fixed = (np.abs(found.variance) <= SLACK * self.n) & (not self.zero_by_chance(subject))
        asked = self._asked_what_is_looked_at(rows)
        enough = asked >= FEWEST  # about these respondents, too
        shape = shape_among(found, found, own, independent) if subject is Subject.RESPONDENTS else independent
        return Judged(self.n, asked, found, fixed, (independent, even), enough, own, shape)

    def exact(self, weights: Sequence[Array], subject: Subject) -> None:  # noqa: ARG002 - one contract
        return None

    def sampling_covariance(self, left: Sequence[Array], right: Sequence[Array]) -> Array:
        w, v = (self.cell_weights([vector[None] for vector in side])[0] for side in (left, right))
        return np.asarray(self.n * (self.table @ (w * v) - (self.table @ w) * (self.table @ v)))

    def sampling_variance(self, weights: Array) -> float:
        rows = self.of_cells
        w = weights.reshape(-1) @ rows
        return float(self.n * (self.table @ w**2 - (self.table @ w) ** 2))

    def zero_by_chance(self, subject: Subject) -> bool:
        return subject is Subject.POPULATION

    def at_independence(self) -> Array:
        rows = self.of_cells
        _, covariance = self._independent
        return np.asarray(self.n**2 * (rows @ covariance @ rows.T))

    def if_independent(self, rows: Sequence[Array]) -> Cumulants:
        return self._cumulants(rows, *self._independent, self.seen.best.weights)

    @cached_property
    def _independent(self) -> tuple[Array, Array]:
        """The table if the features looked at were independent, and the covariance of the estimate there."""
        if len(self.features) == len(self.seen.levels):
            return self._all_independent
        table = self._independent_table(self.features)
        return table, self.seen.covariance(self.seen.best.weights, table)

    def _if_all_independent(self, rows: Sequence[Array]) -> Cumulants:
        """The cumulants of all combinations of rows, if all features of the fitted table were independent."""
        return self._cumulants(rows, *self._all_independent, self.seen.best.weights)

    def _if_even(self, rows: Sequence[Array]) -> Cumulants:
        """The cumulants of all combinations of rows, if all cells were equally common: what the plan says."""
        local = replace(self, seen=self.seen.local.plain)
        return local._cumulants(rows, *self._even, self.seen.local.plain.uniform.weights)

    @cached_property
    def _all_independent(self) -> tuple[Array, Array]:
        """The table if all features were independent, and the covariance of the estimate of its cells there."""
        table = self._independent_table(range(len(self.seen.levels)))
        return table, self.seen.covariance(self.seen.best.weights, table)

    @cached_property
    def _even(self) -> tuple[Array, Array]:
        """The uniform table, and the covariance there of the estimate in its metric, from the table's own arms."""
        seen = self.seen.local.plain
        return seen.uniform.table, seen.covariance(seen.uniform.weights, seen.uniform.table)

    def _asked_what_is_looked_at(self, rows: Sequence[Array]) -> Array:
        """How many were asked all features that a combination of rows looks at, as `project` to these would say."""
        total = np.zeros([len(matrix) for matrix in rows])
        for kind in self.seen.local.kinds:
            told = [
                np.ones(len(matrix), bool) if place in kind.places else ~matrix[:, 1:].any(axis=1)
                for place, matrix in zip(self.features, rows, strict=True)
            ]
            total += kind.n * reduce(np.logical_and.outer, told)
        return total

    @property
    def of_cells(self) -> Array:
        """The matrix from the numbers of respondents in all cells of the fitted table to all entries."""
        return self.cell_weights([np.eye(1 + columns) for columns in self._columns])

    def dense_at(self, shares: Array, subject: Subject) -> Array:
        """The covariance matrix of all entries, were these the shares of all cells of the fitted table."""
        rows = self.of_cells
        return np.asarray(self.n**2 * (rows @ self._covariance_at(shares.reshape(-1), subject) @ rows.T))

    def sums_at(self, weights: Array, shares: Array, subject: Subject) -> Cumulants:
        """The cumulants for rows of any weights of all entries, were these the shares of all cells."""
        W, table = weights @ self.of_cells, shares.reshape(-1)
        sums = self._sums(W, table, self.seen.best.weights)
        if subject is Subject.RESPONDENTS:
            sums = sums.about_respondents(W, table, self.n)
        return sums.cumulants(self._covariance_at(table, subject), [len(W)], self.n)

    def _covariance_at(self, table: Array, subject: Subject) -> Array:
        """The covariance of the shares of all cells, were these the shares of all cells."""
        whole = self.seen.covariance(self.seen.best.weights, table)
        return whole - sampling_of_cells(table) / self.n if subject is Subject.RESPONDENTS else whole

    @property
    def _columns(self) -> list[int]:
        """The evidence columns of the features that are looked at."""
        return [self.seen.columns[place] for place in self.features]

    def _looked_at(self, every: Array) -> Array:
        """A tensor over all features of the fitted table, at index 0 of those that are not looked at."""
        kept = sorted(self.features)
        margin = every[tuple(slice(None) if place in kept else 0 for place in range(every.ndim))]
        return margin.transpose([kept.index(place) for place in self.features])

    def cell_weights(self, rows: Sequence[Array]) -> Array:
        """Weights of all cells of the fitted table, for all combinations of rows of weights, in C order of these."""
        over_answers = [np.ones((1, m)) for m in self.seen.levels]
        for place, matrix in zip(self.features, rows, strict=True):
            over_answers[place] = matrix @ margins(self.seen.columns[place])
        lengths = [len(matrix) for matrix in over_answers]
        every = flat(over_answers).reshape(*lengths, self.seen.cells)
        rest = [place for place in range(len(lengths)) if place not in self.features]
        return every.transpose(*self.features, *rest, len(lengths)).reshape(-1, self.seen.cells)

    @cached_property
    def _population(self) -> Array:
        """The covariance of the shares of all cells about the population."""
        table = self.table
        return self.seen.best.inverse - np.outer(table, table) / self.seen.n

    @cached_property
    def _matrices(self) -> dict[Subject, Array]:
        """The covariance of the numbers of respondents in all cells, about each subject."""
        whole = self.n**2 * self._population
        return {Subject.POPULATION: whole, Subject.RESPONDENTS: whole - self.n * sampling_of_cells(self.table)}

    def _cumulants(self, rows: Sequence[Array], table: Array, covariance: Array, weights: Sequence[Array]) -> Cumulants:
        """The cumulants about the population for all combinations of rows, were this the truth."""
        return self._sums(self.cell_weights(rows), table, weights).cumulants(covariance, row_counts(rows), self.n)

    def _found(self, rows: Sequence[Array], subject: Subject) -> list[Cumulants]:
        """The cumulants for all combinations of rows at the estimate: about the population, then any other subject."""
        W, lengths = self.cell_weights(rows), [len(matrix) for matrix in rows]
        sums = replace(self._sums(W, self.table, self.seen.best.weights), mean=W @ self.cells)
        found = [sums.cumulants(self._population, lengths, self.n)]
        if subject is Subject.RESPONDENTS:
            covariance = self._population - sampling_of_cells(self.table) / self.n
            found.append(sums.about_respondents(W, self.table, self.n).cumulants(covariance, lengths, self.n))
        return found

    def _sums(self, W: Array, table: Array, weights: Sequence[Array]) -> CellSums:
        """Weighted sums of cells about the population: sums over the reports of all kinds."""
        found = self.seen.totals(W, table, weights)
        return CellSums(W, W @ table, found.variance, found.third, found.fourth, found.gradient)

    def _independent_table(self, features: Sequence[int]) -> Array:
        """A table in which these features are independent with their margins, the others being given them as found."""
        shares = self.table.reshape(self.seen.levels)
        rest = tuple(place for place in range(shares.ndim) if place not in features)
        joint = shares.sum(axis=rest, keepdims=True)
        product = np.ones([1] * shares.ndim)
        for place in features:
            product = product * shares.sum(axis=tuple(k for k in range(shares.ndim) if k != place), keepdims=True)
        return np.asarray(shares * product / joint).reshape(-1)
