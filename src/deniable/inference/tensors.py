"""The estimator's structure: one small axis per feature, applied along its axis of a tensor, never their big product.

Per feature, u = (1, [x = 1], ..., [x = m]) is the truth, e the evidence, and z = B e one report's own estimate of u:

    unbiased     B = A^-1 = [[1, 0], [-p / d 1, I / d]], with d = q - p
    consistent   the same, centred: z_v - (sum_w z_w - 1) / m, so that a choice's values sum to 1 in every report

Whatever the protocol, the noise of z given the truth x is, with H = I - 11'/m if centred and H = I if not,

    N(x) = H (c0 I + c1 11' + alpha e_x e_x' + beta (1 e_x' + e_x 1')) H

    independent bits   c0 = p (1 - p) / d^2,   c1 = 0,            alpha = (q (1 - q) - p (1 - p)) / d^2,   beta = 0
    exclusive bits     c0 = p / d^2,           c1 = -p^2 / d^2,   alpha = 1 / d - 1,                       beta = -p / d

so E[z z' | x] = u u' + N(x) is linear in u. What does not depend on x is put on u_0. For estimates mu of the truth T,

    Cov(mu)[J, J'] = sum_S T_S (prod_k G_k[J_k, J'_k, S_k] - prod_k U_k[J_k, J'_k, S_k])

with G for E[z z'] and U for u u'. Third moments are linear in u likewise. Weights that are a product over features,
such as those of one cell, need no more than one vector per axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.kernels.bitplanes import tools_for
from deniable.survey.protocols.protocols import Protocol

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """What the estimator needs to know of one feature: index 0 is "not looked at", 1 to m are its evidence columns."""

    m: int
    p: float
    d: float
    exclusive: bool
    centred: bool
    times: tuple[int, ...] = ()  # for how many values each column of weights stands; one each, if there are none

    @classmethod
    def of(cls, protocol: Protocol, *, centred: bool) -> "Axis":
        """The axis of a bound protocol. A flag has nothing to centre, and its one bit nothing to exclude."""
        several = protocol.columns > 1
        return cls(
            protocol.columns, protocol.p, protocol.q - protocol.p, protocol.exclusive and several, centred and several
        )

    @cached_property
    def noise(self) -> tuple[float, float, float, float]:
        """The numbers c0, c1, alpha and beta of N(x)."""
        p, d, q = self.p, self.d, self.p + self.d
        if self.exclusive:
            return p / d**2, -((p / d) ** 2), 1 / d - 1, -p / d
        return p * (1 - p) / d**2, 0.0, (q * (1 - q) - p * (1 - p)) / d**2, 0.0

    def invert(self, counts: Array) -> Array:
        """B along the last axis: from evidence to the estimate of the truth."""
        truth = counts.astype(np.float64)
        rest = truth[..., 1:]
        rest -= self.p * truth[..., :1]
        rest /= self.d
        if self.centred:
            rest -= (rest.sum(axis=-1, keepdims=True) - truth[..., :1]) / self.m
        return truth

    def second(self, left: Array, right: Array) -> tuple[Array, Array]:
        """E[(w z)(w' z) | x] and (w u)(w' u) as vectors over u, for weights w and w' in the last axis."""
        c0, c1, alpha, beta = self.noise
        w0, w, v0, v = left[..., :1], left[..., 1:], right[..., :1], right[..., 1:]
        truth = _vectors(w0 * v0, w0 * v + w * v0 + w * v)
        if self.centred:
            w, v = w - self._sum(w) / self.m, v - self._sum(v) / self.m
        sum_w, sum_v = self._sum(w), self._sum(v)
        constant = c0 * self._sum(w * v) + c1 * sum_w * sum_v
        return truth + _vectors(constant, alpha * w * v + beta * (sum_w * v + w * sum_v)), truth

    def seconds(self) -> tuple[Array, Array]:
        """G and U for every pair of indices: arrays (1 + m, 1 + m, 1 + m)."""
        unit = np.eye(self.m + 1)
        return self.second(unit[:, None], unit)

    def _sum(self, by_value: Array) -> Array:
        """Over all values, which are in the last axis."""
        return np.asarray((by_value * self.times if self.times else by_value).sum(axis=-1, keepdims=True))

    def powers(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        """w u, and the moments E[(w z)^2 | x], E[(w z)^3 | x] and E[(w z)^4 | x], for each row w of weights.

        By x: first none of the values, as a flag's False, then each value. `over_truth` makes them vectors over u.
        """
        none = np.zeros((len(rows), 1))
        t = rows[:, :1] + np.hstack([none, rows[:, 1:]])
        w = rows[:, 1:] - self._sum(rows[:, 1:]) / self.m if self.centred else rows[:, 1:]
        w2 = w * w
        s1, s2, s3, s4 = (self._sum(power) for power in (w, w2, w2 * w, w2 * w2))
        own = np.hstack([none, w])
        c0, c1, alpha, beta = self.noise
        m2 = c0 * s2 + c1 * s1**2 + alpha * own**2 + 2 * beta * s1 * own
        p, d, q = self.p, self.d, self.p + self.d
        if self.exclusive:  # the bit that is 1 is of each value with probability p, and q for x
            e1, e2, e3, e4 = (p * s + d * own**k for k, s in enumerate((s1, s2, s3, s4), start=1))
            m3 = (e3 - 3 * e1 * e2 + 2 * e1**3) / d**3
            m4 = (e4 - 4 * e1 * e3 + 6 * e1**2 * e2 - 3 * e1**4) / d**4
        else:  # third and fourth cumulants of the bits add
            by_p, by_q = (r * (1 - r) * (1 - 2 * r) / d**3 for r in (p, q))
            m3 = by_p * s3 + (by_q - by_p) * own**3
            by_p, by_q = (r * (1 - r) * (1 - 6 * r * (1 - r)) / d**4 for r in (p, q))
            m4 = by_p * s4 + (by_q - by_p) * own**4 + 3 * m2**2
        return t, t**2 + m2, t**3 + 3 * t * m2 + m3, t**4 + 6 * t**2 * m2 + 4 * t * m3 + m4


def over_truth(by_value: Array) -> Array:
    """Functions of the value, none first, as vectors over u = (1, [x = 1], ..., [x = m])."""
    return _vectors(by_value[..., :1], by_value[..., 1:] - by_value[..., :1])


def _vectors(constant: Array, by_value: Array) -> Array:
    return np.concatenate([constant, by_value], axis=-1)


@dataclass(frozen=True)
class Alike:
    """Rows of weights, one for each answer, that differ in whose they are: three weights instead of a large matrix."""

    everybody: float
    own: float
    others: float

    def along(self, tensor: Array) -> Array:
        """Along the first axis, which comes back last, as `np.tensordot` has it."""
        each = (self.own - self.others) * tensor[1:]
        each += self.everybody * tensor[0] + self.others * tensor[1:].sum(axis=0)
        return np.moveaxis(each, 0, -1)


def along(tensor: Array, matrices: Sequence[Array | Alike]) -> Array:
    """One matrix along each axis, in order."""
    for matrix in matrices:  # the axis comes back last, so each is first in its turn
        tensor = matrix.along(tensor) if isinstance(matrix, Alike) else np.tensordot(tensor, matrix, axes=([0], [1]))
    return tensor


def mix(tensor: npt.NDArray[Any], matrices: Sequence[Sequence[Sequence[float]]]) -> Array:
    """For flags alone: a 2 x 2 matrix along each axis, in a copy of the tensor."""
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


def contract(tensor: Array, vectors: Sequence[Array]) -> float:
    """Sum of the tensor times a product of vectors, one per axis."""
    return float(reduce(lambda left, vector: np.tensordot(vector, left, axes=(0, 0)), vectors, tensor))


def flat(parts: Sequence[Array]) -> Array:
    """Weights that are a product over features, in C order: vectors make a vector, rows make rows."""
    return reduce(lambda left, right: np.asarray(np.kron(left, right), np.float64), parts)


def sandwich(rows: Sequence[Array], covariance: Array) -> Array:
    """W Cov W' for weights W that are products over features, one matrix of rows each; of many, if it has more axes."""
    many = covariance.shape[:-2]
    tensor = covariance.reshape(*many, *2 * [matrix.shape[1] for matrix in rows])
    last = np.moveaxis(tensor, range(len(many)), range(-len(many), 0))
    return along(last, [*rows, *rows]).reshape(*many, *2 * [prod(map(len, rows))])


def margins(columns: int) -> Array:
    """Adds up one axis: from the shares of a feature's answers to (all, evidence columns)."""
    if columns == 1:
        return np.array([[1.0, 1.0], [0.0, 1.0]])
    return np.vstack([np.ones(columns), np.eye(columns)])


def answer_rows(columns: int) -> Array:
    """The weights of each answer on one axis, the inverse of `margins`: a flag's False is all less True."""
    return np.array([[1.0, -1.0], [0.0, 1.0]]) if columns == 1 else np.eye(1 + columns)[1:]


def answer_row(columns: int, code: int) -> Array:
    """One row of `answer_rows`."""
    return np.asarray(answer_rows(1)[code] if columns == 1 else np.eye(1, 1 + columns, 1 + code)[0])


def over_answers(weights: Array) -> Array:
    """Weights of one axis as weights of its answers: w @ margins(m)."""
    return np.asarray(weights @ margins(1) if len(weights) == 2 else weights[0] + weights[1:], np.float64)


def over_entries(weights: Array, columns: int) -> Array:
    """And back, a flag having two answers and one column: w @ answer_rows(m)."""
    return np.asarray(weights @ answer_rows(1) if columns == 1 else np.concatenate([[0.0], weights]), np.float64)


def moment_matrix(truth: Array, moments: Sequence[Array]) -> Array:
    """sum_S T_S prod_k G_k[J_k, J'_k, S_k] for all J and J', as a matrix; for many truths, if it has more axes."""
    for moment in moments:
        truth = np.tensordot(truth, moment, axes=([0], [2]))
    return as_matrix(truth, len(moments))


def as_matrix(tensor: Array, features: int) -> Array:
    """From a tensor that ends with two axes of each feature in turn to matrices with the first ones as rows."""
    many = tensor.ndim - 2 * features
    order = [*range(many), *range(many, tensor.ndim, 2), *range(many + 1, tensor.ndim, 2)]
    return tensor.transpose(order).reshape(*tensor.shape[:many], prod(tensor.shape[many::2]), -1)
