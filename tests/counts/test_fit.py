"""Tests of fit: hardly a false alarm, also where they are closest to one, and what they catch."""

import numpy as np
import pytest

import deniable as dn
from deniable.counts.fit import FALSE_ALARM, Fit, _marked_moments, fits
from deniable.counts.repeated_reports import repeated_runs, run_length
from tests.support.misfits import KINDS, SCHEMA, TRUTHS, alarms, plan, read_as, surveys


@pytest.mark.parametrize("kind", ["GRR", "unary"])
@pytest.mark.parametrize("n", [200, 10_000])
def test_surveys_that_fit_raise_no_alarm_at_the_edge(kind: str, n: int) -> None:
    """Of 100 at the rate of 1 in 1 000 for three kinds of tests, two or more would be a chance of 1 in 28."""
    assert alarms(surveys("edge", plan(1.0, kind), 100, n, seed=5))["any"] <= 1


@pytest.mark.parametrize(("kind", "truth", "made", "read", "by"), [
    ("GRR", "edge", 3.0, 1.0, "counts of one answer"),
    ("GRR", "mixed", 3.0, 1.0, "cells of pairs"),
    ("unary", "mixed", 3.0, 1.0, "marked values per report"),
    ("unary", "mixed", 1.0, 3.0, "marked values per report"),
    ("hashing", "mixed", 3.0, 1.0, "marked values per report"),
    ("hashing", "mixed", 1.0, 3.0, "marked values per report"),
])  # fmt: skip
def test_reports_read_with_another_epsilon_are_caught(kind: str, truth: str, made: float, read: float, by: str) -> None:
    other = plan(read, kind)
    wrong = [read_as(counts, other) for counts in surveys(truth, plan(made, kind), 5, 1_000, seed=6)]
    assert alarms(iter(wrong))[by] == 5


def test_estimates_warn_and_the_check_prints_it() -> None:
    (counts,) = surveys("mixed", plan(3.0, "GRR"), 1, 5_000, seed=7)
    with pytest.warns(dn.FitWarning, match="hardly come from reports of their plan: cells of pairs"):
        dn.estimate(read_as(counts, plan(1.0, "GRR")), ["smoker", "age"])
    dn.estimate(counts, ["smoker", "age"])  # warnings are errors here
    found = dn.check(read_as(counts, plan(1.0, "GRR")))
    assert not found.fits
    assert "cells of pairs (3 tests): does not fit: " in repr(found)
    assert dn.check(counts).fits


def test_bits_per_report_are_those_of_all_patterns() -> None:
    """Against the enumeration of every pattern."""
    protocol = plan(1.0, "unary")["age"]
    bits, law = protocol.patterns, protocol.pattern_probabilities
    for code in range(4):
        mean = law[code] @ bits.sum(axis=1)
        variance = law[code] @ (bits.sum(axis=1) - mean) ** 2
        assert _marked_moments(protocol) == pytest.approx((mean, variance))


def test_influence_is_what_crafted_reports_do() -> None:
    """One report in a hundred shows the answer instead of not showing it."""
    one = dn.Plan(SCHEMA.__class__([dn.Flag("smoker")]), epsilon=1.0)
    shares = [
        dn.estimate(dn.Counts(one, {"smoker": [10_000, marked]}), "smoker").cell(smoker=True).value
        for marked in (5_000, 5_100)
    ]
    found = dn.check(dn.Counts(one, {"smoker": [10_000, 5_000]})).influence
    assert found == {"smoker": pytest.approx(shares[1] - shares[0])}


# -- reports -----------------------------------------------------------------------------------------------------------


def reports_of(kind: str, n: int, seed: int) -> dn.Reports:
    rng = np.random.default_rng(seed)
    return dn.simulate.reports(dn.simulate.truth(SCHEMA, TRUTHS["edge"]), plan(1.0, kind), n, rng)


@pytest.mark.parametrize("kind", KINDS)
def test_reports_that_stand_twice_are_found(kind: str) -> None:
    import pyarrow as pa

    reports = reports_of(kind, 600, seed=8)
    assert repeated_runs(reports) == {}
    for again in (reports.table, reports.table.slice(100, 200)):  # everything, and a piece of it
        twice = dn.Reports(reports.plan, pa.concat_tables([reports.table, again]))
        assert repeated_runs(twice)[0] >= 100
        assert not dn.check(twice).fits


def test_one_equal_seed_is_enough() -> None:
    import pyarrow as pa

    reports = reports_of("hashing", 300, seed=9)
    assert run_length(reports.plan, 300) == 1
    twice = dn.Reports(reports.plan, pa.concat_tables([reports.table, reports.table.slice(17, 1)]))
    assert repeated_runs(twice) == {0: 1}


def test_without_randomness_nothing_is_said_of_repeats() -> None:
    public = dn.Plan(dn.Schema([dn.Flag("wave")]), {"wave": dn.Public()})
    assert run_length(public, 1_000) is None
    assert dn.check(dn.randomize({"wave": [True] * 50}, public)).tests == ()


def test_small_runs_stand_twice_by_chance_and_those_looked_for_do_not() -> None:
    """The control: a third of the length is repeated among as many reports, the length itself is not."""
    from deniable.counts import repeated_reports

    one = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)
    length = run_length(one, 2_000)
    assert length is not None
    hashes = repeated_reports._hashes(dn.randomize({"a": [True] * 2_000}, one, rng=np.random.default_rng(3)))
    assert repeated_reports._repeats(hashes, length // 3) > 0
    assert repeated_reports._repeats(hashes, length) == 0


def test_a_fit_says_what_was_found() -> None:
    assert str(Fit("cells of pairs", 1, 0.2, "a: b")) == "cells of pairs (1 test): fits"
    assert (
        str(Fit("cells of pairs", 2, FALSE_ALARM / 2, "a: b"))
        == "cells of pairs (2 tests): does not fit: a: b, p < 0.0005"
    )
    with pytest.raises(dn.CountError, match="check takes Counts, Reports, or a path"):
        dn.check(3)
    assert fits(dn.Counts(plan(1.0, "GRR"), n=5)) == []


def test_sizes_of_arms_are_checked_where_there_are_enough_reports() -> None:
    flags = dn.Schema([dn.Flag("a"), dn.Flag("b")])
    arms = dn.Plan(flags, epsilon=4.0, arms=[["a"], ["b"]])
    sized = lambda *sizes: dn.Counts(  # noqa: E731
        arms, arms=[dn.Counts(arm, {one: [n, n // 2]}) for arm, one, n in zip(arms.arms, "ab", sizes, strict=True)]
    )
    few = dn.check(sized(3, 3))
    assert few.fits
    assert [test.kind for test in few.tests] == ["counts of one answer"]
    assert dn.check(sized(500, 460)).fits
    odd = dn.check(sized(700, 460))
    assert [test.kind for test in odd.tests if not test.fits] == ["sizes of arms"]


def test_of_no_reports_there_is_nothing_to_check() -> None:
    """No test has looked at anything, so that nothing is said to fit."""
    none = dn.check(dn.Counts(dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0), {("a",): [0, 0]}))
    assert repr(none) == "0 reports: there is nothing to check"
