"""Peak memory of a piece of code, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc")

CODE = """
import os
from pathlib import Path
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])  # each worker has batches of its own
import deniable as dn
import deniable.kernels
deniable.kernels.LOADING = 0  # numba or not makes a difference of its own
{what}
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1])
"""


def peak_kilobytes(what: str) -> int:
    """The most memory that a new process holds while it runs this code, in which `dn` is the library."""
    code = CODE.format(what=what)
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
