"""The planner on the command line: what is wanted, how many people, which epsilon, and the power to see something."""

import re
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import norm

import deniable as dn
from deniable.cli import main

FEATURES = """
[[features]]
name = "smoker"
[[features]]
name = "age"
values = ["young", "middle", "old"]
[[features]]
name = "drinks"
[[features]]
name = "region"
values = ["north", "south"]
"""
WANT = [("smoker", "age"), ("smoker", "drinks"), "region"]
OPTIONS = ["--want", "smoker,age", "--want", "smoker, drinks", "--want", "region"]


@pytest.fixture(autouse=True)
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dn.Schema:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(FEATURES)
    return dn.Schema.load("survey.toml")


def planned(*options: str) -> dn.Plan:
    assert main(["plan", "survey.toml", "-o", "plan.json", "--force", *options]) == 0
    return dn.Plan.load("plan.json")


def same(plan: dn.Plan, other: dn.Plan) -> bool:
    return plan == other and (plan.want, plan.n) == (other.want, other.n)


def test_questions_that_no_table_wants_are_spared_or_left_out(
    schema: dn.Schema, capsys: pytest.CaptureFixture[str]
) -> None:
    some = ("--epsilon", "2", "--want", "smoker,age")
    for options in ((), ("--spare", "10%")):
        assert same(planned(*some, *options), dn.design(schema, epsilon=2.0, want=[("smoker", "age")], spare=0.1))
    capsys.readouterr()
    assert planned(*some, "--only-wanted", "--public", "region").schema.names == ("smoker", "age", "region")
    assert "Not asked, as no wanted table has them: drinks.\n" in capsys.readouterr().err
    assert main(["plan", "survey.toml", "--epsilon", "2", "--only-wanted"]) == 1
    assert "say which tables are wanted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    {
        "--spare 100%": "--spare takes a share of the people below 100%, such as 10%; found 1",
        "--spare=-0.5": "--spare takes a share of the people below 100%, such as 10%; found -0.5",
        "--most 0": "--most takes how many questions one person is asked, 1 or more; found 0",
        "--most 1 --want smoker,age": "most=1 (in the shell --most 1) allows one person 1",
        "--epsilon-1 1": "--epsilon-1 is of one report where answers are kept; say --repeat keep, too",
    }.items(),
)
def test_what_cannot_be_is_refused_by_its_option(options: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "survey.toml", "--epsilon", "2", *options.split()]) == 1
    assert told in capsys.readouterr().err


def test_every_pair_is_wanted_by_default(schema: dn.Schema) -> None:
    assert same(planned("--epsilon", "2"), dn.design(schema, epsilon=2.0))
    assert same(planned("--epsilon", "2", "--order", "1"), dn.design(schema, epsilon=2.0, order=1))
    assert planned("--epsilon", "2") != dn.Plan(schema, epsilon=2.0)  # or nothing was designed


def test_what_is_wanted_by_options_and_in_the_file(schema: dn.Schema) -> None:
    expected = dn.design(schema, epsilon=2.0, want=WANT, n=5000)
    assert same(planned("--epsilon", "2", "--people", "5000", *OPTIONS), expected)
    Path("survey.toml").write_text('want = [["smoker", "age"], ["smoker", "drinks"], "region"]' + FEATURES)
    assert same(planned("--epsilon", "2", "--people", "5000"), expected)
    Path("survey.toml").write_text('want = [["smoker", "age"], ["smoker", "drinks"]]' + FEATURES)
    assert same(planned("--epsilon", "2", "--people", "5000", "--want", "region"), expected)
    assert planned("--epsilon", "2", "--split") == dn.Plan(schema, epsilon=2.0)


SAID: dict[str, tuple[list[str], dict[str, Any]]] = {
    "split": (["--split"], {}),
    "arms": (["--arm", "smoker,age,drinks", "--arm", "region"], {"arms": [["smoker", "age", "drinks"], ["region"]]}),
    "every": (["--every", "4"], {"together": [["smoker", "age", "drinks", "region"]]}),
    "together": (["--together", "smoker,age"], {"together": [["smoker", "age"]]}),
}


