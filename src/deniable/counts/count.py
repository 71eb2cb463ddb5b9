"""Counting reports: in memory or streamed from files, on all processors, in memory that does not grow with them.

batches of what reports show -> evidence -> one accumulator per job and worker -> their sum
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path
from threading import Event, Lock

import numpy as np

from deniable.counts.counts import Array, Counts, Names
from deniable.counts.evidence import evidence, plane_rows
from deniable.counts.sources import Batch, source
from deniable.counts.tallies import MOST_ROWS, Job, Moments, PatternTable, check_memory, jobs_for
from deniable.kernels.bitplanes import new_planes, tools_for
from deniable.reports.columns import layout
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.survey.protocols.protocols import LocalHashing

BATCH_BITS = 1 << 26  # of a batch, as read and as evidence: 8 MiB
BATCH_SECONDS = 5  # of numpy, a tenth of that compiled: so long a Ctrl-C may have to wait


def count(
    reports: Reports | str | Path | Sequence[str | Path],
    names: Sequence[str] | Sequence[Sequence[str]] | None = None,
    *,
    order: int | None = None,
) -> Counts:
    """Count one table of features, several tables (a list of lists of names), or with `order` all of that many.

    `reports` may be in memory, or Parquet files: a path, a glob such as "reports/*.parquet", a folder, or a list of
    these. Files are streamed; all must be of one plan.
    """
    plan, total, batches = source(reports)
    jobs = jobs_for(plan, names, order)
    planes = tuple(dict.fromkeys(name for job in jobs for name in job.planes))
    needed = tuple(dict.fromkeys(name for job in jobs for name in job.needed))
    workers = processors()
    rows = _batch_rows(plan, jobs, needed, total, workers)
    workers = max(1, min(workers, -(-total // rows)))
    check_memory(sum(job.cells for job in jobs), sum(prod(job.shape) for job in jobs), workers, order)
    tools = tools_for(_plain_seconds(plan, jobs, planes, total))

    def count_some(next_batch: Callable[[], Batch | None]) -> list[Array]:
        """What each worker does: fetch batches until there are none, and add them up."""
        memory = new_planes(plane_rows(plan, planes), rows)
        outs = [np.zeros(job.shape, np.int64) for job in jobs]
        while (batch := next_batch()) is not None:
            found = evidence(plan, len(batch), batch.shown, planes, memory, tools)
            for job, out in zip(jobs, outs, strict=True):
                job.add(found, out, tools)
        return outs

    sums = _spread(count_some, batches(needed, rows), workers)
    moments, tables, patterns = None, {}, {}
    for job, parts in zip(jobs, zip(*sums, strict=True), strict=True):
        match job:
            case Moments():
                moments = job.read(sum(parts))
            case PatternTable(several=True):
                patterns[job.names] = job.patterns(sum(parts))
            case _:
                tables[job.names] = job.read(sum(parts))
    return Counts(plan, tables, moments=moments, patterns=patterns)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _batch_rows(plan: Plan, jobs: Sequence[Job], needed: Names, total: int, workers: int) -> int:
    """Rows of a batch: few enough to bound its memory and its time, and for every worker to have some."""
    planes = dict.fromkeys(name for job in jobs for name in job.planes)
    columns = dict(zip(plan.schema.names, layout(plan), strict=True))
    bits = plane_rows(plan, planes) + sum(column.held for name in needed for column in columns[name])
    quick = int(MOST_ROWS * BATCH_SECONDS / sum(job.plain_seconds(MOST_ROWS) for job in jobs))
    most = max(1, min(MOST_ROWS, BATCH_BITS // bits, quick))
    rounds = max(1, -(-total // (most * workers)))  # in which every worker takes one batch, all as long
    return 4096 * -(-total // (4096 * rounds * workers)) or 4096


def _plain_seconds(plan: Plan, jobs: Sequence[Job], planes: Names, total: int) -> float:
    """What all reports would cost without compiled code, hashes included."""
    hashes = sum(len(plan.schema[name].columns) for name in planes if isinstance(plan[name], LocalHashing))
    return sum(job.plain_seconds(total) for job in jobs) + (5e-8 * total + 1e-4) * hashes


def _spread(
    work: Callable[[Callable[[], Batch | None]], list[Array]], batches: Iterator[Batch], workers: int
) -> list[list[Array]]:
    """Let workers fetch batches, one at a time, and return what each made of its own."""
    turn, stopped = Lock(), Event()

    def next_batch() -> Batch | None:
        with turn:
            return None if stopped.is_set() else next(batches, None)

    def worker() -> list[Array]:
        try:
            return work(next_batch)
        except BaseException:
            stopped.set()  # the others stop at their next batch
            raise

    with ThreadPoolExecutor(workers) as pool:
        try:
            return [future.result() for future in [pool.submit(worker) for _ in range(workers)]]
        finally:
            stopped.set()  # after Ctrl-C, too
