"""The randomized answers of many respondents, with the plan they were randomized by."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from deniable.errors import PlanError, ReportError, abbreviated
from deniable.files import Sources, check_ending, check_target, new_source
from deniable.reports.arm_columns import arm_columns
from deniable.reports.arm_groups import ArmGroups
from deniable.reports.arm_row_groups import arm_batches
from deniable.reports.fields import PLANS_KEPT, Field, arm_bits, columns_by_name, columns_of, fields, report_bytes
from deniable.reports.parquet import (
    ROW_GROUP,
    UNREADABLE,
    WRITTEN_TO,
    damage,
    file_schema,
    metadata,
    open_parquet,
    plan_of,
    source_of,
    write,
)
from deniable.reports.report_bits import arms_of, from_raw, raw_of, to_bytes
from deniable.reports.report_columns import Place
from deniable.reports.wide_table import ArmBatch, split, wide_table
from deniable.survey.plan import Plan
from deniable.text.fixed_phrases import how_many
from deniable.text.html import printed


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Reports:
    """Randomized answers as an Arrow table of ordinary columns, one or more per feature (see `reports.fields`).

    Reports of a plan with arms stand arm by arm, in the order of the records within each, and each arm holds its own
    columns alone: `arms` are the `Reports` of each arm's plan. The `table` of all, made when it is asked for, has
    all columns, null where a respondent was not asked.

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    >>> reports = dn.randomize({"smoker": [True, False, True]}, plan)
    >>> len(reports), reports.table.column_names
    (3, ['smoker'])
    >>> dn.Reports.from_bytes(reports.to_bytes(), plan) == reports
    True
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")]), epsilon=1.0, arms=[["smoker"], ["drinker"]])
    >>> reports = dn.randomize({"smoker": [True, False, True], "drinker": [False, False, True]}, plan)
    >>> reports.table.column_names, [one.table.column_names for one in reports.arms]
    (['arm', 'smoker', 'drinker'], [['smoker'], ['drinker']])
    """

    plan: Plan
    _own: Any  # the table of a plan without arms
    _parts: tuple["Reports", ...]  # the reports of each arm, if there are arms

    def __init__(self, plan: Plan, table: Any) -> None:
        """Take any table that speaks Arrow and is what the plan makes; columns in any order, others are dropped.

        Of a plan with arms it is the wide table, in any order of rows; a column that is null in all may be missing.
        """
        if not isinstance(plan, Plan) or not hasattr(table, "__arrow_c_stream__"):
            raise ReportError(
                f"reports are made of a Plan and a table; found {type(plan).__name__}, {type(table).__name__}"
            )
        table = pa.table(table)
        if len(set(table.column_names)) < len(table.column_names):
            raise ReportError(f"the reports have two columns of one name; found {table.column_names}")
        if plan.has_arms:
            self._set(plan, parts=_joined(plan, split(plan, table, arm_columns(plan).names)))
        else:
            found = columns_by_name(table)
            for name in (name for field in fields(plan).values() for name in field.names):
                if name not in found:
                    raise ReportError(f"column {name!r} is missing from the reports; found {table.column_names}")
            self._set(plan, own=_conform(plan, found))

    @cached_property
    def source(self) -> Sources:
        """Whose reports these are: of those that were loaded, the file's source, else a new one; outside `==`."""
        return new_source("the same reports")

    def _set(self, plan: Plan, own: Any = None, parts: tuple["Reports", ...] = ()) -> None:
        own = own if own is None else own.replace_schema_metadata(metadata(plan))
        self.__dict__.update(plan=plan, _own=own, _parts=parts)

    @classmethod
    def _of_own(cls, plan: Plan, table: Any) -> "Reports":
        """Reports of a plan without arms, from a table that has been checked."""
        made = object.__new__(cls)
        made._set(plan, own=table)
        return made

    @classmethod
    def of_arms(cls, plan: Plan, parts: Sequence["Reports"]) -> "Reports":
        """The reports of a plan from those of each of its arms.

        Parameters
        ----------
        plan
            The plan.
        parts
            For each of `plan.arms`, in order, its reports; an arm that nobody fell into has no reports, not none.

        Returns
        -------
        Reports
            All of them, arm by arm.

        Examples
        --------
        >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")])
        >>> plan = dn.Plan(schema, epsilon=1.0, arms=[["smoker"], ["drinker"]])
        >>> smoker, drinker = plan.arms
        >>> parts = dn.randomize({"smoker": [True]}, smoker), dn.randomize({"drinker": [True, False]}, drinker)
        >>> reports = dn.Reports.of_arms(plan, parts)
        >>> len(reports), reports.table["arm"].to_pylist()
        (3, ['smoker', 'drinker', 'drinker'])
        """
        if not isinstance(plan, Plan):
            raise ReportError(f"reports need the plan they were made by; found {abbreviated(plan)}")
        parts = tuple(parts)
        if [getattr(part, "plan", None) for part in parts] != list(plan.arms):
            raise ReportError(
                f"this plan has {len(plan.arms)} arms, and its reports are made of those of each of plan.arms, in "
                f"order; found {len(parts)} parts, or one of another plan"
            )
        if not plan.has_arms:
            return parts[0]
        made = object.__new__(cls)
        made._set(plan, parts=parts)
        return made

    @property
    def arms(self) -> tuple["Reports", ...]:
        """The reports of each arm, by its own plan and with its own columns; without arms, all of them."""
        return self._parts or (self,)

    @property
    def table(self) -> Any:
        """The reports as an Arrow table; with arms the wide one, made anew each time it is asked for."""
        if not self._parts:
            return self._own
        tables = {number: part.table for number, part in enumerate(self._parts) if len(part)}
        return wide_table(self.plan, tables).replace_schema_metadata(metadata(self.plan))

    def __len__(self) -> int:
        return sum(map(len, self._parts)) if self._parts else int(self._own.num_rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reports) or self.plan != other.plan:
            return False
        if self._parts:
            return self._parts == other._parts
        return bool(self._own.equals(other._own))

    __hash__ = None  # type: ignore[assignment]

    _repr_html_ = printed

    def __repr__(self) -> str:
        size = how_many(report_bytes(self.plan), "byte")
        return f"<Reports of {how_many(len(self), 'respondent')}, {size} each, by {self.plan!r}>"

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
            raise ReportError(f"reports need the plan they were made by; found {abbreviated(plan)}")
        raw, low = raw_of(reports, plan), arm_bits(plan)
        groups = ArmGroups.of(arms_of(raw, plan), len(plan.arms))
        parts = []
        for number, arm in enumerate(plan.arms):
            first = groups.place(number)
            table = from_raw(groups.array(raw, number), arm, low, first)
            parts.append(cls._of_own(arm, _conform(arm, columns_by_name(table), first)))
        return cls.of_arms(plan, parts)

    def to_bytes(self) -> list[bytes]:
        """Each report as its device sent, or would have sent, it; with arms, arm by arm."""
        size, low = report_bytes(self.plan), arm_bits(self.plan)
        arms = enumerate(self.arms)
        return [report for number, part in arms for report in to_bytes(part._own, part.plan, size, number, low)]

    def save(self, path: str | Path) -> None:
        """Write a Parquet file with the plan in its metadata, whole or not at all."""
        check_target(path)
        check_ending(path, ".parquet", WRITTEN_TO)
        write(path, self.plan, [self], next(iter(self.source)))

    @classmethod
    def load(cls, path: str | Path) -> "Reports":
        """Read a Parquet file that `save` wrote."""
        source = open_parquet(path)
        try:
            plan = plan_of(source)
            if plan.has_arms:
                wanted = [[column.name for column in columns_of(arm)] for arm in plan.arms]
                made = cls.of_arms(plan, _joined(plan, arm_batches(source, plan, wanted, ROW_GROUP)))
            else:
                made = cls(plan, source.read())
            made.__dict__["source"] = source_of(path)
            return made
        except UNREADABLE as error:
            raise ReportError(f"{path}: {damage(error)}") from None
        except (ReportError, PlanError) as error:
            raise ReportError(f"{path}: {error}") from None


