"""Plans' JSON drawn at random on the whole grid, protocol by protocol; and altered, as a forger would."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from math import prod
from random import Random
from typing import Any

import numpy as np

from deniable import client
from tests.support.scripted import LEFT_OUT, arm_draw, arm_source, some_answer, some_draws
from tests.support.situations import values

Document = dict[str, Any]
NAMES = (
    "a",
    "größe",
    "日本 🎈",
    "constructor",
    "__proto__",
    'quo"te\\',
    "1",
    "no\u200bblank",
    "wide\u3000space\u3000\ufeff",
)
ODD_VALUES = ("\U0001f388", "\uffee", "__proto__", "10", "9", "true")  # UTF-16 sorts the first two the other way
JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 65535, 65536, 1.5, 10**30, "", "x", "v1"),
    *([], {}, {"v1": "x"}, [0], ["a", "b"]),
)


def document_of(rng: Random, protocol: str) -> Document:
    """A plan whose questions are all randomized by one protocol: one to four, now and then in blocks or in arms."""
    several = protocol in client.CHOICES_ONLY
    features = [_feature(rng, name, protocol) for name in rng.sample(NAMES, rng.randint(1, 4))]
    count = 1 if protocol == "public" else rng.choice([1, 1, 2, 3, 5])
    arms = [_arm(rng, features, protocol, several) for _ in range(count)]
    asked = {place for arm in arms for block in arm for place in block["features"]}
    if len(asked) < len(features):
        arms[0] = _arm(rng, features, protocol, several, everything=True)
    cuts = sorted(rng.sample(range(1, 65536), count - 1))
    shares = [high - low for low, high in zip([0, *cuts], [*cuts, 65536], strict=True)]
    named = [
        {"name": f"arm {at}", "share": share, "blocks": blocks}
        for at, (share, blocks) in enumerate(zip(shares, arms, strict=True))
    ]
    return sealed(_as_version(features, named))


def _as_version(features: list[Any], arms: list[Any]) -> Document:
    """The one way to write it: version 1 where every question stands alone in one arm."""
    if len(arms) == 1:
        arms[0]["name"] = client.EVERYBODY
        new = any(key in feature for feature in features for key in client.NEW_KEYS)
        if not new and all(len(block["features"]) == 1 for block in arms[0]["blocks"]):
            protocols = [block["protocol"] for block in arms[0]["blocks"]]
            alone = [one | {"protocol": own} for one, own in zip(features, protocols, strict=True)]
            return {"version": 1, "features": alone}
    return {"version": 2, "features": features, "arms": arms}


def _feature(rng: Random, name: str, protocol: str) -> Document:
    """A flag or a choice; now and then one that may be skipped, or has labels."""
    skipped, labelled = rng.random() < 0.25, rng.random() < 0.15
    feature: Document = {"name": name}
    if protocol in client.FLAGS_ONLY or rng.random() < (0.2 if skipped else 0 if protocol != "public" else 0.5):
        feature |= {"missing": "no answer"} if skipped and protocol not in client.FLAGS_ONLY else {}
        feature |= {"question": name[:1]} if rng.random() < 0.1 else {}
        return feature | ({"label": f"Is it {name}?", "question_label": "What is so?"} if labelled else {})
    m = rng.choice([2, 3, 4, 5, 7, 8, 9, 33, rng.randint(2, 300)])
    own = [*rng.sample(ODD_VALUES, min(m, 3)), *values(m)][:m]
    if m - skipped > 1 and rng.random() < 0.3:
        whole = sorted(rng.sample(range(-999, 999), m - skipped - 1))
        first, last = rng.choice(["-inf", "-1e3", "-999.5"]), rng.choice(["inf", "1e3", "1000.5"])
        feature["edges"] = [first, *map(str, whole), last]
        own[: m - skipped] = client.range_values(feature["edges"])
    if skipped:
        own[-1] = "none"
        feature["missing"] = "none" if "edges" in feature else rng.choice(own)
    labels = {"labels": {value: f"{value}!" for value in own[:5]}, "help": "Any\u2003line\u00ad."} if labelled else {}
    return feature | {"values": own} | labels


def _arm(
    rng: Random, features: list[Document], protocol: str, several: bool, *, everything: bool = False
) -> list[Document]:
    places = [place for place in range(len(features)) if everything or protocol == "public" or rng.random() < 0.6]
    blocks: list[list[int]] = []
    for place in places or [0]:
        m = prod(_levels(features[one]) for one in (*(blocks[-1] if blocks else ()), place))
        if several and blocks and m <= client.MAX_VALUES and rng.random() < 0.4:
            blocks[-1].append(place)
        else:
            blocks.append([place])
    return [{"features": own, "protocol": _protocol(rng, protocol, _size(features, own))} for own in blocks]


def _levels(feature: Document) -> int:
    """How many answers a question has."""
    return len(feature["values"]) if "values" in feature else 2 + ("missing" in feature)


def _size(features: list[Document], places: list[int]) -> int:
    """How many values a block has: 1 for a flag alone, which has one bit."""
    first = features[places[0]]
    flag = len(places) == 1 and "values" not in first and "missing" not in first
    return 1 if flag else prod(_levels(features[place]) for place in places)


def _protocol(rng: Random, name: str, m: int) -> Document:
    low, high = sorted(rng.sample([1, 2, 32767, 32768, 65534, 65535, *(rng.randint(3, 65533) for _ in range(20))], 2))
    match name:
        case "randomized response" | "unary encoding":
            return {"name": name, "p": low, "q": high}
        case "GRR":
            return {"name": name, "keep": low}
        case "subset selection":
            size = rng.choice([1, max(1, m // 3), m - 1])
            return {"name": name, "q": rng.randint(65536 * size // m + 1, 65535), "size": size}
        case "local hashing":
            return {"name": name, "keep": low, "buckets": rng.choice([2, 3, 4, 7, 4096, rng.randint(2, 300)])}
    return {"name": name}


def sealed(document: Document) -> Document:
    """With the epsilon and the fingerprint that its content gives, if it gives any."""
    try:
        version_2 = document if document["version"] == 2 else one_arm(document)
        ratios = [
            [client.ratio(block["protocol"], _size(document["features"], block["features"])) for block in arm["blocks"]]
            for arm in version_2["arms"]
        ]
        document["epsilon"] = client.log_up(max(ratios, key=prod))
    except Exception:  # it was altered, and can have no epsilon any more: the old one stays
        document.setdefault("epsilon", 1.0)
    return document | {"fingerprint": client.fingerprint(document)}


def one_arm(document: Document) -> Document:
    """A plan of version 1 in the form of version 2."""
    blocks = [{"features": [at], "protocol": one["protocol"]} for at, one in enumerate(document["features"])]
    arm = {"name": client.EVERYBODY, "share": client.SCALE, "blocks": blocks}
    return document | {"version": 2, "arms": [arm]}


def scripted_cases(document: Document, count: int, rng: np.random.Generator) -> list[Document]:
    """Records and draws of a plan, each with the bytes of the draws in the order of the format."""
    text, plan = json.dumps(document, ensure_ascii=False), document if document["version"] == 2 else one_arm(document)
    bounds = np.cumsum([arm["share"] for arm in plan["arms"]])
    made = []
    for _ in range(count):
        first = arm_draw(plan, rng) if len(plan["arms"]) > 1 else None
        number = 0 if first is None else int(np.searchsorted(bounds, first, side="right"))
        sizes = [_size(plan["features"], block["features"]) for block in plan["arms"][number]["blocks"]]
        blocks = zip(plan["arms"][number]["blocks"], sizes, strict=True)
        draws = [some_draws({"protocol": block["protocol"], "values": range(m)}, rng) for block, m in blocks]
        given = {feature["name"]: _answer(feature, rng) for feature in plan["features"]}
        record = {name: answer for name, answer in given.items() if answer is not LEFT_OUT}
        made.append({"plan": text, "record": record, "draws": arm_source(plan, number, draws, first).left.hex()})
    return made


def _answer(feature: Document, rng: np.random.Generator) -> Any:
    """Any answer, or none where there need not be one; of ranges, now and then an edge, also the last one."""
    edges = feature.get("edges") if rng.random() < 0.3 else None
    return some_answer(feature, rng) if edges is None else edges[int(rng.integers(len(edges)))]


# -- altered plans -----------------------------------------------------------------------------------------------------


def altered(rng: Random, document: Document) -> str:
    """The text of a plan after one or two changes of its content or its text, mostly sealed anew."""
    changed = deepcopy(document)
    for _ in range(rng.choice([1, 1, 2])):
        rng.choice(CHANGES)(rng, changed)
    if rng.random() < 0.85:
        changed = sealed(changed) if rng.random() < 0.85 else changed | {"fingerprint": client.fingerprint(changed)}
    text = json.dumps(changed, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]))
    return rng.choice(TEXT_CHANGES)(rng, text) if rng.random() < 0.3 else text


def _tables(part: Any) -> list[Any]:
    """Every object and list in a document."""
    inside = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return [*([part] if isinstance(part, dict | list) else []), *(one for own in inside for one in _tables(own))]


def _spot(rng: Random, document: Document) -> tuple[Any, Any]:
    table = rng.choice([one for one in _tables(document) if one])
    return table, rng.choice([*(table if isinstance(table, dict) else range(len(table)))])


def _replace(rng: Random, document: Document) -> None:
    table, key = _spot(rng, document)
    table[key] = deepcopy(rng.choice(JUNK))


def _nudge(rng: Random, document: Document) -> None:
    for _ in range(20):
        table, key = _spot(rng, document)
        if type(table[key]) is int:
            table[key] += rng.choice([-1, 1, 1, 7, -300, 65536])
            return
        if type(table[key]) is str and key not in ("fingerprint",):
            table[key] += rng.choice(["x", " ", "0", "é", "\u0000", "\u2028", "e\u0301", "\u200b", "\ufe0f"])
            return


def _remove(rng: Random, document: Document) -> None:
    table, key = _spot(rng, document)
    del table[key]


def _add(rng: Random, document: Document) -> None:
    table = rng.choice(_tables(document))
    if isinstance(table, dict):
        table[rng.choice(NEW)] = deepcopy(rng.choice(JUNK))
    else:
        table.append(deepcopy(rng.choice([*table, *JUNK])))


NEW = (
    *client.NEW_KEYS,
    "repeat",
    "fresh",
    "comment",
    "values",
    "edges",
    "assigned",
    "question",
    "__proto__",
    "p",
    "arms",
    "é",
)


def _add_at_the_top(rng: Random, document: Document) -> None:
    keys = ("want", "n", "design", "reading", "want", "n", "design", "reading", "comment", "__proto__", "toString")
    document[rng.choice(keys)] = deepcopy(rng.choice(JUNK))


def _turn_round(rng: Random, document: Document) -> None:
    rng.choice([one for one in _tables(document) if isinstance(one, list)] or [[]]).reverse()


def _move_a_share(rng: Random, document: Document) -> None:
    arms = document.get("arms")
    if isinstance(arms, list) and len(arms) > 1 and all(isinstance(arm, dict) for arm in arms):
        for arm, by in zip(arms, rng.choice([(1, -1), (-1, 1), (5, -4)]), strict=False):
            if type(arm.get("share")) is int:
                arm["share"] += by


def _assign(rng: Random, document: Document) -> None:
    document["assigned"] = rng.choice([True, True, False, 1])


def _keep(rng: Random, document: Document) -> None:
    document["repeat"] = rng.choice(["keep", "keep", "keep", "fresh", None])
    if rng.random() < 0.7:
        document["fresh"] = rng.choice([1, 40000, 65535, 0, 65536, True, "1"])


def _with_a_number(text: str, rng: Random, change: Callable[[str], str]) -> str:
    found = [*re.finditer(r"(?<=[ \[,:])[0-9]+(?=[,\]} \n])", text)]
    if not found:
        return text
    at = rng.choice(found)
    return text[: at.start()] + change(at.group()) + text[at.end() :]


def _another_number(rng: Random, text: str) -> str:
    forms = (".0", "e0", "E+0", ".5", "000")
    return _with_a_number(text, rng, lambda digits: digits + rng.choice(forms))


def _not_json(rng: Random, text: str) -> str:
    junk = ("NaN", "Infinity", "-Infinity", "0x10", "01", "+1", "-", "1.", ".5", "undefined", "'a'", "-0", "1e999")
    return _with_a_number(text, rng, lambda _: rng.choice(junk))


def _key_twice(rng: Random, text: str) -> str:
    at = rng.choice([place for place, letter in enumerate(text) if letter == "{"]) + 1
    keys = ('"name": "a", ', '"n\\u0061me": "a", ', '"version": 1, ', '"x": 1, "x": 1, ')
    return text[:at] + rng.choice(keys) + text[at:]


def _letter(rng: Random, text: str) -> str:
    at = rng.randrange(len(text))
    letters = ("", " ", "\t", "\n", "\x0b", "\xa0", "\ufeff", "\x00", '"', "\\", "}", "1", "\\ud800")
    return text[:at] + rng.choice(letters) + text[at:]


CHANGES = (_replace, _nudge, _nudge, _nudge, _remove, _add, _add_at_the_top, _turn_round, _move_a_share, _assign, _keep)
TEXT_CHANGES = (_another_number, _not_json, _key_twice, _letter)
