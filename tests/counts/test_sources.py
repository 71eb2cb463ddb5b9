"""Where reports come from: files, folders and patterns of names are counted as in memory; bad ones are named."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.counts import sources
from deniable.reports.parquet import write
from tests.support.memory import needs_proc, peak_kilobytes
from tests.support.situations import MIXED, PLANS, values
from tests.support.surveys import brute_force, some_reports


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    "asked", [{"order": 2}, {"order": 3}, {"names": ["hash", "arm", "flag"]}, {"names": ["grr"]}], ids=str
)
def test_streamed_is_in_memory(folder: Path, asked: dict[str, Any]) -> None:
    whole = dn.count(some_reports(MIXED, 1000), **asked)
    files = sorted(folder.iterdir())
    for source in (
        folder,
        str(folder),
        f"{folder}/*.parquet",
        files,
        [folder / "part0.parquet", f"{folder}/part[123]*"],
    ):
        assert dn.count(source, **asked) == whole
    assert dn.count(files[1], **asked) == dn.count(dn.Reports.load(files[1]), **asked)


def test_row_groups_and_batches_of_odd_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = some_reports(MIXED, 9000)
    reports.save(tmp_path / "r.parquet")
    table = pq.read_table(tmp_path / "r.parquet")
    pq.write_table(table, tmp_path / "r.parquet", row_group_size=777)
    monkeypatch.setattr("deniable.counts.tally_of_arm.MOST_ROWS", 4096)
    assert dn.count(tmp_path / "r.parquet", order=2) == dn.count(reports, order=2)


def test_reports_sliced_between_bytes_are_counted() -> None:
    reports = some_reports(MIXED, 200)
    part = dn.Reports(MIXED, reports.table.slice(3, 101))
    np.testing.assert_array_equal(dn.count(part, order=2).array("flag", "oue"), brute_force(part, ("flag", "oue")))


def test_bad_files_are_named(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "part2.parquet").read_bytes()
    (folder / "part2.parquet").write_bytes(whole[:-9])
    with pytest.raises(dn.ReportError, match="part2.parquet: cannot be read as Parquet"):
        dn.count(folder, order=2)
    damaged = bytearray(whole)
    damaged[4:2000] = os.urandom(1996)
    (folder / "part2.parquet").write_bytes(damaged)
    with pytest.raises(dn.ReportError, match="part2.parquet: "):
        dn.count(folder, order=2)
    some_reports(PLANS["one flag"]).save(folder / "part2.parquet")
    with pytest.raises(
        dn.CountError, match=f"part2.parquet is of another plan than .*part0.parquet: .*{MIXED.fingerprint}"
    ):
        dn.count(folder, order=2)
    pq.write_table(pa.table({"a": [1]}), folder / "part2.parquet")
    with pytest.raises(dn.ReportError, match="part2.parquet: there is no plan"):
        dn.count(folder, order=2)
    table = some_reports(MIXED).table.drop("grr")
    pq.write_table(table.replace_schema_metadata({"deniable.plan": MIXED.to_json()}), folder / "part2.parquet")
    with pytest.raises(dn.ReportError, match="part2.parquet: column 'grr' is missing"):
        dn.count(folder, order=2)
    with pytest.raises(dn.ReportError, match="nowhere/x.*: no file matches"):
        dn.count(tmp_path / "nowhere/x*", order=2)
    with pytest.raises(dn.ReportError, match="no files are given"):
        dn.count([], order=2)


def test_a_set_of_another_size_is_numbered_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.counts.tally_of_arm.MOST_ROWS", 4096)
    table = some_reports(PLANS["subsets"], 9000).table
    bits = np.array(table["three: v0"])
    bits[8500] = ~bits[8500]
    place = table.column_names.index("three: v0")
    pq.write_table(table.set_column(place, "three: v0", pa.array(bits)), tmp_path / "r.parquet")
    with pytest.raises(
        dn.ReportError, match=r"r.parquet: report 8500 \(counted from 0\): [24] of the columns 'three: v0'"
    ):
        dn.count(tmp_path / "r.parquet", order=2)


def test_a_null_in_a_file_is_refused(tmp_path: Path) -> None:
    table = some_reports(PLANS["one flag"], 3).table.set_column(0, "a", pa.array([True, None, False]))
    pq.write_table(
        table.replace_schema_metadata({"deniable.plan": PLANS["one flag"].to_json()}), tmp_path / "r.parquet"
    )
    with pytest.raises(
        dn.ReportError, match=r"r.parquet: report 1 \(counted from 0\), column 'a': null; a report leaves nothing out"
    ):
        dn.count(tmp_path / "r.parquet", ["a"])


@pytest.mark.slow
@needs_proc
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Once all workers have batches, more reports take hardly more memory when streamed, and much more when loaded."""
    plan = dn.Plan(dn.Schema([dn.Choice("a", values(9))]), {"a": dn.LocalHashing(epsilon=1.0)})
    part, files = dn.randomize({"a": ["v0"] * 800_000}, plan), {}
    for rows in (2_400_000, 9_600_000):
        files[rows] = str(tmp_path / f"{rows}.parquet")
        write(files[rows], plan, [part] * (rows // 800_000))
    streamed = [peak_kilobytes(f"assert dn.count({path!r}, order=1).n == {rows}") for rows, path in files.items()]
    loaded = [peak_kilobytes(f"dn.Reports.load({path!r})") for path in files.values()]
    assert streamed[1] - streamed[0] < 50_000
    assert loaded[1] - loaded[0] > 100_000


def test_files_are_counted_once_and_found_at_any_depth(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "part3.parquet").rename(folder / "deep/part3.parquet")
    (folder / "._part0.parquet").write_text("not a file of reports")
    assert dn.count(f"{folder}/**/part*.parquet", ["flag"]).n == 1000
    assert dn.count(folder, ["flag"]).n == 512
    with pytest.raises(dn.ReportError, match="part0.parquet is given more than once"):
        dn.count([folder, folder / "part0.parquet"], ["flag"])
    (folder / "empty").mkdir()
    with pytest.raises(dn.ReportError, match="empty: no Parquet files in this folder"):
        dn.count(folder / "empty", ["flag"])


def test_a_plan_in_the_files_own_metadata_is_found(tmp_path: Path) -> None:
    reports = some_reports(MIXED)
    frame = pl.from_arrow(reports.table)
    frame.write_parquet(tmp_path / "r.parquet", metadata={"deniable.plan": MIXED.to_json()})
    assert dn.count(tmp_path / "r.parquet", order=2) == dn.count(reports, order=2)
    assert dn.Reports(MIXED, frame) == reports
    frame.with_columns(pl.col("grr").cast(pl.String).cast(pl.Categorical)).pipe(lambda f: dn.Reports(MIXED, f)).save(
        tmp_path / "again.parquet"
    )
    assert dn.Reports.load(tmp_path / "again.parquet") == reports


def test_a_bad_report_is_numbered_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.counts.tally_of_arm.MOST_ROWS", 4096)
    shown = ["v1"] * 9000
    shown[5000] = "v9"
    reports = some_reports(MIXED, 9000)
    table = reports.table.set_column(1, "grr", pa.array(shown))
    pq.write_table(table.replace_schema_metadata({"deniable.plan": MIXED.to_json()}), tmp_path / "r.parquet")
    with pytest.raises(dn.ReportError, match=r"r.parquet: report 5000 \(counted from 0\), column 'grr': 'v9' is not"):
        dn.count(tmp_path / "r.parquet", order=2)
    double = pa.table([table["flag"], table["flag"]], ["flag", "flag"])
    pq.write_table(double.replace_schema_metadata({"deniable.plan": MIXED.to_json()}), tmp_path / "r.parquet")
    with pytest.raises(dn.ReportError, match=r"r.parquet: column 'flag' occurs twice"):
        dn.count(tmp_path / "r.parquet", ["flag"])


def test_empty_pieces_of_a_table_do_not_matter() -> None:
    reports = some_reports(MIXED, 50)
    pieces = pa.concat_tables([reports.table.slice(7, 0), reports.table.slice(0, 13), reports.table.slice(13, 0)])
    assert len(dn.Reports(MIXED, pieces)) == 13
    assert len(dn.Reports(MIXED, pa.concat_tables([pieces, reports.table.slice(13)]))) == 50


def test_a_schema_is_read_once_however_many_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow makes it again whenever it is asked for, from all columns."""
    plan = dn.Plan(dn.Schema([dn.Flag(f"q{k}") for k in range(40)]), epsilon=40.0)
    some_reports(plan, 5).save(tmp_path / "r.parquet")
    plain, made = pq.ParquetFile.schema_arrow, []
    monkeypatch.setattr(pq.ParquetFile, "schema_arrow", property(lambda self: made.append(1) or plain.fget(self)))
    assert dn.count(tmp_path / "r.parquet", order=1).n == 5
    assert 1 <= len(made) <= 5


def between(monkeypatch: pytest.MonkeyPatch, what: Callable[[], object]) -> None:
    """Let something happen when files were described, and before the first is read."""
    plain = sources.described

    def described(*given: Any) -> Any:
        found = plain(*given)
        what()
        return found

    monkeypatch.setattr(sources, "described", described)


def test_a_file_that_changes_on_the_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be counted by the plan of the file that it was."""
    path = tmp_path / "r.parquet"
    mine, other = (
        dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(epsilon=epsilon)}) for epsilon in (3.0, 0.1)
    )
    some_reports(mine, 50).save(path)
    between(monkeypatch, lambda: some_reports(other, 500).save(path))
    with pytest.raises(dn.ReportError, match=r"r.parquet: has changed since counting began; count again"):
        dn.count(path, order=1)
    between(monkeypatch, path.unlink)
    with pytest.raises(dn.ReportError, match=r"r.parquet: was there when counting began, and is not any more"):
        dn.count(path, order=1)


def test_a_file_that_changes_while_it_is_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.parquet"
    some_reports(MIXED, 50).save(path)
    plain = sources.part_batches

    def part_batches(*given: Any) -> Any:
        yield from plain(*given)
        some_reports(MIXED, 60).save(path)

    monkeypatch.setattr(sources, "part_batches", part_batches)
    with pytest.raises(dn.ReportError, match=r"r.parquet: has changed since counting began"):
        dn.count(path, order=1)


def test_a_file_that_comes_too_late_is_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or what holds it could not be added to what does not."""
    some_reports(MIXED, 50).save(tmp_path / "0.parquet")
    between(monkeypatch, lambda: some_reports(MIXED, 30).save(tmp_path / "1.parquet"))
    first = dn.count(tmp_path, order=2)
    monkeypatch.undo()
    assert (first.n, [*first.sources.values()]) == (50, ["0.parquet"])
    assert (first + dn.count(tmp_path / "1.parquet", order=2)).n == 80
