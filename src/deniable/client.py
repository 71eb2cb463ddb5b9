"""One respondent's answers, randomized on their own device.

This file runs where the answers are given. It needs the standard library alone and imports nothing else of the
package, so that it can be read in one sitting and copied as it is. `report` is the whole of it:

    record + plan's JSON  --(the operating system's randomness)-->  a fixed number of bytes

A report is one little-endian integer: each feature, in the plan's order, owns the next bits of it.

    flag, randomized response   1 bit           1 with probability q if true, else p
    unary encoding              m bits          the same for every value, the true one with q, the others with p
    GRR                         bits of m - 1   the true value's index if the coin keeps it, else a uniform one
    local hashing               128 + bits of g - 1   four 32-bit coefficients of a hash, then its bucket by GRR
    public                      as flag or GRR  the answer as it is

Every probability is an integer over 65 536 and every draw a 16-bit integer compared with it, so nothing is rounded.
No draw is skipped because of the answer: length, number of draws and order are the same whatever was answered.
docs/report-format.md draws the layout; tests/vectors.json has draws and bytes to check another client against.
"""

import bisect
import functools
import hashlib
import json
import math
import numbers
import os
import struct
from collections.abc import Callable, Mapping
from typing import Any

VERSION = 1
SCALE = 1 << 16  # probabilities are integers over this
PRIME = (1 << 31) - 1  # hashes are polynomials modulo this
COEFFICIENTS = 4  # of a cubic polynomial: any four values hash independently

Source = Callable[[int], bytes]  # n -> n random bytes

FLAG_WORDS = {"true": 1, "True": 1, "TRUE": 1, "1": 1, "false": 0, "False": 0, "FALSE": 0, "0": 0}


class DeniableError(ValueError):
    """Root of all errors that this package raises on purpose."""


class PlanError(DeniableError):
    """A plan, or a protocol in it, that cannot be used."""


class AnswerError(DeniableError):
    """An answer that does not fit the question."""


def report(record: Mapping[str, Any], plan: str | bytes | Mapping[str, Any]) -> bytes:
    """Randomize one record, `{feature name: answer}`, as the plan's JSON says: text, or already parsed.

    Randomness comes from the operating system. If that fails, this raises; there is no other generator.
    """
    return report_from(os.urandom, record, read(plan))


