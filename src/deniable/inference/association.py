"""The strength of association of two features, and a test of their independence, for many tables of shares at once.

Tables stand in the last two axes. With D = (p - r c) / sqrt(r c) for cells p and margins r and c, phi^2 = |D|^2
measures the association, and Cramer's V is sqrt(phi^2 / (k - 1)) with k the smaller number of answers. The noise makes
|D|^2 too large by tr Cov(D), which is taken off. Its distribution is that of s times a noncentral chi-square with nu
degrees of freedom and noncentrality phi^2 / s, where s is the variance of D in its own direction, and s nu = tr Cov(D):
it has the right mean, and the right variance where the association is strong. Twice the mutual information, which is
phi^2 where the association is weak, has a distribution of the same kind; its bias is that of its second derivatives,
which divide by every cell.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.inference.one_feature import Array
from deniable.inference.ratios import SURELY_POSITIVE

# Bisection for a quantile takes this many steps.
HALVINGS = 60
# A squared strength below this is rounding.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False, repr=False)
class AssociationDistribution:
    """The confidence distribution of Cramer's V or of mutual information: a scaled noncentral chi-square.

    `found` is |D|^2 as it was found, `bias` what the noise adds to it, and `spread` the variance in its own direction.
    """

    found: Any
    bias: Any
    spread: Any
    scale: int  # V^2 is phi^2 / scale; 0 stands for mutual information, which is phi^2 / 2

    how = "noncentral chi-square"

    @property
    def value(self) -> Any:
        """The strength with the bias taken off; zero if the bias is larger."""
        return self._shown(np.maximum(self.found - self.bias, 0))

    @property
    def known(self) -> Any:
        """The strength as it was found, for tables without any noise to take off."""
        return self._shown(np.maximum(self.found, 0))

    @property
    def stderr(self) -> Any:
        """The standard error, by the delta method at the value that was found."""
        with np.errstate(invalid="ignore"):
            slope = 1 / np.sqrt(self.scale) if self.scale else np.sqrt(self.found)
            return slope * np.sqrt(self.spread)

    def cdf(self, x: npt.ArrayLike) -> Any:
        """The confidence that the strength is at most x."""
        x = np.asarray(x, np.float64)
        return np.where(x < 0, 0.0, self._confidence(self._square(np.maximum(x, 0))))[()]

    def pdf(self, x: npt.ArrayLike) -> Any:
        """The density of the confidence distribution at x, without the point mass that it has at zero."""
        from scipy.special import chndtr

        x = np.asarray(x, np.float64)
        found, df, nc = self.found / self.spread, self.bias / self.spread, self._square(np.maximum(x, 0)) / self.spread
        density = (chndtr(found, df, nc) - chndtr(found, df + 2, nc)) / 2 / self.spread
        return np.where(x < 0, 0.0, density * (2 * x * self.scale if self.scale else 2.0))[()]

    def ppf(self, q: npt.ArrayLike) -> Any:
        """The quantile of the confidence distribution: what the strength is at most with confidence q."""
        q = np.asarray(q, np.float64)
        q = np.where((q > 0) & (q < 1), q, np.nan)
        low = np.zeros(np.broadcast_shapes(np.shape(self.found), q.shape))
        high = low + 4 * self.found + 100 * self.spread + 4 * self.bias
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            above = self._confidence(middle) >= q
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        ends = self._shown(np.where(self._confidence(np.zeros_like(low)) >= q, 0.0, high))
        return np.where(np.isnan(q), np.nan, ends)[()]

    def _confidence(self, square: Any) -> Any:
        from scipy.special import chndtr

        with np.errstate(invalid="ignore", over="ignore"):
            return 1 - chndtr(self.found / self.spread, self.bias / self.spread, square / self.spread)

    def _shown(self, square: Any) -> Any:
        return np.sqrt(square / self.scale) if self.scale else square / 2

    def _square(self, shown: Any) -> Any:
        return shown**2 * self.scale if self.scale else 2 * shown


def strength(p: Array, covariance: Array, *, mutual: bool = False) -> tuple[AssociationDistribution, Array]:
    """The confidence distribution of Cramer's V, or of mutual information, and the gradient of its square.

    The covariance is of the cells, in C order. All is nan if a margin is not positive.
    """
    rows, columns = p.shape[-2:]
    with np.errstate(divide="ignore", invalid="ignore"):  # of an answer that nobody gave
        found, bias, gradient = (_twice_information if mutual else _squared_deviations)(p, covariance)
        spread = np.einsum("...i,...ij,...j->...", gradient, covariance, gradient) / (4 * found)
        spread = np.where(found > ROUNDING, spread, bias / ((rows - 1) * (columns - 1)))  # what it tends to
    spread = np.where(spread > 0, spread, np.nan)
    return AssociationDistribution(found, bias, spread, 0 if mutual else min(rows, columns) - 1), gradient


def _squared_deviations(p: Array, covariance: Array) -> tuple[Array, Array, Array]:
    """Pearson's phi^2 = |D|^2, its bias tr Cov(D), and its gradient 2 D' dD."""
    r, c, expected = _expected(p)
    root = np.sqrt(expected)
    d = (p - expected) / root
    moves = 1 / root, c / root + d / (2 * r), r / root + d / (2 * c)
    bias = np.trace(_both_ways(covariance, moves), axis1=-2, axis2=-1)
    weighted = [move * d for move in moves]
    gradient = weighted[0] - weighted[1].sum(axis=-1, keepdims=True) - weighted[2].sum(axis=-2, keepdims=True)
    return (d**2).sum(axis=(-2, -1)), bias, 2 * gradient.reshape(*p.shape[:-2], -1)


def _twice_information(p: Array, covariance: Array) -> tuple[Array, Array, Array]:
    """Twice the mutual information, 2 sum p log(p / r c), its bias, and its gradient 2 (log(p / r c) - 1).

    Its second derivatives by two cells are 2 / p, -2 / r and -2 / c if they are in the same place, row and column.
    """
    p = np.where(np.abs(p) <= ROUNDING, 0.0, p)  # of a cell that is known to be empty, rounding may be left
    r, c, expected = _expected(p)
    logs = np.log(np.where(p > 0, p, np.nan) / expected)
    found = 2 * np.where(p == 0, 0.0, p * logs).sum(axis=(-2, -1))
    by_cell = _by_cell(p, covariance)
    in_place, in_row, in_column = (np.einsum(f"{same}->...ij", by_cell) for same in ("...ijij", "...ijil", "...ijkj"))
    bias = (in_place / p - in_row / r - in_column / c).sum(axis=(-2, -1))
    return found, bias, 2 * (logs - 1).reshape(*p.shape[:-2], -1)


def divisors_positive(p: Array, covariance: Array, *, cells: bool) -> npt.NDArray[np.bool_]:
    """Whether all margins, which are divided by, are SURELY_POSITIVE standard errors above zero; or all cells."""
    by_cell = _by_cell(p, covariance)
    shares = {"...ijij->...ij": p} if cells else {"...ijil->...i": p.sum(axis=-1), "...ijkj->...j": p.sum(axis=-2)}
    surely = [
        share > SURELY_POSITIVE * np.sqrt(np.maximum(np.einsum(same, by_cell), 0)) for same, share in shares.items()
    ]
    return np.asarray(np.concatenate([each.reshape(*p.shape[:-2], -1) for each in surely], axis=-1).all(axis=-1))


def wald(p: Array, covariance: Array) -> tuple[Array, int]:
    """Wald's statistic of a test of independence, and its degrees of freedom.

    The covariance is that of the cells if the features are independent.
    """
    rows, columns = p.shape[-2:]
    r, c = _margins(p)
    kept = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
    x = (p - r * c).reshape(*p.shape[:-2], -1)[..., kept]
    square = _both_ways(covariance, (np.ones_like(p), c, r))[..., kept[:, None], kept]
    try:
        statistic = (x[..., None, :] @ np.linalg.solve(square, x[..., None]))[..., 0, 0]
    except np.linalg.LinAlgError:  # one of them has no test
        if p.ndim == 2:
            return np.asarray(np.nan), len(kept)
        return np.array([wald(*one)[0] for one in zip(p, covariance, strict=True)]), len(kept)
    return np.where(statistic >= 0, statistic, np.nan), len(kept)


def _both_ways(covariance: Array, moves: tuple[Array, Array, Array]) -> Array:
    """The delta method's J Cov J', if each number moves with its cell and against its row and column by so much.

    Deviations p - r c move by 1 with their cell, by c with their row and by r with their column.
    """
    own, row, column = (move[..., None, :, :] for move in moves)
    for _ in range(2):
        table = np.swapaxes(covariance, -1, -2).reshape(*covariance.shape[:-1], *own.shape[-2:])
        table = own * table - row * table.sum(axis=-1, keepdims=True) - column * table.sum(axis=-2, keepdims=True)
        covariance = table.reshape(*table.shape[:-2], -1)
    return covariance


def _by_cell(p: Array, covariance: Array) -> Array:
    """The covariance with axes for the row and the column of one cell, and for those of another."""
    return covariance.reshape(*covariance.shape[:-2], *p.shape[-2:], *p.shape[-2:])


def _margins(p: Array) -> tuple[Array, Array]:
    """The margins of rows and of columns, each shaped to go with the cells."""
    return p.sum(axis=-1, keepdims=True), p.sum(axis=-2, keepdims=True)


def _expected(p: Array) -> tuple[Array, Array, Array]:
    """The margins, and the cells if features were independent; nan where they are not positive."""
    r, c = _margins(p)
    expected = r * c
    return r, c, np.where(expected > 0, expected, np.nan)
