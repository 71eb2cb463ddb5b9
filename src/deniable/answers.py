"""Answers: a value with its standard error, its interval, and whether there are enough reports for it."""

from dataclasses import dataclass
from math import sqrt

from deniable.cumulants import Cumulants
from deniable.intervals import OneColumn, checked_level, limits


@dataclass(frozen=True, repr=False)
class Answer:
    """A number of respondents, as a proportion, with its standard error and interval; `count` is the number itself.

    `enough` says whether there are enough reports for the interval to be trusted, by the rule in `intervals`.
    """

    count: float
    n: int
    found: Cumulants  # of the estimate that the interval is about; `count` may be that of a proper table
    enough: bool
    law: OneColumn | None = None  # the exact one, where there is
    cut: bool = False  # whether the interval is cut to what a proportion can be, the value itself included

    @property
    def value(self) -> float:
        """The proportion."""
        return self.count / self.n

    @property
    def variance(self) -> float:
        """The estimated variance of the count: negative, now and then, where there are not enough reports."""
        return float(self.found.variance)

    @property
    def stderr(self) -> float:
        """The standard error of the proportion; nan where the estimated variance is negative."""
        return sqrt(self.variance) / self.n if self.variance >= 0 else float("nan")

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """What holds the true proportion at this level of confidence; nan if there are not enough reports."""
        level = checked_level(level)
        ends = self.law.limits(level) if self.law else limits(self.found, level)
        low, high = (float(end) / self.n if self.enough else float("nan") for end in ends)
        if self.cut and self.enough:  # no shorter than to hold the value itself
            low, high = min(max(low, 0.0), self.value), max(min(high, 1.0), self.value)
        return low, high

    def __str__(self) -> str:
        if not self.enough:
            return f"{self.value:.4f} (not enough reports for this question)"
        low, high = self.confidence_interval()
        return f"{self.value:.4f} +- {self.stderr:.4f} (95 % interval {low:.4f} to {high:.4f})"

    def __repr__(self) -> str:
        return f"<Answer {self}>"
