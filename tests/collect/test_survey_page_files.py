"""The files of the survey page without a browser: their words, their colours, and what they say of a report's bytes."""

import json
import re
from itertools import product
from math import sqrt
from typing import Any

import pytest

import deniable as dn
from deniable import client
from deniable.collect.app import _web_files
from tests.support.collect.browsing import PLAN
from tests.support.designs import DESIGNS
from tests.support.javascript import FULL, WEB, node
from tests.support.kept_plans import KEPT
from tests.support.situations import PLANS

PAGE = WEB.parent / "survey_page"
WORDS = {path.stem: json.loads(path.read_text("utf-8")) for path in (PAGE / "lang").iterdir()}
SCRIPTS = "\n".join(path.read_text("utf-8") for path in PAGE.glob("*.js"))
PLACES = re.compile(r"\{(\w+)\}")


def test_the_collector_gives_every_file_of_the_page() -> None:
    names = {path.relative_to(PAGE).as_posix() for path in PAGE.rglob("*.*")} - {"index.html"}
    given = {route.path.removeprefix("/") for route in _web_files()}
    assert given == names | {"", "deniable.js", "deniable.min.js", "signature.js", "promise.js"}


def test_the_page_names_no_other_site_and_has_no_code_of_its_own_in_its_html() -> None:
    html = (PAGE / "index.html").read_text("utf-8")
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)|//\w+\.", html + SCRIPTS) == []
    assert re.findall(r"<script(?! type=\"module\" src=)|\son\w+=|style=|<style", html) == []
    assert re.findall(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|localStorage", SCRIPTS) == []


# -- words -------------------------------------------------------------------------------------------------------------


def test_every_language_has_the_same_words_with_the_same_places() -> None:
    assert {*WORDS} == {*re.findall(r'(\w+): "', SCRIPTS.split("LANGUAGES = {")[1].split("}")[0])}
    for words in WORDS.values():
        assert [*words] == [*WORDS["en"]]
        for key in words.keys() - {"promises"}:
            assert {*PLACES.findall(words[key])} == {*PLACES.findall(WORDS["en"][key])}, key
        for sentence, other in words["promises"].items():
            assert {*PLACES.findall(sentence)} == {*PLACES.findall(other)}


def test_every_word_is_used_and_every_used_word_is_there() -> None:
    used = {*re.findall(r'"([a-z]+(?:_[a-z0-9]+)*)"', SCRIPTS)} | {"failed_403", "failed_409", "failed_422"}
    assert WORDS["en"].keys() - used - {"promises"} == set()
    for key in re.findall(r'(?:say|paragraph|Said|button)\("(\w+)"', SCRIPTS):
        assert key in WORDS["en"]


def test_every_promise_is_said_in_every_language() -> None:
    lines = {
        line
        for plan in (PLAN, *PLANS.values(), *DESIGNS.values(), *KEPT.values())
        for line in client.promise(plan.to_json()).split("\n")
    }
    assert len(lines) > 20
    script = f"""
    const {{ translated }} = await import({json.dumps((PAGE / "words.js").as_uri())});
    const lines = {json.dumps(sorted(lines))}, promises = {json.dumps(WORDS["de"]["promises"])};
    console.log(JSON.stringify(lines.map(line => [line, translated(line, promises)])));
    console.log(translated("Something else.", promises));
    """
    found, control = node(script).splitlines()
    for line, other in json.loads(found):
        assert other != line
        assert "{" not in other.replace("{", "", line.count("{"))
        numbers = [*re.findall(r"at most (\d+) in 100", line), *re.findall(r"one of (\d+) sets", line)]
        assert all(re.search(rf"\b{number}\b", other) for number in numbers)
    assert control == "Something else."


# -- colours -----------------------------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read_in_both_schemes() -> None:
    """A contrast of 4.5 is what the guidelines for accessible pages ask of text (WCAG 2.2, level AA)."""
    assert contrast("000", "ffffff") == 21
    assert contrast("777777", "ffffff") < 4.5
    css = (PAGE / "survey.css").read_text("utf-8")
    schemes = [dict(re.findall(r"--([\w-]+): #(\w+);", part)) for part in css.split("@media")[:2]]
    for scheme in schemes:
        for ink, paper in (*product(("ink", "soft", "accent", "wrong"), ("paper", "field")), ("on-accent", "accent")):
            assert contrast(scheme[ink], scheme[paper]) >= 4.5, (ink, paper)


# -- what the bytes say ------------------------------------------------------------------------------------------------

EVERY = dn.Plan(
    dn.Schema(
        [
            dn.Flag("open"), dn.Choice("region", ["n", "e", "s"]), dn.Flag("flag"), dn.Choice("grr", ["a", "b", "c"]),
            dn.Choice("sets", [*"abcdef"]), dn.Choice("unary", [*"abcde"]), dn.Choice("hash", [*"abcdefgh"]),
            dn.Flag("x", missing="none"), dn.Choice("y", ["p", "q"]), dn.Flag("single", missing="none"),
        ]
    ),
    {
        "open": dn.Public(), "region": dn.Public(), "flag": dn.RandomizedResponse(p=0.1, q=0.6),
        "grr": dn.GRR(epsilon=1.0), "sets": dn.SubsetSelection(epsilon=1.0, size=2),
        "unary": dn.UnaryEncoding.optimized(1.0), "hash": dn.LocalHashing(epsilon=1.0, buckets=3),
        ("x", "y"): dn.GRR(epsilon=1.0), "single": dn.GRR(epsilon=1.0),
    },
)  # fmt: skip
RECORD = {
    "open": True,
    "region": "s",
    "flag": True,
    "grr": "b",
    "sets": "e",
    "unary": "d",
    "hash": "g",
    "x": False,
    "y": "q",
}
IN_ARMS = dn.Plan(
    dn.Schema([dn.Flag("f"), dn.Choice("g", [*"abcd"]), dn.Flag("h")]), epsilon=1.5, arms=[["f"], ["g"], ["h", "f"]]
)
N = 16000


TOLD = """
const [meaningFile, clientFile] = process.argv.slice(1);
const [{ meaning }, client] = await Promise.all([import(meaningFile), import(clientFile)]);
let text = "";
for await (const part of process.stdin.setEncoding("utf8")) text += part;
const { json, record, reports } = JSON.parse(text), plan = await client.read(json), found = {};
for (let n = 0; n < reports; n++) {
  const arm = await client.drawArm(plan);
  const said = meaning(plan, await client.report(record, plan, { public: plan.public, atMost: 100, arm }));
  if (said.arm !== arm) throw new Error("another arm");
  for (const { features, named, own, other } of said.fields) {
    const given = JSON.stringify(features.map(({ name }) => record[name] ?? null));
    const row = (found[[arm, features.map(({ name }) => name)]] ??= { n: 0, given, named: {} });
    row.n++;
    for (const answers of named) {
      const one = JSON.stringify(answers);
      row.named[one] = { count: (row.named[one]?.count ?? 0) + 1, told: one === given ? own : other };
    }
  }
}
console.log(JSON.stringify(Object.values(found)));
"""


def is_near(count: int, n: int, share: float) -> bool:
    """Whether a binomial count is within 5 standard errors of its expectation."""
    return abs(count / n - share) <= 5 * sqrt(share * (1 - share) / n) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("plan", "record"), [(EVERY, RECORD), (IN_ARMS, {"f": True, "g": "c", "h": False})])
