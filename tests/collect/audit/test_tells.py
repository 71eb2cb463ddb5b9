"""What tells most of two records: its chances and its epsilon, against channels in exact fractions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import deniable as dn
from deniable.client import SCALE
from deniable.collect.audit.tells import SIDES, Tells, WholeReport, both_tell
from tests.support.channels import channel, evidence
from tests.support.one_question import PROTOCOLS, plan_of


def tells(bits: tuple[int, ...], side: int) -> bool:
    """Whether evidence tells for the first or the last answer, by definition."""
    if len(bits) == 1:
        return bits[0] == side
    ends = (bits[0], bits[-1])
    return ends[side] > ends[1 - side]


@pytest.mark.parametrize("title", PROTOCOLS)
def test_chances_are_those_of_the_channel_and_their_ratio_is_epsilon(title: str) -> None:
    (block,) = plan_of(title).blocks
    found = Tells.of(block)
    codes = (0, block.unit.levels - 1)
    for side, true in product(SIDES, repeat=2):
        law = channel(block.protocol, codes[true])
        exact = sum(share for outcome, share in law.items() if tells(evidence(block.protocol, outcome), side))
        assert found.chance(side, true) == pytest.approx(float(exact), rel=1e-12)
    assert max(found.weight(side) for side in SIDES) == pytest.approx(block.protocol.epsilon, rel=1e-12)


@pytest.mark.parametrize("one", [dn.Flag("a"), dn.Choice("a", ["u", "v", "w"]), dn.Flag("a", missing="none")])
def test_two_reports_of_one_device_tell_as_often_as_all_outcomes_say(one: dn.Flag | dn.Choice) -> None:
    """The kept answer once, from the integers of the plan's JSON, and a fresh coin for each report, in fractions."""
    plan = dn.Plan(dn.Schema([one]), epsilon=2.0, repeat="keep", epsilon_1=1.0)
    (block,), values = plan.blocks, one.levels
    keep, coin = block.protocol.integers, Fraction(plan.kept, SCALE)
    for side in SIDES:
        true, exact = side * (values - 1), Fraction(0)
        for kept in range(values):
            if "keep" in keep:
                a = Fraction(keep["keep"], SCALE)
                chance = a * (kept == true) + (1 - a) / values
            else:
                yes = Fraction(keep["q" if true else "p"], SCALE)
                chance = yes if kept else 1 - yes
            exact += chance * (coin * (kept == true) + (1 - coin) / values) ** 2
        assert both_tell(block, side) == pytest.approx(float(exact), rel=1e-12)
        # The control: a device that keeps nothing.
        assert both_tell(block, side) > 1.05 * Tells.of(block).chance(side, side) ** 2


def test_a_whole_report_is_judged_by_its_likelihood_ratio() -> None:
    """All outcomes of three blocks, in their own channels: the event's chances, and that no other one is better."""
    titles = ("randomized response, unequal", "GRR", "subset selection")
    blocks = [plan_of(title).blocks[0] for title in titles]
    whole = WholeReport(tuple(map(Tells.of, blocks)), 1, 10_000)
    chances, sums = np.zeros(2), set()
    for outcomes in product(*(channel(block.protocol, 0) for block in blocks)):
        total, likely = 0, np.ones(2)
        for block, outcome, (up, down) in zip(blocks, outcomes, whole.weights, strict=True):
            bits = evidence(block.protocol, outcome)
            total += up * tells(bits, 1) - down * tells(bits, 0)
            likely *= [float(channel(block.protocol, code)[outcome]) for code in (block.unit.levels - 1, 0)]
        sums.add(total)
        chances += likely * (total >= whole.threshold)
        ratio = math.log(likely[0] / likely[1])
        largest = sum(max(tell.weight(side) for side in SIDES) for tell in whole.blocks)
        assert total / 5000 * largest == pytest.approx(ratio, abs=3 * largest / 5000)
    assert whole.chances == pytest.approx(tuple(chances), rel=1e-9)
    assert whole.threshold in sums
