"""Reports in Parquet files, with the plan in their metadata."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import ReportError
from deniable.files import replacing
from deniable.reports.columns import ValueColumn
from deniable.reports.fields import columns_of
from deniable.survey.plan import Plan

if TYPE_CHECKING:
    from deniable.reports.reports import Reports

PLAN_KEY = b"deniable.plan"  # of the plan's JSON, in the metadata of tables and files
ROW_GROUP = 1 << 20
READ_AHEAD = 1 << 20  # bytes of a column


def write(path: str | Path, plan: Plan, parts: Iterable["Reports"]) -> int:
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
        pq.ParquetWriter(temporary, schema.with_metadata(metadata(plan)), **options) as writer,
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


def metadata(plan: Plan) -> dict[bytes, bytes]:
    """What a table or a file of reports says of itself: the plan."""
    return {PLAN_KEY: plan.to_json().encode()}
