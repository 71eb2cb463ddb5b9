"""Shares of blocks that minimise the mean variance of the wanted tables, or the worst: a convex problem.

With g_B = sum_{s in B} a_s / (v_B I_s^2) the gain of block B, a_s the weight of set s, multiplying each share by the
root of its gain climbs to the optimum, where the gain of every block in use is the objective J = sum_s a_s / I_s, and
no block's is above it: max g / J - 1 bounds how far above the least J is. For the worst table the weights of tables
are w_T times multipliers m_T that sum to one, so that J + sum_T m_T c_T is at most the largest w_T times the variance
of a table T plus its constant c_T.
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
# A block of the part that is for every pair has at least this share: of a small part of the respondents, less would be
# nobody.
LEAST_SHARE = 1e-3


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of candidate blocks, the weight of each table that they are best for, and the objective with constants."""

    candidates: Candidates
    shares: Array
    tables: Array
    objective: float

    @property
    def gains(self) -> Array:
        """How much the objective would fall with a little more of each block."""
        weights = self.tables @ self.candidates.wanted.parts
        return np.asarray(self.candidates.by_block @ (weights / (self.shares @ self.candidates.by_block) ** 2))


def best_shares(
    candidates: Candidates, *, worst: bool, start: tuple[Array, Array] | None = None, gap: float = GAP
) -> Shares:
    """The shares of candidate blocks that serve the wanted tables best: on average, or the worst of them.

    `start` are shares to begin with, and weights of tables that they are best for.
    """
    wanted, by_block, by_set = candidates.wanted, candidates.by_block, candidates.by_set
    by_part = wanted.by_part
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
        weighted = wanted.weights
        if worst:
            weighted = wanted.weights * (wanted.parts @ (1 / information)) + wanted.constants
            multipliers = multipliers * weighted**POWER
            multipliers /= multipliers.sum()
            tables = multipliers * wanted.weights
            weights = by_part @ tables
        gains = by_block @ (weights / information**2)
        varying = float(weights @ (1 / information))
        objective = varying + float((multipliers * wanted.constants).sum())
        level = float(weighted.max() / objective) if worst else 1.0
        if gains.max() / varying - 1 < gap and (level - 1 < LEVEL or step > WORST_STEPS):
            break
        shares = shares * np.sqrt(gains)
        shares /= shares.sum()
    return Shares(candidates, shares, tables, objective)


def greedy_blocks(found: Shares, count: int) -> list[int]:
    """So many of the candidate blocks, taken one after another where each gains most: a balanced part of many."""
    by_block = found.candidates.by_block
    weights = found.tables @ found.candidates.wanted.parts
    information = 1e-3 * (found.shares @ by_block)
    order = np.arange(len(found.shares)) * 1e-12  # of equal gains the first is taken
    each, taken = 1 / count, []
    for _ in range(count):
        gains = by_block @ (weights / information**2)
        best = int(np.argmax(gains / gains.max() - order))
        taken.append(best)
        information = information + each * by_block[[best]].toarray()[0]
    return sorted(set(taken))


def mixed(first: Shares, second: Shares, part: float) -> Shares:
    """Both designs at once, for what the first is wanted for: this part of the respondents is asked by the second."""
    shares: dict[Set, float] = {}
    for found, weight in ((first, 1 - part), (_without_least(second), part)):
        for block, share in zip(found.candidates.blocks, found.shares.tolist(), strict=True):
            shares[block] = shares.get(block, 0.0) + weight * share
    candidates = replace(first.candidates, blocks=tuple(shares))
    both = np.array(list(shares.values()))
    variances = candidates.variances(both) + first.candidates.wanted.constants / first.candidates.wanted.weights
    return Shares(candidates, both, first.tables, float(first.tables @ variances))


def _without_least(found: Shares) -> Shares:
    """A design without blocks of less than LEAST_SHARE, if the others tell of everything too."""
    kept = np.flatnonzero(found.shares > LEAST_SHARE).tolist()
    if not (found.candidates.by_block[kept].sum(axis=0) > 0).all():
        return found
    blocks = tuple(found.candidates.blocks[place] for place in kept)
    shares = found.shares[kept] / found.shares[kept].sum()
    return replace(found, candidates=replace(found.candidates, blocks=blocks), shares=shares)
