"""Every kind of result: what is tallied of surveys, and the line that tells of it."""

from math import nan
from pathlib import Path

import numpy as np
import pytest

from deniable.validation import every_result, results_asked
from deniable.validation.every_result import SURVEYS, Tails, detected, verdict
from deniable.validation.results_asked import of_numbers, of_tables


def test_tallies_count_what_is_given_and_on_which_side_it_misses() -> None:
    each = [
        [("cell", "population", 0.3, 0.2, 0.4), ("cell", "population", 0.3, 0.31, 0.4)],
        [("cell", "population", 0.3, nan, nan), ("cell", "population", 0.3, 0.1, 0.29)],
        [("cell", "respondents", 0.3, 0.3, 0.3)],
    ]
    population, respondents = every_result._tallied("loose", "arms", 10, each)
    assert (population.asked, population.given, population.above, population.below) == (4, 3, 1, 1)
    assert population.holds == pytest.approx(1 / 3)
    assert population.error == pytest.approx((((1 - 4 / 3) ** 2 + (1 - 2 / 3) ** 2) ** 0.5) / 3)
    assert (respondents.holds, respondents.error) == (1.0, pytest.approx((0.05 * 0.95) ** 0.5))


def test_the_verdict_names_settings_outside_and_the_least() -> None:
    good = Tails("loose", "arms", 300, "cell", "population", 100, 1_000, 1_000, 25, 25, 0.005)
    bad = Tails("rare", "block", 300, "cell", "population", 100, 1_000, 800, 80, 40, 0.01)
    few = Tails("rare", "apart", 300, "cell", "population", 100, 1_000, 200, 100, 0, 0.01)
    (line,) = verdict([good, bad, few]).splitlines()[2:]
    assert line.split()[:7] == ["cell", "population", "100", "67%", "90.0%", "+-", "0.6%"]
    assert line.split()[7:15] == ["6.2%", "3.8%", "2", "of", "3", "1", "and", "mean"]
    assert "85.0% +- 1.0% (rare, block, N = 300)" in line
    (line,) = verdict([good]).splitlines()[2:]
    assert line.split()[9:13] == ["1", "of", "1", "0"]


def one_number(surveys: int, holds: float, rng: np.random.Generator) -> Tails:
    """One interval in each survey, with this coverage."""
    missed = rng.random(surveys) > holds
    each = [[("ratio", "population", 0.0, 1.0 if out else -1.0, 2.0)] for out in missed]
    (found,) = every_result._tallied("loose", "arms", 300, each)
    return found


def test_a_coverage_nine_points_too_small_is_found_in_one_setting_with_so_many_surveys() -> None:
    """One interval in each survey; with 30 surveys, the control, it would hardly ever be found."""
    rng = np.random.default_rng(1)
    found = {
        (surveys, holds): np.mean(
            [verdict([one_number(surveys, holds, rng)]).splitlines()[2].split()[12] == "1" for _ in range(40)]
        )
        for surveys, holds in ((SURVEYS, 0.835), (SURVEYS, 0.95), (30, 0.835))
    }
    assert found[SURVEYS, 0.835] > 0.8
    assert found[SURVEYS, 0.95] == 0
    assert found[30, 0.835] < 0.3


def test_what_could_be_detected_is_found_outside_in_nine_of_ten_runs() -> None:
    rng = np.random.default_rng(1)
    coverage = detected(one_number(500, 0.95, rng))
    outside = [
        every_result._outside(one.holds, one.error) for one in (one_number(500, coverage, rng) for _ in range(300))
    ]
    assert np.mean(outside) == pytest.approx(0.9, abs=0.06)


def test_the_mean_of_settings_is_judged_too() -> None:
    """24 settings of 68 surveys, none of them outside alone."""
    each = [Tails("loose", "arms", n, "ratio", "population", 68, 68, 68, 4, 3, 0.037) for n in range(24)]
    assert "0 and mean" in verdict(each)
    assert "mean " not in verdict(each[:2]).splitlines()[2]


