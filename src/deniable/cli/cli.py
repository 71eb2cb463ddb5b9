"""The command line: open, call, print. Data goes to stdout, messages and progress to stderr.

Exit status 0, 1 (bad input, told in one line) or 2 (bad usage). Heavy imports wait until a command needs them.
"""

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from deniable import __version__
from deniable.errors import AnswerError, DeniableError
from deniable.files import check_target

if TYPE_CHECKING:
    from deniable.counts.counts import Counts
    from deniable.reports.reports import Reports
    from deniable.survey.plan import Plan


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = _parser().parse_args(argv)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # plans are UTF-8 whatever the terminal is
    try:
        with _stopping(signal.SIGINT, signal.SIGTERM):
            arguments.run(arguments)
        if sys.stdout:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has gone, and so do we
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (DeniableError, OSError) as error:
        _say(" ".join(str(error).split()))
        return 1
    except KeyboardInterrupt:
        _say(arguments.stopped)
        return 128 + (STOPPED[-1] if STOPPED else signal.SIGINT)
    return 0


def _say(message: str) -> None:
    clear = "\r\033[K" if sys.stderr.isatty() else ""  # a line of progress may stand there
    print(f"{clear}deniable: {message}", file=sys.stderr)


STOPPED: list[int] = []  # the signals that asked to stop


@contextmanager
def _stopping(*numbers: signal.Signals) -> Iterator[None]:
    """Let these signals stop the work, so that nothing half-written stays."""

    def stop(number: int, _frame: object) -> None:
        STOPPED.append(number)
        raise KeyboardInterrupt

    STOPPED.clear()
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check_stopped() -> None:
    """Stop if asked to: an exception raised inside a library's callback may have been lost."""
    if STOPPED:
        raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="deniable",
        description="Joint answers, with honest error bars, from answers randomized on each respondent's own device.",
    )
    parser.set_defaults(stopped="stopped; nothing was written")
    parser.add_argument("--version", action="version", version=f"deniable {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    demo = commands.add_parser("demo", help="the whole job on a made-up survey, ending in a page")
    demo.add_argument("-o", "--output", metavar="REPORT.html", default="report.html", help="the page (report.html)")
    demo.set_defaults(run=_demo)

    plan = commands.add_parser("plan", help="make a plan from a survey file and a privacy budget")
    plan.add_argument("survey", help="a .toml or .json file that lists the features")
    plan.add_argument("--epsilon", type=float, help="total budget, split evenly over the questions that are not public")
    plan.add_argument(
        "--public",
        action="append",
        default=[],
        metavar="NAME",
        help="show this feature as it is, NOT protected",
    )
    plan.add_argument("-o", "--output", metavar="PLAN.json", help="where to write the plan (default: stdout)")
    plan.set_defaults(run=_plan)

    randomize = commands.add_parser("randomize", help="randomize the records of a file")
    randomize.add_argument("plan", help="a plan's .json file")
    randomize.add_argument("answers", help="a .csv or .parquet file with a column for each feature")
    randomize.add_argument("-o", "--output", metavar="REPORTS.parquet", required=True, help="where to write them")
    randomize.set_defaults(run=_randomize)

    count = commands.add_parser("count", help="count evidence that occurs together")
    count.add_argument("reports", nargs="+", help="Parquet files of reports, folders or globs of them, of one plan")
    what = count.add_mutually_exclusive_group(required=True)
    what.add_argument("--order", type=int, help="every pair (2), every triple (3), ... of features")
    what.add_argument(
        "--table",
        action="append",
        metavar="A,B,C",
        help="one table of these features; may be given more than once; a name with a comma goes in double quotes",
    )
    count.add_argument("-o", "--output", metavar="COUNTS.npz", required=True, help="where to write the counts")
    count.set_defaults(run=_count)

    table = commands.add_parser("table", help="estimate a table of the true answers from counts")
    table.add_argument("counts", help="a .npz file of counts")
    table.add_argument("names", nargs="+", metavar="feature", help="the features of the table")
    table.add_argument(
        "--method",
        choices=("consistent", "unbiased", "feasible"),
        default="consistent",
        help="feasible is a proper table, nothing negative",
    )
    _add_subject(table)
    table.add_argument("--simultaneous", action="store_true", help="intervals that hold for the whole table at once")
    _add_form(table)
    table.set_defaults(run=_table)

    conditional = commands.add_parser("conditional", help="estimate the answers to one feature, given those to others")
    conditional.add_argument("counts", help="a .npz file of counts")
    conditional.add_argument("what", metavar="feature", help="whose answers")
    conditional.add_argument(
        "--given", action="append", required=True, metavar="FEATURE", help="among whom; may be given more than once"
    )
    _add_subject(conditional)
    _add_form(conditional)
    conditional.set_defaults(run=_conditional)

    associations = commands.add_parser(
        "associations", help="every pair of features, the surest associations in the population first"
    )
    associations.add_argument(
        "counts", help="a .npz file of counts that holds pairs of features, as --order 2 makes it"
    )
    associations.add_argument("--top", type=int, default=20, help="how many to show (20; 0 for all)")
    associations.add_argument("--level", type=float, default=0.95, help="of confidence of the intervals (0.95)")
    _add_form(associations)
    associations.set_defaults(run=_associations)

    report = commands.add_parser("report", help="a page about a survey, to open in any browser or print")
    source = report.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "reports", nargs="*", default=[], help="Parquet files of reports, folders or globs of them, of one plan"
    )
    source.add_argument("--counts", metavar="COUNTS.npz", help="counts that hold every pair, as --order 2 makes them")
    report.add_argument("-o", "--output", metavar="REPORT.html", required=True, help="where to write the page")
    report.add_argument("--title", help="of the page (Survey report)")
    report.add_argument("--level", type=float, default=0.95, help="of confidence of the intervals (0.95)")
    report.set_defaults(run=_report)

    validate = commands.add_parser("validate", help="the paper's figures and claims, simulated anew")
    validate.add_argument("-o", "--output", metavar="FOLDER", required=True, help="where to write pictures and numbers")
    validate.add_argument("--quick", action="store_true", help="fewer surveys: seconds instead of minutes")
    validate.set_defaults(
        run=_validate,
        stopped="stopped; the same command repeats the first minute and goes on with coverage where it was",
    )
    return parser


