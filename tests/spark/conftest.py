"""A Spark session for the tests of `make test-spark`; without it they are left out, as pyspark is half a gigabyte."""

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

if "DENIABLE_SPARK" not in os.environ:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Two workers in processes of their own, whose tasks may fail three times."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers are run by whichever python3 is first in the path
    builder = SparkSession.builder.master("local[2,4]").appName("tests")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.python.worker.reuse": "true",
        "spark.sql.ansi.enabled": "true",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
