"""`deniable show`: what a plan, reports and counts hold and promise, and how two plans differ."""

import json
from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main
from deniable.cli.looking.two_plans import arms_that_differ

SCHEMA = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "middle", "old"]), dn.Choice("region", ["n", "s"])])


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dn.Plan:
    monkeypatch.chdir(tmp_path)
    plan = dn.Plan(SCHEMA, {"region": dn.Public()}, epsilon=2.0)
    plan.save("plan.json")
    answers = {"smoker": [True, False] * 50, "age": ["young", "old"] * 50, "region": ["n", "s"] * 50}
    reports = dn.randomize(answers, plan, rng=np.random.default_rng(1))
    reports.save("reports.parquet")
    dn.count(reports, [("smoker", "age")]).save("counts.npz")
    return plan


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["show", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(shown(capsys, *arguments, "--json"))


def test_a_plan_in_words(files: dn.Plan, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, "plan.json")
    assert out.startswith(f"plan.json: a plan, {Path('plan.json').stat().st_size:,} bytes\n")
    assert f"Fingerprint {files.fingerprint}" in out
    assert 'NOT PROTECTED, shown as they are: "region".' in out
    assert f"{files['smoker'].q:.2%}" in out
    rows = {line.split("  ")[0]: line for line in out[out.index("Belief in an answer") :].splitlines()}
    keep = Fraction(round(files["smoker"].q * 65536), 65536)  # randomized response: odds q / (1 - q)
    after = keep / (keep + 9 * (1 - keep))  # of a belief of 1 in 10, by Bayes' theorem
    assert f"{-(-100 * after // 1)} in 100" in rows["smoker"]
    assert "NOT PROTECTED" in rows["region"]
    assert "7.4 times" in rows["the whole report"]  # e^2 = 7.389, rounded up
    assert "The fingerprint is that of the plan's content" in out


def test_numbers_in_json_are_never_below_the_loss(files: dn.Plan, capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(capsys, "plan.json")
    assert (found["holds"], found["bytes"]) == ("plan", Path("plan.json").stat().st_size)
    plan = found["plan"]
    assert plan["fingerprint"] == files.fingerprint
    assert plan["not protected"] == ["region"]
    whole, questions = plan["whole report"], {one["question"]: one for one in plan["questions"]}
    assert float(files.ratio) <= whole["odds"] <= float(files.ratio) + 1e-3
    assert log(files.ratio) <= whole["epsilon"] == files.epsilon
    for belief, before in (("1 in 100", 0.01), ("1 in 10", 0.1), ("1 in 2", 0.5)):
        after = before * files.ratio / (before * files.ratio + 1 - before)
        assert after <= whole["beliefs"][belief] <= after + 2e-4
    assert exp(questions["smoker"]["epsilon"]) == pytest.approx(questions["smoker"]["odds"], abs=2e-4)
    assert questions["region"] == {
        "question": "region", "protected": False, "epsilon": None, "odds": None, "beliefs": None
    }  # fmt: skip
    (arm,) = plan["arms"]
    sent = {tuple(block["questions"]): (block["sent if true"], block["sent if not"]) for block in arm["blocks"]}
    assert sent["age",] == (files["age"].q, files["age"].p)
    assert sent["region",] == (1, 0)


@pytest.mark.usefixtures("files")
def test_reports_and_counts_say_how_many_and_what_was_checked(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, "reports.parquet")
    assert out.startswith("reports.parquet: 100 reports, ")
    assert "100 reports read, each of them one that the plan can give" in out
    out = shown(capsys, "counts.npz")
    assert out.startswith("counts.npz: counts of 100 reports, ")
    assert "Tables counted: smoker x age." in out
    found = as_json(capsys, "counts.npz")
    assert (found["reports"], found["tables"]) == (100, ["smoker x age"])
    Path("folder").mkdir()
    reports = dn.Reports.load("reports.parquet")
    reports.save("folder/a.parquet")
    answers = {feature.name: [feature.answers[0]] * 100 for feature in reports.plan.schema}
    dn.randomize(answers, reports.plan, rng=np.random.default_rng(2)).save("folder/b.parquet")
    assert "folder: 200 reports in 2 files, " in shown(capsys, "folder")


def test_arms_are_shown_with_probabilities_and_sizes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = dn.Plan(SCHEMA, epsilon=1.0, arms=[["smoker", "age"], ["age", "region"]])
    answers = {"smoker": [True] * 200, "age": ["old"] * 200, "region": ["s"] * 200}
    path = tmp_path / "reports.parquet"
    dn.randomize(answers, plan, rng=np.random.default_rng(1)).save(path)
    out = shown(capsys, str(path))
    assert f"{plan.arms[0].protocols[0].q:.2%}" in out
    assert "the whole report of any arm" in out
    assert "Sizes of arms against their shares: p = " in out
    found = as_json(capsys, str(path))
    assert sum(found["reports of arms"]) == 200
    assert [arm["share"] for arm in found["plan"]["arms"]] == [0.5, 0.5]


def test_two_plans_are_compared(files: dn.Plan, capsys: pytest.CaptureFixture[str]) -> None:
    assert "They are the same plan" in shown(capsys, "plan.json", "reports.parquet")
    assert as_json(capsys, "plan.json", "counts.npz")["same plan"] is True
    other = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "old"]), dn.Flag("new")])
    dn.Plan(other, {"smoker": files["smoker"]}, epsilon=5.0).save("other.json")
    out = shown(capsys, "plan.json", "other.json")
    assert (
        "The first one has the smaller epsilon, of what it protects. 2 questions are asked by one of them alone. "
        'NOT PROTECTED, sent as they are by the first one alone: "region".'
    ) in out
    remarks = {row["question"]: row["remark"] for row in as_json(capsys, "plan.json", "other.json")["compared"]}
    assert remarks == {
        "smoker": "the same",
        "age": "other answers or labels; protected better by the first",
        "region": "only the first asks it",
        "new": "only the second asks it",
        "the whole report": "protected better by the first; other columns are NOT PROTECTED",
    }


