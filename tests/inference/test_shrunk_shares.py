"""Intervals of shares that a model has shrunk: on the scale of log-odds, and as far towards 0 as before shrinkage."""

import numpy as np
import pytest

from deniable.inference.cumulants import Cumulants
from deniable.inference.intervals import limits_of_shrunk_shares

Z = 1.959963984540054


N = 10_000


def ends(p: float, stderr: float, before: tuple[float, float], level: float = 0.95) -> tuple[float, float]:
    """The ends for a share and its standard error, and those of the estimate before shrinkage."""
    found, unshrunk = (Cumulants.normal(share * N, (error * N) ** 2) for share, error in ((p, stderr), before))
    low, high = limits_of_shrunk_shares(found, N, unshrunk, level)
    return float(low) / N, float(high) / N


def log_odds(share: float) -> float:
    return float(np.log(share / (1 - share)))


@pytest.mark.parametrize("p", [0.06, 0.4])
def test_upper_ends_are_on_the_scale_of_log_odds_and_lower_ones_reach_as_far_as_before(p: float) -> None:
    low, high = ends(p, 0.01, (p + 0.01, 0.02))
    assert log_odds(high) - log_odds(p) == pytest.approx(Z * 0.01 / (p * (1 - p)))
    assert low == pytest.approx(p - Z * 0.02)
    assert ends(1 - p, 0.01, (1 - p - 0.01, 0.02)) == pytest.approx((1 - high, 1 - low))
    assert ends(p, 0.03, (p, 0.02))[0] == pytest.approx(max(p - Z * 0.03, 0))  # where shrinkage is unsure, too


def test_near_zero_they_are_those_before_shrinkage() -> None:
    """A share below two of these standard errors cannot be below zero, and comes out too large."""
    low, high = ends(0.006, 0.002, (0.001, 0.004))
    assert low == 0
    assert (high - 0.001) ** 2 == pytest.approx(Z**2 * (0.004**2 + (high - 0.001) / N))
    low, _ = ends(0.0079, 0.0001, (0.0100, 0.004))
    assert low == pytest.approx(0.0100 - Z * 0.004)
    assert ends(0.994, 0.002, (0.999, 0.004)) == pytest.approx((1 - high, 1.0))


def test_they_are_no_longer_than_before_shrinkage() -> None:
    """Of a share whose log-odds vary much: the upper end is that of a sample with the variance before."""
    p, before = 0.009, 0.004
    high = ends(p, before, (p, before))[1]
    assert (high - p) ** 2 == pytest.approx(Z**2 * (before**2 + (high - p) / N))
    assert high < 0.8 * np.exp(log_odds(p) + Z * before / (p * (1 - p)))  # what it would be on the scale of log-odds


def test_other_levels_and_shares_without_error() -> None:
    wide_before = (0.1, 0.03)
    narrow, wide = (ends(0.1, 0.02, wide_before, level) for level in (0.8, 0.99))
    assert wide[0] < narrow[0] < 0.1 < narrow[1] < wide[1]
    assert ends(0.25, 0.0, wide_before) == (0.25, 0.25)
    assert ends(0.0, 0.0, wide_before) == (0.0, 0.0)
    assert not np.isnan(ends(0.0, 1e-9, (0.0, 1e-9))).any()
