"""Tables in a terminal: words at the left, numbers at the right, and a little colour where it can be shown."""

import os
from collections.abc import Collection, Sequence
from typing import IO

from deniable.text.width import left, right, width

BOLD, DIM, ALARM = "1", "2", "1;33"
GAP = "  "

Row = Sequence[str | None]  # None where the cell before it goes on


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether lines written there can be wiped and coloured."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def coloured(stream: IO[str] | None) -> bool:
    """Whether to colour what is written there: on a terminal, unless NO_COLOR is set; FORCE_COLOR asks for it."""
    return not os.environ.get("NO_COLOR") and (
        os.environ.get("FORCE_COLOR", "0") not in ("", "0") or is_terminal(stream)
    )


def paint(text: str, style: str, *, colour: bool) -> str:
    """Text in a style, if there is colour."""
    return f"\033[{style}m{text}\033[0m" if colour and text else text


def aligned(
    head: Sequence[str], rows: Sequence[Row], *, numbers: Collection[int], rule: bool, colour: bool
) -> list[str]:
    """Lines of a table; `numbers` are the columns that stand at the right. Cells that go on are dimmed."""
    widths = [width(cell) for cell in head]
    for row in rows:
        for k, cell in enumerate(row):
            if cell is not None and not _goes_on(row, k):
                widths[k] = max(widths[k], width(cell))
    for row in rows:  # what goes on widens the last of its columns
        for k, cell in enumerate(row):
            if cell is not None and (more := _goes_on(row, k)):
                widths[k + more] += max(0, width(cell) - _over(widths, k, more))
    lines = [paint(_line(head, widths, numbers), BOLD, colour=colour)]
    if rule:
        lines.append(paint(GAP.join("-" * w for w in widths), DIM, colour=colour))
    return lines + [_line(row, widths, numbers, colour=colour) for row in rows]


def _goes_on(row: Row, k: int) -> int:
    """Over how many columns more."""
    more = 0
    while k + more + 1 < len(row) and row[k + more + 1] is None:
        more += 1
    return more


def _over(widths: Sequence[int], k: int, more: int) -> int:
    """How wide columns are together."""
    return sum(widths[k : k + more + 1]) + len(GAP) * more


def _line(row: Row, widths: Sequence[int], numbers: Collection[int], *, colour: bool = False) -> str:
    cells = []
    for k, cell in enumerate(row):
        if cell is None:
            continue
        more = _goes_on(row, k)
        placed = (right if k in numbers else left)(cell, _over(widths, k, more))
        cells.append(paint(placed, DIM, colour=colour) if more else placed)
    return GAP.join(cells).rstrip()
