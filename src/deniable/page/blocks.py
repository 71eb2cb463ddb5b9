"""Blocks of the page: a chart with its caption and its numbers in a table, and how numbers are shown.

No number stands without its interval: where there are not enough reports, words stand in its place.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from deniable.analyses.share_findings import Share
from deniable.analyses.who_was_asked import Asked
from deniable.charts import interval_chart
from deniable.charts.interval_chart import Row
from deniable.text.fixed_phrases import NOT_ENOUGH, SAYS_LITTLE, how_many
from deniable.text.width import isolated, width

# SEE_TABLE ends the description of every chart for readers who do not see it.
SEE_TABLE = "The table below has the numbers."

# LONG is how wide the name of a table's row may be, in letters, to stand beside several numbers, and SHORT on a
# telephone.
LONG, SHORT = 60, 18
# FEW is how many columns have room beside each other on a telephone, if names are short.
FEW = 4


@dataclass(frozen=True)
class Number:
    """A number as it is shown, and its exact value."""

    shown: str
    value: float


Cell = str | Number


@dataclass(frozen=True)
class Table:
    """A table of words and numbers: the first `words` columns are words, and the first of them names its row."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: int = 1
    remarks: bool = False  # whether the last column is of words, too

    @property
    def beside(self) -> int:
        """How many columns stand beside each other where the name of a row has a line of its own, as have remarks."""
        return len(self.head) - 1 - self.remarks

    @property
    def stacked(self) -> str:
        """Where the name of a row has a line of its own, above its numbers: everywhere, on telephones, or nowhere."""
        longest = max(width(str(first)) for first, *_ in (self.head, *self.rows))
        if longest > LONG and len(self.head) >= FEW:
            return "stacked"
        return "stacked-if-narrow" if longest > SHORT or len(self.head) > FEW else ""


@dataclass(frozen=True)
class Chart:
    """A chart with its heading, a caption that says what there is to see, and its numbers."""

    name: str
    heading: str
    caption: str
    svg: str
    table: Table
    note: str = ""


def with_share(share: Share, shares: Sequence[Share]) -> str:
    """An answer with its share and interval, with as many digits as the others are shown with."""
    return f"{isolated(share.label)}, {in_words(share, digits_for(shares))}"


def row_of(share: Share, label: str, digits: int) -> Row:
    """A share as a line of a chart."""
    words = in_words(share, digits) if share.enough else ""
    return Row(label, value=share.value, low=share.low, high=share.high, shown=words)


def numbers_of(share: Share, digits: int) -> tuple[Cell, ...]:
    """A share and its interval as cells of a table, or why there is none."""
    if not share.enough:
        return NOT_ENOUGH, "", ""
    return tuple(Number(_percent(x, digits), x) for x in (share.value, share.low, share.high))


def in_words(share: Share, digits: int) -> str:
    """A share with its interval: "12.3 % (11.9 to 12.7)", and whether that says little."""
    little = f", {SAYS_LITTLE}" if share.says_little else ""
    return f"{_percent(share.value, digits)} ({_bare(share.low, digits)} to {_bare(share.high, digits)}{little})"


def digits_for(shares: Iterable[Share]) -> int:
    """How many digits percentages are shown with after the point: one third of a usual half-width, or finer."""
    return interval_chart.digits_for([50 * (share.high - share.low) for share in shares if share.enough])


def asked_in_words(asked: Iterable[Asked | None]) -> str:
    """How many respondents were asked the questions of a chart, as the end of its caption; nothing if all were."""
    some = [one for one in asked if one]
    if not some or all(one.everybody for one in some):
        return ""
    low, high, of = min(one.n for one in some), max(one.n for one in some), some[0].of
    if not high:
        return f" Nobody was asked, of {how_many(of, 'respondent')}."
    each = "Each was asked" if len(some) > 1 else "Asked"
    return f" {each} of {low:,}{f' to {high:,}' if high > low else ''} of {of:,} respondents."


def with_asked(table: Table, asked: Sequence[Asked | None]) -> Table:
    """A table with a last column of how many respondents were asked what each row is about; as it is if all were."""
    if all(one is None or one.everybody for one in asked):
        return table
    rows = tuple((*row, f"{one.n:,}" if one else "") for row, one in zip(table.rows, asked, strict=True))
    return replace(table, head=(*table.head, "asked"), rows=rows)


def with_merged(table: Table, merged: Sequence[str]) -> Table:
    """A table with a last column of the rare answers that were merged for each row; as it is if none were."""
    if not any(merged):
        return table
    rows = tuple((*row, words) for row, words in zip(table.rows, merged, strict=True))
    return replace(table, head=(*table.head, "merged answers"), rows=rows, remarks=True)


def percent(rate: float) -> str:
    """A rate or a confidence level in percent, with the digits it has."""
    return f"{100 * rate:.10g} %"


def _percent(share: float, digits: int) -> str:
    return f"{_bare(share, digits)} %"


def _bare(share: float, digits: int) -> str:
    """A percentage without its sign."""
    return interval_chart.bare(100 * share, digits)
