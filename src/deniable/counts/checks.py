"""What counts must be: shapes, integers, no count above its margin, names that the plan has."""

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.counts.layout import MOST, Array, Names, called, column_places, frozen, patterns_shape, slabs
from deniable.errors import CountError, DeniableWarning, EstimateError, abbreviated, listed
from deniable.survey.blocks import TIMES
from deniable.survey.plan import Plan


def warn_of_kept(what: str, stacklevel: int) -> None:
    """Warn where what may be waves of the same people is added up as if it were of different people."""
    warnings.warn(
        f"these {what} are of a plan that keeps answers, and are added as those of different people. Parts of one wave "
        "are right to add; of waves of the same people all standard errors are then too small: give these as a list, "
        "dn.estimate([january, february], names), or as several files to `deniable table`",
        DeniableWarning,
        stacklevel=stacklevel + 1,
    )


def listed_names(names: Any, what: str) -> list[Any]:
    """Names of features as a list: of one feature by itself, or of several in any order that an array has, too."""
    if isinstance(names, str):
        return [names]
    if isinstance(names, Sequence) or getattr(names, "ndim", 0) == 1:  # such as the names of a dataframe's columns
        return list(names)
    raise EstimateError(f'{what} takes a list of features, ["a", "b"]; found {abbreviated(names)}')


def checked_table(plan: Plan, names: Names, given: npt.ArrayLike) -> Array:
    """Table of counts of units, checked: shape, integers, and no count above its margin.

    Of a flag that may be skipped the evidence of False may be left out, where it follows from that of the others.
    """
    shape = tuple(1 + plan.units[name].columns for name in names)
    array = _checked(_with_false(plan, names, given), shape, called(names))
    for axis, name in enumerate(names):
        _check_marked(plan, name, np.moveaxis(array, axis, 0), called(names))
    return array


def _check_marked(plan: Plan, name: str, array: Array, what: str) -> None:
    """Refuse counts of a unit, on the first axis, if every report marks as many of its values and these do not."""
    marked = plan.units[name].always_marked
    if marked is None or plan.units[name].columns == 1:
        return
    expected, found = marked * array[0], array[1:].sum(axis=0)
    if not np.array_equal(expected, found):
        at = tuple(int(i) for i in np.argwhere(expected != found)[0])
        values = "one value" if marked == 1 else f"{marked} values"
        raise CountError(
            f"{what}: every report shows {values} of {name!r}, so that the counts of its values sum to "
            f"{expected[at]}{f' at {at}' if at else ''}; found {found[at]}. No reports of this plan give these counts"
        )


def _with_false(plan: Plan, names: Names, given: npt.ArrayLike) -> npt.ArrayLike:
    """A table as users see it (`Flag.shown`) with the evidence of a flag's False, if every report marks as many."""
    axes = [(plan.units.schema[name].shown, plan.units[name]) for name in names]
    if all(len(shown) == 1 + protocol.columns for shown, protocol in axes):
        return given
    array = np.asarray(given)
    for axis, (shown, protocol) in enumerate(axes if array.ndim == len(axes) and array.dtype.kind in "iu" else ()):
        if array.shape[axis] == len(shown) < 1 + protocol.columns and protocol.always_marked is not None:
            everybody, *others = np.moveaxis(array, axis, 0)
            false = protocol.always_marked * everybody - sum(others)
            array = np.stack([everybody, false, *others], axis=axis)
    return array


def checked_tables(
    plan: Plan, tables: Mapping[Any, npt.ArrayLike], patterns: Mapping[Any, npt.ArrayLike]
) -> tuple[dict[Names, Array], dict[Names, Array]]:
    """Checked tables, those of given patterns among them, and the patterns that say more than their table."""
    whole, ordered = _ordered(plan, patterns, checked_patterns), _ordered(plan, tables, checked_table)
    for names, array in whole.items():
        if not np.array_equal(ordered.setdefault(names, table := _summed(plan, names, array)), table):
            raise CountError(f"the patterns of {called(names)} do not agree with its table")
    return ordered, {names: own for names, own in whole.items() if any(plan.units[name].several for name in names)}


