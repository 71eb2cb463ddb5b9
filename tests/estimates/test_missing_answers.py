"""Estimates of questions that may be skipped: against enumeration in fractions, and against a choice of three."""

from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.estimates.estimate import Estimate
from deniable.estimates.respondent_group import Group
from tests.support.channels import evidence_channel
from tests.support.surveys import own_estimate, some_axes, some_weights, truth_tensor

FLAG = dn.Flag("smoker", missing="no answer")
OTHERS = [dn.Choice("age", ["young", "old"], missing="no answer"), dn.Flag("rich")]
PLANS = {
    "GRR": dn.Plan(dn.Schema([FLAG, dn.Flag("rich")]), {"smoker": dn.GRR(epsilon=1.0)}, epsilon=2.0),
    "subsets": dn.Plan(
        dn.Schema([dn.Flag("rich"), FLAG]), {"smoker": dn.SubsetSelection(epsilon=1.0, size=2)}, epsilon=1.5
    ),
    "unary": dn.Plan(
        dn.Schema([FLAG, dn.Flag("rich", missing="skipped")]),
        {"smoker": dn.UnaryEncoding(p=0.2, q=0.7), "rich": dn.GRR(epsilon=0.5)},
    ),
    "hashing": dn.Plan(dn.Schema([FLAG]), {"smoker": dn.LocalHashing(epsilon=1.0, buckets=2)}),
    "public": dn.Plan(dn.Schema([FLAG, dn.Flag("rich")]), {"smoker": dn.Public()}, epsilon=1.0),
}
PEOPLE = [(2, 0), (1, 1), (0, 1), (1, 0)]


