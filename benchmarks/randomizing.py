"""Bulk randomizing against plain numpy and against multi-freq-ldpy's clients."""

import warnings

import numpy as np
import pyarrow as pa

import deniable as dn
from benchmarks.harness import Row, medians, show
from deniable.kernels import perturb
from deniable.reports.randomness import secure

VALUES = 32
EPSILON = 1.0


def bits(n: int = 1_000_000, chunk: int = 1 << 14) -> list[Row]:
    """Unary encoding of 32 values, per evidence bit: ours is exact, secure and packed; numpy's is none of these."""
    rng = np.random.default_rng(1)
    codes = rng.integers(VALUES, size=n).astype(np.int16)
    protocol = dn.UnaryEncoding.optimized(EPSILON)
    p, q = protocol.p, protocol.q

    def ours() -> None:
        perturb.bit_planes(codes, range(VALUES), *protocol.integers.values(), secure())

    def numpy_thresholds() -> None:
        buffer = np.empty((chunk, VALUES))
        columns = np.arange(VALUES)
        for start in range(0, n, chunk):
            block = codes[start : start + chunk]
            thresholds = np.where(block[:, None] == columns, q, p)
            _ = rng.random(out=buffer)[: len(block)] < thresholds

    def numpy_patched(dtype: type) -> None:
        buffer = np.empty((chunk, VALUES), dtype)
        for start in range(0, n, chunk):
            block = codes[start : start + chunk]
            drawn = rng.random(out=buffer, dtype=dtype)[: len(block)]
            shown = drawn < dtype(p)
            rows = np.arange(len(block))
            shown[rows, block] = drawn[rows, block] < q

    times = medians(
        {
            "ours": ours,
            "numpy random() < where(...), float64": numpy_thresholds,
            "numpy random() < p, float64": lambda: numpy_patched(np.float64),
            "numpy random() < p, float32": lambda: numpy_patched(np.float32),
        },
        repeats=5,
    )
    ours_time = times.pop("ours")
    best = min(times, key=lambda name: times[name])
    return [
        Row(f"{VALUES} unary bits, n = {n:,}", ours_time, name, seconds, 3.0 if name == best else None)
        for name, seconds in times.items()
    ]


def flags(n: int = 1_000_000, columns: int = 64, chunk: int = 1 << 14) -> list[Row]:
    """Flags through `dn.randomize`, which are exact, secure and packed, against numpy on chunks of their matrix."""
    rng = np.random.default_rng(3)
    truth = rng.random((n, columns), np.float32) < 0.2
    plan = dn.Plan(dn.Schema([dn.Flag(f"f{i}") for i in range(columns)]), epsilon=float(columns))
    arrays = {name: np.ascontiguousarray(column) for name, column in zip(plan.schema.names, truth.T, strict=True)}
    sources = {
        "numpy booleans": arrays,
        "an Arrow table": pa.table(arrays),
        "numpy int8": {name: column.astype(np.int8) for name, column in arrays.items()},
        "columns of a numpy matrix": dict(zip(plan.schema.names, truth.T, strict=True)),
    }
    p, q = plan.protocols[0].p, plan.protocols[0].q

    def numpy_thresholds(dtype: type) -> None:
        buffer, low, high = np.empty((chunk, columns), dtype), dtype(p), dtype(q)
        for start in range(0, n, chunk):
            block = truth[start : start + chunk]
            _ = rng.random(out=buffer, dtype=dtype)[: len(block)] < np.where(block, high, low)

    others = {
        "numpy random() < where(...), float64": lambda: numpy_thresholds(np.float64),
        "numpy random() < where(...), float32": lambda: numpy_thresholds(np.float32),
    }
    ours = {what: lambda data=data: dn.randomize(data, plan) for what, data in sources.items()}
    times = medians(ours | others, repeats=5)
    best = min(others, key=lambda name: times[name])
    return [Row(f"{columns} flags from {what}, n = {n:,}", times[what], best, times[best], 2.0) for what in ours]


def clients(n: int = 100_000) -> list[Row]:
    """Whole columns of integer codes through `dn.randomize`, against multi-freq-ldpy's client called for each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    column = np.random.default_rng(2).integers(VALUES, size=n)
    answers = column.tolist()
    schema = dn.Schema([dn.Choice("x", [str(value) for value in range(VALUES)])])
    rows = []
    for protocol, client, wanted in (
        (dn.GRR(epsilon=EPSILON), GRR_Client, 3.0),
        (dn.UnaryEncoding.optimized(EPSILON), UE_Client, 3.0),
        (dn.LocalHashing(epsilon=EPSILON), LH_Client, 10.0),
    ):
        plan = dn.Plan(schema, {"x": protocol})
        times = medians(
            {
                "ours": lambda plan=plan: dn.randomize({"x": column}, plan),
                "theirs": lambda client=client: [client(answer, VALUES, EPSILON) for answer in answers],
            },
            repeats=3,
        )
        what = f"{protocol.name}, {VALUES} values, n = {n:,}"
        rows.append(Row(what, times["ours"], f"multi-freq-ldpy {client.__name__}", times["theirs"], wanted))
    return rows


def run() -> None:
    """Print the tables."""
    show("Bulk randomizing, CPU time", bits() + flags() + clients())
