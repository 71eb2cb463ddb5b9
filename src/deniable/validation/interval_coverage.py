"""How often the intervals that are printed hold the truth, and how far each method's table is from it.

Whole surveys, as a user would run them: answers drawn, randomized one by one, counted, and asked through the public
names, over a grid of protocols, epsilons, sizes and numbers of features. A question is asked of many cells in a survey,
which go together, so the error of a share of intervals is that of a ratio of sums over surveys.
"""

import csv
import signal
import sys
import warnings
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from functools import cache, partial, reduce
from hashlib import sha256
from itertools import product
from math import nan, sqrt
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from deniable import __version__
from deniable.analyses.comparison import compare
from deniable.analyses.regression import regress
from deniable.counts.count import count, processors
from deniable.counts.counts import Counts
from deniable.errors import EstimateError
from deniable.estimates.estimate import Estimate, estimate
from deniable.estimates.likelihood import maximum_likelihood
from deniable.files import replacing
from deniable.inference.axis import Array
from deniable.inference.results import JointAnswer
from deniable.reports.randomize import randomize_codes
from deniable.reports.randomness import seeded
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan
from deniable.survey.protocols import GRR, LocalHashing, RandomizedResponse, UnaryEncoding
from deniable.survey.schema import Choice, Flag, Schema
from deniable.text.progress import told
from deniable.validation import paper_figures

KINDS = ("flags", "GRR", "unary", "hashing", "mixed")
EPSILONS = (1.0, 2.0, 4.0)  # of each feature
SIZES = (1_000, 10_000)
ORDERS = (1, 2, 3)
SURVEYS, QUICK = 150, 8  # of each setting
METHODS = ("unbiased", "consistent", "feasible", "maximum likelihood")
JOINT = (
    "conditional", "difference", "ratio", "odds ratio", "correlation", "Cramer's V", "mutual information",
    "two surveys", "regression", "known margin", "draws",
)  # fmt: skip
TABLES = (*METHODS, "population", "whole table")
DRAWS = 200  # of proper tables, in one survey
LEVEL = 0.95
CHANCE = 3.29  # standard errors: one chance in a thousand
ANSWERED = 0.5  # of the intervals that were asked for: where fewer are given, coverage is not judged

Intervals = Iterator[tuple[str, float, float, float]]  # question, truth, low and high


@dataclass(frozen=True)
class Setting:
    """One survey to repeat."""

    kind: str
    epsilon: float
    n: int
    order: int


@dataclass(frozen=True)
class Held(Setting):
    """Of one question in many surveys: how many intervals were asked for, given, and held the truth.

    `value` is the share of those given that held it, and `error` its standard error. For the errors of tables, question
    is `error of ...`, and value the root mean square over cells.
    """

    version: str
    question: str
    surveys: int
    asked: int
    given: int
    value: float
    error: float

    @property
    def setting(self) -> Setting:
        """What was repeated."""
        return Setting(self.kind, self.epsilon, self.n, self.order)

    @property
    def judged(self) -> bool:
        """Whether so many intervals were given that how often they hold the truth says something."""
        return self.given >= ANSWERED * self.asked > 0


# -- one survey -------------------------------------------------------------------------------------------------------


def plan_for(kind: str, epsilon: float, order: int) -> Plan:
    """Flags, or choices of three, by one protocol or by several."""
    flags = [Flag(f"f{k}") for k in range(3)]
    choices = [Choice(f"f{k}", list("abc")) for k in range(3)]
    one, grr, oue = RandomizedResponse(epsilon=epsilon), GRR(epsilon=epsilon), UnaryEncoding.optimized(epsilon)
    features: dict[str, list[Any]] = {
        "flags": [(flag, one) for flag in flags],
        "GRR": [(choice, grr) for choice in choices],
        "unary": [(choice, oue) for choice in choices],
        "hashing": [(choice, LocalHashing(epsilon=epsilon)) for choice in choices],
        "mixed": [(choices[0], oue), (flags[1], one), (choices[2], LocalHashing(epsilon=epsilon))],
    }
    pairs = features[kind][:order]
    return Plan(Schema([feature for feature, _ in pairs]), {feature.name: protocol for feature, protocol in pairs})


