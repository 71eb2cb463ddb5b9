"""Joint answers: gradients, laws, invariances, open answers against scipy, and how often intervals hold the truth."""

import re
from dataclasses import replace
from itertools import combinations
from math import isnan, sqrt

import numpy as np
import pytest
from benchmarks.coverage import Setting, respondents
from benchmarks.joint import BATCH, QUESTIONS, Asked, asked, measure, statistics, surveys
from scipy import stats

import deniable as dn
from deniable.analyses.associations import false_discovery_rate
from deniable.estimates.respondents import Group
from deniable.inference.association import strength, wald
from deniable.inference.ratio_distribution import RatioLaw
from deniable.inference.ratios import CONDITIONAL, CORRELATION, DIFFERENCE, ODDS_RATIO, RATIO, STEADY, Question
from deniable.inference.tensors import along, answer_rows, flat, margins, sandwich

ALL = {question.name: question for question in (CONDITIONAL, DIFFERENCE, RATIO, ODDS_RATIO, CORRELATION)}


def some_shares(question: Question, rng: np.random.Generator, many: int = 1) -> np.ndarray:
    """Shares such as a question is about."""
    tables = rng.dirichlet(np.ones(4), size=many).reshape(-1, 2, 2)
    a, b = tables.sum(axis=2), tables.sum(axis=1)
    match question.name:
        case "conditional share":
            return np.column_stack([tables[:, 1, 1], b[:, 1]])
        case "difference" | "ratio":
            return np.column_stack([tables[:, 1, 0], b[:, 0], tables[:, 1, 1], b[:, 1]])
        case "odds ratio":
            return np.column_stack([tables[:, 1, 1], tables[:, 1, 0], tables[:, 0, 1], tables[:, 0, 0]])
    return np.column_stack([a[:, 1], a[:, 0], b[:, 1], b[:, 0], tables[:, 1, 1]])


