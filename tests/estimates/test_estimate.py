"""Estimates against enumeration in exact fractions, worked formulas of the paper, and simulation with a control."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

import deniable as dn
from deniable.inference.about_whom import Subject
from tests.support.channels import evidence_channel
from tests.support.situations import KINDS, METHODS, tiny, values
from tests.support.surveys import (
    block_weights,
    own_estimate,
    repeated,
    some_axes,
    some_counts,
    some_weights,
    supports,
    truth_tensor,
)


def exact(plan: dn.Plan, people: list[tuple[int, ...]], method: str) -> tuple[list[Fraction], list[list[Fraction]]]:
    """Mean and covariance of the whole estimate, by every outcome of every respondent's report."""
    size = prod(1 + len(feature.columns) for feature in plan.schema)
    mean = [Fraction(0)] * size
    covariance = [[Fraction(0)] * size for _ in range(size)]
    weights = some_weights(plan, method)
    for person in people:
        first = [Fraction(0)] * size
        second = [[Fraction(0)] * size for _ in range(size)]
        laws = [evidence_channel(protocol, x) for protocol, x in zip(plan.protocols, person, strict=True)]
        for outcome in product(*(law.items() for law in laws)):
            share = prod(chance for _, chance in outcome)
            zs = [
                own_estimate(protocol, bits, centred=method != "unbiased", weights=own)
                for protocol, own, (bits, _) in zip(plan.protocols, weights, outcome, strict=True)
            ]
            z = [prod(parts) for parts in product(*zs)]
            for i in range(size):
                first[i] += share * z[i]
                for j in range(size):
                    second[i][j] += share * z[i] * z[j]
        for i in range(size):
            mean[i] += first[i]
            for j in range(size):
                covariance[i][j] += second[i][j] - first[i] * first[j]
    return mean, covariance


