import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import deniable as dn
from deniable.cli import main

SURVEY = """
[[features]]
name = "smoker"
[[features]]
name = "age"
values = ["young", "old"]
[[features]]
name = "income"
edges = [0, 10, inf]
"""
CSV = "id,smoker,age,income\n1,true,old,3\n2,0,young,10\n3,False,old,1e9\n"


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY)
    Path("answers.csv").write_text(CSV)
    assert main(["plan", "survey.toml", "--epsilon", "6", "-o", "plan.json"]) == 0
    assert "Total epsilon" in capsys.readouterr().err
    return tmp_path


@pytest.mark.usefixtures("survey")
def test_from_survey_to_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["randomize", "plan.json", "answers.csv", "-o", "reports.parquet"]) == 0
    assert capsys.readouterr() == ("", "3 reports written to reports.parquet.\n")
    reports = dn.Reports.load("reports.parquet")
    assert len(reports) == 3
    assert reports.plan == dn.Plan.load("plan.json")
    pd.read_csv("answers.csv").assign(smoker=[True, False, False]).to_parquet("answers.parquet")
    assert main(["randomize", "plan.json", "answers.parquet", "-o", "again.parquet"]) == 0
    assert len(dn.Reports.load("again.parquet")) == 3


def test_plan_goes_to_stdout_unless_told(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["plan", "survey.toml", "--epsilon", "6"]) == 0
    out, err = capsys.readouterr()
    assert out == (survey / "plan.json").read_text()
    assert err == ""


def test_public_columns_are_named_loudly(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(survey / "survey.toml"), "--epsilon", "1", "--public", "age", "-o", "p.json"]) == 0
    assert "NOT PROTECTED, shown as they are: age." in capsys.readouterr().err
    assert dn.Plan.load("p.json")["smoker"].epsilon == pytest.approx(0.5, abs=1e-3)


FAILURES: dict[str, tuple[list[str], str]] = {
    "no survey": (["plan", "none.toml", "--epsilon", "1"], "none.toml: cannot be read"),
    "negative": (["plan", "survey.toml", "--epsilon", "-1"], "epsilon must be a positive number; found -1"),
    "unknown public": (["plan", "survey.toml", "--epsilon", "1", "--public", "sex"], "no feature 'sex'"),
    "no folder": (["plan", "survey.toml", "--epsilon", "1", "-o", "none/p.json"], "No such file or directory"),
    "no plan": (["randomize", "none.json", "answers.csv", "-o", "r.parquet"], "none.json: cannot be read"),
    "not a plan": (["randomize", "answers.csv", "answers.csv", "-o", "r.parquet"], "answers.csv: the plan is not JSON"),
    "no answers": (["randomize", "plan.json", "none.csv", "-o", "r.parquet"], "none.csv: no such file"),
    "unknown ending": (["randomize", "plan.json", "survey.toml", "-o", "r.parquet"], "a .csv or a .parquet file"),
    "bad answer": (["randomize", "plan.json", "bad.csv", "-o", "r.parquet"], "bad.csv: row 1 .*column 'age': 'odd' is"),
    "empty cell": (["randomize", "plan.json", "empty.csv", "-o", "r.parquet"], "column 'age': '' is not one of"),
    "column missing": (["randomize", "plan.json", "short.csv", "-o", "r.parquet"], "column 'income' is missing"),
    "ragged": (["randomize", "plan.json", "ragged.csv", "-o", "r.parquet"], "ragged.csv: cannot be read: .*columns"),
    "nothing in it": (["randomize", "plan.json", "void.csv", "-o", "r.parquet"], "void.csv: cannot be read"),
    "not parquet": (["randomize", "plan.json", "bad.parquet", "-o", "r.parquet"], "bad.parquet: cannot be read"),
}


@pytest.mark.parametrize(("arguments", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_bad_input_is_one_line_and_status_1(
    arguments: list[str], message: str, survey: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.csv").write_text(CSV.replace("young", "odd"))
    Path("empty.csv").write_text(CSV.replace("young", ""))
    Path("short.csv").write_text("smoker,age\n1,old\n")
    Path("ragged.csv").write_text(CSV + "1,2\n")
    Path("void.csv").write_text("")
    Path("bad.parquet").write_text("not parquet")
    before = sorted(survey.iterdir())
    capsys.readouterr()
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("deniable: ")
    assert re.search(message, err), err
    assert sorted(survey.iterdir()) == before


@pytest.mark.parametrize("arguments", [[], ["count me"], ["plan"], ["plan", "s.toml", "--epsilon", "x"]])
def test_bad_usage_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: deniable" in capsys.readouterr().err


def test_stopped_by_hand_nothing_is_written(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_arguments: Any, **_options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("deniable.reports.randomize_codes", stop)
    before = sorted(survey.iterdir())
    assert main(["randomize", "plan.json", "answers.csv", "-o", "r.parquet"]) == 130
    assert sorted(survey.iterdir()) == before


@pytest.mark.usefixtures("survey")
def test_large_files_are_randomized_in_parts(capsys: pytest.CaptureFixture[str]) -> None:
    """Rows are counted on from part to part."""
    rows = 700_000
    with Path("big.csv").open("w") as file:
        file.write("smoker,age,income\n" + "true,old,3.14159265358979\n" * rows)
    assert main(["randomize", "plan.json", "big.csv", "-o", "r.parquet"]) == 0
    assert len(dn.Reports.load("r.parquet")) == rows
    with Path("big.csv").open("a") as file:
        file.write("true,odd,3\n")
    capsys.readouterr()
    assert main(["randomize", "plan.json", "big.csv", "-o", "r.parquet"]) == 1
    assert f"big.csv: row {rows} (counted from 0), column 'age': 'odd'" in capsys.readouterr().err


def test_demo_runs_and_finds_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[-3:] for line in lines if line.count("%") == 3 and ":" in line]
    assert len(rows) == 6
    for truth, estimate, stderr in ([float(cell.rstrip("%")) for cell in row] for row in rows):
        assert abs(estimate - truth) < 6 * stderr


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "deniable", *arguments], capture_output=True, text=True, check=False)


def test_as_a_program() -> None:
    assert run("--help").stdout.startswith("usage: deniable")
    assert run("--version").stdout == f"deniable {dn.__version__}\n"
    failed = run("plan", "none.toml", "--epsilon", "1")
    assert (failed.returncode, failed.stdout) == (1, "")


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, deniable.cli; deniable.cli._parser(); print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", "import json;" + code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pyarrow", "narwhals", "cryptography"} & set(json.loads(out.stdout))


def test_a_reader_that_goes_away_is_no_error(survey: Path) -> None:
    command = f"{sys.executable} -m deniable plan survey.toml --epsilon 1 | true"
    done = subprocess.run(["sh", "-c", command], cwd=survey, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_every_public_name_resolves() -> None:
    for name in dn.__all__:
        assert getattr(dn, name).__name__ == name
        assert name in dir(dn)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dn.nothing
