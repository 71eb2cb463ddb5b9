"""One respondent's answers, randomized on their own device.

This file runs where the answers are given. It needs the standard library alone and imports nothing else of the package,
so that it can be read in one sitting and copied as it is. `report` is the whole of it:

    record + plan's JSON  --(the operating system's randomness)-->  a fixed number of bytes

A report is one little-endian integer: each feature, in the plan's order, owns the next bits of it.

    randomized response   1 bit                   1 with probability q if the flag is true, else p
    unary encoding        m bits                  the same for every value: the true one with q, the others with p
    GRR                   bits of m - 1           the true value's index if a coin keeps it, else a uniform one
    subset selection      m bits                  a set of k values: the true one among them with q, the others uniform
    local hashing         128 + bits of g - 1     four 32-bit coefficients of a hash, then its bucket by GRR
    public                as a flag or as GRR     the answer as it is

Every probability is an integer over 65 536 and every draw a 16-bit integer compared with it, so nothing is rounded.
No draw is skipped because of the answer: length, number of draws and order are the same whatever was answered.
spec/report-format.md draws the layout; spec/vectors.json has draws and bytes to check another client against.

A plan is refused unless its fingerprint and its epsilon follow from its content. Whoever can change a plan can still
make another one: a device that must use one certain plan compares its fingerprint with the one it expects.
"""

import bisect
import functools
import hashlib
import json
import math
import numbers
import os
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fractions import Fraction

VERSION = 1  # This client reads plans of this version.
SCALE = 1 << 16  # Probabilities are integers over this.
PRIME = (1 << 31) - 1  # Hashes are polynomials modulo this prime.
COEFFICIENTS = 4  # A hash is a cubic polynomial, so that any four values hash independently.
MAX_VALUES = 4096  # A choice has at most so many values.

Source = Callable[[int], bytes]  # n -> n random bytes
Feature = Mapping[str, Any]

FLAG_WORDS = {"true": 1, "True": 1, "TRUE": 1, "1": 1, "false": 0, "False": 0, "FALSE": 0, "0": 0}
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


class DeniableError(ValueError):
    """Root of all errors that this package raises on purpose."""


class PlanError(DeniableError):
    """A plan, or a protocol in it, that cannot be used."""


class AnswerError(DeniableError):
    """An answer that does not fit the question."""


def report(record: Mapping[str, Any], plan: str | bytes | Mapping[str, Any]) -> bytes:
    """Randomize one record as a plan says. Randomness comes from the operating system; if that fails, this raises.

    Parameters
    ----------
    record
        `{feature name: answer}`; other keys are not looked at.
    plan
        The plan's JSON, as text or already parsed.

    Returns
    -------
    bytes
        The report, whose length is the same for every record of the plan.

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    >>> len(report({"smoker": True}, plan.to_json()))
    1
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


# -- the plan ----------------------------------------------------------------------------------------------------------


def read(plan: str | bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    """Parse a plan's JSON; refuse it unless it is whole and its fingerprint and epsilon follow from its content."""
    if not isinstance(plan, Mapping):
        plan = _parse(plan)
    version, features = plan.get("version"), plan.get("features")
    if type(version) is not int or version != VERSION or not isinstance(features, list):
        raise PlanError(f"this client reads plans of version {VERSION}; found {version!r}")
    try:
        made = fingerprint(plan)
    except UnicodeError:
        raise PlanError("the plan holds text that is not Unicode") from None
    if plan.get("fingerprint") != made:
        raise PlanError(
            f"the plan was changed after it was made: it says its fingerprint is {plan.get('fingerprint')!r}, "
            f"but its content gives {made!r}; get the plan again from whoever made it"
        )
    _check_features(features)
    total = log_up(ratio(feature["protocol"], len(feature.get("values", "1"))) for feature in features)
    if plan.get("epsilon") != total:
        raise PlanError(
            f"the plan says its epsilon is {plan.get('epsilon')!r}, but its probabilities give {total!r}; "
            "get it again from whoever made it"
        )
    return plan


