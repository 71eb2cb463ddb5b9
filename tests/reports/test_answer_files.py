"""Answers from CSV and Parquet files to reports in memory or in a file: in order, in parts, whole or not at all."""

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import deniable as dn
from deniable.reports import answer_files, parquet
from deniable.reports.reading import csv_files
from tests.support.memory import needs_proc, peak_kilobytes

AGES = ["young", "middle", "old"]
SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", AGES), dn.Choice.bins("income", [0, 10, 100])])
PUBLIC = dn.Plan(SCHEMA, {name: dn.Public() for name in SCHEMA.names})  # what comes out is what went in
PLAN = dn.Plan(SCHEMA, epsilon=6.0)


def answers(rows: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": np.arange(rows),
            "smoker": rng.random(rows) < 0.4,
            "age": rng.choice(AGES, rows),
            "note": [f'a "note",\nof {row} lines' for row in range(rows)],
            "income": rng.integers(0, 100, rows),
        }
    )


def shown(reports: dn.Reports) -> list[dict[str, Any]]:
    return reports.table.to_pylist()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files in a folder, whose names are not in the order in which they were written."""
    monkeypatch.chdir(tmp_path)
    Path("answers").mkdir()
    csv.write_csv(answers(50, 3), "answers/c.csv")
    pq.write_table(answers(70, 2), "answers/b.parquet")
    csv.write_csv(answers(30, 1), "answers/a.CSV")
    Path("answers/README").write_text("neither")
    Path("answers/.hidden.csv").write_text("nothing")
    return tmp_path


ALL = [(30, 1), (70, 2), (50, 3)]
SOURCES: dict[str, tuple[Any, list[tuple[int, int]]]] = {
    "a CSV file": ("answers/c.csv", [(50, 3)]),
    "a path": (Path("answers/c.csv"), [(50, 3)]),
    "a Parquet file": ("answers/b.parquet", [(70, 2)]),
    "a folder": ("answers", ALL),
    "a folder with its stroke": ("answers/", ALL),
    "a glob": ("answers/*.[pC]*", ALL[:2]),
    "any depth": ("**/b.parquet", [(70, 2)]),
    "a list in its own order": (["answers/c.csv", Path("answers/a.CSV")], [(50, 3), (30, 1)]),
    "a tuple": (("answers/b.parquet", "answers/c.csv"), ALL[1:]),
    "globs and files": (["answers/c.csv", "answers/*[Vt]"], [(50, 3), (30, 1), (70, 2)]),
}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("source", "parts"), SOURCES.values(), ids=SOURCES.keys())
def test_files_are_read_one_after_another(source: Any, parts: list[tuple[int, int]]) -> None:
    """What is public comes out as it went in, in memory and in a file; randomized answers as if part by part."""
    expected = [dn.randomize(answers(*part), PUBLIC) for part in parts]
    assert shown(dn.randomize(source, PUBLIC)) == [row for reports in expected for row in shown(reports)]
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    by_part = [row for part in parts for row in shown(dn.randomize(answers(*part), PLAN, rng=one))]
    assert shown(dn.randomize(source, PLAN, rng=other)) == by_part
    assert dn.randomize(source, PLAN, rng=np.random.default_rng(5), output="r.parquet") == len(by_part)
    written = dn.Reports.load("r.parquet")
    assert shown(written) == by_part
    assert written.plan == PLAN
    assert written == dn.randomize(source, PLAN, rng=np.random.default_rng(5))


@pytest.mark.usefixtures("folder")
def test_without_a_seed_no_two_runs_are_alike() -> None:
    assert dn.randomize("answers", PLAN) != dn.randomize("answers", PLAN)


@pytest.mark.usefixtures("folder")
def test_records_in_memory_go_to_a_file_too() -> None:
    assert dn.randomize(answers(40), PUBLIC, output=Path("r.parquet")) == 40
    assert dn.Reports.load("r.parquet") == dn.randomize(answers(40), PUBLIC)


@pytest.mark.usefixtures("folder")
def test_files_without_a_record_give_no_reports() -> None:
    csv.write_csv(answers(0), "none.csv")
    pq.write_table(answers(0), "none.parquet")
    assert len(dn.randomize(["none.csv", "none.parquet"], PLAN)) == 0
    assert dn.randomize(["none.csv", "none.parquet"], PLAN, output="r.parquet") == 0
    assert dn.Reports.load("r.parquet") == dn.randomize("none.csv", PLAN)


@pytest.mark.usefixtures("folder")
def test_parts_of_one_file_go_on_where_the_last_one_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a cell with line breaks in it stands on the edge of a block."""
    monkeypatch.setattr(csv_files, "BLOCK", 1000)
    monkeypatch.setattr(answer_files, "PARQUET_CELLS", 3 * 17)
    csv.write_csv(answers(500), "long.csv")
    pq.write_table(answers(500), "long.parquet")
    for path, least in (("long.csv", 15), ("long.parquet", 30)):
        sizes = [
            len(batch) for batch in answer_files.batches(answer_files.found_files(path, lambda _: (SCHEMA.names, ())))
        ]
        assert len(sizes) >= least
        assert shown(dn.randomize(path, PUBLIC)) == shown(dn.randomize(answers(500), PUBLIC))
        rng = np.random.default_rng(2)
        starts = np.cumsum([0, *sizes[:-1]])
        parts = [answers(500).slice(start, size) for start, size in zip(starts, sizes, strict=True)]
        by_part = [row for part in parts for row in shown(dn.randomize(part, PLAN, rng=rng))]
        assert shown(dn.randomize(path, PLAN, rng=np.random.default_rng(2))) == by_part


