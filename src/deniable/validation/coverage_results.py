"""How often intervals hold the truth, over the whole coverage grid: pooled numbers, a verdict, and figures 7 and 8."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from deniable.inference.intervals import ONE_IN_A_THOUSAND
from deniable.inference.one_feature import Array
from deniable.validation.coverage_survey import JOINT, KINDS, METHODS, TABLES, Setting
from deniable.validation.figure_files import save, write_csv
from deniable.validation.interval_coverage import LEVEL, ORDERS, Held


@dataclass(frozen=True)
class Pooled:
    """Coverage of the intervals of one question, averaged over the settings it is judged in, and where it is least."""

    question: str
    settings: int
    judged: int
    given: float  # share of the intervals asked for in the judged settings
    value: float
    error: float
    least: Held
    low: int  # settings in which coverage is below the level by more than chance


def pooled(found: Sequence[Held]) -> list[Pooled]:
    """The pooled coverage of every question that is judged anywhere."""
    every = ([one for one in found if one.question == question] for question in (*TABLES, *JOINT))
    return [_pooled(own) for own in every if any(one.judged for one in own)]


def _pooled(own: Sequence[Held]) -> Pooled:
    """The pooled coverage of one question: all judged settings have the same weight."""
    judged = [one for one in own if one.judged]
    return Pooled(
        question=own[0].question,
        settings=len(own),
        judged=len(judged),
        given=sum(one.given for one in judged) / sum(one.asked for one in judged),
        value=float(np.mean([one.value for one in judged])),
        error=float(np.sqrt(np.sum([one.error**2 for one in judged]))) / len(judged),
        least=min(judged, key=lambda one: one.value),
        low=sum(one.value < LEVEL - ONE_IN_A_THOUSAND * one.error for one in judged),
    )


def verdict(found: Sequence[Held]) -> str:
    """The coverage of each question, in a line."""
    lines = [
        "95 % intervals as printed, in settings where at least half of those asked for are given (figure 7, and its",
        f"numbers); low: below 95 % by more than {ONE_IN_A_THOUSAND} errors. Draws are beliefs, with a prior:",
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
    """The coverage of all kinds of intervals and the accuracy of feasible tables, in a few lines."""
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
    """The root mean square error of each method's table over that of maximum likelihood, from the same surveys."""
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
    """Draw figure 7, a map of coverage, and figure 8, the accuracy of tables, with the numbers of the latter."""
    _map(found, folder / "figure-7.png")
    _contest(found, folder / "figure-8.png")
    head = [*(field.name for field in fields(Setting)), "method", "error over maximum likelihood"]
    ratios = accuracies(found).items()
    write_csv(
        folder / "figure-8.csv", head, ([*astuple(setting), method, ratio] for (setting, method), ratio in ratios)
    )


Row = tuple[str, float]  # a kind of plan, and epsilon
Column = tuple[str, int, int]  # a question, the number of features, and respondents


def _map(found: Sequence[Held], path: Path) -> None:
    """Draw figure 7: coverage by plan and epsilon (rows) and by question, features and respondents (columns)."""
    import matplotlib.pyplot as plt

    sizes = sorted({one.n for one in found})
    rows = list(dict.fromkeys((one.kind, one.epsilon) for one in found))
    columns = [(question, order, n) for question in TABLES for order in ORDERS for n in sizes]
    columns += [(question, 2, n) for question in JOINT for n in sizes]
    figure, axis = plt.subplots(figsize=(4 + 0.2 * len(columns), 2.6 + 0.26 * len(rows)), layout="constrained")
    values = _coverages(found, rows, columns)
    picture = axis.imshow(values, cmap="PuOr", vmin=90, vmax=100, aspect="auto")
    axis.plot(*np.argwhere(np.isnan(values)).T[::-1], "x", color="0.6", ms=4)
    _label_rows(axis, rows)
    _label_columns(axis, columns)
    figure.colorbar(picture, ax=axis, label="% that hold the truth", pad=0.01)
    figure.suptitle(
        f"95 % intervals as printed, {found[0].surveys} surveys of each setting: how often they hold the truth\n"
        "White is 95 %; a cross means that most were not given, for want of reports, or not asked for",
        fontsize=10,
    )
    save(figure, path)


def _coverages(found: Sequence[Held], rows: Sequence[Row], columns: Sequence[Column]) -> Array:
    """Coverage in percent at each place of the map; nan where it is not judged."""
    values = np.full((len(rows), len(columns)), np.nan)
    for one in found:
        place = (one.question, one.order, one.n)
        if place in columns and one.judged:
            values[rows.index((one.kind, one.epsilon)), columns.index(place)] = 100 * one.value
    return values


def _label_rows(axis: Any, rows: Sequence[Row]) -> None:
    """Name the rows of the map, with a line between two kinds of plans."""
    axis.set_yticks(range(len(rows)), [f"{kind}, epsilon {epsilon:g}" for kind, epsilon in rows], fontsize=7)
    for k in range(1, len(rows)):
        if rows[k][0] != rows[k - 1][0]:
            axis.axhline(k - 0.5, color="black", lw=0.8)


def _label_columns(axis: Any, columns: Sequence[Column]) -> None:
    """Name the columns of the map, with a line between two questions."""
    names = [f"{order}, {n // 1_000}k" for _, order, n in columns]
    axis.set_xticks(range(len(columns)), names, rotation=90, fontsize=6)
    starts = [k for k, (question, _, _) in enumerate(columns) if k == 0 or columns[k - 1][0] != question]
    for start, end in zip(starts, [*starts[1:], len(columns)], strict=True):
        axis.axvline(start - 0.5, color="black", lw=0.8)
        axis.text((start + end - 1) / 2, -0.8, columns[start][0], ha="center", va="bottom", fontsize=8, rotation=90)
    what = "features, respondents; the first six are tables by each method, the others joint answers"
    axis.set_xlabel(what, fontsize=8)


def _contest(found: Sequence[Held], path: Path) -> None:
    """Draw figure 8: errors of the tables of three features by each method, over those of maximum likelihood."""
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
    save(figure, path)
