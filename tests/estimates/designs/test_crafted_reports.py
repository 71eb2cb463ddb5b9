"""Influence: against every report there can be, one after another put into a survey, which is then estimated anew."""

from collections.abc import Callable
from functools import cache, reduce
from itertools import product
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.answers_as_weights import cell_weights
from deniable.estimates.designs.crafted_reports import CRAFTED, influence

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", [*"xyz"]), dn.Choice("c", [*"uv"])])
RR, GRR, UE = dn.RandomizedResponse(p=0.2, q=0.7), dn.GRR(epsilon=1.0), dn.UnaryEncoding(p=0.2, q=0.7)
PLANS = {
    "GRR": dn.Plan(SCHEMA, {"a": RR, "b": GRR, "c": GRR}),
    "unary": dn.Plan(SCHEMA, {"a": RR, "b": UE, "c": UE}),
    "subsets": dn.Plan(SCHEMA, {"a": RR, "b": dn.SubsetSelection(epsilon=1.0, size=2), "c": GRR}),
    "public": dn.Plan(SCHEMA, {"a": dn.Public(), "b": GRR, "c": UE}),
    "blocks": dn.Plan(SCHEMA, {("a", "b"): GRR, "c": UE}),
    "arms": dn.Plan(SCHEMA, epsilon=2.0, arms={("a", "b"): 0.5, ("b", "c"): 0.3, ("c",): 0.2}),
    "arms of blocks": dn.Plan(SCHEMA, epsilon=2.0, arms=[[["a"], ["b"]], [["b"], ["c"]], [["a", "c"]]]),
}
FIRST, SECOND = {"a": 0.3, "b": [0.5, 0.3, 0.2], "c": [0.8, 0.2]}, {"a": 0.8, "b": [0.1, 0.3, 0.6], "c": [0.3, 0.7]}
TRUTH = dn.simulate.truth(SCHEMA, [(0.6, FIRST), (0.4, SECOND)])
Whole = list[tuple[tuple[str, ...], np.ndarray]]  # of each arm its units, and the counts of their table


@cache
def whole_tables(plan: dn.Plan) -> Whole:
    """What many reports show, so many that one more hardly changes weights and metrics."""
    counts = dn.simulate.counts(TRUTH, plan, np.random.default_rng(3), n=500_000)
    return [(part.plan.units.schema.names, part.evidence(*part.plan.units.schema.names)) for part in counts.arms]


def counted(plan: dn.Plan, tables: Whole) -> dn.Counts:
    parts = [
        dn.Counts(arm, {tuple(map(_given, units, arm.blocks)): array})
        for arm, (units, array) in zip(plan.arms, tables, strict=True)
    ]
    return dn.Counts(plan, arms=parts) if plan.has_arms else parts[0]


def _given(name: str, block: Any) -> Any:
    return block.names if len(block.names) > 1 else name


def shown(protocol: Any) -> np.ndarray:
    """The evidence of every pattern that a report can show."""
    marked = protocol.always_marked
    return np.array([one for one in protocol.pattern_evidence if marked is None or one[1:].sum() == marked])


@cache
def with_one_more(plan: dn.Plan) -> list[list[dn.Counts]]:
    """Of each arm, the survey with one more report of it, for every report that there can be."""
    before, every = whole_tables(plan), []
    for place, (units, array) in enumerate(before):
        own = []
        for vectors in product(*(shown(plan.arms[place].units[unit]) for unit in units)):
            after = list(before)
            after[place] = units, array + reduce(np.multiply.outer, vectors).astype(np.int64)
            own.append(counted(plan, after))
        every.append(own)
    return every


@cache
def estimates(plan: dn.Plan, names: tuple[str, ...], method: str) -> list[list[dn.Estimate]]:
    return [[dn.estimate(counts, names, method=method) for counts in own] for own in with_one_more(plan)]


def spread(plan: dn.Plan, found: list[list[Any]]) -> Any:
    """The most that numbers differ by, between reports of one arm, times all respondents."""
    n = with_one_more(plan)[0][0].n - 1
    return n * np.max([np.ptp(np.array(own), axis=0) for own in found], axis=0)


