"""What a plan will tell before anybody was asked: standard errors, half-widths, power and sample sizes, in closed form.

The estimate of a survey of n respondents is supposed to find a guess of the truth without error; its covariance at that
table is what the survey's will be. Everything about the population scales as 1 / n.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any, cast

import numpy as np

from deniable.analyses.expected.answer_chances import Surveys, answer_chance, has_answer
from deniable.analyses.expected.association_with_noise import strengths, with_typical_noise
from deniable.analyses.expected.guesses import cells_of, guessed
from deniable.analyses.models.coefficients import Regression
from deniable.analyses.models.regressors import Predictor, checked_names
from deniable.analyses.regression import regression
from deniable.analyses.second_moments import Moments
from deniable.client import SCALE
from deniable.counts.checks import check_asked
from deniable.errors import EstimateError, PlanError, abbreviated
from deniable.estimates.answers_as_weights import all_answers
from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.least_squares import Evidence, evidence
from deniable.estimates.designs.table_parts import block_parts
from deniable.estimates.designs.whole_blocks import Family, expected_counts, families, whole_block
from deniable.estimates.designs.whole_evidence import WholeEvidence
from deniable.estimates.estimate import Estimate
from deniable.estimates.interface import dense_covariance
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array
from deniable.inference.results import Answer, Association, Independence, JointAnswer
from deniable.inference.tensors import sandwich
from deniable.simulate import Truth
from deniable.survey.design import are_people
from deniable.survey.half_widths import TWO_SIDED
from deniable.survey.plan import Plan
from deniable.tables.table import Table
from deniable.text.fixed_phrases import NOT_ENOUGH, how_many
from deniable.text.html import printed

Answers = Mapping[str, str | bool]  # an answer to each of some features
Question = Callable[["Expectation"], Any]  # what is asked of a survey


@dataclass(frozen=True, eq=False)
class Expectation:
    """What a survey will tell of a table: an estimate that finds the guess, with the standard errors it will have.

    Every result of an `Estimate` is here as it is expected, and `estimate` is that estimate itself.

    Examples
    --------
    >>> schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")])
    >>> plan = dn.Plan(schema, epsilon=2.0, together=[["smoker", "drinker"]])
    >>> expected = plan.expect("smoker", "drinker", n=10_000, guess={"smoker": 0.2})
    >>> expected
    <Expectation of smoker x drinker, 10,000 respondents: half-width 1.35 points, widest 1.51, about the population>
    >>> expected.correlation("smoker", "drinker").stderr < 0.05
    True
    >>> expected.answered(lambda survey: survey.odds_ratio("smoker", "drinker"))
    1.0
    """

    estimate: Estimate
    plan: Plan
    guess: Any = None

    @property
    def n(self) -> int:
        """How many respondents there are in all."""
        return self.estimate.n

    @cached_property
    def _cells(self) -> Array:
        """The standard error of each cell's share."""
        rows = all_answers(self.estimate.features)
        (group,) = self.estimate.groups
        return np.sqrt(np.maximum(group.cumulants(rows, self.estimate.subject).variance, 0)) / self.n

    @property
    def stderr(self) -> float:
        """The standard error of a cell's share, root mean square over the cells."""
        return float(np.sqrt((self._cells**2).mean()))

    @property
    def half_width(self) -> float:
        """The half-width of the 95 % interval of a cell's share, root mean square over the cells."""
        return TWO_SIDED * self.stderr

    @property
    def worst_half_width(self) -> float:
        """The half-width of the widest cell."""
        return TWO_SIDED * float(self._cells.max())

    def about(self, subject: str) -> "Expectation":
        """The same about the respondents, or about the population that they are drawn from."""
        return replace(self, estimate=self.estimate.about(subject))

    def cell(self, answers: Mapping[str, str | bool] | None = None, /, **more: str | bool) -> Answer:
        """The share of respondents with some answers, of one feature or of several, as it is expected."""
        return self.estimate.cell(answers, **more)

    def table(self, *, level: float = 0.95) -> Table:
        """All shares of the table with their intervals, as they are expected: nan where there are not enough reports.

        Whether there will be enough is a chance, which `answered` gives; here it is said of the guess itself.
        """
        return self.estimate.table(level=level).titled("as it is expected")

    def conditional(self, what: Any, *, given: Any, level: float = 0.95) -> Any:
        """Conditional shares given other features, or answers to them, as they are expected."""
        found = self.estimate.conditional(what, given=given, level=level)
        return found.titled("as it is expected") if isinstance(found, Table) else found

    def difference(self, what: Any, *, between: Sequence[Any]) -> JointAnswer:
        """The difference of two conditional shares, as it is expected."""
        return self.estimate.difference(what, between=between)

    def ratio(self, what: Any, *, between: Sequence[Any]) -> JointAnswer:
        """The ratio of two conditional shares (relative risk), as it is expected."""
        return self.estimate.ratio(what, between=between)

    def odds_ratio(self, first: Any, second: Any) -> JointAnswer:
        """The odds ratio of two indicators, as it is expected."""
        return self.estimate.odds_ratio(first, second)

    def correlation(self, first: Any, second: Any) -> JointAnswer:
        """The correlation of two indicators, as it is expected."""
        return self.estimate.correlation(first, second)

    def association(self, first: str | None = None, second: str | None = None) -> Association:
        """Cramer's V and mutual information of two features, as they are expected; of a table of two, of these.

        Values are those of the guess; standard errors and intervals are those of a survey with typical noise.
        """
        names = self._pair("an association", first, second)
        guess, typical = (est.association(*names) for est in (self.estimate, self._with_noise(names)))
        strength, information = strengths(cells_of(self.estimate.project(*names)))
        return Association(
            replace(typical.cramers_v, value=strength, enough=guess.cramers_v.enough),
            replace(typical.mutual_information, value=information, enough=guess.mutual_information.enough),
        )

    def independence(self, first: str | None = None, second: str | None = None) -> Independence:
        """The test of whether two features are independent, as it is expected; of a table of two, of these.

        Its statistic is that of a survey with typical noise.
        """
        names = self._pair("a test of independence", first, second)
        return self._with_noise(names).independence(*names)

    def _pair(self, what: str, first: str | None, second: str | None) -> tuple[str, str]:
        """Two features of the table, by name; those of a table of two need none."""
        pair = self.estimate.names if first is None and second is None else (first, second)
        if len(pair) != 2 or not isinstance(pair[0], str) or not isinstance(pair[1], str):
            raise PlanError(f"{what} is of two features; name two of {', '.join(self.estimate.names)}")
        return pair[0], pair[1]

    def _with_noise(self, pair: Sequence[str]) -> Estimate:
        """An estimate in which two features are as far from independence as a survey will find them.

        The others are added independently of how far these are moved.
        """
        (group,) = self.estimate.groups
        assert isinstance(group, ArmsGroup)
        features, own = self.estimate.features, self.estimate.project(*pair)
        shares, rows = cells_of(own), all_answers(own.features)
        covariance = sandwich(rows, dense_covariance(own.groups, own.subject, own.truth.size)) / self.n**2
        moved = with_typical_noise(shares, covariance) - shares
        places = [self.estimate.names.index(name) for name in pair]
        others = [feature for feature in features if feature.name not in pair]
        rest = cells_of(self.estimate.project(*(feature.name for feature in others))) if others else np.ones(())
        added = np.multiply.outer(moved, rest)
        order = [*places, *(place for place in range(len(features)) if place not in places)]
        table = cells_of(self.estimate) + added.transpose(np.argsort(order))
        return replace(self.estimate, groups=(group.supposed(table.reshape(-1), 1.0),))

    def regress(self, outcome: Any, *, on: Sequence[Predictor]) -> Regression:
        """Linear regression of an outcome on other features, as it is expected.

        Parameters
        ----------
        outcome
            A flag's name, or a choice's answer such as `("age", "65+")`.
        on
            The features to regress on, or answers such as `("age", "65+")`: any of the plan's, also such as this table
            does not have.

        Returns
        -------
        Regression
            The coefficients at the guess, with the standard errors that they will have.
        """
        return regression(_ExpectedMoments(self, outcome, on), outcome, on)

    def answered(self, question: Question | Answers | None = None, /, **answers: str | bool) -> float:
        """The probability that a question is answered: that there will be enough reports for it.

        Parameters
        ----------
        question, **answers
            An answer to each of some features, as `cell` takes them; or any other question, as a function of a survey
            that has the methods of an expectation. Without any, all cells of the table at once.

        Returns
        -------
        float
            The share of simulated surveys of this size, with the guess as their truth, in which the rule that says "not
            enough reports" gives an interval. The same question has the same answer each time. It takes seconds;
            less if the answer is plain.
        """
        return answer_chance(self.simulated(_question(question, answers)))

    def simulated(self, question: "Question") -> Iterator[bool]:
        """Whether a question is answered by each of many simulated surveys, one after another, without end."""
        try:
            question(self)
        except EstimateError as error:  # of what is asked wrongly the user must know
            if NOT_ENOUGH not in str(error):
                raise
        for survey in count():
            try:
                est = self._surveys_of(self.estimate.names).estimate(survey)
                yield has_answer(question(_Simulated(est, self.plan, self.guess, of=self, survey=survey)))
            except EstimateError:
                yield False

    def _surveys_of(self, names: Sequence[str]) -> Surveys:
        """Simulated surveys, with a table of any features of the plan."""
        key = tuple(names)
        if key not in self._surveys:
            kinds = _guessed_kinds(self.plan, key, self.n, self.guess)
            self._surveys[key] = Surveys(self.plan, key, self.n, kinds, self.estimate.subject)
        return self._surveys[key]

    @cached_property
    def _surveys(self) -> dict[tuple[str, ...], Surveys]:
        return {}

    _repr_html_ = printed

    def __repr__(self) -> str:
        what = " x ".join(self.estimate.names)
        return (
            f"<Expectation of {what}, {how_many(self.n, 'respondent')}: half-width {100 * self.half_width:.2f} points, "
            f"widest {100 * self.worst_half_width:.2f}, about the {self.estimate.subject}>"
        )


