"""The strength of association of two features, and a test of their independence, for many tables of shares at once.

Tables stand in the last two axes. With D = (p - r c) / sqrt(r c) for cells p and margins r and c, phi^2 = |D|^2
measures the association, and Cramer's V is sqrt(phi^2 / (k - 1)) with k the smaller number of answers. D is nearly
normal with a covariance S, so |D|^2 is a weighted sum of noncentral chi-squares, the weights being the eigenvalues of
S. Its mean is phi^2 + tr S, and its variance 2 tr S^2 + 4 D'SD, D without noise. It is taken as a scaled noncentral
chi-square with that mean and that variance (Satterthwaite), at every phi^2 that may be true.

Twice the mutual information, which is phi^2 where the association is weak, has a distribution of the same kind; its
bias is that of its second derivatives, which divide by every cell. Whether there is any association is for Wald's test
to say, which weighs each direction of D by its own precision; intervals leave zero out exactly where it does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.inference.one_feature import Array
from deniable.inference.ratios import SURELY_POSITIVE

# Bisection for a quantile takes this many steps.
HALVINGS = 45
# A squared strength below this is rounding.
ROUNDING = 1e-14
# The part of the lower tail that an interval spends at a strength is judged this many standard deviations below the
# mean that |D|^2 has there.
BELOW = 1.0
# A |D|^2 that is further below its mean than so many standard deviations is taken as if it were not.
FURTHEST = 6.0

Moves = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class WaldTest:
    """Wald's test of independence: its statistic W, chi-square with these degrees of freedom, for each table.

    `unit` is the phi^2 that the statistic is worth: by Scheffe's bound phi^2 is above unit (sqrt W - sqrt c)^2 if W is
    above c, surely so with the confidence that a chi-square is below c.
    """

    statistic: Any
    degrees: Any
    unit: Any

    @property
    def p_value(self) -> Any:
        """The p-value of independence."""
        from scipy.special import chdtrc

        return chdtrc(self.degrees, self.statistic)

    def at(self, some: npt.NDArray[np.bool_]) -> "WaldTest":
        """The tests of some of many tables."""
        every = (np.broadcast_to(part, some.shape)[some] for part in (self.statistic, self.degrees, self.unit))
        return WaldTest(*every)

    def least(self, alpha: Any) -> Any:
        """The phi^2 that is left at this level of significance: above zero exactly if independence is rejected."""
        from scipy.special import chdtri

        over = np.sqrt(self.statistic) - np.sqrt(chdtri(self.degrees, alpha))
        return np.where(self.p_value >= alpha, 0.0, self.unit * np.maximum(over, 0) ** 2)


@dataclass(frozen=True, eq=False, repr=False)
class AssociationDistribution:
    """The confidence distribution of Cramer's V or of mutual information, from noncentral chi-squares.

    `found` is |D|^2 as it was found, `bias` = tr S what the noise adds to it, and `square` = tr S^2. `first` and
    `second` are D'SD and D'S^2D, D as it was found. `test` is Wald's, which says whether there is any association.
    `limits` and `p_value` agree with it; `pdf`, `cdf` and `ppf` are of the noncentral chi-squares alone, for pictures.
    """

    found: Any
    bias: Any
    square: Any
    first: Any
    second: Any
    test: WaldTest
    scale: int  # V^2 is phi^2 / scale; 0 stands for mutual information, which is phi^2 / 2

    how = "noncentral chi-square"

    @property
    def value(self) -> Any:
        """The strength with the bias taken off, but no less than Wald's test leaves at a significance of one half."""
        return self._shown(np.maximum(self.found - self.bias, self.test.least(0.5)))

    @property
    def known(self) -> Any:
        """The strength as it was found, for tables without any noise to take off."""
        return self._shown(np.maximum(self.found, 0))

    @property
    def stderr(self) -> Any:
        """The standard error, by the delta method at the value that was found."""
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(self.found > ROUNDING, self.first / self.found, self.square / self.bias)  # what it tends to
            slope = 1 / np.sqrt(self.scale) if self.scale else np.sqrt(self.found)
            return (slope * np.sqrt(own))[()]

    @property
    def p_value(self) -> Any:
        """The p-value of no association: intervals of a level above 1 - p_value, and no others, begin at zero."""
        return self.test.p_value

    def limits(self, level: Any, least: float = 0.0, most: float = inf) -> tuple[Any, Any]:
        """The ends of the confidence interval, within the least and the most that the strength can be.

        There is one level for all tables, or one for each. The interval begins at zero exactly if Wald's test does not
        reject independence at 1 - level. Its upper end is a quantile of the part of the confidence distribution above
        zero, so that it is never at zero. As long as that leaves the upper tail unspent, the lower end has all of
        1 - level.
        """
        alpha = 1 - level
        at_zero = self._below(0.0, self._seen)
        high = self._search(self._most, lambda square: self._below(square, self._seen) >= alpha / 2 * at_zero)
        low = np.where(np.isnan(self.p_value), np.nan, self.test.least(alpha))
        if (sure := np.asarray(self.p_value < alpha)).any():
            own = np.broadcast_to(alpha, sure.shape)[sure]
            low[sure] = np.maximum(low[sure], self.at(sure)._lower(own))
        return np.clip(self._shown(low), least, most), np.clip(self._shown(high), least, most)

    def _lower(self, alpha: Any) -> Any:
        """The phi^2 up to which |D|^2 is too large."""

        def left(square: Any) -> Any:
            return alpha * (1 - self._below(0.0, self._quantile(square, BELOW)) / 2)

        return self._search(self.found, lambda square: self._below(square, self.found) > 1 - left(square))

    def at(self, some: npt.NDArray[np.bool_]) -> "AssociationDistribution":
        """The distributions for some of many tables."""
        every = (self.found, self.bias, self.square, self.first, self.second)
        found, bias, square, first, second = (np.broadcast_to(part, some.shape)[some] for part in every)
        return AssociationDistribution(found, bias, square, first, second, self.test.at(some), self.scale)

    def cdf(self, x: npt.ArrayLike) -> Any:
        """The confidence that the strength is at most x."""
        x = np.asarray(x, np.float64)
        return np.where(x < 0, 0.0, 1 - self._below(self._square(np.maximum(x, 0)), self.found))[()]

    def pdf(self, x: npt.ArrayLike) -> Any:
        """The density of the confidence distribution at x, without the point mass that it has at zero."""
        x = np.asarray(x, np.float64)
        step = 1e-4 * self._shown(self.found + self.bias)
        least = np.maximum(x - step, 0)
        return np.where(x < 0, 0.0, (self.cdf(x + step) - self.cdf(least)) / (x + step - least))[()]

    def ppf(self, q: npt.ArrayLike) -> Any:
        """The quantile of the confidence distribution: what the strength is at most with confidence q."""
        q = np.asarray(q, np.float64)
        q = np.where((q > 0) & (q < 1), q, np.nan)
        square = self._search(self._most + 0 * q, lambda square: 1 - self._below(square, self.found) < q)
        at_zero = 1 - self._below(0.0, self.found) >= q
        return np.where(np.isnan(q), np.nan, self._shown(np.where(at_zero, 0.0, square)))[()]

    @property
    def _most(self) -> Any:
        """A phi^2 above all that may be asked for."""
        return 4 * (self.found + self.bias) + 100 * np.maximum(self._slope, self.square / self.bias)

    @property
    def _slope(self) -> Any:
        """How fast D'SD grows with phi^2, if D becomes longer the way it most easily does: D'S^2D over D'SD."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.found > ROUNDING, self.second / self.first, self.square / self.bias)

    @property
    def _seen(self) -> Any:
        """What was found, but no further below its mean than FURTHEST: there its distribution is rounding."""
        return np.maximum(self.found, np.maximum(self._quantile(0.0, FURTHEST), 1e-8 * self.bias))

    def _variance(self, square: Any) -> Any:
        """The variance that |D|^2 has if phi^2 is this: 2 tr S^2 + 4 D'SD, for the likeliest D of that length.

        What was found has the expectation D'SD + tr S^2 where its length has phi^2 + tr S.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(self.found > ROUNDING, self.first / self.found, self.square / self.bias)
            moved = self.first + (square + self.bias - self.found) * self._slope
            return np.maximum(4 * moved - 2 * self.square, 2 * self.square + 4 * square * own**2 / self._slope)

    def _below(self, square: Any, found: Any) -> Any:
        """The probability that |D|^2 is below what was found, if phi^2 is this."""
        from scipy.special import chndtr

        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scale = self._variance(square) / (2 * self.bias + 4 * square)
            return chndtr(found / scale, self.bias / scale, square / scale)

    def _quantile(self, square: Any, deviations: float) -> Any:
        """The |D|^2 that is so many standard deviations below its mean, as it were normal (Wilson and Hilferty)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = square + self.bias
            ninth = self._variance(square) / mean**2 / 9
            return mean * np.maximum(1 - ninth - deviations * np.sqrt(ninth), 0) ** 3

    @staticmethod
    def _search(most: Any, below: Any) -> Any:
        """The square up to which `below` holds, by bisection from zero; nan where there is none."""
        low, high = np.zeros_like(most), most
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            under = below(middle)
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return high

    def _shown(self, square: Any) -> Any:
        return np.sqrt(square / self.scale) if self.scale else square / 2

    def _square(self, shown: Any) -> Any:
        return shown**2 * self.scale if self.scale else 2 * shown


def strength(
    p: Array, covariance: Array, *, mutual: bool = False, test: WaldTest | None = None
) -> tuple[AssociationDistribution, Array]:
    """The confidence distribution of Cramer's V, or of mutual information, and the gradient of its square.

    The covariance is of the cells, in C order. All is nan if a margin is not positive. Without Wald's test, as where
    something is known beforehand, the distribution of |D|^2 itself is the test.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # of an answer that nobody gave
        if mutual:
            found, half, moves = _twice_information(p)
            product = _moved(np.swapaxes(covariance, -1, -2), [move[..., None, :, :] for move in moves])
        else:
            found, half, moves = _squared_deviations(p)
            product = _both_ways(covariance, moves)
        bias = np.trace(product, axis1=-2, axis2=-1)
        square = np.einsum("...ij,...ji->...", product, product)
        reach = np.einsum("...ij,...j->...i", covariance, half)
        first = np.einsum("...i,...i->...", half, reach)
        moved = _moved(reach, moves)
        second = np.einsum("...i,...i->...", moved, reach if mutual else moved)
        first = np.where((first > 0) | (found <= ROUNDING), first, np.nan)
        if test is None:
            test = WaldTest(found * bias / square, bias**2 / square, square / bias)
    scale = 0 if mutual else min(p.shape[-2:]) - 1
    return AssociationDistribution(found, bias, square, first, second, test, scale), 2 * half


