"""The bounds behind tests of fit: against exact tails and enumerations, so that none is too low or needlessly high."""

from math import comb, exp, log, log2

import numpy as np
import pytest

import deniable as dn
from deniable.counts import fit, repeated_reports
from deniable.counts.fit import _bernstein, _cells, _marked, _single, _values, _won, fits
from deniable.counts.repeated_reports import random_bits, repeated_runs, run_length
from tests.support.misfits import SCHEMA, plan
from tests.support.situations import values

ONE = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(p=0.25, q=0.75)})
PAIR = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), dict.fromkeys("ab", dn.RandomizedResponse(p=0.25, q=0.75)))


def test_too_rare_and_too_frequent_answers_have_chernoffs_bound() -> None:
    """100 reports, p = 1/4 and q = 3/4: 10 marks are as unlikely as (p/c)^10 ((1 - p)/(1 - c))^90 says, c = 1/10."""
    chernoff = (0.25 / 0.1) ** 10 * (0.75 / 0.9) ** 90
    exact = sum(comb(100, k) * 0.25**k * 0.75 ** (100 - k) for k in range(11))
    for marked, share in ((10, "-30.0%"), (90, "130.0%")):
        (found,) = _single(ONE["a"], np.array([100, marked]), "a")
        assert exp(found.log_p) == pytest.approx(2 * chernoff)  # two tests: of too few and of too many
        assert exact < chernoff
        assert found.what == f"a: value 1 would have a share of {share}"
    for marked in (25, 40, 75):
        assert _single(ONE["a"], np.array([100, marked]), "a")[0].log_p == pytest.approx(log(2))
    none = _single(ONE["a"], np.array([100, 0]), "a")[0]
    assert exp(none.log_p) == pytest.approx(2 * 0.75**100)


def test_the_worst_of_several_values_is_named() -> None:
    grr = dn.Plan(dn.Schema([dn.Choice("a", values(3))]), {"a": dn.GRR(epsilon=1.0)})["a"]
    (found,) = _single(grr, np.array([1000, 600, 395, 5]), "a")
    assert found.what.startswith("a: value 3 would have a share of -")
    c = 0.005
    chernoff = 1000 * (c * log(grr.p / c) + (1 - c) * log((1 - grr.p) / (1 - c)))
    assert found.log_p == pytest.approx(chernoff + log(6))


def test_bernsteins_bound_is_above_the_exact_tail() -> None:
    """Sums of 400 coins of 0.1: P(sum - 40 >= 20) against exp(-20^2 / (2 (36 + 0.9 * 20 / 3)))."""
    assert _bernstein(20.0, 36.0, 0.9) == pytest.approx(-400 / 84)
    exact = sum(comb(400, k) * 0.1**k * 0.9 ** (400 - k) for k in range(60, 401))
    assert exact < exp(_bernstein(20.0, 36.0, 0.9)) < 100 * exact
    assert _bernstein(0.0, 36.0, 0.9) == _bernstein(-3.0, 36.0, 0.9) == 0.0
    assert _bernstein(0.0, 0.0, 0.0) == 0.0


def test_marked_values_are_judged_on_both_sides() -> None:
    """Unary encoding of 3 values with p = 1/4 and q = 1/2: one mark on average, variance 1/4 + 2 * 3/16, at most 2
    more. Of 100 reports with 160 or 40 marks: 60 off."""
    protocol = dn.Plan(dn.Schema([dn.Choice("a", values(3))]), {"a": dn.UnaryEncoding(p=0.25, q=0.5)})["a"]
    bound = -(60**2) / (2 * (100 * 0.625 + 2 * 60 / 3))
    for marks in ([100, 60, 50, 50], [100, 20, 10, 10]):
        (found,) = _marked(protocol, np.array(marks), "a")
        assert found.log_p == pytest.approx(log(2) + bound)
        assert f"a: {sum(marks[1:]) / 100:.4g} marked values per report, where the plan gives 1" in found.what
    assert _marked(protocol, np.array([100, 30, 30, 40]), "a")[0].log_p == pytest.approx(log(2))
    assert _marked(ONE["a"], np.array([100, 90]), "a") == []  # one mark or none, as is true
    always = dn.Plan(dn.Schema([dn.Choice("a", values(3))]), {"a": dn.GRR(epsilon=1.0)})["a"]
    assert _marked(always, np.array([100, 30, 30, 40]), "a") == []


