"""Groups of respondents who were all asked the same blocks: an estimate in product form over blocks, seen by feature.

Weights that are a product over features are a product over blocks too, so every result about features is one of the
product form over blocks (`respondent_group.Group`), whose axes are blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.least_squares import Evidence
from deniable.estimates.designs.table_parts import BlockPart, Part, reduced_counts
from deniable.estimates.interface import Respondents, SeenTable
from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import Cumulants, proper_margin
from deniable.inference.exact_binomial import OneColumn
from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import along, answer_count, answer_rows, flat, row_counts, sandwich
from deniable.inference.trust import Judged

Counted = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class View:
    """Some features of a block, as rows of weights of its axis: one for each entry of their table, in C order."""

    places: tuple[int, ...]  # of the features in the table
    shape: tuple[int, ...]  # of the entries of their table
    rows: Array

    @classmethod
    def of(cls, part: Part) -> "View":
        """All features that a block has in a table."""
        return cls(part.places, tuple(1 + columns for columns in part.columns), part.entries)

    def project(self, axes: Sequence[int]) -> "View":
        """The view of those features that stand among these places, and are then called by their new places."""
        kept = [k for k, place in enumerate(self.places) if place in axes]
        entries = np.arange(len(self.rows)).reshape(self.shape)
        margin = entries[tuple(slice(None) if k in kept else 0 for k in range(len(self.shape)))]
        places = tuple(list(axes).index(self.places[k]) for k in kept)
        return View(places, tuple(self.shape[k] for k in kept), self.rows[margin.reshape(-1)])

    def if_independent(self, shares: Sequence[Array], is_flag: bool) -> Array:
        """The axis' vector (1, shares of its columns), if features have these shares of answers and are independent."""
        own = [shares[place] for place in self.places]
        if is_flag:
            return np.array([1.0, own[0][1]])
        cells = np.ones(self.rows.shape[1] - 1)
        for k, answers in enumerate(own):
            entries = np.arange(len(self.rows)).reshape(self.shape)
            marks = self.rows[entries[tuple(slice(None) if j == k else 0 for j in range(len(self.shape)))], 1:]
            if len(answers) > len(marks) - 1:  # a flag: its False is all but True
                cells *= answers[0] + (answers[1] - answers[0]) * marks[1]
            else:
                cells *= answers @ marks[1:]
        return np.concatenate([[1.0], cells / cells.sum()])

    def axis_of_cells(self, axis: Axis) -> Axis:
        """The axis over the combinations of these features' answers, given the block's."""
        if axis.m == 1:
            return axis
        rows = flat([answer_rows(length - 1) for length in self.shape]) @ self.rows
        weights = None if axis.weights is None else (rows[:, :1] + rows[:, 1:]) @ axis.weights
        return axis.margin(len(rows), weights)

    def weights(self, of_features: Sequence[Array]) -> Array:
        """Weights of the block's axis, given those of each feature of the table: vectors, or matrices of rows."""
        return np.asarray(flat([of_features[place] for place in self.places]) @ self.rows)


