"""The paper's numerical validation, again: figures 1 to 3, the numbers behind them, and a verdict.

Four independent flags under q = 0.8 and p = 0.1, surveys of 10 to 100 000 respondents, each repeated many times from
the exact sum of multinomials. Every point that has a formula is compared with it: `z` is how many of its own simulation
errors the simulation is away.
"""

import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from functools import reduce
from math import comb, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from deniable import paper, simulate
from deniable.errors import EstimateError
from deniable.estimates.respondents import Group
from deniable.files import replacing
from deniable.inference.axis import Array, Axis
from deniable.inference.one_column import binomial
from deniable.inference.tensors import along
from deniable.survey.plan import Plan
from deniable.survey.protocols import RandomizedResponse
from deniable.survey.schema import Flag, Schema
from deniable.text.progress import told

P, Q = 0.1, 0.8
RATES = (0.5, 0.3, 0.2, 0.1)
FLAGS = len(RATES)
SIZES = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
RUNS, QUICK = 100_000, 10_000  # surveys of each size
BATCH = 20_000
HISTOGRAM = 200  # respondents
BAND = 3.29  # standard errors: 99.9 %

Set = tuple[int, ...]
SETS: tuple[Set, ...] = ((0,), (1, 2), (0, 1, 2, 3))
PAIRS: tuple[tuple[Set, Set], ...] = (((0,), (0, 1)), ((0, 1), (1, 2)), ((0, 1, 2), (0, 1, 2, 3)))
OTHERS: tuple[Set, ...] = ((1,), (0, 1), (1, 2), (0, 3), (0, 1, 2), (0, 1, 2, 3))  # against {1, 2}


@dataclass(frozen=True)
class Point:
    """One number of one panel: what the simulation gives, its standard error, and what the formula says, if any."""

    figure: int
    panel: str
    what: str
    sets: str
    n: int
    simulated: float
    error: float
    formula: float

    @property
    def z(self) -> float:
        """How many standard errors the simulation is away from the formula."""
        return (self.simulated - self.formula) / self.error if self.error > 0 else 0.0


@dataclass(frozen=True)
class Surveys:
    """Many surveys of the same respondents: how many have each set of columns true; counts, estimates (runs, sets)."""

    n: int
    truth: Array  # of each set, in the paper's order
    counts: Array
    estimates: Array


def plan() -> Plan:
    """The paper's, on the grid of probabilities."""
    schema = Schema([Flag(f"x{k}") for k in range(FLAGS)])
    return Plan(schema, dict.fromkeys(schema.names, RandomizedResponse(p=P, q=Q)))


def surveys(n: int, runs: int, rng: np.random.Generator) -> Surveys:
    """The respondents are always the same; each survey randomizes all of them anew."""
    of = plan()
    people = _typical(n * simulate.truth(of.schema, dict(zip(of.schema.names, RATES, strict=True))).shares)
    p, q = of.protocols[0].p, of.protocols[0].q
    upward, inverse = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [-p / (q - p), 1 / (q - p)]])
    found = []
    for start in range(0, runs, BATCH):
        size = min(runs - start, BATCH)
        shown = simulate.shown_patterns(of.protocols, np.broadcast_to(people, (size, *people.shape)), rng)
        found.append(_in_order(along(np.moveaxis(shown, 0, -1).astype(float), [upward] * FLAGS)))
    counts = np.concatenate(found)
    tensors = np.zeros((*[2] * FLAGS, len(counts)))
    tensors[(0,) * FLAGS] = n
    for at, columns in enumerate(paper.column_sets(FLAGS)):
        tensors[index(columns)] = counts[:, at]
    estimates = _in_order(along(tensors, [inverse] * FLAGS))
    return Surveys(n, _in_order(along(people[..., None].astype(float), [upward] * FLAGS))[0], counts, estimates)


def _typical(expected: Array) -> Any:
    """Whole numbers of respondents of each kind, as near to these as can be, with the same sum."""
    people = np.floor(expected).astype(np.int64)
    left = round(float(expected.sum())) - int(people.sum())
    people.flat[np.argsort(people - expected, axis=None, kind="stable")[:left]] += 1
    return people


