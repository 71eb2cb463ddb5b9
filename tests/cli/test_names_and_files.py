"""The shell with questions as forms head their columns: with commas, signs and spaces in them."""

import csv
import io
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main

HAPPY, WHERE, REGION = "All in all, how happy are you?", "Where, exactly", "Region=where"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    schema = dn.Schema([dn.Flag(HAPPY), dn.Choice(WHERE, ["a, b", "c", "d"]), dn.Choice(REGION, ["N", "S"])])
    schema.save("survey.toml")
    plan = dn.Plan(schema, epsilon=8.0)
    answers = {HAPPY: [True, False] * 300, WHERE: ["a, b", "c", "d"] * 200, REGION: ["N", "N", "S"] * 200}
    dn.randomize(answers, plan, rng=1).save("r.parquet")


@pytest.mark.parametrize("want", [[f"{HAPPY},{WHERE}"], [f'"{HAPPY}", "{WHERE}"'], [HAPPY, WHERE]])
@pytest.mark.parametrize("option", ["--want", "--together", "--arm"])
def test_plans_of_questions_with_commas(option: str, want: list[str]) -> None:
    if option == "--together" and len(want) > 1:
        return  # one question is nothing to be asked together
    options = [word for one in [*want, *[REGION] * (option == "--arm")] for word in (option, one)]
    people = ["--people", "9000"] if option == "--want" else []
    assert main(["plan", "survey.toml", "--epsilon", "2", *options, *people, "-o", "plan.json"]) == 0
    plan = dn.Plan.load("plan.json")
    if option == "--want":
        assert plan.want is not None
        assert {*plan.want} >= {(HAPPY, WHERE)} if len(want) == 1 else {(HAPPY,), (WHERE,)}
    else:
        blocks = {block.names for arm in plan.arms for block in arm.blocks}
        assert blocks >= ({(HAPPY, WHERE)} if len(want) == 1 else {(HAPPY,), (WHERE,)})


def test_results_of_questions_with_commas_and_signs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", "r.parquet", "--table", f"{HAPPY},{WHERE}", "-o", "c.npz"]) == 0
    assert main(["table", "c.npz", f"{HAPPY},{WHERE}", "--csv"]) == 0
    assert next(csv.reader(io.StringIO(capsys.readouterr().out)))[:2] == [HAPPY, WHERE]
    for given in (f"{REGION}=N", REGION):
        assert main(["conditional", "r.parquet", HAPPY, "--given", given]) == 0
    assert main(["difference", "r.parquet", HAPPY, "--between", WHERE, "a, b,c", "d"]) == 0
    assert "a, b or c" in capsys.readouterr().out
    assert (
        main(["page", "r.parquet", "--show", f"{HAPPY} | {WHERE}", "--show", f"{HAPPY},{WHERE}", "-o", "p.html"]) == 0
    )


def test_a_part_of_a_name_is_told_of_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        ["plan", "survey.toml", "--epsilon", "2", "--want", f"{HAPPY[:-1]},{WHERE}"],
        ["count", "r.parquet", "--table", "All in all, how unhappy are you?", "-o", "c.npz"],
        ["page", "r.parquet", "--show", f"{HAPPY[:-1]} | {WHERE}", "-o", "p.html"],
    ):
        assert main(command) == 1
        assert "no such names; a name with a comma in it goes in double quotes" in capsys.readouterr().err


def test_what_can_be_made_again_is_written_over_and_what_cannot_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["count", "r.parquet", "-o", "c.npz"]) == 0
        assert main(["table", "r.parquet", HAPPY, "--plot", "t.svg"]) == 0
    for command in (
        ["plan", "survey.toml", "--epsilon", "2", "-o", "r.parquet.json"],
        ["randomize", "r.parquet.json", "a.csv", "-o", "r.parquet"],
    ):
        Path(command[-1]).touch()
        assert main(command) == 1
        assert "exists already" in capsys.readouterr().err
        if command[0] == "plan":
            assert main([*command, "--force"]) == 0
