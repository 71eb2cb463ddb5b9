"""Questions that can be skipped: how answers go together among those who gave them, whoever skips what together."""

import numpy as np
import pytest

import deniable as dn
from deniable.analyses import pair_findings
from deniable.estimates.answer_groups.among import Among
from deniable.estimates.answer_groups.among_table import among_table
from deniable.page.page import page
from tests.support.surveys import survey

NO = "no answer"
NAMES = ("smoker", "drinks", "sport")
ASKED = [
    dn.Flag("smoker", missing=NO),
    dn.Flag("drinks", missing=NO),
    dn.Choice("sport", ["never", NO, "weekly", "daily"], missing=NO),
]
SCHEMA = dn.Schema([*ASKED, dn.Flag("insured")])
ANSWERED = {"smoker": [False, True], "drinks": [False, True], "sport": ["never", "weekly", "daily"]}
PLANS = {
    "apart": dn.Plan(SCHEMA, epsilon=8.0),
    "blocks": dn.Plan(SCHEMA, epsilon=5.0, together=[["smoker", "drinks"], ["sport", "insured"]]),
    "arms": dn.design(SCHEMA, epsilon=4.0, n=9_000),
}


def skipping(n: int = 9_000, seed: int = 1) -> dict[str, np.ndarray]:
    """Answers of which none goes together with another, by people who skip all three questions or none."""
    rng = np.random.default_rng(seed)
    skips, kinds = rng.random(n) < 0.2, np.array(["never", "weekly", "daily"])
    given = {"smoker": rng.random(n) < 0.3, "drinks": rng.random(n) < 0.6, "sport": rng.choice(kinds, n)}
    answers = {name: np.where(skips, None, own.astype(object)) for name, own in given.items()}
    return {**answers, "insured": rng.random(n) < 0.8}


def among(est: dn.Estimate) -> Among:
    for name in est.names:
        est = est.among(name, ANSWERED.get(name, [False, True]))
    return est


@pytest.mark.parametrize("plan", PLANS)
def test_skipping_together_is_no_association(plan: str) -> None:
    """The control counts a skipped question as an answer, which finds an association that nobody asked for."""
    counts = dn.count(dn.randomize(skipping(), PLANS[plan], rng=3), order=2)
    for row in dn.associations(counts).to_pylist():
        assert row["p_value"] > 0.001
    for pair in (("smoker", "drinks"), ("smoker", "sport"), ("drinks", "sport")):
        est = dn.estimate(counts, pair)
        assert est.independence(*pair).p_value < 1e-9
        assert among(est).independence(*pair).p_value > 0.001
        assert among(est).association(*pair).cramers_v.confidence_interval()[0] == 0
    phi = among(dn.estimate(counts, ["smoker", "drinks"])).correlation("smoker", "drinks")
    assert np.prod(phi.confidence_interval()) < 0


@pytest.mark.parametrize("plan", PLANS)
def test_the_list_of_pairs_says_what_each_pair_among_those_who_answered_says(plan: str) -> None:
    table = dn.associations(counts := dn.count(dn.randomize(skipping(), PLANS[plan], rng=3), order=2))
    assert "Among those who answered both questions." in table.about.caption
    for row in table.to_pylist():
        pair = row["first"], row["second"]
        whom = among(dn.estimate(counts, pair))
        flags = "sport" not in pair
        assert row["measure"] == ("correlation" if flags else "Cramer's V")
        one = whom.correlation(*pair) if flags else whom.association(*pair).cramers_v
        assert row["effect"] == pytest.approx(one.value)
        assert (row["low"], row["high"]) == pytest.approx(one.confidence_interval(), nan_ok=True)
        assert row["p_value"] == pytest.approx(whom.independence(*pair).p_value)


def test_false_alarms_among_those_who_answered() -> None:
    """Of 30 questions that the same people skip; as answers, all pairs of them go together."""
    names = [f"q{k}" for k in range(30)]
    schema = dn.Schema([dn.Flag(name, missing=NO) for name in names])
    plan, rng, found = dn.Plan(schema, epsilon=90.0), np.random.default_rng(5), []
    for _ in range(3):
        skips = rng.random(2_000) < 0.2
        reports = dn.randomize({name: np.where(skips, None, rng.random(2_000) < 0.4) for name in names}, plan, rng=rng)
        found += dn.associations(counts := dn.count(reports, order=2)).to_pylist()
        assert dn.estimate(counts, names[:2]).independence(*names[:2]).p_value < 1e-9
    alarms = np.mean([row["p_value"] < 0.05 for row in found])
    assert len(found) == 3 * 435
    assert 0.03 < alarms < 0.07
    assert 0.93 < np.mean([row["low"] < 0 < row["high"] for row in found]) < 0.97


