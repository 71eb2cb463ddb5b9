"""Posterior draws of proper tables: a normal likelihood, truncated to tables that can be (a flat prior over them).

With the quadratic misfit n (t'Ht / 2 - b't) of `feasible`, draws of t are those of a normal distribution truncated to
the simplex. They follow exact trajectories, parts of ellipses around its center, which bounce off the walls t = 0
(Pakman and Paninski's Hamiltonian sampler): no step size, and nothing is rejected.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil, cos, pi, sin
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answers_as_weights import all_answers, names_of, of_one_type
from deniable.estimates.feasible import ProperTable
from deniable.estimates.interface import AnyEstimate
from deniable.inference.about_whom import Subject
from deniable.inference.intervals import checked_level
from deniable.inference.one_feature import Array
from deniable.inference.tensors import along
from deniable.inference.trust import SLACK
from deniable.reports.randomness import checked_generator
from deniable.survey.blocks import TIMES
from deniable.tables.table import SHARES, About, Column, Table
from deniable.text.html import printed
from deniable.text.progress import told

if TYPE_CHECKING:
    import pyarrow as pa

Cells = npt.NDArray[np.bool_]

# So many chains are run.
CHAINS = 4
# At least so many draws must be asked for.
FEWEST = 100
# Tables of at most so many cells are drawn.
MOST_CELLS = 300
# A trajectory goes at most so far, in walls that it meets: about five bounces for each cell.
REACH = 12.0
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
        """The posterior mean of each proportion with its highest-density interval, as tidy rows.

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
        >>> proper.posterior(draws=200, rng=1).table(level=0.9).column_names
        ['smoker', 'proportion', 'low', 'high']
        """
        low, high = shortest(self.draws, checked_level(level))
        labels = zip(self.names, zip(*self.answers, strict=True), strict=True)
        columns: dict[str, Column] = {name: of_one_type(own) for name, own in labels}
        about = About(TIMES.join(self.names), SHARES, Subject.POPULATION, level, self.reports, "highest-density")
        return Table(columns | {"proportion": self.mean, "low": low, "high": high}, self.names, about)


def posterior(est: ProperEstimate, *, draws: int = 1000, rng: np.random.Generator | int | None = None) -> Posterior:
    """Posterior draws of proper tables about the population: a normal likelihood and a flat prior over tables.

    Parameters
    ----------
    draws
        How many tables to draw, at least 100.
    rng
        A numpy Generator or a seed, for draws that can be repeated.

    Returns
    -------
    Posterior
        The draws, with the split R-hat of their chains; chains that have not mixed are warned about.

    Examples
    --------
    >>> proper = dn.estimate(counts, ["smoker", "age"], method="feasible")
    >>> proper.posterior(draws=200, rng=np.random.default_rng(1)).draws.shape
    (200, 8)
    """
    if est.proper is None:
        raise EstimateError(
            f"draws need a feasible table that was not projected or added; this one is {est.method}: "
            'estimate(..., method="feasible").posterior()'
        )
    rng = np.random.default_rng() if rng is None else checked_generator(rng, EstimateError)
    (H, b), n = est.proper.misfit(), est.proper.n
    shares, convergence = truncated_normal(n * H, n * b, *est.proper.equations(), draws, rng)
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


def shortest(draws: Array, level: float) -> tuple[Array, Array]:
    """The highest-density interval of each column: the shortest that holds a share of the draws.

    It begins at zero if it holds the least draw.
    """
    rising = np.sort(draws, axis=0)
    held = min(len(rising), max(2, ceil(level * len(rising))))
    widths = rising[held - 1 :] - rising[: len(rising) - held + 1]
    first = np.argmin(widths, axis=0)
    columns = np.arange(draws.shape[1])
    return np.where(first == 0, 0.0, rising[first, columns]), rising[first + held - 1, columns]


def truncated_normal(
    precision: Array, linear: Array, A: Array, a: Array, possible: Cells, draws: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Draws of a truncated normal t, of density exp(-t'Pt / 2 + l't) over t >= 0 with A t = a, and their split R-hat.

    Cells that are not `possible` are zero.
    """
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < FEWEST:
        raise EstimateError(f"draws must be a whole number, at least {FEWEST}; found {abbreviated(draws)}")
    if len(linear) > MOST_CELLS:
        raise EstimateError(
            f"draws are of tables of up to {MOST_CELLS} cells; this one has {len(linear):,}. Estimate fewer features"
        )
    A = A[:, possible]
    inside = _interior(A, a)
    center, spread = _unbounded(precision[np.ix_(possible, possible)], linear[possible], A, inside)
    # A quarter turn forgets where it came from; where walls are much closer than that, crossing some of them does.
    length = min(pi / 2, REACH / max(float(np.linalg.norm(spread, axis=1).sum()), 1e-300))
    covariance = spread @ spread.T
    each = ceil(draws / CHAINS)
    chains = np.zeros((CHAINS, each, len(linear)))

    def walk() -> Iterator[tuple[int, int]]:
        for number, chain in enumerate(chains):
            t = _towards_a_wall(inside, spread @ rng.standard_normal(spread.shape[1]), rng)
            for step in range(-(each // 5), each):  # a fifth to forget the start
                t = _trajectory(t, center, spread @ rng.standard_normal(spread.shape[1]), covariance, length)
                if step >= 0:
                    chain[step, possible] = t
                yield number, step

    for _ in told(walk(), lambda at: f"chain {at[0] + 1} of {CHAINS}, draw {max(at[1], 0)} of {each}"):
        pass
    return chains.reshape(-1, len(linear))[:draws], _split_r_hat(chains[:, :, possible])


def _interior(A: Array, a: Array) -> Array:
    """An interior point: a table as far from zero as the equalities let it be, by linear programming."""
    from scipy.optimize import linprog

    cells = A.shape[1]
    if len(a) == 1:
        return np.full(cells, 1 / cells)
    found = linprog(
        [0.0] * cells + [-1.0], A_ub=np.column_stack([-np.eye(cells), np.ones(cells)]), b_ub=np.zeros(cells),
        A_eq=np.column_stack([A, np.zeros(len(a))]), b_eq=a, bounds=[(0, None)] * cells + [(None, None)],
    )  # fmt: skip
    if found.status != 0 or -found.fun < 1e-6:
        raise EstimateError("what is known leaves no room, or hardly any, to draw proper tables from")
    return np.asarray(found.x[:-1])


def _unbounded(precision: Array, linear: Array, A: Array, inside: Array) -> tuple[Array, Array]:
    """The normal distribution before truncation: its center, and a matrix that makes it from standard normals."""
    from scipy.linalg import null_space, solve_triangular

    basis = null_space(A)
    root = np.linalg.cholesky(basis.T @ precision @ basis)
    spread = solve_triangular(root, basis.T, lower=True).T
    return inside + spread @ (spread.T @ (linear - precision @ inside)), spread


def _towards_a_wall(inside: Array, direction: Array, rng: np.random.Generator) -> Array:
    """A starting point between the middle and a wall: chains that start apart tell whether they have met."""
    falling = direction < 0
    if not falling.any():
        return inside
    reach = float((inside[falling] / -direction[falling]).min())
    return np.asarray(inside + 0.9 * rng.random() * reach * direction)


def _trajectory(t: Array, center: Array, velocity: Array, covariance: Array, length: float) -> Array:
    """The end of a Hamiltonian trajectory, center + (t - center) cos + velocity sin, bouncing off the walls t = 0."""
    last = -1
    while True:
        away = t - center
        radius = np.hypot(velocity, away)
        meets = radius > np.abs(center)
        swing = np.arccos(np.where(meets, -center / np.where(meets, radius, 1), 1.0))
        times = np.where(meets, np.mod(np.arctan2(velocity, away) + swing, 2 * pi), np.inf)  # of falling through zero
        if last >= 0 and (times[last] < 1e-9 or times[last] > 2 * pi - 1e-9):
            times[last] = np.inf  # the wall it has just left
        first = int(np.argmin(times)) if len(times) else 0
        time = min(float(times[first]), length) if len(times) else length
        t, velocity = center + away * cos(time) + velocity * sin(time), velocity * cos(time) - away * sin(time)
        length -= time
        if length <= 0:
            return np.maximum(t, 0)
        velocity = velocity - 2 * velocity[first] / covariance[first, first] * covariance[first]
        last = first


def _split_r_hat(chains: Array) -> float:
    """The largest split R-hat of a cell: the spread of all draws over that within half chains (Gelman and others)."""
    half = chains.shape[1] // 2
    parts = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    within = parts.var(axis=1, ddof=1).mean(axis=0)
    between = parts.mean(axis=1).var(axis=0, ddof=1)
    moving = within > 0
    return float(np.sqrt(1 - 1 / half + between[moving] / within[moving]).max()) if moving.any() else 1.0
