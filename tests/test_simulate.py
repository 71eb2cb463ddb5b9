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
    people = np.round(10**9 * both.shares)
    np.testing.assert_allclose(dn.simulate.truth(SCHEMA, people).shares, both.shares, atol=1e-8)
    np.testing.assert_allclose(dn.simulate.truth(SCHEMA, (1 + 1e-7) * both.shares).shares, both.shares)
    with pytest.raises(dn.AnswerError, match=r"shares that sum to 1, or whole numbers .* found the sum 1\.1: take"):
        dn.simulate.truth(dn.Schema([dn.Flag("a")]), [0.5, 0.6])
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


# -- blocks and arms ---------------------------------------------------------------------------------------------------

TOWNS = dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y", "z"]), dn.Flag("c"), dn.Choice("town", ["here", "there"])])
DESIGNS = {
    "blocks": dn.Plan(
        TOWNS,
        {
            ("a", "b"): dn.SubsetSelection(epsilon=1.0, size=2),
            "c": dn.RandomizedResponse(p=0.1, q=0.7),
            "town": dn.Public(),
        },
    ),
    "arms": dn.Plan(
        TOWNS,
        {"town": dn.Public(), ("a", "b"): dn.UnaryEncoding(p=0.25, q=0.75)},
        epsilon=2.2,
        arms={("a", "b"): 0.5, (("c",), ("b",)): 0.3, ("c",): 0.2},
        unequal=True,
    ),
}


def many_counts(of: dn.simulate.Truth | np.ndarray, plan: dn.Plan, by_rows: bool, runs: int, seed: int) -> np.ndarray:
    """All counts of many surveys of 60 respondents, of all arms one after another."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(runs):
        if by_rows:
            drawn = of.people(60, rng) if isinstance(of, dn.simulate.Truth) else of
            reports = dn.simulate.reports_of(drawn, plan, rng)
            counts = dn.count(reports) if plan.has_arms else dn.count(reports, list(plan.schema.names))
        else:
            counts = dn.simulate.counts(of, plan, rng, n=60 if isinstance(of, dn.simulate.Truth) else None)
        whole = [arm.array(*arm.plan.units.schema.names).reshape(-1) for arm in counts.arms]
        found.append(np.concatenate(whole))
    return np.array(found)


def moments_agree(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether means and variances agree, entry by entry, within five standard errors."""
    runs = np.array([len(one), len(other)])
    variances = np.array([side.var(axis=0, ddof=1) for side in (one, other)])
    varies = variances.min(axis=0) > 0
    one, other, variances = one[:, varies], other[:, varies], variances[:, varies]
    of_mean = np.sqrt((variances / runs[:, None]).sum(axis=0))
    fourth = ((one - one.mean(axis=0)) ** 4).mean(axis=0)
    of_variance = np.sqrt(np.maximum(fourth - variances[0] ** 2, variances[0] ** 2) * (1 / runs).sum())
    means = np.abs(one.mean(axis=0) - other.mean(axis=0)) <= 5 * of_mean
    return bool(means.all() and (np.abs(variances[0] - variances[1]) <= 5 * of_variance).all())


@pytest.mark.slow
@pytest.mark.parametrize("given", [False, True], ids=["drawn", "given"])
@pytest.mark.parametrize("plan", DESIGNS.values(), ids=DESIGNS.keys())
def test_counts_of_designs_have_the_law_of_counted_reports(plan: dn.Plan, given: bool) -> None:
    """The controls: a truth whose answers to two questions are mixed up, and respondents drawn instead of given."""
    rng = np.random.default_rng(5)
    shares = rng.dirichlet(np.full(24, 0.4)).reshape(2, 3, 2, 2)
    truth = dn.simulate.truth(TOWNS, shares)
    of = truth.people(60, rng) if given else truth
    rows, sums = many_counts(of, plan, True, 200, 1), many_counts(of, plan, False, 600, 2)
    assert moments_agree(rows, sums)
    assert smallest_p(rows, sums) > 0.001
    other = many_counts(dn.simulate.truth(TOWNS, shares[::-1]), plan, False, 600, 3)
    assert not moments_agree(rows, other)
    assert smallest_p(rows, other) < 1e-6
    if given and not plan.has_arms:  # where everybody is asked
        assert not moments_agree(rows, many_counts(dn.simulate.truth(TOWNS, of), plan, False, 600, 4))


def test_given_respondents_of_a_design_are_those_that_are_asked() -> None:
    """Each is in one arm, and what is public is theirs in all of them; in a block the first question is slowest."""
    people = np.random.default_rng(1).integers(9, size=(2, 3, 2, 2))
    plan = dn.Plan(TOWNS, {"town": dn.Public()}, epsilon=60.0, arms=[["a", "b", "c"], ["c"]])
    counts = dn.simulate.counts(people, plan, np.random.default_rng(1))
    towns = sum(arm.array("town") for arm in counts.arms)
    assert towns.tolist() == [people.sum(), *people.sum(axis=(0, 1, 2))]
    whole = dn.simulate.counts(
        people, dn.Plan(TOWNS, epsilon=60.0, together=[list(TOWNS.names)]), np.random.default_rng(1)
    )
    shown = whole.array(tuple(TOWNS.names))[1:].reshape(people.shape)
    assert np.abs(shown - people).sum() <= 2  # of hardly any noise


