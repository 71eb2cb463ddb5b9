"""Whether plans say the truth before anybody was asked: predicted standard errors and sample sizes against simulation.

Designed surveys of 5 to 16 questions, whose truths are correlated and skewed and given as the guess; every kind of
result in two of them. The tables in docs/explain/planner-measured.md are printed by this script.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

import deniable as dn
from deniable.analyses.expected.answer_chances import has_answer
from deniable.survey.half_widths import TWO_SIDED
from studies.planner_surveys import Classes, drawn, skewed_classes

EPSILONS = (1.0, 2.0, 4.0)
DESIGNS = 20
N = 50_000
TABLES = 5  # of each survey that are looked at
SURVEYS, QUICK = 800, 40
RESULT_SURVEYS = 2_400  # in which every kind of result is looked at: one number each, so that more are needed
POWER_SURVEYS = 6_000
CHANCE_SURVEYS = 800
LOW, HIGH = 0.98, 1.02  # predicted over simulated standard error
UNIFORM = 0.97  # that ratio at uniform truth, at least
NEEDED = 0.03  # the most that a number of people may be wrong by
ANSWERED = 0.05  # the most that the probability of an answer may be wrong by
MONTE_CARLO = 3  # standard errors that bounds are widened by


@dataclass(frozen=True)
class Ratio:
    """A ratio of a predicted to a simulated number, and its Monte Carlo standard error."""

    value: float
    stderr: float

    def within(self, low: float, high: float = np.inf) -> bool:
        """Whether it is in a range, widened by three of its standard errors."""
        return low - MONTE_CARLO * self.stderr <= self.value <= high + MONTE_CARLO * self.stderr

    def __str__(self) -> str:
        return f"{self.value:.3f} +- {self.stderr:.3f}"


def ratio(predicted: float, squares: np.ndarray) -> Ratio:
    """A predicted standard error over the root mean of squared errors, one for each survey."""
    value = predicted / sqrt(squares.mean())
    return Ratio(value, value * float(squares.std(ddof=1) / squares.mean()) / 2 / sqrt(len(squares)))


def schema_of(design: int) -> dn.Schema:
    """5 to 16 questions: flags, and every third or so a choice of 3 to 5 answers."""
    questions = 5 + design * 12 // DESIGNS
    return dn.Schema(
        dn.Flag(f"q{k}")
        if (k + design) % 3
        else dn.Choice(f"q{k}", [f"v{j}" for j in range(3 + (k + design) // 3 % 3)])
        for k in range(questions)
    )


@dataclass(frozen=True)
class Measured:
    """One designed survey: for each of some tables, ratios with the truth as the guess and at uniform truth."""

    questions: int
    epsilon: float
    arms: int
    tables: tuple[tuple[str, ...], ...]
    guessed: tuple[Ratio, ...]
    uniform: tuple[Ratio, ...]
    together: Ratio


def measured(design: int, surveys: int) -> Measured:
    """Plan one survey, make it many times, and compare."""
    rng = np.random.default_rng(1_000 + design)
    schema, epsilon = schema_of(design), EPSILONS[design % 3]
    of = skewed_classes(schema, rng)
    plan = dn.design(schema, epsilon=epsilon, order=3 if len(schema) == 5 else 2, goal=("mean", "worst")[design % 2])
    tables = tuple(plan.want[k] for k in rng.permutation(len(plan.want))[:TABLES])  # type: ignore[index,arg-type]
    made = drawn(plan, of, N, surveys, rng)
    guessed, uniform, every = [], [], []
    for names in tables:
        cells = made.cells(names)
        squares = ((cells - of.table(names).reshape(-1)) ** 2).mean(axis=1)
        said = plan.expect(*names, n=N, guess=of.truth(schema, names)).stderr
        guessed.append(ratio(said, squares))
        uniform.append(ratio(plan.expect(*names, n=N).stderr, squares))
        every.append(squares / said**2)
    together = ratio(1.0, np.mean(every, axis=0))
    return Measured(len(schema), epsilon, len(plan.arms), tables, tuple(guessed), tuple(uniform), together)


# -- every kind of result ----------------------------------------------------------------------------------------------

FLAGS, WITH_CHOICE = ("q0", "q1"), ("q0", "q6")  # the pairs of questions that results are of
ON = ["q1", "q6"]  # what q0 is regressed on


@dataclass(frozen=True)
class Number:
    """One number of a table of results."""

    value: float
    stderr: float


def kinds_of_flags(est: Any) -> dict[str, Any]:
    """Every kind of result of two flags, each with its value and standard error."""
    first, second = FLAGS
    row = est.conditional(first, given=second).to_pylist()[-1]
    return {
        "single share": est.cell({first: True}),
        "cell": est.cell({first: True, second: True}),
        "conditional share": Number(row["proportion"], row["stderr"]),
        "difference": est.difference(first, between=(second, True, False)),
        "ratio": est.ratio(first, between=(second, True, False)),
        "odds ratio": est.odds_ratio(first, second),
        "correlation": est.correlation(first, second),
        "Cramer's V": est.association(first, second).cramers_v,
    }


def kinds_of_choice(est: Any) -> dict[str, Any]:
    """Kinds of results of a flag and a choice of three answers, each with its value and standard error."""
    first, second = WITH_CHOICE
    return {
        "single share of a choice": est.cell({second: "z"}),
        "difference between answers of a choice": est.difference(first, between=(second, "x", "z")),
        "odds ratio with an answer of a choice": est.odds_ratio(first, (second, "z")),
        "correlation with an answer of a choice": est.correlation(first, (second, "z")),
        "Cramer's V with a choice": est.association(first, second).cramers_v,
    }


def coefficients(found: Any) -> dict[str, Number]:
    """The coefficients of a regression on a flag and a choice."""
    each = zip(found.terms, found.coefficients.tolist(), found.stderr.tolist(), strict=True)
    return {f"coefficient of {term}": Number(value, stderr) for term, value, stderr in each}


def some_survey(epsilon: float) -> tuple[dn.Plan, Classes]:
    """A design for every pair of six flags and a choice, and people whose answers go together."""
    schema = dn.Schema([*(dn.Flag(f"q{k}") for k in range(6)), dn.Choice("q6", ["x", "y", "z"])])
    answers = {
        name: _two_shares(share) for name, share in zip(schema.names[:6], (0.3, 0.4, 0.5, 0.2, 0.6, 0.5), strict=True)
    }
    of = Classes(np.array([0.6, 0.4]), answers | {"q6": np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])})
    return dn.design(schema, epsilon=epsilon), of


def results(epsilon: float, surveys: int) -> dict[str, Ratio]:
    """Predicted over simulated standard errors of every kind of result of questions that go together."""
    rng, n = np.random.default_rng(int(100 * epsilon)), 400_000 if epsilon < 2 else 100_000
    plan, of = some_survey(epsilon)
    made, guess = drawn(plan, of, n, surveys, rng), of.truth(plan.schema, plan.schema.names)

    def every(ask: Callable[[Sequence[str]], Any], regression: Any) -> dict[str, Any]:
        return kinds_of_flags(ask(FLAGS)) | kinds_of_choice(ask(WITH_CHOICE)) | coefficients(regression)

    expected = every(
        lambda names: plan.expect(*names, n=n, guess=guess),
        plan.expect("q0", n=n, guess=guess).regress("q0", on=ON),
    )
    values: dict[str, list[float]] = {name: [] for name in expected}
    for survey in range(surveys):
        counts = made.counts(survey)
        for name, one in every(partial(_population, counts), dn.regress(counts, "q0", on=ON)).items():
            values[name].append(one.value)
    found = {}
    for name, one in expected.items():
        own = np.array(values[name])
        found[name] = ratio(float(one.stderr), (own - own.mean()) ** 2 * len(own) / (len(own) - 1))
    return found


def _population(counts: dn.Counts, names: Sequence[str]) -> dn.Estimate:
    return dn.estimate(counts, names).about("population")


def _two_shares(share: float) -> np.ndarray:
    """A flag's shares in two classes, far from each other."""
    low, high = share * 0.4, min(0.95, share * 1.9)
    return np.array([[1 - low, low], [1 - high, high]])


