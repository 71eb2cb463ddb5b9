"""The probability that a planned survey gets an answer: that the trust rule finds enough reports.

The rule looks at the estimate, so that its answer is a chance. Surveys are simulated by what each kind of arm says of
the table: a normal draw around the guess, with the exact covariance of its reports, and with sizes of arms by their
shares. The rule itself is then asked, as it is of a survey that was made.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.block_group import BlockGroup, View
from deniable.estimates.designs.least_squares import Evidence
from deniable.estimates.designs.table_parts import block_parts
from deniable.estimates.estimate import Estimate
from deniable.estimates.interface import Respondents
from deniable.estimates.respondent_group import Group
from deniable.inference.tensors import along, margins
from deniable.survey.plan import Plan

if TYPE_CHECKING:
    from deniable.analyses.expectation import Expectation

# So many surveys are simulated: a probability then has a standard error of at most 2.5 points.
SURVEYS = 400
# If all of the first so many surveys get an answer, or none does, the others are not made: 97 % would, or 3 %.
FIRST = 100
# All simulations begin with this seed, so that a question has one answer.
SEED = 20_260_730

Enough = Callable[[Estimate], bool]  # whether an estimate answers a question


def answer_chance(expected: "Expectation", enough: Enough, most: int = SURVEYS) -> float:
    """The share of simulated surveys, at most so many, that have enough reports for something."""
    surveys = islice(simulated_surveys(expected, enough), most)
    found = list(islice(surveys, FIRST))
    if len(set(found)) > 1:
        found += surveys
    return sum(found) / len(found)


def simulated_surveys(expected: "Expectation", enough: Enough) -> Iterator[bool]:
    """Whether each of SURVEYS simulated surveys has enough reports for something; the same ones each time."""
    rng = np.random.default_rng(SEED)
    (whole,) = expected.estimate.groups
    assert isinstance(whole, ArmsGroup)
    for _ in range(SURVEYS):
        group = _drawn(expected.plan, expected.estimate, whole.seen.local, rng)
        yield group is not None and enough(replace(expected.estimate, groups=(group,)))


def _drawn(plan: Plan, expected: Estimate, seen: Evidence, rng: np.random.Generator) -> Respondents | None:
    """The respondents of one simulated survey; None if nobody was asked the whole table."""
    n, sizes = expected.n, [kind.n for kind in seen.kinds]
    if plan.has_arms:
        rest = max(0, n - sum(sizes))
        sizes = rng.multinomial(n, np.array([*sizes, rest]) / (sum(sizes) + rest))[:-1].tolist()
    kinds = [kind.drawn(size, rng) for kind, size in zip(seen.kinds, sizes, strict=True) if size]
    if not any(len(kind.places) == len(expected.features) for kind in kinds):
        return None
    if not plan.has_arms:
        return _of_blocks(plan, expected, kinds[0])
    return ArmsGroup(n, Evidence(seen.columns, tuple(kinds)), tuple(range(len(expected.features))), waves=False)


def _of_blocks(plan: Plan, expected: Estimate, kind: ArmKind) -> BlockGroup:
    """Respondents who were all asked the same: the trust rule knows their estimate in product form."""
    blocks = block_parts(plan, expected.names, centred=True)
    order = [place for block in kind.blocks for place in block]
    cells = kind.shares.reshape(kind.levels).transpose(order).reshape([prod(block.part.levels) for block in blocks])
    truth = kind.n * along(cells, [margins(axis.columns) for axis in kind.axes])
    return BlockGroup(Group(kind.n, kind.axes, truth), tuple(View.of(block.part) for block in blocks))
