"""All studies, or those named, such as `python -m studies coverage`."""

import importlib
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: every processor has a process of its own

STUDIES = ("coverage", "accuracy", "joint")

for name in sys.argv[1:] or STUDIES:
    importlib.import_module(f"studies.{name}").run()
