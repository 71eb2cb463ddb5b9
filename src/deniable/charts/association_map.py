"""A heat map of associations: the lower triangle of a matrix of pairs, with a key to its colours."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from deniable.charts.drawing import (
    AGAINST,
    CELL,
    INK,
    LABELS,
    LETTER,
    MARK,
    SIZE,
    SMALL,
    SOFT,
    WIDTH,
    figure,
    rectangle,
    svg,
    text,
)
from deniable.text.fixed_phrases import NOT_ENOUGH
from deniable.text.width import told_apart, width

# DOT stands where nobody was asked both questions of a pair.
DOT = "•"


class Gap(Enum):
    """Why a pair has no colour, in the words of the key."""

    FEW = NOT_ENOUGH
    APART = "not asked together"


Effects = Sequence[Sequence[float | Gap]]


@dataclass(frozen=True)
class Grid:
    """Where the cells of the heat map stand, in points."""

    size: int
    left: float
    side: float
    row_height: float

    @property
    def top(self) -> float:
        """Height of the rows, with the numbers of the columns over them."""
        return self.row_height * self.size + 20

    def bottom(self, row: int) -> float:
        """Lower edge of a row."""
        return self.top + 38 - self.row_height * (row + 1)

    def middle(self, row: int) -> float:
        """Height of the middle of a row."""
        return self.bottom(row) + self.row_height / 2

    def centre(self, column: int) -> float:
        """Place across of the middle of a column."""
        return self.left + self.side * (column + 0.5)

    def cell(self, axis: Any, row: int, column: int, **look: Any) -> None:
        """Draw the rectangle of a cell."""
        corner = (self.left + self.side * column + 0.75, self.bottom(row) + 0.75)
        rectangle(axis, corner, self.side - 1.5, self.row_height - 1.5, **look)


def draw(names: Sequence[str], effects: Effects, *, name: str, title: str, about: str) -> str:
    """The heat map as SVG: the stronger an association, the deeper the colour of its cell.

    `effects[i]` are those of feature i with the features before it: a gap where there are not enough reports, or where
    nobody was asked both, and zero where an association may be chance. Columns are numbered as the rows are. `name`
    begins the identifiers of the SVG element, `title` and `about` are read to those who do not see it.
    """
    left = min(max(width(label) for label in names) * LETTER + 34, LABELS[1] + 20)
    side = min(30.0, (WIDTH - left) / (len(names) - 1))
    grid = Grid(len(names), left, side, max(side, 14.0))
    every = [effect for row in effects for effect in row]
    known = [effect for effect in every if not isinstance(effect, Gap)]
    gaps = [gap for gap in Gap if gap in every]
    most = max(map(abs, known), default=0) or 1.0
    with figure(grid.top + 62) as (drawn, axis):
        labels = told_apart(names, int((grid.left - 34) / LETTER))
        for i, row in enumerate(effects):
            _row_label(axis, grid, i, labels[i])
            for j, effect in enumerate(row):
                _cell(axis, grid, i, j, effect, most)
        _column_numbers(axis, grid)
        _key(axis, left, most, gaps, negative=min(known, default=0) < 0)
        return svg(drawn, name=name, title=title, about=about)


def _row_label(axis: Any, grid: Grid, row: int, label: str) -> None:
    """Write the name of a row, and its number."""
    text(axis, grid.left - 32, grid.middle(row), label, INK, "right", size=SMALL if grid.size > 20 else SIZE)
    text(axis, grid.left - 10, grid.middle(row), str(row + 1), SOFT, "right", size=SMALL)


def _column_numbers(axis: Any, grid: Grid) -> None:
    """Write the numbers of the columns; of narrow columns, the first and every fifth."""
    for column in range(grid.size - 1):
        if grid.side >= 15 or column == 0 or column % 5 == 4:
            text(axis, grid.centre(column), grid.top + 48, str(column + 1), SOFT, "center", size=SMALL)


def _cell(axis: Any, grid: Grid, row: int, column: int, effect: float | Gap, most: float) -> None:
    """Draw a cell: empty without enough reports, pale by chance, else in a colour; a minus says what orange says."""
    if effect is Gap.FEW:
        grid.cell(axis, row, column, facecolor="none", edgecolor=SOFT, linewidth=0.7)
    if effect is Gap.APART:
        text(axis, grid.centre(column), grid.middle(row), DOT, SOFT, "center", size=SMALL)
    if isinstance(effect, Gap):
        return
    grid.cell(axis, row, column, lw=0, color=CELL)
    if effect:
        hue = AGAINST if effect < 0 else MARK
        grid.cell(axis, row, column, lw=0, color=hue, alpha=round(abs(effect) / most, 3))
    if effect < 0:
        text(axis, grid.centre(column), grid.middle(row), "−", INK, "center", size=SMALL)


def _key(axis: Any, left: float, most: float, gaps: Sequence[Gap], *, negative: bool) -> None:
    """Draw the key: what the colours stand for."""
    steps = [k / 4 for k in range(-4 if negative else 0, 5)]
    start = max(left, 40.0)
    for k, step in enumerate(steps):
        for colour, alpha in ((CELL, None), (AGAINST if step < 0 else MARK, abs(step))):
            rectangle(axis, (start + 15 * k, 20), 13.5, 11, lw=0, color=colour, alpha=alpha)
    for k in (0, steps.index(0), len(steps) - 1) if negative else (0, len(steps) - 1):
        text(axis, start + 15 * k + 7, 9, f"{steps[k] * most:.2f}".replace("-", "−"), SOFT, "center", size=SMALL)
    at = start + 15 * len(steps) + 24
    for gap in gaps:
        if gap is Gap.FEW:
            rectangle(axis, (at, 20), 13.5, 11, facecolor="none", edgecolor=SOFT, lw=0.7)
        else:
            text(axis, at + 7, 26, DOT, SOFT, "center", size=SMALL)
        text(axis, at + 20, 26, gap.value, SOFT, "left", size=SMALL)
        at += 38 + 0.6 * SMALL * len(gap.value)