def exact(plan: dn.Plan, people: list[tuple[int, ...]], method: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the entries that users see, by every outcome of every respondent's report."""
    shape = [1 + len(feature.columns) for feature in plan.schema]
    seen = [(0, 1) if feature.levels == 2 else (0, 2, 3) for feature in plan.schema]
    places = np.arange(prod(shape)).reshape(shape)[np.ix_(*seen)].reshape(-1)
    mean, covariance = 0 * Fraction(1), 0 * Fraction(1)
    for person in people:
        laws = [evidence_channel(protocol, x) for protocol, x in zip(plan.protocols, person, strict=False)]
        first, second = 0 * Fraction(1), 0 * Fraction(1)
        for outcome in product(*(law.items() for law in laws)):
            zs = [
                own_estimate(protocol, bits, centred=method != "unbiased", weights=own)
                for protocol, own, (bits, _) in zip(plan.protocols, some_weights(plan, method), outcome, strict=True)
            ]
            z = np.array([prod(parts) for parts in product(*zs)], object)[places]
            chance = prod(one for _, one in outcome)
            first, second = first + chance * z, second + chance * np.outer(z, z)
        mean, covariance = mean + first, covariance + second - np.outer(first, first)
    return np.asarray(mean).astype(float), np.asarray(covariance).astype(float)


@pytest.mark.parametrize("method", ["unbiased", "centred"])
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_mean_and_covariance_are_those_of_enumeration(plan: dn.Plan, method: str) -> None:
    """At the truth, so that nothing is left of noise: of (not looked at, True, missing), False being the difference."""
    order = [plan.schema.names.index("smoker"), *(k for k, name in enumerate(plan.schema.names) if name != "smoker")]
    people = [tuple(np.array(person)[: len(order)][np.argsort(order)].tolist()) for person in PEOPLE]
    group = Group(len(people), tuple(some_axes(plan, method)), truth_tensor(plan, people))
    est = Estimate(plan.schema.features, (group,), method).about("respondents")
    mean, covariance = exact(plan, people, method)
    np.testing.assert_allclose(est.mean.reshape(-1), mean, atol=1e-9)
    scale = max(1e-3, float(covariance.max()))
    np.testing.assert_allclose(est.covariance(), covariance, atol=1e-9 * scale)
    np.testing.assert_allclose(est.variance.reshape(-1), np.diag(covariance), atol=1e-9 * scale)
    smoker = est.project("smoker")
    assert smoker.mean.tolist() == [4, 2, 1]
    assert [round(smoker.cell(smoker=answer).count, 9) for answer in (False, True, "no answer")] == [1, 2, 1]


# -- a choice of three is the same question ----------------------------------------------------------------------------

AS_CHOICE = dn.Choice("smoker", ["no", "yes", "no answer"])
DESIGNS: dict[str, dict[str, Any]] = {
    "apart": {"epsilon": 6.0},
    "unary": {"protocols": {"smoker": dn.UnaryEncoding.optimized(2.0)}, "epsilon": 6.0},
    "a block": {"epsilon": 4.0, "together": [["smoker", "age"]]},
    "arms": {"epsilon": 4.0, "arms": [["smoker", "age"], ["smoker", "rich"]]},
}


def two_surveys(design: str) -> tuple[dn.Counts, dn.Counts]:
    """One survey counted twice: with a flag that may be skipped, and with a choice of the same three answers."""
    rng = np.random.default_rng(8)
    n = 6_000
    kind = rng.integers(3, size=n)
    smoker = np.where(rng.random(n) < 0.6, kind, rng.integers(3, size=n))
    columns: dict[str, Any] = {
        "age": np.array(["young", "old", None])[kind],
        "rich": rng.random(n) < 0.3 + 0.3 * (kind == 1),
    }
    counted = []
    for first, answers in ((FLAG, [False, True, None]), (AS_CHOICE, AS_CHOICE.values)):
        plan = dn.Plan(dn.Schema([first, *OTHERS]), **DESIGNS[design])
        given = {"smoker": [answers[code] for code in smoker], **columns}
        counted.append(dn.count(dn.randomize(given, plan, rng=np.random.default_rng(2))))
    return counted[0], counted[1]


every_design = pytest.mark.parametrize("design", DESIGNS)


def numbers(table: Any) -> np.ndarray:
    kept = [name for name in table.column_names if name in ("proportion", "stderr", "low", "high", "effect", "p_value")]
    return np.array([table[name].to_numpy() for name in kept])


@every_design
def test_every_result_is_that_of_a_choice_of_three(design: str) -> None:
    counts, twin_counts = two_surveys(design)
    est, twin = dn.estimate(counts, ["smoker", "age"]), dn.estimate(twin_counts, ["smoker", "age"])
    assert est.mean.shape == (3, 4)
    np.testing.assert_array_equal(est.mean, twin.mean[[0, 2, 3]])
    np.testing.assert_array_equal(est.variance, twin.variance[[0, 2, 3]])
    places = np.arange(16).reshape(4, 4)[[0, 2, 3]].reshape(-1)
    np.testing.assert_array_equal(est.covariance(), twin.covariance()[np.ix_(places, places)])
    assert est.table().to_pydict() == twin.table().to_pydict()
    assert est.table()["smoker"].to_pylist()[::3] == ["no", "yes", "no answer"]
    for is_flag, is_choice in ((True, "yes"), (False, "no"), ("no answer", "no answer")):
        one, other = est.cell(smoker=is_flag, age="old"), twin.cell(smoker=is_choice, age="old")
        assert (one.value, one.stderr) == (other.value, other.stderr)
        assert one.confidence_interval() == other.confidence_interval()
    numbers_of = [numbers(each.conditional("smoker", given="age")) for each in (est, twin)]
    np.testing.assert_array_equal(*numbers_of)
    between = ("age", "young", "old")
    yes, skipped = ("smoker", "yes"), ("smoker", "no answer")
    assert str(est.difference("smoker", between=between)) == str(twin.difference(yes, between=between))
    assert str(est.ratio(skipped, between=between)) == str(twin.ratio(skipped, between=between))
    assert str(est.correlation("smoker", ("age", "old"))) == str(twin.correlation(yes, ("age", "old")))
    assert str(est.association("smoker", "age")) == str(twin.association("smoker", "age"))
    assert str(est.independence("smoker", "age")) == str(twin.independence("smoker", "age"))


@every_design
def test_weights_and_known_shares_take_the_axis_that_is_shown(design: str) -> None:
    counts, twin_counts = two_surveys(design)
    est, twin = dn.estimate(counts, ["smoker", "age"]), dn.estimate(twin_counts, ["smoker", "age"])
    weights = np.zeros((3, 4))
    weights[0, 0], weights[1, 0], weights[2, 0] = 1, -1, -1  # False
    answer = est.cell(smoker=False)
    assert est.linear(weights).value == pytest.approx(answer.value)
    assert est.linear(weights).stderr == pytest.approx(answer.stderr)
    any_weights = np.arange(12.0).reshape(3, 4) ** 2
    wide = np.zeros((4, 4))
    wide[[0, 2, 3]] = any_weights
    assert est.linear(any_weights).stderr == pytest.approx(twin.linear(wide).stderr)
    known = round(answer.value, 2)
    given, same = est.given([(weights, known * est.n)]), twin.given({"smoker": {"no": known}})
    assert given.cell(smoker=False).value == pytest.approx(known)
    assert given.cell(smoker=True).stderr == pytest.approx(same.cell(smoker="yes").stderr)
    with pytest.raises(dn.EstimateError, match=r"shape of mean, \(3, 4\); found \(4, 4\)"):
        est.linear(wide)
    with pytest.raises(dn.EstimateError, match=r"\['no', 'yes', 'no answer'\]; found 'None'"):
        est.cell(smoker="None")


@every_design
def test_proper_tables_and_draws(design: str) -> None:
    counts, twin_counts = two_surveys(design)
    proper, same = (dn.estimate(one, ["smoker", "age"], method="feasible") for one in (counts, twin_counts))
    assert proper.table().to_pydict() == same.table().to_pydict()
    assert proper.mean.shape == (3, 4)
    drawn = proper.sample(50, np.random.default_rng(1))
    assert drawn.to_pydict() == same.sample(50, np.random.default_rng(1)).to_pydict()
    dn.randomize(drawn, dn.Plan(dn.Schema([FLAG, OTHERS[0]]), epsilon=1.0))  # answers that can be given again


def test_likelihood_and_regression() -> None:
    counts, twin_counts = two_surveys("apart")
    plan = counts.plan
    answers = {
        "smoker": [True, None, False] * 500,
        "age": ["old", None, "young"] * 500,
        "rich": [True, False, True] * 500,
    }
    reports = dn.randomize(answers, plan, rng=np.random.default_rng(1))
    likely = dn.maximum_likelihood(reports, ["smoker", "rich"])
    assert likely.mean.shape == (3, 2)
    assert likely.cell(smoker="no answer", rich=False).value == pytest.approx(1 / 3, abs=0.1)
    found, same = dn.regress(counts, "rich", on=["smoker"]), dn.regress(twin_counts, "rich", on=["smoker"])
    assert str(found) == str(same).replace("smoker: yes", "smoker")
    assert "smoker: no answer" in str(found)


# -- counts ------------------------------------------------------------------------------------------------------------


def test_counts_show_true_and_missing_and_are_taken_like_that() -> None:
    plan = dn.Plan(dn.Schema([FLAG, dn.Flag("rich")]), epsilon=2.0)
    given = [[100, 60], [30, 20], [20, 10]]
    counts = dn.Counts(plan, {("smoker", "rich"): given})
    assert counts.array("smoker", "rich").tolist() == given
    assert counts.array("rich", "smoker").tolist() == np.transpose(given).tolist()
    assert counts.array("smoker").tolist() == [100, 30, 20]
    assert counts.evidence("smoker").tolist() == [100, 50, 30, 20]
    assert (counts + counts.of_sources({})).array("smoker").tolist() == [200, 60, 40]
    with pytest.raises(dn.CountError, match="must not be negative; found -10"):
        dn.Counts(plan, {"smoker": [100, 60, 50]})


def test_counts_of_independent_bits_need_the_bit_of_false() -> None:
    plan = dn.Plan(dn.Schema([FLAG]), {"smoker": dn.UnaryEncoding.optimized(1.0)})
    with pytest.raises(dn.CountError, match=r"must have shape \(4,\)"):
        dn.Counts(plan, {"smoker": [100, 40, 30]})
    assert dn.Counts(plan, {"smoker": [100, 45, 40, 30]}).array("smoker").tolist() == [100, 40, 30]


def test_counts_are_saved_with_every_column(tmp_path: Any) -> None:
    counts, _ = two_surveys("unary")
    counts.save(tmp_path / "counts.npz")
    again = dn.Counts.load(tmp_path / "counts.npz")
    assert again == counts
    assert again.array("smoker").shape == (3,)


# -- simulation --------------------------------------------------------------------------------------------------------


def test_simulated_surveys_have_missing_answers() -> None:
    """One share is that of yes, and then nobody skips the question; three are those of no, yes and missing."""
    schema = dn.Schema([FLAG, dn.Flag("rich")])
    plan, rng = dn.Plan(schema, epsilon=8.0), np.random.default_rng(1)
    of = dn.simulate.truth(schema, [(1.0, {"smoker": [0.5, 0.3, 0.2], "rich": 0.5})])
    est = dn.estimate(dn.simulate.counts(of, plan, rng, n=100_000), ["smoker"])
    np.testing.assert_allclose(est.mean / est.n, [1, 0.3, 0.2], atol=0.02)
    of = dn.simulate.truth(schema, [(1.0, {"smoker": 0.3, "rich": 0.5})])
    est = dn.estimate(dn.simulate.counts(of, plan, rng, n=100_000), ["smoker"])
    np.testing.assert_allclose(est.mean / est.n, [1, 0.3, 0.0], atol=0.02)


def test_a_plan_says_what_to_expect() -> None:
    plan = dn.Plan(dn.Schema([FLAG, dn.Flag("rich")]), epsilon=2.0)
    as_choice = dn.Plan(dn.Schema([AS_CHOICE, dn.Flag("rich")]), epsilon=2.0)
    found, same = (one.expect("smoker", "rich", n=10_000) for one in (plan, as_choice))
    assert found.half_width == same.half_width
    guess = {"smoker": 0.2, "rich": 0.5}
    assert plan.power("smoker", "rich", correlation=0.2, n=10_000, guess=guess) > 0.05
    assert plan.expect("smoker", n=10_000, guess={"smoker": {False: 0.5, True: 0.3, "no answer": 0.2}}).half_width > 0
