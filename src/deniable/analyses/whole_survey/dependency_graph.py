"""The dependency graph of a survey and its triangulation: the pairs that a large model holds, in cliques.

Pairs are added surest first, among those that a test of independence finds with few false discoveries, as long as the
graph stays narrow: every clique of its triangulation (by elimination, with the least fill) has few cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from deniable.analyses.associations import false_discovery_rate
from deniable.analyses.whole_survey.contrasts import Places
from deniable.analyses.whole_survey.pair_tests import PairTest

# A pair is in the graph if lists that end with it have at most this false discovery rate.
FALSE_DISCOVERIES = 0.05
# A clique has at most so many cells.
MOST_CLIQUE_CELLS = 100_000
# The model has at most so many coefficients, whose covariance is a dense matrix.
MOST_COEFFICIENTS = 1_000
# Cells of all cliques times coefficients are at most so many, the work of one step of the fit: a second or two.
MOST_WORK = 10_000_000
# So many pairs in a row may be too wide before no more are tried.
MOST_REFUSED = 200

Neighbours = list[set[int]]


@dataclass(frozen=True)
class Graph:
    """The pairs that a model holds, and the maximal cliques of its triangulation, each with rising places."""

    pairs: tuple[Places, ...]
    cliques: tuple[Places, ...]


def dependency_graph(levels: Sequence[int], tests: Sequence[PairTest]) -> Graph:
    """The graph of the pairs that are surely associated, as far as it stays narrow."""
    rates = false_discovery_rate(np.array([one.p_value for one in tests]))
    sure = [one for one, rate in zip(tests, rates, strict=True) if rate <= FALSE_DISCOVERIES]
    sure.sort(key=lambda one: (one.p_value, -one.statistic / one.degrees, one.pair))
    kept: list[Places] = []
    neighbours: Neighbours = [set() for _ in levels]
    cliques, used, refused = triangulated(levels, neighbours), sum(levels) - len(levels), 0
    for one in sure:
        i, j = one.pair
        if refused >= MOST_REFUSED:
            break
        wider, more = [set(near) for near in neighbours], used + one.degrees
        wider[i].add(j)
        wider[j].add(i)
        inside = any(i in clique and j in clique for clique in cliques)
        found = cliques if inside else triangulated(levels, wider)
        if more > MOST_COEFFICIENTS or not _narrow(levels, found, more):
            refused += 1
            continue
        neighbours, cliques, used, refused = wider, found, more, 0
        kept.append(one.pair)
    return Graph(tuple(sorted(kept)), tuple(cliques))


def _narrow(levels: Sequence[int], cliques: Sequence[Places], coefficients: int) -> bool:
    """Whether cliques are small enough, and a model over them."""
    sizes = [prod(levels[place] for place in clique) for clique in cliques]
    return max(sizes) <= MOST_CLIQUE_CELLS and sum(sizes) * coefficients <= MOST_WORK


def triangulated(levels: Sequence[int], neighbours: Neighbours) -> list[Places]:
    """The maximal cliques of a triangulation: features are eliminated by least fill, then by fewest cells."""
    left = {place: set(near) for place, near in enumerate(neighbours)}
    found: list[set[int]] = []
    while left:
        place = min(left, key=lambda one: (_fill(left, one), prod(levels[k] for k in left[one]) * levels[one], one))
        near = left.pop(place)
        for one in near:
            left[one] |= near - {one}
            left[one].discard(place)
        clique = near | {place}
        if not any(clique <= other for other in found):
            found.append(clique)
    return [tuple(sorted(clique)) for clique in found]


def _fill(left: dict[int, set[int]], place: int) -> int:
    """How many pairs of neighbours of a feature are not neighbours of each other."""
    near = left[place]
    return sum(len(near - left[one]) - 1 for one in near)
