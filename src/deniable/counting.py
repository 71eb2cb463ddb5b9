"""Counting reports: in memory or streamed from files, on all processors, in memory that does not grow with them.

    batches of what reports show -> evidence -> one accumulator per job and worker -> their sum

A job is what is to be counted: all pairs or triples of evidence columns, or one table of features. Jobs replace each
other: they say what evidence they need, make an accumulator, add a batch to it, and read the counts off it.
"""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, prod
from pathlib import Path
from threading import Event, Lock
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.counts import Array, Counts, Names
from deniable.errors import CountError, PlanError, ReportError
from deniable.evidence import Evidence, evidence, gather, plane_rows
from deniable.layout import ValueColumn, layout
from deniable.plan import Plan
from deniable.planes import new_planes, tools_for
from deniable.progress import watched
from deniable.protocols import LocalHashing
from deniable.reports import Reports, open_parquet, plan_of

BATCH_BITS = 1 << 26  # of a batch, as read and as evidence: 8 MiB
MOST_ROWS = 1 << 20
CODED_CELLS = 1024  # from so many cells on, a histogram of codes beats ANDing planes
MOST_CODES = 1 << 26


# -- jobs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moments:
    """Every pair (order 2) or triple (order 3) of evidence columns."""

    plan: Plan
    order: int

    @cached_property
    def planes(self) -> Names:
        """The features whose planes it needs."""
        return self.plan.schema.names

    codes: Names = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its accumulator."""
        return (1 + sum(len(feature.columns) for feature in self.plan.schema),) * self.order

    @property
    def plain_seconds(self) -> float:
        """What a report costs without compiled code."""
        return comb(self.shape[0] + self.order - 1, self.order) / 3e10

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        """Count one batch."""
        (tools.pairs if self.order == 2 else tools.triples)(batch.planes, out)

    def read(self, out: Array) -> Array:
        """The counts: the kernels fill the cells whose indices do not fall, and the others repeat them."""
        full = np.empty_like(out)
        rest = np.indices(out.shape[1:])
        for i in range(len(out)):
            index = np.sort(np.concatenate([np.full_like(rest[:1], i), rest]), axis=0)
            full[i] = out[tuple(index)]
        return full


@dataclass(frozen=True)
class PlaneTable:
    """One table of features, by ANDing planes."""

    plan: Plan
    names: Names

    codes: Names = ()

    @property
    def planes(self) -> Names:
        return self.names

    @cached_property
    def sizes(self) -> Any:
        return np.array([len(self.plan.schema[name].columns) for name in self.names])

    @cached_property
    def heads(self) -> int:
        """How many features to take on the left, so that both sides have about as many products."""
        products = [prod(self.sizes[:k] + 1) + prod(self.sizes[k:] + 1) for k in range(len(self.names) + 1)]
        return int(np.argmin(products))

    @property
    def shape(self) -> tuple[int, ...]:
        return (int(prod(self.sizes[: self.heads] + 1)), int(prod(self.sizes[self.heads :] + 1)))

    @property
    def plain_seconds(self) -> float:
        return prod(self.shape) * (len(self.names) / 3e10 + 2e-5 / MOST_ROWS)

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        firsts = np.array([batch.firsts[name] for name in self.names])
        tools.table(batch.planes, firsts, self.sizes, self.heads, out)

    def read(self, out: Array) -> Array:
        return out.reshape(self.sizes + 1)


@dataclass(frozen=True)
class CodeTable:
    """One table of flags and of features that show one value: a histogram of codes, summed up afterwards."""

    plan: Plan
    names: Names

    @cached_property
    def planes(self) -> Names:
        return tuple(name for name in self.names if len(self.plan.schema[name].columns) == 1)

    @cached_property
    def codes(self) -> Names:
        return tuple(name for name in self.names if len(self.plan.schema[name].columns) > 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return (2 ** len(self.planes) * prod(self.plan.schema[name].levels for name in self.codes),)

    @property
    def plain_seconds(self) -> float:
        return 1e-8 * (1 + len(self.names))

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        size = 64 * batch.planes.shape[1]
        codes = np.zeros(size if self.codes else 0, np.int32)
        for name in self.codes:
            codes *= self.plan.schema[name].levels
            codes[: batch.reports] += batch.codes[name]
        rows = [batch.firsts[name] for name in self.planes]
        beside = rows == list(range(rows[0], rows[0] + len(rows))) if rows else False
        tools.histogram(batch.planes[rows[0] : rows[-1] + 1] if beside else batch.planes[rows], codes, out)
        out[0] -= size - batch.reports  # those that are not there showed no flag and code 0

    def read(self, out: Array) -> Array:
        levels = [self.plan.schema[name].levels for name in self.codes]
        axes = [*self.codes, *reversed(self.planes)]
        tensor = out.reshape([*levels, *[2] * len(self.planes)])
        for axis, name in enumerate(axes):
            if name in self.planes:  # (false, true) -> (all, true)
                lines = tensor.swapaxes(0, axis)
                lines[0] += lines[1]
            else:
                tensor = np.concatenate([tensor.sum(axis=axis, keepdims=True), tensor], axis)
        return tensor.transpose([axes.index(name) for name in self.names])


Job = Moments | PlaneTable | CodeTable


def _table_job(plan: Plan, names: Names) -> Job:
    """The faster way to count a table."""
    shows_one = {
        name: len(plan.schema[name].columns) == 1 or isinstance(columns[0], ValueColumn)
        for name, columns in zip(plan.schema.names, layout(plan), strict=True)
    }
    cells = prod(1 + len(plan.schema[name].columns) for name in names)
    coded = CodeTable(plan, names)
    if cells >= CODED_CELLS and all(shows_one[name] for name in names) and coded.shape[0] <= MOST_CODES:
        return coded
    return PlaneTable(plan, names)


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
    jobs = _jobs(plan, names, order)
    workers = os.cpu_count() or 1
    check_memory(jobs, workers, order)
    planes = tuple(dict.fromkeys(name for job in jobs for name in job.planes))
    needed = [name for name in plan.schema.names if any(name in (*job.planes, *job.codes) for job in jobs)]
    tools = tools_for(total * _plain_seconds(plan, jobs, planes))
    rows = _batch_rows(plan, planes, needed, total, workers)

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
    arrays = [job.read(sum(parts)) for job, parts in zip(jobs, zip(*sums, strict=True), strict=True)]
    moments = next((array for job, array in zip(jobs, arrays, strict=True) if isinstance(job, Moments)), None)
    counted = {job.names: array for job, array in zip(jobs, arrays, strict=True) if not isinstance(job, Moments)}
    return Counts(plan, counted, moments=moments)


def _jobs(plan: Plan, names: Any, order: int | None) -> list[Job]:
    if (names is None) == (order is None):
        raise CountError("count takes names of features, or order=2 for every pair; give one of them")
    if order is not None:
        if type(order) is not int or not 1 <= order <= len(plan.schema):
            raise CountError(
                f"order must be a whole number from 1 to the number of features, {len(plan.schema)}; found {order!r}"
            )
        if order in (2, 3):
            return [Moments(plan, order)]
        return [_table_job(plan, table) for table in combinations(plan.schema.names, order)]
    tables = [names] if all(isinstance(name, str) for name in names) else names
    jobs = []
    for table in tables:
        if isinstance(table, str) or not table or len(set(table)) < len(table):
            raise CountError(f"a table is a list of one or more different features; found {table!r}")
        for name in table:
            plan.schema.index(name)
        jobs.append(_table_job(plan, tuple(sorted(table, key=plan.schema.index))))
    return list(dict.fromkeys(jobs))


def check_memory(jobs: Sequence[Job], workers: int, order: int | None) -> None:
    """Refuse, before anything is read, what would not fit in half of this machine's memory."""
    cells = sum(prod(job.shape) for job in jobs)
    needed = 8 * cells * (workers + 2)  # an accumulator each, their sum, and the checked result
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > memory // 2:
        instead = f"order={order - 1}, or tables of the features you need" if order else "fewer features at a time"
        raise CountError(
            f"this asks for {cells:,} cells, and {needed / 1e9:,.1f} GB to count them; "
            f"there are {memory / 1e9:,.1f} GB here, and half of it may be used. Ask for {instead}"
        )


