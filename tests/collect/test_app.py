"""The endpoints: what each answers to whom, batches, retries, and what happens when there is too much to do."""

import io
import itertools
import random
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable import client
from deniable.collect import sealing, writer
from deniable.collect.app import ROUTES
from deniable.collect.collector import AT_ONCE, Limits
from deniable.collect.description import openapi
from deniable.collect.stores.sqlite_log import SqliteLog
from deniable.collect.stores.store import Entry, Store
from deniable.collect.writer import Busy
from deniable.errors import CollectError
from tests.support.collect.served import NEXT, OF_PLAN, PLAN, Served, a_report, an_id


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "survey.db", [PLAN.to_json()]) as running:
        yield running


# -- single reports ----------------------------------------------------------------------------------------------------


def test_a_report_is_stored_once_and_has_a_receipt(served: Served) -> None:
    rng = random.Random(1)
    id, report = an_id(rng), a_report(rng)
    assert served.http.head(f"/reports/{id}").status_code == 404
    assert served.put(id, report).status_code == 201
    assert served.put(id, report).status_code == 200
    assert served.put(id, bytes([report[0] ^ 1])).status_code in (400, 409)
    assert served.put(id, bytes([(report[0] & ~1) | ~report[0] & 1])).status_code == 409  # the flag's bit
    assert served.http.head(f"/reports/{id}").status_code == 204


REFUSED = {
    "short id": ("PUT", "/reports/abc", {}, b"\0", 400),
    "id with spaces": ("PUT", "/reports/00%2000000000000000000000000000000", {}, b"\0", 400),
    "id not of digits": ("PUT", f"/reports/{'zz' * 16}", {}, b"\0", 400),
    "no plan": ("PUT", f"/reports/{'ab' * 16}", {"deniable-plan": ""}, b"\0", 422),
    "another plan": ("PUT", f"/reports/{'ab' * 16}", {"deniable-plan": "0" * 64}, b"\0", 422),
    "too long": ("PUT", f"/reports/{'ab' * 16}", {}, b"\0\0", 413),
    "too short": ("PUT", f"/reports/{'ab' * 16}", {}, b"", 413),
    "malformed": ("PUT", f"/reports/{'ab' * 16}", {}, b"\xff", 400),
    "another method": ("GET", f"/reports/{'ab' * 16}", {}, b"", 405),
    "nowhere": ("GET", "/nowhere", {}, b"", 404),
    "batch of no plan": ("POST", "/batches", {"deniable-plan": ""}, b"", 422),
    "batch cut off": ("POST", "/batches", {}, b"\0" * 16, 400),
    "batch too long": ("POST", "/batches", {}, b"\0" * (17 * 10_001), 413),
    "plan unknown": ("GET", "/plans/abc.json", {}, b"", 404),
}


