"""Exact intervals of one column against brute force."""

from fractions import Fraction
from itertools import product
from math import comb, exp, sqrt

import numpy as np
import pytest
from scipy import stats

from deniable.inference.about_whom import Subject
from deniable.inference.exact_binomial import OneColumn


def binomial(n: int, p: Fraction) -> list[Fraction]:
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def exact_law(t: int, n: int, p: Fraction, q: Fraction) -> list[Fraction]:
    """P(C = c): those who are counted show it with probability q, the others with p."""
    law = [Fraction(0)] * (n + 1)
    for (a, x), (b, y) in product(enumerate(binomial(t, q)), enumerate(binomial(n - t, p))):
        law[a + b] += x * y
    return law


PROBABILITIES = [(Fraction(1, 4), Fraction(3, 4)), (Fraction(1, 16), Fraction(1, 2)), (Fraction(0), Fraction(7, 8))]


def weight(variance: Fraction) -> Fraction:
    """The weight of the count itself in both tails: 1 where it does not vary, 3/4 at a variance of 5, 1/2 far out."""
    return Fraction(1, 2) + Fraction(5) / (5 + variance) / 2


@pytest.mark.parametrize(("p", "q"), PROBABILITIES)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_exact_interval_is_all_truths_that_explain_the_count(p: Fraction, q: Fraction, level: float) -> None:
    n, tail = 12, (1 - Fraction(level)) / 2
    laws = [exact_law(t, n, p, q) for t in range(n + 1)]
    for c in range(n + 1):
        w = [weight(t * q * (1 - q) + (n - t) * p * (1 - p)) for t in range(n + 1)]
        above = [sum(law[c + 1 :]) + w[t] * law[c] for t, law in enumerate(laws)]
        below = [sum(law[:c]) + w[t] * law[c] for t, law in enumerate(laws)]
        fitting = [t for t in range(n + 1) if above[t] > tail and below[t] >= tail]
        law = OneColumn(c, n, float(p), float(q), 2, Subject.RESPONDENTS)
        low, high = law.limits(level)
        assert low <= law.estimate <= high or fitting
        if fitting:  # at the edges it may go on; one number alone is shown as all that is rounded to it
            half = 0.5 * (low < fitting[0] == fitting[-1] < high)
            first, last = min(fitting[0] - half, law.estimate), max(fitting[-1] + half, law.estimate)
            assert low == pytest.approx(first) or (fitting[0] == 0 and low <= 0)
            assert high == pytest.approx(last) or (fitting[-1] == n and high >= n)
            assert low <= law.estimate <= high
            assert high > low


@pytest.mark.parametrize(("p", "q"), PROBABILITIES)
def test_the_exact_interval_of_a_population_has_the_tails_it_says(p: Fraction, q: Fraction) -> None:
    n = 15
    for c in range(n + 1):
        low, high = OneColumn(c, n, float(p), float(q), 2, Subject.POPULATION).limits(0.9)
        for limit, tail, edge in ((low, 0.05, 0.0), (high, 0.95, 1.0)):
            rate = float(p) + float(q - p) * limit / n
            chances = [comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
            at_edge = rate == pytest.approx(edge, abs=1e-9)
            more = sum(chances[c + 1 :]) if tail < 0.5 else sum(chances[:c])
            w = 0.5 + 2.5 / (5 + n * rate * (1 - rate))
            assert at_edge or more + w * chances[c] == pytest.approx(0.05, abs=1e-9)
            assert not at_edge or c in (0, n)


def test_exact_intervals_reach_large_surveys() -> None:
    """At a million reports they are the normal ones, to a hundredth of a standard error."""
    p, q, n, t = 0.25, 0.75, 1_000_000, 300_000
    c = round(t * q + (n - t) * p)
    for subject, variance in ((Subject.RESPONDENTS, n * 3 / 16), (Subject.POPULATION, c * (1 - c / n))):
        law = OneColumn(c, n, p, q, 2, subject)
        low, high = law.limits(0.95)
        stderr = sqrt(variance) / (q - p)
        assert law.enough
        assert [low, high] == pytest.approx([t - 1.96 * stderr, t + 1.96 * stderr], abs=0.01 * stderr + 1)


def test_whether_an_interval_is_given_depends_on_the_plan_and_the_number_of_reports_alone() -> None:
    for subject in Subject:
        for n, p, q, answers, wanted in (
            (20, 0.44, 0.56, 2, False),  # a standard error of 0.92
            (200, 0.44, 0.56, 2, False),  # 0.29
            (300, 0.44, 0.56, 2, True),  # 0.24
            (20, 0.02, 0.98, 2, True),
            (200, 0.0, 1.0, 10, True),
        ):
            assert {OneColumn(c, n, p, q, answers, subject).enough for c in range(0, n + 1, 5)} == {wanted}
    assert OneColumn(3, 200, 0.0, 1.0, 2, Subject.RESPONDENTS).limits(0.95) == (3, 3)  # a public column


def covered(n: int, p: float, q: float, share: float, subject: Subject) -> float:
    """The probability that the 95 % interval holds the truth, by summing over all counts."""
    t = round(share * n) if subject is Subject.RESPONDENTS else share * n
    if subject is Subject.RESPONDENTS:
        law = np.convolve(stats.binom.pmf(np.arange(t + 1), t, q), stats.binom.pmf(np.arange(n - t + 1), n - t, p))
    else:
        law = stats.binom.pmf(np.arange(n + 1), n, p + (q - p) * share)
    counts = np.flatnonzero(law > 1e-6)
    ends = [OneColumn(int(c), n, p, q, 2, subject).limits(0.95) for c in counts]
    return float(sum(law[c] for c, (low, high) in zip(counts, ends, strict=True) if low - 1e-9 <= t <= high + 1e-9))


@pytest.mark.parametrize("subject", Subject)
def test_no_truth_is_held_less_often_than_in_94_of_100_surveys(subject: Subject) -> None:
    """Settings where steps are large: mid-p intervals hold some of these truths in 91 to 93 %."""
    settings = [(n, e, share) for n in (20, 50, 100, 300) for e in (2, 4, 6, 8) for share in (0, 0.01, 0.05, 0.1, 0.3)]
    least = min(covered(n, 1 / (exp(e) + 1), exp(e) / (exp(e) + 1), share, subject) for n, e, share in settings)
    assert least > 0.939


def test_what_no_truth_explains_has_the_normal_interval() -> None:
    """Far fewer than 200 times no would show: an unlucky survey, and the truth is above the interval."""
    law = OneColumn(30, 200, 0.3, 0.7, 2, Subject.RESPONDENTS)
    low, high = law.limits(0.95)
    away = 1.959964 * sqrt(200 * 0.21) / 0.4
    assert (low, high) == pytest.approx((law.estimate - away, law.estimate + away))
    assert high < 0
