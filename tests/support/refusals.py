"""Plans and answers that must be refused, listed once by name: tests run over them, and spec/ holds them as JSON."""

import json
import math
from typing import Any

import numpy as np
import pandas as pd

import deniable as dn
from deniable import client
from tests.support.designs import DESIGNS
from tests.support.situations import PLANS, values

KEEP = {"name": "GRR", "keep": 30000}

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


def fit(document: Any) -> None:
    """Give a plan of version 1 the epsilon of its probabilities, as a careful forger would."""
    ratios = (client.ratio(one["protocol"], len(one.get("values", "1"))) for one in document["features"])
    document["epsilon"] = client.log_up(ratios)


# Pairs of texts that are different and look the same.
LOOK_ALIKE = {
    "a zero-width space": ("smoker", "smo\u200bker"),
    "a variation selector": ("smoker", "smoker\ufe0f"),
    "a filler": ("smoker", "\u3164smoker"),
    "how an accent is written": ("caf\u00e9", "cafe\u0301"),
    "the kind of a blank": ("a smoker", "a\u00a0smoker"),
    "the number of blanks": ("a smoker", "a  smoker"),
    "a blank at the end": ("smoker", "smoker "),
}

TAMPERINGS: dict[str, tuple[Any, str]] = {
    "q raised": (lambda d: protocol_of(d, 0).update(q=65535), "says its epsilon is"),
    "q beyond the grid": (lambda d: protocol_of(d, 0).update(q=65536), "q must be a whole number from 1 to 65535"),
    "p zero": (lambda d: protocol_of(d, 0).update(p=0), "p must be a whole number from 1"),
    "p a fraction": (lambda d: protocol_of(d, 0).update(p=0.1), "p must be a whole number .* found 0.1"),
    "p true": (lambda d: protocol_of(d, 0).update(p=True), "p must be a whole number .* found True"),
    "p is q": (lambda d: protocol_of(d, 0).update(p=40000, q=40000), "p must be below q; found .*40000"),
    "swapped": (lambda d: protocol_of(d, 0).update(p=60000, q=20000), "p must be below q"),
    "swapped, with an epsilon that fits": (
        lambda d: (protocol_of(d, 0).update(p=60000, q=20000), fit(d)),
        "p must be below q",
    ),
    "keep beyond": (lambda d: protocol_of(d, 1).update(keep=65536), "keep must be a whole number"),
    "repeat in version 1": (lambda d: d.update(repeat="keep"), "a plan of version 1 has no arms, assigned, repeat"),
    "no buckets": (lambda d: protocol_of(d, 3).update(buckets=1), "buckets must be a whole number from 2"),
    "no size": (lambda d: subset(d, q=60000, size=0), "size must be a whole number from 1"),
    "a set of all values": (lambda d: subset(d, q=65535, size=5), "q must be above 5/5 of 65536; found 65535"),
    "a set by chance alone": (lambda d: subset(d, q=26214, size=2), "q must be above 2/5 of 65536; found 26214"),
    "buckets missing": (lambda d: protocol_of(d, 3).pop("buckets"), "local hashing has keep, buckets"),
    "one number more": (lambda d: protocol_of(d, 4).update(p=1), "public has no numbers"),
    "unknown protocol": (lambda d: protocol_of(d, 0).update(name="RAPPOR"), "unknown protocol; found 'RAPPOR'"),
    "flag by sets": (
        lambda d: d["features"][0].update(protocol={"name": "subset selection", "q": 40000, "size": 1}),
        "is a flag: it needs another protocol; found 'subset selection'",
    ),
    "flag by GRR": (
        lambda d: d["features"][0].update(protocol={"name": "GRR", "keep": 5}),
        "is a flag: it needs another protocol; found 'GRR'",
    ),
    "choice by RR": (
        lambda d: protocol_of(d, 6).update(name="randomized response"),
        "is a choice: it needs another protocol; found 'randomized response'",
    ),
    "no protocol": (
        lambda d: d["features"][0].pop("protocol"),
        "feature 0 of the plan must be a feature with a protocol",
    ),
    "not a table": (
        lambda d: d["features"].append(3),
        "feature 7 of the plan must be a feature with a protocol; found 3",
    ),
    "protocol's name a list": (lambda d: protocol_of(d, 0).update(name=["GRR"]), "unknown protocol"),
    "a group": (lambda d: d["features"][0].update(flags=["x", "y"]), r"unknown key; found \['flags'\]"),
    "one value": (
        lambda d: d["features"][1].update(values=["x"]),
        r"values must be a list of 2 to 4096 different texts; found \['x'\]",
    ),
    "4097 values": (
        lambda d: d["features"][1].update(values=values(4097)),
        "values must be a list of 2 to 4096 different texts",
    ),
    "70 000 values": (
        lambda d: d["features"][1].update(values=values(70_000)),
        "values must be a list of 2 to 4096 different texts",
    ),
    "value twice": (
        lambda d: d["features"][1].update(values=["x", "x", "y"]),
        "values must be a list of 2 to 4096 different texts",
    ),
    "values a text": (
        lambda d: d["features"][1].update(values="abc"),
        "values must be a list of 2 to 4096 different texts",
    ),
    "values nested": (
        lambda d: d["features"][1].update(values=[["x"], "y"]),
        "values must be a list of 2 to 4096 different texts",
    ),
    "edges on a flag": (
        lambda d: d["features"][0].update(edges=["0", "1", "2"]),
        "edges must be rising numbers as text, one more than its values",
    ),
    "edges null": (
        lambda d: d["features"][1].update(edges=None),
        "edges must be rising numbers as text, one more than its values; found None",
    ),
    "edges not numbers": (
        lambda d: d["features"][6].update(edges=["0", "a", "2", "3"]),
        "edges must be rising numbers as text, one more than its values",
    ),
    "edges too few": (
        lambda d: d["features"][6].update(edges=["0", "1"]),
        "edges must be rising numbers as text, one more than its values",
    ),
    "edges fall": (
        lambda d: d["features"][6].update(edges=["0", "3", "2", "4"]),
        "edges must be rising numbers as text, one more than its values",
    ),
    "name a number": (lambda d: d["features"][0].update(name=3), "name and question must be text"),
    "question a number": (lambda d: d["features"][0].update(question=3), "name and question must be text"),
    "a feature twice": (lambda d: d["features"].append(d["features"][0]), "features of different names"),
    "version true": (
        lambda d: d.update(version=True),
        "reads plans of version 1 and 2, which have a list of features; found True",
    ),
    "buckets changed": (lambda d: protocol_of(d, 3).update(buckets=4096), "says its epsilon is"),
    "epsilon not a number": (lambda d: d.update(epsilon=float("nan")), "JSON has no NaN"),
    "value dropped": (lambda d: d["features"][1]["values"].pop(), "says its epsilon is"),
    "public made": (lambda d: d["features"][0].update(protocol={"name": "public"}), "says its epsilon is"),
    "an extra key": (lambda d: d["features"][0].update(comment="x"), r"unknown key; found \['comment'\]"),
    "missing in version 1": (
        lambda d: d["features"][0].update(missing="no answer"),
        r"unknown key; found \['missing'\]",
    ),
    "a label in version 1": (lambda d: d["features"][0].update(label="Flag?"), r"unknown key; found \['label'\]"),
    "epsilon understated": (lambda d: d.update(epsilon=d["epsilon"] / 2), "says its epsilon is"),
    "epsilon missing": (lambda d: d.pop("epsilon"), "says its epsilon is None"),
    "an unknown key of the plan": (lambda d: d.update(comment="x"), r"a plan has no other keys than .*\['comment'\]"),
    "a name without a letter": (
        lambda d: d["features"][0].update(name=""),
        "texts that can be read, with a letter to be seen; found",
    ),
    "a name of blanks": (
        lambda d: d["features"][0].update(name="\u200b \u3164"),
        "texts that can be read, with a letter to be seen; found",
    ),
    "a name of two lines": (
        lambda d: d["features"][0].update(name="a\nb"),
        "texts that can be read, with no control characters",
    ),
    "a name with an escape": (
        lambda d: d["features"][0].update(name="\x1b[8m"),
        "can be read, with no control characters",
    ),
    "a name with a line separator": (
        lambda d: d["features"][0].update(name="a\u2028b"),
        "texts that can be read, with no control characters",
    ),
    "a name that is shown in another order": (
        lambda d: d["features"][0].update(name="\u202etah"),
        "texts that can be read, with no control characters",
    ),
    "a value of blanks": (
        lambda d: d["features"][1]["values"].__setitem__(0, " "),
        "values and labels of feature 'grr' must be texts that can be read",
    ),
    "a value with a control character": (
        lambda d: d["features"][1]["values"].__setitem__(0, "v\x07"),
        "values and labels of feature 'grr' must be texts that can be read",
    ),
    **{
        f"two names that differ by {title} alone": (
            lambda d, one=one, other=other: (d["features"][0].update(name=one), d["features"][1].update(name=other)),
            "names of questions must differ in what can be seen",
        )
        for title, (one, other) in LOOK_ALIKE.items()
    },
    "two questions that differ by a zero-width space alone": (
        lambda d: (
            d["features"][0].update(name="q: a", question="q"),
            d["features"][5].update(name="q\u200b: b", question="q\u200b"),
        ),
        "names of questions must differ in what can be seen",
    ),
    "two values that differ by a zero-width space alone": (
        lambda d: d["features"][1]["values"].__setitem__(0, "v1\u200b"),
        "values and labels of feature 'grr' must differ in what can be seen",
    ),
    "ranges in another order": (
        lambda d: d["features"][6].update(
            values=["1 to under 2", "0 to under 1", "2 to 3"], edges=["0", "1", "2", "3"]
        ),
        "values must be named after its edges, '0 to under 1', '1 to under 2', '2 to 3'",
    ),
    "ranges by other words": (
        lambda d: d["features"][6].update(
            values=["0 to under 1", "1 to under 2", "9 to 10"], edges=["0", "1", "2", "3"]
        ),
        "values must be named after its edges",
    ),
    "another version": (lambda d: d.update(version=3), "reads plans of version 1 and 2, .*found 3"),
    "no version": (lambda d: d.pop("version"), "found None"),
    "no features": (lambda d: d.update(features=None), "reads plans of version 1"),
    "no feature left": (lambda d: d["features"].clear(), r"one or more features of different names; found \[\]"),
}