def test_intervals_hold_what_is_there_among_those_who_answered() -> None:
    """Twenty pairs of questions that go together with a correlation of 0.25 among those who answered."""
    pairs = [(f"a{k}", f"b{k}") for k in range(20)]
    schema = dn.Schema([dn.Flag(name, missing=NO) for pair in pairs for name in pair])
    plan, rng, held, counted = dn.Plan(schema, epsilon=120.0), np.random.default_rng(6), [], []
    for _ in range(8):
        answers = {}
        for a, b in pairs:
            skips, first = rng.random(1_500) < 0.25, rng.random(1_500) < 0.5
            second = np.where(rng.random(1_500) < 0.25, first, rng.random(1_500) < 0.5)
            answers |= {a: np.where(skips, None, first), b: np.where(skips, None, second)}
        rows = dn.associations(dn.count(dn.randomize(answers, plan, rng=rng), order=2)).to_pylist()
        asked = [row for row in rows if (row["first"], row["second"]) in pairs]
        held += [row["low"] < 0.25 < row["high"] for row in asked]
        counted += [row["effect"] for row in asked]
    assert len(held) == 160
    assert np.mean(counted) == pytest.approx(0.25, abs=0.02)
    assert 0.9 < np.mean(held) <= 0.99


@pytest.mark.parametrize("plan", ["apart", "blocks"])
def test_the_covariance_among_some_is_that_of_their_shares(plan: str) -> None:
    """Shares are ratios, whose standard errors the delta method gives, too; a third question may say who is left."""
    est = dn.estimate(dn.count(dn.randomize(skipping(), PLANS[plan], rng=3), NAMES), NAMES)
    for whom in (among(est.project("smoker", "sport")), among(est)):
        table = among_table(whom.est, whom.kept, ["smoker", "sport"], "this")
        (group,) = table.groups
        variances = np.diagonal(group.dense(est.subject)).reshape(group.truth.shape) / group.n**2
        for place, answer in enumerate(ANSWERED["sport"], start=1):
            cell = whom.cell(smoker=True, sport=answer)
            assert group.truth[1, place] / group.n == pytest.approx(cell.value)
            assert np.sqrt(variances[1, place]) == pytest.approx(cell.stderr)
            rows = [np.eye(2)[1], np.eye(4)[place]]
            assert group.covariance(rows, rows, est.subject) == pytest.approx(variances[1, place] * group.n**2)
        assert variances[0, 0] == pytest.approx(0, abs=1e-12)
        assert np.trace(group.at_independence()) > 0


def test_a_sum_of_surveys_is_tested_within_each() -> None:
    first, second = (
        dn.estimate(dn.randomize(skipping(seed=seed), PLANS["apart"], rng=seed), ["smoker", "drinks"])
        for seed in (1, 2)
    )
    whom = among(first + second)
    assert whom.independence("smoker", "drinks").strata == 2
    assert whom.independence("smoker", "drinks").p_value > 0.001
    assert abs(whom.correlation("smoker", "drinks").value) < 0.05
    assert whom.correlation("smoker", "drinks").n == 18_000


def test_a_missing_answer_is_merged_with_no_other() -> None:
    schema = dn.Schema([dn.Choice("age", ["young", "old", "older", "oldest"], missing=NO), dn.Flag("smoker")])
    rng = np.random.default_rng(2)
    ages = rng.choice(np.array(["young", "old", "older", "oldest", None]), 4_000, p=[0.44, 0.44, 0.03, 0.03, 0.06])
    reports = dn.randomize({"age": ages, "smoker": rng.random(4_000) < 0.3}, dn.Plan(schema, epsilon=5.0), rng=rng)
    est = dn.estimate(reports, ["age", "smoker"])
    (whole,) = est.association("age", "smoker").cramers_v.merged
    assert NO not in whole.answers
    (row,) = dn.associations(reports).to_pylist()
    assert row["merged"]
    assert NO not in row["merged"]


def test_answers_without_a_missing_one_are_as_they_were() -> None:
    counts = survey(5_000)[1]
    assert dn.associations(counts).about.among == ""
    est = dn.estimate(counts, ["smoker", "age"])
    ages = next(feature for feature in est.features if feature.name == "age").answers
    whom = est.among("age", list(ages))
    assert whom.association("smoker", "age").cramers_v.value == pytest.approx(
        est.association("smoker", "age").cramers_v.value
    )
    assert whom.independence("smoker", "age").p_value == pytest.approx(est.independence("smoker", "age").p_value)
    with pytest.raises(dn.EstimateError, match="all who are left answered"):
        est.among("age", [ages[0]]).association("smoker", "age")


def test_the_page_says_whom_its_pairs_are_among() -> None:
    text = page(dn.count(dn.randomize(skipping(), PLANS["apart"], rng=3), order=2))
    assert "of 6 pairs go together among those who answered both" in text
    assert "Each pair is among those who answered both questions" in text
    assert "Each pair is among those" not in page(survey(2_000)[1])


def test_conditional_shares_of_pairs_leave_out_who_skipped() -> None:
    answers = skipping()
    answers["drinks"] = answers["smoker"]
    counts = dn.count(dn.randomize(answers, PLANS["apart"], rng=3), order=2)
    pairs = pair_findings.tested_pairs(counts, 0.95)
    assert [pair.names for pair in pairs.sure] == [("smoker", "drinks")]
    (found,) = pair_findings.conditionals(counts, pairs.tested, 0.95)
    assert [share.among for share in found.shares] == ["no", "yes"]
    est = dn.estimate(counts, [found.given.name, found.what.name])
    share = among(est).conditional((found.what.name, True), given=(found.given.name, True))
    assert found.shares[1].value == pytest.approx(share.value)
