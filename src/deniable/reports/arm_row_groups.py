"""Reports of a plan with arms in the row groups of a Parquet file, written and read arm by arm.

An arm that has enough reports gets row groups of its own, so that whoever counts it reads its columns alone; small arms
stand together, one after another. Which arms a row group holds is told by the statistics of its column `arm`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deniable.errors import ReportError
from deniable.reports.arm_columns import ArmColumns, arm_columns
from deniable.reports.fields import columns_of
from deniable.reports.report_columns import Place
from deniable.reports.wide_table import ArmBatch, arms_in, check_asked, split, wide_table
from deniable.survey.plan import Plan

if TYPE_CHECKING:
    from deniable.reports.reports import Reports

OWN_GROUP = 1 << 15  # An arm with at least this many reports gets a row group of its own.
MIXED_GROUP = 1 << 16  # Small arms are put together until a row group has at least this many reports.
MOST_HELD = 1 << 25  # Reports wait in at most about this many bytes of memory until they are written.
TABLE_BYTES = 1 << 11  # A table that waits takes about this many bytes beside its reports.
MIXED_CELLS = 1 << 22  # Of a row group of several arms at most this many cells are read at once.


# -- writing -----------------------------------------------------------------------------------------------------------


def arm_row_groups(plan: Plan, parts: Iterable["Reports"]) -> Iterator[Any]:
    """Wide tables of reports that come in parts, each to be written as row groups of its own.

    Reports wait, by arm, until so many are there that memory has to be freed, or the last part has come.
    """
    widths = [sum(column.type.bit_width for column in columns_of(arm)) for arm in plan.arms]
    waiting: dict[int, list[Any]] = {}
    held = 0
    for part in parts:
        for number, reports in enumerate(part.arms):
            if len(reports):
                waiting.setdefault(number, []).append(reports.table)
                held += TABLE_BYTES + len(reports) * widths[number] // 8
        if held >= MOST_HELD:
            yield from _written(plan, waiting)
            waiting, held = {}, 0
    yield from _written(plan, waiting)


def _written(plan: Plan, waiting: Mapping[int, Sequence[Any]]) -> Iterator[Any]:
    """Wide tables of all that waits: of each large arm, and of small arms together."""
    small: dict[int, Any] = {}
    rows = 0
    for number in sorted(waiting):
        table = pa.concat_tables(waiting[number])
        if len(table) >= OWN_GROUP:
            yield wide_table(plan, {number: table})
            continue
        small[number] = table
        rows += len(table)
        if rows >= MIXED_GROUP:
            yield wide_table(plan, small)
            small, rows = {}, 0
    if small:
        yield wide_table(plan, small)


# -- reading -----------------------------------------------------------------------------------------------------------


def arm_batches(
    source: Any,
    plan: Plan,
    wanted: Sequence[Sequence[str]],
    rows: int,
    groups: Sequence[int] | None = None,
    threads: bool = True,
) -> Iterator[ArmBatch]:
    """The reports in an open Parquet file, or in some of its row groups, in batches of an arm and at most so many rows.

    `wanted[k]` are the columns to read of arm k, by the names that they have in the arm's own reports, and so are the
    columns of the batches. Reports are counted through the file, for errors. Refused are nulls in what is wanted. A
    value where the arm does not ask is refused if it is read; of a row group of one arm no such column is.
    """
    wide = arm_columns(plan)
    own = [dict(zip((c.name for c in columns_of(arm)), wide.names[k], strict=True)) for k, arm in enumerate(plan.arms)]
    names = [[own[number][name] for name in those] for number, those in enumerate(wanted)]
    file = _File(source, plan, wide, names, threads)
    file.check()
    first = 0
    for group in range(source.num_row_groups):
        for batch in file.batches(group, first, rows) if groups is None or group in groups else ():
            table = batch.table.rename_columns(list(wanted[batch.arm]))
            yield ArmBatch(batch.arm, batch.reports, table, batch.first)
        first += source.metadata.row_group(group).num_rows


class _File:
    """An open Parquet file, and the wide names of the columns that are wanted of each arm."""

    def __init__(
        self, source: Any, plan: Plan, wide: ArmColumns, wanted: Sequence[Sequence[str]], threads: bool
    ) -> None:
        self.source, self.plan, self.wide, self.wanted, self.threads = source, plan, wide, wanted, threads
        self.there = Counter(source.schema_arrow.names)
        self.leaves = source.schema.names  # by which a row group's columns are numbered
        self.numbers = {name: number for number, name in enumerate(plan.arm_names)}

    def check(self) -> None:
        """Refuse a file without the arms' names, or with two columns of a name that is wanted."""
        for name in {self.wide.arm}.union(*self.wanted):
            if self.there[name] > 1:
                raise ReportError(f"column {name!r} occurs twice in the reports")
        if self.wide.arm not in self.there:
            raise ReportError(f"column {self.wide.arm!r} is missing from the reports, the names of their arms")

    def batches(self, group: int, first: int, rows: int) -> Iterator[ArmBatch]:
        """The reports of a row group, whose first report has this number."""
        number = self.only_arm(group)
        if number is None or any(name not in self.there for name in self.wanted[number]):
            yield from self.mixed(group, first, rows)
            return
        if not self.wanted[number]:
            yield ArmBatch(number, self.source.metadata.row_group(group).num_rows, pa.table({}), first)
            return
        for table, start in self.read(group, first, rows, self.wanted[number]):
            yield self.checked(number, table, start)

    def only_arm(self, group: int) -> int | None:
        """The arm that all reports of a row group are of, if the statistics of its arms say so."""
        statistics = self.source.metadata.row_group(group).column(self.leaves.index(self.wide.arm)).statistics
        if (
            statistics is None
            or not statistics.has_min_max
            or statistics.null_count
            or statistics.min != statistics.max
        ):
            return None
        return self.numbers.get(statistics.min)

    def mixed(self, group: int, first: int, rows: int) -> Iterator[ArmBatch]:
        """The reports of a row group of several arms: only columns of arms that stand in it are read."""
        arms = self.source.read_row_group(group, columns=[self.wide.arm], use_threads=self.threads)
        present = np.unique(arms_in(self.plan, self.wide.arm, arms[self.wide.arm], first))
        wanted = dict.fromkeys(name for number in present for name in self.wanted[number])
        names = [self.wide.arm, *(name for name in wanted if name in self.there)]
        for table, start in self.read(group, first, min(rows, max(1, MIXED_CELLS // len(names))), names):
            yield from split(self.plan, table, self.wanted, start)

    def read(self, group: int, first: int, rows: int, names: Sequence[str]) -> Iterator[tuple[Any, int]]:
        """Columns of a row group, in tables of at most so many rows, each with the number of its first report."""
        for batch in self.source.iter_batches(rows, [group], list(names), use_threads=self.threads):
            yield pa.Table.from_batches([batch]).select(list(names)), first
            first += len(batch)

    def checked(self, number: int, table: Any, first: Place) -> ArmBatch:
        """Reports of one arm, without nulls."""
        for name, column in zip(table.column_names, table.columns, strict=True):
            check_asked(self.wide.columns[name], column, self.plan.arm_names[number], first)
        return ArmBatch(number, len(table), table, first)
