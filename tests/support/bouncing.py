"""The twin of posterior draws under a flat prior: a truncated normal by Pakman and Paninski's Hamiltonian sampler.

Draws follow exact trajectories, parts of ellipses around the center, which bounce off the walls t = 0: no step size,
and nothing is rejected. It shares nothing with Gibbs steps along lines but a point to start from.
"""

from math import ceil, cos, pi, sin

import numpy as np
import numpy.typing as npt

from deniable.estimates.proper_tables.dirichlet_draws import interior, split_r_hat

Array = npt.NDArray[np.float64]
Cells = npt.NDArray[np.bool_]

# So many chains are run.
CHAINS = 4
# A trajectory goes at most so far, in walls that it meets: about five bounces for each cell.
REACH = 12.0


def truncated_normal(
    precision: Array, linear: Array, equalities: Array, a: Array, possible: Cells, draws: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Draws of a normal t, truncated to t >= 0 with what is known of it, and their split R-hat.

    Cells that are not `possible` are zero.
    """
    equalities = equalities[:, possible]
    inside = interior(equalities, a)
    center, spread = _unbounded(precision[np.ix_(possible, possible)], linear[possible], equalities, inside)
    # A quarter turn forgets where it came from; where walls are much closer than that, crossing some of them does.
    length = min(pi / 2, REACH / max(float(np.linalg.norm(spread, axis=1).sum()), 1e-300))
    covariance = spread @ spread.T
    each = ceil(draws / CHAINS)
    chains = np.zeros((CHAINS, each, len(linear)))

    for chain in chains:
        t = _towards_a_wall(inside, spread @ rng.standard_normal(spread.shape[1]), rng)
        for step in range(-(each // 5), each):  # a fifth to forget the start
            t = _trajectory(t, center, spread @ rng.standard_normal(spread.shape[1]), covariance, length)
            if step >= 0:
                chain[step, possible] = t
    return chains.reshape(-1, len(linear))[:draws], split_r_hat(chains[:, :, possible])


def _unbounded(precision: Array, linear: Array, equalities: Array, inside: Array) -> tuple[Array, Array]:
    """The normal distribution before truncation: its center, and a matrix that makes it from standard normals."""
    from scipy.linalg import null_space, solve_triangular

    basis = null_space(equalities)
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
