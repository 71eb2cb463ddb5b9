"""Merged answers: the sums of the cells behind them, with the covariance of these sums, whatever the estimate is."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import deniable as dn
from tests.support.answer_groups import (
    AGES,
    FORMS,
    NAMES,
    PLAIN,
    SHARES,
    TRUTH,
    cells,
    covariance_of,
    far_from_95,
    held,
    made,
    sum_of,
)

GROUPS = {"under 45": ["18-29", "30-44"], "45 and over": ["65+", "45-64"]}
every_form = pytest.mark.parametrize("form", FORMS)


def behind(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that one merged cell is made of."""
    return [one for one in cells() if {**one, "age": next(k for k, v in GROUPS.items() if one["age"] in v)} == cell]


@every_form
def test_values_and_covariances_are_those_of_sums_of_cells(form: str) -> None:
    est = made(form)
    merged = est.merge("age", GROUPS)
    assert [feature.answers for feature in merged.features][1] == ("under 45", "45 and over")
    some = [
        {"smoker": "yes", "age": "under 45", "drinks": False},
        {"smoker": "no answer", "age": "45 and over", "drinks": True},
    ]
    for one in some:
        assert merged.cell(one).value == pytest.approx(sum_of(est, behind(one)), abs=1e-12)
        for other in some:
            expected = covariance_of(est, behind(one), behind(other))
            assert merged.covariance(one, other) / est.n**2 == pytest.approx(expected, rel=1e-8, abs=1e-16)
    dense = merged.covariance()
    assert dense.shape == (4 * 3 * 2,) * 2
    weights = np.zeros(merged.mean.shape)
    weights[1, 2, 0], weights[3, 0, 1] = 1, -2
    own = weights.reshape(-1)
    linear = merged.linear(weights)
    if "likelihood" not in form:  # the interval of any weights is the linear estimate's there
        assert linear.stderr**2 == pytest.approx(own @ dense @ own / est.n**2, rel=1e-8)


@every_form
def test_margins_that_are_not_merged_stay(form: str) -> None:
    est = made(form)
    merged = est.merge("age", GROUPS)
    for name in ("smoker", "drinks"):
        before, after = (one.project(name).table().to_pydict() for one in (est, merged))
        assert before.pop(name) == after.pop(name)
        for column, numbers in before.items():
            np.testing.assert_allclose(after[column], numbers, atol=1e-9, err_msg=column)


@every_form
def test_everything_can_be_asked(form: str) -> None:
    est = made(form)
    merged = est.merge("age", GROUPS)
    assert merged.difference(("smoker", "yes"), between=("age", "under 45", "45 and over")).value == pytest.approx(
        est.difference(("smoker", "yes"), between=("age", GROUPS["under 45"], GROUPS["45 and over"])).value, rel=1e-9
    )
    merged.conditional("smoker", given="age")
    merged.odds_ratio("drinks", ("age", "under 45"))
    merged.correlation("drinks", ("age", "under 45"))
    if "unbiased" in form:  # its answers do not sum to the whole, merged or not
        with pytest.raises(dn.EstimateError, match="sum to the whole"):
            merged.association("smoker", "age")
        return
    merged.association("smoker", "age")
    if "conditioned" not in form and "likelihood" not in form:
        assert 0 <= merged.independence("smoker", "age").p_value <= 1
    assert (merged + replace(merged, sources={})).n == 2 * est.n
    again = merged.merge("smoker", {"yes or unknown": ["yes", "no answer"]})
    assert again.cell(smoker="yes or unknown", age="under 45").value == pytest.approx(
        est.cell(smoker=["yes", "no answer"], age=GROUPS["under 45"]).value
    )


@pytest.mark.parametrize("form", ["plain, population", "blocks, population", "arms, population", "waves, population"])
def test_what_is_known_of_merged_answers_is_what_is_known_of_their_sum(form: str) -> None:
    est = made(form)
    after = est.merge("age", GROUPS).given({"age": {"under 45": 0.55}})
    before = est.given({"age": {("18-29", "30-44"): 0.55}}).merge("age", GROUPS)
    np.testing.assert_allclose(after.mean, before.mean, atol=1e-6 * est.n)
    np.testing.assert_allclose(after.covariance(), before.covariance(), atol=1e-6 * est.n)
    assert after.cell(age="under 45").value == pytest.approx(0.55)
    with pytest.raises(dn.EstimateError, match=r"before merge"):
        before.given({"age": {"under 45": 0.5}})


def test_intervals_of_one_answer_that_stays_are_exact_as_before() -> None:
    est = dn.estimate(dn.simulate.counts(TRUTH, PLAIN, np.random.default_rng(1), n=3000), NAMES)
    merged = est.merge("smoker", {"other": ["no", "no answer"]})
    assert merged.cell(smoker="yes").confidence_interval() == est.cell(smoker="yes").confidence_interval()
    low, high = merged.cell(smoker="other").confidence_interval()
    yes = est.cell(smoker="yes").confidence_interval()
    assert (1 - high, 1 - low) == pytest.approx(yes, abs=0.01)


def test_a_flag_gets_words() -> None:
    est = made("plain, population")
    words = est.merge("drinks", {"drinks": [True], "does not": [False]})
    assert words.cell(drinks="drinks").value == pytest.approx(est.cell(drinks=True).value)
    assert words.cell(drinks="does not").confidence_interval() == est.cell(drinks=False).confidence_interval()
    assert words.features[2].answers == ("does not", "drinks")


REFUSED = {
    "unknown feature": (("sex", GROUPS), "'smoker', 'age', 'drinks'; found ['sex']"),
    "unknown answer": (("age", {"young": ["18-29", "30-45"]}), "found '30-45'"),
    "twice in one group": (("age", {"young": ["18-29", "18-29"]}), "'18-29' twice"),
    "in two groups": (("age", {"a": ["18-29"], "b": ["18-29"]}), "is in 'a' and in 'b'"),
    "a name that stays": (("age", {"65+": ["18-29", "30-44"]}), "give the group another name"),
    "everything": (("age", {"any": AGES}), "would become one"),
    "nothing": (("age", {}), "merge takes new answers"),
    "no mapping": (("age", ["18-29"]), "merge takes new answers"),
}


@pytest.mark.parametrize(("asked", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals_say_what_to_do(asked: Any, told: str) -> None:
    with pytest.raises(dn.EstimateError) as error:
        made("plain, population").merge(*asked)
    assert told in str(error.value)


@pytest.mark.slow
def test_intervals_of_merged_cells_hold() -> None:
    """The control takes the estimate for a share of true answers."""
    rng, found, control, times = np.random.default_rng(8), [], [], 200
    true = SHARES[:2, :2].sum()
    for _ in range(times):
        est = dn.estimate(dn.simulate.counts(TRUTH, PLAIN, rng, n=4000), NAMES).about("population")
        merged = est.merge("age", GROUPS).merge("smoker", {"answered": ["yes", "no"]})
        one = merged.cell(smoker="answered", age="under 45")
        found.append(one.confidence_interval())
        half = 1.96 * np.sqrt(0.25 / 4000)
        control.append((one.value - half, one.value + half))
    assert abs(far_from_95(held(true, np.array(found)), times)) < 3.3
    assert far_from_95(held(true, np.array(control)), times) < -3.3
