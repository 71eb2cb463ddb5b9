"""The commands `deniable randomize` and `deniable count`: answers become reports, and reports become counts."""

import argparse
import sys
from typing import TYPE_CHECKING

from deniable.cli.options import REPORTS, add_command, names_of
from deniable.cli.printing import say_wrote
from deniable.files import check_target

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.counts.counts import Counts

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
    command.set_defaults(run=_randomize)


def _randomize(arguments: argparse.Namespace) -> None:
    from deniable.reports.randomize import randomize
    from deniable.survey.plan import Plan

    plan = Plan.load(arguments.plan)
    check_target(arguments.output, arguments.plan)
    written = randomize(arguments.answers, plan, output=arguments.output, arm=arguments.arm_column)
    say_wrote(arguments.output, written)


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
