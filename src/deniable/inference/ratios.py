"""Ratios of two smooth functions of a few shares, and their confidence distribution by Fieller.

    conditional share     both / given
    difference            a / b - c / d, over 1
    ratio                 a / b over c / d
    odds ratio            a d over b c
    correlation           (both - a b) over sqrt(a (1 - a) b (1 - b))

Numerator and denominator are taken as normal, with variances by the delta method from exact gradients. Then
top - r bottom is normal for every r, so the ratio is at most r with the probability that it is at most zero (Fieller).
That holds near the ends of what a ratio can be, and where the denominator is not known well: an interval may have no
upper end. Intervals are Fieller's with the corrections of a score interval (`intervals`): with D = top - r bottom, r is
in it if

    (D - k)^2 <= z^2 (V(r) - c D)

where c, k and the steps are those of the error of D, which is a sum over a few products over features. Shares stand in
the last axis, so that many tables are asked at once.
"""

from dataclasses import dataclass, fields, replace
from math import inf, log
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.inference.cumulants import Cumulants
from deniable.inference.intervals import Corrections
from deniable.inference.one_feature import Array
from deniable.inference.trust import LEAST_STEPS

# A sum of products of gradients and covariances below this part of its terms is rounding.
ROUNDING_OF_PRODUCTS = 1e-12
# A variance or a discriminant below this part of its terms is rounding.
ROUNDING = 1e-13
# P-values are found by so many halvings of their logarithm.
HALVINGS = 50
# No p-value below this is told from it.
LEAST_P_VALUE = 1e-12
# What is divided by must be this many standard errors above zero.
SURELY_POSITIVE = 5


