"""The law of a ratio of two estimates that are nearly normal (Fieller).

top - r bottom is normal for every r, so the ratio is at most r with the probability that it is at most zero. It holds
whatever the noise does to the ratio: near the ends of what can be, and where the bottom is not known well.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.inference.axis import Array

ROUNDING = 1e-13


@dataclass(frozen=True, eq=False, repr=False)
class RatioLaw:
    """Of top / bottom, given their variances and covariance: `pdf`, `cdf` and `ppf`, as scipy's frozen laws have them.

    With a bottom of 1 that does not vary it is the normal law of the top.
    """

    top: Any
    bottom: Any
    of_top: Any
    of_both: Any
    of_bottom: Any

    @property
    def value(self) -> Any:
        """The ratio itself."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.divide(self.top, self.bottom)

    @property
    def stderr(self) -> Any:
        """Its standard error, by the delta method."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sqrt(self._variance(self.value)) / np.abs(self.bottom)

    @property
    def how(self) -> str:
        """What its quantiles rest on."""
        return "Fieller" if np.any(self.of_bottom) else "delta method"

    def cdf(self, x: npt.ArrayLike) -> Any:
        """The probability of at most x, if the bottom is surely above zero."""
        from scipy.special import ndtr

        x = np.asarray(x, np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = (x * self.bottom - self.top) / np.sqrt(self._variance(x))
            ends = np.sign(x) * self.bottom / np.sqrt(self.of_bottom)
        return ndtr(np.where(np.isinf(x), ends, inside))

    def pdf(self, x: npt.ArrayLike) -> Any:
        """The density at x."""
        x = np.asarray(x, np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = self._variance(x)
            away = x * self.bottom - self.top
            slope = self.bottom - away * (x * self.of_bottom - self.of_both) / variance
            inside = np.exp(-(away**2) / variance / 2) * slope / np.sqrt(2 * np.pi * variance)
        return np.where(np.isinf(x), 0.0, inside)[()]

    def ppf(self, q: npt.ArrayLike) -> Any:
        """What it is at most with probability q; nan where the bottom may be zero at that level."""
        from scipy.special import ndtri

        z = ndtri(q)
        # (r bottom - top)^2 = z^2 V(top - r bottom), which is a r^2 - 2 b r + c = 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            a = self.bottom**2 - z**2 * self.of_bottom
            b = self.top * self.bottom - z**2 * self.of_both
            c = self.top**2 - z**2 * self.of_top
            left = _rounded(b**2 - a * c, b**2 + np.abs(a * c))
            return (b + np.sign(z) * np.sqrt(np.where((a > 0) & (left >= 0), left, np.nan))) / a

    def _variance(self, r: Any) -> Array:
        """Of top - r bottom; nan where it is negative."""
        with np.errstate(invalid="ignore"):
            parts = self.of_top, -2 * r * self.of_both, r**2 * self.of_bottom
            variance = _rounded(sum(parts), sum(np.abs(part) for part in parts))
            return np.where(variance >= 0, variance, np.nan)

    def __repr__(self) -> str:
        return f"<the law of a ratio, {self.value} +- {self.stderr}>"


def _rounded(value: Any, size: Any) -> Any:
    """Nothing, where what is left of a sum of this size is rounding alone."""
    return np.where(np.abs(value) <= ROUNDING * size, 0.0, value)
