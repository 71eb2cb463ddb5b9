"""Groups of respondents whose estimate was conditioned on what is known (`conditioning`)."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.dense_respondent_group import DenseGroup
from deniable.estimates.given.conditioning import Conditioning, Straight, closest_tables, uniform_tables
from deniable.estimates.given.equalities import Condition
from deniable.estimates.interface import Respondents
from deniable.estimates.proper_tables.known_equalities import Equality
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import Cumulants
from deniable.inference.one_feature import Array
from deniable.inference.tensors import flat
from deniable.inference.trust import known_exactly


@dataclass(frozen=True, eq=False)
class ConditionedGroup(DenseGroup):
    """Respondents whose estimate was conditioned on what is known."""

    origin: Conditioning

    def project(self, axes: Sequence[int]) -> "ConditionedGroup":
        return ConditionedGroup(*self._projected(axes), self.origin.project(axes))

    def cumulants(self, rows: Sequence[Array], subject: Subject) -> Cumulants:
        own, higher = super().cumulants(rows, subject), self.origin.cumulants(flat(rows))
        shaped = {part.name: getattr(higher, part.name).reshape(own.mean.shape) for part in fields(higher)}
        return Cumulants(**shaped | {"mean": own.mean, "variance": own.variance})


def condition(
    groups: Sequence[Respondents], subject: Subject, told: Sequence[Equality]
) -> tuple[ConditionedGroup, list[Condition]]:
    """The sum of some groups given equalities, whose values are in respondents, and how far from each of them it was.

    What says nothing new is left out, a contradiction is an error, and an equality that is far away is warned about.
    """
    before = _unconditioned(groups, subject)
    known = (*before.known, *(before.equality(*one) for one in told))
    apart = replace(before, known=known).distances()
    new = tuple(one for one, distance in zip(known, apart, strict=True) if distance is not None)
    obeyed = replace(before, known=new, tables=closest_tables(before.groups, new))
    again = iter(obeyed.distances())
    distances = [None if distance is None else next(again) for distance in apart]
    of = replace(obeyed, known=tuple(one for one, far in zip(known, distances, strict=True) if far is not None))
    conditions = [Condition(what, far) for (what, *_), far in zip(told, distances[len(before.known) :], strict=True)]
    for one in conditions:
        if one.far:
            warnings.warn(f"{one.what} is {one.distance:+.1f} standard errors away from the estimate", stacklevel=3)
    n, covariance = sum(group.n for group in of.groups), of.covariance
    mean = known_exactly(of.mean, np.diagonal(covariance).reshape(of.mean.shape), n)
    return ConditionedGroup(n, mean, {subject: covariance}, of.before, of), conditions


def _unconditioned(groups: Sequence[Respondents], subject: Subject) -> Conditioning:
    """The estimates straight from reports that groups were made from, at uniform tables, and what is known of them."""
    parts = [_origin(group, subject) for group in groups]
    straight = tuple(one for part in parts for one in part.groups)
    nothing = [np.zeros(one.truth.size) for one in straight]
    known, first = [], 0
    for part in parts:
        last = first + len(part.groups)
        known += [replace(one, weights=(*nothing[:first], *one.weights, *nothing[last:])) for one in part.known]
        first = last
    places = tuple(own for part in parts for own in part.places)
    return Conditioning(straight, places, subject, tuple(known), uniform_tables(straight))


def _origin(group: Respondents, subject: Subject) -> Conditioning:
    """What a group was made from, and what is known of it: of an estimate straight from reports nothing is."""
    if isinstance(group, ConditionedGroup):
        return group.origin
    if not isinstance(group, Straight):
        raise EstimateError("only an estimate straight from counts can be conditioned: say given(...) first")
    return Conditioning((group,), (tuple(range(group.truth.ndim)),), subject, (), ())
