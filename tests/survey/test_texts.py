"""Texts of a survey that people must be able to read and tell apart: schema, plan and client refuse the same ones."""

import json
import sys
import unicodedata

import pytest

import deniable as dn
from deniable import client
from tests.support.refusals import LOOK_ALIKE, tampered, tampered_arms

UNREADABLE = ["", " ", "\u200b", "\u3164", "\u2800", "a\nb", "a\x00", "\x1b[2J", "a\u2028b", "\u202eno", "\ud800"]
READABLE = ["a", "é", "e\u0301", "日本", "🎈", "👨\u200d👩", "שלום", "می\u200cخواهم", "a\u00a0b", "x y"]


@pytest.mark.parametrize("text", UNREADABLE)
def test_what_nobody_can_read_is_refused_everywhere_in_a_schema(text: str) -> None:
    for make in (
        lambda: dn.Flag(text),
        lambda: dn.Flag("a", missing=text),
        lambda: dn.Flag("a", label=text),
        lambda: dn.Flag("a", help=text),
        lambda: dn.Choice("a", ["x", text]),
        lambda: dn.Choice("a", ["x", "y"], labels={"x": text}),
        lambda: dn.Flags(text, ["x"]),
        lambda: dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=1.0, arms={text: ["a"], "other": ["b"]}),
    ):
        with pytest.raises((dn.SchemaError, dn.PlanError), match="must not (be empty|hold control characters)"):
            make()


@pytest.mark.parametrize("text", READABLE)
def test_what_people_can_read_is_taken(text: str) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag(text), dn.Choice("other", [text, "and another"])]), epsilon=1.0)
    assert client.read(plan.to_json()).fingerprint == plan.fingerprint
    assert dn.Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(("one", "other"), LOOK_ALIKE.values(), ids=LOOK_ALIKE.keys())
def test_texts_that_look_alike_are_refused_where_they_must_be_told_apart(one: str, other: str) -> None:
    assert one != other
    for make in (
        lambda: dn.Schema([dn.Flag(one), dn.Flag(other)]),
        lambda: dn.Schema([dn.Flag(one), dn.Flags(other, ["x"])]),
        lambda: dn.Schema([dn.Flags(one, ["x"]), dn.Flags(other, ["y"])]),
        lambda: dn.Choice("a", [one, other]),
        lambda: dn.Choice("a", [one, "x"], labels={"x": other}),
        lambda: dn.Choice("a", ["x", "y"], labels={"x": one, "y": other}),
        lambda: dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=1.0, arms={one: ["a"], other: ["b"]}),
    ):
        with pytest.raises((dn.SchemaError, dn.PlanError), match="differ in what can be seen|tell values apart"):
            make()
    dn.Schema([dn.Choice("a", [one, "x"]), dn.Choice("b", [other, "x"])])  # values of two questions may look alike


def test_what_can_be_seen_is_defined_by_unicode() -> None:
    """Every letter of Unicode by itself: what is left of it, by another way of writing the rule down."""
    ignorable = {*map(chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0))} | {
        chr(code)
        for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF))
        for code in range(first, last + 1)
    }
    for code in (*range(0x20000), *range(0xE0000, 0xE1000), sys.maxunicode):  # the planes that hold different kinds
        letter, kind = chr(code), unicodedata.category(chr(code))
        if kind in ("Cc", "Cs") or letter in "\u202a\u202b\u202c\u202d\u202e":
            assert client.unreadable(letter) == "no control characters"
            continue
        gone = kind in ("Cf", "Zs", "Zl", "Zp") or letter in ignorable or letter == "\u2800"
        assert client.seen(f"x{letter}") == ("x" if gone else unicodedata.normalize("NFC", f"x{letter}")), hex(code)
        assert bool(client.unreadable(letter)) == gone, hex(code)


def test_a_label_may_not_say_that_a_value_is_another_one() -> None:
    for labels in ({"yes": "no", "no": "yes"}, {"yes": "no"}, {"yes": " no"}):
        with pytest.raises(dn.SchemaError, match="labels must tell values apart; found twice"):
            dn.Choice("a", ["yes", "no"], labels=labels)
    assert dn.Choice("a", ["yes", "no"], labels={"yes": "yes", "no": "No!"}).labels == (("no", "No!"),)


def test_a_plan_without_an_unknown_key_may_have_all_that_stand_beside_its_meaning() -> None:
    schema = dn.Schema([dn.Flag("a", yes="ja", no="nein"), dn.Flag("b")])
    plan = dn.design(schema, epsilon=1.0, want=[("a", "b")], n=1000)
    assert {"want", "n", "design", "reading"} <= {*json.loads(plan.to_json())} <= {*client.PLAN_KEYS}
    assert client.read(plan.to_json()).fingerprint == plan.fingerprint


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_no_number_of_a_plan_may_be_none(word: str) -> None:
    plan = dn.design(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=1.0, want=[("a", "b")], n=1000).to_json()
    assert plan.count('"n": 1000') == 1
    for text in (plan.replace('"n": 1000', f'"n": {word}'), plan.replace('"mean"', word)):
        for read in (client.read, dn.Plan.from_json):
            with pytest.raises(dn.PlanError, match=f"JSON has no {word}"):
                read(text)
    with pytest.raises(dn.PlanError, match=f"JSON has no {word}"):
        client.read(json.loads(plan) | {"n": float(word)})


def test_the_plans_that_are_tampered_with_are_right_without() -> None:
    for text in (tampered(lambda _: None, sealed=True), tampered_arms(lambda _: None)):
        assert dn.Plan.from_json(text).fingerprint == client.read(text).fingerprint
