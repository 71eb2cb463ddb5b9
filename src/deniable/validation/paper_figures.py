"""The paper's numerical validation, simulated again: the points of figures 1 to 3, and a verdict.

Four independent flags under q = 0.8 and p = 0.1, surveys of 10 to 100 000 respondents, each repeated many times from
the exact sum of multinomials. Every point that has a formula is compared with it: `z` is how many of its own simulation
errors the simulation is away.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import comb, sqrt
from typing import Any

import numpy as np

from deniable import paper, simulate
from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.exact_binomial import binomial
from deniable.inference.intervals import ONE_IN_A_THOUSAND
from deniable.inference.one_feature import Array, Axis
from deniable.inference.tensors import along
from deniable.survey.plan import Plan
from deniable.survey.protocols import RandomizedResponse
from deniable.survey.schema import Flag, Schema
from deniable.text.progress import told

# P and Q are the probabilities that an answer is reported as true if it is false and if it is true.
P, Q = 0.1, 0.8
# RATES are the true shares of the independent flags.
RATES = (0.5, 0.3, 0.2, 0.1)
FLAGS = len(RATES)
# SIZES are the numbers of respondents.
SIZES = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
# RUNS is how many surveys of each size are simulated, and QUICK how many in a quick run.
RUNS, QUICK = 100_000, 10_000
# BATCH is how many surveys are simulated at a time.
BATCH = 20_000
# BAND is the half-width of the 99.9 % band around a simulated number, in standard errors.
BAND = ONE_IN_A_THOUSAND
# SKEWED is the skewness above which the verdict names a set of columns.
SKEWED = 0.3

Set = tuple[int, ...]
# SETS are the sets of columns whose counts and estimates the figures show.
SETS: tuple[Set, ...] = ((0,), (1, 2), (0, 1, 2, 3))
# PAIRS are the pairs of sets whose covariance figure 1 shows.
PAIRS: tuple[tuple[Set, Set], ...] = (((0,), (0, 1)), ((0, 1), (1, 2)), ((0, 1, 2), (0, 1, 2, 3)))
# OTHERS are the sets whose correlation with {1, 2} figure 3 shows.
OTHERS: tuple[Set, ...] = ((1,), (0, 1), (1, 2), (0, 3), (0, 1, 2), (0, 1, 2, 3))


@dataclass(frozen=True)
class Point:
    """One number of one panel: what the simulation gives, its standard error, and what the formula gives, if any."""

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
        """The standardized deviation of the simulation from the formula."""
        return (self.simulated - self.formula) / self.error if self.error > 0 else 0.0


@dataclass(frozen=True)
class Surveys:
    """Many surveys of the same respondents: how many have each set of columns true, and counts and estimates of it."""

    n: int
    truth: Array  # one number for each set, in the paper's order
    counts: Array  # (surveys, sets)
    estimates: Array  # (surveys, sets)


def plan() -> Plan:
    """The paper's plan, with its probabilities on the grid."""
    schema = Schema([Flag(f"x{k}") for k in range(FLAGS)])
    return Plan(schema, dict.fromkeys(schema.names, RandomizedResponse(p=P, q=Q)))


def surveys(n: int, runs: int, rng: np.random.Generator) -> Surveys:
    """Simulate surveys: the respondents are always the same, and each survey randomizes all of them anew."""
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
    """Expected numbers of respondents rounded to whole ones with the same sum (largest remainders)."""
    people = np.floor(expected).astype(np.int64)
    left = round(float(expected.sum())) - int(people.sum())
    people.flat[np.argsort(people - expected, axis=None, kind="stable")[:left]] += 1
    return people


def index(columns: Set) -> tuple[int, ...]:
    """The index of a set of columns in a tensor of counts."""
    return tuple(int(k in columns) for k in range(FLAGS))


def _in_order(tensor: Array) -> Array:
    """Tensors of surveys (the surveys first) as vectors over sets of columns, in the paper's order."""
    flat = tensor.reshape(len(tensor), *[2] * FLAGS)
    places = [np.ravel_multi_index(index(columns), flat.shape[1:]) for columns in paper.column_sets(FLAGS)]
    return flat.reshape(len(tensor), -1)[:, places]


def place(columns: Set) -> int:
    """The place of a set of columns in the paper's order."""
    return paper.column_sets(FLAGS).index(columns)


def named(*sets: Set) -> str:
    """Sets of columns as text, in braces."""
    return " ".join("{" + ",".join(map(str, columns)) + "}" for columns in sets)


def simulated(*, quick: bool = False, seed: int = 1) -> list[Surveys]:
    """Simulate surveys of all sizes."""
    runs = QUICK if quick else RUNS
    line = lambda n: f"simulating surveys of {n:,} respondents"  # noqa: E731
    return [surveys(n, runs, np.random.default_rng((seed, n))) for n in told(SIZES, line)]


# -- points -----------------------------------------------------------------------------------------------------------


def points(found: Surveys) -> Iterator[Point]:
    """All points of the three figures for surveys of one size."""
    yield from _figure_1(found)
    yield from _figure_2(found)
    yield from _figure_3(found)


