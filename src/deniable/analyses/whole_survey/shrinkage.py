"""Maximum entropy with shrinkage: the coefficients of a log-linear model, and how far they are shrunk.

With means m(c) of the contrasts under coefficients c, information A and estimate y, the fit minimises

    (y - m)'A(y - m) / 2 + c'Dc / 2,   D = the prior precisions at a strength of shrinkage

by Gauss-Newton steps, where dm/dc = C is the covariance of the contrasts under the model. That is maximum entropy with
slack, and the posterior mode under a normal prior of coefficients (ridge). The strength is the one with the least of
Stein's unbiased estimate of the risk (m - E y)'A(m - E y), which needs nothing but the known covariance of y:

    (y - m)'A(y - m) - dim y + 2 tr(dm/dy),   dm/dy = C (CAC + D)^-1 CA

Prior variances that some interactions have of their own are taken as known in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import Protocol

import numpy as np

from deniable.analyses.whole_survey.contrasts import NONE, Places, Terms
from deniable.inference.one_feature import Array
from deniable.text.progress import told

# The strengths that are tried: prior variances of the logarithm of an interaction from 1/65536 to 256.
STRENGTHS = tuple(4.0**power for power in range(8, -5, -1))
# The path of strengths ends where the estimated risk has clearly been above its least for so many of them.
PATIENCE = 2
# Risks that differ by less than this are alike. Of strengths that are alike the least is taken: where the risk cannot
# tell whether there is any interaction, an interval must not say that there is none. Interactions of three, of which
# there are many more, are shrunk as far as the risk allows; what that hides is added to intervals.
ALIKE = 1.0
# Gauss-Newton ends where a step promises less than this of misfit, which is in units of a chi-square.
TOLERANCE = 1e-3
# No coefficients to begin with are given.
NOWHERE: Mapping[float, Array] = MappingProxyType({})
# It takes at most so many steps for one strength.
MOST_STEPS = 40
# A step is halved at most so many times.
MOST_HALVINGS = 12


class DenseMachine(Protocol):
    """What Gauss-Newton needs to know of a log-linear model."""

    @property
    def terms(self) -> Terms:
        """Its terms."""

    def moments(self, coefficients: Array) -> tuple[Array, Array]:
        """The means of all contrasts, and their covariances."""


@dataclass(frozen=True, eq=False)
class Target:
    """What is fitted: the information A about the contrasts, and the generalized least squares estimate of them."""

    information: Array
    estimate: Array

    @classmethod
    def of(cls, information: Array, weighted: Array) -> "Target":
        """The target with a given A and b."""
        return cls(information, np.asarray(np.linalg.solve(information, weighted), float))

    @cached_property
    def covariance(self) -> Array:
        """The covariance of the estimate."""
        return np.asarray(np.linalg.inv(self.information), np.float64)

    def misfit(self, mean: Array) -> float:
        """The chi-square of means of the contrasts."""
        apart = self.estimate - mean
        return float(apart @ self.information @ apart)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit at one strength, with the means of the contrasts and their covariance under it."""

    target: Target
    strength: float  # of interactions of two
    precisions: Array
    coefficients: Array
    mean: Array
    covariance: Array
    third: float = inf  # the strength of interactions of three
    own: Mapping[Places, float] = field(default_factory=dict)  # further prior variances of coefficients, by set

    @property
    def varied(self) -> float:
        """The strength that is chosen by risk: that of interactions of three where the model has them."""
        return self.strength if self.third == inf else self.third

    @property
    def misfit(self) -> float:
        """The chi-square of the fit."""
        return self.target.misfit(self.mean)

    @cached_property
    def slope(self) -> Array:
        """The matrix CA: how the gradient of the fit by coefficients moves with the estimate."""
        return np.asarray(self.covariance @ self.target.information)

    @cached_property
    def posterior(self) -> Array:
        """The covariance of the coefficients: what the noise of y and the prior leave open (Laplace's method)."""
        return np.asarray(np.linalg.inv(self.slope @ self.covariance + np.diag(self.precisions)), float)

    @cached_property
    def effective(self) -> Array:
        """How far each contrast is left free, between 0 and 1: the diagonal of C (CAC + D)^-1 CA."""
        C = self.covariance
        return np.asarray(((C @ self.posterior) * (self.target.information @ C)).sum(axis=1))

    @property
    def risk(self) -> float:
        """Stein's unbiased estimate of the risk, in units of the noise of one contrast."""
        return self.misfit - len(self.mean) + 2 * float(self.effective.sum())


