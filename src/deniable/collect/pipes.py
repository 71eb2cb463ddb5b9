"""Reports that another pipe has collected: read from NDJSON, CSV or Parquet, checked, each taken once, kept in Parquet.

Each row has a `report`, in base64 or hexadecimal digits (or as bytes in Parquet), and perhaps an `id`. A row that
cannot be used is put aside with the reason, by its number alone, and the others go on. Memory does not grow with the
files, but for about 15 bytes for each report: the reports go through a store on the disk, as the collector's do.
"""

import base64
import binascii
import csv
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, AnyStr, NamedTuple, TypeVar

import pyarrow as pa

from deniable.collect.sealing import reports_in
from deniable.collect.stores.sqlite_log import SqliteLog
from deniable.collect.stores.store import ID_BYTES, Entry, Outcome
from deniable.collect.well_formed import ReportForm
from deniable.errors import CollectError, ReportError, listed
from deniable.files import check_target
from deniable.reports.parquet import UNREADABLE, damage, open_parquet, write
from deniable.survey.plan import Plan
from deniable.text.progress import watched

KINDS = {".ndjson": "NDJSON", ".jsonl": "NDJSON", ".json": "NDJSON", ".csv": "CSV", ".parquet": "Parquet"}
STDIN = "-"  # The input of this name is NDJSON from standard input.
LONGEST_LINE = 1 << 20  # A line of more bytes of NDJSON, or more characters of CSV, than this is put aside.
TOGETHER = 1 << 13  # So many rows are stored at a time.
HEX_ID = re.compile(r"[0-9a-fA-F]{32}")
# What Arrow raises for a text that is no UTF-8, a time that Python has not, and a time zone that it does not know.
NO_VALUE = (ValueError, OverflowError, KeyError, pa.ArrowException)
Item = TypeVar("Item")


class Row(NamedTuple):
    """A row of a file: its number, counted from 1, what it has, or why it has nothing."""

    number: int
    report: Any = None
    id: Any = None
    fault: str | None = None


@dataclass(frozen=True)
class Collected:
    """What became of the rows of one input."""

    path: Path  # where its reports were written
    reports: int
    same: int  # rows that stand there again
    refused: int
    refused_path: Path  # where the reasons are, if any were refused


def collect(inputs: Sequence[str], plan: Plan, folder: Path) -> Iterator[Collected]:
    """Write the reports of each input to a Parquet file in a folder, each id once, in an order drawn at random.

    Parameters
    ----------
    inputs
        Paths of files, by whose endings is known what they are; `-` is NDJSON from standard input. What stands in
        several of them goes with the first.
    plan
        The plan that all reports were made by.
    folder
        Where to write `NAME.parquet` for each input `NAME.ndjson`, and `NAME.refused.ndjson` if rows were refused.

    Yields
    ------
    Collected
        What became of each input, once it is written.
    """
    written = outputs(inputs, folder)
    with TemporaryDirectory(dir=folder, prefix=".collect-") as temporary, _log(Path(temporary) / "seen.db") as log:
        key = os.urandom(ID_BYTES)
        number = log.add_plan(plan.fingerprint, plan.to_json(), ReportForm.of(plan.to_json()).size)
        for day, (one, (path, refused_path)) in enumerate(zip(inputs, written, strict=True), 1):
            log.open_part(day)
            yield _one(_rows(one), _Sink(log, number, day, plan, key), path, refused_path, Path(temporary))


def outputs(inputs: Sequence[str], folder: Path) -> list[tuple[Path, Path]]:
    """The files that the reports of each input, and the reasons of its refused rows, are written to.

    The folder is made, after a check that there is each input. That an input would be written over is an error.
    """
    paths = [_written_to(one, folder) for one in inputs]
    for path in paths:
        if paths.count(path) > 1:
            raise CollectError(f"two inputs would be written to {path}; rename one, or give each a folder of its own")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CollectError(f"{folder}: cannot be a folder for reports: {error.strerror}") from None
    both = [(path, path.with_suffix(".refused.ndjson")) for path in paths]
    read = {Path(one).resolve() for one in inputs if one != STDIN}
    for path in chain.from_iterable(both):
        if check_target(path) in read:
            raise CollectError(f"{path}: is read from, and would be written over; give another folder")
    return both


