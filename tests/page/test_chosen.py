"""Chosen results on the page: they come first, whatever came out, and programs can read all numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main
from deniable.page.chosen import Choice, choices
from tests.support.pages import Element, read

AGES = ("18-29", "30-64", "65+")
SCHEMA = dn.Schema(
    [
        dn.Flag("smoker", label="Do you smoke?"),
        dn.Choice("age", AGES),
        dn.Flag("affair"),
        dn.Flags("drinks", ["tea", "mate"]),
        dn.Choice("a, b | c", ["</script>", "y"]),
    ]
)


@pytest.fixture(scope="module")
def reports() -> dn.Reports:
    rng, n = np.random.default_rng(3), 3_000
    answers: dict[str, Any] = {feature.name: rng.random(n) < 0.3 for feature in SCHEMA}
    answers |= {"age": rng.choice(AGES, n), "a, b | c": rng.choice(["</script>", "y"], n)}
    return dn.randomize(answers, dn.Plan(SCHEMA, epsilon=18.0), rng=rng)


def written(source: Any, path: Path, **options: Any) -> tuple[Element, Any]:
    """The page, and the numbers in it for programs."""
    dn.write_page(source, path / "page.html", **options)
    root = read((path / "page.html").read_text(encoding="utf-8"))
    (script,) = root.all("script")
    return root, json.loads(script.text)


def test_choices_as_people_write_them() -> None:
    assert choices(
        SCHEMA, [("smoker", "age"), "age,smoker", "affair | age", "a, b | c", 'age | "a, b | c", smoker']
    ) == [
        Choice(("smoker", "age")),
        Choice(("age", "smoker")),
        Choice(("affair",), ("age",)),
        Choice(("a, b | c",)),
        Choice(("age",), ("a, b | c", "smoker")),
    ]
    assert choices(SCHEMA, ["drinks | age"]) == [Choice((f"drinks: {one}",), ("age",)) for one in ("tea", "mate")]


@pytest.mark.parametrize(
    ("show", "words"),
    [
        ("smoker", "show is a list"),
        (["smoke"], "no feature 'smoke'"),
        (["smoker,age | affair"], "before the bar stands one question"),
        (["smoker | "], "found 'smoker | '"),
        (["age | smoker | affair"], "show takes"),
        ([("age", "age")], "each question once"),
        ([7], "show takes"),
    ],
)
def test_choices_that_cannot_be_are_refused(show: Any, words: str) -> None:
    with pytest.raises(dn.DeniableError, match=words.replace("|", r"\|")):
        choices(SCHEMA, show)


def test_chosen_results_come_first_whatever_came_out(reports: dn.Reports, tmp_path: Path) -> None:
    """Smoking, affairs and age have nothing to do with each other here; the table of three is counted besides."""
    counts = dn.count(reports)
    show = [("smoker", "age"), "affair | age", "smoker | age, affair"]
    root, numbers = written(reports, tmp_path, show=show)
    assert root.all("h2")[0].text == "Chosen results"
    assert [figure.attributes["id"] for figure in root.all("figure")[:3]] == ["chosen-1", "chosen-2", "chosen-3"]
    first, second, third = numbers["chosen"]
    assert first["rows"] == dn.estimate(counts, ["smoker", "age"]).table().to_pylist()
    assert second["rows"] == dn.estimate(counts, ["age", "affair"]).conditional("affair", given="age").to_pylist()
    three = dn.estimate(dn.count(reports, ["age", "affair", "smoker"]), ["age", "affair", "smoker"])
    assert third["rows"] == three.conditional("smoker", given=["age", "affair"]).to_pylist()
    assert (third["questions"], third["given"]) == (["smoker"], ["age", "affair"])
    shown = root.all("figure")[1]
    values = [float(data.attributes["value"]) for data in shown.all("data")]
    yes = [row for row in second["rows"] if row["affair"]]
    assert values == [row[end] for row in yes for end in ("proportion", "low", "high")]
    assert len(root.all("figure")[0].all("tr")) == 1 + 6


def test_a_table_that_counts_do_not_hold_is_refused(reports: dn.Reports, tmp_path: Path) -> None:
    with pytest.raises(dn.CountError, match="was not counted"):
        written(dn.count(reports), tmp_path, show=[("smoker", "age", "affair")])
    assert not list(tmp_path.iterdir())


def test_numbers_for_programs_are_those_of_the_tables(reports: dn.Reports, tmp_path: Path) -> None:
    root, numbers = written(reports, tmp_path, show=["a, b | c"], level=0.9)
    assert numbers["plan"]["fingerprint"] == reports.plan.fingerprint
    assert (numbers["reports"], numbers["level"], numbers["about"]) == (3_000, 0.9, "population")
    assert [row["a, b | c"] for row in numbers["chosen"][0]["rows"]] == ["</script>", "y"]
    tables = {table["name"]: table for table in numbers["tables"]}
    for figure in root.all("figure")[1:]:
        values = [float(data.attributes["value"]) for data in figure.all("data")]
        cells = [cell for row in tables[figure.attributes["id"]]["rows"] for cell in row]
        assert values == [cell for cell in cells if isinstance(cell, float)]


def test_who_when_and_whom_to_ask(reports: dn.Reports, tmp_path: Path) -> None:
    facts = {"organisation": "<b>Office</b>", "dates": "May 2026", "contact": "a@example.org"}
    root, numbers = written(dn.count(reports), tmp_path, title="T", **facts)
    told = root.all("header")[0].all("dl")[0]
    assert [dd.text for dd in told.all("dd")] == ["<b>Office</b>", "May 2026", "a@example.org"]
    assert told.all("a")[0].attributes == {"href": "mailto:a@example.org"}
    assert {name: numbers[name] for name in facts} == facts
    root, _ = written(dn.count(reports), tmp_path, contact="javascript:alert(1)")
    assert not root.all("header")[0].all("dl")[0].all("a")


def test_from_the_shell(
    reports: dn.Reports, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    reports.save("reports.parquet")
    said = ["--show", "smoker,age", "--show", "affair | age", "--organisation", "Office", "--dates", "May"]
    assert main(["page", "reports.parquet", "-o", "page.html", *said, "--contact", "us"]) == 0
    assert capsys.readouterr().err.endswith("Wrote page.html (3,000 reports).\n")
    root = read(Path("page.html").read_text(encoding="utf-8"))
    assert [figure.all("h3")[0].text for figure in root.all("figure")[:2]] == ["Do you smoke? × age", "affair, by age"]


def test_chosen_results_without_enough_reports_are_counted_and_listed(tmp_path: Path) -> None:
    """Of so few reports single answers can be told, but no table of three, nor shares within groups of two."""
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Flag("c", missing="skipped")])
    rng, n = np.random.default_rng(5), 300
    records = {"a": rng.random(n) < 0.4, "b": rng.random(n) < 0.5, "c": rng.choice(["yes", "no", ""], n)}
    reports = dn.randomize(records, dn.Plan(schema, epsilon=2.0), rng=rng, na=[""])
    before, _ = written(reports, tmp_path)
    show = ["a", ("a", "b", "c"), "a | b, c"]
    root, numbers = written(reports, tmp_path, show=show)
    assert [sum(row["low"] is None for row in one["rows"]) for one in numbers["chosen"]] == [0, 12, 12]
    assert things(root) == things(before) + 2
    (listed,) = [table["rows"] for table in numbers["tables"] if table["name"] == "unanswered"]
    needed = {thing: (missing, reports) for thing, missing, reports in listed}
    assert needed["a × b × c"][0] == "12 of 12 shares"
    assert needed["a, by b × c"][0] == "6 of 6 shares"
    enough = int(needed["a × b × c"][1].removeprefix("about ").replace(",", ""))
    people = np.full((2, 2, 3), -(-enough // 12))
    more = dn.simulate.counts(people, reports.plan, np.random.default_rng(1))
    assert not np.isnan(dn.estimate(more, ["a", "b", "c"]).table()["low"].to_numpy()).any()


def test_a_chosen_result_that_also_stands_further_down_counts_once(tmp_path: Path) -> None:
    """Ten reports tell no share of the ages, which is one result, however often it is on the page."""
    counts = dn.count(dn.randomize({"age": ["18-29", "65+"] * 5}, dn.Plan(dn.Schema([SCHEMA["age"]]), epsilon=0.5)))
    root, numbers = written(counts, tmp_path, show=["age"])
    (listed,) = [table["rows"] for table in numbers["tables"] if table["name"] == "unanswered"]
    assert [row[:2] for row in listed] == [["age", "all answers"]]
    assert things(root) == 1


def things(root: Element) -> int:
    """How many results need more reports, as the top of the page says."""
    return int(root.all("dl")[0].all("dd")[-1].text)


def test_numbers_say_whom_chosen_results_are_about(tmp_path: Path) -> None:
    """Of a flag that may be skipped, yes alone is drawn within groups, also where those who skipped it are left out."""
    schema = dn.Schema([dn.Flag("a", missing="skipped"), dn.Flag("b")])
    rng = np.random.default_rng(7)
    records = {"a": rng.choice(["yes", "no", ""], 4_000), "b": rng.random(4_000) < 0.5}
    counts = dn.count(dn.randomize(records, dn.Plan(schema, epsilon=9.0), rng=rng, na=[""]))
    _, every = written(counts, tmp_path, show=["a", "a | b"])
    assert ["among" in one for one in every["chosen"]] == [False, False]
    root, some = written(counts, tmp_path, show=["a", "a | b"], answered=True)
    assert [one["among"] for one in some["chosen"]] == ["among those who answered a"] * 2
    assert [row["a"] for row in some["chosen"][0]["rows"]] == ["no", "yes"]
    assert len(root.all("figure")[1].all("tbody")[0].all("tr")) == 2
