"""Epsilon of whole reports, arms included, against enumeration: never understated, and not a hair too large either."""

from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import pytest

import deniable as dn
from deniable.survey.privacy import of_question, of_report
from tests.support.channels import channel, check_logarithm, worst_ratio
from tests.support.random_plans import random_plan, report_count
from tests.support.whole_reports import Record, WholeReports, given_share, laws_of

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"]), dn.Flag("c")])
UNEQUAL = dn.Plan(
    SCHEMA,
    arms={
        "pair": (dn.Plan(dn.Schema(SCHEMA.features[:2]), {("a", "b"): dn.GRR(epsilon=2.0)}), 3),
        "alone": (dn.Plan(dn.Schema(SCHEMA.features[2:]), epsilon=0.5), 1),
    },
    unequal=True,
)
TWO_BLOCKS = dn.Plan(SCHEMA, {("a", "b"): dn.SubsetSelection(epsilon=1.0, size=2)}, epsilon=1.5)
PLANS = {
    "unequal arms": UNEQUAL,
    "two blocks": TWO_BLOCKS,
    "one block of all": dn.Plan(SCHEMA, {("a", "b", "c"): dn.GRR(epsilon=1.0)}),
    "hashed": dn.Plan(SCHEMA, {("a", "c"): dn.LocalHashing(epsilon=1.0, buckets=3)}, epsilon=2.0),
    "public in every arm": dn.Plan(SCHEMA, {"b": dn.Public()}, epsilon=1.0, arms=[["a", "c"], ["c"]]),
    "one share of the least": dn.Plan(SCHEMA, epsilon=1.0, arms={("a", "b"): 1, ("c",): 1e-9}),
}


def check(plan: dn.Plan) -> None:
    """The whole report, and each answer alone if all others are known."""
    reports = WholeReports(plan)
    assert reports.totals == {1}
    whole = reports.worst()
    assert whole == plan.ratio == of_report(plan).ratio
    check_logarithm(plan.epsilon, whole)
    for feature in plan.schema:
        promise = of_question(plan, feature.name)
        if feature.name in plan.public:
            assert promise is None
            continue
        assert promise is not None
        alone = reports.worst_of(feature.name)
        assert alone == promise.ratio == largest_block(plan, feature.name) <= whole


def largest_block(plan: dn.Plan, name: str) -> Fraction:
    """e^epsilon of the block that asks this feature, by itself; of several in different arms, the largest."""
    blocks = [block for arm in plan.arms for block in arm.blocks if name in block.names]
    assert all(len(laws_of(block.protocol)) == prod(block.levels) for block in blocks)
    return max(worst_ratio(laws_of(block.protocol)) for block in blocks)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_epsilon_is_that_of_the_enumerated_whole_report(plan: dn.Plan) -> None:
    check(plan)


def test_epsilon_of_random_plans() -> None:
    rng = Random(16)
    for _ in range(60):
        check(random_plan(rng, 200))


@pytest.mark.slow
def test_epsilon_of_a_thousand_random_plans() -> None:
    rng = Random(17)
    for many, most, least in ((979, 600, 1), (20, 4_000, 601), (1, 100_000, 20_000)):
        for _ in range(many):
            check(random_plan(rng, most, least))


def test_random_plans_are_of_every_kind() -> None:
    rng = Random(18)
    plans = [random_plan(rng, 1_000) for _ in range(200)]
    assert {len(plan.arms) for plan in plans} == {1, 2, 3, 4}
    assert {len(block.features) for plan in plans for block in plan.blocks} >= {1, 2, 3}
    assert {len(arm.blocks) for plan in plans for arm in plan.arms} >= {1, 2, 3}
    assert len({protocol.name for plan in plans for protocol in plan.protocols}) == 6
    assert any(len(set(plan.shares)) > 1 for plan in plans)
    for plan in plans[:40]:
        assert WholeReports(plan).weights.shape[1] == report_count(plan)


# -- controls that must fail -------------------------------------------------------------------------------------------


def test_the_mean_arm_instead_of_the_largest_is_caught() -> None:
    mean = sum(Fraction(s, 65536) * arm.ratio for s, arm in zip(UNEQUAL.shares, UNEQUAL.arms, strict=True))
    assert WholeReports(UNEQUAL).worst() > mean


def test_one_block_instead_of_all_of_them_is_caught() -> None:
    assert WholeReports(TWO_BLOCKS).worst() > max(protocol.ratio for protocol in TWO_BLOCKS.protocols)


def by_the_answer(plan: dn.Plan, arm: int, record: Record) -> int:
    """Those who answer the first question with yes draw the arms in the other order."""
    return plan.shares[arm] if record[0] == 0 else plan.shares[::-1][arm]


def off_by_one(plan: dn.Plan, arm: int, record: Record) -> int:
    """One of 65 536 draws leads to another arm, if the first question is answered with yes."""
    return plan.shares[arm] + (record[0] == 1) * (1 if arm == 0 else -1 if arm == 1 else 0)


ARMS = [
    UNEQUAL,
    dn.Plan(SCHEMA, epsilon=1.0, arms={("a", "b"): 0.9, ("c",): 0.1}),
    dn.Plan(SCHEMA, epsilon=3.0, arms={("b", "c"): 0.6, ("a",): 0.3, ("a", "c"): 0.1}),
]


@pytest.mark.parametrize("share", [by_the_answer, off_by_one])
@pytest.mark.parametrize("plan", ARMS)
def test_an_arm_that_depends_on_the_answer_is_caught(plan: dn.Plan, share: object) -> None:
    reports = WholeReports(plan, share)  # type: ignore[arg-type]
    assert reports.totals == {1}
    assert reports.worst() > plan.ratio or reports.worst_of("a") > of_question(plan, "a").ratio  # type: ignore[union-attr]
    assert WholeReports(plan, given_share).worst() == plan.ratio


def test_the_promise_about_one_answer_needs_the_others_to_be_known() -> None:
    """With answers that go together, the rest of a report speaks of this one too: up to the whole, not to its block."""
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=2.0)
    reports = WholeReports(plan)
    same = [row for row, record in enumerate(reports.records) if record[0] == record[1]]
    law = reports.weights[same]
    found = max(Fraction(high, low) for high, low in zip(law.max(axis=0), law.min(axis=0), strict=True))
    assert found == plan.ratio > reports.worst_of("a")


def test_the_enumeration_is_that_of_the_channels() -> None:
    """One report by hand: a block of two questions beside one alone, with their digits in the order of the schema."""
    reports = WholeReports(TWO_BLOCKS)
    pair, alone = TWO_BLOCKS.protocols
    for record, row in zip(reports.records, reports.weights, strict=True):
        a, b, c = record
        first, second = channel(pair, 3 * a + b), channel(alone, c)
        expected = [first[y] * second[z] for y, z in product(sorted(first), sorted(second))]
        assert [Fraction(weight, row.sum()) for weight in row] == expected
