"""Groups of respondents straight from counts: their estimated truth, with its covariance in product form.

What an `Estimate` is a sum of, if nothing more is known. `interface.Respondents` says what each form answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.estimates.feasible import seen_in_counts
from deniable.estimates.interface import Respondents, SeenTable
from deniable.inference.about_whom import Subject
from deniable.inference.any_weights import cumulants_of_sums
from deniable.inference.cumulants import (
    NOTHING,
    Contraction,
    Cumulants,
    RowFunctions,
    by_margins,
    by_shares,
    by_table,
    cumulants,
    row_functions,
)
from deniable.inference.exact_binomial import MOST_EXACT, OneColumn
from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import (
    along,
    answer_count,
    answer_rows,
    contract,
    flat,
    invert,
    margins,
    mix,
    moment_matrix,
    over_answers,
    over_entries,
)
from deniable.inference.trust import AT_ESTIMATE, SLACK, Bools, Judged, judged_sum, nearly_normal_sum, within

# So many respondents are added to a cell, on average, where the shape of an estimate's distribution is looked up.
ADDED = 0.5


@dataclass(frozen=True, eq=False)
class Group:
    """Respondents of one plan, with the covariance of their estimate in product form: one axis per feature.

    The truth may have more axes than there are features: then it stands for many tables, and so do all results.
    """

    n: int
    axes: tuple[Axis, ...]
    truth: Array
    some: int | None = None  # how many were asked these features, if not all
    unshrunk = None

    @classmethod
    def from_counts(cls, n: int, asked: int, axes: tuple[Axis, ...], counts: npt.NDArray[np.int64]) -> "Group":
        """The estimate of all n respondents: the counts of those who were asked, inverted axis by axis."""
        truth = invert(axes, counts)
        return cls(n, axes, truth) if asked == n else cls(n, axes, truth * (n / asked), asked)

    @property
    def asked(self) -> int:
        return self.n if self.some is None else self.some

    @property
    def intervals_from(self) -> str:
        return "consistent" if self.adds_up else "unbiased"

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Whom the estimate can be about: only the population if some were not asked, whose answers no report holds."""
        return tuple(Subject) if self.some is None else (Subject.POPULATION,)

    @property
    def adds_up(self) -> bool:
        return all(axis.adds_up for axis in self.axes)

    @property
    def linear(self) -> tuple[Respondents, ...]:
        return (self,)

    def project(self, axes: Sequence[int]) -> "Group":
        return Group(self.n, tuple(self.axes[axis] for axis in axes), margin(self.truth, axes), self.some)

    def of_tables(self, places: npt.NDArray[np.int64]) -> "Group":
        """Some of many tables, which stand in the last axis."""
        return replace(self, axes=tuple(axis.of_tables(places) for axis in self.axes), truth=self.truth[..., places])

    def covariance(self, left: Sequence[Array], right: Sequence[Array], subject: Subject) -> Array:
        """The covariance of two weighted sums, from one vector of second moments per axis; with rows, of many."""
        sums = contract if left[0].ndim == 1 else along
        pairs = [axis.second(w, v) for axis, w, v in zip(self.axes, left, right, strict=True)]
        moment = sums(self.truth, [g for g, _ in pairs])
        if subject is Subject.POPULATION:
            return self._of_all(moment - sums(self.truth, left) * sums(self.truth, right) / self.n)
        return moment - sums(self.truth, [u for _, u in pairs])

    def dense(self, subject: Subject) -> Array:
        """The covariance matrix of all entries, in C order; one of each table, if there are many."""
        moments = [axis.seconds() for axis in self.axes]
        covariance = moment_matrix(self.truth, [g for g, _ in moments])
        if subject is Subject.POPULATION:
            entries = self.entries
            return self._of_all(covariance - entries[..., :, None] * entries[..., None, :] / self.n)
        return covariance - moment_matrix(self.truth, [u for _, u in moments])

    def variances(self, subject: Subject) -> Array:
        """The variance of every entry, from one small matrix along each axis."""
        if all(axis.m == 1 for axis in self.axes):  # one transform in place, and the square of an entry is itself
            moment, square = mix(self.truth, [axis.square_of_flag for axis in self.axes]), self.truth
        else:
            rows = [np.eye(1 + axis.columns) for axis in self.axes]
            return self.covariance(rows, rows, subject)
        if subject is Subject.POPULATION:
            moment -= self.truth**2 / self.n
            return self._of_all(moment)
        moment -= square
        return moment

    def unconditional_variances(self, subject: Subject) -> Array:
        return self.variances(subject)

    def cumulants(self, rows: Sequence[Array], subject: Subject) -> Cumulants:
        return self._cumulants(row_functions(self.axes, rows, subject), by_table(self.truth))

    def independent(self, functions: RowFunctions) -> Cumulants:
        """The cumulants if all answers were independent, with the same margins."""
        return self._cumulants(functions, by_margins(self.truth, len(self.axes)))

    def even(self, rows: Sequence[Array], subject: Subject) -> Cumulants:
        """The cumulants if answers were independent and equally common: what the plan and the number of reports say."""
        return self._even(row_functions(self._plain, rows, subject))

    def _even(self, functions: RowFunctions) -> Cumulants:
        shares = [np.array([1.0, *[1 / answer_count(axis.columns)] * axis.columns]) for axis in self.axes]
        return self._cumulants(functions, by_shares(np.asarray(float(self.n)), shares))

    def with_shape(self, rows: Sequence[Array], subject: Subject) -> tuple[Cumulants, Cumulants]:
        return self._with_shape(row_functions(self.axes, rows, subject))

    def _with_shape(self, functions: RowFunctions) -> tuple[Cumulants, Cumulants]:
        found, shape = (self._cumulants(functions, by_table(table)) for table in (self.truth, self.proper))
        return found, shape

    def judged(self, rows: Sequence[Array], subject: Subject) -> Judged:
        functions = row_functions(self.axes, rows, subject)
        found, shape = self._with_shape(functions)
        fixed = (np.abs(found.variance) <= SLACK * self.n) & (not self.zero_by_chance(subject))
        even = self._even(functions) if self._plain == self.axes else self.even(rows, subject)
        return Judged(self.n, self.asked, found, fixed, (self.independent(functions), even), shape=shape)

    @cached_property
    def proper(self) -> Array:
        """A proper table near the truth: cells below zero are cut, and all have some respondents, as if independent."""
        features, added = len(self.axes), ADDED * self.n / self.asked
        rows: list[Any] = [answer_rows(axis.columns) for axis in self.axes]
        cells, independent = along(self.truth, rows), by_margins(self.truth, features, added)(rows)
        last, first = tuple(range(-features, 0)), tuple(range(features))
        n = np.expand_dims(self.truth[(0,) * features], last)
        cells = np.maximum(cells, 0.0) + added * prod(map(len, rows)) * independent / n
        cells *= n / cells.sum(axis=last, keepdims=True)
        entries = along(np.moveaxis(cells, last, first), [margins(axis.columns) for axis in self.axes])
        return np.moveaxis(entries, last, first)

    def exact(self, weights: Sequence[Array], subject: Subject) -> OneColumn | None:
        """The exact distribution of an answer to one feature, if its estimate is that of one evidence column."""
        looked_at = [(k, w) for k, w in enumerate(weights) if w[1:].any()]
        if len(looked_at) != 1 or self.asked > MOST_EXACT:
            return None
        ((k, w),) = looked_at
        if np.count_nonzero(w[1:]) > 1:
            return None  # several answers, or scores
        axis, n, answers = self.axes[k], self.asked, answer_count(self.axes[k].columns)
        if axis.times or (axis.centred and not axis.sums_to_one):
            return None  # its estimate draws on several columns, or on all
        place = int(np.argmax(np.abs(w[1:]))) + 1
        true = float(self.truth[tuple(place if j == k else 0 for j in range(self.truth.ndim))])
        c = round(axis.p * n + axis.d * (true if self.some is None else true * n / self.n))
        if w[0]:  # a flag's False: no bit, which is likelier for those who would say False
            return OneColumn(n - c, n, 1 - axis.p - axis.d, 1 - axis.p, answers, subject)
        return OneColumn(c, n, axis.p, axis.p + axis.d, answers, subject)

    def sampling_covariance(self, left: Sequence[Array], right: Sequence[Array]) -> Array:
        """The covariance of two weighted sums about the population, if nothing were randomized: a multinomial's."""
        both = [over_entries(over_answers(w) * over_answers(v), len(w) - 1) for w, v in zip(left, right, strict=True)]
        return contract(self.truth, both) - contract(self.truth, left) * contract(self.truth, right) / self.n

    def sampling_variance(self, weights: Array) -> float:
        over_cells = along(weights, [margins(axis.columns).T for axis in self.axes])
        cells = along(self.truth, [answer_rows(axis.columns) for axis in self.axes])
        return float((over_cells**2 * cells).sum() - (over_cells * cells).sum() ** 2 / self.n)

    def zero_by_chance(self, subject: Subject) -> bool:
        return subject is Subject.POPULATION

    def at_independence(self) -> Array:
        """The covariance of all entries about the population, in C order, if all answers were independent."""
        features = len(self.axes)
        table = by_margins(self.truth, features)([np.eye(1 + axis.columns) for axis in self.axes])
        table = np.moveaxis(table, range(-features, 0), range(features))
        return Group(self.n, self.axes, table, self.some).dense(Subject.POPULATION)

    def if_independent(self, rows: Sequence[Array]) -> Cumulants:
        return self.independent(row_functions(self._plain, rows, Subject.POPULATION))

    @property
    def seen(self) -> SeenTable:
        """What the reports say of all cells, for a proper table that is closest to it."""
        return seen_in_counts(self.asked, self.axes, self.truth * (self.asked / self.n))

    @property
    def of_cells(self) -> Array:
        """The matrix from the numbers of respondents in all cells to all entries."""
        return flat([margins(axis.columns) for axis in self.axes])

    def dense_at(self, shares: Array, subject: Subject) -> Array:
        """The covariance matrix of all entries, were these the shares of all cells."""
        table = along(shares.reshape(self._levels), [margins(axis.columns) for axis in self.axes])
        return replace(self, truth=self.n * table).dense(subject)

    def sums_at(self, weights: Array, shares: Array, subject: Subject) -> Cumulants:
        """The cumulants for rows of any weights of all entries, were these the shares of all cells."""
        scale = self.n / self.asked
        covariance = self.dense_at(shares, subject) / scale**2
        return cumulants_of_sums(self.asked, self.axes, shares, covariance, weights, subject).scaled(scale)

    @property
    def entries(self) -> Array:
        """All entries of the truth as a vector; vectors of many truths, if it has more axes."""
        features = len(self.axes)
        return np.moveaxis(self.truth, range(features), range(-features, 0)).reshape(*self.truth.shape[features:], -1)

    @property
    def _levels(self) -> list[int]:
        """How many answers each feature has."""
        return [answer_count(axis.columns) for axis in self.axes]

    @property
    def _plain(self) -> tuple[Axis, ...]:
        """The axes with equal weights of centring, as if answers were equally common: less noise shows more shape."""
        return tuple(axis.plain for axis in self.axes)

    def _cumulants(self, functions: RowFunctions, of: Contraction) -> Cumulants:
        """The cumulants for a table of all respondents, of whom only some may have been asked."""
        if self.some is None:
            return cumulants(self.n, functions, of)
        scale = self.n / self.asked
        return cumulants(self.asked, functions, lambda matrices: of(matrices) / scale).scaled(scale)

    def _of_all(self, variance: Array) -> Array:
        """A variance that is right if all n were asked, for the number that were."""
        return variance if self.some is None else variance * (self.n / self.asked)


