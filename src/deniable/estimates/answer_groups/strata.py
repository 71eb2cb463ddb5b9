"""Weights through strata (post-stratification): results weighted by the known shares of a public feature's answers.

With W_s the share of stratum s in the population, n_s its respondents and mu_s the estimate from them, the weighted
estimate is sum_s W_s mu_s / n_s and its covariance sum_s W_s^2 Cov(mu_s) / n_s^2, given how many respondents each
stratum has. That is right if these numbers were fixed beforehand, and to first order if they came by chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answers_as_weights import all_answers, feature_named
from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.block_group import BlockGroup
from deniable.estimates.designs.least_squares import Evidence
from deniable.estimates.interface import AnyEstimate, Respondents, total
from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import NOTHING, Cumulants
from deniable.inference.one_feature import Array, Axis
from deniable.inference.trust import Judged

E = TypeVar("E", bound=AnyEstimate)

# Shares of strata that sum to one within this are taken as if they did.
ROUNDING = 1e-3
# A stratum has at least this many respondents: the part of the variance that is its own is too small by one in so many.
FEWEST_IN_A_STRATUM = 10


@dataclass(frozen=True, eq=False)
class StratifiedGroup:
    """A weighted sum of independent groups of respondents: strata, each with its factor."""

    n: int
    strata: tuple[Respondents, ...]
    factors: tuple[float, ...]

    intervals_from = "consistent"

    @property
    def asked(self) -> int:
        return sum(group.asked for group in self.strata)

    @property
    def truth(self) -> Array:
        return self._sum([group.truth for group in self.strata])

    @property
    def axes(self) -> tuple[Axis, ...]:
        raise EstimateError("a weighted estimate has no product form: ask before poststratify(...)")

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return tuple(subject for subject in Subject if all(subject in group.subjects for group in self.strata))

    @property
    def adds_up(self) -> bool:
        return all(group.adds_up for group in self.strata)

    @property
    def unshrunk(self) -> None:
        return None

    @property
    def linear(self) -> tuple[Respondents, ...]:
        return (self,)

    def project(self, axes: Sequence[int]) -> "StratifiedGroup":
        return replace(self, strata=tuple(group.project(axes) for group in self.strata))

    def covariance(self, left: Sequence[Array], right: Sequence[Array], subject: Subject) -> Array:
        return self._sum([group.covariance(left, right, subject) for group in self.strata], 2)

    def dense(self, subject: Subject) -> Array:
        return self._sum([group.dense(subject) for group in self.strata], 2)

    def variances(self, subject: Subject) -> Array:
        return self._sum([group.variances(subject) for group in self.strata], 2)

    def unconditional_variances(self, subject: Subject) -> Array:
        return self._sum([group.unconditional_variances(subject) for group in self.strata], 2)

    def cumulants(self, rows: Sequence[Array], subject: Subject) -> Cumulants:
        return self._scaled([group.cumulants(rows, subject) for group in self.strata])

    def with_shape(self, rows: Sequence[Array], subject: Subject) -> tuple[Cumulants, Cumulants]:
        found, shape = zip(*(group.with_shape(rows, subject) for group in self.strata), strict=True)
        return self._scaled(found), self._scaled(shape)

    def judged(self, rows: Sequence[Array], subject: Subject) -> Judged:
        """The verdict on a sum of independent groups: all strata together must have enough respondents."""
        each = [group.judged(rows, subject) for group in self.strata]
        references = None
        if all(one.references for one in each):
            first, second = zip(*(one.references for one in each if one.references), strict=True)
            references = self._scaled(first), self._scaled(second)
        return Judged(
            self.n,
            _asked_in_all([np.asarray(one.asked) for one in each]),
            self._scaled([one.found for one in each]),
            np.asarray(reduce(np.logical_and, [one.fixed for one in each])),
            references,
            np.asarray(reduce(np.logical_and, [np.asarray(one.enough) for one in each])),
            self._scaled([one.own or one.found for one in each]),
            self._scaled([one.shape or one.found for one in each]),
        )

    def exact(self, weights: Sequence[Array], subject: Subject) -> None:  # noqa: ARG002 - one contract
        return None

    def sampling_covariance(self, left: Sequence[Array], right: Sequence[Array]) -> Array:
        return self._sum([group.sampling_covariance(left, right) for group in self.strata], 2)

    def sampling_variance(self, weights: Array) -> float:
        each = zip(self.factors, self.strata, strict=True)
        return sum(factor**2 * group.sampling_variance(weights) for factor, group in each)

    def at_independence(self) -> Array:
        raise EstimateError("tests of independence need an unweighted estimate: ask before poststratify(...)")

    def if_independent(self, rows: Sequence[Array]) -> Cumulants:
        return self._scaled([group.if_independent(rows) for group in self.strata])

    def zero_by_chance(self, subject: Subject) -> bool:
        return any(group.zero_by_chance(subject) for group in self.strata)

    def _sum(self, each: Sequence[Array], power: int = 1) -> Array:
        return total([factor**power * one for factor, one in zip(self.factors, each, strict=True)])

    def _scaled(self, each: Sequence[Cumulants]) -> Cumulants:
        pairs = zip(self.factors, each, strict=True)
        return sum((one.scaled(factor) for factor, one in pairs), start=NOTHING)


def _asked_in_all(each: Sequence[Array]) -> Array:
    """How many respondents the trust rule takes a weighted sum of strata to have, given how many each of them has.

    All of them, if none has fewer than FEWEST_IN_A_STRATUM: the fewest, else.
    """
    fewest = reduce(np.minimum, each)
    return np.where(fewest >= FEWEST_IN_A_STRATUM, reduce(np.add, each), fewest)


def poststratify(est: E, name: str, shares: Mapping[str | bool, float]) -> E:
    """The estimate weighted to known population shares of a public feature, its strata (post-stratification weights).

    Parameters
    ----------
    name
        A public feature, such as the region or the panel that somebody was drawn from.
    shares
        The share of the population that each of its answers has; they sum to one.

    Returns
    -------
    Estimate
        The weighted estimate of the other features. Its errors are those given how many respondents each stratum has,
        whether these numbers were fixed (a stratified sample) or came by chance. Known shares of randomized features
        are for `given`.

    Examples
    --------
    >>> where = dn.Schema([dn.Flag("smoker"), dn.Choice("region", ["north", "south"])])
    >>> shown = dn.Plan(where, {"smoker": dn.RandomizedResponse(epsilon=2.0), "region": dn.Public()})
    >>> people = np.array([[6000, 800], [2000, 1200]])
    >>> seen = dn.simulate.counts(people, shown, np.random.default_rng(1))
    >>> both = dn.estimate(seen, ["smoker", "region"])
    >>> print(f'{both.cell(smoker=True).value:.2f}')
    0.32
    >>> print(f'{both.poststratify("region", {"north": 0.5, "south": 0.5}).cell(smoker=True).value:.2f}')
    0.42
    """
    feature = feature_named(est.features, name)
    if est.fitted is not None:
        raise EstimateError('proper tables are not weighted: use method="consistent" before poststratify')
    if len(est.features) == 1:
        raise EstimateError(f"poststratify weights other features by {name!r}; there are none in this estimate")
    known, axis, parts = _checked(feature.answers, name, shares), est.features.index(feature), []
    for row, share, answer in zip(all_answers((feature,))[0], known, feature.answers, strict=True):
        own = [_stratum(group, axis, row, name) for group in est.groups]
        size = sum(group.n for group in own)
        if share == 0:
            continue
        if not size:
            raise EstimateError(
                f"no respondent has {answer!r} of {name!r}, whose share is {share:g}: merge strata first"
            )
        parts += [(group, share * est.n / size) for group in own if group.n]
    strata, factors = zip(*parts, strict=True)
    features = tuple(one for one in est.features if one is not feature)
    made: Any = replace(est, features=features, groups=(StratifiedGroup(est.n, strata, factors),))  # type: ignore[type-var]
    return made  # type: ignore[no-any-return]


def _checked(answers: Sequence[Any], name: str, shares: Any) -> Array:
    """The shares of all strata, which sum to one."""
    told = f"poststratify takes the population share of each answer to {name!r}"
    if not isinstance(shares, Mapping):
        raise EstimateError(f"{told}, {list(answers)}; found {abbreviated(shares)}")
    if more := [answer for answer in shares if answer not in answers]:
        raise EstimateError(f"{told}, {list(answers)}; found one of {abbreviated(more[0])}")
    if lacking := [answer for answer in answers if answer not in shares]:
        raise EstimateError(f"{told}, {list(answers)}; found none of {abbreviated(lacking[0])}")
    found = np.array([float(shares[answer]) for answer in answers])
    if not (found >= 0).all() or abs(found.sum() - 1) > ROUNDING:
        raise EstimateError(f"{told}, and they sum to 1; found the sum {found.sum():g}")
    return np.asarray(found / found.sum())


def _stratum(group: Respondents, axis: int, row: Array, name: str) -> Respondents:
    """The respondents of one answer to a public feature, and their estimate of the other features."""
    rest = [place for place in range(group.truth.ndim) if place != axis]
    if isinstance(group, Group):
        _check_public(group.axes[axis], name)
        return _part(group, axis, row)
    if isinstance(group, BlockGroup):
        block = next(k for k, view in enumerate(group.views) if axis in view.places)
        _check_public(group.inner.axes[block], name)
        own = _part(group.inner, block, row @ group.views[block].rows)
        return BlockGroup(own, group.project(rest).views)
    if isinstance(group, ArmsGroup):
        return _stratum_of_arms(group, axis, row, name)
    raise EstimateError("only an estimate straight from counts can be weighted: say poststratify(...) first")


def _part(group: Group, axis: int, row: Array) -> Group:
    """The respondents for whom a public axis has weights of one."""
    truth = np.tensordot(row, group.truth, axes=(0, axis)) * (group.asked / group.n)
    return Group(round(float(truth.flat[0])), (*group.axes[:axis], *group.axes[axis + 1 :]), truth)


def _stratum_of_arms(group: ArmsGroup, axis: int, row: Array, name: str) -> ArmsGroup:
    """The respondents of one stratum in all arms."""
    seen, gone = group.seen.local, group.features[axis]
    kinds = [kind for one in seen.kinds for kind in _kinds_of_stratum(one, gone, row, name)]
    columns = tuple(own for place, own in enumerate(seen.columns) if place != gone)
    features = tuple(place - (place > gone) for place in group.features if place != gone)
    n = round(sum(kind.n for kind in kinds))
    return ArmsGroup(n, Evidence(columns, tuple(kinds)), features, group.waves)


def _kinds_of_stratum(kind: ArmKind, gone: int, row: Array, name: str) -> list[ArmKind]:
    """The reports of one kind that are of a stratum; none if they do not tell, or there are none."""
    if gone not in kind.places:
        return []
    block = next(k for k, places in enumerate(kind.blocks) if gone in places)
    _check_public(kind.axes[block], name)
    counts = np.rint(np.tensordot(row, kind.counts, axes=(0, block))).astype(np.int64)
    if not counts.ndim or not counts.flat[0]:
        return []

    def moved(places: Sequence[int]) -> tuple[int, ...]:
        return tuple(place - (place > gone) for place in places if place != gone)

    levels = tuple(m for place, m in zip(kind.places, kind.levels, strict=True) if place != gone)
    blocks = tuple(moved(places) for k, places in enumerate(kind.blocks) if k != block)
    axes = (*kind.axes[:block], *kind.axes[block + 1 :])
    return [ArmKind(int(counts.flat[0]), moved(kind.places), levels, blocks, axes, counts)]


def _check_public(axis: Axis, name: str) -> None:
    """Refuse a feature whose answers are randomized, or stand in a block with others."""
    if axis.p != 0 or axis.d != 1:
        raise EstimateError(
            f"{name!r} is randomized, so that nobody's stratum is known; use given({{{name!r}: {{...}}}}) for its "
            "known shares"
        )