def moved(plan: dn.Plan, names: list[str], method: str, cell: dict[str, Any]) -> float:
    """The most that one more report of any arm can move a share, times all respondents."""
    return moved_result(plan, names, method, lambda est: est.cell(cell))


def moved_result(plan: dn.Plan, names: list[str], method: str, asked: Callable[[dn.Estimate], Any]) -> float:
    """The most that one more report of any arm can move a result, times all respondents."""
    return float(spread(plan, [[asked(est).value for est in own] for own in estimates(plan, tuple(names), method)]))


def moved_numbers(plan: dn.Plan, asked: Callable[[dn.Counts], Any]) -> Any:
    """The most that one more report of any arm can move a number, or each of some, times all respondents."""
    return spread(plan, [[asked(counts) for counts in own] for own in with_one_more(plan)])


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("cell", [{"a": True}, {"b": "y"}, {"a": False, "b": "x"}, {"b": "z", "c": "u"}], ids=str)
def test_influence_is_that_of_the_worst_reports_there_can_be(plan: dn.Plan, cell: dict[str, Any]) -> None:
    names = list(cell)
    for method in ("centred",) if plan.has_arms else ("centred", "unbiased"):
        est = dn.estimate(counted(plan, whole_tables(plan)), names, method=method)
        rows = [vector[None] for vector in cell_weights(est.features, cell)]
        assert influence(est.groups, rows) == pytest.approx(CRAFTED * moved(plan, names, method, cell), rel=2e-3)