def index(columns: Set) -> tuple[int, ...]:
    """Where a set of columns stands in a tensor of counts."""
    return tuple(int(k in columns) for k in range(FLAGS))


def _in_order(tensor: Array) -> Array:
    """From tensors, the surveys first, to vectors over column sets."""
    flat = tensor.reshape(len(tensor), *[2] * FLAGS)
    places = [np.ravel_multi_index(index(columns), flat.shape[1:]) for columns in paper.column_sets(FLAGS)]
    return flat.reshape(len(tensor), -1)[:, places]


def place(columns: Set) -> int:
    """Where a set of columns stands in the paper's order."""
    return paper.column_sets(FLAGS).index(columns)


def named(*sets: Set) -> str:
    """Sets of columns in braces."""
    return " ".join("{" + ",".join(map(str, columns)) + "}" for columns in sets)


# -- points -----------------------------------------------------------------------------------------------------------


def points(found: Surveys) -> Iterator[Point]:
    """All points of the three figures for surveys of one size."""
    yield from _figure_1(found)
    yield from _figure_2(found)
    yield from _figure_3(found)


def _figure_1(found: Surveys) -> Iterator[Point]:
    of = plan().protocols[0]
    mean = paper.expected_counts(found.truth, found.n, FLAGS, of.p, of.q)
    covariance = paper.count_covariance(found.truth, found.n, FLAGS, of.p, of.q)
    for letter, columns in zip("abc", SETS, strict=True):
        at = place(columns)
        yield _mean(
            1, letter, "mean of the count / N", columns, found, found.counts[:, at] / found.n, mean[at] / found.n
        )
    for letter, columns in zip("def", SETS, strict=True):
        at = place(columns)
        yield _deviation(1, letter, columns, found, found.counts[:, at], covariance[at, at])
    for letter, (one, other) in zip("ghi", PAIRS, strict=True):
        i, j = place(one), place(other)
        products = _centred(found.counts[:, i]) * _centred(found.counts[:, j]) / found.n
        yield _mean(1, letter, "covariance of counts / N", (one, other), found, products, covariance[i, j] / found.n)


def _figure_2(found: Surveys) -> Iterator[Point]:
    for letter, columns in zip("abc", SETS, strict=True):
        law, first = exact_law(found, columns)
        count = found.counts[:, place(columns)]
        median = np.median(count)
        # A median so near to a step that chance decides may fall on either side of it, or between.
        slack = 2 / sqrt(len(count))
        low, high = first + np.searchsorted(np.cumsum(law), (0.5 - slack, 0.5 + slack))
        if median > 0 and low > 0:
            mean = float(law @ (first + np.arange(len(law))))
            error = count.std() / sqrt(len(count)) / median
            away = 1 - count.mean() / median
            near = min((1 - mean / m for m in np.arange(low, high + 0.5, 0.5)), key=lambda x: abs(x - away))
            yield Point(2, letter, "1 - mean / median of the count", named(columns), found.n, away, error, near)
    for letter, columns in zip("def", SETS, strict=True):
        law, first = exact_law(found, columns)
        yield _skewness(2, letter, "skewness of the count", columns, found, found.counts[:, place(columns)], law)