@dataclass(frozen=True, eq=False)
class BlockGroup:
    """Respondents who were asked the same blocks, with the covariance of their estimate in product form over blocks."""

    inner: Group
    views: tuple[View, ...]

    @classmethod
    def from_counts(
        cls, n: int, asked: int, blocks: Sequence[BlockPart], counts: npt.NDArray[np.int64]
    ) -> "BlockGroup":
        """The estimate from counts of whole blocks, an axis each."""
        axes = tuple(block.axis for block in blocks)
        inner = Group.from_counts(n, asked, axes, reduced_counts(blocks, counts))
        return cls(inner, tuple(View.of(block.part) for block in blocks))

    @property
    def n(self) -> int:
        return self.inner.n

    @property
    def asked(self) -> int:
        return self.inner.asked

    @property
    def truth(self) -> Array:
        return self._by_feature(along(self.inner.truth, [view.rows for view in self.views]), self._shapes)

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.inner.axes

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return self.inner.subjects

    @property
    def intervals_from(self) -> str:
        return self.inner.intervals_from

    @property
    def adds_up(self) -> bool:
        return self.inner.adds_up

    @property
    def unshrunk(self) -> None:
        return None

    @property
    def linear(self) -> tuple[Respondents, ...]:
        return (self,)

    def project(self, axes: Sequence[int]) -> "BlockGroup":
        kept = [k for k, view in enumerate(self.views) if set(view.places) & set(axes)]
        return BlockGroup(self.inner.project(kept), tuple(self.views[k].project(axes) for k in kept))

    def as_arms(self) -> ArmsGroup:
        """The same estimate as one over arms, of which there is one kind."""
        shape = self.truth.shape
        blocks = tuple(view.places for view in self.views)
        levels = tuple(answer_count(length - 1) for length in shape)
        axes = tuple(view.axis_of_cells(axis) for view, axis in zip(self.views, self.axes, strict=True))
        counts = np.zeros([1 + axis.columns for axis in axes], np.int64)
        kind = ArmKind(self.asked, tuple(range(len(shape))), levels, blocks, axes, counts)
        cells = along(self.truth / self.n, [answer_rows(length - 1) for length in shape]).reshape(-1)
        seen = Evidence(tuple(length - 1 for length in shape), (kind.scaled(kind.n, cells),))
        return ArmsGroup(self.n, seen, tuple(range(len(shape))), waves=False)

    def covariance(self, left: Sequence[Array], right: Sequence[Array], subject: Subject) -> Array:
        found = self.inner.covariance(self._weights(left), self._weights(right), subject)
        return self._by_feature(found, row_counts(left)) if left[0].ndim > 1 else found

    def dense(self, subject: Subject) -> Array:
        """The covariance matrix of all entries, in C order of the table of features."""
        return self._dense(self.inner.dense(subject))

    def variances(self, subject: Subject) -> Array:
        rows = [view.rows for view in self.views]
        return self._by_feature(self.inner.covariance(rows, rows, subject), self._shapes)

    def unconditional_variances(self, subject: Subject) -> Array:
        return self.variances(subject)

    def cumulants(self, rows: Sequence[Array], subject: Subject) -> Cumulants:
        return self._cumulants(self.inner.cumulants(self._weights(rows), subject), rows)

    def with_shape(self, rows: Sequence[Array], subject: Subject) -> tuple[Cumulants, Cumulants]:
        found, shape = self.inner.with_shape(self._weights(rows), subject)
        return self._cumulants(found, rows), self._cumulants(shape, rows)

    def judged(self, rows: Sequence[Array], subject: Subject) -> Judged:
        found = self.inner.judged(self._weights(rows), subject)
        assert found.references is not None
        assert found.shape is not None
        independent, even = (self._cumulants(one, rows) for one in found.references)
        own, shape = (self._cumulants(one, rows) for one in (found.found, found.shape))
        fixed = self._by_feature(found.fixed, row_counts(rows))
        return replace(found, found=own, fixed=fixed, references=(independent, even), shape=shape)

    def exact(self, weights: Sequence[Array], subject: Subject) -> OneColumn | None:
        """The exact distribution of an answer to one feature that is asked alone."""
        looked_at = [view for view in self.views if any(weights[place][1:].any() for place in view.places)]
        if len(looked_at) != 1 or not np.array_equal(looked_at[0].rows, np.eye(len(looked_at[0].rows))):
            return None
        return self.inner.exact(self._weights(weights), subject)

    def sampling_covariance(self, left: Sequence[Array], right: Sequence[Array]) -> Array:
        return self.inner.sampling_covariance(self._weights(left), self._weights(right))

    def sampling_variance(self, weights: Array) -> float:
        order = [place for view in self.views for place in view.places]
        by_block = weights.transpose(order).reshape([len(view.rows) for view in self.views])
        return self.inner.sampling_variance(along(by_block, [view.rows.T for view in self.views]))

    def zero_by_chance(self, subject: Subject) -> bool:
        return self.inner.zero_by_chance(subject)

    def at_independence(self) -> Array:
        """The covariance of all entries about the population, in C order, if all features were independent."""
        return self._dense(self._independent().dense(Subject.POPULATION))

    def if_independent(self, rows: Sequence[Array]) -> Cumulants:
        """The cumulants about the population of all combinations of rows, if all features were independent."""
        return self._cumulants(self._independent().cumulants(self._weights(rows), Subject.POPULATION), rows)

    @property
    def seen(self) -> SeenTable:
        """What the reports say of all cells of the blocks, for a proper table that is closest to it."""
        return self.inner.seen

    @property
    def of_cells(self) -> Array:
        """The matrix from the numbers of respondents in all cells of the blocks to all entries."""
        return self._of_entries @ self.inner.of_cells

    def dense_at(self, shares: Array, subject: Subject) -> Array:
        """The covariance matrix of all entries, were these the shares of all cells of the blocks."""
        return self._dense(self.inner.dense_at(shares, subject))

    def sums_at(self, weights: Array, shares: Array, subject: Subject) -> Cumulants:
        """The cumulants for rows of any weights of all entries, were these the shares of all cells of the blocks."""
        return self.inner.sums_at(weights @ self._of_entries, shares, subject)

    @property
    def _of_entries(self) -> Array:
        """The matrix from entries by block to entries by feature, in C order of both."""
        return flat([view.rows for view in self.views])[self._places]

    @property
    def _places(self) -> npt.NDArray[np.intp]:
        """Where the entries by feature stand among those of the views, in C order of both."""
        return self._by_feature(np.arange(prod(self._shapes)), self._shapes).reshape(-1)

    def _independent(self) -> Group:
        """The same reports if all features were independent with these margins, within blocks and across them."""
        truth = self.truth
        shares = [proper_margin(truth, place) for place in range(truth.ndim)]
        vectors = [view.if_independent(shares, axis.m == 1) for view, axis in zip(self.views, self.axes, strict=True)]
        return replace(self.inner, truth=self.n * reduce(np.multiply.outer, vectors))

    def _weights(self, of_features: Sequence[Array]) -> list[Array]:
        """One vector, or matrix of rows, of weights for each block."""
        return [view.weights(of_features) for view in self.views]

    @property
    def _shapes(self) -> list[int]:
        """The length of each feature's axis, in the table's order."""
        lengths = {place: size for view in self.views for place, size in zip(view.places, view.shape, strict=True)}
        return [lengths[place] for place in range(len(lengths))]

    def _by_feature(self, by_block: npt.NDArray[Any], lengths: Sequence[int]) -> npt.NDArray[Any]:
        """A tensor with an axis for each block as one with an axis for each feature, in the table's order."""
        order = [place for view in self.views for place in view.places]
        return np.asarray(by_block.reshape([lengths[place] for place in order]).transpose(np.argsort(order)))

    def _dense(self, covariance: Array) -> Array:
        """The covariance of all entries by feature, from that of all entries by block."""
        by_block = sandwich([view.rows for view in self.views], covariance)
        places = self._places
        return np.asarray(by_block[np.ix_(places, places)])

    def _cumulants(self, found: Cumulants, rows: Sequence[Array]) -> Cumulants:
        lengths = row_counts(rows)
        return Cumulants(*(self._by_feature(getattr(found, part.name), lengths) for part in fields(found)))
