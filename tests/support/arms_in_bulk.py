"""Plans with blocks and arms, and a slow second way from records and draws to the bytes of their reports.

The slow way is written from the report format alone: Python integers, one record at a time, one report at a time.
"""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.survey.blocks import Block
from tests.support.designs import SKIPPED
from tests.support.scripted import LEFT_OUT, Steps, some_answer, some_draws, width

QUESTIONS = [
    dn.Choice("region", ["north", "south", "west"]),
    dn.Flag("smoker"),
    dn.Choice("age", ["young", "middle", "old"]),
    dn.Choice.bins("income", [0, 10.5, 100]),
    dn.Flags("drugs", ["none", "tea", "other"]),
    dn.Flag("wave two"),
]
SCHEMA = dn.Schema(QUESTIONS)
DRUGS = ("drugs: none", "drugs: tea", "drugs: other")
PUBLIC = {"region": dn.Public(), "wave two": dn.Public()}


def arm(protocols: dict[Any, Any]) -> dn.Plan:
    """An arm that asks these blocks, of the schema above."""
    names = {name for key in protocols for name in (key if isinstance(key, tuple) else (key,))}
    return dn.Plan(dn.Schema(one for one in SCHEMA if one.name in names), protocols)


PLANS = {
    "blocks alone": dn.Plan(SCHEMA, epsilon=4.0, together=[["smoker", "age"], ["drugs", "wave two"]]),
    "blocks of every protocol": dn.Plan(
        dn.Schema([dn.Flag(f"f{k}") for k in range(10)]),
        {
            ("f0", "f5"): dn.GRR(epsilon=1.0),
            ("f1", "f6"): dn.SubsetSelection(epsilon=1.0, size=2),
            ("f2", "f7", "f8"): dn.UnaryEncoding.optimized(1.0),
            ("f3", "f9"): dn.LocalHashing(epsilon=1.0),
            "f4": dn.RandomizedResponse(epsilon=1.0),
        },
    ),
    "two flags": dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=1.0, arms=[["a"], ["b"]]),
    "arms of every protocol": dn.Plan(
        SCHEMA,
        arms={
            "by value": arm(PUBLIC | {("smoker", "age"): dn.GRR(epsilon=2.0)}),
            "by set": arm(PUBLIC | {("age", "income"): dn.SubsetSelection(epsilon=2.0, size=2)}),
            "by bits": arm(
                PUBLIC | {DRUGS: dn.UnaryEncoding.optimized(1.0), "smoker": dn.RandomizedResponse(epsilon=1)}
            ),
            "by hash": arm(PUBLIC | {("income", *DRUGS[:2]): dn.LocalHashing(epsilon=2.0, buckets=5)}),
            "by one bit": arm(PUBLIC | {"smoker": dn.RandomizedResponse(epsilon=2.0)}),
        },
        unequal=True,
    ),
    "unequal shares": dn.Plan(
        SCHEMA,
        PUBLIC,
        epsilon=2.0,
        arms={("smoker", "age"): 0.9, ("smoker", "income"): 0.0999, ("drugs",): 0.0001},
    ),
    "the same blocks in several arms": dn.Plan(
        dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", ["x", "y", "z"])]),
        epsilon=2.0,
        arms=[[["a"], ["b"]], [["b"], ["c"]], [["c"], ["a"]], ["a"], ["b", "c"]],
    ),
    "a question called arm": dn.Plan(
        dn.Schema([dn.Flag("arm"), dn.Choice("x", ["u", "v"])]), epsilon=1.0, arms={"x": ["arm"], "arm": ["x"]}
    ),
    "every pair of 9 flags": dn.Plan(
        dn.Schema([dn.Flag(f"f{k}") for k in range(9)]),
        epsilon=1.0,
        arms=[[f"f{a}", f"f{b}"] for a in range(9) for b in range(a)],
    ),
    "missing answers": dn.Plan(
        SKIPPED, {"invited": dn.Public()}, epsilon=2.0, arms=[["smoker", "age"], [["drinks"], ["last"]], ["income"]]
    ),
    "missing answers alone": dn.Plan(
        SKIPPED,
        {
            "smoker": dn.UnaryEncoding.optimized(1.0),
            "age": dn.LocalHashing(epsilon=1.0, buckets=2),
            "income": dn.SubsetSelection(epsilon=1.0, size=2),
            "invited": dn.Public(),
        },
        epsilon=4.0,
    ),
    "assigned": dn.Plan(
        dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=1.0, arms={"panel": ["a"], "street": ["b"]}, assigned=True
    ),
}
every_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())


