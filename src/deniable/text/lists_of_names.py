"""Lists of names in one text, with commas between them, as options of the shell and choices of a page have them.

A name with a comma in it may stand in double quotes, as in CSV; it need not where the names that there are say how the
text is to be read.
"""

import csv
from collections.abc import Collection


def listed_names(text: str, known: Collection[str]) -> list[str]:
    """The names that a text lists, of some that there are: all of it is one, or the commas outside of quotes part them.

    Names that are not known are left as they are, for an error; a text that is no line of CSV is a `csv.Error`.
    """
    if text in known:
        return [text]
    parts = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    return parts if {*parts} <= {*known} else _with_commas(text.strip(), known) or parts


def _with_commas(text: str, known: Collection[str]) -> list[str]:
    """Known names, the longest that fit, with which a text can be read from its beginning to its end; else none."""
    if text in known:
        return [text]
    for name in sorted(known, key=len, reverse=True):
        rest = text.removeprefix(name).lstrip()
        if text.startswith(name) and rest.startswith(",") and (others := _with_commas(rest[1:].lstrip(), known)):
            return [name, *others]
    return []


def quotes_in_words(names: Collection[str], known: Collection[str]) -> str:
    """That a name with a comma goes in double quotes, if one of some names is a part of such a name; else nothing."""
    broken = {part.strip() for name in known if "," in name for part in name.split(",")}
    return "; a name with a comma in it goes in double quotes: '\"A, b\",C'" if broken & {*names} - {*known} else ""
