"""Plans with arms: whether standard errors and intervals say the truth, and what designs gain.

Each line pools one kind of result over all tables of two features of a setting: the predicted standard error over the
simulated one (root mean squares over results that were answered), and how often 95 % intervals hold the truth and miss
it on either side. Bounds are widened by three Monte Carlo standard errors, which stand beside each figure; surveys are
what is drawn independently, so they are taken over surveys. Two made-up truths are there because nothing was tuned on
them. `--quick` is for a look: so few surveys that Monte Carlo errors, and verdicts, mean little.
"""

import csv
import sys
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, fields
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from deniable.errors import ArmSizeWarning
from studies import design_gains
from studies.classic_tables import at_hand, say_left_out
from studies.design_surveys import Survey, plan_of, survey, truth_of
from tests.support.design_results import KINDS, Asked

SUBJECTS = ("population", "respondents")
EPSILONS = (1.0, 2.0, 4.0)
# How many respondents, at each epsilon: enough for nearly all cells and most joint results to be answered.
SIZES = {
    "nltcs": (100_000, 30_000, 10_000),
    "adult": (1_000_000, 300_000, 100_000),
    "sparse": (100_000, 30_000, 10_000),
    "rare flags": (300_000, 100_000, 30_000),
}
BOTH = ("random", "fixed")  # sizes of arms
DESIGNS = {
    ("nltcs", 2): BOTH, ("nltcs", 3): BOTH, ("nltcs", 4): BOTH, ("adult", 2): BOTH,
    ("sparse", 2): ("random",), ("rare flags", 3): ("fixed",),
}  # fmt: skip
SURVEYS, QUICK_SURVEYS = 1_500, 20
TABLES = 1  # of each survey, drawn anew, so that all are visited
PROCESSES = 2
WIDER = 3  # Monte Carlo standard errors
RATIO, COVERED, MISSED = (0.98, 1.02), (0.94, 0.96), (0.015, 0.035)
FEWEST_ANSWERED = 0.5  # a kind of result that is answered less often is shown, but not judged


@dataclass(frozen=True)
class Setting:
    """A truth, how many of its questions each arm asks, epsilon, how many respondents, and the sizes of arms."""

    truth: str
    asked: int
    epsilon: float
    n: int
    sizes: str  # of arms: "fixed" or "random"

    def __str__(self) -> str:
        return f"{self.truth}, arms of {self.asked}, epsilon {self.epsilon:g}, N = {self.n:,}, {self.sizes} sizes"


@dataclass(frozen=True)
class Figure:
    """A measured figure, its Monte Carlo standard error, and whether it is within its widened bounds."""

    value: float
    error: float
    bounds: tuple[float, float]

    @property
    def within(self) -> bool:
        low, high = self.bounds
        return bool(low - WIDER * self.error <= self.value <= high + WIDER * self.error)


@dataclass(frozen=True)
class Line:
    """One kind of result of a setting about a subject."""

    setting: Setting
    subject: str
    kind: str
    answered: float
    ratio: Figure
    covered: Figure
    below: Figure
    above: Figure

    @property
    def judged(self) -> bool:
        return self.answered >= FEWEST_ANSWERED

    @property
    def missed(self) -> list[str]:
        """The figures that are out of their bounds."""
        names = ("ratio", "covered", "below", "above")
        return [name for name in names if self.judged and not getattr(self, name).within]


def settings() -> list[Setting]:
    """All settings."""
    return [
        Setting(truth, asked, epsilon, n, sizes)
        for (truth, asked), both in DESIGNS.items()
        for sizes in both
        for epsilon, n in zip(EPSILONS, SIZES[truth], strict=True)
    ]


