"""What a plan will tell before anybody was asked: against closed forms, estimates without noise, and simulation."""

from math import ceil, nan
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.analyses.expected.guesses import guessed
from deniable.errors import DeniableError
from deniable.survey.aim import Aim
from deniable.survey.half_widths import HalfWidths
from deniable.survey.planning.information import Candidates
from tests.support.planning import EIGHT, EIGHT_WANTED, MULTI, wanted
from tests.support.situations import values

SCHEMA = dn.Schema([dn.Flag("a"), dn.Choice("b", values(3)), dn.Flag("c")])
SHARES = np.array([[[0.20, 0.10], [0.12, 0.10], [0.06, 0.08]], [[0.05, 0.05], [0.06, 0.06], [0.04, 0.08]]])
TRUTH = dn.simulate.truth(SCHEMA, SHARES)
ARMS: dict[Any, float] = {("a", "b"): 0.5, ("b", "c"): 0.2, (("a",), ("b", "c")): 0.3}
PLAN = dn.Plan(SCHEMA, epsilon=4.0, arms=ARMS)
SUBJECTS = ["population", "respondents"]


def stderrs(est: dn.Estimate, subject: str = "population") -> np.ndarray:
    """The standard error of every cell."""
    return np.array(est.about(subject).table().to_pydict()["stderr"])


# -- two computations of the same --------------------------------------------------------------------------------------

UNIFORM: dict[str, tuple[dn.Schema, list[tuple[tuple[int, ...], float]], tuple[int, ...]]] = {
    "the whole block": (SCHEMA, [((0, 1, 2), 1.0)], (0, 1, 2)),
    "pairs of a block": (SCHEMA, [((0, 1, 2), 1.0)], (0, 2)),
    "two blocks": (SCHEMA, [((0, 1), 0.75), ((1, 2), 0.25)], (0, 1)),
    "a block and its questions": (SCHEMA, [((0, 1), 0.5), ((0,), 0.125), ((1,), 0.125), ((2,), 0.25)], (0, 1)),
    "larger blocks and smaller": (SCHEMA, [((0, 1, 2), 0.25), ((0, 2), 0.25), ((0,), 0.5)], (0, 2)),
    "one question of many": (SCHEMA, [((0, 1, 2), 0.25), ((1, 2), 0.25), ((1,), 0.5)], (1,)),
}


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize(("schema", "arms", "table"), UNIFORM.values(), ids=UNIFORM.keys())
def test_at_uniform_truth_it_is_the_planners_closed_form(
    schema: dn.Schema, arms: list[tuple[tuple[int, ...], float]], table: tuple[int, ...], epsilon: float
) -> None:
    """Contrasts and their information on one side, least squares over arms at the uniform table on the other."""
    names = schema.names
    plan = dn.Plan(schema, epsilon=epsilon, arms={tuple(names[k] for k in block): share for block, share in arms})
    of = wanted([feature.levels for feature in schema], [table])
    shares = np.array([share for _, share in arms])
    variance = Candidates(of, tuple(block for block, _ in arms), epsilon).variances(shares)[0]
    found = plan.expect(*(names[place] for place in table), n=10**8)
    assert found.stderr**2 * 10**8 == pytest.approx(variance, rel=1e-6)
    assert found.worst_half_width == pytest.approx(found.half_width, rel=1e-6)  # all cells are alike


def test_a_design_tells_what_the_planner_said() -> None:
    plan = dn.design(EIGHT, epsilon=2.0, want=EIGHT_WANTED, half_width=0.02)
    assert max(plan.expect(*names).half_width for names in plan.want or ()) == pytest.approx(0.02, rel=1e-3)


WITHOUT_ARMS = {
    "one by one": dn.Plan(SCHEMA, epsilon=3.0),
    "a block and a question": dn.Plan(SCHEMA, epsilon=3.0, together=[["a", "c"]]),
    "all in one": dn.Plan(SCHEMA, epsilon=3.0, together=[["a", "b", "c"]]),
    "every kind": dn.Plan(
        SCHEMA, {"a": dn.RandomizedResponse(epsilon=1.0), "b": dn.UnaryEncoding.optimized(2.0), "c": dn.Public()}
    ),
    "sets and hashes": dn.Plan(
        SCHEMA, {("a", "c"): dn.LocalHashing(epsilon=2.0, buckets=3), "b": dn.SubsetSelection(epsilon=1.0, size=2)}
    ),
}


