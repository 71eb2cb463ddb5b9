"""Rare answers are merged by their margins alone, no more than are needed, and the merged association holds."""

from math import isnan, sqrt
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.pairs.rare_answers import kept_answers, pooled


def test_the_rarest_answers_are_merged_first_and_no_more_than_are_needed() -> None:
    shares = [np.array([[0.5, 0.3, 0.15, 0.05]] * 3), np.array([[0.6, 0.38, 0.02]] * 3)]
    wanted = np.array([4 * 3, 3 * 2, 1])  # the most cells that each pair can have

    def enough(places: Any, kept: tuple[int, int]) -> Any:
        return kept[0] * kept[1] <= wanted[places]

    # 4 x 3, then without 0.02: 4 x 2, then without 0.05: 3 x 2; the last pair can never be told
    assert kept_answers(shares, enough).tolist() == [[4, 3], [3, 2], [4, 3]]
    np.testing.assert_array_equal(pooled(np.eye(4), 3), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]])


def rare(extra: float) -> tuple[Any, dn.Plan, Any]:
    """A survey whose rarest answer keeps Cramer's V from being told; `extra` goes with the two common answers."""
    schema = dn.Schema([dn.Choice("a", ["x", "y", "z"]), dn.Choice("b", ["k", "l", "m", "n"])])
    plan = dn.Plan(schema, dict.fromkeys("ab", dn.GRR(epsilon=2.0)))
    shares = np.outer([0.55, 0.44, 0.01], [0.004, 0.5, 0.3, 0.196])
    shares[:2, 1:3] += extra * np.array([[1, -1], [-1, 1]])
    return dn.simulate.truth(schema, shares), plan, shares


@pytest.mark.slow
def test_a_rare_answer_does_not_veto_and_the_merged_association_holds() -> None:
    truth, plan, shares = rare(0.02)
    merged = np.array([[shares[0, 1], shares[0, 2], shares[0, [0, 3]].sum()],
                       [shares[1:, 1].sum(), shares[1:, 2].sum(), shares[1:, [0, 3]].sum()]])  # fmt: skip
    even = np.outer(merged.sum(axis=1), merged.sum(axis=0))
    wanted = sqrt(((merged - even) ** 2 / even).sum())
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(15):
        counts = dn.simulate.counts(truth, plan, rng, n=20_000)
        est = dn.estimate(counts, ["a", "b"]).about("population")
        found, test = est.association("a", "b").cramers_v, est.independence("a", "b")
        assert [(one.feature, one.answers) for one in found.merged] == [("a", ("y", "z")), ("b", ("n", "k"))]
        assert (test.merged, test.degrees) == (found.merged, 2)
        low, high = found.confidence_interval()
        held += low <= wanted <= high
        assert (low > 0) == (test.p_value < 0.05)
        (row,) = dn.associations(counts).to_pylist()
        assert row["merged"] == "a: y or z; b: n or k"
        assert (row["low"], row["high"]) == pytest.approx((low, high))
    assert held >= 11  # 14 expected, less four standard errors


@pytest.mark.parametrize("about", ["population", "respondents"])
def test_two_flags_have_cramers_v_wherever_they_have_a_correlation(about: str) -> None:
    """They are the same number; V was given in one of eight such surveys, and the correlation in all."""
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    plan = dn.Plan(schema, dict.fromkeys("ab", dn.RandomizedResponse(epsilon=3.0)))
    truth, rng = dn.simulate.truth(schema, np.array([[0.75, 0.12], [0.08, 0.05]])), np.random.default_rng(1)
    for n in (600, 600, 600, 600, 100):
        est = dn.estimate(dn.simulate.counts(truth, plan, rng, n=n), ["a", "b"], about=about)
        v, phi = est.association("a", "b").cramers_v, est.correlation("a", "b")
        assert (v.enough, v.name) == (phi.enough, "Cramer's V") == (n == 600, "Cramer's V")
        if v.enough:
            low, high = v.confidence_interval()
            assert 0 <= low <= v.value <= high <= 1
            assert (low > 0) == (v.pvalue < 0.05)


def test_which_answers_are_merged_does_not_depend_on_the_association() -> None:
    ways = set()
    for extra in (0.0, 0.05, 0.1):
        truth, plan, _ = rare(extra)
        counts = dn.simulate.counts(truth, plan, np.random.default_rng(1), n=200_000)
        found = dn.estimate(counts, ["a", "b"]).about("population")
        ways.add(found.association("a", "b").cramers_v.merged)
    assert len(ways) == 1


def test_nothing_is_merged_where_it_is_not_needed_or_does_not_help() -> None:
    truth, plan, _ = rare(0.0)
    many = dn.simulate.counts(truth, plan, np.random.default_rng(1), n=50_000_000)
    assert dn.estimate(many, ["a", "b"]).association("a", "b").cramers_v.merged == ()
    few = dn.simulate.counts(truth, plan, np.random.default_rng(1), n=60)
    found = dn.estimate(few, ["a", "b"])
    assert not found.association("a", "b").cramers_v.enough
    assert found.independence("a", "b").merged == ()
    (row,) = dn.associations(few).to_pylist()
    assert isnan(row["low"])
    assert row["merged"] == ""


