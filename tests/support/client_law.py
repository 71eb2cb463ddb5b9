"""The exact distribution of whole reports of the client, by enumeration over all its draws."""

import struct
from bisect import bisect_right
from collections import Counter
from fractions import Fraction
from itertools import chain, pairwise, product
from typing import Any

import deniable as dn
from deniable import client

Law = dict[bytes, Fraction]


def law(plan: dn.Plan, record: dict[str, Any], arm: str | None = None) -> Law:
    """P(report | record), exactly.

    Draws between two of the plan's numbers all do the same, so one of each such cell is tried, with its weight; which
    draw is compared with which number is left to the client. Where it draws again, the branch is dropped: what it
    shows does not depend on how often it drew.
    """
    checked = client.read(plan.to_json())
    cells = _cells(checked)
    weights: Counter[bytes] = Counter()
    for branch in _branches(checked, record, cells, arm):
        weight = 1
        for draw in branch:
            weight *= dict(cells)[draw]
        weights[_sent(checked, record, branch, arm)] += weight * 65536 ** (8 - len(branch))
    total = sum(weights.values())
    return {sent: Fraction(weight, total) for sent, weight in weights.items()}


def worst_ratio(laws: list[Law]) -> Fraction:
    """The largest ratio of the probabilities of one report under any two records."""
    return max(one[sent] / other[sent] for one, other in product(laws, repeat=2) for sent in one)


def records(plan: dn.Plan) -> list[dict[str, Any]]:
    """All combinations of answers."""
    return [
        dict(zip(plan.schema.names, answers, strict=True)) for answers in product(*(f.answers for f in plan.schema))
    ]


def _cells(plan: client.CheckedPlan) -> list[tuple[int, int]]:
    """The first draw of each cell, and how many draws it has."""
    numbers = {0, 65536, *plan.bounds}
    for block in chain(*plan.arms):
        numbers |= {number for key, number in block.protocol.items() if key in ("p", "q", "keep")}
        for m in range(2, block.m + 1):
            numbers |= {65536 // m * value for value in range(m + 1)}
    return [(low, high - low) for low, high in pairwise(sorted(numbers))]


def _branches(
    plan: client.CheckedPlan, record: dict[str, Any], cells: list[tuple[int, int]], arm: str | None
) -> list[tuple[int, ...]]:
    """All sequences of cells that make a report without any being drawn again."""
    firsts = [low for low, _ in cells]
    found = []
    number = None if arm is None else plan.names.index(arm)
    for first in firsts if number is None and len(plan.arms) > 1 else [None]:
        blocks = plan.arms[bisect_right(plan.bounds, first) if first is not None else number or 0]
        for rest in product(firsts, repeat=sum(_draws(block) for block in blocks)):
            branch = rest if first is None else (first, *rest)
            if _uses_all(plan, record, branch, arm):
                found.append(branch)
    return found


def _draws(block: client.Block) -> int:
    """How many draws a block takes if none is drawn again, as spec/report-format.md has it."""
    match block.protocol["name"]:
        case "GRR":
            return 2
        case "subset selection":
            return 1 + int(block.protocol["size"])
        case "public":
            return 0
    return block.m


def _uses_all(plan: client.CheckedPlan, record: dict[str, Any], branch: tuple[int, ...], arm: str | None) -> bool:
    try:
        _sent(plan, record, branch, arm)
    except IndexError:
        return False
    return True


def _sent(plan: client.CheckedPlan, record: dict[str, Any], branch: tuple[int, ...], arm: str | None) -> bytes:
    left = list(branch)

    def source(count: int) -> bytes:
        return b"".join(struct.pack("<H", left.pop(0)) for _ in range(count // 2))

    sent = client.report_from(source, record, plan, arm)
    assert not left
    return sent