def shares_for(levels: Sequence[int]) -> Array:
    """A population of two kinds of people, who lean to the first answers and to the last."""
    first = [1 / np.arange(1, m + 1) for m in levels]
    last = [np.arange(1, m + 1)[::-1] ** -0.3 for m in levels]
    tables = [reduce(np.multiply.outer, [v / v.sum() for v in each]) for each in (first, last)]
    return np.asarray(0.6 * tables[0] + 0.4 * tables[1], np.float64)


def survey(plan: Plan, n: int, rng: np.random.Generator) -> tuple[Array, Reports]:
    """The respondents' own table of shares, and their reports."""
    shares = shares_for([feature.levels for feature in plan.schema])
    people = rng.multinomial(n, shares.reshape(-1))
    codes = np.unravel_index(np.repeat(np.arange(shares.size), people), shares.shape)
    reports = randomize_codes([np.asarray(code) for code in codes], plan, seeded(rng))
    return people.reshape(shares.shape) / n, reports


def tables(plan: Plan, reports: Reports) -> tuple[Counts, dict[str, Estimate]]:
    """What was counted, and the table by each method."""
    names = plan.schema.names
    counts = count(reports, names)
    found = {method: estimate(counts, names, method=method) for method in METHODS[:3]}
    return counts, found | {METHODS[3]: maximum_likelihood(reports, names)}


def intervals_of_tables(found: dict[str, Estimate], own: Array, shares: Array) -> Intervals:
    """Those of every cell by each method, about the respondents; about the population; and for the whole table."""
    for method, est in found.items():
        for truth, row in zip(own.flat, est.table().to_pylist(), strict=True):
            yield method, truth, row["low"], row["high"]
    consistent = found["consistent"]
    for truth, row in zip(shares.flat, consistent.about("population").table().to_pylist(), strict=True):
        yield "population", truth, row["low"], row["high"]
    rows = consistent.table(simultaneous=True).to_pylist()
    inside = all(row["low"] <= truth <= row["high"] for truth, row in zip(own.flat, rows, strict=True))
    given = all(row["low"] == row["low"] for row in rows)
    yield "whole table", 0.0, (0.0 if inside else 1.0) if given else nan, 1.0


def joint_intervals(
    plan: Plan, counts: Counts, found: dict[str, Estimate], n: int, rng: np.random.Generator
) -> Intervals:
    """Those of joint answers about the population, of two features."""
    est = found["consistent"].about("population")
    t = shares_for([feature.levels for feature in plan.schema])
    (a, first), (b, second) = ((feature.name, list(feature.answers)) for feature in plan.schema)
    rows = est.conditional(a, given=b).to_pylist()
    shares = t / t.sum(axis=0)
    for row in rows:
        yield "conditional", shares[first.index(row[a]), second.index(row[b])], row["low"], row["high"]
    what = a if isinstance(plan.schema[a], Flag) else (a, first[-1])
    between = (b, second[0], second[-1])
    p, q = shares[-1, 0], shares[-1, -1]
    yield _asked("difference", p - q, est.difference(what, between=between))
    yield _asked("ratio", p / q, est.ratio(what, between=between))
    if t.shape == (2, 2):
        yield _asked("odds ratio", t[1, 1] * t[0, 0] / (t[1, 0] * t[0, 1]), est.odds_ratio(a, b))
        over = np.sqrt(t[1].sum() * t[0].sum() * t[:, 1].sum() * t[:, 0].sum())
        yield _asked("correlation", (t[1, 1] * t[0, 0] - t[1, 0] * t[0, 1]) / over, est.correlation(a, b))
    expected = np.outer(t.sum(axis=1), t.sum(axis=0))
    association = est.association(a, b)
    v = np.sqrt(((t - expected) ** 2 / expected).sum() / (min(t.shape) - 1))
    yield _asked("Cramer's V", v, association.cramers_v)
    yield _asked("mutual information", (t * np.log(t / expected)).sum(), association.mutual_information)
    _, others = survey(plan, n, rng)
    after = estimate(count(others, plan.schema.names), plan.schema.names).about("population")
    for row in compare(est, after).to_pylist():
        yield "two surveys", 0.0, row["low"], row["high"]
    yield from _regression(counts, what, b, shares[-1])
    known = est.given({b: dict(zip(second[1:], t.sum(axis=0)[1:].tolist(), strict=True))})
    for truth, row in zip(t.flat, known.table().to_pylist(), strict=True):
        yield "known margin", truth, row["low"], row["high"]
    draws = found["feasible"].about("population").posterior(draws=DRAWS, rng=rng)
    for truth, row in zip(t.flat, draws.table().to_pylist(), strict=True):
        yield "draws", truth, row["low"], row["high"]


