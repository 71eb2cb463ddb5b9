"""What a whole report says of a feature: where several bits may be set, more than its bits one by one.

How much likelier a pattern r is if the answer is v than it is if answers have the shares pi, its score, is

    g_v(r) = P(r | v) / m(r),     m(r) = sum_u pi_u P(r | u),     G[v, u] = E[g_v | u] = sum_r P(r | v) P(r | u) / m(r)

and z = G^-1 g estimates the answer without bias: E[z | u] = e_u. As pi'g = 1 in every report, and pi'G = 1', z sums to
1. Products of z over features estimate the whole table; where answers are independent with the shares pi, nothing that
is unbiased has less variance. Any shares are right; those of the answers themselves are best.

Bits that are independent, p of any value and q of the true one, have L^bits, L = q (1 - p) / (p (1 - q)), for P(r | v),
up to a factor for all v, so that m is 1 + x, x = sum_u pi_u (L - 1) bit_u, up to that factor. Sums over all patterns
are then integrals over one number, as 1 / (1 + x)^k is that of s^(k - 1) e^(-s (1 + x)), for k = 1 and 2, and bits
under an exponential are taken one by one. Local hashing's bits are independent four by four, and taken as independent.
"""

from dataclasses import dataclass

import numpy as np

from deniable.inference.one_feature import Array
from deniable.survey.protocols.base import Protocol

STEP = 0.25  # The integral is a sum over log s in steps of this size, whose error falls as e^(-pi^2 / STEP).
FIRST, LAST = 1e-25, 50.0  # The sum goes over s from the first, as L may be 2^32, to the last, where e^-s is e^-50.


@dataclass(frozen=True, eq=False)
class Score:
    """The scores of a feature's patterns at given shares of its answers."""

    shares: Array
    means: Array  # G
    seconds: Array  # E[z_v z_w | u] of z = G^-1 g

    def estimates(self, protocol: Protocol) -> Array:
        """z of each pattern, (patterns, answers)."""
        likelihoods = protocol.likelihood(protocol.patterns)  # each up to a factor of its own
        scores = likelihoods / (likelihoods @ self.shares)[:, None]
        return np.asarray(np.linalg.solve(self.means, scores.T).T, np.float64)


def score(protocol: Protocol, shares: Array) -> Score:
    """The scores of a bound protocol at these shares, none of which is zero."""
    if protocol.several and protocol.dependence.is_independent:
        means, thirds = _independent(protocol.p, protocol.q, shares)
    else:
        law = protocol.pattern_probabilities.T
        means, thirds = _listed(law[law.any(axis=1)], shares)
    inverse = np.linalg.inv(means)
    return Score(shares, means, np.einsum("va,wb,abu->vwu", inverse, inverse, thirds, optimize=True))


def _listed(law: Array, shares: Array) -> tuple[Array, Array]:
    """E[g_v | u] and E[g_v g_w | u], summed over all patterns: law is (patterns, answers)."""
    scores = law / (law @ shares)[:, None]
    return scores.T @ law, np.einsum("rv,rw,ru->vwu", scores, scores, law)


def _independent(p: float, q: float, shares: Array) -> tuple[Array, Array]:
    """E[g_v | u] and E[g_v g_w | u] of independent bits, each by an integral over one number."""
    L = q * (1 - p) / (p * (1 - q))
    s = np.exp(np.arange(np.log(FIRST), np.log(LAST), STEP))[:, None]
    fading = p * np.exp(-s * (L - 1) * shares)
    none, one, two, three = (1 - p + L**k * fading for k in range(4))  # E[L^(k bit) e^(-s x)], of each bit alone
    weights = (1 - q) / (1 - p) * STEP * s[:, 0] * np.exp(-s[:, 0]) * none.prod(axis=1)
    one, two, three = one / none, two / none, three / none
    equal = np.arange(len(shares))
    means = (one * weights[:, None]).T @ one
    means[equal, equal] = weights @ two
    weights = weights * s[:, 0]
    thirds = np.einsum("sv,sw,su->vwu", one * weights[:, None], one, one, optimize=True)
    pairs = (two * weights[:, None]).T @ one
    thirds[equal, equal] = pairs
    thirds[equal, :, equal] = pairs
    thirds[:, equal, equal] = pairs.T
    thirds[equal, equal, equal] = weights @ three
    return means, thirds
