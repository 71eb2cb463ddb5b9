"""Exact intervals of one column against brute force."""

from fractions import Fraction
from itertools import product
from math import comb, sqrt

import pytest

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


@pytest.mark.parametrize(("p", "q"), PROBABILITIES)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_exact_interval_is_all_truths_that_explain_the_count(p: Fraction, q: Fraction, level: float) -> None:
    n, tail = 12, (1 - Fraction(level)) / 2
    laws = [exact_law(t, n, p, q) for t in range(n + 1)]
    for c in range(n + 1):
        above = [sum(law[c + 1 :]) + law[c] / 2 for law in laws]
        fitting = [t for t in range(n + 1) if tail < above[t] <= 1 - tail]
        law = OneColumn(c, n, float(p), float(q), 2, Subject.RESPONDENTS)
        low, high = law.limits(level)
        assert low <= law.estimate <= high or fitting
        if fitting:  # at the edges it may go on
            assert (max(low, 0), min(high, n)) == (fitting[0], fitting[-1])
            assert low == fitting[0] or fitting[0] == 0
            assert high == fitting[-1] or fitting[-1] == n


@pytest.mark.parametrize(("p", "q"), PROBABILITIES)
def test_the_exact_interval_of_a_population_has_the_tails_it_says(p: Fraction, q: Fraction) -> None:
    n = 15
    for c in range(n + 1):
        low, high = OneColumn(c, n, float(p), float(q), 2, Subject.POPULATION).limits(0.9)
        for limit, tail, edge in ((low, 0.05, 0.0), (high, 0.95, 1.0)):
            rate = float(p) + float(q - p) * limit / n
            chances = [comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
            at_edge = rate == pytest.approx(edge, abs=1e-9)
            assert at_edge or sum(chances[c + 1 :]) + chances[c] / 2 == pytest.approx(tail, abs=1e-9)
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


def test_few_steps_are_not_enough_reports_and_nothing_random_always_is() -> None:
    def enough(c: int, n: int, p: float, q: float, answers: int, subject: Subject = Subject.RESPONDENTS) -> bool:
        return OneColumn(c, n, p, q, answers, subject).enough

    assert not enough(10, 200, 0.02, 0.98, 2)  # a standard deviation of 2
    assert enough(80, 200, 0.3, 0.7, 2)
    assert enough(3, 200, 0.0, 1.0, 2)  # a public column
    assert OneColumn(3, 200, 0.0, 1.0, 2, Subject.RESPONDENTS).limits(0.95) == (3, 3)
    assert not enough(3, 200, 0.0, 1.0, 2, Subject.POPULATION)  # 7 if half were, but 1.7 at the estimate
    assert enough(8, 200, 0.0, 1.0, 2, Subject.POPULATION)  # 2.8
    assert not enough(8, 200, 0.0, 1.0, 10, Subject.POPULATION)  # 4.2 if a tenth were


def test_what_no_truth_explains_has_the_normal_interval() -> None:
    """Far fewer than 200 times no would show: an unlucky survey, and the truth is above the interval."""
    law = OneColumn(30, 200, 0.3, 0.7, 2, Subject.RESPONDENTS)
    low, high = law.limits(0.95)
    away = 1.959964 * sqrt(200 * 0.21) / 0.4
    assert (low, high) == pytest.approx((law.estimate - away, law.estimate + away))
    assert high < 0