def without_noise(plan: dn.Plan, shares: np.ndarray, n: int) -> dn.Counts:
    """The counts of evidence that are expected of a truth; rounded, which no reports give, so they are not checked."""
    order = [plan.schema.index(name) for block in plan.blocks for name in block.names]
    table = shares.transpose(order).reshape([block.unit.levels for block in plan.blocks])
    for protocol in plan.protocols:  # the axis of this block is the first, and goes to the end
        p, q = map(float, protocol.channel)
        bits = np.full((table.shape[0], protocol.columns), p)
        np.fill_diagonal(bits[-1:] if protocol.columns == 1 else bits, q)
        table = np.tensordot(table, np.hstack([np.ones((len(bits), 1)), bits]), axes=([0], [0]))
    return dn.Counts.counted(plan, n, {plan.units.schema.names: np.rint(n * table).astype(np.int64)}, None)


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("names", [("a", "b", "c"), ("c", "b"), ("a",)])
@pytest.mark.parametrize("plan", WITHOUT_ARMS.values(), ids=WITHOUT_ARMS.keys())
def test_without_arms_it_is_the_estimate_of_counts_without_noise(
    plan: dn.Plan, names: tuple[str, ...], subject: str
) -> None:
    """Of one group of respondents, whose covariance has a product form."""
    n = 10**12
    est = dn.estimate(without_noise(plan, SHARES, n), names)
    found = plan.expect(*names, n=n, guess=TRUTH)
    assert found.estimate.names == names
    assert stderrs(found.estimate, subject) == pytest.approx(stderrs(est, subject), rel=1e-5, abs=1e-13)
    cells = SHARES.sum(axis=tuple(k for k, name in enumerate(SCHEMA.names) if name not in names))
    cells = cells.T if names == ("c", "b") else cells
    assert np.array(found.estimate.table().to_pydict()["proportion"]) == pytest.approx(cells.reshape(-1), rel=1e-6)
    assert found.about(subject).stderr == pytest.approx(np.sqrt((stderrs(est, subject) ** 2).mean()), rel=1e-5)


def test_about_the_respondents_the_sampling_is_not_in_it() -> None:
    """The covariance of true answers, over n, is what both differ by."""
    n = 10**6
    found = PLAN.expect("a", "b", n=n, guess=TRUTH)
    cells = SHARES.sum(axis=2)
    difference = found.stderr**2 - found.about("respondents").stderr ** 2
    assert difference == pytest.approx((cells * (1 - cells)).mean() / n, rel=1e-4)
    assert found.about("respondents").half_width < found.half_width
    assert found.about("population").half_width == found.half_width


@pytest.mark.parametrize("n", [20, 50, 300, 1_000])
def test_of_few_people_in_many_arms_it_is_the_closed_form(n: int) -> None:
    """Sizes of arms are expected ones, and not whole: of 20 people in 140 arms each has a seventh of one."""
    schema = dn.Schema([dn.Flag(f"q{k}") for k in range(16)])
    plan = dn.design(schema, epsilon=2.0)
    assert len(plan.arms) > 100
    assert plan.expect("q0", "q1", n=n).half_width == pytest.approx(HalfWidths(plan)(("q0", "q1"), n), rel=1e-6)


# -- simulation --------------------------------------------------------------------------------------------------------

RUNS, N = 300, 20_000


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::deniable.errors.ArmSizeWarning")
def test_standard_errors_are_those_of_simulated_surveys() -> None:
    """Bounds are four Monte Carlo standard errors; the control is a plan of another epsilon."""
    rng = np.random.default_rng(1)
    errors: dict[str, list[Any]] = {"cells": [], "difference": [], "correlation": []}
    for _ in range(RUNS):
        est = dn.estimate(dn.simulate.counts(TRUTH, PLAN, rng, n=N), ["b", "a"])
        errors["cells"].append(est.table().to_pydict()["proportion"])
        errors["difference"].append(est.difference("a", between=("b", "v0", "v2")).value)
        errors["correlation"].append(est.correlation("a", ("b", "v2")).value)
    simulated = {what: float(np.sqrt(np.var(each, axis=0, ddof=1).mean())) for what, each in errors.items()}

    def said(plan: dn.Plan) -> dict[str, float]:
        found = plan.expect("b", "a", n=N, guess=TRUTH)
        return {
            "cells": found.stderr,
            "difference": found.difference("a", between=("b", "v0", "v2")).stderr,
            "correlation": found.correlation("a", ("b", "v2")).stderr,
        }

    wrong = dn.Plan(SCHEMA, epsilon=3.0, arms=ARMS)
    for what, ours in said(PLAN).items():
        bound = 4 / np.sqrt(2 * RUNS * (3 if what == "cells" else 1))
        assert abs(ours / simulated[what] - 1) < bound, what
        assert abs(said(wrong)[what] / simulated[what] - 1) > bound, what


