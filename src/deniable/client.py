"""One respondent's answers, randomized on their own device.

This file runs where the answers are given. It needs the standard library alone and imports nothing else of the package,
so that it can be read in one sitting and copied as it is. `report` is the whole of it:

    record + plan's JSON  --(the operating system's randomness)-->  a fixed number of bytes

A plan has one or more *arms*, each a list of *blocks*: one question, or several that are randomized together, as one
choice over all combinations of their answers. One draw picks the arm before any answer is looked at, and only what the
arm asks is looked at. A report is one little-endian integer: in its lowest bits the arm's number, if there are several;
then a field for each block, in the plan's order; then zeros up to the length of the longest arm.

    protocol             bits in a report     e^epsilon, a = keep     what the bits show
    randomized response  1                    max(q/p, (1-p)/(1-q))   1 with probability q if the flag is true, else p
    unary encoding       m                    q (1-p) / (p (1-q))     the same for every value: the true one with q
    GRR                  bits of m - 1        1 + m a / (1-a)         the true value's index if a coin says so, or any
    subset selection     m                    q (m-k) / ((1-q) k)     a set of k values, the true one in it with q
    local hashing        128 + bits of g - 1  1 + g a / (1-a)         four coefficients of a hash, its bucket by GRR
    public               as a flag, or GRR    1, as if it were free   the answer as it is: not protected at all

Every probability is an integer over 65 536 and every draw a 16-bit integer compared with it, so nothing is rounded.
No draw is skipped because of the answer: length, number of draws and order are the same whatever was answered.
spec/report-format.md draws the layout; spec/vectors.json has draws and bytes to check another client against.

A plan whose answers are kept, `"repeat": "keep"`, is answered by keeping.py, beside this file. A plan is refused
unless its fingerprint and its epsilon follow from its content, and its texts can be read and told apart. It is copied
before it is checked, and the copy is what is used. Whoever can change a plan can still make another one, so `report`
refuses what was not agreed to as well. No error quotes an answer.
"""

import bisect
import functools
import hashlib
import itertools
import json
import math
import numbers
import os
import re
import struct
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

