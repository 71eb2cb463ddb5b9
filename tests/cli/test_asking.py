"""`deniable difference`, `mean`, `compare` and `regress`: the library's results, from counts and from reports."""

import argparse
import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main
from deniable.cli.printing import show
from deniable.inference.about_whom import Subject
from deniable.tables.table import LOG_ODDS, About, Table

AGES = ("18-29", "30-64", "65+")
SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", AGES), dn.Choice.bins("income", [0, 10, 30])])
YEARS = {"18-29": 24.0, "30-64": 47.0, "65+": 75.0}
SCORES = [word for answer, score in YEARS.items() for word in ("--score", f"{answer}={score:g}")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asking")
    plan = dn.Plan(SCHEMA, epsilon=9.0)
    for name, n in (("before", 3_000), ("after", 2_000)):
        rng = np.random.default_rng(n)
        age, income = rng.choice(3, n), rng.choice(30, n)
        answers = {"smoker": rng.random(n) < 0.1 + 0.2 * (age < 1), "age": np.array(AGES)[age], "income": income}
        reports = dn.randomize(answers, plan, rng=rng)
        reports.save(folder / f"{name}.parquet")
        dn.count(reports, list(SCHEMA.names)).save(folder / f"{name}.npz")
    return folder


@pytest.fixture(scope="module")
def counts(folder: Path) -> dn.Counts:
    return dn.Counts.load(folder / "before.npz")


@pytest.fixture(params=["npz", "parquet"])
def before(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(folder)
    return f"before.{request.param}"


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main([*arguments, "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def near(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether numbers of a row are those that the library gives; reports may be counted with other tables."""
    words = {name for name, value in expected.items() if isinstance(value, str)}
    same = all(found[name] == expected[name] for name in words)
    return same and all(found[name] == pytest.approx(expected[name], rel=1e-6) for name in expected.keys() - words)


def test_a_difference_between_groups(before: str, counts: dn.Counts, capsys: pytest.CaptureFixture[str]) -> None:
    est = dn.estimate(counts, ["smoker", "age"])
    (row,) = rows(capsys, "difference", before, "smoker", "--between", "age", "18-29", "30-64,65+", "--level", "0.9")
    expected = est.difference("smoker", between=("age", "18-29", ["30-64", "65+"]))
    low, high = expected.confidence_interval(0.9)
    numbers = {"difference": expected.value, "stderr": expected.stderr, "low": low, "high": high}
    assert near(row, numbers | {"p_value": expected.pvalue})
    assert (row["about"], row["level"], row["reports"]) == ("population", 0.9, 3_000)
    (row,) = rows(capsys, "difference", before, "age=65+", "--between", "smoker", "yes", "no", "--respondents")
    expected = est.about("respondents").difference(("age", "65+"), between=("smoker", True, False))
    assert near(row, {"difference": expected.value, "stderr": expected.stderr})
    assert row["about"] == "respondents"


def test_means(before: str, counts: dn.Counts, capsys: pytest.CaptureFixture[str]) -> None:
    est = dn.estimate(counts, ["age", "smoker"])
    (row,) = rows(capsys, "mean", before, "age", *SCORES)
    assert near(row, {"mean": est.mean_of("age", YEARS).value, "stderr": est.mean_of("age", YEARS).stderr})
    assert "p_value" not in row
    found = rows(capsys, "mean", before, "age", *SCORES, "--by", "smoker")
    assert [row["mean"] for row in found] == pytest.approx([r["mean"] for r in est.mean_of("age", YEARS, by="smoker")])
    (row,) = rows(capsys, "mean", before, "age", *SCORES, "--between", "smoker", "yes", "no")
    assert near(row, {"difference": est.mean_of("age", YEARS, between=("smoker", True, False)).value})
    (row,) = rows(capsys, "mean", before, "income")  # the middles of ranges
    assert near(row, {"mean": dn.estimate(counts, ["income"]).mean_of("income").value})


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_regressions(before: str, counts: dn.Counts, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--logistic"] if kind == "logistic" else []
    assert main(["regress", before, "smoker", "age", "--csv", *options]) == 0
    found = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    expected = dn.regress(counts, "smoker", ["age"], kind=kind)
    assert [row["term"] for row in found] == list(expected.terms)
    assert [float(row["coefficient"]) for row in found] == pytest.approx(list(expected.coefficients), rel=1e-6)
    assert [float(row["stderr"]) for row in found] == pytest.approx(list(expected.stderr), rel=1e-6)
    assert main(["regress", before, "smoker", "age", *options]) == 0
    (head, *_) = capsys.readouterr().out.splitlines()
    assert "Compared with age: " in head
    assert ("in log odds" in head) == bool(options)


def test_answers_taken_together_in_a_regression(
    before: str, counts: dn.Counts, capsys: pytest.CaptureFixture[str]
) -> None:
    (_, found) = rows(capsys, "regress", before, "smoker", "age=30-64,65+")
    expected = dn.regress(counts, "smoker", [("age", ["30-64", "65+"])]).table().to_pylist()[1]
    assert found["term"] == expected["term"] == "age: 30-64 or 65+"
    assert near(found, {"coefficient": expected["coefficient"]})
    assert main(["regress", before, "smoker", "age=30-64,90+"]) == 1
    assert "'90+'" in capsys.readouterr().err


def test_an_interval_without_an_end_is_told_from_one_that_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has no infinite numbers: null would say that there are not enough reports."""
    columns = {"term": ["a", "b"], "coefficient": [1.0, 2.0], "low": [-np.inf, np.nan], "high": [np.inf, np.nan]}
    table = Table(columns, ("term",), About("a regression", LOG_ODDS, Subject.POPULATION, 0.95, 10))
    show(table, argparse.Namespace(json=True, csv=False))
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert [(row["low"], row["high"]) for row in found] == [("-Infinity", "Infinity"), (None, None)]
    assert [float(found[0][end]) for end in ("low", "high")] == [-np.inf, np.inf]
    show(table, argparse.Namespace(json=False, csv=True))
    _, first, second = csv.reader(io.StringIO(capsys.readouterr().out))
    assert (first[2:4], second[2:4]) == (["-inf", "inf"], ["", ""])


def test_two_surveys(before: str, counts: dn.Counts, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = rows(capsys, "compare", before, before.replace("before", "after"), "age", "--plot", f"{tmp_path}/c.svg")
    after = dn.Counts.load("after.npz")
    expected = dn.compare(dn.estimate(counts, ["age"]), dn.estimate(after, ["age"])).to_pylist()
    assert all(near(row, other) for row, other in zip(found, expected, strict=True))
    assert (tmp_path / "c.svg").exists()


@pytest.mark.usefixtures("before")
def test_what_cannot_be_asked_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (["compare", "before.npz", "before.npz", "age"], "are the same file"),
        (["difference", "before.npz", "age", "--between", "smoker", "yes", "no"], "age is a choice: say which answer"),
        (["difference", "before.npz", "smoker", "--between", "age", "18-29", "90+"], "'90+'"),
        (["mean", "before.npz", "age", "--score", "18-29"], "--score takes ANSWER=NUMBER"),
        (["mean", "before.npz", "age"], "give a score for each answer"),
        (["regress", "before.npz", "smoker", "agee"], "agee"),
    ):
        assert main(arguments) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert words in err


@pytest.mark.usefixtures("before")
def test_an_unknown_option_is_answered_by_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["regress", "before.npz", "smoker", "--on", "age"])
    err = capsys.readouterr().err
    assert err.startswith("usage: deniable regress ")
    assert "unrecognized arguments: --on" in err


def test_levels_are_shares(before: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for level in ("0.9", "90%"):
        assert main(["table", before, "smoker", "--level", level]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert "90% intervals" in printed[0]


@pytest.mark.usefixtures("before")
def test_what_is_compared_and_what_is_no_level(before: str, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = rows(capsys, "difference", before, "smoker", "--between", "age", "18-29", "30-64,65+")
    assert (row["group"], row["compared with"]) == ("age: 18-29", "age: 30-64 or 65+")
    with pytest.raises(SystemExit, match="2"):
        main(["table", before, "smoker", "--level", "abc"])
    assert "'abc' is no confidence level, such as 95% or 0.95" in capsys.readouterr().err
