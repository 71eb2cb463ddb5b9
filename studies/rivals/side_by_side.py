"""Everybody side by side on nltcs (16 flags) and adult (5 and 8 questions), at equal epsilon, with the same people.

Errors are about the table that respondents are drawn from, with replacement. The root mean square error is of estimates
as they come; the total variation distance is of tables cut at zero and made to sum to one, everybody's alike. Whoever
can be told which tables are wanted (k questions each) is told; the others make one survey for all of them.

Every survey's errors are added to rivals.csv, in the current folder, as it goes; a run that was stopped goes on from
there, and one that finds everything prints the tables and draws rivals.svg.
"""

import csv
import os
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

import deniable as dn
from studies.classic_tables import at_hand, say_left_out
from studies.rivals.contestants import CONTESTANTS, ORDERS, Contestant
from studies.rivals.of_flags import Array
from studies.rivals.picture import draw
from studies.rivals.settings import DATA, EPSILONS, Setting, truths_of

# So many surveys of each setting, in batches of so many: first some of everything, then more.
SURVEYS, BATCH = 20, 4
FILE = Path("rivals.csv")

__all__ = ["Errors", "cut", "means_of", "run", "surveyed"]


@dataclass(frozen=True)
class Errors:
    """Of one survey: the mean square error and the distance over tables of one order; nan where it was refused."""

    data: str
    times: int
    epsilon: float
    contestant: str
    seed: int
    order: int
    square: float
    distance: float
    seconds: float

    @classmethod
    def read(cls, row: list[str]) -> "Errors":
        data, times, epsilon, contestant, seed, order, *numbers = row
        return cls(data, int(times), float(epsilon), contestant, int(seed), int(order), *map(float, numbers))


def surveyed(setting: Setting, name: str, contestant: Contestant, seed: int) -> list[Errors]:
    """The errors of one survey of each order, or of one survey for all of them."""
    rng, found, estimate = np.random.default_rng([seed, 1]), [], None
    for k in contestant.takes(setting):
        start = processor_seconds()
        try:
            if contestant.told or estimate is None:
                estimate = contestant.make(setting, seed, k, rng)
            pairs = [(estimate(columns), truth) for columns, truth in truths_of(setting.data, k)]
            square = float(np.mean([((shares - truth) ** 2).mean() for shares, truth in pairs]))
            distance = float(np.mean([np.abs(cut(shares) - truth).sum() / 2 for shares, truth in pairs]))
        except dn.EstimateError:
            square = distance = float("nan")
        seconds = processor_seconds() - start
        key = (setting.data, setting.times, setting.epsilon, name, seed, k)
        found.append(Errors(*key, 100 * np.sqrt(square), 100 * distance, seconds))
    return found


def processor_seconds() -> float:
    """Seconds of the processor that this process and those it started and waited for have used."""
    return sum(os.times()[:4])


def cut(shares: Array) -> Array:
    """A table without negative cells that sums to one; even, if nothing is left."""
    kept = np.maximum(shares, 0)
    return kept / kept.sum() if kept.sum() > 0 else np.full(len(kept), 1 / len(kept))


def run(*, quick: bool = False) -> None:
    """Make the surveys that are not in the file, then print the tables: everybody's errors by order of tables."""
    if not at_hand():
        say_left_out("rivals side by side")
        return
    for name, contestant in CONTESTANTS.items():
        if contestant.missing:
            print(f"Left out: {name}; {contestant.missing}")
    if quick:
        print_tables([e for setting in _settings((1,), (1.0,)) for e in _of_all(setting, [0], set())])
        return
    done = _read()
    seen = {(e.data, e.times, e.epsilon, e.contestant, e.seed) for e in done}
    for first in range(0, SURVEYS, BATCH):
        for setting in _settings((1, 10), EPSILONS):
            start = processor_seconds()
            new = _of_all(setting, range(first, first + BATCH), seen)
            done += new
            _append(new)
            print(f"{setting}: surveys {first} to {first + BATCH - 1}, {processor_seconds() - start:.0f} s", flush=True)
    print_tables(done)
    draw(done, means_of, Path("rivals.svg"))


def _settings(times: tuple[int, ...], epsilons: tuple[float, ...]) -> list[Setting]:
    return [Setting(name, many, epsilon) for many in times for epsilon in epsilons for name in DATA]


def _of_all(setting: Setting, seeds: range | list[int], seen: set[tuple[str, int, float, str, int]]) -> list[Errors]:
    return [
        error
        for seed in seeds
        for name, contestant in CONTESTANTS.items()
        if seed < contestant.repeats(setting) and contestant.takes(setting) and not contestant.missing
        if (setting.data, setting.times, setting.epsilon, name, seed) not in seen
        for error in surveyed(setting, name, contestant, seed)
    ]


def _read() -> list[Errors]:
    if not FILE.exists():
        return []
    with FILE.open(encoding="utf-8") as file:
        return [Errors.read(row) for row in csv.reader(file)]


def _append(errors: list[Errors]) -> None:
    with FILE.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(astuple(error) for error in errors)


def print_tables(errors: list[Errors]) -> None:
    """Root mean square error / total variation in points by order; surveys, seconds, bytes and intervals."""
    for key in dict.fromkeys((e.data, e.times, e.epsilon) for e in errors):
        own = [e for e in errors if (e.data, e.times, e.epsilon) == key]
        setting = Setting(*key)
        heads = " | ".join(f"{head:>15}" for head in ("tables of 1", "of 2", "of 3", "of 4"))
        print(f"\n{setting}\n{'':24}| {heads} | surveys, seconds, bytes")
        for name in CONTESTANTS:
            if mine := [e for e in own if e.contestant == name]:
                print(f"{name:24}| {_line(mine, setting, CONTESTANTS[name])}")


def means_of(errors: list[Errors], k: int) -> tuple[float, float] | None:
    """Root mean square error and mean distance of tables of one order over surveys that were not refused."""
    own = [e for e in errors if e.order == k and not np.isnan(e.square)]
    if not own:
        return None
    return float(np.sqrt(np.mean([e.square**2 for e in own]))), float(np.mean([e.distance for e in own]))


def _line(errors: list[Errors], setting: Setting, contestant: Contestant) -> str:
    surveys, refused = len({e.seed for e in errors}), len({e.seed for e in errors if np.isnan(e.square)})
    means = [means_of(errors, k) for k in ORDERS]
    shown = [f"{found[0]:.2f} / {found[1]:.2f}" if found else "" for found in means]
    told = f"{surveys}, {sum(e.seconds for e in errors) / surveys:.2f}, {contestant.size(setting.levels, 2)}"
    told += ", intervals" * contestant.bars + f", refused {refused}" * (refused > 0)
    return " | ".join(f"{cell:>15}" for cell in shown) + f" | {told}"
