"""Writes spec/vectors.json, vectors_of_arms.json and vectors_of_kept.json, for any other client to be checked against.

Run it as `python -m spec.make_vectors`.
"""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from deniable import client, keeping
from tests.support.designs import DESIGNS
from tests.support.kept_plans import KEPT
from tests.support.scripted import arm_draw, arm_source, client_source, some_draws, some_records, units
from tests.support.situations import PLANS
from tests.support.slow_reports import drawn_arm

PATH = Path(__file__).with_name("vectors.json")
ARMS_PATH = Path(__file__).with_name("vectors_of_arms.json")
KEPT_PATH = Path(__file__).with_name("vectors_of_kept.json")
TITLES = (
    "one flag",
    "40 values, unary",
    "public alone",
    "multi-select and ranges",
    "powers of two",
    "odd names",
    "everything mixed",
    "subsets",
)
DESIGN_TITLES = (
    "two flags in one block",
    "blocks of every protocol",
    "multi-select and ranges in blocks",
    "arms of unequal length",
    "arms of several blocks",
    "unequal epsilons",
    "assigned",
    "public in every arm",
    "multi-select and ranges in arms",
    "one question in two arms",
    "missing answers alone",
    "missing answers in blocks",
    "missing answers in arms",
    "labels alone",
)


def vectors() -> list[dict[str, Any]]:
    """Cases of plan, answers, draws and report, always the same."""
    rng = np.random.default_rng(65536)
    cases = []
    for title in TITLES:
        plan = PLANS[title]
        document = json.loads(plan.to_json())
        records = []
        for answers in some_records(plan, document, 12, rng):
            draws = {feature["name"]: some_draws(feature, rng) for feature in document["features"]}
            report = client.report_from(client_source(document, draws), answers, document)
            records.append({"answers": answers, "draws": draws, "report": report.hex()})
        cases.append({"title": title, "plan": document, "records": records})
    return cases


def vectors_of_arms() -> list[dict[str, Any]]:
    """The same for plans of version 2: a record also has its arm, or the draw of it, and draws for each block."""
    rng = np.random.default_rng(2 * 65536)
    cases = []
    for title in DESIGN_TITLES:
        plan = DESIGNS[title]
        document = json.loads(plan.to_json())
        records = [_record(plan, document, answers, rng) for answers in some_records(plan, document, 16, rng)]
        cases.append({"title": title, "plan": document, "records": records})
    return cases


def _record(
    plan: dn.Plan, document: dict[str, Any], answers: dict[str, Any], rng: np.random.Generator
) -> dict[str, Any]:
    """A record in an arm that is drawn, or else assigned; with the answers that the arm asks."""
    first = arm_draw(document, rng) if plan.has_arms and not plan.assigned else None
    number = int(rng.integers(len(plan.arms))) if first is None else drawn_arm(document, first)
    draws = [some_draws(unit, rng) for unit in units(document, number)]
    arm = plan.arm_names[number] if plan.assigned else None
    report = client.report_from(arm_source(document, number, draws, first), answers, document, arm)
    asked = {name: answers[name] for name in plan.arms[number].schema.names if name in answers}
    how = {"arm": arm} if plan.assigned else {} if first is None else {"arm_draw": first}
    return {"answers": asked, **how, "draws": draws, "report": report.hex()}


def vectors_of_kept() -> list[dict[str, Any]]:
    """Plans whose answers are kept: secret and answers give the kept bytes, and these with draws a report."""
    rng = np.random.default_rng(3 * 65536)
    cases = []
    for title, plan in KEPT.items():
        document = json.loads(plan.to_json())
        records = [
            _kept_record(plan, document, answers, rng.bytes(32), rng)
            for answers in some_records(plan, document, 8, rng)
        ]
        cases.append({"title": title, "plan": document, "records": records})
    return cases


def _kept_record(
    plan: dn.Plan, document: dict[str, Any], answers: dict[str, Any], secret: bytes, rng: np.random.Generator
) -> dict[str, Any]:
    arm = plan.arm_names[int(rng.integers(len(plan.arms)))] if plan.assigned else None
    name = arm or keeping.derived_arm(secret, document)
    kept = keeping.derived(secret, answers, document, arm)
    number = plan.arm_names.index(name)
    coins = [
        {"protocol": {"name": "GRR", "keep": plan.kept}, "values": range(max(block.protocol.columns, 2))}
        for block in plan.arms[number].blocks
        if plan.kept < client.SCALE and block.protocol.protects
    ]
    draws = [some_draws(coin, rng) for coin in coins]
    source = io.BytesIO(b"".join(draw.to_bytes(2, "little") for steps in draws for step in steps for draw in step)).read
    report = keeping.again_from(source, kept, document)
    asked = {name: answers[name] for name in plan.arms[number].schema.names if name in answers}
    how = {"arm": arm} if plan.assigned else {}
    return {"answers": asked, "secret": secret.hex(), **how, "kept": kept.hex(), "draws": draws, "report": report.hex()}


def _write(path: Path, cases: list[dict[str, Any]]) -> None:
    """JSON with a line for each case and each record."""
    text = json.dumps(cases, ensure_ascii=False)
    text = text.replace('{"title"', '\n{"title"').replace('{"answers"', '\n {"answers"')
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write(PATH, vectors())
    _write(ARMS_PATH, vectors_of_arms())
    _write(KEPT_PATH, vectors_of_kept())
