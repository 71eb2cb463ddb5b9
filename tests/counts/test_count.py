"""Counts against brute force, from memory and from files, in one part and in many."""

import json
import os
import subprocess
import sys
import threading
import time
from functools import reduce
from itertools import combinations, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.client import PRIME
from deniable.counts import count as counting
from deniable.counts import tallies as jobs
from deniable.kernels import compiled as kernels
from deniable.kernels import plain as twins
from deniable.reports.parquet import write
from tests.reports.test_reports import some_reports
from tests.support.scripted import some_records
from tests.support.situations import PLANS, values

MIXED = PLANS["everything mixed"]
FLAGS = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(12)]), epsilon=12.0)
COUNTABLE = {
    name: plan for name, plan in PLANS.items() if sum(len(feature.columns) for feature in plan.schema) < 40
} | {"12 flags": FLAGS}


def supports(plan: dn.Plan, table: Any, name: str) -> np.ndarray:
    """e = (1, S_1, ..., S_m) of one feature for every report, read off the columns one report at a time."""
    feature, protocol = plan.schema[name], plan[name]
    rows = []
    for report in table.to_pylist():
        if isinstance(protocol, dn.LocalHashing):
            seed = np.frombuffer(report[f"{name}: seed"], "<u4").tolist()
            g, y = protocol.buckets, report[f"{name}: bucket"]
            bits = [sum(c * v**k for k, c in enumerate(seed)) % PRIME * g // PRIME == y for v in feature.columns]
        elif isinstance(protocol, dn.UnaryEncoding):
            bits = [report[f"{name}: {value}"] for value in feature.values]
        elif isinstance(feature, dn.Flag):
            bits = [report[name]]
        else:
            bits = [report[name] == value for value in feature.values]
        rows.append([1, *map(int, bits)])
    return np.array(rows, np.int64).reshape(len(rows), 1 + len(feature.columns))


def brute_force(reports: dn.Reports, names: tuple[str, ...]) -> np.ndarray:
    """The sum over reports of the outer product of their evidence."""
    axes = [supports(reports.plan, reports.table, name) for name in names]
    letters = "abcdefghijkl"[: len(names)]
    return np.einsum(",".join(f"n{letter}" for letter in letters) + "->" + letters, *axes, optimize=True)


@pytest.fixture(params=[twins, kernels], ids=["plain", "compiled"])
def tools(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(counting, "tools_for", lambda _: request.param)
    return request.param


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("plan", COUNTABLE.values(), ids=COUNTABLE.keys())
def test_counts_are_those_of_brute_force(plan: dn.Plan, count: int) -> None:
    reports = some_reports(plan, count)
    names = plan.schema.names
    for order in range(1, min(len(names), 4) + 1):
        counts = dn.count(reports, order=order)
        assert counts.n == count
        for table in list(combinations(names, order))[:8]:
            np.testing.assert_array_equal(counts.array(*table), brute_force(reports, table))


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("cells", [1, 1 << 40], ids=["by codes", "by planes"])
def test_both_ways_to_count_a_table_agree(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "CODED_CELLS", cells)
    reports = some_reports(MIXED, 700)
    for names in (("flag", "grr", "arm", "wave two"), ("grr", "arm"), ("arm",), ("wave two", "flag")):
        np.testing.assert_array_equal(dn.count(reports, names).array(*names), brute_force(reports, names))
    flags = some_reports(FLAGS, 700)
    for size in (1, 7, 8, 9, 12):
        names = FLAGS.schema.names[:size]
        np.testing.assert_array_equal(dn.count(flags, names).array(*names), brute_force(flags, names))


@pytest.mark.usefixtures("tools")
def test_one_feature_may_be_in_tables_counted_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "CODED_CELLS", 50)
    reports = some_reports(MIXED, 100)
    tables = [("flag", "grr"), ("flag", "grr", "arm", "wave two")]
    counts = dn.count(reports, tables)
    for names in tables:
        np.testing.assert_array_equal(counts.tables[names], brute_force(reports, names))


def brute_patterns(reports: dn.Reports, names: tuple[str, ...]) -> np.ndarray:
    """How many reports show each combination of patterns, one report at a time."""
    places = [{tuple(bits): k for k, bits in enumerate(reports.plan[name].patterns.tolist())} for name in names]
    shown = np.zeros([len(one) for one in places], np.int64)
    bits = [supports(reports.plan, reports.table, name)[:, 1:].tolist() for name in names]
    for report in zip(*bits, strict=True):
        shown[tuple(one[tuple(row)] for one, row in zip(places, report, strict=True))] += 1
    return shown


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    "names", [("oue",), ("hash",), ("grr", "sue"), ("flag", "arm", "hash", "sue"), ("oue", "wave two", "sue", "grr")]
)
def test_whole_patterns_are_those_of_brute_force(names: tuple[str, ...]) -> None:
    reports = some_reports(MIXED, 700)
    counts = dn.count(reports, names)
    np.testing.assert_array_equal(counts.shown(*names), brute_patterns(reports, names))
    np.testing.assert_array_equal(counts.array(*names), brute_force(reports, names))
    fewer = names[:0:-1]
    if fewer:
        np.testing.assert_array_equal(counts.shown(*fewer), brute_patterns(reports, fewer))
        assert counts.shown("flag", "grr", "sue", "arm") is None


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_a_feature_shows_one_value_or_bits(plan: dn.Plan) -> None:
    """What the protocol says of its bits is how they are laid out in reports."""
    for (_, protocol), columns in zip(plan, jobs.layout(plan), strict=True):
        one = protocol.columns == 1 or isinstance(columns[0], jobs.ValueColumn)
        assert protocol.several != one


