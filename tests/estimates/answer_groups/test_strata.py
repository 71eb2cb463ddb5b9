"""Weights through strata: the weighted sum of what each stratum says by itself, in plain plans, blocks and arms."""

from typing import Any

import numpy as np
import pytest

import deniable as dn
from tests.support.answer_groups import far_from_95, held

REGIONS = ["north", "south", "west"]
SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("region", REGIONS), dn.Choice("age", ["young", "middle", "old"])])
NAMES = ["smoker", "region", "age"]
WEIGHTS = {"north": 0.6, "south": 0.3, "west": 0.1}
# Of each region: the shares by smoker and age.
WITHIN = np.array(
    [
        [[0.30, 0.30, 0.20], [0.10, 0.06, 0.04]],
        [[0.1, 0.2, 0.2], [0.2, 0.2, 0.1]],
        [[0.2, 0.1, 0.1], [0.4, 0.1, 0.1]],
    ]
)
SIZES = np.array([1000, 1500, 2500])  # far from the population's shares
PROTOCOLS = {"smoker": dn.RandomizedResponse(epsilon=2.0), "age": dn.GRR(epsilon=2.0), "region": dn.Public()}
PLANS = {
    "plain": dn.Plan(SCHEMA, PROTOCOLS),
    "blocks": dn.Plan(SCHEMA, {"region": dn.Public()}, epsilon=3.0, together=[["smoker", "age"]]),
    "arms": dn.Plan(SCHEMA, {"region": dn.Public()}, epsilon=3.0, arms=[["smoker", "age"], ["smoker"]]),
}
every_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())


def people(rng: np.random.Generator, sizes: Any = SIZES) -> np.ndarray:
    """Respondents by smoker, region and age, so many of each region."""
    drawn = [rng.multinomial(n, own.reshape(-1)).reshape(2, 3) for n, own in zip(sizes, WITHIN, strict=True)]
    return np.stack(drawn, axis=1)


@every_plan
@pytest.mark.parametrize("about", ["population", "respondents"])
def test_a_weighted_result_is_the_weighted_sum_of_each_region_by_itself(plan: dn.Plan, about: str) -> None:
    """The regions' reports are told apart and estimated one by one: what they say is independent."""
    table = people(np.random.default_rng(1))
    records = {"smoker": [], "region": [], "age": []}  # type: ignore[var-annotated]
    for place in np.ndindex(table.shape):
        for name, code, feature in zip(NAMES, place, SCHEMA, strict=True):
            records[name] += [feature.answers[code]] * int(table[place])
    reports = dn.randomize(records, plan, rng=np.random.default_rng(2))
    est = dn.estimate(dn.count(reports, NAMES), NAMES, method="centred").about(about)
    weighted = est.poststratify("region", WEIGHTS)
    assert weighted.names == ("smoker", "age")
    mean, covariance = np.zeros(weighted.mean.shape), np.zeros((weighted.mean.size,) * 2)
    for region, share in WEIGHTS.items():
        own = dn.estimate(dn.count(of_region(reports, region), NAMES), NAMES, method="centred").about(about)
        part = own.project("smoker", "age")
        mean += share * part.mean / part.n
        covariance += share**2 * part.covariance() / part.n**2
    np.testing.assert_allclose(weighted.mean / est.n, mean, atol=2e-3 if plan.has_arms else 1e-10)
    np.testing.assert_allclose(
        weighted.covariance() / est.n**2, covariance, rtol=0.02, atol=1e-6 if plan.has_arms else 1e-12
    )
    first = weighted.cell(smoker=True)
    assert first.value == pytest.approx(mean[1, 0])
    assert weighted.conditional("smoker", given="age").num_rows == 6
    weighted.difference("smoker", between=("age", "young", "old"))
    assert weighted.merge("age", {"grown": ["middle", "old"]}).cell(age="grown").value == pytest.approx(
        weighted.cell(age=["middle", "old"]).value
    )


def of_region(reports: dn.Reports, region: str) -> Any:
    """The reports of one region, as they are."""
    import pyarrow.compute as pc

    if not reports.plan.has_arms:
        return dn.Reports(reports.plan, reports.table.filter(pc.equal(reports.table["region"], region)))
    arms = [dn.Reports(arm.plan, arm.table.filter(pc.equal(arm.table["region"], region))) for arm in reports.arms]
    return dn.Reports.of_arms(reports.plan, arms)