# -- questions and laws ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ALL.values(), ids=list(ALL))
def test_gradients_are_those_of_finite_differences(question: Question) -> None:
    rng = np.random.default_rng(1)
    for x in some_shares(question, rng, 20):
        step = 1e-6 * x
        for k in range(len(x)):
            move = np.eye(len(x))[k] * step[k]
            for part in (question.top, question.bottom):
                slope = (part(x + move)[0] - part(x - move)[0]) / (2 * step[k])
                np.testing.assert_allclose(part(x)[1][k], slope, rtol=1e-6, atol=1e-9)
            value = lambda at: question.top(at)[0] / question.bottom(at)[0]  # noqa: E731
            slope = (value(x + move) - value(x - move)) / (2 * step[k])
            np.testing.assert_allclose(question.gradient(x)[k], slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("question", ALL.values(), ids=list(ALL))
def test_the_delta_method_is_that_of_draws(question: Question) -> None:
    """Where the errors are small: the variance of the question asked of normal draws."""
    rng = np.random.default_rng(2)
    x = some_shares(question, rng, 50)
    x = x[np.argmax(x.min(axis=1))]
    root = rng.normal(size=(len(x), len(x))) * 1e-4
    covariance = root @ root.T
    drawn = rng.multivariate_normal(x, covariance, size=200_000)
    values = question.top(drawn)[0] / question.bottom(drawn)[0]
    law = question.law(x, covariance)
    assert law.value == pytest.approx(values.mean(), abs=5e-5 * abs(law.value) + 1e-6)
    assert law.stderr == pytest.approx(values.std(), rel=0.01)
    assert question.variance(x, covariance) == pytest.approx(law.stderr**2, rel=1e-9)
    for q in (0.025, 0.5, 0.975):
        assert law.cdf(np.quantile(values, q)) == pytest.approx(q, abs=0.003)


def test_the_law_of_a_ratio_is_that_of_draws() -> None:
    rng = np.random.default_rng(1)
    law = RatioLaw(0.3, 1.0, 0.04, 0.01, 0.02)
    top, bottom = rng.multivariate_normal([0.3, 1.0], [[0.04, 0.01], [0.01, 0.02]], size=400_000).T
    for q in (0.01, 0.1, 0.5, 0.9, 0.99):
        assert (top / bottom <= law.ppf(q)).mean() == pytest.approx(q, abs=0.002)
        assert law.cdf(law.ppf(q)) == pytest.approx(q)
    x = np.linspace(-2, 3, 20_001)
    np.testing.assert_allclose(np.gradient(law.cdf(x), x)[1:-1], law.pdf(x)[1:-1], atol=1e-4)
    normal = RatioLaw(0.3, 1.0, 0.04, 0.0, 0.0)
    q = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(normal.ppf(q), stats.norm(0.3, 0.2).ppf(q))
    np.testing.assert_allclose(normal.pdf(x), stats.norm(0.3, 0.2).pdf(x))
    assert (law.how, normal.how) == ("Fieller", "delta method")


def test_a_bottom_that_may_be_zero_has_no_interval() -> None:
    law = RatioLaw(0.3, 0.1, 0.04, 0.0, 0.01)
    assert np.isnan(law.ppf(0.025))
    assert not np.isnan(law.ppf(0.3))
    assert not CONDITIONAL.steady(np.array([0.3, 0.1]), np.diag([0.04, 0.01]))
    just = (0.1 / STEADY) ** 2
    assert CONDITIONAL.steady(np.array([0.3, 0.1]), np.diag([0.04, 0.99 * just]))
    assert not CONDITIONAL.steady(np.array([0.3, 0.1]), np.diag([0.04, 1.01 * just]))
    assert not CONDITIONAL.steady(np.array([0.3, 0.1]), np.diag([0.04, -0.01]))


# -- a survey --------------------------------------------------------------------------------------------------------

AGES = ["young", "middle", "old"]


def survey(n: int = 20_000, *, openly: bool = False, seed: int = 1, epsilon: float = 3.0) -> tuple[dict, dn.Counts]:
    """Smoking depends on age, drinking on smoking, and luck on nothing."""
    rng = np.random.default_rng(seed)
    schema = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker"), dn.Choice("age", AGES), dn.Flag("lucky")])
    age = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    smoker = rng.random(n) < np.array([0.2, 0.3, 0.5])[age]
    drinker = rng.random(n) < np.where(smoker, 0.6, 0.3)
    records = {"smoker": smoker, "drinker": drinker, "age": np.array(AGES)[age], "lucky": rng.random(n) < 0.5}
    protocols = dict.fromkeys(schema.names, dn.Public()) if openly else None
    plan = dn.Plan(schema, protocols) if openly else dn.Plan(schema, epsilon=4 * epsilon)
    return records, dn.count(dn.randomize(records, plan, rng=rng), list(schema.names))


def test_open_answers_give_the_usual_statistics() -> None:
    records, counts = survey(openly=True)
    est = dn.estimate(counts, ["smoker", "drinker", "age"]).about("population")
    smoker, drinker = (records[name].astype(float) for name in ("smoker", "drinker"))
    table = np.array([[((smoker == i) & (drinker == j)).sum() for j in (0, 1)] for i in (0, 1)])
    n = table.sum()
    phi = est.correlation("smoker", "drinker")
    assert phi.value == pytest.approx(np.corrcoef(smoker, drinker)[0, 1])
    odds = est.odds_ratio("smoker", "drinker")
    assert odds.value == pytest.approx(stats.contingency.odds_ratio(table, kind="sample").statistic)
    low, high = stats.contingency.odds_ratio(table, kind="sample").confidence_interval(0.95)
    assert odds.confidence_interval() == pytest.approx((low, high), rel=0.01)
    assert odds.stderr == pytest.approx(odds.value * sqrt((1 / table).sum()))
    by_age = np.array([[(records["age"] == a)[smoker == i].sum() for a in AGES] for i in (0, 1)])
    for first, second, seen in (("smoker", "drinker", table), ("smoker", "age", by_age)):
        wanted = stats.chi2_contingency(seen, correction=False)
        found = est.independence(first, second)
        assert (found.statistic, found.degrees) == (pytest.approx(wanted.statistic), wanted.dof)
        assert found.p_value == pytest.approx(wanted.pvalue, rel=1e-6)
        v = est.association(first, second).cramers_v
        assert np.sqrt(v.distribution.found / v.distribution.scale) == pytest.approx(
            stats.contingency.association(seen)
        )
        shares = seen / n
        plain = (shares * np.log(shares / np.outer(shares.sum(axis=1), shares.sum(axis=0)))).sum()
        assert est.association(first, second).mutual_information.distribution.found == pytest.approx(2 * plain)
    rows = est.conditional("smoker", given="age").to_pylist()
    old = next(row for row in rows if row["age"] == "old" and row["smoker"])
    among = records["age"] == "old"
    share = smoker[among].mean()
    assert old["proportion"] == pytest.approx(share)
    assert old["stderr"] == pytest.approx(sqrt(share * (1 - share) / among.sum()))
    share_young = smoker[records["age"] == "young"].mean()
    assert est.difference("smoker", between=("age", "old", "young")).value == pytest.approx(share - share_young)
    assert est.ratio("smoker", between=("age", "old", "young")).value == pytest.approx(share / share_young)
    for answer in (phi, odds, est.cell(smoker=True), est.difference("smoker", between=("age", "old", "young"))):
        assert answer.effective_n == pytest.approx(n)  # nothing was lost


def test_answers_do_not_depend_on_the_order_of_features_and_values() -> None:
    _, counts = survey()
    plan = counts.plan
    for subject in ("respondents", "population"):
        est = dn.estimate(counts, ["smoker", "drinker", "age"]).about(subject)
        for ask in (est.correlation, est.odds_ratio):
            one, other = ask("smoker", "drinker"), ask("drinker", "smoker")
            assert (one.value, one.stderr) == (pytest.approx(other.value), pytest.approx(other.stderr))
            assert one.confidence_interval() == pytest.approx(other.confidence_interval())
            assert one.effective_n == pytest.approx(other.effective_n)
        yes, no = est.correlation("smoker", "drinker"), est.correlation(("smoker", False), "drinker")
        assert no.value == pytest.approx(-yes.value)
        assert no.confidence_interval() == pytest.approx([-end for end in reversed(yes.confidence_interval())])
        yes, no = est.odds_ratio("smoker", "drinker"), est.odds_ratio(("smoker", False), "drinker")
        assert no.confidence_interval() == pytest.approx([1 / end for end in reversed(yes.confidence_interval())])
        one, other = est.association("smoker", "age"), est.association("age", "smoker")
        for measure_of in ("cramers_v", "mutual_information"):
            a, b = getattr(one, measure_of), getattr(other, measure_of)
            assert (a.value, a.stderr) == (pytest.approx(b.value), pytest.approx(b.stderr))
        assert est.independence("smoker", "age").statistic == pytest.approx(est.independence("age", "smoker").statistic)
    turned = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker"), dn.Choice("age", AGES[::-1]), dn.Flag("lucky")])
    array = counts.array("smoker", "age")[:, [0, 3, 2, 1]]
    other = dn.estimate(dn.Counts(dn.Plan(turned, dict(zip(plan.schema.names, plan.protocols, strict=True))),
                                  {("smoker", "age"): array}), ["smoker", "age"])  # fmt: skip
    est = dn.estimate(counts, ["smoker", "age"])
    assert other.association("smoker", "age").cramers_v.value == pytest.approx(
        est.association("smoker", "age").cramers_v.value
    )
    assert other.independence("smoker", "age").p_value == pytest.approx(est.independence("smoker", "age").p_value)


def test_what_is_planted_is_found_and_what_is_not_is_not() -> None:
    _, counts = survey(50_000)
    rows = dn.associations(counts).to_pylist()
    assert [row["p_value"] for row in rows] == sorted(row["p_value"] for row in rows)
    surely = {frozenset((row["first"], row["second"])) for row in rows if row["fdr"] < 0.01}
    assert {frozenset(("smoker", "drinker")), frozenset(("smoker", "age"))} <= surely
    assert not any("lucky" in pair for pair in surely)
    est = dn.estimate(counts, ["smoker", "lucky"]).about("population")
    low, high = est.correlation("smoker", "lucky").confidence_interval(0.9999)
    assert low < 0 < high
    assert est.association("smoker", "lucky").cramers_v.confidence_interval(0.9999)[0] == 0


@pytest.mark.parametrize("order", [True, False])
def test_all_pairs_are_what_each_pair_is(order: bool) -> None:
    rng = np.random.default_rng(1)
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", AGES), dn.Flag("d"), dn.Choice("e", AGES)])
    plan = dn.Plan(schema, {
        "a": dn.RandomizedResponse(epsilon=2.0), "b": dn.RandomizedResponse(p=0.1, q=0.8),
        "c": dn.UnaryEncoding.optimized(2.0), "d": dn.RandomizedResponse(epsilon=2.0), "e": dn.GRR(epsilon=2.0),
    })  # fmt: skip
    common = rng.random(5_000) < 0.4
    records = {name: common ^ (rng.random(5_000) < 0.2) for name in "abd"}
    records |= {name: np.array(AGES)[rng.choice(3, 5_000) * common] for name in "ce"}
    reports = dn.randomize(records, plan, rng=rng)
    counts = dn.count(reports, order=2) if order else dn.count(reports, list(schema.names))
    rows = dn.associations(counts, level=0.9).to_pylist()
    assert len(rows) == 10
    for row in rows:
        pair = row["first"], row["second"]
        est = dn.estimate(counts, pair).about("population")
        flags = not set(pair) & {"c", "e"}
        answer = est.correlation(*pair) if flags else est.association(*pair).cramers_v
        assert row["measure"] == ("correlation" if flags else "Cramer's V")
        assert row["effect"] == pytest.approx(answer.value)
        assert (row["low"], row["high"]) == pytest.approx(answer.confidence_interval(0.9), nan_ok=True)
        assert row["p_value"] == pytest.approx(est.independence(*pair).p_value)
    assert not all(isnan(row["low"]) for row in rows)


def test_all_pairs_leave_out_what_a_pair_leaves_out() -> None:
    """Margins that are not surely above zero, though all cells are trusted."""
    rng = np.random.default_rng(2)
    schema = dn.Schema([dn.Choice("a", ["x", "y", "z"]), dn.Choice("b", ["x", "y", "z"])])
    plan = dn.Plan(schema, dict.fromkeys("ab", dn.GRR(epsilon=1.0)))
    records = {name: np.array(["x", "y", "z"])[rng.choice(3, 20_000, p=[0.6, 0.395, 0.005])] for name in "ab"}
    counts = dn.count(dn.randomize(records, plan, rng=rng), ["a", "b"])
    est = dn.estimate(counts, ["a", "b"]).about("population")
    assert all(est.cell(a=x, b=y).enough for x in "xyz" for y in "xyz")
    assert not est.association("a", "b").cramers_v.enough
    assert isnan(dn.associations(counts).to_pylist()[0]["low"])


def test_the_false_discovery_rate_is_that_of_benjamini_and_hochberg() -> None:
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.random(50), rng.random(10) / 1000])
    np.testing.assert_allclose(false_discovery_rate(p), stats.false_discovery_control(p))
    with_gap = np.concatenate([p, [np.nan]])
    np.testing.assert_allclose(false_discovery_rate(with_gap)[:-1], stats.false_discovery_control(p))
    assert np.isnan(false_discovery_rate(with_gap)[-1])


