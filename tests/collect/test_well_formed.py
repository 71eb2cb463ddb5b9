"""What is taken on arrival is just what can be read and counted later."""

import random

import numpy as np
import pytest

import deniable as dn
from deniable import client
from deniable.collect.well_formed import ReportForm
from deniable.errors import ReportError
from tests.support.random_plans import random_plan
from tests.support.situations import PLANS, every_plan


def readable(report: bytes, plan: dn.Plan) -> bool:
    try:
        dn.Reports.from_bytes([report], plan)
    except ReportError:
        return False
    return True


def sent(plan: dn.Plan, rng: random.Random) -> bytes:
    """A report of made-up answers."""
    checked = client.read(plan.to_json())
    arm = rng.choice(checked.names)
    record = {one["name"]: rng.choice(one.get("values", (True, False))) for one in client.questions(checked, arm)}
    return client.report_from(rng.randbytes, record, checked, arm)


def altered(report: bytes, rng: random.Random) -> bytes:
    """The same with a bit changed, or another byte, or another length, or nothing of it."""
    changed = bytearray(report)
    match rng.randrange(6):
        case 0:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        case 1:
            changed[-1] = rng.randrange(256)
        case 2:
            return rng.randbytes(len(report))
        case 3:
            return b"\xff" * len(report)
        case 4:
            return rng.choice([report[:-1], report + b"\0", b""])
        case _:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


@every_plan
def test_every_report_of_a_client_is_well_formed(plan: dn.Plan) -> None:
    rng, form = random.Random(1), ReportForm.of(plan.to_json())
    for _ in range(20):
        assert form.fault(sent(plan, rng)) is None


@every_plan
def test_what_is_well_formed_can_be_read_and_nothing_else(plan: dn.Plan) -> None:
    rng, form = random.Random(2), ReportForm.of(plan.to_json())
    for _ in range(60):
        report = altered(sent(plan, rng), rng)
        assert (form.fault(report) is None) == readable(report, plan), report.hex()


def test_the_same_holds_for_arms_and_blocks() -> None:
    """All reports of small random plans, each and every one."""
    rng, refused = random.Random(3), 0
    for _ in range(10):
        plan = random_plan(rng, most=2000)
        form = ReportForm.of(plan.to_json())
        for number in range(min(1 << 8 * form.size, 256)):
            report = number.to_bytes(form.size, "little")
            assert (form.fault(report) is None) == readable(report, plan)
            refused += form.fault(report) is not None
    assert refused > 200


def test_a_report_that_was_taken_is_counted() -> None:
    rng, plan = random.Random(4), PLANS["everything mixed"]
    form = ReportForm.of(plan.to_json())
    reports = [report for _ in range(300) if form.fault(report := altered(sent(plan, rng), rng)) is None]
    counts = dn.count(dn.Reports.from_bytes(reports, plan))
    assert counts.n == len(reports) > 80
    assert np.all(counts.array("grr") <= counts.n)


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (b"", "it has 0 bytes, where this plan's reports have 1"),
        (b"\x03", "of an arm that there is not"),
        (b"\x80", "bits after its last field"),
        (b"\x0e", "an answer that there is not"),
    ],
)
def test_a_fault_is_named(report: bytes, reason: str) -> None:
    age = dn.Choice("age", ["young", "old", "very old"])
    schema = dn.Schema([age, dn.Flag("a"), dn.Flag("b")])
    plan = dn.Plan(schema, epsilon=1.0, arms=[["a"], ["b"], ["age"]])
    assert reason in (ReportForm.of(plan.to_json()).fault(report) or "")
