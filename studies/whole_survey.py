"""The model of a whole survey on nltcs, adult and simulated surveys: accuracy, intervals, records.

Respondents are the rows of a table, several times over where more are asked for; each run randomizes them anew, by
`dn.design` for all pairs. Distances are mean total variation distances of 100 tables of three and of four, in points.
"""

import resource
import time
from functools import reduce
from itertools import combinations
from math import nan
from typing import Any
from unittest import mock

import numpy as np

import deniable as dn
from deniable.analyses.whole_survey import third_order
from deniable.analyses.whole_survey.contrasts import Terms
from deniable.analyses.whole_survey.whole_table import WholeTable, margin_of
from studies.classic_tables import at_hand, rows_of, say_left_out

RUNS = 10
# The settings of the simulated survey: epsilon, and how many times over its rows are asked.
SETTINGS = ((1.0, 1), (2.0, 1), (4.0, 1), (2.0, 5))


def run(*, quick: bool = False) -> None:
    runs = 2 if quick else RUNS
    simulated(runs)
    small_shares(runs)
    lone_pair(runs)
    orders(runs)
    if not at_hand():
        return say_left_out("nltcs and adult")
    nltcs(runs)
    records()
    many(quick=quick)
    return None


def schema_of(rows: Any) -> dn.Schema:
    """A schema for rows of whole numbers from 0 on: flags where there are two of them."""
    tops = rows.max(axis=0) + 1
    return dn.Schema(
        [
            dn.Flag(f"q{k}") if m == 2 else dn.Choice(f"q{k}", [str(value) for value in range(m)])
            for k, m in enumerate(tops)
        ]
    )


def some_tables(features: int, size: int, seed: int = 0) -> list[tuple[int, ...]]:
    """A hundred sets of features, or all if there are fewer."""
    every = list(combinations(range(features), size))
    rng = np.random.default_rng(seed)
    return every if len(every) <= 100 else [every[k] for k in rng.choice(len(every), 100, replace=False)]


def judged(model: Any, truth: Any, intervals: int = 30) -> list[float]:
    """Distances of tables of three and four, then how often intervals of their cells above 5 % hold (nan: none)."""
    names, found = [feature.name for feature in model.schema], []
    held = []
    for size in (3, 4):
        tables = some_tables(truth.ndim, size)
        apart = [
            np.abs(model.machine.margin(model.coefficients, places) - margin_of(truth, places)).sum() / 2
            for places in tables
        ]
        found.append(100 * float(np.mean(apart)))
        inside = []
        for places in tables[:intervals]:
            table = model.table(*(names[place] for place in places)).to_pydict()
            shares = margin_of(truth, places).reshape(-1)
            low, high = np.array(table["low"]), np.array(table["high"])
            inside += list(((low <= shares) & (shares <= high))[shares > 0.05])
        held.append(100 * float(np.mean(inside)) if inside else nan)
    return [*found, *held]


def over_runs(people: Any, schema: dn.Schema, epsilon: float, times: int, runs: int) -> None:
    """Print one line: the mean over runs."""
    plan, found = dn.design(schema, epsilon=epsilon, order=2), []
    for seed in range(runs):
        counts = dn.simulate.counts(people * times, plan, np.random.default_rng(seed))
        start = time.process_time()
        model = dn.fit(counts)
        seconds = time.process_time() - start
        found.append([*judged(model, people / people.sum()), seconds])
    three, four, held3, held4, seconds = np.mean(found, axis=0)
    n = int(people.sum()) * times
    print(
        f"{epsilon:7g} {n:8,d} {three:10.2f} {four:9.2f} {held3:13.1f} {held4:8.1f} {seconds:9.1f} {runs:6d}",
        flush=True,
    )


HEAD = "epsilon        N  3-way, pt  4-way, pt  held, 3-way %  4-way %  cpu s   runs"


def nltcs(runs: int) -> None:
    rows = rows_of("nltcs")
    people = np.bincount(np.ravel_multi_index(rows.T, (2,) * 16), minlength=2**16).reshape((2,) * 16)
    print(f"\nnltcs, 16 flags\n{HEAD}")
    for epsilon, times in ((1.0, 1), (2.0, 1), (4.0, 1), (1.0, 5), (2.0, 5)):
        over_runs(people, schema_of(rows), epsilon, times, runs)


