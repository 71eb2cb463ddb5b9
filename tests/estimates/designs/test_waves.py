"""Waves: surveys of different people in one estimate about the population, and tests of whether they agree."""

import warnings
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.errors import ArmSizeWarning, DeniableWarning, HomogeneityWarning
from deniable.estimates.designs.groups import FEWEST_EACH, SIZES_UNLIKELY, arm_sizes
from tests.support.situations import values

SMOKER, AGE, REGION = dn.Flag("smoker"), dn.Choice("age", values(3)), dn.Choice("region", ["north", "south"])
SCHEMA = dn.Schema([SMOKER, AGE, REGION])
SHARES = np.array([[[0.15, 0.15], [0.15, 0.10], [0.10, 0.05]], [[0.05, 0.05], [0.05, 0.05], [0.05, 0.05]]])
TRUTH = dn.simulate.truth(SCHEMA, SHARES)

PLANS = {
    "apart": dn.Plan(SCHEMA, epsilon=4.0),
    "together": dn.Plan(SCHEMA, epsilon=2.0, together=[["smoker", "age"]]),
    "arms": dn.Plan(SCHEMA, epsilon=2.0, arms=[["smoker", "age"], ["age", "region"], ["smoker", "region"]]),
}
NAMES = ["age", "smoker"]


def wave(plan: dn.Plan, seed: int, n: int = 4_000, of: dn.simulate.Truth = TRUTH) -> dn.Counts:
    return dn.simulate.counts(of, plan, np.random.default_rng(seed), n=n)


# -- of one plan -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["consistent", "feasible"])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_waves_of_one_plan_are_estimated_as_their_sum(plan: dn.Plan, method: str) -> None:
    waves = [wave(plan, seed) for seed in (1, 2, 3)]
    both, whole = dn.estimate(waves, NAMES, method=method), dn.estimate(sum(waves), NAMES, method=method)
    whole = whole.about("population")
    np.testing.assert_array_equal(both.mean, whole.mean)
    np.testing.assert_array_equal(both.covariance(), whole.covariance())
    assert both.table().equals(whole.table())
    assert (both.n, both.asked, both.subject) == (12_000, whole.asked, whole.subject)
    assert both.homogeneity.enough


def test_a_list_of_one_is_that_survey_about_the_population() -> None:
    counts = wave(PLANS["arms"], 1)
    alone, plain = dn.estimate([counts], NAMES), dn.estimate(counts, NAMES).about("population")
    np.testing.assert_array_equal(alone.mean, plain.mean)
    np.testing.assert_array_equal(alone.covariance(), plain.covariance())


# -- of several plans --------------------------------------------------------------------------------------------------


def share_variances(est: dn.Estimate) -> np.ndarray:
    return est.about("population").variance / est.n**2


def test_the_weights_are_at_least_as_good_as_any_wave_alone_and_as_averaging() -> None:
    waves = [wave(PLANS["apart"], 1, 6_000), wave(PLANS["together"], 2, 3_000), wave(PLANS["arms"], 3, 9_000)]
    est = dn.estimate(waves, NAMES)
    assert (est.n, str(est.subject)) == (18_000, "population")
    looked_at = share_variances(est) > 1e-12  # that everybody is somewhere is known
    alone = [share_variances(dn.estimate(one, NAMES)) for one in waves]
    rest = [sum(one.n for one in waves), *(one.n for one in waves)]
    for one in alone:  # each is evaluated at its own table, which moves it by a few parts in a hundred
        assert (share_variances(est)[looked_at] < 1.03 * one[looked_at]).all()
    averaged = sum(n**2 * one for n, one in zip(rest[1:], alone, strict=True)) / rest[0] ** 2
    equally = sum(alone) / 9
    for other in (averaged, equally):
        assert (share_variances(est)[looked_at] < 1.03 * other[looked_at]).all()
    assert share_variances(est)[looked_at].mean() < 0.9 * averaged[looked_at].mean()  # it is worth it


