"""Shrunk against feasible tables: the error of one over that of the other, on simulated and on classic tables.

Root mean square errors per cell against the table that respondents are drawn from, of both methods on the same counts.
Simulated answers are independent (none), mixtures of three kinds of people with skewed answers (strong), or a fifth of
such a mixture (weak).
"""

from collections import defaultdict
from functools import reduce
from typing import Any

import numpy as np

import deniable as dn
from studies.classic_tables import at_hand, rows_of, say_left_out

SURVEYS = 50
KINDS = ("none", "weak", "strong")
SHAPES = ((2, 2, 2), (3, 5), (2, 3, 3), (2, 2, 2, 2, 2))
# Epsilon of each feature, and respondents.
SETTINGS = ((0.5, 50_000), (1.0, 500), (1.0, 10_000), (2.0, 2_000), (4.0, 500), (4.0, 50_000))
# Columns of the classic tables.
CLASSIC = {
    "nltcs, three": ("nltcs", (0, 5, 10)), "nltcs, five": ("nltcs", (1, 4, 7, 11, 14)),
    "adult, two": ("adult", (5, 7)), "adult, three": ("adult", (7, 8, 14)),
}  # fmt: skip

__all__ = ["run", "truth_of"]


def truth_of(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """The shares of a simulated table."""

    def independent() -> Any:
        return reduce(np.multiply.outer, [rng.dirichlet(np.full(m, 0.7)) for m in shape])

    base = independent()
    mixed = sum(share * independent() for share in rng.dirichlet(np.full(3, 2.0)))
    weight = {"none": 0.0, "weak": 0.2, "strong": 1.0}[kind]
    return (1 - weight) * base + weight * mixed


def run(*, quick: bool = False) -> None:
    surveys = 2 if quick else SURVEYS
    ratios: dict[str, list[list[float]]] = defaultdict(list)
    for kind in KINDS:
        for place, shape in enumerate(SHAPES):
            truth = truth_of(kind, shape, np.random.default_rng([KINDS.index(kind), place]))
            ratios[kind].append([ratio(truth, *setting, surveys) for setting in SETTINGS])
    if at_hand():
        for name, (table, columns) in CLASSIC.items():
            ratios[name].append([ratio(classic(table, columns), *setting, surveys) for setting in SETTINGS])
    else:
        say_left_out("nltcs and adult")
    print_ratios(ratios)


def classic(table: str, columns: tuple[int, ...]) -> Any:
    """The shares of some columns of a classic table."""
    rows = rows_of(table)[:, list(columns)]
    counts = np.zeros(rows.max(axis=0) + 1)
    np.add.at(counts, tuple(rows.T), 1)
    return counts / len(rows)


def ratio(truth: Any, epsilon: float, n: int, surveys: int) -> float:
    """The error of shrunk tables over that of feasible ones."""
    schema = dn.Schema(
        [
            dn.Flag(f"q{k}") if m == 2 else dn.Choice(f"q{k}", [str(value) for value in range(m)])
            for k, m in enumerate(truth.shape)
        ]
    )
    plan, population = dn.Plan(schema, epsilon=epsilon * truth.ndim), dn.simulate.truth(schema, truth)
    squares = []
    for seed in range(surveys):
        counts = dn.simulate.counts(population, plan, np.random.default_rng(seed), n=n)
        tables = [dn.estimate(counts, schema.names, method=method) for method in ("feasible", "shrunk")]
        found = [np.array(one.table()["proportion"].to_pylist()) for one in tables]
        squares.append([((one - truth.reshape(-1)) ** 2).mean() for one in found])
    feasible, shrunk = np.sqrt(np.mean(squares, axis=0))
    return float(shrunk / feasible)


def print_ratios(ratios: dict[str, list[list[float]]]) -> None:
    """The mean, the least and the most over the tables of each kind, for every epsilon and number of respondents."""
    print("\nShrunk over feasible error\n" + " " * 16 + "".join(f"{f'{e:g}, {n:,}':>22}" for e, n in SETTINGS))
    for kind, rows in ratios.items():
        shown = [f"{np.mean(of):.2f} ({min(of):.2f} to {max(of):.2f})" for of in zip(*rows, strict=True)]
        print(f"{kind:16}" + "".join(f"{cell:>22}" for cell in shown))
    every = np.concatenate([np.ravel(rows) for rows in ratios.values()])
    print(f"mean {every.mean():.3f}, most {every.max():.3f}, of {len(every)}")
