"""How far each method's table is from the respondents' own, on two classic tables.

Surveys are drawn with replacement; how many respondents of each kind show each pattern of evidence is multinomial, so
all methods see the same reports. Errors are root mean squares over cells and surveys, and ratios are to maximum
likelihood.
"""

import csv
import itertools
import sys
import zlib
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, fields
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

import deniable as dn
from deniable.estimates.likelihood import (
    GAP,
    climb,
    expectation_maximization,
    newton,
)
from deniable.estimates.pattern_likelihoods import Grid, Tree, patterns_of
from deniable.inference.tensors import along, flat, moment_matrix
from deniable.simulate import shown_patterns
from studies.classic_tables import at_hand, rows_of, say_left_out

SETS = {
    "nltcs": [(0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4)],
    "adult": [(8, 9, 14), (7, 8, 9), (7, 8, 9, 14), (8, 9, 10, 14)],
}
LARGE = (7, 8, 9, 10, 14)  # of adult: 960 cells
PROTOCOLS = ("GRR", "SUE", "OUE", "hashing", "mixed")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SIZES = (10_000, 100_000)
SURVEYS = 200
FEWER = 10  # times fewer surveys of the large table, and such in which expectation maximization is stopped early
MOST_PATTERNS = 1 << 16
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


def survey(setting: Setting, plan: dn.Plan, rng: np.random.Generator) -> tuple[Any, dn.Counts, Grid | Tree]:
    """The respondents' own table of shares, what was counted, and the patterns shown."""
    levels = [max(2, protocol.columns) for protocol in plan.protocols]
    data = rows_of(setting.table)
    answers = data[rng.integers(len(data), size=setting.n)][:, setting.columns]
    people = np.zeros(levels, int)
    np.add.at(people, tuple(answers.T), 1)
    if prod(len(protocol.pattern_evidence) for protocol in plan.protocols) > MOST_PATTERNS:
        records = {
            feature.name: np.array(feature.answers)[column]
            for feature, column in zip(plan.schema, answers.T, strict=True)
        }
        reports = dn.randomize(records, plan, rng=rng)
        names = plan.schema.names
        return people / setting.n, dn.count(reports, names), patterns_of(reports, names)
    shown = shown_patterns(plan.protocols, people[None], rng)[0]
    channels = tuple(protocol.likelihood(protocol.patterns) for protocol in plan.protocols)
    counts = dn.Counts(plan, patterns={plan.schema.names: shown})
    return people / setting.n, counts, Grid(shown / setting.n, channels)


def limits(setting: Setting) -> list[float]:
    """Of many reports: the least error that counts allow, over that of maximum likelihood, which has all of the report.

    First from bits that occur together; then from the scores of whole patterns at the shares of each feature's answers.
    """
    plan = plan_for(setting)
    shares = np.zeros([max(2, protocol.columns) for protocol in plan.protocols])
    np.add.at(shares, tuple(rows_of(setting.table)[:, setting.columns].T), 1 / len(rows_of(setting.table)))
    laws = [protocol.pattern_probabilities.T for protocol in plan.protocols]
    shown = along(shares, laws)
    informations = [Grid(shown, tuple(laws)).curvature(1 / shown.reshape(-1))]
    own = [shares.sum(axis=tuple(j for j in range(shares.ndim) if j != k)) for k in range(shares.ndim)]
    for seen in (
        [protocol.pattern_evidence.astype(float) for protocol in plan.protocols],
        [law / (law @ share)[:, None] for law, share in zip(laws, own, strict=True)],
    ):
        squares = [np.einsum("pi,pj,px->ijx", s, s, law) for s, law in zip(seen, laws, strict=True)]
        moments = moment_matrix(shares, squares)
        scale = 1 / np.sqrt(np.maximum(np.diagonal(moments), 1e-300))
        inverse = np.linalg.pinv(moments * scale[:, None] * scale, rcond=1e-11, hermitian=True)
        slope = scale[:, None] * flat([s.T @ law for s, law in zip(seen, laws, strict=True)])
        informations.append(slope.T @ inverse @ slope)
    there = shares.reshape(-1) > 0
    # The respondents' own shares are known but for the noise: the sampling, diag t, is off.
    least, *others = (np.trace(np.linalg.inv(one[np.ix_(there, there)])) - 1 for one in informations)
    return [float(np.sqrt(one / least)) for one in others]


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
    runs = SURVEYS // FEWER if setting.columns == LARGE else SURVEYS
    early = runs // FEWER
    for run in range(runs):
        truth, counts, seen = survey(setting, plan, rng)
        found = {}
        for method in ("unbiased", "consistent", "feasible"):
            table = dn.estimate(counts, plan.schema.names, method=method, about="respondents").table()
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
        if run < early:
            steps = expectation_maximization(seen, np.full(truth.size, 1 / truth.size))
            found["EM 300"] = next(islice(steps, 300, None)).t.reshape(truth.shape)
        found["Euclidean"] = euclidean(found["consistent"])
        for method, shares in found.items():
            squares[method].append(np.mean((shares - truth) ** 2))
    ours = {method: float(np.sqrt(np.mean(squares[method]))) for method in METHODS}
    ours["EM 300"] *= ours["likelihood"] / float(np.sqrt(np.mean(squares["likelihood"][:early])))  # on the same surveys
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
    return found + [Setting("adult", LARGE, *each, SIZES[0]) for each in itertools.product(PROTOCOLS, EPSILONS)]


