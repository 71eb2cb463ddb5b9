"""How counts are laid out: shapes, the place of each evidence column, and what tables are called.

Counts are of units (`Plan.units`): features that are asked alone, and blocks as one choice each. Names here are those
of units.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from deniable.survey.blocks import TIMES
from deniable.survey.plan import Plan

Array = npt.NDArray[np.int64]
Names = tuple[str, ...]

MOST = np.iinfo(np.int64).max  # The most reports that can be counted.
MOST_PATTERNS = 1 << 22  # A table's patterns are kept if they are no more than this: 32 MB.
MOST_OF_ONE = 1 << 12  # A feature's patterns are kept if they are no more than this: 12 values.


@dataclass(frozen=True)
class Repeats:
    """How many runs of reports were looked at while they were counted, and how many of these stood there before."""

    looked: int = 0
    found: int = 0

    def __add__(self, other: "Repeats") -> "Repeats":
        return Repeats(self.looked + other.looked, self.found + other.found)


UNKNOWN = Repeats()  # of counts in which nobody looked


def patterns_shape(plan: Plan, names: Names) -> tuple[int, ...] | None:
    """How many patterns each feature can show; None if that is too many to count them."""
    shape = [plan.units[name].pattern_count for name in names]
    return None if max(shape) > MOST_OF_ONE or prod(shape) > MOST_PATTERNS else tuple(shape)


def column_places(plan: Plan, name: str) -> range:
    """Where a feature's evidence columns stand among (all reports, every evidence column)."""
    place = plan.units.schema.index(name)
    first = 1 + sum(protocol.columns for protocol in plan.protocols[:place])
    return range(first, first + plan.protocols[place].columns)


def slabs(array: Array, axis: int, index: int) -> list[Array]:
    """Views of all cells with this index on an axis, in pieces whose innermost loop is long: numpy pays for each."""
    inner = prod(array.shape[axis + 1 :])
    cube = array.reshape(-1, array.shape[axis], inner)
    return [cube[:, index]] if inner >= 16 else [cube[:, index, j] for j in range(inner)]


def frozen(array: Array) -> Array:
    """The same array, which can no longer be written to."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def called(names: Names) -> str:
    """What a table is called in messages."""
    return TIMES.join(names)


def in_print(plan: Plan, names: Names) -> str:
    """What a table of a plan without arms is called in print, in which blocks have the names of their questions."""
    blocks = {block.unit.name: block.name for block in plan.blocks}
    return called(tuple(blocks.get(name, name) for name in names))
