"""All pairs of a survey: each is what it is alone, what is planted is found, and false discoveries are few."""

from math import isnan

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.analyses.associations import false_discovery_rate
from tests.support.surveys import AGES, survey


def test_what_is_planted_is_found_and_what_is_not_is_not() -> None:
    _, counts = survey(50_000)
    rows = dn.associations(counts).to_pylist()
    assert [row["p_value"] for row in rows] == sorted(row["p_value"] for row in rows)
    surely = {frozenset((row["first"], row["second"])) for row in rows if row["fdr"] < 0.01}
    assert {frozenset(("smoker", "drinker")), frozenset(("smoker", "age"))} <= surely
    assert not any("lucky" in pair for pair in surely)
    est = dn.estimate(counts, ["smoker", "lucky"]).about("population")
    low, high = est.correlation("smoker", "lucky").confidence_interval(0.9999)
    assert low < 0 < high
    assert est.association("smoker", "lucky").cramers_v.confidence_interval(0.9999)[0] == 0


@pytest.mark.parametrize("order", [True, False])
def test_all_pairs_are_what_each_pair_is(order: bool) -> None:
    rng = np.random.default_rng(1)
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", AGES), dn.Flag("d"), dn.Choice("e", AGES)])
    plan = dn.Plan(schema, {
        "a": dn.RandomizedResponse(epsilon=2.0), "b": dn.RandomizedResponse(p=0.1, q=0.8),
        "c": dn.UnaryEncoding.optimized(2.0), "d": dn.RandomizedResponse(epsilon=2.0), "e": dn.GRR(epsilon=2.0),
    })  # fmt: skip
    common = rng.random(5_000) < 0.4
    records = {name: common ^ (rng.random(5_000) < 0.2) for name in "abd"}
    records |= {name: np.array(AGES)[rng.choice(3, 5_000) * common] for name in "ce"}
    reports = dn.randomize(records, plan, rng=rng)
    counts = dn.count(reports, order=2) if order else dn.count(reports, list(schema.names))
    rows = dn.associations(counts, level=0.9).to_pylist()
    assert len(rows) == 10
    for row in rows:
        pair = row["first"], row["second"]
        est = dn.estimate(counts, pair).about("population")
        flags = not set(pair) & {"c", "e"}
        answer = est.correlation(*pair) if flags else est.association(*pair).cramers_v
        assert row["measure"] == ("correlation" if flags else "Cramer's V")
        assert row["effect"] == pytest.approx(answer.value)
        assert (row["low"], row["high"]) == pytest.approx(answer.confidence_interval(0.9), nan_ok=True)
        assert row["p_value"] == pytest.approx(est.independence(*pair).p_value)
    assert not all(isnan(row["low"]) for row in rows)


def test_all_pairs_merge_what_a_pair_merges() -> None:
    """Margins that are not surely above zero, though all cells are trusted."""
    rng = np.random.default_rng(2)
    schema = dn.Schema([dn.Choice("a", ["x", "y", "z"]), dn.Choice("b", ["x", "y", "z"])])
    plan = dn.Plan(schema, dict.fromkeys("ab", dn.GRR(epsilon=1.0)))
    records = {name: np.array(["x", "y", "z"])[rng.choice(3, 20_000, p=[0.6, 0.395, 0.005])] for name in "ab"}
    counts = dn.count(dn.randomize(records, plan, rng=rng), ["a", "b"])
    est = dn.estimate(counts, ["a", "b"]).about("population")
    assert all(est.cell(a=x, b=y).enough for x in "xyz" for y in "xyz")
    found, test = est.association("a", "b").cramers_v, est.independence("a", "b")
    assert found.merged == test.merged
    assert "merged a: y or z; b: y or z" in str(found)
    (row,) = dn.associations(counts).to_pylist()
    assert row["merged"] == "a: y or z; b: y or z"
    assert row["p_value"] == pytest.approx(test.p_value)
    assert (row["low"], row["high"]) == pytest.approx(found.confidence_interval())
    assert test.degrees == 1


def test_the_false_discovery_rate_is_that_of_benjamini_and_hochberg() -> None:
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.random(50), rng.random(10) / 1000])
    np.testing.assert_allclose(false_discovery_rate(p), stats.false_discovery_control(p))
    with_gap = np.concatenate([p, [np.nan]])
    np.testing.assert_allclose(false_discovery_rate(with_gap)[:-1], stats.false_discovery_control(p))
    assert np.isnan(false_discovery_rate(with_gap)[-1])


