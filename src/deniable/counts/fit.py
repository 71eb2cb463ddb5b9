"""Tests of fit: whether counts can come from reports that their plan made, whatever the respondents answered.

Every test holds for any truth, and its p-value is a bound: false alarms are rarer than stated, not more frequent.

    one answer      a value's count C is at least that of nobody having it, Binomial(N, p), and at most that of
                    everybody, Binomial(N, q): Chernoff, P <= exp(-N KL(C / N, p)) below p, and likewise above q
    marked values   the number of marked values of N reports of a choice has mean N (q + (m - 1) p) and a variance
                    that does not depend on the truth: Bernstein, P <= 2 exp(-x^2 / (2 (variance + range x / 3)))
    pairs           a report's own estimate w of a pair's cell, the product of its estimates of both answers, has a mean
                    of at least zero: a bet that it is below. Who stakes l on each report has, from 1, the product of
                    1 - l w, whose mean is at most 1; so is that of the mean over several l: Markov, P <= 1 / mean.
                    No variance has to be known, which would be too small where large w are rare

The tests of one kind share one false-alarm rate, FALSE_ALARM, by Bonferroni.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import exp, log, log2

import numpy as np
import numpy.typing as npt

from deniable.counts.counts import Counts
from deniable.counts.layout import called
from deniable.survey.protocols.base import Protocol
from deniable.text.fixed_phrases import how_many

Numbers = npt.NDArray[np.float64]

FALSE_ALARM = 1e-3  # Counts that fit fail all tests of one kind together at most this often.
MOST_PAIRS = 300  # Of each arm at most so many pairs of units are tested.
REPEATED = "repeated reports"  # The kind of the test of whether reports stand twice.
LARGEST_STAKE = 0.9  # of what a bet has won so far, which one report may take


@dataclass(frozen=True)
class Fit:
    """The result of all tests of one kind: how many there were, the least likely one, and what it found."""

    kind: str
    tests: int
    p_value: float  # a bound, of all tests together: at most 1
    worst: str  # what the least likely one is about, with what was found

    @property
    def fits(self) -> bool:
        """Whether chance explains what was found, more often than a false alarm is allowed."""
        return self.p_value >= FALSE_ALARM

    def __str__(self) -> str:
        said = "fits" if self.fits else f"does not fit: {self.worst}, p < {max(self.p_value, 1e-99):.1g}"
        return f"{self.kind} ({self.tests:,} test{'s' * (self.tests != 1)}): {said}"


@dataclass(frozen=True)
class _Found:
    """One test's result: the logarithm of its p-value, and what it is about."""

    log_p: float
    what: str


def fits(counts: Counts, names: Sequence[str] | None = None) -> list[Fit]:
    """The tests of fit of counts, of all that was counted or of these features alone; one `Fit` for each kind."""
    found: dict[str, list[_Found]] = {"counts of one answer": [], "marked values per report": [], "cells of pairs": []}
    single, marked, pairs = found.values()
    for arm, name in zip(counts.arms, counts.plan.arm_names, strict=True):
        where = f"arm {name!r}, " if counts.plan.has_arms else ""
        units = [unit for unit in arm.units_of(*(names or arm.plan.schema.names)) if arm.holds_units((unit,))]
        for unit in units:
            protocol, array = arm.plan.units[unit], arm.evidence(unit)
            if protocol.protects and array[0]:
                single += _single(protocol, array, f"{where}{unit}")
                marked += _marked(protocol, array, f"{where}{unit}")
        for pair in _pairs(arm, units):
            pairs += _cells(arm, pair, f"{where}{called(pair)}")
    return [*(_fit(kind, own) for kind, own in found.items() if own), *_repeated(counts)]


def _repeated(counts: Counts) -> list[Fit]:
    """Whether reports were found twice while they were counted; none if nobody looked."""
    looked, found = counts.repeats.looked, counts.repeats.found
    what = f"of {how_many(looked, 'run')} of reports {found:,} stood there before"
    return [Fit(REPEATED, 1, 0.0 if found else 1.0, what)] if looked else []


def _fit(kind: str, found: Sequence[_Found]) -> Fit:
    worst = min(found, key=lambda one: one.log_p)
    return Fit(kind, len(found), exp(min(0.0, worst.log_p + log(len(found)))), worst.what)


