"""Maximum likelihood on distinct patterns of evidence, to a stated duality gap, never on one row per report.

With h the shares of the patterns that reports show, and L the probability of each pattern for each combination of
answers (a product over features), the table of shares t maximises sum_j h_j log (L t)_j. At the maximum the gradient
g = L' (h / L t) is 1 where t > 0 and at most 1 elsewhere; everywhere, the likelihood per report is at most max g - 1
below its maximum, which is the gap.

Newton's method with the exact curvature takes a handful of steps, each a quadratic program (`quadratic`); tables that
are too large for it take expectation maximization, t <- t g, with accelerated steps (SQUAREM of Varadhan and Roland).
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import prod, sqrt

import numpy as np

from deniable.counts.checks import listed_names
from deniable.counts.count import count
from deniable.counts.counts import Counts
from deniable.errors import EstimateError, abbreviated
from deniable.estimates.answers_as_weights import with_margins
from deniable.estimates.dense_respondent_group import LikelihoodGroup
from deniable.estimates.designs.arm_patterns import Design, design_patterns
from deniable.estimates.designs.groups import group_of, proper_table_of
from deniable.estimates.estimate import Estimate, estimate
from deniable.estimates.pattern_likelihoods import Grid, Tree, patterns_of
from deniable.estimates.quadratic import least
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array
from deniable.inference.tensors import flat, margins
from deniable.kernels import tools_for
from deniable.reports.reports import Reports
from deniable.text.progress import told

AnyPatterns = Grid | Tree | Design

METHOD = "maximum likelihood"
# Newton's method stops when the gap in log-likelihood per report is at most this.
GAP = 1e-9
# SQUAREM stops when the gap in log-likelihood per report is at most this.
WIDE_GAP = 1e-6
# Newton's method is used for tables of at most so many cells.
MOST_NEWTON = 1_000
# A table may have at most so many cells.
MOST_CELLS = 1 << 20
# Either method takes at most so many steps.
MOST_STEPS = 20_000
# An extrapolated step of SQUAREM may cost so much log-likelihood per report.
LOSS = 1e-3
# SQUAREM extrapolates at most so many steps at once.
LONGEST = 1e6
# No square root of a share is below this after an extrapolated step: processors are slow with smaller numbers.
LEAST_ROOT = 1e-100
# Numpy takes so many seconds for a cell in 250 steps, but for the patterns.
CLIMB = 2.5e-6
# A log-likelihood is rounded by about this part of itself.
ROUNDING = 1e-14
# No pattern is taken as less probable than this, so that one that was seen, but cannot be, has a likelihood.
LEAST = 1e-150
# The share of the uniform table in the start from a feasible one, whose zeros expectation maximization would keep.
UNIFORM_PART = 0.1


# -- climbing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class State:
    """A step of maximizing the likelihood: patterns seen, a table of shares t, probabilities f = L t, the gradient."""

    seen: AnyPatterns
    t: Array
    f: Array
    gradient: Array

    @property
    def gap(self) -> float:
        """The most that the log-likelihood per report can be below its maximum (the duality gap)."""
        return float(self.gradient.max()) - 1

    @cached_property
    def likelihood(self) -> float:
        """The log-likelihood per report."""
        return float(self.seen.h @ np.log(self.f))

    def curvature(self) -> Array:
        """The observed information per report: the negative Hessian of the log-likelihood."""
        return self.seen.curvature(self.seen.h / self.f**2)


def state(seen: AnyPatterns, t: Array) -> State:
    """The probabilities of patterns and the gradient of the log-likelihood at a table of shares."""
    f = seen.forth(t)
    if f.min() < LEAST:
        np.maximum(f, LEAST, out=f)
    return State(seen, t, f, seen.back(seen.h / f))


def newton(seen: AnyPatterns, t: Array) -> Iterator[State]:
    """Newton's method: steps to the maximum of a quadratic model over tables, shortened until the likelihood rises."""
    now = state(seen, t)
    one = np.ones((1, len(t)))
    while True:
        yield now
        H = now.curvature()
        H[np.diag_indices(len(t))] += 1e-10 * np.trace(H) / len(t)  # patterns may be fewer than cells
        aim = least(H, now.gradient + H @ now.t, one, np.ones(1), now.t).x
        now = _rising(seen, now, aim - now.t)


def _rising(seen: AnyPatterns, now: State, direction: Array) -> State:
    """A backtracking line search: a step that raises the likelihood, halved as often as it takes."""
    length, gain, shown = 1.0, float(now.gradient @ direction), seen.h > 0
    while length > 1e-12:
        t = np.maximum(now.t + length * direction, 0)
        following = state(seen, t / t.sum())
        possible = (following.f[shown] > LEAST).all()  # what was seen
        if possible and following.likelihood >= now.likelihood + 1e-4 * length * gain - ROUNDING * abs(now.likelihood):
            return following
        length /= 2
    return now


def expectation_maximization(seen: AnyPatterns, t: Array) -> Iterator[State]:
    """Expectation maximization, t <- t g, by which the likelihood never falls."""
    while True:
        now = state(seen, t)
        yield now
        t = now.t * now.gradient


