"""Protocols that keep an outcome or draw a uniform one: what GRR and local hashing share."""

from abc import abstractmethod
from fractions import Fraction

from deniable.client import SCALE
from deniable.survey.protocols.base import Channel, Protocol
from deniable.survey.protocols.grid import Epsilon


class KeepOrUniform(Protocol):
    """An exact coin a = keep / 65 536 keeps the outcome; else it is drawn uniformly from all n outcomes.

    P(outcome shown) = a + (1 - a) / n if it is the true one, else (1 - a) / n; ratio = 1 + n keep / (65 536 - keep).
    """

    asked: Epsilon | None  # until it is bound
    keep: int

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """Among how many the shown outcome is chosen."""

    @property
    def shown(self) -> Channel:
        """P(an outcome is shown), if it is not the true one and if it is."""
        self._check_bound()
        other = Fraction(SCALE - self.keep, SCALE * self.outcomes)
        return Channel(other, other + Fraction(self.keep, SCALE))

    @property
    def ratio(self) -> Fraction:
        self._check_bound()
        return super().ratio

    @property
    def epsilon(self) -> float:
        """What a report of this feature costs: ln(ratio), rounded up; outside a plan, what was asked for it."""
        return super().epsilon if self.asked is None else float(self.asked)

    @property
    def odds(self) -> tuple[float, float]:
        return float(self.shown.q), float(self.shown.p)
