"""How strongly two features go together: gradients, bias, and how often intervals hold the truth."""

from math import sqrt

import numpy as np
import pytest

from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.association import strength
from deniable.inference.tensors import along, answer_rows, flat
from tests.support.many_surveys import Setting, surveys


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
    low, high = law.ppf(0.025), law.ppf(0.975)
    assert ((low <= truth + 1e-12) & (truth <= high)).mean() > 0.925
    bias = (law.found - law.bias).mean() - square
    assert abs(bias) < 0.1 * square + 4 * (law.found - law.bias).std() / sqrt(2000)
    if phi == 0.3:
        assert np.median(law.stderr) == pytest.approx(law.value.std(), rel=0.1)
        assert law.value.mean() == pytest.approx(truth, abs=4 * law.value.std() / sqrt(2000))
    np.testing.assert_allclose(law.cdf(high)[high > 0], 0.975, atol=1e-6)
    assert (law.cdf(high)[high == 0] >= 0.975).all()  # none at all, at this level
