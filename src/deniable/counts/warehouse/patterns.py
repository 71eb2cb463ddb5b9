"""Counts from what a query of `sql` returned: patterns of evidence, and how many reports show each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deniable.counts.counts import Counts
from deniable.counts.layout import MOST, Array, Names, called
from deniable.counts.warehouse.query import count_columns, keeps_patterns
from deniable.counts.warehouse.shown import MALFORMED
from deniable.errors import CountError, PlanError, abbreviated, listed
from deniable.reports.report_columns import is_text, whole
from deniable.survey.plan import Plan
from deniable.survey.protocols.base import Form

ABSENT = -2  # The code of a unit that a row does not have.
EXACT = 2.0**53  # From here on floating-point numbers skip whole ones.


def count_patterns(plan: Plan, table: Any) -> Counts:
    """Make counts of what a database returned for the query that `sql` wrote: patterns of evidence, and how many.

    Parameters
    ----------
    plan
        The plan of the reports.
    table
        The rows: any table that speaks Arrow, or a list of rows by the names of columns. Numbers are as `sql` says; the
        column of a flag may also hold true and false, and that of a question whose reports show one value the value.
        Rows of the same pattern add.

    Returns
    -------
    Counts
        The same, cell by cell, as `count` gives of the same reports.

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")]), epsilon=2.0)
    >>> rows = [{"smoker": True, "drinker": False, "n": 40}, {"smoker": False, "drinker": False, "n": 60}]
    >>> dn.count_patterns(plan, rows).array("smoker", "drinker").tolist()
    [[100, 0], [40, 0]]
    """
    if not isinstance(plan, Plan):
        raise PlanError(f"counts need the plan of their reports; found {abbreviated(plan)}")
    found = _columns(table)
    arm_column, named, n_column = count_columns(plan)
    if n_column not in found:
        raise CountError(f"column {n_column!r}, how many reports show each pattern, is missing; found {listed(found)}")
    units = {unit: found[column] for unit, column in named.items() if column in found}
    if unknown := [name for name in found if name not in {arm_column, n_column, *named.values()}]:
        raise CountError(
            f"column {unknown[0]!r} is no unit of this plan, whose units are {listed(named.values())}; "
            "dn.sql writes the query that counts them"
        )
    numbers = _numbers(n_column, found[n_column])
    arms = _arms(plan, arm_column, found, numbers)
    parts = []
    for place, arm in enumerate(plan.arms):
        rows = np.flatnonzero(arms == place)
        codes = {name: _codes(arm, name, whole(column).take(pa.array(rows))) for name, column in units.items()}
        _check_asked(arm, codes, numbers[rows])
        parts.append(_of_arm(arm, codes, numbers[rows], beside=plan.has_arms))
    return Counts(plan, arms=parts) if plan.has_arms else parts[0]


def _columns(table: Any) -> dict[str, Any]:
    """The columns of rows, however they come."""
    if isinstance(table, list | tuple):
        rows = [row.asDict() if hasattr(row, "asDict") else row for row in table]  # Spark's have no other form
        if not rows or not all(isinstance(row, Mapping) for row in rows):
            raise CountError("rows are a list of mappings from the names of columns, or a table that speaks Arrow")
        names = dict.fromkeys(name for row in rows for name in row)
        return {str(name): _column(str(name), [row.get(name) for row in rows]) for name in names}
    if not hasattr(table, "__arrow_c_stream__"):
        raise CountError(f"patterns come in a table that speaks Arrow, or as rows; found {type(table).__name__}")
    table = pa.table(table)
    if len(set(table.column_names)) < len(table.column_names):
        raise CountError(f"two columns of these rows have the same name; found {listed(table.column_names)}")
    return dict(zip(table.column_names, table.columns, strict=True))


def _column(name: str, values: list[Any]) -> Any:
    """A column of rows, in which what a row does not have is null."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise CountError(f"column {name!r} cannot be read: {error}") from None