def _squared_deviations(p: Array) -> tuple[Array, Array, Moves]:
    """Pearson's phi^2 = |D|^2, half its gradient, D' dD, and how D moves with the cells."""
    r, c, expected = _expected(p)
    root = np.sqrt(expected)
    d = (p - expected) / root
    moves = 1 / root, c / root + d / (2 * r), r / root + d / (2 * c)
    weighted = [move * d for move in moves]
    half = weighted[0] - weighted[1].sum(axis=-1, keepdims=True) - weighted[2].sum(axis=-2, keepdims=True)
    return (d**2).sum(axis=(-2, -1)), half.reshape(*p.shape[:-2], -1), moves


def _twice_information(p: Array) -> tuple[Array, Array, Moves]:
    """Twice the mutual information, 2 sum p log(p / r c), half its gradient, log(p / r c) - 1, and how that moves.

    Its second derivatives by two cells are 2 / p, -2 / r and -2 / c if they are in the same place, row and column.
    """
    p = np.where(np.abs(p) <= ROUNDING, 0.0, p)  # of a cell that is known to be empty, rounding may be left
    r, c, expected = _expected(p)
    logs = np.log(np.where(p > 0, p, np.nan) / expected)
    found = 2 * np.where(p == 0, 0.0, p * logs).sum(axis=(-2, -1))
    return found, (logs - 1).reshape(*p.shape[:-2], -1), (1 / p, 1 / r + 0 * p, 1 / c + 0 * p)