def test_whole_patterns_add_and_are_saved(tmp_path: Path) -> None:
    names = ("hash", "sue")
    reports = some_reports(MIXED, 300)
    parts = [dn.Reports(MIXED, reports.table.slice(start, 100)) for start in (0, 100, 200)]
    counts = sum(dn.count(part, names) for part in parts)
    assert counts == dn.count(reports, names)
    np.testing.assert_array_equal(counts.shown(*names), brute_patterns(reports, names))
    counts.save(tmp_path / "counts.npz")
    assert dn.Counts.load(tmp_path / "counts.npz") == counts
    bits_alone = dn.Counts(MIXED, counts.tables)
    assert bits_alone != counts
    assert (bits_alone + counts).shown(*names) is None
    assert (bits_alone + counts).n == 600


def test_whole_patterns_are_kept_where_they_say_more_and_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = some_reports(MIXED, 50)
    assert not dn.count(reports, ["flag", "grr", "arm"]).patterns
    assert not dn.count(reports, order=2).patterns
    assert dn.count(reports, [["oue", "sue"], ["hash"]]).patterns.keys() == {("oue", "sue"), ("hash",)}
    assert not dn.count(reports, [["oue", "hash", "sue", "grr"], ["hash"]]).patterns  # 2^25 of them
    wide = PLANS["40 values, unary"]
    assert not dn.count(some_reports(wide, 50), ["a"]).patterns
    counts = dn.count(reports, ["hash", "sue"])
    shown = counts.shown("hash", "sue")
    assert shown is not None
    wrong = np.roll(shown, 1)
    with pytest.raises(dn.CountError, match="the patterns of hash x sue do not agree with its table"):
        dn.Counts(MIXED, counts.tables, patterns={("hash", "sue"): wrong})
    with pytest.raises(dn.CountError, match=r"the patterns of sue must have shape \(8,\); found \(3,\)"):
        dn.Counts(MIXED, patterns={"sue": [1, 2, 3]})
    with pytest.raises(dn.CountError, match="the patterns of sue must not be negative"):
        dn.Counts(MIXED, patterns={"sue": [-1] * 8})
    with pytest.raises(dn.CountError, match="the patterns of a are too many to be kept"):
        dn.Counts(wide, patterns={"a": [1]})
    monkeypatch.setattr(jobs, "MOST_PATTERNS", 4095)  # of hash and sue together
    assert not dn.count(reports, ["hash", "sue"]).patterns


