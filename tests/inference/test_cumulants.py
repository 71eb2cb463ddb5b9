"""Cumulants against enumeration of every possible report of tiny surveys."""

from collections import defaultdict
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod

import numpy as np
import pytest

import deniable as dn
from deniable.inference.about_whom import Subject
from deniable.inference.cumulants import _shortened, by_margins, by_shares, by_table, cumulants, row_functions
from deniable.inference.one_feature import Axis
from deniable.inference.tensors import answer_rows
from deniable.survey.protocols.base import Protocol
from tests.support.channels import Channel, Outcome, evidence_channel
from tests.support.situations import KINDS, METHODS, tiny, values
from tests.support.surveys import best_weights, own_estimate, some_axes, some_weights, truth_tensor


def rows_of(axes: list[Axis], rng: np.random.Generator) -> list[np.ndarray]:
    """Two rows of any weights for each feature."""
    return [rng.normal(size=(2, 1 + axis.m)) for axis in axes]


def outcomes(plan: dn.Plan, person: tuple[int, ...], method: str) -> list[tuple[float, np.ndarray]]:
    """Every outcome of one respondent's report: its probability, and its own estimate z as a tensor."""
    weights = some_weights(plan, method)
    laws = [evidence_channel(protocol, x) for protocol, x in zip(plan.protocols, person, strict=True)]
    found = []
    for outcome in product(*(law.items() for law in laws)):
        zs = [
            np.array(own_estimate(protocol, bits, centred=method != "unbiased", weights=own), float)
            for protocol, own, (bits, _) in zip(plan.protocols, weights, outcome, strict=True)
        ]
        found.append((float(prod(chance for _, chance in outcome)), reduce(np.multiply.outer, zs)))
    return found


