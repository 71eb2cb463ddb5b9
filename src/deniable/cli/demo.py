"""The command `deniable demo`: every step on a made-up survey."""

import argparse
from typing import TYPE_CHECKING

from deniable.cli.options import add_command

if TYPE_CHECKING:
    from deniable.cli.options import Commands


def add_demo(commands: "Commands") -> None:
    """Add `deniable demo`."""
    command = add_command(commands, "demo", "run every step on a made-up survey, ending in a page")
    command.add_argument(
        "-o", "--output", metavar="PAGE.html", default="report.html", help="where to write the page (report.html)"
    )
    command.set_defaults(run=_demo)


def _demo(arguments: argparse.Namespace) -> None:
    from deniable.cli.demo_survey import run

    run(arguments.output)
