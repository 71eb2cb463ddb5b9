"""Counts of plans with blocks and arms: against a dictionary of the reports' rows, added, kept, streamed."""

import pickle
from collections import Counter
from functools import reduce
from itertools import combinations, product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.counts.tally import Tally
from tests.support.situations import values
from tests.support.surveys import supports

FLAG, CHOICE, OTHER = dn.Flag("flag"), dn.Choice("choice", values(3)), dn.Flag("other")
TOWN = dn.Choice("town", ["here", "there"])
SCHEMA = dn.Schema([FLAG, CHOICE, OTHER, TOWN])
PROTOCOLS = {
    "GRR": dn.GRR(epsilon=2.0),
    "unary": dn.UnaryEncoding.optimized(2.0),
    "subsets": dn.SubsetSelection(epsilon=1.0, size=2),
    "hashing": dn.LocalHashing(epsilon=2.0, buckets=3),
}
BLOCKS = {
    name: dn.Plan(SCHEMA, {("flag", "choice"): protocol, "town": dn.Public()}, epsilon=4.0)
    for name, protocol in PROTOCOLS.items()
}


def arms_of(protocol: Any) -> dn.Plan:
    """A joint block by this protocol; two blocks; and one question alone; the town is shown in all of them."""
    arms = [
        dn.Plan(dn.Schema([FLAG, CHOICE, TOWN]), {("flag", "choice"): protocol, "town": dn.Public()}),
        dn.Plan(
            dn.Schema([CHOICE, OTHER, TOWN]),
            {
                "choice": dn.UnaryEncoding(p=0.2, q=0.7),
                "other": dn.RandomizedResponse(epsilon=1.0),
                "town": dn.Public(),
            },
        ),
        dn.Plan(dn.Schema([FLAG, TOWN]), {"flag": dn.RandomizedResponse(epsilon=1.0), "town": dn.Public()}),
    ]
    return dn.Plan(SCHEMA, arms=arms, unequal=True)


ARMS = {name: arms_of(protocol) for name, protocol in PROTOCOLS.items()}
PLAN = ARMS["unary"]


def reports_of(plan: dn.Plan, n: int = 300, seed: int = 1) -> dn.Reports:
    rng = np.random.default_rng(seed)
    records = {
        feature.name: [feature.answers[code] for code in rng.integers(feature.levels, size=n)]
        for feature in plan.schema
    }
    return dn.randomize(records, plan, rng=rng)


def by_rows(reports: dn.Reports, units: tuple[str, ...]) -> np.ndarray:
    """Counts from a dictionary of how often each combination of bits stands in the rows of one arm's table."""
    plan = reports.plan.units
    bits = [supports(plan, reports.table, unit).tolist() for unit in units]
    often = Counter(tuple(map(tuple, row)) for row in zip(*bits, strict=True))
    total = np.zeros([1 + plan[unit].columns for unit in units], np.int64)
    for row, times in often.items():
        total += times * reduce(np.multiply.outer, [np.array(one) for one in row])
    return total


def tables_of(plan: dn.Plan) -> list[tuple[str, ...]]:
    units = plan.units.schema.names
    return [table for order in range(1, len(units) + 1) for table in combinations(units, order)]


# -- against brute force -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("name", PROTOCOLS)
def test_blocks_are_counted_as_their_rows_are(name: str) -> None:
    plan = BLOCKS[name]
    reports = reports_of(plan)
    counts = [dn.count(reports, list(SCHEMA.names)), dn.count(reports, order=2), dn.count(reports, order=3)]
    for units in tables_of(plan):
        for one in counts:
            if one.holds_units(units):
                np.testing.assert_array_equal(one.array(*units), by_rows(reports, units))
    assert counts[0].array(("flag", "choice"), "other", "town").shape == (7, 2, 3)
    assert counts[0].array("town", ("choice", "flag")).shape == (3, 7)  # a block's features in any order
    np.testing.assert_array_equal(counts[0].array("flag", "choice"), counts[0].array("flag x choice"))


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("name", PROTOCOLS)
def test_arms_are_counted_as_their_rows_are(name: str) -> None:
    plan = ARMS[name]
    reports = reports_of(plan)
    counts = dn.count(reports)
    assert [one.n for one in counts.arms] == [len(part) for part in reports.arms]
    assert (counts.n, len(counts.arms)) == (300, 3)
    for arm, part in zip(counts.arms, reports.arms, strict=True):
        assert arm.plan == part.plan
        for units in tables_of(part.plan):
            np.testing.assert_array_equal(arm.array(*units), by_rows(part, units))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_whole_patterns_are_those_of_the_rows(name: str) -> None:
    """Of what shows several bits; hashes show any set of values, and so have patterns as well."""
    for part in reports_of(ARMS[name]).arms:
        counts, units = dn.count(part, list(part.plan.schema.names)), part.plan.units
        several = any(units[unit].several for unit in units.schema.names)
        shown = counts.shown(*units.schema.names)
        assert (shown is not None) == several
        if shown is not None:
            places = [
                {tuple(bits): k for k, bits in enumerate(units[one].patterns.tolist())} for one in units.schema.names
            ]
            expected = np.zeros(shown.shape, np.int64)
            bits = [supports(units, part.table, one)[:, 1:].tolist() for one in units.schema.names]
            for row in zip(*bits, strict=True):
                expected[tuple(of[tuple(own)] for of, own in zip(places, row, strict=True))] += 1
            np.testing.assert_array_equal(shown, expected)


