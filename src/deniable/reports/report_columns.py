"""The kinds of columns that a table of reports has, one or more for each feature.

Each kind goes three ways: an Arrow array from numbers (`to_arrow`), numbers from the bits of reports (`from_bits`), and
bits of reports from the Arrow array (`to_bits`). `conform` takes a column from a file that somebody else wrote.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deniable.client import COEFFICIENTS, PRIME
from deniable.errors import ReportError

Bits = npt.NDArray[np.uint8]  # 0 or 1, a row for each report
Numbers = npt.NDArray[Any]
# The number of the first of some reports or records that stand together; or the number of each, if they do not.
Place = int | npt.NDArray[np.int64]


def number_at(first: Place, row: int) -> int:
    """The number of one of some reports or records, as an error names it."""
    return int(first[row]) if isinstance(first, np.ndarray) else first + row


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

    @property
    def held(self) -> int:
        """About how many bits of memory a report's entry takes while it is read."""
        return 1

    def to_arrow(self, numbers: Numbers, first: Place = 0) -> Any:  # noqa: ARG002 - one contract
        """The column from numbers; what it cannot hold is an error."""
        return pa.array(numbers.astype(bool))

    def from_bits(self, bits: Bits) -> Numbers:
        """Numbers from its part of the reports, lowest bit first: shape (reports, width)."""
        return bits[:, 0]

    def to_bits(self, array: Any) -> Bits:
        """The bits of reports that this column fills, lowest first: shape (reports, width)."""
        return np.asarray(array.to_numpy(zero_copy_only=False)).view(np.uint8)[:, None]

    def conform(self, array: Any, first: Place = 0) -> Any:
        """The same column in this type, whoever wrote it; what cannot be in it is an error.

        `first` says the numbers of the reports, for errors.
        """
        if array.null_count:
            self.refuse(array.is_null().to_numpy(zero_copy_only=False), "null; a report leaves nothing out", first)
        if array.type != self.type:
            raise ReportError(f"column {self.name!r} of the reports must be {self.type}; found {array.type}")
        return array

    def refuse(self, bad: Any, what: str, first: Place = 0) -> None:
        """Raise for the first bad report, if any."""
        if bad.any():
            raise ReportError(
                f"report {number_at(first, int(bad.argmax()))} (counted from 0), column {self.name!r}: {what}"
            )


@dataclass(frozen=True)
class ValueColumn(Column):
    """A column of values shown, text from a fixed list, by their indices."""

    values: tuple[str, ...]

    @property
    def type(self) -> Any:
        return pa.dictionary(pa.int16(), pa.string())

    @cached_property
    def dictionary(self) -> Any:
        """The values as an Arrow array."""
        return pa.array(self.values)

    @property
    def width(self) -> int:
        return (len(self.values) - 1).bit_length()

    @property
    def held(self) -> int:
        return 128  # indices, or texts that another program wrote, and codes

    def to_arrow(self, numbers: Numbers, first: Place = 0) -> Any:
        what = f"there are {len(self.values)} values, and it shows another one"
        self.refuse((numbers < 0) | (numbers >= len(self.values)), what, first)
        return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int16, copy=False)), self.dictionary)

    def from_bits(self, bits: Bits) -> Numbers:
        return _from_bits(bits)

    def to_bits(self, array: Any) -> Bits:
        return _to_bits(array.indices.to_numpy(), self.width)

    def conform(self, array: Any, first: Place = 0) -> Any:
        if array.null_count or not _holds_text(array.type):
            return super().conform(array, first)
        texts = array.dictionary if pa.types.is_dictionary(array.type) else array
        if array is not texts and texts.equals(self.dictionary):
            return self.to_arrow(array.indices.to_numpy(), first)
        codes = pc.index_in(texts.cast(pa.string()), self.dictionary)
        codes = codes if array is texts else codes.take(array.indices)
        if codes.null_count:
            unknown = codes.is_null().to_numpy(zero_copy_only=False)
            self.refuse(unknown, f"{array[int(unknown.argmax())].as_py()!r} is not one of its values", first)
        return self.to_arrow(codes.to_numpy(), first)


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def whole(column: Any) -> Any:
    """A column as one Arrow array, copied only if it is in several chunks."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    return chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, column.type).combine_chunks()


def _holds_text(kind: Any) -> bool:
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


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

    @property
    def held(self) -> int:
        return 16

    def to_arrow(self, numbers: Numbers, first: Place = 0) -> Any:
        self.refuse(numbers >= self.buckets, f"there are {self.buckets} buckets, and it shows a higher one", first)
        return pa.array(numbers.astype(np.uint16, copy=False))

    def from_bits(self, bits: Bits) -> Numbers:
        return _from_bits(bits)

    def to_bits(self, array: Any) -> Bits:
        return _to_bits(array.to_numpy(), self.width)

    def conform(self, array: Any, first: Place = 0) -> Any:
        if pa.types.is_floating(array.type) and not array.null_count:  # what some programs make of numbers and nulls
            numbers = array.to_numpy()
            self.refuse((np.floor(numbers) != numbers) | (numbers < 0), "a bucket is a whole number from 0", first)
            return self.to_arrow(numbers, first)
        if pa.types.is_integer(array.type) and not array.null_count:  # not every program has this type
            numbers = array.to_numpy()
            self.refuse(numbers < 0, "a bucket is a whole number from 0", first)
            return self.to_arrow(numbers, first)
        return super().conform(array, first)


@dataclass(frozen=True)
class SeedColumn(Column):
    """A column of hash seeds: four little-endian 32-bit coefficients, each below the prime. Shape (reports, 4)."""

    @property
    def type(self) -> Any:
        return pa.binary(4 * COEFFICIENTS)

    @property
    def width(self) -> int:
        return 32 * COEFFICIENTS

    @property
    def held(self) -> int:
        return self.width

    def to_arrow(self, numbers: Numbers, first: Place = 0) -> Any:
        self.refuse((numbers >= PRIME).any(axis=1), f"a coefficient of its hash is not below {PRIME}", first)
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

    def conform(self, array: Any, first: Place = 0) -> Any:
        if array.type in (pa.binary(), pa.large_binary(), pa.binary_view()) and not array.null_count:
            array = array.cast(pa.binary())
            size = pc.binary_length(array).to_numpy()
            self.refuse(size != 4 * COEFFICIENTS, f"a seed has {4 * COEFFICIENTS} bytes", first)
            array = array.cast(self.type)
        return self.to_arrow(self.coefficients(super().conform(array, first)), first)


def _to_bits(numbers: Numbers, width: int) -> Bits:
    return np.asarray(numbers[:, None] >> np.arange(width, dtype=numbers.dtype) & 1, np.uint8)


def _from_bits(bits: Bits) -> Numbers:
    return np.asarray(bits.astype(np.int32) @ (1 << np.arange(bits.shape[1], dtype=np.int32)))
