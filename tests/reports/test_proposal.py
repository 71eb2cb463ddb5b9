"""Schemas proposed from data that people have: what is proposed, why, and that the same data can then be randomized."""

import csv
import datetime
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import deniable as dn
from deniable.reports.proposing.orders import recognised
from deniable.reports.proposing.ranges import round_edges


def one(column: Any, name: str = "x", **options: Any) -> tuple[Any, str]:
    """The only feature proposed for a column, and its note; None where it is left out beside another column."""
    rows = len(column)
    schema = dn.Schema.from_frame({name: column, "other": [True, False] * (rows // 2) + [True] * (rows % 2)}, **options)
    found = [feature for feature in schema if feature.name == name]
    return found[0] if found else None, schema.notes[name]


# -- flags -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["Yes", "No", "yes", "NO "], {"yes": "Yes", "no": "No"}),
        (["ja", "nein"], {"yes": "ja", "no": "nein"}),
        (["Oui", "Non"], {"yes": "Oui", "no": "Non"}),
        (["smoker", "non-smoker"], {"yes": "smoker", "no": "non-smoker"}),
        (["Y", "yes", "n"], {}),  # more words than two: the usual ones are read anyway
        (["true", "FALSE"], {}),
        (["1", "0"], {}),
        ([True, False], {}),
    ],
)
def test_yes_and_no_become_a_flag_that_reads_them(column: list[Any], words: dict[str, str]) -> None:
    feature, note = one(column)
    assert isinstance(feature, dn.Flag)
    assert feature.words == words
    assert feature.missing is None
    assert "yes or no" in note
    plan = dn.Plan(dn.Schema([feature]), {"x": dn.Public()})
    first = dn.randomize({"x": column}, plan).table["x"].to_pylist()
    assert first[0] is True
    assert False in first


def test_two_words_that_are_not_yes_and_no_are_a_choice() -> None:
    assert one(["f", "m"])[0] == dn.Choice("x", ["f", "m"])
    assert one(["no", "maybe"])[0] == dn.Choice("x", ["maybe", "no"])
    assert one(["agree", "disagree", "neutral"])[0].values == ("disagree", "neutral", "agree")


def test_nulls_are_one_more_answer_and_counted() -> None:
    for column in (["yes", "no", None, "NA"], ["yes", "no", "n/a", "."], pd.Series(["yes", "no", None, np.nan])):
        feature, note = one(column)
        assert feature == dn.Flag("x", missing="no answer")
        assert "; 2 without an answer" in note
    feature, _ = one(["a", "b", "b", None, "No answer"])
    assert feature == dn.Choice("x", ["a", "b", "No answer"], missing="No answer")
    feature, note = one([1, 2, 3, -9, -9], na=["-9"])
    assert feature == dn.Choice("x", ["1", "2", "3"], missing="no answer")
    assert note.endswith("2 without an answer (also '-9'; say na=['-9'] (--na -9) to randomize, too)")
    assert "NA" in one(["NA", "DE", "NA"] * 5)[1] or one(["NA", "DE", "FR"] * 5)[0].missing == "no answer"


def test_none_is_an_answer_among_words_and_no_answer_beside_numbers_or_yes_and_no() -> None:
    feature, note = one(["None", "Catholic", "Other", "NA"] * 5)
    assert feature == dn.Choice("x", ["Catholic", "None", "Other"], missing="no answer")
    assert note.endswith("5 without an answer (also 'NA')")
    assert one(["none", "a little", "a lot"] * 5)[0] == dn.Choice("x", ["none", "a little", "a lot"])
    assert one(["None", "One", "Two"] * 5)[0].missing is None
    assert one(["1", "2", "none", "7"] * 5)[0] == dn.Choice("x", ["1", "2", "7"], missing="no answer")
    assert one(["True", "False", "None"] * 5)[0] == dn.Flag("x", missing="no answer")


def test_none_is_read_as_it_is_listed() -> None:
    religion = dn.Choice("x", ["Catholic", "None"], missing="no answer")
    plan = dn.Plan(dn.Schema([religion]), {"x": dn.Public()})
    reports = dn.randomize({"x": ["none", "Catholic", None]}, plan)
    assert list(dn.estimate(dn.count(reports), "x").mean) == [3, 1, 1, 1]
    unlisted = dn.Plan(dn.Schema([dn.Choice("x", ["Catholic", "Other"], missing="no answer")]), epsilon=1.0)
    with pytest.raises(dn.AnswerError, match="not one of its values .*; found 'None'"):
        dn.randomize({"x": ["None", "Other"]}, unlisted)


@pytest.mark.parametrize("mixed", [False, True])
def test_decimal_commas_are_no_ticks(mixed: bool) -> None:
    column = [f"{19 + k // 10},{k % 10}" for k in range(30)] + (["20", "21"] if mixed else [])
    feature, note = one(column * 3)
    assert feature is None
    assert "decimal commas" in note
    ticks = dn.Schema.from_frame({"x": ["1,2", "2", "1", "2,3", "3", "1,3"] * 5})
    assert ticks.names == ("x: 1", "x: 2", "x: 3")


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "there are no records"), ("smoker,age\n", "there are no answers, only the names of columns: 'smoker'")],
)
def test_a_file_without_answers_is_named(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "poor.csv"
    path.write_text(text)
    with pytest.raises(dn.SchemaError, match=f"poor.csv: {told}"):
        dn.Schema.from_frame(path)


def test_words_for_no_answer_may_be_numbers_or_one_word_and_not_letters() -> None:
    for na in (["-9"], "-9", -9, [-9.0]):
        feature, _ = one([1, 9, 2, -9], na=na)
        assert feature == dn.Choice("x", ["1", "2", "9"], missing="no answer")
    plan = dn.Plan(dn.Schema([feature]), {"x": dn.Public()})
    assert dn.randomize({"x": [1, 9, -9]}, plan, na=-9).table["x"].to_pylist() == ["1", "9", "no answer"]
    for wrong in ([None], True, 3j):
        with pytest.raises(dn.AnswerError, match="na takes words that stand for no answer"):
            dn.Schema.from_frame({"x": [1, 2]}, na=wrong)


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([1, 2, 3, 4, 5, -9], "-9"),
        ([*range(18, 91), -99], "-99"),
        ([*range(18, 91), 999], "999"),
        ([1, 2, 3, 4, 5, 98, 99], "98, 99"),
        ([*range(11), -1, 77], "-1, 77"),
        ([*range(18, 100)], ""),  # 99 is an age
        ([1, 2, 3, 4, 5, 9], ""),
        ([-9, -5, 0, 3, 8], ""),  # degrees
        ([*range(0, 90, 3), 500], ""),
        ([-8, -9], ""),
    ],
)
def test_numbers_that_stand_apart_are_named_and_no_range_is_made_for_them(numbers: list[int], codes: str) -> None:
    feature, note = one([*numbers, 1] * 3 if 1 in numbers else numbers * 3, "Age")
    words = codes.split(", ") if codes else []
    assert note.endswith("to randomize too") is bool(words)
    assert all(f"--na {word}" in note for word in words)
    assert note.count("--na") == len(words)
    if words and feature.edges:
        assert feature.edges[1:-1] == (30, 45, 65)


