"""Nobody is counted twice: counts and estimates that share a source do not add, and equal numbers alone always do."""

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.counts.tally import Tally

PLAN = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=4.0)
ARMS = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=4.0, arms=[["a"], ["b"]])
TWICE = "would be counted twice"


def reports(plan: dn.Plan, seed: int = 1) -> dn.Reports:
    bits = np.random.default_rng(2).random((2, 200)) < 0.5
    return dn.randomize({"a": bits[0], "b": bits[1]}, plan, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("plan", [PLAN, ARMS], ids=["alone", "arms"])
def test_the_same_reports_do_not_add_however_they_came_there(tmp_path: Path, plan: dn.Plan) -> None:
    own = reports(plan)
    own.save(tmp_path / "first.parquet")
    shutil.copy(tmp_path / "first.parquet", tmp_path / "copy.parquet")
    first = dn.count(own)
    first.save(tmp_path / "counts.npz")
    others = {
        "itself": first,
        "counted again": dn.count(own),
        "from its file": dn.count(tmp_path / "first.parquet"),
        "from a copy": dn.count(tmp_path / "copy.parquet"),
        "loaded reports": dn.count(dn.Reports.load(tmp_path / "first.parquet")),
        "loaded counts": dn.Counts.load(tmp_path / "counts.npz"),
        "pickled": pickle.loads(pickle.dumps(first)),
    }
    for what, other in others.items():
        assert first == other, what  # sources are outside of equality
        with pytest.raises(dn.CountError, match=TWICE):
            _ = first + other
        with pytest.raises(dn.CountError, match=TWICE):
            _ = dn.count(reports(plan)) + first + other
        with pytest.raises(dn.EstimateError, match="different people"):
            dn.estimate([first, other], "a")
    with pytest.raises(dn.CountError, match=r"copy.parquet and a file before it share a source, first.parquet"):
        dn.count([tmp_path / "first.parquet", tmp_path / "copy.parquet"])


def test_equal_numbers_alone_always_add(tmp_path: Path) -> None:
    """The same answers and the same draws, sent by other people; in memory, in files and as numbers."""
    first, second = reports(PLAN), reports(PLAN)
    assert first == second
    assert (dn.count(first) + dn.count(second)).n == 400
    first.save(tmp_path / "first.parquet")
    second.save(tmp_path / "second.parquet")
    assert dn.count([tmp_path / "first.parquet", tmp_path / "second.parquet"]).n == 400
    pieces = [dn.Reports(PLAN, first.table.slice(start, 100)) for start in (0, 100)]
    assert sum(dn.count(piece) for piece in pieces) == dn.count(first)
    given = [dn.Counts(PLAN, {("a", "b"): [[9, 5], [4, 2]]}) for _ in range(2)]
    assert (given[0] + given[1]).n == 18
    with pytest.raises(dn.CountError, match="the same counts, and everybody"):
        _ = given[0] + given[0]
    none = dn.count(dn.Reports(PLAN, first.table.slice(0, 0)))
    assert (none + none).n == 0


def test_estimates_of_the_same_counts_do_not_add() -> None:
    counts, other = dn.count(reports(PLAN)), dn.count(reports(PLAN, seed=3))
    est = dn.estimate(counts, "a")
    for again in (est, dn.estimate(counts, "a"), dn.estimate(counts, ["a", "b"]).project("a")):
        with pytest.raises(dn.EstimateError, match=TWICE):
            _ = est + again
    with pytest.raises(dn.EstimateError, match=TWICE):
        _ = est + dn.estimate(other, "a") + est
    assert (est + dn.estimate(other, "a")).n == 400


def test_a_file_without_a_seal_is_known_by_its_path_and_time(tmp_path: Path) -> None:
    """Another program wrote it anew, and left nothing of the seal."""
    import pyarrow.parquet as pq

    reports(PLAN).save(tmp_path / "sealed.parquet")
    for name in ("first", "second"):
        pq.write_table(pq.read_table(tmp_path / "sealed.parquet"), tmp_path / f"{name}.parquet")
    first, again, second = (dn.count(tmp_path / f"{name}.parquet") for name in ("first", "first", "second"))
    assert (first + second).n == 400
    with pytest.raises(dn.CountError, match=r"share a source, first.parquet"):
        _ = first + again


@pytest.mark.parametrize("plan", [PLAN, ARMS], ids=["alone", "arms"])
def test_counts_of_one_tally_do_not_add(plan: dn.Plan) -> None:
    first, second = Tally.of(plan), Tally.of(plan)
    assert (first + first).n == 0  # nobody is counted twice if nobody is counted
    first.add(reports(plan))
    earlier = first.counts()
    first.add(reports(plan, seed=3))
    second.add(reports(plan))
    assert (earlier + second.counts()).n == 400
    for again in (earlier, first.counts(), (first + second).counts(), pickle.loads(pickle.dumps(first)).counts()):
        with pytest.raises(dn.CountError, match=f"share a source, the same tally, and everybody in it {TWICE}"):
            _ = earlier + again
    with pytest.raises(dn.CountError, match="the two tallies share a source"):
        _ = first + first
    assert (first + second).counts().n == 600


def test_pickled_tallies_that_counted_nothing_yet_count_for_themselves() -> None:
    """As workers on other machines do, which all get the same empty tally."""
    sent = pickle.dumps(Tally.of(PLAN))
    parts = [pickle.loads(sent) for _ in range(3)]
    for seed, part in enumerate(parts):
        part.add(reports(PLAN, seed=seed))
    assert sum(parts).counts().n == 600


def test_given_counts_of_arms_are_a_source_of_their_own() -> None:
    """Equal numbers add, the same counts do not, and of nobody there is no source."""
    given = [
        dn.Counts(ARMS, arms=[dn.Counts(arm, {name: [9, 5]}) for arm, name in zip(ARMS.arms, "ab", strict=True)])
        for _ in range(2)
    ]
    assert (given[0] + given[1]).n == 36
    with pytest.raises(dn.CountError, match="share a source, the same counts, and everybody"):
        _ = given[0] + given[0]
    none = dn.Counts(ARMS, arms=[dn.Counts(arm, n=0) for arm in ARMS.arms])
    for nobody in (none, dn.Counts(PLAN, n=0)):
        assert (dict(nobody.sources), (nobody + nobody).n) == ({}, 0)
