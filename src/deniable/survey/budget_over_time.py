"""What a person gives away who answers several surveys, or one survey in several waves.

Fresh randomizing adds up (sequential composition): ratios r = e^epsilon multiply, over surveys and over waves. If the
device keeps what it sent in the first wave, arm and randomized answers, and sends that again (memoization), the other
waves tell nothing more, and each survey counts once.

A yes/no answer is guessed right, from k fresh reports that are right with the probability r / (1 + r) each, by what
most of them say. If yes and no were equally likely before, that is right with the probability of a majority, and no
guess from any reports with this ratio is right more often (every such report can be made from randomized response).
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from math import ceil, comb, inf, nextafter, prod
from numbers import Real
from typing import Any

from deniable.errors import PlanError, abbreviated
from deniable.survey.describe import FILLED
from deniable.survey.plan import Plan
from deniable.survey.privacy import BELIEF, Promise, of_report
from deniable.survey.protocols.grid import positive
from deniable.text.html import printed
from deniable.text.tables import aligned

# HEAD names the columns of the table that is printed.
HEAD = ("answered", "epsilon each time", "times", "epsilon in all", "if kept", "yes/no known", "known if kept")
# MOST_WAVES is how many waves are counted at most: a wave every day for ten years.
MOST_WAVES = 3_660
# MOST_EPSILON is the largest epsilon of a whole report that is counted: far beyond it nothing is protected.
MOST_EPSILON = 1_000
# DIGITS is how many digits of e^epsilon there are, rounded up, where epsilon is a number and not a plan.
DIGITS = 50
# CERTAIN is the e^epsilon from which on one report tells a yes/no answer as surely as a float can say.
CERTAIN = 10**20
# ODDS is up to where odds are written out; beyond it they are shown as a power of e.
ODDS = 10**6


@dataclass(frozen=True)
class Spent:
    """What one survey costs a person who answers it: in each wave, in all waves, and if answers are kept."""

    label: str
    each: Promise  # of one whole report
    waves: int
    exact: Fraction  # epsilon of one whole report: as it was given, or that of a plan rounded up
    public: tuple[str, ...] = ()  # the columns that are sent as they are, which no epsilon is about
    protects: bool = True  # whether anything else is asked
    once: float | None = None  # epsilon of one report, of a plan whose answers are kept: `each` and `exact` are of all

    @property
    def epsilon(self) -> float:
        """Epsilon of one whole report."""
        return _rounded_up(self.exact)

    @property
    def times(self) -> int:
        """How often epsilon is spent: once if the plan keeps answers, else in each wave."""
        return self.waves if self.once is None else 1

    @property
    def known(self) -> float:
        """The most that a yes/no answer can be guessed right, from the reports in all waves; before, 1/2."""
        return guessed_right(self.each.ratio, self.times)

    @property
    def known_if_kept(self) -> float:
        """The same if answers are kept: from one report, whatever the number of waves."""
        return guessed_right(self.each.ratio, 1)


@dataclass(frozen=True)
class Budget:
    """What a person gives away who answers some surveys in all waves, fresh each time, or with answers kept.

    Examples
    --------
    >>> over_time = dn.budget([1.0], waves=12)
    >>> over_time.epsilon, over_time.kept_epsilon
    (12.0, 1.0)
    >>> over_time.kept_promise.at_most(0.1)
    '24 in 100'
    """

    spent: tuple[Spent, ...]
    waves: int

    @cached_property
    def promise(self) -> Promise:
        """The promise of all reports together, each randomized afresh unless its plan keeps answers."""
        return Promise(prod((one.each.ratio**one.times for one in self.spent), start=Fraction(1)))

    @cached_property
    def kept_promise(self) -> Promise:
        """The promise of all reports together if arm and randomized answers are kept from the first wave on."""
        return Promise(prod((one.each.ratio for one in self.spent), start=Fraction(1)))

    @property
    def epsilon(self) -> float:
        """Epsilon of all reports together, rounded up in its last digit."""
        return _rounded_up(sum((one.times * one.exact for one in self.spent), Fraction(0)))

    @property
    def kept_epsilon(self) -> float:
        """Epsilon of all reports together if answers are kept, rounded up in its last digit."""
        return _rounded_up(sum((one.exact for one in self.spent), Fraction(0)))

    _repr_html_ = printed

    def __str__(self) -> str:
        table = aligned(HEAD, list(map(_row, self.spent)), numbers=range(1, len(HEAD)), rule=True, colour=False)
        lines = [*table, ""]
        if any(one.protects for one in self.spent):
            lines += [*_filled(self._fresh()), *_filled(self._kept()), *_filled(KNOWN)]
        several = len(self.spent) > 1
        shown = [", ".join(one.public) + (f" in {one.label}" if several else "") for one in self.spent if one.public]
        if shown:
            lines += _filled(f"NOT PROTECTED, sent as they are each time, and in no epsilon: {'; '.join(shown)}.")
        return "\n".join(lines)

    def _fresh(self) -> str:
        waves = f" in {self.waves:,} waves" if self.waves > 1 else ""
        return (
            f"Who answers {'them all' if len(self.spent) > 1 else 'it'}{waves}, {self._how()}, spends "
            f"epsilon {_in_words(self.epsilon)}: {_in_odds(self.promise, self.epsilon)}."
        )

    def _how(self) -> str:
        kept = sum(one.once is not None for one in self.spent)
        if kept == len(self.spent):
            return "with answers that the plan keeps"
        return "randomized afresh each time" + (" unless its plan keeps answers" if kept else "")

    def _kept(self) -> str:
        return (
            "If the device keeps its arm and its randomized answers and sends the same again, epsilon is "
            f"{_in_words(self.kept_epsilon)} however many waves there are: "
            f"{_in_odds(self.kept_promise, self.kept_epsilon)}. That holds while the true answers stay as they are."
        )


def _row(one: Spent) -> tuple[str, ...]:
    """The line of one survey in the table that is printed."""
    if not one.protects:
        return one.label, "NOT PROTECTED", f"{one.waves:,}", "", "", "", ""
    return (
        one.label,
        _in_words(one.epsilon if one.once is None else one.once),
        f"{one.waves:,}",
        _in_words(_rounded_up(one.times * one.exact)),
        _in_words(one.epsilon),
        _percent(one.known),
        _percent(one.known_if_kept),
    )


# KNOWN says what the last columns of the table are.
KNOWN = (
    "Yes/no known: how often somebody who sees all reports of a survey can guess one yes/no answer right, at most, if "
    "both were equally likely before."
)


def budget(of: Any, *, waves: int = 1) -> Budget:
    """What a person gives away who answers several surveys, or one survey in several waves.

    Parameters
    ----------
    of
        Plans and epsilons of whole reports, a list of them or one.
    waves
        How many times each is answered by the same person.

    Returns
    -------
    Budget
        With `epsilon` and `promise` of all reports together, `kept_epsilon` and `kept_promise` if the device keeps its
        randomized answers and sends the same in each wave, and `spent`, the parts by survey. It prints as a table.

    Examples
    --------
    >>> print(dn.budget([1.0], waves=7))
    answered  epsilon each time  times  epsilon in all  if kept  yes/no known  known if kept
    --------  -----------------  -----  --------------  -------  ------------  -------------
    a survey             1.0000      7          7.0000   1.0000        91.1 %         73.2 %
    ...
    """
    if isinstance(waves, bool) or not isinstance(waves, int) or not 1 <= waves <= MOST_WAVES:
        raise PlanError(
            f"waves is how many times each survey is answered, 1 to {MOST_WAVES:,}; found {abbreviated(waves)}"
        )
    items = list(of) if isinstance(of, Sequence) and not isinstance(of, str) else [of]
    if not items:
        raise PlanError("a budget is of plans or epsilons, [plan, 0.5]; found none")
    several = len(items) > 1
    return Budget(tuple(_spent(one, k + 1 if several else None, waves) for k, one in enumerate(items)), waves)


def _spent(item: Any, number: int | None, waves: int) -> Spent:
    """What one survey costs, given as a plan or as an epsilon."""
    which = "a survey" if number is None else f"survey {number}"
    if isinstance(item, Plan):
        label, protects = f"{which} ({item.fingerprint[:8]})", len(item.public) < len(item.schema)
        once = item.epsilon_1 if item.kept else None
        return Spent(label, of_report(item), waves, Fraction(item.epsilon), item.public, protects, once)
    if isinstance(item, bool) or not isinstance(item, Real):
        raise PlanError(f"a budget is of plans or epsilons, [plan, 0.5]; found {abbreviated(item)}")
    if (epsilon := positive(item)) > MOST_EPSILON:
        raise PlanError(f"epsilon {float(item):g} protects nothing; a budget counts epsilons up to {MOST_EPSILON:,}")
    return Spent(which, Promise(power_of_e(epsilon)), waves, epsilon)


def power_of_e(epsilon: Fraction) -> Fraction:
    """e^epsilon as a fraction, to many digits and rounded up: no promise that is made of it is too good."""
    up = Context(prec=DIGITS, rounding=ROUND_CEILING)
    exponent = up.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    return Fraction(up.next_plus(up.exp(exponent)))


def guessed_right(ratio: Fraction, reports: int) -> float:
    """How often the majority of so many fresh reports of a yes/no answer is right, if equal numbers are a toss-up.

    With an even number it is the same as with one less: the last report decides nothing alone.
    """
    odd = reports - (reports % 2 == 0)
    if ratio > CERTAIN:
        return 1.0
    with localcontext(Context(prec=DIGITS)):
        p = Decimal(ratio.numerator) / Decimal(ratio.numerator + ratio.denominator)
        return float(sum(comb(odd, k) * p**k * (1 - p) ** (odd - k) for k in range(odd // 2 + 1, odd + 1)))


def _rounded_up(exact: Fraction) -> float:
    """A number as a float that is not below it."""
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else nextafter(nearest, inf)


def _in_words(epsilon: float) -> str:
    """Epsilon with four digits, rounded up but for what only the last digits of a float say."""
    return f"{ceil(Fraction(epsilon) * 10_000 - Fraction(1, 10**6)) / 10_000:,.4f}"


def _in_odds(promise: Promise, epsilon: float) -> str:
    """What a promise means, in odds and beliefs."""
    changed = f"{ceil(promise.ratio * 10) / 10:,.1f}" if promise.ratio < ODDS else f"e^{_in_words(epsilon)}"
    little = ", which protects little" if promise.little else ""
    return (
        f"the odds of any protected answers change by at most {changed} times, and a belief of 1 in 10 gets "
        f"{promise.up_to(BELIEF)}{little}"
    )


def _percent(chance: float) -> str:
    """A chance of being known in percent, rounded up in its last digit unless it is all but certain."""
    shown = ceil(Fraction(chance) * 1000) / 10
    return f"{shown:.1f} %" if shown < 100 else "> 99.9 %"


def _filled(text: str) -> list[str]:
    return textwrap.wrap(text, FILLED, break_long_words=False, break_on_hyphens=False)
