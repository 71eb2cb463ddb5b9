"""How the evidence bits of one feature depend on each other, given the true value, in exact fractions.

Every protocol here is exchangeable: no false value is treated differently from another. So all there is to know of the
joint distribution of its bits, up to fourth moments, are the probabilities, for j = 0 to 4,

    P_j   that j given false values are all marked,        p = P_1
    Q_j   that they are and the true value is too,         q = Q_0        d = q - p

    independent bits                                P_j = p^j                      Q_j = q p^j
    one value alone is marked                       P = (1, p, 0, 0, 0)            Q = (q, 0, 0, 0, 0)
    always k of m values                            Q_j = q (k-1)_j / (m-1)_j      P_j = Q_j + (1-q) (k)_j / (m-1)_j

with falling factorials (a)_j. For z = (bits - p) / d, one report's own unbiased estimate of (x = 1, ..., x = m), the
covariance given that x is true is N(x) = c0 I + c1 11' + beta (e_x 1' + 1 e_x') + alpha e_x e_x', with

    c0 = (p - P_2) / d^2        c1 = (P_2 - p^2) / d^2        beta = (Q_1 - p q - P_2 + p^2) / d^2
    alpha = q (1 - q) / d^2 - c0 - c1 - 2 beta

and third and fourth central moments of any weighted sum of bits follow likewise (`weighted_moments`).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from itertools import product
from math import comb, factorial, perm, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

ORDERS = range(5)  # The probabilities P_j and Q_j are known for these j: enough for fourth moments.

Array = npt.NDArray[np.float64]
Parts = tuple[int, ...]  # exponents of different false values, none rising
Polynomial = dict[Parts, Fraction]  # coefficients of products of power sums, by the exponents of these
MOMENTS = (2, 3, 4)  # The orders of central moments that are known in closed form.
# All products of power sums of weights up to fourth order, in the order in which `weighted_moments` makes them.
POWER_SUMS: tuple[Parts, ...] = (
    (), (1,), (2,), (1, 1), (3,), (2, 1), (1, 1, 1), (4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1),
)  # fmt: skip


class Noise(NamedTuple):
    """The four numbers of N(x), the covariance of one report's unbiased estimate of a feature."""

    c0: float
    c1: float
    alpha: float
    beta: float


@dataclass(frozen=True)
class Dependence:
    """The probabilities P_j (`false`) and Q_j (`true`), j = 0 to 4, of an exchangeable protocol."""

    false: tuple[Fraction, ...]
    true: tuple[Fraction, ...]

    @classmethod
    def independent(cls, p: Fraction, q: Fraction) -> "Dependence":
        """Bits that are independent of each other, given the true value."""
        return cls(tuple(p**j for j in ORDERS), tuple(q * p**j for j in ORDERS))

    @classmethod
    def exclusive(cls, p: Fraction, q: Fraction) -> "Dependence":
        """Bits of which exactly one is 1."""
        none = Fraction(0)
        return cls((Fraction(1), p, none, none, none), (q, none, none, none, none))

    @classmethod
    def fixed_size(cls, q: Fraction, size: int, values: int) -> "Dependence":
        """Bits of which always `size` are 1, all sets with the true value being as likely, and all those without it."""

        def together(marked: int, j: int) -> Fraction:
            """P(j given false values are marked), if so many of all false ones are; 0 if there are fewer than j."""
            return Fraction(perm(marked, j), perm(values - 1, j)) if j < values else Fraction(0)

        true = tuple(q * together(size - 1, j) for j in ORDERS)
        return cls(tuple(true[j] + (1 - q) * together(size, j) for j in ORDERS), true)

    @cached_property
    def _hash(self) -> int:
        return hash((self.false, self.true))

    def __hash__(self) -> int:
        return self._hash  # fractions take long to hash, and axes are looked up by what they are

    @property
    def p(self) -> Fraction:
        """P(a false value is marked)."""
        return self.false[1]

    @property
    def q(self) -> Fraction:
        """P(the true value is marked)."""
        return self.true[0]

    @cached_property
    def p_and_d(self) -> tuple[float, float]:
        """The probability p of a false value's bit, and the difference d = q - p, as floats."""
        return float(self.p), float(self.q - self.p)

    @cached_property
    def is_independent(self) -> bool:
        """Whether the bits are independent of each other, given the true value."""
        return self == Dependence.independent(self.p, self.q)

    @cached_property
    def noise(self) -> Noise:
        """The numbers c0, c1, alpha and beta of N(x)."""
        p, q, d = self.p, self.q, self.q - self.p
        c0, c1 = (p - self.false[2]) / d**2, (self.false[2] - p**2) / d**2
        beta = (self.true[1] - p * q - self.false[2] + p**2) / d**2
        alpha = q * (1 - q) / d**2 - c0 - c1 - 2 * beta
        return Noise(float(c0), float(c1), float(alpha), float(beta))

    def total_variance(self, values: int) -> float:
        """The trace of the centred noise covariance, the same for every true value; of a flag, the mean over both."""
        c0, _, alpha, _ = self.noise
        return c0 + alpha / 2 if values == 1 else c0 * (values - 1) + alpha * (1 - 1 / values)

    def central_moment(self, own: int, parts: Parts) -> Fraction:
        """E[(b_x - q)^own (b_1 - p)^parts[0] (b_2 - p)^parts[1] ...] of the true value's bit and different false ones.

        As a bit is 0 or 1, (b - c)^k = (-c)^k + ((1 - c)^k - (-c)^k) b.
        """
        p, q = self.p, self.q
        total = Fraction(0)
        for marked in product((0, 1), repeat=len(parts)):
            weight = prod(
                ((1 - p) ** k - (-p) ** k if bit else (-p) ** k for k, bit in zip(parts, marked, strict=True)),
                start=Fraction(1),
            )
            j = sum(marked)
            total += weight * ((-q) ** own * self.false[j] + ((1 - q) ** own - (-q) ** own) * self.true[j])
        return total

    @cached_property
    def polynomials(self) -> Array:
        """The coefficients of second, third and fourth central moments of weighted sums.

        A moment of order k is a polynomial in the weight of the true value, whose coefficients, k + 1 of them, constant
        first, are polynomials in the power sums of all weights: a column for each, of the products in `POWER_SUMS`.
        """
        columns = [column for order in MOMENTS for column in _moment(self, order)]
        return np.array([[float(column.get(parts, 0)) for column in columns] for parts in POWER_SUMS])

    def weighted_moments(self, own: Array, sums: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array]:
        """Second, third and fourth central moments of a weighted sum of z, one report's unbiased estimate of a feature.

        `own` is the weight of the true value, or 0 where no value is true; `sums` are the power sums of the weights of
        all values, that of the first powers first, whose last axis has length one.
        """
        t, t2, t3, t4 = sums
        square = t * t
        products = (np.ones_like(t), t, t2, square, t3, t2 * t, square * t, t4, t3 * t, t2 * t2, t2 * square)
        coefficients = np.concatenate([*products, square * square], axis=-1) @ self.polynomials
        found, first = [], 0
        for order in MOMENTS:
            total = coefficients[..., first + order, None] * own
            for power in range(order - 1, 0, -1):
                total = (total + coefficients[..., first + power, None]) * own
            found.append(total + coefficients[..., first, None])
            first += order + 1
        return found[0], found[1], found[2]