# -- sample sizes and power --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guess", [None, {"a": 0.1, "b": [0.7, 0.2, 0.1]}])
@pytest.mark.parametrize("plan", [PLAN, dn.Plan(SCHEMA, epsilon=4.0)], ids=["arms", "one by one"])
def test_people_needed_for_a_half_width_are_the_least(plan: dn.Plan, guess: Any) -> None:
    needed = plan.needed("a", "b", half_width=0.01, guess=guess)
    assert plan.expect("a", "b", n=needed, guess=guess).half_width == pytest.approx(0.01, rel=1e-3)
    assert plan.needed("a", "b", half_width=0.005, guess=guess) == pytest.approx(4 * needed, rel=1e-3)


def test_people_needed_are_found_where_respondents_spread_over_cells_are_nothing() -> None:
    """Beside rare answers of small surveys the half respondent that the metric spreads over all cells would count."""
    guess, n = {"a": 0.001, "b": [0.998, 0.001, 0.001]}, 10**11
    width = PLAN.expect("a", "b", n=n, guess=guess).half_width
    assert PLAN.needed("a", "b", half_width=1e-4, guess=guess) == pytest.approx(n * (width / 1e-4) ** 2, rel=1e-6)


@pytest.mark.parametrize("what", ["correlation", "difference"])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_people_needed_for_a_power_have_it(what: str, power: float) -> None:
    guess = {"a": 0.2, "c": 0.6}
    needed = PLAN.needed("a", "c", power=power, guess=guess, **{what: 0.1})
    assert PLAN.power("a", "c", n=needed, guess=guess, **{what: 0.1}) == pytest.approx(power, abs=2e-3)
    assert PLAN.power("a", "c", n=needed, guess=guess, **{what: -0.1}) == pytest.approx(power, abs=2e-3)


def test_power_is_that_of_a_two_sided_test() -> None:
    from scipy.stats import norm

    guess, many = {"b": [0.2, 0.3, 0.5]}, 10**9
    stderr = PLAN.expect("a", "b", n=many, guess=guess).correlation("a", ("b", "v1")).stderr * np.sqrt(many / 5_000)
    z, edge = 0.05 / stderr, norm.isf(0.025)
    said = PLAN.power("a", ("b", "v1"), correlation=0.05, n=5_000, guess=guess)
    assert said == pytest.approx(norm.sf(edge - z) + norm.cdf(-edge - z), rel=1e-9)
    assert PLAN.power("a", "c", correlation=1e-9, n=5_000) == pytest.approx(0.05, abs=1e-6)


def test_public_answers_have_the_textbooks_sample_size() -> None:
    """A correlation of independent answers that are all shown has the standard error 1 / sqrt(n)."""
    plan = dn.Plan(SCHEMA, dict.fromkeys(SCHEMA.names, dn.Public()))
    assert plan.needed("a", "c", correlation=0.1) == ceil((1.959964 + 0.841621) ** 2 / 0.01)
    assert plan.expect("a", n=10_000).stderr == pytest.approx(0.005, rel=1e-4)
    assert plan.expect("a", n=10_000).about("respondents").stderr == pytest.approx(0, abs=1e-9)


def test_n_is_that_of_the_plan_unless_another_is_said() -> None:
    made = PLAN.for_aim(Aim((("a", "b"),), 7_000))
    assert made.expect("a", "b").n == 7_000
    assert made.expect("a", "b", n=9_000).n == 9_000
    assert made.power("a", "c", correlation=0.05) == PLAN.power("a", "c", correlation=0.05, n=7_000)
    assert made.expect("a", "b", n=np.int64(9_000)).n == 9_000


# -- guesses -----------------------------------------------------------------------------------------------------------


