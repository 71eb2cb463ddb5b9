"""Rivals that send every answer in a Bloom filter, each with its part of epsilon.

- `rappor`: Erlingsson, Pihur and Korolova (CCS 2014): a Bloom filter by cohort, permanent noise f, then instantaneous
  noise. Single questions are decoded by least squares; tables by the expectation maximization of Fanti, Pihur and
  Erlingsson (PoPETs 2016).
- `lopub`: Ren and others (IEEE TIFS 2018): permanent noise alone, tables by expectation maximization from a Lasso
  start, a dependency graph by mutual information, a junction tree, and records drawn from it.

One hash function is the best of RAPPOR's settings for so few values, and is taken here: a bit costs as much of epsilon
for each hash function. The epsilon compared is that of one report; `rappor`'s permanent noise alone has twice as much.
"""

from dataclasses import dataclass
from itertools import combinations
from math import exp, prod
from typing import Any

import numpy as np

from studies.rivals.of_flags import Array, Columns, Survey
from studies.rivals.sampled_tables import Rows, cells_of

COHORTS, BITS, HASHES, STEPS = 8, 16, 1, 60

__all__ = ["Filters", "lopub", "maximized", "rappor"]


@dataclass(frozen=True)
class Filters:
    """The Bloom filters of one question by cohort, cohorts by values by bits; a bit is kept with a probability."""

    marked: Array
    keep: float

    @classmethod
    def drawn(cls, values: int, keep: float, rng: np.random.Generator) -> "Filters":
        """Random hash functions, drawn again if two values look alike in every cohort."""
        while True:
            marked = np.zeros((COHORTS, values, BITS))
            for _ in range(HASHES):
                np.put_along_axis(marked, rng.integers(BITS, size=(COHORTS, values, 1)), 1, axis=2)
            filters = cls(marked, keep)
            if np.linalg.matrix_rank(filters.stacked()) == values:
                return filters

    def stacked(self) -> Array:
        """All cohorts' bits below each other, bits by values."""
        return np.asarray(self.marked.transpose(0, 2, 1).reshape(-1, self.marked.shape[1]))

    def law(self) -> Array:
        """The probability that a bit is sent, by cohort and value."""
        return np.asarray(1 - self.keep + (2 * self.keep - 1) * self.marked)

    def weights(self) -> Array:
        """What a report's bits, once centred, add to each value by least squares: cohorts by values by bits."""
        inverse = np.linalg.pinv(self.stacked()) * COHORTS / (2 * self.keep - 1)
        return np.asarray(inverse.reshape(-1, COHORTS, BITS).transpose(1, 0, 2))

    def variance(self, shares: Array) -> Array:
        """The variance of the least-squares estimate for one respondent, at given true shares."""
        law, weights = self.law(), self.weights()
        both = np.einsum("v,cva,cvb->cab", shares, law, law)
        both += np.einsum("v,cva,ab->cab", shares, law * (1 - law), np.eye(BITS))
        first = np.einsum("v,cva->ca", shares, law) - (1 - self.keep)
        second = both - (1 - self.keep) * (
            np.einsum("v,cva->ca", shares, law)[:, :, None] + np.einsum("v,cva->ca", shares, law)[:, None]
        ) + (1 - self.keep) ** 2  # fmt: skip
        square = np.einsum("cva,cab,cvb->cv", weights, second, weights).mean(axis=0)
        return np.asarray(square - np.einsum("cva,ca->cv", weights, first).mean(axis=0) ** 2)


@dataclass(frozen=True)
class Sent:
    """The reports of one question: each respondent's unbiased estimate, and log-likelihood, of every value."""

    estimate: Array
    score: Array
    filters: Filters

    @classmethod
    def of(cls, codes: Rows, filters: Filters, rng: np.random.Generator, permanent: float | None = None) -> "Sent":
        """Bits by permanent noise, which keeps a bit with a probability, then by instantaneous noise, if any."""
        cohort = rng.integers(COHORTS, size=len(codes))
        bits = filters.marked[cohort, codes] > 0
        steps = [filters.keep] if permanent is None else [permanent, _second(filters.keep, permanent)]
        for keep in steps:
            bits = bits ^ (rng.random(bits.shape) >= keep)
        centred = bits - (1 - filters.keep)
        estimate = np.einsum("nvb,nb->nv", filters.weights()[cohort], centred)
        score = np.einsum("nvb,nb->nv", filters.marked[cohort], 2.0 * bits - 1)
        return cls(estimate, score, filters)


def _second(both: float, first: float) -> float:
    """How often the second of two symmetric noises must keep a bit, so that both together keep it so often."""
    return (both - 1 + first) / (2 * first - 1)


def maximized(sent: list[Sent], start: Array, steps: int = STEPS) -> Array:
    """Expectation maximization for a joint table, on distinct patterns of scores."""
    code: Any = np.zeros(len(sent[0].score), np.int64)
    for one in sent:  # a bit for each value: its score is 1 or -1
        code = (code << one.score.shape[1]) | (one.score > 0) @ (1 << np.arange(one.score.shape[1]))
    codes, times = np.unique(code, return_counts=True)
    likelihood = np.ones((len(codes), 1))
    for one in reversed(sent):
        values = one.score.shape[1]
        odds = (one.filters.keep / (1 - one.filters.keep)) ** 2
        own = odds ** ((codes[:, None] >> np.arange(values)) & 1)
        likelihood = ((own / own.max(axis=1, keepdims=True))[:, :, None] * likelihood[:, None]).reshape(len(own), -1)
        codes = codes >> values
    shares = start
    for _ in range(steps):
        before = shares
        shares = shares * ((times / (likelihood @ shares)) @ likelihood) / times.sum()
        if np.abs(shares - before).sum() < 1e-4:
            break
    return shares


