"""The factorization mechanism that is optimised for the tables that are wanted.

McKenna, Maity, Mazumdar and Miklau, A workload-adaptive mechanism for linear queries under local differential privacy
(PVLDB 2020). A strategy Q (outcomes by cells, columns that sum to one, rows whose entries differ by a factor of at most
e^epsilon) is followed by the linear estimate of least variance. With D = diag(Q 1), A = Q' D^-1 Q and the Gram matrix
G of the workload W, the variances of all wanted sums add up, over one respondent of each cell, to tr(A^-1 G) - tr(G).

The optimiser is our own. Rows of a best strategy have two values, z and e^epsilon z: a pattern of cells. All margins of
k questions stay what they are if a question's answers are shifted cyclically, and tr(A^-1 G) is convex in Q' D^-1 Q, so
that every shift of a pattern may have the same weight. Then columns sum to one by themselves, A has the Fourier basis
of the shifts, and the weights of patterns are an A-optimal design, found by multiplicative updates; new patterns come
from a local search along the gradient (Frank and Wolfe).

Whole records of many questions have too many cells for it. So each respondent is asked a view, a set of questions drawn
at random, with the margins of k questions as the workload, and views have the size at which these vary least.
"""

from functools import cache
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np

from studies.rivals.of_flags import Array, Columns, Survey
from studies.rivals.sampled_tables import Rows, Variance, cells_of

# A view of more than k questions has at most so many cells; a table of k questions, to be optimised at all.
VIEW_CELLS, MOST_CELLS = 32, 128
# So many random patterns of each size at the start; rounds of new ones; updates of the weights in each round.
STARTS, ROUNDS, UPDATES = 3, 12, 60

Levels = tuple[int, ...]

__all__ = ["MOST_CELLS", "factorized", "mechanism", "optimised_cell", "size_of_views", "spread"]


def spread(strategy: Array, gram: Array) -> float:
    """tr(A^-1 G) of a strategy."""
    inverse = np.linalg.pinv(strategy.T @ (strategy / strategy.sum(axis=1, keepdims=True)))
    return float(np.sum(inverse * gram))


@cache
def _gram(levels: Levels, k: int) -> Any:
    """W'W of all tables of k questions: how many of them two cells have in common."""
    found: Any = 0.0
    for columns in combinations(range(len(levels)), k):
        part: Any = np.ones((1, 1))
        for place, m in enumerate(levels):
            part = np.kron(part, np.eye(m) if place in columns else np.ones((m, m)))
        found = found + part
    return found


def _powers(patterns: Array, levels: Levels, epsilon: float) -> Array:
    """The eigenvalues of A if all weight were on the shifts of one pattern, without the constant's."""
    whole = patterns.reshape(-1, *levels)
    axes = tuple(range(1, whole.ndim))
    size = patterns.sum(axis=1)[:, None]
    power = np.abs(np.fft.fftn(whole, axes=axes)).reshape(len(patterns), -1)[:, 1:] ** 2
    scale = np.expm1(epsilon) / (patterns.shape[1] + np.expm1(epsilon) * size)
    return np.asarray(power * scale**2)


def _slope(powers: Array, wanted: Array, weights: Array) -> Array:
    """How much is won by a little more of each eigenvalue; nothing by those that no wanted table has."""
    return np.asarray(np.where(wanted > 1e-9, wanted / np.maximum(weights @ powers, 1e-12) ** 2, 0.0))


def _weights(powers: Array, wanted: Array, start: Array) -> Array:
    """Weights that sum to one and make the sum of wanted / eigenvalue small."""
    weights = start
    for _ in range(UPDATES):
        weights = weights * np.sqrt(powers @ _slope(powers, wanted, weights))
        weights = weights / weights.sum()
    return weights


def _improved(pattern: Array, slope: Array, levels: Levels, epsilon: float) -> Array:
    """A pattern with a larger gain, by flips of one cell as long as one pays."""
    flips = np.eye(len(pattern))
    best = float((_powers(pattern[None], levels, epsilon) @ slope)[0])
    for _ in range(4 * len(pattern)):
        tried = np.abs(pattern - flips)
        gains = _powers(tried, levels, epsilon) @ slope
        if gains.max() <= best * (1 + 1e-9):
            break
        pattern, best = tried[int(gains.argmax())], float(gains.max())
    return pattern


