"""Two surveys compared cell by cell."""

from math import sqrt

import numpy as np
import pytest

import deniable as dn
from tests.support.surveys import survey


def test_two_surveys_are_compared_cell_by_cell() -> None:
    before, after = (
        dn.estimate(survey(seed=seed, epsilon=e)[1], ["smoker", "age"]) for seed, e in ((1, 2.0), (2, 3.0))
    )
    for subject in ("respondents", "population"):
        rows = dn.compare(before.about(subject), after.about(subject), level=0.9).to_pylist()
        assert len(rows) == 6
        for row in rows:
            cell = {"smoker": row["smoker"], "age": row["age"]}
            one, other = before.about(subject).cell(cell), after.about(subject).cell(cell)
            assert row["difference"] == pytest.approx(other.value - one.value)
            assert row["stderr"] == pytest.approx(sqrt(one.stderr**2 + other.stderr**2))
            assert row["high"] - row["low"] == pytest.approx(2 * 1.645 * row["stderr"], rel=0.01)
            assert row["low"] < row["difference"] < row["high"]
    swapped = dn.compare(after, before).to_pylist()
    for row, back in zip(dn.compare(before, after).to_pylist(), swapped, strict=True):
        assert (row["low"], row["high"]) == pytest.approx((-back["high"], -back["low"]))
    proper = [
        dn.estimate(survey(400, seed=seed, epsilon=0.7)[1], ["smoker", "age"], method="feasible") for seed in (4, 5)
    ]
    for row in dn.compare(*proper).to_pylist():
        assert not row["low"] > row["difference"]
        assert not row["difference"] > row["high"]
    few = dn.estimate(survey(1)[1], ["smoker", "age"])
    for one, other in ((few, after), (before, few)):
        assert np.isnan(dn.compare(one, other)["low"].to_numpy()).any()
    with pytest.raises(dn.EstimateError, match="same features"):
        dn.compare(before, after.project("age"))
    with pytest.raises(dn.EstimateError, match="one about the population and one about the respondents"):
        dn.compare(before, after.about("respondents"))
    with pytest.raises(dn.EstimateError, match="two estimates"):
        dn.compare(before, 3)


def test_an_estimate_is_not_compared_with_itself() -> None:
    est = dn.estimate(survey(2_000)[1], ["smoker", "drinker", "age"])
    with pytest.raises(dn.EstimateError, match="the same one twice"):
        dn.compare(est, est)


def test_two_estimates_from_the_same_reports_are_not_compared() -> None:
    counts = survey(2_000)[1]
    first, second = (dn.estimate(counts, ["smoker", "age"], method=method) for method in ("consistent", "unbiased"))
    with pytest.raises(dn.EstimateError, match="of different respondents; these share a source"):
        dn.compare(first, second)
