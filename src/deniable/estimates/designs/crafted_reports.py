"""Influence: the most that crafted reports, 1 % of all, can move a weighted sum of an estimate's entries.

A linear estimate of a share is the mean of every report's own estimate, w z. A report that is crafted to say the most
instead of the least moves it by (max w z - min w z) / n, over all reports there can be, so that a share c of them moves
it by at most c (max - min). Of a sum over arms whoever crafts reports picks the arm where they weigh the most: a report
of an arm with n_a of all n reports weighs n / n_a times as much as one of everybody.

    product form      the extremes of a product are products of the features' extremes: exact
    one block         the extremes of one sum of bits: exact
    any weights       exact if all blocks but one show one outcome alone; else a bound, block after block

Ratios of shares and whatever else is smooth are moved, to first order, as the weighted sum is that has their gradient.
Of estimates that were conditioned on known margins the weights are those of each group's own estimate before that.
Of several surveys, 1 % of all their reports are all in the one where they weigh the most.
"""

from collections.abc import Iterator, Sequence
from math import isnan, nan

import numpy as np

from deniable.estimates.answer_groups.among_group import AmongGroup
from deniable.estimates.answer_groups.merged_group import MergedGroup
from deniable.estimates.answers_as_weights import factors
from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.block_group import BlockGroup
from deniable.estimates.designs.whole_evidence import WholeEvidence
from deniable.estimates.given.conditioned_group import ConditionedGroup
from deniable.estimates.interface import Respondents, total
from deniable.estimates.respondent_group import Group
from deniable.inference.one_feature import Array, Axis
from deniable.inference.ratio_questions import Question
from deniable.inference.tensors import along, answer_rows, flat, margins
from deniable.inference.trust import Bools

# The share of crafted reports that influence is told for.
CRAFTED = 0.01


def influence(groups: Sequence[Respondents], rows: Sequence[Array]) -> float:
    """The most that 1 % of crafted reports can move a share, the largest of all combinations of rows of weights.

    It is nan of estimates that are not linear in the reports.
    """
    return _told(_range(group, rows) for group in groups)


def influence_of_sums(groups: Sequence[Respondents], weights: Array) -> float:
    """The most that 1 % of crafted reports can move a sum with any weights, the largest of all rows of these.

    Weights are rows of tensors like `truth`; it is nan where they or the estimates give none.
    """
    if not len(weights) or not np.isfinite(weights).all():
        return nan
    return _told(_range_of_sums(group, weights) for group in groups)


def influence_on_ratios(
    question: Question, groups: Sequence[Respondents], pieces: Sequence[Sequence[Array]], shares: Array, trusted: Bools
) -> float:
    """The most that 1 % of crafted reports can move results of a question, to first order: by its gradient.

    Only those with enough reports are looked at: where a divisor may be zero, a first order says nothing.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = question.gradient(shares.reshape(-1, shares.shape[-1]))
    each = [own[:, None] * flat(one) for own, one in zip(gradient.T, pieces, strict=True)]
    return influence_of_sums(groups, total(each)[trusted.reshape(-1)].reshape(-1, *groups[0].truth.shape))


def influence_of_kinds(reports: Sequence[tuple[ArmKind, Array]], slopes: Array, n: int) -> Array:
    """The most that 1 % of crafted reports can move sums, by rows of slopes of what kinds of arms say with weights.

    It is nan where nothing is known of reports.
    """
    if not reports:
        return np.full(len(slopes), nan)
    rows = [(kind, slopes @ weights) for kind, weights in reports]
    each = [[_of_kind(kind, row[None]) * n / kind.n for row in own] for kind, own in rows]
    return np.asarray(CRAFTED * np.max(each, axis=0), np.float64)


def influence_in_one_survey(each: Sequence[tuple[float, int]]) -> float:
    """The most that crafted reports, 1 % of those of several surveys, can move, if they are all in one of these.

    Of each survey it is given how far 1 % of its own reports can move, and how many these are.
    """
    everybody = sum(n for _, n in each)
    most = [own * everybody / n for own, n in each]
    return nan if any(map(isnan, most)) else max(most)


def _told(ranges: Iterator[float]) -> float:
    widest = list(ranges)
    return nan if any(map(isnan, widest)) else CRAFTED * max(widest)


def _range(group: Respondents, rows: Sequence[Array]) -> float:
    """The widest range of one report's own estimate, as a multiple of that of a report among all respondents."""
    match group:
        case AmongGroup():
            return _range_of_sums(group, flat(rows).reshape(-1, *(matrix.shape[1] for matrix in rows)))
        case MergedGroup():
            return _range(group.inner, [own @ each for own, each in zip(rows, group.maps, strict=True)])
        case BlockGroup():
            return _of_product(group.inner, [view.weights(rows) for view in group.views])
        case Group():
            return _of_product(group, rows)
        case ArmsGroup():
            return max(_of_arms(group, group.cell_weights(rows)), default=nan)
        case ConditionedGroup():
            return _range_of_sums(group, flat(rows).reshape(-1, *(matrix.shape[1] for matrix in rows)))
    return nan


