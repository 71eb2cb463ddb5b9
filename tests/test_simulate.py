"""Simulated surveys: rows one by one and sums of multinomials have the same law; a wrong q has another."""

import numpy as np
import pytest
from scipy import stats

import deniable as dn

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"]), dn.Choice("c", ["u", "v", "w"])])


def plan(q: float = 0.8) -> dn.Plan:
    return dn.Plan(SCHEMA, {
        "a": dn.RandomizedResponse(p=0.1, q=q), "b": dn.GRR(epsilon=1.0), "c": dn.UnaryEncoding(p=0.25, q=0.75),
    })  # fmt: skip


LATENT = [
    (0.6, {"a": 0.7, "b": [0.5, 0.3, 0.2], "c": [0.1, 0.1, 0.8]}),
    (0.4, {"a": 0.1, "b": [0.1, 0.1, 0.8], "c": [0.4, 0.4, 0.2]}),
]


def test_truths_are_independent_latent_or_given() -> None:
    one = dn.simulate.truth(SCHEMA, LATENT[0][1])
    assert one.shares.shape == (2, 3, 3)
    assert one.shares[1, 0, 2] == pytest.approx(0.7 * 0.5 * 0.8)
    both = dn.simulate.truth(SCHEMA, LATENT)
    other = dn.simulate.truth(SCHEMA, LATENT[1][1])
    np.testing.assert_allclose(both.shares, 0.6 * one.shares + 0.4 * other.shares)
    np.testing.assert_allclose(dn.simulate.truth(SCHEMA, 1000 * both.shares).shares, both.shares)
    assert both.people(500, np.random.default_rng(1)).sum() == 500


def all_counts(of: dn.simulate.Truth, by_rows: bool, q: float, runs: int, n: int, seed: int) -> np.ndarray:
    rng, own = np.random.default_rng(seed), plan(q)
    found = []
    for _ in range(runs):
        if by_rows:
            counts = dn.count(dn.simulate.reports(of, own, n, rng), list(SCHEMA.names))
        else:
            counts = dn.simulate.counts(of, own, rng, n=n)
        found.append(counts.array(*SCHEMA.names).reshape(-1))
    return np.array(found)


def smallest_p(one: np.ndarray, other: np.ndarray) -> float:
    """Over all entries, of their counts having the same law; times how many there are."""
    least, tests = 1.0, 0
    for left, right in zip(one.T, other.T, strict=True):
        inner = np.unique(np.quantile(np.concatenate([left, right]), np.linspace(0.1, 0.9, 9)))
        edges = np.concatenate([[-1], inner + 0.5, [np.inf]])
        table = np.array([np.histogram(side, edges)[0] for side in (left, right)])
        table = table[:, table.sum(axis=0) > 0]
        if table.shape[1] > 1:
            least, tests = min(least, stats.chi2_contingency(table).pvalue), tests + 1
    return least * tests


@pytest.mark.slow
def test_rows_and_multinomials_have_the_same_law_and_a_wrong_q_has_another() -> None:
    of = dn.simulate.truth(SCHEMA, LATENT)
    rows = all_counts(of, True, 0.8, 500, 40, 1)
    sums = all_counts(of, False, 0.8, 1500, 40, 2)
    wrong = all_counts(of, False, 0.7, 1500, 40, 3)
    assert smallest_p(rows, sums) > 0.001
    assert smallest_p(rows, wrong) < 1e-6
    apart = np.corrcoef(rows.T + 1e-9 * np.random.default_rng(1).normal(size=rows.T.shape))
    together = np.corrcoef(sums.T + 1e-9 * np.random.default_rng(1).normal(size=sums.T.shape))
    some = rows.std(axis=0) > 0
    assert np.abs(apart - together)[np.ix_(some, some)].max() < 0.25  # of 2 000 correlations, each known to 0.04


def test_time_does_not_grow_with_the_respondents() -> None:
    of = dn.simulate.truth(SCHEMA, LATENT)
    counts = dn.simulate.counts(of, plan(), np.random.default_rng(1), n=10**12)
    est = dn.estimate(counts, list(SCHEMA.names))
    table = est.table()["proportion"].to_numpy().reshape(2, 3, 3)
    np.testing.assert_allclose(table, of.shares, atol=1e-4)


