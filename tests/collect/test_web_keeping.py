"""Kept answers in the browser's client: what is stored, spent and refused."""

import json
import re
from typing import Any

import pytest

import deniable as dn
from deniable import client, keeping
from tests.support.javascript import FULL, node
from tests.support.kept_plans import KEPT

PLAN = KEPT["one flag, sent again"].to_json()
TWICE = KEPT["one flag, two rounds"].to_json()
FRESH = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0).to_json()
HELP = """
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const inMemory = (stored) => {
  const change = async (next) => (change.stored = structuredClone(next(structuredClone(change.stored))));
  change.stored = stored;
  return change;
};
"""


def run(script: str, **given: Any) -> Any:
    """What a script gives that has the module as `keeping`."""
    text = f"const keeping = await import({json.dumps(FULL.as_uri())});\n" + HELP
    text += "let input = ''; for await (const part of process.stdin.setEncoding('utf8')) input += part;\n"
    text += f"const {{{', '.join(given)}}} = JSON.parse(input);\nconst run = async () => {{{script}}};\n"
    text += "const catching = error => ({error: error.name, message: error.message});\n"
    text += "process.stdout.write(JSON.stringify((await run().catch(catching)) ?? null));"
    return json.loads(node(text, given=json.dumps(given)))


def test_a_secret_makes_a_report_and_a_short_one_does_not() -> None:
    script = """
    const options = {secret: new Uint8Array(32), expect: JSON.parse(plan).fingerprint, atMost: 1};
    const two = [1, 2].map(() => keeping.report({smoker: true}, plan, options));
    const same = hex(await two[0]) === hex(await two[1]);
    const wrong = [{secret: new Uint8Array(15)}, {secret: "secret"}, {secret: new Uint8Array(32), atMost: 0.5}, {}];
    const errors = [];
    for (const one of wrong) errors.push((await keeping.report({smoker: true}, plan, one).catch((e) => e)).name);
    errors.push((await keeping.report({smoker: true}, fresh, {secret: new Uint8Array(32)}).catch((e) => e)).name);
    return [same, errors];
    """
    assert run(script, plan=PLAN, fresh=FRESH) == [True, [*["KeepingError"] * 2, *["PlanError"] * 3]]


def test_a_secret_makes_reports_of_its_own_arm_alone() -> None:
    script = """
    const secret = new Uint8Array(32), record = {smoker: true, age: "65+", drinker: false};
    const own = await keeping.derivedArm(secret, plan);
    const made = async (of, arm) =>
      keeping.report(record, of, {secret, arm}).then((bytes) => bytes[0] & 1, (error) => error.name);
    const found = [await made(plan), await made(plan, own)];
    for (const [of, arm] of [[plan, names.find((name) => name !== own)], [assigned, names[0]], [assigned]]) {
      found.push(await made(of, arm));
    }
    return [own, found];
    """
    plan, assigned = KEPT["arms, two rounds"], KEPT["assigned, two rounds"]
    own, found = run(script, plan=plan.to_json(), assigned=assigned.to_json(), names=list(plan.arm_names))
    assert own == keeping.derived_arm(bytes(32), plan.to_json())
    number = plan.arm_names.index(own)
    assert found == [number, number, "KeepingError", "PlanError", "PlanError"]


def test_what_was_kept_is_sent_and_spent_once() -> None:
    script = """
    const change = inMemory(), keeper = new keeping.Keeper(change);
    const sent = [];
    for (const smoker of [true, false, true, "not looked at"]) sent.push(hex(await keeper.report({smoker}, plan)));
    const many = new Set();
    for (let wave = 0; wave < 40; wave++) many.add(hex(await keeper.report({smoker: true}, twice)));
    await keeper.report({smoker: true}, fresh);
    await keeper.report({smoker: true}, fresh);
    const times = Object.values(change.stored.spent).map((one) => one.times);
    return [new Set(sent).size, many.size, await keeper.spent(), times];
    """
    same, several, spent, times = run(script, plan=PLAN, twice=TWICE, fresh=FRESH)
    assert (same, several, times) == (1, 2, [1, 1, 2])
    content = {
        "spent": {
            one: {"epsilon": client.read(one).epsilon, "times": k} for one, k in ((PLAN, 1), (TWICE, 1), (FRESH, 2))
        }
    }
    assert spent == keeping._units(content) / keeping.UNITS  # the same sum as Python's, to the last digit


