"""One axis of the estimator: what one feature's evidence says of the truth, and how noisy it is.

Per feature, u = (1, [x = 1], ..., [x = m]) is the truth, e the evidence, and z = B e one report's own estimate of u:

    unbiased     B = A^-1 = [[1, 0], [-p / d 1, I / d]], with d = q - p
    centred      the same, less g_v (sum_w z_w - 1) with weights g that sum to 1: then a choice's values sum to 1 in
                 every report. Plain centring has g_v = 1 / m; `Axis.weighted` has those of least variance

Whatever the protocol, the noise covariance of z given the truth x is, with H = I - g 1' if centred and H = I if not,

    N(x) = H (c0 I + c1 11' + alpha e_x e_x' + beta (1 e_x' + e_x 1')) H'

with the protocol's own numbers (`survey.protocols.dependence`), so E[z z' | x] = u u' + N(x) is linear in u. What does
not depend on x is put on u_0. Third and fourth moments are linear in u likewise.

The best g minimises the variance of all differences of shares at once: g = N 1 / (1' N 1), with N the mean of the
N(x) above, H left out, over all respondents. Then the estimate is uncorrelated with what it was corrected by, so that
estimating g from the same reports costs nothing to first order. Of independent bits g_v is in proportion to the
variance of z_v.

A column may stand for several values whose sum is looked at: the margin of a block, over the answers to its other
questions. Then weights are the same for all of these values, and power sums count each column so many times.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.survey.protocols.base import Protocol
from deniable.survey.protocols.dependence import Dependence, Noise

Array = npt.NDArray[np.float64]

# Rows of weights are taken so many numbers at a time, so that all that is made of them stays in the cache.
CACHED = 1 << 14


@dataclass(frozen=True, eq=False)
class Axis:
    """What the estimator needs to know of one feature: index 0 is "not looked at", 1 to m are its evidence columns.

    The weights of centring, g, are a number for each column, all the same if there are none. They may have axes before
    that, which stand beside those of rows of weights: of many tables at once they are (tables, 1, columns).
    """

    m: int
    dependence: Dependence
    sums_to_one: bool  # whether one report's estimates of a choice's values sum to 1 by themselves
    centred: bool
    times: tuple[int, ...] = ()  # for how many values each column stands; one each, if there are none
    weights: Array | None = None  # of centring, each column's the sum over its values; all alike, if there are none

    @classmethod
    def of(cls, protocol: Protocol, *, centred: bool) -> "Axis":
        """The axis of a bound protocol. A flag has nothing to centre."""
        return cls(protocol.columns, protocol.dependence, protocol.sums_to_one, centred and protocol.columns > 1)

    def margin(self, columns: int, weights: Array | None = None) -> "Axis":
        """The axis whose columns are sums over equally many values of this one, with such sums of its weights."""
        times = () if columns == self.m else (self.m // columns,) * columns
        return replace(self, times=times, weights=weights)

    @property
    def weighs(self) -> bool:
        """Whether the best weights of centring follow the shares of the values."""
        return self.centred and not self.sums_to_one and self.noise.alpha + self.m * self.noise.beta != 0

    def weighted(self, shares: Array) -> "Axis":
        """The axis with the best weights of centring where values have these shares, in the last axis.

        They may be unbiased estimates, which need not sum to one, and are cut to what a share can be. Where nothing is
        to be centred, or plain centring is best whatever the shares, the axis itself.
        """
        if not self.weighs:
            return self
        c0, c1, alpha, beta = self.noise
        slope = alpha + self.m * beta
        each = (c0 + self.m * c1 + beta) * np.array(self.times or 1) + slope * np.clip(shares, 0, 1)
        return replace(self, weights=each / each.sum(axis=-1, keepdims=True))

    def weighted_by(self, counts: npt.NDArray[Any]) -> "Axis":
        """The axis with the best weights of centring where these are its counts, in the last axis."""
        return self.weighted((counts[..., 1:] / counts[..., :1] - self.p) / self.d)

    def of_tables(self, places: npt.NDArray[Any]) -> "Axis":
        """The axis of some of many tables that it has weights of centring for."""
        return self if self.weights is None else replace(self, weights=self.weights[places])

    def in_order(self, order: npt.NDArray[Any]) -> "Axis":
        """The axis of many tables with the columns of each in an order of its own, a row of `order` for each table."""
        if self.weights is None:
            return self
        return replace(self, weights=np.take_along_axis(self.weights, order[:, None, :], axis=-1))

    def by_row(self, rows: int) -> "Axis":
        """The axis of many tables with so many rows of weights each, one after another: then each row has its own."""
        return self if self.weights is None else replace(self, weights=self.weights[:, 0].repeat(rows, axis=0))

    def _of_rows(self, some: slice) -> "Axis":
        """The axis for some of the rows of weights, if each has its own weights of centring."""
        return self if self.weights is None or self.weights.ndim == 1 else replace(self, weights=self.weights[some])

    @property
    def plain(self) -> "Axis":
        """The same axis with equal weights of centring: the best where all answers are equally common."""
        return self if self.weights is None else replace(self, weights=None)

    @property
    def kind(self) -> tuple[object, ...]:
        """What axes have in common that differ in nothing but their weights of centring: a key for dictionaries."""
        return self.m, self.dependence, self.sums_to_one, self.centred, self.times

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Axis):
            return NotImplemented
        return self is other or (self.kind == other.kind and self._weights_as_bytes == other._weights_as_bytes)

    def __hash__(self) -> int:
        return hash((self.kind, self._weights_as_bytes))

    @property
    def _weights_as_bytes(self) -> bytes | None:
        return None if self.weights is None else self.weights.tobytes()

    @property
    def columns(self) -> int:
        """How many columns there are beside "not looked at"."""
        return len(self.times) or self.m

    @property
    def adds_up(self) -> bool:
        """Whether one report's estimates of a feature's answers sum to 1: a flag's do."""
        return self.m == 1 or self.centred or self.sums_to_one

    @property
    def p(self) -> float:
        """P(evidence bit = 1) of a value that is not true."""
        return self.dependence.p_and_d[0]

    @property
    def d(self) -> float:
        """The difference q - p of the probabilities of the true value's bit and of another's."""
        return self.dependence.p_and_d[1]

    @property
    def noise(self) -> Noise:
        """The numbers c0, c1, alpha and beta of N(x)."""
        return self.dependence.noise

    def invert(self, counts: Array) -> Array:
        """B along the last axis: from evidence to the estimate of the truth."""
        truth = counts.astype(np.float64)
        rest, each = truth[..., 1:], np.array(self.times or 1)
        rest -= each * (self.p * truth[..., :1])
        rest /= self.d
        if self.centred:
            apart = rest.sum(axis=-1, keepdims=True) - truth[..., :1]
            rest -= each * (apart / self.m) if self.weights is None else self._by_table(self.weights) * apart
        return truth

    def by_evidence(self, rows: Array) -> Array:
        """B' along the last axis: what weights of the truth weigh the evidence (1, bits) of one report.

        Of columns that stand for several values it is that of each of these values' bits.
        """
        w = rows[..., 1:]
        centre = self._mean(w) if self.centred else np.zeros_like(rows[..., :1])
        bits = (w - centre) / self.d
        return _vectors(rows[..., :1] + centre - self.p * self._sum(bits), bits)

    def report_range(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The least and the most of (1, bits) over all reports there can be, of weights between bounds.

        Weights are in the last axis, which goes. Reports of GRR mark one value and those of subset selection k, so
        that the extreme ones count. Any bits can stand in the others; those of hashes hardly, if values are many.
        """
        many = np.array(self.times or (1,) * self.m)
        least, most = np.repeat(low[..., 1:], many, axis=-1), np.repeat(high[..., 1:], many, axis=-1)
        if self.m > 1 and self.sums_to_one:
            k = round(self.dependence.true[0] + (self.m - 1) * self.dependence.false[1])
            least, most = np.sort(least, axis=-1)[..., :k], np.sort(most, axis=-1)[..., -k:]
        else:
            least, most = np.minimum(least, 0), np.maximum(most, 0)
        return low[..., 0] + least.sum(axis=-1), high[..., 0] + most.sum(axis=-1)

    def second(self, left: Array, right: Array) -> tuple[Array, Array]:
        """E[(w z)(w' z) | x] and (w u)(w' u) as vectors over u, for weights w and w' in the last axis."""
        c0, c1, alpha, beta = self.noise
        w0, w, v0, v = left[..., :1], left[..., 1:], right[..., :1], right[..., 1:]
        truth = _vectors(w0 * v0, w0 * v + w * v0 + w * v)
        if self.centred:
            w, v = w - self._mean(w), v - self._mean(v)
        sum_w, sum_v = self._sum(w), self._sum(v)
        constant = c0 * self._sum(w * v) + c1 * sum_w * sum_v
        return truth + _vectors(constant, alpha * w * v + beta * (sum_w * v + w * sum_v)), truth

    @property
    def square_of_flag(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """E[1 | x] and E[z^2 | x] of a flag, whose one bit z estimates it, as vectors over u."""
        c0, c1, alpha, beta = self.noise
        return (1.0, 0.0), (c0 + c1, 1 + alpha + 2 * beta)

    def seconds(self) -> tuple[Array, Array]:
        """E[z_a z_b | x] and u_a u_b as vectors over u, for every pair of indices a and b: a cube of 1 + columns.

        Of many tables at once the first is a cube for each.
        """
        length = 1 + self.columns
        unit = np.eye(length)
        left, right = unit.repeat(length, axis=0), np.tile(unit, (length, 1))
        moment, truth = (each.reshape(*each.shape[:-2], length, length, length) for each in self.second(left, right))
        return moment, truth

    def cell_seconds(self, shares: Array) -> Array:
        """The matrix E[z z'] of one report's estimates of all answers, if answers have these shares; of many rows."""
        c0, c1, alpha, beta = self.noise
        if self.m == 1:  # a flag's False is all less True
            noise = c0 + c1 + (alpha + 2 * beta) * shares[..., 1, None, None]
            return np.asarray(_diagonals(shares) + noise * np.array([[1.0, -1.0], [-1.0, 1.0]]))
        each = np.array(self.times or [1] * self.m, np.float64)
        row, column, shares_row, shares_column = each, each[:, None], shares[..., None, :], shares[..., None]
        noise = _diagonals(c0 * each + alpha * shares) + c1 * column * row
        noise += beta * (column * shares_row + shares_column * row)
        if self.weights is not None:
            noise -= np.swapaxes(np.atleast_2d(self.weights), -1, -2) * noise.sum(axis=-2, keepdims=True)
            noise -= noise.sum(axis=-1, keepdims=True) * self.weights
        elif self.centred:
            noise -= column * noise.sum(axis=-2, keepdims=True) / self.m
            noise -= noise.sum(axis=-1, keepdims=True) * row / self.m
        return _diagonals(shares) + noise

    def cell_powers(self, weights: Array) -> tuple[Array, Array, Array, Array]:
        """The moments E[(w z)^k | answer], k = 1 to 4, for rows w of weights of all answers: (rows, answers) each."""
        step = max(1, CACHED // weights.shape[1])
        if len(weights) > step:
            slices = [slice(start, start + step) for start in range(0, len(weights), step)]
            parts = [self._of_rows(some).cell_powers(weights[some]) for some in slices]
            t, e2, e3, e4 = (np.concatenate(each) for each in zip(*parts, strict=True))
            return t, e2, e3, e4
        if self.m == 1:
            t, *others = self.powers(np.stack([weights[:, 0], weights[:, 1] - weights[:, 0]], axis=1))
            return t, others[0], others[1], others[2]
        t, *others = (of[:, 1:] for of in self.powers(np.hstack([np.zeros((len(weights), 1)), weights])))
        return t, others[0], others[1], others[2]

    @property
    def outcomes(self) -> tuple[Array, Array] | None:
        """What a report can show, if that is one value alone: the estimates z of all answers by outcome, and a channel.

        The channel has the probability of each outcome (rows) given each answer. None where several values may be
        marked at once.
        """
        if self.m == 1:
            z = np.array([0.0, 1.0])[:, None] - self.p
            one = z / self.d
            return np.hstack([1 - one, one]), np.array([[1 - self.p, 1 - self.p - self.d], [self.p, self.p + self.d]])
        each = self.m // self.columns
        channel = each * self.p + self.d * np.eye(self.columns)
        if self.dependence.false[2] or abs(channel[:, 0].sum() - 1) > 1e-12:
            return None
        return (np.eye(self.columns) - each * self.p) / self.d, channel

    def _sum(self, by_value: Array) -> Array:
        """The sum over all values of a feature, which are in the last axis."""
        return np.asarray((by_value * self.times if self.times else by_value).sum(axis=-1, keepdims=True))

    def _mean(self, by_value: Array) -> Array:
        """The mean over all values of a feature by its weights of centring."""
        if self.weights is None:
            return self._sum(by_value) / self.m
        return np.asarray((by_value * self.weights).sum(axis=-1, keepdims=True))

    @staticmethod
    def _by_table(weights: Array) -> Array:
        """Weights of centring without the axis that stands beside rows: (tables, columns), or (columns,) of one."""
        return weights if weights.ndim == 1 else weights[..., 0, :]

    def powers(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        """w u, and the moments E[(w z)^2 | x], E[(w z)^3 | x] and E[(w z)^4 | x], for each row w of weights.

        By x: first none of the values, as a flag's False, then each value. `over_truth` makes them vectors over u.
        """
        t = rows[:, :1] + _vectors(np.zeros((len(rows), 1)), rows[:, 1:])
        w = rows[:, 1:] - self._mean(rows[:, 1:]) if self.centred else rows[:, 1:]
        own = _vectors(np.zeros((*w.shape[:-1], 1)), w)
        square = own * own  # numpy multiplies many times faster than it raises to a power
        sums = tuple(self._sum(power[..., 1:]) for power in (own, square, square * own, square * square))
        m2, m3, m4 = self.dependence.weighted_moments(own, (sums[0], sums[1], sums[2], sums[3]))
        t2 = t * t
        return t, t2 + m2, t * (t2 + 3 * m2) + m3, t2 * (t2 + 6 * m2) + 4 * t * m3 + m4


def over_truth(by_value: Array) -> Array:
    """Functions of the value, none first, as vectors over u = (1, [x = 1], ..., [x = m])."""
    return _vectors(by_value[..., :1], by_value[..., 1:] - by_value[..., :1])


def _vectors(constant: Array, by_value: Array) -> Array:
    return np.concatenate([constant, by_value], axis=-1)


def _diagonals(rows: Array) -> Array:
    """A diagonal matrix for each row."""
    return np.asarray(rows[..., None] * np.eye(rows.shape[-1]))
