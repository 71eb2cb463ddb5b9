"""Tables in text: columns line up by what is seen."""

import re

from deniable.text.tables import aligned
from deniable.text.width import width

ROWS = [("日本", "1.5", "a"), ("e\u0301te", "-12.25", "bb"), ("🎈🎈🎈", "not enough reports", None)]


def test_columns_line_up_by_what_is_seen() -> None:
    head, rule, *lines = aligned(("name", "number", "word"), ROWS, numbers=(1,), rule=True, colour=False)
    ends = [width(part) for part in re.split(r"(?<=-)  (?=-)", rule)]
    for line in (head, *lines[:2]):
        first = line.split("  ")[0]
        assert width(line) <= width(rule)
        rest = line[len(first) :].lstrip()
        number = rest.split()[0]
        before = line[: line.index(number, len(first)) + len(number)]
        assert width(before) == ends[0] + 2 + ends[1]  # numbers end together
    assert lines[2].endswith("not enough reports")  # and goes on over the word's column
    assert width(lines[2]) == width(rule)
    assert lines[0].startswith("日本    ")  # six columns wide, as three balloons are
