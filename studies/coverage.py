"""How often 95 % intervals of cells hold the truth where they claim to, over a grid of settings.

`deniable validate` has a grid of its own, on purpose: it asks whole surveys through the public names, by every method,
and so can afford 150 surveys of a setting. Here thousands are asked at once by the formulas behind the default method,
which tells 94 % from 95 %; tests tie the two (`test_surveys_made_at_once_are_those_of_the_library`).
"""

import csv
import itertools
import sys
import zlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.many_surveys import LEVEL, SURVEYS, Coverage, Setting, coverage, respondents

KINDS = ("flags", "flags, q = 1/2", "GRR", "unary", "subsets", "mixed")
ORDERS = (1, 2, 3, 4)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZES = (200, 1_000, 10_000, 100_000)
SUBJECTS = ("respondents", "population")
AGAIN = 10  # times as many of a setting with an interval out of range, to tell chance from fact


def settings() -> list[Setting]:
    usual = [Setting(*each) for each in itertools.product(KINDS, ORDERS, EPSILONS, SIZES, SUBJECTS)]
    together = [Setting(*each, "together") for each in itertools.product(KINDS, (2, 3), EPSILONS, SIZES, SUBJECTS)]
    return (
        usual
        + together
        + [Setting(*each, "rare") for each in itertools.product(KINDS, (1, 2, 3), EPSILONS, SIZES, SUBJECTS)]
    )


def _one(setting: Setting) -> list[tuple[Coverage, Coverage]]:
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    people = respondents(setting, 1, rng)
    found = coverage(setting, SURVEYS, rng, people)
    if all(ours.in_range() for ours, _ in found if ours.claimed >= 0.5):
        return found
    return coverage(setting, AGAIN * SURVEYS, rng, people)  # all of them new


def _write(found: Sequence[Coverage], path: Path) -> None:
    names = [field.name for field in fields(Setting)] + ["cell", "truth", "claimed", "below", "above", "covered"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for c in found:
            writer.writerow([*astuple(c.setting), c.cell, c.truth, c.claimed, c.below, c.above, c.covered])


def draw(found: Sequence[Coverage], path: Path) -> None:
    """A map of the main settings: the coverage that is farthest from 95 %, and a cross where nothing is answered."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 6.2), layout="constrained", sharey=True)
    for axis, subject in zip(axes, SUBJECTS, strict=True):
        worst = np.full((len(KINDS) * len(EPSILONS), len(ORDERS) * len(SIZES)), np.nan)
        for c in found:
            if c.setting.subject == subject and c.setting.answers == "loosely" and c.claimed >= 0.5:
                row = KINDS.index(c.setting.kind) * len(EPSILONS) + EPSILONS.index(c.setting.epsilon)
                column = ORDERS.index(c.setting.order) * len(SIZES) + SIZES.index(c.setting.n)
                if not abs(worst[row, column] - LEVEL) > abs(c.covered - LEVEL):
                    worst[row, column] = c.covered
        picture = axis.imshow(100 * worst, cmap="PuOr", vmin=93, vmax=97, aspect="auto")
        axis.plot(*np.argwhere(np.isnan(worst)).T[::-1], "x", color="0.6", ms=6)
        axis.set_xticks(range(worst.shape[1]), [f"{n:,}" for _ in ORDERS for n in SIZES], rotation=90, fontsize=7)
        axis.set_yticks(range(len(worst)), [f"{kind}, epsilon {e:g}" for kind in KINDS for e in EPSILONS], fontsize=7)
        for k in range(1, len(ORDERS)):
            axis.axvline(k * len(SIZES) - 0.5, color="black", lw=0.8)
        for k in range(1, len(KINDS)):
            axis.axhline(k * len(EPSILONS) - 0.5, color="black", lw=0.8)
        axis.set_xlabel("respondents, for tables of 1, 2, 3 and 4 features")
        axis.set_title(f"about the {subject}", fontsize=10)
    figure.colorbar(picture, ax=axes, label="% of 95 % intervals that hold the truth, the worst of three cells")
    figure.suptitle(
        "Intervals hold the truth where they are given; a cross means that there are not enough reports", fontsize=11
    )
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _parts() -> dict[str, dict[str, Any]]:
    """The rows of the summary: what the settings of each have in common."""
    parts: dict[str, dict[str, Any]] = {"all": {}}
    parts |= {f"order {order}": {"order": order} for order in ORDERS}
    parts |= {f"N = {n:,}": {"n": n} for n in SIZES}
    parts |= {f"epsilon {epsilon}": {"epsilon": epsilon} for epsilon in EPSILONS}
    parts |= {f"about the {subject}": {"subject": subject} for subject in SUBJECTS}
    parts |= {kind: {"kind": kind} for kind in KINDS}
    loosely = {name: wanted | {"answers": "loosely"} for name, wanted in parts.items()}
    return loosely | {"answers that go together": {"answers": "together"}, "rare answers": {"answers": "rare"}}


def run() -> None:
    """Print how many cells are answered and in range, and the worst; write coverage.csv and a map, coverage.png."""
    todo, found = settings(), []
    with ProcessPoolExecutor() as pool:
        for done, results in enumerate(pool.map(_one, todo, chunksize=4), start=1):
            found += results
            if sys.stderr.isatty():
                print(f"\r{done} of {len(todo)} settings", end="", file=sys.stderr)
    _write([ours for ours, _ in found], Path("coverage.csv"))
    draw([ours for ours, _ in found], Path("coverage.png"))
    print(
        f"\nCoverage of 95 % intervals: {SURVEYS:,} surveys of each setting, two or three cells (see coverage.csv);\n"
        f"{AGAIN * SURVEYS:,} surveys of those with a cell out of range, to tell chance from fact"
    )
    print("In range: 94 to 96 % hold the truth, and on each side 1.5 to 3.5 % miss it\n")
    print(f"  {'':28} {'cells':>6} {'answered':>9} {'in range':>9} {'plain normal':>13}")
    for name, wanted in _parts().items():
        cells = [pair for pair in found if wanted.items() <= vars(pair[0].setting).items()]
        answered = [pair for pair in cells if pair[0].claimed >= 0.5]
        good, plain = (np.mean([pair[k].in_range() for pair in answered]) for k in (0, 1))
        print(f"  {name:28} {len(cells):6} {len(answered) / len(cells):9.1%} {good:9.1%} {plain:13.1%}")
    print("\n  the worst that half of the surveys or more claimed")
    for c in sorted((c for c, _ in found if c.claimed >= 0.5), key=lambda c: -abs(c.covered - 0.95))[:10]:
        tails = f"{c.covered:6.1%}, below {c.below:5.1%}, above {c.above:5.1%}, claimed by {c.claimed:4.0%}"
        print(f"  {tails}  {astuple(c.setting)} {c.cell}")
