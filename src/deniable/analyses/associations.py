"""The association of every pair of features: correlation or Cramer's V, a test of independence, false discovery rates.

Pairs whose features have the same protocols are one batch: their tables stand in the last axis of one tensor, and the
code that tells of one pair (`estimates.ratios_of_shares` and `estimates.pairs.association`) tells of all. Pairs are
those among the respondents who answered both: that people skip two questions together is no association of these.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.analyses.models.surveys import surveys_of
from deniable.analyses.selected_lists import listed_levels, shrinkage
from deniable.counts.counts import Counts
from deniable.counts.layout import column_places
from deniable.errors import CountError, EstimateError
from deniable.estimates.answer_groups.among_group import AmongGroup
from deniable.estimates.answer_groups.left_answers import answered_of, left_of
from deniable.estimates.designs.groups import AnyGroup, group_of
from deniable.estimates.interface import Respondents
from deniable.estimates.pairs.association import pair_table
from deniable.estimates.pairs.independence import wald_test
from deniable.estimates.pairs.rare_answers import merged_answers, merged_parts
from deniable.estimates.ratios_of_shares import correlation_pieces, ratio_of
from deniable.estimates.respondent_group import Group, testable
from deniable.inference.about_whom import Subject
from deniable.inference.association import AssociationDistribution
from deniable.inference.intervals import checked_level
from deniable.inference.one_feature import Array, Axis
from deniable.inference.ratio_questions import CORRELATION
from deniable.inference.ratios import RatioDistribution
from deniable.inference.results import merged_in_words
from deniable.inference.tensors import answer_rows, weighted
from deniable.inference.trust import Bools
from deniable.survey.plan import Plan
from deniable.survey.schema import Feature
from deniable.tables.table import PAIRS, About, Table
from deniable.text.progress import watched

# How many numbers the covariances of one batch may hold.
BATCH = 1 << 21

Pair = tuple[str, str]


def associations(counts: Any, *, level: float = 0.95) -> Table:
    """Every pair of features, ranked by how surely they are associated in the population.

    Where a feature has a missing answer, a pair is about those who answered both. Whether skipping a question goes
    together with something, `dn.estimate(counts, ["a", "b"]).association("a", "b")` says.

    Parameters
    ----------
    counts
        Counts that hold pairs of features, as `count(reports, order=2)` gives them; or reports, or a path to either. A
        list is of waves of one plan: surveys of different people, which are added.
    level
        The confidence level of the intervals.

    Returns
    -------
    Table
        A row for each pair: first, second, measure, effect, low, high, p_value, fdr, shrunken, listed_low, listed_high
        and merged. The effect is the correlation of two flags, and Cramer's V of other pairs, with the interval of a
        pair that was chosen beforehand; it leaves zero out exactly if `p_value`, that of a test of independence, is
        below 1 - level. `fdr` is the false discovery rate of a list that ends here (Benjamini and Hochberg). Of such a
        list, chosen because its pairs came out surest, effects are too large and intervals too short: `shrunken` is the
        effect without that luck, on average (empirical Bayes), and `listed_low` and `listed_high` are intervals whose
        false coverage in the list is at most 1 - level (Benjamini and Yekutieli). `merged` says which rare answers were
        taken together. Where there are not enough reports for an interval, its ends and the effect are nan, and the
        pair stands last; where there are not enough for the test, `p_value` and all that follows from it are, too.

    Examples
    --------
    >>> dn.associations(counts).select(["first", "second", "measure"]).to_pylist()
    [{'first': 'smoker', 'second': 'age', 'measure': "Cramer's V"}]
    """
    every = surveys_of(counts, None, "associations").counts
    if len(every) > 1:
        raise EstimateError(
            "associations takes one survey, or waves of one plan, and these have several: ask pair by pair, "
            'dn.estimate([...], ["a", "b"]).association()'
        )
    return ranked(every[0], level=level)


def ranked(counts: Counts, *, level: float, without: Collection[str] = ()) -> Table:
    """What `associations` gives, of all pairs without some features."""
    level = checked_level(level)
    if not counts.n:
        raise EstimateError("there are no reports to estimate from")
    every = watched(batches(counts, without), "pairs of features")
    found = [part for batch in every for part in _told(counts, batch)]
    if not found:
        raise CountError("these counts hold no pair of features; count them: order=2 (in the shell --order 2)")
    p_values, value = (np.concatenate([getattr(part, name) for part in found]) for name in ("p_value", "value"))
    low, high = np.concatenate([part.limits(level) for part in found], axis=1)
    value = np.where(np.isnan(low), np.nan, value)
    order = np.lexsort((-np.abs(value), p_values, np.isnan(low)))  # nan stands last
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    levels = listed_levels(ranks, max(1, int((~np.isnan(p_values)).sum())), level)
    ends = np.split(levels, np.cumsum([len(part.pairs) for part in found])[:-1])
    listed = np.concatenate([part.limits(own) for part, own in zip(found, ends, strict=True)], axis=1)
    listed = np.where(np.isnan(p_values), np.nan, listed)
    numbers = {
        "effect": value, "low": low, "high": high, "p_value": p_values, "fdr": false_discovery_rate(p_values),
        "shrunken": value * shrinkage(p_values), "listed_low": listed[0], "listed_high": listed[1],
    }  # fmt: skip
    words = zip(*(row for part in found for row in part.words), strict=True)
    table = dict(zip(("first", "second", "measure", "merged"), map(list, words), strict=True))
    merged = table.pop("merged")
    columns = {**table, **numbers, "merged": merged}
    about = About("associations of pairs", PAIRS, Subject.POPULATION, level, counts.n, among=_who(counts.plan, without))
    return Table({name: np.asarray(column)[order] for name, column in columns.items()}, ("first", "second"), about)


def _who(plan: Plan, without: Collection[str]) -> str:
    """Whom pairs are about, where some of the features may be skipped."""
    skipped = [feature for feature in plan.schema if feature.missing is not None and feature.name not in without]
    return "among those who answered both questions" if skipped else ""


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
    kind = {feature.name: kinds.setdefault(_kind(plan, feature), len(kinds)) for feature in plan.schema}
    for pair in combinations(names, 2):
        if counts.holds(*pair):
            batched[kind[pair[0]], kind[pair[1]], _asked(counts, pair)].append(pair)
    for pairs in batched.values():
        size = max(1, BATCH // prod(1 + plan[name].columns for name in pairs[0]) ** 2)
        for start in range(0, len(pairs), size):
            yield pairs[start : start + size]


def _kind(plan: Plan, feature: Feature) -> tuple[object, ...]:
    """What features of one batch have in common: how they are randomized, and which of their entries are answers."""
    missing = None if feature.missing is None else list(feature.answers).index(feature.missing)
    return Axis.of(plan[feature.name], centred=True).kind, type(feature), missing


def asked_alone(plan: Plan) -> bool:
    """Whether everybody is asked everything, each feature by itself: then many pairs are told of at once."""
    return not plan.has_arms and all(len(block.features) == 1 for block in plan.blocks)


def _asked(counts: Counts, pair: Pair) -> int:
    """How many respondents were asked both features: all those counted, if all pairs were counted together."""
    return counts.n if counts.moments is not None else counts.asked(*pair)


def _tables(counts: Counts, pairs: list[Pair]) -> npt.NDArray[np.int64]:
    """The counts of each pair of a batch, the pairs in the last axis."""
    if counts.moments is None:
        return np.stack([counts.evidence(*pair) for pair in pairs], axis=-1)
    moments = counts.moments if counts.moments.ndim == 2 else counts.moments[0]
    places = {name: [0, *column_places(counts.plan, name)] for name in {name for pair in pairs for name in pair}}
    left, right = (np.array([places[pair[side]] for pair in pairs]) for side in (0, 1))
    return np.moveaxis(moments[left[:, :, None], right[:, None, :]], 0, -1)


@dataclass(frozen=True, eq=False)
class Told:
    """What is told of some pairs, whose answers may be merged as the words say."""

    pairs: list[Pair]
    effect: "Effect"
    p_value: Array
    merged: list[str]

    @property
    def value(self) -> Array:
        """The effects."""
        return np.asarray(np.minimum(np.atleast_1d(self.effect.distribution.value), self.effect.most))

    @property
    def words(self) -> Iterator[tuple[str, str, str, str]]:
        """The names of each pair, its measure, and what was merged."""
        for pair, merged in zip(self.pairs, self.merged, strict=True):
            yield *pair, self.effect.measure, merged

    def limits(self, level: Any) -> Array:
        """Both ends of the intervals, with one level for all or one for each; nan without enough reports."""
        ends = (np.where(self.effect.enough, end, np.nan) for end in self.effect.distribution.limits(level))
        return np.array([np.minimum(np.atleast_1d(end), self.effect.most) for end in ends])

    def some(self, kept: Bools) -> "Told":
        """What is told of some of these pairs, if they are many."""
        chosen = [k for k, keep in enumerate(kept) if keep]
        own = self if len(self.pairs) == len(chosen) else replace(self, effect=self.effect.at(kept))
        return replace(
            own,
            pairs=[self.pairs[k] for k in chosen],
            p_value=self.p_value[kept],
            merged=[self.merged[k] for k in chosen],
        )


def _told(counts: Counts, pairs: list[Pair]) -> Iterator[Told]:
    """What is told of each pair of a batch, about the population; where need be, with rare answers merged."""
    schema = counts.plan.schema
    group = among_answered(pair_group(counts, pairs), [schema[name] for name in pairs[0]])
    rows = _answers(group)
    whole = _of_pairs(pairs, [group], rows, [""] * len(pairs))
    kept = np.ones(len(pairs), np.bool_)
    for part in merged_parts([group], rows, Subject.POPULATION):
        places = part.places
        kept[places] = False
        own = [pairs[place] for place in places]
        left = [[_answered(schema[name])[0] for name in pair] for pair in own]
        merged = [
            merged_answers(features, [order[k] for order in part.orders], part.rows) for k, features in enumerate(left)
        ]
        yield _of_pairs(own, part.groups, part.rows, [merged_in_words(each) for each in merged])
    if kept.any():
        yield whole.some(kept)


def _of_pairs(pairs: list[Pair], groups: Sequence[Respondents], rows: Sequence[Array], merged: list[str]) -> Told:
    """What is told of some pairs, given the weights of their answers."""
    effect = _effect(groups, rows)
    return Told(pairs, effect, np.atleast_1d(effect.p_value), merged)


def pair_group(counts: Counts, pairs: list[Pair]) -> AnyGroup:
    """The estimated tables of a batch of pairs, the pairs in the last axis; of a design, the table of one pair."""
    if not asked_alone(counts.plan):
        return group_of(counts, pairs[0])
    axes = tuple(Axis.of(counts.plan[name], centred=True) for name in pairs[0])
    tables = _tables(counts, pairs)
    return Group.from_counts(counts.n, _asked(counts, pairs[0]), weighted(axes, tables), tables)


def among_answered(group: AnyGroup, features: Sequence[Feature]) -> AnyGroup | AmongGroup:
    """The tables of pairs among those who answered both features; as they are if neither has a missing answer.

    All pairs of a batch have their missing answers at the same places: those of the features of one of them.
    """
    if all(feature.missing is None for feature in features):
        return group
    return AmongGroup.of([group], [_answered(feature)[1] for feature in features])[0]


def _answered(feature: Feature) -> tuple[Feature, Array]:
    """A feature without its missing answer, and the matrix from its entries to those that are left."""
    return left_of(feature, answered_of(feature))


def answered(supposed: AnyGroup, features: Sequence[Feature]) -> tuple[Bools, Bools]:
    """Which of many pairs have enough reports for the interval of their effect, and which for the test.

    `features` are those of one of the pairs, whose missing answers all have at the same places.
    """
    group = among_answered(supposed, features)
    effect = _effect([group], _answers(group))
    interval, test = (np.atleast_1d(each) for each in (effect.enough, ~np.isnan(effect.p_value)))
    for part in merged_parts([group], _answers(group), Subject.POPULATION):
        own = _effect(part.groups, part.rows)
        interval[part.places], test[part.places] = own.enough, ~np.isnan(own.p_value)
    return interval, test


@dataclass(frozen=True, eq=False)
class Effect:
    """How strongly pairs go together: the measure, the most it can be, its distribution, and where that is trusted."""

    measure: str
    most: float
    distribution: RatioDistribution | AssociationDistribution
    enough: Bools
    p_value: Any  # of the test of independence

    def at(self, kept: Bools) -> "Effect":
        """The effects of some of many pairs."""
        return replace(
            self, distribution=self.distribution.at(kept), enough=self.enough[kept], p_value=self.p_value[kept]
        )


def _effect(groups: Sequence[Respondents], rows: Sequence[Array]) -> Effect:
    """How strongly pairs go together: two flags by their correlation, others by Cramer's V.

    The p-value is that of the test of independence. Where that is refused, the one that agrees with the interval of a
    correlation, which needs less.
    """
    tested = testable(groups, rows)
    if all(matrix.shape == (2, 2) for matrix in rows):
        (no_a, is_a), (no_b, is_b) = rows
        everybody = {"a": np.eye(2)[0], "b": np.eye(2)[0]}
        pieces = [{**everybody, **one} for one in correlation_pieces(("a", is_a, no_a), ("b", is_b, no_b))]
        found = ratio_of(CORRELATION, groups, [[one["a"], one["b"]] for one in pieces], Subject.POPULATION)
        test = wald_test(groups, rows, Subject.POPULATION)
        own = found.distribution.agreeing_with(np.where(tested, test.statistic, np.nan))
        p_value = np.where(tested, test.p_value, np.nan)
        if (refused := ~tested & found.enough).any():
            p_value[refused] = own.at(refused).p_value
        return Effect("correlation", np.inf, own, found.enough, p_value)
    strength = pair_table(groups, rows, Subject.POPULATION).strength(mutual=False)
    p_value = np.where(tested, strength.distribution.p_value, np.nan)
    return Effect("Cramer's V", 1.0, strength.distribution, strength.enough, p_value)


def _answers(group: Respondents) -> list[Array]:
    """The weights of the answers to both features of a batch of pairs."""
    return [answer_rows(columns) for columns in _columns(group)]


def _columns(group: Respondents) -> list[int]:
    """How many evidence columns both features of a batch of pairs have."""
    return [length - 1 for length in group.truth.shape[:2]]
