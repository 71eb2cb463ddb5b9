"""The one interface that every form of an estimate answers, so that nothing else need know which form it has.

`Group` keeps its covariance in product form, `LikelihoodGroup` and `ConditionedGroup` as matrices. Tensors have an axis
(all, column 1, ..., column m) per feature, and are in respondents of `n`. Weights of one sum are one vector per
feature; `rows` are one matrix of such vectors each.
"""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np

from deniable.errors import EstimateError
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import Cumulants
from deniable.inference.exact_binomial import OneColumn
from deniable.inference.one_feature import Array, Axis
from deniable.inference.trust import Judged
from deniable.kernels import physical_memory
from deniable.survey.schema import Feature


class Respondents(Protocol):
    """The estimated truth of one group of respondents, and its uncertainty. An `Estimate` is a sum of such groups."""

    @property
    def n(self) -> int:
        """How many respondents there are: the total of `truth`."""

    @property
    def asked(self) -> int:
        """How many of them were asked all of these features."""

    @property
    def truth(self) -> Array:
        """The mean: estimated numbers of respondents, margins at index 0."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """How noisy each feature is; an error if the estimate has no product form."""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Whom the covariance can be about."""

    @property
    def intervals_from(self) -> str:
        """The name of the estimator whose covariance this is, in words."""

    @property
    def adds_up(self) -> bool:
        """Whether each feature's answers sum to the whole, as measures of association need."""

    @property
    def unshrunk(self) -> "Respondents | None":
        """The linear estimate before it was shrunk, as a model's is; None where nothing is shrunk."""

    @property
    def linear(self) -> "tuple[Respondents, ...]":
        """The linear estimates that joint results are computed from: near a bound only these are normal."""

    def project(self, axes: Sequence[int]) -> "Respondents":
        """The estimate of fewer features, in this order."""

    def covariance(self, left: Sequence[Array], right: Sequence[Array], subject: Subject) -> Array:
        """The covariance of two weighted sums of entries; with rows, of each combination of these on both sides."""

    def dense(self, subject: Subject) -> Array:
        """The covariance matrix of all entries, in C order."""

    def variances(self, subject: Subject) -> Array:
        """The variance of every entry."""

    def unconditional_variances(self, subject: Subject) -> Array:
        """The variance of every entry before conditioning on known margins (`given`); rounding is judged against it."""

    def cumulants(self, rows: Sequence[Array], subject: Subject) -> Cumulants:
        """The cumulants of all combinations of rows of weights."""

    def with_shape(self, rows: Sequence[Array], subject: Subject) -> tuple[Cumulants, Cumulants]:
        """The cumulants of all combinations of rows, and those at a proper table nearby, which say their shape."""

    def judged(self, rows: Sequence[Array], subject: Subject) -> Judged:
        """What the trust rule needs to know of all combinations of rows of weights."""

    def exact(self, weights: Sequence[Array], subject: Subject) -> OneColumn | None:
        """The exact distribution of a weighted sum, if it has one."""

    def sampling_covariance(self, left: Sequence[Array], right: Sequence[Array]) -> Array:
        """The covariance of two weighted sums about the population, if nothing were randomized."""

    def sampling_variance(self, weights: Array) -> float:
        """Variance from sampling alone of a sum with any weights, shaped like `truth`."""

    def at_independence(self) -> Array:
        """The covariance of all entries about the population, in C order, if all features were independent."""

    def if_independent(self, rows: Sequence[Array]) -> Cumulants:
        """The cumulants about the population of all combinations of rows, if all features were independent."""

    def zero_by_chance(self, subject: Subject) -> bool:
        """Whether a variance, evaluated at the estimate, may be zero only because reports happen to be alike."""


class SeenTable(Protocol):
    """What n reports say of a table: a quadratic misfit t'Ht / 2 - b't, in the metric at any table."""

    @property
    def n(self) -> float:
        """How many reports."""

    @property
    def levels(self) -> tuple[int, ...]:
        """How many answers each feature has."""

    def at_first(self) -> tuple[Array, Array]:
        """The form H and the vector b of the misfit in the metric to begin with."""

    def at_table(self, shares: Array) -> tuple[Array, Array]:
        """The form H and the vector b of the misfit in the metric at a table of shares."""


class AnyEstimate(Protocol):
    """What results need to know of a whole estimate, which is a sum over groups of respondents."""

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features, in the order of the axes."""

    @property
    def groups(self) -> tuple[Respondents, ...]:
        """The groups of respondents that the estimate is a sum of."""

    @property
    def subject(self) -> Subject:
        """Whom the estimate is about."""

    @property
    def n(self) -> int:
        """How many respondents there are."""

    @property
    def asked(self) -> int:
        """How many of them were asked all of these features."""

    @property
    def fitted(self) -> Array | None:
        """A proper table with its margins, in respondents, if the estimate's mean is one."""

    @property
    def truth(self) -> Array:
        """The estimated numbers of respondents: of the proper table, or else of the groups."""

    def project(self, *names: str) -> "AnyEstimate":
        """The estimate of fewer features, in this order."""


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, where arrays are equal if all their entries are, and dataclasses field by field."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if is_dataclass(left) and type(left).__eq__ is object.__eq__:
        return all(same(getattr(left, field.name), getattr(right, field.name)) for field in fields(left))
    return bool(left == right)


def total(parts: Sequence[Array]) -> Array:
    """The sum of arrays, one per group of respondents; of one group, its own array, not to be written to."""
    return np.asarray(reduce(np.add, parts))


def dense_covariance(groups: Sequence[Respondents], subject: Subject, entries: int) -> Array:
    """The covariance matrix of all entries of a sum over groups; refused before it is made if memory cannot hold it."""
    if 3 * 8 * entries**2 > physical_memory() // 2:
        raise EstimateError(
            f"the covariance of {entries:,} entries needs {3 * 8 * entries**2 / 1e9:,.1f} GB; "
            "ask for its entries, covariance({...}, {...}), or for fewer features with project"
        )
    return total([group.dense(subject) for group in groups])


def linear_groups(est: AnyEstimate) -> tuple[Respondents, ...]:
    """The linear estimates behind an estimate.

    On the boundary of the simplex maximum likelihood is not normal, so joint results are asked of the linear estimate.
    """
    return tuple(one for group in est.groups for one in group.linear)
