"""Draws written out in advance, so that client and bulk code can be given the same ones.

For each feature of a record: a list of steps, each a list of attempts, of which the last is accepted. What a step is
and what is rejected is written here a second time, from docs/report-format.md.
"""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.plan import Plan

Steps = list[list[int]]


def some_draws(feature: dict[str, Any], rng: np.random.Generator) -> Steps:
    """Random draws for one answer, with more rejections than chance would give."""
    protocol = feature["protocol"]
    match protocol["name"]:
        case "randomized response":
            return [[_below(rng, 65536)]]
        case "unary encoding":
            return [[_below(rng, 65536)] for _ in feature["values"]]
        case "GRR":
            return [[_below(rng, 65536)], _uniform(rng, len(feature["values"]))]
        case "local hashing":
            seed = [_coefficient(rng) for _ in range(4)]
            return [*seed, [_below(rng, 65536)], _uniform(rng, protocol["buckets"])]
    return []


def _below(rng: np.random.Generator, n: int) -> int:
    return int(rng.integers(n))


def _uniform(rng: np.random.Generator, m: int) -> list[int]:
    accepted = m * (65536 // m)
    again = _below(rng, 3) if accepted < 65536 else 0
    return [accepted + _below(rng, 65536 - accepted) for _ in range(again)] + [_below(rng, accepted)]


def _coefficient(rng: np.random.Generator) -> list[int]:
    again = max(0, _below(rng, 4) - 1)
    return [0x7FFFFFFF | _below(rng, 2) << 31 for _ in range(again)] + [_below(rng, 0x7FFFFFFF) | _below(rng, 2) << 31]


def width(feature: dict[str, Any], step: int) -> str:
    """How a draw is packed: 32 bits for a hash's coefficients, 16 bits for all else."""
    return "<I" if feature["protocol"]["name"] == "local hashing" and step < 4 else "<H"


def client_source(plan: dict[str, Any], draws: dict[str, Steps]) -> Callable[[int], bytes]:
    """A source that gives one record's draws in the client's order."""
    stream = b"".join(
        struct.pack(width(feature, step), draw)
        for feature in plan["features"]
        for step, attempts in enumerate(draws[feature["name"]])
        for draw in attempts
    )
    return _Stream(stream)


def bulk_draws(plan: dict[str, Any], records: list[dict[str, Steps]]) -> Callable[[int], npt.NDArray[np.uint16]]:
    """The same draws for many records in the bulk code's order: the k-th draws of all who need one, together."""
    stream = bytearray()
    for feature in plan["features"]:
        steps = [record[feature["name"]] for record in records]
        for step in range(max(map(len, steps))):
            for attempt in range(max(len(one[step]) for one in steps)):
                for one in steps:
                    if attempt < len(one[step]):
                        stream += struct.pack(width(feature, step), one[step][attempt])
    source = _Stream(bytes(stream))
    return lambda count: np.frombuffer(source(2 * count), "<u2").copy()


class _Stream:
    """Bytes given out once, in order; asking for more than there are is an error."""

    def __init__(self, stream: bytes) -> None:
        self.left = stream

    def __call__(self, count: int) -> bytes:
        assert count <= len(self.left), "more draws were asked for than the format says"
        given, self.left = self.left[:count], self.left[count:]
        return given


def some_answer(feature: dict[str, Any], rng: np.random.Generator) -> Any:
    if "values" not in feature:
        return bool(rng.integers(2))
    return feature["values"][int(rng.integers(len(feature["values"])))]


def some_records(plan: Plan, document: dict[str, Any], count: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    assert plan.fingerprint == document["fingerprint"]
    return [{f["name"]: some_answer(f, rng) for f in document["features"]} for _ in range(count)]
