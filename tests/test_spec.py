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

SPEC = Path(__file__).parents[1] / "spec"
REFUSED_PLANS = json.loads((SPEC / "refused_plans.json").read_text(encoding="utf-8"))
REFUSED_ANSWERS = json.loads((SPEC / "refused_answers.json").read_text(encoding="utf-8"))
VECTORS = json.loads((SPEC / "vectors.json").read_text(encoding="utf-8"))
SCHEMA = json.loads((SPEC / "plan.schema.json").read_text(encoding="utf-8"))
PAGE = (SPEC / "report-format.md").read_text(encoding="utf-8")

# These rules compare one part of a plan with another, which no JSON Schema can.
BEYOND_A_SCHEMA = {
    "the fingerprint follows from version and features": {"changed without a new fingerprint"},
    "a plan has one or more features, all of different names": {"a feature twice"},
    "edges are rising numbers written as text, one more than the values": {"edges fall"},
    "p is below q": {"p is q", "swapped"},
    "q of a subset of k among m values is above k / m of 65536, so k is below m": {
        "a set of all values",
        "a set by chance alone",
    },
    "epsilon follows from the probabilities": {
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
    with pytest.raises(client.PlanError):
        client.report({}, case["text"] if "text" in case else json.dumps(case["plan"]))


@pytest.mark.parametrize("case", REFUSED_ANSWERS, ids=lambda case: case["title"])
def test_the_client_refuses_the_answers(case: dict[str, Any]) -> None:
    for record in case["records"]:
        with pytest.raises(client.AnswerError):
            client.report(record["answers"], case["plan"])
    client.report(make_refusals.GOOD_ANSWERS, case["plan"])  # and only because of what is wrong with them


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("case", [*VECTORS, *REFUSED_ANSWERS], ids=lambda case: case["title"])
def test_plans_follow_the_schema(case: dict[str, Any]) -> None:
    Draft202012Validator(SCHEMA).validate(case["plan"])


def test_the_documented_plan_is_a_plan() -> None:
    (text,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.M | re.S)
    document = json.loads(text)
    sealed = document | {"fingerprint": client.fingerprint(document)}
    assert sealed == document
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


def _is_protocol(definition: dict[str, Any]) -> bool:
    return "const" in definition.get("properties", {}).get("name", {})


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
