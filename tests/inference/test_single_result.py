"""Single results: what they print and convert to, their intervals by name, and p-values that agree with intervals."""

import copy
import pickle
from collections.abc import Iterator
from functools import cache
from math import isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.inference.results import Answer, JointAnswer
from deniable.inference.single_result import LEAST_P, Interval, decimals, p_value
from deniable.text.fixed_phrases import influence_in_words

AGES = ["18-29", "30-44", "45-64", "65+"]
SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", AGES)])
YOUNG, OLD = {"smoker": 0.4, "age": [0.4, 0.3, 0.2, 0.1]}, {"smoker": 0.25, "age": [0.1, 0.2, 0.3, 0.4]}
BETWEEN = ("age", "18-29", "65+")


@cache
def estimated(n: int, seed: int, epsilon: float = 4.0, method: str = "consistent") -> dn.Estimate:
    of = dn.simulate.truth(SCHEMA, [(0.5, YOUNG), (0.5, OLD)])
    counts = dn.simulate.counts(of, dn.Plan(SCHEMA, epsilon=epsilon), seed, n=n)
    return dn.estimate(counts, ["smoker", "age"], method=method)


def counts_of() -> dn.Counts:
    return dn.simulate.counts(np.ones((2, 4), np.int64), dn.Plan(SCHEMA, epsilon=4.0), 1)


def contrasts(est: dn.Estimate) -> Iterator[Answer | JointAnswer]:
    """A result of each kind that can be tested against a value."""
    yield est.difference("smoker", between=BETWEEN)
    yield est.ratio("smoker", between=BETWEEN)
    yield est.odds_ratio("smoker", ("age", "65+"))
    yield est.correlation("smoker", ("age", "65+"))
    yield est.association("smoker", "age").cramers_v
    weights = np.zeros(est.mean.shape)
    weights[0, 1], weights[0, 4] = 1, -1
    yield est.linear(weights)
    weights[0, 0] = 0.1
    yield est.linear(weights)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(
    st.integers(300, 20_000),
    st.integers(0, 10_000),
    st.sampled_from([1.5, 4.0, 7.0]),
    st.sampled_from(["consistent", "unbiased", "feasible"]),
    st.sampled_from(["population", "respondents"]),
)
def test_a_p_value_is_below_a_level_exactly_if_the_interval_leaves_the_null_value_out(
    n: int, seed: int, epsilon: float, method: str, subject: str
) -> None:
    for one in contrasts(estimated(n, seed, epsilon, method).about(subject)):
        assert isnan(one.pvalue) != one.enough
        for level in (0.95, 0.5, 0.8, 0.99, 0.9999) if one.enough else ():
            low, high = one.confidence_interval(level)
            assert (one.pvalue < 1 - level) == (not low <= one.null <= high), (one, level)


def test_p_values_of_normal_estimates_are_those_of_their_z() -> None:
    from scipy.special import ndtr, ndtri

    for z in (-6.0, -1.96, -0.3, 0.0, 0.3, 1.0, 5.0):
        found = p_value(lambda level, z=z: (z - ndtri(0.5 + level / 2), z + ndtri(0.5 + level / 2)), 0.0)
        assert found == pytest.approx(2 * ndtr(-abs(z)), rel=1e-9)
    assert p_value(lambda _: (1.0, 1.0), 0.0) == LEAST_P  # known exactly
    assert p_value(lambda _: (0.0, 1.0), 0.0) == 1.0
    assert isnan(p_value(lambda _: (0.0, 1.0), nan))
    assert isnan(p_value(lambda _: (nan, nan), 0.0))


@pytest.mark.slow
def test_without_any_difference_p_values_are_below_a_level_as_often_as_it_says() -> None:
    """And with one they are not: differences of 100 surveys."""
    plan, rng, surveys = dn.Plan(SCHEMA, epsilon=6.0), np.random.default_rng(5), 100
    shares = {"none": [(1.0, YOUNG)], "some": [(0.5, YOUNG), (0.5, OLD)]}
    for name, of in shares.items():
        truth = dn.simulate.truth(SCHEMA, of)
        low = 0
        for _ in range(surveys):
            est = dn.estimate(dn.simulate.counts(truth, plan, rng, n=3000), ["smoker", "age"])
            low += est.difference("smoker", between=BETWEEN).pvalue < 0.05
        error = sqrt(0.05 * 0.95 / surveys)
        assert (abs(low / surveys - 0.05) < 4 * error) == (name == "none")


