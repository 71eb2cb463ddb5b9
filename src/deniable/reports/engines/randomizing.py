"""Randomizing on an engine: files, or the parts of a Dask or Spark frame, become a folder of files of reports.

Each task writes one file, whole or not at all, under a name that is its own, so that a task that is run again replaces
what it wrote. They stand in a hidden folder until all tasks are done, and then in the folder. Answers stay on the
workers; what comes back is how many records there were, and how many of them could not be read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from deniable.errors import AnswerError, DeniableError, PlanError, abbreviated
from deniable.files import expanded
from deniable.files.filling import empty_folder, filled
from deniable.files.stores import AnyFile
from deniable.reports.answer_files import KINDS, are_files
from deniable.reports.engines.engine import ended, engine_of, total
from deniable.reports.reading.problems import LeftOut
from deniable.survey.plan import Plan


@dataclass(frozen=True)
class Job:
    """What is the same for all tasks: the plan, the folder, and how answers are read, as `randomize` takes it."""

    plan: Plan
    folder: AnyFile
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Written:
    """The files that tasks wrote, how many records are in them, and what was left out. It adds."""

    names: tuple[str, ...]
    records: int
    left_out: LeftOut

    def __add__(self, other: "Written") -> "Written":
        return Written(self.names + other.names, self.records + other.records, self.left_out + other.left_out)


def is_distributed(data: Any) -> bool:
    """Whether data are a frame of Dask or Spark, whose parts are on several machines."""
    home, name = type(data).__module__.split(".")[0], type(data).__name__
    return home in ("dask", "dask_expr", "pyspark") and name == "DataFrame"


def randomize_on(engine: Any, data: Any, plan: Plan, output: Any, options: Mapping[str, Any]) -> tuple[int, LeftOut]:
    """Randomize files or a distributed frame to a folder of files: how many records were written, and left out."""
    if not isinstance(plan, Plan):
        raise PlanError(f"randomize needs a Plan, as Plan.load gives it; found {abbreviated(plan)}")
    folder = _folder(output)
    write = _writer(engine, data)
    with filled(folder) as new:
        found = write(Job(plan, new.hidden, options))
        new.names = found.names
    return found.records, found.left_out


def _writer(engine: Any, data: Any) -> Callable[[Job], Written]:
    """What randomizes these data on an engine."""
    if are_files(data):
        files = list(enumerate(file.resolve() for file in expanded(data, KINDS, DeniableError)))
        adapter = engine_of(engine)
        return lambda job: total(adapter, _file_written, job, files)
    if not is_distributed(data):
        raise DeniableError(
            "an engine randomizes files, or a frame of Dask or Spark; "
            f"found {type(data).__name__}. Without engine=, data in memory are randomized here"
        )
    if type(data).__module__.split(".")[0] == "pyspark":
        return lambda job: _of_spark(data, job)
    client = _dask(engine)
    return lambda job: ended(client.start_parts(_partition_written, job, data))


def _folder(output: Any) -> AnyFile:
    """The folder that files are written to, which must be new or empty."""
    if output is None or str(output).endswith(".parquet"):
        raise DeniableError(
            f"an engine writes a folder of files, one for each task: output='reports/'; found {abbreviated(output)}"
        )
    return empty_folder(output)


def _dask(engine: Any) -> Any:
    """The adapter of the client that randomizes a Dask frame."""
    if engine is None or type(engine).__module__.split(".")[0] != "distributed":
        raise DeniableError("a Dask frame is randomized by the workers of a client: engine=Client(...)")
    from deniable.reports.engines.on_dask import DaskEngine

    return DaskEngine(engine)


def _of_spark(data: Any, job: Job) -> Written:
    """Each partition by its worker, a batch of rows at a time."""
    from deniable.reports.engines.on_spark import of_frame

    found = of_frame(_batches_written, job, data)
    parts = [Written((name,), records, LeftOut(*left_out)) for name, records, left_out in found]
    return sum(parts, start=Written((), 0, LeftOut()))


# -- what workers do ---------------------------------------------------------------------------------------------------


def _file_written(job: Job, task: tuple[int, Any]) -> Written:
    """Randomize one file to one file."""
    from deniable.reports.randomize import work_of

    number, data = task
    work = work_of(job.plan, job.options)
    records = work.to_file(data, job.folder / _name(number))
    return Written((_name(number),), records, sum(work.left_out, start=LeftOut()))


def _partition_written(job: Job, task: tuple[int, Any]) -> Written:
    """Randomize one part of a frame, whose number stands in errors beside those of its rows, to one file."""
    number, data = task
    with _named(number):
        return _file_written(job, (number, data))


def _batches_written(job: Job, task: tuple[int, Iterable[Any]]) -> tuple[str, int, tuple[int, int, dict[str, int]]]:
    """Randomize the batches of one part of a Spark frame to one file."""
    import pyarrow as pa

    from deniable.reports.parquet import write
    from deniable.reports.randomize import work_of

    number, batches = task
    work = work_of(job.plan, job.options)
    with _named(number), work.words_for_arms():
        parts = work.at_once(pa.Table.from_batches([batch]) for batch in batches)
        records = write(job.folder / _name(number), job.plan, parts)
    left = sum(work.left_out, start=LeftOut())
    return _name(number), records, (left.records, left.of, dict(left.answers))


def _name(number: int) -> str:
    """The name of the file that a task writes."""
    return f"part-{number:05}.parquet"


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Name the part of a frame whose answers are wrong: rows are counted in it."""
    try:
        yield
    except AnswerError as error:
        raise type(error)(f"partition {number} (counted from 0): {error}") from None
