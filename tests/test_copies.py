"""Nouns pickle and copy, and compare equal afterwards."""

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from tests.support.situations import PLANS
from tests.support.surveys import some_reports

every_way = pytest.mark.parametrize(
    "again", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy, copy.copy], ids=["pickled", "deep", "shallow"]
)


@every_way
@pytest.mark.parametrize("title", PLANS)
def test_plans_and_reports(title: str, again: Any) -> None:
    plan = PLANS[title]
    copied = again(plan)
    assert copied == plan
    assert (copied.fingerprint, copied.epsilon, hash(copied)) == (plan.fingerprint, plan.epsilon, hash(plan))
    reports = some_reports(plan, 20)
    assert again(reports) == reports
    assert again(reports).to_bytes() == reports.to_bytes()


@every_way
@pytest.mark.parametrize("title", ["everything mixed", "subsets", "one flag"])
def test_counts(title: str, again: Any) -> None:
    reports = some_reports(PLANS[title], 50)
    orders = range(1, min(3, len(reports.plan.schema)) + 1)
    for counts in (dn.count(reports, reports.plan.schema.names[:2]), *(dn.count(reports, order=k) for k in orders)):
        copied = again(counts)
        assert copied == counts
        assert copied.n == counts.n
        for array in copied.tables.values():
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


@every_way
def test_counts_of_some_of_the_respondents(again: Any, tmp_path: Path) -> None:
    counts = dn.count(some_reports(PLANS["one flag"], 50), order=1)
    some = dn.Counts(counts.plan, counts.tables, n=80)
    both = some + some.of_sources({})  # as if they were of others
    assert (some.n, some.asked("a"), both.n, both.asked("a")) == (80, 50, 160, 100)
    assert some != counts
    assert again(some) == some
    some.save(tmp_path / "c.npz")
    assert dn.Counts.load(tmp_path / "c.npz") == some
    for wrong in (49, -1, True, 80.0, "80"):
        with pytest.raises(dn.CountError, match="at least the 50 that were counted; found"):
            dn.Counts(counts.plan, counts.tables, n=wrong)  # type: ignore[arg-type]
    with pytest.raises(dn.CountError, match="9223372036854775808 reports are more than 64-bit integers can count"):
        dn.Counts(counts.plan, counts.tables, n=2**63)


def test_other_counts_are_not_equal() -> None:
    one, other = (some_reports(PLANS["one flag"], count) for count in (50, 51))
    assert dn.count(one, order=1) != dn.count(other, order=1)
    assert one != other
