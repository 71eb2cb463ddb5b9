"""The distinct patterns of evidence that reports show, and what each says of every combination of answers.

L is how likely each pattern is for each combination of answers: a product over features, so it is applied feature by
feature and never written down. Another matrix for each feature, patterns by anything, goes the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.counts.evidence_planes import gather
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along, as_matrix, flat
from deniable.kernels import tools_for
from deniable.reports.fields import fields
from deniable.reports.reports import Reports

MOST_GRID = 1 << 22  # A dense tensor of patterns, seen or not, holds at most so many of them.
SMALL_GRID = 1 << 16  # Up to so many patterns are kept in a dense tensor however few the reports are.
FOR_A_CLIMB = 5.5e-6  # Numpy takes so many seconds for a pattern and a flag in 250 steps of EM.
GROUP = 64  # Neighbouring features whose patterns together are no more than this are taken as one.
FEW = 256  # Up to so many patterns of all features, compiled code is not worth it.
MOST_PAIRS = 1 << 25  # The information matrix is summed up pattern by pattern if its tensor would have more numbers.
BLOCK = 1 << 21  # Rows of L are made so many numbers at a time.

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grid:
    """All combinations of the features' patterns, as a dense tensor of shares."""

    shares: Array
    channels: tuple[Array, ...]  # of each feature, patterns by answers

    @cached_property
    def h(self) -> Array:
        """The share of reports that show each pattern."""
        return self.shares.reshape(-1)

    @cached_property
    def grouped(self) -> list[Array]:
        """The channels of neighbouring features as one, so that there are few products; two, if they are small."""
        sizes, cuts = self.shares.shape, range(1, len(self.channels))
        if cuts and self.shares.size <= GROUP**2:
            cut = min(cuts, key=lambda k: prod(sizes[:k]) + prod(sizes[k:]))
            return [flat(self.channels[:cut]), flat(self.channels[cut:])]
        groups: list[list[Array]] = [[]]
        for channel in self.channels:
            if prod(map(len, groups[-1])) * len(channel) > GROUP:
                groups.append([])
            groups[-1].append(channel)
        return [flat(group) for group in groups if group]

    @cached_property
    def tools(self) -> ModuleType | None:
        """What mixes the axes of many flags, for a climb of 250 steps; None if they are not flags, or few."""
        if self.shares.size <= FEW or any(channel.shape != (2, 2) for channel in self.channels):
            return None
        return tools_for(FOR_A_CLIMB * self.shares.size * len(self.channels))

    def forth(self, t: Array) -> Array:
        """The likelihoods L t: how likely each pattern is."""
        if self.tools is None:
            return _along(t, self.grouped)
        f = t.copy()
        self.tools.mix(self.flags, f)
        return f

    def back(self, w: Array) -> Array:
        """The gradient L' w, over cells."""
        if self.tools is None:
            return _along(w, [channel.T for channel in self.grouped])
        gradient = w.copy()
        self.tools.mix(self.flags.transpose(0, 2, 1), gradient)
        return gradient

    @cached_property
    def flags(self) -> Array:
        """The channels, if all of them are those of flags."""
        return np.array(self.channels)

    def curvature(self, w: Array) -> Array:
        """The observed information L' diag(w) L, cells by cells."""
        levels = [channel.shape[1] for channel in self.channels]
        widths = [prod(m**2 for m in levels[:k]) * prod(self.shares.shape[k:]) for k in range(len(levels) + 1)]
        if max(widths) * max(levels) ** 2 > MOST_PAIRS:
            seen = np.flatnonzero(self.h)
            return _summed(self.channels, np.column_stack(np.unravel_index(seen, self.shares.shape)), w[seen])
        pairs = along(w.reshape(self.shares.shape), [_pairs(channel).T for channel in self.channels])
        return as_matrix(pairs.reshape([m for level in levels for m in (level, level)]), len(levels))


