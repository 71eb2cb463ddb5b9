"""Every kind of result on truths that are hard for it: how often it is given, holds, and misses on either side.

Two questions, a flag and a choice of three, are loosely associated, rare, sparse (with cells that nobody is in), or
skewed, and asked apart with unequal epsilons, as one block, or in arms of which some ask one question alone. Of each
survey every kind of result is asked for through the public names, about the population and about the respondents; for
lists, ten flags of which five pairs are associated are ranked, and those with a false discovery rate of at most 10 %
are looked at (with the intervals for lists) as a reader would.
"""

import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from functools import reduce
from math import nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from deniable import simulate
from deniable.analyses.associations import associations
from deniable.analyses.comparison import compare
from deniable.analyses.regression import regress
from deniable.counts.count import count
from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.estimates.estimate import Estimate, estimate
from deniable.estimates.likelihood import maximum_likelihood
from deniable.inference.one_feature import Array
from deniable.inference.results import Merged
from deniable.survey.plan import Plan
from deniable.survey.protocols import GRR, RandomizedResponse
from deniable.survey.schema import Choice, Flag, Schema
from deniable.text.progress import told
from deniable.validation.figure_files import write_csv

# TRUTHS are the shares of the flag's answers (rows) and the choice's (columns) in the population.
TRUTHS = {
    "loose": [[0.30, 0.22, 0.16], [0.12, 0.10, 0.10]],
    "rare": [[0.48, 0.30, 0.17], [0.02, 0.01, 0.02]],
    "sparse": [[0.40, 0.10, 0.20], [0.30, 0.00, 0.00]],
    "skewed": [[0.50, 0.27, 0.02], [0.05, 0.13, 0.03]],
}
# PLANS are how the two questions are asked: apart with unequal epsilons, as one block, or in arms.
PLANS = ("apart", "block", "arms")
# SIZES are the numbers of respondents.
SIZES = (300, 3_000)
# SURVEYS is how many surveys there are of each setting, and QUICK how many in a quick run.
SURVEYS, QUICK = 300, 4
# LISTED is the false discovery rate up to which pairs of a list are looked at.
LISTED = 0.1
# HOLDS are the least and the most that coverage should be, in a setting where at least half are given.
HOLDS = (0.93, 0.97)
# LEVEL is the confidence level of all results, and SPOT_LEVELS are others that some results are also asked for with.
LEVEL, SPOT_LEVELS = 0.95, (0.8, 0.9, 0.99)
# DRAWS is how many tables are drawn from the posterior.
DRAWS = 200

SCHEMA = Schema([Flag("a"), Choice("b", ["x", "y", "z"])])
FLAGS = Schema([Flag(f"f{k}") for k in range(10)])

Interval = tuple[str, str, float, float, float]  # kind of result, subject, truth, and the ends


@dataclass(frozen=True)
class Tails:
    """One kind of result in one setting: how many were asked for and given, and missed with the interval above, below.

    `error` is the standard error of the share of those given that hold the truth.
    """

    truth: str
    plan: str
    n: int
    kind: str
    subject: str
    surveys: int
    asked: int
    given: int
    above: int
    below: int
    error: float
    level: float = LEVEL

    @property
    def holds(self) -> float:
        """The share of the intervals given that hold the truth."""
        return 1 - (self.above + self.below) / self.given if self.given else nan


def plan_for(how: str) -> Plan:
    """The plan of a setting."""
    if how == "apart":
        return Plan(SCHEMA, {"a": RandomizedResponse(epsilon=4.0), "b": GRR(epsilon=3.0)})
    if how == "block":
        return Plan(SCHEMA, epsilon=4.0, together=[["a", "b"]])
    return Plan(SCHEMA, epsilon=4.0, arms={("a", "b"): 0.6, ("a",): 0.2, ("b",): 0.2})


def measured(folder: Path, *, quick: bool) -> list[Tails]:
    """All settings, written to a file of numbers."""
    surveys = QUICK if quick else SURVEYS
    settings = [(truth, plan, n) for truth in TRUTHS for plan in PLANS for n in (SIZES[-1:] if quick else SIZES)]
    found: list[Tails] = []
    for part in told(
        (_setting(*setting, surveys) for setting in settings),
        lambda own: f"every result, {own[0].truth}, {own[0].plan}, N = {own[0].n:,}",
    ):
        found += part
    found += lists(surveys)
    write_csv(folder / "every-result.csv", [field.name for field in fields(Tails)], map(astuple, found))
    return found