@dataclass(frozen=True, eq=False)
class _Simulated(Expectation):
    """A survey that was simulated by its number, one of those of an expectation: results are those of its reports."""

    of: Expectation = field(kw_only=True)
    survey: int = field(kw_only=True)

    def association(self, first: str | None = None, second: str | None = None) -> Association:
        return self.estimate.association(*self._pair("an association", first, second))

    def independence(self, first: str | None = None, second: str | None = None) -> Independence:
        return self.estimate.independence(*self._pair("a test of independence", first, second))

    def regress(self, outcome: Any, *, on: Sequence[Predictor]) -> Regression:
        return regression(_SimulatedMoments(self, outcome, on), outcome, on)


class _ExpectedMoments(Moments):
    """Second moments of a survey that was not made, at a guess of the truth."""

    def __init__(self, of: Expectation, outcome: Any, on: Any) -> None:
        names = checked_names(outcome, on)
        super().__init__(of.plan.schema, of.plan.has_arms, of.n, of.estimate.subject, names)
        self.plan, self.guess = of.plan, of.guess

    def check_asked(self, names: Sequence[str]) -> None:
        check_asked(self.plan, names)

    def table_estimate(self, names: Sequence[str]) -> Estimate:
        return expectation(self.plan, names, n=self.n, guess=self.guess).estimate

    def kinds(self) -> list[ArmKind]:
        return _guessed_kinds(self.plan, self.names, self.n, self.guess)

    def table(self, names: Sequence[str]) -> Array:
        return guessed([self.plan.schema[name] for name in names], self.guess)


