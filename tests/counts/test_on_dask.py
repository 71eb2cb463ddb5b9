"""Counting on Dask: every cell as one process has it, whatever happens on the way."""

import io
import os
import pickle
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer
from typing import Any

import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.cli import main
from deniable.counts import on_engine
from deniable.counts.on_engine import Described, parts_of
from deniable.errors import DeniableWarning
from deniable.reports.engines import on_dask
from tests.support.designs import DESIGNS
from tests.support.engines import check_edges, dask_client, killing_once, reports_in, waiting
from tests.support.situations import MIXED
from tests.support.surveys import some_reports

REPORTS = some_reports(MIXED, 2000)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with dask_client() as one:
        yield one


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(on_engine, "FILES_EACH", 2)  # or the driver would describe so few
    return reports_in(tmp_path, REPORTS, [0, 137, 900], 100)


@pytest.mark.slow
def test_every_cell_is_as_one_process_has_it(client: Any, files: list[str]) -> None:
    for asked in ({"order": 2}, {"order": 1}, {"names": ["oue", "hash", "grr"]}, {"names": [["flag"], ["sue", "arm"]]}):
        found = dn.count(files, engine=client, **asked)
        assert found == dn.count(REPORTS, **asked)
        assert found.sources == dn.count(files, **asked).sources
    folder = Path(files[0]).parent
    assert dn.count(str(folder / "*.parquet"), engine=client) == dn.count(REPORTS)


@pytest.mark.slow
def test_arms_and_blocks_too(client: Any, tmp_path: Path) -> None:
    for name in ("arms of unequal length", "blocks of every protocol", "arms of several blocks"):
        (folder := tmp_path / name.replace(" ", "_")).mkdir()
        reports = some_reports(DESIGNS[name], 700)
        files = reports_in(folder, reports, [0, 300], 64)
        assert dn.count(files, engine=client) == dn.count(reports)


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(client: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_engine, "tally_of", killing_once)
    assert dn.count(files, order=2, engine=client) == dn.count(REPORTS, order=2)
    assert (Path(files[0]).parent / "killed").exists()


