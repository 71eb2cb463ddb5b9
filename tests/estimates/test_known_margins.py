"""What is known beforehand: margins, zeros and equalities hold, help, and are the textbook's conditional normal."""

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import Cumulants
from deniable.inference.results import Answer
from deniable.inference.tensors import flat, margins
from tests.support.situations import METHODS, tiny
from tests.support.surveys import repeated, some_counts


def conditioned(
    est: dn.Estimate, covariance: np.ndarray, weights: np.ndarray, known: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The textbook's conditional normal, all equalities at once."""
    mean = est.mean.reshape(-1)
    gain = covariance @ weights.T @ np.linalg.pinv(weights @ covariance @ weights.T, rcond=1e-9)
    return mean + gain @ (known - weights @ mean), covariance - gain @ weights @ covariance


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("subject", ["respondents", "population"])
@pytest.mark.parametrize("kind", ["flags", "GRR", "unary"])
def test_given_is_the_conditional_normal_at_a_proper_table_that_obeys(kind: str, subject: str, method: str) -> None:
    plan, _ = tiny(kind)
    est = dn.estimate(some_counts(plan, 2000), plan.schema.names, method=method).about(subject)
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(2, *est.mean.shape))
    weights[:, 0] = 0  # nothing about the number of respondents, which is known
    known = weights.reshape(2, -1) @ est.mean.reshape(-1) + 3.0
    given = est.given([(weights[0], known[0]), (weights[1], known[1])])
    (table,) = given.groups[0].origin.tables
    entries = flat([margins(length - 1) for length in est.mean.shape]) @ (est.n * table.reshape(-1))
    assert table.min() >= 0
    assert entries[0] == pytest.approx(est.n)
    np.testing.assert_allclose(weights.reshape(2, -1) @ entries, known)
    there = replace(est.groups[0], truth=entries.reshape(est.mean.shape)).dense(Subject(subject))
    mean, covariance = conditioned(est, there, weights.reshape(2, -1), known)
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
    with pytest.raises(dn.EstimateError, match="conditioned about the population; say about\\('respondents'\\) before"):
        given.about("respondents")
    assert given.about("population").n == 5000
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


# -- cells that are empty ----------------------------------------------------------------------------------------------

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])])
SHARES = np.array([[0.4, 0.1, 0.2], [0.3, 0.0, 0.0]])
EMPTY = [{"a": True, "b": "y"}, {"a": True, "b": "z"}]


def open_plan(epsilon: float) -> dn.Plan:
    return dn.Plan(SCHEMA, {"a": dn.RandomizedResponse(epsilon=epsilon), "b": dn.GRR(epsilon=epsilon)})


def surveys(plan: dn.Plan, n: int, count: int, shares: np.ndarray = SHARES) -> Iterator[dn.Estimate]:
    rng, truth = np.random.default_rng(3), dn.simulate.truth(SCHEMA, shares)
    for _ in range(count):
        yield dn.estimate(dn.simulate.counts(truth, plan, rng, n=n), ["a", "b"]).about("population")


