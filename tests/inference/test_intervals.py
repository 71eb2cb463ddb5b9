"""Intervals: exact laws against brute force, and how often the truth is inside, with controls that must fail."""

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb, isnan, sqrt
from pathlib import Path

import numpy as np
import pytest
from benchmarks.coverage import Setting, cells_of, coverage, plan_for, respondents, surveys, weights_of

import deniable as dn
from deniable.estimates import respondents as groups
from deniable.estimates.respondents import Group
from deniable.inference import intervals, one_column
from deniable.inference.axis import Axis
from deniable.inference.cumulants import Cumulants
from deniable.inference.intervals import limits, trusted
from deniable.inference.one_column import OneColumn
from deniable.inference.tensors import along, margins
from tests.estimates.test_estimate import some_counts, tiny
from tests.support.situations import values


def binomial(n: int, p: Fraction) -> list[Fraction]:
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def exact_law(t: int, n: int, p: Fraction, q: Fraction) -> list[Fraction]:
    """P(C = c): those who are counted show it with probability q, the others with p."""
    law = [Fraction(0)] * (n + 1)
    for (a, x), (b, y) in product(enumerate(binomial(t, q)), enumerate(binomial(n - t, p))):
        law[a + b] += x * y
    return law


PROBABILITIES = [(Fraction(1, 4), Fraction(3, 4)), (Fraction(1, 16), Fraction(1, 2)), (Fraction(0), Fraction(7, 8))]


@pytest.mark.parametrize(("p", "q"), PROBABILITIES)
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_exact_interval_is_all_truths_that_explain_the_count(p: Fraction, q: Fraction, level: float) -> None:
    n, tail = 12, (1 - Fraction(level)) / 2
    laws = [exact_law(t, n, p, q) for t in range(n + 1)]
    for c in range(n + 1):
        above = [sum(law[c + 1 :]) + law[c] / 2 for law in laws]
        fitting = [t for t in range(n + 1) if tail < above[t] <= 1 - tail]
        law = OneColumn(c, n, float(p), float(q), 2, population=False)
        low, high = law.limits(level)
        assert low <= law.estimate <= high or fitting
        if fitting:  # at the edges it may go on
            assert (max(low, 0), min(high, n)) == (fitting[0], fitting[-1])
            assert low == fitting[0] or fitting[0] == 0
            assert high == fitting[-1] or fitting[-1] == n


