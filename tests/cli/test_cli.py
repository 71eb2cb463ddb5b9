"""Commands: what they write, what they print and where, and how they fail."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import deniable as dn
from deniable.cli import main
from tests.support.printed_rows import printed, printed_in_csv

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
    assert main(["plan", "survey.toml", "--epsilon", "6", "--split", "-o", "plan.json"]) == 0
    assert "Total epsilon" in capsys.readouterr().err
    return tmp_path


UNUSED = "Columns that no question of the plan is about, not used: 'id'.\n"


@pytest.mark.usefixtures("survey")
def test_from_survey_to_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["randomize", "plan.json", "answers.csv", "-o", "reports.parquet"]) == 0
    assert capsys.readouterr() == ("", f"{UNUSED}Wrote reports.parquet (3 reports).\n")
    reports = dn.Reports.load("reports.parquet")
    assert len(reports) == 3
    assert reports.plan == dn.Plan.load("plan.json")
    pd.read_csv("answers.csv").assign(smoker=[True, False, False]).to_parquet("answers.parquet")
    assert main(["randomize", "plan.json", "answers.parquet", "-o", "again.parquet"]) == 0
    assert len(dn.Reports.load("again.parquet")) == 3


@pytest.mark.usefixtures("survey")
def test_reports_are_not_drawn_again_over_others_unless_it_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["randomize", "plan.json", "answers.csv", "-o", "reports.parquet"]
    assert main(command) == 0
    before = Path("reports.parquet").read_bytes()
    capsys.readouterr()
    assert main(command) == 1
    assert "reports.parquet: exists already (reports of the same answers, drawn again, cost" in capsys.readouterr().err
    assert Path("reports.parquet").read_bytes() == before
    assert main([*command, "--force"]) == 0


@pytest.mark.usefixtures("survey")
def test_a_plan_with_another_aim_is_another_plan_to_a_file() -> None:
    command = ["plan", "survey.toml", "--epsilon", "2", "-o", "aimed.json", "--people"]
    assert main([*command, "4000"]) == 0
    before = Path("aimed.json").read_text()
    assert main([*command, "4000"]) == 0  # the same once more
    assert main([*command, "4001"]) == 1
    assert Path("aimed.json").read_text() == before


@pytest.mark.usefixtures("survey")
def test_several_files_and_folders_become_one_file_of_reports(capsys: pytest.CaptureFixture[str]) -> None:
    Path("more").mkdir()
    for name in ("more/b.csv", "more/a.csv", "alone.csv"):
        Path(name).write_text(CSV)
    capsys.readouterr()
    assert main(["randomize", "plan.json", "answers.csv", "more", "alon*.csv", "-o", "reports.parquet"]) == 0
    assert capsys.readouterr() == ("", f"{UNUSED}Wrote reports.parquet (12 reports).\n")
    assert len(dn.Reports.load("reports.parquet")) == 12
    Path("more/b.csv").write_text(CSV.replace("young", "odd"))
    assert main(["randomize", "plan.json", "answers.csv", "more", "-o", "reports.parquet", "--force"]) == 1
    err = capsys.readouterr().err
    assert "deniable: more/b.csv: line 3, column 'age': the answer is not one of its values" in err
    assert "found 'odd'" in err
    assert len(dn.Reports.load("reports.parquet")) == 12


def test_plan_goes_to_stdout_unless_told(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["plan", "survey.toml", "--epsilon", "6", "--split"]) == 0
    out, err = capsys.readouterr()
    assert out == (survey / "plan.json").read_text()
    assert "Total epsilon" in err


def test_public_columns_are_named_loudly(survey: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["plan", str(survey / "survey.toml"), "--epsilon", "1", "--split", "--public", "age", "-o", "p.json"]) == 0
    )
    assert 'NOT PROTECTED, shown as they are: "age".' in capsys.readouterr().err
    assert dn.Plan.load("p.json")["smoker"].epsilon == pytest.approx(0.5, abs=1e-3)


FAILURES: dict[str, tuple[list[str], str]] = {
    "a survey for a plan": (
        ["randomize", "survey.toml", "answers.csv", "-o", "r.parquet"],
        "survey.toml: this is a survey file, not a plan; `deniable plan survey.toml",
    ),
    "answers for reports": (
        ["count", "answers.csv", "--order", "1", "-o", "c.npz"],
        "answers.csv: these are answers, not reports; they become reports by `deniable randomize",
    ),
    "no survey": (["plan", "none.toml", "--epsilon", "1"], "none.toml: cannot be read: No such file"),
    "negative": (["plan", "survey.toml", "--epsilon", "-1"], "epsilon must be a positive number; found -1"),
    "unknown public": (["plan", "survey.toml", "--epsilon", "1", "--public", "sex"], "no feature 'sex'"),
    "no folder": (
        ["plan", "survey.toml", "--epsilon", "1", "-o", "none/p.json"],
        "none/p.json: cannot be written: there is",
    ),
    "no epsilon": (["plan", "survey.toml"], "give --epsilon; or, for the least one, both --people and --half-width"),
    "no epsilon to split": (["plan", "survey.toml", "--split"], "no protocol for 'smoker', .*or --epsilon"),
    "over its input": (["plan", "survey.toml", "--epsilon", "1", "-o", "survey.toml"], "would be written over"),
    "over the answers": (["randomize", "plan.json", "answers.csv", "-o", "./answers.csv"], "would be written over"),
    "over the plan": (["randomize", "plan.json", "answers.csv", "-o", "plan.json"], "would be written over"),
    "a folder": (["randomize", "plan.json", "answers.csv", "-o", "."], "it is a folder"),
    "a folder of answers": (
        ["randomize", "plan.json", "folder.csv", "-o", "r.parquet"],
        "no CSV or Parquet files in this folder",
    ),
    "twice": (["randomize", "plan.json", "done.parquet", "-o", "r.parquet"], "reports, randomized already"),
    "header alone": (["randomize", "plan.json", "header.csv", "-o", "r.parquet"], "'smoker' is missing; found 'x'"),
    "column twice": (["randomize", "plan.json", "double.csv", "-o", "r.parquet"], "column 'age' occurs twice"),
    "nothing to count": (["count", "none*.parquet", "--order", "2", "-o", "c.npz"], r"none\*.parquet: no file matches"),
    "order too high": (["count", "done.parquet", "--order", "9", "-o", "c.npz"], "from 1 to .* 3; found 9"),
    "counts over reports": (["count", ".", "--order", "1", "-o", "./done.parquet"], "would be written over"),
    "counts nowhere": (["count", "done.parquet", "--order", "1", "-o", "none/c.npz"], "there is no folder"),
    "table with a line": (["count", "done.parquet", "--table", "a\nb", "-o", "c.npz"], "--table takes names"),
    "table with half a quote": (["count", "done.parquet", "--table", '"a', "-o", "c.npz"], "--table takes names"),
    "no such table": (["count", "done.parquet", "--table", "smoker,sex", "-o", "c.npz"], "no feature 'sex'"),
    "no plan": (["randomize", "none.json", "answers.csv", "-o", "r.parquet"], "none.json: cannot be read"),
    "not a plan": (
        ["randomize", "answers.csv", "answers.csv", "-o", "r.parquet"],
        "answers.csv: these are answers, not a plan",
    ),
    "no answers": (["randomize", "plan.json", "none.csv", "-o", "r.parquet"], "none.csv: no such file"),
    "unknown ending": (["randomize", "plan.json", "survey.toml", "-o", "r.parquet"], ".csv, .tsv or .parquet file"),
    "bad answer": (
        ["randomize", "plan.json", "bad.csv", "-o", "r.parquet"],
        "bad.csv: line 3, column 'age': the answer is not one of .*found 'odd'",
    ),
    "empty cell": (
        ["randomize", "plan.json", "empty.csv", "-o", "r.parquet"],
        r"line 3, column 'age' has no answer \(null\)",
    ),
    "column missing": (["randomize", "plan.json", "short.csv", "-o", "r.parquet"], "column 'income' is missing"),
    "ragged": (
        ["randomize", "plan.json", "ragged.csv", "-o", "r.parquet"],
        r"ragged.csv: line 5 has 2 cells where the header has 4$",
    ),
    "nothing in it": (
        ["randomize", "plan.json", "void.csv", "-o", "r.parquet"],
        "void.csv: column 'smoker' is missing; found none: the file is empty",
    ),
    "not parquet": (["randomize", "plan.json", "folder/bad.parquet", "-o", "r.parquet"], "bad.parquet: cannot be read"),
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
    Path("folder").mkdir()
    Path("folder/bad.parquet").write_text("not parquet")
    Path("folder.csv").mkdir()
    Path("header.csv").write_text("x\n")
    Path("double.csv").write_text("smoker,age,age,income\n1,old,old,3\n")
    plan = dn.Plan.load("plan.json")
    dn.randomize({"smoker": [True], "age": ["old"], "income": [1]}, plan).save("done.parquet")
    before = sorted(survey.iterdir())
    capsys.readouterr()
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("deniable: ")
    assert re.search(message, err), err
    assert sorted(survey.iterdir()) == before


@pytest.mark.parametrize("arguments", [["count me"], ["plan"], ["plan", "s.toml", "--epsilon", "x"]])
def test_bad_usage_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: deniable" in capsys.readouterr().err


def test_stopped_by_hand_nothing_is_written(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_arguments: Any, **_options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("deniable.survey.protocols.grr.GRR.randomize", stop)
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
    assert main(["randomize", "plan.json", "big.csv", "-o", "r.parquet", "--force"]) == 1
    err = capsys.readouterr().err
    assert f"big.csv: line {rows + 2}, column 'age': the answer is not one of its values" in err


@pytest.mark.usefixtures("survey")
def test_count_and_what_it_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["randomize", "plan.json", "answers.csv", "-o", "reports.parquet"]) == 0
    capsys.readouterr()
    assert main(["count", "reports.parquet", "--order", "2", "-o", "c.npz"]) == 0
    assert capsys.readouterr() == ("", "Wrote c.npz (3 reports).\n")
    reports = dn.Reports.load("reports.parquet")
    assert dn.Counts.load("c.npz") == dn.count(reports, order=2)
    assert main(["count", "reports.parquet", "--table", "age, smoker", "--table", '"income"', "-o", "c.npz"]) == 0
    assert dn.Counts.load("c.npz") == dn.count(reports, [["age", "smoker"], ["income"]])


@pytest.mark.usefixtures("survey")
def test_columns_that_nobody_asked_for_do_not_matter() -> None:
    with Path("late.csv").open("w") as file:
        file.write("smoker,age,income,note,note\n" + "true,old,3,1,1\n" * 1_200_000 + "true,old,3,hello,x\n")
    assert main(["randomize", "plan.json", "late.csv", "-o", "r.parquet"]) == 0


def test_stopped_by_a_signal_nothing_stays(survey: Path) -> None:
    with Path("big.csv").open("w") as file:
        file.write("smoker,age,income\n" + "true,old,3.14159265358979\n" * 3_000_000)
    before = sorted(survey.iterdir())
    command = [sys.executable, "-m", "deniable", "randomize", "plan.json", "big.csv", "-o", "r.parquet"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not [path for path in survey.iterdir() if path.suffix == ".part"]:
        assert running.poll() is None
        time.sleep(0.01)
    running.terminate()
    assert "stopped; nothing was written" in running.communicate(timeout=30)[1]
    assert running.returncode == 143
    assert sorted(survey.iterdir()) == before


def test_the_exit_status_names_the_signal_wherever_it_came(tmp_path: Path) -> None:
    """A KeyboardInterrupt inside `exec` of a string, where dataclasses are made, must not end the process by SIGINT."""
    (tmp_path / "stopped.py").write_text(
        "import os, signal, sys\n"
        "from deniable.files import stopping\n"
        "try:\n"
        "    with stopping(signal.SIGTERM):\n"
        "        exec('os.kill(os.getpid(), signal.SIGTERM); sum(range(100))')\n"
        "except KeyboardInterrupt as stop:\n"
        "    sys.exit(128 + stop.args[0])\n"
    )
    assert subprocess.run([sys.executable, "-m", "stopped"], cwd=tmp_path).returncode == 143


def test_counting_tells_its_progress_on_a_terminal(survey: Path) -> None:
    plan = dn.Plan.load("plan.json")
    answers = {"smoker": [True] * 3, "age": ["old"] * 3, "income": [1] * 3}
    dn.randomize(answers, plan).save("r.parquet")
    code = "import deniable.text.progress as p; p.EVERY = 0; from deniable.cli import main; "
    code += "main('count r.parquet --order 2 -o c.npz'.split())"
    read, write = pty.openpty()
    subprocess.run([sys.executable, "-c", code], cwd=survey, stderr=write, check=True)
    os.close(write)
    assert re.search(r"3 reports counted, [\d,]+ per second, 0 s left", os.read(read, 10_000).decode())


@pytest.mark.slow
def test_progress_is_for_terminals(survey: Path) -> None:
    """On a terminal a line tells how far it is, and an error starts a line of its own; through a pipe, neither."""
    Path("bad.csv").write_text(CSV.replace("young", "odd"))
    for answers, told in (
        ("answers.csv", "3 records randomized, .* per second"),
        ("bad.csv", "deniable: bad.csv: line 3"),
    ):
        command = f"{sys.executable} -m deniable randomize plan.json {answers} -o r.parquet --force"
        read, write = pty.openpty()
        subprocess.run(command.split(), cwd=survey, stderr=write, check=False)
        os.close(write)
        seen = os.read(read, 10_000).decode()
        assert re.search(rf"\r\x1b\[K{told}", seen), seen


@pytest.mark.usefixtures("survey")
def test_a_table_as_text_csv_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    answers = {"smoker": rng.random(3000) < 0.4, "age": rng.choice(["young", "old"], 3000), "income": [1.0] * 3000}
    counts = dn.count(dn.randomize(answers, dn.Plan.load("plan.json"), rng=rng), order=2)
    counts.save("c.npz")
    capsys.readouterr()
    est = dn.estimate(counts, ["smoker", "age"])
    assert main(["table", "c.npz", "smoker", "age", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == printed(est.table(), est)
    assert main(["table", "c.npz", "smoker", "age", "--population", "--json"]) == 0  # as version 0.1.0 had it
    assert json.loads(capsys.readouterr().out) == printed(est.table(), est)
    assert main(["table", "c.npz", "smoker", "age", "--csv", "--respondents", "--method", "unbiased"]) == 0
    read = pd.read_csv(io.StringIO(capsys.readouterr().out))
    other = dn.estimate(counts, ["smoker", "age"], method="unbiased", about="respondents")
    pd.testing.assert_frame_equal(read, pd.DataFrame(printed_in_csv(other.table(), other)), check_dtype=False)
    with pytest.raises(SystemExit):
        main(["table", "c.npz", "smoker", "--respondents", "--population"])
    capsys.readouterr()
    assert main(["table", "c.npz", "smoker", "age", "--respondents", "--level", "0.999", "--simultaneous"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("About the respondents; simultaneous 99.9% intervals; 3,000 reports.")
    assert main(["table", "c.npz", "smoker", "age"]) == 0
    told, *lines = capsys.readouterr().out.splitlines()
    assert told.startswith("About the population; 95% intervals; 3,000 reports.")
    assert lines[0].split() == ["smoker", "age", "proportion", "stderr", "low", "high"]
    young = est.cell(smoker=True, age="young")
    numbers = [young.value, young.stderr, *young.confidence_interval()]
    assert lines[3].split() == ["yes", "young", *(f"{number:.4f}" for number in numbers)]
    assert main(["table", "c.npz", "smoker", "age", "--level", "0.8", "--simultaneous", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == printed(est.table(level=0.8, simultaneous=True), est, 0.8)
    assert main(["table", "c.npz", "smoker", "--level", "95"]) == 1
    assert "a level of confidence is between 0 and 1, such as 0.95; found 95.0" in capsys.readouterr().err
    few = dn.Counts(counts.plan, {("smoker", "age"): [[3, 3, 0], [3, 3, 0]]})
    few.save("few.npz")
    assert main(["table", "few.npz", "smoker", "age"]) == 0
    assert capsys.readouterr().out.count("not enough reports") == 4
    assert main(["table", "few.npz", "smoker", "age", "--json"]) == 0
    assert [row["low"] for row in json.loads(capsys.readouterr().out)] == [None] * 4
    assert main(["table", "c.npz", "smoker", "sex"]) == 1
    assert "no feature 'sex'" in capsys.readouterr().err
    assert main(["table", "none.npz", "smoker"]) == 1
    assert "none.npz: cannot be read" in capsys.readouterr().err


@pytest.mark.usefixtures("survey")
def test_conditionals_and_associations(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    smoker = rng.random(3000) < 0.4
    answers = {"smoker": smoker, "age": np.where(smoker, "young", "old"), "income": [1.0] * 3000}
    counts = dn.count(dn.randomize(answers, dn.Plan.load("plan.json"), rng=rng), order=2)
    counts.save("c.npz")
    capsys.readouterr()
    est = dn.estimate(counts, ["age", "smoker"])
    assert main(["conditional", "c.npz", "smoker", "--given", "age", "--json", "--level", "0.9"]) == 0
    assert json.loads(capsys.readouterr().out) == printed(est.conditional("smoker", given="age", level=0.9), est, 0.9)
    assert main(["conditional", "c.npz", "smoker", "--given", "age", "--population"]) == 0
    told, *lines = capsys.readouterr().out.splitlines()
    assert told == "About the population; 95% intervals; 3,000 reports."
    assert lines[0].split() == ["age", "smoker", "proportion", "stderr", "low", "high"]
    rows = dn.associations(counts).to_pylist()
    assert main(["associations", "c.npz", "--top", "1", "--json"]) == 0
    out, err = capsys.readouterr()
    first = {name: None if cell != cell else cell for name, cell in rows[0].items()}
    assert json.loads(out) == [first | {"about": "population", "level": 0.95, "reports": 3000, "influence": None}]
    assert "1 of 3 pairs; --top 0 shows all" in err
    assert main(["associations", "c.npz", "--top", "0"]) == 0
    told, *lines = capsys.readouterr().out.splitlines()
    assert told == "About the population; 95% intervals; 3,000 reports."
    assert len(lines) == 4
    assert lines[1].split()[:2] == ["smoker", "age"]
    assert rows[0]["p_value"] < 1e-12
    assert "<1e-12" in lines[1].split()
    for command, words in (
        (["conditional", "c.npz", "smoker", "--given", "smoker"], "conditional takes different features"),
        (["conditional", "c.npz", "sex", "--given", "smoker"], "no feature 'sex'"),
        (["associations", "c.npz", "--top", "-1"], "--top takes the number of pairs"),
        (["associations", "none.npz"], "cannot be read"),
    ):
        assert main(command) == 1
        assert words in capsys.readouterr().err


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "deniable", *arguments], capture_output=True, text=True, check=False)


def test_as_a_program() -> None:
    assert run("--help").stdout.startswith("usage: deniable")
    assert run("--version").stdout == f"deniable {dn.__version__}\n"
    failed = run("plan", "none.toml", "--epsilon", "1")
    assert (failed.returncode, failed.stdout) == (1, "")


def test_help_lists_the_commands_in_the_order_of_a_survey_each_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.split("COMMAND\n")[1].split("\n\n")[0].splitlines()
    commands = "schema plan show power audit sign verify serve collect randomize count sql table conditional difference"
    commands += " mean compare regress associations page demo validate"
    assert [line.split()[0] for line in lines] == commands.split()
    assert all(re.match(r"    [a-z]+( \(report\))?  +\w+ .*\w", line) for line in lines)


def test_report_is_another_name_of_page(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for name in ("page", "report"):
        with pytest.raises(SystemExit) as exit_:
            main([name, "--help"])
        assert exit_.value.code == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, deniable.cli.parser; deniable.cli.parser.parser(); print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", "import json;" + code], capture_output=True, text=True, check=True)
    assert not {"numpy", "pyarrow", "narwhals", "cryptography"} & set(json.loads(out.stdout))


def test_a_reader_that_goes_away_is_no_error(survey: Path) -> None:
    command = f"{sys.executable} -m deniable plan survey.toml --epsilon 1 | true"
    done = subprocess.run(["sh", "-c", command], cwd=survey, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_plans_are_utf_8_in_any_locale(survey: Path) -> None:
    (survey / "odd.toml").write_text(SURVEY.replace("smoker", "größe 🎈"), encoding="utf-8")
    plain = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "deniable", "plan", "odd.toml", "--epsilon", "2"]
    done = subprocess.run(command, cwd=survey, capture_output=True, env=plain, check=True)
    assert dn.Plan.from_json(done.stdout).schema.names[0] == "größe 🎈"
