"""Client and bulk code: every one of the 65 536 draws, the same bytes for the same draws, and planted bugs caught."""

import ast
import io
import itertools
import json
import os
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from spec.make_vectors import PATH, vectors

import deniable as dn
from deniable import client
from deniable.reports import perturb
from deniable.reports.randomize import randomize_codes
from deniable.reports.randomness import secure, seeded
from deniable.survey.protocols.protocols import BitByBit, KeepOrUniform
from tests.support.scripted import bulk_draws, client_source, some_draws, some_records
from tests.support.situations import PLANS, values

every_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
ALL = np.arange(65536, dtype=np.uint16)

# -- all 65 536 draws --------------------------------------------------------------------------------------------------
#
# For every feature of every plan, through the client's whole `report_from` and the bulk code's whole `randomize_codes`:
# the share of draws that give each outcome is exactly its numerator.

Perturbed = Callable[[dn.Plan, int, list[np.ndarray]], np.ndarray]  # plan of one feature, code, draws of each step


def single(plan: dn.Plan, name: str) -> dn.Plan:
    """The plan of one feature alone."""
    feature = plan.schema[name]
    alone = dn.Flag(feature.name) if isinstance(feature, dn.Flag) else feature
    return dn.Plan(dn.Schema([alone]), {name: plan[name]})


def by_client(plan: dn.Plan, code: int, steps: list[np.ndarray]) -> np.ndarray:
    """What the client shows: a row of bits, or of one outcome, for each set of draws. After a rejection comes 0."""
    document = json.loads(plan.to_json())
    (feature,) = document["features"]
    answer = feature["values"][code] if "values" in feature else bool(code)
    record = {feature["name"]: answer}
    bits = isinstance(plan.protocols[0], BitByBit)
    reports = []
    for draws in zip(*(step.tolist() for step in steps), strict=True):
        stream = b"".join(struct.pack("<H", draw) for draw in draws) + bytes(2)
        if isinstance(plan.protocols[0], dn.LocalHashing):
            stream = bytes(16) + stream  # a hash that sends everything to bucket 0
        source = io.BytesIO(stream).read
        reports.append(int.from_bytes(client.report_from(source, record, document), "little"))
    if bits:
        return np.array([[report >> place & 1 for place in range(len(steps))] for report in reports])
    return (
        np.array(reports)[:, None]
        if not isinstance(plan.protocols[0], dn.LocalHashing)
        else (np.array([report >> 128 for report in reports])[:, None])
    )


def by_bulk(plan: dn.Plan, code: int, steps: list[np.ndarray]) -> np.ndarray:
    """The same from the bulk code."""
    count = len(steps[0])
    hashing = isinstance(plan.protocols[0], dn.LocalHashing)
    given = iter([*[np.zeros(2 * count, np.uint16)] * (4 * hashing), *steps])
    later = itertools.repeat(None)

    def draws(size: int) -> np.ndarray:
        step = next(given, next(later))
        return np.zeros(size, np.uint16) if step is None else step.copy()

    table = randomize_codes([np.full(count, code, np.int16)], plan, draws).table
    if isinstance(plan.protocols[0], BitByBit):
        return np.column_stack([column.to_numpy() for column in table.columns])
    column = table.columns[-1].combine_chunks()
    return (column if hashing else column.indices).to_numpy()[:, None]


