"""Groups of respondents whose estimate has no product form: found by maximum likelihood, or conditioned (`given`).

Their covariance is kept as a matrix. They answer `interface.Respondents`, as `respondent_group.Group` does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.interface import Respondents
from deniable.estimates.respondent_group import judge, margin
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import NOTHING, Cumulants
from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import along, answer_rows, flat, margins, row_counts, sandwich
from deniable.inference.trust import SLACK, Bools, Judged

# What is said of results that only an estimate straight from counts has.
STRAIGHT = "tests of independence and sample sizes need an estimate straight from counts: ask before given(...)"
# A maximum-likelihood count has a normal distribution this many standard errors of the linear estimate from its bounds.
EDGE = 2.0
# Near a bound the standard error of maximum likelihood is below this part of the linear estimate's.
SHORTEST = 0.5


@dataclass(frozen=True, eq=False)
class DenseGroup:
    """Respondents with a covariance matrix for each possible subject, whose estimate was made from the groups `before`.

    It has the cumulants of a normal distribution, where its kind knows no others.
    """

    n: int
    truth: Array
    matrices: Mapping[Subject, Array]
    before: tuple[Respondents, ...]

    intervals_from = "consistent"
    adds_up = True  # not checked: proper tables do, and what is known may have made it so

    @property
    def unshrunk(self) -> Respondents | None:
        return None

    @property
    def asked(self) -> int:
        return sum(group.asked for group in self.before)

    @property
    def axes(self) -> tuple[Axis, ...]:
        raise EstimateError(STRAIGHT)

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return tuple(self.matrices)

    @property
    def linear(self) -> tuple[Respondents, ...]:
        return (self,)

    def project(self, axes: Sequence[int]) -> "DenseGroup":
        return type(self)(*self._projected(axes))

    def covariance(self, left: Sequence[Array], right: Sequence[Array], subject: Subject) -> Array:
        each = ((flat(left) @ self.dense(subject)) * flat(right)).sum(axis=-1)
        return np.asarray(each.reshape(row_counts(left)))

    def dense(self, subject: Subject) -> Array:
        return self.matrices[subject]

    def variances(self, subject: Subject) -> Array:
        return np.diagonal(self.dense(subject)).reshape(self.truth.shape)

    def unconditional_variances(self, subject: Subject) -> Array:
        return np.asarray(sum(group.unconditional_variances(subject) for group in self.before))

    def cumulants(self, rows: Sequence[Array], subject: Subject) -> Cumulants:
        mean, weights = along(self.truth, rows), flat(rows)
        every = np.einsum("ij,jk,ik->i", weights, self.dense(subject), weights, optimize=True)
        return Cumulants.normal(mean, every.reshape(mean.shape))

    def with_shape(self, rows: Sequence[Array], subject: Subject) -> tuple[Cumulants, Cumulants]:
        found = self.cumulants(rows, subject)
        return found, found

    def judged(self, rows: Sequence[Array], subject: Subject) -> Judged:
        found, (_, enough) = self.cumulants(rows, subject), judge(self.before, rows, subject)
        return Judged(self.n, self.asked, found, np.abs(found.variance) <= SLACK * self.n, enough=enough)

    def exact(self, weights: Sequence[Array], subject: Subject) -> None:  # noqa: ARG002 - one contract
        return None

    def sampling_covariance(self, left: Sequence[Array], right: Sequence[Array]) -> Array:
        return np.asarray(sum(group.sampling_covariance(left, right) for group in self.before))

    def sampling_variance(self, weights: Array) -> float:
        return sum(group.sampling_variance(weights) for group in self.before)

    def at_independence(self) -> Array:
        raise EstimateError(STRAIGHT)

    def if_independent(self, rows: Sequence[Array]) -> Cumulants:  # noqa: ARG002 - one contract
        raise EstimateError(STRAIGHT)

    def zero_by_chance(self, subject: Subject) -> bool:  # noqa: ARG002 - one contract
        return False

    def _projected(self, axes: Sequence[int]) -> tuple[int, Array, Mapping[Subject, Array], tuple[Respondents, ...]]:
        """Respondents, mean, covariances and the groups before, of fewer features in this order."""
        places = margin(np.arange(self.truth.size).reshape(self.truth.shape), axes).reshape(-1)
        matrices = {subject: matrix[np.ix_(places, places)] for subject, matrix in self.matrices.items()}
        before = tuple(group.project(axes) for group in self.before)
        return self.n, margin(self.truth, axes), matrices, before


@dataclass(frozen=True, eq=False)
class LikelihoodGroup(DenseGroup):
    """Respondents whose table was found by maximum likelihood, with the covariance of the observed information.

    It is that of the cells that are not zero, given that the others are. Near a bound maximum likelihood is not normal,
    and what it keeps away from a bound it takes from the other cells: where any cell of the table is `beside_bound`,
    large cells are biased, too. The uncertainty is then that of the linear estimate that it was made from.
    """

    beside_bound: bool

    @classmethod
    def of_table(
        cls, n: int, truth: Array, matrices: Mapping[Subject, Array], before: tuple[Respondents, ...]
    ) -> "LikelihoodGroup":
        """A whole table that was found by maximum likelihood, with all its margins."""
        cells = [answer_rows(length - 1) for length in truth.shape]
        own = np.diagonal(sandwich(cells, matrices[Subject.POPULATION]))
        linear = sum((group.cumulants(cells, Subject.POPULATION) for group in before), start=NOTHING).variance
        counts = along(truth, cells)
        near = near_bound(counts, n - counts, own.reshape(counts.shape), linear)
        return cls(n, truth, matrices, before, beside_bound=bool(near.any()))

    @property
    def intervals_from(self) -> str:  # type: ignore[override]
        return "consistent" if self.beside_bound else "observed information"

    def project(self, axes: Sequence[int]) -> "LikelihoodGroup":
        return LikelihoodGroup(*self._projected(axes), self.beside_bound)

    @property
    def linear(self) -> tuple[Respondents, ...]:
        return self.before

    def variances(self, subject: Subject) -> Array:
        own, before = super().variances(subject), np.asarray(sum(group.variances(subject) for group in self.before))
        near = near_bound(self.truth, self.n - self.truth, own, before) | self.beside_bound
        return np.where(near, before, own)

    def cumulants(self, rows: Sequence[Array], subject: Subject) -> Cumulants:
        own = super().cumulants(rows, subject)
        before = sum((group.cumulants(rows, subject) for group in self.before), start=NOTHING)
        over_cells = flat([matrix @ margins(matrix.shape[1] - 1) for matrix in rows])
        low, high = (self.n * end(axis=1).reshape(own.mean.shape) for end in (over_cells.min, over_cells.max))
        near = near_bound(own.mean - low, high - own.mean, own.variance, before.variance) | self.beside_bound
        return Cumulants(*(np.where(near, getattr(before, part.name), getattr(own, part.name)) for part in fields(own)))

    def judged(self, rows: Sequence[Array], subject: Subject) -> Judged:
        """The verdict on the linear estimate behind it: on the boundary maximum likelihood varies less than it errs."""
        before, enough = judge(self.before, rows, subject)
        fixed = enough & (before.variance == 0)
        return Judged(self.n, self.asked, self.cumulants(rows, subject), fixed, enough=enough)


def near_bound(above: Array, below: Array, own: Array, before: Array) -> Bools:
    """Whether a maximum-likelihood count is too close to its bounds for a normal interval.

    It is if it is within EDGE standard errors of the linear estimate (whose variance is `before`) of what it can be, or
    if its own variance is so small that it must be near another bound, as that of a margin.
    """
    far = (np.minimum(above, below) ** 2 >= EDGE**2 * before) & (own >= SHORTEST**2 * before)
    return np.asarray(~((before > 0) & far))