def judge(groups: Sequence[Respondents], rows: Sequence[Array], subject: Subject) -> tuple[Cumulants, Bools]:
    """The cumulants of a sum of groups for all combinations of rows of weights, and which intervals are trusted."""
    return judged_sum([group.judged(rows, subject) for group in groups], rows, subject)


def nearly_normal(groups: Sequence[Respondents], rows: Sequence[Array], subject: Subject) -> Bools:
    """Which combinations of rows of weights are so nearly normal that what is made of them has normal intervals."""
    return nearly_normal_sum([group.judged(rows, subject) for group in groups], rows, subject)


def normal_if_independent(each: Sequence[Judged], rows: Sequence[Array], subject: Subject) -> Bools:
    """Which combinations of rows are nearly normal, were the features independent with the margins that were found.

    So the verdict does not depend on how strongly they are associated. Estimates that do not say what they would be
    then are taken as they are.
    """
    at_margins = [replace(one, own=one.references[0]) if one.references else one for one in each]
    return nearly_normal_sum(at_margins, rows, subject)


def product_form(of: Respondents) -> Group:
    """A group of respondents in product form, or an error if its estimate has none."""
    return Group(of.n, of.axes, of.truth, None if of.asked == of.n else of.asked)


def testable(groups: Sequence[Respondents], rows: Sequence[Array]) -> Bools:
    """Whether all combinations of rows are near enough to normal, if answers are independent, for a test of that."""
    independent = sum((group.if_independent(rows) for group in groups), start=NOTHING)
    return np.asarray(within(independent, AT_ESTIMATE).all(axis=tuple(range(-len(rows), 0))))


def margin(tensor: npt.NDArray[Any], axes: Sequence[int]) -> npt.NDArray[Any]:
    """The margin of a tensor over these axes, in this order: index 0 of all others."""
    kept = sorted(axes)
    return tensor[tuple(slice(None) if axis in kept else 0 for axis in range(tensor.ndim))].transpose(
        [kept.index(axis) for axis in axes]
    )
