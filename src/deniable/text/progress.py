"""Saying how far long work has come: on stderr, and only when that is a terminal."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

from deniable.text.tables import is_terminal

Part = TypeVar("Part", bound=Sized)
Item = TypeVar("Item")

EVERY = 0.2  # seconds


def watched(parts: Iterable[Part], what: str, total: int | None = None) -> Iterator[Part]:
    """Pass parts on, telling how many rows of them have gone by, how fast, and how long the rest will take."""
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
    """Pass items on, telling of the latest one in a line that is wiped at the end."""
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
    speed = rows / max(seconds, 1e-9)
    line = f"{rows:,} {what}, {speed:,.0f} per second"
    return line if total is None else f"{line}, {max(total - rows, 0) / max(speed, 1e-9):,.0f} s left"