def _asked(question: str, truth: float, answer: JointAnswer) -> tuple[str, float, float, float]:
    return (question, float(truth), *answer.confidence_interval())


def _regression(counts: Counts, outcome: Any, on: str, shares: Array) -> Intervals:
    """The coefficients of an answer on the answers to another feature, among which it has these shares."""
    truths = [shares[0], *(shares[1:] - shares[0])]
    try:
        rows = regress(counts, outcome, on=[on]).table().to_pylist()
    except EstimateError:
        rows = [{"low": nan, "high": nan}] * len(truths)
    for truth, row in zip(truths, rows, strict=True):
        yield "regression", float(truth), row["low"], row["high"]


def questions(setting: Setting) -> list[str]:
    """All that is measured in a setting, in the order in which it is asked."""
    flags_only = ("odds ratio", "correlation")
    joint = [question for question in JOINT if setting.kind == "flags" or question not in flags_only]
    return [*TABLES, *(joint if setting.order == 2 else ()), *(f"error of {method}" for method in METHODS)]


# -- many surveys -----------------------------------------------------------------------------------------------------


def measure(setting: Setting, surveys: int) -> list[Held]:
    """All questions that a setting allows, in so many surveys; the same whenever and wherever it is run."""
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    plan = plan_for(setting.kind, setting.epsilon, setting.order)
    shares = shares_for([feature.levels for feature in plan.schema])
    tallies: dict[str, list[Any]] = defaultdict(list)  # of each survey: asked, given, held
    squares: dict[str, list[float]] = defaultdict(list)
    for _ in range(surveys):
        own, reports = survey(plan, setting.n, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they warn of shows in the tally
            counts, found = tables(plan, reports)
            asked = [*intervals_of_tables(found, own, shares)]
            if setting.order == 2:
                asked += joint_intervals(plan, counts, found, setting.n, rng)
        sums: dict[str, Any] = defaultdict(lambda: np.zeros(3))
        for question, truth, low, high in asked:
            sums[question] += (1, low == low, low - 1e-12 <= truth <= high + 1e-12)
        for question, three in sums.items():
            tallies[question].append(three)
        for method, est in found.items():
            table = est.table()["proportion"].to_numpy().reshape(own.shape)
            squares[method].append(float(np.mean((table - own) ** 2)))
    results = []
    for question, each in tallies.items():
        asked_for, given, held = np.array(each).T
        value, error = _ratio(held, given)
        results.append(_held(setting, question, surveys, int(asked_for.sum()), int(given.sum()), value, error))
    for method, errors in squares.items():
        mean, spread = float(np.mean(errors)), float(np.std(errors))
        root = sqrt(mean)
        error = spread / sqrt(surveys) / (2 * root) if root else 0.0
        results.append(_held(setting, f"error of {method}", surveys, surveys, surveys, root, error))
    return results


def _held(of: Setting, question: str, surveys: int, asked: int, given: int, value: float, error: float) -> Held:
    return Held(of.kind, of.epsilon, of.n, of.order, _version(), question, surveys, asked, given, value, error)


def _ratio(held: Array, given: Array) -> tuple[float, float]:
    """A ratio of sums over surveys, and its standard error; if all are alike, that of one interval in each survey."""
    if not given.sum():
        return nan, nan
    value = float(held.sum() / given.sum())
    error = float(np.sqrt(np.sum((held - value * given) ** 2)) / given.sum())
    return value, error or sqrt(LEVEL * (1 - LEVEL) / np.count_nonzero(given))


def settings(*, quick: bool) -> list[Setting]:
    """The grid; a quick one has one epsilon and one size."""
    epsilons, sizes = (EPSILONS[1:2], SIZES[:1]) if quick else (EPSILONS, SIZES)
    return [Setting(*each) for each in product(KINDS, epsilons, sizes, ORDERS)]


def measured(path: Path, *, quick: bool) -> list[Held]:
    """The whole grid, written to a file after every setting; what an earlier run has written is not done again."""
    surveys = QUICK if quick else SURVEYS
    todo, version = settings(quick=quick), _version()
    found = {setting: own for setting, own in _read(path, surveys, version).items() if setting in todo}
    left = [setting for setting in todo if setting not in found]
    if found:
        again = f"remove {path.name} to do them again"
        print(f"{len(found)} of {len(todo)} settings of coverage are from an earlier run; {again}", file=sys.stderr)
    for setting, own in told(_spread(left, surveys, quick=quick), lambda each: _line(each, len(found), len(todo))):
        found[setting] = own
        _write([one for each in todo if each in found for one in found[each]], path)
    return [one for each in todo for one in found[each]]


@cache
def _version() -> str:
    """Of what is measured: the version, and all of the code."""
    code = sha256()
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        code.update(file.read_bytes())
    return f"{__version__} {code.hexdigest()[:12]}"


def _line(each: tuple[Setting, list[Held]], done: int, of: int) -> str:
    setting = each[0]
    return f"coverage, {done + 1} of {of} settings: {setting.kind}, epsilon {setting.epsilon:g}, N = {setting.n:,}"


def _spread(todo: Sequence[Setting], surveys: int, *, quick: bool) -> Iterator[tuple[Setting, list[Held]]]:
    """On all processors, each as it comes; a quick one here. Whoever stops this ends the workers at once."""
    work = partial(_measured, surveys=surveys)
    if quick:
        yield from map(work, todo)
    elif todo:
        with get_context("spawn").Pool(
            min(len(todo), processors()), signal.signal, (signal.SIGINT, signal.SIG_IGN)
        ) as pool:
            yield from pool.imap_unordered(work, todo)


def _measured(setting: Setting, surveys: int) -> tuple[Setting, list[Held]]:
    return setting, measure(setting, surveys)


def _write(found: Sequence[Held], path: Path) -> None:
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Held)])
        writer.writeheader()
        writer.writerows(asdict(one) for one in found)


