"""The client on a respondent's device: all its draws, its vectors, its randomness, and that it stands alone."""

import ast
import io
import json
import math
import os
import struct
import subprocess
import sys
from collections import Counter
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable import client
from spec.make_vectors import PATH
from tests.support.all_draws import SINGLES, by_client, check_all_draws
from tests.support.scripted import client_source
from tests.support.situations import PLANS, every_plan, values
from tests.support.wrong_clients import WRONG_SETS, off_by_one, plant_inclusive


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan", [pytest.param(plan, id=title) for title, plan in SINGLES.items() if plan.protocols[0].columns <= 40]
)
def test_all_draws_through_the_client(plan: dn.Plan) -> None:
    check_all_draws(plan, by_client)


def test_any_four_values_hash_independently(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the whole family of a small prime, the hashes of four values take every combination equally often."""
    monkeypatch.setattr(client, "PRIME", 7)
    protocol = {"keep": 65535, "buckets": 7}
    hashes = []
    for seed in product(range(7), repeat=4):
        row = []
        for code in range(6):
            stream = iter([*(struct.pack("<I", c) for c in seed), b"\0\0", b"\0\0"])
            field, _ = client.PERTURB["local hashing"](code, 6, protocol, lambda _, stream=stream: next(stream))
            row.append(field >> 128)
        hashes.append(row)
    for four in combinations(range(6), 4):
        assert set(Counter(tuple(row[v] for v in four) for row in hashes).values()) == {1}
    assert set(Counter(tuple(row[v] for v in range(5)) for row in hashes).values()) == {1}
    assert len({tuple(row[:5]) for row in hashes}) < 7**5  # five are not independent: a cubic has four coefficients


def test_vectors_hold_rejections_of_every_kind() -> None:
    cases = json.loads(PATH.read_text(encoding="utf-8"))
    kept = next(case["records"] for case in cases if "grr" in case["records"][0]["draws"])
    assert any(len(attempts) > 1 for record in kept for attempts in record["draws"]["grr"][1:])
    assert any(len(attempts) > 1 for record in kept for attempts in record["draws"]["hash"][:4])
    assert any(len(attempts) > 1 for record in kept for attempts in record["draws"]["hash"][5:])
    sets = next(case["records"] for case in cases if "three" in case["records"][0]["draws"])
    assert any(len(attempts) > 1 for record in sets for attempts in record["draws"]["three"][1:])


@every_plan
def test_a_report_has_the_same_length_and_takes_the_same_draws_for_every_answer(plan: dn.Plan) -> None:
    document, checked = json.loads(plan.to_json()), client.read(plan.to_json())
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

            seen.add((len(client.report_from(source, record, checked)), tuple(asked)))
    assert len(seen) == 1


def test_the_client_uses_the_systems_randomness_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    monkeypatch.setattr(os, "urandom", counted)
    client.report({"a": True}, PLANS["one flag"].to_json())
    assert asked == [2]


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
    assert source.count("urandom") == source.count("os.urandom") == 2  # for a report, and for an arm


def test_vectors_catch_wrong_clients() -> None:
    """Each of these clients, wrong in one place, gives another report for some vector."""
    wrong: dict[str, Any] = {
        "thresholds inclusive": plant_inclusive,
        "p off by one": off_by_one("p"),
        "q off by one": off_by_one("q"),
        "keep off by one": off_by_one("keep"),
        "widths of m": lambda patch: patch.setattr(
            client,
            "PERTURB",
            client.PERTURB | {"GRR": lambda c, m, p, s, right=client._grr: (right(c, m, p, s)[0], m.bit_length())},
        ),
        "prime off by one": lambda patch: patch.setattr(client, "PRIME", client.PRIME + 1),
        "edges closed on the right": lambda patch: patch.setattr(
            client,
            "_encode_number",
            lambda f, a, n, right=client._encode_number: right(f, a, n and math.nextafter(n, -math.inf)),
        ),
        "remainder": lambda patch: patch.setattr(
            client, "_uniform", lambda m, s, right=client._uniform: (right(m, s) ^ 1) % m
        ),
    }
    wrong |= {f"sets, {title}": plant for title, plant in WRONG_SETS.items()}
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
    """One report of each protocol, from the words of spec/report-format.md and a pencil."""

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
    # Others than v1 are 0, 2, 3, 4, at places 0 to 3. One of four, 0x8000 = 2 * 16384: place 2 comes first, which is 3.
    # Then one of the three left at places 1 to 3, share 21845 = 0x5555, 65535 drawn again: place 2, where 0 is now.
    sets = dn.SubsetSelection(epsilon=1.0, size=2)
    assert sent(choice, sets, "v1", "ffff 0080 ffff 5555") == "09"  # 3 and 0
    assert sent(choice, sets, "v1", "0000 0080 ffff 5555") == "0a"  # 3 and, in place of the last, the true one


def test_ticks_in_a_list_are_answered_with_what_to_write_instead() -> None:
    plan = dn.Plan(dn.Schema([dn.Flags("News", ["TV", "radio"])]), epsilon=1.0).to_json()
    with pytest.raises(
        client.AnswerError, match="'News: TV' is missing; of a multi-select question each answer is a flag"
    ):
        client.report({"News": ["TV"]}, plan)
    assert len(client.report({"News: TV": True, "News: radio": False}, plan)) == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [(("true", "True", "TRUE", "1", True, 1, 1.0), 1), (("false", "False", "FALSE", "0", False, 0, 0.0), 0)],
)
def test_yes_and_no_in_every_spelling(words: tuple[Any, ...], code: int) -> None:
    for word in words:
        assert client.encode({"name": "a"}, word) == code, word
        assert client.encode({"name": "a", "missing": "no answer"}, word) == code, word
    assert set(client.FLAG_WORDS) == {"true", "True", "TRUE", "1", "false", "False", "FALSE", "0"}
    for other in ("yes", "tRUE", "01", "1.0", " 1", "2", 2, -1, 0.5):
        with pytest.raises(client.AnswerError, match="takes true, false, 1 or 0"):
            client.encode({"name": "a"}, other)


def test_a_number_on_an_edge_is_in_the_range_above_and_on_the_last_one_in_the_last() -> None:
    age = {"name": "age", "values": ["0-10", "10-20", "20-30"], "edges": ["0", "10", "20", "30"]}
    found = {number: client.encode(age, number) for number in (0, 9.5, 10, 19, 20, 29.5, 30, "30", "10")}
    assert found == {0: 0, 9.5: 0, 10: 1, 19: 1, 20: 2, 29.5: 2, 30: 2, "30": 2, "10": 1}
    for outside in (-0.5, 30.5, "inf"):
        with pytest.raises(client.AnswerError, match="outside its ranges, 0 to 30"):
            client.encode(age, outside)


def test_a_long_text_of_digits_is_read_at_once() -> None:
    """In time that grows with its length: with the square of it, these would take minutes."""
    assert client.number("1" * 200_000 + "x") is None
    assert client.number("1" * 200_000 + "." + "1" * 200_000 + "e") is None
    assert [client.number(text) for text in ("1", "1.", "1.5", ".5", "+1.5e1", ".", "1.e1", "")] == [
        1.0, 1.0, 1.5, 0.5, 15.0, None, 10.0, None,
    ]  # fmt: skip


def test_ranges_are_named_after_their_edges() -> None:
    words = ["under 18", "18 to under 30", "30 to under 65", "65 and over"]
    assert client.range_values(["-inf", "18", "30", "65", "inf"]) == words
    assert client.range_values(["0", "18", "30"]) == ["0 to under 18", "18 to 30"]
