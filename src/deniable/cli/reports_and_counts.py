"""The commands `deniable randomize` and `deniable count`: answers become reports, and reports become counts."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable.cli.options import REPORTS, add_command, add_reading, delimiter_of, names_of
from deniable.cli.printing import say_wrote
from deniable.files import check_ending, check_target

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.counts.counts import Counts
    from deniable.survey.plan import Plan

# MOST_ARMS is how many arms `deniable count` tells the sizes of.
MOST_ARMS = 24
# LONG_NAME is how many columns of a terminal the name of an arm takes at most.
LONG_NAME = 60


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
    command.add_argument(
        "--arm-column",
        metavar="COLUMN",
        help="the column that names each respondent's arm, where they were asked it already (default: arms are drawn)",
    )
    add_reading(command)
    command.add_argument(
        "--keep-going", action="store_true", help="leave out records whose answers cannot be read, and say how many"
    )
    command.set_defaults(run=_randomize)


def _randomize(arguments: argparse.Namespace) -> None:
    from deniable.reports.randomize import randomize
    from deniable.survey.plan import Plan

    plan = Plan.load(arguments.plan)
    check_target(arguments.output, arguments.plan)
    form = {"delimiter": delimiter_of(arguments.delimiter), "encoding": arguments.encoding}
    written = randomize(
        arguments.answers, plan, output=arguments.output, arm=arguments.arm_column, na=arguments.na,
        keep_going=arguments.keep_going, **form,
    )  # fmt: skip
    _say_unused(arguments.answers, plan, arguments.arm_column, form)
    if not written:
        print("deniable: warning: there are no records in these files", file=sys.stderr)
    say_wrote(arguments.output, written)


def _say_unused(answers: Sequence[str], plan: "Plan", arm: str | None, form: Mapping[str, Any]) -> None:
    """Tell on stderr which columns of files of answers no question is about."""
    from deniable.errors import listed
    from deniable.reports.answer_files import found_files
    from deniable.reports.randomize import wanted_columns
    from deniable.reports.reading.csv_files import CsvForm

    files = found_files(answers, lambda there: wanted_columns(plan, arm, there), CsvForm(**form))
    if unused := dict.fromkeys(name for file in files for name in file.unused):
        print(f"Columns that no question of the plan is about, not used: {listed(unused)}.", file=sys.stderr)
    for form_found in dict.fromkeys(str(file.form) for file in files if file.form is not None):
        if form_found:
            print(f"Read with {form_found}.", file=sys.stderr)


def add_count(commands: "Commands") -> None:
    """Add `deniable count`."""
    command = add_command(commands, "count", "count reports, for every pair of features or chosen tables")
    command.add_argument("reports", nargs="+", metavar="REPORTS", help=REPORTS)
    what = command.add_mutually_exclusive_group()
    what.add_argument(
        "--order",
        type=int,
        help="count every feature (1), every pair (2), every triple (3), ... that one person is asked "
        "(default: all that each arm asks; without arms, every pair)",
    )
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

    tables = [names_of(table, "--table") for table in arguments.table or []]
    files = find_files(arguments.reports)
    check_target(arguments.output, *files)
    check_ending(arguments.output, ".npz", "counts are written to a NumPy file")
    counts = count(files, tables or None, order=arguments.order)
    counts.save(arguments.output)
    say_wrote(arguments.output, counts.n)
    if counts.plan.has_arms:
        _say_sizes(counts)


def _say_sizes(counts: "Counts") -> None:
    """Tell on stderr how many reports each arm has, against its share, and whether chance explains that."""
    from deniable.client import SCALE
    from deniable.estimates.designs.groups import arm_sizes
    from deniable.text.tables import aligned, coloured
    from deniable.text.width import shortened

    parts = list(zip(counts.plan.arm_names, counts.arms, counts.plan.shares, strict=True))
    rows = [
        (
            shortened(name, LONG_NAME),
            f"{arm.n:,}",
            f"{arm.n / counts.n:.2%}" if counts.n else "",
            f"{share / SCALE:.2%}",
        )
        for name, arm, share in parts[:MOST_ARMS]
    ]
    head = ("arm", "reports", "of all", "share")
    lines = aligned(head, rows, numbers=(1, 2, 3), rule=True, colour=coloured(sys.stderr))
    if len(parts) > MOST_ARMS:
        lines.append(f"... and {len(parts) - MOST_ARMS:,} more arms")
    print(*lines, f"Sizes against shares: {arm_sizes(counts)}.", sep="\n", file=sys.stderr)
