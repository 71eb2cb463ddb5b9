"""The command `deniable regress`: linear and logistic regression on private answers."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from deniable.cli.asking.named import groups_of, schema_of
from deniable.cli.options import add_answered, add_command, add_counts, add_form, add_level, add_respondents
from deniable.cli.power import indicator_of
from deniable.cli.printing import draw, show

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.survey.schema import Schema


def add_regress(commands: "Commands") -> None:
    """Add `deniable regress`."""
    command = add_command(commands, "regress", "regress an answer on other features")
    add_counts(command)
    command.add_argument("outcome", metavar="OUTCOME", help="a flag, or an answer to a choice: age=65+")
    command.add_argument(
        "on",
        nargs="+",
        metavar="FEATURE",
        help="the features to regress on, the first answer of each left out, or answers: age=65+, or several taken "
        "together: age=45-64,65+",
    )
    command.add_argument("--logistic", action="store_true", help="coefficients in log odds (default: in shares)")
    add_respondents(command)
    add_answered(command)
    add_level(command)
    add_form(command)
    command.set_defaults(run=_regress)


def _answers(schema: "Schema", text: str) -> Any:
    """Answers to regress on: FEATURE=ANSWER, with commas between several that are taken together."""
    found = indicator_of(schema, text)
    if isinstance(found, str):
        return found
    name, answers = found
    return name, groups_of(schema, name, [answers], "regress")[0]


def _regress(arguments: argparse.Namespace) -> None:
    from deniable.analyses.regression import regress

    schema = schema_of(arguments.counts)
    outcome = indicator_of(schema, arguments.outcome)
    on = [one if one in schema.names else _answers(schema, one) for one in arguments.on]
    kind = "logistic" if arguments.logistic else "linear"
    found = regress(arguments.counts, outcome, on, about=arguments.about, kind=kind, answered=arguments.answered)
    table = found.table(level=arguments.level)
    show(table, arguments)
    if found.why:
        print(f"deniable: {found.why}", file=sys.stderr)
    else:
        draw(table, arguments)