@dataclass(frozen=True, eq=False, repr=False)
class RatioDistribution:
    """The confidence distribution of a ratio top / bottom of two normal estimates, by Fieller.

    With a bottom of 1 that does not vary it is the normal distribution of the top. `limits`, and the confidence
    intervals and p-values that rest on them, are corrected for what is known of the `error` of top - r bottom. `pdf`,
    `cdf` and `ppf`, named as those of scipy's frozen distributions, are not: they are Fieller's plain distribution, as
    for a picture, and with few reports or rare answers their quantiles are not the ends of the interval.
    """

    top: Any
    bottom: Any
    of_top: Any  # variance
    of_both: Any  # covariance
    of_bottom: Any  # variance
    error: Cumulants | None = None

    def with_error(self, error: Cumulants) -> "RatioDistribution":
        """The same with the cumulants of the error of top - r bottom at the ratio itself.

        Where next to nothing happened the variance is too small, or below zero; steps say how small it can be.
        Otherwise a result would be refused because of what it is, which keeps the errors of one side. Without steps
        nothing says how large the variance is: if it is below zero there is no interval.
        """
        step = error.squared_step
        short = LEAST_STEPS * step - self._plain_variance(self.value)
        missing = np.where(np.isfinite(short) & (step > 0), np.maximum(short, 0.0), 0.0)
        return replace(self, of_top=self.of_top + missing, error=error)

    def scaled(self, start: float, unit: float) -> "RatioDistribution":
        """The distribution of start + unit times the ratio: of a mean of scores, where the ratio is from 0 to 1."""
        of_both = unit * self.of_both + start * self.of_bottom
        return replace(
            self,
            top=start * self.bottom + unit * self.top,
            of_top=unit**2 * self.of_top + 2 * start * unit * self.of_both + start**2 * self.of_bottom,
            of_both=of_both,
            error=None if self.error is None else self.error.scaled(unit),
        )

    def limits(self, level: Any, least: float = -inf, most: float = inf) -> tuple[Any, Any]:
        """The ends of the confidence interval; `least` or `most` where there is no end because the bottom may be zero.

        These are the least and the most that the ratio can be. Ends are nan if the variance is below zero.
        """
        zero = np.zeros(np.shape(self.top))
        error = Cumulants.normal(zero, zero) if self.error is None else self.error
        fix = Corrections.of(error, level)
        return self._end(fix, -1, least)[()], self._end(fix, 1, most)[()]

    def _end(self, fix: Corrections, side: int, without: float) -> Array:
        """One end of the confidence interval: a root of a r^2 - 2 b r + c, which is at most zero inside."""
        z2, top = fix.z**2, self.top + side * fix.further - fix.k
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            a = self.bottom**2 - z2 * self.of_bottom
            b = top * self.bottom + z2 * (fix.c * self.bottom / 2 - self.of_both)
            c = top**2 + z2 * (fix.c * top - (self.of_top - fix.c * fix.k))
            end = (b + side * np.sqrt(np.maximum(_rounded(b**2 - a * c, b**2 + np.abs(a * c), ROUNDING), 0.0))) / a
        end = np.where(self._plain_variance(self.value) < 0, np.nan, end)
        if not np.isfinite(without):
            return np.where(a > 0, end, without)
        outside = (side < 0) & ((a * without - 2 * b) * without + c > 0) & (b**2 > a * c)
        return np.where((a > 0) | outside, end, without)

    @property
    def value(self) -> Any:
        """The ratio itself."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.divide(self.top, self.bottom)

    @property
    def stderr(self) -> Any:
        """The standard error of the ratio, by the delta method."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sqrt(self._variance(self.value)) / np.abs(self.bottom)

    def variance_at(self, r: Any) -> Any:
        """The variance that the ratio would have if the truth were r, by the delta method."""
        return self._variance(r) / self.bottom**2

    @property
    def how(self) -> str:
        """The method that the quantiles rest on: Fieller's, or the delta method if the bottom does not vary."""
        return "Fieller" if np.any(self.of_bottom) else "delta method"

    def cdf(self, x: npt.ArrayLike) -> Any:
        """The probability that the ratio is at most x, if the bottom is surely above zero."""
        from scipy.special import ndtr

        x = np.asarray(x, np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = (x * self.bottom - self.top) / np.sqrt(self._variance(x))
            ends = np.sign(x) * self.bottom / np.sqrt(self.of_bottom)
        return ndtr(np.where(np.isinf(x), ends, inside))

    def pdf(self, x: npt.ArrayLike) -> Any:
        """The probability density of the ratio at x."""
        x = np.asarray(x, np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = self._variance(x)
            away = x * self.bottom - self.top
            slope = self.bottom - away * (x * self.of_bottom - self.of_both) / variance
            inside = np.exp(-(away**2) / variance / 2) * slope / np.sqrt(2 * np.pi * variance)
        return np.where(np.isinf(x), 0.0, inside)[()]

    def ppf(self, q: npt.ArrayLike) -> Any:
        """The quantile of the ratio at probability q; nan where the bottom may be zero at that level."""
        from scipy.special import ndtri

        z = ndtri(q)
        # (r bottom - top)^2 = z^2 V(top - r bottom), which is a r^2 - 2 b r + c = 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            a = self.bottom**2 - z**2 * self.of_bottom
            b = self.top * self.bottom - z**2 * self.of_both
            c = self.top**2 - z**2 * self.of_top
            left = _rounded(b**2 - a * c, b**2 + np.abs(a * c), ROUNDING)
            return (b + np.sign(z) * np.sqrt(np.where((a > 0) & (left >= 0), left, np.nan))) / a

    def agreeing_with(self, statistic: Any) -> "RatioDistribution":
        """A score interval's distribution: intervals leave zero out exactly if a chi-square test of a zero top does.

        The variance of top - r bottom is changed by a line in r: where r is zero it is that of the test, and where r is
        the ratio that was found it is as before. Corrections, which the test does not have, go. Where the test is
        refused, and its statistic nan, all stays as it is: then `p_value` is the one that agrees.
        """
        tested = ~np.isnan(statistic)
        with np.errstate(divide="ignore", invalid="ignore"):
            change = self.top**2 / statistic - self.of_top
            change = np.where(np.isfinite(change / self.value), change, 0.0)
            slope = np.where(change != 0, change / self.value, 0.0)
        error = None if self.error is None or np.all(tested) else self.error.scaled(np.where(tested, 0.0, 1.0))
        return replace(self, of_top=self.of_top + change, of_both=self.of_both + slope / 2, error=error)

    @property
    def p_value(self) -> Any:
        """The two-sided p-value of the ratio's being zero: one less the level at which its interval ends there."""
        low, high = np.full(np.shape(self.top), log(LEAST_P_VALUE)), np.zeros(np.shape(self.top))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            ends = self.limits(1 - np.exp(middle))
            outside = (ends[0] > 0) | (ends[1] < 0)
            low, high = np.where(outside, low, middle), np.where(outside, middle, high)
        return np.where(np.isnan(self.stderr), np.nan, np.exp(high))[()]

    def at(self, some: npt.NDArray[np.bool_]) -> "RatioDistribution":
        """The distributions of some of many ratios."""

        def chosen(part: Any) -> Array:
            return np.asarray(np.broadcast_to(part, some.shape)[some])

        parts = (self.top, self.bottom, self.of_top, self.of_both, self.of_bottom)
        top, bottom, of_top, of_both, of_bottom = map(chosen, parts)
        error = self.error and Cumulants(*(chosen(getattr(self.error, part.name)) for part in fields(self.error)))
        return RatioDistribution(top, bottom, of_top, of_both, of_bottom, error)

    def _variance(self, r: Any) -> Array:
        """The variance of top - r bottom; nan where it is negative."""
        variance = self._plain_variance(r)
        return np.where(variance >= 0, variance, np.nan)

    def _plain_variance(self, r: Any) -> Array:
        """The variance of top - r bottom as it was estimated, which may be below zero."""
        with np.errstate(invalid="ignore"):
            parts = self.of_top, -2 * r * self.of_both, r**2 * self.of_bottom
            return np.asarray(_rounded(sum(parts), sum(np.abs(part) for part in parts), ROUNDING))

    def __repr__(self) -> str:
        return f"<the distribution of a ratio, {self.value} +- {self.stderr}>"


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceDistribution(RatioDistribution):
    """The confidence distribution of the difference of two conditional shares, by the delta method.

    Its `limits` are recovered from those of the two shares (MOVER, Newcombe): each side of an interval is as long as
    the root of the squares of the sides that it is made of. So they know that a small group makes them lopsided.
    """

    first: RatioDistribution | None = None
    second: RatioDistribution | None = None
    ends: tuple[float, float] = (0.0, 1.0)  # the least and the most that each of the two can be

    how = "Newcombe"

    @classmethod
    def of(
        cls, found: RatioDistribution, first: RatioDistribution, second: RatioDistribution
    ) -> "DifferenceDistribution":
        """The distribution of a difference that was found by the delta method, given those of both shares."""
        error = found.error
        return cls(found.top, found.bottom, found.of_top, found.of_both, found.of_bottom, error, first, second)

    def limits(self, level: float, least: float = -inf, most: float = inf) -> tuple[Any, Any]:
        """The ends of the confidence interval, `least` or `most` where there is none."""
        if self.first is None or self.second is None:
            return super().limits(level, least, most)
        sides = []
        for share in (self.first, self.second):
            low, high = share.limits(level, *self.ends)
            sides.append((np.maximum(share.value - low, 0.0), np.maximum(high - share.value, 0.0)))
        (down, up), (other_down, other_up) = sides
        return self.value - self._length(down, other_up), self.value + self._length(up, other_down)

    def scaled(self, start: float, unit: float) -> "DifferenceDistribution":
        """The distribution of the difference of start + unit times either share: of two means of scores."""
        assert self.first is not None
        assert self.second is not None
        found = super().scaled(0.0, unit)
        assert isinstance(found, DifferenceDistribution)
        first, second = (share.scaled(start, unit) for share in (self.first, self.second))
        return replace(found, first=first, second=second, ends=(start, start + unit))

    def _length(self, one: Array, other: Array) -> Array:
        """One side of an interval, given those of both shares, whose correlation is that of the delta method."""
        assert self.first is not None
        assert self.second is not None
        v, w = self.first.stderr**2, self.second.stderr**2
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = np.clip(np.nan_to_num((v + w - self.of_top) / (2 * np.sqrt(v * w))), -1.0, 1.0)
        return np.asarray(np.sqrt(np.maximum(one**2 + other**2 - 2 * correlation * one * other, 0.0)))


@dataclass(frozen=True, eq=False, repr=False)
class AbsoluteDistribution(RatioDistribution):
    """The confidence distribution of the absolute value of a ratio: of Cramer's V of two pairs of answers, |phi|.

    Its `limits` are the interval of the ratio without its sign: they begin at zero exactly if that holds zero, and hold
    the absolute value at least as often as that holds the ratio.
    """

    @classmethod
    def of(cls, found: RatioDistribution) -> "AbsoluteDistribution":
        """The distribution of the absolute value of a ratio: of the ratio or its opposite, whichever is positive."""
        sign = np.where(found.value < 0, -1.0, 1.0)
        error = None if found.error is None else found.error.scaled(sign)
        return cls(sign * found.top, found.bottom, found.of_top, sign * found.of_both, found.of_bottom, error)

    def limits(self, level: Any, least: float = 0.0, most: float = inf) -> tuple[Any, Any]:
        """The ends of the confidence interval, from zero to the most that the absolute value can be."""
        low, high = super().limits(level, -most, most)
        return np.maximum(low, max(least, 0.0)), np.minimum(np.maximum(high, -low), most)


def without_rounding(covariance: Array, slack: float) -> Array:
    """A covariance with zeros for shares whose variance is at most `slack`: nothing was randomized, or they are known.

    What stands there is rounding, which a ratio would blow up.
    """
    varies = np.abs(np.einsum("...ii->...i", covariance)) > slack
    return np.where(varies[..., :, None] & varies[..., None, :], covariance, 0.0)


def product_form(left: Array, right: Array, covariance: Array) -> Array:
    """The bilinear form left' C right, or zero where only rounding is left of it."""
    product = np.einsum("...i,...ij,...j->...", left, covariance, right)
    size = np.einsum("...i,...ij,...j->...", np.abs(left), np.abs(covariance), np.abs(right))
    return np.asarray(_rounded(product, size, ROUNDING_OF_PRODUCTS))


def _rounded(value: Any, size: Any, part: float) -> Any:
    """A sum whose terms have this size, or zero where what is left of it is rounding."""
    return np.where(np.abs(value) <= part * size, 0.0, value)
