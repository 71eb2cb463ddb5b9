"""What clients in other languages are given: files that are what the tests and the reference client say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import deniable as dn
from deniable import client
from spec import make_refusals
from tests.support.refusals import ARM_TAMPERINGS, LOOK_ALIKE, only_arm, tampered_arms

SPEC = Path(__file__).parents[1] / "spec"
REFUSED_PLANS = json.loads((SPEC / "refused_plans.json").read_text(encoding="utf-8"))
REFUSED_ANSWERS = json.loads((SPEC / "refused_answers.json").read_text(encoding="utf-8"))
VECTORS = json.loads((SPEC / "vectors.json").read_text(encoding="utf-8"))
VECTORS_OF_ARMS = json.loads((SPEC / "vectors_of_arms.json").read_text(encoding="utf-8"))
VECTORS_OF_KEPT = json.loads((SPEC / "vectors_of_kept.json").read_text(encoding="utf-8"))
SCHEMA = json.loads((SPEC / "plan.schema.json").read_text(encoding="utf-8"))
PAGE = (SPEC / "report-format.md").read_text(encoding="utf-8")

# These rules compare one part of a plan with another, which no JSON Schema can.
BEYOND_A_SCHEMA = {
    "the fingerprint follows from version, features, arms, assigned, repeat and fresh": {
        "changed without a new fingerprint",
        "a share moved without a new fingerprint",
        "an arm renamed without a new fingerprint",
        "assigned without a new fingerprint",
    },
    "a plan has one or more features, all of different names": {"a feature twice", "two features of one name"},
    "edges are three or more rising numbers written as text, one more than the values but for missing": {
        "edges fall",
        "edges for missing too",
    },
    "missing of a choice is one of its values, of one with edges the last": {
        "missing that is no value",
        "missing before the ranges",
    },
    "every text has something to be seen, and no control characters (Cc) nor any of U+2028 to U+202E": {
        "a name of blanks",
        "a name that is shown in another order",
        "a label without a letter",
    },
    "names of features and questions, names of features and labels of others, names of arms, and values and labels of "
    "a choice differ in what can be seen": {
        *(f"two names that differ by {title} alone" for title in LOOK_ALIKE),
        "two questions that differ by a zero-width space alone",
        "two values that differ by a zero-width space alone",
        "two arms that differ by a zero-width space alone",
        "two questions of one label",
        "a label that is another question's name",
        "names and labels that changed places",
        "two parts of a question of one label",
        "two labels that differ by a blank alone",
        "a label that is another value",
        "a label for two values",
    },
    "values of a choice with edges are named after them": {"ranges in another order", "ranges by other words"},
    "missing of a flag is not empty and no word for true or false": {"missing that looks like a flag's answer"},
    "labels are an object of texts, for some of the values of a choice": {"a label of no value"},
    "p is below q": {"p is q", "swapped", "swapped, with an epsilon that fits"},
    "q of a subset of k among m values is above k / m of 65536, so k is below m": {
        "a set of all values",
        "a set by chance alone",
        "a set of all combinations",
    },
    "randomized response is for flags; GRR, subset selection, unary encoding and local hashing are for choices, and "
    "for flags with missing": {"a flag alone by GRR", "a flag that may be skipped by randomized response"},
    "beside fresh, every protocol is randomized response, GRR or public": {"a fresh coin over sets"},
    "arms have different names": {"two arms of one name"},
    "the shares of arms are whole numbers from 1 on that sum to 65536": {
        "shares off by one, below",
        "shares off by one, above",
    },
    "a block's features are places in the list of features, from 0 on, rising": {
        "a place beyond the features",
        "a block's features turned round",
    },
    "an arm asks a feature at most once, and its blocks stand by their first feature": {
        "a feature twice in an arm",
        "blocks out of order",
    },
    "a block has at most 4096 combinations of answers": {"4160 combinations"},
    "every feature is asked in some arm": {"a question that no arm asks"},
    "a public feature is a block by itself, and public in every arm": {
        "public in some arms alone",
        "public here, protected there",
    },
    "epsilon follows from the probabilities, of the largest arm": {
        "the epsilon of a smaller arm",
        "an arm that costs more",
        "missing that costs nothing",
        "q raised",
        "buckets changed",
        "value dropped",
        "public made",
        "epsilon understated",
    },
}


def test_the_refused_are_those_of_the_tests() -> None:
    assert make_refusals.refused_plans() == REFUSED_PLANS, "run python -m spec.make_refusals"
    assert make_refusals.refused_answers() == REFUSED_ANSWERS, "run python -m spec.make_refusals"


@pytest.mark.parametrize("case", REFUSED_PLANS, ids=lambda case: case["title"])
def test_the_client_refuses_the_plan(case: dict[str, Any]) -> None:
    text = case["text"] if "text" in case else json.dumps(case["plan"])
    with pytest.raises(client.PlanError):
        client.report({}, text, at_most=99, public=("region", "invited", "arm", "wave two"), arm="everybody")
    with pytest.raises(client.PlanError):
        client.read(text)
    with pytest.raises(dn.PlanError):  # and the library alike
        dn.Plan.from_json(text)


@pytest.mark.parametrize(("change", "message"), ARM_TAMPERINGS.values(), ids=ARM_TAMPERINGS.keys())
def test_a_tampered_plan_of_arms_is_refused_for_what_is_wrong_with_it(change: Any, message: str) -> None:
    for read in (client.read, dn.Plan.from_json):
        with pytest.raises(client.PlanError, match=message):
            read(tampered_arms(change))


def test_the_plans_that_were_tampered_with_are_plans() -> None:
    """The control: without the change, or with a harmless one, they are read."""
    for change in (lambda _: None, lambda d: only_arm(d, "everybody", [[0, 1], [2], [3], [4]])):
        assert client.read(tampered_arms(change)).epsilon == dn.Plan.from_json(tampered_arms(change)).epsilon


@pytest.mark.parametrize("case", REFUSED_ANSWERS, ids=lambda case: case["title"])
def test_the_client_refuses_the_answers(case: dict[str, Any]) -> None:
    for record in case["records"]:
        with pytest.raises(client.AnswerError):
            client.report(record["answers"], case["plan"], public=list(make_refusals.GOOD_ANSWERS))
    client.report(
        make_refusals.GOOD_ANSWERS, case["plan"], public=list(make_refusals.GOOD_ANSWERS)
    )  # and only because of what is wrong with them


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "case", [*VECTORS, *VECTORS_OF_ARMS, *VECTORS_OF_KEPT, *REFUSED_ANSWERS], ids=lambda case: case["title"]
)
def test_plans_follow_the_schema(case: dict[str, Any]) -> None:
    Draft202012Validator(SCHEMA).validate(case["plan"])


def test_the_documented_plan_is_a_plan() -> None:
    texts = re.findall(r"^```json\n(.*?)^```$", PAGE, re.M | re.S)
    for text, version in zip(texts, (1, 2), strict=True):
        document = json.loads(text)
        assert document["version"] == version
        assert document["fingerprint"] == client.fingerprint(document)
        assert dn.Plan.from_json(text).schema.names[-1] == "drinks: tea"
        Draft202012Validator(SCHEMA).validate(document)


def test_the_drawn_report_is_what_the_client_sends() -> None:
    """The picture in spec/report-format.md: a flag, five values by GRR, six by unary encoding."""
    values = dn.Choice("age", "abcde".replace("", " ").split()), dn.Choice("town", list("uvwxyz"))
    protocols = {"smoker": dn.Public(), "age": dn.Public(), "town": dn.UnaryEncoding(p=1 / 65536, q=65535 / 65536)}
    plan = json.loads(dn.Plan(dn.Schema([dn.Flag("smoker"), *values]), protocols).to_json())
    draws = iter([b"\1\0" * 6] * 2)  # above p, below q: only the true value's bit is 1
    sent = [
        client.report_from(lambda _: next(draws), {"smoker": True, "age": "d", "town": town}, plan)
        for town in ("v", "z")
    ]
    assert sent == [bytes([0b0010_011_1, 0b00]), bytes([0b0000_011_1, 0b10])]


def test_the_schema_refuses_every_plan_that_a_schema_can() -> None:
    found: dict[str, set[str]] = {}
    for case in REFUSED_PLANS:
        if "plan" in case and Draft202012Validator(SCHEMA).is_valid(case["plan"]):
            found.setdefault(case["rule"], set()).add(case["title"])
    assert found == BEYOND_A_SCHEMA


def test_the_schema_knows_the_protocols_that_the_client_knows() -> None:
    definitions = SCHEMA["$defs"]
    protocols = {
        one["properties"]["name"]["const"]: one["properties"] for one in definitions.values() if _is_protocol(one)
    }
    assert {name: _ranges(numbers) for name, numbers in protocols.items()} == client.INTEGERS
    names = {
        kind: {_definition(one)["properties"]["name"]["const"] for one in definitions[f"protocol_of_a_{kind}"]["oneOf"]}
        for kind in ("flag", "choice")
    }
    assert names["flag"] == set(client.PERTURB) - set(client.CHOICES_ONLY)
    assert names["choice"] == set(client.PERTURB) - set(client.FLAGS_ONLY)
    several = {_definition(one)["properties"]["name"]["const"] for one in definitions["protocol_of_several"]["oneOf"]}
    assert several == set(client.CHOICES_ONLY)


def _is_protocol(definition: dict[str, Any]) -> bool:
    return "additionalProperties" in definition and "const" in definition["properties"].get("name", {})


def _definition(part: dict[str, Any]) -> dict[str, Any]:
    """What a reference such as `#/$defs/grr` leads to; anything else is itself."""
    return SCHEMA["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part


def _ranges(numbers: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """From least to most, for each number that a protocol has."""
    return {
        key: (_definition(number)["minimum"], _definition(number)["maximum"])
        for key, number in numbers.items()
        if key != "name"
    }
