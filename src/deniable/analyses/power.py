"""Power of a planned survey: how many respondents see an effect, with which probability, and the least effect seen.

Effects are correlations, and differences of shares, of two answers with guessed shares. Standard errors are those of
independent answers, and a test is two-sided at 5 %. Everything about the population scales as 1 / n, so that the
inverse questions are in closed form.

Where answers are rare there is no test of independence, by the trust rule, until a survey is large enough, whatever the
effect: the power is that of the test times the probability of its being made. The power of the number of respondents
that is needed is the power that was asked for.

A test may see an effect where the trust rule finds too few reports for an interval. The rule is asked as it is of a
survey that was made, about the population, of simulated surveys whose truth has the effect, and through the results
that users see.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil, floor, log10, sqrt
from typing import Any

from deniable.analyses.expectation import Expectation, checked_people, expectation
from deniable.analyses.expected.answer_chances import answer_chance
from deniable.analyses.expected.answer_pair import MANY, Pair, is_number
from deniable.errors import PlanError, abbreviated
from deniable.survey.expectations import POWER
from deniable.survey.half_widths import TWO_SIDED
from deniable.survey.plan import Plan
from deniable.text.fixed_phrases import how_many
from deniable.text.html import printed
from deniable.text.progress import told

# A test at this level sees an effect that is not there so often.
SIZE = 0.05
# The power of a number of respondents that is said to be needed falls short of the power asked for by at most this.
ROUNDED = 5e-4
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
        if not is_number(half_width) or not 0 < half_width < 1:
            raise PlanError(f"half_width is a share between 0 and 1, such as 0.02; found {abbreviated(half_width)}")
        return ceil(MANY * (expectation(plan, names, n=MANY, guess=guess).half_width / half_width) ** 2)
    if len(names) != 2:
        raise PlanError(f"a correlation or a difference is of two features; found {list(names)!r}")
    times, pair = _standard_errors(power), Pair.of(plan, names[0], names[1], guess)
    kind, size = pair.effect(correlation, difference)
    fewest = ceil(MANY * (times * pair.stderr(MANY, kind) / size) ** 2)
    return _least_people(lambda people: _power(pair, kind, size, people) >= power - ROUNDED, fewest)


def _least_people(enough: Callable[[int], bool], fewest: int) -> int:
    """The least number of people, at least so many, that are enough, by bisection."""
    most = fewest
    while not enough(most):
        fewest, most = most, 2 * most
    while most - fewest > 1:
        middle = (fewest + most) // 2
        fewest, most = (fewest, middle) if enough(middle) else (middle, most)
    return most


def least_detectable(plan: Plan, first: Any, second: Any, n: int | None, power: float, guess: Any) -> Detectable:
    """The least correlation, and the least difference of shares, that a survey of n respondents sees."""
    people, pair = checked_people(plan, n), Pair.of(plan, first, second, guess)
    of_tested = checked_power(power) / max(pair.test_chance(people), power)  # at most 1
    found: dict[str, float | None] = {"correlation": None, "difference": None}
    for kind in found if of_tested < 1 else ():
        least = _standard_errors(of_tested) * pair.stderr(people, kind)
        found[kind] = least if least <= max(map(abs, pair.bounds(kind))) else None
    return Detectable(*pair.said, people, float(power), found["correlation"], found["difference"])


def _standard_errors(power: float) -> float:
    """How many standard errors from zero an effect must be to be seen with this power."""
    from scipy.special import ndtri

    return TWO_SIDED + float(ndtri(checked_power(power)))


def checked_power(power: Any) -> float:
    """A power that a test can have: more than its size, with which it sees what is not there."""
    if not is_number(power) or not SIZE < power < 1:
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
    """The probability of seeing a correlation or a difference, by a two-sided test at 5 %, if there is one."""
    people, pair = checked_people(plan, n), Pair.of(plan, first, second, guess)
    return _power(pair, *pair.effect(correlation, difference), people)


def _power(pair: Pair, kind: str, size: float, people: int) -> float:
    """The probability that there is a test, which depends on the margins alone, times that with which it sees this."""
    from scipy.special import ndtr

    z = abs(size) / pair.stderr(people, kind)
    return pair.test_chance(people) * float(ndtr(z - TWO_SIDED) + ndtr(-z - TWO_SIDED))


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
