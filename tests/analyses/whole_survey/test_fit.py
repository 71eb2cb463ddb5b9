"""`dn.fit`: what it finds, how sure it says it is, what it refuses."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.whole_survey import third_order
from deniable.analyses.whole_survey.contrasts import Terms
from deniable.analyses.whole_survey.model import CAVEATS, Model
from deniable.analyses.whole_survey.whole_table import WholeTable, margin_of
from deniable.inference.one_feature import Array

NAMES = [f"q{k}" for k in range(8)]
FLAGS = dn.Schema([dn.Flag(name) for name in NAMES])
LEVELS = (2,) * 8


def of_pairs(seed: int, size: float) -> Array:
    """A truth without interactions of three: skewed margins, and interactions of all pairs."""
    terms = Terms(LEVELS, tuple(one for k in (1, 2) for one in combinations(range(8), k)))
    rng = np.random.default_rng(seed)
    c = np.where(terms.orders == 1, rng.normal(0.4, 0.3, terms.count), rng.normal(0, size, terms.count))
    return WholeTable(terms).shares(c).reshape(LEVELS)


def distance(model: Model, truth: Array, order: int) -> float:
    """The mean total variation distance of margins."""
    apart = []
    for places in combinations(range(8), order):
        est = model.project(*(NAMES[place] for place in places))
        shares = np.array(est.table().to_pydict()["proportion"])
        apart.append(0.5 * np.abs(shares - margin_of(truth, places).reshape(-1)).sum())
    return float(np.mean(apart))


TRUTH = of_pairs(1, 0.25)
PLAN = dn.design(FLAGS, epsilon=1.0, order=2)


@pytest.fixture(scope="module")
def counts() -> dn.Counts:
    return dn.simulate.counts(dn.simulate.truth(FLAGS, TRUTH), PLAN, 1, n=40_000)


@pytest.fixture(scope="module")
def model(counts: dn.Counts) -> Model:
    return dn.fit(counts)


@pytest.mark.slow
def test_a_survey_without_end_is_fitted_exactly() -> None:
    many = dn.simulate.counts(dn.simulate.truth(FLAGS, TRUTH), PLAN, 1, n=10**9)
    model = dn.fit(many)
    assert distance(model, TRUTH, 4) < 1e-3
    assert model.fit_quality.left_out.p_value > 1e-3
    odd = np.indices(LEVELS)[:3].sum(axis=0) % 2
    other = np.where(odd, 0.8, 1.2) * TRUTH  # an interaction of three
    three = dn.fit(dn.simulate.counts(dn.simulate.truth(FLAGS, other / other.sum()), PLAN, 1, n=10**9))
    assert three.fit_quality.left_out.p_value < 1e-6


def test_a_noisy_survey_is_closer_than_its_tables_and_than_independence(counts: dn.Counts, model: Model) -> None:
    shares = [model.project(name).cell({name: True}).value for name in NAMES]
    independent = TRUTH * 0 + 1.0
    for place, share in enumerate(shares):
        independent *= np.array([1 - share, share]).reshape([2 if k == place else 1 for k in range(8)])
    alone = [
        0.5 * np.abs(margin_of(independent, places) - margin_of(TRUTH, places)).sum()
        for places in combinations(range(8), 3)
    ]
    assert distance(model, TRUTH, 3) < 0.8 * np.mean(alone)
    pairs = [
        (dn.estimate(counts, [NAMES[i], NAMES[j]], method="feasible"), (i, j)) for i, j in [(0, 1), (2, 5), (4, 7)]
    ]
    apart = [
        0.5 * np.abs(np.array(est.table().to_pydict()["proportion"]) - margin_of(TRUTH, pair).reshape(-1)).sum()
        for est, pair in pairs
    ]
    assert distance(model, TRUTH, 2) < np.mean(apart)


@pytest.mark.slow
def test_intervals_hold_what_they_say() -> None:
    """Cells above 5 % of tables of three and four, over 12 truths and surveys; half as long they would not."""
    held, halves, cells = 0, 0, 0
    for seed in range(12):
        truth = of_pairs(100 + seed, 0.2)
        model = dn.fit(dn.simulate.counts(dn.simulate.truth(FLAGS, truth), PLAN, seed, n=60_000))
        for places in [(0, 1, 2), (3, 4, 5, 6), (1, 5, 7), (0, 2, 4, 6)]:
            table = model.table(*(NAMES[place] for place in places)).to_pydict()
            shares = margin_of(truth, places).reshape(-1)
            apart = np.abs(np.array(table["proportion"]) - shares)[shares > 0.05]
            errors = np.array(table["stderr"])[shares > 0.05]
            held, halves = held + (apart < 1.96 * errors).sum(), halves + (apart < 0.98 * errors).sum()
            cells += len(apart)
    assert 0.92 < held / cells < 0.99
    assert halves / cells < 0.85


def test_margins_agree_and_are_proper(model: Model) -> None:
    four = model.project("q0", "q3", "q5", "q7")
    np.testing.assert_allclose(four.project("q5", "q0").mean, model.project("q5", "q0").mean)
    np.testing.assert_allclose(
        four.project("q5", "q0").variance, model.project("q5", "q0").variance, rtol=1e-6, atol=1e-6
    )
    assert min(four.table().to_pydict()["proportion"]) > 0
    assert four.conditional("q0", given="q3").num_rows == 4
    assert abs(four.correlation("q0", "q3").value) < 1
    assert four.n == four.asked == 40_000
    with pytest.raises(dn.EstimateError, match="about the population alone"):
        four.about("respondents")
    with pytest.raises(dn.EstimateError, match="straight from counts"):
        four.independence("q0", "q3")


def test_measures_of_association_are_refused_as_their_correction_would_be_made_twice(model: Model) -> None:
    est = model.project("q0", "q1", "q2")
    with pytest.raises(dn.EstimateError, match=r"shrunk already: ask them of dn.estimate\(counts, \['q0', 'q1'\]\)"):
        est.association("q0", "q1")
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "middle", "old"])])
    truth = dn.simulate.truth(schema, np.array([[0.3, 0.2, 0.1], [0.1, 0.1, 0.2]]))
    counts = dn.simulate.counts(truth, dn.design(schema, epsilon=1.0, order=2), 1, n=20_000)
    groups = {"below": ["young", "middle"], "old": ["old"]}
    with pytest.raises(dn.EstimateError, match="shrunk already"):
        dn.fit(counts).project("smoker", "age").merge("age", groups).association("smoker", "age")
    plain = dn.estimate(counts, ["smoker", "age"]).merge("age", groups)
    assert plain.association("smoker", "age").cramers_v.value > 0.1


def test_two_models_are_compared(model: Model) -> None:
    later = dn.simulate.counts(dn.simulate.truth(FLAGS, TRUTH), PLAN, 2, n=40_000)
    before, after = (one.project("q0", "q1", "q2") for one in (model, dn.fit(later)))
    assert dn.compare(before, after).num_rows == 8


def test_it_is_deterministic_and_takes_reports(counts: dn.Counts, model: Model, tmp_path: object) -> None:
    path = f"{tmp_path}/counts.npz"
    counts.save(path)
    np.testing.assert_array_equal(dn.fit(path).coefficients, model.coefficients)


def test_records_follow_the_model(model: Model) -> None:
    n = 200_000
    records = model.sample(n, 1)
    assert records.column_names == NAMES
    assert records.equals(model.sample(n, 1))
    codes = np.array([records[name].to_numpy() for name in ("q1", "q4", "q6")]).astype(int)
    found = np.bincount(np.ravel_multi_index(tuple(codes), (2, 2, 2)), minlength=8)
    expected = n * np.array(model.table("q1", "q4", "q6").to_pydict()["proportion"])
    assert ((found - expected) ** 2 / expected).sum() < 30  # of 7 degrees
    assert ((found - np.roll(expected, 1)) ** 2 / expected).sum() > 30
    with pytest.raises(dn.EstimateError, match="a whole number"):
        model.sample(-1)


def test_the_graph_lists_pairs_surest_first(model: Model) -> None:
    rows = model.graph().to_pylist()
    assert len(rows) == 28
    assert all(row["in_model"] for row in rows)
    assert [row["p_value"] for row in rows] == sorted(row["p_value"] for row in rows)


def test_measurements_are_unbiased_with_the_standard_error_they_say() -> None:
    """Squares of errors over standard errors have the mean 1, in 12 surveys; over half of those they have not."""
    n, schema, truth = 20_000, dn.Schema(list(FLAGS)[:4]), margin_of(TRUTH, range(4))
    plan, means = dn.design(schema, epsilon=2.0, order=2), []
    for seed in range(12):
        model = dn.fit(dn.simulate.counts(dn.simulate.truth(schema, truth), plan, seed, n=n))
        ratios = []
        for features, cells, stderr in model.measurements():
            expected = n * margin_of(truth, [NAMES.index(name) for name in features]).reshape(-1)
            assert abs(cells.sum() - n) < 1e-6
            ratios.append(np.mean((cells - expected) ** 2) / stderr**2)
        means.append(np.mean(ratios))
    error = np.std(means) / np.sqrt(len(means))
    assert abs(np.mean(means) - 1) < 4 * error
    assert abs(4 * np.mean(means) - 1) > 4 * 4 * error


def test_pairs_that_were_never_asked_are_named() -> None:
    plan = dn.Plan(FLAGS, epsilon=2.0, arms=[NAMES[:3], NAMES[2:5], NAMES[5:]])
    model = dn.fit(dn.simulate.counts(dn.simulate.truth(FLAGS, TRUTH), plan, 1, n=20_000))
    assert model.fit_quality.never_asked == 28 - 9
    assert "Never asked together" in repr(model.fit_quality)


def test_noise_is_not_fitted() -> None:
    plan = dn.design(FLAGS, epsilon=0.5, order=2)
    few = dn.simulate.counts(dn.simulate.truth(FLAGS, dict.fromkeys(NAMES, 0.5)), plan, 1, n=500)
    with pytest.raises(dn.EstimateError, match="not enough reports: chance alone explains"):
        dn.fit(few)
    with pytest.raises(dn.EstimateError, match="takes counts"):
        dn.fit(3)
    with pytest.raises(dn.EstimateError, match="no reports"):
        dn.fit(dn.simulate.counts(np.zeros(LEVELS, int), plan, 1))


def test_independent_answers_are_found_so_with_many_reports() -> None:
    plan = dn.design(FLAGS, epsilon=2.0, order=2)
    many = dn.simulate.counts(dn.simulate.truth(FLAGS, dict.fromkeys(NAMES, 0.3)), plan, 1, n=10**6)
    est = dn.fit(many).project("q0", "q1")
    assert abs(est.correlation("q0", "q1").value) < 0.01


def test_projections_that_cannot_be_are_refused(model: Model) -> None:
    with pytest.raises(dn.EstimateError, match="one or more different features"):
        model.project("q0", "q0")
    with pytest.raises(dn.SchemaError, match="nothing"):
        model.project("nothing")


def test_tables_say_if_nothing_tells_how_far_the_model_is_off(model: Model) -> None:
    """Of four and more; where no block of three was asked, of three."""
    assert model.fit_quality.left_out.known
    assert CAVEATS[3] in model.table("q0", "q1", "q2", "q3").caption
    assert "hold less often" not in model.table("q0", "q1", "q2").caption
    assert "tables of 4 and more hold less often" in repr(model.fit_quality)
    plan = dn.Plan(FLAGS, epsilon=2.0, arms=[[one, other] for one, other in combinations(NAMES, 2)])
    pairs = dn.fit(dn.simulate.counts(dn.simulate.truth(FLAGS, TRUTH), plan, 1, n=40_000))
    assert CAVEATS[2] in pairs.table("q0", "q1", "q2").caption
    assert "hold less often" not in pairs.table("q0", "q1").caption
    assert "tables of 3 and more hold less often" in repr(pairs.fit_quality)
    np.testing.assert_array_equal(pairs.table("q0", "q1", "q2")["low"], pairs.project("q0", "q1", "q2").table()["low"])


def test_one_strong_interaction_of_three_is_not_lost_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of six features go together in a way that no pair shows: intervals of a model of pairs hold there, too."""
    monkeypatch.setattr(third_order, "MOST_COEFFICIENTS", 0)  # interactions of three are never in the model
    schema = dn.Schema([dn.Choice(f"q{k}", list("abcd")[:m]) if m > 2 else dn.Flag(f"q{k}") for k, m in enumerate((3, 4, 2, 2, 3, 2))])  # fmt: skip  # noqa: E501
    parity = (np.indices((3, 4, 2, 2, 3, 2))[:3] > 0).sum(axis=0) % 2
    truth = np.where(parity, 1.7, 0.3)
    truth /= truth.sum()
    plan = dn.design(schema, epsilon=2.0, order=3)
    held, without, elsewhere, surveys = 0.0, 0.0, 0, 10
    for seed in range(surveys):
        model = dn.fit(dn.simulate.counts(dn.simulate.truth(schema, truth), plan, seed, n=50_000))
        left = model.fit_quality.left_out
        assert (0, 1, 2) in left.own
        assert "for 1 three" in repr(model.fit_quality) or len(left.own) > 1
        elsewhere += len(left.own) - 1
        shares = margin_of(truth, (2, 0, 1)).reshape(-1)
        plain = replace(model, fit_quality=replace(model.fit_quality, left_out=replace(left, own={})))
        inside = []
        for one in (model, plain):
            table = one.table("q2", "q0", "q1").to_pydict()  # in another order than the survey's
            inside.append(((np.array(table["low"]) <= shares) & (shares <= np.array(table["high"]))).mean())
        held, without = held + inside[0] / surveys, without + inside[1] / surveys
    assert held > 0.88
    assert without < 0.6
    assert elsewhere <= 2  # of 190 others, once in a thousand each
