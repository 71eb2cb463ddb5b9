"""What designs gain: errors of pairs' cells against asking everybody everything, and least squares against averaging.

Errors are root mean squares over cells, about the population, in percentage points. The closed form is the library's
own covariance in the metric at the uniform table, which does not depend on reports; observed errors are of simulated
surveys. Bounds are widened by three Monte Carlo standard errors, which stand in brackets.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

import deniable as dn
from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.estimates.designs.groups import evidence_of
from deniable.estimates.designs.least_squares import Evidence
from studies.design_surveys import plan_of, population_counts, truth_of

N = 100_000
WIDER = 3  # Monte Carlo standard errors
WITHIN = 0.02  # of the figures that were published before
LEAST_GAIN = 0.70  # least squares has at most this part of the variance of averaging arms
PLUG_IN = 1.03  # and at most this part of the closed form's mean square error


@dataclass(frozen=True)
class Gain:
    """A plan whose arms are all sets of some questions of a truth, and known errors: of it, and without arms."""

    truth: str
    asked: int
    epsilon: float
    known: float | None = None
    without_arms: float | None = None
    surveys: int = 40
    tables: int = 12  # of each survey

    @property
    def name(self) -> str:
        return f"{self.truth}, epsilon {self.epsilon:g}, arms of {self.asked}"


GAINS = (
    Gain("uniform 8 flags", 3, 1.0, 1.54, 20.4),
    Gain("uniform 16 flags", 3, 1.0, 2.86, 81.1),
    Gain("uniform 16 flags", 5, 4.0, 0.542, 5.19, surveys=30, tables=6),
    Gain("uniform 8 choices", 2, 2.0, 1.08, 11.5, surveys=40, tables=8),
)
OBSERVED = (
    Gain("nltcs", 3, 1.0),
    Gain("nltcs 16", 3, 1.0),
    Gain("nltcs 16", 5, 4.0, surveys=30, tables=6),
    Gain("adult", 2, 2.0),
)
AVERAGED = (
    ("nltcs", 2, 4.0), ("nltcs", 3, 4.0), ("nltcs", 4, 4.0), ("nltcs", 2, 1.0), ("nltcs", 3, 1.0), ("nltcs", 4, 1.0),
    ("adult", 2, 1.0), ("adult", 2, 4.0), ("sparse", 2, 1.0), ("sparse", 2, 4.0), ("rare flags", 3, 2.0),
)  # fmt: skip
JUDGED = ("nltcs", 2, 4.0)
RUNS, QUICK_RUNS = 100, 5
QUICK_SURVEYS, QUICK_ASKED = 3, 3


def pair_table(name: str, pair: tuple[str, str]) -> Any:
    """The true shares of a pair's cells, in C order."""
    of = truth_of(name)
    places = [of.schema.index(each) for each in pair]
    return of.shares.sum(axis=tuple(k for k in range(of.shares.ndim) if k not in places)).reshape(-1)


def closed_form(seen: Evidence, table: Any) -> Any:
    """The covariance of least squares about the population, with the best weights for this true table."""
    metric = seen.at(table)
    return metric.inverse - np.outer(metric.table, metric.table) / seen.n


def without_arms(name: str, epsilon: float) -> float:
    """The error of a pair's cells if everybody is asked everything, each question with its part of epsilon.

    It is at uniform truth, where noise is nearly all of it.
    """
    plan = dn.Plan(truth_of(name).schema, epsilon=epsilon)
    return 100 * plan.expect(*plan.schema.names[:2], n=N).stderr


@dataclass(frozen=True)
class Best:
    """Least squares of one pair with the best weights, those at the true table, which only a study knows."""

    truth: Any
    weights: tuple[Any, ...]
    covariance: Any

    def cells(self, seen: Evidence) -> Any:
        """The estimate with these weights: linear in the reports, so that `covariance` is exact."""
        return sum(B @ kind.shares for B, kind in zip(self.weights, seen.kinds, strict=True))


