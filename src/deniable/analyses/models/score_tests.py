"""Intervals of a logistic regression by inverting score tests: they hold where estimated log odds are far from normal.

The log odds of a rare outcome in a small group are anything but normal, and a rule that refuses extreme ones would
answer only the surveys that err towards zero. So a coefficient's interval is made of all values c that a test keeps.
With the others solved for, b_c, its score U_j(b_c) is a weighted sum of the table's cells, whose weights are

    (l'x) (y - s(x'b_c)),    l = (1, -A_jo A_oo^-1)    (o: the others; A at b_c)

and has the mean zero if c is true. It is compared with its variance and skewness (Cornish-Fisher) in the table

    g(1, x) = f(1, x) + (s(x'b_c) - s(x'b)) f(x),    g(0, x) = f(0, x) - (s(x'b_c) - s(x'b)) f(x)

in which all scores are zero at b_c, which is f itself at c = b_j (the sandwich), and which has people with the outcome
where nobody was seen with it. Where no finite value is refused on one side, the interval has no end there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from deniable.analyses.models.coefficients import Shape
from deniable.analyses.models.score_equations import FARTHEST, Cells, solved
from deniable.analyses.regression import report_cumulants
from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Array

# Variances are not estimated from the reports that a score sums, so that there is nothing to studentise.
DEGREES = 1e9
# The search for an end starts so many standard errors away, and goes on in steps that grow so many times.
FIRST, GROWTH = 2.0, 1.5
# A standard error below this is zero: public answers do not vary about the respondents.
EXACT = 1e-12
# At an end the score is so close, in standard errors, to where the test refuses.
SETTLED = 1e-7


@dataclass(frozen=True, eq=False)
class ScoreTests:
    """Score tests of the coefficients b of a logistic regression, of which intervals are the values they keep.

    `table` has the shares of all cells, `f` of those that are regressed, zero elsewhere. More people with the outcome,
    whose axis is `outcome`, are `split` over its answers: those that are the outcome sum to one, the others to minus
    one. `reports` are what the shares are weighted sums of.
    """

    cells: Cells
    table: Array
    f: Array
    outcome: int
    split: Array
    b: Array
    reports: Sequence[tuple[ArmKind, Array]]
    n: int
    subject: Subject

    def p_values(self, values: Array, stderr: Array) -> Array:
        """The two-sided p-value of each coefficient's being zero; nan if its score test has no solution there."""
        found = np.full(len(values), np.nan)
        for j in range(len(values)):
            if stderr[j] <= EXACT:
                found[j] = float(values[j] == 0)
            elif tested := self.tested(j, 0.0, self.b):
                score, shape, _ = tested
                found[j] = shape.p_values(np.array([score]), np.ones(1))[0]
        return found

    def limits(self, values: Array, stderr: Array, level: float) -> tuple[Array, Array]:
        """The ends of all intervals."""
        from scipy.special import ndtri

        t = float(ndtri(0.5 + level / 2))
        ends = [[self._end(j, side * t, stderr[j]) for j in range(len(values))] for side in (1, -1)]
        return np.array(ends[0]), np.array(ends[1])

    def tested(self, j: int, c: float, start: Array) -> tuple[float, Shape, Array] | None:
        """The standardised score of coefficient j at c, its distribution, and all coefficients there; or nothing."""
        others = np.arange(len(self.b)) != j
        b = start.copy()
        b[j] = c
        at = solved(self.cells, self.f, b, others)
        if at is None:
            return None
        information, line = self.cells.information(self.f, at), np.zeros(len(at))
        line[j] = 1.0
        line[others] = -np.linalg.solve(information[np.ix_(others, others)], information[others, j])
        chances = self.cells.chances(at)
        weights = (self.cells.x @ line) * (self.cells.y - chances)
        variance, third = self._cumulants(weights, chances - self.cells.chances(self.b))
        if not variance > 0:
            return None
        shape = Shape(np.array([third / variance**1.5]), np.zeros(1), np.full(1, DEGREES), np.ones(1))
        return float(self.cells.score(self.f, at)[j] / np.sqrt(variance)), shape, at

    def _cumulants(self, weights: Array, change: Array) -> tuple[float, float]:
        """Variance and third cumulant of a weighted sum of the cells, where shares of the outcome are changed."""
        more = (change * self.f).reshape(self.table.shape).sum(axis=self.outcome)
        moved = self.table + np.moveaxis(np.multiply.outer(more, self.split), -1, self.outcome)
        variance = third = 0.0
        for kind, of_cells in self.reports:
            left_out = tuple(place for place in range(moved.ndim) if place not in kind.places)
            own = moved.sum(axis=left_out).reshape(-1)
            noise_alone = self.subject is Subject.RESPONDENTS and len(self.reports) == 1
            found = report_cumulants(kind, (weights @ of_cells)[None], own, noise_alone)[:2]
            variance, third = variance + float(found[0][0]) / kind.n, third + float(found[1][0]) / kind.n**2
        if self.subject is Subject.POPULATION:
            return variance * self.n / max(self.n - len(self.b), 1), third
        if len(self.reports) > 1:  # arms are samples of the respondents, whose own sampling error is no part of it
            flat = moved.reshape(-1)
            variance -= float(flat @ weights**2 - (flat @ weights) ** 2) / self.n
        return variance, third

    def _end(self, j: int, t: float, stderr: float) -> float:
        """The end of coefficient j's interval: the lower one if t is positive, as scores fall with coefficients."""
        if stderr <= EXACT:
            return float(self.b[j])
        side, last = np.sign(-t), self.b

        def beyond(c: float) -> float | None:
            """How far the score at c is beyond what the test keeps; nothing where it cannot be solved for."""
            nonlocal last
            if (tested := self.tested(j, c, last)) is None:
                return None
            score, shape, last = tested
            return float(-side * (score - shape.quantile(np.array([t]))[0]))

        inside, step = float(self.b[j]), FIRST * (stderr if np.isfinite(stderr) else 1.0)
        kept = beyond(inside)
        while kept is not None and abs(outside := inside + side * step) <= abs(self.b[j]) + FARTHEST:
            if (found := beyond(outside)) is None:
                break
            if found > 0:
                return _crossing(beyond, inside, outside, kept, found)
            inside, step, kept = outside, step * GROWTH, found
        return float(side * np.inf)


def _crossing(beyond: Callable[[float], float | None], left: float, right: float, low: float, high: float) -> float:
    """Where a function crosses zero between two places, where it is low and high: false position (Illinois)."""
    while abs(high) > SETTLED and abs(right - left) > SETTLED:
        middle = (left * high - right * low) / (high - low)
        if (found := beyond(middle)) is None:
            return middle
        if found * high < 0:
            left, low = right, high
        else:
            low /= 2
        right, high = middle, found
    return right
