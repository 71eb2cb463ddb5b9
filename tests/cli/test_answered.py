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
    assert {row["smoker"] for row in given} == {"yes", "no"}  # as beside "no answer"
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


def test_answers_may_be_given_and_it_is_said_whom_results_are_about(
    counts: dn.Counts, capsys: pytest.CaptureFixture[str]
) -> None:
    est = dn.estimate(counts, ["smoker", "age"])
    young, middle, *_ = SCHEMA["age"].answers
    for text, answers in ((young, [young]), (f"{young},{middle}", [young, middle])):
        found = rows(capsys, "conditional", "c.npz", "smoker", "--given", f"age={text}")
        expected = est.among("smoker", [True, False]).among("age", answers).project("smoker").table()
        assert [row["proportion"] for row in found] == pytest.approx(expected["proportion"].to_pylist(), rel=1e-12)
        assert main(["conditional", "c.npz", "smoker", "--given", f"age={text}"]) == 0
        head, *_ = capsys.readouterr().out.splitlines()
        assert head.startswith(f"Among those with age: {' or '.join(answers)}. About the population; ")
    between = ["--between", "age", young, middle]
    for command in (["difference", "c.npz", "smoker", *between], ["mean", "c.npz", "age"]):
        assert main([*command, "--answered"]) == 0
        assert capsys.readouterr().out.startswith("Among those who answered ")
    assert main(["difference", "c.npz", "smoker", *between]) == 0
    assert capsys.readouterr().out.startswith("About the population")
    assert main(["conditional", "c.npz", "drinks", "--given", f"age={young}", "--given", "smoker"]) == 1
    assert "or an answer to each, FEATURE=ANSWER; not both at once" in capsys.readouterr().err


@pytest.mark.usefixtures("counts")
def test_features_of_a_table_may_have_commas_between_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert rows(capsys, "table", "c.npz", "smoker,age") == rows(capsys, "table", "c.npz", "smoker", "age")
    assert main(["table", "c.npz", "smoker,agee"]) == 1
    assert "no feature 'agee'" in capsys.readouterr().err


@pytest.mark.usefixtures("counts")
def test_errors_name_the_options_of_the_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mean", "c.npz", "age"]) == 1
    assert capsys.readouterr().err.endswith(" (in the shell --answered)\n")
    assert main(["mean", "c.npz", "age", "--answered"]) == 0


@pytest.mark.usefixtures("counts")
def test_data_say_that_some_are_left_out_and_name_answers_alike(capsys: pytest.CaptureFixture[str]) -> None:
    """A script that reads the numbers sees whom they are about, and finds the same yes and no with and without."""
    for command in (["table", "c.npz", "smoker"], ["regress", "c.npz", "drinks", "smoker"]):
        assert {row["among"] for row in rows(capsys, *command)} == {"among those who answered smoker"}
        for form in ("--csv", "--json"):
            assert main([*command, form]) == 0
            assert "among" not in capsys.readouterr().out
        assert main([*command, "--answered", "--csv"]) == 0
        head, first, *_ = capsys.readouterr().out.splitlines()
        assert head.endswith(",about,level,reports,among")
        assert first.endswith(",population,0.95,9000,among those who answered smoker")
    assert main(["table", "c.npz", "smoker", "--json"]) == 0
    assert [row["smoker"] for row in json.loads(capsys.readouterr().out)] == ["no", "yes", "no answer"]
    assert [row["smoker"] for row in rows(capsys, "table", "c.npz", "smoker")] == ["no", "yes"]
