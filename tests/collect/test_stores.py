"""Every store does the same: single situations by name, and random operations against a model."""

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from deniable.collect.stores.postgres import PostgresStore
from deniable.collect.stores.sqlite_log import SqliteLog
from deniable.collect.stores.store import Entry, Outcome, Store, StoredCounts
from tests.support.collect.stores import PLANS, SIZES, Model, add_plans, everything, made_up, seal

NEW, SAME, OTHER, UNINVITED = Outcome
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # a folder in which syncing costs nothing


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "SQLite":
        opened: Store = SqliteLog(tmp_path / "survey.db")
    else:
        opened = PostgresStore(request.getfixturevalue("database"))
    add_plans(opened)
    yield opened
    opened.close()


def test_a_report_is_new_then_the_same_and_another_is_refused(store: Store) -> None:
    (entry,) = made_up(random.Random(1))
    other = entry._replace(report=bytes(b ^ 255 for b in entry.report))
    assert store.write([entry], 1) == [NEW]
    assert store.write([entry], 1) == [SAME]
    assert store.write([other], 1) == [OTHER]
    assert store.holds(entry.id)
    assert not store.holds(bytes(16))
    assert everything(store) == {entry.id: (1, entry.report)}


def test_an_id_belongs_to_one_plan(store: Store) -> None:
    (entry,) = made_up(random.Random(2))
    assert store.write([entry], 1) == [NEW]
    assert store.write([Entry(entry.id, 2, bytes(SIZES[1]))], 1) == [OTHER]


def test_what_stands_twice_in_one_group_is_settled_in_order(store: Store) -> None:
    one, two = made_up(random.Random(3), count=2)
    other = one._replace(report=bytes(b ^ 1 for b in one.report))
    assert store.write([one, two, other, one, two], 1) == [NEW, NEW, OTHER, SAME, SAME]
    assert everything(store) == {one.id: (1, one.report), two.id: (1, two.report)}
    assert store.total() == 2


def test_an_invitation_is_spent_once_and_a_retry_needs_none(store: Store) -> None:
    one, two, three = made_up(random.Random(4), count=3)
    store.add_invitations([b"a" * 32, b"b" * 32])
    assert store.write([one._replace(invitation=b"")], 1) == [UNINVITED]
    assert store.write([one._replace(invitation=b"c" * 32)], 1) == [UNINVITED]
    assert store.write([one._replace(invitation=b"a" * 32)], 1) == [NEW]
    assert store.write([one._replace(invitation=b"")], 1) == [SAME]
    assert store.write([two._replace(invitation=b"a" * 32)], 1) == [UNINVITED]
    both = [two._replace(invitation=b"b" * 32), three._replace(invitation=b"b" * 32)]
    assert store.write(both, 1) == [NEW, UNINVITED]
    assert store.invitations() == (2, 2)


def test_a_refused_report_spends_nothing(store: Store) -> None:
    one, other = made_up(random.Random(5), count=2)
    store.add_invitations([b"a" * 32])
    store.write([one], 1)
    assert store.write([one._replace(report=other.report, invitation=b"a" * 32)], 1) == [OTHER]
    assert store.invitations() == (1, 0)


