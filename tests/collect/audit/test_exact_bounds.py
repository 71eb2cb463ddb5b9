"""Exact binomial inference of an audit, against sums of binomial probabilities in exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.collect.audit.exact_bounds import (
    POWER,
    chance_at_least,
    chance_at_most,
    epsilon_at_least,
    p_value,
    share_caught,
)


def at_least(k: int, n: int, chance: Fraction) -> Fraction:
    """P(X >= k) of a binomial X."""
    return sum((math.comb(n, j) * chance**j * (1 - chance) ** (n - j) for j in range(k, n + 1)), Fraction(0))


@pytest.mark.parametrize(("k", "n"), [(0, 7), (1, 7), (4, 7), (7, 7), (13, 40)])
@pytest.mark.parametrize("error", [0.05, 1e-6])
def test_bounds_are_those_of_clopper_and_pearson(k: int, n: int, error: float) -> None:
    low, high = float(chance_at_least(k, n, error)), float(chance_at_most(k, n, error))
    if k:
        assert float(at_least(k, n, Fraction(low))) == pytest.approx(error, rel=1e-9)
    if k < n:
        assert float(1 - at_least(k + 1, n, Fraction(high))) == pytest.approx(error, rel=1e-6)
    assert (low == 0) == (k == 0)
    assert (high == 1) == (k == n)


@pytest.mark.parametrize("k", range(8))
@pytest.mark.parametrize("chance", [0.0, 0.25, 0.5, 1.0])
def test_p_values_are_twice_the_smaller_tail(k: int, chance: float) -> None:
    more, less = at_least(k, 7, Fraction(chance)), 1 - at_least(k + 1, 7, Fraction(chance))
    assert p_value(k, 7, chance) == pytest.approx(float(min(1, 2 * min(more, less))), rel=1e-9, abs=1e-15)


def test_a_bound_of_epsilon_is_wrong_no_more_often_than_it_says() -> None:
    """Over all counts of two binomials, exactly; the bound of a level twice as loose is wrong more often."""
    n, u, v = 60, 0.6, 0.3
    law = [np.array([math.comb(n, k) * c**k * (1 - c) ** (n - k) for k in range(n + 1)]) for c in (u, v)]
    here, there = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")

    def wrong(error: float) -> float:
        return float((np.outer(*law) * (epsilon_at_least(here, there, n, error) > math.log(u / v))).sum())

    assert wrong(0.2) <= 0.2
    assert 0 < wrong(0.1) <= 0.1
    assert wrong(1.0) > 0.1


@pytest.mark.parametrize(("stated", "trials"), [(0.3, 400), (0.88, 2000), (0.001, 5000)])
def test_the_share_that_is_caught_is_caught_with_the_stated_power(stated: float, trials: int) -> None:
    error = 1e-4
    share = share_caught(stated, trials, error)
    counts = np.random.default_rng(1).binomial(trials, stated + share * (1 - stated), 4000).tolist()
    values = {count: p_value(count, trials, stated) for count in set(counts)}
    caught = np.mean([values[count] <= error for count in counts])
    assert POWER - 0.015 <= caught <= POWER + 0.03  # Monte Carlo errors of 0.0035; counts are whole numbers
    half = np.random.default_rng(2).binomial(trials, stated + share / 2 * (1 - stated), 1000)
    assert np.mean([p_value(count, trials, stated) <= error for count in half.tolist()]) < 0.5


def test_what_cannot_be_caught_is_said() -> None:
    assert share_caught(1 - 1e-5, 1000, 1e-6) == 1.0