def test_the_estimate_is_that_of_least_squares_over_two_waves() -> None:
    """Written down again from its definition: each wave alone, weighted by the inverse of its covariance."""
    waves = [
        wave(PLANS["together"], 2, 30_000),
        wave(dn.Plan(SCHEMA, epsilon=3.0, together=[["smoker", "age"]]), 3, 20_000),
    ]
    both = dn.estimate(waves, NAMES)
    cells = [dn.estimate(one, NAMES).about("population") for one in waves]
    rows = np.kron(np.eye(4)[1:], [[1.0, -1.0], [0.0, 1.0]])[:-1]  # all cells but one
    y = [rows @ est.mean.reshape(-1) / est.n for est in cells]
    precision = [np.linalg.inv(rows @ est.covariance() @ rows.T / est.n**2) for est in cells]
    expected = np.linalg.solve(sum(precision), sum(p @ one for p, one in zip(precision, y, strict=True)))
    spread = np.sqrt(np.diagonal(np.linalg.inv(sum(precision))))
    found = rows @ both.mean.reshape(-1) / both.n
    assert (np.abs(found - expected) < 0.05 * spread).all()  # metrics are evaluated at slightly different tables
    stated = np.sqrt(np.diagonal(rows @ both.covariance() @ rows.T)) / both.n
    np.testing.assert_allclose(stated, spread, rtol=0.01)


def test_what_only_some_waves_ask_comes_from_those() -> None:
    """The other waves say what they can: nothing of region, but something of age."""
    narrow = dn.Plan(dn.Schema([SMOKER, AGE]), epsilon=3.0)
    small = dn.simulate.truth(narrow.schema, SHARES.sum(axis=2))
    waves = [wave(PLANS["together"], 1, 4_000), wave(narrow, 2, 40_000, small)]
    est, alone = dn.estimate(waves, ["region", "age"]), dn.estimate(waves[0], ["region", "age"]).about("population")
    assert (est.asked, est.n) == (4_000, 44_000)
    assert est.cell(region="north").stderr == pytest.approx(alone.cell(region="north").stderr, rel=0.05)
    assert est.cell(age="v0").stderr < 0.6 * alone.cell(age="v0").stderr
    with pytest.raises(dn.DeniableError, match="'height'"):
        dn.estimate(waves, ["height"])


def test_a_table_that_no_wave_asks_of_the_same_people_is_refused() -> None:
    first, second = (dn.Schema([SMOKER, one]) for one in (AGE, REGION))
    waves = [
        wave(dn.Plan(schema, epsilon=2.0), seed, of=dn.simulate.truth(schema, SHARES.sum(axis=2 - seed)))
        for seed, schema in enumerate((first, second))
    ]
    with pytest.raises(dn.DeniableError, match="age|region"):
        dn.estimate(waves, ["age", "region"])
    assert dn.estimate(waves, ["smoker"]).asked == 8_000


REFUSED = {
    "other answers": (
        lambda: [wave(PLANS["apart"], 1), _other_answers()],
        "the surveys ask 'age' with different answers: ",
    ),
    "no waves": (lambda: [], r"waves are a list of counts, \[counts_2025, counts_2026\]; found \[\]"),
    "not counts": (lambda: [wave(PLANS["apart"], 1), 5], "waves are a list of counts"),
    "the same twice": (lambda: [wave(PLANS["apart"], 1)] * 2, "different people; found the same counts twice"),
}


def _other_answers() -> dn.Counts:
    schema = dn.Schema([SMOKER, dn.Choice("age", ["v0", "v2", "v1"])])
    return wave(dn.Plan(schema, epsilon=1.0), 1, of=dn.simulate.truth(schema, SHARES.sum(axis=2)))


