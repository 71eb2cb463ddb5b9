"""Charts as SVG to stand inside a page: drawn by matplotlib, coloured and lettered by the page's own style sheet.

What is drawn has stand-in colours, which are replaced by the style sheet's variables; text stays text, in the page's
font. Labels are never read as mathematics or markup. The same content gives the same bytes.
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from math import floor, isnan, log10
from typing import Any
from xml.etree import ElementTree

from deniable.text.width import printable, shortened, width, wrapped

WIDTH = 520  # of every chart, in points; the page makes them as wide as there is room
SIZE = 12.5  # of letters
LETTER = 0.6 * SIZE  # as wide as a letter usually is in a wide font
LINE = 15  # from one line of a label to the next
LABELS = (60, 200)  # least and most room for the labels at the left
NUMBERS = (11, 5.9)  # size of the numbers at the right, and the room for each of their letters

COLOURS = {  # stand-ins, and the variables of the style sheet that replace them
    "#010101": "--ink", "#020202": "--soft", "#030303": "--line", "#040404": "--mark", "#050505": "--bar",
    "#060606": "--against", "#070707": "--cell",
}  # fmt: skip
INK, SOFT, LINES, MARK, BAR, AGAINST, CELL = COLOURS

NOT_ENOUGH = "not enough reports"


@dataclass(frozen=True)
class Row:
    """A line of a chart: a value with its interval, nan where there are not enough reports; or a heading alone."""

    label: str
    under: str = ""  # a second line of the label
    value: float = 0.0
    low: float = 0.0
    high: float = 0.0
    shown: str = ""  # the numbers in words
    faint: bool = False  # if it may be chance
    heading: bool = False

    @property
    def enough(self) -> bool:
        """Whether there is an interval to draw."""
        return not self.heading and not isnan(self.low)

    @property
    def whole(self) -> str:
        """The label in one line."""
        return f"{self.label} {self.under}".rstrip()

    @property
    def width(self) -> int:
        """Of the label, in one line if it fits."""
        one = width(self.whole)
        return one if LETTER * one + 10 <= LABELS[1] else max(width(self.label), width(self.under))

    def lines(self, most: int) -> list[str]:
        """The label in one or two lines that are no wider."""
        if self.heading:
            return [shortened(self.label, int(WIDTH / LETTER))]
        if self.under and width(self.whole) > most:
            return [shortened(text, most) for text in (self.label, self.under)]
        return wrapped(self.whole, most)


def intervals(rows: Sequence[Row], *, name: str, title: str, about: str, percent: bool = True) -> str:
    """Rows of values with their intervals, labels at the left and numbers at the right."""
    left = min(max([LABELS[0], *(LETTER * row.width + 10 for row in rows if not row.heading)]), LABELS[1])
    right = WIDTH - 12 - NUMBERS[1] * max(len(row.shown if row.enough else NOT_ENOUGH) for row in rows)
    labels = [row.lines(int((left - 10) / LETTER)) for row in rows]
    heights = [LINE * len(lines) + (11 if row.heading else 9) for row, lines in zip(rows, labels, strict=True)]
    low, high, ticks = scale(rows, percent=percent)
    top = sum(heights)
    with _figure(top + 26) as (figure, axis):

        def place(x: float) -> float:
            return left + (right - left) * (x - low) / (high - low)

        for tick in ticks:
            axis.plot([place(tick)] * 2, [20, top + 24], color=SOFT if tick == 0 else LINES, lw=0.8)
            _text(axis, place(tick), 6, _tick(tick, percent=percent), SOFT, "center", size=10.5)
        y = float(top + 24)
        for row, lines, height in zip(rows, labels, heights, strict=True):
            middle = y - height / 2
            _label(axis, 0 if row.heading else left - 10, middle - 3 * row.heading, lines, heading=row.heading)
            if row.enough:
                _interval(axis, [place(x) for x in (min(max(0, low), high), row.low, row.value, row.high)], middle, row)
                _text(axis, right + 10, middle, row.shown, SOFT if row.faint else INK, "left", size=NUMBERS[0])
            elif not row.heading:
                _text(axis, right + 10, middle, NOT_ENOUGH, SOFT, "left", size=NUMBERS[0])
            y -= height
        return _svg(figure, name, title, about)


def _interval(axis: Any, places: Sequence[float], y: float, row: Row) -> None:
    """A pale bar up to the value, its interval over it, and a stroke at the value."""
    from matplotlib.patches import Rectangle

    zero, low, value, high = places
    colour = SOFT if row.faint else AGAINST if row.value < 0 else MARK
    axis.add_patch(Rectangle((min(zero, value), y - 5.5), abs(value - zero), 11, color=BAR, lw=0))
    axis.plot([low, high], [y, y], color=colour, lw=4, solid_capstyle="butt")
    axis.plot([value, value], [y - 5.5, y + 5.5], color=INK, lw=1.4, solid_capstyle="butt")


def heat_map(
    names: Sequence[str], effects: Sequence[Sequence[float | None]], *, name: str, title: str, about: str
) -> str:
    """How strongly each pair goes together, as the depth of a colour; None if there are not enough reports.

    `effects[i]` are those of feature i with the features before it. Columns are numbered as the rows are.
    """
    from matplotlib.patches import Rectangle

    size = len(names)
    left = min(max(width(label) for label in names) * LETTER + 34, LABELS[1] + 20)
    side = min(30.0, (WIDTH - left) / (size - 1))
    labels = [shortened(label, int((left - 34) / LETTER)) for label in names]
    row_height = max(side, 14.0)
    most = max((abs(x) for row in effects for x in row if x is not None), default=0) or 1.0
    top = row_height * size + 20
    with _figure(top + 62) as (figure, axis):
        for i, label in enumerate(labels):
            y = top + 58 - 20 - row_height * (i + 1)
            middle, letters = y + row_height / 2, 10.5 if size > 20 else SIZE
            _text(axis, left - 32, middle, label, INK, "right", size=letters)
            _text(axis, left - 10, middle, str(i + 1), SOFT, "right", size=10.5)
            for j, effect in enumerate(effects[i]):
                corner = (left + side * j + 0.75, y + 0.75)
                cell = Rectangle(corner, side - 1.5, row_height - 1.5, lw=0, color=CELL)
                if effect is None:
                    cell.set(facecolor="none", edgecolor=SOFT, linewidth=0.7)
                axis.add_patch(cell)
                if effect:
                    hue = AGAINST if effect < 0 else MARK
                    axis.add_patch(
                        Rectangle(
                            corner, side - 1.5, row_height - 1.5, lw=0, color=hue, alpha=round(abs(effect) / most, 3)
                        )
                    )
                    if effect < 0:  # not by colour alone
                        _text(axis, left + side * (j + 0.5), middle, "−", INK, "center", size=10.5)
        for j in range(size - 1):
            if side >= 15 or j == 0 or j % 5 == 4:
                _text(axis, left + side * (j + 0.5), top + 48, str(j + 1), SOFT, "center", size=10.5)
        _key(
            axis,
            left,
            most,
            any(x is None for row in effects for x in row),
            any(x and x < 0 for r in effects for x in r),
        )
        return _svg(figure, name, title, about)


def _key(axis: Any, left: float, most: float, missing: bool, negative: bool) -> None:
    """What the colours stand for."""
    from matplotlib.patches import Rectangle

    steps = [k / 4 for k in range(-4 if negative else 0, 5)]
    start = max(left, 40.0)
    for k, step in enumerate(steps):
        for colour, alpha in ((CELL, None), (AGAINST if step < 0 else MARK, abs(step))):
            axis.add_patch(Rectangle((start + 15 * k, 20), 13.5, 11, lw=0, color=colour, alpha=alpha))
    for k in (0, steps.index(0), len(steps) - 1) if negative else (0, len(steps) - 1):
        _text(axis, start + 15 * k + 7, 9, f"{steps[k] * most:.2f}".replace("-", "−"), SOFT, "center", size=10.5)
    if missing:
        at = start + 15 * len(steps) + 24
        axis.add_patch(Rectangle((at, 20), 13.5, 11, facecolor="none", edgecolor=SOFT, lw=0.7))
        _text(axis, at + 20, 26, NOT_ENOUGH, SOFT, "left", size=10.5)


# -- axes --------------------------------------------------------------------------------------------------------------


def scale(rows: Sequence[Row], *, percent: bool) -> tuple[float, float, list[float]]:
    """From where to where an axis goes, zero in it, and where its ticks stand."""
    ends = [end for row in rows if row.enough for end in (row.low, row.high, row.value)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    if high - low == 0:
        low, high = 0.0, 1.0
    step = _step((high - low) / 4)
    first, last = floor(low / step), -floor(-high / step)
    if percent and high <= 1:
        last = min(last, round(1 / step) if step * round(1 / step) >= high else last)
    ticks = [k * step for k in range(first, last + 1)]
    shown = [tick for tick in ticks if low - step / 2 <= tick <= high + step / 2]
    return min(low, shown[0]), max(high, shown[-1]), shown


def _step(rough: float) -> float:
    """A round number that is not smaller."""
    unit = 10.0 ** floor(log10(rough))
    return unit * next(nice for nice in (1, 2, 2.5, 5, 10) if unit * nice >= rough * (1 - 1e-9))


def _tick(number: float, *, percent: bool) -> str:
    text = f"{100 * number:.10g}" if percent else f"{number:.10g}"
    return text.replace("-", "−") + (" %" if percent else "")


# -- drawing -----------------------------------------------------------------------------------------------------------


@contextmanager
def _figure(height: float) -> Iterator[tuple[Any, Any]]:
    """A figure of the usual width whose one axis counts in points."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: Any = {
        "svg.fonttype": "none",
        "text.parse_math": False,
        "path.simplify": False,
    }
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*missing from font")  # the reader's fonts are not ours
        figure = Figure(figsize=(WIDTH / 72, height / 72))
        FigureCanvasSVG(figure)
        axis = figure.add_axes((0, 0, 1, 1), frameon=False)
        axis.set(xlim=(0, WIDTH), ylim=(0, height), autoscale_on=False)
        axis.set_axis_off()
        yield figure, axis


