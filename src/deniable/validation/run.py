"""All of the validation in one run: the paper's figures and claims, and what goes beyond them, into one folder."""

from pathlib import Path

import numpy as np

from deniable import __version__
from deniable.files import replacing
from deniable.validation import (
    coverage_results,
    every_result,
    figure_files,
    interval_coverage,
    paper_claims,
    paper_drawing,
    paper_figures,
    posterior_calibration,
    skewness,
)


def run(output: str | Path, *, quick: bool) -> str:
    """Draw all figures, write the numbers behind them, and return a verdict of one screen; all lines in verdict.txt."""
    folder = figure_files.prepared(output)
    grid_path = folder / ("coverage-quick.csv" if quick else "coverage.csv")
    interval_coverage.check(grid_path)
    many = paper_figures.simulated(quick=quick)
    found = [point for one in many for point in paper_figures.points(one)]
    paper_drawing.draw(found, many, folder)
    paper_claims.draw(folder)
    tails = [each for one in many if one.n in skewness.SIZES for each in skewness.tails(one)]
    skewness.draw(tails, folder)
    ranks = posterior_calibration.ranks(
        posterior_calibration.QUICK if quick else posterior_calibration.TRUTHS, np.random.default_rng(1)
    )
    posterior_calibration.draw(ranks, folder)
    grid = interval_coverage.measured(grid_path, quick=quick)
    coverage_results.draw(grid, folder)
    results = every_result.measured(folder, quick=quick)
    screen = "\n".join(
        [
            f"deniable {__version__}: {paper_figures.QUICK if quick else paper_figures.RUNS:,} surveys of each size",
            paper_figures.largest(found),
            "What the paper says in words (section 4):",
            *map(str, paper_claims.claims(found, many)),
            "Beyond the paper:",
            skewness.verdict(tails),
            posterior_calibration.verdict(ranks),
            coverage_results.summary(grid),
        ]
    )
    more = paper_figures.verdict(found), coverage_results.verdict(grid), every_result.verdict(results)
    with replacing(folder / "verdict.txt") as temporary:
        temporary.write_text("\n\n".join([screen, *more]) + "\n", "utf-8")
    return screen
