"""Display width of text, line breaking, and isolation of right-to-left text."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

# UNSEEN are the Unicode categories of characters without width: combining marks and invisible controls.
UNSEEN = ("Mn", "Me", "Cf")
# ORDINARY are the bidirectional classes of characters that do not change the direction of the text around them.
ORDINARY = ("", "L", "EN", "ES", "ET", "CS", "NSM", "BN", "B", "S", "WS", "ON")
# ISOLATES are the controls that open and close a bidirectional isolate.
ISOLATES = "\u2066\u2067\u2068\u2069"


def width(text: str) -> int:
    """Display width in columns of a terminal: wide East Asian letters and emoji take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(letter) in UNSEEN else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def left(text: str, columns: int) -> str:
    """Text padded with spaces at its right to a display width."""
    return text + " " * (columns - width(text))


def right(text: str, columns: int) -> str:
    """Text padded with spaces at its left to a display width."""
    return " " * (columns - width(text)) + text


def shortened(text: str, most: int) -> str:
    """Text cut to a display width of `most`, with an ellipsis in place of what is left out."""
    if width(text) <= most:
        return text
    kept = next(k for k in range(len(text), -1, -1) if width(text[:k]) < most or k == 0)
    return text[:kept].rstrip() + "…"


def told_apart(texts: Sequence[str], most: int) -> list[str]:
    """Texts cut to a display width of `most`, so that different ones stay different.

    Of texts that begin alike, the middle is left out rather than the end; numbers tell apart what nothing else does.
    """
    cut, short = [shortened(text, most) for text in texts], []
    for text, own in zip(texts, cut, strict=True):
        alike = {other for other, its in zip(texts, cut, strict=True) if its == own} - {text}
        same = max((_alike_at_first(text, other) for other in alike), default=0)
        short.append(_from_where_it_differs(text, same, most) if alike else own)
    said = dict(zip(texts, short, strict=True))
    taken = Counter(said.values())
    numbered = {
        text: f"{shortened(cut, most - 4)} ({k})" if taken[cut] > 1 else cut
        for k, (text, cut) in enumerate(said.items(), 1)
    }
    return [numbered[text] for text in texts]


def _alike_at_first(text: str, other: str) -> int:
    """How many letters two texts have in common before they differ."""
    return sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(text, other, strict=False)))


def _from_where_it_differs(text: str, same: int, most: int) -> str:
    """The first letters of a text, an ellipsis, and the text from shortly before its letter number `same`."""
    head, room = text[: most // 3].rstrip(), most - most // 3 - 1
    start = text.rfind(" ", max(same - room // 2, 0), same) + 1 or max(same - room // 4, 0)
    return f"{head}…{shortened(text[start:], room)}"


def wrapped(text: str, most: int) -> list[str]:
    """Text in one or two lines of at most this display width, broken between words if possible."""
    if width(text) <= most:
        return [text]
    first = _first_line(text, most)
    return [first.rstrip(), shortened(text[len(first) :].lstrip(), most)]


def folded(text: str, most: int) -> list[str]:
    """Text in as many lines of at most this display width as it takes, broken between words if possible."""
    lines = []
    while width(text) > most:
        line = _first_line(text, most)
        lines.append(line.rstrip())
        text = text[len(line) :].lstrip()
    return [*lines, text]


def _first_line(text: str, most: int) -> str:
    """As much of a text as fits a line of this display width, to the end of a word if possible."""
    fits = max(k for k in range(len(text) + 1) if k <= 1 or width(text[:k]) <= most)
    blank = text.rfind(" ", fits // 3, fits + 1)
    return text[: blank if blank > 0 else fits]


def isolated(text: str) -> str:
    """Text in a bidirectional isolate if it is written right to left: else it would reorder the numbers beside it."""
    if text.isascii() or all(unicodedata.bidirectional(letter) in ORDINARY for letter in text):
        return text
    return f"\u2068{''.join(letter for letter in text if letter not in ISOLATES)}\u2069"


def printable(text: str) -> str:
    """Text with the two characters that a schema allows and XML does not replaced by the replacement character."""
    return text.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
