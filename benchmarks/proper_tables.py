"""Proper tables of many cells: time and memory by products, against the matrices where these can be made.

Each row runs in a process of its own, so that its peak memory is its own.
"""

import resource
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import numpy as np

import deniable as dn
from deniable.estimates import feasible
from deniable.survey.protocols.base import Protocol

# Two choices of so many values each, their protocol and the number of reports; and whether matrices are tried.
TABLES: tuple[tuple[int, Protocol, int, bool], ...] = (
    (45, dn.SubsetSelection(epsilon=2.0), 20_000, True),
    (100, dn.SubsetSelection(epsilon=2.0), 20_000, False),
    (100, dn.SubsetSelection(epsilon=4.0), 100_000, False),
    (100, dn.UnaryEncoding.optimized(2.0), 100_000, False),
    (100, dn.GRR(epsilon=4.0), 100_000, False),
    (317, dn.GRR(epsilon=4.0), 100_000, False),
    (317, dn.SubsetSelection(epsilon=2.0), 100_000, False),
)


def two_choices(m: int, protocol: Protocol, n: int) -> dn.Reports:
    """Reports of two choices, half of whose answers are alike, and a few of them frequent."""
    rng = np.random.default_rng(1)
    names = np.array([f"v{k}" for k in range(m)])
    schema = dn.Schema([dn.Choice(name, list(names)) for name in "ab"])
    shares = 1 / np.arange(1, m + 1)
    a, b = rng.choice(m, (2, n), p=shares / shares.sum())
    b = np.where(rng.random(n) < 0.5, a, b)
    return dn.randomize({"a": names[a], "b": names[b]}, dn.Plan(schema, dict.fromkeys("ab", protocol)), rng=rng)


def _feasible(m: int, protocol: Protocol, n: int, dense: bool) -> tuple[float, float, float]:
    """Seconds of the processor, peak memory beyond what was there before, and the gap."""
    counts = dn.count(two_choices(m, protocol, n), ["a", "b"])
    if dense:
        feasible.MOST_DENSE = feasible.MOST_CELLS
    before, start = _peak(), time.process_time()
    est = dn.estimate(counts, ["a", "b"], method="feasible")
    assert est.proper is not None
    return time.process_time() - start, _peak() - before, est.proper.gap


def _likelihood(m: int, protocol: Protocol, n: int, dense: bool) -> tuple[float, float, float]:
    """Seconds of the processor and peak memory of maximum likelihood; its gap is warned about if it is not closed."""
    assert not dense
    reports = two_choices(m, protocol, n)
    before, start = _peak(), time.process_time()
    dn.maximum_likelihood(reports, ["a", "b"])
    return time.process_time() - start, _peak() - before, float("nan")


def _peak() -> float:
    """The most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e3 if sys.platform != "darwin" else 1e6)


def _alone(run: Callable[..., tuple[float, float, float]], *args: Any) -> tuple[float, float, float]:
    """The result of a function in a process of its own."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(run, args)


def run() -> None:
    """Print the tables."""
    print("\nFeasible tables of two choices: processor time, peak memory, gap in units of chi-square")
    for m, protocol, n, dense in TABLES:
        for matrices in (False, True) if dense else (False,):
            seconds, memory, gap = _alone(_feasible, m, protocol, n, matrices)
            how = "matrices" if matrices else "products"
            told = f"{seconds:7.2f} s  {memory:7,.0f} MB  gap {gap:.0e}"
            print(f"  {m:3d} x {m:3d} {protocol.name:18} N = {n:7,}  {how}  {told}", flush=True)
    print("\nMaximum likelihood of two choices of 40 values by unary encoding")
    for n in (10_000, 20_000):
        seconds, memory, _ = _alone(_likelihood, 40, dn.UnaryEncoding.optimized(2.0), n, False)
        print(f"  N = {n:7,}  {seconds:7.2f} s  {memory:7,.0f} MB", flush=True)