def _written_to(given: str, folder: Path) -> Path:
    """The file that an input's reports are written to, after a check that it can be read."""
    if given == STDIN:
        return folder / "stdin.parquet"
    path = Path(given)
    if path.is_fifo():
        raise CollectError(f"{path}: is a pipe, not a file; use - for NDJSON from standard input")
    if not path.is_file():
        raise CollectError(f"{path}: {'is a folder, not a file' if path.is_dir() else 'no such file'}")
    if path.suffix.lower() not in KINDS:
        raise CollectError(f"{path}: reports are read from {', '.join(KINDS)}; found {path.suffix or 'no ending'}")
    return folder / f"{path.stem}.parquet"


@contextmanager
def _log(path: Path) -> Iterator[SqliteLog]:
    log = SqliteLog(path, synchronous="off")  # it is thrown away afterwards
    try:
        yield log
    finally:
        log.close()


class _Sink(NamedTuple):
    """Where the rows of one input go."""

    log: SqliteLog
    number: int  # of the plan in the log
    part: int
    plan: Plan
    key: bytes  # drawn anew each time, so that who knows all ids cannot tell which report is whose by their order


def _one(rows: Iterator[Row], sink: _Sink, path: Path, refused_path: Path, temporary: Path) -> Collected:
    """Collect one input."""
    form = ReportForm.of(sink.plan.to_json())
    same = refused = 0
    aside = temporary / "refused.ndjson"
    with aside.open("w", encoding="utf-8") as file:
        taken = ((row.number, _entry(row, form, sink)) for row in rows)  # short, however long the rows are
        for some in watched(_together(taken), "rows read"):
            entries = [entry for _, entry in some if isinstance(entry, Entry)]
            outcomes = iter(sink.log.write(entries, sink.part) if entries else [])
            for row, entry in some:
                outcome = None if isinstance(entry, str) else next(outcomes)
                same += outcome is Outcome.SAME
                fault = "another report has this id" if outcome is Outcome.OTHER else entry
                if isinstance(fault, str):
                    refused += 1
                    file.write(json.dumps({"row": row, "reason": fault}) + "\n")
    chunks = sink.log.seal(sink.part).chunks(sink.number)
    written = write(path, sink.plan, (reports_in(chunk, sink.plan) for chunk in chunks))
    if refused:
        os.replace(aside, refused_path)  # noqa: PTH105 - atomic on every system
    else:
        refused_path.unlink(missing_ok=True)
    return Collected(path, written, same, refused, refused_path)


def _together(items: Iterator[Item]) -> Iterator[list[Item]]:
    while some := list(islice(items, TOGETHER)):
        yield some


def _entry(row: Row, form: ReportForm, sink: _Sink) -> Entry | str:
    """A row as an entry of the store, or what is wrong with it."""
    if row.fault is not None:
        return row.fault
    report = _report(row.report, form.size)
    if isinstance(report, str):
        return report
    return form.fault(report) or Entry(_id(row.id, sink.key), sink.number, report)


def _report(given: Any, size: int) -> bytes | str:
    """The bytes of a report, or why there are none.

    As many hexadecimal digits as its bytes take are read as such, all else as base64, of either alphabet. Of a report
    of one byte base64 needs its padding, or it could not be told from two digits.
    """
    if isinstance(given, bytes):
        return given
    if not isinstance(given, str):
        return "there is no report" if given is None else "the report is no text"
    text = given.strip()
    if len(text) == 2 * size and re.fullmatch("[0-9a-fA-F]*", text):
        return bytes.fromhex(text)
    padded = text if size == 1 else text + "=" * (-len(text) % 4)
    try:
        return base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return "the report is neither base64 nor hexadecimal digits"


def _id(given: Any, key: bytes) -> bytes:
    """What stands for the id of a report in 16 bytes: its hash under a key; where there is no id, random bytes."""
    if given is None or given == "":
        return os.urandom(ID_BYTES)
    if isinstance(given, str) and HEX_ID.fullmatch(given):
        given = bytes.fromhex(given)  # of either case
    text = given if isinstance(given, bytes) else b"text " + str(given).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, key=key, digest_size=ID_BYTES).digest()