def check_all_draws(plan: dn.Plan, perturbed: Perturbed) -> None:
    """Each outcome comes from exactly as many of the 65 536 draws as its numerator says."""
    (feature,), (protocol,) = plan.schema, plan.protocols
    codes = {0, 1} if isinstance(feature, dn.Flag) else {0, feature.levels - 1}
    for code in codes:
        if isinstance(protocol, BitByBit):
            ones = perturbed(plan, code, [ALL] * protocol.columns).sum(axis=0)
            p, q = protocol.integers.values()
            assert ones.tolist() == [q if column == code else p for column in feature.columns]
        elif isinstance(protocol, KeepOrUniform):
            n, keep = protocol.outcomes, protocol.keep
            share = 65536 // n
            true = 0 if isinstance(protocol, dn.LocalHashing) else code
            other = np.full(65536, share * ((true + 1) % n), np.uint16)  # the uniform draw that gives the next outcome
            shown = perturbed(plan, code, [ALL, other])[:, 0]
            assert (shown == true).sum() == keep
            assert (shown == (true + 1) % n).sum() == 65536 - keep
            shown = perturbed(plan, code, [np.full(65536, 65535, np.uint16), ALL])[:, 0]
            expected = np.full(n, share)
            expected[0] += 65536 - share * n  # those rejected are given 0 at the second try
            assert np.bincount(shown, minlength=n).tolist() == expected.tolist()


SINGLES = {
    f"{title}: {name}": single(plan, name)
    for title, plan in PLANS.items()
    for name in plan.schema.names
    if not isinstance(plan[name], dn.Public)
}


@pytest.mark.parametrize("plan", SINGLES.values(), ids=SINGLES.keys())
def test_all_draws_through_the_bulk_code(plan: dn.Plan) -> None:
    check_all_draws(plan, by_bulk)


@pytest.mark.parametrize(
    "plan", [pytest.param(plan, id=title) for title, plan in SINGLES.items() if plan.protocols[0].columns <= 40]
)
def test_all_draws_through_the_client(plan: dn.Plan) -> None:
    check_all_draws(plan, by_client)


# -- planted bugs ------------------------------------------------------------------------------------------------------


def off_by_one(key: str) -> Callable[[Any], Any]:
    """A client's or a bulk function's threshold raised by one, wherever it comes from."""

    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        read, bulk = dict(client.PERTURB), (perturb.bit_planes, perturb.keep_or_uniform)

        def raised(name: str) -> Any:
            def planted(code: int, feature: Any, source: Any) -> Any:
                protocol = feature["protocol"]
                bad = protocol | ({key: protocol[key] + 1} if key in protocol else {})
                return read[name](code, feature | {"protocol": bad}, source)

            return planted

        monkeypatch.setattr(client, "PERTURB", {name: raised(name) for name in read})
        planes, keep = bulk
        at = {"p": (1, 0), "q": (0, 1)}.get(key, (0, 0))
        monkeypatch.setattr(perturb, "bit_planes", lambda c, v, p, q, d: planes(c, v, p + at[0], q + at[1], d))
        monkeypatch.setattr(perturb, "keep_or_uniform", lambda c, k, n, d: keep(c, k + (key == "keep"), n, d))

    return plant


def plant_inclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    """`draw <= threshold` for `draw < threshold`."""
    draws = client._draws
    monkeypatch.setattr(client, "_draws", lambda source, count: tuple(max(d, 1) - 1 for d in draws(source, count)))
    planes, keep = perturb.bit_planes, perturb.keep_or_uniform
    less = lambda d: lambda n: np.maximum(d(n), 1) - 1  # noqa: E731
    monkeypatch.setattr(perturb, "bit_planes", lambda c, v, p, q, d: planes(c, v, p, q, less(d)))
    monkeypatch.setattr(perturb, "keep_or_uniform", lambda c, k, n, d: keep(c, k, n, less(d)))


