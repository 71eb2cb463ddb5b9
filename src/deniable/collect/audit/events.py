"""Events that an audit counts among the reports of one client, each with the chance that the plan states for it.

    shows       a block marks one of its values                                        each block and value
    tells       a block tells for its first answer, or for its last (`tells`)          each block, of several values
    pair        two values of one block are marked at once (`pairs`)                   each block that can mark several
    both        two blocks tell for the true answers at once                           each two blocks of an arm
    others      two blocks mark values at once that are not their answers (`pairs`)    each two blocks of an arm
    in a row    two reports, one after the other, tell for the true answer             each block
    again       two reports at the same place of two runs do                           each block
    kept        two reports of one device do, where answers are kept                   each block
    whole       the whole report tells for its answers against the others              each arm
    seed        a bit of a hash's seed is 1                                            each of 124 bits
    arm         the device draws this arm                                              each arm

All but `others` are counted for a record of first answers and for one of last answers. Of answers drawn at random, of
which each value comes up, `others` are counted, and `shows` and `pair`, apart for the true values and for others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from deniable.client import PRIME, SCALE
from deniable.collect.audit.pairs import (
    Both,
    Marks,
    Others,
    mark_several,
    of_equal_answers,
    of_mixed_answers,
    of_two_blocks,
    others_of,
)
from deniable.collect.audit.tells import SIDES, Tells, WholeReport, both_tell
from deniable.errors import ReportError
from deniable.reports.fields import HashField, arm_bits, columns_by_name, fields
from deniable.reports.report_bits import Raw, arms_of, from_raw
from deniable.reports.report_columns import whole
from deniable.survey.blocks import Block
from deniable.survey.plan import Plan

Bits = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]

RECORDS = ("first answers", "last answers")  # what the two records hold that are held against each other
MIXED = "mixed answers"
NUMBERS = 1 << 31  # Values to look at are drawn as numbers below this, and taken modulo how many there are.
SEED_BITS = 31  # A coefficient of a hash is below the prime, and has so many bits.


class Event(NamedTuple):
    """Something that a report may show, and the chance of it that the plan states."""

    kind: str
    arm: str
    record: str
    what: str
    stated: float


class Seen(NamedTuple):
    """How often an event was seen among so many reports, or pairs of reports."""

    event: Event
    found: int
    trials: int


@dataclass(frozen=True)
class Part:
    """A block of an arm that is looked at; `tells` is None if the block is public."""

    name: str
    block: Block
    tells: Tells | None

    @property
    def one_bit(self) -> bool:
        """Whether it is a flag, which has one bit for its two answers."""
        return self.block.protocol.columns == 1

    def stated(self, own: bool) -> float:
        """The chance that a value is marked, if it is the true one, or another."""
        channel = self.block.protocol.channel
        return float(channel.q if own else channel.p)

    @property
    def has_pairs(self) -> bool:
        """Whether two of its values can be marked at once."""
        return self.tells is not None and not self.one_bit and mark_several(self.block.protocol.dependence)


@dataclass(frozen=True)
class Arm:
    """An arm of a plan as an audit looks at it."""

    plan: Plan
    number: int
    parts: tuple[Part, ...]
    wholes: tuple[WholeReport, WholeReport] | None  # what tells for each side; None if nothing is protected

    @classmethod
    def of(cls, plan: Plan, number: int, draws: int) -> "Arm":
        """The arm of this number, for so many draws."""
        blocks = plan.arms[number].blocks
        parts = tuple(Part(block.name, block, Tells.of(block) if block.protocol.protects else None) for block in blocks)
        tells = tuple(part.tells for part in parts if part.tells)
        wholes = (WholeReport(tells, 0, draws), WholeReport(tells, 1, draws)) if tells else None
        return cls(plan, number, parts, wholes)

    @property
    def name(self) -> str:
        """The arm's name."""
        return self.plan.arm_names[self.number]

    @property
    def told(self) -> tuple[Part, ...]:
        """The blocks that protect."""
        return tuple(part for part in self.parts if part.tells)


