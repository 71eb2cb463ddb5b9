"""Evidence planes of some reports, by both sets of kernels, against evidence that is read off one report at a time."""

from types import ModuleType

import numpy as np
import pytest

import deniable as dn
from deniable.counts.evidence_planes import evidence, gather, gather_from, plane_rows
from deniable.kernels import plain
from deniable.kernels.bitplanes import new_planes
from tests.support.situations import MIXED, values
from tests.support.surveys import some_reports, supports

NAMES = ["hash", "flag", "grr", "sue"]


@pytest.mark.parametrize("count", [1, 8, 9, 200])
def test_planes_are_the_evidence_of_each_report(tools: ModuleType, count: int) -> None:
    reports = some_reports(MIXED, count)
    memory = new_planes(plane_rows(MIXED, NAMES), count)
    memory[:] = 0x0123456789ABCDEF  # of what was there before, nothing may be left
    rows, shown = gather_from(reports, 0, count, NAMES)
    made = evidence(MIXED, rows, shown, NAMES, memory, tools)
    bits = np.unpackbits(np.ascontiguousarray(made.planes).view(np.uint8), axis=1, bitorder="little")
    own = [supports(MIXED, reports.table, name)[:, 1:] for name in NAMES]
    expected = np.hstack([np.ones((count, 1), int), *own]).T
    np.testing.assert_array_equal(bits[:, :count], expected)
    assert not bits[:, count:].any()
    assert made.reports == count
    starts = np.cumsum([1, *(part.shape[1] for part in own)])
    assert made.firsts == dict(zip(NAMES, starts.tolist(), strict=False))


def test_the_plane_of_all_reports_ends_with_the_last_one() -> None:
    """For every number of reports: what lies after the bytes that were made for it is anything."""
    plan = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)
    reports = some_reports(plan, 300)
    for count in range(1, 300):
        made = evidence(plan, *gather_from(reports, 0, count, ["a"]), ["a"], new_planes(2, count), plain)
        assert np.bitwise_count(made.planes[0]).sum() == count


def test_without_planes_only_what_is_shown_is_kept() -> None:
    reports = some_reports(MIXED, 5)
    _, shown = gather_from(reports, 0, 5, NAMES)
    made = evidence(MIXED, 5, shown, [], new_planes(1, 5), plain)
    assert (made.reports, made.firsts, made.shown) == (5, {}, shown)


def test_a_part_of_reports_is_gathered_from_its_start() -> None:
    reports = some_reports(MIXED, 100)
    for start, rows, found in ((0, 100, 100), (0, 200, 100), (30, 40, 40), (80, 40, 20)):
        number, shown = gather_from(reports, start, rows, ["grr"])
        assert number == found
        values_shown = reports.table["grr"].to_pylist()[start : start + rows]
        assert [MIXED.schema["grr"].values[code] for code in shown["grr"]] == values_shown


def test_all_reports_and_each_column_have_a_plane() -> None:
    """One of all reports, one of a flag, three and five of choices."""
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Choice("b", values(3)), dn.Choice("c", values(5))]), epsilon=2.0)
    assert plane_rows(plan, []) == 1
    assert plane_rows(plan, ["a"]) == 2
    assert plane_rows(plan, ["a", "b", "c"]) == 10


def test_a_table_that_somebody_wrote_is_checked_and_reports_are_numbered_from_the_first() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=2.0)
    table = some_reports(plan, 20).table
    assert {*gather(plan, table, ["b"], 0)} == {"b"}
    import pyarrow as pa

    holed = table.set_column(0, "a", pa.array([True] * 3 + [None] + [True] * 16))
    with pytest.raises(dn.ReportError, match=r"^report 103 \(counted from 0\), column 'a'"):
        gather(plan, holed, ["a"], 100)
