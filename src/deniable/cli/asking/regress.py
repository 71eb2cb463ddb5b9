"""The command `deniable regress`: linear and logistic regression on private answers."""

import argparse
import sys
from typing import TYPE_CHECKING

from deniable.cli.asking.named import schema_of
from deniable.cli.options import add_answered, add_command, add_counts, add_form, add_level, add_respondents
from deniable.cli.power import indicator_of
from deniable.cli.printing import draw, show

if TYPE_CHECKING:
    from deniable.cli.options import Commands


def add_regress(commands: "Commands") -> None:
    """Add `deniable regress`."""
    command = add_command(commands, "regress", "regress an answer on other features")
    add_counts(command)
    command.add_argument("outcome", metavar="OUTCOME", help="a flag, or an answer to a choice: age=65+")
    command.add_argument(
        "on",
        nargs="+",
        metavar="FEATURE",
        help="the features to regress on, the first answer of each left out, or single answers: age=65+",
    )
    command.add_argument("--logistic", action="store_true", help="coefficients in log odds (default: in shares)")
    add_respondents(command)
    add_answered(command)
    add_level(command)
    add_form(command)
    command.set_defaults(run=_regress)


def _regress(arguments: argparse.Namespace) -> None:
    from deniable.analyses.regression import regress

    schema = schema_of(arguments.counts)
    outcome = indicator_of(schema, arguments.outcome)
    on = [indicator_of(schema, one) if one not in schema.names else one for one in arguments.on]
    kind = "logistic" if arguments.logistic else "linear"
    found = regress(arguments.counts, outcome, on, about=arguments.about, kind=kind, answered=arguments.answered)
    table = found.table(level=arguments.level)
    show(table, arguments)
    if found.why:
        print(f"deniable: {found.why}", file=sys.stderr)
    else:
        draw(table, arguments)
