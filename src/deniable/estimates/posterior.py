"""Posterior draws of proper tables: a normal likelihood times a Dirichlet prior over tables that can be.

With the quadratic misfit n (t'Ht / 2 - b't) of `feasible`, the likelihood of t is normal. The prior has a concentration
between the flat one, under which empty cells are not believed in, and Jeffreys', under which rare ones are not
(`proper_tables.dirichlet_draws` draws from it).
"""

import warnings
from dataclasses import dataclass
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answers_as_weights import all_answers, names_of, of_one_type
from deniable.estimates.feasible import ProperTable
from deniable.estimates.interface import AnyEstimate
from deniable.estimates.proper_tables.dirichlet_draws import dirichlet_normal
from deniable.inference.about_whom import Subject
from deniable.inference.intervals import checked_level
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along
from deniable.inference.trust import SLACK
from deniable.reports.randomness import checked_generator
from deniable.survey.blocks import TIMES
from deniable.tables.table import SHARES, About, Column, Table
from deniable.text.html import printed

if TYPE_CHECKING:
    import pyarrow as pa

# The Dirichlet prior's concentration in each cell: with it intervals of sparse and of skewed tables hold alike.
CONCENTRATION = 0.7
# At least so many draws must be asked for: with fewer, 99 % intervals would end at the two or three outermost draws.
FEWEST = 400
# Tables of at most so many cells are drawn.
MOST_CELLS = 300
# The split R-hat that chains must not exceed, or else they are warned about.
CONVERGED = 1.05


class ProperEstimate(AnyEstimate, Protocol):
    """What draws need to know of an estimate."""

    @property
    def method(self) -> str:
        """How it was made."""

    @property
    def proper(self) -> ProperTable | None:
        """The proper table that the mean is, while it can be fitted again."""


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Posterior draws of a proper table of shares, (draws, cells), with the answers that each cell means."""

    names: tuple[str, ...]
    answers: tuple[tuple[Any, ...], ...]  # of each cell
    draws: Array
    reports: int  # that the table was estimated from
    convergence: float  # the largest split R-hat of a cell: 1 if chains cannot be told apart

    @property
    def mean(self) -> Array:
        """The posterior mean of each cell's share."""
        return np.asarray(self.draws.mean(axis=0))

    _repr_html_ = printed

    def __repr__(self) -> str:
        return (
            f"<Posterior of {' x '.join(self.names)}, {len(self.draws):,} draws, split R-hat {self.convergence:.3f}, "
            "about the population>"
        )

    def table(self, *, level: float = 0.95) -> Table:
        """The posterior mean of each proportion with its credible interval, as tidy rows.

        The interval is the highest-density one if that begins at zero, and equal-tailed otherwise.

        Parameters
        ----------
        level
            The share of the draws that an interval holds.

        Returns
        -------
        Table
            A row for each combination of answers: the features, proportion (the mean), low and high.

        Examples
        --------
        >>> proper = dn.estimate(counts, ["smoker"], method="feasible")
        >>> proper.posterior(draws=400, rng=1).table(level=0.9).column_names
        ['smoker', 'proportion', 'low', 'high']
        """
        low, high = credible(self.draws, checked_level(level))
        labels = zip(self.names, zip(*self.answers, strict=True), strict=True)
        columns: dict[str, Column] = {name: of_one_type(own) for name, own in labels}
        about = About(TIMES.join(self.names), SHARES, Subject.POPULATION, level, self.reports, "credible")
        return Table(columns | {"proportion": self.mean, "low": low, "high": high}, self.names, about)