def test_a_test_that_rare_answers_would_fool_is_not_made() -> None:
    """Independent and rare answers, hardly randomized: without the rule many pairs would be found."""
    rng = np.random.default_rng(8)
    names = list("abcdef")
    plan = dn.Plan(
        dn.Schema([dn.Flag(name) for name in names]), dict.fromkeys(names, dn.RandomizedResponse(epsilon=8.0))
    )
    found = []
    for _ in range(30):
        reports = dn.randomize({name: rng.random(300) < 0.02 for name in names}, plan, rng=rng)
        rows = dn.associations(dn.count(reports, order=2)).to_pylist()
        found += [row["fdr"] for row in rows if row["fdr"] < 0.05]
    assert not found
    test = dn.estimate(dn.count(reports, order=2), ["a", "b"]).independence("a", "b")
    assert not test.enough
    assert isnan(test.p_value)
    assert str(test) == "not enough reports for this question"
    many = dn.randomize({name: rng.random(30_000) < 0.02 for name in names}, plan, rng=rng)
    assert dn.estimate(dn.count(many, order=2), ["a", "b"]).independence("a", "b").enough


def test_odd_questions_say_what_to_do() -> None:
    with pytest.raises(dn.EstimateError, match="takes counts"):
        dn.associations(3)
    _, counts = survey(2_000)
    one = dn.Counts(counts.plan, {("smoker",): counts.array("smoker")})
    with pytest.raises(dn.CountError, match="no pair of features"):
        dn.associations(one)


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_intervals_leave_zero_out_exactly_where_the_test_does(level: float) -> None:
    """Rare answers, hardly randomized: there the variance at the estimate differs most from that at independence."""
    rng = np.random.default_rng(5)
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", ["x", "y", "z"])])
    plan = dn.Plan(schema, {
        "a": dn.RandomizedResponse(epsilon=4.0), "b": dn.RandomizedResponse(epsilon=4.0), "c": dn.GRR(epsilon=4.0),
    })  # fmt: skip
    kinds = [np.array([0.84, 0.06, 0.06, 0.04]).reshape(2, 2), np.array([0.8, 0.12, 0.08])]
    truth = dn.simulate.truth(schema, np.multiply.outer(*kinds))
    agreed, alone = [], []
    for _ in range(25):
        counts = dn.simulate.counts(truth, plan, rng, n=4_000)
        for row in dn.associations(counts, level=level).to_pylist():
            if not isnan(row["low"]):
                agreed.append((row["low"] > 0 or row["high"] < 0) == (row["p_value"] < 1 - level))
        est = dn.estimate(counts, ["a", "b"]).about("population")
        low, high = est.correlation("a", "b").confidence_interval(level)
        alone.append((low > 0 or high < 0) == (est.independence("a", "b").p_value < 1 - level))
    assert len(agreed) == 75
    assert all(agreed)
    assert all(alone)


def test_lists_have_intervals_of_their_rank_and_shrunken_effects() -> None:
    rng = np.random.default_rng(4)
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", ["x", "y", "z"]), dn.Flag("d")])
    records = {"a": rng.random(20_000) < 0.4, "d": rng.random(20_000) < 0.5}
    records |= {"b": records["a"] ^ (rng.random(20_000) < 0.45), "c": rng.choice(["x", "y", "z"], 20_000)}
    for plan in (
        dn.Plan(schema, epsilon=8.0),
        dn.Plan(schema, epsilon=3.0, arms=[["a", "b"], ["a", "c"], ["b", "c"], ["a", "d"], ["b", "d"], ["c", "d"]]),
    ):
        counts = dn.count(dn.randomize(records, plan, rng=rng), order=2)
        rows = dn.associations(counts).to_pylist()
        assert [row["p_value"] for row in rows] == sorted(row["p_value"] for row in rows)
        for rank, row in enumerate(rows, 1):
            alpha = 0.05 * rank / len(rows)
            again = dn.associations(counts, level=1 - alpha).to_pylist()
            (own,) = (other for other in again if (other["first"], other["second"]) == (row["first"], row["second"]))
            assert (row["listed_low"], row["listed_high"]) == pytest.approx((own["low"], own["high"]), abs=1e-9)
            assert row["listed_low"] <= row["low"] <= row["high"] <= row["listed_high"] + 1e-12
            assert abs(row["shrunken"]) < abs(row["effect"]) or row["effect"] == row["shrunken"] == 0
            outside = row["listed_low"] > 0 or row["listed_high"] < 0
            assert outside is (row["p_value"] < alpha)
    assert rows[0]["shrunken"] / rows[0]["effect"] > 0.8 > rows[-1]["shrunken"] / max(rows[-1]["effect"], 1e-9)


def test_pairs_without_enough_reports_for_an_interval_come_last_and_have_no_effect() -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Flag("rare"), dn.Choice("town", list("xyz"))])
    told = dn.simulate.truth(schema, {"a": 0.5, "b": 0.4, "rare": 0.002, "town": [0.4, 0.3, 0.3]})
    found = 0
    for seed in range(6):
        rows = dn.associations(dn.simulate.counts(told, dn.Plan(schema, epsilon=4.0), seed, n=900)).to_pylist()
        enough = [not isnan(row["low"]) for row in rows]
        assert enough == sorted(enough, reverse=True)
        for row, answered in zip(rows, enough, strict=True):
            assert isnan(row["effect"]) == isnan(row["shrunken"]) == (not answered)
        found += 0 < sum(enough) < len(enough)
    assert found  # some surveys have pairs of both kinds