def measure(setting: Setting, surveys: int) -> list[Line]:
    """Every kind of result of one setting, about both subjects."""
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    plan = plan_of(setting.truth, setting.asked, setting.epsilon)
    names = plan.schema.names
    pairs = list(combinations(range(len(names)), 2))
    asked = {pair: Asked(_pair_table(truth_of(setting.truth).shares, pair)) for pair in pairs}
    sums = np.zeros((surveys, len(SUBJECTS), len(KINDS), 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArmSizeWarning)  # one survey in a thousand, as it should be
        for run in range(surveys):
            made = survey(setting.truth, plan, setting.n, rng, fixed=setting.sizes == "fixed")
            for place in rng.permutation(len(pairs))[:TABLES]:
                pair = pairs[place]
                est = dn.estimate(made.counts, [names[k] for k in pair])
                for s, subject in enumerate(SUBJECTS):
                    sums[run, s] += list(_tallies(asked[pair], est, subject, made, pair))
    return [
        _line(setting, subject, kind, sums[:, s, k])
        for s, subject in enumerate(SUBJECTS)
        for k, kind in enumerate(KINDS)
    ]


def _pair_table(shares: Any, pair: tuple[int, int]) -> Any:
    return shares.sum(axis=tuple(axis for axis in range(shares.ndim) if axis not in pair))


def _tallies(asked: Asked, est: dn.Estimate, subject: str, made: Survey, pair: tuple[int, int]) -> Iterator[list[Any]]:
    """For each kind: results, answered, their squared errors, predicted variances, and misses on either side."""
    truth = asked.truth(_pair_table(getattr(made, subject), pair))
    for kind, found in asked.found(est, subject).items():
        true = truth[kind]
        there = np.isfinite(found.low) & np.isfinite(true)
        errors, spread = (found.value - true)[there], found.stderr[there]
        below, above = (true < found.low)[there], (true > found.high)[there]
        yield [true.size, there.sum(), (errors**2).sum(), (spread**2).sum(), below.sum(), above.sum()]


def _line(setting: Setting, subject: str, kind: str, sums: Any) -> Line:
    asked, answered, squares, predicted, below, above = sums.T
    ratio = share(predicted, squares)
    root = Figure(np.sqrt(ratio.value), ratio.error / (2 * np.sqrt(ratio.value)), RATIO)
    outside = share(below + above, answered)
    covered = Figure(1 - outside.value, outside.error, COVERED)
    tails = [Figure(one.value, one.error, MISSED) for one in (share(below, answered), share(above, answered))]
    return Line(setting, subject, kind, float(answered.sum() / asked.sum()), root, covered, *tails)


def share(top: Any, bottom: Any) -> Figure:
    """The ratio of two sums over surveys, with its standard error by the delta method."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = top.sum() / bottom.sum()
        apart = (top - value * bottom) / bottom.mean()
    return Figure(float(value), float(apart.std() / np.sqrt(len(top))), (-np.inf, np.inf))


def _figures(line: Line) -> str:
    rest = (f"{100 * f.value:6.2f} ({100 * f.error:.2f})" for f in (line.covered, line.below, line.above))
    return f"{line.ratio.value:7.3f} ({line.ratio.error:.3f}) {' '.join(rest)}"


def _verdict(line: Line) -> str:
    return ("MISSED " + ", ".join(line.missed)) if line.missed else "ok" if line.judged else "seldom answered"


def _text(line: Line) -> str:
    return f"  {line.subject:11} {line.kind:18} {line.answered:8.1%} {_figures(line)}  {_verdict(line)}"


def _write(lines: Sequence[Line], path: Path) -> None:
    """Every figure with its Monte Carlo standard error."""
    figures = ("ratio", "covered", "below", "above")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f.name for f in fields(Setting)] + ["subject", "kind", "answered"]
                        + [each for name in figures for each in (name, f"{name} error")] + ["missed"])  # fmt: skip
        for line in lines:
            numbers = [x for name in figures for x in (getattr(line, name).value, getattr(line, name).error)]
            writer.writerow([*astuple(line.setting), line.subject, line.kind, line.answered, *numbers, *line.missed])


def _summary(lines: Sequence[Line]) -> None:
    """The means over epsilons and sizes of arms, whose Monte Carlo errors are smaller, and the range of coverage."""
    print(
        "\nMeans over epsilon 1, 2, 4 and sizes of arms (bounds are widened by the errors of these means), and ranges"
    )
    print(
        f"  {'':54} {'predicted/simulated':>15} {'covered, %':>14} {'below':>13} {'above':>13} {'covered from to':>16}"
    )
    for (truth, asked), subject, kind in product(DESIGNS, SUBJECTS, KINDS):
        own = [
            line
            for line in lines
            if (line.setting.truth, line.setting.asked, line.subject, line.kind) == (truth, asked, subject, kind)
        ]
        judged = [line for line in own if line.judged]
        name = f"{truth}, arms of {asked}, {subject}, {kind}"
        if judged:
            mean = _mean(judged)
            covered = [100 * line.covered.value for line in judged]
            print(f"  {name:54} {_figures(mean)} {min(covered):8.2f} {max(covered):7.2f}  {_verdict(mean)}")
        else:
            print(f"  {name:54} seldom answered")


def _mean(lines: Sequence[Line]) -> Line:
    """One line with the means of the figures of several."""
    made = {}
    for name in ("ratio", "covered", "below", "above"):
        figures = [getattr(line, name) for line in lines]
        value, error = np.mean([f.value for f in figures]), np.sqrt(np.sum([f.error**2 for f in figures])) / len(lines)
        made[name] = Figure(float(value), float(error), figures[0].bounds)
    first = lines[0]
    return Line(first.setting, first.subject, first.kind, float(np.mean([x.answered for x in lines])), **made)


def intervals(quick: bool) -> None:
    """Print every setting, the summary and what was missed; write designs.csv."""
    surveys = QUICK_SURVEYS if quick else SURVEYS
    todo, found = settings(), []
    head = f"{'':11} {'':18} {'answered':>8} {'predicted/simulated':>15} {'covered, %':>14} {'below':>13} {'above':>13}"
    print(f"\nStandard errors and 95 % intervals: {surveys:,} surveys of each setting, {TABLES} table of each")
    print(f"wanted: {RATIO} for the ratio, {COVERED} covered, {MISSED} on each side, all widened by {WIDER} times what")
    print("stands in brackets, the Monte Carlo standard error")
    with ProcessPoolExecutor(PROCESSES) as pool:
        for setting, lines in zip(todo, pool.map(measure, todo, [surveys] * len(todo)), strict=True):
            found += lines
            print(f"\n{setting}\n  {head}")
            print("\n".join(map(_text, lines)), flush=True)
    _write(found, Path("designs.csv"))
    _summary(found)
    judged, missed = [line for line in found if line.judged], [line for line in found if line.missed]
    print(f"\n{len(missed)} of {len(judged)} lines have a figure out of its bounds ({len(found)} in all):")
    for line in missed:
        print(f"  {line.setting}\n{_text(line)}")


def run(*, quick: bool = False) -> None:
    """Print all tables."""
    if not at_hand():
        say_left_out("standard errors, intervals and gains of plans with arms")
        return
    start = time.perf_counter()
    design_gains.run(quick=quick)
    intervals(quick)
    print(f"\n{(time.perf_counter() - start) / 60:.0f} minutes in {PROCESSES} processes", file=sys.stdout)
