"""Evidence: which values each report supports, as bit planes (64 reports to a word) and as codes. Internal.

Flags and unary encoding are bits already; GRR and public choices are one value among m; local hashing supports every
value that a report's hash sends to the bucket it shows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.layout import BucketColumn, Column, SeedColumn, ValueColumn, layout
from deniable.plan import Plan

Words = npt.NDArray[np.uint64]

STEP = 64  # words: planes are a multiple of this long, as the kernels need it


@dataclass(frozen=True)
class Evidence:
    """Some reports' evidence. Row 0 of `planes` is 1 for each report; a feature's planes start at `firsts[name]`."""

    reports: int
    planes: Words
    firsts: Mapping[str, int]
    codes: Mapping[str, npt.NDArray[np.int32]]  # padded with 0 to whole planes


def evidence(plan: Plan, table: Any, planes: Iterable[str], codes: Iterable[str], tools: ModuleType) -> Evidence:
    """The evidence of a table of reports: planes of some features, and codes of some that show one value."""
    columns = dict(zip(plan.schema.names, layout(plan), strict=True))
    firsts, rows = {}, 1
    for name in planes:
        firsts[name], rows = rows, rows + len(plan.schema[name].columns)
    n = len(table)
    bits = new_planes(rows, n)
    _copy_bits(np.packbits(np.ones(n, bool), bitorder="little"), n, bits[0])
    for name, first in firsts.items():
        last = first + len(plan.schema[name].columns)
        _fill_planes(bits[first:last], table, columns[name], tools)
    coded = {name: _codes(table, columns[name], 64 * bits.shape[1]) for name in codes}
    return Evidence(n, bits, firsts, coded)


def new_planes(rows: int, reports: int) -> Words:
    """Planes of zeros, each 64-byte aligned, and one cache line longer than it need be.

    Columns a power of two apart would fall on the same places of the cache and push each other out.
    """
    words = STEP * -(-reports // (64 * STEP))
    memory = np.zeros(rows * (words + 8) + 8, np.uint64)
    start = -memory.ctypes.data // 8 % 8
    return memory[start : start + rows * (words + 8)].reshape(rows, words + 8)[:, :words]


def _fill_planes(planes: Words, table: Any, columns: tuple[Column, ...], tools: ModuleType) -> None:
    match columns:
        case (ValueColumn() as value,):
            tools.one_hot(_conformed(table, value).indices.to_numpy(), planes)
        case (SeedColumn() as seed, BucketColumn() as bucket):
            seeds = seed.coefficients(_conformed(table, seed))
            tools.hashed(seeds, _conformed(table, bucket).to_numpy(), bucket.buckets, planes)
        case _:
            for plane, column in zip(planes, columns, strict=True):
                array = _conformed(table, column)
                if array.offset % 8:
                    packed = np.packbits(array.to_numpy(zero_copy_only=False), bitorder="little")
                else:
                    packed = np.frombuffer(array.buffers()[1], np.uint8, offset=array.offset // 8)
                _copy_bits(packed, len(array), plane)


def _codes(table: Any, columns: tuple[Column, ...], size: int) -> npt.NDArray[np.int32]:
    (column,) = columns
    codes = np.zeros(size, np.int32)
    codes[: len(table)] = _conformed(table, column).indices.to_numpy()
    return codes


def _conformed(table: Any, column: Column) -> Any:
    return column.conform(table[column.name].combine_chunks())


def _copy_bits(packed: npt.NDArray[np.uint8], count: int, plane: Words) -> None:
    """Copy `count` bits into a plane; what comes after them stays 0."""
    octets = plane.view(np.uint8)
    whole, rest = divmod(count, 8)
    octets[:whole] = packed[:whole]
    if rest:
        octets[whole] = packed[whole] & ((1 << rest) - 1)
