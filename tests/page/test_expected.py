"""The page's section on what was expected beside what came: its numbers, and words where there are none."""

import re

import numpy as np
import pytest

import deniable as dn
from deniable.page import page
from deniable.survey.aim import Aim
from tests.support.pages import Element, numbers, read

SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "middle", "old"]), dn.Flag("drinker")])
TRUTH = dn.simulate.truth(SCHEMA, {"smoker": 0.1, "age": [0.6, 0.3, 0.1], "drinker": 0.5})
WANT = [("smoker", "age"), "drinker"]
PLAN = dn.design(SCHEMA, epsilon=2.0, want=WANT, n=20_000)


def survey(n: int, plan: dn.Plan = PLAN) -> dn.Counts:
    return dn.simulate.counts(TRUTH, plan, np.random.default_rng(1), n=n)


def rows(root: Element) -> dict[str, tuple[list[str], list[float]]]:
    (section,) = [one for one in root.all("section") if one.attributes["aria-labelledby"] == "expected"]
    found = {}
    for row in section.all("tbody")[0].all("tr"):
        cells = [cell.text for cell in row.all("td")]
        found[re.sub("[\u2066-\u2069]", "", row.all("th")[0].text)] = (cells, numbers(row))
    return found


def test_half_widths_are_those_of_expectations_and_of_intervals() -> None:
    counts = survey(18_000)
    root = read(page.page(counts, level=0.9))
    assert "The plan was made for 20,000 people, and 18,000 answered." in root.text
    told = rows(root)
    assert set(told) == {"smoker × age", "drinker"}
    for names in (("smoker", "age"), ("drinker",)):
        words, (uniform, at_estimate, found) = told[" × ".join(names)]
        assert words == [f"{value:.2f}" for value in (uniform, at_estimate, found)]  # in percentage points, as is said
        uniform, at_estimate, found = (value / 100 for value in (uniform, at_estimate, found))
        z = 1.6448536269514722
        assert uniform == pytest.approx(z * PLAN.expect(*names, n=18_000).stderr)
        guess = dn.estimate(counts, names, method="feasible")
        assert at_estimate == pytest.approx(z * PLAN.expect(*names, n=18_000, guess=guess).stderr)
        table = dn.estimate(counts, names).about("population").table(level=0.9)
        halves = (table["high"].to_numpy() - table["low"].to_numpy()) / 2
        assert found == pytest.approx(np.sqrt((halves**2).mean()))
        assert found == pytest.approx(at_estimate, rel=0.02)
    assert told["smoker × age"][1][0] != pytest.approx(
        told["smoker × age"][1][2], rel=0.01
    )  # skewed answers: a control


def test_how_much_wider_intervals_are_than_the_plan_said() -> None:
    """Because fewer people answered: nothing on the page says that the plan told the first column's numbers."""
    text = " ".join(read(page.page(survey(5_000))).text.split())
    assert "made for 20,000 people, and 5,000 answered: intervals are about 2 times as wide as the plan said." in text
    assert "should be with as many people as answered, if all answers were equally common" in text
    assert "the plan told" not in text
    assert "as wide as the plan said" not in read(page.page(survey(19_000))).text


def test_no_number_stands_for_what_was_not_answered() -> None:
    told = rows(read(page.page(survey(60))))
    (words, found) = told["smoker × age"]
    assert words[1:] == ["", "not enough reports"]
    assert found == [pytest.approx(100 * 1.959964 * PLAN.expect("smoker", "age", n=60).stderr)]


def test_a_table_that_was_not_counted_says_so() -> None:
    plan = dn.Plan(SCHEMA, epsilon=6.0).for_aim(Aim((SCHEMA.names,)))
    counts = dn.count(dn.simulate.reports(TRUTH, plan, 500, np.random.default_rng(1)), order=2)
    assert rows(read(page.page(counts)))["smoker × age × drinker"][0][1:] == ["", "not counted"]


def test_plans_without_wanted_tables_have_no_such_section() -> None:
    text = page.page(survey(5_000, dn.Plan(SCHEMA, epsilon=4.0)))
    assert "What was expected" not in text
    assert "made for no certain number" in page.page(survey(5_000, dn.design(SCHEMA, epsilon=2.0, want=WANT)))


def test_many_tables_are_folded() -> None:
    schema = dn.Schema([dn.Flag(f"q{k}") for k in range(6)])
    plan = dn.design(schema, epsilon=2.0, n=3_000)
    truth = dn.simulate.truth(schema, dict.fromkeys(schema.names, 0.4))
    root = read(page.page(dn.simulate.counts(truth, plan, np.random.default_rng(1), n=3_000)))
    (section,) = [one for one in root.all("section") if one.attributes["aria-labelledby"] == "expected"]
    first, whole = (table.all("tbody")[0].all("tr") for table in section.all("table"))
    assert (len(first), len(whole)) == (12, 15)
    assert section.all("summary")[0].text == "All 15 tables"
