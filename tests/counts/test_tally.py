"""A tally takes reports, adds, pickles and gives the counts that `dn.count` gives."""

import pickle
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.counts.tally import Tally
from tests.support.situations import FLAGS, MIXED, PLANS
from tests.support.surveys import parts_of, some_reports

ASKED: dict[str, dict[str, Any]] = {
    "a table": {"names": ["flag", "grr", "sue"]},
    "whole patterns": {"names": ["sue", "hash"]},
    "several tables": {"names": [["flag", "grr"], ["hash"]]},
    "every pair": {"order": 2},
    "every triple": {"order": 3},
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())
def test_parts_counted_apart_add_up_to_what_is_counted_together(asked: dict[str, Any]) -> None:
    reports = some_reports(MIXED, 700)
    tallies = []
    for part in parts_of(reports, [1, 64, 65, 300]):
        tally = Tally.of(MIXED, **asked)
        tally.add(part)
        tallies.append(pickle.loads(pickle.dumps(tally)))
    names, order = asked.get("names"), asked.get("order")
    assert sum(tallies).counts() == dn.count(reports, names, order=order)
    assert tallies[2].n == 1
    assert repr(tallies[2]).startswith("<Tally of 1 report, by <Plan of 7 features")


@pytest.mark.parametrize(
    "asked", [{"order": 2}, {"order": 3}, {"names": ["flag", "three", "one"]}, {"names": FLAGS.schema.names}]
)
def test_reports_are_added_one_after_the_other(asked: dict[str, Any]) -> None:
    plan = FLAGS if asked.get("names") == FLAGS.schema.names else PLANS["subsets"]
    reports = some_reports(plan, 300)
    tally = Tally.of(plan, **asked)
    for part in parts_of(reports, [100, 101]):
        tally.add(part)
        tally.counts()  # looking does not change it
    assert tally.counts() == dn.count(reports, asked.get("names"), order=asked.get("order"))
    assert tally.empty().counts().n == 0


def test_more_reports_after_fewer_find_room() -> None:
    few, many = some_reports(FLAGS, 10), some_reports(FLAGS, 20_000)
    tally = Tally.of(FLAGS, order=2)
    tally.add(few)
    tally.add(many)
    assert tally.counts() == dn.count(few, order=2) + dn.count(many, order=2)


def test_a_tally_is_of_one_plan_and_the_same_tables() -> None:
    tally = Tally.of(MIXED, ["flag"])
    with pytest.raises(dn.CountError, match="a tally takes reports of its own plan"):
        tally.add(some_reports(PLANS["one flag"], 3))
    with pytest.raises(dn.CountError, match="takes Reports, as .* give them; found list"):
        tally.add([b"1"])  # type: ignore[arg-type]
    with pytest.raises(dn.CountError, match="the same tables of the same plan"):
        tally + Tally.of(MIXED, ["grr"])
    with pytest.raises(TypeError):
        tally + 1  # type: ignore[operator]


def test_more_reports_than_integers_count_are_refused() -> None:
    tally, other = Tally.of(MIXED, ["flag"]), Tally.of(MIXED, ["flag"])
    tally.arms[0].n = np.iinfo(np.int64).max
    other.add(some_reports(MIXED, 1))
    for wrong in (lambda: tally + other, lambda: tally.add(some_reports(MIXED, 1))):
        with pytest.raises(dn.CountError, match="more than 64-bit integers can count"):
            wrong()