def run() -> None:
    """Print the tables, and write all settings to accuracy.csv and a picture, accuracy.png."""
    if not at_hand():
        say_left_out("how far tables are from the respondents' own")
        return
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
    draw(found, Path("accuracy.png"))
    print(f"\nRoot mean square error per cell over that of maximum likelihood; {SURVEYS} surveys each (accuracy.csv)")
    usual = [one for one in found if one.setting.columns != LARGE]
    parts = {"all but SUE at epsilon >= 2": lambda s: s.protocol != "SUE" or s.epsilon < 2}
    parts |= {f"{t}, {p}, epsilon {e}": lambda s, t=t, p=p, e=e: (s.table, s.protocol, s.epsilon) == (t, p, e)
              for t, ps in (("nltcs", ("GRR",)), ("adult", PROTOCOLS)) for p in ps for e in EPSILONS}  # fmt: skip
    print(
        f"  {'':32}"
        + "".join(f"{method:>12}" for method in METHODS)
        + f"{'worst feasible':>16}{'limit of bits':>15}{'of patterns':>13}"
    )
    lines = {name: [one for one in usual if wanted(one.setting)] for name, wanted in parts.items()}
    lines |= {
        f"5 columns, {p}": [one for one in found if one.setting.columns == LARGE and one.setting.protocol == p]
        for p in PROTOCOLS
    }
    for name, results in lines.items():
        ratios = np.array([_ratios(one) for one in results])
        worst = ratios[:, METHODS.index("feasible")].max()
        print(f"  {name:32}" + "".join(f"{ratio:12.3f}" for ratio in ratios.mean(axis=0)) + f"{worst:16.3f}", end="")
        least = {(*one.setting.columns, one.setting.protocol, one.setting.epsilon): one.setting for one in results}
        if not name.startswith("5 columns"):
            bits, whole = np.mean([limits(setting) for setting in least.values()], axis=0)
            print(f"{bits:15.3f}{whole:13.3f}", end="")
        print()
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


def draw(found: list[Result], path: Path) -> None:
    """A panel for each protocol: errors over that of maximum likelihood, as epsilon grows."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    looks = {
        "unbiased": ("0.7", ":", "v"), "consistent": ("0.5", ":", "^"), "Euclidean": ("0.5", "--", "s"),
        "EM 300": ("black", "--", "x"), "feasible": ("black", "-", "o"),
    }  # fmt: skip
    figure, axes = plt.subplots(1, len(PROTOCOLS), figsize=(13, 3.6), layout="constrained", sharey=True)
    for axis, protocol in zip(axes, PROTOCOLS, strict=True):
        own = [one for one in found if one.setting.table == "adult" and one.setting.protocol == protocol]
        for method, (colour, line, mark) in looks.items():
            place = METHODS.index(method)
            heights = [np.mean([_ratios(one)[place] for one in own if one.setting.epsilon == e]) for e in EPSILONS]
            axis.plot(EPSILONS, heights, line, color=colour, marker=mark, ms=5, label=method)
        axis.axhline(1, color="0.8", lw=0.8, zorder=0)
        axis.set(xscale="log", yscale="log", xlabel="epsilon of each feature", title=protocol)
        axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axis.minorticks_off()
        axis.set_yticks([1, 2, 5, 10, 50], ["1", "2", "5", "10", "50"])
    axes[0].set_ylabel("error over that of\nmaximum likelihood")
    axes[-1].legend(fontsize=8, frameon=False)
    figure.suptitle(
        "Tables of 3 to 5 columns of adult: feasible tables are as close to the respondents' own as expectation "
        "maximization run to its end",
        fontsize=10,
    )
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _ratios(one: Result) -> list[float]:
    return [one.errors[method] / one.errors["likelihood"] for method in METHODS]
