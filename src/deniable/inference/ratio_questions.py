"""The questions whose results are ratios of two smooth functions of a few shares: functions, gradients, errors."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.inference.one_feature import Array
from deniable.inference.ratios import SURELY_POSITIVE, RatioDistribution, product_form

Value = tuple[Array, Array]  # and its gradient


@dataclass(frozen=True)
class Question:
    """A ratio of two functions of shares, and sums of shares, by their places, that must surely be above zero.

    `errors` says what the error of top - r bottom is, to first order, a sum of: the errors of conditional shares. For
    each it gives the place of the share on top, or two places of which one has the first feature's answer and one the
    second's; its factor; and the conditional share.
    """

    name: str
    top: Callable[[Array], Value]
    bottom: Callable[[Array], Value]
    divisors: tuple[tuple[int, ...], ...]
    errors: Callable[[Array], tuple[tuple[int | tuple[int, int], Array, Array], ...]]
    least: float
    most: float
    null: float = 0.0  # what a test of it is against

    def distribution(self, shares: Array, covariance: Array) -> RatioDistribution:
        """The confidence distribution of the ratio, given estimated shares and their covariance."""
        with np.errstate(divide="ignore", invalid="ignore"):
            (top, up), (bottom, down) = self.top(shares), self.bottom(shares)
            of_top, of_both, of_bottom = (
                product_form(*pair, covariance) for pair in ((up, up), (up, down), (down, down))
            )
            return RatioDistribution(top, bottom, of_top, of_both, of_bottom)

    def variance(self, shares: Array, covariance: Array) -> Array:
        """The variance of the estimated ratio, by the delta method."""
        with np.errstate(divide="ignore", invalid="ignore"):
            gradient = self.gradient(shares)
            return product_form(gradient, gradient, covariance)

    def gradient(self, shares: Array) -> Array:
        """The gradient of the ratio by the shares."""
        (top, up), (bottom, down) = self.top(shares), self.bottom(shares)
        return (up - (top / bottom)[..., None] * down) / bottom[..., None]

    def divisors_positive(self, shares: Array, covariance: Array) -> npt.NDArray[np.bool_]:
        """Whether all sums of shares that are divided by are SURELY_POSITIVE standard errors above zero."""
        sums = np.array([np.isin(np.arange(shares.shape[-1]), places) for places in self.divisors], np.float64)
        variances = np.stack([product_form(one, one, covariance) for one in sums], axis=-1)  # of a known sum, zero
        enough = (variances >= 0) & (shares @ sums.T > SURELY_POSITIVE * np.sqrt(np.maximum(variances, 0)))
        return np.asarray(enough.all(axis=-1))


def _stacked(*gradient: Any) -> Array:
    return np.stack(np.broadcast_arrays(*gradient), axis=-1)


def _parts(x: Array) -> list[Array]:
    return list(np.moveaxis(x, -1, 0))


def _first(x: Array) -> Value:
    a, *others = _parts(x)
    return a, _stacked(np.ones_like(a), *(0 * other for other in others))


def _second(x: Array) -> Value:
    a, b, *others = _parts(x)
    return b, _stacked(0 * a, np.ones_like(b), *(0 * other for other in others))


def _one(x: Array) -> Value:
    return np.ones(x.shape[:-1]), np.zeros_like(x)


def _difference(x: Array) -> Value:
    a, b, c, d = _parts(x)
    return a / b - c / d, _stacked(1 / b, -a / b**2, -1 / d, c / d**2)


def _first_share(x: Array) -> Value:
    a, b, c, _ = _parts(x)
    return a / b, _stacked(1 / b, -a / b**2, 0 * c, 0 * c)


def _second_share(x: Array) -> Value:
    a, _, c, d = _parts(x)
    return c / d, _stacked(0 * a, 0 * a, 1 / d, -c / d**2)


def _outer_product(x: Array) -> Value:
    a, b, c, d = _parts(x)
    return a * d, _stacked(d, 0 * b, 0 * c, a)


def _inner_product(x: Array) -> Value:
    a, b, c, d = _parts(x)
    return b * c, _stacked(0 * a, c, b, 0 * d)


def _covariance(x: Array) -> Value:
    a, _, b, _, both = _parts(x)
    return both - a * b, _stacked(-b, 0 * a, -a, 0 * b, np.ones_like(both))


def _deviations(x: Array) -> Value:
    a, not_a, b, not_b, both = _parts(x)
    root = np.sqrt(np.where(np.minimum(a * not_a, b * not_b) > 0, a * not_a * b * not_b, np.nan))
    return root, _stacked(root / a / 2, root / not_a / 2, root / b / 2, root / not_b / 2, 0 * both)


def _error_of_share(x: Array) -> Any:
    both, given = _parts(x)
    return ((0, np.ones_like(both), both / given),)


def _error_of_difference(x: Array) -> Any:
    a, b, c, d = _parts(x)
    return (0, 1 / b, a / b), (2, -1 / d, c / d)


def _error_of_ratio(x: Array) -> Any:
    a, b, c, d = _parts(x)
    return (0, 1 / b, a / b), (2, -(a / b) / c, c / d)


def _error_of_odds(x: Array) -> Any:
    a, b, c, d = _parts(x)
    return (0, d + a * d / b, a / (a + b)), (2, -(a + a * d / c), c / (c + d))


def _error_of_covariance(x: Array) -> Any:
    a, not_a, b, _, both = _parts(x)
    return ((0, 2), not_a, both / a), ((1, 2), -a, (b - both) / not_a)


# Shares: (both, given); (a, b, c, d); (both, one, the other, neither); (a, not a, b, not b, both).
CONDITIONAL = Question("conditional share", _first, _second, ((1,),), _error_of_share, 0, 1, nan)
DIFFERENCE = Question("difference", _difference, _one, ((1,), (3,)), _error_of_difference, -1, 1)
RATIO = Question("ratio", _first_share, _second_share, ((1,), (3,)), _error_of_ratio, 0, inf, 1)
MARGINS = (0, 1), (2, 3), (0, 2), (1, 3)
ODDS_RATIO = Question("odds ratio", _outer_product, _inner_product, MARGINS, _error_of_odds, 0, inf, 1)
CORRELATION = Question("correlation", _covariance, _deviations, ((0,), (1,), (2,), (3,)), _error_of_covariance, -1, 1)
