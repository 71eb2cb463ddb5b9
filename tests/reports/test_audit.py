"""A black-box audit: the epsilon that reports in bulk are seen to have, with an exact confidence bound.

For two answers, the event whose chances differ most is counted among reports of each. Clopper-Pearson bounds of both
chances give a lower bound of epsilon, of which the error is at most one in 1e6: it must not be above the epsilon
stated, and it must come close to it, or the audit could not see a bug. In bulk with the real randomness, ten million
reports of each answer of each protocol with `DENIABLE_AUDIT=10000000`, which takes minutes; else fewer.
"""

import math
import os
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

import deniable as dn
from tests.support.situations import values

COUNT = int(os.environ.get("DENIABLE_AUDIT", "200000"))
BATCH = 500_000
ERROR = 1e-6
SCHEMAS = {True: dn.Schema([dn.Flag("x")]), False: dn.Schema([dn.Choice("x", values(5))])}
PROTOCOLS: dict[str, Any] = {
    "randomized response": dn.RandomizedResponse(epsilon=1.0),
    "randomized response, unequal": dn.RandomizedResponse(p=0.1, q=0.8),
    "GRR": dn.GRR(epsilon=1.0),
    "unary encoding, symmetric": dn.UnaryEncoding.symmetric(1.0),
    "unary encoding, optimized": dn.UnaryEncoding.optimized(1.0),
    "subset selection": dn.SubsetSelection(epsilon=1.0, size=2),
    "local hashing": dn.LocalHashing(epsilon=1.0, buckets=3),
}


def plan_of(protocol: Any) -> dn.Plan:
    flag = isinstance(protocol, dn.RandomizedResponse)
    return dn.Plan(SCHEMAS[flag], {"x": protocol})


def events(plan: dn.Plan, answer: Any, count: int) -> int:
    """How many of the reports of one answer are of the event that tells most for the last answer, against the first."""
    found = 0
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        found += int(_tells(plan, dn.randomize({"x": np.full(size, answer)}, plan)).sum())
    return found


def _tells(plan: dn.Plan, reports: dn.Reports) -> Any:
    """Whether each report shows the last answer and not the first: the likeliest under one against the other."""
    codes = plan.schema["x"].columns
    last = _evidence(plan, reports, codes[-1])
    return last if len(codes) == 1 else last & ~_evidence(plan, reports, codes[0])


def _evidence(plan: dn.Plan, reports: dn.Reports, code: int) -> Any:
    """The evidence bit of a value in each report."""
    table, protocol = reports.table, plan["x"]
    if isinstance(protocol, dn.GRR):
        return table.column(0).combine_chunks().indices.to_numpy() == code
    if isinstance(protocol, dn.LocalHashing):
        seeds = np.frombuffer(table.column(0).combine_chunks().buffers()[1], "<u4").reshape(-1, 4).astype(np.int64)
        h = np.zeros(len(seeds), np.int64)
        for c in seeds.T[::-1]:
            h = (h * code + c) % (2**31 - 1)
        return h * protocol.buckets // (2**31 - 1) == table.column(1).to_numpy()
    at = list(plan.schema["x"].columns).index(code)
    return table.column(at).to_numpy()


def least_epsilon(here: int, there: int, count: int) -> float:
    """A lower bound of epsilon from how often an event came among equally many reports of two answers."""
    low = beta.ppf(ERROR / 2, here, count - here + 1)
    high = beta.ppf(1 - ERROR / 2, there + 1, count - there)
    return math.log(low / high)


@pytest.mark.slow
@pytest.mark.parametrize("title", PROTOCOLS)
def test_no_protocol_is_seen_to_cost_more_than_it_says(title: str) -> None:
    plan = plan_of(PROTOCOLS[title])
    first, *_, last = plan.schema["x"].answers
    found = least_epsilon(events(plan, last, COUNT), events(plan, first, COUNT), COUNT)
    assert found <= plan.epsilon
    assert found >= plan.epsilon - 25 / math.sqrt(COUNT)  # the audit is sharp enough to see a bug of that size


def test_the_audit_sees_an_epsilon_that_is_understated() -> None:
    """The control: reports made with epsilon 1.2, stated as 1."""
    wrong = plan_of(dn.GRR(epsilon=1.2))
    first, *_, last = wrong.schema["x"].answers
    assert least_epsilon(events(wrong, last, 200_000), events(wrong, first, 200_000), 200_000) > 1.0