class _SimulatedMoments(_ExpectedMoments):
    """Second moments of a survey that was simulated; covariances over pairs of arms are evaluated at the guess."""

    def __init__(self, of: _Simulated, outcome: Any, on: Any) -> None:
        super().__init__(of, outcome, on)
        self.surveys, self.survey = of.of._surveys_of(self.names), of.survey

    def table_estimate(self, names: Sequence[str]) -> Estimate:
        return self.surveys.estimate(self.survey).project(*names)

    def kinds(self) -> list[ArmKind]:
        return self.surveys.kinds(self.survey)


def _question(question: Any, answers: Answers) -> Question:
    """A question about a survey, given as itself, or by the answers of a cell; of all cells if there are none."""
    if callable(question) and not answers:
        return cast(Question, question)
    if not isinstance(question, Mapping | None):
        raise PlanError(
            "answered takes answers to features, or one function of a survey such as "
            f'lambda survey: survey.odds_ratio("smoker", "drinker"); found {abbreviated(question)}'
        )
    cell = {**(question or {}), **answers}
    return (lambda survey: survey.cell(cell)) if cell else (lambda survey: survey.table())


def expectation(plan: Plan, names: Sequence[str], *, n: int | None = None, guess: Any = None) -> Expectation:
    """What a survey of n respondents by this plan will tell of the table of these features."""
    check_asked(plan, names)
    people = checked_people(plan, n)
    features = tuple(plan.schema[name] for name in names)
    check_guess(plan, guess)
    table = guessed(features, guess)
    columns = [len(feature.columns) for feature in features]
    arms = list(zip(plan.arms, plan.shares, strict=True))
    seen: Evidence | WholeEvidence = evidence(columns, _kinds(arms, names, people)).expected(table)
    if whole := _whole_blocks(plan, names, people, guess):
        apart = [(arm, share) for arm, share in arms if not whole_block(arm, names)]
        rest = evidence(columns, _kinds(apart, names, people)).expected(table)
        seen = WholeEvidence(seen.local, rest, tuple(whole))
    group = ArmsGroup(people, seen, tuple(range(len(names))), waves=False)
    return Expectation(Estimate(features, (group,), "consistent", Subject.POPULATION), plan, guess)


