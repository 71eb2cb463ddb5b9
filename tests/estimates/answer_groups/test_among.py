"""Shares among those who gave certain answers: the ratios of sums of cells, with the delta method's errors and more."""

from typing import Any

import numpy as np
import pytest

import deniable as dn
from tests.support.answer_groups import (
    AGES,
    FORMS,
    NAMES,
    SHARES,
    TRUTH,
    cells,
    covariance_of,
    far_from_95,
    held,
    made,
    sum_of,
)

ANSWERED = ["yes", "no"]
YOUNG, OLD = AGES[:2], AGES[2:]
# Of plain unary encoding sums of cells are not margins, so that ratios of one are not those of the other.
every_form = pytest.mark.parametrize("form", [form for form in FORMS if "unbiased" not in form])


def having(**answers: Any) -> list[dict[str, Any]]:
    """The cells with one of some answers to each feature."""
    return [one for one in cells() if all(one[name] in own for name, own in answers.items())]


def ratio_and_error(est: dn.Estimate, top: Any, bottom: Any) -> tuple[float, float]:
    """A ratio of two sums of cells, and its standard error by the delta method, written out."""
    t, b = sum_of(est, top), sum_of(est, bottom)
    vt, vb, c = covariance_of(est, top, top), covariance_of(est, bottom, bottom), covariance_of(est, top, bottom)
    return t / b, float(np.sqrt(vt / b**2 + t**2 * vb / b**4 - 2 * t * c / b**3))


@every_form
def test_shares_are_ratios_of_sums_of_cells(form: str) -> None:
    est = made(form)
    here = est.among("smoker", ANSWERED)
    every = having(smoker=ANSWERED)
    asked = {
        "one": ({"smoker": "yes"}, having(smoker=["yes"])),
        "two": ({"smoker": "yes", "age": "65+"}, having(smoker=["yes"], age=["65+"])),
        "another": ({"drinks": True}, having(smoker=ANSWERED, drinks=[True])),
        "a group": ({"age": YOUNG}, having(smoker=ANSWERED, age=YOUNG)),
    }
    for answers, top in asked.values():
        value, stderr = ratio_and_error(est, top, every)
        found = here.cell(answers)
        assert found.value == pytest.approx(value, rel=1e-9)
        if "likelihood" not in form and "feasible" not in form:  # errors are the linear estimate's there
            assert found.stderr == pytest.approx(stderr, rel=1e-6)


@every_form
def test_tables_conditionals_and_differences_agree_with_cells(form: str) -> None:
    est = made(form)
    here = est.among("smoker", ANSWERED)
    table = here.table().to_pylist()
    assert len(table) == 2 * 4 * 2
    assert sum(row["proportion"] for row in table) == pytest.approx(1)
    for row in table[:3]:
        assert row["proportion"] == pytest.approx(here.cell({name: row[name] for name in NAMES}).value)
    by_age = here.conditional("smoker", given="age").to_pylist()
    shares = {(row["age"], row["smoker"]): row["proportion"] for row in by_age}
    for age in AGES:
        value, stderr = ratio_and_error(est, having(smoker=["yes"], age=[age]), having(smoker=ANSWERED, age=[age]))
        assert shares[age, "yes"] == pytest.approx(value, rel=1e-9)
        if "likelihood" not in form and "feasible" not in form:
            row = next(row for row in by_age if (row["age"], row["smoker"]) == (age, "yes"))
            assert row["stderr"] == pytest.approx(stderr, rel=1e-6)
    difference = here.difference(("smoker", "yes"), between=("age", YOUNG, OLD)).value
    young, old = (
        sum_of(est, having(smoker=["yes"], age=a)) / sum_of(est, having(smoker=ANSWERED, age=a)) for a in (YOUNG, OLD)
    )
    assert difference == pytest.approx(young - old)
    assert here.ratio(("smoker", "yes"), between=("age", YOUNG, OLD)).value == pytest.approx(young / old)
    odds = here.odds_ratio(("smoker", "yes"), ("age", YOUNG)).value
    assert odds == pytest.approx(young / (1 - young) / (old / (1 - old)))
    assert est.among("age", YOUNG).cell(smoker="yes").value == pytest.approx(
        est.conditional(("smoker", "yes"), given=("age", YOUNG)).value
    )


@every_form
def test_what_is_given_in_one_feature_is_what_conditional_shares_are(form: str) -> None:
    """With one answer left, the same question as ever, with the same interval."""
    est = made(form)
    row = next(
        row
        for row in est.conditional("smoker", given="age").to_pylist()
        if (row["age"], row["smoker"]) == ("30-44", "yes")
    )
    for found in (
        est.among("age", ["30-44"]).cell(smoker="yes"),
        est.conditional(("smoker", "yes"), given=("age", "30-44")),
        est.conditional(("smoker", "yes"), given={"age": ["30-44"]}),
    ):
        assert (found.value, found.stderr) == pytest.approx((row["proportion"], row["stderr"]), rel=1e-9)
        assert found.confidence_interval() == pytest.approx((row["low"], row["high"]), rel=1e-6, nan_ok=True)


