"""The exact distribution of one evidence column's count, a binomial or a sum of two, and its mid-p intervals.

Of N respondents of whom t are counted it is Bin(t, q) + Bin(N - t, p); about a population with the share pi it is
Bin(N, p + (q - p) pi). Its intervals need no approximation, but steps that are small.
"""

from dataclasses import dataclass
from math import ceil, floor, sqrt

import numpy as np

from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array

# A count must have this standard deviation, were all answers equally common, and half of it at the estimate.
STEPS = 5
# Exact intervals are computed for at most so many reports; beyond them the normal interval takes over.
MOST_EXACT = 1_000_000


@dataclass(frozen=True)
class OneColumn:
    """The exact distribution of one evidence column of a question with so many `answers`.

    `c` of `n` reports show it, with probability q if it is true and p if not.
    """

    c: int
    n: int
    p: float
    q: float
    answers: int
    subject: Subject

    @property
    def enough(self) -> bool:
        """Whether steps of one are small, were answers equally common and, half as strictly, at the estimate."""
        if self.p == 0 and self.q == 1 and self.subject is Subject.RESPONDENTS:
            return True  # nothing was randomized
        usual, own = self._variance(self.n / self.answers), self._variance(self.estimate)
        return usual >= STEPS**2 and 4 * own >= STEPS**2

    @property
    def estimate(self) -> float:
        """The unbiased estimate of how many respondents it is true for."""
        return (self.c - self.p * self.n) / (self.q - self.p)

    def limits(self, level: float) -> tuple[float, float]:
        """The mid-p interval of how many respondents it is true for, or n times the population's share.

        Where it ends at none or at all of the respondents, it goes on as the normal interval does: nothing is cut.
        """
        from scipy.special import ndtri

        tail = (1 - level) / 2
        if self.subject is Subject.POPULATION:
            low, high = (self.n * (self._rate(at) - self.p) / (self.q - self.p) for at in (tail, 1 - tail))
            return low, high
        first, last = self._first(tail), self._first(1 - tail) - 1
        away = float(ndtri(1 - tail)) * sqrt(self._variance(self.estimate)) / (self.q - self.p)
        low = first if first > 0 else min(0.0, self.estimate - away)
        high = last if last < self.n else max(float(self.n), self.estimate + away)
        if first > last:  # no number of respondents explains so few, or so many
            low, high = self.estimate - away, self.estimate + away
        return float(low), float(high)

    def _variance(self, t: float) -> float:
        """The variance of the count if it is true for t respondents, or for the share t / n of the population."""
        t = min(max(t, 0.0), float(self.n))
        if self.subject is Subject.POPULATION:
            rate = self.p + (self.q - self.p) * t / self.n
            return self.n * rate * (1 - rate)
        return t * self.q * (1 - self.q) + (self.n - t) * self.p * (1 - self.p)

    def _first(self, chance: float) -> int:
        """The least number t of respondents under which P(C > c) + P(C = c) / 2 exceeds this chance, or n + 1."""
        from scipy.special import ndtri

        # The normal approximation says where to look first.
        guess = self.estimate + float(ndtri(chance)) * sqrt(self._variance(self.estimate)) / (self.q - self.p)
        near = int(min(max(guess, 0.0), float(self.n)))
        low, high, width = near, near, 2
        while low > 0 and self._above(low) > chance:
            low, width = max(0, low - width), 4 * width
        while high <= self.n and not self._above(high) > chance:
            high, width = min(self.n + 1, high + width), 4 * width
        while low < high:
            t = (low + high) // 2
            low, high = (low, t) if self._above(t) > chance else (t + 1, high)
        return low

    def _above(self, t: int) -> float:
        """The upper mid-p tail P(C > c) + P(C = c) / 2, if it is true for t respondents."""
        first_a, a = binomial(t, self.q)
        first_b, b = binomial(self.n - t, self.p)
        above = np.concatenate([[1.0], 1 - np.cumsum(b) + b / 2, [0.0]])  # of B, for counts before, in and after b
        left = self.c - first_a - np.arange(len(a)) - first_b
        return float(a @ above[np.clip(left, -1, len(b)) + 1])

    def _rate(self, chance: float) -> float:
        """The rate of showing the column at which the upper mid-p tail of the count is this chance, by bisection."""
        from scipy.special import bdtr, bdtrc

        low, high = 0.0, 1.0
        while (middle := (low + high) / 2) not in (low, high) and high - low > 1e-15:
            above = (bdtrc(self.c, self.n, middle) + 1 - (bdtr(self.c - 1, self.n, middle) if self.c else 0)) / 2
            low, high = (low, middle) if above > chance else (middle, high)
        return middle


def binomial(n: int, p: float) -> tuple[int, Array]:
    """The first place and the probabilities of Bin(n, p) where they matter; what is left out sums to below 1e-15."""
    from scipy.special import gammaln, xlog1py, xlogy

    mean = n * p
    away = 9 * sqrt(mean * (1 - p)) + 12
    k = np.arange(max(0, floor(mean - away)), min(n, ceil(mean + away)) + 1)
    logs = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p)
    return int(k[0]), np.exp(logs)
