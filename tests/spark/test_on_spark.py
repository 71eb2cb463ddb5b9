"""Counting on Spark, by tasks and by SQL: every cell as one process has it."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import pytest

import deniable as dn
from deniable.counts import on_engine
from deniable.reports.engines import on_spark
from deniable.reports.engines.on_spark import SparkEngine
from tests.counts.test_on_dask import NEARLY_OPEN, check_randomized
from tests.counts.test_warehouse import AWKWARD, EVERY, awkward, check_awkward, some_sets
from tests.support.databases import TABLES
from tests.support.designs import DESIGNS
from tests.support.engines import (
    EDGES,
    TWO_FLAGS,
    check_edges,
    failing_first,
    killing_once,
    outlasting,
    reports_in,
    unhurried,
)
from tests.support.situations import MIXED
from tests.support.surveys import some_reports

pytestmark = pytest.mark.filterwarnings("ignore")  # pyspark has many
REPORTS = some_reports(MIXED, 2000)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(on_engine, "FILES_EACH", 2)  # or the driver would describe so few
    return reports_in(tmp_path, REPORTS, [0, 137, 900], 100)


def test_every_cell_is_as_one_process_has_it(spark: Any, files: list[str]) -> None:
    for asked in ({"order": 2}, {"names": ["oue", "hash", "grr"]}):
        assert dn.count(files, engine=spark, **asked) == dn.count(REPORTS, **asked)


def test_arms_and_blocks_too(spark: Any, tmp_path: Path) -> None:
    for name in ("arms of unequal length", "blocks of every protocol"):
        (folder := tmp_path / name.replace(" ", "_")).mkdir()
        reports = some_reports(DESIGNS[name], 700)
        assert dn.count(reports_in(folder, reports, [0, 300], 64), engine=spark) == dn.count(reports)


def test_a_killed_worker_changes_nothing(spark: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_engine, "tally_of", killing_once)
    assert dn.count(files, order=2, engine=spark) == dn.count(REPORTS, order=2)
    assert (Path(files[0]).parent / "killed").exists()


def test_files_that_change_or_vanish_are_named(spark: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    described = on_engine.total

    def then(what: Any) -> Any:
        """Something happens between the description of files and the counting."""

        def total(engine: Any, function: Any, *rest: Any) -> Any:
            found = described(engine, function, *rest)
            if function is on_engine.described:
                what()
            return found

        return total

    for what, match in (
        (lambda: some_reports(MIXED, 50).save(files[1]), f"{files[1]}: has changed since counting began"),
        (Path(files[2]).unlink, f"{files[2]}: was there when counting began, .* Was it removed"),
    ):
        monkeypatch.setattr(on_engine, "total", then(what))
        with pytest.raises(dn.ReportError, match=match):
            dn.count(files, order=2, engine=spark)


def test_ctrl_c_stops_the_tasks_of_the_cluster(spark: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_engine, "tally_of", outlasting)
    folder = Path(files[0]).parent
    interrupting = Thread(target=_interrupt_after, args=(folder,))
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        dn.count(files, order=2, engine=spark)
    interrupting.join()
    check_stopped(spark, folder)


def test_another_job_of_the_session_goes_on(spark: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Cancelling ends the jobs of one count alone; Ctrl-C itself, as Spark handles it, ends all."""
    monkeypatch.setattr(on_engine, "tally_of", outlasting)
    context = spark.sparkContext
    folder = Path(files[0]).parent
    run = SparkEngine(spark).start(outlasting, (MIXED, None, 2), parts_in(files))
    wait_for(folder)
    other: list[int] = []
    beside = Thread(target=lambda: other.append(context.parallelize(range(4), 2).map(lambda x: x).sum()))
    beside.start()
    run.cancel()
    beside.join()
    assert other == [6]
    check_stopped(spark, folder)


def test_an_error_stops_the_other_tasks(spark: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_engine, "tally_of", failing_first)
    monkeypatch.setattr(on_engine, "PARTS_EACH", 8)
    with pytest.raises(dn.ReportError, match="part1.parquet: is not as it should be"):
        dn.count(files, order=2, engine=spark)
    check_stopped(spark, Path(files[0]).parent)


