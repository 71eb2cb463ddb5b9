"""The ends of what protocols take, by hand: the least epsilon, the largest numbers, codes, and coins after them."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.survey.protocols.base import Channel, Protocol
from deniable.survey.protocols.best import best
from deniable.survey.schema import Feature
from tests.support.channels import check_logarithm
from tests.support.situations import values

FLAG, THREE, FOUR = dn.Flag("f"), dn.Choice("f", values(3)), dn.Choice("f", values(4))

# One step above saying nothing, over 65 536: a coin of 1/2 and one more, a third and one more, a coin that keeps once.
LEAST: dict[str, tuple[Feature, Callable[[float], Protocol], Fraction]] = {
    "RR": (FLAG, lambda e: dn.RandomizedResponse(epsilon=e), Fraction(32769, 32767)),
    "SUE": (THREE, dn.UnaryEncoding.symmetric, Fraction(32769, 32767) ** 2),
    "OUE": (THREE, dn.UnaryEncoding.optimized, Fraction(32769, 32767)),
    "1 of 3": (THREE, lambda e: dn.SubsetSelection(epsilon=e, size=1), 2 * Fraction(21846, 43690)),
    "2 of 3": (THREE, lambda e: dn.SubsetSelection(epsilon=e, size=2), Fraction(43691, 21845) / 2),
    "GRR": (THREE, lambda e: dn.GRR(epsilon=e), 1 + Fraction(3, 65535)),
    "5 buckets": (FOUR, lambda e: dn.LocalHashing(epsilon=e, buckets=5), 1 + Fraction(5, 65535)),
}


@pytest.mark.parametrize(("feature", "make", "ratio"), LEAST.values(), ids=LEAST.keys())
def test_the_least_epsilon_is_one_step_from_saying_nothing(
    feature: Feature, make: Callable[[float], Protocol], ratio: Fraction
) -> None:
    with pytest.raises(dn.PlanError, match="is too small for probabilities over 65536; the least possible") as refused:
        make(1e-9).bind(feature)
    least = float(str(refused.value).rsplit(" ", 1)[1])
    check_logarithm(least, ratio)
    assert make(least).bind(feature).ratio == ratio


@pytest.mark.parametrize(("p", "q", "ratio"), [("1/4", "1/2", 2), ("1/2", "3/4", 2), ("1/8", "1/2", 4)])
def test_a_channel_costs_what_the_likelier_of_both_answers_gives_away(p: str, q: str, ratio: int) -> None:
    """q / p is 2, 3/2 and 4; (1 - p) / (1 - q) is 3/2, 2 and 7/4."""
    check_logarithm(Channel(Fraction(p), Fraction(q)).epsilon, Fraction(ratio))


@pytest.mark.parametrize(("feature", "codes"), [(FLAG, 2), (THREE, 3)])
def test_codes_have_noise_and_no_others(feature: Feature, codes: int) -> None:
    protocol = best(feature, 1.0)
    for code in range(codes):
        assert protocol.noise(code).shape == (protocol.columns, protocol.columns)
    for wrong in (-1, codes):
        with pytest.raises(dn.PlanError, match=f"a code here is below {codes}; found {wrong}"):
            protocol.noise(wrong)


@pytest.mark.parametrize(("protocol", "feature", "patterns"), [
    (dn.RandomizedResponse(epsilon=1.0), FLAG, [[0], [1]]),
    (dn.Public(), FLAG, [[0], [1]]),
    (dn.GRR(epsilon=1.0), THREE, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    (dn.UnaryEncoding.optimized(1.0), dn.Choice("f", ["x", "y"]), [[0, 0], [0, 1], [1, 0], [1, 1]]),
])  # fmt: skip
def test_patterns_in_their_order(protocol: Protocol, feature: Feature, patterns: list[list[int]]) -> None:
    bound = protocol.bind(feature)
    assert bound.patterns.tolist() == patterns
    assert bound.pattern_count == len(patterns)
    assert bound.pattern_evidence.tolist() == [[1, *bits] for bits in patterns]


def test_an_epsilon_is_any_number() -> None:
    """Whole, a fraction, or numpy's, whose own integers would wrap around."""
    for one in (2, Fraction(2), Fraction(4, 2), np.int8(2), np.float32(2)):
        assert dn.GRR(epsilon=one).bind(THREE) == dn.GRR(epsilon=2.0).bind(THREE)
        assert dn.UnaryEncoding.symmetric(one) == dn.UnaryEncoding.symmetric(2.0)
    assert dn.GRR(epsilon=Fraction(5, 2)).bind(THREE) == dn.GRR(epsilon=2.5).bind(THREE)


