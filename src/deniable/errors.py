"""The errors, as a tree, and how their messages show values.

Each message says what was found, where, and what to do next.

    DeniableError (a ValueError)
    ├── SchemaError    a question that cannot be asked like this
    ├── PlanError      a protocol, a budget or a plan file that cannot be used
    ├── AnswerError    an answer, a column or a record that does not fit its question
    ├── ReportError    a report, or a file of reports, that does not fit its plan
    ├── CountError     counts that cannot be, were not made, or do not add
    ├── EstimateError  a question that an estimate cannot answer
    └── CollectError   a store of reports that cannot be opened, read or written

    DeniableWarning (a UserWarning)
    ├── LeftOutWarning      records were left out, because their answers cannot be read
    ├── FitWarning          counts that no reports of their plan give, but by great chance
    ├── ArmSizeWarning      arms were answered by more or fewer people than their shares say
    └── HomogeneityWarning  surveys, or arms, that were combined do not agree with each other

The command line prints any error as one line and exits with status 1.
"""

from collections.abc import Iterable, Mapping

from deniable.client import AnswerError, DeniableError, PlanError, seen

__all__ = [
    "AnswerError", "ArmSizeWarning", "CollectError", "CountError", "DeniableError", "DeniableWarning", "EstimateError",
    "FitWarning", "HomogeneityWarning", "LeftOutWarning", "PlanError", "ReportError", "SchemaError",
]  # fmt: skip


class SchemaError(DeniableError):
    """Raised for a schema, or a feature of one, that cannot be asked like this."""


class ReportError(DeniableError):
    """Raised for a report, or a file of reports, that does not fit its plan."""


class CountError(DeniableError):
    """Raised for counts that cannot be true, were not made, or do not add."""


class EstimateError(DeniableError):
    """Raised for a question that an estimate cannot answer."""


class CollectError(DeniableError):
    """Raised for a store of reports that cannot be opened, read or written."""


class DeniableWarning(UserWarning):
    """Root of the warnings that this package gives about a survey."""


class LeftOutWarning(DeniableWarning):
    """Given where `keep_going` leaves records out whose answers cannot be read: how many, and in which columns."""


class ArmSizeWarning(DeniableWarning):
    """Given where arms have sizes that their shares hardly explain: being asked them may have changed who answered."""


class FitWarning(DeniableWarning):
    """Given where counts hardly come from reports that their plan made, whatever was answered: see `dn.check`."""


class HomogeneityWarning(DeniableWarning):
    """Given where surveys, or arms of one, that are combined in one estimate hardly agree with each other."""


# A value that an error message shows takes at most this many characters.
MOST_SHOWN = 100
# Of an answer, it shows at most this many.
MOST_OF_AN_ANSWER = 12


def abbreviated(value: object) -> str:
    """A value as an error message shows it: its repr, shortened; of what holds many, which may be answers, the type."""
    start = value[:MOST_SHOWN] if isinstance(value, str | bytes) else value
    if _holds_records(value):
        return f"an object of type {type(value).__name__}"
    text = repr(start)
    if "\n" in text or (len(text) > MOST_SHOWN and not isinstance(value, str | bytes | int | float)):
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


def _holds_records(value: object) -> bool:
    """Whether a value is a record or a column, or a list of them."""
    some = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(one, Mapping) for one in some) or any(isinstance(one, list | tuple | set) for one in some[1:])


# A whole number with more digits than this is not shown: it is longer than any answer.
MOST_DIGITS = 30


def shortened(answer: object) -> str:
    """One answer as an error message shows it, where it may be shown at all: its first characters, and no list."""
    if isinstance(answer, str) and len(answer) > MOST_OF_AN_ANSWER:
        return f"{answer[:MOST_OF_AN_ANSWER]!r}..."
    if isinstance(answer, int) and abs(answer) >= 10**MOST_DIGITS:
        return f"a whole number of more than {MOST_DIGITS} digits"
    return abbreviated(answer)


def refuse_weights(weights: object, error: type[DeniableError]) -> None:
    """Refuse survey weights, one for each respondent, by their name: there is nobody to give them to."""
    if weights is not None:
        raise error(
            "there are no survey weights for each respondent, as reports do not say whose they are; for strata with "
            "known shares ask a public column and use est.poststratify(...), for known margins est.given(...)"
        )


# How much alike two names are, from 0 to 1, if one is taken for the other misspelt.
LIKE = 0.75
# How many letters a word has at least, if a longer name that holds it is what was meant.
SHORTEST = 4


def meant(name: object, names: Iterable[str]) -> str:
    """The question whether a name like this one was meant, for the end of an error; empty if none is like it.

    Upper and lower case are the same here.
    """
    from difflib import get_close_matches

    if not isinstance(name, str):
        return ""
    by_small = {one.casefold(): one for one in names}
    found = get_close_matches(name.casefold(), by_small, n=1, cutoff=LIKE) or _holding(name.casefold(), by_small)
    if found and seen(name) == seen(by_small[found[0]]):
        return (
            f"; {abbreviated(by_small[found[0]])} looks the same but has other characters (blanks, or NFD): rename it"
        )
    return f"; did you mean {abbreviated(by_small[found[0]])}?" if found else ""


def _holding(word: str, names: Iterable[str]) -> list[str]:
    """The only one of some names that holds a word, as the question "Do you smoke?" holds "smoke"; else none."""
    found = [name for name in names if word.strip() in name]
    return found if len(found) == 1 and len(word.strip()) >= SHORTEST else []


# Of a name that is longer than this, a list shows so many characters at its beginning and at its end.
LONG_NAME, BEGINNING, END = 40, 24, 10


def _middle_left_out(name: object) -> object:
    """A long name by its beginning and its end; of many questions all begin alike."""
    is_long = isinstance(name, str) and len(name) > LONG_NAME
    return f"{name[:BEGINNING]} ... {name[-END:]}" if is_long else name  # type: ignore[index]


def listed(names: Iterable[str]) -> str:
    """Names as an error message lists them: the first ones, and how many more there are.

    Of long names among others, which are whole questions, it shows how they begin and end.
    """
    every = [*names]
    texts = [abbreviated(_middle_left_out(name) if len(every) > 1 else name) for name in every]
    kept = len(texts)
    while kept > 1 and len(", ".join(texts[:kept])) > MOST_SHOWN:
        kept -= 1
    more = [f"and {len(texts) - kept:,} more"] if kept < len(texts) else []
    return ", ".join([*texts[:kept], *more])
