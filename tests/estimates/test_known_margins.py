"""What is known beforehand: margins, zeros and equalities hold, help, and are the textbook's conditional normal."""

import warnings

import numpy as np
import pytest

import deniable as dn
from tests.support.situations import METHODS, tiny
from tests.support.surveys import repeated, some_counts


def conditioned(est: dn.Estimate, weights: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The textbook's conditional normal, all equalities at once."""
    mean, covariance = est.mean.reshape(-1), est.covariance()
    gain = covariance @ weights.T @ np.linalg.pinv(weights @ covariance @ weights.T, rcond=1e-9)
    return mean + gain @ (known - weights @ mean), covariance - gain @ weights @ covariance


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("subject", ["respondents", "population"])
@pytest.mark.parametrize("kind", ["flags", "GRR", "unary"])
def test_given_is_the_conditional_normal(kind: str, subject: str, method: str) -> None:
    plan, _ = tiny(kind)
    est = dn.estimate(some_counts(plan, 2000), plan.schema.names, method=method).about(subject)
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(2, *est.mean.shape))
    weights[:, 0] = 0  # nothing about the number of respondents, which is known
    known = weights.reshape(2, -1) @ est.mean.reshape(-1) + 3.0
    given = est.given([(weights[0], known[0]), (weights[1], known[1])])
    mean, covariance = conditioned(est, weights.reshape(2, -1), known)
    np.testing.assert_allclose(given.mean.reshape(-1), mean, rtol=1e-8, atol=1e-6)
    np.testing.assert_allclose(given.covariance(), covariance, atol=1e-7 * np.abs(covariance).max())
    np.testing.assert_allclose(given.variance.reshape(-1), np.diag(covariance), atol=1e-7 * np.abs(covariance).max())
    again = est.given([(weights[1], known[1])]).given([(weights[0], known[0])])
    np.testing.assert_allclose(again.mean, given.mean, rtol=1e-7, atol=1e-6)
    small = given.project(plan.schema.names[1])
    assert small.variance[1] == pytest.approx(given.covariance(*[{plan.schema.names[1]: _first(plan)}] * 2))


def _first(plan: dn.Plan) -> object:
    feature = plan.schema.features[1]
    return feature.values[0] if isinstance(feature, dn.Choice) else True


def test_known_margins_and_zeros_hold_and_help() -> None:
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "middle", "old"])])
    plan = dn.Plan(schema, epsilon=3.0)
    rng = np.random.default_rng(2)
    age = np.repeat(["young", "middle", "old"], [1500, 1750, 1750])
    smoker = (rng.random(5000) < 0.4) & (age != "young")
    counts = dn.count(dn.randomize({"smoker": smoker, "age": age}, plan, rng=rng), ["smoker", "age"])
    est = dn.estimate(counts, ["smoker", "age"])
    known = est.given({"age": {"young": 0.3, "old": 0.35}}, zeros=[{"smoker": True, "age": "young"}])
    assert known.cell(age="young").value == pytest.approx(0.3)
    assert known.cell(age="middle").value == pytest.approx(0.35)
    assert known.cell(smoker=True, age="young").value == pytest.approx(0, abs=1e-9)
    assert known.cell(smoker=False, age="young").value == pytest.approx(0.3)
    assert known.cell(age="young").stderr == pytest.approx(0, abs=1e-7)
    assert known.cell(smoker=True, age="old").stderr < est.cell(smoker=True, age="old").stderr
    assert all(condition.distance is not None for condition in known.conditions)
    rows = known.table().to_pylist()
    assert sum(row["proportion"] for row in rows) == pytest.approx(1)


def test_what_says_nothing_new_and_what_contradicts_is_told() -> None:
    plan, _ = tiny("GRR")
    est = dn.estimate(some_counts(plan, 5000), ["a", "b"])
    given = est.given({"a": {"v0": 0.3, "v1": 0.4, "v2": 0.3}})  # the third follows: they sum to 1
    assert [condition.distance is None for condition in given.conditions] == [False, False, True]
    with pytest.raises(dn.EstimateError, match="a = v2: 0.2 contradicts what was known before it"):
        est.given({"a": {"v0": 0.3, "v1": 0.4, "v2": 0.2}})
    with pytest.raises(dn.EstimateError, match="a = v0: 0.31 contradicts what was known before it"):
        est.given({"a": {"v0": 0.3}}).given({"a": {"v0": 0.31}})
    for seed in range(10):  # whatever rounding says
        again = dn.estimate(some_counts(plan, 5000, seed=seed), ["a", "b"]).given({"a": {"v0": 0.35, "v1": 0.32}})
        assert again.given({"a": {"v2": 0.33}}).conditions[-1].distance is None
    whole = np.zeros(est.mean.shape)
    whole[0, 0] = 1
    with pytest.raises(dn.EstimateError, match="equality 0 contradicts what was known before it"):
        est.given([(whole, 4000.0)])  # the number of respondents is known
    with pytest.warns(UserWarning, match=r"a = v0: 0.9 is \+[0-9.]+ standard errors away from the estimate"):
        far = est.given({"a": {"v0": 0.9}})
    assert far.conditions[0].far
    with pytest.raises(dn.EstimateError, match="conditioned about the respondents; say about\\('population'\\) before"):
        given.about("population")
    assert given.about("respondents").n == 5000
    with pytest.raises(dn.EstimateError, match="weights must have the shape of mean"):
        est.given([([1, 2], 3)])


@pytest.mark.slow
def test_conditioning_is_right_on_average() -> None:
    """With known margins, the error has the stated variance over many surveys; that of the plain estimate is larger."""
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    plan = dn.Plan(schema, epsilon=2.0)
    rng = np.random.default_rng(8)
    a = rng.random(2000) < 0.4
    b = rng.random(2000) < np.where(a, 0.6, 0.2)
    truth = (a & b).mean()
    plain, given = [], []
    for counts in repeated({"a": a, "b": b}, plan, 400, rng):
        est = dn.estimate(counts, ["a", "b"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            known = est.given({"a": {True: float(a.mean())}, "b": {True: float(b.mean())}})
        plain.append(est.mean[1, 1] / est.n)
        given.append(known.cell(a=True, b=True))
    ratio = np.mean([(one.value - truth) ** 2 for one in given]) / np.mean([one.stderr**2 for one in given])
    assert abs(ratio - 1) < 5 * np.sqrt(2 / 400)
    wrong = np.mean([(value - truth) ** 2 for value in plain]) / np.mean([one.stderr**2 for one in given])
    assert wrong > 1.05
    inside = [low <= truth <= high for low, high in (one.confidence_interval() for one in given)]
    assert abs(np.mean(inside) - 0.95) < 4 * np.sqrt(0.05 * 0.95 / 400)
