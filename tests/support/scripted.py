"""Draws written out in advance, so that client and bulk code can be given the same ones.

For each feature of a record: a list of steps, each a list of attempts, of which the last is accepted. What a step is
and what is rejected is written here a second time, from spec/report-format.md.
"""

import struct
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.survey.plan import Plan

Steps = list[list[int]]
LEFT_OUT = object()  # stands for a question that a record does not have at all


def some_draws(feature: dict[str, Any], rng: np.random.Generator) -> Steps:
    """Random draws for one answer, with more rejections, and more draws next to a threshold, than chance would give."""
    protocol = feature["protocol"]
    match protocol["name"]:
        case "randomized response":
            return [[_near(rng, protocol["p"], protocol["q"])]]
        case "unary encoding":
            return [[_near(rng, protocol["p"], protocol["q"])] for _ in feature["values"]]
        case "GRR":
            return [[_near(rng, protocol["keep"])], _uniform(rng, len(feature["values"]))]
        case "subset selection":
            others = len(feature["values"]) - 1
            shuffle = [_uniform(rng, others - place) for place in range(protocol["size"])]
            return [[_near(rng, protocol["q"])], *shuffle]
        case "local hashing":
            seed = [_coefficient(rng) for _ in range(4)]
            return [*seed, [_near(rng, protocol["keep"])], _uniform(rng, protocol["buckets"])]
    return []


def _below(rng: np.random.Generator, n: int) -> int:
    return int(rng.integers(n))


def _near(rng: np.random.Generator, *thresholds: int) -> int:
    """Half of the time just below a threshold, on it, or just above."""
    if rng.random() < 0.5:
        return _below(rng, 65536)
    return min(max(0, int(rng.choice(thresholds)) + _below(rng, 3) - 1), 65535)


def _uniform(rng: np.random.Generator, m: int) -> list[int]:
    share = 65536 // m
    accepted = m * share
    again = _below(rng, 3) if accepted < 65536 else 0
    edge = share * _below(rng, m) + (0 if rng.random() < 0.5 else share - 1)  # an end of a value's share
    return [accepted + _below(rng, 65536 - accepted) for _ in range(again)] + [edge]


def _coefficient(rng: np.random.Generator) -> list[int]:
    again = max(0, _below(rng, 4) - 1)
    return [0x7FFFFFFF | _below(rng, 2) << 31 for _ in range(again)] + [_below(rng, 0x7FFFFFFF) | _below(rng, 2) << 31]


def width(feature: dict[str, Any], step: int) -> str:
    """How a draw is packed: 32 bits for a hash's coefficients, 16 bits for all else."""
    return "<I" if feature["protocol"]["name"] == "local hashing" and step < 4 else "<H"


def answers(feature: dict[str, Any]) -> list[Any]:
    """All answers to a question, as the plan's JSON has it, in the order of their codes."""
    return feature.get("values") or [False, True, *([feature["missing"]] if "missing" in feature else [])]


def units(document: dict[str, Any], arm: int) -> list[dict[str, Any]]:
    """Each block of an arm of a plan of version 2 as one feature: its protocol, and a value for each combination."""
    made = []
    for block in document["arms"][arm]["blocks"]:
        features = [document["features"][place] for place in block["features"]]
        combinations = list(product(*map(answers, features)))
        flag = len(features) == 1 and len(answers(features[0])) == 2 and "values" not in features[0]
        made.append({"protocol": block["protocol"]} | ({} if flag else {"values": combinations}))
    return made


def arm_draw(document: dict[str, Any], rng: np.random.Generator) -> int:
    """A draw of an arm, half of the time an end of an arm's share."""
    bounds = np.cumsum([arm["share"] for arm in document["arms"]])
    if rng.random() < 0.5:
        return _below(rng, 65536)
    return int(rng.choice([*bounds[:-1], *(bounds - 1)]))


def arm_source(document: dict[str, Any], arm: int, draws: Sequence[Steps], first: int | None) -> "_Stream":
    """A source that gives the draw of the arm, if there is one, and then those of its blocks."""
    stream = b"" if first is None else struct.pack("<H", first)
    for unit, steps in zip(units(document, arm), draws, strict=True):
        stream += b"".join(
            struct.pack(width(unit, step), draw) for step, attempts in enumerate(steps) for draw in attempts
        )
    return _Stream(stream)


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
    """An answer in one of the forms it may be given in; of many values, often one of the last."""
    if "missing" in feature and rng.random() < 0.4:
        return [None, "", feature["missing"], LEFT_OUT][_below(rng, 4)]
    if "values" not in feature:
        return [True, False, 1, 0, "true", "False"][_below(rng, 6)]
    if "edges" in feature and rng.random() < 0.8:
        finite = [edge for edge in feature["edges"][:-1] if edge != "-inf"]  # JSON has no infinite numbers
        edge = float(finite[_below(rng, len(finite))])
        return [edge, edge + 0.25, f"{edge}", f"{edge}e0"][_below(rng, 4)]
    last = len(feature["values"]) - 1
    return feature["values"][last - _below(rng, 3) if last > 8 and rng.random() < 0.5 else _below(rng, last + 1)]


def some_records(plan: Plan, document: dict[str, Any], count: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    assert plan.fingerprint == document["fingerprint"]
    drawn = [{f["name"]: some_answer(f, rng) for f in document["features"]} for _ in range(count)]
    return [{name: answer for name, answer in record.items() if answer is not LEFT_OUT} for record in drawn]
