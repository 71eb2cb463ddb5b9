"""Answers that look like one answer in two spellings, and ids that come more than once."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from deniable.reports.reading.words import plain

# What may differ in two spellings of one answer beside upper and lower case: blanks, apostrophes, and dashes and points
# that stand beside no digit.
MARKS = re.compile(r"['’‘´`]|(?<!\d)[-.](?!\d)")
DASHES = re.compile("[‐‑‒–—]")
# So many pairs of answers are shown.
FEW = 3


def alike_in_words(values: Sequence[str]) -> str:
    """Which answers look like one, "18-24" and "18 - 24" or "F" and "Female"; nothing if all are different."""
    first: dict[str, str] = {}
    pairs = [(one, value) for value in values if (one := first.setdefault(_bare(value), value)) != value]
    pairs += _letters(values)
    if not pairs:
        return ""
    shown = ", ".join(f"{one!r} and {other!r}" for one, other in pairs[:FEW])
    more = f" and {len(pairs) - FEW:,} more" if len(pairs) > FEW else ""
    return f"; {shown}{more} look like one answer each: if they are, write them alike in the data"


def _bare(value: str) -> str:
    """An answer without what may differ in two spellings of it."""
    return MARKS.sub("", DASHES.sub("-", re.sub(r"\s", "", plain(value))))


def _letters(values: Collection[str]) -> list[tuple[str, str]]:
    """Answers that are one letter, with the only word that begins with it, if all such answers have one."""
    letters = [value for value in values if len(value) == 1 and value.isalpha()]
    words = {one: [other for other in values if len(other) > 1 and plain(other)[0] == plain(one)] for one in letters}
    return [(one, own[0]) for one, own in words.items()] if all(len(own) == 1 for own in words.values()) else []


def repeated_in_words(times: Mapping[Any, int]) -> str:
    """How many records have an id that another one has; nothing if none has."""
    twice = sum(count for count in times.values() if count > 1)
    return (
        f"; {twice:,} records share it with another one: if it is an id, people may be in the data twice"
        if twice
        else ""
    )