def test_the_price_of_privacy_in_respondents() -> None:
    _, counts = survey()
    est = dn.estimate(counts, ["smoker", "age"])
    for about_one, about_other in (
        (est.cell(smoker=True), est.about("population").cell(smoker=True)),
        (est.linear(np.eye(2, 4)), est.about("population").linear(np.eye(2, 4))),
        (est.ratio("smoker", between=("age", "old", "young")),
         est.about("population").ratio("smoker", between=("age", "old", "young"))),
    ):  # fmt: skip
        assert about_one.effective_n == pytest.approx(about_other.effective_n)
        assert 0 < about_one.effective_n < est.n
    cell = est.about("population").cell(smoker=True)
    assert cell.effective_n == pytest.approx(cell.value * (1 - cell.value) / cell.stderr**2)
    epsilons = [dn.estimate(survey(epsilon=e)[1], ["smoker"]).cell(smoker=True).effective_n for e in (1.0, 2.0, 4.0)]
    assert epsilons == sorted(epsilons)


def test_what_is_known_exactly_is_no_reason_to_refuse() -> None:
    _, counts = survey()
    est = dn.estimate(counts, ["smoker", "drinker", "age"]).about("population")
    shares = {"smoker": {True: 0.29}, "drinker": {True: 0.385}}
    plain, known = est.correlation("smoker", "drinker"), est.given(shares).correlation("smoker", "drinker")
    assert known.enough
    assert known.stderr < 1.01 * plain.stderr
    by_age = est.given({"age": {"young": 0.5, "old": 0.2}}).difference("smoker", between=("age", "old", "young"))
    assert by_age.enough
    _, openly = survey(3_000, openly=True)
    for answer in (
        dn.estimate(openly, ["smoker", "drinker"]).correlation("smoker", "drinker"),
        dn.estimate(openly, ["smoker", "age"]).ratio("smoker", between=("age", "old", "young")),
    ):
        assert answer.stderr == 0
        assert answer.confidence_interval() == pytest.approx((answer.value, answer.value))
    table = dn.estimate(openly, ["smoker", "age"]).conditional("smoker", given="age")
    np.testing.assert_allclose(table["low"].to_numpy(), table["high"].to_numpy(), atol=1e-9)


