"""How fast things answer: wall time of fresh processes, less that of bare Python, and the processor time of a table."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import deniable as dn
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
    _print_processor_time(deniable)


def _print_processor_time(deniable: str) -> None:
    """Print what a table of a small file of counts takes in all, and as a ratio to importing numpy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counts.npz"
        _counts().save(path)
        times = medians(
            {
                "numpy": lambda: _fresh(sys.executable, "-c", "import numpy"),
                "table": lambda: _fresh(deniable, "table", str(path), "smoker", "age"),
            },
            repeats=9,
            clock=_of_children,
        )
    print("\nProcessor time of a fresh process\n")
    print(f"  {'import numpy':40} {times['numpy'] * 1e3:8.1f} ms")
    ratio = times["table"] / times["numpy"]
    print(f"  {'deniable table, of few counts':40} {times['table'] * 1e3:8.1f} ms   wanted < 600; {ratio:.1f} x numpy")


def _counts() -> dn.Counts:
    schema = dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["18-29", "30-44", "45-64", "65+"])])
    rng = np.random.default_rng(1)
    truth = dn.simulate.truth(schema, rng.dirichlet(np.ones(8)).reshape(2, 4))
    return dn.simulate.counts(truth, dn.Plan(schema, epsilon=2.0), rng, n=12_000)


def _of_children() -> float:
    """The processor time of all processes that were started and ended, user's and system's."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
