"""Two plans side by side: which of them protects each question better, and what only one of them asks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deniable.cli.looking.promises import Promised, of_questions, of_whole
from deniable.errors import listed
from deniable.survey.blocks import Block
from deniable.survey.describe import epsilon_in_words, within_width
from deniable.survey.plan import Plan
from deniable.survey.privacy import BELIEF, public_in_quotes
from deniable.text.tables import aligned

# SAME is the remark about two promises that four digits of epsilon do not tell apart.
SAME = "the same"


@dataclass(frozen=True)
class Compared:
    """What the first and the second plan promise about a question, None where a plan does not ask it, and a remark."""

    what: str
    first: Promised | None
    second: Promised | None
    remark: str

    @property
    def row(self) -> tuple[str, ...]:
        """The epsilons, the beliefs that 1 in 10 becomes at most, and the remark."""
        both = (self.first, self.second)
        return (self.what, *map(_epsilon, both), *map(_belief, both), self.remark)

    def to_json(self) -> dict[str, Any]:
        """The two promises, and the remark."""
        first, second = (None if one is None else one.to_json() for one in (self.first, self.second))
        return {"question": self.what, "first": first, "second": second, "remark": self.remark}


def compared(first: Plan, second: Plan) -> list[Compared]:
    """Each question of one plan or both, in order, and the whole report last."""
    one, other = of_questions(first), of_questions(second)
    names = dict.fromkeys([*one, *other])
    rows = [Compared(name, one.get(name), other.get(name), _remark(name, first, second)) for name in names]
    whole = of_whole(first), of_whole(second)
    other_open = "; other columns are NOT PROTECTED" if {*first.public} != {*second.public} else ""
    return [*rows, Compared("the whole report", *whole, f"{_which(*whole)}{other_open}")]


def comparison_lines(first: Plan, second: Plan, *, colour: bool) -> list[str]:
    """The comparison as lines of text, with a verdict on top."""
    head = ("question", "epsilon, first", "second", "1 in 10 becomes, first", "second", "")
    rows = within_width(head, [row.row for row in compared(first, second)])
    return [
        verdict(first, second),
        "",
        *aligned(head, rows, numbers=range(1, 5), rule=True, colour=colour),
        *([""] if (arms := arms_that_differ(first, second)) else []),
        *arms,
    ]


def arms_that_differ(first: Plan, second: Plan) -> list[str]:
    """Which arms one of two plans with arms has alone, and which have other shares or are randomized in another way."""
    if not (first.has_arms and second.has_arms):
        return []
    one, other = _arms(first), _arms(second)
    both = [name for name in one if name in other]
    found = {
        "Arms of the first alone": [name for name in one if name not in both],
        "Arms of the second alone": [name for name in other if name not in both],
        "Arms with other shares": [name for name in both if one[name][0] != other[name][0]],
        "Arms that are randomized in another way": [name for name in both if one[name][1] != other[name][1]],
    }
    return [f"{what}: {listed(names)}." for what, names in found.items() if names]


def _arms(plan: Plan) -> dict[str, tuple[int, tuple[Block, ...]]]:
    """The share and the blocks of each arm, by its name."""
    parts = zip(plan.arm_names, plan.shares, plan.arms, strict=True)
    return {name: (share, arm.blocks) for name, share, arm in parts}


def verdict(first: Plan, second: Plan) -> str:
    """How two plans differ, in some sentences; which of them protects better only if it shows no columns more."""
    if first == second:
        return "They are the same plan: the fingerprints are equal."
    asked = first.schema.questions.keys() ^ second.schema.questions.keys()
    more = (
        f" {len(asked):,} question{'s are' if len(asked) > 1 else ' is'} asked by one of them alone." if asked else ""
    )
    more += "".join(_shown_by_one(*pair) for pair in (("first", first, second), ("second", second, first)))
    one, other = of_whole(first), of_whole(second)
    if _epsilon(one) == _epsilon(other):
        about = "the whole report" if {*first.public} == {*second.public} else "what they protect"
        return f"They are different plans, with the same promise about {about}.{more}"
    better, (mine, theirs) = ("first", (first, second)) if one.epsilon < other.epsilon else ("second", (second, first))
    if {*mine.public} <= {*theirs.public}:
        return f"They are different plans. The {better} one protects the whole report better.{more}"
    return f"They are different plans. The {better} one has the smaller epsilon, of what it protects.{more}"


def _shown_by_one(which: str, plan: Plan, other: Plan) -> str:
    """A loud sentence about the columns that one of two plans alone sends as they are."""
    titles = dict(zip(plan.public, public_in_quotes(plan), strict=True))
    alone = [title for name, title in titles.items() if name not in other.public]
    return f" NOT PROTECTED, sent as they are by the {which} one alone: {', '.join(alone)}." if alone else ""


def _remark(name: str, first: Plan, second: Plan) -> str:
    """How two plans differ in one question."""
    if name not in second.schema.questions:
        return "only the first asks it"
    if name not in first.schema.questions:
        return "only the second asks it"
    one, other = of_questions(first)[name], of_questions(second)[name]
    said = _which(one, other)
    if first.schema.questions[name] != second.schema.questions[name]:
        return f"other answers or labels; {said}{' promise' if said == SAME else ''}"
    if said == SAME and list(_randomized(first, name)) != list(_randomized(second, name)):
        return "the same promise, asked or randomized in another way"
    return said


def _randomized(plan: Plan, name: str) -> Iterator[tuple[int, Block]]:
    """The blocks in which a question is asked, with the shares of their arms."""
    own = {feature.name for feature in plan.schema.questions[name]}
    for share, arm in zip(plan.shares, plan.arms, strict=True):
        yield from ((share, block) for block in arm.blocks if not own.isdisjoint(block.names))


def _which(one: Promised, other: Promised) -> str:
    """Which of two promises is the better one; what four digits do not tell apart is the same."""
    if _epsilon(one) == _epsilon(other):
        return SAME
    return f"protected better by the {'first' if one.epsilon < other.epsilon else 'second'}"


def _epsilon(one: Promised | None) -> str:
    return "not asked" if one is None else "PUBLIC" if one.promise is None else epsilon_in_words(one.epsilon)


def _belief(one: Promised | None) -> str:
    return "" if one is None else "NOT PROTECTED" if one.promise is None else one.promise.at_most(BELIEF)
