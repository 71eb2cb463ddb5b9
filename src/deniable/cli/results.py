"""The commands `deniable table`, `conditional` and `associations`: counts become results with their intervals."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.cli.options import add_command, add_counts, add_form, add_level, add_population
from deniable.cli.printing import show
from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.estimates.estimate import Estimate


def add_table(commands: "Commands") -> None:
    """Add `deniable table`."""
    command = add_command(commands, "table", "estimate a table of the true answers")
    add_counts(command)
    command.add_argument("names", nargs="+", metavar="FEATURE", help="the features of the table")
    command.add_argument(
        "--method",
        choices=("consistent", "unbiased", "feasible"),
        default="consistent",
        help="the estimator (default consistent); feasible gives a proper table with nothing negative",
    )
    add_population(command)
    add_level(command)
    command.add_argument("--simultaneous", action="store_true", help="intervals that hold for the whole table at once")
    add_form(command)
    command.set_defaults(run=_table)


def _table(arguments: argparse.Namespace) -> None:
    est = _estimate(arguments, arguments.names, arguments.method)
    show(est.table(level=arguments.level, simultaneous=arguments.simultaneous), arguments)


def add_conditional(commands: "Commands") -> None:
    """Add `deniable conditional`."""
    command = add_command(commands, "conditional", "estimate the answers to one feature, given other answers")
    add_counts(command)
    command.add_argument("what", metavar="FEATURE", help="the feature whose answers are estimated")
    command.add_argument(
        "--given",
        action="append",
        required=True,
        metavar="FEATURE",
        help="the feature that is given; may be given more than once",
    )
    add_population(command)
    add_level(command)
    add_form(command)
    command.set_defaults(run=_conditional)


def _conditional(arguments: argparse.Namespace) -> None:
    est = _estimate(arguments, list(dict.fromkeys([*arguments.given, arguments.what])))
    show(est.conditional(arguments.what, given=arguments.given, level=arguments.level), arguments)


def _estimate(arguments: argparse.Namespace, names: Sequence[str], method: str = "consistent") -> "Estimate":
    """The estimate of some features from a file of counts, about the respondents or about the population."""
    from deniable.counts.counts import Counts
    from deniable.estimates.estimate import estimate

    est = estimate(Counts.load(arguments.counts), names, method=method)
    return est.about("population" if arguments.population else "respondents")


def add_associations(commands: "Commands") -> None:
    """Add `deniable associations`."""
    command = add_command(commands, "associations", "find which pairs of features go together, the surest first")
    command.add_argument(
        "counts", metavar="COUNTS.npz", help="counts that hold pairs of features, as `deniable count --order 2` does"
    )
    command.add_argument("--top", type=int, default=20, help="how many pairs to print (default 20; 0 for all)")
    add_level(command)
    add_form(command)
    command.set_defaults(run=_associations)


def _associations(arguments: argparse.Namespace) -> None:
    from deniable.analyses.associations import associations
    from deniable.counts.counts import Counts

    if arguments.top < 0:
        raise DeniableError(f"--top takes the number of pairs to print, or 0 for all; found {arguments.top}")
    table = associations(Counts.load(arguments.counts), level=arguments.level)
    show(table.slice(0, arguments.top or None), arguments)
    if 0 < arguments.top < table.num_rows:
        print(f"{arguments.top} of {table.num_rows:,} pairs; --top 0 shows all", file=sys.stderr)