def test_a_test_that_rare_answers_would_fool_is_not_made() -> None:
    """Independent and rare answers, hardly randomized: without the rule many pairs would be found."""
    rng = np.random.default_rng(8)
    names = list("abcdef")
    plan = dn.Plan(
        dn.Schema([dn.Flag(name) for name in names]), dict.fromkeys(names, dn.RandomizedResponse(epsilon=8.0))
    )
    found = []
    for _ in range(30):
        reports = dn.randomize({name: rng.random(300) < 0.02 for name in names}, plan, rng=rng)
        rows = dn.associations(dn.count(reports, order=2)).to_pylist()
        found += [row["fdr"] for row in rows if row["fdr"] < 0.05]
    assert not found
    test = dn.estimate(dn.count(reports, order=2), ["a", "b"]).independence("a", "b")
    assert not test.enough
    assert isnan(test.p_value)
    assert str(test) == "not enough reports for this question"
    many = dn.randomize({name: rng.random(30_000) < 0.02 for name in names}, plan, rng=rng)
    assert dn.estimate(dn.count(many, order=2), ["a", "b"]).independence("a", "b").enough


def test_mutual_information_needs_cells_that_are_surely_not_empty() -> None:
    rng = np.random.default_rng(1)
    schema = dn.Schema([dn.Choice("a", AGES), dn.Choice("b", AGES)])
    same = np.array(AGES)[rng.choice(3, 10_000)]
    counts = dn.count(dn.randomize({"a": same, "b": same}, dn.Plan(schema, epsilon=6.0), rng=rng), ["a", "b"])
    found = dn.estimate(counts, ["a", "b"]).about("population").association("a", "b")
    assert not found.mutual_information.enough
    assert found.cramers_v.enough
    assert found.cramers_v.confidence_interval()[1] <= 1
    assert "not enough reports" in repr(found)
    flags = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    a = rng.random(3_000) < 0.5
    plan = dn.Plan(flags, dict.fromkeys("ab", dn.RandomizedResponse(epsilon=2.0)))
    tried = 0
    while not tried:  # until no estimate happens to be negative
        records = {"a": a, "b": ~a & (rng.random(3_000) < 0.5)}
        est = dn.estimate(dn.count(dn.randomize(records, plan, rng=rng), ["a", "b"]), ["a", "b"]).about("population")
        both = est.cell(a=True, b=True)
        if 0 < both.value < STEADY * both.stderr:
            tried += 1
            found = est.association("a", "b")
            assert np.isfinite(found.mutual_information.value)
            assert found.cramers_v.enough
            assert not found.mutual_information.enough


def test_laws_answer_at_their_ends_without_warnings() -> None:
    for law in (RatioLaw(0.3, 1.0, 0.04, 0.01, 0.02), RatioLaw(0.3, 1.0, 0.04, 0.0, 0.0)):
        assert law.cdf([-np.inf, np.inf]) == pytest.approx([0, 1], abs=1e-9)
        assert law.pdf([-np.inf, np.inf]).tolist() == [0, 0]
        assert np.isnan(law.ppf([-1, 2])).all()
        law.ppf([0, 1])
    exact = RatioLaw(0.3, 1.0, 0.0, 0.0, 0.0)
    assert exact.cdf([0.2, 0.4]).tolist() == [0, 1]
    assert exact.ppf(0.9) == pytest.approx(0.3)
    _, counts = survey(5_000)
    law = dn.estimate(counts, ["smoker", "age"]).association("smoker", "age").cramers_v.distribution
    assert np.isnan(law.ppf([-1, 0, 1, 2])).all()
    x = np.linspace(0.01, 0.6, 5001)
    np.testing.assert_allclose(np.gradient(law.cdf(x), x)[1:-1], law.pdf(x)[1:-1], atol=2e-3)
    assert law.cdf(-1.0) == law.pdf(-1.0) == 0


