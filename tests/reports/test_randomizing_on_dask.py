"""Randomizing on Dask: a folder is whole or not there, and what was left out is told once, of all records."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deniable as dn
from deniable.reports.engines import randomizing
from deniable.reports.engines.engine import engine_of, total
from deniable.reports.engines.randomizing import Job
from deniable.reports.reading.problems import LeftOut

pytestmark = pytest.mark.slow
PLAN = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "old"])]), epsilon=2.0)
GOOD, BAD = "smoker,age\nyes,old\nno,young\n", "smoker,age\nyes,old\nno,middle\n"
FILE_WRITTEN = randomizing._file_written


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two threads of this process."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as one,
    ):
        yield one


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """A folder of answers, of which one in the last file cannot be read."""
    (folder := tmp_path / "in").mkdir()
    for place in range(4):
        (folder / f"{place}.csv").write_text(BAD if place == 3 else GOOD)
    return folder


def test_after_an_error_the_folder_is_as_it_was_and_can_be_filled(client: Any, answers: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(dn.AnswerError, match=r"3.csv: line 3"):
        dn.randomize(answers, PLAN, output=out, engine=client)
    assert not out.exists()
    (answers / "3.csv").write_text(GOOD)
    assert dn.randomize(answers, PLAN, output=out, engine=client) == 8
    assert [one.name for one in sorted(out.iterdir())] == [f"part-{place:05}.parquet" for place in range(4)]
    assert dn.count(out, order=2).n == 8
    with pytest.raises(dn.DeniableError, match="out: is not empty"):
        dn.randomize(answers, PLAN, output=out, engine=client)


@pytest.mark.parametrize("tasks", [5, 20, 100])
def test_a_client_outlives_tasks_that_fail(client: Any, tasks: int) -> None:
    """Sums of several steps are cancelled too, and nothing that failed is still to be done."""
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            total(engine_of(client), divided, tasks // 2, [[place] for place in range(tasks)])
        assert total(engine_of(client), divided, -1, [[place] for place in range(tasks)]) == -tasks
    assert client.status == "running"


def divided(job: int, task: list[int]) -> int:
    """Minus one for the job -1; an error for the task that the job names."""
    return -1 if job < 0 else 1 // (task[0] - job)


def late(job: Job, task: tuple[int, Any]) -> Any:
    """A task that ends after another one has failed, and says that it did."""
    if task[0] != 0:
        return FILE_WRITTEN(job, task)
    answers = Path(task[1]).parent
    (answers / "began").touch()
    while not (answers / "failed").exists():
        time.sleep(0.01)
    try:
        return FILE_WRITTEN(job, task)
    finally:
        (answers / "ended").touch()


def test_a_task_that_could_not_be_stopped_writes_nowhere(
    client: Any, answers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(randomizing, "_file_written", late)
    (out := tmp_path / "out").mkdir()
    with pytest.raises(dn.AnswerError, match="3.csv"):
        dn.randomize(answers, PLAN, output=out, engine=client)
    assert (answers / "began").exists()
    (answers / "failed").touch()
    for _ in range(500):
        if (answers / "ended").exists():
            break
        time.sleep(0.01)
    assert (answers / "ended").exists()
    assert list(out.iterdir()) == []


def test_what_is_left_out_is_told_once_and_of_all(
    client: Any, answers: Path, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    """Of files of which several leave out as many, and of a frame whose parts run in threads of one process."""
    import dask.dataframe as dd
    import pandas as pd

    for place in range(3):
        (answers / f"{place}.csv").write_text(BAD)
    frame = pd.DataFrame({"smoker": [True, False] * 10, "age": ["old", "young", "old", "middle"] * 5})
    for data, said in (
        (str(answers), "4 of 8 records were left out; answers that could not be read: 'age' 4"),
        (
            dd.from_pandas(frame, npartitions=5),
            "5 of 20 records were left out; answers that could not be read: 'age' 5",
        ),
    ):
        recwarn.clear()
        out = tmp_path / said[0]
        expected = int(said.split()[2]) - int(said.split()[0])
        assert dn.randomize(data, PLAN, output=out, engine=client, keep_going=True) == expected
        (told,) = [one for one in recwarn if issubclass(one.category, dn.LeftOutWarning)]
        assert str(told.message) == said
        assert told.filename == __file__
        assert dn.count(out, order=1).n == expected


def test_a_wrong_answer_of_a_frame_is_of_a_part_that_is_named(client: Any, tmp_path: Path) -> None:
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame({"smoker": [True] * 20, "age": ["old"] * 18 + ["middle", "old"]})
    with pytest.raises(
        dn.AnswerError, match=r"^partition 3 \(counted from 0\): row 3 \(counted from 0\), column 'age'"
    ):
        dn.randomize(dd.from_pandas(frame, npartitions=4), PLAN, output=tmp_path / "out", engine=client)
    assert not (tmp_path / "out").exists()


def batches(*bad: bool) -> list[Any]:
    """Batches of four records, as Spark gives them, of which some hold a wrong answer in their last one."""
    return [
        pa.RecordBatch.from_pydict({"smoker": [True] * 4, "age": ["old"] * 3 + ["middle" if one else "old"]})
        for one in bad
    ]


@pytest.mark.parametrize("keep_going", [False, True])
def test_rows_of_a_spark_frame_are_numbered_through_its_batches(tmp_path: Path, keep_going: bool) -> None:
    options = {"arm": None, "na": (), "keep_going": keep_going, "delimiter": None, "encoding": None}
    job = Job(PLAN, tmp_path, options)
    if keep_going:
        name, records, left_out = randomizing._batches_written(job, (7, batches(True, False, True)))
        assert (name, records) == ("part-00007.parquet", 10)
        assert LeftOut(*left_out) == LeftOut(2, 12, {"age": 2})
        assert dn.count(tmp_path / name, order=1).n == 10
        return
    with pytest.raises(
        dn.AnswerError, match=r"^partition 7 \(counted from 0\): row 11 \(counted from 0\), column 'age'"
    ):
        randomizing._batches_written(job, (7, batches(False, False, True)))
    assert list(tmp_path.iterdir()) == []
