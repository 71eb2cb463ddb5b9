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

with G for E[z z'] and U for u u'. Weights that are a product over features, such as those of one cell, need no more
than one vector per axis.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.planes import tools_for
from deniable.protocols import Protocol

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """What the estimator needs to know of one feature: index 0 is "not looked at", 1 to m are its evidence columns."""

    m: int
    p: float
    d: float
    c0: float
    c1: float
    alpha: float
    beta: float
    centred: bool

    @classmethod
    def of(cls, protocol: Protocol, *, centred: bool) -> "Axis":
        """The axis of a bound protocol; a flag has nothing to centre."""
        p, q = protocol.p, protocol.q
        d = q - p
        if protocol.exclusive and protocol.columns > 1:  # one bit excludes nothing
            noise = (p / d**2, -((p / d) ** 2), 1 / d - 1, -p / d)
        else:
            noise = (p * (1 - p) / d**2, 0.0, (q * (1 - q) - p * (1 - p)) / d**2, 0.0)
        return cls(protocol.columns, p, d, *noise, centred and protocol.columns > 1)

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
        """E[(w z)(w' z) | x] and (w u)(w' u) as vectors over u, for two vectors of weights w and w'."""
        w, v = (np.array(weights[1:]) for weights in (left, right))
        truth = np.concatenate([[left[0] * right[0]], left[0] * v + w * right[0] + w * v])
        if self.centred:
            w, v = w - w.mean(), v - v.mean()
        constant = self.c0 * (w @ v) + self.c1 * w.sum() * v.sum()
        by_value = self.alpha * w * v + self.beta * (w.sum() * v + w * v.sum())
        return truth + np.concatenate([[constant], by_value]), truth

    def seconds(self) -> tuple[Array, Array]:
        """G and U for every pair of indices: arrays (1 + m, 1 + m, 1 + m)."""
        unit = np.eye(self.m + 1)
        both = [[self.second(a, b) for b in unit] for a in unit]
        return np.array([[g for g, _ in row] for row in both]), np.array([[u for _, u in row] for row in both])

    def squares(self, rows: Array) -> tuple[Array, Array]:
        """`second` of each row of weights with itself: arrays (rows, 1 + m)."""
        both = [self.second(row, row) for row in rows]
        return np.array([g for g, _ in both]), np.array([u for _, u in both])


def along(tensor: Array, matrices: Sequence[Array]) -> Array:
    """One matrix along each axis, in order."""
    for matrix in matrices:
        tensor = np.tensordot(tensor, matrix, axes=([0], [1]))  # the axis comes back last, so each is first in its turn
    return tensor


def shear(axes: Sequence[Axis], tensor: npt.NDArray[Any], steps: Sequence[tuple[float, float]]) -> Array:
    """For flags alone: (x0, x1) becomes (x0, a x0 + b x1) along each axis, in a copy of the tensor."""
    flat = np.array(tensor, np.float64, order="C").reshape(-1)
    below, diagonal = (np.array(column) for column in zip(*steps, strict=True))
    tools_for(8e-9 * flat.size * len(axes)).shear(flat, below, diagonal)
    return flat.reshape(tensor.shape)


def invert(axes: Sequence[Axis], counts: npt.NDArray[np.int64]) -> Array:
    """The estimate of the truth from counts: one small inverse along each axis."""
    if all(axis.m == 1 for axis in axes):
        return shear(axes, counts, [(-axis.p / axis.d, 1 / axis.d) for axis in axes])
    tensor = counts.astype(np.float64)
    for k, axis in enumerate(axes):
        tensor = np.moveaxis(axis.invert(np.moveaxis(tensor, k, -1)), -1, k)
    return tensor


def contract(tensor: Array, vectors: Sequence[Array]) -> float:
    """Sum of the tensor times a product of vectors, one per axis."""
    return float(reduce(lambda left, vector: np.tensordot(vector, left, axes=(0, 0)), vectors, tensor))
