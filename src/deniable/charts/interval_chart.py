"""A chart of estimates with their confidence intervals, one below the other (a forest plot)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, isnan, log10
from statistics import median
from typing import Any

from deniable.charts.drawing import (
    AGAINST,
    BAR,
    INK,
    LABELS,
    LETTER,
    LINES,
    MARK,
    SMALL,
    SOFT,
    WIDTH,
    figure,
    rectangle,
    svg,
    text,
)
from deniable.text.fixed_phrases import NOT_ENOUGH
from deniable.text.width import isolated, shortened, told_apart, width, wrapped

# LINE is the distance from one line of a label to the next, in points.
LINE = 15
# NUMBERS are the font size of the numbers at the right and the room for each of their letters.
NUMBERS = (11, 5.9)
# TICK is the room that a letter of a number at a tick takes, over the size of its font.
TICK = 0.6
# HEADING is how many letters a heading has room for, and SHORTEST how many of a question are in it at least.
HEADING, SHORTEST = int(WIDTH / LETTER), 16
# LINES_FILLED is how many lines' letters a label of two lines may have, as lines end after words.
LINES_FILLED = 1.6
# PAIRED stands before the second feature of a pair.
PAIRED = "× "
# ROUND are the steps between ticks that an axis may have, times a power of ten.
ROUND = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Row:
    """A line of the chart: an estimate with its interval, nan where there are not enough reports; or a heading."""

    label: str
    under: str = ""  # the second line of the label
    value: float = 0.0
    low: float = 0.0
    high: float = 0.0
    shown: str = ""  # the numbers in words
    faint: bool = False  # whether it may be chance
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
        """Display width of the label, in one line if that fits."""
        one = width(self.whole)
        return one if LETTER * one + 10 <= LABELS[1] else max(width(self.label), width(self.under))

    @property
    def numbers(self) -> str:
        """The words at the right of the line."""
        return "" if self.heading else self.shown if self.enough else NOT_ENOUGH

    def lines(self, most: int) -> list[str]:
        """The label in one or two lines that are at most so wide, if it is short enough."""
        if self.heading:
            return [shortened(self.label, HEADING)]
        if self.under and width(self.whole) > most:
            return [self.label, self.under]
        return wrapped(self.whole, most)


@dataclass(frozen=True)
class Scale:
    """A linear scale from values to points across the chart, with its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]
    left: float
    right: float

    def __call__(self, x: float) -> float:
        return self.left + (self.right - self.left) * (x - self.low) / (self.high - self.low)

    @property
    def zero(self) -> float:
        """The point at which bars begin: zero, or the end of the axis that is nearest to it."""
        return self(min(max(0, self.low), self.high))


def draw(rows: Sequence[Row], *, name: str, title: str, about: str, percent: bool = True) -> str:
    """The chart as SVG: labels at the left, intervals in the middle, numbers at the right.

    `name` begins the identifiers of the SVG element, `title` and `about` are read to those who do not see it, and
    `percent` shows the axis in percent.
    """
    left = _label_room(rows)
    right = WIDTH - 12 - NUMBERS[1] * _letters(rows)
    labels = _labels(rows, int((left - 10) / LETTER))
    heights = [LINE * len(lines) + (11 if row.heading else 9) for row, lines in zip(rows, labels, strict=True)]
    scale = Scale(*limits(rows, percent=percent), left, right)
    top = sum(heights)
    with figure(top + 26) as (drawn, axis):
        _ticks(axis, scale, top, percent=percent)
        for row, lines, middle in zip(rows, labels, _middles(heights, top + 24), strict=True):
            _label(axis, left - 10, middle, lines, heading=row.heading)
            _line(axis, scale, middle, row)
        return svg(drawn, name=name, title=title, about=about)


def heading(said: Sequence[tuple[str, str]]) -> str:
    """A heading of questions with an answer each; the answers are whole, and long questions are told apart."""
    room = (HEADING - sum(width(answer) + len(", ") + 2 for _, answer in said)) // len(said)
    questions = told_apart([question for question, _ in said], max(room, SHORTEST))
    return ", ".join(
        f"{isolated(question)}{'' if question.endswith('?') else ':'} {isolated(answer)}"
        for question, (_, answer) in zip(questions, said, strict=True)
    )


def _labels(rows: Sequence[Row], most: int) -> list[list[str]]:
    """The lines of all labels, at most so wide; where they would be the same, of another part of each label."""
    parts = [part for row in rows for part in (row.label, row.under.removeprefix(PAIRED))]
    short = told_apart(parts, most - width(PAIRED))
    whole = told_apart([row.label for row in rows], int(LINES_FILLED * most))
    found = [row.lines(most) for row in rows]
    alike = Counter(tuple(own) for own, _ in {(tuple(own), row.whole) for own, row in zip(found, rows, strict=True)})
    for k, row in enumerate(rows):
        if row.under and len(found[k]) > 1:
            mark = PAIRED if row.under.startswith(PAIRED) else ""
            found[k] = [short[2 * k], f"{mark}{short[2 * k + 1]}"]
        elif alike[tuple(found[k])] > 1 and not row.heading:
            found[k] = wrapped(whole[k], most)
    return found