# -- plans of blocks and arms ------------------------------------------------------------------------------------------


def tampered_arms(change: Any, *, sealed: bool = True) -> str:
    """The JSON of a plan of three arms with two public columns after a change; sealed as a careful forger would.

    The features are region (public), smoker, age, town and invited (public); the arms ask smoker and age together, age
    and town together, and town.
    """
    document = json.loads(DESIGNS["public in every arm"].to_json())
    change(document)
    if sealed:
        document["fingerprint"] = client.fingerprint(document)
    return json.dumps(document)


def arm(document: Any, number: int, **parts: Any) -> None:
    document["arms"][number].update(parts)


def block(document: Any, number: int, place: int, **parts: Any) -> None:
    document["arms"][number]["blocks"][place].update(parts)


def only_arm(document: Any, name: str, blocks: list[list[int]]) -> None:
    """One arm in place of all, of blocks by GRR, with a fitting epsilon."""
    made = [{"features": places, "protocol": KEEP} for places in blocks]
    document.update(arms=[{"name": name, "share": 65536, "blocks": made}])
    document["features"] = [{"name": f["name"], "values": values(3)} for f in document["features"]]
    document["epsilon"] = client.log_up(client.ratio(KEEP, 3 ** len(places)) for places in blocks)


def many_combinations(document: Any) -> None:
    document["features"][2].update(values=values(64))
    document["features"][3].update(values=values(65))


