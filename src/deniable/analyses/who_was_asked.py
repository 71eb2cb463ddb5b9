"""Who was asked what: the arms with their sizes and shares, and how many respondents stand behind a result."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from deniable.client import SCALE
from deniable.counts.counts import Counts
from deniable.estimates.designs.from_counts import UNLIKELY
from deniable.estimates.designs.groups import FEWEST_EACH, SIZES_UNLIKELY, arm_sizes, evidence_of
from deniable.inference.results import ArmSizes
from deniable.survey.plan import Plan

Pair = tuple[str, str]


@dataclass(frozen=True)
class Asked:
    """How many respondents were asked something, of how many there are."""

    n: int
    of: int

    @property
    def everybody(self) -> bool:
        """Whether no respondent was left out."""
        return self.n == self.of


@dataclass(frozen=True)
class ArmSize:
    """An arm of a plan: its name, what it asks, its share of the respondents, and how many were asked it."""

    name: str
    plan: Plan
    share: float
    expected: float  # respondents, by its share
    n: int


@dataclass(frozen=True)
class Arms:
    """The arms of a survey with their sizes, a chi-square test of these against the shares, and what they disagree on.

    `apart` are questions on which arms that ask them hardly agree, by a test of homogeneity of each question.
    """

    each: tuple[ArmSize, ...]
    test: ArmSizes
    apart: tuple[str, ...] = ()
    fewest: int = FEWEST_EACH  # respondents that the test takes for each arm, on average

    @property
    def unlikely(self) -> bool:
        """Whether chance hardly explains the sizes, so that being asked an arm may have changed who answered."""
        return self.test.p_value < SIZES_UNLIKELY


def arms_of(counts: Counts) -> Arms | None:
    """The arms of a survey; None if its plan has none."""
    plan = counts.plan
    if not plan.has_arms:
        return None
    each = tuple(
        ArmSize(name, arm.plan, share / SCALE, counts.n * share / SCALE, arm.n)
        for name, arm, share in zip(plan.arm_names, counts.arms, plan.shares, strict=True)
    )
    return Arms(each, arm_sizes(counts), _apart(counts))


def _apart(counts: Counts) -> tuple[str, ...]:
    """The questions on which arms hardly agree, were each of them tested: with Bonferroni's correction."""
    names = [name for name in counts.plan.schema.names if counts.asked(name) and counts.holds(name)]
    tests = ((name, evidence_of([counts], [name]).homogeneity) for name in names)
    return tuple(name for name, test in tests if test.p_value * len(names) < UNLIKELY)


def asked_together(counts: Counts) -> Mapping[Pair, Asked]:
    """Each pair of features that some arm asks, with how many respondents were asked both."""
    found: Counter[Pair] = Counter()
    for arm in counts.arms:
        names = arm.plan.schema.names
        asked = arm.n if counts.plan.has_arms else counts.asked(names[0])  # without arms all tables are of the same
        for pair in combinations(names, 2):
            found[pair] += asked
    return {pair: Asked(n, counts.n) for pair, n in found.items()}
