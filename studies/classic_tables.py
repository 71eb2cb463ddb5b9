"""Two classic tables of answers, nltcs.csv and adult.csv, in a folder that DENIABLE_DATA names.

Their cells are whole numbers from 0 on, below a header line. They are not ours to hand on.
"""

import csv
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

TABLES = ("nltcs", "adult")


def at_hand() -> bool:
    """Whether the tables are there."""
    folder = os.environ.get("DENIABLE_DATA")
    return folder is not None and all((Path(folder) / f"{table}.csv").exists() for table in TABLES)


def say_left_out(what: str) -> None:
    """Print one line about what cannot be measured without the tables."""
    files = " and ".join(f"{table}.csv" for table in TABLES)
    print(f"\nLeft out: {what}; DENIABLE_DATA does not name a folder with {files}")


@cache
def rows_of(table: str) -> Any:
    """The rows of a table, as an array of whole numbers."""
    with (Path(os.environ["DENIABLE_DATA"]) / f"{table}.csv").open(encoding="utf-8") as file:
        return np.array([[int(cell) for cell in row] for row in list(csv.reader(file))[1:]])
