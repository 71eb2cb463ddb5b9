"""Printing: a table of results on stdout as text, CSV or JSON, and what was written on stderr."""

import argparse
import csv
import json
import sys
from collections.abc import Sequence
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.survey.schema import Feature
    from deniable.tables.table import Table


def show(table: "Table", arguments: argparse.Namespace, features: "Sequence[Feature]" = ()) -> None:
    """Print a table of results in the form that the options of `options.add_form` ask for.

    Text says in its first line whom it is about, at which level and from how many reports; CSV and JSON in the columns
    `about`, `level` and `reports`, with an underscore after those that a feature is called, and in `among` if they are
    about some of these people alone. JSON has `influence`, too: how far 1 % of forged reports could move any of the
    results. Text, for people, has the labels of these features; CSV and JSON have names and answers.
    """
    if not arguments.json and not arguments.csv:
        from deniable.tables.labels import labelled

        print(_head(table))
        print(_text(labelled(table, features)))
        return
    rows = [{name: _datum(cell, json=arguments.json) for name, cell in row.items()} for row in table]
    told: dict[str, object] = {"about": str(table.subject), "level": table.level, "reports": table.reports}
    if table.about.among:
        told["among"] = table.about.among
    if arguments.json:
        told["influence"] = table.influence if isfinite(table.influence) else None
    rows = [row | {name + "_" * (name in row): value for name, value in told.items()} for row in rows]
    if arguments.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _datum(cell: Any, *, json: bool) -> Any:
    """A cell as data: nothing where there is no number; JSON, which has no infinite numbers, has these as text."""
    if cell != cell:
        return None
    return ("Infinity" if cell > 0 else "-Infinity") if json and cell in (inf, -inf) else cell


def _head(table: "Table") -> str:
    """What is to be known of all numbers of a table; also their unit, where it is not that of shares."""
    from deniable.tables.table import LOG_ODDS

    return f"{table.about.caption} {LOG_ODDS.note}" if table.about.kind is LOG_ODDS else table.about.caption


def draw(table: "Table", arguments: argparse.Namespace) -> None:
    """Draw a table of results if the options of `options.add_form` ask for a picture."""
    if arguments.plot:
        table.plot(path=arguments.plot)
        say_wrote(arguments.plot, table.reports)


def say_wrote(path: str | Path, reports: int) -> None:
    """Tell on stderr which file was written, and from how many reports."""
    from deniable.text.fixed_phrases import how_many

    print(f"Wrote {path} ({how_many(reports, 'report')}).", file=sys.stderr)


def _text(table: "Table") -> str:
    """All rows of a table of results as text; a terminal gets a line under the head, and colour."""
    from deniable.text.tables import aligned, coloured, is_terminal

    shown, stream = table.written(), sys.stdout
    rule, colour = is_terminal(stream), coloured(stream)
    return "\n".join(aligned(shown.head, shown.rows, numbers=shown.numbers, rule=rule, colour=colour))
