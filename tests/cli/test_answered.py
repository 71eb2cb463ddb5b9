"""`--answered`: the same questions among those who answered, from a file with gaps."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main

SCHEMA = dn.Schema(
    [
        dn.Flag("smoker", missing="no answer"),
        dn.Choice.bins("age", [0, 30, 60, 90], missing="no answer"),
        dn.Flag("drinks"),
    ]
)


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dn.Counts:
    monkeypatch.chdir(tmp_path)
    shares = {"smoker": [0.6, 0.3, 0.1], "age": [0.3, 0.3, 0.3, 0.1], "drinks": 0.5}
    plan = dn.Plan(SCHEMA, epsilon=9.0)
    made = dn.simulate.counts(dn.simulate.truth(SCHEMA, shares), plan, np.random.default_rng(3), n=9_000)
    made.save("c.npz")
    return made


def rows(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main([*arguments, "--answered", "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_missing_answers_are_left_out(counts: dn.Counts, capsys: pytest.CaptureFixture[str]) -> None:
    est = dn.estimate(counts, ["smoker", "age"])
    among = est.among("smoker", [False, True]).among("age", SCHEMA["age"].answers[:3])
    table = rows(capsys, "table", "c.npz", "smoker", "age")
    assert [row["proportion"] for row in table] == among.table()["proportion"].to_pylist()
    assert sum(row["proportion"] for row in table) == pytest.approx(1)
    given = rows(capsys, "conditional", "c.npz", "smoker", "--given", "age")
    assert {row["smoker"] for row in given} == {True, False}
    between = ("age", "0 to under 30", "60 to 90")
    (found,) = rows(capsys, "difference", "c.npz", "smoker", "--between", *between)
    assert found["difference"] == pytest.approx(among.difference("smoker", between=between).value)
    (mean,) = rows(capsys, "mean", "c.npz", "age")
    assert 30 < mean["mean"] < 60
    terms = [row["term"] for row in rows(capsys, "regress", "c.npz", "smoker", "age", "drinks")]
    assert terms == ["constant", "age: 30 to under 60", "age: 60 to 90", "drinks"]


@pytest.mark.usefixtures("counts")
def test_intervals_for_a_whole_table_are_of_everybody(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "c.npz", "smoker", "--answered", "--simultaneous"]) == 1
    assert "leave --answered out" in capsys.readouterr().err
