"""One process, Dask, Spark, duckdb and PostgreSQL beside each other: the same counts, cell by cell.

`make test-engines` has 20 million reports of each plan (`DENIABLE_ENGINE_REPORTS`), a million in PostgreSQL.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

import deniable as dn
from deniable.counts import on_engine
from tests.collect.conftest import database, postgres  # noqa: F401 - fixtures
from tests.support.databases import in_postgres
from tests.support.designs import DESIGNS
from tests.support.engines import dask_client, killing_once
from tests.support.situations import values
from tests.support.surveys import skewed_reports

pytestmark = pytest.mark.filterwarnings("ignore")  # pyspark has many
REPORTS = int(os.environ.get("DENIABLE_ENGINE_REPORTS", "9000"))
FILES = 20
IN_POSTGRES = min(REPORTS, 1_000_000)

PLANS = {
    "every protocol": dn.Plan(
        dn.Schema(
            [
                dn.Flag("flag"), dn.Choice("grr", values(5)), dn.Choice("oue", values(4)), dn.Choice("sue", values(3)),
                dn.Choice("hash", values(6)), dn.Choice("sets", values(5)), dn.Choice("group", values(2)),
            ]
        ),
        {
            "flag": dn.RandomizedResponse(epsilon=0.5), "grr": dn.GRR(epsilon=1.0),
            "oue": dn.UnaryEncoding.optimized(2.0), "sue": dn.UnaryEncoding.symmetric(1.0),
            "hash": dn.LocalHashing(epsilon=2.0, buckets=4), "sets": dn.SubsetSelection(epsilon=1.0, size=2),
            "group": dn.Public(),
        },
    ),
}  # fmt: skip
for design in ("blocks of every protocol", "arms of unequal length", "arms of several blocks"):
    PLANS[design] = DESIGNS[design]


@dataclass(frozen=True)
class Stored:
    """Reports of a plan in files, and what one process counts in them."""

    plan: dn.Plan
    files: list[str]
    pairs: dn.Counts
    whole: dn.Counts


@pytest.fixture(scope="module", params=PLANS.values(), ids=PLANS.keys())
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    folder = tmp_path_factory.mktemp("reports")
    files = [str(folder / f"{place:02}.parquet") for place in range(FILES)]
    each = REPORTS // FILES
    table = skewed_reports(request.param, 2 * each).table
    for place, file in enumerate(files):  # they overlap, as drawing takes longer than counting, and no two are alike
        dn.Reports(request.param, table.slice(place * each // FILES, each)).save(file)
    yield Stored(request.param, files, dn.count(files, order=2), dn.count(files))
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with dask_client() as one:
        yield one


def chained(plan: dn.Plan) -> list[list[str]]:
    """Each question with one that some arm asks, too: a query reads all reports once for each of these."""
    asked = [arm.schema.names for arm in plan.arms]
    pairs = ([own[place - 1], name] if len(own) > 1 else [name] for own in asked for place, name in enumerate(own))
    return [list(one) for one in dict.fromkeys(map(tuple, pairs))]


def test_one_process_counts_all(stored: Stored) -> None:
    """And as the sum of its files, which are not alike."""
    assert stored.pairs.n == stored.whole.n == REPORTS // FILES * FILES
    first, *others = (dn.count(dn.Reports.load(file), order=2) for file in stored.files)
    assert first != others[0]
    assert sum(others, start=first) == stored.pairs


def test_dask(stored: Stored, client: Any) -> None:
    assert dn.count(stored.files, order=2, engine=client) == stored.pairs
    assert dn.count(stored.files, engine=client) == stored.whole


def test_spark(stored: Stored, spark: Any) -> None:
    assert dn.count(stored.files, order=2, engine=spark) == stored.pairs
    assert dn.count(stored.files, engine=spark) == stored.whole


@pytest.mark.parametrize("engine", ["client", "spark"])
def test_a_worker_is_killed(
    stored: Stored, engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mark := Path(stored.files[0]).parent / "killed").unlink(missing_ok=True)
    monkeypatch.setattr(on_engine, "tally_of", killing_once)
    assert dn.count(stored.files, order=2, engine=request.getfixturevalue(engine)) == stored.pairs
    assert mark.exists()


def test_duckdb(stored: Stored) -> None:
    import duckdb

    table, names = f"read_parquet('{Path(stored.files[0]).parent}/*.parquet')", chained(stored.plan)
    found = duckdb.sql(dn.sql(stored.plan, names, table=table)).to_arrow_table()
    assert dn.count_patterns(stored.plan, found) == dn.count(stored.files, names)


def test_postgres(stored: Stored, database: str) -> None:  # noqa: F811
    reports, names = skewed_reports(stored.plan, IN_POSTGRES), chained(stored.plan)
    with psycopg.connect(database, autocommit=True, row_factory=dict_row) as connection:
        rows = in_postgres(connection, reports, [])(dn.sql(stored.plan, names, dialect="postgres"))
    assert dn.count_patterns(stored.plan, rows) == dn.count(reports, names)