def checked_people(plan: Plan, n: Any) -> int:
    """How many respondents there will be: n, or the number that the plan was made for."""
    if n is None and plan.n is None:
        raise PlanError("this plan was made for no number of people; say how many there will be: n=10_000")
    people: Any = plan.n if n is None else n
    if not are_people(people):
        raise PlanError(
            f"how many respondents there will be, n, is a whole number above 0; found {abbreviated(people)}"
        )
    return int(people)


def check_guess(plan: Plan, guess: Any) -> None:
    """Refuse a guess of features that the plan does not have."""
    if isinstance(guess, Mapping):
        for name in guess:
            plan.schema.index(name)


def _whole_blocks(plan: Plan, names: Sequence[str], n: int, guess: Any) -> list[Family]:
    """The blocks that will be taken whole, if a guess of joint answers is of all their features.

    Answers that are guessed to be independent tell next to nothing of each other.
    """
    if not isinstance(guess, Truth | Estimate) or not plan.has_arms:
        return []
    known = {feature.name for feature in (guess.schema if isinstance(guess, Truth) else guess.features)}
    arms = [(whole_block(arm, names), share) for arm, share in zip(plan.arms, plan.shares, strict=True)]
    blocks = [(block, n * share / SCALE) for block, share in arms if block]
    if not all(known.issuperset(block.names) for block, _ in blocks):
        return []
    counted = [(block, expected_counts(block, size, guessed(block.features, guess))) for block, size in blocks]
    return [family.without_noise() for family in families(counted, names)]


def _guessed_kinds(plan: Plan, names: Sequence[str], n: int, guess: Any) -> list[ArmKind]:
    """The kinds of arms of a survey that was not made, each of which finds what a guess says of its own features."""
    return [
        _expected(kind, guessed([plan.schema[names[place]] for place in kind.places], guess))
        for kind in _kinds(zip(plan.arms, plan.shares, strict=True), names, n)
    ]


def _kinds(arms: Iterable[tuple[Plan, int]], names: Sequence[str], n: int) -> list[ArmKind]:
    """What kinds some arms of a survey that was not made are, with sizes by their shares, which need not be whole."""
    shares: dict[tuple[object, ...], int] = {}
    found: dict[tuple[object, ...], ArmKind] = {}
    for arm, share in arms:
        if blocks := block_parts(arm, names, centred=True):
            places = tuple(sorted(place for block in blocks for place in block.part.places))
            axes = tuple(block.axis for block in blocks)
            levels = tuple(arm.schema[names[place]].levels for place in places)
            own = tuple(block.part.places for block in blocks)
            none = np.zeros([1 + axis.columns for axis in axes], np.int64)
            kind = ArmKind(1, places, levels, own, axes, none)
            shares[kind.key] = shares.get(kind.key, 0) + share
            found[kind.key] = kind
    return [kind.scaled(n * shares[key] / SCALE, np.full(kind.cells, 1 / kind.cells)) for key, kind in found.items()]


def _expected(kind: ArmKind, table: Array) -> ArmKind:
    """A kind of arms whose reports have this table as their mean, and the weights of centring that come with it."""
    return kind.weighted(table).scaled(kind.n, table)
