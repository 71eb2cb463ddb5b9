"""The collector under load: durable reports a second, one by one and in batches, and ten times as much as it takes.

The generator runs beside the server on the same processors, and the disk's own time for one sync is measured at that
moment: every durable rate hangs on it.
"""

import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import deniable as dn
from deniable import client
from deniable.collect.stores.group_data import checksum
from deniable.collect.stores.sqlite_log import SqliteLog

SECONDS = 6.0  # Each load lasts so long.
BATCH = 1000  # A batch has so many reports.
ALREADY = int(os.environ.get("DENIABLE_STORED", "200000"))  # So many reports are stored before the load begins.
PLAN = dn.Plan(dn.Schema([dn.Flag(f"flag {k}") for k in range(12)] + [dn.Choice("age", list("abcdefgh"))]), epsilon=4.0)
ANSWERS = {f"flag {k}": True for k in range(12)} | {"age": "c"}
REPORT = client.report_from(os.urandom, ANSWERS, PLAN.to_json())  # The report that everybody sends.
SIZE = len(REPORT)


def fdatasync_ms(folder: Path) -> float:
    """Milliseconds that writing and syncing 4 kB take now, the median of some."""
    times = []
    with (folder / "probe").open("wb", buffering=0) as file:
        for _ in range(40):
            start = time.perf_counter()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def fill(path: Path, count: int) -> None:
    """Store so many reports of an earlier day before the server starts, in groups as they come from batches."""
    store = SqliteLog(path, synchronous="off")
    number = store.add_plan(PLAN.fingerprint, PLAN.to_json(), SIZE)
    store.open_part(1)
    with store._transaction() as db:
        for start in range(0, count, BATCH):
            ids = np.frombuffer(os.urandom(16 * min(BATCH, count - start)), "S16")
            rows = np.zeros((len(ids), 16 + SIZE), np.uint8)
            rows[:, :16] = np.sort(ids).view(np.uint8).reshape(-1, 16)
            rows[:, 16:] = np.frombuffer(REPORT, np.uint8)
            data = rows.tobytes()
            row = (start // BATCH + 1, number, data, checksum(data, number))
            db.execute("insert into groups values(?, 1, ?, null, ?, ?)", row)
    store.close()


class Load:
    """Connections that ask and wait for the answer, again and again."""

    def __init__(self, port: int, connections: int, batch: int) -> None:
        self.port, self.connections, self.batch = port, connections, batch
        self.times: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.without_retry = 0

    def request(self) -> bytes:
        head = f"host: x\r\ndeniable-plan: {PLAN.fingerprint}\r\ncontent-length: "
        if self.batch == 1:
            return f"PUT /reports/{os.urandom(16).hex()} HTTP/1.1\r\n{head}{SIZE}\r\n\r\n".encode() + REPORT
        ids, rest = os.urandom(16 * self.batch), REPORT
        body = b"".join(ids[at : at + 16] + rest for at in range(0, len(ids), 16))
        return f"POST /batches HTTP/1.1\r\n{head}{len(body)}\r\n\r\n".encode() + body

    async def ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request, and its answer."""
        start = time.perf_counter()
        writer.write(self.request())
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"content-length: (\d+)", head)
        if length:
            await reader.readexactly(int(length[1]))
        self.statuses[status := int(head[9:12])] += 1
        self.without_retry += status == 503 and b"retry-after" not in head
        if status < 300:
            self.times.append(time.perf_counter() - start)

    async def one(self, until: float) -> None:
        """One connection until that time."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while time.perf_counter() < until:
            await self.ask(reader, writer)
        writer.close()

    async def run(self, seconds: float) -> float:
        """All connections; how long they took."""
        start = time.perf_counter()
        await asyncio.gather(*(self.one(start + seconds) for _ in range(self.connections)))
        return time.perf_counter() - start

    def line(self, what: str, seconds: float, sync_ms: float) -> str:
        """What came of it."""
        times = sorted(self.times) or [0.0]
        rate = len(self.times) * self.batch / seconds
        p50, p99 = (1e3 * times[int(share * (len(times) - 1))] for share in (0.5, 0.99))
        answers = ", ".join(f"{count:,} of {status}" for status, count in sorted(self.statuses.items()))
        waits = f"p50 {p50:6.1f} ms   p99 {p99:6.1f} ms   sync {sync_ms:5.2f} ms"
        return f"  {what:36} {rate:9,.0f}/s   {waits}   {answers}"


def memory_mb(process: int) -> float:
    """The most memory that a process has had resident so far."""
    text = Path(f"/proc/{process}/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+)", text)[0]) / 1024


def run() -> None:
    """Print rates, latencies and memory."""
    print(f"\nThe collector, {ALREADY:,} reports stored before\n")
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        PLAN.save(folder / "plan.json")
        fill(folder / "survey.db", ALREADY)
        command = [sys.executable, "-m", "deniable", "serve", "plan.json", "--store", "survey.db", "--port", "0"]
        start = time.perf_counter()
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        port = int(re.findall(r":(\d+);", server.stderr.readline())[0])
        print(f"  ready after {time.perf_counter() - start:.1f} s, {memory_mb(server.pid):.0f} MB")
        sent = 0
        try:
            for what, connections, batch in (
                ("one by one, 64 connections", 64, 1),
                (f"batches of {BATCH:,}, 8 connections", 8, BATCH),
                ("one by one, 640 connections", 640, 1),
                (f"batches of {BATCH:,}, 80 connections", 80, BATCH),
            ):
                sync_ms = fdatasync_ms(folder)
                load = Load(port, connections, batch)
                seconds = asyncio.run(load.run(SECONDS))
                print(load.line(what, seconds, sync_ms), flush=True)
                sent += (load.statuses[200] + load.statuses[201]) * batch
                if load.without_retry or set(load.statuses) - {200, 201, 429, 503}:
                    print("  MISSED: other answers than 2xx, 429 and 503 with Retry-After")
            print(f"  {memory_mb(server.pid):.0f} MB at most")
        finally:
            start = time.perf_counter()
            server.terminate()
            server.communicate()
        print(f"  stopped in {time.perf_counter() - start:.2f} s")
        store = SqliteLog(folder / "survey.db")
        kept = store.total() - ALREADY
        store.close()
        print(f"  {sent:,} acknowledged, {kept:,} stored{'' if sent == kept else ': MISSED'}")
