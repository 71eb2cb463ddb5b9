"""Linear equalities that a proper table must obey: which cells they leave open, and some table that obeys them."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.errors import EstimateError
from deniable.inference.one_feature import Array

# What is known must hold to this, in shares.
EXACT = 1e-9

Equality = tuple[str, Array, float]  # in words, weights over cells, and what they sum to, in shares


def equations(cells: int, equalities: Sequence[Equality]) -> tuple[Array, Array]:
    """The constraints A t = a of all that is known, beginning with the sum."""
    A = np.array([np.ones(cells), *(weights.reshape(-1) for _, weights, _ in equalities)])
    return A, np.array([1.0, *(value for _, _, value in equalities)])


def possible_cells(A: Array, a: Array) -> npt.NDArray[np.bool_]:
    """Which cells need not be zero: weights that are nowhere below what they sum to exclude all that are above it."""
    possible = np.ones(A.shape[1], bool)
    changed = True
    while changed:
        before = possible.sum()
        for weights, value in zip(A[1:], a[1:], strict=True):
            above = weights - value
            for side in (above, -above):
                if (side[possible] >= -EXACT).all():
                    possible &= side <= EXACT
        changed = possible.sum() < before
    return possible


def start_of(A: Array, a: Array, equalities: Sequence[Equality]) -> Array:
    """Some proper table for which all equalities hold; if there is none, the first that does not fit is named."""
    from scipy.optimize import nnls

    sizes = np.maximum(np.abs(A).max(axis=1), 1e-300)

    def closest(rows: int) -> tuple[Array, float]:
        x, distance = nnls(A[:rows] / sizes[:rows, None], a[:rows] / sizes[:rows], maxiter=30 * A.shape[1])
        return x, float(distance)

    if len(a) == 1:
        return np.full(A.shape[1], 1 / A.shape[1])
    x, distance = closest(len(a))
    if distance > EXACT:
        rows = next(rows for rows in range(1, len(a) + 1) if closest(rows)[1] > EXACT)
        raise EstimateError(f"{equalities[rows - 2][0]}: there is no proper table for this, with what else is known")
    return x
