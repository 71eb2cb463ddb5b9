"""All pairs of features of a survey at once: how strongly they go together, and which of them surely do.

Pairs whose features have the same protocols are one batch: their tables stand in the last axis of one tensor, and all
that `Estimate` would say of each is worked out for all.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.counts.checks import columns
from deniable.counts.counts import Counts
from deniable.errors import CountError, EstimateError
from deniable.estimates.respondents import Group, at_independence, judge, testable
from deniable.inference.association import full, strength, wald
from deniable.inference.axis import Array, Axis
from deniable.inference.intervals import checked_level
from deniable.inference.ratios import CORRELATION
from deniable.inference.tensors import along, answer_rows, invert, sandwich
from deniable.text.progress import watched

BATCH = 1 << 21  # numbers in the covariances of one batch

# Of two flags' entries (all, second, first, both), what a correlation is made of: (first, not, second, not, both).
SHARES = np.array([[0, 0, 1, 0], [1, 0, -1, 0], [0, 1, 0, 0], [1, -1, 0, 0], [0, 0, 0, 1]], np.float64)

Pair = tuple[str, str]
Bools = npt.NDArray[np.bool_]


def associations(counts: Counts, *, level: float = 0.95) -> Any:
    """Every pair of features, ranked by how surely they go together in the population: an Arrow table.

    `effect` is the correlation of two flags, and Cramer's V of other pairs (`measure` says which), with its interval;
    `p_value` is that of a test of independence, and `fdr` the false discovery rate of a list that ends here (Benjamini
    and Hochberg). Where there are not enough reports for an interval, `low` and `high` are nan; where there are not
    enough for the test, `p_value` and `fdr` are, and the pair stands last.
    """
    if not isinstance(counts, Counts):
        raise EstimateError(f"associations takes counts, as dn.count or Counts.load give them; found {counts!r}")
    level = checked_level(level)
    if not counts.n:
        raise EstimateError("there are no reports to estimate from")
    found = [row for batch in watched(batches(counts), "pairs of features") for row in _asked(counts, batch, level)]
    if not found:
        raise CountError("these counts hold no pair of features; count them with order=2")
    found.sort(key=lambda row: (np.isnan(row[6]), row[6], -abs(row[3])))
    names = ["first", "second", "measure", "effect", "low", "high", "p_value"]
    table = dict(zip(names, map(list, zip(*found, strict=True)), strict=True))
    return pa.table({**table, "fdr": false_discovery_rate(np.array(table["p_value"]))})


def false_discovery_rate(p_values: Array) -> Array:
    """Of the list that ends with each test: p times the number of tests over its rank, no larger than those after."""
    some = ~np.isnan(p_values)
    order = np.argsort(p_values[some], kind="stable")
    scaled = p_values[some][order] * some.sum() / np.arange(1, some.sum() + 1)
    rates = np.empty_like(scaled)
    rates[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    full = np.full(len(p_values), np.nan)
    full[some] = rates
    return full


def batches(counts: Counts) -> Iterator[list[Pair]]:
    """All pairs that were counted, those with the same axes together, not too many at a time."""
    plan = counts.plan
    held = [set(table) for table in counts.tables]
    kinds: dict[tuple[Axis, Axis], list[Pair]] = defaultdict(list)
    axes = {name: Axis.of(plan[name], centred=True) for name in plan.schema.names}
    for pair in combinations(plan.schema.names, 2):
        if counts.moments is not None or any(set(pair) <= table for table in held):
            kinds[axes[pair[0]], axes[pair[1]]].append(pair)
    for kind, pairs in kinds.items():
        size = max(1, BATCH // prod(1 + axis.m for axis in kind) ** 2)
        for start in range(0, len(pairs), size):
            yield pairs[start : start + size]


def _tables(counts: Counts, pairs: list[Pair]) -> npt.NDArray[np.int64]:
    """What was counted of each pair, the pairs in the last axis."""
    if counts.moments is None:
        return np.stack([counts.array(*pair) for pair in pairs], axis=-1)
    moments = counts.moments if counts.moments.ndim == 2 else counts.moments[0]
    places = {name: [0, *columns(counts.plan, name)] for name in {name for pair in pairs for name in pair}}
    left, right = (np.array([places[pair[side]] for pair in pairs]) for side in (0, 1))
    return np.moveaxis(moments[left[:, :, None], right[:, None, :]], 0, -1)


def _asked(counts: Counts, pairs: list[Pair], level: float) -> list[tuple[Any, ...]]:
    """A row for each pair, about the population."""
    from scipy.special import chdtrc

    group = pair_group(counts, pairs)
    rows = [answer_rows(axis.m) for axis in group.axes]
    shares = along(group.truth, rows) / group.n
    statistic, degrees = wald(shares, sandwich(rows, at_independence(group)) / group.n**2)
    p_values = np.where(testable([group], rows), chdtrc(degrees, statistic), np.nan)
    measure, most, law, trusted = _measured(group)
    low, high = (np.where(trusted, law.ppf(0.5 + side * level / 2), np.nan) for side in (-1, 1))
    value, low, high = (np.minimum(number, most).tolist() for number in (law.value, low, high))
    numbers = zip(value, low, high, p_values.tolist(), strict=True)
    return [(*pair, measure, *row) for pair, row in zip(pairs, numbers, strict=True)]


def pair_group(counts: Counts, pairs: list[Pair]) -> Group:
    """The estimated tables of pairs with the same axes, the pairs in the last axis."""
    axes = tuple(Axis.of(counts.plan[name], centred=True) for name in pairs[0])
    return Group(counts.n, axes, invert(axes, _tables(counts, pairs)))


def answered(group: Group) -> tuple[Bools, Bools]:
    """Of many pairs, which have enough reports for the interval of their effect, and which for the test."""
    return _measured(group)[3], testable([group], [answer_rows(axis.m) for axis in group.axes])


def _measured(group: Group) -> tuple[str, float, Any, Bools]:
    """How strongly pairs go together: the measure, the most it can be, its law, and where that is to be trusted."""
    n, covariance = group.n, group.dense(population=True)
    rows = [answer_rows(axis.m) for axis in group.axes]
    if all(axis.m == 1 for axis in group.axes):
        x, spread = group.entries @ SHARES.T / n, SHARES @ covariance @ SHARES.T / n**2
        each = judge([group], [np.vstack([np.eye(1, 2), own]) for own in rows], population=True)[1]
        trusted = each[:, [1, 2, 0, 0, 2], [0, 0, 1, 2, 2]].all(axis=1) & CORRELATION.steady(x, spread)
        return "correlation", np.inf, CORRELATION.law(x, spread), trusted
    shares, spread = along(group.truth, rows) / n, sandwich(rows, covariance) / n**2
    law, _ = strength(shares, spread)
    trusted = judge([group], rows, population=True)[1].all(axis=(1, 2)) & full(shares, spread, cells=False)
    return "Cramer's V", 1.0, law, trusted