def _add_subject(command: argparse.ArgumentParser) -> None:
    command.add_argument("--population", action="store_true", help="about the population, not these respondents alone")
    command.add_argument("--level", type=float, default=0.95, help="of confidence of the intervals (0.95)")


def _add_form(command: argparse.ArgumentParser) -> None:
    form = command.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="comma-separated values")
    form.add_argument("--json", action="store_true", help="a list of objects")


def _demo(arguments: argparse.Namespace) -> None:
    from deniable.cli.demo import run

    run(arguments.output)


def _plan(arguments: argparse.Namespace) -> None:
    from deniable.survey.describe import describe
    from deniable.survey.plan import Plan
    from deniable.survey.protocols import Public
    from deniable.survey.schema import Schema
    from deniable.text.tables import coloured

    public = {name: Public() for name in arguments.public}
    plan = Plan(Schema.load(arguments.survey), public, epsilon=arguments.epsilon)
    if arguments.output is None:
        print(plan.to_json(), end="")
    else:
        check_target(arguments.output, arguments.survey)
        plan.save(arguments.output)
    print(describe(plan, colour=coloured(sys.stderr)), file=sys.stderr)
    if arguments.output is not None:
        print(f"\nWritten to {arguments.output}.", file=sys.stderr)


def _randomize(arguments: argparse.Namespace) -> None:
    from deniable.reports.parquet import write
    from deniable.survey.plan import Plan

    plan = Plan.load(arguments.plan)
    check_target(arguments.output, arguments.plan, arguments.answers)
    rows = write(arguments.output, plan, _randomized_parts(Path(arguments.answers), plan))
    print(f"{rows:,} report{'s' * (rows != 1)} written to {arguments.output}.", file=sys.stderr)


