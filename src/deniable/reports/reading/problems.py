"""What is wrong with answers, all of it at once: problems of a kind together, and one answer shown at most."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import AnswerError, LeftOutWarning, shortened
from deniable.reports.answers_in import LeftOutError
from deniable.reports.arm_columns import arm_numbers, no_arm
from deniable.reports.reading.columns import refused
from deniable.reports.reading.multi_select import unread
from deniable.reports.reading.words import is_null
from deniable.survey.plan import Plan

Rows = npt.NDArray[np.int64]
# So many kinds of problems are listed.
MOST_LISTED = 10


@dataclass(frozen=True)
class Problem:
    """A kind of problem: what is wrong in which column, one answer of the kind, the first row with it, and how many."""

    column: str
    what: str
    answer: Any
    first: int
    count: int

    @property
    def is_left_out(self) -> bool:
        """Whether answers are not there, rather than wrong."""
        return is_null(self.answer)

    def told(self, place: str, *, shown: bool) -> str:
        """The problem in words, with its answer if that is to be shown."""
        found = f"; found {shortened(self.answer)}" if shown and self.answer is not None else ""
        more = f"; and {self.count - 1:,} more like it" if self.count > 1 else ""
        return f"{place}, {self.what}{found}{more}"


@dataclass(frozen=True)
class Problems:
    """All that is wrong with some answers, by column and kind."""

    kinds: Mapping[tuple[str, str], Problem]

    @classmethod
    def of(cls, found: Iterable[Problem]) -> "Problems":
        """These problems, those of one kind put together."""
        kinds: dict[tuple[str, str], Problem] = {}
        for one in found:
            key = (one.column, one.what)
            kinds[key] = replace(kinds[key], count=kinds[key].count + one.count) if key in kinds else one
        return cls(kinds)

    def __add__(self, other: "Problems") -> "Problems":
        return Problems.of([*self.kinds.values(), *other.kinds.values()])

    def __bool__(self) -> bool:
        return bool(self.kinds)

    @property
    def listed(self) -> list[Problem]:
        """The first kinds, in the order of the rows."""
        return sorted(self.kinds.values(), key=lambda one: one.first)[:MOST_LISTED]

    def error(self, places: Callable[[Sequence[int]], Sequence[str]], ragged: str = "") -> AnswerError:
        """The error that tells of them, and of rows that are ragged; `places` are words for where some rows are."""
        kinds = self.listed
        where = places([one.first for one in kinds]) if kinds else []
        lines = [one.told(at, shown=not k) for k, (one, at) in enumerate(zip(kinds, where, strict=True))]
        lines += [ragged] * bool(ragged)
        kind = LeftOutError if kinds and kinds[0].is_left_out and not ragged else AnswerError
        answers, more = sum(one.count for one in self.kinds.values()), len(self.kinds) - len(kinds)
        if answers > 1:
            rest = f" in {more:,} more ways" if more else ""
            lines.append(
                f"{answers:,} answers cannot be read{rest}; keep_going=True (--keep-going) leaves these records out, "
                "and na=['...'] (--na ...) takes a word as no answer"
            )
        elif ragged and (kinds or ";" in ragged):
            lines.append("keep_going=True (--keep-going) leaves these rows out")
        return kind("\n".join(lines))

    @property
    def by_column(self) -> Counter[str]:
        """How many answers of each column could not be read."""
        found: Counter[str] = Counter()
        for one in self.kinds.values():
            found[one.column] += one.count
        return found


@dataclass(frozen=True)
class LeftOut:
    """How many of how many records were left out, and how many answers of each column could not be read. It adds.

    Beside them are the rows of CSV files that had too many or too few cells.
    """

    records: int = 0
    of: int = 0
    answers: Mapping[str, int] = field(default_factory=dict)
    ragged: int = 0

    def __add__(self, other: "LeftOut") -> "LeftOut":
        answers = Counter(self.answers) + Counter(other.answers)
        return LeftOut(self.records + other.records, self.of + other.of, answers, self.ragged + other.ragged)

    def warn(self) -> None:
        """Warn whoever called what calls this, if any was left out."""
        if self.records or self.ragged:
            told = ", ".join(f"{name!r} {count:,}" for name, count in self.answers.items())
            why = [f"answers that could not be read: {told}"] if told else []
            why += [f"rows with too many or too few cells: {self.ragged:,}"] if self.ragged else []
            left, of = self.records + self.ragged, self.of + self.ragged
            what = f"{left:,} of {of:,} records were left out; {'; '.join(why)}"
            warnings.warn(what, LeftOutWarning, stacklevel=3)


def rows_in_words(rows: Sequence[int]) -> list[str]:
    """Words for where rows of data in memory are."""
    return [f"row {row} (counted from 0)" for row in rows]


def problems_in(
    plan: Plan, columns: Mapping[str, Any], arm: str | None, na: Sequence[str], first_row: int = 0
) -> tuple[Problems, Rows]:
    """What is wrong with some records, and the rows of all that have a problem, from 0.

    Where a column says which arm each record is of, only what that arm asks matters.
    """
    numbers = None if arm is None else arm_numbers(plan, columns[arm])
    if arm is not None and numbers is None:  # which is an error of its own
        return Problems({}), np.empty(0, np.int64)
    every = [
        (Problem(column, what, answer, first_row + int(rows[0]), len(rows)), rows)
        for column, what, answer, rows in _wrong(plan, columns, arm, numbers, na)
        if len(rows)
    ]
    bad = np.unique(np.concatenate([rows for _, rows in every])) if every else np.empty(0, np.int64)
    return Problems.of(problem for problem, _ in every), bad


def _wrong(
    plan: Plan, columns: Mapping[str, Any], arm: str | None, numbers: npt.NDArray[Any] | None, na: Sequence[str]
) -> Iterator[tuple[str, str, Any, Rows]]:
    """Each column with something wrong, what that is, one such answer, and the rows of all of them."""
    if arm is not None and numbers is not None and len(rows := np.flatnonzero(numbers < 0)):
        yield arm, f"column {arm!r}: {no_arm(plan, columns[arm][int(rows[0])].as_py(), 'record')}", None, rows
    for question, features in plan.schema.questions.items():
        asked = None if numbers is None else _asked(plan, [feature.name for feature in features], numbers)
        if question in columns and question not in plan.schema:  # a multi-select question in one column
            for what, cell, rows in unread(question, features, columns[question]):
                yield question, what, cell, _of(rows, asked)
            continue
        for feature in features:
            for what, answer, rows in refused(feature, columns[feature.name], na) if feature.name in columns else ():
                yield feature.name, what, answer, _of(rows, asked)


def _asked(plan: Plan, names: Sequence[str], numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which records were asked any of some features, by the numbers of their arms; none of an unknown arm."""
    asks = np.array([*(any(name in arm.schema for name in names) for arm in plan.arms), False])
    return np.asarray(asks[numbers])


def _of(rows: Rows, asked: npt.NDArray[np.bool_] | None) -> Rows:
    return rows if asked is None else rows[asked[rows]]
