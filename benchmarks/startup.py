"""How fast things answer: wall time of fresh processes, less that of bare Python."""

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.harness import medians


def _fresh(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def run() -> None:
    """Print the table."""
    deniable = str(Path(sys.executable).with_name("deniable"))
    times = medians(
        {
            "bare": lambda: _fresh(sys.executable, "-c", "pass"),
            "client": lambda: _fresh(sys.executable, "-c", "import deniable.client"),
            "help": lambda: _fresh(deniable, "--help"),
        },
        repeats=15,
        clock=time.perf_counter,
    )
    print("\nStart-up, wall time\n")
    print(f"  {'bare Python':40} {times['bare'] * 1e3:8.1f} ms")
    over = (times["client"] - times["bare"]) * 1e3
    print(f"  {'import deniable.client, over bare Python':40} {over:8.1f} ms   wanted < 50 ms")
    print(f"  {'deniable --help':40} {times['help'] * 1e3:8.1f} ms   wanted < 300 ms")