def test_guesses_of_every_kind_mean_the_same() -> None:
    independent = {"a": 0.3, "b": [0.5, 0.3, 0.2], "c": 0.5}
    truth = dn.simulate.truth(SCHEMA, independent)
    est = dn.estimate(without_noise(WITHOUT_ARMS["one by one"], truth.shares, 10**12), ["c", "b", "a"])
    guesses: list[Any] = [
        {"a": 0.3, "b": [0.5, 0.3, 0.2]},
        {"a": [0.7, 0.3], "b": {"v0": 0.5, "v1": 0.3, "v2": 0.2}},
        {"a": {True: 0.3, False: 0.7}, "b": np.array([0.5, 0.3, 0.2]), "c": np.float64(0.5)},
        independent,
        truth,
        est,
    ]
    first, *others = (stderrs(PLAN.expect("b", "a", n=10_000, guess=guess).estimate) for guess in guesses)
    for guess, other in zip(guesses[1:], others, strict=True):
        joint = not isinstance(
            guess, dict
        )  # other questions tell next to nothing of independent answers, but not nothing
        assert other == pytest.approx(first, rel=1e-4 if joint else 1e-5)
    uniform = stderrs(PLAN.expect("b", "a", n=10_000).estimate)
    assert np.abs(uniform / first - 1).max() > 0.02  # the control


