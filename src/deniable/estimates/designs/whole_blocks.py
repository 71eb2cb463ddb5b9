"""Whole blocks: what arms say of a table and of the other questions that they ask in the same block.

Blocks that are randomized alike, ask the same of the table and have other questions with as many answers are one
family, whose arrays have an axis over its blocks: hundreds of arms are then a handful of families.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from deniable.estimates.designs.arm_kinds import ReportMoments, cumulants_of
from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import answer_count, answer_rows, flat
from deniable.survey.blocks import Block
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Protocol
from deniable.survey.protocols.public import Public

# A block is taken whole if it has at most so many combinations of answers.
MOST_COMBINATIONS = 64
# A block is taken whole if one report's contrast of uniform answers has at most so many times its variance without
# noise: what contrasts of one report have in common falls with the square of it.
MOST_NOISE = 8.0
# Blocks are taken whole if the largest arrays that they need have at most so many entries.
MOST_ENTRIES = 1_000_000
# So many respondents are spread over all combinations of a block's table, which must not have empty ones.
SPREAD = 0.5

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Family:
    """Blocks that are randomized alike: sizes, and what their reports say of all combinations of answers.

    The features of the table come first, in its order. `others` numbers the questions beside the table, and `tables`
    are proper tables of the blocks, at which second moments are evaluated.
    """

    axis: Axis
    own: tuple[int, ...]  # places of its features in the table
    levels: tuple[int, ...]
    sizes: Array
    others: Codes
    shares: Array
    tables: Array

    @property
    def n(self) -> float:
        """How many reports there are."""
        return float(self.sizes.sum())

    def without_noise(self) -> "Family":
        """The same, if what its reports say is the truth."""
        return replace(self, tables=_spread(self.sizes, self.shares))

    @property
    def own_levels(self) -> tuple[int, ...]:
        """How many answers each of the table's features has."""
        return self.levels[: len(self.own)]

    @cached_property
    def given_own(self) -> Array:
        """The share of each combination among those with the same answers to the table's features."""
        by_own = self.tables.reshape(len(self.sizes), prod(self.own_levels), -1)
        return np.asarray(by_own / by_own.sum(axis=2, keepdims=True))

    def tables_at(self, own: Array) -> Array:
        """The table of each block, were these the shares of the answers to the table's features."""
        return np.asarray((self.given_own * own[:, None]).reshape(len(self.sizes), -1))

    def over_own(self, by_cell: Array) -> Array:
        """The derivatives by shares of own answers, summed over blocks, given those by shares of combinations.

        `by_cell` has the axes block, row and combination.
        """
        blocks, rows, _ = by_cell.shape
        apart = by_cell.reshape(blocks, rows, *self.given_own.shape[1:])
        return np.asarray(np.einsum("brop,bop->ro", apart, self.given_own))

    def covariances(self, tables: Array) -> Array:
        """The covariance of one report's z, about the population, of each block."""
        return self.axis.cell_seconds(tables) - tables[:, :, None] * tables[:, None, :]

    def moments(self, rows: Array, tables: Array) -> ReportMoments:
        """Moments of one report's weighted sums, for rows of weights of each block: arrays of blocks by rows."""
        flat_rows = rows.reshape(-1, rows.shape[2])
        _, *powers = self.axis.by_row(rows.shape[1]).cell_powers(flat_rows)
        mean, *moments = ((each.reshape(rows.shape) @ tables[:, :, None])[:, :, 0] for each in (flat_rows, *powers))
        return ReportMoments(mean, *cumulants_of(mean, *moments), powers[0].reshape(rows.shape))

    @cached_property
    def rows(self) -> Array:
        """Weights of combinations: of each combination of own answers, then the contrasts of `beside`."""
        ones = [np.ones((1, m)) for m in self.levels]
        made = [flat([np.eye(m) for m in self.own_levels] + ones[len(self.own) :])]
        for place, own in self.beside:
            parts = [
                contrasts(m)[1:] if at in (place, own) else one
                for at, (m, one) in enumerate(zip(self.levels, ones, strict=True))
            ]
            made.append(flat(parts))
        return np.vstack(made)

    @cached_property
    def beside(self) -> list[tuple[int, int | None]]:
        """Each question beside the table, alone and with each of the table's, by their axes in the block."""
        own = range(len(self.own))
        return [pair for place in range(len(own), len(self.levels)) for pair in product([place], [None, *own])]


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks with as many answers to each of their questions, which are randomized alike, in no table's order."""

    axis: Axis
    levels: tuple[int, ...]
    questions: Codes  # numbers, a row for each block
    sizes: Array
    shares: Array


