"""The group of respondents behind an estimate over arms: independence, sampling, copies, and blocks seen as arms."""

import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.designs.block_group import BlockGroup
from deniable.inference.about_whom import Subject
from tests.support.enumerated_designs import ExactDesign, floats, mean_of, seconds_of
from tests.support.situations import values

A, B, C = dn.Flag("a"), dn.Choice("b", values(3)), dn.Flag("c")
SCHEMA = dn.Schema([A, B, C])
ARMS = dn.Plan(SCHEMA, epsilon=3.0, arms=[["a", "b"], ["b", "c"], [["a"], ["c"]]])


def counts_of(plan: dn.Plan, shares: object, n: int = 20_000, seed: int = 1) -> dn.Counts:
    return dn.simulate.counts(dn.simulate.truth(plan.schema, shares), plan, np.random.default_rng(seed), n=n)


DEPENDENT = np.array([[[0.20, 0.10], [0.12, 0.10], [0.06, 0.08]], [[0.05, 0.05], [0.06, 0.06], [0.04, 0.08]]])


def group_of(names: list[str]) -> ArmsGroup:
    (group,) = dn.estimate(counts_of(ARMS, DEPENDENT), names).groups
    assert isinstance(group, ArmsGroup)
    return group


def test_at_independence_the_covariance_is_that_of_independent_answers() -> None:
    """Enumerated: each arm's report of somebody whose answers are independent, with the margins of the fitted table."""
    names = ("b", "a")
    group = group_of(list(names))
    group = replace(group, seen=group.seen.local)
    table = group.table.reshape(3, 2)
    expected = np.zeros((6, 6))
    weights = dict(zip([kind.places for kind in group.seen.kinds], group.seen.best.weights, strict=True))
    sizes = {kind.places: kind.n for kind in group.seen.kinds}
    for arm, plan in enumerate(ARMS.arms):
        law = []
        for b, a in product(range(3), range(2)):
            chance = table[b].sum() * table[:, a].sum()
            design = ExactDesign(ARMS, names, ((a, b, 0),), (1,))
            law += [(float(own) * chance, floats(z)) for own, z in design.law(arm, 0)]
        mean = mean_of(law)
        places = tuple(k for k, name in enumerate(names) if name in plan)
        spread = (seconds_of(law) - np.outer(mean, mean)) / sizes[places]
        expected += weights[places] @ spread @ weights[places].T
    rows = np.kron(np.eye(4)[1:], [[1.0, -1.0], [0.0, 1.0]])
    found = rows @ group.at_independence() @ rows.T / group.n**2
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * expected.max())
    answers = [np.eye(4)[1:], np.array([[1.0, -1.0], [0.0, 1.0]])]
    variances = group.if_independent(answers).variance.reshape(-1) / group.n**2
    np.testing.assert_allclose(variances, np.diagonal(expected), rtol=1e-8)


def test_sampling_variances_are_those_of_a_multinomial() -> None:
    group = group_of(["b", "a"])
    table = group.table
    rng = np.random.default_rng(1)
    weights = rng.normal(size=group.truth.shape)
    up = np.kron([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 1], [0, 1]])  # from cells to entries
    line = weights.reshape(-1) @ up
    expected = group.n * (table @ line**2 - (table @ line) ** 2)
    assert group.sampling_variance(weights) == pytest.approx(expected)
    left, right = [rng.normal(size=4), rng.normal(size=2)], [rng.normal(size=4), rng.normal(size=2)]
    w, v = (np.multiply.outer(*side).reshape(-1) @ up for side in (left, right))
    assert float(group.sampling_covariance(left, right)) == pytest.approx(
        group.n * (table @ (w * v) - (table @ w) * (table @ v))
    )


@pytest.mark.slow
def test_p_values_of_independence_are_uniform_where_answers_are_independent() -> None:
    """Kolmogorov and Smirnov's test does not reject them; it does where answers go together."""
    alone = DEPENDENT.sum(axis=(1, 2))[:, None, None] * DEPENDENT.sum(axis=0)

    def p_values(shares: np.ndarray, runs: int) -> list[float]:
        return [
            dn.estimate(counts_of(ARMS, shares, 6_000, seed), ["a", "b"]).independence("a", "b").p_value
            for seed in range(runs)
        ]

    assert stats.kstest(p_values(alone, 200), "uniform").pvalue > 0.01
    assert stats.kstest(p_values(DEPENDENT, 60), "uniform").pvalue < 1e-4


def test_estimates_over_arms_are_equal_and_pickled() -> None:
    counts = counts_of(ARMS, DEPENDENT)
    est = dn.estimate(counts, ["b", "a"])
    assert est == dn.estimate(counts, ["b", "a"])
    assert est != dn.estimate(counts, ["a", "b"])
    assert est != dn.estimate(counts_of(ARMS, DEPENDENT, seed=2), ["b", "a"])
    assert pickle.loads(pickle.dumps(est)) == est
    assert pickle.loads(pickle.dumps(est)).table().equals(est.table())
    with pytest.raises(ValueError, match="read-only"):
        est.mean[0, 0] = 1


def test_an_estimate_over_arms_has_no_product_form() -> None:
    with pytest.raises(dn.EstimateError, match="no product form"):
        _ = group_of(["a"]).axes


