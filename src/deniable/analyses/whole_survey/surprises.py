"""Interactions that the prior they share does not explain: one strong pair among many that do not go together.

One strength of shrinkage for all would take such a pair for noise. With H = dm/dy at a fit, the residual r = y - m of a
set of features has the covariance V, the block of (1 - H)A^-1 = A^-1 - CPC, if the prior is right; P is the posterior
covariance of the coefficients. So r'V^-1 r is a chi-square.

Where that is surprising, the coefficients of the set have a prior variance s of their own besides. It adds s GG' to V,
G the block of (1 - H)C, and s tr(V^-1 GG') to the mean of the chi-square, from which it follows. Elsewhere intervals
hold what the chi-square has above its mean: how much further than it says the prior may have drawn the set to zero.
"""

import numpy as np

from deniable.analyses.associations import false_discovery_rate
from deniable.analyses.whole_survey.contrasts import Places, Terms
from deniable.analyses.whole_survey.shrinkage import Fitted
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
    judged = {one: _judged(*_residual(fitted, terms, one)) for one in _shrunk(fitted, terms)}
    found: dict[Places, float] = {}
    for order in {len(one) for one in judged}:
        own = [one for one in judged if len(one) == order]
        rates = false_discovery_rate(np.array([judged[one][0] for one in own]))
        found |= {one: judged[one][1] for one, rate in zip(own, rates, strict=True) if rate <= SURPRISING}
    return found


def _judged(r: Array, V: Array, G: Array) -> tuple[float, float]:
    """How often the prior gives as large a residual, and the further variance of each coefficient that explains it."""
    from scipy.special import chdtrc

    statistic = float(r @ np.linalg.solve(V, r))
    return float(chdtrc(len(r), statistic)), (statistic - len(r)) / float(np.trace(np.linalg.solve(V, G @ G.T)))


def beyond_shrinkage(fitted: Fitted, terms: Terms) -> dict[Places, float]:
    """The variance of each contrast of interactions without one of their own, beyond what the prior explains."""
    found = {}
    for one in _shrunk(fitted, terms):
        if one not in fitted.own:
            r, V, _ = _residual(fitted, terms, one)
            precision = np.linalg.inv(V)
            if (above := float(r @ precision @ r) - len(r)) > 0:
                found[one] = above / float(np.trace(precision))
    return found


def _shrunk(fitted: Fitted, terms: Terms) -> list[Places]:
    """The sets of two features and more whose interactions are shrunk, or would be without a variance of their own."""
    S, C = fitted.target.covariance, fitted.covariance
    left = np.diagonal(S) - ((C @ fitted.posterior) * C).sum(axis=1)
    return [
        one
        for one, at in terms.slices.items()
        if len(one) > 1 and (one in fitted.own or left[at].sum() > SHRUNK * np.diagonal(S)[at].sum())
    ]


def _residual(fitted: Fitted, terms: Terms, one: Places) -> tuple[Array, Array, Array]:
    """The residual r of a set in the model made linear at the fit, its V and G, without a variance of its own."""
    at, C, A = terms.slices[one], fitted.covariance, fitted.target.information
    y = fitted.target.estimate - fitted.mean + C @ fitted.coefficients
    CP = C[at] @ (_posterior_without(fitted, terms, at) if one in fitted.own else fitted.posterior)
    left = -CP @ C @ A
    left[:, at] += np.eye(len(left))
    return left @ y, fitted.target.covariance[at, at] - CP @ C[:, at], left @ C[:, at]


def _posterior_without(fitted: Fitted, terms: Terms, at: slice) -> Array:
    """The posterior covariance if the coefficients of a set had no variance of their own."""
    C, precisions = fitted.covariance, fitted.precisions.copy()
    precisions[at] = terms.precisions(fitted.strength, fitted.third)[at]
    return np.asarray(np.linalg.inv(C @ fitted.target.information @ C + np.diag(precisions)))