def test_intervals_have_names_and_take_scipys_spelling() -> None:
    est = estimated(5000, 1)
    for one in (est.cell(smoker=True), *contrasts(est)):
        found = one.confidence_interval(0.9)
        assert isinstance(found, Interval)
        low, high = found
        assert (found.low, found.high) == (low, high) == one.confidence_interval(confidence_level=0.9)
        assert one.confidence_interval(level=0.9) == found != one.confidence_interval()
        with pytest.raises(dn.EstimateError, match="a level of confidence is between 0 and 1"):
            one.confidence_interval(confidence_level=90)
        with pytest.raises(dn.EstimateError, match=r"level=0\.8 and confidence_level=0\.9 are two names of one level"):
            one.confidence_interval(0.8, confidence_level=0.9)
        assert one.confidence_interval(0.8, confidence_level=0.8) == one.confidence_interval(0.8)


def test_the_variance_is_the_square_of_the_standard_error() -> None:
    est = estimated(5000, 1)
    for one in (est.cell(smoker=True), *contrasts(est)):
        assert one.variance == pytest.approx(one.stderr**2, rel=1e-12)
    cell = est.cell(smoker=True)
    assert cell.count_variance == pytest.approx(est.covariance({"smoker": True}, {"smoker": True}))


def test_results_print_what_they_are_about() -> None:
    est = estimated(5000, 1)
    cell = est.cell(smoker=True)
    low, high = cell.confidence_interval()
    forged = "; if 1% of the reports were forged, it could move by up to {:.2g}"
    assert (
        str(cell) == f"{cell.value:.4f} (SE {cell.stderr:.4f}; 95% CI {low:.4f} to {high:.4f}; population)" == f"{cell}"
    )
    assert repr(cell) == f"<Answer {cell}, 5,000 reports{forged.format(cell.influence)}>"
    assert str(est.about("respondents").cell(smoker=True)).endswith("; respondents)")
    difference = est.difference("smoker", between=BETWEEN)
    assert repr(difference) == f"<difference {difference}, 5,000 reports{forged.format(difference.influence)}>"
    assert str(difference).endswith("; population)")
    few = estimated(20, 1, 1.0).difference("smoker", between=BETWEEN)
    assert str(few).endswith("(not enough reports for this question; population)")
    assert isnan(few.pvalue)
    little = estimated(3000, 1, 1.0).cell(smoker=True, age="65+")
    assert ", says little; population)" in str(little)
    assert [decimals(error) for error in (2.0, 0.0341, 0.0031, 0.00031, 1e-9, 0.0, nan)] == [3, 3, 4, 5, 6, 4, 4]


def test_results_are_numbers_but_for_arithmetic() -> None:
    est = estimated(5000, 1)
    one, other = est.cell(smoker=True), est.cell(age="65+")
    assert float(one) == one.value
    assert f"{one:.2f}" == f"{one.value:.2f}"
    for wrong in (lambda: one - other, lambda: one + 1, lambda: 1 - one, lambda: 2 * one, lambda: sum([one, other])):
        with pytest.raises(TypeError, match=r"correlated.*est\.difference"):
            wrong()
    for unlike in (lambda: -one, lambda: abs(one)):
        with pytest.raises(TypeError, match="correlated"):
            unlike()
    for compared in (
        lambda: round(one),
        lambda: round(one, 2),
        lambda: one > 0.2,
        lambda: one >= 0.2,
        lambda: max(one, other),
    ):
        with pytest.raises(TypeError, match=r"result\.value > 0\.2; confidence_interval\(\)"):
            compared()
    assert isnan(one.pvalue)  # no share is what a share is tested against
    for result in (one, *contrasts(est)):
        assert str(pickle.loads(pickle.dumps(result))) == str(copy.deepcopy(result)) == str(result)


def test_completion_offers_what_is_meant_for_users() -> None:
    est = estimated(5000, 1)
    for shown, offered, hidden in (
        (est.cell(smoker=True), "value pvalue count_variance", "found exact bounded limits remarks"),
        (est.ratio("smoker", between=BETWEEN), "value how distribution", "least most bounded limits remarks"),
        (est, "cell table about summary n mean", "groups fitted proper covariance_of agreement"),
        (dn.Plan(SCHEMA, epsilon=1.0), "epsilon arms shares save expect", "parts units aim for_aim"),
        (counts_of(), "n array asked tables save", "parts moments patterns units_of"),
    ):
        assert set(offered.split()) <= set(dir(shown))
        assert not set(hidden.split()) & set(dir(shown))
    assert set(dir(dn)) == {*dn.__all__, "__version__"}