def some_records(plan: dn.Plan, count: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Complete records, with answers in every form that they may be given in, and an arm for each."""
    features = [feature.to_json() for feature in plan.schema]
    drawn = [
        {feature["name"]: some_answer(feature, rng) for feature in features}
        | {"its arm": plan.arm_names[int(rng.integers(len(plan.arms)))]}
        for _ in range(count)
    ]
    return [{name: answer for name, answer in record.items() if answer is not LEFT_OUT} for record in drawn]


def some_reports(plan: dn.Plan, count: int = 100) -> dn.Reports:
    rng = np.random.default_rng(count)
    given = "its arm" if plan.assigned else None
    return dn.randomize(some_records(plan, count, rng), plan, rng=rng, arm=given)


# -- the slow way ------------------------------------------------------------------------------------------------------


def code_of(block: Block, answers: dict[str, int]) -> int:
    """The code of a block from those of its features: digits, the first feature slowest."""
    code = 0
    for feature in block.features:
        code = code * feature.levels + answers[feature.name]
    return code


def unit_json(block: Block) -> dict[str, Any]:
    """A block as one question, in the form of a plan's JSON."""
    values = {} if len(block.unit.columns) == 1 else {"values": list(map(str, block.unit.answers))}
    return block.unit.to_json() | values | {"protocol": {"name": block.protocol.name, **block.protocol.integers}}


def shown(unit: dict[str, Any], code: int, steps: Steps) -> tuple[int, int]:
    """What a report shows of a block, and in how many bits, if these are its draws; the last attempt of each counts."""
    drawn = [attempts[-1] for attempts in steps]
    protocol, m = unit["protocol"], len(unit.get("values", "01"))
    match protocol["name"]:
        case "public":
            return code, (m - 1).bit_length()
        case "randomized response":
            return int(drawn[0] < protocol["q" if code else "p"]), 1
        case "unary encoding":
            bits = [draw < protocol["q" if v == code else "p"] for v, draw in enumerate(drawn)]
            return sum(bit << v for v, bit in enumerate(bits)), m
        case "GRR":
            return (code if drawn[0] < protocol["keep"] else drawn[1] // (65536 // m)), (m - 1).bit_length()
        case "subset selection":
            others = [v for v in range(m) if v != code]
            for at, draw in enumerate(drawn[1:]):
                step = at + draw // (65536 // (m - 1 - at))
                others[at], others[step] = others[step], others[at]
            size = protocol["size"]
            chosen = [*others[: size - 1], code if drawn[0] < protocol["q"] else others[size - 1]]
            return sum(1 << v for v in chosen), m
    buckets, seed = protocol["buckets"], [draw % 2**31 for draw in drawn[:4]]
    true = sum(c * code**k for k, c in enumerate(seed)) % (2**31 - 1) * buckets // (2**31 - 1)
    bucket = true if drawn[4] < protocol["keep"] else drawn[5] // (65536 // buckets)
    return sum(c << 32 * k for k, c in enumerate([*seed, bucket])), 128 + (buckets - 1).bit_length()


def bits_of(plan: dn.Plan) -> int:
    """How long the fields of a plan without arms are."""
    return sum(shown(unit, 0, some_draws(unit, np.random.default_rng(0)))[1] for unit in map(unit_json, plan.blocks))


def slow_report(plan: dn.Plan, number: int, answers: dict[str, int], draws: list[Steps]) -> bytes:
    """The bytes of one report of this arm."""
    low = (len(plan.arms) - 1).bit_length()
    report, at = number, low
    for block, steps in zip(plan.arms[number].blocks, draws, strict=True):
        field, wide = shown(unit_json(block), code_of(block, answers), steps)
        report, at = report | field << at, at + wide
    return report.to_bytes((low + max(map(bits_of, plan.arms)) + 7) // 8, "little")


def slow_arm(plan: dn.Plan, draw: int) -> int:
    """The first arm whose cumulated shares exceed the draw."""
    total = 0
    for number, share in enumerate(plan.shares):
        total += share
        if total > draw:
            return number
    raise AssertionError("shares sum to 65 536")


def stream(plan: dn.Plan, arms: list[int], draws: list[list[Steps]], first: list[int]) -> Callable[[int], Any]:
    """The draws in the bulk code's order: all records' arms, then arm by arm, block by block, the k-th draws of all."""
    out = bytearray(struct.pack(f"<{len(first)}H", *first))
    for number, own in enumerate(plan.arms):
        for place, block in enumerate(own.blocks):
            unit = unit_json(block)
            steps = [one[place] for one, where in zip(draws, arms, strict=True) if where == number]
            for step in range(max(map(len, steps), default=0)):
                for attempt in range(max(len(one[step]) for one in steps)):
                    for one in steps:
                        if attempt < len(one[step]):
                            out += struct.pack(width(unit, step), one[step][attempt])
    left = [bytes(out)]

    def give(count: int) -> npt.NDArray[np.uint16]:
        assert 2 * count <= len(left[0]), "more draws were asked for than the format says"
        given, left[0] = left[0][: 2 * count], left[0][2 * count :]
        return np.frombuffer(given, "<u2").copy()

    give.left = lambda: len(left[0])  # type: ignore[attr-defined]
    return give


def rows_by_arm(reports: dn.Reports) -> list[tuple[int, dict[str, Any]]]:
    """The arm of each report, and what it shows in the columns of that arm, one at a time."""
    return [(number, row) for number, part in enumerate(reports.arms) for row in part.table.to_pylist()]
