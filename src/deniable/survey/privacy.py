"""The privacy promise as odds: what somebody who sees a report can make of it, whatever they believed before.

A report is at most r = e^epsilon times as likely with one answer as with any other, so by Bayes' theorem a prior belief
b in any answer, or in any set of answers, becomes after the report is seen

    at most   b r / (b r + 1 - b)        at least   b / (b + (1 - b) r)

For one question r is the ratio of the block it is asked in. It holds if all other answers are known; and if they are
not, as long as those of other blocks say nothing about it. For the whole report r is the product over all blocks, and
holds whatever the protected answers have to do with each other. With arms it is that of the worst one: which arm a
person is asked says nothing about them. Where answers are kept, all of this is of all reports of a person together,
and with a fresh coin over what was kept, one report alone tells less. What answers that are not protected say is known
beforehand, by whoever can see them. All in exact fractions, rounded to the worse side.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod

from deniable.client import SCALE, quoted
from deniable.survey.plan import Plan

# SCALES are the denominators that a belief may be told in: "24 in 100", "999 in 1,000".
SCALES = tuple(10**k for k in range(2, 10))
# BELIEF is the prior belief that sentences about the promise start from.
BELIEF = Fraction(1, 10)
# BELIEFS are the prior beliefs that tables of the promise start from.
BELIEFS = (Fraction(1, 100), BELIEF, Fraction(1, 2))
# CERTAIN stands for a belief too close to one for any of the scales.
CERTAIN = "practically certain"
# LITTLE is the posterior belief above which, starting from BELIEF, a promise is said to protect little.
LITTLE = Fraction(95, 100)
# LARGE is the epsilon of a whole report above which a plan says loudly that it protects little.
LARGE = 5
# MUCH is the posterior belief up to which, starting from BELIEF, a promise is said to protect much.
MUCH = Fraction(1, 2)


@dataclass(frozen=True)
class Promise:
    """A bound on what can be learned from what was sent: nobody's odds change by more than the factor `ratio`."""

    ratio: Fraction

    def most(self, belief: Fraction) -> Fraction:
        """The largest posterior belief that a prior belief can become."""
        return belief * self.ratio / (belief * self.ratio + 1 - belief)

    def least(self, belief: Fraction) -> Fraction:
        """The smallest posterior belief that a prior belief can become."""
        return belief / (belief + (1 - belief) * self.ratio)

    def at_most(self, belief: Fraction) -> str:
        """The largest posterior belief in words, such as "24 in 100", rounded up."""
        chance = self.most(belief)
        scale = next((scale for scale in SCALES if ceil(chance * scale) < scale), None)
        return f"{ceil(chance * scale):,} in {scale:,}" if scale else CERTAIN

    def up_to(self, belief: Fraction) -> str:
        """The largest posterior belief as the end of a sentence: "to at most 24 in 100"."""
        said = self.at_most(belief)
        return "to practical certainty" if said == CERTAIN else f"to at most {said}"

    def sure(self, belief: Fraction) -> str:
        """How sure somebody can become, in words: "99 in 100 sure", rounded up, or "practically certain"."""
        said = self.at_most(belief)
        return said if said == CERTAIN else f"{said} sure"

    @property
    def little(self) -> bool:
        """Whether little is protected: a belief of one in ten can become all but certain."""
        return self.most(BELIEF) > LITTLE

    def at_least(self, belief: Fraction) -> str:
        """The smallest posterior belief in words, such as "24 in 1,000", rounded down."""
        chance = self.least(belief)
        scale = next((scale for scale in SCALES if floor(chance * scale) > 0), None)
        return f"{floor(chance * scale):,} in {scale:,}" if scale else "practically nothing"


def of_question(plan: Plan, name: str) -> Promise | None:
    """The promise about one question, a feature or a group of flags, by its own blocks alone.

    None if it is public, be it in part: a group with one flag that is shown has no promise as a whole.
    """
    names = {feature.name for feature in plan.schema.questions.get(name) or (plan.schema[name],)}
    return _of_blocks(plan, names) if names.isdisjoint(plan.public) else None


