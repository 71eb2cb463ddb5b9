"""The parts of the model of a whole survey against brute force on small tables."""

from itertools import combinations, product

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.whole_survey.contrasts import Terms, feature_contrasts, rotation
from deniable.analyses.whole_survey.evidence import survey_evidence
from deniable.analyses.whole_survey.left_out import LeftOut
from deniable.analyses.whole_survey.pair_tests import independent_margins, pair_tests
from deniable.analyses.whole_survey.reference import Whole
from deniable.analyses.whole_survey.shrinkage import Target, fit_at
from deniable.analyses.whole_survey.whole_table import WholeTable
from deniable.inference.one_feature import Array

LEVELS = [(2, 2, 2, 2), (2, 3, 4), (3, 5, 2)]


def every_term(levels: tuple[int, ...]) -> Terms:
    places = range(len(levels))
    return Terms(levels, tuple(one for size in (1, 2) for one in combinations(places, size)))


def design_matrix(terms: Terms) -> Array:
    """The contrasts of all cells, one by one, from the contrasts of single features alone."""
    rows = []
    for one in terms.sets:
        for which in product(*(range(terms.levels[place] - 1) for place in one)):
            values = [feature_contrasts(terms.levels[place])[k] for place, k in zip(one, which, strict=True)]
            cells = product(*map(range, terms.levels))
            rows.append([np.prod([v[cell[p]] for v, p in zip(values, one, strict=True)]) for cell in cells])
    return np.array(rows)


