"""True answers coming in: any dataframe, mapping of columns or list of records, as columns of codes.

A column is encoded by its distinct values, and each of those goes through the client's own `encode`: a million records
and a single one on a device are read by the same rules and refused in the same words. Columns of booleans, or of 0 and
1, for a flag, and numbers for ranges need no list of distinct values; what is wrong in them is left to the client, too.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deniable import client
from deniable.errors import AnswerError, listed, meant, shortened
from deniable.kernels.perturb import BLOCK, Codes
from deniable.reports.report_columns import Place, is_text, number_at, whole


class LeftOutError(AnswerError):
    """Raised for an answer, or a whole column of answers, that is not there; `randomize` says what may be left out."""


def columns(records: Any, names: Sequence[str] | None = None, optional: Sequence[str] = ()) -> dict[str, Any]:
    """The named columns of some records, or all columns: Arrow arrays where they have one type, else lists.

    Those that are optional may be missing, and in a list of records are null where they are.
    """
    if isinstance(records, Sequence) and not isinstance(records, str | bytes):
        return _from_rows(records, names, optional)
    _check_names(records, names)
    source = records if isinstance(records, Mapping) else _series(records, names and [*names, *optional])
    given = {name: _column(source, name, records) for name in names or source}
    given |= {name: source[name] for name in optional if name in source}
    packed = _packed({name: values for name, values in given.items() if _is_numpy_bool(values)})
    table = {name: packed[name] if name in packed else _as_arrow(values, name) for name, values in given.items()}
    lengths = {name: len(column) for name, column in table.items()}
    if len(set(lengths.values())) > 1:
        raise AnswerError(f"columns must be equally long; found {lengths}")
    return table


def _check_names(records: Any, wanted: Sequence[str] | None = None) -> None:
    """Refuse names of columns that are no text, or that stand for two columns, where all columns are wanted."""
    if wanted is not None:
        return
    pandas = nw.dependencies.is_pandas_like_dataframe(records)  # the only frames that have such names
    names = list(records.columns) if pandas else list(records) if isinstance(records, Mapping) else []
    if other := [name for name in names if not isinstance(name, str)]:
        raise AnswerError(
            f"names of columns must be text; found {shortened(other[0])} ({type(other[0]).__name__}); rename them, in "
            "pandas by df.columns = df.columns.map(str)"
        )
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise AnswerError(f"column {twice[0]!r} occurs twice; rename one of the two, or drop it")


def names_in(records: Any) -> list[str]:
    """The names of all columns of some records; none of what are no records."""
    if isinstance(records, Sequence) and not isinstance(records, str | bytes):
        return list(dict.fromkeys(name for record in records if isinstance(record, Mapping) for name in record))
    if isinstance(records, Mapping):
        return list(records)
    frame = nw.from_native(records, pass_through=True)
    return list(frame.collect_schema().names()) if isinstance(frame, nw.DataFrame | nw.LazyFrame) else []


def _column(source: Mapping[str, Any], name: str, records: Any) -> Any:
    """What stands under a name; an error lists the names that are in the records."""
    try:
        return client.answer(source, name)
    except AnswerError as error:
        there = list(map(str, names_in(records)))
        raise LeftOutError(f"{error}; found {listed(there) or 'none'}{meant(name, there)}") from None


def _is_numpy_bool(values: Any) -> bool:
    """Whether a column is a plain numpy array of booleans; masked arrays, which are not plain, may hold nulls."""
    return type(values) is np.ndarray and values.dtype == bool and values.ndim == 1


def _packed(columns: Mapping[str, npt.NDArray[np.bool_]]) -> dict[str, Any]:
    """Arrow arrays of boolean numpy columns: ten times as fast as by Arrow.

    All columns are packed block by block: those of one matrix lie side by side in memory, and are read once.
    """
    planes = {name: np.empty((len(column) + 7) // 8, np.uint8) for name, column in columns.items()}
    for start in range(0, max(map(len, columns.values()), default=0), BLOCK):
        for name, column in columns.items():
            block = np.packbits(np.ascontiguousarray(column[start : start + BLOCK]), bitorder="little")
            planes[name][start // 8 : start // 8 + len(block)] = block
    return {
        name: pa.BooleanArray.from_buffers(pa.bool_(), len(columns[name]), [None, pa.py_buffer(plane)])
        for name, plane in planes.items()
    }


def _from_rows(rows: Sequence[Any], names: Sequence[str] | None, optional: Sequence[str]) -> dict[str, Any]:
    """The columns of a list of records, each a mapping from names to answers."""
    for row, record in enumerate(rows):
        if not isinstance(record, Mapping):
            raise AnswerError(f"row {row} is not a record such as {{'smoker': True}}; found {type(record).__name__}")
    if names is None:
        names = list(dict.fromkeys(name for record in rows for name in record))
        _check_names(dict.fromkeys(names))
    table: dict[str, list[Any]] = {name: [] for name in names}
    for row, record in enumerate(rows):
        for name, column in table.items():
            try:
                column.append(_column(record, name, record))
            except LeftOutError as error:
                raise LeftOutError(f"row {row} (counted from 0), {error}") from None
    table |= {name: [record.get(name) for record in rows] for name in optional if name not in table}
    return {name: _as_arrow(column, name) for name, column in table.items()}


def _as_arrow(values: Any, name: str) -> Any:
    """One column as an Arrow array, or as a list if it has no one type that Arrow knows."""
    if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__len__"):
        raise AnswerError(f"column {name!r} must be a sequence of answers, one per record; found {shortened(values)}")
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        return values.to_arrow() if isinstance(values, nw.Series) else pa.array(values)
    except (ValueError, TypeError, OverflowError, NotImplementedError):  # Arrow's own errors among them
        return list(values)  # its answers are encoded one by one


def _series(records: Any, names: Sequence[str] | None) -> dict[str, nw.Series[Any]]:
    """The columns of any dataframe, as narwhals gives them; of a lazy one, only the named columns are computed."""
    try:
        frame = nw.from_native(records) if not _only_arrow(records) else nw.from_native(pa.table(records))
        if isinstance(frame, nw.LazyFrame):
            wanted = [name for name in names or () if name in frame.collect_schema().names()]
            frame = (frame.select(wanted) if wanted else frame).collect()
        found = [name for name in frame.columns if names is None or name in names]
        return {name: frame.get_column(name) for name in found}
    except (TypeError, ValueError, pa.ArrowException) as error:
        _check_names(records)
        kind, hint = type(records).__name__, ""
        if hasattr(records, "to_frame"):
            hint = "; one column becomes a dataframe by its method to_frame()"
        elif isinstance(records, np.ndarray):
            hint = "; an array has no names: give them, such as {'smoker': array[:, 0]}"
        elif hasattr(records, "columns"):  # a frame that narwhals knows, but cannot read
            hint = f": {str(error).splitlines()[0]}"
        raise AnswerError(
            f"records must be a dataframe, a mapping of columns or a list of dicts; found {kind}{hint}"
        ) from None


def _only_arrow(records: Any) -> bool:
    """Whether some records can be read through Arrow, and are no kind of frame or series that narwhals knows."""
    known = nw.from_native(records, pass_through=True, allow_series=True)
    return known is records and hasattr(records, "__arrow_c_stream__")


def encode(feature: Mapping[str, Any], column: Any, first_row: Place = 0) -> Codes:
    """Codes of a column's answers, by the rules of `client.encode`; an error names the row of the first bad answer.

    `feature` is as the plan's JSON has it, which is what the client takes. Where it may be skipped (`missing`), nulls
    are that answer, and so are empty texts and numbers that are nan.
    """
    if isinstance(column, list):
        return np.array(
            [_encode_one(feature, value, number_at(first_row, row)) for row, value in enumerate(column)], np.int16
        )
    column = whole(column)
    if "edges" in feature and (numbers := _numbers(column)) is not None:
        return _encode_numbers(feature, column, numbers, first_row)
    if "values" not in feature and (flags := _flags(column)) is not None:
        return flags
    return _encode_distinct(feature, column, first_row)


def _encode_distinct(feature: Mapping[str, Any], column: Any, first_row: Place) -> Codes:
    """Codes of a column by its distinct values, each of them encoded once by the client."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)  # a categorical may list values that nobody gave
    try:
        encoded = column.dictionary_encode()
    except pa.ArrowNotImplementedError:  # lists and other types that no answer has
        return encode(feature, column.to_pylist(), first_row)
    indices = encoded.indices.fill_null(-1).to_numpy()
    answers = encoded.dictionary.to_pylist()  # in order of first appearance
    codes = np.zeros(len(answers) + 1, np.int16)
    skipped = client.encode(feature, None) if "missing" in feature else None
    codes[-1] = skipped or 0  # of nulls
    bad = [-1] if encoded.null_count and skipped is None else []
    for place, answer in enumerate(answers):
        try:
            codes[place] = client.encode(feature, answer)
        except AnswerError:
            bad.append(place)
            break
    if bad:
        row = min(int(np.argmax(indices == place)) for place in bad)
        _encode_one(feature, column[row].as_py(), number_at(first_row, row))
    return np.asarray(codes[indices])


