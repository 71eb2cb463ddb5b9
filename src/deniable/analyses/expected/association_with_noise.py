"""The association of two features as a survey will find it: the guess, with as much noise as a survey typically has.

Strengths of association are squared distances, which noise makes larger on average; estimates take that off again. A
table without any noise would be corrected for noise that it does not have. With y = (p - r c) / sqrt(r c) the guess p's
deviations from independence, S the covariance of their estimate, lambda_i and u_i its eigenvalues and eigenvectors,

    y* = sum_i sign(u_i'y) sqrt((u_i'y)^2 + lambda_i) u_i

is a table of the survey's mean squares: |y*|^2 = |y|^2 + tr S, y*'S y* = y'S y + tr S^2, and y*'S^-1 y* = y'S^-1 y plus
the degrees of freedom, which are the expectations of what is found.
"""

import numpy as np

from deniable.inference.one_feature import Array


def with_typical_noise(shares: Array, covariance: Array) -> Array:
    """A table of two features with the same margins that is as far from independence as a survey's will be.

    `shares` are the guess, and `covariance` is that of all cells' estimates, in C order.
    """
    r, c = shares.sum(axis=1), shares.sum(axis=0)
    expected = np.outer(r, c)
    root = np.sqrt(expected).reshape(-1)
    scale = np.divide(1, root, out=np.zeros_like(root), where=root > 0)
    moves = _by_cells(r, c)
    values, vectors = np.linalg.eigh(scale[:, None] * (moves @ covariance @ moves.T) * scale)
    apart = vectors.T @ (scale * (shares - expected).reshape(-1))
    found = np.copysign(np.sqrt(apart**2 + np.maximum(values, 0)), apart)
    return np.asarray(expected + (root * (vectors @ found)).reshape(shares.shape))


def _by_cells(r: Array, c: Array) -> Array:
    """The derivatives of the deviations p - r c by the cells p."""
    same_row = np.kron(np.eye(len(r)), np.ones((len(c), len(c))))
    same_column = np.kron(np.ones((len(r), len(r))), np.eye(len(c)))
    return (
        np.eye(len(r) * len(c)) - np.tile(c, len(r))[:, None] * same_row - np.repeat(r, len(c))[:, None] * same_column
    )


def strengths(shares: Array) -> tuple[float, float]:
    """Cramer's V and the mutual information of a table of two features that is known; nan if nobody gave an answer."""
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        square = ((shares - expected) ** 2 / expected).sum() / (min(shares.shape) - 1)
        logs = np.where(shares > 0, np.log(shares / expected), 0.0)
    return float(np.sqrt(square)), float((shares * logs).sum())
