"""The browser's client gives the bytes of the Python client for the same draws, and refuses what it refuses."""

import json
import os
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable import client
from spec.make_refusals import GOOD_ANSWERS
from tests.support import javascript
from tests.support.designs import DESIGNS
from tests.support.javascript import CHROMIUM, FULL, MINIFIED, Case, in_chromium, in_node, in_python
from tests.support.kept_plans import KEPT
from tests.support.random_documents import altered, document_of, scripted_cases, sealed
from tests.support.scripted import arm_source, client_source, some_records
from tests.support.situations import PLANS
from tests.support.slow_reports import drawn_arm

SPEC = Path(__file__).parents[2] / "spec"
# `make js-all` sets this to 10 000; the tests make fewer cases, so that they take seconds.
CASES = int(os.environ.get("DENIABLE_JS_CASES", "300"))
RUNS = {"node": (in_node, FULL), "node, minified": (in_node, MINIFIED), "Chromium": (in_chromium, MINIFIED)}
no_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="NOT TESTED IN A BROWSER: there is no Chromium here; install Debian's package chromium"
)
everywhere = pytest.mark.parametrize(
    ("run", "file"),
    [pytest.param(*RUNS[name], id=name, marks=[no_browser] if name == "Chromium" else []) for name in RUNS],
)


def load(name: str) -> Any:
    return json.loads((SPEC / name).read_text(encoding="utf-8"))


def vectors() -> list[tuple[Case, str]]:
    """Every vector of spec/ as a case, with its report."""
    made = []
    for case in load("vectors.json"):
        for one in case["records"]:
            draws = client_source(case["plan"], one["draws"]).left.hex()
            made.append(({"plan": json.dumps(case["plan"]), "record": one["answers"], "draws": draws}, one["report"]))
    for case in load("vectors_of_arms.json"):
        document = case["plan"]
        names = [arm["name"] for arm in document["arms"]]
        for one in case["records"]:
            draw, arm = one.get("arm_draw"), one.get("arm")
            number = names.index(arm) if arm else 0 if draw is None else drawn_arm(document, draw)
            draws = arm_source(document, number, one["draws"], draw).left.hex()
            given = {"plan": json.dumps(document), "record": one["answers"], "draws": draws, "arm": arm}
            made.append((given, one["report"]))
    return made


def refused() -> tuple[list[Case], list[str]]:
    """Every refused plan and answer of spec/, with the error that it must raise."""
    plans = [{"plan": one.get("text") or json.dumps(one["plan"])} for one in load("refused_plans.json")]
    answers = [
        {"plan": json.dumps(case["plan"]), "record": one["answers"], "draws": ""}
        for case in load("refused_answers.json")
        for one in case["records"]
    ]
    return [*plans, *answers], ["PlanError"] * len(plans) + ["AnswerError"] * len(answers)


@everywhere
def test_vectors_and_refusals(run: javascript.Run, file: Path) -> None:
    cases, reports = zip(*vectors(), strict=True)
    refusals, errors = refused()
    assert len(cases) > 200
    assert len(refusals) > 100
    found = run(file, [*cases, *refusals])
    assert found == [*([report, 0] for report in reports), *errors]


@everywhere
def test_the_refused_answers_are_refused_for_what_is_wrong_with_them(run: javascript.Run, file: Path) -> None:
    (case,) = load("refused_answers.json")
    ((sent, left),) = run(file, [{"plan": json.dumps(case["plan"]), "record": GOOD_ANSWERS, "draws": ""}])
    assert (sent, left) == (client.report_from(bytes, GOOD_ANSWERS, case["plan"]).hex(), 0)


@everywhere
def test_every_plan_is_read_alike(run: javascript.Run, file: Path) -> None:
    """Epsilon, fingerprint, length, questions of each arm, and the promise word by word."""
    cases = [{"plan": plan.to_json()} for plan in (*PLANS.values(), *DESIGNS.values(), *KEPT.values())]
    expected = in_python(cases)
    assert not any(isinstance(one, str) for one in expected)
    assert run(file, cases) == expected


@everywhere
def test_vectors_of_kept_answers(run: javascript.Run, file: Path) -> None:
    cases, expected = [], []
    for case in load("vectors_of_kept.json"):
        for one in case["records"]:
            draws = b"".join(draw.to_bytes(2, "little") for steps in one["draws"] for step in steps for draw in step)
            given = {"secret": one["secret"], "record": one["answers"], "arm": one.get("arm"), "draws": draws.hex()}
            cases.append({"plan": json.dumps(case["plan"])} | given)
            expected.append([one["kept"], one["report"], 0])
    assert len(cases) > 70
    assert run(file, cases) == expected


