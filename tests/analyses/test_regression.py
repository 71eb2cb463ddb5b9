"""Regression: least squares on open answers, from tables of four, how often it holds the truth, what is refused."""

import re
from itertools import combinations
from math import sqrt

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.models.coefficients import Regression, Shape
from deniable.inference.about_whom import Subject
from tests.support.surveys import ODD, repeated, survey


def least_squares(records: dict, n: int) -> tuple[np.ndarray, np.ndarray]:
    """By rows, with the sandwich and its factor n / (n - k)."""
    age = records["age"]
    x = np.column_stack([np.ones(n), records["drinker"], age == "middle", age == "old"]).astype(float)
    y = records["smoker"].astype(float)
    b = np.linalg.lstsq(x, y, rcond=None)[0]
    bread = np.linalg.inv(x.T @ x)
    return b, bread @ (x.T * (y - x @ b) ** 2 @ x) @ bread * (n / (n - x.shape[1]))


def test_regression_on_open_answers_is_least_squares_with_the_sandwich() -> None:
    records, counts = survey(5_000, openly=True)
    found = dn.regress(counts, "smoker", on=["drinker", "age"])
    b, covariance = least_squares(records, 5_000)
    assert found.terms == ("constant", "drinker", "age: middle", "age: old")
    np.testing.assert_allclose(found.coefficients, b, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7)
    rows = found.table(level=0.9).to_pylist()
    assert rows[1]["low"] == pytest.approx(b[1] - 1.6448536 * sqrt(covariance[1, 1]), abs=0.02 * rows[1]["stderr"])


def test_regression_from_tables_of_four_features_is_that_from_one_of_all() -> None:
    rng = np.random.default_rng(1)
    names = list("abcdef")
    plan = dn.Plan(
        dn.Schema([dn.Flag(name) for name in names]), dict.fromkeys(names, dn.RandomizedResponse(epsilon=3.0))
    )
    records = {name: rng.random(20_000) < 0.4 for name in names}
    records["a"] = records["b"] ^ (rng.random(20_000) < 0.3)
    reports = dn.randomize(records, plan, rng=rng)
    whole, fours = dn.count(reports, names), dn.count(reports, [list(four) for four in combinations(names, 4)])
    one, other = (dn.regress(counts, "a", on=names[1:]) for counts in (whole, fours))
    np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=1e-9)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-9)
    assert one.coefficients[1] == pytest.approx(0.4, abs=5 * one.stderr[1])
    with pytest.raises(dn.EstimateError, match="or order=4"):
        dn.regress(dn.count(reports, order=3), "a", on=names[1:])


@pytest.mark.slow
def test_regression_holds_the_truth_as_often_as_it_says() -> None:
    records, _ = survey(10_000)
    b, _ = least_squares(records, 10_000)
    plan = survey(10)[1].plan
    rng = np.random.default_rng(1)
    far = []
    for counts in repeated(records, plan, 300, rng):
        found = dn.regress(counts, "smoker", on=["drinker", "age"], about="respondents")
        far.append((found.coefficients - b) / found.stderr)
    far = np.array(far)
    assert np.abs(far.mean(axis=0)).max() < 4 / sqrt(300)
    assert (np.abs(far) < 1.96).mean() == pytest.approx(0.95, abs=0.03)
    assert (np.abs(2 * far) < 1.96).mean() < 0.8  # the control: with standard errors half as large


def test_too_few_reports_are_told_without_an_error() -> None:
    for n, epsilon in ((200, 0.5), (1_200, 0.7)):  # the second is at 3.4 standard errors
        found = dn.regress(survey(n, epsilon=epsilon)[1], "smoker", on=["drinker", "age"])
        assert not found.enough
        assert "not enough reports for this question: the least eigenvalue" in repr(found)
        rows = found.table().to_pydict()
        assert all(np.isnan(rows[name]).all() for name in ("coefficient", "stderr", "low", "high", "p_value"))
    value, error = re.search(r"is ([0-9.]+) \(SE ([0-9.]+)\) with", found.why).groups()
    assert 2 < float(value) / float(error) < 5
    flags = dn.Schema([dn.Flag(name) for name in "abcde"])
    plan = dn.Plan(flags, {name: dn.RandomizedResponse(epsilon=6.0) for name in flags.names})
    rng = np.random.default_rng(1)
    for share, enough in ((0.5, True), (0.05, False)):  # of five features no table is counted: the rarest decides
        records = {name: rng.random(500) < (share if name == "a" else 0.5) for name in flags.names}
        fours = [list(four) for four in combinations(flags.names, 4)]
        counts = dn.count(dn.randomize(records, plan, rng=rng), fours)
        assert dn.regress(counts, "a", on=list("bcde")).enough is enough