def _check_features(features: list[Any]) -> None:
    for place, feature in enumerate(features):
        if not isinstance(feature, Mapping) or not isinstance(feature.get("protocol"), Mapping):
            raise PlanError(f"feature {place} of the plan is not a feature with a protocol: {feature!r}")
        check(feature)
    names = [feature["name"] for feature in features]
    if not names or len(set(names)) < len(names):
        raise PlanError(f"a plan has one or more features of different names; found {names}")


def _parse(text: str | bytes) -> Mapping[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise PlanError(f"a key stands twice in the plan, among {[key for key, _ in pairs]}")
        return dict(pairs)

    try:
        plan = json.loads(text, object_pairs_hook=once)
    except PlanError:
        raise
    except (ValueError, RecursionError) as error:
        raise PlanError(f"the plan is not JSON: {error}") from None
    except TypeError:
        raise PlanError(f"the plan must be JSON text, as plan.to_json() gives it; found {text!r}") from None
    if not isinstance(plan, Mapping):
        raise PlanError(f"the plan must be a JSON object; found {plan!r}")
    return plan


def fingerprint(plan: Mapping[str, Any]) -> str:
    """SHA-256 of what the plan means: version and features as JSON with sorted keys, no spaces, in UTF-8."""
    meaning = {"version": plan["version"], "features": plan["features"]}
    text = json.dumps(meaning, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check(feature: Feature) -> None:
    """Refuse a feature that could not be asked, or whose protocol would not randomize as it should."""
    name, protocol, values = feature.get("name"), feature["protocol"], feature.get("values")
    where = f"feature {name!r}"
    if not isinstance(name, str) or not isinstance(feature.get("question", ""), str):
        raise PlanError(f"a feature's name and question must be text; found {dict(feature)}")
    if unknown := set(feature) - {"name", "question", "values", "edges", "protocol"}:
        raise PlanError(f"{where}: unknown key {', '.join(map(repr, sorted(unknown)))}")
    if "values" in feature:
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise PlanError(f"{where}: values must be a list of texts; found {values!r}")
        if not 2 <= len(values) <= MAX_VALUES or len(set(values)) < len(values):
            raise PlanError(f"{where}: there must be 2 to {MAX_VALUES} different values; found {len(values)}")
    if "edges" in feature:
        _check_edges(where, feature["edges"], values)
    _check_protocol(where, protocol, values)


def _check_edges(where: str, edges: Any, values: list[str] | None) -> None:
    if not isinstance(edges, list) or not all(isinstance(edge, str) and _number(edge) is not None for edge in edges):
        raise PlanError(f"{where}: edges must be a list of numbers as text; found {edges!r}")
    bounds = [float(edge) for edge in edges]
    if values is None or len(edges) != len(values) + 1 or sorted(set(bounds)) != bounds:
        raise PlanError(f"{where}: edges must rise, and be one more than its values; found {edges!r}")


def _check_protocol(where: str, protocol: Mapping[str, Any], values: list[str] | None) -> None:
    name = protocol.get("name")
    if not isinstance(name, str) or name not in PERTURB:
        raise PlanError(f"{where}: unknown protocol {name!r}; this client knows {', '.join(PERTURB)}")
    if name in (FLAGS_ONLY if values else CHOICES_ONLY):
        raise PlanError(f"{where} is a {'choice' if values else 'flag'}: {name} cannot randomize it")
    _check_integers(where, protocol, values)


def _check_integers(where: str, protocol: Mapping[str, Any], values: list[str] | None) -> None:
    """Refuse numbers that are not those of the protocol, or would show a false value as often as the true one."""
    name = protocol["name"]
    wanted = INTEGERS[name]
    if set(protocol) - {"name"} != set(wanted):
        raise PlanError(f"{where}: {name} has {', '.join(wanted) or 'no numbers'}; found {dict(protocol)}")
    for key, (least, most) in wanted.items():
        if type(protocol[key]) is not int or not least <= protocol[key] <= most:
            raise PlanError(f"{where}: {key} must be a whole number from {least} to {most}; found {protocol[key]!r}")
    if "p" in wanted and protocol["p"] >= protocol["q"]:
        raise PlanError(f"{where}: p must be below q; found p = {protocol['p']}, q = {protocol['q']}")
    m = len(values or ())
    if "size" in wanted and not protocol["size"] * SCALE < protocol["q"] * m:
        raise PlanError(f"{where}: q must be above {protocol['size']}/{m} of {SCALE}; found {protocol['q']}")


def ratio(protocol: Mapping[str, Any], m: int) -> "Fraction":
    """e^epsilon of a protocol for m values: the largest ratio of a report's probabilities under two answers, exactly.

        randomized response   max(q / p, (1 - p) / (1 - q))      both answers of a flag must stay deniable
        unary encoding        q (1 - p) / (p (1 - q))            two answers differ in two bits
        GRR                   1 + m a / (1 - a)                  kept with a = keep / 65 536, else one of m
        subset selection      q (m - k) / ((1 - q) k)            of k values, the true one among them with q
        local hashing         1 + g a / (1 - a)                  the same on g buckets
        public                1                                  counted as free, being not protected at all

    Here p and q are the plan's integers over 65 536.
    """
    from fractions import Fraction

    if protocol["name"] == "public":
        return Fraction(1)
    if "size" in protocol:
        return Fraction(protocol["q"] * (m - protocol["size"]), (SCALE - protocol["q"]) * protocol["size"])
    if "keep" in protocol:
        return 1 + Fraction(protocol.get("buckets", m) * protocol["keep"], SCALE - protocol["keep"])
    p, q = protocol["p"], protocol["q"]
    one, zero = Fraction(q, p), Fraction(SCALE - p, SCALE - q)
    return max(one, zero) if protocol["name"] == "randomized response" else one * zero


def log_up(ratios: "Iterable[Fraction]") -> float:
    """The logarithm of a product of fractions, rounded up to the next float: never understated."""
    from decimal import Context, Decimal, localcontext

    with localcontext(Context(prec=50)):
        exact = sum((Decimal(r.numerator).ln() - Decimal(r.denominator).ln() for r in ratios), Decimal(0))
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


# -- answers -----------------------------------------------------------------------------------------------------------


def answer(record: Mapping[str, Any], name: str) -> Any:
    """Look a feature's answer up in a record."""
    if not isinstance(record, Mapping):
        raise AnswerError(f"a record is a mapping such as {{'smoker': True}}; found {record!r}")
    if name not in record:
        raise AnswerError(f"column {name!r} is missing; found {', '.join(map(repr, record)) or 'none'}")
    return record[name]


def encode(feature: Feature, answer: Any) -> int:
    """Turn an answer into its code: 0 or 1 for a flag, the value's index for a choice."""
    name, values, number = feature["name"], feature.get("values"), _number(answer)
    if answer is None or (isinstance(answer, str) and not answer) or (number is not None and math.isnan(number)):
        hint = f"list a value such as 'no answer' in {name!r}" if values else "ask it as a choice with a 'no answer'"
        raise AnswerError(f"column {name!r} has no answer (null); leave the record out, or {hint}")
    return _encode_flag(name, answer, number) if values is None else _encode_choice(feature, answer, number)


def _encode_flag(name: str, answer: Any, number: float | None) -> int:
    if isinstance(answer, str) and answer in FLAG_WORDS:
        return FLAG_WORDS[answer]
    if not isinstance(answer, str) and number in (0, 1):
        return int(number)
    raise AnswerError(f"column {name!r} is a flag and takes true, false, 1 or 0; found {answer!r}")


def _encode_choice(feature: Feature, answer: Any, number: float | None) -> int:
    name, values = feature["name"], feature["values"]
    if isinstance(answer, bool) or (number is None and not isinstance(answer, str)):
        raise AnswerError(f"column {name!r} takes text or a number; found {answer!r} ({type(answer).__name__})")
    code = _codes(tuple(values)).get(answer if isinstance(answer, str) else number_text(number))
    if code is None and "edges" in feature:
        return _range(name, feature["edges"], answer, number)
    if code is None:
        shown = ", ".join(map(repr, values[:8])) + (f", ... ({len(values)} in all)" if len(values) > 8 else "")
        raise AnswerError(f"column {name!r}: {answer!r} is not one of its values {shown}")
    return code


def _range(name: str, edges: list[str], answer: Any, number: float | None) -> int:
    bounds = [float(edge) for edge in edges]
    if number is None:
        raise AnswerError(f"column {name!r} takes a number; found {answer!r}")
    if not bounds[0] <= number <= bounds[-1]:
        raise AnswerError(f"column {name!r}: {answer!r} is outside its ranges, {edges[0]} to {edges[-1]}")
    return min(bisect.bisect_right(bounds, number), len(bounds) - 1) - 1


def _number(answer: Any) -> float | None:
    """A number as a float, also from text such as "-1.5e3" or "inf"; None for anything else."""
    if isinstance(answer, str):
        return float(answer) if NUMBER.fullmatch(answer) or answer in ("inf", "-inf") else None
    if not isinstance(answer, numbers.Number):
        return None
    try:
        return float(answer)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):  # complex numbers, signalling nan, integers beyond all floats
        return None


def number_text(number: Any) -> str:
    """Write a number as a choice's values write it: whole numbers without a point, others as short as is exact."""
    number = float(number)
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)


