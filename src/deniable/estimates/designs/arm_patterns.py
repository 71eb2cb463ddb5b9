"""The distinct patterns of evidence of a design: the likelihood of a table is the product over its arms' reports.

Of a block, a report says how many values it marks of those that share the table's answers. As protocols are
exchangeable, the likelihood of these answers follows from that number alone: of s values of which k are marked,
k times the odds of a marked one and s - k times those of an unmarked one, over s.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from deniable.counts.evidence_planes import gather
from deniable.estimates.designs.table_parts import BlockPart, block_parts
from deniable.estimates.pattern_likelihoods import Codes, Grid, Tree, distinct_patterns
from deniable.inference.one_feature import Array
from deniable.inference.tensors import flat
from deniable.reports.fields import fields
from deniable.reports.reports import Reports
from deniable.survey.protocols.base import Shown


@dataclass(frozen=True, eq=False)
class ArmPatterns:
    """The patterns that reports of one arm show of a table, and the sums of the table's cells that they depend on."""

    n: int
    seen: Grid | Tree
    sums: Array  # cells of the arm's part of the table, block by block, from those of the table

    def curvature(self, w: Array) -> Array:
        """The observed information, cells by cells of the table."""
        return self.sums.T @ self.seen.curvature(w) @ self.sums


@dataclass(frozen=True, eq=False)
class Design:
    """The patterns of all arms that ask any feature of a table."""

    arms: tuple[ArmPatterns, ...]

    @property
    def n(self) -> int:
        """How many reports there are."""
        return sum(arm.n for arm in self.arms)

    @cached_property
    def h(self) -> Array:
        """The share of all reports that show each pattern."""
        return np.concatenate([arm.n / self.n * arm.seen.h for arm in self.arms])

    @cached_property
    def _cuts(self) -> Codes:
        """Where the patterns of each arm but the first begin."""
        return np.cumsum([len(arm.seen.h) for arm in self.arms])[:-1]

    def forth(self, t: Array) -> Array:
        """The likelihoods L t: how likely each pattern is, given its arm."""
        return np.concatenate([arm.seen.forth(arm.sums @ t) for arm in self.arms])

    def back(self, w: Array) -> Array:
        """The gradient L' w, over cells."""
        parts = zip(self.arms, np.split(w, self._cuts), strict=True)
        return np.asarray(sum(arm.sums.T @ arm.seen.back(own) for arm, own in parts))

    def curvature(self, w: Array) -> Array:
        """The observed information L' diag(w) L, cells by cells."""
        parts = zip(self.arms, np.split(w, self._cuts), strict=True)
        return np.asarray(sum(arm.curvature(own) for arm, own in parts))


def design_patterns(reports: Reports, names: Sequence[str]) -> Design:
    """The distinct patterns of evidence that the reports of a design show of some features."""
    levels = [reports.plan.schema[name].levels for name in names]
    arms = []
    for arm in reports.arms:
        blocks = block_parts(arm.plan, names, centred=True) if len(arm) else []
        if blocks:
            arms.append(ArmPatterns(len(arm), _seen(arm, blocks), _sums(blocks, levels)))
    return Design(tuple(arms))


def _seen(arm: Reports, blocks: Sequence[BlockPart]) -> Grid | Tree:
    """The patterns that the reports of one arm show of these blocks."""
    units = [block.block.unit.name for block in blocks]
    shown = gather(arm.plan, arm.table, units, 0)
    both = [_codes_and_likelihood(arm, block, shown[unit]) for block, unit in zip(blocks, units, strict=True)]
    return distinct_patterns([codes for codes, _ in both], [channel for _, channel in both], len(arm))


def _codes_and_likelihood(arm: Reports, block: BlockPart, shown: Shown) -> tuple[Codes, Array]:
    """Which distinct pattern each report shows of a block, and the likelihood of the table's answers for each of them.

    Of a block with other questions too, all that counts is how many values are marked of each combination of answers.
    """
    protocol, field = block.block.protocol, fields(arm.plan)[block.block.unit.name]
    if block.part.alone:
        codes, patterns = field.patterns(shown, len(arm))
        return codes, protocol.likelihood(patterns)
    cells = prod(block.part.levels)
    each = protocol.columns // cells
    yes, no = protocol.odds
    marked = field.marked(shown, len(arm), block.cell_of_value, cells)
    patterns, codes = np.unique(marked, axis=0, return_inverse=True)
    k = patterns / each
    return codes.reshape(-1), np.asarray(yes * k + no * (1 - k))


def _sums(blocks: Sequence[BlockPart], levels: Sequence[int]) -> Array:
    """The matrix from cells of a table to those of an arm's part of it, block by block."""
    order = [place for block in blocks for place in block.part.places]
    rows = flat([np.eye(m) if place in order else np.ones((1, m)) for place, m in enumerate(levels)])
    kept = sorted(order)
    by_table = np.arange(len(rows)).reshape([levels[place] for place in kept])
    return rows[by_table.transpose([kept.index(place) for place in order]).reshape(-1)]