def _patterns(levels: Levels, k: int, epsilon: float) -> tuple[Array, Array]:
    """Patterns of a nearly best strategy, and their weights."""
    cells, rng = prod(levels), np.random.default_rng(1)
    wanted = np.fft.fftn(_gram(levels, k)[0].reshape(levels)).real.reshape(-1)[1:]
    sizes = sorted({max(1, min(cells - 1, round(cells * share))) for share in (0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)})
    found = np.array([rng.permutation(cells) < size for size in sizes for _ in range(STARTS)], float)
    weights = np.full(len(found), 1 / len(found))
    for _ in range(ROUNDS):
        powers = _powers(found, levels, epsilon)
        weights = _weights(powers, wanted, weights)
        slope = _slope(powers, wanted, weights)
        kept = weights > 1e-4
        found, weights = found[kept], weights[kept]
        starts = [rng.permutation(cells) < rng.choice(sizes), found[int(weights.argmax())]]
        more = np.array([_improved(np.asarray(start, float), slope, levels, epsilon) for start in starts])
        found = np.concatenate([found, more])
        weights = np.concatenate([weights * 0.9, np.full(len(more), 0.1 / len(more))])
    weights = _weights(_powers(found, levels, epsilon), wanted, weights)
    kept = weights > 1e-3
    return found[kept], weights[kept] / weights[kept].sum()


@cache
def mechanism(levels: Levels, k: int, epsilon: float) -> tuple[Any, Any, float]:
    """The strategy of a view; what an outcome adds to each of its cells; the mean variance of a wanted cell."""
    gram, rows = _gram(levels, k), []
    for pattern, weight in zip(*_patterns(levels, k, epsilon), strict=True):
        whole = pattern.reshape(levels)
        axes = tuple(range(len(levels)))
        shifts = np.array([np.roll(whole, by, axes).reshape(-1) for by in np.ndindex(*levels)])
        rows.append(weight * (1 + np.expm1(epsilon) * shifts) / (1 + np.expm1(epsilon) * shifts).sum(axis=0))
    strategy = np.concatenate(rows)
    scaled = strategy / strategy.sum(axis=1, keepdims=True)
    weights = np.linalg.pinv(strategy.T @ scaled) @ scaled.T
    wanted = sum(prod(levels[c] for c in columns) for columns in combinations(range(len(levels)), k))
    return strategy, weights, (spread(strategy, gram) - float(np.trace(gram))) / len(gram) / wanted


def _sent(codes: Rows, strategy: Array, rng: np.random.Generator) -> Array:
    """How often each outcome was sent by respondents of these cells."""
    upto = np.cumsum(strategy.T / strategy.sum(axis=0)[:, None], axis=1)
    upto[:, -1] = 1
    drawn = np.searchsorted((upto + np.arange(len(upto))[:, None]).reshape(-1), codes + rng.random(len(codes)), "right")
    return np.bincount(drawn - codes * len(strategy), minlength=len(strategy)).astype(float)


def optimised_cell(codes: Rows, cells: int, epsilon: float, rng: np.random.Generator) -> tuple[Array, Variance]:
    """The mechanism of one table whose cells are wanted."""
    strategy, weights, _ = mechanism((cells,), 1, epsilon)

    def variance(shares: Array) -> Array:
        return np.asarray(weights**2 @ (strategy @ shares) - shares**2)

    return weights @ _sent(codes, strategy, rng) / max(len(codes), 1), variance


def size_of_views(levels: Levels, k: int, epsilon: float) -> int:
    """The size of views with the least variance of a wanted cell, given how many respondents are asked about it."""
    d, alike = len(levels), len(set(levels)) == 1
    sizes = [s for s in range(k, d + 1) if s == k or (alike and levels[0] ** s <= VIEW_CELLS)]
    if len(sizes) == 1:
        return k
    return min(sizes, key=lambda s: mechanism(levels[:s], k, epsilon)[2] * comb(d, s) / comb(d - k, s - k))


def factorized(rows: Rows, levels: Levels, k: int, epsilon: float, rng: np.random.Generator) -> Survey:
    """A survey in which each respondent is asked one view, by the strategy that is optimised for tables of k."""
    size = size_of_views(levels, k, epsilon)
    views = np.array(list(combinations(range(len(levels)), size)))
    asked = views[rng.integers(len(views), size=len(rows))]

    def estimate(columns: Columns) -> Array:
        total: Any = 0.0
        respondents = 0
        # Views of more than k questions have questions with equally many answers, and so one strategy.
        own = levels[:size] if size > k else tuple(levels[column] for column in columns)
        strategy, weights, _ = mechanism(own, k, epsilon)
        for places in combinations(range(size), len(columns)):
            mine = np.flatnonzero((asked[:, places] == columns).all(axis=1))
            codes = cells_of(np.take_along_axis(rows[mine], asked[mine], axis=1), own, tuple(range(size)))
            cells = (weights @ _sent(codes, strategy, rng)).reshape(own)
            total = total + cells.sum(axis=tuple(place for place in range(size) if place not in places))
            respondents += len(mine)
        return np.asarray(total.reshape(-1) / max(respondents, 1))

    def variance(columns: Columns, shares: Array) -> Array:
        raise NotImplementedError("in closed form for a view alone: optimised_cell")

    return Survey(estimate, variance)
