"""The audit of a plan: draws from each shipped client, what they show at least of epsilon, and what is off.

Two records are held against each other, one of first answers and one of last answers, which differ in everything that
is protected. All comparisons of all clients together are wrong with probability `ERROR` at most, for a right client:
each has an equal part of it (Bonferroni).
"""

import datetime
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np

from deniable import __version__
from deniable.collect.audit.events import (
    RECORDS,
    Arm,
    Event,
    Seen,
    check_kept_arms,
    of_drawn_arms,
    of_mixed,
    of_record,
    of_two_reports,
)
from deniable.collect.audit.exact_bounds import draws_needed, epsilon_at_least, p_value, share_caught
from deniable.collect.audit.shipped_clients import KEEPING, SHIPPED, Answers, Shipped, Twice, by_javascript, node
from deniable.collect.audit.tells import SIDES
from deniable.errors import DeniableError, ReportError, abbreviated
from deniable.survey.plan import Plan

ERROR = 1e-3  # The probability that an audit of right clients fails is at most this.
DRAWS = 100_000  # So many reports of each record are drawn from each client, unless told otherwise.
FEWEST_DRAWS = 100
LOOKED_FOR = 0.1  # An audit whose power is not low finds this share of answers to any question, if sent as they are.
WHOLE = "all of them"  # This stands in place of the protocol where all blocks of a report are looked at together.
RUN = 50_000  # At most so many reports are drawn in one run of a client.

Found = dict[Event, tuple[int, int]]  # how often an event came, and among how many


@dataclass(frozen=True)
class Row:
    """One question, or the whole report of an arm: the epsilon that the plan states and what was seen of it."""

    arm: str
    question: str
    protocol: str
    stated: float
    at_least: Mapping[str, float]  # by client, the lower bound of epsilon; all of them hold at once
    typical: float  # the bound that a right client shows, were its counts as expected
    caught: float  # the least share of answers, sent as they are, that is found with probability 0.95
    draws_needed: int  # so many draws find `LOOKED_FOR` of them with that probability


@dataclass(frozen=True)
class Off:
    """Something that a right client does not do."""

    client: str
    arm: str
    what: str


@dataclass(frozen=True)
class Audit:
    """What an audit found, and all that is needed to repeat it."""

    fingerprint: str
    epsilon: float
    epsilon_is_of: str  # a whole report, or all reports of a person where answers are kept
    date: str
    versions: Mapping[str, str]
    draws: int
    error: float
    comparisons: int
    clients: tuple[str, ...]
    not_audited: Mapping[str, str]  # by client, why
    public: tuple[str, ...]  # the columns that are sent as they are, of which no epsilon says anything
    rows: tuple[Row, ...]
    off: tuple[Off, ...]

    @property
    def passed(self) -> bool:
        """Whether no bound is above the stated epsilon, and nothing else is off; not if nothing is protected."""
        return self.protects and not self.off

    @property
    def protects(self) -> bool:
        """Whether anything is protected, so that there is something to audit."""
        return bool(self.rows)

    @property
    def caught(self) -> float:
        """The least share of answers to any one question, sent as they are, that is found with probability 0.95."""
        return max((row.caught for row in self._questions), default=1.0)

    @property
    def draws_needed(self) -> int:
        """The draws that would find `LOOKED_FOR` of the answers to any one question with probability 0.95."""
        return max((row.draws_needed for row in self._questions), default=0)

    @property
    def low_power(self) -> bool:
        """Whether `LOOKED_FOR` of the answers to some question could be sent as they are without being noticed."""
        return self.protects and self.caught > LOOKED_FOR

    @property
    def _questions(self) -> list[Row]:
        """The rows of single blocks: whoever sends whole records as they are sends each answer so."""
        return [row for row in self.rows if row.protocol != WHOLE]

    def to_json(self) -> dict[str, Any]:
        """The audit as JSON has it."""
        power = {"low_power": self.low_power, "draws_needed": self.draws_needed}
        return {"passed": self.passed, "protects": self.protects, **power, **asdict(self)}


