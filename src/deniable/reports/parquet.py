"""Reports in Parquet files, with the plan in their metadata.

Those of a plan with arms stand in a wide table, with the arm as a column and nulls for what was not asked.
"""

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from deniable.errors import ReportError
from deniable.files import file_source, new_source, replacing
from deniable.files.stores import AnyFile, StoredFile, file_at
from deniable.files.wrong_kinds import instead_of
from deniable.reports.arm_columns import arm_columns
from deniable.reports.arm_row_groups import arm_row_groups
from deniable.reports.fields import PLANS_KEPT, columns_of
from deniable.reports.seal import check_seal, seal
from deniable.survey.plan import Plan

if TYPE_CHECKING:
    from deniable.reports.reports import Reports

PLAN_KEY = b"deniable.plan"  # The metadata of tables and files of reports hold the plan's JSON under this key.
ROW_GROUP = 1 << 20  # A row group of a file has at most this many reports.
SMALL_GROUP = 1 << 16  # Parts are put together until a row group has at least this many reports.
MOST_TOLD = 200  # An error tells at most this many letters of what Arrow says.
READ_AHEAD = 1 << 20  # A column of a file is read ahead by this many bytes.


# What is said of a name that no Parquet file has.
WRITTEN_TO = "reports are written to a Parquet file"


def write(path: str | AnyFile, plan: Plan, parts: Iterable["Reports"], source: str | None = None) -> int:
    """Write reports of one plan to a Parquet file, part after part, whole or not at all; return how many there were.

    Their source is a new one, unless it is given.
    """
    schema = file_schema(plan)
    options = {  # randomized bits and seeds do not compress
        "use_dictionary": [field.name for field in schema if pa.types.is_dictionary(field.type)],
        "compression": "none",
        "write_page_checksum": True,
        **({"write_statistics": [arm_columns(plan).arm]} if plan.has_arms else {}),  # nulls are many, and these cost
    }
    row_groups = arm_row_groups if plan.has_arms else _row_groups
    rows = 0
    with replacing(path) as temporary:
        with pq.ParquetWriter(temporary, schema.with_metadata(metadata(plan)), **options) as writer:
            for table in row_groups(plan, _of_plan(plan, parts)):
                writer.write_table(table, row_group_size=ROW_GROUP)
                rows += table.num_rows
        seal(temporary, source or next(iter(new_source(""))))
    return rows


def _of_plan(plan: Plan, parts: Iterable["Reports"]) -> Iterator["Reports"]:
    """The same parts; one of another plan is an error."""
    for part in parts:
        if part.plan != plan:
            raise ReportError(f"these reports are of plan {part.plan.fingerprint}, not {plan.fingerprint}")
        yield part


def _row_groups(_plan: Plan, parts: Iterable["Reports"]) -> Iterator[Any]:
    """The tables of parts, small ones put together: a row group of a few reports would be mostly its own metadata."""
    waiting: list[Any] = []
    rows = 0
    for part in parts:
        waiting.append(part.table)
        rows += len(part)
        if rows >= SMALL_GROUP:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.concat_tables(waiting)


def file_schema(plan: Plan) -> Any:
    """The Arrow schema of a file of reports."""
    if plan.has_arms:
        return arm_columns(plan).schema
    return pa.schema([(column.name, column.type) for column in columns_of(plan)])


def open_parquet(path: str | AnyFile) -> Any:
    """An open Parquet file; errors name it."""
    return open_with_source(path)[0]


def open_with_source(path: str | AnyFile) -> tuple[Any, dict[str, str]]:
    """An open Parquet file, and whose reports are in it, with its name; errors name it."""
    file = file_at(path)
    if not file.is_file():
        raise ReportError(f"{path}: {'is a folder, not a file' if file.is_dir() else 'no such file'}")
    try:
        source = check_seal(path)
        opened = pq.ParquetFile(
            file.ranges() if isinstance(file, StoredFile) else file,
            buffer_size=READ_AHEAD,
            pre_buffer=False,  # or whole row groups are held
            page_checksum_verification=True,
        )
        return opened, _named(source, path)
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.errno:
            raise ReportError(f"{path}: cannot be read: {error.strerror or os.strerror(error.errno)}") from None
        raise ReportError(f"{path}: {instead_of('reports', path) or damage(error)}") from None


# What Arrow raises for a damaged file; the last two where names of columns are not text, or places are beyond the file.
UNREADABLE = (OSError, pa.ArrowException, UnicodeDecodeError, OverflowError)


def damage(error: BaseException, kind: str = "Parquet") -> str:
    """What an error that reading a damaged file raised is told as: its first line, shortened."""
    first = next(iter(str(error).splitlines()), "") or type(error).__name__
    return f"cannot be read as {kind}: {first[:MOST_TOLD]}"


def source_of(path: str | AnyFile) -> dict[str, str]:
    """Whose reports are in a file, with its name."""
    return _named(check_seal(path), path)


def _named(source: str | None, path: str | AnyFile) -> dict[str, str]:
    """A source with the name of its file, which is its own source if it does not say one."""
    return file_source(path) if source is None else {source: file_at(path).name}


def has_plan(source: Any) -> bool:
    """Whether the metadata of an open Parquet file hold a plan."""
    return _plan_text(source) is not None


def plan_of(source: Any) -> Plan:
    """The plan that the metadata of an open Parquet file hold."""
    text = _plan_text(source)
    if text is None:
        raise ReportError(
            "there is no plan in its metadata: it was not written as reports, or whoever rewrote it lost the plan; "
            "dn.Reports(plan, table).save(...) puts it back"
        )
    return _parsed(text)


@lru_cache(maxsize=PLANS_KEPT)
def _parsed(text: bytes) -> Plan:
    """The plan of a text, which all files of a survey have alike."""
    return Plan.from_json(text)


def _plan_text(source: Any) -> bytes | None:
    return {**(source.metadata.metadata or {}), **(source.schema_arrow.metadata or {})}.get(PLAN_KEY)


@lru_cache(maxsize=PLANS_KEPT)
def metadata(plan: Plan) -> dict[bytes, bytes]:
    """The metadata of a table or a file of reports: the plan."""
    return {PLAN_KEY: plan.to_json().encode()}
