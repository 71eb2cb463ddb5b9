"""Half-widths of the tables that a plan will tell, in closed form, if all answers are equally common.

At uniform truth an arm estimates a contrast of the questions s with the variance v_a(s), for one report: the product of
`contrast_variance` over its blocks that ask any of s. With pi_a the shares of the arms, n respondents tell of it

    n I_s,    I_s = sum_{arm a asks all of s} pi_a / v_a(s)

and the mean cell variance of a table T of K cells is K^-2 sum_{s in T, s not empty} prod_{i in s} (m_i - 1) / (n I_s),
about the population.
"""

from collections.abc import Sequence
from itertools import combinations
from math import exp, prod, sqrt

from deniable.client import MAX_VALUES, SCALE
from deniable.errors import PlanError
from deniable.survey.aim import Names
from deniable.survey.plan import Plan
from deniable.survey.planning.information import block_variance, contrast_variance
from deniable.survey.protocols.grid import Epsilon
from deniable.survey.protocols.public import Public

# A half-width of 95 % is so many standard errors.
TWO_SIDED = 1.959963984540054
# A block of so many cells is worth asking at any epsilon.
FEW_CELLS = 8
# From this epsilon on, blocks are worth enlarging to half as many cells as e^epsilon.
LARGE = 3.5


class HalfWidths:
    """What a plan tells of tables; each set of questions is looked at once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._levels = {feature.name: feature.levels for feature in plan.schema}
        self._blocks = [{name: block for block in arm.blocks for name in block.names} for arm in plan.arms]
        self._variances = {block: contrast_variance(block.protocol) for block in plan.blocks}
        self._arms: dict[str, set[int]] = {name: set() for name in plan.schema.names}
        for place, names in enumerate(self._blocks):
            for name in names:
                self._arms[name].add(place)
        self._known: dict[Names, float] = {}

    def __call__(self, table: Names, n: int) -> float:
        """The half-width of 95 % intervals, root mean square over the cells; infinite if no arm asks all of it."""
        return TWO_SIDED * sqrt(self.variance(table) / n)

    def variance(self, table: Names) -> float:
        """The mean variance of a cell's share for one respondent, about the population."""
        total = 0.0
        for size in range(1, len(table) + 1):
            for names in combinations(table, size):
                if not (information := self._information(names)):
                    return float("inf")
                total += prod(self._levels[name] - 1 for name in names) / information
        return total / self.cells(table) ** 2

    def cells(self, table: Names) -> int:
        """How many cells a table has."""
        return prod(self._levels[name] for name in table)

    def _information(self, names: Names) -> float:
        if names not in self._known:
            arms = set.intersection(*(self._arms[name] for name in names))
            self._known[names] = sum(self.plan.shares[arm] / self._arm_variance(arm, names) for arm in arms) / SCALE
        return self._known[names]

    def _arm_variance(self, arm: int, names: Names) -> float:
        blocks = {self._blocks[arm][name] for name in names}
        return prod(self._variances[block] for block in blocks)


def everybody_everything(plan: Plan) -> Plan | None:
    """The plan that asks everybody the same questions, each apart, with the same epsilon; None if there is none."""
    epsilon = plan.asked or plan.epsilon
    try:
        return Plan(plan.schema, {name: Public() for name in plan.public}, epsilon=epsilon)
    except PlanError:
        return None


def times_fewer(plan: Plan) -> float | None:
    """About how many times fewer people a design needs for tables of two than a plan that asks each question apart.

    By a rule of thumb in closed form, without looking for the best design: every k questions are an arm, k as many as
    have about e^epsilon combinations of answers. None where nothing can be said.
    """
    names = [name for name in plan.schema.names if name not in plan.public]
    if len(names) < 2:
        return None
    levels = [plan.schema[name].levels for name in names]
    try:
        design = _rule_of_thumb(levels, plan.asked or plan.epsilon)
    except PlanError:  # there is no protocol for so small an epsilon
        return None
    now = HalfWidths(plan)
    return sum(now.variance(pair) for pair in combinations(names, 2)) / design


def _rule_of_thumb(levels: Sequence[int], epsilon: Epsilon) -> float:
    """The mean cell variance of all tables of two, summed, if every k questions are an arm of equal share."""
    count, typical = len(levels), prod(levels) ** (1 / len(levels))
    worth = max(FEW_CELLS, exp(min(float(epsilon), 20)) / (2 if epsilon >= LARGE else 1))
    k = max([2, *(k for k in range(2, count + 1) if typical**k <= worth)])

    def known(asked: int, cells: int) -> float:
        """One over the information on contrasts of one or two questions that have so many cells."""
        size = min(MAX_VALUES, max(2, round(cells * typical ** (k - asked))))
        held = k / count if asked == 1 else k * (k - 1) / (count * (count - 1))
        return block_variance(size, epsilon) / held

    one = {m: (m - 1) * known(1, m) for m in set(levels)}
    two = {(a, b): (a - 1) * (b - 1) * known(2, a * b) for a in one for b in one}
    return sum((one[a] + one[b] + two[a, b]) / (a * b) ** 2 for a, b in combinations(levels, 2))