# -- reading -----------------------------------------------------------------------------------------------------------


def _rows(given: str) -> Iterator[Row]:
    """The rows of an input."""
    if given == STDIN:
        yield from _ndjson(sys.stdin.buffer)
        return
    path = Path(given)
    match KINDS[path.suffix.lower()]:
        case "Parquet":
            yield from _parquet(path)
        case "CSV":
            with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
                yield from _csv(path, text)
        case _:
            with path.open("rb") as file:
                yield from _ndjson(file)


def _lines(file: IO[AnyStr], *ends: AnyStr) -> Iterator[AnyStr | None]:
    """The lines of a file, each with its end; None for one that is too long."""
    while line := file.readline(LONGEST_LINE):
        long = len(line) == LONGEST_LINE and not line.endswith(ends)
        while long and (more := file.readline(LONGEST_LINE)) and not more.endswith(ends):
            pass
        yield None if long else line


def _ndjson(file: IO[bytes]) -> Iterator[Row]:
    for number, line in enumerate(_lines(file, b"\n"), 1):
        if line is None:
            yield Row(number, fault="the line is too long")
        elif line.strip():
            try:
                found = json.loads(line, object_pairs_hook=_Object)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, _Object):
                yield Row(number, fault="the line is no JSON object")
            elif twice := [name for name in ("report", "id") if found.names.count(name) > 1]:
                yield Row(number, fault=f"the line has {listed(twice)} more than once")
            else:
                yield Row(number, found.get("report"), found.get("id"))


class _Object(dict[str, Any]):
    """An object of JSON that knows how often each name stands in it."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.names = [name for name, _ in pairs]


def _csv(path: Path, file: IO[str]) -> Iterator[Row]:
    """Rows of a CSV file, each in one line, or a quote that is not closed would hide the lines after it.

    Lines are counted, the header as the first.
    """
    lines = map(_fields, _lines(file, "\n", "\r"))
    header = next(lines, [])
    if isinstance(header, str):
        raise CollectError(f"{path}: needs one column 'report', named in its first line; {header}")
    report, id = (header.index(name) if header.count(name) == 1 else None for name in ("report", "id"))
    if report is None:
        raise CollectError(f"{path}: needs one column 'report'; found {listed(header) or 'none: the file is empty'}")
    for number, fields in enumerate(lines, 2):
        if isinstance(fields, str):
            yield Row(number, fault=fields)
        elif len(fields) == len(header):
            yield Row(number, fields[report], None if id is None else fields[id])
        elif fields:
            yield Row(number, fault=f"there are {len(fields)} fields, where the header has {len(header)}")


def _fields(line: str | None) -> list[str] | str:
    """The fields of a line of CSV, or what is wrong with it."""
    if line is None:
        return "the line is too long"
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error as error:
        why = "a quote in it is not closed" if line.count('"') % 2 else error
        return f"the line is no CSV: {why}"


def _parquet(path: Path) -> Iterator[Row]:
    source = open_parquet(path)
    try:
        names = source.schema_arrow.names
        if names.count("report") != 1:
            raise CollectError(f"{path}: needs one column 'report'; found {listed(names)}")
        wanted = ["report", *(["id"] if names.count("id") == 1 else [])]
        batches = source.iter_batches(TOGETHER, columns=wanted)
        columns = ([_cells(batch.column(name)) for name in wanted] for batch in batches)
        rows = chain.from_iterable(zip(*some, strict=True) for some in columns)
        for number, cells in enumerate(rows, 1):
            bad = [name for name, cell in zip(wanted, cells, strict=True) if isinstance(cell, Exception)]
            yield Row(number, fault=f"the {bad[0]} cannot be read") if bad else Row(number, *cells)
    except UNREADABLE as error:
        raise ReportError(f"{path}: {damage(error)}") from None


def _cells(column: Any) -> list[Any]:
    """The cells of a column of Arrow: for one that is no value of Python, the error that says so."""
    try:
        return list(column.to_pylist())
    except NO_VALUE:
        return [_cell(one) for one in column]


def _cell(one: Any) -> Any:
    try:
        return one.as_py()
    except NO_VALUE as error:
        return error