def _numbers(name: str, column: Any) -> Array:
    """Whole numbers from 0 on, without nulls."""
    if pa.types.is_floating(column.type) and (pc.max(column).as_py() or 0) >= EXACT:
        raise CountError(
            f"column {name!r} has floating-point numbers of 2^53 and more, which are rounded; fetch the rows as Arrow, "
            "or let the query say CAST(... AS BIGINT)"
        )
    try:
        numbers = np.asarray(whole(column).cast(pa.int64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        numbers = np.array([MALFORMED])
    if column.null_count or numbers.dtype != np.int64 or (len(numbers) and numbers.min() < 0):
        raise CountError(f"column {name!r} must be whole numbers of reports, from 0 to {MOST:,}")
    return numbers


def _arms(plan: Plan, name: str, found: Mapping[str, Any], numbers: Array) -> Array:
    """The number of each row's arm; reports of none are an error."""
    if not plan.has_arms:
        return np.zeros(len(numbers), np.int64)
    if name not in found:
        raise CountError(f"column {name!r}, the number of each row's arm, is missing; dn.sql writes it")
    codes = _integers(name, found[name])
    wrong = ((codes < 0) | (codes >= len(plan.arms))) & (numbers > 0)
    if wrong.any():
        raise CountError(
            f"{_total(numbers[wrong]):,} reports are of no arm of this plan, or are not as long as its reports; "
            f"find them by column {name!r} of the reports"
        )
    return codes


def _integers(name: str, column: Any) -> Array:
    """Whole numbers, ABSENT for nulls."""
    column = whole(column)
    if pa.types.is_null(column.type):
        return np.full(len(column), ABSENT)
    try:
        codes = pc.max_element_wise(column.cast(pa.int64()), MALFORMED, skip_nulls=False)  # none is taken for ABSENT
        return np.asarray(pc.fill_null(codes, ABSENT).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise CountError(f"column {name!r} must be numbers, as dn.sql gives them; found {column.type}") from None


def _codes(arm: Plan, name: str, column: Any) -> Array:
    """The code of a unit in each row of an arm: of text, the value's."""
    if name not in arm.units.schema:
        return np.where(whole(column).is_null().to_numpy(zero_copy_only=False), ABSENT, MALFORMED)
    values = column.dictionary if pa.types.is_dictionary(column.type) else column
    if not is_text(values.type) or arm.units[name].form is not Form.VALUE:
        return _integers(name, column)
    answers = pa.array(map(str, arm.units.schema[name].answers))
    texts = column.cast(pa.string())
    codes = pc.fill_null(pc.index_in(texts, answers), MALFORMED).to_numpy(zero_copy_only=False).astype(np.int64)
    codes[texts.is_null().to_numpy(zero_copy_only=False)] = ABSENT
    return np.asarray(codes)


def _check_asked(arm: Plan, codes: Mapping[str, Array], numbers: Array) -> None:
    """Refuse rows that show what their arm does not ask."""
    for name, own in codes.items():
        if name not in arm.units.schema and (wrong := (own != ABSENT) & (numbers > 0)).any():
            raise CountError(
                f"{_total(numbers[wrong]):,} reports of an arm show {name!r}, which that arm does not ask: it asks "
                f"{listed(arm.schema.names)}"
            )


def _of_arm(arm: Plan, codes: Mapping[str, Array], numbers: Array, *, beside: bool) -> Counts:
    """The counts of a plan without arms: rows that have the same units are of one table.

    Beside other arms it may be that none of its units is asked for, and a row says how many reports there are.
    """
    tables, patterns, n = {}, {}, 0
    for units, rows in _by_units(arm, codes, len(numbers)):
        if not units:
            n = _total(numbers[rows])
            continue
        own = _tensor(arm, units, [codes[name][rows] for name in units], numbers[rows])
        if keeps_patterns(arm, units) and any(arm.units[name].several for name in units):
            patterns[units] = _checked(own, own.sum())
        else:
            tables[units] = _checked(_with_margins(arm, units, own))
    if not tables and not patterns:
        return Counts(arm, n=n)
    found = Counts(arm, tables, patterns=patterns)
    if n and not (beside and n == found.n):
        raise CountError(f"rows of {n:,} reports show nothing, beside tables of {found.n:,} reports; leave none out")
    return found


def _by_units(arm: Plan, codes: Mapping[str, Array], length: int) -> Iterator[tuple[Names, npt.NDArray[np.bool_]]]:
    """The different sets of units that rows have, and which rows have them."""
    names = [name for name in arm.units.schema.names if name in codes]
    there = np.array([codes[name] != ABSENT for name in names], bool).reshape(len(names), length)
    kinds, which = np.unique(there, axis=1, return_inverse=True) if length else (there, np.zeros(0, np.int64))
    for place in range(kinds.shape[1]):
        units = tuple(name for name, shown in zip(names, kinds[:, place], strict=True) if shown)
        yield units, which.reshape(-1) == place


def _tensor(arm: Plan, units: Names, codes: Sequence[Array], numbers: Array) -> Array:
    """How many reports there are in each combination of codes, as integers in which their sum cannot wrap."""
    whole_patterns = keeps_patterns(arm, units)
    shape = tuple(_length(arm, name, whole_patterns) for name in units)
    for name, own, length in zip(units, codes, shape, strict=True):
        wrong = ((own < 0) | (own >= length)) & (numbers > 0)
        if wrong.any():
            raise CountError(
                f"{called(units)}: {_total(numbers[wrong]):,} reports show of {name!r} what no report of this plan "
                "does: nulls, values that it does not have, or bits too many"
            )
    size = int(np.prod(shape))
    kept = numbers > 0
    places = np.ravel_multi_index([own[kept] for own in codes], shape)
    counted: npt.NDArray[Any] = np.zeros(size, np.int64)
    if len(numbers) * int(numbers.max(initial=0)) > MOST:  # sums may be too large: in integers of any size
        counted = counted.astype(object)
    np.add.at(counted, places, numbers[kept])
    return counted.reshape(shape)


def _checked(counted: npt.NDArray[Any], *sums: Any) -> Array:
    """Counts as 64-bit integers; refused if one of them, or of these sums of them, is more than fits."""
    if (most := max(counted.max(initial=0), *sums, 0)) > MOST:
        raise CountError(f"{most} reports are more than 64-bit integers can count")
    return counted.astype(np.int64)


def _total(numbers: Array) -> int:
    """The sum of numbers of reports; refused if it is more than can be counted."""
    total = int(sum(numbers.tolist()))
    if total > MOST:
        raise CountError(f"{total} reports are more than 64-bit integers can count")
    return total


def _length(arm: Plan, name: str, whole_patterns: bool) -> int:
    """How many codes a unit has."""
    protocol = arm.units[name]
    return protocol.pattern_count if whole_patterns or not protocol.several else 1 + protocol.columns


def _with_margins(arm: Plan, units: Names, tensor: Array) -> Array:
    """The table of counts, with margins at index 0, of which those of units that mark several values are there."""
    for axis, name in enumerate(units):
        if arm.units[name].several:
            continue
        everybody = tensor.sum(axis=axis, keepdims=True)
        shown = tensor if arm.units[name].columns > 1 else np.take(tensor, [1], axis)
        tensor = np.concatenate([everybody, shown], axis)
    return tensor
