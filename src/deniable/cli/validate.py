"""The command `deniable validate`: the paper's figures and claims, simulated anew."""

import argparse
import sys
from typing import TYPE_CHECKING

from deniable.cli.options import add_command

if TYPE_CHECKING:
    from deniable.cli.options import Commands


def add_validate(commands: "Commands") -> None:
    """Add `deniable validate`."""
    command = add_command(commands, "validate", "check the paper's figures and claims by simulation")
    command.add_argument(
        "-o", "--output", metavar="FOLDER", required=True, help="the folder to write pictures and numbers to"
    )
    command.add_argument("--quick", action="store_true", help="fewer simulated surveys: about a minute instead of many")
    command.set_defaults(
        run=_validate,
        stopped="stopped; the same command repeats the first minute and goes on with coverage where it was",
    )


def _validate(arguments: argparse.Namespace) -> None:
    from deniable.validation.run import run

    print(run(arguments.output, quick=arguments.quick))
    print(f"Wrote figures and numbers to {arguments.output}; verdict.txt has every line.", file=sys.stderr)