def _figure_3(found: Surveys) -> Iterator[Point]:
    of = plan().protocols[0]
    average = found.counts.mean(axis=0)
    stated = paper.estimate_covariance(average, found.n, FLAGS, of.p, of.q)  # linear, so this is its average
    for columns in SETS:
        at = place(columns)
        if found.truth[at] > 0:
            relative = found.estimates[:, at] / found.truth[at] - 1
            yield _mean(3, "a", "error of the estimated mean, relative", columns, found, relative, 0.0)
        variance = _centred(found.estimates[:, at]) ** 2
        if stated[at, at] > 0:
            yield _mean(
                3, "b", "empirical over estimated variance, less 1", columns, found, variance / stated[at, at] - 1, 0.0
            )
    one = place((1, 2))
    for columns in OTHERS:
        at = place(columns)
        scale = sqrt(abs(stated[one, one] * stated[at, at]))
        products = _centred(found.estimates[:, one]) * _centred(found.estimates[:, at])
        what = "correlation with {1,2}, empirical less estimated"
        yield _mean(3, "c", what, columns, found, (products - stated[one, at]) / scale, 0.0)
    for columns in SETS:
        at = place(columns)
        estimates = found.estimates[:, at]
        away = (estimates.mean() - np.median(estimates)) / estimates.std()
        error = sqrt(np.pi / 2 - 1) / sqrt(len(estimates))
        yield Point(3, "g", "mean less median, in standard deviations", named(columns), found.n, away, error, np.nan)
    for columns in SETS:
        estimates = found.estimates[:, place(columns)]
        exact = skewness(found, columns)
        yield _skewness(3, "h", "skewness of the estimate", columns, found, estimates, None, exact)


def _centred(values: Array) -> Array:
    return np.asarray(values - values.mean())


def _mean(figure: int, panel: str, what: str, sets: Any, found: Surveys, values: Array, formula: float) -> Point:
    words = named(sets) if isinstance(sets[0], int) else named(*sets)
    error = values.std() / sqrt(len(values))
    return Point(figure, panel, what, words, found.n, float(values.mean()), float(error), float(formula))


def _deviation(figure: int, panel: str, columns: Set, found: Surveys, values: Array, variance: float) -> Point:
    """The standard deviation over sqrt(N); its error from that of the variance."""
    squares = _centred(values) ** 2
    deviation = sqrt(squares.mean())
    error = squares.std() / sqrt(len(values)) / (2 * max(deviation, 1e-300))
    root = sqrt(found.n)
    what = "standard deviation of the count / sqrt N"
    return Point(
        figure, panel, what, named(columns), found.n, deviation / root, float(error) / root, sqrt(variance) / root
    )


def _skewness(
    figure: int,
    panel: str,
    what: str,
    columns: Set,
    found: Surveys,
    values: Array,
    law: Array | None,
    exact: float = np.nan,
) -> Point:
    """With its error from the spread of its influence function."""
    scaled = _centred(values) / max(values.std(), 1e-300)
    skew = float((scaled**3).mean())
    influence = scaled**3 - 3 * scaled - 1.5 * skew * (scaled**2 - 1)
    if law is not None:
        places = np.arange(len(law)) - law @ np.arange(len(law))
        exact = float(law @ places**3 / (law @ places**2) ** 1.5)
    return Point(figure, panel, what, named(columns), found.n, skew, float(influence.std()) / sqrt(len(values)), exact)


def exact_law(found: Surveys, columns: Set) -> tuple[Array, int]:
    """Of one count (lemma theo-co-occ-formula): a sum of binomials, one for each number of columns that are true."""
    of = plan().protocols[0]
    true = {(): float(found.n)} | dict(zip(paper.column_sets(FLAGS), found.truth, strict=True))
    parts = []
    for b in range(len(columns) + 1):
        subsets = [inner for inner in true if set(inner) <= set(columns) and len(inner) >= b]
        rows = sum((-1) ** (len(inner) - b) * comb(len(inner), b) * true[inner] for inner in subsets)
        parts.append(binomial(round(rows), of.q**b * of.p ** (len(columns) - b)))
    return reduce(np.convolve, [law for _, law in parts]), sum(first for first, _ in parts)


def truth_tensor(found: Surveys) -> Array:
    """How many respondents have each set of columns true, as counts are."""
    tensor = np.zeros([2] * FLAGS)
    tensor[(0,) * FLAGS] = found.n
    for at, inner in enumerate(paper.column_sets(FLAGS)):
        tensor[index(inner)] = found.truth[at]
    return tensor


