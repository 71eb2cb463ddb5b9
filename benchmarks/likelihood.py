"""Feasible tables against maximum likelihood, a step of expectation maximization, and the likelihood of many flags."""

import time
from functools import reduce

import numpy as np

import deniable as dn
from benchmarks.harness import Row, medians, show
from deniable.estimates.likelihood import WIDE_GAP, accelerated, climb, expectation_maximization
from deniable.estimates.pattern_likelihoods import patterns_of
from deniable.inference.tensors import along
from studies.classic_tables import at_hand, rows_of, say_left_out


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
            "counted": lambda: dn.estimate(dn.count(reports, schema.names), schema.names, method="feasible"),
            "from feasible": lambda: dn.maximum_likelihood(reports, schema.names),
            "from uniform": lambda: dn.maximum_likelihood(reports, schema.names, start="uniform"),
        }
        times = medians(contestants, repeats=11, clock=time.perf_counter)
        what = f"feasible, 4 x 4 values by {protocol.name}, N = 100,000"
        for start, least in (("from feasible", wanted), ("from uniform", wanted)):
            rows.append(Row(what, times["feasible"], f"maximum likelihood, {start}", times[start], least))
        rows.append(
            Row("the same, counting included", times["counted"], "likelihood, from uniform", times["from uniform"])
        )
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


def many_flags() -> None:
    """16 flags, 65,536 cells: how long the likelihood takes to climb from the uniform table, and how good its table is.

    The distance to the respondents' own table is half the sum of differences; beside it, that of independent answers
    with the same margins. The last line is of answers that are all rare; the others are those of nltcs.
    """
    names = [f"f{k}" for k in range(16)]
    settings: list[tuple[int, float, float | None]] = [(100_000, 0.5, 0.01)]
    if at_hand():
        data = rows_of("nltcs") == 1
        settings = [(100_000, 0.5, None), (100_000, 1.0, None), (len(data), 1.0, None), (100_000, 2.0, None),
                    (100_000, 4.0, None), *settings]  # fmt: skip
    else:
        say_left_out("maximum likelihood of the 16 flags of nltcs")
    print("\nMaximum likelihood of 16 flags, to a gap of 1e-6 a report; median of 3, wall")
    for n, epsilon, share in settings:
        rng = np.random.default_rng(1)
        drawn = data[rng.integers(len(data), size=n)] if share is None else rng.random((n, 16)) < share
        plan = dn.Plan(
            dn.Schema([dn.Flag(name) for name in names]), dict.fromkeys(names, dn.RandomizedResponse(epsilon=epsilon))
        )
        reports = dn.randomize({name: drawn[:, k] for k, name in enumerate(names)}, plan, rng=rng)
        seen = patterns_of(reports, names)
        found = []
        contestants = {
            "climb": lambda seen=seen: found.append(climb(accelerated(seen, np.full(1 << 16, 2.0**-16)), WIDE_GAP)),
            "whole": lambda reports=reports: dn.maximum_likelihood(reports, names),
        }
        times = medians(contestants, repeats=3, clock=time.perf_counter)
        own = np.bincount(drawn @ (1 << np.arange(16)[::-1]), minlength=1 << 16) / n
        cells = found[-1].t.reshape((2,) * 16)
        margins = [cells.sum(axis=tuple(j for j in range(16) if j != k)) for k in range(16)]
        tables = found[-1].t, reduce(np.multiply.outer, margins).reshape(-1)
        likeliest, independent = (np.abs(table - own).sum() / 2 for table in tables)
        print(
            f"  N = {n:7,}, epsilon {epsilon:g} each{', rare' if share else ''}: {times['climb']:5.2f} s climbing, "
            f"gap {found[-1].gap:.1e}; {times['whole']:5.2f} s with reading the reports; "
            f"distance {likeliest:.3f}, of independent answers {independent:.3f}"
        )


def run() -> None:
    """Print the tables."""
    show("Feasible tables and maximum likelihood, wall; EM in CPU time", speed())
    many_flags()
