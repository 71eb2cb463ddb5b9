"""Answers as people have them: words, nulls, multi-select columns, CSV files of all countries, all problems."""

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import DeniableWarning
from deniable.reports.reading import csv_files

SCHEMA = dn.Schema(
    [
        dn.Flag("smoker"),
        dn.Choice("age", ["18-29", "30+", "no answer"]),
        dn.Flags("news", ["TV", "Radio", "The Times, London"]),
    ]
)
PLAN = dn.Plan(SCHEMA, {name: dn.Public() for name in SCHEMA.names})
GOOD = {"smoker": [True, False], "age": ["18-29", "30+"], "news": [["TV"], []]}


def shown(data: Any, plan: dn.Plan = PLAN, **options: Any) -> dict[str, list[Any]]:
    return dn.randomize(data, plan, **options).table.to_pydict()


def flags(*columns: str) -> dn.Plan:
    return dn.Plan(dn.Schema([dn.Flag(name) for name in columns]), {name: dn.Public() for name in columns})


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [("Yes", "no"), (" YES ", "No"), ("ja", "Nein"), ("oui", "NON"), ("Sí", "no"), ("Y", "n"), ("да", "нет")]
)
def test_yes_and_no_in_several_spellings_are_read_for_a_flag(words: tuple[str, str]) -> None:
    yes, no = words
    for column in ([yes, no, True, "1"], pa.array([yes, no, "true", "1"]), pd.Series([yes, no, "T", yes])):
        assert shown({"a": column}, flags("a")) == {"a": [True, False, True, True]}
    frame = pl.DataFrame({"a": pl.Series([yes, no]).cast(pl.Categorical)})
    assert shown(frame, flags("a")) == {"a": [True, False]}


def test_two_words_that_a_flag_declares_are_its_only_ones() -> None:
    flag = dn.Flag("smoker", yes="Smoker", no="Non-smoker")
    plan = dn.Plan(dn.Schema([flag]), {"smoker": dn.Public()})
    assert shown({"smoker": ["smoker", "NON-SMOKER ", True]}, plan) == {"smoker": [True, False, True]}
    with pytest.raises(dn.AnswerError, match="column 'smoker' is a flag, of which 'Smoker' means yes.*found 'yes'"):
        dn.randomize({"smoker": ["yes"]}, plan)
    coded = dn.Plan(dn.Schema([dn.Flag("a", yes="1", no="2")]), {"a": dn.Public()})
    for column in (["1", "2"], [1, 2], np.array([1.0, 2.0]), pa.array([1, 2], pa.int8())):
        assert shown({"a": column}, coded) == {"a": [True, False]}
    with pytest.raises(dn.AnswerError, match="row 1 .*found 0"):
        dn.randomize({"a": [1, 0]}, coded)
    swapped = dn.Plan(dn.Schema([dn.Flag("a", yes="0", no="1")]), {"a": dn.Public()})
    assert shown({"a": [0, 1]}, swapped) == {"a": [True, False]}  # the usual meaning is not tried first


def test_words_travel_with_a_plan_and_mean_nothing_to_it(tmp_path: Path) -> None:
    own, none = dn.Flag("a", yes="1", no="2"), dn.Flag("a")
    other = dn.Choice("b", ["x", "y"])
    for arms in (None, [["a"], ["b"]]):
        plan, bare = (dn.Plan(dn.Schema([flag, other]), epsilon=2.0, arms=arms) for flag in (own, none))
        assert plan == bare
        assert plan.fingerprint == bare.fingerprint
        plan.save(tmp_path / "plan.json")
        again = dn.Plan.load(tmp_path / "plan.json")
        assert again == plan
        assert again.schema["a"].yes == "1"  # type: ignore[union-attr]
        assert len(dn.randomize({"a": ["1", "2"] * 40, "b": ["x", "y"] * 40}, again)) == 80
        with pytest.raises(dn.AnswerError):
            dn.randomize({"a": ["1", "2"] * 40, "b": ["x", "y"] * 40}, bare)
        text = plan.to_json()
        for bad in ('{"a":{"yes":"1"}}', '{"b":{"yes":"1","no":"2"}}', "[1]", '{"a":3}'):
            with pytest.raises(dn.PlanError, match="reading must be the words"):
                dn.Plan.from_json(text.rstrip().removesuffix("}").split(',\n "reading"')[0] + f',"reading":{bad}}}')


