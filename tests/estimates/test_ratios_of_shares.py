"""Joint answers: invariances, open answers against scipy, edges, and how often intervals hold the truth."""

from dataclasses import replace
from math import isnan, sqrt

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.estimates.respondent_group import Group
from deniable.inference.about_whom import Subject
from deniable.inference.association import wald
from deniable.inference.ratios import SURELY_POSITIVE
from deniable.inference.tensors import along, answer_rows, flat, margins
from tests.support.joint_questions import BATCH, QUESTIONS, Asked, asked, measure, statistics
from tests.support.many_surveys import Setting, respondents, surveys
from tests.support.surveys import AGES, ODD, survey


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
            # How skewed its error is, is that of shares given the first: to a hundredth of a standard error the same.
            assert one.confidence_interval() == pytest.approx(other.confidence_interval(), abs=0.01 * one.stderr)
            assert one.effective_n == pytest.approx(other.effective_n)
        yes, no = est.correlation("smoker", "drinker"), est.correlation(("smoker", False), "drinker")
        assert no.value == pytest.approx(-yes.value)
        turned = [-end for end in reversed(yes.confidence_interval())]
        assert no.confidence_interval() == pytest.approx(turned, abs=0.01 * yes.stderr)
        yes, no = est.odds_ratio("smoker", "drinker"), est.odds_ratio(("smoker", False), "drinker")
        inverse = [1 / end for end in reversed(yes.confidence_interval())]
        assert no.confidence_interval() == pytest.approx(inverse, rel=0.01)
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
        dn.estimate(openly, ["smoker", "drinker"], about="respondents").correlation("smoker", "drinker"),
        dn.estimate(openly, ["smoker", "age"], about="respondents").ratio("smoker", between=("age", "old", "young")),
    ):
        assert answer.stderr == 0
        assert answer.confidence_interval() == pytest.approx((answer.value, answer.value))
    table = dn.estimate(openly, ["smoker", "age"], about="respondents").conditional("smoker", given="age")
    np.testing.assert_allclose(table["low"].to_numpy(), table["high"].to_numpy(), atol=1e-9)


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
        if 0 < both.value < SURELY_POSITIVE * both.stderr:
            tried += 1
            found = est.association("a", "b")
            assert np.isfinite(found.mutual_information.value)
            assert found.cramers_v.enough
            assert not found.mutual_information.enough


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
        counts = dn.simulate.counts(np.array(table), plan, np.random.default_rng(1))
        return dn.estimate(counts, ["a", "b"], about="respondents")

    nobody = openly([[300, 200], [250, 250], [0, 0]])  # an answer that nobody gave
    for est in (nobody, nobody.about("population")):
        found = est.association("a", "b").cramers_v
        assert found.enough
        assert [(one.feature, one.answers) for one in found.merged] == [("a", ("middle", "old"))]
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
    assert b.value < SURELY_POSITIVE * b.stderr
    for answer in (est.correlation("a", "b"), est.correlation("b", "a"), est.odds_ratio("a", "b")):
        assert not answer.enough
        assert "not enough reports" in str(answer)
    rows = est.conditional("a", given="b").to_pylist()
    assert [isnan(row["low"]) for row in rows] == [False, False, True, True]
    assert not est.ratio("a", between=("b", True, False)).enough
    assert not est.ratio("a", between=("b", False, True)).enough
    assert not est.association("a", "b").cramers_v.enough
    few = dn.estimate(survey(40)[1], ["smoker", "age"]).about("population")
    assert not few.cell(age="old", smoker=True).enough
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


def test_odd_questions_say_what_to_do() -> None:
    _, counts = survey(2_000)
    est = dn.estimate(counts, ["smoker", "drinker", "age"])
    for ask, words in (
        (lambda: est.correlation("smoker", "smoker"), "two different features; found 'smoker' twice"),
        (lambda: est.correlation("smoker", "age"), "'age' is a choice: say which answer, such as ('age', 'young')"),
        (lambda: est.correlation("smoker", ("age", "ancient")), "found 'ancient'"),
        (lambda: est.correlation("smoker", "income"), "no feature 'income' here"),
        *((lambda what=what: est.odds_ratio("smoker", what), "as (name, answer)") for what in ODD),
        *(
            (lambda what=what: est.difference("smoker", between=what), "two of its answers")
            for what in ("age", *ODD[:-1])
        ),
        (lambda: est.difference("smoker", between=(["age"], "old", "young")), "as (name, answer)"),
        (
            lambda: est.difference("smoker", between=("age", "old", "old")),
            "two different groups of answers; 'old' is in both",
        ),
        (lambda: est.difference("smoker", between=("age", np.ones(2), "old")), "two different answers"),
        (lambda: est.project(["smoker"], ["age"]), "project takes one or more of"),
        (lambda: est.difference(("age", "old"), between=("age", "old", "young")), "two different features"),
        (lambda: est.conditional("smoker", given="income"), "conditional takes different features of this estimate"),
        (lambda: est.conditional("smoker", given="smoker"), "conditional takes different features of this estimate"),
        *(
            (lambda what=what: est.conditional("smoker", given=what), "conditional takes")
            for what in ODD
            if not isinstance(what, dict)  # these are answers that are given
        ),
        *((lambda what=what: est.independence("smoker", what), "independence takes different") for what in ODD),
        *((lambda what=what: est.association(what, "smoker"), "association takes different") for what in ODD),
        (lambda: est.given({"age": {"old": 0.2}}).independence("smoker", "age"), "before given"),
    ):
        with pytest.raises(dn.EstimateError) as told:
            ask()
        assert words in str(told.value)


CORNER = [
    Setting("flags", 2, 1.0, 10_000, "respondents"),
    Setting("flags, q = 1/2", 2, 2.0, 10_000, "population"),
    Setting("GRR", 2, 4.0, 10_000, "population"),
    Setting("unary", 2, 2.0, 10_000, "respondents"),
    Setting("subsets", 2, 2.0, 10_000, "population"),
    Setting("mixed", 2, 1.0, 100_000, "population", "rare"),
]
SLACK = 4 * sqrt(0.05 * 0.95 / BATCH)


@pytest.mark.parametrize("setting", CORNER, ids=str)
def test_intervals_of_joint_answers_hold_the_truth(setting: Setting) -> None:
    rng = np.random.default_rng(1)
    found = [one for one in measure(setting, BATCH, rng, respondents(setting, 1, rng)) if one.claimed > 0.9]
    assert len(found) >= 3
    for one in found:
        most = 0.97 if one.question in ("Cramer's V", "mutual information") else 0.95  # weak ones hold more
        assert 0.95 - SLACK <= one.covered <= most + SLACK, one


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
    wrong = Group(setting.n, axes, np.moveaxis(truth, 0, -1)).dense(Subject.RESPONDENTS)
    statistic = wald(along(many.estimates, rows) / setting.n, over @ wrong @ over.T / setting.n**2).statistic
    assert (statistic > most).mean() > 0.3