class Marked(NamedTuple):
    """What reports show of one block: which of them mark each value, and which tell for each side."""

    marks: Marks
    sides: tuple[Bits, Bits]


def of_record(arm: Arm, side: int, runs: Sequence[Raw]) -> Iterator[Seen]:
    """The events in two runs of equally many reports of one record, of first answers or of last ones."""
    record = RECORDS[side]
    found = [_marked(arm, raw) for raw in runs]

    def seen(kind: str, what: str, stated: float, bits: Bits) -> Seen:
        return Seen(Event(kind, arm.name, record, what, stated), int(bits.sum()), len(bits))

    for raw, marked in zip(runs, found, strict=True):
        for part, own in zip(arm.parts, marked, strict=True):
            yield from _shown(arm, part, side, own, len(raw))
        told = [(p, m) for p, m in zip(arm.parts, marked, strict=True) if p.tells]
        for part, own in told:
            hits, u = own.sides[side], part.tells.chance(side, side)  # type: ignore[union-attr]
            half = len(hits) // 2
            yield seen("in a row", part.name, u * u, hits[: 2 * half : 2] & hits[1 : 2 * half : 2])
        for (one, mine), (other, theirs) in combinations(told, 2):
            u = one.tells.chance(side, side) * other.tells.chance(side, side)  # type: ignore[union-attr]
            yield seen("both", f"{one.name} and {other.name}", u, mine.sides[side] & theirs.sides[side])
        for way in arm.wholes or ():
            total = np.zeros(len(raw), np.int64)
            for (_, own), (up, down) in zip(told, way.weights, strict=True):
                total += up * own.sides[way.side] - down * own.sides[1 - way.side].astype(np.int64)
            yield seen("whole", RECORDS[way.side], way.chances[way.side != side], total >= way.threshold)
        yield from _seeds(arm, record, raw)
    for part, one, other in zip(arm.parts, *found, strict=True):
        if part.tells:
            u = part.tells.chance(side, side)
            yield seen("again", part.name, u * u, one.sides[side] & other.sides[side])


def of_two_reports(arm: Arm, side: int, pair: tuple[Raw, Raw]) -> Iterator[Seen]:
    """The events in two reports of each of many devices that keep answers; without a fresh coin they are equal."""
    if arm.plan.kept == SCALE:
        if (pair[0] != pair[1]).any():
            raise ReportError(
                "two reports of one device differ, where the plan keeps its answers and sends the same again"
            )
        return
    for part, one, other in zip(arm.parts, *(_marked(arm, raw) for raw in pair), strict=True):
        if part.tells:
            event = Event("kept", arm.name, RECORDS[side], part.name, both_tell(part.block, side))
            yield Seen(event, int((one.sides[side] & other.sides[side]).sum()), len(pair[0]))


def check_kept_arms(plan: Plan, pair: tuple[Raw, Raw]) -> None:
    """Refuse two reports of one device that are of two arms."""
    if (arms_of(pair[0], plan) != arms_of(pair[1], plan)).any():
        raise ReportError("two reports of one device are of two arms, where the plan keeps the arm")


def of_mixed(arm: Arm, codes: Mapping[str, Codes], raw: Raw, rng: np.random.Generator) -> Iterator[Seen]:
    """The events among reports of answers drawn at random, given the codes of each feature's answers.

    The generator draws which values of a report are looked at.
    """
    one_number = rng.integers(0, NUMBERS, len(raw))
    others: dict[str, dict[str, Others]] = {"of one number": {}, "of any numbers": {}}
    for part, (shown, field) in zip(arm.parts, _fields(arm, raw), strict=True):
        true = np.zeros(len(raw), np.int64)
        for feature in part.block.features:
            true = true * feature.levels + codes[feature.name]
        marks, dependence = Marks.of(field.marks(shown, len(raw)), len(raw)), part.block.protocol.dependence
        for place, code in enumerate(part.block.protocol.codes):
            for own in (True, False):
                among = (true == code) == own
                what = f"{part.name}, value {code}, {'true' if own else 'not true'}"
                event = Event("shows", arm.name, MIXED, what, part.stated(own))
                yield Seen(event, int(marks.column(place)[among].sum()), int(among.sum()))
        if part.has_pairs:
            yield from _at_once("pair", arm, MIXED, part.name, of_mixed_answers(marks, true, dependence, rng))
        if part.tells:
            for kind, numbers in zip(others, (one_number, rng.integers(0, NUMBERS, len(raw))), strict=True):
                others[kind][part.name] = others_of(marks, true, numbers, dependence)
    for kind, blocks in others.items():
        yield from _at_once("others", arm, MIXED, kind, of_two_blocks(blocks))


