"""Corrected normal intervals: worked by hand, against draws, nested, and trusted where the rule says."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from deniable.estimates.respondents import FEWEST, WIDEST
from deniable.inference import intervals, one_column
from deniable.inference.cumulants import Cumulants
from deniable.inference.intervals import limits, trusted
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
    low, high = limits(cumulants_of(4.0, third=0.1 * 8, slope=0.2 * 8), level)
    assert [float(low), float(high)] == pytest.approx([10 - 2 * 1.65, 10 + 2 * 2.35])


def test_the_corrections_are_those_of_a_studentised_mean() -> None:
    """Sums of 200 exponentials, with their own variance: each tail comes right, and the plain normal's do not."""
    rng = np.random.default_rng(1)
    sums = rng.gamma(200, size=400_000)  # the variance is estimated as sum^2 / 200
    v = sums**2 / 200
    third, slope = 2 * sums**3 / 200**2, 2 * sums / 200 * v
    corrected, plain = (limits(Cumulants(sums, v, k * third, v, k * slope, v), 0.95) for k in (1.0, 0.0))
    tails = (corrected[0] > 200).mean(), (corrected[1] < 200).mean()
    assert tails == (pytest.approx(0.025, abs=0.002), pytest.approx(0.025, abs=0.002))
    tails = (plain[0] > 200).mean(), (plain[1] < 200).mean()
    assert tails[1] - tails[0] > 0.015


def test_intervals_are_nested_whatever_the_skewness() -> None:
    levels = [0.5, 0.8, 0.95, 0.99, 0.9999, 0.999999]
    for third, slope in product((-2.0, -0.4, 0.0, 0.4, 2.0), repeat=2):
        ends = np.array([limits(cumulants_of(1.0, third=third, slope=slope), level) for level in levels])
        assert (np.diff(ends[:, 0]) < 0).all()
        assert (np.diff(ends[:, 1]) > 0).all()


def test_trust_ends_where_the_rule_says() -> None:
    good = cumulants_of(100.0)
    edges = {"third": 0.13 * 1000, "slope": 0.13 * 1000, "wobble": 18.0**2, "fourth": 0.09 * 10_000}
    assert trusted(good, good, good)
    for place, looser in ((0, 3.0), (1, 1.5), (2, 1.0)):  # the estimate, its margins, and equally common answers
        for name, edge in edges.items():
            times = looser**2 if name == "wobble" else looser
            for sign in (1, -1) if name != "wobble" else (1,):
                for near, allowed in ((0.99, True), (1.01, False)):
                    one = cumulants_of(100.0, **{name: sign * edge * times * near})
                    assert trusted(*(one if k == place else good for k in range(3))) == allowed
        for variance in (-100.0, 0.0):
            assert not trusted(*(cumulants_of(variance) if k == place else good for k in range(3)))


def test_the_rule_is_the_one_the_documents_state() -> None:
    page = (Path(__file__).parents[2] / "docs/explain/estimating.md").read_text(encoding="utf-8")
    for words, most in (
        ("skewness", intervals.SKEWNESS),
        ("covariance with the variance", intervals.LEANING),
        ("variation of the variance", intervals.WOBBLE),
        ("kurtosis", intervals.TAILS),
    ):
        stated = re.search(rf"^\| {words}.*at most ([0-9.]+)[^|]*\| ([0-9.]+) \| ([0-9.]+) \|$", page, re.M).groups()
        times = (1, intervals.WITH_MARGINS, intervals.AT_ESTIMATE)
        assert [float(one) for one in stated] == pytest.approx([most * each for each in times])
    steps, half = re.search(
        r"at least ([0-9.]+) if all answers are equally common, and ([0-9.]+) at the\nestimate", page
    ).groups()
    assert (float(steps), float(half)) == (one_column.STEPS, one_column.STEPS / 2)
    assert f"standard error above {WIDEST:g}" in page
    assert f"at least {FEWEST} respondents" in page