def accelerated(seen: AnyPatterns, t: Array) -> Iterator[State]:
    """SQUAREM: two steps of expectation maximization, then an extrapolated one along the parabola through them.

    It extrapolates the square roots of shares, which may change their sign, so that nothing turns negative. Such a step
    may lose a little: always to rise takes longer. How much it can have lost is known without logarithms: the
    log-likelihood is concave, so it is below its tangents.
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


def _length(r_r: float, r_v: float, v_v: float) -> float:
    """SQUAREM's step length, given r.r, r.v and v.v of the first step r and of the change v from it to the second.

    Steps that shrink end where a geometric series does, at -r.v / v.v; if they grow, it is |r| / |v|.
    """
    if not v_v:
        return 1.0
    return min(max(1.0, -r_v / v_v if r_v < 0 else sqrt(r_r / v_v)), LONGEST)


def climb(steps: Iterator[State], gap: float) -> State:
    """The last of some steps: where the gap is closed, or nothing more is gained."""
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


def maximum_likelihood(
    reports: Reports, names: str | Sequence[str], *, start: str = "feasible", about: str = "population"
) -> Estimate:
    """The maximum-likelihood table of some features: a proper table, with its covariance.

    Parameters
    ----------
    reports
        The reports themselves; counts of single bits do not hold all that they say.
    names
        The features of the table, in the order of its axes.
    start
        The table that the climb starts from, "feasible" or "uniform"; both lead to the same likelihood. Tables of more
        than a thousand cells always start from the uniform one.
    about
        Whom standard errors and intervals are about: the "population" that the respondents were drawn from, or these
        "respondents" alone, without the sampling variance.

    Returns
    -------
    Estimate
        Up to a thousand cells its covariance is that of the observed information on the cells that are not zero, and so
        are its intervals, unless any cell is near a bound: then they are those of the consistent estimate. Larger
        tables, up to a million cells, have its covariance, too. If the maximum is not reached, a warning says how far
        below it may be.

    Examples
    --------
    >>> est = dn.maximum_likelihood(reports, ["smoker", "age"])
    >>> round(est.cell(smoker=True).value, 2)
    0.3
    """
    names = _checked(reports, names, start)
    n, levels = len(reports), [reports.plan.schema[name].levels for name in names]
    counts = count(reports, names)
    before, seen = estimate(counts, names, about=about), _seen(reports, names)
    small = prod(levels) <= MOST_NEWTON
    found = _climbed(seen, _start(counts, names, prod(levels), start if small else "uniform"), n, newton_steps=small)
    table = with_margins(before.features, n * found.t.reshape(levels))
    if small:
        up = flat([margins(len(feature.columns)) for feature in before.features])
        matrices = _information(found, up, n, seen.n if isinstance(seen, Design) else n)
        group = LikelihoodGroup.of_table(n, table, matrices, before.groups)
        return replace(before, groups=(group,), method=METHOD, fitted=table)
    return replace(before, method=METHOD, fitted=table)


def _checked(reports: Reports, names: str | Sequence[str], start: str) -> list[str]:
    """The names of the features, if all that is asked for can be done."""
    if not isinstance(reports, Reports):
        raise EstimateError(f"maximum likelihood needs the reports: Reports.load(path); found {type(reports).__name__}")
    names = listed_names(names, "maximum likelihood")
    if start not in ("feasible", "uniform"):
        raise EstimateError(f'start must be "feasible" or "uniform"; found {abbreviated(start)}')
    if not len(reports):
        raise EstimateError("there are no reports to estimate from")
    cells = prod(reports.plan.schema[name].levels for name in names)
    if cells > MOST_CELLS:
        raise EstimateError(
            f"maximum likelihood may have {MOST_CELLS:,} cells; these features have {cells:,}. Ask for fewer"
        )
    return names


def _seen(reports: Reports, names: Sequence[str]) -> AnyPatterns:
    """The distinct patterns that reports show: of features that are asked alone, or of the arms of a design."""
    alone = all(len(block.features) == 1 for block in reports.plan.blocks)
    return patterns_of(reports, names) if alone and not reports.plan.has_arms else design_patterns(reports, names)


def _start(counts: Counts, names: Sequence[str], cells: int, start: str) -> Array:
    """The table of shares that a climb starts from: the uniform one, or the feasible one with a part of it."""
    uniform = np.full(cells, 1 / cells)
    if start == "uniform":
        return uniform
    feasible = proper_table_of(counts, group_of(counts, names), names).shares.reshape(-1)
    return (1 - UNIFORM_PART) * feasible + UNIFORM_PART * uniform


def _climbed(seen: AnyPatterns, start: Array, n: int, *, newton_steps: bool) -> State:
    """The table of maximum likelihood, by Newton's method or by SQUAREM; a warning if the maximum was not reached."""
    aim, steps = (GAP, newton) if newton_steps else (WIDE_GAP, accelerated)
    found = climb(steps(seen, start), aim)
    if not found.gap <= aim:
        warnings.warn(
            f"maximum likelihood stopped with its logarithm up to {found.gap * n:.2g} below the maximum, "
            f"{found.gap:.1e} a report where {aim:g} was to be reached; the table of fewer features is reached sooner",
            stacklevel=3,
        )
    return found


def _information(found: State, up: Array, n: int, reports: int) -> dict[Subject, Array]:
    """Covariances of all entries with margins, from the observed information on the cells that are not zero.

    About the population it is N (H^-1 - t t'), as H t = 1; for the respondents the sampling, N (diag t - t t'), is off.
    Of n respondents only so many reports may say anything of the table.
    """
    free = found.t > 0
    H = found.curvature()[np.ix_(free, free)]
    H[np.diag_indices(len(H))] += 1e-12 * np.trace(H) / len(H)
    t, inverse, up = found.t[free], np.linalg.inv(H), up[:, free]
    whole = n / reports * (inverse - np.outer(t, t))
    own = {Subject.POPULATION: whole, Subject.RESPONDENTS: whole - np.diag(t) + np.outer(t, t)}
    return {subject: n * up @ matrix @ up.T for subject, matrix in own.items()}