def test_an_offer_not_to_answer_is_a_missing_answer() -> None:
    feature, note = one(["Yes", "No", "Prefer not to say"] * 7)
    assert feature == dn.Flag("x", missing="Prefer not to say", yes="Yes", no="No")
    assert note.endswith("'Prefer not to say' counts as a missing answer")
    said = dn.randomize({"x": ["yes", "no", "prefer not to say"]}, dn.Plan(dn.Schema([feature]), {"x": dn.Public()}))
    assert said.table["x"].to_pylist() == ["True", "False", "Prefer not to say"]
    assert one(["<20k", "20-50k", "Möchte ich nicht sagen"] * 7)[0].missing == "Möchte ich nicht sagen"
    assert one(["yes", "no", "don't know"] * 7)[0].missing is None
    assert one(["approved", "refused"] * 7)[0].missing is None
    both, _ = one(["yes", "no", "Prefer not to say", None] * 7)  # nulls are one thing, and this is another
    assert both == dn.Choice("x", ["no", "yes", "Prefer not to say", "no answer"], missing="no answer")


@pytest.mark.parametrize("word", ["k.A.", "Keine Angabe", "sans réponse", "無回答"])
def test_words_that_say_there_is_no_answer_are_none_beside_nulls_and_numbers_too(word: str) -> None:
    flag, note = one(["Ja", "ja", "JA", "j", "Nein", "nein", "NEIN", "n", "", word] * 7)
    assert flag == dn.Flag("x", missing="no answer")
    assert note.endswith(f"14 without an answer (also {word!r})")
    ages, _ = one([*map(str, range(18, 80)), word] * 2, "age")
    assert ages.edges[1:-1] == (30, 45, 65)
    for question, answers in ((flag, ["j", "NEIN", word]), (ages, ["20", "70", word])):
        plan = dn.Plan(dn.Schema([question]), {question.name: dn.Public()})
        column = dn.randomize({question.name: answers}, plan).table[question.name]
        assert column.to_pylist()[2] == "no answer"
    listed = dn.Choice("x", ["a", word])  # as an older proposal has it
    assert (
        dn.randomize({"x": ["a", word]}, dn.Plan(dn.Schema([listed]), {"x": dn.Public()})).table["x"][1].as_py() == word
    )


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%d %H:%M:%S", "%Y/%m/%dT%H:%M"])
def test_dates_are_named_as_such(form: str) -> None:
    days = [datetime.datetime(2024, 1 + k % 12, 1 + k % 28, 7, 30) for k in range(60)]
    for column in ([day.strftime(form) for day in days], days, [day.date() for day in days]):
        feature, note = one(column)
        assert feature is None
        assert "dates or times" in note
    assert one(["1-2", "3-4", "5+"] * 7)[0] is not None


