"""The probability that a planned survey answers a question: that the trust rule finds enough reports.

The rule looks at the estimate, so that its answer is a chance. Surveys are simulated by what each kind a of arm says of
its part of the table: with f its guess, (n_1, n_2, ...) multinomial by the shares of arms, and z one report's estimate,

    y_a = f_a + (M_a - f_a f_a')^(1/2) e / sqrt(n_a),    M_a = E[z z'],    e standard normal

which has the exact mean and covariance of the reports. The rule is then asked, as it is of a survey that was made, and
the probability is the share of surveys with an answer.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from deniable.errors import EstimateError
from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.block_group import BlockGroup, View
from deniable.estimates.designs.least_squares import Evidence
from deniable.estimates.designs.table_parts import block_parts
from deniable.estimates.estimate import Estimate
from deniable.estimates.interface import Respondents
from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.results import Association
from deniable.inference.tensors import along, margins
from deniable.survey.plan import Plan

# Surveys are simulated until three standard errors of the probability are this small, or until there are so many.
POINTS, MOST_SURVEYS = 0.05, 900
# Each simulated survey is made from this seed and its number, so that a question has one answer.
SEED = 20_260_730
# Estimates of tables with at most so many cells are kept for further questions; all of them take less than 100 MB.
MOST_KEPT = 32


class Surveys:
    """Simulated surveys of n respondents by a plan, of a table of features; `kinds` are its arms at the guess."""

    def __init__(self, plan: Plan, names: Sequence[str], n: int, kinds: Sequence[ArmKind], subject: Subject) -> None:
        self.plan, self.n, self.subject = plan, n, subject
        self.features = tuple(plan.schema[name] for name in names)
        self._expected = kinds
        self._kept: dict[int, Estimate] = {}

    def kinds(self, survey: int) -> list[ArmKind]:
        """What each kind of arm says in one of the surveys; kinds that nobody fell into say nothing."""
        rng = np.random.default_rng([SEED, survey])
        sizes: list[int] = [self.n]
        if self.plan.has_arms:
            shares = np.array([kind.n / self.n for kind in self._expected])
            sizes = rng.multinomial(self.n, [*shares, max(0.0, 1 - shares.sum())])[:-1].tolist()
        return [kind.drawn(size, rng) for kind, size in zip(self._expected, sizes, strict=True) if size]

    def estimate(self, survey: int) -> Estimate:
        """The estimate of the table in one of the surveys; an error if nobody was asked all of it."""
        if survey in self._kept:
            return self._kept[survey]
        kinds = self.kinds(survey)
        if not any(len(kind.places) == len(self.features) for kind in kinds):
            raise EstimateError("nobody was asked all features of the table")
        made = Estimate(self.features, (self._respondents(kinds),), "consistent", self.subject)
        if prod(feature.levels for feature in self.features) <= MOST_KEPT:
            self._kept[survey] = made
        return made

    def _respondents(self, kinds: Sequence[ArmKind]) -> Respondents:
        """The respondents; those who were all asked the same in product form, which the trust rule knows."""
        if not self.plan.has_arms:
            return _of_blocks(self.plan, [feature.name for feature in self.features], kinds[0])
        columns = tuple(len(feature.columns) for feature in self.features)
        return ArmsGroup(self.n, Evidence(columns, tuple(kinds)), tuple(range(len(columns))), waves=False)


def _of_blocks(plan: Plan, names: Sequence[str], kind: ArmKind) -> BlockGroup:
    """Respondents who were all asked the same blocks."""
    blocks = block_parts(plan, names, centred=True)
    order = [place for block in kind.blocks for place in block]
    cells = kind.shares.reshape(kind.levels).transpose(order).reshape([prod(block.part.levels) for block in blocks])
    truth = kind.n * along(cells, [margins(axis.columns) for axis in kind.axes])
    return BlockGroup(Group(int(kind.n), kind.axes, truth), tuple(View.of(block.part) for block in blocks))


def answer_chance(answers: Iterable[bool]) -> float:
    """The share of simulated surveys with an answer; no more are looked at than the probability needs."""
    count = made = 0
    for answered in islice(answers, MOST_SURVEYS):
        count, made = count + answered, made + 1
        near = (count + 1) / (made + 2)  # of few surveys that agree, it is not taken as sure
        if near * (1 - near) / made < (POINTS / 3) ** 2:
            break
    return count / made


def has_answer(result: Any) -> bool:
    """Whether there are enough reports for a result: for all rows of a table, and for both kinds of association."""
    if isinstance(result, Association):
        return result.cramers_v.enough and result.mutual_information.enough
    table = result.table() if hasattr(result, "table") else result
    if "low" in getattr(table, "column_names", ()):
        return not np.isnan(table["low"].to_numpy()).any()
    return bool(result.enough)