def test_margins_of_a_block_are_sums_of_its_axis() -> None:
    counts = dn.count(reports_of(BLOCKS["GRR"]), list(SCHEMA.names))
    cells = counts.array(("flag", "choice"))[1:].reshape(2, 3)
    table = reports_of(BLOCKS["GRR"]).table["flag x choice"].to_pylist()
    for flag, choice in product((0, 1), range(3)):
        assert cells[flag, choice] == table.count(f"{bool(flag)} x v{choice}")


# -- what is counted ---------------------------------------------------------------------------------------------------


def test_without_names_each_arm_has_its_whole_table_and_plans_without_arms_every_pair() -> None:
    counts = dn.count(reports_of(PLAN))
    assert [list(arm.tables) for arm in counts.arms] == [[arm.plan.units.schema.names] for arm in counts.arms]
    pairs = dn.count(reports_of(BLOCKS["GRR"]))
    assert pairs == dn.count(reports_of(BLOCKS["GRR"]), order=2)


def test_an_arm_with_too_large_a_table_has_every_pair() -> None:
    wide = dn.Schema([dn.Choice(f"q{k}", values(9)) for k in range(6)])
    plan = dn.Plan(wide, epsilon=4.0, arms=[[[name] for name in wide.names], [["q0"]]])
    counts = dn.count(reports_of(plan, 50))
    assert counts.holds("q0", "q5")
    assert not counts.holds("q0", "q1", "q2")


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_order_holds_every_set_that_some_arm_asks(order: int) -> None:
    reports = reports_of(PLAN)
    counts, whole = dn.count(reports, order=order), dn.count(reports)
    for names in combinations(SCHEMA.names, order):
        asked = any(all(name in arm for name in names) for arm in PLAN.arms)
        assert counts.holds(*names) == asked
        for arm, of_all in zip(counts.arms, whole.arms, strict=True):
            units = arm.units_of(*names)
            if units:
                np.testing.assert_array_equal(arm.array(*units), of_all.array(*units))
        if asked:
            np.testing.assert_array_equal(dn.estimate(counts, names).mean, dn.estimate(whole, names).mean)


def test_named_tables_are_counted_in_every_arm_that_asks_any_of_their_features() -> None:
    reports = reports_of(PLAN)
    counts = dn.count(reports, ["choice", "flag"])
    assert [list(arm.tables) for arm in counts.arms] == [[("flag x choice",)], [("choice",)], [("flag",)]]
    both = dn.count(reports, [["choice", "flag"], ["other", "town"]])
    second = [("choice",), ("other", "town")]
    assert [set(arm.tables) for arm in both.arms] == [
        {("flag x choice",), ("town",)},
        set(second),
        {("flag",), ("town",)},
    ]
    np.testing.assert_array_equal(
        dn.estimate(both, ["other", "town"]).mean, dn.estimate(dn.count(reports), ["other", "town"]).mean
    )


def test_an_arm_that_asks_nothing_of_a_table_is_only_sized() -> None:
    counts = dn.count(reports_of(PLAN), ["other"])
    first, second, third = counts.arms
    assert not first.tables
    assert not third.tables
    assert list(second.tables) == [("other",)]
    assert counts.n == 300
    assert "how many there are" in repr(first)


