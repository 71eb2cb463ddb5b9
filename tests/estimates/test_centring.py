"""Consistent estimates of unary encoding and hashing: tables that agree, errors near the bound, intervals that hold."""

from dataclasses import replace
from itertools import product
from math import sqrt

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.one_feature import Axis
from deniable.inference.tensors import along, answer_rows, weighted
from tests.support.situations import values
from tests.support.surveys import some_counts

A, B, C = dn.Choice("a", values(4)), dn.Choice("b", values(3)), dn.Flag("c")
SKEWED = np.array([0.85, 0.1, 0.04, 0.01])
SPARSE = np.array([0.97, 0.03, 0.0, 0.0])


def near(one: np.ndarray, other: np.ndarray) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


PLANS = {
    "apart": dn.Plan(
        dn.Schema([A, B, C]),
        {
            "a": dn.UnaryEncoding.optimized(3.0),
            "b": dn.LocalHashing(epsilon=2.0),
            "c": dn.RandomizedResponse(epsilon=1.0),
        },
    ),
    "block": dn.Plan(dn.Schema([A, B, C]), {("a", "b", "c"): dn.UnaryEncoding.optimized(3.0)}),
    "blocks": dn.Plan(dn.Schema([A, B, C]), {("a", "c"): dn.LocalHashing(epsilon=3.0), "b": dn.GRR(epsilon=1.0)}),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("n", [40, 3_000])  # with few reports many shares are cut to zero
def test_all_tables_agree_with_their_margins(plan: dn.Plan, n: int) -> None:
    counts = some_counts(plan, n)
    whole = dn.estimate(counts, ["a", "b", "c"])
    assert not np.allclose(whole.mean, dn.estimate(counts, ["a", "b", "c"], method="centred").mean)
    for names in (["a"], ["b"], ["c", "a"], ["b", "c"]):
        one, margin = dn.estimate(counts, names), whole.project(*names)
        near(one.mean, margin.mean)
        for subject in Subject:
            near(one.about(subject).covariance(), margin.about(subject).covariance())
    sums = whole.mean[:, 1:].sum(axis=1), whole.mean[1:].sum(axis=0)
    near(sums[0], whole.mean[:, 0])
    near(sums[1], whole.mean[0])


@pytest.mark.parametrize("name", ["GRR", "subsets", "public", "flag", "symmetric unary"])
def test_where_plain_centring_is_best_nothing_changes(name: str) -> None:
    """Bit for bit, alone and in a block."""
    made = {
        "GRR": dn.GRR(epsilon=1.0),
        "subsets": dn.SubsetSelection(epsilon=1.0, size=2),
        "public": dn.Public(),
        "flag": dn.GRR(epsilon=1.0),
        "symmetric unary": dn.UnaryEncoding.symmetric(1.0),
    }[name]
    flag = {"c": dn.RandomizedResponse(epsilon=1.0)}
    plans = [dn.Plan(dn.Schema([B, C]), {"b": made, **flag})]
    plans += [dn.Plan(dn.Schema([B, C]), {("b", "c"): made})] if name != "public" else []
    for plan in plans:
        counts = some_counts(plan, 300)
        one, other = (dn.estimate(counts, ["b", "c"], method=method) for method in ("consistent", "centred"))
        assert replace(one, method="centred") == other
        assert np.array_equal(one.mean, other.mean)
        assert np.array_equal(one.covariance(), other.covariance())
        assert one.table().to_pydict() == other.table().to_pydict()


def test_many_pairs_at_once_are_as_one_by_one() -> None:
    """Pairs of features with one protocol have weights of their own, and are told of together."""
    schema = dn.Schema([dn.Choice(name, values(3)) for name in "abcd"])
    plan = dn.Plan(schema, {name: dn.UnaryEncoding.optimized(3.0) for name in "abcd"})
    parts = [(0.5, {name: [0.8, 0.15, 0.05] for name in "abcd"}), (0.5, {name: [0.3, 0.1, 0.6] for name in "ab"})]
    parts[1][1].update(c=[0.1, 0.8, 0.1], d=[0.2, 0.4, 0.4])
    counts = dn.simulate.counts(dn.simulate.truth(schema, parts), plan, np.random.default_rng(1), n=20_000)
    rows = {(row["first"], row["second"]): row for row in dn.associations(counts).to_pylist()}
    assert len(rows) == 6
    for (first, second), row in rows.items():
        est = dn.estimate(counts, [first, second]).about("population")
        strength = est.association(first, second).cramers_v
        low, high = strength.confidence_interval()
        wanted = [strength.value, low, high, est.independence(first, second).p_value]
        np.testing.assert_allclose([row["effect"], row["low"], row["high"], row["p_value"]], wanted, rtol=1e-8)


def many(plan: dn.Plan, shares: np.ndarray, n: int, surveys: int, rng: np.random.Generator) -> np.ndarray:
    """Counts of many surveys of one choice or two by independent bits, the surveys last."""
    bits = np.array(list(product((0, 1), repeat=len(shares))))
    laws = []
    for protocol in plan.protocols:
        p, q = map(float, protocol.channel)
        chances = np.where(np.eye(len(shares), dtype=bool), q, p)[:, None]
        laws.append(np.where(bits, chances, 1 - chances).prod(axis=2))
    tables = rng.multinomial(n, along(shares, [law.T for law in laws]).reshape(-1), size=surveys)
    evidence = np.hstack([np.ones((len(bits), 1)), bits]).T
    tensor = tables.T.reshape(*[len(bits)] * shares.ndim, surveys)
    return np.moveaxis(along(tensor, [evidence] * shares.ndim), 0, -1).astype(np.int64)


def fisher(plan: dn.Plan, shares: np.ndarray) -> float:
    """The total variance of shares that no unbiased estimate from one report can be below (Cramer and Rao)."""
    bits = np.array(list(product((0, 1), repeat=len(shares))))
    p, q = map(float, plan.protocols[0].channel)
    chances = np.where(np.eye(len(shares), dtype=bool), q, p)[:, None]
    law = np.where(bits, chances, 1 - chances).prod(axis=2)
    inverse = np.linalg.inv(law / (shares @ law) @ law.T)
    ones = inverse.sum(axis=0)
    return float(np.trace(inverse) - ones @ ones / ones.sum())


def one_choice(protocol: object) -> dn.Plan:
    return dn.Plan(dn.Schema([A]), {"a": protocol})


@pytest.mark.parametrize(
    ("epsilon", "shares", "plain", "best"),
    [
        (4.0, SKEWED, 1.295, 1.085),
        (6.0, SKEWED, 1.367, 1.018),
        (4.0, SPARSE, 1.759, 1.229),
        (6.0, SPARSE, 2.398, 1.090),
    ],
    ids=["skewed, 4", "skewed, 6", "sparse, 4", "sparse, 6"],
)
def test_the_error_is_near_the_bound_of_fisher(epsilon: float, shares: np.ndarray, plain: float, best: float) -> None:
    """Root mean square error over the least possible, simulated with estimated weights, and as the formulas say."""
    plan, n, surveys = one_choice(dn.UnaryEncoding.optimized(epsilon)), 2_000, 4_000
    axes, rows, least = [Axis.of(plan["a"], centred=True)], [answer_rows(4)], fisher(plan, shares)
    counts = many(plan, shares, n, surveys, np.random.default_rng(1))
    for own, ratio in ((axes, plain), (weighted(axes, counts), best)):
        group = Group.from_counts(n, n, tuple(own), counts)
        error = sqrt((((along(group.truth, rows) / n - shares) ** 2).sum(axis=1)).mean() * n / least)
        assert error == pytest.approx(ratio, rel=0.03)
    at_truth = Group(1, (axes[0].weighted(shares),), np.array([1.0, *shares]))
    assert sqrt(at_truth.covariance(rows, rows, Subject.POPULATION).sum() / least) == pytest.approx(best, abs=5e-4)


def test_estimated_weights_bias_by_less_than_half_a_respondent() -> None:
    """With many shares at zero, where half of the estimates are cut; the mean of many surveys, in respondents."""
    plan, n, surveys = one_choice(dn.UnaryEncoding.optimized(4.0)), 300, 40_000
    counts = many(plan, SPARSE, n, surveys, np.random.default_rng(3))
    axes = weighted([Axis.of(plan["a"], centred=True)], counts)
    found = Group.from_counts(n, n, axes, counts).truth[1:]
    error = found.std(axis=1) / sqrt(surveys)
    assert (np.abs(found.mean(axis=1) - n * SPARSE) < 0.5 + 4 * error).all()
    assert error.max() < 0.05


def test_what_a_plan_expects_at_a_guess_is_what_comes() -> None:
    """Standard errors before the survey, with weights at the guess, beside those after it, with weights found."""
    schema = dn.Schema([A, replace(A, name="b")])
    guess = {"a": SKEWED, "b": SKEWED[::-1]}
    of = dn.simulate.truth(schema, guess)
    for plan in (
        dn.Plan(schema, {"a": dn.UnaryEncoding.optimized(4.0), "b": dn.UnaryEncoding.optimized(3.0)}),
        dn.Plan(schema, {("a", "b"): dn.UnaryEncoding.optimized(5.0)}),
    ):
        counts = dn.simulate.counts(of, plan, np.random.default_rng(1), n=400_000)
        for names in (["a"], ["b", "a"]):
            expected = plan.expect(*names, n=400_000, guess=guess)
            stated = np.array(dn.estimate(counts, names).about("population").table()["stderr"])
            plain = np.array(dn.estimate(counts, names, method="centred").about("population").table()["stderr"])
            found = sqrt((stated**2).mean())
            assert expected.stderr == pytest.approx(found, rel=0.01)
            assert found < 0.98 * sqrt((plain**2).mean())
