"""Surveys of plans with arms for studies: truths, plans of all sets of k questions, and counts without any report.

Every arm here is one block, so an estimate needs only how often each evidence bit was marked. Numbers of marked bits
are drawn from their exact distribution, in a time that does not depend on how many respondents there are:
`deniable.simulate.counts` draws whole patterns of bits, of which a block of dozens of combinations has too many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

import deniable as dn
from deniable.client import SCALE
from deniable.simulate import Truth
from deniable.survey.protocols.base import Protocol
from studies.classic_tables import rows_of
from tests.support.marked_bits import marked_bits

ADULT = (7, 8, 9, 10, 14)  # columns: choices of 6, 5 and 8, and two flags
NLTCS = tuple(range(8))


@dataclass(frozen=True)
class Survey:
    """A survey whose truth is known: that of the population, that of its respondents, and what was counted."""

    population: Any
    respondents: Any
    counts: dn.Counts


def _of_columns(table: str, columns: Sequence[int]) -> Truth:
    """The joint distribution of some columns of a classic table."""
    rows = rows_of(table)[:, list(columns)]
    levels = rows.max(axis=0) + 1
    features = [
        dn.Flag(f"c{c}") if m == 2 else dn.Choice(f"c{c}", [str(v) for v in range(m)])
        for c, m in zip(columns, levels, strict=True)
    ]
    people = np.zeros(levels, int)
    np.add.at(people, tuple(rows.T), 1)
    return dn.simulate.truth(dn.Schema(features), people)


def _flags(names: Sequence[str], classes: Any) -> Truth:
    return dn.simulate.truth(dn.Schema([dn.Flag(name) for name in names]), classes)


def _sparse() -> Truth:
    """Made up: a flag that 1 % have, mostly those of one class, a common one, and a choice with an empty answer."""
    flags = [dn.Flag(name) for name in ("rare", "common", "usual")]
    schema = dn.Schema([*flags, dn.Choice("grade", list("abcd")), dn.Choice("kind", list("xyz"))])
    few = {"rare": 0.06, "common": 0.99, "usual": 0.5, "grade": [0.1, 0.3, 0.6, 0.0], "kind": [0.05, 0.05, 0.9]}
    most = {"rare": 0.0, "common": 0.8, "usual": 0.2, "grade": [0.7, 0.28, 0.02, 0.0], "kind": [0.6, 0.39, 0.01]}
    return dn.simulate.truth(schema, [(1 / 6, few), (5 / 6, most)])


def _rare_flags() -> Truth:
    """Made up: six flags with shares from 1 to 97 %, that go together in a small class."""
    names = [f"r{k}" for k in range(6)]
    most = dict(zip(names, (0.005, 0.02, 0.05, 0.3, 0.7, 0.98), strict=True))
    few = dict(zip(names, (0.105, 0.7, 0.9, 0.02, 0.99, 0.78), strict=True))
    return _flags(names, [(0.95, most), (0.05, few)])


def _uniform(flags: int = 0, choices: int = 0) -> Truth:
    features = [*(dn.Flag(f"f{k}") for k in range(flags)), *(dn.Choice(f"g{k}", list("abcd")) for k in range(choices))]
    shape = (2,) * flags + (4,) * choices
    return Truth(dn.Schema(features), np.full(shape, 1 / prod(shape)))


TRUTHS = {
    "nltcs": lambda: _of_columns("nltcs", NLTCS),
    "nltcs 16": lambda: _of_columns("nltcs", range(16)),
    "adult": lambda: _of_columns("adult", ADULT),
    "sparse": _sparse,
    "rare flags": _rare_flags,
    "uniform 8 flags": lambda: _uniform(flags=8),
    "uniform 16 flags": lambda: _uniform(flags=16),
    "uniform 8 choices": lambda: _uniform(choices=8),
}


@cache
def truth_of(name: str) -> Truth:
    """A truth by its name."""
    return TRUTHS[name]()


@cache
def plan_of(name: str, asked: int, epsilon: float) -> dn.Plan:
    """The plan whose arms are all sets of so many questions of a truth, in equal shares, each set one block."""
    schema = truth_of(name).schema
    return dn.Plan(schema, epsilon=epsilon, arms=[list(arm) for arm in combinations(schema.names, asked)])


@cache
def arm_margins(name: str, asked: int) -> tuple[Any, ...]:
    """The share of each combination of every arm's answers, in C order."""
    of = truth_of(name)
    axes = range(len(of.schema))
    return tuple(
        of.shares.sum(axis=tuple(axis for axis in axes if axis not in arm)).reshape(-1)
        for arm in combinations(axes, asked)
    )


