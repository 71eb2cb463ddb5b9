"""What estimates of blocks and arms refuse, and arms that say nothing of a table."""

import numpy as np
import pytest

import deniable as dn
from tests.support.situations import values

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", values(3)), dn.Flag("c"), dn.Choice("town", ["here", "there"])])
ARMS = dn.Plan(SCHEMA, {"town": dn.Public()}, epsilon=2.0, arms=[["a", "b"], ["b", "c"], ["c", "a"]])
BLOCKS = dn.Plan(SCHEMA, epsilon=4.0, together=[["a", "b"]])
TRUTH = dn.simulate.truth(SCHEMA, {"a": 0.3, "b": [0.5, 0.3, 0.2], "c": 0.4, "town": [0.4, 0.6]})


def counts_of(plan: dn.Plan, n: int = 3_000, seed: int = 1) -> dn.Counts:
    return dn.simulate.counts(TRUTH, plan, np.random.default_rng(seed), n=n)


REFUSED = {
    "a feature twice": (["a", "a"], r"one or more different features, by their names; found \['a', 'a'\]"),
    "no feature": ([], r"one or more different features, by their names; found"),
    "a number": ([5], r"one or more different features, by their names; found \[5\]|no feature 5"),
    "an unknown feature": (["a", "q"], "no feature 'q'; there are 'a', 'b', 'c', 'town'"),
}


@pytest.mark.parametrize("waves", [False, True], ids=["alone", "waves"])
@pytest.mark.parametrize("plan", [ARMS, BLOCKS], ids=["arms", "blocks"])
@pytest.mark.parametrize(("names", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_names_that_are_no_table_are_refused(plan: dn.Plan, names: list, message: str, waves: bool) -> None:
    counts = [counts_of(plan), counts_of(dn.Plan(SCHEMA, epsilon=3.0))] if waves else counts_of(plan)
    with pytest.raises(dn.DeniableError, match=message):
        dn.estimate(counts, names)


def test_a_table_that_no_arm_holds_says_which_arms_hold_what_part() -> None:
    message = (
        "no arm asks a x b x c of the same people: a x b is asked in 'a x b'; b x c is .*; a x c is asked in 'c x a'"
    )
    message = message.replace("'c x a'", "'a x c'")
    for asked in (lambda: dn.estimate(counts_of(ARMS), ["a", "b", "c"]), lambda: dn.count(_reports(), ["a", "b", "c"])):
        with pytest.raises(dn.CountError, match=message):
            asked()


def _reports() -> dn.Reports:
    return dn.simulate.reports(TRUTH, ARMS, 100, np.random.default_rng(1))


def test_a_table_that_was_not_counted_is_refused() -> None:
    counts = dn.count(_reports(), ["a", "b"])
    assert dn.estimate(counts, ["b"]).names == ("b",)
    assert dn.estimate(counts, ["b", "c"]).names == ("b", "c")  # blocks are counted whole
    with pytest.raises(dn.CountError, match="b x town was not counted; count it from the reports"):
        dn.estimate(counts, ["b", "town"])


def test_there_is_no_plain_estimate_over_arms() -> None:
    with pytest.raises(dn.EstimateError, match='there is no method="unbiased": "centred" is unbiased'):
        dn.estimate(counts_of(ARMS), ["a"], method="unbiased")


def test_no_reports_at_all() -> None:
    with pytest.raises(dn.EstimateError, match="no reports to estimate from"):
        dn.estimate(counts_of(ARMS, 0), ["a", "b"])
    with pytest.raises(dn.EstimateError, match="no reports to estimate from"):
        dn.maximum_likelihood(dn.simulate.reports(TRUTH, ARMS, 0, np.random.default_rng(1)), ["a", "b"])


def test_arms_of_whom_nobody_answered_what_was_counted_say_nothing() -> None:
    """Some are in the arm, but none were asked: what the other arms say is left."""
    counts = counts_of(ARMS)
    first, *rest = counts.arms
    empty = dn.Counts(first.plan, {names: np.zeros_like(table) for names, table in first.tables.items()}, n=first.n)
    without = dn.Counts(ARMS, arms=[empty, *rest])
    est = dn.estimate(without, ["a", "c"])
    expected = dn.estimate(dn.Counts(ARMS, arms=[dn.Counts(first.plan, n=first.n), *rest]), ["a", "c"])
    np.testing.assert_array_equal(est.mean, expected.mean)
    assert np.isfinite(est.covariance()).all()
    with pytest.raises(dn.EstimateError, match="nobody was asked a x b: none of 3,000 respondents"):
        dn.estimate(without, ["a", "b"])


def test_too_many_cells_over_arms_are_refused_before_anything_is_computed() -> None:
    wide = [dn.Choice(name, values(64)) for name in "ab"]
    schema = dn.Schema([*wide, dn.Choice("c", values(2))])
    plan = dn.Plan(schema, epsilon=4.0, arms=[[["a"], ["b"], ["c"]], [["a"], ["b"]]])
    records = {"a": ["v0"] * 20, "b": ["v1"] * 20, "c": ["v1"] * 20}
    counts = dn.count(dn.randomize(records, plan), ["a", "b", "c"])
    with pytest.raises(dn.EstimateError, match="may have 5,000 cells; this one has 8,192. Ask for fewer features"):
        dn.estimate(counts, ["a", "b", "c"])


def test_arms_that_contradict_each_other_are_warned_about() -> None:
    """All smokers were put into one arm: their sizes are right, and no answer is."""
    schema = dn.Schema([dn.Flag("smoker"), dn.Flag("other")])
    plan = dn.Plan(schema, epsilon=3.0, arms=[["smoker"], ["smoker", "other"]], assigned=True)
    rng = np.random.default_rng(5)
    smoker = np.arange(4000) % 2 == 0
    answers = {"smoker": smoker, "other": rng.random(4000) < 0.5}
    arms = np.where(smoker, plan.arm_names[0], plan.arm_names[1])
    apart = dn.count(dn.randomize(answers | {"arm": arms}, plan, rng=rng, arm="arm"))
    with pytest.warns(dn.HomogeneityWarning, match="the arms hardly agree on smoker: p = "):
        dn.estimate(apart, ["smoker"])
    mixed = dn.count(dn.randomize(answers | {"arm": rng.permutation(arms)}, plan, rng=rng, arm="arm"))
    dn.estimate(mixed, ["smoker"])  # warnings are errors


def test_a_wave_that_asks_nothing_of_the_table_is_refused() -> None:
    other = dn.Plan(dn.Schema([dn.Flag("z")]), epsilon=1.0)
    waves = [counts_of(ARMS), dn.Counts(other, {"z": [100, 40]})]
    with pytest.raises(dn.EstimateError, match="survey 2 of 2 asks none of a, b; leave it out"):
        dn.estimate(waves, ["a", "b"])
