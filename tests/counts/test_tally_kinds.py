"""Counts against brute force, by every way to count and by both sets of kernels; what would never end is refused."""

from itertools import combinations

import numpy as np
import pytest

import deniable as dn
from deniable.counts import tally_kinds
from deniable.reports.fields import ValueField, fields
from tests.support.situations import FLAGS, MIXED, PLANS, values
from tests.support.surveys import brute_force, brute_patterns, some_reports

COUNTABLE = {
    name: plan for name, plan in PLANS.items() if sum(len(feature.columns) for feature in plan.schema) < 40
} | {"12 flags": FLAGS}


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
    monkeypatch.setattr(tally_kinds, "CODED_CELLS", cells)
    reports = some_reports(MIXED, 700)
    for names in (("flag", "grr", "arm", "wave two"), ("grr", "arm"), ("arm",), ("wave two", "flag")):
        np.testing.assert_array_equal(dn.count(reports, names).array(*names), brute_force(reports, names))
    flags = some_reports(FLAGS, 700)
    for size in (1, 7, 8, 9, 12):
        names = FLAGS.schema.names[:size]
        np.testing.assert_array_equal(dn.count(flags, names).array(*names), brute_force(flags, names))


@pytest.mark.usefixtures("tools")
def test_one_feature_may_be_in_tables_counted_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_kinds, "CODED_CELLS", 50)
    reports = some_reports(MIXED, 100)
    tables = [("flag", "grr"), ("flag", "grr", "arm", "wave two")]
    counts = dn.count(reports, tables)
    for names in tables:
        np.testing.assert_array_equal(counts.tables[names], brute_force(reports, names))


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
    for (_, protocol), field in zip(plan, fields(plan).values(), strict=True):
        one = protocol.columns == 1 or isinstance(field, ValueField)
        assert protocol.several != one


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
    monkeypatch.setattr(tally_kinds, "MOST_PATTERNS", 4095)  # of hash and sue together
    assert not dn.count(reports, ["hash", "sue"]).patterns


def test_what_does_not_fit_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dn.Plan(dn.Schema([dn.Choice(f"f{i}", values(40)) for i in range(8)]), epsilon=8.0)
    records = [dict.fromkeys(plan.schema.names, "v0")]
    reports = dn.randomize(records, plan)
    with pytest.raises(dn.CountError, match=r"7,984,925,229,121 cells, and .* GB .* Ask for fewer features at a time"):
        dn.count(reports, plan.schema.names)
    with pytest.raises(
        dn.CountError, match=r"cells, and .* GB .* Ask for order=4 \(in the shell --order 4\), or tables of"
    ):
        dn.count(reports, order=5)
    monkeypatch.setattr(tally_kinds, "physical_memory", lambda: 1 << 24)
    with pytest.raises(dn.CountError, match="Ask for order=2"):
        dn.count(reports, order=3)


@pytest.mark.slow
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