def ranges(document: Any, ranges: list[str], missing: str) -> None:
    """Ages as number ranges between three edges, with a missing answer."""
    document["features"][2].update(values=ranges, edges=["0", "1", "2"], missing=missing)


ARM_TAMPERINGS: dict[str, tuple[Any, str]] = {
    "repeat by another word": (lambda d: d.update(repeat="fresh"), "repeat must be 'keep' or left out; found 'fresh'"),
    "repeat null": (lambda d: d.update(repeat=None), "repeat must be 'keep' or left out; found None"),
    "a fresh coin without repeat": (lambda d: d.update(fresh=40000), "fresh must be a number from 1 to 65535, beside"),
    "a fresh coin of 65536": (lambda d: d.update(repeat="keep", fresh=65536), "from 1 to 65535.*found 65536"),
    "a fresh coin of zero": (lambda d: d.update(repeat="keep", fresh=0), "from 1 to 65535.*found 0"),
    "a fresh coin that is true": (lambda d: d.update(repeat="keep", fresh=True), "from 1 to 65535.*found True"),
    "a fresh coin over sets": (
        lambda d: (
            d.update(repeat="keep", fresh=40000),
            block(d, 0, 1, protocol={"name": "subset selection", "q": 40000, "size": 1}),
        ),
        "fresh is for randomized response, GRR, public alone; found {'subset selection'}",
    ),
    "arms missing": (lambda d: d.pop("arms"), "has a list of arms; found None"),
    "arms a table": (lambda d: d.update(arms={}), "has a list of arms; found {}"),
    "no arm": (lambda d: d.update(arms=[]), r"sum to 65536; found \[\]"),
    "version 1 with arms": (lambda d: d.update(version=1), "a plan of version 1 has no arms"),
    "an arm that is a text": (lambda d: d["arms"].append("fourth"), "arm 3 must have name, share, blocks"),
    "an arm with one key more": (lambda d: arm(d, 0, weight=1), "arm 0 must have name, share, blocks and nothing else"),
    "an arm without a share": (lambda d: d["arms"][0].pop("share"), "arm 0 must have name, share, blocks"),
    "an arm without a name": (lambda d: arm(d, 0, name=""), "arm 0 must have name, .* none of them empty"),
    "an arm's name a number": (lambda d: arm(d, 0, name=7), "arm 0 must have name"),
    "two arms of one name": (lambda d: arm(d, 0, name=d["arms"][1]["name"]), "arms must have different names"),
    "share zero": (lambda d: arm(d, 0, share=0), "arm 0 must have name, share, .* none of them empty"),
    "share below zero": (lambda d: (arm(d, 0, share=-1), arm(d, 1, share=43692)), "must be above 0 and sum to 65536"),
    "share a fraction": (lambda d: arm(d, 0, share=21846.5), "arm 0 must have name, share"),
    "share true": (lambda d: arm(d, 0, share=True), "arm 0 must have name, share"),
    "shares off by one, below": (lambda d: arm(d, 0, share=21845), "must be above 0 and sum to 65536"),
    "shares off by one, above": (lambda d: arm(d, 0, share=21847), "must be above 0 and sum to 65536"),
    "no blocks": (lambda d: arm(d, 0, blocks=[]), "arm 0 must have name, share, blocks .* none of them empty"),
    "blocks a table": (lambda d: arm(d, 0, blocks={"features": [1]}), "arm 0 must have name, share, blocks"),
    "a block with one key more": (
        lambda d: block(d, 0, 1, epsilon=1),
        "arm 0, block 1 must have features, protocol and",
    ),
    "a block without a protocol": (lambda d: d["arms"][0]["blocks"][1].pop("protocol"), "arm 0, block 1 must have"),
    "a block of no feature": (lambda d: block(d, 0, 1, features=[]), "arm 0, block 1 must have .* none of them empty"),
    "a place beyond the features": (lambda d: block(d, 0, 1, features=[1, 5]), "must be places from 0 to 4, .*5"),
    "a place below zero": (lambda d: block(d, 0, 1, features=[-4, 2]), "must be places from 0 to 4"),
    "a place by name": (lambda d: block(d, 0, 1, features=["smoker", "age"]), "must be places from 0 to 4"),
    "a place true": (lambda d: block(d, 0, 1, features=[True, 2]), "must be places from 0 to 4"),
    "a feature twice in a block": (lambda d: block(d, 0, 1, features=[1, 1, 2]), "places from 0 to 4, in rising order"),
    "a block's features turned round": (
        lambda d: block(d, 0, 1, features=[2, 1]),
        "places from 0 to 4, in rising order",
    ),
    "a feature twice in an arm": (lambda d: block(d, 0, 2, features=[2, 4], protocol=KEEP), "must ask a feature once"),
    "blocks out of order": (
        lambda d: d["arms"][0]["blocks"].reverse(),
        "must ask a feature once, and have its blocks in",
    ),
    "4160 combinations": (many_combinations, "at most 4096 combinations of answers; found 4160"),
    "a question that no arm asks": (
        lambda d: d["features"].append({"name": "never"}),
        r"asked in some arm; found \['never",
    ),
    "a feature with its own protocol": (lambda d: d["features"][1].update(protocol=KEEP), "has an unknown key"),
    "a feature that is a text": (lambda d: d["features"].append("last"), "feature 5 of the plan must be an object"),
    "two features of one name": (lambda d: d["features"][1].update(name="age"), "features of different names"),
    "public in a block of several": (
        lambda d: block(d, 0, 1, protocol={"name": "public"}),
        "what is public must be a block by itself",
    ),
    "public in some arms alone": (lambda d: d["arms"][2]["blocks"].pop(0), "must be so in every arm"),
    "public here, protected there": (lambda d: block(d, 2, 0, protocol=KEEP), "must be so in every arm"),
    "a block by randomized response": (
        lambda d: block(d, 0, 1, protocol={"name": "randomized response", "p": 1, "q": 2}),
        "feature 'smoker x age' is a choice: it needs another protocol",
    ),
    "a flag alone by GRR": (
        lambda d: block(d, 0, 1, features=[1], protocol=KEEP),
        "feature 'smoker' is a flag: it needs another protocol",
    ),
    "a set of all combinations": (
        lambda d: block(d, 0, 1, protocol={"name": "subset selection", "q": 65535, "size": 6}),
        "q must be above 6/6 of 65536",
    ),
    "assigned false": (lambda d: d.update(assigned=False), "assigned must be true, of several arms, or left out"),
    "assigned by a word": (lambda d: d.update(assigned="yes"), "assigned must be true, of several arms, or left out"),
    "one arm, assigned": (
        lambda d: (only_arm(d, "everybody", [[0, 1], [2], [3], [4]]), d.update(assigned=True)),
        "assigned must be true, of several arms, or left out",
    ),
    "one arm of another name": (
        lambda d: only_arm(d, "all", [[0, 1], [2], [3], [4]]),
        "one arm is named 'everybody', and is version 1 without blocks",
    ),
    "what version 1 can say": (
        lambda d: only_arm(d, "everybody", [[0], [1], [2], [3], [4]]),
        "one arm is named 'everybody', and is version 1 without blocks",
    ),
    "missing a number": (
        lambda d: d["features"][1].update(missing=3),
        "name and question must be text, and its missing",
    ),
    "missing that is no value": (
        lambda d: d["features"][2].update(missing="no answer"),
        "feature 'age': missing must be one of its values.*; found 'no answer'",
    ),
    "missing that is a flag's answer": (
        lambda d: d["features"][1].update(missing="True"),
        "feature 'smoker': missing must be .* of a flag no word for true or false; found 'True'",
    ),
    "missing without a word": (
        lambda d: d["features"][1].update(missing=""),
        "missing must be .* no word for true or false; found ''",
    ),
    "missing before the ranges": (
        lambda d: ranges(d, ["none", "0 to under 1", "1 to 2"], "none"),
        "missing must be one of its values, the last one of number ranges",
    ),
    "edges for missing too": (
        lambda d: ranges(d, ["0 to under 1", "none"], "none"),
        "edges must be rising numbers as text, one more than its values",
    ),
    "one range alone": (
        lambda d: d["features"][2].update(values=["0 to 1", "none"], edges=["0", "1"], missing="none"),
        "edges must be rising numbers as text, one more than its values",
    ),
    "missing that costs nothing": (lambda d: d["features"][1].update(missing="no answer"), "says its epsilon is"),
    "a flag that may be skipped by randomized response": (
        lambda d: (
            d["features"][1].update(missing="no answer"),
            block(d, 0, 1, features=[1], protocol={"name": "randomized response", "p": 1, "q": 2}),
        ),
        "feature 'smoker' is a choice: it needs another protocol",
    ),
    "a label that is a list": (
        lambda d: d["features"][1].update(label=["Smoker?"]),
        "and its missing, labels and help",
    ),
    "help that is a number": (lambda d: d["features"][1].update(help=1), "and its missing, labels and help"),
    "labels a list": (
        lambda d: d["features"][2].update(labels=["a", "b", "c"]),
        "labels must be texts for its values",
    ),
    "labels of a flag": (
        lambda d: d["features"][1].update(labels={"true": "yes"}),
        "labels must be texts for its values",
    ),
    "a label of no value": (
        lambda d: d["features"][2].update(labels={"v9": "nine"}),
        "labels must be texts for its values",
    ),
    "a label that is a number": (
        lambda d: d["features"][2].update(labels={"v1": 1}),
        "labels must be texts for its values",
    ),
    "a label without a letter": (
        lambda d: d["features"][1].update(label="\u200b"),
        "label of feature 'smoker' must be texts that can be read",
    ),
    "help of two lines": (
        lambda d: d["features"][1].update(help="one\ntwo"),
        "help of feature 'smoker' must be texts that can be read, with no control characters",
    ),
    "a label that is another value": (
        lambda d: d["features"][2].update(labels={"v1": "v2", "v2": "v1"}),
        "values and labels of feature 'age' must differ in what can be seen",
    ),
    "a label for two values": (
        lambda d: d["features"][2].update(labels={"v1": "old", "v2": "old"}),
        "values and labels of feature 'age' must differ in what can be seen",
    ),
    "two questions of one label": (
        lambda d: (d["features"][0].update(label="Same"), d["features"][1].update(label="Same")),
        "names and labels of features must differ in what can be seen",
    ),
    "a label that is another question's name": (
        lambda d: d["features"][0].update(label="smoker\u200b"),
        "names and labels of features must differ in what can be seen",
    ),
    "names and labels that changed places": (
        lambda d: (d["features"][0].update(label="smoker"), d["features"][1].update(label="region")),
        "names and labels of features must differ in what can be seen",
    ),
    "two parts of a question of one label": (
        lambda d: (
            d["features"][1].update(name="drinks: tea", question="drinks", question_label="Drinks"),
            d["features"][4].update(name="drinks: coffee", question="drinks", question_label="Drinks", label="tea"),
        ),
        "names and labels of features must differ in what can be seen",
    ),
    "two labels that differ by a blank alone": (
        lambda d: d["features"][2].update(labels={"v1": "old", "v2": "old\u00a0"}),
        "values and labels of feature 'age' must differ in what can be seen",
    ),
    "missing that looks like a flag's answer": (
        lambda d: d["features"][1].update(missing="true\u200b"),
        "feature 'smoker': missing must be .* of a flag no word for true or false",
    ),
    "an arm's name of blanks": (lambda d: arm(d, 0, name="\u2003"), "names of arms must be texts that can be read"),
    "an arm's name of two lines": (lambda d: arm(d, 0, name="a\rb"), "names of arms must be texts that can be read"),
    "two arms that differ by a zero-width space alone": (
        lambda d: arm(d, 0, name=d["arms"][1]["name"] + "\u200b"),
        "names of arms must differ in what can be seen",
    ),
    "the epsilon of a smaller arm": (
        lambda d: d.update(epsilon=client.log_up([client.ratio(d["arms"][2]["blocks"][1]["protocol"], 5)])),
        "says its epsilon is",
    ),
    "an arm that costs more": (lambda d: block(d, 2, 1, protocol=KEEP | {"keep": 60000}), "says its epsilon is"),
}
# These keep the fingerprint from before the change.
UNSEALED_ARMS: dict[str, Any] = {
    "a share moved without a new fingerprint": lambda d: (arm(d, 0, share=21847), arm(d, 1, share=21844)),
    "an arm renamed without a new fingerprint": lambda d: arm(d, 0, name="first"),
    "assigned without a new fingerprint": lambda d: d.update(assigned=True),
}