def _setting(truth: str, how: str, n: int, surveys: int) -> list[Tails]:
    """One setting, the same whenever it is run."""
    rng = np.random.default_rng(zlib.crc32(f"{truth} {how} {n}".encode()))
    plan, of = plan_for(how), simulate.truth(SCHEMA, np.array(TRUTHS[truth]))
    each: dict[float, list[list[Interval]]] = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they warn of shows in the tally
        for _ in range(surveys):
            for level, intervals in _one_survey(plan, of, n, rng).items():
                each[level].append(intervals)
    return [one for level, own in each.items() for one in _tallied(truth, how, n, own, level)]


def _tallied(truth: str, how: str, n: int, each: Sequence[Sequence[Interval]], level: float = LEVEL) -> list[Tails]:
    """Sums over surveys.

    The standard error of coverage is that of a ratio of sums, as the cells of a survey go together; where all hold, it
    is that of one interval in each survey.
    """
    sums: dict[tuple[str, str], list[Array]] = defaultdict(list)
    for intervals in each:
        own: dict[tuple[str, str], Array] = defaultdict(lambda: np.zeros(4))
        for kind, subject, value, low, high in intervals:
            own[kind, subject] += (1, low == low, low - 1e-12 > value, high + 1e-12 < value)
        for key, tally in own.items():
            sums[key].append(tally)
    found = []
    for (kind, subject), tallies in sums.items():
        asked, given, above, below = np.array(tallies).T
        missed, total = above + below, max(float(given.sum()), 1.0)
        error = sqrt(float(((missed - missed.sum() / total * given) ** 2).sum())) / total
        error = error or sqrt(level * (1 - level) / (np.count_nonzero(given) or 1))
        a, g, over, under = (int(part.sum()) for part in (asked, given, above, below))
        found.append(Tails(truth, how, n, kind, subject, len(each), a, g, over, under, error, level))
    return found


def _one_survey(plan: Plan, of: simulate.Truth, n: int, rng: np.random.Generator) -> dict[float, list[Interval]]:
    """All intervals of one survey with their truths, by level."""
    people, t = of.people(n, rng), of.shares
    reports = simulate.reports_of(people, plan, rng)
    counts = count(reports, ["a", "b"])
    est = estimate(counts, ["a", "b"])
    feasible = estimate(counts, ["a", "b"], method="feasible")
    drawn = feasible.posterior(draws=DRAWS, rng=rng)
    later = estimate(count(simulate.reports_of(of.people(n, rng), plan, rng), ["a", "b"]), ["a", "b"])
    strength = est.association("a", "b")
    found = {
        LEVEL: [
            *_about(est.about("respondents"), "respondents", people / n),
            *_at_any_level(est, strength, drawn, t),
            *_of_population(counts, est, strength, t),
            *_cells("proper table", "population", t, feasible),
            *_cells("maximum likelihood", "population", t, maximum_likelihood(reports, ["a", "b"])),
            *(("compare", "population", 0.0, row["low"], row["high"]) for row in compare(est, later).to_pylist()),
        ]
    }
    return found | {level: [*_at_any_level(est, strength, drawn, t, level)] for level in SPOT_LEVELS}


def _at_any_level(est: Estimate, strength: Any, drawn: Any, t: Array, level: float = LEVEL) -> Iterator[Interval]:
    """Results about the population that are asked for at each level."""
    yield from _about(est, "population", t, level)
    own = _merged(t, strength.cramers_v.merged)
    expected = np.outer(own.sum(axis=1), own.sum(axis=0))
    v = sqrt(float(((own - expected) ** 2 / expected).sum()) / (min(own.shape) - 1))
    yield _asked("Cramer's V", "population", v, lambda: strength.cramers_v, level)
    yield from _cells("posterior draws", "population", t, drawn, level)


