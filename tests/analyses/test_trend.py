"""Trends over waves: least squares by hand, tests of the right size, and waves of different plans."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from tests.support.answer_groups import ARMS, BLOCK, NAMES, PLAIN, SCHEMA, counts, far_from_95, held

YEARS = [2021.0, 2022.0, 2024.0]
PLANS = [PLAIN, BLOCK, ARMS]


def waves() -> list[dn.Estimate]:
    return [dn.estimate(counts(plan, seed), NAMES).about("population") for seed, plan in enumerate(PLANS)]


def test_slope_and_equality_are_weighted_least_squares_by_hand() -> None:
    ests = waves()
    found = dn.trend(ests, ("smoker", ["yes", "no answer"]), times=YEARS)
    each = [est.cell(smoker=["yes", "no answer"]) for est in ests]
    v, s = np.array([one.value for one in each]), np.array([one.stderr for one in each])
    x = np.array([[1.0, year - 2022] for year in YEARS])
    w = np.diag(1 / s**2)
    b = np.linalg.solve(x.T @ w @ x, x.T @ w @ v)
    assert found.slope == pytest.approx(b[1], abs=0.02 * found.slope_stderr)  # weights are those at the mean of waves
    assert found.slope_stderr == pytest.approx(np.sqrt(np.linalg.inv(x.T @ w @ x)[1, 1]), rel=1e-3)
    mean = (v / s**2).sum() / (1 / s**2).sum()
    assert found.equality.statistic == pytest.approx(((v - mean) ** 2 / s**2).sum(), rel=0.03)
    assert found.equality.degrees == 2
    rows = found.table(level=0.9).to_pylist()
    assert [row["wave"] for row in rows] == ["1", "2", "3"]
    assert (rows[1]["low"], rows[1]["high"]) == pytest.approx(each[1].confidence_interval(0.9))
    low, high = found.slope_interval(1 - found.p_value)
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-9)
    assert repr(found).startswith("<Trend over 3 waves (times 2021 to 2024) about the population: slope")


def test_names_that_are_numbers_or_dates_are_times() -> None:
    """Waves of 2021, 2022 and 2024 are not evenly spaced, whether that is said by their names or by their times."""
    ests = waves()
    told = dn.trend(ests, "drinks", times=YEARS)
    for years in (YEARS, [2021, 2022, 2024], list(np.array([2021, 2022, 2024]))):
        named = dn.trend(dict(zip(years, ests, strict=True)), "drinks")
        assert named.times.tolist() == YEARS
        assert (named.slope, named.slope_interval(), named.p_value) == (told.slope, told.slope_interval(), told.p_value)
        assert "(times 2021 to 2024)" in repr(named)
    words = dn.trend(dict(zip(["2021", "2022", "2024"], ests, strict=True)), "drinks")
    assert words.times.tolist() == [0, 1, 2]
    assert "(times 0 to 2)" in repr(words)
    days = [date(2021, 1, 1), date(2022, 3, 15), datetime(2024, 1, 1)]  # 73 of 365 days after the new year
    for found in (dn.trend(ests, "drinks", times=days), dn.trend(dict(zip(days, ests, strict=True)), "drinks")):
        assert found.times.tolist() == pytest.approx([2021, 2022.2, 2024])
    for times, words_ in (
        ([1, "b", 3], "number or a date.*found 'b'"),
        ([1, None, 3], "found None"),
        ([1, True, 3], "found True"),
        (5, "found 5"),
        ("abc", "found 'abc'"),
    ):
        with pytest.raises(dn.EstimateError, match=words_):
            dn.trend(ests, "drinks", times=times)  # type: ignore[arg-type]


def test_reports_are_waves_too() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=2.0)
    years = {str(k): dn.randomize({"smoker": [True] * 40 * k + [False] * 100}, plan, rng=k) for k in (1, 2)}
    found = dn.trend(years, "smoker")
    assert found.slope == dn.trend({year: dn.count(reports) for year, reports in years.items()}, "smoker").slope
    with pytest.raises(dn.EstimateError, match="a trend takes a list of estimates or counts; found 'a.npz'"):
        dn.trend("a.npz", "smoker")
    with pytest.raises(dn.EstimateError, match=r"estimates, as dn.estimate gives them; found <Reports"):
        dn.trend(years, lambda est: est.cell(smoker=True))


def test_counts_names_and_functions() -> None:
    named = {"first": counts(PLAIN, 1), "second": counts(BLOCK, 2)}
    found = dn.trend(named, ("age", "65+"))
    assert found.waves == ("first", "second")
    ests = [dn.estimate(one, ["smoker", "age"]).about("population") for one in named.values()]
    assert found.slope == pytest.approx(ests[1].cell(age="65+").value - ests[0].cell(age="65+").value)
    years = dict(zip(SCHEMA["age"].answers, (24, 37, 55, 75), strict=True))
    means = dn.trend(ests, lambda est: est.mean_of("age", years))
    assert means.slope == pytest.approx(ests[1].mean_of("age", years).value - ests[0].mean_of("age", years).value)
    among = dn.trend(ests, lambda est: est.among("smoker", ["yes", "no"]).cell(smoker="yes"))
    assert 0 <= among.p_value <= 1


def test_refusals_and_too_few_reports() -> None:
    ests = waves()
    refused: dict[str, Any] = {
        "two waves or more": lambda: dn.trend(ests[:1], "drinks"),
        "a list of estimates": lambda: dn.trend(ests[0], "drinks"),  # type: ignore[arg-type]
        "a time for each of 3 waves": lambda: dn.trend(ests, "drinks", times=[1, 2]),
        "not all the same": lambda: dn.trend(ests, "drinks", times=[1, 1, 1]),
        "the same one twice": lambda: dn.trend([ests[0], ests[0]], "drinks"),
        "these share a source": lambda: dn.trend([ests[0], ests[0].about("population")], "drinks"),
        "about the same subject": lambda: dn.trend([ests[0], ests[1].about("respondents")], "drinks"),
        "estimates or counts": lambda: dn.trend([1, 2], "drinks"),  # type: ignore[list-item]
        "takes estimates": lambda: dn.trend([counts(PLAIN, 1), counts(PLAIN, 2)], lambda est: est.cell(drinks=True)),
        "gives a result": lambda: dn.trend(ests, lambda est: est.n),  # type: ignore[arg-type,return-value]
    }
    for told, ask in refused.items():
        with pytest.raises(dn.EstimateError, match=told):
            ask()
    few = dn.trend([counts(PLAIN, 1, n=20), counts(PLAIN, 2, n=20)], ("age", "65+"))
    assert np.isnan(few.p_value)
    assert np.isnan(few.equality.p_value)
    assert "not enough reports" in repr(few)


@pytest.mark.slow
def test_tests_have_their_size_and_intervals_of_slopes_hold() -> None:
    """Of a rare answer. The control takes the waves' numbers as if nothing had been randomized."""
    rng, times, k = np.random.default_rng(4), 300, 4
    rare = dn.Plan(dn.Schema([SCHEMA["smoker"]]), epsilon=2.0)
    line = np.array([0.03, 0.04, 0.05, 0.06])
    equal, slopes, control = [], [], []
    for _ in range(times):
        same, rising = [], []
        for i in range(k):
            for share, into in ((0.04, same), (line[i], rising)):
                truth = dn.simulate.Truth(rare.schema, np.array([share, 0.9 - share, 0.1]))
                into.append(dn.simulate.counts(truth, rare, rng, n=1500 * (1 + i)))
        one = dn.trend(same, ("smoker", "yes"))
        equal.append(one.equality.p_value < 0.05)
        slopes.append(dn.trend(rising, ("smoker", "yes")).slope_interval())
        shares, n = np.clip(one.table()["value"].to_numpy(), 0.001, 1), 1500 * (1 + np.arange(k))
        plain = shares * (1 - shares) / n
        mean = (shares / plain).sum() / (1 / plain).sum()
        control.append(((shares - mean) ** 2 / plain).sum() > 7.81)
    assert abs(far_from_95(1 - np.mean(equal), times)) < 3.3
    assert abs(far_from_95(held(0.01, np.array(slopes)), times)) < 3.3
    assert far_from_95(1 - np.mean(control), times) < -3.3


def test_a_trend_is_drawn_as_its_table_is(tmp_path: Path) -> None:
    schema = dn.Schema([dn.Flag("a")])
    plan = dn.Plan(schema, epsilon=4.0)
    waves = {
        name: dn.simulate.counts(np.array([700, 300]), plan, np.random.default_rng(k)) for k, name in enumerate("xyz")
    }
    found = dn.trend(waves, "a")
    figure = found.plot(path=tmp_path / "trend.svg")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["x", "y", "z"]
    assert (tmp_path / "trend.svg").read_text().startswith("<?xml")