LIMITS: dict[str, tuple[Any, str]] = {
    "buckets": (lambda: dn.LocalHashing(epsilon=1, buckets=4097), "buckets must be .* from 2 to 4096; found 4097"),
    "true buckets": (lambda: dn.LocalHashing(epsilon=1, buckets=True), "found True"),
    "size": (lambda: dn.SubsetSelection(epsilon=1, size=4096), "size must be .* from 1 to 4095; found 4096"),
    "more than all": (
        lambda: dn.SubsetSelection(epsilon=1, size=4).bind(THREE),
        "'f' has 3 values; a set of 4 would not leave any out",
    ),
    "a flag that may be skipped": (
        lambda: dn.RandomizedResponse(epsilon=1).bind(dn.Flag("f", missing="no answer")),
        "'f' is a flag that may be skipped, so a choice of 3 values, and randomized response is for flags",
    ),
    "q alone": (lambda: dn.RandomizedResponse(q=0.5), "takes p and q, or epsilon alone"),
    "nothing": (lambda: dn.RandomizedResponse(), "takes p and q, or epsilon alone"),
    "q and epsilon": (lambda: dn.RandomizedResponse(q=0.5, epsilon=1), "takes p and q, or epsilon alone"),
    "a coin after bits": (
        lambda: dn.UnaryEncoding(p=0.1, q=0.5).bind(THREE).with_fresh(40_000),
        "a fresh coin is for randomized response, GRR, public alone; found unary encoding",
    ),
    "no protocol reaches it": (lambda: best(THREE, 1e-9), "too small for probabilities over 65536"),
}


@pytest.mark.parametrize(("make", "message"), LIMITS.values(), ids=LIMITS.keys())
def test_what_is_past_the_end_is_refused(make: Any, message: str) -> None:
    with pytest.raises(dn.PlanError, match=message):
        make()


def test_the_ends_themselves_are_taken() -> None:
    assert dn.LocalHashing(epsilon=1, buckets=4096).buckets == 4096
    assert dn.SubsetSelection(epsilon=1, size=4095).size == 4095
    assert dn.SubsetSelection(epsilon=1, size=2).bind(THREE).integers["size"] == 2


def test_a_fresh_coin_halves_what_an_answer_says() -> None:
    """Of a flag 1/4 and 3/4 become 3/8 and 5/8; of GRR half as many answers are kept, and one of four is shown else."""
    flag = dn.RandomizedResponse(p=0.25, q=0.75).with_fresh(32768)
    assert flag.channel == Channel(Fraction(3, 8), Fraction(5, 8))
    assert (flag.ratio, flag.ratio_1) == (3, Fraction(5, 3))
    grr = dn.GRR(epsilon=1.0).bind(FOUR)
    kept, halved = Fraction(grr.keep, 65536), grr.with_fresh(32768)
    assert halved.channel == Channel((1 - kept / 2) / 4, (1 - kept / 2) / 4 + kept / 2)
    assert (halved.ratio, halved.ratio_1) == (grr.ratio, halved.channel.q / halved.channel.p)
    public = dn.Public().bind(FOUR)
    assert public.with_fresh(32768) is public
