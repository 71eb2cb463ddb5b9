"""Text as it is shown: how wide it is, where it breaks, and how it keeps to itself."""

import unicodedata

UNSEEN = ("Mn", "Me", "Cf")  # categories of marks over other letters, and of what only steers the text
ORDINARY = ("", "L", "EN", "ES", "ET", "CS", "NSM", "BN", "B", "S", "WS", "ON")  # what does not turn its surroundings
ISOLATES = "\u2066\u2067\u2068\u2069"


def width(text: str) -> int:
    """How many columns of a terminal it takes: wide letters of East Asia and pictures count twice, marks not at all."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(letter) in UNSEEN else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def left(text: str, columns: int) -> str:
    """Text at the left of so many columns."""
    return text + " " * (columns - width(text))


def right(text: str, columns: int) -> str:
    """Text at the right of so many columns."""
    return " " * (columns - width(text)) + text


def shortened(text: str, most: int) -> str:
    """Text that is no wider, its end left out if need be."""
    if width(text) <= most:
        return text
    kept = next(k for k in range(len(text), -1, -1) if width(text[:k]) < most or k == 0)
    return text[:kept].rstrip() + "…"


def wrapped(text: str, most: int) -> list[str]:
    """Text in one or two lines, broken between words if it can be."""
    if width(text) <= most:
        return [text]
    fits = max(k for k in range(len(text) + 1) if width(text[:k]) <= most)
    blank = text.rfind(" ", fits // 3, fits + 1)
    cut = blank if blank > 0 else fits
    return [text[:cut].rstrip(), shortened(text[cut:].lstrip(), most)]


def isolated(text: str) -> str:
    """Text that goes from right to left, or says so, closed in itself: else it would turn the numbers beside it."""
    if text.isascii() or all(unicodedata.bidirectional(letter) in ORDINARY for letter in text):
        return text
    return f"\u2068{''.join(letter for letter in text if letter not in ISOLATES)}\u2069"


def printable(text: str) -> str:
    """Text without the two characters that a schema lets pass and XML does not."""
    return text.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
