"""Client and bulk code: every one of the 65 536 draws, the same bytes for the same draws, and planted bugs caught."""

import json
import os
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable import client, perturb
from deniable.draws import secure, seeded
from deniable.protocols import BitByBit, KeepOrUniform
from deniable.reports import randomize_codes

from .make_vectors import PATH, vectors
from .scripted import bulk_draws, client_source, some_draws, some_records
from .situations import PLANS, values

every_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
ALL = np.arange(65536, dtype=np.uint16)

# -- all 65 536 draws -------------------------------------------------------------------------------------------------

BitPlanes = Callable[..., npt.NDArray[np.uint8]]
Keep = Callable[..., npt.NDArray[np.int16]]


def check_bits_of_all_draws(bit_planes: BitPlanes, columns: range, p: int, q: int) -> None:
    """For every code, each column's bit is 1 for exactly its numerator of the 65 536 draws."""
    for code in {0, 1, columns[-1]}:
        codes = np.full(65536, code, np.int16)
        planes = bit_planes(codes, columns, p, q, lambda count: ALL[:count])
        ones = np.unpackbits(planes, axis=1, bitorder="little").sum(axis=1)
        assert ones.tolist() == [q if column == code else p for column in columns]


def check_outcomes_of_all_draws(keep_or_uniform: Keep, keep: int, n: int) -> None:
    """The coin keeps for exactly `keep` draws, and draws that are not rejected are spread evenly over the outcomes."""
    share = 65536 // n
    for code in {0, n - 1}:
        codes = np.full(65536, code, np.int16)
        other = np.uint16(share * ((code + 1) % n))  # the uniform draw that gives the next code
        coins = iter([ALL, np.full(65536, other)])
        shown = keep_or_uniform(codes, keep, n, lambda _: next(coins))
        assert (shown == code).sum() == keep
        rest = iter([np.full(65536, 65535, np.uint16), ALL, np.zeros(65536 - share * n, np.uint16)])
        shown = keep_or_uniform(codes, keep, n, lambda _: next(rest))
        expected = np.full(n, share)
        expected[0] += 65536 - share * n  # those rejected were given 0 at the second try
        assert np.bincount(shown, minlength=n).tolist() == expected.tolist()


@every_plan
def test_all_draws_through_the_bulk_code(plan: dn.Plan) -> None:
    for feature, protocol in plan:
        match protocol:
            case BitByBit():
                check_bits_of_all_draws(perturb.bit_planes, feature.columns, *protocol.integers.values())
            case KeepOrUniform():
                check_outcomes_of_all_draws(perturb.keep_or_uniform, protocol.keep, protocol.outcomes)