@pytest.mark.usefixtures("tools")
def test_many_batches_are_counted_like_one(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = some_reports(MIXED, 20_000)
    once = dn.count(reports, order=2)
    monkeypatch.setattr(counting, "MOST_ROWS", 4096)
    assert dn.count(reports, order=2) == once


def test_axes_come_in_the_order_asked() -> None:
    counts = dn.count(some_reports(MIXED), ["oue", "flag", "grr"])
    array = counts.array("flag", "grr", "oue")
    assert array.shape == (2, 6, 12)
    assert array.dtype == np.int64
    np.testing.assert_array_equal(counts.array("oue", "grr", "flag"), array.transpose(2, 1, 0))
    np.testing.assert_array_equal(counts.array("oue", "flag"), array[:, 0, :].T)
    np.testing.assert_array_equal(counts.array("grr"), array[0, :, 0])
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0, 0] = 1


def test_the_count_of_a_margin_is_the_margin_of_the_count() -> None:
    reports = some_reports(MIXED, 500)
    whole = dn.count(reports, MIXED.schema.names)
    for order in (1, 2, 3):
        for names in combinations(MIXED.schema.names, order):
            margin = tuple(slice(None) if name in names else 0 for name in MIXED.schema.names)
            np.testing.assert_array_equal(
                dn.count(reports, names).array(*names), whole.array(*whole.plan.schema.names)[margin]
            )


def test_several_tables_in_one_pass() -> None:
    reports = some_reports(MIXED)
    counts = dn.count(reports, [["grr", "flag"], ["oue"], ["flag", "grr"]])
    assert list(counts.tables) == [("flag", "grr"), ("oue",)]
    assert "flag x grr, oue" in repr(counts)
    np.testing.assert_array_equal(counts.array("grr"), dn.count(reports, order=1).array("grr"))


def parts_of(reports: dn.Reports, cuts: list[int]) -> list[dn.Reports]:
    edges = [0, *sorted(cuts), len(reports)]
    return [dn.Reports(reports.plan, reports.table.slice(low, high - low)) for low, high in pairwise(edges)]


@given(st.lists(st.integers(0, 300), max_size=4), st.sampled_from([None, 2, 3]))
@settings(max_examples=30, deadline=None)
def test_any_split_adds_to_the_whole(cuts: list[int], order: int | None) -> None:
    reports = some_reports(MIXED, 300)
    asked: dict[str, Any] = {"order": order} if order else {"names": ["hash", "grr", "flag"]}
    parts = [dn.count(part, **asked) for part in parts_of(reports, cuts)]
    assert sum(parts) == dn.count(reports, **asked)
    assert reduce(lambda a, b: b + a, parts) == sum(parts)


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for place, part in enumerate(parts_of(some_reports(MIXED, 1000), [0, 137, 512])):
        part.save(tmp_path / f"part{place}.parquet")
    return tmp_path


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
    monkeypatch.setattr(counting, "MOST_ROWS", 4096)
    assert dn.count(tmp_path / "r.parquet", order=2) == dn.count(reports, order=2)


def test_reports_sliced_between_bytes_are_counted() -> None:
    reports = some_reports(MIXED, 200)
    part = dn.Reports(MIXED, reports.table.slice(3, 101))
    np.testing.assert_array_equal(dn.count(part, order=2).array("flag", "oue"), brute_force(part, ("flag", "oue")))