# -- several ticks -----------------------------------------------------------------------------------------------------

CELLS = ["TV;Radio", "TV", "Radio;Online", "Online", "", "TV;Online"] * 3


def test_multi_select_text_and_lists_become_flags() -> None:
    lists = [[part for part in cell.split(";") if part] for cell in CELLS]
    comma = [cell.replace(";", ", ") for cell in CELLS]
    for column in (CELLS, comma, lists, [cell.replace(";", "|") for cell in CELLS]):
        schema = dn.Schema.from_frame({"news": column})
        assert schema == dn.Schema([dn.Flags("news", ["Online", "Radio", "TV"])])
        assert len(dn.randomize({"news": column}, dn.Plan(schema, epsilon=1.0))) == 18
    assert "3 ticked nothing" in dn.Schema.from_frame({"news": CELLS}).notes["news"]


def test_commas_in_ordinary_answers_are_no_ticks() -> None:
    feature, _ = one(["Berlin, Germany", "Paris, France", "Rome, Italy"] * 5)
    assert feature == dn.Choice("x", ["Berlin, Germany", "Paris, France", "Rome, Italy"])


def test_columns_named_alike_become_one_question() -> None:
    frame = {"News: TV": ["Yes", "no"], "age": ["<30", "65+"], "News: Radio": [0, 1], "Time: hours": ["a", "b"]}
    schema = dn.Schema.from_frame(frame)
    assert list(schema.questions) == ["News", "age", "Time: hours"]
    assert schema.questions["News"] == dn.Flags("News", ["TV", "Radio"]).features
    assert len(dn.randomize(frame, dn.Plan(schema, epsilon=1.0))) == 2
    lone = dn.Schema.from_frame({"News: TV": [True, False], "b": [True, False]})
    assert lone.questions.keys() == {"News: TV", "b"}
    skipped = dn.Schema.from_frame({"News: TV": [True, None], "News: Radio": [True, False]})
    assert skipped.questions["News"] == dn.Flags("News", ["TV", "Radio"], missing="no answer").features


