"""A log-linear model as a junction tree: tables of cliques that agree on what they share, by message passing.

Cliques of a triangulated graph form a tree in which the cliques of every feature are connected. One pass of messages
towards the first clique and one back, in logarithms, give the margin of each clique, and all of these say

    p(x) = p(first clique) * product over others of p(clique) / p(what it shares with its parent)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.analyses.whole_survey.contrasts import Places, Terms
from deniable.analyses.whole_survey.whole_table import WholeTable, margin_of
from deniable.errors import EstimateError
from deniable.inference.one_feature import Array

# A table that is met on the way to a margin has at most so many cells, in all rows of a batch.
MOST_ON_THE_WAY = 20_000_000
# Rows of coefficients are taken together as long as their tables have at most so many cells.
BATCH = 4_000_000
# The step by which means and margins are differentiated, in coefficients.
STEP = 1e-6
# The place of the axis of a batch, before those of all features.
ROWS = -1

Factor = tuple[Places, Array]  # ROWS and rising places of features, and an axis for each


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """The model of some terms, over cliques that hold each of their sets of features."""

    terms: Terms
    cliques: tuple[Places, ...]

    @cached_property
    def parents(self) -> list[int]:
        """The clique that each is joined to, nearer to the first: a spanning tree of those that share most."""
        parents = [0] * len(self.cliques)
        best = {k: (len(self.shared(0, k)), 0) for k in range(1, len(self.cliques))}
        while best:
            k = max(best, key=lambda one: (best[one][0], -one))
            parents[k] = best.pop(k)[1]
            for other, (most, _) in best.items():
                if (more := len(self.shared(k, other))) > most:
                    best[other] = (more, k)
        return parents

    @cached_property
    def order(self) -> list[int]:
        """Cliques, each after its parent."""
        found = [0]
        for k in found:
            found += [other for other in range(1, len(self.cliques)) if self.parents[other] == k]
        return found

    def shared(self, left: int, right: int) -> Places:
        """The features that two cliques share."""
        return tuple(place for place in self.cliques[left] if place in self.cliques[right])

    @cached_property
    def _local(self) -> list[tuple[WholeTable, npt.NDArray[np.int64]]]:
        """Of each clique, the terms whose home it is, as a model of its own, and where their contrasts stand."""
        sets: list[list[Places]] = [[] for _ in self.cliques]
        for one in self.terms.sets:
            sets[next(k for k, clique in enumerate(self.cliques) if set(one) <= set(clique))].append(one)
        found = []
        for clique, own in zip(self.cliques, sets, strict=True):
            levels = tuple(self.terms.levels[place] for place in clique)
            places = tuple(tuple(clique.index(place) for place in one) for one in own)
            at = [np.arange(self.terms.count)[self.terms.slices[one]] for one in own]
            where = np.concatenate(at) if at else np.zeros(0, np.int64)
            found.append((WholeTable(Terms(levels, places)), where))
        return found

    def tables(self, rows: Array) -> list[Array]:
        """The margins of all cliques, for each row of coefficients: the first axis is that of the batch."""
        logs = [
            machine.logarithms(rows[:, where]).reshape(len(rows), *machine.terms.levels)
            for machine, where in self._local
        ]
        for k in reversed(self.order[1:]):  # towards the first clique
            parent = self.parents[k]
            logs[parent] = logs[parent] + self._over(_log_sum(logs[k], self._gone(k, parent)), k, parent)
        logs[0] = logs[0] - _log_sum(logs[0], tuple(range(1, logs[0].ndim)))
        for k in self.order[1:]:  # and back: what both share becomes what the parent says of it
            parent = self.parents[k]
            told, own = _log_sum(logs[parent], self._gone(parent, k)), _log_sum(logs[k], self._gone(k, parent))
            logs[k] = logs[k] + self._over(told.reshape(len(rows), -1) - own.reshape(len(rows), -1), parent, k)
        return [np.exp(one) for one in logs]

    def _gone(self, k: int, other: int) -> tuple[int, ...]:
        """The axes of a clique that another does not have."""
        return tuple(axis for axis, place in enumerate(self.cliques[k], start=1) if place not in self.cliques[other])

    def _over(self, values: Array, k: int, other: int) -> Array:
        """Values over what two cliques share, to be added to the table of the other."""
        shared = self.shared(k, other)
        levels = [self.terms.levels[place] if place in shared else 1 for place in self.cliques[other]]
        return values.reshape(len(values), *levels)

    def mean(self, coefficients: Array) -> Array:
        """The means of all contrasts."""
        return np.asarray(self._means(coefficients[None])[0])

    def _means(self, rows: Array) -> Array:
        found = np.empty(rows.shape)
        for (machine, where), table in zip(self._local, self.tables(rows), strict=True):
            found[:, where] = machine.means_of(table.reshape(len(rows), -1))
        return found

    def moments(self, coefficients: Array) -> tuple[Array, Array]:
        """The means of all contrasts, and their covariances: the derivatives of the means."""
        mean, slope = self._slope(coefficients, self._means)
        return mean, (slope + slope.T) / 2

    def margin(self, coefficients: Array, places: Places) -> Array:
        """The table of these features, an axis for each in this order."""
        return np.asarray(self.margins(self.tables(coefficients[None]), places)[0])

    def gradient(self, coefficients: Array, places: Places) -> Array:
        """The derivatives of the cells of a margin, in C order, by coefficients."""

        def cells(rows: Array) -> Array:
            return self.margins(self.tables(rows), places).reshape(len(rows), -1)

        return self._slope(coefficients, cells)[1].T

    def _slope(self, coefficients: Array, of: Callable[[Array], Array]) -> tuple[Array, Array]:
        """The value and derivatives of a function of rows of coefficients, a row for each, by small steps."""
        size = max(1, BATCH // sum(machine.cells for machine, _ in self._local))
        every = np.arange(self.terms.count)
        steps = np.split(np.append(-1, every), np.arange(size, self.terms.count + 1, size))  # none in the first row
        here, *moved = np.concatenate([of(coefficients + STEP * (every == some[:, None])) for some in steps])
        return here, (np.array(moved) - here) / STEP

    def margins(self, tables: Sequence[Array], places: Places) -> Array:
        """The tables of some features, from the margins of all cliques: others are summed out, clique by clique."""
        whole = next((k for k, clique in enumerate(self.cliques) if set(places) <= set(clique)), None)
        factor = ((ROWS, *self.cliques[whole]), tables[whole]) if whole is not None else self._below(0, tables, places)
        return margin_of(factor[1], [factor[0].index(place) for place in (ROWS, *places)])

    @cached_property
    def _subtrees(self) -> list[set[int]]:
        """The features of each clique and of all below it."""
        found = [set(clique) for clique in self.cliques]
        for k in reversed(self.order[1:]):
            found[self.parents[k]] |= found[k]
        return found

    def _below(self, k: int, tables: Sequence[Array], wanted: Places) -> Factor:
        """What a clique and those below say of wanted features, given what the clique shares with its parent."""
        clique, above = self.cliques[k], self.shared(k, self.parents[k]) if k else ()
        asked = [
            child
            for child in self.order[1:]
            if self.parents[child] == k and (self._subtrees[child] & set(wanted)) - set(clique)
        ]
        needed = {*above, *wanted, *(place for child in asked for place in self.shared(child, k))}
        own = ((ROWS, *clique), tables[k])
        factor = _kept(own, needed)
        if k:
            under = _kept(own, set(above))[1]
            factor = _product(factor, ((ROWS, *above), np.divide(1, under, out=np.zeros_like(under), where=under > 0)))
        for child in asked:
            factor = _product(factor, self._below(child, tables, wanted))
        return _kept(factor, {*above, *wanted})

    def drawn(self, coefficients: Array, n: int, rng: np.random.Generator) -> list[npt.NDArray[Any]]:
        """The answers of n records that are drawn from the model, an array for each feature."""
        tables, levels = [one[0] for one in self.tables(coefficients[None])], self.terms.levels
        codes: list[Any] = [np.zeros(n, np.int64) for _ in levels]
        for k in self.order:
            clique, above = self.cliques[k], self.shared(k, self.parents[k]) if k else ()
            rest = [place for place in clique if place not in above]
            table = tables[k].transpose([clique.index(place) for place in [*above, *rest]])
            rows = np.maximum(table.reshape(len(table.reshape(-1)) // _size(levels, rest), -1), 0) + 1e-300
            given = np.ravel_multi_index([codes[p] for p in above], [levels[p] for p in above]) if above else 0
            ends = np.cumsum(rows / rows.sum(axis=1, keepdims=True), axis=1)
            ends[:, -1] = 1.0
            places = np.searchsorted((ends + np.arange(len(ends))[:, None]).reshape(-1), given + rng.random(n), "right")
            drawn = np.unravel_index(places - given * ends.shape[1], [levels[place] for place in rest])
            for place, column in zip(rest, drawn, strict=True):
                codes[place] = column
        return codes


def _size(levels: Sequence[int], places: Sequence[int]) -> int:
    return int(np.prod([levels[place] for place in places], dtype=np.int64))


def _log_sum(logs: Array, axes: tuple[int, ...]) -> Array:
    """The logarithm of the sum of exponentials over some axes, which stay with the length 1."""
    most = logs.max(axis=axes, keepdims=True)
    return np.asarray(most + np.log(np.exp(logs - most).sum(axis=axes, keepdims=True)))


def _kept(factor: Factor, needed: set[int]) -> Factor:
    """A factor with all features but the needed summed out, row by row."""
    names, table = factor
    needed = needed | {ROWS}
    kept = tuple(place for place in names if place in needed)
    return kept, np.asarray(table.sum(axis=tuple(axis for axis, place in enumerate(names) if place not in needed)))


def _product(left: Factor, right: Factor) -> Factor:
    """The product of two factors; refused if it is too large."""
    names = tuple(sorted({*left[0], *right[0]}))
    sizes = {place: m for of, table in (left, right) for place, m in zip(of, table.shape, strict=True)}
    if reduce(lambda cells, place: cells * sizes[place], names, 1) > MOST_ON_THE_WAY:
        raise EstimateError("this table goes through too many cells on the way; ask for fewer features")
    wide = [table.reshape([sizes[place] if place in of else 1 for place in names]) for of, table in (left, right)]
    return names, wide[0] * wide[1]
