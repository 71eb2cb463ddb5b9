"""One column of answers as people have them, read as what its question takes.

A column that the client's rules take as it is, is left alone. Else its distinct words are looked at: yes and no of a
flag, in its own two words or the usual ones; a value of a choice but for blanks and upper or lower case; a number with
blanks around it; and what stands for no answer. All of this is for data in bulk; a device sends answers in the plan's
own words.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deniable import client
from deniable.errors import AnswerError
from deniable.kernels.perturb import Codes
from deniable.reports.answers_in import encode
from deniable.reports.reading.words import MISSING, NO, NO_ANSWER, NOTHING, YES, Unread, is_null, plain
from deniable.reports.report_columns import Place, is_text, whole
from deniable.survey.schema import Choice, Feature, Flag


def codes(feature: Feature, column: Any, first_row: Place = 0, na: Collection[str] = ()) -> Codes:
    """The codes of a column's answers, as people have them; an error names the row of the first bad one."""
    question = feature.to_json()
    if not na and not (isinstance(feature, Flag) and feature.words):
        try:
            return encode(question, column, first_row)
        except AnswerError:
            pass  # it may be written in other words
    return encode(question, read(feature, column, na), first_row)


def read(feature: Feature, column: Any, na: Collection[str] = ()) -> Any:
    """A column in which every answer that can be read is as the client takes it, also where nobody answered."""
    meaning = _meaning(feature, na)
    if isinstance(column, list):
        return [meaning(answer) for answer in column]
    column = whole(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if pa.types.is_boolean(column.type) or (not is_text(column.type) and _keeps_numbers(feature, column, na)):
        return column
    try:
        encoded = column.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return [meaning(answer) for answer in column.to_pylist()]
    return _replaced(encoded, meaning)


def _keeps_numbers(feature: Feature, column: Any, na: Collection[str]) -> bool:
    """Whether a column that is no text is read as it is: no word and no null in it has a meaning of its own."""
    return not na and not (isinstance(feature, Flag) and feature.words) and not (_listed(feature) and column.null_count)


def _replaced(encoded: Any, meaning: Callable[[Any], Any]) -> Any:
    """A dictionary-encoded column with each distinct answer replaced by its meaning."""
    read = [meaning(answer) for answer in encoded.dictionary.to_pylist()] + [meaning(None)]
    indices = pa.array(encoded.indices.fill_null(len(read) - 1).to_numpy())
    try:
        return pa.array(read).take(indices)
    except (pa.ArrowException, TypeError, ValueError):  # words beside booleans
        return [read[place] for place in indices.to_pylist()]


def _listed(feature: Feature) -> str | None:
    """The answer of those who gave none, where the question lists it."""
    own: str | None = getattr(feature, "missing", None)
    return own or (MISSING if isinstance(feature, Choice) and MISSING in feature.values else None)


def _meaning(feature: Feature, na: Collection[str]) -> Callable[[Any], Any]:
    """What an answer in a column means to the client; what means nothing stays as it is, to be refused."""
    nothing, missing = {*NO_ANSWER, *(() if _has_words(feature) else NOTHING), *map(plain, na)}, _listed(feature)
    own = _flag_words(feature) if isinstance(feature, Flag) else _values(feature)

    def meaning(answer: Any) -> Any:
        if isinstance(answer, bool | np.bool_):
            return answer
        word = _word(answer)
        if word in own:
            return own[word]
        if word in nothing:
            return missing
        if isinstance(feature, Flag) and feature.words:  # it has no other words than its own
            return Unread(answer)
        return answer.strip() if isinstance(answer, str) and isinstance(feature, Choice) and feature.edges else answer

    return meaning


def _has_words(feature: Feature) -> bool:
    """Whether the answers are words, of which "none" may be one, and neither numbers nor yes and no."""
    return isinstance(feature, Choice) and not feature.edges and not all(map(client.NUMBER.fullmatch, feature.values))


def _word(answer: Any) -> str | None:
    """An answer as a word; null is the empty one, and what is neither text nor number has none."""
    if is_null(answer):
        return ""
    if isinstance(answer, str):
        return plain(answer)
    try:
        return client.number_text(answer) if isinstance(answer, int | float) else None
    except OverflowError:  # an integer beyond all floats
        return None


def _flag_words(flag: Flag) -> dict[str | None, Any]:
    """What words mean to a flag: its own two for yes and no, or else the usual ones; and its own for no answer."""
    own = flag.words
    yes, no = ({plain(own["yes"])}, {plain(own["no"])}) if own else (YES, NO)
    meant: dict[str | None, Any] = {plain(flag.missing): flag.missing} if flag.missing else {}
    return {**meant, **dict.fromkeys(no, False), **dict.fromkeys(yes, True)}


def _values(choice: Choice) -> dict[str | None, Any]:
    """The values of a choice, by what does not matter in their spelling; none that would be two values."""
    words = [plain(value) for value in choice.values]
    return {word: value for word, value in zip(words, choice.values, strict=True) if words.count(word) == 1}


# -- what is wrong in a column -----------------------------------------------------------------------------------------


def refused(
    feature: Feature, column: Any, na: Collection[str] = ()
) -> Iterator[tuple[str, Any, npt.NDArray[np.int64]]]:
    """What is wrong with the answers of a column: the client's words, one bad answer, and the rows of all like it."""
    question = feature.to_json()
    given = read(feature, column, na)
    answers, indices = _distinct(given)
    wrong: dict[str, list[int]] = {}
    for place, answer in enumerate(answers):
        try:
            client.encode(question, answer)
        except AnswerError as error:
            own = isinstance(feature, Flag) and isinstance(answer, str | Unread)
            wrong.setdefault(_in_its_words(feature) if own else str(error), []).append(place)
    for what, places in wrong.items():
        rows = np.flatnonzero(np.isin(indices, places))
        if len(rows):
            yield what, answers[indices[rows[0]]], rows


def _in_its_words(flag: Any) -> str:
    if flag.words:
        no = repr(flag.no) if flag.no else "a blank"
        return f"column {flag.name!r} is a flag, of which {flag.yes!r} means yes and {no} no"
    return f"column {flag.name!r} is a flag and takes yes and no, true and false, or 1 and 0"


def _distinct(column: Any) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """Distinct answers of a column, null at the end, and which of them each row has."""
    if isinstance(column, list):
        return column, np.arange(len(column))
    try:
        encoded = column.dictionary_encode()
    except pa.ArrowNotImplementedError:  # lists and other types that no answer has
        return _distinct(column.to_pylist())
    answers = encoded.dictionary.to_pylist()
    return [*answers, None], encoded.indices.fill_null(len(answers)).to_numpy().astype(np.int64)
