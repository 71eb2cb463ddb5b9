"""Cumulants of estimates in closed form, and how well an estimate knows its own variance.

For weights w that are a product over features, one report's own estimate is Y = w z, with truth w u. Every moment of Y
given the truth is a product over features of functions of one answer each, so it is linear in the tensor T: with
[f] = sum_S T_S prod_k f_k[S_k],

    about the respondents    V = [E Y^2] - [(w u)^2],      kappa3 = [E Y^3] - 3 [w u E Y^2] + 2 [(w u)^3]
    about the population     V = [E Y^2] - [w u]^2 / N,    kappa3 = [E Y^3] - 3 [w u] [E Y^2] / N + 2 [w u]^3 / N^2

The estimated variance is a weighted sum of entries too, so its covariance with the estimate, and its own variance,
follow like any other. All are exact but the fourth cumulant of local hashing: its hashes are independent four by four,
and that would need five.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import mul

import numpy as np

from deniable.inference.axis import Array, Axis, over_truth
from deniable.inference.tensors import Alike, along

MANY = 16  # answers, from which on it pays that their rows of weights are alike

Contraction = Callable[[list[Array | Alike]], Array]  # [f] for all combinations of rows, of one matrix per feature


@dataclass(frozen=True)
class Cumulants:
    """Of estimated numbers of respondents, one for each combination of rows of weights.

    `slope` is the covariance of an estimate with its estimated variance, `wobble` the variance of that variance.
    """

    mean: Array
    variance: Array
    third: Array
    fourth: Array
    slope: Array
    wobble: Array

    @classmethod
    def normal(cls, mean: Array | float, variance: Array | float) -> "Cumulants":
        """Of estimates that are taken to be normal, with a known variance."""
        zero = np.zeros(np.shape(mean))
        return cls(np.asarray(mean), np.asarray(variance), zero, zero, zero, zero)

    def at(self, place: int) -> "Cumulants":
        """Of one combination of rows, in C order."""
        return Cumulants(*(getattr(self, field.name).reshape(-1)[place] for field in fields(self)))

    def __add__(self, other: "Cumulants") -> "Cumulants":
        """Of the sum of independent estimates."""
        mine, theirs = ([getattr(one, field.name) for field in fields(one)] for one in (self, other))
        return Cumulants(*(a + b for a, b in zip(mine, theirs, strict=True)))


NOTHING = Cumulants.normal(0.0, 0.0)


def cumulants(n: int, axes: Sequence[Axis], rows: Sequence[Array], of: Contraction, *, population: bool) -> Cumulants:
    """Cumulants of n respondents' estimate, for rows of weights, given how to contract with their table."""
    axes, rows = zip(*map(_shortened, axes, rows), strict=True)
    t, e2, e3, e4 = zip(*(axis.powers(matrix) for axis, matrix in zip(axes, rows, strict=True)), strict=True)

    def contract(matrices: Iterable[Array]) -> Array:
        return of([Alike(*matrix[0]) if axis.times else matrix for axis, matrix in zip(axes, matrices, strict=True)])

    def bracket(*factors: Sequence[Array]) -> Array:
        """[f] for a product f of functions of the answers."""
        return contract(over_truth(reduce(mul, each)) for each in zip(*factors, strict=True))

    def second(left: Sequence[Array], right: Sequence[Array]) -> tuple[Array, Array]:
        """[E (w z)(w' z)] and [(w u)(w' u)], row by row."""
        both = [axis.second(w, v) for axis, w, v in zip(axes, left, right, strict=True)]
        return contract(moment for moment, _ in both), contract(truth for _, truth in both)

    mean, square, cube = bracket(t), bracket(e2), bracket(e3)
    g = [over_truth(one) for one in e2]  # the estimated variance is g mu - u mu, or g mu - (w mu)^2 / N
    if population:
        center = mean / n
        variance = square - center * mean
        third = cube - 3 * center * square + 2 * center**2 * mean
        fourth = bracket(e4) - 4 * center * cube - 3 * square**2 / n + 12 * center**2 * square - 6 * center**3 * mean
        wg = second(rows, g)[0] - center * square
        gg = second(g, g)[0] - square**2 / n
        slope = wg - 2 * center * variance
        return Cumulants(mean, variance, third, fourth, slope, gg - 4 * center * wg + 4 * center**2 * variance)

    def covariance(left: Sequence[Array], right: Sequence[Array]) -> Array:
        moment, truth = second(left, right)
        return moment - truth

    u = [over_truth(one**2) for one in t]
    variance = square - bracket(t, t)
    third = cube - 3 * bracket(t, e2) + 2 * bracket(t, t, t)
    fourth = bracket(e4) - 4 * bracket(t, e3) - 3 * bracket(e2, e2) + 12 * bracket(t, t, e2) - 6 * bracket(t, t, t, t)
    slope = covariance(rows, g) - covariance(rows, u)
    wobble = covariance(g, g) - 2 * covariance(g, u) + covariance(u, u)
    return Cumulants(mean, variance, third, fourth, slope, wobble)


def _shortened(axis: Axis, rows: Array) -> tuple[Axis, Array]:
    """One row that stands for all, on the answer itself and on any other, if rows are those of each answer in turn."""
    m = axis.m
    alike = len(rows) == m >= MANY and np.count_nonzero(rows) == m and bool((np.diagonal(rows, 1) == 1).all())
    return (replace(axis, times=(1, m - 1)), np.array([[0.0, 1.0, 0.0]])) if alike else (axis, rows)


def by_table(truth: Array) -> Contraction:
    """Contraction with a tensor. It may have more axes than there are features; they come first in the result."""
    return lambda matrices: along(truth, matrices)


def by_margins(truth: Array, features: int) -> Contraction:
    """Contraction with the table that has this one's margins, made proper, and independent answers."""
    n = truth[(0,) * features]
    return by_shares(
        n,
        [
            _proper(truth[tuple(slice(None) if k == feature else 0 for k in range(features))] / n)
            for feature in range(features)
        ],
    )


def by_shares(n: Array, margins: Sequence[Array]) -> Contraction:
    """Contraction with a table of n respondents and independent answers, given (1, s_1, ..., s_m) of each feature."""

    def contract(matrices: list[Array | Alike]) -> Array:
        product = np.asarray(n)
        for k, (matrix, margin) in enumerate(zip(matrices, margins, strict=True)):
            part = along(margin, [matrix])
            product = product[..., None] * part.reshape(*np.shape(n), *[1] * k, -1)
        return product

    return contract


def _proper(margin: Array) -> Array:
    """Shares (1, s_1, ..., s_m) without negative ones, and of a choice with the sum 1."""
    shares = np.clip(margin, 0, 1)
    if len(shares) > 2:
        total = shares[1:].sum(axis=0)
        shares[1:] = np.where(total > 0, shares[1:] / np.where(total > 0, total, 1), 1 / (len(shares) - 1))
    return shares
