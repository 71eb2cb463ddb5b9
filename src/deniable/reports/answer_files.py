"""True answers coming in from CSV and Parquet files, a batch at a time, so that memory does not grow with the files."""

import csv as text
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import pyarrow as pa

from deniable.errors import AnswerError, listed
from deniable.files import expanded
from deniable.reports.answers_in import LeftOutError
from deniable.reports.parquet import PLAN_KEY, open_parquet

Files = str | Path | Sequence[str | Path]

KINDS = {".csv": "CSV", ".parquet": "Parquet"}  # The kinds of files that answers are read from, by their ending.
CSV_BYTES = 1 << 24  # A CSV file is read in blocks of this many bytes.
PARQUET_ROWS, PARQUET_CELLS = 1 << 20, 1 << 24  # A batch of a Parquet file has at most so many rows and cells.


@dataclass(frozen=True)
class Batch:
    """Some records of a file, as an Arrow table; `first_row` is the row of the first one in that file."""

    path: Path
    first_row: int
    table: Any

    def __len__(self) -> int:
        return int(self.table.num_rows)


def are_files(data: object) -> TypeGuard[Files]:
    """Whether data names files (a path, or a list of paths) instead of holding records."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(one, str | Path) for one in data)
    return isinstance(data, str | Path)


def found_files(source: Files, names: Sequence[str], optional: Sequence[str] = ()) -> list[Path]:
    """The files of answers that paths, globs and folders mean, after a check that each has the named columns.

    Those that are optional may be missing, but must not stand twice.
    """
    files = expanded(source, KINDS, AnswerError)
    for path in files:
        header = _header(path)
        _check_header(path, header, [*names, *(name for name in optional if name in header)])
    return files


def batches(files: Sequence[Path], names: Sequence[str], optional: Sequence[str] = ()) -> Iterator[Batch]:
    """The named columns of all files, and those of the optional ones that a file has, file after file, in batches."""
    for path in files:
        rows = 0
        header = _header(path) if optional else []
        there = list(dict.fromkeys([*names, *(name for name in optional if name in header)]))
        try:
            for batch in (_csv_batches if _is_csv(path) else _parquet_batches)(path, there):
                yield Batch(path, rows, pa.Table.from_batches([batch]))
                rows += len(batch)
        except pa.ArrowException as error:
            raise AnswerError(f"{path}: cannot be read: {str(error).splitlines()[0][:200]}") from None


def _is_csv(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _header(path: Path) -> list[str]:
    """The names of a file's columns."""
    if path.suffix.lower() not in KINDS:
        raise AnswerError(f"{path}: answers are read from a .csv or a .parquet file")
    if path.is_dir():
        raise AnswerError(f"{path}: is a folder, not a file")
    if _is_csv(path):
        return next(_csv_rows(path), [])
    schema = open_parquet(path).schema_arrow
    if PLAN_KEY in (schema.metadata or {}):
        raise AnswerError(f"{path}: these are reports, randomized already")
    return list(schema.names)


def _check_header(path: Path, header: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a file in which a named column is missing or stands twice."""
    for name in names:
        if header.count(name) != 1:
            what = "stands twice" if name in header else "is missing"
            found = listed(header) or "none: the file is empty"
            commas = "; columns are separated by commas" if len(header) == 1 and set(header[0]) & set(";\t|") else ""
            kind = AnswerError if name in header else LeftOutError
            raise kind(f"{path}: column {name!r} {what}; found {found}{commas}")


def _parquet_batches(path: Path, names: Sequence[str]) -> Iterator[Any]:
    """Record batches of a Parquet file, fewer rows at a time the more columns there are."""
    rows = max(1, min(PARQUET_ROWS, PARQUET_CELLS // len(names)))
    yield from open_parquet(path).iter_batches(rows, columns=list(names))


def _csv_batches(path: Path, names: Sequence[str]) -> Iterator[Any]:
    """Record batches of a CSV file, every answer as text."""
    from pyarrow import csv

    ragged: list[Any] = []

    def refuse(row: Any) -> str:
        ragged.append(row)
        return "error"

    try:
        yield from csv.open_csv(
            path,
            csv.ReadOptions(block_size=CSV_BYTES),
            csv.ParseOptions(newlines_in_values=True, invalid_row_handler=refuse),
            csv.ConvertOptions(include_columns=list(names), column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid:
        if ragged:
            raise AnswerError(f"{path}: {_ragged_row(path, ragged[0])}") from None
        raise


def _ragged_row(path: Path, found: Any) -> str:
    """Words for the first row with too many or too few cells: its place and its length, not its answers.

    Arrow does not say which row it is when it reads with several threads, so the file is read again.
    """
    rows = (row for row, cells in enumerate(_csv_rows(path), -1) if len(cells) != found.expected_columns)  # -1: header
    row = next(rows, None)
    which = "a row" if row is None else f"row {row} (counted from 0)"
    return f"{which} has {found.actual_columns} cells where the header has {found.expected_columns}"


def _csv_rows(path: Path) -> Iterator[list[str]]:
    """The rows of a CSV file, the header first, without empty lines."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        try:
            yield from filter(None, text.reader(file))
        except text.Error as error:
            raise AnswerError(f"{path}: cannot be read as CSV: {error}") from None
