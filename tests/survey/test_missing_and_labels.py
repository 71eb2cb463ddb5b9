"""Questions that may be skipped, and what people read instead of names: schema, plan, promise and privacy."""

import copy
import json
import pickle
from dataclasses import replace
from typing import Any

import pytest

import deniable as dn
from deniable import client
from deniable.survey.describe import answer_in_words, question_title, short_name
from tests.support.channels import channel, check_logarithm, worst_ratio
from tests.support.designs import DESIGNS, SKIPPED
from tests.support.javascript import FULL, in_node

WORDS = {"label": "Do you smoke?", "help": "Cigars too"}


def test_a_missing_answer_is_one_more_answer() -> None:
    flag = dn.Flag("smoker", missing="no answer")
    assert (flag.levels, flag.answers, flag.shown) == (3, (False, True, "no answer"), (0, 2, 3))
    choice = dn.Choice("age", ["young", "old"], missing="no answer")
    assert choice.values == ("young", "old", "no answer")
    assert dn.Choice("age", ["no answer", "old"], missing="no answer").values == ("no answer", "old")
    bins = dn.Choice.bins("income", [0, 10, 20], missing="no answer")
    assert bins.values == ("0 to under 10", "10 to 20", "no answer")
    assert [one.missing for one in dn.Flags("drinks", ["tea", "beer"], missing="skipped").features] == ["skipped"] * 2
    assert dn.Choice("ticked", ["yes"], missing="no answer").levels == 2


BAD: dict[str, tuple[Any, str]] = {
    "missing a number": (lambda: dn.Flag("a", missing=3), "missing of 'a' must be text; found 3"),
    "missing empty": (lambda: dn.Choice("a", ["x"], missing=" "), "missing of 'a' must not be empty"),
    "missing is an answer": (lambda: dn.Flag("a", missing="False"), "'False' is a flag's own answer"),
    "missing is a number": (lambda: dn.Choice.bins("a", [0, 1, 2], missing="99"), "no number; found '99'"),
    "one answer": (lambda: dn.Choice("a", [], missing="none"), "needs 2 to 4096 values; found 1"),
    "label empty": (lambda: dn.Flag("a", label=""), "label of 'a' must not be empty"),
    "help a number": (lambda: dn.Choice("a", ["x", "y"], help=1), "help of 'a' must be text"),
    "label of no value": (lambda: dn.Choice("a", ["x", "y"], labels={"z": "Z"}), "found one for 'z'"),
    "labels alike": (lambda: dn.Choice("a", ["x", "y"], labels={"x": "y"}), "must tell values apart; found twice: 'y'"),
    "labels a list": (lambda: dn.Flags("a", ["x"], labels=["X"]), "labels must be a mapping"),
    "no group": (lambda: dn.Flag("a", question_label="A?"), "is of no multi-select question; use label"),
    "a group's missing": (lambda: dn.Schema([dn.Flags("a", ["x"], missing="true")]), "a flag's own answer"),
    "a missing answer that forms show as another": (lambda: dn.Flag("a", missing=" No"), "a flag's own answer"),
}


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_is_refused(make: Any, message: str) -> None:
    with pytest.raises(dn.SchemaError, match=message):
        make()


def test_titles_are_labels_or_names() -> None:
    assert SKIPPED["smoker"].title == "Do you smoke?"
    assert SKIPPED["age"].title == "age"
    assert SKIPPED["age"].titles == ("young", "refused", "65 or older")
    assert SKIPPED["age"].labels == (("old", "65 or older"),)  # type: ignore[union-attr]
    assert replace(SKIPPED["age"], name="years").titles == ("young", "refused", "65 or older")
    assert SKIPPED["drinks: tea"].title == "What do you drink?: Tea"
    assert SKIPPED["drinks: beer"].title == "What do you drink?: beer"
    assert [short_name(SKIPPED[name]) for name in ("smoker", "drinks: tea", "drinks: beer")] == [
        "Do you smoke?",
        "Tea",
        "beer",
    ]
    assert [question_title(features) for features in SKIPPED.questions.values()] == [
        *("Do you smoke?", "age", "income", "What do you drink?", "last", "invited")
    ]
    assert [answer_in_words(SKIPPED["smoker"], answer) for answer in (True, False, "no answer")] == [
        *("yes", "no", "no answer")
    ]
    assert answer_in_words(SKIPPED["age"], "old") == "65 or older"


