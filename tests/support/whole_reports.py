"""Whole reports, arms included, enumerated in exact arithmetic from the protocols' integers: the slow obvious twin.

Nothing here asks a plan or a protocol for its epsilon: a report's probability is the arm's share times the product of
its blocks' channels (`tests.support.channels`), and e^epsilon is the largest ratio of one report's probabilities under
two records that agree in what is public.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.survey.blocks import Block
from deniable.survey.protocols.base import Protocol
from tests.support.channels import Channel, channel, codes

Record = tuple[int, ...]  # a code for each feature of the schema
Weights = npt.NDArray[np.object_]  # whole numbers of any size: probabilities over one denominator
Share = Callable[[dn.Plan, int, Record], int]  # the share of an arm, over 65 536, for a record


def given_share(plan: dn.Plan, arm: int, record: Record) -> int:  # noqa: ARG001 - that is the point
    return plan.shares[arm]


def records(plan: dn.Plan) -> list[Record]:
    return list(product(*(range(feature.levels) for feature in plan.schema)))


class WholeReports:
    """The distribution of a whole report for every record: a row each, with a column for every possible report.

    `totals` are the sums of probabilities that occur, which must be 1 alone.
    """

    def __init__(self, plan: dn.Plan, share: Share = given_share) -> None:
        self.plan = plan
        self.records = records(plan)
        arms = [self._arm(k, share) for k in range(len(plan.arms))]
        self.weights = np.concatenate([rows for rows, _ in arms], axis=1)
        self.totals = {sum(Fraction(rows[x].sum(), of) for rows, of in arms) for x in range(len(self.records))}

    def _arm(self, number: int, share: Share) -> tuple[Weights, int]:
        """The weights of the reports of one arm, and their denominator."""
        arm = self.plan.arms[number]
        laws = [_block_weights(block) for block in arm.blocks]
        rows = []
        for record in self.records:
            row: Any = np.array([share(self.plan, number, record)], object)
            for block, (law, _) in zip(arm.blocks, laws, strict=True):
                row = np.multiply.outer(row, law[self._code(block, record)]).ravel()
            rows.append(row)
        denominator = 65536
        for _, of in laws:
            denominator *= of
        return np.array(rows, object), denominator

    def _code(self, block: Block, record: Record) -> int:
        """The place of the block's answers among all combinations, the first question changing slowest."""
        own = tuple(record[self.plan.schema.names.index(name)] for name in block.names)
        return list(product(*(range(feature.levels) for feature in block.features))).index(own)

    def worst(self, fixed: Iterable[str] = ()) -> Fraction:
        """The largest ratio of one report's probabilities under two records with the same answers to these."""
        places = sorted(self.plan.schema.names.index(name) for name in {*fixed, *self.plan.public})
        groups: dict[Record, list[int]] = {}
        for row, record in enumerate(self.records):
            groups.setdefault(tuple(record[at] for at in places), []).append(row)
        return max(_worst(self.weights[rows]) for rows in groups.values())

    def worst_of(self, name: str) -> Fraction:
        """The same if all other answers are known."""
        return self.worst(other for other in self.plan.schema.names if other != name)


def _worst(weights: Weights) -> Fraction:
    most, least = weights.max(axis=0), weights.min(axis=0)
    assert (least[most > 0] > 0).all()  # else a report would exclude a record
    return max(Fraction(high, low) for high, low in {*zip(most.tolist(), least.tolist(), strict=True)} if high)


@lru_cache(maxsize=1024)
def laws_of(protocol: Protocol) -> list[Channel]:
    """P(outcome | code) for every code of a bound protocol."""
    return [channel(protocol, code) for code in codes(protocol)]


@lru_cache(maxsize=1024)
def _block_weights(block: Block) -> tuple[list[Weights], int]:
    """P(outcome | code) of a block for all codes, as whole numbers over one denominator."""
    laws = laws_of(block.protocol)
    outcomes = sorted({outcome for law in laws for outcome in law})
    denominator = lcm(*(chance.denominator for law in laws for chance in law.values()))
    rows = [[int(law.get(outcome, Fraction(0)) * denominator) for outcome in outcomes] for law in laws]
    return [np.array(row, object) for row in rows], denominator
