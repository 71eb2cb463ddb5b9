"""Designs small enough for every report, and every assignment of respondents to arms, to be enumerated in fractions.

One report gives z, its own unbiased estimate of which cell of a table its respondent is in: an array of fractions over
the cells of those features of the table that its arm asks, in C order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, reduce
from itertools import permutations, product
from math import prod

import numpy as np

import deniable as dn
from deniable.survey.blocks import Block
from tests.support.channels import evidence_channel
from tests.support.surveys import Weights, block_weights, own_estimate

Person = tuple[int, ...]  # a code for each feature of the schema
Exact = np.ndarray  # of fractions


def block_code(plan: dn.Plan, block: Block, person: Person) -> int:
    """The code of a block: those of its features as digits, the first feature slowest."""
    code = 0
    for feature in block.features:
        code = code * feature.levels + person[plan.schema.index(feature.name)]
    return code


@cache
def block_outcomes(block: Block, code: int, weights: Weights) -> list[tuple[Fraction, Exact]]:
    """Every pattern that a block's report may show of a code: its probability, and z with an axis for each feature."""
    found = []
    for bits, chance in evidence_channel(block.protocol, code).items():
        z = own_estimate(block.protocol, bits, centred=True, weights=weights)[1:]
        cells = [1 - z[0], z[0]] if len(z) == 1 else z
        found.append((chance, np.array(cells, object).reshape(block.levels)))
    return found


def asked_of(arm: dn.Plan, names: Sequence[str]) -> list[str]:
    """The features of a table that an arm asks, in the table's order."""
    return [name for name in names if name in arm]


def outcomes(
    plan: dn.Plan, arm: dn.Plan, names: Sequence[str], person: Person, weights: Mapping[Block, Weights]
) -> list[tuple[Fraction, Exact]]:
    """Every report of one respondent in an arm: its probability, and z over the cells of its part of a table.

    Of blocks with weights of centring, z is centred with these.
    """
    blocks = [block for block in arm.blocks if set(block.names) & set(names)]
    axes = [name for block in blocks for name in block.names]
    others = tuple(place for place, name in enumerate(axes) if name not in names)
    kept = [name for name in axes if name in names]
    order = [kept.index(name) for name in asked_of(arm, names)]
    found = []
    laws = [block_outcomes(block, block_code(plan, block, person), weights.get(block)) for block in blocks]
    for each in product(*laws):
        z = reduce(np.multiply.outer, [one for _, one in each])
        z = z.sum(axis=others) if others else z
        found.append((prod(chance for chance, _ in each), z.transpose(order).reshape(-1)))
    return found


def cell_of(plan: dn.Plan, names: Sequence[str], person: Person) -> Exact:
    """Which cell of a table a respondent is in: 1 there and 0 elsewhere."""
    levels = [plan.schema[name].levels for name in names]
    cell = np.full(prod(levels), Fraction(0), object)
    codes = [person[plan.schema.index(name)] for name in names]
    cell[np.ravel_multi_index(codes, levels)] = Fraction(1)
    return cell


def shares_of(plan: dn.Plan, names: Sequence[str], people: Sequence[Person]) -> Exact:
    """The share of people in each cell of a table."""
    return sum(cell_of(plan, names, person) for person in people) / Fraction(len(people))


def seconds_of(law: Sequence[tuple[Fraction, Exact]]) -> Exact:
    """E[z z'] of a report."""
    return sum(chance * np.outer(z, z) for chance, z in law)


def mean_of(law: Sequence[tuple[Fraction, Exact]]) -> Exact:
    """E[z] of a report."""
    return sum(chance * z for chance, z in law)


