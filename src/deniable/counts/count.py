"""Counting reports: in memory or streamed from files, on all processors, in memory that does not grow with them.

batches of what reports show -> evidence -> one accumulator per job and worker -> their sum
"""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from pathlib import Path
from threading import Event, Lock
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.counts.counts import Array, Counts, Names
from deniable.counts.evidence import evidence, gather, plane_rows
from deniable.counts.tallies import MOST_ROWS, Job, Moments, PatternTable, check_memory, jobs_for
from deniable.errors import CountError, PlanError, ReportError
from deniable.kernels.bitplanes import new_planes, tools_for
from deniable.reports.columns import layout
from deniable.reports.reports import Reports, open_parquet, plan_of
from deniable.survey.plan import Plan
from deniable.survey.protocols.protocols import LocalHashing
from deniable.text.progress import watched

BATCH_BITS = 1 << 26  # of a batch, as read and as evidence: 8 MiB
BATCH_SECONDS = 5  # of numpy, a tenth of that compiled: so long a Ctrl-C may have to wait


@dataclass(frozen=True)
class Batch:
    """What some reports show of the features that are counted."""

    reports: int
    shown: dict[str, Any]

    def __len__(self) -> int:
        return self.reports


# -- counting ---------------------------------------------------------------------------------------------------------


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
    plan, total, batches = _source(reports)
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


# -- where reports come from -------------------------------------------------------------------------------------------

Batches = Callable[[Sequence[str], int], Iterator[Batch]]  # of these features, with so many rows


def _source(reports: Reports | str | Path | Sequence[str | Path]) -> tuple[Plan, int, Batches]:
    """The plan, the number of reports, and how to get batches of them."""
    if isinstance(reports, Reports):
        return reports.plan, len(reports), lambda names, rows: _slices(reports, names, rows)
    files = find_files(reports)
    plan, total = plan_and_total(files)
    return plan, total, lambda names, rows: watched(_stream(plan, files, names, rows), "reports counted", total)


def _slices(reports: Reports, names: Sequence[str], rows: int) -> Iterator[Batch]:
    for start in range(0, len(reports), rows):
        part = reports.table.slice(start, rows)
        yield Batch(len(part), gather(reports.plan, part, names, start))


def _stream(plan: Plan, files: Sequence[Path], names: Sequence[str], rows: int) -> Iterator[Batch]:
    """Batches from files, reading the columns that these features need."""
    columns = dict(zip(plan.schema.names, layout(plan), strict=True))
    wanted = [column.name for name in names for column in columns[name]]
    for path in files:
        source = open_parquet(path)
        for name in wanted:
            if (times := source.schema_arrow.names.count(name)) != 1:
                what = "is missing from the reports" if not times else "stands twice in the reports"
                raise ReportError(f"{path}: column {name!r} {what}")
        first = 0
        try:
            for batch in source.iter_batches(rows, columns=wanted):
                yield Batch(len(batch), gather(plan, pa.Table.from_batches([batch]), names, first))
                first += len(batch)
        except (OSError, pa.ArrowException) as error:
            raise ReportError(f"{path}: cannot be read as Parquet: {error}") from None
        except ReportError as error:
            raise ReportError(f"{path}: {error}") from None


def find_files(source: str | Path | Sequence[str | Path]) -> list[Path]:
    """The Parquet files that a path, a glob (`**` for any depth), a folder or a list of these means, each once."""
    if not isinstance(source, str | Path | list | tuple) or (
        isinstance(source, list | tuple) and not all(isinstance(one, str | Path) for one in source)
    ):
        raise ReportError(f"count takes Reports, or a path, a glob, a folder or a list of these; found {source!r}")
    found: list[Path] = []
    for one in [source] if isinstance(source, str | Path) else source:
        path = Path(one)
        if path.is_file():
            matches = [path]
        elif path.is_dir():
            matches = [file for file in sorted(path.glob("*.parquet")) if not file.name.startswith(".")]
        else:
            matches = sorted(map(Path, glob.glob(str(one), recursive=True)))  # noqa: PTH207 - it takes any path
        if not matches:
            where = "no Parquet files in this folder" if path.is_dir() else "no such file"
            raise ReportError(f"{one}: {where}")
        found += matches
    resolved = [path.resolve() for path in found]
    if len(set(resolved)) < len(resolved):
        twice = next(path for path in found if resolved.count(path.resolve()) > 1)
        raise ReportError(f"{twice} is given more than once, and its reports would count as often")
    return found


def plan_and_total(files: Sequence[Path]) -> tuple[Plan, int]:
    """The one plan of all files, and how many reports they hold."""
    first: Plan | None = None
    total = 0
    for path in files:
        source = open_parquet(path)
        total += source.metadata.num_rows
        try:
            plan = plan_of(source)
        except (ReportError, PlanError) as error:
            raise ReportError(f"{path}: {error}") from None
        if first is not None and plan != first:
            raise CountError(
                f"{path} is of another plan than {files[0]}: {plan.fingerprint}, not {first.fingerprint}; "
                "count them apart"
            )
        first = plan
    if first is None:
        raise ReportError("no files to count")
    return first, total
