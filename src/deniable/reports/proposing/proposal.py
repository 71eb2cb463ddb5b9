"""Proposing a schema from data: a question for each column that can have one, and a line that explains each of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deniable.client import number_text
from deniable.errors import SchemaError, listed
from deniable.reports.answer_files import are_files, whole_table
from deniable.reports.proposing.alike import alike_in_words, repeated_in_words
from deniable.reports.proposing.columns import Column, Proposed, columns_of, spelt_once
from deniable.reports.proposing.no_answers import (
    codes_among,
    codes_beside_words,
    codes_in_words,
    counted_as_missing,
    declined,
    words_in_words,
)
from deniable.reports.proposing.orders import alphabetical, order_in_words, recognised
from deniable.reports.proposing.poor_data import (
    DATES,
    NO_ANSWERS,
    dates,
    names_like_answers,
    not_numbers,
    nothing_proposed,
    numbers_in_words,
)
from deniable.reports.proposing.ranges import round_edges
from deniable.reports.proposing.several_ticks import (
    of_lists,
    one_question,
    several_in_text,
    ticked_or_blank,
    ticks_in_words,
)
from deniable.reports.reading.words import MISSING, NO, YES, plain, words_for_none
from deniable.survey.schema import SEPARATOR, Choice, Flag, Flags, Schema

# More different numbers than this in a column are a quantity, of which ranges are made.
MANY_NUMBERS = 20
# More different texts than this are no choice.
MANY_TEXTS = 50
# Of so many answers on, it is looked at whether nearly all of them differ.
SOME = 20
# The answers of an id or of free text are different in more than this share of the records.
NEARLY_ALL_DIFFER = 0.95
# Text that is longer than this, on average, is written freely.
LONG = 60
# What the negative of two words begins with.
NEGATIVE = ("non-", "non ", "not ", "no ", "nicht", "kein ", "un")
USUAL = {("true", "false"), ("1", "0"), ("1.0", "0.0"), ("t", "f")}


def proposed(frame: Any, na: object = ()) -> Schema:
    """A schema with a question for each column of any data that can have one; its notes say what was found."""
    words = words_for_none(na)
    source, frame = frame, whole_table(frame) if are_files(frame) else frame
    columns = columns_of(frame, words)
    ticks = ticked_or_blank(columns)
    found = _grouped([ticks.get(column.name) or _proposed(column, words) for column in columns])
    questions = [part for one in found for part in one.parts]
    if not questions:
        raise SchemaError(
            nothing_proposed([one.name for one in found], [*map(str, found)], source if are_files(source) else None)
        )
    notes = {one.name: str(one) for one in found}
    notes[found[0].name] += names_like_answers({column.name: column.times for column in columns})
    return Schema(questions, notes=notes)


def _proposed(column: Column, na: Collection[str]) -> Proposed:
    """The question of one column, and why; `na` are the words for no answer that are not the usual ones."""
    if not column.name.strip():
        return Proposed(column.name, None, "it has no name; write one above it")
    if not column.given:
        return Proposed(column.name, None, NO_ANSWERS)
    kinds = {"bool": _of_bool, "number": _of_numbers, "text": _of_text, "list": of_lists}
    if column.kind not in kinds:
        is_time = column.kind.startswith(("timestamp", "date", "time"))
        why = DATES if is_time else f"it holds {column.kind}; write it as text or numbers"
        return Proposed(column.name, None, why)
    try:
        made = kinds[column.kind](column)
    except SchemaError as error:
        return Proposed(column.name, None, str(error))
    if column.nulls and column.kind != "list" and not isinstance(made.question, Flags):
        return replace(made, why=f"{made.why}; {column.nulls:,} without an answer{words_in_words(column.words, na)}")
    return made


def _missing(column: Column, values: Sequence[str] = ()) -> dict[str, Any]:
    """The answer of those who gave none, if there are any; a value that says so already is that answer."""
    if column.nulls:
        return {"missing": next((v for v in values if plain(v) == MISSING), MISSING)}
    own = declined(values)
    return {"missing": own} if own else {}


def _of_bool(column: Column) -> Proposed:
    return Proposed(column.name, Flag(column.name, **_missing(column)), "yes or no")


def _of_numbers(column: Column) -> Proposed:
    """Numbers: yes or no, a choice of a few, or ranges of many."""
    times = {float(value): count for value, count in column.times.items()}
    name, numbers = column.name, np.array(sorted(times))
    if set(times) <= {0, 1}:
        return Proposed(name, Flag(name, **_missing(column)), "yes or no, as 1 and 0")
    if len(times) == 1:
        return Proposed(name, None, f"everybody has the same answer, {number_text(numbers[0])}")
    if len(times) <= MANY_NUMBERS:
        values = [number_text(number) for number in numbers]
        coded = "; if 1 means yes and 2 no, make it a flag with these words" if set(times) == {1, 2} else ""
        coded += codes_in_words(codes_among(times))
        return Proposed(name, Choice(name, values, **_missing(column)), f"a choice of {len(values)} numbers{coded}")
    if _is_id(column, numbers):
        each = ", one for each record" if column.given == len(times) else repeated_in_words(times)
        return Proposed(name, None, f"it looks like an id: {len(times):,} different whole numbers{each}")
    codes = codes_among(times)
    others = numbers[~np.isin(numbers, codes)]
    edges = round_edges(name, np.repeat(others, [times[number] for number in others]))
    question = Choice.bins(name, edges, **_missing(column))
    ends = f"{number_text(others[0])} to {number_text(others[-1])}"
    why = f"ranges of {len(others):,} different numbers, {ends}; move the edges if you like{codes_in_words(codes)}"
    return Proposed(name, question, why)


def _is_id(column: Column, numbers: Any) -> bool:
    """Whether numbers count records: whole, nearly all different, and most of those between the least and the most."""
    return bool(
        len(numbers) > NEARLY_ALL_DIFFER * column.given
        and (numbers == np.floor(numbers)).all()
        and (numbers[-1] - numbers[0] < 2 * len(numbers) or plain(column.name).split()[-1] in ("id", "key", "number"))
    )


def _of_text(column: Column) -> Proposed:
    """Text: yes or no, several ticks, or a choice; or what is no question."""
    name, spelt = column.name, spelt_once(column.times)
    if (flag := _flag(column, spelt)) is not None:
        return flag
    if not column.order and (other := _no_plain_choice(column, spelt)) is not None:
        return other
    values = [value for value in column.order if value.strip()] or recognised(list(spelt)) or alphabetical(list(spelt))
    if len(values) < 2:
        blank = f"; if a blank means no, make it a flag with yes = {values[0]!r} and no = ''" if column.nulls else ""
        return Proposed(name, None, f"everybody has the same answer; a choice needs all that could be given{blank}")
    how = "in the order of its categories" if column.order else order_in_words(values)
    spellings = f", in {len(column.times)} spellings" if len(column.times) > len(spelt) else ""
    said = "" if column.nulls else counted_as_missing(declined(values))
    hints = f"{codes_in_words(codes_beside_words(values))}{ticks_in_words(values)}{alike_in_words(values)}"
    why = f"a choice of {len(values)}{' ' * bool(how)}{how}{spellings}{said}{hints}"
    return Proposed(name, Choice(name, values, **_missing(column, values)), why)


def _flag(column: Column, spelt: Mapping[str, int]) -> Proposed | None:
    """A yes/no question, if its words mean yes and no, and one more perhaps that nothing was said."""
    skipped = None if column.nulls else declined(list(spelt))
    found = _yes_and_no({plain(value): value for value in spelt if value != skipped})
    if found is None:
        return None
    yes, no = found
    usual = len(yes) != 1 or len(no) != 1 or (plain(yes[0]), plain(no[0])) in USUAL
    own = {} if usual else {"yes": yes[0], "no": no[0]}
    said = f"{listed(yes) or 'nobody'} is yes, {listed(no) or 'nobody'} is no"
    spellings = f", in {len(column.times)} spellings" if len(column.times) > len(spelt) else ""
    missing = _missing(column, [skipped] if skipped else ())
    why = f"yes or no: {said}{spellings}{counted_as_missing(skipped)}"
    return Proposed(column.name, Flag(column.name, **missing, **own), why)


def _yes_and_no(words: Mapping[str, str]) -> tuple[list[str], list[str]] | None:
    """The words that mean yes, and those that mean no; two words mean it, too, if one is the negative of the other."""
    if words.keys() <= YES | NO and (words.keys() & YES or len(words) == 1):
        yes, no = ([value for word, value in words.items() if word in own] for own in (YES - NO, NO))
        return yes, no
    if len(words) != 2:
        return None
    pairs = [(a, b) for a in words for b in words if any(b == f"{mark}{a}" for mark in NEGATIVE)]
    return ([words[pairs[0][0]]], [words[pairs[0][1]]]) if pairs else None


def _no_plain_choice(column: Column, spelt: Mapping[str, int]) -> Proposed | None:
    """What text is, if it is no choice: dates, numbers with commas, several ticks, an id, or written freely."""
    if dates(spelt):
        return Proposed(column.name, None, DATES)
    if badly_written := numbers_in_words(spelt):
        return Proposed(column.name, None, badly_written)
    if (ticks := several_in_text(column)) is not None:
        return ticks
    return Proposed(column.name, None, why + not_numbers(column.times)) if (why := _no_choice(column, spelt)) else None


def _no_choice(column: Column, spelt: Mapping[str, int]) -> str:
    """Why text is no choice; empty if it may be one."""
    if column.given >= SOME and len(spelt) > NEARLY_ALL_DIFFER * column.given:
        twice = repeated_in_words(spelt) if not any(" " in one for one in spelt) else ""
        return f"it looks like an id or free text: {len(spelt):,} different answers in {column.given:,} records{twice}"
    if column.given >= SOME and len(spelt) > 0.5 * column.given:
        return f"it looks like free text: {len(spelt):,} different answers in {column.given:,} records"
    if sum(map(len, spelt)) > LONG * len(spelt):
        return "it looks like free text: its answers are long"
    if len(spelt) > MANY_TEXTS:
        return f"{len(spelt):,} different answers are too many for one question; put them into groups"
    return ""


def _grouped(found: Iterable[Proposed]) -> list[Proposed]:
    """The same, with yes/no columns such as "News: TV" and "News: Radio" as one multi-select question."""
    found = list(found)
    names = {one.name for one in found if one.question is not None}
    groups: dict[str, list[Proposed]] = {}
    for one in found:
        head, mark, tail = one.name.partition(SEPARATOR)
        if mark and tail and isinstance(one.question, Flag) and head not in names:
            groups.setdefault(head, []).append(one)
    made: list[Proposed] = []
    for one in found:
        head = one.name.partition(SEPARATOR)[0]
        own = groups.get(head, [])
        if one not in own or len(own) < 2:
            made.append(one)
        elif one is own[0]:
            made.append(one_question(head, own))
    return _with_hints(made)


def _with_hints(found: Sequence[Proposed]) -> list[Proposed]:
    """The same; of yes/no columns such as "News_TV" and "News_Radio" the first says how they become one question."""
    groups: dict[str, list[Proposed]] = {}
    for one in found:
        head, mark, tail = one.name.partition("_")
        if head and mark and tail and isinstance(one.question, Flag):
            groups.setdefault(head, []).append(one)
    hints = {
        own[0].name: f"{own[0].why}; if {len(own)} columns '{head}_...' are ticks of one question, name them "
        f"'{head}{SEPARATOR}{own[0].name.removeprefix(head + '_')}' and so on: then it has one share of epsilon"
        for head, own in groups.items()
        if len(own) > 1
    }
    return [replace(one, why=hints.get(one.name, one.why)) for one in found]
