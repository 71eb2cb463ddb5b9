"""True answers coming in: every kind of frame alike, the client's rules for all, and errors that name the place."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable import client
from deniable.kernels.perturb import BLOCK
from deniable.reports import answers_in
from tests.support.refusals import BAD_ANSWERS, PLAN, SCHEMA

COLUMNS: dict[str, list[Any]] = {
    "smoker": [True, False, True],
    "age": ["old", "young", "old"],
    "children": [0.0, 1.0, 2.5],
    "income": [0, 10, 20],
    "not asked": [1, 2, 3],
}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


class OnlyArrow:
    """A frame that nobody knows, but that speaks Arrow."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


FRAMES: dict[str, Any] = {
    "mapping of lists": COLUMNS,
    "mapping of arrays": {name: np.array(column) for name, column in COLUMNS.items()},
    "mapping of series": {name: pd.Series(column) for name, column in COLUMNS.items()},
    "list of dicts": ROWS,
    "tuple of dicts": tuple(ROWS),
    "pandas": pd.DataFrame(COLUMNS),
    "pandas, odd index": pd.DataFrame(COLUMNS, index=[7, 7, 3]),
    "pandas objects": pd.DataFrame(COLUMNS, dtype=object),
    "pandas categories": pd.DataFrame(COLUMNS).astype({"age": pd.CategoricalDtype(["never", "old", "young"])}),
    "polars": pl.DataFrame(COLUMNS),
    "polars, lazy": pl.LazyFrame(COLUMNS),
    "polars, in parts": pl.concat([pl.DataFrame(COLUMNS)[:1], pl.DataFrame(COLUMNS)[1:]], rechunk=False),
    "polars enums": pl.DataFrame(COLUMNS).with_columns(pl.col("age").cast(pl.Enum(["old", "young"]))),
    "pyarrow": pa.table(COLUMNS),
    "speaks arrow": OnlyArrow(pa.table(COLUMNS)),
    "texts": {name: [str(value) for value in column] for name, column in COLUMNS.items() if name != "children"}
    | {"children": ["0", "1", "2.5"]},
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_every_kind_of_frame_is_read_alike(frame: Any) -> None:
    assert dn.randomize(frame, PLAN).table.to_pydict() == {
        "smoker": [True, False, True],
        "age": ["old", "young", "old"],
        "children": ["0", "1", "2.5"],
        "income": ["0 to under 10", "10 to 20", "10 to 20"],
    }


def test_no_records_are_no_reports() -> None:
    assert len(dn.randomize({name: [] for name in SCHEMA.names}, PLAN)) == 0
    assert len(dn.randomize([], PLAN)) == 0
    assert dn.randomize(pd.DataFrame(COLUMNS)[:0], PLAN).to_bytes() == []


def changed(name: str, row: int, value: Any) -> dict[str, list[Any]]:
    columns = {key: list(column) for key, column in COLUMNS.items()}
    columns[name][row] = value
    return columns


@pytest.mark.parametrize(("name", "value", "message", "found"), BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
@pytest.mark.parametrize("row", [0, 2])
def test_a_bad_answer_is_named_with_its_column_and_row(
    name: str, value: Any, message: str, found: str, row: int
) -> None:
    columns = changed(name, row, value)
    rows = [dict(zip(columns, answers, strict=True)) for answers in zip(*columns.values(), strict=True)]
    frames = (columns, rows, pd.DataFrame({key: pd.Series(column, dtype=object) for key, column in columns.items()}))
    bulk = message.replace("true, false, 1 or 0", "yes and no, true and false, or 1 and 0")
    told = bulk if isinstance(value, str) else message  # words are read in bulk alone
    for frame in frames if found != "; found 'Old'" else ():  # in bulk it is read as "old"
        with pytest.raises(dn.AnswerError, match=rf"^row {row} \(counted from 0\), column '{name}'.*{told}{found}$"):
            dn.randomize(frame, PLAN)
    with pytest.raises(dn.AnswerError, match=rf"^column '{name}'.*{message}$"):  # which ends there
        client.report(rows[row], PLAN.to_json(), public=SCHEMA.names)


def test_a_column_of_one_wrong_type_is_named() -> None:
    frame = pl.DataFrame(COLUMNS).with_columns(pl.lit(pd.Timestamp("2026-01-01")).alias("age"))
    with pytest.raises(dn.AnswerError, match="row 0 .*column 'age' takes text or a number"):
        dn.randomize(frame, PLAN)
    with pytest.raises(dn.AnswerError, match=r"row 0 .*column 'age' takes text or a number.*; found \[1\]"):
        dn.randomize(COLUMNS | {"age": [[1], [2], [3]]}, PLAN)


BAD_FRAMES: dict[str, tuple[Any, str]] = {
    "column missing": ({"smoker": [True]}, "column 'age' is missing; found 'smoker'"),
    "column missing from a frame": (pd.DataFrame({"age": ["old"]}), "column 'smoker' is missing; found 'age'"),
    "column missing from a lazy frame": (pl.LazyFrame({"age": ["old"]}), "column 'smoker' is missing"),
    "key missing": ([*ROWS, {"smoker": True}], "row 3 .*column 'age' is missing; found 'smoker'"),
    "empty record": ([{}], "row 0 .*column 'smoker' is missing; found none"),
    "unequal": (COLUMNS | {"age": ["old"]}, "equally long; found .*'age': 1"),
    "scalars": (ROWS[0], "must be a sequence of answers, one per record; found True"),
    "text": (COLUMNS | {"age": "old"}, "must be a sequence of answers, one per record; found 'old'"),
    "a list of lists": ([[True, "old"]], r"row 0 is not a record such as .*found list"),
    "a number": (3, "dataframe, a mapping of columns or a list of dicts; found int"),
    "a series": (pd.Series([1]), r"a list of dicts; found Series; one column becomes a dataframe .* to_frame\(\)$"),
    "another series": (pl.Series([1]), r"found Series; one column becomes a dataframe .* to_frame\(\)$"),
    "an array": (np.ones((2, 2)), "found ndarray; an array has no names: give them, such as {'smoker': array"),
    "nothing": (None, "a list of dicts; found NoneType$"),
    "groups": (pd.DataFrame({"age": ["old"]}).groupby("age"), "a list of dicts; found DataFrameGroupBy$"),
    "a set": (COLUMNS | {"age": {"old"}}, "must be a sequence of answers, one per record; found {'old'}"),
    "a mapping": (COLUMNS | {"age": {"old": 1}}, "must be a sequence of answers, one per record"),
    "columns twice": (
        pd.DataFrame([[True, "old", "old"]], columns=["smoker", "age", "age"]),
        "column 'age' occurs twice; rename one of the two, or drop it",
    ),
    "numbered columns": (pd.DataFrame([[True, "old"]]), "column 'smoker' is missing"),
    "reports": (dn.randomize(COLUMNS, PLAN), "randomized already"),
    "reports as a table": (dn.randomize(COLUMNS, PLAN).table, "randomized already"),
    "a string": ("answers.csv", "answers.csv: no such file"),
}


@pytest.mark.parametrize(("frame", "message"), BAD_FRAMES.values(), ids=BAD_FRAMES.keys())
def test_what_is_not_a_table_of_answers(frame: Any, message: str) -> None:
    with pytest.raises(dn.AnswerError, match=message):
        dn.randomize(frame, PLAN)


NUMBERED = (pd.DataFrame([[True, "old"]]), {0: [True, False]}, [{0: True}, {0: False}])


@pytest.mark.parametrize("frame", NUMBERED, ids=["a frame", "a mapping", "records"])
def test_questions_are_proposed_only_of_columns_that_have_names(frame: Any) -> None:
    with pytest.raises(dn.AnswerError, match=r"names of columns must be text; found 0 \(int\); rename them"):
        dn.Schema.from_frame(frame)


numbers = st.one_of(st.integers(-30, 30), st.floats(-5, 25), st.sampled_from([0, 10, 20, 20.0, math.inf, -math.inf]))


@given(st.lists(numbers, min_size=1, max_size=30))
def test_numbers_fall_in_the_ranges_the_client_says(column: list[float]) -> None:
    feature = dn.Choice.bins("x", [-math.inf, 0, 0.1, 10, 20, math.inf]).to_json()
    one_by_one = [client.encode(feature, number) for number in column]
    assert answers_in.encode(feature, pa.array(column, pa.float64())).tolist() == one_by_one
    assert answers_in.encode(feature, column).tolist() == one_by_one


FLAGS = np.random.default_rng(1).random((BLOCK + 13, 3)) < 0.5
FLAG_COLUMNS: dict[str, Any] = {
    "numpy": FLAGS[:, 0].copy(),
    "numpy, of a matrix": FLAGS[:, 0],
    "numpy, backwards": FLAGS[::-1, 0].copy()[::-1],
    "numpy, masked nowhere": np.ma.array(FLAGS[:, 0], mask=False),
    "arrow": pa.array(FLAGS[:, 0]),
    "arrow, from within a byte": pa.concat_arrays([pa.array([True] * 11), pa.array(FLAGS[:, 0])]).slice(11),
    "arrow, in chunks": pa.chunked_array([FLAGS[:5, 0], [], FLAGS[5:77, 0], FLAGS[77:, 0]]),
    "objects": FLAGS[:, 0].astype(object),
    "words": np.where(FLAGS[:, 0], "true", "0"),
    **{
        np.dtype(kind).name: FLAGS[:, 0].astype(kind)
        for kind in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
    },
}


@pytest.mark.parametrize("column", FLAG_COLUMNS.values(), ids=FLAG_COLUMNS.keys())
def test_flags_of_every_type_have_the_codes_that_the_client_gives(column: Any) -> None:
    others = {"others": FLAGS[:, 1], "shorter": FLAGS[:, 2].astype(np.int8)}
    (read, *_) = answers_in.columns({"smoker": column, **others}).values()
    codes = answers_in.encode(SCHEMA["smoker"].to_json(), read)
    np.testing.assert_array_equal(codes, FLAGS[:, 0])
    assert codes.tolist()[:100] == [
        client.encode(SCHEMA["smoker"].to_json(), answer) for answer in pa.array(column[:100]).to_pylist()
    ]


BAD_FLAGS: dict[str, tuple[Any, str]] = {
    "null": (pa.array([True, False, None]), "has no answer"),
    "masked": (np.ma.array([True, False, True], mask=[False, False, True]), "has no answer"),
    "nan": (np.array([1, 0, np.nan]), "has no answer"),
    "null among numbers": (pa.array([1, 0, None], pa.int8()), "has no answer"),
    "two": (np.array([1, 0, 2], np.int8), "takes true, false, 1 or 0; found 2"),
    "minus one": (np.array([1, 0, -1], np.int8), "takes true, false, 1 or 0; found -1"),
    "255, which is -1 in eight bits": (np.array([1, 0, 255], np.uint8), "takes true, false, 1 or 0; found 255"),
    "a half": (np.array([1, 0, 0.5]), "takes true, false, 1 or 0; found 0.5"),
}


@pytest.mark.parametrize(("column", "message"), BAD_FLAGS.values(), ids=BAD_FLAGS.keys())
def test_a_bad_flag_is_refused_in_the_clients_words(column: Any, message: str) -> None:
    with pytest.raises(dn.AnswerError, match=rf"^row 2 \(counted from 0\), column 'smoker'.*{message}"):
        dn.randomize(COLUMNS | {"smoker": column}, PLAN)


def test_booleans_are_no_answers_to_a_choice_and_a_matrix_is_no_column() -> None:
    with pytest.raises(dn.AnswerError, match="row 0 .*column 'age' takes text or a number.*; found True"):
        dn.randomize(COLUMNS | {"age": np.array([True, False, True])}, PLAN)
    with pytest.raises(dn.AnswerError, match="column 'smoker'"):
        dn.randomize(COLUMNS | {"smoker": np.ones((3, 2), bool)}, PLAN)


def test_numbers_are_written_one_way() -> None:
    numbers = (3, 3.0, -0.0, 2.5, 1e22, 0.1, math.inf, np.float32(0.5), Fraction(1, 2))
    assert [client.number_text(number) for number in numbers] == [
        "3", "3", "0", "2.5", "10000000000000000000000", "0.1", "inf", "0.5", "0.5",
    ]  # fmt: skip
    for two in (np.int64(2), 2.0, Decimal("2.0"), Fraction(2), "2"):
        assert client.encode({"name": "x", "values": ["1", "2"]}, two) == 1
    for strange in (1j, pd.NaT, Decimal("sNaN")):
        with pytest.raises(dn.AnswerError, match="takes text or a number"):
            client.encode({"name": "x", "values": ["1", "2"]}, strange)
    decimals = pa.array([Decimal("0.00"), Decimal("12.50")])
    assert answers_in.encode(SCHEMA["income"].to_json(), decimals).tolist() == [0, 1]


def test_text_numbers_in_a_column_of_ranges_are_read_at_once_or_one_by_one() -> None:
    feature = SCHEMA["income"].to_json()
    numbers = [f"{x / 7:.6f}" for x in range(100)]
    assert answers_in.encode(feature, pa.array(numbers)).tolist() == [client.encode(feature, x) for x in numbers]
    mixed = [*numbers, "10 to 20", "0 to under 10"]
    assert answers_in.encode(feature, pa.array(mixed)).tolist() == [client.encode(feature, x) for x in mixed]


@pytest.mark.parametrize(("column", "row"), [(["odd", None, "old"], 0), (["old", None, "odd"], 1)])
def test_the_first_bad_row_is_the_one_named(column: list[Any], row: int) -> None:
    with pytest.raises(dn.AnswerError, match=f"^row {row} "):
        dn.randomize(COLUMNS | {"age": column}, PLAN)


def test_a_record_and_a_plan_must_be_what_they_are() -> None:
    with pytest.raises(dn.AnswerError, match="a record is a mapping such as .*; found list"):
        client.report(["old"], PLAN.to_json(), public=SCHEMA.names)
    with pytest.raises(dn.PlanError, match="randomize needs a Plan, as Plan.load gives it; found 'plan.json'"):
        dn.randomize(COLUMNS, "plan.json")


def test_long_lists_of_values_are_cut_in_errors() -> None:
    feature = dn.Choice("town", [f"t{i}" for i in range(100)]).to_json()
    with pytest.raises(dn.AnswerError, match=r"'t7', \.\.\. \(100 in all\)$"):
        client.encode(feature, "nowhere")
