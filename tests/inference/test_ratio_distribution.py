"""The distribution of a ratio against draws, at its ends, and where the bottom may be zero."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.inference.ratio_distribution import RatioLaw
from deniable.inference.ratios import CONDITIONAL, STEADY
from tests.support.surveys import survey


def test_the_law_of_a_ratio_is_that_of_draws() -> None:
    rng = np.random.default_rng(1)
    law = RatioLaw(0.3, 1.0, 0.04, 0.01, 0.02)
    top, bottom = rng.multivariate_normal([0.3, 1.0], [[0.04, 0.01], [0.01, 0.02]], size=400_000).T
    for q in (0.01, 0.1, 0.5, 0.9, 0.99):
        assert (top / bottom <= law.ppf(q)).mean() == pytest.approx(q, abs=0.002)
        assert law.cdf(law.ppf(q)) == pytest.approx(q)
    x = np.linspace(-2, 3, 20_001)
    np.testing.assert_allclose(np.gradient(law.cdf(x), x)[1:-1], law.pdf(x)[1:-1], atol=1e-4)
    normal = RatioLaw(0.3, 1.0, 0.04, 0.0, 0.0)
    q = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(normal.ppf(q), stats.norm(0.3, 0.2).ppf(q))
    np.testing.assert_allclose(normal.pdf(x), stats.norm(0.3, 0.2).pdf(x))
    assert (law.how, normal.how) == ("Fieller", "delta method")


def test_a_bottom_that_may_be_zero_has_no_interval() -> None:
    law = RatioLaw(0.3, 0.1, 0.04, 0.0, 0.01)
    assert np.isnan(law.ppf(0.025))
    assert not np.isnan(law.ppf(0.3))
    assert not CONDITIONAL.steady(np.array([0.3, 0.1]), np.diag([0.04, 0.01]))
    just = (0.1 / STEADY) ** 2
    assert CONDITIONAL.steady(np.array([0.3, 0.1]), np.diag([0.04, 0.99 * just]))
    assert not CONDITIONAL.steady(np.array([0.3, 0.1]), np.diag([0.04, 1.01 * just]))
    assert not CONDITIONAL.steady(np.array([0.3, 0.1]), np.diag([0.04, -0.01]))


def test_laws_answer_at_their_ends_without_warnings() -> None:
    for law in (RatioLaw(0.3, 1.0, 0.04, 0.01, 0.02), RatioLaw(0.3, 1.0, 0.04, 0.0, 0.0)):
        assert law.cdf([-np.inf, np.inf]) == pytest.approx([0, 1], abs=1e-9)
        assert law.pdf([-np.inf, np.inf]).tolist() == [0, 0]
        assert np.isnan(law.ppf([-1, 2])).all()
        law.ppf([0, 1])
    exact = RatioLaw(0.3, 1.0, 0.0, 0.0, 0.0)
    assert exact.cdf([0.2, 0.4]).tolist() == [0, 1]
    assert exact.ppf(0.9) == pytest.approx(0.3)
    _, counts = survey(5_000)
    law = dn.estimate(counts, ["smoker", "age"]).association("smoker", "age").cramers_v.distribution
    assert np.isnan(law.ppf([-1, 0, 1, 2])).all()
    x = np.linspace(0.01, 0.6, 5001)
    np.testing.assert_allclose(np.gradient(law.cdf(x), x)[1:-1], law.pdf(x)[1:-1], atol=2e-3)
    assert law.cdf(-1.0) == law.pdf(-1.0) == 0
