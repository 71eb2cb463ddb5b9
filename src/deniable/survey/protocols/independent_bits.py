"""Protocols whose evidence bits are independent of each other: what randomized response and unary encoding share."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Self

from deniable.client import SCALE
from deniable.kernels import perturb
from deniable.kernels.perturb import Codes, Draws, Planes
from deniable.survey.protocols.base import Form, Protocol
from deniable.survey.protocols.dependence import Dependence
from deniable.survey.schema import Feature


class IndependentBits(Protocol):
    """Independent bits: that of the true value is 1 with probability q, any other with p, numerators over 65 536."""

    p_numerator: int
    q_numerator: int
    form = Form.BITS

    @cached_property
    def dependence(self) -> Dependence:
        coin, either = Fraction(self.fresh, SCALE), Fraction(SCALE - self.fresh, 2 * SCALE)
        p, q = (coin * Fraction(one, SCALE) + either for one in (self.p_numerator, self.q_numerator))
        return Dependence.independent(p, q)

    @property
    def odds(self) -> tuple[float, float]:
        return self.q / self.p, (1 - self.q) / (1 - self.p)  # against the report's probability were no value true

    @property
    def integers(self) -> dict[str, int]:
        return {"p": self.p_numerator, "q": self.q_numerator}

    @classmethod
    def from_integers(cls, integers: Mapping[str, int], feature: Feature) -> Self:
        unbound = cls._made(p_numerator=integers["p"], q_numerator=integers["q"], columns=0)
        return unbound.bind(feature)

    def bind(self, feature: Feature) -> Self:
        numerators = {"p_numerator": self.p_numerator, "q_numerator": self.q_numerator}
        return self._made(**numerators, columns=self._check_fits(feature))

    def randomize(self, codes: Codes, draws: Draws) -> Planes:
        planes = perturb.bit_planes(codes, self.codes, self.p_numerator, self.q_numerator, draws)
        return planes if self.fresh == SCALE else perturb.fresh_bits(planes, len(codes), self.fresh, draws)