SCALE = 1 << 16  # Probabilities, and the shares of arms, are integers over this.
PRIME = (1 << 31) - 1  # Hashes are polynomials modulo this prime.
COEFFICIENTS = 4  # A hash is a cubic polynomial, so that any four values hash independently.
EVERYBODY = "everybody"  # A plan without arms has one arm of this name.
TEXTS = ("question", "missing", "label", "question_label", "help")  # These keys of a feature hold texts.
NEW_KEYS = ("missing", "label", "labels", "question_label", "help")  # A feature has these in version 2 alone.
KEYS = {1: ("name", "question", "values", "edges"), 2: ("name", "question", "values", "edges", *NEW_KEYS)}  # by version
MEANING = ("version", "features", "arms", "assigned", "repeat", "fresh")  # These keys make a plan's fingerprint.
PLAN_KEYS = (*MEANING, "epsilon", "fingerprint", "want", "n", "design", "reading")
MAX_BYTES = 1 << 22  # A plan has at most so many bytes as JSON in UTF-8.
MAX_VALUES = 4096  # A choice has at most so many values, and a block so many combinations of answers.
Source = Callable[[int], bytes]  # n -> n random bytes
Feature = Mapping[str, Any]
Protocol = Mapping[str, Any]
FLAG_WORDS = {"true": 1, "True": 1, "TRUE": 1, "1": 1, "false": 0, "False": 0, "FALSE": 0, "0": 0}
CONTROL = {"Cc", "Cs", "Zl", "Zp"}  # Unicode's categories of control characters, half letters and ends of lines.
UNSEEN, TURNS = (  # Unicode's default ignorable code points without format characters; turns of the direction
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]",
    "[\u202a-\u202e]",
)
NUMBER = re.compile(r"[+-]?([0-9]+\.?|[0-9]*\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = ("Your whole report", "All your reports together")
AGAIN = (  # what a second report gives away, made afresh or from kept answers
    "This holds for one report. Another one about the same answers gives away as much again.",
    "Asked again, this device sends what it kept of your first answers, even if yours change, and so nothing more.",
)
LITTLE = 171  # From an e^epsilon above this, a belief of 1 in 10 can become more than 95 in 100.
WHO_DRAWS = (  # the device, or whoever invites people
    "You are asked one of {} sets of questions. This device draws it before any answer, so it says nothing of you.",
    "You are asked one of {} sets of questions. Whoever invited you chose which, and must have done so by chance. "
    "They may know which report is yours, if few people are asked the same set.",
)


class DeniableError(ValueError):
    """Root of all errors that this package raises on purpose."""


class PlanError(DeniableError):
    """A plan, or a protocol in it, that cannot be used."""


class AnswerError(DeniableError):
    """An answer that does not fit the question."""


class Block(NamedTuple):
    """Features that are randomized together, as one choice over all combinations of their answers; or one alone."""

    places: tuple[int, ...]  # of its features in the plan
    features: tuple[Feature, ...]
    levels: tuple[int, ...]  # how many answers each feature has
    m: int  # combinations of answers; 1 for a flag alone, which has one bit
    protocol: Protocol
    public: bool  # whether the answer is shown as it is
    width: int  # bits of a report
    ratio: Fraction  # e^epsilon


class CheckedPlan(NamedTuple):
    """A plan that was read and checked once; it shares nothing with what it was read from."""

    fingerprint: str
    epsilon: float  # of a whole report, in the largest arm
    names: tuple[str, ...]  # of the arms
    bounds: tuple[int, ...]  # cumulated shares of the arms
    arms: tuple[tuple[Block, ...], ...]
    public: tuple[str, ...]  # the features that every arm shows as they are
    assigned: bool  # whether whoever invites people gives them their arms, so that the device must not draw
    length: int  # bytes of a report
    kept: int  # 0; or of kept answers the fresh coin's numerator, 65 536 without one: epsilon is of all their reports


Plan = str | bytes | Mapping[str, Any] | CheckedPlan


def report(
    record: Mapping[str, Any],
    plan: Plan,
    *,
    expect: str | None = None,
    at_most: float = 8.0,
    public: Iterable[str] = (),
    arm: str | None = None,
) -> bytes:
    """Randomize one record as a plan says. Randomness comes from the operating system; if that fails, this raises.

    Parameters
    ----------
    record
        `{feature name: answer}`; what the arm does not ask is not looked at.
    plan
        The plan's JSON, as text or already parsed; or what `read` made of it, which saves time from then on.
    expect
        The fingerprint that the plan must have; without it, any plan that fits together is taken.
    at_most
        The largest epsilon of a whole report that is accepted.
    public
        The names of the public columns that the respondent agreed to show; a plan with any other is refused.
    arm
        The name of the arm, if `draw_arm` gave it before, or whoever invited the respondent; else it is drawn here.

    Returns
    -------
    bytes
        The report, whose length is the same for every record of the plan.

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    >>> len(report({"smoker": True}, plan.to_json(), expect=plan.fingerprint, at_most=1.0))
    1
    """
    checked = agreed_plan(plan, expect, at_most, public)
    _need(not checked.kept, "answers to this plan are kept: make its reports by deniable.keeping", "client.report")
    return report_from(os.urandom, record, checked, arm)


def agreed_plan(plan: Plan, expect: str | None, at_most: float, public: Iterable[str]) -> CheckedPlan:
    """The plan, checked; and refused if it is not what was agreed to, as `report` says."""
    checked = read(plan)
    names = isinstance(public, Iterable) and not isinstance(public, Mapping)
    _need(names, "public must be a list of names", type(public).__name__)  # kinds alone: an answer might stand there
    agreed = [public] if isinstance(public, str) else list(public)
    _need(isinstance(expect, str | None), "expect must be a fingerprint, 64 characters", type(expect).__name__)
    positive = isinstance(at_most, numbers.Real) and not isinstance(at_most, bool) and at_most > 0
    _need(positive, "at_most must be a number above 0", type(at_most).__name__)
    whole = f"the plan's whole fingerprint must be {expect!r}; get the expected plan, and all 64 characters of it"
    _need(expect in (None, checked.fingerprint), whole, checked.fingerprint)
    ask = "ask for a plan that protects more, or raise at_most if the respondent agreed to this one"
    _need(checked.epsilon <= at_most, f"epsilon of a whole report must be at most {at_most!r}; {ask}", checked.epsilon)
    others = [name for name in checked.public if name not in agreed]
    ask = "ask the respondent before you add a name there"
    _need(not others, f"what is sent as it is, unprotected, must stand in public={agreed!r}; {ask}", others)
    return checked


def report_from(source: Source, record: Mapping[str, Any], plan: Plan, arm: str | None = None) -> bytes:
    """`report` with its randomness as an argument, and without its refusals: for tests, never for real answers."""
    checked = read(plan)
    bits = arm_number(checked, arm, source)
    blocks, position = checked.arms[bits], (len(checked.arms) - 1).bit_length()
    codes = [code_of(block, record) for block in blocks]
    for block, code in zip(blocks, codes, strict=True):
        field, width = PERTURB[block.protocol["name"]](code, block.m, block.protocol, source)
        bits |= field << position
        position += width
    return bits.to_bytes(checked.length, "little")


def draw_arm(plan: Plan) -> str:
    """Draw an arm by the operating system's randomness: its name, for `questions` and then for `report`.

    >>> draw_arm(dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0).to_json())
    'everybody'
    """
    checked = read(plan)
    return checked.names[arm_number(checked, None, os.urandom)]


def questions(plan: Plan, arm: str) -> list[dict[str, Any]]:
    """List the features that an arm asks, as the plan's JSON has them, in its order; what is public is marked.

    A form shows `label` or else `name`, `labels` or else `values`, and `help`; what has `missing` may be skipped.
    """
    checked, asked = read(plan), {}
    _need(arm is not None, f"the arm must be one of {_listed(checked.names)}", arm)
    for block in checked.arms[arm_number(checked, arm, bytes)]:  # by its name: nothing is drawn
        for place, feature in zip(block.places, block.features, strict=True):
            copied = json.loads(json.dumps(feature, default=dict))  # lists and objects of its own
            asked[place] = copied | ({"public": True} if block.public else {})
    return [asked[place] for place in sorted(asked)]


def promise(plan: Plan) -> str:
    """Say to a respondent, in plain words, the most that can be learned from a report, and what is not protected.

    By Bayes' theorem a belief of 1 in 10 becomes at most r / (r + 9): r = e^epsilon of the largest arm for the whole
    report, of its block for one answer, if all others are known. In exact fractions, rounded up.
    """
    checked = read(plan)
    worst: dict[str, Fraction | int] = {}  # by answer, e^epsilon of the block that protects it least
    for block in itertools.chain(*checked.arms):
        worst |= {quoted(f): max(block.ratio, worst.get(quoted(f), 1)) for f in block.features if not block.public}
    alike: dict[str, list[str]] = {}
    for name, most in worst.items():
        alike.setdefault(_most(most), []).append(name)
    fresh, whole, arms = 0 < checked.kept < SCALE, _largest(checked.arms, SCALE), len(checked.arms)
    public = ", ".join(quoted(block.features[0]) for block in checked.arms[0] if block.public)
    lines = [
        "Chance may change your answers on this device, before anything is sent.",
        WHO_DRAWS[checked.assigned].format(arms) * (arms > 1),
        f"{WHOLE[fresh]} can raise what somebody suspects from 1 in 10 to {_most(whole)}.",
        f"One report alone: from 1 in 10 to {_most(_largest(checked.arms, checked.kept))}." * fresh,
        *(f"One answer, if all others are known: from 1 in 10 to {m} ({', '.join(n)})." for m, n in alike.items()),
        "All in all this protects little: whoever sees your report can become nearly sure." * (whole > LITTLE),
        AGAIN[checked.kept > 0],
        "All of this comes on top of what is sent unprotected." * bool(public),
    ]
    lines = lines if alike else ["Nothing is protected here."]
    return "\n".join(filter(None, [*lines, f"Not protected at all, but sent as it is: {public}." * bool(public)]))


def title(feature: Feature) -> str:
    """What people read as a question: its label, or else its name; of a multi-select question, both parts."""
    if "question" not in feature:
        return str(feature.get("label", feature["name"]))
    value = feature["name"].removeprefix(feature["question"] + ": ")
    return f"{feature.get('question_label', feature['question'])}: {feature.get('label', value)}"


def quoted(feature: Feature) -> str:
    """What people read as a question, in quotes, with another name beside it: no label can pass for words of ours."""
    said, name = (text.replace('"', "'") for text in (title(feature), feature["name"]))
    return f'"{said}"' + f' ("{name}")' * (said != name)


def _most(ratio: Fraction | int) -> str:
    return f"at most {math.ceil(100 * ratio / (ratio + 9))} in 100"


def arm_number(plan: CheckedPlan, arm: str | None, source: Source) -> int:
    """The number of a named arm, or of one that is drawn: the first whose cumulated shares are above the draw."""
    if arm is not None:
        _need(isinstance(arm, str), "the arm must be given by its name", type(arm).__name__)
        if arm not in plan.names:
            import difflib  # names of arms are no answers, and may be quoted

            alike = [f"; did you mean {name!r:.200}?" for name in difflib.get_close_matches(arm, plan.names, 1)]
            raise PlanError(f"the arm must be one of {_listed(plan.names)}; found {arm!r:.200}{''.join(alike)}")
        return plan.names.index(arm)
    _need(not plan.assigned, "the device must not draw an arm that is assigned; give its name, arm=...", arm)
    return bisect.bisect_right(plan.bounds, _draws(source, 1)[0]) if len(plan.arms) > 1 else 0


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts[:8])) + (f", ... ({len(texts)} in all)" if len(texts) > 8 else "")