def test_who_was_asked() -> None:
    counts = dn.count(reports_of(PLAN))
    sizes = [arm.n for arm in counts.arms]
    assert counts.asked() == counts.asked("town") == 300
    assert counts.asked("flag") == sizes[0] + sizes[2]
    assert counts.asked("flag", "choice") == sizes[0]
    assert counts.asked("choice") == sizes[0] + sizes[1]
    assert counts.asked("flag", "other") == 0
    assert counts.holds("flag", "choice")
    assert not counts.holds("flag", "other")
    blocks = dn.count(reports_of(BLOCKS["GRR"]))
    assert blocks.asked("flag") == blocks.asked("choice", "town") == 300
    assert blocks.arms == (blocks,)


# -- kept and added ----------------------------------------------------------------------------------------------------

ASKED: list[dict[str, Any]] = [{}, {"order": 2}, {"order": 1}, {"names": [["choice", "flag"], ["other"]]}]
every_asked = pytest.mark.parametrize("asked", ASKED, ids=str)


@every_asked
@pytest.mark.parametrize("plan", [*ARMS.values(), *BLOCKS.values()], ids=[*ARMS, *(f"block {name}" for name in BLOCKS)])
def test_counts_are_saved_loaded_pickled_and_added(plan: dn.Plan, asked: dict[str, Any], tmp_path: Path) -> None:
    reports = reports_of(plan)
    counts = dn.count(reports, **asked)
    counts.save(tmp_path / "c.npz")
    loaded = dn.Counts.load(tmp_path / "c.npz")
    assert loaded == counts
    assert loaded.plan == plan
    assert [one.n for one in loaded.arms] == [one.n for one in counts.arms]
    assert pickle.loads(pickle.dumps(counts)) == counts
    more = dn.count(reports_of(plan, 100, seed=2), **asked)
    assert more != counts
    assert (counts + more).n == 400
    assert counts + more == more + counts == sum([counts, more])
    parts = [
        dn.Reports.of_arms(plan, [dn.Reports(one.plan, one.table.slice(*cut)) for one in reports.arms])
        for cut in ((0, 40), (40,))
    ]
    assert sum(dn.count(part, **asked) for part in parts) == counts


def test_counts_of_other_arms_or_tables_are_not_equal() -> None:
    counts = dn.count(reports_of(PLAN))
    first, second, third = counts.arms
    assert dn.Counts(PLAN, arms=[first, second, third]) == counts
    assert dn.Counts(PLAN, arms=[dn.Counts(first.plan, n=first.n), second, third]) != counts
    assert dn.count(reports_of(PLAN), order=1) != counts


@pytest.mark.parametrize("sizes", [(3, 0, 2), (0, 0, 1), (0, 0, 0)], ids=str)
def test_arms_with_few_respondents_or_none(sizes: tuple[int, ...], tmp_path: Path) -> None:
    parts = [reports_of(arm, size) for arm, size in zip(PLAN.arms, sizes, strict=True)]
    reports = dn.Reports.of_arms(PLAN, parts)
    for asked in ASKED:
        counts = dn.count(reports, **asked)
        assert [arm.n for arm in counts.arms] == list(sizes)
        counts.save(tmp_path / "c.npz")
        assert dn.Counts.load(tmp_path / "c.npz") == counts
    for names in (["flag"], ["choice", "flag"]):
        asks = [size for arm, size in zip(PLAN.arms, sizes, strict=True) if all(name in arm for name in names)]
        if sum(asks):
            est = dn.estimate(dn.count(reports), names)
            assert np.isfinite(est.mean).all()
            assert est.mean.flat[0] == pytest.approx(sum(sizes))
            assert "not enough reports" in str(est.cell(flag=True))
        else:
            with pytest.raises(dn.EstimateError, match="no reports to estimate from|nobody was asked"):
                dn.estimate(dn.count(reports), names)


