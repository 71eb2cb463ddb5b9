"""Progress of long work: a line on standard error that is rewritten, only if that is a terminal."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

from deniable.text.tables import is_terminal

Part = TypeVar("Part", bound=Sized)
Item = TypeVar("Item")

# EVERY is the time between two updates of the line, in seconds.
EVERY = 0.2


def watched(parts: Iterable[Part], what: str, total: int | None = None) -> Iterator[Part]:
    """Pass parts on and show progress: how many rows have gone by, how fast, and how long the rest will take."""
    if not is_terminal(sys.stderr):
        yield from parts
        return
    start = told = time.monotonic()
    rows = 0
    for part in parts:
        yield part
        rows += len(part)
        if (now := time.monotonic()) - told >= EVERY:
            told = now
            print(f"\r\033[K{_line(what, rows, now - start, total)}", end="", file=sys.stderr, flush=True)
    print(f"\r\033[K{_line(what, rows, time.monotonic() - start, None)}", file=sys.stderr)


def told(items: Iterable[Item], line: Callable[[Item], str]) -> Iterator[Item]:
    """Pass items on and show a line about the latest one, which is wiped at the end."""
    if not is_terminal(sys.stderr):
        yield from items
        return
    last = time.monotonic()
    try:
        for item in items:
            if (now := time.monotonic()) - last >= EVERY:
                last = now
                print(f"\r\033[K{line(item)}", end="", file=sys.stderr, flush=True)
            yield item
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _line(what: str, rows: int, seconds: float, total: int | None) -> str:
    """Rows so far, rows per second, and the seconds left if the total is known."""
    speed = rows / max(seconds, 1e-9)
    line = f"{rows:,} {what}, {speed:,.0f} per second"
    return line if total is None else f"{line}, {max(total - rows, 0) / max(speed, 1e-9):,.0f} s left"
