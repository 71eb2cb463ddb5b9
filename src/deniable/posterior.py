"""Draws of proper tables: the normal law of the counts, cut to tables that can be (a flat prior over them).

With the quadratic misfit n (t'Ht / 2 - b't) of `feasible`, draws of t are those of a normal law inside the simplex.
They follow exact trajectories, x cos + v sin in coordinates in which the law is standard, which bounce off the walls
t = 0 (Pakman and Paninski's Hamiltonian sampler): no step size, and nothing is rejected.
"""

import warnings
from dataclasses import dataclass
from math import ceil, pi
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.errors import EstimateError
from deniable.structure import Array

CHAINS = 4
MOST_BOUNCES = 100_000  # of one trajectory
CONVERGED = 1.05  # the split R-hat that draws must reach


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of a proper table of shares, (draws, cells), with the answers that each cell means."""

    names: tuple[str, ...]
    answers: tuple[tuple[Any, ...], ...]  # of each cell
    draws: Array
    convergence: float  # the largest split R-hat of a cell: 1 if chains cannot be told apart

    @property
    def mean(self) -> Array:
        """The mean share of each cell."""
        return np.asarray(self.draws.mean(axis=0))

    def table(self, *, level: float = 0.95) -> Any:
        """Tidy rows: the features, proportion (the mean), and the shortest interval that holds this share of draws."""
        low, high = shortest(self.draws, level)
        columns = {
            name: pa.array(values) for name, values in zip(self.names, zip(*self.answers, strict=True), strict=True)
        }
        return pa.table(columns | {"proportion": self.mean, "low": low, "high": high})


def shortest(draws: Array, level: float) -> tuple[Array, Array]:
    """The shortest interval that holds a share of the draws, for each column: it may begin at zero."""
    rising = np.sort(draws, axis=0)
    held = min(len(rising), max(2, ceil(level * len(rising))))
    widths = rising[held - 1 :] - rising[: len(rising) - held + 1]
    first = np.argmin(widths, axis=0)
    columns = np.arange(draws.shape[1])
    return rising[first, columns], rising[first + held - 1, columns]


def truncated_normal(
    precision: Array, linear: Array, A: Array, a: Array, draws: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Draws of t with density exp(-t'Pt / 2 + l't) over t >= 0 with A t = a, and their largest split R-hat."""
    inside = _interior(A, a)
    free = inside > 0  # the others are zero whatever is drawn
    walls, position, center = _standard(precision[np.ix_(free, free)], linear[free], A[:, free], inside[free])
    each = max(10, ceil(draws / CHAINS))
    chains = np.zeros((CHAINS, each, len(inside)))
    for chain in chains:
        x = position
        for step in range(-each // 5, each):  # a fifth to forget the start
            x = _trajectory(x, walls, inside[free], center, rng)
            if step >= 0:
                chain[step, free] = np.maximum(inside[free] + walls @ x, 0)
    return chains.reshape(-1, len(inside))[:draws], _split_r_hat(chains[:, :, free])


def _interior(A: Array, a: Array) -> Array:
    """A table as far from zero as the equalities let it be; cells that must be zero are."""
    from scipy.optimize import linprog

    cells = A.shape[1]
    possible = np.ones(cells, bool)
    while True:
        # The largest s with t >= s on the cells that are possible; if it is 0, some of them must be zero.
        found = linprog(
            [0.0] * cells + [-1.0], A_ub=np.column_stack([-np.eye(cells), possible]), b_ub=np.zeros(cells),
            A_eq=np.column_stack([A, np.zeros(len(a))]), b_eq=a, bounds=[(0, None)] * cells + [(None, None)],
        )  # fmt: skip
        if found.status != 0:
            raise EstimateError("no proper table fits what is known")
        if -found.fun > 1e-9:
            return np.where(possible, found.x[:-1], 0.0)
        possible &= [_largest(A, a, cell) > 1e-9 for cell in range(cells)]


def _largest(A: Array, a: Array, cell: int) -> float:
    from scipy.optimize import linprog

    found = linprog(-np.eye(A.shape[1])[cell], A_eq=A, b_eq=a)
    return float(-found.fun)


def _standard(precision: Array, linear: Array, A: Array, inside: Array) -> tuple[Array, Array, Array]:
    """Coordinates x, t = inside + walls x, in which the law is standard normal around a center; and where to start."""
    from scipy.linalg import null_space, solve_triangular

    basis = null_space(A)
    root = np.linalg.cholesky(basis.T @ precision @ basis)
    walls = solve_triangular(root, basis.T, lower=True).T
    center = walls.T @ (linear - precision @ inside)
    return walls, np.zeros(len(center)), center


def _trajectory(x: Array, walls: Array, inside: Array, center: Array, rng: np.random.Generator) -> Array:
    """A quarter turn from x with a random velocity, bouncing off the walls inside + walls x = 0."""
    v = rng.standard_normal(len(x))
    left = pi / 2
    height = inside + walls @ center
    last = -1
    for _ in range(MOST_BOUNCES):
        # Along the way t = height + b cos + a sin; it is zero at angle + - arccos(-height / radius).
        a, b = walls @ v, walls @ (x - center)
        radius = np.hypot(a, b)
        meets = radius > height
        angle = np.arctan2(a, b)
        swing = np.arccos(np.clip(-height / np.where(meets, radius, 1), -1, 1), where=meets, out=np.full(len(a), pi))
        times = np.where(meets, np.mod(angle + swing, 2 * pi), np.inf)  # where it falls through zero
        if last >= 0 and (times[last] < 1e-9 or times[last] > 2 * pi - 1e-9):
            times[last] = np.inf  # the wall it has just left
        first = int(np.argmin(times))
        time = min(float(times[first]), left)
        x, v = center + (x - center) * np.cos(time) + v * np.sin(time), v * np.cos(time) - (x - center) * np.sin(time)
        left -= time
        if left <= 0:
            return x
        wall = walls[first]
        v = v - 2 * (wall @ v) / (wall @ wall) * wall
        last = first
    return x


def _split_r_hat(chains: Array) -> float:
    """The largest ratio of the spread of all draws to that within half chains (Gelman and others)."""
    half = chains.shape[1] // 2
    parts = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    moving = within > 0
    return float(np.sqrt(1 - 1 / half + between[moving] / within[moving]).max()) if moving.any() else 1.0


def check_convergence(convergence: float) -> None:
    """Warn if chains can be told apart."""
    if convergence > CONVERGED:
        warnings.warn(
            f"the draws have not mixed: split R-hat {convergence:.2f}, where {CONVERGED} is wanted; ask for more draws",
            stacklevel=3,
        )