def audit(
    plan: Plan,
    *,
    draws: int = DRAWS,
    clients: Mapping[str, Shipped] = SHIPPED,
    keeping: Mapping[str, Twice] = KEEPING,
    error: float = ERROR,
    watch: Callable[[Iterable[str]], Iterable[str]] = iter,
) -> Audit:
    """Draw reports from clients and hold them against what the plan states.

    Parameters
    ----------
    plan
        The plan whose reports are drawn.
    draws
        Reports of each record, of each arm, from each client.
    clients
        The clients by their names; those that are shipped, unless told otherwise.
    keeping
        Of those that keep answers on a device, how each makes two reports there.
    error
        The probability that an audit of right clients fails, at most.
    watch
        Is given what is about to be drawn, in words, and passes it on.

    Examples
    --------
    >>> from deniable.collect.audit.shipped_clients import in_bulk
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    >>> found = audit(plan, draws=20_000, clients={"bulk": in_bulk})
    >>> found.passed, found.rows[0].question
    (True, 'smoker')
    """
    if type(draws) is not int or draws < FEWEST_DRAWS:
        raise DeniableError(f"an audit takes {FEWEST_DRAWS} draws or more; found {abbreviated(draws)}")
    draws += draws % 2  # drawn in pairs of runs
    left_out = _left_out(clients)
    used = {name: one for name, one in clients.items() if name not in left_out}
    arms = [Arm.of(plan, number, draws) for number in range(len(plan.arms))]
    found: dict[str, Found] = {}
    broken: list[Off] = []
    for name in watch(used):
        try:
            found[name] = _drawn(plan, arms, used[name], keeping.get(name), draws)
        except ReportError as problem:  # no chance makes such a report
            broken.append(Off(name, "", str(problem)))
    bounds = 2 * sum(len(arm.told) + bool(arm.told) for arm in arms)
    comparisons = sum(len(events) + bounds for events in found.values())
    each = error / max(comparisons, 1)
    rows = tuple(row for arm in arms for row in _rows(arm, found, draws, each))
    return Audit(
        fingerprint=plan.fingerprint,
        epsilon=plan.epsilon,
        epsilon_is_of="all reports of a person together" if plan.kept else "a whole report",
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        versions=_versions(),
        draws=draws,
        error=error,
        comparisons=comparisons,
        clients=tuple(used),
        not_audited=left_out,
        public=plan.public,
        rows=rows,
        off=(*broken, *_leaks(rows), *_off(found, each)),
    )


def _left_out(clients: Mapping[str, Shipped]) -> dict[str, str]:
    """The clients that cannot be audited, and why."""
    return {} if node() else {name: "there is no node here" for name, one in clients.items() if one is by_javascript}


