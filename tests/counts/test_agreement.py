"""What counts agree in, by hand: margins, totals, equality, contents in words, and what their files hold."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.counts import count as counting
from deniable.counts.sources import part_batches
from tests.support.situations import values

FLAGS = dn.Plan(dn.Schema([dn.Flag(name) for name in "abcdefg"]), epsilon=7.0)
THREE = dn.Plan(dn.Schema([dn.Flag(name) for name in "abc"]), epsilon=3.0)
AB, AC = [[100, 60], [40, 25]], [[100, 70], [40, 30]]


def test_tables_agree_in_the_margins_of_each_feature() -> None:
    counts = dn.Counts(THREE, {("a", "b"): AB, ("a", "c"): AC})
    assert counts.array("a").tolist() == [100, 40]
    assert counts.array("c").tolist() == [100, 70]
    with pytest.raises(dn.CountError, match="a x b and a x c do not agree in their margin of 'a'"):
        dn.Counts(THREE, {("a", "b"): AB, ("a", "c"): [[100, 70], [41, 30]]})
    with pytest.raises(dn.CountError, match="a x b and b x c do not agree in their margin of 'b'"):
        dn.Counts(THREE, {("a", "b"): AB, ("b", "c"): AC})
    with pytest.raises(dn.CountError, match="same number of reports; found .*100.*101"):
        dn.Counts(THREE, {("a", "b"): AB, ("c",): [101, 70]})


def moments(last: int) -> np.ndarray:
    """All pairs of three flags, of 100 reports; so many show b and c."""
    return np.array([[100, 40, 60, 70], [40, 40, 25, 30], [60, 25, 60, last], [70, 30, last, 70]])


def test_equal_counts_have_the_same_of_everything() -> None:
    one = dn.Counts(THREE, moments=moments(50))
    assert one == dn.Counts(THREE, moments=moments(50))
    assert one != dn.Counts(THREE, moments=moments(51))
    assert one != dn.Counts(THREE, {("a", "b"): AB})
    assert dn.Counts(THREE, {("a", "b"): AB}) != one
    assert dn.Counts(THREE, {("a", "b"): AB}) != dn.Counts(THREE, {("a", "b"): [[100, 60], [40, 26]]})
    assert dn.Counts(THREE, {("a", "b"): AB}) != dn.Counts(THREE, {("a", "b"): AB}, n=101)
    assert dn.Counts(THREE, {("a", "b"): AB}) != dn.Counts(THREE, {("a", "c"): AB})
    assert dn.Counts(THREE, n=3) == dn.Counts(THREE, n=3)
    assert dn.Counts(THREE, n=3) != "counts"


def test_moments_hold_the_tables_of_pairs_in_any_order() -> None:
    counts = dn.Counts(THREE, moments=moments(50))
    assert counts.array("c", "b").tolist() == [[100, 60], [70, 50]]
    assert counts.array("b", "a").tolist() == [[100, 40], [60, 25]]
    assert counts.array("b").tolist() == [100, 60]
    with pytest.raises(dn.CountError, match="a x b x c was not counted, only every pair"):
        counts.array("a", "b", "c")


def test_contents_are_the_first_five_tables_and_how_many_more() -> None:
    tables = {name: [10, 5] for name in "abcdefg"}
    assert "<Counts of 10 reports: a, b, c, d, e, 2 more tables, by " in repr(dn.Counts(FLAGS, tables))
    five = {name: tables[name] for name in "abcde"}
    assert "<Counts of 10 reports: a, b, c, d, e, by " in repr(dn.Counts(FLAGS, five))
    six = {name: tables[name] for name in "abcdef"}
    assert "a, b, c, d, e, 1 more tables, by " in repr(dn.Counts(FLAGS, six))
    assert "how many there are, by" in repr(dn.Counts(FLAGS, n=4))
    assert "every pair, by" in repr(dn.Counts(THREE, moments=moments(50)))


def test_a_file_says_how_many_there_are_only_if_some_were_not_asked(tmp_path: Path) -> None:
    for counts, told in (
        (dn.Counts(THREE, {("a", "b"): AB}), False),
        (dn.Counts(THREE, {("a", "b"): AB}, n=101), True),
        (dn.Counts(THREE, moments=moments(50)), False),
        (dn.Counts(THREE, n=7), True),
    ):
        counts.save(tmp_path / "counts.npz")
        with np.load(tmp_path / "counts.npz") as file:
            assert ("n" in file) is told
        assert dn.Counts.load(tmp_path / "counts.npz") == counts


def test_patterns_beyond_what_floats_hold_are_summed_exactly() -> None:
    """Two values by unary encoding: patterns 00, 01, 10 and 11, so many that one more is lost in a float."""
    plan = dn.Plan(dn.Schema([dn.Choice("a", values(2))]), {"a": dn.UnaryEncoding(p=0.2, q=0.7)})
    many = (1 << 53) + 1
    counts = dn.Counts(plan, patterns={"a": [0, 2, many, 4]})
    assert counts.array("a").tolist() == [many + 6, many + 4, 6]
    assert dn.Counts(plan, patterns={"a": [1, 2, 3, 4]}).array("a").tolist() == [10, 7, 6]


def test_reports_are_numbered_over_all_row_groups_of_a_file(tmp_path: Path) -> None:
    """Ten to a group; of some groups alone, numbers are those in the whole file."""
    plan = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)
    table = pa.table({"a": [True] * 25 + [None] + [False] * 14})
    path = tmp_path / "reports.parquet"
    pq.write_table(table.replace_schema_metadata({"deniable.plan": plan.to_json()}), path, row_group_size=10)
    said = r"reports.parquet: report 25 \(counted from 0\), column 'a': null"
    with pytest.raises(dn.ReportError, match=said):
        dn.count(path, ["a"])
    for groups in ([2], [2, 3], [1, 2]):
        with pytest.raises(dn.ReportError, match=said):
            list(part_batches(plan, path, groups, [("a",)], 4096))
    assert [len(one) for one in part_batches(plan, path, [3], [("a",)], 4096)] == [10]


def test_processors_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2} if process == 0 else {0}, raising=False)
    assert counting.processors() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert counting.processors() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert counting.processors() == 1