def test_conditional_of_groups_and_of_two_features() -> None:
    est = made("blocks, population")
    several = est.conditional(("smoker", ["yes", "no answer"]), given={"age": OLD, "drinks": False})
    value, stderr = ratio_and_error(
        est, having(smoker=["yes", "no answer"], age=OLD, drinks=[False]), having(age=OLD, drinks=[False])
    )
    assert (several.value, several.stderr) == pytest.approx((value, stderr), rel=1e-6)
    table = est.conditional("smoker", given=("age", OLD)).to_pylist()
    assert [row["smoker"] for row in table] == ["yes", "no", "no answer"]
    assert sum(row["proportion"] for row in table) == pytest.approx(1)
    assert est.cell(age=YOUNG).value == pytest.approx(sum_of(est, having(age=YOUNG)))
    both = est.among("smoker", ANSWERED).among("age", YOUNG)
    assert both.cell(smoker="yes").value == pytest.approx(
        sum_of(est, having(smoker=["yes"], age=YOUNG)) / sum_of(est, having(smoker=ANSWERED, age=YOUNG))
    )
    assert "smoker: yes or no; age: 18-29 or 30-44" in repr(both)


YEARS = {age: float(k) for k, age in enumerate(AGES)}
REFUSED = {
    "left out": (lambda e: e.among("smoker", ANSWERED).cell(smoker="no answer"), "'no answer' of 'smoker' is left out"),
    "unknown": (lambda e: e.among("smoker", ["maybe"]), "found 'maybe'"),
    "twice": (lambda e: e.among("smoker", ["yes", "yes"]), "'yes' twice"),
    "nobody": (lambda e: e.among("smoker", ["yes"]).among("smoker", ["no"]), "nobody is left"),
    "overlapping": (
        lambda e: e.difference("drinks", between=("age", YOUNG, ["30-44", "65+"])),
        "two different groups of answers; '30-44' is in both",
    ),
    "no answers given": (lambda e: e.conditional(("smoker", "yes"), given="age"), "is given answers, too"),
    "the same feature": (lambda e: e.conditional(("age", "65+"), given=("age", YOUNG)), "different features"),
}