def _cells(kind: str, subject: str, t: Array, est: Any, level: float = LEVEL) -> Iterator[Interval]:
    for value, row in zip(t.flat, est.table(level=level).to_pylist(), strict=True):
        yield kind, subject, float(value), row["low"], row["high"]


def _about(est: Estimate, subject: str, t: Array, level: float = LEVEL) -> Iterator[Interval]:
    """Results that there are about both subjects: cells, margins, and ratios of shares."""
    yield from _cells("cell", subject, t, est, level)
    yield from _cells("margin", subject, t.sum(axis=1), est.project("a"), level)
    yield from _cells("margin", subject, t.sum(axis=0), est.project("b"), level)
    within = t / np.where(t.sum(axis=0) > 0, t.sum(axis=0), nan)
    for row in est.conditional("a", given="b", level=level).to_pylist():
        if row["a"]:
            yield "conditional share", subject, within[1, "xyz".index(row["b"])], row["low"], row["high"]
    both, first, last = ("b", "x", "z"), within[1, 0], within[1, 2]
    yield _asked("difference", subject, first - last, lambda: est.difference("a", between=both), level)
    if last > 0:
        yield _asked("ratio", subject, first / last, lambda: est.ratio("a", between=both), level)
    one = np.array([[t[0, 1:].sum(), t[0, 0]], [t[1, 1:].sum(), t[1, 0]]])
    if one.min() > 0:
        odds = one[1, 1] * one[0, 0] / (one[1, 0] * one[0, 1])
        yield _asked("odds ratio", subject, odds, lambda: est.odds_ratio("a", ("b", "x")), level)
    over = sqrt(float(one[0].sum() * one[1].sum() * one[:, 0].sum() * one[:, 1].sum()))
    correlation = (one[1, 1] * one[0, 0] - one[1, 0] * one[0, 1]) / over
    yield _asked("correlation", subject, correlation, lambda: est.correlation("a", ("b", "x")), level)


def _asked(kind: str, subject: str, truth: float, ask: Callable[[], Any], level: float = LEVEL) -> Interval:
    """One result; without an interval where it is refused."""
    try:
        low, high = ask().confidence_interval(level)
    except EstimateError:
        low = high = nan
    return kind, subject, float(truth), low, high


def _of_population(counts: Counts, est: Estimate, strength: Any, t: Array) -> Iterator[Interval]:
    """Results about the population: mutual information, what is known beforehand, regression."""
    own = _merged(t, strength.mutual_information.merged)
    expected = np.outer(own.sum(axis=1), own.sum(axis=0))
    if own.min() > 0:
        mutual = float((own * np.log(own / expected)).sum())
        yield _asked("mutual information", "population", mutual, lambda: strength.mutual_information)
    shares = dict(zip("xyz", t.sum(axis=0).tolist(), strict=True))
    yield from _cells("known margin", "population", t, est.given({"b": {name: shares[name] for name in "yz"}}))
    zeros: list[dict[str, str | bool]] = [{"a": bool(i), "b": "xyz"[j]} for i, j in np.argwhere(t == 0)]
    if zeros:
        rows = est.given(zeros=zeros).table().to_pylist()
        for value, row in zip(t.flat, rows, strict=True):
            if value > 0:
                yield "known zeros", "population", float(value), row["low"], row["high"]
    within = t[1] / t.sum(axis=0)
    rows = regress(counts, "a", on=["b"]).table().to_pylist()
    for value, row in zip((within[0], *(within[1:] - within[0])), rows, strict=True):
        yield "regression", "population", float(value), row["low"], row["high"]


def _merged(t: Array, merged: Sequence[Merged]) -> Array:
    """The table with the answers of the choice that were merged as one."""
    for one in merged:
        places = ["xyz".index(answer) for answer in one.answers]
        rest = [k for k in range(t.shape[1]) if k not in places]
        t = np.column_stack([t[:, rest], t[:, places].sum(axis=1)])
    return t