def test_bad_files_are_named(folder: Path, tmp_path: Path) -> None:
    (folder / "part2.parquet").write_bytes((folder / "part2.parquet").read_bytes()[:-9])
    with pytest.raises(dn.ReportError, match="part2.parquet: cannot be read as Parquet"):
        dn.count(folder, order=2)
    damaged = bytearray((folder / "part3.parquet").read_bytes())
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
    with pytest.raises(dn.ReportError, match="nowhere/x.*: no such file"):
        dn.count(tmp_path / "nowhere/x*", order=2)
    with pytest.raises(dn.ReportError, match="no files to count"):
        dn.count([], order=2)


def test_a_null_in_a_file_is_refused(tmp_path: Path) -> None:
    table = some_reports(PLANS["one flag"], 3).table.set_column(0, "a", pa.array([True, None, False]))
    pq.write_table(
        table.replace_schema_metadata({"deniable.plan": PLANS["one flag"].to_json()}), tmp_path / "r.parquet"
    )
    with pytest.raises(
        dn.ReportError, match=r"r.parquet: report 1 \(counted from 0\), column 'a': null; a report leaves nothing out"
    ):
        dn.count(tmp_path / "r.parquet", ["a"])


MEMORY = """
import os
from pathlib import Path
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # each worker has batches of its own
import deniable as dn
import deniable.kernels.bitplanes
deniable.kernels.bitplanes.WORTH = 0  # numba or not makes a difference of its own
{what}
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1])
"""