@cache
def kept_cases() -> tuple[list[Case], list[Any]]:
    """Answers kept by secrets, also where bytes are drawn again, so that the first ones of a stream do not do."""
    rng, cases = np.random.default_rng(8), []
    for plan in KEPT.values():
        document = json.loads(plan.to_json())
        for answers in some_records(plan, document, -(-CASES // len(KEPT)), rng):
            arm = plan.arm_names[-1] if plan.assigned else None
            given = {"secret": rng.bytes(16).hex(), "record": answers, "arm": arm, "draws": rng.bytes(4000).hex()}
            cases.append({"plan": plan.to_json()} | given)
    return cases, in_python(cases)


@pytest.mark.slow
@everywhere
def test_many_secrets_give_the_same_bytes(run: javascript.Run, file: Path) -> None:
    cases, expected = kept_cases()
    assert any(left < 4000 for _, _, left in expected)
    assert run(file, cases) == expected


@everywhere
def test_plans_are_taken_up_to_the_same_size(run: javascript.Run, file: Path) -> None:
    """One long text, which takes the most of a browser; and what is too deep or long for a browser alone."""
    helped = json.loads(dn.Plan(dn.Schema([dn.Flag("a", help="é")]), epsilon=1.0).to_json())

    def of_bytes(size: int) -> str:
        room = size - len(json.dumps(sealed(helped), ensure_ascii=False).encode())
        helped["features"][0]["help"] += "x" * room
        return json.dumps(sealed(helped), ensure_ascii=False)

    def beside(text: str) -> str:
        return json.dumps(sealed(helped) | {"n": 0}).replace('"n": 0', text)

    sizes = [{"plan": of_bytes(client.MAX_BYTES)}, {"plan": of_bytes(client.MAX_BYTES + 1)}]
    expected = in_python(sizes)
    assert [one == "PlanError" for one in expected] == [False, True]
    assert run(file, sizes) == expected
    helped["features"][0]["help"] = "short"
    small = [beside(f'"design": {"[" * 63}{"]" * 63}'), beside(f'"n": {"9" * 1000}')]
    large = [beside(f'"design": {"[" * 64}{"]" * 64}'), beside(f'"n": {"9" * 1001}')]
    deep = beside(f'"arms": {"[" * 100_000}{"]" * 100_000}')
    found = run(file, [{"plan": text} for text in (*small, *large, deep)])
    assert [one == "PlanError" for one in found] == [False] * 2 + [True] * 3


# Letters without ink, blanks, ends of lines, control and combining characters, and the neighbours of some of them.
ODD_LETTERS = [
    *range(0x00, 0x30), *range(0x7F, 0xB0), 0x300, 0x301, 0x34F, 0x37E, 0x61C, 0x115F, 0x1160, 0x1680, 0x17B4, 0x17B5,
    *range(0x180A, 0x1811), *range(0x1FFF, 0x2071), 0x212B, 0x27FF, 0x2800, 0x2801, 0x3000, 0x3164,
    *range(0xFDFF, 0xFE11),
    0xFEFF, 0xFFA0, *range(0xFFEE, 0xFFFD), 0x1BCA0, 0x1D173, 0xDFFFF, 0xE0000, 0xE0020, 0xE0100, 0xE0FFF, 0xE1000,
]  # fmt: skip


@everywhere
def test_texts_that_look_alike_are_refused_alike(run: javascript.Run, file: Path) -> None:
    pairs = [("a b", f"a{chr(code)}b") for code in ODD_LETTERS] + [("a", chr(code)) for code in ODD_LETTERS]
    pairs += [("a", f"{chr(code)}a") for code in ODD_LETTERS]
    pairs += [("é", "e\u0301"), ("Å", "\u212b"), ("é", "e\u200d\u0301"), ("a b", " a\u3000 b")]
    protocol = {"name": "GRR", "keep": 9}
    features = [{"name": "x", "values": [*pair], "protocol": protocol} for pair in pairs]
    cases = [{"plan": json.dumps(sealed({"version": 1, "features": [feature]}))} for feature in features]
    expected = in_python(cases)
    assert 200 < expected.count("PlanError") < len(cases) - 200
    assert [pair for pair, *both in zip(pairs, run(file, cases), expected, strict=True) if both[0] != both[1]] == []


@cache
def random_cases() -> tuple[list[Case], list[Any]]:
    """So many reports by each protocol, ten for each plan; with what Python makes of them."""
    rng, draws = Random(22), np.random.default_rng(22)
    plans = [document_of(rng, protocol) for protocol in client.PERTURB for _ in range(-(-CASES // 10))]
    cases = [case for plan in plans for case in scripted_cases(plan, 10, draws)]
    return cases, in_python(cases)


@cache
def altered_cases() -> tuple[list[Case], list[Any]]:
    """Altered plans, with what Python makes of them."""
    rng = Random(23)
    plans = [document_of(rng, rng.choice([*client.PERTURB])) for _ in range(100)]
    plans += [json.loads(plan.to_json()) for plan in (*PLANS.values(), *DESIGNS.values()) if len(plan.to_json()) < 9000]
    cases: list[Case] = [{"plan": altered(rng, rng.choice(plans))} for _ in range(max(CASES, 1000))]
    return cases, in_python(cases)


@pytest.mark.slow
@everywhere
def test_random_reports_are_the_same_bytes(run: javascript.Run, file: Path) -> None:
    cases, expected = random_cases()
    assert all(isinstance(one, list) and one[1] == 0 for one in expected)
    found = run(file, cases)
    assert [at for at, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]] == []


@pytest.mark.slow
@everywhere
def test_altered_plans_are_accepted_and_refused_alike(run: javascript.Run, file: Path) -> None:
    cases, expected = altered_cases()
    accepted = sum(isinstance(one, dict) for one in expected)
    assert 0.1 < accepted / len(cases) < 0.6  # neither is rare, or the test would say little
    found = run(file, cases)
    different = [
        (case["plan"], *pair) for case, *pair in zip(cases, found, expected, strict=True) if pair[0] != pair[1]
    ]
    assert different == []
