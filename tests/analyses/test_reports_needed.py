"""How many reports it would take, tried: with about so many the question is answered, with far fewer it is not."""

from collections.abc import Callable

import numpy as np
import pytest

import deniable as dn
from deniable.analyses import reports_needed
from deniable.simulate import Truth, truth
from deniable.simulate import counts as simulated

SCHEMA = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", ["x", "y", "z"]), dn.Choice("d", list("pqrst"))])
TRUTH = truth(
    SCHEMA,
    [
        (0.6, {"a": 0.2, "b": 0.1, "c": [0.7, 0.2, 0.1], "d": [0.4, 0.2, 0.2, 0.1, 0.1]}),
        (0.4, {"a": 0.6, "b": 0.3, "c": [0.2, 0.2, 0.6], "d": [0.1, 0.2, 0.2, 0.2, 0.3]}),
    ],
)
SURVEYS = 20


def share_answered(of: Truth, plan: dn.Plan, n: int, ask: Callable[[dn.Counts], bool], seed: int = 0) -> float:
    rng = np.random.default_rng((n, seed))
    return sum(ask(simulated(of, plan, rng, n=n)) for _ in range(SURVEYS)) / SURVEYS


def pair_answered(counts: dn.Counts, pair: tuple[str, str]) -> bool:
    (row,) = dn.associations(dn.Counts(counts.plan, {pair: counts.array(*pair)})).to_pylist()
    return not np.isnan(row["low"]) and not np.isnan(row["p_value"])


def conditional_answered(counts: dn.Counts, what: str, given: str) -> bool:
    est = dn.estimate(counts, [given, what]).about("population")
    return not np.isnan(est.conditional(what, given=given)["low"].to_numpy()).any()


def table_answered(counts: dn.Counts, name: str) -> bool:
    return not np.isnan(dn.estimate(counts, [name]).about("population").table()["low"].to_numpy()).any()


def by_grr(epsilon: float) -> dn.Plan:
    grr = dn.GRR(epsilon=epsilon / 4)
    return dn.Plan(SCHEMA, {"c": grr, "d": grr}, epsilon=epsilon)


@pytest.mark.parametrize(
    ("plan", "n", "surveys"),
    [
        (by_grr(6.0), 250, 5),
        (by_grr(3.0), 600, 5),
        (by_grr(12.0), 60, 5),
        pytest.param(dn.Plan(SCHEMA, epsilon=3.0), 600, 15, marks=pytest.mark.slow),  # sets, for d
    ],
)
def test_with_about_so_many_reports_a_pair_is_answered(plan: dn.Plan, n: int, surveys: int) -> None:
    rng = np.random.default_rng(1)
    told: dict[tuple[str, str], list[float]] = {}
    for _ in range(surveys):
        counts = simulated(TRUTH, plan, rng, n=n)
        rows = dn.associations(counts).to_pylist()
        without = [
            (row["first"], row["second"]) for row in rows if not pair_answered(counts, (row["first"], row["second"]))
        ]
        for pair, needed in reports_needed.for_pairs(counts, without).items():
            assert needed.reports > n
            told.setdefault(pair, []).append(needed.reports)
    often = {pair: np.median(numbers) for pair, numbers in told.items() if len(numbers) == surveys}
    assert len(often) >= 3
    for pair, reports in often.items():
        ask = lambda counts, pair=pair: pair_answered(counts, pair)  # noqa: E731
        assert share_answered(TRUTH, plan, int(2.5 * reports), ask) >= 0.8, (pair, reports)
        assert share_answered(TRUTH, plan, max(int(reports / 6), 20), ask) <= 0.3, (pair, reports)