def check(path: Path) -> None:
    """Tell at once if a file of an earlier run is damaged."""
    _rows(path)


def _read(path: Path, surveys: int, version: str) -> dict[Setting, list[Held]]:
    """The settings that an earlier run of the same code with as many surveys has written in full."""
    found: dict[Setting, list[Held]] = defaultdict(list)
    for one in _rows(path):
        if one.surveys == surveys and one.version == version:
            found[one.setting].append(one)
    return {setting: own for setting, own in found.items() if [one.question for one in own] == questions(setting)}


def _rows(path: Path) -> list[Held]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        try:
            return [Held(**{f.name: f.type(row[f.name]) for f in fields(Held)}) for row in csv.DictReader(file)]  # type: ignore[operator]
        except (KeyError, ValueError, TypeError, csv.Error):
            raise EstimateError(f"{path}: is not of an earlier run; remove it, or take another folder") from None


# -- what came out ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pooled:
    """Of one question, over the settings it is judged in, all alike: coverage and its error, and where it is least."""

    question: str
    settings: int
    judged: int
    given: float  # share of the intervals that were asked for in these
    value: float
    error: float
    least: Held
    low: int  # settings in which it is below 95 % by more than chance


def pooled(found: Sequence[Held]) -> list[Pooled]:
    """All questions that are judged anywhere."""
    result = []
    for question in (*TABLES, *JOINT):
        own = [one for one in found if one.question == question]
        judged = [one for one in own if one.judged]
        if judged:
            value = float(np.mean([one.value for one in judged]))
            error = float(np.sqrt(np.sum([one.error**2 for one in judged]))) / len(judged)
            given = sum(one.given for one in judged) / sum(one.asked for one in judged)
            low = sum(one.value < LEVEL - CHANCE * one.error for one in judged)
            least = min(judged, key=lambda one: one.value)
            result.append(Pooled(question, len(own), len(judged), given, value, error, least, low))
    return result


