"""Means of scores: weighted sums of shares, and ratios of them, with exact errors; in any unit."""

from math import inf
from typing import Any

import numpy as np
import pytest

import deniable as dn
from tests.support.answer_groups import AGES, FORMS, PLAIN, SHARES, TRUTH, cells, covariance_of, far_from_95, held, made

YEARS = dict(zip(AGES, (24.0, 37.0, 55.0, 75.0), strict=True))
every_form = pytest.mark.parametrize("form", FORMS)


def by_hand(est: dn.Estimate, **group: Any) -> tuple[float, float]:
    """A mean within a group of cells, and its standard error by the delta method, cell by cell."""
    some = [one for one in cells() if all(one[name] in own for name, own in group.items())]
    shares = np.array([est.cell(one).value for one in some])
    scores = np.array([YEARS[one["age"]] for one in some])
    mean = scores @ shares / shares.sum()
    slope = (scores - mean) / shares.sum() if group else scores
    matrix = np.array([[covariance_of(est, [one], [other]) for other in some] for one in some])
    return float(mean if group else scores @ shares), float(np.sqrt(max(slope @ matrix @ slope, 0)))


@every_form
def test_means_are_sums_of_scores_by_shares(form: str) -> None:
    est = made(form)
    errors = "likelihood" not in form and "feasible" not in form  # where they are the linear estimate's
    if "unbiased" not in form:  # whose shares do not sum to one
        value, stderr = by_hand(est)
        found = est.mean_of("age", YEARS)
        assert found.value == pytest.approx(value, rel=1e-9)
        assert not errors or found.stderr == pytest.approx(stderr, rel=1e-6, abs=1e-4 * ("conditioned" in form))
    table = {row["smoker"]: row for row in est.among("age", AGES).mean_of("age", YEARS, by="smoker").to_pylist()}
    value, stderr = by_hand(est, smoker=["yes"])
    assert table["yes"]["mean"] == pytest.approx(value, rel=1e-9)
    assert not errors or table["yes"]["stderr"] == pytest.approx(stderr, rel=1e-6)
    assert list(table) == ["yes", "no", "no answer"]
    two = est.among("age", AGES).mean_of("age", YEARS, between=("smoker", "yes", ["no", "no answer"]))
    other, _ = by_hand(est, smoker=["no", "no answer"])
    assert two.value == pytest.approx(value - other, rel=1e-9)


def test_the_unit_does_not_matter() -> None:
    est = made("blocks, population")
    months = {age: 12 * years - 100 for age, years in YEARS.items()}
    for options in ({}, {"between": ("smoker", "yes", "no")}):
        one, other = (est.mean_of("age", scores, **options) for scores in (YEARS, months))
        shift = 0 if options else 100
        ends = [12 * end - shift for end in one.confidence_interval()]
        assert other.confidence_interval() == pytest.approx(ends, rel=1e-9)
        assert other.stderr == pytest.approx(12 * one.stderr)
        low, high = one.confidence_interval()
        assert low < one.value < high
        assert one.distribution.cdf(one.value) == pytest.approx(0.5)


def test_zeros_and_ones_are_a_share() -> None:
    est = made("arms, population")
    share, mean = est.cell(age=AGES[2:]), est.mean_of("age", dict.fromkeys(AGES[:2], 0) | dict.fromkeys(AGES[2:], 1))
    assert (mean.value, mean.stderr) == pytest.approx((share.value, share.stderr))
    assert mean.confidence_interval() == pytest.approx(share.confidence_interval(), abs=2e-4)


def test_ranges_have_midpoints_and_answers_are_left_out() -> None:
    schema = dn.Schema([dn.Choice.bins("income", [0, 20, 50, 100]), dn.Flag("smoker")])
    plan = dn.Plan(schema, {"income": dn.Public(), "smoker": dn.Public()})
    counts = dn.simulate.counts(np.array([[100, 200], [300, 50], [150, 200]]), plan, np.random.default_rng(1))
    est = dn.estimate(counts, ["income", "smoker"]).about("population")
    assert est.mean_of("income").value == pytest.approx((300 * 10 + 350 * 35 + 350 * 75) / 1000)
    first, second = est.features[0].answers[:2]
    part = est.among("income", [first, second]).mean_of("income", {first: 10, second: 35}, by="smoker").to_pylist()
    assert [row["mean"] for row in part] == pytest.approx([(100 * 10 + 300 * 35) / 400, (200 * 10 + 50 * 35) / 250])
    value = np.array([10.0] * 300 + [35.0] * 350 + [75.0] * 350)  # nothing is randomized: the mean's own error
    assert est.mean_of("income").stderr == pytest.approx(value.std() / np.sqrt(1000), rel=1e-9)


def openly(*features: dn.Choice, people: Any) -> Any:
    """The estimate of a survey in which nothing is randomized."""
    plan = dn.Plan(dn.Schema(features), dict.fromkeys([one.name for one in features], dn.Public()))
    counts = dn.simulate.counts(np.array(people), plan, np.random.default_rng(1))
    return dn.estimate(counts, [one.name for one in features]).about("population")


