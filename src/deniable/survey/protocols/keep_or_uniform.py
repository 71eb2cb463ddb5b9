"""Protocols that keep an outcome or draw a uniform one: what GRR and local hashing share."""

from abc import abstractmethod
from fractions import Fraction

from deniable.client import SCALE
from deniable.survey.protocols.base import AskedFor, Channel


class KeepOrUniform(AskedFor):
    """An exact coin a = keep / 65 536 keeps the outcome; else it is drawn uniformly from all n outcomes.

    P(outcome shown) = a + (1 - a) / n if it is the true one, else (1 - a) / n; ratio = 1 + n keep / (65 536 - keep).
    With a fresh coin b after it, a b stands for a in what is shown, while the ratio is that of what is kept.
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
        kept = Fraction(self.keep * self.fresh, SCALE**2)
        other = (1 - kept) / self.outcomes
        return Channel(other, other + kept)

    @property
    def odds(self) -> tuple[float, float]:
        return float(self.outcome_channel.q), float(self.outcome_channel.p)
