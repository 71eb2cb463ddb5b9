"""Regression: least squares on open answers, from tables of four, how often it holds the truth, what is refused."""

import re
from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from tests.support.surveys import ODD, repeated, survey


def least_squares(records: dict, n: int) -> tuple[np.ndarray, np.ndarray]:
    """By rows, with the sandwich."""
    age = records["age"]
    x = np.column_stack([np.ones(n), records["drinker"], age == "middle", age == "old"]).astype(float)
    y = records["smoker"].astype(float)
    b = np.linalg.lstsq(x, y, rcond=None)[0]
    bread = np.linalg.inv(x.T @ x)
    return b, bread @ (x.T * (y - x @ b) ** 2 @ x) @ bread


def test_regression_on_open_answers_is_least_squares_with_the_sandwich() -> None:
    records, counts = survey(5_000, openly=True)
    found = dn.regress(counts, "smoker", on=["drinker", "age"])
    b, covariance = least_squares(records, 5_000)
    assert found.terms == ("constant", "drinker", "age: middle", "age: old")
    np.testing.assert_allclose(found.coefficients, b, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7)
    rows = found.table(level=0.9).to_pylist()
    assert rows[1]["low"] == pytest.approx(b[1] - 1.6448536 * sqrt(covariance[1, 1]))
    assert rows[1]["p_value"] == pytest.approx(2 * stats.norm.sf(abs(b[1]) / sqrt(covariance[1, 1])))


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


def test_regressions_that_cannot_be_are_refused() -> None:
    _, counts = survey(200, epsilon=0.5)
    with pytest.raises(dn.EstimateError, match="not enough reports for this question: the least eigenvalue"):
        dn.regress(counts, "smoker", on=["drinker", "age"])
    with pytest.raises(dn.EstimateError, match="least eigenvalue") as told:  # at 3.4 standard errors
        dn.regress(survey(1_200, epsilon=0.7)[1], "smoker", on=["drinker", "age"])
    value, error = re.search(r"is ([0-9.]+) \+- ([0-9.]+) with", str(told.value)).groups()
    assert 2 < float(value) / float(error) < 5
    _, counts = survey(2_000)
    with pytest.raises(dn.EstimateError, match="one table that holds all its features"):
        dn.regress(dn.Counts(counts.plan, {("smoker",): counts.array("smoker")}), "smoker", on=["age"])
    with pytest.raises(dn.EstimateError, match="a list of features"):
        dn.regress(counts, "smoker", on="age")
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
        (lambda: dn.regress(counts, "smoker", on=[("age", "old")]), "by their names"),
        (lambda: dn.regress(dn.estimate(counts, ["smoker", "age"]), "smoker", on=["age"]), "regress takes counts"),
    ):
        with pytest.raises(dn.EstimateError) as told:
            ask()
        assert words in str(told.value)