def test_the_price_of_privacy_is_that_of_the_question_alone() -> None:
    rng = np.random.default_rng(1)
    names = list("abcdefgh")
    plan = dn.Plan(
        dn.Schema([dn.Flag(name) for name in names]), dict.fromkeys(names, dn.RandomizedResponse(epsilon=1.0))
    )
    counts = dn.count(dn.randomize({name: rng.random(20_000) < 0.2 for name in names}, plan, rng=rng), names)
    alone, among = dn.estimate(counts, ["a", "b"]), dn.estimate(counts, names)
    for ask in (
        lambda est: est.cell(a=True),
        lambda est: est.correlation("a", "b"),
        lambda est: est.cell(a=True, b=False),
    ):
        assert ask(alone).effective_n == pytest.approx(ask(among).effective_n)
    weights = np.zeros((2, 2))
    weights[1, 0], weights[0, 1] = 1, 1e-9  # not a product of vectors
    assert alone.linear(weights).effective_n == pytest.approx(alone.cell(a=True).effective_n, rel=1e-4)
    schema = dn.Schema([dn.Flag("x")])
    waves = [
        dn.estimate(dn.Counts(dn.Plan(schema, {"x": dn.Public()}), {("x",): [5000, true]}), ["x"])
        for true in (4500, 500)
    ]
    for subject in ("respondents", "population"):
        both = sum(wave.about(subject) for wave in waves)
        assert both.cell(x=True).effective_n == pytest.approx(10_000)
    assert both.given({}).cell(x=True).effective_n == pytest.approx(10_000)  # as nothing is given


def test_open_answers_at_their_edges() -> None:
    schema = dn.Schema([dn.Choice("a", AGES), dn.Flag("b")])
    plan = dn.Plan(schema, dict.fromkeys(schema.names, dn.Public()))

    def openly(table: list[list[int]]) -> dn.Estimate:
        return dn.estimate(dn.simulate.counts(np.array(table), plan, np.random.default_rng(1)), ["a", "b"])

    nobody = openly([[300, 200], [250, 250], [0, 0]])  # an answer that nobody gave
    for est in (nobody, nobody.about("population")):
        assert not est.association("a", "b").cramers_v.enough
    empty = openly([[500, 0], [200, 300], [100, 100]])
    shares = np.array([[500, 0], [200, 300], [100, 100]]) / 1200
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    wanted = np.where(shares > 0, shares * np.log(np.where(shares > 0, shares, 1) / expected), 0).sum()
    assert empty.association("a", "b").mutual_information.value == pytest.approx(wanted)
    assert not empty.about("population").association("a", "b").mutual_information.enough
    even = openly([[500, 500]] * 3).about("population")
    v = even.association("a", "b").cramers_v
    assert v.value == 0
    assert v.enough
    assert v.confidence_interval()[0] == 0
    for row in even.conditional("b", given="a").to_pylist() + empty.conditional("b", given="a").to_pylist():
        assert not row["low"] > row["proportion"]
        assert not row["proportion"] > row["high"]


def test_answers_of_proper_tables_are_those_of_the_table() -> None:
    _, counts = survey(200, epsilon=0.5, seed=3)
    assert dn.estimate(counts, ["smoker", "drinker"]).table()["proportion"].to_numpy().min() < 0
    est = dn.estimate(counts, ["smoker", "drinker"], method="feasible")
    both, smoker, drinker = est.mean[1, 1] / est.n, est.mean[1, 0] / est.n, est.mean[0, 1] / est.n
    phi = (both - smoker * drinker) / sqrt(smoker * (1 - smoker) * drinker * (1 - drinker))
    assert est.correlation("smoker", "drinker").value == pytest.approx(phi)
    answer = est.odds_ratio("smoker", "drinker")
    high = replace(answer, enough=True, value=1e9).confidence_interval()[1]
    assert not high < 1e9  # whatever the law says, the table's own value is inside
    assert phi != pytest.approx(dn.estimate(counts, ["smoker", "drinker"]).correlation("smoker", "drinker").value)


def test_nothing_is_divided_by_what_may_be_zero() -> None:
    """All shares are trusted, and yet one that is divided by is not surely above zero."""
    rng = np.random.default_rng(3)
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    plan = dn.Plan(schema, dict.fromkeys(schema.names, dn.RandomizedResponse(epsilon=1.0)))
    records = {"a": rng.random(20_000) < 0.5, "b": rng.random(20_000) < 0.01}
    est = dn.estimate(dn.count(dn.randomize(records, plan, rng=rng), ["a", "b"]), ["a", "b"])
    b = est.cell(b=True)
    assert all(est.cell(cell).enough for cell in ({"a": True, "b": True}, {"b": True}, {"a": True}, {"b": False}))
    assert b.value < STEADY * b.stderr
    for answer in (est.correlation("a", "b"), est.correlation("b", "a"), est.odds_ratio("a", "b")):
        assert not answer.enough
        assert "not enough reports" in str(answer)
    rows = est.conditional("a", given="b").to_pylist()
    assert [isnan(row["low"]) for row in rows] == [False, False, True, True]
    assert not est.ratio("a", between=("b", True, False)).enough
    assert not est.ratio("a", between=("b", False, True)).enough
    assert not est.association("a", "b").cramers_v.enough
    few = dn.estimate(survey(40)[1], ["smoker", "age"]).about("population")
    assert not few.cell(age="old").enough
    assert np.isnan(few.conditional("smoker", given="age")["low"].to_numpy()).all()


def test_plain_estimates_of_unary_encoding_have_no_association() -> None:
    rng = np.random.default_rng(1)
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", AGES)])
    plan = dn.Plan(schema, {"a": dn.RandomizedResponse(epsilon=2.0), "b": dn.UnaryEncoding.optimized(2.0)})
    records = {"a": rng.random(2000) < 0.5, "b": rng.choice(AGES, 2000)}
    est = dn.estimate(dn.count(dn.randomize(records, plan, rng=rng), ["a", "b"]), ["a", "b"], method="unbiased")
    for ask in (est.association, est.independence):
        with pytest.raises(dn.EstimateError, match='sum to the whole; use method="consistent"'):
            ask("a", "b")


