"""Questions that are not linear: ratios of two smooth functions of a few shares, with their exact gradients.

    conditional share     both / given
    difference            a / b - c / d, over 1
    ratio                 a / b over c / d
    odds ratio            a d over b c
    correlation           (both - a b) over sqrt(a (1 - a) b (1 - b))

Top and bottom are taken as normal, with variances by the delta method, and their ratio by Fieller (`laws`). Shares
stand in the last axis, so that many tables are asked at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.inference.axis import Array
from deniable.inference.ratio_distribution import RatioLaw

ROUNDING = 1e-12
STEADY = 5  # standard errors: what is divided by must be so far above zero

Value = tuple[Array, Array]  # and its gradient


@dataclass(frozen=True)
class Question:
    """A ratio of two functions of shares, and which of the shares must surely not be zero."""

    name: str
    top: Callable[[Array], Value]
    bottom: Callable[[Array], Value]
    divisors: tuple[int, ...]

    def law(self, shares: Array, covariance: Array) -> RatioLaw:
        """The law of its estimate."""
        with np.errstate(divide="ignore", invalid="ignore"):
            (top, up), (bottom, down) = self.top(shares), self.bottom(shares)
            pairs = (_product(*pair, covariance) for pair in ((up, up), (up, down), (down, down)))
            return RatioLaw(top, bottom, *pairs)

    def variance(self, shares: Array, covariance: Array) -> Array:
        """Of its estimate, by the delta method."""
        with np.errstate(divide="ignore", invalid="ignore"):
            gradient = self.gradient(shares)
            return _product(gradient, gradient, covariance)

    def gradient(self, shares: Array) -> Array:
        """Of the ratio."""
        (top, up), (bottom, down) = self.top(shares), self.bottom(shares)
        return (up - (top / bottom)[..., None] * down) / bottom[..., None]

    def steady(self, shares: Array, covariance: Array) -> npt.NDArray[np.bool_]:
        """Whether all that is divided by is surely above zero."""
        places = list(self.divisors)
        variances = np.einsum("...ii->...i", covariance)[..., places]
        enough = (variances >= 0) & (shares[..., places] > STEADY * np.sqrt(np.maximum(variances, 0)))
        return np.asarray(enough.all(axis=-1))


def settled(covariance: Array, slack: float) -> Array:
    """A covariance without the rounding of shares that do not vary: nothing was randomized, or they were given."""
    varies = np.abs(np.einsum("...ii->...i", covariance)) > slack
    return np.where(varies[..., :, None] & varies[..., None, :], covariance, 0.0)


def _product(left: Array, right: Array, covariance: Array) -> Array:
    """left' C right, or nothing where only rounding is left of it."""
    product = np.einsum("...i,...ij,...j->...", left, covariance, right)
    size = np.einsum("...i,...ij,...j->...", np.abs(left), np.abs(covariance), np.abs(right))
    return np.where(np.abs(product) <= ROUNDING * size, 0.0, product)


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


CONDITIONAL = Question("conditional share", _first, _second, (1,))  # (both, given)
DIFFERENCE = Question("difference", _difference, _one, (1, 3))  # (a, b, c, d)
RATIO = Question("ratio", _first_share, _second_share, (1, 2, 3))  # (a, b, c, d)
ODDS_RATIO = Question("odds ratio", _outer_product, _inner_product, (0, 1, 2, 3))  # (both, one, the other, neither)
CORRELATION = Question("correlation", _covariance, _deviations, (0, 1, 2, 3))  # (a, not a, b, not b, both)
