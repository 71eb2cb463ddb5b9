"""`deniable collect`: files of another pipe become reports, each id once, and bad rows are put aside with a reason."""

import base64
import json
import os
import random
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable import client
from deniable.cli import main
from deniable.collect import pipes
from deniable.collect.pipes import collect
from deniable.errors import CollectError
from tests.support.collect.served import CHECKED, PLAN, a_report

WIDE = dn.Plan(dn.Schema([dn.Choice("town", [f"town {k}" for k in range(50)])]), {"town": dn.LocalHashing(epsilon=1.0)})


def reports(count: int, seed: int = 1) -> dict[str, bytes]:
    rng = random.Random(seed)
    return {rng.randbytes(16).hex(): a_report(rng) for _ in range(count)}


def wide_reports(count: int, seed: int = 1) -> dict[str, bytes]:
    rng, checked = random.Random(seed), client.read(WIDE.to_json())
    return {
        rng.randbytes(16).hex(): client.report_from(rng.randbytes, {"town": "town 3"}, checked) for _ in range(count)
    }


def written(path: Path) -> list[bytes]:
    """The reports of a file, in an order that is the same for the same reports."""
    return sorted(dn.Reports.load(path).to_bytes())


def ndjson(path: Path, rows: list[tuple[str, str]]) -> None:
    path.write_text("".join(json.dumps({"id": id, "report": report, "other": 1}) + "\n" for id, report in rows))


def csv(path: Path, rows: list[tuple[str, str]]) -> None:
    path.write_text("other,report,id\n" + "".join(f"1,{report},{id}\n" for id, report in rows))


def parquet(path: Path, rows: list[tuple[str, str]]) -> None:
    pq.write_table(pa.table({"id": [id for id, _ in rows], "report": [report for _, report in rows]}), path)


def unpadded(report: bytes) -> str:
    return base64.urlsafe_b64encode(report).decode().rstrip("=")


