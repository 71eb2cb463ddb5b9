"""What users know beforehand as linear equalities: margins (post-stratification), empty cells and weighted sums."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answers_as_weights import Features, cell_weights, checked_weights
from deniable.estimates.proper_tables.known_equalities import Equality
from deniable.inference.intervals import ONE_IN_A_THOUSAND
from deniable.inference.one_feature import Array
from deniable.inference.tensors import flat
from deniable.inference.trust import SLACK

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
        if not isinstance(shares, Mapping):
            told = "known shares are {feature: {answer: share}}"
            raise EstimateError(f"{told}; found {abbreviated(shares)} for {name!r}")
        for answer, share in shares.items():
            if not _is_share(share):
                raise EstimateError(
                    f"known shares are from 0 to 1; found {abbreviated(share)} for {answer!r} of {name!r}"
                )
        if sum(shares.values()) > 1 + SLACK:
            raise EstimateError(f"the known shares of {name!r} sum to {sum(shares.values()):.6g}, more than 1")
        for answer, share in shares.items():
            yield f"{name} = {answer}: {share}", _cell(features, {name: answer}), share * n


def _known_sums(features: Features, known: Sums) -> Iterator[Equality]:
    """The equalities of known weighted sums."""
    for place, (weights, value) in enumerate(known):
        if not _is_number(value):
            raise EstimateError(f"the value of equality {place} must be a finite number; found {abbreviated(value)}")
        yield f"equality {place}", checked_weights(features, weights), float(value)


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


def _is_number(number: Any) -> bool:
    return isinstance(number, int | float | np.integer | np.floating) and bool(np.isfinite(number))


def _is_share(share: Any) -> bool:
    return _is_number(share) and 0 <= share <= 1
