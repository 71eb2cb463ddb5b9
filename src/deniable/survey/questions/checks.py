"""What names, answers, labels and edges of number ranges must be."""

import itertools
import math
from collections.abc import Iterable, Sequence, Set
from typing import Any

from deniable.client import FLAG_WORDS, MAX_VALUES, look_alike, number, number_text, seen, unreadable
from deniable.errors import SchemaError, abbreviated, listed


def check_text(text: Any, what: str) -> None:
    """Refuse what is not text, is empty, or holds control characters: it could not be a name or an answer."""
    if not isinstance(text, str):
        raise SchemaError(f"{what} must be text; found {abbreviated(text)} ({type(text).__name__})")
    if not seen(text):
        raise SchemaError(f"{what} must not be empty; found {abbreviated(text)}")
    if unreadable(text):
        raise SchemaError(f"{what} must not hold control characters; found {abbreviated(text)}")


def check_optional(name: str, **texts: Any) -> None:
    """Refuse a label, a help text or a missing answer that is given and is no text."""
    for what, text in texts.items():
        if text is not None:
            check_text(text, f"{what} of {abbreviated(name)}")


# SHOWN are the words that forms have for a flag's answers, in the languages of the survey page.
SHOWN = {"yes", "no", "ja", "nein"}


def check_missing_of_flag(name: str, missing: str | None) -> None:
    """Refuse a missing answer of a flag that is a word for true or false, or what people read as its answers."""
    if missing is not None and (seen(missing) in FLAG_WORDS or seen(missing).casefold() in SHOWN):
        raise SchemaError(
            f"{abbreviated(name)}: missing is what a skipped question is called; {missing!r} is a flag's own answer"
        )


def check_missing_of_ranges(name: str, missing: str | None) -> None:
    """Refuse a missing answer of number ranges that is a number itself."""
    if missing is not None and number(missing) is not None:
        raise SchemaError(
            f"{abbreviated(name)}: missing is what a skipped question is called, no number; "
            f"found {abbreviated(missing)}"
        )


def checked_values(name: str, values: Iterable[str], *, least: int) -> tuple[str, ...]:
    """Values as a tuple of different texts, at least so many."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SchemaError(f"{abbreviated(name)}: values must be a list of texts; found {abbreviated(values)}")
    if isinstance(values, Set):
        raise SchemaError(f"{abbreviated(name)}: values must be in an order, in a list; found a set, which has none")
    values = tuple(values)
    for value in values:
        check_text(value, f"a value of {abbreviated(name)}")
    if twice := look_alike(values):
        raise SchemaError(f"{abbreviated(name)}: values must differ in what can be seen; found twice: {listed(twice)}")
    if not least <= len(values) <= MAX_VALUES:
        raise SchemaError(f"{abbreviated(name)} needs {least} to {MAX_VALUES} values; found {len(values)}")
    return values


def with_missing(values: Iterable[str], missing: str | None) -> Iterable[str]:
    """Values with the missing answer as the last one, unless it is among them already."""
    if missing is None or isinstance(values, str) or not isinstance(values, Iterable):
        return values  # what is no list is refused with all other values
    every = list(values)
    return every if missing in every else [*every, missing]


def checked_labels(name: str, values: Sequence[str], labels: Any) -> tuple[tuple[str, str], ...]:
    """What people read instead of some values, in their order; no label may stand for two of them."""
    try:
        told = dict(labels)
    except (TypeError, ValueError):
        raise SchemaError(
            f"{abbreviated(name)}: labels must be a mapping from values to texts; found {abbreviated(labels)}"
        ) from None
    if unknown := [value for value in told if value not in values]:
        raise SchemaError(
            f"{abbreviated(name)}: labels are for its values; "
            f"found one for {abbreviated(unknown[0])}, which is none of them"
        )
    for value, label in told.items():
        check_text(label, f"the label of {value!r} in {abbreviated(name)}")
    new = tuple((value, told[value]) for value in values if told.get(value, value) != value)
    if twice := look_alike([*values, *(label for _, label in new)]):
        raise SchemaError(f"{abbreviated(name)}: labels must tell values apart; found twice: {listed(twice)}")
    return new


def checked_edges(name: str, edges: Any) -> tuple[float, ...]:
    """The edges of number ranges, as rising numbers."""
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise SchemaError(f"choice {abbreviated(name)}: edges must be a list of numbers; found {abbreviated(edges)}")
    numbers = []
    for edge in edges:
        try:
            numbers.append(float(edge))
        except (TypeError, ValueError, OverflowError):
            numbers.append(math.nan)
        if math.isnan(numbers[-1]):
            raise SchemaError(f"choice {abbreviated(name)}: an edge must be a number; found {abbreviated(edge)}")
    if any(low >= high for low, high in itertools.pairwise(numbers)):
        raise SchemaError(f"choice {abbreviated(name)}: edges must rise; found {', '.join(map(number_text, numbers))}")
    if len(numbers) < 3:
        raise SchemaError(f"choice {abbreviated(name)} needs at least 3 edges, for 2 ranges; found {len(numbers)}")
    return tuple(numbers)


def check_words(name: str, yes: str | None, no: str | None) -> None:
    """Refuse one word of a flag without the other, and two that are the same but for case; blank cells may mean no."""
    given = [word for word in (yes, no) if word is not None]
    for word in [yes] * (yes is not None) + [no] * (no not in (None, "")):
        check_text(word, f"a word of flag {abbreviated(name)}")
    if len(given) == 1 or (given and given[0].strip().casefold() == given[1].strip().casefold()):
        found = ", ".join(map(repr, given))
        raise SchemaError(f"flag {abbreviated(name)} needs two different words, yes= and no=; found {found}")
