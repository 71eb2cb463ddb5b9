"""Two marks at once: in one block, or in two blocks of a report, with the chances that the plan states for them.

If each mark is as probable as stated but two of them come from one draw, both together tell of answers what neither
does alone. So an audit counts how often two values of a block are both marked: named ones, which are all pairs of a
few values, and of many each two that stand side by side and some others; and a pair that is drawn anew for each report,
so that it may be any of them, also beside the true value. Of two blocks it counts values that are drawn likewise.

Which pairs there are follows from seeds of the audit's own, so that an audit can be repeated. All of this is of
protocols that can mark several values; others mark one, and there is no pair.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.survey.protocols.dependence import Dependence

Bits = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]
Pair = tuple[int, int]

FEW_VALUES = 16  # Of so many values all pairs are named, and counted for each true value.
SOME_PAIRS = 120  # Of more values so many pairs are named, beside those of neighbours.


class Both(NamedTuple):
    """How often two marks were seen at once among so many reports, and the chance of it that the plan states."""

    what: str
    stated: float
    found: int
    trials: int


@dataclass(frozen=True)
class Marks:
    """Which reports mark each value of a block, as packed bits."""

    packed: list[npt.NDArray[np.uint8]]
    reports: int

    @classmethod
    def of(cls, columns: Iterator[npt.NDArray[np.generic]], reports: int) -> "Marks":
        """The marks of each value in turn."""
        return cls([np.packbits(np.asarray(bits, bool)) for bits in columns], reports)

    def column(self, place: int) -> Bits:
        """The reports that mark one value."""
        return np.unpackbits(self.packed[place], count=self.reports).view(bool)

    def at(self, wanted: Codes) -> Bits:
        """Whether each report marks the value that is wanted of it; several lists of values have a row each."""
        found = np.zeros(wanted.shape, bool)
        for place in range(len(self.packed)):
            found |= (wanted == place) & self.column(place)
        return found


def mark_several(dependence: Dependence) -> bool:
    """Whether a report can mark two values."""
    return bool(dependence.false[2] or dependence.true[1])


def named_pairs(values: int) -> list[Pair]:
    """The pairs of values that are looked at by name."""
    if values <= FEW_VALUES:
        return list(combinations(range(values), 2))
    drawn = np.random.default_rng(values).integers(0, values, (SOME_PAIRS, 2)).tolist()
    beside = ((value, value + 1) for value in range(values - 1))
    return sorted({*beside, *((min(pair), max(pair)) for pair in drawn if pair[0] != pair[1])})


def of_equal_answers(marks: Marks, true: int, dependence: Dependence) -> Iterator[Both]:
    """Named pairs among reports of one answer."""
    for one, other in named_pairs(len(marks.packed)):
        stated = float(dependence.true[1] if true in (one, other) else dependence.false[2])
        both = np.unpackbits(marks.packed[one] & marks.packed[other])  # what fills the last byte up is zero
        yield Both(f"values {one} and {other}", stated, int(both.sum()), marks.reports)


def of_mixed_answers(marks: Marks, true: Codes, dependence: Dependence, rng: np.random.Generator) -> Iterator[Both]:
    """Named pairs of few values, for each true value; and a pair that is drawn for each report."""
    values = len(marks.packed)
    if values <= FEW_VALUES:
        yield from _by_true_value(marks, true, dependence)
    for what, wanted, stated in _drawn_pairs(true, values, dependence, rng):
        one, other = marks.at(wanted)
        yield Both(what, float(stated), int((one & other).sum()), len(true))


def _by_true_value(marks: Marks, true: Codes, dependence: Dependence) -> Iterator[Both]:
    columns = np.array([marks.column(place) for place in range(len(marks.packed))], np.float64)
    trials = np.bincount(true, minlength=len(columns))
    together = np.array([shown @ shown.T for shown in (columns[:, true == value] for value in range(len(columns)))])
    for one, other in named_pairs(len(columns)):
        found = together[:, one, other].astype(int)
        for value in (one, other):
            what = f"values {one} and {other}, {value} true"
            yield Both(what, float(dependence.true[1]), int(found[value]), int(trials[value]))
        neither = [int(each.sum() - each[one] - each[other]) for each in (found, trials)]
        yield Both(f"values {one} and {other}, neither true", float(dependence.false[2]), *neither)


def _drawn_pairs(
    true: Codes, values: int, dependence: Dependence, rng: np.random.Generator
) -> Iterator[tuple[str, Codes, Fraction]]:
    """Two values for each report, drawn in four ways, each with its name and the chance that both are marked."""
    beside, step = rng.choice((-1, 1), len(true)), rng.integers(1, values, len(true))
    own, shared = dependence.true[1], dependence.false[2]
    yield "the true value and one beside it", np.array((true, (true + beside) % values)), own
    yield "the true value and another one", np.array((true, (true + step) % values)), own
    if values > 2:
        first, second = (rng.integers(1, values - 1, len(true)) for _ in range(2))
        yield "two others side by side", np.array((true + first, true + first + 1)) % values, shared
        yield "two others", np.array((true + step, true + second + (second >= step))) % values, shared


class Others(NamedTuple):
    """Of each report a value of one block that is not its answer: whether it is marked, and where there is one."""

    marked: Bits
    there: Bits
    stated: float


def others_of(marks: Marks, true: Codes, wanted: Codes, dependence: Dependence) -> Others:
    """The values that are wanted, where they are not true; of a flag always true, which has no other bit."""
    if len(marks.packed) == 1:
        return Others(marks.column(0), true == 0, float(dependence.p))
    wanted = wanted % len(marks.packed)
    return Others(marks.at(wanted), true != wanted, float(dependence.p))


def of_two_blocks(others: Mapping[str, Others]) -> Iterator[Both]:
    """Values that are not the answers, of each two blocks of the same reports, by the blocks' names."""
    for (one, mine), (other, theirs) in combinations(others.items(), 2):
        there = mine.there & theirs.there
        both = int((mine.marked & theirs.marked & there).sum())
        yield Both(f"{one} and {other}", mine.stated * theirs.stated, both, int(there.sum()))