SCORES = {"x": 1.0, "y": 2.0, "z": 5.0}
RESULTS: dict[str, Callable[[dn.Estimate], Any]] = {
    "conditional share": lambda est: est.conditional(("a", True), given=("b", "x")),
    "difference": lambda est: est.difference("a", between=("b", "x", ["y", "z"])),
    "ratio": lambda est: est.ratio("a", between=("b", "x", "z")),
    "odds ratio": lambda est: est.odds_ratio("a", ("b", "z")),
    "correlation": lambda est: est.correlation("a", ("b", "z")),
    "mean": lambda est: est.mean_of("b", SCORES),
    "difference of means": lambda est: est.mean_of("b", SCORES, between=("a", True, False)),
    "among": lambda est: est.among("b", ["x", "y"]).cell(a=True),
    "Cramer's V": lambda est: est.association("a", "b").cramers_v,
    "mutual information": lambda est: est.association("a", "b").mutual_information,
    "any weights": lambda est: est.linear(np.arange(8.0).reshape(2, 4) ** 2),
    "merged": lambda est: est.merge("b", {"xy": ["x", "y"], "z": ["z"]}).difference("a", between=("b", "xy", "z")),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("asked", RESULTS.values(), ids=RESULTS)
def test_influence_on_ratios_means_and_sums_is_that_of_the_worst_reports(plan: dn.Plan, asked: Any) -> None:
    found = asked(dn.estimate(counted(plan, whole_tables(plan)), ["a", "b"]))
    most = moved_result(plan, ["a", "b"], "consistent", asked)
    assert found.influence == pytest.approx(CRAFTED * most, rel=5e-3)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_influence_on_tables_of_results_is_the_largest_of_their_rows(plan: dn.Plan) -> None:
    est = dn.estimate(counted(plan, whole_tables(plan)), ["b", "a"])
    shares = [est.conditional(("a", one), given=("b", other)) for one in (True, False) for other in "xyz"]
    table = est.conditional("a", given="b")
    assert table.about.influence == pytest.approx(max(one.influence for one in shares))
    means = [est.among("a", [one]).mean_of("b", SCORES).influence for one in (True, False)]
    assert est.mean_of("b", SCORES, by="a").about.influence == pytest.approx(max(means))
    assert table.influence == table.about.influence
    assert "forged" not in str(table)
    assert f"forged, it could move by up to {shares[0].influence:.2g}>" in repr(shares[0])


@pytest.mark.parametrize("name", ["GRR", "unary", "blocks", "arms"])
def test_influence_on_shares_given_known_margins_is_that_of_the_worst_reports(name: str) -> None:
    """Known shares are those that were found, so that only the weights of reports count, not how far they are."""
    plan = PLANS[name]
    first = dn.estimate(counted(plan, whole_tables(plan)), ["a", "b"])
    known = {"b": {one: first.cell(b=one).value for one in "xy"}}
    for asked in (lambda est: est.cell(a=True, b="x"), lambda est: est.difference("a", between=("b", "x", "z"))):
        most = moved_result(plan, ["a", "b"], "consistent", lambda est, asked=asked: asked(est.given(known)))
        assert asked(first.given(known)).influence == pytest.approx(CRAFTED * most, rel=5e-3)
    assert first.given(known).cell(b="x").influence == pytest.approx(0, abs=1e-12)  # what is known cannot be moved
    assert first.cell(b="x").influence > 0.01


@pytest.mark.parametrize("name", ["GRR", "unary", "blocks", "arms"])
def test_influence_on_coefficients_and_contrasts_is_that_of_the_worst_reports(name: str) -> None:
    plan = PLANS[name]
    counts = counted(plan, whole_tables(plan))
    for kind in ("linear", "logistic"):
        found = dn.regress(counts, "a", on=["b"], kind=kind)
        most = moved_numbers(plan, lambda counts, kind=kind: dn.regress(counts, "a", on=["b"], kind=kind).coefficients)
        np.testing.assert_allclose(found.influence, CRAFTED * most, rtol=5e-3)
        assert f"forged, it could move by up to {found.influence.max():.2g}" in found.summary()
        assert found.table().about.influence == found.influence.max()
    weights = {"x less others": {"x": 1, "y": -0.25, "z": -0.75}}
    est = dn.estimate(counts, ["a", "b"])
    for asked in (
        lambda est: est.contrasts("a", by="b", weights=weights),
        lambda est: est.contrasts("b", by="a", scores=SCORES),
    ):
        every = estimates(plan, ("a", "b"), "consistent")
        most = spread(plan, [[float(asked(one).to_pylist()[0]["estimate"]) for one in own] for own in every])
        assert asked(est).about.influence == pytest.approx(CRAFTED * most, rel=5e-3)


def test_crafted_reports_of_several_surveys_are_all_in_the_one_where_they_weigh_the_most() -> None:
    """Two surveys, the second of a fifth as many reports, in which one weighs five times as much."""
    plan = PLANS["GRR"]
    large = counted(plan, whole_tables(plan))
    small = dn.simulate.counts(TRUTH, plan, np.random.default_rng(5), n=100_000)
    first, second = (dn.estimate(one, ["b"]) for one in (large, small))
    changes = dn.compare(first, second)
    one = moved(plan, ["b"], "consistent", {"b": "x"}) * CRAFTED  # of the larger, by 1 % of its reports
    assert changes.about.influence == pytest.approx(6 * one, rel=5e-3)
    trend = dn.trend([large, small], ("b", "x"), times=[0, 2])
    assert trend.table().about.influence == pytest.approx(6 * one, rel=5e-3)
    assert trend.influence == pytest.approx(3 * one, rel=5e-3)  # half of the difference of both
    assert f"forged, it could move by up to {trend.influence:.2g}" in repr(trend)


def test_influence_is_not_told_where_a_first_order_says_nothing() -> None:
    """Of independent answers V is what chance leaves of it, and has no slope."""
    alone = dn.simulate.truth(SCHEMA, [(1.0, FIRST)])
    counts = dn.simulate.counts(alone, PLANS["GRR"], np.random.default_rng(8), n=20_000)
    found = dn.estimate(counts, ["a", "b"]).association("a", "b").cramers_v
    assert (found.value == 0) == np.isnan(found.influence)
    assert ("forged" in repr(found)) == (not np.isnan(found.influence))
    few = dn.regress(dn.simulate.counts(alone, PLANS["GRR"], np.random.default_rng(8), n=60), "a", on=["b"])
    assert not few.enough
    assert "forged" not in few.summary()


def test_means_are_moved_in_their_own_unit() -> None:
    est = dn.estimate(counted(PLANS["GRR"], whole_tables(PLANS["GRR"])), ["a", "b"])
    table = est.mean_of("b", {"x": 0.0, "y": 500.0, "z": 1000.0}, by="a")
    assert table.about.influence > 1