def test_with_about_so_many_reports_tables_and_shares_within_groups_are_answered() -> None:
    plan = dn.Plan(SCHEMA, epsilon=0.8)
    counts = simulated(TRUTH, plan, np.random.default_rng(2), n=60)
    needed = reports_needed.for_cells(
        dn.estimate(counts, ["d"]).about("population"), [{"d": answer} for answer in "pqrst"]
    )
    assert needed.reports > 70
    assert share_answered(TRUTH, plan, int(needed.reports), lambda counts: table_answered(counts, "d")) == 1
    assert share_answered(TRUTH, plan, int(needed.reports / 1.25), lambda counts: table_answered(counts, "d")) == 0
    plan = dn.Plan(SCHEMA, epsilon=6.0)
    counts = simulated(TRUTH, plan, np.random.default_rng(2), n=400)
    needed = reports_needed.for_conditional(dn.estimate(counts, ["d", "a"]).about("population"), "a", "d")
    ask = lambda counts: conditional_answered(counts, "a", "d")  # noqa: E731
    assert share_answered(TRUTH, plan, int(2.5 * needed.reports), ask) >= 0.8
    assert share_answered(TRUTH, plan, int(needed.reports / 6), ask) <= 0.3


def test_with_the_number_said_four_in_five_surveys_get_an_answer() -> None:
    """And with two thirds of it far fewer do: numbers are rounded by less."""
    plan, rng = by_grr(6.0), np.random.default_rng(1)
    told = [reports_needed.for_pairs(simulated(TRUTH, plan, rng, n=250), [("a", "b")]) for _ in range(15)]
    reports = int(np.median([one["a", "b"].reports for one in told]))
    ask = lambda counts: pair_answered(counts, ("a", "b"))  # noqa: E731
    often = [
        np.mean([share_answered(TRUTH, plan, n, ask, seed) for seed in range(3)]) for n in (reports, reports // 3 * 2)
    ]
    assert often[0] >= 0.8
    assert often[1] <= 0.75


DESIGNS = {
    "arms": (dn.Plan(SCHEMA, epsilon=2.0, arms=[["a", "c"], ["a", "b"], [["b", "c"], ["d"]]]), 200, ("a", "c")),
    "blocks": (dn.Plan(SCHEMA, epsilon=4.0, together=[["a", "c"]]), 100, ("b", "c")),
    "alone beside a block": (dn.Plan(SCHEMA, epsilon=4.0, together=[["a", "c"]]), 100, ("b", "d")),
}


@pytest.mark.parametrize(("plan", "n", "pair"), DESIGNS.values(), ids=DESIGNS.keys())
def test_with_about_so_many_reports_a_pair_of_a_design_is_answered(
    plan: dn.Plan, n: int, pair: tuple[str, str]
) -> None:
    rng = np.random.default_rng(1)
    told = []
    for _ in range(20):  # what one survey says is between half and twice the median, in four of five
        counts = simulated(TRUTH, plan, rng, n=n)
        told.append(reports_needed.for_pairs(counts, [pair])[pair].reports)
    reports = np.median(told)
    assert reports > n

    def ask(counts: dn.Counts) -> bool:
        rows = {(row["first"], row["second"]): row for row in dn.associations(counts).to_pylist()}
        return not np.isnan(rows[pair]["low"]) and not np.isnan(rows[pair]["p_value"])

    assert share_answered(TRUTH, plan, int(2 * reports), ask) >= 0.8
    assert share_answered(TRUTH, plan, int(reports / 4), ask) <= 0.2


def test_the_search_finds_what_trying_every_step_finds() -> None:
    """And the rule only gets easier with more reports, on which halving relies."""
    plan = dn.Plan(SCHEMA, epsilon=6.0)
    counts = simulated(TRUTH, plan, np.random.default_rng(3), n=200)
    pairs = [("a", "d"), ("b", "d")]
    group, _ = reports_needed.likely(reports_needed.pair_group(counts, pairs))
    features = [SCHEMA[name] for name in pairs[0]]

    def answered(times: float) -> np.ndarray:
        return np.logical_and(*reports_needed.answered(reports_needed.scaled(group, times), features))

    every = np.array([answered(reports_needed.STEP**k) for k in range(300)])
    assert (np.diff(every.astype(int), axis=0) >= 0).all()
    steps = reports_needed.least_steps(lambda times, places: answered(times)[places], len(pairs))
    assert steps.tolist() == every.argmax(axis=0).tolist()
    assert (steps > 0).all()


def test_what_nothing_will_answer_is_said() -> None:
    never = reports_needed.least_steps(lambda _, places: np.zeros(len(places), bool), 3)
    assert never.tolist() == [reports_needed.STEPS + 1] * 3
    at_once = reports_needed.least_steps(lambda _, places: np.ones(len(places), bool), 2)
    assert at_once.tolist() == [0, 0]
    assert str(reports_needed.Needed(np.inf, rough=True)) == "more than can be said"
    assert str(reports_needed.Needed(12_000, rough=False)) == "about 12,000"
    assert str(reports_needed.Needed(12_000, rough=True)) == "very roughly 12,000"


def test_likely_shares_are_shares_and_the_estimate_where_it_is_good() -> None:
    plan = dn.Plan(SCHEMA, epsilon=6.0)
    many = simulated(TRUTH, plan, np.random.default_rng(4), n=3_000_000)
    few = simulated(TRUTH, plan, np.random.default_rng(4), n=40)
    pairs = [("a", "d"), ("b", "d")]
    raw = reports_needed.pair_group(many, pairs)
    near, unclear = reports_needed.likely(raw)
    assert np.abs(near.truth / raw.truth - 1).max() < 0.03
    assert not unclear.any()
    wild, unclear = reports_needed.likely(reports_needed.pair_group(few, pairs))
    assert (wild.truth > 0).all()
    assert np.allclose(wild.truth[0, 0], 40)
    assert np.allclose(wild.truth[:, 1:].sum(axis=1), wild.truth[:, 0])
    assert unclear.all()


def test_likely_shares_are_nearer_to_the_truth_where_noise_rules() -> None:
    """Than the estimates, and than these cut to what shares can be."""
    plan = dn.Plan(SCHEMA, epsilon=3.0)
    rng = np.random.default_rng(6)
    shares = TRUTH.shares.sum(axis=(0, 1, 2))
    errors = []
    for _ in range(40):
        (group,) = dn.estimate(simulated(TRUTH, plan, rng, n=300), ["d"]).groups
        cut = np.maximum(group.truth[1:], 0)
        near = reports_needed.likely(group)[0]
        guesses = (near.truth[1:] / 300, cut / cut.sum(), group.truth[1:] / 300)
        errors.append([((guess - shares) ** 2).sum() for guess in guesses])
    likely, cut, raw = np.mean(errors, axis=0)
    assert likely < 0.5 * cut < 0.5 * raw


def test_an_estimate_that_was_conditioned_is_refused() -> None:
    counts = simulated(TRUTH, dn.Plan(SCHEMA, epsilon=6.0), np.random.default_rng(5), n=1000)
    known = dn.estimate(counts, ["c"]).given({"c": {"x": 0.5}})
    with pytest.raises(dn.EstimateError, match="straight from counts"):
        reports_needed.for_cells(known, [{"c": "x"}])


@pytest.mark.parametrize(("errors", "rough"), [(0.05, True), (1.0, True), (1.9, True), (2.1, False), (6.0, False)])
def test_a_share_is_rough_until_it_is_two_standard_errors_above_zero(errors: float, rough: bool) -> None:
    """With p = 1/4, q = 3/4 and even answers the variance of an estimated share is 1/n."""
    plan = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(p=1 / 4, q=3 / 4)})
    n = 1_000_000
    yes = round(n / 4 + errors * n**0.5 / 2)
    est = dn.estimate(dn.Counts(plan, {("a",): np.array([n, yes])}), ["a"]).about("population")
    assert est.cell({"a": True}).value == pytest.approx(errors / n**0.5)
    assert reports_needed.likely(est.groups[0])[1].tolist() == [rough]
    assert not reports_needed.for_cells(est, [{"a": True}]).rough  # which does not depend on the share