def client_planes(codes: Any, columns: range, p: int, q: int, draws: Any) -> npt.NDArray[np.uint8]:
    """The client's bits for many records, in the bulk code's form."""
    feature: dict[str, Any] = {"protocol": {"p": p, "q": q}}
    if len(columns) > 1:
        feature["values"] = values(len(columns))
    perturbed = client.PERTURB["unary encoding"]
    table = []
    for code, draw in zip(codes.tolist(), draws(len(codes)).tolist(), strict=True):
        field, width = perturbed(code, feature, lambda count, draw=draw: struct.pack("<H", draw) * (count // 2))
        assert width == len(columns)
        table.append([field >> place & 1 for place in range(width)])
    return np.packbits(np.array(table, np.uint8).T, axis=1, bitorder="little")


def client_keep(codes: Any, keep: int, n: int, draws: Any) -> npt.NDArray[np.int16]:
    """The client's GRR for many records, in the bulk code's form. A rejected draw is followed by 0."""
    feature = {"protocol": {"keep": keep}, "values": values(n)}
    coins, others = draws(len(codes)).tolist(), draws(len(codes)).tolist()
    shown = []
    for code, coin, other in zip(codes.tolist(), coins, others, strict=True):
        stream = iter([coin, other, 0])
        field, _ = client.PERTURB["GRR"](code, feature, lambda _, stream=stream: struct.pack("<H", next(stream)))
        shown.append(field)
    return np.array(shown, np.int16)


@pytest.mark.parametrize(("m", "p", "q"), [(1, 6554, 52428), (1, 1, 65535), (3, 17628, 32768)])
def test_all_draws_through_the_client_bits(m: int, p: int, q: int) -> None:
    check_bits_of_all_draws(client_planes, range(1, 2) if m == 1 else range(m), p, q)


@pytest.mark.parametrize(("n", "keep"), [(2, 1), (5, 20000), (4096, 65535)])
def test_all_draws_through_the_client_coin(n: int, keep: int) -> None:
    check_outcomes_of_all_draws(client_keep, keep, n)


def unrandomized(codes: Any, columns: range, p: int, q: int, draws: Any) -> npt.NDArray[np.uint8]:
    planes = perturb.bit_planes(codes, columns, p, q, draws)
    planes[-1] = np.packbits(codes == columns[-1], bitorder="little")
    return planes


PLANTED_IN_BITS: dict[str, BitPlanes] = {
    "p off by one": lambda c, v, p, q, d: perturb.bit_planes(c, v, p + 1, q, d),
    "q off by one": lambda c, v, p, q, d: perturb.bit_planes(c, v, p, q - 1, d),
    "draw <= p": lambda c, v, p, q, d: perturb.bit_planes(c, v, p, q, lambda n: np.maximum(d(n), 1) - 1),
    "p and q swapped": lambda c, v, p, q, d: perturb.bit_planes(1 - c, v, p, q, d),
    "complement": lambda c, v, p, q, d: ~perturb.bit_planes(c, v, p, q, d),
    "one bit left unrandomized": unrandomized,
    "client, p and q swapped": lambda c, v, p, q, d: client_planes(c, v, q, p, d),
    "client, p off by one": lambda c, v, p, q, d: client_planes(c, v, p - 1, q, d),
}


@pytest.mark.parametrize("planted", PLANTED_IN_BITS.values(), ids=PLANTED_IN_BITS.keys())
@pytest.mark.parametrize("columns", [range(1, 2), range(2)], ids=["flag", "choice"])
def test_planted_bugs_in_bits_are_caught(planted: BitPlanes, columns: range) -> None:
    check_bits_of_all_draws(perturb.bit_planes, columns, 6554, 52428)
    with pytest.raises(AssertionError):
        check_bits_of_all_draws(planted, columns, 6554, 52428)


PLANTED_IN_COIN: dict[str, Keep] = {
    "coin off by one": lambda c, k, n, d: perturb.keep_or_uniform(c, k + 1, n, d),
    "always kept": lambda c, _k, n, d: (perturb.keep_or_uniform(c, 1, n, d), c)[1],
    "never rejected": lambda c, k, n, d: np.where(d(len(c)) < k, c, (d(len(c)) % n).astype(np.int16)),
    "one outcome forgotten": lambda c, k, n, d: np.where(
        d(len(c)) < k, c, np.minimum(d(len(c)) // (65536 // n), n - 2)
    ),
}


@pytest.mark.parametrize("planted", PLANTED_IN_COIN.values(), ids=PLANTED_IN_COIN.keys())
def test_planted_bugs_in_the_coin_are_caught(planted: Keep) -> None:
    check_outcomes_of_all_draws(perturb.keep_or_uniform, 20000, 7)
    with pytest.raises((AssertionError, StopIteration)):
        check_outcomes_of_all_draws(planted, 20000, 7)


# -- local hashing ----------------------------------------------------------------------------------------------------


def test_any_four_values_hash_independently(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the whole family of a small prime, the hashes of four values take every combination equally often."""
    monkeypatch.setattr(client, "PRIME", 7)
    feature = {"protocol": {"keep": 65535, "buckets": 7}, "values": values(6)}
    hashes = []
    for seed in product(range(7), repeat=4):
        row = []
        for code in range(6):
            stream = iter([*(struct.pack("<I", c) for c in seed), b"\0\0", b"\0\0"])
            field, _ = client.PERTURB["local hashing"](code, feature, lambda _, stream=stream: next(stream))
            row.append(field >> 128)
        hashes.append(row)
    for four in combinations(range(6), 4):
        assert set(Counter(tuple(row[v] for v in four) for row in hashes).values()) == {1}
    assert set(Counter(tuple(row[v] for v in range(5)) for row in hashes).values()) == {1}
    assert len({tuple(row[:5]) for row in hashes}) < 7**5  # five are not independent: a cubic has four coefficients


def test_bulk_hash_is_the_polynomial() -> None:
    rng = np.random.default_rng(3)
    for g in (2, 7, 4096):
        seed = rng.integers(client.PRIME, size=(500, 4), dtype=np.uint32)
        seed[:5] = [[client.PRIME - 1] * 4, [0] * 4, [1, 0, 0, 0], [0, 0, 0, client.PRIME - 1], [5, 6, 7, 8]]
        codes = rng.integers(4096, size=500).astype(np.int16)
        codes[:5] = 4095
        exact = [
            sum(int(c) * int(x) ** k for k, c in enumerate(row)) % client.PRIME * g // client.PRIME
            for row, x in zip(seed, codes, strict=True)
        ]
        assert perturb.bucket(seed, codes, g).tolist() == exact


def test_bulk_buckets_are_even() -> None:
    """A statistical test, with a control: chi-square below its 99.99 % point, and a shared seed fails it."""
    draws = seeded(np.random.default_rng(5))
    seed = perturb.seeds(200_000, draws)
    for values_used, low, high in ((seed, 0, 30.0), (np.repeat(seed[:100], 2000, axis=0), 300.0, np.inf)):
        count = np.bincount(perturb.bucket(values_used, np.full(200_000, 3, np.int16), 8), minlength=8)
        assert low <= ((count - 25_000) ** 2 / 25_000).sum() <= high


# -- client and bulk give the same bytes ------------------------------------------------------------------------------


@every_plan
@pytest.mark.parametrize("count", [1, 7, 64, 65])
def test_the_same_draws_give_the_same_bytes(plan: dn.Plan, count: int) -> None:
    rng = np.random.default_rng(count)
    document = json.loads(plan.to_json())
    records = some_records(plan, document, count, rng)
    draws = [{f["name"]: some_draws(f, rng) for f in document["features"]} for _ in records]
    one_by_one = []
    for record, drawn in zip(records, draws, strict=True):
        source = client_source(document, drawn)
        one_by_one.append(client.report_from(source, record, document))
        assert source(0) == b""
        with pytest.raises(AssertionError):
            source(1)  # all draws were used
    codes = [
        np.array([client.encode(f, record[f["name"]]) for record in records], np.int16) for f in document["features"]
    ]
    together = randomize_codes(codes, plan, bulk_draws(document, draws))
    assert together.to_bytes() == one_by_one
    assert dn.Reports.from_bytes(one_by_one, plan) == together


def test_vectors_are_what_the_client_gives() -> None:
    kept = json.loads(PATH.read_text())
    assert kept == json.loads(json.dumps(vectors()))
    for case in kept:
        plan = dn.Plan.from_json(json.dumps(case["plan"]))
        reports = [bytes.fromhex(record["report"]) for record in case["records"]]
        columns = {name: [record["answers"][name] for record in case["records"]] for name in plan.schema.names}
        codes = [
            np.array([client.encode(f.to_json(), answer) for answer in columns[f.name]], np.int16) for f in plan.schema
        ]
        draws = bulk_draws(case["plan"], [record["draws"] for record in case["records"]])
        assert randomize_codes(codes, plan, draws).to_bytes() == reports


def test_vectors_hold_rejections_of_every_kind() -> None:
    kept = json.loads(PATH.read_text())[-1]["records"]
    assert any(len(attempts) > 1 for record in kept for attempts in record["draws"]["grr"][1:])
    assert any(len(attempts) > 1 for record in kept for attempts in record["draws"]["hash"][:4])
    assert any(len(attempts) > 1 for record in kept for attempts in record["draws"]["hash"][5:])


@every_plan
def test_a_report_has_the_same_length_and_takes_the_same_draws_for_every_answer(plan: dn.Plan) -> None:
    document = json.loads(plan.to_json())
    seen = set()
    for feature in document["features"]:
        answers = [True, False] if "values" not in feature else feature["values"][:3] + feature["values"][-3:]
        for answer in answers:
            record = {f["name"]: (f["values"][0] if "values" in f else False) for f in document["features"]}
            record[feature["name"]] = answer
            asked: list[int] = []

            def source(count: int, asked: list[int] = asked) -> bytes:
                asked.append(count)
                return bytes(count)

            seen.add((len(client.report_from(source, record, document)), tuple(asked)))
    assert len(seen) == 1


# -- where randomness comes from --------------------------------------------------------------------------------------


def test_the_client_uses_the_systems_randomness_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    monkeypatch.setattr(os, "urandom", counted)
    client.report({"a": True}, PLANS["one flag"].to_json())
    assert asked == [2]


@pytest.mark.parametrize("failure", [OSError("no entropy"), NotImplementedError("no source")])
def test_without_the_systems_randomness_everything_raises(failure: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_count: int) -> bytes:
        raise failure

    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(type(failure), match="no "):
        client.report({"a": True}, PLANS["one flag"].to_json())
    with pytest.raises(type(failure), match="no "):
        dn.randomize({"a": [True]}, PLANS["one flag"])


def test_secure_draws_are_keyed_afresh_and_run_on() -> None:
    one, two = secure(), secure()
    first, second, other = one(1000), one(1000), two(1000)
    assert first.dtype == np.uint16
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, other)
    assert len(one(1_000_001)) == 1_000_001  # more than its buffer


def test_secure_and_seeded_draws_look_uniform() -> None:
    """Chi-square over the high and the low byte, against 255 degrees of freedom; a biased stream is caught."""
    for draws in (secure(), seeded(np.random.default_rng(1))):
        drawn = draws(1 << 20)
        for stream in (drawn >> 8, drawn & 255):
            assert 130 < chi_square(stream) < 420
        assert chi_square(np.maximum(drawn >> 8, 1)) > 420


def chi_square(stream: npt.NDArray[Any]) -> float:
    expected = len(stream) / 256
    return float(((np.bincount(stream, minlength=256) - expected) ** 2 / expected).sum())


def test_a_seed_repeats_and_no_seed_does_not() -> None:
    plan = PLANS["everything mixed"]
    records = some_records(plan, json.loads(plan.to_json()), 50, np.random.default_rng(0))
    once = dn.randomize(records, plan, rng=np.random.default_rng(1))
    assert dn.randomize(records, plan, rng=np.random.default_rng(1)) == once
    assert dn.randomize(records, plan, rng=np.random.default_rng(2)) != once
    assert dn.randomize(records, plan) != dn.randomize(records, plan)
    with pytest.raises(dn.DeniableError, match="rng must be a numpy Generator .*; found 1"):
        dn.randomize(records, plan, rng=1)


def test_blocks_join_without_a_seam() -> None:
    """More records than a block: every code's share is right on both sides of the seam, and bits line up."""
    n = perturb.BLOCK + 12345
    plan = PLANS["one flag, nearly open"]  # one draw in 65 536 lies
    truth = np.arange(n) % 3 == 0
    reports = dn.randomize({"a": truth}, plan)
    assert np.mean(reports.table["a"].to_numpy() != truth) < 0.001


def test_importing_the_client_loads_the_standard_library_alone() -> None:
    code = "import sys; old = set(sys.modules); import deniable.client; print(*sorted(set(sys.modules) - old))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {name.split(".")[0] for name in loaded} - {"deniable"} - set(sys.stdlib_module_names)
    assert {name for name in loaded if name.startswith("deniable")} == {"deniable", "deniable.client"}
