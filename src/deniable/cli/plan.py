"""The command `deniable plan`: who is asked what, by a survey file, a privacy budget, and what is wanted."""

import argparse
import sys
from typing import TYPE_CHECKING

from deniable.cli.options import add_command, add_force, check_new, people_of, share_of
from deniable.errors import PlanError
from deniable.files import check_ending, check_target

if TYPE_CHECKING:
    from deniable.cli.design import Design
    from deniable.cli.options import Commands
    from deniable.survey.plan import Plan
    from deniable.survey.schema import Schema


def add_plan(commands: "Commands") -> None:
    """Add `deniable plan`."""
    command = add_command(commands, "plan", "plan who is asked what: the best design for a survey")
    command.add_argument(
        "survey",
        metavar="SURVEY.toml",
        help="a .toml or .json file of the questions, and of the tables that are wanted",
    )
    command.add_argument("--epsilon", type=float, help="total privacy budget of one whole report")
    _add_design(command)
    _add_own(command)
    command.add_argument(
        "--repeat",
        choices=("keep",),
        help="people are asked again: devices keep randomized answers, and --epsilon is of all reports together",
    )
    command.add_argument(
        "--epsilon-1",
        type=float,
        metavar="EPSILON",
        help="with --repeat keep: epsilon of one report, by a fresh coin over kept answers (default: send the same)",
    )
    command.add_argument(
        "--public",
        action="append",
        default=[],
        metavar="FEATURE",
        help="send this feature as it is, NOT protected; may be given more than once",
    )
    command.add_argument("-o", "--output", metavar="PLAN.json", help="where to write the plan (default: stdout)")
    add_force(command)
    command.set_defaults(run=_plan)


def _add_design(command: argparse.ArgumentParser) -> None:
    """Add the options for what the best design is looked for."""
    group = command.add_argument_group("the best design for the tables that are wanted")
    group.add_argument(
        "--want",
        action="append",
        default=[],
        metavar="A,B",
        help="a table that is wanted; give it once for each (default: every pair)",
    )
    group.add_argument("--order", type=int, metavar="K", help="want every table of K features (default 2)")
    group.add_argument("--people", type=people_of, metavar="N", help="how many respondents are expected")
    group.add_argument(
        "--half-width",
        type=share_of,
        metavar="SHARE",
        help="half-width of 95%% intervals to reach, such as 2%%: finds the least --people, or the least --epsilon",
    )
    group.add_argument(
        "--goal",
        choices=("mean", "worst"),
        help="minimize the mean error of the wanted tables, or the worst (default: mean; worst with --half-width)",
    )
    group.add_argument(
        "--spare",
        type=share_of,
        metavar="SHARE",
        help="share of the people who are asked for all pairs alike (default: none, or 10%% if some question is in no "
        "--want)",
    )
    group.add_argument(
        "--only-wanted",
        action="store_true",
        help="do not ask the questions that no wanted table has",
    )
    group.add_argument("--most", type=int, metavar="K", help="ask one person at most K questions")


def _add_own(command: argparse.ArgumentParser) -> None:
    """Add the options that say who is asked what."""
    group = command.add_argument_group(
        "or decide yourself who is asked what, and see how precise the tables of --want will be"
    )
    group.add_argument("--split", action="store_true", help="ask everybody everything, each with a part of epsilon")
    group.add_argument(
        "--together",
        action="append",
        default=[],
        metavar="A,B",
        help="randomize these features together, as one answer; may be given more than once",
    )
    group.add_argument(
        "--arm",
        action="append",
        default=[],
        metavar="A,B",
        help="ask some of the respondents these features, together, and nothing else; + stands between what is "
        "randomized apart: A,B+C; give it once for each arm",
    )
    group.add_argument(
        "--every", type=int, metavar="K", help="ask each respondent K of the questions, together: every K are an arm"
    )


def _plan(arguments: argparse.Namespace) -> None:
    from deniable.cli.design import design_of
    from deniable.survey.describe import describe
    from deniable.survey.schema import Schema
    from deniable.text.tables import coloured

    if arguments.output is not None:
        check_target(arguments.output, arguments.survey)
        check_ending(arguments.output, ".json", "a plan is written to a JSON file")
    design, schema = design_of(arguments), Schema.load(arguments.survey)
    if arguments.only_wanted:
        schema = _only_wanted(schema, design)
    plan = design.plan(schema, arguments.epsilon)
    if arguments.output is None:
        print(plan.to_json(), end="")
    else:
        if not _is_plan(arguments.output, plan):
            check_new(arguments.output, force=arguments.force)
        plan.save(arguments.output)
    print(describe(plan, colour=coloured(sys.stderr)), file=sys.stderr)
    if arguments.half_width is not None:
        print(f"\n{_found(plan, arguments)}", file=sys.stderr)
    if arguments.output is not None:
        print(f"\nWrote {arguments.output}.", file=sys.stderr)


def _only_wanted(schema: "Schema", design: "Design") -> "Schema":
    """The questions that are in some wanted table, or public; tell on stderr which are left out."""
    from deniable.survey.aim import wanted_tables
    from deniable.survey.schema import Schema

    if not design.wish.want:
        raise PlanError("--only-wanted leaves out what no --want has; say which tables are wanted")
    wanted = {name for table in wanted_tables(schema, list(design.wish.want), None) for name in table}
    shown = {one.name for name in design.public for one in schema.questions.get(name) or (schema[name],)}
    if left := [name for name in schema.names if name not in wanted | shown]:
        print(f"Not asked, as no wanted table has them: {', '.join(left)}.", file=sys.stderr)
    return Schema([one for one in schema if one.name in wanted | shown])


def _is_plan(path: str, plan: "Plan") -> bool:
    """Whether a file is of this plan already, its aim included, so that writing it once more loses nothing."""
    from deniable.survey.plan import Plan

    try:
        return Plan.load(path).to_json() == plan.to_json()
    except PlanError:
        return False


def _found(plan: "Plan", arguments: argparse.Namespace) -> str:
    """What was looked for: the least number of people, or the least epsilon."""
    from deniable.survey.describe import epsilon_in_words
    from deniable.survey.planning.hardly_known import EVERYBODY

    goal = f"the least for half-widths of at most {100 * arguments.half_width:g} %"
    if arguments.people is None:
        earth = "; more than live on earth" if plan.n is not None and plan.n > EVERYBODY else ""
        return f"{plan.n:,} people are {goal} at epsilon {arguments.epsilon:g}{earth}."
    return f"Epsilon {epsilon_in_words(plan.epsilon)} is {goal} with {plan.n:,} people."