def _sent(
    rows: Rows, levels: tuple[int, ...], epsilon: float, rng: np.random.Generator, *, twice: bool
) -> tuple[list[Sent], list[Filters]]:
    each = epsilon / len(levels) / (2 * HASHES)
    keep = 1 / (1 + exp(-each))
    permanent = 1 / (1 + exp(-2 * each)) if twice else None
    filters = [Filters.drawn(values, keep, rng) for values in levels]
    return [Sent.of(rows[:, j], own, rng, permanent) for j, own in enumerate(filters)], filters


def rappor(rows: Rows, levels: tuple[int, ...], k: int, epsilon: float, rng: np.random.Generator) -> Survey:  # noqa: ARG001
    """A survey of every question by RAPPOR, with epsilon split evenly."""
    sent, filters = _sent(rows, levels, epsilon, rng, twice=True)

    def estimate(columns: Columns) -> Array:
        if len(columns) == 1:
            return np.asarray(sent[columns[0]].estimate.mean(axis=0))
        cells = prod(levels[column] for column in columns)
        return maximized([sent[column] for column in columns], np.full(cells, 1 / cells))

    def variance(columns: Columns, shares: Array) -> Array:
        (column,) = columns
        return np.asarray(filters[column].variance(shares) / len(rows))

    return Survey(estimate, variance)


def lopub(rows: Rows, levels: tuple[int, ...], k: int, epsilon: float, rng: np.random.Generator) -> Survey:  # noqa: ARG001
    """A survey by LoPub: tables are counted in records that it draws."""
    sent, _ = _sent(rows, levels, epsilon, rng, twice=False)

    def table(columns: Columns) -> Array:
        own = [sent[column] for column in columns]
        return maximized(own, _lasso(own))

    def starts(pair: Columns) -> float:
        return _information(_lasso([sent[column] for column in pair]).reshape([levels[column] for column in pair]))

    ordered = _graph(levels, {pair: starts(pair) for pair in combinations(range(len(levels)), 2)})
    made = _records(ordered, levels, table, len(rows), rng)

    def estimate(columns: Columns) -> Array:
        cells = prod(levels[column] for column in columns)
        return np.asarray(np.bincount(cells_of(made, levels, columns), minlength=cells) / len(made))

    def variance(columns: Columns, shares: Array) -> Array:
        raise NotImplementedError("LoPub has no closed form beyond that of its filters, which is RAPPOR's")

    return Survey(estimate, variance)


def _lasso(sent: list[Sent]) -> Array:
    """A non-negative start for a joint table: the linear estimate less its standard error, as a Lasso leaves out."""
    products: Any = np.ones((len(sent[0].estimate), 1))
    for one in sent:
        products = (products[:, :, None] * one.estimate[:, None]).reshape(len(products), -1)
    found = products.mean(axis=0)
    kept = np.maximum(found - products.std(axis=0) / np.sqrt(len(products)), 0) + 1e-3 / len(found)
    return np.asarray(kept / kept.sum())


def _information(table: Array) -> float:
    """The mutual information of two questions."""
    apart = np.outer(table.sum(axis=1), table.sum(axis=0))
    return float(np.sum(table * np.log(table / apart)))


def _graph(
    levels: tuple[int, ...], information: dict[Columns, float], strength: float = 0.2
) -> list[tuple[int, Columns]]:
    """Questions in an order of elimination, each with those that it depends on among later ones.

    Edges come in the order of mutual information, as long as it is above the paper's threshold and no clique of the
    triangulated graph has more than three questions.
    """
    edges: set[Columns] = set()
    best = _eliminated(len(levels), edges)
    for pair in sorted(information, key=lambda pair: -information[pair]):
        if information[pair] < min(levels[pair[0]] - 1, levels[pair[1]] - 1) * strength**2 / 2:
            break
        tried = _eliminated(len(levels), edges | {pair})
        if max(len(others) for _, others in tried) <= 2:
            edges.add(pair)
            best = tried
    return best


def _eliminated(d: int, edges: set[Columns]) -> list[tuple[int, Columns]]:
    """Triangulation by elimination of a question with the fewest neighbours."""
    near = {a: {b for pair in edges for b in pair if a in pair and b != a} for a in range(d)}
    found = []
    while near:
        first = min(near, key=lambda a: (len(near[a]), a))
        others = near.pop(first)
        found.append((first, tuple(sorted(others))))
        for a in others:
            near[a] = (near[a] | others) - {a, first}
    return found


def _records(
    ordered: list[tuple[int, Columns]], levels: tuple[int, ...], table: Any, n: int, rng: np.random.Generator
) -> Rows:
    """Records drawn from the junction tree: each question given those that it depends on."""
    made = np.zeros((n, len(levels)), np.int64)
    for question, others in reversed(ordered):
        columns = tuple(sorted((question, *others)))
        shape = [levels[column] for column in columns]
        joint = np.moveaxis(table(columns).reshape(shape), columns.index(question), -1).reshape(-1, levels[question])
        upto = np.cumsum(joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300), axis=1)
        given = cells_of(made, levels, others) if others else np.zeros(n, np.int64)
        made[:, question] = np.minimum((rng.random((n, 1)) > upto[given]).sum(axis=1), levels[question] - 1)
    return made