def of_weakest_question(plan: Plan) -> Promise | None:
    """The promise about the question that is protected least, public columns left out; None if all are public."""
    questions = [{f.name for f in features}.difference(plan.public) for features in plan.schema.questions.values()]
    promises = [_of_blocks(plan, names) for names in questions if names]
    return max(promises, key=lambda promise: promise.ratio, default=None)


def _of_blocks(plan: Plan, names: set[str]) -> Promise:
    """The promise of the blocks that ask any of these features, in the arm where they give most away."""
    ratios = (
        prod((block.ratio for block in arm.blocks if not names.isdisjoint(block.names)), start=Fraction(1))
        for arm in plan.arms
    )
    return Promise(max(ratios))


def of_report(plan: Plan) -> Promise:
    """The promise about all protected answers together, by the whole report; by all of a person if they are kept."""
    return Promise(plan.ratio)


def of_one_report(plan: Plan) -> Promise:
    """The promise about all protected answers by one report alone: smaller under a fresh coin over kept answers."""
    return Promise(max(prod((block.protocol.ratio_1 for block in arm.blocks), start=Fraction(1)) for arm in plan.arms))


def in_two_rounds(plan: Plan) -> bool:
    """Whether a fresh coin is thrown over kept answers, so that one report tells less than all of a person together."""
    return 0 < plan.kept < SCALE


def heading_of_beliefs(plan: Plan) -> str:
    """What a table of beliefs is about, which are those after one report, or after all that a person ever sends."""
    if plan.kept:
        return "Belief in an answer before, and at most after seeing it in all reports of a person"
    return "Belief in an answer before the report, and at most after it"


def public_in_quotes(plan: Plan) -> list[str]:
    """The columns that are shown as they are, in quotes, with their names where these are not what people read."""
    return [quoted({"name": name, "label": plan.schema[name].title}) for name in plan.public]


def in_one_sentence(plan: Plan) -> str:
    """The promise in one sentence for a respondent, honest also where a large epsilon promises little."""
    one, whole = of_weakest_question(plan), of_report(plan)
    if one is None:
        return "Nothing is protected here: every answer is shown as it is."
    public = ", ".join(public_in_quotes(plan))
    beyond = f" (beyond what {public} tells, which is not protected)" if public else ""
    which = (
        "Chance picked which questions you are asked, and may" if plan.has_arms and not plan.assigned else "Chance may"
    )
    return (
        f"{which} have changed your answers before anybody saw them: somebody who suspects one of them with a chance "
        f"of 1 in 10 can get {_seen(plan, one, whole)}{beyond}, {_conclusion(one, whole)}."
    )


def _seen(plan: Plan, one: Promise, whole: Promise) -> str:
    """What a belief of 1 in 10 can become by seeing one answer, one report, and all that a person ever sends."""
    answer, single, every = one.up_to(BELIEF), of_one_report(plan).up_to(BELIEF), whole.up_to(BELIEF)
    if in_two_rounds(plan):
        first = f"{single} by seeing one report of yours"
        first += f", {answer} by seeing that answer in all of them" if one != whole else ""
        return f"{first}, and {every} by seeing all your reports together"
    if plan.kept:
        also = f"{answer} by seeing that answer, and " if one != whole else ""
        return f"{also}{every} by seeing your report, however often the same is sent"
    if one == whole:
        return f"{every} by seeing your report"
    return f"{answer} by seeing that answer, and {every} by seeing your whole report"


def _conclusion(one: Promise, whole: Promise) -> str:
    """What the promises about one question and about the whole report amount to."""
    if whole.most(BELIEF) <= MUCH:
        return "so nobody can pin an answer on you"
    if not whole.little:
        return "never to certainty"
    if one.most(BELIEF) <= MUCH:
        return "so one answer alone proves little, but a whole report is protected little"
    return "which protects little"
