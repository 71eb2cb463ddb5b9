"""Reports in bytes: one little-endian integer each, whose length depends on the plan alone.

lowest bits    the number of the arm, in as many bits as the highest number takes; none if there is one arm
then           the fields of the arm's blocks, in order, as `fields` has them
then           zeros, up to the length of the longest arm and to a whole byte
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.errors import ReportError, abbreviated
from deniable.kernels import tools_for
from deniable.kernels.bitplanes import new_planes
from deniable.kernels.perturb import BLOCK
from deniable.reports.fields import arm_bits, boolean_array, columns_by_name, columns_of, report_bytes
from deniable.reports.report_columns import Column, Place, number_at, whole
from deniable.survey.plan import Plan

Raw = npt.NDArray[np.uint8]  # a row of bytes for each report


def raw_of(reports: Iterable[bytes], plan: Plan) -> Raw:
    """Reports as rows of bytes; what is not bytes, or not as long as the plan's reports, is an error."""
    reports = list(reports)
    size = report_bytes(plan)
    for at, report in enumerate(reports):
        if not isinstance(report, bytes | bytearray | memoryview):
            raise ReportError(f"report {at} (counted from 0) must be bytes; found {abbreviated(report)}")
        if len(report) != size:
            raise ReportError(f"report {at} (counted from 0) has {len(report)} bytes; this plan's have {size}")
    return np.frombuffer(b"".join(reports), np.uint8).reshape(len(reports), size)


def arms_of(raw: Raw, plan: Plan) -> npt.NDArray[np.int64]:
    """The number of each report's arm."""
    low = np.zeros((len(raw), 4), np.uint8)
    low[:, : raw.shape[1]] = raw[:, :4]
    numbers = (low.view("<u4")[:, 0] & ((1 << arm_bits(plan)) - 1)).astype(np.int64)
    if (wrong := numbers >= len(plan.arms)).any():
        row = int(wrong.argmax())
        raise ReportError(
            f"report {row} (counted from 0) is of arm {numbers[row]} (counted from 0); this plan has {len(plan.arms)}"
        )
    return numbers


def from_raw(raw: Raw, plan: Plan, low: int = 0, first: Place = 0) -> pa.Table:
    """The columns of reports of a plan without arms, whose fields begin after the `low` lowest bits.

    Single bits are packed into planes, wider fields go by rows. `first` says the numbers of the reports, for errors.
    """
    columns = columns_of(plan)
    edges = np.cumsum([low, *(column.width for column in columns)])
    single = {column.name: int(at) for column, at in zip(columns, edges, strict=False) if type(column) is Column}
    wide: dict[str, list[npt.NDArray[np.int64]]] = {c.name: [] for c in columns if c.name not in single}
    planes: list[npt.NDArray[np.uint8]] = []
    tools = tools_for(4e-9 * len(raw) * len(single))
    for start in range(0, max(len(raw), 1), BLOCK):
        bits = np.unpackbits(raw[start : start + BLOCK], axis=1, bitorder="little")
        if (padding := bits[:, edges[-1] :].any(axis=1)).any():
            row = number_at(first, start + int(padding.argmax()))
            raise ReportError(f"report {row} (counted from 0) has bits after its last feature")
        packed = new_planes(8 * -(-len(single) // 8), len(bits))
        flags = np.zeros((len(bits), len(packed)), np.uint8)
        flags[:, : len(single)] = bits[:, list(single.values())]
        tools.pack(flags.view(np.uint64), packed)
        planes.append(packed.view(np.uint8)[:, : (len(bits) + 7) // 8])
        for column, here, end in zip(columns, edges, edges[1:], strict=False):
            if column.name in wide:
                wide[column.name].append(column.from_bits(bits[:, here:end]))
    rows = dict(zip(single, np.hstack(planes), strict=False))
    return pa.table(
        {
            column.name: boolean_array(rows[column.name], len(raw))
            if column.name in single
            else column.to_arrow(np.concatenate(wide[column.name]), first)
            for column in columns
        }
    )


def to_bytes(table: pa.Table, plan: Plan, size: int, number: int = 0, low: int = 0) -> list[bytes]:
    """Each report of a table of a plan without arms, in `size` bytes, the arm's number in its `low` lowest bits."""
    columns = columns_of(plan)
    own = np.array([number >> at & 1 for at in range(low)], np.uint8)
    reports: list[bytes] = []
    for start in range(0, table.num_rows, BLOCK):
        part = columns_by_name(table.slice(start, BLOCK))
        bits = [column.to_bits(whole(part[column.name])) for column in columns]
        packed = np.packbits(np.hstack([np.tile(own, (len(bits[0]), 1)), *bits]), axis=1, bitorder="little")
        raw = np.pad(packed, ((0, 0), (0, size - packed.shape[1]))).tobytes()
        reports += [raw[at : at + size] for at in range(0, len(raw), size)]
    return reports
