"""Linear maps along the axes of a tensor, one small matrix per feature, never their big Kronecker product.

An axis is (all, evidence column 1, ..., evidence column m). A choice has a column for each answer; a flag has one
column and two answers, and its False is all less True. This file is the place that knows it: `answer_count`,
`margins`, `answer_rows`, `answer_row`, `over_answers` and `over_entries`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.inference.one_feature import Array, Axis
from deniable.kernels import tools_for


@dataclass(frozen=True)
class Alike:
    """Rows of weights, one for each answer, each with one weight for the answer itself and one for any other.

    Three weights stand for a row, or for all rows of a large matrix.
    """

    everybody: Array
    own: Array
    others: Array

    def along(self, tensor: Array) -> Array:
        """The rows applied along the first axis of a tensor, which comes back last, as `np.tensordot` has it."""
        shape = (-1, *[1] * (tensor.ndim - 1))
        everybody, own, others = (each.reshape(shape) for each in (self.everybody, self.own, self.others))
        each = (own - others) * tensor[1:]
        each += everybody * tensor[0] + others * tensor[1:].sum(axis=0)
        return np.moveaxis(each, 0, -1)


def along(tensor: Array, matrices: Sequence[Array | Alike]) -> Array:
    """A tensor with one matrix applied along each of its first axes, in order; any further axes come first.

    A matrix may be one for each of many tables, which the next axis of the tensor after those is of.
    """
    for left, matrix in zip(range(len(matrices), 0, -1), matrices, strict=True):
        if isinstance(matrix, Alike):  # the axis comes back last, so each is first in its turn
            tensor = matrix.along(tensor)
        elif matrix.ndim == 2:
            tensor = np.tensordot(tensor, matrix, axes=([0], [1]))
        else:
            tensor = _along_each(tensor, matrix, left)
    return tensor


def _along_each(tensor: Array, matrices: Array, place: int) -> Array:
    """Tables, in this axis of a tensor, each with its own matrix applied along the first, which comes back last."""
    tables = np.moveaxis(tensor, place, 0)
    applied = matrices @ tables.reshape(*tables.shape[:2], -1)
    applied = applied.reshape(*applied.shape[:2], *tables.shape[2:])
    return np.moveaxis(np.moveaxis(applied, 1, -1), 0, place - 1)


def mix(tensor: npt.NDArray[Any], matrices: Sequence[npt.ArrayLike]) -> Array:
    """A tensor over flags with a 2 x 2 matrix applied along each axis, in a copy."""
    line = np.array(tensor, np.float64, order="C").reshape(-1)
    tools_for(8e-9 * line.size * len(matrices)).mix(np.array(matrices, np.float64), line)
    return line.reshape(tensor.shape)


def invert(axes: Sequence[Axis], counts: npt.NDArray[np.int64]) -> Array:
    """The estimate of the truth from counts: one small inverse along each axis; of many, if counts have more axes."""
    if counts.ndim == len(axes) and all(axis.m == 1 for axis in axes):
        return mix(counts, [((1, 0), (-axis.p / axis.d, 1 / axis.d)) for axis in axes])
    tensor = counts.astype(np.float64)
    for k, axis in enumerate(axes):
        tensor = np.moveaxis(axis.invert(np.moveaxis(tensor, k, -1)), -1, k)
    return tensor


def weighted(axes: Sequence[Axis], counts: npt.NDArray[np.int64]) -> tuple[Axis, ...]:
    """The axes with weights of centring from each one's own counts, whatever else is counted; of many, if there are."""
    lines = (counts[tuple(slice(None) if k == axis else 0 for k in range(len(axes)))] for axis in range(len(axes)))
    each = (line.T[:, None] if line.ndim > 1 else line for line in lines)
    return tuple(axis.weighted_by(line) for axis, line in zip(axes, each, strict=True))


