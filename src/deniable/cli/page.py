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


def add_page(commands: "Commands") -> None:
    """Add `deniable page`, and `deniable report`, which is its name in version 0.1.0."""
    command = add_command(commands, "page", "write a page about a survey and its population", "report")
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("reports", nargs="*", default=[], metavar="REPORTS", help=f"{REPORTS}; or .npz files of counts")
    source.add_argument(
        "--counts", metavar="COUNTS.npz", help="counts that hold every pair, as `deniable count` writes them"
    )
    command.add_argument("-o", "--output", metavar="PAGE.html", required=True, help="where to write the page")
    command.add_argument("--title", help="title of the page (default: Survey results)")
    add_level(command)
    command.set_defaults(run=_page)


def _page(arguments: argparse.Namespace) -> None:
    from deniable.counts.counts import Counts
    from deniable.inference.intervals import checked_level
    from deniable.page.page import check_extra, write_page

    check_extra()
    checked_level(arguments.level)
    if arguments.counts is not None:
        check_target(arguments.output, arguments.counts)
        counts = Counts.load(arguments.counts)
    else:
        counts = _counted_pairs(arguments.reports, arguments.output)
    write_page(counts, arguments.output, title=arguments.title, level=arguments.level)
    say_wrote(arguments.output, counts.n)


def _counted_pairs(reports: Sequence[str], output: str) -> "Counts":
    """The counts of every pair of features that somebody was asked, or of the only feature, from files of reports."""
    from deniable.counts.as_counts import as_counts, sum_of
    from deniable.counts.count import count
    from deniable.counts.sources import find_files

    if all(name.lower().endswith(".npz") for name in reports):
        check_target(output, *reports)
        return sum_of([as_counts(name) for name in reports])
    files = find_files(reports)
    check_target(output, *files)
    return count(files)
