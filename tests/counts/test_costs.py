"""What counting is expected to cost, worked out by hand: time, memory, batches and workers; and which way is taken."""

import numpy as np
import pytest

import deniable as dn
from deniable.counts import count as counting
from deniable.counts import tally_kinds, tally_of_arm
from deniable.counts.tally import Tally
from deniable.counts.tally_kinds import (
    MOST_ROWS,
    Moments,
    PatternTable,
    PlaneTable,
    ValueTable,
    _many,
    check_memory,
    kinds_of_order,
    kinds_of_tables,
    kinds_of_whole,
)
from deniable.counts.tally_of_arm import ArmTally
from tests.support.situations import values

FLAGS = dn.Plan(dn.Schema([dn.Flag(name) for name in "abc"]), epsilon=3.0)
MIXED = dn.Plan(
    dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", values(3)), dn.Choice("h", values(5))]),
    {
        "a": dn.RandomizedResponse(epsilon=1.0), "b": dn.RandomizedResponse(epsilon=1.0), "c": dn.GRR(epsilon=1.0),
        "h": dn.LocalHashing(epsilon=1.0),
    },
)  # fmt: skip


def all_true(plan: dn.Plan, count: int) -> dn.Reports:
    answers = {name: np.ones(count, bool) for name in plan.schema.names}
    return dn.randomize(answers, plan, rng=np.random.default_rng(count))


def test_seconds_of_pairs_and_triples() -> None:
    """Three flags and all reports: 10 pairs and 20 triples with repeats; of 3 million reports in three batches
    4 calls for pairs, 10 for triples, each."""
    assert Moments(FLAGS, 2).plain_seconds(3_000_000) == pytest.approx(10 * 1e-4 + 12 * 1e-5)
    assert Moments(FLAGS, 3).plain_seconds(3_000_000) == pytest.approx(20 * 1e-4 + 30 * 1e-5)
    assert Moments(FLAGS, 2).plain_seconds(MOST_ROWS) == pytest.approx(10 * MOST_ROWS / 3e10 + 4e-5)
    assert (Moments(FLAGS, 2).cells, Moments(FLAGS, 3).cells) == (16, 64)


def test_seconds_of_a_table_by_planes() -> None:
    """Axes of 2, 2 and 4 are 4 x 4 cells, two features to the left; 64 * 2 048 reports are one step of numpy."""
    table = PlaneTable(MIXED, ("a", "b", "c"))
    assert (table.lengths, table.heads, table.shape, table.cells) == ([2, 2, 4], 2, (4, 4), 16)
    assert table.plain_seconds(4_000_000) == pytest.approx(16e-4 + 1e-5 * 4 * 31)
    assert table.plain_seconds(64 * 2048) == pytest.approx(64 * 2048 * 16 / 4e10 + 4e-5)
    assert table.plain_seconds(1) == pytest.approx(4096 * 16 / 4e10 + 4e-5)


def test_seconds_of_a_table_by_codes_and_of_one_choice() -> None:
    """A choice, two flags, and one for all; of a choice alone its values and the margin are looked at, 12 at most."""
    assert PatternTable(MIXED, ("a", "b", "c")).plain_seconds(1_000_000) == pytest.approx(8e-3)
    assert ValueTable(MIXED, ("c",)).plain_seconds(1_000_000) == pytest.approx(2e-3)
    wide = dn.Plan(dn.Schema([dn.Choice("c", values(50))]), {"c": dn.GRR(epsilon=1.0)})
    assert ValueTable(wide, ("c",)).plain_seconds(1_000_000) == pytest.approx(6e-3)


def test_seconds_of_an_arm_and_of_all_arms() -> None:
    """Planes of hashes of 5 values cost 5 * (0.05 s + 0.1 ms) for a million reports, beside their table of 6 cells."""
    alone = PlaneTable(MIXED, ("h",))
    tally = ArmTally.of(MIXED, [alone])
    assert tally.plain_seconds(1_000_000) == pytest.approx(0.2505 + alone.plain_seconds(1_000_000))
    arms = dn.Plan(
        dn.Schema([dn.Flag(name) for name in "abc"]),
        epsilon=1.0,
        arms={("a", "b"): 0.5, ("b", "c"): 0.25, ("c",): 0.25},
    )
    whole = Tally.of(arms)
    first, _, last = whole.arms
    expected = first.plain_seconds(750_000) + last.plain_seconds(250_000)
    assert first.alike == whole.arms[1].alike != last.alike
    assert whole.plain_seconds(1_000_000) == pytest.approx(expected)
    assert whole.plain_seconds(1) == pytest.approx(first.plain_seconds(1) + last.plain_seconds(1))


def test_bits_of_memory_of_a_report() -> None:
    """Planes of all reports, of a flag and of 5 values, and a bit, a seed and a bucket of 144 bits that are read."""
    assert ArmTally.of(MIXED, [PlaneTable(MIXED, ("a", "h"))]).bits == 1 + 1 + 5 + 1 + 144
    assert ArmTally.of(MIXED, []).bits == 1