def _pairs(arm: Counts, units: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Pairs of units that were counted together, MOST_PAIRS at most."""
    every = (pair for pair in combinations(units, 2) if arm.holds_units(pair))
    for pair, _ in zip(every, range(MOST_PAIRS), strict=False):
        yield pair


def _single(protocol: Protocol, array: npt.NDArray[np.int64], where: str) -> list[_Found]:
    """Whether any value was shown more rarely than if nobody, or more often than if everybody had it."""
    n, shares = int(array[0]), array[1:] / array[0]
    least, most = sorted((protocol.p, protocol.q))
    bound = np.where(shares < least, least, np.where(shares > most, most, shares))
    logs = -n * _divergence(shares, bound)
    worst = int(logs.argmin())
    share = (shares[worst] - protocol.p) / (protocol.q - protocol.p)
    what = f"{where}: value {worst + 1} would have a share of {share:.1%}"
    return [_Found(float(logs[worst]) + log(2 * len(shares)), what)]


def _divergence(a: Numbers, b: Numbers) -> Numbers:
    """The Kullback-Leibler divergence of coins, KL(a, b) = a ln(a / b) + (1 - a) ln((1 - a) / (1 - b))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(x > 0, x * np.log(x / y), 0.0) for x, y in ((a, b), (1 - a, 1 - b))]
    return np.asarray(parts[0] + parts[1])


def _marked(protocol: Protocol, array: npt.NDArray[np.int64], where: str) -> list[_Found]:
    """Whether reports mark as many values of a choice as its protocol does, whatever is true."""
    m, n = protocol.columns, int(array[0])
    if m == 1 or protocol.always_marked is not None:
        return []
    mean, variance = _marked_moments(protocol)
    off = abs(float(array[1:].sum()) - n * mean)
    what = f"{where}: {array[1:].sum() / n:.4g} marked values per report, where the plan gives {mean:.4g}"
    return [_Found(log(2) + _bernstein(off, n * variance, max(mean, m - mean)), what)]


@lru_cache(maxsize=1024)
def _marked_moments(protocol: Protocol) -> tuple[float, float]:
    """Mean and variance of how many values one report marks, which are the same whatever is true."""
    m, d = protocol.columns, protocol.q - protocol.p
    c0, c1, alpha, beta = protocol.dependence.noise
    return protocol.q + (m - 1) * protocol.p, d * d * (m * c0 + m * m * c1 + alpha + 2 * m * beta)


def _bernstein(off: float, variance: float, largest: float) -> float:
    """The logarithm of Bernstein's bound on the probability of a sum that is so far off its mean on one side."""
    return 0.0 if off <= 0 else -off * off / (2 * (variance + largest * off / 3))


def _cells(arm: Counts, pair: tuple[str, ...], where: str) -> list[_Found]:
    """Whether any cell of a pair has an unbiased estimate that is too far below zero."""
    protocols = [arm.plan.units[unit] for unit in pair]
    array = arm.evidence(*pair).astype(np.float64)
    n = array[0, 0]
    if not n or not any(protocol.protects for protocol in protocols):
        return []
    values = np.einsum("iv,jw->vwij", *map(_values, protocols))  # of one report's estimate, by its two marks
    shown = _shown(array)
    logs = -_won(values, shown, n)
    at = np.unravel_index(int(logs.argmin()), logs.shape)
    share = _over_reports(values, shown)[at] / n
    what = f"{where}: cell {tuple(int(i) for i in at)} would have a share of {share:.1%}"
    return [_Found(float(logs[at]) + log(logs.size), what)]


def _won(values: Numbers, shown: Numbers, n: float) -> Numbers:
    """The logarithm of what bets against each cell have won, on average over stakes: 1 is what they began with."""
    most = values.max(axis=(0, 1))  # A stake is below 1 / most, or a report could take more than there is.
    stakes = [LARGEST_STAKE / 2**halved for halved in range(1 + round(log2(n) / 2))]  # The best is about 1 / sqrt(n).
    won = [_over_reports(np.log1p(-stake * values / most), shown) for stake in stakes]
    return np.asarray(np.logaddexp.reduce(won) - log(len(stakes)))


def _over_reports(each: Numbers, shown: Numbers) -> Numbers:
    """The sum over all reports, for each cell, of what a report is worth by its two marks."""
    parts = [each[v, w] * shown[v, w] for v in (0, 1) for w in (0, 1)]
    return np.asarray(sum(parts))


def _shown(array: Numbers) -> Numbers:
    """How many reports do and do not mark both answers of each cell: (0 or 1, 0 or 1, answers, answers)."""
    one, other, both = array[1:, :1], array[:1, 1:], array[1:, 1:]
    return np.stack([[array[0, 0] - one - other + both, other - both], [one - both, both]])


def _values(protocol: Protocol) -> Numbers:
    """What a report's own estimate of an answer can be, without its mark and with it; a row for each kind of answer."""
    p, q, d = protocol.p, protocol.q, protocol.q - protocol.p
    rows = [[-p / d, (1 - p) / d]]
    return np.array([[q / d, (q - 1) / d], *rows] if protocol.columns == 1 else rows)  # of a flag False, then True
