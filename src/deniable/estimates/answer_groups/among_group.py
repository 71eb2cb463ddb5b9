"""Groups of respondents among those with certain answers, as if these were a survey of their own: by the delta method.

With q the numbers of respondents in the cells that are left and S their sum, which is estimated as they are, shares are
p = q / S, and the error of p is to first order that of

    (q - p S) / S

So the covariance of p is (I - p 1') Cov(q) (I - p 1')' / S^2, whatever that of all answers is. A test of independence
is about the answers that are left, with the covariance at a table in which these are independent and all others, those
who skipped a question among them, are as they were found: that people skip two questions together is no association.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.interface import Respondents, total
from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import Cumulants
from deniable.inference.one_feature import Array, Axis
from deniable.inference.ratios import SURELY_POSITIVE
from deniable.inference.tensors import (
    along,
    answer_rows,
    contract,
    margins,
    over_answers,
    over_entries,
    sandwich,
    weighted_sums,
)
from deniable.inference.trust import Judged


@dataclass(frozen=True, eq=False)
class AmongGroup:
    """Respondents with certain answers to some features: entries of the answers that are left, by entries of `inner`.

    `maps` have a row for everybody who is left and one for each column of a feature that is shown. `left` are the
    weights of everybody who is left on the axes of the others, which come after. `shares` are those of all entries in
    the sum of all groups, and `scale` is n over the estimated number of these respondents; many, if `inner` has many.
    """

    inner: Respondents
    maps: tuple[Array, ...]
    left: tuple[Array, ...]
    n: int
    scale: Array
    shares: Array

    @classmethod
    def of(
        cls, groups: Sequence[Respondents], maps: Sequence[Array], left: Sequence[Array] = ()
    ) -> "tuple[AmongGroup, ...]":
        """Groups of respondents among those with certain answers, whose sum is that of all who have them."""
        rows = [*maps, *(vector[None] for vector in left)]
        each = [along(group.truth, rows) for group in groups]
        every = total(each)
        first: Any = (..., *[0] * len(rows))
        everybody = every[first]
        sizes = [max(1, round(float(np.mean(own[first])))) for own in each]
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.asarray(sum(sizes) / everybody)
            shares = every / everybody.reshape((*everybody.shape, *[1] * len(rows)))
        shares = shares.reshape(shares.shape[: -len(left)] if left else shares.shape)
        pairs = zip(groups, sizes, strict=True)
        return tuple(cls(group, tuple(maps), tuple(left), n, scale, shares) for group, n in pairs)

    @property
    def asked(self) -> int:
        """How many of these respondents were asked all of these features, as estimated."""
        return max(1, round(self.inner.asked * self.n / self.inner.n))

    @property
    def truth(self) -> Array:
        found = self._squeezed(along(self.inner.truth, self._rows(self.maps)), len(self.maps))
        return np.moveaxis(found * self._scale(len(self.maps)), range(-len(self.maps), 0), range(len(self.maps)))

    @property
    def axes(self) -> tuple[Axis, ...]:
        raise EstimateError("an estimate among some respondents has no product form: ask before among(...)")

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
        return self.inner.unshrunk and replace(self, inner=self.inner.unshrunk)

    @property
    def linear(self) -> "tuple[Respondents, ...]":
        return (self,)

    def project(self, axes: Sequence[int]) -> "AmongGroup":
        """The same of fewer features, in this order: those who are left stay the same."""
        others = [axis for axis in range(len(self.maps)) if axis not in axes]
        inner = self.inner.project([*axes, *others, *range(len(self.maps), len(self.maps) + len(self.left))])
        kept = self.shares[(..., *(slice(None) if axis in axes else 0 for axis in range(len(self.maps))))]
        many = kept.ndim - len(axes)
        order = [*range(many), *(many + sorted(axes).index(axis) for axis in axes)]
        left = (*(self.maps[axis][0] for axis in others), *self.left)
        maps = tuple(self.maps[axis] for axis in axes)
        return replace(self, inner=inner, maps=maps, left=left, shares=kept.transpose(order))

    def of_tables(self, places: Any) -> "AmongGroup":
        """Some of many tables."""
        assert isinstance(self.inner, Group)
        return self.again(self.inner.of_tables(places))

    @property
    def alone(self) -> "AmongGroup":
        """The same respondents by themselves, whatever the other groups of a sum are."""
        return self.again(self.inner)

    def again(self, inner: Respondents) -> "AmongGroup":
        """The same answers of another group of respondents."""
        return AmongGroup.of([inner], self.maps, self.left)[0]

    def covariance(self, left: Sequence[Array], right: Sequence[Array], subject: Subject) -> Array:
        axes = len(left) if left[0].ndim > 1 else 0
        everybody = [np.broadcast_to(np.eye(1, own.shape[-1])[0], own.shape) for own in left]

        def both(w: Sequence[Array], v: Sequence[Array]) -> Array:
            found = self.inner.covariance(self._behind(w), self._behind(v), subject)
            return np.asarray(self._squeezed(np.asarray(found), axes))

        of_left, of_right = self._shares_of(left), self._shares_of(right)
        found = both(left, right) - of_left * both(everybody, right) - of_right * both(left, everybody)
        return np.asarray((found + of_left * of_right * both(everybody, everybody)) * self._scale(axes) ** 2)

    def dense(self, subject: Subject) -> Array:
        return self._projected(self.inner.dense(subject), self.shares)

    def variances(self, subject: Subject) -> Array:
        each = np.diagonal(self.dense(subject), axis1=-2, axis2=-1)
        return each.reshape(*each.shape[:-1], *(len(each) for each in self.maps))

    def unconditional_variances(self, subject: Subject) -> Array:
        """The most that variances can be, as of merged answers, before they are divided by how many are left."""
        noise = np.sqrt(np.abs(self.inner.unconditional_variances(subject)))
        found = self._squeezed(along(noise, [np.abs(each) for each in self._rows(self.maps)]), len(self.maps))
        return np.asarray((found * self._scale(len(self.maps))) ** 2)

    def cumulants(self, rows: Sequence[Array], subject: Subject) -> Cumulants:
        return self._scaled(self.inner.cumulants(self._behind(rows), subject), rows)

    def with_shape(self, rows: Sequence[Array], subject: Subject) -> tuple[Cumulants, Cumulants]:
        found, shape = self.inner.with_shape(self._behind(rows), subject)
        return self._scaled(found, rows), self._scaled(shape, rows)

    def judged(self, rows: Sequence[Array], subject: Subject) -> Judged:
        """What the trust rule needs to know; there is nothing to trust unless somebody surely is left."""
        one, axes = self.inner.judged(self._behind(rows), subject), len(rows)
        own, shape = (None if each is None else self._scaled(each, rows) for each in (one.own, one.shape))
        references = one.references and (self._scaled(one.references[0], rows), self._scaled(one.references[1], rows))
        fixed, enough, asked = (self._squeezed(np.asarray(each), axes) for each in (one.fixed, one.enough, one.asked))
        asked = asked * self.n / self.inner.n / self._scale(axes)
        enough = enough & self._some_left(axes)
        return Judged(self.n, asked, self._scaled(one.found, rows), fixed, references, enough, own, shape)

    def weights_behind(self, rows: Array) -> Array:
        """Rows of weights of the entries behind, whose sums move as shares among those who are left do."""
        apart, axes = rows.copy(), tuple(range(1, rows.ndim))
        first: Any = (..., *[0] * len(axes))
        apart[first] -= (rows * self.shares).sum(axis=axes)
        behind = along(np.moveaxis(apart, 0, -1), [each.T for each in self.maps])
        for vector in self.left:
            behind = behind[..., None] * vector
        return behind

    def exact(self, weights: Sequence[Array], subject: Subject) -> None:  # noqa: ARG002 - one contract
        return None

    def sampling_covariance(self, left: Sequence[Array], right: Sequence[Array]) -> Array:
        """The covariance of two weighted sums, were nothing randomized: a multinomial's, of those who are left."""
        both = [over_entries(over_answers(w) * over_answers(v), len(w) - 1) for w, v in zip(left, right, strict=True)]
        return contract(self.truth, both) - contract(self.truth, left) * contract(self.truth, right) / self.n

    def sampling_variance(self, weights: Array) -> float:
        of_cells = along(weights, [margins(len(each) - 1).T for each in self.maps])
        cells = along(self.truth, [answer_rows(len(each) - 1) for each in self.maps])
        return float((of_cells**2 * cells).sum() - (of_cells * cells).sum() ** 2 / self.n)

    def zero_by_chance(self, subject: Subject) -> bool:
        return self.inner.zero_by_chance(subject)

    def at_independence(self) -> Array:
        """The covariance about the population, if the answers that are left were independent, and others as found."""
        own = self._cells(self.truth)
        everybody = own.sum(axis=(-2, -1), keepdims=True)
        change = np.moveaxis((_independent(own / everybody) * everybody - own) / self._scale(2), (-2, -1), (0, 1))
        rows = [answer_rows(len(each) - 1) @ each for each in self.maps]
        moved = along(change, [_entries_of(each) for each in rows])
        for vector in self.left:
            moved = moved[..., None] * _entries_of(vector[None])[:, 0]
        features = tuple(range(len(self.maps) + len(self.left)))
        table = self.inner.truth + np.moveaxis(moved, [place - len(features) for place in features], features)
        shares = _independent(self._cells(np.moveaxis(self.shares, (-2, -1), (0, 1))))
        null = along(np.moveaxis(shares, (-2, -1), (0, 1)), [margins(len(each) - 1) for each in self.maps])
        return self._projected(_dense_at(self.inner, table), null)

    def if_independent(self, rows: Sequence[Array]) -> Cumulants:
        found = self._scaled(self.inner.if_independent(self._behind(rows)), rows)
        return replace(found, variance=np.where(self._some_left(len(rows)), found.variance, np.nan))

    def _projected(self, behind: Array, shares: Array) -> Array:
        """The covariance of all entries given that of all entries behind, where these are their shares."""
        found = sandwich(self._rows(self.maps), behind)
        t = shares.reshape(*found.shape[:-1])
        found = found - t[..., :, None] * found[..., :1, :]
        found = found - found[..., :, :1] * t[..., None, :]
        return np.asarray(found * self._scale(2) ** 2)

    def _cells(self, truth: Array) -> Array:
        """The cells of a tensor of entries; those of many come first."""
        return along(truth, [answer_rows(len(each) - 1) for each in self.maps])

    def _some_left(self, rows: int) -> Any:
        """Whether surely somebody is left: how many, SURELY_POSITIVE standard errors above zero."""
        everybody = [own[0] for own in self.maps] + list(self.left)
        variance = self.inner.covariance(everybody, everybody, self.subjects[0])
        number = contract(self.inner.truth, everybody)
        sure = np.asarray(number > SURELY_POSITIVE * np.sqrt(np.maximum(variance, 0)))
        return sure.reshape((*sure.shape, *[1] * rows))

    def _rows(self, weights: Sequence[Array]) -> list[Array]:
        """Rows of weights of the axes behind, with those of everybody who is left for the others."""
        return [*weights, *(vector[None] for vector in self.left)]

    def _behind(self, weights: Sequence[Array]) -> list[Array]:
        """Weights of the entries of the group behind, from those of the entries that are left."""
        behind = [own @ each for own, each in zip(weights, self.maps, strict=True)]
        return self._rows(behind) if weights[0].ndim > 1 else [*behind, *self.left]

    def _shares_of(self, weights: Sequence[Array]) -> Array:
        """Weighted sums of the shares of entries, as they are in all groups together."""
        features = len(self.maps)
        return weighted_sums(np.moveaxis(self.shares, range(-features, 0), range(features)), weights)

    def _scale(self, axes: int) -> Array:
        """What numbers of respondents are multiplied by, to go with this many last axes."""
        return np.asarray(self.scale).reshape((*np.shape(self.scale), *[1] * axes))

    def _squeezed(self, found: Any, axes: int) -> Any:
        """A result for rows of weights without the axes of features that are not shown."""
        extra = len(self.left) if axes else 0
        return found.reshape(found.shape[:-extra]) if extra and np.ndim(found) >= extra else found

    def _scaled(self, found: Cumulants, rows: Sequence[Array]) -> Cumulants:
        """The cumulants of sums of entries, from those of the sums behind."""
        parts = (self._squeezed(np.asarray(getattr(found, part.name)), len(rows)) for part in fields(found))
        return Cumulants(*parts).scaled(self._scale(len(rows) if rows[0].ndim > 1 else 0))