def _batch_rows(plan: Plan, planes: Names, needed: Sequence[str], total: int, workers: int) -> int:
    """Rows of a batch: few enough to bound memory, and for every worker to have some."""
    widths = dict(zip(plan.schema.names, layout(plan), strict=True))
    bits = plane_rows(plan, planes) + sum(column.width for name in needed for column in widths[name])
    rows = min(MOST_ROWS, BATCH_BITS // bits, -(-total // workers))
    return max(4096, rows // 4096 * 4096)


def _plain_seconds(plan: Plan, jobs: Sequence[Job], planes: Names) -> float:
    """What a report costs without compiled code, hashes included."""
    hashes = sum(len(plan.schema[name].columns) for name in planes if isinstance(plan[name], LocalHashing))
    return sum(job.plain_seconds for job in jobs) + 2e-8 * hashes


def _spread(
    work: Callable[[Callable[[], Batch | None]], list[Array]], batches: Iterator[Batch], workers: int
) -> list[list[Array]]:
    """Let workers fetch batches, one at a time, and return what each made of its own."""
    turn, stopped = Lock(), Event()

    def next_batch() -> Batch | None:
        with turn:
            return None if stopped.is_set() else next(batches, None)

    with ThreadPoolExecutor(workers) as pool:
        try:
            return [future.result() for future in [pool.submit(work, next_batch) for _ in range(workers)]]
        finally:
            stopped.set()  # after an error, or Ctrl-C, the others stop at their next batch


# -- where reports come from -------------------------------------------------------------------------------------------

Batches = Callable[[Sequence[str], int], Iterator[Batch]]  # of these features, with so many rows


def _source(reports: Reports | str | Path | Sequence[str | Path]) -> tuple[Plan, int, Batches]:
    """The plan, the number of reports, and how to get batches of them."""
    if isinstance(reports, Reports):
        return reports.plan, len(reports), lambda names, rows: _slices(reports, names, rows)
    files = find_files(reports)
    plan, total = _plan_and_total(files)
    return plan, total, lambda names, rows: watched(_stream(plan, files, names, rows), "reports counted", total)


def _slices(reports: Reports, names: Sequence[str], rows: int) -> Iterator[Batch]:
    for start in range(0, len(reports), rows):
        part = reports.table.slice(start, rows)
        yield Batch(len(part), gather(reports.plan, part, names))


def _stream(plan: Plan, files: Sequence[Path], names: Sequence[str], rows: int) -> Iterator[Batch]:
    """Batches from files, reading the columns that these features need."""
    columns = dict(zip(plan.schema.names, layout(plan), strict=True))
    wanted = [column.name for name in names for column in columns[name]]
    for path in files:
        source = open_parquet(path)
        if missing := set(wanted) - set(source.schema_arrow.names):
            raise ReportError(f"{path}: column {min(missing)!r} is missing from the reports")
        first = 0
        try:
            for batch in source.iter_batches(rows, columns=wanted):
                yield Batch(len(batch), gather(plan, pa.Table.from_batches([batch]), names))
                first += len(batch)
        except (OSError, pa.ArrowException) as error:
            raise ReportError(f"{path}: cannot be read as Parquet: {error}") from None
        except ReportError as error:
            raise ReportError(f"{path}, from report {first} on: {error}") from None


def find_files(source: str | Path | Sequence[str | Path]) -> list[Path]:
    """The Parquet files that a path, a glob, a folder or a list of these means, in order of their names."""
    if not isinstance(source, str | Path):
        return [path for one in source for path in find_files(one)]
    path = Path(source)
    if path.is_file():
        return [path]
    found = sorted(path.glob("*.parquet")) if path.is_dir() else sorted(map(Path, glob.glob(str(source))))  # noqa: PTH207
    if not found:
        raise ReportError(f"{source}: no such file, and no Parquet files there")
    return found


def _plan_and_total(files: Sequence[Path]) -> tuple[Plan, int]:
    """The one plan of all files, and how many reports they hold."""
    first: Plan | None = None
    total = 0
    for path in files:
        source = open_parquet(path)
        total += source.metadata.num_rows
        try:
            plan = plan_of(source.schema_arrow)
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