def read(plan: Plan) -> CheckedPlan:
    """Read and check a plan's JSON, once for many reports; what was read already is given back as it is."""
    if isinstance(plan, CheckedPlan):
        return plan
    document = parse(plan)
    tables: Any = _arms_of_version_1(document) if document["version"] == 1 else document.get("arms")
    features = [_feature(place, table, document["version"]) for place, table in enumerate(document["features"])]
    names = _checked_names(features)
    _need(isinstance(tables, list), "a plan of version 2 has a list of arms", tables)
    arms = tuple(_arm(f"arm {number}", table, features) for number, table in enumerate(tables))
    _check_arms(tables, arms, names)
    _check_form(document, tables, arms)
    _check_repeat(document, arms)
    _check_stated(document, "epsilon", log_up([_largest(arms, SCALE)]))
    return CheckedPlan(
        document["fingerprint"],
        float(document["epsilon"]),
        names=tuple(table["name"] for table in tables),
        bounds=tuple(itertools.accumulate(table["share"] for table in tables)),
        arms=arms,
        public=tuple(block.features[0]["name"] for block in arms[0] if block.public),
        assigned="assigned" in document,
        length=((len(arms) - 1).bit_length() + max(sum(block.width for block in arm) for arm in arms) + 7) // 8,
        kept=document.get("fresh", SCALE) * ("repeat" in document),
    )


