"""Groups of respondents: their estimated truth, and how noisy it is. What an `Estimate` is a sum of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.inference.axis import Array, Axis
from deniable.inference.cumulants import NOTHING, Cumulants, by_margins, by_shares, by_table, cumulants
from deniable.inference.intervals import AT_ESTIMATE, trusted, within
from deniable.inference.one_column import MOST_EXACT, OneColumn
from deniable.inference.tensors import (
    along,
    answer_rows,
    contract,
    flat,
    margins,
    mix,
    moment_matrix,
    over_answers,
    over_entries,
)

SUBJECTS = ("respondents", "population")
FEWEST = 50  # respondents of a group, about the population: its variance is too small by one part in so many
WIDEST = 0.5  # standard error of a proportion, if all answers were equally common: beyond it, an interval says nothing
EDGE = 2.0  # standard errors: so far from none and from all, what is found by maximum likelihood has a normal law
SHORTEST = 0.5  # of the standard error before it: whole patterns make likelihood more precise, but not by more
SLACK = 1e-9  # of rounding: what varies less than this, compared with what it was, does not vary


@dataclass(frozen=True, eq=False)
class Group:
    """Respondents of one plan: how many, their estimated truth, and the axes that say how noisy it is."""

    n: int
    axes: tuple[Axis, ...]
    truth: Array

    subjects = SUBJECTS

    def project(self, axes: Sequence[int]) -> "Group":
        """Fewer features, in this order."""
        return Group(self.n, tuple(self.axes[axis] for axis in axes), margin(self.truth, axes))

    def covariance(self, left: Sequence[Array], right: Sequence[Array], *, population: bool) -> float:
        """Of two weighted sums whose weights are products, one vector per feature."""
        pairs = [axis.second(w, v) for axis, w, v in zip(self.axes, left, right, strict=True)]
        moment = contract(self.truth, [g for g, _ in pairs])
        if population:
            return moment - contract(self.truth, left) * contract(self.truth, right) / self.n
        return moment - contract(self.truth, [u for _, u in pairs])

    def cumulants(self, rows: Sequence[Array], *, population: bool) -> Cumulants:
        """Of all combinations of rows of weights, one matrix of rows per feature."""
        return cumulants(self.n, self.axes, rows, by_table(self.truth), population=population)

    def independent(self, rows: Sequence[Array], *, population: bool) -> Cumulants:
        """The same if all answers were independent, with the same margins."""
        return cumulants(self.n, self.axes, rows, by_margins(self.truth, len(self.axes)), population=population)

    def even(self, rows: Sequence[Array], *, population: bool) -> Cumulants:
        """The same if they were independent and equally common: what the plan and the number of reports say."""
        shares = [np.array([1.0, *[1 / max(2, axis.m)] * axis.m]) for axis in self.axes]
        return cumulants(self.n, self.axes, rows, by_shares(np.asarray(float(self.n)), shares), population=population)

    def column(self, weights: Sequence[Array], *, population: bool) -> OneColumn | None:
        """The exact law of an answer to one feature, if its estimate is that of one evidence column."""
        looked_at = [(k, w) for k, w in enumerate(weights) if w[1:].any()]
        if len(looked_at) != 1 or self.n > MOST_EXACT:
            return None
        ((k, w),) = looked_at
        axis = self.axes[k]
        if axis.centred and not axis.sums_to_one:
            return None  # its estimate draws on all columns
        place = int(np.argmax(np.abs(w[1:]))) + 1
        true = self.truth[tuple(place if j == k else 0 for j in range(self.truth.ndim))]
        c = round(axis.p * self.n + axis.d * float(true))
        answers = max(2, axis.m)
        if w[0]:  # a flag's False: no bit, which is likelier for those who would say False
            return OneColumn(self.n - c, self.n, 1 - axis.p - axis.d, 1 - axis.p, answers, population)
        return OneColumn(c, self.n, axis.p, axis.p + axis.d, answers, population)

    @property
    def entries(self) -> Array:
        """All entries of the truth as a vector; vectors of many truths, if it has more axes."""
        features = len(self.axes)
        return np.moveaxis(self.truth, range(features), range(-features, 0)).reshape(*self.truth.shape[features:], -1)

    def own_variances(self, *, population: bool) -> Array:
        """Of every entry of the truth: for flags alone, one transform in place."""
        if not all(axis.m == 1 for axis in self.axes):
            units = [np.eye(size) for size in self.truth.shape]
            squares = [axis.second(unit, unit) for axis, unit in zip(self.axes, units, strict=True)]
            moment = along(self.truth, [g for g, _ in squares])
            return moment - (self.truth**2 / self.n if population else along(self.truth, [u for _, u in squares]))
        moment = mix(self.truth, [((1, 0), (axis.noise[0], 1 + axis.noise[2])) for axis in self.axes])
        moment -= self.truth**2 / self.n if population else self.truth
        return moment

    def raw_variances(self, *, population: bool) -> Array:
        """The same, before anything was known."""
        return self.own_variances(population=population)

    def dense(self, *, population: bool) -> Array:
        """The covariance of all entries of the truth, in C order; of many truths, if it has more axes."""
        moments = [axis.seconds() for axis in self.axes]
        covariance = moment_matrix(self.truth, [g for g, _ in moments])
        if population:
            entries = self.entries
            return covariance - entries[..., :, None] * entries[..., None, :] / self.n
        return covariance - moment_matrix(self.truth, [u for _, u in moments])


@dataclass(frozen=True, eq=False)
class DenseGroup:
    """Respondents whose estimate has no product form. It answers as `Group` does, about what it has matrices for.

    It was made from the groups `before`, by conditioning or, if it is `likeliest`, by maximum likelihood: then
    covariances are those of cells that are not zero, given that the others are.
    """

    n: int
    truth: Array
    matrices: Mapping[str, Array]
    before: tuple["Group | DenseGroup", ...]
    likeliest: bool = False

    @property
    def subjects(self) -> tuple[str, ...]:
        """What it can be about."""
        return tuple(self.matrices)

    def project(self, axes: Sequence[int]) -> "DenseGroup":
        places = margin(np.arange(self.truth.size).reshape(self.truth.shape), axes).reshape(-1)
        matrices = {subject: matrix[np.ix_(places, places)] for subject, matrix in self.matrices.items()}
        before = tuple(group.project(axes) for group in self.before)
        return DenseGroup(self.n, margin(self.truth, axes), matrices, before, self.likeliest)

    def covariance(self, left: Sequence[Array], right: Sequence[Array], *, population: bool) -> float:
        return float(flat(left) @ self.dense(population=population) @ flat(right))

    def cumulants(self, rows: Sequence[Array], *, population: bool) -> Cumulants:
        """Those of a normal law: its own higher ones cannot be had in closed form.

        By maximum likelihood, what is near the edge of what can be has no normal law: there, those from before.
        """
        mean, weights = along(self.truth, rows), flat(rows)
        every = np.einsum("ij,jk,ik->i", weights, self.dense(population=population), weights, optimize=True)
        own = Cumulants.normal(mean, every.reshape(mean.shape))
        if not self.likeliest:
            return own
        before = sum((group.cumulants(rows, population=population) for group in self.before), start=NOTHING)
        over_cells = flat([matrix @ margins(matrix.shape[1] - 1) for matrix in rows])
        low, high = (self.n * end(axis=1).reshape(mean.shape) for end in (over_cells.min, over_cells.max))
        near = _near(mean - low, high - mean, own.variance, before.variance)
        return Cumulants(*(np.where(near, getattr(before, part.name), getattr(own, part.name)) for part in fields(own)))

    def column(self, weights: Sequence[Array], *, population: bool) -> None:  # noqa: ARG002 - one contract
        return None

    def own_variances(self, *, population: bool) -> Array:
        own = np.diagonal(self.dense(population=population)).reshape(self.truth.shape)
        if not self.likeliest:
            return own
        before = np.asarray(sum(group.own_variances(population=population) for group in self.before))
        return np.where(_near(self.truth, self.n - self.truth, own, before), before, own)

    def raw_variances(self, *, population: bool) -> Array:
        return np.asarray(sum(group.raw_variances(population=population) for group in self.before))

    def dense(self, *, population: bool) -> Array:
        return self.matrices["population" if population else "respondents"]


def _near(above: Array, below: Array, own: Array, before: Array) -> npt.NDArray[np.bool_]:
    """Whether a number so far above the least and below the most it can be is near the edge, given the variance before.

    Or near another edge, as that of a margin: then its own variance is much less than what other patterns explain.
    """
    far = (np.minimum(above, below) ** 2 >= EDGE**2 * before) & (own >= SHORTEST**2 * before)
    return ~((before > 0) & far)


def open_moment(group: "Group | DenseGroup", left: Sequence[Array], right: Sequence[Array]) -> float:
    """The covariance about the population of two weighted sums, if this group's answers were given openly.

    It is the covariance about the population less that about the respondents; of what was conditioned, it is as before.
    """
    if isinstance(group, DenseGroup):
        return sum(open_moment(one, left, right) for one in group.before)
    both = [over_entries(over_answers(w) * over_answers(v), len(w) - 1) for w, v in zip(left, right, strict=True)]
    return contract(group.truth, both) - contract(group.truth, left) * contract(group.truth, right) / group.n


def open_variance(group: "Group | DenseGroup", weights: Array) -> float:
    """The variance likewise, of a sum with weights that are no product, one for each entry."""
    if isinstance(group, DenseGroup):
        return sum(open_variance(one, weights) for one in group.before)
    columns = [size - 1 for size in group.truth.shape]
    over_cells = along(weights, [margins(m).T for m in columns])
    cells = along(group.truth, [answer_rows(m) for m in columns])
    return float((over_cells**2 * cells).sum() - (over_cells * cells).sum() ** 2 / group.n)


def testable(groups: Sequence[Group], rows: Sequence[Array]) -> npt.NDArray[np.bool_]:
    """Whether all combinations of rows are near enough to normal, if answers are independent, for a test of that."""
    independent = sum((group.independent(rows, population=True) for group in groups), start=NOTHING)
    features = tuple(range(-len(rows), 0))
    return np.asarray(within(independent, AT_ESTIMATE).all(axis=features))


def at_independence(group: Group) -> Array:
    """The covariance of all entries about the population, in C order, if answers were independent.

    If the truth has one more axis, of many groups.
    """
    features = len(group.axes)
    table = by_margins(group.truth, features)([np.eye(1 + axis.m) for axis in group.axes])
    table = np.moveaxis(table, range(-features, 0), range(features))
    return Group(group.n, group.axes, table).dense(population=True)


Groups = Sequence[Group | DenseGroup]


def judge(groups: Groups, rows: Sequence[Array], *, population: bool) -> tuple[Cumulants, npt.NDArray[np.bool_]]:
    """Cumulants of the sum of groups for all combinations of rows of weights, and which intervals are to be trusted.

    What was conditioned, or found by maximum likelihood, is trusted where that which it was made from is.
    """
    n = sum(group.n for group in groups)
    products = [group for group in groups if isinstance(group, Group)]
    others = [group for group in groups if isinstance(group, DenseGroup)]
    own = sum((group.cumulants(rows, population=population) for group in products), start=NOTHING)
    found = sum((group.cumulants(rows, population=population) for group in others), start=own)
    enough = found.variance > 0
    enough &= not population or min(group.n for group in groups) >= FEWEST
    if products:
        independent = sum((group.independent(rows, population=population) for group in products), start=NOTHING)
        even = sum((group.even(rows, population=population) for group in products), start=NOTHING)
        enough &= trusted(own, independent, even) & (even.variance <= (WIDEST * n) ** 2)
    known = reduce(np.logical_and.outer, [~matrix[:, 1:].any(axis=1) for matrix in rows])  # how many there are
    before = [judge(other.before, rows, population=population) for other in others]
    for _, ok in before:
        enough &= ok
    if any(other.likeliest for other in others):  # on the edge it varies less than it is uncertain
        if not products:
            known = known | np.logical_and.reduce([ok & (one.variance == 0) for one, ok in before])
    elif not (products and population):
        known = known | (np.abs(found.variance) <= SLACK * n)  # nothing was randomized, or it was given
    return replace(found, variance=np.where(known, 0.0, found.variance)), np.asarray(enough | known)


def margin(tensor: npt.NDArray[Any], axes: Sequence[int]) -> npt.NDArray[Any]:
    """Index 0 of all axes but these, which come in this order."""
    kept = sorted(axes)
    return tensor[tuple(slice(None) if axis in kept else 0 for axis in range(tensor.ndim))].transpose(
        [kept.index(axis) for axis in axes]
    )