@pytest.mark.parametrize(("waves", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(waves: object, message: str) -> None:
    with pytest.raises(dn.EstimateError, match=message):
        dn.estimate(waves(), NAMES)


def test_waves_have_no_plain_estimate_and_are_about_the_population_alone() -> None:
    waves = [wave(PLANS["apart"], 1), wave(PLANS["together"], 2)]
    with pytest.raises(dn.EstimateError, match='there is no method="unbiased"'):
        dn.estimate(waves, NAMES, method="unbiased")
    with pytest.raises(dn.EstimateError, match="about"):
        dn.estimate(waves, NAMES).about("respondents")


# -- whether they agree ------------------------------------------------------------------------------------------------


def p_values(truths: Sequence[dn.simulate.Truth], runs: int) -> np.ndarray:
    """P-values of the test of homogeneity of two waves of different plans."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeniableWarning)
        for run in range(runs):
            waves = [
                wave(PLANS[plan], 2 * run + k, 4_000, of)
                for k, (plan, of) in enumerate(zip(("together", "arms"), truths, strict=True))
            ]
            found.append(dn.estimate(waves, NAMES).homogeneity.p_value)
    return np.array(found)


@pytest.mark.slow
def test_the_test_of_homogeneity_has_uniform_p_values_if_populations_are_alike() -> None:
    """Kolmogorov and Smirnov's test does not reject them; it does if one population smokes a little more."""
    more = SHARES * np.array([0.9, 1.0 + 0.1 * 0.7 / 0.3])[:, None, None]
    assert stats.kstest(p_values([TRUTH, TRUTH], 400), "uniform").pvalue > 0.01
    other = p_values([TRUTH, dn.simulate.truth(SCHEMA, more)], 100)
    assert stats.kstest(other, "uniform").pvalue < 1e-4


def test_degrees_of_freedom_are_what_is_said_less_what_is_fitted() -> None:
    """Of six cells five are free. One wave says all five; the arms of the other five, two of age, and one of smoker."""
    waves = [wave(PLANS["together"], 1), wave(PLANS["arms"], 2)]
    assert dn.estimate(waves, NAMES).homogeneity.degrees == 5 + (5 + 2 + 1) - 5
    assert dn.estimate(wave(PLANS["arms"], 2), NAMES).homogeneity.degrees == (5 + 2 + 1) - 5
    assert dn.estimate(wave(PLANS["together"], 2), NAMES).homogeneity is None


def test_waves_that_do_not_agree_are_warned_about() -> None:
    other = dn.simulate.truth(SCHEMA, SHARES[::-1])
    for plan in ("together", "apart"):  # of one plan, and of two
        with pytest.warns(HomogeneityWarning, match="the surveys hardly agree on age x smoker: p = ") as caught:
            dn.estimate([wave(PLANS["apart"], 1), wave(PLANS[plan], 2, of=other)], NAMES)
        assert [one.filename for one in caught] == [__file__]
    dn.estimate([wave(PLANS["apart"], 1), wave(PLANS["together"], 2)], NAMES)  # no warning, which would be an error


# -- sizes of arms -----------------------------------------------------------------------------------------------------


def sized(plan: dn.Plan, sizes: Sequence[int]) -> dn.Counts:
    """Counts of a plan with so many respondents in each arm."""
    rng = np.random.default_rng(1)
    parts = []
    for arm, size in zip(plan.arms, sizes, strict=True):
        others = tuple(k for k, name in enumerate(SCHEMA.names) if name not in arm)
        of = dn.simulate.truth(arm.schema, SHARES.sum(axis=others))
        parts.append(dn.simulate.counts(of, arm, rng, n=size))
    return dn.Counts(plan, arms=parts)


def test_arms_of_other_sizes_than_their_shares_are_warned_about() -> None:
    plan = PLANS["arms"]
    even, odd = sized(plan, [1_000, 1_030, 990]), sized(plan, [1_000, 1_300, 900])
    dn.estimate(even, NAMES)
    with pytest.warns(ArmSizeWarning, match="the arms have other sizes than their shares say: p = ") as caught:
        dn.estimate(odd, NAMES)
    assert [one.filename for one in caught] == [__file__]


@pytest.mark.parametrize("others", [[("together", 2)], [("arms", 2)], []], ids=["of two plans", "of one plan", "alone"])
def test_waves_with_arms_of_odd_sizes_are_warned_about_too(others: list[tuple[str, int]]) -> None:
    odd = sized(PLANS["arms"], [1_000, 1_600, 900])
    waves = [odd, *(wave(PLANS[plan], seed, 3_000) for plan, seed in others)]
    with pytest.warns(ArmSizeWarning) as caught:
        dn.estimate(waves, NAMES)
    assert [one.filename for one in caught] == [__file__]


def test_the_test_of_sizes_is_pearsons() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms={("smoker", "age"): 0.5, ("region",): 0.25, ("age",): 0.25})
    sizes = [520, 230, 250]
    found = arm_sizes(sized(plan, sizes))
    expected = stats.chisquare(sizes, [500, 250, 250])
    assert (found.statistic, found.degrees) == (pytest.approx(expected.statistic), 2)
    assert found.p_value == pytest.approx(expected.pvalue)
    pooled = arm_sizes(sized(plan, [9, 3, 2]))  # 3.5 are expected in two of the arms, which are taken together
    assert (pooled.statistic, pooled.degrees) == (pytest.approx(2**2 / 7 + 2**2 / 7), 1)
    assert not arm_sizes(sized(plan, [3, 1, 1])).enough
    assert not arm_sizes(wave(PLANS["apart"], 1)).enough


def test_sizes_drawn_by_the_shares_have_uniform_p_values() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms={("smoker", "age"): 0.6, ("region",): 0.3, ("age",): 0.1})
    shares = np.array(plan.shares) / 65536
    rng = np.random.default_rng(1)
    whole = sized(plan, [0, 0, 0])

    def tests(shares: np.ndarray) -> list[float]:
        found = []
        for sizes in rng.multinomial(5_000, shares, size=300):
            parts = [dn.Counts(arm.plan, n=int(size)) for arm, size in zip(whole.arms, sizes, strict=True)]
            found.append(arm_sizes(dn.Counts(plan, arms=parts)).p_value)
        return found

    assert stats.kstest(tests(shares), "uniform").pvalue > 0.01
    assert stats.kstest(tests(np.array([0.58, 0.31, 0.11])), "uniform").pvalue < 1e-6


