"""The privacy promise on the page: what one report, and all that a person ever sends, can give away."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from deniable.client import log_up
from deniable.page.blocks import Table
from deniable.page.design import asks_together
from deniable.survey.describe import epsilon_in_words, question_title
from deniable.survey.plan import Plan
from deniable.survey.privacy import (
    BELIEF,
    BELIEFS,
    Promise,
    heading_of_beliefs,
    in_one_sentence,
    in_two_rounds,
    of_one_report,
    of_question,
    of_report,
    of_weakest_question,
)
from deniable.text.width import isolated, shortened


@dataclass(frozen=True)
class Privacy:
    """What the page says of the privacy promise; of answers that are kept, `whole` is of all reports of a person."""

    sentence: str
    one: Promise  # about the question that is protected least
    whole: Promise
    single: Promise | None  # by one report alone, where that is less
    belief: Fraction  # that the text starts from
    table: Table
    public: tuple[str, ...]
    together: bool  # whether some answers are randomized together
    epsilon: str  # the total epsilon
    alone: str  # epsilon of the question that is protected least


def privacy(plan: Plan) -> Privacy:
    """What is said of the promise of a plan."""
    one = of_weakest_question(plan) or Promise(Fraction(1))
    return Privacy(
        sentence=in_one_sentence(plan),
        one=one,
        whole=of_report(plan),
        single=of_one_report(plan) if in_two_rounds(plan) else None,
        belief=BELIEF,
        table=_promise_table(plan),
        public=plan.public,
        together=asks_together(plan),
        epsilon=_epsilon(plan),
        alone=epsilon_in_words(log_up([one.ratio])),
    )


def _promise_table(plan: Plan) -> Table:
    """What beliefs can become, by one answer or by all; questions with the same promise share a row."""
    kinds: dict[tuple[str, ...], list[str]] = {}
    for question in plan.schema.questions:
        if promise := of_question(plan, question):
            kinds.setdefault(_beliefs(promise), []).append(question_title(plan.schema.questions[question]))
    rows = [(f"the answer to {_which(names, len(kinds))}", *said) for said, names in kinds.items()]
    arms = " of any arm" if plan.has_arms else ""
    if in_two_rounds(plan):
        rows.append((f"one report{arms} alone", *_beliefs(of_one_report(plan))))
    whole = "all reports of a person together" if plan.kept else f"the whole report{arms}"
    rows.append((whole, *_beliefs(of_report(plan))))
    head = ("after seeing, at most", *(f"before: {belief.numerator} in {belief.denominator}" for belief in BELIEFS))
    return Table(heading_of_beliefs(plan), head, tuple(rows))


def _epsilon(plan: Plan) -> str:
    """The total epsilon, and of what it is."""
    if len(plan.public) == len(plan.schema):
        return "none: nothing is protected"
    said = epsilon_in_words(plan.epsilon) + (", that of the largest arm" if plan.has_arms else "")
    if plan.kept:
        said += ", of all reports of a person together"
    return said + (f"; of one report alone {epsilon_in_words(plan.epsilon_1)}" if in_two_rounds(plan) else "")


def _beliefs(promise: Promise) -> tuple[str, ...]:
    return tuple(promise.at_most(belief) for belief in BELIEFS)


def _which(names: Sequence[str], kinds: int) -> str:
    """Questions with the same promise, in words."""
    if kinds == 1 and len(names) > 1:
        return "any one question"
    named = ", ".join(isolated(shortened(name, 40)) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{named}{more}{', each' if len(names) > 1 else ''}"
