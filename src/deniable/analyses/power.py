"""Power of a planned survey: how many respondents see an effect, with which probability, and the least effect seen.

Effects are correlations, and differences of shares, of two answers with guessed shares. Standard errors are those of
independent answers, and a test is two-sided at 5 %. Everything about the population scales as 1 / n, so that the
inverse questions are in closed form.

With p and q the shares of the two answers, an effect is a covariance c of the two: a correlation is c over the root of
p (1 - p) q (1 - q), and a difference c over q (1 - q). No table has a covariance beyond Frechet's bounds,

    max(-p q, -(1 - p) (1 - q)) <= c <= min(p (1 - q), (1 - p) q)

A test may see an effect where the trust rule finds too few reports for an interval. The rule is asked as it is of a
survey that was made, about the population, of simulated surveys whose truth has the effect, and through the results
that users see.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil, floor, log10, sqrt
from typing import Any

import numpy as np

from deniable.analyses.expectation import Expectation, check_guess, checked_people, expectation
from deniable.analyses.expected.answer_chances import answer_chance
from deniable.analyses.expected.guesses import guessed
from deniable.counts.checks import check_asked
from deniable.errors import EstimateError, PlanError, abbreviated
from deniable.estimates.answers_as_weights import two_indicators
from deniable.inference.one_feature import Array
from deniable.simulate import Truth, truth
from deniable.survey.expectations import POWER
from deniable.survey.half_widths import TWO_SIDED
from deniable.survey.plan import Plan
from deniable.survey.schema import Schema
from deniable.text.fixed_phrases import how_many
from deniable.text.html import printed
from deniable.text.progress import told

# Sample sizes are found from a survey of so many respondents, beside whom those that the metric spreads are nothing.
MANY = 1_000_000_000
# A test at this level sees an effect that is not there so often.
SIZE = 0.05
# An effect is possible up to so much beyond its bounds, which are rounded like any number.
ROUNDING = 1e-9
# Numbers of respondents are looked for up to this power of two.
MOST_DOUBLINGS = 40
# The number at which the expected survey has an interval is first known to this many times, either way.
ABOUT = 4
# Halving the range of numbers so often gives the number within a tenth.
HALVINGS = 4
# Whether an interval is probable enough is decided by at most so many simulated surveys.
SURVEYS = 40
# The probability of an interval is that of so many: its standard error is at most 3.5 points.
MORE_SURVEYS = 200


@dataclass(frozen=True)
class Detectable:
    """The minimal detectable effects of a survey of n respondents: what it sees with this power, by tests at 5 %.

    `difference` is that of the first answer's share between those with and without the second.
    Either is None where there is none: no effect that is possible with the guessed shares is large enough.

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
    correlation: float | None
    difference: float | None

    _repr_html_ = printed

    def __str__(self) -> str:
        people = f"With {how_many(self.n, 'respondent')}, "
        found = [] if self.correlation is None else [f"a correlation of {self.correlation:.3g}"]
        found += [] if self.difference is None else [f"a difference of {100 * self.difference:.3g} points"]
        chance = f"seen with a chance of {100 * self.power:.3g} %."
        if not found:
            return f"{people}nothing that goes between {self.first} and {self.second} is {chance}"
        return f"{people}{' or '.join(found)} is {chance}"