def test_a_small_wave_does_not_disagree_by_chance() -> None:
    """A few reports of many cells are no chi-square: they take part in the estimate, and not in the test."""
    schema = dn.Schema([dn.Choice("a", [f"v{k}" for k in range(8)]), dn.Choice("b", [f"w{k}" for k in range(8)])])
    shares = [0.6, 0.2, 0.1, 0.05, 0.03, 0.01, 0.005, 0.005]
    truth = dn.simulate.truth(schema, {"a": shares, "b": shares})
    plans = [dn.Plan(schema, epsilon=epsilon, together=[["a", "b"]]) for epsilon in (6.0, 5.0)]
    rng = np.random.default_rng(3)
    large = dn.simulate.counts(truth, plans[0], rng, n=5000)
    for n in (3, 10, 30):
        for _ in range(15):
            est = dn.estimate([large, dn.simulate.counts(truth, plans[1], rng, n=n)], ["a", "b"])  # no warning
            assert np.isnan(est.homogeneity.p_value)
    enough = dn.estimate([large, dn.simulate.counts(truth, plans[1], rng, n=2000)], ["a", "b"])
    assert enough.homogeneity.degrees == 63


def test_kinds_that_are_too_small_for_the_test_are_not_counted_as_fitted_by_it() -> None:
    """The arm of both questions is too small for the test; the others say five and seven shares each, five times over.

    So the five waves leave 60 - 12 degrees of freedom, and their statistic is on average as large. Were the waves'
    small arms counted as fitted, 13 would be left, and all of these surveys rejected.
    """
    schema = dn.Schema([dn.Choice("a", [f"a{k}" for k in range(6)]), dn.Choice("b", [f"b{k}" for k in range(8)])])
    truth = dn.simulate.truth(schema, {"a": [1 / 6] * 6, "b": [1 / 8] * 8})
    arms = {("a",): 0.45, ("b",): 0.45, ("a", "b"): 0.10}
    plans = [dn.Plan(schema, epsilon=epsilon, arms=arms) for epsilon in (2.0, 2.2, 2.4, 2.6, 2.8)]
    rng = np.random.default_rng(1)
    found = []
    for _ in range(30):
        waves = [dn.simulate.counts(truth, plan, rng, n=2_000) for plan in plans]
        found.append(dn.estimate(waves, ["a", "b"]).homogeneity)
    assert {one.degrees for one in found} == {60 - 12}
    assert stats.kstest([one.p_value for one in found], "uniform").pvalue > 0.01
    assert stats.kstest([stats.chi2.sf(one.statistic, 13) for one in found], "uniform").pvalue < 1e-9