def test_columns_of_ticks_and_blanks_are_yes_and_no(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "Q3_1,Q3_2,Devices: Phone,Devices: TV,seen,Land,opt in\n"
        "1,,Phone,TV,x,DE,NA\n,1,,TV,,,yes\n1,,Phone,,x,,yes\n1,1,,,x,DE,yes\n"
    )
    schema = dn.Schema.from_frame(tmp_path / "a.csv")
    assert schema.notes["Devices"] == "Devices: several of 2 may be ticked, a column for each; a blank is no"
    assert schema.notes["seen"] == "seen: yes or no: 'x' is yes, a blank is no (1 of them)"
    assert "; if 2 columns 'Q3_...' are ticks of one question" in schema.notes["Q3_1"]
    assert "; if a blank means no, make it a flag with yes = 'DE' and no = ''" in schema.notes["Land"]
    assert schema["opt in"].missing == "no answer"  # a word says that there is none, and nothing is left to a blank
    assert {name: len(own) for name, own in schema.questions.items()} == {
        "Q3_1": 1, "Q3_2": 1, "Devices": 2, "seen": 1, "opt in": 1
    }  # fmt: skip
    schema.save(tmp_path / "survey.toml")
    assert (
        "# Devices: several of 2 may be ticked, a column for each; a blank is no\n[[features]]"
        in (tmp_path / "survey.toml").read_text()
    )
    again = dn.Schema.load(tmp_path / "survey.toml")
    assert again == schema
    dn.Plan(again, dict.fromkeys(again.names, dn.Public())).save(tmp_path / "plan.json")
    plan = dn.Plan.load(tmp_path / "plan.json")
    for data in (tmp_path / "a.csv", pd.read_csv(tmp_path / "a.csv")):  # 1 and nan, in pandas
        table = dn.randomize(data, plan).table
        assert table["Q3_1"].to_pylist() == [True, False, True, True]
        assert table["Devices: Phone"].to_pylist() == [True, False, True, False]
        assert table["seen"].to_pylist() == [True, False, True, True]
    with pytest.raises(dn.AnswerError, match="'seen' is a flag, of which 'x' means yes and a blank no; found 'y'"):
        dn.randomize(pd.read_csv(tmp_path / "a.csv").assign(seen=["x", "y", None, "x"]), plan)


# -- orders and ranges -------------------------------------------------------------------------------------------------

ORDERS = [
    ["<20k", "20-50k", "50-100k", ">100k"],
    ["under 18", "18-29", "30-44", "45 to 64", "65+"],
    ["18–29", "30–44", "65 and over"],
    ["less than €1,000", "€1,000 - €5,000", "more than €5,000"],
    ["0", "1-2", "3 or more"],
    ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"],
    ["Never", "Rarely", "Sometimes", "Often", "Always", "Don't know"],
    ["nie", "selten", "oft", "immer"],
    ["sehr unzufrieden", "unzufrieden", "teils/teils", "zufrieden", "sehr zufrieden"],
    ["Muy insatisfecho", "Insatisfecho", "Neutral", "Satisfecho", "Muy satisfecho"],
    ["low", "medium", "high"],
    ["under 30", "30+", "Prefer not to say"],
]


@pytest.mark.parametrize("values", ORDERS)
def test_obvious_orders_are_recognised(values: list[str]) -> None:
    for seed in range(4):
        mixed = random.Random(seed).sample(values, len(values))
        assert recognised(mixed) == values
    assert one(sorted(values))[0].values == tuple(values)


@pytest.mark.parametrize(
    "values", [["red", "blue"], ["A1 road", "B2 street name", "C3"], ["only", "other"], ["1-2", "1-2 "]]
)
def test_other_words_have_no_order(values: list[str]) -> None:
    assert recognised(values) is None


def test_categoricals_keep_their_order() -> None:
    for ordered in (True, False):
        words = pd.Categorical(["a", "c", "b"], categories=["c", "b", "a", "never"], ordered=ordered)
        assert one(pd.Series(words))[0].values == ("c", "b", "a", "never")
    enum = pl.Series(["a", "c"], dtype=pl.Enum(["c", "b", "a"]))
    assert dn.Schema.from_frame(pl.DataFrame({"x": enum}))["x"].answers == ("c", "b", "a")
    came = pl.Series(["65+", "<30", "30-64"]).cast(pl.Categorical)  # the order in which they came says nothing
    assert dn.Schema.from_frame(pl.DataFrame({"x": came}))["x"].answers == ("<30", "30-64", "65+")


def test_many_numbers_become_ranges_at_round_edges() -> None:
    rng = np.random.default_rng(1)
    ages = rng.integers(18, 91, 2000)
    assert one(ages, "Age")[0] == dn.Choice.bins("Age", [-np.inf, 30, 45, 65, np.inf])
    incomes = np.round(rng.lognormal(10, 0.7, 2000), 2)
    feature, note = one(incomes, "income", na=())
    assert "ranges of" in note
    for edge in feature.edges[1:-1]:
        assert edge % 1000 == 0
    shares = np.diff([np.mean(incomes < edge) for edge in feature.edges])
    assert shares.min() > 0.1
    small = round_edges("rate", rng.random(500))
    assert small[1:-1] == [0.2, 0.4, 0.6, 0.8]
    for numbers in (np.r_[np.zeros(900), np.arange(100)], np.r_[np.ones(999), 2.0]):  # nearly all alike
        edges = round_edges("x", numbers)
        assert edges == sorted(set(edges))
        assert len(edges) >= 3
    assert one([3, 1, 2, 2])[0].values == ("1", "2", "3")
    text = [str(age) for age in ages]
    assert one(text, "age of respondent")[0].edges == (-np.inf, 30, 45, 65, np.inf)