def skewness(found: Surveys, columns: Set) -> float:
    """The closed form of the skewness of an estimate, at the truth."""
    axes = tuple(Axis.of(protocol, centred=True) for protocol in plan().protocols)
    rows = [np.eye(2)[int(k in columns)][None] for k in range(FLAGS)]
    cumulants = Group(found.n, axes, truth_tensor(found)).cumulants(rows, population=False)
    return float((cumulants.third / cumulants.variance**1.5).reshape(-1)[0])


# -- verdict ----------------------------------------------------------------------------------------------------------


def largest(found: Sequence[Point]) -> str:
    """The largest standardized deviation over all panels, and whether it is more than chance allows."""
    judged = _judged(found)
    far, allowed = max(judged, key=lambda point: abs(point.z)), _allowed(len(judged))
    says = "every curve holds" if abs(far.z) <= allowed else "NOT EVERY CURVE HOLDS"
    outside = sum(abs(point.z) > BAND for point in judged)
    return (
        f"Figures 1 to 3: {says}. Of {len(judged)} points with a formula {outside} are outside of their own 99.9 % "
        f"band;\n  the largest deviation over all panels is {abs(far.z):.1f} simulation errors (figure {far.figure}"
        f"{far.panel}, {far.sets}, N = {far.n:,}); chance allows {allowed:.1f} (99.9 % for all points together)"
    )


def _judged(found: Sequence[Point]) -> list[Point]:
    return [point for point in found if np.isfinite(point.z) and point.error > 0]


def _allowed(points: int) -> float:
    """So many standard errors all of these points stay within, with a chance of 99.9 %."""
    from scipy.special import ndtri

    return -float(ndtri(0.0005 / points))


def verdict(found: Sequence[Point]) -> str:
    """How far the simulation is from each formula, in its own standard errors."""
    judged = _judged(found)
    allowed = _allowed(len(judged))
    lines = [f"{len(judged)} points with a formula; all within {allowed:.1f} standard errors with a chance of 99.9 %"]
    for what in dict.fromkeys((point.figure, point.what) for point in judged):
        own = [abs(point.z) for point in judged if (point.figure, point.what) == what]
        says = "holds" if max(own) <= allowed else "DOES NOT HOLD"
        lines.append(f"  figure {what[0]}: {what[1]:52} {len(own):4} points, at most {max(own):4.1f}: {says}")
    skews = [point for point in found if (point.figure, point.panel) == (3, "h")]
    last = {
        sets: max((point.n for point in skews if point.sets == sets and abs(point.simulated) > 0.3), default=0)
        for sets in dict.fromkeys(point.sets for point in skews)
    }
    told = ", ".join(f"{sets} up to N = {n:,}" if n else f"{sets} never" for sets, n in last.items())
    lines.append(f"  the skewness of estimates is above 0.3: {told}")
    return "\n".join(lines)


# -- figures ----------------------------------------------------------------------------------------------------------


def simulated(*, quick: bool = False, seed: int = 1) -> list[Surveys]:
    """Surveys of all sizes."""
    runs = QUICK if quick else RUNS
    line = lambda n: f"simulating surveys of {n:,} respondents"  # noqa: E731
    return [surveys(n, runs, np.random.default_rng((seed, n))) for n in told(SIZES, line)]


