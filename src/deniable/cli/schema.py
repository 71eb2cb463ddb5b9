"""The command `deniable schema`: a survey file proposed from data."""

import argparse
import sys
from typing import TYPE_CHECKING

from deniable.cli.options import add_command, add_force, add_reading, check_new, delimiter_of
from deniable.files import check_target

if TYPE_CHECKING:
    from deniable.cli.options import Commands
    from deniable.survey.schema import Schema


def add_schema(commands: "Commands") -> None:
    """Add `deniable schema`."""
    command = add_command(commands, "schema", "propose the questions of a survey from data")
    command.add_argument(
        "answers", nargs="+", metavar="ANSWERS", help="CSV or Parquet files of answers, or folders or globs of them"
    )
    command.add_argument("-o", "--output", metavar="SURVEY.toml", help="where to write the questions (default: stdout)")
    add_reading(command)
    add_force(command)
    command.set_defaults(run=_schema)


def _schema(arguments: argparse.Namespace) -> None:
    from deniable.survey.questions.survey_file import toml

    if arguments.output is not None:
        check_target(arguments.output, *arguments.answers)
        check_new(arguments.output, force=arguments.force)
    schema = _proposed(arguments)
    print(*schema.notes.values(), sep="\n", file=sys.stderr)
    if arguments.output is None:
        print(toml(schema, schema.notes), end="")
        return
    schema.save(arguments.output)
    print(f"\nWrote {arguments.output} ({len(schema.questions)} questions). Look it over.", file=sys.stderr)


def _proposed(arguments: argparse.Namespace) -> "Schema":
    """The questions that the columns of all files could hold the answers to."""
    from deniable.errors import SchemaError
    from deniable.reports.answer_files import whole_table
    from deniable.reports.reading.csv_files import CsvForm
    from deniable.survey.schema import Schema

    form = CsvForm(delimiter_of(arguments.delimiter), arguments.encoding)
    try:
        return Schema.from_frame(whole_table(arguments.answers, form), na=arguments.na)
    except SchemaError as error:
        raise SchemaError(f"{', '.join(map(str, arguments.answers))}: {error}") from None