def peak_kilobytes(what: str) -> int:
    code = MEMORY.format(what=what)
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Once all workers have batches, more reports take hardly more memory when streamed, and much more when loaded."""
    plan = dn.Plan(dn.Schema([dn.Choice("a", values(9))]), {"a": dn.LocalHashing(epsilon=1.0)})
    files = {}
    for rows in (2_400_000, 9_600_000):
        part = dn.randomize({"a": ["v0"] * 800_000}, plan)
        files[rows] = str(tmp_path / f"{rows}.parquet")
        write(files[rows], plan, [part] * (rows // 800_000))
    streamed = [peak_kilobytes(f"assert dn.count({path!r}, order=1).n == {rows}") for rows, path in files.items()]
    loaded = [peak_kilobytes(f"dn.Reports.load({path!r})") for path in files.values()]
    assert streamed[1] - streamed[0] < 50_000
    assert loaded[1] - loaded[0] > 100_000


# -- what is refused --------------------------------------------------------------------------------------------------


REFUSED: dict[str, tuple[Any, str]] = {
    "nothing asked": (lambda: dn.count(some_reports(MIXED)), "names of features, or order=2"),
    "both asked": (lambda: dn.count(some_reports(MIXED), ["flag"], order=2), "give one of them"),
    "order 0": (lambda: dn.count(some_reports(MIXED), order=0), "whole number from 1 to .*, 7; found 0"),
    "order 8": (lambda: dn.count(some_reports(MIXED), order=8), "found 8"),
    "order half": (lambda: dn.count(some_reports(MIXED), order=1.5), "found 1.5"),
    "no names": (lambda: dn.count(some_reports(MIXED), []), "one or more different features, by their names; found"),
    "name twice": (
        lambda: dn.count(some_reports(MIXED), ["flag", "flag"]),
        "different features, by their names; found",
    ),
    "no feature": (lambda: dn.count(some_reports(MIXED), ["sex"]), "no feature 'sex'"),
    "mixed lists": (lambda: dn.count(some_reports(MIXED), ["flag", ["grr"]]), "found 'flag'"),
    "not counted": (
        lambda: dn.count(some_reports(MIXED), ["flag"]).array("grr"),
        "grr was not counted, only flag; count",
    ),
    "three of pairs": (lambda: dn.count(some_reports(MIXED), order=2).array("flag", "grr", "arm"), "only every pair"),
    "array of nothing": (lambda: dn.count(some_reports(MIXED), order=2).array(), "one or more different features"),
    "array twice": (lambda: dn.count(some_reports(MIXED), order=2).array("flag", "flag"), "different features, by"),
    "another plan": (
        lambda: dn.count(some_reports(MIXED), order=1) + dn.count(some_reports(FLAGS), order=1),
        f"different plans do not add: {MIXED.fingerprint} and {FLAGS.fingerprint}",
    ),
    "other tables": (
        lambda: dn.count(some_reports(MIXED), order=2) + dn.count(some_reports(MIXED), ["flag"]),
        "different tables do not add: every pair, and flag",
    ),
    "a number for names": (
        lambda: dn.count(some_reports(MIXED), 5),
        "a list of names, or a list of such lists; found 5",
    ),
    "a text for names": (lambda: dn.count(some_reports(MIXED), "flag"), "a list of names, .*found 'flag'"),
    "numbers for names": (lambda: dn.count(some_reports(MIXED), [[1, 2]]), r"by their names; found \[1, 2\]"),
    "a list of reports": (lambda: dn.count([some_reports(MIXED)] * 2, order=1), "count takes Reports, or a path"),
    "a table of reports": (lambda: dn.count(some_reports(MIXED).table, order=1), "count takes Reports, or a path"),
    "array of a list": (lambda: dn.count(some_reports(MIXED), order=2).array(["flag", "grr"]), "by their names"),
    "not a plan": (lambda: dn.Counts("x", {}), "made of a Plan and a mapping"),
    "not a mapping": (lambda: dn.Counts(MIXED, [1]), "made of a Plan and a mapping"),
    "ragged": (lambda: dn.Counts(MIXED, {("flag", "arm"): [[1], [1, 2]]}), r"an array of shape \(2, 3\)"),
    "twice in two orders": (
        lambda: dn.Counts(MIXED, {("flag", "wave two"): [[5, 2], [2, 2]], ("wave two", "flag"): [[5, 2], [2, 1]]}),
        "flag x wave two is given twice",
    ),
    "with itself": (
        lambda: dn.Counts(MIXED, {("flag", "flag"): [[5, 2], [2, 2]]}),
        "different features, by their names",
    ),
    "of nothing": (lambda: dn.Counts(MIXED, {(): 5}), "different features, by their names"),
    "margins that differ": (
        lambda: dn.Counts(MIXED, {("flag", "wave two"): [[5, 2], [2, 2]], ("flag", "arm"): [[5, 3, 2], [3, 1, 1]]}),
        "flag x wave two and flag x arm do not agree in their margin of 'flag'",
    ),
    "above a margin of the last axis": (
        lambda: dn.Counts(MIXED, {("flag", "wave two"): [[5, 2], [4, 3]]}),
        r"count 3 at \(1, 1\) exceeds its margin 2 at \(0, 1\)",
    ),
    "moments and tables of other totals": (
        lambda: dn.Counts(PLANS["one flag"], {"a": [4, 1]}, moments=[[3, 1], [1, 1]]),
        "same number of reports; found",
    ),
    "moments with another diagonal": (
        lambda: dn.Counts(PLANS["one flag"], moments=[[3, 2], [2, 1]]),
        "occur with itself as often as alone",
    ),
    "pairs and triples": (
        lambda: dn.count(some_reports(MIXED), order=2) + dn.count(some_reports(MIXED), order=3),
        "different tables do not add",
    ),
    "no tables": (lambda: dn.Counts(MIXED, {}), "at least one table"),
    "shape": (lambda: dn.Counts(MIXED, {("flag",): [1, 2, 3]}), r"flag must have shape \(2,\).*found \(3,\)"),
    "negative": (lambda: dn.Counts(MIXED, {"flag": [3, -1]}), r"must not be negative; found -1 at \(1,\)"),
    "above its margin": (
        lambda: dn.Counts(MIXED, {"flag": [3, 4]}),
        r"count 4 at \(1,\) exceeds its margin 3 at \(0,\)",
    ),
    "fractions": (lambda: dn.Counts(MIXED, {"flag": [3.0, 1.0]}), "must hold 64-bit integers; found float64"),
    "beyond int64": (lambda: dn.Counts(MIXED, {"flag": np.array([2**63, 1], np.uint64)}), "found uint64"),
    "unequal totals": (lambda: dn.Counts(MIXED, {"flag": [3, 1], "wave two": [4, 1]}), "same number of reports; found"),
    "moments of order 1": (lambda: dn.Counts(MIXED, moments=np.zeros(3, int)), "order 2 or 3; found 1"),
    "moments not symmetric": (
        lambda: dn.Counts(PLANS["one flag"], moments=[[3, 2], [1, 1]]),
        "must be symmetric",
    ),
    "overflow": (
        lambda: dn.Counts(MIXED, {"flag": [2**62, 1]}) + dn.Counts(MIXED, {"flag": [2**62, 1]}),
        "more than 64-bit integers can count",
    ),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(dn.DeniableError, match=message):
        make()


def test_moments_must_be_symmetric_in_all_axes() -> None:
    moments = np.array(dn.count(some_reports(PLANS["one flag"]), ["a"]).array("a"))
    cube = np.full((2, 2, 2), moments[1])
    cube[0, 0, 0] = moments[0]
    assert dn.Counts(PLANS["one flag"], moments=cube).n == 100
    for at in ((0, 0, 1), (0, 1, 1), (1, 0, 1)):
        wrong = cube.copy()
        wrong[at] -= 1
        with pytest.raises(dn.CountError, match="symmetric|margin|itself"):
            dn.Counts(PLANS["one flag"], moments=wrong)


def test_counts_are_frozen() -> None:
    counts = dn.count(some_reports(MIXED), ["flag", "grr"])
    with pytest.raises(TypeError):
        counts.tables["flag",] = np.zeros(2)
    for array in (counts.array("flag"), dn.count(some_reports(MIXED), order=2).array("flag", "grr")):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_counts_add_only_to_counts() -> None:
    counts = dn.Counts(MIXED, {"flag": [3, 1]})
    with pytest.raises(TypeError):
        counts + 1
    with pytest.raises(TypeError):
        1 + counts
    assert counts != 3


def test_what_does_not_fit_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dn.Plan(dn.Schema([dn.Choice(f"f{i}", values(40)) for i in range(8)]), epsilon=8.0)
    records = [dict.fromkeys(plan.schema.names, "v0")]
    reports = dn.randomize(records, plan)
    with pytest.raises(dn.CountError, match=r"7,984,925,229,121 cells, and .* GB .* Ask for fewer features at a time"):
        dn.count(reports, plan.schema.names)
    with pytest.raises(dn.CountError, match=r"cells, and .* GB .* Ask for order=4, or tables of"):
        dn.count(reports, order=5)
    monkeypatch.setattr(jobs, "physical_memory", lambda: 1 << 24)
    with pytest.raises(dn.CountError, match="Ask for order=2"):
        dn.count(reports, order=3)


@pytest.mark.parametrize("asked", [{"order": 2}, {"order": 3}, {"names": [["grr", "flag"], ["oue"]]}], ids=str)
def test_save_and_load(asked: dict[str, Any], tmp_path: Path) -> None:
    counts = dn.count(some_reports(MIXED), **asked)
    counts.save(tmp_path / "c.npz")
    again = dn.Counts.load(tmp_path / "c.npz")
    assert again == counts
    assert again.plan == MIXED
    assert list(tmp_path.iterdir()) == [tmp_path / "c.npz"]


def test_bad_files_of_counts(tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    with pytest.raises(dn.CountError, match=r"c.npz: cannot be read: No such file"):
        dn.Counts.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(dn.CountError, match=r"c.npz: is not a file of counts"):
        dn.Counts.load(path)
    np.savez(path, something=np.zeros(3))
    with pytest.raises(dn.CountError, match=r"c.npz: is not a file of counts"):
        dn.Counts.load(path)
    counts = dn.Counts(MIXED, {"flag": [3, 1]})
    np.savez(path, plan=np.array(MIXED.to_json()), **{"names 0": np.array(["flag"]), "table 0": np.array([3, 7])})
    with pytest.raises(dn.CountError, match=r"c.npz: .*exceeds its margin"):
        dn.Counts.load(path)
    forged = MIXED.to_json().replace('"p": ', '"p": 1')
    np.savez(path, plan=np.array(forged), **{"names 0": np.array(["flag"]), "table 0": np.array([3, 1])})
    with pytest.raises(dn.CountError, match=r"c.npz: the plan was changed"):
        dn.Counts.load(path)
    counts.save(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(dn.CountError, match=r"c.npz: "):
        dn.Counts.load(path)


# -- which tools ------------------------------------------------------------------------------------------------------


def test_small_jobs_do_without_numba_and_large_ones_take_it() -> None:
    code = """
