"""Shares among those who gave certain answers: the ratios of sums of cells, with the delta method's errors and more."""

from typing import Any

import numpy as np
import pytest

import deniable as dn
from tests.support.answer_groups import (
    AGES,
    FORMS,
    NAMES,
    SHARES,
    TRUTH,
    cells,
    covariance_of,
    far_from_95,
    held,
    made,
    sum_of,
)

ANSWERED = ["yes", "no"]
YOUNG, OLD = AGES[:2], AGES[2:]
# Of plain unary encoding sums of cells are not margins, so that ratios of one are not those of the other.
every_form = pytest.mark.parametrize("form", [form for form in FORMS if "unbiased" not in form])


def having(**answers: Any) -> list[dict[str, Any]]:
    """The cells with one of some answers to each feature."""
    return [one for one in cells() if all(one[name] in own for name, own in answers.items())]


def ratio_and_error(est: dn.Estimate, top: Any, bottom: Any) -> tuple[float, float]:
    """A ratio of two sums of cells, and its standard error by the delta method, written out."""
    t, b = sum_of(est, top), sum_of(est, bottom)
    vt, vb, c = covariance_of(est, top, top), covariance_of(est, bottom, bottom), covariance_of(est, top, bottom)
    return t / b, float(np.sqrt(vt / b**2 + t**2 * vb / b**4 - 2 * t * c / b**3))


@every_form
def test_shares_are_ratios_of_sums_of_cells(form: str) -> None:
    est = made(form)
    here = est.among("smoker", ANSWERED)
    every = having(smoker=ANSWERED)
    asked = {
        "one": ({"smoker": "yes"}, having(smoker=["yes"])),
        "two": ({"smoker": "yes", "age": "65+"}, having(smoker=["yes"], age=["65+"])),
        "another": ({"drinks": True}, having(smoker=ANSWERED, drinks=[True])),
        "a group": ({"age": YOUNG}, having(smoker=ANSWERED, age=YOUNG)),
    }
    for answers, top in asked.values():
        value, stderr = ratio_and_error(est, top, every)
        found = here.cell(answers)
        assert found.value == pytest.approx(value, rel=1e-9)
        if "likelihood" not in form and "feasible" not in form:  # errors are the linear estimate's there
            assert found.stderr == pytest.approx(stderr, rel=1e-6)


@every_form
def test_tables_conditionals_and_differences_agree_with_cells(form: str) -> None:
    est = made(form)
    here = est.among("smoker", ANSWERED)
    table = here.table().to_pylist()
    assert len(table) == 2 * 4 * 2
    assert sum(row["proportion"] for row in table) == pytest.approx(1)
    for row in table[:3]:
        assert row["proportion"] == pytest.approx(here.cell({name: row[name] for name in NAMES}).value)
    by_age = here.conditional("smoker", given="age").to_pylist()
    shares = {(row["age"], row["smoker"]): row["proportion"] for row in by_age}
    for age in AGES:
        value, stderr = ratio_and_error(est, having(smoker=["yes"], age=[age]), having(smoker=ANSWERED, age=[age]))
        assert shares[age, "yes"] == pytest.approx(value, rel=1e-9)
        if "likelihood" not in form and "feasible" not in form:
            row = next(row for row in by_age if (row["age"], row["smoker"]) == (age, "yes"))
            assert row["stderr"] == pytest.approx(stderr, rel=1e-6)
    difference = here.difference(("smoker", "yes"), between=("age", YOUNG, OLD)).value
    young, old = (
        sum_of(est, having(smoker=["yes"], age=a)) / sum_of(est, having(smoker=ANSWERED, age=a)) for a in (YOUNG, OLD)
    )
    assert difference == pytest.approx(young - old)
    assert here.ratio(("smoker", "yes"), between=("age", YOUNG, OLD)).value == pytest.approx(young / old)
    odds = here.odds_ratio(("smoker", "yes"), ("age", YOUNG)).value
    assert odds == pytest.approx(young / (1 - young) / (old / (1 - old)))
    assert est.among("age", YOUNG).cell(smoker="yes").value == pytest.approx(
        est.conditional(("smoker", "yes"), given=("age", YOUNG)).value
    )