def families(counted: Iterable[tuple[Block, Array]], names: Sequence[str], *, plain: bool = False) -> list[Family]:
    """The blocks that are taken whole for the table of these features, given their counts, with fitted tables.

    Counts are of all reports and of each evidence column. There are none if they ask no question beside the table, or
    if there are too many for what they would gain. They are centred with each one's best weights, or plainly.
    """
    blocks = _alike(_pooled(counted), names, plain=plain)
    if not blocks or _entries(blocks, len(names)) > MOST_ENTRIES:
        return []
    made = [one for of, tables in zip(blocks, fitted_tables(blocks), strict=True) for one in _by_own(of, tables, names)]
    return made if any(family.own and family.others.size for family in made) else []


def _entries(blocks: Sequence[Blocks], features: int) -> int:
    """About how many entries the largest arrays have: second moments of reports, weights, and a form of contrasts."""
    levels = {
        question: m
        for one in blocks
        for column, m in zip(one.questions.T.tolist(), one.levels, strict=True)
        for question in set(column)
    }
    own = [m for question, m in levels.items() if question < features]
    beside = sum(m - 1 for question, m in levels.items() if question >= features) * (1 + sum(m - 1 for m in own))
    return int(beside**2 + sum(one.shares.size * (one.shares.shape[1] + prod(own)) for one in blocks))


def whole_block(arm: Plan, names: Sequence[str]) -> Block | None:
    """The block of an arm that is taken whole for the table of these features, if there is one.

    It is the only one that asks any of them; of an arm that asks none of them, the only one that is randomized.
    """
    meeting = [block for block in arm.blocks if not set(names).isdisjoint(block.names)]
    found = meeting or [block for block in arm.blocks if not isinstance(block.protocol, Public)]
    if len(found) != 1 or prod(found[0].levels) > MOST_COMBINATIONS or noise_of(_axis(found[0].protocol)) > MOST_NOISE:
        return None
    return found[0]


def expected_counts(block: Block, n: float, shares: Array) -> Array:
    """What n reports on a block show on average, if combinations of answers have these shares."""
    axis = _axis(block.protocol)
    return n * np.concatenate([[1.0], axis.p + axis.d * shares[-axis.columns :]])


@lru_cache(maxsize=256)
def _axis(protocol: Protocol) -> Axis:
    return Axis.of(protocol, centred=True)


@lru_cache(maxsize=256)
def noise_of(axis: Axis) -> float:
    """The variance of a contrast with mean square 1 in one report, if all answers are as frequent."""
    m = answer_count(axis.columns)
    one = contrasts(m)[1]
    return float(one @ axis.cell_seconds(np.full(m, 1 / m)) @ one)


@lru_cache(maxsize=256)
def contrasts(m: int) -> Array:
    """Orthogonal weights of m answers with mean square 1, a row each; the first is all ones (Helmert's)."""
    made = np.ones((m, m))
    for k in range(1, m):
        made[k] = np.concatenate([np.ones(k), [-k], np.zeros(m - k - 1)]) * np.sqrt(m / (k * (k + 1)))
    return made


Question = tuple[str, tuple[object, ...]]  # its name and its answers: other surveys may have other ones
Pooled = dict[tuple[tuple[Question, ...], Axis], Array]


def _pooled(counted: Iterable[tuple[Block, Array]]) -> Pooled:
    """Counts of blocks, added over arms and surveys that ask the same in the same way."""
    found: Pooled = {}
    for block, own in counted:
        key = (tuple((feature.name, feature.answers) for feature in block.features), _axis(block.protocol))
        found[key] = found[key] + own if key in found else own
    return found


def _alike(pooled: Pooled, names: Sequence[str], *, plain: bool) -> list[Blocks]:
    """Blocks by how they are randomized, with questions as numbers: the table's, in its order, then the others."""
    number: dict[Question | str, int] = {name: place for place, name in enumerate(names)}
    grouped: dict[tuple[tuple[int, ...], Axis], list[tuple[Codes, Array]]] = {}
    for (asked, axis), array in pooled.items():
        questions = np.array([number.setdefault(one[0] if one[0] in names else one, len(number)) for one in asked])
        each, order = [len(answers) for _, answers in asked], np.argsort(questions)
        cells = array[1:].reshape(each).transpose(order).reshape(-1) if len(asked) > 1 else array[1:]
        key = (tuple(each[place] for place in order), axis)
        grouped.setdefault(key, []).append((questions[order], np.concatenate([array[:1], cells])))
    made = []
    for (levels, axis), blocks in grouped.items():
        questions, arrays = (np.stack(each) for each in zip(*blocks, strict=True))
        sizes, axis = arrays[:, 0].astype(np.float64), axis if plain else axis.weighted_by(arrays[:, None])
        shares = axis.invert(arrays) @ answer_rows(axis.columns).T / sizes[:, None]
        made.append(Blocks(axis, levels, questions, sizes, shares))
    return made


