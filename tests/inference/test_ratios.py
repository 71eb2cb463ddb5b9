"""Questions that are ratios: gradients against finite differences, the delta method against draws."""

import numpy as np
import pytest

from deniable.inference.ratios import CONDITIONAL, CORRELATION, DIFFERENCE, ODDS_RATIO, RATIO, Question

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
    law = question.law(x, covariance)
    assert law.value == pytest.approx(values.mean(), abs=5e-5 * abs(law.value) + 1e-6)
    assert law.stderr == pytest.approx(values.std(), rel=0.01)
    assert question.variance(x, covariance) == pytest.approx(law.stderr**2, rel=1e-9)
    for q in (0.025, 0.5, 0.975):
        assert law.cdf(np.quantile(values, q)) == pytest.approx(q, abs=0.003)