def _figure_1(found: Surveys) -> Iterator[Point]:
    """Mean, standard deviation and covariance of counts."""
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
    """How far counts are from normal: mean against median, and skewness."""
    for letter, columns in zip("abc", SETS, strict=True):
        law, first = exact_distribution(found, columns)
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
        law, first = exact_distribution(found, columns)
        yield _skewness(2, letter, "skewness of the count", columns, found, found.counts[:, place(columns)], law)


def _figure_3(found: Surveys) -> Iterator[Point]:
    """Bias, variance, correlation and skewness of estimates."""
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
    """The mean of values over surveys, with its standard error."""
    words = named(sets) if isinstance(sets[0], int) else named(*sets)
    error = values.std() / sqrt(len(values))
    return Point(figure, panel, what, words, found.n, float(values.mean()), float(error), float(formula))


def _deviation(figure: int, panel: str, columns: Set, found: Surveys, values: Array, variance: float) -> Point:
    """The standard deviation of values over sqrt(N), with its standard error by the delta method."""
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
    """The skewness of values, with its standard error from the influence function."""
    scaled = _centred(values) / max(values.std(), 1e-300)
    skew = float((scaled**3).mean())
    influence = scaled**3 - 3 * scaled - 1.5 * skew * (scaled**2 - 1)
    if law is not None:
        places = np.arange(len(law)) - law @ np.arange(len(law))
        exact = float(law @ places**3 / (law @ places**2) ** 1.5)
    return Point(figure, panel, what, named(columns), found.n, skew, float(influence.std()) / sqrt(len(values)), exact)


def exact_distribution(found: Surveys, columns: Set) -> tuple[Array, int]:
    """The exact distribution of one count (lemma theo-co-occ-formula), and the value that its first entry is for.

    It is the sum of binomials, one for each number of columns that are true.
    """
    of = plan().protocols[0]
    true = {(): float(found.n)} | dict(zip(paper.column_sets(FLAGS), found.truth, strict=True))
    parts = []
    for b in range(len(columns) + 1):
        subsets = [inner for inner in true if set(inner) <= set(columns) and len(inner) >= b]
        rows = sum((-1) ** (len(inner) - b) * comb(len(inner), b) * true[inner] for inner in subsets)
        parts.append(binomial(round(rows), of.q**b * of.p ** (len(columns) - b)))
    return reduce(np.convolve, [law for _, law in parts]), sum(first for first, _ in parts)


def truth_tensor(found: Surveys) -> Array:
    """How many respondents have each set of columns true, as a tensor of counts."""
    tensor = np.zeros([2] * FLAGS)
    tensor[(0,) * FLAGS] = found.n
    for at, inner in enumerate(paper.column_sets(FLAGS)):
        tensor[index(inner)] = found.truth[at]
    return tensor


def skewness(found: Surveys, columns: Set) -> float:
    """The skewness of an estimate in closed form, at the truth."""
    axes = tuple(Axis.of(protocol, centred=True) for protocol in plan().protocols)
    rows = [np.eye(2)[int(k in columns)][None] for k in range(FLAGS)]
    cumulants = Group(found.n, axes, truth_tensor(found)).cumulants(rows, Subject.RESPONDENTS)
    return float((cumulants.third / cumulants.variance**1.5).reshape(-1)[0])


# -- verdict ----------------------------------------------------------------------------------------------------------


def largest(found: Sequence[Point]) -> str:
    """The largest standardized deviation over all panels in words, and whether it is more than chance allows."""
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
    """The points with a formula and a standard error."""
    return [point for point in found if np.isfinite(point.z) and point.error > 0]


def _allowed(points: int) -> float:
    """The deviation that none of so many points exceeds with a chance of 99.9 % (Bonferroni)."""
    from scipy.special import ndtri

    return -float(ndtri(0.0005 / points))


def verdict(found: Sequence[Point]) -> str:
    """The largest standardized deviation from each formula, a line each, and where estimates are skewed."""
    judged = _judged(found)
    allowed = _allowed(len(judged))
    lines = [f"{len(judged)} points with a formula; all within {allowed:.1f} standard errors with a chance of 99.9 %"]
    for what in dict.fromkeys((point.figure, point.what) for point in judged):
        own = [abs(point.z) for point in judged if (point.figure, point.what) == what]
        says = "holds" if max(own) <= allowed else "DOES NOT HOLD"
        lines.append(f"  figure {what[0]}: {what[1]:52} {len(own):4} points, at most {max(own):4.1f}: {says}")
    return "\n".join([*lines, f"  the skewness of estimates is above {SKEWED}: {_skewed(found)}"])


def _skewed(found: Sequence[Point]) -> str:
    """Up to how many respondents the estimates of each set of columns are skewed."""
    largest: dict[str, int] = {}
    for point in found:
        if (point.figure, point.panel) == (3, "h"):
            n = point.n if abs(point.simulated) > SKEWED else 0
            largest[point.sets] = max(n, largest.get(point.sets, 0))
    return ", ".join(f"{sets} up to N = {n:,}" if n else f"{sets} never" for sets, n in largest.items())
