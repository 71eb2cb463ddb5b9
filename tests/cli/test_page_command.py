"""The command that writes the page: from reports or counts, and what it refuses."""

import sys
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from tests.support.pages import figure_of, read, rows_of


def test_the_command_makes_the_page_from_reports_or_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=4.0)
    dn.randomize({"a": [True, False] * 300, "b": [True] * 600}, plan).save("r.parquet")
    assert main(["count", "r.parquet", "--order", "2", "-o", "c.npz"]) == 0
    capsys.readouterr()
    assert main(["report", "r.parquet", "-o", "one.html", "--title", "<T>", "--level", "0.9"]) == 0
    assert capsys.readouterr() == ("", "Wrote one.html (600 reports).\n")
    assert main(["report", "--counts", "c.npz", "-o", "two.html", "--title", "<T>", "--level", "0.9"]) == 0
    assert Path("one.html").read_bytes() == Path("two.html").read_bytes()
    root = read(Path("one.html").read_text(encoding="utf-8"))
    assert root.all("title")[0].text == "<T>"
    row = dn.estimate(dn.Counts.load("c.npz"), ["a"]).about("population").table(level=0.9).to_pylist()[1]
    assert rows_of(figure_of(root, "Yes or no"))["a",] == pytest.approx([row["proportion"], row["low"], row["high"]])
    assert "90 % interval" in root.text


FAILURES = {
    "no reports": (["none.parquet"], "none.parquet: no such file"),
    "no counts": (["--counts", "none.npz"], "none.npz: cannot be read"),
    "no folder": (["r.parquet", "-o", "none/r.html"], "there is no folder"),
    "over its input": (["r.parquet", "-o", "r.parquet"], "would be written over"),
    "over its counts": (["--counts", "c.npz", "-o", "c.npz"], "would be written over"),
    "another kind of file": (
        ["r.parquet", "-o", "page.pdf"],
        "page.pdf: a page is written to an HTML file; call it page.html",
    ),
    "one table alone": (
        ["--counts", "single.npz"],
        "the page needs every pair of features, as `deniable count --order 2`",
    ),
    "nobody": (["--counts", "nobody.npz"], "there are no reports"),
    "level": (["r.parquet", "--level", "95"], "a level of confidence is between 0 and 1"),
}


@pytest.mark.parametrize(("arguments", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_bad_input_is_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=4.0)
    reports = dn.randomize({"a": [True], "b": [True]}, plan)
    reports.save("r.parquet")
    dn.count(reports, order=2).save("c.npz")
    dn.count(reports, [["a"], ["b"]]).save("single.npz")
    dn.Counts(plan, {("a", "b"): [[0, 0], [0, 0]]}).save("nobody.npz")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(["report", *arguments, *([] if "-o" in arguments else ["-o", "r.html"])]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "arguments", [["-o", "r.html"], ["r.parquet", "--counts", "c.npz", "-o", "r.html"], ["r.parquet"]]
)
def test_bad_usage_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["report", *arguments])
    assert exit_.value.code == 2
    assert "usage: deniable page" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
@pytest.mark.parametrize("command", [["report", "--counts", "c.npz", "-o", "r.html"], ["demo", "-o", "r.html"]])
def test_what_is_not_installed_is_named(
    missing: str,
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(command) == 1
    assert f"needs {missing}; install it with: pip install 'deniable[report]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
