"""What reports show, in SQL: the numbers in their columns or bytes, and the pattern of evidence that these give.

A report that cannot be, with nulls, unknown values, buckets beyond the last or bytes too many, has numbers that are
null, and so a code of MALFORMED: it comes back from the database and is refused there, never dropped on the way.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from deniable.client import COEFFICIENTS, PRIME
from deniable.counts.warehouse.dialects import Dialect, summed
from deniable.errors import CountError
from deniable.reports.arm_columns import arm_columns
from deniable.reports.fields import BitField, Field, HashField, ValueField, arm_bits, columns_of, fields, report_bytes
from deniable.reports.report_columns import BucketColumn, Column, SeedColumn, ValueColumn
from deniable.survey.plan import Plan

MALFORMED = -1  # The code of a unit, or of an arm, in a report that cannot be.


@dataclass(frozen=True)
class Storage(ABC):
    """How a database holds reports of a plan."""

    plan: Plan
    dialect: Dialect
    table: str

    @property
    @abstractmethod
    def rows(self) -> str:
        """What is selected from."""

    @abstractmethod
    def arm(self, arms: Sequence[int]) -> str:
        """The number of a report's arm, if it is one of these; of a report that cannot be, MALFORMED."""

    @abstractmethod
    def says(self, arms: Sequence[int]) -> str:
        """The condition that a report says to be of one of these arms."""

    @abstractmethod
    def numbers(self, arm: int, unit: str) -> list[str]:
        """The numbers that reports of an arm show of a unit: bits, or a value's code, or coefficients and a bucket."""


class InColumns(Storage):
    """Reports as a table has them that `Reports.save` writes, with the column of arms that a wide table has."""

    @property
    def rows(self) -> str:
        return self.table

    def arm(self, arms: Sequence[int]) -> str:
        cases = (f"WHEN {self._name(number)} THEN {number}" for number in arms)
        return f"CASE {self._arm} {' '.join(cases)} ELSE {MALFORMED} END"

    def says(self, arms: Sequence[int]) -> str:
        return f"{self._arm} IN ({', '.join(map(self._name, arms))})"

    @property
    def _arm(self) -> str:
        """The column of arms, which has their names."""
        return self._column(arm_columns(self.plan).arm)

    def _column(self, name: str) -> str:
        """A column, which must be the only one that the database can take for it."""
        if self.dialect.mistakes_case and self._spelled[_without_case(name)] > 1:
            raise CountError(
                f"to {self.dialect.name} column {name!r} is the same as another of these reports, which differs from "
                "it in case alone; keep reports there as bytes, and say packed='...', or let dn.count read them"
            )
        return self.dialect.identifier(name)

    @cached_property
    def _spelled(self) -> Counter[bytes]:
        """How many columns have a name, but for its case."""
        wide = self.plan.has_arms
        names = arm_columns(self.plan).schema.names if wide else [one.name for one in columns_of(self.plan)]
        return Counter(map(_without_case, names))

    def _name(self, arm: int) -> str:
        return self.dialect.text(self.plan.arm_names[arm])

    def numbers(self, arm: int, unit: str) -> list[str]:
        plan = self.plan
        own = list(fields(plan.arms[arm]))
        field = arm_columns(plan).fields[arm][own.index(unit)] if plan.has_arms else fields(plan)[unit]
        return [number for column in field.columns for number in self._of_column(column)]

    def _of_column(self, column: Column) -> list[str]:
        d, name = self.dialect, self._column(column.name)
        match column:
            case ValueColumn():
                values = (f"WHEN {d.text(value)} THEN {code}" for code, value in enumerate(column.values))
                return [f"CASE {name} {' '.join(values)} END"]
            case BucketColumn():
                number = f"CAST({name} AS BIGINT)"  # which rounds, so that halves have to be found
                whole = f"CASE WHEN {name} = {number} THEN {number} END"
                return [f"CASE WHEN {name} >= 0 AND {name} < {column.buckets} THEN {whole} END"]
            case SeedColumn():
                known = f"CASE WHEN octet_length({name}) = {4 * COEFFICIENTS} THEN {name} END"
                parts = ([d.byte_of(f"({known})", 4 * k + j) for j in range(4)] for k in range(COEFFICIENTS))
                return [d.whole(own) for own in parts]
        return [f"CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END"]


def _without_case(name: str) -> bytes:
    """A name as duckdb compares it: of letters beyond ASCII it looks at the case."""
    return name.encode().lower()


