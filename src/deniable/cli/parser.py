"""The argument parser of the command line: its commands in the order of the flow from a survey to a page."""

import argparse

from deniable import __version__
from deniable.cli.asking.differences import add_compare, add_difference, add_mean
from deniable.cli.asking.regress import add_regress
from deniable.cli.checking.audit import add_audit
from deniable.cli.checking.sign import add_sign, add_verify
from deniable.cli.collecting import add_collect, add_serve
from deniable.cli.demo import add_demo
from deniable.cli.looking.show import add_show
from deniable.cli.page import add_page
from deniable.cli.plan import add_plan
from deniable.cli.power import add_power
from deniable.cli.reports_and_counts import add_count, add_randomize, add_sql
from deniable.cli.results import add_associations, add_conditional, add_table
from deniable.cli.schema import add_schema
from deniable.cli.validate import add_validate

# The order of work, which stands below the list of commands.
EXAMPLE = """a survey from answers in a file to a page:
  deniable schema answers.csv -o survey.toml                      propose the questions; look them over
  deniable plan survey.toml --epsilon 2 -o plan.json              decide how private answers are
  deniable randomize plan.json answers.csv -o reports.parquet     or let each respondent's device do it
  deniable table reports.parquet smoker age
  deniable page reports.parquet -o page.html

`deniable COMMAND --help` explains a command and its options. `deniable demo` shows all of it on made-up answers."""


class _OneLineEach(argparse.RawDescriptionHelpFormatter):
    """Help with a column wide enough for the names of all commands, so that each of them takes one line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = 18  # argparse leaves the indent of commands out when it measures their names


def parser() -> argparse.ArgumentParser:
    """The parser of `deniable`; parsed arguments hold in `run` the function of the command."""
    program = argparse.ArgumentParser(
        prog="deniable",
        description="Joint answers, with honest error bars, from answers randomized on each respondent's own device.",
        formatter_class=_OneLineEach,
        epilog=EXAMPLE,
    )
    program.set_defaults(stopped="stopped; nothing was written")
    program.add_argument("--version", action="version", version=f"deniable {__version__}")
    commands = program.add_subparsers(required=True, title="commands, in the order of a survey", metavar="COMMAND")
    for add in (
        add_schema, add_plan, add_show, add_power, add_audit, add_sign, add_verify, add_serve, add_collect,
        add_randomize, add_count, add_sql, add_table, add_conditional, add_difference, add_mean, add_compare,
        add_regress, add_associations, add_page, add_demo, add_validate,
    ):  # fmt: skip
        add(commands)
    return program


def commands_of(program: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of all commands of a parser, by their names."""
    groups = (action for action in program._actions if isinstance(action, argparse._SubParsersAction))
    return {name: command for group in groups for name, command in group.choices.items()}