def lists(surveys: int) -> list[Tails]:
    """Ten flags, of which five pairs have a correlation: the intervals for lists of the pairs that a list shows."""
    found = []
    plan = Plan(FLAGS, dict.fromkeys(FLAGS.names, RandomizedResponse(epsilon=1.0)))
    for phi in (0.06, 0.1, 0.2):
        apart = phi * 0.21
        pair = np.array([[0.49 + apart, 0.21 - apart], [0.21 - apart, 0.09 + apart]])
        of = simulate.truth(FLAGS, reduce(np.multiply.outer, 5 * [pair]))
        rng, each = np.random.default_rng(zlib.crc32(f"list {phi}".encode())), []
        for _ in range(surveys):
            rows = associations(simulate.counts(of, plan, rng, n=10_000)).to_pylist()
            each.append([*_listed(rows, phi)])
        found += _tallied(f"phi {phi:g}", "apart", 10_000, each)
    return found


def _listed(rows: Sequence[dict[str, Any]], phi: float) -> Iterator[Interval]:
    """The intervals of the pairs that a list shows."""
    for row in rows:
        if row["fdr"] <= LISTED:
            i, j = (int(row[name][1:]) for name in ("first", "second"))
            truth = phi if i % 2 == 0 and j == i + 1 else 0.0
            yield "listed pair", "population", truth, row["listed_low"], row["listed_high"]


def verdict(found: Sequence[Tails]) -> str:
    """A line for each kind of result and subject: pooled over settings in which at least half are given, and the range.

    A setting is outside if its coverage is further from HOLDS than three of its standard errors.
    """
    lines = [
        f"Every kind of result, {found[0].surveys} surveys of each setting; pooled over the settings in which at least",
        "half of the 95 % intervals asked for are given:",
        f"  {'':20} {'about the':12} {'given':>6} {'hold':>6} {'above':>6} {'below':>6} "
        f"{'settings':>10} {'outside':>8}   least",
    ]
    main = [one for one in found if one.level == LEVEL]
    for (kind, subject), every in _by_kind(main).items():
        judged = [one for one in every if 2 * one.given >= one.asked > 0]
        share = sum(one.given for one in every) / sum(one.asked for one in every)
        if not judged:
            lines.append(f"  {kind:20} {subject:12} {share:6.0%} never half of them")
            continue
        above, below = (np.mean([getattr(one, side) / one.given for one in judged]) for side in ("above", "below"))
        holds = float(np.mean([one.holds for one in judged]))
        outside = sum(not HOLDS[0] - 3 * one.error <= one.holds <= HOLDS[1] + 3 * one.error for one in judged)
        least = min(judged, key=lambda one: one.holds)
        lines.append(
            f"  {kind:20} {subject:12} {share:6.0%} {holds:6.1%} {above:6.1%} {below:6.1%} "
            f"{len(judged):3} of {len(every):3} {outside:8}   {least.holds:.1%} +- {least.error:.1%} "
            f"({least.truth}, {least.plan}, N = {least.n:,})"
        )
    return "\n".join([*lines, *_at_other_levels([one for one in found if one.level != LEVEL])])


def _by_kind(found: Sequence[Tails]) -> dict[tuple[str, str], list[Tails]]:
    """The settings of each kind of result and subject."""
    kinds: dict[tuple[str, str], list[Tails]] = defaultdict(list)
    for one in found:
        kinds[one.kind, one.subject].append(one)
    return kinds


def _at_other_levels(found: Sequence[Tails]) -> Iterator[str]:
    """A line for each kind of result: at each other level the mean over settings that hold, and the least of them."""
    levels = sorted({one.level for one in found})
    if levels:
        yield "Other levels, about the population: hold (mean over settings), and the least setting"
        yield f"  {'':20}" + "".join(f"{level:>22.0%}" for level in levels)
    for kind in dict.fromkeys(one.kind for one in found):
        yield f"  {kind:20}" + "".join(
            f"{_in_short([one for one in found if (one.kind, one.level) == (kind, level)]):>22}" for level in levels
        )


def _in_short(found: Sequence[Tails]) -> str:
    """The mean coverage over settings in which at least half are given, and the least; nothing if there is none."""
    judged = [one for one in found if 2 * one.given >= one.asked > 0]
    if not judged:
        return ""
    least = min(judged, key=lambda one: one.holds)
    return f"{np.mean([one.holds for one in judged]):.1%}  {least.holds:.1%} +- {least.error:.1%}"
