"""Everything that takes an estimate, over blocks and over arms: against its definition from mean and covariance."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.designs.arms_group import ArmsGroup
from deniable.estimates.respondent_group import Group
from deniable.inference.tensors import along, answer_rows, flat
from tests.support.situations import values

SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Flag("drinker"), dn.Choice("age", values(3)), dn.Choice("town", ["a", "b"])])
SMOKER, DRINKER, AGE = np.array([0.7, 0.3]), np.array([0.55, 0.45]), np.array([0.5, 0.3, 0.2])


def truth_table() -> np.ndarray:
    """Drinking goes with smoking, smoking with age, and the town with nothing."""
    table = np.einsum("s,d,a,t->sdat", SMOKER, DRINKER, AGE, [0.4, 0.6])
    table[1, 1] *= 1.5
    table[1, :, 2] *= 1.6
    return table / table.sum()


TRUTH = dn.simulate.truth(SCHEMA, truth_table())
ARMS = [["smoker", "age"], ["drinker", "age"], ["smoker", "drinker"]]
PLANS = {
    "arms": dn.Plan(SCHEMA, {"town": dn.Public()}, epsilon=3.0, arms=ARMS),
    "whole arms": dn.Plan(
        SCHEMA,
        {"town": dn.Public()},
        epsilon=3.0,
        arms=[["smoker", "drinker", "age"], ["smoker", "age"], [["drinker"], ["smoker", "age"]]],
    ),
    "blocks": dn.Plan(SCHEMA, {"town": dn.Public()}, epsilon=5.0, together=[["smoker", "age"]]),
    "one block": dn.Plan(SCHEMA, {"town": dn.Public()}, epsilon=3.0, together=[["drinker", "smoker", "age"]]),
}
every_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
every_subject = pytest.mark.parametrize("subject", ["respondents", "population"])


def counts_of(plan: dn.Plan, n: int = 60_000, seed: int = 1) -> dn.Counts:
    return dn.simulate.counts(TRUTH, plan, np.random.default_rng(seed), n=n)


def estimate_of(plan: dn.Plan, subject: str = "population", names: tuple[str, ...] = ("age", "smoker")) -> dn.Estimate:
    return dn.estimate(counts_of(plan), names).about(subject)


def cell_rows(est: dn.Estimate) -> np.ndarray:
    """The matrix from all entries to the cells, in C order."""
    rows = np.ones((1, 1))
    for feature in est.features:
        own = (
            np.array([[1.0, -1.0], [0.0, 1.0]])
            if feature.levels > len(feature.columns)
            else np.eye(1 + feature.levels)[1:]
        )
        rows = np.kron(rows, own)
    return rows


def cells_of(est: dn.Estimate) -> tuple[np.ndarray, np.ndarray]:
    """The shares of all cells, shaped as a table, and their covariance."""
    rows = cell_rows(est)
    shares = rows @ est.mean.reshape(-1) / est.n
    return shares.reshape([feature.levels for feature in est.features]), rows @ est.covariance() @ rows.T / est.n**2


def delta(est: dn.Estimate, of: Callable[[np.ndarray], float]) -> tuple[float, float]:
    """A function of the table of cells, and its standard error by the delta method with a numeric gradient."""
    table, covariance = cells_of(est)
    step, gradient = 1e-6, []
    for place in range(table.size):
        moved = np.zeros(table.size)
        moved[place] = step
        up, down = of(table + moved.reshape(table.shape)), of(table - moved.reshape(table.shape))
        gradient.append((up - down) / (2 * step))
    return of(table), float(np.sqrt(np.array(gradient) @ covariance @ gradient))


# -- linear results ----------------------------------------------------------------------------------------------------


@every_subject
@every_plan
def test_cells_tables_and_weighted_sums(plan: dn.Plan, subject: str) -> None:
    est = estimate_of(plan, subject, ("age", "town", "smoker"))
    table, covariance = cells_of(est)
    assert table.sum() == pytest.approx(1)
    rows = est.table().to_pylist()
    wide = est.table(simultaneous=True).to_pylist()
    for place, (age, town, smoker) in enumerate(product(range(3), range(2), range(2))):
        answers = {"age": f"v{age}", "town": "ab"[town], "smoker": bool(smoker)}
        cell, row = est.cell(answers), rows[place]
        stderr = np.sqrt(covariance[place, place])
        assert (cell.value, cell.stderr) == pytest.approx((table[age, town, smoker], stderr))
        assert {key: row[key] for key in answers} == answers
        assert (row["proportion"], row["stderr"]) == pytest.approx((cell.value, cell.stderr))
        low, high = cell.confidence_interval()
        assert (row["low"], row["high"]) == pytest.approx((low, high))
        assert low < cell.value < high
        assert (low, high) == pytest.approx((cell.value - 1.96 * stderr, cell.value + 1.96 * stderr), abs=0.1 * stderr)
        assert wide[place]["low"] < low < high < wide[place]["high"]
    weights = np.random.default_rng(1).normal(size=est.mean.shape)
    line = weights.reshape(-1)
    found = est.linear(weights)
    assert found.value == pytest.approx(line @ est.mean.reshape(-1) / est.n)
    assert found.stderr == pytest.approx(np.sqrt(line @ est.covariance() @ line) / est.n)
    product_weights = np.multiply.outer(np.array([0, 1.0, 0, 0]), np.multiply.outer([1.0, 0, 0], [0, 1.0]))
    assert est.linear(product_weights).stderr == pytest.approx(est.cell(age="v0", smoker=True).stderr)


@every_plan
def test_about_the_population_the_sampling_is_added(plan: dn.Plan) -> None:
    among, of = (estimate_of(plan, subject) for subject in ("respondents", "population"))
    np.testing.assert_array_equal(among.mean, of.mean)
    table, covariance = cells_of(of)
    line = table.reshape(-1)
    sampling = (np.diag(line) - np.outer(line, line)) / of.n
    apart = covariance - cells_of(among)[1]
    np.testing.assert_allclose(apart, sampling, atol=0.02 * np.abs(sampling).max())  # evaluated at a proper table


@every_plan
def test_public_columns_are_exact_about_the_respondents(plan: dn.Plan) -> None:
    counts = counts_of(plan)
    here = sum(int(arm.array("town")[1]) for arm in counts.arms)
    est = dn.estimate(counts, ["smoker", "town"], about="respondents")
    cell = est.cell(town="a")
    assert (cell.count, cell.stderr) == (pytest.approx(here), 0.0)
    assert cell.confidence_interval() == pytest.approx((here / est.n,) * 2)
    assert est.about("population").cell(town="a").stderr == pytest.approx(np.sqrt(0.24 / est.n), rel=0.01)


@every_plan
def test_a_projection_is_the_margin_of_the_estimate(plan: dn.Plan) -> None:
    est = estimate_of(plan, names=("age", "town", "smoker"))
    margin = est.project("smoker", "age")
    np.testing.assert_allclose(margin.mean, est.mean[:, 0, :].T)
    keep = np.arange(est.mean.size).reshape(est.mean.shape)[:, 0, :].T.reshape(-1)
    np.testing.assert_allclose(margin.covariance(), est.covariance()[np.ix_(keep, keep)], rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(margin.variance.reshape(-1), np.diagonal(margin.covariance()), rtol=1e-9, atol=1e-6)
    whole, part = est.cell(age="v1", smoker=True), margin.cell(age="v1", smoker=True)
    assert part.confidence_interval() == pytest.approx(whole.confidence_interval())
    assert est.covariance({"age": "v0"}, {"smoker": True}) == pytest.approx(
        margin.covariance({"age": "v0"}, {"smoker": True})
    )
    again = margin.project("age")
    np.testing.assert_allclose(again.mean, est.mean[:, 0, 0])


@every_subject
@every_plan
def test_conditioning_is_that_of_a_normal_distribution(plan: dn.Plan, subject: str) -> None:
    """Post-stratification, and cells that are empty: all at once by the textbook's formula."""
    est = estimate_of(plan, subject)
    shares, own = cells_of(est)
    shares = shares.reshape(-1)
    rows = np.array([[1.0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1.0]])  # age v0, and those of age v2 who smoke
    known = rows @ shares + np.array([0.003, 0.002])
    weights = cell_rows(est).T @ rows.T  # of entries
    given = est.given([(weights[:, k].reshape(est.mean.shape), known[k] * est.n) for k in range(2)])
    (group,), (obeys,) = est.groups, given.groups[0].origin.tables
    entries = group.of_cells @ obeys
    assert obeys.min() >= 0
    np.testing.assert_allclose([entries[0], *(weights.T @ entries)], [1, *known])
    covariance = cell_rows(est) @ group.dense_at(obeys, est.subject) @ cell_rows(est).T / est.n**2
    np.testing.assert_allclose(covariance, own, atol=0.03 * np.abs(own).max())  # as the table hardly moved
    gain = covariance @ rows.T @ np.linalg.inv(rows @ covariance @ rows.T)
    table, after = cells_of(given)
    np.testing.assert_allclose(table.reshape(-1), shares + gain @ (known - rows @ shares), atol=1e-9)
    np.testing.assert_allclose(after, covariance - gain @ rows @ covariance, atol=1e-12)
    margin = est.given({"age": {"v0": known[0]}})
    assert margin.cell(age="v0").value == pytest.approx(known[0])
    assert margin.cell(age="v0").stderr == 0
    assert margin.cell(age="v0", smoker=True).stderr < est.cell(age="v0", smoker=True).stderr