def _text(
    axis: Any, x: float, y: float, text: str, colour: str, align: str, *, size: float = SIZE, bold: bool = False
) -> None:
    axis.text(
        x, y - 0.34 * size, printable(text), color=colour, ha=align, va="baseline", fontsize=size,
        fontweight="bold" if bold else "normal", clip_on=False,
    )  # fmt: skip


def _label(axis: Any, x: float, y: float, lines: Sequence[str], *, heading: bool) -> None:
    for k, line in enumerate(lines):
        at = y + LINE * ((len(lines) - 1) / 2 - k)
        _text(axis, x, at, line, INK, "left" if heading else "right", bold=heading)


def _svg(figure: Any, name: str, title: str, about: str) -> str:
    """The figure as an element of a page, with a title and a description for those who do not see it."""
    file = StringIO()
    figure.savefig(file, format="svg", transparent=True)
    drawn = ElementTree.fromstring(file.getvalue())
    words = {"role": "img", "aria-labelledby": f"{name}-title {name}-about", "class": "chart"}
    svg = ElementTree.Element("svg", {"viewBox": drawn.get("viewBox", ""), **words})
    for tag, text in (("title", title), ("desc", about)):
        ElementTree.SubElement(svg, tag, {"id": words["aria-labelledby"].split()[tag == "desc"]}).text = printable(text)
    svg.extend(_drawn(drawn))
    return ElementTree.tostring(svg, encoding="unicode")


def _drawn(element: Any) -> Iterator[Any]:
    """The shapes and the text in an element, without the groups around them and what they would be called."""
    for child in element:
        tag = child.tag.rpartition("}")[2]
        if tag == "g":
            yield from _drawn(child)
        elif tag in ("path", "text") and child.get("style") != "fill: none":
            kept = ElementTree.Element(tag, _attributes(child))
            kept.text = child.text
            yield kept


def _attributes(element: Any) -> dict[str, str]:
    """Those that say where and how, colours as the style sheet's variables and the font the page's."""
    found = {}
    for key, value in element.items():
        match key:
            case "d":
                found["d"] = _NUMBER.sub(lambda number: f"{float(number[0]):.2f}", " ".join(value.split()))
            case "style":
                style = re.sub(r" ?font-family:[^;]*;", "", value)
                found["style"] = _COLOUR.sub(lambda colour: f"var({COLOURS[colour[0]]})", style)
            case "x" | "y":
                found[key] = f"{float(value):.2f}"
    return found


_NUMBER = re.compile(r"-?\d+\.\d+")
_COLOUR = re.compile("|".join(COLOURS))
