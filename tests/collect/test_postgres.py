"""The store in PostgreSQL, which several processes share."""

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

import deniable as dn
from deniable import client
from deniable.collect.access import whose
from deniable.collect.collector import Collector
from deniable.collect.stores.postgres import PostgresStore
from deniable.collect.stores.store import Entry, Outcome, StoredCounts
from deniable.errors import CollectError
from tests.support.collect.served import NEXT, PLAN, Served, a_report, an_id
from tests.support.collect.stores import add_plans, everything, made_up, seal


@pytest.mark.slow
def test_processes_that_meet_store_each_report_once(database: str) -> None:
    """Four connections write the same reports, some with invitations, while parts are closed and sealed."""
    rng, stores = random.Random(1), [PostgresStore(database) for _ in range(4)]
    add_plans(stores[0])
    hashes = [rng.randbytes(32) for _ in range(40)]
    stores[0].add_invitations(hashes)
    free = made_up(rng, 1, 120)
    invited = [e._replace(invitation=hash) for e, hash in zip(made_up(rng, 1, 40), hashes, strict=True)]
    rivals = [e._replace(invitation=hash) for e, hash in zip(made_up(rng, 1, 40), hashes, strict=True)]
    outcomes: dict[bytes, Counter[Outcome]] = {e.id: Counter() for e in free + invited + rivals}
    turn = threading.Lock()

    def write(store: PostgresStore, seed: int) -> None:
        mine, own = random.Random(seed), free + (invited if seed % 2 else rivals)
        mine.shuffle(own)
        while own:
            some = [own.pop() for _ in range(min(len(own), mine.choice([1, 5, 20])))]
            found = store.write(some, 1)
            with turn:
                for entry, outcome in zip(some, found, strict=True):
                    outcomes[entry.id][outcome] += 1

    threads = [threading.Thread(target=write, args=(store, seed)) for seed, store in enumerate(stores)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        stores[0].open_part(1)
        time.sleep(0.01)
    for part in stores[1].parts()[:-1]:
        seal(stores[1], part.number)
        seal(stores[2], part.number)  # another process has counted the same
    found = everything(stores[3])
    assert set(found) == {id for id, mine in outcomes.items() if mine[Outcome.NEW]}
    assert max(mine[Outcome.NEW] for mine in outcomes.values()) == 1
    assert all(outcomes[entry.id] == {Outcome.NEW: 1, Outcome.SAME: 3} for entry in free)
    for one, other in zip(invited, rivals, strict=True):
        new = [entry.id for entry in (one, other) if outcomes[entry.id][Outcome.NEW]]
        assert len(new) == 1  # an invitation is worth one report, whichever comes first
        assert outcomes[new[0]][Outcome.UNINVITED] == 0  # the same again is the same, whatever the invitation
    assert stores[3].invitations() == (40, 40)
    assert sum(counts.n for counts in stores[3].counts()) + last_part(stores[3]) == len(found) == stores[3].total()
    for store in stores:
        store.close()


def last_part(store: PostgresStore) -> int:
    return sum(len(data) // 17 for data in store.read(store.parts()[-1].number, 1))


def test_nothing_is_added_to_a_part_that_is_closed(database: str) -> None:
    """Whoever opens a part waits for the writers of the one before."""
    first, second = PostgresStore(database), PostgresStore(database)
    add_plans(first)
    first.write(made_up(random.Random(2)), 1)
    opened = threading.Thread(target=second.open_part, args=(2,))
    with first._transaction() as db:
        first._insert(db, made_up(random.Random(3)))
        opened.start()
        opened.join(0.2)
        assert opened.is_alive()
    opened.join(10)
    assert [part.day for part in first.parts()] == [1, 2]
    assert sum(map(len, first.read(1, 1))) == 34
    first.close()
    second.close()


def test_a_lost_connection_is_an_error_and_the_store_is_opened_anew(database: str, tmp_path: Path) -> None:
    rng = random.Random(4)
    with Served(tmp_path, [PLAN.to_json()], lambda: PostgresStore(database)) as served:
        assert served.put(an_id(rng), a_report(rng)).status_code == 201
        with psycopg.connect(database, autocommit=True) as db:
            db.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
        id, report, statuses = an_id(rng), a_report(rng), []
        give_up = time.monotonic() + 20
        while statuses[-1:] != [201] and time.monotonic() < give_up:
            statuses.append(served.put(id, report).status_code)
        assert set(statuses) == {503, 201}
        assert served.http.post("/seal", headers=served.auth).json() == {"sealed": [1]}
        assert served.http.get("/export", headers=served.auth).json()[0]["reports"] == 2


def test_reading_comes_back_after_a_lost_connection_though_nobody_writes(database: str, tmp_path: Path) -> None:
    """As when the database was started again; also for analysts."""
    rng = random.Random(10)
    with Served(tmp_path, [PLAN.to_json()], lambda: PostgresStore(database)) as served:
        id = an_id(rng)
        assert served.put(id, a_report(rng)).status_code == 201
        for path, status, auth in ((f"/reports/{id}", 204, {}), ("/tokens", 200, served.auth)):
            with psycopg.connect(database, autocommit=True) as db:
                db.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
            statuses = list[int]()
            give_up = time.monotonic() + 20
            while statuses[-1:] != [status] and time.monotonic() < give_up:
                method = "HEAD" if status == 204 else "GET"
                statuses.append(served.http.request(method, path, headers=auth).status_code)
            assert statuses[-1] == status
            assert set(statuses) <= {503, status}
        assert "deniable_store_failures_total 0\n" in served.http.get("/metrics").text
    store = served.collector.writer.store
    assert store is not None
    with pytest.raises(CollectError):  # what was closed stays closed
        store.holds(bytes(16))


def test_two_collectors_share_a_survey(database: str, tmp_path: Path) -> None:
    rng = random.Random(5)
    with (
        Served(tmp_path, [PLAN.to_json()], lambda: PostgresStore(database)) as one,
        Served(tmp_path, [PLAN.to_json()], lambda: PostgresStore(database)) as other,
    ):
        id, report = an_id(rng), a_report(rng)
        assert one.put(id, report).status_code == 201
        assert other.put(id, report).status_code == 200
        assert other.http.head(f"/reports/{id}").status_code == 204
        made = one.http.post("/tokens", json={"name": "ann"}, headers=one.auth).json()["token"]
        auth = {"authorization": f"Bearer {made}"}
        assert other.http.get("/tokens", headers=auth).status_code == 200
        one.http.delete("/tokens/ann", headers=one.auth)
        assert other.http.get("/tokens", headers=auth).status_code == 401
        assert other.http.delete("/tokens/%00", headers=one.auth).status_code == 404  # no text of this database


def test_of_processes_that_start_at_one_time_one_shows_a_token(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has seen that there is none yet before any makes one."""
    looked, seen = threading.Barrier(3), PostgresStore.analysts
    collectors = [Collector(lambda: PostgresStore(database), [PLAN.to_json()]) for _ in range(3)]

    def together(store: PostgresStore) -> dict[str, bytes]:
        found = seen(store)
        looked.wait(20)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(PostgresStore, "analysts", together)
        with ThreadPoolExecutor(3) as threads:
            shown = [token for token in threads.map(Collector.first_token, collectors) if token]
    assert len(shown) == 1
    assert whose(shown[0], collectors[0].writer.opened().analysts()) == "analyst"
    for one in collectors:
        one.stop()


def test_a_collector_learns_the_plans_that_another_one_has_brought(database: str, tmp_path: Path) -> None:
    """As when processes are started anew with another plan, one after another."""
    rng = random.Random(6)
    texts = [PLAN.to_json(), NEXT.to_json()]
    with Served(tmp_path, texts[:1], lambda: PostgresStore(database)) as old:
        with Served(tmp_path, texts[::-1], lambda: PostgresStore(database)) as new:
            sent = a_report(rng, client.read(texts[1]))
            assert new.put(an_id(rng), sent, **{"deniable-plan": NEXT.fingerprint}).status_code == 201
            assert new.put(an_id(rng), a_report(rng)).status_code == 201
        assert old.http.post("/seal", headers=old.auth).json() == {"sealed": [1]}
        found = old.http.get("/export", headers=old.auth).json()
        assert {part["plan"]: part["reports"] for part in found} == {PLAN.fingerprint: 1, NEXT.fingerprint: 1}
        for part in found:
            assert old.http.get(part["url"], headers=old.auth).status_code == 200
            counted = old.http.get("/counts", params={"plan": part["plan"]}, headers=old.auth)
            (tmp_path / "counts.npz").write_bytes(counted.content)
            assert dn.Counts.load(tmp_path / "counts.npz").n == 1


def test_an_acknowledged_report_is_on_the_disk_whatever_the_database_is_set_to(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as db:
        name = db.info.dbname
        db.execute(f'alter database "{name}" set synchronous_commit = off')
        try:
            with psycopg.connect(database) as other:
                assert other.execute("show synchronous_commit").fetchone() == ("off",)
            store = PostgresStore(database)
            assert store._all("show synchronous_commit") == [("on",)]
            store.close()
        finally:
            db.execute(f'alter database "{name}" reset synchronous_commit')


def test_totals_are_counted_now_and_then_and_no_writer_waits(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks again meanwhile is told the last total at once."""
    rng, store = random.Random(9), PostgresStore(database)
    add_plans(store)
    store.write(made_up(rng, 1, 3), 1)
    assert store.total() == 3
    store.write(made_up(rng, 1, 2), 1)
    assert store.total() == 3
    store.count_after = 0.0
    assert store.total() == 5
    counts, begun, go = store._count, threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        assert go.wait(20)
        return counts()

    monkeypatch.setattr(store, "_count", slow)
    store.count_after = 0.0
    asking = threading.Thread(target=store.total)
    asking.start()
    assert begun.wait(20)
    writing = threading.Thread(target=store.write, args=(made_up(rng, 1, 2), 1))
    writing.start()
    writing.join(10)
    assert not writing.is_alive()
    assert store.total() == 5
    go.set()
    asking.join(20)
    assert store.total() == 7
    assert store.count_after > time.monotonic()
    store.close()


# -- what PostgreSQL keeps with each row -------------------------------------------------------------------------------

# A row's transaction, and then its place among the pages: the order in which rows came, if nothing was written anew.
ARRIVAL = "order by xmin::text::bigint, ctid"
PAIRS = "select i.hash, r.id from deniable_invitations i join deniable_reports r on i.xmin = r.xmin"


def rows(database: str, *queries: str) -> list[tuple[bytes, ...]]:
    """What the last one of some queries finds."""
    with psycopg.connect(database, autocommit=True) as db:
        for query in queries:
            found = db.execute(query)
        return [tuple(map(bytes, row)) for row in found.fetchall()]


def invited(rng: random.Random, store: PostgresStore, count: int) -> list[Entry]:
    """So many entries, each with an invitation that the store knows."""
    entries = [entry._replace(invitation=rng.randbytes(32)) for entry in made_up(rng, 1, count)]
    store.add_invitations(entry.invitation or b"" for entry in entries)
    return entries


def test_a_sealed_part_keeps_no_order_and_no_report_of_an_invitation(database: str) -> None:
    rng, store = random.Random(7), PostgresStore(database)
    add_plans(store)
    arrived = invited(rng, store, 40)
    rng.shuffle(arrived)
    for entry in arrived:
        assert store.write([entry], 1) == [Outcome.NEW]
    copied = ("cluster deniable_reports using deniable_reports_pkey", "vacuum full deniable_invitations")
    ids, hashes = [entry.id for entry in arrived], [entry.invitation or b"" for entry in arrived]
    assert rows(database, *copied, f"select id from deniable_reports {ARRIVAL}") == [(id,) for id in ids]  # the control
    assert set(rows(database, PAIRS)) == set(zip(hashes, ids, strict=True))
    store.open_part(2)
    (later,) = invited(rng, store, 1)
    store.write([later], 2)
    seal(store, 1)
    of_part = "select id from deniable_reports where part = 1"
    assert rows(database, f"{of_part} {ARRIVAL}") == [(id,) for id in sorted(ids)]
    sealed = "select hash from deniable_invitations where spent"
    assert rows(database, f"{sealed} {ARRIVAL}") == [(hash,) for hash in sorted([*hashes, later.invitation or b""])]
    assert len(rows(database, PAIRS)) == 40 * 41  # each with each: one transaction wrote them all
    assert store.invitations() == (41, 41)
    assert store.write(arrived, 2) == [Outcome.SAME] * 40
    store.close()


def test_nobody_waits_for_sealing_and_breaking_it_off_changes_nothing(database: str) -> None:
    """It is stopped in its transaction, after the reports were written anew, by a lock that somebody has."""
    rng, store = random.Random(8), PostgresStore(database)
    add_plans(store)
    entries = invited(rng, store, 20)
    assert set(store.write(entries, 1)) == {Outcome.NEW}
    store.open_part(2)
    before = everything(store)
    sealing, failed = store.seal(1), list[CollectError]()

    def done() -> None:
        try:
            sealing.done([StoredCounts(1, 1, 20, b"counted")])
        except CollectError as error:
            failed.append(error)

    stuck = "from pg_stat_activity where query like '%%with old%%' and wait_event_type = 'Lock' and datname = %s"
    with psycopg.connect(database) as other, psycopg.connect(database, autocommit=True) as db:
        other.execute("select from deniable_invitations for update")
        thread = threading.Thread(target=done)
        thread.start()
        give_up = time.monotonic() + 20
        while not db.execute(f"select {stuck}", (db.info.dbname,)).rowcount and time.monotonic() < give_up:
            time.sleep(0.01)
        writing = threading.Thread(target=lambda: [store.write(made_up(rng), 2), store.open_part(3)])
        writing.start()
        writing.join(10)
        assert not writing.is_alive()
        assert store.write(entries, 3) == [Outcome.SAME] * 20
        assert before.items() <= everything(store).items()
        assert db.execute(f"select pg_terminate_backend(pid) {stuck}", (db.info.dbname,)).rowcount == 1
        thread.join(10)
    assert failed
    assert [part.sealed for part in store.parts()] == [False, False, False]
    assert before.items() <= everything(store).items()
    seal(store, 1)
    assert [part.sealed for part in store.parts()] == [True, False, False]
    assert before.items() <= everything(store).items()
    assert store.write(entries, 3) == [Outcome.SAME] * 20
    store.close()


# -- addresses ---------------------------------------------------------------------------------------------------------


def test_errors_do_not_show_the_password() -> None:
    with pytest.raises(CollectError, match="PostgreSQL failed.*refused") as caught:
        PostgresStore("postgresql://ann:secret-password@127.0.0.1:1/survey")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "password",
    ["my secret", "secret%", "p/secret", "1/secret", "p@secret", "p/?secret", "p\n/secret", "secret%00", "@"],
)
@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_addresses_that_are_read_otherwise_than_meant_are_refused_and_not_shown(scheme: str, password: str) -> None:
    """A password with / or @ in it is taken for a host, a port or a name, and so would stand in the error."""
    with pytest.raises(CollectError, match="the address of the database cannot be read; write postgresql://") as caught:
        PostgresStore(f"{scheme}://ann:{password}@127.0.0.1:1/survey")
    assert "secret" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)
    assert caught.value.__context__ is None  # nor does a traceback


def test_special_characters_of_a_password_may_be_written_as_codes() -> None:
    with pytest.raises(CollectError, match="PostgreSQL failed.*refused"):
        PostgresStore("postgresql://ann:%40%2F%3A%25%20:?#@127.0.0.1:1/survey")
