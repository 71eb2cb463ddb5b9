"""Simulation-based calibration of the posterior draws of proper tables.

Truths are drawn from the Dirichlet prior of the draws, surveys from the truths, and proper tables from the posterior
given each survey. If the posterior is right, the rank of the true share among its draws is uniform.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from deniable import simulate
from deniable.estimates.estimate import estimate
from deniable.estimates.posterior import CONCENTRATION
from deniable.inference.intervals import ONE_IN_A_THOUSAND
from deniable.survey.plan import Plan
from deniable.survey.protocols import GRR, RandomizedResponse
from deniable.survey.schema import Choice, Flag, Schema
from deniable.text.progress import told
from deniable.validation.figure_files import save, write_csv

SCHEMA = Schema([Flag("a"), Choice("b", ["x", "y", "z"])])
PLAN = Plan(SCHEMA, {"a": RandomizedResponse(epsilon=2.0), "b": GRR(epsilon=2.0)})
# RESPONDENTS is the size of each survey.
RESPONDENTS = 2_000
# DRAWS is how many tables are drawn from each posterior.
DRAWS = 1_000
# BINS is how many classes the ranks are counted in.
BINS = 10
# TRUTHS is how many truths are drawn, and QUICK how many in a quick run.
TRUTHS, QUICK = 1_000, 200


@dataclass(frozen=True, eq=False)
class Ranks:
    """For each truth and cell, the share of the posterior's draws that are below the true one."""

    below: npt.NDArray[np.float64]  # (truths, cells)

    @property
    def histogram(self) -> npt.NDArray[np.int64]:
        """How many truths fall in each tenth, for each cell: (cells, bins)."""
        places = np.minimum((self.below * BINS).astype(np.int64), BINS - 1)
        return np.array([np.bincount(column, minlength=BINS) for column in places.T])

    @property
    def p_values(self) -> npt.NDArray[np.float64]:
        """The p-value of a chi-square test of uniform ranks, for each cell."""
        from scipy.special import chdtrc

        expected = len(self.below) / BINS
        return np.asarray(chdtrc(BINS - 1, ((self.histogram - expected) ** 2 / expected).sum(axis=1)))


def ranks(truths: int, rng: np.random.Generator, *, respondents: int = RESPONDENTS) -> Ranks:
    """The ranks of so many truths, drawn from the prior."""
    levels = [feature.levels for feature in SCHEMA]
    below = []
    for _ in told(range(truths), lambda k: f"calibrating draws, {k:,} of {truths:,}"):
        shares = rng.dirichlet(np.full(int(np.prod(levels)), CONCENTRATION))
        truth = simulate.truth(SCHEMA, shares.reshape(levels))
        counts = simulate.counts(truth, PLAN, rng, n=respondents)
        est = estimate(counts, list(SCHEMA.names), method="feasible")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # chains that have not mixed would show in the ranks
            draws = est.posterior(draws=DRAWS, rng=rng).draws
        below.append((draws.reshape(DRAWS, -1) < shares).mean(axis=0))
    return Ranks(np.array(below))


def draw(found: Ranks, folder: Path) -> None:
    """Draw figure 6, and write its numbers."""
    import matplotlib.pyplot as plt

    lines = enumerate(zip(found.p_values, found.histogram, strict=True))
    head = ["cell", "p_value", *(f"tenth {k + 1}" for k in range(BINS))]
    write_csv(folder / "figure-6.csv", head, ([cell, p, *line] for cell, (p, line) in lines))
    expected = len(found.below) / BINS
    band = ONE_IN_A_THOUSAND * np.sqrt(expected)
    figure, axes = plt.subplots(2, 3, figsize=(10, 5), layout="constrained", sharey=True)
    for cell, axis in enumerate(axes.flat):
        axis.bar(range(BINS), found.histogram[cell], color="0.7")
        axis.axhspan(expected - band, expected + band, color="0.9", zorder=0)
        axis.set_title(f"cell {cell}, p = {found.p_values[cell]:.2g}", fontsize=9)
    figure.suptitle(
        f"Ranks of the truth among posterior draws, {len(found.below):,} truths from the prior; even, if right",
        fontsize=10,
    )
    save(figure, folder / "figure-6.png")


def verdict(found: Ranks) -> str:
    """Whether the ranks are uniform, in words."""
    least = float(min(1.0, found.p_values.min() * len(found.p_values)))
    says = "calibrated" if least > 0.001 else "NOT CALIBRATED"
    return (
        f"  figure 6: draws of proper tables are {says}: ranks of the truth are uniform, p = {least:.2g} for all cells"
    )
