"""What several commands share: how a command is added, and options that mean the same in each of them."""

import argparse
import csv
import re
from typing import TYPE_CHECKING

from deniable.errors import DeniableError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

REPORTS = "Parquet files of reports, or folders or globs of them, all of one plan"


def add_command(commands: "Commands", name: str, summary: str, *aliases: str) -> argparse.ArgumentParser:
    """A new command: its one-line summary stands in the list of commands and, as a sentence, in its own help."""
    sentence = f"{summary[0].upper()}{summary[1:]}."
    return commands.add_parser(name, aliases=aliases, help=summary, description=sentence)


def add_counts(command: argparse.ArgumentParser) -> None:
    """The argument that names a file of counts."""
    command.add_argument("counts", metavar="COUNTS.npz", help="counts, as `deniable count` writes them")


def add_level(command: argparse.ArgumentParser) -> None:
    """The option for the confidence level of intervals."""
    command.add_argument("--level", type=float, default=0.95, help="confidence level (default 0.95)")


def add_population(command: argparse.ArgumentParser) -> None:
    """The option that asks about the population instead of the respondents."""
    command.add_argument(
        "--population", action="store_true", help="results about the population, not about these respondents alone"
    )


def add_form(command: argparse.ArgumentParser) -> None:
    """The options for `printing.show`, text unless one of them is given, and for `printing.draw`."""
    form = command.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print comma-separated values")
    form.add_argument("--json", action="store_true", help="print a JSON list with an object for each row")
    command.add_argument("--plot", metavar="PICTURE", help="draw it, too: a file that ends in .svg, .png or .pdf")


def names_of(text: str, option: str) -> list[str]:
    """The names that an option lists, with commas between them; a name with a comma in it stands in double quotes."""
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise DeniableError(f"{option} takes names with commas between them: {error}") from None


def people_of(text: str) -> int:
    """How many people, as an option has it: 50000, 50,000 or 50_000."""
    try:
        return int(re.sub(r"(?<=\d)[,_ ](?=\d{3}(?!\d))", "", text.strip()))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of people, such as 50000 or 50,000") from None


def share_of(text: str) -> float:
    """A share as an option has it: 2% or 0.02."""
    number = text.strip()
    try:
        return float(number.removesuffix("%")) / 100 if number.endswith("%") else float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no share, such as 2% or 0.02") from None