def verdict(found: Sequence[Held]) -> str:
    """A line for each question."""
    lines = [
        "95 % intervals as printed, in settings where at least half of those asked for are given (figure 7, and its",
        f"numbers); low: below 95 % by more than {CHANCE} errors. Draws are beliefs, under a flat prior:",
        f"  {'':20} {'judged':>12} {'given':>6} {'hold the truth':>15} {'low':>4}   least",
    ]
    every = pooled(found)
    for one in every:
        where = f"{one.least.kind}, epsilon {one.least.epsilon:g}, N = {one.least.n:,}, features {one.least.order}"
        lines.append(
            f"  {one.question:20} {one.judged:5} of {one.settings:3} {one.given:6.0%} {one.value:7.1%} +- "
            f"{one.error:4.1%} {one.low:4}   {one.least.value:.1%} +- {one.least.error:.1%} ({where})"
        )
    never = {one.question for one in found if one.question in (*TABLES, *JOINT)} - {one.question for one in every}
    return "\n".join([*lines, *(f"  {question:20} never enough reports" for question in sorted(never))])


def summary(found: Sequence[Held]) -> str:
    """A few lines: how often all kinds of intervals hold the truth, and how far feasible tables are from it."""
    every = [one for one in pooled(found) if one.question != "draws"]
    least, most = (ends(every, key=lambda one: one.value) for ends in (min, max))
    ratios = [ratio for (_, method), ratio in accuracies(found).items() if method == "feasible"]
    judged, low = (sum(number) for number in zip(*((one.judged, one.low) for one in every), strict=True))
    return (
        f"  figure 7: {len(every)} kinds of 95 % intervals hold the truth in {least.value:.1%} +- {least.error:.1%} "
        f"({least.question}) to {most.value:.1%} +- {most.error:.1%} ({most.question});\n"
        f"    of {judged:,} settings and kinds {low} are low by more than chance (one in a thousand) allows for one\n"
        f"  figure 8: feasible tables have {np.mean(ratios):.3f} times the error of maximum likelihood, at most "
        f"{max(ratios):.3f} in a setting"
    )


def accuracies(found: Sequence[Held]) -> dict[tuple[Setting, str], float]:
    """The error of each method's table over that of maximum likelihood, from the same surveys."""
    errors = {
        (one.setting, one.question.removeprefix("error of ")): one.value
        for one in found
        if one.question.startswith("error of ")
    }
    return {
        (setting, method): error / errors[setting, METHODS[3]]
        for (setting, method), error in errors.items()
        if method != METHODS[3]
    }


def draw(found: Sequence[Held], folder: Path) -> None:
    """Figure 7, a map of how often intervals hold the truth, and figure 8, how far tables are from it."""
    _map(found, folder / "figure-7.png")
    _contest(found, folder / "figure-8.png")
    with replacing(folder / "figure-8.csv") as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(field.name for field in fields(Setting)), "method", "error over maximum likelihood"])
        writer.writerows([*astuple(setting), method, ratio] for (setting, method), ratio in accuracies(found).items())


