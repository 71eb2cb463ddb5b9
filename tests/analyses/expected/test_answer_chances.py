"""The probability that a planned survey answers a question, against whole surveys and the trust rule's own answers."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.expected import answer_chances
from deniable.analyses.expected.answer_chances import answer_chance, has_answer

SCHEMA = dn.Schema(
    [dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-64", "65+"]), dn.Flag("drinker"), dn.Choice("town", ["x", "y"])]
)
SKEWED = {"smoker": 0.03, "age": [0.9, 0.07, 0.03], "drinker": 0.5, "town": [0.7, 0.3]}
TABLE = ("smoker", "age")
SURVEYS, SIMULATED = 150, 250

PUBLIC = {"town": dn.Public()}
PLANS: dict[str, dn.Plan] = {
    "arms": dn.design(SCHEMA, epsilon=4.0, want=[TABLE, "drinker", "town"]),
    "apart": dn.Plan(SCHEMA, PUBLIC, epsilon=4.0),
    "block": dn.Plan(SCHEMA, epsilon=8.0, together=[["smoker", "age"]]),
    "block beside a question": dn.Plan(SCHEMA, PUBLIC, epsilon=6.0, together=[["smoker", "drinker"], ["age"]]),
    "two blocks": dn.Plan(SCHEMA, PUBLIC, epsilon=6.0, arms=[[["smoker"], ["age"]], [["smoker", "age"], ["drinker"]]]),
}
Ask = Callable[[Any], Any]


def regress(on: list[str]) -> Ask:
    """A regression of a survey that was simulated, or of counts, which `asked_of` adds."""
    return lambda survey: survey.regress("smoker", on=on)


def difference(one: Any) -> Any:
    return one.difference("smoker", between=("age", "18-29", "30-64"))


QUESTIONS: dict[str, tuple[str, tuple[str, ...], int, Ask, str]] = {
    "all cells, arms": ("arms", TABLE, 92, lambda one: one.table(), "population"),
    "cell": ("arms", TABLE, 92, lambda one: one.cell(smoker=True, age="65+"), "population"),
    "conditional shares": ("block", TABLE, 6_500, lambda one: one.conditional("smoker", given="age"), "population"),
    "difference": ("arms", TABLE, 1_600, difference, "population"),
    "difference, apart": ("apart", TABLE, 3_700, difference, "population"),
    "difference, apart, respondents": ("apart", TABLE, 3_200, difference, "respondents"),
    "difference, block beside": ("block beside a question", TABLE, 700, difference, "population"),
    "difference, two blocks": ("two blocks", TABLE, 690, difference, "population"),
    "difference, two blocks, respondents": ("two blocks", TABLE, 500, difference, "respondents"),
    "with a public column": (
        "apart", ("smoker", "town"), 13_000, lambda one: one.odds_ratio("smoker", ("town", "y")), "population",
    ),
    "ratio": ("apart", TABLE, 4_300, lambda one: one.ratio("smoker", between=("age", "18-29", "30-64")), "population"),
    "odds ratio": ("block", TABLE, 7_500, lambda one: one.odds_ratio("smoker", ("age", "18-29")), "respondents"),
    "correlation": ("arms", TABLE, 8_500, lambda one: one.correlation("smoker", ("age", "30-64")), "population"),
    "Cramer's V": ("block", TABLE, 7_500, lambda one: one.association("smoker", "age").cramers_v, "population"),
    "regression": ("apart", ("smoker",), 17_000, regress(["age", "drinker"]), "population"),
    "regression over arms": ("arms", ("smoker",), 5_400, regress(["age"]), "population"),
}  # fmt: skip


class Counted:
    """A survey that was counted, with the methods of an expectation."""

    def __init__(self, counts: dn.Counts, names: tuple[str, ...], subject: str) -> None:
        self.counts, self.subject = counts, subject
        self.estimate = dn.estimate(counts, names).about(subject)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.estimate, name)

    def regress(self, outcome: str, *, on: list[str]) -> Any:
        return dn.regress(self.counts, outcome, on=on, about=self.subject)


def chance(plan: dn.Plan, names: tuple[str, ...], n: int, ask: Ask, subject: str) -> float:
    """How often whole surveys answer."""
    rng, truth = np.random.default_rng(7), dn.simulate.truth(SCHEMA, SKEWED)
    answered = 0
    for _ in range(SURVEYS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dn.ArmSizeWarning)
            counts = dn.simulate.counts(truth, plan, rng, n=n)
            try:
                answered += has_answer(ask(Counted(counts, names, subject)))
            except dn.EstimateError:
                continue
    return answered / SURVEYS


# The same kinds of results as in the others, of other plans.
AGAIN = (
    "difference, apart", "difference, apart, respondents", "difference, two blocks",
    "difference, two blocks, respondents", "cell", "regression over arms",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "names", "n", "ask", "subject"),
    [pytest.param(*of, id=title, marks=[pytest.mark.nightly] * (title in AGAIN)) for title, of in QUESTIONS.items()],
)
def test_the_chance_of_an_answer_is_that_of_whole_surveys(
    plan: str, names: tuple[str, ...], n: int, ask: Ask, subject: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within three Monte Carlo standard errors and two points; the study of the planner has more surveys."""
    monkeypatch.setattr(answer_chances, "MOST_SURVEYS", SIMULATED)
    expected = PLANS[plan].expect(*names, n=n, guess=SKEWED).about(subject).answered(ask)
    assert 0.01 < expected < 0.99
    within = 0.02 + 3 * np.sqrt(expected * (1 - expected) * (1 / SURVEYS + 1 / SIMULATED))
    assert expected == pytest.approx(chance(PLANS[plan], names, n, ask, subject), abs=within)
    fewer = PLANS[plan].expect(*names, n=n // 2, guess=SKEWED).about(subject).answered(ask)
    assert expected - fewer > within  # half as many people: the control


def test_the_chance_of_an_answer_is_the_same_each_time_and_grows_with_n() -> None:
    chances = [PLANS["arms"].expect(*TABLE, n=n, guess=SKEWED).answered() for n in (40, 92, 92, 500)]
    assert chances[1] == chances[2]
    assert chances == sorted(chances)
    assert (chances[0], chances[3]) == (0.0, 1.0)


def test_a_cell_is_answered_at_least_as_often_as_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_chances, "POINTS", 1e-9)  # the same surveys for all
    monkeypatch.setattr(answer_chances, "MOST_SURVEYS", 40)
    expected = PLANS["arms"].expect(*TABLE, n=92, guess=SKEWED)
    each = [expected.answered(smoker=smoker, age=age) for smoker in (False, True) for age in SCHEMA["age"].answers]
    assert min(each) >= expected.answered()
    assert expected.answered({"smoker": False, "age": "18-29"}) == each[0]
    assert expected.answered(lambda survey: survey.cell(smoker=False, age="18-29")) == each[0]


