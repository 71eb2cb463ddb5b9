"""Groups of respondents some of whose answers are merged: the same estimate, through a linear map along each axis.

With R_k the matrix from the entries of feature k to its merged entries, weights w_k of merged entries are the weights
w_k R_k of the entries behind them. So every covariance, cumulant and verdict is exactly that of the estimate behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.interface import Respondents, SeenTable
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import Cumulants
from deniable.inference.exact_binomial import OneColumn
from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import along, flat, sandwich
from deniable.inference.trust import Judged


@dataclass(frozen=True, eq=False)
class MergedGroup:
    """Respondents whose answers are merged by one matrix per feature: merged entries by entries of `inner`."""

    inner: Respondents
    maps: tuple[Array, ...]

    @classmethod
    def of(cls, group: Respondents, maps: Sequence[Array]) -> "MergedGroup":
        """A group with its answers merged; of one that was merged before, both maps become one."""
        if isinstance(group, MergedGroup):
            return cls(group.inner, tuple(new @ old for new, old in zip(maps, group.maps, strict=True)))
        return cls(group, tuple(maps))

    @property
    def n(self) -> int:
        return self.inner.n

    @property
    def asked(self) -> int:
        return self.inner.asked

    @cached_property
    def truth(self) -> Array:
        return along(self.inner.truth, self.maps)

    @property
    def axes(self) -> tuple[Axis, ...]:
        raise EstimateError("an estimate whose answers are merged has no product form: ask before merge(...)")

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return self.inner.subjects

    @property
    def intervals_from(self) -> str:
        return self.inner.intervals_from

    @property
    def adds_up(self) -> bool:
        return self.inner.adds_up

    @property
    def unshrunk(self) -> Respondents | None:
        return self.inner.unshrunk and MergedGroup(self.inner.unshrunk, self.maps)

    @property
    def linear(self) -> tuple[Respondents, ...]:
        return tuple(MergedGroup.of(group, self.maps) for group in self.inner.linear)

    def project(self, axes: Sequence[int]) -> "MergedGroup":
        return MergedGroup(self.inner.project(axes), tuple(self.maps[axis] for axis in axes))

    def covariance(self, left: Sequence[Array], right: Sequence[Array], subject: Subject) -> Array:
        return self.inner.covariance(self._behind(left), self._behind(right), subject)

    def dense(self, subject: Subject) -> Array:
        return sandwich(self.maps, self.inner.dense(subject))

    def variances(self, subject: Subject) -> Array:
        return self.inner.cumulants(self.maps, subject).variance

    def unconditional_variances(self, subject: Subject) -> Array:
        """The most that variances can be, if the errors of merged answers went together: rounding is judged by it."""
        noise = np.sqrt(np.abs(self.inner.unconditional_variances(subject)))
        return along(noise, [np.abs(each) for each in self.maps]) ** 2

    def cumulants(self, rows: Sequence[Array], subject: Subject) -> Cumulants:
        return self.inner.cumulants(self._behind(rows), subject)

    def with_shape(self, rows: Sequence[Array], subject: Subject) -> tuple[Cumulants, Cumulants]:
        return self.inner.with_shape(self._behind(rows), subject)

    def judged(self, rows: Sequence[Array], subject: Subject) -> Judged:
        return self.inner.judged(self._behind(rows), subject)

    def exact(self, weights: Sequence[Array], subject: Subject) -> OneColumn | None:
        return self.inner.exact(self._behind(weights), subject)

    def sampling_covariance(self, left: Sequence[Array], right: Sequence[Array]) -> Array:
        return self.inner.sampling_covariance(self._behind(left), self._behind(right))

    def sampling_variance(self, weights: Array) -> float:
        return self.inner.sampling_variance(along(weights, [each.T for each in self.maps]))

    def at_independence(self) -> Array:
        return sandwich(self.maps, self.inner.at_independence())

    def if_independent(self, rows: Sequence[Array]) -> Cumulants:
        return self.inner.if_independent(self._behind(rows))

    def zero_by_chance(self, subject: Subject) -> bool:
        return self.inner.zero_by_chance(subject)

    @property
    def seen(self) -> SeenTable:
        """What the reports say of all cells, merged or not, for a proper table that is closest to it."""
        seen: SeenTable = self._straight.seen
        return seen

    @property
    def of_cells(self) -> Array:
        """The matrix from the numbers of respondents in all cells behind to all merged entries."""
        return np.asarray(flat(self.maps) @ self._straight.of_cells)

    def dense_at(self, shares: Array, subject: Subject) -> Array:
        """The covariance matrix of all merged entries, were these the shares of all cells behind them."""
        return sandwich(self.maps, self._straight.dense_at(shares, subject))

    def sums_at(self, weights: Array, shares: Array, subject: Subject) -> Cumulants:
        """The cumulants for rows of any weights of merged entries, were these the shares of all cells behind them."""
        found: Cumulants = self._straight.sums_at(weights @ flat(self.maps), shares, subject)
        return found

    @property
    def _straight(self) -> Any:
        """The group behind, if it is straight from reports, so that it can still be conditioned."""
        if not hasattr(self.inner, "dense_at"):
            raise EstimateError("say all that is known, given(...), before merge(...)")
        return self.inner

    def _behind(self, weights: Sequence[Array]) -> list[Array]:
        """Weights of the entries of the group behind, from those of merged entries."""
        return [own @ each for own, each in zip(weights, self.maps, strict=True)]
