"""Proposing a schema from data: which questions the columns of a frame could be the answers to."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deniable.client import number_text
from deniable.errors import AnswerError, SchemaError
from deniable.reports.answers_in import columns, is_number
from deniable.reports.report_columns import is_text, whole
from deniable.survey.schema import Choice, Flag, Schema

MANY_NUMBERS = 100  # More different numbers than this in a column are a quantity, not a choice.


def proposed(frame: Any) -> Schema:
    """A schema with one feature for each column of any dataframe, mapping of columns or list of records."""
    return Schema(_proposed(name, kind, values) for name, kind, values in _distinct_values(frame))


def _proposed(name: str, kind: str, values: Sequence[Any]) -> Flag | Choice:
    """One feature from the distinct values of a column, sorted; `kind` is "bool", "number" or "text"."""
    if not values:
        raise SchemaError(f"column {name!r} holds nothing to propose a question from")
    if kind == "bool" or (kind == "number" and set(values) <= {0, 1}):
        return Flag(name)
    if kind == "number" and len(values) > MANY_NUMBERS:
        middle = [number_text(values[round(i * (len(values) - 1) / 4)]) for i in range(5)]
        raise SchemaError(
            f"column {name!r} holds {len(values)} different numbers, too many for a choice; "
            f"make ranges of them, for instance Choice.bins({name!r}, [{', '.join(middle)}])"
        )
    labels = list(dict.fromkeys(number_text(value) if kind == "number" else value for value in values))
    if len(labels) < 2:
        raise SchemaError(
            f"column {name!r} holds only {labels}: a choice needs every value that could be given; "
            f"write it yourself, Choice({name!r}, [...])"
        )
    return Choice(name, labels)


def _distinct_values(records: Any) -> list[tuple[str, str, list[Any]]]:
    """Name, kind ("bool", "number" or "text") and sorted distinct values of each column of some records."""
    return [(name, *_distinct(name, column)) for name, column in columns(records).items()]


def _distinct(name: str, column: Any) -> tuple[str, list[Any]]:
    """Kind and sorted distinct values of one column; an ordered categorical keeps its own order."""
    if isinstance(column, list):
        raise AnswerError(f"column {name!r} mixes types; give it one, or write the schema yourself")
    column = whole(column)
    if pa.types.is_dictionary(column.type):
        if column.type.ordered and not column.null_count:
            return "text", column.dictionary.cast(pa.string()).to_pylist()
        column = column.cast(column.type.value_type)
    if column.null_count or (pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()):
        raise AnswerError(f"column {name!r} has nulls; give them a value such as 'no answer' first")
    kinds = {"bool": pa.types.is_boolean, "text": is_text, "number": is_number}
    kind = next((kind for kind, fits in kinds.items() if fits(column.type)), None)
    if kind is None:
        raise AnswerError(f"column {name!r} holds {column.type}; a schema is made from booleans, numbers and text")
    return kind, sorted(pc.unique(column).to_pylist())