def test_answers_without_a_share_have_equal_parts_of_what_is_left() -> None:
    b = [SCHEMA["b"]]
    np.testing.assert_allclose(guessed(b, {"b": {"v1": 0.5}}), [0.25, 0.5, 0.25], rtol=1e-15)
    np.testing.assert_allclose(guessed(b, {"b": {"v1": 0.5, "v2": 0.3}}), [0.2, 0.5, 0.3], rtol=1e-15)
    np.testing.assert_allclose(guessed(b, {"b": {"v2": 1.0}}), [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(guessed(b, {"b": {"v2": 0.7, "v0": 0.1 + 0.2}}), [0.3, 0, 0.7], atol=1e-15)
    np.testing.assert_allclose(guessed([SCHEMA["a"]], {"a": {True: 0.2}}), [0.8, 0.2], rtol=1e-15)


def test_guessed_tables_are_in_the_order_of_the_names() -> None:
    """Of three features in an order that is not its own inverse."""
    found = WITHOUT_ARMS["one by one"].expect("c", "a", "b", n=10**9, guess=TRUTH).estimate
    assert np.array(found.table().to_pydict()["proportion"]) == pytest.approx(SHARES.transpose(2, 0, 1).reshape(-1))


def test_estimates_with_negative_cells_are_guesses_too() -> None:
    rng = np.random.default_rng(3)
    skewed = dn.simulate.truth(SCHEMA, {"a": 0.01, "b": [0.98, 0.01, 0.01], "c": 0.01})
    est = dn.estimate(dn.simulate.counts(skewed, WITHOUT_ARMS["one by one"], rng, n=2_000), SCHEMA.names)
    assert min(est.table().to_pydict()["proportion"]) < 0
    assert np.isfinite(stderrs(PLAN.expect("a", "b", n=10_000, guess=est).estimate)).all()


BAD_GUESSES: dict[str, tuple[Any, str]] = {
    "a number": (0.5, "a guess is shares of answers, a simulate.truth or an estimate; found 0.5"),
    "a list": ([0.5], "a guess is shares of answers"),
    "an unknown feature": ({"x": 0.5}, "no feature 'x'"),
    "a share beyond one": ({"a": 20}, "the guess of 'a' is its share of yes, 0 to 1, such as 0.2; found 20"),
    "a share that is none": ({"a": nan}, "the guess of 'a' is its share of yes, .*; found nan"),
    "nothing": ({"a": None}, "the guess of 'a' needs 2 shares that sum to 1; found None"),
    "true": ({"a": True}, "the guess of 'a' needs 2 shares that sum to 1; found True"),
    "words for some answers": (
        {"b": {"v0": "half"}},
        "the guess of 'b' is shares of its answers, 0 to 1; found 'half'",
    ),
    "some answers that are too much": (
        {"b": {"v0": 0.9, "v1": 0.2}},
        "the guess of 'b' needs 3 shares that sum to 1; found a sum of 1.1",
    ),
    "all answers that are too little": (
        {"a": {True: 0.2, False: 0.7}},
        "needs 2 shares that sum to 1; found a sum of 0.9",
    ),
    "some answers that are negative": ({"b": {"v0": -0.2}}, "the guess of 'b' needs 3 shares that sum to 1"),
    "no number for some answers": ({"b": {"v0": nan}}, "the guess of 'b' needs 3 shares that sum to 1"),
    "words": ({"a": "half"}, "the guess of 'a' is shares of its answers; found 'half'"),
    "a list of lists": ({"b": [[0.5], [0.5, 0.2]]}, "the guess of 'b' is shares of its answers"),
    "one share of a choice": ({"b": 0.5}, "the guess of 'b' needs 3 shares that sum to 1; found 0.5"),
    "too few shares": ({"b": [0.5, 0.5]}, "the guess of 'b' needs 3 shares that sum to 1"),
    "too much": ({"b": [0.5, 0.5, 0.5]}, "the guess of 'b' needs 3 shares that sum to 1"),
    "negative": ({"b": [0.5, 0.8, -0.3]}, "the guess of 'b' needs 3 shares that sum to 1"),
    "an unknown answer": ({"b": {"v0": 1.0, "v9": 0.0}}, "a guess of 'b' is of its answers, .*; found 'v9'"),
    "a truth of something else": (
        dn.simulate.truth(dn.Schema([dn.Flag("a")]), {"a": 0.5}),
        "the guess says nothing of 'b'",
    ),
    "a truth of other answers": (
        dn.simulate.truth(dn.Schema([dn.Flag("a"), dn.Choice("b", values(4))]), np.ones((2, 4))),
        "the guess has other answers of 'b' than the plan",
    ),
}


@pytest.mark.parametrize(("guess", "words"), BAD_GUESSES.values(), ids=BAD_GUESSES.keys())
def test_guesses_that_are_refused(guess: Any, words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        PLAN.expect("a", "b", n=1_000, guess=guess)


# -- refused -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, -1, 2.5, "many", True])
def test_a_number_of_respondents_is_needed(n: Any) -> None:
    with pytest.raises(dn.PlanError, match="how many respondents there will be, n, is a whole number above 0; found"):
        PLAN.expect("a", n=n)


def test_a_number_of_respondents_may_be_written_in_any_way() -> None:
    assert len({PLAN.expect("a", n=n).stderr for n in (10_000, 1e4, np.int64(10_000))}) == 1
    assert dn.design(SCHEMA, epsilon=1.0, n=1e4).n == 10_000


APART = dn.Plan(SCHEMA, epsilon=1.0, arms=[["a"], ["b", "c"]])
REFUSED: dict[str, tuple[Any, str]] = {
    "no table": (lambda: PLAN.expect(n=9), "a table is of one or more different features"),
    "one feature twice": (lambda: PLAN.expect("a", "a", n=9), "a table is of one or more different features"),
    "an unknown feature": (lambda: PLAN.expect("x", n=9), "no feature 'x'"),
    "a group of flags": (lambda: dn.Plan(MULTI, epsilon=1.0).expect("drinks", n=9), "'drinks' is a group of flags"),
    "never asked together": (lambda: APART.expect("a", "b", n=9), "no arm asks a x b of the same people"),
    "too many cells": (
        lambda: dn.Plan(
            dn.Schema([dn.Flag(f"f{k}") for k in range(13)]), dict.fromkeys([f"f{k}" for k in range(13)], dn.Public())
        ).expect(*(f"f{k}" for k in range(13)), n=9),
        "may have 5,000 cells; this one has 8,192",
    ),
    "nothing to be needed for": (
        lambda: PLAN.needed("a"),
        "needed takes one of half_width, correlation and difference",
    ),
    "the power of a half-width": (lambda: PLAN.needed("a", half_width=0.1, power=0.9), "a half-width has no power"),
    "two things at once": (lambda: PLAN.needed("a", half_width=0.1, correlation=0.1), "needed takes one of"),
    "half-width in percent": (lambda: PLAN.needed("a", half_width=2), "half_width is a share between 0 and 1"),
    "half-width in words": (lambda: PLAN.needed("a", half_width="2%"), "half_width is a share .* found '2%'"),
    "half-width true": (lambda: PLAN.needed("a", half_width=True), "half_width is a share .* found True"),
    "one feature": (lambda: PLAN.needed("a", correlation=0.1), r"is of two features; found \['a'\]"),
    "power of one": (lambda: PLAN.needed("a", "c", correlation=0.1, power=1), "power is a probability .*; found 1"),
    "power in words": (lambda: PLAN.needed("a", "c", correlation=0.1, power="high"), "a probability .* found 'high'"),
    "power in percent": (lambda: PLAN.needed("a", "c", correlation=0.1, power=80), "such as 0.8; found 80"),
    "power of a blind test": (
        lambda: PLAN.needed("a", "c", correlation=0.1, power=0.03),
        "a test at 5 %, .*found 0.03",
    ),
    "correlation zero": (lambda: PLAN.power("a", "c", correlation=0, n=9), "a correlation or a difference, up to 1"),
    "correlation beyond": (lambda: PLAN.power("a", "c", correlation=1.1, n=9), r"up to 1; found 1.1"),
    "correlation in words": (lambda: PLAN.power("a", "c", correlation="big", n=9), r"up to 1; found 'big'"),
    "nothing to be seen": (lambda: PLAN.power("a", "c", n=9), r"correlation=0.1 or difference=0.05; found neither"),
    "both to be seen": (lambda: PLAN.power("a", "c", correlation=0.1, difference=0.1, n=9), r"0.05; found both"),
    "power without people": (lambda: PLAN.power("a", "c", correlation=0.1), "was made for no number of people; say"),
    "costs without people": (lambda: PLAN.costs(), "was made for no number of people; say how many .* n=10_000"),
    "more than is possible": (
        lambda: PLAN.power("a", "c", correlation=0.9, n=9, guess={"a": 0.1, "c": 0.9}),
        r"shares of a and c, 0.1 and 0.9, a correlation is between -1 and 0.11; found 0.9",
    ),
    "less than is possible": (
        lambda: PLAN.needed("a", "c", correlation=-0.9, guess={"a": 0.1, "c": 0.1}),
        r"a correlation is between -0.11 and 1; found -0.9",
    ),
    "a difference that is not possible": (
        lambda: PLAN.needed("a", "c", difference=0.9, guess={"a": 0.05}),
        r"a difference is between -0.1 and 0.1; found 0.9",
    ),
    "a choice without an answer": (lambda: PLAN.power("a", "b", correlation=0.1, n=9), "'b' is a choice: say which"),
    "an unknown answer": (lambda: PLAN.power("a", ("b", "v9"), correlation=0.1, n=9), "found 'v9'"),
    "no features": (lambda: PLAN.power(1, 2, correlation=0.1, n=9), "a table is of one or more different features"),
    "empty features": (lambda: PLAN.power((), "a", correlation=0.1, n=9), "a table is of one or more different"),
    "one share of everybody": (
        lambda: PLAN.power("a", "c", correlation=0.1, n=9, guess={"a": 0.0}),
        "by the guess nobody has a, so that nothing goes with it",
    ),
    "all of everybody": (
        lambda: PLAN.needed("a", ("b", "v1"), correlation=0.1, guess={"b": [0, 1, 0]}),
        "by the guess everybody has b = v1, so that nothing",
    ),
}


@pytest.mark.parametrize(("asked", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(asked: Any, words: str) -> None:
    with pytest.raises(DeniableError, match=words):
        asked()


def test_names_may_be_one_tuple() -> None:
    assert PLAN.expect(("a", "b"), n=900).half_width == PLAN.expect("a", "b", n=900).half_width  # type: ignore[arg-type]
    needed = PLAN.needed(["a", "b"], half_width=0.1)  # type: ignore[arg-type]
    assert needed == PLAN.needed("a", "b", half_width=0.1)


def test_of_a_truth_or_a_pilot_power_takes_the_shares_alone() -> None:
    shares = {"a": SHARES[1].sum(), "c": SHARES[..., 1].sum()}
    expected = PLAN.power("a", "c", correlation=0.1, n=3_000, guess=shares)
    assert PLAN.power("a", "c", correlation=0.1, n=3_000, guess=TRUTH) == pytest.approx(expected, rel=1e-9)
    pilot = dn.estimate(without_noise(WITHOUT_ARMS["one by one"], SHARES, 10**12), ["c", "b", "a"])
    assert PLAN.power("a", "c", correlation=0.1, n=3_000, guess=pilot) == pytest.approx(expected, rel=1e-6)
    assert PLAN.power("a", "c", correlation=0.1, n=3_000) != pytest.approx(expected, rel=1e-3)


def test_it_says_what_it_is() -> None:
    text = repr(PLAN.expect("a", "b", n=10_000))
    assert text.startswith("<Expectation of a x b, 10,000 respondents: half-width ")
    assert text.endswith("about the population>")
    assert repr(PLAN.expect("a", n=10_000).about("respondents")).endswith("about the respondents>")
