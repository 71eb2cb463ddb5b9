"""The table of everything at which covariances of estimated contrasts are evaluated: its margins and second moments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np
import numpy.typing as npt

from deniable.analyses.whole_survey.contrasts import Places, Terms, feature_contrasts
from deniable.analyses.whole_survey.whole_table import WholeTable, margin_of
from deniable.inference.one_feature import Array

Frequencies = npt.NDArray[np.int64]


class Reference(Protocol):
    """A table of all features."""

    def margin(self, places: Places) -> Array:
        """The table of some features, an axis for each in this order."""

    def seconds(self, terms: Terms) -> Array:
        """The matrix E[c c'] of a constant 1 and, after it, the contrasts of some terms."""


@dataclass(frozen=True, eq=False)
class Independent:
    """Independent features with given shares of their answers, by place."""

    shares: Mapping[int, Array]

    @classmethod
    def uniform(cls, levels: Sequence[int]) -> "Independent":
        """The table in which all cells are equally common."""
        return cls({place: np.full(m, 1 / m) for place, m in enumerate(levels)})

    def margin(self, places: Places) -> Array:
        return np.asarray(reduce(np.multiply.outer, [self.shares[place] for place in places]))

    def seconds(self, terms: Terms) -> Array:
        """One feature after the other: contrasts of two sets that share it have its own second moments."""
        frequencies = with_constant(terms)
        means = {place: feature_contrasts(len(own)) @ own for place, own in self.shares.items()}
        mean = np.ones(len(frequencies))
        for place, own in means.items():
            mean *= np.concatenate([[1.0], own])[frequencies[:, place]]
        found = np.outer(mean, mean)
        for place, own in self.shares.items():
            rows = feature_contrasts(len(own))
            second = (rows * own) @ rows.T
            met, without = looking_at(frequencies, (place,))
            which = frequencies[met, place] - 1
            found[np.ix_(met, met)] = second[np.ix_(which, which)] * found[np.ix_(without, without)]
        return found


@dataclass(frozen=True, eq=False)
class Whole:
    """A table of all features as it is, an axis for each."""

    table: Array

    def margin(self, places: Places) -> Array:
        return margin_of(self.table, places)

    def seconds(self, terms: Terms) -> Array:
        mean, covariance = WholeTable(terms).moments_of(self.table.reshape(-1))
        with_one = np.concatenate([[1.0], mean])
        found = np.outer(with_one, with_one)
        found[1:, 1:] += covariance
        return found


def with_constant(terms: Terms) -> Frequencies:
    """A row of zeros for a constant, and then the characters of all contrasts, 0 at features that are not looked at."""
    return np.concatenate([np.zeros((1, len(terms.levels)), np.int64), terms.frequencies])


def looking_at(frequencies: Frequencies, places: Places) -> tuple[Frequencies, Frequencies]:
    """Where contrasts stand that look at some of these features, and where those stand that look at all their others.

    The others are among the rows too: sets are of two features, or lie within one block.
    """
    met = np.flatnonzero(frequencies[:, list(places)].any(axis=1))
    others = frequencies[met]
    others[:, list(places)] = 0
    index = {row.tobytes(): at for at, row in enumerate(frequencies)}
    return met, np.array([index[row.tobytes()] for row in others], np.int64)
