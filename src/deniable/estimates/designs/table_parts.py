"""What the blocks of one arm say of a table: each is one axis, over the combinations of its features in the table.

A block's other features are summed over. Protocols are exchangeable, so that the noise of such a margin depends on the
true answers through the same margin alone, and one axis over it (`Axis.margin`) has all moments.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import answer_count, flat, margins, weighted
from deniable.survey.blocks import Block
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Protocol


@dataclass(frozen=True)
class Part:
    """The features of a table that one block asks: where they stand in the table, and their evidence columns.

    A feature that is asked alone has its own axis; of a larger block, the axis is over combinations of answers.
    """

    places: tuple[int, ...]
    columns: tuple[int, ...]
    alone: bool

    @property
    def levels(self) -> tuple[int, ...]:
        """How many answers each of the features has."""
        return tuple(map(answer_count, self.columns))

    @cached_property
    def entries(self) -> Array:
        """The matrix from the block's axis to the entries of its features' table, margins at index 0, in C order.

        That nothing is looked at is known without noise; all other entries are sums of combinations.
        """
        if self.alone:
            return np.eye(1 + self.columns[0])
        sums = flat([margins(columns) for columns in self.columns])
        matrix = np.hstack([np.zeros((len(sums), 1)), sums])
        matrix[0] = np.eye(1, matrix.shape[1])
        return matrix


@dataclass(frozen=True)
class BlockPart:
    """One block of an arm that asks features of a table: the block, its part of the table, and its axis."""

    block: Block
    part: Part
    axis: Axis
    names: tuple[str, ...]  # of its features in the table, in the table's order

    @property
    def cell_of_value(self) -> npt.NDArray[np.int64]:
        """Which cell of the table's part each value of the block belongs to."""
        codes = np.unravel_index(np.arange(prod(self.block.levels)), self.block.levels)
        own = [codes[self.block.names.index(name)] for name in self.names]
        return np.ravel_multi_index(own, self.part.levels).astype(np.int64)

    def weighted(self, whole: Axis) -> "BlockPart":
        """The same with the weights of centring that the axis of the whole block has, summed to those of the table."""
        if whole.weights is None:
            return self
        weights = self.reduced(np.concatenate([[1.0], whole.weights]), 0)[1:]
        return replace(self, axis=replace(self.axis, weights=weights))

    def reduced(self, counts: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
        """Counts with the block's axis over all its combinations summed to those of its features in the table."""
        if len(self.block.features) == 1:
            return counts
        last = np.moveaxis(counts, axis, -1) if counts.ndim > 1 else counts
        cells = last[..., 1:].reshape(*last.shape[:-1], *self.block.levels)
        kept = [self.block.names.index(name) for name in self.names]
        first = cells.ndim - len(self.block.levels)
        summed = cells.sum(axis=tuple(first + k for k in range(len(self.block.levels)) if k not in kept))
        order = [sorted(kept).index(place) for place in kept]
        summed = summed.transpose(*range(first), *(first + place for place in order))
        flat_cells = summed.reshape(*last.shape[:-1], prod(self.part.levels))
        whole = np.concatenate([last[..., :1], flat_cells], axis=-1)
        return np.moveaxis(whole, -1, axis) if counts.ndim > 1 else whole


def block_parts(arm: Plan, names: Sequence[str], *, centred: bool) -> list[BlockPart]:
    """The blocks of a plan without arms that ask any of these features, in the plan's order."""
    found = []
    for block in arm.blocks:
        own = tuple(name for name in names if name in block.names)
        if own:
            columns = tuple(len(arm.schema[name].columns) for name in own)
            part = Part(tuple(names.index(name) for name in own), columns, alone=len(block.features) == 1)
            cells = None if part.alone else prod(part.levels)
            found.append(BlockPart(block, part, _axis(block.protocol, cells, centred=centred), own))
    return found


@lru_cache(maxsize=4096)
def _axis(protocol: Protocol, cells: int | None, *, centred: bool) -> Axis:
    """The axis of a block's protocol, over so many sums of its combinations if it asks several questions.

    Hundreds of arms have the same few.
    """
    axis = Axis.of(protocol, centred=centred)
    return axis if cells is None else axis.margin(cells)


def weighted_parts(blocks: Sequence[BlockPart], counts: npt.NDArray[np.int64]) -> list[BlockPart]:
    """The same blocks with weights of centring from each one's own counts of all combinations, whatever the table."""
    axes = [_axis(block.block.protocol, None, centred=True) for block in blocks]
    if not any(axis.weighs for axis in axes):
        return list(blocks)
    axes = list(weighted(axes, counts))
    return [block.weighted(axis) for block, axis in zip(blocks, axes, strict=True)]


def reduced_counts(blocks: Sequence[BlockPart], counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Counts of whole units, an axis for each of these blocks, as counts over the table's part of each block."""
    for axis, block in enumerate(blocks):
        counts = block.reduced(counts, axis)
    return counts
