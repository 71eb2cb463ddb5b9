"""The respondents behind an estimate: in product form over features or blocks, or by least squares over arms."""

from collections.abc import Sequence
from math import nan

import numpy as np

from deniable.client import SCALE
from deniable.counts.checks import check_asked, check_different
from deniable.counts.counts import Counts
from deniable.counts.layout import called
from deniable.errors import CountError, DeniableError, EstimateError
from deniable.estimates.designs.arm_kinds import arm_kinds
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.block_group import BlockGroup
from deniable.estimates.designs.least_squares import Evidence, evidence
from deniable.estimates.designs.table_parts import block_parts, weighted_parts
from deniable.estimates.designs.whole_blocks import families, whole_block
from deniable.estimates.designs.whole_evidence import WholeEvidence
from deniable.estimates.feasible import ProperTable, proper_table, table_from_counts
from deniable.estimates.respondent_group import Group
from deniable.inference.distributions import chi_square_tail
from deniable.inference.one_feature import Array, Axis
from deniable.inference.results import ArmSizes
from deniable.inference.tensors import weighted
from deniable.survey.blocks import Block
from deniable.survey.plan import Plan
from deniable.survey.schema import Feature

AnyGroup = Group | BlockGroup | ArmsGroup

# What is said where the plain estimate is asked of several arms.
NO_UNBIASED = 'over arms there is no method="unbiased": "centred" is unbiased, too'
# Arms are tested by themselves if at least so many respondents are expected in them.
FEWEST_EACH = 5
# Pearson's p-value of the sizes of arms is below this in at most 1 of 1 000 surveys, also where few are expected.
SIZES_UNLIKELY = 2.5e-4


def group_of(counts: Counts, names: Sequence[str], method: str = "consistent") -> AnyGroup:
    """The estimated truth of these features among the respondents of one plan: "unbiased", "centred" or "consistent".

    The last is centred with each feature's best weights.
    """
    plan, centred, best = counts.plan, method != "unbiased", method == "consistent"
    if plan.has_arms:
        if not centred:
            raise EstimateError(NO_UNBIASED)
        seen = whole_evidence_of([counts], names, plain=not best)
        return ArmsGroup(counts.n, seen, tuple(range(len(names))), waves=False)
    if _asked_alone(plan, names):
        axes, array = tuple(Axis.of(plan[name], centred=centred) for name in names), counts.evidence(*names)
        return Group.from_counts(counts.n, counts.asked(*names), weighted(axes, array) if best else axes, array)
    blocks = block_parts(plan, check_asked(plan, names), centred=centred)
    array = counts.evidence(*(block.block.unit.name for block in blocks))
    return BlockGroup.from_counts(
        counts.n, int(array.flat[0]), weighted_parts(blocks, array) if best else blocks, array
    )


def group_of_waves(counts: Sequence[Counts], names: Sequence[str], method: str) -> ArmsGroup:
    """The estimated truth of these features in the population that several surveys were drawn from."""
    if method == "unbiased":
        raise EstimateError(NO_UNBIASED)
    n, seen = sum(one.n for one in counts), whole_evidence_of(counts, names, plain=method != "consistent")
    return ArmsGroup(n, seen, tuple(range(len(names))), waves=True)


def features_of(counts: Sequence[Counts], names: Sequence[str]) -> tuple[Feature, ...]:
    """The features of these names, each in the first survey that asks it."""
    return tuple(next(one for one in counts if name in one.plan).plan.schema[name] for name in names)


def evidence_of(
    counts: Sequence[Counts], names: Sequence[str], *, pooled: bool = True, plain: bool = False
) -> Evidence:
    """What the reports of one or several surveys say of the table of these features; pooled, or survey by survey.

    They are centred with the best weights, or plainly.
    """
    check_different(names)
    asking = [one for one in counts if any(all(name in arm for name in names) for arm in one.plan.arms)]
    if not asking:
        for one in counts:
            check_asked(one.plan, names)
    apart = [counts] if pooled else [[one] for one in counts]
    kinds = [kind for some in apart for kind in arm_kinds(some, names, plain=plain)]
    if not any(len(kind.places) == len(names) for kind in kinds):
        raise _nothing_known(counts, asking, names)
    return evidence([len(feature.columns) for feature in features_of(counts, names)], kinds)


def whole_evidence_of(
    counts: Sequence[Counts], names: Sequence[str], *, plain: bool = False
) -> Evidence | WholeEvidence:
    """What reports say of the table of these features, and of questions that are asked in the same blocks.

    Blocks are taken whole where that pays, which the plan and the number of arms decide. They are centred with the best
    weights, or plainly.
    """
    local = evidence_of(counts, names, plain=plain)
    arms = [(arm, whole_block(arm.plan, names)) for one in counts for arm in one.arms]
    counted = [one for arm, block in arms if block for one in _counted(arm, block)]
    whole = families(counted, names, plain=plain)
    if not whole:
        return local
    rest = arm_kinds([arm for arm, block in arms if not block], names, plain=plain)
    return WholeEvidence(local, Evidence(local.columns, tuple(rest)), tuple(whole))


def _counted(arm: Counts, block: Block) -> list[tuple[Block, Array]]:
    """A block with its counts; nothing if it was not counted, or if nobody fell into the arm."""
    counted = arm.evidence(block.unit.name) if arm.holds_units((block.unit.name,)) else np.zeros(1)
    return [(block, counted.astype(np.float64))] if counted[0] else []


def _nothing_known(counts: Sequence[Counts], asking: Sequence[Counts], names: Sequence[str]) -> DeniableError:
    """Why no report says anything of the whole table of these features."""
    if not any(one.holds(*names) for one in asking):
        return CountError(f"{called(tuple(names))} was not counted; count it from the reports")
    if not (everybody := sum(one.n for one in counts)):
        return EstimateError("there are no reports to estimate from")
    told = f"none of {everybody:,} respondents fell into an arm that asks it"
    return EstimateError(f"nobody was asked {called(tuple(names))}: {told}")


def arm_sizes(counts: Counts) -> ArmSizes:
    """Pearson's chi-square test of the sizes of arms against their shares.

    Arms of which fewer than FEWEST_EACH are expected are taken together; nan where nothing is left to compare.
    """
    expected = counts.n * np.array(counts.plan.shares) / SCALE
    sizes = np.array([arm.n for arm in counts.arms], float)
    small = expected < FEWEST_EACH
    expected, sizes = (np.append(of[~small], of[small].sum()) for of in (expected, sizes))
    if expected[-1] < FEWEST_EACH:
        expected, sizes = expected[:-1], sizes[:-1]
        expected = expected * (sizes.sum() / expected.sum()) if len(expected) else expected
    degrees = len(sizes) - 1
    if degrees < 1:
        return ArmSizes(nan, max(degrees, 0), nan)
    statistic = float(((sizes - expected) ** 2 / expected).sum())
    return ArmSizes(statistic, degrees, chi_square_tail(degrees, statistic))


def proper_table_of(counts: Counts, group: AnyGroup, names: Sequence[str]) -> ProperTable:
    """The proper table closest to what counts say of these features."""
    if isinstance(group, Group):
        return table_from_counts(counts, names)
    return proper_table(group.seen if isinstance(group, ArmsGroup) else evidence_of([counts], names))


def _asked_alone(plan: Plan, names: Sequence[str]) -> bool:
    """Whether none of these features is asked together with others."""
    return not any(len(block.features) > 1 and not set(names).isdisjoint(block.names) for block in plan.blocks)
