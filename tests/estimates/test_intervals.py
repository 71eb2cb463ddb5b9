"""Intervals as estimates give them: of cells, tables and linear questions, exact and normal, given what is known."""

from dataclasses import replace
from itertools import product
from math import isnan

import numpy as np
import pytest

import deniable as dn
from deniable.text.fixed_phrases import influence_in_words
from tests.support.situations import tiny, values
from tests.support.surveys import repeated, some_counts


def test_an_answer_says_its_interval_or_that_there_are_not_enough_reports() -> None:
    plan, _ = tiny("GRR")
    many, few = (dn.estimate(some_counts(plan, n), ["a", "b"]).cell(a="v0", b="v1") for n in (20_000, 20))
    low, high = many.confidence_interval()
    assert low < many.value < high
    assert high - low == pytest.approx(2 * 1.96 * many.stderr, rel=0.01)
    wide = many.confidence_interval(0.99)
    assert wide[0] < low < high < wide[1]
    assert str(many) == f"{many.value:.3f} (SE {many.stderr:.3f}; 95% CI {low:.3f} to {high:.3f}; population)"
    assert not few.enough
    assert all(map(isnan, few.confidence_interval()))
    assert str(few) == f"{few.value:.3f} (not enough reports for this question; population)"
    assert many.confidence_interval(np.float32(0.5)) == many.confidence_interval(0.5)
    assert repr(many) == f"<Answer {many}, 20,000 reports{influence_in_words(many.influence)}>"
    for level in (0, 1, 95, "0.95", np.nan, None, 1 - 1e-16):
        with pytest.raises(dn.EstimateError, match="a level of confidence is between 0 and 1, such as 0.95; found"):
            many.confidence_interval(level)


def test_a_flag_and_its_opposite_have_mirrored_intervals() -> None:
    rr = dn.RandomizedResponse(p=0.125, q=0.75)
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), {"a": rr, "b": rr})
    for subject, names in product(("respondents", "population"), (["a"], ["a", "b"])):
        est = dn.estimate(some_counts(plan, 1000), names).about(subject)
        low, high = est.cell(a=True).confidence_interval()
        assert est.cell(a=False).confidence_interval() == pytest.approx((1 - high, 1 - low))
    no, yes = dn.estimate(some_counts(plan, 1000), ["a"]).table().to_pylist()
    assert (no["low"], no["high"]) == pytest.approx((1 - yes["high"], 1 - yes["low"]))


def test_unbiased_unary_columns_have_exact_intervals_and_centred_ones_shorter() -> None:
    plan = dn.Plan(dn.Schema([dn.Choice("a", values(4))]), {"a": dn.UnaryEncoding.optimized(1.0)})
    counts = some_counts(plan, 2000)
    plain, centred = (dn.estimate(counts, ["a"], method=method).cell(a="v2") for method in ("unbiased", "consistent"))
    assert plain.exact is not None
    assert plain.exact.c == counts.array("a")[3]
    assert centred.exact is None
    lengths = [np.diff(one.confidence_interval())[0] for one in (plain, centred)]
    assert lengths[1] < 0.95 * lengths[0]


def test_beyond_a_million_reports_and_for_pooled_groups_intervals_are_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = tiny("GRR")
    est = dn.estimate(some_counts(plan, 1000), ["a"])
    exact = est.cell(a="v0")
    assert exact.exact is not None
    both = est + replace(est, sources={})
    assert both.cell(a="v0").exact is None
    assert both.cell(a="v0").enough
    monkeypatch.setattr("deniable.estimates.respondent_group.MOST_EXACT", 999)
    normal = est.cell(a="v0")
    assert normal.exact is None
    assert normal.confidence_interval() == pytest.approx(exact.confidence_interval(), abs=0.1 * exact.stderr)


def test_what_is_known_has_no_width_and_conditioning_narrows_intervals() -> None:
    plan, _ = tiny("GRR")
    est = dn.estimate(some_counts(plan, 20_000), ["a", "b"])
    share = est.cell(a="v0").value + 0.001
    given = est.given({"a": {"v0": share}})
    assert given.cell(a="v0").confidence_interval() == pytest.approx((share, share))
    narrow, wide = (np.diff(one.cell(a="v0", b="v0").confidence_interval())[0] for one in (given, est))
    assert 0 < narrow < wide
    assert given.project("b", "a").cell(a="v0", b="v0").confidence_interval() == pytest.approx(
        given.cell(a="v0", b="v0").confidence_interval()
    )
    public = dn.Plan(dn.Schema([dn.Choice("arm", ["x", "y"])]), {"arm": dn.Public()})
    arm = dn.estimate(some_counts(public, 50), ["arm"], about="respondents")
    value = arm.cell(arm="x").value
    assert arm.cell(arm="x").confidence_interval() == (value, value)


