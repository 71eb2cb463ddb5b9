"""Conditioning an estimate on linear equalities that are known to hold: margins (post-stratification) and empty cells.

For an estimate mu with covariance Sigma and a known value of w' mu, the conditional mean and covariance of the normal
distribution are mu + s (value - w' mu) / v and Sigma - s s' / v, with s = Sigma w and v = w' s, one equality at a time.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answers_as_weights import Features, cell_weights, checked_weights
from deniable.estimates.feasible import Equality
from deniable.inference.intervals import ONE_IN_A_THOUSAND
from deniable.inference.one_feature import Array
from deniable.inference.tensors import flat
from deniable.inference.trust import SLACK
from deniable.text.fixed_phrases import NOT_ENOUGH

Shares = Mapping[str, Mapping[Any, float]]  # {feature: {answer: share}}
Sums = Sequence[tuple[npt.ArrayLike, float]]  # [(weights, value)]
Cells = Sequence[Mapping[str, str | bool]]  # [{feature: answer, ...}, ...]


@dataclass(frozen=True)
class Condition:
    """A known equality, and how far the estimate was from it, in standard errors; None if it said nothing new."""

    what: str
    distance: float | None

    @property
    def far(self) -> bool:
        """Whether the estimate hardly fits what is claimed to be known: by chance one time in a thousand."""
        return self.distance is not None and abs(self.distance) > ONE_IN_A_THOUSAND


def equalities(features: Features, n: int, known: Shares | Sums, zeros: Cells) -> Iterator[Equality]:
    """What is known as equalities, checked: in words, weights of all entries, and their value in respondents."""
    if isinstance(known, Mapping):
        yield from _known_shares(features, n, known)
    elif isinstance(known, Sequence) and all(isinstance(one, Sequence) and len(one) == 2 for one in known):
        yield from _known_sums(features, known)
    else:
        raise EstimateError(f"given takes known shares, or a list of (weights, value); found {abbreviated(known)}")
    yield from _empty_cells(features, zeros)


def _known_shares(features: Features, n: int, known: Shares) -> Iterator[Equality]:
    """The equalities of known proportions."""
    for name, shares in known.items():
        if not isinstance(shares, Mapping) or not all(_is_share(share) for share in shares.values()):
            raise EstimateError(
                f"known shares are {{feature: {{answer: share}}}}, from 0 to 1; found {abbreviated(known)}"
            )
        if sum(shares.values()) > 1 + SLACK:
            raise EstimateError(f"the known shares of {name!r} sum to {sum(shares.values()):.6g}, more than 1")
        for answer, share in shares.items():
            yield f"{name} = {answer}: {share}", _cell(features, {name: answer}), share * n


def _known_sums(features: Features, known: Sums) -> Iterator[Equality]:
    """The equalities of known weighted sums."""
    shape = tuple(1 + len(feature.columns) for feature in features)
    for place, (weights, value) in enumerate(known):
        if not _is_number(value):
            raise EstimateError(f"the value of equality {place} must be a finite number; found {value!r}")
        yield f"equality {place}", checked_weights(shape, weights), float(value)


def _empty_cells(features: Features, zeros: Cells) -> Iterator[Equality]:
    """The equalities of answers that cannot go together."""
    if not isinstance(zeros, Sequence) or not all(isinstance(cell, Mapping) and cell for cell in zeros):
        raise EstimateError(f"zeros are a list of cells, [{{feature: answer, ...}}, ...]; found {abbreviated(zeros)}")
    for cell in zeros:
        words = ", ".join(f"{name} = {answer}" for name, answer in cell.items())
        yield f"no {words}", _cell(features, cell), 0.0


def _cell(features: Features, answers: Mapping[str, Any]) -> Array:
    """The weights of all entries for one cell, shaped like the estimate's mean."""
    weights = cell_weights(features, answers)
    return flat(weights).reshape([len(vector) for vector in weights])


def conditioned(
    mean: Array, covariance: Array, noise: Array, known: Sequence[Equality]
) -> tuple[Array, Array, list[Condition]]:
    """The mean and covariance of an estimate given equalities, and how far from each of them it was.

    What says nothing new is kept, a contradiction is an error, and an equality that is far away is warned about. The
    `noise` is the standard errors before anything was known, which rounding is compared with.
    """
    n = float(mean.flat[0])
    line, covariance, conditions = mean.reshape(-1).copy(), np.array(covariance), []
    for what, shaped, value in known:
        weights = shaped.reshape(-1)
        spread = covariance @ weights
        variance, gap = float(weights @ spread), value - float(weights @ line)
        most = float(np.abs(weights) @ noise.reshape(-1)) ** 2  # the variance if all errors went together
        if variance < -SLACK * most:
            raise EstimateError(f"{NOT_ENOUGH} to condition on {what}: its estimated variance is negative")
        if variance <= SLACK * most:
            if abs(gap) > sqrt(SLACK * most) + SLACK * n:
                raise EstimateError(f"{what} contradicts what was known before it: {gap:+.6g} respondents apart")
            conditions.append(Condition(what, None))
            continue
        line += spread * gap / variance
        covariance -= np.outer(spread, spread) / variance
        conditions.append(Condition(what, gap / sqrt(variance)))
        if conditions[-1].far:
            warnings.warn(
                f"{what} is {conditions[-1].distance:+.1f} standard errors away from the estimate", stacklevel=3
            )
    return line.reshape(mean.shape), covariance, conditions


def _is_number(number: Any) -> bool:
    return isinstance(number, int | float | np.integer | np.floating) and bool(np.isfinite(number))


def _is_share(share: Any) -> bool:
    return _is_number(share) and 0 <= share <= 1