import sys, json, numpy as np, deniable as dn
plan = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(16)]), epsilon=16.0)
reports = dn.randomize({name: np.zeros(10_000, bool) for name in plan.schema.names}, plan)
dn.count(reports, order=2); dn.count(reports, plan.schema.names); dn.count(reports, order=3)
small = "numba" in sys.modules
import deniable.kernels.bitplanes; deniable.kernels.bitplanes.WORTH = 0
dn.count(reports, order=2)
print(json.dumps([small, "deniable.kernels.compiled" in sys.modules]))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(out) == [False, True]


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("flags", [17, 18, 25])
def test_many_flags_are_counted_by_codes(flags: int) -> None:
    """More codes than are tallied in 32 bits, and a third and fourth group of eight flags."""
    plan = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(flags)]), epsilon=float(flags))
    rng = np.random.default_rng(flags)
    reports = dn.randomize({name: rng.random(3000) < 0.5 for name in plan.schema.names}, plan, rng=rng)
    counts = dn.count(reports, plan.schema.names)
    bits = np.column_stack([reports.table[name].to_numpy() for name in plan.schema.names])
    whole = counts.array(*plan.schema.names)
    for _ in range(40):
        chosen = rng.random(flags) < 0.2
        assert whole[tuple(chosen.astype(int))] == bits[:, chosen].all(axis=1).sum()


