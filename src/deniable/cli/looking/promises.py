"""The promises of a plan, question by question and for the whole report, as lines of text and as JSON.

Whatever is rounded is rounded to the worse side: epsilon, odds and beliefs up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf
from typing import Any

from deniable.client import SCALE, log_up
from deniable.survey.describe import HEAD, epsilon_in_words, odds_in_words, protocol_rows, question_title
from deniable.survey.plan import Plan
from deniable.survey.privacy import BELIEFS, Promise, of_question, of_report
from deniable.text.tables import aligned

# DIGITS is how many digits odds and beliefs have in JSON after the point.
DIGITS = 4
# PROMISE_HEAD names the columns of the table of promises.
PROMISE_HEAD = (
    "after seeing",
    "epsilon",
    "odds change at most",
    *(f"before: {belief.numerator} in {belief.denominator}" for belief in BELIEFS),
)


@dataclass(frozen=True)
class Promised:
    """What a plan promises about one question, or about the whole report; nothing if that is shown as it is."""

    what: str
    promise: Promise | None

    @property
    def epsilon(self) -> float:
        """Epsilon, rounded up; infinite of what is not protected."""
        return inf if self.promise is None else log_up([self.promise.ratio])

    @property
    def row(self) -> tuple[str, ...]:
        """The line below PROMISE_HEAD."""
        if self.promise is None:
            return (self.what, "none", "NOT PROTECTED", *("" for _ in BELIEFS))
        odds = f"{odds_in_words(self.promise)} times"
        return (self.what, epsilon_in_words(self.epsilon), odds, *map(self.promise.at_most, BELIEFS))

    def to_json(self) -> dict[str, Any]:
        """The promise as numbers; None of what is not protected."""
        if self.promise is None:
            return {"protected": False, "epsilon": None, "odds": None, "beliefs": None}
        beliefs = {f"{belief.numerator} in {belief.denominator}": _up(self.promise.most(belief)) for belief in BELIEFS}
        return {"protected": True, "epsilon": self.epsilon, "odds": _up(self.promise.ratio), "beliefs": beliefs}


def _up(number: Fraction) -> float:
    """A number rounded up to some digits."""
    return float(Fraction(ceil(number * 10**DIGITS), 10**DIGITS))


def of_questions(plan: Plan) -> dict[str, Promised]:
    """What a plan promises about each question, by its name."""
    return {
        name: Promised(question_title(features), of_question(plan, name))
        for name, features in plan.schema.questions.items()
    }


def of_whole(plan: Plan) -> Promised:
    """What a plan promises about everything that is protected in one report."""
    every = len(plan.public) == len(plan.schema)
    return Promised("the whole report" + (" of any arm" if plan.has_arms else ""), None if every else of_report(plan))


def promise_lines(plan: Plan, *, colour: bool) -> list[str]:
    """The table of promises: a belief in an answer before the report, and what it becomes at most."""
    rows = [one.row for one in (*of_questions(plan).values(), of_whole(plan))]
    return aligned(PROMISE_HEAD, rows, numbers=range(1, len(PROMISE_HEAD)), rule=True, colour=colour)


def probability_lines(plan: Plan, *, colour: bool) -> list[str]:
    """The table of how each block of each arm is randomized, with its probabilities in percent."""
    rows = list(dict.fromkeys(protocol_rows(plan)))
    return aligned(HEAD, rows, numbers=(3, 4, 5), rule=True, colour=colour)


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """What a plan promises and how it randomizes, as JSON."""
    return {
        "fingerprint": plan.fingerprint,
        "whole report": of_whole(plan).to_json(),
        "questions": [{"question": name, **one.to_json()} for name, one in of_questions(plan).items()],
        "not protected": list(plan.public),
        "arms": [
            {"name": name, "share": share / SCALE, "blocks": list(_blocks(arm))}
            for name, share, arm in zip(plan.arm_names, plan.shares, plan.arms, strict=True)
        ],
    }


def _blocks(arm: Plan) -> Iterator[dict[str, Any]]:
    """How the blocks of one arm are randomized."""
    for block in arm.blocks:
        protocol, protects = block.protocol, block.protocol.protects
        yield {
            "questions": list(block.names),
            "protocol": protocol.name,
            "epsilon": protocol.epsilon if protects else None,
            "sent if true": protocol.q if protects else 1.0,
            "sent if not": protocol.p if protects else 0.0,
        }