def _map(found: Sequence[Held], path: Path) -> None:
    import matplotlib.pyplot as plt

    sizes = sorted({one.n for one in found})
    rows = list(dict.fromkeys((one.kind, one.epsilon) for one in found))
    columns = [(question, order, n) for question in TABLES for order in ORDERS for n in sizes]
    columns += [(question, 2, n) for question in JOINT for n in sizes]
    values = np.full((len(rows), len(columns)), np.nan)
    for one in found:
        place = (one.question, one.order, one.n)
        if place in columns and one.judged:
            values[rows.index((one.kind, one.epsilon)), columns.index(place)] = 100 * one.value
    figure, axis = plt.subplots(figsize=(4 + 0.2 * len(columns), 2.6 + 0.26 * len(rows)), layout="constrained")
    picture = axis.imshow(values, cmap="PuOr", vmin=90, vmax=100, aspect="auto")
    axis.plot(*np.argwhere(np.isnan(values)).T[::-1], "x", color="0.6", ms=4)
    axis.set_yticks(range(len(rows)), [f"{kind}, epsilon {epsilon:g}" for kind, epsilon in rows], fontsize=7)
    axis.set_xticks(
        range(len(columns)), [f"{order}, {n // 1_000}k" for _, order, n in columns], rotation=90, fontsize=6
    )
    starts = [k for k, (question, _, _) in enumerate(columns) if k == 0 or columns[k - 1][0] != question]
    for start, end in zip(starts, [*starts[1:], len(columns)], strict=True):
        axis.axvline(start - 0.5, color="black", lw=0.8)
        axis.text((start + end - 1) / 2, -0.8, columns[start][0], ha="center", va="bottom", fontsize=8, rotation=90)
    for k in range(1, len(rows)):
        if rows[k][0] != rows[k - 1][0]:
            axis.axhline(k - 0.5, color="black", lw=0.8)
    axis.set_xlabel(
        "features, respondents; the first six are tables by each method, the others joint answers", fontsize=8
    )
    figure.colorbar(picture, ax=axis, label="% that hold the truth", pad=0.01)
    surveys = found[0].surveys
    figure.suptitle(
        f"95 % intervals as printed, {surveys} surveys of each setting: how often they hold the truth\n"
        "White is 95 %; a cross means that most were not given, for want of reports, or not asked for",
        fontsize=10,
    )
    paper_figures.save(figure, path)


def _contest(found: Sequence[Held], path: Path) -> None:
    import matplotlib.pyplot as plt

    ratios = accuracies(found)
    sizes = sorted({one.n for one in found})
    epsilons = sorted({one.epsilon for one in found})
    figure, axes = plt.subplots(1, len(KINDS), figsize=(13, 3.4), layout="constrained", sharey=True)
    looks = {"unbiased": ("0.6", ":", "^"), "consistent": ("0.35", "--", "s"), "feasible": ("black", "-", "o")}
    for axis, kind in zip(axes, KINDS, strict=True):
        for (method, (colour, line, mark)), n in product(looks.items(), sizes):
            heights = [ratios[Setting(kind, epsilon, n, ORDERS[-1]), method] for epsilon in epsilons]
            filled = colour if n == sizes[-1] else "white"
            label = f"{method}, N = {n:,}"
            axis.plot(epsilons, heights, line, color=colour, marker=mark, mfc=filled, ms=5, label=label)
        axis.axhline(1, color="0.8", lw=0.8, zorder=0)
        axis.set(xscale="log", yscale="log", xlabel="epsilon of each feature", title=kind)
        axis.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axis.minorticks_off()
        axis.set_yticks([1, 1.5, 2, 3, 5], ["1", "1.5", "2", "3", "5"])
    axes[0].set_ylabel("error over that of\nmaximum likelihood")
    axes[-1].legend(fontsize=7, frameon=False)
    figure.suptitle(
        "Root mean square error of tables of three features, over that of expectation maximization run to its end "
        "(maximum likelihood) on the same reports",
        fontsize=10,
    )
    paper_figures.save(figure, path)