@pytest.mark.parametrize(("p", "q"), PROBABILITIES)
def test_the_exact_interval_of_a_population_has_the_tails_it_says(p: Fraction, q: Fraction) -> None:
    n = 15
    for c in range(n + 1):
        low, high = OneColumn(c, n, float(p), float(q), 2, population=True).limits(0.9)
        for limit, tail, edge in ((low, 0.05, 0.0), (high, 0.95, 1.0)):
            rate = float(p) + float(q - p) * limit / n
            chances = [comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
            at_edge = rate == pytest.approx(edge, abs=1e-9)
            assert at_edge or sum(chances[c + 1 :]) + chances[c] / 2 == pytest.approx(tail, abs=1e-9)
            assert not at_edge or c in (0, n)


def test_exact_intervals_reach_large_surveys() -> None:
    """At a million reports they are the normal ones, to a hundredth of a standard error."""
    p, q, n, t = 0.25, 0.75, 1_000_000, 300_000
    c = round(t * q + (n - t) * p)
    for population, variance in ((False, n * 3 / 16), (True, c * (1 - c / n))):
        law = OneColumn(c, n, p, q, 2, population)
        low, high = law.limits(0.95)
        stderr = sqrt(variance) / (q - p)
        assert law.enough
        assert [low, high] == pytest.approx([t - 1.96 * stderr, t + 1.96 * stderr], abs=0.01 * stderr + 1)


def test_few_steps_are_not_enough_reports_and_nothing_random_always_is() -> None:
    def enough(c: int, n: int, p: float, q: float, answers: int, *, population: bool = False) -> bool:
        return OneColumn(c, n, p, q, answers, population).enough

    assert not enough(10, 200, 0.02, 0.98, 2)  # a standard deviation of 2
    assert enough(80, 200, 0.3, 0.7, 2)
    assert enough(3, 200, 0.0, 1.0, 2)  # a public column
    assert OneColumn(3, 200, 0.0, 1.0, 2, population=False).limits(0.95) == (3, 3)
    assert not enough(3, 200, 0.0, 1.0, 2, population=True)  # 7 if half were, but 1.7 at the estimate
    assert enough(8, 200, 0.0, 1.0, 2, population=True)  # 2.8
    assert not enough(8, 200, 0.0, 1.0, 10, population=True)  # 4.2 if a tenth were


def test_what_no_truth_explains_has_the_normal_interval() -> None:
    """Far fewer than 200 times no would show: an unlucky survey, and the truth is above the interval."""
    law = OneColumn(30, 200, 0.3, 0.7, 2, population=False)
    low, high = law.limits(0.95)
    away = 1.959964 * sqrt(200 * 0.21) / 0.4
    assert (low, high) == pytest.approx((law.estimate - away, law.estimate + away))
    assert high < 0


# -- corrected normal intervals ---------------------------------------------------------------------------------------


def of(variance: float, third: float = 0.0, slope: float = 0.0, wobble: float = 0.0, fourth: float = 0.0) -> Cumulants:
    mean = np.array(10.0)
    return Cumulants(mean, *(np.array(one) for one in (variance, third, fourth, slope, wobble)))


def test_without_skewness_it_is_the_normal_interval() -> None:
    low, high = limits(of(4.0), 0.95)
    assert [float(low), float(high)] == pytest.approx([10 - 1.959964 * 2, 10 + 1.959964 * 2])
    low, high = limits(of(0.0), 0.95)
    assert (float(low), float(high)) == (10, 10)
    assert np.isnan(limits(of(-1.0), 0.95)).all()


def test_the_corrections_worked_by_hand() -> None:
    """gamma = 0.1, rho = 0.2: kappa1 = -0.1, kappa3 = -0.5, and the quantiles of z = 2 and -2 are 1.65 and -2.35."""
    level = 0.9544997361036416  # of two standard errors
    low, high = limits(of(4.0, third=0.1 * 8, slope=0.2 * 8), level)
    assert [float(low), float(high)] == pytest.approx([10 - 2 * 1.65, 10 + 2 * 2.35])


def test_the_corrections_are_those_of_a_studentised_mean() -> None:
    """Sums of 200 exponentials, with their own variance: each tail comes right, and the plain normal's do not."""
    rng = np.random.default_rng(1)
    sums = rng.gamma(200, size=400_000)  # the variance is estimated as sum^2 / 200
    v = sums**2 / 200
    third, slope = 2 * sums**3 / 200**2, 2 * sums / 200 * v
    corrected, plain = (limits(Cumulants(sums, v, k * third, v, k * slope, v), 0.95) for k in (1.0, 0.0))
    tails = (corrected[0] > 200).mean(), (corrected[1] < 200).mean()
    assert tails == (pytest.approx(0.025, abs=0.002), pytest.approx(0.025, abs=0.002))
    tails = (plain[0] > 200).mean(), (plain[1] < 200).mean()
    assert tails[1] - tails[0] > 0.015


def test_intervals_are_nested_whatever_the_skewness() -> None:
    levels = [0.5, 0.8, 0.95, 0.99, 0.9999, 0.999999]
    for third, slope in product((-2.0, -0.4, 0.0, 0.4, 2.0), repeat=2):
        ends = np.array([limits(of(1.0, third=third, slope=slope), level) for level in levels])
        assert (np.diff(ends[:, 0]) < 0).all()
        assert (np.diff(ends[:, 1]) > 0).all()


def test_trust_ends_where_the_rule_says() -> None:
    good = of(100.0)
    edges = {"third": 0.13 * 1000, "slope": 0.13 * 1000, "wobble": 18.0**2, "fourth": 0.09 * 10_000}
    assert trusted(good, good, good)
    for place, looser in ((0, 3.0), (1, 1.5), (2, 1.0)):  # the estimate, its margins, and equally common answers
        for name, edge in edges.items():
            times = looser**2 if name == "wobble" else looser
            for sign in (1, -1) if name != "wobble" else (1,):
                for near, allowed in ((0.99, True), (1.01, False)):
                    one = of(100.0, **{name: sign * edge * times * near})
                    assert trusted(*(one if k == place else good for k in range(3))) == allowed
        for variance in (-100.0, 0.0):
            assert not trusted(*(of(variance) if k == place else good for k in range(3)))


def test_equally_common_answers_are_those_of_an_even_table() -> None:
    for plan, levels in ((plan_for("mixed", 3, 1.0), (3, 2, 4)), (plan_for("flags", 2, 1.0), (2, 2))):
        axes = tuple(Axis.of(protocol, centred=True) for protocol in plan.protocols)
        table = along(np.full(levels, 600 / np.prod(levels)), [margins(axis.m) for axis in axes])
        rows = weights_of(axes, [0] * len(levels))
        for population in (False, True):
            even = Group(600, axes, np.zeros_like(table)).even(rows, population=population)
            for field, wanted in vars(Group(600, axes, table).cumulants(rows, population=population)).items():
                np.testing.assert_allclose(getattr(even, field), wanted, rtol=1e-10)


# -- coverage: a corner of the grid in benchmarks/coverage.py ---------------------------------------------------------

CORNER = [
    Setting("flags", 1, 0.5, 1_000, "respondents"),
    Setting("GRR", 1, 2.0, 1_000, "population"),
    Setting("unary", 1, 1.0, 1_000, "respondents"),
    Setting("flags", 2, 4.0, 1_000, "population"),
    Setting("GRR", 2, 2.0, 10_000, "respondents"),
    Setting("unary", 2, 1.0, 1_000, "population"),
    Setting("mixed", 3, 1.0, 10_000, "respondents"),
    Setting("flags, q = 1/2", 3, 1.0, 1_000, "population"),
    Setting("mixed", 4, 4.0, 100_000, "population"),
    Setting("GRR", 3, 4.0, 10_000, "population", "together"),
    Setting("flags", 2, 2.0, 1_000, "population", "rare"),
]
SURVEYS = 4_000
SLACK = 4 * sqrt(0.05 * 0.95 / SURVEYS) - 0.01  # what chance may add to the one per cent that is allowed


@pytest.mark.parametrize("setting", CORNER, ids=str)
def test_intervals_cover_where_they_claim_to(setting: Setting) -> None:
    claimed = [one for one, _ in coverage(setting, SURVEYS, np.random.default_rng(1)) if one.claimed > 0.95]
    assert claimed
    assert all(one.in_range(SLACK) for one in claimed), claimed


def test_what_the_plan_and_the_size_say_is_asked_first() -> None:
    """With the margins and at the estimate this one would pass in more than half of the surveys."""
    setting, rng = Setting("flags", 3, 4.0, 200, "population"), np.random.default_rng(1)
    many = surveys(setting, respondents(setting, 300, rng), rng)
    axes, rows = tuple(many.axes), weights_of(many.axes, (0, 0, 1))
    group = Group(200, axes, many.estimates)
    found, independent, even = (of(rows, population=True) for of in (group.cumulants, group.independent, group.even))
    assert trusted(found, independent, of(1.0)).mean() > 0.5
    assert not trusted(found, independent, even).any()
    assert not groups.judge([group], rows, population=True)[1].any()


def test_intervals_about_the_respondents_do_not_cover_the_population() -> None:
    """The control: at high epsilon nearly all uncertainty is sampling."""
    setting = Setting("flags", 2, 4.0, 1_000, "population")
    rng = np.random.default_rng(1)
    many = surveys(setting, respondents(setting, 1000, rng), rng)
    wrong = replace(many, setting=Setting("flags", 2, 4.0, 1_000, "respondents"))
    for cell in cells_of(many.shares):
        low, high, _ = wrong.limits(cell)
        assert ((low <= many.truth(cell)) & (many.truth(cell) <= high)).mean() < 0.8


def test_too_few_reports_are_not_answered() -> None:
    for setting in (Setting("GRR", 4, 2.0, 200, "population"), Setting("unary", 4, 4.0, 200, "respondents")):
        assert all(one.claimed < 0.05 for one, _ in coverage(setting, 300, np.random.default_rng(1)))


@pytest.mark.parametrize("subject", ["respondents", "population"])
@pytest.mark.parametrize("kind", ["flags", "GRR", "mixed"])
def test_surveys_made_at_once_are_those_of_the_library(kind: str, subject: str) -> None:
    """The benchmark's quick way to many intervals, and `estimate`, `cell` and `table` one survey at a time."""
    for order in (1, 2):
        setting, rng = Setting(kind, order, 2.0, 1_000, subject), np.random.default_rng(1)
        many = surveys(setting, respondents(setting, 3, rng), rng)
        names = many.plan.schema.names
        for k in range(3):
            counts = many.counts(k)
            est = dn.estimate(counts, names).about(subject)
            rows = est.table().to_pylist()
            for cell in cells_of(many.shares):
                low, high, claims = (each[k] for each in many.limits(cell))
                row = rows[np.ravel_multi_index(cell, many.shares.shape)]
                answer = est.cell({name: row[name] for name in names})
                expected = (low / 1000, high / 1000) if claims else (np.nan, np.nan)
                assert answer.confidence_interval() == pytest.approx(expected, nan_ok=True)
                assert (row["low"], row["high"]) == pytest.approx(expected, nan_ok=True)
                assert answer.enough == claims


# -- answers ----------------------------------------------------------------------------------------------------------


def test_an_answer_says_its_interval_or_that_there_are_not_enough_reports() -> None:
    plan, _ = tiny("GRR")
    many, few = (dn.estimate(some_counts(plan, n), ["a", "b"]).cell(a="v0", b="v1") for n in (20_000, 20))
    low, high = many.confidence_interval()
    assert low < many.value < high
    assert high - low == pytest.approx(2 * 1.96 * many.stderr, rel=0.01)
    wide = many.confidence_interval(0.99)
    assert wide[0] < low < high < wide[1]
    assert str(many) == f"{many.value:.4f} +- {many.stderr:.4f} (95 % interval {low:.4f} to {high:.4f})"
    assert not few.enough
    assert all(map(isnan, few.confidence_interval()))
    assert str(few) == f"{few.value:.4f} (not enough reports for this question)"
    assert many.confidence_interval(np.float32(0.5)) == many.confidence_interval(0.5)
    assert repr(many) == f"<Answer {many}>"
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
    assert plain.law is not None
    assert plain.law.c == counts.array("a")[3]
    assert centred.law is None
    lengths = [np.diff(one.confidence_interval())[0] for one in (plain, centred)]
    assert lengths[1] < 0.95 * lengths[0]


def test_beyond_a_million_reports_and_for_pooled_groups_intervals_are_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = tiny("GRR")
    est = dn.estimate(some_counts(plan, 1000), ["a"])
    exact = est.cell(a="v0")
    assert exact.law is not None
    assert (est + est).cell(a="v0").law is None
    assert (est + est).cell(a="v0").enough
    monkeypatch.setattr("deniable.estimates.respondents.MOST_EXACT", 999)
    normal = est.cell(a="v0")
    assert normal.law is None
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
    arm = dn.estimate(some_counts(public, 50), ["arm"])
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
    assert not est.cell(a=True, b=False).enough
    assert not est.linear(weights).enough
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


def test_about_the_population_no_variation_is_not_knowledge() -> None:
    """One report, or reports that all agree, leave nothing to estimate a variance from."""
    plan, _ = tiny("flags")
    for counts in ([[1, 1], [1, 1]], [[100, 0], [0, 0]]):
        est = dn.estimate(dn.Counts(plan, {("a", "b"): counts}), ["a", "b"]).about("population")
        assert np.isnan(est.table()["low"].to_numpy()).all()
        assert not est.cell(a=True, b=True).enough
        assert est.cell().confidence_interval() == (1, 1)  # how many there are is known
    public = dn.Plan(
        dn.Schema([dn.Choice("x", values(3)), dn.Flag("s")]),
        {"x": dn.Public(), "s": dn.RandomizedResponse(epsilon=1.0)},
    )
    table = np.array([[2000, 900], [1000, 400], [1000, 500], [0, 0]])  # nobody is in the third region
    est = dn.estimate(dn.Counts(public, {("x", "s"): table}), ["x", "s"])
    assert est.cell(x="v2", s=True).confidence_interval() == (0, 0)  # of these respondents that is known,
    assert not est.about("population").cell(x="v2", s=True).enough  # of others it is not
    ones = [dn.estimate(some_counts(plan, 1, seed=seed), ["a"]) for seed in range(200)]
    assert not sum(ones).about("population").cell(a=True).enough
    assert sum(ones).cell(a=True).enough


def test_the_library_looks_at_independence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, _ = tiny("flags")
    est = dn.estimate(some_counts(plan, 3000), ["a", "b"])
    assert est.cell(a=True, b=True).enough
    never = of(-1.0)
    monkeypatch.setattr("deniable.estimates.respondents.Group.independent", lambda *_, **__: never)
    assert not est.cell(a=True, b=True).enough
    assert np.isnan(est.table()["low"].to_numpy()).all()


def test_an_interval_that_would_say_nothing_is_not_given() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), dict.fromkeys("ab", dn.RandomizedResponse(epsilon=0.01)))
    cell = dn.estimate(some_counts(plan, 1000), ["a", "b"]).cell(a=True, b=True)
    assert cell.stderr > 0.5
    assert not cell.enough