def test_pairs_of_designs_are_merged_as_alone() -> None:
    """One feature inside a block and one beside it; and a pair whose features are both asked alone beside a block."""
    features = [dn.Choice("a", ["x", "y", "z"]), dn.Choice("b", ["k", "l", "m", "n"]), dn.Flag("c"), dn.Flag("d")]
    plan = dn.Plan(dn.Schema(features), epsilon=8.0, together=[["c", "d"]])
    shares = np.multiply.outer(np.outer([0.55, 0.44, 0.01], [0.004, 0.5, 0.3, 0.196]), np.full((2, 2), 0.25))
    counts = dn.simulate.counts(dn.simulate.truth(plan.schema, shares), plan, np.random.default_rng(1), n=3_000)
    for row in dn.associations(counts).to_pylist():
        pair = row["first"], row["second"]
        if pair == ("c", "d"):
            continue
        est = dn.estimate(counts, pair).about("population")
        found = est.association(*pair).cramers_v
        assert row["merged"] == "; ".join(map(str, found.merged))
        assert (row["merged"] != "") == bool({"a", "b"} & set(pair))
        assert (row["low"], row["high"]) == pytest.approx(found.confidence_interval())


def test_mutual_information_has_more_rare_answers_merged_so_that_no_cell_is_near_zero() -> None:
    plan = dn.Plan(
        dn.Schema([dn.Choice("a", ["x", "y", "z"]), dn.Choice("b", ["u", "v", "w"])]),
        {"a": dn.GRR(epsilon=1.0), "b": dn.GRR(epsilon=1.0)},
    )
    truth = dn.simulate.truth(plan.schema, np.outer([0.6, 0.3, 0.1], [0.5, 0.45, 0.05]))
    counts = dn.simulate.counts(truth, plan, np.random.default_rng(4), n=100_000)
    found = dn.estimate(counts, ["a", "b"]).about("population").association("a", "b")
    assert found.cramers_v.enough
    assert found.cramers_v.merged == ()
    assert found.mutual_information.enough
    assert [(each.feature, each.answers) for each in found.mutual_information.merged] == [("b", ("v", "w"))]


def test_many_pairs_with_merged_answers_are_told_as_each_of_them_is_alone() -> None:
    """Unary encoding's weights of centring follow the answers' shares, so they must follow the answers, too."""
    plan = dn.Plan(
        dn.Schema([dn.Choice(name, ["rare", "some", "most", "rarer"]) for name in "abc"]),
        dict.fromkeys("abc", dn.UnaryEncoding.optimized(3.0)),
    )
    margin = np.array([0.03, 0.27, 0.68, 0.02])
    table = np.multiply.outer(np.multiply.outer(margin, margin), margin)
    counts = dn.simulate.counts(dn.simulate.truth(plan.schema, table), plan, np.random.default_rng(3), n=2_000)
    rows = dn.associations(
        dn.Counts(plan, {pair: counts.array(*pair) for pair in [("a", "b"), ("a", "c"), ("b", "c")]})
    )
    assert any(row["merged"] for row in rows)
    for row in rows:
        alone = dn.estimate(counts, [row["first"], row["second"]]).association(row["first"], row["second"]).cramers_v
        assert row["effect"] == pytest.approx(alone.value, abs=1e-12)
        assert (row["low"], row["high"]) == pytest.approx(alone.confidence_interval(), abs=1e-9)


def strengths_of(plan: dn.Plan, shares: Any, n: int, surveys: int) -> tuple[float, float]:
    """How many surveys give Cramer's V, and how many of these intervals hold it."""
    even = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    true, ends = sqrt(((shares - even) ** 2 / even).sum() / (min(shares.shape) - 1)), []
    truth = dn.simulate.truth(plan.schema, shares)
    for seed in range(surveys):
        est = dn.estimate(dn.simulate.counts(truth, plan, np.random.default_rng([4, seed]), n=n), ["a", "b"])
        ends.append(est.association("a", "b").cramers_v.confidence_interval())
    given = [(low, high) for low, high in ends if not isnan(low)]
    return len(given) / surveys, sum(low <= true + 1e-9 and true <= high for low, high in given) / max(len(given), 1)


@pytest.mark.slow
def test_in_one_block_cramers_v_needs_no_more_than_the_test_of_independence() -> None:
    """The control is asked apart: there the test is refused, and so is V."""
    schema = dn.Schema([dn.Choice("a", list("xyz")), dn.Choice("b", list("klmn"))])
    strong = np.array([[0.22, 0.06, 0.04, 0.03], [0.05, 0.22, 0.04, 0.04], [0.02, 0.03, 0.17, 0.08]])
    block, surveys = dn.Plan(schema, epsilon=5.0, together=[["a", "b"]]), 60
    for shares in (strong, np.outer(strong.sum(axis=1), strong.sum(axis=0))):
        given, held = strengths_of(block, shares, 400, surveys)
        assert given > 0.9
        assert held > 0.95 - 3.3 * sqrt(0.95 * 0.05 / surveys)
    apart = dn.Plan(schema, dict.fromkeys("ab", dn.UnaryEncoding.optimized(epsilon=4.0)))
    assert strengths_of(apart, strong, 400, 3)[0] == 0