def test_linear_questions_that_are_cells_are_answered_as_cells_and_others_by_their_cells() -> None:
    plan, _ = tiny("flags")
    est = dn.estimate(some_counts(plan, 3000), ["a", "b"]).about("population")
    as_cell, cell = est.linear([[0, 0], [1, -1]]), est.cell(a=True, b=False)
    assert as_cell.confidence_interval() == pytest.approx(cell.confidence_interval())
    assert as_cell.enough == cell.enough
    weights = np.array([[0.0, 1.0], [-1.0, 0.0]])  # b less a: no product, and of the cells (a, not b) and (not a, b)
    many = est.linear(weights)
    low, high = many.confidence_interval()
    assert [low, high] == pytest.approx([many.value - 1.96 * many.stderr, many.value + 1.96 * many.stderr], abs=1e-4)
    assert many.enough
    skewed = dn.Plan(plan.schema, dict.fromkeys("ab", dn.RandomizedResponse(epsilon=9.0)))
    rare = dn.Counts(skewed, {("a", "b"): [[5000, 2000], [2002, 1999]]})  # hardly anybody has a without b
    est = dn.estimate(rare, ["a", "b"]).about("population")
    assert est.cell(a=True).enough
    assert est.cell(b=True).enough
    assert est.cell(a=True, b=False).enough
    assert not est.linear(weights).enough  # it is no product, so that its interval would be normal
    plan, _ = tiny("GRR")
    est = dn.estimate(some_counts(plan, 20), ["a", "b"])
    whole = np.zeros((4, 3))
    whole[0, 0] = 2
    assert est.linear(whole).confidence_interval() == (2, 2)
    for seed in range(20):  # the values sum to the whole, whatever rounding says
        est = dn.estimate(some_counts(plan, 300, seed=seed), ["a", "b"])
        values_of_a = np.zeros((4, 3))
        values_of_a[1:, 0] = 1
        values_of_a[0, 0] = 1e-3
        assert est.linear(values_of_a).confidence_interval() == pytest.approx((1.001, 1.001))


@pytest.mark.filterwarnings("ignore::deniable.errors.FitWarning")  # counts far from what reports give
def test_about_the_population_no_variation_is_not_knowledge() -> None:
    """One report, or reports that all agree, leave nothing to estimate a variance from."""
    plan, _ = tiny("flags")
    for counts in ([[1, 1], [1, 1]], [[100, 0], [0, 0]]):
        est = dn.estimate(dn.Counts(plan, {("a", "b"): counts}), ["a", "b"]).about("population")
        cell = est.cell(a=True, b=True)
        low, high = cell.confidence_interval()
        assert not cell.enough or high - low > 0.02
        assert est.cell().confidence_interval() == (1, 1)  # how many there are is known
    public = dn.Plan(
        dn.Schema([dn.Choice("x", values(3)), dn.Flag("s")]),
        {"x": dn.Public(), "s": dn.RandomizedResponse(epsilon=1.0)},
    )
    table = np.array([[2000, 900], [1000, 400], [1000, 500], [0, 0]])  # nobody is in the third region
    est = dn.estimate(dn.Counts(public, {("x", "s"): table}), ["x", "s"], about="respondents")
    assert est.cell(x="v2", s=True).confidence_interval() == (0, 0)  # of these respondents that is known,
    low, high = est.about("population").cell(x="v2", s=True).confidence_interval()
    assert low < 0 < 3 / 2000 < high  # of others it is not
    ones = [dn.estimate(some_counts(plan, 1, seed=seed), ["a"]) for seed in range(200)]
    assert not sum(ones).about("population").cell(a=True).enough
    assert sum(one.about("respondents") for one in ones).cell(a=True).enough