@pytest.mark.usefixtures("folder")
def test_many_small_files_make_few_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "SMALL_GROUP", 100)
    Path("small").mkdir()
    for part in range(25):
        csv.write_csv(answers(10, part), f"small/{part:03}.csv")
    assert dn.randomize("small", PLAN, output="r.parquet") == 250
    assert pq.ParquetFile("r.parquet").num_row_groups == 3
    assert dn.count("r.parquet", order=1).n == 250


GOOD = "smoker,age,income\n" + "true,old,3\n" * 5
REFUSED: dict[str, tuple[str, str]] = {
    "an answer": (GOOD + "true,odd,3\n", r"z.csv: line 7, column 'age'.*'odd'"),
    "a number": (GOOD + "true,old,1000\n", r"z.csv: line 7, column 'income'.*'1000'"),
    "no answer": (GOOD + "true,,3\n", r"z.csv: line 7, column 'age' has no answer"),
    "short": (GOOD + "\ntrue,old\n", r"z.csv: line 8 has 2 cells where the header has 3$"),
    "long": (GOOD + "true,old,3,4\n", r"z.csv: line 7 has 4 cells where the header has 3$"),
    "missing": ("smoker,age\ntrue,old\n", "z.csv: column 'income' is missing; found 'smoker', 'age'$"),
    "twice": ("smoker,age,age,income\n", "z.csv: column 'age' occurs twice; found 'smoker', 'age', 'age', 'income'"),
    "no delimiter": ("smoker:age|income\n1;2\n", "say what stands between columns: delimiter=';'"),
    "nothing": ("", "z.csv: column 'smoker' is missing; found none: the file is empty"),
    "a large cell": ("x" * 200_000 + "\n", "z.csv: cannot be read as CSV: line 1: field larger than"),
    "many columns": (",".join(f"column {k}" for k in range(500)), r"found 'column 0', .*'column 7', and 492 more$"),
}


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("output", [None, "r.parquet"])
def test_what_is_wrong_is_told_by_file_and_row_and_nothing_is_written(
    content: str, message: str, output: str | None, folder: Path
) -> None:
    Path("answers/z.csv").write_text(content)
    Path("r.parquet").write_text("old")
    before = sorted(folder.rglob("*"))
    with pytest.raises(dn.AnswerError, match=message) as error:
        dn.randomize("answers", PLAN, output=output)
    assert str(error.value).startswith("answers/z.csv: ")
    assert len(str(error.value)) < 250
    assert sorted(folder.rglob("*")) == before
    assert Path("r.parquet").read_text() == "old"


def test_a_wrong_header_is_found_before_the_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "answers/z.csv").write_text("x\n")
    monkeypatch.setattr(answer_files, "batches", None)  # nothing is read
    with pytest.raises(dn.AnswerError, match="z.csv: column 'smoker' is missing"):
        dn.randomize("answers", PLAN)