def test_an_arm_that_nobody_may_fall_into_gives_no_answer() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms={("smoker", "age", "town"): 1, ("drinker",): 1_000})
    assert plan.expect("smoker", "age", n=40).answered() == 0


def test_arms_are_drawn_by_their_exact_shares() -> None:
    """Of 40 people in arms of one in a thousand it is seldom anybody; rounded up it would be one at least."""
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms={("smoker", "age", "town"): 1, ("drinker",): 1_000})
    surveys = plan.expect("smoker", "age", n=40)._surveys_of(("smoker", "age"))
    asked = sum(bool(surveys.kinds(k)) for k in range(2_000))
    assert asked == pytest.approx(2_000 * 40 / 1_001, abs=4 * np.sqrt(80))


def test_association_of_a_simulated_survey_is_its_own() -> None:
    expected = PLANS["block"].expect("smoker", "drinker", "age", n=20_000, guess=SKEWED)
    found: list[float] = []
    expected.answered(
        lambda survey: found.append(survey.association("smoker", "age").cramers_v.value) or survey.table()
    )
    assert len({round(value, 9) for value in found}) > 10


def test_few_surveys_are_simulated_where_the_answer_is_plain() -> None:
    looked: dict[float, int] = {}
    for share in (0.0, 0.04, 0.5, 1.0):
        answers = np.random.default_rng(1).random(5_000) < share
        rest = iter(answers.tolist())
        assert answer_chance(rest) == pytest.approx(share, abs=0.05)
        looked[share] = len(answers) - len(list(rest))
    assert looked[0.0] == looked[1.0] < 65
    assert looked[0.04] < 250
    assert looked[0.5] == answer_chances.MOST_SURVEYS


def test_what_is_asked_wrongly_is_an_error() -> None:
    expected = PLANS["arms"].expect(*TABLE, n=1_000)
    with pytest.raises(dn.PlanError, match="answered takes answers to features, or one function of a survey"):
        expected.answered("smoker")  # type: ignore[arg-type]
    with pytest.raises(dn.PlanError, match="answered takes answers to features"):
        expected.answered(lambda survey: survey.table(), smoker=True)
    for wrong in (lambda survey: survey.cell(smoked=True), lambda survey: survey.odds_ratio("smoker", "age")):
        with pytest.raises(dn.errors.DeniableError):
            expected.answered(wrong)