def test_given_respondents_are_those_that_are_asked() -> None:
    people = np.zeros((2, 3, 3), int)
    people[1, 0, 2] = 7
    openly = dn.Plan(SCHEMA, dict.fromkeys(SCHEMA.names, dn.Public()))
    counts = dn.simulate.counts(people, openly, np.random.default_rng(1))
    assert counts.array("a", "b", "c")[1, 1, 3] == counts.n == 7
    reports = dn.simulate.reports(dn.simulate.truth(SCHEMA, people), openly, 7, np.random.default_rng(1))
    assert reports.table.to_pylist() == [{"a": True, "b": "x", "c": "w"}] * 7


def test_what_cannot_be_simulated_is_told() -> None:
    rng = np.random.default_rng(1)
    for of, words in (
        ({"a": 0.5}, "shares are given for each of a, b, c"),
        ({"a": 1.5, "b": [1, 0, 0], "c": [1, 0, 0]}, "the shares of 'a' are not negative and sum to 1"),
        ({"a": 0.5, "b": [0.5, 0.5], "c": [1, 0, 0]}, "'b' has 3 answers; found 2 shares"),
        ([(0.5, LATENT[0][1])], "the shares of the classes are not negative and sum to 1"),
        (np.ones((2, 2)), "has the shape (2, 3, 3)"),
        (np.zeros((2, 3, 3)), "found none"),
        ("smoker", "a truth is a mapping"),
    ):
        with pytest.raises(dn.AnswerError) as told:
            dn.simulate.truth(SCHEMA, of)
        assert words in str(told.value)
    of = dn.simulate.truth(SCHEMA, LATENT)
    with pytest.raises(dn.AnswerError, match="need n"):
        dn.simulate.counts(of, plan(), rng)
    with pytest.raises(dn.AnswerError, match="a whole number; found -1"):
        dn.simulate.counts(of, plan(), rng, n=-1)
    with pytest.raises(dn.AnswerError, match="different features"):
        dn.simulate.reports(of, dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0), 3, rng)
    other = dn.Plan(
        dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"]), dn.Choice("d", ["u", "v", "w"])]), epsilon=1.0
    )
    for ask, words in (
        (lambda: dn.simulate.counts(of, other, rng, n=3), "different features"),
        (lambda: dn.simulate.counts(of, plan(), None, n=3), "rng must be a numpy Generator"),
        (lambda: dn.simulate.counts([[1, 2], [3]], plan(), rng), "whole numbers of shape"),
        (lambda: dn.simulate.reports(None, plan(), 3, rng), "from a truth and a Plan"),
        (lambda: dn.simulate.truth("x", LATENT), "a truth is of a Schema"),
        (lambda: dn.simulate.truth(SCHEMA, {**LATENT[0][1], "a": "x"}), "the shares of 'a'"),
        (lambda: dn.simulate.truth(SCHEMA, np.full((2, 3, 3), np.inf)), "in finite numbers"),
    ):
        with pytest.raises(dn.AnswerError, match=words):
            ask()
    hashed = dn.Plan(
        SCHEMA, {**{n: dn.LocalHashing(epsilon=1.0) for n in "bc"}, "a": dn.RandomizedResponse(epsilon=1.0)}
    )
    with pytest.raises(dn.AnswerError, match="'b' is hashed"):
        dn.simulate.counts(of, hashed, rng, n=3)


def test_reports_of_given_people_are_theirs() -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"])])
    plan = dn.Plan(schema, {"a": dn.Public(), "b": dn.Public()})
    people = np.array([[1, 0, 2], [3, 4, 0]])
    reports = dn.simulate.reports_of(people, plan, np.random.default_rng(1))
    counts = dn.count(reports, ["a", "b"]).array("a", "b")
    assert counts.tolist() == [[10, 4, 4, 2], [7, 3, 4, 0]]
