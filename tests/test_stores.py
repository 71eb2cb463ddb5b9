"""Files in object stores: fsspec's own in memory, an S3 server on loopback, and a web server."""

import errno
import socket
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import deniable as dn
from deniable.cli import main
from deniable.cli.options import check_new
from deniable.files import file_state
from deniable.files.stores import StoredFile, is_address
from tests.support.designs import DESIGNS
from tests.support.situations import MIXED
from tests.support.surveys import parts_of, some_reports


@pytest.fixture
def memory() -> Iterator[str]:
    yield "memory://survey"
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    moto.start()
    yield f"http://127.0.0.1:{port}"
    moto.stop()


@pytest.fixture
def s3(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an empty bucket."""
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "any"), ("AWS_SECRET_ACCESS_KEY", "any"), ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", server), ("FSSPEC_S3_ENDPOINT_URL", server),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(fsspec.config.conf, "s3", {"endpoint_url": server})
    files = fsspec.filesystem("s3", skip_instance_cache=True)
    files.mkdir("survey")
    yield "s3://survey"
    files.rm("survey", recursive=True)


@pytest.fixture(params=["memory", pytest.param("s3", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


def test_reports_and_counts_go_there_and_back(store: str) -> None:
    reports = some_reports(MIXED, 1000)
    expected = dn.count(reports, order=2)
    parts = parts_of(reports, [0, 137, 512])
    for place, part in enumerate(parts):
        part.save(f"{store}/wave/part{place}.parquet")
    parts[1].save(f"{store}/wave/.hidden.parquet")
    assert dn.Reports.load(f"{store}/wave/part1.parquet") == parts[1]
    for where in (
        f"{store}/wave/part*.parquet",
        f"{store}/wave",
        f"{store}/**/part*.parquet",
        [f"{store}/wave/part{place}.parquet" for place in range(len(parts))],
    ):
        assert dn.count(where, order=2) == expected
    expected.save(f"{store}/counts.npz")
    assert dn.Counts.load(f"{store}/counts.npz") == expected
    MIXED.save(f"{store}/plan.json")
    assert dn.Plan.load(f"{store}/plan.json") == MIXED


def test_arms_too(store: str) -> None:
    plan = DESIGNS["arms of unequal length"]
    reports = some_reports(plan, 200)
    reports.save(f"{store}/arms.parquet")
    assert dn.count(f"{store}/arms.parquet") == dn.count(reports)


def test_answers_are_randomized_from_there_to_there(store: str) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("smoker"), dn.Choice("age", ["young", "old"])]), epsilon=3.0)
    text = "smoker,age\n" + "yes,old\nno,young\n" * 50
    with fsspec.open(f"{store}/answers/a.csv", "w") as file:
        file.write(text)
    assert dn.randomize(f"{store}/answers/*.csv", plan, output=f"{store}/r.parquet", rng=5) == 100
    here = dn.randomize({"smoker": ["yes", "no"] * 50, "age": ["old", "young"] * 50}, plan, rng=5)
    assert dn.Reports.load(f"{store}/r.parquet") == here


def test_the_command_line_takes_addresses(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    some_reports(MIXED, 100).save(f"{store}/r.parquet")
    assert main(["count", f"{store}/*.parquet", "--order", "2", "-o", f"{store}/c.npz"]) == 0
    assert f"{store}/c.npz" in capsys.readouterr().err
    assert dn.Counts.load(f"{store}/c.npz").n == 100
    assert main(["show", f"{store}/c.npz"]) == 0
    assert main(["table", f"{store}/c.npz", "flag"]) == 0
    capsys.readouterr()
    assert main(["count", f"{store}/none*.parquet", "--order", "2", "-o", f"{store}/c.npz"]) == 1
    assert "no file matches" in capsys.readouterr().err


def test_the_command_line_writes_over_what_is_there_only_if_forced(store: str) -> None:
    check_new(f"{store}/plan.json", force=False)
    MIXED.save(f"{store}/plan.json")
    check_new(f"{store}/plan.json", force=True)
    with pytest.raises(dn.DeniableError, match="plan.json: exists already"):
        check_new(f"{store}/plan.json", force=False)


class HalfError(Exception):
    pass


def test_a_file_is_there_whole_or_not_at_all(store: str) -> None:
    old = some_reports(MIXED, 10)
    old.save(f"{store}/r.parquet")

    def parts() -> Iterator[dn.Reports]:
        yield some_reports(MIXED, 20)
        raise HalfError

    from deniable.reports.parquet import write

    for name in ("r", "new"):
        with pytest.raises(HalfError):
            write(f"{store}/{name}.parquet", MIXED, parts())
    assert dn.Reports.load(f"{store}/r.parquet") == old
    assert not StoredFile(f"{store}/new.parquet").is_file()


def test_nothing_is_left_of_a_sending_that_broke(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    some_reports(MIXED, 10).save(f"{memory}/r.parquet")
    before = StoredFile(f"{memory}/r.parquet").read_bytes()

    def broken(self: MemoryFileSystem, local: str, place: str, **_: object) -> None:
        with self.open(place, "wb") as file:
            file.write(Path(local).read_bytes()[:100])
            raise OSError("the network is gone")

    monkeypatch.setattr(MemoryFileSystem, "put_file", broken)
    with pytest.raises(dn.DeniableError, match=r"memory://survey/r.parquet: the store says: the network is gone"):
        some_reports(MIXED, 20).save(f"{memory}/r.parquet")
    assert StoredFile(f"{memory}/r.parquet").read_bytes() == before


@pytest.mark.slow
def test_only_the_columns_that_are_needed_are_read(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = dn.Plan(dn.Schema([dn.Flag("a"), dn.Choice("town", [f"t{k}" for k in range(300)])]), epsilon=4.0)
    assert plan["town"].name == "local hashing"
    rng = np.random.default_rng(1)
    answers = {"a": rng.random(50_000) < 0.5, "town": np.char.add("t", rng.integers(0, 300, 50_000).astype(str))}
    dn.randomize(answers, plan, rng=rng).save(f"{memory}/r.parquet")
    size = StoredFile(f"{memory}/r.parquet").size
    read: list[int] = []
    plain = MemoryFileSystem.open

    class Watched:
        def __init__(self, file: object) -> None:
            self.file = file

        def read(self, count: int = -1) -> bytes:
            found = self.file.read(count)
            read.append(len(found))
            return found

        def __getattr__(self, name: str) -> object:
            return getattr(self.file, name)

        def __enter__(self) -> "Watched":
            return self

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(MemoryFileSystem, "open", lambda *a, **o: Watched(plain(*a, **o)))
    assert dn.count(f"{memory}/r.parquet", ["a"]).n == 50_000
    some = sum(read)
    read.clear()
    assert dn.count(f"{memory}/r.parquet", order=2).n == 50_000
    assert some < size / 4 < size / 2 < sum(read)


def test_a_small_file_is_asked_for_few_times(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its seal is looked at once when it is described, and once when it is counted."""
    some_reports(MIXED, 50).save(f"{memory}/r.parquet")
    opened: list[object] = []
    plain = MemoryFileSystem.open
    monkeypatch.setattr(MemoryFileSystem, "open", lambda *a, **o: opened.append(a) or plain(*a, **o))
    assert dn.count(f"{memory}/r.parquet", order=2).n == 50
    assert len(opened) == 4


def test_what_is_wrong_is_told_with_the_address(memory: str) -> None:
    some_reports(MIXED, 10).save(f"{memory}/there/r.parquet")
    with fsspec.open(f"{memory}/there/bad.parquet", "wb") as file:
        file.write(b"PAR1 and nothing more")
    for call, match in (
        (lambda: dn.count(f"{memory}/no.parquet"), "no.parquet: no such file"),
        (lambda: dn.count(f"{memory}/no*.parquet"), "no file matches"),
        (lambda: dn.Reports.load(f"{memory}/there/bad.parquet"), "memory://survey/there/bad.parquet: cannot be read"),
        (lambda: dn.Counts.load(f"{memory}/c.npz"), "c.npz: cannot be read: no such file"),
        (lambda: dn.count([f"{memory}/there/r.parquet"] * 2), "more than once"),
        (lambda: dn.count("none://x/y.parquet"), "none://x/y.parquet: "),
        (lambda: dn.count(f"zip://r.parquet::{memory}/a.zip"), "a.zip: files are not read from within others"),
        (lambda: dn.count(f"zip://*.parquet::{memory}/a.zip"), "a.zip: files are not read from within others"),
        (lambda: some_reports(MIXED, 5).save(f"{memory}/there"), "it is a folder"),
        (lambda: some_reports(MIXED, 5).save("https://127.0.0.1/r.parquet"), "an address to read from"),
    ):
        with pytest.raises(dn.DeniableError, match=match):
            call()


def test_two_spellings_of_a_file_are_the_same(memory: str) -> None:
    """Also of one without a source of its own, which is known by its address."""
    table = some_reports(MIXED, 5).table.replace_schema_metadata({"deniable.plan": MIXED.to_json()})
    with fsspec.open(f"{memory}/r.parquet", "wb") as file:
        pq.write_table(table, file)
    other = memory.replace("://", ":///")
    for both in ([f"{memory}/r.parquet", f"{other}/r.parquet"], [f"{other}/r.parquet", f"{memory}/r*.parquet"]):
        with pytest.raises(dn.ReportError, match="r.parquet is given more than once"):
            dn.count(both, order=1)
    with pytest.raises(dn.CountError, match="would be counted twice"):
        _ = dn.count(f"{memory}/r.parquet", order=1) + dn.count(f"{other}/r.parquet", order=1)
    assert StoredFile("s3a://b/r.parquet").spelled == StoredFile("s3://b/r.parquet")


def test_a_folder_may_have_the_name_of_a_pattern(memory: str) -> None:
    some_reports(MIXED, 5).save(f"{memory}/data[1]/r.parquet")
    assert dn.count(f"{memory}/data[1]", order=1).n == 5


def test_a_store_whose_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(dn.DeniableError, match=r"gs://b/r.parquet: this address needs a package"):
        dn.count("gs://b/r.parquet")


def test_a_web_server(tmp_path: Path) -> None:
    reports = some_reports(MIXED, 300)
    reports.save(tmp_path / "r.parquet")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            whole = (tmp_path / "r.parquet").read_bytes()
            asked = self.headers.get("Range", f"bytes=0-{len(whole)}")
            start, stop = map(int, asked.removeprefix("bytes=").split("-"))
            self.send_response(206 if "Range" in self.headers else 200)
            part = whole[start : stop + 1]
            self.send_header("Content-Range", f"bytes {start}-{start + len(part) - 1}/{len(whole)}")
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part)

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path)) as web:
        Thread(target=web.serve_forever, daemon=True).start()
        assert dn.Reports.load(f"http://127.0.0.1:{web.server_port}/r.parquet") == reports
        web.shutdown()