def test_the_variance_of_an_empty_cell_is_not_read_off_its_own_noise() -> None:
    """It varies from survey to survey by more than it is; divided by it, the other cells would be far off."""
    for est in surveys(open_plan(6.0), 1000, 20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cell = est.given(zeros=EMPTY).cell(a=True, b="x")
        assert abs(cell.value - 0.3) < 4 * cell.stderr
        assert cell.stderr == pytest.approx(np.sqrt(0.3 * 0.7 / 1000), rel=0.15)


def tails(cells: Iterable[tuple[Answer, float]]) -> tuple[float, float]:
    """How often intervals lie wholly above the truth, and below it, where they are given."""
    above, below, count = 0, 0, 0
    for cell, truth in cells:
        low, high = cell.confidence_interval()
        above, below, count = above + (low > truth), below + (high < truth), count + cell.enough
    return above / count, below / count


@pytest.mark.slow
@pytest.mark.parametrize(("n", "epsilon"), [(1000, 6.0), (300, 5.0)])
def test_intervals_given_empty_cells_hold_the_truth(n: int, epsilon: float) -> None:
    """Where the variance was read off the empty cell's own estimate, they held 31 to 44 %."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for est in surveys(open_plan(epsilon), n, 150):
            given = est.given(zeros=EMPTY)
            found += [(given.cell(a=True, b="x"), 0.3), (given.cell(a=False, b="x"), 0.4)]
    assert max(tails(found)) < 0.025 + 4 * np.sqrt(0.025 * 0.975 / 150)


@pytest.mark.slow
def test_intervals_given_margins_of_few_respondents_hold_the_truth_on_both_sides() -> None:
    """A rare answer with a known margin: without the skewness, the control, one tail is twice as heavy as it says."""
    shares = np.array([[0.35, 0.1, 0.25], [0.25, 0.04, 0.01]])
    found, normal = [], []
    for est in surveys(open_plan(4.0), 300, 250, shares):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cell = est.given({"a": {True: 0.3}}).cell(a=True, b="y")
        found.append((replace(cell, enough=True), 0.04))
        normal.append((replace(cell, enough=True, found=Cumulants.normal(cell.found.mean, cell.found.variance)), 0.04))
    most = 0.025 + 3 * np.sqrt(0.025 * 0.975 / 250)
    assert max(tails(found)) < most
    assert max(tails(normal)) > 1.25 * max(tails(found))


def test_zeros_and_margins_stay_known_in_fewer_features_and_in_sums() -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"]), dn.Flag("c")])
    plan = dn.Plan(schema, epsilon=6.0)
    truth = dn.simulate.truth(schema, {"a": 0.4, "b": [0.5, 0.3, 0.2], "c": 0.3})
    rng = np.random.default_rng(4)
    first, second = (
        dn.estimate(dn.simulate.counts(truth, plan, rng, n=n), ["a", "b", "c"]).about("population")
        for n in (4000, 6000)
    )
    known = first.given({"c": {True: 0.3}})
    small = known.project("b", "a").given({"a": {True: 0.4}})
    whole = known.given({"a": {True: 0.4}})
    np.testing.assert_allclose(small.mean, whole.project("b", "a").mean)
    np.testing.assert_allclose(small.covariance(), whole.project("b", "a").covariance(), atol=1e-7 * 1000)
    assert small.cell(a=True, b="x").confidence_interval() == pytest.approx(
        whole.cell(b="x", a=True).confidence_interval()
    )
    both = (first.given({"c": {True: 0.3}}) + second).given({"a": {True: 0.4}})
    assert both.cell(a=True).value == pytest.approx(0.4)
    alone = first.given({"c": {True: 0.3}}) + second.given({"b": {"x": 0.5}})
    assert alone.cell(a=True).stderr > 0
    assert (
        alone.given({"a": {True: 0.4}, "c": {True: 0.3}}).cell(c=True, a=True).stderr
        < alone.cell(a=True, c=True).stderr
    )
    with pytest.raises(dn.EstimateError, match="c = True: 0.31 contradicts"):
        (known + second.given({"c": {True: 0.3}})).given({"c": {True: 0.31}})


def test_what_no_proper_table_can_have_is_named() -> None:
    est = next(surveys(open_plan(3.0), 1000, 1))
    with pytest.raises(dn.EstimateError, match="no a = True, b = x: there is no proper table for this"):
        est.given({"a": {True: 0.8}, "b": {"x": 0.5}}, zeros=[{"a": True, "b": "x"}])
    open_ = dn.Plan(SCHEMA, {"a": dn.Public(), "b": dn.Public()})
    with pytest.raises(dn.EstimateError, match="no a = True, b = x contradicts .* shown without noise"):
        next(surveys(open_, 1000, 1)).given(zeros=[{"a": True, "b": "x"}])
    assert next(surveys(open_, 1000, 1)).given(zeros=EMPTY).conditions[0].distance is None


@pytest.mark.parametrize("subject", ["respondents", "population"])
def test_odds_ratios_are_given_whatever_rounding_leaves_of_a_known_margin(subject: str) -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])])
    plan = dn.Plan(schema, {"a": dn.RandomizedResponse(epsilon=4.0), "b": dn.GRR(epsilon=4.0)})
    of = dn.simulate.truth(schema, np.array([[0.31, 0.17, 0.14], [0.12, 0.09, 0.17]]))
    rng = np.random.default_rng(5)
    for _ in range(20):
        people = of.people(3_000, rng)
        known = people.sum(axis=0) / people.sum() if subject == "respondents" else of.shares.sum(axis=0)
        est = dn.estimate(dn.simulate.counts(people, plan, rng), ["a", "b"]).about(subject)
        given = est.given({"b": {"x": float(known[0]), "y": float(known[1])}})
        found = given.odds_ratio("a", ("b", "z"))
        low, high = found.confidence_interval()
        assert 0 < low < found.value < high
