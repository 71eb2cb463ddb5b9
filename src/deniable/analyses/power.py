"""Power of a planned survey: how many respondents see an effect, with which probability, and the least effect seen.

Effects are correlations, and differences of shares, of two answers that are independent with guessed shares. A test is
two-sided at 5 %. Everything about the population scales as 1 / n, so that the inverse questions are in closed form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any

import numpy as np

from deniable.analyses.expectation import TWO_SIDED, expectation
from deniable.errors import EstimateError, PlanError
from deniable.survey.plan import Plan
from deniable.survey.schema import Flag

# Sample sizes are found from a survey of so many respondents, whose sizes of arms need hardly be rounded.
MANY = 1_000_000_000


@dataclass(frozen=True)
class Detectable:
    """The minimal detectable effects of a survey of n respondents: what it sees with this power, by tests at 5 %.

    `difference` is that of the first answer's share between those with and without the second, which must be a flag;
    else it is None.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")])
    >>> plan = dn.Plan(schema, epsilon=2.0, together=[["smoker", "drinker"]])
    >>> print(plan.detectable("smoker", "drinker", n=10_000))
    With 10,000 respondents, a correlation of 0.0456 or a difference of 4.56 points is seen with a chance of 80 %.
    """

    first: str
    second: str
    n: int
    power: float
    correlation: float
    difference: float | None

    def __str__(self) -> str:
        points = "" if self.difference is None else f" or a difference of {100 * self.difference:.3g} points"
        return (
            f"With {self.n:,} respondents, a correlation of {self.correlation:.3g}{points} is seen with a chance of "
            f"{100 * self.power:.3g} %."
        )


def people_needed(
    plan: Plan,
    names: Sequence[Any],
    half_width: float | None,
    correlation: float | None,
    difference: float | None,
    power: float,
    guess: Any,
) -> int:
    """How many respondents give a half-width, or the power to see a correlation or a difference."""
    if sum(one is not None for one in (half_width, correlation, difference)) != 1:
        raise PlanError("needed takes one of half_width, correlation and difference")
    if half_width is not None:
        if not _is_number(half_width) or not 0 < half_width < 1:
            raise PlanError(f"half_width is a share between 0 and 1, such as 0.02; found {half_width!r}")
        return ceil(MANY * (expectation(plan, names, n=MANY, guess=guess).half_width / half_width) ** 2)
    if len(names) != 2 or not _is_number(power) or not 0 < power < 1:
        raise PlanError(f"needed takes two features and a power between 0 and 1; found {list(names)!r}, {power!r}")
    effect = _effect(correlation, difference)
    stderr = _stderr(plan, names[0], names[1], MANY, guess, difference=difference is not None)
    return ceil(MANY * (_standard_errors(power) * stderr / effect) ** 2)


def least_detectable(plan: Plan, first: Any, second: Any, n: int | None, power: float, guess: Any) -> Detectable:
    """The least correlation, and the least difference of shares, that a survey of n respondents sees."""
    times = _standard_errors(power)
    correlation = times * _stderr(plan, first, second, n, guess, difference=False)
    difference = None
    if isinstance(plan.schema[_names(second)[0]], Flag):
        difference = times * _stderr(plan, first, second, n, guess, difference=True)
    told = [one if isinstance(one, str) else f"{one[0]} = {one[1]}" for one in (first, second)]
    people = plan.n if n is None else n
    assert people is not None  # without it there is no standard error
    return Detectable(told[0], told[1], people, float(power), correlation, difference)


def _standard_errors(power: float) -> float:
    """How many standard errors from zero an effect must be to be seen with this power."""
    from scipy.special import ndtri

    if not _is_number(power) or not 0 < power < 1:
        raise PlanError(f"power is a probability between 0 and 1, such as 0.8; found {power!r}")
    return TWO_SIDED + float(ndtri(power))


def power_of(
    plan: Plan,
    first: Any,
    second: Any,
    correlation: float | None,
    difference: float | None,
    n: int | None,
    guess: Any,
) -> float:
    """The probability of seeing a correlation or a difference, by a two-sided test at 5 %."""
    from scipy.special import ndtr

    effect = _effect(correlation, difference)
    z = effect / _stderr(plan, first, second, n, guess, difference=difference is not None)
    return float(ndtr(z - TWO_SIDED) + ndtr(-z - TWO_SIDED))


def _effect(correlation: float | None, difference: float | None) -> float:
    given = [one for one in (correlation, difference) if one is not None]
    if len(given) != 1 or not _is_number(given[0]) or not 0 < abs(given[0]) <= 1:
        raise PlanError(f"what is to be seen is a correlation or a difference, up to 1; found {given}")
    return abs(float(given[0]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _names(*of: Any) -> list[Any]:
    """The features of flags' names, or of choices' answers such as ("age", "65+")."""
    return [one[0] if isinstance(one, tuple | list) and one else one for one in of]


def _stderr(plan: Plan, first: Any, second: Any, n: int | None, guess: Any, *, difference: bool) -> float:
    """The standard error of a correlation, or of a difference, of two independent indicators, with guessed shares."""
    names = _names(first, second)
    if not isinstance(guess, Mapping | None):
        raise PlanError("power takes a guess of shares, {'smoker': 0.2}: the two are taken as independent")
    found = expectation(plan, names, n=n, guess=guess)
    if not difference:
        stderr = found.correlation(first, second).stderr
    else:
        feature = plan.schema[names[1]]
        if not isinstance(feature, Flag):
            raise PlanError("a difference is between those with and without a flag; name one as the second feature")
        stderr = found.difference(first, between=(names[1], True, False)).stderr
    if not stderr > 0 or not sqrt(stderr) < np.inf:
        raise EstimateError("there is no standard error to compare with")
    return stderr
