"""Maximum likelihood on distinct patterns of evidence, to a stated gap, never on one row per report.

With h the shares of the patterns that reports show, and L the probability of each pattern for each combination of
answers (a product over features), the table of shares t maximises sum_j h_j log (L t)_j. At the maximum the gradient
g = L' (h / L t) is 1 where t > 0 and at most 1 elsewhere; everywhere, the likelihood per report is at most max g - 1
below its maximum, which is the gap.

Newton's method with the exact curvature takes a handful of steps, each a quadratic program (`quadratic`); tables that
are too large for it take expectation maximization, t <- t g, with accelerated steps (SQUAREM of Varadhan and Roland).
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import prod, sqrt

import numpy as np

from deniable.counts.count import count
from deniable.errors import EstimateError
from deniable.estimates.estimate import Estimate, estimate
from deniable.estimates.likelihood_table import Grid, Tree, patterns_of
from deniable.estimates.quadratic import least
from deniable.estimates.respondents import DenseGroup, Group
from deniable.inference.axis import Array
from deniable.inference.tensors import along, flat, margins
from deniable.kernels import tools_for
from deniable.reports.reports import Reports
from deniable.text.progress import told

GAP = 1e-9  # in log-likelihood per report, by Newton's method
WIDE_GAP = 1e-6  # the same, by accelerated expectation maximization
MOST_NEWTON = 1_000  # cells
MOST_CELLS = 1 << 20
MOST_STEPS = 20_000
LOSS = 1e-3  # in log-likelihood per report, that a jump may cost
LONGEST = 1e6  # steps in one jump
LEAST_ROOT = 1e-100  # of a share, after a jump: far from what processors are slow with
CLIMB = 2.5e-6  # seconds that numpy takes for a cell in 250 steps, but for the patterns
ROUNDING = 1e-14  # of a likelihood
LEAST = 1e-150  # how likely a pattern is that cannot be: one that was seen is to have a likelihood still


# -- climbing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class State:
    """A table of shares on the way up: the patterns seen, how likely each of them is, and the gradient."""

    seen: Grid | Tree
    t: Array
    f: Array
    gradient: Array

    @property
    def gap(self) -> float:
        """How far below the maximum the log-likelihood per report can be."""
        return float(self.gradient.max()) - 1

    @cached_property
    def likelihood(self) -> float:
        """The logarithm of the likelihood, per report."""
        return float(self.seen.h @ np.log(self.f))

    def curvature(self) -> Array:
        """The second derivatives, with their sign turned."""
        return self.seen.curvature(self.seen.h / self.f**2)


def state(seen: Grid | Tree, t: Array) -> State:
    """What there is to know of a table of shares."""
    f = seen.forth(t)
    if f.min() < LEAST:
        np.maximum(f, LEAST, out=f)
    return State(seen, t, f, seen.back(seen.h / f))


def newton(seen: Grid | Tree, t: Array) -> Iterator[State]:
    """Steps to the maximum of a quadratic model over proper tables, shortened until the likelihood rises."""
    now = state(seen, t)
    one = np.ones((1, len(t)))
    while True:
        yield now
        H = now.curvature()
        H[np.diag_indices(len(t))] += 1e-10 * np.trace(H) / len(t)  # patterns may be fewer than cells
        aim = least(H, now.gradient + H @ now.t, one, np.ones(1), now.t).x
        now = _rising(seen, now, aim - now.t)


def _rising(seen: Grid | Tree, now: State, direction: Array) -> State:
    """A step in a direction that raises the likelihood, half as long as often as it takes."""
    length, gain, shown = 1.0, float(now.gradient @ direction), seen.h > 0
    while length > 1e-12:
        t = np.maximum(now.t + length * direction, 0)
        following = state(seen, t / t.sum())
        possible = (following.f[shown] > LEAST).all()  # what was seen
        if possible and following.likelihood >= now.likelihood + 1e-4 * length * gain - ROUNDING * abs(now.likelihood):
            return following
        length /= 2
    return now


def expectation_maximization(seen: Grid | Tree, t: Array) -> Iterator[State]:
    """t <- t g: the likelihood never falls."""
    while True:
        now = state(seen, t)
        yield now
        t = now.t * now.gradient


def accelerated(seen: Grid | Tree, t: Array) -> Iterator[State]:
    """Two steps of expectation maximization, and then along the parabola through them, in the roots of shares.

    Roots may change their sign, so nothing turns negative. A jump may lose a little: always to rise takes longer. How
    much it can have lost is known without logarithms: the log-likelihood is concave, so it is below its tangents.
    """
    now, root = state(seen, t), np.sqrt(t)
    tools = tools_for(CLIMB * len(t))
    while True:
        yield now
        once, shares = tools.grow(root, now.gradient)
        first = state(seen, shares)
        twice, shares = tools.grow(once, first.gradient)
        root, leapt = tools.leap(root, once, twice, _length(*tools.bends(root, once, twice)), LEAST_ROOT)
        jumped = state(seen, leapt)
        if float((jumped.gradient * first.t).sum()) - 1 <= LOSS:  # no `@`: its threads would wait for a busy processor
            now = jumped
        else:
            now, root = state(seen, shares), twice


def _length(straight: float, across: float, bent: float) -> float:
    """How many steps to jump, given the squares of the first and of its bend, and their product.

    Steps that shrink end where a geometric series does; if they grow, the bend alone says how far they are to go.
    """
    if not bent:
        return 1.0
    return min(max(1.0, -across / bent if across < 0 else sqrt(straight / bent)), LONGEST)


def climb(steps: Iterator[State], gap: float) -> State:
    """Go on until the gap is closed, or nothing more is gained."""
    now, taken = None, enumerate(islice(steps, MOST_STEPS), start=1)
    for _, following in told(
        taken, lambda one: f"climbing, step {one[0]}: log-likelihood within {one[1].gap:.1e} a report, down to {gap:g}"
    ):
        if following is now:
            break
        now = following
        if not now.gap > gap:  # closed, or no number at all
            break
    assert now is not None
    return now


# -- the estimate -----------------------------------------------------------------------------------------------------


def maximum_likelihood(reports: Reports, names: Sequence[str], *, start: str = "feasible") -> Estimate:
    """The table of these features under which the reports are likeliest: a proper table, with its covariance.

    Up to a thousand cells the climb starts from the "feasible" table or from the "uniform" one, to the same likelihood,
    and the covariance is that of the observed information on the cells that are not zero. Larger tables, up to a
    million cells, are climbed to from the uniform one, and have the covariance and the intervals of the consistent
    estimate. If the maximum is not reached, a warning says how far below it may be.
    """
    if not isinstance(reports, Reports):
        raise EstimateError(f"maximum likelihood needs the reports: Reports.load(path); found {type(reports).__name__}")
    if not isinstance(names, str | Sequence):
        raise EstimateError(f'maximum likelihood takes a list of features, ["a", "b"]; found {names!r}')
    names = [names] if isinstance(names, str) else list(names)
    if start not in ("feasible", "uniform"):
        raise EstimateError(f'start must be "feasible" or "uniform"; found {start!r}')
    if not len(reports):
        raise EstimateError("there are no reports to estimate from")
    levels = [reports.plan.schema[name].levels for name in names]
    if prod(levels) > MOST_CELLS:
        raise EstimateError(
            f"maximum likelihood may have {MOST_CELLS:,} cells; these features have {prod(levels):,}. Ask for fewer"
        )
    counts = count(reports, names)
    before, seen, cells = estimate(counts, names), patterns_of(reports, names), prod(levels)
    small = cells <= MOST_NEWTON
    aim, t = GAP if small else WIDE_GAP, np.full(cells, 1 / cells)
    if small and start == "feasible":
        proper = estimate(counts, names, method="feasible").proper
        t = t if proper is None else 0.9 * proper.shares.reshape(-1) + 0.1 * t
    found = climb((newton if small else accelerated)(seen, t), aim)
    if not found.gap <= aim:
        warnings.warn(
            f"maximum likelihood stopped with its logarithm up to {found.gap * len(reports):.2g} below the maximum, "
            f"{found.gap:.1e} a report where {aim:g} was to be reached; the table of fewer features is reached sooner",
            stacklevel=2,
        )
    up = [margins(len(feature.columns)) for feature in before.features]
    shares = found.t.reshape(levels)
    tensor = along(len(reports) * shares, up)
    groups: tuple[Group | DenseGroup, ...] = before.groups
    if small:
        matrices = _information(found, flat(up), len(reports))
        groups = (DenseGroup(len(reports), tensor, matrices, before.groups, likeliest=True),)
    return Estimate(before.features, groups, "maximum likelihood", fitted=tensor)


def _information(found: State, up: Array, reports: int) -> dict[str, Array]:
    """Covariances from the observed information on the cells that are not zero, of all entries with margins.

    About the population it is N (H^-1 - t t'), as H t = 1; for the respondents the sampling, N (diag t - t t'), is off.
    """
    free = found.t > 0
    H = found.curvature()[np.ix_(free, free)]
    H[np.diag_indices(len(H))] += 1e-12 * np.trace(H) / len(H)
    t, inverse, up = found.t[free], np.linalg.inv(H), up[:, free]
    own = {"population": inverse - np.outer(t, t), "respondents": inverse - np.diag(t)}
    return {subject: reports * up @ matrix @ up.T for subject, matrix in own.items()}