def _largest(arms: Iterable[Sequence[Block]], fresh: int) -> Fraction:  # e^epsilon, after a fresh coin
    return max(math.prod([ratio(block.protocol, block.m, fresh) for block in arm], start=Fraction(1)) for arm in arms)


def parse(plan: Any) -> dict[str, Any]:
    """The plan's JSON as objects of our own, with the fingerprint checked: a mapping may change afterwards."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _need(len(dict(pairs)) == len(pairs), "a key stands twice in the plan", [key for key, _ in pairs])
        return dict(pairs)

    def refuse(word: str) -> None:
        raise ValueError(f"JSON has no {word}")

    try:
        text = json.dumps(plan, default=dict, ensure_ascii=False) if isinstance(plan, Mapping) else plan
        document = json.loads(text, object_pairs_hook=once, parse_constant=refuse)
        json.dumps(document, ensure_ascii=False).encode()  # half a surrogate pair is no Unicode, and fails here
    except (TypeError, ValueError, RecursionError) as error:
        raise PlanError(f"the plan is not JSON; it must be JSON text, as plan.to_json() gives it: {error}") from None
    size = len(text.encode() if isinstance(text, str) else text)
    _need(size <= MAX_BYTES, f"a plan must have at most {MAX_BYTES} bytes as JSON; ask less, or in fewer arms", size)
    _need(isinstance(document, dict), "the plan must be a JSON object", type(document).__name__)
    version = document.get("version")
    known = type(version) is int and version in (1, 2) and isinstance(document.get("features"), list)
    _need(known, "this client reads plans of version 1 and 2, which have a list of features", version)
    unknown = sorted({*document} - {*PLAN_KEYS})
    _need(not unknown, f"a plan has no other keys than {', '.join(PLAN_KEYS)}", unknown)
    _check_stated(document, "fingerprint", fingerprint(document))
    return dict(document)


def _need(right: Any, what: str, found: Any) -> None:
    if not right:
        raise PlanError(f"{what}; found {found!r:.200}")


def _check_stated(document: dict[str, Any], key: str, made: Any) -> None:
    stated = document.get(key)
    changed = f"the plan was changed after it was made: it says its {key} is {stated!r:.200}, but its content gives"
    if isinstance(stated, bool) or stated != made:
        raise PlanError(f"{changed} {made!r}; get the plan again from whoever made it")


def fingerprint(plan: Mapping[str, Any]) -> str:
    """SHA-256 of what the plan means, as JSON with sorted keys, no spaces, in UTF-8."""
    meaning = {key: plan[key] for key in MEANING if key in plan}
    text = json.dumps(meaning, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _arms_of_version_1(document: dict[str, Any]) -> list[Any]:
    """The one arm of a plan of version 1, which asks each feature by itself; its features lose their protocols."""
    _need({*MEANING[2:]}.isdisjoint(document), f"a plan of version 1 has no {', '.join(MEANING[2:])}", sorted(document))
    for place, feature in enumerate(document["features"]):
        right = isinstance(feature, dict) and "protocol" in feature
        _need(right, f"feature {place} of the plan must be a feature with a protocol", feature)
    alone = [{"features": [at], "protocol": one.pop("protocol")} for at, one in enumerate(document["features"])]
    return [{"name": EVERYBODY, "share": SCALE, "blocks": alone}]


def _feature(place: int, table: Any, version: int) -> Feature:
    """Check a feature and freeze it; refuse one that could not be asked."""
    _need(isinstance(table, dict), f"feature {place} of the plan must be an object", table)
    name, values, edges = table.get("name"), table.get("values"), table.get("edges")
    right = all(isinstance(text, str) for text in (name, *(table.get(key, "") for key in TEXTS)))
    _need(right, "a feature's name and question must be text, and its missing, labels and help", table)
    unknown = sorted(set(table) - {*KEYS[version]})
    _need(not unknown, f"feature {name!r} has an unknown key", unknown)
    if "values" in table:
        texts = isinstance(values, list) and all(isinstance(value, str) for value in values)
        right = texts and 2 <= len(values) <= MAX_VALUES and len(set(values)) == len(values)
        _need(right, f"feature {name!r}: values must be a list of 2 to {MAX_VALUES} different texts", values)
    _check_missing(name, table)
    _check_labels(name, table)
    if "edges" in table:
        bounds = len(values or ()) + ("missing" not in table)  # a missing answer is no range
        right = values and isinstance(edges, list) and 3 <= len(edges) == bounds and _rise(edges)
        _need(right, f"feature {name!r}: edges must be rising numbers as text, one more than its values", edges)
        ranges = [*range_values(edges), *values[len(edges) - 1 :]]
        _need(values == ranges, f"feature {name!r}: values must be named after its edges, {_listed(ranges)}", values)
    return MappingProxyType({key: tuple(part) if isinstance(part, list) else part for key, part in table.items()})


def _checked_names(features: list[Feature]) -> list[str]:
    """The features' names, which people can tell apart, from names of questions and what others are labelled too."""
    names = [feature["name"] for feature in features]
    _need(names and len(set(names)) == len(names), "a plan has one or more features of different names", names)
    _check_texts("names of questions", dict.fromkeys([*names, *(one.get("question", one["name"]) for one in features)]))
    _check_texts("names and labels of features", [text for one in features for text in {one["name"]: 0, title(one): 0}])
    return names


