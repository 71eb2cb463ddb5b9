"""The errors of ratios of shares: how skewed top - r bottom is, and in which steps it varies.

To first order it is a sum of the errors of a few conditional shares (`inference.ratios`), each of which is a weighted
sum whose weights are a product over features: the cumulants of such sums are known in closed form.
"""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from deniable.estimates.interface import Respondents
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import NOTHING, Cumulants
from deniable.inference.one_feature import Array
from deniable.inference.ratios import Question
from deniable.inference.trust import SLACK, shaped

# The shares at which polynomials of the fourth degree are evaluated, to be known between them.
NODES = np.linspace(0.0, 1.0, 5)


def ratio_error(
    question: Question,
    groups: Sequence[Respondents],
    pieces: Sequence[Sequence[Array]],
    shares: Array,
    subject: Subject,
) -> Cumulants:
    """The cumulants of the error of top - r bottom at the ratio itself, as a sum of independent parts."""
    n = sum(group.n for group in groups)
    parts = NOTHING
    differ = next(k for k, (one, other) in enumerate(zip(*pieces[:2], strict=True)) if not np.array_equal(one, other))
    for place, factor, share in question.errors(shares):
        asked, own = (differ, pieces[place]) if isinstance(place, int) else (1, [pieces[place[k]][k] for k in (0, 1)])
        found = _error_cumulants(groups, own, asked, share, subject)
        parts = parts + found.scaled(np.nan_to_num(factor, nan=0.0, posinf=0.0, neginf=0.0) / n)
    return parts


def _error_cumulants(
    groups: Sequence[Respondents], weights: Sequence[Array], feature: int, share: Array, subject: Subject
) -> Cumulants:
    """The cumulants of a weighted sum if a share is taken off all weights of one feature: another for each sum.

    With a conditional share it is the sum's error. Every cumulant is a polynomial of the share, of the fourth degree at
    most, and is found from its values at NODES.
    """
    rows = [np.atleast_2d(matrix) for matrix in weights]
    own, of_nodes = rows[feature], _lagrange(share)
    taken = NODES[:, None] * np.eye(1, own.shape[1])
    rows[feature] = (own[:, None] - taken).reshape(-1, own.shape[1])  # all NODES of a row, one after another

    def at_share(of: Cumulants) -> Cumulants:
        return Cumulants(*((at_nodes(getattr(of, part.name)) * of_nodes).sum(axis=-1) for part in fields(of)))

    def at_nodes(values: Array) -> Array:
        axis = values.ndim - len(rows) + feature
        split = values.reshape(*values.shape[:axis], len(own), len(NODES), *values.shape[axis + 1 :])
        return np.moveaxis(split, axis + 1, -1).reshape(of_nodes.shape)

    each = [group.with_shape(rows, subject) for group in groups]
    found, shape = (sum(parts, start=NOTHING) for parts in zip(*each, strict=True))
    return shaped(at_share(found), at_share(shape), SLACK * sum(group.n for group in groups))


def _lagrange(numbers: Array) -> Array:
    """The weights of values at NODES whose sum is a polynomial's value at each of some numbers, in a new last axis."""
    x = np.clip(np.asarray(numbers, np.float64), 0.0, 1.0)[..., None]
    return np.stack(
        [np.prod((x - np.delete(NODES, k)) / (node - np.delete(NODES, k)), axis=-1) for k, node in enumerate(NODES)],
        axis=-1,
    )