# -- what is no question -----------------------------------------------------------------------------------------------


def test_ids_free_text_and_the_like_are_left_out_with_a_reason() -> None:
    columns: dict[str, tuple[Any, str]] = {
        "number": (np.arange(1000, 1100), "it looks like an id"),
        "code": ([f"a{k:04}" for k in range(100)], "it looks like an id or free text"),
        "comment": ([f"{'x' * (k % 60)} words" for k in range(100)], "it looks like free text"),
        "long": (
            ["a sentence that goes on and on, as people write where a box lets them write"] * 60 + ["b" * 90] * 40,
            "long",
        ),
        "empty": ([None] * 100, "it holds no answers"),
        "same": (["x"] * 100, "everybody has the same answer"),
        "five": ([5] * 100, "everybody has the same answer, 5"),
        "places": ([f"town {k % 60}" for k in range(180)][:100], "free text|too many"),
        "when": (pd.date_range("2026-01-01", periods=100), "it holds dates or times"),
    }
    for name, (column, reason) in columns.items():
        feature, note = one(column, name)
        assert feature is None, name
        assert note.startswith(f"{name}: left out; ")
        assert any(part in note for part in reason.split("|")), note


def test_a_mixture_of_types_is_read_as_text() -> None:
    assert one([1, "a", 1.0, "a"])[0] == dn.Choice("x", ["1", "a"])


def test_records_that_leave_columns_out_are_taken() -> None:
    schema = dn.Schema.from_frame([{"a": "yes"}, {"a": "no", "b": "x"}, {"b": "y"}])
    assert schema == dn.Schema([dn.Flag("a", missing="no answer"), dn.Choice("b", ["x", "y"], missing="no answer")])


# -- the whole way -----------------------------------------------------------------------------------------------------


