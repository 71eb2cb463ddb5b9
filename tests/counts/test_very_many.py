"""Counts of billions: exact integers to the last one that fits, an error beyond, and estimates that lose nothing."""

from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from tests.support.designs import DESIGNS
from tests.support.engines import EDGES, TWO_FLAGS, tally_of_so_many


@pytest.mark.parametrize("n", EDGES)
def test_tallies_and_counts_are_exact(n: int) -> None:
    for plan in (TWO_FLAGS, DESIGNS["two arms"]):
        counts = (tally_of_so_many(n - 1, plan, 1) + tally_of_so_many(1, plan, 1)).counts()
        assert counts.n == n
        assert counts.arms[0].evidence(*counts.arms[0].plan.units.schema.names[:1]).tolist() == [n, n]


@pytest.mark.parametrize("n", EDGES)
def test_one_more_than_fits_is_an_error_and_never_wraps(n: int) -> None:
    most = 2**63 - 1
    with pytest.raises(dn.CountError, match="more than 64-bit integers can count"):
        _ = tally_of_so_many(n) + tally_of_so_many(most - n + 1)
    with pytest.raises(dn.CountError, match="more than 64-bit integers can count"):
        _ = tally_of_so_many(n).counts() + tally_of_so_many(most - n + 1).counts()


def test_estimates_of_a_billion_reports_are_as_fractions_have_them() -> None:
    n, a, b, both = 1_000_000_007, 423_456_789, 391_357_913, 201_234_567
    counts = dn.Counts(TWO_FLAGS, {("a", "b"): [[n, b], [a, both]]})
    p, q = Fraction(1, 4), Fraction(3, 4)
    assert (TWO_FLAGS["a"].channel.p, TWO_FLAGS["a"].channel.q) == (p, q)
    expected = np.array(
        [
            [Fraction(n), (b - p * n) / (q - p)],
            [(a - p * n) / (q - p), (both - p * a - p * b + p * p * n) / (q - p) ** 2],
        ]
    )
    for method in ("unbiased", "consistent"):
        mean = dn.estimate(counts, ["a", "b"], method=method).mean
        errors = [abs(Fraction(float(got)) - want) / n for got, want in zip(mean.flat, expected.flat, strict=True)]
        assert max(errors) < Fraction(1, 10**9)
