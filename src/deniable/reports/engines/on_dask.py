"""Tasks on Dask: by futures, whose sums are futures again, so that what a dead worker held is made again."""

import warnings
from collections.abc import Callable, Iterator, Sequence, Sized
from functools import reduce
from operator import add
from pkgutil import resolve_name
from typing import Any

from deniable import __version__
from deniable.errors import DeniableError, DeniableWarning
from deniable.reports.engines.engine import FAN_IN, VERSION, Engine, Run, check_version, done_here


class DaskEngine(Engine):
    """A `dask.distributed.Client`, and the workers that it finds."""

    def __init__(self, client: Any) -> None:
        if not hasattr(client, "submit"):
            raise DeniableError(
                f"engine= takes a client of Dask's cluster, Client(cluster); found {type(client).__name__}"
            )
        if client.status != "running" or client.asynchronous:
            state = "asynchronous" if client.asynchronous else client.status
            raise DeniableError(f"this client of Dask is {state}, and cannot wait for tasks; make a new Client(...)")
        self.client = client
        self._check_workers()

    def _check_workers(self) -> None:
        """Look which version of this package workers have: one without it would die of a task, and so would the next.

        They are asked by a function of Python's own, which every worker can run.
        """
        found = self.client.run(resolve_name, VERSION, on_error="return")
        if not found:
            warnings.warn(
                "Dask's cluster has no workers yet; tasks wait until it has some", DeniableWarning, stacklevel=5
            )
        for address, version in found.items():
            if isinstance(version, ImportError):
                raise DeniableError(
                    f"Dask's worker {address} lacks what is needed ({version}); install deniable[dask] there, too"
                )
            check_version(str(version), __version__, f"Dask's worker {address}")

    @property
    def workers(self) -> int:
        return int(sum(self.client.nthreads().values()))

    def start(self, function: Callable[[Any, Any], Any], job: Any, tasks: Sequence[Any]) -> Run:
        shared = self._shared(job)
        same = ([one] * len(tasks) for one in (__version__, function, shared))
        leaves = self.client.map(done_here, *same, tasks, pure=False)  # all at once: much cheaper than singly
        return self._added_up(shared, dict(zip(leaves, tasks, strict=True)))

    def start_parts(self, function: Callable[[Any, Any], Any], job: Any, frame: Any) -> Run:
        """Begin to run a task for each part of a Dask frame, its number and the part.

        They are one graph with what makes the parts, so that a part is made when its task is next, and then forgotten.
        """
        from dask.delayed import delayed

        shared, run = self._shared(job), delayed(done_here, pure=False)
        parts = enumerate(frame.to_delayed())
        leaves = self.client.compute([run(__version__, function, shared, [number, part]) for number, part in parts])
        return self._added_up(shared, dict.fromkeys(leaves, ()))

    def _shared(self, job: Any) -> Any:
        """The job on a worker, of which a dead worker's copy can be made again."""
        return self.client.submit(_same, job, pure=False)

    def _added_up(self, shared: Any, leaves: dict[Any, Sized]) -> Run:
        """Add what tasks give in a tree, of which only its root is held, and leaves until they are done.

        What has been added up is forgotten on the workers; where one dies, Dask makes again what it still needs.
        """
        level = list(leaves)
        while len(level) > 1:
            parts = [level[start : start + FAN_IN] for start in range(0, len(level), FAN_IN)]
            level = self.client.map(_added, parts, pure=False)
        return _DaskRun(self.client, shared, leaves, level[0])


class _DaskRun(Run):
    def __init__(self, client: Any, shared: Any, leaves: dict[Any, Sized], root: Any) -> None:
        self.client, self.shared, self.leaves, self.root = client, shared, leaves, root

    def done(self) -> Iterator[Sized]:
        import distributed

        for future in distributed.as_completed(list(self.leaves)):  # type: ignore[no-untyped-call]
            if future.status == "error":
                _raise(future)
            yield self.leaves.pop(future)

    def result(self) -> Any:
        self.root = self.root if self.root.status != "error" else _raise(self.root)
        return self.root.result()

    def cancel(self) -> None:
        """Cancel the root, then what it was made of: Dask's scheduler drops a client that cancels a task below others.

        A step of the tree that no client holds any more is then forgotten, instead of being cancelled with its leaves.
        """
        for futures in ([self.root], list(self.leaves), [self.shared]):
            self.client.cancel(futures)


def _raise(future: Any) -> Any:
    """Raise what a task raised; that its workers died, in words."""
    from distributed.scheduler import KilledWorker

    error = future.exception()
    if isinstance(error, KilledWorker):
        raise DeniableError(
            "several workers died, one after another, while they ran the same task; do they have enough memory? "
            f"Dask says: {error}"
        ) from None
    raise error


def _same(job: Any) -> Any:
    return job


def _added(parts: Sequence[Any]) -> Any:
    return reduce(add, parts)
