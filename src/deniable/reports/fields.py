"""What a report shows of each feature: in the columns of a table, in the bits of a report, and as evidence.

    form     protocols                            columns                                  bits, in this order
    bits     randomized response, a public flag   `name`: true or false                    1
             unary encoding, subset selection     `name: value`: true or false, for each   1 each
    value    GRR, a public choice                 `name`: the value shown                  as many as m - 1 takes
    hash     local hashing                        `name: seed`, `name: bucket`             128, and those of g - 1

A field turns what was shown into Arrow columns and back, and gives the evidence: which values each report supports, as
bit planes or as whole patterns.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.errors import ReportError
from deniable.kernels.bitplanes import Words
from deniable.kernels.hashing import bucket
from deniable.reports.report_columns import BucketColumn, Column, Place, SeedColumn, ValueColumn, number_at, whole
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Form, Protocol, Shown
from deniable.survey.schema import SEPARATOR, Feature

Packed = npt.NDArray[np.uint8]  # bits of many reports, the first lowest
Patterns = npt.NDArray[np.int64]
PatternCodes = npt.NDArray[np.int64]

PLANS_KEPT = 1 << 10  # What follows from a plan is remembered for so many of them, the arms of a plan among them.
HASH_SECONDS = 5e-8  # About what numpy takes to hash one value of one report.


@dataclass(frozen=True)
class Field(ABC):
    """One feature of a table of reports. `size` is how many evidence columns it has."""

    columns: tuple[Column, ...]
    size: int

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [column.name for column in self.columns]

    @property
    def held(self) -> int:
        """About how many bits of memory one report's part takes while it is read."""
        return sum(column.held for column in self.columns)

    def plain_seconds(self, reports: int) -> float:  # noqa: ARG002 - one contract
        """What making the evidence of so many reports costs without compiled code, beyond copying bits."""
        return 0.0

    @property
    def shows_bits(self) -> bool:
        """Whether the evidence bits stand in the reports as such."""
        return False

    @abstractmethod
    def arrays(self, shown: Shown, reports: int) -> list[Any]:
        """Arrow columns of what so many reports show."""

    @abstractmethod
    def shown(self, arrays: Sequence[Any]) -> Shown:
        """What reports show, from their Arrow columns."""

    @abstractmethod
    def fill(self, shown: Shown, planes: Words, tools: ModuleType) -> list[Packed]:
        """Write the evidence planes; or return them as packed bits, which are cheaper to copy all at once."""

    @abstractmethod
    def patterns(self, shown: Shown, reports: int) -> tuple[PatternCodes, Patterns]:
        """Which pattern of evidence each report shows, and the bits of each of these patterns."""

    @abstractmethod
    def marks(self, shown: Shown, reports: int) -> Iterator[npt.NDArray[Any]]:
        """For each value in turn, which reports mark it."""

    def marked(self, shown: Shown, reports: int, groups: PatternCodes, count: int) -> npt.NDArray[np.int16]:
        """How many values of each of so many groups every report marks, given the group of each value."""
        found = np.zeros((reports, count), np.int16)
        for group, bits in zip(groups.tolist(), self.marks(shown, reports), strict=True):
            found[:, group] += bits
        return found

    def conform(self, found: Mapping[str, Any], first: Place = 0) -> list[Any]:
        """Its columns among those of a table, whoever wrote it, as one array each; a report that cannot be is an error.

        `first` says the numbers of the reports, for errors.
        """
        return [column.conform(whole(found[column.name]), first) for column in self.columns]


@dataclass(frozen=True)
class BitField(Field):
    """The field of a feature that shows a bit for each evidence column.

    `always_marked` of them are 1 in every report, if that is a number.
    """

    always_marked: int | None

    @property
    def shows_bits(self) -> bool:
        return True

    def arrays(self, shown: Sequence[Packed], reports: int) -> list[Any]:
        return [boolean_array(plane, reports) for plane in shown]

    def shown(self, arrays: Sequence[Any]) -> list[Packed]:
        return [_packed(array) for array in arrays]

    def fill(self, shown: Sequence[Packed], planes: Words, tools: ModuleType) -> list[Packed]:  # noqa: ARG002
        return list(shown)

    def patterns(self, shown: Sequence[Packed], reports: int) -> tuple[PatternCodes, Patterns]:
        return distinct(np.array(list(self.marks(shown, reports))))

    def marks(self, shown: Sequence[Packed], reports: int) -> Iterator[npt.NDArray[Any]]:
        return (np.unpackbits(packed, count=reports, bitorder="little") for packed in shown)

    def conform(self, found: Mapping[str, Any], first: Place = 0) -> list[Any]:
        arrays = super().conform(found, first)
        if self.always_marked is not None:
            marked = np.zeros(len(arrays[0]), np.uint16)
            for packed in self.shown(arrays):
                marked += np.unpackbits(packed, count=len(marked), bitorder="little")
            wrong = marked != self.always_marked
            if wrong.any():
                row = int(wrong.argmax())
                raise ReportError(
                    f"report {number_at(first, row)} (counted from 0): {marked[row]} of the columns "
                    f"{self.names[0]!r} to {self.names[-1]!r} are true, where every report has {self.always_marked}"
                )
        return arrays


