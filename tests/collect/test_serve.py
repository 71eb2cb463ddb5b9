"""`deniable serve` as users run it: what it prints, how it stops, and that what it acknowledged survives."""

import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from deniable.cli import main
from deniable.collect import serve as serving
from deniable.collect.collector import Collector
from deniable.collect.serve import listen, opener, server_for
from deniable.collect.stores.sqlite_log import SqliteLog
from deniable.errors import CollectError
from tests.support.collect.processes import COMMAND, Forks, Process, Senders
from tests.support.collect.served import OF_PLAN, PLAN, a_report, an_id


def stored(path: Path) -> dict[bytes, bytes]:
    """All that a store holds, by id; an id that is there twice is an error."""
    store, found = SqliteLog(path), {}
    for part in store.parts():
        for data in store.read(part.number, 1):
            for at in range(0, len(data), 17):
                assert data[at : at + 16] not in found
                found[data[at : at + 16]] = data[at + 16 : at + 17]
    store.close()
    return found


def test_a_host_that_there_is_not_is_told_of_as_a_host() -> None:
    for host in ("nosuch.invalid", "192.0.2.1"):
        with pytest.raises(
            CollectError, match=f"^{re.escape(host)}:0: cannot be listened at: .*; give another --host$"
        ):
            listen(host, 0)
    with listen("127.0.0.1", 0) as used, pytest.raises(CollectError, match="in use.*; give another --port$"):
        listen("127.0.0.1", used.getsockname()[1])