def test_words_that_cannot_be() -> None:
    for words in ({"yes": "x"}, {"no": "x"}, {"yes": "X", "no": " x"}):
        with pytest.raises(dn.SchemaError, match="needs two different words, yes= and no="):
            dn.Flag("a", **words)
    with pytest.raises(dn.SchemaError, match="must be text"):
        dn.Flag("a", yes=1, no="2")  # type: ignore[arg-type]


def test_words_in_a_survey_file(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[[features]]\nname = "a"\nyes = "J"\nno = "N"\n')
    assert dn.Schema.load(path)["a"].words == {"yes": "J", "no": "N"}  # type: ignore[union-attr]
    path.write_text('[[features]]\nname = "a"\nyes = "J"\nno = "N"\nvalues = ["J", "N"]\n')
    with pytest.raises(dn.SchemaError, match="yes is not for a question with values"):
        dn.Schema.load(path)


def test_values_of_a_choice_may_differ_in_blanks_and_case_unless_two_values_do() -> None:
    data = GOOD | {"age": [" 18-29", "No Answer"]}
    assert shown(data)["age"] == ["18-29", "no answer"]
    plan = dn.Plan(dn.Schema([dn.Choice("a", ["us", "US", "x"])]), {"a": dn.Public()})
    assert shown({"a": ["us", "US", "X"]}, plan)["a"] == ["us", "US", "x"]
    with pytest.raises(dn.AnswerError, match="not one of its values"):
        dn.randomize({"a": ["Us"]}, plan)


def test_accents_are_the_same_in_both_ways_to_write_them() -> None:
    composed, apart = "\u00e1", "a\u0301"
    for listed, given in ((composed, apart), (apart, composed), (composed, composed)):
        plan = dn.Plan(dn.Schema([dn.Choice("c", [listed, "b"])]), {"c": dn.Public()})
        assert dn.randomize({"c": [given, "b"]}, plan).table["c"].to_pylist() == [listed, "b"]


def test_what_stands_for_no_answer() -> None:
    empty = ["NA", "n/a", ".", "", None, float("nan")]
    data = {"smoker": [True] * 6, "age": empty, "news": [[]] * 6}
    assert shown(data)["age"] == ["no answer"] * 6
    assert shown(GOOD | {"age": ["-9", "30+"]}, na=["-9"])["age"] == ["no answer", "30+"]
    with pytest.raises(dn.AnswerError, match="row 0 .*not one of its values.*found '-9'"):
        dn.randomize(GOOD | {"age": ["-9", "30+"]}, PLAN)
    with pytest.raises(dn.AnswerError, match="row 1 .*column 'smoker' has no answer"):
        dn.randomize(GOOD | {"smoker": ["yes", "N/A"]}, PLAN)
    listed = dn.Plan(dn.Schema([dn.Choice("country", ["NA", "DE"])]), {"country": dn.Public()})
    assert shown({"country": ["NA", "DE"]}, listed)["country"] == ["NA", "DE"]  # Namibia


@pytest.mark.parametrize("blank", [" {} ", "{}\t", "\u00a0{}"])
def test_numbers_with_blanks_around_them_are_numbers(blank: str) -> None:
    """As words are; in ranges, in proposals, and where numbers stand apart."""
    ages = [18 + k % 60 for k in range(240)]
    texts = [blank.format(age) for age in ages]
    plan = dn.Plan(dn.Schema([dn.Choice.bins("age", [18, 30, 50, 80])]), {"age": dn.Public()})
    assert shown({"age": texts}, plan) == shown({"age": ages}, plan)
    bare = dn.Schema.from_frame({"age": list(map(str, ages))})
    padded = dn.Schema.from_frame({"age": texts})
    assert (padded, padded.notes) == (bare, bare.notes)
    few = dn.Schema.from_frame({"n": [blank.format(k % 5) for k in range(50)]})
    assert few == dn.Schema([dn.Choice("n", ["0", "1", "2", "3", "4"])])
    above = dn.Plan(dn.Schema([dn.Choice.bins("age", [18, 30, float("inf")])]), {"age": dn.Public()})
    with pytest.warns(DeniableWarning, match="holds 999, far from all other numbers"):
        dn.randomize({"age": [*texts, blank.format(999)]}, above)


# -- multi-select ------------------------------------------------------------------------------------------------------

TICKS = [{"TV", "Radio"}, {"TV"}, set(), {"The Times, London"}]
COLUMNS: dict[str, Any] = {
    "semicolons": ["TV;Radio", "tv", "", "The Times, London"],
    "semicolons at the end": ["TV;Radio;", "TV;", " ", "The Times, London;"],
    "commas": ["TV, Radio", "TV", "none", "The Times, London"],
    "bars": pa.array(["Radio|TV", "TV", "", "The Times, London"]),
    "lists": [["TV", "Radio"], ["TV"], [], ["The Times, London"]],
    "an Arrow column of lists": pa.array([["TV", "Radio"], ["TV"], [], ["The Times, London"]]),
    "sets": [{"TV", "Radio"}, {"TV"}, set(), {"The Times, London"}],
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
def test_a_multi_select_question_in_one_column(column: Any) -> None:
    data = {"smoker": [True] * 4, "age": ["30+"] * 4, "news": column, "more": [1] * 4}
    rows = [dict(zip(data, row, strict=True)) for row in zip(*(list(data[name]) for name in data), strict=True)]
    rows = [{name: cell.as_py() if isinstance(cell, pa.Scalar) else cell for name, cell in row.items()} for row in rows]
    for given in (data, rows) if not isinstance(column, list) else (data, rows, pd.DataFrame(data)):
        found = shown(given)
        assert [{v for v in ("TV", "Radio", "The Times, London") if found[f"news: {v}"][k]} for k in range(4)] == TICKS


@pytest.mark.parametrize("empty", [None, float("nan"), "NA"])
@pytest.mark.parametrize("full", ["TV;Radio", ["TV", "Radio"]])
def test_a_multi_select_question_without_an_answer_is_an_error_or_its_missing_answer(empty: Any, full: Any) -> None:
    """A null does not say that nothing was ticked: it is refused, unless the question may be skipped."""
    cells = [full, empty, full, empty]
    with pytest.raises(dn.AnswerError, match=r"^row 1 \(counted from 0\), column 'q' has no answer \(null\)") as error:
        dn.randomize({"q": cells}, dn.Plan(dn.Schema([dn.Flags("q", ["TV", "Radio"])]), epsilon=1.0))
    assert 'missing="no answer"' in str(error.value)
    assert "and 1 more like it" in str(error.value)
    skipped = dn.Schema([dn.Flags("q", ["TV", "Radio"], missing="no answer")])
    found = shown({"q": cells}, dn.Plan(skipped, dict.fromkeys(skipped.names, dn.Public())))
    assert found["q: TV"] == ["True", "no answer"] * 2
    if isinstance(full, list) and empty == "NA":
        return  # a mixture, which is looked at as text
    proposed = dn.Schema.from_frame({"q": cells * 5 + ([["TV"]] if isinstance(full, list) else ["TV", "Radio"]) * 5})
    assert proposed.questions["q"] == dn.Flags("q", ["Radio", "TV"], missing="no answer").features


def test_a_multi_select_cell_that_cannot_be_read_is_named_once() -> None:
    with pytest.raises(dn.AnswerError) as error:
        dn.randomize(GOOD | {"news": ["TV;Podcast", "yes"]}, PLAN)
    assert str(error.value).startswith(
        "row 0 (counted from 0), column 'news' takes a list of its answers 'TV', 'Radio'"
    )
    assert "found 'Podcast'; and 1 more like it" in str(error.value)  # and nothing that was ticked beside it
    assert str(error.value).count("column") == 1


def test_columns_that_are_missing_are_looked_for_among_all_that_are_there() -> None:
    for make in (dict, pd.DataFrame, pl.DataFrame, pa.table):
        with pytest.raises(
            dn.AnswerError, match="column 'smoker' is missing; found 'Smoker', 'x'; did you mean 'Smoker'"
        ):
            dn.randomize(make({"Smoker": [True], "x": [1]}), flags("smoker"))


# -- files -------------------------------------------------------------------------------------------------------------

TEXT = 'id,smoker,größe,note\n1,Ja,klein,ö\n\n2,nein,groß,"a\nb"\n3,JA,klein,\n'
SIZES = dn.Schema([dn.Flag("smoker"), dn.Choice("größe", ["klein", "groß"])])
SIZE_PLAN = dn.Plan(SIZES, {name: dn.Public() for name in SIZES.names})
READ = {"smoker": [True, False, True], "größe": ["klein", "groß", "klein"]}
FORMS: dict[str, tuple[str, str, dict[str, str]]] = {
    "commas": (",", "utf-8", {}),
    "a mark": (",", "utf-8-sig", {}),
    "semicolons": (";", "utf-8", {}),
    "tabs in UTF-16, as spreadsheets write": ("\t", "utf-16", {}),
    "bars": ("|", "utf-8", {}),
    "told": (":", "utf-8", {"delimiter": ":"}),
    "Latin-1": (";", "latin-1", {"encoding": "latin-1"}),
    "UTF-16 without a mark": (",", "utf-16-le", {"encoding": "utf-16-le"}),
}


@pytest.mark.parametrize(("delimiter", "encoding", "options"), FORMS.values(), ids=FORMS.keys())
def test_csv_files_of_all_countries(delimiter: str, encoding: str, options: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(TEXT.replace(",", delimiter).encode(encoding))
    assert shown(path, SIZE_PLAN, **options) == READ


def test_an_encoding_is_named_where_it_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(TEXT.encode("latin-1"))
    with pytest.raises(dn.AnswerError, match=r"line 1 is not UTF-8, and may be Latin-1.*--encoding latin-1"):
        dn.randomize(path, SIZE_PLAN)
    path.write_bytes(TEXT.replace("größe", "size").encode("latin-1"))
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("size", ["klein", "groß"])])
    plan = dn.Plan(schema, epsilon=1.0)
    with pytest.raises(dn.AnswerError, match=r"x.csv: line 2 is not UTF-8"):
        dn.randomize(path, plan)
    assert len(dn.randomize(path, flags("smoker"))) == 3  # what nobody asks for may be anything
    path.write_bytes(TEXT.encode("utf-16-le"))
    with pytest.raises(dn.AnswerError, match="this looks like UTF-16; say so: encoding='utf-16-le'"):
        dn.randomize(path, SIZE_PLAN)
    path.write_bytes(TEXT.encode("utf-16-be"))
    with pytest.raises(dn.AnswerError, match="--encoding utf-16-be"):
        dn.randomize(path, SIZE_PLAN)
    for options, message in (
        ({"encoding": "klingon"}, "no encoding 'klingon'"),
        ({"delimiter": ";;"}, "one character"),
    ):
        with pytest.raises(dn.AnswerError, match=message):
            dn.randomize(path, SIZE_PLAN, **options)


def test_a_row_of_another_length_that_is_no_text_is_told_by_its_line_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Arrow could not hand it over as text, said so on stderr, and put the whole record into its error."""
    path = tmp_path / "x.csv"
    path.write_bytes(b"a\nfirst,answer\xac,last\n")
    plan = dn.Plan(dn.Schema([dn.Flag("a")]), epsilon=1.0)
    with pytest.raises(dn.AnswerError, match=r"x.csv: line 2 has 3 cells where the header has 1$"):
        dn.randomize(path, plan)
    path.write_bytes(b"a,b\n\xac\n")
    with pytest.raises(dn.AnswerError, match=r"x.csv: line 2 has 1 cell where the header has 2$"):
        dn.randomize(path, plan)
    assert capfd.readouterr() == ("", "")


def test_headers_with_blanks_are_read_and_misspelt_ones_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(" smoker , größe\nyes,klein\n")
    assert shown(path, SIZE_PLAN) == {"smoker": [True], "größe": ["klein"]}
    path.write_text("Smoker,größe\nyes,klein\n")
    with pytest.raises(
        dn.AnswerError, match=r"column 'smoker' is missing; found 'Smoker', 'größe'; did you mean 'Smoker'\?"
    ):
        dn.randomize(path, SIZE_PLAN)


# -- all problems at once ----------------------------------------------------------------------------------------------

MESSY = 'smoker,größe,note\nyes,klein,"two\nlines"\n\nmaybe,klein,\n,huge,\nno,tiny,\nperhaps,groß,\n'


def test_all_problems_of_a_file_are_told_by_kind_with_the_line_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(MESSY)
    with pytest.raises(dn.AnswerError) as error:
        dn.randomize(path, SIZE_PLAN, output=tmp_path / "r.parquet")
    first, second, third, total = str(error.value).splitlines()
    assert first == (
        f"{path}: line 5, column 'smoker' is a flag and takes yes and no, true and false, or 1 and 0; found 'maybe'; "
        "and 1 more like it"
    )
    assert second.startswith("line 6, column 'smoker' has no answer (null)")
    assert third == "line 6, column 'größe': the answer is not one of its values 'klein', 'groß'; and 1 more like it"
    assert total.startswith("5 answers cannot be read; keep_going=True (--keep-going)")
    for answer in ("huge", "tiny", "perhaps"):  # one answer is shown at most
        assert answer not in str(error.value)
    assert not (tmp_path / "r.parquet").exists()


def test_problems_of_later_batches_and_of_many_kinds_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deniable.reports.reading import csv_files

    monkeypatch.setattr(csv_files, "BLOCK", 2000)
    names = [f"a{k}" for k in range(12)]
    row = ",".join(["yes"] * 12) + "\n"
    (tmp_path / "x.csv").write_text(
        ",".join(names) + "\n" + row * 100 + ",".join(["odd"] * 12) + "\n" + row * 300 + row.replace("yes", "2")
    )
    with pytest.raises(dn.AnswerError) as error:
        dn.randomize(tmp_path / "x.csv", flags(*names))
    lines = str(error.value).splitlines()
    assert len(lines) == 11
    assert "line 102, column 'a0'" in lines[0]
    assert lines[0].endswith("and 1 more like it")
    assert lines[-1].startswith("24 answers cannot be read in 2 more ways")


def test_keeping_on_leaves_bad_records_out_and_says_how_many(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(MESSY)
    for data in (
        path,
        pd.DataFrame(
            {"smoker": ["yes", "maybe", None, "no", "perhaps"], "größe": ["klein", "klein", "huge", "tiny", "groß"]}
        ),
    ):
        with pytest.warns(dn.LeftOutWarning, match=r"4 of 5 records were left out; .*'smoker' 3, 'größe' 2$"):
            assert shown(data, SIZE_PLAN, keep_going=True) == {"smoker": [True], "größe": ["klein"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(dn.randomize({"smoker": ["yes"], "größe": ["klein"]}, SIZE_PLAN, keep_going=True)) == 1
    with pytest.warns(dn.LeftOutWarning, match="1 of 2"):
        assert shown(GOOD | {"news": ["TV", "odd"]}, keep_going=True)["news: TV"] == [True]


def test_records_that_are_left_out_of_several_files_are_told_of_together(tmp_path: Path) -> None:
    """In one warning, at the line that called."""
    for name, bad in (("a", "maybe"), ("b", "perhaps")):
        (tmp_path / f"{name}.csv").write_text(f"smoker,größe\nyes,klein\n{bad},klein\nno,groß\n", encoding="utf-8")
    with pytest.warns(dn.LeftOutWarning) as caught:
        assert len(dn.randomize(tmp_path / "*.csv", SIZE_PLAN, keep_going=True)) == 4
    (one,) = caught
    assert re.search(r"^2 of 6 records were left out; .*'smoker' 2$", str(one.message))
    assert one.filename == __file__


def test_a_stop_is_looked_for_between_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("smoker,größe\nyes,klein\n", encoding="utf-8")
    looked: list[None] = []
    monkeypatch.setattr(sys.modules[dn.randomize.__module__], "check_stopped", lambda: looked.append(None))
    assert len(dn.randomize(tmp_path / "*.csv", SIZE_PLAN)) == len(looked) == 3


def test_records_of_arms_are_left_out_for_what_their_arm_asks() -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), epsilon=2.0, arms={"one": (["a"], 1), "two": (["b"], 1)})
    data = {"arm": ["one", "two", "one", "three"], "a": ["yes", "odd", "odd", "yes"], "b": [None, "no", "no", "no"]}
    with pytest.warns(dn.LeftOutWarning, match=r"2 of 4 records were left out; .*'arm' 1, 'a' 1$"):
        assert [len(arm) for arm in dn.randomize(data, plan, arm="arm", keep_going=True).arms] == [1, 1]
    with pytest.warns(dn.LeftOutWarning, match=r"3 of 4"):  # a drawn arm says nothing about whom to leave out
        assert len(dn.randomize(data, plan, keep_going=True)) == 1


def test_reports_are_written_to_parquet_files_only(tmp_path: Path) -> None:
    for name in ("x.csv", "x", "x.parquet.gz"):
        with pytest.raises(dn.DeniableError, match="reports are written to a Parquet file; call it x"):
            dn.randomize(GOOD, PLAN, output=tmp_path / name)


# -- rows and lines that are none --------------------------------------------------------------------------------------


def test_ragged_rows_are_listed_with_all_else_that_is_wrong_and_can_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, plan = tmp_path / "a.csv", dn.Plan(dn.Schema([dn.Flag("a"), dn.Choice("b", ["x", "y"])]), epsilon=2.0)
    lines = ["a,b", *["yes,x", "no,y"] * 500]
    for place, line in {3: "no", 10: "perhaps,x", 900: "yes,x,7", 950: "yes,z"}.items():
        lines[place] = line
    path.write_text("\n".join(lines) + "\n")
    for block in (csv_files.BLOCK, 1000):  # the first ragged row is in the first block or, below, in a later one
        monkeypatch.setattr(csv_files, "BLOCK", block)
        with pytest.raises(dn.AnswerError) as told:
            dn.randomize(path, plan)
        assert str(told.value).splitlines() == [
            f"{path}: line 11, column 'a' is a flag and takes yes and no, true and false, or 1 and 0; found 'perhaps'",
            "line 951, column 'b': the answer is not one of its values 'x', 'y'",
            "line 4 has 1 cell where the header has 2; and 1 more row with too many or too few",
            "2 answers cannot be read; keep_going=True (--keep-going) leaves these records out, and na=['...'] (--na "
            "...) takes a word as no answer",
        ]
        what = "4 of 1,000 records were left out; answers that could not be read: 'a' 1, 'b' 1; rows with too many or"
        with pytest.warns(dn.errors.LeftOutWarning, match=what):
            assert len(dn.randomize(path, plan, keep_going=True)) == 996
    public = dn.Plan(plan.schema, {"a": dn.Public(), "b": dn.Public()})
    lines[3] = lines[4] = "no,x"
    path.write_text("\n".join(lines) + "\n")
    with pytest.warns(dn.errors.LeftOutWarning, match="3 of 1,000 records"):
        kept = dn.randomize(path, public, keep_going=True).table.to_pylist()
    right = [line.split(",") for line in lines[1:] if line in ("yes,x", "no,y", "no,x")]
    assert kept == [{"a": a == "yes", "b": b} for a, b in right]
    path.write_text("\n".join("no,y" if line in ("perhaps,x", "yes,z") else line for line in lines))
    with pytest.raises(dn.AnswerError, match=r"a.csv: line 901 has 3 cells where the header has 2$"):
        dn.randomize(path, plan)


def test_a_first_line_for_excel_is_obeyed(tmp_path: Path) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Choice("b", ["x,y", "z"])]), {"a": dn.Public(), "b": dn.Public()})
    for form, encoding in (("sep=;\r\n", "utf-8-sig"), ("SEP=|\n", "utf-8"), ("sep=;\n", "utf-16")):
        path, mark = tmp_path / "a.csv", form[4]
        path.write_bytes(f"{form}a;b\nyes;x,y\nno;z\n".replace(";", mark).encode(encoding))
        assert dn.Schema.from_frame(path).names == ("a", "b")
        assert dn.randomize(path, plan).table.to_pylist() == [{"a": True, "b": "x,y"}, {"a": False, "b": "z"}]
    path.write_text("sep=;\na;b\nyes;z\nmaybe;z\n")
    with pytest.raises(dn.AnswerError, match="line 4, column 'a'"):
        dn.randomize(path, plan)


def test_further_lines_of_names_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('Q1,Q2\nDo you smoke?,Where?\n"{""ImportId"":""QID1""}","{""ImportId"":""QID2""}"\nYes,N\nNo,S\n')
    plan = dn.Plan(dn.Schema([dn.Flag("Q1")]), epsilon=1.0)
    for use in (dn.Schema.from_frame, lambda path: dn.randomize(path, plan)):
        with pytest.raises(
            dn.AnswerError, match=r"a.csv: an export of Qualtrics, in which lines 2 and 3 .* delete these"
        ):
            use(path)
