"""Tables for a terminal: words flush left, numbers flush right, and a little colour where it can be shown."""

import os
from collections.abc import Collection, Iterator, Sequence
from typing import IO

from deniable.text.width import left, right, width

# BOLD, DIM and ALARM are the ANSI codes of a table's head, of what is less important, and of warnings.
BOLD, DIM, ALARM = "1", "2", "1;33"
# GAP stands between two columns.
GAP = "  "

Row = Sequence[str | None]  # None where the cell before it spans this column too


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a stream is a terminal on which lines can be wiped and coloured."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def coloured(stream: IO[str] | None) -> bool:
    """Whether to colour what is written to a stream: a terminal, unless NO_COLOR is set; FORCE_COLOR asks for it."""
    return not os.environ.get("NO_COLOR") and (
        os.environ.get("FORCE_COLOR", "0") not in ("", "0") or is_terminal(stream)
    )


def paint(text: str, style: str, *, colour: bool) -> str:
    """Text in a terminal style, if there is colour."""
    return f"\033[{style}m{text}\033[0m" if colour and text else text


def aligned(
    head: Sequence[str], rows: Sequence[Row], *, numbers: Collection[int], rule: bool, colour: bool
) -> list[str]:
    """The lines of a table with aligned columns.

    `numbers` are the columns that are flush right, `rule` draws a line under the head. Cells that span several columns
    are dimmed.
    """
    widths = _widths(head, rows)
    lines = [paint(_line(head, widths, numbers), BOLD, colour=colour)]
    if rule:
        lines.append(paint(GAP.join("-" * w for w in widths), DIM, colour=colour))
    return lines + [_line(row, widths, numbers, colour=colour) for row in rows]


def _widths(head: Sequence[str], rows: Sequence[Row]) -> list[int]:
    """The width of each column; a cell that spans several columns widens the last of them if need be."""
    widths = [width(cell) for cell in head]
    cells = [cell for row in rows for cell in spans(row)]
    for k, cell, more in cells:
        if not more:
            widths[k] = max(widths[k], width(cell))
    for k, cell, more in cells:
        if more:
            widths[k + more] += max(0, width(cell) - _span(widths, k, more))
    return widths


def spans(row: Row) -> Iterator[tuple[int, str, int]]:
    """The cells of a row: the column of each, its text, and how many columns more it spans."""
    starts = [k for k, cell in enumerate(row) if cell is not None]
    for k, end in zip(starts, [*starts[1:], len(row)], strict=True):
        yield k, row[k] or "", end - k - 1


def _span(widths: Sequence[int], k: int, more: int) -> int:
    """The width of a column together with so many columns after it."""
    return sum(widths[k : k + more + 1]) + len(GAP) * more


def _line(row: Row, widths: Sequence[int], numbers: Collection[int], *, colour: bool = False) -> str:
    """One line of the table."""
    cells = []
    for k, cell, more in spans(row):
        placed = (right if k in numbers else left)(cell, _span(widths, k, more))
        cells.append(paint(placed, DIM, colour=colour) if more else placed)
    return GAP.join(cells).rstrip()