@pytest.mark.slow
def test_a_survey_from_start_to_stop(tmp_path: Path) -> None:
    rng = random.Random(1)
    with Process(tmp_path) as running:
        url = f"http://127.0.0.1:{running.port}"
        assert httpx.get(f"{url}/healthz", trust_env=False).text == "ok\n"
        id = an_id(rng)
        sent = httpx.put(f"{url}/reports/{id}", content=a_report(rng), headers=OF_PLAN, trust_env=False)
        assert sent.status_code == 201
        status, out, err = running.end()
        assert status == 0
        (token,) = re.findall(r"^The analyst's token, shown this once: (\S{43})$", out, re.M)
        assert err == "Stopped. All reports that were acknowledged are stored.\n"
    with Process(tmp_path, "--new-token", "ann") as running:
        url = f"http://127.0.0.1:{running.port}"
        names = httpx.get(f"{url}/tokens", headers={"authorization": f"Bearer {token}"}, trust_env=False)
        assert names.json() == ["analyst", "ann"]
        second = subprocess.run(
            [*COMMAND, "plan.json", "--store", "survey.db", "--port", "0"], cwd=tmp_path, capture_output=True, text=True
        )
        assert (second.returncode, second.stderr) == (
            1,
            "deniable: survey.db: another process has this store open; stop that one first\n",
        )
        taken = subprocess.run(
            [*COMMAND, "plan.json", "--store", "b.db", "--port", str(running.port)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert taken.returncode == 1
        assert "cannot be listened at" in taken.stderr
        status, out, _ = running.end(signal.SIGHUP)
        assert status == 0
        assert "token" in out
    assert list(stored(tmp_path / "survey.db")) == [bytes.fromhex(id)]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_acknowledged_under_load_is_what_is_stored(tmp_path: Path, number: int) -> None:
    senders = Senders(12, seed=2)
    with Process(tmp_path) as running:
        senders.start(running.port)
        time.sleep(1)
        start = time.monotonic()
        status, _, _ = running.end(number)
        took = time.monotonic() - start
        senders.join()
    assert (status, senders.wrong) == (0, [])
    assert took < 10
    assert len(senders.acknowledged) > 20
    assert stored(tmp_path / "survey.db") == senders.acknowledged


KILLS = int(os.environ.get("DENIABLE_KILLS", "30"))  # `make durability` asks for more


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_by_kills_and_nothing_is_stored_twice(tmp_path: Path) -> None:
    """SIGKILL in the middle of sending, again and again; what was in doubt is sent again."""
    senders, rng = Senders(6, seed=3), random.Random(4)
    with Forks(tmp_path) as forks:
        for _ in range(KILLS):
            before = len(senders.acknowledged)
            process, port = forks.start()
            senders.start(port)
            give_up = time.monotonic() + 20
            while len(senders.acknowledged) == before and time.monotonic() < give_up:
                time.sleep(0.002)
            time.sleep(rng.expovariate(1 / 0.02))
            os.kill(process, signal.SIGKILL)
            senders.join()
    assert senders.wrong == []
    found = stored(tmp_path / "survey.db")
    assert senders.acknowledged.items() <= found.items()
    in_doubt = dict(senders.in_doubt)
    assert found.items() <= (senders.acknowledged | in_doubt).items()  # and nothing that nobody sent
    assert len(senders.acknowledged) >= KILLS


@pytest.mark.slow
@pytest.mark.parametrize("origin", ["app.example", "https://app.example/", "https://App.example", "*", "null"])
def test_an_origin_that_no_browser_sends_is_refused(tmp_path: Path, origin: str) -> None:
    PLAN.save(tmp_path / "plan.json")
    command = [*COMMAND, "plan.json", "--store", "survey.db", "--port", "0", "--origin", origin]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "deniable: --origin takes an address like https://app.example" in done.stderr


def test_a_second_signal_breaks_nothing_off(tmp_path: Path) -> None:
    collector = Collector(opener(str(tmp_path / "survey.db")), [PLAN.to_json()])
    server = server_for(collector)
    for _ in range(2):
        server.handle_exit(signal.SIGINT, None)
    assert server.should_exit
    assert not server.force_exit
    collector.stop()


def test_who_collects_kept_answers_is_told_that_a_store_is_for_one_wave(tmp_path: Path) -> None:
    with Process(tmp_path, plan=PLAN.keep()) as running:
        assert running.process.stderr is not None
        assert "Give each wave of the same people a --store of its own" in running.process.stderr.readline()


@pytest.mark.parametrize("name", ["", " ", "a\tb", "\udcff", ".", "..", "a/../b", "a" * 101])
def test_a_token_that_could_not_be_revoked_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serving, "serve", lambda *_: None)  # or it would be served for ever
    PLAN.save(tmp_path / "plan.json")
    store = tmp_path / "survey.db"
    command = ["serve", str(tmp_path / "plan.json"), "--store", str(store), "--port", "0"]
    assert main([*command, "--new-token", name]) == 1
    assert "deniable: --new-token: a token" in capsys.readouterr().err
    assert not store.exists()


def test_a_damaged_signature_beside_the_plan_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serving, "serve", lambda *_: None)
    PLAN.save(tmp_path / "plan.json")
    (tmp_path / "plan.sig").write_text("[" * 200_000)
    assert main(["serve", str(tmp_path / "plan.json"), "--store", str(tmp_path / "survey.db"), "--port", "0"]) == 1
    assert "plan.sig: a signature is JSON with key" in capsys.readouterr().err


@pytest.mark.slow
def test_plans_and_stores_that_cannot_be_used_are_said_in_one_line(tmp_path: Path) -> None:
    PLAN.save(tmp_path / "plan.json")
    (tmp_path / "text.db").write_text("no database " * 100)
    for options, complaint in (
        (["none.json", "--store", "a.db"], "none.json"),
        (["plan.json", "--store", "text.db", "--port", "0"], "text.db: is there, but is no store of reports"),
        (["plan.json", "--store", "mysql://x", "--port", "0"], "--store takes a path or postgresql://"),
        (["plan.json", "--store", "a.db", "--most-requests", "0"], "--most-requests must be 1 to 1000000000; found 0"),
        (["plan.json", "--store", "a.db", "--port", "65536"], "--port must be 0 to 65535; found 65536"),
    ):
        done = subprocess.run([*COMMAND, *options], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 1
        assert complaint in done.stderr
        assert done.stderr.count("\n") == 1
