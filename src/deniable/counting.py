"""Counting reports: in memory or streamed from files, on all processors, in memory that does not grow with them.

    batches of what reports show -> evidence -> one accumulator per job and worker -> their sum

A job is what is to be counted: all pairs or triples of evidence columns, or one table of features. Jobs replace each
other: they say what evidence they need, make an accumulator, add a batch to it, and read the counts off it.
"""

import glob
import os
from collections.abc import Callable, Iterator, Sequence, Set
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

from deniable import twins
from deniable.counts import Array, Counts, Names, checked_names
from deniable.errors import CountError, PlanError, ReportError
from deniable.evidence import Evidence, evidence, gather, plane_rows
from deniable.layout import ValueColumn, layout
from deniable.plan import Plan
from deniable.planes import new_planes, physical_memory, tools_for
from deniable.progress import watched
from deniable.protocols import LocalHashing
from deniable.reports import Reports, open_parquet, plan_of

BATCH_BITS = 1 << 26  # of a batch, as read and as evidence: 8 MiB
BATCH_SECONDS = 5  # of numpy, a tenth of that compiled: so long a Ctrl-C may have to wait
MOST_ROWS = 1 << 20
CODED_CELLS = 1024  # from so many cells on, a histogram of codes beats ANDing planes
MOST_CODES = 1 << 26
WHOLE_CELLS = 1 << 17  # up to so many, the table of all features is as good as all tables of some
MOST_TABLES = 50_000