def contract(tensor: Array, vectors: Sequence[Array]) -> Array:
    """The sum of a tensor times a product of vectors, one per axis; of many tensors, if it has more axes.

    Vectors may be rows of one, for each of many tensors.
    """
    if any(vector.ndim > 1 for vector in vectors):
        applied = along(tensor, [np.atleast_2d(vector) for vector in vectors])
        return applied.reshape(applied.shape[: -len(vectors)])
    return reduce(lambda left, vector: np.tensordot(vector, left, axes=(0, 0)), vectors, tensor)


def weighted_sums(tensor: Array, weights: Sequence[Array]) -> Array:
    """Sums of a tensor times products of weights: of one vector per axis, or for all combinations of matrices' rows."""
    return along(tensor, weights) if weights[0].ndim > 1 else contract(tensor, weights)


def row_counts(weights: Sequence[Array]) -> list[int]:
    """How many rows of weights there are for each axis; none if it is one vector each."""
    return [len(matrix) for matrix in weights if matrix.ndim > 1]


def flat(parts: Sequence[Array]) -> Array:
    """The Kronecker product of weights, one per feature, in C order: vectors make a vector, rows make rows."""
    return reduce(lambda left, right: np.asarray(np.kron(left, right), np.float64), parts)


def sandwich(rows: Sequence[Array], covariance: Array) -> Array:
    """W Cov W' for weights W that are products over features, one matrix of rows each; of many, if it has more axes."""
    many = covariance.shape[:-2]
    tensor = covariance.reshape(*many, *2 * [matrix.shape[1] for matrix in rows])
    last = np.moveaxis(tensor, range(len(many)), range(-len(many), 0))
    return along(last, [*rows, *rows]).reshape(*many, *2 * [prod(map(len, rows))])


def answer_count(columns: int) -> int:
    """How many answers a feature with so many evidence columns has: a flag has one column and two answers."""
    return max(2, columns)


def margins(columns: int) -> Array:
    """The matrix that adds up one axis: from the shares of a feature's answers to (all, evidence columns)."""
    if columns == 1:
        return np.array([[1.0, 1.0], [0.0, 1.0]])
    return np.vstack([np.ones(columns), np.eye(columns)])


def answer_rows(columns: int) -> Array:
    """The weights of each answer on one axis, a row each: the inverse of `margins`. A flag's False is all less True."""
    return np.array([[1.0, -1.0], [0.0, 1.0]]) if columns == 1 else np.eye(1 + columns)[1:]


def answer_row(columns: int, code: int) -> Array:
    """The weights of one answer on its axis: one row of `answer_rows`."""
    return np.asarray(answer_rows(1)[code] if columns == 1 else np.eye(1, 1 + columns, 1 + code)[0])


def over_answers(weights: Array) -> Array:
    """Weights of one axis as weights of its answers: w @ margins(m)."""
    return np.asarray(weights @ margins(1) if len(weights) == 2 else weights[0] + weights[1:], np.float64)


def over_entries(weights: Array, columns: int) -> Array:
    """Weights of a feature's answers as weights of its axis, the inverse of `over_answers`: w @ answer_rows(m)."""
    return np.asarray(weights @ answer_rows(1) if columns == 1 else np.concatenate([[0.0], weights]), np.float64)


def moment_matrix(truth: Array, moments: Sequence[Array]) -> Array:
    """The matrix of second moments sum_S T_S prod_k G_k[J_k, J'_k, S_k]; of many truths, if it has more axes."""
    sizes = [size for moment in moments for size in moment.shape[-3:-1]]
    found = along(truth, [moment.reshape(*moment.shape[:-3], -1, moment.shape[-1]) for moment in moments])
    return as_matrix(found.reshape(*found.shape[: -len(moments)], *sizes), len(moments))


def as_matrix(tensor: Array, features: int) -> Array:
    """Matrices from a tensor that ends with two axes of each feature in turn, of which the first ones become rows."""
    many = tensor.ndim - 2 * features
    order = [*range(many), *range(many, tensor.ndim, 2), *range(many + 1, tensor.ndim, 2)]
    return tensor.transpose(order).reshape(*tensor.shape[:many], prod(tensor.shape[many::2]), -1)
