"""How far each method's table is from the respondents' own, on two classic tables; and how long it takes.

The folder with nltcs.csv and adult.csv (whole numbers from 0 on, a header line) is named by DENIABLE_DATA. Surveys are
drawn with replacement; how many respondents of each kind show each pattern of evidence is multinomial, so all methods
see the same reports. Errors are root mean squares over cells and surveys, and ratios are to maximum likelihood.
"""

import csv
import itertools
import os
import sys
import time
import zlib
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, fields
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from benchmarks.coverage import patterns
from benchmarks.harness import Row, medians, show
from deniable.likelihood import GAP, Grid, climb, expectation_maximization, newton, patterns_of
from deniable.structure import along

SETS = {"nltcs": [(0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4)], "adult": [(8, 9, 14), (7, 8, 9), (7, 8, 9, 14)]}
PROTOCOLS = ("GRR", "SUE", "OUE", "hashing", "mixed")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZES = (10_000, 100_000)
SURVEYS = 200
FEWER = 20  # surveys in which expectation maximization is stopped early: it takes long
DRAWS = 400  # of proper tables, in each survey
METHODS = ("unbiased", "consistent", "feasible", "likelihood", "EM 300", "Euclidean")


@dataclass(frozen=True)
class Setting:
    """Columns of a table, randomized."""

    table: str
    columns: tuple[int, ...]
    protocol: str
    epsilon: float
    n: int


@cache
def rows_of(table: str) -> Any:
    folder = os.environ.get("DENIABLE_DATA")
    if not folder:
        raise SystemExit("set DENIABLE_DATA to the folder with nltcs.csv and adult.csv")
    with (Path(folder) / f"{table}.csv").open(encoding="utf-8") as file:
        return np.array([[int(cell) for cell in row] for row in list(csv.reader(file))[1:]])


def plan_for(setting: Setting) -> dn.Plan:
    """Flags by randomized response, choices by the protocol asked for, or each by another."""
    epsilon, features, protocols = setting.epsilon, [], {}
    options = {
        "GRR": dn.GRR(epsilon=epsilon),
        "SUE": dn.UnaryEncoding.symmetric(epsilon),
        "OUE": dn.UnaryEncoding.optimized(epsilon),
        "hashing": dn.LocalHashing(epsilon=epsilon),
    }
    for place, column in enumerate(setting.columns):
        values = int(rows_of(setting.table)[:, column].max()) + 1
        name = f"c{column}"
        if values == 2:
            features.append(dn.Flag(name))
            protocols[name] = dn.RandomizedResponse(epsilon=epsilon)
        else:
            features.append(dn.Choice(name, [str(v) for v in range(values)]))
            kind = PROTOCOLS[place % 4] if setting.protocol == "mixed" else setting.protocol
            protocols[name] = options[kind]
    return dn.Plan(dn.Schema(features), protocols)


def survey(setting: Setting, plan: dn.Plan, rng: np.random.Generator) -> tuple[Any, dn.Counts, Grid]:
    """The respondents' own table of shares, what was counted, and the patterns shown."""
    levels = [max(2, protocol.columns) for protocol in plan.protocols]
    data = rows_of(setting.table)
    people = np.zeros(levels, int)
    np.add.at(people, tuple(data[rng.integers(len(data), size=setting.n)][:, setting.columns].T), 1)
    tensor = people[None]
    for protocol in plan.protocols:
        tensor = np.sum([rng.multinomial(tensor[:, x], law) for x, law in enumerate(patterns(protocol)[1])], axis=0)
    shown = counted = tensor[0]
    for protocol in plan.protocols:
        counted = np.tensordot(counted, patterns(protocol)[0], axes=([0], [0]))
    channels = tuple(protocol.likelihood(patterns(protocol)[0][:, 1:]) for protocol in plan.protocols)
    return people / setting.n, dn.Counts(plan, {plan.schema.names: counted}), Grid(shown / setting.n, channels)


def euclidean(table: Any) -> Any:
    """The proper table that is closest as the crow flies."""
    falling = np.sort(table.reshape(-1))[::-1]
    over = (np.cumsum(falling) - 1) / np.arange(1, table.size + 1)
    return np.maximum(table - over[np.flatnonzero(falling > over)[-1]], 0)


def size_of(share: float) -> str:
    return "empty" if share == 0 else "small, below 1 %" if share < 0.01 else "large"


