"""The promises of a plan, question by question and for the whole report, as lines of text and as JSON.

Whatever is rounded is rounded to the worse side: epsilon, odds and beliefs up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf
from typing import Any

from deniable.client import SCALE, log_up, quoted
from deniable.survey.describe import (
    epsilon_in_words,
    odds_in_words,
    protocol_head,
    protocol_rows,
    question_title,
    within_width,
)
from deniable.survey.plan import Plan
from deniable.survey.privacy import BELIEFS, Promise, in_two_rounds, of_one_report, of_question, of_report
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
        name: Promised(_titled(name, question_title(features)), of_question(plan, name))
        for name, features in plan.schema.questions.items()
    }


def _titled(name: str, title: str) -> str:
    """A question's name; in quotes beside what people read instead, so that no label passes for words of the table."""
    return name if title == name else quoted({"name": name, "label": title})


def of_whole(plan: Plan) -> Promised:
    """What a plan promises about everything that is protected: in one report, or where answers are kept in all."""
    whole = f"the whole report{_of_any_arm(plan)}"
    return _promised(plan, "all reports of a person" if plan.kept else whole, of_report(plan))


def of_single(plan: Plan) -> Promised:
    """What a plan promises about everything that is protected in one report alone."""
    return _promised(plan, f"one report{_of_any_arm(plan)} alone", of_one_report(plan))


def _of_any_arm(plan: Plan) -> str:
    return " of any arm" if plan.has_arms else ""


def _promised(plan: Plan, what: str, promise: Promise) -> Promised:
    """A promise about everything that is protected; of a plan that protects nothing there is none."""
    return Promised(what, None if len(plan.public) == len(plan.schema) else promise)


def promise_lines(plan: Plan, *, colour: bool) -> list[str]:
    """The table of promises: a belief in an answer before the report, and what it becomes at most."""
    single = [of_single(plan)] if in_two_rounds(plan) else []
    rows = [one.row for one in (*of_questions(plan).values(), *single, of_whole(plan))]
    lines = within_width(PROMISE_HEAD, rows)
    return aligned(PROMISE_HEAD, lines, numbers=range(1, len(PROMISE_HEAD)), rule=True, colour=colour)


def probability_lines(plan: Plan, *, colour: bool) -> list[str]:
    """The table of how each block of each arm is randomized, with its probabilities in percent."""
    head, rows = protocol_head(plan), list(dict.fromkeys(protocol_rows(plan)))
    return aligned(head, within_width(head, rows), numbers=range(3, len(head)), rule=True, colour=colour)


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """What a plan promises and how it randomizes, as JSON."""
    return {
        "fingerprint": plan.fingerprint,
        "whole report": of_whole(plan).to_json(),
        **({"one report": of_single(plan).to_json()} if plan.kept else {}),
        "questions": [{"question": name, **one.to_json()} for name, one in of_questions(plan).items()],
        "not protected": list(plan.public),
        "arms": [
            {"name": name, "share": share / SCALE, "blocks": list(_blocks(arm, kept=plan.kept > 0))}
            for name, share, arm in zip(plan.arm_names, plan.shares, plan.arms, strict=True)
        ],
    }


def _blocks(arm: Plan, *, kept: bool) -> Iterator[dict[str, Any]]:
    """How the blocks of one arm are randomized; of answers that are kept with the epsilon of one report, too."""
    for block in arm.blocks:
        protocol, protects = block.protocol, block.protocol.protects
        yield {
            "questions": list(block.names),
            "protocol": protocol.name,
            "epsilon": protocol.epsilon if protects else None,
            **({"epsilon_1": log_up([protocol.ratio_1]) if protects else None} if kept else {}),
            "sent if true": protocol.q if protects else 1.0,
            "sent if not": protocol.p if protects else 0.0,
        }
