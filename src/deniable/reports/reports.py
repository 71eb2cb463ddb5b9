"""The randomized answers of many respondents, with the plan they were randomized by."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import AnswerError, PlanError, ReportError
from deniable.files import replacing
from deniable.kernels.bitplanes import new_planes, tools_for
from deniable.reports import answers_in, perturb
from deniable.reports.columns import Column, ValueColumn, columns_of, layout, report_bytes
from deniable.reports.perturb import BLOCK, Codes
from deniable.reports.randomness import Draws, secure, seeded
from deniable.survey.plan import Plan
from deniable.survey.protocols.protocols import BitByBit, KeepOrUniform, LocalHashing, Protocol
from deniable.survey.schema import Feature

PLAN_KEY = b"deniable.survey.plan"  # of the plan's JSON, in the metadata of tables and files
ROW_GROUP = 1 << 20
READ_AHEAD = 1 << 20  # bytes of a column


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Reports:
    """Randomized answers as an Arrow table of ordinary columns, one or more per feature (see `layout`)."""

    plan: Plan
    table: Any

    def __init__(self, plan: Plan, table: Any) -> None:
        """Take any table that speaks Arrow and is what the plan makes; columns in any order, others are dropped."""
        if not isinstance(plan, Plan) or not hasattr(table, "__arrow_c_stream__"):
            raise ReportError(
                f"reports are made of a Plan and a table; found {type(plan).__name__}, {type(table).__name__}"
            )
        self.__dict__.update(plan=plan, table=_conform(plan, pa.table(table)))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reports) and self.plan == other.plan and bool(self.table.equals(other.table))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        size = report_bytes(self.plan)
        return f"<Reports of {len(self):,} respondents, {size} byte{'s' * (size != 1)} each, by {self.plan!r}>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    @classmethod
    def from_bytes(cls, reports: Iterable[bytes], plan: Plan) -> "Reports":
        """Collect the reports of many devices."""
        if not isinstance(plan, Plan):
            raise ReportError(f"reports need the plan they were made by; found {plan!r}")
        reports = list(reports)
        size = report_bytes(plan)
        for place, report in enumerate(reports):
            if not isinstance(report, bytes | bytearray | memoryview):
                raise ReportError(f"report {place} (counted from 0) must be bytes; found {report!r}")
            if len(report) != size:
                raise ReportError(f"report {place} (counted from 0) has {len(report)} bytes; this plan's have {size}")
        raw = np.frombuffer(b"".join(reports), np.uint8).reshape(len(reports), size)
        return cls(plan, _from_raw(raw, plan))

    def to_bytes(self) -> list[bytes]:
        """Each report as its device sent, or would have sent, it."""
        size = report_bytes(self.plan)
        columns = columns_of(self.plan)
        reports: list[bytes] = []
        for start in range(0, len(self), BLOCK):
            part = self.table.slice(start, BLOCK)
            bits = np.hstack([column.to_bits(answers_in.whole(part[column.name])) for column in columns])
            raw = np.packbits(bits, axis=1, bitorder="little").tobytes()
            reports += [raw[at : at + size] for at in range(0, len(raw), size)]
        return reports

    def save(self, path: str | Path) -> None:
        """Write a Parquet file with the plan in its metadata, whole or not at all."""
        write(path, self.plan, [self])

    @classmethod
    def load(cls, path: str | Path) -> "Reports":
        """Read a Parquet file that `save` wrote."""
        source = open_parquet(path)
        try:
            return cls(plan_of(source), source.read())
        except (OSError, pa.ArrowException) as error:
            raise ReportError(f"{path}: cannot be read as Parquet: {error}") from None
        except (ReportError, PlanError) as error:
            raise ReportError(f"{path}: {error}") from None


def randomize(data: Any, plan: Plan, *, rng: np.random.Generator | None = None) -> Reports:
    """Randomize the records of any dataframe, mapping of columns or list of dicts, each by itself.

    Randomness comes from a keystream keyed by the operating system at each call. `rng` makes it repeatable, for
    simulations and tests only.
    """
    if not isinstance(plan, Plan):
        raise PlanError(f"randomize needs a Plan, as Plan.load gives it; found {plan!r}")
    return randomize_part(data, plan, secure() if rng is None else seeded(rng))


def randomize_part(data: Any, plan: Plan, draws: Draws, first_row: int = 0) -> Reports:
    """`randomize` with its draws, and with what its first record is called in errors."""
    if isinstance(data, Reports) or (isinstance(data, pa.Table) and PLAN_KEY in (data.schema.metadata or {})):
        raise AnswerError("these are reports, randomized already; once more would spoil every estimate made of them")
    columns = answers_in.columns(data, plan.schema.names)
    codes = [answers_in.encode(feature.to_json(), columns[feature.name], first_row) for feature in plan.schema]
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
    match protocol:
        case BitByBit():
            planes = perturb.bit_planes(codes, feature.columns, protocol.p_numerator, protocol.q_numerator, draws)
            return [_boolean(plane, len(codes)) for plane in planes]
        case LocalHashing():
            seed = perturb.seeds(len(codes), draws)
            bucket = perturb.bucket(seed, codes, protocol.buckets)
            shown = perturb.keep_or_uniform(bucket, protocol.keep, protocol.buckets, draws)
            return [columns[0].to_arrow(seed), columns[1].to_arrow(shown)]
        case KeepOrUniform():
            return [columns[0].to_arrow(perturb.keep_or_uniform(codes, protocol.keep, protocol.outcomes, draws))]
    return [columns[0].to_arrow(codes)]


def write(path: str | Path, plan: Plan, parts: Iterable[Reports]) -> int:
    """Write reports of one plan, part after part, to a Parquet file: whole or not at all. Returns how many."""
    columns = columns_of(plan)
    schema = pa.schema([(column.name, column.type) for column in columns])
    options = {  # randomized bits and seeds do not compress
        "use_dictionary": [column.name for column in columns if isinstance(column, ValueColumn)],
        "compression": "none",
    }
    rows = 0
    with (
        replacing(path) as temporary,
        pq.ParquetWriter(temporary, schema.with_metadata(_metadata(plan)), **options) as writer,
    ):
        for part in parts:
            if part.plan != plan:
                raise ReportError(f"these reports are of plan {part.plan.fingerprint}, not {plan.fingerprint}")
            writer.write_table(part.table, row_group_size=ROW_GROUP)
            rows += len(part)
    return rows


def open_parquet(path: str | Path) -> Any:
    """Open one Parquet file; errors name it."""
    if not Path(path).is_file():
        raise ReportError(f"{path}: {'is a folder, not a file' if Path(path).is_dir() else 'no such file'}")
    try:
        return pq.ParquetFile(path, buffer_size=READ_AHEAD, pre_buffer=False)  # or whole row groups are held
    except (OSError, pa.ArrowException) as error:
        answers = "; answers become reports by `deniable randomize`" if Path(path).suffix == ".csv" else ""
        raise ReportError(f"{path}: cannot be read as Parquet: {error}{answers}") from None


def plan_of(source: Any) -> Plan:
    """The plan in the metadata of a Parquet file."""
    text = {**(source.metadata.metadata or {}), **(source.schema_arrow.metadata or {})}.get(PLAN_KEY)
    if text is None:
        raise ReportError(
            "there is no plan in its metadata: it was not written as reports, or whoever rewrote it lost the plan; "
            "dn.Reports(plan, table).save(...) puts it back"
        )
    return Plan.from_json(text)


def _metadata(plan: Plan) -> dict[bytes, bytes]:
    return {PLAN_KEY: plan.to_json().encode()}


def _conform(plan: Plan, table: Any) -> Any:
    if len(set(table.column_names)) < len(table.column_names):
        raise ReportError(f"the reports have two columns of one name; found {table.column_names}")
    found = dict(zip(table.column_names, table.columns, strict=True))
    arrays = {}
    for column in columns_of(plan):
        if column.name not in found:
            raise ReportError(f"column {column.name!r} is missing from the reports; found {table.column_names}")
        arrays[column.name] = column.conform(answers_in.whole(found[column.name]))
    return pa.table(arrays, metadata=_metadata(plan))


def _from_raw(raw: npt.NDArray[np.uint8], plan: Plan) -> Any:
    """The columns of reports in bytes, a row for each: single bits are packed into planes, wider fields go by rows."""
    columns = columns_of(plan)
    edges = np.cumsum([0, *(column.width for column in columns)])
    single = {column.name: int(low) for column, low in zip(columns, edges, strict=False) if type(column) is Column}
    wide: dict[str, list[Any]] = {column.name: [] for column in columns if column.name not in single}
    planes: list[npt.NDArray[np.uint8]] = []
    tools = tools_for(4e-9 * len(raw) * len(single))
    for start in range(0, max(len(raw), 1), BLOCK):
        bits = np.unpackbits(raw[start : start + BLOCK], axis=1, bitorder="little")
        if (padding := bits[:, edges[-1] :].any(axis=1)).any():
            row = start + int(padding.argmax())
            raise ReportError(f"report {row} (counted from 0) has bits after its last feature")
        packed = new_planes(8 * -(-len(single) // 8), len(bits))
        flags = np.zeros((len(bits), len(packed)), np.uint8)
        flags[:, : len(single)] = bits[:, list(single.values())]
        tools.pack(flags.view(np.uint64), packed)
        planes.append(packed.view(np.uint8)[:, : (len(bits) + 7) // 8])
        for column, low, high in zip(columns, edges, edges[1:], strict=False):
            if column.name in wide:
                wide[column.name].append(column.from_bits(bits[:, low:high]))
    rows = dict(zip(single, np.hstack(planes), strict=False))
    return pa.table(
        {
            column.name: _boolean(rows[column.name], len(raw))
            if column.name in single
            else column.to_arrow(np.concatenate(wide[column.name]))
            for column in columns
        }
    )


def _boolean(plane: Any, length: int) -> Any:
    return pa.BooleanArray.from_buffers(pa.bool_(), length, [None, pa.py_buffer(plane)])