def test_orders_are_counted_in_the_smallest_way() -> None:
    wide = dn.Plan(dn.Schema([dn.Choice(f"f{i}", values(30)) for i in range(3)]), epsilon=3.0)
    assert dn.count(some_reports(wide), order=3).moments is None  # one table, not 91^3 cells
    flags = dn.count(some_reports(FLAGS), order=5)
    assert list(flags.tables) == [FLAGS.schema.names]  # 4096 cells hold all 792 tables
    np.testing.assert_array_equal(flags.array("f3", "f0"), dn.count(some_reports(FLAGS), order=2).array("f3", "f0"))
    assert dn.count(some_reports(FLAGS), order=np.int64(2)).moments is not None


def test_what_would_never_end_is_refused_at_once() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(200)]), epsilon=200.0)
    reports = dn.randomize({name: [True] for name in plan.schema.names}, plan)
    with pytest.raises(dn.CountError, match="64,684,950 tables of .* cells in all; ask for order=3|cells, and .* GB"):
        dn.count(reports, order=4)
    with pytest.raises(dn.CountError, match="cells, and .* GB to count them"):
        dn.count(reports, order=60)
    with pytest.raises(dn.CountError, match=r"about 10\^60 cells, and about 10\^"):
        dn.count(reports, plan.schema.names)
    for size in (64, 65, 128, 200):
        with pytest.raises(dn.CountError, match="cells, and .* GB to count them"):
            dn.count(reports, plan.schema.names[:size])
    values_of_two = dn.Plan(
        dn.Schema([dn.Choice(f"f{i}", ["x", "y"]) for i in range(24)]),
        {f"f{i}": dn.GRR(epsilon=1.0) for i in range(24)},
    )
    reports = dn.randomize({name: ["x"] for name in values_of_two.schema.names}, values_of_two)
    with pytest.raises(dn.CountError, match="282,429,536,481 cells"):  # 3^24, though there are but 2^24 codes
        dn.count(reports, values_of_two.schema.names)


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
    monkeypatch.setattr(counting, "MOST_ROWS", 4096)
    shown = ["v1"] * 9000
    shown[5000] = "v9"
    reports = some_reports(MIXED, 9000)
    table = reports.table.set_column(1, "grr", pa.array(shown))
    pq.write_table(table.replace_schema_metadata({"deniable.plan": MIXED.to_json()}), tmp_path / "r.parquet")
    with pytest.raises(dn.ReportError, match=r"r.parquet: report 5000 \(counted from 0\), column 'grr': 'v9' is not"):
        dn.count(tmp_path / "r.parquet", order=2)
    double = pa.table([table["flag"], table["flag"]], ["flag", "flag"])
    pq.write_table(double.replace_schema_metadata({"deniable.plan": MIXED.to_json()}), tmp_path / "r.parquet")
    with pytest.raises(dn.ReportError, match=r"r.parquet: column 'flag' stands twice"):
        dn.count(tmp_path / "r.parquet", ["flag"])