def test_arms_are_drawn_by_their_shares() -> None:
    truth = dn.simulate.truth(TOWNS, np.ones((2, 3, 2, 2)))
    plan, rng = DESIGNS["arms"], np.random.default_rng(1)
    expected = np.array(plan.shares) / 65536
    for counts in (
        dn.simulate.counts(truth, plan, rng, n=10**6),
        dn.simulate.counts(truth.people(10**6, rng), plan, rng),
        dn.count(dn.simulate.reports(truth, plan, 10**5, rng), ["town"]),
    ):
        sizes = np.array([arm.n for arm in counts.arms])
        assert stats.chisquare(sizes, expected * counts.n).pvalue > 1e-3
    assert stats.chisquare(sizes, counts.n / np.full(3, 3.0)).pvalue < 1e-9


def test_time_does_not_grow_with_the_respondents_of_a_design() -> None:
    truth = dn.simulate.truth(TOWNS, np.arange(1.0, 25).reshape(2, 3, 2, 2))
    for plan in DESIGNS.values():
        est = dn.estimate(dn.simulate.counts(truth, plan, np.random.default_rng(1), n=10**12), ["b", "a"])
        found = est.table()["proportion"].to_numpy().reshape(3, 2)
        np.testing.assert_allclose(found, truth.shares.sum(axis=(2, 3)).T, atol=1e-4)


def test_a_hashed_block_is_told() -> None:
    plan = dn.Plan(TOWNS, {("a", "b"): dn.LocalHashing(epsilon=1.0), "town": dn.Public()}, epsilon=2.0)
    with pytest.raises(dn.AnswerError, match="'a x b' is hashed"):
        dn.simulate.counts(dn.simulate.truth(TOWNS, np.ones((2, 3, 2, 2))), plan, np.random.default_rng(1), n=3)


@pytest.mark.parametrize("protocol", [dn.SubsetSelection(epsilon=1.0, size=3), dn.UnaryEncoding.optimized(1.0)])
def test_values_drawn_one_by_one_have_the_moments_of_patterns(protocol: dn.SubsetSelection | dn.UnaryEncoding) -> None:
    """Means and covariances of marked values against those of all patterns, with a control that must fail."""
    feature = dn.Choice("a", [f"v{k}" for k in range(6)])
    bound = protocol.bind(feature)
    people = np.array([40, 0, 25, 10, 3, 22])
    rng, runs = np.random.default_rng(8), 20_000
    drawn = dn.simulate.marked_values(bound, np.broadcast_to(people, (runs, 6)), rng)
    law, bits = bound.pattern_probabilities, bound.patterns
    mean = people @ law @ bits
    covariance = sum(n * (bits.T @ (chances[:, None] * bits) - np.outer(chances @ bits, chances @ bits))
                     for n, chances in zip(people, law, strict=True))  # fmt: skip
    found = np.cov(drawn.T)
    error = np.sqrt((np.outer(np.diag(covariance), np.diag(covariance)) + covariance**2) / runs)
    assert (np.abs(drawn.mean(axis=0) - mean) < 4.5 * np.sqrt(np.diag(covariance) / runs)).all()
    assert (np.abs(found - covariance) < 4.5 * error).all()
    assert not (np.abs(found - np.diag(np.diag(covariance + 1))) < 4.5 * error).all()


def test_blocks_of_many_sets_are_simulated_straight_to_counts() -> None:
    """Subset selection of a block of 48 has more sets than can be listed; also beside a public column."""
    schema = dn.Schema([dn.Choice("a", [f"v{k}" for k in range(8)]), dn.Choice("b", [f"w{k}" for k in range(6)]),
                        dn.Choice("r", ["x", "y"])])  # fmt: skip
    truth = dn.simulate.truth(schema, {"a": [0.3, *[0.1] * 7], "b": [0.5, *[0.1] * 5], "r": [0.25, 0.75]})
    plan = dn.Plan(schema, {"r": dn.Public()}, epsilon=1.0, arms=[["a", "b"], ["b"]])
    assert plan.arms[0].blocks[0].protocol.always_marked > 9
    counts = dn.simulate.counts(truth, plan, np.random.default_rng(2), n=10**9)
    est = dn.estimate(counts, ["a", "r"])
    np.testing.assert_allclose(est.cell(a="v0", r="x").value, 0.075, atol=2e-4)
    np.testing.assert_allclose(est.cell(r="y").value, 0.75, atol=1e-4)