def _by_own(blocks: Blocks, tables: Array, names: Sequence[str]) -> list[Family]:
    """Blocks that are randomized alike by what they ask of a table, whose features come first, as they are numbered."""
    own = np.where(blocks.questions < len(names), blocks.questions, -1)
    kinds, kind_of = np.unique(own, axis=0, return_inverse=True)
    made = []
    for k, kind in enumerate(kinds):
        members = kind_of.reshape(-1) == k
        places = tuple(int(place) for place in kind if place >= 0)
        made.append(
            Family(
                blocks.axis.of_tables(members), places, blocks.levels, blocks.sizes[members],
                blocks.questions[members, len(places) :], blocks.shares[members], tables[members],
            )
        )  # fmt: skip
    return made


def fitted_tables(blocks: Sequence[Blocks]) -> list[Array]:
    """A proper table of every block: its contrasts, averaged over all blocks that ask the same questions together.

    This is least squares in the metric at uniform answers, where contrasts have no covariance; the table is the closest
    proper one. Contrasts of the same questions are shrunk towards zero by the part of their square that noise explains
    (James and Stein's estimate), as weights that follow noise would promise too much.
    """
    by_contrast = [one.shares @ flat([contrasts(m) for m in one.levels]).T for one in blocks]
    shared: dict[tuple[int, ...], list[tuple[int, Codes, Codes]]] = {}
    for place, one in enumerate(blocks):
        axes = np.stack(np.unravel_index(np.arange(prod(one.levels)), one.levels)) > 0
        for looked_at in product([False, True], repeat=len(one.levels)):
            columns = np.flatnonzero((axes == np.array(looked_at)[:, None]).all(axis=0))
            asked = np.flatnonzero(looked_at)
            shared.setdefault(tuple(one.levels[k] for k in asked), []).append((place, asked, columns))
    for levels, parts in shared.items():
        if levels:
            _average(blocks, by_contrast, parts)
    tables = []
    for one, means in zip(blocks, by_contrast, strict=True):
        proper = nearest_proper(means @ flat([contrasts(m) for m in one.levels]) / prod(one.levels))
        tables.append(_spread(one.sizes, proper))
    return tables


def _spread(sizes: Array, tables: Array) -> Array:
    """Tables of so many respondents with SPREAD more, spread evenly over all combinations."""
    n = sizes[:, None]
    return np.asarray((n * tables + SPREAD / tables.shape[1]) / (n + SPREAD))


def _average(blocks: Sequence[Blocks], by_contrast: list[Array], parts: Sequence[tuple[int, Codes, Codes]]) -> None:
    """Put shrunken means in the place of contrasts of the same questions, in these columns of each group of blocks."""
    questions = np.concatenate([blocks[place].questions[:, asked] for place, asked, _ in parts])
    values = np.concatenate([by_contrast[place][:, columns] for place, _, columns in parts])
    weights = np.concatenate([blocks[place].sizes / noise_of(blocks[place].axis.plain) for place, _, _ in parts])
    _, which = np.unique(questions, axis=0, return_inverse=True)
    which = which.reshape(-1)
    sums = np.zeros((which.max() + 1, values.shape[1]))
    np.add.at(sums, which, weights[:, None] * values)
    information = np.bincount(which, weights)
    means = sums / information[:, None]
    squares, noise = (means**2).sum(axis=1), means.shape[1] / information
    shrunk = np.maximum(squares - noise, 0) / np.where(squares > 0, squares, 1)
    means = (means * shrunk[:, None])[which]
    start = 0
    for place, _, columns in parts:
        stop = start + len(blocks[place].sizes)
        by_contrast[place][:, columns] = means[start:stop]
        start = stop


def nearest_proper(shares: Array) -> Array:
    """The proper tables that are closest to rows of shares: a number is taken off each row, and it is cut at zero."""
    falling = -np.sort(-shares, axis=1)
    off = (np.cumsum(falling, axis=1) - 1) / np.arange(1, shares.shape[1] + 1)
    last = (falling > off).sum(axis=1) - 1
    return np.asarray(np.maximum(shares - off[np.arange(len(shares)), last][:, None], 0))