def test_a_new_day_opens_a_part_and_an_earlier_one_does_not(store: Store) -> None:
    rng = random.Random(6)
    for day in (10, 10, 11, 9, 12):
        store.write(made_up(rng), day)
    assert [(part.day, part.sealed) for part in store.parts()] == [(10, False), (11, False), (12, False)]
    assert [len(b"".join(store.read(part.number, 1))) // (16 + SIZES[0]) for part in store.parts()] == [2, 2, 1]


def test_sealing_sorts_and_keeps_counts_once(store: Store) -> None:
    rng = random.Random(7)
    for _ in range(20):
        store.write(made_up(rng, 1, 3) + made_up(rng, 2, 2), 1)
    before = everything(store)
    store.open_part(1)
    store.write(made_up(rng, 1, 1), 1)
    assert store.plans_in(1) == [1, 2]
    seal(store, 1)
    assert store.counts() == [StoredCounts(1, 1, 60, b"counted"), StoredCounts(1, 2, 40, b"counted")]
    assert [part.sealed for part in store.parts()] == [True, False]
    after = everything(store)
    assert before.items() <= after.items()
    assert len(after) == 101
    assert store.write([Entry(id, *rest) for id, rest in before.items()], 2) == [SAME] * 100


def test_plans_are_kept_and_numbered_once(store: Store) -> None:
    assert add_plans(store) == [1, 2]
    assert store.plans() == {1: PLANS[0].to_json(), 2: PLANS[1].to_json()}


def test_a_file_keeps_the_name_that_it_got_and_another_has_another(tmp_path: Path) -> None:
    names = []
    for file in ("one.db", "one.db", "two.db"):
        opened = SqliteLog(tmp_path / file)
        names.append(opened.name())
        opened.close()
    assert names[0] == names[1] != names[2]


def test_all_processes_of_a_database_see_its_one_name(database: str) -> None:
    one, two = PostgresStore(database), PostgresStore(database)
    assert one.name() == two.name() != ""
    one.close()
    two.close()


def test_analysts_are_added_once_and_dropped(store: Store) -> None:
    assert store.add_analyst("ann", b"1")
    assert store.add_analyst("bob", b"2")
    assert not store.add_analyst("ann", b"3")
    assert store.analysts() == {"ann": b"1", "bob": b"2"}
    assert store.drop_analyst("ann")
    assert not store.drop_analyst("ann")
    assert store.analysts() == {"bob": b"2"}


class StoreMachine(RuleBasedStateMachine):
    """A store and a model of it under random operations: put, again, other body, batch, restart, rotate, seal."""

    sent = Bundle("sent")

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory(dir=MEMORY)
        self.model, self.day, self.made = Model(), 1, set[bytes]()
        self.open()

    def new_store(self) -> Store:
        return SqliteLog(Path(self.folder.name) / "survey.db")

    def open(self) -> None:
        self.store = self.new_store()
        add_plans(self.store)

    def total(self) -> int:
        return self.store.total()

    def teardown(self) -> None:
        assert everything(self.store) == self.model.stored
        self.store.close()
        self.folder.cleanup()

    def check(self, entries: list[Entry]) -> None:
        assert self.store.write(entries, self.day) == self.model.write(entries)

    @rule(target=sent, seed=st.integers(0, 1 << 30), plan=st.sampled_from([1, 2]))
    def put(self, seed: int, plan: int) -> Entry:
        (entry,) = made_up(random.Random(seed), plan)
        self.check([entry])
        return entry

    @rule(entry=sent)
    def again(self, entry: Entry) -> None:
        self.check([entry])

    @rule(entry=sent, plan=st.sampled_from([1, 2]), byte=st.integers(0, 255))
    def other_body(self, entry: Entry, plan: int, byte: int) -> None:
        self.check([entry._replace(plan=plan, report=bytes([byte]) * SIZES[plan - 1])])

    @rule(seed=st.integers(0, 1 << 30), count=st.integers(0, 40), old=st.lists(sent, max_size=4))
    def batch(self, seed: int, count: int, old: list[Entry]) -> None:
        rng = random.Random(seed)
        entries = made_up(rng, 1, count) + old + made_up(rng, 2, count // 2) + old[:1]
        rng.shuffle(entries)
        self.check(entries) if entries else None

    @rule(seed=st.integers(0, 1 << 30), known=st.booleans())
    def invited(self, seed: int, known: bool) -> None:
        rng = random.Random(seed)
        hash = rng.randbytes(32)
        if known and hash not in self.made:
            self.made.add(hash)
            self.store.add_invitations([hash])
            self.model.unspent.add(hash)
        one, two = made_up(rng, count=2)
        self.check([one._replace(invitation=hash), two._replace(invitation=hash)])

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.open()

    @rule(days=st.integers(0, 2))
    def rotate(self, days: int) -> None:
        self.day += days
        self.store.open_part(self.day)

    @rule()
    def seal(self) -> None:
        for part in self.store.parts()[:-1]:
            if not part.sealed:
                seal(self.store, part.number)

    @rule()
    def empty_log(self) -> None:
        self.store.empty_log()

    @rule()
    def export(self) -> None:
        assert everything(self.store) == self.model.stored

    @invariant()
    def spent_once(self) -> None:
        assert self.store.invitations() == (len(self.made), len(self.made) - len(self.model.unspent))

    @invariant()
    def counted_once(self) -> None:
        assert self.total() == len(self.model.stored)
        parts = {part.number for part in self.store.parts() if part.sealed}
        assert {counts.part for counts in self.store.counts()} <= parts


StoreMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
test_a_store_does_what_the_model_does = pytest.mark.slow(StoreMachine.TestCase)


@pytest.mark.slow
def test_postgres_does_what_the_model_does(database: str) -> None:
    class InPostgres(StoreMachine):
        def __init__(self) -> None:
            with psycopg.connect(database, autocommit=True) as db:
                db.execute("drop schema public cascade; create schema public")
            super().__init__()

        def new_store(self) -> Store:
            return PostgresStore(database)

        def total(self) -> int:
            self.store.count_after = 0.0  # else it may be some seconds old
            return super().total()

    run_state_machine_as_test(
        InPostgres, settings=settings(max_examples=8, stateful_step_count=20, deadline=None, database=None)
    )
