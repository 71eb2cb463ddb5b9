"""Damaged files of every kind are refused in the library's own words, and hardly ever read as other data.

`DENIABLE_DAMAGED_FILES=20000 pytest -s tests/test_damaged_files.py` damages as many of each kind, and prints the table.
"""

import os
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import deniable as dn
from tests.support.damaged_files import DIFFERENT, UNDECLARED, Kind, outcomes, table

TIMES = int(os.environ.get("DENIABLE_DAMAGED_FILES", "300"))  # Damaged files of each kind.
MOST_DIFFERENT = 1 / 1000  # The share of damaged files that may be read as other data without a word.

SCHEMA = dn.Schema([
    dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-44", "45-64", "65+"]), dn.Choice("city", ["A", "B", "C"]),
    dn.Choice("wave", ["1", "2"]),
])  # fmt: skip
PROTOCOLS = {
    "smoker": dn.RandomizedResponse(epsilon=1.0), "age": dn.GRR(epsilon=1.0), "city": dn.LocalHashing(epsilon=1.0),
    "wave": dn.Public(),
}  # fmt: skip
ALONE = dn.Plan(SCHEMA, PROTOCOLS)
ARMS = dn.Plan(SCHEMA, epsilon=2.0, arms=[["smoker", "age"], ["smoker", "city"], ["wave"]])


def answers(n: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(7)
    values = {"age": ["18-29", "30-44", "45-64", "65+"], "city": ["A", "B", "C"], "wave": ["1", "2"]}
    chosen = {name: [own[i] for i in rng.integers(len(own), size=n)] for name, own in values.items()}
    return {"smoker": [bool(bit) for bit in rng.integers(2, size=n)], **chosen}


def saved(save: Any, ending: str) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"file{ending}"
        save(path)
        return path.read_bytes()


def read_answers(path: Path) -> dn.Counts:
    """Counts of what answers become without randomness: every feature public."""
    public = dn.Plan(SCHEMA, dict.fromkeys(SCHEMA.names, dn.Public()))
    return dn.count(dn.randomize(path, public), order=2)


def csv(path: Path) -> None:
    columns = answers(60)
    rows = zip(*(map(str, own) for own in columns.values()), strict=True)
    path.write_text("\n".join([",".join(columns), *map(",".join, rows)]) + "\n")


def answers_parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(answers(60)), path, write_page_checksum=True)


SURVEY = """[[features]]
name = "smoker"
[[features]]
name = "age"
values = ["18-29", "30-44", "45-64", "65+"]
[[features]]
name = "income"
edges = [0, 10, 20, inf]
"""


@cache
def kinds() -> dict[str, Kind]:
    """Every kind of file that is read. Of text the data are what it says: it has no checksum, so is not compared."""
    rng = np.random.default_rng(1)
    alone, arms = (dn.randomize(answers(400), plan, rng=rng) for plan in (ALONE, ARMS))
    return {
        "reports": Kind(".parquet", saved(alone.save, ".parquet"), dn.Reports.load),
        "reports, arms": Kind(".parquet", saved(arms.save, ".parquet"), dn.Reports.load),
        "reports, counted": Kind(".parquet", saved(alone.save, ".parquet"), lambda path: dn.count(path, order=2)),
        "arms, counted": Kind(".parquet", saved(arms.save, ".parquet"), dn.count),
        "counts": Kind(".npz", saved(dn.count(alone, [["smoker", "age"], ["city"]]).save, ".npz"), dn.Counts.load),
        "counts, arms": Kind(".npz", saved(dn.count(arms).save, ".npz"), dn.Counts.load),
        "plan": Kind(".json", saved(ARMS.save, ".json"), dn.Plan.load),
        "answers.csv": Kind(".csv", saved(csv, ".csv"), read_answers),
        "answers.parquet": Kind(".parquet", saved(answers_parquet, ".parquet"), read_answers),
        "survey.toml": Kind(".toml", SURVEY.encode(), dn.Schema.load),
    }


# Text that people write has no checksum: what it says is what is meant, and other text means something else.
TEXT = ("answers.csv", "survey.toml", "plan", "answers.parquet")
FOUND: dict[str, Counter[tuple[str, str]]] = {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", kinds())
def test_damage_is_refused_by_name(name: str) -> None:
    found, undeclared = outcomes(kinds()[name], TIMES, seed=len(name))
    FOUND[name] = found
    assert undeclared == []
    different = sum(times for (_, outcome), times in found.items() if outcome == DIFFERENT)
    if name not in TEXT:
        assert different <= MOST_DIFFERENT * TIMES, table({name: found})


def test_print_what_was_found() -> None:
    print("\n" + table(FOUND))
    assert all(not found[damage, UNDECLARED] for found in FOUND.values() for damage, _ in found)
