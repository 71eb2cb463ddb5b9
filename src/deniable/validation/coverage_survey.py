"""One survey of the coverage grid: answers drawn, randomized and counted, and every interval asked for with its truth.

Everything is asked through the public names, as a user would.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import nan
from typing import Any

import numpy as np

from deniable import simulate
from deniable.analyses.comparison import compare
from deniable.analyses.regression import regress
from deniable.counts.count import count
from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.estimates.estimate import Estimate, estimate
from deniable.estimates.likelihood import maximum_likelihood
from deniable.estimates.posterior import Posterior
from deniable.inference.one_feature import Array
from deniable.inference.results import JointAnswer
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.survey.protocols import GRR, LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding
from deniable.survey.schema import Choice, Feature, Flag, Schema

# KINDS are the kinds of plans: flags, choices of three by one protocol, or features by several.
KINDS = ("flags", "GRR", "unary", "subsets", "hashing", "mixed")
# METHODS are the estimates of a table that are compared.
METHODS = ("unbiased", "consistent", "feasible", "maximum likelihood")
# JOINT are the joint results whose intervals are asked for, in tables of two features.
JOINT = (
    "conditional", "difference", "ratio", "odds ratio", "correlation", "Cramer's V", "mutual information",
    "two surveys", "regression", "known margin", "draws",
)  # fmt: skip
# FLAGS_ONLY are the joint results that only two flags have.
FLAGS_ONLY = ("odds ratio", "correlation")
# TABLES are the intervals of cells that are asked for in every table.
TABLES = (*METHODS, "population", "whole table")
# DRAWS is how many proper tables are drawn from the posterior in one survey.
DRAWS = 400

# Intervals are (question, truth, low, high).
Interval = tuple[str, float, float, float]
Intervals = Iterator[Interval]


@dataclass(frozen=True)
class Setting:
    """One kind of survey to repeat: a kind of plan, epsilon of each feature, respondents, and features."""

    kind: str
    epsilon: float
    n: int
    order: int


def plan_for(kind: str, epsilon: float, order: int) -> Plan:
    """The plan of a setting: flags or choices of three, by one protocol or by several."""
    flags = [Flag(f"f{k}") for k in range(3)]
    choices = [Choice(f"f{k}", list("abc")) for k in range(3)]
    one, grr, oue = RandomizedResponse(epsilon=epsilon), GRR(epsilon=epsilon), UnaryEncoding.optimized(epsilon)
    features: dict[str, list[Any]] = {
        "flags": [(flag, one) for flag in flags],
        "GRR": [(choice, grr) for choice in choices],
        "unary": [(choice, oue) for choice in choices],
        "subsets": [(choice, SubsetSelection(epsilon=epsilon, size=2)) for choice in choices],
        "hashing": [(choice, LocalHashing(epsilon=epsilon)) for choice in choices],
        "mixed": [(choices[0], oue), (flags[1], one), (choices[2], LocalHashing(epsilon=epsilon))],
    }
    pairs = features[kind][:order]
    return Plan(Schema([feature for feature, _ in pairs]), {feature.name: protocol for feature, protocol in pairs})


def shares_for(levels: Sequence[int]) -> Array:
    """The shares of a population that is a mixture of two latent classes, who prefer the first and the last answers."""
    first = [1 / np.arange(1, m + 1) for m in levels]
    last = [np.arange(1, m + 1)[::-1] ** -0.3 for m in levels]
    tables = [reduce(np.multiply.outer, [v / v.sum() for v in each]) for each in (first, last)]
    return np.asarray(0.6 * tables[0] + 0.4 * tables[1], np.float64)


def survey(plan: Plan, n: int, rng: np.random.Generator) -> tuple[Array, Reports]:
    """One survey of n respondents: the respondents' own table of shares, and their reports."""
    shares = shares_for([feature.levels for feature in plan.schema])
    people = simulate.truth(plan.schema, shares).people(n, rng)
    return people / n, simulate.reports_of(people, plan, rng)


def tables(plan: Plan, reports: Reports) -> tuple[Counts, dict[str, Estimate]]:
    """The counts of all features, and the table about the respondents estimated from them by each method."""
    names = plan.schema.names
    counts = count(reports, names)
    found = {method: estimate(counts, names, method=method, about="respondents") for method in METHODS[:3]}
    return counts, found | {METHODS[3]: maximum_likelihood(reports, names, about="respondents")}


