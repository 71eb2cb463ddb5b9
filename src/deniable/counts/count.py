"""Counting reports: in memory or streamed from files, on all processors, in memory that does not grow with them.

Counting is map and sum: workers fetch batches of what reports show, each adds them to a tally of its own, and the
tallies add up.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import Any

from deniable.counts.checks import check_asked, warn_of_kept
from deniable.counts.counts import Counts
from deniable.counts.on_engine import count_on
from deniable.counts.sources import Batch, find_files, source
from deniable.counts.tally import Tally
from deniable.errors import CountError, abbreviated, refuse_weights
from deniable.files.stores import AnyFile
from deniable.reports.engines.engine import engine_of
from deniable.reports.reports import Reports
from deniable.survey.plan import Plan

# From so many reports for each arm on, several threads count arms.
MANY = 1 << 20


def count(
    reports: Reports | str | AnyFile | Sequence[str | AnyFile],
    names: Sequence[str] | Sequence[Sequence[str]] | None = None,
    *,
    order: int | None = None,
    plan: Plan | None = None,
    workers: int | None = None,
    engine: Any = None,
    weights: None = None,
) -> Counts:
    """Count how often evidence occurs together: one table of features, several tables, or all tables of some size.

    Parameters
    ----------
    reports
        `Reports` in memory; or Parquet files of one plan, which are streamed: a path, a glob such as
        "reports/*.parquet", a folder, or a list of these.
    names
        The features of one table, or a list of such lists for several tables. Of named tables whole patterns of
        evidence are kept where these are few, which make `method="feasible"` more precise. Of a plan with arms, every
        arm is counted that asks any of these features.
    order
        Instead of names: every pair of features (2), every triple (3), ... of those that some arm asks together.
        Without names and order, the whole table of each arm is counted; of a plan without arms, every pair.
    plan
        The plan of files that lost theirs, as some programs drop it when they rewrite a file.
    workers
        How many threads count at most; all processors by default.
    engine
        A `dask.distributed.Client` or a `SparkSession` whose workers count the files, which each of them must be able
        to open. They count with one thread a task.
    weights
        A weight for each respondent is refused: reports do not say whose they are. `poststratify` weights strata.

    Returns
    -------
    Counts
        Integer tensors with margins at index 0 of each axis.

    Examples
    --------
    >>> plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Flag("drinker")]), epsilon=2.0)
    >>> reports = dn.randomize({"smoker": [True, False], "drinker": [True, True]}, plan)
    >>> dn.count(reports, ["smoker", "drinker"]).array("smoker", "drinker").shape
    (2, 2)
    """
    refuse_weights(weights, CountError)
    if engine is not None:
        if isinstance(reports, Reports) or workers is not None:
            raise CountError("an engine counts files, with as many workers as it has; give paths, and no workers=")
        files = find_files(reports)
        counted = count_on(engine_of(engine), files, names, order, plan)
        if counted.plan.kept and len(files) > 1:
            warn_of_kept("files", 2)
        return counted
    most = processors() if workers is None else _checked_workers(workers)
    plan, total, batches, sources = source(reports, plan)
    tally = Tally.of(plan, names, order=order, expected=total)
    rows = tally.batch_rows(total, most)
    many = total >= MANY * len(tally.arms)  # else threads wait for each other more than they count
    workers = max(1, min(most if many or len(tally.arms) == 1 else 1, -(-total // rows)))
    if workers > 1:  # one was checked with the tally
        tally.check_memory(workers)
    found = batches([arm.needed for arm in tally.arms], rows)
    if workers == 1:  # a thread of its own, and a sum, would only cost time
        return _added(tally, found).counts().of_sources(sources)
    first, *others = _spread(tally, found, workers)
    return sum(others, start=first).counts().of_sources(sources)


def count_table(reports: Reports | str | AnyFile | Sequence[str | AnyFile], names: Sequence[str]) -> Counts:
    """Count what the estimate of one table is made from, so that it is the same as from `count(reports)`.

    Generalized least squares over arms takes what blocks say of other questions, too: every arm is counted whole.
    """
    plan, *_ = source(reports)
    if plan.has_arms and Tally.of(plan).will_hold(check_asked(plan, names)):
        return count(reports)
    return count(reports, names)


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _checked_workers(workers: Any) -> int:
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise CountError(f"workers is how many threads count, from 1 on; found {abbreviated(workers)}")
    return workers


def _added(tally: Tally, batches: Iterable[Batch]) -> Tally:
    """A tally to which all batches were added."""
    for batch in batches:
        tally.add_shown(len(batch), batch.shown, batch.arm)
    return tally


def _spread(tally: Tally, batches: Iterator[Batch], workers: int) -> list[Tally]:
    """Let workers fetch batches, one at a time, and return the tallies of the same that each of them made."""
    turn, stopped = Lock(), Event()

    def next_batch() -> Batch | None:
        with turn:
            return None if stopped.is_set() else next(batches, None)

    def worker() -> Tally:
        try:
            return _added(tally.empty(), iter(next_batch, None))
        except BaseException:
            stopped.set()  # the others stop at their next batch
            raise

    with ThreadPoolExecutor(workers) as pool:
        try:
            return [future.result() for future in [pool.submit(worker) for _ in range(workers)]]
        finally:
            stopped.set()  # after Ctrl-C, too