@pytest.mark.parametrize("title", [title for title in DESIGNS if "missing" in title or "labels" in title])
def test_plans_are_written_and_read_again(title: str) -> None:
    plan = DESIGNS[title]
    again = dn.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.schema == plan.schema
    assert json.loads(plan.to_json())["version"] == 2
    assert pickle.loads(pickle.dumps(plan.schema)) == copy.deepcopy(plan.schema) == plan.schema
    assert client.read(plan.to_json()).epsilon == plan.epsilon


def test_what_needs_nothing_new_is_version_1() -> None:
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["x", "y"], labels={"x": "x"})])
    assert json.loads(dn.Plan(schema, epsilon=1.0).to_json())["version"] == 1
    for new in ({"missing": "none"}, {"label": "Smoke?"}, {"help": "Cigars too"}):
        flags = dn.Schema([dn.Flag("smoker", **new), dn.Flag("rich")])
        assert json.loads(dn.Plan(flags, epsilon=1.0).to_json())["version"] == 2


def test_every_word_is_in_the_fingerprint() -> None:
    def made(**words: Any) -> str:
        return dn.Plan(dn.Schema([dn.Flags("d", ["tea", "beer"], **words)]), {"d": dn.Public()}).fingerprint

    words = [{}, {"missing": "x"}, {"missing": "y"}, {"label": "D?"}, {"labels": {"tea": "Tea"}}, {"help": "h"}]
    assert len({made(**one) for one in words}) == len(words)


def test_labels_that_say_nothing_new_are_not_written_by_others_either() -> None:
    document = json.loads(DESIGNS["labels alone"].to_json())
    document["features"][1]["labels"]["v2"] = "v2"
    document["fingerprint"] = client.fingerprint(document)
    for read in (client.read, dn.Plan.from_json):
        with pytest.raises(dn.PlanError, match="values and labels of feature .* must differ in what can be seen"):
            read(json.dumps(document))


# -- privacy -----------------------------------------------------------------------------------------------------------

FLAG = dn.Flag("smoker", missing="no answer")
PROTOCOLS = [
    *(dn.GRR(epsilon=0.3), dn.GRR(epsilon=4.0), dn.SubsetSelection(epsilon=1.0, size=1)),
    *(dn.SubsetSelection(epsilon=1.0, size=2), dn.UnaryEncoding.optimized(1.0), dn.UnaryEncoding.symmetric(2.0)),
    *(dn.UnaryEncoding(p=0.1, q=0.6), dn.LocalHashing(epsilon=1.0, buckets=2)),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=str)
def test_epsilon_of_a_flag_that_may_be_skipped_is_that_of_all_three_answers(protocol: Any) -> None:
    """By enumeration in fractions; between true and false alone it is not less, as all answers are treated alike."""
    plan = dn.Plan(dn.Schema([FLAG]), {"smoker": protocol})
    laws = [channel(plan["smoker"], code) for code in range(3)]
    assert worst_ratio(laws) == plan.ratio
    assert worst_ratio(laws[:2]) == worst_ratio(laws[1:]) == plan.ratio
    check_logarithm(plan.epsilon, plan.ratio)


