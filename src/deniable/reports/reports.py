"""The randomized answers of many respondents, with the plan they were randomized by."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.errors import PlanError, ReportError
from deniable.kernels import tools_for
from deniable.kernels.bitplanes import new_planes
from deniable.kernels.perturb import BLOCK
from deniable.reports.fields import boolean_array, columns_by_name, columns_of, fields, report_bytes
from deniable.reports.parquet import metadata, open_parquet, plan_of, write
from deniable.reports.report_columns import Column, whole
from deniable.survey.plan import Plan


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Reports:
    """Randomized answers as an Arrow table of ordinary columns, one or more per feature (see `fields`).

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    >>> reports = dn.randomize({"smoker": [True, False, True]}, plan)
    >>> len(reports), reports.table.column_names
    (3, ['smoker'])
    >>> dn.Reports.from_bytes(reports.to_bytes(), plan) == reports
    True
    """

    plan: Plan
    table: Any

    def __init__(self, plan: Plan, table: Any) -> None:
        """Take any table that speaks Arrow and is what the plan makes; columns in any order, others are dropped."""
        if not isinstance(plan, Plan) or not hasattr(table, "__arrow_c_stream__"):
            raise ReportError(
                f"reports are made of a Plan and a table; found {type(plan).__name__}, {type(table).__name__}"
            )
        self.__dict__.update(plan=plan, table=_conform(plan, pa.table(table)))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reports) and self.plan == other.plan and bool(self.table.equals(other.table))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        size = report_bytes(self.plan)
        return f"<Reports of {len(self):,} respondents, {size} byte{'s' * (size != 1)} each, by {self.plan!r}>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    @classmethod
    def from_bytes(cls, reports: Iterable[bytes], plan: Plan) -> "Reports":
        """Collect the reports of many devices.

        Parameters
        ----------
        reports
            What `deniable.client.report` gave on each device.
        plan
            The plan that they were made by.

        Returns
        -------
        Reports
            The reports as a table; one that does not fit the plan is an error that says which.

        Examples
        --------
        >>> from deniable.client import report
        >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
        >>> sent = [report({"smoker": True}, plan.to_json()) for _ in range(3)]
        >>> len(dn.Reports.from_bytes(sent, plan))
        3
        """
        if not isinstance(plan, Plan):
            raise ReportError(f"reports need the plan they were made by; found {plan!r}")
        reports = list(reports)
        size = report_bytes(plan)
        for place, report in enumerate(reports):
            if not isinstance(report, bytes | bytearray | memoryview):
                raise ReportError(f"report {place} (counted from 0) must be bytes; found {report!r}")
            if len(report) != size:
                raise ReportError(f"report {place} (counted from 0) has {len(report)} bytes; this plan's have {size}")
        raw = np.frombuffer(b"".join(reports), np.uint8).reshape(len(reports), size)
        return cls(plan, _from_raw(raw, plan))

    def to_bytes(self) -> list[bytes]:
        """Each report as its device sent, or would have sent, it."""
        size = report_bytes(self.plan)
        columns = columns_of(self.plan)
        reports: list[bytes] = []
        for start in range(0, len(self), BLOCK):
            part = self.table.slice(start, BLOCK)
            bits = np.hstack([column.to_bits(whole(part[column.name])) for column in columns])
            raw = np.packbits(bits, axis=1, bitorder="little").tobytes()
            reports += [raw[at : at + size] for at in range(0, len(raw), size)]
        return reports

    def save(self, path: str | Path) -> None:
        """Write a Parquet file with the plan in its metadata, whole or not at all."""
        write(path, self.plan, [self])

    @classmethod
    def load(cls, path: str | Path) -> "Reports":
        """Read a Parquet file that `save` wrote."""
        source = open_parquet(path)
        try:
            return cls(plan_of(source), source.read())
        except (OSError, pa.ArrowException) as error:
            raise ReportError(f"{path}: cannot be read as Parquet: {error}") from None
        except (ReportError, PlanError) as error:
            raise ReportError(f"{path}: {error}") from None


def _conform(plan: Plan, table: Any) -> Any:
    if len(set(table.column_names)) < len(table.column_names):
        raise ReportError(f"the reports have two columns of one name; found {table.column_names}")
    arrays: dict[str, Any] = {}
    found = columns_by_name(table)
    for field in fields(plan).values():
        for name in field.names:
            if name not in found:
                raise ReportError(f"column {name!r} is missing from the reports; found {table.column_names}")
        arrays |= zip(field.names, field.conform(found), strict=True)
    return pa.table(arrays, metadata=metadata(plan))


def _from_raw(raw: npt.NDArray[np.uint8], plan: Plan) -> Any:
    """The columns of reports in bytes, a row for each: single bits are packed into planes, wider fields go by rows."""
    columns = columns_of(plan)
    edges = np.cumsum([0, *(column.width for column in columns)])
    single = {column.name: int(low) for column, low in zip(columns, edges, strict=False) if type(column) is Column}
    wide: dict[str, list[Any]] = {column.name: [] for column in columns if column.name not in single}
    planes: list[npt.NDArray[np.uint8]] = []
    tools = tools_for(4e-9 * len(raw) * len(single))
    for start in range(0, max(len(raw), 1), BLOCK):
        bits = np.unpackbits(raw[start : start + BLOCK], axis=1, bitorder="little")
        if (padding := bits[:, edges[-1] :].any(axis=1)).any():
            row = start + int(padding.argmax())
            raise ReportError(f"report {row} (counted from 0) has bits after its last feature")
        packed = new_planes(8 * -(-len(single) // 8), len(bits))
        flags = np.zeros((len(bits), len(packed)), np.uint8)
        flags[:, : len(single)] = bits[:, list(single.values())]
        tools.pack(flags.view(np.uint64), packed)
        planes.append(packed.view(np.uint8)[:, : (len(bits) + 7) // 8])
        for column, low, high in zip(columns, edges, edges[1:], strict=False):
            if column.name in wide:
                wide[column.name].append(column.from_bits(bits[:, low:high]))
    rows = dict(zip(single, np.hstack(planes), strict=False))
    return pa.table(
        {
            column.name: boolean_array(rows[column.name], len(raw))
            if column.name in single
            else column.to_arrow(np.concatenate(wide[column.name]))
            for column in columns
        }
    )
