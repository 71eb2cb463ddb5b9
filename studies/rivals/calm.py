"""CALM: Zhang, Wang, Li, He and Chen, Consistent adaptive local marginal (CCS 2018).

Respondents are split over views, sets of questions that cover every pair, and send their cell of one view with the
whole epsilon. Views are made consistent and non-negative; tables that no view holds are those of maximum entropy.
The size of views is the one with the least variance of a pair in closed form (the paper bounds the noise by a constant
instead), and the oracle is the better of generalized randomized response and optimized unary encoding.
"""

from itertools import combinations
from math import exp, prod

import numpy as np

from studies.rivals.of_flags import Array, Columns, Survey
from studies.rivals.sampled_tables import Rows, cells_of, margin, one_cell, optimized_bits

__all__ = ["calm", "cover", "noise", "proper"]


def cover(d: int, size: int) -> list[Columns]:
    """Sets of questions that hold every pair, chosen greedily, each question added where it covers most."""
    left = dict.fromkeys(combinations(range(d), 2))
    views: list[Columns] = []
    while left:
        view = list(next(iter(left)))
        while len(view) < size:
            gains = [sum((min(a, b), max(a, b)) in left for b in view) if a not in view else -1 for a in range(d)]
            view.append(int(np.argmax(gains)))
        views.append(tuple(sorted(view)))
        for pair in combinations(views[-1], 2):
            left.pop(pair, None)
    return views


def noise(cells: int, epsilon: float) -> float:
    """The variance of a rare cell's share for one respondent, by the better oracle."""
    e = exp(epsilon)
    return min((e + cells - 2), 4 * e) / (e - 1) ** 2


def proper(table: Array) -> Array:
    """The nearest table without negative cells that sums to one (norm-sub)."""
    down = np.sort(table)[::-1]
    excess = (np.cumsum(down) - 1) / np.arange(1, len(down) + 1)
    return np.asarray(np.maximum(table - excess[np.flatnonzero(down > excess)[-1]], 0))


def calm(rows: Rows, levels: tuple[int, ...], k: int, epsilon: float, rng: np.random.Generator) -> Survey:  # noqa: ARG001
    """A survey by CALM. The closed form is of a view's own estimates, before they are made consistent."""
    d = len(levels)

    def error(views: list[Columns]) -> float:
        """The mean variance of a cell of a pair, up to the number of respondents."""
        own = [prod(levels[column] for column in view) for view in views]
        size = len(views[0])
        return float(np.mean([cells * noise(cells, epsilon) for cells in own])) * d * (d - 1) / size / (size - 1)

    views = min((cover(d, size) for size in range(2, min(d, 7))), key=error)
    which = rng.integers(len(views), size=len(rows))
    raw, sizes, variances = [], np.bincount(which, minlength=len(views)), []
    for number, view in enumerate(views):
        cells = prod(levels[column] for column in view)
        oracle = one_cell if exp(epsilon) + cells - 2 < 4 * exp(epsilon) else optimized_bits
        found, variance = oracle(cells_of(rows[which == number], levels, view), cells, epsilon, rng)
        raw.append(found)
        variances.append(variance)
    tables = _consistent(raw, views, levels)

    def closed(columns: Columns, shares: Array) -> Array:
        number = views.index(columns)
        return np.asarray(variances[number](shares) / sizes[number])

    return Survey(lambda columns: _entropy(tables, views, levels, columns), closed)


def _consistent(raw: list[Array], views: list[Columns], levels: tuple[int, ...], rounds: int = 3) -> list[Array]:
    """Tables that agree on what they share, then non-negative, in turns; it ends with the latter."""
    shared = sorted({s for a, b in combinations(views, 2) if (s := tuple(sorted(set(a) & set(b))))}, key=len)
    tables = [table + (1 - table.sum()) / len(table) for table in raw]
    for _ in range(rounds):
        for columns in shared:
            holders = [number for number, view in enumerate(views) if set(columns) <= set(view)]
            parts = [margin(tables[number], levels, views[number], columns) for number in holders]
            # A margin's noise grows with the number of cells that are added up.
            weights = 1 / np.array([len(tables[number]) for number in holders])
            mean = np.average(parts, axis=0, weights=weights)
            for number, part in zip(holders, parts, strict=True):
                tables[number] = _added(tables[number], mean - part, views[number], columns, levels)
        tables = [proper(table) for table in tables]
    return tables


def _added(table: Array, more: Array, view: Columns, columns: Columns, levels: tuple[int, ...]) -> Array:
    """A table whose margin has changed by so much, evenly over the cells of each of the margin's."""
    shape = [levels[column] if column in columns else 1 for column in view]
    whole = table.reshape([levels[column] for column in view])
    return np.asarray((whole + more.reshape(shape) * len(more) / len(table)).reshape(-1))


def _entropy(tables: list[Array], views: list[Columns], levels: tuple[int, ...], columns: Columns) -> Array:
    """The table of maximum entropy with the margins that views have of it, by iterative proportional fitting."""
    parts: dict[Columns, list[Array]] = {}
    for table, view in zip(tables, views, strict=True):
        if common := tuple(sorted(set(view) & set(columns))):
            parts.setdefault(common, []).append(margin(table, levels, view, common))
    largest = [s for s in parts if not any(set(s) < set(other) for other in parts)]
    found = np.full([levels[column] for column in columns], 1 / prod(levels[column] for column in columns))
    for _ in range(1 if columns in largest else 40):
        for s in largest:
            axes = tuple(place for place, column in enumerate(columns) if column not in s)
            own = found.sum(axis=axes, keepdims=True)
            target = np.mean(parts[s], axis=0).reshape(own.shape)
            found = found * np.divide(target, own, out=np.zeros_like(own), where=own > 0)
    return np.asarray(found.reshape(-1))
