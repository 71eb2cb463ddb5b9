"""Randomizing on an engine: files, or the parts of a Dask or Spark frame, become a folder of files of reports.

Each task writes one file, whole or not at all, under a name that is its own, so that a task that is run again replaces
what it wrote. Answers stay on the workers; what comes back is how many records there were.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deniable.errors import DeniableError, LeftOutWarning, PlanError, abbreviated
from deniable.files import expanded
from deniable.files.stores import AnyFile, StoredFile, file_at
from deniable.reports.answer_files import KINDS, are_files
from deniable.reports.engines.engine import ended, engine_of, total
from deniable.survey.plan import Plan


@dataclass(frozen=True)
class Job:
    """What is the same for all tasks: the plan, the folder, and how answers are read, as `randomize` takes it."""

    plan: Plan
    folder: AnyFile
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Written:
    """How many records were written, and what was warned of. It adds."""

    records: int
    told: tuple[str, ...] = ()

    def __add__(self, other: "Written") -> "Written":
        return Written(self.records + other.records, tuple(dict.fromkeys(self.told + other.told)))


def is_distributed(data: Any) -> bool:
    """Whether data are a frame of Dask or Spark, whose parts are on several machines."""
    home, name = type(data).__module__.split(".")[0], type(data).__name__
    return home in ("dask", "dask_expr", "pyspark") and name == "DataFrame"


def randomize_on(engine: Any, data: Any, plan: Plan, output: Any, options: Mapping[str, Any]) -> int:
    """Randomize files or a distributed frame to a folder of files; return how many records were written."""
    if not isinstance(plan, Plan):
        raise PlanError(f"randomize needs a Plan, as Plan.load gives it; found {abbreviated(plan)}")
    job = Job(plan, _folder(output), options)
    home = type(data).__module__.split(".")[0]
    if are_files(data):
        files = [file.resolve() for file in expanded(data, KINDS, DeniableError)]
        found = total(engine_of(engine), _file_written, job, list(enumerate(files)))
    elif is_distributed(data) and home == "pyspark":
        found = _of_spark(data, job)
    elif is_distributed(data):
        found = _of_dask(engine, data, job)
    else:
        raise DeniableError(
            "an engine randomizes files, or a frame of Dask or Spark; "
            f"found {type(data).__name__}. Without engine=, data in memory are randomized here"
        )
    for text in found.told:
        warnings.warn(text, LeftOutWarning, stacklevel=4)
    return int(found.records)


def _folder(output: Any) -> AnyFile:
    """The folder that files are written to, which must be new or empty."""
    if output is None or str(output).endswith(".parquet"):
        raise DeniableError(
            f"an engine writes a folder of files, one for each task: output='reports/'; found {abbreviated(output)}"
        )
    folder = file_at(str(output).rstrip("/"))
    if isinstance(folder, Path):
        folder = folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        there = any(folder.iterdir())
    else:
        there = folder.is_dir()
    if there:
        raise DeniableError(f"{output}: is not empty; reports go to a new folder, lest old ones be counted with them")
    return folder


def _part(job: Job, number: int) -> str:
    """The file that a task writes."""
    name = f"part-{number:05}.parquet"
    return f"{job.folder}/{name}" if isinstance(job.folder, StoredFile) else str(job.folder / name)


def _file_written(job: Job, task: tuple[int, Any]) -> Written:
    """Randomize one file, or one part of a frame, to one file."""
    from deniable.reports.randomize import randomize

    number, data = task
    with _told() as told:
        records = randomize(data, job.plan, output=_part(job, number), **job.options)
    return Written(records, tuple(told))


def _of_dask(engine: Any, data: Any, job: Job) -> Written:
    """Each partition by its worker."""
    if engine is None or type(engine).__module__.split(".")[0] != "distributed":
        raise DeniableError("a Dask frame is randomized by the workers of a client: engine=Client(...)")
    from deniable.reports.engines.on_dask import DaskEngine

    return ended(DaskEngine(engine).start_parts(_file_written, job, data))  # type: ignore[no-any-return]


def _of_spark(data: Any, job: Job) -> Written:
    """Each partition by its worker, a batch of rows at a time."""
    from deniable.reports.engines.on_spark import of_frame

    written = (Written(records, tuple(told)) for records, told in of_frame(_batches_written, job, data))
    return sum(written, start=Written(0))


def _batches_written(job: Job, task: tuple[int, Iterable[Any]]) -> tuple[int, list[str]]:
    """Randomize the batches of one part of a Spark frame to one file."""
    import pyarrow as pa

    from deniable.reports.parquet import write
    from deniable.reports.randomize import randomize

    number, batches = task
    with _told() as told:
        parts = (randomize(pa.Table.from_batches([batch]), job.plan, **job.options) for batch in batches)
        records = write(_part(job, number), job.plan, parts)
    return records, told


@contextmanager
def _told() -> Iterator[list[str]]:
    """What is warned of answers that are left out, to be told in the driver."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as every:
        warnings.simplefilter("always", LeftOutWarning)
        yield told
    told += [str(one.message) for one in every if issubclass(one.category, LeftOutWarning)]
