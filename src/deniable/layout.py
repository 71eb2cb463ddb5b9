"""Where each feature's randomized answer stands: in the columns of a table, and in the bits of a report.

    protocol              columns                                      bits, in this order
    randomized response   `name`: true or false                        1
    unary encoding        `name: value`: true or false, for each       1 each
    GRR                   `name`: the value shown                      as many as m - 1 takes
    local hashing         `name: seed` (16 bytes), `name: bucket`      128, then as many as g - 1 takes
    public                as randomized response, or as GRR

Each kind of column goes three ways: an Arrow array from numbers (`to_arrow`), numbers from the bits of reports
(`from_bits`), and bits of reports from the Arrow array (`to_bits`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deniable.client import COEFFICIENTS, PRIME
from deniable.errors import ReportError
from deniable.plan import Plan
from deniable.protocols import LocalHashing, UnaryEncoding
from deniable.schema import SEPARATOR, Choice

Bits = npt.NDArray[np.uint8]  # 0 or 1, a row for each report
Numbers = npt.NDArray[Any]


@dataclass(frozen=True)
class Column:
    """A column of a table of reports, of true and false unless a kind below says otherwise."""

    name: str

    @property
    def type(self) -> Any:
        """Its Arrow type."""
        return pa.bool_()

    @property
    def width(self) -> int:
        """How many bits of a report it fills."""
        return 1

    def to_arrow(self, numbers: Numbers) -> Any:
        """The column from numbers; what it cannot hold is an error."""
        return pa.array(numbers.astype(bool))

    def from_bits(self, bits: Bits) -> Numbers:
        """Numbers from its part of the reports, lowest bit first: shape (reports, width)."""
        return bits[:, 0]

    def to_bits(self, array: Any) -> Bits:
        """Its part of the reports."""
        return np.asarray(array.to_numpy(zero_copy_only=False)).view(np.uint8)[:, None]

    def conform(self, array: Any) -> Any:
        """The same column in this type, whoever wrote it; what cannot be in it is an error."""
        if array.null_count:
            raise ReportError(f"column {self.name!r} of the reports has nulls; a report leaves nothing out")
        if array.type != self.type:
            raise ReportError(f"column {self.name!r} of the reports must be {self.type}; found {array.type}")
        return array

    def refuse(self, bad: Any, what: str) -> None:
        """Raise for the first bad report, if any."""
        if bad.any():
            raise ReportError(f"report {int(bad.argmax())} (counted from 0), column {self.name!r}: {what}")


@dataclass(frozen=True)
class ValueColumn(Column):
    """A column of values shown, text from a fixed list, by their indices."""

    values: tuple[str, ...]

    @property
    def type(self) -> Any:
        return pa.dictionary(pa.int16(), pa.string())

    @property
    def width(self) -> int:
        return (len(self.values) - 1).bit_length()

    def to_arrow(self, numbers: Numbers) -> Any:
        self.refuse(numbers >= len(self.values), f"there are {len(self.values)} values, and it shows a higher one")
        return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int16, copy=False)), self.values)

    def from_bits(self, bits: Bits) -> Numbers:
        return _from_bits(bits)

    def to_bits(self, array: Any) -> Bits:
        return _to_bits(array.indices.to_numpy(), self.width)

    def conform(self, array: Any) -> Any:
        if pa.types.is_dictionary(array.type):
            if not array.null_count and array.dictionary.to_pylist() == list(self.values):
                return self.to_arrow(array.indices.to_numpy())
            array = array.cast(array.type.value_type)
        if pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type):
            array = array.cast(pa.string())
        if array.null_count or array.type != pa.string():
            return super().conform(array)
        codes = pc.index_in(array, pa.array(self.values))
        if codes.null_count:
            unknown = codes.is_null().to_numpy(zero_copy_only=False)
            self.refuse(unknown, f"{array[int(unknown.argmax())].as_py()!r} is not one of its values")
        return self.to_arrow(codes.to_numpy())


@dataclass(frozen=True)
class BucketColumn(Column):
    """A column of buckets below a number of them."""

    buckets: int

    @property
    def type(self) -> Any:
        return pa.uint16()

    @property
    def width(self) -> int:
        return (self.buckets - 1).bit_length()

    def to_arrow(self, numbers: Numbers) -> Any:
        self.refuse(numbers >= self.buckets, f"there are {self.buckets} buckets, and it shows a higher one")
        return pa.array(numbers.astype(np.uint16, copy=False))

    def from_bits(self, bits: Bits) -> Numbers:
        return _from_bits(bits)

    def to_bits(self, array: Any) -> Bits:
        return _to_bits(array.to_numpy(), self.width)

    def conform(self, array: Any) -> Any:
        return self.to_arrow(super().conform(array).to_numpy())


@dataclass(frozen=True)
class SeedColumn(Column):
    """A column of hash seeds: four little-endian 32-bit coefficients, each below the prime. Shape (reports, 4)."""

    @property
    def type(self) -> Any:
        return pa.binary(4 * COEFFICIENTS)

    @property
    def width(self) -> int:
        return 32 * COEFFICIENTS

    def to_arrow(self, numbers: Numbers) -> Any:
        self.refuse((numbers >= PRIME).any(axis=1), f"a coefficient of its hash is not below {PRIME}")
        little = np.ascontiguousarray(numbers, "<u4")
        return pa.Array.from_buffers(self.type, len(little), [None, pa.py_buffer(little)])

    def from_bits(self, bits: Bits) -> Numbers:
        return np.packbits(bits, axis=1, bitorder="little").view("<u4")

    def to_bits(self, array: Any) -> Bits:
        return np.unpackbits(self.coefficients(array).view(np.uint8), axis=1, bitorder="little")

    def coefficients(self, array: Any) -> npt.NDArray[np.uint32]:
        """The coefficients in a column."""
        start, stop = array.offset * COEFFICIENTS, (array.offset + len(array)) * COEFFICIENTS
        return np.frombuffer(array.buffers()[1], "<u4")[start:stop].reshape(-1, COEFFICIENTS)

    def conform(self, array: Any) -> Any:
        if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
            size = pc.binary_length(array.fill_null(b"")).to_numpy()
            self.refuse(size != 4 * COEFFICIENTS, f"a seed has {4 * COEFFICIENTS} bytes")
            array = array.cast(pa.binary()).cast(self.type)
        return self.to_arrow(self.coefficients(super().conform(array)))


def layout(plan: Plan) -> tuple[tuple[Column, ...], ...]:
    """The columns of each feature, in the order of the report's bits."""
    features: list[tuple[Column, ...]] = []
    for feature, protocol in plan:
        name = feature.name
        match protocol:
            case UnaryEncoding() if isinstance(feature, Choice):
                features.append(tuple(Column(name + SEPARATOR + value) for value in feature.values))
            case LocalHashing():
                bucket = BucketColumn(f"{name}{SEPARATOR}bucket", protocol.buckets)
                features.append((SeedColumn(f"{name}{SEPARATOR}seed"), bucket))
            case _ if isinstance(feature, Choice):
                features.append((ValueColumn(name, feature.values),))
            case _:
                features.append((Column(name),))
    return tuple(features)


def columns_of(plan: Plan) -> list[Column]:
    """All columns of a table of reports."""
    return [column for feature in layout(plan) for column in feature]


def report_bytes(plan: Plan) -> int:
    """The length of a report, whatever the answers."""
    return (sum(column.width for column in columns_of(plan)) + 7) // 8


def _to_bits(numbers: Numbers, width: int) -> Bits:
    return np.asarray(numbers[:, None] >> np.arange(width, dtype=numbers.dtype) & 1, np.uint8)


def _from_bits(bits: Bits) -> Numbers:
    return np.asarray(bits.astype(np.int32) @ (1 << np.arange(bits.shape[1], dtype=np.int32)))
