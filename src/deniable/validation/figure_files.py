"""The folder of figures: pictures and the numbers behind them, each file written whole or not at all."""

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from deniable.errors import EstimateError
from deniable.files import replacing


def prepared(folder: str | Path) -> Path:
    """The folder for figures, made if need be; what would stop the run is told before anything is simulated."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise EstimateError("the figures need matplotlib: pip install 'deniable[report]'") from None
    mpl.use("Agg")
    where = Path(folder)
    if where.exists() and not where.is_dir():
        raise EstimateError(f"{where}: is a file, and the figures need a folder")
    where.mkdir(parents=True, exist_ok=True)
    if not os.access(where, os.W_OK):
        raise EstimateError(f"{where}: nothing can be written to this folder")
    return where


def save(figure: Any, path: Path) -> None:
    """Write a matplotlib figure as PNG, and close it."""
    import matplotlib.pyplot as plt

    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110, format="png")
    plt.close(figure)


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Write the numbers behind a figure as CSV."""
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(rows)
