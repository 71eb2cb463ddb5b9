"""Contrasts over groups: values and errors by hand, p-values that agree with intervals, and Holm's adjustment."""

from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.inference.contrasts import holm
from tests.support.answer_groups import AGES, FORMS, cells, covariance_of, made, sum_of

WANTED = {"young less old": {"18-29": 0.5, "30-44": 0.5, "45-64": -1.0}}
every_form = pytest.mark.parametrize("form", [form for form in FORMS if "respondents" not in form])


def having(**answers: Any) -> list[dict[str, Any]]:
    return [one for one in cells() if all(one[name] in own for name, own in answers.items())]


@every_form
def test_values_and_errors_are_those_of_the_delta_method_by_hand(form: str) -> None:
    if "unbiased" in form:
        pytest.skip("sums of cells are not margins there")
    est = made(form)
    (row,) = est.contrasts(("smoker", "yes"), by="age", weights=WANTED).to_pylist()
    tops = [having(smoker=["yes"], age=[age]) for age in AGES]
    bottoms = [having(age=[age]) for age in AGES]
    c = np.array([WANTED["young less old"].get(age, 0) for age in AGES])
    t, b = (np.array([sum_of(est, some) for some in each]) for each in (tops, bottoms))
    assert row["estimate"] == pytest.approx(c @ (t / b), rel=1e-9)
    if "likelihood" in form or "feasible" in form:
        return
    pieces, slope = [*tops, *bottoms], np.concatenate([c / b, -c * t / b**2])
    used = [k for k in range(len(pieces)) if slope[k]]
    matrix = np.array([[covariance_of(est, pieces[i], pieces[j]) for j in used] for i in used])
    assert row["stderr"] ** 2 == pytest.approx(slope[used] @ matrix @ slope[used], rel=1e-6)


def test_all_pairs_are_the_differences_with_their_intervals() -> None:
    est = made("blocks, population")
    rows = est.contrasts(("smoker", "yes"), by="age").to_pylist()
    assert len(rows) == 6
    difference = est.difference(("smoker", "yes"), between=("age", "18-29", "45-64"))
    row = next(row for row in rows if row["contrast"] == "18-29 - 45-64")
    assert (row["estimate"], row["stderr"]) == pytest.approx((difference.value, difference.stderr), rel=1e-6)
    assert (row["low"], row["high"]) == pytest.approx(difference.confidence_interval(), abs=1e-6)
    assert [row["p_holm"] for row in rows] == pytest.approx(holm([row["p_value"] for row in rows]))


def test_p_values_are_where_intervals_end() -> None:
    est = made("blocks, population")
    for row in est.contrasts("drinks", by="age").to_pylist():
        again = est.contrasts("drinks", by="age", level=1 - row["p_value"] if row["p_value"] > 1e-9 else 0.95)
        same = next(one for one in again.to_pylist() if one["contrast"] == row["contrast"])
        if row["p_value"] > 1e-9:
            assert min(abs(same["low"]), abs(same["high"])) == pytest.approx(0, abs=1e-6)


def test_means_and_answers_left_out() -> None:
    est, scores = made("arms, population"), {"yes": 10.0, "no": 30.0}
    here = est.among("smoker", ["yes", "no"])
    rows = here.contrasts("smoker", by="age", scores=scores).to_pylist()
    two = here.mean_of("smoker", scores, between=("age", "18-29", "65+"))
    row = next(row for row in rows if row["contrast"] == "18-29 - 65+")
    assert (row["estimate"], row["stderr"]) == pytest.approx((two.value, two.stderr), rel=1e-6)
    assert (row["low"], row["high"]) == pytest.approx(two.confidence_interval(), abs=1e-5)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == pytest.approx([1, 1])
    found = holm([0.01, float("nan")])
    assert found[0] == pytest.approx(0.02)
    assert np.isnan(found[1])


def test_refusals() -> None:
    est = made("plain, population")
    for told, weights in {
        "sum to zero": {"a": {"18-29": 1}},
        "found '18' in 'a'": {"a": {"18": 1, "65+": -1}},
        "contrasts are": {"a": 3},
        "found none": {},
    }.items():
        with pytest.raises(dn.EstimateError, match=told):
            est.contrasts("drinks", by="age", weights=weights)  # type: ignore[arg-type]
