"""Multi-select questions in one column, lists of ticks or text such as "TV;Radio", become a column for each flag.

A blank cell of text ticks nothing, as does an empty list. A null, or a word such as "NA", says that there is no answer:
an error, unless the question may be skipped. Then a blank cell is a skipped question, too.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.errors import listed
from deniable.reports.reading.words import NO_ANSWER, NOTHING, Unread, is_null, plain
from deniable.reports.report_columns import is_text, whole
from deniable.survey.schema import SEPARATOR, Feature, Schema

# What stands between ticks in one cell of text.
BETWEEN = (";", "|", "\n", ",", "/")
# The ticks of a blank cell, which are none, and those of a cell without an answer: a missing answer, where the question
# may be skipped.
BLANK: frozenset[str] = frozenset({" "})
SKIPPED: frozenset[str] = frozenset({""})
# What to do about a cell without an answer.
NO_TICKS = (
    '; if people may skip the question, give it missing="no answer"; who ticked nothing has an empty list, or a blank '
    "cell of text"
)


def in_one_column(schema: Schema, there: Collection[str]) -> dict[str, tuple[Feature, ...]]:
    """The multi-select questions, with their flags, that data have as one column by the question's name."""
    return {
        name: features
        for name, features in schema.questions.items()
        if name not in schema and name in there and not any(feature.name in there for feature in features)
    }


def tick_columns(question: str, features: Sequence[Feature], column: Any) -> dict[str, Any]:
    """A column of booleans for each flag of a multi-select question; lists with `Unread` cells if there are any."""
    values = values_of(question, features)
    cells, places = _distinct(column)
    ticks = [_ticked(cell, values) for cell in cells]
    found = {}
    for feature, value in zip(features, values.values(), strict=True):
        own = [
            Unread(_not_listed(cell, values)) if one is None else _tick(feature, value, one)
            for cell, one in zip(cells, ticks, strict=True)
        ]
        simple = all(isinstance(one, bool) for one in own)
        found[feature.name] = pa.array(np.array(own, bool)[places]) if simple else [own[place] for place in places]
    return found


def values_of(question: str, features: Sequence[Feature]) -> dict[str, str]:
    """The answers that can be ticked, by what does not matter in their spelling."""
    values = [feature.name.removeprefix(question + SEPARATOR) for feature in features]
    return {plain(value): value for value in values}


def _tick(feature: Feature, value: str, ticks: frozenset[str]) -> bool | Unread | None:
    """Whether an answer is among the ticks of a cell; None of a skipped question, which may be one that must not be."""
    if ticks in (SKIPPED, BLANK) and feature.missing:
        return None
    return Unread(None) if ticks is SKIPPED else value in ticks


def unread(question: str, features: Sequence[Feature], column: Any) -> Iterator[tuple[str, Any, npt.NDArray[np.int64]]]:
    """What is wrong with a multi-select column: words, one cell or answer in it, and the rows of all like it."""
    values = values_of(question, features)
    cells, places = _distinct(column)
    ticks = [_ticked(cell, values) for cell in cells]
    rows = np.flatnonzero(np.isin(places, [place for place, one in enumerate(ticks) if one is None]))
    if len(rows):
        what = f"column {question!r} takes a list of its answers {listed(values.values())}, or text with ; between them"
        yield what, _not_listed(cells[places[rows[0]]], values), rows
    left_out = [place for place, one in enumerate(ticks) if one is SKIPPED and not features[0].missing]
    rows = np.flatnonzero(np.isin(places, left_out))
    if len(rows):
        yield f"column {question!r} has no answer (null){NO_TICKS}", cells[places[rows[0]]], rows


def parts(text: str, between: str) -> list[str]:
    """What stands in a cell of text between some marks, without empty parts."""
    return [part.strip() for part in text.split(between) if part.strip()]


def _distinct(column: Any) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """The distinct cells of a column, and which of them each row has; of lists every cell counts as distinct."""
    column = column if isinstance(column, list) else whole(column)
    if not isinstance(column, list) and (is_text(column.type) or pa.types.is_dictionary(column.type)):
        encoded = column.cast(pa.string()).dictionary_encode()
        cells = [*encoded.dictionary.to_pylist(), None]
        return cells, encoded.indices.fill_null(len(cells) - 1).to_numpy().astype(np.int64)
    cells = column if isinstance(column, list) else column.to_pylist()
    return cells, np.arange(len(cells))


def _not_listed(cell: Any, values: Mapping[str, str]) -> Any:
    """The first part of a cell that is no answer of the question: what an error shows, and not what else was ticked."""
    ways = [parts(cell, mark) for mark in BETWEEN if mark in cell] if isinstance(cell, str) else []
    if isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        ways = [list(cell)]
    best = max(ways, key=lambda way: sum(plain(str(part)) in values for part in way), default=[cell])
    return next((part for part in best if plain(str(part)) not in values), cell)


def _without_ticks(cell: Any) -> frozenset[str] | None:
    """The ticks of a cell that has none: a blank, a missing answer, or "none"; None if it cannot be read."""
    if isinstance(cell, str) and plain(cell) in NOTHING:
        return frozenset()
    if isinstance(cell, str) and not plain(cell):
        return BLANK
    return SKIPPED if is_null(cell) or isinstance(cell, str) else None


def _ticked(cell: Any, values: Mapping[str, str]) -> frozenset[str] | None:
    """The answers that a cell ticks; None if it holds anything else than these answers."""
    if isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        ways = [list(cell)]
    elif isinstance(cell, str) and (plain(cell) not in NO_ANSWER | NOTHING or plain(cell) in values):
        ways = [[cell], *(parts(cell, mark) for mark in BETWEEN if mark in cell)]
    else:
        return _without_ticks(cell)
    for way in ways:
        if all(isinstance(part, str) and plain(part) in values for part in way):
            return frozenset(values[plain(part)] for part in way)
    return None
