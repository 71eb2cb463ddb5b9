"""Every kind of result on truths that are hard for it: how often it is given, holds, and misses on either side.

Two questions, a flag and a choice of three, are loosely associated, rare, sparse (with cells that nobody is in), or
skewed, and asked apart with unequal epsilons, as one block, or in arms of which some ask one question alone. Of each
survey every kind of result is asked for (`results_asked`), about the population and about the respondents. For
post-stratification there is a public question besides; and for lists, of which there are more, ten flags of which five
pairs are associated are ranked, and those with a false discovery rate of at most 10 % are looked at (with the intervals
for lists) as a reader would.
"""

import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from functools import partial, reduce
from math import nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from deniable import simulate
from deniable.analyses.associations import associations
from deniable.estimates.estimate import estimate
from deniable.inference.one_feature import Array
from deniable.survey.plan import Plan
from deniable.survey.protocols import GRR, Public, RandomizedResponse
from deniable.survey.schema import Choice, Flag, Schema
from deniable.text.progress import told
from deniable.validation.figure_files import write_csv
from deniable.validation.processes import spread
from deniable.validation.results_asked import LEVEL, SCHEMA, Asked, Interval, of_numbers, of_tables

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
# SURVEYS is how many surveys there are of each setting, and QUICK in a quick run.
SURVEYS, QUICK = 300, 4
# LISTS is how many lists there are, and weighted shares, which take a few milliseconds.
LISTS = 1_000
# LISTED is the false discovery rate up to which pairs of a list are looked at.
LISTED = 0.1
# HOLDS are the least and the most that coverage should be, in a setting where at least half are given.
HOLDS = (0.93, 0.97)
# FURTHER is how many Monte Carlo standard errors further than that a setting is outside.
FURTHER = 3
# DETECTED is the probability with which a coverage is found to be outside that is said to be detected.
DETECTED = 0.9

FLAGS = Schema([Flag(f"f{k}") for k in range(10)])
STRATA = Schema([Flag("a"), Choice("region", ["north", "south"])])


@dataclass(frozen=True)
class Tails:
    """One kind of result in one setting: how many were asked for and given, and missed with the interval above, below.

    Of a list the share of its pairs is counted that are missed. `error` is the standard error of the share of those
    given that hold the truth.
    """

    truth: str
    plan: str
    n: int
    kind: str
    subject: str
    surveys: int
    asked: int
    given: int
    above: float
    below: float
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
    """All settings, written to a file of numbers after each of them."""
    surveys, lists_made = (QUICK, QUICK) if quick else (SURVEYS, LISTS)
    settings = [(truth, plan, n) for truth in TRUTHS for plan in PLANS for n in (SIZES[-1:] if quick else SIZES)]
    todo = [(*one, surveys, way) for way in (of_tables, of_numbers) for one in settings]
    found = strata(lists_made) + lists(lists_made)
    for part in told(
        spread(_measured, todo, alone=quick),
        lambda own: f"every result, {own[0].kind} and others, {own[0].truth}, {own[0].plan}, N = {own[0].n:,}",
    ):
        found += part
        write_csv(folder / "every-result.csv", [field.name for field in fields(Tails)], map(astuple, found))
    return found


Ask = Callable[[Plan, simulate.Truth, int, np.random.Generator], Asked]


def _measured(one: tuple[str, str, int, int, Ask]) -> list[Tails]:
    return setting(*one)


def setting(truth: str, how: str, n: int, surveys: int, ask: Ask) -> list[Tails]:
    """What is asked for in one setting, the same whenever it is run."""
    rng = np.random.default_rng(zlib.crc32(f"{truth} {how} {n}".encode()))
    asked = partial(ask, plan_for(how), simulate.truth(SCHEMA, np.array(TRUTHS[truth])), n, rng)
    return _over_surveys(truth, how, n, (asked() for _ in range(surveys)))


def _over_surveys(truth: str, how: str, n: int, surveys: Iterable[Asked]) -> list[Tails]:
    """The tallies of all surveys of a setting, by level."""
    each: dict[float, list[list[Interval]]] = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they warn of shows in the tally
        for found in surveys:
            for level, intervals in found.items():
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


def strata(surveys: int) -> list[Tails]:
    """A flag that is rarer in the north, and too many respondents of the north: shares weighted to the population's."""
    plan, found = Plan(STRATA, {"a": RandomizedResponse(epsilon=3.0), "region": Public()}), []
    of = simulate.truth(STRATA, np.array([[0.65, 0.18], [0.05, 0.12]]))
    truth = 0.5 * 0.05 / 0.7 + 0.5 * 0.12 / 0.3
    for n in SIZES:
        rng = np.random.default_rng(zlib.crc32(f"strata {n}".encode()))

        def asked(n: int = n, rng: np.random.Generator = rng) -> Asked:
            est = estimate(simulate.counts(of, plan, rng, n=n), ["a", "region"])
            cell = est.poststratify("region", {"north": 0.5, "south": 0.5}).cell(a=True)
            low, high = cell.confidence_interval()
            return {LEVEL: [("poststratify", "population", truth, low, high)]}

        found += _over_surveys("strata", "public", n, (asked() for _ in range(surveys)))
    return found


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
        found.append(_false_coverage(f"phi {phi:g}", each))
    return found