def best_of(name: str, seen: Evidence, pair: tuple[str, str]) -> Best:
    """The best weights for a pair, of arms with these sizes."""
    truth = pair_table(name, pair)
    weights = seen.at(truth).weights
    return Best(truth, weights, seen.covariance(weights, truth))


@dataclass(frozen=True)
class Observed:
    """Simulated errors of pairs' cells, with their Monte Carlo standard errors, and what the closed form says.

    `controlled` takes off what chance made, in the same surveys, of the error with the best weights, whose mean is
    known exactly (a control variate).
    """

    error: tuple[float, float]
    controlled: tuple[float, float]
    predicted: float  # by the closed form at the true table
    uniform: float  # by the closed form at the uniform table


def observed(gain: Gain, surveys: int) -> Observed:
    """Simulate surveys, and estimate some pairs of each."""
    rng = np.random.default_rng(1)
    plan = plan_of(gain.truth, gain.asked, gain.epsilon)
    pairs = list(combinations(plan.schema.names, 2))
    rows = []
    for _ in range(surveys):
        counts = population_counts(gain.truth, gain.asked, plan, N, rng)
        some = [pairs[place] for place in rng.permutation(len(pairs))[: gain.tables]]
        rows.append(np.mean([_of_pair(gain.truth, evidence_of([counts], pair), pair) for pair in some], axis=0))
    found, ideal, exact, uniform = np.array(rows).T
    return Observed(
        _root(found), _root(found - ideal + exact), *(100 * float(np.sqrt(x.mean())) for x in (exact, uniform))
    )


def _of_pair(name: str, seen: Evidence, pair: tuple[str, str]) -> list[float]:
    """Of one pair of one survey: squared errors as found and with the best weights; the exact variance, and uniform."""
    best = best_of(name, seen, pair)
    even = np.full(best.truth.size, 1 / best.truth.size)
    return [
        np.mean((seen.best.solution - best.truth) ** 2), np.mean((best.cells(seen) - best.truth) ** 2),
        np.diagonal(best.covariance).mean(), np.diagonal(closed_form(seen, even)).mean(),
    ]  # fmt: skip


def _root(squares: Any) -> tuple[float, float]:
    """A root mean square in points, with its standard error, from the mean squares of each survey."""
    root = 100 * np.sqrt(squares.mean())
    return float(root), float(root * squares.std(ddof=1) / np.sqrt(len(squares)) / (2 * squares.mean()))


def _affordable(all_of: Sequence[Gain], quick: bool) -> list[Gain]:
    """Those with a few hundred arms at most, if it has to be quick."""
    return [gain for gain in all_of if gain.asked <= QUICK_ASKED or not quick]


def gains(quick: bool) -> None:
    """Print the table of gains."""
    print(f"\nErrors of pairs' cells in points, N = {N:,}, about the population; wanted: within {WITHIN:.0%}")
    print(
        f"  {'':40} {'arms':>6} {'known':>7} {'closed form':>12} {'observed':>16} {'with control variate':>21}"
        f" {'without arms':>20} {'seconds':>8}"
    )
    for gain in _affordable(GAINS, quick):
        start = time.perf_counter()
        found = observed(gain, QUICK_SURVEYS if quick else gain.surveys)
        today = without_arms(gain.truth, gain.epsilon)
        arms = len(plan_of(gain.truth, gain.asked, gain.epsilon).arms)
        assert gain.known
        assert gain.without_arms
        bad = abs(found.uniform / gain.known - 1) > WITHIN or abs(today / gain.without_arms - 1) > WITHIN
        bad |= any(_far(each, gain.known) for each in (found.error, found.controlled))
        print(
            f"  {gain.name:40} {arms:6,} {gain.known:7} {found.uniform:12.4f} {_with_error(found.error)}"
            f" {_with_error(found.controlled):>21} {f'{today:.2f} ({gain.without_arms:g} known)':>20}"
            f" {time.perf_counter() - start:8.1f}  {'MISSED' if bad else 'ok'}",
            flush=True,
        )
    print("\nThe same of true answers: what the closed form says at the true table, and what was observed")
    print(
        f"  {'':40} {'closed form':>12} {'observed':>16} {'with control variate':>21} {'ratio':>8} {'without arms':>14}"
        f" {'gain':>6} {'seconds':>8}"
    )
    for gain in _affordable(OBSERVED, quick):
        start = time.perf_counter()
        found = observed(gain, QUICK_SURVEYS if quick else gain.surveys)
        today = without_arms(gain.truth, gain.epsilon)
        bad = any(_far(each, found.predicted) for each in (found.error, found.controlled))
        print(
            f"  {gain.name:40} {found.predicted:12.4f} {_with_error(found.error)} {_with_error(found.controlled):>21}"
            f" {found.controlled[0] / found.predicted:8.3f} {today:14.2f} {today / found.controlled[0]:6.1f}"
            f" {time.perf_counter() - start:8.1f}  {'MISSED' if bad else 'ok'}",
            flush=True,
        )


