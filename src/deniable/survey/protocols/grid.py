"""Probabilities as integers over 65 536: the largest that stay within an epsilon, in exact arithmetic.

An asked epsilon is rounded down to the largest that the integers reach: never above what was asked.
"""

import math
from bisect import bisect_right
from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

from deniable.client import SCALE, log_up
from deniable.errors import PlanError, abbreviated

Epsilon = float | Fraction

HALF = SCALE // 2
MOST_EPSILON = 64  # An epsilon of one feature above this is taken as this: integers over 65 536 reach 28 at most.


def coin(epsilon: Epsilon, n: int) -> int:
    """The largest numerator of a coin that keeps one of n outcomes within epsilon, the others being uniform."""
    return largest(lambda k: 1 + Fraction(n * k, SCALE - k), epsilon, least=1)


def largest(rising: Callable[[int], Fraction], epsilon: Epsilon, *, least: int) -> int:
    """The largest numerator from `least` on whose e^epsilon, which rises with it, is within that asked for."""
    limit = exp_down(check_epsilon(epsilon))
    numerator = least - 1 + bisect_right(range(least, SCALE), limit, key=rising)
    if numerator < least:
        raise PlanError(
            f"epsilon {float(epsilon)!r} is too small for probabilities over {SCALE}; "
            f"the least possible here is {log_up([rising(least)])!r}"
        )
    return numerator


def whole_number(number: Any, what: str, least: int, most: int) -> int:
    """Return a whole number between two limits as an int; anything else is refused by name."""
    whole = isinstance(number, Integral) and not isinstance(number, bool)
    if not whole or not least <= number <= most:
        raise PlanError(f"{what} must be a whole number from {least} to {most}; found {abbreviated(number)}")
    return int(number)


def check_epsilon(epsilon: Any) -> Epsilon:
    """Return a positive, finite number, cut to the largest epsilon that one feature can have."""
    exact = min(positive(epsilon), Fraction(MOST_EPSILON))
    return exact if isinstance(epsilon, Fraction) else float(exact)


def positive(number: Any, what: str = "epsilon") -> Fraction:
    """Return a positive, finite number as an exact fraction; anything else is refused by the name of what it is."""
    if isinstance(number, bool) or not isinstance(number, Real) or not 0 < number < math.inf:  # type: ignore[operator]
        raise PlanError(f"{what} must be a positive number; found {abbreviated(number)}")
    if isinstance(number, Rational):
        return Fraction(int(number.numerator), int(number.denominator))  # numpy's integers would wrap around
    return Fraction(float(number))


def exp_down(epsilon: Epsilon) -> Fraction:
    """e^epsilon rounded down: a fraction below it by less than one part in 1e48."""
    exact = Fraction(epsilon)
    with localcontext(Context(prec=50, rounding=ROUND_FLOOR)):
        return Fraction((Decimal(exact.numerator) / exact.denominator).exp().next_minus())


def inside(p: Epsilon, q: Epsilon) -> dict[str, int]:
    """Numerators of p rounded up and of q rounded down, which can only make epsilon smaller."""
    for name, value in (("p", p), ("q", q)):
        if not isinstance(value, Real) or not 0 < value < 1:
            raise PlanError(
                f"{name} must be a number above 0 and below 1; "
                f"found {abbreviated(value)}. To show a column as it is, use Public()"
            )
    low, high = math.ceil(_exact(p) * SCALE), math.floor(_exact(q) * SCALE)
    if not 0 < low < high < SCALE:
        raise PlanError(f"p must be below q by at least 1/{SCALE}; found p = {abbreviated(p)}, q = {q!r}")
    return {"p_numerator": low, "q_numerator": high}


def _exact(number: Epsilon) -> Fraction:
    return number if isinstance(number, Fraction) else Fraction(float(number))
