"""The commands `deniable randomize` and `deniable count`: answers become reports, and reports become counts."""

import argparse
import csv
from typing import TYPE_CHECKING

from deniable.cli.options import REPORTS, add_command
from deniable.cli.printing import say_wrote
from deniable.errors import DeniableError
from deniable.files import check_target

if TYPE_CHECKING:
    from deniable.cli.options import Commands


def add_randomize(commands: "Commands") -> None:
    """Add `deniable randomize`."""
    command = add_command(commands, "randomize", "randomize the answers in CSV or Parquet files")
    command.add_argument("plan", metavar="PLAN.json", help="the plan, as `deniable plan` writes it")
    command.add_argument(
        "answers",
        nargs="+",
        metavar="ANSWERS",
        help="CSV or Parquet files with a column for each feature, or folders or globs of them",
    )
    command.add_argument(
        "-o", "--output", metavar="REPORTS.parquet", required=True, help="where to write the reports, in one file"
    )
    command.set_defaults(run=_randomize)


def _randomize(arguments: argparse.Namespace) -> None:
    from deniable.reports.randomize import randomize
    from deniable.survey.plan import Plan

    plan = Plan.load(arguments.plan)
    check_target(arguments.output, arguments.plan)
    say_wrote(arguments.output, randomize(arguments.answers, plan, output=arguments.output))


def add_count(commands: "Commands") -> None:
    """Add `deniable count`."""
    command = add_command(commands, "count", "count reports, for every pair of features or chosen tables")
    command.add_argument("reports", nargs="+", metavar="REPORTS", help=REPORTS)
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("--order", type=int, help="count every feature (1), every pair (2), every triple (3), ...")
    what.add_argument(
        "--table",
        action="append",
        metavar="A,B,C",
        help="count one table of these features; may be given more than once; "
        "a name with a comma in it goes in double quotes",
    )
    command.add_argument("-o", "--output", metavar="COUNTS.npz", required=True, help="where to write the counts")
    command.set_defaults(run=_count)


def _count(arguments: argparse.Namespace) -> None:
    from deniable.counts.count import count
    from deniable.counts.sources import find_files

    try:
        tables = [next(csv.reader([table], skipinitialspace=True, strict=True)) for table in arguments.table or []]
    except csv.Error as error:
        raise DeniableError(f"--table takes names with commas between them: {error}") from None
    files = find_files(arguments.reports)
    check_target(arguments.output, *files)
    counts = count(files, tables or None, order=arguments.order)
    counts.save(arguments.output)
    say_wrote(arguments.output, counts.n)
