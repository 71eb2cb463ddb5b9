"""True answers coming in: any dataframe, mapping of columns or list of records, as columns of codes.

Columns are looked at by their distinct values, and each of those goes through the client's own `encode`: a million
records and a single one on a device are read by the same rules and refused in the same words.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deniable import client
from deniable.errors import AnswerError

Codes = npt.NDArray[np.int16]


def columns(records: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The named columns (or all), as Arrow arrays where they have one type, else as lists."""
    if isinstance(records, Sequence) and not isinstance(records, str | bytes):
        return _from_rows(records, names)
    source = records if isinstance(records, Mapping) else _series(records, names)
    table = {name: _as_arrow(client.answer(source, name), name) for name in names or source}
    lengths = {name: len(column) for name, column in table.items()}
    if len(set(lengths.values())) > 1:
        raise AnswerError(f"columns must be equally long; found {lengths}")
    return table


def _from_rows(rows: Sequence[Any], names: Sequence[str] | None) -> dict[str, Any]:
    for row, record in enumerate(rows):
        if not isinstance(record, Mapping):
            raise AnswerError(f"row {row} is not a record such as {{'smoker': True}}; found {record!r}")
    names = list(dict.fromkeys(name for record in rows for name in record)) if names is None else names
    table: dict[str, list[Any]] = {name: [] for name in names}
    for row, record in enumerate(rows):
        for name, column in table.items():
            try:
                column.append(client.answer(record, name))
            except AnswerError as error:
                raise _at(row, error) from None
    return {name: _as_arrow(column, name) for name, column in table.items()}


def _as_arrow(values: Any, name: str) -> Any:
    if isinstance(values, str | bytes | Mapping | Set) or not hasattr(values, "__len__"):
        raise AnswerError(f"column {name!r} must be a sequence of answers, one per record; found {values!r}")
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        return values.to_arrow() if isinstance(values, nw.Series) else pa.array(values)
    except (ValueError, TypeError, OverflowError, NotImplementedError):  # Arrow's own errors among them
        return list(values)  # answers of several types, or of none that Arrow knows: encoded one by one


def _series(records: Any, names: Sequence[str] | None) -> dict[str, nw.Series[Any]]:
    """The columns of any dataframe; of a lazy one, only those that are wanted."""
    try:
        frame = nw.from_native(records) if not _only_arrow(records) else nw.from_native(pa.table(records))
        if isinstance(frame, nw.LazyFrame):
            wanted = [name for name in names or () if name in frame.collect_schema().names()]
            frame = (frame.select(wanted) if wanted else frame).collect()
        found = [name for name in frame.columns if names is None or name in names]
        return {name: frame.get_column(name) for name in found}
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise AnswerError(
            "records must be a dataframe, a mapping of columns or a list of dicts; "
            f"found {type(records).__name__}: {str(error).splitlines()[0]}"
        ) from None


def _only_arrow(records: Any) -> bool:
    """Whether it speaks Arrow and is no kind of frame or series that narwhals knows."""
    known = nw.from_native(records, pass_through=True, allow_series=True)
    return known is records and hasattr(records, "__arrow_c_stream__")


def whole(column: Any) -> Any:
    """A column as one array; copied only if it is in several pieces."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    return chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, column.type).combine_chunks()


def encode(feature: Mapping[str, Any], column: Any, first_row: int = 0) -> Codes:
    """A column's answers as codes, by the rules of `client.encode`; an error names the row of the first bad answer."""
    if isinstance(column, list):
        return np.array([_encode_one(feature, value, first_row + row) for row, value in enumerate(column)], np.int16)
    column = whole(column)
    if "edges" in feature and (numbers := _numbers(column)) is not None:
        return _encode_numbers(feature, column, numbers, first_row)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)  # a categorical may list values that nobody gave
    try:
        encoded = column.dictionary_encode()
    except pa.ArrowNotImplementedError:  # lists and other types that no answer has
        return encode(feature, column.to_pylist(), first_row)
    indices = encoded.indices.fill_null(-1).to_numpy()
    answers = encoded.dictionary.to_pylist()  # in order of first appearance
    codes = np.zeros(len(answers) + 1, np.int16)
    bad = [-1] if encoded.null_count else []
    for place, answer in enumerate(answers):
        try:
            codes[place] = client.encode(feature, answer)
        except AnswerError:
            bad.append(place)
            break
    if bad:
        row = min(int(np.argmax(indices == place)) for place in bad)
        _encode_one(feature, column[row].as_py(), first_row + row)
    return np.asarray(codes[indices])


def _numbers(column: Any) -> npt.NDArray[np.float64] | None:
    """A column of numbers, or of text that is all numbers, as floats with nan for null."""
    if not (_is_number(column.type) or _is_text(column.type)):
        return None
    try:
        return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        return None


def _encode_numbers(feature: Mapping[str, Any], column: Any, numbers: npt.NDArray[np.float64], first_row: int) -> Codes:
    """Numbers into ranges, whole columns at once: too many distinct values to take them one by one."""
    edges = np.array(feature["edges"], float)
    bad = ~((numbers >= edges[0]) & (numbers <= edges[-1]))
    if bad.any():
        row = int(bad.argmax())
        _encode_one(feature, column[row].as_py(), first_row + row)
    ranges: Codes = np.searchsorted(edges, numbers, side="right").astype(np.int16)
    return np.minimum(ranges, len(edges) - 1) - np.int16(1)


def _encode_one(feature: Mapping[str, Any], value: Any, row: int) -> int:
    try:
        return client.encode(feature, value)
    except AnswerError as error:
        raise _at(row, error) from None


def _at(row: int, error: AnswerError) -> AnswerError:
    return AnswerError(f"row {row} (counted from 0), {error}")


def distinct_values(records: Any) -> list[tuple[str, str, list[Any]]]:
    """Each column's name, kind ("bool", "number" or "text") and different values, sorted."""
    return [(name, *_distinct(name, column)) for name, column in columns(records).items()]


def _distinct(name: str, column: Any) -> tuple[str, list[Any]]:
    if isinstance(column, list):
        raise AnswerError(f"column {name!r} mixes types; give it one, or write the schema yourself")
    column = whole(column)
    if pa.types.is_dictionary(column.type):
        if column.type.ordered and not column.null_count:
            return "text", column.dictionary.cast(pa.string()).to_pylist()
        column = column.cast(column.type.value_type)
    if column.null_count or (pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()):
        raise AnswerError(f"column {name!r} has nulls; give them a value such as 'no answer' first")
    kinds = {"bool": pa.types.is_boolean, "text": _is_text, "number": _is_number}
    kind = next((kind for kind, fits in kinds.items() if fits(column.type)), None)
    if kind is None:
        raise AnswerError(f"column {name!r} holds {column.type}; a schema is made from booleans, numbers and text")
    return kind, sorted(pc.unique(column).to_pylist())


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