def parts_in(files: list[str]) -> list[on_engine.Part]:
    return on_engine.parts_of(on_engine.described(None, [Path(file) for file in files]).files, 2, 1 << 24)


def check_stopped(spark: Any, folder: Path) -> None:
    """No job is left; tasks that had begun are killed, not waited for, and none begins after them."""
    tracker = spark.sparkContext.statusTracker()
    for _ in range(20):  # Spark's tracker is a little late
        if not tracker.getActiveJobsIds():
            break
        time.sleep(0.1)
    assert not tracker.getActiveJobsIds()
    time.sleep(2)  # on a busy machine a worker may only now begin what it was handed before
    begun = len(list(folder.glob("*.began*")))
    time.sleep(8)
    assert len(list(folder.glob("*.began*"))) == begun <= 2
    assert not list(folder.glob("*.ended*"))


def wait_for(folder: Path) -> None:
    """Until a task has begun."""
    for _ in range(300):
        if any(folder.glob("*.began*")):
            return
        time.sleep(0.1)


def _interrupt_after(folder: Path) -> None:
    """Ctrl-C, once a task has begun."""
    wait_for(folder)
    os.kill(os.getpid(), signal.SIGINT)


def test_progress_is_told_in_the_driver(spark: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stderr", shown := Terminal())
    monkeypatch.setattr("deniable.text.progress.EVERY", 0)
    monkeypatch.setattr("deniable.text.progress.is_terminal", lambda _: True)
    monkeypatch.setattr("deniable.reports.engines.on_spark.EVERY", 0.02)
    monkeypatch.setattr(on_engine, "LEAST", 0)  # as if there were much to count
    monkeypatch.setattr(on_engine, "PARTS_EACH", 8)
    monkeypatch.setattr(on_engine, "tally_of", unhurried)
    dn.count(files, order=2, engine=spark)
    lines = shown.getvalue().split("\r\033[K")[1:]
    rows = [int(line.split()[0].replace(",", "")) for line in lines]
    assert rows == sorted(rows)
    assert rows[-1] == 2000
    assert len(set(rows)) >= 4  # on the way too, as tasks end
    for line in lines[:-1]:
        assert re.fullmatch(r"[\d,]+ reports counted, [\d,]+ per second, [\d,]+ s left", line)


def test_workers_without_this_package_are_told_of() -> None:
    """In a process of its own, as a session's Python is set once."""
    code = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.argv[1]
import deniable as dn
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
try:
    dn.count(sys.argv[2], order=2, engine=spark)
except dn.DeniableError as error:
    print("said:", error)
"""
    with TemporaryDirectory() as folder:
        bare = Path(folder) / "bare"
        bare.write_text(f'#!/bin/sh\nexec {sys._base_executable} -S "$@"\n')
        bare.chmod(0o755)
        REPORTS.save(Path(folder) / "r.parquet")
        command = [sys.executable, "-c", code, str(bare), str(Path(folder) / "r.parquet")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "said: Spark's workers run another Python, without what is needed (ModuleNotFoundError" in done.stdout
    assert "PYSPARK_PYTHON" in done.stdout


def test_what_spark_wrote_is_counted_by_a_given_plan(spark: Any, files: list[str], tmp_path: Path) -> None:
    spark.read.parquet(*files).write.parquet(str(tmp_path / "rewritten"))
    rewritten = str(tmp_path / "rewritten")
    with pytest.raises(dn.ReportError, match="no plan in its metadata"):
        dn.count(rewritten, order=2, engine=spark)
    assert dn.count(rewritten, order=2, engine=spark, plan=MIXED) == dn.count(REPORTS, order=2)


@pytest.mark.parametrize(
    "name",
    [
        "everything mixed", "subsets", "odd names", "multi-select and ranges", "40 values, unary",
        "blocks of every protocol", "arms of unequal length", "two arms", "hashing two values",
    ],
)  # fmt: skip
def test_sql_counts_every_cell_as_count_does(name: str, spark: Any, tmp_path: Path) -> None:
    plan = EVERY[name]
    reports = some_reports(plan, 100)
    reports.save(tmp_path / "r.parquet")
    spark.read.parquet(str(tmp_path / "r.parquet")).createOrReplaceTempView("reports")
    rows = [(report,) for report in reports.to_bytes()]
    spark.createDataFrame(rows, "report binary").createOrReplaceTempView("packed")
    names = some_sets(plan)[0]
    for where in TABLES:
        found = spark.sql(dn.sql(plan, names, dialect="spark", **where)).collect()
        assert dn.count_patterns(plan, found) == dn.count(reports, names)


@pytest.mark.parametrize("names", AWKWARD, ids=["places", "own", "signs", "letters"])
def test_awkward_names_are_told_apart(names: list[str], spark: Any, tmp_path: Path) -> None:
    reports = awkward([name for place, name in enumerate(names) if name.lower() not in map(str.lower, names[:place])])
    reports.save(tmp_path / "r.parquet")
    spark.read.parquet(str(tmp_path / "r.parquet")).createOrReplaceTempView("reports")
    spark.createDataFrame([(one,) for one in reports.to_bytes()], "report binary").createOrReplaceTempView("packed")
    check_awkward(reports, lambda query: spark.sql(query).collect(), "spark")


def test_columns_that_differ_in_case_alone_are_refused_by_spark(spark: Any, tmp_path: Path) -> None:
    """It says so itself, where duckdb would read the first of them for both."""
    awkward(["A", "a"]).save(tmp_path / "r.parquet")
    with pytest.raises(Exception, match="COLUMN_ALREADY_EXISTS"):
        spark.read.parquet(str(tmp_path / "r.parquet")).collect()


def test_a_worker_of_another_version_is_refused(
    spark: Any, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_spark, "__version__", "0.0.9")
    said = f"has deniable {dn.__version__}, and this is 0.0.9; install the same version there"
    with pytest.raises(dn.DeniableError, match=said):
        dn.count(files, order=2, engine=spark)
    frame = spark.createDataFrame([(True, "old")], "smoker boolean, age string")
    with pytest.raises(dn.DeniableError, match=said):
        dn.randomize(frame, NEARLY_OPEN, output=tmp_path / "out")


def test_a_wrong_answer_in_a_frame_is_told_of_as_elsewhere(spark: Any, tmp_path: Path) -> None:
    answers = [(True, "old"), (False, 'the "middle"\n\\')] * 5
    frame = spark.createDataFrame(answers, "smoker boolean, age string").repartition(2)
    with pytest.raises(dn.AnswerError, match=r"column 'age': the answer is not one of its values") as raised:
        dn.randomize(frame, NEARLY_OPEN, output=tmp_path / "out")
    assert "Traceback" not in str(raised.value)
    assert "middle" in str(raised.value)
    assert not list((tmp_path / "out").glob("*.parquet"))
    with pytest.warns(dn.LeftOutWarning):
        assert dn.randomize(frame, NEARLY_OPEN, output=tmp_path / "kept", keep_going=True) == 5


def test_billions_are_exact(spark: Any) -> None:
    check_edges(spark)
    for n in EDGES:
        rows = spark.sql(f"SELECT CAST(0 AS BIGINT) AS a, CAST({n} AS BIGINT) AS n").collect()
        assert dn.count_patterns(TWO_FLAGS, rows).array("a").tolist() == [n, 0]


def test_files_and_frames_are_randomized_to_a_folder(spark: Any, tmp_path: Path) -> None:
    answers = [(True, "old"), (False, "young"), (True, "old")] * 40
    frame = spark.createDataFrame(answers, "smoker boolean, age string").repartition(3)
    assert dn.randomize(frame, NEARLY_OPEN, output=tmp_path / "from_frame") == 120
    check_randomized(tmp_path / "from_frame", 3)
    (tmp_path / "a.csv").write_text("smoker,age\n" + "yes,old\nno,young\nyes,old\n" * 40)
    assert dn.randomize(tmp_path / "a.csv", NEARLY_OPEN, output=tmp_path / "from_files", engine=spark) == 120
    check_randomized(tmp_path / "from_files", 1)
