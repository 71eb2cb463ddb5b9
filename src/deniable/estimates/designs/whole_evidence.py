"""Generalized least squares over whole blocks: a table from all that arms say, of other questions too.

What an arm says of a question c beside the table, and of c with each of the table's questions, goes with what it says
of the table, as the same people answered. Other arms say what these contrasts are, so that they tell how far the
people of an arm happen to be from the others. With y the table's part of what a block says, and e the contrasts of the
questions beside it, the unknowns are (t, h), where h are these contrasts, the same for all blocks that see them,

    E (y, e) = (X t, h),     V = Cov (y, e) + (X t, 0) (X t, 0)'

for one report; the metric does not depend on the last term, as all y sum to one. h is then eliminated, which leaves

    A t = b,     Cov(t) = A^-1 - t t' / n

about the population, as for the table alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from deniable.estimates.designs.least_squares import Evidence, Metric, Totals, spread, sums_over, symmetric
from deniable.estimates.designs.whole_blocks import Codes, Family
from deniable.estimates.feasible import definite
from deniable.inference.one_feature import Array
from deniable.inference.results import Homogeneity


@dataclass(frozen=True, eq=False)
class WholeEvidence:
    """What whole blocks, and the kinds of all other arms, say of a table; `local` is what all arms say of it alone."""

    local: Evidence
    rest: Evidence  # of arms that are not taken whole
    families: tuple[Family, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """The evidence columns of each feature."""
        return self.local.columns

    @property
    def levels(self) -> tuple[int, ...]:
        """How many answers each feature has."""
        return self.local.levels

    @property
    def cells(self) -> int:
        """How many cells the table has."""
        return self.local.cells

    @property
    def n(self) -> float:
        """How many reports say anything of the table, or of questions beside it."""
        return self.rest.n + sum(family.n for family in self.families)

    @property
    def homogeneity(self) -> Homogeneity:
        """The chi-square test of whether all kinds of reports say the same of the table."""
        return self.local.homogeneity

    def asked(self, places: Sequence[int]) -> int:
        """How many were asked all features at these places."""
        return self.local.asked(places)

    @cached_property
    def best(self) -> Metric:
        """Least squares in the metric at the proper table that was found from the table's part of all blocks."""
        return self.at(self.local.best.table)

    def at_first(self) -> tuple[Array, Array]:
        """The form A / n and the vector b / n of the misfit, in the metric at the uniform table."""
        return self.local.at_first()

    def at_table(self, shares: Array) -> tuple[Array, Array]:
        """The form A / n and the vector b / n of the misfit, in the metric at a table of shares."""
        metric = self.at(shares)
        return definite(metric.A / self.n), metric.b / self.n

    def at(self, shares: Array) -> Metric:
        """Least squares in the metric at a proper table of shares, with the blocks' tables given it."""
        table = spread(self.n, shares.reshape(-1))
        alone = self.rest.at_positive(table)
        A, b = alone.A.copy(), alone.b.copy()
        known, both, own = np.zeros((self._beside,) * 2), np.zeros((self._beside, self.cells)), np.zeros(self._beside)
        forms = []
        for family, X, places in zip(self.families, self.sums, self.places, strict=True):
            form = _form(family, X @ table)
            cut = len(X)
            said = (form @ (family.shares @ family.rows.T)[:, :, None])[:, :, 0]
            A += X.T @ form[:, :cut, :cut].sum(axis=0) @ X
            b += X.T @ said[:, :cut].sum(axis=0)
            np.add.at(known, (places[:, :, None], places[:, None, :]), form[:, cut:, cut:])
            np.add.at(both, places, form[:, cut:, :cut] @ X)
            np.add.at(own, places, said[:, cut:])
            forms.append(form)
        slopes = np.linalg.solve(known, both)  # how h moves with t
        scaled = [
            family.rows.T @ (form[:, :, : len(X)] @ X - form[:, :, len(X) :] @ slopes[places])
            for family, X, places, form in zip(self.families, self.sums, self.places, forms, strict=True)
        ]
        return Metric(table, symmetric(A - both.T @ slopes), b - slopes.T @ own, (*alone.scaled, *scaled))

    @cached_property
    def sums(self) -> tuple[Array, ...]:
        """The matrix X of each family: which cells of the table each combination of own answers is the sum of."""
        return tuple(sums_over(self.levels, family.own) for family in self.families)

    @cached_property
    def places(self) -> tuple[Codes, ...]:
        """Where the contrasts beside the table of each block stand among all of them, a row for each block."""
        return self._numbered[0]

    @property
    def _beside(self) -> int:
        return self._numbered[1]

    @cached_property
    def _numbered(self) -> tuple[tuple[Codes, ...], int]:
        """The places of each block's contrasts, and how many contrasts there are."""
        first: dict[tuple[int, int | None], int] = {}
        size, found = 0, []
        for family in self.families:
            columns = []
            for place, own in family.beside:
                many = (family.levels[place] - 1) * (1 if own is None else family.levels[own] - 1)
                feature = None if own is None else family.own[own]
                asked = family.others[:, place - len(family.own)].tolist()
                for question in asked:
                    if (question, feature) not in first:
                        first[question, feature] = size
                        size += many
                starts = np.array([first[question, feature] for question in asked])
                columns.append(starts[:, None] + np.arange(many))
            found.append(np.hstack(columns) if columns else np.zeros((len(family.sizes), 0), np.int64))
        return tuple(found), size

    def covariance(self, weights: Sequence[Array], table: Array) -> Array:
        """The covariance about the population of the estimate with these weights, were this the truth."""
        total = self.rest.covariance(weights[: len(self.rest.kinds)], table)
        for family, X, B in self._parts(weights):
            spreads = family.covariances(family.tables_at(X @ table)) / family.sizes[:, None, None]
            total += (B @ spreads @ np.swapaxes(B, 1, 2)).sum(axis=0)
        return total

    def totals(self, W: Array, table: Array, weights: Sequence[Array]) -> Totals:
        """Cumulants of weighted sums of cells, with these weights, and gradients of their variance by the cells."""
        total = self.rest.totals(W, table, weights[: len(self.rest.kinds)])
        for family, X, B in self._parts(weights):
            b = W @ B
            n = family.sizes[:, None]
            found = family.moments(b, family.tables_at(X @ table))
            gradient = family.over_own((found.squares - 2 * found.mean[:, :, None] * b) / n[:, :, None]) @ X
            variance, third, fourth = found.variance / n, found.third / n**2, found.fourth / n**3
            total = total.plus(variance.sum(axis=0), third.sum(axis=0), fourth.sum(axis=0), gradient)
        return total

    def supposed(self, cells: Array, times: float) -> "WholeEvidence":
        """So many times as many reports, whose means are those of a table with these shares of cells."""
        made = [
            replace(family, sizes=family.sizes * times, shares=family.tables_at(X @ cells))
            for family, X in zip(self.families, self.sums, strict=True)
        ]
        return WholeEvidence(self.local.supposed(cells, times), self.rest.supposed(cells, times), tuple(made))

    def _parts(self, weights: Sequence[Array]) -> Iterator[tuple[Family, Array, Array]]:
        """Each family with its matrix X and its weights, an array of blocks by cells by combinations."""
        return zip(self.families, self.sums, weights[len(self.rest.kinds) :], strict=True)


def _form(family: Family, own: Array) -> Array:
    """n V^-1 of each block of a family, were these the shares of the answers to the table's features."""
    mean = np.concatenate([own, np.zeros(len(family.rows) - len(own))])
    V = family.rows @ family.covariances(family.tables_at(own)) @ family.rows.T + np.outer(mean, mean)
    return np.asarray(family.sizes[:, None, None] * np.linalg.inv(V))
