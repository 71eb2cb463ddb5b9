"""What is asked of an engine: run a function on tasks, wherever its workers are, and add up what it gives.

A task names files, and never holds rows. The function is called as `function(job, task)`; the job is the same for all
tasks, and reaches a worker once. Tasks may be run again where a worker died, and then give the same. What they give is
added in a tree on the workers, so that the driver sees one sum. An error of a task is raised in the driver, and the
other tasks are cancelled, as they are by Ctrl-C.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence, Sized
from platform import node
from typing import Any, TypeVar

from deniable import __version__
from deniable.errors import DeniableError, abbreviated
from deniable.text.progress import watched

Task = TypeVar("Task", bound=Sized)

FAN_IN = 8  # A step of the tree adds so many.
VERSION = "deniable:__version__"  # Where a worker finds the version of this package that it has.


class Engine(ABC):
    """An adapter of one engine."""

    @property
    @abstractmethod
    def workers(self) -> int:
        """How many tasks can run at once; 0 if nobody knows yet."""

    @abstractmethod
    def start(self, function: Callable[[Any, Task], Any], job: Any, tasks: Sequence[Task]) -> "Run":
        """Begin to run tasks."""


class Run(ABC):
    """Tasks that are running, until what they give is added up."""

    @abstractmethod
    def done(self) -> Iterator[Sized]:
        """Wait for tasks, and say of each, or of some together, how many rows are done."""

    @abstractmethod
    def result(self) -> Any:
        """The sum of what all tasks gave."""

    @abstractmethod
    def cancel(self) -> None:
        """Stop all tasks that are not done."""


def total(
    engine: Engine, function: Callable[[Any, Task], Any], job: Any, tasks: Sequence[Task], what: str | None = None
) -> Any:
    """The sum of what a function gives of tasks; progress is told as so many of `what`."""
    return ended(engine.start(function, job, tasks), sum(map(len, tasks)), what)


def ended(run: Run, rows: int = 0, what: str | None = None) -> Any:
    """The sum of what tasks give that were started; an error of one, and Ctrl-C, cancel the others."""
    try:
        for _ in watched(run.done(), what, rows) if what is not None else run.done():
            pass
        return run.result()
    except BaseException:
        run.cancel()
        raise


def check_version(found: str, driver: str, who: str) -> None:
    """Refuse a worker that has another version of this package than the driver: its tallies may be of another form."""
    if found != driver:
        raise DeniableError(f"{who} has deniable {found}, and this is {driver}; install the same version there")


def done_here(driver: str, function: Callable[[Any, Task], Any], job: Any, task: Task) -> Any:
    """What a worker runs of a task: it may have come after the driver looked at the others, so it looks at itself."""
    check_version(__version__, driver, f"a worker on {node()}")
    return function(job, task)


def engine_of(given: Any) -> Engine:
    """The adapter of what a user gives as an engine: a client of Dask, or a session of Spark."""
    home = type(given).__module__.split(".")[0]
    if home == "distributed":
        from deniable.reports.engines.on_dask import DaskEngine

        return DaskEngine(given)
    if home == "pyspark":
        from deniable.reports.engines.on_spark import SparkEngine

        return SparkEngine(given)
    raise DeniableError(
        f"an engine is a dask.distributed.Client or a SparkSession; found {abbreviated(given)}. Without one, all "
        "processors of this machine are used"
    )