@pytest.mark.filterwarnings("ignore::deniable.errors.FitWarning")  # counts far from what reports give
def test_whether_a_cell_is_answered_depends_on_the_plan_and_the_number_of_reports_alone() -> None:
    """Whatever came out: rare answers, empty cells, and estimates far below zero."""
    plan, _ = tiny("flags")
    rng = np.random.default_rng(1)
    for n, wanted in ((100, True), (3, False)):
        for _ in range(40):
            ones = rng.integers(0, n, 2, endpoint=True)
            array = [[n, ones[0]], [ones[1], rng.integers(max(0, ones.sum() - n), ones.min(), endpoint=True)]]
            for subject in ("respondents", "population"):
                est = dn.estimate(dn.Counts(plan, {("a", "b"): array}), ["a", "b"]).about(subject)
                assert np.isnan(est.table()["low"].to_numpy()).any() != wanted


def test_too_little_noise_is_not_too_few_reports() -> None:
    """Two flags of 1 000 respondents at epsilon 5 each, or of 20 000 at 8: the answer is known to a point or better."""
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    of = dn.simulate.truth(schema, [(0.7, {"a": 0.2, "b": 0.1}), (0.3, {"a": 0.7, "b": 0.4})])
    rng = np.random.default_rng(1)
    for n, epsilon, half in ((1_000, 5.0, 0.01), (20_000, 8.0, 0.001)):
        plan = dn.Plan(schema, dict.fromkeys("ab", dn.RandomizedResponse(epsilon=epsilon)))
        held = []
        for _ in range(300):
            people = of.people(n, rng)
            counts = dn.simulate.counts(people, plan, rng)
            cell = dn.estimate(counts, ["a", "b"]).about("respondents").cell(a=True, b=True)
            low, high = cell.confidence_interval()
            assert (high - low) / 2 < half
            held.append(low <= people[1, 1] / n <= high)
        assert np.mean(held) > 0.94 - 3 * np.sqrt(0.05 * 0.95 / 300)


def test_an_interval_that_says_little_says_so() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), dict.fromkeys("ab", dn.RandomizedResponse(epsilon=1.0)))
    rare = dn.Counts(plan, {("a", "b"): [[1000, 400], [300, 125]]})
    cell = dn.estimate(rare, ["a", "b"]).cell(a=True, b=True)
    low, high = cell.confidence_interval()
    assert (high - low) / 2 > cell.value
    assert cell.says_little
    assert str(cell).endswith(f"to {high:.3f}, says little; population)")
    sure = dn.estimate(rare, ["a", "b"]).cell(a=False, b=False)
    assert not sure.says_little
    assert "says little" not in str(sure)
    precise = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(epsilon=6.0)})
    none = dn.estimate(dn.Counts(precise, {("a",): [20_000, 55]}), ["a"]).cell(a=True)  # below one point, and surely so
    assert not none.says_little


def test_an_interval_that_would_say_nothing_is_not_given() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), dict.fromkeys("ab", dn.RandomizedResponse(epsilon=0.01)))
    cell = dn.estimate(some_counts(plan, 1000), ["a", "b"]).cell(a=True, b=True)
    assert cell.stderr > 0.5
    assert not cell.enough


@pytest.mark.slow
def test_simultaneous_intervals_hold_for_whole_tables() -> None:
    """All cells at once in 95 % of surveys or a little more; intervals one by one, the control, do not."""
    schema = dn.Schema([dn.Choice("a", values(4)), dn.Flag("b")])
    plan = dn.Plan(schema, {"a": dn.GRR(epsilon=1.5), "b": dn.RandomizedResponse(epsilon=1.5)})
    rng = np.random.default_rng(4)
    a, b = rng.integers(4, size=3000), rng.random(3000) < 0.4
    truth = np.array([[np.mean((a == x) & (b == y)) for y in (False, True)] for x in range(4)]).reshape(-1)
    records = {"a": np.array(values(4))[a], "b": b}
    held = {True: 0, False: 0}
    for counts in repeated(records, plan, 400, rng):
        est = dn.estimate(counts, ["a", "b"])
        for simultaneous in held:
            table = est.table(simultaneous=simultaneous)
            low, high = (table[name].to_numpy() for name in ("low", "high"))
            held[simultaneous] += bool(np.all((low <= truth) & (truth <= high)))
    assert 0.92 < held[True] / 400 < 0.99
    assert held[False] / 400 < 0.8
    one = est.table(simultaneous=True).to_pylist()[0]
    same = est.cell(a=one["a"], b=one["b"]).confidence_interval(0.95 ** (1 / 8))
    assert (one["low"], one["high"]) == pytest.approx(same)