@functools.lru_cache(maxsize=64)
def _codes(values: tuple[str, ...]) -> dict[str, int]:
    return {value: code for code, value in enumerate(values)}


# -- randomizing: each takes (code, feature, source) and gives (field, width in bits) ----------------------------------


def _bits(code: int, feature: Feature, source: Source) -> tuple[int, int]:
    protocol = feature["protocol"]
    columns = range(len(feature["values"])) if "values" in feature else range(1, 2)
    field = 0
    for place, (column, draw) in enumerate(zip(columns, _draws(source, len(columns)), strict=True)):
        field |= (draw < protocol["q" if column == code else "p"]) << place
    return field, len(columns)


def _grr(code: int, feature: Feature, source: Source) -> tuple[int, int]:
    return _keep_or_uniform(code, feature["protocol"]["keep"], len(feature["values"]), source)


def _subset_selection(code: int, feature: Feature, source: Source) -> tuple[int, int]:
    m, size = len(feature["values"]), feature["protocol"]["size"]
    (coin,) = _draws(source, 1)
    others = list(range(m - 1))
    for place in range(size):  # the first places of a shuffle; one more than is needed if the true value is in the set
        at = place + _uniform(m - 1 - place, source)
        others[place], others[at] = others[at], others[place]
    chosen = [other + (other >= code) for other in others[:size]]  # all values but the true one
    chosen[-1] = code if coin < feature["protocol"]["q"] else chosen[-1]
    return sum(1 << value for value in chosen), m