@dataclass(frozen=True)
class Result:
    """Root mean square errors by method, and how often intervals of feasible tables hold the truth, by size of cell."""

    setting: Setting
    errors: dict[str, float]
    held: dict[str, tuple[int, int]]  # of so many intervals
    cells: dict[str, int]


def measure(setting: Setting) -> Result:
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    plan = plan_for(setting)
    squares, held, cells = defaultdict(list), defaultdict(lambda: [0, 0]), defaultdict(int)
    for run in range(SURVEYS):
        truth, counts, seen = survey(setting, plan, rng)
        found = {}
        for method in ("unbiased", "consistent", "feasible"):
            table = dn.estimate(counts, plan.schema.names, method=method).table()
            found[method] = table["proportion"].to_numpy().reshape(truth.shape)
        low, high = (table[name].to_numpy() for name in ("low", "high"))
        for true, inside, claimed in zip(
            truth.flat, (low - 1e-12 <= truth.flat) & (truth.flat <= high + 1e-12), ~np.isnan(low), strict=True
        ):
            cells[size_of(true)] += 1
            if claimed:
                held[size_of(true)][0] += bool(inside)
                held[size_of(true)][1] += 1
        start = 0.9 * found["feasible"].reshape(-1) + 0.1 / truth.size
        found["likelihood"] = climb(newton(seen, start / start.sum()), GAP).t.reshape(truth.shape)
        if run < FEWER:
            steps = expectation_maximization(seen, np.full(truth.size, 1 / truth.size))
            found["EM 300"] = next(islice(steps, 300, None)).t.reshape(truth.shape)
        found["Euclidean"] = euclidean(found["consistent"])
        for method, shares in found.items():
            squares[method].append(np.mean((shares - truth) ** 2))
    ours = {method: float(np.sqrt(np.mean(squares[method]))) for method in METHODS}
    ours["EM 300"] *= ours["likelihood"] / float(np.sqrt(np.mean(squares["likelihood"][:FEWER])))  # on the same surveys
    return Result(setting, ours, {size: tuple(pair) for size, pair in held.items()}, dict(cells))  # type: ignore[misc]


def beliefs(setting: Setting) -> dict[str, list[int]]:
    """How often the population's share is in the cut interval, and in the shortest one of draws, by size of cell."""
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    plan = plan_for(setting)
    held: dict[str, list[int]] = {}
    people = np.zeros([max(2, protocol.columns) for protocol in plan.protocols])
    np.add.at(people, tuple(rows_of(setting.table)[:, setting.columns].T), 1)
    truth = (people / people.sum()).reshape(-1)
    for _ in range(SURVEYS):
        est = dn.estimate(survey(setting, plan, rng)[1], plan.schema.names, method="feasible").about("population")
        cut, drawn = est.table(), est.posterior(draws=DRAWS, rng=rng).table()
        inside = [
            (table["low"].to_numpy() - 1e-12 <= truth) & (truth <= table["high"].to_numpy() + 1e-12)
            for table in (cut, drawn)
        ]
        for place, true in enumerate(truth):
            answered = not np.isnan(cut["low"][place].as_py())
            for k, one in enumerate((1, answered, answered and inside[0][place], inside[1][place])):
                held.setdefault(size_of(true), [0] * 4)[k] += int(one)
    return held


def settings() -> list[Setting]:
    found = []
    for table, sets in SETS.items():
        protocols = PROTOCOLS if table == "adult" else ("GRR",)  # flags have one protocol, whatever the choices have
        found += [Setting(table, *each) for each in itertools.product(sets, protocols, EPSILONS, SIZES)]
    return found


