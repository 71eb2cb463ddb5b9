"""A second client, written slowly from spec/report-format.md: strings of bits, lists of all combinations, no shifts."""

from itertools import pairwise, product
from typing import Any

from tests.support.scripted import Steps


def slow_report(document: dict[str, Any], record: dict[str, Any], arm: int, draws: list[Steps]) -> bytes:
    """The bytes of a report of a plan of version 2, in an arm by its number, for the draws of each of its blocks."""
    longest = max(len(_fields(document, other, None, None)) for other in range(len(document["arms"])))
    bits = _fields(document, arm, record, draws)
    bits += "0" * (longest - len(bits))
    bits += "0" * (-len(bits) % 8)
    return bytes(sum(2**place for place in range(8) if bits[at + place] == "1") for at in range(0, len(bits), 8))


def drawn_arm(document: dict[str, Any], draw: int) -> int:
    """The arm that owns a draw, when each is dealt as many draws as its share."""
    owners = [number for number, arm in enumerate(document["arms"]) for _ in range(arm["share"])]
    return owners[draw]


def _fields(document: dict[str, Any], arm: int, record: Any, draws: list[Steps] | None) -> str:
    """Bits from the lowest on: the arm's number, then each block. Without a record, as many bits of any value."""
    bits = _index(arm, len(document["arms"]))
    for place, block in enumerate(document["arms"][arm]["blocks"]):
        features = [document["features"][at] for at in block["features"]]
        answers = list(product(*(range(_levels(feature)) for feature in features)))
        codes = tuple(_code(feature, record.get(feature["name"])) for feature in features) if record else answers[0]
        steps = [attempts[-1] for attempts in draws[place]] if draws else [0] * 99999
        is_flag = len(features) == 1 and "values" not in features[0] and "missing" not in features[0]
        bits += _field(answers.index(codes), len(answers), is_flag, block["protocol"], steps)
    return bits


def _index(number: int, count: int) -> str:
    """A number below a count in as few bits as every such number fits in, the lowest first."""
    digits = 0
    while 2**digits < count:
        digits += 1
    return "".join(str(number // 2**digit % 2) for digit in range(digits))


def _field(code: int, count: int, is_flag: bool, protocol: dict[str, Any], draws: list[int]) -> str:
    match protocol["name"]:
        case "public":
            return _index(code, count)
        case "randomized response" | "unary encoding":
            shown = [1] if is_flag else list(range(count))
            chances = [protocol["q"] if value == code else protocol["p"] for value in shown]
            return "".join("1" if draw < chance else "0" for draw, chance in zip(draws, chances, strict=False))
        case "GRR":
            return _index(code if draws[0] < protocol["keep"] else draws[1] // (65536 // count), count)
        case "subset selection":
            others = [value for value in range(count) if value != code]
            for place in range(protocol["size"]):
                at = place + draws[1 + place] // (65536 // (count - 1 - place))
                others[place], others[at] = others[at], others[place]
            kept = protocol["size"] - 1
            chosen = {*others[:kept], code if draws[0] < protocol["q"] else others[kept]}
            return "".join("1" if value in chosen else "0" for value in range(count))
    seed, prime, buckets = [draw % 2**31 for draw in draws[:4]], 2**31 - 1, protocol["buckets"]
    bucket = sum(c * code**power for power, c in enumerate(seed)) % prime * buckets // prime
    shown_bucket = bucket if draws[4] < protocol["keep"] else draws[5] // (65536 // buckets)
    return "".join(_index(c, 2**32) for c in seed) + _index(shown_bucket, buckets)


def _levels(feature: dict[str, Any]) -> int:
    if "values" in feature:
        return len(feature["values"])
    return 3 if "missing" in feature else 2


def _code(feature: dict[str, Any], answer: Any) -> int:
    if answer in (None, ""):
        answer = feature["missing"]
    if "values" not in feature and "missing" in feature and answer == feature["missing"]:
        return 2
    if "values" not in feature:
        return int(str(answer).lower() in ("true", "1"))
    if answer in feature["values"]:
        return int(feature["values"].index(answer))
    edges = [float(edge) for edge in feature["edges"]]
    ranges = pairwise(edges)
    return next(place for place, (low, high) in enumerate(ranges) if low <= float(answer) < high or high == edges[-1])