def test_proper_tables_answer_within_what_can_be() -> None:
    _, counts = survey(2_000, epsilon=1.0)
    est = dn.estimate(counts, ["smoker", "age"], method="feasible")
    table = est.conditional("smoker", given="age")
    shares = table["proportion"].to_numpy()
    np.testing.assert_allclose(shares[::2] + shares[1::2], 1)
    assert np.nanmin(table["low"].to_numpy()) >= 0
    assert np.nanmax(table["high"].to_numpy()) <= 1


# -- comparing and regressing ----------------------------------------------------------------------------------------


def test_two_surveys_are_compared_cell_by_cell() -> None:
    before, after = (
        dn.estimate(survey(seed=seed, epsilon=e)[1], ["smoker", "age"]) for seed, e in ((1, 2.0), (2, 3.0))
    )
    for subject in ("respondents", "population"):
        rows = dn.compare(before.about(subject), after.about(subject), level=0.9).to_pylist()
        assert len(rows) == 6
        for row in rows:
            cell = {"smoker": row["smoker"], "age": row["age"]}
            one, other = before.about(subject).cell(cell), after.about(subject).cell(cell)
            assert row["difference"] == pytest.approx(other.value - one.value)
            assert row["stderr"] == pytest.approx(sqrt(one.stderr**2 + other.stderr**2))
            assert row["high"] - row["low"] == pytest.approx(2 * 1.645 * row["stderr"], rel=0.01)
            assert row["low"] < row["difference"] < row["high"]
    swapped = dn.compare(after, before).to_pylist()
    for row, back in zip(dn.compare(before, after).to_pylist(), swapped, strict=True):
        assert (row["low"], row["high"]) == pytest.approx((-back["high"], -back["low"]))
    proper = [
        dn.estimate(survey(400, seed=seed, epsilon=0.7)[1], ["smoker", "age"], method="feasible") for seed in (4, 5)
    ]
    for row in dn.compare(*proper).to_pylist():
        assert not row["low"] > row["difference"]
        assert not row["difference"] > row["high"]
    few = dn.estimate(survey(20)[1], ["smoker", "age"])
    for one, other in ((few, after), (before, few)):
        assert np.isnan(dn.compare(one, other)["low"].to_numpy()).any()
    with pytest.raises(dn.EstimateError, match="same features"):
        dn.compare(before, after.project("age"))
    with pytest.raises(dn.EstimateError, match="same features"):
        dn.compare(before, after.about("population"))
    with pytest.raises(dn.EstimateError, match="two estimates"):
        dn.compare(before, 3)


def least_squares(records: dict, n: int) -> tuple[np.ndarray, np.ndarray]:
    """By rows, with the sandwich."""
    age = records["age"]
    x = np.column_stack([np.ones(n), records["drinker"], age == "middle", age == "old"]).astype(float)
    y = records["smoker"].astype(float)
    b = np.linalg.lstsq(x, y, rcond=None)[0]
    bread = np.linalg.inv(x.T @ x)
    return b, bread @ (x.T * (y - x @ b) ** 2 @ x) @ bread


def test_regression_on_open_answers_is_least_squares_with_the_sandwich() -> None:
    records, counts = survey(5_000, openly=True)
    found = dn.regress(counts, "smoker", on=["drinker", "age"])
    b, covariance = least_squares(records, 5_000)
    assert found.terms == ("constant", "drinker", "age: middle", "age: old")
    np.testing.assert_allclose(found.coefficients, b, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-7)
    rows = found.table(level=0.9).to_pylist()
    assert rows[1]["low"] == pytest.approx(b[1] - 1.6448536 * sqrt(covariance[1, 1]))
    assert rows[1]["p_value"] == pytest.approx(2 * stats.norm.sf(abs(b[1]) / sqrt(covariance[1, 1])))


def test_regression_from_tables_of_four_features_is_that_from_one_of_all() -> None:
    rng = np.random.default_rng(1)
    names = list("abcdef")
    plan = dn.Plan(
        dn.Schema([dn.Flag(name) for name in names]), dict.fromkeys(names, dn.RandomizedResponse(epsilon=3.0))
    )
    records = {name: rng.random(20_000) < 0.4 for name in names}
    records["a"] = records["b"] ^ (rng.random(20_000) < 0.3)
    reports = dn.randomize(records, plan, rng=rng)
    whole, fours = dn.count(reports, names), dn.count(reports, [list(four) for four in combinations(names, 4)])
    one, other = (dn.regress(counts, "a", on=names[1:]) for counts in (whole, fours))
    np.testing.assert_allclose(one.coefficients, other.coefficients, rtol=1e-9)
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-9)
    assert one.coefficients[1] == pytest.approx(0.4, abs=5 * one.stderr[1])
    with pytest.raises(dn.EstimateError, match="or order=4"):
        dn.regress(dn.count(reports, order=3), "a", on=names[1:])


def test_regression_holds_the_truth_as_often_as_it_says() -> None:
    records, _ = survey(10_000)
    b, _ = least_squares(records, 10_000)
    plan = survey(10)[1].plan
    rng = np.random.default_rng(1)
    far = []
    for _ in range(300):
        counts = dn.count(dn.randomize(records, plan, rng=rng), ["smoker", "drinker", "age"])
        found = dn.regress(counts, "smoker", on=["drinker", "age"], about="respondents")
        far.append((found.coefficients - b) / found.stderr)
    far = np.array(far)
    assert np.abs(far.mean(axis=0)).max() < 4 / sqrt(300)
    assert (np.abs(far) < 1.96).mean() == pytest.approx(0.95, abs=0.03)
    assert (np.abs(2 * far) < 1.96).mean() < 0.8  # the control: with standard errors half as large


