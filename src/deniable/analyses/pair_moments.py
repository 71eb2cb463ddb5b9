"""Shares of pairs of answers from all arms at once: generalized least squares over the moments of several features.

No arm need ask all features together. The unknowns are shares of respondents with answers to one or two features; each
kind of arm sees those whose features it asks, with the covariance of its own reports at its own fitted table.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.inference.one_feature import Array
from deniable.inference.tensors import flat, over_answers

Product = Mapping[str, Array]  # weights on the axis of each feature that a product of indicators looks at
TableOf = Callable[[Sequence[str]], Array]  # the proper table of some features, in C order


def pair_moments(
    kinds: Sequence[ArmKind], table_of: TableOf, names: Sequence[str], products: Sequence[Product]
) -> tuple[Array, Array]:
    """The shares of some products of indicators and their covariance about the population, from all kinds of arms.

    A product of nothing is everybody, and has the share one; one whose weights are all zero has the share zero.
    """
    mean = np.array([0.0 if product else 1.0 for product in products])
    covariance = np.zeros((len(products), len(products)))
    unknown = [place for place, product in enumerate(products) if product and all(v.any() for v in product.values())]
    information, score = _information(kinds, table_of, names, [products[place] for place in unknown])
    if not np.diagonal(information).all():
        raise EstimateError("there are no reports to estimate from")
    inverse = np.linalg.inv(information)
    mean[unknown] = inverse @ score
    covariance[np.ix_(unknown, unknown)] = inverse
    return mean, covariance


def _information(
    kinds: Sequence[ArmKind], table_of: TableOf, names: Sequence[str], products: Sequence[Product]
) -> tuple[Array, Array]:
    """The information that all kinds of arms have on some shares, and their score: X' V^-1 X and X' V^-1 y, summed."""
    information, score = np.zeros((len(products), len(products))), np.zeros(len(products))
    tables: dict[tuple[int, ...], Array] = {}
    for kind in kinds:
        own = [names[place] for place in kind.places]
        seen = [k for k, product in enumerate(products) if set(product) <= set(own)]
        weights = np.array([_over_cells(products[k], own, kind) for k in seen])
        if kind.places not in tables:
            tables[kind.places] = table_of(own)
        table = tables[kind.places]
        apart = weights - (weights @ table)[:, None]
        inverse = np.linalg.inv(apart @ kind.seconds(table) @ apart.T / kind.n)
        information[np.ix_(seen, seen)] += inverse
        score[seen] += inverse @ weights @ kind.shares
    return information, score


def _over_cells(product: Product, names: Sequence[str], kind: ArmKind) -> Array:
    """The weights of a product of indicators on all cells of these features, in C order."""
    parts = [
        over_answers(product[name]) if name in product else np.ones(levels)
        for name, levels in zip(names, kind.levels, strict=True)
    ]
    return flat(parts)