def _false_coverage(truth: str, each: Sequence[Sequence[Interval]]) -> Tails:
    """Lists of all surveys, each of which misses the share of its own pairs that it does; none if nothing is listed.

    Its mean is the false coverage rate, which intervals for lists keep down.
    """
    missed = [[(low > value, high < value) for _, _, value, low, high in own] or [(False, False)] for own in each]
    above, below = np.array([np.mean(own, axis=0) for own in missed]).T
    error = float(np.std(above + below)) / sqrt(len(each)) or sqrt(LEVEL * (1 - LEVEL) / len(each))
    n, over, under = len(each), float(above.sum()), float(below.sum())
    return Tails(truth, "apart", 10_000, "listed pair", "population", n, n, n, over, under, error)


def _listed(rows: Sequence[dict[str, Any]], phi: float) -> Iterator[Interval]:
    """The intervals of the pairs that a list shows."""
    for row in rows:
        if row["fdr"] <= LISTED:
            i, j = (int(row[name][1:]) for name in ("first", "second"))
            truth = phi if i % 2 == 0 and j == i + 1 else 0.0
            yield "listed pair", "population", truth, row["listed_low"], row["listed_high"]


def verdict(found: Sequence[Tails]) -> str:
    """A line for each kind of result and subject: the mean over settings in which half are given, and the least.

    A setting is outside if its coverage is further from HOLDS than three of its standard errors, and so is the mean;
    beside it stands the coverage of one setting that would be found outside in nine of ten runs, where that is least.
    """
    lines = [
        "Every kind of result, over the settings in which at least half of the 95 % intervals asked for are given:",
        f"  {'':20} {'about the':12} {'surveys':>7} {'given':>6} {'hold':>15} {'above':>6} {'below':>6} "
        f"{'settings':>10} {'outside':>12} {'detected':>9}   least",
    ]
    main = [one for one in found if one.level == LEVEL]
    lines += [_line(kind, subject, every) for (kind, subject), every in _by_kind(main).items()]
    return "\n".join([*lines, *_at_other_levels([one for one in found if one.level != LEVEL])])


def _line(kind: str, subject: str, every: Sequence[Tails]) -> str:
    """The line of one kind of result about one subject."""
    judged = [one for one in every if 2 * one.given >= one.asked > 0]
    share = sum(one.given for one in every) / sum(one.asked for one in every)
    start = f"  {kind:20} {subject:12} {max(one.surveys for one in every):7,} {share:6.0%}"
    if not judged:
        return f"{start} never half of them"
    above, below = (np.mean([getattr(one, side) / one.given for one in judged]) for side in ("above", "below"))
    holds = float(np.mean([one.holds for one in judged]))
    error = sqrt(sum(one.error**2 for one in judged)) / len(judged)
    outside = f"{sum(_outside(one.holds, one.error) for one in judged)}{' and mean' * _outside(holds, error)}"
    return (
        f"{start} {f'{holds:.1%} +- {error:.1%}':>15} {above:6.1%} {below:6.1%} {len(judged):3} of {len(every):3} "
        f"{outside:>12} {min(map(detected, judged)):9.1%}   {_named(min(judged, key=lambda one: one.holds))}"
    )


def _outside(holds: float, error: float) -> bool:
    """Whether coverage is further from HOLDS than FURTHER standard errors."""
    return not HOLDS[0] - FURTHER * error <= holds <= HOLDS[1] + FURTHER * error


def _named(one: Tails) -> str:
    """The coverage of a setting, with its standard error, and which it is."""
    return f"{one.holds:.1%} +- {one.error:.1%} ({one.truth}, {one.plan}, N = {one.n:,})"


def detected(one: Tails) -> float:
    """The coverage below HOLDS that would be found outside with the probability DETECTED, in as many surveys.

    Intervals of one survey go together by as much as they were found to.
    """
    from scipy.special import ndtri

    together = one.error**2 / (one.holds * (1 - one.holds) or LEVEL * (1 - LEVEL))
    for coverage in np.arange(HOLDS[0], 0.0, -0.001):
        if coverage + (FURTHER + ndtri(DETECTED)) * sqrt(coverage * (1 - coverage) * together) < HOLDS[0]:
            return float(coverage)
    return 0.0


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
