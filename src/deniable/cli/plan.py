"""The command `deniable plan`: a plan from a survey file and a privacy budget."""

import argparse
import sys
from typing import TYPE_CHECKING

from deniable.cli.options import add_command
from deniable.files import check_target

if TYPE_CHECKING:
    from deniable.cli.options import Commands


def add_plan(commands: "Commands") -> None:
    """Add `deniable plan`."""
    command = add_command(commands, "plan", "make a plan from a survey file and a privacy budget")
    command.add_argument("survey", metavar="SURVEY.toml", help="a .toml or .json file that lists the features")
    command.add_argument(
        "--epsilon", type=float, help="total privacy budget, split evenly over the questions that are not public"
    )
    command.add_argument(
        "--public",
        action="append",
        default=[],
        metavar="FEATURE",
        help="send this feature as it is, NOT protected; may be given more than once",
    )
    command.add_argument("-o", "--output", metavar="PLAN.json", help="where to write the plan (default: stdout)")
    command.set_defaults(run=_plan)


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
        print(f"\nWrote {arguments.output}.", file=sys.stderr)
