"""Rivals that ask each respondent one table, drawn at random, by a frequency oracle with the whole epsilon.

Answers are whole numbers from 0 on, respondents by questions. An oracle takes the cells of respondents, the number of
cells, epsilon and a random generator; it gives an unbiased estimate of each cell's share, and its variance in closed
form, for one respondent, at given true shares.

- `one_cell` (MargPS) and `bits` (MargRR): Cormode, Kulkarni and Srivastava (SIGMOD 2018).
- `hadamard_response`: Acharya, Sun and Zhang, Hadamard response (AISTATS 2019), with its blocks at high epsilon.
- `one_bit_hadamard`: Acharya and Sun, Communication complexity in locally private distribution estimation (ICML 2019).
- `random_signs`: Bassily and Smith, Local, private, efficient protocols for succinct histograms (STOC 2015), in its
  basic form with a public random sign for each cell and respondent.
"""

from collections.abc import Callable
from functools import cache
from itertools import combinations
from math import ceil, exp, log2, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from studies.rivals.of_flags import Array, Columns, Survey, hadamard

Rows = npt.NDArray[np.int64]
Variance = Callable[[Array], Array]
Oracle = Callable[[Rows, int, float, np.random.Generator], tuple[Array, Variance]]

__all__ = ["ORACLES", "Rows", "cells_of", "independent_answers", "margin", "sampled"]


def cells_of(rows: Rows, levels: tuple[int, ...], columns: Columns) -> Rows:
    """The cell of each row in the table of some questions, the last one counting fastest."""
    return np.ravel_multi_index(tuple(rows[:, list(columns)].T), [levels[column] for column in columns]).astype(
        np.int64
    )


def margin(table: Array, levels: tuple[int, ...], of: Columns, columns: Columns) -> Array:
    """The margin of a table over some of its questions, in C order; both sets of questions are sorted."""
    others = tuple(place for place, column in enumerate(of) if column not in columns)
    return np.asarray(table.reshape([levels[column] for column in of]).sum(axis=others).reshape(-1))


def _pure(marked: Array, n: int, p: float, q: float) -> tuple[Array, Variance]:
    """Estimates from how often a cell was marked, with probability q if it is the true one and p if not."""

    def variance(shares: Array) -> Array:
        m = p + (q - p) * shares
        return np.asarray(m * (1 - m) / (q - p) ** 2)

    return (marked / max(n, 1) - p) / (q - p), variance


def one_cell(codes: Rows, cells: int, epsilon: float, rng: np.random.Generator) -> tuple[Array, Variance]:
    """Generalized randomized response: the cell is kept or replaced by another one."""
    q = exp(epsilon) / (exp(epsilon) + cells - 1)
    others = (codes + rng.integers(1, max(cells, 2), len(codes))) % cells
    sent = np.where(rng.random(len(codes)) < q, codes, others)
    return _pure(np.bincount(sent, minlength=cells), len(codes), (1 - q) / (cells - 1), q)


def _unary(codes: Rows, cells: int, p: float, q: float, rng: np.random.Generator) -> tuple[Array, Variance]:
    own = np.bincount(codes, minlength=cells)
    return _pure(rng.binomial(own, q) + rng.binomial(len(codes) - own, p), len(codes), p, q)


def bits(codes: Rows, cells: int, epsilon: float, rng: np.random.Generator) -> tuple[Array, Variance]:
    """A bit for each cell, each by randomized response with half of epsilon."""
    q = 1 / (1 + exp(-epsilon / 2))
    return _unary(codes, cells, 1 - q, q, rng)


def optimized_bits(codes: Rows, cells: int, epsilon: float, rng: np.random.Generator) -> tuple[Array, Variance]:
    """Optimized unary encoding: a bit for each cell, the true one a coin."""
    return _unary(codes, cells, 1 / (1 + exp(epsilon)), 0.5, rng)


