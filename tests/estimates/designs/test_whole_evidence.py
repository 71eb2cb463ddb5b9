"""Blocks that are taken whole for a table: against enumeration, least squares written out, and simulated surveys."""

from dataclasses import replace
from functools import reduce
from itertools import combinations

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.designs.arm_kinds import ArmKind
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.groups import whole_evidence_of
from deniable.estimates.designs.least_squares import Evidence
from deniable.estimates.designs.whole_blocks import contrasts, nearest_proper, whole_block
from deniable.estimates.designs.whole_evidence import WholeEvidence
from deniable.inference.about_whom import Subject
from tests.support.enumerated_designs import ExactDesign, floats, mean_of, seconds_of
from tests.support.situations import values

A, B, C = dn.Flag("a"), dn.Choice("b", values(3)), dn.Flag("c")
SCHEMA = dn.Schema([A, B, C])
TABLE = ("b", "a")  # in another order than the schema
EVERYTHING = ("b", "a", "c")


def pairs_and_one(third: dn.GRR | dn.UnaryEncoding) -> ExactDesign:
    """Arms of two by several protocols, one that asks nothing of the table, and one that asks it in two blocks."""
    arms = [
        dn.Plan(dn.Schema([A, B]), {("a", "b"): dn.GRR(epsilon=3.0)}),
        dn.Plan(dn.Schema([A, C]), {("a", "c"): dn.SubsetSelection(epsilon=2.0, size=2)}),
        dn.Plan(dn.Schema([B, C]), {("b", "c"): third}),
        dn.Plan(dn.Schema([C]), {"c": dn.RandomizedResponse(p=0.25, q=0.875)}),
        dn.Plan(dn.Schema([A, B]), {"a": dn.RandomizedResponse(epsilon=1.0), "b": dn.GRR(epsilon=1.0)}),
    ]
    people = ((0, 0, 0), (0, 1, 1), (0, 2, 1), (1, 0, 0), (1, 1, 0), (1, 2, 1))
    design = ExactDesign(dn.Plan(SCHEMA, arms=arms, unequal=True), EVERYTHING, people, (2, 1, 1, 1, 1))
    return design.with_best_weights()


