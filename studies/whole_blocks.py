"""What single tables gain from all that arms say: in closed form, and whether weights from the reports reach it.

The variance of the cells of pairs about the population, over that of the table's part of each block alone (*local*):
of the library's estimate, which takes blocks whole with one question beside the table at a time, and of least squares
over every contrast that any arm sees. All are evaluated at the true tables.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import prod
from typing import Any

import numpy as np

import deniable as dn
from deniable.estimates.designs.groups import whole_evidence_of
from deniable.estimates.designs.least_squares import Evidence
from deniable.estimates.designs.whole_blocks import contrasts, whole_block
from deniable.estimates.designs.whole_evidence import WholeEvidence
from deniable.inference.one_feature import Axis
from deniable.inference.tensors import flat
from studies.classic_tables import at_hand, say_left_out
from studies.design_surveys import counts_of, fixed_sizes, plan_of, truth_of

N = 100_000
TRUTHS = ("nltcs", "nltcs 16", "adult", "sparse", "rare flags", "uniform 8 flags")
EPSILONS = (1.0, 2.0, 4.0)
PAIRS, PAIRS_OF_MANY = 12, 4  # drawn of each setting, and where there are 16 flags
# Settings whose surveys are simulated, how many surveys, and how many pairs of each.
SIMULATED = (
    ("nltcs", 0, 4.0, 10_000, 100, 6), ("nltcs", 0, 4.0, 2_000, 100, 6), ("nltcs", 0, 4.0, 500, 100, 6),
    ("nltcs", 2, 4.0, 10_000, 100, 6), ("nltcs", 0, 2.0, 30_000, 100, 6), ("nltcs 16", 0, 4.0, 100_000, 40, 5),
    ("nltcs 16", 0, 4.0, 10_000, 40, 5), ("nltcs 16", 0, 4.0, 2_000, 40, 5), ("adult", 0, 4.0, 100_000, 50, 4),
    ("rare flags", 0, 4.0, 10_000, 100, 6),
)  # fmt: skip
FEW = 3  # surveys, to be quick
SPREAD = 0.5  # respondents, over the cells of true tables, which may be empty


def plan_for(name: str, asked: int, epsilon: float) -> dn.Plan:
    """All sets of so many questions as arms; of none, what the planner makes for all pairs."""
    return plan_of(name, asked, epsilon) if asked else dn.design(truth_of(name).schema, epsilon=epsilon, order=2)


def true_table(name: str, names: Sequence[str]) -> Any:
    """The true shares of the cells of a table, in C order, none of them zero."""
    of = truth_of(name)
    places = [of.schema.index(each) for each in names]
    table = of.shares.sum(axis=tuple(k for k in range(of.shares.ndim) if k not in places))
    line = table.transpose(np.argsort(np.argsort(places))).reshape(-1)
    return (N * line + SPREAD / line.size) / (N + SPREAD)


def drawn(name: str, plan: dn.Plan, n: int, rng: np.random.Generator) -> dn.Counts:
    """Counts of arms of fixed sizes, whose respondents are drawn from the population."""
    sizes = fixed_sizes(plan, n)
    tables = [true_table(name, arm.blocks[0].names) for arm in plan.arms]
    return counts_of(plan, [rng.multinomial(size, table) for size, table in zip(sizes, tables, strict=True)], rng)


@dataclass(frozen=True)
class Best:
    """Least squares of one pair with the best weights, and the covariance of its cells."""

    weights: tuple[Any, ...]
    covariance: Any


def best_of(name: str, plan: dn.Plan, seen: Evidence | WholeEvidence, pair: tuple[str, ...]) -> Best:
    """The best weights of an estimate, those at the true tables, which only a study knows."""
    if isinstance(seen, WholeEvidence):
        whole = [block.names for arm in plan.arms if (block := whole_block(arm, pair))]
        called = list(dict.fromkeys([*pair, *chain(*whole)]))  # questions by their numbers
        tables = [
            np.array([true_table(name, [called[k] for k in (*family.own, *others)]) for others in family.others])
            for family in seen.families
        ]
        made = (replace(family, tables=table) for family, table in zip(seen.families, tables, strict=True))
        seen = WholeEvidence(seen.local, seen.rest, tuple(made))
    metric = seen.at(true_table(name, pair))
    return Best(metric.weights, seen.covariance(metric.weights, metric.table))


def everything(name: str, plan: dn.Plan, sizes: Any, pair: tuple[str, ...]) -> Any:
    """The covariance of a pair's cells by least squares over every contrast that any arm sees, written out.

    Contrasts of questions that one arm alone asks together are unknown for it alone: they tell nothing of others.
    """
    levels = {feature.name: feature.levels for feature in plan.schema}
    asked = [arm.blocks[0].names for arm in plan.arms]
    often = Counter(s for names in asked for s in _sets(names))

    def rows(names: Sequence[str], sets: Sequence[tuple[str, ...]]) -> Any:
        parts = [[contrasts(levels[k])[1:] if k in s else np.ones((1, levels[k])) for k in names] for s in sets]
        return np.vstack([flat(part) for part in parts])

    first: dict[tuple[str, ...], int] = {}
    size, forms = 0, []
    for arm, names, n in zip(plan.arms, asked, sizes, strict=True):
        kept = [s for s in _sets(names) if often[s] > 1 or set(s) <= set(pair)]
        for s in kept:
            if s not in first:
                first[s], size = size, size + prod(levels[k] - 1 for k in s)
        table, own = true_table(name, names), rows(names, kept)
        spread = Axis.of(arm.protocols[0], centred=True).cell_seconds(table) - np.outer(table, table)
        places = np.concatenate([first[s] + np.arange(prod(levels[k] - 1 for k in s)) for s in kept])
        forms.append((places, n * np.linalg.inv(own @ spread @ own.T)))
    information = np.zeros((size, size))
    for places, form in forms:
        information[np.ix_(places, places)] += form
    wanted = _sets(pair)
    places = np.concatenate([first[s] + np.arange(prod(levels[k] - 1 for k in s)) for s in wanted])
    up = rows(pair, wanted).T / prod(levels[k] for k in pair)
    return up @ np.linalg.inv(information)[np.ix_(places, places)] @ up.T


def _sets(names: Sequence[str]) -> list[tuple[str, ...]]:
    return [s for size in range(1, len(names) + 1) for s in combinations(names, size)]


def closed_form() -> None:
    """Print what whole blocks and all contrasts gain, in closed form."""
    print("\nVariances of pairs' cells over those of the table's part of each block alone, at the true tables")
    print(f"  {'':34} {'arms':>5} {'library':>9} {'its best table':>15} {'its best cell':>14} {'everything':>11}")
    for name in TRUTHS:
        for epsilon in EPSILONS:
            for asked in (0, 2) if name == "adult" else (0, 2, 3):
                plan = plan_for(name, asked, epsilon)
                found, best_table, best_cell, every = _gains(name, plan)
                what = f"arms of {asked}" if asked else "designed"
                print(
                    f"  {f'{name}, epsilon {epsilon:g}, {what}':34} {len(plan.arms):5} {found:9.3f} {best_table:15.3f}"
                    f" {best_cell:14.3f} {every:11.3f}",
                    flush=True,
                )


def _gains(name: str, plan: dn.Plan) -> tuple[float, float, float, float]:
    """Variances over local ones: the library's in all, of the table and of the cell that gain most, and everything."""
    rng = np.random.default_rng(1)
    counts, pairs = drawn(name, plan, N, rng), list(combinations(plan.schema.names, 2))
    many = PAIRS_OF_MANY if len(plan.schema) > PAIRS else PAIRS
    local, whole, every = [], [], []
    for place in rng.permutation(len(pairs))[:many]:
        seen, pair = whole_evidence_of([counts], pairs[place]), pairs[place]
        local.append(np.diagonal(best_of(name, plan, seen.local, pair).covariance))
        whole.append(np.diagonal(best_of(name, plan, seen, pair).covariance))
        every.append(np.diagonal(everything(name, plan, fixed_sizes(plan, N), pair)))
    total = sum(x.sum() for x in local)
    return (
        sum(x.sum() for x in whole) / total,
        min(x.sum() / y.sum() for x, y in zip(whole, local, strict=True)),
        min((x / y).min() for x, y in zip(whole, local, strict=True)),
        sum(x.sum() for x in every) / total,
    )


