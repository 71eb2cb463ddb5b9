"""Figures 1 to 3 of the paper as pictures, each with its numbers as CSV."""

from collections.abc import Sequence
from dataclasses import astuple, fields
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from deniable.validation.figure_files import save, write_csv
from deniable.validation.paper_figures import BAND, SETS, Point, Set, Surveys, named, place

# CAPTIONS are the titles of the three figures.
CAPTIONS = {
    1: "Counts: formula (lines) and simulation (points, bars of 3.3 standard errors). They agree at every size.",
    2: "Counts against the normal distribution: exact (lines), simulated (points). Both measures fade as N grows.",
    3: "Estimates: errors of mean, variance and covariance are those of the simulation alone. At N = 200 the counts' "
    "steps show; skewness (lines: closed form) fades as N grows.",
}
# PANELS are the letters of the panels of each figure, and HISTOGRAMS those of figure 3 that are histograms.
PANELS = {1: "abcdefghi", 2: "abcdef", 3: "abcdefgh"}
HISTOGRAMS = "def"
# RESPONDENTS is the size of the surveys in the histograms.
RESPONDENTS = 200
# STYLES are the colour, line and mark of each set of columns in a panel, readable in black and white.
STYLES = (
    ("black", "-", "o"),
    ("0.35", "--", "s"),
    ("0.6", "-.", "^"),
    ("black", ":", "v"),
    ("0.35", "-", "D"),
    ("0.6", "--", "x"),
)


def draw(found: Sequence[Point], many: Sequence[Surveys], folder: Path) -> None:
    """Draw figures 1 to 3 in a folder, each with its numbers."""
    small = next(one for one in many if one.n == RESPONDENTS)
    head = [*(field.name for field in fields(Point)), "z"]
    for number in PANELS:
        own = [point for point in found if point.figure == number]
        write_csv(folder / f"figure-{number}.csv", head, ([*astuple(point), point.z] for point in own))
        _draw(number, own, small, folder / f"figure-{number}.png")


def _draw(number: int, own: Sequence[Point], small: Surveys, path: Path) -> None:
    """Draw one figure, a panel for each letter."""
    import matplotlib.pyplot as plt

    letters = PANELS[number]
    rows = -(-len(letters) // 3)
    figure, axes = plt.subplots(rows, 3, figsize=(12, 3.1 * rows + 0.6), layout="constrained")
    for axis, letter in zip(axes.flat, letters, strict=False):
        if number == 3 and letter in HISTOGRAMS:
            _histogram(axis, letter, small, SETS[HISTOGRAMS.index(letter)])
        else:
            _panel(axis, letter, [point for point in own if point.panel == letter])
    for axis in axes.flat[len(letters) :]:
        axis.set_axis_off()
    figure.suptitle(CAPTIONS[number], fontsize=10, wrap=True)
    save(figure, path)


def _panel(axis: Any, letter: str, panel: Sequence[Point]) -> None:
    """Draw formulas and simulations over the number of respondents, for each set of columns."""
    every = dict.fromkeys(point.sets for point in panel)
    for k, (sets, (colour, line, mark)) in enumerate(zip(every, STYLES, strict=False)):
        these = [point for point in panel if point.sets == sets]
        n = [point.n * 1.06**k for point in these]  # beside each other
        means, bars = [point.simulated for point in these], [BAND * point.error for point in these]
        axis.errorbar(n, means, bars, fmt=mark, ms=4, color=colour, capsize=2, label=sets)
        axis.plot(n, [point.formula for point in these], line, color=colour, lw=1)
    axis.set_xscale("log")
    axis.set_xlabel("N")
    axis.set_title(f"({letter}) {panel[0].what}", fontsize=9)
    axis.margins(y=0.3 if len(every) > 3 else 0.05)
    axis.legend(fontsize=7, frameon=False, ncols=2 if len(every) > 3 else 1)


def _histogram(axis: Any, letter: str, found: Surveys, columns: Set) -> None:
    """Draw the distribution of the estimates of one set of columns against the normal one."""
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
