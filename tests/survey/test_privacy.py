"""The odds of the promise against Bayes by brute force: all answers, all reports, priors of every kind."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable import client
from deniable.survey.privacy import (
    BELIEF,
    LITTLE,
    Promise,
    in_one_sentence,
    in_two_rounds,
    of_one_report,
    of_question,
    of_report,
    of_weakest_question,
)
from tests.support.kept_plans import KEPT

SCHEMA = dn.Schema([dn.Flag("flag"), dn.Choice("grr", list("abc")), dn.Choice("unary", list("xy"))])
PLANS = {
    "even split": dn.Plan(SCHEMA, epsilon=2.0),
    "lopsided": dn.Plan(
        SCHEMA,
        {
            "flag": dn.RandomizedResponse(p=0.1, q=0.8),
            "grr": dn.GRR(epsilon=0.3),
            "unary": dn.UnaryEncoding(p=0.25, q=0.5),
        },
    ),
    "sets": dn.Plan(SCHEMA, {"grr": dn.SubsetSelection(epsilon=1.0, size=2)}, epsilon=2.5),
    "with a public one": dn.Plan(SCHEMA, {"grr": dn.Public()}, epsilon=1.5),
}

Array = npt.NDArray[np.float64]


def likelihoods(plan: dn.Plan) -> tuple[list[tuple[int, ...]], Array]:
    """All combinations of answers, and P(report | answers) with a column for every report."""
    answers = list(product(*(range(feature.levels) for feature in plan.schema)))
    laws = [protocol.pattern_probabilities for protocol in plan.protocols]
    rows = []
    for codes in answers:
        row = np.ones(1)
        for law, code in zip(laws, codes, strict=True):
            row = np.multiply.outer(row, law[code]).reshape(-1)
        rows.append(row)
    return answers, np.array(rows)


def posteriors(prior: Array, laws: Array, event: npt.NDArray[np.bool_]) -> Array:
    """P(event | report) for all reports that can be."""
    joint = prior[:, None] * laws
    seen = joint.sum(axis=0)
    return np.asarray(joint[event].sum(axis=0)[seen > 0] / seen[seen > 0])


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_no_belief_can_leave_what_is_promised_and_some_reach_it(plan: dn.Plan) -> None:
    answers, laws = likelihoods(plan)
    rng = np.random.default_rng(1)
    promise = of_report(plan)
    public = [plan.schema.names.index(name) for name in plan.public]
    belief = Fraction(1, 10)
    most, least = float(promise.most(belief)), float(promise.least(belief))
    highest, lowest = 0.0, 1.0
    for one, other in product(range(len(answers)), repeat=2):  # two answers alone are the worst there is
        if one != other and all(answers[one][k] == answers[other][k] for k in public):
            prior = np.zeros(len(answers))
            prior[[one, other]] = [float(belief), 1 - float(belief)]
            found = posteriors(prior, laws, np.arange(len(answers)) == one)
            highest, lowest = max(highest, found.max()), min(lowest, found.min())
    assert highest == pytest.approx(most)
    assert lowest == pytest.approx(least)
    for _ in range(200):  # any prior over all answers that agree in what is public, any event
        shown = answers[rng.integers(len(answers))]
        possible = np.array([all(codes[k] == shown[k] for k in public) for codes in answers])
        prior = np.where(possible, rng.dirichlet(np.full(len(answers), 0.2)), 0)
        prior /= prior.sum()
        event = rng.random(len(answers)) < 0.5
        before = prior[event].sum()
        if 0 < before < 1:
            found = posteriors(prior, laws, event)
            exact = Fraction(before)
            assert found.max() <= float(promise.most(exact)) + 1e-12
            assert found.min() >= float(promise.least(exact)) - 1e-12


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_one_answer_says_no_more_than_its_own_question_promises(plan: dn.Plan) -> None:
    """If the answers to the others say nothing about it."""
    for feature, protocol in plan:
        promise = of_question(plan, feature.name)
        if feature.name in plan.public:
            assert promise is None
            continue
        assert promise is not None
        law = protocol.pattern_probabilities
        reached = 0.0
        for one, other in product(range(feature.levels), repeat=2):
            if one != other:
                prior = np.zeros(feature.levels)
                prior[[one, other]] = [0.1, 0.9]
                reached = max(reached, posteriors(prior, law, np.arange(feature.levels) == one).max())
        assert reached == pytest.approx(float(promise.most(Fraction(1, 10))))


def test_a_question_of_several_flags_is_seen_whole() -> None:
    plan = dn.Plan(dn.Schema([dn.Flags("drugs", ["a", "b"]), dn.Flag("x")]), epsilon=2.0)
    promise = of_question(plan, "drugs")
    assert promise is not None
    assert promise.ratio == plan["drugs: a"].ratio * plan["drugs: b"].ratio
    assert of_report(plan).ratio == promise.ratio * plan["x"].ratio


def test_words_never_promise_too_much() -> None:
    for ratio in [Fraction(1), Fraction(3, 2), Fraction(20), Fraction(10**4), Fraction(10**5) + Fraction(1, 3)]:
        promise = Promise(ratio)
        for belief in (Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2), Fraction(999, 1000)):
            top, scale = (int(word.replace(",", "")) for word in promise.at_most(belief).split(" in "))
            assert promise.most(belief) <= Fraction(top, scale) < promise.most(belief) + Fraction(1, scale)
            assert top < scale
            low, scale = (int(word.replace(",", "")) for word in promise.at_least(belief).split(" in "))
            assert promise.least(belief) - Fraction(1, scale) < Fraction(low, scale) <= promise.least(belief)
            assert low > 0
    assert Promise(Fraction(10**30)).at_most(BELIEF) == "practically certain"
    assert Promise(Fraction(10**30)).at_least(BELIEF) == "practically nothing"


def test_the_sentence_is_honest_about_a_large_epsilon() -> None:
    schema = dn.Schema([dn.Flag(str(k)) for k in range(8)])
    for epsilon, words in (
        (2.0, "nobody can pin"),
        (3.0, "never to certainty"),
        (8.0, "a whole report is protected little"),
        (80.0, "protects little"),
    ):
        plan = dn.Plan(schema, epsilon=epsilon)
        assert words in in_one_sentence(plan)
        assert ("nobody can pin" in in_one_sentence(plan)) == (epsilon == 2)
        assert of_report(plan).up_to(BELIEF) in in_one_sentence(plan)
        assert of_report(plan).little == (of_report(plan).most(BELIEF) > LITTLE) == (epsilon > 3)
    assert Promise(Fraction(9)).up_to(BELIEF) == "to at most 50 in 100"  # odds of 1 to 9, nine times
    assert Promise(Fraction(10**30)).up_to(BELIEF) == "to practical certainty"
    public = dn.Plan(dn.Schema([dn.Flag("a")]), {"a": dn.Public()})
    assert in_one_sentence(public).startswith("Nothing is protected")


def test_the_sentence_sets_apart_what_is_not_protected() -> None:
    """Somebody who sees an open answer that goes with a protected one needs no report of the latter."""
    plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("buys")]), {"buys": dn.Public()}, epsilon=1.0)
    assert '(beyond what "buys" tells, which is not protected)' in in_one_sentence(plan)
    assert in_one_sentence(plan).count("in 100") == 1  # one protected question is the whole of it
    assert "beyond" not in in_one_sentence(dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0))


# -- blocks and arms ---------------------------------------------------------------------------------------------------


def test_of_a_question_in_a_block_as_much_is_promised_as_of_the_block() -> None:
    plan = dn.Plan(SCHEMA, {("flag", "grr"): dn.GRR(epsilon=1.0)}, epsilon=3.0)
    block, alone = plan.protocols
    assert of_question(plan, "flag") == of_question(plan, "grr") == Promise(block.ratio)
    assert of_question(plan, "unary") == of_weakest_question(plan) == Promise(alone.ratio)
    assert of_report(plan) == Promise(block.ratio * alone.ratio)


def test_of_a_question_in_several_arms_the_arm_counts_that_gives_most_away() -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=[["flag", "grr"], [["flag"], ["unary"]]])
    pair, flag, unary = plan.arms[0].ratio, plan.arms[1]["flag"].ratio, plan.arms[1]["unary"].ratio
    assert of_question(plan, "flag") == Promise(max(pair, flag)) == Promise(pair)
    assert of_question(plan, "unary") == Promise(unary)
    assert of_report(plan) == Promise(max(pair, flag * unary)) == Promise(plan.ratio)


def test_a_group_of_flags_in_one_block_is_counted_once_and_in_two_blocks_twice() -> None:
    schema = dn.Schema([dn.Flags("drugs", ["a", "b", "c"]), dn.Flag("x")])
    one = dn.Plan(schema, epsilon=2.0, together=[["drugs"]])
    assert of_question(one, "drugs") == Promise(one.protocols[0].ratio) == of_question(one, "drugs: a")
    two = dn.Plan(schema, epsilon=2.0, together=[["drugs: a", "drugs: b"], ["drugs: c", "x"]])
    assert of_question(two, "drugs") == Promise(two.ratio)
    assert of_question(two, "drugs: a") == Promise(two.protocols[0].ratio)


def test_a_group_with_a_public_flag_has_no_promise_as_a_whole_but_counts_among_the_weakest() -> None:
    schema = dn.Schema([dn.Flags("drugs", ["tea", "speed"]), dn.Flag("x")])
    plan = dn.Plan(
        schema,
        {
            "drugs: tea": dn.Public(),
            "drugs: speed": dn.RandomizedResponse(epsilon=4.0),
            "x": dn.RandomizedResponse(epsilon=1.0),
        },
    )
    assert of_question(plan, "drugs") is None
    assert of_question(plan, "drugs: tea") is None
    weakest = of_weakest_question(plan)
    assert weakest == of_question(plan, "drugs: speed") == Promise(plan["drugs: speed"].ratio)
    assert weakest is not None
    assert weakest.up_to(BELIEF) in in_one_sentence(plan)


def test_the_sentence_says_that_chance_picked_the_questions_where_it_did() -> None:
    arms = [["flag", "grr"], ["unary"]]
    drawn = in_one_sentence(dn.Plan(SCHEMA, epsilon=1.0, arms=arms))
    assert drawn.startswith("Chance picked which questions you are asked, and may have changed your answers")
    given = in_one_sentence(dn.Plan(SCHEMA, epsilon=1.0, arms=arms, assigned=True))
    assert given.startswith("Chance may have changed your answers")
    assert drawn.count("in 100") == 1  # one answer alone may tell as much as the whole report
    shown = {name: dn.Public() for name in SCHEMA.names}
    assert of_weakest_question(dn.Plan(SCHEMA, shown)) is None
    assert "epsilon" not in in_one_sentence(dn.Plan(SCHEMA, shown))


# -- answers that are kept ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in KEPT if "two rounds" in name])
def test_one_report_in_two_rounds_tells_what_the_device_says(name: str) -> None:
    """In the words of the client, which works them out by itself; all reports together tell more."""
    plan = KEPT[name]
    one, whole = of_one_report(plan), of_report(plan)
    assert in_two_rounds(plan)
    assert one.ratio < whole.ratio
    assert float(one.ratio) <= exp(plan.epsilon_1)
    said = client.promise(plan.to_json())
    assert f"One report alone: from 1 in 10 to at most {one.at_most(BELIEF)}." in said
    assert (
        f"All your reports together can raise what somebody suspects from 1 in 10 to at most {whole.at_most(BELIEF)}"
        in said
    )
    sentence = in_one_sentence(plan)
    assert f"{one.up_to(BELIEF)} by seeing one report of yours" in sentence
    assert f"{whole.up_to(BELIEF)} by seeing all your reports together" in sentence


def test_where_the_same_is_sent_again_one_report_tells_as_much_as_all() -> None:
    for name in ("one flag, sent again", "every protocol, sent again"):
        plan = KEPT[name]
        assert not in_two_rounds(plan)
        assert of_one_report(plan) == of_report(plan)
        assert f"{of_report(plan).up_to(BELIEF)} by seeing your report, however often" in in_one_sentence(plan)
    fresh = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    assert not in_two_rounds(fresh)
    assert "often" not in in_one_sentence(fresh)
