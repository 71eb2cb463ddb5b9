"""Every kind of result: what is tallied of surveys, and the line that tells of it."""

from math import nan

import pytest

from deniable.validation import every_result
from deniable.validation.every_result import Tails, verdict


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
    (line,) = verdict([good, bad, few]).splitlines()[3:]
    assert line.split()[:9] == ["cell", "population", "67%", "90.0%", "6.2%", "3.8%", "2", "of", "3"]
    assert line.split()[9] == "1"
    assert "85.0% +- 1.0% (rare, block, N = 300)" in line


def test_other_levels_have_lines_of_their_own() -> None:
    main = Tails("loose", "arms", 300, "cell", "population", 100, 1_000, 1_000, 25, 25, 0.005)
    other = Tails("loose", "arms", 300, "cell", "population", 100, 1_000, 1_000, 100, 90, 0.01, 0.8)
    worse = Tails("rare", "arms", 300, "cell", "population", 100, 1_000, 1_000, 100, 150, 0.02, 0.8)
    line, _, head, last = verdict([main, other, worse]).splitlines()[3:]
    assert line.split()[:4] == ["cell", "population", "100%", "95.0%"]
    assert head.split() == ["80%"]
    assert last.split() == ["cell", "78.0%", "75.0%", "+-", "2.0%"]


def test_one_survey_asks_for_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every_result, "DRAWS", 100)
    found = every_result._setting("sparse", "arms", 3_000, 1)
    assert {one.level for one in found if one.kind in ("cell", "posterior draws")} == {0.8, 0.9, 0.95, 0.99}
    kinds = {one.kind for one in found}
    kinds |= {one.kind for one in every_result._setting("loose", "apart", 3_000, 1)}
    assert kinds == {
        "cell", "margin", "conditional share", "difference", "ratio", "odds ratio", "correlation", "Cramer's V",
        "mutual information", "known margin", "known zeros", "regression", "proper table", "maximum likelihood",
        "posterior draws", "compare",
    }  # fmt: skip
