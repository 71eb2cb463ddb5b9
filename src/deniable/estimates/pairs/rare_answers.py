"""Rare answers are merged, so that they do not keep the association of two features from being measured.

A feature keeps its commonest answers, and all others become one answer. Which they are is decided from the margins
alone: answers are merged, the rarest first, until there would be enough reports if the features were independent. So
what is measured does not depend on how the features go together, and its interval holds as if it had been asked for.
A missing answer is merged with no other: who skipped a question did not answer it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from deniable.estimates.answer_groups.among_group import AmongGroup
from deniable.estimates.interface import Respondents, total
from deniable.estimates.respondent_group import Group, normal_if_independent
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array
from deniable.inference.ratios import SURELY_POSITIVE
from deniable.inference.results import Merged
from deniable.inference.tensors import along, answer_rows
from deniable.inference.trust import Bools
from deniable.survey.schema import Feature
from deniable.text.fixed_phrases import answer_as_text

# A feature is left with at least this many answers.
FEWEST_ANSWERS = 2
# For mutual information the expected share of every cell must be this many standard errors above zero: the cell itself,
# which is divided by and must be SURELY_POSITIVE of them above, then nearly always is.
EXPECTED_POSITIVE = SURELY_POSITIVE + 3

Places = npt.NDArray[np.int64]
Kept = tuple[int, int]  # how many answers each of two features is left with


@dataclass(frozen=True, eq=False)
class Part:
    """Those of many pairs, at some places, whose features are left with the same numbers of answers, some being merged.

    `rows` are the weights of these answers, and `orders` the places of all answers, the commonest first, of each pair.
    """

    places: Places
    groups: Sequence[Respondents]
    rows: list[Array]
    orders: list[Places]


def pooled(rows: Array, kept: int) -> Array:
    """The weights of a feature's answers, the commonest first, with all after so many less one merged into one."""
    return np.vstack([rows[: kept - 1], rows[kept - 1 :].sum(axis=0)])


def _margin_shares(groups: Sequence[Respondents], rows: Sequence[Array]) -> list[Array]:
    """The shares of the answers of each of two features; those of many pairs stand in the first axis."""
    n = sum(group.n for group in groups)
    margins = (total([along(group.truth, own) for group in groups]) / n for own in _margin_rows(rows))
    return [shares.reshape(*shares.shape[:-2], -1) for shares in margins]


def _margin_rows(rows: Sequence[Array]) -> Iterator[list[Array]]:
    """The weights of the margins of all answers, one feature after the other."""
    everybody = [np.eye(1, matrix.shape[1]) for matrix in rows]
    for place, matrix in enumerate(rows):
        yield [*everybody[:place], matrix, *everybody[place + 1 :]]


def merged_parts(
    groups: Sequence[Respondents],
    rows: Sequence[Array],
    subject: Subject,
    *,
    missing: Sequence[int | None] = (None, None),
    mutual: bool = False,
) -> Iterator[Part]:
    """Pairs, many of one group or one, that rare answers keep from being answered: a part for each way to merge.

    `missing` are the places of missing answers of one pair, which stay as they are; many pairs have none left. Mutual
    information, which divides by every cell, needs more answers merged than Cramer's V and the test do.
    """
    fewest = [FEWEST_ANSWERS + (place is not None) for place in missing]
    if all(len(matrix) <= least for matrix, least in zip(rows, fewest, strict=True)):
        return
    first, many = groups[0], groups[0].truth.ndim > len(rows)
    if many:
        assert isinstance(first, Group | AmongGroup)
        first, orders = _with_commonest_first(first)
        groups, sorted_rows = [first], list(rows)
    else:
        margins_of = zip(_margin_shares(groups, rows), missing, strict=True)
        orders = [_commonest_first(shares, place)[None] for shares, place in margins_of]
        sorted_rows = [matrix[order[0]] for matrix, order in zip(rows, orders, strict=True)]

    def some(places: Places) -> Sequence[Respondents]:
        return [first.of_tables(places)] if many and isinstance(first, Group | AmongGroup) else groups

    def left(kept: Kept) -> list[Array]:
        return [pooled(matrix, own) for matrix, own in zip(sorted_rows, kept, strict=True)]

    shares = [np.atleast_2d(own) for own in _margin_shares(groups, sorted_rows)]
    kept = kept_answers(shares, lambda places, own: _enough(some(places), left(own), subject, mutual=mutual), fewest)
    for places, pattern in _alike(kept):
        if pattern != tuple(map(len, sorted_rows)):
            yield Part(places, some(places), left(pattern), [order[places] for order in orders])


def _commonest_first(shares: Array, missing: int | None) -> Places:
    """The places of a feature's answers, the commonest first; a missing answer, which is not merged, before all."""
    first = np.zeros(len(shares))
    if missing is not None:
        first[missing] = -1
    return np.lexsort((-shares, first))


def _with_commonest_first(group: Group | AmongGroup) -> tuple[Group | AmongGroup, list[Places]]:
    """Many pairs with the columns of each choice sorted, the commonest answer first, and the places they come from.

    All columns of a choice have the same noise, so one matrix of weights then merges the rarest answers of all pairs;
    weights of centring go with their columns. Among some respondents the columns of answers that are left are sorted.
    """
    behind = group.inner if isinstance(group, AmongGroup) else group
    assert isinstance(behind, Group)
    rows, orders = [answer_rows(length - 1) for length in group.truth.shape[:2]], []
    for axis, shares in enumerate(_margin_shares([group], rows)):
        if shares.shape[1] <= FEWEST_ANSWERS:
            orders.append(np.tile(np.arange(shares.shape[1]), (len(shares), 1)))
            continue
        order = np.argsort(-shares, axis=1, kind="stable")
        orders.append(order)
        behind = _in_order(behind, axis, order, group.maps[axis] if isinstance(group, AmongGroup) else None)
    return (group.again(behind) if isinstance(group, AmongGroup) else behind), orders


