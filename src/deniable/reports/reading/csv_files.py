"""CSV files as programs of all countries write them: their encoding, what stands between columns, rows and lines."""

import codecs
import csv as text
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from deniable.errors import AnswerError, abbreviated
from deniable.files.stores import AnyFile, StoredFile

# What may stand between columns; the first is taken unless one of the others is obvious.
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# So many bytes of a file are looked at to see how it is written, and so many rows of these.
LOOKED_AT, ROWS_LOOKED_AT = 1 << 16, 20
# A file is read in blocks of this many bytes.
BLOCK = 1 << 24
# What Arrow says of a row with too many or too few cells, before the row itself, which nobody is to see.
RAGGED = re.compile(r"CSV parse error: (?:Row #\d+: )?Expected (\d+) columns, got (\d+): ")
MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class CsvForm:
    """How a CSV file is written. What is None is found out for each file: the encoding by its mark, else UTF-8."""

    delimiter: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and (not isinstance(self.delimiter, str) or len(self.delimiter) != 1):
            raise AnswerError(f"a delimiter is one character, such as ';'; found {abbreviated(self.delimiter)}")
        try:
            codecs.lookup(self.encoding or "utf-8")
        except (LookupError, TypeError):
            raise AnswerError(f"no encoding {abbreviated(self.encoding)}; try 'latin-1' or 'utf-16'") from None

    def of(self, path: AnyFile) -> "CsvForm":
        """The form of one file, in which nothing is left open."""
        with path.open("rb") as file:
            head = file.read(LOOKED_AT)
        encoding = self.encoding or _encoding(path, head)
        form = CsvForm(self.delimiter, encoding)
        return form if self.delimiter else CsvForm(_delimiter(path, form), encoding)

    def __str__(self) -> str:
        """What is not usual about a form, in words; empty if nothing is."""
        words = [] if self.encoding in (None, "utf-8") else [f"encoding {self.encoding}"]
        if self.delimiter not in (None, ","):
            words.append(f"{DELIMITERS.get(str(self.delimiter), repr(self.delimiter))} between columns")
        return ", ".join(words)


def _encoding(path: AnyFile, head: bytes) -> str:
    """The encoding of a file by the mark at its start, else UTF-8; another one is named in an error."""
    for mark, encoding in MARKS.items():
        if head.startswith(mark):
            return encoding
    if b"\0" in head[:200]:
        order = "le" if head[1:200:2].count(0) > head[0:200:2].count(0) else "be"
        raise AnswerError(
            f"{path}: this looks like UTF-16; say so: encoding='utf-16-{order}' (--encoding utf-16-{order})"
        )
    header = head.split(b"\n", 1)[0]
    if not _is_utf_8(header):
        raise AnswerError(f"{path}: line 1 {NOT_UTF_8}")
    return "utf-8"


NOT_UTF_8 = (
    "is not UTF-8, and may be Latin-1 (Windows); save the file as UTF-8, or say so: encoding='latin-1' "
    "(--encoding latin-1)"
)


def _delimiter(path: AnyFile, form: CsvForm) -> str:
    """What stands between columns: commas, or the only other mark that splits all first rows into as many cells.

    A .tsv file has tabs.
    """
    if path.suffix.lower() == ".tsv":
        return "\t"
    splits = [mark for mark in DELIMITERS if _splits(path, CsvForm(mark, form.encoding))]
    return splits[0] if len(splits) == 1 or "," in splits else ","


def _splits(path: AnyFile, form: CsvForm) -> bool:
    """Whether all of the first rows have as many cells as the header, more than one."""
    try:
        sizes = [len(cells) for cells in islice(rows(path, form), ROWS_LOOKED_AT)]
    except AnswerError:
        return False
    return bool(sizes) and sizes[0] > 1 and len(set(sizes)) == 1


def rows(path: AnyFile, form: CsvForm) -> Iterator[list[str]]:
    """The rows of a file, the header first, without empty lines."""
    return (cells for _, cells in numbered_rows(path, form))


def numbered_rows(path: AnyFile, form: CsvForm) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file, the header first, without empty lines, each with the line that it begins in, from 1."""
    encoding = "utf-8-sig" if form.encoding == "utf-8" else form.encoding
    line = 1
    try:
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            reader = text.reader(file, delimiter=form.delimiter or ",")
            for cells in reader:
                if cells:
                    yield line, cells
                line = reader.line_num + 1
    except text.Error as error:
        raise AnswerError(f"{path}: cannot be read as CSV: line {line}: {error}") from None


def lines_of(path: AnyFile, form: CsvForm, places: Sequence[int]) -> list[int]:
    """The lines that some rows begin in, the first row below the header being 0."""
    every = enumerate(islice(numbered_rows(path, form), max(places) + 2), -1)
    lines = {row: line for row, (line, _) in every if row in places}
    return [lines[row] for row in places]


def batches(path: AnyFile, form: CsvForm, names: Sequence[str]) -> Iterator[Any]:
    """Record batches of a file with these columns of its header, every answer as text."""
    from pyarrow import csv

    try:
        yield from csv.open_csv(
            path.open("rb") if isinstance(path, StoredFile) else path,
            csv.ReadOptions(block_size=BLOCK, encoding=form.encoding),
            csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True),
            csv.ConvertOptions(include_columns=list(names), column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid as error:
        if ragged := RAGGED.match(str(error)):
            raise AnswerError(f"{path}: {_ragged_row(path, form, *map(int, ragged.groups()))}") from None
        if len(list(islice(rows(path, form), 2))) < 2:  # a header alone, without the end of its line
            return
        if "invalid UTF8" in str(error):
            raise AnswerError(f"{path}: line {_line_not_utf_8(path)} {NOT_UTF_8}") from None
        raise
    except UnicodeError as error:
        raise AnswerError(f"{path}: cannot be read as {form.encoding}: {error.reason}") from None  # type: ignore[attr-defined]


def _ragged_row(path: AnyFile, form: CsvForm, columns: int, cells: int) -> str:
    """Words for the first row with too many or too few cells: its line and its length, not its answers.

    Arrow does not say which row it is when it reads with several threads, so the file is read again.
    """
    every = ((line, len(own)) for line, own in numbered_rows(path, form) if len(own) != columns)
    line, cells = next(every, (None, cells))
    which = "a row" if line is None else f"line {line}"
    return f"{which} has {cells} cell{'s' * (cells != 1)} where the header has {columns}"


def _line_not_utf_8(path: AnyFile) -> int:
    """The first line of a file that is not UTF-8."""
    with path.open("rb") as file:
        return next((line for line, raw in enumerate(file, 1) if not _is_utf_8(raw)), 1)


def _is_utf_8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
