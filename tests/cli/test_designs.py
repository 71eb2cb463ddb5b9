"""Plans with blocks and arms on the command line: how they are said, and what each command does with them."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main
from tests.support.printed_rows import printed

FEATURES = """
[[features]]
name = "smoker"
[[features]]
name = "age"
values = ["young", "old"]
[[features]]
name = "income"
edges = [0, 10, inf]
[[features]]
name = "uses"
flags = ["tea, or coffee", "a+b"]
[[features]]
name = "region"
values = ["north", "south"]
"""
ARMS = """
[[arms]]
name = "panel"
ask = ["smoker", "age"]
share = 0.5
[[arms]]
ask = [["smoker", "income"], ["age"]]
share = 0.3
[[arms]]
ask = ["uses"]
share = 0.2
"""


@pytest.fixture(autouse=True)
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dn.Schema:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(FEATURES)
    return dn.Schema.load("survey.toml")


def planned(*options: str) -> dn.Plan:
    assert main(["plan", "survey.toml", "--epsilon", "2", "-o", "plan.json", "--force", *options]) == 0
    return dn.Plan.load("plan.json")


def test_everybody_is_asked_everything_on_request(schema: dn.Schema) -> None:
    assert planned("--split") == dn.Plan(schema, epsilon=2.0)


def test_blocks_by_options_and_in_the_file(schema: dn.Schema) -> None:
    both = [["smoker", "age"], ["income", "region"]]
    assert planned("--together", "smoker,age", "--together", "income, region") == dn.Plan(
        schema, epsilon=2.0, together=both
    )
    Path("survey.toml").write_text('together = [["smoker", "age"]]\npublic = ["region"]' + FEATURES)
    expected = dn.Plan(
        schema, {"region": dn.Public()}, epsilon=2.0, together=[["smoker", "age"], ["income", "uses: a+b"]]
    )
    assert planned("--together", "income,uses: a+b") == expected


def test_arms_by_options(schema: dn.Schema) -> None:
    """Blocks of an arm stand on both sides of a plus; a plus or a comma inside of quotes is part of a name."""
    own = ["--arm", "smoker,age+income", "--arm", '"uses: tea, or coffee","uses: a+b"+region']
    arms = [[["smoker", "age"], ["income"]], [["uses: tea, or coffee", "uses: a+b"], ["region"]]]
    assert planned(*own) == dn.Plan(schema, epsilon=2.0, arms=arms)


def test_arms_in_the_file_have_names_and_shares(schema: dn.Schema) -> None:
    Path("survey.toml").write_text('public = ["region"]\nassigned = true' + FEATURES + ARMS)
    named: dict[Any, Any] = {
        "panel": (["smoker", "age"], 0.5),
        (("smoker", "income"), ("age",)): 0.3,
        ("uses",): 0.2,
    }
    plan = planned()
    assert plan == dn.Plan(schema, {"region": dn.Public()}, epsilon=2.0, arms=named, assigned=True)
    assert plan.arm_names[0] == "panel"
    assert plan.shares == (32768, 19661, 13107)
    table = {"features": [{"name": "a"}, {"name": "b"}], "arms": [{"ask": ["a"]}, {"ask": ["b"]}]}
    Path("survey.json").write_text(json.dumps(table))
    assert main(["plan", "survey.json", "--epsilon", "2", "-o", "plan.json", "--force"]) == 0
    assert dn.Plan.load("plan.json").arm_names == ("a", "b")


def test_every_set_of_questions_is_an_arm(schema: dn.Schema) -> None:
    """A group of flags is one question, and what is public stands in every arm and in no set."""
    names = ["smoker", "age", "income", "uses"]
    expected = dn.Plan(schema, {"region": dn.Public()}, epsilon=2.0, arms=[list(two) for two in combinations(names, 2)])
    assert planned("--every", "2", "--public", "region") == expected
    assert len(expected.arms) == 6


def test_as_many_arms_as_there_can_be_are_counted_before_they_are_made(capsys: pytest.CaptureFixture[str]) -> None:
    Path("many.toml").write_text("".join(f'[[features]]\nname = "q{k}"\n' for k in range(75)))
    assert main(["plan", "many.toml", "--epsilon", "2", "--every", "3"]) == 1
    assert "--every 3 of 75 questions are 67,525 arms, and a plan has at most 65,536" in capsys.readouterr().err


FILES: dict[str, tuple[str, list[str], str]] = {
    "twice": ("" + FEATURES + ARMS, ["--every", "2"], "said in one place; found --every and the arms in survey.toml"),
    "both options": (FEATURES, ["--every", "2", "--arm", "smoker"], "said in one place; found --arm and --every"),
    "arms and blocks": (FEATURES, ["--every", "2", "--together", "smoker,age"], "an arm says itself what it asks"),
    "none": (FEATURES, ["--every", "0"], "--every takes how many of the 5 questions an arm asks; found 0"),
    "too many": (FEATURES, ["--every", "6"], "--every takes how many of the 5 questions an arm asks; found 6"),
    "no name": (FEATURES, ["--arm", "smoker,"], "no feature ''"),
    "no block": (FEATURES, ["--arm", "smoker+"], "a block is a list of one or more names"),
    "half a quote": (FEATURES, ["--arm", '"smoker'], "--arm takes names with commas between them"),
    "unknown": (FEATURES, ["--together", "smoker,sex"], "no feature 'sex'"),
    "left out": (FEATURES, ["--arm", "smoker,age"], "no arm asks 'income'"),
    "misspelt": ('arm = ["smoker"]' + FEATURES, [], "survey.toml: unknown key 'arm'; did you mean 'arms'?"),
    "too late": (FEATURES + 'together = [["smoker", "age"]]', [], r"'together' stands inside a table of \[\[feat"),
    "in an arm": (FEATURES + ARMS + "assigned = true", [], r"'assigned' stands inside a table of \[\[arms\]\]"),
    "not a list": ('together = "smoker"' + FEATURES, [], "together is a list of lists of names"),
    "flat": ('together = ["smoker", "age"]' + FEATURES, [], "together is a list of lists of names"),
    "numbers": ("together = [[1, 2]]" + FEATURES, [], "together is a list of names"),
    "not public": ("public = [1]" + FEATURES, [], "public is a list of names"),
    "not a flag": ("assigned = 1" + FEATURES, [], "assigned is true or false; found 1"),
    "assigned alone": ("assigned = true" + FEATURES, [], "unequal and assigned are about arms"),
    "not tables": ("arms = [1]" + FEATURES, [], r"arms are tables: \[\[arms\]\]"),
    "no arms": ("arms = []" + FEATURES, [], r"arms are tables: \[\[arms\]\]"),
    "asks nothing": (FEATURES + "[[arms]]\nshare = 1", [], "arm 1: ask is a list of names"),
    "odd key": (FEATURES + '[[arms]]\nask = ["smoker"]\nepsilon = 1', [], "arm 1: unknown key 'epsilon'; an arm has"),
    "some shares": (FEATURES + ARMS + '[[arms]]\nask = ["region"]', [], "arm 4 has no share, and others have"),
    "no share": (FEATURES + '[[arms]]\nask = ["smoker"]\nshare = -1', [], "share of arm .*must be a positive number"),
    "share in words": (
        FEATURES + '[[arms]]\nname = "x"\nask = ["smoker"]\nshare = "half"', [], "arm 1: its share must be a positive"
    ),
    "name": (FEATURES + '[[arms]]\nname = 1\nask = ["smoker"]', [], "arm 1: its name must be text; found 1"),
    "the same": (FEATURES + '[[arms]]\nask = ["age"]\n[[arms]]\nask = ["age"]', [], "arm 2 is called, or asks, what"),
    "blocks and names": (FEATURES + '[[arms]]\nask = ["age", ["smoker"]]', [], "found both"),
    "numbers in an arm": (FEATURES + "[[arms]]\nask = [[1]]", [], "a block is a list of names; found 1"),
}  # fmt: skip


@pytest.mark.parametrize(("survey", "options", "message"), FILES.values(), ids=FILES.keys())
def test_a_design_that_cannot_be_is_one_line_and_status_1(
    survey: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("survey.toml").write_text(survey)
    assert main(["plan", "survey.toml", "--epsilon", "2", *options]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert re.search(message, err), err


def test_a_survey_file_may_say_what_it_is(schema: dn.Schema) -> None:
    Path("survey.toml").write_text('title = "ours"\ndescription = "of us"' + FEATURES)
    assert planned("--split") == dn.Plan(schema, epsilon=2.0)
    assert planned() == dn.design(schema, epsilon=2.0)


def answers(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    smoker = rng.random(n) < 0.4
    return {"smoker": smoker, "age": np.where(rng.random(n) < 0.5 - 0.3 * smoker, "old", "young"),
            "income": rng.random(n) * 20, "region": rng.choice(["north", "south"], n),
            "uses: tea, or coffee": rng.random(n) < 0.3, "uses: a+b": rng.random(n) < 0.1}  # fmt: skip


OWN = ["--arm", "smoker,age", "--arm", "smoker,income+region", "--arm", "uses"]


@pytest.fixture
def counted(capsys: pytest.CaptureFixture[str]) -> dn.Counts:
    """The counts of 6 000 respondents of three arms, in c.npz."""
    plan = planned(*OWN)
    dn.randomize(answers(6_000), plan, rng=np.random.default_rng(2), output="r.parquet")
    capsys.readouterr()
    assert main(["count", "r.parquet", "-o", "c.npz"]) == 0
    return dn.Counts.load("c.npz")


def test_count_tells_how_large_arms_are_against_their_shares(
    counted: dn.Counts, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert (out, lines[0]) == ("", "Wrote c.npz (6,000 reports).")
    assert counted == dn.count(dn.Reports.load("r.parquet"))
    assert lines[1].split() == ["arm", "reports", "of", "all", "share"]
    for line, name, arm in zip(lines[3:6], counted.plan.arm_names, counted.arms, strict=True):
        assert line.split() == [*name.split(), f"{arm.n:,}", f"{arm.n / 6000:.2%}", "33.33%"]
    expected = sum((arm.n - 2000) ** 2 / 2000 for arm in counted.arms)  # shares are thirds, but for one 65 536th
    assert re.fullmatch(rf"Sizes against shares: p = \S+ \(chi-square {expected:.1f} with 2 .*\)\.", lines[6])


def test_order_and_tables_of_arms() -> None:
    plan = planned(*OWN)
    reports = dn.randomize(answers(50), plan)
    reports.save("r.parquet")
    assert main(["count", "r.parquet", "--order", "2", "-o", "c.npz"]) == 0
    assert dn.Counts.load("c.npz") == dn.count(reports, order=2)
    assert main(["count", "r.parquet", "--table", "smoker,age", "-o", "c.npz"]) == 0
    assert dn.Counts.load("c.npz") == dn.count(reports, ["smoker", "age"])


def test_arms_that_were_asked_already_stand_in_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    Path("survey.toml").write_text('public = ["region"]\nassigned = true' + FEATURES + ARMS)
    plan = planned()
    Path("answers.csv").write_text(
        'asked,smoker,age,region,"uses: tea, or coffee",uses: a+b\npanel,true,old,north,,\n'
        "uses: tea, or coffee x uses: a+b,,,south,1,0\n".replace(
            "uses: tea, or coffee x", '"uses: tea, or coffee x'
        ).replace("a+b,,", 'a+b",,')
    )
    capsys.readouterr()
    command = ["randomize", "plan.json", "answers.csv", "-o", "r.parquet"]
    assert main(command) == 1
    assert "arms of this plan are not drawn" in capsys.readouterr().err
    assert main([*command, "--arm-column", "asked"]) == 0
    assert capsys.readouterr().err == "Wrote r.parquet (2 reports).\n"
    assert [len(arm) for arm in dn.Reports.load("r.parquet").arms] == [1, 0, 1]
    assert dn.Reports.load("r.parquet").plan == plan


def test_tables_tell_how_many_were_asked(counted: dn.Counts, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    est = dn.estimate(counted, ["smoker", "age"])
    assert main(["table", "c.npz", "smoker", "age", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == printed(est.table(), est)
    assert err == ""
    assert main(["table", "c.npz", "smoker", "age"]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == f"About the population; 95% intervals; {counted.arms[0].n:,} of 6,000 respondents were asked this."
    assert main(["table", "c.npz", "smoker", "--respondents", "--json"]) == 0
    out, err = capsys.readouterr()
    both = counted.arms[0].n + counted.arms[1].n
    est = dn.estimate(counted, ["smoker"], about="respondents")
    assert json.loads(out) == printed(est.table(), est)
    assert est.table().about.reports_in_words == f"{both:,} of 6,000 respondents were asked this"
    assert main(["conditional", "c.npz", "smoker", "--given", "age", "--json"]) == 0
    est = dn.estimate(counted, ["age", "smoker"])
    assert json.loads(capsys.readouterr().out) == printed(est.conditional("smoker", given="age"), est)
    assert main(["associations", "c.npz", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == dn.associations(counted).num_rows
    assert main(["table", "c.npz", "age", "income"]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


def test_warnings_are_one_line_on_stderr(counted: dn.Counts, capsys: pytest.CaptureFixture[str]) -> None:
    """Arms of sizes that their shares do not explain, and waves that do not agree; results are still printed."""
    first, second, third = counted.arms
    others = third.of_sources({})  # as if they were of other people
    dn.Counts(counted.plan, arms=[first, second, third + others + others]).save("odd.npz")
    capsys.readouterr()
    assert main(["table", "odd.npz", "smoker", "age"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("smoker  age")
    warned = [line for line in err.splitlines() if "warning" in line]
    assert len(warned) == 1
    assert warned[0].startswith("deniable: warning: the arms have other sizes than their shares say: p = ")
    other = answers(6_000)
    dn.count(dn.randomize(other | {"smoker": ~other["smoker"]}, counted.plan)).save("d.npz")
    assert main(["table", "c.npz", "d.npz", "smoker", "age"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("smoker  age")
    assert err.splitlines()[0].startswith("deniable: warning: the surveys hardly agree on smoker x age: p = ")


def test_waves_are_several_files(counted: dn.Counts, schema: dn.Schema, capsys: pytest.CaptureFixture[str]) -> None:
    plan = dn.Plan(schema, epsilon=4.0)
    later = dn.count(dn.randomize(answers(3_000), plan, rng=np.random.default_rng(3)))
    later.save("later.npz")
    capsys.readouterr()
    est = dn.estimate([counted, later], ["smoker", "age"])
    assert main(["table", "c.npz", "later.npz", "smoker", "age", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == printed(est.table(), est)
    asked = f"{counted.arms[0].n + 3_000:,} of 9,000 respondents of 2 waves were asked all of smoker x age"
    assert err == f"{asked}.\nWhether the waves agree: {est.homogeneity}.\n"
    assert main(["conditional", "c.npz", "later.npz", "smoker", "--given", "age", "--json"]) == 0
    est = dn.estimate([counted, later], ["age", "smoker"])
    assert json.loads(capsys.readouterr().out) == printed(est.conditional("smoker", given="age"), est)
    assert main(["table", "c.npz", "later.npz", "smoker", "--respondents"]) == 1
    assert "an estimate from several surveys is about the population" in capsys.readouterr().err
    assert main(["table", "c.npz", "none.npz", "smoker"]) == 1
    assert "none.npz: cannot be read" in capsys.readouterr().err
    assert main(["table", "c.npz", "c.npz"]) == 1  # the last one is always a feature
    assert "no feature 'c.npz'" in capsys.readouterr().err
