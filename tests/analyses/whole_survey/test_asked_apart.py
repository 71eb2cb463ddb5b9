"""Plans that ask several blocks of one person: what contrasts have in common, exactly, and intervals that hold."""

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.whole_survey.asked_apart import with_noise
from deniable.analyses.whole_survey.contrasts import Terms, set_contrasts
from deniable.analyses.whole_survey.evidence import SurveyEvidence, survey_evidence
from deniable.analyses.whole_survey.pair_tests import independent_margins, pair_tests
from deniable.analyses.whole_survey.reference import Independent, Whole
from deniable.estimates.designs.arm_kinds import arm_kinds
from deniable.inference.one_feature import Array

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"]), dn.Flag("c"), dn.Choice("d", ["t", "u", "v", "w"])])
LEVELS = (2, 3, 2, 4)
SHARES = np.random.default_rng(7).dirichlet(np.full(48, 0.3)).reshape(LEVELS)
PLANS = {
    "unequal coins, GRR, hashing": {
        "a": dn.RandomizedResponse(p=0.1, q=0.6), "b": dn.GRR(epsilon=1.0),
        "c": dn.RandomizedResponse(p=0.3, q=0.95), "d": dn.LocalHashing(epsilon=2.0),
    },
    "unary, a public column, subsets": {
        "a": dn.RandomizedResponse(epsilon=2.0), "b": dn.UnaryEncoding(p=0.2, q=0.7), "c": dn.Public(),
        "d": dn.SubsetSelection(epsilon=1.0, size=2),
    },
    "blocks": {("a", "b"): dn.SubsetSelection(epsilon=2.0, size=2), ("c", "d"): dn.GRR(epsilon=2.0)},
    "a block between": {("a", "d"): dn.UnaryEncoding.optimized(2.0), "b": dn.GRR(epsilon=3.0), "c": dn.Public()},
}  # fmt: skip


def evidence_of(plan: dn.Plan, shares: Array, seed: int, n: int) -> SurveyEvidence:
    return survey_evidence(dn.simulate.counts(dn.simulate.truth(plan.schema, shares), plan, seed, n=n))


def every_term(levels: tuple[int, ...]) -> Terms:
    places = range(len(levels))
    return Terms(levels, tuple(one for size in (1, 2) for one in combinations(places, size)))


@pytest.mark.parametrize("protocols", PLANS.values(), ids=PLANS.keys())
def test_second_moments_of_all_contrasts_are_those_of_the_whole_report(protocols: dict[Any, Any]) -> None:
    """Beside E[z z'] over all 48 cells; at a truth with strong interactions of three and four, and at independence."""
    plan, terms = dn.Plan(SCHEMA, protocols), every_term(LEVELS)
    reports = dn.simulate.reports(dn.simulate.truth(SCHEMA, SHARES), plan, 1_000, 1)
    (kind,) = arm_kinds([dn.count(reports, SCHEMA.names)], SCHEMA.names, plain=True)
    rows = np.concatenate(
        [np.ones((1, 48)), *(set_contrasts(LEVELS, [k in one for k in range(4)]) for one in terms.sets)]
    )
    arm = survey_evidence(dn.count(reports, order=2)).arms[0]
    lines = [SHARES.sum(axis=tuple(k for k in range(4) if k != own)) for own in range(4)]
    independent = Independent(dict(enumerate(lines)))
    for at, table in ((Whole(SHARES), SHARES), (independent, independent.margin((0, 1, 2, 3)))):
        seconds = at.seconds(terms)
        np.testing.assert_allclose(seconds, (rows * table.reshape(-1)) @ rows.T, atol=1e-12)
        found, expected = with_noise(seconds, terms, arm.noise), rows @ kind.seconds(table.reshape(-1)) @ rows.T
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        assert np.abs(found - with_noise(seconds, terms, arm.noise[1:])).max() > 0.05  # without the noise of one block