def test_hundreds_of_arms(tmp_path: Path) -> None:
    names = [f"f{k}" for k in range(13)]
    schema = dn.Schema([dn.Flag(name) for name in names])
    plan = dn.Plan(schema, epsilon=2.0, arms=[list(three) for three in combinations(names, 3)])
    assert len(plan.arms) == comb(13, 3) == 286
    reports = reports_of(plan, 2_000)
    counts = dn.count(reports)
    assert counts.n == sum(arm.n for arm in counts.arms) == 2_000
    assert counts.asked("f0", "f1", "f2") == len(reports.arms[0])
    assert counts.asked("f0", "f1") == sum(len(part) for part in reports.arms[:11])
    for arm, part in zip(counts.arms[:5], reports.arms, strict=False):
        np.testing.assert_array_equal(
            arm.array(*part.plan.units.schema.names), by_rows(part, part.plan.units.schema.names)
        )
    counts.save(tmp_path / "c.npz")
    assert dn.Counts.load(tmp_path / "c.npz") == counts
    est = dn.estimate(counts, ["f0", "f1", "f2"])
    assert len(est.groups[0].seen.local.kinds) == 7  # all three, each pair and each alone
    assert est.mean[0, 0, 0] == pytest.approx(2_000)


# -- from files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["subsets", "hashing"])
def test_files_in_any_order_are_counted_and_estimated_alike(name: str, tmp_path: Path) -> None:
    plan, paths = ARMS[name], []
    every = [reports_of(plan, n, seed) for seed, n in enumerate((400, 0, 7, 250))]
    for place, reports in enumerate(every):
        paths.append(tmp_path / f"part{place}.parquet")
        reports.save(paths[-1])
    whole = sum(dn.count(reports) for reports in every)
    expected = dn.estimate(whole, ["choice", "flag"])
    for order in (paths, paths[::-1], [paths[2], paths[0], paths[3], paths[1]], str(tmp_path), tmp_path / "*.parquet"):
        counts = dn.count(order)
        assert counts == whole
        est = dn.estimate(counts, ["choice", "flag"])
        np.testing.assert_array_equal(est.mean, expected.mean)
        np.testing.assert_array_equal(est.covariance(), expected.covariance())
        assert est == expected
    for asked in ASKED[1:]:
        assert dn.count(paths, **asked) == sum(dn.count(reports, **asked) for reports in every)


def test_files_of_blocks_are_counted_as_reports_in_memory_are(tmp_path: Path) -> None:
    for name, plan in BLOCKS.items():
        reports = reports_of(plan)
        reports.save(tmp_path / f"{name}.parquet")
        assert dn.count(tmp_path / f"{name}.parquet") == dn.count(reports)


