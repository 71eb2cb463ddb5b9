"""True answers coming in from CSV and Parquet files, a batch at a time, so that memory does not grow with the files."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeGuard

import pyarrow as pa

from deniable.errors import AnswerError, listed, meant
from deniable.files import expanded
from deniable.files.stores import AnyFile
from deniable.files.wrong_kinds import READ_FROM, instead_of
from deniable.reports.answers_in import LeftOutError
from deniable.reports.parquet import PLAN_KEY, UNREADABLE, damage, open_parquet
from deniable.reports.reading import csv_files
from deniable.reports.reading.csv_files import CsvForm
from deniable.reports.reading.problems import rows_in_words

Files = str | AnyFile | Sequence[str | AnyFile]
# The columns that a file must have, and those that are looked at if they are there, by the names of all its columns.
Wanted = Callable[[Sequence[str]], tuple[Sequence[str], Sequence[str]]]

KINDS = {
    ".csv": "CSV",
    ".tsv": "CSV",
    ".parquet": "Parquet",
}  # The kinds of files that answers are read from, by their ending.
# What a cell of a file of Qualtrics begins with in the last of its three lines of names, and what is said of it.
IMPORT_ID = '{"ImportId"'
QUALTRICS = (
    "an export of Qualtrics, in which lines 2 and 3 are more names of columns and no records; delete these two, in "
    "pandas by read_csv(..., skiprows=[1, 2])"
)
PARQUET_ROWS, PARQUET_CELLS = 1 << 20, 1 << 24  # A batch of a Parquet file has at most so many rows and cells.


@dataclass(frozen=True)
class AnswerFile:
    """A file of answers: its columns by the names that they are asked for, and the form that a CSV file has."""

    path: AnyFile
    columns: dict[str, str]  # from names that are asked for to those of the file, which may have blanks around them
    unused: tuple[str, ...] = ()  # columns that nobody asks for
    form: CsvForm | None = None

    def places(self, rows: Sequence[int]) -> list[str]:
        """Words for where some rows of the file are: their lines in a CSV file, else their numbers."""
        if self.form is None:
            return rows_in_words(rows)
        return [f"line {line}" for line in csv_files.lines_of(self.path, self.form, rows)]


@dataclass(frozen=True)
class Batch:
    """Some records of a file, as an Arrow table; `first_row` is the row of the first one in that file."""

    file: AnswerFile
    first_row: int
    table: Any

    def __len__(self) -> int:
        return int(self.table.num_rows)


def are_files(data: object) -> TypeGuard[Files]:
    """Whether data names files (a path, or a list of paths) instead of holding records."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(one, str | AnyFile) for one in data)
    return isinstance(data, str | AnyFile)


def found_files(source: Files, wanted: Wanted, form: CsvForm | None = None) -> list[AnswerFile]:
    """The files of answers that paths, globs and folders mean, after a check that each has the columns it must have.

    Those that are optional may be missing, but must not stand twice.
    """
    files = []
    for path in expanded(source, KINDS, AnswerError):
        own = (form or CsvForm()).of(_checked(path)) if _is_csv(path) else None
        header = _header(path, own)
        stripped = [name.strip() for name in header]
        names, optional = wanted(stripped)
        there = list(dict.fromkeys([*names, *(name for name in optional if name in stripped)]))
        _check_header(path, header, there)
        columns = {name: name if name in header else header[stripped.index(name)] for name in there}
        used = set(columns.values())
        files.append(AnswerFile(path, columns, tuple(name for name in header if name not in used), own))
    return files


def every_column(header: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What `found_files` takes for all columns of a file."""
    return header, ()


def batches(files: Sequence[AnswerFile], ragged: Callable[[AnswerFile], None] | None = None) -> Iterator[Batch]:
    """The columns of all files that are asked for, file after file, in batches.

    `ragged` is told of each row of a CSV file that has too many or too few cells; without it the first is an error.
    """
    for file in files:
        rows = 0
        there = list(file.columns.values())
        try:
            for batch in (
                _parquet_batches(file.path, there)
                if file.form is None
                else csv_files.batches(file.path, file.form, there, None if ragged is None else partial(ragged, file))
            ):
                table = pa.Table.from_batches([batch]).select(there).rename_columns(list(file.columns))
                yield Batch(file, rows, table)
                rows += len(batch)
        except UNREADABLE as error:
            what = "CSV" if _is_csv(file.path) else "Parquet"
            raise AnswerError(f"{file.path}: {damage(error, what)}") from None


def whole_table(source: Files, form: CsvForm | None = None) -> Any:
    """All columns of all files, in one Arrow table; a column that some files lack is null there."""
    files = found_files(source, every_column, form)
    tables = [batch.table for batch in batches(files)]
    if not tables:  # there are no records in these files
        return pa.table({name: pa.nulls(0) for file in files for name in file.columns})
    return pa.concat_tables(tables, promote_options="permissive")


def _is_csv(path: AnyFile) -> bool:
    return KINDS.get(path.suffix.lower()) == "CSV"


def _checked(path: AnyFile) -> AnyFile:
    """A path that is an ordinary file which may be read."""
    if path.is_dir():
        raise AnswerError(f"{path}: is a folder, not a file")
    try:
        path.open("rb").close()
    except OSError as error:
        raise AnswerError(f"{path}: cannot be read: {error.strerror}") from None
    return path


def _header(path: AnyFile, form: CsvForm | None) -> list[str]:
    """The names of a file's columns."""
    if path.suffix.lower() not in KINDS:
        instead = instead_of("answers", path) or f"answers {READ_FROM}; save it as one of these"
        raise AnswerError(f"{path}: {instead}")
    if form is not None:
        header, *below = [*islice(csv_files.rows(path, form), 3)] or [[]]
        if any(cell.startswith(IMPORT_ID) for row in below for cell in row):
            raise AnswerError(f"{path}: {QUALTRICS}")
        return header
    schema = open_parquet(_checked(path)).schema_arrow
    if PLAN_KEY in (schema.metadata or {}):
        raise AnswerError(f"{path}: these are reports, randomized already")
    return list(schema.names)


def _check_header(path: AnyFile, header: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a file in which a named column is missing or occurs twice."""
    stripped = [name.strip() for name in header]
    for name in names:
        times = header.count(name) or stripped.count(name)
        if times != 1:
            what = "occurs twice" if times else "is missing"
            found = listed(header) or "none: the file is empty"
            marks = "; say what stands between columns: delimiter=';' (--delimiter ';')" if _is_unsplit(header) else ""
            spelt = "" if times else meant(name, header)
            another_file = not {*names} & {*stripped}
            raise (AnswerError if times or another_file else LeftOutError)(
                f"{path}: column {name!r} {what}; found {found}{marks}{spelt}"
            )


def _is_unsplit(header: Sequence[str]) -> bool:
    """Whether a header is one cell in which something stands that could be between columns."""
    return len(header) == 1 and bool(set(header[0]) & set(csv_files.DELIMITERS))


def _parquet_batches(path: AnyFile, names: Sequence[str]) -> Iterator[Any]:
    """Record batches of a Parquet file, fewer rows at a time the more columns there are."""
    rows = max(1, min(PARQUET_ROWS, PARQUET_CELLS // max(1, len(names))))
    yield from open_parquet(path).iter_batches(rows, columns=list(names))