def latent(levels: tuple[int, ...], n: int, seed: int, classes: int = 3) -> Any:
    """Rows of a survey of latent classes: every class has its own shares of each question's answers."""
    rng = np.random.default_rng(seed)
    of = rng.choice(classes, n, p=rng.dirichlet(5 * np.ones(classes)))
    shares = [rng.dirichlet(np.ones(m), classes) for m in levels]
    return np.column_stack([(rng.random((n, 1)) > np.cumsum(own[of], axis=1)[:, :-1]).sum(axis=1) for own in shares])


def simulated(runs: int) -> None:
    """Surveys that nothing was tried on: three latent classes, questions of two to five answers."""
    levels = (2, 3, 2, 4, 2, 5, 3, 2)
    rows = latent(levels, 30_000, 1)
    people = np.bincount(np.ravel_multi_index(rows.T, levels), minlength=int(np.prod(levels))).reshape(levels)
    print(f"\nthree latent classes, questions of {', '.join(map(str, levels))} answers\n{HEAD}")
    for epsilon, times in SETTINGS:
        over_runs(people, schema_of(rows), epsilon, times, runs)


def rare() -> Any:
    """Eight flags of two classes, all of them rare: 10 % of everybody, and 2 % of two at a time."""
    schema = schema_of(np.ones((1, 8), int))
    few, more = (dict.fromkeys(schema.names, share) for share in (0.05, 0.3))
    return schema, dn.simulate.truth(schema, [(0.8, few), (0.2, more)]).shares


def small_shares(runs: int) -> None:
    """How often intervals hold the shares of cells by their size, of rare flags asked together and apart."""
    schema, truth = rare()
    halves = [schema.names[:4], schema.names[4:]]
    plans: dict[str, tuple[dn.Plan, int]] = {
        "all pairs, epsilon 1": (dn.design(schema, epsilon=1.0, order=2), 100_000),
        "all pairs, epsilon 2": (dn.design(schema, epsilon=2.0, order=2), 30_000),
        "all pairs, epsilon 4": (dn.design(schema, epsilon=4.0, order=2), 10_000),
        "apart, epsilon 2 each": (dn.Plan(schema, epsilon=16.0), 10_000),
        "apart, epsilon 4 each": (dn.Plan(schema, epsilon=32.0), 5_000),
        "two blocks, epsilon 4 each": (dn.Plan(schema, epsilon=8.0, together=halves), 10_000),
    }
    print("\neight rare flags: held by 95 % intervals of tables of one, two and three, by the true share, in %")
    print(f"{'':28}{'N':>8} {'one':>6}  two: below 5 %  above  three: below 1 %  1 to 5 %  above")
    for title, (plan, n) in plans.items():
        held: dict[tuple[int, int], list[bool]] = {}
        for seed in range(2 * runs):
            model = dn.fit(dn.simulate.counts(dn.simulate.truth(schema, truth), plan, seed, n=n))
            for size in (1, 2, 3):
                for places in some_tables(8, size)[:20]:
                    table = model.table(*(schema.names[place] for place in places)).to_pydict()
                    shares = margin_of(truth, places).reshape(-1)
                    inside = (np.array(table["low"]) <= shares) & (shares <= np.array(table["high"]))
                    for share, holds in zip(shares, inside, strict=True):
                        held.setdefault((size, int(share > 0.01) + int(share > 0.05)), []).append(bool(holds))
        means = {key: 100 * float(np.mean(found)) for key, found in held.items()}
        print(
            f"{title:28}{n:8,d} {means[1, 2]:6.1f}  {means[2, 1]:14.1f}  {means[2, 2]:5.1f}  {means[3, 0]:16.1f}"
            f"  {means[3, 1]:8.1f}  {means[3, 2]:5.1f}",
            flush=True,
        )