# -- which results are answered ----------------------------------------------------------------------------------------

QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "all cells": lambda one: one.table(),
    "a cell": lambda one: one.cell(q0=True, q6="z"),
    "conditional shares": lambda one: one.conditional("q0", given="q6"),
    "difference": lambda one: one.difference("q0", between=("q6", "x", "z")),
    "ratio": lambda one: one.ratio("q0", between=("q6", "x", "z")),
    "odds ratio": lambda one: one.odds_ratio("q0", ("q6", "z")),
    "correlation": lambda one: one.correlation("q0", ("q6", "z")),
    "Cramer's V": lambda one: one.association("q0", "q6").cramers_v,
    "regression": lambda one: one.regress("q0", on=["q6"]),
}


@dataclass(frozen=True)
class Chance:
    """The probability that was said of an answer, and the share of simulated surveys with one."""

    n: int
    said: float
    found: float
    stderr: float


class Counted:
    """A survey that was counted, with the methods of an expectation."""

    def __init__(self, counts: dn.Counts) -> None:
        self.counts, self.estimate = counts, _population(counts, WITH_CHOICE)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.estimate, name)

    def regress(self, outcome: str, *, on: Sequence[str]) -> Any:
        """A regression from the same counts."""
        return dn.regress(self.counts, outcome, on=on)