@pytest.mark.parametrize(("options", "same_as"), SAID.values(), ids=SAID.keys())
def test_what_is_said_by_oneself_tells_what_it_will_tell(
    options: list[str], same_as: dict[str, Any], schema: dn.Schema, capsys: pytest.CaptureFixture[str]
) -> None:
    """So that it can be compared with the design, also by a file that says how a design is looked for."""
    Path("survey.toml").write_text(
        'want = [["smoker", "age"], ["smoker", "drinks"], "region"]\ngoal = "worst"\nmost = 2' + FEATURES
    )
    plan = planned("--epsilon", "2", "--people", "5,000", *options)
    assert plan == dn.Plan(schema, epsilon=2.0, **same_as)
    assert plan.want == (("smoker", "age"), ("smoker", "drinks"), ("region",))
    assert plan.n == 5_000
    half_width = f"+- {100 * plan.expect('smoker', 'age').half_width:#.2g}".rstrip(".") + " points"
    assert re.search(rf"smoker x age +{re.escape(half_width)}", capsys.readouterr().err)
    assert "Power with 5,000 people" in told(capsys, "smoker", "drinks", "--correlation", "0.3")


def test_people_alone_are_an_aim_of_what_is_asked_together() -> None:
    assert planned("--epsilon", "2", "--people", "900", "--arm", "smoker,age", "--arm", "drinks,region").want == (
        ("smoker", "age"),
        ("drinks", "region"),
    )
    assert planned("--epsilon", "2", "--people", "900", "--every", "1").want == (
        ("smoker",), ("age",), ("drinks",), ("region",)
    )  # fmt: skip
    assert len(planned("--epsilon", "2", "--order", "3", "--split").want or ()) == 4
    assert planned("--epsilon", "2", "--split").want is None


def test_how_a_design_is_looked_for_stands_in_the_file(schema: dn.Schema) -> None:
    Path("survey.toml").write_text(
        'goal = "worst"\nmost = 2\nspare = 0.1\napart = [["age", "region"]]\nwant = [["smoker", "age"], "region"]\n'
        'weights = [{table = ["age", "smoker"], weight = 3}, {table = "region", weight = 2}]' + FEATURES
    )
    options: dict[str, Any] = {"want": [("smoker", "age"), "region"], "spare": 0.1, "apart": [["age", "region"]]}
    options |= {"weights": {("smoker", "age"): 3, "region": 2}}
    assert planned("--epsilon", "4") == dn.design(schema, epsilon=4.0, goal="worst", most=2, **options)
    assert planned("--epsilon", "4", "--goal", "mean", "--most", "3") == dn.design(
        schema, epsilon=4.0, goal="mean", most=3, **options
    )


def test_goal_most_and_public(schema: dn.Schema) -> None:
    worst = dn.design(schema, epsilon=2.0, want=WANT, goal="worst")
    assert planned("--epsilon", "2", "--goal", "worst", *OPTIONS) == worst
    two = dn.design(schema, epsilon=4.0, most=2, public=["region"])
    found = planned("--epsilon", "4", "--most", "2", "--public", "region")
    assert found == two
    assert max(len(arm.schema) for arm in found.arms) == 3  # two, and the public one