def test_regressions_that_cannot_be_are_refused() -> None:
    _, counts = survey(200, epsilon=0.5)
    with pytest.raises(dn.EstimateError, match="not enough reports for this question: the least eigenvalue"):
        dn.regress(counts, "smoker", on=["drinker", "age"])
    with pytest.raises(dn.EstimateError, match="least eigenvalue") as told:  # at 3.4 standard errors
        dn.regress(survey(1_200, epsilon=0.7)[1], "smoker", on=["drinker", "age"])
    value, error = re.search(r"is ([0-9.]+) \+- ([0-9.]+) with", str(told.value)).groups()
    assert 2 < float(value) / float(error) < 5
    _, counts = survey(2_000)
    with pytest.raises(dn.EstimateError, match="one table that holds all its features"):
        dn.regress(dn.Counts(counts.plan, {("smoker",): counts.array("smoker")}), "smoker", on=["age"])
    with pytest.raises(dn.EstimateError, match="a list of features"):
        dn.regress(counts, "smoker", on="age")
    with pytest.raises(dn.EstimateError, match='"respondents" or the "population"'):
        dn.regress(counts, "smoker", on=["age"], about="all")
    with pytest.raises(dn.EstimateError, match="'age' is a choice: say which answer"):
        dn.regress(counts, "age", on=["smoker"])
    with pytest.raises(dn.EstimateError, match="each feature once; found 'smoker' again"):
        dn.regress(counts, "smoker", on=["age", "smoker"])
    old = dn.regress(counts, ("age", "old"), on=["smoker"])
    assert old.terms == ("constant", "smoker")


def test_odd_questions_say_what_to_do() -> None:
    _, counts = survey(2_000)
    est = dn.estimate(counts, ["smoker", "drinker", "age"])
    odd = [None, 5, [], (), {"age": "old"}, np.array(["age", "old"]), (["age"], "old"), b"age", ("age", "old", "young")]
    for ask, words in (
        (lambda: est.correlation("smoker", "smoker"), "two different features; found 'smoker' twice"),
        (lambda: est.correlation("smoker", "age"), "'age' is a choice: say which answer, such as ('age', 'young')"),
        (lambda: est.correlation("smoker", ("age", "ancient")), "found 'ancient'"),
        (lambda: est.correlation("smoker", "income"), "no feature 'income' here"),
        *((lambda what=what: est.odds_ratio("smoker", what), "as (name, answer)") for what in odd),
        *(
            (lambda what=what: est.difference("smoker", between=what), "two of its answers")
            for what in ("age", *odd[:-1])
        ),
        (lambda: est.difference("smoker", between=(["age"], "old", "young")), "as (name, answer)"),
        (
            lambda: est.difference("smoker", between=("age", "old", "old")),
            "two different answers; found 'old' and 'old'",
        ),
        (lambda: est.difference("smoker", between=("age", np.ones(2), "old")), "two different answers"),
        (lambda: est.project(["smoker"], ["age"]), "project takes one or more of"),
        (lambda: est.difference(("age", "old"), between=("age", "old", "young")), "two different features"),
        (lambda: est.conditional("smoker", given="income"), "conditional takes different features of this estimate"),
        (lambda: est.conditional("smoker", given="smoker"), "conditional takes different features of this estimate"),
        *((lambda what=what: est.conditional("smoker", given=what), "conditional takes") for what in odd),
        *((lambda what=what: est.independence("smoker", what), "independence takes different") for what in odd),
        *((lambda what=what: est.association(what, "smoker"), "association takes different") for what in odd),
        (lambda: est.given({"age": {"old": 0.2}}).independence("smoker", "age"), "before given"),
        *((lambda what=what: dn.regress(counts, what, on=["smoker"]), "as (name, answer)") for what in odd[:-1]),
        (lambda: dn.regress(counts, "smoker", on=[("age", "old")]), "by their names"),
        (lambda: dn.regress(est, "smoker", on=["age"]), "regress takes counts"),
        (lambda: dn.compare(est, est), "the same one twice"),
        (lambda: dn.associations(3), "takes counts"),
    ):
        with pytest.raises(dn.EstimateError) as told:
            ask()
        assert words in str(told.value)
    one = dn.Counts(counts.plan, {("smoker",): counts.array("smoker")})
    with pytest.raises(dn.CountError, match="no pair of features"):
        dn.associations(one)


# -- coverage: a corner of the grid in benchmarks/joint.py -----------------------------------------------------------

CORNER = [
    Setting("flags", 2, 1.0, 10_000, "respondents"),
    Setting("flags, q = 1/2", 2, 2.0, 10_000, "population"),
    Setting("GRR", 2, 4.0, 10_000, "population"),
    Setting("unary", 2, 2.0, 10_000, "respondents"),
    Setting("mixed", 2, 1.0, 100_000, "population", "rare"),
]
SLACK = 4 * sqrt(0.05 * 0.95 / BATCH)


@pytest.mark.parametrize("setting", CORNER, ids=str)
def test_intervals_of_joint_answers_hold_the_truth(setting: Setting) -> None:
    rng = np.random.default_rng(1)
    found = [one for one in measure(setting, BATCH, rng, respondents(setting, 1, rng)) if one.claimed > 0.9]
    assert len(found) >= 3
    assert all(abs(one.covered - 0.95) <= SLACK for one in found), found


