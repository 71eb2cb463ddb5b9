"""Counting on Dask and Spark against one process with as many threads, memory as reports grow tenfold, weak scaling.

`ENGINES_REPORTS` sets how many reports there are (default 10 000 000); memory is looked at with ten times as many.
Files are written to a temporary folder: about three bytes for each report. Spark is measured where pyspark and a Java
are.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import deniable as dn
from deniable.counts.on_engine import Part, described, parts_of, tally_of
from deniable.reports.engines.engine import FAN_IN, engine_of, total

REPORTS = int(os.environ.get("ENGINES_REPORTS", 10_000_000))
FILE_ROWS = 1 << 20
BASES = 4  # So many files are randomized; the others repeat their rows, as drawing takes longer than counting.
WORKERS = 2
ROUNDS = 5
WANTED = {"Dask": 1.25, "Spark": 1.6}
EMPTY_TASKS = 1_000  # The overhead of a task is measured with so many that do nothing.
PARTS = 100  # In weak scaling each worker has so many parts.
MACHINES = (1, 2, 5, 10, 20, 50, 100, 200)


def run() -> None:
    """Print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        files = _files(Path(folder), 10 * REPORTS)
        few = files[: max(1, len(files) // 10)]
        with _dask() as client:
            _ratios(few, {"Dask": client})
            _memory(few, files, client, lambda: list(client.run(_peak).values()))
            _weak_scaling(few, client)
        with _spark() as session:
            if session is not None:
                _ratios(few, {"Spark": session})
                _memory(few, files, session, lambda: [*_of_spark(session), *_of_java()])


def _plan() -> dn.Plan:
    schema = dn.Schema([*(dn.Flag(f"f{k}") for k in range(12)), dn.Choice("age", ["a", "b", "c", "d", "e"])])
    return dn.Plan(
        schema, dict.fromkeys([f"f{k}" for k in range(12)], dn.RandomizedResponse(epsilon=1.0)), epsilon=13.0
    )


def _files(folder: Path, reports: int) -> list[str]:
    """Files of a million reports, each a source of its own."""
    rng = np.random.default_rng(1)
    plan = _plan()
    rows = min(FILE_ROWS, reports)
    answers = {f"f{k}": rng.random(rows) < 0.3 for k in range(12)} | {"age": rng.choice(list("abcde"), rows)}
    tables = [dn.randomize(answers, plan, rng=base).table for base in range(BASES)]
    made = []
    for place in range(-(-reports // rows)):
        made.append(str(folder / f"{place:05}.parquet"))
        dn.Reports(plan, tables[place % BASES]).save(made[-1])
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


def _ratios(files: list[str], engines: Mapping[str, Any]) -> None:
    contestants: dict[str, Callable[[], Any]] = {"one process": lambda: dn.count(files, order=2, workers=WORKERS)}
    for name, engine in engines.items():
        contestants[name] = lambda: dn.count(files, order=2, engine=engine)
    clocks = {"wall": time.perf_counter, "processor time of all processes": _processor_time}
    times: dict[tuple[str, str], list[float]] = {(what, name): [] for what in clocks for name in contestants}
    for turn in range(ROUNDS + 1):
        for name, work in contestants.items():
            before = {what: clock() for what, clock in clocks.items()}
            work()
            for what, clock in clocks.items() if turn else ():  # the first round warms up
                times[what, name].append(clock() - before[what])
    middle = {key: median(seconds) for key, seconds in times.items()}
    print(f"\nCounting every pair of {len(files) * FILE_ROWS:,} reports, {WORKERS} workers, once they are started\n")
    for name in engines:
        for what in clocks:
            own, other = middle[what, name], middle[what, "one process"]
            wanted = f", at most {WANTED[name]} wanted" if what == "wall" else ""
            print(f"  {name:6} {own:7.2f} s, one process {other:7.2f} s: {own / other:.2f} times ({what}{wanted})")


def _processor_time() -> float:
    """Seconds of this process and of all that it started, which other users of the machine hardly disturb."""
    import psutil

    own = psutil.Process()
    return sum(sum(one.cpu_times()[:2]) for one in (own, *own.children(recursive=True)))


def _memory(few: list[str], files: list[str], engine: Any, peaks: Callable[[], list[float]]) -> None:
    """The most memory of driver and workers, after a tenth of the files and after all of them."""
    print("\nMost memory so far, MB (driver; workers; Spark's Java): it must not grow with the reports\n")
    for some in (few, files):
        start = time.perf_counter()
        counts = dn.count(some, order=2, engine=engine)
        seconds = time.perf_counter() - start
        told = "  ".join(f"{one:6.0f}" for one in peaks())
        print(f"  {counts.n:>14,} reports  {seconds:6.1f} s  {_peak():8.0f}  {told}")


def _peak(_: object = None) -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def _of_spark(session: Any) -> list[float]:
    peaks: list[float] = session.sparkContext.parallelize(range(WORKERS), WORKERS).map(_peak).collect()
    return peaks


def _of_java() -> list[float]:
    """The most memory that Spark's Java had, where the system says."""
    import psutil

    found = []
    for one in psutil.Process().children(recursive=True):
        if one.name() == "java" and (status := Path(f"/proc/{one.pid}/status")).is_file():
            line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
            found.append(int(line.split()[1]) / 1e3)
    return found


# -- weak scaling ------------------------------------------------------------------------------------------------------


def _weak_scaling(files: list[str], client: Any) -> None:
    """What a task costs beside its counting, and the curve that follows for more workers: calculated, not measured."""
    found = described(None, [Path(file) for file in files])
    footer = _seconds(lambda: described(None, [Path(file) for file in files])) / len(files)
    (part, *_) = parts_of(found.files, WORKERS, 1 << 24)
    job = (next(iter(found.plans.values())), None, 2)
    counting = _seconds(lambda: tally_of(job, part))
    tally = tally_of(job, part)
    adding = _seconds(lambda: [tally + tally.empty() for _ in range(100)]) / 100
    tasks = [range(1)] * EMPTY_TASKS
    engine = engine_of(client)
    scheduling = _seconds(lambda: total(engine, _nothing, None, tasks)) / EMPTY_TASKS
    print(
        f"\nProcessor time: a part of {len(part):,} reports {counting:.3f} s, a footer {footer * 1e3:.2f} ms, a sum of "
        f"tallies {adding * 1e3:.3f} ms; Dask's scheduler and client {scheduling * 1e3:.2f} ms a task"
    )
    print(f"Weak scaling CALCULATED from these, {PARTS} such parts for each worker:\n")
    for line in _curve(part, counting, footer, adding, scheduling):
        print(f"  {line}")


def _nothing(_job: None, _task: Sequence[int]) -> int:
    return 0


def _seconds(work: Callable[[], Any]) -> float:
    """Processor time of this process, in which Dask's scheduler runs, too; the least of three."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def _curve(part: Part, counting: float, footer: float, adding: float, scheduling: float) -> Iterator[str]:
    """A worker counts its parts and adds in the tree; the scheduler, at the same time, has to hand out every task."""
    for workers in MACHINES:
        parts = PARTS * workers
        busy = PARTS * (counting + footer * len(part.pieces) + adding)
        depth = int(np.ceil(np.log(parts) / np.log(FAN_IN)))
        handed_out = parts * (1 + 1 / (FAN_IN - 1)) * scheduling  # the tree's tasks, too
        taken = max(busy, handed_out) + depth * (FAN_IN * adding + scheduling)
        yield f"{workers:4} workers  {taken:8.1f} s  efficiency {busy / taken:.3f}"