# -- jobs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moments:
    """Every pair (order 2) or triple (order 3) of evidence columns."""

    plan: Plan
    order: int

    @property
    def planes(self) -> Names:
        """The features whose planes it needs."""
        return self.plan.schema.names

    @property
    def codes(self) -> Names:
        """The features whose codes it needs."""
        return ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its accumulator."""
        return (plane_rows(self.plan, self.planes),) * self.order

    @property
    def cells(self) -> int:
        """How many cells its result has."""
        return prod(self.shape)

    def plain_seconds(self, reports: int) -> float:
        """What so many reports would cost without compiled code: bits, and calls of numpy for each batch."""
        calls = comb(self.shape[0] + self.order - 2, self.order - 1) * -(-reports // MOST_ROWS)
        return reports * comb(self.shape[0] + self.order - 1, self.order) / 3e10 + 1e-5 * calls

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        """Count one batch."""
        (tools.pairs if self.order == 2 else tools.triples)(batch.planes, out)

    def read(self, out: Array) -> Array:
        """The counts: the kernels fill the cells whose indices do not fall, and the others repeat them."""
        full = np.empty_like(out)
        for i in range(len(out)):
            block = out[i, i:] if self.order == 2 else np.triu(out[i, i:, i:])
            if self.order == 2:
                full[i, i:] = full[i:, i] = block
            else:
                block += np.triu(block, 1).T
                full[i, i:, i:] = full[i:, i, i:] = full[i:, i:, i] = block
        return full


@dataclass(frozen=True)
class PlaneTable:
    """One table of features, by ANDing planes."""

    plan: Plan
    names: Names

    @property
    def planes(self) -> Names:
        return self.names

    @property
    def codes(self) -> Names:
        return ()

    @cached_property
    def lengths(self) -> list[int]:
        """The length of each axis."""
        return [1 + len(self.plan.schema[name].columns) for name in self.names]

    @cached_property
    def heads(self) -> int:
        """How many features to take on the left, so that both sides have about as many products."""
        return min(range(len(self.names) + 1), key=lambda k: prod(self.lengths[:k]) + prod(self.lengths[k:]))

    @property
    def shape(self) -> tuple[int, ...]:
        return (prod(self.lengths[: self.heads]), prod(self.lengths[self.heads :]))

    @property
    def cells(self) -> int:
        return prod(self.lengths)

    def plain_seconds(self, reports: int) -> float:
        calls = self.shape[0] * -(-reports // (64 * twins.TILE))
        return max(reports, 4096) * self.cells / 4e10 + 1e-5 * calls

    def add(self, batch: Evidence, out: Array, tools: ModuleType) -> None:
        firsts = np.array([batch.firsts[name] for name in self.names])
        tools.table(batch.planes, firsts, np.array(self.lengths) - 1, self.heads, out)

    def read(self, out: Array) -> Array:
        return out.reshape(self.lengths)


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
    def cells(self) -> int:
        return prod(1 + len(self.plan.schema[name].columns) for name in self.names)

    def plain_seconds(self, reports: int) -> float:
        return 2e-9 * (1 + len(self.names)) * reports

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


def _table_job(plan: Plan, names: Names, shows_one: Set[str]) -> Job:
    """The faster way to count a table, given the features that show one value (or are flags)."""
    coded = CodeTable(plan, names)
    if coded.cells >= CODED_CELLS and set(names) <= shows_one and coded.shape[0] <= MOST_CODES:
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
    planes = tuple(dict.fromkeys(name for job in jobs for name in job.planes))
    needed = tuple(dict.fromkeys(name for job in jobs for name in (*job.planes, *job.codes)))
    workers = _workers()
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
    arrays = [job.read(sum(parts)) for job, parts in zip(jobs, zip(*sums, strict=True), strict=True)]
    moments = next((array for job, array in zip(jobs, arrays, strict=True) if isinstance(job, Moments)), None)
    counted = {job.names: array for job, array in zip(jobs, arrays, strict=True) if not isinstance(job, Moments)}
    return Counts(plan, counted, moments=moments)


def _jobs(plan: Plan, names: Any, order: Any) -> list[Job]:
    if (names is None) == (order is None):
        raise CountError("count takes names of features, or order=2 for every pair; give one of them")
    shows_one = {
        name
        for name, columns in zip(plan.schema.names, layout(plan), strict=True)
        if len(plan.schema[name].columns) == 1 or isinstance(columns[0], ValueColumn)
    }
    if order is not None:
        return _jobs_of_order(plan, order, shows_one)
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise CountError(f"count takes a list of names, or a list of such lists; found {names!r}")
    tables = [names] if all(isinstance(name, str) for name in names) else names
    jobs = []
    for table in tables:
        if isinstance(table, str):
            raise CountError(f"several tables are a list of lists of names; found {table!r} among them")
        jobs.append(_table_job(plan, tuple(sorted(checked_names(plan, table), key=plan.schema.index)), shows_one))
    return list(dict.fromkeys(jobs))


def _jobs_of_order(plan: Plan, order: Any, shows_one: Set[str]) -> list[Job]:
    """All tables of so many features: as moments, as one table of everything, or each by itself; what is smallest."""
    if isinstance(order, bool) or not isinstance(order, int | np.integer) or not 1 <= order <= len(plan.schema):
        raise CountError(
            f"order must be a whole number from 1 to the number of features, {len(plan.schema)}; found {order!r}"
        )
    tables = comb(len(plan.schema), int(order))
    cells = [1] + [0] * int(order)  # of all tables of k features, for k = 0, 1, ...: elementary symmetric sums
    for feature in plan.schema:
        for k in range(int(order), 0, -1):
            cells[k] += cells[k - 1] * (1 + len(feature.columns))
    moments = Moments(plan, int(order))
    if order in (2, 3) and (moments.cells <= 4 * cells[-1] or tables > MOST_TABLES):
        return [moments]
    everything = _table_job(plan, plan.schema.names, shows_one)
    if everything.cells <= max(WHOLE_CELLS, 4 * cells[-1]) and order > 1:
        return [everything]
    check_memory(cells[-1], cells[-1], 1, int(order))
    if tables > MOST_TABLES:
        raise CountError(
            f"order={order} is {tables:,} tables of {cells[-1]:,} cells in all; "
            "ask for order=3, or for the tables you need"
            "ask for order=3, or for the tables you need"
        )
    return [_table_job(plan, table, shows_one) for table in combinations(plan.schema.names, int(order))]


def _workers() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_memory(cells: int, tallies: int, workers: int, order: int | None) -> None:
    """Refuse, before anything is read, what would not fit in half of this machine's memory."""
    # The workers' tallies and their sum, and the result while it is read and checked.
    needed = 8 * (tallies * (workers + 1) + 3 * cells)
    memory = physical_memory()
    if needed > memory // 2:
        instead = f"order={order - 1}, or tables of the features you need" if order else "fewer features at a time"
        raise CountError(
            f"this asks for {cells:,} cells, and {needed / 1e9:,.1f} GB to count them; "
            f"there are {memory / 1e9:,.1f} GB here, and half of it may be used. Ask for {instead}"
        )


def _batch_rows(plan: Plan, jobs: Sequence[Job], needed: Names, total: int, workers: int) -> int:
    """Rows of a batch: few enough to bound its memory and its time, and for every worker to have some."""
    planes = dict.fromkeys(name for job in jobs for name in job.planes)
    columns = dict(zip(plan.schema.names, layout(plan), strict=True))
    bits = plane_rows(plan, planes) + sum(column.held for name in needed for column in columns[name])
    quick = int(MOST_ROWS * BATCH_SECONDS / sum(job.plain_seconds(MOST_ROWS) for job in jobs))
    rows = min(MOST_ROWS, BATCH_BITS // bits, quick, -(-total // workers))
    return max(4096, rows // 4096 * 4096)


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
    plan, total = _plan_and_total(files)
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


def _plan_and_total(files: Sequence[Path]) -> tuple[Plan, int]:
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