def posterior(est: ProperEstimate, *, draws: int = 1000, rng: np.random.Generator | int | None = None) -> Posterior:
    """Posterior draws of proper tables about the population: a normal likelihood and a Dirichlet prior over tables.

    The prior has the concentration 0.7 in each cell, between the flat prior (1) and Jeffreys' (1/2).

    Parameters
    ----------
    draws
        How many tables to draw, at least 400.
    rng
        A numpy Generator or a seed, for draws that can be repeated.

    Returns
    -------
    Posterior
        The draws, with the split R-hat of their chains; chains that have not mixed are warned about.

    Examples
    --------
    >>> proper = dn.estimate(counts, ["smoker", "age"], method="feasible")
    >>> proper.posterior(draws=400, rng=np.random.default_rng(1)).draws.shape
    (400, 8)
    """
    if est.proper is None:
        raise EstimateError(
            f"draws need a feasible table that was not projected or added; this one is {est.method}: "
            'estimate(..., method="feasible").posterior()'
        )
    rng = np.random.default_rng() if rng is None else checked_generator(rng, EstimateError)
    if (cells := est.proper.shares.size) > MOST_CELLS:
        raise EstimateError(
            f"draws are of tables of up to {MOST_CELLS} cells; this one has {cells:,}. Estimate fewer features"
        )
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < FEWEST:
        raise EstimateError(f"draws must be a whole number, at least {FEWEST}; found {abbreviated(draws)}")
    (H, b), n = est.proper.misfit(), est.proper.n
    shares, convergence = dirichlet_normal(
        n * H, n * b, *est.proper.equations(), concentration=CONCENTRATION, draws=int(draws), rng=rng
    )
    if convergence > CONVERGED:
        warnings.warn(
            f"the draws have not mixed: split R-hat {convergence:.3f}, where {CONVERGED} is wanted; ask for more draws",
            stacklevel=2,
        )
    answers = tuple(product(*(feature.answers for feature in est.features)))
    return Posterior(names_of(est.features), answers, shares, est.asked, convergence)


def sample(est: ProperEstimate, n: int, rng: np.random.Generator | int | None = None) -> "pa.Table":
    """Synthetic records, drawn from a proper table.

    Parameters
    ----------
    n
        How many records to draw.
    rng
        A numpy Generator or a seed, for draws that can be repeated.

    Returns
    -------
    pyarrow.Table
        A row for each record and a column for each feature.

    Examples
    --------
    >>> proper = dn.estimate(counts, ["smoker", "age"], method="feasible")
    >>> proper.sample(3, np.random.default_rng(1)).num_rows
    3
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
        raise EstimateError(f"sample takes how many records to draw, a whole number; found {abbreviated(n)}")
    rng = np.random.default_rng() if rng is None else checked_generator(rng, EstimateError)
    cells = along(est.truth, all_answers(est.features))
    if cells.min() < -SLACK * est.n:
        raise EstimateError(f'only a proper table can be drawn from; this one is {est.method}: use "feasible"')
    shares = np.maximum(cells, 0).reshape(-1)
    places = np.unravel_index(rng.choice(shares.size, int(n), p=shares / shares.sum()), cells.shape)
    import pyarrow as pa

    columns = {
        feature.name: pa.array(of_one_type(feature.answers)).take(pa.array(codes))
        for feature, codes in zip(est.features, places, strict=True)
    }
    return pa.table(columns)


def credible(draws: Array, level: float) -> tuple[Array, Array]:
    """The credible interval of each column: the shortest if that begins at zero, and equal-tailed otherwise.

    Equal tails never hold zero; and the shortest interval of a skewed distribution away from zero ends too early. Of n
    draws the k-th is taken as the quantile k / (n + 1), the probability that one more draw is below it (Weibull's
    plotting position): with the extreme draws as quantiles 0 and 1, intervals would hold less than the level.
    """
    low, high = shortest(draws, level)
    tails = [(1 - level) / 2, (1 + level) / 2]
    left, right = np.quantile(draws, tails, axis=0, method="weibull")
    return np.where(low == 0, 0.0, left), np.where(low == 0, high, right)


def shortest(draws: Array, level: float) -> tuple[Array, Array]:
    """The highest-density interval of each column: the shortest that holds a share of the draws.

    It begins at zero if it holds the least draw.
    """
    rising = np.sort(draws, axis=0)
    held = min(len(rising), max(2, ceil(level * (len(rising) + 1))))
    widths = rising[held - 1 :] - rising[: len(rising) - held + 1]
    first = np.argmin(widths, axis=0)
    columns = np.arange(draws.shape[1])
    return np.where(first == 0, 0.0, rising[first, columns]), rising[first + held - 1, columns]