def fixed_sizes(plan: dn.Plan, n: int) -> Any:
    """Whole numbers of respondents in the arms, as near to their shares as can be, that sum to n."""
    exact = n * np.array(plan.shares) / SCALE
    sizes = np.floor(exact).astype(np.int64)
    sizes[np.argsort(sizes - exact, kind="stable")[: n - sizes.sum()]] += 1
    return sizes


def survey(name: str, plan: dn.Plan, n: int, rng: np.random.Generator, *, fixed: bool) -> Survey:
    """A survey whose respondents are known: drawn from a truth, then put into arms of fixed or of random sizes."""
    of = truth_of(name)
    people = of.people(n, rng)
    axes = range(people.ndim)
    asked = [tuple(plan.schema.index(each) for each in arm.schema.names) for arm in plan.arms]
    own = [
        one.reshape(people.shape).sum(axis=tuple(axis for axis in axes if axis not in arm)).reshape(-1)
        for arm, one in zip(asked, _into_arms(plan, people.reshape(-1), rng, fixed=fixed), strict=True)
    ]
    return Survey(of.shares, people / n, counts_of(plan, own, rng))


def _into_arms(plan: dn.Plan, people: Any, rng: np.random.Generator, *, fixed: bool) -> list[Any]:
    """How many respondents of each kind are in each arm: a random partition, of fixed sizes or by the shares."""
    there = np.flatnonzero(people)
    if fixed:
        left, drawn = people[there], []
        for size in fixed_sizes(plan, int(people.sum())):
            drawn.append(rng.multivariate_hypergeometric(left, size, method="marginals"))
            left = left - drawn[-1]
    else:
        drawn = list(rng.multinomial(people[there], np.array(plan.shares) / SCALE).T)
    found = np.zeros((len(drawn), people.size), np.int64)
    found[:, there] = drawn
    return list(found)


def population_counts(name: str, asked: int, plan: dn.Plan, n: int, rng: np.random.Generator) -> dn.Counts:
    """Counts of respondents drawn straight into arms of fixed sizes: for what is asked about the population alone."""
    sizes = fixed_sizes(plan, n)
    own = [rng.multinomial(size, margin) for size, margin in zip(sizes, arm_margins(name, asked), strict=True)]
    return counts_of(plan, own, rng)


def counts_of(plan: dn.Plan, people: Sequence[Any], rng: np.random.Generator) -> dn.Counts:
    """Counts of a plan whose arms are one block each, from how many of each arm are in each cell of its block."""
    by_protocol: dict[Protocol, list[int]] = {}
    for place, arm in enumerate(plan.arms):
        by_protocol.setdefault(arm.protocols[0], []).append(place)
    marked: dict[int, Any] = {}
    for protocol, places in by_protocol.items():
        marked |= dict(zip(places, marked_bits(protocol, np.array([people[k] for k in places]), rng), strict=True))
    parts = [
        dn.Counts(arm, {arm.blocks[0].names: np.concatenate([[people[k].sum()], marked[k]])})
        for k, arm in enumerate(plan.arms)
    ]
    return dn.Counts(plan, arms=parts)
