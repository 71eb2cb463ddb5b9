"""Answers of plans with arms: complete ones, or nulls for what was not asked; from memory and from files."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import deniable as dn
from deniable.reports import answer_files
from deniable.reports.reading import csv_files

SCHEMA = dn.Schema(
    [
        dn.Flag("smoker"),
        dn.Choice("age", ["young", "old"]),
        dn.Choice.bins("income", [0, 10, 100]),
        dn.Flags("drugs", ["tea", "other"]),
        dn.Choice("region", ["north", "south"]),
    ]
)
# Nearly open, so that what comes out is what went in: an answer is changed once in some ten thousand times.
OPEN = dn.Plan(
    SCHEMA, {"region": dn.Public()}, epsilon=12.0, arms={"a": ["smoker", "age"], "b": [["income"], ["drugs"]]}
)
PLAN = dn.Plan(
    SCHEMA, {"region": dn.Public()}, epsilon=2.0, arms={"a": ["smoker", "age"], "b": [["income"], ["drugs"]]}
)
RANGES = list(map(str, SCHEMA["income"].answers))
N = 40
COLUMNS: dict[str, list[Any]] = {
    "which": ["b" if k % 3 else "a" for k in range(N)],
    "smoker": [None if k % 3 else k % 2 == 0 for k in range(N)],
    "age": [None if k % 3 else ["young", "old"][k // 3 % 2] for k in range(N)],
    "income": [float(k) if k % 3 else None for k in range(N)],
    "drugs: tea": [k % 4 == 1 if k % 3 else None for k in range(N)],
    "drugs: other": [k % 5 == 1 if k % 3 else None for k in range(N)],
    "region": [["north", "south"][k % 2] for k in range(N)],
    "note": list(range(N)),
}
ROWS = [{name: column[k] for name, column in COLUMNS.items()} for k in range(N)]


def check_open(reports: dn.Reports) -> None:
    """What the records above show if nothing is changed."""
    first, second = (part.table.to_pylist() for part in reports.arms)
    asked = [row for row in ROWS if row["which"] == "a"]
    assert [row["region"] for row in first] == [row["region"] for row in asked]
    assert [row["smoker x age"] for row in first] == [f"{row['smoker']} x {row['age']}" for row in asked]
    asked = [row for row in ROWS if row["which"] == "b"]
    assert [row["region"] for row in second] == [row["region"] for row in asked]
    ranges = [RANGES[0 if row["income"] < 10 else 1] for row in asked]
    shown = [row.get("income") or next(v for v in RANGES if row[f"income: {v}"]) for row in second]
    assert shown == ranges


SOURCES: dict[str, Any] = {
    "columns": lambda: COLUMNS,
    "records": lambda: ROWS,
    "records without what was not asked": lambda: [{k: v for k, v in row.items() if v is not None} for row in ROWS],
    "Arrow": lambda: pa.table(COLUMNS),
    "chunks": lambda: pa.concat_tables([pa.table(COLUMNS).slice(k, 7) for k in range(0, N, 7)]),
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with categories": lambda: pd.DataFrame(COLUMNS).astype({"which": "category", "age": "category"}),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "lazy": lambda: pl.LazyFrame(COLUMNS),
    "rubbish where not asked": lambda: (
        COLUMNS
        | {"age": [value or "odd" for value in COLUMNS["age"]], "income": [v or -1.0 for v in COLUMNS["income"]]}
    ),
    "of several types": lambda: COLUMNS | {"smoker": [{} if v is None else v for v in COLUMNS["smoker"]]},
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_nulls_for_what_was_not_asked(source: Any) -> None:
    check_open(dn.randomize(source(), OPEN, arm="which", rng=np.random.default_rng(1)))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_with_nulls(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory and to a file, whose parts go on where the last one ended."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(csv_files, "BLOCK", 300)
    monkeypatch.setattr(answer_files, "PARQUET_CELLS", 7 * 5)
    table = pa.table(COLUMNS)
    csv.write_csv(table, "x.csv") if ending == "csv" else pq.write_table(table, "x.parquet")
    check_open(dn.randomize(f"x.{ending}", OPEN, arm="which", rng=np.random.default_rng(1)))
    assert dn.randomize(f"x.{ending}", OPEN, arm="which", output="r.parquet", rng=np.random.default_rng(1)) == N
    check_open(dn.Reports.load("r.parquet"))
    with pytest.raises(dn.AnswerError, match=f"x.{ending}: (row|line) .[ ,]"):  # without arms somebody has no answer
        dn.randomize(f"x.{ending}", PLAN)


def test_a_file_may_lack_what_its_arms_do_not_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arm in ("a", "b"):
        rows = [{k: v for k, v in row.items() if v is not None} for row in ROWS if row["which"] == arm]
        csv.write_csv(pa.Table.from_pylist(rows), f"{arm}.csv")
    check_open(dn.randomize(["a.csv", "b.csv"], OPEN, arm="which", rng=np.random.default_rng(1)))


def test_complete_answers_are_looked_at_for_their_own_arm_alone() -> None:
    """Everybody falls into an arm; a column that no arm of theirs asks is never encoded."""
    complete = {
        "smoker": [True] * 500,
        "age": ["old"] * 500,
        "income": [5] * 500,
        "drugs: tea": [False] * 500,
        "drugs: other": [True] * 500,
        "region": ["south"] * 500,
    }
    reports = dn.randomize(complete, PLAN)
    assert min(len(part) for part in reports.arms) > 150
    assert len(reports) == 500
    some = dn.Plan(SCHEMA, epsilon=1.0, arms={("smoker", "age"): 65535, ("income", "drugs", "region"): 1})
    wrong = complete | {"income": ["nothing"] * 500, "region": [None] * 500}
    sizes = [len(part) for part in dn.randomize(wrong, some, rng=np.random.default_rng(1)).arms]
    assert sizes == [500, 0]
    wrong["smoker"] = [*[True] * 499, "maybe"]
    with pytest.raises(dn.AnswerError, match=r"row 499 \(counted from 0\), column 'smoker'"):
        dn.randomize(wrong, some, rng=np.random.default_rng(1))


def test_one_record_and_none() -> None:
    one = {name: column[:1] for name, column in COLUMNS.items()}
    assert [len(part) for part in dn.randomize(one, OPEN, arm="which").arms] == [1, 0]
    for nobody in ({name: [] for name in COLUMNS}, pa.table(COLUMNS)[:0], pd.DataFrame(COLUMNS)[:0]):
        assert len(dn.randomize(nobody, OPEN, arm="which")) == len(dn.randomize(nobody, OPEN)) == 0


def changed(name: str, row: int, value: Any) -> dict[str, list[Any]]:
    return COLUMNS | {name: [*COLUMNS[name][:row], value, *COLUMNS[name][row + 1 :]]}


def without(*names: str) -> dict[str, list[Any]]:
    return {name: column for name, column in COLUMNS.items() if name not in names}


REFUSED: dict[str, tuple[Any, str]] = {
    "an answer": (lambda: changed("age", 30, "odd"), r"row 30 \(counted from 0\), column 'age'.*'odd'"),
    "an answer in a list": (
        lambda: changed("smoker", 33, {}),
        r"row 33 \(counted from 0\), column 'smoker'",
    ),
    "a number": (lambda: changed("income", 32, -5.0), r"row 32 \(counted from 0\), column 'income'.*-5.0"),
    "no answer": (lambda: changed("age", 9, None), r"row 9 \(counted from 0\), column 'age' has no answer \(null\)"),
    "no answer in a record": (
        lambda: [{k: v for k, v in row.items() if (n, k) != (12, "age")} for n, row in enumerate(ROWS)],
        r"row 12 \(counted from 0\), column 'age' has no answer \(null\)",
    ),
    "an unknown arm": (
        lambda: changed("which", 5, "c"),
        r"row 5 \(counted from 0\), column 'which': 'c' is no arm of this plan; its arms are 'a', 'b'",
    ),
    "a misspelt arm": (
        lambda: COLUMNS | {"which": ["A"] * N},
        r"column 'which': 'A' is no arm of this plan; its arms are 'a', 'b'; did you mean 'a'\?",
    ),
    "no arm": (lambda: changed("which", 6, None), r"row 6 \(counted from 0\), column 'which': null; every record has"),
    "arms as numbers": (lambda: COLUMNS | {"which": range(N)}, "column 'which' must be text, .*; found int64"),
    "arms of several types": (lambda: changed("which", 3, 4), "column 'which' must be text, .*of several types"),
    "no column of arms": (lambda: without("which"), "column 'which' is missing"),
    "a column that is asked": (
        lambda: without("age"),
        "column 'age' is missing, and arm 'a' asks it; found 'which', 'smoker'",
    ),
    "a frame without it": (lambda: pd.DataFrame(without("age")), "column 'age' is missing, and arm 'a' asks it"),
    "reports": (lambda: dn.randomize(COLUMNS, OPEN, arm="which").table, "these are reports, randomized already"),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(data: Any, message: str) -> None:
    with pytest.raises(dn.AnswerError, match=message):
        dn.randomize(data(), PLAN, arm="which")


def test_missing_answers_hint_at_the_column_of_arms(tmp_path: Path) -> None:
    """Where arms are drawn all answers are needed; an error about one that is missing says how not to need it."""
    hint = r"name the column that says which, arm='...': answers to the questions of other arms may then be left out$"
    answers = {name: column * 5 for name, column in without("which").items()}
    table = pa.table(answers)
    pq.write_table(table, tmp_path / "x.parquet")
    csv.write_csv(table, tmp_path / "x.csv")
    rows = [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]
    for data in (answers, table.to_pandas(), rows, str(tmp_path / "x.parquet"), str(tmp_path / "x.csv")):
        with pytest.raises(dn.AnswerError, match=hint) as refused:
            dn.randomize(data, OPEN)
        assert type(refused.value) is dn.AnswerError
    for data in (without("age"), pd.DataFrame(without("age")), tmp_path / "y.csv"):
        (tmp_path / "y.csv").write_text("smoker,income\ntrue,5\n")
        with pytest.raises(dn.AnswerError, match=f"column 'age' is missing; found.*{hint}"):
            dn.randomize(data, OPEN)


def test_no_hint_at_arms_where_it_would_not_help() -> None:
    """What an arm was given for, what is wrong rather than missing, and plans without arms get no such hint."""
    some = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    complete = {name: [next(value for value in column if value is not None)] * N for name, column in COLUMNS.items()}
    complete["smoker"] = ["maybe"] * N
    for data, plan, arm in (
        (changed("age", 9, None), OPEN, "which"), (complete, OPEN, None), ({"smoker": [None]}, some, None)
    ):  # fmt: skip
        with pytest.raises(dn.AnswerError) as refused:
            dn.randomize(data, plan, arm=arm)
        assert "arm=" not in str(refused.value)


def test_errors_in_files_name_the_row_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(answer_files, "PARQUET_CELLS", 7 * 5)
    for name, row, value in (("age", 30, "odd"), ("which", 31, "c")):
        pq.write_table(pa.table(changed(name, row, value)), "x.parquet")
        with pytest.raises(
            dn.AnswerError, match=rf"x.parquet: row {row} \(counted from 0\), column '{name}'.*'{value}'"
        ):
            dn.randomize("x.parquet", PLAN, arm="which", output="r.parquet")
    csv.write_csv(pa.table(without("which")), "x.csv")
    with pytest.raises(dn.AnswerError, match="x.csv: column 'which' is missing"):
        dn.randomize("x.csv", PLAN, arm="which")
    Path("x.csv").write_text("which,age,age\na,old,old\n")
    with pytest.raises(dn.AnswerError, match="x.csv: column 'age' occurs twice"):
        dn.randomize("x.csv", PLAN, arm="which")
    Path("x.csv").write_text("smoker,age\ntrue,old\n")
    with pytest.raises(dn.AnswerError, match="x.csv: column 'income' is missing"):
        dn.randomize("x.csv", PLAN)
    assert not Path("r.parquet").exists()


def test_whether_a_column_of_arms_is_needed() -> None:
    assigned = dn.Plan(
        SCHEMA, epsilon=1.0, arms={"a": ["smoker", "age", "region"], "b": ["income", "drugs"]}, assigned=True
    )
    with pytest.raises(dn.PlanError, match="not drawn, they are assigned to respondents; say which column"):
        dn.randomize(COLUMNS, assigned)
    assert len(dn.randomize(COLUMNS, assigned, arm="which")) == N
    with pytest.raises(dn.PlanError, match="has no arms, but a column of their names is given, arm='which'"):
        dn.randomize(COLUMNS, dn.Plan(SCHEMA, epsilon=1.0), arm="which")
    with pytest.raises(dn.PlanError, match="arm is the name of the column .*; found 3"):
        dn.randomize(COLUMNS, PLAN, arm=3)  # type: ignore[call-overload]


def test_without_a_column_of_arms_every_question_must_be_there() -> None:
    with pytest.raises(dn.AnswerError, match="column 'age' is missing"):
        dn.randomize(without("age"), PLAN)
    with pytest.raises(dn.AnswerError, match=r"row 0 \(counted from 0\), column 'age' is missing"):
        dn.randomize([{"smoker": True}], PLAN)


def test_a_seed_repeats_and_no_seed_does_not() -> None:
    complete = {name: [value or column[0] or column[1] for value in column] for name, column in COLUMNS.items()}
    once = dn.randomize(complete, PLAN, rng=np.random.default_rng(1))
    assert dn.randomize(complete, PLAN, rng=np.random.default_rng(1)) == once
    assert dn.randomize(complete, PLAN, rng=np.random.default_rng(2)) != once
    assert dn.randomize(complete, PLAN) != dn.randomize(complete, PLAN)


def test_a_public_column_may_name_the_arms() -> None:
    schema = dn.Schema([dn.Choice("arm", ["x", "y"]), dn.Flag("f"), dn.Flag("g")])
    plan = dn.Plan(schema, {"arm": dn.Public()}, epsilon=1.0, arms={"x": ["f"], "y": ["g"]})
    reports = dn.randomize({"arm": ["y", "x", "y"], "f": [True] * 3, "g": [False] * 3}, plan, arm="arm")
    assert [part.table["arm"].to_pylist() for part in reports.arms] == [["x"], ["y", "y"]]
    assert reports.table["arm (2)"].to_pylist() == reports.table["arm"].to_pylist() == ["x", "y", "y"]
