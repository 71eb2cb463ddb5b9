"""Counting kernels against numpy, duckdb and multi-freq-ldpy's aggregator."""

import json
import statistics
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import deniable as dn
from benchmarks.harness import Row, medians, show
from deniable.kernels import compiled, plain
from deniable.kernels.bitplanes import new_planes
from tests.support.kernel_twins import COMPARISONS, planes

RNG = np.random.default_rng(1)
TILE = 2048  # words: what suits numpy best


def _matrix(bits: Any, reports: int) -> Any:
    return np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), axis=1, bitorder="little")[:, :reports].T.copy()


def _by_tiles(function: Any, bits: Any, out: Any) -> None:
    """A plain twin on pieces that stay in the cache: the best that numpy does."""
    for start in range(0, bits.shape[1], TILE):
        function(bits[:, start : start + TILE], out)


def pairs() -> list[Row]:
    """All pairs against a product of float32 matrices, the fastest that numpy has for it."""
    rows = []
    for reports, columns, wanted in ((1_000_000, 64, 10.0), (1_000_000, 256, 8.5), (100_000, 1024, 6.5)):
        bits = planes(reports, columns, 0.2, RNG)
        x = _matrix(bits, reports).astype(np.float32)
        out = np.zeros((columns, columns), np.int64)
        compiled.pairs(bits, out)
        assert np.array_equal(np.triu(out), np.triu(x.T @ x).astype(np.int64))
        times = medians({"ours": lambda: compiled.pairs(bits, out), "numpy": lambda: x.T @ x})
        what = f"all pairs of {columns} planes, N = {reports:,}"
        rows.append(Row(what, times["ours"], "numpy float32 X.T @ X", times["numpy"], wanted))
    return rows


def triples() -> list[Row]:
    bits = planes(1_000_000, 64, 0.2, RNG)
    fast, slow = (np.zeros((64,) * 3, np.int64) for _ in range(2))
    contestants = {
        "ours": lambda: compiled.triples(bits, fast),
        "numpy": lambda: _by_tiles(plain.triples, bits, slow),
    }
    times = medians(contestants, repeats=3)
    rising = (np.diff(np.indices(fast.shape), axis=0) >= 0).all(axis=0)
    assert np.array_equal(np.where(rising, fast, 0), np.where(rising, slow, 0))
    return [Row("all triples of 64 planes, N = 1,000,000", times["ours"], "numpy bitwise_count", times["numpy"], 7.0)]


def threads() -> list[Row]:
    """Two halves on two threads, by the wall clock; the best of many rounds, as other work only slows it."""
    bits = planes(1_000_000, 256, 0.2, RNG)
    half = bits.shape[1] // 128 * 64
    outs = [np.zeros((256, 256), np.int64) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:

        def both() -> None:
            list(pool.map(compiled.pairs, (bits[:, :half], bits[:, half:]), outs))

        times = medians(
            {"two": both, "one": lambda: compiled.pairs(bits, outs[0])}, repeats=15, clock=time.perf_counter, pick=min
        )
    return [Row("all pairs of 256 planes on two threads, wall", times["two"], "one thread", times["one"], 1.6)]


def packing() -> list[Row]:
    rows = []
    for columns in (64, 256):
        words, out = COMPARISONS["pack"][1](1_000_000, columns, 0.2, RNG)
        matrix = words.view(np.uint8)
        counted = np.zeros((columns, columns), np.int64)
        compiled.pack(words, out)
        assert np.array_equal(_matrix(out, 1_000_000), matrix)
        times = medians(
            {
                "ours": lambda: compiled.pack(words, out),
                "numpy": lambda: np.packbits(matrix, axis=0),
                "pairs": lambda: compiled.pairs(out, counted),
            },
            repeats=3,
        )
        what = f"packing {columns} bool columns, N = 1,000,000"
        rows.append(Row(what, times["ours"], "np.packbits(axis=0)", times["numpy"], 20.0))
        if columns == 256:
            rows.append(Row(what, times["ours"], "counting their pairs", times["pairs"], 1.0))
    return rows


def tables() -> list[Row]:
    """Whole tables through `dn.count`, wall time on all processors."""
    import duckdb

    n = 10_000_000
    plan = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(16)]), epsilon=16.0)
    reports = dn.randomize({name: RNG.random(n, np.float32) < 0.2 for name in plan.schema.names}, plan, rng=RNG)
    connection = duckdb.connect()
    flags = reports.table  # noqa: F841 - duckdb finds it by its name
    connection.execute("create table t as select * from flags")
    (there,) = connection.execute("select count(*) from t where f0 and f1 and f15").fetchone()
    assert dn.count(reports, plan.schema.names).array("f0", "f1", "f15")[1, 1, 1] == there
    query = f"select {', '.join(plan.schema.names)}, count(*) from t group by all"
    times = medians(
        {
            "ours": lambda: dn.count(reports, plan.schema.names),
            "duckdb": lambda: connection.execute(query).fetchnumpy(),
        },
        clock=time.perf_counter,
        repeats=11,
    )
    rows = [Row("table of 16 flags, N = 10,000,000, wall", times["ours"], "duckdb GROUP BY", times["duckdb"], 15.0)]

    schema = dn.Schema([dn.Choice(f"f{i}", [f"v{v}" for v in range(10)]) for i in range(4)])
    plan = dn.Plan(schema, {name: dn.UnaryEncoding.optimized(1.0) for name in schema.names})
    reports = dn.randomize(_choices(schema), plan, rng=RNG)
    times = medians({"ours": lambda: dn.count(reports, schema.names)}, clock=time.perf_counter, repeats=3)
    return [*rows, Row("table of 4 unary features of 10 values, N = 1,000,000", times["ours"], "a second", 1.0, 1.0)]


