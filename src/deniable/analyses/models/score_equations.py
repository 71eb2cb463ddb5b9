"""The score equations of a logistic regression on a table of shares, and their solution by Newton's method."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.inference.one_feature import Array

# Newton's method takes at most so many steps.
STEPS = 60
# A step is halved at most so often.
HALVINGS = 30
# Scores, in shares, below this are zero.
SOLVED = 1e-11
# Log odds beyond this are taken as infinite: an answer decides the outcome.
DECIDED = 12.0
# The equations are not solved beyond log odds, and intervals of coefficients not searched for, farther away than this.
FARTHEST = 2 * DECIDED


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a table, in C order: the outcome of each, its regressors, and their names."""

    y: Array
    x: Array
    terms: tuple[str, ...]

    def chances(self, b: Array) -> Array:
        """The probability of the outcome in each cell, by the model."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.x @ b, -700, 700))))

    def score(self, f: Array, b: Array) -> Array:
        """The score equations at b, which are zero at the solution."""
        return np.asarray(self.x.T @ (f * (self.y - self.chances(b))))

    def information(self, f: Array, b: Array) -> Array:
        """The matrix A: how the score falls with b."""
        s = self.chances(b)
        return np.asarray((self.x * (f * s * (1 - s))[:, None]).T @ self.x)


def first_guess(cells: Cells, f: Array) -> Array:
    """Where Newton's method starts: the outcome is equally likely for everybody."""
    share, everybody = float(cells.y @ f), float(f.sum())
    b = np.zeros(cells.x.shape[1])
    b[0] = np.log(share / (everybody - share)) if 0 < share < everybody else 0.0
    return b


def solved(cells: Cells, f: Array, start: Array, free: npt.NDArray[np.bool_]) -> Array | None:
    """The solution of the score equations for the free coefficients, the others staying; nothing if none is near."""
    b, free_cells = start.copy(), np.ix_(free, free)
    score = cells.score(f, b)[free]
    for _ in range(STEPS):
        if not free.any() or np.abs(score).max() < SOLVED:
            return b
        try:
            step = np.zeros(len(b))
            step[free] = np.linalg.solve(cells.information(f, b)[free_cells], score)
        except np.linalg.LinAlgError:
            return None
        for _ in range(HALVINGS):
            after = cells.score(f, b + step)[free]
            if np.abs(after).sum() < np.abs(score).sum():
                break
            step = step / 2
        else:
            return None
        b, score = b + step, after
        if np.abs(cells.x @ b).max() > 2 * FARTHEST:
            return None
    return None
