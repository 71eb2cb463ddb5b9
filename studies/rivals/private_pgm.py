"""mbi (Private-PGM: McKenna, Sheldon and Miklau, ICML 2019), from the package registry, in an environment of its own.

It gets what `dn.fit` is fitted to: tables with the standard error of a cell, by `model.measurements()`. The Python that
has mbi is named by DENIABLE_MBI. Steps of mirror descent are 600, its best number on nltcs, which was found by looking;
the reports cannot tell it.
"""

import os
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from studies.rivals.of_flags import Array, Columns

STEPS = 600

# What the other Python runs: tables in, the margins that are wanted out.
SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
from itertools import combinations
import numpy as np
import jax
jax.config.update("jax_enable_x64", True)
import mbi
given = np.load(sys.argv[1])
levels = given["levels"].tolist()
names = [f"q{k}" for k in range(len(levels))]
places = [tuple(int(word) for word in key.split()) for key in given["places"].tolist()]
domain = mbi.Domain(names, levels)
tables = [
    mbi.LinearMeasurement(given[f"cells{k}"], tuple(names[p] for p in own), float(given["stderr"][k]))
    for k, own in enumerate(places)
]
model = mbi.estimation.MirrorDescent().estimate(domain, tables, known_total=float(given["n"]), iters=int(sys.argv[3]))
wanted = {key: tuple(names[int(p)] for p in key.split()) for key in given["wanted"].tolist()}
found = {key: np.asarray(model.project(own).datavector()) for key, own in wanted.items()}
np.savez(sys.argv[2], **found)
"""

__all__ = ["fitted_by_mbi"]


@cache
def _compiled() -> TemporaryDirectory[str]:
    """Where what is compiled for one survey is kept for the next, which takes half of the time."""
    return TemporaryDirectory()


def fitted_by_mbi(model: Any, levels: tuple[int, ...], wanted: list[Columns]) -> dict[Columns, Array]:
    """The shares of some tables by mbi's model of what a model was fitted to."""
    tables = model.measurements()
    with TemporaryDirectory() as folder:
        given, made = Path(folder) / "given.npz", Path(folder) / "made.npz"
        cells = {f"cells{k}": table.reshape(-1) for k, (_, table, _) in enumerate(tables)}
        np.savez(
            given, levels=np.array(levels), n=model.n, stderr=np.array([stderr for *_, stderr in tables]),
            places=np.array([" ".join(name.removeprefix("q") for name in names) for names, *_ in tables]),
            wanted=np.array([" ".join(map(str, columns)) for columns in wanted]), **cells,
        )  # fmt: skip
        command = [os.environ["DENIABLE_MBI"], "-c", SCRIPT, str(given), str(made), str(STEPS)]
        others = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run(command, check=True, env=others | {"JAX_COMPILATION_CACHE_DIR": _compiled().name})
        with np.load(made) as margins:
            return {columns: margins[" ".join(map(str, columns))] / model.n for columns in wanted}
