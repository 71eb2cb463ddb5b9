"""`count`: in one batch or many, in parts that add, with the kernels a job is worth, and errors of workers come out."""

import json
import subprocess
import sys
import threading
import time
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.kernels import plain
from tests.support.scripted import some_records
from tests.support.situations import FLAGS, MIXED
from tests.support.surveys import parts_of, some_reports


@pytest.mark.usefixtures("tools")
def test_many_batches_are_counted_like_one(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = some_reports(MIXED, 20_000)
    once = dn.count(reports, order=2)
    monkeypatch.setattr("deniable.counts.tally_of_arm.MOST_ROWS", 4096)
    assert dn.count(reports, order=2) == once


def test_the_count_of_a_margin_is_the_margin_of_the_count() -> None:
    reports = some_reports(MIXED, 500)
    whole = dn.count(reports, MIXED.schema.names)
    for order in (1, 2, 3):
        for names in combinations(MIXED.schema.names, order):
            margin = tuple(slice(None) if name in names else 0 for name in MIXED.schema.names)
            np.testing.assert_array_equal(
                dn.count(reports, names).array(*names), whole.array(*whole.plan.schema.names)[margin]
            )


def test_several_tables_in_one_pass() -> None:
    reports = some_reports(MIXED)
    counts = dn.count(reports, [["grr", "flag"], ["oue"], ["flag", "grr"]])
    assert list(counts.tables) == [("flag", "grr"), ("oue",)]
    assert "flag x grr, oue" in repr(counts)
    np.testing.assert_array_equal(counts.array("grr"), dn.count(reports, order=1).array("grr"))


@given(st.lists(st.integers(0, 300), max_size=4), st.sampled_from([None, 2, 3]))
@settings(max_examples=30, deadline=None)
def test_any_split_adds_to_the_whole(cuts: list[int], order: int | None) -> None:
    reports = some_reports(MIXED, 300)
    asked: dict[str, Any] = {"order": order} if order else {"names": ["hash", "grr", "flag"]}
    parts = [dn.count(part, **asked) for part in parts_of(reports, cuts)]
    assert sum(parts) == dn.count(reports, **asked)
    assert reduce(lambda a, b: b + a, parts) == sum(parts)


REFUSED: dict[str, tuple[Any, str]] = {
    "both asked": (lambda: dn.count(some_reports(MIXED), ["flag"], order=2), "give one of them"),
    "order 0": (lambda: dn.count(some_reports(MIXED), order=0), "whole number from 1 to .*, 7; found 0"),
    "order 8": (lambda: dn.count(some_reports(MIXED), order=8), "found 8"),
    "order half": (lambda: dn.count(some_reports(MIXED), order=1.5), "found 1.5"),
    "no names": (lambda: dn.count(some_reports(MIXED), []), "one or more different features, by their names; found"),
    "name twice": (
        lambda: dn.count(some_reports(MIXED), ["flag", "flag"]),
        "different features, by their names; found",
    ),
    "no feature": (lambda: dn.count(some_reports(MIXED), ["sex"]), "no feature 'sex'"),
    "mixed lists": (lambda: dn.count(some_reports(MIXED), ["flag", ["grr"]]), "found 'flag'"),
    "a number for names": (
        lambda: dn.count(some_reports(MIXED), 5),
        "a list of names, or a list of such lists; found 5",
    ),
    "a text for names": (lambda: dn.count(some_reports(MIXED), "flag"), "a list of names, .*found 'flag'"),
    "numbers for names": (lambda: dn.count(some_reports(MIXED), [[1, 2]]), r"by their names; found \[1, 2\]"),
    "a list of reports": (lambda: dn.count([some_reports(MIXED)] * 2, order=1), "count takes Reports, or a path"),
    "a table of reports": (lambda: dn.count(some_reports(MIXED).table, order=1), "count takes Reports, or a path"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(dn.DeniableError, match=message):
        make()


@pytest.mark.slow
def test_small_jobs_do_without_numba_and_large_ones_take_it() -> None:
    code = """
import sys, json, numpy as np, deniable as dn
plan = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(16)]), epsilon=16.0)
reports = dn.randomize({name: np.zeros(10_000, bool) for name in plan.schema.names}, plan)
dn.count(reports, order=2); dn.count(reports, plan.schema.names); dn.count(reports, order=3)
small = "numba" in sys.modules
import deniable.kernels; deniable.kernels.LOADING = 0
dn.count(reports, order=2)
print(json.dumps([small, "deniable.kernels.compiled" in sys.modules]))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(out) == [False, True]


def test_an_error_in_one_worker_stops_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.counts.tally_of_arm.MOST_ROWS", 4096)
    monkeypatch.setattr("deniable.counts.count.processors", lambda: 2)
    calls = []

    def broken(*_arguments: Any) -> None:
        calls.append(threading.get_ident())
        if len(calls) == 2:
            raise dn.CountError("broken")
        time.sleep(0.02)

    monkeypatch.setattr(plain, "pairs", broken)
    with pytest.raises(dn.CountError, match="broken"):
        dn.count(dn.randomize({f"f{i}": np.zeros(400_000, bool) for i in range(12)}, FLAGS), order=2)
    assert len(calls) < 10  # of 98 batches


def test_an_error_in_a_worker_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: Any) -> None:
        raise dn.CountError("broken")

    monkeypatch.setattr(plain, "pairs", broken)
    with pytest.raises(dn.CountError, match="broken"):
        dn.count(some_reports(MIXED, 10), order=2)


def test_frequencies_come_back_from_counts() -> None:
    """(c - N p) / (q - p) is within five standard errors for every protocol; counts of another feature are not."""
    rng = np.random.default_rng(11)
    records = some_records(MIXED, json.loads(MIXED.to_json()), 20_000, rng)
    counts = dn.count(dn.randomize(records, MIXED, rng=rng), order=1)
    for name in ("grr", "oue", "hash", "sue", "arm"):
        protocol, feature = MIXED[name], MIXED.schema[name]
        truth = np.array([sum(record[name] == value for record in records) for value in feature.values])
        estimate = (counts.array(name)[1:] - counts.n * protocol.p) / (protocol.q - protocol.p)
        stderr = np.sqrt(sum(truth[x] * np.diag(protocol.noise(x)) for x in range(len(truth))))
        assert np.all(np.abs(estimate - truth) <= 5 * stderr)
        if name != "arm":
            wrong = (counts.array(name)[1:] - counts.n * protocol.p * 1.2) / (protocol.q - protocol.p)
            assert np.any(np.abs(wrong - truth) > 5 * stderr)
