"""Everybody side by side on nltcs (16 flags) and adult (5 questions), at equal total epsilon and with the same people.

Errors are about the table that respondents are drawn from, with replacement. The root mean square error is of estimates
as they come; the total variation distance is of tables cut at zero and made to sum to one, everybody's alike. Whoever
can be told which tables are wanted (k questions each) is told; the others make one survey for all of them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from math import ceil, log2, prod
from typing import Any

import numpy as np

import deniable as dn
from studies.classic_tables import at_hand, rows_of, say_left_out
from studies.rivals.bloom import BITS, lopub, rappor
from studies.rivals.calm import calm
from studies.rivals.of_flags import RIVALS, Array, Columns
from studies.rivals.sampled_tables import ORACLES, Rows, cells_of, independent_answers, sampled

EPSILONS = (0.5, 1.0, 2.0, 4.0)
ORDERS = (1, 2, 3, 4)
# Up to so many tables of each order are looked at, the same in all surveys.
TABLES = 12
# So many surveys are made in each setting, and of those that take long.
SURVEYS, FEW = 5, 2
DATA: dict[str, tuple[int, ...]] = {"nltcs": tuple(range(16)), "adult": (7, 8, 9, 10, 14)}

Estimates = Callable[[Columns], Array]
Levels = tuple[int, ...]


@dataclass(frozen=True)
class Contestant:
    """How a survey is made; whether it depends on the order of tables; bytes of a report; and where it takes part."""

    make: Callable[[Rows, Levels, int, float, np.random.Generator], Estimates]
    told: bool
    size: Callable[[Levels, int], str]
    flags_alone: bool = False
    slow: bool = False
    once: bool = False  # not with ten times as many respondents
    orders: tuple[int, ...] = ORDERS
    bars: bool = False


def _schema(levels: Levels) -> dn.Schema:
    return dn.Schema(
        [
            dn.Flag(f"q{k}") if m == 2 else dn.Choice(f"q{k}", [str(value) for value in range(m)])
            for k, m in enumerate(levels)
        ]
    )


@cache
def _plan(levels: Levels, k: int, epsilon: float) -> dn.Plan:
    return dn.design(_schema(levels), epsilon=epsilon, order=k)


def _counts(rows: Rows, levels: Levels, k: int, epsilon: float, rng: np.random.Generator) -> dn.Counts:
    """Counts of randomized reports; drawn without any report where a plan hashes nothing."""
    plan = _plan(levels, k, epsilon)
    if any(isinstance(protocol, dn.LocalHashing) for arm in plan.arms for protocol in arm.protocols):
        answers = {
            feature.name: rows[:, j] == 1 if isinstance(feature, dn.Flag) else rows[:, j].astype(str)
            for j, feature in enumerate(plan.schema)
        }
        return dn.count(dn.randomize(answers, plan, rng=rng))
    people = np.bincount(cells_of(rows, levels, tuple(range(len(levels)))), minlength=prod(levels)).reshape(levels)
    return dn.simulate.counts(people, plan, rng)


def ours(method: str, rows: Rows, levels: Levels, k: int, epsilon: float, rng: np.random.Generator) -> Estimates:
    """A design for all tables of k questions, and an estimate of each table by some method."""
    counts = _counts(rows, levels, k, epsilon, rng)

    def estimate(columns: Columns) -> Array:
        table = dn.estimate(counts, [f"q{column}" for column in columns], method=method).table()
        return np.asarray(table["proportion"].to_numpy())

    return estimate


def whole(rows: Rows, levels: Levels, k: int, epsilon: float, rng: np.random.Generator) -> Estimates:  # noqa: ARG001
    """A design for all pairs, and the model of the whole survey."""
    model: Any = dn.fit(_counts(rows, levels, 2, epsilon, rng))
    return lambda columns: np.asarray(model.machine.margin(model.coefficients, columns).reshape(-1))


def of_flags(name: str, rows: Rows, levels: Levels, k: int, epsilon: float, rng: np.random.Generator) -> Estimates:  # noqa: ARG001
    return RIVALS[name](rows == 1, k, epsilon, rng).estimate


def _rival(make: Any) -> Any:
    return lambda *given: make(*given).estimate


def _largest(levels: Levels, k: int) -> int:
    return max(prod(levels[column] for column in columns) for columns in combinations(range(len(levels)), k))


def _bits(bits: float) -> str:
    return str(ceil(bits / 8))


CELL: Callable[[Levels, int], str] = lambda levels, k: _bits(log2(_largest(levels, k)))  # noqa: E731
BIT: Callable[[Levels, int], str] = lambda levels, k: "1"  # noqa: ARG005, E731
BLOOM: Callable[[Levels, int], str] = lambda levels, k: _bits(BITS * len(levels))  # noqa: ARG005, E731

CONTESTANTS: dict[str, Contestant] = {
    "deniable, consistent": Contestant(partial(ours, "consistent"), True, CELL, orders=(1, 2, 3), bars=True),
    "deniable, shrunk": Contestant(partial(ours, "shrunk"), True, CELL, orders=(2, 3), bars=True),
    "deniable, dn.fit": Contestant(whole, False, CELL, slow=True, bars=True),
    "CALM": Contestant(_rival(calm), False, CELL),
    "InpHT": Contestant(partial(of_flags, "InpHT"), True, BIT, flags_alone=True),
    "MargHT": Contestant(partial(of_flags, "MargHT"), True, BIT, flags_alone=True),
    "InpPS": Contestant(partial(of_flags, "InpPS"), False, lambda levels, _: _bits(len(levels)), flags_alone=True),
} | {
    name: Contestant(
        _rival(partial(sampled, oracle)),
        True,
        (lambda levels, k: _bits(_largest(levels, k))) if name == "MargRR" else CELL if name in ("MargPS",) else
        (lambda levels, k: _bits(log2(_largest(levels, k)) + 1)) if name == "Hadamard response" else BIT,
    )
    for name, oracle in ORACLES.items()
} | {
    "one question (SMP)": Contestant(_rival(independent_answers), False, BIT),
    "RS+FD": Contestant(partial(of_flags, "RS+FD"), False, lambda levels, _: _bits(len(levels)), flags_alone=True),
    "RAPPOR with EM": Contestant(_rival(rappor), False, BLOOM, slow=True, once=True),
    "LoPub": Contestant(_rival(lopub), False, BLOOM, slow=True, once=True),
}  # fmt: skip


def errors(
    contestant: Contestant, data: Rows, levels: Levels, n: int, epsilon: float, surveys: int
) -> dict[int, tuple[float, float, float]]:
    """By order: root mean square error and total variation distance, in points, and processor seconds a survey."""
    found: dict[int, list[tuple[float, float, float]]] = {}
    for seed in range(surveys):
        rng = np.random.default_rng(seed)
        rows = data[rng.integers(len(data), size=n)]
        estimate: Estimates | None = None
        for k in (k for k in contestant.orders if k < len(levels)):
            start = time.process_time()
            if contestant.told or estimate is None:
                estimate = contestant.make(rows, levels, k, epsilon, rng)
            pairs = [(estimate(columns), truth) for columns, truth in truths_of(data, levels, k)]
            seconds = time.process_time() - start
            square = np.mean([((shares - truth) ** 2).mean() for shares, truth in pairs])
            distance = np.mean([np.abs(_cut(shares) - truth).sum() / 2 for shares, truth in pairs])
            found.setdefault(k, []).append((float(square), float(distance), seconds))
    return {
        k: (100 * float(np.sqrt(a)), 100 * float(b), float(c))
        for k, own in found.items()
        for a, b, c in [np.mean(own, axis=0)]
    }


def truths_of(data: Rows, levels: Levels, k: int) -> list[tuple[Columns, Array]]:
    """The tables that are looked at, with their true shares."""
    every = list(combinations(range(len(levels)), k))
    chosen = np.random.default_rng(2).choice(len(every), min(TABLES, len(every)), replace=False)
    return [
        (
            every[j],
            np.bincount(cells_of(data, levels, every[j]), minlength=prod(levels[c] for c in every[j])) / len(data),
        )
        for j in chosen
    ]


def _cut(shares: Array) -> Array:
    """A table without negative cells that sums to one; even, if nothing is left."""
    cut = np.maximum(shares, 0)
    return cut / cut.sum() if cut.sum() > 0 else np.full(len(cut), 1 / len(cut))


def run(*, quick: bool = False) -> None:
    """Print the tables: for each survey, size and epsilon everybody's errors by order of tables."""
    if not at_hand():
        say_left_out("rivals side by side")
        return
    for name, columns in DATA.items():
        data = rows_of(name)[:, list(columns)].astype(np.int64)
        levels = tuple(int(top) + 1 for top in data.max(axis=0))
        for times in (1,) if quick else (1, 10):
            for epsilon in (1.0,) if quick else EPSILONS:
                print(f"\n{name}, {len(levels)} questions, N = {times * len(data):,}, epsilon {epsilon:g}")
                print(
                    "root mean square error / total variation, in points, of tables of 1 to 4; surveys; seconds; bytes"
                )
                _lines(data, levels, times, epsilon, quick=quick)


def _lines(data: Rows, levels: Levels, times: int, epsilon: float, *, quick: bool) -> None:
    for name, contestant in CONTESTANTS.items():
        if (contestant.flags_alone and max(levels) > 2) or (contestant.once and times > 1):
            continue
        surveys = 1 if quick else FEW if contestant.slow or times > 1 else SURVEYS
        try:
            found = errors(contestant, data, levels, times * len(data), epsilon, surveys)
        except dn.EstimateError as error:
            print(f"{name:22}| refused in one of {surveys} surveys: {str(error).split(':')[0]}", flush=True)
            continue
        cells = [f"{found[k][0]:.2f} / {found[k][1]:.2f}" if k in found else "" for k in ORDERS]
        seconds = sum(seconds for *_, seconds in found.values())
        bars = "bars" if contestant.bars else ""
        shown = " |".join(f"{cell:>16}" for cell in cells)
        print(f"{name:22}|{shown} | {surveys} | {seconds:5.2f} | {contestant.size(levels, 2)} | {bars}", flush=True)
