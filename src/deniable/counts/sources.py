"""Where the reports that are counted come from: memory, or Parquet files, in batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deniable.counts.checks import warn_of_kept
from deniable.counts.evidence_planes import gather, gather_from
from deniable.counts.layout import Names
from deniable.errors import CountError, PlanError, ReportError, abbreviated
from deniable.files import Sources, expanded, joined_sources
from deniable.files.stores import AnyFile
from deniable.reports.arm_row_groups import arm_batches
from deniable.reports.fields import fields
from deniable.reports.parquet import UNREADABLE, damage, has_plan, open_parquet, plan_of, source_of
from deniable.reports.reports import Reports
from deniable.reports.wide_table import ArmBatch
from deniable.survey.plan import Plan
from deniable.text.progress import watched


@dataclass(frozen=True)
class Batch:
    """What some reports of an arm show of the units that are counted."""

    reports: int
    shown: dict[str, Any]
    arm: int = 0

    def __len__(self) -> int:
        return self.reports


def origin(reports: Reports | str | AnyFile | Sequence[str | AnyFile]) -> Sources:
    """Whose reports these are: `Reports`, or each of some files. Two files with the same are an error."""
    found: Sources = {}
    if isinstance(reports, Reports):
        return reports.source
    for path in find_files(reports):
        found = joined_sources(found, source_of(path), CountError, f"{path} and a file before it")
    return found


Batches = Callable[[Sequence[Names], int], Iterator[Batch]]  # of these units of each arm, with so many rows


def source(
    reports: Reports | str | AnyFile | Sequence[str | AnyFile], given: Plan | None = None
) -> tuple[Plan, int, Batches]:
    """The plan, the number of reports, and how to get batches of them."""
    if isinstance(reports, Reports):
        if given not in (None, reports.plan):
            raise CountError(f"these reports are of plan {reports.plan.fingerprint}, not {given.fingerprint}")
        return reports.plan, len(reports), lambda names, rows: _slices(reports, names, rows)
    files = find_files(reports)
    plan, total = plan_and_total(files, given)
    if plan.kept and len(files) > 1:
        warn_of_kept("files", 3)
    return plan, total, lambda names, rows: watched(_stream(plan, files, names, rows), "reports counted", total)


def _slices(reports: Reports, names: Sequence[Names], rows: int) -> Iterator[Batch]:
    for arm, (part, units) in enumerate(zip(reports.arms, names, strict=True)):
        for start in range(0, len(part), rows):
            yield Batch(*gather_from(part, start, rows, units), arm)


def _stream(plan: Plan, files: Sequence[AnyFile], names: Sequence[Names], rows: int) -> Iterator[Batch]:
    """Batches from files, reading the columns that these units need."""
    for path in files:
        yield from part_batches(plan, path, None, names, rows)


def part_batches(
    plan: Plan, path: AnyFile, groups: Sequence[int] | None, names: Sequence[Names], rows: int, *, threads: bool = True
) -> Iterator[Batch]:
    """Batches from some row groups of a file, or from all, reading the columns that these units need.

    Without threads, Arrow decodes columns one after another, as a task does that has one processor.
    """
    wanted = [
        [column for name in units for column in fields(arm)[name].names]
        for arm, units in zip(plan.arms, names, strict=True)
    ]
    try:
        source = open_parquet(path)
        every = range(source.num_row_groups) if groups is None else groups
        for part in _parts(source, plan, wanted, rows, every, threads):
            shown = gather(plan.arms[part.arm], part.table, names[part.arm], part.first)
            yield Batch(part.reports, shown, part.arm)
    except UNREADABLE as error:
        raise ReportError(f"{path}: {damage(error)}") from None
    except ReportError as error:
        text = str(error)
        raise ReportError(text if text.startswith(f"{path}: ") else f"{path}: {text}") from None


def _parts(
    source: Any, plan: Plan, wanted: Sequence[Sequence[str]], rows: int, groups: Sequence[int], threads: bool
) -> Iterator[ArmBatch]:
    """Batches of row groups of an open Parquet file, with these columns of each arm."""
    if plan.has_arms:
        yield from arm_batches(source, plan, wanted, rows, groups, threads)
        return
    for name in wanted[0]:
        if (times := source.schema_arrow.names.count(name)) != 1:
            what = "is missing from the reports" if not times else "occurs twice in the reports"
            raise ReportError(f"column {name!r} {what}")
    first = sum(source.metadata.row_group(group).num_rows for group in range(groups[0] if groups else 0))
    for batch in source.iter_batches(rows, row_groups=list(groups), columns=wanted[0], use_threads=threads):
        yield ArmBatch(0, len(batch), pa.Table.from_batches([batch]), first)
        first += len(batch)


def find_files(source: str | AnyFile | Sequence[str | AnyFile]) -> list[AnyFile]:
    """The Parquet files that a path, a glob (`**` for any depth), a folder or a list of these means, each once."""
    if not isinstance(source, str | AnyFile | list | tuple) or (
        isinstance(source, list | tuple) and not all(isinstance(one, str | AnyFile) for one in source)
    ):
        raise ReportError(
            f"count takes Reports, or a path, a glob, a folder or a list of these; found {abbreviated(source)}. "
            "dn.randomize makes reports of answers"
        )
    return expanded(source, {".parquet": "Parquet"}, ReportError)


def file_plan(path: AnyFile, source: Any, given: Plan | None) -> Plan:
    """The plan of an open file: its own, or the given one if it lost it; both must be the same."""
    try:
        own = plan_of(source) if given is None or has_plan(source) else given
    except (ReportError, PlanError) as error:
        raise ReportError(f"{path}: {error}") from None
    if given not in (None, own):
        raise CountError(f"{path} is of plan {own.fingerprint}, not of the given one, {given.fingerprint}")
    return own


def plan_and_total(files: Sequence[AnyFile], given: Plan | None = None) -> tuple[Plan, int]:
    """The one plan of all files, and how many reports they hold."""
    first: Plan | None = None
    total = 0
    for path in files:
        source = open_parquet(path)
        total += source.metadata.num_rows
        plan = file_plan(path, source, given)
        if first is not None and plan != first:
            raise CountError(
                f"{path} is of another plan than {files[0]}: {plan.fingerprint}, not {first.fingerprint}; "
                "count them apart"
            )
        first = plan
    assert first is not None  # `expanded` finds at least one file
    return first, total
