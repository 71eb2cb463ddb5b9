"""Unary encoding (basic RAPPOR, OUE), for choices."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from deniable.client import SCALE
from deniable.survey.protocols.grid import HALF, Epsilon, inside, largest
from deniable.survey.protocols.independent_bits import IndependentBits


@dataclass(frozen=True, init=False)
class UnaryEncoding(IndependentBits):
    """Unary encoding for choices: one bit per value, by p and q, or `symmetric` (SUE) or `optimized` (OUE) by epsilon.

    Two answers differ in two bits: ratio = q (1 - p) / (p (1 - q)). p is rounded up and q down to the grid.

    Examples
    --------
    >>> dn.UnaryEncoding(p=0.2, q=0.9).integers
    {'p': 13108, 'q': 58982}
    >>> dn.UnaryEncoding.optimized(1.0).q
    0.5
    """

    p_numerator: int
    q_numerator: int
    columns: int
    name = "unary encoding"

    def __init__(self, *, p: Epsilon, q: Epsilon) -> None:
        self.__dict__.update(inside(p, q), columns=0)

    @classmethod
    def symmetric(cls, epsilon: Epsilon) -> Self:
        """Symmetric unary encoding, as in basic RAPPOR: q = 1 - p = e^(epsilon / 2) / (1 + e^(epsilon / 2))."""
        top = largest(lambda k: Fraction(k, SCALE - k) ** 2, epsilon, least=HALF + 1)
        return cls._made(p_numerator=SCALE - top, q_numerator=top, columns=0)

    @classmethod
    def optimized(cls, epsilon: Epsilon) -> Self:
        """Optimized unary encoding (OUE): q = 1/2, p = 1 / (1 + e^epsilon), the least variance for rare values."""
        top = largest(lambda k: Fraction(k, SCALE - k), epsilon, least=HALF + 1)
        return cls._made(p_numerator=SCALE - top, q_numerator=HALF, columns=0)