def _drawn(plan: Plan, arms: list[Arm], shipped: Shipped, twice: Twice | None, draws: int) -> Found:
    """All events among the reports that one client makes."""
    found: Found = {}
    kept = _kept(plan, arms, twice, draws // 2) if plan.kept and twice else ()
    for event, times, trials in chain(
        *(_of_arm(arm, shipped, draws) for arm in arms), _arm_draws(plan, shipped, draws), kept
    ):
        before = found.get(event, (0, 0))
        found[event] = before[0] + times, before[1] + trials
    return found


def _of_arm(arm: Arm, shipped: Shipped, draws: int) -> Iterator[Seen]:
    plan = arm.plan
    name = arm.name if plan.has_arms else None
    for count in _runs(draws // 2):
        for side in SIDES:
            answers = _record(plan, side, count)
            yield from of_record(arm, side, [shipped(answers, plan, name) for _ in range(2)])
    rng = np.random.default_rng(1)  # of made-up answers, and what is looked at; clients draw from their own randomness
    for count in _runs(draws):
        codes = {one.name: rng.integers(0, one.levels, count) for one in plan.schema}
        answers = {one.name: [one.answers[code] for code in codes[one.name].tolist()] for one in plan.schema}
        yield from of_mixed(arm, codes, shipped(answers, plan, name), rng)


def _arm_draws(plan: Plan, shipped: Shipped, draws: int) -> Iterator[Seen]:
    """How often the client draws each arm, if it is the client that draws it."""
    if plan.has_arms and not plan.assigned:
        for count in _runs(draws):
            for side in SIDES:
                yield from of_drawn_arms(plan, side, shipped(_record(plan, side, count), plan, None))


def _kept(plan: Plan, arms: list[Arm], twice: Twice, devices: int) -> Iterator[Seen]:
    """What two reports of each of so many devices show, for each record and arm."""
    for count in _runs(devices):
        for side in SIDES:
            answers = _record(plan, side, count)
            for arm in arms:
                yield from of_two_reports(arm, side, twice(answers, plan, arm.name if plan.has_arms else None))
            if plan.has_arms and not plan.assigned:
                check_kept_arms(plan, twice(answers, plan, None))


def _runs(draws: int) -> list[int]:
    return [min(RUN, draws - start) for start in range(0, draws, RUN)]


def _record(plan: Plan, side: int, count: int) -> Answers:
    """Equal records of first answers, or of last ones; what is public is the same in both."""
    return {one.name: [one.answers[0 if one.name in plan.public else -side]] * count for one in plan.schema}


def _rows(arm: Arm, found: Mapping[str, Found], draws: int, error: float) -> Iterator[Row]:
    """A row for each block that protects, and one for the whole report.

    Where a fresh coin is thrown over kept answers, one report has a smaller epsilon than the plan, which states that of
    all reports of a person together.
    """
    for part in arm.told:
        assert part.tells
        chances = [(part.tells.chance(side, side), part.tells.chance(side, 1 - side)) for side in SIDES]
        what = ["tells", *(f"{part.name} for {RECORDS[side]}" for side in SIDES)]
        protocol, stated = part.block.protocol, min(part.block.protocol.epsilon, part.tells.epsilon)
        yield _row(arm, part.name, protocol.name, stated, what, chances, found, draws, error)
    if arm.wholes:
        stated = min(arm.plan.arms[arm.number].epsilon, sum(part.tells.epsilon for part in arm.told if part.tells))
        chances = [way.chances for way in arm.wholes]
        yield _row(arm, "whole report", WHOLE, stated, ["whole", *RECORDS], chances, found, draws, error)


def _row(
    arm: Arm,
    question: str,
    protocol: str,
    stated: float,
    what: list[str],
    chances: list[tuple[float, float]],
    found: Mapping[str, Found],
    draws: int,
    error: float,
) -> Row:
    """The row of the event `what[0]`, which tells for first answers, `what[1]`, or for last ones, `what[2]`."""
    seen = {}
    for client, events in found.items():
        pairs = []
        for side, (u, v) in enumerate(chances):
            here = events[Event(what[0], arm.name, RECORDS[side], what[1 + side], u)]
            there = events[Event(what[0], arm.name, RECORDS[1 - side], what[1 + side], v)]
            pairs.append(float(epsilon_at_least(here[0], there[0], draws, error)))
        seen[client] = max(pairs)
    typical = max(float(epsilon_at_least(draws * u, draws * v, draws, error)) for u, v in chances)
    caught = min(share_caught(u, draws, error) for u, _ in chances)
    needed = max(draws_needed(u, LOOKED_FOR, error) for u, _ in chances)
    return Row(arm.name, question, protocol, stated, seen, typical, caught, needed)


def _leaks(rows: Iterable[Row]) -> Iterator[Off]:
    for row in rows:
        for client, least in row.at_least.items():
            if least > row.stated:
                what = f"{row.question} gives away an epsilon of {least:.4g} at least; the plan states {row.stated:.4g}"
                yield Off(client, row.arm, what)


def _off(found: Mapping[str, Found], error: float) -> Iterator[Off]:
    for client, events in found.items():
        for event, (times, trials) in events.items():
            if trials and p_value(times, trials, event.stated) <= error:
                of = f"{times:,} of {trials:,}, where {trials * event.stated:,.0f} are expected"
                yield Off(client, event.arm, f"{event.kind}: {event.what} ({event.record}): {of}")


def _versions() -> dict[str, str]:
    import cryptography

    return {
        "deniable": __version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "cryptography": cryptography.__version__,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
