"""All of the validation in one run: the paper's figures and claims, and what goes beyond them, into one folder."""

from pathlib import Path

import numpy as np

from deniable import __version__, calibration, claims, corrections, coverage, validate
from deniable.files import replacing


def run(output: str | Path, *, quick: bool) -> str:
    """Draw all figures, write the numbers behind them, and return a verdict of one screen; all lines in verdict.txt."""
    folder = validate.prepared(output)
    grid_path = folder / ("coverage-quick.csv" if quick else "coverage.csv")
    coverage.check(grid_path)
    many = validate.simulated(quick=quick)
    found = [point for one in many for point in validate.points(one)]
    validate.figures(found, many, folder)
    claims.draw(folder)
    tails = [each for one in many if one.n in corrections.SIZES for each in corrections.tails(one)]
    corrections.draw(tails, folder)
    ranks = calibration.ranks(calibration.QUICK if quick else calibration.TRUTHS, np.random.default_rng(1))
    calibration.draw(ranks, folder)
    grid = coverage.measured(grid_path, quick=quick)
    coverage.draw(grid, folder)
    screen = "\n".join(
        [
            f"deniable {__version__}: {validate.QUICK if quick else validate.RUNS:,} surveys of each size",
            validate.largest(found),
            "What the paper says in words (section 4):",
            *map(str, claims.claims(found, many)),
            "Beyond the paper:",
            corrections.verdict(tails),
            calibration.verdict(ranks),
            coverage.summary(grid),
        ]
    )
    with replacing(folder / "verdict.txt") as temporary:
        temporary.write_text("\n\n".join([screen, validate.verdict(found), coverage.verdict(grid)]) + "\n", "utf-8")
    return screen
