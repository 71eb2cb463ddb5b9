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

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

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
