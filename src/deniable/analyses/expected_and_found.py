"""What a survey was expected to tell of its wanted tables, beside what it told."""

import warnings
from dataclasses import dataclass

import numpy as np

from deniable.analyses.expectation import expectation
from deniable.counts.counts import Counts
from deniable.errors import ArmSizeWarning
from deniable.estimates.estimate import estimate
from deniable.estimates.weighted_sums import cell_numbers
from deniable.inference.intervals import checked_level
from deniable.survey.aim import Names
from deniable.text.fixed_phrases import NOT_ENOUGH
from deniable.text.progress import told


@dataclass(frozen=True)
class ExpectedAndFound:
    """The half-width of a wanted table, root mean square over its cells: expected, and found.

    What was expected is of as many respondents as there are: at equally common answers, and at the table that was
    found. Where there is no interval for some cell, `missing` says why, and nothing is known but the first.
    """

    names: Names
    uniform: float
    at_estimate: float | None
    found: float | None
    missing: str = ""


def expected_and_found(counts: Counts, *, level: float = 0.95) -> tuple[ExpectedAndFound, ...]:
    """What was expected of each table that the plan was made for, and what came, about the population."""
    from scipy.special import ndtri

    away = float(ndtri(0.5 + checked_level(level) / 2))
    if not counts.plan.want or not counts.n:
        return ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArmSizeWarning)  # which the page tells of by itself
        tables = told(counts.plan.want, lambda names: f"comparing {' x '.join(names)} with what was expected")
        return tuple(_of_table(counts, names, level, away) for names in tables)


def _of_table(counts: Counts, names: Names, level: float, away: float) -> ExpectedAndFound:
    """What was expected of one table, and what came; half-widths are so many standard errors."""
    plan, n = counts.plan, counts.n
    uniform = away * expectation(plan, names, n=n).stderr
    if missing := _not_counted(counts, names):
        return ExpectedAndFound(names, uniform, None, None, missing)
    cells = cell_numbers(estimate(counts, names), level)  # no table, which a question called "low" cannot have
    halves = (cells["high"] - cells["low"]).reshape(-1) / 2
    if np.isnan(halves).any():
        return ExpectedAndFound(names, uniform, None, None, NOT_ENOUGH)
    guess = estimate(counts, names, method="feasible")
    at_estimate = away * expectation(plan, names, n=n, guess=guess).stderr
    return ExpectedAndFound(names, uniform, at_estimate, float(np.sqrt((halves**2).mean())))


def _not_counted(counts: Counts, names: Names) -> str:
    """Why there is nothing to estimate a table from; nothing if there is something."""
    if not counts.holds(*names):
        return "not counted"
    return "" if counts.asked(*names) else "nobody was asked"