def central(chances: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Variance and the third and fourth cumulants of a discrete law."""
    d = y - chances @ y
    v = chances @ d**2
    return v, chances @ d**3, chances @ d**4 - 3 * v**2


@pytest.mark.parametrize("subject", ["respondents", "population"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_cumulants_are_those_of_enumeration(kind: str, method: str, subject: str) -> None:
    plan, people = tiny(kind)
    population, n = subject == "population", len(people)
    about = Subject(subject)
    axes = some_axes(plan, method)
    rows = rows_of(axes, np.random.default_rng(5))
    truth = truth_tensor(plan, people)
    stated = cumulants(n, row_functions(axes, rows, about), by_table(truth))
    for at in product(range(2), repeat=len(axes)):
        w = reduce(np.multiply.outer, [matrix[row] for matrix, row in zip(rows, at, strict=True)])
        alone = [matrix[row : row + 1] for matrix, row in zip(rows, at, strict=True)]
        center = float((w * truth).sum()) / n

        def own_variance(z: np.ndarray) -> float:
            """What one report adds to the estimated variance; about the population, of its linear part."""
            found = cumulants(1, row_functions(axes, alone, about), by_table(z)).variance.item()
            y = float((w * z).sum())
            return found + y**2 - 2 * center * y if population else found

        laws = []
        for person in people:
            chances, zs = zip(*outcomes(plan, person, method), strict=True)
            laws.append(
                (np.array(chances), *(np.array([f(z) for z in zs]) for f in (lambda z: (w * z).sum(), own_variance)))
            )
        if population:  # every respondent is one of these people, at random
            laws = [tuple(np.concatenate(part) for part in zip(*laws, strict=True))]
            laws = [(laws[0][0] / n, *laws[0][1:])] * n
        expected = [sum(part) for part in zip(*(central(chances, y) for chances, y, _ in laws), strict=True)]
        expected += [
            sum(chances @ ((y - chances @ y) * (v - chances @ v)) for chances, y, v in laws),
            sum(chances @ (v - chances @ v) ** 2 for chances, _, v in laws),
        ]
        names = "variance", "third", "fourth", "covariance_with_variance", "variance_of_variance"
        got = [getattr(stated, name)[at] for name in names]
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
        assert stated.mean[at] == pytest.approx(n * center)


def test_at_independence_the_table_is_a_product_of_proper_margins() -> None:
    plan, people = tiny("mixed")
    axes = [Axis.of(protocol, centred=True) for protocol in plan.protocols]
    rows = rows_of(axes, np.random.default_rng(5))
    truth = truth_tensor(plan, people) * 3.0
    truth[2, 0, 0], truth[1, 0, 0], truth[3, 0, 0] = -1.0, 3.0, 4.0  # shares 0, 3/7, 4/7
    shares = [np.array([1, 3 / 7, 0, 4 / 7]), np.array([1, 0.5]), np.array([1, 0.5, 0.5])]
    table = 6 * reduce(np.multiply.outer, shares)
    for subject in Subject:
        ours = cumulants(6, row_functions(axes, rows, subject), by_margins(truth, 3))
        theirs = cumulants(6, row_functions(axes, rows, subject), by_table(table))
        for name in vars(ours):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10)


def test_many_surveys_at_once_are_as_one_by_one() -> None:
    plan, people = tiny("unary")
    axes = [Axis.of(protocol, centred=True) for protocol in plan.protocols]
    rows = rows_of(axes, np.random.default_rng(5))
    first, second = truth_tensor(plan, people), truth_tensor(plan, people[:1] * 3)
    both = np.stack([first, second], axis=-1)
    for contraction, one in ((by_table(both), by_table), (by_margins(both, 2), lambda truth: by_margins(truth, 2))):
        together = cumulants(3, row_functions(axes, rows, Subject.POPULATION), contraction)
        for survey, truth in enumerate((first, second)):
            alone = cumulants(3, row_functions(axes, rows, Subject.POPULATION), one(truth))
            for name in vars(alone):
                np.testing.assert_allclose(getattr(together, name)[survey], getattr(alone, name), rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_alike_need_not_be_written_out(kind: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, people = tiny(kind)
    axes = some_axes(plan, method)
    features = len(axes)
    truth = np.stack([truth_tensor(plan, people), truth_tensor(plan, people[:1] * 3)], axis=-1)
    others = [
        [answer_rows(axis.m) for axis in axes],
        [answer_rows(axis.m) if k else answer_rows(axis.m)[::-1] for k, axis in enumerate(axes)],  # not in turn
        [answer_rows(axis.m) if k else 2 * answer_rows(axis.m) for k, axis in enumerate(axes)],
        [answer_rows(axis.m) + np.eye(1, 1 + axis.m) for axis in axes],
    ]
    shares = [np.array([1.0, *[1 / max(2, axis.m)] * axis.m]) for axis in axes]
    tables = by_table(truth), by_margins(truth, features), by_shares(np.asarray(3.0), shares)
    for rows, contraction, subject in product(others, tables, Subject):
        monkeypatch.setattr("deniable.inference.cumulants.MANY", 1000)
        long = cumulants(3, row_functions(axes, rows, subject), contraction)
        monkeypatch.setattr("deniable.inference.cumulants.MANY", 2)
        short = cumulants(3, row_functions(axes, rows, subject), contraction)
        for name in vars(long):
            np.testing.assert_allclose(getattr(short, name), getattr(long, name), rtol=1e-9, atol=1e-9)
    several = [axis.m > 1 for axis in axes]
    for rows, expected in zip(
        others, (several, [False, *several[1:]], [False, *several[1:]], [False] * 9), strict=True
    ):
        for axis, matrix, alike in zip(axes, rows, expected[:features], strict=True):
            assert bool(_shortened(axis, matrix)[0].times) is alike


# -- local hashing ----------------------------------------------------------------------------------------------------

PRIME = 5  # as many buckets as the prime, so that they are even


def whole_family(protocol: Protocol, code: int, coefficients: int) -> Channel:
    """P(support bits | code) over all polynomials modulo a small prime."""
    p, q = protocol.channel.p, protocol.channel.q
    law: defaultdict[Outcome, Fraction] = defaultdict(Fraction)
    for seed in product(range(PRIME), repeat=coefficients):
        h = [sum(c * v**k for k, c in enumerate(seed)) % PRIME for v in range(protocol.columns)]
        for shown in range(PRIME):
            chance = q if shown == h[code] else (1 - q) / (PRIME - 1)
            law[tuple(int(one == shown) for one in h)] += chance / PRIME**coefficients
    assert p == Fraction(1, PRIME)
    return dict(law)


@pytest.mark.parametrize(("coefficients", "right"), [(4, True), (2, False)], ids=["cubic", "affine, the control"])
@pytest.mark.parametrize("method", METHODS)
def test_local_hashing_over_a_whole_hash_family(method: str, coefficients: int, right: bool) -> None:
    """Four-wise independence makes second and third cumulants those of independent bits; an affine hash does not."""
    schema = dn.Schema([dn.Choice("a", values(5))])
    protocol = dn.Plan(schema, {"a": dn.LocalHashing(epsilon=2.0, buckets=PRIME)})["a"]
    axis, own = Axis.of(protocol, centred=method != "unbiased"), None
    if method == "consistent":
        counts = np.array([100, 60, 35, 25, 15, 15])
        axis, own = axis.weighted_by(counts), best_weights(protocol, counts)
    weights = np.array([[0.3, 1.0, -2.0, 0.5, 0.25, 1.5]])
    for code in range(5):
        law = whole_family(protocol, code, coefficients)
        zs = [own_estimate(protocol, bits, centred=axis.centred, weights=own) for bits in law]
        y = np.array(zs, float) @ weights[0]
        variance, third, _ = central(np.array([float(chance) for chance in law.values()]), y)
        truth = np.array([1.0, *(float(v == code) for v in range(5))])
        stated = cumulants(1, row_functions([axis], [weights], Subject.RESPONDENTS), by_table(truth))
        agree = np.isclose([stated.variance[0], stated.third[0]], [variance, third], rtol=1e-10)
        assert agree.all() == right
