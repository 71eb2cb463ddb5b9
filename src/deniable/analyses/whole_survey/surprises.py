"""Interactions that the prior they share does not explain: one strong pair among many that do not go together.

One strength of shrinkage for all would take such a pair for noise. With H = dm/dy at a fit, the residual r = y - m of a
set of features has the covariance V, the block of (1 - H)A^-1 = A^-1 - CPC, if the prior is right; P is the posterior
covariance of the coefficients. So r'V^-1 r is a chi-square.

Where that is surprising, the coefficients of the set have a prior variance s of their own besides. It adds s GG' to V,
G the block of (1 - H)C, and so s tr(V^-1 GG') to the mean of the chi-square: s is what the chi-square has above its
mean, over this trace. Elsewhere what it has above its mean goes into intervals, as a variance of the contrasts: so much
further than it expects the prior may have drawn the set to zero.
"""

import numpy as np

from deniable.analyses.associations import false_discovery_rate
from deniable.analyses.whole_survey.contrasts import Places, Terms
from deniable.analyses.whole_survey.shrinkage import STRENGTHS, Fitted
from deniable.inference.one_feature import Array

# Interactions have a prior variance of their own if of a list that ends with them at most this share is expected to be
# explained by the prior that all share (a false discovery rate).
SURPRISING = 0.2
# A set whose residual has less than this of the variance of its estimate is hardly shrunk at all.
SHRUNK = 1e-3


def own_variances(fitted: Fitted, terms: Terms) -> dict[Places, float]:
    """The further prior variance of each coefficient of the interactions that are surprising, by set of features.

    Interactions of two and of three are judged apart, as they have priors of their own.
    """
    judged = {one: found for one in _sets(terms) if (found := _judged(fitted, terms, one))}
    freed: dict[Places, float] = {}
    for order in {len(one) for one in judged}:
        own = [one for one in judged if len(one) == order]
        rates = false_discovery_rate(np.array([judged[one][0] for one in own]))
        freed |= {one: judged[one][1] for one, rate in zip(own, rates, strict=True) if rate <= SURPRISING}
    return freed


def _judged(fitted: Fitted, terms: Terms, one: Places) -> tuple[float, float] | None:
    """How often the prior gives as large a residual, and the variance of each coefficient that explains it.

    None of a set that is hardly shrunk. The logarithm of an interaction has at most the largest variance that is tried
    for all.
    """
    from scipy.special import chdtrc

    r, V, G = _residual(fitted, terms, one)
    if not _is_shrunk(fitted, terms, one, V):
        return None
    statistic, size = float(r @ np.linalg.solve(V, r)), len(r)
    variance = (statistic - size) / float(np.trace(np.linalg.solve(V, G @ G.T)))
    return float(chdtrc(size, statistic)), min(variance, 1 / (min(STRENGTHS) * size))


def beyond_shrinkage(fitted: Fitted, terms: Terms) -> dict[Places, float]:
    """The variance of each contrast of interactions without one of their own, by how far it is above its mean."""
    found = {}
    for one in (one for one in _sets(terms) if one not in fitted.own):
        r, V, _ = _residual(fitted, terms, one)
        if _is_shrunk(fitted, terms, one, V):
            precision = np.linalg.inv(V)
            if (above := float(r @ precision @ r) - len(r)) > 0:
                found[one] = above / float(np.trace(precision))
    return found


def _sets(terms: Terms) -> list[Places]:
    """The sets of two features and more."""
    return [one for one in terms.sets if len(one) > 1]


def _is_shrunk(fitted: Fitted, terms: Terms, one: Places, V: Array) -> bool:
    """Whether the residual of a set has some of the variance of its estimate: else it is hardly shrunk."""
    at = terms.slices[one]
    return bool(np.trace(V) > SHRUNK * np.trace(fitted.target.covariance[at, at]))


def _residual(fitted: Fitted, terms: Terms, one: Places) -> tuple[Array, Array, Array]:
    """The residual r of a set in the model made linear at the fit, its V and G, without a variance of its own."""
    at, C = terms.slices[one], fitted.covariance
    y = fitted.target.estimate - fitted.mean + C @ fitted.coefficients
    CP = C[at] @ (_posterior_without(fitted, terms, one) if one in fitted.own else fitted.posterior)
    left = -CP @ fitted.slope
    left[:, at] += np.eye(len(left))
    return left @ y, fitted.target.covariance[at, at] - CP @ C[:, at], left @ C[:, at]


def _posterior_without(fitted: Fitted, terms: Terms, one: Places) -> Array:
    """The posterior covariance if the coefficients of a set had no variance of their own."""
    others = {freed: variance for freed, variance in fitted.own.items() if freed != one}
    precisions = terms.precisions(fitted.strength, fitted.third, others)
    return np.asarray(np.linalg.inv(fitted.slope @ fitted.covariance + np.diag(precisions)))