UNREADABLE: dict[str, tuple[str, str]] = {
    "half a text": ("{", "not JSON"),
    "a number": ("3", "must be a JSON object; found 'int'"),
    "a key twice": ('{"version": 1, "version": 1}', "a key stands twice"),
    "NaN beside what carries meaning": (
        PLANS["one flag"].to_json().replace('"version"', '"comment": NaN, "version"'),
        "JSON has no NaN",
    ),
    "a number with a point": (
        PLANS["one flag"].to_json().replace("52428", "52428.0"),
        "says its fingerprint is",
    ),
    "half a letter": ('{"version": 1, "features": [{"name": "\\ud800"}]}', "surrogates not allowed"),
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

# Each with its column; what the client says of it, which is never the answer; and what bulk code adds to that.
BAD_ANSWERS: dict[str, tuple[str, Any, str, str]] = {
    "unknown value": ("age", "Old", "the answer is not one of its values 'young', 'old'", "; found 'Old'"),
    "unknown number": ("children", 3, "the answer is not one of its values '0', '1', '2.5'", "; found 3(.0)?"),
    "empty text": ("age", "", r"no answer \(null\); leave the record out, or .* missing='no answer'", ""),
    "null": (
        "age",
        None,
        r"no answer \(null\); leave the record out, or let the question be skipped: missing='no answer'",
        "",
    ),
    "null flag": ("smoker", None, r"no answer \(null\).*let the question be skipped: missing='no answer'", ""),
    "nan": ("income", math.nan, r"no answer \(null\).*missing='no answer'", "(; found nan)?"),
    "flag of two": ("smoker", 2, "is a flag and takes true, false, 1 or 0", "; found 2"),
    "flag of a word": ("smoker", "maybe", "is a flag and takes true, false, 1 or 0", "; found 'maybe'"),
    "truth for a choice": ("age", True, "takes text or a number, and got another type", "; found True"),
    "list for a choice": ("age", ["old"], "takes text or a number, and got another type", r"; found \['old'\]"),
    "date for a choice": (
        "age",
        pd.Timestamp("2026-01-01"),
        "takes text or a number, and got another type",
        "; found .*",
    ),
    "array for a choice": ("age", np.zeros(2), "takes text or a number, and got another type", "; found .*"),
    "a number beyond all floats": (
        "income",
        10**400,
        "takes text or a number, and got another type",
        "; found a whole number of more than 30 digits",
    ),
    "digits of another script": ("income", "٣", "takes a number", "; found '٣'"),
    "digits with underscores": ("income", "1_0", "takes a number", "; found '1_0'"),
    "below the ranges": ("income", -1, "the answer is outside its ranges, 0 to 20", "; found -1(.0)?"),
    "above the ranges": ("income", 20.5, "the answer is outside its ranges, 0 to 20", "; found 20.5"),
    "word for a number": ("income", "much", "takes a number", "; found 'much'"),
}
