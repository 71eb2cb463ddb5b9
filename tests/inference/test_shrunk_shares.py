"""Intervals of shares that a model has shrunk: on the scale of log-odds, and no longer than before shrinkage."""

import numpy as np
import pytest

from deniable.inference.cumulants import Cumulants
from deniable.inference.intervals import limits_of_shrunk_shares

Z = 1.959963984540054


def ends(p: float, stderr: float, before: float = 1.0, n: int = 10_000, level: float = 0.95) -> tuple[float, float]:
    found = Cumulants.normal(p * n, (stderr * n) ** 2)
    low, high = limits_of_shrunk_shares(found, n, (before * n) ** 2, level)
    return float(low) / n, float(high) / n


@pytest.mark.parametrize("p", [0.03, 0.4, 0.97])
def test_they_are_symmetric_in_log_odds(p: float) -> None:
    low, high = ends(p, 0.01)
    odds = [x / (1 - x) for x in (low, p, high)]
    assert (
        np.log(odds[2] / odds[1]) == pytest.approx(np.log(odds[1] / odds[0])) == pytest.approx(Z * 0.01 / (p * (1 - p)))
    )


def test_they_reach_what_normal_ones_reach() -> None:
    assert ends(0.02, 0.0103)[0] == 0 < ends(0.02, 0.0101)[0]
    assert ends(0.98, 0.0103)[1] == 1 > ends(0.98, 0.0101)[1]


def test_they_are_no_longer_than_before_shrinkage() -> None:
    """Of a share near zero whose log-odds vary much: the upper end is that of a sample with the variance before."""
    p, before, n = 0.001, 0.004, 10_000
    low, high = ends(p, 0.002, before, n)
    assert low == 0
    assert (high - p) ** 2 == pytest.approx(Z**2 * (before**2 + (high - p) / n))
    assert ends(p, 0.002)[1] > 2 * high  # without that limit
    assert ends(1 - p, 0.002, before, n) == pytest.approx((1 - high, 1.0))


def test_other_levels_and_shares_without_error() -> None:
    narrow, wide = ends(0.1, 0.02, level=0.8), ends(0.1, 0.02, level=0.99)
    assert wide[0] < narrow[0] < 0.1 < narrow[1] < wide[1]
    assert ends(0.25, 0.0) == (0.25, 0.25)
    assert ends(0.0, 0.0) == (0.0, 0.0)
    assert not np.isnan(ends(0.0, 1e-9)).any()
