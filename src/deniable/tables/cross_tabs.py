"""Cross-tabulations: a table of results with the answers to one feature side by side."""

from dataclasses import replace
from typing import Any

from deniable.errors import EstimateError
from deniable.survey.schema import SEPARATOR
from deniable.tables.rows_in_words import Record, answer_in_words, has_interval, says_little
from deniable.tables.table import Kind, Table
from deniable.text.fixed_phrases import NOT_ENOUGH, SAYS_LITTLE


def wide(table: Table, name: str, values: str | None) -> Table:
    """What `Table.wide` gives."""
    kind, rest = table.about.kind, [key for key in table.keys if key != name]
    if name not in table.keys or not rest:
        can = f"one of {', '.join(map(repr, table.keys))}" if len(table.keys) > 1 else "no feature of this table"
        raise EstimateError(f"wide takes {can}, as others must be left to name the rows; found {name!r}")
    numbers = [column for column in table.columns if column not in table.keys]
    if (wanted := kind.value if values is None else values) not in numbers:
        raise EstimateError(f"wide shows one of {', '.join(map(repr, numbers))}; found {wanted!r}")
    cells: dict[tuple[Any, ...], dict[Any, Any]] = {}
    for row in table.to_pylist():
        own = cells.setdefault(tuple(row[key] for key in rest), {})
        own[row[name]] = row[values] if values is not None else _in_one_cell(row, kind)
    answers = list(dict.fromkeys(table.to_pydict()[name]))
    empty = "" if values is None else None
    columns = {key: [place[k] for place in cells] for k, key in enumerate(rest)}
    for answer in answers:
        own_name = answer_in_words(answer)
        own_name = f"{name}{SEPARATOR}{own_name}" if own_name in columns else own_name
        columns[own_name] = [row.get(answer, empty) for row in cells.values()]
    what = f"Columns: {name}" + (f"; {values}." if values else ".")
    own_kind = Kind(wanted, note=" ".join(part for part in (what, kind.note) if part))
    return Table(columns, tuple(rest), replace(table.about, kind=own_kind))


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
