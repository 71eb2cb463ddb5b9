"""Shares of blocks that minimise the mean variance of the wanted tables, or the worst: a convex problem.

With g_B = sum_{s in B} a_s / (v_B I_s^2) the gain of block B, a_s the weight of set s, multiplying each share by the
root of its gain climbs to the optimum, where the gain of every block in use is the objective J = sum_s a_s / I_s, and
no block's is above it: max g / J - 1 bounds how far above the least J is. For the worst table the weights of tables
are w_T times multipliers that sum to one, so that J is at most the largest w_T times the variance of a table T.
"""

from dataclasses import dataclass, replace

import numpy as np

from deniable.survey.planning.information import Array, Candidates, Set

# Shares are improved until no block would gain more than this part of the objective.
GAP = 1e-6
# At most so many steps are taken.
MOST_STEPS = 5_000
# For the worst table, weights of tables follow this power of their variance in every step.
POWER = 0.05
# For the worst table, the largest weighted variance is at most this part above the objective in the end.
LEVEL = 1e-3
# If that is not reached, so many steps are taken.
WORST_STEPS = 3_000
# A share below this is tiny: of what is itself a small part of the respondents it would be nobody.
TINY = 1e-3


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of candidate blocks, the weight of each table that they are best for, and the objective."""

    candidates: Candidates
    shares: Array
    tables: Array
    objective: float

    @property
    def gains(self) -> Array:
        """How much the objective would fall with a little more of each block."""
        weights = self.tables @ self.candidates.wanted.parts
        return np.asarray(self.candidates.told @ (weights / (self.shares @ self.candidates.told) ** 2))


def best_shares(
    candidates: Candidates, *, worst: bool, start: tuple[Array, Array] | None = None, gap: float = GAP
) -> Shares:
    """The shares of candidate blocks that serve the wanted tables best: on average, or the worst of them.

    `start` are shares to begin with, and weights of tables that they are best for.
    """
    wanted, told, by_set, by_part = candidates.wanted, candidates.told, candidates.by_set, candidates.wanted.by_part
    tables = wanted.weights / wanted.weights.sum()
    multipliers = np.full(len(tables), 1 / len(tables))
    shares = np.full(len(candidates.blocks), 1 / len(candidates.blocks))
    if start is not None:
        shares = start[0]
        multipliers = start[1] / wanted.weights / (start[1] / wanted.weights).sum()
    weights = by_part @ tables
    objective = np.inf
    for step in range(MOST_STEPS):
        information = by_set @ shares
        weighted = wanted.weights * (wanted.parts @ (1 / information)) if worst else wanted.weights
        if worst:
            multipliers = multipliers * weighted**POWER
            multipliers /= multipliers.sum()
            tables = multipliers * wanted.weights
            weights = by_part @ tables
        gains = told @ (weights / information**2)
        objective = float(weights @ (1 / information))
        level = float(weighted.max() / objective) if worst else 1.0
        if gains.max() / objective - 1 < gap and (level - 1 < LEVEL or step > WORST_STEPS):
            break
        shares = shares * np.sqrt(gains)
        shares /= shares.sum()
    return Shares(candidates, shares, tables, objective)


def greedy_blocks(found: Shares, count: int) -> list[int]:
    """So many of the candidate blocks, taken one after another where each gains most: a balanced part of many."""
    told = found.candidates.told
    weights = found.tables @ found.candidates.wanted.parts
    information = 1e-3 * (found.shares @ told)
    order = np.arange(len(found.shares)) * 1e-12  # of equal gains the first is taken
    each, taken = 1 / count, []
    for _ in range(count):
        gains = told @ (weights / information**2)
        best = int(np.argmax(gains / gains.max() - order))
        taken.append(best)
        information = information + each * told[[best]].toarray()[0]
    return sorted(set(taken))


def mixed(first: Shares, second: Shares, part: float) -> Shares:
    """Both designs at once, for what the first is wanted for: this part of the respondents is asked by the second."""
    shares: dict[Set, float] = {}
    for found, weight in ((first, 1 - part), (_without_tiny(second), part)):
        for block, share in zip(found.candidates.blocks, found.shares.tolist(), strict=True):
            shares[block] = shares.get(block, 0.0) + weight * share
    candidates = replace(first.candidates, blocks=tuple(shares))
    both = np.array(list(shares.values()))
    return Shares(candidates, both, first.tables, float(first.tables @ candidates.variances(both)))


def _without_tiny(found: Shares) -> Shares:
    """A design without blocks of tiny shares, if the others tell of everything too."""
    kept = np.flatnonzero(found.shares > TINY).tolist()
    if not (found.candidates.told[kept].sum(axis=0) > 0).all():
        return found
    blocks = tuple(found.candidates.blocks[place] for place in kept)
    shares = found.shares[kept] / found.shares[kept].sum()
    return replace(found, candidates=replace(found.candidates, blocks=blocks), shares=shares)