def _ordered(plan: Plan, given: Mapping[Any, npt.ArrayLike], checked: Any) -> dict[Names, Array]:
    """Arrays by their names, both in the schema's order, checked."""
    ordered: dict[Names, Array] = {}
    for key, array in given.items():
        names = checked_names(plan, key)
        places = [plan.units.schema.index(name) for name in names]
        order = sorted(range(len(names)), key=places.__getitem__)
        name = tuple(names[axis] for axis in order)
        if name in ordered:
            raise CountError(f"{called(name)} is given twice, in two orders")
        ordered[name] = frozen(checked(plan, names, array).transpose(order))
    return ordered


def _summed(plan: Plan, names: Names, patterns: Array) -> Array:
    """The table behind which these patterns stand, in floating point while that is exact: it is ten times faster."""
    kind = np.float64 if patterns.sum() < 1 << 53 else np.int64
    table: npt.NDArray[Any] = patterns.astype(kind)
    for name in names:
        table = np.tensordot(table, plan.units[name].pattern_evidence.astype(kind), axes=([0], [0]))
    return frozen(table.astype(np.int64))


def checked_total(n: Any, asked: int) -> int:
    """How many respondents there are: those counted, if nothing else is said, and never fewer."""
    if n is None:
        return asked
    if isinstance(n, int | np.integer) and n > MOST:
        raise CountError(f"{n} reports are more than 64-bit integers can count")
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < asked:
        raise CountError(
            f"n must be a whole number of respondents, at least the {asked} that were counted; found {abbreviated(n)}"
        )
    return int(n)


def checked_patterns(plan: Plan, names: Names, given: npt.ArrayLike) -> Array:
    """How many reports show each combination of patterns, checked."""
    what = f"the patterns of {called(names)}"
    if (shape := patterns_shape(plan, names)) is None:
        raise CountError(f"{what} are too many to be kept")
    array = _checked_numbers(given, shape, what)
    if (int((array >> 32).sum()) << 32) + int((array & 0xFFFFFFFF).sum()) > MOST:  # of all cells, which may not fit
        raise CountError(f"{what} are of more reports than 64-bit integers can count")
    return array


def checked_names(plan: Plan, key: Any) -> Names:
    """The units of a table, by their names: features that are asked alone, and blocks as tuples of their features."""
    parts = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, Sequence) else ()
    if any(parts == block.names for block in plan.blocks if len(block.features) > 1):
        parts = (parts,)
    units = tuple(_unit(plan, part) for part in parts)
    if not units or len(set(units)) < len(units):
        raise CountError(f"a table is of one or more different features, by their names; found {abbreviated(key)}")
    return units


def check_asked(plan: Plan, names: Any) -> Names:
    """One or more different features of a plan, by their names, that some arm asks together."""
    check_different(names)
    for name in names:
        plan.schema.index(name)
    if not any(all(name in arm for name in names) for arm in plan.arms):
        raise CountError(f"no arm asks {called(tuple(names))} of the same people: {_arms_with(plan, names)}")
    return tuple(names)


def check_different(names: Any) -> None:
    """Refuse what are not the names of one or more different features."""
    if (
        isinstance(names, str)
        or not isinstance(names, Sequence)
        or not names
        or not all(isinstance(name, str) for name in names)
        or len(set(names)) < len(names)
    ):
        raise CountError(f"a table is of one or more different features, by their names; found {abbreviated(names)}")


def _arms_with(plan: Plan, names: Sequence[str]) -> str:
    """Which arms ask what part of a table, in words."""
    parts: dict[str, list[str]] = {}
    for own, arm in zip(plan.arm_names, plan.arms, strict=True):
        if part := [name for name in names if name in arm]:
            parts.setdefault(called(tuple(part)), []).append(own)
    largest = sorted(parts.items(), key=lambda one: -one[0].count(TIMES))
    return "; ".join(f"{part} is asked in {listed(arms)}" for part, arms in largest)


