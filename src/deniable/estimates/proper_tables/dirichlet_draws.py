"""Gibbs draws of proper tables from a normal likelihood times a Dirichlet prior, along lines and with slices.

The density is prod t_i^(c-1) exp(-t'Pt / 2 + l't) over tables t >= 0 with A t = a. In each step t moves along a line
t + s d that keeps A t = a: a share from one cell to another, a principal axis of the likelihood, or, where more is
known than the sum, a circuit (a direction of as few cells as can keep what is known). For a concentration c below 1
a slice height under each factor t_i^(c-1) turns that factor into an upper bound of t_i, t_i U^(-1 / (1-c)) with U
uniform (Neal's slice sampling), so that s has a normal distribution between two ends, drawn by its inverse: nothing
is rejected, and there is no step size. All chains move at once.
"""

from collections.abc import Iterator
from itertools import combinations
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from deniable.errors import EstimateError
from deniable.inference.one_feature import Array
from deniable.text.progress import told

Cells = npt.NDArray[np.bool_]
Line = tuple[npt.NDArray[np.int64], Array]  # the cells that change, and how much each does

# So many chains are run.
CHAINS = 20
# So many sweeps over all lines are made for each draw that is kept, or more.
SWEEPS = 2
# Each chain makes at least so many sweeps, for split R-hat to say something.
FEWEST_SWEEPS = 40
# So many sweeps are made to forget the start.
FORGET = 20
# Chains that have not mixed go on with twice as many sweeps, and what they did before is forgotten: so often at most.
DOUBLINGS = 3
# Chains have mixed if no cell's split R-hat is above this.
MIXED = 1.04
# A sweep has at most so many pairs of cells for each cell; of more pairs, some are taken at random in each sweep.
PAIRS = 2