def test_the_state_changes_with_the_file(store: str, tmp_path: Path) -> None:
    for where in (store, str(tmp_path)):
        some_reports(MIXED, 10).save(f"{where}/r.parquet")
        state = file_state(f"{where}/r.parquet")
        assert file_state(f"{where}/r.parquet") == state
        some_reports(MIXED, 11).save(f"{where}/r.parquet")
        assert file_state(f"{where}/r.parquet") != state


def test_addresses_are_told_from_paths() -> None:
    assert all(map(is_address, ("s3://b/k", "gs://b", "memory://x", "https://h/x", "simplecache::s3://b/k")))
    assert not any(
        map(
            is_address,
            ("reports/x.parquet", "C:\\x", "/a://b", "a b://c", "", Path("s3:/b"), b"s3://b", "ab::cd.parquet"),
        )
    )


def test_an_address_of_this_machine_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fsspec would copy onto it, so that half a file were there if that broke."""
    for scheme in ("file", "local"):
        some_reports(MIXED, 10).save(f"{scheme}://{tmp_path}/{scheme}.parquet")
    assert dn.count(f"file://{tmp_path}/*.parquet", order=1).n == 20
    before = (tmp_path / "file.parquet").read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr("os.replace", full)
    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(dn.DeniableError, match="cannot be written"):
        some_reports(MIXED, 20).save(f"file://{tmp_path}/file.parquet")
    assert (tmp_path / "file.parquet").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2


def test_reading_an_arrow_table_needs_no_fsspec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    some_reports(MIXED, 10).save(tmp_path / "r.parquet")
    assert dn.count(tmp_path / "r.parquet", order=1).n == 10
    with pytest.raises(dn.DeniableError, match="needs a package"):
        dn.count("s3://b/r.parquet")
    assert isinstance(dn.Reports.load(tmp_path / "r.parquet").table, pa.Table)
