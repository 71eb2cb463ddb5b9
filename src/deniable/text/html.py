"""HTML for notebooks: tables and printed text, escaped, in the colours of the notebook itself, light or dark."""

from collections.abc import Collection, Sequence
from html import escape

from deniable.text.tables import Row, spans
from deniable.text.width import printable

# CELL is the style of every cell; the colour of text is the notebook's own, and lines are a paler shade of it.
CELL = "padding:.25em .8em .25em 0;vertical-align:baseline;border:0;border-bottom:1px solid #8886;background:none"
# TABLE is the style of a table, which takes font and colour from what is around it.
TABLE = "border-collapse:collapse;font:inherit;color:inherit;font-variant-numeric:tabular-nums"
# SHORT is how many letters of a cell are kept in one line.
SHORT = 30
# PLAIN is the style of printed text: lines keep their columns, and scroll where a notebook is narrow.
PLAIN = "overflow-x:auto;line-height:1.35;margin:.2em 0;background:none"


def table(head: Sequence[str], rows: Sequence[Row], *, numbers: Collection[int], title: str, caption: str) -> str:
    """A table as HTML: `numbers` are the columns that are flush right, and None is spanned by the cell before it."""
    lines = [_row("th", head, numbers), *(_row("td", row, numbers) for row in rows)]
    above = f"<div><strong>{written(title)}</strong></div>" if title else ""
    below = f'<div style="opacity:.75;font-size:.9em">{written(caption)}</div>' if caption else ""
    of = "".join(lines)
    return f'<div style="overflow-x:auto">{above}<table style="{TABLE}">{of}</table>{below}</div>'


def printed(result: object) -> str:
    """What `print` shows of a result, as HTML: the `_repr_html_` of results that are a few lines of text."""
    text = str(result)
    space = "pre" if "\n" in text else "pre-wrap"
    return f'<pre style="white-space:{space};{PLAIN}">{written(text)}</pre>'


def written(text: str) -> str:
    """Text that is shown as it is, whatever markup it may look like."""
    return escape(printable(text))


def _row(tag: str, row: Row, numbers: Collection[int]) -> str:
    """One row; a cell that spans several columns is paler."""
    shown = []
    for k, cell, more in spans(row):
        style = f"{CELL};text-align:{'right' if k in numbers else 'left'}{';opacity:.75' if more else ''}"
        style += ";white-space:nowrap" if len(cell) <= SHORT else ""
        span = f' colspan="{more + 1}"' if more else ""
        shown.append(f'<{tag}{span} style="{style}"><bdi>{written(cell)}</bdi></{tag}>')
    return f"<tr>{''.join(shown)}</tr>"