def fits(
    machine: DenseMachine,
    target: Target,
    pairs: Fitted | None = None,
    *,
    own: Mapping[Places, float] = NONE,
    begun: Mapping[float, Array] = NOWHERE,
) -> Iterator[Fitted]:
    """Fits from much shrinkage to little, until Stein's risk has clearly risen, and then beside the best of them.

    With a model of pairs, it is interactions of three that are shrunk more or less, beside pairs as far as they were,
    and never less than these: a model that goes through the noise of three has coefficients so large that the
    derivative in Stein's risk says nothing of them.
    Each fit begins where the one before it ended, or at coefficients that are given for its strength.
    """

    def at(strength: float, c: Array) -> Fitted:
        c = begun.get(strength, c)
        two, three = (pairs.strength, strength) if pairs else (strength, inf)
        return fit_at(machine, target, two, c, three, own)

    made: list[Fitted] = []
    least_strength = pairs.strength if pairs else 0.0
    start = padded(pairs.coefficients if pairs else np.zeros(0), machine.terms)
    for strength in (one for one in STRENGTHS if one >= min(least_strength, STRENGTHS[0])):
        made.append(at(strength, made[-1].coefficients if made else start))
        yield made[-1]
        least = min(one.risk for one in made)
        if all(one.risk > least + ALIKE for one in made[-PATIENCE:]):
            break
    best = _chosen(made)
    place = made.index(best)
    for times, beside in ((2.0, made[place - 1 : place]), (0.5, made[place + 1 : place + 2])):
        if not least_strength <= times * best.varied <= STRENGTHS[0]:
            continue
        between = np.mean([one.coefficients for one in (best, *beside)], axis=0)
        yield at(times * best.varied, between)


def least_risk(tried: Iterator[Fitted]) -> tuple[Fitted, dict[float, Array]]:
    """The fit with the least of Stein's risk, of those that are tried, and the coefficients of each by its strength."""
    made = list(told(tried, _progress))
    return _chosen(made), {one.varied: one.coefficients for one in made}


def _chosen(made: Sequence[Fitted]) -> Fitted:
    """Of the fits whose risk is like the least, the one that shrinks pairs least, or interactions of three most."""
    least = min(one.risk for one in made)
    alike = [one for one in made if one.risk <= least + ALIKE]
    return min(alike, key=lambda one: one.strength if one.third == inf else -one.third)


def padded(coefficients: Array, terms: Terms) -> Array:
    """Coefficients of the first terms, with 0 for all others."""
    return np.concatenate([coefficients, np.zeros(terms.count - len(coefficients))])


def fit_at(
    machine: DenseMachine,
    target: Target,
    strength: float,
    c: Array,
    third: float = inf,
    own: Mapping[Places, float] = NONE,
) -> Fitted:
    """The fit at one strength, by Gauss-Newton steps from coefficients to begin with."""
    precisions = machine.terms.precisions(strength, third, own)
    mean, C = machine.moments(c)
    loss = _loss(target, precisions, c, mean)
    for _ in range(MOST_STEPS):
        pull = C @ (target.information @ (target.estimate - mean)) - precisions * c
        step = np.linalg.solve(C @ target.information @ C + np.diag(precisions), pull)
        promised = float(pull @ step)
        if promised < TOLERANCE:
            break
        size = 1.0
        for _ in range(MOST_HALVINGS):
            there = c + size * step
            mean_there, C_there = machine.moments(there)
            loss_there = _loss(target, precisions, there, mean_there)
            if loss_there <= loss - 1e-4 * size * promised:
                break
            size /= 2
        else:
            break
        c, mean, C, loss = there, mean_there, C_there, loss_there
    return Fitted(target, strength, precisions, c, mean, C, third, own)


def _progress(one: Fitted) -> str:
    of_three = "" if one.third == inf else f", of three {one.third:g}"
    return f"fitting: strength {one.strength:g}{of_three}, risk {one.risk:.1f}"


def _loss(target: Target, precisions: Array, c: Array, mean: Array) -> float:
    """Half the misfit and half the penalty."""
    return (target.misfit(mean) + float(precisions @ c**2)) / 2
