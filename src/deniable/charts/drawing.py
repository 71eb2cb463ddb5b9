"""SVG made with matplotlib: a figure measured in points, text on it, and its colours taken from the page's style sheet.

Shapes are drawn in stand-in colours that are then replaced by the style sheet's variables, so that one chart serves
light, dark and paper. Text stays text, in the page's font, and is never read as mathematics or markup. The same content
gives the same bytes.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any
from xml.etree import ElementTree

from deniable.text.width import printable

# WIDTH is the width of every chart in points; the page scales a chart to the room there is.
WIDTH = 460
# SIZE is the font size of labels in points.
SIZE = 12.5
# SMALL is the font size of ticks, of column numbers and of a key.
SMALL = 10.5
# LETTER is the room that one letter of a label takes in a wide font.
LETTER = 0.6 * SIZE
# LABELS are the least and the most room for the labels at the left.
LABELS = (60, 200)

# COLOURS maps each stand-in colour to the style sheet's variable that replaces it.
COLOURS = {
    "#010101": "--ink", "#020202": "--soft", "#030303": "--line", "#040404": "--mark", "#050505": "--bar",
    "#060606": "--against", "#070707": "--cell",
}  # fmt: skip
INK, SOFT, LINES, MARK, BAR, AGAINST, CELL = COLOURS

_NUMBER = re.compile(r"-?\d+\.\d+")
_COLOUR = re.compile("|".join(COLOURS))


@contextmanager
def figure(height: float) -> Iterator[tuple[Any, Any]]:
    """A matplotlib figure of the usual width, with one axis that counts in points from the lower left corner."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: Any = {"svg.fonttype": "none", "text.parse_math": False, "path.simplify": False}
    with mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*missing from font")  # the reader's fonts are not ours
        drawn = Figure(figsize=(WIDTH / 72, height / 72))
        FigureCanvasSVG(drawn)
        axis = drawn.add_axes((0, 0, 1, 1), frameon=False)
        axis.set(xlim=(0, WIDTH), ylim=(0, height), autoscale_on=False)
        axis.set_axis_off()
        yield drawn, axis


def text(
    axis: Any, x: float, y: float, words: str, colour: str, align: str, *, size: float = SIZE, bold: bool = False
) -> None:
    """Write one line of text whose middle is at height y."""
    axis.text(
        x, y - 0.34 * size, printable(words), color=colour, ha=align, va="baseline", fontsize=size,
        fontweight="bold" if bold else "normal", clip_on=False,
    )  # fmt: skip


def rectangle(axis: Any, corner: tuple[float, float], wide: float, high: float, **look: Any) -> None:
    """Draw a rectangle from its lower left corner."""
    from matplotlib.patches import Rectangle

    axis.add_patch(Rectangle(corner, wide, high, **look))


def svg(drawn: Any, *, name: str, title: str, about: str) -> str:
    """A figure as an SVG element, with a title and a description for readers who do not see it."""
    file = StringIO()
    drawn.savefig(file, format="svg", transparent=True)
    source = ElementTree.fromstring(file.getvalue())
    words = {"role": "img", "aria-labelledby": f"{name}-title {name}-about", "class": "chart"}
    element = ElementTree.Element("svg", {"viewBox": source.get("viewBox", ""), **words})
    for tag, said, identifier in (("title", title, f"{name}-title"), ("desc", about, f"{name}-about")):
        ElementTree.SubElement(element, tag, {"id": identifier}).text = printable(said)
    element.extend(_shapes(source))
    return ElementTree.tostring(element, encoding="unicode")


def _shapes(element: Any) -> Iterator[Any]:
    """The paths and texts of an SVG element, without the groups around them and their identifiers."""
    for child in element:
        tag = child.tag.rpartition("}")[2]
        if tag == "g":
            yield from _shapes(child)
        elif tag in ("path", "text") and child.get("style") != "fill: none":
            kept = ElementTree.Element(tag, _attributes(child))
            kept.text = child.text
            yield kept


def _attributes(element: Any) -> dict[str, str]:
    """Place and style of a shape: numbers with two digits, the style sheet's colours, and no font of its own."""
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
