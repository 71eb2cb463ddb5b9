"""The exact distribution of one evidence column's count, a binomial or a sum of two, and its exact intervals.

Of N respondents of whom t are counted it is Bin(t, q) + Bin(N - t, p); about a population with the share pi it is
Bin(N, p + (q - p) pi). An interval holds all truths under which neither tail of the count, P(C > c) + w P(C = c) nor
P(C < c) + w P(C = c), is too small. The weight w is between that of the mid-p interval, 1/2, where the count varies in
many steps, and that of Clopper's and Pearson's, 1, where it hardly varies at all. It depends on the truth that is
tried and not on the count, so that nothing is selected, and no truth is held much less often than the level says.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, log, log1p, sqrt

import numpy as np

from deniable.inference.about_whom import Subject
from deniable.inference.distributions import normal_quantile
from deniable.inference.one_feature import Array

# The standard error of a proportion, were all answers equally common, beyond which its 95 % interval is longer than 1.
WIDEST = 0.255
# With this variance of the count, the weight of the count itself in both tails is half way, at 3/4.
HALF_WAY = 5
# Exact intervals are computed for at most so many reports; beyond them the normal interval takes over.
MOST_EXACT = 1_000_000
# Of up to so many reports the binomial is summed up, which needs no scipy: importing that takes longer.
SUMMED = 20_000
# The ends of an interval are found to this part of a standard error.
CLOSE = 1e-10
# A tail is taken for no less than this, and no more than one less it.
TINY = 1e-15


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
        """Whether an interval would be short enough to say something, were all answers equally common."""
        return sqrt(self._variance(self.n / self.answers)) <= WIDEST * self.n * (self.q - self.p)

    @property
    def estimate(self) -> float:
        """The unbiased estimate of how many respondents it is true for."""
        return (self.c - self.p * self.n) / (self.q - self.p)

    def limits(self, level: float) -> tuple[float, float]:
        """The exact interval of how many respondents it is true for, or n times the population's share.

        Where it ends at none or at all of the respondents, it goes on as the normal interval does: nothing is cut.
        """
        tail = (1 - level) / 2
        if self.subject is Subject.POPULATION:
            low, high = (self.n * (self._rate(at) - self.p) / (self.q - self.p) for at in (tail, 1 - tail))
            return low, high
        first, last = self._first(tail), self._first(1 - tail) - 1
        away = normal_quantile(1 - tail) * sqrt(self._variance(self.estimate)) / (self.q - self.p)
        low = first if first > 0 else min(0.0, self.estimate - away)
        high = last if last < self.n else max(float(self.n), self.estimate + away)
        if first > last:  # no number of respondents explains so few, or so many
            low, high = self.estimate - away, self.estimate + away
        if high - low < 1 and (self.p > 0 or self.q < 1):  # one number alone: shown as all that would be rounded to it
            low, high = low - 0.5, high + 0.5
        return float(min(low, self.estimate)), float(max(high, self.estimate))

    def _variance(self, t: float) -> float:
        """The variance of the count if it is true for t respondents, or for the share t / n of the population."""
        t = min(max(t, 0.0), float(self.n))
        if self.subject is Subject.POPULATION:
            rate = self.p + (self.q - self.p) * t / self.n
            return self.n * rate * (1 - rate)
        return t * self.q * (1 - self.q) + (self.n - t) * self.p * (1 - self.p)

    def _weight(self, variance: float, chance: float) -> float:
        """The part of P(C = c) in the upper tail, where a count has this variance; the lower tail has as large a one.

        What is not in the lower tail is in the upper: below a chance of 1/2 ends of the upper tail are looked for.
        """
        own = 1 / (1 + variance / HALF_WAY) / 2
        return 0.5 + own if chance < 0.5 else 0.5 - own

    def _first(self, chance: float) -> int:
        """The least number t of respondents under which P(C > c) + w P(C = c) exceeds this chance, or n + 1."""
        # The normal approximation says where to look first.
        guess = self.estimate + normal_quantile(chance) * sqrt(self._variance(self.estimate)) / (self.q - self.p)
        near = int(min(max(guess, 0.0), float(self.n)))
        low, high, width = near, near, 2
        while low > 0 and self._above(low, chance) > chance:
            low, width = max(0, low - width), 4 * width
        while high <= self.n and not self._above(high, chance) > chance:
            high, width = min(self.n + 1, high + width), 4 * width
        while low < high:
            t = (low + high) // 2
            low, high = (low, t) if self._above(t, chance) > chance else (t + 1, high)
        return low

    def _above(self, t: int, chance: float) -> float:
        """The upper tail P(C > c) + w P(C = c), if it is true for t respondents."""
        w = self._weight(self._variance(t), chance)
        first_a, a = binomial(t, self.q)
        first_b, b = binomial(self.n - t, self.p)
        above = np.concatenate([[1.0], 1 - np.cumsum(b) + w * b, [0.0]])  # of B, for counts before, in and after b
        left = self.c - first_a - np.arange(len(a)) - first_b
        return float(a @ above[np.clip(left, -1, len(b)) + 1])

    def _rate(self, chance: float) -> float:
        """The rate of showing the column at which the upper tail of the count is this chance, or 0 or 1 if none is."""
        guess = (self.c + 0.5) / (self.n + 1)
        step = (2 + abs(normal_quantile(chance))) * sqrt(guess * (1 - guess) / self.n)
        low = high = guess
        while low > 0 and self._excess(low, chance) > 0:
            low, step = max(0.0, low - step), 2 * step
        while high < 1 and self._excess(high, chance) <= 0:
            high, step = min(1.0, high + step), 2 * step
        return root(lambda rate: self._excess(rate, chance), low, high)

    def _excess(self, rate: float, chance: float) -> float:
        """How far the upper tail P(C > c) + w P(C = c) exceeds a chance, both as normal quantiles: nearly a line."""
        more, own = self._more(rate)
        tail = more + self._weight(self.n * rate * (1 - rate), chance) * own
        return normal_quantile(min(max(tail, TINY), 1 - TINY)) - normal_quantile(chance)

    def _more(self, rate: float) -> tuple[float, float]:
        """P(C > c) and P(C = c) at this rate, summed up, or of many reports by the incomplete beta function."""
        if self.n > SUMMED:
            from scipy.special import bdtr, bdtrc

            more = float(bdtrc(self.c, self.n, rate))
            return more, 1 - more - (float(bdtr(self.c - 1, self.n, rate)) if self.c else 0.0)
        first, mass = binomial(self.n, rate)
        at = self.c - first
        own = float(mass[at]) if 0 <= at < len(mass) else 0.0
        return float(mass[max(at + 1, 0) :].sum()), own


def binomial(n: int, p: float) -> tuple[int, Array]:
    """The first place and the probabilities of Bin(n, p) where they matter; what is left out sums to below 1e-15."""
    if p <= 0 or p >= 1:
        return (0 if p <= 0 else n), np.ones(1)
    mean = n * p
    away = 9 * sqrt(mean * (1 - p)) + 12
    k = np.arange(max(0, floor(mean - away)), min(n, ceil(mean + away)) + 1)
    ratios = np.log((n + 1 - k[1:]) / k[1:]) + log(p) - log1p(-p)  # of each probability to the one before it
    logs = np.concatenate([[0.0], np.cumsum(ratios)])
    mass = np.exp(logs - logs.max())
    return int(k[0]), mass / mass.sum()


def root(f: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function is zero, to CLOSE, by false position; the nearer end if it has no zero.

    By the Illinois rule an end that stays counts half as much the next time, so that both ends close in.
    """
    below, above = f(low), f(high)
    if below >= 0 or above <= 0:
        return low if below >= 0 else high
    while True:
        middle = (low * above - high * below) / (above - below)
        if not low < middle < high or abs(found := f(middle)) < CLOSE:
            return min(max(middle, low), high)
        if found > 0:
            high, above, below = middle, found, below / 2
        else:
            low, below, above = middle, found, above / 2