def assignments(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """The arm of each respondent, for every way to fill arms of these sizes."""
    return sorted(set(permutations([arm for arm, size in enumerate(sizes) for _ in range(size)])))


@dataclass(frozen=True, eq=False)
class ExactDesign:
    """Some respondents of a plan with arms, as many in each as `sizes` say, and the table that is asked for."""

    plan: dn.Plan
    names: tuple[str, ...]
    people: tuple[Person, ...]
    sizes: tuple[int, ...]
    weights: tuple[
        Mapping[Block, Weights], ...
    ] = ()  # of centring, of each arm's blocks; equal ones, if there are none

    def with_best_weights(self) -> "ExactDesign":
        """The same with weights of centring from what was counted of each arm."""
        weights = tuple(block_weights(arm, "consistent") for arm in self.counts().arms)
        return replace(self, weights=weights)

    @property
    def n(self) -> int:
        return len(self.people)

    @property
    def truth(self) -> Exact:
        return shares_of(self.plan, self.names, self.people)

    @property
    def levels(self) -> list[int]:
        return [self.plan.schema[name].levels for name in self.names]

    def law(self, arm: int, person: int) -> list[tuple[Fraction, Exact]]:
        weights = self.weights[arm] if self.weights else {}
        return outcomes(self.plan, self.plan.arms[arm], self.names, self.people[person], weights)

    def sums(self, arm: int) -> Exact:
        """X: which cells of the table each cell of an arm's part of it is the sum of."""
        asked = asked_of(self.plan.arms[arm], self.names)
        parts = [
            np.eye(m, dtype=int) if name in asked else np.ones((1, m), int)
            for name, m in zip(self.names, self.levels, strict=True)
        ]
        return reduce(np.kron, parts) * Fraction(1)

    def mixture(self, arm: int) -> list[tuple[Fraction, Exact]]:
        """The reports of an arm of somebody drawn at random from these people."""
        return [(chance / self.n, z) for person in range(self.n) for chance, z in self.law(arm, person)]

    def noise(self, arm: int) -> Exact:
        """The covariance of z given the true cell, its mean over all people."""
        total = Fraction(0)
        for person in range(self.n):
            law = self.law(arm, person)
            mean = mean_of(law)
            total = total + seconds_of(law) - np.outer(mean, mean)
        return total / self.n

    def by_assignment(self) -> Iterator[tuple[list[Exact], list[Exact]]]:
        """For each assignment, the mean and the covariance of the mean z of every arm."""
        laws = [[self.law(arm, person) for person in range(self.n)] for arm in range(len(self.sizes))]
        means = [[mean_of(law) for law in own] for own in laws]
        spreads = [
            [seconds_of(law) - np.outer(mean, mean) for law, mean in zip(own, of, strict=True)]
            for own, of in zip(laws, means, strict=True)
        ]
        for assigned in assignments(self.sizes):
            inside = [[person for person, own in enumerate(assigned) if own == arm] for arm in range(len(self.sizes))]
            yield (
                [sum(means[arm][person] for person in own) / len(own) for arm, own in enumerate(inside)],
                [sum(spreads[arm][person] for person in own) / len(own) ** 2 for arm, own in enumerate(inside)],
            )

    def enumerated(self) -> tuple[list[Exact], dict[tuple[int, int], Exact]]:
        """The mean of every arm's estimate, and the covariance of any two, over all assignments and reports.

        Reports are independent given the assignment, so that covariances are means of conditional ones, and
        covariances of conditional means.
        """
        found = list(self.by_assignment())
        arms, ways = range(len(self.sizes)), Fraction(len(found))
        means = [sum(of[arm] for of, _ in found) / ways for arm in arms]
        covariances = {}
        for a, b in product(arms, arms):
            between = sum(np.outer(of[a], of[b]) for of, _ in found) / ways - np.outer(means[a], means[b])
            covariances[a, b] = between + (sum(own[a] for _, own in found) / ways if a == b else 0)
        return means, covariances

    def counts(self, seed: int = 1) -> dn.Counts:
        """Counts of reports of these people, the first ones in the first arm and so on."""
        rng, parts, start = np.random.default_rng(seed), [], 0
        for arm, size in zip(self.plan.arms, self.sizes, strict=True):
            parts.append(dn.randomize(answers_of(self.plan, arm, self.people[start : start + size]), arm, rng=rng))
            start += size
        return dn.count(dn.Reports.of_arms(self.plan, parts))


def answers_of(plan: dn.Plan, arm: dn.Plan, people: Sequence[Person]) -> dict[str, list[str | bool]]:
    """The answers of people to what an arm asks."""
    return {
        feature.name: [feature.answers[person[plan.schema.index(feature.name)]] for person in people]
        for feature in arm.schema
    }


def floats(exact: Exact) -> np.ndarray:
    """Fractions as floats."""
    return np.asarray(exact, object).astype(float)


def fractions(array: np.ndarray) -> Exact:
    """Floats as the fractions that they are."""
    return np.array([Fraction(float(one)) for one in array.reshape(-1)], object).reshape(array.shape)


# -- blocks without arms: tensors with margins at index 0 --------------------------------------------------------------


def block_entries(
    block: Block, bits: tuple[int, ...], names: Sequence[str], *, centred: bool, weights: Weights = None
) -> np.ndarray:
    """What one report says of the features of a block that are in a table: a tensor with margins, axes in its order.

    That everybody is in the table is known, whatever the bits are.
    """
    z = floats(np.array(own_estimate(block.protocol, bits, centred=centred, weights=weights)[1:], object))
    if len(block.features) == 1:
        return np.array([1.0, *z])
    tensor = z.reshape(block.levels).sum(axis=tuple(k for k, name in enumerate(block.names) if name not in names))
    kept = [feature for feature in block.features if feature.name in names]
    for axis, feature in enumerate(kept):
        parts = [tensor.sum(axis=axis, keepdims=True), tensor if feature.levels == len(feature.columns) else None]
        parts[1] = np.take(tensor, [1], axis) if parts[1] is None else parts[1]
        tensor = np.concatenate(parts, axis)
    tensor[(0,) * tensor.ndim] = 1.0
    return tensor


def joined_entries(blocks: Sequence[Block], each: Sequence[np.ndarray], names: Sequence[str]) -> np.ndarray:
    """The product over blocks of their tensors, with the axes in the table's order."""
    axes = [name for block in blocks for name in block.names if name in names]
    return reduce(np.multiply.outer, each).transpose([axes.index(name) for name in names])


def entry_outcomes(
    plan: dn.Plan, names: Sequence[str], person: Person, weights: Mapping[Block, Weights], *, centred: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Every report of one respondent of a plan without arms: probabilities, and estimates of all entries of a table."""
    blocks = [block for block in plan.blocks if set(block.names) & set(names)]
    laws = [
        [
            (float(chance), block_entries(block, bits, names, centred=centred, weights=weights.get(block)))
            for bits, chance in evidence_channel(block.protocol, block_code(plan, block, person)).items()
        ]
        for block in blocks
    ]
    found = [
        (prod(chance for chance, _ in each), joined_entries(blocks, [one for _, one in each], names))
        for each in product(*laws)
    ]
    return np.array([chance for chance, _ in found]), np.array([tensor for _, tensor in found])


def true_entries(plan: dn.Plan, names: Sequence[str], person: Person) -> np.ndarray:
    """The entries of one respondent's true table, margins at index 0."""
    vectors = [
        np.array([1.0, *(float(person[plan.schema.index(name)] == column) for column in plan.schema[name].columns)])
        for name in names
    ]
    return reduce(np.multiply.outer, vectors)
