"""Reports as tables, bytes and files: the same reports come back, and what is damaged is refused by name."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.reports.fields import columns_of, report_bytes
from deniable.reports.parquet import PLAN_KEY, write
from tests.support.situations import MIXED, PLANS, every_plan, values
from tests.support.surveys import some_reports


@every_plan
@pytest.mark.parametrize("count", [0, 1, 100])
def test_files_and_bytes_bring_the_same_reports_back(plan: dn.Plan, count: int, tmp_path: Path) -> None:
    reports = some_reports(plan, count)
    assert len(reports) == count
    reports.save(tmp_path / "r.parquet")
    assert dn.Reports.load(str(tmp_path / "r.parquet")) == reports
    assert list(tmp_path.iterdir()) == [tmp_path / "r.parquet"]
    raw = reports.to_bytes()
    assert {len(report) for report in raw} <= {report_bytes(plan)}
    assert dn.Reports.from_bytes(raw, plan) == reports
    assert reports.plan == plan


def test_more_reports_than_a_block_turn_into_bytes_and_back() -> None:
    reports = dn.randomize({"a": np.arange(70_000) % 2}, PLANS["one flag"])
    assert dn.Reports.from_bytes(iter(reports.to_bytes()), PLANS["one flag"]) == reports


@every_plan
def test_bits_packed_together_are_those_of_each_column(plan: dn.Plan) -> None:
    raw = some_reports(plan).to_bytes()
    bits = np.unpackbits(np.array([list(report) for report in raw], np.uint8), axis=1, bitorder="little")
    table, position = dn.Reports.from_bytes(raw, plan).table, 0
    for column in columns_of(plan):
        plain = column.to_arrow(column.from_bits(bits[:, position : position + column.width]))
        assert table[column.name].combine_chunks().equals(plain)
        position += column.width


def test_files_are_ordinary_columns(tmp_path: Path) -> None:
    reports = some_reports(MIXED)
    reports.save(tmp_path / "r.parquet")
    frame = pd.read_parquet(tmp_path / "r.parquet")
    assert list(frame)[:3] == ["flag", "grr", "oue: v0"]
    assert list(frame["grr"]) == reports.table["grr"].to_pylist()
    assert frame["flag"].dtype == bool
    assert {"hash: seed", "hash: bucket"} <= set(frame)
    assert pl.read_parquet(tmp_path / "r.parquet")["arm"].to_list() == reports.table["arm"].to_pylist()


def test_reports_speak_arrow() -> None:
    reports = some_reports(MIXED)
    assert pl.DataFrame(reports).height == 100
    assert pa.table(reports) == reports.table
    assert pa.table(reports).schema.metadata[PLAN_KEY] == MIXED.to_json().encode()  # the plan travels along
    assert reports != 3
    assert "100 respondents" in repr(reports)


@pytest.mark.parametrize("rewrite", ["polars", "pandas", "plain strings", "views", "other dictionary", "reordered"])
def test_a_file_rewritten_by_another_program_is_read(rewrite: str, tmp_path: Path) -> None:
    reports = some_reports(MIXED)
    table = reports.table
    match rewrite:
        case "polars":
            table = pl.from_arrow(table).to_arrow()
            assert table.schema.field("hash: seed").type == pa.large_binary()
        case "pandas":
            table = pa.Table.from_pandas(table.to_pandas())
            assert table.schema.field("hash: seed").type == pa.binary()
        case "plain strings":
            table = table.set_column(1, "grr", table["grr"].cast(pa.large_string()))
        case "views":
            table = table.set_column(1, "grr", table["grr"].cast(pa.string()).cast(pa.string_view()))
        case "other dictionary":
            table = table.set_column(1, "grr", table["grr"].cast(pa.string()).dictionary_encode())
        case "reordered":
            table = table.select(list(reversed(table.column_names))).append_column("extra", [range(100)])
    table = table.replace_schema_metadata({PLAN_KEY: MIXED.to_json()})
    pq.write_table(table, tmp_path / "r.parquet", row_group_size=30)
    assert dn.Reports.load(tmp_path / "r.parquet") == reports


def with_column(name: str, column: Any) -> dn.Reports:
    table = some_reports(MIXED, 3).table
    return dn.Reports(MIXED, table.set_column(table.column_names.index(name), name, column))


SET = some_reports(PLANS["subsets"], 1).to_bytes()[0]


def with_sets(row: int) -> dn.Reports:
    """Reports of subset selection, one of which shows one value more than it may."""
    table = some_reports(PLANS["subsets"], 3).table
    more = next(n for n in table.column_names if n.startswith("three") and not table[n][row].as_py())
    bits = table[more].to_pylist()
    bits[row] = True
    return dn.Reports(PLANS["subsets"], table.set_column(table.column_names.index(more), more, pa.array(bits)))


REFUSED: dict[str, tuple[Any, str]] = {
    "column missing": (lambda: dn.Reports(MIXED, some_reports(MIXED, 3).table.drop("grr")), "'grr' is missing"),
    "not a table": (lambda: dn.Reports(MIXED, {"grr": []}), "a Plan and a table; found Plan, dict"),
    "no plan": (lambda: dn.Reports("plan", some_reports(MIXED, 3).table), "a Plan and a table; found str, Table"),
    "column twice": (
        lambda: dn.Reports(MIXED, pa.table([[1], [2]], ["a", "a"])),
        "two columns of one name",
    ),
    "seeds of 15 bytes": (
        lambda: with_column("hash: seed", pa.array([b"x" * 15] * 3)),
        "report 0 .*a seed has 16 bytes",
    ),
    "reports not bytes": (lambda: dn.Reports.from_bytes(["a"], MIXED), "report 0 .*must be bytes; found 'a'"),
    "bytes, not a list": (lambda: dn.Reports.from_bytes(b"ab", MIXED), "report 0 .*must be bytes; found 97"),
    "arguments swapped": (lambda: dn.Reports.from_bytes(MIXED, []), r"need the plan they were made by; found \[\]"),
    "null bit": (
        lambda: with_column("flag", pa.array([True, None, False])),
        r"report 1 \(counted from 0\), column 'flag': null",
    ),
    "null value": (
        lambda: with_column("grr", pa.array(["v1", None, "v1"])),
        r"report 1 \(counted from 0\), column 'grr': null",
    ),
    "bits as numbers": (lambda: with_column("flag", pa.array([1, 0, 1])), "must be bool; found int64"),
    "unknown value": (lambda: with_column("grr", pa.array(["v1", "v0", "v9"])), "report 2 .*'v9' is not one of its"),
    "values of another type": (lambda: with_column("grr", pa.array([[1], [2], [3]])), "'grr' of the reports must be"),
    "high bucket": (lambda: with_column("hash: bucket", pa.array([0, 7, 6], pa.uint16())), "report 1 .*7 buckets"),
    "high coefficient": (
        lambda: with_column("hash: seed", pa.array([b"\0" * 16, b"\0" * 16, b"\xff" * 16], pa.binary(16))),
        "report 2 .*a coefficient of its hash is not below 2147483647",
    ),
    "short report": (lambda: dn.Reports.from_bytes([b"\0"] * 2, MIXED), "report 0 .* has 1 bytes; this plan's have 19"),
    "padding": (lambda: dn.Reports.from_bytes([b"\1", b"\2"], PLANS["one flag"]), "report 1 .*bits after its last"),
    "high value": (
        lambda: dn.Reports.from_bytes([b"\0" * 19, b"\x0e" + b"\0" * 18], MIXED),
        "report 1 .*'grr': there are 5 values, and it shows another one",
    ),
    "a set too large": (lambda: with_sets(1), r"report 1 .*: 4 of the columns 'three: v0' to 'three: v7'"),
    "a set in bytes": (
        lambda: dn.Reports.from_bytes([SET, bytes([SET[0] ^ 1]) + SET[1:]], PLANS["subsets"]),
        "report 1 .*are true, where every report has 1",
    ),
    "another plan": (
        lambda: write("never.parquet", PLANS["one flag"], [some_reports(MIXED, 3)]),
        f"reports are of plan {MIXED.fingerprint}, not {PLANS['one flag'].fingerprint}",
    ),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(make: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dn.ReportError, match=message):
        make()
    assert not list(tmp_path.iterdir())


def test_bad_files_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    with pytest.raises(dn.ReportError, match=r"r.parquet: no such file"):
        dn.Reports.load(path)
    with pytest.raises(dn.ReportError, match="is a folder, not a file"):
        dn.Reports.load(tmp_path)
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(dn.ReportError, match=r"r.parquet: cannot be read as Parquet"):
        dn.Reports.load(path)
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(dn.ReportError, match=r"r.parquet: there is no plan in its metadata"):
        dn.Reports.load(path)
    some_reports(MIXED).save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(dn.ReportError, match=r"r.parquet: cannot be read as Parquet"):
        dn.Reports.load(path)
    forged = some_reports(MIXED).table.replace_schema_metadata({PLAN_KEY: MIXED.to_json().replace("v1", "w1")})
    pq.write_table(forged, path)
    with pytest.raises(dn.ReportError, match=r"r.parquet: the plan was changed after it was made"):
        dn.Reports.load(path)


def test_what_is_not_an_ordinary_file_is_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for target, message in {
        "pipe": "it exists and is not a regular file",
        "folder": "it is a folder",
        "none/r.parquet": "there is no folder .*none",
    }.items():
        with pytest.raises(dn.DeniableError, match=f"{target}: cannot be written: .*{message}"):
            some_reports(MIXED, 3).save(tmp_path / target)
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "folder"}


def test_reports_are_saved_under_the_name_of_a_parquet_file(tmp_path: Path) -> None:
    with pytest.raises(dn.DeniableError, match=r"r.csv: reports are written to a Parquet file; call it r.parquet"):
        some_reports(MIXED, 3).save(tmp_path / "r.csv")
    assert not list(tmp_path.iterdir())


def test_links_are_followed_and_permissions_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.parquet", tmp_path / "link.parquet"
    some_reports(MIXED, 3).save(real)
    real.chmod(0o600)
    link.symlink_to(real)
    some_reports(MIXED, 5).save(link)
    assert link.is_symlink()
    assert len(dn.Reports.load(real)) == 5
    assert real.stat().st_mode & 0o777 == 0o600


def test_the_rename_comes_last_and_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.parquet"
    some_reports(MIXED, 3).save(path)
    before = path.read_bytes()

    def fails(source: Path, target: Path) -> None:
        assert pq.read_table(source).num_rows == 7  # it is whole by now
        assert Path(target).read_bytes() == before
        raise OSError("no more")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="no more"):
        some_reports(MIXED, 7).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_thousands_of_columns_turn_into_bytes_and_back() -> None:
    """4096 columns of unary encoding: looking through all of them for each takes half a minute."""
    plan = dn.Plan(dn.Schema([dn.Choice("a", values(4096))]), {"a": dn.UnaryEncoding.optimized(1.0)})
    reports = dn.randomize({"a": ["v1"] * 10}, plan)
    assert dn.Reports.from_bytes(reports.to_bytes(), plan) == reports


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    some_reports(MIXED).save(path)
    before = path.read_bytes()

    def parts() -> Any:
        yield some_reports(MIXED)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(path, MIXED, parts())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_frequencies_come_back_from_bulk_reports() -> None:
    """End to end: unbiased frequencies within five standard errors; a plan with the wrong epsilon is caught."""
    rng = np.random.default_rng(7)
    truth = rng.random(200_000) < 0.3
    plan = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)
    wrong = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.1)
    share = np.mean(dn.randomize({"a": truth}, plan, rng=rng).table["a"].to_numpy())
    for used, right in ((plan, True), (wrong, False)):
        p, q = used["a"].p, used["a"].q
        stderr = np.sqrt(used["a"].noise(1)[0, 0] / 200_000)
        assert (abs((share - p) / (q - p) - truth.mean()) < 5 * stderr) == right


def test_one_respondent_is_not_several() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=2.0)
    reports = dn.randomize({"a": [True]}, plan, rng=np.random.default_rng(1))
    assert repr(reports).startswith("<Reports of 1 respondent, 1 byte each, by <Plan")
    assert repr(dn.count(reports)).startswith("<Counts of 1 report: ")
    est = dn.estimate(reports, ["a"])
    assert ", 1 report, about" in repr(est)
    assert ", 1 report" in repr(est.cell(a=True))
    assert "1 reports" not in repr(est.cell(a=True))