@pytest.mark.parametrize("together", [[], [["a", "b"], ["c", "d"]]], ids=["apart", "two blocks"])
def test_squared_errors_of_plans_asked_apart_are_a_chi_square(together: list[list[str]]) -> None:
    """Mean and variance: a misfit that takes products as independent of main effects has the mean, and varies more."""
    plan, terms = dn.Plan(SCHEMA, epsilon=12.0, together=together), every_term(LEVELS)
    rows = np.concatenate([set_contrasts(LEVELS, [k in one for k in range(4)]) for one in terms.sets])
    truth = rows @ SHARES.reshape(-1)
    found, split = [], []
    for seed in range(60):
        evidence = evidence_of(plan, SHARES, seed, 20_000)
        weights, b = evidence.information(terms, Whole(SHARES))
        y = np.linalg.solve(weights, b)
        found.append((y - truth) @ weights @ (y - truth))
        ends = np.cumsum([0, *terms.sizes])
        split.append(sum((y - truth)[s:e] @ weights[s:e, s:e] @ (y - truth)[s:e] for s, e in pairwise(ends)))
    k, surveys = terms.count, len(found)
    assert abs(np.mean(found) - k) < 4 * np.sqrt(2 * k / surveys)
    assert np.var(found, ddof=1) < 2 * k * (1 + 4 * np.sqrt(2 / surveys))
    assert np.var(split, ddof=1) > 2 * k * (1 + 4 * np.sqrt(2 / surveys))  # of each set of features by itself


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "n"), [(16.0, 10_000), (32.0, 5_000)])
def test_intervals_of_rare_answers_asked_apart_hold(epsilon: float, n: int) -> None:
    """Margins and the cells of pairs of eight flags that go together; of a third of their length they would not."""
    schema = dn.Schema([dn.Flag(f"q{k}") for k in range(8)])
    few, more = (dict.fromkeys(schema.names, share) for share in (0.05, 0.3))
    truth, plan = dn.simulate.truth(schema, [(0.8, few), (0.2, more)]), dn.Plan(schema, epsilon=epsilon)
    held: dict[str, list[bool]] = {"as they are": [], "a third": []}
    for seed in range(20):
        model = dn.fit(dn.simulate.counts(truth, plan, seed, n=n))
        cells = [(model.project(f"q{k}").cell({f"q{k}": True}), 0.1) for k in range(8)]
        cells += [
            (model.project(f"q{k}", f"q{k + 1}").cell({f"q{k}": True, f"q{k + 1}": True}), 0.02) for k in range(7)
        ]
        for cell, share in cells:
            low, high = cell.confidence_interval()
            held["as they are"].append(low <= share <= high)
            held["a third"].append(abs(share - cell.value) < (high - low) / 6)
            assert (high - low) / 3.92 > 0.95 * np.sqrt(cell.value * (1 - cell.value) / n)  # sampling alone
    assert 0.90 < np.mean(held["as they are"]) < 0.985
    assert np.mean(held["a third"]) < 0.8


@pytest.mark.slow
def test_all_pairs_together_are_tested_with_what_they_have_in_common() -> None:
    """Six independent flags with rare answers: the sum of the pairs' chi-squares is too large three times too often."""
    from scipy.special import chdtrc

    schema = dn.Schema([dn.Flag(f"q{k}") for k in range(6)])
    truth, plan = dn.simulate.truth(schema, dict.fromkeys(schema.names, 0.05)), dn.design(schema, epsilon=2.0, order=2)
    together, summed = [], []
    for seed in range(300):
        evidence = survey_evidence(dn.simulate.counts(truth, plan, seed, n=20_000))
        found = pair_tests(evidence, independent_margins(evidence))
        together.append(found.p_value)
        summed.append(chdtrc(sum(one.degrees for one in found.tests), sum(one.statistic for one in found.tests)))
    assert np.mean(np.array(together) < 0.01) < 0.01 + 3 * np.sqrt(0.01 / 300)
    assert np.var(summed) > 1 / 12  # more often near 0 and 1 than a p-value


def test_features_that_nobody_was_asked_together_get_no_interval() -> None:
    schema = dn.Schema([dn.Flag("smoker"), dn.Flag("young"), dn.Flag("insured")])
    plan = dn.Plan(schema, epsilon=3.0, arms=[["smoker", "young"], ["smoker", "insured"]])
    old, young = {"smoker": 0.2, "young": 0.0, "insured": 0.95}, {"smoker": 0.4, "young": 1.0, "insured": 0.3}
    truth = dn.simulate.truth(schema, [(0.6, old), (0.4, young)])
    model = dn.fit(dn.simulate.counts(truth, plan, 1, n=20_000))
    est = model.project("young", "smoker", "insured")
    assert np.isnan(est.cell(young=True, insured=True).confidence_interval()).all()
    assert np.isnan(est.difference("insured", between=("young", True, False)).confidence_interval()).all()
    assert np.isnan(model.project("insured", "young").table()["low"].to_numpy()).all()
    for asked in ({"young": True}, {"young": True, "smoker": False}, {"smoker": True, "insured": True}):
        assert not np.isnan(est.cell(asked).confidence_interval()).any()
    assert not np.isnan(est.project("insured", "smoker").table()["low"].to_numpy()).any()
    assert "Nobody was asked both young and insured" in str(model.table("young", "insured")).replace("\n", " ")
    assert "without intervals: 1 pair." in repr(model.fit_quality)


def test_a_models_table_takes_nothing_that_is_known() -> None:
    plan = dn.Plan(SCHEMA, epsilon=8.0)
    model = dn.fit(dn.simulate.counts(dn.simulate.truth(SCHEMA, SHARES), plan, 1, n=5_000))
    with pytest.raises(dn.EstimateError, match=r"ask dn.estimate\(counts, \[...\]\).given"):
        model.project("a", "b").given({"a": {True: 0.2}})