def test_simultaneous_intervals_hold_for_whole_tables() -> None:
    """All cells at once in 95 % of surveys or a little more; intervals one by one, the control, do not."""
    schema = dn.Schema([dn.Choice("a", values(4)), dn.Flag("b")])
    plan = dn.Plan(schema, {"a": dn.GRR(epsilon=1.5), "b": dn.RandomizedResponse(epsilon=1.5)})
    rng = np.random.default_rng(4)
    a, b = rng.integers(4, size=3000), rng.random(3000) < 0.4
    truth = np.array([[np.mean((a == x) & (b == y)) for y in (False, True)] for x in range(4)]).reshape(-1)
    records = {"a": np.array(values(4))[a], "b": b}
    held = {True: 0, False: 0}
    for _ in range(400):
        est = dn.estimate(dn.count(dn.randomize(records, plan, rng=rng), ["a", "b"]), ["a", "b"])
        for simultaneous in held:
            table = est.table(simultaneous=simultaneous)
            low, high = (table[name].to_numpy() for name in ("low", "high"))
            held[simultaneous] += bool(np.all((low <= truth) & (truth <= high)))
    assert 0.92 < held[True] / 400 < 0.99
    assert held[False] / 400 < 0.8
    one = est.table(simultaneous=True).to_pylist()[0]
    same = est.cell(a=one["a"], b=one["b"]).confidence_interval(0.95 ** (1 / 8))
    assert (one["low"], one["high"]) == pytest.approx(same)


def test_the_rule_is_the_one_the_documents_state() -> None:
    page = (Path(__file__).parents[2] / "docs/estimating.md").read_text(encoding="utf-8")
    for words, most in (
        ("skewness", intervals.SKEWNESS),
        ("leaning", intervals.LEANING),
        ("wobble", intervals.WOBBLE),
        ("tails", intervals.TAILS),
    ):
        stated = re.search(rf"^\| {words}.*at most ([0-9.]+)[^|]*\| ([0-9.]+) \| ([0-9.]+) \|$", page, re.M).groups()
        times = (1, intervals.WITH_MARGINS, intervals.AT_ESTIMATE)
        assert [float(one) for one in stated] == pytest.approx([most * each for each in times])
    steps, half = re.search(
        r"at least ([0-9.]+) if all answers are equally common, and ([0-9.]+) at the\nestimate", page
    ).groups()
    assert (float(steps), float(half)) == (one_column.STEPS, one_column.STEPS / 2)
    assert f"standard error above {groups.WIDEST:g}" in page
    assert f"at least {groups.FEWEST} respondents" in page
