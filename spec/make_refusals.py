"""Writes spec/refused_plans.json and spec/refused_answers.json: what every client must refuse, and the rule it breaks.

Run it as `python -m spec.make_refusals`. The cases are those of the tests (tests/support/refusals.py).
"""

import json
import re
from pathlib import Path
from typing import Any

from tests.support.refusals import BAD_ANSWERS, PLAN, TAMPERINGS, UNREADABLE, protocol_of, tampered

HERE = Path(__file__).parent
PLANS, ANSWERS = HERE / "refused_plans.json", HERE / "refused_answers.json"

# The rules for a plan, each with the cases that break it.
PLAN_RULES = {
    "a plan is a JSON object": ("half a text", "a number"),
    "no key stands twice in an object": ("a key twice",),
    "every text is Unicode, which half of a surrogate pair is not": ("half a letter",),
    "version is the number 1, and features is a list": (
        "version true",
        "another version",
        "no version",
        "no features",
    ),
    "the fingerprint follows from version and features": (
        "changed without a new fingerprint",
        "fingerprint missing",
    ),
    "a plan has one or more features, all of different names": ("a feature twice", "no feature left"),
    "a feature is an object with a protocol": ("no protocol", "not a table"),
    "a feature has no other keys than name, question, values, edges and protocol": ("a group", "an extra key"),
    "a feature's name and question are texts": ("name a number", "question a number"),
    "values are a list of 2 to 4096 different texts": (
        "one value",
        "4097 values",
        "value twice",
        "values a text",
        "values nested",
    ),
    "edges are rising numbers written as text, one more than the values": (
        "edges on a flag",
        "edges null",
        "edges not numbers",
        "edges too few",
        "edges fall",
    ),
    "the protocol is one of those of the format": ("unknown protocol", "protocol's name a list"),
    "a protocol has its own numbers, all of them and no others": ("buckets missing", "one number more"),
    "p, q and keep are whole numbers from 1 to 65535": (
        "q beyond the grid",
        "p zero",
        "p a fraction",
        "p true",
        "keep beyond",
    ),
    "buckets are a whole number from 2 to 4096": ("no buckets",),
    "size is a whole number from 1 to 4095": ("no size",),
    "q of a subset of k among m values is above k / m of 65536, so k is below m": (
        "a set of all values",
        "a set by chance alone",
    ),
    "p is below q": ("p is q", "swapped"),
    "randomized response is for flags; GRR, subset selection, unary encoding and local hashing are for choices": (
        "flag by GRR",
        "flag by sets",
        "choice by RR",
    ),
    "epsilon follows from the probabilities": (
        "q raised",
        "buckets changed",
        "epsilon not a number",
        "value dropped",
        "public made",
        "epsilon understated",
        "epsilon missing",
    ),
}
# The rules for answers, each with the cases that break it.
ANSWER_RULES = {
    "every feature of the plan has an answer": (
        "empty text",
        "null",
        "null flag",
        "column missing",
        "no answers at all",
    ),
    "a flag takes true, false, 1, 0, or one of the eight words": ("flag of two", "flag of a word"),
    "a choice takes text or a number": ("truth for a choice", "list for a choice"),
    "the answer is one of the values": ("unknown value", "unknown number"),
    "a choice with edges takes one of its values or a number, in ASCII digits": (
        "digits of another script",
        "digits with underscores",
        "word for a number",
    ),
    "the number is within the ranges": ("below the ranges", "above the ranges"),
}

# These carry no fingerprint that fits: it cannot be made without version and features, or is itself what is wrong.
UNSEALED = {
    "no version": TAMPERINGS["no version"][0],
    "no features": TAMPERINGS["no features"][0],
    "changed without a new fingerprint": lambda d: protocol_of(d, 0).update(q=40001),
    "fingerprint missing": lambda d: d.pop("fingerprint"),
}
# This case would be 600 kB; "4097 values" breaks the same rule.
TOO_LONG = {"70 000 values"}
# JSON cannot say these answers, or not every language reads the same from it.
ONLY_PYTHON = {"nan", "date for a choice", "array for a choice", "a number beyond all floats"}
GOOD_ANSWERS = {"smoker": True, "age": "old", "children": 1, "income": 12.5}


def refused_plans() -> list[dict[str, Any]]:
    """Cases of a plan that must be refused: as JSON, or as text where the text itself is what is wrong."""
    texts = {title: tampered(change, sealed=title not in UNSEALED) for title, (change, _) in TAMPERINGS.items()}
    texts |= {title: tampered(change, sealed=False) for title, change in UNSEALED.items()}
    texts |= {title: text for title, (text, _) in UNREADABLE.items()}
    rules = {title: rule for rule, titles in PLAN_RULES.items() for title in titles}
    return [
        {"title": title, **_plan(title, text), "rule": rules[title]}
        for title, text in texts.items()
        if title not in TOO_LONG
    ]


def refused_answers() -> list[dict[str, Any]]:
    """Cases of a record that must be refused, of one plan."""
    records: dict[str, Any] = {
        title: GOOD_ANSWERS | {name: answer}
        for title, (name, answer, _) in BAD_ANSWERS.items()
        if title not in ONLY_PYTHON
    }
    records["column missing"] = {name: answer for name, answer in GOOD_ANSWERS.items() if name != "age"}
    records["no answers at all"] = {}
    rules = {title: rule for rule, titles in ANSWER_RULES.items() for title in titles}
    found = [{"title": title, "answers": answers, "rule": rules[title]} for title, answers in records.items()]
    return [{"title": "one of each kind", "plan": json.loads(PLAN.to_json()), "records": found}]


def _plan(title: str, text: str) -> dict[str, Any]:
    """The plan as JSON, unless JSON cannot hold what is wrong with it: then its text."""
    return {"text": text} if title in UNREADABLE or "NaN" in text else {"plan": json.loads(text)}


def _written(cases: list[dict[str, Any]]) -> str:
    """JSON with a line for each case."""
    return re.sub(r' ?\{"title"', '\n {"title"', json.dumps(cases, ensure_ascii=False)) + "\n"


if __name__ == "__main__":
    PLANS.write_text(_written(refused_plans()), encoding="utf-8")
    ANSWERS.write_text(_written(refused_answers()), encoding="utf-8")
