"""Saying how far long work has come: on stderr, and only when that is a terminal."""

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

Part = TypeVar("Part", bound=Sized)

EVERY = 0.2  # seconds


def watched(parts: Iterable[Part], what: str, total: int | None = None) -> Iterator[Part]:
    """Pass parts on, telling how many rows of them have gone by, how fast, and how long the rest will take."""
    if not sys.stderr.isatty():
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


def _line(what: str, rows: int, seconds: float, total: int | None) -> str:
    speed = rows / max(seconds, 1e-9)
    line = f"{rows:,} {what}, {speed:,.0f} per second"
    return line if total is None else f"{line}, {max(total - rows, 0) / max(speed, 1e-9):,.0f} s left"
