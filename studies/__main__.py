"""All studies, or those named, such as `python -m studies coverage`; `--quick` makes fewer surveys."""

import importlib
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: every processor has a process of its own

STUDIES = (
    "coverage",
    "accuracy",
    "joint",
    "designs",
    "whole_blocks",
    "planner",
    "whole_survey",
    "shrunk_tables",
    "rivals",
)

quick = {"quick": True} if "--quick" in sys.argv else {}
shorter = ("designs", "whole_blocks", "planner", "whole_survey", "shrunk_tables", "rivals")
for name in [word for word in sys.argv[1:] if word != "--quick"] or STUDIES:
    importlib.import_module(f"studies.{name}").run(**quick if name in shorter else {})
