"""Data of which no question can be made: dates, numbers with decimal commas, files without answers or other marks."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from deniable.client import NUMBER
from deniable.errors import listed, shortened
from deniable.reports.reading.words import plain

# WRITTEN is how people write numbers that programs do not read, each with how to write them instead. The first form
# that fits a whole column is meant: "45,231" has a comma between thousands, but not beside "0,5".
POINT = "without, and with a decimal point"
WRITTEN = {
    "commas between thousands": (r"(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?", "without (45231, not 45,231)"),
    "decimal commas": (r"\d+(,\d+)?", "with points (1.5, not 1,5)"),
    "points between thousands": (r"(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d+)?", f"{POINT} (1234.56, not 1.234,56)"),
    "blanks between thousands": (r"(\d+|[1-9]\d{0,2}([ '’]\d{3})+)([.,]\d+)?", f"{POINT} (1234.56, not 1 234,56)"),
}
# ONE_COMMA is a whole number with a comma in it, or two ticks.
ONE_COMMA = re.compile(r"[+-]?(\d+),(\d+)")
# SIGN is what stands before or behind the digits of a sum of money or a share.
SIGN = re.compile(r"[$€£¥₹₽₩₺₪%]|\b(usd|eur|gbp|chf|cad|aud|jpy|inr|brl|pln|sek|nok|dkk|kr|zł|euros?)\b")
# So many different answers are a quantity, and no choice such as $5, $10 or $20.
MANY = 20


def numbers_in_words(spelt: Collection[str]) -> str:
    """How to write numbers that have a sign or commas so that they can be read; nothing of a column that has none."""
    bare = [SIGN.sub("", plain(text)).strip() for text in spelt]
    sign = ["a sign such as $, € or %"] if bare != [plain(text) for text in spelt] else []
    if len(bare) < 2 or (sign and len(bare) <= MANY) or _are_ticks(bare):
        return ""
    if all(map(NUMBER.fullmatch, bare)):
        without = f"its numbers have {''.join(sign)}; write them without (45231, not $45231), and ranges are proposed"
        return without if sign else ""
    fits = {mark: re.compile(f"[+-]?{form}").fullmatch for mark, (form, _) in WRITTEN.items()}
    marks = next((mark for mark, fit in fits.items() if all(map(fit, bare))), None)
    if marks is None:
        return ""
    otherwise = "; or, if they are decimal commas, with points (45.231, not 45,231)" if _is_unsure(marks, bare) else ""
    return (
        f"its numbers have {' and '.join([*sign, marks])}; write them {WRITTEN[marks][1]}{otherwise}, "
        "and ranges are proposed"
    )


def _is_unsure(marks: str, bare: Collection[str]) -> bool:
    """Whether commas between thousands may be decimal ones: each number has one at most, and no point."""
    return marks.startswith("commas") and all(one.count(",") < 2 and not {",", "."} <= {*one} for one in bare)


def _are_ticks(bare: Collection[str]) -> bool:
    """Whether numbers with commas may be ticks, such as "2,5" beside "2": not if all have one, or in one it falls."""
    pairs = [(int(one[1]), int(one[2])) for text in bare if (one := ONE_COMMA.fullmatch(text))]
    return 0 < len(pairs) < len(bare) and all(low < high for low, high in pairs)


# DATE is a date as people and programs write it, perhaps with a time: 2024-05-17 12:30, 17.05.2024, 5/17/24.
DATE = re.compile(r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d{2}))([T ,]+\d{1,2}:\d{2}.*)?")
# What is said of a column of them.
DATES = "it holds dates or times; make a column of years, months or age groups of them"


def dates(spelt: Collection[str]) -> bool:
    """Whether all texts are dates."""
    return bool(spelt) and all(map(DATE.fullmatch, spelt))


# A column is one of numbers with a few other words if this share of its answers are numbers.
NEARLY_ALL = 0.8
# So many of the other words are shown.
FEW = 3


def not_numbers(times: Mapping[Any, int]) -> str:
    """Which words keep a column from being numbers, where nearly all of its answers are; else nothing."""
    other = {text: count for text, count in times.items() if not NUMBER.fullmatch(text.strip())}
    if not 0 < sum(other.values()) <= (1 - NEARLY_ALL) * sum(times.values()):
        return ""
    more = f" and {len(other) - FEW:,} more" if len(other) > FEW else ""
    return (
        f"; all but {sum(other.values()):,} are numbers: correct {', '.join(map(shortened, [*other][:FEW]))}{more}, or "
        "empty these cells, and ranges are proposed"
    )


def names_like_answers(columns: Mapping[str, Mapping[Any, int]]) -> str:
    """That a file may have no line of names, where names are numbers or answers themselves; else nothing."""
    like = [
        name
        for name, times in columns.items()
        if NUMBER.fullmatch(name.strip()) or plain(name) in {plain(one) for one in times if isinstance(one, str)}
    ]
    if not like:
        return ""
    shown = f"{', '.join(map(shortened, like[:FEW]))}{', ...' * (len(like) > FEW)}"
    return (
        f". NOTE: {shown} look{'s' * (len(like) == 1)} like answers, not like names of columns: if the first line is a "
        "record, it was lost; write a line with the names of the columns above it"
    )


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