@dataclass(frozen=True, eq=False)
class Pair:
    """Two answers of a planned survey, a flag's yes or a choice's answer each, with guessed shares."""

    plan: Plan
    first: Any
    second: Any
    names: tuple[str, str]
    margins: tuple[Array, Array]  # the shares of all answers to each of the two
    places: tuple[int, int]  # of the two answers among them

    @classmethod
    def of(cls, plan: Plan, first: Any, second: Any, guess: Any) -> "Pair":
        """Check what is asked for."""
        names = [one[0] if isinstance(one, tuple | list) and one else one for one in (first, second)]
        check_asked(plan, names)
        features = tuple(plan.schema[name] for name in names)
        two_indicators(features, first, second)
        check_guess(plan, guess)
        margins = [guessed([feature], guess) for feature in features]
        answers = [True if isinstance(one, str) else one[1] for one in (first, second)]
        places = [feature.answers.index(answer) for feature, answer in zip(features, answers, strict=True)]
        made = cls(plan, first, second, (names[0], names[1]), (margins[0], margins[1]), (places[0], places[1]))
        for name, share in zip(made.said, made.shares, strict=True):
            if not 0 < share < 1:
                who = "everybody" if share else "nobody"
                raise PlanError(f"by the guess {who} has {name}, so that nothing goes with it; guess another share")
        return made

    @property
    def said(self) -> tuple[str, str]:
        """The two answers in words."""
        one, other = (one if isinstance(one, str) else f"{one[0]} = {one[1]}" for one in (self.first, self.second))
        return one, other

    @property
    def shares(self) -> tuple[float, float]:
        """The guessed shares of the two answers."""
        one, other = (float(margin[place]) for margin, place in zip(self.margins, self.places, strict=True))
        return one, other

    def covariance(self, kind: str) -> float:
        """The covariance of the two answers that an effect of 1 means."""
        p, q = self.shares
        return sqrt(p * (1 - p) * q * (1 - q)) if kind == "correlation" else q * (1 - q)

    def bounds(self, kind: str) -> tuple[float, float]:
        """The least and the largest effect that is possible with these shares."""
        p, q = self.shares
        unit = self.covariance(kind)
        return max(-p * q, -(1 - p) * (1 - q)) / unit, min(p * (1 - q), (1 - p) * q) / unit

    def effect(self, correlation: Any, difference: Any) -> tuple[str, float]:
        """What is to be seen, checked: its kind, and its size with its sign."""
        given = {"correlation": correlation, "difference": difference}
        given = {kind: size for kind, size in given.items() if size is not None}
        if len(given) != 1:
            found = "neither" if not given else "both"
            raise PlanError(f"give what is to be seen, correlation=0.1 or difference=0.05; found {found}")
        ((kind, size),) = given.items()
        if not _is_number(size) or not 0 < abs(size) <= 1:
            raise PlanError(f"what is to be seen is a correlation or a difference, up to 1; found {abbreviated(size)}")
        low, high = self.bounds(kind)
        if not low - ROUNDING <= size <= high + ROUNDING:
            raise PlanError(
                f"with the guessed shares of {self.said[0]} and {self.said[1]}, {self.shares[0]:.3g} and "
                f"{self.shares[1]:.3g}, a {kind} is between {low:.2g} and {high:.2g}; found {float(size):g}"
            )
        return kind, float(size)

    def expected(self, n: int | None) -> Expectation:
        """What the survey tells of the table of the two if they are independent."""
        guess = dict(zip(self.names, self.margins, strict=True))
        return expectation(self.plan, self.names, n=n, guess=guess)

    def result(self, of: Any, kind: str) -> Any:
        """The effect as an estimate, or an expectation, has it: a value with its standard error and its interval."""
        if kind == "correlation":
            return of.correlation(self.first, self.second)
        answers = self.plan.schema[self.names[1]].answers
        others = [answer for place, answer in enumerate(answers) if place != self.places[1]]
        return of.difference(self.first, between=(self.names[1], answers[self.places[1]], others))

    def stderr(self, n: int | None, kind: str) -> float:
        """The standard error of an effect of that kind, if the two are independent."""
        stderr = float(self.result(self.expected(n), kind).stderr)
        if not stderr > 0 or not sqrt(stderr) < np.inf:
            raise EstimateError("there is no standard error to compare with")
        return stderr

    def truth(self, kind: str, size: float) -> Truth:
        """The table of the two with this effect, and the guessed shares of all answers: other answers share alike."""
        apart = []
        for margin, place in zip(self.margins, self.places, strict=True):
            others = -margin / (1 - margin[place])
            others[place] = 1
            apart.append(others)
        table = np.outer(*self.margins) + size * self.covariance(kind) * np.outer(*apart)
        features = [self.plan.schema[name] for name in self.names]
        possible = np.maximum(table, 0)
        return truth(Schema(features), possible / possible.sum())


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
        if power != POWER:
            raise PlanError(
                "a half-width has no power, which is of seeing a correlation or a difference; leave one out"
            )
        if not _is_number(half_width) or not 0 < half_width < 1:
            raise PlanError(f"half_width is a share between 0 and 1, such as 0.02; found {abbreviated(half_width)}")
        return ceil(MANY * (expectation(plan, names, n=MANY, guess=guess).half_width / half_width) ** 2)
    if len(names) != 2:
        raise PlanError(f"a correlation or a difference is of two features; found {list(names)!r}")
    times, pair = _standard_errors(power), Pair.of(plan, names[0], names[1], guess)
    kind, size = pair.effect(correlation, difference)
    return ceil(MANY * (times * pair.stderr(MANY, kind) / size) ** 2)


def least_detectable(plan: Plan, first: Any, second: Any, n: int | None, power: float, guess: Any) -> Detectable:
    """The least correlation, and the least difference of shares, that a survey of n respondents sees."""
    times, people, pair = _standard_errors(power), checked_people(plan, n), Pair.of(plan, first, second, guess)
    found: dict[str, float | None] = {"correlation": None, "difference": None}
    for kind in found:
        least = times * pair.stderr(people, kind)
        found[kind] = least if least <= max(map(abs, pair.bounds(kind))) else None
    return Detectable(*pair.said, people, float(power), found["correlation"], found["difference"])