def divisors_positive(p: Array, covariance: Array, *, cells: bool) -> npt.NDArray[np.bool_]:
    """Whether all margins, which are divided by, are SURELY_POSITIVE standard errors above zero; or all cells."""
    by_cell = _by_cell(p, covariance)
    shares = {"...ijij->...ij": p} if cells else {"...ijil->...i": p.sum(axis=-1), "...ijkj->...j": p.sum(axis=-2)}
    surely = [
        share > SURELY_POSITIVE * np.sqrt(np.maximum(np.einsum(same, by_cell), 0)) for same, share in shares.items()
    ]
    return np.asarray(np.concatenate([each.reshape(*p.shape[:-2], -1) for each in surely], axis=-1).all(axis=-1))


def wald(p: Array, covariance: Array) -> WaldTest:
    """Wald's test of independence; its statistic is nan where there is none.

    The covariance is that of the cells if the features are independent.
    """
    rows, columns = p.shape[-2:]
    r, c = _margins(p)
    kept = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
    x, square = _deviations(p, covariance, kept)
    try:
        solved = np.asarray(np.linalg.solve(square, x[..., None])[..., 0], np.float64)
    except np.linalg.LinAlgError:  # one of them has no test
        if p.ndim == 2:
            return WaldTest(np.asarray(np.nan), len(kept), np.asarray(np.nan))
        each = [wald(*one) for one in zip(p, covariance, strict=True)]
        return WaldTest(np.array([one.statistic for one in each]), len(kept), np.array([one.unit for one in each]))
    statistic = np.einsum("...i,...i->...", x, solved)
    statistic = np.where(statistic >= 0, statistic, np.nan)
    return WaldTest(statistic, len(kept), _unit(statistic, solved.reshape(*p.shape[:-2], rows - 1, -1), r, c))