def at_truth(plan: dn.Plan, people: list[tuple[int, ...]], method: str) -> dn.Estimate:
    """An estimate that happens to be the truth: the formulas without any noise in what they are put at."""
    from deniable.estimates.estimate import Estimate
    from deniable.estimates.respondent_group import Group
    from deniable.inference.about_whom import Subject

    axes = tuple(some_axes(plan, method))
    return Estimate(
        plan.schema.features, (Group(len(people), axes, truth_tensor(plan, people)),), method, Subject.RESPONDENTS
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_mean_and_covariance_are_those_of_enumeration(kind: str, method: str) -> None:
    plan, people = tiny(kind)
    mean, covariance = exact(plan, people, method)
    est = at_truth(plan, people, method)
    np.testing.assert_allclose(np.array(mean, float), truth_tensor(plan, people).reshape(-1), atol=1e-12)  # unbiased
    scale = float(max(map(max, covariance)))
    np.testing.assert_allclose(est.covariance(), np.array(covariance, float), rtol=1e-10, atol=1e-10 * scale)
    np.testing.assert_allclose(est.variance.reshape(-1), np.diag(np.array(covariance, float)), atol=1e-10 * scale)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_about_the_population_the_sampling_is_added(kind: str, method: str) -> None:
    plan, people = tiny(kind)
    est = at_truth(plan, people, method)
    t = est.mean.reshape(-1)
    records = [truth_tensor(plan, [person]).reshape(-1) for person in people]
    sampling = sum(np.outer(u, u) for u in records) - np.outer(t, t) / len(people)
    population = est.about("population")
    np.testing.assert_allclose(population.covariance(), est.covariance() + sampling, atol=1e-10)
    np.testing.assert_allclose(population.variance.reshape(-1), np.diag(population.covariance()), atol=1e-10)
    assert population.about("respondents").subject == "respondents"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_estimate_is_the_sum_of_the_reports_own(kind: str, method: str) -> None:
    """Axis by axis on counts, or report by report with exact fractions: the same."""
    plan, _ = tiny(kind)
    rng = np.random.default_rng(3)
    records = {
        feature.name: [
            (feature.values[x] if isinstance(feature, dn.Choice) else bool(x))
            for x in rng.integers(feature.levels, size=20)
        ]
        for feature in plan.schema
    }
    reports = dn.randomize(records, plan, rng=rng)
    bits = [supports(plan, reports.table, name)[:, 1:] for name in plan.schema.names]
    counts = dn.count(reports, plan.schema.names)
    weights = block_weights(counts, method)
    total = [Fraction(0)] * prod(1 + len(feature.columns) for feature in plan.schema)
    for row in range(20):
        zs = [
            own_estimate(
                block.protocol, tuple(map(int, column[row])), centred=method != "unbiased", weights=weights.get(block)
            )
            for block, column in zip(plan.blocks, bits, strict=True)
        ]
        total = [a + prod(parts) for a, parts in zip(total, product(*zs), strict=True)]
    est = dn.estimate(counts, plan.schema.names, method=method)
    np.testing.assert_allclose(est.mean.reshape(-1), np.array(total, float), rtol=1e-12, atol=1e-10)
    assert est.n == 20


def test_the_papers_worked_formulas() -> None:
    """V(t_i), V(t_ij), V(t_ij, t_i) and V(t_ij, t_jk) as printed, from the counts."""
    rr = dn.RandomizedResponse(p=0.125, q=0.75)
    plan = dn.Plan(dn.Schema([dn.Flag(name) for name in "ijk"]), dict.fromkeys("ijk", rr))
    counts = some_counts(plan)
    c, p, q = counts.array("i", "j", "k").astype(float), rr.p, rr.q
    n, c_i, c_j, c_k = c[0, 0, 0], c[1, 0, 0], c[0, 1, 0], c[0, 0, 1]
    c_ij, c_jk, c_ik, c_ijk = c[1, 1, 0], c[0, 1, 1], c[1, 0, 1], c[1, 1, 1]
    est = dn.estimate(counts, ["i", "j", "k"], method="unbiased", about="respondents")
    i, j, k = {"i": True}, {"j": True}, {"k": True}
    d = q - p
    assert est.covariance(i, i) == pytest.approx((q * p * n + (1 - p - q) * c_i) / d**2)
    assert est.covariance(i | j, i | j) == pytest.approx(
        (((1 - 2 * p) ** 2 - d**2) * c_ij + p * (p * (1 - 2 * p) + d**2) * (c_i + c_j) - p**2 * q * (q - 2 * p) * n)
        / d**4
    )
    assert est.covariance(i | j, i) == pytest.approx(((1 - q - p) * (c_ij - p * c_i) + q * p * (c_j - p * n)) / d**3)
    assert est.covariance(i | j, j | k) == pytest.approx(
        ((1 - p - q) * (c_ijk - p * (c_ij + c_jk) + p**2 * c_j) + p * q * (c_ik - p * (c_i + c_k) + p**2 * n)) / d**4
    )
    assert est.covariance(i, j) == pytest.approx(0, abs=1e-9)  # nothing in common


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_entries_cells_tables_and_projections_agree_with_the_dense_covariance(kind: str, method: str) -> None:
    plan, _ = tiny(kind)
    counts = some_counts(plan)
    names = plan.schema.names
    for subject in ("respondents", "population"):
        est = dn.estimate(counts, names, method=method).about(subject)
        dense = est.covariance()
        np.testing.assert_allclose(dense, dense.T, atol=1e-9)
        first, second = np.zeros((2, *est.mean.shape))
        first[(1, 1, *[0] * (len(names) - 2))] = 1
        second[(1, *[0] * (len(names) - 1))] = 1
        cells = [{}, {}]
        for cell, some in zip(cells, (names[:2], names[:1]), strict=True):
            for name in some:
                feature = plan.schema[name]
                cell[name] = feature.values[0] if isinstance(feature, dn.Choice) else True
        assert est.covariance(*cells) == pytest.approx(
            first.reshape(-1) @ dense @ second.reshape(-1), rel=1e-9, abs=1e-9
        )
        cell, linear = est.cell(cells[0]), est.linear(first)
        assert (cell.value, cell.variance) == pytest.approx((linear.value, linear.variance))
        small = est.project(*reversed(names[:2]))
        assert small.covariance(*cells) == pytest.approx(est.covariance(*cells))
        np.testing.assert_allclose(small.mean, est.mean[(..., *[0] * (len(names) - 2))].T)
        direct = dn.estimate(counts, list(reversed(names[:2])), method=method).about(subject)
        np.testing.assert_allclose(small.covariance(), direct.covariance(), atol=1e-9)
        rows = est.table().to_pylist()
        assert len(rows) == prod(feature.levels for feature in plan.schema)
        for row in rows[:: max(1, len(rows) // 5)]:
            answer = est.cell({name: row[name] for name in names})
            assert row["proportion"] == pytest.approx(answer.value)
            assert row["stderr"] == pytest.approx(answer.stderr, nan_ok=True)


@pytest.mark.parametrize("kind", KINDS)
def test_consistent_tables_sum_to_the_whole_and_agree_with_their_margins(kind: str) -> None:
    plan, _ = tiny(kind)
    est = dn.estimate(some_counts(plan), plan.schema.names)
    for axis, feature in enumerate(plan.schema):
        if isinstance(feature, dn.Choice):
            np.testing.assert_allclose(est.mean.sum(axis), 2 * np.take(est.mean, 0, axis), atol=1e-8)
    assert sum(row["proportion"] for row in est.table().to_pylist()) == pytest.approx(1)
    plain = dn.estimate(some_counts(plan), plan.schema.names, method="unbiased")
    if kind in ("unary", "hashing", "mixed"):  # there it takes centring
        assert not np.allclose(plain.mean.sum(0), 2 * plain.mean[0])
    else:
        np.testing.assert_allclose(plain.mean, est.mean, atol=1e-8)


def test_disjoint_groups_add_whatever_their_plans() -> None:
    schema = dn.Schema([dn.Choice("a", values(3)), dn.Flag("b")])
    plans = [
        dn.Plan(schema, {"a": dn.GRR(epsilon=1.0), "b": dn.RandomizedResponse(epsilon=1.0)}),
        dn.Plan(schema, {"a": dn.UnaryEncoding.optimized(2.0), "b": dn.RandomizedResponse(p=0.1, q=0.8)}),
    ]
    one, two = (dn.estimate(some_counts(plan, seed=seed), ["a", "b"]) for seed, plan in enumerate(plans))
    both = one + two
    assert both.n == 1000
    np.testing.assert_allclose(both.mean, one.mean + two.mean)
    np.testing.assert_allclose(both.covariance(), one.covariance() + two.covariance())
    np.testing.assert_allclose(sum([one, two]).variance, one.variance + two.variance)
    cell = {"a": "v1", "b": False}
    assert both.cell(cell).count_variance == pytest.approx(
        one.cell(cell).count_variance + two.cell(cell).count_variance
    )


def test_statistics_with_a_control() -> None:
    """Over 2000 simulated surveys: no bias, and the stated covariance is the empirical one; a wrong q is caught."""
    schema = dn.Schema([dn.Choice("a", values(3)), dn.Flag("b")])
    plan = dn.Plan(schema, {"a": dn.UnaryEncoding.optimized(1.5), "b": dn.RandomizedResponse(p=0.2, q=0.7)})
    rng = np.random.default_rng(5)
    a, b = rng.choice(3, 400, p=[0.5, 0.3, 0.2]), rng.random(400) < 0.3
    records = {"a": np.array(values(3))[a], "b": b}
    truth = truth_tensor(plan, list(zip(a.tolist(), b.astype(int).tolist(), strict=True)))
    runs = 2000
    of_runs = repeated(records, plan, runs, rng)
    estimates = [dn.estimate(counts, ["a", "b"], about="respondents") for counts in of_runs]
    means = np.array([est.mean for est in estimates])
    stated = at_truth(plan, list(zip(a.tolist(), b.astype(int).tolist(), strict=True)), "consistent")
    spread = np.sqrt(np.where(stated.variance > 1e-9, stated.variance, np.inf))
    deviation = (means.mean(axis=0) - truth) / spread * np.sqrt(runs)
    assert np.abs(deviation).max() < 4.5
    empirical = means.reshape(runs, -1).T
    ratio = np.diag(np.cov(empirical))[1:] / stated.variance.reshape(-1)[1:]
    assert np.all(np.abs(ratio - 1) < 5 * np.sqrt(2 / runs))
    average = np.mean([est.covariance() for est in estimates], axis=0)
    scale = np.sqrt(np.outer(*[np.diag(stated.covariance()).clip(1e-9)] * 2))
    assert np.abs((average - stated.covariance()) / scale).max() < 0.05
    wrong = dn.Plan(schema, {"a": dn.UnaryEncoding.optimized(1.5), "b": dn.RandomizedResponse(p=0.2, q=0.75)})
    counts = [dn.Counts(wrong, own.tables) for own in repeated(records, plan, 200, rng)]
    biased = np.mean([dn.estimate(c, ["a", "b"]).mean for c in counts], axis=0)
    assert np.abs((biased - truth) / spread * np.sqrt(200)).max() > 4.5


@pytest.mark.filterwarnings("ignore::deniable.errors.FitWarning")  # counts far from what reports give
def test_far_from_one_report_axis_by_axis_stays_accurate() -> None:
    """N = 1e9, epsilon 0.1, 10 flags: against exact fractions, to 1e-9 of the standard error."""
    rr = dn.RandomizedResponse(epsilon=0.1)
    names = [f"f{i}" for i in range(10)]
    plan = dn.Plan(dn.Schema([dn.Flag(name) for name in names]), dict.fromkeys(names, rr))
    n = 10**9
    rng = np.random.default_rng(1)
    table = np.sort(rng.integers(n // 3, n // 2, size=1024))[::-1]
    counts = np.zeros((2,) * 10, np.int64)
    for index in np.ndindex(counts.shape):
        counts[index] = n >> sum(index)
        counts[index] -= int(table[0]) % (1 + sum(index)) * 1000
    counts = np.minimum.accumulate(counts.reshape(-1)).reshape(counts.shape)
    for axis in range(10):
        counts = np.minimum(counts, np.take(counts, [0], axis))
    est = dn.estimate(dn.Counts(plan, {tuple(names): counts}), names, method="unbiased")
    p, d = rr.channel.p, rr.channel.q - rr.channel.p
    exact = [Fraction(int(c)) for c in counts.reshape(-1)]
    for axis in range(10):
        step = 1 << (9 - axis)
        exact = [(exact[k] - p * exact[k - step]) / d if k & step else exact[k] for k in range(1024)]
    error = np.abs(est.mean.reshape(-1) - np.array(exact, float))
    stderr = np.sqrt(np.abs(est.about("population").variance.reshape(-1)))
    assert np.all(error[1:] <= 1e-9 * stderr[1:])


REFUSED = {
    "a weight for each respondent": (
        lambda c: dn.estimate(c, ["a"], weights=[1.0, 2.0]),
        "no survey weights for each respondent, .*est.poststratify",
    ),
    "method": (
        lambda c: dn.estimate(c, ["a"], method="em"),
        "method must be one of consistent, centred, unbiased, feasible, shrunk; found 'em'",
    ),
    "not counted": (lambda c: dn.estimate(c, ["x"]), "no feature 'x'"),
    "about": (lambda c: dn.estimate(c, ["a"]).about("everybody"), "found 'everybody'"),
    "project": (lambda c: dn.estimate(c, ["a"]).project("b"), r"one or more of 'a'; found \['b'\]"),
    "cell's feature": (lambda c: dn.estimate(c, ["a"]).cell(x=True), "no feature 'x' here; there are 'a'"),
    "cell's answer": (lambda c: dn.estimate(c, ["a"]).cell(a="v9"), r"'a' has the answers \['v0'.*; found 'v9'"),
    "weights": (lambda c: dn.estimate(c, ["a"]).linear([1, 2]), r"shape of mean, \(4,\); found \(2,\)"),
    "ragged weights": (lambda c: dn.estimate(c, ["a"]).linear([[1], [2, 3]]), "weights must have the shape of mean"),
    "text as weights": (lambda c: dn.estimate(c, ["a"]).linear(list("abcd")), "weights must be finite numbers"),
    "nan as a weight": (lambda c: dn.estimate(c, ["a"]).linear([0, 1, np.nan, 0]), "weights must be finite numbers"),
    "not counts": (lambda _: dn.estimate(7, ["a"]), "estimate takes counts, .* found 7"),
    "answers": (
        lambda _: dn.estimate({"a": ["v0"]}, ["a"]),
        r"answers become reports by dn.randomize\(answers, plan\)",
    ),
    "no such file": (lambda _: dn.estimate("none.npz", ["a"]), "none.npz: cannot be read: No such file"),
    "a set of names": (lambda c: dn.estimate(c, {"a"}), "estimate takes a list of features, .* found {'a'}"),
    "a table of names": (lambda c: dn.estimate(c, np.array([["a"]])), "estimate takes a list of features"),
    "no names": (lambda c: dn.estimate(c, None), "estimate takes a list of features, .* found None"),
    "cell of a text": (lambda c: dn.estimate(c, ["a"]).cell("a"), "cell takes each answer once: .* found 'a'"),
    "cell said twice": (lambda c: dn.estimate(c, ["a"]).cell({"a": "v0"}, a="v1"), "cell takes each answer once"),
    "an array as answer": (lambda c: dn.estimate(c, ["a"]).cell(a=np.array(["v0", "v1"])), "'a' has the answers"),
    "one cell's covariance": (
        lambda c: dn.estimate(c, ["a"]).covariance({"a": "v0"}),
        "covariance takes two cells, or none",
    ),
    "share above one": (lambda c: dn.estimate(c, ["a"]).given({"a": {"v0": 50}}), "found 50 for 'v0' of 'a'"),
    "share of nan": (lambda c: dn.estimate(c, ["a"]).given({"a": {"v0": np.nan}}), "found nan for 'v0' of 'a'"),
    "shares as a list": (lambda c: dn.estimate(c, ["a"]).given({"a": [0.5, 0.5]}), "known shares are"),
    "shares above one": (
        lambda c: dn.estimate(c, ["a"], method="unbiased").given({"a": {"v0": 0.5, "v1": 0.6}}),
        "the known shares of 'a' sum to 1.1, more than 1",
    ),
    "value of nan": (
        lambda c: dn.estimate(c, ["a"]).given([([0, 1, 0, 0], np.nan)]),
        "value of equality 0 must be a finite",
    ),
    "given a number": (lambda c: dn.estimate(c, ["a"]).given(5), "given takes known shares, or a list of"),
    "zeros without a list": (lambda c: dn.estimate(c, ["a"]).given(zeros={"a": "v0"}), "zeros are a list of cells"),
    "an empty zero": (lambda c: dn.estimate(c, ["a"]).given(zeros=[{}]), "zeros are a list of cells"),
    "other features": (lambda c: dn.estimate(c, ["a"]) + dn.estimate(c, ["b"]), "estimates add over the same features"),
    "about others": (
        lambda c: dn.estimate(c, ["a"], about="respondents") + dn.estimate(c, ["a"]),
        "about the respondents, and .* about the population",
    ),
    "no reports": (lambda c: dn.estimate(dn.Counts(c.plan, {"b": [0, 0]}), ["b"]), "no reports to estimate from"),
}


def test_a_feature_called_as_a_column_of_tables_is_told() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("low")]), epsilon=1.0)
    with pytest.raises(dn.EstimateError, match="a table has a column called 'low' of its own; rename that feature"):
        dn.estimate(some_counts(plan), ["low"]).table()
    assert dn.estimate(some_counts(plan), ["low"]).cell(low=True).enough


def test_sums_keep_what_their_parts_say() -> None:
    plan, _ = tiny("GRR")
    first, second = (
        dn.estimate(some_counts(plan, 500, seed=seed), ["a", "b"], method=method)
        for seed, method in ((1, "unbiased"), (2, "consistent"))
    )
    both = first.given({"a": {"v0": 0.3}}) + second.given({"b": {"v0": 0.5}})
    assert both.method == "mixed"
    assert [condition.what for condition in both.conditions] == ["a = v0: 0.3", "b = v0: 0.5"]
    np.testing.assert_allclose(first.project(["b", "a"]).mean, first.mean.T)
    other = dn.Plan(dn.Schema([dn.Choice("a", ["x", "y", "z"]), dn.Choice("b", values(2))]), epsilon=2.0)
    with pytest.raises(dn.EstimateError, match="estimates add over the same features with the same values"):
        first + dn.estimate(some_counts(other, 50), ["a", "b"])


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(make: object, message: str) -> None:
    plan, _ = tiny("unary")
    with pytest.raises(dn.DeniableError, match=message):
        make(some_counts(plan))


@pytest.mark.parametrize("flags", [1, 5, 14])
def test_flags_alone_are_transformed_in_place_to_the_same(flags: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick way for flags against the general one, axis by axis, in numpy and compiled."""
    names = [f"f{i}" for i in range(flags)]
    plan = dn.Plan(dn.Schema([dn.Flag(name) for name in names]), epsilon=2.0 * flags)
    counts = some_counts(plan, 400)
    for loading in (1e9, 0.0):
        monkeypatch.setattr("deniable.kernels.LOADING", loading)
        for subject in ("respondents", "population"):
            est = dn.estimate(counts, names).about(subject)
            (group,) = est.groups
            general = counts.array(*names).astype(float)
            for k, axis in enumerate(group.axes):
                general = np.moveaxis(axis.invert(np.moveaxis(general, k, -1)), -1, k)
            np.testing.assert_allclose(est.mean, general, rtol=1e-10, atol=1e-8)
            rows = [np.eye(2)] * flags
            slow = group.cumulants(rows, Subject(subject)).variance
            np.testing.assert_allclose(est.variance, slow, rtol=1e-9, atol=1e-7 * np.abs(slow).max())


def test_a_covariance_that_does_not_fit_is_refused_with_its_size() -> None:
    names = [f"f{i}" for i in range(18)]
    plan = dn.Plan(dn.Schema([dn.Flag(name) for name in names]), epsilon=18.0)
    est = dn.estimate(some_counts(plan, 50), names)
    with pytest.raises(
        dn.EstimateError, match="the covariance of 262,144 entries needs 1,649.3 GB; ask for its entries"
    ):
        est.covariance()
    assert est.covariance({"f0": True}, {"f0": True}) == pytest.approx(est.project("f0").variance[1])


def test_a_variance_estimated_below_zero_is_taken_as_that_of_a_few_steps() -> None:
    schema = dn.Schema([dn.Choice("a", values(5)), dn.Choice("b", values(5))])
    plan = dn.Plan(schema, dict.fromkeys("ab", dn.UnaryEncoding.optimized(4.0)))
    est = dn.estimate(some_counts(plan, 30), ["a", "b"], method="centred", about="respondents")
    a, b = np.argwhere(est.variance[1:, 1:] < 0)[0]
    cell = est.cell(a=values(5)[a], b=values(5)[b])
    assert cell.enough
    assert cell.count_variance == pytest.approx(float(cell.found.squared_step) / 4)
    low, high = cell.confidence_interval()
    assert high - low > 2 * np.sqrt(cell.found.squared_step) / 30  # two steps at least
    known = est.given(zeros=[{"a": values(5)[a], "b": values(5)[b]}])  # at a proper table no variance is negative
    assert (known.variance > -1e-9).all()
    assert known.cell(a=values(5)[a], b=values(5)[b]).confidence_interval() == pytest.approx((0, 0), abs=1e-9)
    assert "(centred) of a x b, 30 reports, about the respondents" in repr(est)


def test_names_may_be_those_that_an_array_holds() -> None:
    """As the columns of a dataframe do."""
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=2.0)
    reports = dn.randomize({"a": [True, False] * 9, "b": [True] * 18}, plan, rng=1)
    for ask in (dn.estimate, dn.maximum_likelihood):
        found, expected = ask(reports, np.array(["a", "b"])), ask(reports, ["a", "b"])
        assert found.names == expected.names
        assert found.mean.tolist() == expected.mean.tolist()