def test_one_feature_to_regress_on_may_stand_by_itself() -> None:
    _, counts = survey(2_000)
    found = dn.regress(counts, "smoker", on="age")
    assert found.coefficients.tolist() == dn.regress(counts, "smoker", on=["age"]).coefficients.tolist()


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_a_regression_says_how_many_were_asked_and_what_it_compares_with(kind: str) -> None:
    """Of 20 000 respondents two arms hold the outcome with another feature, and the smaller of the two counts."""
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "middle", "old"]), dn.Choice("sex", ["f", "m"])])
    plan = dn.Plan(schema, epsilon=4.0, arms={("smoker", "age", "sex"): 0.5, ("smoker", "age"): 0.5})
    truth = dn.simulate.truth(schema, {"smoker": 0.3, "age": [0.3, 0.3, 0.4], "sex": [0.5, 0.5]})
    counts = dn.simulate.counts(truth, plan, np.random.default_rng(3), n=20_000)
    one, both = (dn.regress(counts, "smoker", on=on, kind=kind) for on in ("age", ["age", ("sex", "m")]))
    assert (one.asked, both.asked) == (20_000, counts.asked("smoker", "age", "sex"))
    assert "20,000 reports." in one.table().about.caption
    for told in (both.table().about.caption, both.summary()):
        assert f"{both.asked:,} of 20,000 respondents were asked this" in told
    for told in (str(both.table()), both.summary()):
        assert " ".join(told.split()).count("Compared with age: young.") == 1
    waves = [counts, dn.simulate.counts(truth, plan, np.random.default_rng(4), n=5_000)]
    assert dn.regress(waves, "smoker", on=["age", "sex"]).asked == sum(one.asked("smoker", "sex") for one in waves)


def test_of_complete_cases_the_first_answer_that_was_given_is_compared_with() -> None:
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["none", "young", "old"], missing="none")])
    truth = dn.simulate.truth(schema, {"smoker": 0.3, "age": [0.2, 0.4, 0.4]})
    counts = dn.simulate.counts(truth, dn.Plan(schema, epsilon=8.0), np.random.default_rng(3), n=5_000)
    for answered, first in ((False, "none"), (True, "young")):
        assert dn.regress(counts, "smoker", on="age", answered=answered).reference == f"age: {first}"


def test_regressions_that_cannot_be_are_refused() -> None:
    _, counts = survey(2_000)
    with pytest.raises(dn.EstimateError, match="one table that holds all its features"):
        dn.regress(dn.Counts(counts.plan, {("smoker",): counts.array("smoker")}), "smoker", on=["age"])
    with pytest.raises(dn.EstimateError, match="a list of features"):
        dn.regress(counts, "smoker", on={"age"})
    with pytest.raises(dn.EstimateError, match='"respondents" or the "population"'):
        dn.regress(counts, "smoker", on=["age"], about="all")
    with pytest.raises(dn.EstimateError, match="'age' is a choice: say which answer"):
        dn.regress(counts, "age", on=["smoker"])
    with pytest.raises(dn.EstimateError, match="each feature once; found 'smoker' again"):
        dn.regress(counts, "smoker", on=["age", "smoker"])
    old = dn.regress(counts, ("age", "old"), on=["smoker"])
    assert old.terms == ("constant", "smoker")


