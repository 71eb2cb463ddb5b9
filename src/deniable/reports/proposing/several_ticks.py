"""Questions with several answers to tick: lists, text with a mark between answers, or a column of marks for each."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from deniable.client import number_text
from deniable.errors import listed
from deniable.reports.proposing.columns import Column, Proposed, spelt_once
from deniable.reports.proposing.orders import alphabetical, recognised
from deniable.reports.reading.multi_select import parts
from deniable.reports.reading.words import MISSING, YES, plain
from deniable.survey.schema import SEPARATOR, Flag, Flags

# A multi-select question has at most so many answers to tick.
MOST_TICKS = 40
# What stands between ticks, and what share of cells must have it, at least.
MARKS = {";": 0.0, "|": 0.0, "\n": 0.0, ",": 0.05}

# What stands in a cell that is ticked, beside words for yes.
TICKED = YES | {"x", "✓", "✔", "☑"}


def ticked_or_blank(columns: Iterable[Column]) -> dict[str, Proposed]:
    """Columns that hold one answer or nothing, as exports have them for each answer that may be ticked: blank is no.

    The answer is a mark or means yes, or another column of the same question ("Q3_1" and "Q3_2") is such a one, too.
    """
    found = {column.name: column for column in columns if _is_tick(column)}
    heads = Counter(map(_head, found))
    made = {}
    for name, column in found.items():
        (answer,) = spelt_once({_as_text(value): count for value, count in column.times.items()})
        if plain(answer) in TICKED or heads[_head(name)] > 1:
            why = f"yes or no: {answer!r} is yes, a blank is no ({column.nulls:,} of them)"
            made[name] = Proposed(name, Flag(name, yes=answer, no=""), why)
    return made


def _is_tick(column: Column) -> bool:
    """Whether a column has one answer, beside blanks, and no word says that there is none."""
    if column.kind not in ("text", "number") or not column.nulls or column.words:
        return False
    answers = {plain(_as_text(value)) for value in column.times}
    return len(answers) == 1 and answers != {"0"}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else number_text(value)


def _head(name: str) -> str:
    """What a column's name begins with if it is of a question: "Q3" of "Q3_1" and of "Q3: TV"; else all of it."""
    return name.partition(SEPARATOR)[0] if SEPARATOR in name else name.rpartition("_")[0] or name


def one_question(head: str, own: list[Proposed]) -> Proposed:
    """One multi-select question of several yes/no columns."""
    flags = [one.question for one in own if isinstance(one.question, Flag)]
    skipped = any(flag.missing for flag in flags)
    empty = "; some without an answer" if skipped else ""
    told = f"several of {len(own)} may be ticked, a column for each"
    if any(flag.no == "" for flag in flags):
        return Proposed(head, tuple(replace(flag, question=head) for flag in flags), f"{told}; a blank is no{empty}")
    values = [one.name.removeprefix(head + SEPARATOR) for one in own]
    return Proposed(head, Flags(head, values, missing=MISSING if skipped else None), f"{told}{empty}")


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


def ticks_in_words(values: Iterable[str]) -> str:
    """That values of a choice may be several ticks each, where two or more have a mark in them; else nothing."""
    for mark in (";", "|"):
        cells = [parts(value, mark) for value in values]
        if (several := sum(len(cell) > 1 for cell in cells)) > 1:
            ticks = list(dict.fromkeys(tick for cell in cells for tick in cell))
            return (
                f"; {several} of them have {mark!r} in them: if several answers could be ticked, make it flags = "
                f"[{listed(ticks)}]"
            )
    return ""


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
    values, skipped = recognised(values) or alphabetical(values), column.nulls - column.blanks
    empty = f"; {column.nulls:,} ticked nothing" if column.nulls else ""
    if skipped:
        empty = f"; {column.nulls:,} without an answer"
    question = Flags(column.name, values, missing=MISSING if skipped else None)
    return Proposed(column.name, question, f"several of {len(values)} may be ticked, {form}{empty}")
