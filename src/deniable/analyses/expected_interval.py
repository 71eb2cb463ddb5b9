"""Whether a planned survey will give an interval for an effect, and how many respondents that takes.

A test may see an effect where the trust rule finds too few reports for an interval. The rule is asked as it is of a
survey that was made, about the population, of simulated surveys whose truth has the effect, and through the results
that users see.
"""

from dataclasses import dataclass
from itertools import islice
from math import ceil, floor, log10, sqrt
from typing import Any

from deniable.analyses.answer_chances import answer_chance, simulated_surveys
from deniable.analyses.expectation import checked_people, expectation
from deniable.analyses.power import Pair, checked_power
from deniable.survey.plan import Plan
from deniable.text.progress import told

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

    def expected(self, n: int) -> Any:
        return expectation(self.pair.plan, self.pair.names, n=n, guess=self.pair.truth(self.kind, self.size))

    def chance(self, n: int) -> float:
        """The probability of an interval with n respondents."""
        return answer_chance(self.expected(n), self.enough, MORE_SURVEYS)

    def likely(self, n: int, chance: float) -> bool:
        """Whether that probability is at least so large; surveys are simulated until that is decided."""
        yes = no = 0
        for given in islice(simulated_surveys(self.expected(n), self.enough), SURVEYS):
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
        digit = 10 ** max(0, floor(log10(most)) - 1)
        return ceil(most / digit) * digit
