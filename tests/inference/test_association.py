"""How strongly two features go together: gradients, bias, and how often intervals hold the truth."""

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.estimates.pairs.association import pair_table
from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.association import strength, wald
from deniable.inference.one_feature import Axis
from deniable.inference.tensors import along, answer_rows, flat, invert
from tests.support.many_surveys import Setting, simulated, surveys


@pytest.mark.parametrize("mutual", [False, True])
def test_the_gradient_of_a_strength_is_that_of_finite_differences(mutual: bool) -> None:
    rng = np.random.default_rng(1)
    for shape in ((2, 2), (3, 4)):
        p = rng.dirichlet(np.ones(12)[: shape[0] * shape[1]]).reshape(shape)
        covariance = np.eye(p.size) * 1e-6
        _, gradient = strength(p, covariance, mutual=mutual)
        for k in range(p.size):
            step = 1e-7 * np.eye(p.size)[k].reshape(shape)
            ends = [strength(p + sign * step, covariance, mutual=mutual)[0].found for sign in (1, -1)]
            assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-7, rel=1e-5, abs=1e-6)
        law, _ = strength(p, covariance, mutual=mutual)
        square = max(law.found - law.bias, 0)
        assert law.value == pytest.approx(square / 2 if mutual else sqrt(square / (min(shape) - 1)))
        assert law.known == pytest.approx(law.found / 2 if mutual else sqrt(law.found / (min(shape) - 1)))


@pytest.mark.parametrize("phi", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("mutual", [False, True])
def test_the_strength_of_an_association_holds_the_truth_and_has_no_bias(phi: float, mutual: bool) -> None:
    """About a population; where there is none, the interval begins at zero nearly always."""
    rng = np.random.default_rng(1)
    base = np.multiply.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.3])
    shares = base * (1 - phi) + phi * np.diag([0.45, 0.3, 0.25])
    setting = Setting("unary", 2, 2.0, 20_000, "population")
    people = rng.multinomial(setting.n, shares.reshape(-1), size=2000).reshape(-1, 3, 3)
    many = surveys(setting, people, rng)
    rows, axes = [answer_rows(axis.m) for axis in many.axes], tuple(many.axes)
    over = flat(rows)
    covariance = over @ Group(setting.n, axes, many.estimates).dense(Subject.POPULATION) @ over.T / setting.n**2
    law, _ = strength(along(many.estimates, rows) / setting.n, covariance, mutual=mutual)
    r, c = shares.sum(axis=1), shares.sum(axis=0)
    square = (
        2 * (shares * np.log(shares / np.outer(r, c))).sum()
        if mutual
        else ((shares - np.outer(r, c)) ** 2 / np.outer(r, c)).sum()
    )
    truth = square / 2 if mutual else sqrt(square / 2)
    low, high = law.limits(0.95)
    assert 0.925 < ((low <= truth + 1e-12) & (truth <= high)).mean() < 0.99
    bias = (law.found - law.bias).mean() - square
    assert abs(bias) < 0.1 * square + 4 * (law.found - law.bias).std() / sqrt(2000)
    if phi == 0.3:
        assert np.median(law.stderr) == pytest.approx(law.value.std(), rel=0.1)
        assert law.value.mean() == pytest.approx(truth, abs=4 * law.value.std() / sqrt(2000))
    end = law.ppf(0.975)
    np.testing.assert_allclose(law.cdf(end)[end > 0], 0.975, atol=1e-6)
    assert (law.cdf(end)[end == 0] >= 0.975).all()  # none at all, at this level


def drawn(margins: tuple[list[float], list[float]], where: str, square: float, n: int, seed: int) -> tuple[Any, Any]:
    """A table whose phi^2 is this, between common answers or all; and the estimates of 1,000 surveys of it by GRR."""
    rng = np.random.default_rng(seed)
    r, c = map(np.array, margins)
    even = np.outer(r, c)
    if where == "common":
        moves = np.zeros_like(even)
        moves[:2, :2] = [[1, -1], [-1, 1]]
    else:
        moves = np.sqrt(even) * np.random.default_rng(5).normal(size=even.shape)
        moves = moves - moves.sum(axis=1, keepdims=True) * c
        moves = moves - moves.sum(axis=0, keepdims=True) * r[:, None]
    shares = even + moves * sqrt(square / (moves**2 / even).sum())
    assert shares.min() > 0
    people = rng.multinomial(n, shares.reshape(-1), size=1000).reshape(-1, *even.shape)
    features = [dn.Choice(name, [str(k) for k in range(m)]) for name, m in zip("ab", even.shape, strict=True)]
    plan = dn.Plan(dn.Schema(features), dict.fromkeys("ab", dn.GRR(epsilon=1.0)))
    axes = tuple(Axis.of(protocol, centred=True) for protocol in plan.protocols)
    group = Group(n, axes, invert(axes, np.moveaxis(simulated(plan, people, rng), 0, -1)))
    return shares, group