def test_answers_that_are_numbers_are_their_own_scores() -> None:
    scale = dn.Choice("scale", ["1", "2", "3.5", "-4"], missing="no answer")
    est = openly(scale, people=[100, 300, 200, 50, 350])
    with pytest.raises(dn.EstimateError, match="'no answer' of 'scale' has no score; .* leave it out: among"):
        est.mean_of("scale")
    answered = est.among("scale", ["1", "2", "3.5", "-4"])
    assert answered.mean_of("scale").value == pytest.approx((100 + 600 + 700 - 200) / 650)
    low = dict.fromkeys(["1", "2"], 1) | dict.fromkeys(["3.5", "-4"], 0)
    assert answered.mean_of("scale", low).value == pytest.approx(4 / 6.5)
    for values in (["1", "2", "many"], ["1", "2", "nan"], ["1", "2", "inf"]):
        with pytest.raises(dn.EstimateError, match="neither ranges nor numbers: give a score for each answer"):
            openly(dn.Choice("scale", values), people=[1, 2, 3]).mean_of("scale")


def test_of_ranges_only_open_ones_need_a_score() -> None:
    income = dn.Choice.bins("income", [-inf, 10, 20, 40, inf])
    under, *between, over = income.values
    est = openly(income, people=[100, 300, 200, 400])
    assert est.mean_of("income", {under: 5, over: 60}).value == pytest.approx((500 + 4500 + 6000 + 24_000) / 1000)
    with pytest.raises(
        dn.EstimateError, match=f"'{over}' of 'income' is open and has no middle: say what number stands for it"
    ):
        est.mean_of("income", {under: 5})
    assert est.among("income", between).mean_of("income").value == pytest.approx((300 * 15 + 200 * 30) / 500)
    with pytest.raises(dn.EstimateError, match="has no score"):  # scores of another scale are not mixed with middles
        est.mean_of("income", {under: 1, between[0]: 2, over: 4})


def test_open_ranges_and_missing_scores_are_refused_with_words() -> None:
    schema = dn.Schema([dn.Choice.bins("income", [0, 20, inf])])
    counts = dn.simulate.counts(np.array([500, 500]), dn.Plan(schema, epsilon=3.0), np.random.default_rng(1))
    with pytest.raises(dn.EstimateError, match="is open and has no middle"):
        dn.estimate(counts, ["income"]).mean_of("income")
    est = made("plain, population")
    refused: dict[str, Any] = {
        "'smoker' has neither ranges nor numbers": ("smoker", None),
        "'no answer' of 'smoker' has no score": ("smoker", {"yes": 1, "no": 0}),
        "found 'maybe'": ("smoker", {"maybe": 1}),
        "all scores of 'smoker' are 1": ("smoker", dict.fromkeys(("yes", "no", "no answer"), 1)),
        "a score is a finite number": ("smoker", {"yes": 1, "no": 0, "no answer": inf}),
        "scores are a number for each answer": ("smoker", [1, 2, 3]),
    }
    for told, asked in refused.items():
        with pytest.raises(dn.EstimateError, match=told):
            est.mean_of(*asked)
    with pytest.raises(dn.EstimateError, match="by or between"):
        est.mean_of("age", YEARS, by="smoker", between=("smoker", "yes", "no"))  # type: ignore[call-overload]


@pytest.mark.slow
def test_intervals_of_means_hold() -> None:
    """The control is the interval that the answers themselves would have, whose standard deviation is 13.6 years."""
    rng, times = np.random.default_rng(9), 150
    found: dict[str, list[Any]] = {"mean": [], "group": [], "difference": [], "control": []}
    ages, scores = SHARES.sum(axis=2), np.array(list(YEARS.values()))
    means = [float(ages[k] @ scores / ages[k].sum()) for k in (0, 1)]
    true = {"mean": float(ages.sum(axis=0) @ scores), "group": means[0], "difference": means[0] - means[1]}
    for _ in range(times):
        est = dn.estimate(dn.simulate.counts(TRUTH, PLAIN, rng, n=8000), ["smoker", "age"]).about("population")
        found["mean"].append(est.mean_of("age", YEARS).confidence_interval())
        group = est.among("smoker", ["yes"]).mean_of("age", YEARS)
        found["group"].append(group.confidence_interval())
        two = est.mean_of("age", YEARS, between=("smoker", "yes", "no"))
        found["difference"].append(two.confidence_interval())
        half = 1.96 * 13.6 / np.sqrt(8000 * ages[0].sum())
        found["control"].append((group.value - half, group.value + half))
    for name, value in true.items():
        assert abs(far_from_95(held(value, np.array(found[name])), times)) < 3.3, name
    assert far_from_95(held(true["group"], np.array(found["control"])), times) < -3.3