def lone_pair(runs: int) -> None:
    """Six flags of which one pair goes together: its difference, and how often intervals hold it and its cells."""
    schema = schema_of(np.ones((1, 6), int))
    plan = dn.design(schema, epsilon=2.0, order=2)
    print("\nsix flags, one pair goes together, all pairs asked, epsilon 2: mean difference; held: it, its cells")
    for first in (0.16, 0.14):
        pair = np.array([[0.30 + first, 0.40 - first], [0.30 - first, first]])
        truth = reduce(np.multiply.outer, [pair, *(np.array([p, 1 - p]) for p in (0.7, 0.4, 0.3, 0.5))])
        true = first / 0.4 - (0.3 - first) / 0.6
        for n in (5_000, 15_000, 60_000):
            found = []
            for seed in range(4 * runs):
                est = dn.fit(dn.simulate.counts(dn.simulate.truth(schema, truth), plan, seed, n=n)).project("q0", "q1")
                one = est.difference("q0", between=("q1", True, False))
                low, high = one.confidence_interval()
                table = est.table().to_pydict()
                inside = (np.array(table["low"]) <= pair.reshape(-1)) & (pair.reshape(-1) <= np.array(table["high"]))
                found.append((one.value, low <= true <= high, inside.mean()))
            value, held, cells = np.mean(found, axis=0)
            print(f"N = {n:6,d}, true {true:.3f}: {value:.3f}, {100 * held:.1f} %, {100 * cells:.1f} %", flush=True)


def orders(runs: int) -> None:
    """What interactions of three do, beside a model of pairs of the same reports."""
    levels, few = (2, 3, 2, 4, 2, 5, 3, 2), (3, 4, 2, 5, 2, 3)
    classes = np.bincount(np.ravel_multi_index(latent(levels, 30_000, 1).T, levels), minlength=int(np.prod(levels)))
    rng = np.random.default_rng(3)
    some = np.zeros(int(np.prod(few)))
    some[rng.choice(some.size, 40, replace=False)] = rng.dirichlet(np.ones(40))
    flags = Terms((2,) * 6, tuple(one for size in (1, 2) for one in combinations(range(6), size)))
    pairs_alone = WholeTable(flags).shares(rng.normal(0, 0.25, flags.count)).reshape((2,) * 6)
    wanted = {
        "latent classes, pairs, epsilon 4": (classes.reshape(levels) / classes.sum(), 4.0, 2, 30_000),
        "latent classes, threes, epsilon 2": (classes.reshape(levels) / classes.sum(), 2.0, 3, 150_000),
        "40 of 720 combinations, threes, epsilon 2": (some.reshape(few), 2.0, 3, 20_000),
        "one strong interaction of three, threes, epsilon 2": (odd((2,) * 6), 2.0, 3, 30_000),
        "the same, 2 to 4 answers, threes, epsilon 2": (odd((2, 3, 4, 2, 3, 2)), 2.0, 3, 50_000),
        "interactions of two alone, threes, epsilon 2": (pairs_alone, 2.0, 3, 30_000),
    }
    print("\norder 3, where it is taken: distances of tables of three and four, and held above 5 %, of four")
    for title, (truth, epsilon, order, n) in wanted.items():
        schema = schema_of(np.array(truth.shape)[None] - 1)
        plan, found, taken = dn.design(schema, epsilon=epsilon, order=order), [], 0
        for seed in range(runs):
            counts = dn.simulate.counts(dn.simulate.truth(schema, truth), plan, seed, n=n)
            model = dn.fit(counts)
            with mock.patch.object(third_order, "MOST_COEFFICIENTS", 0):
                pairs = dn.fit(counts)
            taken += model.fit_quality.order == 3
            found.append([*judged(pairs, truth), *judged(model, truth)])
        three, four, _, held, three_now, four_now, held_three, held_now = np.mean(found, axis=0)
        print(
            f"{title:52} taken {taken:2d} of {runs}: three {three:.2f} -> {three_now:.2f}, four {four:.2f} -> "
            f"{four_now:.2f}, held {held:.1f} -> {held_now:.1f} (three {held_three:.1f})",
            flush=True,
        )


def odd(levels: tuple[int, ...]) -> Any:
    """A truth whose first three features go together, though no two of them do: each is at its first answer or not."""
    signs = [np.where(own == 0, 1.0, -1 / (m - 1)) for own, m in zip(np.indices(levels)[:3], levels, strict=False)]
    return (1 + 0.7 * np.prod(signs, axis=0)) / np.prod(levels)


