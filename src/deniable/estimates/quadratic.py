"""Quadratic programming over proper tables: x >= 0 with A x = a, one row of which is that x sums to 1.

An active-set method. On a set of cells that may be positive the minimum is one Cholesky solve; cells that come out
negative leave the set, together if that lowers the value and else one by one, and cells with a negative gradient enter.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.errors import EstimateError
from deniable.inference.one_feature import Array

# Cells leave and enter in at most so many rounds.
MOST_ROUNDS = 10_000
# A gradient is taken as negative below this part of its own size.
TOLERANCE = 1e-11


@dataclass(frozen=True)
class Solution:
    """A minimiser, the most that its value is above the least (the gap), and the multipliers of the equalities."""

    x: Array
    gap: float
    multipliers: Array


def least(H: Array, b: Array, A: Array, a: Array, start: Array) -> Solution:
    """Minimise x'Hx / 2 - b'x over x >= 0 with A x = a, from a start that fits. H must be positive definite."""
    x, free = start.copy(), start > 0
    size = np.abs(b).max() + np.abs(H @ x).max()
    together, lowest, best, idle = True, np.inf, None, 0
    for _ in range(MOST_ROUNDS):
        found = _drop_together(H, b, A, a, free) if together else None
        if found is not None and _value(H, b, found[0]) < _value(H, b, x):
            x, multipliers = found
        else:
            x, multipliers = _drop_one_by_one(H, b, A, a, x, free)
        free = x > 0
        gradient = H @ x - b - A.T @ multipliers
        gap = max(0.0, -float(gradient.min())) + float(np.abs(gradient) @ x)
        enter = ~free & (gradient < -TOLERANCE * size)
        value = _value(H, b, x)
        if not enter.any() or (not together and value >= lowest):  # at an optimum, or nothing more is gained
            return Solution(x, gap, multipliers)
        if best is None or value < best[0] - TOLERANCE * size:
            best, idle = (value, Solution(x, gap, multipliers)), 0
        elif (idle := idle + 1) > len(b):  # the same cells leave and enter again: what is known leaves them no room
            return best[1]
        lowest = value
        together = found is not None
        worst = gradient.min()
        free = free | (enter & (gradient <= (0.1 * worst if together else worst)))
    raise EstimateError(f"no closest proper table was found in {MOST_ROUNDS:,} rounds; ask for fewer features")


def _value(H: Array, b: Array, x: Array) -> float:
    """The quadratic x'Hx / 2 - b'x."""
    return float(x @ (H @ x) / 2 - b @ x)


def _on(H: Array, b: Array, A: Array, a: Array, cells: npt.NDArray[np.intp]) -> tuple[Array, Array]:
    """The minimiser that is zero outside some cells, whatever its signs there, and the multipliers."""
    from scipy.linalg import cho_factor, cho_solve

    factor = cho_factor(H[np.ix_(cells, cells)], check_finite=False)
    some = A[:, cells]
    solved = cho_solve(factor, np.column_stack([b[cells], some.T]), check_finite=False)
    plain, by_row = solved[:, 0], solved[:, 1:]
    multipliers = np.linalg.lstsq(some @ by_row, a - some @ plain, rcond=None)[0]
    return plain + by_row @ multipliers, multipliers


def _drop_together(H: Array, b: Array, A: Array, a: Array, free: npt.NDArray[np.bool_]) -> tuple[Array, Array] | None:
    """Let all negative cells leave at once until there are none; None if the equalities no longer hold."""
    cells = np.flatnonzero(free)
    while len(cells):
        y, multipliers = _on(H, b, A, a, cells)
        if (y > 0).all():
            x = np.zeros(len(b))
            x[cells] = y
            return (x, multipliers) if np.allclose(A @ x, a, rtol=0, atol=1e-10) else None
        cells = cells[y > 0]
    return None


def _drop_one_by_one(
    H: Array, b: Array, A: Array, a: Array, x: Array, free: npt.NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Go from x towards the minimiser until a cell is zero, let it leave, and so on: the value never rises."""
    x, cells = x.copy(), np.flatnonzero(free)
    while True:
        y, multipliers = _on(H, b, A, a, cells)
        if (y > 0).all():
            x[cells] = y
            return x, multipliers
        now = x[cells]
        falling = y <= 0
        steps = np.where(falling, now / np.where(falling, np.maximum(now - y, 1e-300), 1.0), np.inf)
        x[cells] = np.where(steps <= steps.min(), 0.0, now + steps.min() * (y - now))
        cells = cells[steps > steps.min()]