def hadamard_response(codes: Rows, cells: int, epsilon: float, rng: np.random.Generator) -> tuple[Array, Variance]:
    """One of several blocks of outcomes, and in the cell's own block half of them, have a higher probability."""
    blocks = 1 << max(ceil(log2(min(exp(epsilon), 2 * cells))) - 1, 0)
    block = 1 << ceil(log2(cells / blocks + 1))
    signs, half = hadamard(int(log2(block)))[1:], block // 2
    total = half * exp(epsilon) + blocks * block - half
    place = np.arange(cells)
    inside = np.zeros((cells, blocks, block))  # the outcomes that are more likely for a cell
    inside[place, place // (block - 1)] = signs[place % (block - 1)] > 0
    inside = inside.reshape(cells, -1)
    law = (1 + (exp(epsilon) - 1) * inside) / total
    sent = np.zeros(law.shape[1])
    for cell, number in enumerate(np.bincount(codes, minlength=cells)):
        sent += rng.multinomial(number, law[cell])
    own = np.zeros((cells, blocks, block))
    own[place, place // (block - 1)] = 0.5
    weights = 2 * total / (half * (exp(epsilon) - 1)) * (inside - own.reshape(cells, -1))

    def variance(shares: Array) -> Array:
        outcomes = shares @ law
        return np.asarray(weights**2 @ outcomes - (weights @ outcomes) ** 2)

    return weights @ sent / max(len(codes), 1), variance


def one_bit_hadamard(codes: Rows, cells: int, epsilon: float, rng: np.random.Generator) -> tuple[Array, Variance]:
    """The sign of the cell in a public row of a Hadamard matrix, drawn at random, by randomized response."""
    signs = hadamard(ceil(log2(cells)))
    scale = (exp(epsilon) + 1) / (exp(epsilon) - 1)
    row = rng.integers(len(signs), size=len(codes))
    sent = signs[row, codes] * np.where(rng.random(len(codes)) < 1 / (1 + exp(-epsilon)), 1, -1)
    sums = np.bincount(row, sent, len(signs))
    found = scale * sums @ signs[:, :cells] / max(len(codes), 1)
    return found, lambda shares: np.asarray(scale**2 - shares**2)


def random_signs(codes: Rows, cells: int, epsilon: float, rng: np.random.Generator) -> tuple[Array, Variance]:
    """The cell's own sign among public random signs, drawn for each respondent, by randomized response.

    What is sent times the sign of another cell is an even sign, independent of all else, and times that of the cell
    itself the coin of randomized response: as many bits as there are cells, whose sums are drawn without any sign.
    """
    return _unary(codes, cells, 0.5, 1 / (1 + exp(-epsilon)), rng)


ORACLES: dict[str, Oracle] = {
    "MargPS": one_cell, "MargRR": bits, "Hadamard response": hadamard_response,
    "one-bit Hadamard": one_bit_hadamard, "Bassily-Smith": random_signs,
}  # fmt: skip


def sampled(
    oracle: Oracle, rows: Rows, levels: tuple[int, ...], k: int, epsilon: float, rng: np.random.Generator
) -> Survey:
    """A survey in which each respondent is asked one table of k questions, drawn at random."""
    tables = list(combinations(range(len(levels)), k))
    which = rng.integers(len(tables), size=len(rows))
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(tables) + 1))

    @cache
    def of(columns: Columns) -> tuple[Array, Variance, int]:
        """What those tell who were asked this table; worked out once it is looked at."""
        number = tables.index(columns)
        mine = rows[order[ends[number] : ends[number + 1]]]
        cells = prod(levels[column] for column in columns)
        return (*oracle(cells_of(mine, levels, columns), cells, epsilon, rng), len(mine))

    def variance(columns: Columns, shares: Array) -> Array:
        _, each, respondents = of(columns)
        return np.asarray(each(shares) / respondents)

    return Survey(lambda columns: of(columns)[0], variance)


def independent_answers(
    rows: Rows,
    levels: tuple[int, ...],
    k: int,  # noqa: ARG001 - one contract
    epsilon: float,
    rng: np.random.Generator,
) -> Survey:
    """One question, drawn at random, by generalized randomized response (SMP); larger tables taken as independent."""
    single = sampled(one_cell, rows, levels, 1, epsilon, rng)

    def estimate(columns: Columns) -> Array:
        table: Any = np.ones(1)
        for column in columns:
            table = np.outer(table, single.estimate((column,))).reshape(-1)
        return np.asarray(table)

    return Survey(estimate, single.variance)
