"""Which arm each record is of, and the codes of what that arm asks: answers to other questions are not looked at."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.errors import AnswerError, listed
from deniable.kernels.perturb import Codes, Draws
from deniable.reports.arm_columns import arm_numbers, no_arm
from deniable.reports.arm_groups import ArmGroups
from deniable.reports.reading.columns import codes as codes_of
from deniable.reports.report_columns import whole
from deniable.survey.plan import Plan

Numbers = npt.NDArray[np.integer[Any]]


def drawn_arms(plan: Plan, count: int, draws: Draws) -> npt.NDArray[np.uint16]:
    """The number of each record's arm, from one draw each: the first arm whose cumulated shares exceed the draw."""
    arms = np.repeat(np.arange(len(plan.shares), dtype=np.uint16), plan.shares)  # of each of the 65 536 draws
    return arms[draws(count)]


def given_arms(plan: Plan, name: str, column: Any, first_row: int = 0) -> npt.NDArray[np.int64]:
    """The number of each record's arm, from a column that names it."""
    numbers = arm_numbers(plan, column)
    if numbers is None:
        found = getattr(column, "type", "answers of several types")
        raise AnswerError(f"column {name!r} must be text, the name of each record's arm; found {found}")
    if len(numbers) and numbers.min() < 0:
        row = int(numbers.argmin())
        what = no_arm(plan, column[row].as_py(), "record")
        raise AnswerError(f"row {first_row + row} (counted from 0), column {name!r}: {what}")
    return numbers


def asked_codes(
    plan: Plan, columns: Mapping[str, Any], numbers: Numbers, first_row: int = 0, na: Sequence[str] = ()
) -> list[dict[str, Codes]]:
    """The codes of what each arm asks, by the features' names, for the records of that arm, in order.

    Each feature is encoded once, for all records that were asked, arm by arm; an error names the row in the data.
    """
    codes: list[dict[str, Codes]] = [{} for _ in plan.arms]
    groups = ArmGroups.of(numbers, len(plan.arms))
    asked: dict[str, list[int]] = {name: [] for name in plan.schema.names}
    for number in groups.present:
        for name in plan.arms[number].schema.names:
            asked[name].append(number)
    for name, arms in asked.items():
        if not arms:
            continue
        if name not in columns:
            what = f"column {name!r} is missing, and arm {plan.arm_names[arms[0]]!r} asks it"
            raise AnswerError(f"{what}; found {listed(columns)}")
        rows = np.concatenate([groups.rows(number) for number in arms])
        own = codes_of(plan.schema[name], taken(columns[name], rows), first_row + rows, na)
        ends = np.cumsum([groups.size(number) for number in arms])
        for number, those in zip(arms, np.split(own, ends[:-1]), strict=True):
            codes[number][name] = those
    return codes


def taken(column: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Some rows of a column, an Arrow array or a list."""
    return [column[row] for row in rows] if isinstance(column, list) else whole(column).take(pa.array(rows))


def combined_codes(codes: Sequence[Codes], levels: Sequence[int]) -> Codes:
    """The codes of a block: those of its features as digits, the first changing slowest."""
    first, *others = codes
    if not others:
        return first
    narrow = np.dtype(np.int8 if prod(levels) <= 1 << 7 else np.int16)  # a block has at most 4 096 combinations
    total: Codes = first.astype(narrow)
    for own, base in zip(others, levels[1:], strict=True):
        total = total * narrow.type(base) + own.astype(narrow, copy=False)
    return total