@dataclass(frozen=True, eq=False)
class Tree:
    """Only the combinations that were seen, sorted, as a tree: features are taken one after the other.

    `rows` has a pattern of each feature. `patterns[k]` is the k-th feature's at each node of depth k + 1, and it hangs
    on the node `parents[k]`.
    """

    h: Array
    channels: tuple[Array, ...]
    rows: Codes
    patterns: tuple[Codes, ...]
    parents: tuple[Codes, ...]

    @cached_property
    def likelihoods(self) -> list[Array]:
        """How likely the pattern at each node is, by the feature's answers; one array for each feature."""
        return [channel[pattern] for channel, pattern in zip(self.channels, self.patterns, strict=True)]

    def forth(self, t: Array) -> Array:
        """The likelihoods L t: how likely each pattern is."""
        nodes = t.reshape(1, -1)
        for likelihoods, parent in zip(self.likelihoods, self.parents, strict=True):
            split = nodes.reshape(len(nodes), likelihoods.shape[1], -1)
            if len(nodes) == 1:  # all hang on one node, as the first feature's do
                nodes = likelihoods @ split[0]
            else:
                each = split if len(parent) == len(split) else split[parent]
                nodes = np.einsum("jm,jmr->jr", likelihoods, each)
        return nodes.reshape(-1)

    def back(self, w: Array) -> Array:
        """The gradient L' w, over cells."""
        nodes = w.reshape(-1, 1)
        for likelihoods, onto in reversed(list(zip(self.likelihoods, self.sums, strict=True))):
            if onto is not None and onto.shape[0] == 1:  # all hang on one node
                nodes = (likelihoods.T @ nodes).reshape(1, -1)
                continue
            nodes = (likelihoods[:, :, None] * nodes[:, None, :]).reshape(len(nodes), -1)
            nodes = nodes if onto is None else onto @ nodes
        return nodes.reshape(-1)

    @cached_property
    def sums(self) -> list[Any]:
        """Of each depth the sparse matrix that adds what hangs on one node; None where only one node hangs on each."""
        from scipy.sparse import csr_array

        def onto(parent: Codes) -> Any:
            ends = np.append(np.flatnonzero(np.diff(parent, prepend=-1)), len(parent))
            made = csr_array((np.ones(len(parent)), np.arange(len(parent)), ends), (len(ends) - 1, len(parent)))
            return None if made.shape[0] == len(parent) > 1 else made

        return [onto(parent) for parent in self.parents]

    def curvature(self, w: Array) -> Array:
        """The observed information L' diag(w) L, cells by cells."""
        return _summed(self.channels, self.rows, w)


def _along(line: Array, matrices: list[Array]) -> Array:
    """One matrix along each axis of a tensor, from flat to flat."""
    if len(matrices) == 1:
        return np.asarray(matrices[0] @ line)
    if len(matrices) == 2:
        left, right = matrices
        return np.asarray(left @ line.reshape(left.shape[1], -1) @ right.T).reshape(-1)
    return along(line.reshape([matrix.shape[1] for matrix in matrices]), matrices).reshape(-1)


def _pairs(channel: Array) -> Array:
    """Products of a channel's columns, two by two."""
    return (channel[:, :, None] * channel[:, None, :]).reshape(len(channel), -1)


def _summed(channels: Sequence[Array], rows: Codes, w: Array) -> Array:
    """L' diag(w) L, some rows of L at a time."""
    cells = prod(channel.shape[1] for channel in channels)
    total = np.zeros((cells, cells))
    step = max(1, BLOCK // cells)
    for start in range(0, len(rows), step):
        L = np.ones((len(rows[start : start + step]), 1))
        for channel, patterns in zip(channels, rows[start : start + step].T, strict=True):
            L = (L[:, :, None] * channel[patterns][:, None, :]).reshape(len(L), -1)
        total += L.T @ (w[start : start + step, None] * L)
    return total


def patterns_of(reports: Reports, names: Sequence[str]) -> Grid | Tree:
    """The distinct patterns of evidence that reports show of some features."""
    shown = gather(reports.plan, reports.table, names, 0)
    of = fields(reports.plan)
    codes, seen = zip(*(of[name].patterns(shown[name], len(reports)) for name in names), strict=True)
    channels = [reports.plan[name].likelihood(own) for name, own in zip(names, seen, strict=True)]
    return distinct_patterns(codes, channels, len(reports))


def distinct_patterns(codes: Sequence[Codes], channels: Sequence[Array], reports: int) -> Grid | Tree:
    """The distinct combinations of the patterns that reports show of each feature, given likelihoods of these."""
    channels = tuple(channels)
    sizes, cells = [len(channel) for channel in channels], prod(channel.shape[1] for channel in channels)
    if prod(sizes) <= min(MOST_GRID, max(SMALL_GRID, 4 * reports, cells)):
        joint = np.ravel_multi_index(codes, sizes)
        shares = np.bincount(joint, minlength=prod(sizes)) / reports
        return Grid(shares.reshape(sizes), channels)
    rows, times = np.unique(np.column_stack(codes), axis=0, return_counts=True)
    new = np.cumsum(np.diff(rows, axis=0, prepend=-1) != 0, axis=1) > 0  # where a prefix of each length begins
    nodes = np.cumsum(new, axis=0) - 1
    above = np.column_stack([np.zeros(len(rows), np.int64), nodes[:, :-1]])
    starts = [np.flatnonzero(column) for column in new.T]
    patterns = tuple(rows[start, k] for k, start in enumerate(starts))
    parents = tuple(above[start, k] for k, start in enumerate(starts))
    return Tree(times / reports, channels, rows, patterns, parents)
