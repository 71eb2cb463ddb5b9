"""Timing contestants in turn, and printing the table.

Single-thread work is timed as CPU time of the process, which other users of the machine do not disturb. Contestants
take turns, and the median of each counts.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Clock = Callable[[], float]


@dataclass(frozen=True)
class Row:
    """One comparison: ours against another, how many times faster it is, and what is wanted."""

    what: str
    ours: float
    other: str
    others: float
    wanted: float | None = None

    @property
    def ratio(self) -> float:
        """How many times longer the other takes."""
        return self.others / self.ours


def medians(
    contestants: Mapping[str, Callable[[], Any]],
    *,
    repeats: int = 7,
    clock: Clock = time.process_time,
    pick: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """Seconds of each contestant, in turns, after one round to warm up."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats + 1):
        for name, run in contestants.items():
            start = clock()
            run()
            if turn:
                times[name].append(clock() - start)
    return {name: pick(seconds) for name, seconds in times.items()}


def show(title: str, rows: list[Row]) -> None:
    """Print the rows as a table."""
    print(f"\n{title}\n")
    print(f"  {'what':58} {'ours':>11}   {'against':40} {'takes':>11} {'ratio':>8} {'wanted':>8}")
    for row in rows:
        wanted = "" if row.wanted is None else f">= {row.wanted:g}"
        verdict = "" if row.wanted is None or row.ratio >= row.wanted else "  MISSED"
        print(
            f"  {row.what:58} {_seconds(row.ours):>11}   {row.other:40} {_seconds(row.others):>11} "
            f"{row.ratio:8.1f} {wanted:>8}{verdict}"
        )


def _seconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.2f} ms" if seconds < 10 else f"{seconds:,.1f} s"