def chances(epsilon: float, surveys: int) -> dict[str, Chance]:
    """The probability of an answer to each question, with so many people that it is neither sure nor hopeless."""
    plan, of = some_survey(epsilon)
    guess, rng, found = of.truth(plan.schema, plan.schema.names), np.random.default_rng(4_000 + int(epsilon)), {}
    for name, ask in QUESTIONS.items():
        n, said = 50, 0.0
        while said < 0.25:
            n = round(1.3 * n)
            said = plan.expect(*WITH_CHOICE, n=n, guess=guess).answered(ask)
        made = drawn(plan, of, n, surveys, rng)
        share = float(np.mean([_answers(ask, made.counts(survey)) for survey in range(surveys)]))
        found[name] = Chance(n, said, share, sqrt(max(share * (1 - share), 0.01) / surveys))
    return found


def _answers(ask: Callable[[Any], Any], counts: dn.Counts) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dn.ArmSizeWarning)  # of many surveys some have unlikely sizes of arms
        try:
            return has_answer(ask(Counted(counts)))
        except dn.EstimateError:  # nobody was asked both
            return False


# -- numbers of people -------------------------------------------------------------------------------------------------


def people_for_half_width(design: int, surveys: int) -> Ratio:
    """The number of people said for a half-width over the number that simulated surveys of that size would need."""
    rng = np.random.default_rng(2_000 + design)
    schema = schema_of(design)
    of, plan = skewed_classes(schema, rng), dn.design(schema, epsilon=EPSILONS[design % 3])
    names = plan.want[0]  # type: ignore[index]
    said = plan.needed(*names, half_width=0.02, guess=of.truth(schema, names))
    cells = drawn(plan, of, said, surveys, rng).cells(names)
    squares = ((cells - of.table(names).reshape(-1)) ** 2).mean(axis=1)
    root = ratio(0.02 / TWO_SIDED, squares)
    return Ratio(root.value**2, 2 * root.value * root.stderr)


def people_for_power(epsilon: float, surveys: int) -> tuple[float, Ratio]:
    """The simulated power of the number of people said for 0.8; and that number over the one that has it."""
    from scipy.stats import norm

    rng = np.random.default_rng(3_000 + int(epsilon))
    schema = dn.Schema(dn.Flag(f"q{k}") for k in range(6))
    plan = dn.design(schema, epsilon=epsilon)
    said = plan.needed("q0", "q1", correlation=0.1, guess={"q0": 0.3, "q1": 0.6})
    of = _correlated(0.3, 0.6, 0.1, schema)
    made = drawn(plan, of, said, surveys, rng)
    found = [est.correlation("q0", "q1") for est in made.estimates(("q0", "q1"))]
    power = float(np.mean([abs(one.value) > TWO_SIDED * one.stderr for one in found]))
    edge, stderr = norm.isf(0.025), sqrt(power * (1 - power) / surveys)
    value = ((edge + norm.ppf(power)) / (edge + norm.ppf(0.8))) ** 2
    return power, Ratio(value, 2 * value * stderr / norm.pdf(norm.ppf(power)) / (edge + norm.ppf(power)))


def _correlated(first: float, second: float, correlation: float, schema: dn.Schema) -> Classes:
    """Four classes, one for each combination of the first two flags' answers; the others are even."""
    both = first * second + correlation * sqrt(first * (1 - first) * second * (1 - second))
    shares = np.array([1 - first - second + both, second - both, first - both, both])
    even = {name: np.full((4, 2), 0.5) for name in schema.names[2:]}
    no, yes = [1.0, 0.0], [0.0, 1.0]
    return Classes(shares, {"q0": np.array([no, no, yes, yes]), "q1": np.array([no, yes, no, yes])} | even)


# -- all of it ---------------------------------------------------------------------------------------------------------


