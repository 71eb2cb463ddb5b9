"""Surveys that fit their plan, where the tests of fit are closest to a false alarm, and some that do not."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

import deniable as dn
from deniable.counts.fit import fits

SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", [*"abcd"]), dn.Choice("city", [*"ABCDEF"])])


def plan(epsilon: float, kind: str) -> dn.Plan:
    """Questions at so much epsilon each, the choices by a protocol."""
    choice = {
        "GRR": dn.GRR(epsilon=epsilon),
        "unary": dn.UnaryEncoding.optimized(epsilon),
        "hashing": dn.LocalHashing(epsilon=epsilon),
    }[kind]
    return dn.Plan(SCHEMA, {"smoker": dn.RandomizedResponse(epsilon=epsilon), "age": choice, "city": choice})


KINDS = ("GRR", "unary", "hashing")
# Nobody has most answers: there every test is at the edge of what it allows.
EDGE = [(1.0, {"smoker": 0.0, "age": [1, 0, 0, 0], "city": [0, 0, 0, 0, 0, 1]})]
# Answers that go together, and are not all alike.
MIXED = [
    (0.5, {"smoker": 0.8, "age": [0.7, 0.2, 0.1, 0], "city": [0.5, 0.3, 0.1, 0.1, 0, 0]}),
    (0.5, {"smoker": 0.1, "age": [0, 0.2, 0.3, 0.5], "city": [0, 0, 0.1, 0.1, 0.4, 0.4]}),
]
TRUTHS = {"edge": EDGE, "mixed": MIXED}


def surveys(truth: str, made_by: dn.Plan, times: int, n: int, seed: int) -> Iterator[dn.Counts]:
    """Counts of simulated surveys, of every pair."""
    rng = np.random.default_rng(seed)
    of = dn.simulate.truth(SCHEMA, TRUTHS[truth])
    hashed = made_by["age"].name == dn.LocalHashing.name
    for _ in range(times):  # hashed answers cannot be drawn straight as counts
        reports = dn.simulate.reports(of, made_by, n, rng) if hashed else None
        yield dn.simulate.counts(of, made_by, rng, n=n) if reports is None else dn.count(reports, order=2)


def read_as(counts: dn.Counts, other: dn.Plan) -> dn.Counts:
    """The same numbers, taken for those of another plan."""
    return dn.Counts(other, dict(counts.tables), moments=counts.moments)


def alarms(every: Iterator[dn.Counts]) -> Counter[str]:
    """How many of these surveys fail the tests of each kind, and any."""
    found: Counter[str] = Counter()
    for counts in every:
        failed = [test.kind for test in fits(counts) if not test.fits]
        found.update(failed)
        found["any"] += bool(failed)
    return found
