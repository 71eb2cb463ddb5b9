"""Printing: a table of results on stdout as text, CSV or JSON, and what was written on stderr."""

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniable.tables.table import Table


def show(table: "Table", arguments: argparse.Namespace) -> None:
    """Print a table of results in the form that the options of `options.add_form` ask for."""
    if not arguments.json and not arguments.csv:
        print(_text(table))
        return
    rows = [{name: None if cell != cell else cell for name, cell in row.items()} for row in table]  # no nan
    if arguments.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        writer = csv.DictWriter(sys.stdout, table.column_names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def draw(table: "Table", arguments: argparse.Namespace) -> None:
    """Draw a table of results if the options of `options.add_form` ask for a picture."""
    if arguments.plot:
        table.plot(path=arguments.plot)
        say_wrote(arguments.plot, table.reports)


def say_wrote(path: str | Path, reports: int) -> None:
    """Tell on stderr which file was written, and from how many reports."""
    print(f"Wrote {path} ({reports:,} report{'s' * (reports != 1)}).", file=sys.stderr)


def _text(table: "Table") -> str:
    """All rows of a table of results as text; a terminal gets a line under the head, and colour."""
    from deniable.text.tables import aligned, coloured, is_terminal

    shown, stream = table.written(), sys.stdout
    rule, colour = is_terminal(stream), coloured(stream)
    return "\n".join(aligned(shown.head, shown.rows, numbers=shown.numbers, rule=rule, colour=colour))
