"""Half-widths of tables against the number of respondents and against epsilon: a picture of a plan.

It is an ordinary matplotlib figure in the colours of the current style, whose background may be light or dark. Lines
are told apart by colour, by dashes and by the order of the key.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.errors import DeniableError, PlanError
from deniable.files import check_target, replacing
from deniable.text.width import printable, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]

# SIZE is the size of the figure in inches; it can be read where it is shown 400 pixels wide.
SIZE = (6.0, 8.0)
# FONT is the font size in points.
FONT = 12.5
# LABEL is how many letters of a table's name the key shows.
LABEL = 44
# ON_LIGHT and ON_DARK are colours after Okabe and Ito, which colour-blind people can tell apart, with a contrast of at
# least 3 on such a background; none is the colour of text.
ON_LIGHT = ("#0072B2", "#D55E00", "#007F5C", "#A8527F", "", "#767676")
ON_DARK = ("#56B4E9", "#E69F00", "#2EC49A", "#E8A3C9", "", "#9A9A9A")
# DASHES are the patterns of the lines, in points drawn and points left out.
DASHES = ((), (6, 2), (2, 1.5), (8, 2, 2, 2), (1, 1), (10, 3))
# MOST is how many lines there are colours for.
MOST = len(DASHES)
# STEPS are the numbers at ticks, times a power of ten: the first of them that give few enough.
STEPS = ((1, 2, 5), (1, 3), (1,))
# TICKS is how many numbers an axis has at most.
TICKS = 6


@dataclass(frozen=True, eq=False)
class Curves:
    """Half-widths of some tables, as shares: a row for each table over a grid of respondents, and one of epsilon."""

    labels: tuple[str, ...]
    n: int
    epsilon: float
    people: Array
    by_people: Array
    epsilons: Array
    by_epsilon: Array
    here: Array  # of each table by the plan itself
    guessed: bool = False  # whether somebody guessed shares of the answers


def check_matplotlib(error: type[DeniableError] = PlanError) -> None:
    """Refuse at once, with this error, if matplotlib, which draws, is not installed."""
    try:
        __import__("matplotlib")
    except ImportError:
        raise error("a picture needs matplotlib; install it with: pip install 'deniable[report]'") from None


def draw(curves: Curves, path: str | Path | None = None) -> "Figure":
    """The picture: two panels with logarithmic axes and one key; saved, if there is a path."""
    import matplotlib as mpl

    from deniable.charts.notebook_figure import NotebookFigure

    settings: Any = {"text.parse_math": False, "font.size": FONT, "axes.titlesize": FONT, "axes.titleweight": "bold"}
    with mpl.rc_context(settings):
        figure = NotebookFigure(figsize=SIZE, layout="constrained")
        above, below = figure.subplots(2)
        looks = _looks(mpl.rcParams["figure.facecolor"], mpl.rcParams["text.color"])
        lines = _panel(above, curves.people, curves.by_people, (curves.n, curves.here), looks)
        _panel(below, curves.epsilons, curves.by_epsilon, (curves.epsilon, curves.here), looks)
        _words(above, "Half-width of 95 % intervals, in points", "people who answer", f"{curves.n:,} people")
        asked = f"epsilon, with {curves.n:,} people and the same arms"
        _words(below, "The same at another epsilon", asked, f"epsilon {curves.epsilon:.3g}")
        supposed = "with the shares that are guessed" if curves.guessed else "if all answers are equally common"
        _key(figure, lines, curves.labels, f"About the population, {supposed}:")
    if path is not None:
        save(figure, Path(path))
    return figure


def check_picture(path: str | Path) -> None:
    """Refuse a path that no picture can be written to, before it is drawn."""
    from matplotlib.backend_bases import FigureCanvasBase

    check_target(path)
    kinds = sorted(FigureCanvasBase.get_supported_filetypes())
    if (kind := Path(path).suffix.removeprefix(".")) and kind not in kinds:
        raise PlanError(f"{path}: no picture ends in {kind!r}; there are {', '.join(kinds)}")


def save(figure: "Figure", path: Path) -> None:
    """Write the picture, whole or not at all, in the format that its name ends in."""
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150, format=path.suffix.removeprefix(".") or "png")


def _looks(background: Any, text: Any) -> list[dict[str, Any]]:
    """The colour and the dashes of each line, on this background."""
    from matplotlib.colors import to_rgb

    light = np.dot(to_rgb(background), (0.299, 0.587, 0.114)) > 0.5
    colours = ON_LIGHT if light else ON_DARK
    return [{"color": colour or text, "dashes": dashes} for colour, dashes in zip(colours, DASHES, strict=True)]


def _panel(
    axis: Any, across: Array, widths: Array, own: tuple[float, Array], looks: Sequence[dict[str, Any]]
) -> list[Any]:
    """Draw one panel, with the plan's own place marked; and give its lines."""
    points = 100 * widths
    lines = [axis.plot(across, row, lw=2.5, **look)[0] for row, look in zip(points, looks, strict=False)]
    at, here = own
    for place, (width, look) in enumerate(zip(100 * here, looks, strict=False)):  # smaller ones lie on larger ones
        axis.plot([at], [width], marker="o", ms=11 - 1.4 * place, color=look["color"], ls="")
    axis.axvline(at, color=looks[4]["color"], lw=1, ls=":", zorder=0)
    axis.set(xscale="log", yscale="log", xlim=(across[0], across[-1]))
    axis.set_ylim(points.min() / 1.15, points.max() * 1.15)
    for which, ends in ((axis.xaxis, axis.get_xlim()), (axis.yaxis, axis.get_ylim())):
        places = ticks(*ends)
        which.set_ticks(places, labels=[f"{place:,.10g}" for place in places])
        which.set_ticks([], minor=True)
    axis.grid(alpha=0.3, lw=0.7)
    axis.spines[["top", "right"]].set_visible(False)
    return lines


def _words(axis: Any, title: str, across: str, mark: str) -> None:
    axis.set_title(title, loc="left")
    axis.set_xlabel(across)
    at = axis.lines[-1].get_xdata()[0]  # of the line that marks the plan's own place
    axis.annotate(mark, (at, 1), (5, -3), ("data", "axes fraction"), "offset points", va="top")


def _key(figure: Any, lines: Sequence[Any], labels: Sequence[str], title: str) -> None:
    """The names of the tables below both panels, the widest first, whatever letters they begin with."""
    names = map(str, range(len(lines)))
    key = figure.legend(lines, names, loc="outside lower left", frameon=False, handlelength=3, title=title)
    key.set_alignment("left")
    for text, label in zip(key.get_texts(), labels, strict=True):
        text.set_text(printable(shortened(label, LABEL)))


def ticks(low: float, high: float) -> list[float]:
    """Round numbers for a logarithmic axis, few enough to be read."""
    powers = range(floor(log10(low)), floor(log10(high)) + 1)
    for steps in STEPS:
        found = [float(f"{step}e{power}") for power in powers for step in steps]
        found = [place for place in found if low <= place <= high]
        if len(found) <= TICKS:
            break
    return found
