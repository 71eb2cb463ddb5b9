"""Tasks on Spark: one partition each, added up by `reduce`, or in a tree if they are many.

Errors come back as values, not as failed stages, and rows that are done as an accumulator.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from secrets import token_hex
from threading import Thread
from typing import Any

from deniable import __version__, errors
from deniable.errors import DeniableError
from deniable.reports.engines.engine import Engine, Run, done_here

FEW = 64  # So few sums come to the driver: a tree of them would be more stages, which take longer.
EVERY = 0.2  # The time between two looks at how far Spark is, in seconds.


class SparkEngine(Engine):
    """A `SparkSession` whose driver runs here."""

    def __init__(self, session: Any) -> None:
        try:
            self.context = session.sparkContext
        except Exception:
            raise DeniableError(
                "this Spark session is of Spark Connect, whose workers cannot be given tasks; use a classic session, "
                "or let Spark count by a query: dn.sql(plan, ..., dialect='spark')"
            ) from None
        if getattr(self.context, "_jsc", self) is None:
            raise DeniableError("this Spark session was stopped; begin another with SparkSession.builder.getOrCreate()")

    @property
    def workers(self) -> int:
        return max(1, int(self.context.defaultParallelism))

    def start(self, function: Callable[[Any, Any], Any], job: Any, tasks: Sequence[Any]) -> Run:
        return _SparkRun(self.context, function, self.context.broadcast(job), tasks)


class _SparkRun(Run):
    def __init__(self, context: Any, function: Callable[[Any, Any], Any], job: Any, tasks: Sequence[Any]) -> None:
        self.context, self.job = context, job
        self.group = f"deniable {token_hex(8)}"
        self.found: Any = None
        self.rows = sum(map(len, tasks))
        self.finished = finished = context.accumulator(0)  # rows; comes with each task that ends
        self.errors = errors = context.accumulator((), _Gathered())
        driver = __version__  # of this process: a worker finds its own under that name

        def attempt(task: Any) -> Any:
            try:
                given = done_here(driver, function, job.value, task)
            except DeniableError as error:
                errors.add((error,))
                return _Failed(error)
            finished.add(len(task))
            return given

        def run() -> None:
            context.setJobGroup(self.group, "deniable", interruptOnCancel=True)
            try:
                given = context.parallelize(tasks, len(tasks)).map(attempt)
                self.found = given.reduce(_added) if len(tasks) <= FEW else given.treeReduce(_added)
            except Exception as error:
                self.found = _Failed(in_words(error))

        self.thread = Thread(target=run, daemon=True)
        self.thread.start()

    def done(self) -> Iterator[Sized]:
        told = 0
        while self.thread.is_alive():
            self.thread.join(EVERY)
            if self.errors.value:  # the others need not end
                raise self.errors.value[0] from None
            now = min(self.rows, self.finished.value)  # a task that was run again is in it twice
            if now > told:
                yield range(now - told)
                told = now
        if not isinstance(self.found, _Failed):
            yield range(self.rows - told)

    def result(self) -> Any:
        self.thread.join()
        self.job.destroy()
        if isinstance(self.found, _Failed):
            raise self.found.error from None
        return self.found

    def cancel(self) -> None:
        while self.thread.is_alive():  # the job may not have begun yet
            self.context.cancelJobGroup(self.group)
            self.thread.join(EVERY)


class _Failed:
    """What a task gives that raised an error; added to anything it stays what it is."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Gathered:
    """How Spark adds up tuples that tasks send: an `AccumulatorParam`, by its methods."""

    def zero(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        """Nothing sent yet."""
        return value[:0]

    def addInPlace(self, value1: tuple[Any, ...], value2: tuple[Any, ...]) -> tuple[Any, ...]:  # noqa: N802
        """What was sent, and what came now."""
        return value1 + value2


def of_frame(function: Callable[[Any, Any], Any], job: Any, frame: Any) -> list[Any]:
    """What a function gives of each part of a Spark frame, its number and its batches of rows, as JSON has it.

    Unlike tasks, these are rows of a query, which sessions of Spark Connect can have, too.
    """
    driver = __version__

    def given(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context: Any = TaskContext.get()  # pyspark says None outside a task; here there is one
        try:
            found = done_here(driver, function, job, (context.partitionId(), batches))
        except DeniableError as error:
            raise _passed_on(error) from None
        yield pa.RecordBatch.from_pydict({"given": [json.dumps(found)]})

    try:
        return [json.loads(row["given"]) for row in frame.mapInArrow(given, "given string").collect()]
    except Exception as error:
        raise in_words(error) from None


TOLD = "deniable says"


def _passed_on(error: DeniableError) -> DeniableError:
    """An error of this package that can be found again in what Spark says of it, of many lines."""
    return DeniableError(f"{TOLD}: {type(error).__name__} {json.dumps(str(error))}")


def in_words(error: Exception) -> Exception:
    """An error of this package in what Spark says; that workers lack this package, in words; any other as it is."""
    said = str(error)
    if found := re.search(rf'{TOLD}: (\w+) ("(?:[^"\\]|\\.)*")', said):
        kind: type[Exception] = getattr(errors, found[1], DeniableError)
        return kind(json.loads(found[2]))
    if "ModuleNotFoundError" not in said:
        return error
    missing = next(line for line in said.splitlines() if "ModuleNotFoundError" in line)
    return DeniableError(
        f"Spark's workers run another Python, without what is needed ({missing.strip()}). Install deniable[spark] "
        "there; or, before the session begins, name a Python that has it: os.environ['PYSPARK_PYTHON'] = sys.executable"
    )


def _added(first: Any, second: Any) -> Any:
    if isinstance(first, _Failed):
        return first
    return second if isinstance(second, _Failed) else first + second
