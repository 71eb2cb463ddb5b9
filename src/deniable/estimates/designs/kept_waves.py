"""Waves of the same people with kept answers: the noise of the kept answers is shared by all waves.

With z_t one person's estimate in wave t, and the kept answers made by the permanent round alone,

    E[z_s z_t' | x] = E[z_kept z_kept' | x]    for two waves        E[z_t z_t' | x], of both rounds, for one

So the mean over T waves has 1/T of the covariance of one wave and 1 - 1/T of that of the kept answers, in product form
each; the more waves, the less is left of the fresh coin, and never less than the kept answers' noise and the sampling.
Waves of different sizes n_t are pooled, and taken as nested: everybody of a smaller wave is in each larger one. That is
the most that they can share, so that no standard error is too small if some people came and went:

    Cov = Cov of one wave + beta Cov of kept answers, both as of sum n_t people
    beta = sum_(s != t) min(n_s, n_t) / sum n_t, the number of other reports that a report shares its kept answers with
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from deniable.client import SCALE
from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.estimates.dense_respondent_group import DenseGroup
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.block_group import BlockGroup
from deniable.estimates.designs.groups import AnyGroup, evidence_of, group_of
from deniable.estimates.designs.least_squares import Evidence
from deniable.estimates.designs.sums_of_cells import sampling_of_cells
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array, Axis
from deniable.survey.plan import Plan
from deniable.survey.protocols.dependence import Dependence

# What is said of results that only one wave has.
ONE_WAVE = (
    "tests of independence are of one wave where answers are kept: estimate one of them, dn.estimate(counts, names)"
)

Kept = dict[Dependence, Dependence]


@dataclass(frozen=True, eq=False)
class KeptWaves(DenseGroup):
    """Respondents who sent kept answers in several waves; `before` is what the largest wave says alone."""

    def at_independence(self) -> Array:
        raise EstimateError(ONE_WAVE)


def kept_waves(counts: Sequence[Counts], names: Sequence[str], method: str) -> KeptWaves:
    """The estimated truth of these features among people who sent kept answers of one plan in several waves."""
    added, widest = reduce(Counts.with_those_of, counts), max(counts, key=lambda one: one.n)
    sent = _sent(added, names, method)
    kept, beta = of_kept_answers(added.plan), shared(counts)
    same = len({one.n for one in counts}) == 1
    part = (widest.n / added.n) ** 2
    matrices = {
        subject: part * (sent.dense(subject) + beta * kept_covariance(sent, kept, subject))
        for subject in sent.subjects
        if same or subject is Subject.POPULATION
    }
    return KeptWaves(widest.n, sent.truth * (widest.n / added.n), matrices, (group_of(widest, names, method),))


def shared(counts: Sequence[Counts]) -> float:
    """How many other reports of the same person a report has beside it, on average, if waves are nested."""
    sizes = np.array([one.n for one in counts], float)
    return float((np.minimum.outer(sizes, sizes).sum() - sizes.sum()) / sizes.sum())


def of_kept_answers(plan: Plan) -> Kept:
    """How bits depend on each other in the kept answers, by how they do in what is sent."""
    protocols = [block.protocol for arm in plan.arms for block in arm.blocks]
    return {one.dependence: one.with_fresh(SCALE).dependence for one in protocols if one.fresh < SCALE}


def kept_covariance(sent: AnyGroup, kept: Kept, subject: Subject) -> Array:
    """The covariance matrix of all entries, were the kept answers sent as they are, by as many people."""
    if not kept:
        return sent.dense(subject)
    if isinstance(sent, ArmsGroup):
        return _over_arms(sent, kept, subject)
    if isinstance(sent, BlockGroup):
        return replace(sent, inner=replace(sent.inner, axes=_axes(sent.axes, kept))).dense(subject)
    return replace(sent, axes=_axes(sent.axes, kept)).dense(subject)


def _over_arms(sent: ArmsGroup, kept: Kept, subject: Subject) -> Array:
    """The same of the least squares estimate over arms, with the weights that what was sent has."""
    assert isinstance(sent.seen, Evidence)
    seen = replace(sent.seen, kinds=tuple(replace(kind, axes=_axes(kind.axes, kept)) for kind in sent.seen.kinds))
    cells = sent.n**2 * seen.covariance(sent.seen.best.weights, sent.table)
    if subject is Subject.RESPONDENTS:
        cells = cells - sent.n * sampling_of_cells(sent.table)
    rows = sent.of_cells
    return np.asarray(rows @ cells @ rows.T)


def _axes(axes: Sequence[Axis], kept: Kept) -> tuple[Axis, ...]:
    return tuple(replace(axis, dependence=kept.get(axis.dependence, axis.dependence)) for axis in axes)


def _sent(added: Counts, names: Sequence[str], method: str) -> AnyGroup:
    """What all reports say, as if each were of another person; over arms with a fresh coin, of the table alone."""
    if added.plan.has_arms and 0 < added.plan.kept < SCALE:
        seen = evidence_of([added], names, plain=method != "consistent")
        return ArmsGroup(added.n, seen, tuple(range(len(names))), waves=False)
    return group_of(added, names, method)
