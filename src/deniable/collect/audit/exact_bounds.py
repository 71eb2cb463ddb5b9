"""Exact binomial inference for an audit: Clopper-Pearson bounds, a lower bound of epsilon, a test, and their power.

If an event has the chances u and v under two records, epsilon is at least ln(u / v). With a lower Clopper-Pearson bound
of u and an upper one of v, each wrong with probability `error` / 2 at most, ln(low / high) is a lower confidence bound
of epsilon, wrong with probability `error` at most, whatever the client does.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

MOST_DRAWS = 10**15  # More draws than these nobody makes, and they are not looked for.
POWER = 0.95  # A leak counts as caught if an audit finds it with this probability at least.


def chance_at_least(found: npt.ArrayLike, trials: npt.ArrayLike, error: float) -> Numbers:
    """The lower Clopper-Pearson bound of a chance, wrong with this probability at most."""
    from scipy.special import betaincinv

    k, n = np.asarray(found, float), np.asarray(trials, float)
    return np.where(k > 0, betaincinv(np.maximum(k, 0.5), n - k + 1, error), 0.0)


def chance_at_most(found: npt.ArrayLike, trials: npt.ArrayLike, error: float) -> Numbers:
    """The upper Clopper-Pearson bound of a chance, wrong with this probability at most."""
    from scipy.special import betaincinv

    k, n = np.asarray(found, float), np.asarray(trials, float)
    return np.where(k < n, 1 - betaincinv(np.maximum(n - k, 0.5), k + 1, error), 1.0)


def epsilon_at_least(here: npt.ArrayLike, there: npt.ArrayLike, trials: npt.ArrayLike, error: float) -> Numbers:
    """A lower bound of epsilon from how often an event came among equally many reports of two records; 0 or more.

    Examples
    --------
    >>> float(epsilon_at_least(7300, 2700, 10000, 1e-6)).__round__(2)  # where ln(0.73 / 0.27) = 0.99
    0.89
    """
    low, high = chance_at_least(here, trials, error / 2), chance_at_most(there, trials, error / 2)
    return np.log(np.maximum(low, high) / high)


def p_value(found: int, trials: int, stated: float) -> float:
    """The two-sided p-value of a count under a stated chance: twice the smaller exact binomial tail, at most 1."""
    from scipy.special import betainc

    more = betainc(found, trials - found + 1, stated) if found else 1.0
    less = betainc(trials - found, found + 1, 1 - stated) if found < trials else 1.0
    return float(min(1.0, 2 * min(more, less)))


def share_caught(stated: float, trials: int, error: float) -> float:
    """The least share of answers that, sent as they are, the test of a chance finds with probability `POWER`.

    The event is the one that the answer sent as it is always shows: a share s of such answers raises its chance from
    u to u + s (1 - u). It is 1 if even that would not be found.
    """
    from scipy.special import betainc

    critical = _first(lambda k: p_value(k, trials, stated) <= error, int(stated * trials), trials)
    low, high = 0.0, 1.0
    if critical > trials:
        return high
    while high - low > 1e-6:
        share = (low + high) / 2
        caught = betainc(critical, trials - critical + 1, stated + share * (1 - stated)) >= POWER
        low, high = (low, share) if caught else (share, high)
    return high


def draws_needed(stated: float, share: float, error: float) -> int:
    """The draws from which on the test of a chance finds this share of answers, sent as they are; rounded up.

    Examples
    --------
    >>> draws_needed(0.73, 0.1, 1e-6)
    12000
    """
    high = 100
    while share_caught(stated, high, error) > share and high < MOST_DRAWS:
        high *= 2
    needed = _first(lambda draws: share_caught(stated, draws, error) <= share, high // 2, high)
    digit: int = 10 ** max(len(str(needed)) - 2, 0)
    return -(-needed // digit) * digit


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first number from low to high of which something holds that holds of all after it; else high + 1."""
    high += 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