def _far(found: tuple[float, float], known: float) -> bool:
    """Whether a figure is farther from a known one than it should be, its Monte Carlo error considered."""
    return abs(found[0] - known) > WITHIN * known + WIDER * found[1]


def _with_error(figure: tuple[float, float]) -> str:
    return f"{figure[0]:8.4f} ({figure[1]:.4f})"


CONTRAST = np.array([1.0, -1.0, -1.0, 1.0])  # of a pair of flags: whether they agree


@dataclass(frozen=True)
class Squares:
    """Mean squares over all pairs, of each survey (columns), and what they should be on average."""

    averaging: Any  # of the contrast: averaging the arms that hold the pair
    contrast: Any  # of the contrast: least squares with weights found from the reports
    cells: Any  # of all cells, likewise
    best_contrast: Any  # with the best weights
    best_cells: Any
    predicted: Any  # the variance of cells that estimates say they have
    exact_averaging: float
    exact_contrast: float
    exact_cells: float


def squares(name: str, asked: int, epsilon: float, surveys: int) -> Squares:
    """Simulate surveys of arms with fixed sizes, and estimate all pairs of each by every method."""
    rng = np.random.default_rng(2)
    plan = plan_of(name, asked, epsilon)
    pairs = list(combinations(plan.schema.names, 2))
    best: dict[tuple[str, str], Best] = {}
    rows, exact = [], []
    for _ in range(surveys):
        counts = population_counts(name, asked, plan, N, rng)
        row = []
        for pair in pairs:
            seen = evidence_of([counts], pair)
            if pair not in best:
                best[pair] = best_of(name, seen, pair)
                exact.append(_exact(best[pair], own_contrasts(seen.kinds)))
            row.append(_errors(best[pair], seen))
        rows.append(np.mean(row, axis=0))
    return Squares(*np.array(rows).T, *(float(x) for x in np.mean(exact, axis=0)))


def own_contrasts(kinds: Sequence[ArmKind]) -> list[ArmKind]:
    """The kinds of arms that hold both questions: no other says anything of the contrast by itself."""
    return [kind for kind in kinds if len(kind.places) == 2]


def _contrast(cells: int) -> Any:
    """The contrast of a pair of flags; of choices there is none to compare."""
    return CONTRAST if cells == CONTRAST.size else np.zeros(cells)


def _errors(best: Best, seen: Evidence) -> list[float]:
    """Squared errors of one pair of one survey, in the order of `Squares`; averages are by sizes, which are equal."""
    holding, c = own_contrasts(seen.kinds), _contrast(best.truth.size)
    mean = sum(kind.n * kind.shares for kind in holding) / sum(kind.n for kind in holding)
    metric = seen.best
    plain, found, ideal = mean - best.truth, metric.solution - best.truth, best.cells(seen) - best.truth
    claimed = metric.inverse - np.outer(metric.table, metric.table) / seen.n
    return [
        (c @ plain) ** 2, (c @ found) ** 2, np.mean(found**2), (c @ ideal) ** 2, np.mean(ideal**2),
        np.diagonal(claimed).mean(),
    ]  # fmt: skip


