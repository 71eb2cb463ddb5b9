"""Printing: a table of results on stdout as text, CSV or JSON, and what was written on stderr."""

import argparse
import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from deniable.text.fixed_phrases import NOT_ENOUGH, SAYS_LITTLE

if TYPE_CHECKING:
    from deniable.survey.schema import Feature

Row = dict[str, Any]


def show(
    table: Any,
    arguments: argparse.Namespace,
    *,
    about: str,
    reports: int,
    simultaneous: bool = False,
    features: "Sequence[Feature]" = (),
) -> None:
    """Print an Arrow table of results in the form that the options of `options.add_form` ask for.

    Text says in its first line whom it is about, at which level and from how many reports; CSV and JSON in the columns
    `about`, `level` and `reports`, with an underscore after those that a feature is called. Text, for people, has the
    labels of these features; CSV and JSON have names and answers.
    """
    rows = [{name: None if cell != cell else cell for name, cell in row.items()} for row in table.to_pylist()]  # no nan
    if not arguments.json and not arguments.csv:
        intervals = f"{'simultaneous ' * simultaneous}{100 * arguments.level:g}% intervals"
        print(f"About the {about}; {intervals}; {reports:,} report{'s' * (reports != 1)}.")
        print(_text([_labelled(row, features) for row in rows], sys.stdout))
        return
    told = {"about": str(about), "level": arguments.level, "reports": reports}
    rows = [row | {name + "_" * (name in row): value for name, value in told.items()} for row in rows]
    if arguments.json:
        print(json.dumps(rows, indent=1, ensure_ascii=False))
    else:
        writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _labelled(row: Row, features: "Sequence[Feature]") -> Row:
    """A row with what people read as questions and answers."""
    from deniable.survey.describe import distinct_titles

    titles = distinct_titles(features)
    labels = {one.name: dict(zip(one.answers, one.titles, strict=True)) for one in features}
    heads = {name: title for name in row if (title := titles.get(name, name)) == name or title not in row}
    told = {name: labels.get(name, {}).get(cell, cell) if isinstance(cell, str) else cell for name, cell in row.items()}
    return {heads.get(name, name): cell for name, cell in told.items()}


def say_wrote(path: str | Path, reports: int) -> None:
    """Tell on stderr which file was written, and from how many reports."""
    print(f"Wrote {path} ({reports:,} report{'s' * (reports != 1)}).", file=sys.stderr)


def _text(rows: Sequence[Row], stream: IO[str]) -> str:
    """A table of results as text: numbers with four digits, and words where there are too few reports for an interval.

    A terminal gets a line under the head, and colour.
    """
    from deniable.text.tables import aligned, coloured, is_terminal

    if not any(row.get("merged", True) for row in rows):  # nothing was merged
        rows = [{name: value for name, value in row.items() if name != "merged"} for row in rows]
    head = list(rows[0])
    numbers = [k for k, name in enumerate(head) if any(isinstance(row[name], float) for row in rows)]
    numbers += [head.index(name) for name in ("low", "high") if head.index(name) not in numbers]
    cells = [_cells(row) for row in rows]
    if any(map(_says_little, rows)):
        head.append("")
        cells = [[*own, SAYS_LITTLE if _says_little(row) else ""] for own, row in zip(cells, rows, strict=True)]
    lines = aligned(head, cells, numbers=numbers, rule=is_terminal(stream), colour=coloured(stream))
    return "\n".join(lines)


def _cells(row: Row) -> list[str | None]:
    """The texts of one row, with words in place of an interval that there are too few reports for."""
    texts: dict[str, str | None] = {name: _cell(name, value) for name, value in row.items()}
    return list((texts | ({"low": NOT_ENOUGH, "high": None} if row["low"] is None else {})).values())


def _says_little(row: Row) -> bool:
    """Whether a row is of a share whose interval is too long to tell much."""
    from deniable.inference.intervals import share_says_little

    interval: list[Any] = [row.get(name) for name in ("proportion", "low", "high")]
    return None not in interval and share_says_little(*interval)


def _cell(name: str, value: Any) -> str:
    """The text of one cell: two significant digits for p-values and false discovery rates, four decimals elsewhere."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.2g}" if name in ("p_value", "fdr") else f"{value:.4f}"
    return str(value)
