"""The paper's objects against enumeration, against each other, and against the axis-by-axis structure."""

from fractions import Fraction
from functools import reduce
from itertools import product
from math import comb

import numpy as np
import pytest

import deniable as dn
from deniable import paper

P, Q = 0.125, 0.75


def lattice(tensor: np.ndarray) -> np.ndarray:
    """The entries of a tensor of flags in the paper's order of column sets."""
    sets = paper.column_sets(tensor.ndim)
    return np.array([tensor[tuple(int(axis in J) for axis in range(tensor.ndim))] for J in sets])


def tensor_of(rows: np.ndarray) -> np.ndarray:
    """Co-occurrences of a 0/1 matrix."""
    total = 0
    for row in rows:
        total = total + reduce(np.multiply.outer, [np.array([1.0, bit]) for bit in row])
    return np.asarray(total)


@pytest.fixture
def rows() -> np.ndarray:
    return np.array([[0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 1, 1]])


def enumerated(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the counts, one respondent after the other, by all 8 outcomes of each."""
    mean, covariance = 0.0, 0.0
    for row in rows:
        first, second = 0.0, 0.0
        for outcome in product((0, 1), repeat=3):
            share = np.prod([(w if bit else 1 - w) for bit, w in zip(outcome, np.where(row, Q, P), strict=True)])
            e = lattice(tensor_of(np.array([outcome])))
            first, second = first + share * e, second + share * np.outer(e, e)
        mean, covariance = mean + first, covariance + second - np.outer(first, first)
    return np.asarray(mean), np.asarray(covariance)


def test_expected_counts_and_their_covariance_are_those_of_enumeration(rows: np.ndarray) -> None:
    mean, covariance = enumerated(rows)
    truth = lattice(tensor_of(rows))
    np.testing.assert_allclose(paper.expected_counts(truth, 4, 3, P, Q), mean, rtol=1e-12)
    np.testing.assert_allclose(paper.count_covariance(truth, 4, 3, P, Q), covariance, rtol=1e-11, atol=1e-14)


def test_printed_covariances_of_counts(rows: np.ndarray) -> None:
    """V(c_i, c_ij) and V(c_ij, c_jk) as the paper prints them."""
    truth = lattice(tensor_of(rows))
    sets = paper.column_sets(3)
    t = dict(zip(sets, truth, strict=True))
    v = paper.count_covariance(truth, 4, 3, P, Q)
    d, s = Q - P, 1 - Q - P
    one = 4 * P**2 * (1 - P) + t[1,] * P * d * (1 - P) + t[0,] * P * d * s + t[0, 1] * d**2 * s
    assert v[sets.index((0,)), sets.index((0, 1))] == pytest.approx(one)
    two = 4 * P**3 * (1 - P) + (t[0,] + t[2,]) * P**2 * d * (1 - P) + t[1,] * P**2 * d * s
    two += (t[0, 1] + t[1, 2]) * P * d**2 * s + t[0, 2] * P * d**2 * (1 - P) + t[0, 1, 2] * d**3 * s
    assert v[sets.index((0, 1)), sets.index((1, 2))] == pytest.approx(two)


def test_the_inverse_is_the_inverse() -> None:
    for columns in (1, 2, 3, 4):
        m, inverse = paper.mean_matrix(columns, P, Q), paper.inverse_mean_matrix(columns, P, Q)
        np.testing.assert_allclose(m @ inverse, np.eye(2**columns - 1), atol=1e-12)
        assert np.array_equal(m, np.tril(m))


def test_products_of_subset_incidences() -> None:
    """Lemma theo-km-prod: K^(ab) K^(bc) = binomial(a - c, a - b) K^(ac)."""
    for a, b, c in ((3, 2, 1), (4, 3, 1), (4, 2, 1), (4, 3, 2)):
        left = paper.subset_incidence(4, a, b) @ paper.subset_incidence(4, b, c)
        np.testing.assert_array_equal(left, comb(a - c, a - b) * paper.subset_incidence(4, a, c))


def test_row_types_and_co_occurrences(rows: np.ndarray) -> None:
    types = np.zeros((2, 2, 2))
    for row in rows:
        types[tuple(row)] += 1
    np.testing.assert_array_equal(paper.row_types(tensor_of(rows)), types)
    np.testing.assert_array_equal(paper.co_occurrences(types), tensor_of(rows))


def test_axis_by_axis_is_the_papers_estimate() -> None:
    rng = np.random.default_rng(2)
    rr = dn.RandomizedResponse(p=P, q=Q)
    plan = dn.Plan(dn.Schema([dn.Flag(name) for name in "abc"]), dict.fromkeys("abc", rr))
    counts = dn.count(dn.randomize({name: rng.random(300) < 0.4 for name in "abc"}, plan, rng=rng), list("abc"))
    c, n = lattice(counts.array(*"abc")), counts.n
    est = dn.estimate(counts, list("abc"), method="unbiased", about="respondents")
    mu = paper.inverse_mean_matrix(3, P, Q) @ (c - n * paper.background(3, P))
    np.testing.assert_allclose(lattice(est.mean), mu, rtol=1e-10)
    stated = paper.estimate_covariance(c, n, 3, P, Q)
    order = [np.ravel_multi_index([int(k in J) for k in range(3)], (2, 2, 2)) for J in paper.column_sets(3)]
    np.testing.assert_allclose(est.covariance()[np.ix_(order, order)], stated, rtol=1e-9, atol=1e-9)
    sandwich = paper.inverse_mean_matrix(3, P, Q) @ paper.count_covariance(mu, n, 3, P, Q)
    np.testing.assert_allclose(sandwich @ paper.inverse_mean_matrix(3, P, Q).T, stated, rtol=1e-9, atol=1e-9)


def test_the_number_of_respondents_may_stand_in_the_vectors() -> None:
    """Dropping P N: the same expectations, the same estimates, and an uncertain N adds what it should."""
    for columns in (1, 3):
        whole = paper.mean_matrix(columns, P, Q, smallest=0)
        inverse = paper.inverse_mean_matrix(columns, P, Q, smallest=0)
        np.testing.assert_allclose(whole @ inverse, np.eye(2**columns), atol=1e-12)
        np.testing.assert_allclose(whole[0], np.eye(2**columns)[0])
        np.testing.assert_allclose(whole[1:, 0], paper.background(columns, P))
        np.testing.assert_allclose(whole[1:, 1:], paper.mean_matrix(columns, P, Q))
        np.testing.assert_allclose(
            inverse[1:, 0], -paper.inverse_mean_matrix(columns, P, Q) @ paper.background(columns, P)
        )


@pytest.mark.parametrize(("p", "q"), [(Fraction(1, 4), Fraction(1, 2)), (Fraction(1, 8), Fraction(7, 8))])
def test_the_sherman_morrison_form_needs_no_total(p: Fraction, q: Fraction) -> None:
    inverse = paper.inverse_without_total(4, float(p), float(q))
    exact = [[q if i == j else p for j in range(4)] for i in range(4)]  # M + p J
    np.testing.assert_allclose(inverse @ np.array(exact, float), np.eye(4), atol=1e-14)
    t = np.array([5.0, 3.0, 0.0, 2.0])
    np.testing.assert_allclose(inverse @ (p * 10 + (q - p) * t).astype(float), t, atol=1e-12)


def test_the_sherman_morrison_form_is_as_noisy_as_stated() -> None:
    """OUE, 4 values, epsilon 1, N = 10 000: its sum varies. Centred estimates vary less, plain ones more."""
    schema = dn.Schema([dn.Choice("a", list("wxyz"))])
    plan = dn.Plan(schema, {"a": dn.UnaryEncoding.optimized(1.0)})
    p, q, n = plan["a"].p, plan["a"].q, 10_000
    t = np.full(4, n / 4)
    noise = np.diag(t * q * (1 - q) + (n - t) * p * (1 - p))
    plain = noise / (q - p) ** 2
    inverse = paper.inverse_without_total(4, p, q)
    without = inverse @ noise @ inverse.T
    centre = np.eye(4) - 0.25
    centred = centre @ plain @ centre
    assert np.sqrt(without.sum()) == pytest.approx(71, abs=1)
    assert np.trace(without) == pytest.approx(np.trace(centred) + without.sum() / 4)
    assert np.trace(centred) / n == pytest.approx(11.80, abs=0.01)
    assert np.trace(without) / n == pytest.approx(11.92, abs=0.01)
    assert np.trace(plain) > 1.3 * np.trace(without)
