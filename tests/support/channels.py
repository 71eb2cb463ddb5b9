"""What each protocol does, written a second time from its description and in exact fractions: the slow obvious twin.

A channel is a mapping from every possible outcome to its probability, for one true code.
"""

from collections import defaultdict
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod

from deniable.survey.protocols import GRR, LocalHashing, Public, RandomizedResponse, SubsetSelection, UnaryEncoding
from deniable.survey.protocols.base import Protocol

Outcome = tuple[int, ...]

Channel = dict[Outcome, Fraction]


def codes(protocol: Protocol) -> range:
    return range(2 if protocol.columns == 1 else protocol.columns)


def column_codes(protocol: Protocol) -> list[int]:
    return [1] if protocol.columns == 1 else list(range(protocol.columns))


def channel(protocol: Protocol, code: int) -> Channel:
    """P(report | code). A report of local hashing is the whole hash, a value for each code, and then the bucket."""
    match protocol:
        case RandomizedResponse() | UnaryEncoding():
            ones = [protocol.integers["q" if v == code else "p"] for v in column_codes(protocol)]
            return {
                bits: prod(Fraction(k if bit else 65536 - k, 65536) for bit, k in zip(bits, ones, strict=True))
                for bits in product((0, 1), repeat=len(ones))
            }
        case SubsetSelection():
            q, size, m = Fraction(protocol.integers["q"], 65536), protocol.integers["size"], protocol.columns
            with_it, without = Fraction(q, comb(m - 1, size - 1)), Fraction(1 - q, comb(m - 1, size))
            return {
                tuple(int(v in marked) for v in range(m)): with_it if code in marked else without
                for marked in combinations(range(m), size)
            }
        case GRR():
            return _keep_or_uniform(code, protocol.integers["keep"], protocol.columns)
        case LocalHashing():
            g = protocol.integers["buckets"]
            reports: Channel = {}
            for h in product(range(g), repeat=protocol.columns):
                for (shown,), share in _keep_or_uniform(h[code], protocol.integers["keep"], g).items():
                    reports[(*h, shown)] = share / g**protocol.columns
            return reports
        case Public():
            return {(code,): Fraction(1)}
    raise NotImplementedError(protocol)


def _keep_or_uniform(code: int, keep: int, n: int) -> Channel:
    other = Fraction(65536 - keep, 65536) / n
    return {(y,): other + (Fraction(keep, 65536) if y == code else 0) for y in range(n)}


def evidence(protocol: Protocol, outcome: Outcome) -> Outcome:
    """The support bits of a report."""
    match protocol:
        case RandomizedResponse() | UnaryEncoding() | SubsetSelection():
            return outcome
        case LocalHashing():
            return tuple(int(h == outcome[-1]) for h in outcome[:-1])
    return tuple(int(outcome[0] == v) for v in column_codes(protocol))


def evidence_channel(protocol: Protocol, code: int) -> Channel:
    """P(support bits | code)."""
    reports: defaultdict[Outcome, Fraction] = defaultdict(Fraction)
    for outcome, share in channel(protocol, code).items():
        reports[evidence(protocol, outcome)] += share
    return dict(reports)


def expectation(law: Channel, value: Callable[[Outcome], Fraction]) -> Fraction:
    return sum((share * value(outcome) for outcome, share in law.items()), Fraction(0))


def worst_ratio(laws: list[Channel]) -> Fraction:
    """The largest ratio of one report's probabilities under two truths: e^epsilon by definition."""
    return max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in laws[0])


def check_logarithm(epsilon: float, ratio: Fraction) -> None:
    """Never understated, and right to 1e-12."""
    with localcontext(Context(prec=60)):
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        assert 0 <= Decimal(epsilon) - exact <= Decimal("1e-12") * max(exact, 1)