def _local_hashing(code: int, feature: Feature, source: Source) -> tuple[int, int]:
    buckets = feature["protocol"]["buckets"]
    seed = [_coefficient(source) for _ in range(COEFFICIENTS)]
    h = 0
    for c in reversed(seed):  # c0 + c1 x + c2 x^2 + c3 x^3 modulo the prime, at x = the value's index
        h = (h * code + c) % PRIME
    field, width = _keep_or_uniform(h * buckets // PRIME, feature["protocol"]["keep"], buckets, source)
    packed = int.from_bytes(struct.pack(f"<{COEFFICIENTS}I", *seed), "little")
    return packed | field << 32 * COEFFICIENTS, 32 * COEFFICIENTS + width


def _public(code: int, feature: Feature, source: Source) -> tuple[int, int]:  # noqa: ARG001 - one contract
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


PERTURB: dict[str, Callable[[int, Feature, Source], tuple[int, int]]] = {
    "randomized response": _bits,
    "GRR": _grr,
    "subset selection": _subset_selection,
    "unary encoding": _bits,
    "local hashing": _local_hashing,
    "public": _public,
}
_COIN = (1, SCALE - 1)
INTEGERS: dict[str, dict[str, tuple[int, int]]] = {  # what a protocol's JSON holds, from least to most
    "randomized response": {"p": _COIN, "q": _COIN},
    "GRR": {"keep": _COIN},
    "subset selection": {"q": _COIN, "size": (1, MAX_VALUES - 1)},
    "unary encoding": {"p": _COIN, "q": _COIN},
    "local hashing": {"keep": _COIN, "buckets": (2, MAX_VALUES)},
    "public": {},
}
FLAGS_ONLY = ("randomized response",)
CHOICES_ONLY = ("GRR", "subset selection", "unary encoding", "local hashing")
