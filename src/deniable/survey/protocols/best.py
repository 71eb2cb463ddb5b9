"""Which protocol serves a feature best at an epsilon: that of the least total variance."""

from collections.abc import Callable

from deniable.errors import PlanError
from deniable.survey.protocols.base import Form, Protocol
from deniable.survey.protocols.grid import Epsilon
from deniable.survey.protocols.grr import GRR
from deniable.survey.protocols.local_hashing import LocalHashing
from deniable.survey.protocols.randomized_response import RandomizedResponse
from deniable.survey.protocols.subset_selection import SubsetSelection
from deniable.survey.protocols.unary_encoding import UnaryEncoding
from deniable.survey.schema import Feature

MOST_BITS = 128  # Beyond so many values a report with a bit for each is long; others have up to 1.2 times its variance.
TIE = 1.01  # Total variances within one per cent are a tie: the shorter report and the cheaper evidence decide.

Made = Callable[[Epsilon], Protocol]

FOR_FLAGS: tuple[Made, ...] = (lambda epsilon: RandomizedResponse(epsilon=epsilon),)
FOR_CHOICES: tuple[Made, ...] = (  # in the order in which a tie is decided
    lambda epsilon: GRR(epsilon=epsilon),
    lambda epsilon: SubsetSelection(epsilon=epsilon),
    UnaryEncoding.optimized,
    lambda epsilon: LocalHashing(epsilon=epsilon),
)


def best(feature: Feature, epsilon: Epsilon) -> Protocol:
    """The protocol of least total variance for this feature; a tie goes to the first in FOR_CHOICES."""
    candidates, too_small = [], None
    for kind in FOR_FLAGS if len(feature.columns) == 1 else FOR_CHOICES:
        protocol = kind(epsilon)
        if protocol.form is Form.BITS and feature.levels > MOST_BITS:
            continue
        try:
            candidates.append(protocol.bind(feature))
        except PlanError as error:  # the more outcomes, the larger the least epsilon
            too_small = error
    if too_small and not candidates:
        raise too_small
    if len(candidates) == 1:
        return candidates[0]
    least = min(protocol.total_variance for protocol in candidates)
    return next(protocol for protocol in candidates if protocol.total_variance <= TIE * least)
