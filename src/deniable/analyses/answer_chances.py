"""The probability that a planned survey gets an answer: that the trust rule finds enough reports.

The rule looks at the estimate, so that its answer is a chance. Surveys are simulated by what each kind of arm says of
the table: a normal draw around the guess, with the exact covariance of its reports, and with sizes of arms by their
shares. The rule itself is then asked, as it is of a survey that was made.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from deniable.estimates.answers_as_weights import all_answers
from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.block_group import BlockGroup, View
from deniable.estimates.designs.least_squares import Evidence
from deniable.estimates.designs.table_parts import block_parts
from deniable.estimates.estimate import Estimate
from deniable.estimates.interface import Respondents
from deniable.estimates.respondent_group import Group, judge
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along, margins
from deniable.survey.plan import Plan

# So many surveys are simulated: a probability then has a standard error of at most 2.5 points.
SURVEYS = 400
# All simulations begin with this seed, so that a question has one answer.
SEED = 20_260_730

Answers = Mapping[str, str | bool]


def answer_chance(plan: Plan, expected: Estimate, seen: Evidence, answers: Answers) -> float:
    """The share of simulated surveys with enough reports for a cell, or for all cells if no answers are given."""
    rng = np.random.default_rng(SEED)
    roots = [_root(kind) for kind in seen.kinds]
    drawn = (_drawn(plan, expected, seen, roots, rng) for _ in range(SURVEYS))
    return sum(group is not None and _enough(replace(expected, groups=(group,)), answers) for group in drawn) / SURVEYS


def _enough(est: Estimate, answers: Answers) -> bool:
    """Whether there are enough reports for a cell, or for all of them."""
    if answers or len(est.features) == 1:  # one feature may have an exact distribution
        cells = [answers] if answers else [{est.names[0]: answer} for answer in est.features[0].answers]
        return all(est.cell(cell).enough for cell in cells)
    return bool(judge(est.groups, all_answers(est.features), est.subject)[1].all())


def _root(kind: ArmKind) -> Array:
    """A root of the covariance of one report's estimate of its cells, which is singular: shares sum to one."""
    covariance = kind.seconds(kind.shares) - np.outer(kind.shares, kind.shares)
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def _drawn(
    plan: Plan, expected: Estimate, seen: Evidence, roots: list[Array], rng: np.random.Generator
) -> Respondents | None:
    """The respondents of one simulated survey; None if nobody was asked the whole table."""
    n, sizes = expected.n, [kind.n for kind in seen.kinds]
    if plan.has_arms:
        rest = max(0, n - sum(sizes))
        sizes = rng.multinomial(n, np.array([*sizes, rest]) / (sum(sizes) + rest))[:-1].tolist()
    kinds = [
        kind.scaled(size, kind.shares + root @ rng.standard_normal(kind.cells) / np.sqrt(size))
        for kind, root, size in zip(seen.kinds, roots, sizes, strict=True)
        if size
    ]
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
