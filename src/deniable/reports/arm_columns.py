"""The columns of a wide table: reports of a plan with arms, with a column for the arm and nulls for what is not asked.

A block that several arms ask alike is shown once, in the same columns for all of them. Columns of different blocks that
would have the same name get a number behind it: `smoker`, `smoker (2)`. The arm's column is `arm`, or `arm (2)` if a
question is called that.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deniable.errors import PlanError, abbreviated, listed, meant
from deniable.reports.fields import Field, fields
from deniable.reports.report_columns import Column, is_text, whole
from deniable.survey.blocks import Block
from deniable.survey.plan import Plan

ARM = "arm"  # The column that says each report's arm is called this, unless a question's column is.
ARM_TYPE = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, eq=False)
class ArmColumns:
    """The columns of a wide table: the arm's, and of each arm its fields, whose columns have their wide names."""

    arm: str
    fields: tuple[tuple[Field, ...], ...]

    @cached_property
    def columns(self) -> dict[str, Column]:
        """All columns but the arm's, by their wide names."""
        return {column.name: column for own in self.fields for field in own for column in field.columns}

    @cached_property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The wide names of each arm's columns, in the order in which `columns_of` has them."""
        return tuple(tuple(name for field in own for name in field.names) for own in self.fields)

    @cached_property
    def asked_in(self) -> dict[str, list[int]]:
        """The numbers of the arms that ask what a column shows."""
        asked: dict[str, list[int]] = {name: [] for name in self.columns}
        for number, names in enumerate(self.names):
            for name in names:
                asked[name].append(number)
        return asked

    @property
    def schema(self) -> Any:
        """The Arrow schema of a wide table."""
        return pa.schema([(self.arm, ARM_TYPE), *((name, column.type) for name, column in self.columns.items())])


@lru_cache(maxsize=16)
def arm_columns(plan: Plan) -> ArmColumns:
    """The columns of a plan's wide table."""
    taken: set[str] = set()
    wide: dict[Block, Field] = {}
    for block, field in _blocks(plan):
        if block not in wide:
            columns = tuple(replace(column, name=_free(column.name, taken)) for column in field.columns)
            wide[block] = replace(field, columns=columns)
    return ArmColumns(_free(ARM, taken), tuple(tuple(wide[block] for block in arm.blocks) for arm in plan.arms))


def _blocks(plan: Plan) -> Iterator[tuple[Block, Field]]:
    """The blocks of all arms, with their fields."""
    for arm in plan.arms:
        yield from zip(arm.blocks, fields(arm).values(), strict=True)


def _free(name: str, taken: set[str]) -> str:
    """The name, with the lowest number behind it that makes it differ from all before; from now on it is taken."""
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    taken.add(free)
    return free


def arm_numbers(plan: Plan, column: Any) -> npt.NDArray[np.int64] | None:
    """The number of the arm that each text of a column names, -1 for null and unknown ones; None if it is not text."""
    if isinstance(column, list):
        return None
    column = whole(column)
    if pa.types.is_null(column.type):
        return np.full(len(column), -1)
    texts = column.dictionary if pa.types.is_dictionary(column.type) else column
    if not is_text(texts.type):
        return None
    numbers = pc.index_in(texts.cast(pa.string()), pa.array(plan.arm_names))
    numbers = numbers if texts is column else numbers.take(column.indices)
    return np.asarray(numbers.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def no_arm(plan: Plan, found: str | None, of: str) -> str:
    """What is wrong with text that names no arm of a plan, where each report (or record) has one."""
    arms = f"its arms are {listed(plan.arm_names)}"
    if found is None:
        return f"null; every {of} has an arm; {arms}"
    return f"{abbreviated(found)} is no arm of this plan; {arms}{meant(found, plan.arm_names)}"


def checked_arm(plan: Plan, arm: Any) -> str | None:
    """The column that names each record's arm; refuse one that is not needed, or is missing."""
    if arm is None and plan.assigned:
        raise PlanError(
            "the arms of this plan are not drawn, they are assigned to respondents; say which column holds the name of "
            "each record's arm: randomize(..., arm='arm')"
        )
    if arm is not None and not plan.has_arms:
        raise PlanError(
            f"this plan has no arms, but a column of their names is given, arm={abbreviated(arm)}; leave it out"
        )
    if not isinstance(arm, str | None):
        raise PlanError(f"arm is the name of the column that holds each record's arm; found {abbreviated(arm)}")
    return arm
