"""Pictures of results in matplotlib: estimates with their intervals (a forest plot), and maps of colours.

They look as the page's charts do, in the page's colours for a light or a dark background, whichever
matplotlib's current style has. Axes are ordinary ones: what is drawn on them can be changed afterwards.
"""

import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.charts.drawing import LETTER, SMALL
from deniable.charts.drawing import SIZE as FONT
from deniable.charts.interval_chart import PAIRED as PAIRED
from deniable.charts.interval_chart import Row, bare, digits_for, limits, tick_labels
from deniable.text.width import printable, told_apart, width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# WIDE is the width of a figure in inches; it can be read where it is shown 400 pixels wide.
WIDE = 6.0
# LABEL is how many letters of a label are shown.
LABEL = 24
# MANY is how many columns of a map have numbers in them, and NARROW how many letters of a label more columns show.
MANY, NARROW = 8, 18
# KEY is the height of the colour bar below a map without numbers, in inches.
KEY = 0.55
# ROW is the height of a line of a forest plot in inches, AROUND that of axis and of a title and caption of one line.
ROW, AROUND = 0.29, 1.15
# LINE is how many letters a line of the caption has, and TITLE a line of the title.
LINE, TITLE = 74, 52
# TITLE_LINES is how many lines a title has at most.
TITLE_LINES = 3
# SPACED is the height of a line of text over that of its letters.
SPACED = 1.25
# PAD is the room around a picture in inches, and MARGIN the share of the axis that is free before the numbers.
PAD, MARGIN = 0.08, 0.03
# THICK is the width of the stroke of an interval in points.
THICK = 4.5


@dataclass(frozen=True)
class Palette:
    """The colours of the page's style sheet, on a light or a dark background."""

    ink: str
    soft: str
    line: str
    mark: str
    bar: str
    against: str
    cell: str


LIGHT = Palette("#1b2230", "#566072", "#dce1e8", "#0a5a9c", "#d6e6f4", "#b04a06", "#eef1f4")
DARK = Palette("#e9ecf1", "#a3adbd", "#343d4b", "#74b6f2", "#1f3c58", "#f3a267", "#232a35")


@dataclass(frozen=True)
class Words:
    """What stands above and below a picture."""

    title: str
    caption: str


