"""Bulk randomizing by blocks and arms: the slow way's bytes for the same draws, shares of arms, and planted bugs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import client
from deniable.reports import arm_answers, randomize
from deniable.reports.arm_answers import combined_codes, drawn_arms
from deniable.reports.fields import fields, report_bytes
from deniable.reports.randomize import randomize_codes
from deniable.reports.randomness import secure, seeded
from tests.support.arms_in_bulk import (
    PLANS,
    bits_of,
    every_plan,
    slow_arm,
    slow_report,
    some_records,
    stream,
    unit_json,
)
from tests.support.scripted import some_draws

ARMS = {title: plan for title, plan in PLANS.items() if plan.has_arms and not plan.assigned}
every_arms = pytest.mark.parametrize("plan", ARMS.values(), ids=ARMS.keys())


def check_bytes(plan: dn.Plan, count: int, *, given: bool) -> None:
    """Codes in, the same draws: the bytes of the bulk code are those of the slow way, arm by arm."""
    rng = np.random.default_rng(count)
    answers = [{feature.name: int(rng.integers(feature.levels)) for feature in plan.schema} for _ in range(count)]
    edges = np.cumsum([0, *plan.shares])
    near = rng.choice(edges, count) + rng.integers(-1, 2, count)  # draws next to where an arm ends
    first = np.clip(np.where(rng.random(count) < 0.5, near, rng.integers(65536, size=count)), 0, 65535).tolist()
    arms = [int(rng.integers(len(plan.arms))) if given else slow_arm(plan, draw) for draw in first]
    draws = [[some_draws(unit_json(block), rng) for block in plan.arms[number].blocks] for number in arms]
    slow = [slow_report(plan, *one) for one in zip(arms, answers, draws, strict=True)]
    source = stream(plan, arms, draws, [] if given or not plan.has_arms else first)
    codes = [np.array([own[name] for own in answers], np.int16) for name in plan.schema.names]
    reports = randomize_codes(codes, plan, source, np.array(arms) if given and plan.has_arms else None)
    assert source.left() == 0  # all draws were used
    by_arm = [
        report for number in range(len(plan.arms)) for own, report in zip(arms, slow, strict=True) if own == number
    ]
    assert reports.to_bytes() == by_arm
    again = dn.Reports.from_bytes(slow, plan)  # in the order of the records, sorted by arm when read
    assert again == reports


@every_plan
@pytest.mark.parametrize("count", [1, 7, 200])
def test_the_same_draws_give_the_bytes_of_the_slow_way(plan: dn.Plan, count: int) -> None:
    check_bytes(plan, count, given=plan.assigned)


@every_plan
def test_given_arms_draw_none(plan: dn.Plan) -> None:
    check_bytes(plan, 50, given=True)


@every_plan
def test_lengths_depend_on_the_plan_alone(plan: dn.Plan) -> None:
    low = (len(plan.arms) - 1).bit_length()
    assert report_bytes(plan) == (low + max(bits_of(own) for own in plan.arms) + 7) // 8
    for own in plan.arms:
        assert list(fields(own)) == [block.unit.name for block in own.blocks]
    if plan.has_arms:
        with pytest.raises(dn.ReportError, match="fields in each of plan.arms"):
            fields(plan)


# -- the arms ----------------------------------------------------------------------------------------------------------

ALL = np.arange(65536, dtype=np.uint16)


@every_arms
def test_every_draw_of_an_arm(plan: dn.Plan) -> None:
    """Of the 65 536 draws each arm gets exactly its share, and those that the slow way gives it."""
    numbers = drawn_arms(plan, 65536, lambda _: ALL)
    assert np.bincount(numbers, minlength=len(plan.arms)).tolist() == list(plan.shares)
    assert [slow_arm(plan, int(draw)) for draw in ALL[::37]] == numbers[::37].tolist()


def chi_square(found: Any, expected: Any) -> float:
    return float(((np.asarray(found) - expected) ** 2 / expected).sum())


def test_respondents_fall_into_arms_by_their_shares() -> None:
    """Chi-square with 35 degrees of freedom below its 99.999 % point, and arms of other shares are told from these."""
    plan, rng = PLANS["every pair of 9 flags"], np.random.default_rng(3)
    n = 200_000
    records = {name: rng.random(n) < 0.5 for name in plan.schema.names}
    sizes = [len(part) for part in dn.randomize(records, plan, rng=rng).arms]
    assert sum(sizes) == n
    shares = np.array(plan.shares) / 65536
    assert chi_square(sizes, n * shares) < 90
    wrong = shares * np.where(np.arange(36) < 18, 1.05, 0.95)
    assert chi_square(sizes, n * wrong / wrong.sum()) > 90


def test_the_arm_says_nothing_about_the_answers() -> None:
    """Given arm or not, the share of each answer is the same; were the arm drawn by the answer, it would be seen."""
    plan = PLANS["two flags"]
    rng = np.random.default_rng(4)
    truth = rng.random(100_000) < 0.3
    numbers = drawn_arms(plan, len(truth), secure())
    table = np.array([[np.sum((numbers == k) & (truth == x)) for x in (0, 1)] for k in (0, 1)])
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    assert chi_square(table, expected) < 25
    by_answer = np.where(rng.random(len(truth)) < 0.05, truth, numbers)
    table = np.array([[np.sum((by_answer == k) & (truth == x)) for x in (0, 1)] for k in (0, 1)])
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    assert chi_square(table, expected) > 25


# -- blocks ------------------------------------------------------------------------------------------------------------


def test_codes_of_a_block_are_those_of_its_unit() -> None:
    """All combinations in order: the code's value is the one that names these answers."""
    for plan in PLANS.values():
        for block in plan.blocks:
            if len(block.features) == 1:
                continue
            grids = np.indices(block.levels).reshape(len(block.levels), -1)
            codes = combined_codes([grid.astype(np.int16) for grid in grids], block.levels)
            assert codes.tolist() == list(range(block.unit.levels))
            named = [" x ".join(str(f.answers[c]) for f, c in zip(block.features, row, strict=True)) for row in grids.T]
            assert named == list(block.unit.answers)