def _shares_of(group: Group) -> np.ndarray:
    return along(group.truth / group.n, [answer_rows(axis.columns) for axis in group.axes])


@every_subject
@every_plan
def test_the_covariance_at_a_table_is_the_estimates_own_where_that_is_it(plan: dn.Plan, subject: str) -> None:
    """At the table that an estimate's covariance is evaluated at; and its cumulants for weights that are products."""
    est = estimate_of(plan, subject)
    (group,) = est.groups
    at = group.table if isinstance(group, ArmsGroup) else _shares_of(group.inner)
    np.testing.assert_allclose(group.dense_at(at, est.subject), est.covariance(), atol=1e-9 * est.n**2)
    rows = [np.random.default_rng(1).normal(size=(2, length)) for length in est.mean.shape]
    stated, found = group.cumulants(rows, est.subject), group.sums_at(flat(rows), at, est.subject)
    for part in ("variance", "third", "covariance_with_variance"):
        expected = getattr(stated, part).reshape(-1)
        np.testing.assert_allclose(getattr(found, part), expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


@every_plan
def test_an_empty_cell_is_known(plan: dn.Plan) -> None:
    with pytest.warns(UserWarning, match="standard errors away"):
        est = estimate_of(plan).given(zeros=[{"age": "v2", "smoker": True}])
    assert est.cell(age="v2", smoker=True).value == pytest.approx(0, abs=1e-12)
    assert est.mean[0, 0] == pytest.approx(est.n)


def test_estimates_of_designs_add() -> None:
    parts = [estimate_of(plan) for plan in PLANS.values()]
    whole = sum(parts)
    assert whole.n == 4 * 60_000
    np.testing.assert_allclose(whole.mean, sum(part.mean for part in parts))
    np.testing.assert_allclose(whole.covariance(), sum(part.covariance() for part in parts))
    rows = [np.eye(4)[1:2], np.eye(2)[1:2]]
    judged = [part.groups[0].judged(rows, part.subject) for part in parts]
    third, variance = (sum(float(getattr(one.shape, of)[0, 0]) for one in judged) for of in ("third", "variance"))
    found = whole.cell(age="v0", smoker=True).found
    assert found.third == pytest.approx(third * found.variance / variance)
    assert whole.homogeneity is None


# -- ratios ------------------------------------------------------------------------------------------------------------


@every_subject
@every_plan
def test_ratios_have_the_delta_methods_standard_errors(plan: dn.Plan, subject: str) -> None:
    est = estimate_of(plan, subject)

    def risk(t: np.ndarray, age: int) -> float:
        return float(t[age, 1] / t[age].sum())

    def correlation(t: np.ndarray) -> float:
        smoker, old = t[:, 1].sum() / t.sum(), t[2].sum() / t.sum()
        return float((t[2, 1] / t.sum() - smoker * old) / np.sqrt(smoker * (1 - smoker) * old * (1 - old)))

    def odds(t: np.ndarray) -> float:
        rest = t[:2].sum(axis=0)
        return float(t[2, 1] * rest[0] / (t[2, 0] * rest[1]))

    between = ("age", "v0", "v2")
    results = {
        "difference": (est.difference("smoker", between=between), lambda t: risk(t, 2) - risk(t, 0)),
        "ratio": (est.ratio("smoker", between=between), lambda t: risk(t, 2) / risk(t, 0)),
        "odds ratio": (est.odds_ratio("smoker", ("age", "v2")), odds),
        "correlation": (est.correlation("smoker", ("age", "v2")), correlation),
    }
    for name, (found, of) in results.items():
        value, stderr = delta(est, of)
        if name in ("difference", "ratio") and abs(found.value - value) > 1e-9:  # the other way round
            value, stderr = delta(est, lambda t: -of(t) if name == "difference" else 1 / of(t))
        assert found.value == pytest.approx(value), name
        assert found.stderr == pytest.approx(stderr, rel=0.02), name
        low, high = found.confidence_interval()
        assert low < value < high, name
        assert str(found.subject) == subject
    for row in est.conditional("smoker", given="age").to_pylist():
        value, stderr = delta(est, lambda t: t[int(row["age"][1]), int(row["smoker"])] / t[int(row["age"][1])].sum())
        assert (row["proportion"], row["stderr"]) == pytest.approx((value, stderr), rel=1e-5)
        assert row["low"] < value < row["high"]


@every_plan
def test_association_and_independence(plan: dn.Plan) -> None:
    est = estimate_of(plan)
    table, _ = cells_of(est)
    apart = np.outer(table.sum(axis=1), table.sum(axis=0))
    plain = np.sqrt(((table - apart) ** 2 / apart).sum())
    found = est.association("age", "smoker")
    assert found.cramers_v.value == pytest.approx(plain, abs=2 * found.cramers_v.stderr)
    assert found.cramers_v.confidence_interval()[0] > 0
    assert est.independence("age", "smoker").p_value < 1e-6
    assert est.independence("age", "smoker").degrees == 2
    assert est.independence("smoker", "age").statistic == pytest.approx(est.independence("age", "smoker").statistic)
    with_town = estimate_of(plan, names=("town", "smoker"))
    assert with_town.independence("town", "smoker").p_value > 1e-3


@every_plan
def test_the_associations_of_all_pairs_are_those_of_each(plan: dn.Plan) -> None:
    counts = counts_of(plan)
    found = {(row["first"], row["second"]): row for row in dn.associations(counts).to_pylist()}
    assert set(found) == {(a, b) for a, b in product(SCHEMA.names, SCHEMA.names) if SCHEMA.index(a) < SCHEMA.index(b)}
    for (first, second), row in found.items():
        est = dn.estimate(counts, [first, second]).about("population")
        flags = all(isinstance(SCHEMA[name], dn.Flag) for name in (first, second))
        effect = est.correlation(first, second) if flags else est.association(first, second).cramers_v
        low, high = effect.confidence_interval()
        assert row["measure"] == ("correlation" if flags else "Cramer's V")
        assert [row[key] for key in ("effect", "low", "high")] == pytest.approx([effect.value, low, high])
        assert row["p_value"] == pytest.approx(est.independence(first, second).p_value)


@pytest.mark.parametrize("pair", [("arms", "blocks"), ("blocks", "one block"), ("whole arms", "arms")], ids=str)
def test_two_surveys_are_compared(pair: tuple[str, str]) -> None:
    before, after = (estimate_of(PLANS[name]) for name in pair)
    (first, one), (second, other) = cells_of(before), cells_of(after)
    for place, row in enumerate(dn.compare(before, after).to_pylist()):
        difference = (second - first).reshape(-1)[place]
        stderr = np.sqrt(one[place, place] + other[place, place])
        assert (row["difference"], row["stderr"]) == pytest.approx((difference, stderr))
        assert row["low"] < difference < row["high"]


# -- proper tables -----------------------------------------------------------------------------------------------------


@every_plan
def test_a_feasible_table_is_proper_and_where_all_is_positive_close_to_the_estimate(plan: dn.Plan) -> None:
    counts, names = counts_of(plan), ["age", "smoker"]
    est, proper = dn.estimate(counts, names), dn.estimate(counts, names, method="feasible")
    assert (cells_of(proper)[0] >= 0).all()
    assert proper.mean[0, 0] == pytest.approx(est.n)
    table, covariance = cells_of(est.about("population"))
    assert (table > 0).all()
    apart = (cells_of(proper)[0] - table).reshape(-1) / np.sqrt(np.diagonal(covariance))
    assert np.abs(apart).max() < 0.35  # whole patterns say a little more
    assert proper.intervals_from == "consistent"
    np.testing.assert_array_equal(proper.covariance(), est.covariance())


@every_plan
def test_a_feasible_table_of_few_reports_is_proper_where_the_estimate_is_not(plan: dn.Plan) -> None:
    names, negative = ["age", "smoker"], 0
    for seed in range(10):
        counts = counts_of(plan, 24, seed)
        few = dn.estimate(counts, names, method="feasible")
        negative += (cells_of(dn.estimate(counts, names))[0] < 0).any()
        assert (cells_of(few)[0] > -1e-12).all()
        assert few.mean[0, 0] == pytest.approx(24)
        known = few.given({"age": {"v0": 0.5}})
        assert known.cell(age="v0").value == pytest.approx(0.5)
        assert (cells_of(known)[0] > -1e-12).all()
    assert negative


@every_plan
def test_posterior_draws_and_records(plan: dn.Plan) -> None:
    rng = np.random.default_rng(1)
    proper = dn.estimate(counts_of(plan), ["age", "smoker"], method="feasible")
    drawn = proper.posterior(draws=2_000, rng=rng)
    table, covariance = cells_of(proper.about("population"))
    stderr = np.sqrt(np.diagonal(covariance))
    assert (np.abs(drawn.mean - table.reshape(-1)) < 0.25 * stderr).all()
    np.testing.assert_allclose(drawn.draws.std(axis=0), stderr, rtol=0.15)
    assert (drawn.draws >= 0).all()
    records = proper.sample(20_000, rng).to_pydict()
    found = np.zeros((3, 2))
    for age, smoker in zip(records["age"], records["smoker"], strict=True):
        found[int(age[1]), int(smoker)] += 1
    assert (np.abs(found / 20_000 - table) < 5 * np.sqrt(table / 20_000)).all()


# -- without noise -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["blocks", "arms"])
def test_with_hardly_any_noise_results_are_those_of_the_answers(kind: str) -> None:
    """At the largest epsilon all is what a plain survey says, for respondents who were all asked everything."""
    schema = dn.Schema(list(SCHEMA)[:3])
    arms = [["smoker", "drinker", "age"], [["smoker", "age"], ["drinker"]]]
    plan = (
        dn.Plan(schema, epsilon=60.0, arms=arms)
        if kind == "arms"
        else dn.Plan(schema, epsilon=60.0, together=[["smoker", "age"]])
    )
    people = dn.simulate.truth(schema, truth_table().sum(axis=3)).people(20_000, np.random.default_rng(1))
    counts = dn.simulate.counts(people, plan, np.random.default_rng(2))
    est = dn.estimate(counts, ["age", "smoker"])
    table = people.sum(axis=1).T / 20_000
    np.testing.assert_allclose(cells_of(est)[0], table, atol=2e-3)
    risk = table[:, 1] / table.sum(axis=1)
    found = [row["proportion"] for row in est.conditional("smoker", given="age").to_pylist() if row["smoker"]]
    assert found == pytest.approx(risk, abs=0.01)
    smoker, drinker = people.sum(axis=(1, 2)) / 20_000, people.sum(axis=(0, 2)) / 20_000
    both = people[1, 1].sum() / 20_000
    phi = (both - smoker[1] * drinker[1]) / np.sqrt(smoker.prod() * drinker.prod())
    pair = dn.estimate(counts, ["smoker", "drinker"])
    assert pair.correlation("smoker", "drinker").value == pytest.approx(phi, abs=5e-3)
    rows = np.argwhere(people >= 0).repeat(people.reshape(-1), axis=0)
    x = np.column_stack([np.ones(20_000), rows[:, 1], rows[:, 2] == 1, rows[:, 2] == 2])
    expected = np.linalg.lstsq(x, rows[:, 0], rcond=None)[0]
    fit = dn.regress(counts, "smoker", on=["drinker", "age"], about="respondents")
    np.testing.assert_allclose(fit.coefficients, expected, atol=5e-3)


# -- the trust rule ----------------------------------------------------------------------------------------------------


@every_subject
@every_plan
def test_with_few_reports_no_interval_is_given(plan: dn.Plan, subject: str) -> None:
    est = dn.estimate(counts_of(plan, 40 if plan.has_arms else 2), ["age", "smoker"]).about(subject)
    cell = est.cell(age="v0", smoker=True)
    assert not cell.enough
    assert np.isnan(cell.confidence_interval()).all()
    assert "not enough reports" in str(cell)
    assert all(np.isnan(row["low"]) and np.isnan(row["high"]) for row in est.table().to_pylist())
    assert all(np.isnan(row["low"]) for row in est.conditional("smoker", given="age").to_pylist())
    assert "not enough reports" in str(est.difference("smoker", between=("age", "v0", "v2")))
    assert not dn.estimate(counts_of(plan, 8, 3), ["age", "smoker"]).independence("age", "smoker").enough
    many = estimate_of(plan, subject)
    assert many.cell(age="v0", smoker=True).enough
    assert "95% CI" in str(many.cell(age="v0", smoker=True))
    assert not any(np.isnan(row["low"]) for row in many.table().to_pylist())


@pytest.mark.parametrize("name", ["arms", "whole arms", "one block"])
def test_trust_comes_with_reports_and_does_not_go_again(name: str) -> None:
    plan = PLANS[name]
    enough = [
        dn.estimate(counts_of(plan, n, seed=2), ["age", "smoker"]).cell(age="v0", smoker=True).enough
        for n in (20 if plan.has_arms else 2, 60, 200, 600, 2_000, 6_000, 20_000)
    ]
    assert enough == sorted(enough)
    assert not enough[0]
    assert enough[-1]


@every_subject
def test_as_arms_are_samples_each_has_fifty_respondents_about_either_subject(subject: str) -> None:
    """However little noise there is: the variance of a sample of n is too small by one part in n."""
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("town", ["here", "there"])])
    plan = dn.Plan(schema, {"town": dn.Public()}, epsilon=8.0, arms=[["a"], ["b"]])
    of = dn.simulate.truth(schema, {"a": 0.45, "b": 0.5, "town": [0.5, 0.5]})
    enough, towns = {}, []
    for n in (40, 90, 150):
        counts = dn.simulate.counts(of, plan, np.random.default_rng(1), n=n)
        est = dn.estimate(counts, ["a"]).about(subject)
        enough[est.asked >= 50] = est.cell(a=True).enough
        towns.append(dn.estimate(counts, ["a", "town"]).about(subject).cell(town="here").enough)
    assert towns == [subject == "respondents", True, True]  # all are asked it, and it is known among the respondents
    assert enough == {False: False, True: True}
