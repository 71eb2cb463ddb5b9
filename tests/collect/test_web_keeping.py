"""Kept answers in the browser's client: the bytes of the Python one, for the same secrets, answers and draws."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import client, keeping
from tests.support.javascript import WEB, node
from tests.support.kept_plans import KEPT
from tests.support.scripted import some_records

VECTORS = json.loads((Path(__file__).parents[2] / "spec" / "vectors_of_kept.json").read_text(encoding="utf-8"))
PLAN = KEPT["one flag, sent again"].to_json()
TWICE = KEPT["one flag, two rounds"].to_json()
FRESH = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0).to_json()
HELP = """
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const scripted = (text) => {
  let left = unhex(text);
  return (count) => { const given = left.subarray(0, count); left = left.subarray(count); return given };
};
const inMemory = (stored) => {
  const change = async (next) => (change.stored = structuredClone(next(structuredClone(change.stored))));
  change.stored = stored;
  return change;
};
"""


def run(script: str, **given: Any) -> Any:
    """What a script gives that has the module as `keeping`."""
    text = f"const keeping = await import({json.dumps((WEB / 'keeping.js').as_uri())});\n" + HELP
    text += "let input = ''; for await (const part of process.stdin.setEncoding('utf8')) input += part;\n"
    text += f"const {{{', '.join(given)}}} = JSON.parse(input);\nconst run = async () => {{{script}}};\n"
    text += "const catching = error => ({error: error.name, message: error.message});\n"
    text += "process.stdout.write(JSON.stringify((await run().catch(catching)) ?? null));"
    return json.loads(node(text, given=json.dumps(given)))


def test_vectors() -> None:
    cases = [
        {"plan": json.dumps(case["plan"]), **{key: one.get(key) for key in ("secret", "answers", "arm", "kept")},
         "draws": b"".join(d.to_bytes(2, "little") for steps in one["draws"] for step in steps for d in step).hex(),
         "report": one["report"]}
        for case in VECTORS for one in case["records"]
    ]  # fmt: skip
    script = """
    const found = [];
    for (const {plan, secret, answers, arm, draws} of cases) {
      const kept = await keeping.derived(unhex(secret), answers, plan, arm);
      found.push([hex(kept), hex(await keeping.againFrom(scripted(draws), kept, plan))]);
    }
    return found;
    """
    assert len(cases) > 70
    assert run(script, cases=cases) == [[one["kept"], one["report"]] for one in cases]


def test_many_secrets_give_the_same_bytes() -> None:
    """Also where draws are drawn again, so that the first bytes of a stream do not do."""
    rng, cases, expected = np.random.default_rng(8), [], []
    for plan in KEPT.values():
        document = json.loads(plan.to_json())
        for answers in some_records(plan, document, 25, rng):
            secret = rng.bytes(16)
            arm = plan.arm_names[-1] if plan.assigned else None
            cases.append({"plan": plan.to_json(), "secret": secret.hex(), "answers": answers, "arm": arm})
            expected.append(keeping.derived(secret, answers, document, arm).hex())
    script = """
    const found = [];
    for (const {plan, secret, answers, arm} of cases) {
      found.push(hex(await keeping.derived(unhex(secret), answers, plan, arm)));
    }
    return found;
    """
    assert run(script, cases=cases) == expected


def test_a_secret_makes_a_report_and_a_short_one_does_not() -> None:
    script = """
    const options = {secret: new Uint8Array(32), expect: JSON.parse(plan).fingerprint, atMost: 1};
    const two = [1, 2].map(() => keeping.report({smoker: true}, plan, options));
    const same = hex(await two[0]) === hex(await two[1]);
    const wrong = [{secret: new Uint8Array(15)}, {secret: "secret"}, {secret: new Uint8Array(32), atMost: 0.5}];
    const errors = [];
    for (const one of wrong) errors.push((await keeping.report({smoker: true}, plan, one).catch((e) => e)).name);
    return [same, errors];
    """
    assert run(script, plan=PLAN) == [True, ["KeepingError", "KeepingError", "PlanError"]]


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
    assert all(
        re.search(r"would have spent epsilon [123]\.\d+ in all, and its ceiling is 1.5; no report", e) for e in errors
    )


FOREIGN: list[Any] = [[], {}, "text", None, {"deniable": 2, "kept": {}, "spent": {}}]
FOREIGN += [{"deniable": 1, "kept": {"x": {"arm": "a", "report": "zz"}}, "spent": {}}]


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


def test_types_name_what_the_module_exports() -> None:
    exported = r"^export (?:async )?(?:function|class) (\w+)"
    types, module = (
        re.findall(exported, (WEB / name).read_text("utf-8"), re.M) for name in ("keeping.d.ts", "keeping.js")
    )
    assert sorted(types) == sorted(module)