def test_empty_pieces_of_a_table_do_not_matter() -> None:
    reports = some_reports(MIXED, 50)
    pieces = pa.concat_tables([reports.table.slice(7, 0), reports.table.slice(0, 13), reports.table.slice(13, 0)])
    assert len(dn.Reports(MIXED, pieces)) == 13
    assert len(dn.Reports(MIXED, pa.concat_tables([pieces, reports.table.slice(13)]))) == 50


def test_an_error_in_one_worker_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_ROWS", 4096)
    monkeypatch.setattr(counting, "processors", lambda: 2)
    calls = []

    def broken(*_arguments: Any) -> None:
        calls.append(threading.get_ident())
        if len(calls) == 2:
            raise dn.CountError("broken")
        time.sleep(0.02)

    monkeypatch.setattr(twins, "pairs", broken)
    with pytest.raises(dn.CountError, match="broken"):
        dn.count(dn.randomize({f"f{i}": np.zeros(400_000, bool) for i in range(12)}, FLAGS), order=2)
    assert len(calls) < 10  # of 98 batches


def test_an_error_in_a_worker_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: Any) -> None:
        raise dn.CountError("broken")

    monkeypatch.setattr(twins, "pairs", broken)
    with pytest.raises(dn.CountError, match="broken"):
        dn.count(some_reports(MIXED, 10), order=2)


def test_frequencies_come_back_from_counts() -> None:
    """(c - N p) / (q - p) is within five standard errors for every protocol; counts of another feature are not."""
    rng = np.random.default_rng(11)
    records = some_records(MIXED, json.loads(MIXED.to_json()), 20_000, rng)
    counts = dn.count(dn.randomize(records, MIXED, rng=rng), order=1)
    for name in ("grr", "oue", "hash", "sue", "arm"):
        protocol, feature = MIXED[name], MIXED.schema[name]
        truth = np.array([sum(record[name] == value for record in records) for value in feature.values])
        estimate = (counts.array(name)[1:] - counts.n * protocol.p) / (protocol.q - protocol.p)
        stderr = np.sqrt(sum(truth[x] * np.diag(protocol.noise(x)) for x in range(len(truth))))
        assert np.all(np.abs(estimate - truth) <= 5 * stderr)
        if name != "arm":
            wrong = (counts.array(name)[1:] - counts.n * protocol.p * 1.2) / (protocol.q - protocol.p)
            assert np.any(np.abs(wrong - truth) > 5 * stderr)