def run(*, quick: bool = False) -> None:
    """Print what was predicted over what was simulated, and whether that is as near as it must be."""
    surveys, designs = (QUICK, range(0, DESIGNS, 7)) if quick else (SURVEYS, range(DESIGNS))
    start = time.process_time()
    _designs([measured(design, surveys) for design in designs], surveys)
    more = surveys if quick else RESULT_SURVEYS
    _results({epsilon: results(epsilon, more) for epsilon in ((2.0,) if quick else (1.0, 4.0))}, more)
    _chances({2.0: chances(2.0, surveys if quick else CHANCE_SURVEYS)})
    _people(quick=quick, surveys=surveys)
    print(f"\n{time.process_time() - start:,.0f} seconds of one processor")


def _verdict(right: Sequence[bool]) -> str:
    return "as it must be" if all(right) else f"MISSED in {len(right) - sum(right)} of {len(right)}"


def _designs(found: Sequence[Measured], surveys: int) -> None:
    print(f"\nPredicted over simulated standard error of cells, {surveys:,} surveys of {N:,} people each\n")
    print("| questions | epsilon | arms | all tables | least | most | at uniform truth, least | most |")
    print("|---|---|---|---|---|---|---|---|")
    for one in found:
        guessed, uniform = ([each.value for each in of] for of in (one.guessed, one.uniform))
        print(
            f"| {one.questions} | {one.epsilon:g} | {one.arms} | {one.together} | {min(guessed):.3f} | "
            f"{max(guessed):.3f} | {min(uniform):.3f} | {max(uniform):.3f} |"
        )
    tables = [each for one in found for each in one.guessed]
    print(f"\nEvery table {LOW:g} to {HIGH:g}: {_verdict([each.within(LOW, HIGH) for each in tables])}")
    print(f"Every survey {LOW:g} to {HIGH:g}: {_verdict([one.together.within(LOW, HIGH) for one in found])}")
    uniform = [each.within(UNIFORM) for one in found for each in one.uniform]
    print(f"At uniform truth at least {UNIFORM:g}: {_verdict(uniform)}")
    stderrs = [each.stderr for each in tables]
    print(f"Monte Carlo standard errors of a table's ratio: {min(stderrs):.3f} to {max(stderrs):.3f}")


def _results(found: dict[float, dict[str, Ratio]], surveys: int) -> None:
    print(f"\nPredicted over simulated standard error of every kind of result, {surveys:,} surveys\n")
    print("| | " + " | ".join(f"epsilon {epsilon:g}" for epsilon in found) + " |")
    print("|---|" + "---|" * len(found))
    for name in next(iter(found.values())):
        print(f"| {name} | " + " | ".join(str(own[name]) for own in found.values()) + " |")
    print(
        f"\n{LOW:g} to {HIGH:g}: {_verdict([one.within(LOW, HIGH) for own in found.values() for one in own.values()])}"
    )


def _chances(found: dict[float, dict[str, Chance]]) -> None:
    print("\nThe probability of an answer, and the share of simulated surveys with one\n")
    print("| | epsilon | people | said | found |\n|---|---|---|---|---|")
    for epsilon, own in found.items():
        for name, one in own.items():
            print(f"| {name} | {epsilon:g} | {one.n:,} | {one.said:.3f} | {one.found:.3f} +- {one.stderr:.3f} |")
    right = [
        abs(one.said - one.found) < ANSWERED + MONTE_CARLO * one.stderr
        for own in found.values()
        for one in own.values()
    ]
    print(f"\nWithin {100 * ANSWERED:g} points: {_verdict(right)}")


def _people(*, quick: bool, surveys: int) -> None:
    designs, again = ((4,), 60) if quick else ((4, 9, 14), POWER_SURVEYS)
    right = []
    print(
        "\nNumber of people said over the number found by simulation\n\n| for | said / found | power |\n|---|---|---|"
    )
    for design in designs:
        one = people_for_half_width(design, 2 * surveys)
        right.append(one.within(1 - NEEDED, 1 + NEEDED))
        print(f"| a half-width, {len(schema_of(design))} questions, epsilon {EPSILONS[design % 3]:g} | {one} | |")
    for epsilon in (2.0,) if quick else EPSILONS:
        power, one = people_for_power(epsilon, again)
        right.append(one.within(1 - NEEDED, 1 + NEEDED))
        print(f"| a power of 0.8, epsilon {epsilon:g} | {one} | {power:.3f} |")
    print(f"\nWithin {NEEDED:.0%}: {_verdict(right)}")