def test_joint_intervals_about_the_respondents_do_not_hold_the_population() -> None:
    """The control."""
    setting = Setting("flags", 2, 4.0, 1_000, "population")
    rng = np.random.default_rng(1)
    many = surveys(setting, respondents(setting, BATCH, rng), rng)
    for one in (each for each in QUESTIONS if isinstance(each, Asked)):
        truth, *_ = asked(many, one)
        wrong = surveys(setting, many.people, rng)
        object.__setattr__(wrong, "setting", Setting("flags", 2, 4.0, 1_000, "respondents"))
        _, low, high, _ = asked(wrong, one)
        assert ((low <= truth) & (truth <= high)).mean() < 0.8


def test_the_test_of_independence_has_its_size_and_the_respondents_covariance_has_not() -> None:
    setting = Setting("GRR", 2, 4.0, 10_000, "population")
    shares = np.multiply.outer([0.5, 0.3, 0.1, 0.1], [0.4, 0.3, 0.2, 0.1])
    statistic, degrees, oracle = statistics(setting, shares, BATCH, np.random.default_rng(1))
    assert degrees == 9
    most = stats.chi2(degrees).ppf(0.95)
    slack = 4 * sqrt(0.05 * 0.95 / BATCH)
    assert (statistic > most).mean() == pytest.approx(0.05, abs=slack)
    assert (oracle > most).mean() == pytest.approx(0.05, abs=slack)
    rng = np.random.default_rng(1)
    people = rng.multinomial(setting.n, shares.reshape(-1), size=1000).reshape(-1, 4, 4)
    many = surveys(setting, people, rng)
    rows = [answer_rows(axis.m) for axis in many.axes]
    over, axes = flat(rows), tuple(many.axes)
    even = np.multiply.outer(shares.sum(axis=1), shares.sum(axis=0))[..., None] * setting.n
    truth = along(even, [margins(axis.m) for axis in axes])  # of one survey, whose respondents' covariance is the same
    wrong = Group(setting.n, axes, np.moveaxis(truth, 0, -1)).dense(population=False)
    statistic, _ = wald(along(many.estimates, rows) / setting.n, over @ wrong @ over.T / setting.n**2)
    assert (statistic > most).mean() > 0.3


@pytest.mark.parametrize("mutual", [False, True])
def test_the_gradient_of_a_strength_is_that_of_finite_differences(mutual: bool) -> None:
    rng = np.random.default_rng(1)
    for shape in ((2, 2), (3, 4)):
        p = rng.dirichlet(np.ones(12)[: shape[0] * shape[1]]).reshape(shape)
        covariance = np.eye(p.size) * 1e-6
        _, gradient = strength(p, covariance, mutual=mutual)
        for k in range(p.size):
            step = 1e-7 * np.eye(p.size)[k].reshape(shape)
            ends = [strength(p + sign * step, covariance, mutual=mutual)[0].found for sign in (1, -1)]
            assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-7, rel=1e-5, abs=1e-6)
        law, _ = strength(p, covariance, mutual=mutual)
        square = max(law.found - law.bias, 0)
        assert law.value == pytest.approx(square / 2 if mutual else sqrt(square / (min(shape) - 1)))
        assert law.known == pytest.approx(law.found / 2 if mutual else sqrt(law.found / (min(shape) - 1)))


@pytest.mark.parametrize("phi", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("mutual", [False, True])
def test_the_strength_of_an_association_holds_the_truth_and_has_no_bias(phi: float, mutual: bool) -> None:
    """About a population; where there is none, the interval begins at zero nearly always."""
    rng = np.random.default_rng(1)
    base = np.multiply.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.3])
    shares = base * (1 - phi) + phi * np.diag([0.45, 0.3, 0.25])
    setting = Setting("unary", 2, 2.0, 20_000, "population")
    people = rng.multinomial(setting.n, shares.reshape(-1), size=2000).reshape(-1, 3, 3)
    many = surveys(setting, people, rng)
    rows, axes = [answer_rows(axis.m) for axis in many.axes], tuple(many.axes)
    over = flat(rows)
    covariance = over @ Group(setting.n, axes, many.estimates).dense(population=True) @ over.T / setting.n**2
    law, _ = strength(along(many.estimates, rows) / setting.n, covariance, mutual=mutual)
    r, c = shares.sum(axis=1), shares.sum(axis=0)
    square = (
        2 * (shares * np.log(shares / np.outer(r, c))).sum()
        if mutual
        else ((shares - np.outer(r, c)) ** 2 / np.outer(r, c)).sum()
    )
    truth = square / 2 if mutual else sqrt(square / 2)
    low, high = law.ppf(0.025), law.ppf(0.975)
    assert ((low <= truth + 1e-12) & (truth <= high)).mean() > 0.925
    bias = (law.found - law.bias).mean() - square
    assert abs(bias) < 0.1 * square + 4 * (law.found - law.bias).std() / sqrt(2000)
    if phi == 0.3:
        assert np.median(law.stderr) == pytest.approx(law.value.std(), rel=0.1)
        assert law.value.mean() == pytest.approx(truth, abs=4 * law.value.std() / sqrt(2000))
    np.testing.assert_allclose(law.cdf(high)[high > 0], 0.975, atol=1e-6)
    assert (law.cdf(high)[high == 0] >= 0.975).all()  # none at all, at this level


def test_a_sandwich_axis_by_axis_is_that_of_the_whole_weights() -> None:
    rng = np.random.default_rng(1)
    rows = [rng.normal(size=(3, 2)), rng.normal(size=(2, 4))]
    matrix = rng.normal(size=(5, 8, 8))
    over = flat(rows)
    np.testing.assert_allclose(sandwich(rows, matrix), over @ matrix @ over.T)
    np.testing.assert_allclose(sandwich(rows, matrix[0]), over @ matrix[0] @ over.T)