def dirichlet_normal(
    precision: Array,
    linear: Array,
    A: Array,
    a: Array,
    possible: Cells,
    *,
    concentration: float,
    draws: int,
    rng: np.random.Generator,
) -> tuple[Array, float]:
    """Draws of a normal likelihood times a Dirichlet prior over tables with A t = a, and their split R-hat.

    Cells that are not `possible` are zero. The prior has the same concentration, above 0 and at most 1, in every cell;
    1 is the flat prior.
    """
    A = A[:, possible]
    P, pull = precision[np.ix_(possible, possible)], linear[possible]
    inside = interior(A, a)
    spread = _spread(P, A)
    t = _starts(inside, spread, rng)
    pairs, others = _pairs(A), _others(A, spread, rng)

    def walk(sweeps: int) -> Iterator[Array]:
        """All chains after each sweep."""
        for _ in range(sweeps):
            slope = pull - t @ P  # anew in each sweep, so that rounding does not add up
            for cells, change in _sweep(pairs, others, len(pull), rng):
                _move(t, slope, P, cells, change, concentration, rng)
            yield t

    each = ceil(draws / CHAINS)
    every = max(SWEEPS, ceil(FEWEST_SWEEPS / each))
    for _ in walk(FORGET):
        pass
    for _ in range(DOUBLINGS + 1):
        run = told(walk(every * each), lambda _: f"drawing {draws:,} tables")
        chains = np.array([now.copy() for now in run]).swapaxes(0, 1)
        convergence = split_r_hat(chains)
        if convergence <= MIXED:
            break
        every *= 2
    found = np.zeros((CHAINS, each, len(linear)))
    found[:, :, possible] = chains[:, -1 :: -(chains.shape[1] // each)][:, :each]
    return found.reshape(-1, len(linear))[:draws], convergence


def interior(A: Array, a: Array) -> Array:
    """An interior point: a table as far from zero as the equalities let it be, by linear programming."""
    from scipy.optimize import linprog

    cells = A.shape[1]
    if len(a) == 1:
        return np.full(cells, 1 / cells)
    found = linprog(
        [0.0] * cells + [-1.0], A_ub=np.column_stack([-np.eye(cells), np.ones(cells)]), b_ub=np.zeros(cells),
        A_eq=np.column_stack([A, np.zeros(len(a))]), b_eq=a, bounds=[(0, None)] * cells + [(None, None)],
    )  # fmt: skip
    if found.status != 0 or -found.fun < 1e-6:
        raise EstimateError("what is known leaves no room, or hardly any, to draw proper tables from")
    return np.asarray(found.x[:-1])


def _spread(P: Array, A: Array) -> Array:
    """The principal axes of the likelihood where A t = a: columns, each as long as its standard deviation."""
    from scipy.linalg import null_space

    basis = null_space(A)
    values, vectors = np.linalg.eigh(basis.T @ P @ basis)
    return np.asarray(basis @ vectors / np.sqrt(np.maximum(values, 1e-300)))


def _starts(inside: Array, spread: Array, rng: np.random.Generator) -> Array:
    """A starting point of each chain between the middle and a wall: chains that start apart tell if they have met."""
    directions = rng.standard_normal((CHAINS, spread.shape[1])) @ spread.T
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(directions < 0, inside / -directions, np.inf).min(axis=1, initial=np.inf)
    far = np.where(np.isfinite(reach), 0.9 * rng.random(CHAINS) * reach, 0.0)
    return np.asarray(inside + far[:, None] * directions)


def _pairs(A: Array) -> npt.NDArray[np.int64]:
    """Pairs of cells between which a share can move without changing A t."""
    same = [(i, j) for i, j in combinations(range(A.shape[1]), 2) if (A[:, i] == A[:, j]).all()]
    return np.array(same, np.int64).reshape(-1, 2)


def _others(A: Array, spread: Array, rng: np.random.Generator) -> list[Line]:
    """The principal axes, and circuits if more is known than the sum."""
    cells = A.shape[1]
    lines: list[Line] = [(np.arange(cells), axis) for axis in spread.T]
    rank = cells - spread.shape[1]
    for _ in range(2 * cells if 1 < rank < cells else 0):
        some = rng.choice(cells, rank + 1, replace=False)
        change = np.linalg.svd(A[:, some])[2][-1]
        used = np.abs(change) > 1e-9
        lines.append((some[used], change[used]))
    return lines


def _sweep(pairs: npt.NDArray[np.int64], others: list[Line], cells: int, rng: np.random.Generator) -> Iterator[Line]:
    """The lines of one sweep: pairs of cells in random order, then all others."""
    change = np.array([1.0, -1.0])
    for at in rng.permutation(len(pairs))[: PAIRS * cells]:
        yield pairs[at], change
    yield from others


def _move(
    t: Array, slope: Array, P: Array, cells: npt.NDArray[np.int64], d: Array, c: float, rng: np.random.Generator
) -> None:
    """One Gibbs step of all chains along a line, in place; `slope` is l - t P and is kept so."""
    own = t[:, cells]
    up = np.full_like(own, np.inf)
    if c < 1:
        up = own * (np.exp(rng.standard_exponential(own.shape) / (1 - c)) - 1)  # how far each may rise
    ends = np.stack([np.where(d > 0, -own, up), np.where(d > 0, up, -own)]) / d
    low, high = ends[0].max(axis=1), ends[1].min(axis=1)
    Pd = P[:, cells] @ d
    precision = d @ Pd[cells]
    s = _between(slope[:, cells] @ d / precision, 1 / sqrt(float(precision)), low, high, rng)
    t[:, cells] = np.maximum(own + s[:, None] * d, 1e-300)
    slope -= s[:, None] * Pd


def _between(mean: Array, stderr: float, low: Array, high: Array, rng: np.random.Generator) -> Array:
    """Draws of normal distributions truncated to low..high, by the inverse of the distribution in its lower tail."""
    from scipy.special import log_ndtr, ndtri_exp

    x, y = (low - mean) / stderr, (high - mean) / stderr
    flip = x + y > 0
    x, y = np.where(flip, -y, x), np.where(flip, -x, y)
    bottom, top, u = log_ndtr(x), log_ndtr(y), rng.random(len(x))
    # The density is level across an interval that is very short.
    z = np.where(y - x > 1e-6, ndtri_exp(top + np.log(u + (1 - u) * np.exp(bottom - top))), x + u * (y - x))
    z = np.clip(z, x, y)
    return np.asarray(np.clip(mean + stderr * np.where(flip, -z, z), low, high))


def split_r_hat(chains: Array) -> float:
    """The largest split R-hat of a cell: the spread of all draws over that within half chains (Gelman and others)."""
    half = chains.shape[1] // 2
    parts = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    moving = within > 0
    return float(np.sqrt(1 - 1 / half + between[moving] / within[moving]).max()) if moving.any() else 1.0
