"""Reports or records sorted into arms: which rows are of which arm, in their own order within each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deniable.reports.report_columns import Place

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ArmGroups:
    """Rows by arm: those of arm k stand in `order` from `starts[k]` on; without an order they stand so already."""

    starts: Rows
    order: Rows | None

    @classmethod
    def of(cls, numbers: npt.NDArray[Any], arms: int) -> "ArmGroups":
        """The groups of rows whose arms have these numbers."""
        small = numbers.astype(np.uint16, copy=False)  # which numpy sorts by its digits, and there are no more arms
        starts = np.zeros(arms + 1, np.int64)
        np.cumsum(np.bincount(small, minlength=arms), out=starts[1:])
        stand = bool((small[1:] >= small[:-1]).all())
        return cls(starts, None if stand else np.argsort(small, kind="stable"))

    @property
    def present(self) -> list[int]:
        """The arms that have any rows."""
        return [int(number) for number in np.flatnonzero(np.diff(self.starts))]

    def size(self, number: int) -> int:
        """How many rows an arm has."""
        return int(self.starts[number + 1] - self.starts[number])

    def rows(self, number: int) -> Rows:
        """The rows of an arm, in order."""
        start, stop = self.starts[number], self.starts[number + 1]
        return np.arange(start, stop) if self.order is None else self.order[start:stop]

    def place(self, number: int, first: int = 0) -> Place:
        """The numbers of an arm's rows, as errors name them, if the first row of all has the number `first`."""
        return first + (int(self.starts[number]) if self.order is None else self.rows(number))

    def array(self, values: npt.NDArray[Any], number: int) -> npt.NDArray[Any]:
        """An arm's rows of a numpy array."""
        if self.order is None:
            return values[self.starts[number] : self.starts[number + 1]]
        return values[self.rows(number)]

    def column(self, column: Any, number: int) -> Any:
        """An arm's rows of an Arrow column."""
        if self.order is None:
            return column.slice(self.starts[number], self.size(number))
        return column.take(pa.array(self.rows(number)))