def _range_of_sums(group: Respondents, W: Array) -> float:
    """The widest range of one report's own estimate of sums whose weights are any tensors, one for each row."""
    match group:
        case AmongGroup():
            return _range_of_sums(group.inner, group.weights_behind(W)) * group.inner.n / group.n
        case MergedGroup():
            return _range_of_sums(group.inner, _along(W, [each.T for each in group.maps]))
        case BlockGroup():
            order = [1 + place for view in group.views for place in view.places]
            blocks = W.transpose(0, *order).reshape(-1, *(len(view.rows) for view in group.views))
            return _of_entries(group.inner, _along(blocks, [view.rows.T for view in group.views]))
        case Group():
            return _of_entries(group, W)
        case ArmsGroup():
            return max(_of_arms(group, _over_cells(group, W)), default=nan)
        case ConditionedGroup():
            each = zip(group.origin.groups, group.origin.own_weights(W.reshape(len(W), -1)), strict=True)
            return max(_range_of_sums(one, own.reshape(-1, *one.truth.shape)) for one, own in each)
    return nan


def _along(rows: Array, matrices: Sequence[Array]) -> Array:
    """One matrix applied along each axis of tensors, one of which each row is."""
    return along(np.moveaxis(rows, 0, -1), matrices)


def _over_cells(group: ArmsGroup, W: Array) -> Array:
    """Weights of all cells of the fitted table, for rows of weights of the entries of some of its features."""
    columns = [group.seen.columns[place] for place in group.features]
    answers = _along(W, [margins(each).T for each in columns]).transpose(0, *(1 + np.argsort(group.features)))
    levels = [m if place in group.features else 1 for place, m in enumerate(group.seen.levels)]
    every = np.broadcast_to(answers.reshape(-1, *levels), (len(W), *group.seen.levels))
    return every.reshape(len(W), -1)


def _of_entries(group: Group, W: Array) -> float:
    """The widest range of sums with any weights in product form; those of a single sum that is a product are exact."""
    vectors = factors(W[0]) if len(W) == 1 else None
    if vectors is not None:
        return _of_product(group, [vector[None] for vector in vectors])
    return _widest(group.axes, W, [margins(axis.columns).T for axis in group.axes]) * group.n / group.asked


def _of_product(group: Group, rows: Sequence[Array]) -> float:
    """The widest range of a product over axes: each combination of a row of each of them."""
    low = high = np.ones(1)
    for axis, matrix in zip(group.axes, rows, strict=True):
        weights = axis.by_evidence(matrix)
        least, most = axis.report_range(weights, weights)
        corners = [np.outer(end, one).reshape(-1) for end in (low, high) for one in (least, most)]
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return float((high - low).max()) * group.n / group.asked


def _of_arms(group: ArmsGroup, W: Array) -> Iterator[float]:
    """The widest range of the reports of each kind of arm, and of each family of whole blocks, by weights of cells."""
    seen, weights = group.seen, group.seen.best.weights
    evidence = seen.rest if isinstance(seen, WholeEvidence) else seen
    families = seen.families if isinstance(seen, WholeEvidence) else ()
    for kind, own in zip(evidence.kinds, weights, strict=False):
        yield _of_kind(kind, W @ own) * group.n / kind.n
    for family, own in zip(families, weights[len(evidence.kinds) :], strict=True):
        each = W @ own  # blocks, rows, combinations
        flattened = family.axis.by_row(len(W)).by_evidence(
            each.reshape(-1, each.shape[2]) @ answer_rows(family.axis.columns)
        )
        low, high = family.axis.report_range(flattened, flattened)
        yield float(((high - low).reshape(len(own), -1).max(axis=1) / family.sizes).max()) * group.n


def _of_kind(kind: ArmKind, cells: Array) -> float:
    """The widest range of rows of weights of a kind's own cells."""
    return _widest(kind.axes, kind.by_block(cells), [])


def _widest(axes: Sequence[Axis], tensor: Array, of_entries: Sequence[Array]) -> float:
    """The widest range of rows of weights of cells, or of entries with the matrices from these to weights of answers.

    Blocks that show one outcome alone are tried outcome by outcome; then the bits of the others, block after block.
    """
    shown = [axis.outcomes for axis in axes] if len(axes) > 1 else [None]
    matrices = []
    for place, (axis, each) in enumerate(zip(axes, shown, strict=True)):
        if of_entries:
            matrices.append(np.eye(1 + axis.columns) if each is None else each[0] @ of_entries[place])
        else:
            matrices.append(answer_rows(axis.columns).T if each is None else each[0])
    tensor = _along(tensor, matrices)
    several = [(place, axis) for place, axis in enumerate(axes, start=1) if shown[place - 1] is None]
    for place, axis in several:
        tensor = np.moveaxis(axis.by_evidence(np.moveaxis(tensor, place, -1)), -1, place)
    low = high = tensor
    for place, axis in reversed(several):
        low, high = axis.report_range(np.moveaxis(low, place, -1), np.moveaxis(high, place, -1))
    rows = len(tensor)
    return float((high.reshape(rows, -1).max(axis=1) - low.reshape(rows, -1).min(axis=1)).max())