def _check_missing(name: str, table: dict[str, Any]) -> None:
    """Refuse what a skipped question is called if it is not an answer of its own, told apart from all others."""
    missing, values = table.get("missing"), table.get("values", [])
    among = values[-1:] if "edges" in table else values  # number ranges come first
    own = missing in among if values else "missing" in table and seen(table["missing"]) not in {"", *FLAG_WORDS}
    what = "one of its values, the last one of number ranges; of a flag no word for true or false"
    _need("missing" not in table or own, f"feature {name!r}: missing must be {what}", missing)


def _check_labels(name: str, table: dict[str, Any]) -> None:
    """Refuse what people read instead of values if it is not of a choice's values; and texts that nobody can read."""
    labels, values = table.get("labels", {}), table.get("values", ())
    right = isinstance(labels, dict) and all(isinstance(label, str) for label in labels.values())
    _need(right and {*labels} <= {*values}, f"feature {name!r}: labels must be texts for its values", labels)
    _check_texts(f"values and labels of feature {name!r}", [*values, *labels.values()])
    for key in TEXTS:
        _check_texts(f"{key} of feature {name!r}", [table[key]] if key in table else [])


def range_values(edges: Sequence[str]) -> list[str]:
    """Words for the number ranges between edges: `under 18`, `18 to under 30`, ..., `45 to 65` or `65 and over`."""
    words = [f"{low} to under {high}" for low, high in itertools.pairwise(edges)]
    words[-1] = f"{edges[-2]} and over" if edges[-1] == "inf" else f"{edges[-2]} to {edges[-1]}"
    return [f"under {edges[1]}", *words[1:]] if edges[0] == "-inf" else words


def _check_texts(what: str, texts: Collection[str]) -> None:
    """Refuse texts that nobody could read, or tell from each other."""
    for text in texts:
        _need(not unreadable(text), f"{what} must be texts that can be read, with {unreadable(text)}", text)
    _need(not look_alike(texts), f"{what} must differ in what can be seen", look_alike(texts))


def unreadable(text: str) -> str:
    """What a text that people are to read lacks: a letter to be seen, or freedom from control characters."""
    if not text.isprintable() and (re.search(TURNS, text) or not CONTROL.isdisjoint(map(unicodedata.category, text))):
        return "no control characters"
    return "" if seen(text) else "a letter to be seen"


def look_alike(texts: Iterable[str]) -> list[str]:
    """Those of some texts that look like another one before them."""
    first: dict[str, int] = {}
    return [text for place, text in enumerate(texts) if first.setdefault(seen(text), place) < place]


def seen(text: str) -> str:
    """What can be seen of a text: no letters without ink or width, NFC, and any blanks as one, none at the ends."""
    if not text.isascii():
        kinds = ((letter, unicodedata.category(letter)) for letter in re.sub(UNSEEN, "", text))
        inked = (" " if kind[0] == "Z" or letter == "\u2800" else letter for letter, kind in kinds if kind != "Cf")
        text = unicodedata.normalize("NFC", "".join(inked))
    return " ".join(text.split())


def _rise(edges: list[Any]) -> bool:
    bounds = [number(edge) if isinstance(edge, str) else None for edge in edges]
    return None not in bounds and sorted(set(bounds)) == bounds  # type: ignore[type-var]


def _parts(where: str, table: Any, **kinds: type) -> list[Any]:
    """The parts of an object, which has just these keys, each of its kind and not empty."""
    right = isinstance(table, dict) and set(table) == set(kinds)
    right = right and all(type(table[key]) is kind and table[key] for key, kind in kinds.items())
    _need(right, f"{where} must have {', '.join(kinds)} and nothing else, none of them empty", table)
    return [table[key] for key in kinds]