@pytest.fixture
def messy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made-up file as people have them."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    rows = [
        {
            "ID": 1000 + k,
            "Smoker": rng.choice(["Yes", "no", "No", "YES ", ""]),
            "Age": rng.choice([str(rng.randint(18, 90)), "NA"]),
            "Income": rng.choice(["<20k", "20-50k", ">100k", "N/A"]),
            "News": ";".join(rng.sample(["TV", "Radio", "Online"], rng.randint(0, 3))),
            "Sex": rng.choice(["Female", "male", "Male", "Other"]),
            "Comment": f"{rng.random()} and more",
            "Drugs: Tea": rng.choice(["Yes", "No"]),
            "Drugs: Beer": rng.choice(["Yes", "No"]),
        }
        for k in range(300)
    ]
    with Path("answers.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return tmp_path


@pytest.mark.usefixtures("messy")
def test_a_proposal_is_kept_in_a_file_and_reads_the_data_it_came_from() -> None:
    frame = pd.read_csv("answers.csv", dtype=str, keep_default_na=False)
    schema = dn.Schema.from_frame(frame)
    assert list(schema.questions) == ["Smoker", "Age", "Income", "News", "Sex", "Drugs"]
    assert list(schema.notes) == ["ID", "Smoker", "Age", "Income", "News", "Sex", "Comment", "Drugs"]
    schema.save("survey.toml")
    text = Path("survey.toml").read_text()
    for note in schema.notes.values():
        assert f"# {note}\n" in text
    again = dn.Schema.load("survey.toml")
    assert again == schema
    assert again["Smoker"].words == schema["Smoker"].words != {}  # type: ignore[union-attr]
    plan = dn.Plan(again, epsilon=4.0)
    assert len(dn.randomize("answers.csv", plan)) == len(dn.randomize(frame, plan)) == 300


def test_columns_with_a_common_beginning_are_told_how_to_become_one_question() -> None:
    schema = dn.Schema.from_frame({"News_TV": [1, 0, 1, 1], "News_Radio": [0, 0, 1, 1], "has_car": [1, 0, 0, 1]})
    assert "if 2 columns 'News_...' are ticks of one question, name them 'News: TV'" in schema.notes["News_TV"]
    assert "ticks" not in schema.notes["News_Radio"] + schema.notes["has_car"]
    named = dn.Schema.from_frame({"News: TV": [1, 0, 1, 1], "News: Radio": [0, 0, 1, 1]})
    assert list(named.questions) == ["News"]


def test_numbers_with_decimal_commas_are_named() -> None:
    feature, note = one([f"1,{number % 90 + 10}" for number in range(300)])
    assert feature is None
    assert "its numbers have decimal commas; write them with points" in note
    feature, note = one([f"1.{number % 90 + 10}" for number in range(300)])
    assert feature is not None
    assert "decimal" not in note


SALARIES = [1_207 * k + 15 * k * k for k in range(1, 60)]


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (
            [f"{one:,}" for one in SALARIES],
            "commas between thousands; write them without (45231, not 45,231); or, if they are decimal commas, with "
            "points (45.231, not 45,231)",
        ),
        ([f"{950 * one:,}" for one in SALARIES], "commas between thousands; write them without (45231, not 45,231)"),
        (
            [f"${one:,}.50" for one in SALARIES],
            "a sign such as $, € or % and commas between thousands; write them without (45231, not 45,231)",
        ),
        ([f"{one} EUR" for one in SALARIES], "a sign such as $, € or %; write them without (45231, not $45231)"),
        ([f"{k}%" for k in range(100)], "a sign such as $, € or %; write them without (45231, not $45231)"),
        (
            [f"{one:,}|50".replace(",", ".").replace("|", ",") for one in SALARIES],
            "points between thousands; write them without, and with a decimal point (1234.56, not 1.234,56)",
        ),
        (
            [f"{one:,}".replace(",", "\u202f") for one in SALARIES],
            "blanks between thousands; write them without, and with a decimal point (1234.56, not 1 234,56)",
        ),
        (["0,5", *(f"{one:,}" for one in SALARIES)], "decimal commas; write them with points (1.5, not 1,5)"),
    ],
)
def test_numbers_as_people_write_them_are_told_how_to_be_written(column: list[str], told: str) -> None:
    feature, note = one(column * 3)
    assert feature is None
    assert note == f"x: left out; its numbers have {told}, and ranges are proposed"


def test_a_few_sums_of_money_are_a_choice() -> None:
    assert one(["$5", "$10", "$20"] * 7)[0] == dn.Choice("x", ["$5", "$10", "$20"])


def test_words_for_no_answer_can_be_pasted_into_a_shell() -> None:
    for word, told in {"Don't know": "--na 'Don'\"'\"'t know'", "-x": "--na=-x", "-9": "--na -9"}.items():
        assert f"({told})" in one(["yes", "no", word], na=[word])[1]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (["Bachelor's", "Bachelor\u2019s", "PhD"], "\"Bachelor's\" and 'Bachelor\u2019s' look like one answer each"),
        (["18-24", "18 - 24", "25+"], "'18 - 24' and '18-24' look like one"),
        (["F", "Female", "M", "male", "other"], "'F' and 'Female', 'M' and 'male' look like one"),
        (["Yes", "Y", "No", "N", "perhaps"], "'Y' and 'Yes'"),
        (["A", "B", "Abroad"], None),
        (["S", "M", "L"], None),
        (["male", "female"], None),
        (["1.5", "15", "1-5", "-15"], None),
    ],
)
def test_answers_that_look_like_one_are_named(values: list[str], told: str | None) -> None:
    note = one(values * 7)[1]
    assert (told in note) if told else "look like" not in note