def test_a_public_column_is_conditioned_on_about_the_respondents_too() -> None:
    schema = dn.Schema([dn.Flag("s"), dn.Flag("t"), dn.Choice("r", ["x", "y", "z"])])
    truth = dn.simulate.truth(schema, {"s": 0.3, "t": 0.5, "r": [0.5, 0.3, 0.2]})
    plan = dn.Plan(schema, {"r": dn.Public()}, epsilon=2.0, arms=[["s"], ["s", "t"]])
    est = dn.estimate(dn.simulate.counts(truth, plan, np.random.default_rng(2), n=2000), ["s", "r"])
    assert est.subject == "population"
    est = est.about("respondents")
    found = {answer: est.cell(r=answer).value for answer in ("x", "y")}
    known = est.given({"r": found})
    assert known.cell(s=True).value == pytest.approx(est.cell(s=True).value)
    with pytest.raises(dn.EstimateError, match="contradicts"):
        est.given({"r": {"x": found["x"] + 0.01}})


def test_waves_of_large_tables_and_of_different_counts_of_one_plan() -> None:
    values = [f"v{k}" for k in range(30)]
    schema = dn.Schema([dn.Choice("a", values), dn.Choice("b", values)])
    plan = dn.Plan(schema, epsilon=8.0)
    answers = {name: np.random.default_rng(1).choice(values, 400) for name in ("a", "b")}
    one, two = (dn.randomize(answers, plan, rng=np.random.default_rng(k)) for k in (2, 3))
    est = dn.estimate([dn.count(one, ["a", "b"]), dn.count(two, ["a", "b"])], ["a", "b"])
    assert np.isnan(est.homogeneity.p_value)  # 900 cells are not worth a test
    single = dn.estimate([dn.count(one, ["a"]), dn.count(two, order=2)], ["a"])  # these do not add, but combine
    assert single.n == 800


@pytest.mark.parametrize("shares", [[0.9, 0.1], [0.97, 0.03], [0.5, 0.3, 0.2], [0.1] * 10], ids=str)
@pytest.mark.parametrize("n", [60, 200, 2_000])
def test_sizes_of_arms_raise_an_alarm_in_at_most_one_survey_of_a_thousand(shares: list[float], n: int) -> None:
    """Pearson's p-value itself is below 1 in 1 000 in up to 2.1 of 1 000 surveys: the limit must be lower."""
    from scipy.special import chdtrc

    expected = n * np.array(shares)
    if expected.min() < FEWEST_EACH:  # taken together, or left out
        return
    drawn = np.random.default_rng(20).multinomial(n, shares, size=100_000)
    p_values = chdtrc(len(shares) - 1, ((drawn - expected) ** 2 / expected).sum(axis=1))
    assert (p_values < SIZES_UNLIKELY).sum() <= 100 + 3 * 10  # three Monte Carlo errors
