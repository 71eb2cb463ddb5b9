"""Maximum likelihood of designs: against a direct maximisation of the exact likelihood, and where there is no noise."""

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from scipy.optimize import minimize

import deniable as dn
from deniable.estimates.designs.arm_patterns import design_patterns
from deniable.survey.blocks import Block
from tests.support.channels import evidence_channel
from tests.support.enumerated_designs import block_code
from tests.support.situations import values
from tests.support.surveys import supports

A, B, C, TOWN = dn.Flag("a"), dn.Choice("b", values(3)), dn.Flag("c"), dn.Choice("town", ["here", "there"])
SCHEMA = dn.Schema([A, B, C, TOWN])
SHOWN = {"town": dn.Public()}
ARMS = dn.Plan(
    SCHEMA,
    arms=[
        dn.Plan(dn.Schema([A, B, TOWN]), {("a", "b"): dn.SubsetSelection(epsilon=2.0, size=2), **SHOWN}),
        dn.Plan(
            dn.Schema([A, B, TOWN]),
            {"a": dn.RandomizedResponse(p=0.2, q=0.7), "b": dn.UnaryEncoding(p=0.2, q=0.6), **SHOWN},
        ),
        dn.Plan(dn.Schema([A, C, TOWN]), {("a", "c"): dn.GRR(epsilon=2.0), **SHOWN}),
        dn.Plan(dn.Schema([B, C, TOWN]), {("b", "c"): dn.LocalHashing(epsilon=2.0, buckets=3), **SHOWN}),
    ],
    unequal=True,
)
BLOCKS = dn.Plan(
    SCHEMA, {("b", "c"): dn.UnaryEncoding.optimized(2.0), "a": dn.RandomizedResponse(epsilon=1.0), **SHOWN}
)
PLANS = {"arms": ARMS, "blocks": BLOCKS}
TABLES = [("b", "a"), ("a", "town", "b"), ("c",)]


def reports_of(plan: dn.Plan, n: int = 400, seed: int = 1) -> dn.Reports:
    rng = np.random.default_rng(seed)
    of = dn.simulate.truth(plan.schema, rng.dirichlet(np.ones(24)).reshape(2, 3, 2, 2))
    return dn.simulate.reports(of, plan, n, rng)


Seen = tuple[int, ...]


def seen_of(block: Block, names: tuple[str, ...], bits: list[int]) -> Seen:
    """What is used of a block's bits: how many values are marked of those that share the table's answers."""
    if len(block.features) == 1:
        return tuple(bits)
    marked = np.array(bits).reshape(block.levels)
    return tuple(marked.sum(axis=tuple(k for k, name in enumerate(block.names) if name not in names)).reshape(-1))


def seen_law(block: Block, names: tuple[str, ...], code: int) -> dict[Seen, Fraction]:
    """The probability of all that can be seen of a block, given its code."""
    law: defaultdict[Seen, Fraction] = defaultdict(Fraction)
    for bits, chance in evidence_channel(block.protocol, code).items():
        law[seen_of(block, names, list(bits))] += chance
    return law


def likelihoods(reports: dn.Reports, names: tuple[str, ...]) -> np.ndarray:
    """P(what is seen of each report | cell of the table), from every arm that asks any of these features."""
    plan, rows = reports.plan, []
    cells = list(product(*(range(plan.schema[name].levels) for name in names)))
    for part in reports.arms:
        blocks = [block for block in part.plan.blocks if set(block.names) & set(names)]
        if not blocks or not len(part):
            continue
        laws = []  # of each block and cell: other features have any answer, on which nothing seen depends
        for block in blocks:
            own = []
            for cell in cells:
                person = [0] * len(plan.schema)
                for name, code in zip(names, cell, strict=True):
                    person[plan.schema.index(name)] = code
                own.append(seen_law(block, names, block_code(plan, block, tuple(person))))
            laws.append(own)
        bits = [supports(part.plan.units, part.table, block.unit.name)[:, 1:].tolist() for block in blocks]
        for report in zip(*bits, strict=True):
            seen = [seen_of(block, names, own) for block, own in zip(blocks, report, strict=True)]
            rows.append(
                [
                    float(prod(law[at].get(one, Fraction(0)) for law, one in zip(laws, seen, strict=True)))
                    for at in range(len(cells))
                ]
            )
    return np.array(rows)


@pytest.mark.parametrize("names", TABLES, ids=" x ".join)
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_patterns_have_their_exact_likelihoods(plan: dn.Plan, names: tuple[str, ...]) -> None:
    """Up to one factor for each report: at any two tables the likelihoods of all reports have the same ratio."""
    reports, rng = reports_of(plan), np.random.default_rng(2)
    exact, seen = likelihoods(reports, names), design_patterns(reports, names)
    assert seen.n == len(exact)
    first, second = rng.dirichlet(np.ones(exact.shape[1]), size=2)
    shown = seen.h > 0
    stated = seen.h[shown] @ np.log(seen.forth(first)[shown] / seen.forth(second)[shown])
    assert stated == pytest.approx(np.log((exact @ first) / (exact @ second)).mean(), rel=1e-9)
    gradient = seen.back(np.where(shown, seen.h / seen.forth(first), 0))
    np.testing.assert_allclose(gradient, (exact / (exact @ first)[:, None]).mean(axis=0), rtol=1e-9)
    curvature = seen.curvature(np.where(shown, seen.h / seen.forth(first) ** 2, 0))
    scaled = exact / (exact @ first)[:, None]
    np.testing.assert_allclose(curvature, scaled.T @ scaled / len(exact), rtol=1e-9)