FILES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no file": ("none.csv", {}, "none.csv: no such file"),
    "no match": ("answers/*.txt", {}, "answers/*.txt: no file matches"),
    "an empty folder": ("empty", {}, "empty: no CSV or Parquet files in this folder"),
    "another kind": ("answers/README", {}, "README: answers are read from a .csv, .tsv or .parquet file"),
    "a folder in a glob": ("folders/*", {}, "x.csv: is a folder, not a file"),
    "given twice": (["answers", "answers/c.csv"], {}, "c.csv is given more than once, and everybody in it would"),
    "reports": ("done.parquet", {}, "done.parquet: these are reports, randomized already"),
    "over an input": ("answers", {"output": "answers/b.parquet"}, "answers/b.parquet: is read from, and would be"),
    "over a link to it": ("answers", {"output": "link.csv"}, "link.csv: is read from, and would be written over"),
    "to no folder": ("answers", {"output": "none/r.parquet"}, "cannot be written: there is no folder"),
    "to a folder": ("answers", {"output": "empty"}, "it is a folder"),
    "no generator": ("answers", {"rng": "1"}, "rng must be a numpy Generator"),
}


@pytest.mark.parametrize(("source", "options", "message"), FILES.values(), ids=FILES.keys())
def test_files_that_cannot_be_read_or_written(
    source: Any, options: dict[str, Any], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("empty").mkdir()
    Path("folders/x.csv").mkdir(parents=True)
    Path("link.csv").symlink_to("answers/c.csv")
    dn.randomize(answers(3), PLAN, output="done.parquet")
    before = {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}
    monkeypatch.setattr(answer_files, "batches", None)  # nothing is read before it is refused
    with pytest.raises(dn.DeniableError, match=re.escape(message)):
        dn.randomize(source, PLAN, **options)
    assert {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")} == before


@pytest.mark.usefixtures("folder")
def test_what_is_not_parquet_is_named() -> None:
    Path("answers/z.parquet").write_text("not Parquet")
    with pytest.raises(dn.ReportError, match="answers/z.parquet: cannot be read as Parquet"):
        dn.randomize("answers", PLAN)


def test_stopped_halfway_nothing_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old file stays until all of the new one is there."""
    Path("r.parquet").write_text("old")
    before = sorted(folder.rglob("*"))
    batches = answer_files.batches

    def stopped(*arguments: Any) -> Any:
        yield from list(batches(*arguments))[:2]
        assert len(sorted(folder.rglob("*"))) == len(before) + 1  # being written, under another name
        raise KeyboardInterrupt

    monkeypatch.setattr(answer_files, "batches", stopped)
    with pytest.raises(KeyboardInterrupt):
        dn.randomize("answers", PLAN, output="r.parquet")
    assert sorted(folder.rglob("*")) == before
    assert Path("r.parquet").read_text() == "old"


def test_a_frame_in_the_place_of_the_plan_is_not_printed() -> None:
    for frame in (answers(1000), answers(1000).to_pandas(), "x" * 70_000, {"smoker": [True] * 10_000}):
        with pytest.raises(dn.PlanError, match="randomize needs a Plan, as Plan.load gives it; found") as error:
            dn.randomize(PLAN, frame)  # type: ignore[call-overload]
        assert len(str(error.value)) < 200


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_files(ending: str, tmp_path: Path) -> None:
    """Four times as many records take hardly more memory from files to a file, and much more if they are kept."""
    dn.Plan(dn.Schema([dn.Choice("a", ["x", "y"])]), {"a": dn.LocalHashing(epsilon=1.0)}).save(tmp_path / "plan.json")
    records = pa.table({"a": random.Random(1).choices("xy", k=250_000), "note": ["some words to read"] * 250_000})
    for files in (4, 16):
        (tmp_path / str(files)).mkdir()
        for part in range(files):
            path = tmp_path / f"{files}/{part}.{ending}"
            csv.write_csv(records, path) if ending == "csv" else pq.write_table(records, path)
    code = f"os.chdir({str(tmp_path)!r}); plan = dn.Plan.load('plan.json'); "
    written = [peak_kilobytes(f"{code}dn.randomize('{files}', plan, output='r.parquet')") for files in (4, 16)]
    kept = [peak_kilobytes(f"{code}dn.randomize('{files}', plan)") for files in (4, 16)]
    assert written[1] - written[0] < 30_000
    assert kept[1] - kept[0] > 60_000
