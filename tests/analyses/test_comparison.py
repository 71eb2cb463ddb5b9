"""Two surveys compared cell by cell."""

from math import sqrt

import numpy as np
import pytest

import deniable as dn
from deniable.inference.contrasts import recovered
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


def test_about_the_population_intervals_are_recovered_from_those_of_both_surveys() -> None:
    """By the formula of contrasts, row by row; of one question the same as the trend over two waves, as its p-value."""
    counts = [survey(n, seed=seed, epsilon=3.0)[1] for n, seed in ((3_000, 1), (2_000, 2))]
    both = [dn.estimate(each, ["smoker", "age"]) for each in counts]
    tables = [est.table(level=0.9).to_pylist() for est in both]
    for row, *cells in zip(dn.compare(*both, level=0.9).to_pylist(), *tables, strict=True):
        values = np.array([cell["proportion"] for cell in cells])
        ends = tuple(np.array([cell[side] for cell in cells]) for side in ("low", "high"))
        by_hand = recovered(values, np.array([-1.0, 1.0]), np.eye(2), ends)
        assert (row["low"], row["high"]) == pytest.approx(by_hand, abs=1e-12)
    trend = dn.trend(counts, "smoker")
    row = dn.compare(*(est.project("smoker") for est in both)).to_pylist()[1]
    assert (row["low"], row["high"]) == pytest.approx(trend.slope_interval())
    assert (trend.p_value < 0.05) == (row["low"] > 0 or row["high"] < 0)


def held(about: str, respondents: int, share: float, surveys: int = 200) -> float:
    """How often the interval of a rare answer's difference holds it, of two surveys of one population."""
    plan = dn.Plan(dn.Schema([dn.Choice("c", list("uvwx"))]), {"c": dn.GRR(epsilon=7.0)})
    of = dn.simulate.truth(plan.schema, np.array([share, 0.25, 0.35, 0.4 - share]))
    found = 0
    for seed in range(surveys):
        rng = np.random.default_rng([7, seed])
        people = [of.people(respondents, rng) for _ in range(2)]
        both = [dn.estimate(dn.simulate.counts(each, plan, rng), ["c"], about=about) for each in people]
        truth = 0.0 if about == "population" else float(people[1][0] - people[0][0]) / respondents
        row = dn.compare(*both).to_pylist()[0]
        found += row["low"] <= truth <= row["high"]
    return found / surveys


@pytest.mark.slow
def test_intervals_of_differences_hold_where_an_answer_has_a_few_respondents() -> None:
    """One or two expected in each survey; adding cumulants, as for the respondents, held 91 % of the population's."""
    for respondents, share in ((150, 0.01), (700, 0.003)):
        assert held("population", respondents, share) > 0.95
    assert held("respondents", 150, 0.01) > 0.95