@lru_cache(maxsize=1024)
def _moment(of: Dependence, order: int) -> tuple[Polynomial, ...]:
    """The coefficients of the powers of the true value's weight, constant first, in a moment of this order."""
    found: tuple[Polynomial, ...] = tuple({} for _ in range(order + 1))
    d = of.q - of.p
    for on_true in range(order + 1):
        for parts in partitions(order - on_true):
            times = comb(order, on_true) * groupings(parts) * of.central_moment(on_true, parts) / d**order
            for (power, sums), each in over_distinct(parts).items():
                column = found[on_true + power]
                column[sums] = column.get(sums, Fraction(0)) + times * each
    return found


@cache
def over_distinct(parts: Parts) -> dict[tuple[int, Parts], int]:
    """The sum over different false values v, w, ... of weight_v^parts[0] weight_w^parts[1] ..., as a polynomial.

    Its terms are a power of the true value's weight times a product of power sums of all weights, by their exponents:
    the power sum over false values alone is that over all less the true value's own power.
    """
    if not parts:
        return {(0, ()): 1}
    found: dict[tuple[int, Parts], int] = {}

    def add(power: int, sums: Parts, times: int) -> None:
        key = power, tuple(sorted(sums, reverse=True))
        found[key] = found.get(key, 0) + times

    first, rest = parts[0], parts[1:]
    for (power, sums), times in over_distinct(rest).items():
        add(power, (*sums, first), times)
        add(power + first, sums, -times)
    for k in range(len(rest)):  # less those where the first is the same value as another
        merged = tuple(sorted((*rest[:k], rest[k] + first, *rest[k + 1 :]), reverse=True))
        for (power, sums), times in over_distinct(merged).items():
            add(power, sums, -times)
    return found


@cache
def partitions(total: int, most: int | None = None) -> tuple[Parts, ...]:
    """Integer partitions: whole numbers above zero, none rising, with this sum; (2, 1, 1) is one of 4."""
    if total == 0:
        return ((),)
    largest = min(total, total if most is None else most)
    return tuple((first, *rest) for first in range(largest, 0, -1) for rest in partitions(total - first, first))


@cache
def groupings(parts: Parts) -> int:
    """The number of set partitions into groups of these sizes."""
    ways = factorial(sum(parts)) // prod(factorial(size) for size in parts)
    return ways // prod(factorial(parts.count(size)) for size in set(parts))