KINDS = {".ndjson": ndjson, ".jsonl": ndjson, ".csv": csv, ".parquet": parquet}
TEXTS: dict[str, Callable[[bytes], str]] = {
    "hex": bytes.hex,
    "upper hex": lambda report: report.hex().upper(),
    "base64": lambda report: base64.b64encode(report).decode(),
    "base64url": lambda report: base64.urlsafe_b64encode(report).decode(),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_and_text_is_read(tmp_path: Path, kind: str, text: str) -> None:
    sent = reports(60)
    KINDS[kind](tmp_path / f"in{kind}", [(id, TEXTS[text](report)) for id, report in sent.items()])
    (found,) = collect([str(tmp_path / f"in{kind}")], PLAN, tmp_path / "out")
    assert (found.reports, found.same, found.refused) == (60, 0, 0)
    assert found.path == tmp_path / "out" / "in.parquet"
    assert written(found.path) == sorted(sent.values())
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("text", [*TEXTS.values(), unpadded], ids=[*TEXTS, "unpadded"])
def test_long_reports_are_read_in_every_text(tmp_path: Path, text: Callable[[bytes], str]) -> None:
    sent = wide_reports(30)
    ndjson(tmp_path / "in.ndjson", [(id, text(report)) for id, report in sent.items()])
    (found,) = collect([str(tmp_path / "in.ndjson")], WIDE, tmp_path)
    assert written(found.path) == sorted(sent.values())


def test_bytes_in_parquet_are_taken_as_they_are(tmp_path: Path) -> None:
    sent = reports(20)
    table = pa.table({"report": list(sent.values()), "id": [bytes.fromhex(id) for id in sent]})
    pq.write_table(table, tmp_path / "in.parquet")
    (found,) = collect([str(tmp_path / "in.parquet")], PLAN, tmp_path / "out")
    assert written(found.path) == sorted(sent.values())


def test_each_id_is_taken_once_over_all_inputs(tmp_path: Path) -> None:
    first, second = reports(30, 1), reports(30, 2)
    ndjson(tmp_path / "a.ndjson", [(id, r.hex()) for id, r in first.items()] * 2)
    again = dict(list(first.items())[:10])
    csv(tmp_path / "b.csv", [(id, r.hex()) for id, r in (second | again).items()])
    a, b = collect([str(tmp_path / "a.ndjson"), str(tmp_path / "b.csv")], PLAN, tmp_path / "out")
    assert (a.reports, a.same, b.reports, b.same) == (30, 30, 30, 10)
    assert written(b.path) == sorted(second.values())
    assert dn.count(str(tmp_path / "out" / "*.parquet")).n == 60


def test_the_order_of_reports_tells_nothing_even_to_who_knows_all_ids(tmp_path: Path) -> None:
    rng = random.Random(9)
    sent = [(str(number), bytes([rng.randrange(2)])) for number in range(200)]
    plan = dn.Plan(dn.Schema([dn.Flag("smoker")]), epsilon=1.0)
    ndjson(tmp_path / "in.ndjson", [(id, report.hex()) for id, report in sent])
    orders = []
    for _ in range(2):
        (found,) = collect([str(tmp_path / "in.ndjson")], plan, tmp_path)
        orders.append(list(dn.Reports.load(found.path).to_bytes()))
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(report for _, report in sent)
    assert orders[0] != orders[1]  # equal in less than 1 of 10^50 runs


def test_the_command_writes_over_no_earlier_reports_unless_told(tmp_path: Path) -> None:
    PLAN.save(tmp_path / "plan.json")

    def run(lines: str, *more: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "deniable", "collect", "plan.json", "-", "-o", "reports", *more]
        done = subprocess.run(command, cwd=tmp_path, input=lines, capture_output=True, text=True)
        return done.returncode, done.stderr

    assert run('{"report": "00"}\n' * 3) == (0, "Wrote reports/stdin.parquet (3 reports).\n")
    code, error = run('{"report": "00"}\n')
    assert (code, error.split("; ")[0]) == (1, "deniable: reports/stdin.parquet: exists already (of an earlier run)")
    assert len(dn.Reports.load(tmp_path / "reports" / "stdin.parquet")) == 3
    assert run('{"report": "00"}\n', "--force") == (0, "Wrote reports/stdin.parquet (1 report).\n")


def test_a_file_is_no_folder_for_reports(tmp_path: Path) -> None:
    ndjson(tmp_path / "in.ndjson", [])
    with pytest.raises(CollectError, match=r"in\.ndjson: cannot be a folder for reports"):
        list(collect([str(tmp_path / "in.ndjson")], PLAN, tmp_path / "in.ndjson"))


def test_ids_of_any_form_are_told_apart_and_rows_without_one_are_all_taken(tmp_path: Path) -> None:
    rows = [{"id": 5}, {"id": "5"}, {"id": "five"}, {"id": "fünf"}, {}, {}, {"id": None}, {"id": ""}, {"id": 5}]
    (tmp_path / "in.ndjson").write_text("".join(json.dumps(row | {"report": "00"}) + "\n" for row in rows))
    (found,) = collect([str(tmp_path / "in.ndjson")], PLAN, tmp_path)
    assert (found.reports, found.same) == (7, 2)


def test_bad_rows_are_put_aside_with_their_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "LONGEST_LINE", 200)
    good = json.dumps({"id": "a", "report": "00"})
    lines = [
        good, "{", "[1]", "", '{"id": "b"}', '{"report": 5}', '{"report": "zz"}', '{"report": "0000"}',
        '{"report": "ff"}', json.dumps({"id": "a", "report": "01"}), "x" * 1000, "[" * 150, '{"report": "AQ"}', good,
    ]  # fmt: skip
    (tmp_path / "in.ndjson").write_bytes("\n".join(lines).encode() + b"\n\xff\xfe{}\n")
    (found,) = collect([str(tmp_path / "in.ndjson")], PLAN, tmp_path)
    assert (found.reports, found.same, found.refused) == (1, 1, 12)
    aside = [json.loads(line) for line in found.refused_path.read_text().splitlines()]
    assert aside == [
        {"row": 2, "reason": "the line is no JSON object"},
        {"row": 3, "reason": "the line is no JSON object"},
        {"row": 5, "reason": "there is no report"},
        {"row": 6, "reason": "the report is no text"},
        {"row": 7, "reason": "the report is neither base64 nor hexadecimal digits"},
        {"row": 8, "reason": "it has 3 bytes, where this plan's reports have 1"},
        {"row": 9, "reason": "it has bits after its last field"},
        {"row": 10, "reason": "another report has this id"},
        {"row": 11, "reason": "the line is too long"},
        {"row": 12, "reason": "the line is no JSON object"},
        {"row": 13, "reason": "the report is neither base64 nor hexadecimal digits"},
        {"row": 15, "reason": "the line is no JSON object"},
    ]