def _standard_errors(power: float) -> float:
    """How many standard errors from zero an effect must be to be seen with this power."""
    from scipy.special import ndtri

    return TWO_SIDED + float(ndtri(checked_power(power)))


def checked_power(power: Any) -> float:
    """A power that a test can have: more than its size, with which it sees what is not there."""
    if not _is_number(power) or not SIZE < power < 1:
        raise PlanError(
            f"power is a probability between 0.05, of a test at 5 %, and 1, such as 0.8; found {abbreviated(power)}"
        )
    return float(power)


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

    people, pair = checked_people(plan, n), Pair.of(plan, first, second, guess)
    kind, size = pair.effect(correlation, difference)
    z = abs(size) / pair.stderr(people, kind)
    return float(ndtr(z - TWO_SIDED) + ndtr(-z - TWO_SIDED))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


# -- intervals ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExpectedInterval:
    """Whether there will be an interval for a correlation or a difference: the library may see it without showing one.

    `chance` is the probability of an interval with n respondents, None if n is not known. `people` is about how many
    respondents it takes for that probability to be `power`, None if no number does.
    """

    kind: str
    effect: float
    n: int | None
    chance: float | None
    power: float
    people: int | None

    _repr_html_ = printed

    def __str__(self) -> str:
        takes = "no number of people" if self.people is None else f"about {self.people:,} people"
        now = "" if self.chance is None else f" has a chance of {100 * self.chance:.0f} % with {self.n:,} people, and"
        return f"An interval for it{now} takes {takes} for a chance of {100 * self.power:.3g} %."


def expected_interval(
    plan: Plan,
    first: Any,
    second: Any,
    correlation: float | None,
    difference: float | None,
    n: int | None,
    power: float,
    guess: Any,
) -> ExpectedInterval:
    """Whether there will be an interval for a correlation or a difference, and how many respondents it takes."""
    people = None if n is None and plan.n is None else checked_people(plan, n)
    chance, pair = checked_power(power), Pair.of(plan, first, second, guess)
    survey = _Survey(pair, *pair.effect(correlation, difference))
    now = None if people is None else survey.chance(people)
    return ExpectedInterval(survey.kind, survey.size, people, now, chance, survey.people(chance))


@dataclass(frozen=True, eq=False)
class _Survey:
    """Surveys by a plan in whose truth two answers have an effect."""

    pair: Pair
    kind: str
    size: float

    def enough(self, of: Any) -> bool:
        """Whether an estimate of the two has an interval for the effect."""
        return bool(self.pair.result(of, self.kind).enough)

    def expected(self, n: int) -> Expectation:
        return expectation(self.pair.plan, self.pair.names, n=n, guess=self.pair.truth(self.kind, self.size))

    def simulated(self, n: int) -> Iterator[bool]:
        """Whether there is an interval in each of many simulated surveys of n respondents."""
        return self.expected(n).simulated(lambda survey: self.pair.result(survey, self.kind))

    def chance(self, n: int) -> float:
        """The probability of an interval with n respondents."""
        return answer_chance(islice(self.simulated(n), MORE_SURVEYS))

    def likely(self, n: int, chance: float) -> bool:
        """Whether that probability is at least so large; surveys are simulated until that is decided."""
        yes = no = 0
        for given in islice(self.simulated(n), SURVEYS):
            yes, no = yes + given, no + (not given)
            if yes >= chance * SURVEYS or no > (1 - chance) * SURVEYS:
                break
        return yes >= chance * SURVEYS

    def people(self, chance: float) -> int | None:
        """About how many respondents give an interval with this probability, to two digits; None if no number does.

        Where the rule lets the expected survey have one, some of the simulated surveys do.
        """
        low, high = 0, MOST_DOUBLINGS + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.enough(self.expected(2**middle)) else (middle, high)
        if high > MOST_DOUBLINGS:
            return None
        fewest, most = max(1.0, 2.0**high / ABOUT), 2.0**high
        while not self.likely(round(most), chance):
            fewest, most = most, most * ABOUT
            if most > 2**MOST_DOUBLINGS:
                return None
        for _ in told(range(HALVINGS), lambda _: "looking for how many people give an interval"):
            middle_one = sqrt(fewest * most)
            fewest, most = (fewest, middle_one) if self.likely(round(middle_one), chance) else (middle_one, most)
        digit = int(10 ** max(0, floor(log10(most)) - 1))
        return ceil(most / digit) * digit
