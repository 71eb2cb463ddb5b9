"""Plans and answers that must be refused, listed once by name: tests run over them, and spec/ holds them as JSON."""

import json
import math
from typing import Any

import numpy as np
import pandas as pd

import deniable as dn
from deniable import client
from tests.support.situations import PLANS, values

# -- plans -------------------------------------------------------------------------------------------------------------


def tampered(change: Any, *, sealed: bool) -> str:
    """The JSON of a plan after a change; sealed with a matching fingerprint, as a careful forger would."""
    document = json.loads(PLANS["everything mixed"].to_json())
    change(document)
    if sealed:
        document["fingerprint"] = client.fingerprint(document)
    return json.dumps(document)


def protocol_of(document: Any, place: int) -> Any:
    return document["features"][place]["protocol"]


def subset(document: Any, **numbers: int) -> None:
    """A choice of five values by subset selection."""
    document["features"][1]["protocol"] = {"name": "subset selection", **numbers}


TAMPERINGS: dict[str, tuple[Any, str]] = {
    "q raised": (lambda d: protocol_of(d, 0).update(q=65535), "says its epsilon is"),
    "q beyond the grid": (lambda d: protocol_of(d, 0).update(q=65536), "q must be a whole number from 1 to 65535"),
    "p zero": (lambda d: protocol_of(d, 0).update(p=0), "p must be a whole number from 1"),
    "p a fraction": (lambda d: protocol_of(d, 0).update(p=0.1), "p must be a whole number .* found 0.1"),
    "p true": (lambda d: protocol_of(d, 0).update(p=True), "p must be a whole number .* found True"),
    "p is q": (lambda d: protocol_of(d, 0).update(p=40000, q=40000), "p must be below q; found p = 40000"),
    "swapped": (lambda d: protocol_of(d, 0).update(p=60000, q=20000), "p must be below q"),
    "keep beyond": (lambda d: protocol_of(d, 1).update(keep=65536), "keep must be a whole number"),
    "no buckets": (lambda d: protocol_of(d, 3).update(buckets=1), "buckets must be a whole number from 2"),
    "no size": (lambda d: subset(d, q=60000, size=0), "size must be a whole number from 1"),
    "a set of all values": (lambda d: subset(d, q=65535, size=5), "q must be above 5/5 of 65536; found 65535"),
    "a set by chance alone": (lambda d: subset(d, q=26214, size=2), "q must be above 2/5 of 65536; found 26214"),
    "buckets missing": (lambda d: protocol_of(d, 3).pop("buckets"), "local hashing has keep, buckets"),
    "one number more": (lambda d: protocol_of(d, 4).update(p=1), "public has no numbers"),
    "unknown protocol": (lambda d: protocol_of(d, 0).update(name="RAPPOR"), "unknown protocol 'RAPPOR'"),
    "flag by sets": (
        lambda d: d["features"][0].update(protocol={"name": "subset selection", "q": 40000, "size": 1}),
        "subset selection cannot randomize it",
    ),
    "flag by GRR": (lambda d: d["features"][0].update(protocol={"name": "GRR", "keep": 5}), "GRR cannot randomize it"),
    "choice by RR": (
        lambda d: protocol_of(d, 6).update(name="randomized response"),
        "is a choice: randomized response cannot",
    ),
    "no protocol": (lambda d: d["features"][0].pop("protocol"), "feature 0 of the plan is not a feature with"),
    "not a table": (lambda d: d["features"].append(3), "feature 7 of the plan is not a feature with a protocol: 3"),
    "protocol's name a list": (lambda d: protocol_of(d, 0).update(name=["GRR"]), "unknown protocol"),
    "a group": (lambda d: d["features"][0].update(flags=["x", "y"]), "unknown key 'flags'"),
    "one value": (lambda d: d["features"][1].update(values=["x"]), "2 to 4096 different values; found 1"),
    "4097 values": (lambda d: d["features"][1].update(values=values(4097)), "different values; found 4097"),
    "70 000 values": (lambda d: d["features"][1].update(values=values(70_000)), "different values; found 70000"),
    "value twice": (lambda d: d["features"][1].update(values=["x", "x", "y"]), "different values; found 3"),
    "values a text": (lambda d: d["features"][1].update(values="abc"), "values must be a list of texts"),
    "values nested": (lambda d: d["features"][1].update(values=[["x"], "y"]), "values must be a list of texts"),
    "edges on a flag": (lambda d: d["features"][0].update(edges=["0", "1", "2"]), "one more than its values"),
    "edges null": (lambda d: d["features"][1].update(edges=None), "edges must be a list of numbers as text"),
    "edges not numbers": (lambda d: d["features"][6].update(edges=["0", "a", "2", "3"]), "list of numbers as text"),
    "edges too few": (lambda d: d["features"][6].update(edges=["0", "1"]), "one more than its values"),
    "edges fall": (lambda d: d["features"][6].update(edges=["0", "3", "2", "4"]), "edges must rise"),
    "name a number": (lambda d: d["features"][0].update(name=3), "name and question must be text"),
    "question a number": (lambda d: d["features"][0].update(question=3), "name and question must be text"),
    "a feature twice": (lambda d: d["features"].append(d["features"][0]), "features of different names"),
    "version true": (lambda d: d.update(version=True), "reads plans of version 1; found True"),
    "buckets changed": (lambda d: protocol_of(d, 3).update(buckets=4096), "says its epsilon is"),
    "epsilon not a number": (lambda d: d.update(epsilon=float("nan")), "says its epsilon is nan"),
    "value dropped": (lambda d: d["features"][1]["values"].pop(), "says its epsilon is"),
    "public made": (lambda d: d["features"][0].update(protocol={"name": "public"}), "says its epsilon is"),
    "an extra key": (lambda d: d["features"][0].update(comment="x"), "unknown key 'comment'"),
    "epsilon understated": (lambda d: d.update(epsilon=d["epsilon"] / 2), "says its epsilon is"),
    "epsilon missing": (lambda d: d.pop("epsilon"), "says its epsilon is None"),
    "another version": (lambda d: d.update(version=2), "reads plans of version 1; found 2"),
    "no version": (lambda d: d.pop("version"), "found None"),
    "no features": (lambda d: d.update(features=None), "reads plans of version 1"),
    "no feature left": (lambda d: d["features"].clear(), r"one or more features of different names; found \[\]"),
}