def limits(rows: Sequence[Row], *, percent: bool) -> tuple[float, float, tuple[float, ...]]:
    """Lowest and highest value of the axis, with zero between them, and its ticks."""
    ends = [end for row in rows if row.enough for end in (row.low, row.high, row.value)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    if high - low == 0:
        low, high = 0.0, 1.0
    step = _step((high - low) / 4)
    first, last = floor(low / step), -floor(-high / step)
    if percent and high <= 1:
        last = min(last, round(1 / step) if step * round(1 / step) >= high else last)
    shown = tuple(tick for k in range(first, last + 1) if low - step / 2 <= (tick := k * step) <= high + step / 2)
    return min(low, shown[0]), max(high, shown[-1]), shown


def _step(rough: float) -> float:
    """The least round number that is not below this one."""
    unit = 10.0 ** floor(log10(rough))
    return unit * next(nice for nice in ROUND if unit * nice >= rough * (1 - 1e-9))


def _label_room(rows: Sequence[Row]) -> float:
    """Room for the labels, between the least and the most that they may take."""
    return min(max([LABELS[0], *(LETTER * row.width + 10 for row in rows if not row.heading)]), LABELS[1])


def _letters(rows: Sequence[Row]) -> int:
    """Letters of the longest words at the right; a chart of headings alone keeps room for those about few reports."""
    return max(len(row.shown if row.enough else NOT_ENOUGH) for row in rows)


def _middles(heights: Sequence[float], top: float) -> Iterator[float]:
    """The middle of each line, from the top down."""
    for height in heights:
        yield top - height / 2
        top -= height


def _ticks(axis: Any, scale: Scale, top: float, *, percent: bool) -> None:
    """Draw the axis: a line at each tick, and its number below."""
    numbers = tick_labels(scale.ticks, scale.right - scale.left, percent=percent)
    for tick, number in zip(scale.ticks, numbers, strict=True):
        axis.plot([scale(tick)] * 2, [20, top + 24], color=SOFT if tick == 0 else LINES, lw=0.8)
        text(axis, scale(tick), 6, number, SOFT, "center", size=SMALL)


def tick_labels(ticks: Sequence[float], room: float, *, percent: bool, unit: str = " %") -> list[str]:
    """The numbers at ticks in so much room; where they would touch, only at every second or third from zero."""
    numbers = [tick_in_words(tick, percent=percent, unit=unit) for tick in ticks]
    needed = TICK * SMALL * (max(map(len, numbers)) + 2)
    every = max(1, ceil(needed * (len(ticks) - 1) / room)) if room > 0 else len(ticks)
    zero = min(range(len(ticks)), key=lambda k: abs(ticks[k]))
    return [number if (k - zero) % every == 0 else "" for k, number in enumerate(numbers)]


def tick_in_words(number: float, *, percent: bool, unit: str = " %") -> str:
    """The number at a tick, with a true minus; percentage points are percentages without their unit."""
    words = f"{100 * number:.10g}" if percent else f"{number:.10g}"
    return words.replace("-", "−") + (unit if percent else "")


def _label(axis: Any, right: float, y: float, lines: Sequence[str], *, heading: bool) -> None:
    """Write the lines of a label, which end at `right`; a heading begins at the left of the chart."""
    if heading:
        text(axis, 0, y - 3, lines[0], INK, "left", bold=True)
        return
    for k, line in enumerate(lines):
        text(axis, right, y + LINE * ((len(lines) - 1) / 2 - k), line, INK, "right")


def _line(axis: Any, scale: Scale, y: float, row: Row) -> None:
    """Draw the interval of a line, if there is one, and write its numbers."""
    if row.enough:
        _interval(axis, scale, y, row)
    if row.numbers:
        colour = INK if row.enough and not row.faint else SOFT
        text(axis, scale.right + 10, y, row.numbers, colour, "left", size=NUMBERS[0])


def _interval(axis: Any, scale: Scale, y: float, row: Row) -> None:
    """Draw a pale bar up to the estimate, its interval over it, and a stroke at the estimate."""
    zero, low, value, high = scale.zero, scale(row.low), scale(row.value), scale(row.high)
    colour = SOFT if row.faint else AGAINST if row.value < 0 else MARK
    rectangle(axis, (min(zero, value), y - 5.5), abs(value - zero), 11, color=BAR, lw=0)
    axis.plot([low, high], [y, y], color=colour, lw=4, solid_capstyle="butt")
    axis.plot([value, value], [y - 5.5, y + 5.5], color=INK, lw=1.4, solid_capstyle="butt")


def digits_for(halves: Sequence[float]) -> int:
    """How many digits numbers with such half-widths are shown with: to a third of a usual one, or finer."""
    half = median(halves) if halves else 1.0
    return 1 if half <= 0 else min(max(ceil(-log10(half / 3)), 0), 6)


def bare(number: float, digits: int) -> str:
    """A number with so many digits and a true minus, and zero without one."""
    shown = f"{number:.{digits}f}"
    return shown.replace("-", "−") if float(shown) else f"{0:.{digits}f}"
