import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from tests.support.situations import values

REFUSED: dict[str, tuple[Any, str]] = {
    "no features": (lambda: dn.Schema([]), "at least one feature; found none"),
    "not a feature": (lambda: dn.Schema(["smoker"]), "found 'smoker'"),
    "values as one text": (lambda: dn.Choice("a", "xy"), "values must be a list of texts; found 'xy'"),
    "values in no order": (lambda: dn.Choice("a", {"x", "y"}), "in an order, in a list; found a set, which has none"),
    "values none": (lambda: dn.Choice("a", None), "list of texts; found None"),
    "flags none": (lambda: dn.Flags("a", None), "list of texts; found None"),
    "edges none": (lambda: dn.Choice.bins("a", None), "edges must be a list of numbers; found None"),
    "edges text": (lambda: dn.Choice.bins("a", "123"), "edges must be a list of numbers; found '123'"),
    "edge beyond all floats": (lambda: dn.Choice.bins("a", [0, 1, 10**400]), "an edge must be a number; found 10000"),
    "schema of none": (lambda: dn.Schema(None), "a list of Flag, Choice and Flags; found None"),
    "edges fall, by hand": (lambda: dn.Choice("a", ["x", "y"], (2, 1, 0)), "edges must rise"),
    "question not text": (lambda: dn.Flag("3: a", 3), "a question's name must be text; found 3"),
    "like a column, deeper": (
        lambda: dn.Schema([dn.Choice("a: b", ["x", "y"]), dn.Flag("a: b: x")]),
        "'a: b: x' would be mistaken for a column of 'a: b'",
    ),
    "groups in each other": (
        lambda: dn.Schema([dn.Flags("a", ["b: c"]), dn.Flags("a: b", ["d"])]),
        "'a: b: c' would be mistaken for a column of 'a: b'",
    ),
    "same name": (lambda: dn.Schema([dn.Flag("a"), dn.Choice("a", ["x", "y"])]), "found twice: 'a'"),
    "empty name": (lambda: dn.Flag(""), "must not be empty; found ''"),
    "blank name": (lambda: dn.Choice("  ", ["x", "y"]), "must not be empty; found '  '"),
    "name not text": (lambda: dn.Flag(3), "must be text; found 3"),
    "control character": (lambda: dn.Flag("a\nb"), "control characters; found 'a.nb'"),
    "one value": (lambda: dn.Choice("a", ["x"]), "needs 2 to 4096 values; found 1"),
    "no value": (lambda: dn.Choice("a", []), "found 0"),
    "too many values": (lambda: dn.Choice("a", values(4097)), "found 4097"),
    "value twice": (lambda: dn.Choice("a", ["x", "y", "x"]), "found twice: 'x'"),
    "value not text": (lambda: dn.Choice("a", [1, 2]), "a value of 'a' must be text; found 1"),
    "empty value": (lambda: dn.Choice("a", ["", "y"]), "a value of 'a' must not be empty"),
    "no flags": (lambda: dn.Flags("a", []), "needs 1 to 4096 values; found 0"),
    "group and feature": (lambda: dn.Schema([dn.Flags("a", ["x"]), dn.Flag("a")]), "both a feature and a group"),
    "two groups": (lambda: dn.Schema([dn.Flags("a", ["x"]), dn.Flags("a", ["x"])]), "found twice: 'a: x'"),
    "like a column": (lambda: dn.Schema([dn.Choice("a", ["x", "y"]), dn.Flag("a: seed")]), "mistaken for a column of"),
    "like a group's": (lambda: dn.Schema([dn.Flags("a", ["x"]), dn.Flag("a: z")]), "mistaken for a column of 'a'"),
    "question misnamed": (lambda: dn.Flag("b: x", "a"), "is not named 'a: ...'"),
    "two edges": (lambda: dn.Choice.bins("a", [0, 1]), "at least 3 edges, for 2 ranges; found 2"),
    "edges fall": (lambda: dn.Choice.bins("a", [0, 2, 1]), "edges must rise; found 0, 2, 1"),
    "edge not a number": (lambda: dn.Choice.bins("a", [0, 1, math.nan]), "must be a number; found nan"),
    "edge text": (lambda: dn.Choice.bins("a", [0, 1, "x"]), "must be a number; found 'x'"),
    "labels and edges": (lambda: dn.Choice("a", ["x", "y"], [0, 1, 2]), "do not match its edges"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(dn.SchemaError, match=message):
        make()


def test_a_schema_is_its_features_in_order() -> None:
    schema = dn.Schema([dn.Flag("smoker"), dn.Flags("drugs", ["tea", "beer"]), dn.Choice("age", ["young", "old"])])
    assert schema.names == ("smoker", "drugs: tea", "drugs: beer", "age")
    assert list(schema.questions) == ["smoker", "drugs", "age"]
    assert schema["age"] == dn.Choice("age", ("young", "old"))
    assert [len(feature.columns) for feature in schema] == [1, 1, 1, 2]
    with pytest.raises(dn.SchemaError, match="'drugs' is a group of flags; ask for .* 'drugs: tea', 'drugs: beer'"):
        schema["drugs"]
    with pytest.raises(dn.SchemaError, match="no feature 'sex'; there are 'smoker'"):
        schema["sex"]
    with pytest.raises(dn.SchemaError, match=r"no feature \['age'\]"):
        schema[["age"]]
    assert "age" in schema
    assert "drugs" not in schema


def test_nouns_are_frozen() -> None:
    with pytest.raises(AttributeError):
        dn.Choice("a", ["x", "y"]).name = "b"


def test_ranges_have_readable_labels() -> None:
    assert dn.Choice.bins("a", [-math.inf, 18, 30.5, 65]).values == ("under 18", "18 to under 30.5", "30.5 to 65")
    assert dn.Choice.bins("a", [0, 1, math.inf]).values == ("0 to under 1", "1 and over")


TOML = """
[[features]]
name = "smoker"
[[features]]
name = "age"
values = ["young", "old"]
[[features]]
name = "income"
edges = [0, 20000, inf]
[[features]]
name = "drugs"
flags = ["tea", "beer"]
"""
SAME = dn.Schema(
    [
        dn.Flag("smoker"),
        dn.Choice("age", ["young", "old"]),
        dn.Choice.bins("income", [0, 20000, math.inf]),
        dn.Flags("drugs", ["tea", "beer"]),
    ]
)


def test_load_reads_toml_and_json_alike(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    features = [
        {"name": "smoker"},
        {"name": "age", "values": ["young", "old"]},
        {"name": "income", "edges": [0, 20000, "inf"]},
        {"name": "drugs", "flags": ["tea", "beer"]},
    ]
    (tmp_path / "s.json").write_text(json.dumps({"features": features}))
    assert dn.Schema.load(tmp_path / "s.toml") == dn.Schema.load(str(tmp_path / "s.json")) == SAME


BAD_FILES = {
    "not toml": ("s.toml", "features = [", "cannot be read"),
    "not json": ("s.json", "{", "cannot be read"),
    "not utf-8": ("s.json", b"\xff\xfe", "cannot be read"),
    "another ending": ("s.yaml", "", "a schema is a .toml or a .json file"),
    "no features": ("s.toml", "name = 'a'", r"no list of features; write one \[\[features\]\]"),
    "a list": ("s.json", "[]", "no list of features"),
    "no name": ("s.json", '{"features": [{"values": ["a", "b"]}]}', "a table with a name"),
    "unknown key": ("s.toml", "[[features]]\nname = 'a'\nvalue = 3", "unknown key 'value'"),
    "values not a list": ("s.toml", "[[features]]\nname = 'a'\nvalues = 'ab'", "values must be a list"),
    "two kinds": ("s.toml", "[[features]]\nname = 'a'\nflags = ['x']\nedges = [1, 2, 3]", "one or the other"),
    "too deep": ("s.json", "[" * 100_000, "cannot be read"),
    "number for text": ("s.toml", "[[features]]\nname = 'a'\nvalues = [1, 2]", "must be text; found 1"),
}


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_is_refused_by_name(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(dn.SchemaError, match=f"{name}: .*{message}"):
        dn.Schema.load(path)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(dn.SchemaError, match="nothing.toml: cannot be read: .*No such file"):
        dn.Schema.load(tmp_path / "nothing.toml")


COLUMNS: dict[str, list[Any]] = {
    "yes": [True, False, True],
    "bit": [0, 1, 1],
    "word": ["b", "a", "b"],
    "children": [2, 0, 10],
    "rate": [1.5, 2.0, 1.5],
}
PROPOSED = dn.Schema(
    [
        dn.Flag("yes"),
        dn.Flag("bit"),
        dn.Choice("word", ["a", "b"]),
        dn.Choice("children", ["0", "2", "10"]),
        dn.Choice("rate", ["1.5", "2"]),
    ]
)


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_from_frame_proposes_the_same_from_every_kind_of_frame(make: Any) -> None:
    assert dn.Schema.from_frame(make(COLUMNS)) == PROPOSED


def test_from_frame_reads_rows_and_categories() -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    assert dn.Schema.from_frame(rows) == PROPOSED
    for ordered, proposed in ((False, ["b", "a", "never"]), (True, ["b", "a", "never"])):
        words = pd.Categorical(["b", "a"], categories=["b", "a", "never"], ordered=ordered)
        assert dn.Schema.from_frame(pd.DataFrame({"word": words})) == dn.Schema([dn.Choice("word", proposed)])
    assert dn.Schema.from_frame({"x": [0.0, -0.0, 3.5]}) == dn.Schema([dn.Choice("x", ["0", "3.5"])])
    assert dn.Schema.from_frame({"x": [Decimal("1.50"), Decimal(2)]}) == dn.Schema([dn.Choice("x", ["1.5", "2"])])


def test_a_schema_prints_its_questions_with_their_answers_and_what_was_left_out() -> None:
    columns = {"smoker": ["yes", "no", None] * 9, "id": range(27), "news": ["TV;Web", "TV", "Web"] * 9}
    columns["region"] = [f"a rather long name of region {k % 5}" for k in range(27)]
    schema = dn.Schema.from_frame(columns)
    assert repr(schema) == "<Schema of 3 questions: 'smoker', 'news', 'region'>"
    assert str(schema).splitlines() == [
        "question  answers",
        "--------  ---------------------------------------------------------------",
        "smoker    no, yes, no answer",
        "news      any of: TV, Web",
        "region    a rather long name of region 0, a rather long name of region 1,",
        "          a rather long name of region 2, a rather long name of region 3,",
        "          a rather long name of region 4",
        "",
        "id: left out; it looks like an id: 27 different whole numbers, one for each record",
    ]
    assert "id: left out" in schema._repr_html_()
    skipped = dn.Schema([dn.Flags("news", ["TV", "Web"], missing="no answer")])
    assert str(skipped).endswith("news      any of: TV, Web; or no answer")
    assert repr(skipped) == "<Schema of 1 question: 'news'>"


BAD_COLUMNS = {
    "one word": (["a", "a"], "everybody has the same answer"),
    "dates": (np.array(["2026-01-01"], "datetime64[D]"), "it holds dates or times"),
    "too many words": (values(5000), "it looks like an id or free text: 5,000 different answers in 5,000 records"),
}


def test_from_frame_says_that_there_are_no_answers() -> None:
    with pytest.raises(dn.SchemaError, match="there are no answers, only the names of columns: 'x', 'y'"):
        dn.Schema.from_frame({"x": np.zeros(0), "y": np.zeros(0, str)})


@pytest.mark.parametrize(("column", "message"), BAD_COLUMNS.values(), ids=BAD_COLUMNS.keys())
def test_from_frame_refuses_with_a_hint(column: Any, message: str) -> None:
    with pytest.raises(dn.DeniableError, match=f"no column can be proposed as a question: x: left out; {message}"):
        dn.Schema.from_frame({"x": column})