def stratified(tables: Sequence[tuple[float, Array, Array]]) -> WaldTest:
    """Wald's test of independence within each of several groups, as Cochran's, Mantel's and Haenszel's is.

    Each group has a weight, its cells' shares, and their covariance if the features are independent in it. Tested is
    whether the weighted sum of deviations p - r c is zero, so that groups that differ in their margins alone are
    independent, though their mixture is not. The test has no unit: it is not one of a mixture's phi^2.
    """
    rows, columns = tables[0][1].shape
    kept = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
    each = [(weight, *_deviations(p, covariance, kept)) for weight, p, covariance in tables]
    x = np.asarray(sum(weight * own for weight, own, _ in each))
    square = np.asarray(sum(weight**2 * own for weight, _, own in each))
    try:
        statistic = float(x @ np.linalg.solve(square, x))
    except np.linalg.LinAlgError:
        statistic = np.nan
    return WaldTest(np.asarray(statistic if statistic >= 0 else np.nan), len(kept), np.asarray(np.nan))


def _deviations(p: Array, covariance: Array, kept: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """The deviations p - r c of some cells from independence, and their covariance."""
    r, c = _margins(p)
    x = (p - r * c).reshape(*p.shape[:-2], -1)[..., kept]
    return x, _both_ways(covariance, (np.ones_like(p), c, r))[..., kept[:, None], kept]


def _unit(statistic: Array, solved: Array, r: Array, c: Array) -> Array:
    """The phi^2 that Wald's statistic x'G^-1 x is worth: x'G^-1 x over y'(A x B)y, y = G^-1 x, by Cauchy and Schwarz.

    A = diag r - r r' and B = diag c - c c', without the last answers: phi^2 is x'(A x B)^-1 x.
    """
    weighted = solved
    for share, axis in ((r[..., :-1, :], -2), (c[..., :, :-1], -1)):
        weighted = share * weighted
        weighted = weighted - share * weighted.sum(axis=axis, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(statistic > 0, statistic / (solved * weighted).sum(axis=(-2, -1)), 0.0)


def _both_ways(covariance: Array, moves: Moves) -> Array:
    """The delta method's J Cov J', if each number moves with its cell and against its row and column by so much.

    Deviations p - r c move by 1 with their cell, by c with their row and by r with their column.
    """
    for _ in range(2):
        covariance = _moved(np.swapaxes(covariance, -1, -2), tuple(move[..., None, :, :] for move in moves))
    return covariance


def _moved(cells: Array, moves: Sequence[Array]) -> Array:
    """J x for cells x in the last axis, in C order."""
    own, row, column = moves
    table = cells.reshape(*cells.shape[:-1], *own.shape[-2:])
    table = own * table - row * table.sum(axis=-1, keepdims=True) - column * table.sum(axis=-2, keepdims=True)
    return np.asarray(table.reshape(*table.shape[:-2], -1))


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