def simulated(quick: bool) -> None:
    """Print the mean square error with weights from the reports over that of the best weights, and what is stated."""
    print(
        "\nWith weights from the reports: mean square errors of pairs' cells about the population, arms of fixed sizes"
    )
    print(
        f"  {'':46} {'closed, whole/local':>20} {'plug-in/closed':>16} {'stated/closed':>14}"
        f" {'observed, whole/local':>22}"
    )
    for name, asked, epsilon, n, surveys, tables in SIMULATED:
        plan = plan_for(name, asked, epsilon)
        rows = np.array(_squares(name, plan, n, FEW if quick else surveys, tables))
        whole, local, stated, ideal, exact, exact_local = rows.T
        apart = (whole - ideal) / exact.mean()
        observed = whole.mean() / local.mean()
        error = np.std(whole - observed * local) / local.mean() / np.sqrt(len(rows))
        what = f"{name}, epsilon {epsilon:g}, {f'arms of {asked}' if asked else 'designed'}, N = {n:,}"
        print(
            f"  {what:46} {exact.mean() / exact_local.mean():20.3f}"
            f" {1 + apart.mean():8.3f} ({apart.std() / np.sqrt(len(rows)):.3f}) {stated.mean() / exact.mean():14.3f}"
            f" {observed:14.3f} ({error:.3f})",
            flush=True,
        )


def _squares(name: str, plan: dn.Plan, n: int, surveys: int, tables: int) -> list[Any]:
    """Of each survey the mean over some pairs: squared errors whole, local and with the best weights; variances."""
    rng, pairs, rows = np.random.default_rng(3), list(combinations(plan.schema.names, 2)), []
    best: dict[tuple[str, ...], tuple[Best, Best]] = {}
    for _ in range(surveys):
        counts, row = drawn(name, plan, n, rng), []
        for place in rng.permutation(len(pairs))[:tables]:
            pair = pairs[place]
            seen, truth = whole_evidence_of([counts], pair), true_table(name, pair)
            assert isinstance(seen, WholeEvidence)
            if pair not in best:
                best[pair] = best_of(name, plan, seen, pair), best_of(name, plan, seen.local, pair)
            metric, (ideal, _) = seen.best, best[pair]
            said = [kind.shares for kind in (*seen.rest.kinds, *seen.families)]
            parts = [(B @ y[..., None]).reshape(-1, truth.size) for B, y in zip(ideal.weights, said, strict=True)]
            with_best = np.concatenate(parts).sum(axis=0)
            errors = [((x - truth) ** 2).sum() for x in (metric.solution, seen.local.best.solution)]
            stated = np.trace(metric.inverse) - metric.table @ metric.table / seen.n
            row.append(
                [*errors, stated, ((with_best - truth) ** 2).sum(), *(np.trace(x.covariance) for x in best[pair])]
            )
        rows.append(np.mean(row, axis=0))
    return rows


def run(*, quick: bool = False) -> None:
    """Print both tables."""
    if not at_hand():
        say_left_out("what single tables gain from whole blocks")
        return
    closed_form()
    simulated(quick)
