"""The probabilities of bits that occur together, and the moments that follow, against exact enumeration."""

from fractions import Fraction
from itertools import combinations, permutations
from math import factorial, prod

import numpy as np
import pytest

import deniable as dn
from deniable.survey.protocols.base import Protocol
from deniable.survey.protocols.dependence import Dependence, groupings, over_distinct, partitions
from tests.support.channels import codes, column_codes, evidence_channel, expectation
from tests.support.situations import values

PROTOCOLS: dict[str, Protocol] = {
    name: protocol.bind(dn.Flag("f") if m == 1 else dn.Choice("f", values(m)))
    for name, protocol, m in [
        ("flag", dn.RandomizedResponse(p=0.1, q=0.8), 1),
        ("public flag", dn.Public(), 1),
        ("GRR of 2", dn.GRR(epsilon=1.0), 2),
        ("GRR of 6", dn.GRR(epsilon=1.0), 6),
        ("public of 4", dn.Public(), 4),
        ("unary", dn.UnaryEncoding(p=0.2, q=0.7), 5),
        ("hashing", dn.LocalHashing(epsilon=1.0, buckets=3), 4),
        ("1 of 2", dn.SubsetSelection(epsilon=1.0), 2),
        ("1 of 3", dn.SubsetSelection(epsilon=2.0, size=1), 3),
        ("2 of 3", dn.SubsetSelection(epsilon=2.0, size=2), 3),
        ("2 of 6", dn.SubsetSelection(epsilon=0.5, size=2), 6),
        ("5 of 6", dn.SubsetSelection(epsilon=0.5, size=5), 6),
        ("3 of 7", dn.SubsetSelection(epsilon=1.0, size=3), 7),
    ]
}
every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS.keys())


@every_protocol
def test_bits_occur_together_as_often_as_is_stated(protocol: Protocol) -> None:
    columns = column_codes(protocol)
    for code in codes(protocol):
        law = evidence_channel(protocol, code)
        false = [place for place, column in enumerate(columns) if column != code]
        true = [place for place, column in enumerate(columns) if column == code]
        for j in range(min(len(false), 4) + 1):
            for some in combinations(false, j):
                marked = expectation(law, lambda bits, some=some: Fraction(all(bits[k] for k in some)))
                assert marked == protocol.dependence.false[j]
                if true:
                    both = [*some, *true]
                    marked = expectation(law, lambda bits, both=both: Fraction(all(bits[k] for k in both)))
                    assert marked == protocol.dependence.true[j]


@every_protocol
def test_moments_of_weighted_sums_are_those_of_enumeration(protocol: Protocol) -> None:
    rng = np.random.default_rng(3)
    p, q = protocol.channel
    columns = column_codes(protocol)
    for code in codes(protocol):
        law = evidence_channel(protocol, code)
        weights = [Fraction(int(w), 7) for w in rng.integers(-20, 20, size=protocol.columns)]

        def total(bits: tuple[int, ...], weights: list[Fraction] = weights) -> Fraction:
            return sum((w * (bit - p) / (q - p) for w, bit in zip(weights, bits, strict=True)), Fraction(0))

        mean = expectation(law, total)
        exact = [expectation(law, lambda bits, k=k: (total(bits) - mean) ** k) for k in (2, 3, 4)]
        own = sum((w for w, column in zip(weights, columns, strict=True) if column == code), Fraction(0))
        sums = tuple(np.array([float(sum((w**k for w in weights), Fraction(0)))]) for k in (1, 2, 3, 4))
        found = protocol.dependence.weighted_moments(np.array([float(own)]), sums)
        size = float(max(abs(w) for w in weights)) ** 4 / float(q - p) ** 4 + 1
        for stated, right in zip(found, exact, strict=True):
            assert stated[0] == pytest.approx(float(right), rel=1e-11, abs=1e-12 * size)


def test_a_wrong_dependence_is_noticed() -> None:
    """Were the bits of a set taken as independent, already the second moment would be wrong."""
    protocol = PROTOCOLS["3 of 7"]
    wrong = Dependence.independent(*protocol.channel)
    own, sums = np.array([2.0]), tuple(np.array([float(k)]) for k in (3, 5, 7, 9))
    right, other = (one.weighted_moments(own, sums) for one in (protocol.dependence, wrong))
    assert all(abs(a - b)[0] > 0.01 * abs(a)[0] for a, b in zip(right, other, strict=True))
    assert not protocol.dependence.is_independent
    assert wrong.is_independent


@every_protocol
def test_the_distribution_of_patterns_is_the_enumerated_one(protocol: Protocol) -> None:
    law = protocol.pattern_probabilities
    patterns = [tuple(bits) for bits in protocol.patterns.tolist()]
    assert law.shape == (len(codes(protocol)), len(patterns))
    for code, row in zip(codes(protocol), law, strict=True):
        exact = evidence_channel(protocol, code)
        np.testing.assert_allclose(row, [float(exact.get(bits, 0)) for bits in patterns], rtol=1e-9, atol=1e-12)


