"""Counts against brute force, from memory and from files, in one part and in many."""

import json
import os
import subprocess
import sys
from functools import reduce
from itertools import combinations, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable import counting, kernels, twins
from deniable.client import PRIME

from .scripted import some_records
from .situations import PLANS, values
from .test_reports import some_reports

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
    monkeypatch.setattr(counting, "CODED_CELLS", cells)
    reports = some_reports(MIXED, 300)
    for names in (("flag", "grr", "arm", "wave two"), ("grr", "arm"), ("arm",), ("wave two", "flag")):
        np.testing.assert_array_equal(dn.count(reports, names).array(*names), brute_force(reports, names))
    flags = some_reports(FLAGS, 300)
    for size in (1, 7, 8, 9, 12):
        names = FLAGS.schema.names[:size]
        np.testing.assert_array_equal(dn.count(flags, names).array(*names), brute_force(flags, names))


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
    with pytest.raises(dn.ReportError, match="r.parquet, from report 0 on: column 'a' of the reports has nulls"):
        dn.count(tmp_path / "r.parquet", ["a"])


MEMORY = """
import resource, sys
import deniable as dn, pyarrow as pa
{what}
print(pa.default_memory_pool().max_memory())
"""


def peak_of_arrow(what: str) -> int:
    code = MEMORY.format(what=what)
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Columns in flight stay below a limit that loading the file breaks and that a longer file keeps."""
    plan = dn.Plan(dn.Schema([dn.Choice("a", values(9))]), {"a": dn.LocalHashing(epsilon=1.0)})
    limit = 56 << 20
    for rows in (400_000, 4_000_000):
        codes = np.zeros(rows, np.int16)
        counting_file = tmp_path / f"{rows}.parquet"
        dn.randomize({"a": pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["v0"]))}, plan).save(counting_file)
        assert peak_of_arrow(f"assert dn.count({str(counting_file)!r}, order=1).n == {rows}") < limit
    assert peak_of_arrow(f"dn.Reports.load({str(counting_file)!r})") > limit


# -- what is refused --------------------------------------------------------------------------------------------------


REFUSED: dict[str, tuple[Any, str]] = {
    "nothing asked": (lambda: dn.count(some_reports(MIXED)), "names of features, or order=2"),
    "both asked": (lambda: dn.count(some_reports(MIXED), ["flag"], order=2), "give one of them"),
    "order 0": (lambda: dn.count(some_reports(MIXED), order=0), "whole number from 1 to .*, 7; found 0"),
    "order 8": (lambda: dn.count(some_reports(MIXED), order=8), "found 8"),
    "order half": (lambda: dn.count(some_reports(MIXED), order=1.5), "found 1.5"),
    "no names": (lambda: dn.count(some_reports(MIXED), []), "one or more different features; found"),
    "name twice": (lambda: dn.count(some_reports(MIXED), ["flag", "flag"]), "different features; found"),
    "no feature": (lambda: dn.count(some_reports(MIXED), ["sex"]), "no feature 'sex'"),
    "mixed lists": (lambda: dn.count(some_reports(MIXED), ["flag", ["grr"]]), "found 'flag'"),
    "not counted": (
        lambda: dn.count(some_reports(MIXED), ["flag"]).array("grr"),
        "grr was not counted, only flag; count",
    ),
    "three of pairs": (lambda: dn.count(some_reports(MIXED), order=2).array("flag", "grr", "arm"), "only every pair"),
    "array of nothing": (lambda: dn.count(some_reports(MIXED), order=2).array(), "one or more different"),
    "array twice": (lambda: dn.count(some_reports(MIXED), order=2).array("flag", "flag"), "different features"),
    "another plan": (
        lambda: dn.count(some_reports(MIXED), order=1) + dn.count(some_reports(FLAGS), order=1),
        f"different plans do not add: {MIXED.fingerprint} and {FLAGS.fingerprint}",
    ),
    "other tables": (
        lambda: dn.count(some_reports(MIXED), order=2) + dn.count(some_reports(MIXED), ["flag"]),
        "different tables do not add: every pair, and flag",
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
    monkeypatch.setattr(os, "sysconf", lambda _: 4096)
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
import deniable.planes; deniable.planes.WORTH = 0
dn.count(reports, order=2)
print(json.dumps([small, "deniable.kernels" in sys.modules]))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(out) == [False, True]


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
