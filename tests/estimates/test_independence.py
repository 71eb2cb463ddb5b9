"""Tests of independence of added groups: stratified, with the mixture as a control, and by hand."""

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.pairs.independence import wald_test
from deniable.inference.about_whom import Subject
from deniable.inference.association import stratified, wald
from deniable.inference.tensors import answer_rows


def test_the_stratified_test_is_that_of_the_sum_of_deviations_by_hand() -> None:
    one, other = np.array([[0.5, 0.2], [0.2, 0.1]]), np.array([[0.2, 0.3], [0.1, 0.4]])
    covariances = [np.diag([0.01, 0.02, 0.03, 0.04]), np.diag([0.02, 0.01, 0.05, 0.01])]
    x, square = 0.0, 0.0
    for weight, p, covariance in zip((3.0, 2.0), (one, other), covariances, strict=True):
        r, c = p.sum(axis=1), p.sum(axis=0)
        x += weight * (p[0, 0] - r[0] * c[0])
        gradient = np.array([1 - r[0] - c[0], -c[0], -r[0], 0.0])  # of p00 - r0 c0 by the four cells
        square += weight**2 * gradient @ covariance @ gradient
    found = stratified([(3.0, one, covariances[0]), (2.0, other, covariances[1])])
    assert (found.statistic, found.degrees) == (pytest.approx(x**2 / square), 1)
    alone = stratified([(7.0, one, covariances[0])])
    assert alone.statistic == pytest.approx(float(wald(one, covariances[0]).statistic))


@pytest.mark.slow
def test_added_groups_are_tested_within_each_of_them() -> None:
    """Two waves, each independent, with other margins: their mixture is associated, and neither of them is."""
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])])
    plan = dn.Plan(schema, {"a": dn.RandomizedResponse(epsilon=3.0), "b": dn.GRR(epsilon=3.0)})
    first = dn.simulate.truth(schema, {"a": 0.2, "b": [0.6, 0.3, 0.1]})
    second = dn.simulate.truth(schema, {"a": 0.7, "b": [0.1, 0.3, 0.6]})
    pair = np.array([[0.32, 0.24, 0.14], [0.08, 0.06, 0.16]])
    rng, p_values, mixed = np.random.default_rng(1), [], 0
    for _ in range(200):
        one, other = (
            dn.estimate(dn.simulate.counts(of, plan, rng, n=n), ["a", "b"])
            for of, n in ((first, 6_000), (second, 4_000))
        )
        test = (one + other).independence("a", "b")
        assert (test.degrees, test.strata) == (2, 2)
        p_values.append(test.p_value)
        mixed += wald_test((one + other).groups, [answer_rows(1), answer_rows(3)], Subject.POPULATION).p_value < 0.05
        assert one.independence("a", "b").strata == 1
    associated = dn.simulate.truth(schema, pair)
    both = [dn.estimate(dn.simulate.counts(associated, plan, rng, n=n), ["a", "b"]) for n in (3_000, 3_000)]
    assert (both[0] + both[1]).independence("a", "b").p_value < 1e-6
    assert "within each of 2 groups of respondents" in str((both[0] + both[1]).independence("a", "b"))
    assert 0.005 < np.mean(np.array(p_values) < 0.05) < 0.11
    assert mixed == 200  # the control: the test of the mixture


def test_better_weights_of_centring_take_no_test_away() -> None:
    """An independent flag and choice, 400 respondents: three of four surveys are tested, and one in twenty rejected."""
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", ["w", "x", "y", "z"])])
    plan = dn.Plan(schema, {"a": dn.RandomizedResponse(epsilon=4.0), "b": dn.UnaryEncoding.optimized(5.0)})
    of = dn.simulate.truth(schema, {"a": 0.2, "b": [0.6, 0.2, 0.12, 0.08]})
    rng, p_values = np.random.default_rng(1), []
    for _ in range(300):
        counts = dn.simulate.counts(of, plan, rng, n=400)
        p_values.append(dn.estimate(counts, ["a", "b"]).independence("a", "b").p_value)
        (row,) = dn.associations(counts).to_pylist()
        assert row["p_value"] == pytest.approx(p_values[-1], nan_ok=True)
    answered = np.array(p_values)[~np.isnan(p_values)]
    assert len(answered) > 0.6 * len(p_values)
    assert 0.01 < (answered < 0.05).mean() < 0.11
