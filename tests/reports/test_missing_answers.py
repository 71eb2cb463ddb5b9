"""Skipped questions coming in: nulls of every kind in bulk, as on a device, where they are declared and where not."""

import math
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable import client
from deniable.reports.answers_in import encode
from tests.support.designs import SKIPPED

PLAN = dn.Plan(SKIPPED, dict.fromkeys(SKIPPED.names, dn.Public()))  # public, so that what comes out is what went in
NULLS = [None, "", math.nan]
COLUMNS: dict[str, tuple[dn.Flag | dn.Choice, list[Any]]] = {
    "flag of booleans": (SKIPPED["smoker"], [True, None, False]),
    "flag of numbers": (SKIPPED["smoker"], [1.0, math.nan, 0.0]),
    "flag of whole numbers": (SKIPPED["smoker"], [1, None, 0]),
    "flag of words": (SKIPPED["smoker"], ["true", "no answer", "", None, "0"]),
    "flag of several types": (SKIPPED["smoker"], [True, "no answer", 0, None, math.nan]),
    "flag without nulls": (SKIPPED["smoker"], [True, False]),
    "flag of nothing": (SKIPPED["smoker"], [None, None]),
    "choice": (SKIPPED["age"], ["old", None, "", "refused", "young"]),
    "numbers": (SKIPPED["income"], [3.5, None, 10.0, math.nan]),
    "whole numbers": (SKIPPED["income"], [3, None, 12]),
    "numbers as text": (SKIPPED["income"], ["3", None, "12"]),
    "numbers and words": (SKIPPED["income"], ["3", "", "no answer", "10 and over"]),
}


@pytest.mark.parametrize(("feature", "answers"), COLUMNS.values(), ids=COLUMNS.keys())
def test_a_column_is_encoded_as_the_client_encodes_each_answer(feature: Any, answers: list[Any]) -> None:
    expected = [client.encode(feature.to_json(), answer) for answer in answers]
    columns = [answers, np.array(answers, object).tolist()]
    for make in (pa.array, lambda a: pa.array(a).dictionary_encode(), lambda a: pa.chunked_array([pa.array(a)] * 1)):
        try:
            columns.append(make(answers))
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # several types
            assert len({type(answer) for answer in answers} - {type(None)}) > 1
    for column in columns:
        assert encode(feature.to_json(), column).tolist() == expected


def test_a_flag_with_its_own_words_takes_its_own_word_for_no_answer() -> None:
    flag = dn.Flag("smoker", missing="no answer", yes="ja", no="nein")
    plan = dn.Plan(dn.Schema([flag]), {"smoker": dn.Public()})
    for answers in (["ja", "no answer", "nein", None], [True, "No  answer", False, ""]):
        shown = dn.randomize({"smoker": answers}, plan).table["smoker"].to_pylist()
        assert shown == ["True", "no answer", "False", "no answer"]
    with pytest.raises(dn.AnswerError, match="'ja' means yes and 'nein' no; found 'yes'"):
        dn.randomize({"smoker": ["yes", "no answer"]}, plan)


@pytest.mark.parametrize("null", NULLS)
def test_every_null_is_the_missing_answer(null: Any) -> None:
    assert client.encode(SKIPPED["smoker"].to_json(), null) == 2
    assert client.encode(SKIPPED["age"].to_json(), null) == 1  # where it stands among the values
    assert client.encode(SKIPPED["income"].to_json(), null) == 2  # after the ranges


FRAMES = {
    "pandas": lambda c: pd.DataFrame(c),
    "pandas, nullable": lambda c: pd.DataFrame(c).convert_dtypes(),
    "polars": lambda c: pl.DataFrame(c),
    "arrow": lambda c: pa.table(c),
    "columns": lambda c: c,
    "records": lambda c: [dict(zip(c, row, strict=True)) for row in zip(*c.values(), strict=True)],
    "records without nulls": lambda c: [
        {name: answer for name, answer in zip(c, row, strict=True) if answer is not None}
        for row in zip(*c.values(), strict=True)
    ],
}


@pytest.mark.parametrize("frame", FRAMES)
def test_nulls_of_any_frame_are_sent_as_the_client_sends_them(frame: str) -> None:
    answers: dict[str, list[Any]] = {
        "smoker": [True, None, False],
        "age": [None, "old", "young"],
        "income": [5.0, None, 20.0],
        "drinks: tea": [None, True, False],
        "drinks: beer": [None, False, True],
        "last": [True, True, False],
        "invited": [None, True, False],
    }
    sent = dn.randomize(FRAMES[frame](answers), PLAN).to_bytes()
    skipping = FRAMES["records without nulls"](answers)
    assert len(skipping[0]) == 3
    device = [client.report(record, PLAN.to_json(), public=SKIPPED.names) for record in skipping]
    assert sent == device