def _exact(best: Best, holding: Sequence[ArmKind]) -> list[float]:
    """The exact variances of averaging and of least squares with the best weights, of the contrast and of cells."""
    c, f = _contrast(best.truth.size), best.truth
    sizes = np.array([kind.n for kind in holding])
    each = [c @ (kind.seconds(f) - np.outer(f, f)) @ c for kind in holding]
    return [sizes @ each / sizes.sum() ** 2, c @ best.covariance @ c, np.diagonal(best.covariance).mean()]


def averaging(quick: bool) -> None:
    """Print least squares against averaging of arms, and against its own closed form.

    With the best weights the mean square error is the closed form, so what chance made of it in these surveys is taken
    off the mean square error with weights from the reports (a control variate): a hundred surveys are then enough.
    """
    surveys = QUICK_RUNS if quick else RUNS
    print("\nLeast squares against averaging the arms that hold a pair, and its mean square error over the closed form")
    print(
        f"of the best weights: all pairs of {surveys:,} surveys of N = {N:,}, arms of fixed sizes, about the population"
    )
    print(f"wanted: of {JUDGED} at most {LEAST_GAIN}; all others at most {PLUG_IN}, and 0.98 to 1.02 for the last")
    print(
        f"  {'':32} {'contrasts: closed form':>23} {'observed':>15} {'plug-in/closed':>16}"
        f" {'cells: plug-in/closed':>22} {'predicted/simulated':>20}"
    )
    for setting in AVERAGED:
        found = squares(*setting, surveys)
        cells = _controlled(found.cells, found.best_cells, found.exact_cells)
        predicted = found.predicted.mean() / found.exact_cells / cells[0]
        said = np.sqrt(predicted), np.sqrt(predicted) * cells[1] / cells[0] / 2
        bad = cells[0] > PLUG_IN + WIDER * cells[1] or abs(said[0] - 1) > WITHIN + WIDER * said[1]
        text = f"{'':23} {'':15} {'':16}"
        if found.exact_averaging:
            exact = found.exact_contrast / found.exact_averaging
            ratio = _ratio(found.contrast, found.averaging)
            plug_in = _controlled(found.contrast, found.best_contrast, found.exact_contrast)
            text = f"{exact:23.3f} {ratio[0]:7.3f} ({ratio[1]:.3f}) {plug_in[0]:8.3f} ({plug_in[1]:.3f})"
            bad |= plug_in[0] > PLUG_IN + WIDER * plug_in[1]
            if setting == JUDGED:
                bad |= exact > LEAST_GAIN or ratio[0] > LEAST_GAIN + WIDER * ratio[1]
        name = "{}, arms of {}, epsilon {:g}".format(*setting)
        print(
            f"  {name:32} {text} {cells[0]:14.3f} ({cells[1]:.3f}) {said[0]:12.3f} ({said[1]:.3f})"
            f"  {'MISSED' if bad else 'ok'}",
            flush=True,
        )


def _ratio(top: Any, bottom: Any) -> tuple[float, float]:
    """The ratio of two means over surveys, with its standard error."""
    value = top.mean() / bottom.mean()
    return float(value), float(np.std(top - value * bottom) / bottom.mean() / np.sqrt(len(top)))


def _controlled(found: Any, best: Any, exact: float) -> tuple[float, float]:
    """A mean square error over the exact one of the best weights, with that of the same surveys as control variate."""
    apart = (found - best) / exact
    return float(1 + apart.mean()), float(apart.std() / np.sqrt(len(apart)))


def run(*, quick: bool = False) -> None:
    """Print both tables."""
    gains(quick)
    averaging(quick)