def test_protocols_are_those_of_a_choice() -> None:
    with pytest.raises(dn.PlanError, match="'smoker' is a flag that may be skipped, so a choice of 3 values"):
        dn.Plan(dn.Schema([FLAG]), {"smoker": dn.RandomizedResponse(epsilon=1.0)})
    for epsilon in (0.01, 0.5, 1.0, 2.0, 4.0, 8.0):  # of three answers GRR is best, whatever epsilon
        assert dn.Plan(dn.Schema([FLAG]), epsilon=epsilon)["smoker"].name == "GRR"
    assert dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)["smoker"].name == "randomized response"


def test_designs_ask_questions_that_may_be_skipped() -> None:
    plan = dn.design(SKIPPED, epsilon=2.0, want=[("smoker", "age"), ("drinks", "income"), "last", "invited"], n=50_000)
    assert plan.schema == SKIPPED
    assert plan.expect("smoker", "age", n=50_000).half_width > 0


# -- for people --------------------------------------------------------------------------------------------------------


def test_a_form_gets_the_words_of_every_question() -> None:
    first, age, *_ = client.questions(DESIGNS["missing answers alone"].to_json(), "everybody")
    assert first == {"name": "smoker", "missing": "no answer", **WORDS}
    assert age == {
        "name": "age",
        "values": ["young", "refused", "old"],
        "missing": "refused",
        "labels": {"old": "65 or older"},
    }
    json.dumps([first, age])
    age["labels"]["old"] = "changed"
    assert (
        client.questions(DESIGNS["missing answers alone"].to_json(), "everybody")[1]["labels"]["old"] == "65 or older"
    )


def test_the_promise_says_labels() -> None:
    words = client.promise(DESIGNS["missing answers in arms"].to_json())
    assert "Do you smoke?" in words
    assert "What do you drink?: Tea" in words
    assert words.endswith('Not protected at all, but sent as it is: "invited".')
    assert "Do you smoke?" not in client.promise(dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0).to_json())


def test_a_printed_plan_has_labels_where_there_are_some() -> None:
    """Arms, blocks, wanted tables and public columns are called what people read; names stay where they have none."""
    schema = dn.Schema(
        [dn.Flag("q1", label="Do you smoke?"), dn.Choice("q2", ["a", "b"], label="Your age"), dn.Flag("q3")]
    )
    arms = dn.design(schema, epsilon=2.0, want=[("q1", "q2"), "q3"], n=1_000)
    for plan in (arms, dn.Plan(schema, {"q3": dn.Public()}, epsilon=2.0, together=[["q1", "q2"]])):
        printed = str(plan)
        assert "Do you smoke? x Your age" in printed
        assert "q3" in printed
        assert "q1" not in printed
        assert "q2" not in printed


def test_two_questions_cannot_be_read_as_the_same() -> None:
    """Else the promise would list one as protected and the other, called the same, as not."""
    drinks = [dn.Flag("drinks: tea", question="drinks"), dn.Flag("drinks: b", question="drinks", label="tea\u00a0")]
    for features in (
        [dn.Flag("a", label="Same"), dn.Flag("b", label="Same\u200b")],
        [dn.Flag("a", label="b"), dn.Flag("b")],
        [dn.Flag("a", label="b"), dn.Flag("b", label="a")],
        drinks,
    ):
        with pytest.raises(dn.SchemaError, match="labels must differ in what can be seen, from each other"):
            dn.Schema(features)


def test_labels_that_differ_where_they_are_read_are_taken_by_both_clients() -> None:
    parts = [
        dn.Flags(name, ["tea", "other"], label=f"{name} drinks", labels={"other": "Other"}) for name in ("cold", "hot")
    ]
    plan = dn.Plan(dn.Schema([dn.Flag("smoker", label="Do you smoke?"), *parts]), epsilon=2.0)
    assert dn.Plan.from_json(plan.to_json()) == plan
    (outcome,) = in_node(FULL, [{"plan": plan.to_json()}])
    assert outcome["promise"] == client.promise(plan.to_json())
    assert "hot drinks: Other" in outcome["promise"]
