"""Ratios: gradients against finite differences, the delta method and Fieller's distribution against draws, its ends."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.inference.ratio_questions import CONDITIONAL, CORRELATION, DIFFERENCE, ODDS_RATIO, RATIO, Question
from deniable.inference.ratios import SURELY_POSITIVE, RatioDistribution, without_rounding
from tests.support.surveys import survey

ALL = {question.name: question for question in (CONDITIONAL, DIFFERENCE, RATIO, ODDS_RATIO, CORRELATION)}


def some_shares(question: Question, rng: np.random.Generator, many: int = 1) -> np.ndarray:
    """Shares such as a question is about."""
    tables = rng.dirichlet(np.ones(4), size=many).reshape(-1, 2, 2)
    a, b = tables.sum(axis=2), tables.sum(axis=1)
    match question.name:
        case "conditional share":
            return np.column_stack([tables[:, 1, 1], b[:, 1]])
        case "difference" | "ratio":
            return np.column_stack([tables[:, 1, 0], b[:, 0], tables[:, 1, 1], b[:, 1]])
        case "odds ratio":
            return np.column_stack([tables[:, 1, 1], tables[:, 1, 0], tables[:, 0, 1], tables[:, 0, 0]])
    return np.column_stack([a[:, 1], a[:, 0], b[:, 1], b[:, 0], tables[:, 1, 1]])


@pytest.mark.parametrize("question", ALL.values(), ids=list(ALL))
def test_gradients_are_those_of_finite_differences(question: Question) -> None:
    rng = np.random.default_rng(1)
    for x in some_shares(question, rng, 20):
        step = 1e-6 * x
        for k in range(len(x)):
            move = np.eye(len(x))[k] * step[k]
            for part in (question.top, question.bottom):
                slope = (part(x + move)[0] - part(x - move)[0]) / (2 * step[k])
                np.testing.assert_allclose(part(x)[1][k], slope, rtol=1e-6, atol=1e-9)
            value = lambda at: question.top(at)[0] / question.bottom(at)[0]  # noqa: E731
            slope = (value(x + move) - value(x - move)) / (2 * step[k])
            np.testing.assert_allclose(question.gradient(x)[k], slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("question", ALL.values(), ids=list(ALL))
def test_the_delta_method_is_that_of_draws(question: Question) -> None:
    """Where the errors are small: the variance of the question asked of normal draws."""
    rng = np.random.default_rng(2)
    x = some_shares(question, rng, 50)
    x = x[np.argmax(x.min(axis=1))]
    root = rng.normal(size=(len(x), len(x))) * 1e-4
    covariance = root @ root.T
    drawn = rng.multivariate_normal(x, covariance, size=200_000)
    values = question.top(drawn)[0] / question.bottom(drawn)[0]
    law = question.distribution(x, covariance)
    assert law.value == pytest.approx(values.mean(), abs=5e-5 * abs(law.value) + 1e-6)
    assert law.stderr == pytest.approx(values.std(), rel=0.01)
    assert question.variance(x, covariance) == pytest.approx(law.stderr**2, rel=1e-9)
    for q in (0.025, 0.5, 0.975):
        assert law.cdf(np.quantile(values, q)) == pytest.approx(q, abs=0.003)


def test_the_law_of_a_ratio_is_that_of_draws() -> None:
    rng = np.random.default_rng(1)
    law = RatioDistribution(0.3, 1.0, 0.04, 0.01, 0.02)
    top, bottom = rng.multivariate_normal([0.3, 1.0], [[0.04, 0.01], [0.01, 0.02]], size=400_000).T
    for q in (0.01, 0.1, 0.5, 0.9, 0.99):
        assert (top / bottom <= law.ppf(q)).mean() == pytest.approx(q, abs=0.002)
        assert law.cdf(law.ppf(q)) == pytest.approx(q)
    x = np.linspace(-2, 3, 20_001)
    np.testing.assert_allclose(np.gradient(law.cdf(x), x)[1:-1], law.pdf(x)[1:-1], atol=1e-4)
    normal = RatioDistribution(0.3, 1.0, 0.04, 0.0, 0.0)
    q = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(normal.ppf(q), stats.norm(0.3, 0.2).ppf(q))
    np.testing.assert_allclose(normal.pdf(x), stats.norm(0.3, 0.2).pdf(x))
    assert (law.how, normal.how) == ("Fieller", "delta method")


def test_a_bottom_that_may_be_zero_has_no_interval() -> None:
    law = RatioDistribution(0.3, 0.1, 0.04, 0.0, 0.01)
    assert np.isnan(law.ppf(0.025))
    assert not np.isnan(law.ppf(0.3))
    assert not CONDITIONAL.divisors_positive(np.array([0.3, 0.1]), np.diag([0.04, 0.01]))
    just = (0.1 / SURELY_POSITIVE) ** 2
    assert CONDITIONAL.divisors_positive(np.array([0.3, 0.1]), np.diag([0.04, 0.99 * just]))
    assert not CONDITIONAL.divisors_positive(np.array([0.3, 0.1]), np.diag([0.04, 1.01 * just]))
    assert not CONDITIONAL.divisors_positive(np.array([0.3, 0.1]), np.diag([0.04, -0.01]))


def test_laws_answer_at_their_ends_without_warnings() -> None:
    for law in (RatioDistribution(0.3, 1.0, 0.04, 0.01, 0.02), RatioDistribution(0.3, 1.0, 0.04, 0.0, 0.0)):
        assert law.cdf([-np.inf, np.inf]) == pytest.approx([0, 1], abs=1e-9)
        assert law.pdf([-np.inf, np.inf]).tolist() == [0, 0]
        assert np.isnan(law.ppf([-1, 2])).all()
        law.ppf([0, 1])
    exact = RatioDistribution(0.3, 1.0, 0.0, 0.0, 0.0)
    assert exact.cdf([0.2, 0.4]).tolist() == [0, 1]
    assert exact.ppf(0.9) == pytest.approx(0.3)
    _, counts = survey(5_000)
    law = dn.estimate(counts, ["smoker", "age"]).association("smoker", "age").cramers_v.distribution
    assert np.isnan(law.ppf([-1, 0, 1, 2])).all()
    x = np.linspace(0.01, 0.6, 5001)
    np.testing.assert_allclose(np.gradient(law.cdf(x), x)[1:-1], law.pdf(x)[1:-1], atol=2e-3)
    assert law.cdf(-1.0) == law.pdf(-1.0) == 0


def test_rounding_of_what_does_not_vary_is_taken_off() -> None:
    covariance = np.array([[4.0, 1e-17, 1.0], [1e-17, -1e-18, 1e-18], [1.0, 1e-18, 2.0]])
    right = np.array([[4.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 2.0]])
    np.testing.assert_array_equal(without_rounding(covariance, 1e-9), right)
    np.testing.assert_array_equal(
        without_rounding(np.array([covariance, right + np.eye(3)]), 1e-9)[1], right + np.eye(3)
    )
