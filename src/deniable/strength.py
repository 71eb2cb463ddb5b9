"""How strongly two features go together, and whether they do at all. Tables of shares stand in the last two axes.

With D = (p - r c) / sqrt(r c) for cells p and margins r and c, phi^2 = |D|^2 measures the association, and Cramer's V
is sqrt(phi^2 / (k - 1)) with k the smaller number of answers. The noise makes |D|^2 too large by tr Cov(D), which is
taken off. Its law is that of s chi^2 with nu degrees of freedom and noncentrality phi^2 / s, where s is the variance
of D in its own direction, and s nu = tr Cov(D): it has the right mean, and the right variance where the association
is strong. Mutual information is phi^2 / 2 where the association is weak; there it has the same bias.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.structure import Array

HALVINGS = 100


@dataclass(frozen=True, eq=False)
class StrengthLaw:
    """Confidence in what phi^2 is: that it is at most x, and what it is at most; as V or as mutual information.

    `found` is |D|^2 as it was found, `bias` what the noise adds to it, and `spread` the variance in its own direction.
    """

    found: Any
    bias: Any
    spread: Any
    v: Any  # k - 1 for V, or 0 for mutual information

    how = "noncentral chi-square"

    @property
    def value(self) -> Any:
        """With the bias taken off."""
        return self._shown(np.maximum(self.found - self.bias, 0))

    @property
    def stderr(self) -> Any:
        """By the delta method, at the value that was found."""
        slope = 1 / np.sqrt(self.v) if self.v else np.sqrt(self.found)
        return slope * np.sqrt(self.spread)

    def cdf(self, x: npt.ArrayLike) -> Any:
        """The confidence that it is at most x."""
        x = np.asarray(x, np.float64)
        return np.where(x < 0, 0.0, self._confidence(x**2 * self.v if self.v else 2 * x))

    def ppf(self, q: npt.ArrayLike) -> Any:
        """What it is at most with confidence q."""
        q = np.asarray(q, np.float64)
        low = np.zeros(np.broadcast_shapes(np.shape(self.found), q.shape))
        high = low + 4 * self.found + 100 * self.spread + 4 * self.bias
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            above = self._confidence(middle) >= q
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return self._shown(np.where(self._confidence(0 * low) >= q, 0.0, high))

    def _confidence(self, square: Any) -> Any:
        from scipy.special import chndtr

        return 1 - chndtr(self.found / self.spread, self.bias / self.spread, square / self.spread)

    def _shown(self, square: Any) -> Any:
        return np.sqrt(square / self.v) if self.v else square / 2


def strength(p: Array, covariance: Array, *, mutual: bool = False) -> tuple[StrengthLaw, Array]:
    """The law of Cramer's V, or of mutual information, and the gradient of its square; nan if a margin is not positive.

    The covariance is of the cells, in C order.
    """
    rows, columns = p.shape[-2:]
    r, c = _margins(p)
    expected = r[..., :, None] * c[..., None, :]
    expected = np.where(expected > 0, expected, np.nan)
    d = ((p - expected) / np.sqrt(expected)).reshape(*p.shape[:-2], -1)
    jacobian = _deviation(p, r, c) / np.sqrt(expected).reshape(*d.shape, 1)
    jacobian = jacobian - d[..., :, None] / 2 * (
        _rows(rows, columns) / _spread(r, columns) + _columns(rows, columns) / _spread(c, rows, inner=True)
    )
    bias = np.einsum("...ai,...ij,...aj->...", jacobian, covariance, jacobian)
    if mutual:
        proper = np.maximum(p, 0) / np.maximum(p, 0).sum(axis=(-2, -1), keepdims=True)
        r, c = _margins(proper)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(proper > 0, np.log(proper / (r[..., :, None] * c[..., None, :])), 0)
        found = 2 * (proper * logs).sum(axis=(-2, -1))
        gradient = 2 * logs.reshape(d.shape)
    else:
        found = (d**2).sum(axis=-1)
        gradient = 2 * np.einsum("...a,...ai->...i", d, jacobian)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.einsum("...i,...ij,...j->...", gradient, covariance, gradient) / (4 * found)
    spread = np.where(spread > 0, spread, np.nan)
    return StrengthLaw(found, bias, spread, 0 if mutual else min(rows, columns) - 1), gradient


def wald(p: Array, covariance: Array) -> tuple[Array, int]:
    """The statistic of a test of independence, and its degrees of freedom; the covariance is that at independence."""
    rows, columns = p.shape[-2:]
    r, c = _margins(p)
    kept = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
    x = (p - r[..., :, None] * c[..., None, :]).reshape(*p.shape[:-2], -1)[..., kept]
    jacobian = _deviation(p, r, c)[..., kept, :]
    square = jacobian @ covariance @ np.swapaxes(jacobian, -1, -2)
    try:
        statistic = (x[..., None, :] @ np.linalg.solve(square, x[..., None]))[..., 0, 0]
    except np.linalg.LinAlgError:
        statistic = np.full(x.shape[:-1], np.nan)
    return np.where(statistic >= 0, statistic, np.nan), len(kept)


def _margins(p: Array) -> tuple[Array, Array]:
    return p.sum(axis=-1), p.sum(axis=-2)


def _deviation(p: Array, r: Array, c: Array) -> Array:
    """How p - r c moves with the cells: e_ij - c_j (row i) - r_i (column j)."""
    rows, columns = p.shape[-2:]
    flat = (*p.shape[:-2], rows * columns, 1)
    of_c = np.broadcast_to(c[..., None, :], p.shape).reshape(flat)
    of_r = np.broadcast_to(r[..., :, None], p.shape).reshape(flat)
    return np.asarray(np.eye(rows * columns) - of_c * _rows(rows, columns) - of_r * _columns(rows, columns))


def _rows(rows: int, columns: int) -> Array:
    """Which cells are in the same row."""
    return np.asarray(np.kron(np.eye(rows), np.ones((columns, columns))), np.float64)


def _columns(rows: int, columns: int) -> Array:
    """Which cells are in the same column."""
    return np.asarray(np.kron(np.ones((rows, rows)), np.eye(columns)), np.float64)


def _spread(margin: Array, times: int, *, inner: bool = False) -> Array:
    """A margin repeated for all cells, as a column."""
    return (np.tile(margin, times) if inner else np.repeat(margin, times, axis=-1))[..., None]