def intervals_of_tables(found: dict[str, Estimate], own: Array, shares: Array) -> Intervals:
    """The intervals of every cell by each method about the respondents, about the population, and simultaneous ones."""
    for method, est in found.items():
        yield from _cells(method, own, est)
    consistent = found["consistent"]
    yield from _cells("population", shares, consistent.about("population"))
    rows = consistent.table(simultaneous=True).to_pylist()
    inside = all(row["low"] <= truth <= row["high"] for truth, row in zip(own.flat, rows, strict=True))
    given = all(row["low"] == row["low"] for row in rows)
    yield "whole table", 0.0, (0.0 if inside else 1.0) if given else nan, 1.0


def joint_intervals(
    plan: Plan, counts: Counts, found: dict[str, Estimate], n: int, rng: np.random.Generator
) -> Intervals:
    """The intervals of all joint results about the population, in a table of two features."""
    est = found["consistent"].about("population")
    t = shares_for([feature.levels for feature in plan.schema])
    first, second = plan.schema
    yield from _within_groups(est, first, second, t)
    yield from _associations(est, t)
    _, others = survey(plan, n, rng)
    after = estimate(count(others, plan.schema.names), plan.schema.names)
    for row in compare(est, after).to_pylist():
        yield "two surveys", 0.0, row["low"], row["high"]
    yield from _regression(counts, _last_answer(first), second.name, (t / t.sum(axis=0))[-1])
    margin = dict(zip(list(second.answers)[1:], t.sum(axis=0)[1:].tolist(), strict=True))
    yield from _cells("known margin", t, est.given({second.name: margin}))
    yield from _cells("draws", t, found["feasible"].about("population").posterior(draws=DRAWS, rng=rng))


def _cells(question: str, truths: Array, est: Estimate | Posterior) -> Intervals:
    """The intervals of all cells of a table."""
    for truth, row in zip(truths.flat, est.table().to_pylist(), strict=True):
        yield question, truth, row["low"], row["high"]


def _within_groups(est: Estimate, first: Feature, second: Feature, t: Array) -> Intervals:
    """The intervals of shares of the first feature among those with each answer to the second, and of contrasts."""
    what, groups = list(first.answers), list(second.answers)
    shares = t / t.sum(axis=0)
    for row in est.conditional(first.name, given=second.name).to_pylist():
        truth = shares[what.index(row[first.name]), groups.index(row[second.name])]
        yield "conditional", truth, row["low"], row["high"]
    last, between = _last_answer(first), (second.name, groups[0], groups[-1])
    p, q = shares[-1, 0], shares[-1, -1]
    yield _asked("difference", p - q, est.difference(last, between=between))
    yield _asked("ratio", p / q, est.ratio(last, between=between))


def _last_answer(feature: Feature) -> Any:
    """The last answer to a feature, as contrasts are asked about it."""
    return feature.name if isinstance(feature, Flag) else (feature.name, feature.values[-1])


def _associations(est: Estimate, t: Array) -> Intervals:
    """The intervals of all measures of association of two features."""
    a, b = est.names
    if t.shape == (2, 2):
        yield _asked("odds ratio", t[1, 1] * t[0, 0] / (t[1, 0] * t[0, 1]), est.odds_ratio(a, b))
        over = np.sqrt(t[1].sum() * t[0].sum() * t[:, 1].sum() * t[:, 0].sum())
        yield _asked("correlation", (t[1, 1] * t[0, 0] - t[1, 0] * t[0, 1]) / over, est.correlation(a, b))
    expected = np.outer(t.sum(axis=1), t.sum(axis=0))
    association = est.association(a, b)
    v = np.sqrt(((t - expected) ** 2 / expected).sum() / (min(t.shape) - 1))
    yield _asked("Cramer's V", v, association.cramers_v)
    yield _asked("mutual information", (t * np.log(t / expected)).sum(), association.mutual_information)


def _asked(question: str, truth: float, result: JointAnswer) -> Interval:
    return (question, float(truth), *result.confidence_interval())


def _regression(counts: Counts, outcome: Any, on: str, shares: Array) -> Intervals:
    """The intervals of the coefficients of an answer on those to another feature, among which it has these shares."""
    truths = [shares[0], *(shares[1:] - shares[0])]
    try:
        rows = regress(counts, outcome, on=[on]).table().to_pylist()
    except EstimateError:
        rows = [{"low": nan, "high": nan}] * len(truths)
    for truth, row in zip(truths, rows, strict=True):
        yield "regression", float(truth), row["low"], row["high"]


def questions(setting: Setting) -> list[str]:
    """All that is measured in a setting, in the order in which it is asked."""
    joint = [question for question in JOINT if setting.kind == "flags" or question not in FLAGS_ONLY]
    return [*TABLES, *(joint if setting.order == 2 else ()), *(f"error of {method}" for method in METHODS)]