@pytest.mark.parametrize("kind", ["GRR", "unary", "hashing"])
def test_values_of_one_reports_estimate_are_those_of_all_patterns(kind: str) -> None:
    """Enumerated: without bias for every answer; of a flag False is what True is not."""
    protocol = plan(1.0, kind)["age"]
    (value,) = _values(protocol)
    own = value[protocol.patterns.astype(int)]
    np.testing.assert_allclose(protocol.pattern_probabilities @ own, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(_values(ONE["a"]), [[1.5, -0.5], [-0.5, 1.5]])  # p = 1/4 and d = 1/2


@pytest.mark.parametrize("kind", ["GRR", "unary", "hashing"])
@pytest.mark.parametrize("stake", [0.01, 0.3, 0.9])
def test_a_bet_against_a_cell_wins_nothing_on_average_whatever_is_true(kind: str, stake: float) -> None:
    """Over all pairs of patterns, for every truth: 1 without the cell's answers, less with both of them."""
    one, other = plan(0.5, kind)["age"], plan(4.0, kind)["age"]
    left, right = (_values(each)[0][each.patterns[:, 0].astype(int)] for each in (one, other))
    taken = 1 - stake * np.multiply.outer(left, right) / np.multiply.outer(left, right).max()
    assert taken.min() > 0
    mean = one.pattern_probabilities @ taken @ other.pattern_probabilities.T
    expected = np.ones((4, 4))
    expected[0, 0] -= stake / np.multiply.outer(left, right).max()
    np.testing.assert_allclose(mean, expected)


def test_rare_large_estimates_raise_no_false_alarm() -> None:
    """Everybody has the first of two and of 40 answers: a cell's estimate is hardly below zero, and rarely far above.

    While none is far above, their squares look small. Bernstein's inequality with the sum of these as the variance is
    no bound then: it raises an alarm in more than 1 of 100 surveys, where 1 of 1 000 is stated.
    """
    few, many = (dn.Choice(name, values(m)) for name, m in (("few", 2), ("many", 40)))
    asked = dn.Plan(dn.Schema([few, many]), dict.fromkeys(("few", "many"), dn.GRR(epsilon=6.0)))
    rng, n, alarms, wrong = np.random.default_rng(5), 3_500, 0, 0
    shares = [np.array([unit.q, *[unit.p] * (unit.columns - 1)]) for unit in (asked["few"], asked["many"])]
    (low, high), (least, most) = _values(asked["few"])[0], _values(asked["many"])[0]
    for _ in range(1_000):
        inner = rng.multinomial(n, np.outer(*shares).reshape(-1)).reshape(2, 40)
        array = np.vstack([inner.sum(axis=0), inner])
        array = np.hstack([array.sum(axis=1)[:, None], array])
        (found,) = _cells(dn.Counts(asked, {("few", "many"): array}), ("few", "many"), "")
        alarms += found.log_p < log(fit.FALSE_ALARM)
        one, other, both = array[1:, :1], array[:1, 1:], inner
        shown = [(low * least, n - one - other + both), (low * most, other - both), (high * least, one - both)]
        sums, squares = (sum(value**k * times for value, times in [*shown, (high * most, both)]) for k in (1, 2))
        bounds = sums**2 / (2 * (squares + high * most * -sums / 3))
        wrong += float(np.where(sums < 0, bounds, 0).max()) > log(80 / fit.FALSE_ALARM)
    assert alarms <= 1
    assert wrong > 5


def test_cells_of_pairs_by_hand() -> None:
    """With p = 1/4, q = 3/4 one flag's estimate is -1/2 or 3/2, that of a pair's cell a product of two of these.

    100 reports show a, 100 others b, and none both or neither: both true or both false is -3/4 for each, a sum of -150.
    The most is 9/4, so that a stake s wins (1 + s / 3)^200; the stakes are 0.9 and its halves to about 1 / sqrt(200).
    """
    counts = dn.Counts(PAIR, {("a", "b"): [[200, 100], [100, 0]]})
    (found,) = _cells(counts, ("a", "b"), "a x b")
    won = [(1 + stake / 3) ** 200 for stake in (0.9, 0.45, 0.225, 0.1125, 0.05625)]
    assert found.log_p == pytest.approx(log(4) - log(sum(won) / 5))
    assert found.what == "a x b: cell (0, 0) would have a share of -75.0%"
    shown = np.array([[50.0, 50.0], [50.0, 50.0]])[..., None, None]
    level = [
        (1 - s * 0.25 / 2.25) ** 50 * (1 + s / 3) ** 100 * (1 - s) ** 50 for s in (0.9, 0.45, 0.225, 0.1125, 0.05625)
    ]
    own = np.multiply.outer([-0.5, 1.5], [-0.5, 1.5])[..., None, None]
    assert _won(own, shown, 200)[0, 0] == pytest.approx(log(sum(level) / 5))
    fine = dn.Counts(PAIR, {("a", "b"): [[200, 100], [100, 50]]})
    assert _cells(fine, ("a", "b"), "")[0].log_p > log(4)
    public = dn.Plan(PAIR.schema, dict.fromkeys("ab", dn.Public()))
    assert _cells(dn.Counts(public, {("a", "b"): [[200, 100], [100, 0]]}), ("a", "b"), "") == []
    assert _cells(dn.Counts(PAIR, {("a", "b"): np.zeros((2, 2), int)}), ("a", "b"), "") == []


def test_tests_of_one_kind_share_a_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    three = dn.Plan(
        dn.Schema([dn.Flag(name) for name in "abc"]), dict.fromkeys("abc", dn.RandomizedResponse(p=0.25, q=0.75))
    )
    moments = np.array([[100, 10, 50, 50], [10, 10, 5, 5], [50, 5, 50, 25], [50, 5, 25, 50]])
    counts = dn.Counts(three, moments=moments)
    single, pairs = fits(counts)
    assert (single.kind, single.tests, pairs.kind, pairs.tests) == ("counts of one answer", 3, "cells of pairs", 3)
    (alone,) = _single(three["a"], np.array([100, 10]), "a")
    assert single.p_value == pytest.approx(3 * exp(alone.log_p))
    assert single.worst.startswith("a: ")
    assert pairs.p_value <= 1.0
    monkeypatch.setattr(fit, "MOST_PAIRS", 2)
    assert [one.tests for one in fits(counts)] == [3, 2]
    assert [one.tests for one in fits(counts, ["a", "c"])] == [2, 1]
    assert [one.tests for one in fits(counts, ["b"])] == [1]


def test_a_p_value_at_the_rate_fits() -> None:
    assert fit.Fit("x", 1, fit.FALSE_ALARM, "").fits
    assert not fit.Fit("x", 1, np.nextafter(fit.FALSE_ALARM, 0), "").fits


# -- repeated reports --------------------------------------------------------------------------------------------------

PROTOCOLS = {
    "RR": dn.RandomizedResponse(p=0.1, q=0.7),
    "RR, mostly yes": dn.RandomizedResponse(p=0.5, q=0.8),
    "GRR": dn.GRR(epsilon=1.0),
    "UE": dn.UnaryEncoding(p=0.2, q=0.6),
    "UE, marked": dn.UnaryEncoding(p=0.6, q=0.9),
    "SS": dn.SubsetSelection(epsilon=1.0, size=2),
}


@pytest.mark.parametrize("title", PROTOCOLS)
def test_random_bits_are_those_of_the_likeliest_pattern(title: str) -> None:
    feature = dn.Flag("a") if title.startswith("RR") else dn.Choice("a", values(5))
    one = dn.Plan(dn.Schema([feature]), {"a": PROTOCOLS[title]})
    assert random_bits(one) == pytest.approx(-log2(one["a"].pattern_probabilities.max()))


def test_random_bits_of_several_questions_add_up() -> None:
    mixed = dn.Plan(
        dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", values(5)), dn.Choice("d", values(30))]),
        {
            "a": dn.RandomizedResponse(p=0.25, q=0.5), "b": dn.Public(), "c": dn.LocalHashing(epsilon=1.0),
            "d": dn.SubsetSelection(epsilon=1.0, size=3),
        },
    )  # fmt: skip
    likeliest = -log2(0.75)
    many = -log2(mixed["d"].q)  # of very many sets, at least as many bits as the coin has
    assert random_bits(mixed) == pytest.approx(likeliest + 0 + 120 + many)


@pytest.mark.parametrize(("reports", "length"), [(1024, 73), (2048, 78), (1, 29), (2, 29)])
def test_runs_are_as_long_as_their_bits_need(reports: int, length: int) -> None:
    """Each report has -log2(3/4) = 0.41504 bits. Of 1 024 are needed 20 + log2(1 000) = 29.966: 72.2 reports, so 73.

    Of 2 048 they are 31.966 bits, 77.02 reports; of 1, as of 2, 11.966 bits, 28.8 reports.
    """
    one = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(p=0.5, q=0.75)})
    assert run_length(one, reports) == length