def _conform(plan: Plan, found: Mapping[str, Any], first: Place = 0, of: Sequence[Field] | None = None) -> Any:
    """The table of reports of a plan without arms, from columns that anybody wrote, named as these fields have them."""
    arrays: list[Any] = []
    for field in fields(plan).values() if of is None else of:
        arrays += field.conform(found, first)
    return pa.Table.from_arrays(arrays, schema=file_schema(plan))


def _joined(plan: Plan, batches: Iterable[ArmBatch]) -> tuple[Reports, ...]:
    """The reports of each arm, from batches of them in the order of their rows."""
    tables: list[list[Any]] = [[] for _ in plan.arms]
    wide = arm_columns(plan)
    for batch in batches:
        found = dict(zip(wide.names[batch.arm], batch.table.columns, strict=True))
        tables[batch.arm].append(_conform(plan.arms[batch.arm], found, batch.first, wide.fields[batch.arm]))
    return tuple(
        Reports._of_own(arm, joined_tables(own)) if own else no_reports(arm)
        for arm, own in zip(plan.arms, tables, strict=True)
    )


def joined_tables(tables: Sequence[Any]) -> Any:
    """Tables of one plan's reports, one after another, in one piece."""
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).combine_chunks()


@lru_cache(maxsize=PLANS_KEPT)
def no_reports(plan: Plan) -> Reports:
    """No reports of a plan without arms, such as those of an arm that nobody fell into."""
    return Reports._of_own(plan, file_schema(plan).empty_table())