def test_many_batches_are_counted_like_one(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = reports_of(PLAN, 20_000)
    once = dn.count(reports)
    monkeypatch.setattr("deniable.counts.tally_of_arm.MOST_ROWS", 4096)
    assert dn.count(reports) == once


@every_asked
def test_tallies_add_and_are_pickled(asked: dict[str, Any]) -> None:
    parts = [reports_of(PLAN, n, seed) for seed, n in enumerate((100, 30, 0))]
    tallies = [Tally.of(PLAN, **asked) for _ in parts]
    for tally, part in zip(tallies, parts, strict=True):
        tally.add(part)
    whole = sum(pickle.loads(pickle.dumps(tally)) for tally in tallies)
    assert whole.n == 130
    assert whole.counts() == sum(dn.count(part, **asked) for part in parts)
    assert tallies[0].empty().n == 0
    other = Tally.of(PLAN, order=1)
    if asked != {"order": 1}:
        with pytest.raises(dn.CountError, match="the same tables of the same plan"):
            tallies[0] + other
    with pytest.raises(dn.CountError, match="reports of its own plan"):
        tallies[0].add(reports_of(BLOCKS["GRR"], 10))


# -- refused -----------------------------------------------------------------------------------------------------------


def counts_of_arms() -> dn.Counts:
    return dn.count(reports_of(PLAN))


def counts_of_blocks() -> dn.Counts:
    return dn.count(reports_of(BLOCKS["GRR"]), list(SCHEMA.names))


REFUSED: dict[str, tuple[Any, str]] = {
    "the array of arms": (
        lambda: counts_of_arms().array("flag"),
        "each arm has counts of its own: ask one of counts.arms",
    ),
    "one feature of a block": (
        lambda: counts_of_blocks().array("flag"),
        r"flag is not counted by itself: it is asked as the block \('flag', 'choice'\), which is one axis of counts",
    ),
    "features of no block": (
        lambda: counts_of_blocks().array(("other", "town")),
        "other x town is no block of this plan",
    ),
    "features of a block and another": (
        lambda: counts_of_blocks().array(("flag", "other")),
        "flag x other is not counted by itself",
    ),
    "a block twice": (lambda: counts_of_blocks().array(("flag", "choice"), "flag x choice"), "one or more different"),
    "a block of numbers": (lambda: counts_of_blocks().array((1, 2)), "one or more different features"),
    "an unknown feature": (lambda: counts_of_blocks().array(("flag", "q")), "no feature 'q'"),
    "asked an unknown feature": (lambda: counts_of_arms().asked("q"), "no feature 'q'"),
    "tables of arms": (lambda: dn.Counts(PLAN, {"town": [3, 1, 2]}), "made of the Counts of each arm"),
    "n of arms": (lambda: dn.Counts(PLAN, arms=counts_of_arms().arms, n=3), "made of the Counts of each arm"),
    "arms that are no counts": (lambda: dn.Counts(PLAN, arms=[1, 2, 3]), "made of the Counts of each arm"),
    "no arms": (lambda: dn.Counts(PLAN), "made of the Counts of each arm"),
    "too few arms": (lambda: dn.Counts(PLAN, arms=counts_of_arms().arms[:2]), "in order; the plan has 3"),
    "arms in another order": (lambda: dn.Counts(PLAN, arms=counts_of_arms().arms[::-1]), "in order; the plan has 3"),
    "arms of a plan without": (
        lambda: dn.Counts(BLOCKS["GRR"], arms=[counts_of_blocks()]),
        "arms are the counts of each of plan.arms, in order; the plan has 1",
    ),
    "a block of another shape": (
        lambda: dn.Counts(BLOCKS["GRR"], {("flag", "choice"): [5, 1, 1, 1, 1, 1]}),
        r"flag x choice must have shape \(7,\), one more than the evidence columns; found \(6,\)",
    ),
    "a block above its margin": (
        lambda: dn.Counts(BLOCKS["GRR"], {("flag", "choice"): [5, 6, 1, 1, 1, 1, 1]}),
        "exceeds its margin",
    ),
    "a table no arm asks": (
        lambda: dn.count(reports_of(PLAN), ["flag", "other"]),
        "no arm asks flag x other of the same people: flag is asked in .*; other is asked in",
    ),
    "both names and order": (lambda: dn.count(reports_of(PLAN), ["flag"], order=2), "give one of them"),
    "order 0": (lambda: dn.count(reports_of(PLAN), order=0), "from 1 to the number of features, 4; found 0"),
    "order 5": (lambda: dn.count(reports_of(PLAN), order=5), "from 1 to the number of features, 4; found 5"),
    "a feature twice": (lambda: dn.count(reports_of(PLAN), ["flag", "flag"]), "one or more different features"),
    "other plans": (lambda: counts_of_arms() + dn.count(reports_of(ARMS["GRR"])), "different plans do not add"),
    "other tables": (lambda: counts_of_arms() + dn.count(reports_of(PLAN), order=1), "different tables do not add"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(dn.DeniableError, match=message):
        make()


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    counts_of_arms().save(path)
    with np.load(path) as arrays:
        whole = dict(arrays)
    for key in ("arm 7 names 0", "arm x table 0", "arm -1 n", "arm 01 n", "extra"):
        np.savez(path, **whole, **{key: np.array(500)})
        with pytest.raises(dn.CountError, match="is not a file of counts, or it is damaged"):
            dn.Counts.load(path)
    without = {key: array for key, array in whole.items() if not key.startswith("arm 1 ")}
    np.savez(path, **without)
    with pytest.raises(dn.CountError, match="c.npz: "):
        dn.Counts.load(path)


def test_given_numbers_of_a_block_are_those_that_come_back() -> None:
    plan = BLOCKS["GRR"]
    table = [[9, 4], [2, 1], [1, 1], [3, 1], [1, 0], [1, 0], [1, 1]]
    for key in ((("flag", "choice"), "other"), ("other", ("flag", "choice"))):
        array = np.array(table) if key[0] != "other" else np.array(table).T
        counts = dn.Counts(plan, {key: array})
        assert counts.array(("flag", "choice"), "other").tolist() == table
        assert counts.array("other").tolist() == [9, 4]
        assert counts.asked("choice") == 9
    alone = dn.Counts(plan, {("flag", "choice"): [9, 2, 1, 3, 1, 1, 1]})
    assert alone.holds("choice")
    assert not alone.holds("choice", "other")
