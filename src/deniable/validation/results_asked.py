"""All results that are asked of one simulated survey, through the public names, each with its truth.

Tables, what is known beforehand, posterior draws and maximum likelihood have many intervals in a survey (`of_tables`);
differences, ratios, measures of association, regressions and trends have one or a few (`of_numbers`).
"""

from collections.abc import Callable, Iterator, Sequence
from math import log, nan, sqrt
from typing import Any

import numpy as np

from deniable import simulate
from deniable.analyses.comparison import compare
from deniable.analyses.models.trend import trend
from deniable.analyses.regression import regress
from deniable.counts.count import count
from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.estimates.estimate import Estimate, estimate
from deniable.estimates.likelihood import maximum_likelihood
from deniable.inference.one_feature import Array
from deniable.inference.results import Merged
from deniable.survey.plan import Plan
from deniable.survey.schema import Choice, Flag, Schema

# LEVEL is the confidence level of all results, and SPOT_LEVELS are others that some results are also asked for with.
LEVEL, SPOT_LEVELS = 0.95, (0.8, 0.9, 0.99)
# DRAWS is how many tables are drawn from the posterior.
DRAWS = 400
# SCORES are the numbers of the choice's answers, whose mean is asked for.
SCORES: dict[str | bool, float] = {"x": 0.0, "y": 1.0, "z": 3.0}

SCHEMA = Schema([Flag("a"), Choice("b", ["x", "y", "z"])])

Interval = tuple[str, str, float, float, float]  # kind of result, subject, truth, and the ends
Asked = dict[float, list[Interval]]  # by level


def of_tables(plan: Plan, of: simulate.Truth, n: int, rng: np.random.Generator) -> Asked:
    """The intervals of one survey's tables with their truths, by level."""
    people, t = of.people(n, rng), of.shares
    reports = simulate.reports_of(people, plan, rng)
    counts = count(reports, ["a", "b"])
    est = estimate(counts, ["a", "b"])
    feasible = estimate(counts, ["a", "b"], method="feasible")
    drawn = feasible.posterior(draws=DRAWS, rng=rng)
    found = {
        LEVEL: [
            *_shares(est.about("respondents"), "respondents", people / n),
            *_shares(est, "population", t),
            *_cells("posterior draws", "population", t, drawn),
            *_known(est, t),
            *_cells("proper table", "population", t, feasible),
            *_cells("maximum likelihood", "population", t, maximum_likelihood(reports, ["a", "b"])),
        ]
    }
    return found | {
        level: [*_shares(est, "population", t, level), *_cells("posterior draws", "population", t, drawn, level)]
        for level in SPOT_LEVELS
    }


def of_numbers(plan: Plan, of: simulate.Truth, n: int, rng: np.random.Generator) -> Asked:
    """The intervals of results of one survey that are one number or a few, with their truths, by level."""
    people, t = of.people(n, rng), of.shares
    counts = simulate.counts(people, plan, rng)
    est, later = (estimate(own, ["a", "b"]) for own in (counts, simulate.counts(of, plan, rng, n=n)))
    here = est.about("respondents")
    ask = _ratios(est, "population", t)
    strength = est.association("a", "b")
    found: Asked = {level: [] for level in (LEVEL, *SPOT_LEVELS)}
    for kind, subject, truth, given in (*ask, *_measures(strength, t)):
        for level, own in found.items():
            own.append((kind, subject, truth, *_ends(given, level)))
    found[LEVEL] += [
        (kind, subject, truth, *_ends(given))
        for kind, subject, truth, given in _ratios(here, "respondents", people / n)
    ]
    found[LEVEL] += _rows("compare", [0.0] * t.size, compare(est, later).to_pylist())
    found[LEVEL] += _regressions(counts, t)
    slope = _or_refused(lambda: trend([est, later], "a").slope_interval())
    found[LEVEL].append(("trend", "population", 0.0, *slope))
    return found


def _cells(kind: str, subject: str, t: Array, est: Any, level: float = LEVEL) -> Iterator[Interval]:
    for value, row in zip(t.flat, est.table(level=level).to_pylist(), strict=True):
        yield kind, subject, float(value), row["low"], row["high"]


def _shares(est: Estimate, subject: str, t: Array, level: float = LEVEL) -> Iterator[Interval]:
    """Cells, margins, conditional shares and merged answers."""
    yield from _cells("cell", subject, t, est, level)
    yield from _cells("margin", subject, t.sum(axis=1), est.project("a"), level)
    yield from _cells("margin", subject, t.sum(axis=0), est.project("b"), level)
    within = _within(t)
    for row in est.conditional("a", given="b", level=level).to_pylist():
        if row["a"]:
            yield "conditional share", subject, within["xyz".index(row["b"])], row["low"], row["high"]
    if level == LEVEL:
        merged = np.column_stack([t[:, :2].sum(axis=1), t[:, 2]])
        yield from _cells("merge", subject, merged, est.merge("b", {"x or y": ["x", "y"]}))
        left = t[:, :2] / t[:, :2].sum()
        yield from _cells("among", subject, left, est.among("b", ["x", "y"]))


def _within(t: Array) -> Array:
    """The share of yes to the flag among those who gave each answer to the choice; nan if nobody gave it."""
    return np.asarray(t[1] / np.where(t.sum(axis=0) > 0, t.sum(axis=0), nan))