def test_what_cannot_be_weighted_is_refused_with_words() -> None:
    counts = dn.simulate.counts(people(np.random.default_rng(1)), PLANS["plain"], np.random.default_rng(2))
    est = dn.estimate(counts, NAMES)
    refused: dict[str, Any] = {
        r"'age' is randomized.*given\(": lambda: est.poststratify("age", {"young": 0.3, "middle": 0.3, "old": 0.4}),
        "sum to 1; found the sum 0.9": lambda: est.poststratify("region", {**WEIGHTS, "west": 0.0}),
        "the population share of each answer": lambda: est.poststratify("region", {"north": 1.0}),
        "there are none in this estimate": lambda: est.project("region").poststratify("region", WEIGHTS),
        "straight from counts": lambda: est.merge("age", {"grown": ["middle", "old"]}).poststratify("region", WEIGHTS),
        "not weighted": lambda: dn.estimate(counts, NAMES, method="feasible").poststratify("region", WEIGHTS),
        "unweighted": lambda: est.poststratify("region", WEIGHTS).independence("smoker", "age"),
    }
    for told, ask in refused.items():
        with pytest.raises(dn.EstimateError, match=told):
            ask()
    nobody = dn.simulate.counts(
        people(np.random.default_rng(1), [500, 500, 0]), PLANS["plain"], np.random.default_rng(2)
    )
    with pytest.raises(dn.EstimateError, match="no respondent has 'west'"):
        dn.estimate(nobody, NAMES).poststratify("region", WEIGHTS)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", ["fixed", "random"])
def test_weighted_intervals_hold_whether_sizes_are_fixed_or_random(sizes: str) -> None:
    """The control leaves the weights out: of sizes far from the population's it holds hardly ever."""
    rng, times, found, control = np.random.default_rng(6), 250, [], []
    true = float(np.array(list(WEIGHTS.values())) @ WITHIN[:, 1].sum(axis=1))
    for _ in range(times):
        drawn = SIZES if sizes == "fixed" else rng.multinomial(SIZES.sum(), SIZES / SIZES.sum())
        counts = dn.simulate.counts(people(rng, drawn), PLANS["plain"], rng)
        est = dn.estimate(counts, ["smoker", "region"]).about("population")
        found.append(est.poststratify("region", WEIGHTS).cell(smoker=True).confidence_interval())
        control.append(est.cell(smoker=True).confidence_interval())
    assert abs(far_from_95(held(true, np.array(found)), times)) < 3.3
    assert held(true, np.array(control)) < 0.5


FEW = dn.Schema([dn.Flag("a"), dn.Choice("r", list("NESW"))])
KNOWN = dict(zip("NESW", [0.2, 0.3, 0.3, 0.2], strict=True))


def with_few_in_a_stratum(surveys: int, sizes: list[int]) -> tuple[float, float]:
    """How many of the weighted shares are given, and how many of these intervals hold."""
    plan, rates = dn.Plan(FEW, {"r": dn.Public()}, epsilon=5.0), np.array([0.02, 0.1, 0.3, 0.5])
    true, ends = float(rates @ list(KNOWN.values())), []
    for seed in range(surveys):
        rng = np.random.default_rng([3, seed])
        yes = rng.binomial(sizes, rates)
        counts = dn.simulate.counts(np.array([np.array(sizes) - yes, yes]), plan, rng)
        ends.append(dn.estimate(counts, ["a", "r"]).poststratify("r", KNOWN).cell(a=True).confidence_interval())
    given = np.array([end for end in ends if not np.isnan(end[0])])
    return len(given) / surveys, held(true, given) if len(given) else np.nan


@pytest.mark.slow
def test_a_small_stratum_does_not_keep_the_whole_from_being_weighted() -> None:
    """Refused as controls: one of the strata has too few to say how its answers vary, or all together have."""
    surveys = 150
    given, holding = with_few_in_a_stratum(surveys, [350, 210, 119, 21])
    assert given == 1
    assert abs(far_from_95(holding, surveys)) < 3.3
    for sizes in ([350, 210, 119, 9], [12, 12, 12, 12]):
        assert with_few_in_a_stratum(3, sizes)[0] == 0


def test_an_answer_without_a_share_and_one_that_there_is_not_are_named() -> None:
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("region", ["north", "south"])])
    plan = dn.Plan(schema, {"region": dn.Public()}, epsilon=2.0)
    told = dn.simulate.truth(schema, {"smoker": 0.3, "region": [0.5, 0.5]})
    est = dn.estimate(dn.simulate.counts(told, plan, 1, n=500), ["smoker", "region"])
    with pytest.raises(dn.EstimateError, match=r"each answer to 'region', \['north', 'south'\]; found none of 'south'"):
        est.poststratify("region", {"north": 0.5})
    with pytest.raises(dn.EstimateError, match="found one of 'west'"):
        est.poststratify("region", {"north": 0.5, "west": 0.5})