def _in_order(group: Group, axis: int, order: Places, left: Array | None) -> Group:
    """Many pairs with the columns of one axis, or of the entries that are left of it, in another order for each."""
    columns = np.arange(group.axes[axis].columns) if left is None else left[1:, 1:].argmax(axis=1)
    every = np.tile(np.arange(group.axes[axis].columns), (len(order), 1))
    every[:, columns] = columns[order]
    whole = np.concatenate([np.zeros((len(order), 1), np.int64), 1 + every], axis=1).T
    truth = np.take_along_axis(group.truth, np.expand_dims(whole, 1 - axis), axis=axis)
    axes = [own.in_order(every) if place == axis else own for place, own in enumerate(group.axes)]
    return replace(group, axes=tuple(axes), truth=truth)


def merged_answers(features: Sequence[Feature], orders: Sequence[Places], rows: Sequence[Array]) -> tuple[Merged, ...]:
    """The answers of each feature that were merged, given the places of its answers and the weights that are left."""
    return tuple(
        Merged(feature.name, tuple(answer_as_text(feature.answers[place]) for place in order[len(left) - 1 :]))
        for feature, order, left in zip(features, orders, rows, strict=True)
        if len(left) < len(order)
    )


def kept_answers(
    shares: Sequence[Array],
    enough: Callable[[Places, Kept], Bools],
    fewest: Sequence[int] = (FEWEST_ANSWERS, FEWEST_ANSWERS),
) -> Places:
    """How many answers each feature of each pair is left with: all, if merging is not needed or does not help.

    The shares are of answers, the commonest first, pairs in the first axis. `enough` says of the pairs at some places
    whether so many answers can be kept. The rarest answer of a pair is merged first, and no more than are needed: the
    number of steps is found by bisection.
    """
    steps = [np.tile([each.shape[1] for each in shares], (len(shares[0]), 1))]
    while (steps[-1] > np.array(fewest)).any():
        kept = steps[-1].copy()
        rarest = np.stack([_rarest(own, kept[:, k], fewest[k]) for k, own in enumerate(shares)], axis=-1)
        some = np.flatnonzero(np.isfinite(rarest).any(axis=1))
        kept[some, rarest[some].argmin(axis=1)] -= 1
        steps.append(kept)
    path, every = np.array(steps), np.arange(len(shares[0]))

    def asked(step: Places) -> Bools:
        done = np.zeros(len(every), np.bool_)
        for places, pattern in _alike(path[step, every]):
            done[places] = enough(places, pattern)
        return done

    last = len(steps) - 1
    low = np.where(asked(0 * every), last, 0)  # too many answers, unless nothing is to be done
    high = np.where(asked(0 * every + last), last, low)
    if not (high > low).any():
        return np.asarray(path[0])
    first, hopeless = low == last, high == low
    while (high - low > 1).any():
        middle = (low + high) // 2
        done = asked(middle)
        low, high = np.where(done, low, middle), np.where(done, middle, high)
    return np.asarray(path[np.where(first | hopeless, 0, high), every])


def _alike(kept: Places) -> Iterator[tuple[Places, Kept]]:
    """The places of the pairs that are left with the same numbers of answers, and these numbers."""
    for pattern in np.unique(kept, axis=0):
        yield np.flatnonzero((kept == pattern).all(axis=1)), (int(pattern[0]), int(pattern[1]))


def _rarest(shares: Array, kept: Places, fewest: int) -> Array:
    """The share of the rarest answer that is left, the merged one included; infinite if no more can be merged."""
    at = np.arange(len(shares))
    merged = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1][at, kept - 1]
    return np.where(kept > fewest, np.minimum(merged, shares[at, kept - 2]), np.inf)


def _enough(groups: Sequence[Respondents], rows: Sequence[Array], subject: Subject, *, mutual: bool) -> Bools:
    """Whether there would be enough reports for an association, were the features independent with these margins.

    That is so if all cells are nearly normal then, and all margins surely above zero; for mutual information, all
    cells too. Estimates that do not say what they would be then are taken as they are.
    """
    each = [group.judged(rows, subject) for group in groups]
    if any(one.references is None for one in each):
        return np.ones(each[0].fixed.shape[:-2], np.bool_)
    enough = normal_if_independent(each, rows, subject).all(axis=(-2, -1))
    for own in _margin_rows(rows):
        margin = total([along(group.truth, own) for group in groups])
        variance = total([group.covariance(own, own, subject) for group in groups])
        enough = enough & (margin > SURELY_POSITIVE * np.sqrt(np.maximum(variance, 0))).all(axis=(-2, -1))
    return np.asarray(enough & _cells_positive(groups, rows, subject) if mutual else enough)


def _cells_positive(groups: Sequence[Respondents], rows: Sequence[Array], subject: Subject) -> Bools:
    """Whether the share of every cell, were the features independent, is EXPECTED_POSITIVE standard errors above 0."""
    n = sum(group.n for group in groups)
    first, second = _margin_shares(groups, rows)
    variance = total([group.covariance(rows, rows, subject) for group in groups]) / n**2
    positive = first[..., :, None] * second[..., None, :] > EXPECTED_POSITIVE * np.sqrt(np.maximum(variance, 0))
    return np.asarray(positive.all(axis=(-2, -1)))
