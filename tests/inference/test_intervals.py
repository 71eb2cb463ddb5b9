"""Corrected normal intervals: worked by hand, against draws, and nested."""

from itertools import product

import numpy as np
import pytest

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
    """gamma = 0.1, rho = 0.2: kappa1 = -0.1, kappa3 = -0.5, and the quantiles of z = 2 and -2 are 1.65 and -2.35."""
    level = 0.9544997361036416  # of two standard errors
    low, high = limits(cumulants_of(4.0, third=0.1 * 8, with_variance=0.2 * 8), level)
    assert [float(low), float(high)] == pytest.approx([10 - 2 * 1.65, 10 + 2 * 2.35])


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