def test_bad_rows_of_csv_and_parquet(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"\xef\xbb\xbfid,report\na,00\nb\nc,00,1\n\nd,\xff\ne,00\n")
    pq.write_table(pa.table({"report": ["00", None, "x", "01"]}), tmp_path / "more.parquet")
    a, b = collect([str(tmp_path / "in.csv"), str(tmp_path / "more.parquet")], PLAN, tmp_path / "out")
    assert (a.reports, a.refused, b.reports, b.refused) == (2, 3, 2, 2)
    rows = [[json.loads(line)["row"] for line in one.refused_path.read_text().splitlines()] for one in (a, b)]
    assert rows == [[3, 4, 6], [2, 3]]


def aside(path: Path) -> list[tuple[int, str]]:
    """The rows that were refused, with their reasons."""
    return [(one["row"], one["reason"]) for one in map(json.loads, path.read_text().splitlines())]


def test_a_quote_that_is_not_closed_hides_no_other_line(tmp_path: Path) -> None:
    lines = [f"{number},01" for number in range(1000)]
    lines[10] = '"10,01'
    lines[500] = '500",01'
    lines[700] = '"seven, ""hundred""",01'
    lines[800] = '"800"0,01'
    (tmp_path / "in.csv").write_text("\n".join(["id,report", *lines]))
    (found,) = collect([str(tmp_path / "in.csv")], PLAN, tmp_path / "out")
    assert (found.reports, found.same, found.refused) == (998, 0, 2)
    first, second = aside(found.refused_path)
    assert first == (12, "the line is no CSV: a quote in it is not closed")
    assert second[0] == 802
    assert second[1].startswith("the line is no CSV: ',' expected")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_csv_end_as_any_system_ends_them(tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "LONGEST_LINE", 50)
    lines = ["id,report", "a,01", "", "b," + "0" * 47 + "1", "c," + "0" * 200, 'd,"01"', ""]
    (tmp_path / "in.csv").write_bytes(end.join(lines).encode())
    (found,) = collect([str(tmp_path / "in.csv")], PLAN, tmp_path / "out")
    assert (found.reports, found.refused) == (2, 2)
    assert [reason for _, reason in aside(found.refused_path)] == ["the line is too long"] * 2
    assert aside(found.refused_path)[0][0] == 4


def test_ids_of_csv_in_another_encoding_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("id,report\nfünf,01\nfänf,01\nfünf,01\n".encode("latin-1"))
    (found,) = collect([str(tmp_path / "in.csv")], PLAN, tmp_path / "out")
    assert (found.reports, found.same) == (2, 1)


def broken_text(texts: list[bytes]) -> pa.Array:
    """Texts of Arrow that need not be UTF-8."""
    places = [0]
    for text in texts:
        places.append(places[-1] + len(text))
    places_of = pa.py_buffer(struct.pack(f"<{len(places)}i", *places))
    return pa.Array.from_buffers(pa.string(), len(texts), [None, places_of, pa.py_buffer(b"".join(texts))])


UNREAD: dict[str, tuple[str, Callable[[], pa.Array]]] = {
    "a report that is no UTF-8": ("report", lambda: broken_text([b"01", b"\xff\xfe", b"00"])),
    "an id that is no UTF-8": ("id", lambda: broken_text([b"a", b"\xff\xfe", b"b"])),
    "a time that is too late": ("id", lambda: pa.array([1, 2**55, 3], pa.timestamp("ms"))),
    "a duration that is too long": ("id", lambda: pa.array([1, 2**60, 3], pa.int64()).cast(pa.duration("s"))),
}


@pytest.mark.parametrize("what", UNREAD)
def test_a_cell_of_parquet_that_is_no_value_is_one_refused_row(tmp_path: Path, what: str) -> None:
    column, cells = UNREAD[what]
    good = {"report": pa.array(["01", "01", "00"]), "id": pa.array(["x", "y", "z"])}
    pq.write_table(pa.table(good | {column: cells()}), tmp_path / "in.parquet")
    (found,) = collect([str(tmp_path / "in.parquet")], PLAN, tmp_path / "out")
    assert (found.reports, found.refused) == (2, 1)
    assert aside(found.refused_path) == [(2, f"the {column} cannot be read")]