SKEWED = [0.6, 0.3, 0.1], [0.5, 0.45, 0.05]


@pytest.mark.parametrize("square", [0.0, 0.004, 0.014, 0.07])
@pytest.mark.parametrize("where", ["common", "all"])
def test_weak_and_skewed_associations_have_intervals_that_hold_and_agree_with_the_test(
    where: str, square: float
) -> None:
    """Intervals are never of length zero, hold 94 to 97 %, and leave zero out exactly if independence is rejected."""
    shares, group = drawn(SKEWED, where, square, 100_000, 3)
    rows = [answer_rows(axis.columns) for axis in group.axes]
    law = pair_table([group], rows, Subject.POPULATION).strength(mutual=False).distribution
    truth = sqrt(square / 2)
    for level, most in ((0.95, 0.985), (0.8, 0.93)):
        low, high = law.limits(level)
        assert (high > 1e-3).all()
        np.testing.assert_array_equal(low > 0, law.p_value < 1 - level)
        slack = 4 * sqrt(level * (1 - level) / 1000)
        assert level - slack - 0.01 < ((low <= truth + 1e-12) & (truth <= high)).mean() < most, (level, shares)
        assert ((low <= law.value) & (law.value <= high)).all()
    if not square:  # the control: plain quantiles of the same distribution
        assert (law.ppf(0.975) == 0).any()


def test_wald_and_its_unit_are_those_of_the_whole_covariance() -> None:
    """The statistic is D'S^-1 D and its unit W / |S^-1 D|^2, S being the covariance of D at independence."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(12)).reshape(3, 4)
    half = rng.normal(size=(12, 12))
    centre = np.eye(12) - 1 / 12
    covariance = centre @ half @ half.T @ centre * 1e-5
    r, c = p.sum(axis=1), p.sum(axis=0)
    even = np.outer(r, c)
    over = np.eye(12).reshape(3, 4, 12)
    moves = over - r[:, None, None] * over.sum(axis=0) - c[None, :, None] * over.sum(axis=1)[:, None]
    jacobian = moves.reshape(12, 12) / np.sqrt(even).reshape(-1)[:, None]
    d = ((p - even) / np.sqrt(even)).reshape(-1)
    inverse = np.linalg.pinv(jacobian @ covariance @ jacobian.T, rcond=1e-10)
    test = wald(p, covariance)
    assert test.degrees == 6
    assert test.statistic == pytest.approx(d @ inverse @ d)
    assert test.unit == pytest.approx(d @ inverse @ d / (inverse @ d @ inverse @ d))
    assert test.p_value == pytest.approx(stats.chi2(6).sf(test.statistic))
    assert test.least(1e-3) < test.least(0.5) < (d**2).sum()
    many = wald(np.stack([p, p]), np.stack([covariance, 0 * covariance]))  # the second has no test
    assert many.statistic[0] == pytest.approx(test.statistic)
    assert np.isnan(many.statistic[1])


@pytest.mark.parametrize("mutual", [False, True])
def test_the_moments_of_a_strength_are_those_of_normal_draws(mutual: bool) -> None:
    """The mean phi^2 + tr S and the variance 2 tr S^2 + 4 D'SD, which the distribution is made of."""
    rng = np.random.default_rng(1)
    even = np.outer(*map(np.array, SKEWED))
    p = even + 0.01 * np.array([[1, -1, 0], [-1, 1, 0], [0, 0, 0]])
    centre = np.eye(9) - 1 / 9
    covariance = centre * 4e-7
    draws = p + (rng.normal(size=(40_000, 9)) @ (centre * sqrt(4e-7))).reshape(-1, 3, 3)
    law, _ = strength(p, covariance, mutual=mutual)
    many, _ = strength(draws, np.broadcast_to(covariance, (40_000, 9, 9)), mutual=mutual)
    square = law.found
    assert many.found.mean() == pytest.approx(square + law.bias, rel=0.02)
    assert many.found.var() == pytest.approx(2 * law.square + 4 * law.first, rel=0.06)
