"""Settings measured on all processors, each in one of them."""

import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from typing import TypeVar

from deniable.counts.count import processors

Setting = TypeVar("Setting")
Found = TypeVar("Found")


def spread(work: Callable[[Setting], Found], todo: Sequence[Setting], *, alone: bool) -> Iterator[Found]:
    """What each setting gives, in their order; or all of it in this process. A stop ends the workers at once."""
    if alone:
        yield from map(work, todo)
    elif todo:
        with get_context("spawn").Pool(
            min(len(todo), processors()), signal.signal, (signal.SIGINT, signal.SIG_IGN)
        ) as pool:
            yield from pool.imap(work, todo)
