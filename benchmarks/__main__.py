"""All benchmarks of speed, or those named, such as `python -m benchmarks counting`."""

import importlib
import os
import platform
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: single-thread work is compared

import numpy as np

BENCHMARKS = (
    "device", "timing", "randomizing", "counting", "streaming", "estimating", "likelihood", "proper_tables",
    "associations", "designs", "planner", "startup", "collecting", "engines",
)  # fmt: skip

print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}, {os.cpu_count()} processors")
for name in sys.argv[1:] or BENCHMARKS:
    importlib.import_module(f"benchmarks.{name}").run()
