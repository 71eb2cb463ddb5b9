"""Cross-tabulations: a table of results with the answers to one feature side by side."""

from dataclasses import replace
from typing import Any

from deniable.errors import EstimateError, meant
from deniable.survey.schema import SEPARATOR
from deniable.tables.rows_in_words import Record, has_interval, says_little
from deniable.tables.table import Column, Kind, Table
from deniable.text.fixed_phrases import NOT_ENOUGH, SAYS_LITTLE, answer_as_text


def wide(table: Table, name: str, values: str | None) -> Table:
    """What `Table.wide` gives."""
    kind, rest = table.about.kind, [key for key in table.keys if key != name]
    _check(table, name, kind.value if values is None else values)
    cells: dict[tuple[Any, ...], dict[Any, Any]] = {}
    for row in table:
        own = cells.setdefault(tuple(row[key] for key in rest), {})
        own[row[name]] = _in_one_cell(row, kind) if values is None else row[values]
    columns: dict[str, Column] = {key: [place[k] for place in cells] for k, key in enumerate(rest)}
    for answer in dict.fromkeys(row[name] for row in table):
        called = answer_as_text(answer)
        empty = "" if values is None else None
        columns[f"{name}{SEPARATOR}{called}" if called in columns else called] = [
            row.get(answer, empty) for row in cells.values()
        ]
    note = f"Columns: {name}{f'; {values}' if values else ''}. {kind.note}".rstrip()
    return Table(columns, tuple(rest), replace(table.about, kind=Kind(kind.value, note=note)))


def _check(table: Table, name: str, wanted: str) -> None:
    """Refuse a feature that cannot go to the head of a cross-tabulation, and numbers that there are none of."""
    if name not in table.keys or len(table.keys) < 2:
        can = f"one of {', '.join(map(repr, table.keys))}" if len(table.keys) > 1 else "a table of two features or more"
        alike = meant(name, table.keys)
        raise EstimateError(f"wide takes {can}, as others must be left to name the rows; found {name!r}{alike}")
    numbers = [column for column in table.columns if column not in table.keys]
    if wanted not in numbers:
        raise EstimateError(f"wide shows one of {', '.join(map(repr, numbers))}; found {wanted!r}")


def _in_one_cell(row: Record, kind: Kind) -> str:
    """An estimate and half the length of its interval, or why there is none."""
    value = row[kind.value]
    if value != value:
        return NOT_ENOUGH
    if not has_interval(row, kind.ends):
        return f"{value:.3f} ({NOT_ENOUGH})"
    low, high = (row[end] for end in kind.ends)
    little = f" ({SAYS_LITTLE})" if says_little(row, kind.ends) else ""
    return f"{value:.3f} ± {(high - low) / 2:.3f}{little}"