def test_runs_of_hardly_any_randomness_are_not_looked_for() -> None:
    """Up to 4 096 reports: 30 bits take 0.0073 bits of each."""
    for q, found in ((0.994, True), (0.99999, False)):
        one = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(p=1 - q, q=q)})
        assert (run_length(one, 1024) is not None) is found


def test_repeated_runs_by_hand() -> None:
    hashes = np.array([1, 2, 3, 1, 2, 9, 1, 2], np.uint64)
    assert [repeated_reports._repeats(hashes, length) for length in (1, 2, 3)] == [4, 2, 0]
    assert repeated_reports._repeats(np.array([5, 5], np.uint64), 2) == 0


def test_equal_reports_and_no_others_have_equal_hashes() -> None:
    """Reports of 11 bits, two bytes: as many different hashes as reports, and the same for the same."""
    eleven = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(11)]), epsilon=11.0)
    reports = dn.randomize({f"f{i}": [True] * 3000 for i in range(11)}, eleven, rng=np.random.default_rng(1))
    hashes = repeated_reports._hashes(reports)
    rows = list(zip(*(column.to_pylist() for column in reports.table.columns), strict=True))
    assert len(dict(zip(rows, hashes.tolist(), strict=True))) == len({*hashes.tolist()}) == len({*rows})
    assert len({*zip(rows, hashes.tolist(), strict=True)}) == len({*rows})