@dataclass(frozen=True)
class InBytes(Storage):
    """Reports as devices send them, in one column of bytes."""

    packed: str

    @property
    def rows(self) -> str:
        name = self.dialect.identifier(self.packed)
        right = f"octet_length({name}) = {report_bytes(self.plan)}"
        if not self.plan.has_arms:
            known = f"(SELECT CASE WHEN {right} THEN {name} END AS {name} FROM {self.table}) AS long_enough"
            kept = f"CASE WHEN {self._padding(0)} = 0 THEN {name} END"
            return f"(SELECT {kept} AS {name} FROM {known}) AS packed"
        return f"(SELECT CASE WHEN {right} THEN {name} END AS {name} FROM {self.table}) AS packed"

    def arm(self, arms: Sequence[int]) -> str:
        number, by_padding = self._arm, dict[str, list[int]]()
        for arm in arms:
            by_padding.setdefault(self._padding(arm), []).append(arm)
        known = (
            f"WHEN {number} IN ({', '.join(map(str, own))}) AND {padding} = 0 THEN {number}"
            for padding, own in by_padding.items()
        )
        return f"CASE {' '.join(known)} ELSE {MALFORMED} END"

    def says(self, arms: Sequence[int]) -> str:
        return f"{self._arm} IN ({', '.join(map(str, arms))})"

    @property
    def _arm(self) -> str:
        """The number of a report's arm, whether the plan has it or not."""
        return self._number(0, arm_bits(self.plan))

    def numbers(self, arm: int, unit: str) -> list[str]:
        at = arm_bits(self.plan)
        for name, field in fields(self.plan.arms[arm]).items():
            if name == unit:
                break
            at += sum(column.width for column in field.columns)
        found = []
        for column in field.columns:
            step = 32 if isinstance(column, SeedColumn) else column.width
            found += [self._number(at + start, step) for start in range(0, column.width, step or 1)] or ["0"]
            at += column.width
        return found

    def _number(self, at: int, width: int) -> str:
        """The number in so many bits from one on, the lowest first."""
        d, name = self.dialect, self.dialect.identifier(self.packed)
        if not width:
            return "0"
        first, low = divmod(at, 8)
        parts = [d.byte_of(name, byte) for byte in range(first, (at + width + 7) // 8)]
        return f"({d.quotient(f'({d.whole(parts)})', 1 << low)} % {1 << width})"

    def _padding(self, arm: int) -> str:
        """What is not 0 where bits are set after the last field of an arm."""
        d, name = self.dialect, self.dialect.identifier(self.packed)
        end = arm_bits(self.plan) + sum(column.width for column in columns_of(self.plan.arms[arm]))
        bytes_after = range(-(-end // 8), report_bytes(self.plan))
        parts = [d.byte_of(name, byte) for byte in bytes_after]
        if end % 8:
            parts.append(d.quotient(d.byte_of(name, end // 8), 1 << end % 8))
        return f"({summed(parts)})"


@dataclass(frozen=True)
class Evidence:
    """The evidence of one unit in SQL, from its numbers, which stand in columns of these names."""

    dialect: Dialect
    field: Field
    numbers: Sequence[str]

    @property
    def valid(self) -> str:
        """Whether a report can be; null or false if it cannot."""
        match self.field:
            case HashField():
                *seeds, shown = self.numbers
                below = " AND ".join(f"{seed} < {PRIME}" for seed in seeds)
                return f"{below} AND {shown} >= 0 AND {shown} < {self.field.buckets}"
            case ValueField():
                return f"{self.numbers[0]} < {self.field.size}"
            case BitField(always_marked=None):
                return f"{summed(self.numbers)} >= 0"
            case BitField():
                return f"{summed(self.numbers)} = {self.field.always_marked}"
        raise AssertionError(self.field)

    def bit(self, value: int | str) -> str:
        """Whether a report marks a value, by its place from 0 on or by a column with that."""
        match self.field:
            case HashField():
                *seeds, shown = self.numbers
                polynomial = seeds[-1]
                for seed in seeds[-2::-1]:
                    polynomial = f"(({polynomial} * {value} + {seed}) % {PRIME})"
                return f"{self.dialect.quotient(f'({polynomial} * {self.field.buckets})', PRIME)} = {shown}"
            case _ if isinstance(value, int):
                return f"{self.numbers[value]} = 1"
        marks = (f"WHEN {place} THEN {number}" for place, number in enumerate(self.numbers))
        return f"CASE {value} {' '.join(marks)} END = 1"

    @property
    def pattern(self) -> str:
        """The place of a report's pattern in `Protocol.patterns`, or MALFORMED."""
        size = self.field.size
        if isinstance(self.field, ValueField) or size == 1:
            code = self.numbers[0]
        else:
            marks = [f"CASE WHEN {self.bit(k)} THEN {1 << size - 1 - k} ELSE 0 END" for k in range(size)]
            code = summed(marks)
        return f"CASE WHEN {self.valid} THEN {code} ELSE {MALFORMED} END"

    @property
    def places(self) -> list[tuple[int, str]]:
        """Of bits, each place on the unit's axis, and what is 1 where a report belongs to it; of hashes, none."""
        if isinstance(self.field, HashField):
            return []
        malformed = f"CASE WHEN {self.valid} THEN 0 ELSE 1 END"
        return [(MALFORMED, malformed), (0, "1"), *((k, bit) for k, bit in enumerate(self.numbers, 1))]

    def marks(self, index: str) -> str:
        """Whether a report belongs to a place on the unit's axis: 0 for all, k for value k, or MALFORMED."""
        marked = f"{index} = 0 OR ({index} > 0 AND {self.bit(f'({index} - 1)')})"
        return f"CASE WHEN {self.valid} THEN {marked} ELSE {index} = {MALFORMED} END"
