"""The command line: open, call, print. Data goes to stdout, messages and progress to stderr.

Exit status 0, 1 (bad input, told in one line) or 2 (bad usage). Heavy imports wait until a command needs them.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable import __version__
from deniable.errors import AnswerError, DeniableError

if TYPE_CHECKING:
    from deniable.plan import Plan
    from deniable.reports import Reports


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has gone, and so do we
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (DeniableError, OSError) as error:
        print(f"deniable: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ndeniable: stopped; nothing was written", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="deniable",
        description="Joint answers, with honest error bars, from answers randomized on each respondent's own device.",
    )
    parser.add_argument("--version", action="version", version=f"deniable {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")

    demo = commands.add_parser("demo", help="the whole job on a built-in survey")
    demo.set_defaults(run=_demo)

    plan = commands.add_parser("plan", help="make a plan from a survey file and a privacy budget")
    plan.add_argument("survey", help="a .toml or .json file that lists the features")
    plan.add_argument("--epsilon", type=float, required=True, help="total budget, split evenly over the questions")
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
    return parser


def _demo(_arguments: argparse.Namespace) -> None:
    from deniable.demo import run

    run()


def _plan(arguments: argparse.Namespace) -> None:
    from deniable.plan import Plan
    from deniable.protocols import Public
    from deniable.schema import Schema

    public = {name: Public() for name in arguments.public}
    plan = Plan(Schema.load(arguments.survey), public, epsilon=arguments.epsilon)
    if arguments.output is None:
        print(plan.to_json(), end="")
        return
    plan.save(arguments.output)
    print(plan, file=sys.stderr)
    print(f"\nWritten to {arguments.output}.", file=sys.stderr)


def _randomize(arguments: argparse.Namespace) -> None:
    from deniable.plan import Plan
    from deniable.reports import write

    plan = Plan.load(arguments.plan)
    rows = write(arguments.output, plan, _randomized_parts(Path(arguments.answers), plan))
    print(f"{rows:,} reports written to {arguments.output}.", file=sys.stderr)


def _randomized_parts(path: Path, plan: "Plan") -> Iterator["Reports"]:
    """The file's records, randomized a part at a time so that memory does not grow with the file."""
    from deniable.draws import secure
    from deniable.reports import randomize_part

    rows = 0
    for batch in _batches(path, plan.schema.names):
        try:
            part = randomize_part(batch, plan, secure(), first_row=rows)
        except AnswerError as error:
            raise AnswerError(f"{path}: {error}") from None
        rows += len(part)
        if sys.stderr.isatty():
            print(f"\r{rows:,} records randomized", end="", file=sys.stderr)
        yield part
    if sys.stderr.isatty():
        print(file=sys.stderr)


def _batches(path: Path, names: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv, parquet

    if path.suffix not in (".csv", ".parquet"):
        raise AnswerError(f"{path}: answers are read from a .csv or a .parquet file")
    if not path.is_file():
        raise AnswerError(f"{path}: no such file")
    try:
        if path.suffix == ".csv":
            text = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
            batches = csv.open_csv(path, csv.ReadOptions(block_size=1 << 24), convert_options=text)
        else:
            source = parquet.ParquetFile(path)
            wanted = [name for name in source.schema_arrow.names if name in names]
            batches = source.iter_batches(batch_size=1 << 20, columns=wanted)
        for batch in batches:
            yield pa.Table.from_batches([batch])
    except pa.ArrowException as error:
        raise AnswerError(f"{path}: cannot be read: {error}") from None
