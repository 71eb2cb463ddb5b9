"""Files of reports for engines, and tasks that kill or outlast their worker, once."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from deniable.counts import on_engine
from deniable.counts.tally import Tally
from deniable.reports import parquet
from tests.support.surveys import parts_of


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