def _arm(where: str, table: Any, features: list[Feature]) -> tuple[Block, ...]:
    _, _, blocks = _parts(where, table, name=str, share=int, blocks=list)
    made = tuple(_block(f"{where}, block {number}", block, features) for number, block in enumerate(blocks))
    places = [block.places for block in made]
    once = sum(map(len, places)) == len({*itertools.chain(*places)})
    _need(once and sorted(places) == places, f"{where} must ask a feature once, and have its blocks in order", places)
    return made


def _block(where: str, table: Any, features: list[Feature]) -> Block:
    places, integers = _parts(where, table, features=list, protocol=dict)
    right = all(type(place) is int and 0 <= place < len(features) for place in places) and sorted({*places}) == places
    _need(right, f"{where}: its features must be places from 0 to {len(features) - 1}, in rising order", places)
    asked, protocol = tuple(features[place] for place in places), MappingProxyType(integers)
    levels = tuple(len(feature.get("values", "012" if "missing" in feature else "01")) for feature in asked)
    m = math.prod(levels) if len(asked) > 1 or not {"values", "missing"}.isdisjoint(asked[0]) else 1
    _need(m <= MAX_VALUES, f"{where}: there must be at most {MAX_VALUES} combinations of answers", m)
    _check_protocol(f"feature {' x '.join(feature['name'] for feature in asked)!r}", protocol, m)
    public = protocol["name"] == "public"
    _need(not public or len(asked) == 1, f"{where}: what is public must be a block by itself", places)
    _, width = PERTURB[protocol["name"]](0, m, protocol, bytes)  # zeros for draws
    return Block(tuple(places), asked, levels, m, protocol, public, width, ratio(protocol, m))


def _check_arms(tables: list[Any], arms: Sequence[Sequence[Block]], names: list[str]) -> None:
    """Refuse arms that do not make a plan together."""
    arm_names, shares = [arm["name"] for arm in tables], [arm["share"] for arm in tables]
    _need(len(set(arm_names)) == len(arms), "arms must have different names", arm_names)
    _check_texts("names of arms", arm_names)
    _need(sum(shares) == SCALE and min(shares) > 0, f"the shares of arms must be above 0 and sum to {SCALE}", shares)
    asked = {place for arm in arms for block in arm for place in block.places}
    never = [name for place, name in enumerate(names) if place not in asked]
    _need(not never, "every feature must be asked in some arm", never)
    public = {tuple(block.places for block in arm if block.public) for arm in arms}
    _need(len(public) == 1, "what is public in one arm must be so in every arm", public)


def _check_form(document: dict[str, Any], tables: list[Any], arms: Sequence[Sequence[Block]]) -> None:
    """Refuse a plan that is not written in the one way that there is for it."""
    right = "assigned" not in document or (document["assigned"] is True and len(arms) > 1)
    _need(right, "assigned must be true, of several arms, or left out", document.get("assigned"))
    if len(arms) == 1 and document["version"] == 2:
        together = any(len(block.places) > 1 for block in arms[0])
        new = together or "repeat" in document or not {*itertools.chain(*document["features"])}.isdisjoint(NEW_KEYS)
        what = f"one arm is named {EVERYBODY!r}, and is version 1 without blocks, missing, labels and repeat"
        _need(new and tables[0]["name"] == EVERYBODY, what, tables)


def _check_repeat(document: dict[str, Any], arms: Sequence[Sequence[Block]]) -> None:
    """Refuse another repeat than "keep", a fresh coin without it, and one after a protocol that shows no one answer."""
    repeat, fresh = document.get("repeat", "keep"), document.get("fresh", 1)
    _need(repeat == "keep", "repeat must be 'keep' or left out", repeat)
    right = type(fresh) is int and 0 < fresh < SCALE and not ("fresh" in document and "repeat" not in document)
    _need(right, f"fresh must be a number from 1 to {SCALE - 1}, beside repeat", fresh)
    others = {block.protocol["name"] for block in itertools.chain(*arms)} - {*ONE_VALUE}
    _need(not others or "fresh" not in document, f"fresh is for {', '.join(ONE_VALUE)} alone", others)


def _check_protocol(where: str, protocol: Protocol, m: int) -> None:
    """Refuse an unknown protocol, and numbers that are not its own or show a false value as often as the true one."""
    name: Any = protocol.get("name")
    _need(isinstance(name, str) and name in PERTURB, f"{where} has an unknown protocol", name)
    kind, others = ("choice", FLAGS_ONLY) if m > 1 else ("flag", CHOICES_ONLY)
    _need(name not in others, f"{where} is a {kind}: it needs another protocol", name)
    wanted, p, q, size = INTEGERS[name], *(protocol.get(key, 0) for key in ("p", "q", "size"))
    _need(protocol.keys() == {"name", *wanted}, f"{where}: {name} has {', '.join(wanted) or 'no numbers'}", [*protocol])
    for key, (least, most) in wanted.items():
        right = type(protocol[key]) is int and least <= protocol[key] <= most
        _need(right, f"{where}: {key} must be a whole number from {least} to {most}", protocol[key])
    _need("p" not in wanted or p < q, f"{where}: p must be below q", dict(protocol))
    _need("size" not in wanted or size * SCALE < q * m, f"{where}: q must be above {size}/{m} of {SCALE}", q)