def test_batches_are_as_large_as_memory_and_time_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    """4 bits and 3 of planes for a report: as many as there are go into a batch, in steps of 4 096, by equal parts."""
    tally = ArmTally.of(FLAGS, [Moments(FLAGS, 2)])
    assert tally.bits == 7
    assert tally.batch_rows(0, 1) == 4096
    assert tally.batch_rows(4096, 1) == 4096
    assert tally.batch_rows(4097, 1) == 8192
    assert tally.batch_rows(100_000, 4) == 4096 * 7  # 25 000 for each
    assert tally.batch_rows(MOST_ROWS, 1) == MOST_ROWS
    assert tally.batch_rows(MOST_ROWS + 4096, 1) == MOST_ROWS // 2 + 4096  # two rounds, equally long
    monkeypatch.setattr(tally_of_arm, "BATCH_BITS", 7 * 8192)
    assert tally.batch_rows(8192 * 5, 1) == 8192
    monkeypatch.setattr(tally_of_arm, "BATCH_BITS", 1)
    assert tally.batch_rows(8192, 1) == 4096


def test_batches_are_short_enough_for_numpy() -> None:
    """Of 400 flags, 80 601 pairs: a batch of 1 048 576 takes 2.8 s, and so 5 s are for about 1.9 million reports."""
    many = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(400)]), epsilon=1.0)
    tally = ArmTally(many, (Moments(many, 2),), 0, [])
    pairs = 401 * 402 / 2
    seconds = MOST_ROWS * pairs / 3e10 + 1e-5 * 401
    assert tally.quick_rows == int(MOST_ROWS * 5 / seconds)
    assert 1_800_000 < tally.quick_rows < 1_900_000
    assert ArmTally.of(FLAGS, []).quick_rows == MOST_ROWS


@pytest.mark.parametrize(("workers", "bytes_needed"), [(1, 8 * (20 + 30)), (3, 8 * (40 + 30))])
def test_half_of_the_memory_may_be_used(workers: int, bytes_needed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """10 cells, thrice; and tallies of 10 for each worker and for their sum."""
    monkeypatch.setattr(tally_kinds, "physical_memory", lambda: 2 * bytes_needed)
    check_memory(10, 10, workers, None)
    monkeypatch.setattr(tally_kinds, "physical_memory", lambda: 2 * bytes_needed - 2)
    with pytest.raises(dn.CountError, match=r"^this asks for 10 cells, and 1 GB .* Ask for fewer features at a time$"):
        check_memory(10, 10, workers, None)
    with pytest.raises(
        dn.CountError, match=r"there are 0\.0 GB here.* Ask for order=2 \(in the shell --order 2\), or tables of"
    ):
        check_memory(10, 10, workers, 3)


def test_memory_is_said_in_gigabytes_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_kinds, "physical_memory", lambda: 3_100_000_000)
    with pytest.raises(dn.CountError, match=r"100,000,000 cells, and 4 GB to count them; there are 3\.1 GB here"):
        check_memory(100_000_000, 100_000_000, 1, None)  # 8 * 500 million bytes
    with pytest.raises(dn.CountError, match="and 5 GB to count them"):
        check_memory(100_000_001, 100_000_000, 1, None)


def test_numbers_of_any_size_are_said() -> None:
    assert _many(1234567) == "1,234,567"
    assert _many(10**15 - 1) == "999,999,999,999,999"
    assert _many(10**15).startswith("about 10^15")
    assert _many(10**4000).startswith("about 10^4000")


