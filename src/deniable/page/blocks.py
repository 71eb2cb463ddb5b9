"""What a page shows of one matter: a picture, what there is to see in it, and its numbers in a table.

No number stands without its interval: where there are not enough reports, words stand in its place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, isnan, log10
from statistics import median
from typing import Any

from deniable.analyses.sample_size import Needed
from deniable.charts import charts
from deniable.charts.charts import NOT_ENOUGH, Row
from deniable.text.width import isolated

SEE_TABLE = "The table below has the numbers."

Share = tuple[str, dict[str, Any]]  # a label, and a row of `table()` or `conditional()`


@dataclass(frozen=True)
class Number:
    """A number as it is shown, and as it is."""

    shown: str
    value: float


Cell = str | Number


@dataclass(frozen=True)
class Table:
    """Rows of words and numbers; the first `words` columns are words, the first of them names its row."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: int = 1


@dataclass(frozen=True)
class Chart:
    """A picture, what there is to see in it, and its numbers."""

    name: str
    heading: str
    caption: str
    svg: str
    table: Table
    note: str = ""


@dataclass(frozen=True)
class Unanswered:
    """What there were not enough reports for, and how many it would take."""

    what: str
    missing: str
    needed: Needed


def shares_chart(name: str, heading: str, shares: Sequence[Share], caption: str, what: str, level: float) -> Chart:
    """Shares as a chart with its table, whose first column is headed by `what` they are of."""
    digits = digits_for(row for _, row in shares)
    rows = [row_of(label, row, digits) for label, row in shares]
    svg = charts.intervals(rows, name=name, title=heading, about=f"{caption} {SEE_TABLE}")
    table = Table(
        f"{heading}: shares of the population with {100 * level:.10g} % intervals",
        (what, "share", "from", "to"),
        tuple((label, *numbers_of(row, digits)) for label, row in shares),
    )
    return Chart(name, heading, caption, svg, table)


def most_common(shares: Sequence[Share]) -> str:
    """The most common answer, if it can be told."""
    known = sorted((share for share in shares if not isnan(share[1]["low"])), key=lambda share: -share[1]["proportion"])
    if not known:
        return "None of the answers has enough reports."
    if len(known) < len(shares):
        return f"{len(shares) - len(known)} of {len(shares)} answers have not enough reports."
    first, second = known[:2]
    said = _with_share(first, shares)
    if first[1]["low"] > second[1]["high"]:
        return f"Most common: {said}."
    return f"Most common as far as can be told: {said}; its interval overlaps that of {isolated(second[0])}."


def highest_and_lowest(shares: Sequence[Share]) -> str:
    """The first and the last of shares that fall."""
    known = [share for share in shares if not isnan(share[1]["low"])]
    if not known:
        return "None of them has enough reports."
    first, last = known[0], known[-1]
    if len(known) == 1:
        return f"{'Only one has enough reports: ' if len(shares) > 1 else ''}{_with_share(first, shares)}."
    return f"Highest: {_with_share(first, shares)}; lowest: {_with_share(last, shares)}."


def _with_share(share: Share, shares: Sequence[Share]) -> str:
    """An answer with its share, as precise as the others are shown."""
    return f"{isolated(share[0])}, {_said(share[1], digits_for(row for _, row in shares))}"


def row_of(label: str, row: dict[str, Any], digits: int) -> Row:
    """A line of a chart."""
    words = "" if isnan(row["low"]) else _said(row, digits)
    return Row(label, value=row["proportion"], low=row["low"], high=row["high"], shown=words)


def numbers_of(row: dict[str, Any], digits: int) -> tuple[Cell, ...]:
    """A share and its interval in a table, or why there is none."""
    if isnan(row["low"]):
        return NOT_ENOUGH, "", ""
    return tuple(Number(_percent(row[name], digits), row[name]) for name in ("proportion", "low", "high"))


def _said(row: dict[str, Any], digits: int) -> str:
    return f"{_percent(row['proportion'], digits)} ({_bare(row['low'], digits)} to {_bare(row['high'], digits)})"


def digits_for(rows: Iterable[dict[str, Any]]) -> int:
    """After the point of percentages: so many that an interval's half is told, at least roughly."""
    halves = [50 * (row["high"] - row["low"]) for row in rows if not isnan(row["low"])]
    half = median(halves) if halves else 1.0
    return 1 if half <= 0 else min(max(ceil(-log10(half / 3)), 0), 6)


def _percent(share: float, digits: int) -> str:
    return f"{_bare(share, digits)} %"


def _bare(share: float, digits: int) -> str:
    text = f"{100 * share:.{digits}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"
