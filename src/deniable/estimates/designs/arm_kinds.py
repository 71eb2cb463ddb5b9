"""Kinds of arms: reports that say the same of a table in the same way, pooled over the arms that they came from.

Of a table, arms that ask the same of its features, in blocks that are randomized alike, have the same distribution
whatever else they ask, so that their counts are added: of hundreds of arms a handful of kinds is left. One report of a
kind gives an unbiased estimate z of which cell of its part of the table is true, with exact moments for one block.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.counts.counts import Counts
from deniable.estimates.designs.table_parts import block_parts, reduced_counts, weighted_parts
from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import along, answer_count, answer_rows, invert, moment_matrix

# Products of pairs of cells of blocks are made so many at a time: 16 MB.
MOST_PAIRS = 1 << 21


@dataclass(frozen=True, eq=False)
class ReportMoments:
    """Moments of weighted sums Y = b z of one report of a kind, for rows b, about a population with a given table."""

    mean: Array
    variance: Array
    third: Array  # cumulant
    fourth: Array  # cumulant
    squares: Array  # E[Y^2 | cell]: rows by cells


@dataclass(frozen=True, eq=False)
class ArmKind:
    """n reports of one kind: which features of a table they are of, the axes of their blocks, and the mean of z."""

    n: float  # whole, but for surveys that are only expected
    places: tuple[int, ...]  # of its features in the table, rising
    levels: tuple[int, ...]  # how many answers each of them has
    blocks: tuple[tuple[int, ...], ...]  # places of the features of each block
    axes: tuple[Axis, ...]
    counts: npt.NDArray[np.int64]  # an axis (all, cells) for each block

    @cached_property
    def shares(self) -> Array:
        """The estimated share of each cell of its part of the table, in C order: the mean of z."""
        by_entry = invert(self.axes, self.counts) / self.n
        cells = along(by_entry, [answer_rows(axis.columns) for axis in self.axes])
        return np.asarray(self._by_table(cells[None])[0])

    @property
    def cells(self) -> int:
        """How many cells its part of the table has."""
        return prod(self.levels)

    @property
    def key(self) -> tuple[object, ...]:
        """What reports of one kind have in common."""
        return self.blocks, tuple(axis.kind for axis in self.axes)

    def pooled(self, other: "ArmKind") -> "ArmKind":
        """The reports of both, which are of the same kind; weights of centring are their mean by numbers of reports."""
        n = self.n + other.n
        axes = tuple(
            mine
            if mine.weights is None or its.weights is None
            else replace(mine, weights=(self.n * mine.weights + other.n * its.weights) / n)
            for mine, its in zip(self.axes, other.axes, strict=True)
        )
        return replace(self, n=n, axes=axes, counts=self.counts + other.counts)

    @property
    def plain(self) -> "ArmKind":
        """The same kind with equal weights of centring."""
        return replace(self, axes=tuple(axis.plain for axis in self.axes))

    def weighted(self, table: Array) -> "ArmKind":
        """The same kind with the best weights of centring where its cells have these shares."""
        by_block, blocks = self.by_block(table[None])[0], range(len(self.blocks))
        lines = [by_block.sum(axis=tuple(other for other in blocks if other != block)) for block in blocks]
        return replace(self, axes=tuple(axis.weighted(line) for axis, line in zip(self.axes, lines, strict=True)))

    def scaled(self, n: float, table: Array) -> "ArmKind":
        """The same kind with n reports whose mean is a given table of its cells, as if there were no noise.

        Of a survey that is only expected, n need not be whole.
        """
        made = replace(self, n=n)
        made.__dict__["shares"] = table
        return made

    @cached_property
    def root(self) -> Array:
        """A root of the covariance of one report's estimate of its cells, which is singular: shares sum to one."""
        values, vectors = np.linalg.eigh(self.seconds(self.shares) - np.outer(self.shares, self.shares))
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))

    def drawn(self, n: float, rng: np.random.Generator) -> "ArmKind":
        """The same kind with n simulated reports: a normal draw of what they say around what these do."""
        return self.scaled(n, self.shares + self.root @ rng.standard_normal(self.cells) / np.sqrt(n))

    def seconds(self, table: Array) -> Array:
        """The matrix E[z z'] of one report, if cells have these shares."""
        if len(self.axes) == 1:
            return self.axes[0].cell_seconds(table)
        by_block = moment_matrix(self.by_block(table[None])[0], self._channels)
        order = self._by_table(np.arange(self.cells)[None])[0]
        return by_block[np.ix_(order, order)]

    def over_table(self, rows: Array, levels: Sequence[int]) -> Array:
        """Rows of numbers of its own cells as rows of all cells of a table with so many answers, of which its are sums.

        That is the transposed matrix of sums, X'.
        """
        own = [m if place in self.places else 1 for place, m in enumerate(levels)]
        return np.broadcast_to(rows.reshape(-1, *own), (len(rows), *levels)).reshape(len(rows), -1)

    def moments(self, rows: Array, table: Array) -> ReportMoments:
        """Moments of one report's weighted sums, given rows of weights of all cells.

        Of several blocks of which each marks one value alone they are exact, too. Else the third and fourth cumulants
        are those of the closest weights that are a product over blocks, scaled to the variance, which is exact.
        """
        mean = rows @ table
        if len(self.axes) == 1:
            _, e2, e3, e4 = self.axes[0].cell_powers(rows)
            return ReportMoments(mean, *cumulants_of(mean, e2 @ table, e3 @ table, e4 @ table), e2)
        if self._outcomes is not None:
            return self._by_outcome(rows, table, *self._outcomes)
        squares = self._squares(rows)
        variance = squares @ table - mean**2
        own, third, fourth = self._near_products(rows, table)
        spread = np.divide(np.maximum(variance, 0), own, out=np.zeros_like(own), where=own > 0)
        return ReportMoments(mean, variance, third * spread**1.5, fourth * spread**2, squares)

    @cached_property
    def _channels(self) -> list[Array]:
        """E[z z' | cell] of each block, over its own cells."""
        return [
            np.stack([axis.cell_seconds(one) for one in np.eye(answer_count(axis.columns))], axis=-1)
            for axis in self.axes
        ]

    @cached_property
    def _outcomes(self) -> tuple[list[Array], list[Array]] | None:
        """The estimates by outcome and the channel of each block, if each marks one value alone."""
        found = [axis.outcomes for axis in self.axes]
        each = [one for one in found if one is not None]
        return ([z for z, _ in each], [channel for _, channel in each]) if len(each) == len(found) else None

    def _by_outcome(
        self, rows: Array, table: Array, estimates: Sequence[Array], channels: Sequence[Array]
    ) -> ReportMoments:
        """Moments of one report's weighted sums Y, over all that it can show of several blocks."""
        Y = along(np.moveaxis(self.by_block(rows), 0, -1), estimates)
        squares = self._by_table(along(np.moveaxis(Y**2, 0, -1), [channel.T for channel in channels]))
        chances = along(self.by_block(table[None])[0], channels).reshape(-1)
        mean, y = rows @ table, Y.reshape(len(rows), -1)
        return ReportMoments(mean, *cumulants_of(mean, y**2 @ chances, y**3 @ chances, y**4 @ chances), squares)

    def _squares(self, rows: Array) -> Array:
        """E[(b z)^2 | cell] for rows of weights over several blocks.

        The first block is summed over before the products of all pairs of the others' cells are made, and these for
        some rows at a time: they are many.
        """
        (first, *others), n = self._channels, len(rows)
        pairs = prod(map(len, others)) ** 2 * len(first)
        if n > (step := max(1, MOST_PAIRS // pairs)):
            return np.concatenate([self._squares(rows[start : start + step]) for start in range(0, n, step)])
        b = self.by_block(rows).reshape(n, len(first), -1)
        half = (first.T.reshape(-1, len(first)) @ b).reshape(n, len(first), len(first), -1)
        product = (b.swapaxes(1, 2)[:, None] @ half).reshape(n, len(first), *2 * [len(other) for other in others])
        for k, channel in enumerate(others):  # the two axes of this block go, and its cells come last
            product = np.tensordot(product, channel, axes=([2, 2 + len(others) - k], [0, 1]))
        return np.asarray(self._by_table(product))

    def _near_products(self, rows: Array, table: Array) -> tuple[Array, Array, Array]:
        """Variance, third and fourth cumulant of the product over blocks that is closest to each row of weights."""
        vectors = _leading_products(self.by_block(rows))
        powers = zip(*(axis.cell_powers(vector) for axis, vector in zip(self.axes, vectors, strict=True)), strict=True)
        by_block = self.by_block(table[None])
        return cumulants_of(*(_expected(by_block, each) for each in powers))

    @property
    def _order(self) -> list[int]:
        """Where the features of all blocks, one block after another, stand among this kind's features."""
        return [self.places.index(place) for block in self.blocks for place in block]

    def by_block(self, rows: Array) -> Array:
        """Rows over cells in the table's order as tensors with an axis for each block."""
        tensor = rows.reshape(-1, *self.levels).transpose(0, *(1 + place for place in self._order))
        return tensor.reshape(-1, *(answer_count(axis.columns) for axis in self.axes))

    def _by_table(self, tensors: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Tensors with an axis for each block as rows over cells in the table's order."""
        by_feature = tensors.reshape(-1, *(self.levels[place] for place in self._order))
        return by_feature.transpose(0, *(1 + np.argsort(self._order))).reshape(-1, self.cells)


def arm_kinds(counts: Iterable[Counts], names: Sequence[str], *, plain: bool = False) -> list[ArmKind]:
    """What reports say of the table of these features: those of all arms that ask any of them, pooled by their kind.

    They are centred with the best weights of each arm's own counts, or plainly.
    """
    found: dict[tuple[object, ...], ArmKind] = {}
    for one in counts:
        for kind in _of_each_arm(one, names, plain=plain):
            found[kind.key] = found[kind.key].pooled(kind) if kind.key in found else kind
    return list(found.values())


def _of_each_arm(counts: Counts, names: Sequence[str], *, plain: bool) -> Iterator[ArmKind]:
    """What each arm says of a table; arms that nobody fell into, or that were not counted for it, say nothing."""
    for arm in counts.arms:
        blocks = block_parts(arm.plan, names, centred=True)
        units = tuple(block.block.unit.name for block in blocks)
        if not units or not arm.holds_units(units) or not (counted := arm.evidence(*units)).flat[0]:
            continue
        if not plain:
            blocks = weighted_parts(blocks, counted)
        places = tuple(sorted(place for block in blocks for place in block.part.places))
        array = reduced_counts(blocks, counted)
        levels = tuple(arm.plan.schema[names[place]].levels for place in places)
        axes = tuple(block.axis for block in blocks)
        yield ArmKind(int(array.flat[0]), places, levels, tuple(block.part.places for block in blocks), axes, array)


def cumulants_of(mean: Array, e2: Array, e3: Array, e4: Array) -> tuple[Array, Array, Array]:
    """Second, third and fourth cumulants from the moments about zero."""
    variance = e2 - mean**2
    third = e3 - 3 * mean * e2 + 2 * mean**3
    fourth = e4 - 4 * mean * e3 - 3 * e2**2 + 12 * mean**2 * e2 - 6 * mean**4
    return variance, third, fourth


def _expected(table: Array, by_block: Sequence[Array]) -> Array:
    """Means over a table, with an axis for each block after the first, of products of functions of blocks' cells."""
    for values in by_block:
        table = (values[:, None] @ table.reshape(len(table), values.shape[1], -1))[:, 0]
    return table[:, 0]


def _leading_products(tensors: Array) -> list[Array]:
    """Vectors for each axis but the first, whose outer products are close to tensors: leading singular vectors."""
    vectors, n = [], len(tensors)
    while tensors.ndim > 2:
        left, sizes, right = np.linalg.svd(tensors.reshape(n, tensors.shape[1], -1), full_matrices=False)
        vectors.append(left[:, :, 0])
        tensors = (sizes[:, :1] * right[:, 0]).reshape(n, *tensors.shape[2:])
    return [*vectors, tensors]
