"""What counts agree in, by hand: margins, totals, equality, contents in words, and what their files hold."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.counts import count as counting
from deniable.counts.as_counts import as_counts, no_counts, sum_of
from deniable.counts.checks import listed_names
from deniable.counts.layout import patterns_shape
from deniable.counts.sources import part_batches
from deniable.counts.tally_of_arm import check_total
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


# -- as many as 64-bit integers count ----------------------------------------------------------------------------------

MOST = 2**63 - 1


def test_as_many_reports_as_integers_count_and_not_one_more() -> None:
    one = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)
    half = dn.Counts(one, {"a": [2**62, 1]})
    assert (half + dn.Counts(one, {"a": [2**62 - 1, 1]})).n == MOST
    with pytest.raises(dn.CountError, match=f"{2**62} and {2**62} reports are more than 64-bit integers can count"):
        half + dn.Counts(one, {"a": [2**62, 0]})
    check_total(MOST - 1, 1)
    check_total(0, MOST)
    with pytest.raises(dn.CountError, match=f"{MOST - 1} and 2 reports are more than 64-bit"):
        check_total(MOST - 1, 2)
    assert dn.Counts(one, {"a": np.array([MOST, 1], np.uint64)}).n == MOST
    assert dn.Counts(one, n=np.int64(MOST)).n == dn.Counts(one, n=MOST).n == MOST
    with pytest.raises(dn.CountError, match=f"{MOST + 1} reports are more than 64-bit integers can count"):
        dn.Counts(one, n=MOST + 1)
    for wrong in (-1, True, 3.0):
        with pytest.raises(dn.CountError, match="n must be a whole number of respondents, at least the 0 that were"):
            dn.Counts(one, n=wrong)


def test_patterns_are_of_as_many_reports_as_integers_count_and_not_one_more() -> None:
    """Each number fits, and their sum may not: not even by one, which a float does not tell."""
    plan = dn.Plan(dn.Schema([dn.Choice("a", values(2))]), {"a": dn.UnaryEncoding(p=0.2, q=0.7)})
    assert dn.Counts(plan, patterns={"a": [2**62, 2**62 - 1, 0, 0]}).array("a").tolist() == [MOST, 0, 2**62 - 1]
    for many in ([2**62, 2**62, 0, 0], [MOST, 0, 0, 1], [MOST] * 4):
        with pytest.raises(dn.CountError, match="the patterns of a are of more reports than 64-bit integers can count"):
            dn.Counts(plan, patterns={"a": many})


@pytest.mark.parametrize(("sizes", "shape"), [
    ([12], (4096,)), ([13], None), ([12, 10], (4096, 1024)), ([12, 11], None), ([8, 7, 7], (256, 128, 128)),
    ([8, 8, 7], None),
])  # fmt: skip
def test_patterns_are_kept_up_to_two_to_the_22(sizes: list[int], shape: tuple[int, ...] | None) -> None:
    """And up to two to the 12 of one feature."""
    schema = dn.Schema([dn.Choice(f"f{k}", values(size)) for k, size in enumerate(sizes)])
    plan = dn.Plan(schema, dict.fromkeys(schema.names, dn.UnaryEncoding(p=0.2, q=0.7)))
    assert patterns_shape(plan, schema.names) == shape


def test_what_was_not_marked_of_several_flags_follows_from_the_others() -> None:
    """Flags that may be skipped, of which a table of True and no answer is given: by value, and by sets of two."""
    schema = dn.Schema([dn.Flag(name, missing="no answer") for name in "ab"])
    plan = dn.Plan(schema, dict.fromkeys("ab", dn.GRR(epsilon=1.0)))
    inner = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 2]])  # False, True, no answer
    whole = np.vstack([inner.sum(axis=0), inner])
    whole = np.hstack([whole.sum(axis=1)[:, None], whole])
    shown = whole[np.ix_([0, 2, 3], [0, 2, 3])]
    counts = dn.Counts(plan, {("b", "a"): shown.T})
    assert counts.evidence("a", "b").tolist() == whole.tolist()
    assert counts.array("a", "b").tolist() == shown.tolist()
    mixed = dn.Counts(plan, {("a", "b"): whole[:, [0, 2, 3]]})  # of one flag everything is given
    assert mixed == counts
    sets = dn.Plan(schema, dict.fromkeys("ab", dn.SubsetSelection(epsilon=1.0, size=2)))
    assert dn.Counts(sets, {"a": [10, 7, 6]}).evidence("a").tolist() == [10, 7, 7, 6]
    for wrong in (shown.astype(float), shown[0], shown[:, :2]):
        with pytest.raises(dn.CountError, match=r"a x b must have shape \(4, 4\), one more than the evidence columns"):
            dn.Counts(plan, {("a", "b"): wrong})


# -- what is counted, in words -----------------------------------------------------------------------------------------


def test_which_arms_ask_what_part_of_a_table_the_largest_part_first() -> None:
    schema = dn.Schema([dn.Flag(name) for name in "abc"])
    arms = {"one": (["c"], 1), "two": (["a", "b"], 1), "three": (["c"], 1), "four": (["b"], 1)}
    plan = dn.Plan(schema, epsilon=2.0, arms=arms)
    with pytest.raises(dn.CountError) as refused:
        dn.count(dn.randomize({name: [True] * 9 for name in "abc"}, plan), ["a", "b", "c"])
    assert str(refused.value) == (
        "no arm asks a x b x c of the same people: a x b is asked in 'two'; c is asked in 'one', 'three'; "
        "b is asked in 'four'"
    )


def test_names_come_as_a_text_a_list_or_an_array() -> None:
    assert listed_names("ab", "x") == ["ab"]
    assert listed_names(("a", "b"), "x") == listed_names(np.array(["a", "b"]), "x") == ["a", "b"]
    for wrong in ({"a": 1}, 5, None, np.array([["a"]])):
        with pytest.raises(dn.EstimateError, match=r'x takes a list of features, \["a", "b"\]; found'):
            listed_names(wrong, "x")


def test_reports_are_of_the_plan_that_is_given_or_refused(tmp_path: Path) -> None:
    reports = dn.randomize({name: [True] * 5 for name in "abc"}, THREE)
    assert dn.count(reports, ["a"], plan=THREE) == dn.count(reports, ["a"])
    with pytest.raises(dn.CountError, match=f"these reports are of plan {THREE.fingerprint}, not {FLAGS.fingerprint}$"):
        dn.count(reports, ["a"], plan=FLAGS)
    path = tmp_path / "reports.parquet"
    reports.save(path)
    assert dn.count(path, ["a"], plan=THREE) == dn.count(reports, ["a"])
    with pytest.raises(
        dn.CountError,
        match=f"reports.parquet is of plan {THREE.fingerprint}, not of the given one, {FLAGS.fingerprint}$",
    ):
        dn.count(path, ["a"], plan=FLAGS)
    pq.write_table(pq.read_table(path).replace_schema_metadata({}), path)
    assert dn.count(path, ["a"], plan=THREE) == dn.count(reports, ["a"])


def test_counts_are_what_any_source_of_them_holds(tmp_path: Path) -> None:
    reports = dn.randomize({name: [True] * 5 for name in "abc"}, THREE)
    reports.save(tmp_path / "reports.parquet")
    counts = dn.count(reports, ["a"])
    counts.save(tmp_path / "COUNTS.NPZ")
    assert as_counts(counts) is counts
    assert as_counts(tmp_path / "COUNTS.NPZ") == as_counts(str(tmp_path / "COUNTS.NPZ")) == counts
    for source in (reports, tmp_path / "reports.parquet", [tmp_path / "reports.parquet"]):
        assert as_counts(source, ["a"]) == counts
        assert as_counts(source, [["a"], ["b"]]) == dn.count(reports, [["a"], ["b"]])
        assert as_counts(source) == dn.count(reports)
    for other in ([], [1], 5, None, {"a": 1}):
        assert as_counts(other, ["a"]) is other
    with pytest.raises(dn.CountError, match="one or more different features"):
        as_counts(reports, [])
    assert sum_of([counts]) is counts
    assert no_counts("x takes", 5) == (
        "x takes counts, as dn.count or Counts.load give them, reports, or a path to either; found 5"
    )
    hint = "; answers become reports by dn.randomize(answers, plan)"
    assert no_counts("x takes", {"a": 1}, waves=True) == (
        "x takes counts, as dn.count or Counts.load give them, reports, or a path to either, or a list of waves; "
        f"found an object of type dict{hint}"
    )
    assert no_counts("x takes", pa.table({"a": [1]})).endswith(hint)


def test_an_engine_counts_files_alone_with_its_own_workers() -> None:
    reports = dn.randomize({name: [True] * 5 for name in "abc"}, THREE)
    for source, workers in ((reports, None), ("x.parquet", 2)):
        with pytest.raises(dn.CountError, match="an engine counts files, with as many workers as it has; give paths"):
            dn.count(source, engine=object(), workers=workers)
