"""The misfit of a proper table of many cells, n (t'Ht / 2 - b't), known by its gradient and by products with H.

It is that of `feasible`: H = U' M^-1 U and b = U' M^-1 z, with the second moments M at independence, or at a table.
Where every feature shows one value, M^-1 is a closed form; elsewhere it is found by conjugate gradients, whose
preconditioner is M at independence: a dozen steps, as most of the moments is noise that does not depend on the table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.estimates.proper_tables.report_moments import (
    Moments,
    OneShown,
    in_turn,
    moments_of_bits,
    moments_of_patterns,
)
from deniable.inference.one_feature import Array
from deniable.survey.protocols.base import Protocol

# So many respondents are spread over all cells where the metric is evaluated, which must not be singular.
SPREAD = 0.5
# Channels of features with at most so many answers are multiplied as matrices.
MOST_CHANNEL = 64
# Conjugate gradients with the moments end when the residual is this part of what it was.
RESIDUAL = 1e-12
# Conjugate gradients with the moments take at most so many steps.
MOST_STEPS = 1_000


@dataclass(frozen=True, eq=False)
class QuadraticForm:
    """A positive definite form H over the cells of a table, known by products, with the gradient of its misfit."""

    product: Callable[[Array], Array]  # H x
    gradient: Callable[[Array], Array]  # H x - b
    diagonal: Array  # of H, or near it


@dataclass(frozen=True, eq=False)
class LargeSeen:
    """What n reports say of a table of many cells: the mean z of the products of what each says of the features."""

    n: int
    features: tuple[Moments, ...]
    z: Array
    shares: tuple[Array, ...]  # of each feature's answers, at which the metric begins

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(feature.answers for feature in self.features)

    def at_first(self) -> QuadraticForm:
        """The misfit in the metric of independent answers with these margins."""
        margins = [everywhere(self.n, own) for own in self.shares]
        if (shown := self._one_shown()) is not None:
            return self._closed(
                shown, reduce(np.multiply.outer, [of.weights(own) for of, own in zip(shown, margins, strict=True)])
            )
        inverses = [of.inverse(own) for of, own in zip(self.features, margins, strict=True)]
        information = [of.information(own) for of, own in zip(self.features, margins, strict=True)]
        return self._form(lambda v: in_turn(v, inverses), reduce(np.multiply.outer, information))

    def at_table(self, shares: Array) -> QuadraticForm:
        """The misfit in the metric of second moments at a table of shares."""
        weights = in_turn(everywhere(self.n, shares), [of.weights for of in self.features])
        if (shown := self._one_shown()) is not None:
            return self._closed(shown, weights)
        spread, gather = [of.spread for of in self.features], [of.gather for of in self.features]
        first = [of.inverse(everywhere(self.n, own)) for of, own in zip(self.features, self.shares, strict=True)]

        def inverse(v: Array) -> Array:
            return solved(
                lambda y: in_turn(weights * in_turn(y, spread), gather), lambda y: in_turn(y, first), v, RESIDUAL
            )

        return self._form(inverse, self.at_first().diagonal)

    def _one_shown(self) -> list[OneShown] | None:
        """The features, if a report shows one value of each; else None."""
        shown = [of for of in self.features if isinstance(of, OneShown)]
        return shown if len(shown) == len(self.features) else None

    def _closed(self, shown: Sequence[OneShown], likely: Array) -> QuadraticForm:
        """The form L' diag(1 / f) L of one value shown of each feature, f how likely each combination is."""
        diagonal = in_turn(1 / likely, [of.squares_back for of in shown])
        if max(self.levels) > MOST_CHANNEL:
            forth, back = [of.weights for of in shown], [of.back for of in shown]
            return self._form(lambda v: in_turn(in_turn(v, forth) / likely, back), diagonal)
        from deniable.estimates.pattern_likelihoods import Grid  # it loads what reads reports, which takes long

        grid, f = Grid(likely, tuple(of.channel for of in shown)), likely.reshape(-1)
        return self._form(
            lambda v: grid.back(grid.forth(np.ascontiguousarray(v).reshape(-1)) / f).reshape(v.shape), diagonal
        )

    def _form(self, inverse: Callable[[Array], Array], diagonal: Array) -> QuadraticForm:
        """The form U' M^-1 U, given products with M^-1."""
        up, down = [of.expected for of in self.features], [of.over_answers for of in self.features]

        def product(x: Array) -> Array:
            return in_turn(inverse(in_turn(x, up)), down)

        def gradient(x: Array) -> Array:
            return in_turn(inverse(in_turn(x, up) - self.z), down)

        return QuadraticForm(product, gradient, diagonal)


def solved(
    product: Callable[[Array], Array], nearly_inverse: Callable[[Array], Array], right: Array, to: float
) -> Array:
    """The solution of a positive definite system by preconditioned conjugate gradients."""
    found, residual = np.zeros_like(right), right
    step = guess = nearly_inverse(residual)
    size = first = float((residual * guess).sum())
    for _ in range(MOST_STEPS):
        if size <= to**2 * first:
            break
        image = product(step)
        length = size / float((step * image).sum())
        found = found + length * step
        residual = residual - length * image
        guess = nearly_inverse(residual)
        size, before = float((residual * guess).sum()), size
        step = guess + size / before * step
    return found


def seen_of_many(
    n: int, protocols: Sequence[Protocol], unbiased: Array, shown: npt.NDArray[Any] | None, shares: Sequence[Array]
) -> LargeSeen:
    """What counts say of a table of many cells, or whole patterns if these were shown, in numbers of reports.

    Counts are given as their estimate, in respondents. Each feature's answers have about these shares.
    """
    if shown is None:
        bits = [moments_of_bits(protocol) for protocol in protocols]
        return LargeSeen(n, tuple(bits), in_turn(unbiased / n, [of.entries for of in bits]), tuple(shares))
    each = zip(protocols, shares, strict=True)
    features = [moments_of_patterns(protocol, everywhere(n, own)) for protocol, own in each]
    return LargeSeen(n, tuple(features), in_turn(shown / n, [of.gather for of in features]), tuple(shares))


def everywhere(n: int, shares: Array) -> Array:
    """Shares with SPREAD respondents added, spread evenly over all cells."""
    return (n * shares + SPREAD / shares.size) / (n + SPREAD)