def _flags(column: Any) -> Codes | None:
    """Codes of a flag's column that holds booleans, or only the numbers 0 and 1; None for any other column."""
    if column.null_count or not len(column):
        return None
    if pa.types.is_boolean(column.type):
        packed = np.frombuffer(column.buffers()[1], np.uint8, offset=column.offset // 8)
        before = column.offset % 8
        return np.unpackbits(packed, count=before + len(column), bitorder="little")[before:].view(np.int8)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return None
    numbers = column.to_numpy()
    ones = numbers == 1
    return ones.view(np.int8) if (ones | (numbers == 0)).all() else None


def _numbers(column: Any) -> npt.NDArray[np.float64] | None:
    """A column of numbers, or of text that is all numbers, as floats with nan for null; None for any other column."""
    if not (is_number(column.type) or is_text(column.type)):
        return None
    try:
        return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None


def _encode_numbers(
    feature: Mapping[str, Any], column: Any, numbers: npt.NDArray[np.float64], first_row: Place
) -> Codes:
    """Codes of the ranges that a column's numbers fall in, all at once: their distinct values may be too many."""
    edges = np.array(feature["edges"], float)
    skipped = np.asarray(column.is_null(nan_is_null=True)) if "missing" in feature else np.zeros(len(column), bool)
    bad = ~((numbers >= edges[0]) & (numbers <= edges[-1])) & ~skipped
    if bad.any():
        row = int(bad.argmax())
        _encode_one(feature, column[row].as_py(), number_at(first_row, row))
    ranges = np.searchsorted(edges, numbers, side="right").astype(np.int16)
    codes: Codes = np.minimum(ranges, len(edges) - 1) - np.int16(1)
    return np.where(skipped, np.int16(client.encode(feature, None)), codes) if skipped.any() else codes


def _encode_one(feature: Mapping[str, Any], value: Any, row: int) -> int:
    """Code of one answer; to what the client says, which quotes no answer, an error adds the row and the answer."""
    try:
        return client.encode(feature, value)
    except AnswerError as error:
        found = "" if value is None else f"; found {shortened(value)}"
        left_out = value is None or (isinstance(value, str | float) and (value == "" or value != value))  # nan
        raise (LeftOutError if left_out else AnswerError)(f"row {row} (counted from 0), {error}{found}") from None


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