def ratio(protocol: Protocol, m: int, fresh: int = SCALE) -> Fraction:
    """e^epsilon of a protocol for m values: the largest ratio of a report's probabilities under two answers."""
    if protocol["name"] == "public":
        return Fraction(1)
    if "size" in protocol:
        return Fraction(protocol["q"] * (m - protocol["size"]), (SCALE - protocol["q"]) * protocol["size"])
    if "keep" in protocol:
        kept = protocol["keep"] * fresh  # over 65 536^2: two coins, both of which must say so
        return 1 + Fraction(protocol.get("buckets", m) * kept, SCALE**2 - kept)
    p, q = (2 * fresh * protocol[key] + (SCALE - fresh) * SCALE for key in "pq")  # over 2 * 65 536^2, or any of two
    one, zero = Fraction(q, p), Fraction(2 * SCALE**2 - p, 2 * SCALE**2 - q)
    return max(one, zero) if protocol["name"] == "randomized response" else one * zero


def log_up(ratios: Iterable[Fraction]) -> float:
    """The logarithm of a product of fractions, rounded up to the next float: never understated."""
    with localcontext(Context(prec=50)):
        exact = sum((Decimal(r.numerator).ln() - Decimal(r.denominator).ln() for r in ratios), Decimal(0))
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def code_of(block: Block, record: Mapping[str, Any]) -> int:
    """The code of a combination of answers: codes of its features as digits, the first one slowest."""
    code = 0
    for feature, levels in zip(block.features, block.levels, strict=True):
        code = code * levels + encode(feature, answer(record, feature["name"], skipped="missing" in feature))
    return code


def answer(record: Mapping[str, Any], name: str, *, skipped: bool = False) -> Any:
    """Look a feature's answer up in a record: None if it is not there and the question may be skipped."""
    _fit(isinstance(record, Mapping), "a record is a mapping such as {'smoker': True}; found " + type(record).__name__)
    hint = "; of a multi-select question each answer is a flag of its own, True or False" * (": " in name)
    _fit(name in record or skipped, f"column {name!r} is missing{hint}")
    return record.get(name)


def _fit(right: Any, what: str) -> None:
    if not right:
        raise AnswerError(what)


def encode(feature: Feature, answer: Any) -> int:
    """Turn an answer into its code: 0 or 1 for a flag, 2 for a skipped one; the value's index for a choice."""
    name, values, found = feature["name"], feature.get("values"), number(answer)
    if answer is None or (isinstance(answer, str) and not answer) or (found is not None and math.isnan(found)):
        hint = "leave the record out, or let the question be skipped: missing='no answer'"
        _fit("missing" in feature, f"column {name!r} has no answer (null); {hint}")
        answer, found = feature["missing"], None
    if values is not None:
        return _encode_choice(feature, answer, found)
    if isinstance(answer, str) and (answer in FLAG_WORDS or answer == feature.get("missing")):
        return FLAG_WORDS.get(answer, 2)
    _fit(not isinstance(answer, str) and found in (0, 1), f"column {name!r} is a flag and takes true, false, 1 or 0")
    return int(found or 0)


def _encode_choice(feature: Feature, answer: Any, found: float | None) -> int:
    name, values = feature["name"], feature["values"]
    right = not isinstance(answer, bool) and (found is not None or isinstance(answer, str))
    _fit(right, f"column {name!r} takes text or a number, and got another type")
    if "edges" in feature:
        return _encode_number(feature, answer, found)
    code = _codes(tuple(values)).get(answer if isinstance(answer, str) else number_text(found), -1)
    _fit(code >= 0, f"column {name!r}: the answer is not one of its values {_listed(values)}")
    return code


def _encode_number(feature: Feature, answer: Any, found: float | None) -> int:
    """The range of a number, or of its own words: always compared with every edge, so that time tells little of it."""
    name, edges = feature["name"], feature["edges"]
    code = _codes(tuple(feature["values"])).get(answer if isinstance(answer, str) else "")
    bounds, given = list(map(float, edges)), math.nan if found is None else found
    above = sum([given >= bound for bound in bounds])  # edges at or below the number
    if code is not None:
        return code
    _fit(found is not None, f"column {name!r} takes a number")
    within = bounds[0] <= given <= bounds[-1]
    _fit(within, f"column {name!r}: the answer is outside its ranges, {edges[0]} to {edges[-1]}")
    return min(above, len(bounds) - 1) - 1


