"""The collector for a long time at a rate that is far from its limit: whether its memory grows by more than its index.

Run it as `python -m benchmarks.soak [minutes] [reports a second]`, 15 minutes and 500 by default. The index of ids has
some bytes for each report, so memory is given beside the number of reports: what grows beyond that would be a leak.
"""

import asyncio
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.collecting import PLAN, Load, fdatasync_ms
from deniable.collect.stores.sqlite_log import SqliteLog

CONNECTIONS = 16
LINES = 30  # Memory is looked at so many times.
SETTLED = 0.2  # This share of the time is left out: what grows then is what is loaded once.


def resident_mb(process: int) -> float:
    """The memory that a process has resident now."""
    text = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", text)[0]) / 1024


class PacedLoad(Load):
    """Connections that send at even times, not as fast as they can."""

    def __init__(self, port: int, rate: float) -> None:
        super().__init__(port, CONNECTIONS, 1)
        self.pause = CONNECTIONS / rate

    async def one(self, until: float) -> None:
        """One sender after another until that time: each connects, sends a report, and leaves."""
        while (start := time.perf_counter()) < until:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            await self.ask(reader, writer)
            writer.close()
            await asyncio.sleep(max(0.0, start + self.pause - time.perf_counter()))


class Watched:
    """The memory of a process over time, beside what it has stored by then."""

    def __init__(self, process: int, load: Load) -> None:
        self.process, self.load = process, load
        self.rows: list[tuple[float, int, float]] = []

    async def run(self, seconds: float) -> None:
        """Print a line now and then."""
        start = time.perf_counter()
        while (now := time.perf_counter() - start) < seconds:
            row = now, len(self.load.times), resident_mb(self.process)
            self.rows.append(row)
            print(f"  {row[0]:6.0f} s  {row[1]:10,} reports  {row[2]:7.1f} MB", flush=True)
            await asyncio.sleep(seconds / LINES)

    def bytes_of_a_report(self) -> float:
        """The slope of memory over reports, after what is loaded once."""
        late = np.array([row for row in self.rows if row[0] >= SETTLED * self.rows[-1][0]])
        return float(np.polyfit(late[:, 1], late[:, 2] * 2**20, 1)[0])


async def soak(port: int, process: int, seconds: float, rate: float) -> PacedLoad:
    """The load, watched."""
    load = PacedLoad(port, rate)
    watched = Watched(process, load)
    await asyncio.gather(load.run(seconds), watched.run(seconds))
    print(f"  memory grows by {watched.bytes_of_a_report():.0f} bytes for each report")
    return load


def run(minutes: float, rate: float) -> None:
    """Serve, load, and compare what was acknowledged with what is stored."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        PLAN.save(folder / "plan.json")
        command = [sys.executable, "-m", "deniable", "serve", "plan.json", "--store", "survey.db", "--port", "0"]
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        try:
            port = int(re.findall(r":(\d+);", server.stderr.readline())[0])
            sync_ms = fdatasync_ms(folder)
            load = asyncio.run(soak(port, server.pid, 60 * minutes, rate))
            print(load.line(f"{minutes:g} minutes at {rate:g}/s", 60 * minutes, sync_ms))
        finally:
            server.terminate()
            server.communicate()
        store = SqliteLog(folder / "survey.db")
        acknowledged, stored = load.statuses[200] + load.statuses[201], store.total()
        store.close()
        print(f"  {acknowledged:,} acknowledged, {stored:,} stored{'' if acknowledged == stored else ': MISSED'}")


if __name__ == "__main__":
    minutes, rate = (float(word) for word in (*sys.argv[1:], *("15", "500")[len(sys.argv) - 1 :]))
    run(minutes, rate)
