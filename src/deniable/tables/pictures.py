"""Pictures of a table of results: its rows become lines of a forest plot, or cells of a map."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite, isinf, isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deniable.charts import result_plots
from deniable.charts.curves import check_matplotlib, check_picture, save
from deniable.charts.interval_chart import Row, bare, digits_for
from deniable.charts.result_plots import Map, Words
from deniable.errors import EstimateError
from deniable.survey.blocks import TIMES
from deniable.survey.schema import SEPARATOR
from deniable.tables.labels import labelled
from deniable.tables.rows_in_words import Record, has_interval, says_little
from deniable.tables.table import (
    CHANGES,
    COEFFICIENTS,
    CONDITIONAL,
    CONTRASTS,
    CONTRASTS_OF_MEANS,
    DIFFERENCES,
    DIFFERENCES_OF_MEANS,
    LOG_ODDS,
    PAIRS,
    PICTURED,
    SHARES,
    SHARES_BY_WAVE,
    WAVES,
    Table,
)
from deniable.text.fixed_phrases import NOT_ENOUGH, SAYS_LITTLE, answer_as_text
from deniable.text.width import width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# MOST is how many rows are drawn with their intervals; of more, those that come first.
MOST = 60
# MOST_PAIRS is how many pairs are drawn so.
MOST_PAIRS = 30
# FEW_PAIRS is how many pairs are drawn with their intervals unless a map is asked for.
FEW_PAIRS = 15
# MOST_FEATURES is how many features the map of all pairs has.
MOST_FEATURES = 30
# KINDS are the pictures there are.
KINDS = ("intervals", "map")
# MAPPED are the kinds of tables that can be a map.
MAPPED = (SHARES, CONDITIONAL, CHANGES, PAIRS)


def plot(table: Table, kind: str | None, ax: "Axes | None", path: str | Path | None) -> "Figure":
    """What `Table.plot` does."""
    check_matplotlib(EstimateError)
    _check(table, kind)
    if path is not None:
        check_picture(path)
    table, chosen = labelled(table), kind or _usual(table)
    figure = _intervals(table, ax) if chosen == "intervals" else _map(table, ax)
    if path is not None:
        save(figure, Path(path))
    return figure


def _check(table: Table, kind: str | None) -> None:
    """Refuse a picture there is none of, and a table without the columns that a picture needs."""
    of = table.about.kind
    if of not in PICTURED and of.value in table.columns:
        raise EstimateError(
            f"there is no picture of {table.about.title}; plot a table of shares, means or associations"
        )
    if of not in PICTURED:
        raise EstimateError("a cross-tabulation has no picture; plot the table that it is made from, before wide(...)")
    if kind is not None and kind not in KINDS:
        raise EstimateError(f'a picture is of "intervals" or a "map"; found {kind!r}')
    if kind == "map":
        _check_map(table)
    more = ("shrunken", "fdr") if of is PAIRS else ("before", "after") if of is CHANGES else ()
    if missing := [name for name in (of.value, *of.ends, *more) if name not in table.columns]:
        raise EstimateError(f"a picture needs the column {missing[0]!r}, which was left out")
    if not table.num_rows or not table.keys:
        raise EstimateError("a picture needs rows, and columns that name them; there are none")


def _check_map(table: Table) -> None:
    """Refuse a map of what has no rows and columns."""
    if table.about.kind not in MAPPED:
        raise EstimateError('a map is of shares or of pairs; draw this table with its "intervals"')
    if table.about.kind is not PAIRS and len(table.keys) < 2:
        raise EstimateError("a map is of two features or more; this table has one")


def _usual(table: Table) -> str:
    """The picture that suits a table: a map where intervals would be very many lines."""
    if table.about.kind is PAIRS:
        return "map" if table.num_rows > FEW_PAIRS else "intervals"
    many = table.num_rows > MOST and len(table.keys) > 1
    return "map" if many and table.about.kind in MAPPED else "intervals"


# -- intervals ---------------------------------------------------------------------------------------------------------


def _intervals(table: Table, ax: "Axes | None") -> "Figure":
    """Draw the rows of a table with their intervals."""
    kind, records = table.about.kind, _drawn(table)
    percent = kind.percent
    cut = [record for record in records if not isnan(record[kind.value])]
    scale = 100 if percent else 1
    halves = [scale * (row[kind.ends[1]] - row[kind.ends[0]]) / 2 for row in cut if has_interval(row, kind.ends)]
    digits = digits_for([half for half in halves if isfinite(half)])
    most = MOST_PAIRS if kind is PAIRS else MOST
    rows = _within_the_picture(list(_with_headings(table, records[:most], digits)))
    more = f"The first {most} of {len(records):,}. " if len(records) > most else ""
    words = Words(table.about.title, f"{more}{_note(table)}{table.about.caption}")
    return result_plots.draw_intervals(rows, words, ax, percent=percent, unit="" if kind.tested else " %")


def _within_the_picture(rows: list[Row]) -> list[Row]:
    """The same rows, with intervals that have no end drawn a little beyond all others."""
    ends = [end for row in rows if row.enough for end in (row.low, row.value, row.high) if isfinite(end)]
    if not any(isinf(end) for row in rows for end in (row.low, row.high)):
        return rows
    low, high = min([0.0, *ends]), max([0.0, *ends])
    beyond = 0.2 * (high - low)
    return [replace(row, low=max(row.low, low - beyond), high=min(row.high, high + beyond)) for row in rows]


def _drawn(table: Table) -> list[dict[str, Any]]:
    """The rows that are drawn: of a flag given others only true, of a regression all but the constant."""
    records, kind = table.to_pylist(), table.about.kind
    if kind is CONDITIONAL and _is_flag(table, table.keys[-1]):
        return [record for record in records if record[table.keys[-1]]]
    if kind in (COEFFICIENTS, LOG_ODDS) and len(records) > 1:
        return [record for record in records if record["term"] != "constant"]
    return records


def _is_flag(table: Table, name: str) -> bool:
    """Whether a column holds the answers of a flag and nothing else."""
    return set(map(type, table.to_pydict()[name])) == {bool}


def _with_headings(table: Table, records: Sequence[Record], digits: int) -> Iterator[Row]:
    """The lines of the chart, with a heading for each combination of answers to all features but the last."""
    kind, (*others, last) = table.about.kind, table.keys
    if kind in (PAIRS, CONTRASTS, CONTRASTS_OF_MEANS):
        yield from (_of_two(table, record, digits) for record in records)
        return
    if kind in (WAVES, SHARES_BY_WAVE):
        yield from (_row(table, record, str(record["wave"]), digits) for record in records)
        return
    if kind in (DIFFERENCES, DIFFERENCES_OF_MEANS):  # of what is different, the title says
        yield from (_row(table, record, kind.value, digits) for record in records)
        return
    if not others or (kind is CONDITIONAL and _is_flag(table, last)):
        yield from (_row(table, record, _answers(record, others or [last]), digits) for record in records)
        return
    before = None
    for record in records:
        if (heading := _heading(record, others)) != before:
            yield Row(heading, heading=True)
            before = heading
        yield _row(table, record, _answers(record, [last]), digits)


def _of_two(table: Table, record: Record, digits: int) -> Row:
    """The line of a pair of features, or of a contrast of two answers, which each have a line of the label."""
    if table.about.kind is PAIRS:
        first, mark, second = record["first"], result_plots.PAIRED, record["second"]
    else:
        first, minus, second = record["contrast"].partition(" - ")
        mark = "− " if minus else ""
    return replace(_row(table, record, first, digits), under=f"{mark}{second}")


def _heading(record: Record, names: Sequence[str]) -> str:
    """The answers that a heading stands for, with the names of their features if there is room for both."""
    named = _answers(record, names, named=True)
    return named if width(named) <= result_plots.LABEL else _answers(record, names)


def _answers(record: Record, names: Sequence[str], *, named: bool = False) -> str:
    """The answers of a row to some features; those of flags have their feature's name, and others' if wanted."""
    return TIMES.join(
        f"{name}{' ' if name.endswith('?') else SEPARATOR}{answer_as_text(record[name])}"
        if named or isinstance(record[name], bool)
        else record[name]
        for name in names
    )


def _row(table: Table, record: Record, label: str, digits: int) -> Row:
    """A row as a line of the chart."""
    kind = table.about.kind
    value = record["shrunken"] if kind is PAIRS else record[kind.value]
    low, high = (record[end] for end in kind.ends) if has_interval(record, kind.ends) else (nan, nan)
    scale, unit = (100, "" if kind.tested else " %") if kind.percent else (1, "")
    if kind is CHANGES:
        shown = f"{bare(100 * record['before'], digits)} → {bare(100 * record['after'], digits)} %"
    else:
        ends = " to ".join(bare(scale * end, digits) for end in (low, high))
        shown = f"{bare(scale * value, digits)}{unit} ({ends})" if not isnan(low) else ""
    little = says_little(record, kind.ends)
    chance = kind.tested and low <= 0 <= high
    row = Row(label, value=value, low=low, high=high, shown=shown, faint=little or chance)
    return replace(row, shown=f"{bare(100 * value, digits)} %, {SAYS_LITTLE}") if little else row


def _note(table: Table) -> str:
    """What is to be known of the lines of a picture."""
    if table.about.kind is PAIRS:
        return "Shrunken effects, with intervals that allow for the order of the list; grey: may be chance. "
    if table.about.kind.tested:
        unit = "In percentage points; " if table.about.kind.percent else ""
        unit = "In log odds; " if table.about.kind is LOG_ODDS else unit
        return f"{unit}grey: may be chance. ".capitalize()
    return ""


# -- maps --------------------------------------------------------------------------------------------------------------


def _map(table: Table, ax: "Axes | None") -> "Figure":
    """Draw a table as a map of colours."""
    of = _map_of_pairs(table) if table.about.kind is PAIRS else _map_of_cells(table)
    empty = any(NOT_ENOUGH in texts for texts in of.texts)
    notes = [_note_of_map(table), *([f"Empty frames: {NOT_ENOUGH}."] if empty else [])]
    return result_plots.draw_map(of, Words(table.about.title, " ".join(notes)), ax)


def _note_of_map(table: Table) -> str:
    """What is to be known of the colours of a map, and how long intervals are."""
    about, (low, high) = table.about, table.about.kind.ends
    if about.kind is PAIRS:
        chance = f"a false discovery rate above {100 * (1 - about.level):.3g} %"
        return f"Shrunken effects; pale: may be chance ({chance}). About the {about.subject}; {about.reports_in_words}."
    halves = [50 * (row[high] - row[low]) for row in table if has_interval(row, about.kind.ends)]
    longest = f"; half-widths of {about.intervals_in_words} are at most {max(halves):.2g} points" if halves else ""
    return f"In percent{longest}. About the {about.subject}; {about.reports_in_words}."


def _map_of_cells(table: Table) -> Map:
    """A map with a column for each answer to the last feature and a row for each combination of the others."""
    kind, (*others, last) = table.about.kind, table.keys
    places: dict[str, dict[str, tuple[float, str]]] = {}
    for record in table.to_pylist():
        enough = has_interval(record, kind.ends)
        value = record[kind.value] if enough else nan
        text = bare(100 * value, 0) if enough else NOT_ENOUGH
        places.setdefault(_answers(record, others), {})[_answers(record, [last])] = (value, text)
    columns = tuple(dict.fromkeys(name for row in places.values() for name in row))
    return replace(_filled(tuple(places), columns, places), percent=True)


def _map_of_pairs(table: Table) -> Map:
    """A map of all pairs, below the diagonal: features in the order in which the list has them."""
    records = table.to_pylist()
    names = list(dict.fromkeys(name for record in records for name in (record["first"], record["second"])))
    names = names[:MOST_FEATURES]
    places: dict[str, dict[str, tuple[float, str]]] = {name: {} for name in names}
    for record in records:
        if record["first"] in places and record["second"] in places:
            early, late = sorted((record["first"], record["second"]), key=names.index)
            places[late][early] = _colour_of_pair(record, table.level)
    return _filled(tuple(names[1:]), tuple(names[:-1]), places)


def _colour_of_pair(record: Record, level: float) -> tuple[float, str]:
    """The effect that a pair is coloured by, zero if it may be chance, and what is written on it."""
    if isnan(record["fdr"]):
        return nan, NOT_ENOUGH
    sure = record["fdr"] <= 1 - level + 1e-12
    value = record["shrunken"] if sure else 0.0
    return value, bare(value, 2) if sure else ""


def _filled(rows: tuple[str, ...], columns: tuple[str, ...], places: dict[str, dict[str, tuple[float, str]]]) -> Map:
    """A map of places by the names of their row and column; those that are missing are nan and empty."""
    cells = [[places[row].get(column, (nan, "")) for column in columns] for row in rows]
    values = tuple(tuple(value for value, _ in row) for row in cells)
    return Map(rows, columns, values, tuple(tuple(text for _, text in row) for row in cells))