def plant_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The true value randomized as a false one, and a false one as true."""
    read = dict(client.PERTURB)

    def swapped(name: str) -> Any:
        def planted(code: int, feature: Any, source: Any) -> Any:
            p = feature["protocol"]
            return read[name](code, feature | {"protocol": p | {"p": p["q"], "q": p["p"]} if "p" in p else p}, source)

        return planted

    monkeypatch.setattr(client, "PERTURB", {name: swapped(name) for name in read})
    planes = perturb.bit_planes
    monkeypatch.setattr(perturb, "bit_planes", lambda c, v, p, q, d: planes(1 - c, v, p, q, d))


def plant_unrandomized(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last bit, or the coin, left out: the truth is shown."""
    read = dict(client.PERTURB)

    def bare(name: str) -> Any:
        def planted(code: int, feature: Any, source: Any) -> Any:
            field, width = read[name](code, feature, source)
            if "keep" in feature["protocol"]:
                return (0 if width > 128 else code), width
            truth = code == (width - 1 if "values" in feature else 1)
            return field & ~(1 << width - 1) | truth << width - 1, width

        return planted

    monkeypatch.setattr(client, "PERTURB", {name: bare(name) for name in read})
    planes, keep = perturb.bit_planes, perturb.keep_or_uniform

    def bare_planes(codes: Any, columns: range, p: int, q: int, draws: Any) -> Any:
        out = planes(codes, columns, p, q, draws)
        out[-1] = np.packbits(codes == columns[-1], bitorder="little")
        return out

    monkeypatch.setattr(perturb, "bit_planes", bare_planes)
    monkeypatch.setattr(perturb, "keep_or_uniform", lambda c, k, n, d: (keep(c, k, n, d), c)[1])