def test_ids_that_come_twice_are_counted() -> None:
    numbers = [*range(1000, 2000), *range(1000, 1020)]
    for column in (numbers, [f"T{number}" for number in numbers]):
        feature, note = one(column, "id")
        assert feature is None
        assert note.endswith("; 40 records share it with another one: if it is an id, people may be in the data twice")
        assert "share" not in one(column[:1000], "id")[1]


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_path_is_read(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("Smoker,Age\nYes,<30\nno,65+\n,65+\n")
    schema = dn.Schema.from_frame(path)
    assert schema == dn.Schema.from_frame({"Smoker": ["Yes", "no", None], "Age": ["<30", "65+", "65+"]})
    assert [feature.name for feature in dn.Schema.from_frame([str(path)])] == ["Smoker", "Age"]


def test_free_text_takes_time_that_grows_with_its_length_alone() -> None:
    """Comparing every text with every other took a minute and a half of 12 000 different texts."""
    began = time.process_time()
    _, note = one([f"remark {number}" for number in range(12_000)])
    assert "left out" in note
    assert time.process_time() - began < 5


# -- columns and files that are nearly right ---------------------------------------------------------------------------


def test_a_few_cells_that_are_no_numbers_are_named() -> None:
    ages = [str(18 + k % 60) for k in range(200)]
    feature, note = one([*ages, "34 years", "abc", "abc"], "age")
    assert feature is None
    assert note.endswith(
        "; all but 3 are numbers: correct '34 years', 'abc', or empty these cells, and ranges are proposed"
    )
    many = [f"about {age} or so, I think" for age in range(40, 45)]
    assert "correct 'about 40 or '..., 'about 41 or '..., 'about 42 or '... and 2 more" in one([*ages, *many], "age")[1]
    words = [f"{age} years" for age in ages]
    assert "are numbers" not in one(words, "age")[1]  # most of them would have to be corrected
    assert "are numbers" not in one(ages, "age")[1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("yes,34\nno,51\nyes,23\nno,34\n", "NOTE: 'yes', '34' look like answers, not like names of columns"),
        ("smoker,1\nno,1\nyes,0\nno,0\n", "NOTE: '1' looks like answers"),
        ("smoker,age\nno,51\nyes,23\nno,34\n", None),
    ],
)
def test_a_file_without_a_line_of_names_is_told_of(text: str, told: str | None, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text(text)
    notes = [*dn.Schema.from_frame(tmp_path / "answers.csv").notes.values()]
    assert (told in notes[0]) if told else not any("NOTE" in note for note in notes)
    assert not any("NOTE" in note for note in notes[1:])


def test_files_with_tabs_are_read_and_others_told_of(tmp_path: Path) -> None:
    (tmp_path / "answers.tsv").write_text("smoker\ttown, or city\nyes\tx, y\nno\tz\nno\tz\n")
    schema = dn.Schema.from_frame(tmp_path / "answers.tsv")
    assert schema.names == ("smoker", "town, or city")
    assert len(dn.randomize(tmp_path / "answers.tsv", dn.Plan(schema, epsilon=2.0), rng=1)) == 3
    for name, what in {
        "a.xlsx": "this is a spreadsheet; save it as CSV .*pandas.read_excel",
        "a.dta": "this is a file of Stata; save it as CSV or Parquet, .*pandas.read_stata",
        "a.txt": "answers are read from a .csv, .tsv or .parquet file; save it as one of these",
    }.items():
        (tmp_path / name).write_bytes(b"PK")
        with pytest.raises(dn.AnswerError, match=what):
            dn.Schema.from_frame(tmp_path / name)


def test_codes_for_no_answer_are_named_beside_words_too() -> None:
    """-99 beside yes and no is as likely a code as beside numbers; numbers that words count on with are answers."""
    for code in ("-99", "999", "-1", "9"):
        _, note = one(["yes", "no", code] * 8)
        assert f"{code} stands apart: if it means no answer, say na=['{code}'] (--na {code}), to randomize too" in note
    for answers in (["7", "8", "9", "10 or more", "none so far"], ["1", "9", "a", "b", "c"], ["-99", "a"]):
        assert "stand" not in one(answers * 8)[1]


def test_cells_that_may_be_several_ticks_are_named() -> None:
    """Answers that stand in one cell each are no ticks by themselves; what they would be is said."""
    cells = ["TV; Radio", "Print; Web", "Blog", "Friends", "Press; Mail"]
    feature, note = one(cells * 6)
    assert set(feature.answers) == set(cells)
    assert "; 3 of them have ';' in them: if several answers could be ticked, make it flags = ['Blog', " in note
    assert "ticked" not in one(["a; b", "c", "d"] * 8)[1]  # one cell with a mark is a way to write


def test_a_column_without_a_name_is_told_of() -> None:
    schema = dn.Schema.from_frame({"": ["a", "b"] * 9, "b": [True, False] * 9})
    assert schema.names == ("b",)
    assert schema.notes[""] == "a column without a name: left out; it has no name; write one above it"
