"""The command `deniable page` (also `deniable report`): an HTML page about a survey."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deniable.cli.options import REPORTS, add_command, add_level
from deniable.cli.printing import say_wrote
from deniable.files import check_target

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.counts.counts import Counts
    from deniable.files.stores import AnyFile


def add_page(commands: "Commands") -> None:
    """Add `deniable page`, and `deniable report`, which is its name in version 0.1.0."""
    command = add_command(commands, "page", "write a page about a survey and its population", "report")
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("reports", nargs="*", default=[], metavar="REPORTS", help=f"{REPORTS}; or .npz files of counts")
    source.add_argument(
        "--counts", metavar="COUNTS.npz", help="counts that hold every pair, as `deniable count` writes them"
    )
    command.add_argument(
        "-o", "--output", metavar="PAGE.html", required=True, help="where to write the page (over an older one)"
    )
    command.add_argument(
        "--show",
        action="append",
        default=[],
        metavar="A,B",
        help='what comes first, whatever came out: a table "A,B", or shares within groups "A | B"; once for each',
    )
    command.add_argument(
        "--answered",
        action="store_true",
        help="leave missing answers out of what --show names",
    )
    command.add_argument("--title", help="title of the page (default: Survey results)")
    command.add_argument("--organisation", metavar="NAME", help="who made the survey")
    command.add_argument("--dates", metavar="WORDS", help="when people were asked: 'May 2026'")
    command.add_argument("--contact", metavar="ADDRESS", help="whom to ask about it: words, a mail or web address")
    add_level(command)
    command.set_defaults(run=_page)


def _page(arguments: argparse.Namespace) -> None:
    from deniable.inference.intervals import checked_level
    from deniable.page.page import check_extra, written

    check_extra()
    checked_level(arguments.level)
    source = _source(arguments.reports, arguments.output, arguments.counts)
    options = ("show", "answered", "title", "organisation", "dates", "contact", "level")
    said = {name: getattr(arguments, name) for name in options}
    say_wrote(arguments.output, written(source, arguments.output, **said))


def _source(files: Sequence[str], output: str, counts: str | None) -> "Counts | list[AnyFile]":
    """What the page is made of: the sum of files of counts, or files of reports."""
    from deniable.counts.as_counts import as_counts, sum_of
    from deniable.counts.counts import Counts
    from deniable.counts.sources import find_files

    if counts is not None:
        check_target(output, counts)
        return Counts.load(counts)
    if all(name.lower().endswith(".npz") for name in files):
        check_target(output, *files)
        return sum_of([as_counts(name) for name in files])
    found = find_files(files)
    check_target(output, *found)
    return found