@every_form
def test_what_is_given_in_one_feature_is_what_conditional_shares_are(form: str) -> None:
    """With one answer left, the same question as ever, with the same interval."""
    est = made(form)
    row = next(
        row
        for row in est.conditional("smoker", given="age").to_pylist()
        if (row["age"], row["smoker"]) == ("30-44", "yes")
    )
    for found in (
        est.among("age", ["30-44"]).cell(smoker="yes"),
        est.conditional(("smoker", "yes"), given=("age", "30-44")),
        est.conditional(("smoker", "yes"), given={"age": ["30-44"]}),
    ):
        assert (found.value, found.stderr) == pytest.approx((row["proportion"], row["stderr"]), rel=1e-9)
        assert found.confidence_interval() == pytest.approx((row["low"], row["high"]), rel=1e-6, nan_ok=True)


def test_conditional_of_groups_and_of_two_features() -> None:
    est = made("blocks, population")
    several = est.conditional(("smoker", ["yes", "no answer"]), given={"age": OLD, "drinks": False})
    value, stderr = ratio_and_error(
        est, having(smoker=["yes", "no answer"], age=OLD, drinks=[False]), having(age=OLD, drinks=[False])
    )
    assert (several.value, several.stderr) == pytest.approx((value, stderr), rel=1e-6)
    table = est.conditional("smoker", given=("age", OLD)).to_pylist()
    assert [row["smoker"] for row in table] == ["yes", "no", "no answer"]
    assert sum(row["proportion"] for row in table) == pytest.approx(1)
    assert est.cell(age=YOUNG).value == pytest.approx(sum_of(est, having(age=YOUNG)))
    both = est.among("smoker", ANSWERED).among("age", YOUNG)
    assert both.cell(smoker="yes").value == pytest.approx(
        sum_of(est, having(smoker=["yes"], age=YOUNG)) / sum_of(est, having(smoker=ANSWERED, age=YOUNG))
    )
    assert "smoker: yes or no; age: 18-29 or 30-44" in repr(both)


REFUSED = {
    "left out": (lambda e: e.among("smoker", ANSWERED).cell(smoker="no answer"), "'no answer' of 'smoker' is left out"),
    "unknown": (lambda e: e.among("smoker", ["maybe"]), "found 'maybe'"),
    "twice": (lambda e: e.among("smoker", ["yes", "yes"]), "'yes' twice"),
    "nobody": (lambda e: e.among("smoker", ["yes"]).among("smoker", ["no"]), "nobody is left"),
    "overlapping": (
        lambda e: e.difference("drinks", between=("age", YOUNG, ["30-44", "65+"])),
        "two different groups of answers; '30-44' is in both",
    ),
    "no answers given": (lambda e: e.conditional(("smoker", "yes"), given="age"), "is given answers, too"),
    "the same feature": (lambda e: e.conditional(("age", "65+"), given=("age", YOUNG)), "different features"),
}


@pytest.mark.parametrize(("ask", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals(ask: Any, told: str) -> None:
    with pytest.raises(dn.EstimateError) as error:
        ask(made("plain, population"))
    assert told in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("age", ["18-29", "65+"])
def test_intervals_among_those_who_answered_hold(age: str) -> None:
    """Also of the rare cell. The control takes the number of those who answered and are of that age as known."""
    rng, found, control, times, k = np.random.default_rng(8), [], [], 250, AGES.index(age)
    true = SHARES[0, k].sum() / SHARES[:2, k].sum()
    plan = dn.Plan(TRUTH.schema, epsilon=4.0, together=[["smoker", "age"], ["drinks"]])
    for _ in range(times):
        est = dn.estimate(dn.simulate.counts(TRUTH, plan, rng, n=3000), ["smoker", "age"]).about("population")
        one = est.among("smoker", ANSWERED).among("age", [age]).cell(smoker="yes")
        found.append(one.confidence_interval())
        half = 0.5 * 1.96 * est.cell(smoker="yes", age=age).stderr / est.cell(smoker=ANSWERED, age=age).value
        control.append((one.value - half, one.value + half))
    share = held(true, np.array(found))
    assert -3.3 < far_from_95(share, times) < 5  # a rare share's interval may hold it more often
    assert far_from_95(held(true, np.array(control)), times) < -3.3
