"""Counting on Dask and Spark against one process with as many threads, and memory as the reports grow tenfold.

`ENGINES_REPORTS` sets how many reports there are (default 10 000 000). Files are written to a temporary folder: about
three bytes for each report. Spark is measured where pyspark and a Java are there.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from benchmarks.harness import Row, medians, show
from deniable.counts.on_engine import described, parts_of, tally_of

REPORTS = int(os.environ.get("ENGINES_REPORTS", 10_000_000))
FILE_ROWS = 1 << 20
WORKERS = 2


def run() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        first = _files(Path(folder), REPORTS)
        with _dask() as client, _spark() as session:
            _ratios(first, client, session)
            _memory(first, client)
        _overhead(first)


def _plan() -> dn.Plan:
    schema = dn.Schema([*(dn.Flag(f"f{k}") for k in range(12)), dn.Choice("age", ["a", "b", "c", "d", "e"])])
    return dn.Plan(
        schema, dict.fromkeys([f"f{k}" for k in range(12)], dn.RandomizedResponse(epsilon=1.0)), epsilon=13.0
    )


def _files(folder: Path, reports: int) -> list[str]:
    """Files of a million reports, all different in their source and alike in their content."""
    rng = np.random.default_rng(1)
    plan = _plan()
    rows = min(FILE_ROWS, reports)
    answers = {f"f{k}": rng.random(rows) < 0.3 for k in range(12)} | {"age": rng.choice(list("abcde"), rows)}
    made = []
    for place in range(-(-reports // rows)):
        made.append(str(folder / f"{place:05}.parquet"))
        dn.Reports(plan, dn.randomize(answers, plan, rng=place).table).save(made[-1])
    return made


@contextmanager
def _dask() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def _spark() -> Iterator[Any]:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        yield None
        return
    if shutil.which("java") is None:
        yield None
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{WORKERS}]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    yield session
    session.stop()


def _ratios(files: list[str], client: Any, session: Any) -> None:
    contestants: dict[str, Callable[[], Any]] = {
        "one process": lambda: dn.count(files, order=2, workers=WORKERS),
        "Dask": lambda: dn.count(files, order=2, engine=client),
    }
    if session is not None:
        contestants["Spark"] = lambda: dn.count(files, order=2, engine=session)
    times = medians(contestants, repeats=3, clock=time.perf_counter)
    wanted = {"Dask": 1 / 1.25, "Spark": 1 / 1.6}
    rows = [
        Row(
            f"{name}, {WORKERS} workers, {REPORTS:,} reports",
            times[name],
            "one process",
            times["one process"],
            wanted[name],
        )
        for name in contestants
        if name in wanted
    ]
    show("Counting every pair on an engine, wall, once it is started", rows)


def _memory(files: list[str], client: Any) -> None:
    """The most memory of driver and workers, after a tenth of the files and after all of them."""
    print("\nMost memory so far, MB (driver, workers): it must not grow with the reports\n")
    for share in (max(1, len(files) // 10), len(files)):
        dn.count(files[:share], order=2, engine=client)
        workers = sorted(client.run(_peak).values())
        print(f"  {share * FILE_ROWS:>14,} reports  {_peak():8.0f}  {'  '.join(f'{one:6.0f}' for one in workers)}")


def _peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _overhead(files: list[str]) -> None:
    """What a part costs beside its counting, and the curve that follows for more workers: calculated, not measured."""
    start = time.perf_counter()
    found = described(None, [Path(file) for file in files])
    footers = (time.perf_counter() - start) / len(files)
    (part, *_) = parts_of(found.files, WORKERS, 1 << 24)
    job = (next(iter(found.plans.values())), None, 2)
    tally_of(job, part)
    start = time.perf_counter()
    tally = tally_of(job, part)
    counting = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(100):
        tally = tally + tally.empty()
    adding = (time.perf_counter() - start) / 100
    scheduling = 1e-3  # what Dask's documentation gives for a task
    print(f"\nA part of {len(part):,} reports: {counting:.3f} s; a footer {footers:.4f} s; a sum {adding:.6f} s")
    print("Weak scaling, calculated from these and 1 ms of scheduling for each task, 100 parts a worker:\n")
    for workers in (1, 10, 50, 200):
        parts = 100 * workers
        busy = parts * (counting + footers) / workers
        alone = parts * scheduling + adding * np.log(max(parts, 2)) / np.log(8)  # the scheduler, and the tree
        taken = max(busy, alone) + adding
        print(f"  {workers:4} workers  {taken:8.1f} s  efficiency {busy / taken:.2f}")
