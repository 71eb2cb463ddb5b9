"""Where the reports that are counted come from: memory, or Parquet files, in batches."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from deniable.counts.checks import warn_of_kept
from deniable.counts.evidence_planes import gather, gather_from
from deniable.counts.layout import Names
from deniable.errors import CountError, PlanError, ReportError, abbreviated
from deniable.files import Sources, all_sources, expanded, file_state
from deniable.files.stores import AnyFile
from deniable.reports.arm_row_groups import arm_batches
from deniable.reports.fields import fields
from deniable.reports.parquet import UNREADABLE, damage, has_plan, open_parquet, open_with_source, plan_of
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


@dataclass(frozen=True)
class Described:
    """A file of reports: its state, its source, and the rows of each row group."""

    path: AnyFile
    fingerprint: str
    state: str
    source: Sources
    groups: tuple[int, ...]


@dataclass(frozen=True)
class Descriptions:
    """Some files, and their plans by fingerprint. They add."""

    files: tuple[Described, ...]
    plans: dict[str, Plan] = field(hash=False)

    def __add__(self, other: "Descriptions") -> "Descriptions":
        return Descriptions(self.files + other.files, self.plans | other.plans)

    @property
    def total(self) -> int:
        """How many reports they hold."""
        return sum(sum(file.groups) for file in self.files)

    @property
    def plan(self) -> Plan:
        """The one plan of all files; several are an error."""
        first = self.files[0]
        for file in self.files:
            if file.fingerprint != first.fingerprint:
                raise CountError(
                    f"{file.path} is of another plan than {first.path}: {file.fingerprint}, not {first.fingerprint}; "
                    "count them apart"
                )
        return self.plans[first.fingerprint]

    @property
    def sources(self) -> Sources:
        """Whose reports they hold; two files with the same are an error."""
        return all_sources(((file.source, f"{file.path} and a file before it") for file in self.files), CountError)


def described(plan: Plan | None, files: Sequence[AnyFile]) -> Descriptions:
    """What some files hold, by their footers."""
    found, plans = [], {}
    for path in files:
        state = file_state(path) if path.is_file() else ""
        source, whose = open_with_source(path)
        own = file_plan(path, source, plan)
        plans[own.fingerprint] = own
        groups = tuple(source.metadata.row_group(group).num_rows for group in range(source.num_row_groups))
        found.append(Described(path, own.fingerprint, state, whose, groups))
    return Descriptions(tuple(found), plans)


def check_unchanged(file: Described) -> None:
    """Refuse a file that is not what it was when it was described."""
    if not file.path.is_file():
        raise ReportError(f"{file.path}: was there when counting began, and is not any more; was it removed?")
    if file_state(file.path) != file.state:
        raise ReportError(f"{file.path}: has changed since counting began; count again")


Batches = Callable[[Sequence[Names], int], Iterator[Batch]]  # of these units of each arm, with so many rows


def source(
    reports: Reports | str | AnyFile | Sequence[str | AnyFile], given: Plan | None = None
) -> tuple[Plan, int, Batches, Sources]:
    """The plan, the number of reports, how to get batches of them, and whose they are."""
    if isinstance(reports, Reports):
        if given not in (None, reports.plan):
            raise CountError(f"these reports are of plan {reports.plan.fingerprint}, not {given.fingerprint}")
        return reports.plan, len(reports), lambda names, rows: _slices(reports, names, rows), reports.source
    found = described(given, find_files(reports))
    plan, total = found.plan, found.total
    if plan.kept and len(found.files) > 1:
        warn_of_kept("files", 3)

    def batches(names: Sequence[Names], rows: int) -> Iterator[Batch]:
        return watched(_stream(plan, found.files, names, rows), "reports counted", total)

    return plan, total, batches, found.sources


def _slices(reports: Reports, names: Sequence[Names], rows: int) -> Iterator[Batch]:
    for arm, (part, units) in enumerate(zip(reports.arms, names, strict=True)):
        for start in range(0, len(part), rows):
            yield Batch(*gather_from(part, start, rows, units), arm)


def _stream(plan: Plan, files: Sequence[Described], names: Sequence[Names], rows: int) -> Iterator[Batch]:
    """Batches from files, reading the columns that these units need; a file that has changed on the way is an error."""
    for file in files:
        check_unchanged(file)
        yield from part_batches(plan, file.path, None, names, rows)
        check_unchanged(file)


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
    there = Counter(source.schema_arrow.names)  # Arrow makes the schema again whenever it is asked
    for name in wanted[0]:
        if (times := there[name]) != 1:
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
    found = described(given, files)
    return found.plan, found.total
