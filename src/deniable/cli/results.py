"""The commands `deniable table`, `conditional` and `associations`: counts become results with their intervals."""

import argparse
import sys
from collections.abc import Sequence
from itertools import combinations, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.cli.asking.named import given_of, schema_of
from deniable.cli.options import (
    COUNTS,
    add_answered,
    add_command,
    add_counts,
    add_form,
    add_level,
    add_respondents,
    names_of,
)
from deniable.cli.printing import draw, show
from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.estimates.answer_groups.among import Among
    from deniable.estimates.estimate import Estimate


def add_table(commands: "Commands") -> None:
    """Add `deniable table`."""
    command = add_command(commands, "table", "estimate a table of the true answers")
    add_counts(command)
    command.add_argument(
        "names",
        nargs="+",
        metavar="FEATURE",
        help="the features of the table; more files of counts, from waves of other people, may come before them",
    )
    command.add_argument(
        "--method",
        choices=("consistent", "centred", "unbiased", "feasible", "shrunk"),
        default="consistent",
        help="the estimator (default consistent); feasible gives a proper table with nothing negative, "
        "shrunk one whose interactions are shrunk towards independence",
    )
    add_respondents(command)
    add_answered(command)
    add_level(command)
    command.add_argument("--simultaneous", action="store_true", help="intervals that hold for the whole table at once")
    add_form(command)
    command.set_defaults(run=_table)


def _table(arguments: argparse.Namespace) -> None:
    more = list(takewhile(_is_counts, arguments.names[:-1]))
    files, names = [arguments.counts, *more], arguments.names[len(more) :]
    if len(names) == 1 and "," in names[0] and names[0] not in schema_of(files[0]):
        names = names_of(names[0], "table", schema_of(files[0]).names)  # as --want and --show take them
    est = estimate_of(files, names, about=arguments.about, method=arguments.method)
    if arguments.simultaneous:
        if arguments.answered:
            raise DeniableError("--simultaneous intervals are about everybody; leave --answered out")
        table = est.table(level=arguments.level, simultaneous=True)
    else:
        table = among_answered(est, arguments).table(level=arguments.level)
    show(table, arguments, est.features)
    draw(table, arguments)
    say_of_waves(est, len(files))


def _is_counts(name: str) -> bool:
    return name.lower().endswith((".npz", ".parquet"))


def add_conditional(commands: "Commands") -> None:
    """Add `deniable conditional`."""
    command = add_command(commands, "conditional", "estimate the answers to one feature, given other answers")
    command.add_argument(
        "counts", nargs="+", metavar="COUNTS", help=f"{COUNTS}; several files are waves of different people"
    )
    command.add_argument("what", metavar="FEATURE", help="the feature whose answers are estimated")
    command.add_argument(
        "--given",
        action="append",
        required=True,
        metavar="FEATURE",
        help="the feature that is given, or one or more of its answers: age=65+; may be given more than once",
    )
    add_respondents(command)
    add_answered(command)
    add_level(command)
    add_form(command)
    command.set_defaults(run=_conditional)


def _conditional(arguments: argparse.Namespace) -> None:
    given = given_of(schema_of(arguments.counts[0]), arguments.given)
    est = estimate_of(arguments.counts, list(dict.fromkeys([*given, arguments.what])), about=arguments.about)
    whom = among_answered(est, arguments)
    if isinstance(given, list):
        table = whom.conditional(arguments.what, given=given, level=arguments.level)
    else:
        for name, answers in given.items():
            whom = whom.among(name, answers)
        table = whom.project(arguments.what).table(level=arguments.level)
    show(table, arguments, est.features)
    draw(table, arguments)
    say_of_waves(est, len(arguments.counts))


def estimate_of(files: Sequence[str], names: Sequence[str], *, about: str, method: str = "consistent") -> "Estimate":
    """The estimate of some features from a file of counts; several files are waves of other people, in one estimate."""
    from deniable.counts.as_counts import as_counts
    from deniable.estimates.estimate import estimate

    check_different_files(files)
    counts = [as_counts(file, names) for file in files]
    return estimate(counts if len(counts) > 1 else counts[0], names, method=method, about=about)


def among_answered(est: "Estimate", arguments: argparse.Namespace) -> "Estimate | Among":
    """An estimate among those who answered all its questions, if that is asked for."""
    from deniable.estimates.answer_groups.left_answers import only_answered

    among: Estimate | Among = only_answered(est) if arguments.answered else est
    return among


def check_different_files(files: Sequence[str]) -> None:
    """Refuse the same file twice: its respondents would be taken for others."""
    for first, second in combinations(files, 2):
        if Path(first).exists() and Path(second).exists() and Path(first).samefile(second):
            raise DeniableError(f"{first} and {second} are the same file; waves are of different people")


def say_of_waves(est: "Estimate", waves: int) -> None:
    """Tell on stderr of how many respondents of several waves a result is, and whether these agree."""
    if waves > 1:
        asked = f"{est.asked:,} of {est.n:,} respondents of {waves} waves were asked all of {' x '.join(est.names)}"
        agree = f"Whether the waves agree: {est.homogeneity}."
        if est.homogeneity is None:
            agree = "They are taken as waves of the same people, as their plan keeps answers: agreement is not tested."
        print(f"{asked}.", agree, sep="\n", file=sys.stderr)


# What is said of a list of pairs that came out surest.
LIST = (
    "listed_low and listed_high allow for the pairs being those that came out surest; shrunken effects are without "
    "that luck, on average. About the population. --json and --csv have low and high, too: the interval of a pair "
    "chosen beforehand."
)


def add_associations(commands: "Commands") -> None:
    """Add `deniable associations`."""
    command = add_command(commands, "associations", "rank pairs of features by the evidence of an association")
    command.add_argument("counts", metavar="COUNTS", help=f"{COUNTS}; counts must hold pairs of features")
    command.add_argument("--top", type=int, default=20, help="how many pairs to print (default 20; 0 for all)")
    add_level(command)
    add_form(command)
    command.set_defaults(run=_associations)


def _associations(arguments: argparse.Namespace) -> None:
    from deniable.analyses.associations import associations
    from deniable.counts.as_counts import as_counts

    if arguments.top < 0:
        raise DeniableError(f"--top takes the number of pairs to print, or 0 for all; found {arguments.top}")
    counts = as_counts(arguments.counts)
    table = associations(counts, level=arguments.level)
    shown = table.slice(0, arguments.top or None)
    if not arguments.json and not arguments.csv:
        print(LIST, file=sys.stderr)
    show(shown, arguments)
    draw(table, arguments)
    if 0 < arguments.top < table.num_rows:
        print(f"{arguments.top} of {table.num_rows:,} pairs; --top 0 shows all", file=sys.stderr)