def _count(arguments: argparse.Namespace) -> None:
    import csv

    from deniable.counts.count import count
    from deniable.counts.sources import find_files

    try:
        tables = [next(csv.reader([table], skipinitialspace=True, strict=True)) for table in arguments.table or []]
    except csv.Error as error:
        raise DeniableError(f"--table takes names with commas between them: {error}") from None
    files = find_files(arguments.reports)
    check_target(arguments.output, *files)
    counts = count(files, tables or None, order=arguments.order)
    _check_stopped()
    counts.save(arguments.output)
    print(f"{counts.n:,} report{'s' * (counts.n != 1)} counted, written to {arguments.output}.", file=sys.stderr)


def _table(arguments: argparse.Namespace) -> None:
    from deniable.counts.counts import Counts
    from deniable.estimates.estimate import estimate

    est = estimate(Counts.load(arguments.counts), arguments.names, method=arguments.method)
    est = est.about("population" if arguments.population else "respondents")
    _show(est.table(level=arguments.level, simultaneous=arguments.simultaneous), arguments)


def _conditional(arguments: argparse.Namespace) -> None:
    from deniable.counts.counts import Counts
    from deniable.estimates.estimate import estimate

    names = list(dict.fromkeys([*arguments.given, arguments.what]))
    est = estimate(Counts.load(arguments.counts), names).about("population" if arguments.population else "respondents")
    _show(est.conditional(arguments.what, given=arguments.given, level=arguments.level), arguments)


def _associations(arguments: argparse.Namespace) -> None:
    from deniable.analyses.associations import associations
    from deniable.counts.counts import Counts

    if arguments.top < 0:
        raise DeniableError(f"--top takes how many to show, or 0 for all; found {arguments.top}")
    table = associations(Counts.load(arguments.counts), level=arguments.level)
    _show(table.slice(0, arguments.top or None), arguments)
    if 0 < arguments.top < table.num_rows:
        print(f"{arguments.top} of {table.num_rows:,} pairs; --top 0 shows all", file=sys.stderr)


def _report(arguments: argparse.Namespace) -> None:
    from deniable.counts.counts import Counts
    from deniable.inference.intervals import checked_level
    from deniable.page.page import check_extra, write_page

    check_extra()
    checked_level(arguments.level)
    if arguments.counts is not None:
        check_target(arguments.output, arguments.counts)
        counts = Counts.load(arguments.counts)
    else:
        counts = _counted_pairs(arguments.reports, arguments.output)
    write_page(counts, arguments.output, title=arguments.title, level=arguments.level)
    print(f"{counts.n:,} report{'s' * (counts.n != 1)} told of in {arguments.output}.", file=sys.stderr)


def _counted_pairs(reports: Sequence[str], output: str) -> "Counts":
    from deniable.counts.count import count
    from deniable.counts.sources import find_files, plan_and_total

    files = find_files(reports)
    check_target(output, *files)
    counts = count(files, order=min(2, len(plan_and_total(files)[0].schema)))
    _check_stopped()
    return counts


def _validate(arguments: argparse.Namespace) -> None:
    from deniable.validation.run import run

    print(run(arguments.output, quick=arguments.quick))
    print(f"Figures and numbers written to {arguments.output}; all lines in verdict.txt.", file=sys.stderr)


def _show(table: Any, arguments: argparse.Namespace) -> None:
    """An Arrow table in the form that was asked for."""
    import csv
    import json

    rows = [{name: None if cell != cell else cell for name, cell in row.items()} for row in table.to_pylist()]  # no nan
    if arguments.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    elif arguments.csv:
        writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        print(_table_text(rows, sys.stdout))


