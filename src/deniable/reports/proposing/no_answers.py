"""Answers that look as if they stood for no answer: numbers such as -99 or 999, words like "prefer not to say"."""

from collections.abc import Collection, Sequence
from shlex import quote

from deniable.client import NUMBER, number_text
from deniable.errors import listed
from deniable.reports.reading.words import MISSING, NO_ANSWER, plain

# What the digits of a number that is a code for no answer are made of: -9, -98, 99, 777.
CODE_DIGITS = frozenset("6789")
# A code above all other numbers is at least so many times as large as they are.
FAR = 2.0
# Words with which a form offers not to answer.
DECLINED = frozenset({
    MISSING, "prefer not to say", "prefer not to answer", "would rather not say", "möchte ich nicht sagen",
    "ne souhaite pas répondre", "prefiero no decirlo", "prefiero no contestar",
})  # fmt: skip


def codes_among(numbers: Collection[float]) -> list[float]:
    """Which of some numbers stand apart from all others as codes for no answer do: -1, -9, -99; 99 above 1 to 5, 999.

    It is a guess, for whoever looks a proposal over.
    """
    below = [number for number in numbers if number < 0]
    others = sorted(number for number in numbers if number >= 0)
    found = [number for number in below if number == -1 or _is_code(-number)]
    if not others or len(found) < len(below):
        return []
    above = len(others)  # the place from which on all numbers are codes
    while above > 2 and others[above - 1] > 9 and _is_code(others[above - 1]):
        above -= 1
        if others[above] >= FAR * others[above - 1]:
            return sorted([*found, *others[above:]])
    return sorted(found)


def codes_beside_words(values: Collection[str]) -> list[float]:
    """Which of some values are codes for no answer, where all others are words: -99 beside yes and no.

    Where words have digits in them, as "10 or more" has, or some numbers are no codes, all may be answers.
    """
    numbers = [float(value) for value in values if NUMBER.fullmatch(value)]
    words = [value for value in values if not NUMBER.fullmatch(value)]
    written = any(letter.isdigit() for word in words for letter in word)
    codes = [number for number in numbers if number == -1 or _is_code(abs(number))]
    return sorted(codes) if len(codes) == len(numbers) < len(words) and not written else []


def _is_code(number: float) -> bool:
    """Whether a number has such digits, of which all but the last are nines or the same: 9, 99, 98, 88, 997, 9999."""
    digits = number_text(number)
    head = set(digits[:-1]) or {"9"}
    return set(digits) <= CODE_DIGITS and len(head) == 1 and (head == {"9"} or head == {digits[-1]})


def codes_in_words(codes: Sequence[float]) -> str:
    """What is said of numbers that stand apart; nothing if there are none."""
    if not codes:
        return ""
    words = [number_text(code) for code in codes]
    stand, mean = ("stands", "it means") if len(words) == 1 else ("stand", "they mean")
    return f"; {', '.join(words)} {stand} apart: if {mean} no answer, say {options_in_words(words)}, to randomize too"


def words_in_words(words: Sequence[str], na: Collection[str]) -> str:
    """Which words counted as no answer; those that are not usual must be said again, as a plan does not hold them."""
    if not words:
        return ""
    own = [word for word in words if plain(word) in {*map(plain, na)} - NO_ANSWER]
    again = f"; say {options_in_words(own)} to randomize, too" if own else ""
    return f" (also {listed(words)}{again})"


def options_in_words(words: Sequence[str]) -> str:
    """How words for no answer are said in Python, and in the shell, to be pasted as they are."""
    signs = ["=" if word[0] == "-" and not NUMBER.fullmatch(word) else " " for word in words]
    shell = " ".join(f"--na{sign}{quote(word)}" for sign, word in zip(signs, words, strict=True))
    return f"na=[{listed(words)}] ({shell})"


def declined(values: Sequence[str]) -> str | None:
    """The answer that says there is none, if one of the values is that."""
    return next((value for value in values if plain(value) in DECLINED), None)


def counted_as_missing(value: str | None) -> str:
    """What is said of such an answer; nothing if there is none."""
    return f"; {value!r} counts as a missing answer" if value else ""
