"""Reports that stand twice are found while they are counted: in files, in parts, and in counts saved or added."""

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.cli import main
from deniable.counts import repeated_reports
from deniable.counts.layout import UNKNOWN, Repeats
from deniable.counts.repeated_reports import SeenRuns, _looked_at, _places
from deniable.counts.tally import Tally
from deniable.page.page import page

FLAG, CHOICE = dn.Flag("smoker"), dn.Choice("age", ["young", "middle", "old"])
BOTH = dn.Plan(dn.Schema([FLAG, CHOICE]), epsilon=2.0)
PLANS = {
    "randomized response": dn.Plan(dn.Schema([FLAG]), epsilon=1.0),
    "GRR": dn.Plan(dn.Schema([CHOICE]), {"age": dn.GRR(epsilon=1.0)}),
    "subset selection": dn.Plan(
        dn.Schema([dn.Choice("age", list("abcdef"))]), {"age": dn.SubsetSelection(epsilon=1.0)}
    ),
    "local hashing": dn.Plan(dn.Schema([CHOICE]), {"age": dn.LocalHashing(epsilon=1.0)}),
}


def reports_of(plan: dn.Plan, n: int, seed: int = 1) -> dn.Reports:
    """Reports of people who all answer the same, so that only chance makes them differ."""
    answers = {feature.name: [feature.answers[0]] * n for feature in plan.schema}
    return dn.randomize(answers, plan, rng=np.random.default_rng(seed))


def joined(*parts: dn.Reports) -> dn.Reports:
    return dn.Reports(parts[0].plan, pa.concat_tables([part.table for part in parts]))


def sliced(reports: dn.Reports, start: int, length: int) -> dn.Reports:
    return dn.Reports(reports.plan, reports.table.slice(start, length))


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_of_few_reports_every_run_is_looked_at_wherever_it_stands(plan: dn.Plan) -> None:
    column = _looked_at(plan, plan.schema.names)
    assert column is not None
    reports = reports_of(plan, 500)
    assert dn.count(reports).repeats == Repeats(501 - column.length, 0)
    for start, length in ((0, 400), (13, 300), (499 - column.length, column.length)):  # bits do not begin at bytes
        twice = joined(reports, sliced(reports, start, length))
        found, copied = dn.count(twice).repeats, length - column.length + 1
        assert found.looked == 501 + length - column.length
        assert copied <= found.found <= copied + 20  # the reports around a copy may be the same by chance


@pytest.mark.parametrize("runs", [900, 3_000, 30_000, 300_000])
def test_of_two_copies_a_place_of_one_is_copied_to_a_place_of_the_other_however_far_apart(runs: int) -> None:
    places = _places(runs)
    assert len(np.unique(places)) == len(places)
    assert places.max() < runs
    step = {900: 1, 3_000: 16, 30_000: 32, 300_000: 512}[runs]
    marked = np.zeros(runs, bool)
    marked[places] = True
    for apart in {1, step // 2 + 1, step, 3 * step + 5, step * step + 7}:
        if apart < runs - step * step:
            matched = np.flatnonzero(marked[apart:] & marked[:-apart])
            assert np.diff(matched, prepend=-1).max() <= step * step


def test_a_batch_that_is_stored_twice_is_found_in_files_and_by_workers(tmp_path: Path) -> None:
    reports = reports_of(BOTH, 60_000)
    sliced(reports, 0, 20_000).save(tmp_path / "a.parquet")
    joined(sliced(reports, 20_000, 40_000), sliced(reports, 777, 15_000)).save(tmp_path / "b.parquet")
    for workers in (1, 2):
        assert dn.count([tmp_path / "a.parquet"], workers=workers).repeats.found == 0
        assert dn.count(tmp_path, ["age"], workers=workers).repeats.found > 0


def test_tallies_that_add_find_what_only_both_have() -> None:
    reports, parts = reports_of(BOTH, 800), []
    for _ in range(2):
        parts.append(Tally.of(BOTH))
        parts[-1].add(reports)
    first, second = (pickle.loads(pickle.dumps(part)) for part in parts)
    assert first.counts().repeats.found == second.counts().repeats.found == 0
    looked = first.counts().repeats.looked
    assert (first + second).counts().repeats == Repeats(2 * looked, looked)


def test_memory_is_bounded_and_a_later_copy_is_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_reports, "KEPT", 64)
    plan, seen = PLANS["GRR"], SeenRuns()
    parts = [reports_of(plan, 1_000, seed) for seed in range(20)]
    for part in [*parts, parts[3]]:
        tally = Tally.of(plan)
        tally.runs = seen
        tally.add(part)
        assert len(seen._kept) <= 64
        if part is parts[-1]:
            assert seen.settle().found == 0
    assert seen.settle().found > 0


def test_reports_that_were_sorted_are_no_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = dn.Reports.from_bytes(sorted(reports_of(BOTH, 3_000).to_bytes()), BOTH)
    assert dn.count(rows).repeats == UNKNOWN
    column = _looked_at(BOTH, BOTH.schema.names)
    assert column is not None
    monkeypatch.setattr(
        repeated_reports, "_looked_at", lambda *_: repeated_reports._Column(column.unit, column.form, column.length, 0)
    )
    assert dn.count(rows).repeats.found > 0  # the control


