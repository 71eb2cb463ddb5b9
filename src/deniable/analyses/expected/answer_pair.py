"""Two answers of a planned survey: which effects are possible, their standard errors, and whether there will be a test.

With p and q the shares of the two answers, an effect is a covariance c of the two: a correlation is c over the root of
p (1 - p) q (1 - q), and a difference c over q (1 - q). No table has a covariance beyond Frechet's bounds,

    max(-p q, -(1 - p) (1 - q)) <= c <= min(p (1 - q), (1 - p) q)

Standard errors are those of independent answers in a survey of MANY respondents, scaled.

Where answers are rare there is no test of independence, by the trust rule, until a survey is large enough. How many
respondents m that takes follows from the margins; and as these are estimated with errors, log m is normal, by the delta
method.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot, log, sqrt
from typing import Any

import numpy as np

from deniable.analyses.expectation import Expectation, check_guess, expectation
from deniable.analyses.expected.guesses import guessed
from deniable.counts.checks import check_asked
from deniable.errors import EstimateError, PlanError, abbreviated
from deniable.estimates.answers_as_weights import two_indicators
from deniable.estimates.pairs.independence import testable_scale
from deniable.inference.one_feature import Array
from deniable.simulate import Truth, truth
from deniable.survey.plan import Plan
from deniable.survey.schema import Schema

# Standard errors are found from a survey of so many respondents, beside whom those that the metric spreads are nothing.
MANY = 1_000_000_000
# An effect is possible up to so much beyond its bounds, which are rounded like any number.
ROUNDING = 1e-9
# The slope of a logarithm is taken over this part of a share, either way.
STEP = 0.01


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
        if not is_number(size) or not 0 < abs(size) <= 1:
            raise PlanError(f"what is to be seen is a correlation or a difference, up to 1; found {abbreviated(size)}")
        low, high = self.bounds(kind)
        if not low - ROUNDING <= size <= high + ROUNDING:
            raise PlanError(
                f"with the guessed shares of {self.said[0]} and {self.said[1]}, {self.shares[0]:.3g} and "
                f"{self.shares[1]:.3g}, a {kind} is between {low:.2g} and {high:.2g}; found {float(size):g}"
            )
        return kind, float(size)

    def expected(self, n: int) -> Expectation:
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

    def stderr(self, n: float, kind: str) -> float:
        """The standard error of an effect of that kind with n respondents, if the two are independent."""
        stderr = float(self.result(self._many, kind).stderr)
        if not stderr > 0 or not sqrt(stderr) < np.inf:
            raise EstimateError("there is no standard error to compare with")
        return stderr * sqrt(MANY / n)

    def test_chance(self, n: float) -> float:
        """The probability that n respondents give a test of independence of the two, each against all other answers."""
        from scipy.special import ndtr

        spread = sqrt(MANY / n) * self._spread_of_tested
        return float(ndtr(log(n / self._least_tested) / spread)) if spread else float(n >= self._least_tested)

    @cached_property
    def _least_tested(self) -> float:
        """How many respondents it takes for the test at these margins."""
        est = self._many.estimate
        rows = [np.array([yes, no]) for _, yes, no in two_indicators(est.features, self.first, self.second)]
        return max(MANY * testable_scale(est.groups, rows), 1.0)

    @cached_property
    def _spread_of_tested(self) -> float:
        """The standard error, in a survey of MANY, of the logarithm of the number that the test takes."""
        cells = [self._many.cell({name: self._answer(k)}) for k, name in enumerate(self.names)]
        first, second = (self._slope_of_tested(k) * one.stderr for k, one in enumerate(cells))
        return hypot(first, second)

    def _slope_of_tested(self, k: int) -> float:
        """How fast that logarithm rises with the share of one of the two answers."""
        share = self.shares[k]
        step = STEP * min(share, 1 - share)
        ends = [log(self._with_share(k, share + side * step)._least_tested) for side in (1, -1)]
        return (ends[0] - ends[1]) / (2 * step)

    def _answer(self, k: int) -> Any:
        """One of the two answers."""
        return self.plan.schema[self.names[k]].answers[self.places[k]]

    def _with_share(self, k: int, share: float) -> "Pair":
        """The same with another share of one of the two answers, and all others in proportion."""
        margins, place = list(self.margins), self.places[k]
        others = margins[k] * (1 - share) / (1 - margins[k][place])
        others[place] = share
        margins[k] = others
        return replace(self, margins=(margins[0], margins[1]))

    @cached_property
    def _many(self) -> Expectation:
        """A survey so large that respondents whom the metric of least squares spreads over cells are nothing."""
        return self.expected(MANY)

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


def is_number(value: Any) -> bool:
    """Whether a value is a number, which True and False are not."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