def test_odd_questions_say_what_to_do() -> None:
    _, counts = survey(2_000)
    for ask, words in (
        *((lambda what=what: dn.regress(counts, what, on=["smoker"]), "as (name, answer)") for what in ODD[:-1]),
        (lambda: dn.regress(counts, "smoker", on=[("age",)]), "by their names"),
        (lambda: dn.regress(dn.estimate(counts, ["smoker", "age"]), "smoker", on=["age"]), "regress takes counts"),
    ):
        with pytest.raises(dn.EstimateError) as told:
            ask()
        assert words in str(told.value)


def patterns(counts: dn.Counts) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients of a on b by brute force, and variance, skewness and kurtosis of influence over 4 patterns."""
    p, q, n = counts.plan["a"].p, counts.plan["a"].q, counts.n
    one = np.array([[1 - p, 1 - q], [p, q]])
    inverse = np.linalg.inv(np.kron(one, one))
    c = counts.array("a", "b")
    seen = np.array([n - c[1, 0] - c[0, 1] + c[1, 1], c[0, 1] - c[1, 1], c[1, 0] - c[1, 1], c[1, 1]]) / n
    x, y = np.array([[1, 0], [1, 1], [1, 0], [1, 1]], float), np.array([0, 0, 1, 1.0])
    t = inverse @ seen
    bread = np.linalg.inv(x.T @ (t[:, None] * x))
    b = bread @ x.T @ (t * y)
    influence = bread @ (x * (y - x @ b)[:, None]).T @ inverse
    centred = influence - (influence @ seen)[:, None]
    variance = centred**2 @ seen
    return b, variance, centred**3 @ seen / variance**1.5, centred**4 @ seen / variance**2 - 3


def test_the_shape_of_the_errors_is_that_of_the_influence_of_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.analyses.regression.PSEUDO", 0.0)
    flags = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    plan = dn.Plan(flags, dict.fromkeys("ab", dn.RandomizedResponse(p=0.1, q=0.8)))
    truth = dn.simulate.truth(flags, [[0.6, 0.3], [0.04, 0.06]])
    n = 2_000
    counts = dn.simulate.counts(truth, plan, np.random.default_rng(1), n=n)
    found = dn.regress(counts, "a", on=["b"])
    b, variance, skewness, excess = patterns(counts)
    np.testing.assert_allclose(found.coefficients, b, rtol=1e-9)
    np.testing.assert_allclose(found.stderr, np.sqrt(variance / (n - 2)), rtol=1e-9)
    np.testing.assert_allclose(found.shape.skewness, skewness / sqrt(n), rtol=1e-9)
    np.testing.assert_allclose(found.shape.degrees, 2 * n / (2 + excess), rtol=1e-9)
    assert (found.shape.widening == 1).all()


@pytest.mark.parametrize("value", [-2.0, -0.5, -0.02, 0.0, 0.3, 4.0])
def test_p_values_and_intervals_are_one_confidence_distribution(value: float) -> None:
    shape = Shape(np.array([0.4]), np.array([0.3]), np.array([12.0]), np.ones(1))
    none = np.ones((1, 1))
    found = Regression("a", ("b",), np.array([value]), none, 10, Subject.POPULATION, shape)
    (p,) = found.table().column("p_value").to_pylist()
    for level, outside in ((1 - p * 1.02, True), (1 - p * 0.98, False)):
        if 0 < level < 1:
            (row,) = found.table(level=level).to_pylist()
            assert (not row["low"] <= 0 <= row["high"]) is outside


@pytest.mark.slow
@pytest.mark.parametrize(("n", "outcome"), [(300, 0.05), (300, 0.02)])
def test_intervals_of_regression_hold_with_few_respondents_and_rare_outcomes(n: int, outcome: float) -> None:
    flags = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    plan = dn.Plan(flags, dict.fromkeys("ab", dn.RandomizedResponse(epsilon=6.0)))
    truth = dn.simulate.truth(flags, np.outer([1 - outcome, outcome], [0.5, 0.5]))
    rng, missed, normal = np.random.default_rng(2), [], []
    for _ in range(500):
        found = dn.regress(dn.simulate.counts(truth, plan, rng, n=n), "a", on=["b"])
        rows = found.table().to_pydict()
        missed.append((np.array(rows["low"]) > (outcome, 0)) | (np.array(rows["high"]) < (outcome, 0)))
        normal.append(np.abs(found.coefficients - (outcome, 0)) > 1.96 * found.stderr)
    assert np.mean(missed, axis=0).max() < 0.07 + 3 * sqrt(0.05 * 0.95 / 500)
    assert np.mean(normal, axis=0).max() > 0.09  # the control: normal intervals do not hold


def test_single_answers_and_answers_taken_together_are_regressed_on() -> None:
    """An indicator against all other answers of its feature: the difference of two shares, by hand."""
    schema = dn.Schema([dn.Flag("y"), dn.Choice("b", ["p", "q", "r"])])
    plan = dn.Plan(schema, {"y": dn.RandomizedResponse(epsilon=3.0), "b": dn.GRR(epsilon=3.0)})
    of = dn.simulate.truth(schema, np.array([[0.3, 0.2, 0.1], [0.1, 0.1, 0.2]]))
    counts = dn.simulate.counts(of, plan, np.random.default_rng(1), n=20_000)
    est = dn.estimate(counts, ["y", "b"])
    for answer, term in (("r", "b: r"), (["q", "r"], "b: q or r")):
        found = dn.regress(counts, "y", on=[("b", answer)])
        assert found.terms == ("constant", term)
        some, share = est.cell(b=answer).value, est.cell(y=True).value
        among = est.cell(y=True, b=answer).value / some
        others = (share - among * some) / (1 - some)
        assert found.coefficients == pytest.approx([others, among - others])
        log_odds = dn.regress(counts, "y", on=[("b", answer)], kind="logistic").coefficients
        odds = among / (1 - among) / (others / (1 - others))
        assert log_odds == pytest.approx([np.log(others / (1 - others)), np.log(odds)])
    whole, both = (dn.regress(counts, "y", on=on) for on in (["b"], [("b", "q"), ("b", "r")]))
    assert both.coefficients == pytest.approx(whole.coefficients)
    assert whole.terms == both.terms
    for on in ([("b", "r"), "b"], [("b", "r"), ("b", "r")], ["b", "b"]):
        with pytest.raises(dn.EstimateError, match="each feature once; found 'b' again"):
            dn.regress(counts, "y", on=on)


@pytest.mark.parametrize("kind", ["linear", "logistic"])
@pytest.mark.parametrize(("shares", "rare", "common"), [((0.6, 0.4, 0.0), "r", "p"), ((0.0, 0.4, 0.6), "p", "r")])
def test_the_advice_for_a_rare_answer_names_it(kind: str, shares: tuple[float, ...], rare: str, common: str) -> None:
    """Whether it is one of the terms or the answer that is left out; and what is advised can be done."""
    schema = dn.Schema([dn.Flag("y"), dn.Choice("b", ["p", "q", "r"])])
    plan = dn.Plan(schema, {"y": dn.RandomizedResponse(epsilon=3.0), "b": dn.GRR(epsilon=3.0)})
    of = dn.simulate.truth(schema, {"y": 0.4, "b": list(shares)})
    counts = dn.simulate.counts(of, plan, np.random.default_rng(1), n=2_000)
    found = dn.regress(counts, "y", on=["b"], kind=kind)
    assert not found.enough
    assert f"The rarest answer is b: {rare}" in found.why
    assert f"on=[('b', '{common}')]" in found.why
    assert dn.regress(counts, "y", on=[("b", common)], kind=kind).enough
    assert f"(in the shell b={common})" in found.why


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_a_rare_missing_answer_can_be_left_out(kind: str) -> None:
    schema = dn.Schema([dn.Flag("y"), dn.Choice("b", ["p", "q"], missing="none")])
    plan = dn.Plan(schema, {"y": dn.RandomizedResponse(epsilon=3.0), "b": dn.GRR(epsilon=3.0)})
    of = dn.simulate.truth(schema, {"y": 0.4, "b": [0.6, 0.4, 0.0]})
    counts = dn.simulate.counts(of, plan, np.random.default_rng(1), n=2_000)
    found = dn.regress(counts, "y", on=["b"], kind=kind)
    assert not found.enough
    assert "leave missing answers out (answered=True; in the shell --answered)" in found.why
    assert dn.regress(counts, "y", on=["b"], kind=kind, answered=True).enough
