"""Cumulants of weighted sums whose weights are not a product over features: conditioning makes such weights.

For weights e of all entries one report's own estimate is Y = e z. With E[z z' | x] and E[z z z | x] of each feature as
arrays, E[Y^2 | answers] and E[Y^3 | answers] are contractions of e x e and e x e x e with them, one feature after
another. So the variance, its gradient by the cells of the table, the third cumulant and the covariance of an estimate
with its estimated variance are exact, in any table small enough for it.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np

from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import Cumulants
from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import answer_count, answer_rows, flat, margins

# Third moments that have more terms than this for one sum are not computed.
MOST_TERMS = 2e5


def cumulants_of_sums(
    n: int, axes: Sequence[Axis], shares: Array, covariance: Array, weights: Array, subject: Subject
) -> Cumulants:
    """The cumulants of weighted sums of n respondents' entries, for rows of weights of all entries, in C order.

    Cells have these `shares`, and entries have that `covariance` there. The fourth cumulant is not computed, but zero;
    so are all but the variance in a table that is too large for third moments.
    """
    table, t = n * shares.reshape(-1), weights @ flat([margins(axis.columns) for axis in axes])
    variance = np.einsum("ij,jk,ik->i", weights, covariance, weights, optimize=True)
    if not computable(axes):
        return Cumulants.normal(t @ table, variance)
    e2, e3 = (moments_of_sums(axes, weights, order) for order in (2, 3))
    if subject is Subject.POPULATION:
        center = (t @ table / n)[:, None]
        third = (e3 - 3 * center * e2) @ table + 2 * n * center[:, 0] ** 3
        gradient = e2 - 2 * center * t
    else:
        third = (e3 - 3 * t * e2 + 2 * t**3) @ table
        gradient = e2 - t**2
    by_entry = gradient @ flat([answer_rows(axis.columns) for axis in axes])
    moved = by_entry @ covariance
    with_variance, of_variance = (moved * weights).sum(axis=1), (moved * by_entry).sum(axis=1)
    return Cumulants(t @ table, variance, third, np.zeros(len(weights)), with_variance, of_variance)


def computable(axes: Sequence[Axis]) -> bool:
    """Whether third moments have few enough terms, once the longest feature is contracted, which goes first."""
    lengths = [1 + axis.columns for axis in axes]
    return max(lengths) * (prod(lengths) // max(lengths)) ** 3 <= MOST_TERMS


def moments_of_sums(axes: Sequence[Axis], weights: Array, order: int) -> Array:
    """E[Y^order | answers] of rows of weights, for the second and the third order: rows by cells, in C order."""
    by_length = sorted(range(len(axes)), key=lambda k: -axes[k].columns)
    arrays = [_moment_array(axes[k], order) for k in by_length]
    rows = weights.reshape(-1, *(1 + axis.columns for axis in axes)).transpose(0, *(1 + k for k in by_length))
    levels = [answer_count(axes[k].columns) for k in by_length]
    found = np.array([_contracted(row, arrays, order) for row in rows]).reshape(-1, *levels)
    return found.transpose(0, *(1 + np.argsort(by_length))).reshape(len(weights), -1)


def _contracted(row: Array, arrays: Sequence[Array], order: int) -> Array:
    """The contraction of a tensor of weights, taken `order` times, with the moments of one feature after another."""
    line, found = row.reshape(len(row), -1), arrays[0]
    for _ in range(order):  # an axis of the first feature goes, and one of all others comes last
        found = np.tensordot(found, line, axes=([0], [0]))
    found = np.moveaxis(found, 0, -1)
    for moments in arrays[1:]:
        rest = found.shape[0] // len(moments)
        split = found.reshape(*[len(moments), rest] * order, -1)
        found = np.tensordot(split, moments, axes=(range(0, 2 * order, 2), range(order))).reshape(*[rest] * order, -1)
    return found.reshape(-1)


@lru_cache(maxsize=256)
def _moment_array(axis: Axis, order: int) -> Array:
    """E[z_a z_b | answer], or E[z_a z_b z_c | answer], for all entries of one feature; answers come last."""
    if order == 2:
        return np.asarray(axis.seconds()[0] @ margins(axis.columns))
    size = 1 + axis.columns
    a, b, c = (part.reshape(-1) for part in np.meshgrid(*[np.arange(size)] * 3, indexing="ij"))
    unit = np.eye(size)
    signs = ((1, 1, 1, 1), (1, 1, -1, -1), (1, -1, 1, -1), (-1, 1, 1, -1))  # 24 abc is the sum of these cubes
    cubes = [last * axis.powers(i * unit[a] + j * unit[b] + k * unit[c])[2] for i, j, k, last in signs]
    by_value = np.sum(cubes, axis=0) / 24
    return np.asarray(by_value[:, 0 if axis.columns == 1 else 1 :].reshape(size, size, size, -1))