@pytest.mark.parametrize("text", ["3%", "0.03", " 3 %"])
def test_the_least_epsilon_and_the_least_number_of_people(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned("--people", "5000", "--half-width", text, *OPTIONS)
    widths = [plan.expect(*names).half_width for names in plan.want or ()]
    assert 0.98 * 0.03 < max(widths) < 1.005 * 0.03
    assert f"Epsilon {plan.epsilon:.4f} is the least for half-widths of at most 3 % with 5,000 people." in (
        capsys.readouterr().err
    )
    plan = planned("--epsilon", "1", "--half-width", text, *OPTIONS)
    assert plan.n is not None
    widths = [plan.expect(*names).half_width for names in plan.want or ()]
    assert max(widths) == pytest.approx(0.03, rel=0.005)
    assert min(widths) == pytest.approx(0.03, rel=0.02)  # all of them alike, else it is not the least
    assert f"{plan.n:,} people are the least for half-widths of at most 3 % at epsilon 1." in capsys.readouterr().err


def test_of_one_question_there_is_nothing_to_design(schema: dn.Schema) -> None:
    Path("survey.toml").write_text('[[features]]\nname = "smoker"')
    one = dn.Schema.load("survey.toml")
    assert same(planned("--epsilon", "1"), dn.Plan(one, epsilon=1.0))
    assert planned("--epsilon", "1", "--people", "100").n == 100
    Path("survey.toml").write_text(FEATURES)
    shown = ["--public", "age", "--public", "drinks", "--public", "region"]
    public = {name: dn.Public() for name in ("age", "drinks", "region")}
    assert planned("--epsilon", "1", *shown) == dn.Plan(schema, public, epsilon=1.0)
    assert not planned(*shown, "--public", "smoker").epsilon


FAILURES: dict[str, tuple[str, list[str], str]] = {
    "nothing": ("", [], "give --epsilon; or, for the least one, both --people and --half-width"),
    "people alone": ("", ["--people", "10"], "give --epsilon; or"),
    "all three": ("", ["--epsilon", "1", "--people", "9", "--half-width", "2%"], "give two, and the third is found"),
    "split": ("", ["--epsilon", "1", "--split", "--goal", "mean"], r"said already \(--split\).*\(goal\); leave one"),
    "arms": ("", ["--epsilon", "1", "--every", "2", "--half-width", "9%"], r"said already \(arms\).*\(--half-width\)"),
    "file": ('goal = "mean"\ntogether = [["smoker", "age"]]', ["--epsilon", "1"], r"already \(together\).*\(goal\)"),
    "unknown key": (
        "people = 3",
        ["--epsilon", "1"],
        "unknown key 'people'; a survey file has features, want, weights,",
    ),
    "misspelt key": ('publik = ["age"]', ["--epsilon", "1"], "unknown key 'publik'; did you mean 'public'"),
    "a bad goal": ('goal = "best"', ["--epsilon", "1"], 'goal is "mean" or "worst"'),
    "apart in words": ('apart = ["age"]', ["--epsilon", "1"], "survey.toml: apart is a list of lists of names"),
    "weights in words": ('weights = "age"', ["--epsilon", "1"], "survey.toml: weights are a list"),
    "a weight in words": ('weights = ["age"]', ["--epsilon", "1"], "survey.toml: a weight is {table = "),
    "split arms": ("", ["--epsilon", "1", "--split", "--every", "2"], "arms are said in one place; found --split and"),
    "order and want": ("", ["--epsilon", "1", "--order", "2", *OPTIONS], "--order wants every table"),
    "no order": ("", ["--epsilon", "1", "--order", "0"], "--order takes how many features .*; found 0"),
    "too wide": ("", ["--epsilon", "1", "--half-width", "200%"], "--half-width takes a share .* 2%; found 2"),
    "unwanted": (
        "spare = 0",
        ["--epsilon", "1", "--want", "smoker,age"],
        "no wanted table has 'drinks', 'region'; add them",
    ),
    "nobody": ("", ["--epsilon", "1", "--people", "0"], "--people takes how many .* above 0; found 0"),
    "empty": ("want = []", ["--epsilon", "1"], "survey.toml: want is a list of tables"),
    "text": ('want = "smoker"', ["--epsilon", "1"], "survey.toml: want is a list of tables"),
    "numbers": ("want = [[1]]", ["--epsilon", "1"], "survey.toml: want is a list of names"),
}


@pytest.mark.parametrize(("above", "options", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_what_cannot_be_designed_is_one_line_and_status_1(
    above: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("survey.toml").write_text(above + FEATURES)
    assert main(["plan", "survey.toml", *options]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert re.search(message, err), err


def test_a_half_width_in_words_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["plan", "survey.toml", "--epsilon", "1", "--half-width", "two"])
    assert exit_.value.code == 2
    assert "'two' is no share, such as 2% or 0.02" in capsys.readouterr().err


# -- power -------------------------------------------------------------------------------------------------------------


def told(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    assert main(["power", "plan.json", *options]) == 0
    return capsys.readouterr().out


def test_power_says_three_numbers_that_agree(capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned("--epsilon", "2", "--people", "5000", *OPTIONS)
    guess = {"smoker": 0.2, "drinks": 0.6}
    shares = ["--guess", "smoker=20%", "--guess", "drinks=0.6"]
    out = told(capsys, "smoker", "drinks", "--correlation", "0.1", *shares)
    first, power, people, smallest, interval = out.splitlines()
    assert first == "To see a correlation of 0.1 between smoker and drinks, by a two-sided test at 5 %:"
    stderr = plan.expect("smoker", "drinks", guess=guess).correlation("smoker", "drinks").stderr
    assert power == f"Power with 5,000 people: {norm.cdf(0.1 / stderr - 1.96) + norm.cdf(-0.1 / stderr - 1.96):.1%}."
    needed = 5000 * ((norm.ppf(0.8) + norm.ppf(0.975)) * stderr / 0.1) ** 2
    said = re.fullmatch(r"People for a power of 80%: ([\d,]+)\.", people)
    assert said
    assert int(said[1].replace(",", "")) == pytest.approx(needed, rel=1e-3)
    least = (norm.ppf(0.8) + norm.ppf(0.975)) * stderr
    assert smallest == f"Smallest correlation with 5,000 people and a power of 80%: {least:.2g}."
    assert interval == str(plan.interval("smoker", "drinks", correlation=0.1, guess=guess))
    assert told(capsys, "smoker", "drinks", "--correlation", "10%") != out  # or the guess was not looked at


def test_power_of_differences_other_numbers_of_people_and_answers(capsys: pytest.CaptureFixture[str]) -> None:
    plan = planned("--epsilon", "2", *OPTIONS)
    assert plan.n is None
    out = told(capsys, "smoker", "drinks", "--difference", "5%", "--power", "90%")
    needed = plan.needed("smoker", "drinks", difference=0.05, power=0.9)
    head = "To see a difference of 5 points of smoker between those with and without drinks, by a two-sided test at"
    assert out.startswith(f"{head} 5 %:\nPeople for a power of 90%: {needed:,}.\nAn interval for it takes about ")
    out = told(capsys, "smoker", "drinks", "--difference", "0.05", "--people", f"{needed:,}", "--power", "90%")
    assert "Power with " in out
    assert re.search(r"people: (90\.0|89\.9)%", out)
    assert "a power of 90%: 5 points.\n" in out
    out = told(capsys, "smoker", "age=old", "--people", "8000", "--guess", "age=20%,30%,50%")
    assert re.fullmatch(
        r"To see a correlation between smoker and age=old,.*\nSmallest correlation with 8,000 .*\n", out
    )
    assert "No correlation can be seen with 9 people" in told(capsys, "smoker", "drinks", "--people", "9")


NO_POWER: dict[str, tuple[list[str], str]] = {
    "nothing": (
        ["smoker", "drinks"],
        "say what is to be detected, --correlation or --difference; or how many --people",
    ),
    "nobody": (["smoker", "drinks", "--people", "0"], "--people takes how many .*; found 0"),
    "unknown": (["smoker", "sex", "--correlation", "0.1"], "no feature 'sex'"),
    "a choice": (["smoker", "age", "--correlation", "0.1"], "age is a choice: say which answer, such as age=young"),
    "sure": (["smoker", "drinks", "--correlation", "0.1", "--power", "80"], "--power takes a share .* 80%; found 80"),
    "unsure": (["smoker", "drinks", "--correlation", "0.1", "--power", "3%"], "--power takes a share above 5%"),
    "impossible": (
        ["smoker", "drinks", "--correlation", "90%", "--guess", "smoker=10%", "--guess", "drinks=90%"],
        "0.1 and 0.9, a correlation is between -1 and 0.11; found 0.9",
    ),
    "no such answer": (["smoker", "age=dead", "--correlation", "0.1"], "dead"),
    "apart": (["smoker", "region=north", "--correlation", "0.1"], "no arm asks smoker x region of the same people"),
    "too much": (["smoker", "drinks", "--correlation", "2"], "a correlation or a difference, up to 1"),
    "no guess": (["smoker", "drinks", "--correlation", "0.1", "--guess", "smoker"], "--guess takes FEATURE=SHARE"),
    "guess of nothing": (["smoker", "drinks", "--correlation", "0.1", "--guess", "sex=1"], "no feature 'sex'"),
    "guess in words": (
        ["smoker", "drinks", "--correlation", "0.1", "--guess", "smoker=few"],
        "--guess smoker: 'few' is no share",
    ),
    "not all shares": (
        ["smoker", "age=old", "--correlation", "0.1", "--guess", "age=0.2,0.3"],
        "the guess of 'age' needs 3 shares that sum to 1",
    ),
}


@pytest.mark.parametrize(("options", "message"), NO_POWER.values(), ids=NO_POWER.keys())
def test_power_that_cannot_be_is_one_line_and_status_1(
    options: list[str], message: str, schema: dn.Schema, capsys: pytest.CaptureFixture[str]
) -> None:
    dn.design(schema, epsilon=2.0, want=WANT).save("plan.json")
    assert main(["power", "plan.json", *options]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert re.search(message, err), err


def test_names_may_hold_the_sign_between_name_and_answer(capsys: pytest.CaptureFixture[str]) -> None:
    odd = dn.Schema([dn.Flag("a=b"), dn.Choice("c=d", ["x=1", "y"])])
    dn.Plan(odd, epsilon=2.0, together=[odd.names]).save("plan.json")
    out = told(capsys, "a=b", "c=d=x=1", "--correlation", "0.1", "--guess", "a=b=10%")
    expected = dn.Plan.load("plan.json").needed("a=b", ("c=d", "x=1"), correlation=0.1, guess={"a=b": 0.1})
    assert f"\nPeople for a power of 80%: {expected:,}.\n" in out