def test_the_ledger_stops_at_the_ceiling_before_an_answer_is_looked_at() -> None:
    script = """
    const change = inMemory(), keeper = new keeping.Keeper(change, {ceiling: 1.5});
    await keeper.report({smoker: true}, plan);
    const errors = [];
    for (const one of [fresh, twice]) errors.push((await keeper.report({smoker: "?"}, one).catch((e) => e)).message);
    await keeper.report({}, plan);
    return [errors, await keeper.spent() < 1.5];
    """
    errors, within = run(script, plan=PLAN, twice=TWICE, fresh=FRESH)
    assert within
    assert all(re.search(r"no report: epsilon would be [123]\.\d+ in all, and the ceiling is 1.5", e) for e in errors)


def test_an_answer_that_does_not_fit_spends_nothing_and_a_ceiling_is_never_passed() -> None:
    """As in Python. Of many reports at the same time just as many are made as the ceiling has room for."""
    script = """
    const change = inMemory(), keeper = new keeping.Keeper(change, {ceiling: 3});
    const errors = [];
    for (const one of [fresh, plan]) errors.push((await keeper.report({smoker: "?"}, one).catch((e) => e)).name);
    const before = await keeper.spent();
    const many = await Promise.allSettled(Array.from({length: 9}, () => keeper.report({smoker: true}, fresh)));
    return [errors, before, many.filter((one) => one.status === "fulfilled").length, await keeper.spent()];
    """
    errors, before, made, spent = run(script, plan=PLAN, fresh=FRESH)
    assert (errors, before, made) == (["AnswerError"] * 2, 0, 3)
    assert 2.9 < spent <= 3


FOREIGN: list[Any] = [[], {}, "text", None, {"deniable": 2, "kept": {}, "spent": {}}]
FOREIGN += [
    {"deniable": 1, "kept": {"x": kept}, "spent": {}}
    for kept in ({"arm": "a", "report": "zz"}, {"arm": "a", "report": [256]}, {"arm": 1, "report": None}, None)
]
FOREIGN += [
    {"deniable": 1, "kept": {}, "spent": {"x": spent}} for spent in ({"epsilon": -1, "times": 1}, {"epsilon": 1}, None)
]


@pytest.mark.parametrize("stored", FOREIGN)
def test_what_is_damaged_or_foreign_is_refused_and_left(stored: Any) -> None:
    script = """
    const change = inMemory(stored);
    const error = await new keeping.Keeper(change).report({smoker: true}, plan).catch((error) => error.name);
    return [error, change.stored];
    """
    assert run(script, plan=PLAN, stored=stored) == ["KeepingError", stored]


def test_the_arm_is_kept_and_bytes_of_another_plan_are_refused() -> None:
    script = """
    const keeper = new keeping.Keeper(inMemory());
    const arms = new Set();
    for (let k = 0; k < 20; k++) arms.add(await keeper.arm(plan));
    const other = names.find((name) => !arms.has(name));
    const errors = [(await keeper.report({}, plan, {arm: other}).catch((error) => error)).name];
    for (const kept of [new Uint8Array(2), new Uint8Array([2]), new Uint8Array(0), "00"]) {
      errors.push((await keeping.again(kept, one).catch((error) => error)).name);
    }
    return [arms.size, errors];
    """
    plan = KEPT["arms, two rounds"]
    found = run(script, plan=plan.to_json(), one=PLAN, names=list(plan.arm_names))
    assert found == [1, ["KeepingError"] * 5]