def test_nulls_of_a_file_are_missing_answers(tmp_path: Any) -> None:
    table = {
        "smoker": [True, None], "age": ["old", None], "income": [1.5, None], "drinks: tea": [True, None],
        "drinks: beer": [False, None], "last": [True, False], "invited": [True, None],
    }  # fmt: skip
    pa.parquet.write_table(pa.table(table), tmp_path / "answers.parquet")
    pd.DataFrame(table).to_csv(tmp_path / "answers.csv", index=False)
    expected = dn.randomize(table, PLAN).to_bytes()
    for name in ("answers.parquet", "answers.csv"):
        assert dn.randomize(tmp_path / name, PLAN).to_bytes() == expected


def test_a_null_is_an_error_where_nothing_is_declared() -> None:
    """And so is a column that is not there at all: a question that nobody was asked is no missing answer."""
    plan = dn.Plan(dn.Schema([dn.Flag("smoker", missing="no answer"), dn.Flag("last")]), epsilon=1.0)
    with pytest.raises(dn.AnswerError, match=r"row 1 .*'last' has no answer \(null\); .*missing='no answer'"):
        dn.randomize({"smoker": [True, None], "last": [True, None]}, plan)
    with pytest.raises(dn.AnswerError, match="row 0 .*column 'last' is missing"):
        dn.randomize([{"smoker": True}], plan)
    with pytest.raises(dn.AnswerError, match="column 'smoker' is missing"):
        dn.randomize({"last": [True, True]}, plan)
    with pytest.raises(client.AnswerError, match="column 'last' is missing"):
        client.report({"smoker": True}, plan.to_json())
    with pytest.raises(dn.AnswerError, match="'smoker' is a flag and takes yes and no, .*; found 'perhaps'"):
        dn.randomize({"smoker": ["perhaps"], "last": [True]}, plan)


def test_the_length_of_a_report_and_its_draws_do_not_depend_on_skipping() -> None:
    plan = dn.Plan(SKIPPED, epsilon=3.0, together=[["smoker", "income"], ["age", "drinks"]])
    asked: list[list[int]] = []

    def source(count: int) -> bytes:
        asked[-1].append(count)
        return bytes(count)

    for record in ({"last": True}, {"last": False, "smoker": True, "age": "old", "income": 3, "drinks: tea": True}):
        asked.append([])
        assert len(client.report_from(source, record, plan.to_json())) == len(client.report(record, plan.to_json()))
    assert asked[0] == asked[1]


def test_missing_answers_of_arms() -> None:
    plan = dn.Plan(
        SKIPPED, {"invited": dn.Public()}, epsilon=2.0, arms={"a": ["smoker", "age"], "b": ["drinks", "income", "last"]}
    )
    answers = {"asked": ["a", "b"], "smoker": [None, None], "age": [None, None], "invited": [None, True]}
    answers |= {"drinks: tea": [None, None], "drinks: beer": [None, None], "income": [None, None], "last": [None, True]}
    assert [len(one) for one in dn.randomize(answers, plan, arm="asked").arms] == [1, 1]
    assert len(dn.randomize([{"asked": "a"}, {"asked": "b", "last": True}], plan, arm="asked")) == 2
    with pytest.raises(dn.AnswerError, match="'last' has no answer"):
        dn.randomize([{"asked": "a"}, {"asked": "b"}], plan, arm="asked")


@pytest.mark.parametrize(
    ("ages", "told"),
    [
        (
            [18, 40, 79, 999],
            "holds 999, .* counts as '65 and over'; if it means no answer, say na=\\['999'\\] \\(--na 999",
        ),
        ([18, 40, 79, -9], "holds -9, .* counts as 'under 30'"),
        (["18", "79", "999", ""], "holds 999"),
        ([18, 40, 79, 130], None),  # wrong perhaps, but no code
        ([18, 40, 89, 99], None),
    ],
)
def test_numbers_far_from_all_others_are_warned_of_where_a_range_is_open(ages: list[Any], told: str | None) -> None:
    age = dn.Choice.bins("age", [-np.inf, 30, 65, np.inf], missing="no answer")
    plan = dn.Plan(dn.Schema([age]), epsilon=1.0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        dn.randomize({"age": ages * 50}, plan)
    assert len(found) == (told is not None)
    if told:
        assert re.search(told, str(found[0].message))
        assert found[0].category is dn.errors.DeniableWarning
        assert found[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dn.randomize({"age": ages * 50}, plan, na=["999", "-9"])
            if min(map(float, filter(None, ages))) >= 0:
                ends = dn.Choice.bins("age", [0, 30, 65, 1000], missing="no answer")  # whoever says so, means it
                dn.randomize({"age": ages * 50}, dn.Plan(dn.Schema([ends]), epsilon=1.0))