def many(*, quick: bool) -> None:
    """Surveys beyond a million cells: time, memory, and what the model says of itself."""
    cases = {"32 flags, three latent classes": latent((2,) * 32, 45_222, 2), "adult, 15 columns": rows_of("adult")}
    for title, rows in cases.items():
        schema = schema_of(rows)
        for epsilon in (2.0,) if quick else (1.0, 2.0, 4.0):
            plan = dn.design(schema, epsilon=epsilon, order=2)
            answers = {feature.name: rows[:, k] for k, feature in enumerate(schema)}
            answers = {
                name: column.astype(bool) if isinstance(schema[name], dn.Flag) else column.astype(str)
                for name, column in answers.items()
            }
            counts = dn.count(dn.randomize(answers, plan, rng=np.random.default_rng(1)))
            start = time.process_time()
            print(f"\n{title}, epsilon {epsilon:g}, N = {counts.n:,}", flush=True)
            try:
                model = dn.fit(counts)
            except dn.EstimateError as error:
                print(f"refused: {error}")
                continue
            print(f"{model}\n{model.fit_quality}")
            print(
                f"{time.process_time() - start:.1f} cpu s, at most {memory():.0f} MB; 3-way, pt: {far(model, rows):.2f}"
            )


def far(model: Any, rows: Any) -> float:
    """The mean distance of tables of three from those of the rows."""
    levels, apart = rows.max(axis=0) + 1, []
    for places in some_tables(rows.shape[1], 3)[:30]:
        own = [levels[place] for place in places]
        truth = np.bincount(np.ravel_multi_index(rows[:, places].T, own), minlength=int(np.prod(own))) / len(rows)
        apart.append(np.abs(model.machine.margin(model.coefficients, places).reshape(-1) - truth).sum() / 2)
    return 100 * float(np.mean(apart))


def memory() -> float:
    """The most memory that this process has held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def records() -> None:
    """A classifier trained on synthetic records of nltcs, and judged on the true answers."""
    rows = rows_of("nltcs")
    people = np.bincount(np.ravel_multi_index(rows.T, (2,) * 16), minlength=2**16).reshape((2,) * 16)
    print("\nnltcs: each flag from the other 15, by logistic regression; share that is right, in %, mean of 16")
    truth = rows.astype(float)
    print(f"trained on the true answers {accuracy(truth, truth):.1f}; always the commoner answer {common(truth):.1f}")
    for epsilon in (1.0, 2.0, 4.0):
        plan = dn.design(schema_of(rows), epsilon=epsilon, order=2)
        found = []
        for seed in range(5):
            model = dn.fit(dn.simulate.counts(people, plan, np.random.default_rng(seed)))
            drawn = model.sample(len(rows), seed)
            found.append(accuracy(np.column_stack([drawn[name].to_numpy() for name in drawn.column_names]), truth))
        print(f"trained on records of a model, epsilon {epsilon:g}: {np.mean(found):.1f}", flush=True)


def common(truth: Any) -> float:
    return 100 * float(np.maximum(truth.mean(axis=0), 1 - truth.mean(axis=0)).mean())


def accuracy(trained: Any, judged_on: Any) -> float:
    """How often logistic regressions of each column on the others are right, in percent."""
    right = []
    for k in range(trained.shape[1]):
        weights = logistic(np.delete(trained, k, axis=1).astype(float), trained[:, k].astype(float))
        guess = weights[0] + np.delete(judged_on, k, axis=1) @ weights[1:] > 0
        right.append(np.mean(guess == (judged_on[:, k] > 0.5)))
    return 100 * float(np.mean(right))


def logistic(x: Any, y: Any, ridge: float = 1.0, steps: int = 12) -> Any:
    """The coefficients of a logistic regression, the constant first, by Newton's method."""
    x = np.column_stack([np.ones(len(x)), x])
    b = np.zeros(x.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-np.clip(x @ b, -30, 30)))
        b += np.linalg.solve((x.T * (p * (1 - p))) @ x + ridge * np.eye(len(b)), x.T @ (y - p) - ridge * b)
    return b
