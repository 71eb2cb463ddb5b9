"""Writes spec/vectors.json, for any other client to be checked against: `python -m spec.make_vectors`."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from deniable import client
from tests.support.scripted import client_source, some_draws, some_records
from tests.support.situations import PLANS

PATH = Path(__file__).with_name("vectors.json")
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


if __name__ == "__main__":
    text = (
        json.dumps(vectors(), ensure_ascii=False)
        .replace('{"title"', '\n{"title"')
        .replace('{"answers"', '\n {"answers"')
    )
    PATH.write_text(text + "\n", encoding="utf-8")