def test_an_id_in_an_unknown_time_zone_is_refused(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array([1], pa.timestamp("us", tz="Mars/Phobos")), "report": ["01"]})
    pq.write_table(table, tmp_path / "in.parquet")
    (found,) = collect([str(tmp_path / "in.parquet")], PLAN, tmp_path / "out")
    assert (found.reports, aside(found.refused_path)) == (0, [(1, "the id cannot be read")])


@pytest.mark.parametrize(
    ("name", "head", "part", "times"),
    [
        ("one line.csv", "report\n", "0" * 1_000_000, 50),
        ("many.ndjson", "", '{"report": "%s"}\n' % ("A" * 900_000), 50),
    ],
)
def test_long_lines_are_not_held(tmp_path: Path, name: str, head: str, part: str, times: int) -> None:
    with (tmp_path / name).open("w") as file:
        file.write(head)
        for _ in range(times):
            file.write(part)
    tracemalloc.start()
    try:
        (found,) = collect([str(tmp_path / name)], PLAN, tmp_path / "out")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert found.refused == (1 if head else times)


def test_no_input_is_written_over_or_removed(tmp_path: Path) -> None:
    row = '{"report": "01"}\n'
    (tmp_path / "a.ndjson").write_text(row)
    (tmp_path / "a.refused.ndjson").write_text(row)
    parquet(tmp_path / "x.parquet", [("a", "01")])
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "x.parquet").symlink_to(tmp_path / "x.parquet")
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    for inputs, folder, named in [
        (["a.ndjson", "a.refused.ndjson"], tmp_path, "a.refused.ndjson"),
        (["x.parquet"], tmp_path, "x.parquet"),
        (["a.ndjson", "x.parquet"], tmp_path / "link", "x.parquet"),
    ]:
        with pytest.raises(CollectError, match=f"{named}: is read from, and would be written over; give another"):
            list(collect([str(tmp_path / one) for one in inputs], PLAN, folder))
        assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_the_command_leaves_a_file_of_reasons_alone_unless_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    PLAN.save("plan.json")
    Path("a.ndjson").write_text('{"report": "01"}\n')
    Path("a.refused.ndjson").write_text("mine\n")
    command = ["collect", "plan.json", "a.ndjson", "-o", "."]
    assert main(command) == 1
    assert capsys.readouterr().err.startswith("deniable: a.refused.ndjson: exists already (of an earlier run); give")
    assert Path("a.refused.ndjson").read_text() == "mine\n"
    assert not Path("a.parquet").exists()
    assert main([*command, "--force"]) == 0
    assert not Path("a.refused.ndjson").exists()  # no row was refused
    parquet(Path("x.parquet"), [("a", "01")])
    held = Path("x.parquet").read_bytes()
    for force in ([], ["--force"]):
        assert main(["collect", "plan.json", "x.parquet", "-o", ".", *force]) == 1
        assert "x.parquet: is read from, and would be written over" in capsys.readouterr().err
    assert Path("x.parquet").read_bytes() == held