@pytest.mark.parametrize(("ask", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals(ask: Any, told: str) -> None:
    with pytest.raises(dn.EstimateError) as error:
        ask(made("plain, population"))
    assert told in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("age", ["18-29", "65+"])
def test_intervals_among_those_who_answered_hold(age: str) -> None:
    """Also of the rare cell. The control takes the number of those who answered and are of that age as known."""
    rng, found, control, times, k = np.random.default_rng(8), [], [], 250, AGES.index(age)
    true = SHARES[0, k].sum() / SHARES[:2, k].sum()
    plan = dn.Plan(TRUTH.schema, epsilon=4.0, together=[["smoker", "age"], ["drinks"]])
    for _ in range(times):
        est = dn.estimate(dn.simulate.counts(TRUTH, plan, rng, n=3000), ["smoker", "age"]).about("population")
        one = est.among("smoker", ANSWERED).among("age", [age]).cell(smoker="yes")
        found.append(one.confidence_interval())
        half = 0.5 * 1.96 * est.cell(smoker="yes", age=age).stderr / est.cell(smoker=ANSWERED, age=age).value
        control.append((one.value - half, one.value + half))
    share = held(true, np.array(found))
    assert -3.3 < far_from_95(share, times) < 5  # a rare share's interval may hold it more often
    assert far_from_95(held(true, np.array(control)), times) < -3.3


def test_tables_say_whom_they_are_about() -> None:
    est = made("plain, population")
    answered = est.among("smoker", ANSWERED)
    told = "Among those with smoker: yes or no. About the population; "
    for table in (
        answered.table(),
        answered.conditional("smoker", given="age"),
        answered.contrasts(("smoker", "yes"), by="age"),
        answered.mean_of("age", dict.fromkeys(AGES, 1) | {AGES[0]: 0}, by="smoker"),
    ):
        assert table.about.caption.startswith(told)
        assert told in " ".join(str(table).split())
        assert "those with smoker" not in table.about.title  # said once in a picture, too
    old = est.conditional("smoker", given=("age", OLD))
    assert old.about.caption.startswith(f"Among those with age: {' or '.join(OLD)}. About")
    assert est.conditional("smoker", given="age").about.caption.startswith("About")


def test_who_is_left_is_said_in_plain_words() -> None:
    schema = dn.Schema(
        [dn.Flag("smoker", missing="none"), dn.Choice("age", ["young", "old", "skipped"], missing="skipped")]
    )
    of = dn.simulate.truth(schema, [(1.0, {"smoker": [0.5, 0.3, 0.2], "age": [0.4, 0.4, 0.2]})])
    some = dn.estimate(
        dn.simulate.counts(of, dn.Plan(schema, epsilon=9.0), np.random.default_rng(1), n=900), schema.names
    )
    answered = some.among("smoker", [False, True])
    assert answered.who == some.among("smoker", [True, False]).who == "among those who answered smoker"
    assert answered.among("age", ["old", "young"]).who == "among those who answered smoker and age"
    assert answered.among("age", "old").who == "among those who answered smoker and with age: old"
    assert some.among("smoker", True).among("age", ["old", "skipped"]).who == (
        "among those with smoker: yes; age: old or skipped"
    )
    assert some.among("smoker", [True, "none"]).who == "among those with smoker: yes or none"
    assert some.among("age", ["young", "old", "skipped"]).who == ""  # nobody is left out
    assert repr(answered).startswith("<among those who answered smoker, of")


def both_given(est: Any) -> list[Any]:
    """What is given as a pair, as a mapping, and by going among those who gave these answers."""
    ages = {"age": OLD}
    by_hand = est.among("age", OLD)
    return [
        [one.to_pydict() for one in (est.conditional("smoker", given=("age", OLD)), by_hand.project("smoker").table())],
        [one.to_pydict() for one in (est.conditional("smoker", given=ages), by_hand.project("smoker").table())],
        [one.value for one in (est.conditional(("smoker", "yes"), given=ages), by_hand.cell(smoker="yes"))],
        [one.stderr for one in (est.conditional(("smoker", "yes"), given=("age", OLD)), by_hand.cell(smoker="yes"))],
    ]


def test_answers_are_given_among_respondents_as_among_everybody() -> None:
    """A mapping was taken for the names of its features alone."""
    est = made("plain, population")
    for here in (est, est.among("smoker", ANSWERED)):
        for found, by_hand in both_given(here):
            assert found == by_hand
        every = here.conditional("smoker", given="age").to_pylist()
        shares = {row["smoker"]: row["proportion"] for row in every if row["age"] == AGES[0]}
        one = here.conditional("smoker", given={"age": AGES[0]})
        assert dict(zip(one["smoker"].to_pylist(), one["proportion"].to_pylist(), strict=True)) == pytest.approx(shares)


YEARS = {age: float(k) for k, age in enumerate(AGES)}
REFUSED = {
    "nothing": (lambda est: est.conditional("smoker", given={}), "one or more features that are given; found none"),
    "no features": (lambda est: est.conditional("smoker", given=[]), "one or more features that are given"),
    "None": (lambda est: est.conditional("smoker", given=None), "one or more features that are given; found None"),
    "itself": (lambda est: est.conditional("smoker", given={"smoker": "yes"}), "features; found 'smoker' twice"),
    "no such answer": (lambda est: est.conditional("smoker", given={"age": "old"}), "'age' has the answers"),
    "a feature": (lambda est: est.conditional(("smoker", "yes"), given="age"), "given answers, too"),
    "between": (lambda est: est.difference(("smoker", "yes"), between={"age": OLD[0]}), "between is a feature and two"),
    "ratio": (lambda est: est.ratio(("smoker", "yes"), between={"age": OLD[0]}), "between is a feature and two"),
    "by": (lambda est: est.mean_of("age", YEARS, by={"smoker": "yes"}), "answers are for among"),
    "means": (lambda est: est.mean_of("age", YEARS, between={"smoker": "yes"}), "between is"),
    "contrasts": (lambda est: est.contrasts(("smoker", "yes"), by={"age": OLD}), "this takes one of 'smoker', 'age'"),
}  # fmt: skip


@pytest.mark.parametrize(("ask", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_given_wrongly_is_refused_among_respondents_too(ask: Any, told: str) -> None:
    est = made("plain, population")
    for here in (est, est.among("smoker", ANSWERED)):
        with pytest.raises(dn.EstimateError, match=told):
            ask(here)


def test_expected_shares_take_answers_that_are_given() -> None:
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "old"])])
    expected = dn.Plan(schema, epsilon=9.0).expect("smoker", "age", n=900, guess={"smoker": 0.3})
    one = expected.conditional(("smoker", True), given={"age": "old"})
    table = expected.conditional("smoker", given={"age": "old"})
    assert one.value == pytest.approx(0.3)
    assert table["stderr"].to_pylist() == pytest.approx([one.stderr] * 2)


