"""The commands `deniable difference`, `compare` and `mean`: two groups, two surveys, and means of scores."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deniable.cli.asking.named import groups_of, schema_of, scores_of
from deniable.cli.options import COUNTS, add_answered, add_command, add_form, add_level, add_respondents
from deniable.cli.power import indicator_of
from deniable.cli.printing import draw, show
from deniable.cli.results import among_answered, estimate_of, say_of_waves

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.estimates.answer_groups.among import Among
    from deniable.estimates.estimate import Estimate
    from deniable.inference.results import JointAnswer
    from deniable.survey.schema import Feature
    from deniable.tables.table import Kind, Table

FILES = f"{COUNTS}; several files are waves of different people"
BETWEEN = "another feature and two of its answers; several answers in one group have commas between them"


def add_difference(commands: "Commands") -> None:
    """Add `deniable difference`."""
    command = add_command(commands, "difference", "estimate how a share differs between two groups")
    command.add_argument("counts", nargs="+", metavar="COUNTS", help=FILES)
    command.add_argument("what", metavar="FEATURE", help="a flag, or an answer to a choice: age=65+")
    command.add_argument("--between", nargs=3, required=True, metavar=("FEATURE", "ANSWER", "ANSWER"), help=BETWEEN)
    _add_options(command)
    command.set_defaults(run=_difference)


def _difference(arguments: argparse.Namespace) -> None:
    from deniable.tables.table import DIFFERENCES

    schema, (name, *answers) = schema_of(arguments.counts[0]), arguments.between
    what = indicator_of(schema, arguments.what)
    est = estimate_of(arguments.counts, [what if isinstance(what, str) else what[0], name], about=arguments.about)
    groups = groups_of(schema, name, answers)
    among = among_answered(est, arguments)
    found = among.difference(what, between=(name, *groups))
    words = {"share of": arguments.what, **_groups_in_words(name, groups)}
    _tell(_one_row(found, words, DIFFERENCES, among, arguments.level), arguments)
    say_of_waves(est, len(arguments.counts))


def add_mean(commands: "Commands") -> None:
    """Add `deniable mean`."""
    command = add_command(commands, "mean", "estimate the mean of ranges or scores, also by group")
    command.add_argument("counts", nargs="+", metavar="COUNTS", help=FILES)
    command.add_argument("what", metavar="FEATURE", help="the feature whose answers have scores")
    command.add_argument(
        "--score",
        action="append",
        default=[],
        metavar="ANSWER=NUMBER",
        help="the score of an answer; once for each (default: the middle of each range, or answers as numbers)",
    )
    group = command.add_mutually_exclusive_group()
    group.add_argument("--by", action="append", metavar="FEATURE", help="a mean for each answer to this feature")
    group.add_argument("--between", nargs=3, metavar=("FEATURE", "ANSWER", "ANSWER"), help=f"a difference: {BETWEEN}")
    _add_options(command)
    command.set_defaults(run=_mean)


def _mean(arguments: argparse.Namespace) -> None:
    from deniable.tables.table import DIFFERENCES_OF_MEANS, MEANS

    schema, what, level = schema_of(arguments.counts[0]), arguments.what, arguments.level
    others = arguments.by or (arguments.between or [])[:1]
    scores = scores_of(schema, what, arguments.score)
    est = estimate_of(arguments.counts, [what, *others], about=arguments.about)
    among = among_answered(est, arguments)
    if arguments.by:
        _tell(among.mean_of(what, scores, by=others, level=level), arguments, est.features)
    elif arguments.between:
        name, *answers = arguments.between
        groups = groups_of(schema, name, answers)
        found = among.mean_of(what, scores, between=(name, *groups))
        words = {"mean of": what, **_groups_in_words(name, groups)}
        _tell(_one_row(found, words, DIFFERENCES_OF_MEANS, among, level), arguments)
    else:
        _tell(_one_row(among.mean_of(what, scores), {"mean of": what}, MEANS, among, level), arguments)
    say_of_waves(est, len(arguments.counts))


def add_compare(commands: "Commands") -> None:
    """Add `deniable compare`."""
    command = add_command(commands, "compare", "compare two surveys of different people, answer by answer")
    command.add_argument("before", metavar="BEFORE", help=COUNTS)
    command.add_argument("after", metavar="AFTER", help="the same for the other survey")
    command.add_argument("names", nargs="+", metavar="FEATURE", help="the features of the table")
    _add_options(command)
    command.set_defaults(run=_compare)


def _compare(arguments: argparse.Namespace) -> None:
    from deniable.analyses.comparison import compare
    from deniable.cli.results import check_different_files

    check_different_files([arguments.before, arguments.after])
    before, after = (
        estimate_of([file], arguments.names, about=arguments.about) for file in (arguments.before, arguments.after)
    )
    table = compare(among_answered(before, arguments), among_answered(after, arguments), level=arguments.level)
    show(table, arguments, before.features)
    draw(table, arguments)


def _add_options(command: argparse.ArgumentParser) -> None:
    """Add the options of a difference, a comparison and a mean."""
    add_respondents(command)
    add_answered(command)
    add_level(command)
    add_form(command)


def _groups_in_words(name: str, groups: Sequence[str | list[str]]) -> dict[str, str]:
    """Two groups of answers, as columns of a row."""
    first, second = (one if isinstance(one, str) else " or ".join(one) for one in groups)
    return {"group": f"{name}: {first}", "compared with": f"{name}: {second}"}


def _tell(table: "Table", arguments: argparse.Namespace, features: "Sequence[Feature]" = ()) -> None:
    """Print a table, and draw it if that is asked for."""
    show(table, arguments, features)
    draw(table, arguments)


def _one_row(
    found: "JointAnswer", words: dict[str, str], kind: "Kind", whom: "Estimate | Among", level: float
) -> "Table":
    """A single result as a table of one row; a mean has no p-value, as there is nothing to test it against."""
    from deniable.estimates.answer_groups.among import Among
    from deniable.tables.table import About, Column, Table

    est, who = (whom.est, whom.who) if isinstance(whom, Among) else (whom, "")

    low, high = found.confidence_interval(level)
    numbers: dict[str, float] = {kind.value: found.value, "stderr": found.stderr, "low": low, "high": high}
    if kind.value == "difference":
        numbers["p_value"] = found.pvalue
    columns: dict[str, Column] = {name: [cell] for name, cell in _cells(words, numbers)}
    title = " ".join(f"{name} {word}" for name, word in words.items())
    about = About(title, kind, est.subject, level, est.asked, respondents=est.n, influence=found.influence)
    return Table(columns, tuple(words), replace(about, among=who))


def _cells(*parts: dict[str, Any]) -> Sequence[tuple[str, Any]]:
    return [cell for part in parts for cell in part.items()]
