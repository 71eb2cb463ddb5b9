"""Columns in which several answers may be ticked: lists, or text with a mark between answers."""

from collections import Counter
from collections.abc import Mapping

from deniable.reports.proposing.columns import Column, Proposed, spelt_once
from deniable.reports.proposing.orders import alphabetical, recognised
from deniable.reports.reading.multi_select import parts
from deniable.survey.schema import Flags

# A multi-select question has at most so many answers to tick.
MOST_TICKS = 40
# What stands between ticks, and what share of cells must have it, at least.
MARKS = {";": 0.0, "|": 0.0, "\n": 0.0, ",": 0.05}


def of_lists(column: Column) -> Proposed:
    """Lists of ticks: a multi-select question."""
    return _ticks(column, column.times, "lists")


def several_in_text(column: Column) -> Proposed | None:
    """A multi-select question, if cells of text hold several answers that come again in other cells."""
    for mark, least in MARKS.items():
        cells = {tuple(parts(text, mark)): count for text, count in column.times.items()}
        several = sum(count for cell, count in cells.items() if len(cell) > 1)
        times: Counter[str] = Counter()
        for cell in cells:
            times.update(set(cell))
        again = sum(count > 1 or (tick,) in cells for tick, count in times.items())
        if several > least * column.given and 2 <= len(times) <= MOST_TICKS and again > 0.7 * len(times):
            return _ticks(column, cells, f"with {mark!r} between them")
    return None


def _ticks(column: Column, cells: Mapping[tuple[str, ...], int], form: str) -> Proposed:
    """A multi-select question from what was ticked together, and how often."""
    times: Counter[str] = Counter()
    for cell, count in cells.items():
        for tick in dict.fromkeys(cell):
            times[tick] += count
    values = list(spelt_once(times))
    if not values or len(values) > MOST_TICKS:
        return Proposed(
            column.name, None, f"{len(values):,} different answers are ticked in it, too many for one question"
        )
    empty = f"; {column.nulls:,} ticked nothing" if column.nulls else ""
    values = recognised(values) or alphabetical(values)
    return Proposed(column.name, Flags(column.name, values), f"several of {len(values)} may be ticked, {form}{empty}")
