"""The rivals side by side in one picture: the distance of tables by epsilon, a line for each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from studies.rivals.settings import DATA

# Those that are near enough to be told apart, and how each is drawn.
LINES = {
    "deniable, consistent": ("#1b6ca8", "--"), "deniable, shrunk": ("#1b6ca8", ":"),
    "deniable, dn.fit": ("#1b6ca8", "-"),
    "mbi, the same reports": ("#7b3294", "-"), "CALM": ("#d95f02", "-"), "optimised factorization": ("#1b9e77", "-"),
    "InpHT": ("#666666", "-"), "MargPS": ("#999999", "--"), "one question (SMP)": ("#bbbbbb", "-"),
}  # fmt: skip

__all__ = ["draw"]


def draw(errors: list[Any], means_of: Callable[[list[Any], int], tuple[float, float] | None], path: Path) -> None:
    """Write the picture: a row for each survey as large as the data are, a column for tables of two, three and four."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 9), layout="constrained")
    axes = figure.subplots(len(DATA), 3, squeeze=False)
    for row, data in enumerate(DATA):
        for column, k in enumerate((2, 3, 4)):
            own = [e for e in errors if (e.data, e.times, e.order) == (data, 1, k)]
            _panel(axes[row, column], own, means_of, k)
            axes[row, column].set_title(f"{data.replace('nltcs', 'nltcs, 16')} questions: tables of {k}", fontsize=9)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("epsilon")
    figure.supylabel("total variation distance, points")
    figure.savefig(path)


def _panel(axis: Any, errors: list[Any], means_of: Callable[[list[Any], int], Any], k: int) -> None:
    for name, (colour, style) in LINES.items():
        found = {
            epsilon: means_of([e for e in errors if (e.contestant, e.epsilon) == (name, epsilon)], k)
            for epsilon in sorted({e.epsilon for e in errors})
        }
        points = [(epsilon, means[1]) for epsilon, means in found.items() if means]
        if points:
            axis.plot(*zip(*points, strict=True), style, color=colour, marker=".", label=name)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
    axis.set_ylim(1, 100)
    axis.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    axis.minorticks_off()
