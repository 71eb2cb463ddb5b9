"""Counts as a noun: axes in the order asked, frozen, added, saved and loaded, and what cannot be counts refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.counts.as_counts import as_counts
from deniable.counts.count import count_table
from tests.support.situations import FLAGS, MIXED, PLANS
from tests.support.surveys import brute_patterns, some_reports


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


REFUSED: dict[str, tuple[Any, str]] = {
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
        lambda: dn.Counts(MIXED, {("flag", "wave two"): [[5, 2], [2, 2]], ("flag", "arm"): [[5, 3, 2], [3, 2, 1]]}),
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


def test_of_a_flag_false_follows_if_every_report_marks_as_many() -> None:
    """10 reports with GRR, 4 of True and 1 of no answer, are 5 of False; bits of unary encoding say nothing of it."""
    schema = dn.Schema([dn.Choice("b", ["x", "y"]), dn.Flag("a", missing="no answer")])
    pairs = {"b": dn.GRR(epsilon=1.0), "a": dn.GRR(epsilon=1.0)}
    counts = dn.Counts(dn.Plan(schema, pairs), {("b", "a"): [[10, 4, 1], [6, 2, 1], [4, 2, 0]]})
    assert counts.evidence("a").tolist() == [10, 5, 4, 1]
    assert counts.evidence("b", "a").tolist() == [[10, 5, 4, 1], [6, 3, 2, 1], [4, 2, 2, 0]]
    with pytest.raises(
        dn.CountError, match=r"must have shape \(4,\), one more than the evidence columns; found \(3,\)"
    ):
        dn.Counts(dn.Plan(schema, pairs | {"a": dn.UnaryEncoding(p=0.2, q=0.6)}), {"a": [10, 4, 1]})


def test_counts_of_nobody_and_of_people_who_were_not_counted() -> None:
    plan = PLANS["one flag"]
    assert dn.Counts(plan, n=0).n == 0
    assert dn.Counts(plan, n=7).n == 7
    with pytest.raises(dn.CountError, match="at least the 4 that were counted; found 3"):
        dn.Counts(plan, {"a": [4, 1]}, n=3)


def test_counts_add_only_to_counts() -> None:
    counts = dn.Counts(MIXED, {"flag": [3, 1]})
    with pytest.raises(TypeError):
        counts + 1
    with pytest.raises(TypeError):
        1 + counts
    assert counts != 3


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


def test_counts_are_saved_under_the_name_of_a_numpy_file(tmp_path: Path) -> None:
    with pytest.raises(dn.DeniableError, match=r"c.csv: counts are written to a NumPy file; call it c.npz"):
        dn.Counts(MIXED, {"flag": [3, 1]}).save(tmp_path / "c.csv")
    assert not list(tmp_path.iterdir())


def test_patterns_that_show_nothing_are_saved_like_others(tmp_path: Path) -> None:
    """The first place is that of reports which mark none of the values."""
    schema = dn.Schema([dn.Choice("a", ["x", "y"])])
    plan = dn.Plan(schema, {"a": dn.UnaryEncoding(p=0.2, q=0.6)})
    counts = dn.Counts(plan, patterns={"a": [5, 2, 1, 3]})
    counts.save(tmp_path / "counts.npz")
    assert dn.Counts.load(tmp_path / "counts.npz") == counts
    assert counts.array("a").tolist() == [11, 4, 5]


def test_counts_are_made_of_lists_of_files(tmp_path: Path) -> None:
    plan = PLANS["one flag"]
    paths = [tmp_path / f"{part}.parquet" for part in range(2)]
    for path in paths:
        dn.randomize({"a": [True, False]}, plan).save(path)
    for files in (paths, tuple(map(str, paths))):
        assert as_counts(files).n == 4
    assert as_counts([1, 2]) == [1, 2]


def test_one_table_of_arms_counts_every_arm_whole() -> None:
    """What all arms say of its features is used, so that an estimate is the same as from all counts."""
    schema = dn.Schema([dn.Choice(name, ["0", "1"]) for name in "abc"])
    plan = dn.Plan(schema, epsilon=2.0, arms=[[["a", "b"]], [["a", "c"]]])
    reports = dn.randomize({name: ["0", "1"] * 20 for name in "abc"}, plan, rng=1)
    assert count_table(reports, ["a", "b"]) == dn.count(reports)
    assert [arm.tables != {} for arm in count_table(reports, ["a", "b"]).arms] == [True, True]
