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

from deniable.layout import Column, SeedColumn, ValueColumn, layout
from deniable.plan import Plan
from deniable.planes import Words, new_planes
from deniable.protocols import LocalHashing
from deniable.records import whole


@dataclass(frozen=True)
class Evidence:
    """Some reports' evidence. Row 0 of `planes` is 1 for each report; a feature's planes start at `firsts[name]`.

    Features counted by codes alone have codes and no planes.
    """

    reports: int
    planes: Words
    firsts: Mapping[str, int]
    codes: Mapping[str, npt.NDArray[np.int16]]


def gather(plan: Plan, table: Any, names: Iterable[str]) -> dict[str, Any]:
    """What a table of reports shows of each feature, as numbers: packed bits of each column, codes, or seed and bucket.

    All that asks Arrow for something is here, for one thread at a time: threads that do so together hold each other up.
    """
    columns = dict(zip(plan.schema.names, layout(plan), strict=True))
    return {name: _shown(columns[name], [_conformed(table, column) for column in columns[name]]) for name in names}


def _shown(columns: tuple[Column, ...], arrays: list[Any]) -> Any:
    match columns:
        case (ValueColumn(),):
            return arrays[0].indices.to_numpy()
        case (SeedColumn() as seed, _):
            return seed.coefficients(arrays[0]), arrays[1].to_numpy()
    return [_packed(array) for array in arrays]


def _packed(array: Any) -> npt.NDArray[np.uint8]:
    """The bits of a column, the first lowest; without a copy unless it starts inside a byte."""
    if array.offset % 8:
        return np.packbits(array.to_numpy(zero_copy_only=False), bitorder="little")
    return np.frombuffer(array.buffers()[1], np.uint8, offset=array.offset // 8)


def evidence(plan: Plan, reports: int, shown: Mapping[str, Any], planes: Iterable[str], tools: ModuleType) -> Evidence:
    """The evidence of what was gathered: planes of some features, and codes of the others, which show one value."""
    firsts, rows = {}, 1
    for name in planes:
        firsts[name], rows = rows, rows + len(plan.schema[name].columns)
    bits = new_planes(rows, reports)
    _copy_bits(np.full((reports + 7) // 8, 255, np.uint8), reports, bits[0])
    for name, first in firsts.items():
        own = bits[first : first + len(plan.schema[name].columns)]
        match shown[name], plan[name]:
            case (seeds, buckets), LocalHashing() as protocol:
                tools.hashed(seeds, buckets, protocol.buckets, own)
            case list() as packed, _:
                for plane, column in zip(own, packed, strict=True):
                    _copy_bits(column, reports, plane)
            case codes, _:
                tools.one_hot(codes, own)
    coded = {name: codes for name, codes in shown.items() if name not in firsts}
    return Evidence(reports, bits, firsts, coded)


def _conformed(table: Any, column: Column) -> Any:
    return column.conform(whole(table[column.name]))


def _copy_bits(packed: npt.NDArray[np.uint8], count: int, plane: Words) -> None:
    """Copy `count` bits into a plane; what comes after them stays 0."""
    octets = plane.view(np.uint8)
    whole, rest = divmod(count, 8)
    octets[:whole] = packed[:whole]
    if rest:
        octets[whole] = packed[whole] & ((1 << rest) - 1)