def number(answer: Any) -> float | None:
    """A number as a float, also from text such as "-1.5e3" or "inf"; None for anything else."""
    if isinstance(answer, str):
        return float(answer) if NUMBER.fullmatch(answer) or answer in ("inf", "-inf") else None
    try:
        return float(answer) if isinstance(answer, numbers.Number) else None  # type: ignore[arg-type]
    except Exception:  # complex numbers, signalling nan, integers beyond all floats; none may quote the answer
        return None


def number_text(given: Any) -> str:
    """Write a number as a choice's values write it: whole numbers without a point, others as short as is exact."""
    exact = float(given)
    return str(int(exact)) if math.isfinite(exact) and exact == int(exact) else repr(exact)


@functools.lru_cache(maxsize=64)
def _codes(values: tuple[str, ...]) -> dict[str, int]:
    return {value: code for code, value in enumerate(values)}


# -- randomizing: each takes a code, a block's m and protocol, and the source; gives a field and its width in bits -----


def _bits(code: int, m: int, protocol: Protocol, source: Source) -> tuple[int, int]:
    field, columns = 0, range(m) if m > 1 else range(1, 2)  # a flag's one bit is that of True
    for place, (column, draw) in enumerate(zip(columns, _draws(source, m), strict=True)):
        field |= (draw < protocol["q" if column == code else "p"]) << place
    return field, m


def _grr(code: int, m: int, protocol: Protocol, source: Source) -> tuple[int, int]:
    (coin,) = _draws(source, 1)
    other = _uniform(m, source)  # drawn even when the answer is kept, or the time taken would show the coin
    return (code if coin < protocol["keep"] else other), (m - 1).bit_length()


def _subset_selection(code: int, m: int, protocol: Protocol, source: Source) -> tuple[int, int]:
    size, others = protocol["size"], list(range(m - 1))
    (coin,) = _draws(source, 1)
    for place in range(size):  # the first places of a shuffle; one more than is needed if the true value is in the set
        at = place + _uniform(m - 1 - place, source)
        others[place], others[at] = others[at], others[place]
    chosen = [other + (other >= code) for other in others[:size]]  # all values but the true one
    chosen[-1] = code if coin < protocol["q"] else chosen[-1]
    return sum(1 << value for value in chosen), m


def _local_hashing(code: int, m: int, protocol: Protocol, source: Source) -> tuple[int, int]:  # noqa: ARG001
    seed = [_coefficient(source) for _ in range(COEFFICIENTS)]
    h = 0
    for c in reversed(seed):  # c0 + c1 x + c2 x^2 + c3 x^3 modulo the prime, at x = the value's index
        h = (h * code + c) % PRIME
    field, width = _grr(h * protocol["buckets"] // PRIME, protocol["buckets"], protocol, source)
    packed = int.from_bytes(struct.pack(f"<{COEFFICIENTS}I", *seed), "little")
    return packed | field << 32 * COEFFICIENTS, 32 * COEFFICIENTS + width


def _uniform(m: int, source: Source) -> int:
    share = SCALE // m  # each value owns this many of the 65 536 draws; the few left over are drawn again
    while True:
        (draw,) = _draws(source, 1)
        if draw < share * m:
            return draw // share


def _coefficient(source: Source) -> int:
    while True:
        (draw,) = struct.unpack("<I", source(4))
        if draw & PRIME < PRIME:  # the low 31 bits, all of them equally likely but for the prime itself
            return int(draw & PRIME)


def _draws(source: Source, count: int) -> tuple[int, ...]:
    return struct.unpack(f"<{count}H", source(2 * count))


PERTURB: dict[str, Callable[[int, int, Protocol, Source], tuple[int, int]]] = {
    "randomized response": _bits,
    "GRR": _grr,
    "subset selection": _subset_selection,
    "unary encoding": _bits,
    "local hashing": _local_hashing,
    "public": lambda code, m, _protocol, _source: (code, (max(m, 2) - 1).bit_length()),
}
_COIN = (1, SCALE - 1)
INTEGERS: dict[str, dict[str, tuple[int, int]]] = {  # what a protocol's JSON holds, from least to most
    "randomized response": {"p": _COIN, "q": _COIN},
    "GRR": {"keep": _COIN},
    "subset selection": {"q": _COIN, "size": (1, MAX_VALUES - 1)},
    "unary encoding": {"p": _COIN, "q": _COIN},
    "local hashing": {"keep": _COIN, "buckets": (2, MAX_VALUES)},
    "public": {},
}
ONE_VALUE = ("randomized response", "GRR", "public")  # These show one answer, which a fresh coin can follow.
FLAGS_ONLY = ("randomized response",)
CHOICES_ONLY = ("GRR", "subset selection", "unary encoding", "local hashing")