def test_answers_in_other_words_that_mean_only_one() -> None:
    est = estimated(5000, 1)
    for yes in (True, 1, np.True_, np.int64(1), "yes", "Yes", "true"):
        assert est.cell(smoker=yes) == est.cell(smoker=True)
    for no in (False, 0, np.False_, "No", "false"):
        assert est.cell(smoker=no).value == est.cell(smoker=False).value
    for wrong in (2, 1.0, "yeah", None, "maybe", []):
        with pytest.raises(dn.EstimateError, match=r"'smoker' has the answers \['no', 'yes'\]; found"):
            est.cell(smoker=wrong)
    schema = dn.Schema([dn.Choice("rooms", ["1", "2", "yes"])])
    rooms = dn.estimate(dn.simulate.counts(np.array([50, 30, 20]), dn.Plan(schema, epsilon=2.0), 1), ["rooms"])
    assert rooms.cell(rooms=1) == rooms.cell(rooms="1")
    assert rooms.cell(rooms="yes").value == pytest.approx(1 - rooms.cell(rooms=1).value - rooms.cell(rooms=2).value)
    for wrong in (True, 3, "Yes", 1.0):
        with pytest.raises(dn.EstimateError, match="'rooms' has the answers"):
            rooms.cell(rooms=wrong)


def test_summaries_say_whom_they_are_about() -> None:
    est = estimated(5000, 1)
    lines = est.summary(0.9).splitlines()
    assert lines[0] == "Estimate (consistent) of smoker x age, about the population; 90% intervals; 5,000 reports."
    row = est.project("age").table(level=0.9).to_pylist()[3]
    told = [f"{row[name]:.4f}" for name in ("proportion", "stderr", "low", "high")]
    assert lines[-3].split() == ["65+", *told]
    moved = max(est.project(name).table().influence for name in est.names)
    assert lines[-2:] == ["", f"If 1% of the reports were forged, a share could move by up to {moved:.2g}."]
    assert "not enough reports" in estimated(3, 1, 1.0).summary()
    schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")])
    counts = dn.simulate.counts(np.array([[400, 300], [100, 200]]), dn.Plan(schema, epsilon=6.0), 1)
    found = dn.regress(counts, "smoker", ["drinker"])
    assert found.table() == dn.regress(counts, "smoker", on=["drinker"]).table()
    rows, ends = found.table(level=0.8).to_pylist(), found.confidence_interval(confidence_level=0.8)
    assert [row["low"] for row in rows] == ends.low.tolist()
    assert [row["p_value"] for row in rows] == found.pvalue.tolist()
    assert found.variance == pytest.approx(found.stderr**2)
    lines = found.summary().splitlines()
    forged = influence_in_words(float(found.influence.max()))
    assert lines[0] == f"Linear regression of smoker, about the population; 95% intervals; 1,000 reports{forged}."
    assert lines[-1].split()[:2] == ["drinker", f"{found.coefficients[1]:.4f}"]
    few = dn.regress(
        dn.simulate.counts(np.array([[4, 3], [1, 2]]), dn.Plan(schema, epsilon=0.5), 1), "smoker", ["drinker"]
    )
    assert "not enough reports" in few.summary()


def test_a_flag_is_asked_about_in_the_words_of_its_data() -> None:
    for flag, yes, no in [
        (dn.Flag("x", yes="Raucher", no="Nichtraucher", missing="keine"), "raucher ", "Nichtraucher"),
        (dn.Flag("x", missing="keine"), "Ja", "NEIN"),
        (dn.Flag("x", yes="no", no="yes", missing="keine"), "no", "yes"),  # as whoever made the survey said
    ]:
        counts = dn.simulate.counts(np.array([50, 30, 20]), dn.Plan(dn.Schema([flag]), epsilon=2.0), 1)
        est = dn.estimate(counts, ["x"])
        assert est.cell(x=yes) == est.cell(x=True)
        assert est.cell(x=no) == est.cell(x=False)
        with pytest.raises(dn.EstimateError, match=r"'x' has the answers \['no', 'yes', 'keine'\]; found 'vielleicht'"):
            est.cell(x="vielleicht")
