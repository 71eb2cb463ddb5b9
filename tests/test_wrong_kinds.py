"""Files of the wrong kind are named for what they are, with the next command."""

from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main

NEXT = {
    (
        "table",
        "plan.json",
        "a",
    ): "this is a plan or a survey, not reports; answers become reports by",
    ("table", "answers.csv", "a"): "not reports; they become reports by `deniable randomize plan.json answers.csv -o",
    ("table", "survey.toml", "a"): "this is a survey file, not reports; first plan it: `deniable plan survey.toml",
    ("count", "counts.npz", "-o", "c.npz"): "these are counts already; `deniable table counts.npz",
    ("plan", "answers.csv", "--epsilon", "1"): "not a survey file; `deniable schema answers.csv -o survey.toml`",
    ("plan", "counts.npz", "--epsilon", "1"): "these are counts, not a survey file; `deniable show counts.npz`",
    ("randomize", "answers.csv", "answers.csv", "-o", "r.parquet"): "these are answers, not a plan; `deniable schema",
    ("randomize", "survey.toml", "answers.csv", "-o", "r.parquet"): "not a plan; `deniable plan survey.toml",
    ("schema", "survey.toml"): "this is a survey file, not answers",
}


@pytest.mark.parametrize("command", NEXT)
def test_what_a_file_is_and_what_to_do_with_it(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answers.csv").write_text("a,b\nyes,no\nno,yes\n")
    Path("survey.toml").write_text('[[features]]\nname = "a"\n[[features]]\nname = "b"\n')
    plan = dn.Plan(dn.Schema.load("survey.toml"), epsilon=2.0)
    plan.save("plan.json")
    dn.count(dn.randomize("answers.csv", plan, rng=1)).save("counts.npz")
    assert main(list(command)) == 1
    told = capsys.readouterr().err
    assert NEXT[command] in told
    assert "magic bytes" not in told


COUNTED = {
    "r.parquet": "these are reports or answers, not counts; `deniable count r.parquet -o counts.npz` counts reports",
    "answers.csv": "these are answers, not counts; they become reports by `deniable randomize plan.json answers.csv",
    "plan.json": "this is a plan or a survey, not counts",
    "survey.toml": "this is a survey file, not counts; first plan it: `deniable plan survey.toml",
    "page.html": "this is a page, not counts",
    "c.npz": "is not a file of counts, or it is damaged",
}


@pytest.mark.parametrize("name", COUNTED)
def test_what_is_loaded_as_counts_is_named_for_what_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("something else")
    with pytest.raises(dn.CountError) as refused:
        dn.Counts.load(name)
    assert str(refused.value).startswith(f"{name}: {COUNTED[name]}")


def test_a_damaged_file_of_the_right_kind_is_said_to_be_damaged(tmp_path: Path) -> None:
    (tmp_path / "r.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(dn.ReportError, match="cannot be read as Parquet"):
        dn.count(tmp_path / "r.parquet")
    (tmp_path / "p.json").write_text("{")
    with pytest.raises(dn.PlanError, match="the plan is not JSON"):
        dn.Plan.load(tmp_path / "p.json")
