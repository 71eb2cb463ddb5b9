"""Bulk randomizing: all its draws, the same bytes as the client for the same draws, seeds and seams."""

import json
import os
import sys

import numpy as np
import pytest

import deniable as dn
from deniable import client
from deniable.kernels import perturb
from deniable.reports.randomize import randomize_codes
from deniable.reports.reading.problems import LeftOut
from spec.make_vectors import PATH, vectors
from tests.support.all_draws import SINGLES, by_bulk, check_all_draws
from tests.support.scripted import bulk_draws, client_source, some_draws, some_records
from tests.support.situations import PLANS, every_plan


@pytest.mark.parametrize("plan", SINGLES.values(), ids=SINGLES.keys())
def test_all_draws_through_the_bulk_code(plan: dn.Plan) -> None:
    check_all_draws(plan, by_bulk)


@every_plan
@pytest.mark.parametrize("count", [1, 7, 64, 65])
def test_the_same_draws_give_the_same_bytes(plan: dn.Plan, count: int) -> None:
    rng = np.random.default_rng(count)
    document = json.loads(plan.to_json())
    records = some_records(plan, document, count, rng)
    draws = [{f["name"]: some_draws(f, rng) for f in document["features"]} for _ in records]
    one_by_one = []
    for record, drawn in zip(records, draws, strict=True):
        source = client_source(document, drawn)
        one_by_one.append(client.report_from(source, record, document))
        assert source(0) == b""
        with pytest.raises(AssertionError):
            source(1)  # all draws were used
    codes = [
        np.array([client.encode(f, record[f["name"]]) for record in records], np.int16) for f in document["features"]
    ]
    together = randomize_codes(codes, plan, bulk_draws(document, draws))
    assert together.to_bytes() == one_by_one
    assert dn.Reports.from_bytes(one_by_one, plan) == together


def test_vectors_are_what_the_client_gives() -> None:
    kept = json.loads(PATH.read_text(encoding="utf-8"))
    assert kept == json.loads(json.dumps(vectors()))
    for case in kept:
        plan = dn.Plan.from_json(json.dumps(case["plan"]))
        reports = [bytes.fromhex(record["report"]) for record in case["records"]]
        columns = {name: [record["answers"][name] for record in case["records"]] for name in plan.schema.names}
        codes = [
            np.array([client.encode(f.to_json(), answer) for answer in columns[f.name]], np.int16) for f in plan.schema
        ]
        draws = bulk_draws(case["plan"], [record["draws"] for record in case["records"]])
        assert randomize_codes(codes, plan, draws).to_bytes() == reports


@pytest.mark.parametrize("failure", [OSError("no entropy"), NotImplementedError("no source")])
def test_without_the_systems_randomness_everything_raises(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_count: int) -> bytes:
        raise failure

    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(type(failure), match="no "):
        client.report({"a": True}, PLANS["one flag"].to_json())
    with pytest.raises(type(failure), match="no "):
        dn.randomize({"a": [True]}, PLANS["one flag"])


def test_a_seed_repeats_and_no_seed_does_not() -> None:
    plan = PLANS["everything mixed"]
    records = some_records(plan, json.loads(plan.to_json()), 50, np.random.default_rng(0))
    once = dn.randomize(records, plan, rng=np.random.default_rng(1))
    assert dn.randomize(records, plan, rng=np.random.default_rng(1)) == once
    assert dn.randomize(records, plan, rng=np.random.default_rng(2)) != once
    assert dn.randomize(records, plan) != dn.randomize(records, plan)
    assert dn.randomize(records, plan, rng=1) == dn.randomize(records, plan, rng=np.int64(1)) == once
    for wrong in ("1", 1.0, -1, True):
        with pytest.raises(dn.DeniableError, match=f"rng must be a numpy Generator .*; found {wrong!r}"):
            dn.randomize(records, plan, rng=wrong)


def test_blocks_join_without_a_seam() -> None:
    """More records than a block: every code's share is right on both sides of the seam, and bits line up."""
    n = perturb.BLOCK + 12345
    plan = PLANS["one flag, nearly open"]  # one draw in 65 536 lies
    truth = np.arange(n) % 3 == 0
    reports = dn.randomize({"a": truth}, plan)
    assert np.mean(reports.table["a"].to_numpy() != truth) < 0.001
    values = np.array(["x", "y", "z"])[np.arange(n) % 3]
    plan = dn.Plan(dn.Schema([dn.Choice("a", ["x", "y", "z"])]), {"a": dn.SubsetSelection(epsilon=10.0, size=1)})
    sets = dn.randomize({"a": values}, plan)
    assert np.mean(sets.table["a: y"].to_numpy() != (values == "y")) < 0.001


def test_an_engine_or_data_of_one_are_randomized_there_and_never_by_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also an engine for files, which are not distributed themselves, and distributed data without an engine."""
    module = sys.modules[dn.randomize.__module__]
    plan, engine, data = PLANS["one flag"], object(), object()
    given: list[tuple[object, ...]] = []
    monkeypatch.setattr(module, "randomize_on", lambda *all_of_it: (given.append(all_of_it), LeftOut()))
    monkeypatch.setattr(module, "is_distributed", lambda one: one is data)
    dn.randomize("answers.csv", plan, engine=engine, output="reports")
    dn.randomize(data, plan, keep_going=True)
    (first, second) = given
    assert first[:4] == (engine, "answers.csv", plan, "reports")
    assert second[:4] == (None, data, plan, None)
    assert second[4] == {"arm": None, "na": (), "keep_going": True, "delimiter": None, "encoding": None}
    for source, own in (("answers.csv", engine), (data, None)):
        with pytest.raises(dn.PlanError, match="what an engine randomizes is not repeatable: leave rng out"):
            dn.randomize(source, plan, engine=own, rng=1)
    assert len(given) == 2