def test_codes_of_large_blocks_do_not_overflow() -> None:
    for levels in ((64, 64), (2,) * 12, (2, 64), (128, 1, 2)):
        grids = [code.astype(np.int8) for code in np.indices(levels).reshape(len(levels), -1)]
        assert combined_codes(grids, levels).tolist() == list(range(np.prod(levels)))


TWO_BLOCKS = dn.Plan(
    dn.Schema([dn.Flag(name) for name in "abcd"]),
    {("a", "c"): dn.GRR(epsilon=1.0), ("b", "d"): dn.GRR(epsilon=1.0)},
)


def joint_chi_square(draws: Any) -> float:
    """How far two blocks' reports are from independent, if everybody gives the same answers: 9 degrees of freedom."""
    n = 100_000
    reports = randomize_codes([np.full(n, x, np.int8) for x in (1, 0, 1, 1)], TWO_BLOCKS, draws)
    first, second = (reports.table[name].combine_chunks().indices.to_numpy() for name in ("a x c", "b x d"))
    table = np.bincount(4 * first + second, minlength=16).reshape(4, 4)
    return chi_square(table, np.outer(table.sum(axis=1), table.sum(axis=0)) / n)


def test_blocks_are_randomized_independently() -> None:
    rng = np.random.default_rng(5)
    assert joint_chi_square(seeded(rng)) < 45
    drawn = rng.integers(65536, size=(2, 100_000)).astype(np.uint16)
    calls = iter([0, 1] * 2)
    assert joint_chi_square(lambda n: drawn[next(calls), :n].copy()) > 1000  # the same draws for both


# -- planted bugs ------------------------------------------------------------------------------------------------------


def transposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block's last question changes slowest."""
    right = combined_codes
    monkeypatch.setattr(randomize, "combined_codes", lambda codes, levels: right(codes[::-1], levels[::-1]))


def another_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """A digit is taken times its own levels, not the next one's."""

    def planted(codes: Any, levels: Any) -> Any:
        total = codes[0].astype(np.int16)
        for own, base in zip(codes[1:], levels, strict=False):
            total = np.minimum(total * base + own, np.prod(levels) - 1).astype(np.int16)
        return total

    monkeypatch.setattr(randomize, "combined_codes", planted)


def share_off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first arm gets one draw more, the last one less."""
    right = drawn_arms

    def planted(plan: dn.Plan, count: int, draws: Any) -> Any:
        return right(plan, count, lambda n: np.maximum(draws(n), 1) - np.uint16(1))

    monkeypatch.setattr(randomize, "drawn_arms", planted)
    monkeypatch.setitem(globals(), "drawn_arms", planted)


def next_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody gets the arm behind theirs."""
    right = drawn_arms
    monkeypatch.setattr(randomize, "drawn_arms", lambda p, n, d: (right(p, n, d) + 1) % len(p.arms))


def another_arms_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm is filled with the answers of records next to its own."""
    right = arm_answers.ArmGroups.array
    planted = lambda self, values, number: np.roll(right(self, values, number), 1)  # noqa: E731
    monkeypatch.setattr(arm_answers.ArmGroups, "array", planted)


def a_draw_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something is drawn before the arms are."""
    right = drawn_arms

    def planted(plan: dn.Plan, count: int, draws: Any) -> Any:
        draws(count)
        return right(plan, count, draws)

    monkeypatch.setattr(randomize, "drawn_arms", planted)


PLANTED: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "block code transposed": (transposed, "arms of every protocol"),
    "block code transposed, no arms": (transposed, "blocks alone"),
    "wrong base": (another_base, "blocks alone"),
    "share off by one": (share_off_by_one, "arms of every protocol"),
    "next arm": (next_arm, "two flags"),
    "others' answers": (another_arms_records, "arms of every protocol"),
    "a draw too many": (a_draw_too_many, "two flags"),
}


@pytest.mark.parametrize(("plant", "title"), PLANTED.values(), ids=PLANTED.keys())
def test_planted_bugs_are_caught(
    plant: Callable[[pytest.MonkeyPatch], None], title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_bytes(PLANS[title], 200, given=False)
    plant(monkeypatch)
    with pytest.raises((AssertionError, dn.ReportError)):
        check_bytes(PLANS[title], 200, given=False)


def test_a_share_that_is_off_by_one_is_caught_by_all_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    share_off_by_one(monkeypatch)
    with pytest.raises(AssertionError):
        test_every_draw_of_an_arm(PLANS["unequal shares"])


# -- records -----------------------------------------------------------------------------------------------------------


@every_plan
@pytest.mark.parametrize("arm", [None, "its arm"])
def test_records_are_encoded_for_their_arm(plan: dn.Plan, arm: str | None) -> None:
    """From answers in any form: the reports of codes that the client gives, one by one."""
    if (arm is None and plan.assigned) or (arm is not None and not plan.has_arms):
        return
    rng = np.random.default_rng(1)
    records = some_records(plan, 300, rng)
    codes = [
        np.array([client.encode(feature.to_json(), record.get(feature.name)) for record in records], np.int16)
        for feature in plan.schema
    ]
    numbers = None if arm is None else np.array([plan.arm_names.index(record["its arm"]) for record in records])
    expected = randomize_codes(codes, plan, seeded(np.random.default_rng(2)), numbers)
    assert dn.randomize(records, plan, rng=np.random.default_rng(2), arm=arm) == expected
    if arm is not None:
        assert [len(part) for part in expected.arms] == np.bincount(numbers, minlength=len(plan.arms)).tolist()