def test_half_the_length_stands_twice_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: runs of 16 random bits are repeated among a thousand, those of STREAM_BITS are not."""
    plan = PLANS["local hashing"]
    assert dn.count(reports_of(plan, 1_000)).repeats == Repeats(1_000, 0)
    flags = dn.Plan(dn.Schema([FLAG]), epsilon=0.01)  # nearly a random bit each: a word of 64 has 64 of them
    assert dn.count(reports_of(flags, 1_000)).repeats.found == 0
    monkeypatch.setattr(repeated_reports, "_bit_runs", lambda *of: _shortened(of, true_runs))
    assert dn.count(reports_of(flags, 1_000)).repeats.found > 0


true_runs = repeated_reports._bit_runs


def _shortened(of: tuple[object, ...], runs: object) -> tuple[object, ...]:
    words, first, second = runs(*of)  # type: ignore[operator]
    return words[:, :1] & np.uint64(0xFFFF), first, second


def test_arms_are_looked_at_each_by_itself() -> None:
    plan = dn.Plan(dn.Schema([FLAG, CHOICE]), epsilon=1.0, arms=[["smoker"], ["age"]])
    parts = [joined(part, part) if place else part for place, part in enumerate(reports_of(plan, 2_000).arms)]
    assert dn.count(reports_of(plan, 2_000)).repeats.found == 0
    twice = dn.count(dn.Reports.of_arms(plan, parts))
    assert twice.repeats.found > 0
    assert (twice + dn.count(reports_of(plan, 2_000, seed=2))).repeats.found == twice.repeats.found


def test_what_is_public_or_hardly_random_is_not_looked_at() -> None:
    public = dn.Plan(dn.Schema([FLAG]), {"smoker": dn.Public()})
    assert dn.count(reports_of(public, 2_000)).repeats == UNKNOWN
    assert dn.count(reports_of(dn.Plan(dn.Schema([FLAG]), epsilon=10.0), 2_000)).repeats == UNKNOWN
    assert dn.count(reports_of(BOTH, 50)).repeats == UNKNOWN  # fewer than a run has


# -- who tells ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    reports = reports_of(BOTH, 2_000)
    joined(reports, reports).save(tmp_path / "twice.parquet")
    return tmp_path / "twice.parquet"


def test_estimates_of_reports_paths_and_counts_warn(twice: Path, tmp_path: Path) -> None:
    dn.count(twice).save(tmp_path / "counts.npz")
    counts = dn.count(twice)
    other = dn.count(reports_of(BOTH, 2_000, seed=2))
    assert dn.check(other).fits
    assert (counts + other).repeats == counts.repeats + other.repeats
    assert pickle.loads(pickle.dumps(counts)).repeats == counts.repeats
    for source in (twice, dn.Reports.load(twice), counts, tmp_path / "counts.npz", counts + other):
        with pytest.warns(dn.FitWarning, match="repeated reports"):
            dn.estimate(source, ["smoker"])
    assert not dn.check(counts).fits
    assert [test.kind for test in dn.check(twice).tests].count("repeated reports") == 1
    assert counts == dn.Counts(BOTH, counts.tables, moments=counts.moments)  # what was found is outside `==`


@pytest.mark.filterwarnings("ignore::deniable.FitWarning")
def test_the_page_and_show_say_it(twice: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "stood there before" in page(dn.count(twice))
    assert main(["show", str(twice)]) == 0
    assert "- Check of fit, repeated reports (1 test): does not fit: of " in capsys.readouterr().out


def test_show_looks_at_pairs_of_reports_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, read = (
        dn.Plan(dn.Schema([dn.Choice(name, list("xyz")) for name in "ab"]), {name: dn.GRR(epsilon=e) for name in "ab"})
        for e in (3.0, 1.0)
    )
    same = np.random.default_rng(2).choice(list("xyz"), 5_000)
    dn.Reports(read, dn.randomize({"a": same, "b": same}, made, rng=np.random.default_rng(3)).table).save(
        tmp_path / "wrong.parquet"
    )
    assert main(["show", str(tmp_path / "wrong.parquet")]) == 0
    assert "- Check of fit, cells of pairs (1 test): does not fit: a x b" in capsys.readouterr().out


def test_counts_that_do_not_say_are_read_and_odd_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "counts.npz"
    counts = dn.count(reports_of(BOTH, 2_000))
    counts.save(path)
    arrays = dict(np.load(path))
    assert arrays["repeats"].tolist() == [counts.repeats.looked, 0]
    for odd in ([1, 2], [-1, -1], [1, 0, 0], [1.0, 0.0]):
        np.savez(path, **arrays | {"repeats": np.array(odd)})
        with pytest.raises(dn.CountError, match="repeats"):
            dn.Counts.load(path)
    del arrays["repeats"]
    np.savez(path, **arrays)
    assert dn.Counts.load(path) == counts
    assert dn.Counts.load(path).repeats == UNKNOWN
