"""The browser's client as a package: its randomness, refusals and files; and bugs planted in it, which are found."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import client
from spec.make_javascript import heading
from tests.support.javascript import FULL, MINIFIED, WEB, in_node, in_python, node
from tests.support.random_documents import document_of, scripted_cases

PLAN = dn.Plan(
    dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "old"]), dn.Flag("east")]),
    {"smoker": dn.RandomizedResponse(epsilon=1.0), "age": dn.GRR(epsilon=1.0), "east": dn.Public()},
)
RECORD = {"smoker": True, "age": "old", "east": False}


def in_module(script: str, **given: Any) -> Any:
    """What a script gives that has the client as `client` and what is given by its names."""
    text = f"const client = await import({json.dumps(FULL.as_uri())});\n"
    text += "".join(f"const {name} = JSON.parse({json.dumps(json.dumps(value))});\n" for name, value in given.items())
    run = "const run = async () => {" + script + "};\n"
    catch = "error => ({error: error.name, message: error.message, ours: error instanceof client.DeniableError})"
    return json.loads(node(text + run + f"console.log(JSON.stringify((await run().catch({catch})) ?? null));"))


# -- what was agreed to ------------------------------------------------------------------------------------------------

AGREED = {"expect": PLAN.fingerprint, "atMost": 2.5, "public": ["east"]}


def test_what_was_agreed_to_is_reported() -> None:
    forms = [AGREED, AGREED | {"public": "east"}, {"public": ["east", "west"]}, AGREED | {"arm": "everybody"}]
    cases = [{"plan": PLAN.to_json(), "record": RECORD, "options": form} for form in forms]
    assert in_node(FULL, cases) == [1] * len(forms)


NOT_AGREED: list[dict[str, Any]] = [
    {"expect": PLAN.fingerprint[:-1]},
    {"expect": PLAN.fingerprint.upper()},
    {"expect": 7},
    {"atMost": 1.9},
    {"atMost": 0},
    {"atMost": True},
    {"atMost": "8"},
    {"public": []},
    {"public": ["West"]},
    {"public": {"east": True}},
    {"public": None},
    {"arm": "everyone"},
    {"arm": 0},
    {"at_most": 1},
    {"atmost": 1},
]


def test_what_was_not_agreed_to_is_refused() -> None:
    cases = [{"plan": PLAN.to_json(), "record": {}, "options": AGREED | change} for change in NOT_AGREED]
    assert in_node(FULL, cases) == ["PlanError"] * len(cases)


# -- randomness --------------------------------------------------------------------------------------------------------


def test_reports_are_made_of_the_bytes_that_the_browser_draws() -> None:
    """And of no others: every byte of a script is used, and Math.random is never called."""
    rng = np.random.default_rng(4)
    documents = [document_of(Random(5), protocol) for protocol in client.PERTURB]
    cases = [case for document in documents for case in scripted_cases(document, 5, rng)]
    script = """
    Math.random = () => { throw new Error("called") };
    const hex = byte => byte.toString(16).padStart(2, "0");
    let left, found = [];
    const getRandomValues = array => {
      array.set(left.splice(0, array.length).map(pair => parseInt(pair, 16)));
      return array;
    };
    Object.defineProperty(globalThis, "crypto", {value: {getRandomValues, subtle: crypto.subtle}});
    for (const {plan, record, draws} of cases) {
      left = draws.match(/../g) ?? [];
      const names = JSON.parse(plan).features.map(one => one.name);
      const sent = await client.report(record, plan, {public: names, atMost: 1e9});
      found.push([[...sent].map(hex).join(""), left.length]);
    }
    return found;
    """
    assert in_module(script, cases=cases) == in_python(cases)


@pytest.mark.parametrize("crypto", ["undefined", "{}", "{subtle: crypto.subtle}", "{getRandomValues: 3}"])
def test_without_the_browsers_randomness_nothing_is_reported(crypto: str) -> None:
    for call in ("report(record, plan, {public: ['east']})", "drawArm(plan)", "read(plan)"):
        script = f"Object.defineProperty(globalThis, 'crypto', {{value: {crypto}}}); return client.{call}"
        found = in_module(script, record=RECORD, plan=PLAN.to_json())
        assert (found["error"], found["ours"]) == ("DeniableError", True)
        assert "no WebCrypto: " in found["message"]


def test_an_error_of_the_browsers_randomness_is_passed_on() -> None:
    fails = "crypto.getRandomValues = () => { throw new TypeError('quota') };"
    script = fails + "return client.report(record, plan, {public: ['east']})"
    assert in_module(script, record=RECORD, plan=PLAN.to_json())["error"] == "TypeError"


def test_a_page_without_a_digest_is_told_to_use_https() -> None:
    script = "Object.defineProperty(globalThis, 'crypto', {value: {getRandomValues() {}}}); return client.read(plan)"
    assert "no WebCrypto: use https or localhost" in in_module(script, plan=PLAN.to_json())["message"]


# -- answers that only JavaScript has, and numbers as text -------------------------------------------------------------


def test_answers_of_other_kinds_are_refused_and_never_quoted() -> None:
    script = """
    const found = [];
    const answers = [NaN, undefined, 12345n, Symbol("secret"), new Date(12345), ["secret"], {secret: 1}, () => "secret",
                     new String("old"), "secret", 12345, true];
    const east = true, smoker = true;
    for (const age of answers) {
      const error = await client.report({smoker, age, east}, plan, {public: ["east"]}).catch(error => error);
      found.push([error.name, /secret|12345/.test(error.message)]);
    }
    for (const record of [null, undefined, [1], "secret", new Map([["secret", 1]])]) {
      const error = await client.report(record, plan, {public: ["east"]}).catch(error => error);
      found.push([error.name, /secret/.test(error.message)]);
    }
    return found;
    """
    assert in_module(script, plan=PLAN.to_json()) == [["AnswerError", False]] * 17


def test_numbers_stand_for_the_values_that_python_writes() -> None:
    rng = Random(6)
    numbers = [
        0.1,
        1e-4,
        1e-5,
        1.5e-7,
        5e-324,
        1e15,
        1e16,
        1e21,
        1e22,
        1.7976931348623157e308,
        2.5,
        -0.00001,
        123456.789,
    ]
    numbers += [rng.uniform(-1, 1) * 10.0 ** rng.randint(-320, 300) for _ in range(400)]
    values = list(dict.fromkeys(map(client.number_text, numbers)))
    plan = dn.Plan(dn.Schema([dn.Choice("x", values)]), {"x": dn.Public()}).to_json()
    cases = [{"plan": plan, "record": {"x": number}, "draws": ""} for number in (*numbers, -0.0, 0.30000000000000004)]
    assert in_node(FULL, cases) == in_python(cases)
    assert in_python(cases)[:-2] == [
        [values.index(client.number_text(x)).to_bytes(2, "little").hex(), 0] for x in numbers
    ]


# -- a plan that was read ----------------------------------------------------------------------------------------------


def test_a_plan_that_was_read_cannot_be_changed_or_forged() -> None:
    script = """
    "use strict";
    const checked = await client.read(plan), tried = [];
    for (const change of [() => { checked.epsilon = 0 }, () => { checked.public.length = 0 },
                          () => { checked.arms[0][0].protocol.q = 65535 },
                          () => { checked.arms[0][1].features[0].values[0] = "x" }]) {
      try { change(); tried.push("changed") } catch (error) { tried.push(error.name) }
    }
    const rename = one => { one.name = "x"; return one.public ?? false };
    tried.push((await client.questions(checked, "everybody")).map(rename));
    tried.push((await client.questions(checked, "everybody"))[0].name);
    tried.push((await client.report({}, {...checked}).catch(error => error)).name);
    const parsed = JSON.parse(plan), reading = client.read(parsed);
    parsed.features.length = 0; // while it is being read
    tried.push((await reading).fingerprint === checked.fingerprint);
    return tried;
    """
    found = in_module(script, plan=PLAN.to_json())
    assert found == [*["TypeError"] * 4, [False, False, True], "smoker", "PlanError", True]


# -- planted bugs ------------------------------------------------------------------------------------------------------

BUGS = {
    "a threshold that is met": ("coin < keep", "coin <= keep"),
    "a bit's threshold that is met": ("draw(source) < (column === code", "draw(source) <= (column === code"),
    "bytes of a draw turned round": ("low | (high << 8)", "high | (low << 8)"),
    "a uniform value that is not drawn": (
        "uniform(m, source); // drawn",
        "coin < keep ? 0 : uniform(m, source); // drawn",
    ),
    "left-over draws kept": ("drawn >= share * m", "false"),
    "a prime among the coefficients": ("drawn >= PRIME", "false"),
    "coefficients in the other order": ("seed.reduceRight(", "seed.reduce("),
    "the last of the others kept": ("chosen[size - 1] = code", "chosen[0] = code"),
    "shares by one": ("(left -= share) < 0", "(left -= share) <= 0"),
    "the first feature fastest": ("code * levels[at] +", "code + "),
    "the last range open": ("Math.min(below, bounds.length - 1) - 1", "below - 1"),
}


@pytest.fixture(scope="module")
def some_cases() -> list[dict[str, Any]]:
    rng, draws = Random(7), np.random.default_rng(7)
    plans = [document_of(rng, protocol) for protocol in client.PERTURB for _ in range(12)]
    return [case for plan in plans for case in scripted_cases(plan, 6, draws)]


@pytest.mark.parametrize(("right", "wrong"), BUGS.values(), ids=BUGS.keys())
def test_a_planted_bug_is_found(right: str, wrong: str, some_cases: list[dict[str, Any]], tmp_path: Path) -> None:
    source = FULL.read_text(encoding="utf-8")
    assert source.count(right) == 1
    planted = tmp_path / "planted.mjs"
    planted.write_text(source.replace(right, wrong), encoding="utf-8")
    assert in_node(planted, some_cases) != in_python(some_cases)


# -- files -------------------------------------------------------------------------------------------------------------


def test_the_minified_client_is_small_and_made_of_the_client() -> None:
    minified = MINIFIED.read_text(encoding="utf-8")
    assert minified.startswith(heading(FULL.read_bytes())), "run make js"
    assert len(minified.encode()) <= 12_000  # with arms, blocks, all protocols, kept answers and the ledger
    assert re.findall(r"\bimport\b|\brequire\b|https?:", FULL.read_text(encoding="utf-8")) == []


def test_the_package_has_the_librarys_version_and_lists_what_it_ships() -> None:
    package = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == dn.__version__
    assert "dependencies" not in package
    assert {*package["files"], "package.json"} == {path.name for path in WEB.iterdir()}


@pytest.mark.parametrize("name", ["deniable", "promise", "signature"])
def test_the_types_name_what_a_module_exports(name: str) -> None:
    types = (WEB / f"{name}.d.ts").read_text(encoding="utf-8")
    exported = node(f"console.log(Object.keys(await import({json.dumps((WEB / name).as_uri() + '.js')})).join())")
    assert sorted(re.findall(r"^export (?:function|class) (\w+)", types, re.M)) == exported.strip().split(",")


def test_a_plan_that_was_read_by_the_package_is_taken_by_its_promise() -> None:
    package = json.loads((WEB / "package.json").read_text(encoding="utf-8"))["exports"]
    files = [(WEB / package[name]["default"]).as_uri() for name in (".", "./promise")]
    script = f"const [client, words] = await Promise.all({json.dumps(files)}.map((file) => import(file)));"
    script += f"console.log(await words.promise(await client.read({json.dumps(PLAN.to_json())})));"
    assert node(script).strip() == client.promise(PLAN.to_json())
