"""The settings in which everybody is compared: data, number of respondents, epsilon; and the tables looked at."""

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import prod

import numpy as np

from studies.classic_tables import rows_of
from studies.rivals.of_flags import Array, Columns
from studies.rivals.sampled_tables import Rows, cells_of

EPSILONS = (1.0, 4.0, 2.0, 0.5)
# Up to so many tables of each order are looked at, the same in all surveys.
TABLES = 6
DATA: dict[str, tuple[str, Columns]] = {
    "nltcs": ("nltcs", tuple(range(16))),
    "adult, 5": ("adult", (7, 8, 9, 10, 14)),
    "adult, 8": ("adult", (1, 5, 6, 7, 8, 9, 10, 14)),
}

__all__ = ["DATA", "EPSILONS", "Setting", "truths_of"]


@dataclass(frozen=True)
class Setting:
    """Data, how many times as many respondents as it has rows, and epsilon."""

    data: str
    times: int
    epsilon: float

    @property
    def levels(self) -> tuple[int, ...]:
        """How many answers each question has."""
        return tuple(int(top) + 1 for top in true_rows(self.data).max(axis=0))

    @property
    def wide(self) -> bool:
        """Whether there are more than five questions that have more than two answers."""
        return len(self.levels) > 5 and max(self.levels) > 2

    def __str__(self) -> str:
        n = self.times * len(true_rows(self.data))
        return f"{self.data} questions, N = {n:,}, epsilon {self.epsilon:g}".replace("nltcs", "nltcs, 16")


@cache
def true_rows(data: str) -> Rows:
    """The true answers, respondents by questions."""
    table, columns = DATA[data]
    return np.asarray(rows_of(table)[:, list(columns)].astype(np.int64))


@cache
def truths_of(data: str, k: int) -> list[tuple[Columns, Array]]:
    """The tables of k questions that are looked at, with their true shares."""
    rows = true_rows(data)
    levels = tuple(int(top) + 1 for top in rows.max(axis=0))
    every = list(combinations(range(len(levels)), k))
    chosen = np.random.default_rng(2).choice(len(every), min(TABLES, len(every)), replace=False)
    return [(every[j], _shares(rows, levels, every[j])) for j in chosen]


def _shares(rows: Rows, levels: tuple[int, ...], columns: Columns) -> Array:
    cells = prod(levels[column] for column in columns)
    return np.asarray(np.bincount(cells_of(rows, levels, columns), minlength=cells) / len(rows))
