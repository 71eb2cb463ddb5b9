"""What holds for all tests: one thread for each worker, so that workers do not wait for each other."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:  # before numpy is imported
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
