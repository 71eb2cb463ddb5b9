"""Files of reports for engines, and tasks that kill or outlast their worker, once."""

import os
import pickle
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.counts import on_engine
from deniable.counts.tally import Tally
from deniable.reports import parquet
from deniable.reports.engines.engine import engine_of, total
from tests.support.surveys import parts_of

TWO_FLAGS = dn.Plan(dn.Schema([dn.Flag("a"), dn.Flag("b")]), {n: dn.RandomizedResponse(p=0.25, q=0.75) for n in "ab"})
EDGES = [2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1]  # of integers, and of floating-point numbers


@contextmanager
def dask_client(workers: int = 2) -> Iterator[Any]:
    """A client of workers in processes of their own."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", protocol="tcp")
    try:
        with Client(cluster) as client:
            yield client
    finally:
        with suppress(TimeoutError):  # on a busy machine a killed process takes more than the seconds that Dask waits
            cluster.close()


def tally_of_so_many(n: int, plan: dn.Plan = TWO_FLAGS, order: int = 2) -> Tally:
    """A tally that has counted so many reports of the first arm, as an engine would send it."""
    tally = Tally.of(plan, order=order)
    arm = tally.arms[0]
    arm.n = n
    for out in arm.outs:
        out.fill(n)
    return pickle.loads(pickle.dumps(tally))


def counting_so_many(_job: None, task: tuple[int]) -> Tally:
    """What an engine runs for a task that says how many reports there are."""
    return tally_of_so_many(task[0])


def check_edges(engine: Any) -> None:
    """An engine adds tallies up exactly, to the last integer that fits, and says so beyond that."""
    for n in EDGES:
        counts = total(engine_of(engine), counting_so_many, None, [(n - 10,), (1,), (9,)]).counts()
        assert counts.array("a", "b").tolist() == [[n, n], [n, n]]
    with pytest.raises(dn.CountError, match="more than 64-bit integers can count"):
        total(engine_of(engine), counting_so_many, None, [(2**63 - 10,), (1,), (9,)])


def reports_in(folder: Path, reports: dn.Reports, cuts: list[int], rows: int) -> list[str]:
    """Files with row groups of so many reports."""
    before, parquet.ROW_GROUP = parquet.ROW_GROUP, rows
    try:
        for place, part in enumerate(parts_of(reports, cuts)):
            part.save(folder / f"part{place}.parquet")
    finally:
        parquet.ROW_GROUP = before
    return [str(path) for path in sorted(folder.glob("*.parquet"))]


def killing_once(job: Any, part: on_engine.Part) -> Tally:
    """What counts a part; the first to come here kills its process instead."""
    mark = Path(part.pieces[0].file.path).parent / "killed"
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return TALLY_OF(job, part)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def waiting(job: Any, part: on_engine.Part) -> Tally:
    """What says that it began, and waits long."""
    Path(part.pieces[0].file.path).with_suffix(f".began{np.random.default_rng().integers(1 << 40)}").touch()
    time.sleep(3)
    return TALLY_OF(job, part)


def unhurried(job: Any, part: on_engine.Part) -> Tally:
    """What counts a part after a while in which a driver can look."""
    time.sleep(0.1)
    return TALLY_OF(job, part)


def failing_first(job: Any, part: on_engine.Part) -> Tally:
    """What fails for the start of the second file, and says for all else that it began, waits, and ended."""
    if (path := part.pieces[0].file.path).name == "part1.parquet" and 0 in part.pieces[0].groups:
        raise dn.ReportError(f"{path}: is not as it should be")
    return outlasting(job, part)


def outlasting(job: Any, part: on_engine.Part) -> Tally:
    """What says that it began, waits longer than it takes to cancel it, and says that it ended."""
    began = Path(part.pieces[0].file.path).with_suffix(f".began{np.random.default_rng().integers(1 << 40)}")
    began.touch()
    time.sleep(6)
    began.rename(began.with_suffix(began.suffix.replace("began", "ended")))
    return TALLY_OF(job, part)


TALLY_OF = on_engine.tally_of
