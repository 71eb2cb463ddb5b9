"""Results that are known whatever people answered: of those with some answers, all have any answer to a question."""

from collections.abc import Mapping, Sequence
from math import nan

import numpy as np

from deniable.estimates.interface import AnyEstimate
from deniable.inference.one_feature import Array
from deniable.inference.ratio_questions import CONDITIONAL, DIFFERENCE, RATIO, Question
from deniable.inference.ratios import RatioDistribution
from deniable.inference.results import JointAnswer


def without_everybody(vectors: Mapping[str, Array]) -> dict[str, Array]:
    """Weights that are a product over features, without the features whose vector is everybody's: all answers.

    Everybody gave one of all answers, without an error: such a feature need not be looked at.
    """
    return {name: own for name, own in vectors.items() if own[0] != 1 or own[1:].any()}


def known_result(est: AnyEstimate, question: Question, products: Sequence[Mapping[str, Array]]) -> JointAnswer | None:
    """A conditional share, difference or ratio that has no error, as those on top are all of those below; else None."""
    if question not in (CONDITIONAL, DIFFERENCE, RATIO):
        return None
    if not all(_same(top, bottom) for top, bottom in zip(products[::2], products[1::2], strict=True)):
        return None
    value = 0.0 if question is DIFFERENCE else 1.0
    return JointAnswer(
        question.name, value, RatioDistribution(value, 1.0, 0.0, 0.0, 0.0), True, est.subject, nan, question.least,
        question.most, n=est.n, null=question.null, influence=0.0,
    )  # fmt: skip


def _same(left: Mapping[str, Array], right: Mapping[str, Array]) -> bool:
    """Whether two products of weights are equal, feature by feature."""
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)
