"""Where the reports that are counted come from: memory, or Parquet files, in batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from deniable.counts.evidence_planes import gather
from deniable.errors import CountError, PlanError, ReportError
from deniable.files import expanded
from deniable.reports.fields import fields
from deniable.reports.parquet import open_parquet, plan_of
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.text.progress import watched


@dataclass(frozen=True)
class Batch:
    """What some reports show of the features that are counted."""

    reports: int
    shown: dict[str, Any]

    def __len__(self) -> int:
        return self.reports


Batches = Callable[[Sequence[str], int], Iterator[Batch]]  # of these features, with so many rows


def source(reports: Reports | str | Path | Sequence[str | Path]) -> tuple[Plan, int, Batches]:
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
    of = fields(plan)
    wanted = [column for name in names for column in of[name].names]
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