SECOND_CALL = """
import json, time
import numpy as np
import deniable as dn

def seconds(work):
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found

rng = np.random.default_rng(1)
plan = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(256)]), epsilon=256.0)
reports = dn.randomize({name: rng.random(500_000, np.float32) < 0.2 for name in plan.schema.names}, plan, rng=rng)
x = np.column_stack([column.to_numpy() for column in reports.table.columns]).astype(np.float32)
first, _ = seconds(lambda: dn.count(reports, order=2))
second, counts = seconds(lambda: dn.count(reports, order=2))
blas, product = min((seconds(lambda: x.T @ x) for _ in range(3)), key=lambda found: found[0])
assert np.array_equal(counts.moments[1:, 1:], product)
print(json.dumps([first, second, blas]))
"""


def second_call(repeats: int = 5) -> list[Row]:
    """All pairs through `dn.count` in new processes, which have loaded nothing before their first call; wall time."""
    command = [sys.executable, "-c", SECOND_CALL]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(repeats + 1)]
    first, second, blas = (statistics.median(column) for column in zip(*runs[1:], strict=True))
    what = "dn.count(order=2), 256 flags x 500,000, wall, "
    return [
        Row(f"{what}second call", second, "numpy float32 X.T @ X", blas, 3.0),
        Row(f"{what}first call", first, "numpy float32 X.T @ X", blas),
    ]


def _choices(schema: dn.Schema) -> dict[str, Any]:
    return {name: np.array(schema[name].values)[RNG.integers(10, size=1_000_000)] for name in schema.names}


def hashing() -> list[Row]:
    """The evidence of local hashing against multi-freq-ldpy's aggregator, which makes and sums it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client

    n, m = 100_000, 32
    theirs = [LH_Client(int(value), m, 1.0) for value in RNG.integers(m, size=n)]
    seeds = RNG.integers(2**31 - 1, size=(n, 4), dtype=np.uint32)
    shown = RNG.integers(4, size=n).astype(np.uint16)
    out = new_planes(m, n)
    times = medians(
        {"ours": lambda: compiled.hashed(seeds, shown, 4, out), "theirs": lambda: LH_Aggregator_MI(theirs, m, 1.0)},
        repeats=3,
    )
    what = f"evidence of local hashing, {m} values, n = {n:,}"
    return [Row(what, times["ours"], "multi-freq-ldpy LH_Aggregator_MI", times["theirs"], 20.0)]


def run() -> None:
    """Print the table."""
    rows = [row for part in (pairs, triples, threads, packing, second_call, tables, hashing) for row in part()]
    show("Counting, single-thread CPU time unless said", rows)