def test_a_pipe_is_told_to_be_standard_input(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ndjson")
    with pytest.raises(CollectError, match="pipe.ndjson: is a pipe, not a file; use - for NDJSON from standard input"):
        list(collect([str(tmp_path / "pipe.ndjson")], PLAN, tmp_path / "out"))


def test_a_second_run_replaces_what_the_first_wrote(tmp_path: Path) -> None:
    path = tmp_path / "in.ndjson"
    path.write_text('{"report": "00"}\n{"report": "zz"}\n')
    (first,) = collect([str(path)], PLAN, tmp_path / "out")
    assert first.refused_path.exists()
    path.write_text('{"report": "00"}\n{"report": "01"}\n')
    (second,) = collect([str(path)], PLAN, tmp_path / "out")
    assert (second.reports, second.refused_path.exists()) == (2, False)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("none.csv", None, "no such file"),
        ("in.xlsx", "", "reports are read from .ndjson"),
        ("in.csv", "", "needs one column 'report'; found none: the file is empty"),
        ("in.csv", "id,answer\n", "needs one column 'report'"),
        ("in.csv", "a" * 140_000 + ",report\n", "named in its first line; the line is no CSV: field larger than"),
        ("in.csv", '"id,report\na,01\n', "named in its first line; the line is no CSV: a quote in it is not closed"),
        ("in.csv", "id,report" * 200_000, "named in its first line; the line is too long"),
        ("in.parquet", "PAR", "cannot be read as Parquet"),
    ],
)
def test_inputs_that_cannot_be_read_are_refused(tmp_path: Path, name: str, content: str | None, complaint: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(dn.DeniableError, match=complaint):
        list(collect([str(tmp_path / name)], PLAN, tmp_path / "out"))
    assert not list(tmp_path.glob("out/*"))


def test_inputs_of_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("in.csv", "in.ndjson"):
        (tmp_path / name).write_text("")
    with pytest.raises(CollectError, match="two inputs would be written"):
        list(collect([str(tmp_path / "in.csv"), str(tmp_path / "in.ndjson")], PLAN, tmp_path))


def test_many_random_lines_make_no_other_errors(tmp_path: Path) -> None:
    rng = random.Random(5)
    pieces = [
        b'{"report":"',
        b'"}',
        b'"id":',
        b"00",
        b"\n",
        b"\n",
        b"{",
        b"}",
        b",",
        b"AA==",
        b"\xff",
        b"\\u",
        b"1e999",
        b"null",
    ]
    for kind in (".ndjson", ".csv"):
        head = b"id,report\n" if kind == ".csv" else b""
        (tmp_path / f"in{kind}").write_bytes(head + b"".join(rng.choice(pieces) for _ in range(20_000)))
        (found,) = collect([str(tmp_path / f"in{kind}")], PLAN, tmp_path / f"out{kind}")
        assert found.refused > 100


def test_the_command_reads_files_and_standard_input(tmp_path: Path) -> None:
    sent = reports(5)
    PLAN.save(tmp_path / "plan.json")
    ndjson(tmp_path / "in.ndjson", [(id, r.hex()) for id, r in sent.items()])
    lines = (tmp_path / "in.ndjson").read_text() + '{"report": "zz"}\n'
    done = subprocess.run(
        [sys.executable, "-m", "deniable", "collect", "plan.json", "in.ndjson", "-", "-o", "reports"],
        cwd=tmp_path,
        input=lines,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        "Wrote reports/in.parquet (5 reports).\n"
        "Wrote reports/stdin.parquet (0 reports, 5 sent again, 1 refused: see reports/stdin.refused.ndjson).\n"
    )
    assert written(tmp_path / "reports" / "in.parquet") == sorted(sent.values())
    assert CHECKED.length == 1


def test_the_command_fails_if_every_row_is_refused_and_keeps_their_reasons(tmp_path: Path) -> None:
    PLAN.save(tmp_path / "plan.json")
    command = [sys.executable, "-m", "deniable", "collect", "plan.json", "-", "-o", "reports"]
    lines = '{"report": "zz"}\n' * 2
    done = subprocess.run(command, cwd=tmp_path, input=lines, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    said = done.stderr.splitlines()
    assert said[0] == "Wrote reports/stdin.parquet (0 reports, 2 refused: see reports/stdin.refused.ndjson)."
    assert said[1].startswith("deniable: 2 rows refused, and no report taken; look at the reasons, and whether")
    assert len((tmp_path / "reports" / "stdin.refused.ndjson").read_text().splitlines()) == 2


def test_a_line_with_a_name_twice_is_refused(tmp_path: Path) -> None:
    first, second = reports(2).values()
    line = '{"report": "%s", "id": "a", "report": "%s"}\n'
    (tmp_path / "in.ndjson").write_text(
        line % (first.hex(), second.hex()) + '{"id": "b", "id": "b", "note": 1, "note": 2}\n'
    )
    (found,) = collect([str(tmp_path / "in.ndjson")], PLAN, tmp_path)
    assert (found.reports, found.refused) == (0, 2)
    assert found.refused_path is not None
    aside = [json.loads(line)["reason"] for line in Path(found.refused_path).read_text().splitlines()]
    assert aside == [f"the line has '{name}' more than once" for name in ("report", "id")]
