"""Second moments of several features: shares of respondents with answers to one or two of them, and their covariance.

Everybody who was asked all features gives all of these shares at once. Over arms no report need hold all features: then
the shares come from all arms by generalized least squares, each kind of arm seeing those whose features it asks, with
the covariance of its own reports at its own fitted table.

However they were estimated, the shares are weighted sums of what each kind of arm says, so that a linear function of
them is a sum over reports, whose skewness and kurtosis follow from those of one report of each kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import prod
from typing import Any

import numpy as np

from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answers_as_weights import indicator, product_weights
from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.estimate import Estimate
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array
from deniable.inference.tensors import contract, flat, over_answers
from deniable.survey.schema import Schema

# How many numbers the weights of all moments over all cells of a table may be.
MOST_WEIGHTS = 10_000_000

Product = dict[str, Array]  # weights of the features that a product of indicators looks at


@dataclass(frozen=True, eq=False)
class Found:
    """Estimated shares of products of indicators, their covariance, and what they are weighted sums of.

    `reports` are kinds of arms, each with the weights (products by its cells) of what it says in the shares; there are
    none where no table holds all features.
    """

    mean: Array
    covariance: Array
    reports: Sequence[tuple[ArmKind, Array]]


class Moments(ABC):
    """Second moments: shares of respondents with answers to two features at most, each once; and their covariance.

    `apart` says whether not everybody was asked the same: over arms, or in waves of several plans.
    """

    def __init__(self, schema: Schema, apart: bool, n: int, subject: Subject, names: Sequence[str]) -> None:
        self.schema, self.apart, self.n, self.subject, self.names = schema, apart, n, subject, names
        self.products: list[Product] = []
        self.places: dict[Any, int] = {}
        self.estimates: dict[tuple[str, ...], Estimate] = {}

    @abstractmethod
    def table_estimate(self, names: Sequence[str]) -> Estimate:
        """The estimate of the table of some features that are asked together."""

    @abstractmethod
    def kinds(self) -> Sequence[ArmKind]:
        """What each kind of arm says of the features."""

    @abstractmethod
    def table(self, names: Sequence[str]) -> Array:
        """The proper table of some features at which covariances are evaluated."""

    @abstractmethod
    def check_asked(self, names: Sequence[str]) -> None:
        """Refuse features that are not asked of the same people."""

    def estimate(self, names: Iterable[str]) -> Estimate:
        """The estimate of these features, from any table that holds them."""
        every = self.names if self.apart else names  # over arms, margins of several tables need not agree
        wanted = tuple(sorted(set(every), key=self.schema.index))
        if wanted not in self.estimates:
            self.estimates[wanted] = local_estimate(self.table_estimate(wanted).about(self.subject))
        return self.estimates[wanted]

    def indicator(self, what: Any, names: Sequence[str]) -> Product:
        """The weights of a flag, or of a choice's answer, of a feature that occurs once among the names."""
        name = what if isinstance(what, str) else what[0]
        if names.count(name) > 1:
            raise EstimateError(f"a regression takes each feature once; found {abbreviated(name)} again")
        return {name: indicator((self.schema[name],), what)[1]}

    def place(self, product: Product) -> int:
        """The place of a product of indicators among the moments."""
        key = tuple(sorted((name, vector.tobytes()) for name, vector in product.items()))
        if key not in self.places:
            self.places[key] = len(self.products)
            self.products.append(product)
        return self.places[key]

    def found(self) -> Found:
        """The estimated share of each product of indicators, the covariance of all of them, and what they are of."""
        kinds = self.kinds()
        if not self.apart or any(len(kind.places) == len(self.names) for kind in kinds):
            return Found(self._mean(), self._covariance(), self._reports(kinds))
        if self.subject is Subject.RESPONDENTS:
            raise EstimateError(
                "no arm asks all these features of the same people, so that the regression is about the population"
            )
        for product in self.products:
            if product and all(weights.any() for weights in product.values()):
                self.check_asked(list(product))
        return self._from_pairs(kinds)

    def _mean(self) -> Array:
        """The estimated share of each product of indicators."""
        shares = []
        for product in self.products:
            est = self.estimate(product) if product else None
            shares.append(1.0 if est is None else contract(est.truth, product_weights(est.features, product)) / est.n)
        return np.array(shares)

    def _covariance(self) -> Array:
        """The covariance of all estimated shares."""
        size = len(self.products)
        matrix = np.zeros((size, size))
        for i, j in combinations_with_replacement(range(size), 2):
            left, right = self.products[i], self.products[j]
            if left and right:  # the constant does not vary
                est = self.estimate([*left, *right])
                both = product_weights(est.features, left), product_weights(est.features, right)
                matrix[i, j] = matrix[j, i] = est.covariance_of(*both) / est.n**2
        return matrix

    def _reports(self, kinds: Sequence[ArmKind]) -> list[tuple[ArmKind, Array]]:
        """What the shares are weighted sums of, if one table holds all features and is not too large."""
        levels = [self.schema[name].levels for name in self.names]
        if not kinds or len(self.products) * prod(levels) > MOST_WEIGHTS:
            return []
        if not self.apart:
            return [(kinds[0], self._over_cells(self.names, kinds[0].levels))]
        est = self.estimate(self.names)
        (group,) = est.groups
        assert isinstance(group, ArmsGroup)
        weights = self._over_cells(est.names, group.seen.levels)
        return [(kind, weights @ B) for kind, B in zip(group.seen.local.kinds, group.seen.best.weights, strict=True)]

    def _over_cells(self, names: Sequence[str], levels: Sequence[int]) -> Array:
        """The weights of all products of indicators on all cells of these features, in C order."""
        return np.array([_on_cells(product, names, levels) for product in self.products])

    def _from_pairs(self, kinds: Sequence[ArmKind]) -> Found:
        """The shares about the population from all kinds of arms, of which none need hold all features.

        A product of nothing is everybody, and has the share one; one whose weights are all zero has the share zero.
        """
        places = [k for k, product in enumerate(self.products) if product and all(v.any() for v in product.values())]
        information, sums = np.zeros((len(places), len(places))), []
        tables: dict[tuple[int, ...], Array] = {}
        for kind in kinds:
            own = [self.names[place] for place in kind.places]
            seen = [k for k, place in enumerate(places) if set(self.products[place]) <= set(own)]
            weights = np.array([_on_cells(self.products[places[k]], own, kind.levels) for k in seen])
            if kind.places not in tables:
                tables[kind.places] = self.table(own)
            table = tables[kind.places]
            apart = weights - (weights @ table)[:, None]
            inverse = np.linalg.inv(apart @ kind.seconds(table) @ apart.T / kind.n)
            information[np.ix_(seen, seen)] += inverse
            sums.append((kind, seen, inverse @ weights))
        if not np.diagonal(information).all():
            raise EstimateError("there are no reports to estimate from")
        inverse = np.linalg.inv(information)
        mean = np.array([0.0 if product else 1.0 for product in self.products])
        covariance = np.zeros((len(mean), len(mean)))
        covariance[np.ix_(places, places)] = inverse
        reports = []
        for kind, seen, weighted in sums:
            rows = np.zeros((len(mean), kind.cells))
            rows[places] = inverse[:, seen] @ weighted
            mean += rows @ kind.shares
            reports.append((kind, rows))
        return Found(mean, covariance, reports)


def local_estimate(est: Estimate) -> Estimate:
    """An estimate from what arms say of its table alone, so that it is a weighted sum of what their kinds say."""
    groups = (replace(one, seen=one.seen.local) if isinstance(one, ArmsGroup) else one for one in est.groups)
    return replace(est, groups=tuple(groups))


def _on_cells(product: Product, names: Sequence[str], levels: Sequence[int]) -> Array:
    """The weights of a product of indicators on all cells of these features, in C order."""
    parts = [
        over_answers(product[name]) if name in product else np.ones(m) for name, m in zip(names, levels, strict=True)
    ]
    return flat(parts)
