"""Estimates of all sets of flags, against the dense matrices of the paper; and how the cost grows."""

import time
import tracemalloc

import numpy as np

import deniable as dn
from benchmarks.harness import Row, medians, show
from deniable import paper
from deniable.kernels import compiled


def _counts(flags: int) -> tuple[dn.Counts, list[str]]:
    """Counts that could be: half as many reports for each flag looked at."""
    names = [f"f{i}" for i in range(flags)]
    plan = dn.Plan(dn.Schema([dn.Flag(name) for name in names]), epsilon=float(flags))
    array = np.full((2,) * flags, 1 << 30, np.int64)
    for axis in range(flags):
        array.swapaxes(0, axis)[1] //= 2
    return dn.Counts(plan, {tuple(names): array}), names


def run() -> None:
    """Print the tables, with compiled kernels loaded."""
    assert compiled
    counts, names = _counts(8)
    rr = counts.plan["f0"]
    sets = paper.column_sets(8)
    c = np.array([counts.array(*names)[tuple(int(k in J) for k in range(8))] for J in sets], float)

    def ours() -> None:
        est = dn.estimate(counts, names, method="unbiased", about="respondents")
        _ = est.mean, est.variance

    def by_matrices() -> None:
        inverse = paper.inverse_mean_matrix(8, rr.p, rr.q)
        _ = inverse @ (c - counts.n * paper.background(8, rr.p))

    times = medians({"ours": ours, "paper": by_matrices}, repeats=3)
    row = Row("mean and variance of 8 flags", times["ours"], "the paper's matrices, mean alone", times["paper"], 100.0)
    show("Estimating, CPU time", [row])

    print("\n  flags        sets    mean and variance, wall    per set and flag   one copy of the result   peak memory")
    for flags in (8, 12, 16, 20, 22, 24):
        counts, names = _counts(flags)
        best = min(_seconds(counts, names) for _ in range(3))
        result = np.ones(1 << flags)
        copy = min(_copy_seconds(result) for _ in range(3))
        print(
            f"  {flags:5d}  {1 << flags:10,d}  {best * 1e3:16.2f} ms  {best / flags / (1 << flags) * 1e9:16.3f} ns"
            f"  {copy * 1e3:16.2f} ms  {_memory(counts, names) / 8 / (1 << flags):16.1f} x 8 bytes a set"
        )
    dense()


def dense() -> None:
    """A table of 625 cells with its dense covariance, wall time."""
    schema = dn.Schema([dn.Choice(f"f{k}", list("abcde")) for k in range(4)])
    plan = dn.Plan(schema, {name: dn.UnaryEncoding.optimized(1.0) for name in schema.names})
    rng = np.random.default_rng(1)
    records = {name: rng.choice(list("abcde"), 100_000) for name in schema.names}
    counts = dn.count(dn.randomize(records, plan, rng=rng), schema.names)
    times = medians(
        {
            "covariance": lambda: dn.estimate(counts, schema.names).covariance(),
            "table": lambda: dn.estimate(counts, schema.names).table(),
        },
        repeats=3, clock=time.perf_counter,
    )  # fmt: skip
    rows = [
        Row("4 features, 625 cells, dense covariance of 1 296 entries", times["covariance"], "half a second", 0.5, 1.0),
        Row("its table with intervals", times["table"], "half a second", 0.5),
    ]
    show("A table of 625 cells, wall", rows)


def _memory(counts: dn.Counts, names: list[str]) -> int:
    """Bytes that numpy held at most, beside the counts."""
    tracemalloc.start()
    est = dn.estimate(counts, names)
    _ = est.mean, est.variance
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _copy_seconds(result: np.ndarray) -> float:
    start = time.perf_counter()
    result.copy()
    return time.perf_counter() - start


def _seconds(counts: dn.Counts, names: list[str]) -> float:
    start = time.perf_counter()
    est = dn.estimate(counts, names)
    _ = est.mean, est.variance
    return time.perf_counter() - start
