"""Randomized response (Warner), for flags."""

from dataclasses import dataclass, field
from fractions import Fraction

from deniable.client import SCALE
from deniable.errors import PlanError
from deniable.survey.protocols.base import Channel
from deniable.survey.protocols.grid import HALF, Epsilon, inside, largest
from deniable.survey.protocols.independent_bits import IndependentBits


@dataclass(frozen=True, init=False)
class RandomizedResponse(IndependentBits):
    """Randomized response for flags, by p and q or by epsilon: q = 1 - p = e^epsilon / (1 + e^epsilon).

    Both answers must stay deniable: ratio = max(q / p, (1 - p) / (1 - q)).
    p is rounded up and q down to the grid, which can only make epsilon smaller.

    Examples
    --------
    >>> dn.RandomizedResponse(p=0.1, q=0.8).integers
    {'p': 6554, 'q': 52428}
    >>> dn.RandomizedResponse(epsilon=1.0).epsilon <= 1.0
    True
    """

    p_numerator: int
    q_numerator: int
    columns: int
    fresh: int = field(default=SCALE, repr=False)
    name = "randomized response"

    def __init__(self, *, p: Epsilon | None = None, q: Epsilon | None = None, epsilon: Epsilon | None = None) -> None:
        if epsilon is not None and p is None and q is None:
            top = largest(lambda k: Fraction(k, SCALE - k), epsilon, least=HALF + 1)
            self.__dict__.update(p_numerator=SCALE - top, q_numerator=top, columns=1)
        elif epsilon is None and p is not None and q is not None:
            self.__dict__.update(inside(p, q), columns=1)
        else:
            raise PlanError("RandomizedResponse takes p and q, or epsilon alone")

    def then(self, other: "RandomizedResponse | Channel") -> Channel:
        """First this, then the other on its output: the effective p and q, as exact fractions."""
        return self.channel.then(other)