def _known(est: Estimate, t: Array) -> Iterator[Interval]:
    """Cells, given what is known beforehand; those that equal a known margin, or nearly do, apart from the others."""
    shares = dict(zip("xyz", t.sum(axis=0).tolist(), strict=True))
    rows = est.given({"b": {name: shares[name] for name in "yz"}}).table().to_pylist()
    for value, row in zip(t.flat, rows, strict=True):
        edge = value == 0 or value >= shares[row["b"]] - 1e-12
        yield "known margin, edge" if edge else "known margin", "population", float(value), row["low"], row["high"]
    zeros: list[dict[str, str | bool]] = [{"a": bool(i), "b": "xyz"[j]} for i, j in np.argwhere(t == 0)]
    if zeros:
        rows = est.given(zeros=zeros).table().to_pylist()
        for value, row in zip(t.flat, rows, strict=True):
            if value > 0:
                yield "known zeros", "population", float(value), row["low"], row["high"]


Question = tuple[str, str, float, Any]  # kind of result, subject, truth, and what was found; None if it was refused


def _ratios(est: Estimate, subject: str, t: Array) -> Iterator[Question]:
    """Results that are one number: a difference, ratios, a correlation and a mean."""
    within = _within(t)
    both, first, last = ("b", "x", "z"), float(within[0]), float(within[2])
    yield "difference", subject, first - last, _found(lambda: est.difference("a", between=both))
    if last > 0:
        yield "ratio", subject, first / last, _found(lambda: est.ratio("a", between=both))
    one = np.array([[t[0, 1:].sum(), t[0, 0]], [t[1, 1:].sum(), t[1, 0]]])
    if one.min() > 0:
        odds = float(one[1, 1] * one[0, 0] / (one[1, 0] * one[0, 1]))
        yield "odds ratio", subject, odds, _found(lambda: est.odds_ratio("a", ("b", "x")))
    over = sqrt(float(one[0].sum() * one[1].sum() * one[:, 0].sum() * one[:, 1].sum()))
    correlation = float(one[1, 1] * one[0, 0] - one[1, 0] * one[0, 1]) / over
    yield "correlation", subject, correlation, _found(lambda: est.correlation("a", ("b", "x")))
    scores = np.array([*SCORES.values()])
    yield "mean", subject, float(t.sum(axis=0) @ scores), _found(lambda: est.mean_of("b", SCORES))
    apart = float(t[1] @ scores / t[1].sum() - t[0] @ scores / t[0].sum())
    groups = ("a", True, False)
    yield "difference of means", subject, apart, _found(lambda: est.mean_of("b", SCORES, between=groups))


def _measures(strength: Any, t: Array) -> Iterator[Question]:
    """Cramer's V and mutual information, each of the table with the answers merged that it says."""
    own = merged_table(t, strength.cramers_v.merged)
    expected = np.outer(own.sum(axis=1), own.sum(axis=0))
    v = sqrt(float(((own - expected) ** 2 / expected).sum()) / (min(own.shape) - 1))
    yield "Cramer's V", "population", v, strength.cramers_v
    own = merged_table(t, strength.mutual_information.merged)
    if own.min() > 0:
        mutual = float((own * np.log(own / np.outer(own.sum(axis=1), own.sum(axis=0)))).sum())
        yield "mutual information", "population", mutual, strength.mutual_information


def _regressions(counts: Counts, t: Array) -> Iterator[Interval]:
    """Linear regression of the flag on the choice, logistic regression, and contrasts of the shares."""
    within = _within(t)
    truths = [within[0], *(within[1:] - within[0])]
    yield from _rows("regression", truths, regress(counts, "a", on=["b"]).table().to_pylist())
    if within.min() > 0:
        odds = [log(share / (1 - share)) for share in within]
        truths = [odds[0], odds[1] - odds[0], odds[2] - odds[0]]
        fit = _found(lambda: regress(counts, "a", on=["b"], kind="logistic"))
        yield from _rows("logistic", truths, fit and fit.table().to_pylist())
    truths = [within[0] - within[1], within[0] - within[2], within[1] - within[2]]
    found = _found(lambda: estimate(counts, ["a", "b"]).contrasts("a", by="b"))
    yield from _rows("contrasts", truths, found and found.to_pylist())


def _rows(kind: str, truths: Sequence[float], rows: Sequence[dict[str, Any]] | None) -> Iterator[Interval]:
    """The intervals of a table's rows; none of them given if the table was refused."""
    for place, value in enumerate(truths):
        low, high = (rows[place]["low"], rows[place]["high"]) if rows else (nan, nan)
        yield kind, "population", float(value), low, high


def _found(ask: Callable[[], Any]) -> Any:
    """A result; None where it is refused."""
    try:
        return ask()
    except EstimateError:
        return None


def _or_refused(ask: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """An interval; nan where it is refused."""
    return _found(ask) or (nan, nan)


def _ends(found: Any, level: float = LEVEL) -> tuple[float, float]:
    """The ends of a result's interval; nan where it was refused."""
    low, high = (nan, nan) if found is None else found.confidence_interval(level)
    return low, high


def merged_table(t: Array, merged: Sequence[Merged]) -> Array:
    """The table with the answers of the choice that were merged as one."""
    for one in merged:
        places = ["xyz".index(answer) for answer in one.answers]
        rest = [k for k in range(t.shape[1]) if k not in places]
        t = np.column_stack([t[:, rest], t[:, places].sum(axis=1)])
    return t
