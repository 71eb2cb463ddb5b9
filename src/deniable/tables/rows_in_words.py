"""Rows of results in words: numbers with four digits, and words where an interval is missing or says little."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from deniable.inference.intervals import share_says_little
from deniable.text.fixed_phrases import NOT_ENOUGH, SAYS_LITTLE, answer_as_text

Record = Mapping[str, Any]

# PROBABILITIES are the columns that are shown with two significant digits.
PROBABILITIES = ("p_value", "p_holm", "fdr")
# LEAST_P is the least probability that is shown as a number: below it tails are not that exact.
LEAST_P = 1e-12
# SHARES are the columns that hold shares, whose intervals may say little.
SHARES = ("proportion",)


@dataclass(frozen=True)
class Written:
    """A table in words: its head, its rows, and which of its columns are numbers."""

    head: list[str]
    rows: list[list[str | None]]  # None where the cell before it spans this column too
    numbers: list[int]


def in_words(rows: Sequence[Record], names: Sequence[str], ends: tuple[str, str]) -> Written:
    """Rows in words, of these columns, under their own names; `ends` are those with the ends of intervals.

    A column about merged answers is left out where nothing was merged.
    """
    shown = [name for name in names if name != "merged" or any(row["merged"] for row in rows)]
    numbers = [k for k, name in enumerate(shown) if name in ends or any(isinstance(row[name], float) for row in rows)]
    head = list(shown)
    cells = [_cells(row, shown, ends) for row in rows]
    if any(says_little(row, ends) for row in rows):
        head.append("")
        for own, row in zip(cells, rows, strict=True):
            own.append(SAYS_LITTLE if says_little(row, ends) else "")
    return Written(head, cells, numbers)


def has_interval(row: Record, ends: tuple[str, str]) -> bool:
    """Whether there are enough reports for the interval of a row, if it has one."""
    return all(row.get(end) is not None and not isnan(row[end]) for end in ends)


def says_little(row: Record, ends: tuple[str, str]) -> bool:
    """Whether a row is of a share whose interval is too long to tell much."""
    share = next((row[name] for name in SHARES if name in row), None)
    return share is not None and has_interval(row, ends) and share_says_little(share, *(row[end] for end in ends))


def _cells(row: Record, names: Sequence[str], ends: tuple[str, str]) -> list[str | None]:
    """The texts of one row, with words in place of an interval that there are too few reports for."""
    texts: dict[str, str | None] = {name: _cell(name, row[name]) for name in names}
    if set(ends) <= set(names) and not has_interval(row, ends):
        texts |= dict(zip(ends, (NOT_ENOUGH, None), strict=True))
    return list(texts.values())


def _cell(name: str, value: Any) -> str:
    """The text of one cell: two significant digits for p-values and false discovery rates, four decimals elsewhere."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return probability_as_text(value) if name in PROBABILITIES else f"{value:.4f}"
    return answer_as_text(value)


def probability_as_text(probability: float) -> str:
    """A p-value or a false discovery rate with two significant digits; tiny ones as less than LEAST_P."""
    return f"{probability:.2g}" if probability > LEAST_P else f"<{LEAST_P:.0e}"