def plant_unrejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A uniform value by remainder, nothing drawn again: the first values get more than their share."""
    monkeypatch.setattr(client, "_uniform", lambda m, source: client._draws(source, 1)[0] % m)
    monkeypatch.setattr(perturb, "_uniform", lambda count, m, draws: (draws(count) % m).astype(np.int16))


RR, UE, GRR_7, HASHED = (
    single(MIXED_7, name)
    for MIXED_7 in [
        dn.Plan(
            dn.Schema([dn.Flag("rr"), *(dn.Choice(name, values(7)) for name in ("ue", "grr", "lh"))]),
            {
                "rr": dn.RandomizedResponse(p=0.1, q=0.8),
                "ue": dn.UnaryEncoding(p=0.2, q=0.7),
                "grr": dn.GRR(epsilon=1.0),
                "lh": dn.LocalHashing(epsilon=1.0, buckets=7),
            },
        )
    ]
    for name in ("rr", "ue", "grr", "lh")
)
BITS, COINS = (("rr", RR), ("ue", UE)), (("grr", GRR_7), ("lh", HASHED))
PLANTED = {
    "p off by one": (off_by_one("p"), BITS),
    "q off by one": (off_by_one("q"), BITS),
    "keep off by one": (off_by_one("keep"), COINS),
    "threshold inclusive": (plant_inclusive, (*BITS, *COINS)),
    "p and q swapped": (plant_swapped, BITS),
    "left unrandomized": (plant_unrandomized, (*BITS, *COINS)),
    "nothing drawn again": (plant_unrejected, COINS),
}


@pytest.mark.parametrize("perturbed", [by_client, by_bulk])
@pytest.mark.parametrize(
    ("plant", "plan"),
    [
        pytest.param(plant, plan, id=f"{title}, {kind}")
        for title, (plant, plans) in PLANTED.items()
        for kind, plan in plans
    ],
)
def test_planted_bugs_are_caught(
    plant: Any, plan: dn.Plan, perturbed: Perturbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check_all_draws(plan, perturbed)


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
    kept = json.loads(PATH.read_text(encoding="utf-8"))
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
    kept = json.loads(PATH.read_text(encoding="utf-8"))[-1]["records"]
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


def test_secure_draws_are_aes_256_in_counter_mode_under_the_systems_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keystream of a known key is what the block cipher gives for counters, computed block by block."""
    asked: list[bytes] = []

    def counted(count: int) -> bytes:
        asked.append(bytes(range(len(asked), len(asked) + count)))
        return asked[-1]

    monkeypatch.setattr(os, "urandom", counted)
    drawn = secure()(1000).tobytes()
    assert [len(given) for given in asked] == [32, 16]
    key, start = asked[0], int.from_bytes(asked[1], "big")
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    blocks = [block.update((start + k).to_bytes(16, "big")) for k in range(125)]
    assert drawn == b"".join(blocks)


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
    assert not {"random", "secrets", "numpy", "time"} & set(loaded)  # there is no other generator to fall back on
    source = Path(client.__file__).read_text(encoding="utf-8")
    imported = {
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert "random" not in imported
    assert source.count("urandom") == 1


def test_vectors_catch_wrong_clients() -> None:
    """Each of these clients, wrong in one place, gives another report for some vector."""
    wrong: dict[str, Any] = {
        "thresholds inclusive": plant_inclusive,
        "p off by one": off_by_one("p"),
        "q off by one": off_by_one("q"),
        "keep off by one": off_by_one("keep"),
        "widths of m": lambda patch: patch.setattr(
            client,
            "_keep_or_uniform",
            lambda c, k, m, s, right=client._keep_or_uniform: (right(c, k, m, s)[0], m.bit_length()),
        ),
        "prime off by one": lambda patch: patch.setattr(client, "PRIME", client.PRIME + 1),
        "edges closed on the right": lambda patch: patch.setattr(
            client.bisect, "bisect_right", client.bisect.bisect_left
        ),
        "remainder": lambda patch: patch.setattr(
            client, "_uniform", lambda m, s, right=client._uniform: right(m, s) ^ 1
        ),
    }
    kept = json.loads(PATH.read_text(encoding="utf-8"))
    assert reports_of(kept) == [record["report"] for case in kept for record in case["records"]]
    for title, plant in wrong.items():
        with pytest.MonkeyPatch.context() as patch:
            plant(patch)
            assert reports_of(kept) != [record["report"] for case in kept for record in case["records"]], title


def reports_of(cases: Any) -> list[str]:
    found = []
    for case in cases:
        for record in case["records"]:
            source = client_source(case["plan"], record["draws"])
            try:
                found.append(client.report_from(source, record["answers"], case["plan"]).hex())
            except (AssertionError, ValueError, OverflowError):
                found.append("failed")
    return found


def test_reports_worked_out_by_hand() -> None:
    """One report of each protocol, from the words of docs/report-format.md and a pencil."""

    def sent(feature: dn.Flag | dn.Choice, protocol: Any, answer: Any, stream: str) -> str:
        document = json.loads(dn.Plan(dn.Schema([feature]), {"x": protocol}).to_json())
        return client.report_from(io.BytesIO(bytes.fromhex(stream)).read, {"x": answer}, document).hex()

    flag, choice = dn.Flag("x"), dn.Choice("x", values(5))
    rr = dn.RandomizedResponse(p=0.25, q=0.5)  # 16384 = 0x4000 and 32768 = 0x8000
    assert [sent(flag, rr, True, draw) for draw in ("ff7f", "0080")] == ["01", "00"]
    assert [sent(flag, rr, False, draw) for draw in ("ff3f", "0040")] == ["01", "00"]
    ue = dn.UnaryEncoding(p=0.25, q=0.5)
    assert sent(choice, ue, "v1", "ff3f ff7f 0040 0000 ffff") == "0b"  # bits 0, 1 and 3
    # share = 13107 = 0x3333; 65535 is drawn again, 2 * 13107 = 26214 = 0x6666 is the first draw of index 2
    grr = dn.GRR(epsilon=1.0).bind(choice)
    keep = struct.pack("<H", grr.keep).hex()
    assert sent(choice, grr, "v4", f"{keep} ffff 6666") == "02"
    assert sent(choice, grr, "v4", f"{struct.pack('<H', grr.keep - 1).hex()} ffff 6666") == "04"
    # h = 1 + 2 * 3 + 0 * 9 + 1 * 27 = 34 at x = 3, bucket floor(34 * 4 / P) = 0; then bucket 3 from a draw of 0xc000
    lh = dn.LocalHashing(epsilon=1.0, buckets=4)
    seed = "01000000 02000000 00000000 01000000"
    assert sent(choice, lh, "v3", f"{seed} 0000 00c0") == seed.replace(" ", "") + "00"
    assert sent(choice, lh, "v3", f"{seed} ffff 00c0") == seed.replace(" ", "") + "03"
    assert sent(choice, dn.Public(), "v3", "") == "03"
