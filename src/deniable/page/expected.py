"""What was expected beside what came, on the page: half-widths of the tables that the plan was made for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt

from deniable.analyses.expected_and_found import ExpectedAndFound, expected_and_found
from deniable.counts.counts import Counts
from deniable.page.blocks import Cell, Number, Table
from deniable.survey.describe import distinct_titles
from deniable.text.width import isolated

# SHOWN is how many tables are listed before the rest of the list is folded.
SHOWN = 12
# WORTH_SAYING is by what part intervals are wider or narrower, because more or fewer people answered, if that is said.
WORTH_SAYING = 0.1
# HEAD names the columns; half-widths are in percentage points.
HEAD = ("table", "expected, answers equally common", "expected, answers as found", "came")


@dataclass(frozen=True)
class Expected:
    """What the page says of what was expected: whom the plan was made for, and the tables."""

    sentence: str
    table: Table
    whole: Table | None  # where the table shows the first rows alone


def expected(counts: Counts, *, level: float) -> Expected | None:
    """What is said of a survey whose plan says what it was made for; None of any other."""
    if not (each := expected_and_found(counts, level=level)):
        return None
    caption = "Half-widths of intervals, in percentage points, root mean square over the cells of each table"
    titles = distinct_titles(counts.plan.schema)
    whole = Table(caption, HEAD, tuple(_row(one, titles) for one in each))
    return Expected(_people(counts), replace(whole, rows=whole.rows[:SHOWN]), whole if len(each) > SHOWN else None)


def _row(one: ExpectedAndFound, titles: Mapping[str, str]) -> tuple[Cell, ...]:
    """One table: what was expected, and what came, or why there is nothing."""
    name = " × ".join(isolated(titles[name]) for name in one.names)
    if one.at_estimate is None or one.found is None:
        return name, _points(one.uniform), "", one.missing
    return name, *map(_points, (one.uniform, one.at_estimate, one.found))


def _points(share: float) -> Number:
    return Number(f"{100 * share:.2f}", 100 * share)  # as the caption says, also to programs


def _people(counts: Counts) -> str:
    """How many people answered, and how many the plan was made for."""
    planned = counts.plan.n
    if planned is None:
        return f"{counts.n:,} people answered; the plan was made for no certain number."
    said = f"The plan was made for {planned:,} people, and {counts.n:,} answered"
    times = sqrt(planned / counts.n)
    if abs(times - 1) < WORTH_SAYING:
        return f"{said}."
    return f"{said}: intervals are about {times:.2g} times as wide as the plan said."
