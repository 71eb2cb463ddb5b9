"""The corrections of ratios' intervals: those of a score interval, of the errors that ratios really have."""

from types import SimpleNamespace

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.errors_of_ratios import ratio_error
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import Cumulants
from deniable.inference.intervals import limits
from deniable.inference.ratio_questions import CONDITIONAL, DIFFERENCE, ODDS_RATIO, RATIO, Question
from deniable.inference.ratios import AbsoluteDistribution, RatioDistribution
from deniable.inference.trust import shaped


def test_a_ratio_over_one_has_the_score_interval_of_its_top() -> None:
    rng = np.random.default_rng(1)
    mean, variance = rng.uniform(0, 5, 500), rng.uniform(0.5, 2, 500)
    third, with_variance = rng.uniform(-0.3, 0.3, (2, 500)) * variance**1.5
    fourth, spare = rng.uniform(0.05, 0.3, (2, 500)) * variance**2
    found = Cumulants(mean, variance, third, fourth, with_variance, spare + with_variance**2 / variance)
    over_one = RatioDistribution(mean, 1.0, variance, 0.0, 0.0, found)
    for level in (0.5, 0.8, 0.95):
        np.testing.assert_allclose(over_one.limits(level), limits(found, level), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("question", [CONDITIONAL, DIFFERENCE, RATIO, ODDS_RATIO], ids=lambda one: one.name)
def test_the_errors_of_a_ratio_are_its_gradient(question: Question) -> None:
    """The sum of factors times (share - conditional share x given) has the gradient of top - r bottom."""
    x = np.array([0.13, 0.31, 0.22, 0.34])[: 2 if question is CONDITIONAL else 4]
    (top, up), (bottom, down) = question.top(x), question.bottom(x)
    gradient = np.zeros(len(x))
    for place, factor, share in question.errors(x):
        own, other = place, place + 1
        gradient[own] += factor * (1 - share if question is ODDS_RATIO else 1)  # the two add up to what is given
        gradient[other] -= factor * share
    np.testing.assert_allclose(gradient, up - top / bottom * down)


def test_a_variance_is_at_least_a_part_of_the_squared_step() -> None:
    """Where next to nothing happened the variance came out as zero or less, though an estimate varies in steps of 2."""
    steps = Cumulants(*(np.array(x) for x in (0.0, 1.0, 0.0, 4.0, 0.0, 0.0)))
    for variance in (0.0, -0.5):
        none = RatioDistribution(np.array(0.0), 1.0, variance, 0.0, 0.0).with_error(steps)
        assert none.stderr == 1
        low, high = none.limits(0.95)
        assert high - low > 4
        low, high = limits(shaped(Cumulants.normal(0.0, variance), steps), 0.95)
        assert high - low > 4


def test_without_steps_a_variance_below_zero_leaves_no_interval() -> None:
    """An interval of zero length would say that the ratio is known."""
    normal = Cumulants.normal(0.0, 1.0)
    none = RatioDistribution(np.array(0.2), 1.0, -0.5, 0.0, 0.0).with_error(normal)
    assert np.isnan(none.stderr)
    assert np.isnan(none.limits(0.95)).all()
    some = RatioDistribution(np.array(0.2), 1.0, 0.5, 0.0, 0.0).with_error(normal)
    assert some.stderr == pytest.approx(np.sqrt(0.5))
    assert np.diff(some.limits(0.95)) == pytest.approx(2 * 1.959964 * np.sqrt(0.5))


@pytest.mark.slow
def test_an_answer_nobody_gave_is_not_refused_for_a_variance_below_zero() -> None:
    """With unary encoding a seventh of such conditional shares had one, and were "not enough reports"."""
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])])
    plan = dn.Plan(schema, {"a": dn.RandomizedResponse(epsilon=4.0), "b": dn.UnaryEncoding.optimized(4.0)})
    of, rng = dn.simulate.truth(schema, np.array([[0.4, 0.3, 0.3], [0, 0, 0]])), np.random.default_rng(5)
    rows = []
    for _ in range(60):
        est = dn.estimate(dn.simulate.counts(of, plan, rng, n=300), ["a", "b"])
        rows += [row for row in est.conditional("a", given="b").to_pylist() if row["a"]]
    assert all(row["low"] <= 0 < row["high"] for row in rows if row["proportion"] <= 0)
    assert sum(row["low"] <= 0 <= row["high"] for row in rows) >= 0.93 * len(rows)


def test_what_was_not_randomized_has_no_corrections() -> None:
    """Of public answers only rounding is left of the variance, and of what would be divided by it."""
    schema = dn.Schema([dn.Choice("a", ["x", "y", "z"]), dn.Choice("b", ["u", "v", "w"])])
    plan = dn.Plan(schema, {"a": dn.Public(), "b": dn.Public()})
    rng = np.random.default_rng(4)
    for n in (997, 12_347, 100_003):
        counts = dn.simulate.counts(dn.simulate.truth(schema, rng.dirichlet(np.ones(9)).reshape(3, 3)), plan, rng, n=n)
        est = dn.estimate(counts, ["a", "b"]).about("respondents")
        for row in est.conditional("a", given="b").to_pylist():
            assert (row["low"], row["high"]) == pytest.approx((row["proportion"],) * 2, abs=1e-12)


def test_a_variance_that_is_rounding_has_no_shape() -> None:
    """What stands beside it would be divided by it."""
    rounding = Cumulants(*(np.full((5, 1), x) for x in (0.0, 1e-13, 1e-3, 1e-3, 1e-3, 1e-3)))
    told = {"subjects": tuple(Subject), "with_shape": lambda *_: (rounding, rounding)}
    group = SimpleNamespace(n=1000, truth=np.ones((2, 2)), **told)
    pieces = [[np.array([0.0, 1.0]), np.array([0.0, 1.0])], [np.array([1.0, 0.0]), np.array([0.0, 1.0])]]
    error = ratio_error(CONDITIONAL, [group], pieces, np.array([0.1, 0.4]), Subject.RESPONDENTS)  # type: ignore[list-item]
    assert (error.third, error.fourth, error.covariance_with_variance, error.variance_of_variance) == (0, 0, 0, 0)


@pytest.mark.parametrize("top", [0.3, -0.3, 0.05, -0.05])
def test_the_interval_of_an_absolute_value_is_that_of_the_ratio_without_its_sign(top: float) -> None:
    error = Cumulants(*(np.array(x) for x in (0.0, 0.01, 2e-4, 1e-5, 1e-4, 1e-6)))
    signed = RatioDistribution(np.array(top), 1.0, 0.01, 0.001, 0.002, error)
    absolute = AbsoluteDistribution.of(signed)
    assert (absolute.value, absolute.stderr) == (pytest.approx(abs(top)), pytest.approx(signed.stderr))
    for level in (0.8, 0.95):
        low, high = signed.limits(level, -1.0, 1.0)
        ends = (0.0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
        assert absolute.limits(level, 0.0, 1.0) == pytest.approx(ends)
    assert absolute.p_value == pytest.approx(signed.p_value)