UNREADABLE: dict[str, tuple[str, str]] = {
    "half a text": ("{", "not JSON"),
    "a number": ("3", "must be a JSON object; found 3"),
    "a key twice": ('{"version": 1, "version": 1}', "a key stands twice"),
    "half a letter": ('{"version": 1, "features": [{"name": "\\ud800"}]}', "not Unicode"),
}

# -- answers -----------------------------------------------------------------------------------------------------------

SCHEMA = dn.Schema(
    [
        dn.Flag("smoker"),
        dn.Choice("age", ["young", "old"]),
        dn.Choice("children", ["0", "1", "2.5"]),
        dn.Choice.bins("income", [0, 10, 20]),
    ]
)
PLAN = dn.Plan(SCHEMA, dict.fromkeys(SCHEMA.names, dn.Public()))  # public, so that what comes out is what went in

BAD_ANSWERS: dict[str, tuple[str, Any, str]] = {
    "unknown value": ("age", "Old", "'Old' is not one of its values 'young', 'old'"),
    "unknown number": ("children", 3, "3(.0)? is not one of its values '0', '1', '2.5'"),
    "empty text": ("age", "", r"no answer \(null\)"),
    "null": ("age", None, r"no answer \(null\); leave the record out, or list a value such as 'no answer'"),
    "null flag": ("smoker", None, r"no answer \(null\).*ask it as a choice"),
    "nan": ("income", math.nan, r"no answer \(null\)"),
    "flag of two": ("smoker", 2, "takes true, false, 1 or 0; found 2"),
    "flag of a word": ("smoker", "maybe", "takes true, false, 1 or 0; found 'maybe'"),
    "truth for a choice": ("age", True, "takes text or a number; found True"),
    "list for a choice": ("age", ["old"], r"takes text or a number; found \['old'\] \(list\)"),
    "date for a choice": ("age", pd.Timestamp("2026-01-01"), "takes text or a number"),
    "array for a choice": ("age", np.zeros(2), r"takes text or a number; found array"),
    "a number beyond all floats": ("income", 10**400, "takes text or a number; found 1000"),
    "digits of another script": ("income", "٣", "takes a number; found '٣'"),
    "digits with underscores": ("income", "1_0", "takes a number; found '1_0'"),
    "below the ranges": ("income", -1, "-1 is outside its ranges, 0 to 20"),
    "above the ranges": ("income", 20.5, "20.5 is outside its ranges, 0 to 20"),
    "word for a number": ("income", "much", "takes a number; found 'much'"),
}
