"""All pairs of a survey: how long their associations take once they are counted."""

import time

import numpy as np

import deniable as dn
from benchmarks.harness import Row, medians, show

FLAGS, REPORTS = 200, 20_000


def run() -> None:
    """Print the table."""
    rng = np.random.default_rng(1)
    names = [f"f{k}" for k in range(FLAGS)]
    plan = dn.Plan(
        dn.Schema([dn.Flag(name) for name in names]), dict.fromkeys(names, dn.RandomizedResponse(epsilon=1.0))
    )
    counts = dn.count(dn.randomize({name: rng.random(REPORTS) < 0.3 for name in names}, plan, rng=rng), order=2)
    times = medians({"ours": lambda: dn.associations(counts)}, repeats=3, clock=time.perf_counter)
    what = f"all {FLAGS * (FLAGS - 1) // 2:,} pairs of {FLAGS} flags, after counting"
    show("Associations, wall", [Row(what, times["ours"], "two seconds", 2.0, 1.0)])