def _unit(plan: Plan, part: Any) -> str:
    """The name of the unit that a feature's name, a unit's own name, or the names of a block's features mean."""
    if isinstance(part, str) and part in plan.units.schema:
        return part
    names = (part,) if isinstance(part, str) else tuple(part) if isinstance(part, Sequence) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise CountError(f"a table is of one or more different features, by their names; found {abbreviated(part)}")
    for name in names:
        plan.schema.index(name)
    block = next(block for block in plan.blocks if names[0] in block.names)
    if set(block.names) == set(names):
        return block.unit.name
    if len(block.features) == 1:
        raise CountError(
            f"{called(names)} is no block of this plan; features are named each by itself, blocks by their names"
        )
    raise CountError(
        f"{called(names)} is not counted by itself: it is asked as the block {block.names}, which is one axis of counts"
    )


def _checked(given: npt.ArrayLike, shape: tuple[int, ...], what: str) -> Array:
    """An int64 copy with this shape, nothing negative and no count above its margin."""
    array = _checked_numbers(given, shape, what, ", one more than the evidence columns")
    for axis in range(len(shape)):
        if _above_margin(array, axis):
            above = np.argwhere(array > np.take(array, [0], axis))[0]
            at = tuple(int(i) for i in above)
            margin = (*at[:axis], 0, *at[axis + 1 :])
            raise CountError(f"{what}: the count {array[at]} at {at} exceeds its margin {array[margin]} at {margin}")
    return array


def _above_margin(array: Array, axis: int) -> bool:
    """Whether any count exceeds its margin along an axis: a line at once, or, where there are many, slab by slab."""
    if array.ndim == 1:
        return bool((array[1:] > array[0]).any())
    margins = slabs(array, axis, 0)
    return any(
        (count > margin).any()
        for v in range(1, array.shape[axis])
        for count, margin in zip(slabs(array, axis, v), margins, strict=True)
    )


def _checked_numbers(given: npt.ArrayLike, shape: tuple[int, ...], what: str, why: str = "") -> Array:
    """An int64 copy with this shape, nothing negative."""
    try:
        array = np.asarray(given)
    except ValueError:
        raise CountError(f"{what} must be an array of shape {shape}; found {abbreviated(given)}") from None
    if array.shape != shape:
        raise CountError(f"{what} must have shape {shape}{why}; found {array.shape}")
    if array.dtype.kind not in "iu" or (array.dtype == np.uint64 and array.size and array.max() > MOST):
        raise CountError(f"{what} must hold 64-bit integers; found {array.dtype}")
    array = array.astype(np.int64, order="C")
    if array.size and array.min() < 0:
        at = tuple(int(i) for i in np.argwhere(array < 0)[0])
        raise CountError(f"{what} must not be negative; found {array[at]} at {at}")
    return array


def checked_moments(plan: Plan, given: npt.ArrayLike) -> Array:
    """All pairs or triples of evidence columns, checked."""
    size = 1 + sum(protocol.columns for protocol in plan.protocols)
    order = np.ndim(given)
    if order not in (2, 3):
        raise CountError(f"moments are of order 2 or 3; found {order}")
    array = _checked(given, (size,) * order, f"the moments of order {order}")
    if any(not np.array_equal(array, array.swapaxes(*axes)) for axes in combinations(range(order), 2)):
        raise CountError(f"the moments of order {order} must be symmetric")
    pairs = array if order == 2 else array[..., 0]
    if not np.array_equal(np.diagonal(pairs), pairs[0]):
        raise CountError(f"in the moments of order {order} a column must occur with itself as often as alone")
    for name in plan.units.schema.names:
        _check_marked(plan, name, array[[0, *column_places(plan, name)]], f"the moments of order {order}")
    return frozen(array)


def check_total(first: int, second: int) -> None:
    """Refuse more reports than can be counted."""
    if second > MOST - first:
        raise CountError(f"{first} and {second} reports are more than 64-bit integers can count")


def check_one_plan(first: Plan, second: Plan) -> None:
    """Refuse to add counts of two plans."""
    if first != second:
        raise CountError(
            f"counts of different plans do not add: {first.fingerprint} and {second.fingerprint}; estimates of several "
            "plans take them as a list"
        )
