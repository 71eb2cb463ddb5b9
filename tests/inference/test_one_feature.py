"""Weights of centring: that they are the best, by enumeration, and where there are none."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import deniable as dn
from deniable.inference.one_feature import Axis
from deniable.inference.tensors import weighted
from deniable.survey.protocols.base import Protocol
from tests.support.channels import evidence_channel
from tests.support.situations import values
from tests.support.surveys import best_weights, own_estimate

SHARES = (Fraction(7, 10), Fraction(2, 10), Fraction(1, 10), Fraction(0))


def bound(protocol: object, m: int = 4) -> Protocol:
    return dn.Plan(dn.Schema([dn.Choice("a", values(m))]), {"a": protocol})["a"]


TO_CENTRE = {
    "optimized unary": bound(dn.UnaryEncoding.optimized(2.0)),
    "any unary": bound(dn.UnaryEncoding(p=0.2, q=0.7)),
    "hashing": bound(dn.LocalHashing(epsilon=2.0)),
}


def noise(protocol: Protocol) -> np.ndarray:
    """The mean covariance of one report's unbiased estimate over respondents with these shares, in fractions."""
    total = np.zeros((4, 4), object)
    for x, share in enumerate(SHARES):
        law = evidence_channel(protocol, x)
        zs = [np.array(own_estimate(protocol, bits, centred=False)[1:], object) for bits in law]
        mean = sum(chance * z for chance, z in zip(law.values(), zs, strict=True))
        total = total + share * sum(
            chance * np.outer(z - mean, z - mean) for chance, z in zip(law.values(), zs, strict=True)
        )
    return total


@pytest.mark.parametrize("protocol", TO_CENTRE.values(), ids=TO_CENTRE)
def test_the_best_weights_are_the_covariances_with_the_sum(protocol: Protocol) -> None:
    """g = N 1 / (1' N 1): then nothing centred is correlated with what it was corrected by."""
    n, ones = noise(protocol), np.ones(4, int)
    wanted = n @ ones / (ones @ n @ ones)
    axis = Axis.of(protocol, centred=True).weighted(np.array(SHARES, float))
    np.testing.assert_allclose(axis.weights, wanted.astype(float), rtol=1e-12)
    centred = np.eye(4, dtype=int) - np.outer(wanted, ones)
    assert (centred @ n @ ones == 0).all()


@pytest.mark.parametrize("protocol", TO_CENTRE.values(), ids=TO_CENTRE)
def test_no_other_weights_make_any_difference_of_shares_vary_less(protocol: Protocol) -> None:
    """Covariances with other weights, equal ones among them, are larger by a matrix that is never negative."""
    shares = np.array(SHARES, float)
    n = noise(protocol).astype(float)
    axis = Axis.of(protocol, centred=True).weighted(shares)
    least = axis.cell_seconds(shares) - np.diag(shares)
    rng = np.random.default_rng(1)
    for weights in (np.full(4, 0.25), *rng.dirichlet(np.ones(4), size=5)):
        h = np.eye(4) - np.outer(weights, np.ones(4))
        more = h @ n @ h.T - least
        assert np.linalg.eigvalsh(more).min() > -1e-12
        assert np.trace(more) > 1e-3


def test_estimated_shares_are_cut_to_what_a_share_can_be() -> None:
    protocol = TO_CENTRE["optimized unary"]
    counts = np.array([100, 70, 10, 4, 9])  # far from what can be
    axis = Axis.of(protocol, centred=True).weighted_by(counts)
    assert axis.weights is not None
    assert (axis.weights > 0).all()
    np.testing.assert_allclose(axis.weights, np.array(best_weights(protocol, counts), float), rtol=1e-12)


@pytest.mark.parametrize(
    "protocol",
    [
        bound(dn.GRR(epsilon=1.0)),
        bound(dn.SubsetSelection(epsilon=1.0)),
        bound(dn.Public()),
        bound(dn.UnaryEncoding.symmetric(1.0)),
        dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)["a"],
    ],
    ids=["GRR", "subsets", "public", "symmetric unary", "flag"],
)
def test_where_nothing_is_to_be_weighted_the_axis_stays_as_it_is(protocol: Protocol) -> None:
    axis = Axis.of(protocol, centred=True)
    assert axis.weighted(np.array(SHARES, float)[: axis.m]) is axis
    plain = Axis.of(bound(dn.UnaryEncoding.optimized(1.0)), centred=False)
    assert plain.weighted(np.array(SHARES, float)) is plain


def test_many_tables_have_the_weights_that_each_has_alone() -> None:
    axes = [Axis.of(TO_CENTRE[name], centred=True) for name in ("optimized unary", "hashing")]
    counts = np.random.default_rng(1).integers(20, 60, size=(5, 5, 3))
    counts[0, 0] = 100
    together = weighted(axes, counts)
    for table in range(3):
        for one, every in zip(weighted(axes, counts[..., table]), together, strict=True):
            assert every.weights is not None
            assert np.array_equal(every.weights[table, 0], one.weights)
            assert np.array_equal(every.of_tables(np.array([table])).weights[0, 0], one.weights)


def test_weights_of_many_tables_go_with_their_tables_rows_and_columns() -> None:
    """Two tables of three columns, by hand; an axis without weights is the same for all."""
    axis = Axis.of(dn.UnaryEncoding(p=0.2, q=0.7).bind(dn.Choice("a", [*"xyz"])), centred=True)
    many = replace(axis, weights=np.arange(6.0).reshape(2, 1, 3))
    found = {
        "rows": many.by_row(2), "tables": many.of_tables(np.array([1])),
        "order": many.in_order(np.array([[2, 0, 1], [0, 2, 1]])), "plain": many.plain,
    }  # fmt: skip
    weights = {title: None if one.weights is None else one.weights.tolist() for title, one in found.items()}
    assert weights == {
        "rows": [[0, 1, 2], [0, 1, 2], [3, 4, 5], [3, 4, 5]],
        "tables": [[[3, 4, 5]]],
        "order": [[[2, 0, 1]], [[3, 5, 4]]],
        "plain": None,
    }
    none = np.array([0])
    assert axis.by_row(2) is axis.of_tables(none) is axis.in_order(none) is axis.plain is axis
    assert axis == found["plain"] != many
    assert hash(axis) == hash(found["plain"])