def prepared(folder: str | Path) -> Path:
    """The folder for figures, made if need be; what would be missing is told before anything is simulated."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise EstimateError("the figures need matplotlib: pip install 'deniable[report]'") from None
    mpl.use("Agg")
    where = Path(folder)
    if where.exists() and not where.is_dir():
        raise EstimateError(f"{where}: is a file, and the figures need a folder")
    where.mkdir(parents=True, exist_ok=True)
    if not os.access(where, os.W_OK):
        raise EstimateError(f"{where}: nothing can be written to this folder")
    return where


def figures(found: Sequence[Point], many: Sequence[Surveys], where: Path) -> None:
    """Figures 1 to 3 of the paper in a folder, each with its numbers as CSV."""
    histogram = next(one for one in many if one.n == HISTOGRAM)
    for number in (1, 2, 3):
        own = [point for point in found if point.figure == number]
        _write(own, where / f"figure-{number}.csv")
        _draw(number, own, histogram, where / f"figure-{number}.png")


def save(figure: Any, path: Path) -> None:
    """Write a picture, whole or not at all, and forget it."""
    import matplotlib.pyplot as plt

    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110, format="png")
    plt.close(figure)


def _write(own: Sequence[Point], path: Path) -> None:
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Point)] + ["z"])
        writer.writerows([*astuple(point), point.z] for point in own)


CAPTIONS = {
    1: "Counts: formula (lines) and simulation (points, bars of 3.3 standard errors). They agree at every size.",
    2: "Counts against the normal law: exact (lines), simulated (points). Both measures fade as N grows.",
    3: "Estimates: errors of mean, variance and covariance are those of the simulation alone. At N = 200 the counts' "
    "steps show; skewness (lines: closed form) fades as N grows.",
}
STYLES = (
    ("black", "-", "o"),
    ("0.35", "--", "s"),
    ("0.6", "-.", "^"),
    ("black", ":", "v"),
    ("0.35", "-", "D"),
    ("0.6", "--", "x"),
)


def _draw(number: int, own: Sequence[Point], histogram: Surveys, path: Path) -> None:
    """One picture: a panel for each letter, readable in black and white."""
    import matplotlib.pyplot as plt

    letters = {1: "abcdefghi", 2: "abcdef", 3: "abcdefgh"}[number]
    rows = -(-len(letters) // 3)
    figure, axes = plt.subplots(rows, 3, figsize=(12, 3.1 * rows + 0.6), layout="constrained")
    for axis, letter in zip(axes.flat, letters, strict=False):
        if number == 3 and letter in "def":
            _histogram(axis, letter, histogram, SETS["def".index(letter)])
            continue
        panel = [point for point in own if point.panel == letter]
        for k, sets in enumerate(dict.fromkeys(point.sets for point in panel)):
            colour, line, mark = STYLES[k]
            these = [point for point in panel if point.sets == sets]
            n = [point.n * 1.06**k for point in these]  # beside each other
            bars = [BAND * point.error for point in these]
            axis.errorbar(
                n, [point.simulated for point in these], bars, fmt=mark, ms=4, color=colour, capsize=2, label=sets
            )
            axis.plot(n, [point.formula for point in these], line, color=colour, lw=1)
        axis.set_xscale("log")
        axis.set_xlabel("N")
        axis.set_title(f"({letter}) {panel[0].what}", fontsize=9)
        axis.margins(y=0.3 if len({point.sets for point in panel}) > 3 else 0.05)
        axis.legend(fontsize=7, frameon=False, ncols=2 if len({point.sets for point in panel}) > 3 else 1)
    for axis in axes.flat[len(letters) :]:
        axis.set_axis_off()
    figure.suptitle(CAPTIONS[number], fontsize=10, wrap=True)
    save(figure, path)


def _histogram(axis: Any, letter: str, found: Surveys, columns: Set) -> None:
    """The reconstructed distribution against the normal one."""
    values = found.estimates[:, place(columns)]
    mean, deviation = values.mean(), values.std()
    steps = np.unique(np.round(values, 6))
    bins = np.linspace(mean - 4 * deviation, mean + 4 * deviation, 81)
    if len(steps) < 200:  # a bar for each value that occurs
        bins = np.concatenate([steps - np.diff(steps).min() / 2, [steps[-1] + np.diff(steps).min() / 2]])
    axis.hist(values, bins=bins, density=True, color="0.75", label=f"{named(columns)}, N = {found.n}")
    x = np.linspace(bins[0], bins[-1], 400)
    axis.plot(x, np.exp(-(((x - mean) / deviation) ** 2) / 2) / deviation / sqrt(2 * np.pi), "k-", lw=1, label="normal")
    axis.set_title(f"({letter}) estimates of {named(columns)}", fontsize=9)
    axis.legend(fontsize=7, frameon=False)