@pytest.mark.parametrize("m", [2, 3, 4, 7])
def test_contrasts_of_a_feature_are_orthogonal_with_mean_square_one(m: int) -> None:
    found = feature_contrasts(m)
    np.testing.assert_allclose(found @ found.T, m * np.eye(m - 1), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(rotation(m) @ rotation(m).conj().T, np.eye(m - 1), atol=1e-12)


@pytest.mark.parametrize("levels", LEVELS)
def test_a_whole_table_has_the_moments_of_its_cells(levels: tuple[int, ...]) -> None:
    terms = every_term(levels)
    machine, rows = WholeTable(terms), design_matrix(terms)
    c = np.random.default_rng(1).normal(size=terms.count) / 3
    p = np.exp(c @ rows)
    p /= p.sum()
    np.testing.assert_allclose(machine.shares(c), p, atol=1e-13)
    mean, covariance = machine.moments(c)
    np.testing.assert_allclose(mean, rows @ p, atol=1e-12)
    np.testing.assert_allclose(machine.mean(c), rows @ p, atol=1e-12)
    np.testing.assert_allclose(covariance, (rows * p) @ rows.T - np.outer(rows @ p, rows @ p), atol=1e-12)
    assert np.abs(covariance - np.diag(np.diagonal(covariance))).max() > 0.01  # or the order would not matter


@pytest.mark.parametrize("places", [(0,), (1, 0), (2, 0), (0, 2, 1)])
def test_the_gradient_of_a_margin_is_its_derivative(places: tuple[int, ...]) -> None:
    terms = every_term((2, 3, 4))
    machine, c, h = WholeTable(terms), np.random.default_rng(2).normal(size=terms.count) / 3, 1e-5
    found = machine.gradient(c, places)
    for k in range(terms.count):
        step = h * np.eye(terms.count)[k]
        slope = (machine.margin(c + step, places) - machine.margin(c - step, places)).reshape(-1) / (2 * h)
        np.testing.assert_allclose(found[:, k], slope, atol=1e-9)


def test_a_term_over_its_cells_is_what_it_adds_to_logarithms() -> None:
    terms = every_term((2, 3))
    c = np.random.default_rng(3).normal(size=terms.count)
    sums = terms.over_cells(c, (0,))[:, None] + terms.over_cells(c, (1,))[None] + terms.over_cells(c, (0, 1))
    np.testing.assert_allclose(sums.reshape(-1), c @ design_matrix(terms), atol=1e-12)


SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"]), dn.Flag("c"), dn.Flag("d")])
SHARES = np.random.default_rng(4).dirichlet(np.ones(24)).reshape(2, 3, 2, 2)
PLANS = {
    "a design": dn.design(SCHEMA, epsilon=2.0, order=2),
    "asked apart": dn.Plan(SCHEMA, epsilon=6.0),
    "blocks apart": dn.Plan(SCHEMA, epsilon=5.0, together=[["a", "b"], ["c"], ["d"]]),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_many_reports_say_the_true_contrasts(plan: dn.Plan) -> None:
    truth = dn.simulate.truth(SCHEMA, SHARES)
    evidence = survey_evidence(dn.simulate.counts(truth, plan, 1, n=10**10))
    terms = Terms(evidence.levels, tuple(evidence.sets))
    assert len(terms.sets) == 4 + 6
    target = Target.of(*evidence.information(terms, evidence.uniform))
    np.testing.assert_allclose(target.estimate, design_matrix(terms) @ SHARES.reshape(-1), atol=1e-3)


def test_the_information_of_a_design_is_the_variance_of_its_estimate() -> None:
    """Forty surveys, whose squared errors in the metric have the mean of a chi-square; half the noise has not."""
    plan, truth = PLANS["a design"], dn.simulate.truth(SCHEMA, SHARES)
    misfits = []
    for seed in range(40):
        evidence = survey_evidence(dn.simulate.counts(truth, plan, seed, n=20_000))
        terms = Terms(evidence.levels, tuple(evidence.sets))
        target = Target.of(*evidence.information(terms, Whole(SHARES)))
        misfits.append(target.misfit(design_matrix(terms) @ SHARES.reshape(-1)))
    error = np.sqrt(2 * terms.count / len(misfits))
    assert abs(np.mean(misfits) - terms.count) < 4 * error
    assert abs(np.mean(misfits) / 2 - terms.count) > 4 * error


def test_steins_risk_is_unbiased() -> None:
    """Mean of the risk estimate and of the risk itself over draws of y; without the degrees of freedom it is biased."""
    terms = every_term((2, 3, 2))
    machine, rng = WholeTable(terms), np.random.default_rng(5)
    mu = machine.mean(rng.normal(size=terms.count) / 2)
    noise = 0.1 * (np.eye(terms.count) + 0.3)
    information = np.linalg.inv(noise @ noise)
    found = []
    for _ in range(150):
        y = mu + noise @ rng.standard_normal(terms.count)
        at_32 = fit_at(machine, Target(information, y), 32.0, np.zeros(terms.count))
        apart = at_32.mean - mu
        found.append((at_32.risk, apart @ information @ apart, 2 * at_32.effective.sum()))
    estimated, risk, freedom = np.array(found).T
    error = np.std(estimated - risk) / np.sqrt(len(found))
    assert abs(np.mean(estimated - risk)) < 4 * error
    assert abs(np.mean(estimated - freedom - risk)) > 4 * error


def test_tests_of_pairs_are_chi_squares_under_independence() -> None:
    plan = PLANS["a design"]
    independent = dn.simulate.truth(SCHEMA, {"a": 0.2, "b": [0.5, 0.4, 0.1], "c": 0.5, "d": 0.7})
    sums = []
    for seed in range(40):
        evidence = survey_evidence(dn.simulate.counts(independent, plan, seed, n=20_000))
        tests = pair_tests(evidence, independent_margins(evidence)).tests
        sums.append([one.statistic for one in tests])
    degrees = np.array([one.degrees for one in tests])
    assert degrees.tolist() == [2, 1, 1, 2, 2, 1]
    error = np.std(sums, axis=0) / np.sqrt(len(sums))
    assert (np.abs(np.mean(sums, axis=0) - degrees) < 4 * error).all()
    dependent = survey_evidence(dn.simulate.counts(dn.simulate.truth(SCHEMA, SHARES), plan, 1, n=20_000))
    assert pair_tests(dependent, independent_margins(dependent)).p_value < 1e-6


def test_what_is_left_out_is_added_to_contrasts_of_three_alone() -> None:
    left = LeftOut(10.0, 5, 0.04)
    assert not left.covariance((0, 1), (2, 3)).any()
    added = left.covariance((0, 1, 2), (2, 2, 2))
    np.testing.assert_allclose(np.diagonal(added), 0.04 / 64)
    np.testing.assert_allclose(added.reshape(2, 4, 8).sum(axis=0), 0, atol=1e-15)  # nothing in any pair
    np.testing.assert_allclose(np.diagonal(left.covariance((0, 1, 2, 3), (2, 2, 2, 2))), 5 * 0.04 / 256)
    own = LeftOut(10.0, 5, 0.04, {(1, 3, 4): 0.5})
    np.testing.assert_allclose(np.diagonal(own.covariance((4, 1, 3), (2, 2, 2))), 0.5 / 64)
    np.testing.assert_allclose(np.diagonal(own.covariance((4, 1, 3, 0), (2, 2, 2, 2))), (4 * 0.04 + 0.5) / 256)
