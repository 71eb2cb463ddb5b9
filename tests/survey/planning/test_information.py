"""What a design tells: contrast variances by enumeration of one report, and information by its definition."""

from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
import pytest

import deniable as dn
from deniable.survey.planning.information import Candidates, block_variance, contrast_variance, subsets
from deniable.survey.protocols.base import Protocol, bound
from tests.support.channels import codes, evidence_channel
from tests.support.planning import wanted
from tests.support.situations import values
from tests.support.surveys import own_estimate

FLAG, PAIR, FOUR = dn.Flag("a"), dn.Choice("a", values(2)), dn.Choice("a", values(4))
PROTOCOLS: dict[str, Protocol] = {
    "randomized response": bound(dn.RandomizedResponse(epsilon=1.0), FLAG),
    "unequal randomized response": dn.RandomizedResponse.from_integers({"p": 9_000, "q": 30_000}, FLAG),
    "public flag": bound(dn.Public(), FLAG),
    "GRR of 2": bound(dn.GRR(epsilon=1.5), PAIR),
    "GRR of 4": bound(dn.GRR(epsilon=2.0), FOUR),
    "subsets of 2 among 4": bound(dn.SubsetSelection(epsilon=1.0, size=2), FOUR),
    "subsets of 3 among 4": bound(dn.SubsetSelection(epsilon=0.5, size=3), FOUR),
    "optimized unary": bound(dn.UnaryEncoding.optimized(1.0), FOUR),
    "symmetric unary": bound(dn.UnaryEncoding.symmetric(1.0), FOUR),
    "hashing to 3": bound(dn.LocalHashing(epsilon=2.0, buckets=3), FOUR),
    "public choice": bound(dn.Public(), FOUR),
}


def enumerated_variance(protocol: Protocol, contrast: list[int]) -> Fraction:
    """The variance of a contrast of z, over every code, equally common, and every pattern of evidence."""
    first = second = Fraction(0)
    for code in codes(protocol):
        for bits, chance in evidence_channel(protocol, code).items():
            z = own_estimate(protocol, bits, centred=True)[1:]
            cells = [1 - z[0], z[0]] if len(z) == 1 else z
            y = sum((a * one for a, one in zip(contrast, cells, strict=True)), Fraction(0))
            first += chance * y / len(codes(protocol))
            second += chance * y**2 / len(codes(protocol))
    return second - first**2


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS.keys())
def test_contrast_variance_is_that_of_one_report(protocol: Protocol) -> None:
    """Every contrast of mean square one has it, such as each product of +-1."""
    contrasts = [[-1, 1]] if len(codes(protocol)) == 2 else [[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]
    for contrast in contrasts:
        assert contrast_variance(protocol) == pytest.approx(float(enumerated_variance(protocol, contrast)), rel=1e-12)


def test_blocks_have_the_best_protocol() -> None:
    for columns, epsilon in product((1, 4, 8), (1.0, 3.0)):
        own = FLAG if columns == 1 else dn.Choice("a", values(columns))
        offered = [dn.RandomizedResponse(epsilon=epsilon)] if columns == 1 else [dn.GRR(epsilon=epsilon)]
        if columns > 1:
            offered += [dn.SubsetSelection(epsilon=epsilon, size=size) for size in range(1, columns)]
            offered += [dn.UnaryEncoding.optimized(epsilon)]
        best = min(contrast_variance(bound(one, own)) for one in offered)
        assert block_variance(columns, epsilon) <= best * (1 + 1e-9)
        assert block_variance(columns, epsilon) >= 1


def test_variances_of_tables_are_their_definition() -> None:
    """K^-2 sum over sets of prod(m - 1) / I_s, with I_s summed over all blocks one by one."""
    of = wanted([2, 3, 4], [(0, 1), (1, 2), (2,)])
    blocks = ((0,), (2,), (0, 1), (1, 2), (0, 1, 2))
    shares = np.array([0.1, 0.1, 0.3, 0.3, 0.2])
    found = Candidates(of, blocks, 1.5).variances(shares)
    for table, variance in zip(of.tables, found, strict=True):
        total = 0.0
        for s in (s for size in range(1, len(table) + 1) for s in combinations(table, size)):
            holding = [place for place, block in enumerate(blocks) if set(s) <= set(block)]
            told = sum(
                shares[k] / block_variance(1 if blocks[k] == (0,) else of.cells(blocks[k]), 1.5) for k in holding
            )
            total += prod(of.levels[place] - 1 for place in s) / told
        assert variance == pytest.approx(total / of.cells(table) ** 2, rel=1e-12)


def test_sets_are_all_parts_of_wanted_tables() -> None:
    of = wanted([2, 3, 4], [(0, 1), (1, 2), (2,)])
    assert list(of.sets) == [(0,), (1,), (2,), (0, 1), (1, 2)]
    assert of.held((0, 1, 2)) == [(0,), (1,), (2,), (0, 1), (1, 2)]
    assert of.deepest == 2
    assert subsets((3, 5, 6)) == [(3,), (5,), (6,), (3, 5), (3, 6), (5, 6), (3, 5, 6)]
