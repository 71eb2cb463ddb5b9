"""Data of which no question can be made: dates, numbers with decimal commas, files without answers or other marks."""

import re
from collections.abc import Collection, Sequence
from typing import Any

from deniable.errors import listed

# DECIMAL_COMMA is a number that may be written with a decimal comma.
DECIMAL_COMMA = re.compile(r"[+-]?(\d+)(?:,(\d+))?")
# What is said of a column of them.
DECIMALS = "its numbers have decimal commas; write them with points (1.5, not 1,5), and ranges are proposed"

# DATE is a date as people and programs write it, perhaps with a time: 2024-05-17 12:30, 17.05.2024, 5/17/24.
DATE = re.compile(r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d{2}))([T ,]+\d{1,2}:\d{2}.*)?")
# What is said of a column of them.
DATES = "it holds dates or times; make a column of years, months or age groups of them"


def dates(spelt: Collection[str]) -> bool:
    """Whether all texts are dates."""
    return bool(spelt) and all(map(DATE.fullmatch, spelt))


def decimal_commas(spelt: Collection[str]) -> bool:
    """Whether text is numbers, all with a decimal comma, or some; ticks such as "2,5" beside "2" rise in each cell."""
    found = [one for text in spelt if (one := DECIMAL_COMMA.fullmatch(text))]
    after = [one for one in found if one[2]]
    if len(spelt) < 2 or len(found) < len(spelt) or not after:
        return False
    return len(after) == len(found) or any(int(one[1]) >= int(one[2]) for one in after)


# Why nothing is proposed for a column in which nobody answered.
NO_ANSWERS = "it holds no answers"


def nothing_proposed(names: Sequence[str], why: Sequence[str], source: Any) -> str:
    """Why nothing is proposed at all, and what can be done about it; `source` is a file, or None."""
    file = "" if source is None else f"{source}: "
    if not names:
        return f"{file}there are no records, so that no question can be proposed"
    marks = [mark for mark in (";", "\t", "|") if mark in names[0]]
    if len(names) == 1 and marks:
        return (
            f"{file}there is one column, {listed(names)}: if columns are separated by {marks[0]!r}, say "
            f"--delimiter {marks[0]!r} (delimiter={marks[0]!r})"
        )
    if all(NO_ANSWERS in one for one in why):
        return f"{file}there are no answers, only the names of columns: {listed(names)}"
    return f"{file}no column can be proposed as a question: {'; '.join(why)}"
