"""Intervals of shares that a model has shrunk: as long as before shrinkage, and those before it near 0 and 1."""

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


@pytest.mark.parametrize("p", [0.06, 0.4])
def test_they_reach_as_far_as_before_shrinkage_on_both_sides(p: float) -> None:
    low, high = ends(p, 0.01, (p + 0.01, 0.02))
    assert low == pytest.approx(p - Z * 0.02)
    assert (high - p) ** 2 == pytest.approx(Z**2 * (0.02**2 + (high - p) / N))
    assert ends(1 - p, 0.01, (1 - p - 0.01, 0.02)) == pytest.approx((1 - high, 1 - low))
    low, high = ends(p, 0.03, (p, 0.02))  # as far as the posterior, if that is longer
    assert (low, high) == pytest.approx((max(p - Z * 0.03, 0), p + Z * 0.03))


def test_they_hold_both_near_zero() -> None:
    """A share below two standard errors cannot be below zero, and comes out too large."""
    low, high = ends(0.0060, 0.002, (0.0001, 0.004))
    assert low == 0
    assert (high - 0.0060) ** 2 == pytest.approx(Z**2 * (0.004**2 + (high - 0.0060) / N))
    low, high = ends(0.0079, 0.0001, (0.0120, 0.004))
    assert low == pytest.approx(0.0079 - Z * 0.004)
    assert (high - 0.0120) ** 2 == pytest.approx(Z**2 * (0.004**2 + (high - 0.0120) / N))
    mirrored = ends(1 - 0.0079, 0.0001, (1 - 0.0120, 0.004))
    assert mirrored == pytest.approx((1 - high, 1 - low))


def test_other_levels_and_shares_without_error() -> None:
    wide_before = (0.1, 0.03)
    narrow, wide = (ends(0.1, 0.02, wide_before, level) for level in (0.8, 0.99))
    assert wide[0] < narrow[0] < 0.1 < narrow[1] < wide[1]
    assert ends(0.25, 0.0, wide_before) == (0.25, 0.25)
    assert ends(0.0, 0.0, wide_before) == (0.0, 0.0)
    assert not np.isnan(ends(0.0, 1e-9, (0.0, 1e-9))).any()
