"""What several commands share: how a command is added, and options that mean the same in each of them."""

import argparse
import csv
import re
from collections.abc import Collection
from typing import TYPE_CHECKING
from urllib.parse import quote

from deniable.errors import DeniableError
from deniable.files.stores import file_at
from deniable.text.lists_of_names import listed_names, quotes_in_words

if TYPE_CHECKING:
    from deniable.survey.plan import Plan

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

REPORTS = "Parquet files of reports, or folders or globs of them, all of one plan"


def add_command(commands: "Commands", name: str, summary: str, *aliases: str) -> argparse.ArgumentParser:
    """A new command: its one-line summary stands in the list of commands and, as a sentence, in its own help."""
    sentence = f"{summary[0].upper()}{summary[1:]}."
    return commands.add_parser(name, aliases=aliases, help=summary, description=sentence)


COUNTS = "a .npz file of counts, or Parquet files of reports (a path, a folder or a glob)"


def add_counts(command: argparse.ArgumentParser) -> None:
    """The argument that names a file of counts, or files of reports."""
    command.add_argument("counts", metavar="COUNTS", help=COUNTS)


def add_reading(command: argparse.ArgumentParser) -> None:
    """The options for how files of answers are read."""
    command.add_argument(
        "--na",
        action="append",
        default=[],
        metavar="WORD",
        help="another word for a missing answer, as in --na=-9 (besides NA, N/A, . and empty cells)",
    )
    command.add_argument("--delimiter", metavar="MARK", help="the column separator of CSV files, such as ; or tab")
    command.add_argument("--encoding", metavar="NAME", help="encoding of CSV files, such as latin-1 (default utf-8)")


def delimiter_of(text: str | None) -> str | None:
    """A delimiter as an option has it: one character, or the word tab."""
    return "\t" if text in ("tab", "\\t") else text


def add_force(command: argparse.ArgumentParser) -> None:
    """The option that lets an output be written over."""
    command.add_argument("--force", action="store_true", help="overwrite an existing file")


def check_new(path: str, *, force: bool, why: str = "") -> None:
    """Refuse to write over a file that is there, unless it is said, with the reason if there is one."""
    if not force and file_at(path).is_file():
        because = f" ({why})" if why else ""
        raise DeniableError(f"{path}: exists already{because}; give another output, or overwrite it: --force")


def add_level(command: argparse.ArgumentParser) -> None:
    """The option for the confidence level of intervals."""
    command.add_argument("--level", type=level_of, default=0.95, help="confidence level, 0.95 or 95%% (default 95%%)")


def add_respondents(command: argparse.ArgumentParser) -> None:
    """The option that asks about the respondents instead of the population; `--population` is that of version 0.1.0."""
    about = command.add_mutually_exclusive_group()
    about.add_argument(
        "--respondents",
        dest="about",
        action="store_const",
        const="respondents",
        help="results about these respondents alone, not about the population that they were drawn from",
    )
    about.add_argument(
        "--population",
        dest="about",
        action="store_const",
        const="population",
        help="about the population (default)",
    )
    command.set_defaults(about="population")


def add_answered(command: argparse.ArgumentParser) -> None:
    """The option that leaves missing answers out."""
    command.add_argument(
        "--answered", action="store_true", help="only among those who answered: leaves missing answers out"
    )


def add_form(command: argparse.ArgumentParser) -> None:
    """The options for `printing.show`, text unless one is given, and for `printing.draw`."""
    form = command.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print comma-separated values")
    form.add_argument("--json", action="store_true", help="print a JSON list with an object for each row")
    command.add_argument("--plot", metavar="PICTURE", help="also draw it, to a file ending in .svg, .png or .pdf")


def names_of(text: str, option: str, known: Collection[str]) -> list[str]:
    """The names that an option lists, of those that there are; one with a comma in it may stand in double quotes."""
    try:
        names = listed_names(text, known)
    except csv.Error as error:
        raise DeniableError(f"{option} takes names with commas between them: {error}") from None
    if quotes := quotes_in_words(names, known):
        raise DeniableError(f"{option} {text}: no such names{quotes}")
    return names


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


def public_in_link(plan: "Plan") -> str:
    """The part of the survey page's link that lists the columns that may be sent as they are, if there are any."""
    return f"&public={','.join(quote(name, safe='') for name in plan.public)}" if plan.public else ""


def level_of(text: str) -> float:
    """A confidence level as an option has it: 95% or 0.95."""
    try:
        return share_of(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is no confidence level, such as 95% or 0.95") from None