@pytest.mark.parametrize("names", TABLES, ids=" x ".join)
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_the_maximum_is_that_of_a_direct_search(plan: dn.Plan, names: tuple[str, ...]) -> None:
    reports = reports_of(plan)
    exact, est = likelihoods(reports, names), dn.maximum_likelihood(reports, names)
    shape = [plan.schema[name].levels for name in names]
    cells = np.array([row["proportion"] for row in est.table().to_pylist()])
    assert cells.sum() == pytest.approx(1)
    assert cells.min() >= 0
    assert est.mean.flat[0] == pytest.approx(len(reports))

    def below(t: np.ndarray) -> float:
        return -float(np.log(np.maximum(exact @ t, 1e-300)).sum())

    def slope(t: np.ndarray) -> np.ndarray:
        return -(exact / np.maximum(exact @ t, 1e-300)[:, None]).sum(axis=0)

    found = minimize(
        below, np.full(prod(shape), 1 / prod(shape)), jac=slope, bounds=[(0, 1)] * prod(shape), method="SLSQP",
        constraints={"type": "eq", "fun": lambda t: t.sum() - 1, "jac": lambda t: np.ones(len(t))},
        options={"ftol": 1e-12, "maxiter": 1000},
    )  # fmt: skip
    assert below(cells) <= below(found.x / found.x.sum()) + 1e-5
    np.testing.assert_allclose(cells, found.x, atol=3e-3)
    assert below(cells) < below(np.full(len(cells), 1 / len(cells))) - 1


FLAG_ROWS = np.array([[1.0, -1.0], [0.0, 1.0]])  # from (all, true) to (false, true)
ROWS = {("b", "a"): np.kron(np.eye(4)[1:], FLAG_ROWS), ("c",): FLAG_ROWS}


@pytest.mark.parametrize("names", ROWS, ids=" x ".join)
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_the_covariance_is_that_of_the_observed_information(plan: dn.Plan, names: tuple[str, ...]) -> None:
    """The inverse of the exact Hessian of the log-likelihood, over tables that sum to one; sampling is in it.

    Of one table every arm says something; of the other, only half of the respondents.
    """
    reports, rows = reports_of(plan, 4_000), ROWS[names]
    exact, est = likelihoods(reports, names), dn.maximum_likelihood(reports, names).about("population")
    assert (len(exact) < 3_000) == (plan.has_arms and names == ("c",))
    cells = np.array([row["proportion"] for row in est.table().to_pylist()])
    assert cells.min() > 0.005
    scaled = exact / (exact @ cells)[:, None]
    basis = np.linalg.svd(np.ones((1, len(cells))))[2][1:].T  # all directions in which the sum stays
    expected = basis @ np.linalg.inv(basis.T @ scaled.T @ scaled @ basis) @ basis.T
    stated = rows @ est.covariance() @ rows.T / est.n**2
    np.testing.assert_allclose(stated, expected, rtol=1e-5, atol=1e-5 * expected.max())
    among = est.about("respondents").covariance()
    apart = rows @ (est.covariance() - among) @ rows.T / est.n
    np.testing.assert_allclose(apart, np.diag(cells) - np.outer(cells, cells), atol=1e-9)
    linear = dn.estimate(dn.count(reports), names).about("population")
    assert np.trace(stated) < 1.05 * np.trace(rows @ linear.covariance() @ rows.T) / est.n**2


@pytest.mark.parametrize("kind", ["arms", "blocks"])
def test_with_hardly_any_noise_it_is_the_shares_of_the_answers(kind: str) -> None:
    schema = dn.Schema([A, B])
    arms = [["a", "b"], [["a"], ["b"]]]
    plan = dn.Plan(schema, epsilon=60.0, **({"arms": arms} if kind == "arms" else {"together": [["a", "b"]]}))
    rng = np.random.default_rng(1)
    records = {"a": rng.random(3_000) < 0.3, "b": np.array(values(3))[rng.choice(3, 3_000, p=[0.6, 0.3, 0.1])]}
    est = dn.maximum_likelihood(dn.randomize(records, plan, rng=rng), ["b", "a"])
    for row in est.table().to_pylist():
        plain = np.mean((records["a"] == row["a"]) & (records["b"] == row["b"]))
        assert row["proportion"] == pytest.approx(plain, abs=2e-3)


def test_both_starts_lead_to_the_same_table() -> None:
    reports = reports_of(ARMS)
    first, second = (dn.maximum_likelihood(reports, ["a", "b"], start=start) for start in ("feasible", "uniform"))
    np.testing.assert_allclose(first.mean, second.mean, atol=0.05)
