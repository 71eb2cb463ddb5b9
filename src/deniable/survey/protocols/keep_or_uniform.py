"""Protocols that keep an outcome or draw a uniform one: what GRR and local hashing share."""

from abc import abstractmethod
from fractions import Fraction

from deniable.client import SCALE
from deniable.survey.protocols.base import AskedFor, Channel


class KeepOrUniform(AskedFor):
    """An exact coin a = keep / 65 536 keeps the outcome; else it is drawn uniformly from all n outcomes.

    P(outcome shown) = a + (1 - a) / n if it is the true one, else (1 - a) / n; ratio = 1 + n keep / (65 536 - keep).
    """

    keep: int

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """Among how many the shown outcome is chosen."""

    @property
    def outcome_channel(self) -> Channel:
        """P(an outcome is shown), if it is not the true one and if it is."""
        self._check_bound()
        other = Fraction(SCALE - self.keep, SCALE * self.outcomes)
        return Channel(other, other + Fraction(self.keep, SCALE))

    @property
    def odds(self) -> tuple[float, float]:
        return float(self.outcome_channel.q), float(self.outcome_channel.p)