@dataclass(frozen=True)
class Map:
    """A map of colours: a number for each row and column, nan where there is none, and what is written there."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    texts: tuple[tuple[str, ...], ...]
    percent: bool = False

    @property
    def most(self) -> float:
        """The number furthest from zero, which has the deepest colour; one if there is none."""
        known = [abs(value) for row in self.values for value in row if not isnan(value)]
        return max(known, default=0.0) or 1.0


def draw_intervals(
    rows: Sequence[Row], words: Words, ax: "Axes | None", *, percent: bool, unit: str = " %"
) -> "Figure":
    """Draw estimates with their intervals, one below the other, and give the figure; `unit` is that of percentages."""
    labels = _labels(rows)
    lines = max(label.count("\n") for label in labels) + 1
    with _axes(ax, words, AROUND + ROW * (1 + 0.65 * (lines - 1)) * len(rows)) as (axis, colours):
        low, high, ticks = limits(rows, percent=percent)
        zero = min(max(0.0, low), high)
        for y, row in enumerate(rows):
            if row.enough:
                _interval(axis, y, zero, row, colours)
            colour = colours.ink if row.enough and not row.faint else colours.soft
            axis.text(
                1.02, y, printable(row.numbers), transform=axis.get_yaxis_transform(), va="center", ha="left",
                color=colour, fontsize=SMALL,
            )  # fmt: skip
        numbers = tick_labels(ticks, _room(labels, rows), percent=percent, unit=unit)
        axis.set_xticks(ticks, numbers, fontsize=SMALL)
        axis.set(xlim=(low, high + MARGIN * (high - low)), ylim=(len(rows) - 0.4, -0.6))
        for tick in ticks:
            axis.axvline(tick, color=colours.soft if tick == 0 else colours.line, lw=0.8, zorder=0)
        axis.tick_params(length=0, colors=colours.soft)
        axis.set_yticks(range(len(rows)), labels, color=colours.ink, fontsize=SMALL if ax else FONT, linespacing=1.1)
        for row, label in zip(rows, axis.get_yticklabels(), strict=True):
            label.set(fontweight="bold" if row.heading else "normal")
        axis.spines[:].set_visible(False)
    return _figure(axis)


def draw_map(of: Map, words: Words, ax: "Axes | None") -> "Figure":
    """Draw a map of colours: the further a number from zero, the deeper its colour; orange is below zero."""
    columns = told_apart(of.columns, LABEL if len(of.columns) <= MANY else NARROW)
    widest = max(map(width, columns))
    turned = 90 if len(columns) > MANY else 45 if widest * len(columns) > 32 else 0
    above = {0: 0.2, 45: 0.065 * widest, 90: 0.09 * widest}[turned]
    below = KEY if len(columns) > MANY else 0.0
    with _axes(ax, words, AROUND + above + 0.3 * len(of.rows) + below) as (axis, colours):
        for y, (row, texts) in enumerate(zip(of.values, of.texts, strict=True)):
            for x, (value, number) in enumerate(zip(row, texts, strict=True)):
                narrow = len(columns) > MANY and not isnan(value)
                text = "−" * (value < 0) if narrow else number
                _map_cell(axis, (x, y), value / of.most, text, colours)
        axis.set(xlim=(-0.5, len(of.columns) - 0.5), ylim=(len(of.rows) - 0.5, -0.5))
        axis.set_xticks(
            range(len(columns)), map(printable, columns), fontsize=SMALL, color=colours.ink, rotation=turned,
            ha="left" if turned else "center", va="center" if turned == 90 else "baseline", rotation_mode="anchor",
        )  # fmt: skip
        axis.xaxis.tick_top()
        rows = told_apart(of.rows, LABEL)
        axis.set_yticks(range(len(rows)), map(printable, rows), color=colours.ink, fontsize=SMALL)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        if below:
            _key_of_colours(axis, of, colours)
    return _figure(axis)


def _key_of_colours(axis: Any, of: Map, colours: Palette) -> None:
    """Draw a colour bar below a map whose cells have no room for their numbers."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    most = of.most
    low = -most if any(value < 0 for row in of.values for value in row) else 0.0
    shades = [colours.against, colours.cell, colours.mark] if low else [colours.cell, colours.mark]
    shown = ScalarMappable(Normalize(low, most), LinearSegmentedColormap.from_list("map", shades))
    bar = _figure(axis).colorbar(shown, ax=axis, orientation="horizontal", aspect=30, shrink=0.6, anchor=(0, 0))
    ticks = [low + k * (most - low) / 4 for k in range(5)]
    digits = digits_for([(100 if of.percent else 1) * most / 4])
    numbers = [f"{bare((100 if of.percent else 1) * tick, digits)}{' %' if of.percent else ''}" for tick in ticks]
    bar.set_ticks(ticks, labels=numbers)
    bar.ax.tick_params(length=0, colors=colours.soft, labelsize=SMALL)
    bar.outline.set_visible(False)


