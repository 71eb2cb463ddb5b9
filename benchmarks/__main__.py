"""All benchmarks, or those named: `python -m benchmarks [randomizing] [startup]`."""

import importlib
import platform
import sys

import numpy as np

BENCHMARKS = ("randomizing", "startup")

print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}")
for name in sys.argv[1:] or BENCHMARKS:
    importlib.import_module(f"benchmarks.{name}").run()