class ValueField(Field):
    """The field of a feature that shows one of its values."""

    def arrays(self, shown: Any, reports: int) -> list[Any]:  # noqa: ARG002 - one contract
        return [self.columns[0].to_arrow(shown)]

    def shown(self, arrays: Sequence[Any]) -> Any:
        return arrays[0].indices.to_numpy()

    def fill(self, shown: Any, planes: Words, tools: ModuleType) -> list[Packed]:
        tools.one_hot(shown, planes)
        return []

    def patterns(self, shown: Any, reports: int) -> tuple[PatternCodes, Patterns]:  # noqa: ARG002 - one contract
        return np.asarray(shown, np.int64), np.eye(self.size, dtype=np.int64)

    def marks(self, shown: Any, reports: int) -> Iterator[npt.NDArray[Any]]:  # noqa: ARG002 - one contract
        return (shown == value for value in range(self.size))


class HashField(Field):
    """The field of a feature that shows the seed of a hash and a bucket, for every value that the hash sends there."""

    columns: tuple[SeedColumn, BucketColumn]

    @property
    def buckets(self) -> int:
        """Into how many buckets the hashes sort the values."""
        return self.columns[1].buckets

    def plain_seconds(self, reports: int) -> float:
        return (HASH_SECONDS * reports + 1e-4) * self.size

    def arrays(self, shown: Any, reports: int) -> list[Any]:  # noqa: ARG002 - one contract
        return [column.to_arrow(numbers) for column, numbers in zip(self.columns, shown, strict=True)]

    def shown(self, arrays: Sequence[Any]) -> tuple[Any, Any]:
        return self.columns[0].coefficients(arrays[0]), arrays[1].to_numpy()

    def fill(self, shown: tuple[Any, Any], planes: Words, tools: ModuleType) -> list[Packed]:
        tools.hashed(*shown, self.buckets, planes)
        return []

    def patterns(self, shown: tuple[Any, Any], reports: int) -> tuple[PatternCodes, Patterns]:
        return distinct(np.array(list(self.marks(shown, reports))))

    def marks(self, shown: tuple[Any, Any], reports: int) -> Iterator[npt.NDArray[Any]]:
        seeds, buckets = shown
        return (bucket(seeds, np.full(reports, v), self.buckets) == buckets for v in range(self.size))


@lru_cache(maxsize=PLANS_KEPT)
def fields(plan: Plan) -> dict[str, Field]:
    """The field of each block of a plan without arms, by its unit's name, in the order of the report's bits."""
    if plan.has_arms:
        raise ReportError("a plan with arms has fields in each of plan.arms")
    return {feature.name: _field(feature, protocol) for feature, protocol in plan}


def _field(feature: Feature, protocol: Protocol) -> Field:
    name, size = feature.name, protocol.columns
    match protocol.form:
        case Form.VALUE:
            return ValueField((ValueColumn(name, tuple(map(str, feature.answers))),), size)
        case Form.HASH:
            seed, shown = SeedColumn(f"{name}{SEPARATOR}seed"), f"{name}{SEPARATOR}bucket"
            return HashField((seed, BucketColumn(shown, protocol.integers["buckets"])), size)
    if size == 1:
        return BitField((Column(name),), size, None)
    columns = tuple(Column(f"{name}{SEPARATOR}{value}") for value in feature.answers)
    return BitField(columns, size, protocol.always_marked)


def columns_of(plan: Plan) -> list[Column]:
    """All columns of a table of reports, of a plan without arms."""
    return [column for field in fields(plan).values() for column in field.columns]


def arm_bits(plan: Plan) -> int:
    """How many bits of a report say the number of its arm: the lowest ones; none if there is one arm."""
    return (len(plan.arms) - 1).bit_length()


def report_bytes(plan: Plan) -> int:
    """The length of a report, whatever the answers and the arm: that of the longest arm, after the arm's number."""
    longest = max(sum(column.width for column in columns_of(arm)) for arm in plan.arms)
    return (arm_bits(plan) + longest + 7) // 8


def columns_by_name(table: Any) -> dict[str, Any]:
    """The columns of an Arrow table, which takes long to look one up by its name if they are many."""
    return dict(zip(table.column_names, table.columns, strict=True))


def boolean_array(plane: Any, length: int) -> Any:
    """An Arrow column of so many bits that are packed, the first lowest."""
    return pa.BooleanArray.from_buffers(pa.bool_(), length, [None, pa.py_buffer(plane)])


def distinct(bits: npt.NDArray[Any]) -> tuple[PatternCodes, Patterns]:
    """Which of the distinct columns of a matrix of bits each column is, and those, as rows; of one row, 0 and 1."""
    if len(bits) == 1:
        return bits[0].astype(np.int64), np.array([[0], [1]])
    packed = np.packbits(bits, axis=0).T
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    _, first, codes = np.unique(rows, return_index=True, return_inverse=True)
    return codes.astype(np.int64), bits[:, first].T.astype(np.int64)


def _packed(array: Any) -> Packed:
    """The bits of a column, the first lowest; without a copy unless it starts inside a byte."""
    if array.offset % 8:
        return np.packbits(array.to_numpy(zero_copy_only=False), bitorder="little")
    return np.frombuffer(array.buffers()[1], np.uint8, offset=array.offset // 8)
