"""Where the reports that are counted come from: memory, or Parquet files, in batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from deniable.counts.evidence_planes import gather, gather_from
from deniable.counts.layout import Names
from deniable.errors import CountError, PlanError, ReportError, abbreviated
from deniable.files import Sources, expanded, joined_sources
from deniable.reports.arm_row_groups import arm_batches
from deniable.reports.fields import fields
from deniable.reports.parquet import UNREADABLE, damage, open_parquet, plan_of, source_of
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


def origin(reports: Reports | str | Path | Sequence[str | Path]) -> Sources:
    """Whose reports these are: `Reports`, or each of some files. Two files with the same are an error."""
    found: Sources = {}
    if isinstance(reports, Reports):
        return reports.source
    for path in find_files(reports):
        found = joined_sources(found, source_of(path), CountError, f"{path} and a file before it")
    return found


Batches = Callable[[Sequence[Names], int], Iterator[Batch]]  # of these units of each arm, with so many rows


def source(reports: Reports | str | Path | Sequence[str | Path]) -> tuple[Plan, int, Batches]:
    """The plan, the number of reports, and how to get batches of them."""
    if isinstance(reports, Reports):
        return reports.plan, len(reports), lambda names, rows: _slices(reports, names, rows)
    files = find_files(reports)
    plan, total = plan_and_total(files)
    return plan, total, lambda names, rows: watched(_stream(plan, files, names, rows), "reports counted", total)


def _slices(reports: Reports, names: Sequence[Names], rows: int) -> Iterator[Batch]:
    for arm, (part, units) in enumerate(zip(reports.arms, names, strict=True)):
        for start in range(0, len(part), rows):
            yield Batch(*gather_from(part, start, rows, units), arm)


def _stream(plan: Plan, files: Sequence[Path], names: Sequence[Names], rows: int) -> Iterator[Batch]:
    """Batches from files, reading the columns that these units need."""
    wanted = [
        [column for name in units for column in fields(arm)[name].names]
        for arm, units in zip(plan.arms, names, strict=True)
    ]
    for path in files:
        try:
            for part in _parts(open_parquet(path), plan, wanted, rows):
                shown = gather(plan.arms[part.arm], part.table, names[part.arm], part.first)
                yield Batch(part.reports, shown, part.arm)
        except UNREADABLE as error:
            raise ReportError(f"{path}: {damage(error)}") from None
        except ReportError as error:
            raise ReportError(f"{path}: {error}") from None


def _parts(source: Any, plan: Plan, wanted: Sequence[Sequence[str]], rows: int) -> Iterator[ArmBatch]:
    """Batches of an open Parquet file, with these columns of each arm."""
    if plan.has_arms:
        yield from arm_batches(source, plan, wanted, rows)
        return
    for name in wanted[0]:
        if (times := source.schema_arrow.names.count(name)) != 1:
            what = "is missing from the reports" if not times else "occurs twice in the reports"
            raise ReportError(f"column {name!r} {what}")
    first = 0
    for batch in source.iter_batches(rows, columns=wanted[0]):
        yield ArmBatch(0, len(batch), pa.Table.from_batches([batch]), first)
        first += len(batch)


def find_files(source: str | Path | Sequence[str | Path]) -> list[Path]:
    """The Parquet files that a path, a glob (`**` for any depth), a folder or a list of these means, each once."""
    if not isinstance(source, str | Path | list | tuple) or (
        isinstance(source, list | tuple) and not all(isinstance(one, str | Path) for one in source)
    ):
        raise ReportError(
            f"count takes Reports, or a path, a glob, a folder or a list of these; found {abbreviated(source)}. "
            "dn.randomize makes reports of answers"
        )
    return expanded(source, {".parquet": "Parquet"}, ReportError)


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
    assert first is not None  # `expanded` finds at least one file
    return first, total
