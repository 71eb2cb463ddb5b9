"""The command line with what people have: proposals, messy files, reports or counts alike, and outputs kept safe."""

import errno
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from deniable.files import replacing

ANSWERS = "id;smoker;age\n1;Yes;<30\n2;no;30+\n3;NA;30+\n4;yes;<30\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answers.csv").write_text(ANSWERS)


def run(command: str, capsys: pytest.CaptureFixture[str], status: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(command.split()) == status
    return capsys.readouterr()


def test_from_a_messy_file_to_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = run("schema answers.csv -o survey.toml", capsys)
    assert err.splitlines() == [
        "id: a choice of 4 numbers",
        "smoker: yes or no: 'Yes' is yes, 'no' is no, in 3 spellings; 1 without an answer (also 'NA')",
        "age: a choice of 2 in their order",
        "",
        "Wrote survey.toml (3 questions). Look it over.",
    ]
    out, _ = run("schema answers.csv --na 4", capsys)
    assert out.replace("1, 2, 3", "") != Path("survey.toml").read_text()
    assert 'missing = "no answer"' in out
    schema = dn.Schema.load("survey.toml")
    dn.Schema([feature for feature in schema if feature.name != "id"]).save("survey.toml")
    run("plan survey.toml --epsilon 8 --split -o plan.json", capsys)
    _, err = run("randomize plan.json answers.csv -o reports.parquet", capsys)
    assert "Columns that no question of the plan is about, not used: 'id'.\n" in err
    assert "Read with semicolons between columns.\n" in err
    assert "Wrote reports.parquet (4 reports)." in err
    run("count reports.parquet -o counts.npz", capsys)
    tables = [run(f"table {source} smoker age --csv", capsys)[0] for source in ("reports.parquet", "counts.npz")]
    assert tables[0] == tables[1]
    assert tables[0].startswith("smoker,age,proportion")
    for command in ("conditional {} smoker --given age --csv", "associations {} --csv"):
        assert run(command.format("reports.parquet"), capsys)[0] == run(command.format("counts.npz"), capsys)[0]


def test_python_takes_reports_counts_and_paths_alike() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=6.0)
    reports = dn.randomize({"a": ["yes", "no"] * 200, "b": [True, True, False, False] * 100}, plan)
    reports.save("r.parquet")
    counts = dn.count(reports, ["a", "b"])
    counts.save("c.npz")
    for source in (reports, "r.parquet", Path("r.parquet"), "c.npz", Path("c.npz")):
        assert (
            dn.estimate(source, ["a", "b"]).cell(a=True, b=True).value
            == dn.estimate(counts, ["a", "b"]).cell(a=True, b=True).value
        )
        assert dn.associations(source) == dn.associations(counts)
        assert (
            dn.regress(source, "a", on=["b"]).coefficients.tolist()
            == dn.regress(counts, "a", on=["b"]).coefficients.tolist()
        )
    others = dn.randomize({"a": ["yes", "no"] * 50, "b": [True, False] * 50}, plan, rng=1)
    assert dn.estimate([others, "c.npz"], "a").n == 500
    with pytest.raises(dn.EstimateError, match="these share a source"):
        dn.estimate([reports, "c.npz"], "a")
    for wrong in ({"a": [True]}, 3, None):
        with pytest.raises(dn.EstimateError, match="takes counts"):
            dn.estimate(wrong, ["a"])
    with pytest.raises(dn.DeniableError, match="none.npz: cannot be read"):
        dn.estimate("none.npz", "a")


def test_bad_records_are_told_or_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["<30", "30+"])]), epsilon=2.0).save("plan.json")
    Path("answers.csv").write_text(ANSWERS.replace("2;no;30+", "2;odd;old"))
    _, err = run("randomize plan.json answers.csv -o r.parquet --force", capsys, 1)
    assert err.splitlines()[0] == (
        "deniable: answers.csv: line 3, column 'smoker' is a flag and takes yes and no, true and false, or 1 and 0; "
        "found 'odd'"
    )
    assert err.splitlines()[1].startswith("  line 3, column 'age'")
    assert "'old'" not in err
    assert not Path("r.parquet").exists()
    _, err = run("randomize plan.json answers.csv --keep-going -o r.parquet --force", capsys)
    assert "deniable: warning: 2 of 4 records were left out" in err
    assert "Wrote r.parquet (2 reports)" in err
    Path("answers.csv").write_text(ANSWERS.splitlines()[0])
    assert "warning: there are no records" in run("randomize plan.json answers.csv -o r.parquet --force", capsys)[1]
    Path("tabs.csv").write_text("smoker#age\nYes#<30\n")
    assert "Wrote" in run("randomize plan.json tabs.csv --delimiter # -o r.parquet --force", capsys)[1]
    Path("tabs.csv").write_text("smoker\tage\nYes\t<30\n")
    assert "Wrote" in run("randomize plan.json tabs.csv --delimiter tab -o r.parquet --force", capsys)[1]


def test_outputs_are_of_their_kind_and_not_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.toml").write_text('[[features]]\nname = "smoker"\n')
    run("plan s.toml --epsilon 1 -o plan.json", capsys)
    run("plan s.toml --epsilon 1 -o plan.json", capsys)  # the same plan
    before = Path("plan.json").read_text()
    _, err = run("plan s.toml --epsilon 2 -o plan.json", capsys, 1)
    assert "plan.json: exists already" in err
    assert Path("plan.json").read_text() == before
    run("plan s.toml --epsilon 2 -o plan.json --force", capsys)
    assert Path("plan.json").read_text() != before
    assert "s.toml: exists already" in run("schema answers.csv -o s.toml", capsys, 1)[1]
    for command in ("plan s.toml --epsilon 1 -o x.toml", "randomize plan.json answers.csv -o x.csv"):
        assert "call it x." in run(command, capsys, 1)[1]
    run("randomize plan.json answers.csv --keep-going -o r.parquet --force", capsys)
    assert "call it x.npz" in run("count r.parquet -o x.json", capsys, 1)[1]
    assert not list(Path().glob("x.*"))


def test_help_and_misspelt_commands(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run("", capsys)
    assert "deniable schema answers.csv -o survey.toml" in out
    with pytest.raises(SystemExit) as stop:
        main(["tabel"])
    assert stop.value.code == 2
    assert "no command 'tabel'; did you mean 'table'?" in capsys.readouterr().err


def test_errors_of_the_disk_name_the_right_file() -> None:
    def full() -> None:
        with replacing("out.json"):
            raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28]")

    with pytest.raises(dn.DeniableError, match="^out.json: cannot be written: No space left on device$"):
        full()

    def unreadable() -> None:
        with replacing("out.json"):
            raise PermissionError(errno.EACCES, "Permission denied", "in.csv")

    with pytest.raises(PermissionError, match="in.csv"):  # not blamed on the output
        unreadable()
    assert not list(Path().glob("*.part"))
    with pytest.raises(dn.DeniableError, match="^/proc/x.json: cannot be written: "), replacing("/proc/x.json"):
        pass