def test_arms_that_say_the_same_of_a_table_are_one_kind() -> None:
    """Whatever else they ask: all arms with the same features of it, in blocks that are randomized alike."""
    names = [f"f{k}" for k in range(6)]
    schema = dn.Schema([dn.Flag(name) for name in names])
    arms = [[one, other] for k, one in enumerate(names) for other in names[k + 1 :]]
    plan = dn.Plan(schema, epsilon=2.0, arms=arms)
    counts = dn.simulate.counts(
        dn.simulate.truth(schema, dict.fromkeys(names, 0.4)), plan, np.random.default_rng(1), n=9_000
    )
    (group,) = dn.estimate(counts, ["f3", "f1"]).groups
    both = counts.asked("f1", "f3")
    assert {kind.places: kind.n for kind in group.seen.local.kinds} == {
        (0, 1): both,
        (0,): counts.asked("f3") - both,
        (1,): counts.asked("f1") - both,
    }
    assert len(group.seen.local.kinds) == 3
    assert (group.asked, group.n) == (counts.asked("f1", "f3"), 9_000)


@pytest.mark.parametrize("names", [("b", "a"), ("b",), ("c", "a"), ("c", "b", "a")], ids=" ".join)
def test_blocks_seen_as_one_kind_of_arm_have_the_same_covariance(
    names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the estimate is a proper table itself, at which both are evaluated."""
    monkeypatch.setattr("deniable.estimates.designs.least_squares.SPREAD", 0.0)
    plan = dn.Plan(SCHEMA, epsilon=6.0, together=[["a", "b"]])
    (group,) = dn.estimate(counts_of(plan, DEPENDENT, 200_000), names).groups
    if not isinstance(group, BlockGroup):
        pytest.fail("a feature of a block is asked in a block")
    arms = group.as_arms()
    assert arms.cells.min() > 0
    np.testing.assert_allclose(arms.truth, group.truth, rtol=1e-9)
    for subject in Subject:
        expected = group.dense(subject)
        np.testing.assert_allclose(arms.dense(subject), expected, rtol=1e-7, atol=1e-9 * expected.max())
        if len(names) == 1:
            rows = [np.random.default_rng(1).normal(size=(2, length)) for length in group.truth.shape]
            one, other = arms.cumulants(rows, Subject.POPULATION), group.cumulants(rows, Subject.POPULATION)
            for key in vars(one):
                np.testing.assert_allclose(getattr(one, key), getattr(other, key), rtol=1e-6)


def test_supposed_surveys_of_more_people_are_as_much_more_precise() -> None:
    group = group_of(["b", "a"])
    more = group.supposed(group.table, 4.0)
    assert more.n == 4 * group.n
    np.testing.assert_allclose(
        more.truth.reshape(-1)[1:] / more.n, group.supposed(group.table, 1.0).truth.reshape(-1)[1:] / group.n, rtol=1e-6
    )
    ratio = more.variances(Subject.POPULATION) / group.variances(Subject.POPULATION)
    np.testing.assert_allclose(ratio.reshape(-1)[1:], 4.0, rtol=0.01)


def test_multi_select_flags_and_ranges_are_asked_in_arms() -> None:
    schema = dn.Schema(
        [dn.Flags("drugs", ["none", "tea", "<b>&"]), dn.Choice.bins("income", [-5, 0.5, 20, float("inf")])]
    )
    plan = dn.Plan(schema, epsilon=3.0, arms=[["drugs", "income"], [["drugs: tea"], ["income"]], ["drugs"]])
    shares = np.random.default_rng(1).dirichlet(np.ones(24)).reshape(2, 2, 2, 3)
    reports = dn.simulate.reports(dn.simulate.truth(schema, shares), plan, 30_000, np.random.default_rng(1))
    est = dn.estimate(dn.count(reports), ["income", "drugs: tea"])
    low = schema["income"].answers[0]
    for found in (est, dn.maximum_likelihood(reports, ["income", "drugs: tea"])):
        cell = found.cell({"income": low, "drugs: tea": True})
        assert abs(cell.value - shares[:, 1, :, 0].sum()) < 4 * cell.stderr
        assert cell.stderr < 0.02


@pytest.mark.parametrize("about", ["population", "respondents"])
def test_a_share_in_a_larger_table_is_trusted_as_its_projection_is(about: str) -> None:
    """Few were asked the whole table, and many each question of it: only what is looked at decides."""
    plan = dn.Plan(SCHEMA, epsilon=4.0, arms={("a", "b", "c"): 1_000, ("a",): 20_000, ("b", "c"): 44_536})
    counts = counts_of(plan, DEPENDENT, n=2_000)
    whole = dn.estimate(counts, ["a", "b", "c"]).about(about)
    assert whole.asked < 50 < min(counts.asked("a"), counts.asked("b", "c"))
    cells = [
        {"a": True},
        {"c": False},
        {"b": "v1", "c": True},
        {"a": True, "b": "v1"},
        {"a": True, "b": "v1", "c": True},
    ]
    for cell in cells:
        alone = whole.project(*cell).cell(cell)
        assert whole.cell(cell).enough == alone.enough == dn.estimate(counts, list(cell)).about(about).cell(cell).enough
        assert whole.cell(cell).confidence_interval() == pytest.approx(alone.confidence_interval(), nan_ok=True)
    assert [whole.cell(cell).enough for cell in cells] == [True, True, True, False, False]
