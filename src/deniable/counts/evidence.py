"""Evidence: which values each report supports, as bit planes (64 reports to a word) and as codes. Internal.

Flags and unary encoding are bits already; GRR and public choices are one value among m; local hashing supports every
value that a report's hash sends to the bucket it shows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.kernels.bitplanes import Words, words_for
from deniable.reports.answers_in import whole
from deniable.reports.columns import Column, SeedColumn, ValueColumn, layout
from deniable.survey.plan import Plan
from deniable.survey.protocols.protocols import LocalHashing


@dataclass(frozen=True)
class Evidence:
    """Some reports' evidence. Row 0 of `planes` is 1 for each report; a feature's planes start at `firsts[name]`.

    `shown` is what was gathered: features that need no planes are counted from it.
    """

    reports: int
    planes: Words
    firsts: Mapping[str, int]
    shown: Mapping[str, Any]


def gather(plan: Plan, table: Any, names: Iterable[str], first: int) -> dict[str, Any]:
    """What a table of reports shows of each feature, as numbers: packed bits of each column, codes, or seed and bucket.

    All that asks Arrow for something is here, for one thread at a time: threads that do so together hold each other up.
    `first` is the number of the first report, for errors.
    """
    columns = dict(zip(plan.schema.names, layout(plan), strict=True))
    return {
        name: _shown(columns[name], [_conformed(table, column, first) for column in columns[name]]) for name in names
    }


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


def plane_rows(plan: Plan, names: Iterable[str]) -> int:
    """How many planes these features have, with that of all reports."""
    return 1 + sum(len(plan.schema[name].columns) for name in names)


def evidence(
    plan: Plan, reports: int, shown: Mapping[str, Any], planes: Sequence[str], memory: Words, tools: ModuleType
) -> Evidence:
    """The evidence of what was gathered, with the planes of some features.

    Planes are made in `memory`, over what was there: fresh memory would cost more than the copying does.
    """
    bits = memory[:, : words_for(reports)]
    if not planes:
        return Evidence(reports, bits, {}, shown)
    packed, rows = [np.full((reports + 7) // 8, 255, np.uint8)], [0]  # all reports
    firsts, row = {}, 1
    for name in planes:
        first, row = row, row + len(plan.schema[name].columns)
        firsts[name] = first
        match shown[name], plan[name]:
            case (seeds, buckets), LocalHashing() as protocol:
                tools.hashed(seeds, buckets, protocol.buckets, bits[first:row])
            case list() as columns, _:
                packed += columns
                rows += range(first, row)
            case codes, _:
                tools.one_hot(codes, bits[first:row])
    tools.copy(np.array([array.ctypes.data for array in packed]), np.array(rows), reports, bits)
    return Evidence(reports, bits, firsts, shown)


def _conformed(table: Any, column: Column, first: int) -> Any:
    return column.conform(whole(table[column.name]), first)