def test_partitions_and_groupings() -> None:
    assert partitions(4) == ((4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1))
    for total in range(1, 6):  # all groupings together are the Bell numbers
        assert sum(groupings(parts) for parts in partitions(total)) == {1: 1, 2: 2, 3: 5, 4: 15, 5: 52}[total]
    assert groupings((2, 2)) == factorial(4) // (2 * 2 * 2)


@every_protocol
def test_the_total_variance_is_the_trace_of_the_centred_noise(protocol: Protocol) -> None:
    """By enumeration: of a choice the same for every true value, of a flag the mean over both."""
    p, q = protocol.channel
    assert protocol.dependence.p_and_d == (float(p), float(q - p))
    m = protocol.columns
    traces = []
    for code in codes(protocol):
        law = evidence_channel(protocol, code)
        bits = np.array(list(law), float).reshape(len(law), m)
        chances = np.array([float(chance) for chance in law.values()])
        z = (bits - float(p)) / float(q - p)
        centred = z - z.mean(axis=1, keepdims=True) if m > 1 else z
        traces.append(chances @ (centred - chances @ centred) ** 2)
    expected = [own.sum() for own in traces]
    assert protocol.total_variance == pytest.approx(np.mean(expected), rel=1e-10, abs=1e-12)
    if m > 1:
        assert expected == pytest.approx([expected[0]] * len(expected), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", ["unary", "2 of 6", "GRR of 6", "hashing"])
def test_central_moments_of_single_bits_are_those_of_enumeration(name: str) -> None:
    protocol = PROTOCOLS[name]
    p, q = protocol.channel
    law = evidence_channel(protocol, 0)
    some = [(0, ()), (1, ()), (2, ()), (1, (1,)), (0, (2, 1)), (2, (1, 1)), (0, (1, 1, 1)), (1, (2, 1)), (3, (1,))]
    for own, parts in some:

        def moment(bits: tuple[int, ...], own: int = own, parts: tuple[int, ...] = parts) -> Fraction:
            others = [(bits[1 + k] - p) ** part for k, part in enumerate(parts)]
            return (bits[0] - q) ** own * prod(others, start=Fraction(1))

        assert protocol.dependence.central_moment(own, parts) == expectation(law, moment)


@pytest.mark.parametrize("parts", [(), (1,), (3,), (1, 1), (2, 1), (2, 2), (1, 1, 1), (2, 1, 1), (1, 1, 1, 1)])
def test_sums_over_different_values_by_brute_force(parts: tuple[int, ...]) -> None:
    weights = [3, -2, 5, 7, 11]  # the first is that of the true value
    exact = sum(
        prod(weights[at] ** part for at, part in zip(places, parts, strict=True))
        for places in permutations(range(1, 5), len(parts))
    )
    power_sums = {k: sum(w**k for w in weights) for k in range(1, 5)}
    found = over_distinct(parts)
    assert exact == sum(
        times * weights[0] ** power * prod(power_sums[k] for k in sums) for (power, sums), times in found.items()
    )


@pytest.mark.parametrize("protocol", [dn.GRR(epsilon=1.0), dn.SubsetSelection(epsilon=1.0), dn.Public()], ids=str)
def test_a_protocol_that_is_not_bound_does_not_know_its_feature(protocol: Protocol) -> None:
    questions = [
        lambda: protocol.total_variance, lambda: protocol.noise(0), lambda: protocol.patterns,
        lambda: protocol.likelihood([True]), lambda: protocol.with_fresh(40_000),
    ]  # fmt: skip
    for question in questions:
        with pytest.raises(dn.PlanError, match="does not know its feature yet"):
            question()


def test_a_set_of_one_among_two_values_is_the_value_itself() -> None:
    """Of two values there is one false one, so that two false ones are never marked together."""
    assert Dependence.fixed_size(Fraction(2, 3), 1, 2) == Dependence.exclusive(Fraction(1, 3), Fraction(2, 3))


@pytest.mark.parametrize("buckets", [None, 4])
def test_a_hash_without_a_question_has_no_dependence_yet(buckets: int | None) -> None:
    protocol = dn.LocalHashing(epsilon=1.0, buckets=buckets)
    assert (protocol.keep, protocol.buckets, protocol.columns) == (0, buckets or 0, 0)  # nothing is known yet
    with pytest.raises(dn.PlanError, match="does not know its feature yet"):
        _ = protocol.dependence


@pytest.mark.parametrize("name", ["unary", "2 of 6"])
def test_moments_of_several_sums_at_once_are_those_of_each(name: str) -> None:
    """Weights in rows, as tables have them: what one row holds changes nothing in another."""
    rng, dependence = np.random.default_rng(9), PROTOCOLS[name].dependence
    weights = rng.normal(size=(4, 3, 5))
    own, sums = weights[..., :2], tuple((weights**k).sum(axis=-1, keepdims=True) for k in (1, 2, 3, 4))
    together = dependence.weighted_moments(own, sums)  # type: ignore[arg-type]
    for i, j in np.ndindex(4, 3):
        alone = dependence.weighted_moments(own[i, j], tuple(one[i, j] for one in sums))  # type: ignore[arg-type]
        for whole, row in zip(together, alone, strict=True):
            assert whole.shape == (4, 3, 2)
            np.testing.assert_allclose(whole[i, j], row, rtol=1e-12)
