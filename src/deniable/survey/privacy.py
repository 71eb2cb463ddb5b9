"""The privacy promise as odds: what somebody who sees a report can make of it, whatever they believed before.

A report is at most r = e^epsilon times as likely with one answer as with any other, so a belief b in any answer, or in
any set of answers, becomes after the report is seen

    at most   b r / (b r + 1 - b)        at least   b / (b + (1 - b) r)

For one question r is its own ratio, if the other answers say nothing about it; for the whole report it is the product
of all, and holds whatever the protected answers have to do with each other. What answers that are not protected say is
known beforehand, by whoever can see them. All in exact fractions, rounded to the worse side.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod

from deniable.survey.plan import Plan

SCALES = tuple(10**k for k in range(2, 10))  # in how many a belief is told
BELIEF = Fraction(1, 10)  # that is told of
CERTAIN = "practically certain"
LITTLE = Fraction(95, 100)  # what it becomes where little is protected
MUCH = Fraction(1, 2)  # what it becomes at most where much is


@dataclass(frozen=True)
class Promise:
    """How much somebody can learn from what was sent: their odds change at most so many times."""

    ratio: Fraction

    def most(self, belief: Fraction) -> Fraction:
        """What a belief can become at most."""
        return belief * self.ratio / (belief * self.ratio + 1 - belief)

    def least(self, belief: Fraction) -> Fraction:
        """What a belief can become at least."""
        return belief / (belief + (1 - belief) * self.ratio)

    def at_most(self, belief: Fraction) -> str:
        """The same in words, such as "24 in 100", rounded up."""
        chance = self.most(belief)
        scale = next((scale for scale in SCALES if ceil(chance * scale) < scale), None)
        return f"{ceil(chance * scale):,} in {scale:,}" if scale else CERTAIN

    def up_to(self, belief: Fraction) -> str:
        """Where a belief can get, in a sentence."""
        said = self.at_most(belief)
        return "to practical certainty" if said == CERTAIN else f"to at most {said}"

    @property
    def little(self) -> bool:
        """Whether little is protected: a belief of one in ten can become all but certain."""
        return self.most(BELIEF) > LITTLE

    def at_least(self, belief: Fraction) -> str:
        """The same in words, rounded down."""
        chance = self.least(belief)
        scale = next((scale for scale in SCALES if floor(chance * scale) > 0), None)
        return f"{floor(chance * scale):,} in {scale:,}" if scale else "practically nothing"


def of_question(plan: Plan, name: str) -> Promise | None:
    """About one question, by its own answers alone: a feature, or a group of flags; None if one of them is public."""
    features = plan.schema.questions.get(name) or (plan.schema[name],)
    protocols = [plan[feature.name] for feature in features]
    return None if not all(protocol.protects for protocol in protocols) else _of(p.ratio for p in protocols)


def of_report(plan: Plan) -> Promise:
    """About all protected answers together, by the whole report."""
    return _of(protocol.ratio for protocol in plan.protocols)


def in_one_sentence(plan: Plan) -> str:
    """What it means, for a respondent: honest also where a large epsilon promises little."""
    promises = [promise for name in plan.schema.questions if (promise := of_question(plan, name))]
    if not promises:
        return "Nothing is protected here: every answer is shown as it is."
    one, whole = max(promises, key=lambda promise: promise.ratio), of_report(plan)
    if whole.most(BELIEF) <= MUCH:
        end = "so nobody can pin an answer on you"
    elif not whole.little:
        end = "never to certainty"
    elif one.most(BELIEF) <= MUCH:
        end = "so one answer alone proves little, but a whole report is protected little"
    else:
        end = "which protects little"
    seen = f"{one.up_to(BELIEF)} by seeing that answer, and {whole.up_to(BELIEF)} by seeing your whole report"
    if one == whole:
        seen = f"{whole.up_to(BELIEF)} by seeing your report"
    open_ones = plan.public
    beyond = f" (beyond what {', '.join(open_ones)} tells, which is not protected)" if open_ones else ""
    return (
        "Chance may have changed your answers before anybody saw them: somebody who suspects one of them with a chance "
        f"of 1 in 10 can get {seen}{beyond}, {end}."
    )


def _of(ratios: Iterable[Fraction]) -> Promise:
    return Promise(prod(ratios, start=Fraction(1)))
