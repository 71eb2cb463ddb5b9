"""Counting reports from files: 50 million of 16 flags, and how soon a small job is done."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.reports.parquet import write

REPORTS, PART = 50_000_000, 1_000_000
LIMIT = 600  # megabytes

CODE = """
import json, sys, time
from pathlib import Path
import deniable as dn
start = time.perf_counter()
counts = dn.count(sys.argv[1], order=2)
seconds = time.perf_counter() - start
status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) / 1024  # resource's peak would count this process's parent too
print(json.dumps([counts.n, seconds, peak]))
"""


def _write(path: Path, reports: int) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(16)]), epsilon=16.0)
    rng = np.random.default_rng(1)
    part = {name: rng.random(min(reports, PART), np.float32) < 0.2 for name in plan.schema.names}
    write(path, plan, (dn.randomize(part, plan, rng=rng) for _ in range(-(-reports // PART))))


def run() -> None:
    """Print what was measured."""
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder, "large.parquet"), Path(folder, "small.parquet")
        _write(large, REPORTS)
        done = subprocess.run([sys.executable, "-c", CODE, str(large)], capture_output=True, text=True, check=True)
        n, seconds, megabytes = json.loads(done.stdout)
        print(f"\nStreaming {n:,} reports of 16 flags from Parquet ({large.stat().st_size / 1e6:,.0f} MB), all pairs\n")
        verdict = "" if megabytes < LIMIT else "  MISSED"
        print(
            f"  {n / seconds:,.0f} reports per second, peak memory {megabytes:,.0f} MB   wanted < {LIMIT} MB{verdict}"
        )
        _write(small, 10_000)
        command = [str(Path(sys.executable).with_name("deniable")), "count", str(small), "--order", "2", "-o"]
        times = []
        for turn in range(5):
            start = time.perf_counter()
            subprocess.run([*command, str(Path(folder, f"{turn}.npz"))], check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        verdict = "" if sorted(times)[2] < 1 else "  MISSED"
        print(f"  deniable count of 10,000 reports: {sorted(times)[2]:.2f} s in all   wanted < 1 s{verdict}")