@pytest.mark.parametrize(("method", "path", "headers", "body", "status"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(
    served: Served, method: str, path: str, headers: dict[str, str], body: bytes, status: int
) -> None:
    answer = served.http.request(method, path, content=body, headers=OF_PLAN | headers)
    assert answer.status_code == status
    assert answer.json()["error"]
    assert served.collector.writer.opened().total() == 0


def test_the_plan_has_its_fingerprint_as_etag(served: Served) -> None:
    answer = served.http.get("/plan.json")
    assert dn.Plan.from_json(answer.text) == PLAN
    assert answer.headers["etag"] == f'"{PLAN.fingerprint}"'
    assert served.http.get("/plan.json", headers={"if-none-match": answer.headers["etag"]}).status_code == 304
    assert served.http.get(f"/plans/{PLAN.fingerprint}.json").text == answer.text


# -- batches -----------------------------------------------------------------------------------------------------------


def test_a_batch_says_what_became_of_each_and_may_be_repeated(served: Served) -> None:
    rng = random.Random(2)
    rows = [(rng.randbytes(16), a_report(rng)) for _ in range(50)]
    served.put(rows[0][0].hex(), rows[0][1])
    other = rng.randbytes(16)
    served.put(other.hex(), b"\0")
    wrong = rng.randbytes(16)
    body = b"".join(id + report for id, report in [*rows, (other, b"\1"), (wrong, b"\xff"), rows[1]])
    first = served.http.post("/batches", content=body, headers=OF_PLAN).json()
    assert first == {"new": 49, "same": 2, "conflicts": [other.hex()], "malformed": [wrong.hex()]}
    again = served.http.post("/batches", content=body, headers=OF_PLAN).json()
    assert again == {"new": 0, "same": 51, "conflicts": [other.hex()], "malformed": [wrong.hex()]}
    nothing = served.http.post("/batches", content=b"", headers=OF_PLAN).json()
    assert nothing == {"new": 0, "same": 0, "conflicts": [], "malformed": []}
    assert served.collector.writer.opened().total() == 51


# -- who may do what ---------------------------------------------------------------------------------------------------

EVERYBODY = [
    ("HEAD", f"/reports/{'ab' * 16}", {}, 404),
    ("PUT", f"/reports/{'ab' * 16}", {"content": b"\0", "headers": OF_PLAN}, 201),
    ("POST", "/batches", {"headers": OF_PLAN}, 200),
    ("GET", "/plan.json", {}, 200),
    ("GET", f"/plans/{PLAN.fingerprint}.json", {}, 200),
    ("GET", "/plan.sig", {}, 404),
    ("GET", f"/plans/{PLAN.fingerprint}.sig", {}, 404),
    ("GET", "/healthz", {}, 200),
    ("GET", "/metrics", {}, 200),
    ("GET", "/openapi.json", {}, 200),
    ("GET", "/", {}, 200),
]
ANALYSTS = [
    ("GET", "/counts", {}, 200),
    ("GET", "/page", {}, (200, 409)),
    ("POST", "/seal", {}, 200),
    ("GET", "/export", {}, 200),
    ("GET", "/export/1-1.parquet", {}, 200),
    ("GET", "/tokens", {}, 200),
    ("POST", "/tokens", {"json": {"name": "bob"}}, 201),
    ("DELETE", "/tokens/nobody", {}, 404),
    ("GET", "/invitations", {}, 200),
    ("POST", "/invitations", {"json": {"count": 3}}, 201),
]


def in_description(path: str) -> str:
    """The path of a route without the kinds of its parts."""
    return path.replace(":int", "").replace(":path", "")


def test_every_route_is_in_the_matrix_and_in_the_description() -> None:
    asked = {(method, path) for method, path, _, _ in EVERYBODY + ANALYSTS}
    described = openapi()["paths"]
    for route in ROUTES:
        path = in_description(route.path)
        for method in route.methods or ():
            found = any(m == method and route.path_regex.match(p) for m, p in asked)
            assert found or (method == "HEAD" and "GET" in route.methods) or path == "/page", (method, route.path)
            if method != "HEAD" and (method, path) != ("POST", "/page"):
                assert method.lower() in described[path]
    assert set(described) == {in_description(route.path) for route in ROUTES}


ROLES = ("no token", "wrong token", "revoked token", "basic", "right token")


@pytest.mark.parametrize("role", ROLES)
def test_routes_by_role(served: Served, role: str) -> None:
    revoked = served.http.post("/tokens", json={"name": "eve"}, headers=served.auth).json()["token"]
    assert served.http.get("/tokens", headers={"authorization": f"Bearer {revoked}"}).json() == ["analyst", "eve"]
    assert served.http.delete("/tokens/eve", headers=served.auth).status_code == 204
    headers = {
        "no token": {},
        "wrong token": {"authorization": f"Bearer {'A' * 43}"},
        "revoked token": {"authorization": f"Bearer {revoked}"},
        "basic": {"authorization": f"Basic {served.token}"},
        "right token": served.auth,
    }[role]
    for method, path, more, status in EVERYBODY:
        answer = served.http.request(method, path, **{**more, "headers": more.get("headers", {}) | headers})
        assert answer.status_code == status, (method, path)
    for method, path, more, status in ANALYSTS:
        answer = served.http.request(method, path, headers=headers, **more)
        right = status if isinstance(status, tuple) else (status,)
        assert answer.status_code in (right if role == "right token" else (401,)), (method, path, answer.text)
        if role != "right token":
            assert "www-authenticate" in answer.headers
            assert served.token not in answer.text


def test_a_token_is_shown_once_and_its_hash_is_stored(served: Served, tmp_path: Path) -> None:
    made = served.http.post("/tokens", json={"name": "ann"}, headers=served.auth).json()
    assert served.http.post("/tokens", json={"name": "ann"}, headers=served.auth).status_code == 409
    served.stop()
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert made["token"].encode() not in stored
    assert served.token.encode() not in stored
    assert len(made["token"]) == len(served.token) == 43


@pytest.mark.parametrize("name", ["team/ann", "/", "ä ö?#%2F", "a" * 100])
def test_a_token_of_any_name_can_be_revoked(served: Served, name: str) -> None:
    token = served.http.post("/tokens", json={"name": name}, headers=served.auth).json()["token"]
    own = {"authorization": f"Bearer {token}"}
    assert served.http.get("/tokens", headers=own).json() == sorted(["analyst", name])
    assert served.http.delete(f"/tokens/{quote(name, safe='')}", headers=served.auth).status_code == 204
    assert served.http.get("/tokens", headers=own).status_code == 401


def test_a_token_of_an_earlier_version_can_be_revoked_whatever_its_name(served: Served) -> None:
    served.collector.make_token("a\tb")
    assert served.http.delete("/tokens/a%09b", headers=served.auth).status_code == 204
    assert served.http.get("/tokens", headers=served.auth).json() == ["analyst"]


BAD_BODIES = [
    b"", b"[]", b"{", b'{"name": 5}', b'{"name": ""}', b'{"name": "\\u0000"}', b'{"count": 0}', b'{"count": true}',
    b"[" * 4000, b'{"name": "' + b"a" * 101 + b'"}', b"\xff\xfe",
    b'{"name": "."}', b'{"name": ".."}', b'{"name": "a/../b"}', b'{"name": "a\\tb"}',
]  # fmt: skip


@pytest.mark.parametrize("body", BAD_BODIES, ids=range(len(BAD_BODIES)))
@pytest.mark.parametrize("path", ["/tokens", "/invitations"])
def test_bad_bodies_of_analysts_are_refused(served: Served, path: str, body: bytes) -> None:
    assert served.http.post(path, content=body, headers=served.auth).status_code == 400


def test_invitations_work_once(tmp_path: Path) -> None:
    rng = random.Random(3)
    with Served(tmp_path / "survey.db", [PLAN.to_json()], invited=True) as served:
        made = served.http.post("/invitations", json={"count": 2}, headers=served.auth).text.split()
        one, two, three = (an_id(rng) for _ in range(3))
        report = a_report(rng)
        assert served.put(one, report).status_code == 403
        assert served.put(one, report, **{"deniable-invitation": "A" * 22}).status_code == 403
        assert served.put(one, report, **{"deniable-invitation": made[0]}).status_code == 201
        assert served.put(one, report).status_code == 200  # again, whatever the invitation
        assert served.put(two, report, **{"deniable-invitation": made[0]}).status_code == 403
        assert served.put(three, report, **{"deniable-invitation": made[1]}).status_code == 201
        assert served.http.post("/batches", content=b"", headers=OF_PLAN).status_code == 403
        assert served.http.get("/invitations", headers=served.auth).json() == {"made": 2, "spent": 2}


# -- too much to do, and a store that fails ----------------------------------------------------------------------------


class Slow(SqliteLog):
    """A store whose writes wait until they are let go, or fail."""

    gate = threading.Event()
    failing = False

    def write(self, entries, day):  # type: ignore[no-untyped-def]
        assert self.gate.wait(10)
        if Slow.failing:
            raise CollectError("the disk is full")
        return super().write(entries, day)


def test_too_many_reports_are_told_to_try_again_and_none_is_lost(tmp_path: Path) -> None:
    rng, answers = random.Random(4), {}
    Slow.gate.clear()
    limits = Limits(waiting=5, requests=12)
    with Served(
        tmp_path / "survey.db", [PLAN.to_json()], lambda: Slow(tmp_path / "survey.db"), limits=limits
    ) as served:
        ids = [an_id(rng) for _ in range(30)]

        def send(id: str) -> None:
            answers[id] = served.put(id, b"\0")

        threads = [threading.Thread(target=send, args=(id,)) for id in ids]
        for thread in threads:
            thread.start()
        give_up = time.monotonic() + 10
        while len(answers) < 20 and time.monotonic() < give_up:
            time.sleep(0.01)
        assert served.http.get("/healthz").status_code == 200
        Slow.gate.set()
        for thread in threads:
            thread.join()
        statuses = {id: answer.status_code for id, answer in answers.items()}
        assert set(statuses.values()) == {201, 503}
        assert all(answer.headers["retry-after"] for answer in answers.values() if answer.status_code == 503)
        for id, status in statuses.items():
            assert served.http.head(f"/reports/{id}").status_code == (204 if status == 201 else 404)
        metrics = served.http.get("/metrics").text
        assert f'deniable_reports_total{{outcome="new"}} {list(statuses.values()).count(201)}\n' in metrics


def test_a_store_that_fails_acknowledges_nothing_and_comes_back(tmp_path: Path) -> None:
    rng = random.Random(5)
    Slow.gate.set()
    with Served(tmp_path / "survey.db", [PLAN.to_json()], lambda: Slow(tmp_path / "survey.db")) as served:
        first, second = an_id(rng), an_id(rng)
        assert served.put(first, b"\0").status_code == 201
        Slow.failing = True
        answer = served.put(second, b"\0")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        Slow.failing = False
        give_up = time.monotonic() + 10
        while served.http.get("/healthz").status_code == 503 and time.monotonic() < give_up:
            time.sleep(0.01)
        assert served.put(second, b"\0").status_code == 201
        assert served.put(first, b"\0").status_code == 200
        assert "deniable_store_failures_total 1\n" in served.http.get("/metrics").text


def test_a_store_that_cannot_be_opened_again_is_tried_again_whatever_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also if it was opened, and then what is done with it fails: it is closed, or no other could have the file."""
    rng, path, opened = random.Random(18), tmp_path / "survey.db", list[Slow]()
    monkeypatch.setattr(writer, "REOPEN_SECONDS", 0.01)
    Slow.gate.set()

    def open_store() -> Slow:
        if len(opened) == 1:
            opened.append(opened[0])
            raise CollectError("the disk is damaged")
        opened.append(Slow(path))
        return opened[-1]

    def reopened(store: Store) -> None:
        if len(opened) == 3:
            raise ValueError("a mistake")
        served.collector._take(store)

    with Served(path, [PLAN.to_json()], open_store) as served:
        served.collector.writer.reopened = reopened
        Slow.failing = True
        assert served.put(an_id(rng), b"\0").status_code == 503
        Slow.failing = False
        give_up = time.monotonic() + 10
        while served.http.get("/healthz").status_code == 503 and time.monotonic() < give_up:
            time.sleep(0.01)
        assert served.put(an_id(rng), b"\0").status_code == 201
    assert len(opened) == 4
    assert caplog.text.count("cannot open the store again: the disk is damaged\n") == 1
    assert caplog.text.count("cannot open the store again: a mistake\n") == 1


def test_plans_that_this_version_cannot_use_are_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As another version may have brought them; parts without their reports are sealed, and counted as ever."""
    rng, path = random.Random(19), tmp_path / "survey.db"
    store = SqliteLog(path)
    later = store.add_plan("f" * 64, '{"version": 9, "features": []}', 1)
    store.write([Entry(rng.randbytes(16), later, b"\0")], 1)
    store.open_part(2)
    store.close()
    with Served(path, [PLAN.to_json()]) as served:
        assert served.put(an_id(rng), a_report(rng)).status_code == 201
        refused = served.http.post("/seal", headers=served.auth)
        assert (refused.status_code, "part 1 has reports of a plan that this version" in refused.text) == (409, True)
        assert [part["part"] for part in served.http.get("/export", headers=served.auth).json()] == [3]
        assert served.http.get("/counts", headers=served.auth).status_code == 200
        assert log_is_empty(path)
        opened = served.collector.writer.opened()
        sealing.seal_part(opened, 1, {later: PLAN}, threading.Event())  # as the other version does
        assert [part["part"] for part in served.http.get("/export", headers=served.auth).json()] == [3]
        assert served.http.get(f"/export/1-{later}.parquet", headers=served.auth).status_code == 404
        assert served.http.post("/seal", headers=served.auth).json() == {"sealed": []}
    assert caplog.text.count("plan 1 of the store cannot be used by this version") == 1


@pytest.mark.parametrize("checksum", [True, False])
def test_damage_is_said_in_words_and_other_parts_are_sealed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, checksum: bool
) -> None:
    """Damage that a checksum shows, and where an early group has none, a report that shows what there is not."""
    rng = random.Random(20)
    words = "survey.db: is damaged in group 1; take the file" if checksum else "the store is damaged: report 0"
    with Served(tmp_path / "survey.db", [PLAN.to_json()]) as served:
        store, results = served.collector.writer.opened(), served.collector.results
        for day in (1, 2):
            store.write([Entry(rng.randbytes(16), 1, b"\0")], day)
        assert served.put(an_id(rng), a_report(rng)).status_code == 201
        crc = "crc" if checksum else "null"
        store.db.execute(
            f"update groups set data = cast(substr(data, 1, 16) || x'ff' as blob), crc = {crc} where seq = 1"
        )
        for method, path in (("POST", "/seal"), ("GET", "/counts"), ("GET", "/page")):
            answer = served.http.request(method, path, headers=served.auth)
            assert (answer.status_code, words in answer.json()["error"]) == (409, True), path
        assert [part["part"] for part in served.http.get("/export", headers=served.auth).json()] == [2, 3]
        with monkeypatch.context() as patched:  # as the thread does every 30 seconds
            looks = iter([False, False, False, True])
            patched.setattr(results.ending, "is_set", lambda: next(looks))
            patched.setattr(results.ending, "wait", lambda _seconds: False)
            results.run()
    assert caplog.text.count(words) == 1


def log_is_empty(path: Path) -> bool:
    return path.with_name(path.name + "-wal").stat().st_size == 0


def test_nothing_waits_for_analysts_who_wait_for_sealing(served: Served) -> None:
    """More of them than there are threads for all that is short: receipts, batches, totals and tokens."""
    rng, statuses = random.Random(17), list[int]()
    id = an_id(rng)
    assert served.put(id, a_report(rng)).status_code == 201
    slow = [("GET", "/counts"), ("GET", "/page"), ("POST", "/seal")]
    waiting = [
        threading.Thread(
            target=lambda method=method, path=path: statuses.append(
                served.http.request(method, path, headers=served.auth).status_code
            )
        )
        for method, path in slow * 10
    ]
    with served.collector.results.turn:  # as while a part is sealed
        for thread in waiting:
            thread.start()
        give_up = time.monotonic() + 20
        while served.collector.analysts._work_queue.qsize() < 30 - AT_ONCE and time.monotonic() < give_up:
            time.sleep(0.01)
        assert served.http.head(f"/reports/{id}", timeout=5).status_code == 204
        assert served.http.get("/metrics", timeout=5).status_code == 200
        assert served.http.post("/batches", content=b"", headers=OF_PLAN, timeout=5).status_code == 200
        assert served.put(an_id(rng), a_report(rng)).status_code == 201
        assert served.http.get("/tokens", headers=served.auth, timeout=5).status_code == 200
        assert not statuses
    for thread in waiting:
        thread.join(30)
    assert statuses == [200] * 30


# -- results -----------------------------------------------------------------------------------------------------------


def test_counts_page_and_export_agree_before_and_after_sealing(served: Served, tmp_path: Path) -> None:
    rng = random.Random(6)
    reports = {rng.randbytes(16): a_report(rng) for _ in range(400)}
    served.http.post("/batches", content=b"".join(map(b"".join, reports.items())), headers=OF_PLAN)
    wanted = dn.count(dn.Reports.from_bytes(reports.values(), PLAN))

    def counted() -> dn.Counts:
        (tmp_path / "counts.npz").write_bytes(served.http.get("/counts", headers=served.auth).content)
        return dn.Counts.load(tmp_path / "counts.npz")

    assert np.array_equal(counted().array("smoker", "age"), wanted.array("smoker", "age"))
    assert served.http.get("/export", headers=served.auth).json() == []
    assert served.http.post("/seal", headers=served.auth).json() == {"sealed": [1]}
    assert served.http.post("/seal", headers=served.auth).json() == {"sealed": []}
    assert np.array_equal(counted().array("smoker", "age"), wanted.array("smoker", "age"))
    (part,) = served.http.get("/export", headers=served.auth).json()
    assert (part["reports"], part["plan"]) == (400, PLAN.fingerprint)
    file = served.http.get(part["url"], headers=served.auth).content
    in_order = [report for _, report in sorted(reports.items())]
    (tmp_path / "part.parquet").write_bytes(file)
    assert dn.Reports.load(tmp_path / "part.parquet") == dn.Reports.from_bytes(in_order, PLAN)
    assert pq.read_schema(io.BytesIO(file)).names == ["smoker", "age"]  # no ids
    served.put(an_id(rng), a_report(rng))
    assert counted().n == 401
    page = served.http.get("/page", headers=served.auth)
    assert "401" in page.text
    assert served.token not in page.text


def test_counts_and_exports_of_the_same_reports_do_not_add_however_they_were_got(tmp_path: Path) -> None:
    rng, store = random.Random(16), tmp_path / "survey.db"
    got: list[dn.Counts] = []

    def send(served: Served, count: int) -> None:
        batch = b"".join(rng.randbytes(16) + a_report(rng) for _ in range(count))
        served.http.post("/batches", content=batch, headers=OF_PLAN)

    def keep(served: Served, url: str, auth: dict[str, str]) -> None:
        path = tmp_path / f"{len(got)}{'.npz' if url == '/counts' else '.parquet'}"
        path.write_bytes(served.http.get(url, headers=auth).content)
        got.append(dn.Counts.load(path) if url == "/counts" else dn.count(path, order=2))

    with Served(store, [PLAN.to_json()]) as served:
        auth = served.auth  # shown at the first start alone
        send(served, 20)
        keep(served, "/counts", auth)
        send(served, 5)
        keep(served, "/counts", auth)  # more of the same, still open
    with Served(store, [PLAN.to_json()]) as served:
        keep(served, "/counts", auth)  # after a new start
        served.http.post("/seal", headers=auth)
        keep(served, "/counts", auth)
        keep(served, "/export/1-1.parquet", auth)
        keep(served, "/export/1-1.parquet", auth)
        assert [counts.n for counts in got] == [20, 25, 25, 25, 25, 25]
        for one, other in itertools.combinations(got, 2):
            with pytest.raises(dn.CountError, match="share a source"):
                one + other
        send(served, 7)
        served.http.post("/seal", headers=auth)
        keep(served, "/export/2-1.parquet", auth)
        assert (got[3] + got[-1]).n == 32  # other parts add
    with Served(tmp_path / "other.db", [PLAN.to_json()]) as served:
        auth = served.auth
        send(served, 3)
        keep(served, "/counts", auth)
        assert (got[0] + got[-1]).n == 23  # and so do other stores


def test_the_page_is_shown_to_whoever_types_the_token(served: Served) -> None:
    rng = random.Random(7)
    served.http.post(
        "/batches", content=b"".join(rng.randbytes(16) + a_report(rng) for _ in range(50)), headers=OF_PLAN
    )
    form = served.http.get("/page")
    assert form.status_code == 401
    assert "<form" in form.text
    assert 'role="alert"' not in form.text
    wrong = served.http.post("/page", data={"token": "wrong"})
    assert (wrong.status_code, 'role="alert"' in wrong.text) == (401, True)
    shown = served.http.post("/page", data={"token": served.token})
    assert shown.status_code == 200
    assert "smoker" in shown.text


def test_plans_side_by_side_and_one_after_another(tmp_path: Path) -> None:
    """Old reports stay with their plan, and an estimate takes both."""
    rng, path = random.Random(8), tmp_path / "survey.db"
    later = client.read(NEXT.to_json())
    with Served(path, [PLAN.to_json()]) as served:
        token = served.token
        for _ in range(30):
            served.put(an_id(rng), a_report(rng))
    with Served(path, [NEXT.to_json(), PLAN.to_json()]) as served:
        assert served.token == ""  # there is one already
        assert dn.Plan.from_json(served.http.get("/plan.json").text) == NEXT
        served.put(an_id(rng), a_report(rng))
        for _ in range(20):
            answer = served.put(an_id(rng), a_report(rng, later), **{"deniable-plan": NEXT.fingerprint})
            assert answer.status_code == 201
        auth = {"authorization": f"Bearer {token}"}
        assert served.http.post("/seal", headers=auth).json() == {"sealed": [1]}
        parts = served.http.get("/export", headers=auth).json()
        assert {part["plan"]: part["reports"] for part in parts} == {PLAN.fingerprint: 31, NEXT.fingerprint: 20}
    with Served(path, [NEXT.to_json()]) as served:
        assert served.put(an_id(rng), a_report(rng)).status_code == 422  # no more of the old plan
        page = served.http.get("/page", headers=auth)
        assert f'<a href="?plan={PLAN.fingerprint}">31 reports of the plan {PLAN.fingerprint}</a>' in page.text
        assert "are in none of the numbers below" in page.text
        assert (
            f"20 reports of the plan {NEXT.fingerprint}"
            in served.http.get("/page", params={"plan": PLAN.fingerprint}, headers=auth).text
        )
        counts = []
        for plan in (PLAN, NEXT):
            (tmp_path / "counts.npz").write_bytes(
                served.http.get("/counts", params={"plan": plan.fingerprint}, headers=auth).content
            )
            counts.append(dn.Counts.load(tmp_path / "counts.npz"))
        assert [one.n for one in counts] == [31, 20]
        assert dn.estimate(counts, ["smoker"]).n == 51
        assert served.http.get("/counts", params={"plan": "abc"}, headers=auth).status_code == 404


def test_a_page_without_reports_is_read_by_people_and_names_other_plans(tmp_path: Path) -> None:
    rng, path = random.Random(28), tmp_path / "survey.db"
    with Served(path, [PLAN.to_json()]) as served:
        assert "the store holds" not in served.http.get("/page", headers=served.auth).json()["error"]
        assert served.put(an_id(rng), a_report(rng)).status_code == 201
        assert "stored beside them" not in served.http.get("/page", headers=served.auth).text
        auth = served.auth
    with Served(path, [NEXT.to_json()]) as served:
        shown = served.http.get("/page", headers=auth | {"accept": "text/html"})
        assert (shown.status_code, shown.headers["content-type"]) == (409, "text/html; charset=utf-8")
        assert f"the store holds 1 report of ?plan={PLAN.fingerprint}" in shown.text
        unknown = served.http.get("/page", params={"plan": "<x>"}, headers=auth | {"accept": "text/html"})
        assert (unknown.status_code, "no reports of such a plan" in unknown.text) == (404, True)


# -- what is kept of whoever sends -------------------------------------------------------------------------------------


def test_nothing_of_the_sender_is_stored(served: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(9)
    marked = {
        "user-agent": "MARKED-agent",
        "x-forwarded-for": "203.0.113.77",
        "cookie": "MARKED-cookie",
        "referer": "MARKED",
    }
    for _ in range(5):
        served.put(an_id(rng), a_report(rng), **marked)
    served.put("abc", b"", **marked)
    served.http.post("/seal", headers=served.auth)
    served.stop()
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"MARKED" not in stored
    assert b"203.0.113.77" not in stored
    assert "MARKED" not in caplog.text


def test_every_answer_has_the_headers_that_keep_pages_in(served: Served) -> None:
    for path in ("/", "/page", "/nowhere", "/plan.json"):
        headers = served.http.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert "unsafe" not in served.http.get("/").headers["content-security-policy"]


def test_other_origins_may_send_if_they_are_listed(tmp_path: Path) -> None:
    ask = {
        "origin": "https://app.example",
        "access-control-request-method": "PUT",
        "access-control-request-headers": "deniable-plan",
    }
    with Served(tmp_path / "survey.db", [PLAN.to_json()], origins=["https://app.example"]) as served:
        allowed = served.http.options(f"/reports/{'ab' * 16}", headers=ask)
        assert allowed.headers["access-control-allow-origin"] == "https://app.example"
        assert "access-control-allow-credentials" not in allowed.headers
        sent = {"origin": "https://app.example"}
        refused = served.http.put("/reports/abc", content=b"", headers=sent)
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (400, sent["origin"])
        other = served.http.options(f"/reports/{'ab' * 16}", headers=ask | {"origin": "https://other.example"})
        assert "access-control-allow-origin" not in other.headers


# -- days, and what does not arrive ------------------------------------------------------------------------------------


def test_a_day_that_is_over_is_sealed_without_being_asked(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, results, log = random.Random(10), served.collector.results, tmp_path / "survey.db-wal"
    for _ in range(5):
        served.put(an_id(rng), a_report(rng))
    assert log.stat().st_size > 0
    assert results.seal() == []  # it is not over
    assert log.stat().st_size == 0  # and says no more in which order they came
    tomorrow = writer.today() + 1
    monkeypatch.setattr(sealing, "today", lambda: tomorrow)
    monkeypatch.setattr(writer, "today", lambda: tomorrow)
    assert results.seal() == [1]
    assert served.put(an_id(rng), a_report(rng)).status_code == 201
    assert results.seal() == []
    assert [(part.day, part.sealed) for part in served.collector.writer.opened().parts()] == [
        (tomorrow - 1, True),
        (tomorrow, False),
    ]
    assert results.counts(1).n == 6


def test_sealing_is_given_up_when_it_is_time_to_stop_and_done_the_next_time(tmp_path: Path) -> None:
    rng = random.Random(11)
    with Served(tmp_path / "survey.db", [PLAN.to_json()]) as served:
        for _ in range(5):
            served.put(an_id(rng), a_report(rng))
        served.collector.results.ending.set()
        with pytest.raises(Busy):
            served.collector.results.seal(everything=True)
        assert served.http.get("/export", headers=served.auth).json() == []
        assert served.collector.results.counts(1).n == 5
    with Served(tmp_path / "survey.db", [PLAN.to_json()]) as served:
        assert served.collector.results.seal() in ([1], [])  # its own thread may have been faster
        assert [stored.n for stored in served.collector.writer.opened().counts()] == [5]
        assert served.collector.results.counts(1).n == 5


def test_a_body_that_does_not_arrive_is_not_waited_for(tmp_path: Path) -> None:
    with Served(tmp_path / "survey.db", [PLAN.to_json()], limits=Limits(body_seconds=0.2)) as served:
        host, port = served.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            head = f"PUT /reports/{'ab' * 16} HTTP/1.1\r\nhost: x\r\ndeniable-plan: {PLAN.fingerprint}\r\n"
            connection.sendall(f"{head}content-length: 1\r\n\r\n".encode())
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 408")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(f"{head}content-length: 1\r\n\r\n".encode())  # and then it goes away
        assert served.put("cd" * 16, b"\0").status_code == 201
        assert served.collector.writer.opened().total() == 1
