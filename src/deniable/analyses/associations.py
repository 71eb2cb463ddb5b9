"""The association of every pair of features: correlation or Cramer's V, a test of independence, false discovery rates.

Pairs whose features have the same protocols are one batch: their tables stand in the last axis of one tensor, and the
code that tells of one pair (`estimates.ratios_of_shares` and `estimates.pairs.association`) tells of all.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.counts.counts import Counts
from deniable.counts.layout import column_places
from deniable.errors import CountError, EstimateError, abbreviated
from deniable.estimates.designs.groups import AnyGroup, group_of
from deniable.estimates.interface import Respondents
from deniable.estimates.pairs.association import pair_table
from deniable.estimates.pairs.independence import wald_test
from deniable.estimates.pairs.rare_answers import Part, merged_answers, merged_parts
from deniable.estimates.ratios_of_shares import correlation_pieces, ratio_of
from deniable.estimates.respondent_group import Group, testable
from deniable.inference.about_whom import Subject
from deniable.inference.association import AssociationDistribution
from deniable.inference.intervals import checked_level
from deniable.inference.one_feature import Array, Axis
from deniable.inference.ratios import CORRELATION, RatioDistribution
from deniable.inference.results import merged_in_words
from deniable.inference.tensors import answer_rows, weighted
from deniable.inference.trust import Bools
from deniable.survey.plan import Plan
from deniable.text.progress import watched

# How many numbers the covariances of one batch may hold.
BATCH = 1 << 21

Pair = tuple[str, str]
Numbers = tuple[str, float, float, float, float]  # the measure, the effect, its interval, the p-value
Row = tuple[str, str, str, float, float, float, float, str]  # two features, these numbers, and merged answers


def associations(counts: Counts, *, level: float = 0.95) -> "pa.Table":
    """Every pair of features, ranked by how surely they are associated in the population.

    Parameters
    ----------
    counts
        Counts that hold pairs of features, as `count(reports, order=2)` gives them.
    level
        The confidence level of the intervals.

    Returns
    -------
    pyarrow.Table
        A row for each pair: first, second, measure, effect, low, high, p_value, fdr and merged. The effect is the
        correlation of two flags, and Cramer's V of other pairs; `p_value` is that of a test of independence, and `fdr`
        the false discovery rate of a list that ends here (Benjamini and Hochberg). The interval leaves zero out exactly
        if `p_value` is below 1 - level. `merged` says which rare answers were taken together. Where there are not
        enough reports for an interval, `low` and `high` are nan; where there are not enough for the test, `p_value` and
        `fdr` are, and the pair stands last.

    Examples
    --------
    >>> dn.associations(counts).select(["first", "second", "measure"]).to_pylist()
    [{'first': 'smoker', 'second': 'age', 'measure': "Cramer's V"}]
    """
    if not isinstance(counts, Counts):
        raise EstimateError(
            f"associations takes counts, as dn.count or Counts.load give them; found {abbreviated(counts)}"
        )
    return ranked(counts, level=level)


def ranked(counts: Counts, *, level: float, without: Collection[str] = ()) -> "pa.Table":
    """What `associations` gives, of all pairs without some features."""
    level = checked_level(level)
    if not counts.n:
        raise EstimateError("there are no reports to estimate from")
    every = watched(batches(counts, without), "pairs of features")
    found = [row for batch in every for row in _rows(counts, batch, level)]
    if not found:
        raise CountError("these counts hold no pair of features; count them with order=2")
    found.sort(key=lambda row: (np.isnan(row[6]), row[6], -abs(row[3])))
    names = ["first", "second", "measure", "effect", "low", "high", "p_value", "merged"]
    table = dict(zip(names, map(list, zip(*found, strict=True)), strict=True))
    merged = table.pop("merged")
    return pa.table({**table, "fdr": false_discovery_rate(np.array(table["p_value"])), "merged": merged})


def false_discovery_rate(p_values: Array) -> Array:
    """The false discovery rate (Benjamini and Hochberg) of the list that ends with each test.

    It is p times the number of tests over its rank, and no larger than those after it.
    """
    some = ~np.isnan(p_values)
    order = np.argsort(p_values[some], kind="stable")
    scaled = p_values[some][order] * some.sum() / np.arange(1, some.sum() + 1)
    rates = np.empty_like(scaled)
    rates[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    full = np.full(len(p_values), np.nan)
    full[some] = rates
    return full


def batches(counts: Counts, without: Collection[str] = ()) -> Iterator[list[Pair]]:
    """All pairs that were counted, in batches with the same axes and respondents asked, not too many at a time.

    Pairs that only arms ask which nobody fell into say nothing, and are left out.
    """
    plan = counts.plan
    names = [name for name in plan.schema.names if name not in without]
    if not asked_alone(plan):
        yield from ([pair] for pair in combinations(names, 2) if counts.holds(*pair) and counts.asked(*pair))
        return
    batched: dict[tuple[int, int, int], list[Pair]] = defaultdict(list)
    kinds: dict[tuple[object, ...], int] = {}  # numbers in place of kinds of axes, which are compared for every pair
    kind = {name: kinds.setdefault(Axis.of(plan[name], centred=True).kind, len(kinds)) for name in plan.schema.names}
    for pair in combinations(names, 2):
        if counts.holds(*pair):
            batched[kind[pair[0]], kind[pair[1]], _asked(counts, pair)].append(pair)
    for pairs in batched.values():
        size = max(1, BATCH // prod(1 + plan[name].columns for name in pairs[0]) ** 2)
        for start in range(0, len(pairs), size):
            yield pairs[start : start + size]


def asked_alone(plan: Plan) -> bool:
    """Whether everybody is asked everything, each feature by itself: then many pairs are told of at once."""
    return not plan.has_arms and all(len(block.features) == 1 for block in plan.blocks)


def _asked(counts: Counts, pair: Pair) -> int:
    """How many respondents were asked both features: all those counted, if all pairs were counted together."""
    return counts.n if counts.moments is not None else counts.asked(*pair)


def _tables(counts: Counts, pairs: list[Pair]) -> npt.NDArray[np.int64]:
    """The counts of each pair of a batch, the pairs in the last axis."""
    if counts.moments is None:
        return np.stack([counts.array(*pair) for pair in pairs], axis=-1)
    moments = counts.moments if counts.moments.ndim == 2 else counts.moments[0]
    places = {name: [0, *column_places(counts.plan, name)] for name in {name for pair in pairs for name in pair}}
    left, right = (np.array([places[pair[side]] for pair in pairs]) for side in (0, 1))
    return np.moveaxis(moments[left[:, :, None], right[:, None, :]], 0, -1)


def _rows(counts: Counts, pairs: list[Pair], level: float) -> list[Row]:
    """A row of the result for each pair of a batch, about the population; where need be, with rare answers merged."""
    group = pair_group(counts, pairs)
    numbers, enough = _numbers([group], _answers(group), level)
    found: list[Row] = [(*pair, *own, "") for pair, own in zip(pairs, numbers, strict=True)]
    for places, part in _merged(group, enough):
        numbers, _ = _numbers(part.groups, part.rows, level)
        for k, (place, own) in enumerate(zip(places, numbers, strict=True)):
            features = [counts.plan.schema[name] for name in pairs[place]]
            merged = merged_answers(features, [order[k] for order in part.orders], part.rows)
            found[place] = (*pairs[place], *own, merged_in_words(merged))
    return found


def _numbers(groups: Sequence[Respondents], rows: Sequence[Array], level: float) -> tuple[list[Numbers], Bools]:
    """The measure, the effect, its interval and the p-value of many pairs, and which have enough reports for it."""
    effect = _effect(groups, rows)
    low, high = (np.where(effect.enough, end, np.nan) for end in effect.distribution.limits(level))
    value, low, high = (np.minimum(number, effect.most) for number in (effect.distribution.value, low, high))
    p_values = np.where(testable(groups, rows), effect.p_value, np.nan)
    numbers = zip(*(np.atleast_1d(each).tolist() for each in (value, low, high, p_values)), strict=True)
    return [(effect.measure, *own) for own in numbers], np.atleast_1d(effect.enough)


def _merged(group: AnyGroup, enough: Bools) -> Iterator[tuple[npt.NDArray[np.int64], Part]]:
    """Those of a batch of pairs without enough reports whose rare answers can be merged, and their places in it."""
    lacking = np.flatnonzero(~enough)
    if len(lacking):
        some = (
            replace(group, truth=group.truth[..., lacking])
            if isinstance(group, Group) and group.truth.ndim > 2
            else group
        )
        for part in merged_parts([some], _answers(group), Subject.POPULATION, mutual=False):
            yield lacking[part.places], part


def pair_group(counts: Counts, pairs: list[Pair]) -> AnyGroup:
    """The estimated tables of a batch of pairs, the pairs in the last axis; of a design, the table of one pair."""
    if not asked_alone(counts.plan):
        return group_of(counts, pairs[0])
    axes = tuple(Axis.of(counts.plan[name], centred=True) for name in pairs[0])
    tables = _tables(counts, pairs)
    return Group.from_counts(counts.n, _asked(counts, pairs[0]), weighted(axes, tables), tables)


def answered(group: AnyGroup) -> tuple[Bools, Bools]:
    """Which of many pairs have enough reports for the interval of their effect, and which for the test."""
    interval = np.atleast_1d(_effect([group], _answers(group)).enough)
    test = np.atleast_1d(testable([group], _answers(group)))
    for places, part in _merged(group, interval):
        interval[places] = _effect(part.groups, part.rows).enough
        test[places] = testable(part.groups, part.rows)
    return interval, test


@dataclass(frozen=True, eq=False)
class Effect:
    """How strongly pairs go together: the measure, the most it can be, its distribution, and where that is trusted."""

    measure: str
    most: float
    distribution: RatioDistribution | AssociationDistribution
    enough: Bools
    p_value: Any  # of the test of independence


def _effect(groups: Sequence[Respondents], rows: Sequence[Array]) -> Effect:
    """How strongly pairs go together: two flags by their correlation, others by Cramer's V."""
    if all(matrix.shape == (2, 2) for matrix in rows):
        (no_a, is_a), (no_b, is_b) = rows
        everybody = {"a": np.eye(2)[0], "b": np.eye(2)[0]}
        pieces = [{**everybody, **one} for one in correlation_pieces(("a", is_a, no_a), ("b", is_b, no_b))]
        found = ratio_of(CORRELATION, groups, [[one["a"], one["b"]] for one in pieces], Subject.POPULATION)
        test = wald_test(groups, rows, Subject.POPULATION)
        return Effect(
            "correlation", np.inf, found.distribution.agreeing_with(test.statistic), found.enough, test.p_value
        )
    strength = pair_table(groups, rows, Subject.POPULATION).strength(mutual=False)
    return Effect("Cramer's V", 1.0, strength.distribution, strength.enough, strength.distribution.p_value)


def _answers(group: AnyGroup) -> list[Array]:
    """The weights of the answers to both features of a batch of pairs."""
    return [answer_rows(columns) for columns in _columns(group)]


def _columns(group: AnyGroup) -> list[int]:
    """How many evidence columns both features of a batch of pairs have."""
    return [length - 1 for length in group.truth.shape[:2]]