def test_workers_each_need_memory_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 cells of pairs: one worker and the result need 8 * (2 * 16 + 3 * 16) bytes, two workers 8 * 16 more."""
    reports = all_true(FLAGS, 10_000)
    monkeypatch.setattr(tally_kinds, "physical_memory", lambda: 2 * 8 * 5 * 16)
    assert dn.count(reports, order=2, workers=1).n == 10_000
    with pytest.raises(dn.CountError, match="cells, and 1 GB"):
        dn.count(reports, order=2, workers=2)
    monkeypatch.setattr(tally_kinds, "physical_memory", lambda: 2 * 8 * 6 * 16)
    assert dn.count(reports, order=2, workers=2) == dn.count(reports, order=2, workers=1)


def test_workers_are_no_more_than_batches_and_arms_need_many_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    spread = counting._spread

    def noted(tally: Tally, batches: object, workers: int) -> list[Tally]:
        taken.append(workers)
        return spread(tally, batches, workers)  # type: ignore[arg-type]

    monkeypatch.setattr(counting, "_spread", noted)
    assert dn.count(all_true(FLAGS, 9_000), order=2, workers=8).n == 9_000
    assert taken == [3]  # 9 000 reports are three batches of 4 096
    assert dn.count(all_true(FLAGS, 9_000), order=2, workers=2).n == 9_000
    assert taken == [3, 2]
    arms = dn.Plan(dn.Schema([dn.Flag(name) for name in "abc"]), epsilon=1.0, arms=[["a", "b"], ["c"]])
    reports = all_true(arms, 9_000)
    alone = dn.count(reports, workers=8)
    assert taken == [3, 2]  # alone
    monkeypatch.setattr(counting, "MANY", 4_500)
    assert dn.count(reports, workers=8) == alone
    assert taken[2:] == [3]
    monkeypatch.setattr(counting, "MANY", 4_501)
    dn.count(reports, workers=8)
    assert len(taken) == 3


@pytest.mark.parametrize("wrong", [0, -1, True, 2.0, "2"])
def test_workers_are_counted_from_one(wrong: object) -> None:
    with pytest.raises(dn.CountError, match="workers is how many threads count, from 1 on"):
        dn.count(all_true(FLAGS, 10), order=2, workers=wrong)  # type: ignore[arg-type]
    assert dn.count(all_true(FLAGS, 10), order=2, workers=1).n == 10


# -- which way is taken ------------------------------------------------------------------------------------------------


def kinds_by(plan: dn.Plan, *tables: tuple[str, ...]) -> list[str]:
    return [type(kind).__name__ for kind in kinds_of_tables(plan, tables)]


def test_small_tables_are_of_planes_and_large_ones_of_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kinds_by(MIXED, ("c",), ("a",), ("a", "c")) == ["ValueTable", "PlaneTable", "PlaneTable"]
    monkeypatch.setattr(tally_kinds, "CODED_CELLS", 8)  # a and c have 2 * 4 cells, and 2 * 3 codes
    assert kinds_by(MIXED, ("a", "c")) == ["PatternTable"]
    monkeypatch.setattr(tally_kinds, "MOST_CODES", 6)
    assert kinds_by(MIXED, ("a", "c")) == ["PatternTable"]
    monkeypatch.setattr(tally_kinds, "MOST_CODES", 5)
    assert kinds_by(MIXED, ("a", "c")) == ["PlaneTable"]
    monkeypatch.setattr(tally_kinds, "CODED_CELLS", 9)
    monkeypatch.setattr(tally_kinds, "MOST_CODES", 6)
    assert kinds_by(MIXED, ("a", "c")) == ["PlaneTable"]


def test_patterns_are_kept_of_all_tables_or_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of 5 values have 32 patterns; with a flag 64, so that two tables have 96."""
    tables = (("h",), ("a", "h"))
    monkeypatch.setattr(tally_kinds, "MOST_PATTERNS", 96)
    assert kinds_by(MIXED, *tables) == ["PatternTable"] * 2
    monkeypatch.setattr(tally_kinds, "MOST_PATTERNS", 95)
    assert kinds_by(MIXED, *tables) == ["PlaneTable"] * 2
    assert kinds_by(MIXED, ("h", "a"), ("a", "h")) == ["PatternTable"]  # once, in the schema's order


def test_every_pair_is_moments_or_one_table_or_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flags a, b, c: 16 cells of moments, 8 of everything, 4 each of three pairs."""
    assert [type(kind) for kind in kinds_of_order(FLAGS, 2)] == [Moments]
    assert [type(kind) for kind in kinds_of_order(FLAGS, 1)] == [PlaneTable] * 3
    assert [kind.names for kind in kinds_of_order(FLAGS, 1)] == [("a",), ("b",), ("c",)]  # type: ignore[attr-defined]
    wide = dn.Plan(dn.Schema([dn.Choice(name, values(30)) for name in "xyz"]), epsilon=3.0)
    (everything,) = kinds_of_order(wide, 3)
    assert everything.cells == 31**3
    monkeypatch.setattr(tally_kinds, "MOST_TABLES", 2)
    with pytest.raises(dn.CountError, match="order=1 is 3 tables of 6 cells in all; ask for order=3"):
        kinds_of_order(FLAGS, 1)


def test_a_large_arm_is_counted_by_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds_of_whole.cache_clear()
    monkeypatch.setattr(tally_kinds, "WHOLE_CELLS", 8)
    assert [kind.cells for kind in kinds_of_whole(FLAGS)] == [8]
    kinds_of_whole.cache_clear()
    monkeypatch.setattr(tally_kinds, "WHOLE_CELLS", 7)
    assert [type(kind) for kind in kinds_of_whole(FLAGS)] == [Moments]
    kinds_of_whole.cache_clear()


def test_planes_for_the_next_batch_are_used_again_if_they_are_enough() -> None:
    tally = Tally.of(FLAGS, order=2)
    tally.add(all_true(FLAGS, 4096))
    first = tally.memory
    tally.add(all_true(FLAGS, 4000))
    assert tally.memory is first
    tally.add(all_true(FLAGS, 5000))
    assert tally.memory is not first
    assert tally.memory is not None
    assert np.shape(tally.memory) == (4, 128)