@pytest.mark.slow
def test_files_that_change_or_vanish_are_named(client: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
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
            dn.count(files, order=2, engine=client)
    with pytest.raises(dn.ReportError, match="no such file"):
        dn.count(files, order=2, engine=client)


@pytest.mark.slow
def test_ctrl_c_stops_the_tasks(client: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_engine, "tally_of", waiting)
    monkeypatch.setattr(on_engine, "PART_CELLS", 1)  # a task for each row group, so that many wait their turn
    folder = Path(files[0]).parent
    timer = Timer(0.1, lambda: _interrupt_after(folder))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        dn.count(files, order=2, engine=client)
    timer.join()
    for _ in range(100):
        if not any(client.processing().values()):
            break
        time.sleep(0.1)
    assert not any(client.processing().values())
    assert len(list(folder.glob("*.began*"))) <= 2  # those that ran already; nothing after them was begun


def _interrupt_after(folder: Path) -> None:
    """Ctrl-C, once a task has begun."""
    for _ in range(200):
        if any(folder.glob("*.began*")):
            break
        time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
def test_what_was_added_up_is_forgotten(client: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of forty tallies workers hold few when their sum is there, and Dask knows how large they are."""
    from dask.sizeof import sizeof

    monkeypatch.setattr(on_engine, "PART_CELLS", 1)
    plain, held = on_dask._DaskRun.result, []

    def result(run: Any) -> Any:
        found = plain(run)
        held.extend(key for key, workers in client.who_has().items() if workers and str(key).startswith("done_here"))
        assert 0 <= sizeof(found) - sum(out.nbytes for arm in found.arms for out in arm.outs) < 100
        return found

    monkeypatch.setattr(on_dask._DaskRun, "result", result)
    monkeypatch.setattr(on_engine, "FILES_EACH", 16)  # so that tallies are all that is added
    assert len(parts_of(on_engine.described(None, [Path(file) for file in files]).files, 2, 1)) >= 15
    assert dn.count(files, order=2, engine=client) == dn.count(REPORTS, order=2)
    assert len(held) <= on_dask.FAN_IN


@pytest.mark.slow
def test_progress_is_told_in_the_driver(client: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stderr", shown := Terminal())
    monkeypatch.setattr("deniable.text.progress.EVERY", 0)
    monkeypatch.setattr("deniable.text.progress.is_terminal", lambda _: True)
    dn.count(files, order=2, engine=client)
    assert "2,000 reports counted" in shown.getvalue()
    assert "s left" in shown.getvalue()


@pytest.mark.slow
def test_the_command_line(client: Any, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scheduler = client.scheduler.address
    output = str(tmp_path / "c.npz")
    command = ["count", *files, "--order", "2", "-o", output]
    assert main([*command, "--engine", "dask", "--scheduler", scheduler]) == 0
    assert dn.Counts.load(output) == dn.count(REPORTS, order=2)
    for wrong, said in ((["--engine", "dask"], "--scheduler"), (["--scheduler", scheduler], "--engine")):
        with pytest.raises(SystemExit, match="2"):
            main([*command, *wrong])
        assert said in capsys.readouterr().err
    for address in ("host", "no://host:1"):
        assert main([*command, "--engine", "dask", "--scheduler", address]) == 1
        assert f"--scheduler {address}: no scheduler of Dask answers there" in capsys.readouterr().err


@pytest.mark.slow
def test_billions_are_exact(client: Any) -> None:
    check_edges(client)


@pytest.mark.slow
def test_files_that_only_the_driver_sees_are_named(client: Any) -> None:
    REPORTS.save("memory://of/the/driver.parquet")
    with pytest.raises(dn.ReportError, match=r"driver.parquet: .* is it where only the driver can look\?"):
        dn.count("memory://of/the/driver.parquet", order=2, engine=client)


@pytest.mark.slow
def test_clusters_that_cannot_count_are_told_of(client: Any, files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Client

    with pytest.raises(dn.DeniableError, match=r"Client\(cluster\); found LocalCluster"):
        dn.count(files, engine=client.cluster)
    (closed := Client(client.cluster)).close()
    with pytest.raises(dn.DeniableError, match="this client of Dask is closed"):
        dn.count(files, engine=closed)
    monkeypatch.setattr(on_dask, "__version__", "0.0.9")
    with pytest.raises(dn.DeniableError, match=r"worker tcp://.* has deniable .*, and this is 0.0.9"):
        dn.count(files, engine=client)
    monkeypatch.undo()
    monkeypatch.setattr(on_dask, "VERSION", "no_such_package:__version__")
    with pytest.raises(dn.DeniableError, match=r"lacks what is needed \(No module named 'no_such_package'\)"):
        dn.count(files, engine=client)


@pytest.mark.slow
def test_a_worker_that_comes_later_is_looked_at_too(
    client: Any, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver asked none of those that count now: they ask themselves."""
    monkeypatch.setattr(on_dask.DaskEngine, "_check_workers", lambda _: None)
    monkeypatch.setattr(on_dask, "__version__", "0.0.9")
    with pytest.raises(dn.DeniableError, match=f"has deniable {dn.__version__}, and this is 0.0.9"):
        dn.count(files, order=2, engine=client)


@pytest.mark.slow
def test_a_cluster_without_workers_is_told_of() -> None:
    with dask_client(workers=0) as empty:
        with pytest.warns(DeniableWarning, match="no workers yet; tasks wait"):
            adapter = on_dask.DaskEngine(empty)
        assert adapter.workers == 0


# -- without a cluster -------------------------------------------------------------------------------------------------


def test_parts_hold_every_row_group_once_and_are_alike() -> None:
    files = [
        Described(Path(f"{place}"), "f", "s", {}, groups)
        for place, groups in enumerate([(100,) * 40, (1,), (3, 0), (7,) * 5, (4000,), ()])
    ]
    for workers in (1, 2, 50):
        parts = parts_of(files, workers, 1 << 24)
        found = [(piece.file.path, group) for part in parts for piece in part.pieces for group in piece.groups]
        expected = [(file.path, group) for file in files for group, rows in enumerate(file.groups) if rows]
        assert found == expected
        assert sum(map(len, parts)) == sum(map(sum, (file.groups for file in files)))
        most = -(-sum(map(len, parts)) // workers)
        assert all(len(part) <= most + 100 or 4000 in (len(part), len(part.pieces[-1])) for part in parts)
        assert len(parts) >= min(4, workers)
        small = 100 + max(100, -(-sum(map(len, parts)) // (on_engine.MOST_EACH * workers)))
        assert all(len(part) <= small or len(part) >= 4000 for part in parts_of(files, workers, 100))
    assert parts_of(files[-1:], 2, 1 << 24) == []


def test_tasks_are_as_many_as_a_scheduler_can_hand_out() -> None:
    """Of a hundred thousand row groups there are a few tasks for each worker, however small tasks could be."""
    files = [Described(Path(f"{place}"), "f", "s", {}, (1000,) * 1000) for place in range(100)]
    for workers in (1, 50):
        parts = parts_of(files, workers, 1000)
        assert 0.9 <= len(parts) / (on_engine.MOST_EACH * workers) <= 1.1
        assert sum(map(len, parts)) == 10**8
    assert len(parts_of(files, 50, 5 * 10**6)) == 50  # little to do
    assert len(parts_of(files, 50, 3 * 10**6)) == on_engine.PARTS_EACH * 50
    assert len(parts_of(files, 0, 10**6)) == 100  # a cluster that grows when it is given tasks


def test_what_is_shipped_does_not_grow_with_the_file() -> None:
    sizes = []
    for groups in (1000, 20_000):
        file = Described(Path("/bucket/r.parquet"), "f" * 64, "1/2", {"a" * 32: "r.parquet"}, (1 << 20,) * groups)
        parts = parts_of([file], groups // 20, 1)
        assert {len(part.pieces[0].groups) for part in parts} <= {1, 2}
        sizes.append(max(len(pickle.dumps(part)) for part in parts))
    assert sizes[1] < sizes[0] + 20 < 1000


def test_a_task_reads_with_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 64 processors has 64 tasks at once; each is not to start 64 threads of Arrow's."""
    used: list[bool] = []
    plain = pq.ParquetFile.iter_batches

    def watched(self: Any, *args: Any, use_threads: bool = True, **options: Any) -> Any:
        used.append(use_threads)
        return plain(self, *args, use_threads=use_threads, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", watched)
    for place, plan in enumerate((MIXED, DESIGNS["arms of unequal length"])):
        some_reports(plan, 300).save(path := tmp_path / f"{place}.parquet")
        expected = dn.count(path)
        assert used
        assert all(used)
        used.clear()
        (part,) = parts_of(on_engine.described(None, [path]).files, 1, 1 << 24)
        assert on_engine.tally_of((plan, None, None), part).counts() == expected
        assert used
        assert not any(used)
        used.clear()


def test_what_is_no_engine_is_refused(files: list[str]) -> None:
    with pytest.raises(dn.DeniableError, match="a dask.distributed.Client or a SparkSession; found 'dask'"):
        dn.count(files, engine="dask")
    with pytest.raises(dn.CountError, match="an engine counts files"):
        dn.count(REPORTS, engine=object())


def test_a_plan_is_given_to_files_that_lost_theirs(tmp_path: Path) -> None:
    import pyarrow as pa

    table = REPORTS.table.replace_schema_metadata(None)
    bucket = table.column_names.index("hash: bucket")
    signed = table.set_column(bucket, "hash: bucket", table["hash: bucket"].cast(pa.int32()))  # as Spark writes them
    pq.write_table(signed, tmp_path / "bare.parquet")
    with pytest.raises(dn.ReportError, match="no plan in its metadata"):
        dn.count(tmp_path / "bare.parquet", order=2)
    assert dn.count(tmp_path / "bare.parquet", order=2, plan=MIXED) == dn.count(REPORTS, order=2)
    other = dn.Plan(MIXED.schema, epsilon=1.0)
    REPORTS.save(tmp_path / "own.parquet")
    for given in (tmp_path / "own.parquet", REPORTS):
        with pytest.raises(dn.CountError, match=f"{MIXED.fingerprint}, not"):
            dn.count(given, order=2, plan=other)
    below = pa.array([-1] * len(signed), pa.int32())
    pq.write_table(signed.set_column(bucket, "hash: bucket", below), tmp_path / "bare.parquet")
    with pytest.raises(dn.ReportError, match="a whole number from 0"):
        dn.count(tmp_path / "bare.parquet", order=2, plan=MIXED)


def test_workers_are_as_many_as_said(files: list[str]) -> None:
    assert dn.count(files, order=2, workers=1) == dn.count(REPORTS, order=2)
    for wrong in (0, True, "two"):
        with pytest.raises(dn.CountError, match="how many threads"):
            dn.count(files, order=2, workers=wrong)


# -- randomizing -------------------------------------------------------------------------------------------------------

NEARLY_OPEN = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "old"])]), epsilon=40.0)
ANSWERS = {"smoker": [True, False, True] * 40, "age": ["old", "young", "old"] * 40}  # reports say them, all but surely


def check_randomized(folder: Path, files: int) -> None:
    assert len(list(folder.glob("part-*.parquet"))) == files
    assert dn.count(folder, order=2).array("smoker", "age").tolist() == [[120, 40, 80], [80, 0, 80]]


@pytest.mark.slow
def test_files_and_frames_are_randomized_to_a_folder(client: Any, tmp_path: Path) -> None:
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame(ANSWERS)
    for place in range(3):
        frame.iloc[place * 40 : place * 40 + 40].to_csv(tmp_path / f"a{place}.csv", index=False)
    out = tmp_path / "from_files"
    assert dn.randomize(str(tmp_path / "a*.csv"), NEARLY_OPEN, output=out, engine=client) == 120
    check_randomized(out, 3)
    parts = dd.from_pandas(frame, npartitions=4)
    assert dn.randomize(parts, NEARLY_OPEN, output=tmp_path / "from_frame", engine=client) == 120
    check_randomized(tmp_path / "from_frame", 4)
    (tmp_path / "a1.csv").write_text("smoker,age\nyes,old\nyes,middle\n")
    with pytest.raises(dn.AnswerError, match=r"a1.csv: .*line 3"):
        dn.randomize(str(tmp_path / "a*.csv"), NEARLY_OPEN, output=tmp_path / "bad", engine=client)
    with pytest.warns(dn.LeftOutWarning, match="1 of 82 records were left out"):
        kept = dn.randomize(
            str(tmp_path / "a*.csv"), NEARLY_OPEN, output=tmp_path / "kept", engine=client, keep_going=True
        )
    assert kept == 81
    for call, match in (
        (
            lambda: dn.randomize(ANSWERS, NEARLY_OPEN, output=tmp_path / "x", engine=client),
            "an engine randomizes files",
        ),
        (lambda: dn.randomize("a.csv", NEARLY_OPEN, output="x.parquet", engine=client), "a folder of files"),
        (lambda: dn.randomize("a.csv", NEARLY_OPEN, output="x", engine=client, rng=1), "leave rng out"),
        (lambda: dn.randomize(parts, NEARLY_OPEN, output=tmp_path / "y"), "engine=Client"),
    ):
        with pytest.raises(dn.DeniableError, match=match):
            call()


def part_of_a_frame(_place: int) -> Any:
    """Some answers, after a while in which a driver can look."""
    import pandas as pd

    time.sleep(0.05)
    return pd.DataFrame(ANSWERS)


@pytest.mark.slow
def test_a_frame_is_never_in_memory_as_a_whole(client: Any, tmp_path: Path) -> None:
    """Of 24 parts a few are, at any time: those that are written, and the next ones."""
    import dask.dataframe as dd
    import pandas as pd

    kinds = pd.DataFrame({"smoker": pd.Series([], dtype=bool), "age": pd.Series([], dtype=str)})
    few = dd.from_map(part_of_a_frame, range(8), meta=kinds)
    dn.randomize(few, NEARLY_OPEN, output=tmp_path / "few", engine=client)  # now workers have imported what they need
    frame = dd.from_map(part_of_a_frame, range(24), meta=kinds)
    most = 0
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(dn.randomize, frame, NEARLY_OPEN, output=tmp_path / "out", engine=client)
        while not written.done():
            held = [key for key, workers in client.who_has().items() if workers and "part_of_a_frame" in str(key)]
            most = max(most, len(held))
    assert written.result() == 24 * 120
    assert 1 <= most <= 12  # if the client held them, all 24
    counted = dn.count(tmp_path / "out", order=2).array("smoker", "age")
    assert counted.tolist() == [[2880, 960, 1920], [1920, 0, 1920]]
