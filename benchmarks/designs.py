"""Plans with arms against the same questions without: randomizing, counting, and estimating all pairs.

16 flags with epsilon 1, as 120 arms of two and as everybody asked everything. Contestants take turns. What is wanted is
judged by the clock, as users do; CPU time over all threads, which other work on the machine disturbs least, stands
beside it.
"""

import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from benchmarks.harness import Row, medians, show

REPORTS = 10_000_000
FLAGS = [f"f{k}" for k in range(16)]
EPSILON = 1.0
MOST_TIMES = 1.5  # counting with arms may take so many times as long
ALL_PAIRS, ONE_TABLE = 2.0, 0.2  # seconds


def plans() -> tuple[dn.Plan, dn.Plan]:
    """All pairs of 16 flags as arms, and everybody asked everything."""
    schema = dn.Schema([dn.Flag(name) for name in FLAGS])
    return dn.Plan(schema, epsilon=EPSILON, arms=[list(arm) for arm in combinations(FLAGS, 2)]), dn.Plan(
        schema, epsilon=EPSILON
    )


def against(
    what: str, ours: Callable[[], Any], other: str, theirs: Callable[[], Any], wanted: float | None, repeats: int = 5
) -> list[Row]:
    """Two rows, of wall and of CPU time: with arms against without."""
    rows = []
    for clock, name in ((time.perf_counter, "wall"), (time.process_time, "CPU")):
        times = medians({"ours": ours, "theirs": theirs}, repeats=repeats, clock=clock)
        rows.append(Row(f"{what}, {name}", times["ours"], other, times["theirs"], wanted if name == "wall" else None))
    return rows


def collecting(reports: int = REPORTS) -> list[Row]:
    """Randomizing and counting, in memory and from Parquet files."""
    rng = np.random.default_rng(1)
    arms, plain = plans()
    answers = {name: rng.random(reports, np.float32) < 0.2 for name in FLAGS}
    rows = against(
        f"randomizing 120 arms, N = {reports:,}", lambda: dn.randomize(answers, arms), "16 flags without arms",
        lambda: dn.randomize(answers, plain), None, repeats=2,
    )  # fmt: skip
    ours, theirs = dn.randomize(answers, arms, rng=rng), dn.randomize(answers, plain, rng=rng)
    rows += against(
        f"counting 120 arms, N = {reports:,}", lambda: dn.count(ours), "dn.count(order=2) without arms",
        lambda: dn.count(theirs, order=2), 1 / MOST_TIMES, repeats=51,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        first, second = (str(Path(folder, f"{name}.parquet")) for name in ("arms", "plain"))
        ours.save(first)
        theirs.save(second)
        assert dn.count(first) == dn.count(ours)
        rows += against(
            "the same from one Parquet file", lambda: dn.count(first), "dn.count(order=2) without arms",
            lambda: dn.count(second, order=2), 1 / MOST_TIMES, repeats=3,
        )  # fmt: skip
    return rows


def estimating(reports: int = REPORTS) -> list[Row]:
    """All pairs with their intervals, and one table of three out of all triples' arms."""
    rng = np.random.default_rng(2)
    pairs, _ = plans()
    of = dn.simulate.truth(pairs.schema, dict.fromkeys(FLAGS, 0.2))
    counts = dn.simulate.counts(of, pairs, rng, n=reports)
    triples = dn.Plan(pairs.schema, epsilon=EPSILON, arms=[list(arm) for arm in combinations(FLAGS, 3)])
    of_triples = dn.simulate.counts(of, triples, rng, n=reports)

    def all_pairs() -> None:
        for pair in combinations(FLAGS, 2):
            dn.estimate(counts, pair).table()

    rows = []
    for clock, name in ((time.perf_counter, "wall"), (time.process_time, "CPU")):
        times = medians(
            {"pairs": all_pairs, "one": lambda: dn.estimate(of_triples, FLAGS[:3]).table()}, repeats=3, clock=clock
        )
        wanted = 1.0 if name == "wall" else None
        rows += [
            Row(f"all 120 pairs of 120 arms, with intervals, {name}", times["pairs"], "two seconds", ALL_PAIRS, wanted),
            Row(f"a table of three of 560 arms, {name}", times["one"], "a fifth of a second", ONE_TABLE, wanted),
        ]
    return rows


def run() -> None:
    """Print the table."""
    show("Plans with arms", collecting() + estimating())
