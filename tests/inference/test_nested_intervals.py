"""An interval at a lower level lies inside the one at a higher level, from 1 % to 99.9 %."""

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.regression import Shape
from deniable.estimates.answers_as_weights import all_answers
from deniable.estimates.ratios_of_shares import ratio_of
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import Cumulants
from deniable.inference.intervals import limits
from deniable.inference.ratio_questions import CONDITIONAL
from deniable.inference.ratios import RatioDistribution

LEVELS = np.concatenate([np.linspace(0.01, 0.99, 99), [0.995, 0.999]])


def shapes(seed: int, n: int) -> Cumulants:
    """Cumulants of estimates with the variance one, among them very skewed ones that go with or against V."""
    rng = np.random.default_rng(seed)
    third, with_variance = rng.normal(size=(2, n)) * np.exp(rng.normal(scale=1.5, size=(2, n)))
    fourth, variation = np.exp(rng.normal(scale=2, size=(2, n)))
    return Cumulants(np.zeros(n), np.ones(n), third, fourth, with_variance, variation + with_variance**2)


def is_nested(ends: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Of each estimate, whether its intervals at rising levels lie each inside the next."""
    low, high = (np.array(each) for each in zip(*ends, strict=True))
    return (np.diff(low, axis=0) <= 1e-12).all(axis=0) & (np.diff(high, axis=0) >= -1e-12).all(axis=0)


def test_intervals_of_shares_are_nested() -> None:
    found = shapes(1, 4_000)
    assert is_nested([limits(found, level) for level in LEVELS]).all()


@pytest.mark.parametrize("epsilon", [5.0, 8.0])
def test_intervals_of_ratios_in_small_surveys_are_nested(epsilon: float) -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])])
    of = dn.simulate.truth(schema, [(1.0, {"a": 0.08, "b": [0.3, 0.5, 0.2]})])
    plan = dn.Plan(schema, epsilon=epsilon)
    for seed in range(6):
        est = dn.estimate(dn.simulate.counts(of, plan, np.random.default_rng(seed), n=300), ["a", "b"])
        rows = all_answers(est.features)
        given = [np.eye(1, 2).repeat(2, axis=0), rows[1]]
        found = ratio_of(CONDITIONAL, est.groups, [rows, given], Subject.POPULATION)
        assert found.enough.any()
        assert is_nested([found.distribution.limits(level, 0.0, 1.0) for level in LEVELS])[found.enough].all()


def test_intervals_of_coefficients_are_nested() -> None:
    from scipy.special import stdtrit

    error = shapes(4, 4_000)
    shape = Shape(error.third, error.covariance_with_variance, np.full(4_000, 2.5), np.ones(4_000))
    quantiles = [stdtrit(2.5, 0.5 + level / 2) for level in LEVELS]
    assert is_nested([(-shape.quantile(t), -shape.quantile(-t)) for t in quantiles]).all()


@pytest.mark.parametrize("top", [0.0, 0.3, -1.0, 2.0, 3.0])
def test_the_p_value_of_a_ratio_is_that_of_the_interval_that_ends_at_zero(top: float) -> None:
    from scipy.special import ndtr

    plain = RatioDistribution(top, 1.0, 1.0, 0.0, 0.0)
    assert plain.p_value == pytest.approx(2 * ndtr(-abs(top)))
    error = Cumulants(*(np.array(x) for x in (0.0, 1.0, 0.5, 0.4, 0.3, 0.5)))
    skewed = RatioDistribution(top, 30.0, 1.0, 0.1, 0.2, error)
    if (p := skewed.p_value) < 0.99:
        low, high = skewed.limits(1 - p)
        assert min(abs(low), abs(high)) < 1e-9
    else:
        low, high = skewed.limits(0.01)
        assert low <= 0 <= high