@pytest.fixture(params=[dn.GRR(epsilon=2.5), dn.UnaryEncoding.optimized(4.0)], ids=["GRR", "unary"])
def at_truth(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[ExactDesign, WholeEvidence, list[np.ndarray]]:
    """A design, what it says with everything evaluated at the true tables, and the weights of each arm, in order."""
    monkeypatch.setattr("deniable.estimates.designs.least_squares.SPREAD", 0.0)
    design = pairs_and_one(request.param)
    seen = whole_evidence_of([design.counts()], TABLE)
    assert isinstance(seen, WholeEvidence)
    assert len(seen.rest.kinds) == 1
    arm_of = {("b", "a"): 0, ("a", "c"): 1, ("b", "c"): 2, ("c",): 3}
    order = [arm_of[tuple(EVERYTHING[k] for k in (*family.own, *family.others[0]))] for family in seen.families]
    tables = [floats(design.sums(arm) @ design.truth)[None] for arm in order]
    made = tuple(replace(family, tables=table) for family, table in zip(seen.families, tables, strict=True))
    seen = WholeEvidence(seen.local, seen.rest, made)
    seen.__dict__["best"] = seen.at(floats(design.truth).reshape(6, 2).sum(axis=1))
    apart, *whole = seen.best.weights
    by_arm = dict(zip(order, whole, strict=True))
    return design, seen, [*(by_arm[arm][0] for arm in range(4)), apart]


Situation = tuple[ExactDesign, WholeEvidence, list[np.ndarray]]


def combined(weights: list[np.ndarray], covariances: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
    return sum(weights[a] @ floats(found) @ weights[b].T for (a, b), found in covariances.items())


def independent_arms(design: ExactDesign) -> dict[tuple[int, int], np.ndarray]:
    """The covariance of each arm's estimate, its respondents drawn from these people with replacement."""
    found = {}
    for arm, size in enumerate(design.sizes):
        law = design.mixture(arm)
        mean = mean_of(law)
        found[arm, arm] = (seconds_of(law) - np.outer(mean, mean)) / size
    return found


def test_the_weights_are_unbiased_whoever_the_respondents_are(at_truth: Situation) -> None:
    design, _, weights = at_truth
    whole = sum(B @ floats(design.sums(arm)) for arm, B in enumerate(weights))
    np.testing.assert_allclose(whole, np.kron(np.eye(6), np.ones((1, 2))), atol=1e-12)


def test_the_covariance_about_the_population_is_that_of_enumeration(at_truth: Situation) -> None:
    design, seen, weights = at_truth
    group = ArmsGroup(design.n, seen, (0, 1), waves=False)
    expected = combined(weights, independent_arms(design)) * design.n**2
    stated = group._matrices[Subject.POPULATION]
    np.testing.assert_allclose(stated, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    of_weights = design.n**2 * seen.covariance(seen.best.weights, seen.best.table)
    np.testing.assert_allclose(of_weights, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_the_covariance_about_the_respondents_is_that_of_enumeration(at_truth: Situation) -> None:
    """With S2 = N / (N - 1) S as it is there; S alone, or without -S2 / N, does not agree."""
    design, seen, weights = at_truth
    group = ArmsGroup(design.n, seen, (0, 1), waves=False)
    _, covariances = design.enumerated()
    f = seen.best.table
    s = np.diag(f) - np.outer(f, f)
    apart = s / (design.n - 1)  # S2 - S
    corrections = {
        (arm, arm): floats(design.sums(arm)) @ _spread_out(design) @ floats(design.sums(arm)).T / size
        for arm, size in enumerate(design.sizes)
    }
    expected = combined(weights, covariances) - combined(weights, corrections) + apart / design.n
    stated = group._matrices[Subject.RESPONDENTS] / design.n**2
    np.testing.assert_allclose(stated, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    assert np.abs(stated - combined(weights, covariances)).max() > 1e-6
    assert np.abs(group._matrices[Subject.POPULATION] / design.n**2 - expected).max() > 1e-6


def _spread_out(design: ExactDesign) -> np.ndarray:
    """S2 - S of all features."""
    f = floats(design.truth)
    return (np.diag(f) - np.outer(f, f)) / (design.n - 1)


def test_it_is_least_squares_over_all_contrasts_that_arms_see(at_truth: Situation) -> None:
    """Written out: every contrast of one or two questions is unknown, and each arm sees those of its questions."""
    design, seen, _ = at_truth
    levels = dict(zip(EVERYTHING, (3, 2, 2), strict=True))
    sets = [s for size in (1, 2) for s in combinations(EVERYTHING, size)]

    def rows(names: tuple[str, ...], s: tuple[str, ...]) -> np.ndarray:
        return reduce(np.kron, [contrasts(levels[k])[1:] if k in s else np.ones((1, levels[k])) for k in names])

    size = {s: len(rows(s, s)) for s in sets}
    first = dict(zip(sets, np.cumsum([0, *size.values()])[:-1], strict=True))
    information = np.zeros((sum(size.values()),) * 2)
    for (arm, _), covariance in independent_arms(design).items():
        own = tuple(name for name in EVERYTHING if name in design.plan.arms[arm])
        looked_at = [s for s in sets if set(s) <= set(own)]
        seen_rows = np.vstack([rows(own, s) for s in looked_at])
        places = np.concatenate([first[s] + np.arange(size[s]) for s in looked_at])
        information[np.ix_(places, places)] += np.linalg.inv(seen_rows @ floats(covariance) @ seen_rows.T)
    wanted = [s for s in sets if set(s) <= set(TABLE)]
    places = np.concatenate([first[s] + np.arange(size[s]) for s in wanted])
    up = np.vstack([rows(TABLE, s) for s in wanted]).T / 6
    expected = up @ np.linalg.inv(information)[np.ix_(places, places)] @ up.T
    found = seen.covariance(seen.best.weights, seen.best.table)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * expected.max())
    local = seen.local.at(seen.best.table)
    alone = local.inverse - np.outer(local.table, local.table) / seen.local.n
    assert np.trace(found) < 0.995 * np.trace(alone)


@pytest.mark.parametrize("unary", [False, True], ids=["as planned", "unary"])
def test_moments_of_a_family_are_those_of_its_blocks_one_by_one(unary: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.inference.one_feature.CACHED", 64)
    seen = whole_evidence_of([survey(UNARY if unary else PLAN, 3_000)], ["x0", "x1"])
    rng = np.random.default_rng(1)
    for family in seen.families:
        assert (family.axis.weights is not None) == unary
        cells = family.tables.shape[1]
        rows = rng.normal(size=(len(family.sizes), 3, cells))
        found = family.moments(rows, family.tables)
        spreads = family.covariances(family.tables)
        for k, table in enumerate(family.tables):
            places = tuple(range(len(family.levels)))
            axis = replace(family.axis, weights=family.axis.weights[k, 0]) if unary else family.axis
            kind = ArmKind(1, places, family.levels, (places,), (axis,), np.zeros(1 + cells, np.int64))
            one = kind.moments(rows[k], table)
            for key in vars(one):
                np.testing.assert_allclose(getattr(found, key)[k], getattr(one, key), rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(np.einsum("ri,ij,rj->r", rows[k], spreads[k], rows[k]), one.variance, rtol=1e-9)


def test_the_gradient_is_how_the_variance_moves_with_the_table() -> None:
    seen = whole_evidence_of([survey(PLAN, 3_000)], ["x0", "x1"])
    rows, table, weights = np.random.default_rng(2).normal(size=(3, 4)), seen.best.table, seen.best.weights
    found, step = seen.totals(rows, table, weights), 1e-6
    for cell in np.eye(4):
        up, down = (seen.totals(rows, table + side * step * cell, weights).variance for side in (1, -1))
        np.testing.assert_allclose(found.gradient @ cell, (up - down) / (2 * step), rtol=1e-5, atol=1e-12)
    direct = np.einsum("ri,ij,rj->r", rows, seen.covariance(weights, table), rows)
    np.testing.assert_allclose(found.variance, direct, rtol=1e-10)


# -- where blocks are taken whole --------------------------------------------------------------------------------------

FLAGS = [f"x{k}" for k in range(6)]
FEW = dict(zip(FLAGS, (0.9, 0.8, 0.8, 0.7, 0.9, 0.6), strict=True))
MOST = dict(zip(FLAGS, (0.2, 0.1, 0.15, 0.1, 0.3, 0.05), strict=True))
FLAG_SCHEMA = dn.Schema([dn.Flag(name) for name in FLAGS])
TRUTH = dn.simulate.truth(FLAG_SCHEMA, [(0.3, FEW), (0.7, MOST)])
PLAN = dn.Plan(FLAG_SCHEMA, epsilon=4.0, arms=[list(arm) for arm in combinations(FLAGS, 3)])
UNARY = dn.Plan(
    FLAG_SCHEMA,
    arms=[
        dn.Plan(dn.Schema([dn.Flag(name) for name in arm]), {arm: dn.UnaryEncoding.optimized(4.0)})
        for arm in combinations(FLAGS, 3)
    ],
)


def survey(plan: dn.Plan, n: int, seed: int = 1, of: dn.simulate.Truth = TRUTH) -> dn.Counts:
    return dn.simulate.counts(of, plan, np.random.default_rng(seed), n=n)


def test_blocks_are_whole_unless_they_are_noisy_or_large_or_several_ask_the_table() -> None:
    pair = ["x0", "x1"]
    assert whole_block(PLAN.arms[0], pair) is PLAN.arms[0].blocks[0]
    assert whole_block(PLAN.arms[-1], pair) is PLAN.arms[-1].blocks[0]  # it asks nothing of the table
    assert whole_block(dn.Plan(FLAG_SCHEMA, epsilon=1.0, together=[FLAGS[:3]]), ["x0", "x1"]) is None
    noisy = dn.Plan(FLAG_SCHEMA, epsilon=1.0, arms=[list(arm) for arm in combinations(FLAGS, 3)])
    assert whole_block(noisy.arms[0], pair) is None
    assert isinstance(whole_evidence_of([survey(noisy, 3_000)], pair), Evidence)
    large = dn.Schema([dn.Choice("v", values(40)), A])
    assert whole_block(dn.Plan(large, epsilon=8.0, together=[["v", "a"]]), ["a"]) is None
    apart = dn.Plan(FLAG_SCHEMA, epsilon=8.0, together=[["x0", "x2"], ["x1", "x3"], ["x4", "x5"]])
    assert whole_block(apart, pair) is None
    assert whole_block(apart, ["x0"]) is apart.blocks[0]


def test_public_columns_do_not_keep_a_block_from_being_whole() -> None:
    town = dn.Choice("town", ["here", "there"])
    arm = dn.Plan(dn.Schema([A, C, town]), {("a", "c"): dn.GRR(epsilon=3.0), "town": dn.Public()})
    assert whole_block(arm, ["a"]) is arm.blocks[0]
    assert whole_block(arm, ["other"]) is arm.blocks[0]
    assert whole_block(arm, ["a", "town"]) is None


def test_too_many_blocks_are_not_taken_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = survey(PLAN, 3_000)
    assert isinstance(whole_evidence_of([counts], ["x0"]), WholeEvidence)
    monkeypatch.setattr("deniable.estimates.designs.whole_blocks.MOST_ENTRIES", 100)
    assert isinstance(whole_evidence_of([counts], ["x0"]), Evidence)


def test_the_order_of_features_and_of_arms_changes_nothing() -> None:
    counts = survey(PLAN, 5_000)
    est, turned = dn.estimate(counts, ["x3", "x1"]), dn.estimate(counts, ["x1", "x3"])
    np.testing.assert_allclose(est.mean, turned.mean.T, rtol=1e-10)
    np.testing.assert_allclose(est.variance, turned.variance.T, rtol=1e-9, atol=1e-9)
    arms = [list(arm) for arm in combinations(FLAGS, 3)][::-1]
    other = dn.Plan(FLAG_SCHEMA, epsilon=4.0, arms=arms)
    again = dn.estimate(dn.Counts(other, arms=counts.arms[::-1]), ["x3", "x1"])
    np.testing.assert_allclose(again.mean, est.mean, rtol=1e-10)
    np.testing.assert_allclose(again.covariance(), est.covariance(), rtol=1e-8, atol=1e-8 * est.covariance().max())


def test_arms_that_nobody_fell_into_say_nothing() -> None:
    counts = survey(PLAN, 5_000)
    none = [dn.Counts(arm.plan, {arm.plan.blocks[0].names: np.zeros(9, int)}) for arm in counts.arms]
    kept = dn.Counts(PLAN, arms=[*none[:2], *counts.arms[2:-3], *none[-3:]])
    fewer = dn.Plan(FLAG_SCHEMA, epsilon=4.0, arms=[list(arm) for arm in combinations(FLAGS, 3)][2:-3])
    there = dn.Counts(fewer, arms=counts.arms[2:-3])
    found, expected = (whole_evidence_of([one], ["x0", "x5"]).best for one in (kept, there))
    np.testing.assert_array_equal(found.solution, expected.solution)
    np.testing.assert_array_equal(found.inverse, expected.inverse)


def test_a_question_with_other_answers_in_another_survey_is_another_one() -> None:
    """Of the questions beside the table: those in it must be the same."""
    two, three = dn.Choice("c", values(2)), dn.Choice("c", values(3))
    waves = []
    for beside in (two, three):
        schema = dn.Schema([A, B, beside])
        plan = dn.Plan(schema, epsilon=3.0, arms=[["a", "b"], ["a", "c"], ["b", "c"]])
        of = dn.simulate.truth(schema, np.full((2, 3, beside.levels), 1 / (6 * beside.levels)))
        waves.append(survey(plan, 4_000, of=of))
    seen = whole_evidence_of(waves, ["a", "b"])
    assert len({int(question) for family in seen.families for question in family.others.reshape(-1)}) == 2
    assert np.isfinite(dn.estimate(waves, ["a", "b"]).variance).all()


def test_the_nearest_proper_table_is_cut_at_zero() -> None:
    shares = np.array([[0.5, 0.7, -0.2], [0.2, 0.3, 0.5], [2.0, 0.0, -1.0]])
    np.testing.assert_allclose(nearest_proper(shares), [[0.4, 0.6, 0.0], [0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], atol=1e-12)


def test_what_is_expected_is_what_is_found_where_the_guess_is_of_joint_answers() -> None:
    """A survey so large that its tables are the true ones; independent answers would have more variance."""
    names, n = ["x0", "x1"], 10_000_000
    found = dn.estimate(survey(PLAN, n), names).about("population").table()["stderr"].to_numpy()
    expected = PLAN.expect(*names, n=n, guess=TRUTH).estimate.table()["stderr"].to_numpy()
    np.testing.assert_allclose(expected, found, rtol=0.005)
    local = dn.estimate(survey(PLAN, n), names).groups[0].seen.local.best
    alone = np.sqrt(np.diagonal(local.inverse) - local.table**2 / n)
    assert (np.sort(expected)[-4:] < 0.98 * np.sort(alone)).all()


@pytest.mark.slow
def test_it_has_less_error_than_the_table_alone_and_says_so() -> None:
    """Mean squares of 250 surveys, as many as a difference of a tenth needs to be seen."""
    pair, true = ["x0", "x1"], TRUTH.shares.sum(axis=(2, 3, 4, 5)).reshape(-1)
    found, alone, said, said_alone = [], [], [], []
    for seed in range(250):
        seen = whole_evidence_of([survey(PLAN, 2_000, seed)], pair)
        for errors, stated, one in ((found, said, seen), (alone, said_alone, seen.local)):
            metric = one.best
            errors.append(np.sum((metric.solution - true) ** 2))
            stated.append(np.trace(metric.inverse - np.outer(metric.table, metric.table) / one.n))
    apart = np.array(found) - np.array(alone)
    assert apart.mean() < -3 * apart.std() / np.sqrt(len(apart))
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(said) - np.mean(found)) < 3 * error
    assert np.mean(said) < 0.92 * np.mean(said_alone)
