"""Writes spec/refused_plans.json and spec/refused_answers.json: what every client must refuse, and the rule it breaks.

Run it as `python -m spec.make_refusals`. The cases are those of the tests (tests/support/refusals.py).
"""

import json
import re
from pathlib import Path
from typing import Any

from tests.support.refusals import (
    ARM_TAMPERINGS,
    BAD_ANSWERS,
    LOOK_ALIKE,
    PLAN,
    TAMPERINGS,
    UNREADABLE,
    UNSEALED_ARMS,
    protocol_of,
    tampered,
    tampered_arms,
)

HERE = Path(__file__).parent
PLANS, ANSWERS = HERE / "refused_plans.json", HERE / "refused_answers.json"

# The rules for a plan, each with the cases that break it.
PLAN_RULES = {
    "a plan is a JSON object": ("half a text", "a number", "epsilon not a number", "NaN beside what carries meaning"),
    "whole numbers have neither a point nor an exponent": ("a number with a point",),
    "no key stands twice in an object": ("a key twice",),
    "a plan has no other keys than version, features, arms, assigned, repeat, fresh, epsilon, "
    "fingerprint, want, n, design, reading": ("an unknown key of the plan",),
    "every text has something to be seen, and no control characters (Cc) nor any of U+2028 to U+202E": (
        "a name without a letter",
        "a name of blanks",
        "a name of two lines",
        "a name with an escape",
        "a name with a line separator",
        "a name that is shown in another order",
        "a value of blanks",
        "a value with a control character",
        "a label without a letter",
        "help of two lines",
        "an arm's name of blanks",
        "an arm's name of two lines",
    ),
    "names of features and questions, names of features and labels of others, names of arms, and values and labels of "
    "a choice differ in what can be seen": (
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
    ),
    "values of a choice with edges are named after them": ("ranges in another order", "ranges by other words"),
    "every text is Unicode, which half of a surrogate pair is not": ("half a letter",),
    "version is the number 1 or 2, and features is a list": (
        "version true",
        "another version",
        "no version",
        "no features",
    ),
    "the fingerprint follows from version, features, arms, assigned, repeat and fresh": (
        "changed without a new fingerprint",
        "fingerprint missing",
        *UNSEALED_ARMS,
    ),
    "a plan has one or more features, all of different names": (
        "a feature twice",
        "no feature left",
        "two features of one name",
    ),
    "a feature is an object, in version 1 with a protocol": ("no protocol", "not a table", "a feature that is a text"),
    "a feature has no other keys than name, question, values and edges; in version 1 protocol, in version 2 missing, "
    "label, labels, question_label and help": (
        "a label in version 1",
        "missing in version 1",
        "a group",
        "an extra key",
        "a feature with its own protocol",
    ),
    "a feature's name, question, missing, label, question_label and help are texts": (
        "name a number",
        "question a number",
        "missing a number",
        "a label that is a list",
        "help that is a number",
    ),
    "missing of a flag is not empty and no word for true or false": (
        "missing that looks like a flag's answer",
        "missing that is a flag's answer",
        "missing without a word",
    ),
    "missing of a choice is one of its values, of one with edges the last": (
        "missing that is no value",
        "missing before the ranges",
    ),
    "labels are an object of texts, for some of the values of a choice": (
        "labels a list",
        "labels of a flag",
        "a label of no value",
        "a label that is a number",
    ),
    "values are a list of 2 to 4096 different texts": (
        "one value",
        "4097 values",
        "value twice",
        "values a text",
        "values nested",
    ),
    "edges are three or more rising numbers written as text, one more than the values but for missing": (
        "one range alone",
        "edges for missing too",
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
        "a set of all combinations",
    ),
    "p is below q": ("p is q", "swapped", "swapped, with an epsilon that fits"),
    "randomized response is for flags; GRR, subset selection, unary encoding and local hashing are for choices, and "
    "for flags with missing": (
        "a flag that may be skipped by randomized response",
        "a block by randomized response",
        "a flag alone by GRR",
        "flag by GRR",
        "flag by sets",
        "choice by RR",
    ),
    "repeat is the text keep, or left out": ("repeat by another word", "repeat null"),
    "fresh is a whole number from 1 to 65535, beside repeat": (
        "a fresh coin without repeat",
        "a fresh coin of 65536",
        "a fresh coin of zero",
        "a fresh coin that is true",
    ),
    "beside fresh, every protocol is randomized response, GRR or public": ("a fresh coin over sets",),
    "version 1 has neither arms, assigned, repeat nor fresh; version 2 has a list of one or more arms": (
        "repeat in version 1",
        "arms missing",
        "arms a table",
        "no arm",
        "version 1 with arms",
    ),
    "an arm has a name, a share and blocks, and nothing else, none of them empty": (
        "an arm that is a text",
        "an arm with one key more",
        "an arm without a share",
        "an arm without a name",
        "an arm's name a number",
        "no blocks",
        "blocks a table",
    ),
    "arms have different names": ("two arms of one name",),
    "the shares of arms are whole numbers from 1 on that sum to 65536": (
        "share zero",
        "share below zero",
        "share a fraction",
        "share true",
        "shares off by one, below",
        "shares off by one, above",
    ),
    "a block has features and a protocol, and nothing else, none of them empty": (
        "a block with one key more",
        "a block without a protocol",
        "a block of no feature",
    ),
    "a block's features are places in the list of features, from 0 on, rising": (
        "a place beyond the features",
        "a place below zero",
        "a place by name",
        "a place true",
        "a feature twice in a block",
        "a block's features turned round",
    ),
    "an arm asks a feature at most once, and its blocks stand by their first feature": (
        "a feature twice in an arm",
        "blocks out of order",
    ),
    "a block has at most 4096 combinations of answers": ("4160 combinations",),
    "every feature is asked in some arm": ("a question that no arm asks",),
    "a public feature is a block by itself, and public in every arm": (
        "public in a block of several",
        "public in some arms alone",
        "public here, protected there",
    ),
    "assigned is true, of several arms, or left out": (
        "assigned false",
        "assigned by a word",
        "one arm, assigned",
    ),
    "one arm alone is named everybody, and has a block of several features, missing or labels; or there is repeat": (
        "one arm of another name",
        "what version 1 can say",
    ),
    "epsilon follows from the probabilities, of the largest arm": (
        "the epsilon of a smaller arm",
        "an arm that costs more",
        "missing that costs nothing",
        "q raised",
        "buckets changed",
        "value dropped",
        "public made",
        "epsilon understated",
        "epsilon missing",
    ),
}
# The rules for answers, each with the cases that break it.
ANSWER_RULES = {
    "every feature of the plan without missing has an answer": (
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
    texts |= {title: tampered_arms(change) for title, (change, _) in ARM_TAMPERINGS.items()}
    texts |= {title: tampered_arms(change, sealed=False) for title, change in UNSEALED_ARMS.items()}
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
        for title, (name, answer, *_) in BAD_ANSWERS.items()
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
