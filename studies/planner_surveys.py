"""Designed surveys of known truths, many at a time: what each arm shows, and the estimates of tables from it.

All surveys of an arm are drawn at once, and pooled by kinds of arms for each table; then every table of every survey is
estimated by the library's own least squares.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

import deniable as dn
from deniable.client import SCALE
from deniable.inference.tensors import along, answer_rows
from deniable.simulate import _drawn, _possible_patterns

Array = np.ndarray


@dataclass(frozen=True)
class Classes:
    """Latent classes of people with independent answers in each: their shares, and those of each question's answers."""

    shares: Array
    answers: dict[str, Array]  # classes by answers

    def table(self, names: Sequence[str]) -> Array:
        """The share of each combination of some questions' answers."""
        each = (reduce(np.multiply.outer, [self.answers[name][k] for name in names]) for k in range(len(self.shares)))
        return np.asarray(sum(share * one for share, one in zip(self.shares, each, strict=True)))

    def truth(self, schema: dn.Schema, names: Sequence[str]) -> dn.simulate.Truth:
        """The truth of some questions, as a guess is given."""
        return dn.simulate.truth(dn.Schema([schema[name] for name in names]), self.table(names))


def skewed_classes(schema: dn.Schema, rng: np.random.Generator) -> Classes:
    """Three classes whose answers differ, so that questions are correlated; many answers are rare or common."""
    answers = {feature.name: rng.dirichlet(np.full(feature.levels, 0.8), 3) for feature in schema}
    return Classes(np.array([0.5, 0.3, 0.2]), {name: 0.02 / one.shape[1] + 0.98 * one for name, one in answers.items()})


@dataclass(frozen=True, eq=False)
class Surveys:
    """Many surveys of n respondents by one plan: how many show each piece of evidence of each arm, survey by survey."""

    plan: dn.Plan
    n: int
    shown: tuple[Array, ...]  # of each arm, whose only block it is: surveys by (all, cells)

    def counts(self, survey: int) -> dn.Counts:
        """The counts of one survey, as if its reports had been counted."""
        arms = [
            dn.Counts(arm, {arm.units.schema.names: shown[survey]})
            for arm, shown in zip(self.plan.arms, self.shown, strict=True)
        ]
        return dn.Counts(self.plan, arms=arms) if self.plan.has_arms else arms[0]

    def estimates(self, names: Sequence[str]) -> Iterator[dn.Estimate]:
        """The estimate of a table in each survey, about the population, as a user would ask for it."""
        for survey in range(len(self.shown[0])):
            yield dn.estimate(self.counts(survey), names).about("population")

    def cells(self, names: Sequence[str]) -> Array:
        """The estimated shares of a table's cells: surveys by cells."""
        rows = [answer_rows(len(self.plan.schema[name].columns)) for name in names]
        return np.array([along(est.mean / est.n, rows).reshape(-1) for est in self.estimates(names)])


def drawn(plan: dn.Plan, of: Classes, n: int, surveys: int, rng: np.random.Generator) -> Surveys:
    """Surveys of respondents who are drawn from a population; every arm of the plan has one block."""
    sizes = rng.multinomial(n, np.array(plan.shares) / SCALE, surveys)
    return Surveys(plan, n, tuple(_shown(arm, of, own, rng) for arm, own in zip(plan.arms, sizes.T, strict=True)))


def _shown(arm: dn.Plan, of: Classes, sizes: Array, rng: np.random.Generator) -> Array:
    """What an arm of one block shows in each survey."""
    (block,) = arm.blocks
    people = rng.multinomial(sizes, of.table(block.names).reshape(-1))
    if isinstance(block.protocol, dn.SubsetSelection):
        return np.hstack([sizes[:, None], marked_by_sets(block.protocol, people, rng)])
    law, evidence = _possible_patterns(block.protocol)
    return np.asarray(_drawn([law], people, rng) @ evidence)


def marked_by_sets(protocol: dn.SubsetSelection, people: Array, rng: np.random.Generator) -> Array:
    """How many reports of subset selection mark each value, in each survey, given how many people have each.

    Values are gone through one by one. Of those who have r of the other values still to mark and see so many of them
    left, each marks this one with probability r / left: a binomial number, drawn for all people of one value at once.
    """
    m, size = protocol.columns, protocol.integers["size"]
    own = rng.binomial(people, protocol.integers["q"] / SCALE)  # surveys by values: who marked the true one
    waiting = np.zeros((*people.shape, size + 1), np.int64)  # by how many others are still to be marked
    waiting[..., size - 1], waiting[..., size] = own, people - own
    marked = np.zeros_like(people)
    values, still = np.arange(m), np.arange(size + 1)
    for value in range(m):
        left = m - 1 - value + (values < value)  # of the other values, this one included
        chances = np.clip(still / np.maximum(left, 1)[:, None], 0, 1)
        chances[value] = 0  # who has this value has decided already
        now = rng.binomial(waiting, chances)
        waiting -= now
        waiting[..., :-1] += now[..., 1:]
        marked[:, value] = own[:, value] + now.sum(axis=(1, 2))
    return marked
