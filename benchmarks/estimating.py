"""Estimates of all sets of flags, against the dense matrices of the paper; and how the cost grows."""

import time

import numpy as np

import deniable as dn
from benchmarks.harness import Row, medians, show
from deniable import kernels, paper


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
    assert kernels
    counts, names = _counts(8)
    rr = counts.plan["f0"]
    sets = paper.column_sets(8)
    c = np.array([counts.array(*names)[tuple(int(k in J) for k in range(8))] for J in sets], float)

    def ours() -> None:
        est = dn.estimate(counts, names, method="unbiased")
        _ = est.mean, est.variance

    def dense() -> None:
        inverse = paper.inverse_mean_matrix(8, rr.p, rr.q)
        _ = inverse @ (c - counts.n * paper.background(8, rr.p))

    times = medians({"ours": ours, "paper": dense}, repeats=3)
    row = Row("mean and variance of 8 flags", times["ours"], "the paper's matrices, mean alone", times["paper"], 100.0)
    show("Estimating, CPU time", [row])

    print("\n  flags        sets    mean and variance, wall    per set and flag   one copy of the result")
    for flags in (8, 12, 16, 20, 22, 24):
        counts, names = _counts(flags)
        best = min(_seconds(counts, names) for _ in range(3))
        result = np.ones(1 << flags)
        copy = min(_copy_seconds(result) for _ in range(3))
        print(
            f"  {flags:5d}  {1 << flags:10,d}  {best * 1e3:16.2f} ms  {best / flags / (1 << flags) * 1e9:16.3f} ns"
            f"  {copy * 1e3:16.2f} ms"
        )


def _copy_seconds(result: np.ndarray) -> float:
    start = time.perf_counter()
    result.copy()
    return time.perf_counter() - start


def _seconds(counts: dn.Counts, names: list[str]) -> float:
    start = time.perf_counter()
    est = dn.estimate(counts, names)
    _ = est.mean, est.variance
    return time.perf_counter() - start