@pytest.mark.usefixtures("files")
def test_a_column_that_one_plan_sends_as_it_is_is_no_same_promise(capsys: pytest.CaptureFixture[str]) -> None:
    pair = dn.Schema([dn.Flag("smoker"), dn.Flag("hiv", label="nothing")])
    dn.Plan(pair, {"smoker": dn.RandomizedResponse(epsilon=1.0), "hiv": dn.Public()}).save("open.json")
    dn.Plan(dn.Schema([dn.Flag("smoker")]), {"smoker": dn.RandomizedResponse(epsilon=1.0)}).save("closed.json")
    found = as_json(capsys, "open.json", "closed.json")
    assert found["verdict"] == (
        "They are different plans, with the same promise about what they protect. 1 question is asked by one of them "
        'alone. NOT PROTECTED, sent as they are by the first one alone: "nothing" ("hiv").'
    )
    assert found["compared"][-1]["remark"] == "the same; other columns are NOT PROTECTED"
    dn.Plan(pair, {"smoker": dn.RandomizedResponse(epsilon=2.0), "hiv": dn.Public()}).save("weaker.json")
    verdict = as_json(capsys, "closed.json", "weaker.json")["verdict"]
    assert "The first one protects the whole report better." in verdict
    assert 'sent as they are by the second one alone: "nothing" ("hiv").' in verdict
    assert "NOT PROTECTED" not in as_json(capsys, "open.json", "weaker.json")["verdict"]


@pytest.mark.usefixtures("files")
def test_the_same_promise_by_another_way_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    arms = [["smoker", "age"], ["region"], ["smoker", "region"]]
    dn.Plan(SCHEMA, epsilon=1.0, arms=arms[:2]).save("two.json")
    dn.Plan(SCHEMA, epsilon=1.0, arms=arms).save("three.json")
    found = as_json(capsys, "two.json", "three.json")
    assert "same promise about the whole report" in found["verdict"]
    assert {row["remark"] for row in found["compared"][:-1]} == {"the same promise, asked or randomized in another way"}
    assert found["arms that differ"] == [
        "Arms of the second alone: 'smoker x region'.",
        "Arms with other shares: 'smoker x age', 'region'.",
    ]
    assert shown(capsys, "two.json", "three.json").endswith("\n\n" + "\n".join(found["arms that differ"]) + "\n")
    one, other = (
        dn.Plan(SCHEMA, epsilon=1.0, arms={"first": (asked, 1), "second": (["region"], 1)})
        for asked in (["smoker", "age"], [["smoker"], ["age"]])
    )
    assert arms_that_differ(one, other) == ["Arms that are randomized in another way: 'first'."]
    assert arms_that_differ(dn.Plan(SCHEMA, epsilon=1.0), one) == arms_that_differ(one, one) == []