@pytest.mark.parametrize("n", [500, 3_000, 20_000])
def test_among_all_answers_is_everybody_exactly(n: int) -> None:
    """The condition leaves nobody out, so that a result is the one without it, to the last bit, and as trusted."""
    est, ages = simulated(n), ["y", "m", "o"]
    here, cell = est.among("age", ages), est.cell(smoker=True)
    assert cell.enough
    for found in (here.cell(smoker=True), est.conditional(("smoker", True), given=("age", ages))):
        assert (found.value, found.stderr, found.enough) == (cell.value, cell.stderr, True)
        assert found.confidence_interval() == cell.confidence_interval()
    old = est.conditional(("smoker", True), given=("age", ["o"]))
    both = est.among("smoker", [True, False]).conditional(("smoker", True), given=("age", ["o"]))
    assert (both.value, both.stderr, both.confidence_interval()) == (old.value, old.stderr, old.confidence_interval())
    assert here.table().to_pylist() == est.table().to_pylist()
    by_age = est.conditional("smoker", given="age").to_pylist()
    assert here.conditional("smoker", given="age").to_pylist() == by_age
    scores = {"y": 1.0, "m": 2.0, "o": 4.0}
    mean, same = est.mean_of("age", scores), est.among("smoker", [True, False]).mean_of("age", scores)
    assert (same.value, same.stderr, same.confidence_interval()) == (
        mean.value,
        mean.stderr,
        mean.confidence_interval(),
    )
    assert here.correlation("smoker", ("age", "o")).value == est.correlation("smoker", ("age", "o")).value
    assert here.independence("smoker", "age") == est.independence("smoker", "age")
    assert repr(here.association("smoker", "age")) == repr(est.association("smoker", "age"))
    assert repr(here).startswith("<among everybody, of <Estimate")


@pytest.mark.parametrize("n", [500, 20_000])
def test_that_somebody_gave_any_answer_is_known(n: int) -> None:
    """Among smokers, as among all others, everybody gave one of all answers: a share of 1, and no difference."""
    est, every, smokers = simulated(n), ("age", ["y", "m", "o"]), ("smoker", True)
    between = ("smoker", True, False)
    few = est.among("age", ["y", "m"])
    for found, value in (
        (est.conditional(every, given=smokers), 1.0),
        (few.cell(age=["y", "m"]), 1.0),
        (est.ratio(every, between=between), 1.0),
        (est.difference(every, between=between), 0.0),
    ):
        assert (found.value, found.stderr, found.enough) == (value, 0.0, True)
        assert found.confidence_interval() == (value, value)
    for asked in (est.odds_ratio, est.correlation):
        with pytest.raises(dn.EstimateError, match="everybody here gave one of these answers to 'age'"):
            asked("smoker", every)
    for asked in (few.odds_ratio, few.correlation):
        with pytest.raises(dn.EstimateError, match="everybody here gave one of these answers to 'age'"):
            asked("smoker", ("age", ["y", "m"]))


def simulated(n: int) -> dn.Estimate:
    """A survey of smoking and age, of which rounding once decided whether a share of everybody was known."""
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["y", "m", "o"])])
    truth = dn.simulate.truth(schema, [(1.0, {"smoker": 0.3, "age": [0.3, 0.3, 0.4]})])
    counts = dn.simulate.counts(truth, dn.Plan(schema, epsilon=4.0), np.random.default_rng(1), n=n)
    return dn.estimate(counts, ["smoker", "age"])


def test_tables_say_how_many_were_asked_what_they_are_about() -> None:
    """Of three questions in two arms, all respondents were asked one, and only those of an arm the third one, too."""
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["y", "m", "o"]), dn.Flag("drinks")])
    plan = dn.Plan(schema, epsilon=6.0, arms=[["smoker", "age"], ["smoker", "age", "drinks"]])
    truth = dn.simulate.truth(schema, [(1.0, {"smoker": 0.3, "age": [0.3, 0.3, 0.4], "drinks": 0.5})])
    first, second = (dn.simulate.counts(truth, plan, np.random.default_rng(seed), n=5_000) for seed in (1, 2))
    est, other = (dn.estimate(counts, schema.names) for counts in (first, second))
    assert first.asked("smoker", "age") == 5_000 > est.asked
    answers = ["y", "m"]
    for found in (
        est.among("age", answers).project("smoker").table(),
        est.project("smoker", "age").among("age", answers).project("smoker").table(),
        est.among("age", answers).contrasts("smoker", by="age"),
        est.among("age", answers).mean_of("age", {"y": 1, "m": 2}, by="smoker"),
    ):
        assert (found.about.reports, found.about.respondents) == (5_000, 5_000)
    assert est.among("age", answers).table().about.reports == est.asked
    both = [one.among("age", answers).project("smoker") for one in (est, other)]
    assert dn.compare(*both).about.reports == 10_000