def _at_once(kind: str, arm: Arm, record: str, where: str, seen: Iterable[Both]) -> Iterator[Seen]:
    """Two marks at once as events."""
    for what, stated, found, trials in seen:
        yield Seen(Event(kind, arm.name, record, f"{where}, {what}", stated), found, trials)


def of_drawn_arms(plan: Plan, side: int, raw: Raw) -> Iterator[Seen]:
    """How often each arm was drawn among reports of one record."""
    drawn = np.bincount(arms_of(raw, plan), minlength=len(plan.arms))
    for name, share, found in zip(plan.arm_names, plan.shares, drawn.tolist(), strict=True):
        yield Seen(Event("arm", name, RECORDS[side], "is drawn", share / SCALE), found, len(raw))


def _shown(arm: Arm, part: Part, side: int, own: Marked, trials: int) -> Iterator[Seen]:
    """The events `shows`, `tells` and `pair` of one block."""
    record = RECORDS[side]
    if part.tells:
        for way in SIDES:
            event = Event("tells", arm.name, record, f"{part.name} for {RECORDS[way]}", part.tells.chance(way, side))
            yield Seen(event, int(own.sides[way].sum()), trials)
        if part.one_bit:
            return
    true = side * (part.block.unit.levels - 1) if part.tells else 0  # what is public is the same in both records
    for place, code in enumerate(part.block.protocol.codes):
        event = Event("shows", arm.name, record, f"{part.name}, value {code}", part.stated(code == true))
        yield Seen(event, int(own.marks.column(place).sum()), trials)
    if part.has_pairs:
        seen = of_equal_answers(own.marks, true, part.block.protocol.dependence)
        yield from _at_once("pair", arm, record, part.name, seen)


def _seeds(arm: Arm, record: str, raw: Raw) -> Iterator[Seen]:
    stated = (2 ** (SEED_BITS - 1) - 1) / PRIME  # of the numbers below the prime, those with a given bit
    for part, (shown, field) in zip(arm.parts, _fields(arm, raw), strict=True):
        if isinstance(field, HashField):
            for place, seeds in enumerate(np.asarray(shown[0]).T):
                for bit in range(SEED_BITS):
                    event = Event("seed", arm.name, record, f"{part.name}, bit {bit} of {place}", stated)
                    yield Seen(event, int((seeds >> np.uint32(bit) & np.uint32(1)).sum()), len(raw))


def _fields(arm: Arm, raw: Raw) -> Iterator[tuple[Any, Any]]:
    """What reports show of each block of an arm, and its field; reports that cannot be are an error."""
    if (arms_of(raw, arm.plan) != arm.number).any():
        raise ReportError(f"reports of the arm {arm.name!r} were asked for, and another one was made")
    own = arm.plan.arms[arm.number]
    columns = columns_by_name(from_raw(raw, own, arm_bits(arm.plan)))
    for field in fields(own).values():
        yield field.shown(field.conform({name: whole(columns[name]) for name in field.names})), field


def _marked(arm: Arm, raw: Raw) -> list[Marked]:
    found = []
    for part, (shown, field) in zip(arm.parts, _fields(arm, raw), strict=True):
        marks = Marks.of(field.marks(shown, len(raw)), len(raw))
        first, last = marks.column(0), marks.column(-1)
        found.append(Marked(marks, (~first, first) if part.one_bit else (first & ~last, last & ~first)))
    return found