@pytest.mark.usefixtures("files")
def test_promises_that_four_digits_do_not_tell_apart_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    few, many = (dn.Plan(dn.Schema([dn.Choice("age", list("abcdefghij")[:k])]), epsilon=3.0) for k in (7, 10))
    assert few.epsilon != many.epsilon
    few.save("few.json")
    many.save("many.json")
    found = as_json(capsys, "few.json", "many.json")
    assert "same promise about the whole report" in found["verdict"]
    assert [row["remark"] for row in found["compared"]] == ["other answers or labels; the same promise", "the same"]


@pytest.mark.usefixtures("files")
def test_what_cannot_be_shown_is_refused_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    Path("survey.toml").write_text('[[features]]\nname = "a"\n')
    changed = Path("plan.json").read_text().replace('"young"', '"little"')
    Path("changed.json").write_text(changed)
    broken = bytearray(Path("counts.npz").read_bytes())
    Path("broken.npz").write_bytes(broken[: len(broken) // 2])
    for arguments, words in (
        (["survey.toml"], "`deniable plan` makes a plan of it"),
        (["changed.json"], "fingerprint"),
        (["broken.npz"], "is not a file of counts, or it is damaged"),
        (["nothing.json"], "no such file"),
        (["plan.json"] * 3, "two to compare"),
    ):
        assert main(["show", *arguments]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert words in err


@pytest.mark.usefixtures("files")
def test_a_plan_given_as_a_survey_points_to_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "plan.json", "--epsilon", "1"]) == 1
    assert "this is a plan already, not a survey; `deniable show`" in capsys.readouterr().err


def test_plans_of_two_rounds_are_shown_with_the_epsilon_of_one_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plan = dn.Plan(SCHEMA, epsilon=2.0, arms=[["smoker", "age"], ["region"]], repeat="keep", epsilon_1=1.0)
    plan.save(tmp_path / "plan.json")
    out = shown(capsys, str(tmp_path / "plan.json"))
    rows = {line.split("  ")[0]: line for line in out[out.index("Belief in an answer") :].splitlines()}
    assert "in all reports of a person" in out
    assert "24 in 100" in rows["one report of any arm alone"]  # e / (e + 9), rounded up
    assert "46 in 100" in rows["all reports of a person"]
    how = out[out.index("How answers are randomized") :].splitlines()
    assert [word.strip() for word in how[1].split("  ") if word][-3:] == ["epsilon_1", "sent if true", "sent if not"]
    found = as_json(capsys, str(tmp_path / "plan.json"))["plan"]
    assert found["one report"]["epsilon"] == plan.epsilon_1 < found["whole report"]["epsilon"]
    for arm in found["arms"]:
        for block in arm["blocks"]:
            assert block["epsilon_1"] >= log(block["sent if true"] / block["sent if not"]) - 1e-12


def test_long_questions_are_folded_and_whole(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = [f"word{k}" for k in range(60)]
    schema = dn.Schema([dn.Flag("smoker", label=" ".join(words)), dn.Flag("x")])
    dn.Plan(schema, epsilon=1.0, arms=[["smoker"], ["x"]]).save(tmp_path / "plan.json")
    dn.Plan(schema, epsilon=2.0, arms=[["smoker"], ["x"]]).save(tmp_path / "other.json")
    for files in (["plan.json"], ["plan.json", "other.json"]):
        out = shown(capsys, *(str(tmp_path / file) for file in files))
        assert max(len(line) for line in out.splitlines() if ".json" not in line) <= 112
        if len(files) == 1:
            assert set(words) <= set(out[out.index("Belief in") :].replace('"', " ").split())


def test_blocks_have_the_names_of_their_questions_in_counts_of_arms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = dn.Schema([dn.Choice("age", ["young", "old"]), dn.Flags("news", ["Radio", "TV"])])
    plan = dn.Plan(schema, epsilon=2.0, arms=[[["age", "news: Radio"]], [["age", "news: TV"]]])
    counts = dn.simulate.counts(np.full((2, 2, 2), 100), plan, np.random.default_rng(1))
    counts.save(tmp_path / "c.npz")
    assert main(["show", str(tmp_path / "c.npz")]) == 0
    assert "Tables counted: age x news: Radio, age x news: TV." in capsys.readouterr().out
    assert main(["show", str(tmp_path / "c.npz"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"] == ["age x news: Radio", "age x news: TV"]
    assert "reports: age x news: Radio, by <Plan" in repr(counts.arms[0])
    assert "<Counts of 800 reports: 2 arms, whose tables are in counts.arms, by <Plan" in repr(counts)
