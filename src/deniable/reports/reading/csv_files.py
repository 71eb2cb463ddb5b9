"""CSV files as programs of all countries write them: their encoding, what stands between columns, rows and lines."""

import codecs
import csv as text
import re
from collections.abc import Callable, Iterator, Sequence
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
# So many rows are read at once where some of a file are left out.
ROWS_AT_ONCE = 1 << 16
# What Arrow says of a row with too many or too few cells, before the row itself, which nobody is to see.
RAGGED = re.compile(r"CSV parse error: (?:Row #\d+: )?Expected (\d+) columns, got (\d+): ")
# The line that Excel reads, and may write, above the names of columns: which mark stands between them.
SEP = re.compile(r"\ufeff?sep=(.)\r?\n", re.IGNORECASE)
MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class CsvForm:
    """How a CSV file is written. What is None is found out for each file: the encoding by its mark, else UTF-8."""

    delimiter: str | None = None
    encoding: str | None = None
    skipped: int = 0  # lines above the header: Excel's "sep=;"

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
        said = SEP.match(head.decode(encoding, errors="replace"))
        form = CsvForm(self.delimiter or (said[1] if said else None), encoding, int(said is not None))
        return form if form.delimiter else CsvForm(_delimiter(path, form), encoding)

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
    line = 1 + form.skipped
    try:
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            for _ in range(form.skipped):
                file.readline()
            reader = text.reader(file, delimiter=form.delimiter or ",")
            for cells in reader:
                if cells:
                    yield line, cells
                line = 1 + form.skipped + reader.line_num
    except text.Error as error:
        raise AnswerError(f"{path}: cannot be read as CSV: line {line}: {error}") from None


def lines_of(path: AnyFile, form: CsvForm, places: Sequence[int]) -> list[int]:
    """The lines that some rows begin in, the first row below the header being 0; rows of another length are none."""
    every = numbered_rows(path, form)
    columns = len(next(every)[1])
    whole = enumerate(line for line, cells in every if len(cells) == columns)
    lines = {row: line for row, line in islice(whole, max(places) + 1) if row in places}
    return [lines[row] for row in places]


def batches(
    path: AnyFile, form: CsvForm, names: Sequence[str], ragged: Callable[[], None] | None = None
) -> Iterator[Any]:
    """Record batches of a file with these columns of its header, every answer as text.

    `ragged` is called for each row with too many or too few cells, which is left out; without it the first is an error.
    """
    from pyarrow import csv

    done = 0
    try:
        for batch in csv.open_csv(
            path.open("rb") if isinstance(path, StoredFile) else path,
            csv.ReadOptions(block_size=BLOCK, encoding=form.encoding, skip_rows=form.skipped),
            csv.ParseOptions(delimiter=form.delimiter, newlines_in_values=True),
            csv.ConvertOptions(include_columns=list(names), column_types=dict.fromkeys(names, pa.string())),
        ):
            yield batch
            done += len(batch)
    except pa.ArrowInvalid as error:
        if RAGGED.match(str(error)):
            if ragged is None:
                raise AnswerError(f"{path}: {ragged_in_words(path, form, 1)}") from None
            yield from _whole_rows(path, form, names, done, ragged)
            return
        if len(list(islice(rows(path, form), 2))) < 2:  # a header alone, without the end of its line
            return
        if "invalid UTF8" in str(error):
            raise AnswerError(f"{path}: line {_line_not_utf_8(path) or 1} {NOT_UTF_8}") from None
        raise
    except UnicodeError as error:
        raise AnswerError(f"{path}: cannot be read as {form.encoding}: {error.reason}") from None  # type: ignore[attr-defined]


def _whole_rows(
    path: AnyFile, form: CsvForm, names: Sequence[str], first: int, ragged: Callable[[], None]
) -> Iterator[Any]:
    """Record batches of the rows that have as many cells as the header, from some row on; all others are called out.

    Arrow leaves out such rows too, but not without decoding them, and complains of what is no text on stderr.
    """
    every = numbered_rows(path, form)
    header = next(every)[1]
    places = [header.index(name) for name in names]

    def whole() -> Iterator[list[str]]:
        for _, cells in every:
            if len(cells) == len(header):
                yield [cells[place] for place in places]
            else:
                ragged()

    rows_left = islice(whole(), first, None)
    while some := list(islice(rows_left, ROWS_AT_ONCE)):
        replaced = form.encoding == "utf-8" and any("\ufffd" in cell for cells in some for cell in cells)
        if replaced and (line := _line_not_utf_8(path)):
            raise AnswerError(f"{path}: line {line} {NOT_UTF_8}")
        yield pa.RecordBatch.from_arrays([pa.array(one, pa.string()) for one in zip(*some, strict=True)], list(names))


def ragged_in_words(path: AnyFile, form: CsvForm, count: int) -> str:
    """Words for rows with too many or too few cells: the first one's line and length, not its answers, and how many.

    Arrow does not say which row it is when it reads with several threads, so the file is read again.
    """
    every = numbered_rows(path, form)
    columns = len(next(every, (1, []))[1])
    line, cells = next(((line, len(own)) for line, own in every if len(own) != columns), (0, 0))
    more = f"; and {count - 1:,} more row{'s' * (count > 2)} with too many or too few" if count > 1 else ""
    if not line:  # Arrow and Python do not agree on what a row is
        return f"a row has too many or too few cells, where the header has {columns}{more}"
    return f"line {line} has {cells} cell{'s' * (cells != 1)} where the header has {columns}{more}"


def _line_not_utf_8(path: AnyFile) -> int | None:
    """The first line of a file that is not UTF-8, if there is one."""
    with path.open("rb") as file:
        return next((line for line, raw in enumerate(file, 1) if not _is_utf_8(raw)), None)


def _is_utf_8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