def test_the_page_says_truly_what_fields_name_and_how_often(plan: dn.Plan, record: dict[str, Any]) -> None:
    given = json.dumps({"json": plan.to_json(), "record": record, "reports": N})
    rows = json.loads(node(TOLD, (PAGE / "meaning.js").as_uri(), FULL.as_uri(), given=given))
    assert len(rows) == sum(len(arm) for arm in client.read(plan.to_json()).arms)
    for row in rows:
        assert row["given"] in row["named"]
        for one in row["named"].values():
            assert is_near(one["count"], row["n"], one["told"]), row
            assert one["told"] == 1 or not is_near(one["count"], row["n"], one["told"] * 0.6)  # the test can fail


def test_number_ranges_stand_beside_their_labels() -> None:
    """A label could say another range than the one that is meant; what is no range has its label alone."""
    labels = {"under 10": "more than 10", "10 and over": "many", "none": "No answer"}
    ranged = {"values": [*labels], "labels": labels, "edges": ["-inf", "10", "inf"], "missing": "none"}
    named = {"values": ["a", "b"], "labels": {"a": "first"}}
    script = """
const { answerText } = await import(process.argv[1]);
const features = JSON.parse(process.argv[2]);
console.log(JSON.stringify(features.map((one) => one.values.map((value) => answerText(one, value, String)))));
"""
    shown = json.loads(node(script, (PAGE / "form.js").as_uri(), json.dumps([ranged, named])))
    assert shown == [["more than 10 (under 10)", "many (10 and over)", "No answer"], ["first", "b"]]
