"""Rivals for tables of flags: each randomizes records on the device, with one epsilon in all, and estimates any table.

A survey takes true records (respondents by flags), the order k of the tables that are wanted, an epsilon and a random
generator. It returns what it estimates: a function from columns to the shares of their 2^k cells, without bias and as
they come, with the variance of each cell in closed form, at given true shares.

- `inp_ht`, `inp_ps`, `marg_ht`: Cormode, Kulkarni and Srivastava, Marginal release under local differential privacy
  (SIGMOD 2018). What is sent is of all flags (inp) or of k flags drawn at random (marg): one Hadamard coefficient's
  sign (ht) or one cell (ps). Their MargPS and MargRR are in `sampled_tables`.
- `rs_fd`: one flag drawn at random among made-up answers to all others, so that the sampled one stays hidden and has a
  larger epsilon: Arcolezi, Couchot, Al Bouna and Xiao, Random sampling plus fake data (CIKM 2021).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import e, exp, log
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Records = npt.NDArray[np.bool_]
Columns = tuple[int, ...]

__all__ = ["RIVALS", "Survey"]


@dataclass(frozen=True)
class Survey:
    """What a rival's reports tell: the shares of a table's cells, and their variances were these the true shares."""

    estimate: Callable[[Columns], Array]
    variance: Callable[[Columns, Array], Array]


def codes_of(records: Records, columns: Sequence[int]) -> npt.NDArray[np.int64]:
    """The cell of each record in the table of some flags, the first flag in the highest bit."""
    return records[:, list(columns)].astype(np.int64) @ (1 << np.arange(len(columns))[::-1])


def hadamard(k: int) -> Array:
    """The signs (-1)^(bits that a coefficient and a cell share), coefficients by cells of k flags."""
    one = np.array([[1.0, 1], [1, -1]])
    matrix = np.ones((1, 1))
    for _ in range(k):
        matrix = np.kron(matrix, one)
    return matrix


def kept(p: float, n: int, rng: np.random.Generator) -> Records:
    """Coins that are true with a probability."""
    return rng.random(n) < p


def one_of(
    codes: npt.NDArray[np.int64], cells: int, epsilon: float, rng: np.random.Generator
) -> tuple[Any, float, float]:
    """Cells kept or replaced by another one (generalized randomized response), with p and q."""
    q = exp(epsilon) / (exp(epsilon) + cells - 1)
    others = (codes + rng.integers(1, cells, len(codes))) % cells
    return np.where(kept(q, len(codes), rng), codes, others), (1 - q) / (cells - 1), q


def inp_ht(records: Records, k: int, epsilon: float, rng: np.random.Generator) -> Survey:
    """The sign of one Hadamard coefficient of up to k flags, drawn at random, is sent by randomized response."""
    n, d = records.shape
    sets = [s for size in range(1, k + 1) for s in combinations(range(d), size)]
    return _signs(records, sets, rng.integers(len(sets), size=n), epsilon, rng)


def marg_ht(records: Records, k: int, epsilon: float, rng: np.random.Generator) -> Survey:
    """The sign of one Hadamard coefficient of k flags, which were drawn first, is sent by randomized response."""
    n, d = records.shape
    tables = list(combinations(range(d), k))
    sets = [s for size in range(1, k + 1) for s in combinations(range(d), size)]
    place = {s: number for number, s in enumerate(sets)}
    inside = np.array([[place[s] for size in range(1, k + 1) for s in combinations(t, size)] for t in tables])
    table, which = rng.integers(len(tables), size=n), rng.integers((1 << k) - 1, size=n)
    return _signs(records, sets, inside[table, which], epsilon, rng)


def _signs(
    records: Records, sets: Sequence[Columns], which: npt.NDArray[np.int64], epsilon: float, rng: np.random.Generator
) -> Survey:
    """A survey in which each respondent sends one sign, of the flags of one set."""
    inside = np.zeros((len(sets), records.shape[1]), np.int64)
    for number, columns in enumerate(sets):
        inside[number, list(columns)] = 1
    true = 1 - 2 * ((records * inside[which]).sum(axis=1) % 2)
    q = e**epsilon / (1 + e**epsilon)
    sent = np.where(kept(q, len(true), rng), true, -true)
    sizes = np.bincount(which, minlength=len(sets))
    means = np.bincount(which, sent, len(sets)) / np.maximum(sizes, 1) / (2 * q - 1)
    place = {columns: number for number, columns in enumerate(sets)}

    def of(columns: Columns) -> tuple[Array, npt.NDArray[np.int64]]:
        """The matrix of signs without the constant, and the place of each other coefficient."""
        k = len(columns)
        bits = [(coefficient >> np.arange(k)[::-1]) & 1 for coefficient in range(1, 1 << k)]
        return hadamard(k)[1:], np.array([place[tuple(np.array(columns)[bit == 1].tolist())] for bit in bits])

    def estimate(columns: Columns) -> Array:
        signs, places = of(columns)
        return np.asarray((1 + means[places] @ signs) / (1 << len(columns)))

    def variance(columns: Columns, shares: Array) -> Array:
        signs, places = of(columns)
        each = (1 / (2 * q - 1) ** 2 - (signs @ shares) ** 2) / sizes[places]
        return np.full(1 << len(columns), each.sum() / 4 ** len(columns))

    return Survey(estimate, variance)


def inp_ps(records: Records, k: int, epsilon: float, rng: np.random.Generator) -> Survey:  # noqa: ARG001 - one contract
    """The whole record, as one cell among 2^d, is kept or replaced."""
    n, d = records.shape
    sent, p, q = one_of(codes_of(records, range(d)), 1 << d, epsilon, rng)
    shown = ((sent[:, None] >> np.arange(d)[::-1]) & 1).astype(bool)

    def law(columns: Columns) -> tuple[int, float]:
        cells = 1 << len(columns)
        return cells, (1 << d) // cells * p

    def estimate(columns: Columns) -> Array:
        cells, base = law(columns)
        return np.asarray((np.bincount(codes_of(shown, columns), minlength=cells) / n - base) / (q - p))

    def variance(columns: Columns, shares: Array) -> Array:
        m = law(columns)[1] + (q - p) * shares
        return np.asarray(m * (1 - m) / n / (q - p) ** 2)

    return Survey(estimate, variance)


def rs_fd(records: Records, k: int, epsilon: float, rng: np.random.Generator) -> Survey:  # noqa: ARG001 - one contract
    """One flag, drawn at random, by randomized response with ln(d (e^epsilon - 1) + 1), and coins for all others."""
    n, d = records.shape
    larger = log(d * (e**epsilon - 1) + 1)
    q = e**larger / (1 + e**larger)
    sent, which = rng.random((n, d)) < 0.5, rng.integers(d, size=n)
    true = records[np.arange(n), which]
    sent[np.arange(n), which] = np.where(kept(q, n, rng), true, ~true)
    base = (1 - q + (d - 1) / 2) / d
    shares = (sent.mean(axis=0) - base) * d / (2 * q - 1)

    def variance(columns: Columns, shares: Array) -> Array:
        assert len(columns) == 1
        m = base + (2 * q - 1) / d * shares
        return np.asarray(m * (1 - m) / n * (d / (2 * q - 1)) ** 2)

    return Survey(lambda columns: _independent(shares, columns), variance)


def _independent(shares: Array, columns: Columns) -> Array:
    """The table of independent flags with these shares."""
    table = np.ones(1)
    for column in columns:
        table = np.outer(table, [1 - shares[column], shares[column]]).reshape(-1)
    return table


RIVALS: dict[str, Callable[[Records, int, float, np.random.Generator], Survey]] = {
    "InpHT": inp_ht, "InpPS": inp_ps, "MargHT": marg_ht, "RS+FD": rs_fd,
}  # fmt: skip
