"""The randomized answers of many respondents, with the plan they were randomized by."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from deniable import perturb, records
from deniable.draws import Draws, secure, seeded
from deniable.errors import PlanError, ReportError
from deniable.files import replacing
from deniable.layout import Column, SeedColumn, ValueColumn, columns_of, layout, report_bytes
from deniable.perturb import Codes
from deniable.plan import Plan
from deniable.protocols import BitByBit, KeepOrUniform, LocalHashing, Protocol
from deniable.schema import Feature

PLAN_KEY = b"deniable.plan"  # of the plan's JSON, in the metadata of tables and files
ROW_GROUP = 1 << 20
BLOCK = 1 << 16  # reports turned into bytes at a time


@dataclass(frozen=True, init=False, repr=False)
class Reports:
    """Randomized answers as an Arrow table of ordinary columns, one or more per feature (see `layout`)."""

    plan: Plan
    table: Any

    def __init__(self, plan: Plan, table: Any) -> None:
        """Check that the table is what the plan makes; columns may be in any order, others are dropped."""
        self.__dict__.update(plan=plan, table=_conform(plan, table))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        return f"<Reports of {len(self):,} respondents, {report_bytes(self.plan)} bytes each, by {self.plan!r}>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    @classmethod
    def from_bytes(cls, reports: Iterable[bytes], plan: Plan) -> "Reports":
        """Collect the reports of many devices."""
        reports = list(reports)
        size = report_bytes(plan)
        for place, report in enumerate(reports):
            if len(report) != size:
                raise ReportError(f"report {place} (counted from 0) has {len(report)} bytes; this plan's have {size}")
        raw = np.frombuffer(b"".join(reports), np.uint8).reshape(len(reports), size)
        arrays, position = {}, 0
        for column in columns_of(plan):
            arrays[column.name] = column.from_bits(_bits_at(raw, position, column.width))
            position += column.width
        if (padding := _bits_at(raw, position, 8 * size - position).any(axis=1)).any():
            raise ReportError(f"report {int(padding.argmax())} (counted from 0) has bits after its last feature")
        return cls(plan, pa.table(arrays))

    def to_bytes(self) -> list[bytes]:
        """Each report as its device sent, or would have sent, it."""
        size = report_bytes(self.plan)
        reports: list[bytes] = []
        for start in range(0, len(self), BLOCK):
            part = self.table.slice(start, BLOCK)
            bits = np.hstack([column.to_bits(part[column.name].combine_chunks()) for column in columns_of(self.plan)])
            raw = np.packbits(bits, axis=1, bitorder="little").tobytes()
            reports += [raw[at : at + size] for at in range(0, len(raw), size)]
        return reports

    def save(self, path: str | Path) -> None:
        """Write a Parquet file with the plan in its metadata, whole or not at all."""
        write(path, self.plan, [self])

    @classmethod
    def load(cls, path: str | Path) -> "Reports":
        """Read a Parquet file that `save` wrote."""
        try:
            table = pq.read_table(Path(path))
        except (OSError, pa.ArrowException) as error:
            raise ReportError(f"{path}: cannot be read as Parquet: {error}") from None
        try:
            return cls(plan_of(table.schema), table)
        except (ReportError, PlanError) as error:
            raise ReportError(f"{path}: {error}") from None


def randomize(data: Any, plan: Plan, *, rng: np.random.Generator | None = None) -> Reports:
    """Randomize the records of any dataframe, mapping of columns or list of dicts, each by itself.

    Randomness comes from a keystream keyed by the operating system at each call. `rng` makes it repeatable, for
    simulations and tests only.
    """
    return randomize_part(data, plan, secure() if rng is None else seeded(rng))


def randomize_part(data: Any, plan: Plan, draws: Draws, first_row: int = 0) -> Reports:
    """`randomize` with its draws, and with what its first record is called in errors."""
    columns = records.columns(data, plan.schema.names)
    codes = [records.encode(feature.to_json(), columns[feature.name], first_row) for feature in plan.schema]
    return randomize_codes(codes, plan, draws)


def randomize_codes(codes: Sequence[Codes], plan: Plan, draws: Draws) -> Reports:
    """Randomize integer codes, an array for each feature."""
    arrays: dict[str, Any] = {}
    for coded, (feature, protocol), columns in zip(codes, plan, layout(plan), strict=True):
        perturbed = _perturb(coded, feature, protocol, columns, draws)
        arrays |= {column.name: array for column, array in zip(columns, perturbed, strict=True)}
    return Reports(plan, pa.table(arrays))


def _perturb(
    codes: Codes, feature: Feature, protocol: Protocol, columns: tuple[Column, ...], draws: Draws
) -> list[Any]:
    """The Arrow columns of one feature's randomized answers."""
    match protocol, columns:
        case BitByBit(), _:
            planes = perturb.bit_planes(codes, feature.columns, protocol.p_numerator, protocol.q_numerator, draws)
            return [_boolean(plane, len(codes)) for plane in planes]
        case LocalHashing(), (SeedColumn() as seed_column, _):
            seed = perturb.seeds(len(codes), draws)
            bucket = perturb.bucket(seed, codes, protocol.buckets)
            shown = perturb.keep_or_uniform(bucket, protocol.keep, protocol.buckets, draws)
            return [seed_column.from_coefficients(seed), pa.array(shown.view(np.uint16))]
        case KeepOrUniform(), (ValueColumn() as column,):
            return [column.from_codes(perturb.keep_or_uniform(codes, protocol.keep, protocol.outcomes, draws))]
        case _, (ValueColumn() as column,):
            return [column.from_codes(codes)]
    return [_boolean(perturb.pack_flags(codes), len(codes))]


def write(path: str | Path, plan: Plan, parts: Iterable[Reports]) -> int:
    """Write reports of one plan, part after part, to a Parquet file: whole or not at all. Returns how many."""
    schema = pa.schema([(column.name, column.type) for column in columns_of(plan)])
    schema = schema.with_metadata({PLAN_KEY: plan.to_json().encode()})
    rows = 0
    with replacing(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        for part in parts:
            if part.plan != plan:
                raise ReportError(f"these reports are of plan {part.plan.fingerprint}, not {plan.fingerprint}")
            writer.write_table(part.table.replace_schema_metadata(schema.metadata), row_group_size=ROW_GROUP)
            rows += len(part)
    return rows


def plan_of(schema: Any) -> Plan:
    """The plan in the metadata of an Arrow schema."""
    text = (schema.metadata or {}).get(PLAN_KEY)
    if text is None:
        raise ReportError("there is no plan in its metadata; it was not written as reports")
    return Plan.from_json(text)


def _conform(plan: Plan, table: Any) -> Any:
    arrays = {}
    for column in columns_of(plan):
        if column.name not in table.column_names:
            raise ReportError(f"column {column.name!r} is missing from the reports; found {table.column_names}")
        array = table[column.name]
        arrays[column.name] = column.conform(array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array)
    return pa.table(arrays)


def _bits_at(raw: Any, position: int, width: int) -> Any:
    """Some bits of every report, one to a byte."""
    first, last = position // 8, (position + width + 7) // 8
    bits = np.unpackbits(raw[:, first:last], axis=1, bitorder="little")
    return bits[:, position - 8 * first :][:, :width]


def _boolean(plane: Any, length: int) -> Any:
    return pa.BooleanArray.from_buffers(pa.bool_(), length, [None, pa.py_buffer(plane)])
