"""On the device: one report, and reading a plan, with the plan read once."""

import os
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import deniable as dn
from benchmarks.harness import Row, medians, show
from deniable import client

REPORTS = 2_000
# A report of arms of three may take at most 1.3 times as long as one of 8 flags took.
WANTED = round(1 / 1.3, 2)
# A plan of 560 arms may take at most this many bytes, and this many milliseconds to be read.
MOST_BYTES, MOST_MS = 100_000, 50


def run() -> None:
    """Print the table."""
    eight, sixteen = _flags(8), _flags(16)
    threes = client.read(_in_threes(eight).to_json())
    apart = dn.Plan(eight, epsilon=1.0)
    released, once = _features(apart), client.read(apart.to_json())
    record = dict.fromkeys(eight.names, True)
    times = medians(
        {
            "threes": lambda: _many(lambda: client.report_from(os.urandom, record, threes)),
            "apart": lambda: _many(lambda: client.report_from(os.urandom, record, once)),
            "released": lambda: _many(lambda: _released(os.urandom, record, released)),
        }
    )
    against = "8 flags as 0.1.0 made reports"
    rows = [
        Row(f"{REPORTS:,} reports, 8 flags in arms of three", times["threes"], against, times["released"], WANTED),
        Row(f"{REPORTS:,} reports, 8 flags apart", times["apart"], against, times["released"]),
    ]
    show("One respondent's report, CPU time", rows)
    text = _in_threes(sixteen).to_json()
    read = medians({"read": lambda: client.read(text)})["read"] * 1e3
    size = len(text.encode())
    print(f"\n  a plan of {len(client.read(text).arms)} arms: {size:,} bytes, wanted <= {MOST_BYTES:,}", end="")
    print(
        f"; read in {read:.1f} ms, wanted <= {MOST_MS} ms{'' if read <= MOST_MS and size <= MOST_BYTES else '  MISSED'}"
    )


def _flags(count: int) -> dn.Schema:
    return dn.Schema([dn.Flag(f"f{place}") for place in range(count)])


def _in_threes(schema: dn.Schema) -> dn.Plan:
    """Every three flags are an arm, randomized together."""
    return dn.Plan(schema, epsilon=1.0, arms=[list(names) for names in combinations(schema.names, 3)])


def _many(report: Callable[[], bytes]) -> None:
    for _ in range(REPORTS):
        report()


def _features(plan: dn.Plan) -> list[dict[str, Any]]:
    return [{"name": feature.name, "protocol": protocol.integers} for feature, protocol in plan]


def _released(source: client.Source, record: Mapping[str, Any], features: list[dict[str, Any]]) -> bytes:
    """How release 0.1.0 made a report of flags: one after the other, each with its own draw."""
    codes = [client.encode(feature, client.answer(record, feature["name"])) for feature in features]
    bits = position = 0
    for feature, code in zip(features, codes, strict=True):
        field, width = _released_bits(code, feature, source)
        bits |= field << position
        position += width
    return bits.to_bytes((position + 7) // 8, "little")


def _released_bits(code: int, feature: Mapping[str, Any], source: client.Source) -> tuple[int, int]:
    protocol = feature["protocol"]
    columns = range(len(feature["values"])) if "values" in feature else range(1, 2)
    field = 0
    for place, (column, draw) in enumerate(zip(columns, client._draws(source, len(columns)), strict=True)):
        field |= (draw < protocol["q" if column == code else "p"]) << place
    return field, len(columns)