def test_the_arm_with_repeats_is_told() -> None:
    import pyarrow as pa

    arms = dn.Plan(SCHEMA, epsilon=1.0, arms=[["smoker"], ["age", "city"]])
    rng = np.random.default_rng(4)
    answers = {"smoker": [True] * 400, "age": ["a"] * 400, "city": ["A"] * 400}
    reports = dn.randomize(answers, arms, rng=rng)
    assert repeated_runs(reports) == {}
    second = reports.arms[1]
    twice = dn.Reports(second.plan, pa.concat_tables([second.table, second.table]))
    length = run_length(second.plan, len(twice))
    assert length is not None
    assert repeated_runs(twice) == {0: len(second) - length + 1}


def test_words_that_differ_in_one_bit_have_different_hashes() -> None:
    """Each step of mixing can be undone, also in the highest bits, and the order of words matters."""
    words = np.array([[0]] + [[1 << bit] for bit in range(64)], np.uint64)
    assert len(np.unique(repeated_reports._mixed(words))) == 65
    pairs = np.array([[1, 2], [2, 1], [0, 3], [3, 0], [0, 0]], np.uint64)
    assert len(np.unique(repeated_reports._mixed(pairs))) == 5


def test_the_longest_run_that_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    one = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.RandomizedResponse(p=0.5, q=0.75)})
    assert repeated_reports.LONGEST == 4096
    monkeypatch.setattr(repeated_reports, "LONGEST", 73)
    assert run_length(one, 1024) == 73
    monkeypatch.setattr(repeated_reports, "LONGEST", 72)
    assert run_length(one, 1024) is None
    assert run_length(dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.Public()}), 1024) is None


@pytest.mark.parametrize(("m", "exact"), [(12, True), (13, False)])
def test_sets_of_few_values_have_all_their_random_bits(m: int, exact: bool) -> None:
    """Of 12 values the likeliest set of two is one of 11 with the answer; of more, the coin alone is looked at."""
    one = dn.Plan(dn.Schema([dn.Choice("a", values(m))]), {"a": dn.SubsetSelection(epsilon=1.0, size=2)})
    assert random_bits(one) == pytest.approx(-log2(one["a"].q / (11 if exact else 1)))


def test_three_hundred_pairs_are_tested_at_most() -> None:
    """26 flags have 325 pairs."""
    names = [f"f{k}" for k in range(26)]
    many = dn.Plan(dn.Schema([dn.Flag(name) for name in names]), dict.fromkeys(names, ONE["a"]))
    moments = np.full((27, 27), 25)
    moments[0] = moments[:, 0] = 50
    np.fill_diagonal(moments, 50)
    moments[0, 0] = 100
    assert [one.tests for one in fits(dn.Counts(many, moments=moments))] == [26, 300]


def test_p_values_are_said_down_to_hardly_any() -> None:
    assert str(fit.Fit("k", 1, 0.0, "w")) == "k (1 test): does not fit: w, p < 1e-99"
    assert str(fit.Fit("k", 1234, 2.5e-7, "w")) == "k (1,234 tests): does not fit: w, p < 2e-07"