def _independent(cells: Array) -> Array:
    """Shares of cells were both features independent, with the same margins."""
    return np.asarray(cells.sum(axis=-1, keepdims=True) * cells.sum(axis=-2, keepdims=True))


def _entries_of(rows: Array) -> Array:
    """The matrix from answers to the entries of a feature's axis, given the rows of weights that count them.

    An answer that stands for several is spread over these evenly.
    """
    columns = rows.shape[1] - 1
    counted = rows @ margins(columns)
    return np.asarray(margins(columns) @ (counted / counted.sum(axis=1, keepdims=True)).T)


def _dense_at(group: Respondents, table: Array) -> Array:
    """The covariance about the population of all entries of a group, were its truth this table.

    What else its reports tell of, as of other questions of a block, is as close to what it was as the table lets it.
    """
    if isinstance(group, Group):
        return replace(group, truth=table).dense(Subject.POPULATION)
    if not hasattr(group, "dense_at"):
        return group.at_independence()  # which says why there is none
    of_cells = group.of_cells  # type: ignore[attr-defined]
    found = group.table if isinstance(group, ArmsGroup) else np.zeros(of_cells.shape[1])
    change = np.linalg.pinv(of_cells) @ (table.reshape(-1) / group.n - of_cells @ found)
    return np.asarray(group.dense_at(found + change, Subject.POPULATION))
