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
from deniable.inference.ratio_questions import ODDS_RATIO, Question
from deniable.inference.trust import SLACK, below_a_step, shape_among, shaped

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
    parts, everybody = NOTHING, [np.eye(1, vector.shape[-1])[0] for vector in pieces[0]]
    differ = [k for k, (one, other) in enumerate(zip(*pieces[:2], strict=True)) if not np.array_equal(one, other)]
    for place, factor, share in question.errors(shares):
        if isinstance(place, int):
            own, given = pieces[place], pieces[place + 1]
            if question is ODDS_RATIO:
                given = [one + other for one, other in zip(own, given, strict=True)]
            asked = differ[0] if len(differ) == 1 else None
        else:
            own, given, asked = [pieces[place[k]][k] for k in (0, 1)], everybody, 1
        found = _error_cumulants(groups, own, asked, given, share, subject)
        parts = parts + found.scaled(np.nan_to_num(factor, nan=0.0, posinf=0.0, neginf=0.0) / n)
    return parts


def _error_cumulants(
    groups: Sequence[Respondents],
    vectors: Sequence[Array],
    feature: int | None,
    given: Sequence[Array],
    share: Array,
    subject: Subject,
) -> Cumulants:
    """The cumulants of a weighted sum less a share of what is given, which differs from it in one feature's weights.

    With a conditional share it is the sum's error. Every cumulant is a polynomial of the share, of the fourth degree at
    most, and is found from its values at NODES. If they differ in several features their difference is no product, and
    the error is taken to be shaped as that of the sum alone.
    """
    if feature is None:
        feature, share = 0, np.zeros_like(share)
    rows = [np.atleast_2d(matrix) for matrix in vectors]
    own, taken, of_nodes = rows[feature], np.atleast_2d(given[feature]), _lagrange(share)
    at_each_node = own[:, None] - NODES[:, None] * taken[:, None]  # all NODES of a row, one after another
    rows[feature] = at_each_node.reshape(-1, own.shape[1])

    def at_share(of: Cumulants) -> Cumulants:
        return Cumulants(*((at_nodes(getattr(of, part.name)) * of_nodes).sum(axis=-1) for part in fields(of)))

    def at_nodes(values: Array) -> Array:
        axis = values.ndim - len(rows) + feature
        split = values.reshape(*values.shape[:axis], len(own), len(NODES), *values.shape[axis + 1 :])
        return np.moveaxis(split, axis + 1, -1).reshape(of_nodes.shape)

    def about(whom: Subject) -> tuple[Cumulants, Cumulants]:
        each = [group.with_shape(rows, whom) for group in groups]
        found, shape = (at_share(sum(parts, start=NOTHING)) for parts in zip(*each, strict=True))
        return found, shape

    found, shape = about(subject)
    both = all(Subject.POPULATION in group.subjects for group in groups)  # a conditioned estimate is about one of them
    if both and subject is Subject.RESPONDENTS and below_a_step(found, shape).any():
        shape = shape_among(found, shape, *about(Subject.POPULATION))
    return shaped(found, shape, SLACK * sum(group.n for group in groups))


def _lagrange(numbers: Array) -> Array:
    """The weights of values at NODES whose sum is a polynomial's value at each of some numbers, in a new last axis."""
    x = np.clip(np.asarray(numbers, np.float64), 0.0, 1.0)[..., None]
    return np.stack(
        [np.prod((x - np.delete(NODES, k)) / (node - np.delete(NODES, k)), axis=-1) for k, node in enumerate(NODES)],
        axis=-1,
    )
