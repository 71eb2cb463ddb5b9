"""Which bytes can be a report of a plan: decided on arrival, so that no hostile report can block counting later.

A report is one little-endian integer. The number of its arm must exist, each field must show something that the
block's protocol can show, and the bits after the last field must be zero.

    randomized response, unary encoding, a public flag    any bits
    GRR, a public choice                                  an index below m
    subset selection                                      just `size` bits that are 1
    local hashing                                         four coefficients below the prime, and a bucket below g
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from deniable import client


class Below(NamedTuple):
    """A field of a report that must be below a number."""

    at: int  # its lowest bit
    mask: int
    limit: int


class Marked(NamedTuple):
    """A field of a report in which just so many bits must be 1."""

    at: int
    mask: int
    bits: int


class Arm(NamedTuple):
    """What must hold for the reports of one arm."""

    below: tuple[Below, ...]
    marked: tuple[Marked, ...]
    end: int  # the bit after the last field


@dataclass(frozen=True)
class ReportForm:
    """What the reports of one plan look like: their length in bytes, and what must hold for their fields."""

    size: int
    arm_mask: int
    arms: tuple[Arm, ...]

    @classmethod
    def of(cls, plan: client.Plan) -> "ReportForm":
        """The form of a plan's reports, from its JSON or from what `client.read` made of it."""
        checked = client.read(plan)
        bits = (len(checked.arms) - 1).bit_length()
        return cls(checked.length, (1 << bits) - 1, tuple(_arm(blocks, bits) for blocks in checked.arms))

    def fault(self, report: bytes) -> str | None:
        """Why these bytes cannot be a report of the plan, or None if they can.

        Examples
        --------
        >>> plan = dn.Plan(dn.Schema([dn.Choice("age", ["young", "old", "very old"])]), {"age": dn.GRR(epsilon=1.0)})
        >>> form = ReportForm.of(plan.to_json())
        >>> form.fault(bytes([2])), form.fault(bytes([3]))
        (None, 'a field shows an answer that there is not')
        """
        if len(report) != self.size:
            return f"it has {len(report)} bytes, where this plan's reports have {self.size}"
        number = int.from_bytes(report, "little")
        if (arm := number & self.arm_mask) >= len(self.arms):
            return "it is of an arm that there is not"
        below, marked, end = self.arms[arm]
        if number >> end:
            return "it has bits after its last field"
        for at, mask, limit in below:
            if number >> at & mask >= limit:
                return "a field shows an answer that there is not"
        for at, mask, bits in marked:
            if (number >> at & mask).bit_count() != bits:
                return "a field shows more or fewer answers than its protocol does"
        return None


def _arm(blocks: tuple[client.Block, ...], at: int) -> Arm:
    below: list[Below] = []
    marked: list[Marked] = []
    for block in blocks:
        below += _below(block, at)
        if size := block.protocol.get("size"):
            marked.append(Marked(at, (1 << block.width) - 1, size))
        at += block.width
    return Arm(tuple(below), tuple(marked), at)


def _below(block: client.Block, at: int) -> Iterator[Below]:
    """The fields of a block that can show too high a number."""
    limit = block.m
    match block.protocol["name"]:
        case "local hashing":
            for place in range(client.COEFFICIENTS):
                yield Below(at + 32 * place, (1 << 32) - 1, client.PRIME)
            at += 32 * client.COEFFICIENTS
            limit = block.protocol["buckets"]
        case "GRR" | "public":
            pass
        case _:
            return
    width = (limit - 1).bit_length()
    if limit != 1 << width:
        yield Below(at, (1 << width) - 1, limit)
