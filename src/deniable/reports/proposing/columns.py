"""One column of data as a proposal looks at it: its distinct answers, how often each was given, what is proposed."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.client import NUMBER, number_text
from deniable.reports.answers_in import columns, is_number
from deniable.reports.reading.words import NO, NO_ANSWER, NOTHING, YES, is_null, plain
from deniable.reports.report_columns import is_text, whole
from deniable.survey.schema import Choice, Flag, Flags


@dataclass(frozen=True)
class Column:
    """A column: how often each answer was given, how many gave none, and the order that its categories have.

    `kind` is "bool", "number", "text", "list", or the name of another type.
    """

    name: str
    kind: str
    times: Mapping[Any, int]
    nulls: int
    order: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # that were counted as no answer
    blanks: int = 0  # how many of those who gave none have a blank cell, in which nothing is ticked

    @property
    def given(self) -> int:
        """How many gave an answer."""
        return sum(self.times.values())


def columns_of(frame: Any, na: Collection[str] = ()) -> list[Column]:
    """The columns of any dataframe, mapping of columns or list of records."""
    if isinstance(frame, Sequence) and all(isinstance(row, Mapping) for row in frame):
        every = dict.fromkeys(name for row in frame for name in row)
        frame = [every | dict(row) for row in frame]
    nothing = {*NO_ANSWER, *map(plain, na)}
    return [_column(str(name), values, nothing) for name, values in columns(frame).items()]


def _column(name: str, values: Any, nothing: Collection[str]) -> Column:
    """One column as it is looked at."""
    if isinstance(values, list):
        return _of_list(name, values, nothing)
    values, order = whole(values), tuple[str, ...]()
    if pa.types.is_dictionary(values.type):
        order = _explicit_order(values) if is_text(values.type.value_type) else ()
        values = values.cast(values.type.value_type)
    kinds = {"bool": pa.types.is_boolean, "text": is_text, "number": is_number}
    kind = next((kind for kind, fits in kinds.items() if fits(values.type)), None)
    if kind is None:
        return _of_list(name, values.to_pylist(), nothing) if _is_list(values.type) else _other(name, values)
    counts = values.value_counts()
    pairs = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    return _counted(name, kind, Counter(dict(pairs)), nothing, order)


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_null(kind))


def _other(name: str, values: Any) -> Column:
    """A column of a type that no answer has."""
    return Column(name, str(values.type), {None: len(values) - values.null_count}, values.null_count)


def _explicit_order(values: Any) -> tuple[str, ...]:
    """The order of a categorical, unless it is only the one in which its values came."""
    order = tuple(map(str, values.dictionary.to_pylist()))
    came = tuple(dict.fromkeys(values.drop_null().cast(pa.string()).to_pylist()))
    return order if values.type.ordered or order != came else ()


def _of_list(name: str, values: Sequence[Any], nothing: Collection[str]) -> Column:
    """A column of Python objects: lists of ticks, or a mixture that is looked at as text."""
    lists = [tuple(map(str, one)) for one in values if isinstance(one, list | tuple | set | frozenset | np.ndarray)]
    empty = sum(is_null(one) for one in values)
    if lists and len(lists) + empty == len(values):
        return Column(name, "list", Counter(lists), empty)
    texts = (None if is_null(one) else number_text(one) if _is_plain_number(one) else str(one) for one in values)
    return _counted(name, "text", Counter(texts), nothing, ())


def _is_plain_number(one: Any) -> bool:
    return isinstance(one, int | float) and not isinstance(one, bool) and abs(one) < 1e300


def _counted(name: str, kind: str, times: Counter[Any], nothing: Collection[str], order: tuple[str, ...]) -> Column:
    """A column from how often each value stands in it; words for no answer count as nulls, and text may be numbers."""
    none = _no_answers(kind, times, nothing, order)
    nulls, words = sum(times[value] for value in none), [word for word in none.values() if word.strip()]
    answers: Counter[Any] = Counter({value: count for value, count in times.items() if value not in none})
    if kind == "text" and not order and answers and all(_is_number_text(text) for text in answers):
        numbers: Counter[Any] = Counter()
        for text, count in answers.items():
            numbers[float(text)] += count
        return Column(name, "number", numbers, nulls, words=tuple(words))
    blanks = sum(times[value] for value in none if isinstance(value, str) and not value.strip())
    return Column(name, kind, answers, nulls, order, tuple(words), blanks)


def _no_answers(kind: str, times: Mapping[Any, int], nothing: Collection[str], order: Sequence[str]) -> dict[Any, str]:
    """The values that are no answer, each with its word, which is empty for null."""
    if kind == "text" and not order and _need_no_none(times, nothing):
        nothing = {*nothing, *NOTHING}
    words = {
        value: "" if is_null(value) else number_text(value) if kind == "number" else value
        for value in times
        if value not in order
    }
    return {
        value: word
        for value, word in words.items()
        if is_null(value) or (isinstance(word, str) and plain(word) in nothing)
    }


def _need_no_none(times: Mapping[Any, int], nothing: Collection[str]) -> bool:
    """Whether all other words are numbers, or yes and no, so that "none" is no answer among them."""
    others = [one for one in times if isinstance(one, str) and plain(one) not in {*nothing, *NOTHING}]
    return bool(others) and (all(map(_is_number_text, others)) or all(plain(one) in YES | NO for one in others))


def _is_number_text(text: str) -> bool:
    """Whether text is a number, perhaps with blanks around it; one with a zero in front is a code, as a postcode is."""
    text = text.strip()
    return bool(NUMBER.fullmatch(text)) and not (len(text) > 1 and text[0] == "0" and text[1].isdigit())


@dataclass(frozen=True)
class Proposed:
    """What is proposed for a column: a question or None, and the words that say why."""

    name: str
    question: Flag | Choice | Flags | tuple[Flag, ...] | None  # several flags are ticks of one question
    why: str

    @property
    def parts(self) -> tuple[Flag | Choice | Flags, ...]:
        """What stands in a schema."""
        return self.question if isinstance(self.question, tuple) else () if self.question is None else (self.question,)

    def __str__(self) -> str:
        name = self.name if self.name.strip() else "a column without a name"
        return f"{name}: {self.why}" if self.question is not None else f"{name}: left out; {self.why}"


def spelt_once(times: Mapping[str, int]) -> dict[str, int]:
    """Values by how often each was given; spellings that differ in blanks or case only are the most frequent one."""
    words: dict[str, Counter[str]] = {}
    for value, count in times.items():
        words.setdefault(plain(value), Counter())[" ".join(value.split())] += count
    return {spellings.most_common(1)[0][0]: spellings.total() for spellings in words.values()}
