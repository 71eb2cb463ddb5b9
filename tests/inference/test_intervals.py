"""Corrected normal intervals: worked by hand, against draws, and nested."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from deniable.inference.cumulants import Cumulants
from deniable.inference.intervals import limits
from tests.support.surveys import cumulants_of


def test_without_skewness_it_is_the_normal_interval() -> None:
    low, high = limits(cumulants_of(4.0), 0.95)
    assert [float(low), float(high)] == pytest.approx([10 - 1.959964 * 2, 10 + 1.959964 * 2])
    low, high = limits(cumulants_of(0.0), 0.95)
    assert (float(low), float(high)) == (10, 10)
    assert np.isnan(limits(cumulants_of(-1.0), 0.95)).all()


def test_the_corrections_worked_by_hand() -> None:
    """z = 2, V = 4, c = 0.4, g = 0.2: k = 0.1, half steps of 0.2 / (1 + 4 / 0.8), and the score equation is solved."""
    level = 0.9544997361036416  # of two standard errors
    c, g, k, further = 0.4, 0.2, 0.1, 0.2 / 6
    found = cumulants_of(4.0, third=4 * g, with_variance=4 * c, of_variance=4 * c**2)  # the variance goes along with it
    low, high = (float(end) for end in limits(found, level))
    for end, side in ((low + further, -1), (high - further, 1)):
        away = end - 10
        assert away + k == pytest.approx(side * 2 * np.sqrt(4 + c * away))


def test_an_uncertain_variance_has_students_quantiles() -> None:
    """Var(v) = V^2 / 5, none of it along with the estimate: ten degrees of freedom."""
    low, high = limits(cumulants_of(4.0, of_variance=16 / 5), 0.95)
    assert [float(low), float(high)] == pytest.approx([10 - 2.228139 * 2, 10 + 2.228139 * 2])


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 30.0])
def test_numbers_of_rare_events_are_held_as_by_exact_intervals(rate: float) -> None:
    """A Poisson number has the variance, third and fourth cumulant that it is: without the steps none would be held."""
    counts = np.arange(200.0)
    variance = np.maximum(counts, 0.25)
    low, high = limits(Cumulants(counts, variance, variance, variance, variance, variance), 0.95)
    held = (low <= rate) & (rate <= high)
    assert stats.poisson.pmf(counts, rate)[held].sum() > 0.935


def test_the_corrections_are_those_of_a_studentised_mean() -> None:
    """Sums of 200 exponentials, with their own variance: each tail comes right, and the plain normal's do not."""
    rng = np.random.default_rng(1)
    sums = rng.gamma(200, size=400_000)  # the variance is estimated as sum^2 / 200
    v = sums**2 / 200
    third, with_variance = 2 * sums**3 / 200**2, 2 * sums / 200 * v
    corrected, plain = (limits(Cumulants(sums, v, k * third, v, k * with_variance, v), 0.95) for k in (1.0, 0.0))
    tails = (corrected[0] > 200).mean(), (corrected[1] < 200).mean()
    assert tails == (pytest.approx(0.025, abs=0.002), pytest.approx(0.025, abs=0.002))
    tails = (plain[0] > 200).mean(), (plain[1] < 200).mean()
    assert tails[1] - tails[0] > 0.015


def test_intervals_are_nested_whatever_the_skewness() -> None:
    levels = [0.5, 0.8, 0.95, 0.99, 0.9999, 0.999999]
    for third, with_variance in product((-2.0, -0.4, 0.0, 0.4, 2.0), repeat=2):
        ends = np.array(
            [limits(cumulants_of(1.0, third=third, with_variance=with_variance), level) for level in levels]
        )
        assert (np.diff(ends[:, 0]) < 0).all()
        assert (np.diff(ends[:, 1]) > 0).all()