def speed() -> list[Row]:
    """Feasible tables against maximum likelihood, and a step of expectation maximization against one on all reports."""
    rows = []
    rng = np.random.default_rng(1)
    schema = dn.Schema([dn.Choice(f"f{k}", list("abcd")) for k in range(4)])
    records = {name: np.array(list("abcd"))[np.minimum(rng.geometric(0.5, 100_000) - 1, 3)] for name in schema.names}
    for protocol, wanted in ((dn.UnaryEncoding.optimized(1.0), 5.0), (dn.GRR(epsilon=1.0), None)):
        reports = dn.randomize(records, dn.Plan(schema, dict.fromkeys(schema.names, protocol)), rng=rng)
        counts = dn.count(reports, schema.names)
        contestants = {
            "feasible": lambda: dn.estimate(counts, schema.names, method="feasible"),
            "from feasible": lambda: dn.maximum_likelihood(reports, schema.names),
            "from uniform": lambda: dn.maximum_likelihood(reports, schema.names, start="uniform"),
        }
        times = medians(contestants, repeats=5, clock=time.perf_counter)
        what = f"feasible, 4 x 4 values by {protocol.name}, N = 100,000"
        for start, least in (("from feasible", wanted), ("from uniform", None)):
            rows.append(Row(what, times["feasible"], f"maximum likelihood, {start}", times[start], least))
    names = [f"f{k}" for k in range(8)]
    plan = dn.Plan(dn.Schema([dn.Flag(name) for name in names]), epsilon=8.0)
    reports = dn.randomize({name: rng.random(100_000) < 0.3 for name in names}, plan, rng=rng)
    seen = patterns_of(reports, names)
    codes = np.ravel_multi_index(
        [reports.table[name].to_numpy(zero_copy_only=False).astype(int) for name in names], [2] * 8
    )
    each = along(np.eye(256).reshape([2] * 8 + [256]), list(seen.channels)).reshape(256, 256).T[codes]
    t = np.full(256, 1 / 256)

    def on_rows() -> None:
        joint = each * t
        joint /= joint.sum(axis=1, keepdims=True)
        joint.mean(axis=0)

    steps = expectation_maximization(seen, t)
    times = medians({"ours": lambda: [next(steps) for _ in range(100)], "rows": on_rows}, repeats=3)
    rows.append(
        Row("a step of EM, 8 flags, N = 100,000", times["ours"] / 100, "on one row per report", times["rows"], 5000.0)
    )
    return rows


def run() -> None:
    """Print the tables, and write all settings to accuracy.csv."""
    show("Feasible tables and maximum likelihood, wall; EM in CPU time", speed())
    found: list[Result] = []
    with ProcessPoolExecutor() as pool:
        for done, result in enumerate(pool.map(measure, todo := settings()), start=1):
            found.append(result)
            if sys.stderr.isatty():
                print(f"\r{done} of {len(todo)} settings", end="", file=sys.stderr)
    with Path("accuracy.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([field.name for field in fields(Setting)] + list(METHODS))
        writer.writerows([*astuple(one.setting), *one.errors.values()] for one in found)
    print(f"\nRoot mean square error per cell over that of maximum likelihood; {SURVEYS} surveys each (accuracy.csv)")
    parts = {"all but SUE at epsilon >= 2": lambda s: s.protocol != "SUE" or s.epsilon < 2}
    parts |= {f"{t}, {p}, epsilon {e}": lambda s, t=t, p=p, e=e: (s.table, s.protocol, s.epsilon) == (t, p, e)
              for t, ps in (("nltcs", ("GRR",)), ("adult", PROTOCOLS)) for p in ps for e in EPSILONS}  # fmt: skip
    print(f"  {'':32}" + "".join(f"{method:>12}" for method in METHODS) + f"{'worst feasible':>16}")
    for name, wanted in parts.items():
        ratios = np.array([_ratios(one) for one in found if wanted(one.setting)])
        worst = ratios[:, METHODS.index("feasible")].max()
        print(f"  {name:32}" + "".join(f"{ratio:12.3f}" for ratio in ratios.mean(axis=0)) + f"{worst:16.3f}")
    print("\n  95 % intervals of feasible tables, about the respondents: cells, answered, and how many hold the truth")
    for size in ("empty", "small, below 1 %", "large"):
        held, answered = (sum(one.held.get(size, (0, 0))[k] for one in found) for k in (0, 1))
        cells = sum(one.cells.get(size, 0) for one in found)
        print(f"  {size:32} {cells:12,} {answered / max(cells, 1):10.1%} {held / max(answered, 1):10.1%}")
    with ProcessPoolExecutor() as pool:
        both = list(pool.map(beliefs, [Setting("adult", (8, 9, 14), kind, 1.0, 10_000) for kind in ("GRR", "OUE")]))
    print(
        "\n  the same about the population, adult 8, 9, 14 at epsilon 1; and the shortest intervals of posterior draws"
    )
    for size in ("empty", "small, below 1 %", "large"):
        cells, answered, cut, drawn = (sum(held.get(size, [0] * 4)[k] for held in both) for k in range(4))
        if cells:
            print(
                f"  {size:32} {cells:12,} {answered / cells:10.1%} {cut / max(answered, 1):10.1%} {drawn / cells:10.1%}"
            )


def _ratios(one: Result) -> list[float]:
    return [one.errors[method] / one.errors["likelihood"] for method in METHODS]