def report_from(source: Source, record: Mapping[str, Any], plan: Mapping[str, Any]) -> bytes:
    """`report` with its randomness as an argument: for tests, never for answers that matter."""
    features = plan["features"]
    codes = [encode(feature, answer(record, feature["name"])) for feature in features]
    bits = position = 0
    for feature, code in zip(features, codes, strict=True):
        field, width = PERTURB[feature["protocol"]["name"]](code, feature, source)
        bits |= field << position
        position += width
    return bits.to_bytes((position + 7) // 8, "little")


# -- the plan ---------------------------------------------------------------------------------------------------------


def read(plan: str | bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    """Parse a plan's JSON and refuse it unless version, fingerprint and probabilities are as they must be."""
    if not isinstance(plan, Mapping):
        try:
            plan = json.loads(plan)
        except ValueError as error:
            raise PlanError(f"the plan is not JSON: {error}") from None
    if not isinstance(plan, Mapping) or plan.get("version") != VERSION or not isinstance(plan.get("features"), list):
        found = plan.get("version") if isinstance(plan, Mapping) else plan
        raise PlanError(f"this client reads plans of version {VERSION}; found {found!r}")
    if plan.get("fingerprint") != (made := fingerprint(plan)):
        raise PlanError(
            f"the plan was changed after it was made: it says its fingerprint is {plan.get('fingerprint')!r}, "
            f"but its content gives {made!r}; get the plan again from whoever made it"
        )
    for place, feature in enumerate(plan["features"]):
        try:
            check(feature)
        except (KeyError, TypeError) as error:
            raise PlanError(f"feature {place} of the plan is malformed ({error!r}): {feature!r}") from None
    return plan


def fingerprint(plan: Mapping[str, Any]) -> str:
    """SHA-256 of what the plan means: version and features as JSON with sorted keys, no spaces, in UTF-8."""
    meaning = {"version": plan["version"], "features": plan["features"]}
    text = json.dumps(meaning, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check(feature: Mapping[str, Any]) -> None:
    """Refuse a feature whose protocol would not randomize as it should."""
    protocol = feature["protocol"]
    name, where = protocol["name"], f"feature {feature['name']!r}"
    if name not in PERTURB:
        raise PlanError(f"{where}: unknown protocol {name!r}; this client knows {', '.join(PERTURB)}")
    wanted = INTEGERS[name]
    if set(protocol) - {"name"} != set(wanted):
        raise PlanError(f"{where}: {name} has {', '.join(wanted) or 'no numbers'}; found {dict(protocol)}")
    for key, (least, most) in wanted.items():
        if type(protocol[key]) is not int or not least <= protocol[key] <= most:
            raise PlanError(f"{where}: {key} must be a whole number from {least} to {most}; found {protocol[key]!r}")
    if "p" in wanted and protocol["p"] >= protocol["q"]:
        raise PlanError(f"{where}: p must be below q; found p = {protocol['p']}, q = {protocol['q']}")
    if (name in FLAGS_ONLY and "values" in feature) or (name in CHOICES_ONLY and "values" not in feature):
        kind = "choice" if "values" in feature else "flag"
        raise PlanError(f"{where} is a {kind}: {name} cannot randomize it")


# -- answers ----------------------------------------------------------------------------------------------------------


def answer(record: Mapping[str, Any], name: str) -> Any:
    """Look a feature's answer up in a record."""
    if name not in record:
        raise AnswerError(f"column {name!r} is missing; found {', '.join(map(repr, record)) or 'none'}")
    return record[name]


def encode(feature: Mapping[str, Any], answer: Any) -> int:
    """Turn an answer into its code: 0 or 1 for a flag, the value's index for a choice."""
    name, values = feature["name"], feature.get("values")
    if answer is None or answer != answer:
        hint = f"list a value such as 'no answer' in {name!r}" if values else "ask it as a choice with a 'no answer'"
        raise AnswerError(f"column {name!r} has no answer (null); leave the record out, or {hint}")
    if values is None:
        return _encode_flag(name, answer)
    if isinstance(answer, bool) or not isinstance(answer, str | numbers.Real):
        raise AnswerError(f"column {name!r} takes text or a number; found {answer!r} ({type(answer).__name__})")
    code = _codes(tuple(values)).get(answer if isinstance(answer, str) else number_text(answer))
    if code is None and "edges" in feature:
        return _encode_number(name, feature["edges"], answer)
    if code is None:
        shown = ", ".join(map(repr, values[:8])) + (f", ... ({len(values)} in all)" if len(values) > 8 else "")
        raise AnswerError(f"column {name!r}: {answer!r} is not one of its values {shown}")
    return code


def _encode_flag(name: str, answer: Any) -> int:
    if isinstance(answer, str) and answer in FLAG_WORDS:
        return FLAG_WORDS[answer]
    if isinstance(answer, numbers.Real) and answer in (0, 1):
        return 1 if answer else 0
    raise AnswerError(f"column {name!r} is a flag and takes true, false, 1 or 0; found {answer!r}")


def _encode_number(name: str, edges: list[str], answer: Any) -> int:
    bounds = [float(edge) for edge in edges]
    try:
        number = float(answer)
    except ValueError:
        raise AnswerError(f"column {name!r} takes a number; found {answer!r}") from None
    if not bounds[0] <= number <= bounds[-1]:
        raise AnswerError(f"column {name!r}: {answer!r} is outside its ranges, {edges[0]} to {edges[-1]}")
    return min(bisect.bisect_right(bounds, number), len(bounds) - 1) - 1


@functools.lru_cache(maxsize=64)
def _codes(values: tuple[str, ...]) -> dict[str, int]:
    return {value: code for code, value in enumerate(values)}


def number_text(number: Any) -> str:
    """Write a number as a choice's values write it: whole numbers without a point, others as short as is exact."""
    number = float(number) if not isinstance(number, int) else number
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)


# -- randomizing: each takes (code, feature, source) and gives (field, width in bits) ---------------------------------


def _bits(code: int, feature: Mapping[str, Any], source: Source) -> tuple[int, int]:
    protocol = feature["protocol"]
    columns = range(len(feature["values"])) if "values" in feature else range(1, 2)
    field = 0
    for place, (column, draw) in enumerate(zip(columns, _draws(source, len(columns)), strict=True)):
        field |= (draw < protocol["q" if column == code else "p"]) << place
    return field, len(columns)


def _grr(code: int, feature: Mapping[str, Any], source: Source) -> tuple[int, int]:
    return _keep_or_uniform(code, feature["protocol"]["keep"], len(feature["values"]), source)


def _local_hashing(code: int, feature: Mapping[str, Any], source: Source) -> tuple[int, int]:
    buckets = feature["protocol"]["buckets"]
    seed = [_coefficient(source) for _ in range(COEFFICIENTS)]
    h = 0
    for c in reversed(seed):  # c0 + c1 x + c2 x^2 + c3 x^3 modulo the prime, at x = the value's index
        h = (h * code + c) % PRIME
    field, width = _keep_or_uniform(h * buckets // PRIME, feature["protocol"]["keep"], buckets, source)
    packed = int.from_bytes(struct.pack(f"<{COEFFICIENTS}I", *seed), "little")
    return packed | field << 32 * COEFFICIENTS, 32 * COEFFICIENTS + width


def _public(code: int, feature: Mapping[str, Any], source: Source) -> tuple[int, int]:  # noqa: ARG001 - one contract
    levels = len(feature["values"]) if "values" in feature else 2
    return code, (levels - 1).bit_length()


def _keep_or_uniform(code: int, keep: int, m: int, source: Source) -> tuple[int, int]:
    (coin,) = _draws(source, 1)
    other = _uniform(m, source)  # drawn even when the answer is kept, or the time taken would show the coin
    return (code if coin < keep else other), (m - 1).bit_length()


def _uniform(m: int, source: Source) -> int:
    share = SCALE // m  # each value owns this many of the 65 536 draws; the few left over are drawn again
    while True:
        (draw,) = _draws(source, 1)
        if draw < share * m:
            return draw // share


def _coefficient(source: Source) -> int:
    while True:
        (draw,) = struct.unpack("<I", source(4))
        if draw & PRIME < PRIME:  # the low 31 bits, all of them equally likely but for the prime itself
            return int(draw & PRIME)


def _draws(source: Source, count: int) -> tuple[int, ...]:
    return struct.unpack(f"<{count}H", source(2 * count))


PERTURB: dict[str, Callable[[int, Mapping[str, Any], Source], tuple[int, int]]] = {
    "randomized response": _bits,
    "GRR": _grr,
    "unary encoding": _bits,
    "local hashing": _local_hashing,
    "public": _public,
}
_COIN = (1, SCALE - 1)
INTEGERS: dict[str, dict[str, tuple[int, int]]] = {  # what a protocol's JSON holds, from least to most
    "randomized response": {"p": _COIN, "q": _COIN},
    "GRR": {"keep": _COIN},
    "unary encoding": {"p": _COIN, "q": _COIN},
    "local hashing": {"keep": _COIN, "buckets": (2, 4096)},
    "public": {},
}
FLAGS_ONLY = ("randomized response",)
CHOICES_ONLY = ("GRR", "unary encoding", "local hashing")
