"""Wide tables: the reports of all arms in one table, made of the arms' own tables and split into them again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.errors import ReportError, listed
from deniable.reports.arm_columns import ArmColumns, arm_columns, arm_numbers, no_arm
from deniable.reports.arm_groups import ArmGroups
from deniable.reports.fields import columns_by_name
from deniable.reports.report_columns import Column, Place, ValueColumn, whole
from deniable.survey.plan import Plan


@dataclass(frozen=True, eq=False)
class ArmBatch:
    """Some reports of one arm: how many, columns of them, and their numbers for errors.

    A table without columns has no rows, so `reports` says how many there are.
    """

    arm: int
    reports: int
    table: Any
    first: Place

    def __len__(self) -> int:
        return self.reports


def wide_table(plan: Plan, tables: Mapping[int, Any]) -> Any:
    """The wide table of the reports of some arms, given by their numbers: arm after arm, null where nothing was asked.

    All nulls of one type share their memory, so that a wide table takes little more than its parts.
    """
    wide = arm_columns(plan)
    sizes = [table.num_rows for table in tables.values()]
    numbers = np.repeat(np.fromiter(tables, np.int32, len(tables)), sizes)
    nulls = _Nulls(len(numbers))
    chunks: dict[str, list[Any]] = {name: [] for name in wide.columns}
    filled = dict.fromkeys(wide.columns, 0)
    start = 0
    for number, table in tables.items():
        for name, column in zip(wide.names[number], table.columns, strict=True):
            chunks[name] += [nulls.of(wide.columns[name], start - filled[name]), *column.chunks]
            filled[name] = start + table.num_rows
        start += table.num_rows
    arms = pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(plan.arm_names))
    arrays = [
        pa.chunked_array([*chunks[name], nulls.of(column, start - filled[name])], column.type)
        for name, column in wide.columns.items()
    ]
    return pa.Table.from_arrays([arms, *arrays], schema=wide.schema)


class _Nulls:
    """Columns of nulls, at most so long, that share their memory."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.made: dict[Any, Any] = {}

    def of(self, column: Column, count: int) -> Any:
        """So many nulls in a column's type."""
        if isinstance(column, ValueColumn):
            indices = self._shared(column.type.index_type, count)
            return pa.DictionaryArray.from_arrays(indices, column.dictionary, safe=False)
        return self._shared(column.type, count)

    def _shared(self, kind: Any, count: int) -> Any:
        if kind not in self.made:
            self.made[kind] = pa.nulls(self.most, kind)
        return self.made[kind].slice(0, count)


def arms_in(plan: Plan, name: str, column: Any, first: int = 0) -> npt.NDArray[np.int64]:
    """The number of each report's arm, from the column of this name that tells it."""
    numbers = arm_numbers(plan, column)
    if numbers is None:
        raise ReportError(f"column {name!r} of the reports must be text, the names of arms; found {column.type}")
    if len(numbers) and numbers.min() < 0:
        row = int(numbers.argmin())
        what = no_arm(plan, column[row].as_py(), "report")
        raise ReportError(f"report {first + row} (counted from 0), column {name!r}: {what}")
    return numbers


def split(plan: Plan, table: Any, wanted: Sequence[Sequence[str]], first: int = 0) -> Iterator[ArmBatch]:
    """The reports of each arm that a wide table holds, with the columns that are wanted of it, by their wide names.

    `first` is the number of the table's first report. Refused are nulls in what is wanted, and values in any column of
    the table where the arm does not ask.
    """
    wide, found = arm_columns(plan), columns_by_name(table)
    if wide.arm not in found:
        raise ReportError(f"column {wide.arm!r} is missing from the reports, the names of their arms")
    numbers = arms_in(plan, wide.arm, found[wide.arm], first)
    groups = ArmGroups.of(numbers, len(plan.arms))
    for name, asked in wide.asked_in.items():
        if name in found and len(table) - found[name].null_count != sum(map(groups.size, asked)):
            _check_not_asked(plan, name, found[name], numbers, asked, first)
    if groups.order is not None:
        found = {name: whole(column) for name, column in found.items()}
    for number in groups.present:
        yield _batch(plan, wide, found, groups, number, wanted[number], first)


def _check_not_asked(
    plan: Plan, name: str, column: Any, numbers: npt.NDArray[np.int64], asked: Sequence[int], first: int
) -> None:
    """Refuse values in the reports of arms that are not among those that ask for them."""
    asks = np.zeros(len(plan.arms), bool)
    asks[asked] = True
    values = column.is_valid().to_numpy() & ~asks[numbers]
    if values.any():
        row = int(values.argmax())
        arm = plan.arm_names[numbers[row]]
        raise ReportError(
            f"report {first + row} (counted from 0), column {name!r}: not asked in arm {arm!r}, but there is a value"
        )


def _batch(
    plan: Plan,
    wide: ArmColumns,
    found: Mapping[str, Any],
    groups: ArmGroups,
    number: int,
    wanted: Sequence[str],
    first: int,
) -> ArmBatch:
    """The reports of one arm."""
    arm, place = plan.arm_names[number], groups.place(number, first)
    columns = []
    for name in wanted:
        if name not in found:
            raise ReportError(
                f"column {name!r} is missing from the reports, and arm {arm!r}, which {groups.size(number):,} of them "
                f"are of, asks it; found {listed(found)}"
            )
        columns.append(whole(groups.column(found[name], number)))
        check_asked(wide.columns[name], columns[-1], arm, place)
    return ArmBatch(number, groups.size(number), pa.Table.from_arrays(columns, list(wanted)), place)


def check_asked(column: Column, array: Any, arm: str, first: Place) -> None:
    """Refuse nulls in a column of reports of an arm that asks it."""
    if array.null_count:
        missing = array.is_null().to_numpy(zero_copy_only=False)
        column.refuse(missing, f"null, but it is asked in arm {arm!r}, and a report leaves nothing out", first)
