"""Lists of what was found surest: intervals that hold for those who were selected, and effects without the luck.

Whoever looks at the surest of many results sees those that chance has made larger. Of M tests, a list that ends with
the one of rank R has intervals that hold in 1 - a of its entries on average (the false coverage rate of Benjamini and
Yekutieli is at most a), if each has the level

    1 - a R / M

An effect is shrunken by empirical Bayes. The z-scores of all tests, of which each has the variance one, are drawn from

    (1 - pi) N(0, 1) + pi N(0, 1 + tau^2)

where a part pi of all effects is not zero. The posterior mean of an effect with the score z is z times

    P(not zero | z) tau^2 / (1 + tau^2)

averaged over pi and tau, each as likely as all scores together make it: pi with the prior density 2 (1 - pi), as few
things are usually associated, and tau with one that is even in its logarithm.
"""

import numpy as np

from deniable.inference.one_feature import Array

# The parts pi of effects that are not zero that are averaged over.
PARTS = np.linspace(0.01, 0.99, 50)
# The standard deviations tau of effects that are not zero, in their standard errors, that are averaged over.
SPREADS = np.geomspace(0.15, 10, 30)
# A z-score beyond this is taken as this: no probability is smaller than a number can be.
LARGEST = 37.0
# So many z-scores are taken at once: each has a number for every part and spread, 12 kB.
BLOCK = 1 << 11


def listed_levels(ranks: Array, tests: int, level: float) -> Array:
    """The level of the interval of each entry of a list, so that false coverage in it is at most 1 - level.

    `ranks` says where each stands, counted from one, and `tests` how many there were in all.
    """
    return np.asarray(1 - (1 - level) * ranks / tests)


def shrinkage(p_values: Array) -> Array:
    """How many times smaller each effect is than it was found, given the two-sided p-values of all; nan without one."""
    from scipy.special import logsumexp, ndtri

    some = ~np.isnan(p_values)
    kept = np.full(len(p_values), np.nan)
    if not some.any():
        return kept
    z = np.minimum(-ndtri(np.maximum(p_values[some], 1e-300) / 2), LARGEST)
    blocks = np.split(z, range(BLOCK, len(z), BLOCK))
    likely = np.log1p(-PARTS)[:, None] + sum(_log_laws(block)[1].sum(axis=-1) for block in blocks)
    weights = np.exp(likely - logsumexp(likely)) * SPREADS**2 / (1 + SPREADS**2)
    means = []
    for block in blocks:
        other, mixture = _log_laws(block)
        means.append(np.tensordot(weights, np.exp(other - mixture), 2))
    kept[some] = np.concatenate(means)
    return kept


def _log_laws(z: Array) -> tuple[Array, Array]:
    """The logarithms of the densities of effects that are not zero and of all, by part, spread and z-score."""
    spread, parts = SPREADS[:, None], PARTS[:, None, None]
    slab = -(z**2) / (1 + spread**2) / 2 - np.log1p(spread**2) / 2
    null, other = np.log1p(-parts) - z**2 / 2, np.log(parts) + slab
    return other, np.logaddexp(null, other)