def _table_text(rows: Sequence[dict[str, Any]], stream: IO[str]) -> str:
    """Rows in columns: numbers with four digits, and words where there are not enough reports for an interval.

    A terminal gets a line under the head, and colour.
    """
    from deniable.text.tables import aligned, coloured, is_terminal

    head = list(rows[0])
    numbers = [k for k, name in enumerate(head) if any(isinstance(row[name], float) for row in rows)]
    numbers += [head.index(name) for name in ("low", "high") if head.index(name) not in numbers]
    cells: list[list[str | None]] = []
    for row in rows:
        texts: dict[str, str | None] = {name: _cell(name, value) for name, value in row.items()}
        if row["low"] is None:
            texts |= {"low": "not enough reports", "high": None}
        cells.append(list(texts.values()))
    lines = aligned(head, cells, numbers=numbers, rule=is_terminal(stream), colour=coloured(stream))
    return "\n".join(lines)


def _cell(name: str, value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.2g}" if name in ("p_value", "fdr") else f"{value:.4f}"
    return str(value)


def _randomized_parts(path: Path, plan: "Plan") -> Iterator["Reports"]:
    """The file's records, randomized a part at a time so that memory does not grow with the file."""
    from deniable.reports.randomize import randomize_part
    from deniable.reports.randomness import secure
    from deniable.text.progress import watched

    rows = 0
    for batch in watched(_batches(path, plan.schema.names), "records randomized"):
        try:
            part = randomize_part(batch, plan, secure(), first_row=rows)
        except AnswerError as error:
            raise AnswerError(f"{path}: {error}") from None
        rows += len(part)
        _check_stopped()
        yield part


def _batches(path: Path, names: Sequence[str]) -> Iterator[Any]:
    """Tables of the named columns."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise AnswerError(f"{path}: answers are read from a .csv or a .parquet file")
    if not path.is_file():
        raise AnswerError(f"{path}: {'is a folder, not a file' if path.is_dir() else 'no such file'}")
    import pyarrow as pa

    try:
        for batch in _csv_batches(path, names) if kind == ".csv" else _parquet_batches(path, names):
            yield pa.Table.from_batches([batch])
    except pa.ArrowException as error:
        raise AnswerError(f"{path}: cannot be read: {str(error).splitlines()[0][:200]}") from None


def _csv_batches(path: Path, names: Sequence[str]) -> Iterator[Any]:
    """Every answer as text. A row with too many or too few cells is told by its place, without its answers."""
    import csv as text

    import pyarrow as pa
    from pyarrow import csv

    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        header = next(text.reader(file), [])
    _check_header(path, header, names)
    ragged = []

    def refuse(row: Any) -> str:
        ragged.append(f"a row has {row.actual_columns} cells where the header has {row.expected_columns}")
        return "error"

    options = csv.ConvertOptions(include_columns=list(names), column_types=dict.fromkeys(names, pa.string()))
    try:
        yield from csv.open_csv(
            path, csv.ReadOptions(block_size=1 << 24), csv.ParseOptions(invalid_row_handler=refuse), options
        )
    except pa.ArrowInvalid:
        if ragged:
            raise AnswerError(f"{path}: {ragged[0]}") from None
        raise


def _parquet_batches(path: Path, names: Sequence[str]) -> Iterator[Any]:
    from deniable.reports.parquet import PLAN_KEY, open_parquet

    source = open_parquet(path)
    if PLAN_KEY in (source.schema_arrow.metadata or {}):
        raise AnswerError(f"{path}: these are reports, randomized already")
    _check_header(path, source.schema_arrow.names, names)
    yield from source.iter_batches(1 << 20, columns=list(names))


def _check_header(path: Path, header: Sequence[str], names: Sequence[str]) -> None:
    for name in names:
        if header.count(name) != 1:
            what = "stands twice" if name in header else "is missing"
            found = ", ".join(map(repr, header)) or "none: the file is empty"
            commas = "; columns are separated by commas" if len(header) == 1 and set(header[0]) & set(";\t|") else ""
            raise AnswerError(f"{path}: column {name!r} {what}; found {found}{commas}")