@contextmanager
def _axes(ax: "Axes | None", words: Words, high: float) -> Iterator[tuple[Any, Palette]]:
    """Axes to draw on, those given or of a new figure, with their title and caption."""
    import matplotlib as mpl

    from deniable.charts.notebook_figure import NotebookFigure

    with mpl.rc_context({"text.parse_math": False, "font.size": FONT}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*missing from font")
        colours = _palette(mpl.rcParams["text.color"])
        title = printable("\n".join(title_lines(words.title)))
        if ax is None:
            caption = "\n".join(textwrap.wrap(words.caption, LINE))
            more = SPACED * (FONT * title.count("\n") + SMALL * caption.count("\n")) / 72
            figure = NotebookFigure(figsize=(WIDE, high + more), layout="constrained")
            figure.get_layout_engine().set(w_pad=PAD, h_pad=PAD)  # type: ignore[union-attr, call-arg]
            axis: Any = figure.subplots()
            figure.suptitle(title, x=0.01, ha="left", fontsize=FONT, fontweight="bold")
            figure.supxlabel(printable(caption), x=0.01, ha="left", fontsize=SMALL, color=colours.soft)
        else:
            axis = ax
            axis.set_title(title, loc="left", fontsize=FONT, fontweight="bold")
            axis.set_xlabel(printable("\n".join(textwrap.wrap(words.caption, LINE // 2))), fontsize=SMALL, loc="left")
        yield axis, colours


def title_lines(title: str) -> list[str]:
    """A title in at most TITLE_LINES lines; one that is longer ends with an ellipsis, after a word."""
    lines = textwrap.wrap(title, TITLE)
    if len(lines) <= TITLE_LINES:
        return lines
    kept = lines[:TITLE_LINES]
    last = kept[-1] if len(kept[-1]) < TITLE else kept[-1].rpartition(" ")[0] or kept[-1][:-1]
    return [*kept[:-1], f"{last.rstrip(' ,;:.')}…"]


def _room(labels: Sequence[str], rows: Sequence[Row]) -> float:
    """About how wide the axis is in points, beside the labels at the left and the numbers at the right."""
    words = max(width(line) for label in labels for line in label.split("\n"))
    return 72 * WIDE - LETTER * words - 0.8 * LETTER * max(len(row.numbers) for row in rows) - 30


def _palette(text: Any) -> Palette:
    """The colours that go with those of the current style's text: dark text is on a light background."""
    from matplotlib.colors import to_rgb

    return LIGHT if np.dot(to_rgb(text), (0.299, 0.587, 0.114)) < 0.5 else DARK


def _figure(axis: Any) -> "Figure":
    """The figure that axes are part of."""
    figure: Figure = axis.get_figure(root=True)
    return figure


def _interval(axis: Any, y: float, zero: float, row: Row, colours: Palette) -> None:
    """Draw a pale bar up to the estimate, its interval over it, and a stroke at the estimate."""
    colour = colours.soft if row.faint else colours.against if row.value < 0 else colours.mark
    axis.barh(y, row.value - zero, left=zero, height=0.62, color=colours.bar, lw=0, zorder=1)
    axis.plot([row.low, row.high], [y, y], color=colour, lw=THICK, solid_capstyle="butt", zorder=2)
    axis.plot([row.value] * 2, [y - 0.31, y + 0.31], color=colours.ink, lw=1.5, solid_capstyle="butt", zorder=3)


def _labels(rows: Sequence[Row]) -> list[str]:
    """The labels of lines, short enough and told apart; one of two parts takes two lines if it is long."""
    parts = [part.removeprefix(PAIRED) for row in rows for part in (row.label, row.under)]
    both = told_apart(parts, LABEL - len(PAIRED) if any(row.under for row in rows) else LABEL)
    short = zip(rows, both[::2], both[1::2], strict=True)
    return [
        printable(f"{label}{_break(row)}{PAIRED if row.under.startswith(PAIRED) else ''}{under}".rstrip())
        for row, label, under in short
    ]


def _break(row: Row) -> str:
    """What stands between the two parts of a label."""
    return "\n" if row.under and width(row.whole) > LABEL else " "


def _map_cell(axis: Any, at: tuple[int, int], part: float, text: str, colours: Palette) -> None:
    """Draw one cell, `part` of the deepest colour, and what is written in it; an empty frame where there is none."""
    from matplotlib.patches import Rectangle

    x, y = at
    corner = (x - 0.47, y - 0.47)
    if not isnan(part):
        axis.add_patch(Rectangle(corner, 0.94, 0.94, color=colours.cell, lw=0))
        hue = colours.against if part < 0 else colours.mark
        axis.add_patch(Rectangle(corner, 0.94, 0.94, color=hue, alpha=abs(part), lw=0))
    elif text:  # there are not enough reports
        axis.add_patch(Rectangle(corner, 0.94, 0.94, facecolor="none", edgecolor=colours.soft, lw=0.8))
        return
    deep = not isnan(part) and abs(part) > 0.55
    paper = "#ffffff" if colours is LIGHT else "#12161d"
    axis.text(x, y, text, ha="center", va="center", fontsize=SMALL, color=paper if deep else colours.ink)