def test_lists_are_tallied_by_their_false_coverage() -> None:
    """A list of four pairs with one missed counts as much as one that lists nothing."""
    hit, above, below = (("listed pair", "population", 0.1, *ends) for ends in ((0.0, 0.2), (0.2, 0.3), (-0.1, 0.0)))
    found = every_result._false_coverage("phi 0.1", [[hit, hit, hit, above], [], [below], [hit]])
    assert (found.surveys, found.given, found.above, found.below) == (4, 4, 0.25, 1.0)
    assert found.holds == pytest.approx(1 - 1.25 / 4)
    assert found.error == pytest.approx(np.std([0.25, 0, 1, 0]) / 2)


def test_other_levels_have_lines_of_their_own() -> None:
    main = Tails("loose", "arms", 300, "cell", "population", 100, 1_000, 1_000, 25, 25, 0.005)
    other = Tails("loose", "arms", 300, "cell", "population", 100, 1_000, 1_000, 100, 90, 0.01, 0.8)
    worse = Tails("rare", "arms", 300, "cell", "population", 100, 1_000, 1_000, 100, 150, 0.02, 0.8)
    line, _, head, last = verdict([main, other, worse]).splitlines()[2:]
    assert line.split()[:4] == ["cell", "population", "100", "100%"]
    assert head.split() == ["80%"]
    assert last.split() == ["cell", "78.0%", "75.0%", "+-", "2.0%"]


def test_a_run_that_is_stopped_leaves_what_it_has_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes hours: all settings that were done are in the file, and so are the lists."""
    one, calls = Tails("loose", "apart", 3_000, "ratio", "population", 4, 4, 4, 0, 0, 0.1), []

    def setting(*_: object) -> list[Tails]:
        calls.append(one)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return [one]

    monkeypatch.setattr(every_result, "setting", setting)
    with pytest.raises(KeyboardInterrupt):
        every_result.measured(tmp_path, quick=True)
    kinds = [line.split(",")[3] for line in (tmp_path / "every-result.csv").read_text(encoding="utf-8").splitlines()]
    assert kinds == ["kind", "poststratify", "poststratify", *3 * ["listed pair"], "ratio", "ratio"]


def test_one_survey_asks_for_every_kind() -> None:
    found = every_result.setting("sparse", "arms", 3_000, 1, of_tables)
    assert {one.level for one in found if one.kind in ("cell", "posterior draws")} == {0.8, 0.9, 0.95, 0.99}
    assert {one.kind for one in found} == {
        "cell", "margin", "conditional share", "merge", "among", "known margin", "known margin, edge", "known zeros",
        "proper table", "maximum likelihood", "posterior draws",
    }  # fmt: skip
    found = every_result.setting("loose", "apart", 3_000, 1, of_numbers)
    assert {one.level for one in found if one.kind == "ratio"} == {0.8, 0.9, 0.95, 0.99}
    assert {one.kind for one in found} == {
        "difference", "ratio", "odds ratio", "correlation", "mean", "difference of means", "Cramer's V",
        "mutual information", "regression", "logistic", "contrasts", "compare", "trend",
    }  # fmt: skip
    assert {one.kind for one in found if one.subject == "respondents"} == {
        "difference", "ratio", "odds ratio", "correlation", "mean", "difference of means",
    }  # fmt: skip
    assert {(one.kind, one.n) for one in every_result.strata(1)} == {("poststratify", 300), ("poststratify", 3_000)}


@pytest.mark.parametrize("ask", [of_tables, of_numbers])
def test_truths_are_those_of_the_survey(ask: every_result.Ask) -> None:
    """With hardly any noise and very many respondents every interval is at its truth."""
    of = every_result.simulate.truth(results_asked.SCHEMA, np.array(every_result.TRUTHS["loose"]))
    plan = every_result.Plan(results_asked.SCHEMA, epsilon=10.0)
    for kind, subject, truth, low, high in ask(plan, of, 400_000, np.random.default_rng(1))[0.95]:
        assert high - low < 0.06, kind
        assert low - 0.02 < truth < high + 0.02, (kind, subject)
